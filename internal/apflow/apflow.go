// Package apflow answers the clients of apflow (its command line, its web application), which
// ask for the Interface Protocol's methods and read the answers in shapes of their own: lists
// are arrays, a task that was made or changed is told whole, streams have other words. What
// is done is package flow's business; here its answers get those shapes.
//
//	a := apflow.New(flowServer.Namespace(), version, descriptions)
//	namespaces = append(namespaces, a.Tasks(), a.System())
//
// The shapes were read off apflow 0.18.1's own server. docs/protocol/flow.md tells where they differ.
package apflow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Path is the base that clients are given as the server's URL.
const Path = "/apflow"

// Adapter stands before the protocol's own methods.
type Adapter struct {
	flow      jsonrpc.Namespace
	version   string
	executors func() []executor.Description
}

// New returns an Adapter of flow's methods. executors are the node's.
func New(flow jsonrpc.Namespace, version string, executors func() []executor.Description) *Adapter {
	return &Adapter{flow, version, executors}
}

// Tasks are the methods about tasks. Where several protocols are spoken, they must come after
// flow's, which has them there.
func (a *Adapter) Tasks() jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths: []string{Path, Path + "/tasks"}, // the base is asked whether a server is there
		Match: func(method string) bool { return strings.HasPrefix(method, "tasks.") },
		Handle: func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			shape, ok := shapes[r.Method]
			if !ok {
				return nil, unknown(r.Method)
			}
			return told(shape(&call{a, ctx, r}))
		},
		Unauthorized: a.flow.Unauthorized, Unnamed: true,
	}
}

// System are the methods about the server.
func (a *Adapter) System() jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths: []string{Path + "/system"},
		Match: func(method string) bool {
			return strings.HasPrefix(method, "system.") || strings.HasPrefix(method, "config.llm_key.")
		},
		Handle: func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			return told(a.system(&call{a, ctx, r}))
		},
		Unauthorized: a.flow.Unauthorized,
	}
}

func unknown(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "Method not found", Data: rawjson.Quote("There is no method " + method + " here.")}
}

// told gives an error's data the shape that is read: a sentence.
func told(result []byte, err *jsonrpc.Error) ([]byte, *jsonrpc.Error) {
	if err == nil || len(err.Data) == 0 || err.Data[0] != '{' {
		return result, err
	}
	doc, wrong := rawjson.Parse(err.Data)
	if wrong != nil {
		return nil, err
	}
	var parts []string
	for _, name := range []string{"field", "reason", "expected"} {
		if text := doc.Root().Get(name).Text(); text != "" {
			parts = append(parts, text)
		}
	}
	short := *err
	short.Data = rawjson.Quote(strings.Join(parts, ": "))
	return nil, &short
}

// call is one call that is being answered.
type call struct {
	*Adapter
	ctx context.Context
	*jsonrpc.Request
}

// shapes are the methods, each with what its answer is made of.
var shapes = map[string]func(c *call) ([]byte, *jsonrpc.Error){
	"tasks.create":                (*call).create,
	"tasks.get":                   (*call).get,
	"tasks.detail":                (*call).get,
	"tasks.update":                (*call).update,
	"tasks.delete":                (*call).delete,
	"tasks.tree":                  (*call).tree,
	"tasks.list":                  (*call).list,
	"tasks.children":              (*call).children,
	"tasks.clone":                 (*call).clone,
	"tasks.copy":                  (*call).copy,
	"tasks.execute":               (*call).execute,
	"tasks.cancel":                (*call).cancel,
	"tasks.running.cancel":        (*call).cancel,
	"tasks.running.list":          (*call).each,
	"tasks.scheduled.list":        (*call).each,
	"tasks.scheduled.due":         (*call).each,
	"tasks.scheduled.init":        (*call).one,
	"tasks.scheduled.complete":    (*call).one,
	"tasks.count":                 (*call).same,
	"tasks.running.count":         (*call).same,
	"tasks.running.status":        (*call).same,
	"tasks.scheduled.export-ical": (*call).same,
	"tasks.webhook.trigger":       (*call).trigger,
}

// ask calls one of flow's methods for the caller. What follows an answer is not for it.
func (c *call) ask(method string, params []byte) (rawjson.Value, *jsonrpc.Error) {
	doc, err := rawjson.Parse(params)
	if err != nil {
		return rawjson.Value{}, failed(err)
	}
	return c.read(c.flow.Handle(c.ctx, &jsonrpc.Request{Method: method, ID: c.ID, Params: doc.Root(), Message: nothing.Root(), Body: params, Header: c.Header}))
}

// nothing is what stands beside the params of a call that is made here: so the answer has its
// plain form.
var nothing = func() *rawjson.Doc {
	doc, err := rawjson.Parse([]byte("{}"))
	if err != nil {
		panic(err)
	}
	return doc
}()

// pass has flow carry out the call as it is.
func (c *call) pass() (rawjson.Value, *jsonrpc.Error) {
	return c.read(c.flow.Handle(c.ctx, c.Request))
}

func (c *call) read(result []byte, wrong *jsonrpc.Error) (rawjson.Value, *jsonrpc.Error) {
	if wrong != nil {
		return rawjson.Value{}, wrong
	}
	doc, err := rawjson.Parse(result)
	if err != nil {
		return rawjson.Value{}, failed(err)
	}
	return doc.Root(), nil
}

func failed(err error) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "Internal error", Data: rawjson.Quote(err.Error())}
}

// params are params of one member more or two.
func params(members ...string) []byte {
	b := []byte{'{'}
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, members[i]), ':')
		b = append(b, members[i+1]...)
	}
	return append(b, '}')
}

func idOf(v rawjson.Value) string { return string(rawjson.Quote(v.Text())) }

// appendTask appends a task with the members that apflow's tasks have beside. What lists leave
// out is null there.
func appendTask(dst []byte, t rawjson.Value, children bool) []byte {
	dst = append(dst, '{')
	for name, v := range t.Members() {
		switch name {
		case "task_tree_id", "has_children", "task", "children", "task_count": // a client's own, where apflow has others
			continue
		}
		raw := v.Raw()
		if v.Kind() == rawjson.Null && (name == "params" || name == "schemas" || name == "inputs") {
			raw = []byte("{}")
		}
		dst = append(append(rawjson.AppendString(dst, name), ':'), raw...)
		dst = append(dst, ',')
	}
	for _, name := range []string{"inputs", "params", "schemas", "result"} {
		if !t.Get(name).Exists() {
			dst = append(append(rawjson.AppendString(dst, name), ":null"...), ',')
		}
	}
	root := t.Get("root_task_id")
	dst = append(append(dst, `"task_tree_id":`...), root.Raw()...)
	if !root.Exists() {
		dst = append(dst, "null"...)
	}
	return fmt.Appendf(dst, `,"has_children":%t}`, children)
}

// hasChildren asks whether there is something under a task.
func (c *call) hasChildren(t rawjson.Value) bool {
	if deps := t.Get("dependencies"); deps.Kind() == rawjson.Array && deps.Len() > 0 && t.Get("parent_id").Kind() == rawjson.Null {
		return true // what a root needs is under it
	}
	v, wrong := c.ask("tasks.children", params("parent_id", idOf(t.Get("id"))))
	return wrong == nil && v.Get("children").Len() > 0
}

// whole is one task by its id.
func (c *call) whole(id string) ([]byte, *jsonrpc.Error) {
	v, wrong := c.ask("tasks.get", params("task_id", id))
	if wrong != nil {
		return nil, wrong
	}
	return appendTask(nil, v, c.hasChildren(v)), nil
}

// flat is a tree as a list, parents first.
func flat(dst []byte, n rawjson.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	children := n.Get("children")
	dst = appendTask(dst, n.Get("task"), children.Len() > 0)
	for _, child := range children.Elems() {
		dst = flat(dst, child)
	}
	return dst
}

// nested is a tree with its members.
func nested(dst []byte, n rawjson.Value) []byte {
	children := n.Get("children")
	dst = appendTask(append(dst, `{"task":`...), n.Get("task"), children.Len() > 0)
	dst = append(dst, `,"children":[`...)
	for i, child := range children.Elems() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = nested(dst, child)
	}
	return append(dst, "]}"...)
}

// create answers with the task at the top, and beside its members with the tree under it.
// apflow's server answers with the task alone, or with a list of several, and its command line
// reads neither: it looks for the tree. The web application looks for the root.
func (c *call) create() ([]byte, *jsonrpc.Error) {
	made, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	tree, wrong := c.ask("tasks.tree", params("task_id", idOf(made.Get("id"))))
	if wrong != nil {
		return nil, wrong
	}
	b := appendTask(nil, tree.Get("task"), tree.Get("children").Len() > 0)
	b = fmt.Appendf(b[:len(b)-1], `,"task_count":%d,`, count(tree))
	return append(b, nested(nil, tree)[1:]...), nil
}

// notFound is flow's code of a task that is not there, which apflow answers with null.
const notFound = -32001

func (c *call) get() ([]byte, *jsonrpc.Error) {
	t, wrong := c.pass()
	if wrong != nil && wrong.Code == notFound {
		return []byte("null"), nil
	}
	if wrong != nil {
		return nil, wrong
	}
	return appendTask(nil, t, c.hasChildren(t)), nil
}

func (c *call) update() ([]byte, *jsonrpc.Error) {
	t, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	return c.whole(idOf(t.Get("id")))
}

// delete removes a task with everything under it, as apflow does while all of it is pending.
func (c *call) delete() ([]byte, *jsonrpc.Error) {
	id := idOf(c.Params.Get("task_id"))
	tree, wrong := c.ask("tasks.tree", params("task_id", id))
	if wrong != nil {
		return nil, wrong
	}
	n := count(tree)
	if _, wrong := c.ask("tasks.delete", params("task_id", id, "cascade", "true")); wrong != nil {
		return nil, wrong
	}
	return fmt.Appendf(nil, `{"success":true,"task_id":%s,"deleted_count":%d,"children_deleted":%d}`, id, n, n-1), nil
}

func count(tree rawjson.Value) int {
	n := 1
	for _, child := range tree.Get("children").Elems() {
		n += count(child)
	}
	return n
}

func (c *call) tree() ([]byte, *jsonrpc.Error) {
	tree, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	return nested(nil, tree), nil
}

func (c *call) list() ([]byte, *jsonrpc.Error) {
	members := []string{"root_only", "true"} // as long as nothing else is said
	for name, v := range c.Params.Members() {
		if name == "root_only" {
			members[1] = string(v.Raw())
		} else {
			members = append(members, name, string(v.Raw()))
		}
	}
	v, wrong := c.ask("tasks.list", params(members...))
	if wrong != nil {
		return nil, wrong
	}
	return c.array(v.Get("tasks")), nil
}

// children are those directly under a task; a tree tells of each whether it has some itself.
func (c *call) children() ([]byte, *jsonrpc.Error) {
	id := c.Params.Get("parent_id")
	if !id.Exists() {
		id = c.Params.Get("task_id")
	}
	tree, wrong := c.ask("tasks.tree", params("task_id", string(orNull(id.Raw()))))
	if wrong != nil {
		return nil, wrong
	}
	list := []byte{'['}
	for _, child := range tree.Get("children").Elems() {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = appendTask(list, child.Get("task"), child.Get("children").Len() > 0)
	}
	return append(list, ']'), nil
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// array is a list of tasks.
func (c *call) array(tasks rawjson.Value) []byte {
	list := []byte{'['}
	for _, t := range tasks.Elems() {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = appendTask(list, t, c.hasChildren(t))
	}
	return append(list, ']')
}

func (c *call) each() ([]byte, *jsonrpc.Error) {
	v, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	return c.array(v), nil
}

func (c *call) one() ([]byte, *jsonrpc.Error) {
	t, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	return appendTask(nil, t, c.hasChildren(t)), nil
}

func (c *call) same() ([]byte, *jsonrpc.Error) { return c.flow.Handle(c.ctx, c.Request) }

// clone answers with a list, also of one task: apflow's server gives the task itself then, and
// its command line fails on it.
func (c *call) clone() ([]byte, *jsonrpc.Error) {
	v, wrong := c.pass()
	if wrong != nil {
		return nil, wrong
	}
	if saved := v.Get("saved"); saved.Exists() { // it was only looked at
		list := []byte{'['}
		for _, t := range v.Get("tasks").Elems() {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = appendTask(list, t, false)
		}
		return append(list, ']'), nil
	}
	tree, wrong := c.ask("tasks.tree", params("task_id", idOf(v.Get("id"))))
	if wrong != nil {
		return nil, wrong
	}
	return append(flat([]byte{'['}, tree), ']'), nil
}

// copy is what the web application asks for, which apflow's server does not have: a new tree
// of the same tasks, to be executed again.
func (c *call) copy() ([]byte, *jsonrpc.Error) {
	v, wrong := c.ask("tasks.copy", params("task_id", string(orNull(c.Params.Get("task_id").Raw())), "copy_children", "true"))
	if wrong != nil {
		return nil, wrong
	}
	return c.whole(idOf(v.Get("copied_task_id")))
}

// cancel answers with a list, of one task, too.
func (c *call) cancel() ([]byte, *jsonrpc.Error) {
	if c.Params.Get("task_ids").Exists() || c.Params.Get("context_ids").Exists() {
		return c.same()
	}
	id := c.Params.Get("task_id")
	if !id.Exists() {
		id = c.Params.Get("context_id")
	}
	more := []string{"task_ids", "[" + string(orNull(id.Raw())) + "]"}
	for _, name := range []string{"force", "error_message"} {
		if v := c.Params.Get(name); v.Exists() {
			more = append(more, name, string(v.Raw()))
		}
	}
	v, wrong := c.ask("tasks.cancel", params(more...))
	if wrong != nil {
		return nil, wrong
	}
	return v.Raw(), nil
}

// trigger executes a task as a webhook would.
func (c *call) trigger() ([]byte, *jsonrpc.Error) {
	v, wrong := c.ask("tasks.execute", params("task_id", string(orNull(c.Params.Get("task_id").Raw()))))
	if wrong != nil {
		return nil, wrong
	}
	return fmt.Appendf(nil, `{"success":true,"status":"triggered","task_id":%s,"message":"Task execution started in background"}`, idOf(v.Get("task_id"))), nil
}

// execute answers when the execution has ended, or at once with its events after the answer.
func (c *call) execute() ([]byte, *jsonrpc.Error) {
	stream := c.Params.Get("use_streaming").Bool() && c.CanFollow()
	r := *c.Request
	if !stream {
		doc, err := rawjson.Parse(waiting(c.Params))
		if err != nil {
			return nil, failed(err)
		}
		r.Params, r.Message = doc.Root(), nothing.Root()
	}
	v, wrong := c.read(c.flow.Handle(c.ctx, &r))
	if wrong != nil {
		return nil, wrong
	}
	root, id := v.Get("root_task_id"), v.Get("task_id")
	if stream {
		c.Rewrite(func(f jsonrpc.Follow) jsonrpc.Follow { return c.events(root.Text(), f) })
		return fmt.Appendf(nil, `{"success":true,"protocol":"jsonrpc","root_task_id":%s,"task_id":%s,"status":"started","streaming":true,"message":"Task execution started with streaming"}`, idOf(root), idOf(id)), nil
	}
	status := "started"
	if t, wrong := c.ask("tasks.get", params("task_id", idOf(root))); wrong == nil {
		status = t.Get("status").Text()
	}
	return fmt.Appendf(nil, `{"success":true,"protocol":"jsonrpc","root_task_id":%s,"task_id":%s,"status":%s,"message":"Task execution started"}`, idOf(root), idOf(id), rawjson.Quote(status)), nil
}

// waiting are the params of an execution that is waited for.
func waiting(p rawjson.Value) []byte {
	members := []string{"configuration", `{"blocking":true}`}
	if p.Kind() == rawjson.Array {
		return params(append(members, "tasks", string(p.Raw()))...)
	}
	for name, v := range p.Members() {
		if name != "configuration" && name != "use_streaming" {
			members = append(members, name, string(v.Raw()))
		}
	}
	return params(members...)
}

// events tells the events of a tree in apflow's words. The last of the tree is final, and only
// that: a page that follows it ends there.
func (c *call) events(root string, follow jsonrpc.Follow) jsonrpc.Follow {
	return func(ctx context.Context, send func(jsonrpc.Event) error) error {
		c := &call{c.Adapter, ctx, c.Request}
		err := follow(ctx, func(e jsonrpc.Event) error {
			doc, err := rawjson.Parse(e.Data)
			if err != nil {
				return err
			}
			data := c.event(e.Name, doc.Root())
			if data == nil {
				return nil
			}
			return send(jsonrpc.Event{Data: data})
		})
		if err != nil {
			return err
		}
		for _, kind := range []string{"final", "stream_end"} {
			if err := send(jsonrpc.Event{Data: c.last(kind, root)}); err != nil {
				return err
			}
		}
		return nil
	}
}

// words are apflow's for an event.
var words = map[string]string{
	"task_completed": "task_completed", "task_failed": "task_failed", "task_cancelled": "task_cancelled", "task_progress_update": "progress",
}

// event is an event as clients read it.
type event struct {
	Type      string         `json:"type"`
	Task      string         `json:"task_id"`
	Status    string         `json:"status,omitzero"`
	Progress  float64        `json:"progress"`
	Message   string         `json:"message,omitzero"`
	Result    jsontext.Value `json:"result,omitzero"`
	Error     string         `json:"error,omitzero"`
	Final     bool           `json:"final,omitzero"`
	Timestamp string         `json:"timestamp"`
}

func (e event) json() []byte {
	e.Timestamp = time.Now().UTC().Format("2006-01-02T15:04:05.000000")
	b, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return b
}

// event tells one of flow's events; nil for what the next one says as well.
func (c *call) event(name string, data rawjson.Value) []byte {
	e := event{Type: words[name], Task: data.Get("task_id").Text(), Status: data.Get("status").Text(), Progress: data.Get("progress").Float()}
	switch {
	case name == "task_status_update" && e.Status == "in_progress":
		e.Type = "task_start"
	case e.Type == "":
		return nil
	}
	e.Message, e.Error = data.Get("message").Text(), data.Get("error").Text()
	if e.Type == "task_completed" {
		if t, wrong := c.ask("tasks.get", params("task_id", string(rawjson.Quote(e.Task)))); wrong == nil {
			e.Result = t.Get("result").Raw()
		}
	}
	return e.json()
}

// last is what ends a stream: how the tree stands.
func (c *call) last(kind, root string) []byte {
	e := event{Type: kind, Task: root, Final: kind == "final"}
	if t, wrong := c.ask("tasks.get", params("task_id", string(rawjson.Quote(root)))); wrong == nil && e.Final {
		e.Status, e.Progress, e.Error = t.Get("status").Text(), t.Get("progress").Float(), t.Get("error").Text()
		if result := t.Get("result"); result.Kind() == rawjson.Object {
			e.Result = result.Raw()
		}
	}
	return e.json()
}

// system answers the methods about the server. Keys of models belong to the node: they are
// set in its configuration, and no caller's are kept.
func (a *Adapter) system(c *call) ([]byte, *jsonrpc.Error) {
	switch c.Method {
	case "system.health":
		running := 0
		if v, wrong := c.ask("tasks.running.count", []byte("{}")); wrong == nil {
			n, _ := v.Get("count").Int()
			running = int(n)
		}
		return fmt.Appendf(nil, `{"status":"healthy","message":"reeve is healthy","version":%s,"timestamp":%q,"running_tasks_count":%d}`,
			rawjson.Quote(a.version), time.Now().UTC().Format(time.RFC3339Nano), running), nil
	case "system.executors":
		return a.list(), nil
	case "config.llm_key.get":
		return []byte(`{"has_key":false,"user_id":"default","provider":null,"providers":{}}`), nil
	case "config.llm_key.set", "config.llm_key.delete":
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "Invalid params", Data: rawjson.Quote("Keys of models are set in the node's configuration (llm.key, credentials), and callers' are not kept.")}
	}
	return nil, unknown(c.Method)
}

func (a *Adapter) list() []byte {
	type one struct {
		ID           string   `json:"id"`
		Name         string   `json:"name"`
		Description  string   `json:"description"`
		Tags         []string `json:"tags"`
		Dependencies []string `json:"dependencies"`
		Available    bool     `json:"available"`
	}
	all := struct {
		Executors  []one `json:"executors"`
		Count      int   `json:"count"`
		Restricted bool  `json:"restricted"`
	}{Executors: []one{}}
	for _, d := range a.executors() {
		all.Executors = append(all.Executors, one{d.ID, d.Name, d.Description, append([]string{}, d.Tags...), []string{}, true})
	}
	all.Count = len(all.Executors)
	b, err := json.Marshal(&all)
	if err != nil {
		return []byte("null")
	}
	return b
}
