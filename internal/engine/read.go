package engine

import (
	"context"
	"sync"
	"time"

	"reeve.example/reeve/task"
)

// reader reads the tasks that starts ask for. What is asked for while reads are
// under way is read together: of many starts at once each would else make a round
// trip for its task, and one for what that depends on.
type reader struct {
	store task.Store

	mu      sync.Mutex
	waiting []*reading // oldest first
	busy    int        // reads that are under way
}

// reading is what one start asked for.
type reading struct {
	ids   []task.ID
	found map[task.ID]*task.Task // others have it, too
	err   error
	done  chan struct{}
}

const (
	readers     = 2                // reads at once
	readAtOnce  = 32               // tasks of one read: each may be large
	readTimeout = 30 * time.Second // of one read
)

// tasks returns those of some tasks that exist, by id. They must not be changed.
func (r *reader) tasks(ctx context.Context, ids []task.ID) (map[task.ID]*task.Task, error) {
	w := &reading{ids: ids, done: make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, w)
	if r.busy < readers {
		r.busy++
		go r.serve()
	}
	r.mu.Unlock()
	select {
	case <-w.done:
		return w.found, w.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// serve reads until nothing is waited for.
func (r *reader) serve() {
	for {
		r.mu.Lock()
		var some []*reading
		seen := map[task.ID]bool{}
		var ids []task.ID
		for len(r.waiting) > 0 && (len(some) == 0 || len(ids)+len(r.waiting[0].ids) <= readAtOnce) {
			w := r.waiting[0]
			r.waiting = r.waiting[1:]
			some = append(some, w)
			for _, id := range w.ids {
				if !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
		}
		if len(some) == 0 {
			r.busy--
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		list, err := r.store.TasksOf(ctx, ids)
		cancel()
		found := make(map[task.ID]*task.Task, len(list))
		for _, t := range list {
			found[t.ID] = t
		}
		for _, w := range some {
			w.found, w.err = found, err
			close(w.done)
		}
	}
}
