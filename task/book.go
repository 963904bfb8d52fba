package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/words"
)

// Book applies changes, in order, to the tasks of one transaction. It is the one
// place where a task's phase changes.
type Book struct {
	more    func(Load) (*Loaded, error)
	rows    map[ID]*Row
	fresh   map[ID]*Task  // made in this book
	needed  map[ID][]Edge // by what is needed; complete for the keys it has
	added   map[ID][]Edge // of tasks made in this book, by what they need
	changed map[ID]bool
	order   []*Row        // changed rows, in the order of their first change
	counted map[*Row]bool // of order, those of which only what a root counts has changed
	deleted map[ID]bool
	ready   []*Row
	w       Writes
}

// NewBook returns a Book over what was loaded. more loads what a cascade needs beyond.
func NewBook(loaded *Loaded, l Load, more func(Load) (*Loaded, error)) *Book {
	b := &Book{
		more: more, rows: make(map[ID]*Row, len(loaded.Rows)), fresh: map[ID]*Task{}, needed: map[ID][]Edge{}, added: map[ID][]Edge{},
		changed: map[ID]bool{}, counted: map[*Row]bool{}, deleted: map[ID]bool{},
	}
	b.take(loaded, l)
	return b
}

// take adds what was loaded; rows that are known already have the newer word.
func (b *Book) take(loaded *Loaded, l Load) {
	roots := make(map[ID]bool, len(l.Trees))
	for _, root := range l.Trees {
		roots[root] = true
	}
	complete := make(map[ID]bool)
	for i := range loaded.Rows {
		r := &loaded.Rows[i]
		if b.rows[r.ID] == nil && !b.deleted[r.ID] {
			b.rows[r.ID] = r
		}
		if roots[r.Root] && b.needed[r.ID] == nil {
			complete[r.ID] = true
		}
	}
	for _, id := range l.Dependents {
		if b.needed[id] == nil {
			complete[id] = true
		}
	}
	for id := range complete {
		b.needed[id] = append([]Edge{}, b.added[id]...)
	}
	for _, e := range loaded.Edges {
		if complete[e.Needs] && !b.deleted[e.Task] {
			b.needed[e.Needs] = append(b.needed[e.Needs], e)
		}
	}
}

// dependents returns the edges of those that wait for a task.
func (b *Book) dependents(id ID) ([]Edge, error) {
	if b.needed[id] == nil {
		l := Load{Dependents: []ID{id}}
		loaded, err := b.more(l)
		if err != nil {
			return nil, err
		}
		b.take(loaded, l)
	}
	return b.needed[id], nil
}

// know loads the dependents of many tasks at once.
func (b *Book) know(list []*Row) error {
	var l Load
	for _, r := range list {
		if b.needed[r.ID] == nil {
			l.Dependents = append(l.Dependents, r.ID)
		}
	}
	if len(l.Dependents) == 0 {
		return nil
	}
	loaded, err := b.more(l)
	if err == nil {
		b.take(loaded, l)
	}
	return err
}

// Apply makes one change. decision is the position of the record that it comes
// with. After an *Error or ErrMoved nothing was changed; after any other error
// the book is of no more use. ErrBroken says that what is stored of the tasks
// makes no sense: whoever applies the changes of others leaves this one out, and
// begins a new book.
func (b *Book) Apply(c *Change, decision string) (err error) {
	// Rows come from a disk that others can write. Whatever they say, it costs the
	// change that is about them, and not the process that has everybody's.
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrBroken, broken)
		}
	}()
	return b.apply(c, decision)
}

func (b *Book) apply(c *Change, decision string) error {
	switch c.Kind {
	case Create:
		return b.create(c)
	case Ask:
		return b.ask(c)
	case Trigger:
		return b.trigger(c)
	case Cancel:
		return b.cancel(c)
	case Update:
		return b.update(c)
	case Delete:
		return b.delete(c)
	}
	r, root := b.rows[c.Task], b.rows[c.Root]
	if r == nil || root == nil {
		return ErrMoved
	}
	if r.Root != root.ID || root.Parent != (ID{}) {
		return fmt.Errorf("%w: %s is not in the tree of %s", ErrBroken, r.ID, root.ID)
	}
	switch c.Kind {
	case Start, Refuse:
		if r.Phase != Ready || c.Attempt != r.Attempt+1 {
			return ErrMoved
		}
		r.Attempt, r.Node, r.Due = c.Attempt, c.Node, time.Time{}
		if r.Started.IsZero() {
			r.Started = c.At
		}
		r.Decision = decision
		if c.Judged != nil {
			b.w.Texts = append(b.w.Texts, Text{Task: r.ID, Judged: c.Judged})
		}
		b.set(r, root, Running, c.At, "")
		if c.Kind == Refuse {
			return b.end(r, root, PhaseFailed, c.At, c.Message)
		}
	case Hold:
		if r.Phase != Ready || c.Attempt != r.Attempt+1 {
			return ErrMoved
		}
		r.Held, r.Decision = c.Held, decision
		b.set(r, root, Held, c.At, c.Message)
	case Release:
		if r.Phase != Held || r.Held != c.Release {
			return ErrMoved
		}
		b.set(r, root, Ready, c.At, "")
	case Wake:
		if r.Phase != Delayed || c.At.Before(r.Due) {
			return ErrMoved
		}
		b.set(r, root, Ready, c.At, "")
	case Finish, TryAgain, Lose, Advance:
		if r.Phase != Running || c.Attempt != r.Attempt || c.Node != r.Node {
			return ErrMoved
		}
		return b.ran(c, r, root, decision)
	default:
		return fmt.Errorf("task: change %d is not known", c.Kind)
	}
	return nil
}

// ran is what becomes of a task that is running.
func (b *Book) ran(c *Change, r, root *Row, decision string) error {
	switch c.Kind {
	case Finish:
		r.Outcome = decision
		if c.Result != nil {
			b.w.Texts = append(b.w.Texts, Text{Task: r.ID, Result: c.Result})
		}
		return b.end(r, root, c.Outcome, c.At, c.Message)
	case TryAgain:
		r.Failures++
		r.Due, r.Node = c.Due, ""
		r.Outcome = decision
		b.set(r, root, Delayed, c.At, c.Message)
	case Lose:
		r.Node = ""
		if r.Losses++; r.Losses > MaxLosses {
			return b.end(r, root, PhaseFailed, c.At, fmt.Sprintf("The node that executed it was lost %d times.", r.Losses))
		}
		b.w.Stopped = append(b.w.Stopped, Stopped{Task: r.ID, Attempt: c.Attempt, Run: r.Run, Node: c.Node})
		b.set(r, root, Ready, c.At, c.Message)
	case Advance:
		if c.Fraction >= 0 {
			r.Progress = min(c.Fraction, 1)
		}
		r.Updated = c.At
		b.mark(r)
		b.tell(r, root, ProgressUpdate, c.At, c.Message)
	}
	return nil
}

// MaxLosses is how often a task's node may die before the task is taken for the cause.
const MaxLosses = 5

// arrows are the changes of phase that exist.
var arrows = map[Phase][]Phase{
	Idle:           {Waiting, Ready, PhaseCancelled},
	Waiting:        {Ready, PhaseCancelled},
	Ready:          {Running, Held, PhaseCancelled},
	Held:           {Ready, PhaseCancelled},
	Running:        {PhaseComplete, PhaseFailed, PhaseCancelled, Delayed, Ready},
	Delayed:        {Ready, PhaseCancelled},
	PhaseComplete:  {Waiting, Ready},
	PhaseFailed:    {Waiting, Ready},
	PhaseCancelled: {Waiting, Ready},
}

// set moves a task to a phase and tells so. The arrows are checked: a mistake of
// ours must not become a task that was cancelled and completes.
func (b *Book) set(r, root *Row, to Phase, at time.Time, message string) {
	if !slices.Contains(arrows[r.Phase], to) {
		panic(fmt.Sprintf("no arrow leads from phase %d to %d", r.Phase, to)) // which Apply makes an error
	}
	before, asked := r.Status(), r.Phase.Asked()
	r.Phase, r.Updated = to, at
	if to != Held && to != Ready { // who is ready again is started with what people said
		r.Held = ""
	}
	if to.Asked() && !asked {
		root.Open++
	} else if asked && !to.Asked() {
		root.Open--
	}
	b.mark(r)
	b.count(root)
	if to == Ready {
		b.ready = append(b.ready, r)
	}
	if r.Status() != before || message != "" && !to.Ended() || to == Running {
		b.tell(r, root, StatusUpdate, at, message)
	}
}

// tell adds an event to a tree.
func (b *Book) tell(r, root *Row, t EventType, at time.Time, message string) {
	root.Events++
	b.count(root)
	b.w.Events = append(b.w.Events, Event{
		Root: root.ID, Task: r.ID, N: root.Events, Type: t, At: at, Status: r.Status(), Progress: r.Progress, Message: message,
	})
}

// mark notes that a row is to be written.
func (b *Book) mark(r *Row) {
	delete(b.counted, r)
	if !b.changed[r.ID] {
		b.changed[r.ID] = true
		b.order = append(b.order, r)
	}
}

// count notes that what a row counts is to be written.
func (b *Book) count(r *Row) {
	if !b.changed[r.ID] {
		b.changed[r.ID] = true
		b.order = append(b.order, r)
		b.counted[r] = true
	}
}

var ends = map[Phase]EventType{PhaseComplete: TaskCompleted, PhaseFailed: TaskFailed, PhaseCancelled: TaskCancelled}

// end ends a task, and releases those that wait for it or ends them, too.
func (b *Book) end(r, root *Row, to Phase, at time.Time, message string) error {
	list := []*Row{r}
	b.ending(r, root, to, at, message)
	for len(list) > 0 {
		r := list[0]
		list = list[1:]
		edges, err := b.dependents(r.ID)
		if err != nil {
			return err
		}
		for _, e := range edges {
			d := b.rows[e.Task]
			if d == nil || d.Phase != Waiting {
				continue
			}
			if e.Required && r.Phase != PhaseComplete {
				d.Cascade = true
				b.ending(d, root, PhaseCancelled, at, unmet(r))
				list = append(list, d)
				continue
			}
			d.Unmet--
			b.count(d)
			if d.Unmet <= 0 {
				b.set(d, root, Ready, at, "")
			}
		}
	}
	return nil
}

// needsTask begins what is said of a task whose dependency did not complete.
const needsTask = "It needs the task"

// NeededFailed reports whether a task was cancelled since something that it rests on failed,
// by what is said of it.
func NeededFailed(said string) bool {
	return strings.HasPrefix(said, needsTask) && strings.HasSuffix(said, " failed.")
}

// unmet says why a task cannot run.
func unmet(r *Row) string {
	if r.Phase == PhaseCancelled && r.Cascade && strings.HasPrefix(r.Error, needsTask) {
		return r.Error // what ended that one says more
	}
	return fmt.Sprintf(needsTask+" %q (%s), which %s.", r.Name, r.ID, map[Phase]string{
		PhaseFailed: "failed", PhaseCancelled: "was cancelled",
	}[r.Phase])
}

// ending writes down how one task ended.
func (b *Book) ending(r, root *Row, to Phase, at time.Time, message string) {
	if r.Phase == Running && to == PhaseCancelled {
		b.w.Stopped = append(b.w.Stopped, Stopped{Task: r.ID, Attempt: r.Attempt, Run: r.Run, Node: r.Node})
	}
	r.Error, r.Unmet, r.Node, r.Due = "", 0, "", time.Time{}
	switch to {
	case PhaseComplete:
		r.Progress = 1
	default:
		r.Error = words.Cut(cmp.Or(message, "It failed."), MaxError)
	}
	r.Completed = at
	b.set(r, root, to, at, r.Error)
	b.tell(r, root, ends[to], at, r.Error)
}

// again makes a task that has ended, or never ran, one that is executed.
func (b *Book) again(r, root *Row, unmet int, at time.Time) {
	if r.Run > 0 {
		b.w.Texts = append(b.w.Texts, Text{Task: r.ID, Clear: true})
	}
	r.Run++
	r.Attempt, r.Failures, r.Losses = 0, 0, 0
	r.Unmet, r.Node, r.Due, r.Held, r.Cascade = unmet, "", time.Time{}, "", false
	r.Progress, r.Error, r.Started, r.Completed = 0, "", time.Time{}, time.Time{}
	r.Decision, r.Outcome = "", ""
	if unmet > 0 {
		b.set(r, root, Waiting, at, "")
	} else {
		b.set(r, root, Ready, at, "")
	}
}

// otherTree is what is said of a dependency on what is elsewhere, or nowhere.
const otherTree = "No task with this id is in the tree, and a task depends on tasks of its own tree only: make it part of the tree of what it needs, with that task, or one above it, as its parent_id."

// create inserts tasks, all of one tree.
func (b *Book) create(c *Change) error {
	in := make(map[ID]*Task, len(c.Tasks))
	for _, t := range c.Tasks {
		if b.rows[t.ID] != nil || b.deleted[t.ID] {
			return &Error{Code: CodeInvalid, Field: "id", Task: t.ID.String(), Reason: "A task with this id exists."}
		}
		in[t.ID] = t
	}
	root := b.rows[c.Root]
	if t := in[c.Root]; t != nil {
		root = &t.Row
	} else if root == nil || root.Parent != (ID{}) {
		return ErrMoved
	}
	if root.Size+len(c.Tasks) > MaxTree {
		return &Error{Code: CodeTree, Reason: fmt.Sprintf("The tree would have more than %d tasks.", MaxTree)}
	}
	for _, t := range c.Tasks {
		if p := b.rows[t.Parent]; t.ID != c.Root && in[t.Parent] == nil && (p == nil || p.Root != c.Root) {
			return &Error{Code: CodeParent, Field: "parent_id", Task: t.Parent.String(), Reason: "No task with this id is in the tree."}
		}
		for i, d := range t.Dependencies {
			r := b.rows[d.ID]
			if in[d.ID] != nil {
				continue
			}
			if r == nil || r.Root != c.Root {
				return &Error{Code: CodeNeeds, Field: fmt.Sprintf("dependencies[%d].id", i), Task: d.ID.String(), Reason: otherTree}
			}
			if c.Ask && (r.Phase == Idle || d.Required && r.Phase.Ended() && r.Phase != PhaseComplete) {
				return unexecuted(t.ID, t.Name, r)
			}
		}
	}
	if err := b.depth(c, in); err != nil {
		return err
	}
	for _, t := range c.Tasks {
		r := &t.Row
		// A change is applied again when another came between: nothing may be left
		// of the first time.
		*r = Row{
			ID: r.ID, Root: c.Root, Parent: r.Parent, User: r.User, Name: r.Name, Executor: r.Executor, Priority: r.Priority,
			Next: r.Next, Created: c.At, Updated: c.At, Phase: r.Phase, Started: r.Started, Completed: r.Completed, Progress: r.Progress,
		}
		if !r.Phase.Ended() { // else it is linked, or in an archive
			r.Phase, r.Started, r.Progress = Idle, time.Time{}, 0
		}
		b.rows[r.ID], b.fresh[r.ID] = r, t
		b.needed[r.ID] = []Edge{}
		b.changed[r.ID] = true // inserted, not written over
		b.w.New = append(b.w.New, t)
	}
	for _, t := range c.Tasks {
		for _, d := range t.Dependencies {
			e := Edge{Task: t.ID, Needs: d.ID, Required: d.Required}
			b.added[d.ID] = append(b.added[d.ID], e)
			if b.needed[d.ID] != nil {
				b.needed[d.ID] = append(b.needed[d.ID], e)
			}
		}
	}
	root.Size += len(c.Tasks)
	b.count(root)
	if s := b.rows[c.References]; s != nil && !s.References {
		s.References = true
		b.mark(s)
	}
	b.push(c)
	if !c.Ask {
		return nil
	}
	for _, t := range c.Tasks {
		if t.Phase.Ended() {
			continue
		}
		unmet := 0
		for _, d := range t.Dependencies {
			if !b.rows[d.ID].Phase.Ended() {
				unmet++
			}
		}
		b.again(&t.Row, root, unmet, c.At)
	}
	return nil
}

// unexecuted is said of a task that would wait for one that is not going to complete.
func unexecuted(id ID, name string, d *Row) error {
	return &Error{Code: CodeDependency, Task: id.String(), Reason: fmt.Sprintf("The task %q depends on %q (%s), which is %s and not being executed.", name, d.Name, d.ID, d.Status())}
}

// depth refuses tasks that would make a tree deeper than MaxDepth. How deep they are
// themselves was checked when they were read.
func (b *Book) depth(c *Change, in map[ID]*Task) error {
	levels := map[ID]int{} // of the new ones, the topmost being 1
	most := 0
	for _, t := range c.Tasks { // parents come before their children, or are counted from where they are known
		n := 1
		for p := in[t.Parent]; p != nil && n <= MaxDepth; p = in[p.Parent] {
			if levels[p.ID] > 0 {
				n += levels[p.ID]
				break
			}
			n++
		}
		levels[t.ID] = n
		most = max(most, n)
	}
	above := 0
	for _, t := range c.Tasks {
		if in[t.Parent] == nil && t.Parent != (ID{}) {
			n, err := b.above(t.Parent)
			if err != nil {
				return err
			}
			above = max(above, n)
		}
	}
	if above+most > MaxDepth {
		return tooDeep
	}
	return nil
}

var tooDeep = &Error{Code: CodeTree, Reason: fmt.Sprintf("The tree would have more than %d levels.", MaxDepth)}

// above counts the levels from a task up to its root, itself included.
func (b *Book) above(id ID) (n int, err error) {
	for id != (ID{}) && n <= MaxDepth {
		if b.rows[id] == nil {
			l := Load{Tasks: []ID{id}}
			loaded, err := b.more(l)
			if err != nil {
				return 0, err
			}
			b.take(loaded, l)
		}
		r := b.rows[id]
		if r == nil {
			break
		}
		n++
		id = r.Parent
	}
	return n, nil
}

func (b *Book) push(c *Change) {
	if c.Push != nil {
		c.Push.Sent = b.rows[c.Root].Events
		b.w.Pushes = append(b.w.Pushes, *c.Push)
	}
}

// scope is what of a tree an execution is about.
type scope struct {
	rows  []*Row        // all of the tree, each after what it needs
	in    map[ID]bool   // asked for
	needs map[ID][]Edge // by who needs
}

// scope gathers a task and all under it, within its tree.
func (b *Book) scope(c *Change) (*scope, error) {
	s := &scope{in: map[ID]bool{}, needs: map[ID][]Edge{}}
	children, waits := map[ID][]*Row{}, map[ID]int{}
	var tree []*Row
	for _, r := range b.rows {
		if r.Root == c.Root {
			tree = append(tree, r)
		}
	}
	slices.SortFunc(tree, func(a, b *Row) int { return slices.Compare(a.ID[:], b.ID[:]) })
	for _, r := range tree {
		children[r.Parent] = append(children[r.Parent], r)
		for _, e := range b.needed[r.ID] {
			s.needs[e.Task] = append(s.needs[e.Task], e)
			waits[e.Task]++
		}
	}
	var next []*Row
	for _, r := range tree {
		if waits[r.ID] == 0 {
			next = append(next, r)
		}
	}
	for len(next) > 0 {
		r := next[0]
		next = next[1:]
		s.rows = append(s.rows, r)
		for _, e := range b.needed[r.ID] {
			if d := b.rows[e.Task]; d == nil || d.Root != c.Root {
				return nil, fmt.Errorf("%w: %s, which needs %s, is not in its tree", ErrBroken, e.Task, r.ID)
			}
			if waits[e.Task]--; waits[e.Task] == 0 {
				next = append(next, b.rows[e.Task])
			}
		}
	}
	if len(s.rows) < len(tree) {
		return nil, &Error{Code: CodeCircular, Reason: "The stored tree depends on itself."}
	}
	list := []*Row{b.rows[c.Task]}
	for len(list) > 0 {
		r := list[0]
		list = list[1:]
		if s.in[r.ID] {
			return nil, fmt.Errorf("%w: %s is under itself", ErrBroken, r.ID)
		}
		s.in[r.ID] = true
		list = append(list, children[r.ID]...)
	}
	return s, nil
}

// ask executes a tree, or the part under a task. Of what was executed before
// only that runs again which did not complete, and what depends on it.
func (b *Book) ask(c *Change) error {
	task, root := b.rows[c.Task], b.rows[c.Root]
	if task == nil || root == nil {
		return &Error{Code: CodeNotFound, Task: c.Task.String()}
	}
	s, err := b.scope(c)
	if err != nil {
		return err
	}
	runs := map[ID]int{}  // what runs, and how many dependencies it waits for
	dead := map[ID]bool{} // what does not, since what it needs was cancelled
	var stay []*Row       // of these, those that never ran
	for _, r := range s.rows {
		if s.in[r.ID] && r.Phase.Asked() {
			return &Error{Code: CodeExecuting, Task: r.ID.String(), Reason: fmt.Sprintf("The task %q is being executed.", r.Name)}
		}
		want := s.in[r.ID] && (r.Phase == Idle || r.Phase == PhaseFailed || r.Phase == PhaseCancelled && r.Cascade)
		unmet, blocked := 0, false
		for _, e := range s.needs[r.ID] {
			d := b.rows[e.Needs]
			if _, again := runs[d.ID]; again {
				if r.Phase.Asked() { // it must not be given a result that is about to change
					return &Error{Code: CodeExecuting, Task: r.ID.String(), Reason: fmt.Sprintf("The task %q, which depends on %q, is being executed.", r.Name, d.Name)}
				}
				// What rests on a result that is made anew is made anew.
				want = want || r.Phase != Idle && (r.Phase != PhaseCancelled || r.Cascade)
				unmet++
			} else if d.Phase.Asked() {
				unmet++
			} else if dead[d.ID] {
				blocked = blocked || e.Required
			} else if d.Phase == Idle || e.Required && d.Phase != PhaseComplete {
				if s.in[r.ID] && want && !s.in[d.ID] {
					return unexecuted(r.ID, r.Name, d)
				}
				blocked = true
			}
		}
		switch {
		case !want || !r.Executes():
		case !blocked:
			runs[r.ID] = unmet
		default:
			dead[r.ID] = true
			if r.Phase == Idle {
				stay = append(stay, r)
			}
		}
	}
	if len(runs) == 0 {
		return &Error{
			Code: CodeTransition, Task: task.ID.String(),
			Reason: fmt.Sprintf("Nothing of it is to be executed: it is %s. Copy it to execute it once more.", task.Status()),
		}
	}
	for _, r := range s.rows {
		if unmet, ok := runs[r.ID]; ok {
			b.again(r, root, unmet, c.At)
		}
	}
	for _, r := range stay { // after what they need
		for _, e := range s.needs[r.ID] {
			if d := b.rows[e.Needs]; e.Required && d.Phase != PhaseComplete && d.Phase.Ended() {
				r.Cascade = true
				b.ending(r, root, PhaseCancelled, c.At, unmet(d))
				break
			}
		}
	}
	b.push(c)
	return nil
}

// runAgain is when a run is tried again that was due while the one before went on.
const runAgain = time.Second

// trigger executes all that a schedule is about once more, also what completed.
func (b *Book) trigger(c *Change) error {
	task, root := b.rows[c.Task], b.rows[c.Root]
	if task == nil || root == nil || !task.Next.Equal(c.Due) {
		return ErrMoved
	}
	s, err := b.scope(c)
	if err != nil {
		return err
	}
	busy := false
	// What a task of the scope needs belongs to it, too.
	for _, r := range slices.Backward(s.rows) {
		if s.in[r.ID] {
			busy = busy || r.Phase.Asked()
			for _, e := range s.needs[r.ID] {
				s.in[e.Needs] = true
			}
			for _, e := range b.needed[r.ID] { // who waits for the results of the run before
				busy = busy || b.rows[e.Task].Phase.Asked()
			}
		}
	}
	task.Next = c.Next
	task.Updated = c.At
	b.mark(task)
	if busy && !c.Drop {
		task.Next = c.At.Add(runAgain)
	}
	if busy || c.Skip {
		return nil
	}
	if c.Last {
		task.Next = time.Time{}
	}
	task.LastRun = c.Due
	task.Runs++
	for _, r := range s.rows {
		if !s.in[r.ID] || !r.Executes() {
			continue
		}
		unmet := 0
		for _, e := range s.needs[r.ID] {
			if b.rows[e.Needs].Executes() {
				unmet++
			}
		}
		b.again(r, root, unmet, c.At)
	}
	return nil
}

// cancel ends a task, and everything under it, that has not ended.
func (b *Book) cancel(c *Change) error {
	task, root := b.rows[c.Task], b.rows[c.Root]
	if task == nil || root == nil {
		return &Error{Code: CodeNotFound, Task: c.Task.String()}
	}
	var list []*Row
	under := map[ID]bool{task.ID: true}
	children := map[ID][]*Row{}
	for _, r := range b.rows {
		if r.Root == c.Root {
			children[r.Parent] = append(children[r.Parent], r)
		}
	}
	for next := []*Row{task}; len(next) > 0; next = next[1:] {
		r := next[0]
		if !r.Phase.Ended() {
			list = append(list, r)
		}
		for _, child := range children[r.ID] {
			if !under[child.ID] {
				under[child.ID] = true
				next = append(next, child)
			}
		}
	}
	if len(list) == 0 {
		return &Error{Code: CodeTransition, Task: task.ID.String(), Reason: fmt.Sprintf("It has ended: it is %s.", task.Status())}
	}
	if task.Schedule() {
		task.Next = time.Time{}
		b.mark(task)
	}
	if err := b.know(list); err != nil {
		return err
	}
	for _, r := range list {
		if !r.Phase.Ended() { // else it has meanwhile, since what it needs was cancelled
			if err := b.end(r, root, PhaseCancelled, c.At, c.Message); err != nil {
				return err
			}
		}
		r.Cascade = c.Again
		b.mark(r)
	}
	return nil
}

// Schedule reports whether the task is going to be executed by its schedule.
func (r *Row) Schedule() bool { return !r.Next.IsZero() }

// update replaces a task's definition. What it has done stays.
func (b *Book) update(c *Change) error {
	t := c.Tasks[0]
	r, root := b.rows[c.Task], b.rows[c.Root]
	if r == nil || root == nil {
		return &Error{Code: CodeNotFound, Task: c.Task.String()}
	}
	if !r.Updated.Equal(t.Updated) {
		return ErrMoved // what was changed is not what the client's change was checked with
	}
	if r.Phase.Asked() {
		field := ""
		switch {
		case t.Parent != r.Parent:
			field = "parent_id"
		case t.User != r.User:
			field = "user_id"
		case t.Executor != r.Executor:
			field = "schemas"
		case !slices.Equal(t.Dependencies, b.dependencies(r.ID, t.Dependencies)):
			field = "dependencies"
		}
		if field != "" {
			return &Error{Code: CodeTransition, Field: "updates." + field, Task: r.ID.String(), Reason: "It cannot be changed while the task is being executed."}
		}
	}
	if t.Parent != r.Parent {
		p := b.rows[t.Parent]
		if p == nil || p.Root != r.Root {
			return &Error{Code: CodeParent, Field: "updates.parent_id", Task: t.Parent.String(), Reason: "No task with this id is in the tree, and a task does not change its tree: make it anew under that parent."}
		}
		for n := 0; p != nil; p = b.rows[p.Parent] {
			if n++; n > len(b.rows) {
				return fmt.Errorf("%w: %s is under itself", ErrBroken, p.ID)
			}
			if p.ID == r.ID {
				return &Error{Code: CodeTree, Field: "updates.parent_id", Task: r.ID.String(), Reason: "A task cannot be under itself."}
			}
		}
		above, err := b.above(t.Parent)
		if err != nil {
			return err
		}
		if above+b.height(r.ID) > MaxDepth {
			return tooDeep
		}
	}
	for i, d := range t.Dependencies {
		if n := b.rows[d.ID]; n == nil || n.Root != r.Root {
			return &Error{Code: CodeNeeds, Field: fmt.Sprintf("updates.dependencies[%d].id", i), Task: d.ID.String(), Reason: otherTree}
		}
		if cycle := b.path(r.ID, d.ID); cycle != nil {
			e := &Error{Code: CodeCircular, Field: fmt.Sprintf("updates.dependencies[%d].id", i), Task: r.ID.String()}
			for _, id := range cycle {
				e.Cycle = append(e.Cycle, id.String())
			}
			return e
		}
	}
	for needs, list := range b.needed {
		b.needed[needs] = slices.DeleteFunc(list, func(e Edge) bool { return e.Task == r.ID })
	}
	for _, d := range t.Dependencies {
		b.needed[d.ID] = append(b.needed[d.ID], Edge{Task: r.ID, Needs: d.ID, Required: d.Required})
	}
	r.Name, r.Priority, r.Executor, r.User, r.Parent, r.Next = t.Name, t.Priority, t.Executor, t.User, t.Parent, t.Next
	r.Updated = c.At
	b.mark(r)
	changed := *t
	changed.Row = *r
	b.w.Redefined = append(b.w.Redefined, &changed)
	return nil
}

// height counts the levels from a task of a loaded tree down to the lowest under it. A
// circle, which only a damaged tree has, counts as too deep.
func (b *Book) height(id ID) int {
	children := map[ID][]ID{}
	for _, r := range b.rows {
		children[r.Parent] = append(children[r.Parent], r.ID)
	}
	n := 0
	for level := []ID{id}; len(level) > 0 && n <= MaxDepth; n++ {
		var next []ID
		for _, id := range level {
			next = append(next, children[id]...)
		}
		level = next
	}
	return n
}

// dependencies returns what a task needs, in the order of a list that may hold the same.
func (b *Book) dependencies(id ID, like []Dependency) (list []Dependency) {
	has := map[Dependency]bool{}
	for needs, edges := range b.needed {
		for _, e := range edges {
			if e.Task == id {
				has[Dependency{ID: needs, Required: e.Required}] = true
			}
		}
	}
	for _, d := range like {
		if has[d] {
			list = append(list, d)
			delete(has, d)
		}
	}
	for d := range has {
		list = append(list, d)
	}
	return list
}

// path returns the way from one task to another along who waits for whom, such
// that the other's needing the one closes a circle: from, …, to, from. nil if there is none.
func (b *Book) path(from, to ID) []ID {
	if from == to {
		return []ID{from, from}
	}
	came := map[ID]ID{from: {}}
	for next := []ID{from}; len(next) > 0; next = next[1:] {
		for _, e := range b.needed[next[0]] {
			if _, seen := came[e.Task]; seen {
				continue
			}
			came[e.Task] = next[0]
			if e.Task == to {
				way := []ID{from}
				for id := to; id != from; id = came[id] {
					way = append(way, id)
				}
				return append(way, from) // from needs to needs … needs from
			}
			next = append(next, e.Task)
		}
	}
	return nil
}

// delete removes a task that was never executed.
func (b *Book) delete(c *Change) error {
	task, root := b.rows[c.Task], b.rows[c.Root]
	if task == nil || root == nil {
		return &Error{Code: CodeNotFound, Task: c.Task.String()}
	}
	refuse := func(r *Row, reason string) error {
		return &Error{Code: CodeDelete, Task: r.ID.String(), Reason: reason}
	}
	under := map[ID]bool{task.ID: true}
	children := map[ID][]*Row{}
	for _, r := range b.rows {
		children[r.Parent] = append(children[r.Parent], r)
	}
	list := []*Row{task}
	for i := 0; i < len(list); i++ {
		for _, r := range children[list[i].ID] {
			if !under[r.ID] {
				under[r.ID] = true
				list = append(list, r)
			}
		}
	}
	if err := b.know(list); err != nil {
		return err
	}
	if len(list) > 1 && !c.Whole {
		return refuse(task, "It has children.")
	}
	for _, r := range list {
		if r.Phase.Asked() || r.Status() != Pending {
			return refuse(r, fmt.Sprintf("The task %q is %s: only tasks that are pending, and not being executed, can be deleted.", r.Name, r.Status()))
		}
		edges, err := b.dependents(r.ID)
		if err != nil {
			return err
		}
		for _, e := range edges {
			if !under[e.Task] {
				return refuse(r, fmt.Sprintf("The task %s depends on it.", e.Task))
			}
		}
	}
	for _, r := range list {
		delete(b.rows, r.ID)
		delete(b.needed, r.ID)
		b.deleted[r.ID] = true
		b.w.Deleted = append(b.w.Deleted, r.ID)
	}
	gone := func(e Edge) bool { return under[e.Task] }
	for needs := range b.needed {
		b.needed[needs] = slices.DeleteFunc(b.needed[needs], gone)
	}
	for needs := range b.added {
		b.added[needs] = slices.DeleteFunc(b.added[needs], gone)
	}
	if !under[root.ID] {
		root.Size -= len(list)
		b.count(root)
	}
	return nil
}

// Writes returns what all changes together make of the stored tasks.
func (b *Book) Writes() *Writes {
	w := &b.w
	w.Rows, w.Counted = w.Rows[:0], b.counted
	for _, r := range b.order {
		if !b.deleted[r.ID] && b.fresh[r.ID] == nil {
			w.Rows = append(w.Rows, r)
		}
	}
	w.New = slices.DeleteFunc(w.New, func(t *Task) bool { return b.deleted[t.ID] })
	w.Ready = w.Ready[:0]
	seen := map[ID]bool{}
	for _, r := range b.ready {
		if r.Phase == Ready && !seen[r.ID] && !b.deleted[r.ID] {
			seen[r.ID] = true
			w.Ready = append(w.Ready, r)
		}
	}
	return w
}
