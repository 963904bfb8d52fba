package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// patient bounds what takes milliseconds on a machine that is not busy.
const patient = 20 * time.Second

func tasks(t testing.TB, s *Store, owner string) *storetest.Tasks {
	t.Helper()
	l, err := storetest.NewTasks(t.Context(), s, owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Log.Close() })
	return l
}

// TestWriters has two nodes change the same trees at once.
func TestWriters(t *testing.T) {
	url := storetest.Postgres(t)
	one, two := open(t, url), open(t, url)
	storetest.Race(t, one, []*storetest.Tasks{tasks(t, one, "one"), tasks(t, two, "two")})
}

// TestSameID has two nodes make tasks of the same ids at once: of each one is
// made, and neither node's log fails for it.
func TestSameID(t *testing.T) {
	url := storetest.Postgres(t)
	logs := []*storetest.Tasks{tasks(t, open(t, url), "one"), tasks(t, open(t, url), "two")}
	const rounds = 60
	var mu sync.Mutex
	made := map[int]int{}
	var group sync.WaitGroup
	for _, l := range logs {
		group.Go(func() {
			for n := range rounds {
				err := l.Apply(t.Context(), &task.Change{Kind: task.Create, Root: storetest.TaskID(n), Tasks: []*task.Task{storetest.NewTask(n, task.ID{})}})
				var taken *task.Error
				if err == nil {
					mu.Lock()
					made[n]++
					mu.Unlock()
				} else if !errors.As(err, &taken) {
					t.Errorf("task %d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	for n := range rounds {
		if made[n] != 1 {
			t.Errorf("task %d was made %d times", n, made[n])
		}
	}
	for _, l := range logs {
		if l.Log.Generation() != 1 {
			t.Errorf("a log failed: %v", l.Log.Err())
		}
	}
}

// TestLeaseEnds compares what a node believes of its lease with what others do.
func TestLeaseEnds(t *testing.T) {
	url := storetest.Postgres(t)
	s := open(t, url)
	if got := s.LeaseEnds(); !got.IsZero() {
		t.Errorf("before Acquire the lease ends at %v", got)
	}
	before := time.Now()
	w := writer(t, s, "one")
	first := s.LeaseEnds()
	if first.Before(before.Add(leaseTime)) || first.After(time.Now().Add(leaseTime)) {
		t.Errorf("the lease ends %v after now, want %v", time.Until(first), leaseTime)
	}
	if _, err := w.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); err != nil {
		t.Fatal(err)
	}
	second := s.LeaseEnds()
	if !second.After(first) {
		t.Errorf("after a commit the lease ends at %v, before it at %v", second, first)
	}
	for deadline := time.Now().Add(patient); !s.LeaseEnds().After(second); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no heartbeat renews the lease")
		}
	}
	// By the server's clock the heartbeat is not older than by ours.
	ends := s.LeaseEnds()
	var age time.Duration
	if err := s.pool.QueryRow(t.Context(), `SELECT clock_timestamp() - heartbeat FROM log`).Scan(&age); err != nil {
		t.Fatal(err)
	}
	if rest := time.Until(ends); rest > leaseTime-age {
		t.Errorf("the lease is believed in for %v more, and the heartbeat is %v old", rest, age)
	}

	// The lease is lost: the heartbeat finds out.
	writer(t, open(t, url), "one")
	for deadline := time.Now().Add(patient); s.LeaseEnds().After(time.Now()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a lost lease is believed in")
		}
	}
	third := open(t, url)
	w = writer(t, third, "three")
	if err := third.Release(t.Context(), w.Lease); err != nil {
		t.Fatal(err)
	}
	if got := third.LeaseEnds(); got.IsZero() || got.After(time.Now()) {
		t.Errorf("a lease that was released ends at %v", got)
	}
}

// TestLost finds the tasks of nodes that no longer live: released, fenced, silent
// or never there.
func TestLost(t *testing.T) {
	url := storetest.Postgres(t)
	s := open(t, url)
	alive, silent, released, fenced := writer(t, s, "alive"), writer(t, s, "silent"), writer(t, s, "released"), writer(t, s, "fenced")
	after := writer(t, s, "fenced")
	if err := s.Release(t.Context(), released.Lease); err != nil {
		t.Fatal(err)
	}
	nodes := []string{alive.Lease.Node(), after.Lease.Node(), silent.Lease.Node(), released.Lease.Node(), fenced.Lease.Node(), "9:9", "", "x"}
	var list []*task.Task
	for i, node := range nodes {
		n := storetest.NewTask(i, task.ID{})
		n.Root, n.Phase, n.Node = n.ID, task.Running, node
		list = append(list, n)
	}
	var b pgx.Batch
	if err := queueTasks(&b, &task.Writes{New: list}); err != nil {
		t.Fatal(err)
	}
	if err := s.pool.SendBatch(t.Context(), &b).Close(); err != nil {
		t.Fatal(err)
	}
	silence := func() []string {
		t.Helper()
		if _, err := s.pool.Exec(t.Context(), `UPDATE log SET heartbeat = clock_timestamp() - interval '7 seconds' WHERE log = $1`, silent.Lease.Log); err != nil {
			t.Fatal(err)
		}
		rows, err := s.TaskRows(t.Context(), task.RowQuery{Phase: task.Running, Lost: true})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, r := range rows {
			got = append(got, r.Node)
		}
		slices.Sort(got)
		return got
	}
	want := slices.Clone(nodes[2:])
	slices.Sort(want)
	// The silent one's heart beats in this process, and may between the two statements.
	var got []string
	for range 5 {
		if got = silence(); len(got) == len(want) {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nodes of lost tasks (-want +got):\n%s", d)
	}
}

// node is a store with a log and a running dispatcher.
type node struct {
	*storetest.Tasks
	store      *Store
	dispatcher *Dispatcher
	notices    chan task.Notice
	stop       func() error // ends the dispatcher, and returns what Run did
}

func startNode(t *testing.T, url, owner string, limits map[string]int, start func(ctx context.Context, n *node, h task.Handed)) *node {
	t.Helper()
	s := open(t, url)
	n := &node{Tasks: tasks(t, s, owner), store: s, dispatcher: s.Dispatcher(slog.New(slog.DiscardHandler)), notices: make(chan task.Notice, 10_000)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- n.dispatcher.Run(ctx, task.Work{
			Limits: limits, Start: func(ctx context.Context, h task.Handed) func() { return func() { start(ctx, n, h) } }, Noticed: func(x task.Notice) { n.notices <- x },
		})
	}()
	n.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { n.stop() })
	n.wait(t, "that all may have changed", func(x task.Notice) bool { return x.Everything }) // it listens
	return n
}

// wait returns the first notice that is so.
func (n *node) wait(t *testing.T, what string, is func(task.Notice) bool) {
	t.Helper()
	for deadline := time.After(patient); ; {
		select {
		case x := <-n.notices:
			if is(x) {
				return
			}
		case <-deadline:
			t.Fatalf("no notice tells %s", what)
		}
	}
}

func create(t testing.TB, l *storetest.Tasks, from, to int, executor string) {
	t.Helper()
	var group sync.WaitGroup
	for i := from; i < to; i++ {
		group.Go(func() {
			n := storetest.NewTask(i, task.ID{})
			n.Executor, n.Priority = executor, uint8(i%4)
			if err := l.Apply(t.Context(), &task.Change{Kind: task.Create, Root: n.ID, Tasks: []*task.Task{n}, Ask: true}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestDispatcher shares 500 tasks between two nodes, which between them start each
// exactly once, and never more at once than they may.
func TestDispatcher(t *testing.T) {
	const count, limit = 500, 5
	url := storetest.Postgres(t)
	var mu sync.Mutex
	started, running, most, by, finished := map[task.ID]int{}, map[*node]int{}, 0, map[*node]bool{}, 0
	all, both := make(chan struct{}), make(chan struct{})
	start := func(ctx context.Context, n *node, h task.Handed) {
		mu.Lock()
		if running[n]++; !by[n] {
			if by[n] = true; len(by) == 2 {
				close(both)
			}
		}
		most = max(most, running[n])
		mu.Unlock()
		select {
		case <-both: // neither can do it all alone
		case <-ctx.Done():
			return
		}
		defer func() { mu.Lock(); running[n]--; mu.Unlock() }()
		err := n.Start(ctx, h)
		if errors.Is(err, task.ErrMoved) {
			return
		}
		if err == nil {
			mu.Lock()
			started[h.Task]++
			mu.Unlock()
			if err = n.Finish(ctx, h, `{}`); err == nil {
				mu.Lock()
				if finished++; finished == count {
					close(all)
				}
				mu.Unlock()
			}
		}
		if err != nil {
			t.Errorf("task %v: %v", h.Task, err)
		}
	}
	limits := map[string]int{"echo": limit}
	one, two := startNode(t, url, "one", limits, start), startNode(t, url, "two", limits, start)
	create(t, one.Tasks, 0, count, "echo")
	create(t, one.Tasks, count, count+3, "not served")
	select {
	case <-all:
	case <-time.After(patient):
		t.Fatal("not all tasks were finished")
	}
	for _, n := range []*node{one, two} {
		if err := n.stop(); err != nil {
			t.Errorf("the dispatcher ended: %v", err)
		}
	}
	for id, times := range started {
		if times != 1 {
			t.Errorf("task %v was started %d times", id, times)
		}
	}
	if most > limit {
		t.Errorf("%d tasks ran at once on a node, want at most %d", most, limit)
	}
	for status, want := range map[task.Status]int{task.Completed: count, task.Pending: 3} {
		n, err := one.store.CountTasks(t.Context(), task.Query{Status: status})
		if err != nil || n != want {
			t.Errorf("%d tasks are %s, want %d: %v", n, status, want, err)
		}
	}
}

// TestDispatcherCancel tells the node that runs a task when another cancels it,
// and again after the connection that it listens on was cut.
func TestDispatcherCancel(t *testing.T) {
	url := storetest.Postgres(t)
	began := make(chan task.Handed, 10)
	run := func(ctx context.Context, n *node, h task.Handed) {
		if err := n.Start(ctx, h); err == nil {
			began <- h
		}
	}
	worker := startNode(t, url, "worker", map[string]int{"echo": 4}, run)
	other := tasks(t, open(t, url), "other")
	cancelled := func(i int) time.Duration {
		t.Helper()
		create(t, other, i, i+1, "echo")
		var h task.Handed
		select {
		case h = <-began:
		case <-time.After(patient):
			t.Fatal("the task was not handed out")
		}
		begin := time.Now()
		if err := other.Apply(t.Context(), &task.Change{Kind: task.Cancel, Task: h.Task, Root: h.Root}); err != nil {
			t.Fatal(err)
		}
		want := []task.Stopped{{Task: h.Task, Attempt: 1, Run: 1, Node: worker.Log.Node()}}
		worker.wait(t, "that the task was cancelled", func(x task.Notice) bool { return cmp.Equal(want, x.Stopped) })
		return time.Since(begin)
	}
	var times []time.Duration
	for i := range 20 {
		times = append(times, cancelled(i))
	}
	slices.Sort(times)
	t.Logf("from the cancel to the notice: median %v, worst %v", times[10], times[19])

	create(t, other, 30, 31, "nobody's")
	root := storetest.TaskID(30)
	worker.wait(t, "that a tree changed", func(x task.Notice) bool { return slices.Contains(x.Roots, root) })

	// All connections but this test's are cut.
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%LISTEN%'`); err != nil {
		t.Fatal(err)
	}
	worker.wait(t, "that something may have been missed", func(x task.Notice) bool { return x.Everything })
	t.Logf("a cancel after the connections were cut: %v", cancelled(40))
}

// TestDispatcherEnds: Run returns when all that was started has, and their context
// ends with Run's. What was handed out and not started is handed out again.
func TestDispatcherEnds(t *testing.T) {
	url := storetest.Postgres(t)
	var mu sync.Mutex
	inside := 0
	entered := make(chan struct{}, 10)
	n := startNode(t, url, "one", map[string]int{"echo": 3}, func(ctx context.Context, n *node, h task.Handed) {
		mu.Lock()
		inside++
		mu.Unlock()
		entered <- struct{}{}
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		inside--
		mu.Unlock()
	})
	create(t, n.Tasks, 0, 5, "echo")
	for range 3 {
		select {
		case <-entered:
		case <-time.After(patient):
			t.Fatal("no task was handed out")
		}
	}
	if err := n.stop(); err != nil {
		t.Errorf("the dispatcher ended: %v", err)
	}
	mu.Lock()
	if inside != 0 {
		t.Errorf("%d tasks run on after Run has returned", inside)
	}
	mu.Unlock()

	// The three that were handed out are still ready, and their jobs are over.
	rows, err := n.store.TaskRows(t.Context(), task.RowQuery{Phase: task.Ready, Executor: "echo"})
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d tasks are ready, want 5: %v", len(rows), err)
	}
	handed := make(chan task.Handed, 20)
	next := startNode(t, url, "two", map[string]int{"echo": 3}, func(_ context.Context, _ *node, h task.Handed) { handed <- h })
	if err := again(t.Context(), next.store, rows); err != nil {
		t.Fatal(err)
	}
	got := map[task.Handed]bool{}
	for len(got) < 5 {
		select {
		case h := <-handed:
			got[h] = true
		case <-time.After(patient):
			t.Fatalf("%d of 5 tasks were handed out again", len(got))
		}
	}
	for _, r := range rows {
		if !got[task.Handed{Task: r.ID, Root: r.Root, Attempt: 1, Run: 1, Priority: r.Priority}] {
			t.Errorf("task %v was handed out otherwise: %v", r.ID, got)
		}
	}
}

// TestDispatcherNames serves executors whose names are none of queues.
func TestDispatcherNames(t *testing.T) {
	names := []string{"", "a", "a.b", "A", "ä", "x-1", "a b", "a\x00", strings.Repeat("n", 64), strings.Repeat("n", 65), strings.Repeat("n", 5000), `"'`}
	limits := map[string]int{}
	seen := map[string]string{}
	for _, name := range names {
		limits[name] = 1
		queue := queueOf(name)
		if other, twice := seen[queue]; twice {
			t.Errorf("%q and %q share the queue %s", name, other, queue)
		}
		seen[queue] = name
	}
	// A name that looks as if it were made by queueOf is not taken for it.
	if queueOf(queueOf("A")) == queueOf("A") {
		t.Errorf("an executor is named as another's queue is")
	}
	handed := make(chan task.Handed, 20)
	n := startNode(t, storetest.Postgres(t), "one", limits, func(_ context.Context, _ *node, h task.Handed) { handed <- h })
	for i, name := range names {
		create(t, n.Tasks, i, i+1, name)
		select {
		case h := <-handed:
			if h.Task != storetest.TaskID(i) {
				t.Errorf("task %v was handed out, want that of executor %q", h.Task, name)
			}
		case <-time.After(patient):
			t.Fatalf("the task of executor %.20q was not handed out", name)
		}
	}
}

// TestNotices: each fits in a notification, and together they tell all.
func TestNotices(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		stopped, trees        int
		everything, otherwise bool
	}{
		{name: "nothing"}, {name: "a tree", trees: 1}, {name: "a task", stopped: 1}, {name: "many", stopped: 10_000, trees: maxRoots},
		{name: "too many trees", stopped: 3, trees: maxRoots + 1, everything: true},
	} {
		w := &task.Writes{}
		for i := range tt.stopped {
			w.Stopped = append(w.Stopped, task.Stopped{Task: storetest.TaskID(i), Attempt: i, Run: 1, Node: "4294967295:18446744073709551615"})
		}
		for i := range tt.trees {
			w.Events = append(w.Events, task.Event{Root: storetest.TaskID(i), Task: storetest.TaskID(i)}, task.Event{Root: storetest.TaskID(i)})
		}
		var got task.Notice
		for _, p := range notices(w) {
			if len(p) > maxNotice {
				t.Errorf("%s: a notification has %d bytes", tt.name, len(p))
			}
			n := readNotice(p)
			got.Stopped, got.Roots, got.Everything = append(got.Stopped, n.Stopped...), append(got.Roots, n.Roots...), got.Everything || n.Everything
		}
		if got.Everything != tt.everything {
			t.Errorf("%s: everything is %v", tt.name, got.Everything)
		}
		if d := cmp.Diff(w.Stopped, got.Stopped); d != "" {
			t.Errorf("%s: stopped (-want +got):\n%s", tt.name, d)
		}
		if want := tt.trees; !tt.everything && len(got.Roots) != want {
			t.Errorf("%s: %d trees, want %d", tt.name, len(got.Roots), want)
		}
	}
	for _, bad := range []string{"", "x", `{"stopped":[{"Task":"no"}]}`, `{"everything":false,"everything":false}`, `[]`} {
		if !readNotice(bad).Everything {
			t.Errorf("%q is taken for a notice", bad)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00", "\x01", "\x0100", "\xff", "ü\x01\x00\xc3", "\x01zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stored := text(s)
		if got := untext(stored); got != s {
			t.Errorf("%q is stored as %q and read as %q", s, stored, got)
		}
		if strings.ToValidUTF8(stored, "") != stored || strings.Contains(stored, "\x00") {
			t.Errorf("%q is stored as %q, which PostgreSQL refuses", s, stored)
		}
		untext(s)
	})
}

func FuzzNotice(f *testing.F) {
	f.Add(fmt.Sprintf(`{"stopped":[{"Task":%q,"Attempt":1,"Run":1,"Node":"0:1"}]}`, storetest.TaskID(1)))
	f.Add(`{"roots":[]}`)
	f.Fuzz(func(t *testing.T, s string) { readNotice(s) })
}

func BenchmarkTasks64(b *testing.B) {
	storetest.BenchmarkTasks64(b, func(b *testing.B) store.Store { return open(b, storetest.DurablePostgres(b)) })
}

// BenchmarkRiver measures River alone: jobs that do nothing, inserted 64 at a time
// beforehand, handed out by one dispatcher.
func BenchmarkRiver(b *testing.B) {
	s := open(b, storetest.DurablePostgres(b))
	d := s.Dispatcher(slog.New(slog.DiscardHandler))
	row := storetest.NewTask(1, task.ID{}).Row
	row.Root = row.ID
	rows := slices.Repeat([]task.Row{row}, 64)
	inserted := 0
	for ; inserted < b.N; inserted += len(rows) {
		if err := again(b.Context(), s, rows); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(inserted))
	over := make(chan struct{})
	b.ResetTimer()
	go func() {
		defer close(over)
		err := d.Run(ctx, task.Work{Limits: map[string]int{row.Executor: 256}, Noticed: func(task.Notice) {}, Start: func(context.Context, task.Handed) func() {
			return func() {
				if left.Add(-1) == 0 {
					b.StopTimer()
					cancel()
				}
			}
		}})
		if err != nil {
			b.Error(err)
		}
	}()
	<-over
	b.ReportMetric(float64(inserted)/b.Elapsed().Seconds(), "jobs/s")
}

// TestCutTasks cuts the connection of a commit that changes tasks, and breaks one
// off by a conflict of locks: nothing is written of the first, and all of the second.
func TestCutTasks(t *testing.T) {
	url := storetest.Postgres(t)
	s := open(t, url)
	w := writer(t, s, "one")
	list := []*task.Task{storetest.NewTask(1, task.ID{}), storetest.NewTask(2, task.ID{})}
	ids := []task.ID{list[0].ID, list[1].ID}
	for _, n := range list {
		n.Root = n.ID
	}
	commit := func(writes *task.Writes, during func()) error {
		return s.Commit(t.Context(), w.Lease, nil, &task.Load{Tasks: ids}, func(f ledger.Found) (*ledger.Batch, error) {
			during()
			return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes}, nil
		})
	}
	if err := commit(&task.Writes{New: list}, func() {}); err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	moved := []task.Row{list[0].Row, list[1].Row}
	for i := range moved {
		moved[i].Phase = task.Ready
	}
	writes := &task.Writes{
		Rows: []*task.Row{&moved[0], &moved[1]}, Ready: []*task.Row{&moved[0]},
		Events: []task.Event{{Root: ids[0], Task: ids[0], N: 1, Type: task.StatusUpdate, At: w.At, Status: task.Pending}},
	}
	if err := commit(writes, func() {
		if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
			t.Error(err)
		}
	}); err == nil {
		t.Fatal("the commit succeeded without a connection")
	}
	count := func(what string, want int) {
		t.Helper()
		var n int
		if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM `+what).Scan(&n); err != nil || n != want {
			t.Errorf("%d of %s, want %d: %v", n, what, want, err)
		}
	}
	for what, want := range map[string]int{"reeve.task WHERE phase = 3": 0, "reeve.task_event": 0, "reeve.river_job": 0} {
		count(what, want)
	}

	// Another locks the roots in the wrong order: the server breaks one of the two
	// off after a second, and the commit is made all the same.
	tx, err := admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const lock = `SELECT 1 FROM reeve.task WHERE id = $1 FOR UPDATE`
	if _, err := tx.Exec(t.Context(), lock, uuid(ids[1])); err != nil {
		t.Fatal(err)
	}
	built := 0
	done := make(chan error, 1)
	go func() { done <- commit(writes, func() { built++ }) }()
	for deadline := time.Now().Add(patient); ; time.Sleep(10 * time.Millisecond) {
		var waits int
		if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted`).Scan(&waits); err == nil && waits > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the commit does not wait for the root")
		}
	}
	_, _ = tx.Exec(t.Context(), lock, uuid(ids[0]))
	_ = tx.Rollback(t.Context())
	if err := <-done; err != nil || built != 1 {
		t.Errorf("the commit was built %d times and ended with %v", built, err)
	}
	for what, want := range map[string]int{"reeve.task WHERE phase = 3": 2, "reeve.task_event": 1, "reeve.river_job": 1} {
		count(what, want)
	}
}

// again hands out tasks once more.
func again(ctx context.Context, s *Store, rows []task.Row) error {
	list := make([]*task.Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	var b pgx.Batch
	queueJobs(&b, list)
	return s.pool.SendBatch(ctx, &b).Close()
}
