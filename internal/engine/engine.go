// Package engine executes trees of tasks. It keeps them in the node's store, hands
// those that are ready to executors, has the guard decide about each start and
// each result, and tells whoever watches what becomes of them.
//
//	e := engine.New(engine.Config{Guard: g, Store: store, Executors: executors, Dispatcher: d, Node: log.Node()})
//	go e.Run(ctx)
//	root, err := e.Create(ctx, caller, tasks, tasks[0], engine.Making{Execute: true})
//
// Every change goes through the ledger's committer: nothing runs before its start
// is durable, and who waits for a task is released in the transaction in which
// that ends. A task may be executed more than once, when a node dies; the change
// that ends it is made once.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/task"
)

// Dispatcher hands ready tasks to where there is room. There is one for each way
// of keeping them: in the memory of the only process, or in a queue that many share.
type Dispatcher interface {
	// Run hands out tasks until ctx ends, and returns when all starts have returned.
	Run(ctx context.Context, work task.Work) error
	// Changed is told what a commit of this node made of tasks. It does not block.
	Changed(w *task.Writes)
	// Missed is told of tasks that have been ready for a while: whoever took them may be
	// gone. They are started if there is room for them.
	Missed(rows []*task.Row)
}

// Config is what an Engine is made of. All but the functions is required.
type Config struct {
	Guard      *guard.Guard
	Store      task.Store
	Executors  *executor.Registry
	Dispatcher Dispatcher
	Node       string // this holder of the log: ledger.Log.Node
	// Concurrent bounds the tasks that are executed at once, of all executors; 0 means 256.
	Concurrent int
	// Quota bounds what one user may have of tasks that have not ended, and of their
	// definitions' bytes.
	Quota quota.Most
	// Shared has it together with other nodes; nil where there are none.
	Shared quota.Shared
	// Refused is called when a user's bound was reached, with its name; nil for none.
	Refused func(quota string)
	// Grace is how long running tasks may go on when the node stops; then they are
	// stopped and given back. 0 means that they are stopped at once.
	Grace time.Duration
	// Revoked reports whether the credential of whoever made a task was taken from them, by the
	// principal's name: then it does not start. nil for never.
	Revoked func(principal string) bool
	// Push tells who asked for it what becomes of trees; its zero value tells nobody.
	Push Pusher
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Ended is called with each attempt that ended and how long it took; nil for none.
	Ended  func(executor string, outcome task.Phase, took time.Duration)
	Logger *slog.Logger // nil means slog.Default
	// Span names the span that the start of a task has in traces, so that what is done
	// for the task goes on there; empty where nobody traces. nil for nobody.
	Span func(a *act.Action, at act.Position) string
}

// Engine executes tasks. It is safe for concurrent use.
type Engine struct {
	cfg    Config
	reader *reader

	mu      sync.Mutex
	running map[task.ID]*attempt        // by task
	busy    map[string]int              // how many of them of each executor
	watches map[task.ID]map[*Watch]bool // by root
	broken  map[task.ID]bool            // which damaged tasks the log told of

	turns   turns // of starts
	changes keyed // of clients' changes, by task

	tasks quota.Counter

	rewatch  chan struct{}   // wakes the timers when something is due
	stopping context.Context // ends when the node stops; set by Run
}

// New returns an Engine. Run starts it.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Span == nil {
		cfg.Span = func(*act.Action, act.Position) string { return "" }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Concurrent <= 0 {
		cfg.Concurrent = 256
	}
	if cfg.Ended == nil {
		cfg.Ended = func(string, task.Phase, time.Duration) {}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string) {}
	}
	e := &Engine{
		cfg: cfg, reader: &reader{store: cfg.Store}, running: map[task.ID]*attempt{}, busy: map[string]int{}, watches: map[task.ID]map[*Watch]bool{},
		tasks:   quota.Counter{Most: cfg.Quota, Now: cfg.Now, Count: cfg.Store.OpenTasks},
		rewatch: make(chan struct{}, 1), stopping: context.Background(),
	}
	if cfg.Shared != nil {
		e.tasks.Reserve = cfg.Shared.ReserveTasks
	}
	return e
}

// Group is the executor of a task that names none: it does nothing, and stands
// for those under it or waits for them.
const Group = "group"

// limit is how many tasks of an executor run at once on a node.
func limit(d executor.Description) int {
	if d.Concurrent > 0 {
		return d.Concurrent
	}
	return 64
}

// Run executes tasks until ctx ends, and returns when everything has been stopped
// and given back.
func (e *Engine) Run(ctx context.Context) error {
	limits := map[string]int{Group: 64}
	for _, d := range e.cfg.Executors.List() {
		limits[d.ID] = limit(d)
	}
	e.stopping = ctx
	// What runs outlives the handing out by the grace period.
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(errStopping)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop(errStopping)
	beside.Go(func() {
		<-ctx.Done()
		select {
		case <-time.After(e.cfg.Grace):
		case <-work.Done():
		}
		stop(errStopping)
	})
	start := func(_ context.Context, h task.Handed) func() {
		turn := e.turns.take(h.Priority)
		return func() {
			defer turn.over()
			e.start(work, h, turn)
		}
	}
	beside.Go(func() { e.keepTime(ctx, limits) })
	beside.Go(func() { e.keepLease(work) })
	beside.Go(func() { e.pushAll(ctx) })
	return e.cfg.Dispatcher.Run(ctx, task.Work{Limits: limits, Room: e.cfg.Concurrent, Start: start, Noticed: e.Noticed})
}

// Why an attempt's context ended.
var (
	errStopping  = errors.New("the node is stopping")
	errCancelled = errors.New("the task was cancelled")
	errLeaseOver = errors.New("the node could not renew its lease")
	errTimeOver  = errors.New("its time is over")
)

// Changed is told what a commit of this node made of tasks. It does not block.
func (e *Engine) Changed(w *task.Writes) {
	e.cfg.Dispatcher.Changed(w)
	n := task.Notice{Stopped: w.Stopped}
	var last task.ID
	for i := range w.Events {
		if root := w.Events[i].Root; root != last {
			n.Roots = append(n.Roots, root)
			last = root
		}
	}
	e.Noticed(n)
	if len(w.Pushes) > 0 || len(n.Roots) > 0 {
		e.cfg.Push.woken.Up()
	}
	for _, r := range w.Rows {
		if r.Phase == task.Delayed {
			e.wakeTimers()
			break
		}
	}
	for _, t := range w.New {
		if t.Row.Schedule() {
			e.wakeTimers()
			break
		}
	}
}

// Noticed is told what changed, here or on another node. It does not block.
func (e *Engine) Noticed(n task.Notice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range n.Stopped {
		if a := e.running[s.Task]; a != nil && a.number == s.Attempt && a.run == s.Run {
			a.cancel(errCancelled)
		}
	}
	for _, root := range n.Roots {
		for w := range e.watches[root] {
			w.tell()
		}
	}
	if n.Everything {
		for _, watches := range e.watches {
			for w := range watches {
				w.tell()
			}
		}
		for id, a := range e.running {
			go e.recheck(id, a)
		}
	}
}

// recheck stops an attempt that was ended while nothing was heard of it.
func (e *Engine) recheck(id task.ID, a *attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := e.cfg.Store.TaskRow(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && a.begun.Load() &&
		(r.Phase != task.Running || r.Attempt != a.number || r.Run != a.run || r.Node != e.cfg.Node) {
		a.cancel(errCancelled)
	}
}

// Answered is told of a held decision that people, or time, have settled.
func (e *Engine) Answered(ctx context.Context, h *approval.Decision) {
	rows, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Phase: task.Held, Held: h.ID})
	if err != nil {
		e.cfg.Logger.Error("tasks that wait for an approval cannot be read", "approval", h.ID, "error", err)
	}
	e.release(ctx, rows)
}

// release lets held tasks be judged again.
func (e *Engine) release(ctx context.Context, rows []task.Row) {
	for i := range rows {
		r := &rows[i]
		err := e.cfg.Guard.ChangeTask(ctx, &task.Change{Kind: task.Release, Task: r.ID, Root: r.Root, At: e.cfg.Now(), Release: r.Held})
		if err != nil && !errors.Is(err, task.ErrMoved) {
			e.cfg.Logger.Error("a task that waited for an approval cannot go on", "task", r.ID.String(), "error", err)
		}
	}
}

// Watch tells when a tree has new events.
type Watch struct {
	C chan struct{} // holds one when there may be something new
}

func (w *Watch) tell() {
	select {
	case w.C <- struct{}{}:
	default:
	}
}

// Watch returns a Watch of a tree, which is told at once. The caller stops it.
func (e *Engine) Watch(root task.ID) (w *Watch, stop func()) {
	w = &Watch{C: make(chan struct{}, 1)}
	w.tell()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watches[root] == nil {
		e.watches[root] = map[*Watch]bool{}
	}
	e.watches[root][w] = true
	return w, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.watches[root], w); len(e.watches[root]) == 0 {
			delete(e.watches, root)
		}
	}
}
