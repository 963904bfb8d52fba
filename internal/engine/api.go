package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// notFound is what is said of tasks that do not exist, and of those of others.
func notFound(id task.ID) error {
	return &task.Error{Code: task.CodeNotFound, Task: id.String(), Reason: "There is no such task."}
}

// Get returns a task.
func (e *Engine) Get(ctx context.Context, by Caller, id task.ID) (*task.Task, error) {
	t, err := e.cfg.Store.Task(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && !by.Sees(t.User) {
		return nil, notFound(id)
	}
	return t, err
}

// Row returns what of a task changes.
func (e *Engine) Row(ctx context.Context, by Caller, id task.ID) (task.Row, error) {
	r, err := e.cfg.Store.TaskRow(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && !by.Sees(r.User) {
		return task.Row{}, notFound(id)
	}
	return r, err
}

// List returns the tasks that a query selects, without their results, and Count how
// many there are.
func (e *Engine) List(ctx context.Context, by Caller, q task.Query) ([]*task.Task, error) {
	if !e.confine(by, &q) {
		return nil, nil
	}
	list, err := e.cfg.Store.Tasks(ctx, q)
	e.sayEach(list)
	return list, err
}

// brokenText is what callers are told of a task whose definition is damaged.
const brokenText = "What is stored of the task is damaged. An operator finds more in the log."

// sayEach tells of those tasks of a list that are damaged, in the log and in what is shown.
func (e *Engine) sayEach(list []*task.Task) {
	for _, t := range list {
		if t.Broken != nil {
			e.sayBroken(t)
			t.Error = brokenText
		}
	}
}

// sayBroken tells the log of a damaged task, each once.
func (e *Engine) sayBroken(t *task.Task) {
	const most = 1000 // then all is said once more
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken[t.ID] {
		return
	}
	if e.broken == nil || len(e.broken) >= most {
		e.broken = map[task.ID]bool{}
	}
	e.broken[t.ID] = true
	e.cfg.Logger.Error("a task in the database is damaged: it is not executed", "task", t.ID.String(), "error", t.Broken)
}

// Count counts the tasks that a query selects.
func (e *Engine) Count(ctx context.Context, by Caller, q task.Query) (int, error) {
	if !e.confine(by, &q) {
		return 0, nil
	}
	return e.cfg.Store.CountTasks(ctx, q)
}

// confine makes a query one of the caller's own tasks; false when it asks for
// another's.
func (e *Engine) confine(by Caller, q *task.Query) bool {
	if by.everybody() {
		return true
	}
	q.User = by.own(q.User)
	if q.User != "" && q.User != by.User {
		return false
	}
	q.User = by.User
	return true
}

// wholeTree is how many bytes of a tree's texts are read at once. Of what goes
// beyond only what is short is told.
const wholeTree = 32 << 20

// Tree returns a task and everything under it, parents before their children. Of a
// tree with very large texts, the inputs, params and results of some are left out.
func (e *Engine) Tree(ctx context.Context, by Caller, id task.ID) ([]*task.Task, error) {
	rows, err := e.rowsUnder(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return e.whole(ctx, rows, func(t *task.Task) {})
}

// rowsUnder returns the rows of a task and of what is under it, parents first.
func (e *Engine) rowsUnder(ctx context.Context, by Caller, id task.ID) ([]*task.Row, error) {
	r, err := e.Row(ctx, by, id)
	if err != nil {
		return nil, err
	}
	all, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Root: r.Root})
	if err != nil {
		return nil, err
	}
	list := under(all, id)
	if len(list) == 0 {
		return nil, notFound(id) // it was deleted in between
	}
	return list, nil
}

// under returns a task's row of a tree and those under it, parents first.
func under(tree []task.Row, id task.ID) (list []*task.Row) {
	children := make(map[task.ID][]*task.Row, len(tree))
	for i := range tree {
		r := &tree[i]
		if r.ID == id {
			list = append(list, r)
		}
		children[r.Parent] = append(children[r.Parent], r)
	}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].ID]...)
	}
	return list
}

// whole reads the tasks of rows, in their order, a few at a time. brief takes from
// each what is not wanted.
func (e *Engine) whole(ctx context.Context, rows []*task.Row, brief func(t *task.Task)) (list []*task.Task, err error) {
	const few = 25
	place := make(map[task.ID]int, len(rows))
	for i, r := range rows {
		place[r.ID] = i
	}
	size := 0
	for some := range slices.Chunk(rows, few) {
		ids := make([]task.ID, len(some))
		for i, r := range some {
			ids[i] = r.ID
		}
		tasks, err := e.cfg.Store.TasksOf(ctx, ids)
		if err != nil {
			return nil, err
		}
		e.sayEach(tasks)
		for _, t := range tasks {
			brief(t)
			if size > wholeTree {
				t.Inputs, t.Params, t.Schemas, t.Result, t.Judged, t.Extra = nil, nil, nil, nil, nil, nil
			}
			size += len(t.Inputs) + len(t.Params) + len(t.Schemas) + len(t.Result) + len(t.Judged) + len(t.Extra)
		}
		list = append(list, tasks...)
	}
	slices.SortFunc(list, func(a, b *task.Task) int { return place[a.ID] - place[b.ID] })
	return list, nil
}

// Events returns events of a tree that come after one.
func (e *Engine) Events(ctx context.Context, by Caller, root task.ID, after uint64, limit int) ([]task.Event, error) {
	if _, err := e.Row(ctx, by, root); err != nil {
		return nil, err
	}
	return e.cfg.Store.TaskEvents(ctx, root, after, limit)
}

// Running reports whether a task is being executed on this node.
func (e *Engine) Running(id task.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.running[id]
	return a != nil && a.begun.Load()
}

// Making says how tasks come to be.
type Making struct {
	Request jsontext.Value // what was asked, for the record
	Execute bool           // at once
	Push    *task.Push     // whom to tell
	Method  string         // of the protocol, for the record; empty means tasks.create
	// References is the task that these were copied or linked from.
	References task.ID
}

// Create keeps new tasks, all of one tree, and executes them if that is asked for.
// top is the one whose parent is none of them. It returns the root of their tree.
func (e *Engine) Create(ctx context.Context, by Caller, tasks []*task.Task, top *task.Task, m Making) (root task.ID, err error) {
	if err := by.acts(); err != nil {
		return task.ID{}, err
	}
	for _, t := range tasks {
		t.User = by.own(t.User)
	}
	now := e.cfg.Now()
	root = top.ID
	if top.Parent != (task.ID{}) {
		parent, err := e.Row(ctx, by, top.Parent)
		if err != nil {
			return root, &task.Error{Code: task.CodeParent, Field: "parent_id", Task: top.Parent.String(), Reason: "There is no such task."}
		}
		if top.User == "" {
			top.User = parent.User
		}
		if top.User != parent.User {
			return root, mixed("user_id")
		}
		root = parent.Root
	}
	if top.User == "" && !by.everybody() {
		top.User = by.User // before the others, of which any may stand first
	}
	var carried carries
	for i, t := range tasks {
		if t.User == "" {
			t.User = top.User
		}
		if !by.everybody() && t.User != by.User {
			return root, &task.Error{Code: task.CodeUnauthorized, Field: "user_id", Reason: notYours}
		}
		if t.User != top.User {
			return root, mixed("user_id")
		}
		t.Executor = cmp.Or(t.Executor, Group)
		t.Origin = cmp.Or(t.Origin, task.OriginCreate)
		t.Root = root
		t.Leave = by.leave(t.User)
		if t.Schedule.Enabled && !(t.Schedule.Bounded && t.Schedule.MaxRuns == 0) {
			field := ""
			if len(tasks) > 1 {
				field = fmt.Sprintf("tasks[%d].", i)
			}
			if t.Next, err = t.Schedule.First(now, field); err != nil {
				return root, err
			}
		}
		original, err := e.refer(ctx, by, t)
		if err != nil {
			return root, err
		}
		carried.add(t, original)
	}
	for _, t := range tasks {
		if m.Execute && !e.executable(&t.Row) {
			return root, missing(cmp.Or(t.ClientID, t.ID.String()), t.Executor)
		}
	}
	if err := e.fits(tasks); err != nil {
		return root, err
	}
	c := &task.Change{Kind: task.Create, Root: root, At: now, Tasks: tasks, Ask: m.Execute, Push: m.Push, References: m.References}
	if c.Push != nil {
		c.Push.ID, c.Push.Root, c.Push.Created, c.Push.Due = task.NewID(now), root, now, now
	}
	made, err := e.reserve(ctx, by, len(tasks), sizeOf(tasks...))
	if err != nil {
		return root, err
	}
	details := map[string]string{"root": root.String(), "tasks": fmt.Sprint(len(tasks))}
	_, err = e.record(ctx, cmp.Or(m.Method, "tasks.create"), by.Principal, m.Request, details, c, carried...)
	made(err == nil)
	return root, err
}

// notYours is what is said of a task that would be another's.
const notYours = "Tasks belong to whoever makes them: leave user_id out, or give the subject of your credential."

// mixed is said of a tree that would be of several users: who sees its root sees
// all of it.
func mixed(field string) error {
	return &task.Error{Code: task.CodeInvalid, Field: field, Reason: "All tasks of a tree belong to one user."}
}

// refer makes a task what its origin says: a link or an archive has completed, and
// has the result of what it refers to. original is nil where it refers to none.
func (e *Engine) refer(ctx context.Context, by Caller, t *task.Task) (original *task.Task, err error) {
	if t.Original == (task.ID{}) {
		return nil, nil
	}
	original, err = e.Get(ctx, by, t.Original)
	var wrong *task.Error
	if errors.As(err, &wrong) {
		return nil, &task.Error{Code: task.CodeSchema, Field: "original_task_id", Task: t.Original.String(), Reason: "There is no such task."}
	}
	if err != nil {
		return nil, err
	}
	if t.Origin == task.OriginLink || t.Origin == task.OriginArchive {
		if original.Phase != task.PhaseComplete {
			return nil, &task.Error{
				Code: task.CodeSchema, Field: "original_task_id", Task: t.Original.String(),
				Reason: fmt.Sprintf("Only what has completed can be the source of a %s; it is %s.", t.Origin, original.Status()),
			}
		}
		if t.Schedule.Enabled {
			return nil, &task.Error{Code: task.CodeSchema, Field: "schedule_enabled", Reason: fmt.Sprintf("A %s is never executed.", t.Origin)}
		}
		t.Executor = ""
		t.Phase, t.Started, t.Completed, t.Progress, t.Result = task.PhaseComplete, original.Started, original.Completed, 1, original.Result
	}
	return original, nil
}

// maxCarried bounds the trees that new tasks are made of: of any further it is not looked up
// what they have read.
const maxCarried = 32

// carries are what new tasks have of those that they were made of, by these ones' trees.
type carries []guard.Carried

// add adds what a new task has of its original, where that is in another tree.
func (c *carries) add(t, original *task.Task) {
	if original == nil || original.Root == t.Root && original.User == t.User {
		return
	}
	from := SessionOf(original.User, original.Root)
	i := slices.IndexFunc(*c, func(one guard.Carried) bool { return one.From == from })
	switch {
	case i >= 0:
	case len(*c) < maxCarried:
		*c, i = append(*c, guard.Carried{From: from}), len(*c)
	case len(*c) == maxCarried: // of none that is known, and it has read anything
		*c, i = append(*c, guard.Carried{Began: true}), len(*c)
	default:
		i = maxCarried
	}
	one := &(*c)[i]
	one.Began = one.Began || !original.Started.IsZero()
	for _, part := range []jsontext.Value{t.Inputs, t.Params, t.Result} {
		if len(part) > 0 {
			one.Texts = append(one.Texts, string(part))
		}
	}
}

// executable reports whether a task could be executed here, or need not be.
func (e *Engine) executable(r *task.Row) bool {
	_, _, ok := e.cfg.Executors.Get(r.Executor)
	return ok || r.Executor == Group || !r.Executes() || r.Phase == task.PhaseComplete
}

func missing(id, executor string) error {
	return &task.Error{Code: task.CodeExecutor, Field: "schemas.method", Task: id, Reason: noExecutor(executor)}
}

// fits reports whether inputs that are whole already fit their executor. What
// depends on others' results is looked at when these are there.
func (e *Engine) fits(tasks []*task.Task) error {
	for i, t := range tasks {
		_, d, ok := e.cfg.Executors.Get(t.Executor)
		if wrong := literal(&d, t); wrong != nil {
			return wrong
		}
		if !ok || len(t.Dependencies) > 0 || len(task.References(t.Inputs)) > 0 {
			continue
		}
		if wrong := whole(&d, t.Inputs); wrong != nil {
			if len(tasks) > 1 {
				wrong.Field = fmt.Sprintf("tasks[%d].%s", i, wrong.Field)
			}
			return wrong
		}
	}
	return nil
}

// Fits reports whether inputs fit an executor, as far as that can be told before it is their
// turn: later says that results of other tasks will stand among them.
func Fits(d *executor.Description, id string, inputs jsontext.Value, later bool) *task.Error {
	t := &task.Task{ClientID: id, Inputs: inputs}
	if wrong := literal(d, t); wrong != nil || later {
		return wrong
	}
	wrong := whole(d, inputs)
	if wrong != nil {
		wrong.Task = id
	}
	return wrong
}

// whole checks inputs to which nothing is added any more.
func whole(d *executor.Description, inputs jsontext.Value) *task.Error {
	if inputs == nil {
		inputs = jsontext.Value("{}")
	}
	return task.CheckInputs(d.InputSchema, inputs)
}

// literal refuses results of other tasks inside a program's text: whoever made the
// result would write the program.
func literal(d *executor.Description, t *task.Task) *task.Error {
	if len(d.Literal) == 0 || t.Inputs == nil {
		return nil
	}
	doc, err := rawjson.Parse(t.Inputs)
	if err != nil {
		return nil // it is looked at when it is resolved
	}
	for _, name := range d.Literal {
		if v := doc.Root().Get(name); v.Kind() == rawjson.String && len(task.References(v.Raw())) > 0 {
			return &task.Error{
				Code: task.CodeInvalid, Field: "inputs." + name, Task: cmp.Or(t.ClientID, t.ID.String()),
				Reason: "A result of another task inside this text could be a program of its own. Write an array of arguments, or give the result by env or stdin.",
			}
		}
	}
	return nil
}

// Execute executes a tree that exists, or the part under a task. It returns the root.
func (e *Engine) Execute(ctx context.Context, by Caller, id task.ID, m Making) (root task.ID, err error) {
	if err := by.acts(); err != nil {
		return id, err
	}
	root = id
	err = e.alone(ctx, id, func() error {
		list, err := e.rowsUnder(ctx, by, id)
		if err != nil {
			return err
		}
		r := list[0]
		root = r.Root
		for _, x := range list {
			if !e.executable(x) {
				return missing(x.ID.String(), x.Executor)
			}
		}
		now := e.cfg.Now()
		c := &task.Change{Kind: task.Ask, Task: id, Root: r.Root, At: now, Push: m.Push}
		if c.Push != nil {
			c.Push.ID, c.Push.Root, c.Push.Created, c.Push.Due = task.NewID(now), r.Root, now, now
		}
		_, err = e.record(ctx, "tasks.execute", by.Principal, m.Request, links(&task.Task{Row: *r}), c)
		return err
	})
	return root, err
}

// changeFor is how long a change is tried that others keep coming before: on this
// node only what the executor says does, and else other nodes.
const changeFor = 10 * time.Second

// alone makes a change of a task while no other call of this node changes it, and
// makes it anew when the task has moved on meanwhile.
func (e *Engine) alone(ctx context.Context, id task.ID, change func() error) error {
	unlock, err := e.changes.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	until := time.Now().Add(changeFor)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := change()
		if !errors.Is(err, task.ErrMoved) {
			return err
		}
		if time.Now().After(until) {
			return moved(id)
		}
		select {
		case <-time.After(rand.N(pause) + pause/2):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// moved is said when others keep changing a task at the same time.
func moved(id task.ID) error {
	return &task.Error{Code: task.CodeTransition, Task: id.String(), Reason: "Others are changing the task at the same time. Try again."}
}

// Cancel ends a task that has not ended, and everything under it. again: what is
// cancelled goes on when the task is executed again.
func (e *Engine) Cancel(ctx context.Context, by Caller, id task.ID, why string, again bool) (task.Row, error) {
	if err := by.acts(); err != nil {
		return task.Row{}, err
	}
	r, err := e.Row(ctx, by, id)
	if err != nil {
		return r, err
	}
	_, err = e.record(ctx, "tasks.cancel", by.Principal, nil, links(&task.Task{Row: r}, "reason", why),
		&task.Change{Kind: task.Cancel, Task: id, Root: r.Root, At: e.cfg.Now(), Message: cmp.Or(why, "Cancelled by user"), Again: again})
	if err != nil {
		return r, err
	}
	return e.Row(ctx, by, id)
}

// Update changes a task's definition, as change makes it from what there is.
func (e *Engine) Update(ctx context.Context, by Caller, id task.ID, request jsontext.Value, change func(t *task.Task) (*task.Task, error)) (to *task.Task, err error) {
	if err := by.acts(); err != nil {
		return nil, err
	}
	err = e.alone(ctx, id, func() error {
		to, err = e.update(ctx, by, id, request, change)
		return err
	})
	return to, err
}

// update makes one try of a change of a task's definition.
func (e *Engine) update(ctx context.Context, by Caller, id task.ID, request jsontext.Value, change func(t *task.Task) (*task.Task, error)) (*task.Task, error) {
	t, err := e.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if t.Origin == task.OriginArchive {
		return nil, &task.Error{Code: task.CodeTransition, Task: id.String(), Reason: "It is in an archive, and does not change."}
	}
	to, err := change(t)
	if err != nil {
		return nil, err
	}
	to.User = by.own(to.User)
	to.Leave = by.leave(to.User)
	if to.Executor = cmp.Or(to.Executor, Group); t.Origin == task.OriginLink {
		if to.Executor = ""; to.Schedule.Enabled {
			return nil, &task.Error{Code: task.CodeSchema, Field: "updates.schedule_enabled", Task: id.String(), Reason: "A link is never executed."}
		}
	}
	if to.User != t.User && !by.everybody() {
		return nil, &task.Error{Code: task.CodeUnauthorized, Field: "updates.user_id", Reason: notYours}
	}
	if to.User != t.User {
		if root, err := e.cfg.Store.TaskRow(ctx, t.Root); err != nil || root.Size > 1 {
			return nil, cmp.Or(err, mixed("updates.user_id"))
		}
	}
	if err := e.fits([]*task.Task{to}); err != nil {
		return nil, err
	}
	now := e.cfg.Now()
	if to.Schedule != t.Schedule {
		to.Next = time.Time{}
		if to.Schedule.Enabled && !(to.Schedule.Bounded && to.Runs >= to.Schedule.MaxRuns) {
			if to.Next, err = to.Schedule.First(now, "updates."); err != nil {
				return nil, err
			}
		}
	}
	made, err := e.reserve(ctx, by, 0, max(0, sizeOf(to)-sizeOf(t)))
	if err != nil {
		return nil, err
	}
	var carried carries
	carried.add(to, t) // to another user, of whom the tree then is
	_, err = e.record(ctx, "tasks.update", by.Principal, request, links(t),
		&task.Change{Kind: task.Update, Task: id, Root: t.Root, At: now, Tasks: []*task.Task{to}}, carried...)
	made(err == nil)
	if err == nil && !to.Next.IsZero() {
		e.wakeTimers()
	}
	return to, err
}

// Delete removes a task that was never executed; whole: with everything under it.
func (e *Engine) Delete(ctx context.Context, by Caller, id task.ID, whole bool) error {
	if err := by.acts(); err != nil {
		return err
	}
	r, err := e.Row(ctx, by, id)
	if err != nil {
		return err
	}
	_, err = e.record(ctx, "tasks.delete", by.Principal, nil, links(&task.Task{Row: r}),
		&task.Change{Kind: task.Delete, Task: id, Root: r.Root, At: e.cfg.Now(), Whole: whole})
	return err
}

// Copying says what is made of a task that is copied.
type Copying struct {
	Children bool   // with everything under it
	Origin   string // copy, link or archive; empty means copy
	Dry      bool   // only say what would be made
	Request  jsontext.Value
}

// Copy makes new tasks of one that exists. Of a root, or as a link or an archive, it
// is a new tree; else the copy stands beside the original. What a copy in a tree of
// its own depends on is copied, too. tasks[0] is the copy of the task itself.
func (e *Engine) Copy(ctx context.Context, by Caller, id task.ID, how Copying) (tasks []*task.Task, err error) {
	if err := by.acts(); err != nil && !how.Dry {
		return nil, err
	}
	original, err := e.Row(ctx, by, id)
	if err != nil {
		return nil, err
	}
	apart := original.Parent == (task.ID{}) || how.Origin == task.OriginLink || how.Origin == task.OriginArchive
	list, err := e.copied(ctx, &original, how.Children, apart)
	if err != nil {
		return nil, err
	}
	ids := make(map[task.ID]task.ID, len(list))
	for i, made := range task.NewIDs(e.cfg.Now(), len(list)) {
		ids[list[i].ID] = made
	}
	for i, t := range list {
		c, err := copyOf(t, ids)
		if err != nil {
			return nil, err
		}
		c.Origin = cmp.Or(how.Origin, task.OriginCopy)
		switch parent, copied := ids[t.Parent]; {
		case copied:
			c.Parent = parent
		case i > 0:
			c.Parent = ids[id]
		case !apart:
			c.Parent = t.Parent
		}
		tasks = append(tasks, c)
	}
	if how.Dry {
		return tasks, nil
	}
	_, err = e.Create(ctx, by, tasks, tasks[0], Making{Request: how.Request, Method: "tasks.copy", References: id})
	return tasks, err
}

// copied are the tasks that are copied with one: itself, with children those under it, and
// in a tree apart all that they depend on.
func (e *Engine) copied(ctx context.Context, original *task.Row, children, apart bool) (list []*task.Task, err error) {
	rows, err := e.cfg.Store.TaskRows(ctx, task.RowQuery{Root: original.Root})
	if err != nil {
		return nil, err
	}
	all := make([]*task.Row, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	size := 0
	tree, err := e.whole(ctx, all, func(t *task.Task) {
		t.Result, t.Judged = nil, nil
		size += len(t.Inputs) + len(t.Params) + len(t.Schemas) + len(t.Extra)
	})
	if err != nil {
		return nil, err
	}
	id := original.ID
	if size > wholeTree {
		return nil, &task.Error{Code: task.CodeTree, Task: id.String(), Reason: fmt.Sprintf("The definitions of its tree have %d bytes, and %d can be copied.", size, wholeTree)}
	}
	byID := make(map[task.ID]*task.Task, len(tree))
	for _, t := range tree {
		if t.Broken != nil {
			return nil, t.Broken
		}
		byID[t.ID] = t
	}
	if byID[id] == nil {
		return nil, notFound(id)
	}
	list = []*task.Task{byID[id]}
	if children {
		for _, r := range under(rows, id)[1:] {
			list = append(list, byID[r.ID])
		}
	}
	in := make(map[task.ID]bool, len(list))
	for _, t := range list {
		in[t.ID] = true
	}
	for i := 0; apart && i < len(list); i++ { // the list grows
		for _, d := range list[i].Dependencies {
			if !in[d.ID] {
				in[d.ID] = true
				list = append(list, byID[d.ID])
			}
		}
	}
	return list, nil
}

// copyOf is a task as it was before it ran, under its new id, and what it takes from others
// that are copied with it under theirs.
func copyOf(t *task.Task, ids map[task.ID]task.ID) (*task.Task, error) {
	c := *t
	c.Row = task.Row{ID: ids[t.ID], User: t.User, Name: t.Name, Executor: t.Executor, Priority: t.Priority}
	c.Result, c.Judged = nil, nil
	c.Original = t.ID
	c.Schedule.Enabled = false // two of the same schedule are seldom meant
	c.Dependencies = slices.Clone(t.Dependencies)
	for k := range c.Dependencies {
		if to, copied := ids[c.Dependencies[k].ID]; copied {
			c.Dependencies[k].ID = to
		}
	}
	if t.Inputs == nil {
		return &c, nil
	}
	var err error
	c.Inputs, err = task.Rename(t.Inputs, func(ref string) string {
		if old, err := task.ParseID(ref); err == nil && ids[old] != (task.ID{}) {
			return ids[old].String()
		}
		return ref
	})
	return &c, err
}

// record makes a change of tasks durable with a record of what was done, and by whom.
func (e *Engine) record(ctx context.Context, what string, by act.Principal, request []byte, details map[string]string, c *task.Change, carried ...guard.Carried) (act.Position, error) {
	tree := guard.SessionName{}
	if len(c.Tasks) > 0 {
		tree = SessionOf(c.Tasks[0].User, c.Root)
	}
	return e.cfg.Guard.RecordTask(ctx, &guard.Note{Kind: what, Door: "flow", By: by, Details: details, Request: request}, c, tree, carried...)
}
