package engine

import (
	"context"
	"sync"

	"reeve.example/reeve/task"
)

// turns has starts begin in the order in which they were handed out, as far as one is
// more urgent than another: which of two goroutines is faster must not say which
// task begins. What is equally urgent begins at once.
type turns struct {
	mu    sync.Mutex
	taken [4][]*turn // by priority: those not over, in the order in which they were taken
	last  uint64
}

// turn is one start's place among those that begin.
type turn struct {
	of       *turns
	priority uint8
	number   uint64
	done     chan struct{} // closed when it is over
	once     sync.Once
}

// take takes a place behind all that were taken before.
func (s *turns) take(priority uint8) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	t := &turn{of: s, priority: min(priority, uint8(len(s.taken)-1)), number: s.last, done: make(chan struct{})}
	s.taken[t.priority] = append(s.taken[t.priority], t)
	return t
}

// wait returns when everything more urgent that was taken before has begun, or will
// not now; false when ctx ended first.
func (t *turn) wait(ctx context.Context) bool {
	for {
		before := t.before()
		if before == nil {
			return ctx.Err() == nil
		}
		select {
		case <-before.done:
		case <-ctx.Done():
			return false
		}
	}
}

// before is a turn that this one waits for; nil for none.
func (t *turn) before() *turn {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	for _, taken := range t.of.taken[:t.priority] {
		if len(taken) > 0 && taken[0].number < t.number {
			return taken[0]
		}
	}
	return nil
}

// over says that nobody needs to wait for this one any more.
func (t *turn) over() {
	t.once.Do(func() {
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		close(t.done)
		taken := t.of.taken[t.priority]
		for i, other := range taken {
			if other == t {
				t.of.taken[t.priority] = append(taken[:i], taken[i+1:]...)
				break
			}
		}
	})
}

// keyed lets those who change the same task do so one after the other, so that none
// finds it changed by another of this node.
type keyed struct {
	mu   sync.Mutex
	held map[task.ID]*hold
}

// hold is the right to change a task, and how many have or want it.
type hold struct {
	wanted int
	free   chan struct{} // holds one while nobody has it
}

// lock waits for the right to change a task, and returns what gives it back.
func (k *keyed) lock(ctx context.Context, id task.ID) (unlock func(), err error) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[task.ID]*hold{}
	}
	h := k.held[id]
	if h == nil {
		h = &hold{free: make(chan struct{}, 1)}
		h.free <- struct{}{}
		k.held[id] = h
	}
	h.wanted++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if h.wanted--; h.wanted == 0 {
			delete(k.held, id)
		}
	}
	select {
	case <-h.free:
		return func() { h.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
