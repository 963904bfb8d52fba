package model

import "time"

// The breaker opens after maxFailures in a row, for pause at a time.
const (
	maxFailures = 5
	pause       = 30 * time.Second
)

// breaker spares decisions the wait for a model that fails. While it is open
// nobody asks; after the pause one request is let through as a trial, and what
// comes of it closes the breaker or begins another pause. The zero breaker is
// closed. The Scorer's mutex guards it.
type breaker struct {
	failures int // in a row, while closed
	open     bool
	until    time.Time // when the pause ends, while open
	trial    bool      // one is on its way, while open

	// turn counts the openings. What began before an opening is no news after
	// it: requests that fail late do not lengthen the pause, and one that still
	// succeeds does not end it.
	turn int
}

// change is what a request's end did to the breaker.
type change int

const (
	unchanged change = iota
	opened
	closed
)

// enter asks for permission to make a request. Whoever gets it calls leave with
// the turn when the request has ended.
func (b *breaker) enter(now time.Time) (turn int, ok bool) {
	if b.open {
		if b.trial || now.Before(b.until) {
			return 0, false
		}
		b.trial = true
	}
	return b.turn, true
}

// leave tells how a request ended.
func (b *breaker) leave(turn int, ok bool, now time.Time) change {
	if turn != b.turn {
		return unchanged
	}
	wasOpen := b.open
	if ok {
		b.failures, b.open, b.trial = 0, false, false
		if wasOpen {
			return closed
		}
		return unchanged
	}
	b.failures++
	if !wasOpen && b.failures < maxFailures {
		return unchanged
	}
	b.failures, b.open, b.trial, b.until = 0, true, false, now.Add(pause)
	b.turn++
	if wasOpen {
		return unchanged
	}
	return opened
}
