package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// ended makes a tree of tasks that have ended at a time: its root and some under it.
func ended(first, under int, at time.Time) (list []*task.Task) {
	for i := range under + 1 {
		t := NewTask(first+i, task.ID{})
		t.Root, t.Phase, t.Created, t.Updated, t.Completed, t.Run = TaskID(first), task.PhaseComplete, at, at, at, 1
		t.Result = jsontext.Value(`{"done":true}`)
		if i > 0 {
			t.Parent = TaskID(first)
			t.Dependencies = []task.Dependency{{ID: TaskID(first + i - 1), Required: true}}
		}
		list = append(list, t)
	}
	list[0].Size = under + 1
	return list
}

// eventsOf are some events of a tree, and a push.
func eventsOf(root task.ID, n int) (w task.Writes) {
	for i := range n {
		w.Events = append(w.Events, task.Event{Root: root, Task: root, N: uint64(i) + 1, Type: task.StatusUpdate, At: Epoch, Status: task.Completed})
	}
	w.Pushes = []task.Push{{ID: root, Root: root, URL: "https://example.org", Due: Epoch}}
	return w
}

// walkTrees reads all pages of a look for trees.
func (s *suite) walkTrees(look func(after task.Place) ([]task.ID, task.Place, error)) (roots []task.ID) {
	s.Helper()
	for after := (task.Place{}); ; {
		some, next, err := look(after)
		s.check(err)
		roots = append(roots, some...)
		if next == (task.Place{}) {
			return roots
		}
		after = next
	}
}

func (s *suite) endedTrees(before time.Time) []task.ID {
	s.Helper()
	return s.walkTrees(func(after task.Place) ([]task.ID, task.Place, error) { return s.EndedTrees(s.ctx, before, after) })
}

// nothingOf makes sure that a tree has left nothing: no row, event, push or edge.
func (s *suite) nothingOf(first, tasks int) {
	s.Helper()
	for i := range tasks {
		s.gone(TaskID(first + i))
	}
	rows, err := s.TaskRows(s.ctx, task.RowQuery{Root: TaskID(first)})
	s.check(err)
	s.diff("rows", 0, len(rows))
	events, err := s.TaskEvents(s.ctx, TaskID(first), 0, 10)
	s.check(err)
	s.diff("events", 0, len(events))
}

// treesEnded removes trees that ended long ago, and no others.
func treesEnded(t *testing.T, s *suite) {
	w := s.writer()
	old, young := Epoch, Epoch.Add(100*time.Hour)
	before := Epoch.Add(time.Hour)
	var all []*task.Task
	tree := func(first, under int, at time.Time, change func(tree []*task.Task)) {
		list := ended(first, under, at)
		if change != nil {
			change(list)
		}
		all = append(all, list...)
	}
	tree(100, 3, old, nil)
	tree(110, 0, old, func(tree []*task.Task) { tree[0].Phase = task.PhaseFailed })
	tree(120, 2, old, func(tree []*task.Task) { tree[2].Updated = young })                                             // something of it was changed later
	tree(130, 2, old, func(tree []*task.Task) { tree[1].Phase, tree[0].Open = task.Running, 1 })                       // runs
	tree(140, 2, old, func(tree []*task.Task) { tree[1].Phase = task.Idle })                                           // not run yet
	tree(150, 0, old, func(tree []*task.Task) { tree[0].Phase = task.Idle })                                           // likewise
	tree(160, 2, old, func(tree []*task.Task) { tree[1].Next = young })                                                // will run again
	tree(170, 0, old, func(tree []*task.Task) { tree[0].Next = young })                                                // likewise
	tree(180, 2, young, nil)                                                                                           // young
	tree(190, 1, old, nil)                                                                                             // a young one was made from it
	tree(200, 0, young, func(tree []*task.Task) { tree[0].Origin, tree[0].Original = task.OriginLink, TaskID(191) })   // this one
	tree(210, 1, old, func(tree []*task.Task) { tree[1].Origin, tree[1].Original = task.OriginCopy, TaskID(210) })     // from itself
	tree(220, 0, old, func(tree []*task.Task) { tree[0].Origin, tree[0].Original = task.OriginCopy, TaskID(100_000) }) // from what is not there
	s.write(w, &task.Writes{New: all})
	for _, first := range []int{100, 110, 120, 190, 210} {
		writes := eventsOf(TaskID(first), 700)
		s.write(w, &writes)
	}
	s.reopen()
	want := []task.ID{TaskID(100), TaskID(110), TaskID(210), TaskID(220)}
	s.diff("ended trees", want, s.endedTrees(before))
	s.diff("ended trees, by another time", []task.ID(nil), s.endedTrees(old))

	// What is asked for and may not go stays.
	ask := slices.Clone(want)
	for first := 120; first <= 200; first += 10 {
		ask = append(ask, TaskID(first))
	}
	ask = append(ask, TaskID(101), TaskID(77_777)) // no root, and nothing
	gone, err := s.RemoveTrees(s.ctx, ask, before, task.ByAge)
	s.check(err)
	wantGone := []task.Gone{{Root: TaskID(100), Tasks: 4, Why: task.ByAge}, {Root: TaskID(110), Tasks: 1, Why: task.ByAge},
		{Root: TaskID(210), Tasks: 2, Why: task.ByAge}, {Root: TaskID(220), Tasks: 1, Why: task.ByAge}}
	byRoot := func(a, b task.Gone) int { return cmp.Compare(a.Root.String(), b.Root.String()) }
	slices.SortFunc(gone, byRoot)
	s.diff("removed", wantGone, gone)
	s.reopen()
	w = s.writer()
	noted, err := s.GoneTrees(s.ctx, 100)
	s.check(err)
	s.diff("removed and not noted, after a crash", wantGone, noted)
	s.check(s.SweepTrees(s.ctx))
	s.check(s.NoteTrees(s.ctx, want[:2]))
	s.check(s.NoteTrees(s.ctx, want[:2]))
	noted, err = s.GoneTrees(s.ctx, 100)
	s.check(err)
	s.diff("not noted", wantGone[2:], noted)
	s.check(s.NoteTrees(s.ctx, want))
	s.nothingOf(100, 4)
	s.nothingOf(110, 1)
	s.nothingOf(210, 2)
	s.nothingOf(220, 1)
	stay := 0
	for _, tt := range all {
		if !slices.Contains(want, tt.Root) {
			stay++
			s.task(tt)
		}
	}
	count, err := s.CountTasks(s.ctx, task.Query{})
	s.check(err)
	s.diff("tasks that stay", stay, count)
	pushes, err := s.TakePush(s.ctx, Epoch.Add(time.Second), Epoch.Add(time.Minute), 100)
	s.check(err)
	s.diff("pushes that stay", 2, len(pushes))
	s.same("edges that are left", []*task.Loaded{{}}, s.loaded(w, &task.Load{Dependents: []task.ID{TaskID(100), TaskID(101), TaskID(210)}}))

	// Once what was made from it is gone, the original may go.
	s.diff("ended trees, later", []task.ID{TaskID(120), TaskID(180), TaskID(200)}, s.endedTrees(young.Add(time.Hour)))
	_, err = s.RemoveTrees(s.ctx, []task.ID{TaskID(200)}, young.Add(time.Hour), task.ByAge)
	s.check(err)
	s.diff("ended trees, without the link", []task.ID{TaskID(190)}, s.endedTrees(before))
	s.check(s.Scrub(s.ctx))
}

// treesOf finds and removes a user's trees, whatever their state, but not those that
// are being executed.
func treesOf(t *testing.T, s *suite) {
	w := s.writer()
	var all []*task.Task
	const n = 1000 // more tasks than one look walks over
	for i := range n {
		list := ended(10*i, i%3+i/500, Epoch.Add(time.Duration(i)*time.Second))
		for _, tt := range list {
			if tt.User = "me"; i < 40 && i%len(strange) > 0 {
				tt.User = strange[i%len(strange)]
			}
		}
		switch root := list[0]; i {
		case 8:
			root.Phase = task.Idle
		case 16:
			root.Next = Epoch.Add(time.Hour)
		case 24:
			root.Open, root.Phase = 1, task.Running
		}
		all = append(all, list...)
	}
	for some := range slices.Chunk(all, 1000) {
		s.write(w, &task.Writes{New: some})
	}
	for end, want := range map[string][]string{"me": {"me"}, "*$1?": {"%_*$1?"}, "字 🜁": {"ü 漢字 🜁"}, "%": nil, "m": nil} {
		got, err := s.UsersEnding(s.ctx, end)
		s.check(err)
		s.diff("users whose names end with "+end, want, got)
	}
	for _, user := range append([]string{"me", "nobody"}, strange[1:]...) {
		var want []task.ID
		for _, tt := range all {
			if tt.User == user && tt.Parent == (task.ID{}) {
				want = append(want, tt.ID)
			}
		}
		got := s.walkTrees(func(after task.Place) ([]task.ID, task.Place, error) { return s.TreesOf(s.ctx, user, after) })
		s.diff(fmt.Sprintf("trees of %.20q", user), want, got)
		got, want = got[:min(len(got), 60)], want[:min(len(want), 60)]
		gone, err := s.RemoveTrees(s.ctx, got, time.Time{}, task.ByErasure)
		s.check(err)
		if user == "me" { // one is being executed
			want = slices.DeleteFunc(want, func(id task.ID) bool { return id == TaskID(240) })
		}
		var removed []task.ID
		for _, g := range gone {
			removed = append(removed, g.Root)
		}
		slices.SortFunc(removed, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
		s.diff("removed", want, removed)
	}
	s.check(s.SweepTrees(s.ctx))
	for i, tt := range all {
		if i > 200 {
			break
		}
		root := slices.IndexFunc(all, func(r *task.Task) bool { return r.ID == tt.Root })
		if first := all[root]; first.Open == 1 {
			s.task(tt)
		} else if first.User != "me" {
			s.gone(tt.ID)
		}
	}
}

// treesLarge removes a large tree in many steps, while commits go on and somebody has
// it executed again: then it stays, whole.
func treesLarge(t *testing.T, s *suite) {
	const n = 700
	w := s.writer()
	for _, first := range []int{0, 10_000} {
		for some := range slices.Chunk(ended(first, n-1, Epoch), 1000) {
			s.write(w, &task.Writes{New: some})
		}
		writes := eventsOf(TaskID(first), 5100)
		s.write(w, &writes)
	}
	var commits sync.WaitGroup
	stop := make(chan struct{})
	commits.Go(func() {
		for i := 50_000; ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := s.tryWrite(w, &task.Writes{New: ended(i, 0, Epoch.Add(time.Hour))}); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	gone, err := s.RemoveTrees(s.ctx, []task.ID{TaskID(0)}, Epoch.Add(time.Minute), task.ByAge)
	s.check(err)
	s.diff("removed", []task.Gone{{Root: TaskID(0), Tasks: n, Why: task.ByAge}}, gone)
	s.gone(TaskID(0))
	s.check(s.NoteTrees(s.ctx, []task.ID{TaskID(0)}))
	s.check(s.SweepTrees(s.ctx))
	close(stop)
	commits.Wait()
	for _, i := range []int{0, 1, n / 2, n - 1} {
		s.gone(TaskID(i))
	}
	rows, err := s.TaskRows(s.ctx, task.RowQuery{Root: TaskID(0)})
	s.check(err)
	s.diff("rows", 0, len(rows))

	var lists [2]int
	var both sync.WaitGroup
	both.Go(func() {
		err := s.Commit(s.ctx, w.Lease, nil, &task.Load{Tasks: []task.ID{TaskID(10_000)}}, func(f ledger.Found) (*ledger.Batch, error) {
			lists[0] = len(f.Tasks.Rows)
			if len(f.Tasks.Rows) == 0 {
				return nil, nil
			}
			r := &f.Tasks.Rows[0]
			r.Open, r.Phase = 1, task.Ready
			return &ledger.Batch{First: w.Size, At: w.At, Tasks: &task.Writes{Rows: []*task.Row{r}}}, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	both.Go(func() {
		gone, err := s.RemoveTrees(s.ctx, []task.ID{TaskID(10_000)}, Epoch.Add(time.Minute), task.ByAge)
		if lists[1] = len(gone); err != nil {
			t.Error(err)
		}
	})
	both.Wait()
	if lists[0]+lists[1] != 1 {
		t.Errorf("executed again: %d, removed: %d; want one of them", lists[0], lists[1])
	}
	s.check(s.SweepTrees(s.ctx))
	if rows, err = s.TaskRows(s.ctx, task.RowQuery{Root: TaskID(10_000)}); err != nil || len(rows) != n*lists[0] {
		t.Errorf("%d rows are there, want all or none: %v", len(rows), err)
	}
}

// treesAlone: one at a time.
func treesAlone(t *testing.T, s *suite) {
	ran := false
	s.check(s.Alone(s.ctx, func(context.Context) error { ran = true; return nil }))
	s.is(s.Alone(s.ctx, func(context.Context) error { return ledger.ErrLost }), ledger.ErrLost)
	s.check(s.Alone(s.ctx, func(context.Context) error { ran = !ran; return nil }))
	if ran {
		t.Error("it did not run twice")
	}
}

// treesAgain makes a tree of the id of one that is gone, and of which much is left: that
// is not the new one's.
func treesAgain(t *testing.T, s *suite) {
	const n = 700
	w := s.writer()
	s.write(w, &task.Writes{New: ended(0, n-1, Epoch)})
	writes := eventsOf(TaskID(0), 1000)
	s.write(w, &writes)
	s.check(s.Release(s.ctx, w.Lease))
	gone, err := s.RemoveTrees(s.ctx, []task.ID{TaskID(0)}, time.Time{}, task.ByErasure)
	s.check(err)
	s.diff("removed", 1, len(gone))
	l := s.taskLog()
	s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(0), Tasks: []*task.Task{NewTask(0, task.ID{}), NewTask(1000, TaskID(0), 0)}, Ask: true})
	s.check(l.Start(s.ctx, task.Handed{Task: TaskID(0), Root: TaskID(0), Attempt: 1}))
	s.check(s.SweepTrees(s.ctx))
	s.check(s.NoteTrees(s.ctx, []task.ID{TaskID(0)}))
	s.check(s.SweepTrees(s.ctx))
	rows, err := s.TaskRows(s.ctx, task.RowQuery{Root: TaskID(0)})
	s.check(err)
	s.diff("rows of the new tree", 2, len(rows))
	s.diff("phases", []task.Phase{task.Running, task.Waiting}, s.phases(0, 1000))
	events, err := s.TaskEvents(s.ctx, TaskID(0), 0, 100)
	s.check(err)
	s.diff("its events", s.row(TaskID(0)).Events, uint64(len(events)))
	s.check(l.Finish(s.ctx, task.Handed{Task: TaskID(0), Root: TaskID(0), Attempt: 1}, `{"again":true}`))
	s.diff("phases", []task.Phase{task.PhaseComplete, task.Ready}, s.phases(0, 1000))
}
