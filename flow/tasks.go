package flow

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// named is one of several tasks that were made.
type named struct {
	ID       task.ID     `json:"id"`
	ClientID string      `json:"client_id,omitzero"`
	Status   task.Status `json:"status,omitzero"`
}

// create answers tasks.create.
func (s *Server) create(ctx context.Context, c *call) ([]byte, error) {
	o, err := s.options(c)
	if err != nil {
		return nil, err
	}
	tasks, top, err := s.decode(c, o.user)
	if err != nil {
		return nil, err
	}
	root, err := s.cfg.Engine.Create(ctx, c.by, tasks, top, engine.Making{Request: c.request()})
	if err != nil {
		return nil, err
	}
	if c.a2a {
		return s.a2a(c, top, top.ID, names(tasks, top))
	}
	answer := struct {
		ID     task.ID     `json:"id"`
		Status task.Status `json:"status"`
		Root   task.ID     `json:"root_task_id"`
		Tasks  []named     `json:"tasks,omitempty"`
	}{ID: top.ID, Status: top.Status(), Root: root}
	answer.Tasks = names(tasks, top)
	return json.Marshal(&answer)
}

// names are the ids of what was made, where a client cannot know them.
func names(tasks []*task.Task, top *task.Task) (list []named) {
	if len(tasks) > 1 || top.ClientID != "" {
		for _, t := range tasks {
			list = append(list, named{t.ID, t.ClientID, t.Status()})
		}
	}
	return list
}

// decode reads the tasks of a call; user is whose those are that do not say so.
func (s *Server) decode(c *call, user string) (tasks []*task.Task, top *task.Task, err error) {
	params := c.r.Params
	if !params.Exists() {
		return nil, nil, invalid("params", "There are no params.", "a task, or an array of tasks")
	}
	tasks, top, err = task.DecodeTasks(jsontext.Value(params.Raw()), task.Reading{Now: s.cfg.Now()})
	if err != nil {
		return nil, nil, err
	}
	if user != "" && top.Parent == (task.ID{}) {
		for _, t := range tasks {
			t.User = cmp.Or(t.User, top.User, user)
		}
	}
	// What an admin makes is the admin's, as everybody's is, unless it says whose.
	if c.by.Admin && top.Parent == (task.ID{}) {
		for _, t := range tasks {
			t.User = cmp.Or(t.User, top.User, c.by.User)
		}
	}
	return tasks, top, nil
}

// request is what was asked, for the record: without the headers of a push
// notification, which are secrets of somebody else.
func (c *call) request() jsontext.Value {
	raw := jsontext.Value(c.r.Params.Raw())
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return nil
	}
	headers := doc.Root().Get("configuration").Get("push_notification_config").Get("headers")
	if !headers.Exists() {
		return raw
	}
	masked, err := doc.Splice([]rawjson.Replacement{{At: headers, With: []byte(`"***"`)}})
	if err != nil {
		return nil
	}
	return masked
}

// get answers tasks.get.
func (s *Server) get(ctx context.Context, c *call) ([]byte, error) {
	id := c.params.id("task_id", "id")
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	t, err := s.cfg.Engine.Get(ctx, c.by, id)
	if err != nil {
		return nil, err
	}
	if c.a2a {
		return s.a2a(c, t, t.ID, nil)
	}
	return task.AppendJSON(nil, t, task.Form{}), nil
}

// update answers tasks.update. Clients of the upstream send what is to change
// beside the task's id, others in updates.
func (s *Server) update(ctx context.Context, c *call) ([]byte, error) {
	id := c.params.id("task_id", "id")
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	updates, beside := jsontext.Value(c.r.Params.Get("updates").Raw()), false
	if updates == nil {
		updates, beside = othersThan(c.r.Params, "task_id", "id", "metadata", "configuration"), true
	}
	if updates == nil {
		return nil, invalid("updates", "There is nothing to change.", "an object with the fields to change")
	}
	changed, err := s.cfg.Engine.Update(ctx, c.by, id, c.request(), func(t *task.Task) (*task.Task, error) {
		return task.DecodeUpdates(t, updates)
	})
	if wrong, ok := err.(*task.Error); ok && beside {
		told := *wrong
		told.Field = strings.TrimPrefix(told.Field, "updates.")
		return nil, &told
	}
	if err != nil {
		return nil, err
	}
	if c.a2a {
		return s.a2a(c, changed, id, nil)
	}
	return json.Marshal(&named{ID: id, Status: changed.Status()})
}

// othersThan is an object of the members that do not have one of some names, nil
// when there are none.
func othersThan(v rawjson.Value, names ...string) jsontext.Value {
	var out []byte
	for name, m := range v.Members() {
		if slices.Contains(names, name) {
			continue
		}
		out = append(out, ',')
		out = rawjson.AppendString(out, name)
		out = append(append(out, ':'), m.Raw()...)
	}
	if out == nil {
		return nil
	}
	out[0] = '{'
	return append(out, '}')
}

// delete answers tasks.delete.
func (s *Server) delete(ctx context.Context, c *call) ([]byte, error) {
	id := c.params.id("task_id", "id")
	cascade, children := c.params.flag("cascade", false), c.params.flag("delete_children", false)
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	if err := s.cfg.Engine.Delete(ctx, c.by, id, cascade || children); err != nil {
		return nil, err
	}
	return []byte(`{"success":true}`), nil
}

// list answers tasks.list.
func (s *Server) list(ctx context.Context, c *call) ([]byte, error) {
	q := task.Query{User: c.params.text("user_id", task.MaxName), Status: c.params.status("status"), Roots: c.params.flag("root_only", false)}
	c.params.page(&q)
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	tasks, err := s.brief(ctx, c.by, q)
	if err != nil {
		return nil, err
	}
	total, err := s.cfg.Engine.Count(ctx, c.by, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Tasks  jsontext.Value `json:"tasks"`
		Total  int            `json:"total"`
		Limit  int            `json:"limit"`
		Offset int            `json:"offset"`
	}{appendList(nil, tasks), max(total, len(tasks)), q.Limit, q.Offset}, asChecked)
}

// fewTasks are read at once: what a list leaves out of each may have megabytes.
const fewTasks = 25

// brief returns the tasks that a query selects, without what may be large. A task
// that is made meanwhile moves the others on, and none is returned twice for that.
func (s *Server) brief(ctx context.Context, by engine.Caller, q task.Query) (list []*task.Task, err error) {
	seen := make(map[task.ID]bool, q.Limit)
	for limit := q.Limit; len(list) < limit; q.Offset += q.Limit {
		q.Limit = min(fewTasks, limit-len(list))
		page, err := s.cfg.Engine.List(ctx, by, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if seen[t.ID] {
				continue
			}
			seen[t.ID] = true
			t.Inputs, t.Params, t.Schemas, t.Extra, t.Judged = nil, nil, nil, nil, nil
			list = append(list, t)
		}
		if len(page) < q.Limit {
			break
		}
	}
	return list, nil
}

// asChecked is for JSON that was checked when it came.
var asChecked = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// appendList appends tasks as an array, in brief.
func appendList(dst []byte, tasks []*task.Task) []byte {
	dst = append(dst, '[')
	for i, t := range tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = task.AppendJSON(dst, t, task.Form{Brief: true})
	}
	return append(dst, ']')
}

// count answers tasks.count: how many tasks there are in each state.
func (s *Server) count(ctx context.Context, c *call) ([]byte, error) {
	q := task.Query{User: c.params.text("user_id", task.MaxName), Roots: c.params.flag("root_only", false)}
	statuses := task.Statuses
	if v, _ := c.params.get("statuses"); v.Exists() {
		if statuses = nil; v.Kind() != rawjson.Array || v.Len() > len(task.Statuses) {
			c.params.fail("statuses", "The value is no list of states.", "an array of: "+statusExpected)
		}
		for _, item := range v.Elems() {
			statuses = append(statuses, c.params.statusOf(item, "statuses"))
		}
	}
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	counts, total := map[string]any{}, 0
	for _, status := range statuses {
		q.Status = status
		n, err := s.cfg.Engine.Count(ctx, c.by, q)
		if err != nil {
			return nil, err
		}
		if _, twice := counts[string(status)]; !twice {
			total += n
		}
		counts[string(status)] = n
	}
	counts["total"] = total
	if q.User != "" {
		counts["user_id"] = q.User
	}
	if q.Roots {
		counts["root_only"] = true
	}
	return json.Marshal(counts, json.Deterministic(true))
}

// tree answers tasks.tree.
func (s *Server) tree(ctx context.Context, c *call) ([]byte, error) {
	id := c.params.id("task_id", "root_id", "root_task_id")
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	select {
	case s.trees <- struct{}{}:
		defer func() { <-s.trees }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tasks, err := s.cfg.Engine.Tree(ctx, c.by, id)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 { // it was deleted in between
		return nil, &task.Error{Code: task.CodeNotFound, Task: id.String(), Reason: noSuchTask}
	}
	w := treeWriter{children: childrenOf(tasks)}
	w.node(tasks[0])
	return w.dst, nil
}

func childrenOf(tasks []*task.Task) map[task.ID][]*task.Task {
	children := make(map[task.ID][]*task.Task, len(tasks))
	for _, t := range tasks[1:] {
		children[t.Parent] = append(children[t.Parent], t)
	}
	return children
}

// wholeTree is how many bytes of a tree are told whole; what goes beyond is told in
// brief, and has a member that says so.
const wholeTree = 16 << 20

// treeWriter writes a tree. Its depth is bounded by task.MaxDepth.
type treeWriter struct {
	dst      []byte
	children map[task.ID][]*task.Task
}

func (w *treeWriter) node(t *task.Task) {
	w.dst = append(w.dst, `{"task":`...)
	w.task(t)
	w.dst = append(w.dst, `,"children":[`...)
	for i, child := range w.children[t.ID] {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.node(child)
	}
	w.dst = append(w.dst, "]}"...)
}

func (w *treeWriter) task(t *task.Task) {
	if brief := len(w.dst) > wholeTree; brief {
		w.dst = task.AppendJSON(w.dst, t, task.Form{Brief: true})
		w.dst = append(w.dst[:len(w.dst)-1], `,"abridged":true}`...)
		return
	}
	w.dst = task.AppendJSON(w.dst, t, task.Form{})
}

// flat writes a task with its children as one more member of it, as tasks.clone does.
func (w *treeWriter) flat(t *task.Task) {
	w.task(t)
	w.dst = append(w.dst[:len(w.dst)-1], `,"children":[`...)
	for i, child := range w.children[t.ID] {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.flat(child)
	}
	w.dst = append(w.dst, "]}"...)
}

// children answers tasks.children, the oldest first.
func (s *Server) children(ctx context.Context, c *call) ([]byte, error) {
	id := c.params.id("parent_id", "task_id")
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	if _, err := s.cfg.Engine.Row(ctx, c.by, id); err != nil {
		return nil, err
	}
	all, err := s.brief(ctx, c.by, task.Query{Parent: id, Limit: task.MaxTree})
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	return append(appendList([]byte(`{"children":`), all), '}'), nil
}

// copy answers tasks.copy.
func (s *Server) copy(ctx context.Context, c *call) ([]byte, error) {
	id, children := c.params.id("task_id", "id"), c.params.flag("copy_children", false)
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	tasks, err := s.cfg.Engine.Copy(ctx, c.by, id, engine.Copying{Children: children, Request: c.request()})
	if err != nil {
		return nil, err
	}
	if c.a2a {
		return s.a2a(c, tasks[0], tasks[0].ID, nil)
	}
	return json.Marshal(struct {
		Original task.ID     `json:"original_task_id"`
		Copied   task.ID     `json:"copied_task_id"`
		Status   task.Status `json:"status"`
		Root     task.ID     `json:"root_task_id"`
	}{id, tasks[0].ID, tasks[0].Status(), tasks[0].Root})
}

// clone answers tasks.clone, the upstream's way to copy, to link and to put into an
// archive.
func (s *Server) clone(ctx context.Context, c *call) ([]byte, error) {
	const origins = "copy, link or archive"
	p := c.params
	id := p.id("task_id", "id")
	how := engine.Copying{Origin: p.text("origin_type", task.MaxName), Children: p.flag("recursive", true), Dry: !p.flag("save", true), Request: c.request()}
	if !slices.Contains([]string{"", task.OriginCopy, task.OriginLink, task.OriginArchive}, how.Origin) {
		p.fail("origin_type", "A task cannot be cloned so.", origins)
	}
	switch v, name := p.get("reset_fields"); v.Kind() {
	case rawjson.Absent:
	case rawjson.Array: // names of what is reset in each copy anyway
		for _, field := range v.Elems() {
			if !slices.Contains([]string{"status", "progress", "result", "error", "started_at", "completed_at"}, field.Text()) {
				p.fail(name, "This field is not reset.", "status, progress, result, error, started_at and completed_at, which always are")
			}
		}
	default:
		if v.Kind() != rawjson.Object || v.Len() > 0 {
			p.fail(name, "Fields are not changed while a task is cloned.", "tasks.update with the clone's id")
		}
	}
	if err := p.failed(); err != nil {
		return nil, err
	}
	tasks, err := s.cfg.Engine.Copy(ctx, c.by, id, how)
	if err != nil {
		return nil, err
	}
	if how.Dry {
		list := []byte(`{"tasks":[`)
		for i, t := range tasks {
			if i > 0 {
				list = append(list, ',')
			}
			list = task.AppendJSON(list, t, task.Form{Brief: len(list) > wholeTree})
		}
		return append(list, `],"saved":false}`...), nil
	}
	w := treeWriter{children: childrenOf(tasks)}
	w.flat(tasks[0])
	return w.dst, nil
}
