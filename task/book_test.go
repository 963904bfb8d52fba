package task

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// shelf is a store in memory, as far as a Book needs one.
type shelf struct {
	t      testing.TB
	rows   map[ID]Row
	needs  []Edge
	events map[ID][]Event
	told   map[ID]Status // by the last event; empty for none yet
	now    time.Time
	last   *Writes
}

func newShelf(t testing.TB) *shelf {
	return &shelf{t: t, rows: map[ID]Row{}, events: map[ID][]Event{}, told: map[ID]Status{}, now: time.Unix(1_800_000_000, 0).UTC()}
}

func (s *shelf) load(l Load) (*Loaded, error) {
	loaded := &Loaded{}
	seen := map[ID]bool{}
	add := func(id ID) {
		if r, ok := s.rows[id]; ok && !seen[id] {
			seen[id] = true
			loaded.Rows = append(loaded.Rows, r)
		}
	}
	for _, id := range l.Tasks {
		add(id)
	}
	under := slices.Clone(l.Under)
	for i := 0; i < len(under); i++ {
		add(under[i])
		for id, r := range s.rows {
			if r.Parent == under[i] {
				under = append(under, id)
			}
		}
	}
	edges := map[Edge]bool{}
	for _, e := range s.needs {
		r := s.rows[e.Needs]
		if slices.Contains(l.Dependents, e.Needs) {
			add(e.Task)
			edges[e] = true
		}
		if slices.Contains(l.Trees, r.Root) {
			edges[e] = true
		}
	}
	for id, r := range s.rows {
		if slices.Contains(l.Trees, r.Root) {
			add(id)
		}
	}
	for e := range edges {
		loaded.Edges = append(loaded.Edges, e)
	}
	return loaded, nil
}

// apply makes changes as one batch, and returns what each came to.
func (s *shelf) apply(changes ...*Change) (errs []error) {
	s.t.Helper()
	var l Load
	for _, c := range changes {
		if c.At.IsZero() {
			s.now = s.now.Add(time.Second)
			c.At = s.now
		}
		c.Needs(&l)
	}
	loaded, _ := s.load(l)
	b := NewBook(loaded, l, s.load)
	for _, c := range changes {
		errs = append(errs, b.Apply(c, "0-1"))
	}
	w := b.Writes()
	for _, t := range w.New {
		s.rows[t.ID] = t.Row
		for _, d := range t.Dependencies {
			s.needs = append(s.needs, Edge{Task: t.ID, Needs: d.ID, Required: d.Required})
		}
	}
	for _, t := range w.Redefined {
		s.needs = slices.DeleteFunc(s.needs, func(e Edge) bool { return e.Task == t.ID })
		for _, d := range t.Dependencies {
			s.needs = append(s.needs, Edge{Task: t.ID, Needs: d.ID, Required: d.Required})
		}
	}
	for _, r := range w.Rows {
		s.rows[r.ID] = *r
	}
	for _, id := range w.Deleted {
		delete(s.rows, id)
		s.needs = slices.DeleteFunc(s.needs, func(e Edge) bool { return e.Task == id || e.Needs == id })
	}
	for _, e := range w.Events {
		if s.events[e.Root] = append(s.events[e.Root], e); e.N != uint64(len(s.events[e.Root])) {
			s.t.Errorf("event %d has the number %d", len(s.events[e.Root]), e.N)
		}
		if from := cmp.Or(s.told[e.Task], Pending); e.Type == StatusUpdate && from != e.Status && !slices.Contains(ways[from], e.Status) {
			s.t.Errorf("the protocol knows no way from %q to %s", from, e.Status)
		}
		s.told[e.Task] = e.Status
	}
	s.last = w
	s.check()
	return errs
}

// ways are the protocol's changes of state, and back when a task is executed again.
var ways = map[Status][]Status{
	Pending: {InProgress, Cancelled}, InProgress: {Completed, Failed, Cancelled},
	Failed: {Pending}, Cancelled: {Pending}, Completed: {Pending}, // executed again
}

// check checks what must always be so.
func (s *shelf) check() {
	s.t.Helper()
	open, size := map[ID]int{}, map[ID]int{}
	for _, r := range s.rows {
		size[r.Root]++
		if r.Phase.Asked() {
			open[r.Root]++
		}
		unmet, dead := 0, false
		for _, e := range s.needs {
			if e.Task == r.ID {
				d := s.rows[e.Needs]
				if !d.Phase.Ended() {
					unmet++
				} else if e.Required && d.Phase != PhaseComplete {
					dead = true
				}
			}
		}
		switch {
		case r.Phase == Waiting && (r.Unmet != unmet || unmet == 0 || dead):
			s.t.Errorf("%s waits for %d, of %d (one is dead: %v)", r.Name, r.Unmet, unmet, dead)
		case r.Phase == Running && (r.Node == "" || r.Started.IsZero() || r.Attempt == 0):
			s.t.Errorf("%s runs: %+v", r.Name, r)
		case r.Phase != Running && r.Node != "":
			s.t.Errorf("%s is of a node, in phase %d", r.Name, r.Phase)
		case r.Phase.Ended() == r.Completed.IsZero():
			s.t.Errorf("%s: phase %d, ended at %v", r.Name, r.Phase, r.Completed)
		case (r.Phase == PhaseFailed || r.Phase == PhaseCancelled) == (r.Error == ""):
			s.t.Errorf("%s: phase %d, error %q", r.Name, r.Phase, r.Error)
		case r.Status() == Pending && !r.Started.IsZero():
			s.t.Errorf("%s is pending and has started", r.Name)
		}
	}
	for id, r := range s.rows {
		if r.Parent == (ID{}) && (r.Open != open[id] || r.Size != size[id]) {
			s.t.Errorf("the root %s counts %d open of %d tasks, and has %d of %d", r.Name, r.Open, r.Size, open[id], size[id])
		}
		if r.Parent == (ID{}) && r.Events != uint64(len(s.events[id])) {
			s.t.Errorf("the root %s counts %d events of %d", r.Name, r.Events, len(s.events[id]))
		}
	}
}

// tree keeps the tasks of params, and returns their ids by name.
func (s *shelf) tree(params string, ask bool) map[string]ID {
	s.t.Helper()
	tasks, top, err := DecodeTasks(jsontext.Value(params), Reading{Now: s.now})
	if err != nil {
		s.t.Fatal(err)
	}
	ids := map[string]ID{}
	for _, t := range tasks {
		ids[t.Name], t.Executor = t.ID, "group"
	}
	if err := s.apply(&Change{Kind: Create, Root: top.ID, Tasks: tasks, Ask: ask})[0]; err != nil {
		s.t.Fatal(err)
	}
	return ids
}

const node = "0:1"

// at brings a task of its own tree to a phase, and returns it.
func (s *shelf) at(p Phase) ID {
	s.t.Helper()
	ids := s.tree(`{"tasks":[{"id":"r","name":"r"},{"id":"d","name":"d","parent_id":"r"},{"id":"t","name":"t","parent_id":"r","dependencies":["d"]}]}`, p != Idle)
	id, d, root := ids["t"], ids["d"], ids["r"]
	must := func(c *Change) {
		s.t.Helper()
		c.Root = root
		if c.Task == (ID{}) {
			c.Task = id
		}
		if err := s.apply(c)[0]; err != nil {
			s.t.Fatal(err)
		}
	}
	if p == Idle || p == Waiting {
		return id
	}
	if p == PhaseCancelled {
		must(&Change{Kind: Cancel, Message: "enough"})
		return id
	}
	must(&Change{Kind: Start, Task: d, Attempt: 1, Node: node})
	must(&Change{Kind: Finish, Task: d, Attempt: 1, Node: node, Outcome: PhaseComplete})
	switch p {
	case Held:
		must(&Change{Kind: Hold, Attempt: 1, Held: "h", Message: "ask"})
	case Running, Delayed, PhaseComplete, PhaseFailed:
		must(&Change{Kind: Start, Attempt: 1, Node: node})
	}
	switch p {
	case Delayed:
		must(&Change{Kind: TryAgain, Attempt: 1, Node: node, Message: "no", Due: s.now.Add(time.Minute)})
	case PhaseComplete, PhaseFailed:
		must(&Change{Kind: Finish, Attempt: 1, Node: node, Outcome: p, Message: "no"})
	}
	if s.rows[id].Phase != p {
		s.t.Fatalf("it came to phase %d, not %d", s.rows[id].Phase, p)
	}
	return id
}

var phases = []Phase{Idle, Waiting, Delayed, Ready, Held, Running, PhaseComplete, PhaseFailed, PhaseCancelled}

// Every change at every phase: the edges that exist, and those that must not.
func TestEdges(t *testing.T) {
	type step struct {
		name   string
		change Change
		to     map[Phase]Phase
	}
	// What is not in the list is refused, and leaves the task as it was.
	steps := []step{
		{"start", Change{Kind: Start, Attempt: 1, Node: node}, map[Phase]Phase{Ready: Running}},
		{"refuse", Change{Kind: Refuse, Attempt: 1, Node: node, Message: "denied"}, map[Phase]Phase{Ready: PhaseFailed}},
		{"hold", Change{Kind: Hold, Attempt: 1, Held: "h"}, map[Phase]Phase{Ready: Held}},
		{"release", Change{Kind: Release, Release: "h"}, map[Phase]Phase{Held: Ready}},
		{"release another", Change{Kind: Release, Release: "x"}, nil},
		{"complete", Change{Kind: Finish, Attempt: 1, Node: node, Outcome: PhaseComplete}, map[Phase]Phase{Running: PhaseComplete}},
		{"fail", Change{Kind: Finish, Attempt: 1, Node: node, Outcome: PhaseFailed, Message: "no"}, map[Phase]Phase{Running: PhaseFailed}},
		{"complete another attempt", Change{Kind: Finish, Attempt: 2, Node: node, Outcome: PhaseComplete}, nil},
		{"complete on another node", Change{Kind: Finish, Attempt: 1, Node: "0:2", Outcome: PhaseComplete}, nil},
		{"try again", Change{Kind: TryAgain, Attempt: 1, Node: node, Message: "no"}, map[Phase]Phase{Running: Delayed}},
		{"wake too soon", Change{Kind: Wake}, nil},
		{"wake", Change{Kind: Wake, At: time.Unix(1_900_000_000, 0)}, map[Phase]Phase{Delayed: Ready}},
		{"lose", Change{Kind: Lose, Attempt: 1, Node: node, Message: "gone"}, map[Phase]Phase{Running: Ready}},
		{"advance", Change{Kind: Advance, Attempt: 1, Node: node, Fraction: 0.5}, map[Phase]Phase{Running: Running}},
		{"cancel", Change{Kind: Cancel, Message: "enough"}, map[Phase]Phase{
			Idle: PhaseCancelled, Waiting: PhaseCancelled, Delayed: PhaseCancelled, Ready: PhaseCancelled, Held: PhaseCancelled, Running: PhaseCancelled,
		}},
		{"ask", Change{Kind: Ask}, map[Phase]Phase{PhaseFailed: Ready}}, // Idle: what it needs is not being executed
	}
	for _, st := range steps {
		for _, from := range phases {
			t.Run(fmt.Sprintf("%s at %d", st.name, from), func(t *testing.T) {
				s := newShelf(t)
				id := s.at(from)
				before := s.rows[id]
				c := st.change
				c.Task, c.Root = id, before.Root
				err := s.apply(&c)[0]
				want, exists := st.to[from]
				var wrong *Error
				switch got := s.rows[id].Phase; {
				case exists && (err != nil || got != want):
					t.Errorf("it came to phase %d (%v), want %d", got, err, want)
				case !exists && err == nil:
					t.Errorf("it was not refused, and came to phase %d", got)
				case !exists && !errors.Is(err, ErrMoved) && !errors.As(err, &wrong):
					t.Error(err)
				case !exists && s.rows[id] != before:
					t.Errorf("it was refused, and changed: %+v, was %+v", s.rows[id], before)
				}
			})
		}
	}
}

// Two changes of one batch: the first one wins.
func TestSameBatch(t *testing.T) {
	s := newShelf(t)
	id := s.at(Running)
	root := s.rows[id].Root
	errs := s.apply(
		&Change{Kind: Cancel, Task: id, Root: root, Message: "enough"},
		&Change{Kind: Finish, Task: id, Root: root, Attempt: 1, Node: node, Outcome: PhaseComplete},
	)
	if errs[0] != nil || !errors.Is(errs[1], ErrMoved) || s.rows[id].Phase != PhaseCancelled {
		t.Errorf("%v: phase %d", errs, s.rows[id].Phase)
	}
	if len(s.last.Stopped) != 1 || s.last.Stopped[0] != (Stopped{Task: id, Attempt: 1, Run: 1, Node: node}) {
		t.Errorf("stopped: %+v", s.last.Stopped)
	}
	id = s.at(Running)
	root = s.rows[id].Root
	errs = s.apply(
		&Change{Kind: Finish, Task: id, Root: root, Attempt: 1, Node: node, Outcome: PhaseComplete},
		&Change{Kind: Cancel, Task: id, Root: root, Message: "enough"},
	)
	var wrong *Error
	if errs[0] != nil || !errors.As(errs[1], &wrong) || wrong.Code != CodeTransition || s.rows[id].Phase != PhaseComplete {
		t.Errorf("%v: phase %d", errs, s.rows[id].Phase)
	}
}

// A task whose node dies again and again is taken for the cause.
func TestLosses(t *testing.T) {
	s := newShelf(t)
	id := s.at(Running)
	for i := range MaxLosses + 1 {
		r := s.rows[id]
		if err := s.apply(&Change{Kind: Lose, Task: id, Root: r.Root, Attempt: r.Attempt, Node: node, Message: "gone"})[0]; err != nil {
			t.Fatal(err)
		}
		r = s.rows[id]
		if want := i == MaxLosses; (r.Phase == PhaseFailed) != want {
			t.Fatalf("after %d losses it is in phase %d", i+1, r.Phase)
		}
		if r.Phase == Ready {
			s.apply(&Change{Kind: Start, Task: id, Root: r.Root, Attempt: r.Attempt + 1, Node: node})
		}
	}
}

// Random changes of random trees, in batches: what must always be so is so.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newShelf(t)
		n := 2 + r.IntN(12)
		list := `{"id":"t0","name":"t0"}`
		for i := 1; i < n; i++ {
			list += fmt.Sprintf(`,{"id":"t%d","name":"t%d","parent_id":"t%d","dependencies":[`, i, i, r.IntN(i))
			comma := ""
			for d := range i {
				if r.IntN(3) == 0 {
					list += fmt.Sprintf(`%s{"id":"t%d","required":%v}`, comma, d, r.IntN(3) > 0)
					comma = ","
				}
			}
			list += `]}`
		}
		ids := s.tree(`{"tasks":[`+list+`]}`, r.IntN(2) == 0)
		names := make([]ID, 0, n)
		for i := range n {
			names = append(names, ids[fmt.Sprint("t", i)])
		}
		root := names[0]
		pick := func() (Row, bool) {
			row, ok := s.rows[names[r.IntN(len(names))]]
			return row, ok
		}
		for range 150 {
			var batch []*Change
			for range 1 + r.IntN(4) {
				row, ok := pick()
				if !ok {
					continue
				}
				c := &Change{Task: row.ID, Root: root, Attempt: row.Attempt, Node: row.Node, Message: "so"}
				switch r.IntN(14) {
				case 0, 1, 2, 3:
					c.Kind, c.Attempt, c.Node = Start, row.Attempt+1, node
				case 4, 5, 6:
					c.Kind, c.Outcome = Finish, PhaseComplete
				case 7:
					c.Kind, c.Outcome = Finish, PhaseFailed
				case 8:
					c.Kind, c.Due = TryAgain, s.now
				case 9:
					c.Kind = Wake
				case 10:
					c.Kind = Lose
				case 11:
					c.Kind = []Kind{Hold, Cancel, Refuse, Delete}[r.IntN(4)]
					c.Attempt, c.Node, c.Held = row.Attempt+1, node, "h"
					if c.Kind == Hold {
						c.Node = ""
					}
				case 12:
					c.Kind, c.Release = Release, "h"
				case 13:
					c.Kind = Ask
					if r.IntN(3) == 0 {
						c.Task = root
					}
				}
				batch = append(batch, c)
			}
			for _, err := range s.apply(batch...) {
				var wrong *Error
				if err != nil && !errors.Is(err, ErrMoved) && !errors.As(err, &wrong) {
					t.Fatal(err)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		// Left alone, everything that was asked for ends.
		for range 40 * n {
			var c *Change
			for _, row := range s.rows {
				switch row.Phase {
				case Ready:
					c = &Change{Kind: Start, Attempt: row.Attempt + 1, Node: node}
				case Running:
					c = &Change{Kind: Finish, Attempt: row.Attempt, Node: row.Node, Outcome: PhaseComplete}
				case Held:
					c = &Change{Kind: Release, Release: row.Held}
				case Delayed:
					c = &Change{Kind: Wake, At: s.now.Add(time.Hour)}
				default:
					continue
				}
				c.Task, c.Root = row.ID, root
				break
			}
			if c == nil {
				break
			}
			if err := s.apply(c)[0]; err != nil {
				t.Fatal(err)
			}
		}
		if row, ok := s.rows[root]; ok && row.Open != 0 {
			t.Fatalf("seed %d: %d tasks never end", seed, row.Open)
		}
	}
}

// A required dependency that a later update would close into a circle.
func TestUpdate(t *testing.T) {
	s := newShelf(t)
	ids := s.tree(`{"tasks":[{"id":"a","name":"a"},{"id":"b","name":"b","parent_id":"a","dependencies":["a"]},{"id":"c","name":"c","parent_id":"b","dependencies":["b"]}]}`, false)
	change := func(name string, edit func(t *Task)) error {
		task := &Task{Row: s.rows[ids[name]]}
		for _, e := range s.needs {
			if e.Task == task.ID {
				task.Dependencies = append(task.Dependencies, Dependency{ID: e.Needs, Required: e.Required})
			}
		}
		edit(task)
		return s.apply(&Change{Kind: Update, Task: task.ID, Root: ids["a"], Tasks: []*Task{task}})[0]
	}
	code := func(err error) int {
		var wrong *Error
		if errors.As(err, &wrong) {
			return wrong.Code
		}
		return 0
	}
	if err := change("a", func(t *Task) { t.Dependencies = []Dependency{{ID: ids["c"], Required: true}} }); code(err) != CodeCircular {
		t.Errorf("a circle of three: %v", err)
	}
	if err := change("a", func(t *Task) { t.Dependencies = []Dependency{{ID: ids["a"]}} }); code(err) != CodeCircular {
		t.Errorf("a task that needs itself: %v", err)
	}
	if err := change("b", func(t *Task) { t.Parent = ids["c"] }); code(err) != CodeTree {
		t.Errorf("a task under itself: %v", err)
	}
	if err := change("c", func(t *Task) { t.Dependencies = []Dependency{{ID: NewID(s.now)}} }); code(err) != CodeNeeds {
		t.Errorf("a dependency that is not there: %v", err)
	}
	if err := change("c", func(t *Task) { t.Name, t.Priority = "see", 0 }); err != nil || s.rows[ids["c"]].Name != "see" {
		t.Errorf("a new name: %v", err)
	}
	if err := s.apply(&Change{Kind: Ask, Task: ids["a"], Root: ids["a"]})[0]; err != nil {
		t.Fatal(err)
	}
	if err := change("c", func(t *Task) { t.Dependencies = nil }); code(err) != CodeTransition {
		t.Errorf("dependencies changed while it is executed: %v", err)
	}
	if err := change("c", func(t *Task) { t.User = "else" }); code(err) != CodeTransition {
		t.Errorf("the user changed while it is executed: %v", err)
	}
}
