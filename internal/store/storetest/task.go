package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Tasks drives the tasks of a store as an engine does: every change goes through a
// ledger.Log. It is safe for concurrent use.
type Tasks struct {
	Log *ledger.Log

	mu   sync.Mutex
	now  time.Time
	made []*task.Writes
}

// NewTasks opens a log of the store. Its clock begins at Epoch.
func NewTasks(ctx context.Context, store store.Store, owner string) (*Tasks, error) {
	t := &Tasks{now: Epoch}
	var err error
	t.Log, err = ledger.Open(ctx, ledger.Config{
		Store: store, Origin: "reeve.test", Seed: bytes.Repeat([]byte{7}, 32), Owner: owner, Logger: slog.New(slog.DiscardHandler),
		OnTasks: func(w *task.Writes) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.made = append(t.made, w)
		},
	})
	return t, err
}

// Tick moves the clock on by a second, and returns its time.
func (t *Tasks) Tick() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(time.Second)
	return t.now
}

// Made returns what the log has made of tasks since the last call.
func (t *Tasks) Made() []*task.Writes {
	t.mu.Lock()
	defer t.mu.Unlock()
	made := t.made
	t.made = nil
	return made
}

// Apply makes a change and waits until it is durable. Its time is a second after
// that of the one before, unless it has one.
func (t *Tasks) Apply(ctx context.Context, c *task.Change) error {
	return t.Enter(ctx, &ledger.Entry{Task: c})
}

// Enter makes an entry and waits until it is durable.
func (t *Tasks) Enter(ctx context.Context, e *ledger.Entry) error {
	if e.Task.At.IsZero() {
		e.Task.At = t.Tick()
	}
	ticket, err := t.Log.Enqueue(t.Log.Generation(), e)
	if err != nil {
		return err
	}
	_, err = ticket.Wait(ctx)
	return err
}

// Start begins an attempt at a task.
func (t *Tasks) Start(ctx context.Context, h task.Handed) error {
	return t.Apply(ctx, &task.Change{Kind: task.Start, Task: h.Task, Root: h.Root, Attempt: h.Attempt, Node: t.Log.Node()})
}

// Finish ends an attempt that Start began.
func (t *Tasks) Finish(ctx context.Context, h task.Handed, result string) error {
	return t.Apply(ctx, &task.Change{
		Kind: task.Finish, Task: h.Task, Root: h.Root, Attempt: h.Attempt, Node: t.Log.Node(), Outcome: task.PhaseComplete, Result: jsontext.Value(result),
	})
}

// TaskID is the id of task number i: that of a smaller number is less.
func TaskID(i int) (id task.ID) {
	copy(id[:], "reeve task")
	id[10], id[11], id[12], id[13] = byte(i>>24), byte(i>>16), byte(i>>8), byte(i)
	id[15] = 1
	return id
}

// NewTask returns task number i, which is under parent and needs others; a root
// when parent is zero.
func NewTask(i int, parent task.ID, needs ...int) *task.Task {
	t := &task.Task{
		Row:    task.Row{ID: TaskID(i), Parent: parent, Name: fmt.Sprint("task ", i), Executor: "echo", Priority: 2},
		Inputs: jsontext.Value(fmt.Sprintf(`{"n":%d}`, i)), Origin: task.OriginCreate,
	}
	for _, n := range needs {
		t.Dependencies = append(t.Dependencies, task.Dependency{ID: TaskID(n), Required: true})
	}
	return t
}

// taskLog opens the log of the suite's store. Reopen the store with again.
func (s *suite) taskLog() *Tasks {
	s.Helper()
	t, err := NewTasks(s.ctx, s.Store, "tester")
	s.check(err)
	s.Cleanup(func() { t.Log.Close() })
	return t
}

// again closes the log and the store, and opens both.
func (s *suite) again(t *Tasks) *Tasks {
	s.Helper()
	s.check(t.Log.Close())
	s.reopen()
	next := s.taskLog()
	next.now = t.now
	return next
}

// apply makes changes none of which may be refused.
func (s *suite) apply(t *Tasks, changes ...*task.Change) {
	s.Helper()
	for _, c := range changes {
		s.check(t.Apply(s.ctx, c))
	}
}

// write has a store write just this.
func (s *suite) write(w *Writer, writes *task.Writes) {
	s.Helper()
	s.check(s.tryWrite(w, writes))
}

func (s *suite) tryWrite(w *Writer, writes *task.Writes) error {
	return s.Commit(s.ctx, w.Lease, nil, nil, func(ledger.Found) (*ledger.Batch, error) {
		return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes}, nil
	})
}

// same compares what a store tells of tasks.
func (s *suite) same(what string, want, got any) {
	s.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		s.Fatalf("%s (-want +got):\n%.4000s", what, d)
	}
}

// task compares a stored task.
func (s *suite) task(want *task.Task) {
	s.Helper()
	got, err := s.Task(s.ctx, want.ID)
	s.check(err)
	s.same("task "+want.Name, want, got)
}

func (s *suite) row(id task.ID) task.Row {
	s.Helper()
	r, err := s.TaskRow(s.ctx, id)
	s.check(err)
	return r
}

// phases returns the phases of tasks by their numbers.
func (s *suite) phases(numbers ...int) (list []task.Phase) {
	s.Helper()
	for _, n := range numbers {
		list = append(list, s.row(TaskID(n)).Phase)
	}
	return list
}

func (s *suite) gone(id task.ID) {
	s.Helper()
	_, err := s.Task(s.ctx, id)
	s.is(err, ledger.ErrNotFound)
	_, err = s.TaskRow(s.ctx, id)
	s.is(err, ledger.ErrNotFound)
}

// strange are texts that a database may stumble over.
var strange = []string{"", "ü 漢字 🜁", `a'b"c\d`, "nul\x00byte", "\x01\x0100\x01", "\xff\xfe broken", strings.Repeat("long ", 4000), "%_*$1?"}

// taskRoundTrip: every field comes back as it was written, and so does what is
// written over it.
func taskRoundTrip(t *testing.T, s *suite) {
	w := s.writer()
	at := func(n int) time.Time { return Epoch.Add(time.Duration(n)*time.Hour + 123456789) }
	var tasks []*task.Task
	for i, text := range strange {
		tasks = append(tasks, &task.Task{
			Row: task.Row{
				ID: TaskID(i), Root: TaskID(0), User: "u" + text, Name: "n" + text, Executor: "e" + text, Phase: task.Phase(i), Priority: uint8(i % 4),
				Size: 1, Open: 2, Events: 3, Unmet: 4, Attempt: 5, Failures: 6, Losses: 7, Run: 8, Node: "d" + text, Due: at(1), Held: "h" + text,
				Cascade: true, Progress: 0.1, Error: "x" + text, Created: at(2), Updated: at(3), Started: at(4), Completed: at(5),
				Next: at(6), LastRun: at(7), Runs: 9, References: true, Decision: "0:1", Outcome: "0:2",
			},
			ClientID: "mine", Inputs: jsontext.Value(`{"a":[1.50,"\u0000"]}`), Params: jsontext.Value(`{"p":1}`), Schemas: jsontext.Value(`{"method":"x"}`),
			Dependencies: []task.Dependency{{ID: TaskID(100), Required: true}, {ID: TaskID(101)}}, Origin: task.OriginLink, Original: TaskID(77),
			Schedule: task.Schedule{Type: "cron", Expression: "* * * * *", Zone: "Europe/Berlin", Enabled: true, Start: at(8), End: at(9), MaxRuns: 3, Bounded: true, Missed: "skip"},
			Leave:    task.Leave{Person: "ada", For: "bob", Organization: "birch", Client: "portal", Actors: []string{"a", "b"}, Scopes: []string{"mail.send"}},
			Extra:    jsontext.Value(`{"x":1}`), Result: jsontext.Value(`{"r":0.10}`),
		})
		if i > 0 {
			tasks[i].Parent = TaskID(0)
		}
	}
	bare := &task.Task{Row: task.Row{ID: TaskID(50), Root: TaskID(50)}}
	tasks = append(tasks, bare)
	s.write(w, &task.Writes{New: tasks})
	s.reopen()
	w = s.writer()
	for _, want := range tasks {
		s.task(want)
		s.same("row of "+want.Name, want.Row, s.row(want.ID))
	}
	s.gone(TaskID(1000))

	// What is executed changes all but what the client says, and that is changed by itself.
	writes := &task.Writes{Counted: map[*task.Row]bool{}}
	for i, tt := range tasks {
		was := tt.Row
		switch i % 3 {
		case 0:
			tt.Row = task.Row{Phase: task.Ready}
		case 1:
			tt.Row = task.Row{
				Phase: task.PhaseFailed, Size: 11, Open: 12, Events: 1 << 40, Unmet: 14, Attempt: 15, Failures: 16, Losses: 17, Run: 18, Node: was.User,
				Due: at(11), Held: was.Error, Progress: 1, Error: was.Executor, Updated: at(13), Started: at(14), Completed: at(15), Next: at(16),
				LastRun: at(17), Runs: 19, Decision: "1:1", Outcome: "1:2",
			}
		case 2:
			tt.Size, tt.Open, tt.Events, tt.Unmet = 21, 22, 23, 24
			writes.Counted[&tt.Row] = true
		}
		tt.ID, tt.Root, tt.Parent, tt.User, tt.Name, tt.Executor, tt.Priority, tt.Created = was.ID, was.Root, was.Parent, was.User, was.Name, was.Executor, was.Priority, was.Created
		writes.Rows = append(writes.Rows, &tt.Row)
	}
	s.write(w, writes)
	for _, want := range tasks {
		s.task(want)
	}
	redefined := &task.Writes{}
	for i, tt := range tasks {
		tt.Parent, tt.User, tt.Name, tt.Executor, tt.Priority = TaskID(i+1), tt.Name, tt.User, "e"+tt.Executor, 3-tt.Priority
		tt.Inputs = jsontext.Value(`{"new":true}`)
		redefined.Redefined = append(redefined.Redefined, tt)
	}
	s.write(w, redefined)
	for _, want := range tasks {
		s.task(want)
	}

	// A time that no column holds stays as far in the future as one can.
	bare.Next = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	s.write(w, &task.Writes{Rows: []*task.Row{&bare.Row}})
	if got := s.row(bare.ID).Next; got.Year() < 2200 {
		t.Errorf("the year 9999 is read as %v", got)
	}
}

// taskLife walks a small tree through its life, with what a store keeps of it.
func taskLife(t *testing.T, s *suite) {
	l := s.taskLog()
	root := TaskID(1)
	tree := []*task.Task{NewTask(1, task.ID{}), NewTask(2, root, 1), NewTask(3, root, 2), NewTask(4, TaskID(3)), NewTask(5, root, 4)}
	tree[1].Dependencies[0].Required = false
	s.apply(l, &task.Change{Kind: task.Create, Root: root, Tasks: tree})
	s.diff("phases", []task.Phase{task.Idle, task.Idle, task.Idle, task.Idle, task.Idle}, s.phases(1, 2, 3, 4, 5))
	l = s.again(l)
	s.apply(l, &task.Change{Kind: task.Ask, Task: root, Root: root})
	s.diff("phases", []task.Phase{task.Ready, task.Waiting, task.Waiting, task.Ready, task.Waiting}, s.phases(1, 2, 3, 4, 5))
	s.diff("open and size", []int{5, 5}, []int{s.row(root).Open, s.row(root).Size})

	h := func(n int) task.Handed { return task.Handed{Task: TaskID(n), Root: root, Attempt: 1} }
	s.check(l.Start(s.ctx, h(1)))
	s.is(l.Start(s.ctx, h(1)), task.ErrMoved)
	s.check(l.Start(s.ctx, h(4)))
	s.check(l.Finish(s.ctx, h(4), `{"ok":true}`))
	s.is(l.Finish(s.ctx, h(4), `{"ok":false}`), task.ErrMoved)
	s.apply(l,
		&task.Change{Kind: task.Advance, Task: root, Root: root, Attempt: 1, Node: l.Log.Node(), Fraction: 0.25, Message: "a quarter"},
		&task.Change{Kind: task.Finish, Task: root, Root: root, Attempt: 1, Node: l.Log.Node(), Outcome: task.PhaseFailed, Message: "no"})
	s.diff("phases", []task.Phase{task.PhaseFailed, task.Ready, task.Waiting, task.PhaseComplete, task.Ready}, s.phases(1, 2, 3, 4, 5))
	s.check(l.Start(s.ctx, h(2)))
	s.apply(l,
		&task.Change{Kind: task.TryAgain, Task: TaskID(2), Root: root, Attempt: 1, Node: l.Log.Node(), Due: Epoch.Add(time.Hour)},
		&task.Change{Kind: task.Cancel, Task: root, Root: root, Message: "enough"})
	s.diff("phases", []task.Phase{task.PhaseFailed, task.PhaseCancelled, task.PhaseCancelled, task.PhaseComplete, task.PhaseCancelled}, s.phases(1, 2, 3, 4, 5))
	l = s.again(l)

	got, err := s.Task(s.ctx, TaskID(4))
	s.check(err)
	s.diff("result", `{"ok":true}`, string(got.Result))
	events, err := s.TaskEvents(s.ctx, root, 0, 1000)
	s.check(err)
	s.diff("the number of the last event", s.row(root).Events, events[len(events)-1].N)
	for i, e := range events {
		if e.N != uint64(i)+1 || e.Root != root {
			t.Errorf("event %d is number %d of %v", i, e.N, e.Root)
		}
	}
	if i := slices.IndexFunc(events, func(e task.Event) bool { return e.Type == task.ProgressUpdate }); i < 0 || events[i].Progress != 0.25 || events[i].Message != "a quarter" {
		t.Errorf("the events tell no progress: %v", events)
	}
	s.diff("open", 0, s.row(root).Open)

	// What did not end well runs again, under the same name.
	s.apply(l, &task.Change{Kind: task.Ask, Task: root, Root: root})
	s.diff("phases", []task.Phase{task.Ready, task.PhaseCancelled, task.PhaseCancelled, task.PhaseComplete, task.PhaseCancelled}, s.phases(1, 2, 3, 4, 5))
	s.diff("run", 2, s.row(root).Run)
}

// taskChain fails the first of a chain: all that wait are cancelled by one commit,
// which reads them link by link.
func taskChain(t *testing.T, s *suite) {
	const n = 1000
	l := s.taskLog()
	tree := []*task.Task{NewTask(0, task.ID{})}
	for i := 1; i < n; i++ {
		tree = append(tree, NewTask(i, TaskID(0), i-1))
	}
	tree = append(tree, NewTask(n, TaskID(0), n-2, n-1))
	tree[n].Dependencies[1].Required = false
	s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(0), Tasks: tree, Ask: true})
	opened := func(user string) (n int) {
		n, bytes, err := s.OpenTasks(s.ctx, user)
		s.check(err)
		s.diff("bytes of open tasks", n > 0, bytes > int64(n))
		return n
	}
	s.diff("open tasks", []int{n + 1, n + 1, 0}, []int{opened(""), opened(tree[0].User), opened("nobody")})
	h := task.Handed{Task: TaskID(0), Root: TaskID(0), Attempt: 1}
	s.check(l.Start(s.ctx, h))
	s.apply(l, &task.Change{Kind: task.Finish, Task: h.Task, Root: h.Root, Attempt: 1, Node: l.Log.Node(), Outcome: task.PhaseFailed, Message: "no"})
	s.diff("open tasks at the end", 0, opened(""))
	count, err := s.CountTasks(s.ctx, task.Query{Status: task.Cancelled})
	s.check(err)
	s.diff("cancelled", n, count)
	r := s.row(TaskID(0))
	s.diff("open", 0, r.Open)
	events, err := s.TaskEvents(s.ctx, r.ID, 0, 10*n)
	s.check(err)
	s.diff("events", r.Events, uint64(len(events)))
}

// loaded commits nothing, and returns what it found.
func (s *suite) loaded(w *Writer, l *task.Load, more ...task.Load) (found []*task.Loaded) {
	s.Helper()
	s.check(s.Commit(s.ctx, w.Lease, nil, l, func(f ledger.Found) (*ledger.Batch, error) {
		found = append(found, f.Tasks)
		for _, l := range more {
			next, err := f.More(l)
			if err != nil {
				return nil, err
			}
			found = append(found, next)
		}
		return nil, nil
	}))
	return found
}

// taskLoad reads what commits look at in every form.
func taskLoad(t *testing.T, s *suite) {
	l := s.taskLog()
	id := func(numbers ...int) (list []task.ID) {
		for _, n := range numbers {
			list = append(list, TaskID(n))
		}
		return list
	}
	//  1 ─┬─ 2 ─── 4 ─── 5      10 ── 11 (needs 10)      20
	//     └─ 3 (needs 2 and 4)
	six := NewTask(5, TaskID(4), 3)
	six.Dependencies[0].Required = false
	s.apply(l,
		&task.Change{Kind: task.Create, Root: TaskID(1), Tasks: []*task.Task{
			NewTask(1, task.ID{}), NewTask(2, TaskID(1)), NewTask(3, TaskID(1), 2, 4), NewTask(4, TaskID(2)), six}},
		&task.Change{Kind: task.Create, Root: TaskID(10), Tasks: []*task.Task{NewTask(10, task.ID{}), NewTask(11, TaskID(10), 10)}},
		&task.Change{Kind: task.Create, Root: TaskID(20), Tasks: []*task.Task{NewTask(20, task.ID{})}})
	s.check(l.Log.Close())
	w := s.writer()
	edge := func(needs, waits int, required bool) task.Edge {
		return task.Edge{Needs: TaskID(needs), Task: TaskID(waits), Required: required}
	}
	all := []task.Edge{edge(2, 3, true), edge(3, 5, false), edge(4, 3, true)}
	type want struct {
		rows  []int
		edges []task.Edge
	}
	for _, tt := range []struct {
		name string
		load task.Load
		want want
	}{
		{"nothing", task.Load{}, want{}},
		{"tasks", task.Load{Tasks: id(4, 1, 11)}, want{rows: []int{1, 4, 11}}},
		{"twice, and missing", task.Load{Tasks: id(4, 4, 99)}, want{rows: []int{4}}},
		{"the zero id", task.Load{Tasks: []task.ID{{}}, Trees: []task.ID{{}}, Under: []task.ID{{}}, Dependents: []task.ID{{}}}, want{}},
		{"dependents", task.Load{Dependents: id(2, 10, 99)}, want{[]int{3, 11}, []task.Edge{edge(2, 3, true), edge(10, 11, true)}}},
		{"dependents of both", task.Load{Dependents: id(2, 4)}, want{[]int{3}, []task.Edge{edge(2, 3, true), edge(4, 3, true)}}},
		{"under", task.Load{Under: id(2)}, want{rows: []int{2, 4, 5}}},
		{"under roots", task.Load{Under: id(1, 20, 99)}, want{rows: []int{1, 2, 3, 4, 5, 20}}},
		{"a tree", task.Load{Trees: id(1)}, want{[]int{1, 2, 3, 4, 5}, all}},
		{"trees", task.Load{Trees: id(10, 20, 20)}, want{[]int{10, 11, 20}, []task.Edge{edge(10, 11, true)}}},
		{"not a root", task.Load{Trees: id(20, 99)}, want{rows: []int{20}}},
		{"all at once", task.Load{Tasks: id(1, 20), Dependents: id(2), Under: id(2), Trees: id(1)}, want{[]int{1, 2, 3, 4, 5, 20}, all}},
	} {
		check := func(how string, got *task.Loaded) {
			s.Helper()
			var rows []task.ID
			for _, r := range got.Rows {
				rows = append(rows, r.ID)
				s.same(tt.name+how+": row", s.row(r.ID), r)
			}
			slices.SortFunc(rows, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
			s.same(tt.name+how+": rows", id(tt.want.rows...), rows)
			edges := slices.Clone(got.Edges)
			slices.SortFunc(edges, func(a, b task.Edge) int {
				if c := bytes.Compare(a.Needs[:], b.Needs[:]); c != 0 {
					return c
				}
				return bytes.Compare(a.Task[:], b.Task[:])
			})
			s.same(tt.name+how+": edges", tt.want.edges, edges)
		}
		found := s.loaded(w, &tt.load)
		check("", found[0])
		found = s.loaded(w, &task.Load{Tasks: id(1, 10, 20)}, tt.load, task.Load{Tasks: id(4)})
		check(", as more", found[1])
		s.diff("rows of more after more", 1, len(found[2].Rows))
	}
	s.check(s.Commit(s.ctx, w.Lease, nil, nil, func(f ledger.Found) (*ledger.Batch, error) {
		if f.Tasks != nil {
			t.Errorf("tasks were loaded that nobody asked for: %v", f.Tasks)
		}
		return nil, nil
	}))
}

// taskTexts writes results and inputs as judged, large ones too, and clears them.
func taskTexts(t *testing.T, s *suite) {
	l := s.taskLog()
	for n := range 3 {
		s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(n), Tasks: []*task.Task{NewTask(n, task.ID{})}, Ask: true})
	}
	large := `{"text":"` + strings.Repeat("ä漢", 200_000) + `"}` // a megabyte
	h := task.Handed{Task: TaskID(0), Root: TaskID(0), Attempt: 1}
	s.apply(l, &task.Change{Kind: task.Start, Task: h.Task, Root: h.Root, Attempt: 1, Node: l.Log.Node(), Judged: jsontext.Value(`{"judged":1}`)})
	s.check(l.Finish(s.ctx, h, large))
	l = s.again(l)
	got, err := s.Task(s.ctx, TaskID(0))
	s.check(err)
	if string(got.Result) != large {
		t.Errorf("a result of %d bytes is read as one of %d", len(large), len(got.Result))
	}
	s.diff("the judged inputs", `{"judged":1}`, string(got.Judged))
	s.diff("the inputs", `{"n":0}`, string(got.Inputs))
	list, err := s.Tasks(s.ctx, task.Query{})
	s.check(err)
	if len(list) != 3 || list[2].Result != nil || string(list[2].Judged) != `{"judged":1}` {
		t.Errorf("a list holds results, or not the rest: %d tasks, %.50s, %s", len(list), list[2].Result, list[2].Judged)
	}

	// In one batch the texts are written in their order.
	s.check(l.Log.Close())
	w := s.writer()
	v := func(text string) jsontext.Value { return jsontext.Value(text) }
	s.write(w, &task.Writes{Texts: []task.Text{
		{Task: TaskID(1), Judged: v(`{"a":1}`)}, {Task: TaskID(1), Result: v(`{"b":1}`)}, {Task: TaskID(1), Result: v(`{"b":2}`)},
		{Task: TaskID(2), Result: v(`{"c":1}`)}, {Task: TaskID(2), Clear: true}, {Task: TaskID(2), Judged: v(`{"d":1}`)},
		{Task: TaskID(0), Clear: true}, {Task: TaskID(99), Result: v(`{}`)},
	}})
	texts := func() (list []string) {
		for n := range 3 {
			got, err := s.Task(s.ctx, TaskID(n))
			s.check(err)
			list = append(list, string(got.Judged), string(got.Result))
		}
		return list
	}
	s.diff("judged inputs and results", []string{"", "", `{"a":1}`, `{"b":2}`, `{"d":1}`, ""}, texts())
	s.write(w, &task.Writes{Texts: []task.Text{{Task: TaskID(1), Judged: v(`{"a":2}`)}, {Task: TaskID(2), Result: v(`{"c":2}`)}}})
	s.diff("judged inputs and results", []string{"", "", `{"a":2}`, `{"b":2}`, `{"d":1}`, `{"c":2}`}, texts())
}

// taskUpdate changes a definition: the dependencies too, for those who load them.
func taskUpdate(t *testing.T, s *suite) {
	l := s.taskLog()
	root := TaskID(1)
	s.apply(l, &task.Change{Kind: task.Create, Root: root, Tasks: []*task.Task{
		NewTask(1, task.ID{}), NewTask(2, root, 1), NewTask(3, root, 1, 2), NewTask(4, root, 3)}})
	got, err := s.Task(s.ctx, TaskID(3))
	s.check(err)
	got.Name, got.Executor, got.Priority, got.User, got.Inputs = "new", "other", 0, "somebody", jsontext.Value(`{"new":true}`)
	got.Parent, got.Next = TaskID(2), Epoch.Add(time.Hour)
	got.Dependencies = []task.Dependency{{ID: TaskID(2)}, {ID: TaskID(2), Required: true}, {ID: TaskID(2)}}
	got.Schedule = task.Schedule{Type: "once", Expression: "x", Enabled: true}
	s.apply(l, &task.Change{Kind: task.Update, Task: got.ID, Root: root, Tasks: []*task.Task{got}})
	l = s.again(l)
	got.Updated = s.row(got.ID).Updated
	s.task(got)
	s.is(l.Apply(s.ctx, &task.Change{Kind: task.Update, Task: got.ID, Root: root, Tasks: []*task.Task{NewTask(3, root)}}), task.ErrMoved)
	s.check(l.Log.Close())
	found := s.loaded(s.writer(), &task.Load{Dependents: []task.ID{TaskID(1), TaskID(2), TaskID(3)}})[0]
	slices.SortFunc(found.Edges, func(a, b task.Edge) int { return bytes.Compare(a.Needs[:], b.Needs[:]) })
	s.same("edges", []task.Edge{
		{Needs: TaskID(1), Task: TaskID(2), Required: true}, {Needs: TaskID(2), Task: TaskID(3), Required: true}, {Needs: TaskID(3), Task: TaskID(4), Required: true},
	}, found.Edges)
}

// taskDelete removes tasks with all that hangs on them, and nothing else.
func taskDelete(t *testing.T, s *suite) {
	l := s.taskLog()
	for _, root := range []int{10, 20} {
		s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(root), Tasks: []*task.Task{
			NewTask(root, task.ID{}), NewTask(root+1, TaskID(root), root), NewTask(root+2, TaskID(root+1), root+1)}})
	}
	var refused *task.Error
	if err := l.Apply(s.ctx, &task.Change{Kind: task.Delete, Task: TaskID(11), Root: TaskID(10)}); !errors.As(err, &refused) {
		t.Errorf("a task with children is deleted: %v", err)
	}
	s.apply(l, &task.Change{Kind: task.Delete, Task: TaskID(12), Root: TaskID(10)})
	s.gone(TaskID(12))
	s.diff("size", 2, s.row(TaskID(10)).Size)
	s.apply(l, &task.Change{Kind: task.Delete, Task: TaskID(20), Root: TaskID(20), Whole: true})
	for _, n := range []int{20, 21, 22} {
		s.gone(TaskID(n))
	}
	// An id that is free again is used again, and finds nothing of the one before.
	s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(20), Tasks: []*task.Task{NewTask(20, task.ID{}), NewTask(21, TaskID(20))}})
	if err := l.Apply(s.ctx, &task.Change{Kind: task.Create, Root: TaskID(30), Tasks: []*task.Task{NewTask(30, task.ID{}), NewTask(21, TaskID(30))}}); !errors.As(err, &refused) {
		t.Errorf("an id that is taken is used again: %v", err)
	}
	s.gone(TaskID(30))
	s.check(l.Log.Close())
	w := s.writer()
	found := s.loaded(w, &task.Load{Dependents: []task.ID{TaskID(10), TaskID(11), TaskID(20), TaskID(21)}})[0]
	s.same("edges", []task.Edge{{Needs: TaskID(10), Task: TaskID(11), Required: true}}, found.Edges)

	// Events and pushes go with the root.
	s.write(w, &task.Writes{
		Events: []task.Event{{Root: TaskID(20), Task: TaskID(21), N: 1, Type: task.StatusUpdate, At: Epoch, Status: task.Pending}},
		Pushes: []task.Push{{ID: TaskID(70), Root: TaskID(20), URL: "https://example.org", Created: Epoch, Due: Epoch}},
	})
	s.write(w, &task.Writes{Deleted: []task.ID{TaskID(20), TaskID(21)}})
	events, err := s.TaskEvents(s.ctx, TaskID(20), 0, 10)
	s.check(err)
	pushes, err := s.TakePush(s.ctx, Epoch.Add(time.Hour), Epoch.Add(2*time.Hour), 10)
	s.check(err)
	s.diff("events and pushes that are left", []int{0, 0}, []int{len(events), len(pushes)})
}

// taskQueries lists tasks by every filter, and page by page.
func taskQueries(t *testing.T, s *suite) {
	w := s.writer()
	users := []string{"", "ann", "bob\x00", strings.Repeat("u", 250) + "1", strings.Repeat("u", 250) + "2"}
	phases := []task.Phase{task.Idle, task.Ready, task.Running, task.Delayed, task.PhaseComplete, task.PhaseFailed, task.PhaseCancelled}
	var all []*task.Task
	for i := range 210 {
		n := NewTask(i, task.ID{})
		n.Root, n.User, n.Phase = n.ID, users[i%len(users)], phases[i%len(phases)]
		n.Created = Epoch.Add(time.Duration(i/3) * time.Second) // some at the same time
		if i%3 > 0 {
			n.Root, n.Parent = TaskID(i-i%3), TaskID(i-i%3)
		}
		if n.Phase >= task.Running {
			n.Started = Epoch
		}
		if i%11 == 0 {
			n.Next = Epoch.Add(time.Duration(i) * time.Minute)
		}
		all = append(all, n)
	}
	// Newest first, and of one time the greatest id first.
	slices.SortFunc(all, func(a, b *task.Task) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	s.write(w, &task.Writes{New: all})
	s.reopen()

	queries := map[string]task.Query{
		"all": {}, "roots": {Roots: true}, "a parent": {Parent: TaskID(9)}, "a parent without": {Parent: TaskID(10)}, "nobody's": {User: "nobody"},
		"scheduled": {Scheduled: true}, "due": {Scheduled: true, DueBefore: Epoch.Add(110 * time.Minute)},
		"a user's roots that failed": {User: "ann", Roots: true, Status: task.Failed}, "a status of a parent": {Parent: TaskID(9), Status: task.Pending},
		"a user's scheduled": {User: "ann", Scheduled: true}, "an unknown status": {Status: "unheard of"},
	}
	for _, u := range users[1:] {
		queries["of user "+u] = task.Query{User: u}
	}
	for _, st := range task.Statuses {
		queries["status "+string(st)] = task.Query{Status: st}
		queries["ann's, status "+string(st)] = task.Query{Status: st, User: "ann"}
	}
	for name, q := range queries {
		var want []*task.Task
		for _, n := range all {
			if (q.User == "" || n.User == q.User) && (q.Status == "" || n.Status() == q.Status) && (q.Parent == task.ID{} || n.Parent == q.Parent) &&
				(!q.Roots || n.Parent == task.ID{}) && (!q.Scheduled || !n.Next.IsZero() && (q.DueBefore.IsZero() || n.Next.Before(q.DueBefore))) {
				want = append(want, n)
			}
		}
		count, err := s.CountTasks(s.ctx, q)
		s.check(err)
		s.diff(name+": count", len(want), count)
		for _, page := range []struct{ limit, offset int }{{1000, 0}, {0, 0}, {7, 0}, {7, 5}, {50, 195}, {5, 1 << 40}} {
			q.Limit, q.Offset = page.limit, page.offset
			got, err := s.Tasks(s.ctx, q)
			s.check(err)
			limit := page.limit
			if limit == 0 {
				limit = 100
			}
			from := min(page.offset, len(want))
			s.same(fmt.Sprint(name, page), want[from:min(from+limit, len(want))], got)
		}
		q.Limit, q.Offset = 3, 2
		count, err = s.CountTasks(s.ctx, q)
		s.check(err)
		s.diff(name+": count, whatever the page", len(want), count)
	}

	of, err := s.TasksOf(s.ctx, []task.ID{TaskID(3), TaskID(4000), TaskID(5)})
	s.check(err)
	s.diff("tasks of three ids, one missing", 2, len(of))
	of, err = s.TasksOf(s.ctx, nil)
	s.check(err)
	s.diff("tasks of no ids", 0, len(of))
	tree, err := readTree(s.ctx, s, TaskID(9))
	s.check(err)
	var names []string
	for _, n := range tree {
		names = append(names, n.Name)
	}
	s.diff("a tree", []string{"task 9", "task 10", "task 11"}, names)
	tree, err = readTree(s.ctx, s, TaskID(10))
	s.check(err)
	s.diff("the tree of what is no root", 0, len(tree))
}

// taskRows selects what an engine looks for.
func taskRows(t *testing.T, s *suite) {
	w := s.writer()
	at := func(n int) time.Time { return Epoch.Add(time.Duration(n) * time.Second) }
	long := strings.Repeat("x", 3000)
	var list []*task.Task
	add := func(r task.Row) {
		n := NewTask(len(list), task.ID{})
		r.ID, r.Root = n.ID, n.ID
		n.Row = r
		list = append(list, n)
	}
	add(task.Row{Phase: task.Ready, Executor: "e", Priority: 2, Created: at(1)}) // 0
	add(task.Row{Phase: task.Ready, Executor: "e", Priority: 0, Created: at(9)})
	add(task.Row{Phase: task.Ready, Executor: "e", Priority: 2, Created: at(0)})
	add(task.Row{Phase: task.Ready, Executor: "f", Priority: 0, Created: at(0)})
	add(task.Row{Phase: task.Ready, Executor: long + "1"})
	add(task.Row{Phase: task.Ready, Executor: long + "2"}) // 5
	add(task.Row{Phase: task.Ready})
	add(task.Row{Phase: task.Delayed, Due: at(3), Executor: "e"})
	add(task.Row{Phase: task.Delayed, Due: at(1)})
	add(task.Row{Phase: task.Delayed, Due: at(5)})
	add(task.Row{Phase: task.Held, Held: "one"}) // 10
	add(task.Row{Phase: task.Held, Held: long})
	add(task.Row{Phase: task.Running, Node: w.Lease.Node()})
	add(task.Row{Phase: task.Running, Node: "0:0"})
	add(task.Row{Phase: task.Running, Node: "4711:1"})
	add(task.Row{Phase: task.PhaseComplete, Node: "0:0", Next: at(4)}) // 15
	add(task.Row{Phase: task.Idle, Next: at(2)})
	add(task.Row{Phase: task.Ready, Executor: "g", Next: at(7)})
	s.write(w, &task.Writes{New: list})
	for _, tt := range []struct {
		name    string
		query   task.RowQuery
		want    []int
		ordered bool
	}{
		{"ready", task.RowQuery{Phase: task.Ready, Executor: "e"}, []int{1, 2, 0}, true},
		{"ready, few", task.RowQuery{Phase: task.Ready, Executor: "e", Limit: 2}, []int{1, 2}, true},
		{"ready of a long name", task.RowQuery{Phase: task.Ready, Executor: long + "2"}, []int{5}, true},
		{"ready of another", task.RowQuery{Phase: task.Ready, Executor: "none"}, nil, true},
		{"ready of no executor", task.RowQuery{Phase: task.Ready}, []int{6}, true},
		{"delayed", task.RowQuery{Phase: task.Delayed, DueBefore: at(3)}, []int{8, 7}, true},
		{"delayed, all", task.RowQuery{Phase: task.Delayed, DueBefore: at(1000)}, []int{8, 7, 9}, true},
		{"delayed, the first", task.RowQuery{Phase: task.Delayed, DueBefore: at(1000), Limit: 1}, []int{8}, true},
		{"held", task.RowQuery{Phase: task.Held}, []int{10, 11}, false},
		{"held for one approval", task.RowQuery{Phase: task.Held, Held: "one"}, []int{10}, false},
		{"held for a long one", task.RowQuery{Phase: task.Held, Held: long}, []int{11}, false},
		{"running", task.RowQuery{Phase: task.Running}, []int{12, 13, 14}, false},
		{"running on a node", task.RowQuery{Phase: task.Running, Node: "4711:1", Limit: 10}, []int{14}, false},
		{"running on no node", task.RowQuery{Phase: task.Running, Node: "9:9"}, nil, false},
		{"lost", task.RowQuery{Phase: task.Running, Lost: true}, []int{13, 14}, false},
		{"scheduled", task.RowQuery{Scheduled: true, DueBefore: at(4)}, []int{16, 15}, true},
		{"scheduled, all", task.RowQuery{Scheduled: true, DueBefore: at(1000)}, []int{16, 15, 17}, true},
	} {
		got, err := s.TaskRows(s.ctx, tt.query)
		s.check(err)
		var ids, want []task.ID
		for _, r := range got {
			ids = append(ids, r.ID)
			s.same(tt.name, s.row(r.ID), r)
		}
		for _, n := range tt.want {
			want = append(want, TaskID(n))
		}
		if !tt.ordered {
			slices.SortFunc(ids, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
		}
		s.same(tt.name, want, ids)
	}
	// What is not looked for after a loss.
	if _, err := s.TaskRows(s.ctx, task.RowQuery{Phase: task.PhaseComplete}); err == nil {
		t.Error("all that ever completed is read at once")
	}
}

// taskEvents reads events page by page, and removes old ones.
func taskEvents(t *testing.T, s *suite) {
	w := s.writer()
	busy, quiet := NewTask(1, task.ID{}), NewTask(2, task.ID{})
	busy.Root, quiet.Root, busy.Open = busy.ID, quiet.ID, 1
	const n = 4100 // more than one step of the trimming looks at
	writes := &task.Writes{New: []*task.Task{busy, quiet}}
	for i := range n {
		for _, root := range []task.ID{busy.ID, quiet.ID} {
			e := task.Event{
				Root: root, Task: TaskID(i), N: uint64(i) + 1, Type: task.EventType(i%5 + 1), At: Epoch.Add(time.Duration(i) * time.Second),
				Status: task.Statuses[i%5], Progress: float64(i) / n,
			}
			if i < len(strange) {
				e.Message = strange[i]
			}
			writes.Events = append(writes.Events, e)
		}
	}
	s.write(w, writes)
	s.reopen()
	page := func(root task.ID, after uint64, limit int) (list []task.Event) {
		list, err := s.TaskEvents(s.ctx, root, after, limit)
		s.check(err)
		return list
	}
	var want []task.Event
	for _, e := range writes.Events {
		if e.Root == quiet.ID {
			want = append(want, e)
		}
	}
	s.same("the first", want[:10], page(quiet.ID, 0, 10))
	s.same("a page", want[4000:4050], page(quiet.ID, 4000, 50))
	s.same("the last", want[4090:], page(quiet.ID, 4090, 1000))
	none := []task.Event(nil)
	s.same("none after the last", none, page(quiet.ID, n, 10))
	s.same("none far after", none, page(quiet.ID, 1<<63, 10))
	s.same("none of another", none, page(TaskID(3), 0, 10))

	removed, err := s.TrimTaskEvents(s.ctx, Epoch.Add(4000*time.Second))
	s.check(err)
	s.diff("removed", int64(4000), removed)
	s.same("what is left", want[4000:], page(quiet.ID, 0, 1000))
	s.diff("of a tree that is being executed", n, len(page(busy.ID, 0, 10000)))
	removed, err = s.TrimTaskEvents(s.ctx, Epoch.Add(4000*time.Second))
	s.check(err)
	s.diff("removed again", int64(0), removed)
}

// taskPushes takes pushes that are due: each by one taker.
func taskPushes(t *testing.T, s *suite) {
	l := s.taskLog()
	push := func(n int, due time.Time) *task.Push {
		return &task.Push{
			ID: TaskID(100 + n), Root: TaskID(n), URL: "https://example.org/?" + fmt.Sprint(n), Headers: map[string]string{"authorization": "ü\x00"},
			Created: Epoch.Add(5), Failures: 1, Due: due,
		}
	}
	for n := range 40 {
		due := Epoch
		if n >= 30 {
			due = Epoch.Add(time.Hour)
		}
		s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(n), Tasks: []*task.Task{NewTask(n, task.ID{})}, Ask: true, Push: push(n, due)})
	}
	s.again(l)
	take := func(now time.Time, limit int) []task.Push {
		list, err := s.TakePush(s.ctx, now, now.Add(time.Minute), limit)
		if err != nil {
			t.Error(err)
		}
		return list
	}
	if list, err := s.Pushes(s.ctx, task.ID{}, 7); err != nil || len(list) != 7 || !list[0].Due.Equal(Epoch.Add(time.Hour)) || list[0].URL == "" {
		t.Errorf("of all pushes: %d, %v", len(list), err)
	}
	if list, err := s.Pushes(s.ctx, TaskID(3), 7); err != nil || len(list) != 1 || list[0].Root != TaskID(3) || list[0].Failures != 1 {
		t.Errorf("of one tree: %+v, %v", list, err)
	}
	var mu sync.Mutex
	taken := map[task.ID]task.Push{}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				list := take(Epoch.Add(time.Second), 3)
				if len(list) == 0 {
					return
				}
				if len(list) > 3 {
					t.Errorf("%d pushes at once, want at most 3", len(list))
				}
				mu.Lock()
				for _, p := range list {
					if _, twice := taken[p.ID]; twice {
						t.Errorf("push %v is taken twice", p.ID)
					}
					taken[p.ID] = p
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	s.diff("pushes taken", 30, len(taken))
	first := taken[TaskID(100)]
	want := *push(0, first.Due)
	s.same("a push", want, first)

	// Who does not write how it went leaves it to be taken again.
	first.Sent, first.Failures, first.Due = 9, 0, Epoch.Add(2*time.Minute)
	s.check(s.PutPush(s.ctx, first))
	done := taken[TaskID(101)]
	done.Done = true
	s.check(s.PutPush(s.ctx, done))
	s.check(s.PutPush(s.ctx, task.Push{ID: TaskID(4711)})) // deleted meanwhile
	s.diff("pushes due again", 28, len(take(Epoch.Add(90*time.Second), 100)))
	list := take(Epoch.Add(2*time.Minute), 100)
	s.diff("pushes due at the time that was put", 1, len(list))
	list[0].Due = first.Due
	s.same("the push as it was put", first, list[0])
}

// taskClaims: a change of tasks is made together with its record and its sessions'
// writes, or none of them is.
func taskClaims(t *testing.T, s *suite) {
	l := s.taskLog()
	s.apply(l,
		&task.Change{Kind: task.Create, Root: TaskID(1), Tasks: []*task.Task{NewTask(1, task.ID{})}, Ask: true},
		&task.Change{Kind: task.Create, Root: TaskID(2), Tasks: []*task.Task{NewTask(2, task.ID{})}, Ask: true})
	head, err := s.Head(s.ctx, l.Log.Number())
	s.check(err)
	s.diff("records of changes without one", uint64(0), head.Size)

	entry := func(n int, head *ledger.KeyHead) *ledger.Entry {
		return &ledger.Entry{
			Record: ledger.Record{Kind: "task.start", Door: "flow", Effect: "allow"},
			Writes: []*ledger.Write{{Head: head, Data: []byte("x")}},
			Task:   &task.Change{Kind: task.Start, Task: TaskID(n), Root: TaskID(n), Attempt: 1, Node: l.Log.Node()},
		}
	}
	first := func(n uint64) *ledger.KeyHead { return ledger.NewKeyHead(Key(n), act.Position{}, false) }
	s.check(l.Enter(s.ctx, entry(1, first(1))))
	r := s.row(TaskID(1))
	s.diff("phase", task.Running, r.Phase)
	s.diff("the position of its decision", act.Position{Log: l.Log.Number()}.String(), r.Decision)

	// The session was written meanwhile: the task stays as it is.
	s.is(l.Enter(s.ctx, entry(2, first(1))), ledger.ErrLost)
	s.diff("phase", task.Ready, s.row(TaskID(2)).Phase)
	// The task has moved on: the session is not written, nothing is recorded.
	s.is(l.Enter(s.ctx, entry(1, first(3))), task.ErrMoved)
	s.unknown(Key(3))
	head, err = s.Head(s.ctx, l.Log.Number())
	s.check(err)
	s.diff("records", uint64(1), head.Size)
	s.check(l.Enter(s.ctx, entry(2, first(3))))

	// A batch of tasks only puts back the heads of those that are not in it.
	s.check(l.Log.Close())
	w := s.writer()
	won := ledger.Claim{Key: Key(9), First: true}
	s.check(s.Commit(s.ctx, w.Lease, []ledger.Claim{won}, nil, func(ledger.Found) (*ledger.Batch, error) {
		n := NewTask(9, task.ID{})
		n.Root = n.ID
		return &ledger.Batch{First: w.Size, At: w.At, Tasks: &task.Writes{New: []*task.Task{n}}}, nil
	}))
	s.unknown(Key(9))
	s.row(TaskID(9))
	head, err = s.Head(s.ctx, w.Lease.Log)
	s.check(err)
	s.diff("records", uint64(2), head.Size)
}

// taskRefused: a commit that fails leaves nothing.
func taskRefused(t *testing.T, s *suite) {
	w := s.writer()
	old := NewTask(1, task.ID{})
	old.Root = old.ID
	s.write(w, &task.Writes{New: []*task.Task{old}})
	n := NewTask(2, task.ID{})
	n.Root = n.ID
	moved := old.Row
	moved.Phase, moved.Error = task.Ready, "moved"
	stop := errors.New("stop")
	writes := func() *task.Writes {
		return &task.Writes{New: []*task.Task{n}, Rows: []*task.Row{&moved}, Ready: []*task.Row{&moved}, Texts: []task.Text{{Task: old.ID, Result: jsontext.Value(`{}`)}}}
	}
	for name, build := range map[string]func() (*ledger.Batch, error){
		"an error":              func() (*ledger.Batch, error) { return nil, stop },
		"an error with a batch": func() (*ledger.Batch, error) { return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes()}, stop },
		"a record without its hash": func() (*ledger.Batch, error) {
			return &ledger.Batch{First: w.Size, At: w.At, Records: [][]byte{[]byte("r")}, Tasks: writes()}, nil
		},
	} {
		err := s.Commit(s.ctx, w.Lease, nil, &task.Load{Tasks: []task.ID{old.ID}}, func(ledger.Found) (*ledger.Batch, error) { return build() })
		if err == nil || strings.HasPrefix(name, "an error") && !errors.Is(err, stop) {
			t.Fatalf("%s: the commit ended with %v", name, err)
		}
		s.gone(n.ID)
		s.task(old)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	err := s.Commit(ctx, w.Lease, nil, &task.Load{Tasks: []task.ID{old.ID}}, func(ledger.Found) (*ledger.Batch, error) {
		return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes()}, nil
	})
	s.check(err)
	cancel()
	s.is(s.Commit(ctx, w.Lease, nil, nil, func(ledger.Found) (*ledger.Batch, error) { return nil, nil }), context.Canceled)
	s.diff("error", "moved", s.row(old.ID).Error)
}

// taskFenced: who has lost the log changes no task, not even without a record.
func taskFenced(t *testing.T, s *suite) {
	w := s.writer()
	n := NewTask(1, task.ID{})
	n.Root = n.ID
	newer := s.writer()
	s.is(s.tryWrite(w, &task.Writes{New: []*task.Task{n}}), ledger.ErrFenced)
	s.gone(n.ID)
	s.fill(newer, 3, 9, 3)
	behind := *newer
	behind.Size = 2
	s.is(s.tryWrite(&behind, &task.Writes{New: []*task.Task{n}}), ledger.ErrFenced)
	s.gone(n.ID)
	s.write(newer, &task.Writes{New: []*task.Task{n}})
	s.task(n)
	head, err := s.Head(s.ctx, w.Lease.Log)
	s.check(err)
	s.diff("records", uint64(3), head.Size)
}

// taskTree takes the largest tree that may be through its life.
func taskTree(t *testing.T, s *suite) {
	l := s.taskLog()
	root := TaskID(0)
	tree := []*task.Task{NewTask(0, task.ID{})}
	for i := 1; i < task.MaxTree; i++ {
		n := NewTask(i, TaskID((i-1)/10)) // ten children each
		for _, d := range []int{7, 300, 4000} {
			if i > d {
				n.Dependencies = append(n.Dependencies, task.Dependency{ID: TaskID(i - d), Required: true})
			}
		}
		tree = append(tree, n)
	}
	s.apply(l, &task.Change{Kind: task.Create, Root: root, Tasks: tree, Ask: true})
	var refused *task.Error
	if err := l.Apply(s.ctx, &task.Change{Kind: task.Create, Root: root, Tasks: []*task.Task{NewTask(task.MaxTree, root)}}); !errors.As(err, &refused) || refused.Code != task.CodeTree {
		t.Errorf("the tree grows beyond its bound: %v", err)
	}
	l = s.again(l)
	got, err := readTree(s.ctx, s, root)
	s.check(err)
	s.diff("tasks", task.MaxTree, len(got))
	for i, n := range got {
		if n.ID != TaskID(i) || len(n.Dependencies) != len(tree[i].Dependencies) {
			t.Fatalf("the task at %d is %s, with %d dependencies", i, n.Name, len(n.Dependencies))
		}
	}
	n, err := s.CountTasks(s.ctx, task.Query{Parent: TaskID(5)})
	s.check(err)
	s.diff("children", 10, n)
	r := s.row(root)
	s.diff("size and open", []int{task.MaxTree, task.MaxTree}, []int{r.Size, r.Open})
	h := task.Handed{Task: root, Root: root, Attempt: 1}
	s.check(l.Start(s.ctx, h))
	s.check(l.Finish(s.ctx, h, `{}`))
	s.diff("phases", []task.Phase{task.PhaseComplete, task.Ready, task.Waiting}, s.phases(0, 7, 8))
	s.apply(l, &task.Change{Kind: task.Cancel, Task: root, Root: root})
	n, err = s.CountTasks(s.ctx, task.Query{Status: task.Cancelled})
	s.check(err)
	s.diff("cancelled", task.MaxTree-1, n)
	s.diff("open", 0, s.row(root).Open)
}

// taskWriters has many change one tree at once: each change is made once, and no
// count is wrong in the end.
func taskWriters(t *testing.T, s *suite) {
	l := s.taskLog()
	Race(t, s.Store, []*Tasks{l})
}

// Race lets workers of several logs, which may be of several stores on one
// database, start and finish the tasks of trees at once, each trying all. Every
// task must be started by exactly one.
func Race(t *testing.T, store store.Store, logs []*Tasks) {
	const trees, width = 4, 24
	root := func(tree int) int { return tree * 1000 }
	for tree := range trees {
		list := []*task.Task{NewTask(root(tree), task.ID{})}
		for i := 1; i <= width; i++ {
			list = append(list, NewTask(root(tree)+i, list[0].ID)) // all are ready at once
		}
		all := NewTask(root(tree)+width+1, list[0].ID)
		for i := 1; i <= width; i++ {
			all.Dependencies = append(all.Dependencies, task.Dependency{ID: list[i].ID, Required: i%2 == 0})
		}
		if err := logs[0].Apply(t.Context(), &task.Change{Kind: task.Create, Root: list[0].ID, Tasks: append(list, all), Ask: true}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	started := map[task.ID]int{}
	var group sync.WaitGroup
	try := func(l *Tasks, h task.Handed) {
		err := l.Start(t.Context(), h)
		if errors.Is(err, task.ErrMoved) {
			return
		}
		if err == nil {
			mu.Lock()
			started[h.Task]++
			mu.Unlock()
			err = l.Finish(t.Context(), h, `{"ok":true}`)
		}
		if err != nil {
			t.Errorf("task %v: %v", h.Task, err)
		}
	}
	for w := range 8 {
		l := logs[w%len(logs)]
		group.Go(func() {
			for i := range trees * (width + 1) {
				i = (i*7 + w*13) % (trees * (width + 1)) // each in an order of its own
				tree, n := i/(width+1), i%(width+1)
				try(l, task.Handed{Task: TaskID(root(tree) + n), Root: TaskID(root(tree)), Attempt: 1})
			}
		})
	}
	group.Wait()
	for tree := range trees {
		try(logs[len(logs)-1], task.Handed{Task: TaskID(root(tree) + width + 1), Root: TaskID(root(tree)), Attempt: 1})
		list, err := readTree(t.Context(), store, TaskID(root(tree)))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list {
			if n.Phase != task.PhaseComplete || started[n.ID] != 1 || string(n.Result) != `{"ok":true}` {
				t.Errorf("%s is in phase %d, and was started %d times", n.Name, n.Phase, started[n.ID])
			}
		}
		r, err := store.TaskRow(t.Context(), TaskID(root(tree)))
		if err != nil {
			t.Fatal(err)
		}
		events, err := store.TaskEvents(t.Context(), r.ID, 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if r.Open != 0 || r.Size != width+2 || uint64(len(events)) != r.Events {
			t.Errorf("tree %d: %d open of %d, %d events numbered to %d", tree, r.Open, r.Size, len(events), r.Events)
		}
	}
}

// Tree reads a whole tree, oldest tasks first.
func Tree(tb testing.TB, store task.Store, root task.ID) []*task.Task {
	tb.Helper()
	list, err := readTree(context.Background(), store, root)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func readTree(ctx context.Context, store task.Store, root task.ID) ([]*task.Task, error) {
	rows, err := store.TaskRows(ctx, task.RowQuery{Root: root})
	if err != nil {
		return nil, err
	}
	ids := make([]task.ID, len(rows))
	place := make(map[task.ID]int, len(rows))
	for i := range rows {
		ids[i], place[rows[i].ID] = rows[i].ID, i
	}
	list, err := store.TasksOf(ctx, ids)
	slices.SortFunc(list, func(a, b *task.Task) int { return place[a.ID] - place[b.ID] })
	return list, err
}
