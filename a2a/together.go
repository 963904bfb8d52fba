package a2a

import (
	"context"
	"errors"
	"sync"

	"reeve.example/reeve/internal/engine"
)

// reads makes one of the reads of the same thing that many ask for at once, as the
// streams of one task do when it has changed. A read that is asked for while one is
// going on is made after that: what has changed, may have changed since it began.
// What comes of a read belongs to all who asked, and must not be changed.
type reads struct {
	mu    sync.Mutex
	going map[readKey]*reading // guarded by mu
}

// readKey says what is read, and for whom.
type readKey struct {
	what, id string
	by       engine.Caller
}

// reading is one read that is being made, or is to be made next.
type reading struct {
	done  chan struct{}
	next  *reading // guarded by reads.mu
	value any
	err   error
}

// errUnread is what others are told of a read that panicked.
var errUnread = errors.New("the read was not finished")

// together makes a read, or waits for one that another makes.
func together[T any](ctx context.Context, all *reads, key readKey, read func(ctx context.Context) (T, error)) (T, error) {
	all.mu.Lock()
	now := all.going[key]
	switch {
	case now == nil:
		now = &reading{done: make(chan struct{})}
		all.going[key] = now
		all.mu.Unlock()
	case now.next != nil: // which has not begun
		now = now.next
		all.mu.Unlock()
		<-now.done
		value, _ := now.value.(T)
		return value, now.err
	default:
		before := now
		now = &reading{done: make(chan struct{})}
		before.next = now
		all.mu.Unlock()
		<-before.done
	}
	defer func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		if now.next != nil {
			all.going[key] = now.next
		} else {
			delete(all.going, key)
		}
		close(now.done)
	}()
	// Others wait for it, too: it does not end with the call of who makes it.
	now.err = errUnread
	value, err := read(context.WithoutCancel(ctx))
	now.value, now.err = value, err
	return value, err
}
