package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"reeve.example/reeve/task"
)

// How often the engine looks for what time has brought about. What this node
// itself makes due is known earlier.
const (
	lookEvery  = time.Second
	staleAfter = 5 * time.Second // a ready task that nobody was handed is handed out again
	someRows   = 500
)

func (e *Engine) wakeTimers() {
	select {
	case e.rewatch <- struct{}{}:
	default:
	}
}

// keepTime does what becomes due: tasks to be tried again, schedules, and what a
// node that is gone has left behind. With several nodes each does so, and of two
// changes the second finds that the task has moved on.
func (e *Engine) keepTime(ctx context.Context, limits map[string]int) {
	if rows, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Phase: task.Held}); err == nil {
		e.release(ctx, rows) // people may have answered while no node ran
	}
	for {
		next := e.look(ctx, limits)
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-e.rewatch:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look does everything that is due, and returns when to look again.
func (e *Engine) look(ctx context.Context, limits map[string]int) time.Duration {
	now := e.cfg.Now()
	next := lookEvery
	each := func(q task.RowQuery, f func(r *task.Row) *task.Change) {
		rows, err := e.cfg.Store.TaskRows(ctx, q)
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Logger.Error("what is due cannot be read", "error", err)
			}
			return
		}
		var changing sync.WaitGroup // at once, so that a commit takes many
		for i := range rows {
			c := f(&rows[i])
			if c == nil || ctx.Err() != nil {
				continue
			}
			c.Task, c.Root, c.At = rows[i].ID, rows[i].Root, e.cfg.Now()
			changing.Go(func() {
				if err := e.cfg.Guard.ChangeTask(ctx, c); err != nil && !errors.Is(err, task.ErrMoved) && ctx.Err() == nil {
					e.cfg.Logger.Error("what is due for a task cannot be done", "task", c.Task.String(), "error", err)
				}
			})
		}
		changing.Wait()
	}
	each(task.RowQuery{Phase: task.Running, Lost: true, Limit: someRows}, func(r *task.Row) *task.Change {
		return &task.Change{Kind: task.Lose, Attempt: r.Attempt, Node: r.Node, Message: "The node that executed it is gone: it starts again."}
	})
	// What this node should be executing and is not: its end could not be written, or
	// it was stopped while the lease seemed over.
	each(task.RowQuery{Phase: task.Running, Node: e.cfg.Node, Limit: e.cfg.Concurrent + someRows}, func(r *task.Row) *task.Change {
		e.mu.Lock()
		a := e.running[r.ID]
		e.mu.Unlock()
		if r.Node != e.cfg.Node || a != nil && a.number == r.Attempt && a.run == r.Run {
			return nil
		}
		return &task.Change{Kind: task.Lose, Attempt: r.Attempt, Node: r.Node, Message: "Its node lost hold of it: it starts again."}
	})
	each(task.RowQuery{Phase: task.Delayed, DueBefore: now.Add(lookEvery), Limit: someRows}, func(r *task.Row) *task.Change {
		if wait := r.Due.Sub(now); wait > 0 {
			next = min(next, wait)
			return nil
		}
		return &task.Change{Kind: task.Wake}
	})
	rows, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Scheduled: true, DueBefore: now.Add(lookEvery), Limit: someRows})
	if err == nil {
		var running sync.WaitGroup
		for i := range rows {
			if wait := rows[i].Next.Sub(now); wait > 0 {
				next = min(next, wait)
			} else {
				running.Go(func() { e.trigger(ctx, &rows[i], now) })
			}
		}
		running.Wait()
	}
	for executor, limit := range limits {
		e.missed(ctx, executor, limit, now)
	}
	return next
}

// runAgain is when a run is looked at again that is due while the one before goes on.
const runAgain = time.Second

// brokenAgain is when a schedule that cannot be read is looked at again.
const brokenAgain = time.Hour

// missedAfter is how late a run may be before it counts as missed.
const missedAfter = time.Minute

// trigger executes a tree, or a part of one, whose schedule is due.
func (e *Engine) trigger(ctx context.Context, r *task.Row, now time.Time) {
	t, err := e.cfg.Store.Task(ctx, r.ID)
	if errors.Is(err, task.ErrBroken) { // what its schedule is cannot be read
		e.cfg.Logger.Error("a schedule cannot be kept", "task", r.ID.String(), "error", err)
		c := &task.Change{Kind: task.Trigger, Task: r.ID, Root: r.Root, At: now, Due: r.Next, Skip: true, Next: now.Add(brokenAgain)}
		if err := e.cfg.Guard.ChangeTask(ctx, c); err != nil && !errors.Is(err, task.ErrMoved) && ctx.Err() == nil {
			e.cfg.Logger.Error("a damaged schedule cannot be put off", "task", r.ID.String(), "error", err)
		}
	}
	if err != nil {
		return
	}
	c := &task.Change{Kind: task.Trigger, Task: r.ID, Root: r.Root, At: now, Due: r.Next}
	// However many runs were missed, they count as one.
	c.Next, _ = t.Schedule.Next(now)
	c.Drop = t.Schedule.Missed == "skip"
	c.Skip = c.Drop && now.Sub(r.Next) > missedAfter
	c.Last = t.Schedule.Bounded && t.Runs+1 >= t.Schedule.MaxRuns
	if r.Parent == (task.ID{}) && r.Open > 0 && !c.Drop { // it waits for the run before, and is no run yet
		c.Skip, c.Next = true, now.Add(runAgain)
		if err := e.cfg.Guard.ChangeTask(ctx, c); err != nil && !errors.Is(err, task.ErrMoved) && ctx.Err() == nil {
			e.cfg.Logger.Error("a schedule cannot be kept", "task", r.ID.String(), "error", err)
		}
		return
	}
	details := links(t, "due", r.Next.UTC().Format(time.RFC3339))
	if _, err := e.record(ctx, "task.schedule", owner(t.User), nil, details, c); err != nil && !errors.Is(err, task.ErrMoved) && ctx.Err() == nil {
		e.cfg.Logger.Error("a schedule cannot be kept", "task", r.ID.String(), "error", err)
	}
}

// missed finds tasks that are ready and that no dispatcher has: whoever took them may
// be gone.
func (e *Engine) missed(ctx context.Context, executor string, limit int, now time.Time) {
	e.mu.Lock()
	free := limit - e.busy[executor]
	e.mu.Unlock()
	if free <= 0 {
		return
	}
	rows, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Phase: task.Ready, Executor: executor, Limit: free})
	if err != nil {
		return
	}
	var waiting []*task.Row
	for i := range rows {
		if now.Sub(rows[i].Updated) > staleAfter {
			waiting = append(waiting, &rows[i])
		}
	}
	e.cfg.Dispatcher.Missed(waiting)
}

// keepLease stops everything that runs before others may take it for lost: what the
// node cannot finish, since its lease is over, it must not go on with.
func (e *Engine) keepLease(ctx context.Context) {
	const margin, look = 500 * time.Millisecond, 100 * time.Millisecond
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		ends := e.cfg.Store.LeaseEnds()
		if ends.IsZero() {
			continue
		}
		if time.Until(ends) > margin {
			continue
		}
		e.mu.Lock()
		for id, a := range e.running {
			if a.begun.Load() {
				e.cfg.Logger.Error("a task is stopped: the node could not renew its lease", "task", id.String())
				a.cancel(errLeaseOver)
			}
		}
		e.mu.Unlock()
	}
}
