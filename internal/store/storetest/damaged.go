package storetest

import (
	"errors"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/task"
)

// taskDamaged plants rows that no change could have made, and has every kind of change
// meet them, beside changes of tasks that are as they should be. None may end the
// process, none may wait for ever, and no entry but the damaged task's may fail.
func taskDamaged(_ *testing.T, s *suite) {
	w := s.writer()
	due := Epoch.Add(time.Hour)
	var all, bad []*task.Task
	number := 0
	// tree is a root with two tasks under it, the second of which needs the first.
	tree := func(damage func(list []*task.Task)) {
		number += 10
		root := NewTask(number, task.ID{})
		list := []*task.Task{root, NewTask(number+1, root.ID), NewTask(number+2, root.ID, number+1)}
		for _, t := range list {
			t.Root, t.Created, t.Updated = root.ID, Epoch, Epoch
		}
		root.Size, root.Next = len(list), due
		damage(list)
		all = append(all, list...)
		bad = append(bad, list...)
	}
	for _, phase := range []task.Phase{77, 255, task.PhaseCancelled + 1} {
		tree(func(l []*task.Task) { l[0].Phase = phase })
		tree(func(l []*task.Task) { l[1].Phase = phase })
	}
	for phase := task.Idle; phase <= task.PhaseCancelled; phase++ { // right each, and together wrong
		tree(func(l []*task.Task) {
			l[0].Phase, l[1].Phase, l[2].Phase = phase, task.PhaseCancelled-phase, task.Waiting
		})
	}
	tree(func(l []*task.Task) { l[1].Parent, l[2].Parent = l[2].ID, l[1].ID })                                 // a circle beside the tree
	tree(func(l []*task.Task) { l[1].Parent = l[1].ID })                                                       // under itself
	tree(func(l []*task.Task) { l[1].Dependencies = []task.Dependency{{ID: l[2].ID, Required: true}} })        // each waits for the other
	tree(func(l []*task.Task) { l[1].Dependencies = []task.Dependency{{ID: l[1].ID, Required: true}} })        // for itself
	tree(func(l []*task.Task) { l[1].Dependencies = []task.Dependency{{ID: TaskID(99_999), Required: true}} }) // for nobody
	tree(func(l []*task.Task) {
		l[1].Dependencies = []task.Dependency{{ID: TaskID(number - 9)}}
		l[1].Phase = task.Waiting
	}) // for another tree's
	tree(func(l []*task.Task) { l[1].Root = TaskID(99_998) }) // of a tree that is not there
	tree(func(l []*task.Task) {
		l[0].Size, l[0].Open, l[0].Unmet, l[0].Attempt, l[0].Losses = -1, -5, -7, 1<<30, 1<<30
		l[1].Unmet = 1 << 30
	}) // counted wrong
	var behind []task.Event // the counters of trees that have these are behind them
	for n := range uint64(5) {
		tree(func(l []*task.Task) { l[0].Events = n })
		for i := range uint64(40) {
			behind = append(behind, task.Event{Root: all[len(all)-3].ID, Task: all[len(all)-3].ID, N: i + 1, At: Epoch, Status: "pending"})
		}
	}
	s.write(w, &task.Writes{New: all})
	s.write(w, &task.Writes{Events: behind})
	odd := task.Event{Root: TaskID(10), Task: TaskID(10), N: 1 << 40, Type: 200, At: Epoch, Status: "no status"}
	s.write(w, &task.Writes{Events: []task.Event{odd}})
	if _, err := s.TaskEvents(s.ctx, TaskID(10), 0, 10); err != nil {
		s.Errorf("events: %v", err)
	}

	l := s.taskLog()
	good := 100_000
	for _, t := range bad {
		for kind := task.Create; kind <= task.Delete; kind++ {
			changed := *t
			c := &task.Change{Kind: kind, Task: t.ID, Root: t.Root, Attempt: t.Attempt, Due: due, At: due, Outcome: task.PhaseComplete, Tasks: []*task.Task{&changed}, Whole: true}
			switch kind {
			case task.Create:
				good++
				c.Task, c.Ask, c.Tasks = task.ID{}, true, []*task.Task{NewTask(good, t.ID)}
			case task.Start, task.Refuse, task.Hold:
				c.Attempt++
			case task.Update: // under its own child, which a damaged tree may not notice
				changed.Parent, changed.Updated = TaskID(int(t.ID[12])<<8+int(t.ID[13])+1), Epoch
			}
			good++
			fine := NewTask(good, task.ID{})
			var tickets [3]*ledger.Ticket
			entries := []*ledger.Entry{
				{Task: &task.Change{Kind: task.Create, Root: fine.ID, At: due, Tasks: []*task.Task{fine}}},
				{Task: c},
				{Task: &task.Change{Kind: task.Ask, Task: fine.ID, Root: fine.ID, At: due}},
			}
			for i, e := range entries {
				var err error
				tickets[i], err = l.Log.Enqueue(l.Log.Generation(), e)
				s.check(err)
			}
			for i, ticket := range tickets {
				_, err := ticket.Wait(s.ctx)
				var refused *task.Error
				if err != nil && (i != 1 || !errors.Is(err, task.ErrBroken) && !errors.Is(err, task.ErrMoved) && !errors.As(err, &refused)) {
					s.Fatalf("change %d of task %s, entry %d: %v", kind, t.Name, i, err)
				}
			}
		}
	}
	if got := s.row(TaskID(good)).Phase; got != task.Ready {
		s.Errorf("the last of the sound ones is in phase %d", got)
	}
	s.again(l) // and the database opens as before
}
