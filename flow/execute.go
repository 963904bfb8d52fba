package flow

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// options are what a call says beside its params: in the members metadata and
// configuration of the request, or of its params.
type options struct {
	stream bool
	wait   bool // for the end, before the answer
	push   *task.Push
	user   string // whose the tasks are that do not say so
	// metadata is what was found there, each from the request first.
	task    task.ID
	message string
	force   bool
	// resumable: what is cancelled goes on when it is executed again.
	resumable bool
}

// options reads them. What is wrong is named as it stands in the request.
func (s *Server) options(c *call) (*options, error) {
	o := &options{}
	request := &reader{v: c.r.Message}
	params := c.params
	if params.v.Kind() != rawjson.Object {
		params = &reader{}
	}
	for _, r := range []*reader{request, params} {
		metadata := r.within("metadata")
		o.stream = o.stream || metadata.flag("stream", false)
		o.force = o.force || metadata.flag("force", false)
		if o.message == "" {
			o.message = metadata.text("error_message", maxMessage)
		}
		if o.user == "" {
			o.user = metadata.text("user_id", task.MaxName)
		}
		if o.task == (task.ID{}) && metadata.has("task_id", "context_id") {
			o.task = metadata.id("task_id", "context_id")
		}
		r.join(metadata)
		configuration := r.within("configuration")
		o.wait = o.wait || configuration.flag("blocking", false)
		if o.push == nil {
			o.push = configuration.push(s.cfg.CheckURL)
		}
		r.join(configuration)
		if err := r.failed(); err != nil {
			return nil, err
		}
	}
	o.stream = params.flag("use_streaming", false) || o.stream
	return o, params.failed()
}

// maxMessage is how many characters a client may give as the reason of a cancel.
const maxMessage = 1000

// Bounds of a push notification.
const (
	maxURL     = 2000
	maxHeaders = 32
	maxHeader  = 8 << 10 // bytes of names and values
)

// push reads a push notification's configuration.
func (r *reader) push(check func(url string) error) *task.Push {
	const name = "push_notification_config"
	if !r.has(name) {
		return nil
	}
	c := r.within(name)
	defer r.join(c)
	p := &task.Push{URL: c.text("url", maxURL)}
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "" || u.User != nil {
		c.fail("url", "The value is no address that can be called.", "an http or https URL without user and password")
	} else if err := check(p.URL); err != nil {
		c.fail("url", "It may not be called: "+err.Error()+".", "an address of the public internet")
	}
	if method, _ := c.get("method"); method.Exists() && method.Text() != "POST" {
		c.fail("method", "Callbacks are made with POST only.", "POST")
	}
	headers := c.within("headers")
	size, seen := 0, map[string]bool{}
	for name, v := range headers.v.Members() {
		if p.Headers == nil {
			p.Headers = make(map[string]string, headers.v.Len())
		}
		value := v.Text()
		size += len(name) + len(value)
		switch {
		case v.Kind() != rawjson.String:
			headers.fail(name, "The value is "+v.Kind().Noun()+".", "a string")
		case !isToken(name):
			headers.fail(words.Shorten(name, 80), "This is no name of a header.", "letters, digits and dashes")
		case strings.ContainsFunc(value, func(c rune) bool { return c < 0x20 && c != '\t' || c == 0x7f || c == utf8.RuneError }):
			headers.fail(name, "The value cannot stand in a header.", "one line of text")
		case ours[strings.ToLower(name)]:
			headers.fail(name, "This header is not a client's to set.", "")
		case seen[strings.ToLower(name)]:
			headers.fail(name, "The header is there twice.", "each header once, whatever its case")
		}
		seen[strings.ToLower(name)] = true
		p.Headers[name] = value
	}
	if headers.v.Len() > maxHeaders || size > maxHeader {
		c.fail("headers", fmt.Sprintf("There are %d headers with %d bytes.", headers.v.Len(), size), fmt.Sprintf("at most %d with %d bytes", maxHeaders, maxHeader))
	}
	c.join(headers)
	return p
}

// ours are the headers of a callback that belong to the connection or to us.
var ours = map[string]bool{
	"host": true, "content-length": true, "content-type": true, "connection": true, "keep-alive": true, "proxy-authenticate": true,
	"proxy-authorization": true, "proxy-connection": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"expect": true, "user-agent": true, "x-reeve-event": true, "x-reeve-signature": true,
}

// isToken reports whether a text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	const others = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != ""
}

// execute answers tasks.execute: of new tasks, or of a tree that exists.
func (s *Server) execute(ctx context.Context, c *call) ([]byte, error) {
	o, err := s.options(c)
	if err == nil {
		err = s.room(c, o)
	}
	if err != nil {
		return nil, err
	}
	m := engine.Making{Request: c.request(), Execute: true, Push: o.push, Method: MethodExecute}
	array := c.r.Params.Kind() == rawjson.Array
	switch {
	case array || c.params.has("tasks"):
		if !array && c.params.has("task_id") {
			return nil, invalid("task_id", "The params hold tasks and also the id of a task.", "one of the two")
		}
		return s.executeNew(ctx, c, o, m)
	case c.params.has("task_id"):
		o.task = c.params.id("task_id")
		if err := c.params.failed(); err != nil {
			return nil, err
		}
	case o.task == (task.ID{}):
		return nil, invalid("tasks", "There are no tasks, nor the id of one.", "an array of tasks, or task_id")
	}
	return s.executeAgain(ctx, c, o, m)
}

// started is the plain answer to tasks.execute.
type started struct {
	Root   task.ID `json:"root_task_id"`
	Status string  `json:"status"`
	Task   task.ID `json:"task_id"`
	Tasks  []named `json:"tasks,omitempty"`
}

func (s *Server) executeNew(ctx context.Context, c *call, o *options, m engine.Making) ([]byte, error) {
	tasks, top, err := s.decode(c, o.user)
	if err != nil {
		return nil, err
	}
	after := uint64(0)
	if top.Parent != (task.ID{}) { // of a tree that has events already
		if after, err = s.newest(ctx, c.by, top.Parent); err != nil {
			return nil, err
		}
	}
	root, err := s.cfg.Engine.Create(ctx, c.by, tasks, top, m)
	if err != nil {
		return nil, err
	}
	answer := started{Root: root, Status: "started", Task: top.ID}
	for _, t := range tasks {
		if t.ClientID != "" {
			answer.Tasks = append(answer.Tasks, named{ID: t.ID, ClientID: t.ClientID})
		}
	}
	return s.startedAnswer(ctx, c, o, answer, after)
}

func (s *Server) executeAgain(ctx context.Context, c *call, o *options, m engine.Making) ([]byte, error) {
	after, err := s.newest(ctx, c.by, o.task)
	if err != nil {
		return nil, err
	}
	root, err := s.cfg.Engine.Execute(ctx, c.by, o.task, m)
	if err != nil {
		return nil, err
	}
	return s.startedAnswer(ctx, c, o, started{Root: root, Status: "started", Task: o.task}, after)
}

// newest is the number of the newest event of a task's tree.
func (s *Server) newest(ctx context.Context, by engine.Caller, id task.ID) (uint64, error) {
	r, err := s.cfg.Engine.Row(ctx, by, id)
	if err == nil && r.Root != id {
		r, err = s.cfg.Engine.Row(ctx, by, r.Root)
	}
	return r.Events, err
}

// startedAnswer answers an execution, in the shape that was asked for, and has the
// tree's events follow if they were.
func (s *Server) startedAnswer(ctx context.Context, c *call, o *options, a started, after uint64) ([]byte, error) {
	if o.stream {
		c.r.Follow(s.follow(c.by, a.Root, after))
	}
	if o.wait && !o.stream && c.r.CanFollow() {
		s.wait(ctx, c.by, a.Root, after)
	}
	if !c.a2a {
		return json.Marshal(&a)
	}
	t, err := s.cfg.Engine.Get(ctx, c.by, a.Root)
	if err != nil {
		return nil, err
	}
	return s.a2a(c, t, t.ID, a.Tasks)
}

// wait waits until nothing of a tree is being executed any more. It costs what a stream
// does, and counts as one; where there is no room for it, nobody waits.
func (s *Server) wait(ctx context.Context, by engine.Caller, root task.ID, after uint64) {
	s.cfg.Hold(ctx, s.cfg.Now().Add(s.cfg.Wait))
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	// What cannot be waited for is answered as it is.
	_ = s.follow(by, root, after)(ctx, func(jsonrpc.Event) error { return nil })
}

// states are A2A's words for the protocol's.
var states = map[task.Status]string{
	task.Pending: "submitted", task.InProgress: "working", task.Completed: "completed", task.Failed: "failed", task.Cancelled: "canceled",
}

// The A2A shape of an answer, as the text has it.
type (
	execution struct {
		ID        string          `json:"id"` // of this execution
		Context   task.ID         `json:"context_id"`
		Kind      string          `json:"kind"`
		Status    executionStatus `json:"status"`
		Artifacts []artifact      `json:"artifacts"`
		Metadata  executionMeta   `json:"metadata"`
		// Task and Final are what the upstream's cancel answers beside it.
		Task  *task.ID `json:"task_id,omitzero"`
		Final bool     `json:"final,omitzero"`
	}
	executionStatus struct {
		State   string  `json:"state"`
		Message message `json:"message"`
	}
	message struct {
		Kind  string        `json:"kind"`
		Parts []messagePart `json:"parts"`
	}
	messagePart struct {
		Kind string        `json:"kind"`
		Data executionData `json:"data"`
	}
	executionData struct {
		Protocol string      `json:"protocol"`
		Status   task.Status `json:"status"`
		Progress float64     `json:"progress"`
		Root     task.ID     `json:"root_task_id"`
		Task     task.ID     `json:"task_id"`
		Error    string      `json:"error,omitzero"`
		Tasks    []named     `json:"tasks,omitempty"` // by the ids that the client chose
	}
	artifact struct {
		ID    string         `json:"artifactId"`
		Parts []artifactPart `json:"parts"`
	}
	artifactPart struct {
		Kind string         `json:"kind"`
		Data jsontext.Value `json:"data"`
	}
	executionMeta struct {
		Protocol string  `json:"protocol"`
		Root     task.ID `json:"root_task_id"`
		User     string  `json:"user_id,omitzero"`
	}
)

// a2a tells of a task in A2A's shape.
func (s *Server) a2a(c *call, t *task.Task, context task.ID, tasks []named) ([]byte, error) {
	c.shaped = true
	return json.Marshal(s.execution(t, context, tasks), asChecked)
}

func (s *Server) execution(t *task.Task, context task.ID, tasks []named) *execution {
	status := t.Status()
	state := states[status]
	if t.Phase == task.Waiting && t.ID == t.Root { // its tree is being executed
		state = states[task.InProgress]
	}
	data := executionData{Protocol: "a2a", Status: status, Progress: t.Done(), Root: t.Root, Task: t.ID, Tasks: tasks}
	if status == task.Failed || status == task.Cancelled {
		data.Error = t.Error
	}
	e := &execution{
		ID: task.NewID(s.cfg.Now()).String(), Context: context, Kind: "task",
		Status:    executionStatus{State: state, Message: message{Kind: "message", Parts: []messagePart{{Kind: "data", Data: data}}}},
		Artifacts: []artifact{},
		Metadata:  executionMeta{Protocol: "a2a", Root: t.Root, User: t.User},
	}
	if (status == task.Completed || status == task.Failed) && t.Result != nil {
		e.Artifacts = append(e.Artifacts, artifact{ID: t.ID.String(), Parts: []artifactPart{{Kind: "data", Data: t.Result}}})
	}
	return e
}

// cancel answers tasks.cancel: of one task in the text's form, of several in the
// upstream's.
func (s *Server) cancel(ctx context.Context, c *call) ([]byte, error) {
	o, err := s.options(c)
	if err == nil {
		err = s.room(c, o)
	}
	if err != nil {
		return nil, err
	}
	force, why := o.reason(c.params)
	several := c.params.has("task_ids", "context_ids")
	var ids []task.ID
	switch {
	case several && c.params.has("task_id"):
		c.params.fail("task_id", "The params hold the id of a task and also a list of ids.", "one of the two")
	case several:
		ids = c.params.ids("task_ids", "context_ids")
	case !c.params.has("task_id", "context_id") && o.task != (task.ID{}):
	default:
		o.task = c.params.id("task_id", "context_id")
	}
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	if several {
		return s.cancelSeveral(ctx, c, o, ids, force, why)
	}
	t, err := s.cancelOne(ctx, c, o, why)
	if err != nil {
		return nil, err
	}
	if c.a2a {
		return s.a2a(c, t, t.Root, nil)
	}
	return json.Marshal(struct {
		Task   task.ID     `json:"task_id"`
		Status task.Status `json:"status"`
	}{t.ID, task.Cancelled}) // it, or what was left of the tree under it
}

// reason is what is said of a cancel. An executor is always stopped at once, so
// that force changes only the words.
func (o *options) reason(params *reader) (force bool, why string) {
	force, why = params.flag("force", o.force), params.text("error_message", maxMessage)
	o.resumable = params.flag("resumable", false)
	switch {
	case why != "":
	case o.message != "":
		why = o.message
	case force:
		why = "Force cancelled by user"
	default:
		why = "Cancelled by user"
	}
	return force, why
}

// cancelOne cancels a task, and has the events that come of it follow if they were
// asked for.
func (s *Server) cancelOne(ctx context.Context, c *call, o *options, why string) (*task.Task, error) {
	after, err := s.newest(ctx, c.by, o.task)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Engine.Cancel(ctx, c.by, o.task, why, o.resumable)
	if err != nil {
		return nil, err
	}
	if o.stream {
		c.r.Follow(s.follow(c.by, r.Root, after))
	}
	return &task.Task{Row: r}, nil
}

// cancelled is what became of one of several tasks.
type cancelled struct {
	Task    task.ID     `json:"task_id"`
	Status  task.Status `json:"status"` // cancelled; failed when it was not, error when there is no such task
	Message string      `json:"message"`
	Force   bool        `json:"force"`
	Usage   *struct{}   `json:"token_usage"` // always null
	Result  *struct{}   `json:"result"`      // always null
	Error   string      `json:"error,omitzero"`
}

func (s *Server) cancelSeveral(ctx context.Context, c *call, o *options, ids []task.ID, force bool, why string) ([]byte, error) {
	list := make([]cancelled, 0, len(ids))
	for _, id := range ids {
		one := cancelled{Task: id, Status: task.Cancelled, Message: "Task cancelled successfully", Force: force}
		_, err := s.cfg.Engine.Cancel(ctx, c.by, id, why, o.resumable)
		wrong, ok := err.(*task.Error)
		switch {
		case ok && wrong.Code == task.CodeNotFound:
			one.Status, one.Error, one.Message = "error", wrong.Message(), wrong.Reason
		case ok:
			one.Status, one.Error, one.Message = task.Failed, wrong.Message(), wrong.Reason
		case err != nil:
			return nil, err
		}
		list = append(list, one)
	}
	return json.Marshal(list)
}

// cancelNow answers the upstream's method cancel, which names the task beside
// params.
func (s *Server) cancelNow(ctx context.Context, c *call) ([]byte, error) {
	o, err := s.options(c)
	if err == nil {
		err = s.room(c, o)
	}
	if err != nil {
		return nil, err
	}
	_, why := o.reason(c.params)
	request := &reader{v: c.r.Message}
	switch {
	case request.has("task_id", "context_id"):
		o.task = request.id("task_id", "context_id")
	case c.params.has("task_id", "context_id") || o.task == (task.ID{}):
		o.task = c.params.id("task_id", "context_id")
	}
	request.join(c.params)
	if err := request.failed(); err != nil {
		return nil, err
	}
	t, err := s.cancelOne(ctx, c, o, why)
	if err != nil {
		return nil, err
	}
	c.shaped = true
	e := s.execution(t, t.Root, nil)
	e.Task, e.Final = &t.ID, true
	return json.Marshal(e, asChecked)
}
