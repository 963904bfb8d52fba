package task

import (
	"math"
	"strconv"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// Retry says how often and when a task that failed is tried again: params.retry.
type Retry struct {
	Attempts int  // starts in all, at least 1
	Fixed    bool // the delay is always Initial; else it doubles each time
	Initial  time.Duration
	Max      time.Duration // of a delay
}

// What params.retry says when it leaves a member out, and the most it may say.
const (
	defaultAttempts = 3
	defaultInitial  = time.Second
	defaultMax      = time.Minute
	maxAttempts     = 100
	maxDelay        = 7 * 24 * time.Hour
	maxTimeout      = 30 * 24 * time.Hour
)

// Retry is the task's params.retry. A task without one is tried once.
func (t *Task) Retry() Retry {
	retry, _, err := t.work("")
	if err != nil {
		return Retry{Attempts: 1}
	}
	return retry
}

// Timeout is how long one attempt may take: params.timeout; 0 when it says nothing.
func (t *Task) Timeout() time.Duration {
	_, timeout, err := t.work("")
	if err != nil {
		return 0
	}
	return timeout
}

// Delay is how long to wait after so many failures, at least one. jitter, from 0 to
// 1, takes up to half of a doubling delay away, so that tasks which failed together
// do not all come back together; a fixed delay is exact.
func (r Retry) Delay(failures int, jitter float64) time.Duration {
	if r.Fixed {
		return r.Initial
	}
	delay := min(r.Initial, r.Max)
	for range failures - 1 {
		if delay <= 0 || delay >= r.Max {
			break
		}
		delay = min(2*delay, r.Max)
	}
	return delay - time.Duration(float64(delay)/2*min(max(jitter, 0), 1))
}

// work reads what params says of attempts. field stands before the members' names.
func (t *Task) work(field string) (r Retry, timeout time.Duration, err error) {
	params := root(t.Params)
	if v := params.Get("timeout"); !isNull(v) {
		if timeout, err = seconds(v, field+"params.timeout", maxTimeout); err != nil {
			return r, 0, err
		}
		if timeout == 0 {
			return r, 0, invalid(field+"params.timeout", "The time is none.", "seconds, more than 0")
		}
	}
	retry := params.Get("retry")
	if isNull(retry) {
		return Retry{Attempts: 1}, timeout, nil
	}
	field += "params.retry"
	if retry.Kind() != rawjson.Object {
		return r, 0, invalid(field, "The value is "+retry.Kind().Noun()+".", "an object")
	}
	r = Retry{Attempts: defaultAttempts, Initial: defaultInitial, Max: defaultMax}
	if v := retry.Get("max_attempts"); !isNull(v) {
		n, ok := v.Int()
		if !ok || n < 1 || n > maxAttempts {
			return r, 0, invalid(field+".max_attempts", "Value out of range", "1-100")
		}
		r.Attempts = int(n)
	}
	if v := retry.Get("backoff"); !isNull(v) {
		r.Fixed = v.Text() == "fixed"
		if !r.Fixed && v.Text() != "exponential" {
			return r, 0, invalid(field+".backoff", "The value is no way to wait.", "exponential or fixed")
		}
	}
	if v := retry.Get("initial_delay"); !isNull(v) {
		if r.Initial, err = seconds(v, field+".initial_delay", maxDelay); err != nil {
			return r, 0, err
		}
		r.Max = max(r.Max, r.Initial) // unless max_delay is given
	}
	if v := retry.Get("max_delay"); !isNull(v) {
		if r.Max, err = seconds(v, field+".max_delay", maxDelay); err != nil {
			return r, 0, err
		}
		if r.Max < r.Initial {
			return r, 0, invalid(field+".max_delay", "It is shorter than the first delay.", "seconds, at least initial_delay")
		}
	}
	return r, timeout, nil
}

// seconds reads a number of seconds, with or without a fraction.
func seconds(v rawjson.Value, field string, most time.Duration) (time.Duration, error) {
	f := v.Float()
	if math.IsNaN(f) || f < 0 || f > most.Seconds() {
		return 0, invalid(field, "The value is no time that is allowed here.", "seconds, at most "+strconv.Itoa(int(most.Seconds())))
	}
	return time.Duration(f * float64(time.Second)), nil
}
