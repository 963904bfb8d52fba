package storetest

import (
	"testing"
	"time"

	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// OldItems are items as they were before they had owners: by id.
var OldItems = map[string]string{
	"did:a": `{"did":"did:a","principal":"key:a"}`,
	"did:b": `{"did":"did:\"principal\":\"key:a\""}`,
	"did:c": `not "principal`,
}

// Upgrade tests that what a database of the third schema holds is there after it is
// brought up to date, and is worked with as if it had been new. down brings a closed
// database back to that schema, and adds OldItems.
func Upgrade(t *testing.T, open func(t *testing.T) store.Store, down func(t *testing.T)) {
	s := &suite{T: t, ctx: t.Context(), open: func() store.Store { return open(t) }}
	s.Store = s.open()
	t.Cleanup(func() { s.Store.Close() })
	w := s.writer()
	late := Epoch.Add(100 * time.Hour)
	before := Epoch.Add(time.Hour)
	var all []*task.Task
	tree := func(first, under int, at time.Time, change func(tree []*task.Task)) {
		list := ended(first, under, at)
		if change != nil {
			change(list)
		}
		all = append(all, list...)
	}
	from := func(origin string, id int) func(tree []*task.Task) {
		return func(tree []*task.Task) { tree[len(tree)-1].Origin, tree[len(tree)-1].Original = origin, TaskID(id) }
	}
	tree(100, 3, Epoch, nil)
	tree(110, 1, Epoch, nil)
	tree(120, 2, late, from(task.OriginLink, 111))      // below another root, from below a root
	tree(130, 0, Epoch, nil)                            //
	tree(140, 0, late, from(task.OriginCopy, 130))      //
	tree(150, 1, Epoch, from(task.OriginCopy, 150))     // from itself
	tree(160, 0, Epoch, from(task.OriginCopy, 100_000)) // from what is not there
	tree(170, 0, late, func(tree []*task.Task) {        // from nothing: so say its inputs only
		tree[0].Inputs = jsontext.Value(`{"text":"\"original\":\"` + TaskID(100).String() + `\" \\\u0000 ü","original":"none"}`)
	})
	tree(180, 2, Epoch, func(tree []*task.Task) { tree[1].Phase, tree[0].Open = task.Ready, 1 })
	s.write(w, &task.Writes{New: all})
	for _, first := range []int{100, 110} {
		writes := eventsOf(TaskID(first), 10)
		s.write(w, &writes)
	}

	s.check(s.Store.Close())
	down(t)
	s.Store = s.open()

	w = s.writer()
	for _, tt := range all {
		s.task(tt)
	}
	n, _, err := s.CountItems(s.ctx, "agent", "key:a", false)
	s.check(err)
	s.diff("items of an owner", 1, n)
	want := []task.ID{TaskID(100), TaskID(150), TaskID(160)}
	s.diff("ended trees", want, s.endedTrees(before))
	gone, err := s.RemoveTrees(s.ctx, []task.ID{TaskID(100), TaskID(110), TaskID(130), TaskID(150), TaskID(160), TaskID(180)}, before, task.ByAge)
	s.check(err)
	s.diff("removed", len(want), len(gone))
	s.check(s.SweepTrees(s.ctx))
	s.nothingOf(100, 4)
	s.nothingOf(150, 2)
	s.diff("loaded below a task", 3, len(s.loaded(w, &task.Load{Under: []task.ID{TaskID(180)}})[0].Rows))
	s.check(s.Release(s.ctx, w.Lease))
	l := s.taskLog()
	s.check(l.Start(s.ctx, task.Handed{Task: TaskID(181), Root: TaskID(180), Attempt: 1, Run: 1}))
	s.check(l.Finish(s.ctx, task.Handed{Task: TaskID(181), Root: TaskID(180), Attempt: 1, Run: 1}, `{"later":true}`))
	s.diff("phase", []task.Phase{task.PhaseComplete}, s.phases(181))
	copied := NewTask(500, task.ID{})
	copied.Origin, copied.Original = task.OriginCopy, TaskID(180)
	s.apply(l, &task.Change{Kind: task.Create, Root: TaskID(500), Tasks: []*task.Task{copied}})
	s.diff("ended trees, with what is copied now", []task.ID{TaskID(120), TaskID(140), TaskID(170)}, s.endedTrees(late.Add(time.Hour)))
}
