package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"reeve/task"
)

// Quota bounds what one user may have of tasks that have not ended: they stay until
// they do. A bound of 0 is none.
type Quota struct {
	Tasks int
	Bytes int64 // of their definitions
}

// QuotaError says that a user has as much as it may have.
type QuotaError struct{ reason string }

func (e *QuotaError) Error() string { return e.reason }

// usage is what a user has, never less than it is: what has ended since it was counted
// counts until it is counted again.
type usage struct {
	mu      sync.Mutex
	counted time.Time
	tasks   int
	bytes   int64
	flying  int   // of tasks, what is being made
	afloat  int64 // likewise of bytes
}

// recount is how old a count may be, and again how soon another is made where it says that
// there is no room: counting costs more than refusing.
const (
	recount = time.Minute
	again   = time.Second
)

// maxUsers is of how many users it is remembered what they have.
const maxUsers = 4096

// reserve takes room for tasks before they are made, so that of many at once no more
// are made than there is room for. made must be called with whether they were.
func (e *Engine) reserve(ctx context.Context, by Caller, tasks int, bytes int64) (made func(bool), err error) {
	q := e.cfg.Quota
	if by.Admin || q == (Quota{}) {
		return func(bool) {}, nil
	}
	u := e.usageOf(by.User) // where every task is everybody's, all callers are one
	u.mu.Lock()
	defer u.mu.Unlock()
	full := func() bool {
		return q.Tasks > 0 && tasks > 0 && u.tasks+tasks > q.Tasks || q.Bytes > 0 && u.bytes+bytes > q.Bytes
	}
	if age := e.cfg.Now().Sub(u.counted); age > recount || full() && age > again {
		n, size, err := e.cfg.Store.OpenTasks(ctx, by.User)
		if err != nil {
			return nil, err
		}
		u.tasks, u.bytes, u.counted = n+u.flying, size+u.afloat, e.cfg.Now()
	}
	if full() {
		return nil, &QuotaError{fmt.Sprintf(
			"You may have %d tasks with %d bytes that have not ended, and have %d with %d. Execute, cancel or delete some.", q.Tasks, q.Bytes, u.tasks, u.bytes)}
	}
	u.tasks += tasks
	u.bytes += bytes
	u.flying += tasks
	u.afloat += bytes
	return func(ok bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.flying -= tasks
		u.afloat -= bytes
		if !ok {
			u.tasks -= tasks
			u.bytes -= bytes
		}
	}, nil
}

func (e *Engine) usageOf(user string) *usage {
	e.quotas.Lock()
	defer e.quotas.Unlock()
	u := e.usages[user]
	if u == nil {
		if len(e.usages) >= maxUsers {
			clear(e.usages) // they are counted again
		}
		u = &usage{}
		e.usages[user] = u
	}
	return u
}

// sizeOf is about how many bytes of tasks are kept.
func sizeOf(tasks ...*task.Task) (n int64) {
	for _, t := range tasks {
		n += int64(len(t.Name) + len(t.Inputs) + len(t.Params) + len(t.Schemas) + len(t.Extra))
	}
	return n
}
