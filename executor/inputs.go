package executor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// final is a failure that trying again does not mend.
func final(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Final: true}
}

// decode reads a job's inputs into a struct. Members that the struct does not
// have are let pass; one of another type is an error that names it. Inputs that
// hold what the manifest blocks are refused here, for every executor alike.
func decode(job *Job, into any) error {
	inputs := job.Inputs
	if len(inputs) == 0 {
		inputs = jsontext.Value("{}")
	}
	if err := checkPatterns(job.Manifest, inputs); err != nil {
		return err
	}
	err := json.Unmarshal(inputs, into)
	if wrong := (*json.SemanticError)(nil); errors.As(err, &wrong) && wrong.GoType != nil {
		name := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
		if name == "" {
			return final("the inputs must be a JSON object, not %s", kindName(wrong.JSONKind))
		}
		if wrong.JSONKind != 0 {
			return final("the input %q must be %s, not %s", name, typeName(wrong.GoType), kindName(wrong.JSONKind))
		}
		return final("the input %q must be %s", name, typeName(wrong.GoType))
	}
	if err != nil {
		return final("the inputs cannot be read: %v", err)
	}
	return nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "this number"
	case '[':
		return "an array"
	}
	return "an object"
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// checkPatterns refuses inputs that hold a blocked text, in a name or a value.
func checkPatterns(m act.Manifest, inputs jsontext.Value) error {
	if len(m.BlockedPatterns) == 0 {
		return nil
	}
	d := jsontext.NewDecoder(strings.NewReader(string(inputs)))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil // it ends here, or decode says what is wrong
		}
		if k := token.Kind(); k != '"' && k != '0' {
			continue
		}
		if p := blockedIn(m, token.String()); p != "" {
			return final("the inputs hold %q, which the manifest blocks", p)
		}
	}
}

func blockedIn(m act.Manifest, text string) string {
	for _, p := range m.BlockedPatterns {
		if p != "" && strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

// maxSeconds bounds a time, so that no sum overflows: a month.
const maxSeconds = 30 * 24 * 60 * 60

// allowedTime is the smaller of the time that the inputs ask for, in seconds, and
// what the manifest allows.
func allowedTime(m act.Manifest, asked *float64) (time.Duration, error) {
	if m.TimeoutSeconds <= 0 {
		return 0, final("timeout_seconds of the task's manifest is %d, which allows nothing", m.TimeoutSeconds)
	}
	seconds := math.Min(float64(m.TimeoutSeconds), maxSeconds)
	if asked != nil {
		if !(*asked > 0) {
			return 0, final("the input \"timeout\" must be more than 0 seconds")
		}
		seconds = math.Min(seconds, *asked)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// tooLong is the cause of a context that ended since the work's own time was over.
type tooLong time.Duration

func (d tooLong) Error() string {
	return fmt.Sprintf("it took longer than the %v that it may take", time.Duration(d))
}

// limited gives work its time.
func limited(ctx context.Context, m act.Manifest, asked *float64) (context.Context, context.CancelFunc, error) {
	d, err := allowedTime(m, asked)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d, tooLong(d))
	return ctx, cancel, nil
}

// ended says why the work's context ended: its own time was over, which is a
// failure of the task, or the node ended it, which is its error. It is nil
// while the context has not ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if over := tooLong(0); errors.As(context.Cause(ctx), &over) {
		return &Error{Message: over.Error()}
	}
	return ctx.Err()
}

// wait waits, unless the context ends before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// networkLimits are the limits enforced by executors that call others from the
// node's own process: memory, CPU and files are not among them.
var networkLimits = []string{"timeout_seconds", "network_allowed", "allowed_domains", "blocked_domains", "blocked_patterns"}

// network is a dialer that reaches what the manifest allows.
func network(m act.Manifest, allowPrivate bool) (*outbound.Dialer, error) {
	if !m.NetworkAllowed {
		return nil, final("the task's manifest does not allow the network (network_allowed)")
	}
	d := &outbound.Dialer{AllowPrivate: allowPrivate, Allowed: m.AllowedDomains, Blocked: m.BlockedDomains}
	if err := d.Check(); err != nil {
		return nil, final("the task's manifest: %v", err)
	}
	return d, nil
}

// webURL reads an address of the web.
func webURL(name, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, final("the input %q is missing", name)
	case err != nil:
		return nil, final("the input %q is no URL", name) // the cause would repeat it, with what secrets it holds
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, final("the input %q must be a whole http or https URL", name)
	case u.User != nil:
		return nil, final("the input %q must not hold a name or a password; use \"auth\" or \"headers\"", name)
	}
	return u, nil
}

// failed is what an exchange's error says to others: not the URL, which may hold
// a secret in its query, and no secret that somebody sent back.
func failed(ctx context.Context, what string, err error, s secrets) error {
	if gone := ended(ctx); gone != nil {
		return gone
	}
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &Error{Message: what + ": " + cut(s.mask(err.Error()), 1000), Final: errors.Is(err, outbound.ErrRefused) || errors.Is(err, outbound.ErrTooLarge)}
}

// encode makes a result. Maps come out sorted, so that the same is the same.
func encode(v any) (jsontext.Value, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	return b, nil
}

// cut shortens a text, and makes it valid.
func cut(s string, most int) string {
	return strings.ToValidUTF8(words.Shorten(s, most), "\uFFFD")
}

// seconds is a time as results have it.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
