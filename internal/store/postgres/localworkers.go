package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/task"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// localWorkers counts the free workers of a node. What a commit of this node makes ready
// is given to them at once, as many as there are, and only the rest becomes jobs
// of River: a job costs as much as a task's own rows do, and some milliseconds of
// its way. A task that is kept has no job; when its node dies before the start, it
// is a ready task that nobody was handed, as with a lost job.
//
// The zero desk has no workers.
type localWorkers struct {
	mu      sync.Mutex
	ctx     context.Context // of the dispatcher's Run
	start   func(ctx context.Context, h task.Handed) (execute func())
	room    int // for all together; 0 means as many as there are workers
	queues  map[string]*workers
	wake    func(queue string) // has River look for jobs
	begun   map[task.ID]bool   // what was handed out for having been missed
	started sync.WaitGroup
}

// workers are those of one queue.
type workers struct {
	limit       int
	kept, river int  // busy, by how their task came
	short       bool // River could not take all the jobs that it had workers for
	// behind says that River may have jobs which wait for a worker: what becomes ready
	// now waits behind them, and overtakes none that is more urgent.
	behind bool
}

// wakeAfter is how long workers that become free are waited for before River looks
// for jobs that it had to leave.
const wakeAfter = 5 * time.Millisecond

// open lets the desk hand out tasks until ctx ends.
func (d *localWorkers) open(ctx context.Context, work task.Work, wake func(queue string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx, d.start, d.room, d.wake = ctx, work.Start, work.Room, wake
	d.queues, d.begun = make(map[string]*workers, len(work.Limits)), map[task.ID]bool{}
	for executor, limit := range work.Limits {
		d.queues[queueOf(executor)] = &workers{limit: limit}
	}
}

// close has nothing more be handed out, and returns when all starts have.
func (d *localWorkers) close() {
	d.mu.Lock()
	d.queues = nil
	d.mu.Unlock()
	d.started.Wait()
}

// free is how many more tasks workers can take. mu is held.
func (d *localWorkers) free(w *workers) int {
	if d.room <= 0 {
		return max(0, w.limit-w.kept-w.river)
	}
	busy := 0
	for _, w := range d.queues {
		busy += w.kept + w.river
	}
	return max(0, min(w.limit-w.kept-w.river, d.room-busy))
}

// keep takes workers for the most urgent of what a commit makes ready. rest is
// what there are none for.
func (d *localWorkers) keep(ready []*task.Row) (kept, rest []*task.Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queues == nil || d.ctx.Err() != nil {
		return nil, ready
	}
	ready = slices.Clone(ready)
	slices.SortStableFunc(ready, func(a, b *task.Row) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range ready {
		w := d.queues[queueOf(r.Executor)]
		switch {
		case w != nil && !w.behind && d.free(w) > 0:
			w.kept++
			kept = append(kept, r)
			continue
		case w != nil:
			w.behind = true
		}
		rest = append(rest, r)
	}
	return kept, rest
}

// missed starts ready tasks that nobody began, as far as there are workers. One that was
// started so before, and is not over, is not started again: each look finds it.
func (d *localWorkers) missed(rows []*task.Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *task.Row) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range rows {
		w := d.queues[queueOf(r.Executor)]
		if w == nil || d.begun[r.ID] || d.free(w) == 0 {
			continue
		}
		w.kept++
		d.begun[r.ID] = true
		d.run(r, func() { delete(d.begun, r.ID) })
	}
}

// run starts a task that a worker was taken for. mu is held; it is held when over is called,
// too.
func (d *localWorkers) run(r *task.Row, over func()) {
	queue := queueOf(r.Executor)
	execute := d.start(d.ctx, task.Handed{Task: r.ID, Root: r.Root, Attempt: r.Attempt + 1, Run: r.Run, Priority: r.Priority})
	d.started.Go(func() {
		defer d.ended(queue, func(w *workers) { w.kept--; over() })
		execute()
	})
}

// begin starts what was kept, now that it is durable.
func (d *localWorkers) begin(kept []*task.Row) {
	if len(kept) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queues == nil {
		return // who is handed tasks that nobody began finds them
	}
	for _, r := range kept {
		d.run(r, func() {})
	}
}

// drop gives back the workers for what was kept and has not come to be.
func (d *localWorkers) drop(kept []*task.Row) {
	for _, r := range kept {
		d.ended(queueOf(r.Executor), func(w *workers) { w.kept-- })
	}
}

// ended gives back a worker, and wakes River when it had too few.
func (d *localWorkers) ended(queue string, give func(w *workers)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.queues[queue]; w != nil {
		give(w)
	}
	for queue, w := range d.queues {
		if w.short && d.free(w) > 0 {
			w.short = false
			time.AfterFunc(wakeAfter, func() { d.wake(queue) })
		}
	}
}

// take takes workers for jobs that River is about to fetch: at most as many as it
// thinks are free.
func (d *localWorkers) take(queue string, most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.queues[queue]
	if w == nil {
		return 0
	}
	w.river = max(0, w.limit-most) // it knows best
	n := min(most, d.free(w))
	w.short = n < most
	w.river += n
	return n
}

// fetched is told how many jobs came for the workers that River was given.
func (d *localWorkers) fetched(queue string, asked, came int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.queues[queue]; w != nil {
		w.river -= asked - came
		w.behind = came == asked
		w.short = w.short && w.behind
	}
}

// carrier is River's driver for a node whose workers have other tasks, too.
type carrier struct {
	*riverpgxv5.Driver
	desk *localWorkers
}

// GetExecutor is what River makes its statements with.
func (c carrier) GetExecutor() riverdriver.Executor {
	return fetcher{c.Driver.GetExecutor(), c.desk}
}

type fetcher struct {
	riverdriver.Executor
	local *localWorkers
}

// JobGetAvailable fetches jobs for the workers that are free.
func (f fetcher) JobGetAvailable(ctx context.Context, p *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	some := *p
	if some.MaxToLock = f.local.take(p.Queue, p.MaxToLock); some.MaxToLock == 0 {
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	got, err := f.Executor.JobGetAvailable(ctx, &some)
	came := 0
	if err == nil {
		came = len(got.Jobs)
	}
	f.local.fetched(p.Queue, some.MaxToLock, came)
	return got, err
}
