package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// How jobs are fetched. A commit tells of its jobs, so that polling is only for
// when what it told was missed.
const (
	fetchCooldown = 2 * time.Millisecond
	fetchPoll     = 500 * time.Millisecond
	// keepJobs is how long River keeps jobs that are over.
	keepJobs = 2 * time.Minute
	// rescueJobs is after how long River takes a job's node for dead. It is of no
	// importance: what becomes of a task is decided by its row.
	rescueJobs = 7 * 24 * time.Hour
	// riverConnections bounds River's connections, one of which listens.
	riverConnections = 6
)

// channel is where commits tell what they changed, behind the schema's name.
const channel = "reeve_task"

// maxNotice is how many bytes a notification may have; PostgreSQL allows 7,999.
const maxNotice = 7900

// maxRoots is how many trees a commit tells of one by one.
const maxRoots = 1000

// migrateRiver brings River's tables up to date, on connections of its own.
func migrateRiver(ctx context.Context, cfg *pgxpool.Config) error {
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = 2, 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return fmt.Errorf("the tables of River: %w", err)
	}
	return nil
}

// job is one attempt at a task, as River carries it.
type job struct {
	Task    task.ID `json:"task"`
	Root    task.ID `json:"root"`
	Attempt int     `json:"attempt"`
	Run     int     `json:"run"`
}

const jobKind = "reeve_task"

// Kind names the jobs to River.
func (job) Kind() string { return jobKind }

// queueNames are those that River takes for queues, up to a length.
var queueNames = lazyregexp.New(`^[a-z0-9]+([_-]?[a-z0-9]+)*$`)

// queueOf is the queue of an executor: its own name when that is one of a queue,
// else a hash of it, so that no two executors share one.
func queueOf(executor string) string {
	const hashed = "x-"
	if len(executor) <= 64 && queueNames.MatchString(executor) && !strings.HasPrefix(executor, hashed) {
		return executor
	}
	sum := sha256.Sum256([]byte(executor))
	return hashed + hex.EncodeToString(sum[:20])
}

// queueJobs queues the insertion of a job for each row, and tells River's clients.
func queueJobs(b *pgx.Batch, ready []*task.Row) {
	if len(ready) == 0 {
		return
	}
	args, queues, priorities := make([]string, len(ready)), make([]string, len(ready)), make([]int16, len(ready))
	told := map[string]bool{}
	names := map[string]string{}
	var payloads []string
	for i, r := range ready {
		name, ok := names[r.Executor]
		if !ok {
			name = queueOf(r.Executor)
			names[r.Executor] = name
		}
		args[i] = fmt.Sprintf(`{"task": %q, "root": %q, "attempt": %d, "run": %d}`, r.ID, r.Root, r.Attempt+1, r.Run)
		queues[i], priorities[i] = name, int16(min(r.Priority, 3))+1
		if !told[name] {
			told[name] = true
			payloads = append(payloads, fmt.Sprintf(`{"queue": %q}`, name))
		}
	}
	b.Queue(`INSERT INTO river_job (args, kind, max_attempts, priority, queue, scheduled_at, created_at, state, tags)
		SELECT a::jsonb, $1, 1, p, q, now(), now(), 'available', '{}' FROM unnest($2::text[], $3::smallint[], $4::text[]) AS j (a, p, q)`,
		jobKind, args, priorities, queues)
	b.Queue(notifyRiver, payloads)
}

// notifyRiver tells River's clients that queues have jobs.
const notifyRiver = `SELECT pg_notify(concat(current_schema(), '.river_insert'), p) FROM unnest($1::text[]) AS n (p)`

// notice is a task.Notice as a notification holds it.
type notice struct {
	Stopped    []task.Stopped `json:"stopped,omitempty"`
	Roots      []task.ID      `json:"roots,omitempty"`
	Everything bool           `json:"everything,omitzero"`
}

// queueNotice queues the telling of what other nodes want to know.
func queueNotice(b *pgx.Batch, w *task.Writes) {
	if payloads := notices(w); len(payloads) > 0 {
		b.Queue(`SELECT pg_notify(concat(current_schema(), '.`+channel+`'), p) FROM unnest($1::text[]) AS n (p)`, payloads)
	}
}

// notices are the notifications about a batch, the attempts that must end first.
func notices(w *task.Writes) (payloads []string) {
	var list []string
	size := 0
	flush := func(member string) {
		if len(list) > 0 {
			payloads = append(payloads, `{"`+member+`":[`+strings.Join(list, ",")+`]}`)
			list, size = list[:0], 0
		}
	}
	add := func(member string, item []byte) {
		const frame = len(`{"stopped":[]}`)
		if size+len(item)+frame > maxNotice {
			flush(member)
		}
		list = append(list, string(item))
		size += len(item) + 1
	}
	for _, s := range w.Stopped {
		if item, err := json.Marshal(s); err == nil && len(item) < maxNotice/2 {
			add("stopped", item)
		} else {
			payloads = append(payloads, `{"everything":true}`)
		}
	}
	flush("stopped")
	roots := map[task.ID]bool{}
	for i := range w.Events {
		roots[w.Events[i].Root] = true
	}
	for _, t := range w.New {
		roots[t.Root] = true
	}
	if len(roots) > maxRoots {
		return append(payloads, `{"everything":true}`)
	}
	for root := range roots {
		add("roots", []byte(`"`+root.String()+`"`))
	}
	flush("roots")
	return payloads
}

// Dispatcher hands ready tasks to whichever node has room, and tells nodes what
// others have changed. It listens for notifications: the database's URL must lead
// to the server itself, or to a pooler that gives each client a session of its own.
type Dispatcher struct {
	store  *Store
	logger *slog.Logger
}

// Dispatcher returns one that works with the store's tasks. River's warnings go
// to logger.
func (s *Store) Dispatcher(logger *slog.Logger) *Dispatcher {
	return &Dispatcher{store: s, logger: slog.New(warnings{logger.Handler()})}
}

// warnings leaves out what is less than a warning.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// Changed has nothing to do: the commit has told all nodes.
func (d *Dispatcher) Changed(*task.Writes) {}

// Missed starts ready tasks that nobody began, as far as this node has room for them.
func (d *Dispatcher) Missed(rows []*task.Row) { d.store.local.missed(rows) }

// Run hands out tasks until ctx ends, and all that were started have returned.
func (d *Dispatcher) Run(ctx context.Context, work task.Work) error {
	cfg := d.store.pool.Config()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = riverConnections, 0, 0
	// What River writes need not survive a loss of power: a job that is handed out
	// again for it does no harm, and one that is lost is missed within seconds.
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	cfg.AfterConnect = nil
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("the dispatcher's connections: %w", err)
	}
	defer pool.Close()

	if len(work.Limits) == 0 {
		d.listen(ctx, work.Noticed)
		return nil
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{ctx: ctx, start: work.Start, desk: &d.store.local})
	queues := make(map[string]river.QueueConfig, len(work.Limits))
	for executor, limit := range work.Limits {
		queues[queueOf(executor)] = river.QueueConfig{MaxWorkers: max(1, min(limit, river.QueueNumWorkersMax))}
	}
	client, err := river.NewClient(carrier{riverpgxv5.New(pool), &d.store.local}, &river.Config{
		Queues: queues, Workers: workers, Logger: d.logger, MaxAttempts: 1, JobTimeout: -1, RescueStuckJobsAfter: rescueJobs,
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll,
		CompletedJobRetentionPeriod: keepJobs, CancelledJobRetentionPeriod: keepJobs, DiscardedJobRetentionPeriod: keepJobs,
	})
	if err != nil {
		return fmt.Errorf("the dispatcher: %w", err)
	}
	d.store.local.open(ctx, work, func(queue string) {
		_, _ = pool.Exec(ctx, notifyRiver, []string{fmt.Sprintf(`{"queue": %q}`, queue)}) // else it looks by itself, a little later
	})
	defer d.store.local.close()
	// River ends when it is told to, not with ctx: what runs must return first.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the dispatcher: %w", err)
	}
	d.listen(ctx, work.Noticed)
	return client.StopAndCancel(context.WithoutCancel(ctx))
}

// worker starts what River hands out.
type worker struct {
	river.WorkerDefaults[job]
	ctx   context.Context // of Run
	start func(ctx context.Context, h task.Handed) (execute func())
	desk  *localWorkers
}

// Work starts one attempt. What becomes of it is not River's business.
func (w *worker) Work(ctx context.Context, j *river.Job[job]) error {
	defer w.desk.ended(j.Queue, func(w *workers) { w.river = max(0, w.river-1) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	if w.ctx.Err() == nil {
		w.start(ctx, task.Handed{
			Task: j.Args.Task, Root: j.Args.Root, Attempt: j.Args.Attempt, Run: j.Args.Run, Priority: uint8(max(j.Priority, 1) - 1),
		})()
	}
	return nil
}

// listen tells what other nodes change, until ctx ends. When it may have missed
// something, it tells that.
func (d *Dispatcher) listen(ctx context.Context, noticed func(task.Notice)) {
	d.store.listen(ctx, d.logger, channel, func() { noticed(task.Notice{Everything: true}) }, func(payload string) { noticed(readNotice(payload)) })
}

// readNotice reads a notification. One that cannot be read may say anything.
func readNotice(payload string) task.Notice {
	var n notice
	if err := json.Unmarshal([]byte(payload), &n); err != nil {
		return task.Notice{Everything: true}
	}
	for _, s := range n.Stopped {
		if s.Attempt < 0 || s.Attempt > math.MaxInt32 {
			return task.Notice{Everything: true}
		}
	}
	return task.Notice(n)
}
