package flow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Client asks a node for tasks.
//
//	c := flow.NewClient("http://127.0.0.1:8080", "")
//	started, err := c.Execute(ctx, flow.Execution{Tasks: []map[string]any{
//		{"name": "Hello", "schemas": map[string]any{"method": "system_info_executor"}},
//	}})
//	err = c.Events(ctx, started.Root, 0, func(e flow.Event) error {
//		fmt.Println(e.Type, e.Task, e.Status)
//		return nil
//	})
//
// A call that only reads is made again when the network fails, and any call when
// the node says that it has no room for it now. One that changes something is not,
// since it may have been carried out: look before asking again.
//
// A Client is safe for concurrent use. Its fields must not change once it is used.
type Client struct {
	// URL of the node, such as http://127.0.0.1:8080.
	URL string
	// Key is an API key or token, sent as a bearer credential. Empty for none.
	Key string
	// HTTP makes the requests. Nil means a client that waits 30 seconds for an
	// answer to begin and follows no redirect. It must not have a Timeout: streams last.
	HTTP *http.Client
	// Retries is how often a request is sent again. 0 means 2, a negative number never.
	Retries int

	id atomic.Int64
}

// NewClient returns a Client of a node.
func NewClient(url, key string) *Client { return &Client{URL: url, Key: key} }

// Error is an error that the node answered. Its code says what is wrong: one of
// package task's, or JSON-RPC's.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Field    string   `json:"field"`
		Reason   string   `json:"reason"`
		Expected string   `json:"expected"`
		Task     string   `json:"task_id"`
		Cycle    []string `json:"cycle"`
	} `json:"data"`
}

func (e *Error) Error() string {
	s := fmt.Sprintf("the node answered error %d: %s", e.Code, e.Message)
	for _, more := range []string{e.Data.Field, e.Data.Reason} {
		if more != "" {
			s += ": " + more
		}
	}
	if e.Data.Expected != "" {
		s += " Expected: " + e.Data.Expected
	}
	return s
}

// ErrNotFound is what errors.Is finds in the error about a task that does not exist,
// or is somebody else's.
var ErrNotFound = errors.New("there is no such task")

// Is makes errors.Is(err, ErrNotFound) true for such an error.
func (e *Error) Is(target error) bool { return target == ErrNotFound && e.Code == task.CodeNotFound }

// Task is a task as the node tells of it. In lists the large members are missing.
type Task struct {
	ID           task.ID        `json:"id"`
	Root         task.ID        `json:"root_task_id"`
	Parent       task.ID        `json:"parent_id"` // zero for a root
	ClientID     string         `json:"client_id"`
	User         string         `json:"user_id"`
	Name         string         `json:"name"`
	Executor     string         `json:"executor"` // "group" for a task that names none
	Status       task.Status    `json:"status"`
	Priority     int            `json:"priority"`
	Inputs       jsontext.Value `json:"inputs"`
	Params       jsontext.Value `json:"params"`
	Schemas      jsontext.Value `json:"schemas"`
	Result       jsontext.Value `json:"result"`
	Error        string         `json:"error"`
	Dependencies []Need         `json:"dependencies"`
	Progress     float64        `json:"progress"`
	Created      time.Time      `json:"created_at"`
	Started      time.Time      `json:"started_at"`
	Updated      time.Time      `json:"updated_at"`
	Completed    time.Time      `json:"completed_at"`
	Origin       string         `json:"origin_type"`
	Original     task.ID        `json:"original_task_id"`
	NextRun      time.Time      `json:"next_run_at"`
	LastRun      time.Time      `json:"last_run_at"`
	Runs         int            `json:"run_count"`
	Attempt      int            `json:"attempt"`
	Awaiting     string         `json:"awaiting"`    // dependencies, executor, approval or retry
	Approval     string         `json:"approval_id"` // while it awaits one
	// Resumable: it was cancelled, and runs when it, or what it is in, is executed again.
	Resumable bool           `json:"resumable"`
	Schedule  string         `json:"schedule_type"` // empty for none
	When      string         `json:"schedule_expression"`
	Scheduled bool           `json:"schedule_enabled"`
	Zone      string         `json:"schedule_timezone"`
	Judged    jsontext.Value `json:"judged_inputs"`
	Decision  string         `json:"decision_id"` // of its start, in the ledger
	Outcome   string         `json:"outcome_id"`  // of its result
	// Raw is all that the node said.
	Raw jsontext.Value `json:"-"`
}

// UnmarshalJSON reads a task. A member that is null is nil.
func (t *Task) UnmarshalJSON(data []byte) error {
	type plain Task // without this method
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	for _, v := range []*jsontext.Value{&t.Inputs, &t.Params, &t.Schemas, &t.Result, &t.Judged} {
		if v.Kind() == 'n' {
			*v = nil
		}
	}
	t.Raw = bytes.Clone(data)
	return nil
}

// Need is one dependency.
type Need struct {
	ID       task.ID `json:"id"`
	Required bool    `json:"required"`
}

// Node is a task with those under it.
type Node struct {
	Task     Task   `json:"task"`
	Children []Node `json:"children"`
}

// Created says what tasks.create made.
type Created struct {
	ID     task.ID     `json:"id"`
	Status task.Status `json:"status"`
	Root   task.ID     `json:"root_task_id"`
	Tasks  []Named     `json:"tasks"`
}

// Named is one of several tasks, with the id that the client chose.
type Named struct {
	ID       task.ID `json:"id"`
	ClientID string  `json:"client_id"`
}

// Execution says what is to be executed.
type Execution struct {
	// Tasks are written as JSON: an array of tasks. nil when Existing is set.
	Tasks any
	// Existing is a task that exists, and is executed with everything under it.
	Existing task.ID
	// Push is whom to tell; nil for nobody.
	Push *Push
}

// Push is a callback for each change of status.
type Push struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Started says what tasks.execute began.
type Started struct {
	Root  task.ID `json:"root_task_id"`
	Task  task.ID `json:"task_id"`
	Tasks []Named `json:"tasks"`
}

// Filter says which tasks List returns.
type Filter struct {
	Status task.Status `json:"status,omitzero"`
	User   string      `json:"user_id,omitzero"`
	Roots  bool        `json:"root_only,omitzero"`
	Limit  int         `json:"limit,omitzero"` // 0 means 100
	Offset int         `json:"offset,omitzero"`
}

// Listed is a part of a list.
type Listed struct {
	Tasks []Task `json:"tasks"`
	Total int    `json:"total"`
}

// Event is one event of a tree.
type Event struct {
	N        uint64 // its number, to go on after
	Type     string
	At       time.Time   // as Latest answers it
	Task     task.ID     `json:"task_id"`
	Root     task.ID     `json:"root_task_id"`
	Status   task.Status `json:"status"`
	Progress float64     `json:"progress"`
	Message  string      `json:"message"`
	Error    string      `json:"error"`
}

// Create makes tasks, given as what is written as a task, or an array of tasks.
func (c *Client) Create(ctx context.Context, tasks any) (*Created, error) {
	return ask[Created](ctx, c, MethodCreate, tasks)
}

// Get returns a task.
func (c *Client) Get(ctx context.Context, id task.ID) (*Task, error) {
	return ask[Task](ctx, c, MethodGet, idOf(id))
}

type params map[string]any

func idOf(id task.ID) params { return params{"task_id": id} }

// Update changes a task: updates are written as an object.
func (c *Client) Update(ctx context.Context, id task.ID, updates any) error {
	_, err := c.call(ctx, MethodUpdate, params{"task_id": id, "updates": updates})
	return err
}

// Delete removes a task that was never executed; whole: with everything under it.
func (c *Client) Delete(ctx context.Context, id task.ID, whole bool) error {
	_, err := c.call(ctx, MethodDelete, params{"task_id": id, "cascade": whole})
	return err
}

// List returns tasks, newest first.
func (c *Client) List(ctx context.Context, f Filter) (*Listed, error) {
	return ask[Listed](ctx, c, MethodList, &f)
}

// Execute executes new tasks, or some that exist.
func (c *Client) Execute(ctx context.Context, x Execution) (*Started, error) {
	var p params
	switch {
	case x.Existing != (task.ID{}):
		p = idOf(x.Existing)
	default:
		p = params{"tasks": x.Tasks}
	}
	if x.Push != nil { // in the params, so that the answer keeps its plain shape
		p["configuration"] = params{"push_notification_config": x.Push}
	}
	return ask[Started](ctx, c, MethodExecute, p)
}

// Cancel ends a task and everything under it. why may be empty.
func (c *Client) Cancel(ctx context.Context, id task.ID, why string) error {
	return c.cancel(ctx, idOf(id), why)
}

// Interrupt is Cancel of what is to go on: Execute of the task runs what was ended by it.
func (c *Client) Interrupt(ctx context.Context, id task.ID, why string) error {
	return c.cancel(ctx, params{"task_id": id, "resumable": true}, why)
}

func (c *Client) cancel(ctx context.Context, p params, why string) error {
	if why != "" {
		p["error_message"] = why
	}
	_, err := c.call(ctx, MethodCancel, p)
	return err
}

// Tree returns a task with everything under it.
func (c *Client) Tree(ctx context.Context, id task.ID) (*Node, error) {
	return ask[Node](ctx, c, MethodTree, idOf(id))
}

// Children returns the tasks directly under one, the oldest first.
func (c *Client) Children(ctx context.Context, id task.ID) ([]Task, error) {
	answer, err := ask[struct {
		Children []Task `json:"children"`
	}](ctx, c, MethodChildren, params{"parent_id": id})
	if err != nil {
		return nil, err
	}
	return answer.Children, nil
}

// Copy makes a task anew, to be executed once more, and returns the copy's id.
func (c *Client) Copy(ctx context.Context, id task.ID, children bool) (task.ID, error) {
	answer, err := ask[struct {
		Copied task.ID `json:"copied_task_id"`
	}](ctx, c, MethodCopy, params{"task_id": id, "copy_children": children})
	if err != nil {
		return task.ID{}, err
	}
	return answer.Copied, nil
}

var defaultHTTP = &http.Client{
	Transport: func() http.RoundTripper {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = 30 * time.Second
		return t
	}(),
	// A redirect would carry the credential and the inputs to somebody else.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxAnswer bounds an answer's size, and maxEvent a line of a stream's.
const (
	maxAnswer = 64 << 20
	maxEvent  = 1 << 20
)

func ask[T any](ctx context.Context, c *Client, method string, params any) (*T, error) {
	raw, err := c.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return v, nil
}

// reads are the methods that may be called twice.
var reads = map[string]bool{MethodGet: true, MethodList: true, MethodTree: true, MethodChildren: true}

// call makes one JSON-RPC call and returns its raw result.
func (c *Client) call(ctx context.Context, method string, params any) (jsontext.Value, error) {
	id := c.id.Add(1)
	body, err := json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write the params of %s: %w", method, err)
	}
	answer, err := c.post(ctx, body, reads[method])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	var r struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Result  jsontext.Value `json:"result"`
		Error   *Error         `json:"error"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	switch {
	case r.JSONRPC != "2.0":
		return nil, fmt.Errorf("the answer to %s is not JSON-RPC 2.0", method)
	case (r.Result != nil) == (r.Error != nil):
		return nil, fmt.Errorf("the answer to %s needs either a result or an error", method)
	case r.Error != nil:
		return nil, r.Error
	case string(r.ID) != strconv.FormatInt(id, 10):
		return nil, fmt.Errorf("the answer to %s has another id", method)
	}
	return r.Result, nil
}

// post sends a body until the node answers. twice says that it may be carried out
// more than once.
func (c *Client) post(ctx context.Context, body []byte, twice bool) ([]byte, error) {
	retries := c.Retries
	if retries == 0 {
		retries = 2
	}
	for try := 0; ; try++ {
		answer, again, err := c.postOnce(ctx, body)
		if err == nil || again == jsonrpc.Never || again == jsonrpc.IfTwice && !twice || try >= retries || !sleep(ctx, pauseFor(try)) {
			return answer, err
		}
	}
}

// pauseFor is how long to wait after so many failures, with chance in it, so that
// many who lost the same node do not come back at once.
func pauseFor(failures int) time.Duration {
	longest := min(100*time.Millisecond<<min(failures, 10), 10*time.Second)
	return longest/2 + rand.N(longest/2)
}

// sleep waits, and is false when the context ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// request makes an HTTP request, with headers given as name and value.
func (c *Client) request(ctx context.Context, method, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if c.HTTP != nil {
		return c.HTTP.Do(req)
	}
	return defaultHTTP.Do(req)
}

func (c *Client) postOnce(ctx context.Context, body []byte) (answer []byte, again jsonrpc.Retry, err error) {
	r, err := jsonrpc.NewRequest(ctx, http.MethodPost, strings.TrimSuffix(c.URL, "/")+"/flow", c.Key, body)
	if err != nil {
		return nil, jsonrpc.Never, err
	}
	return jsonrpc.Post[Error](cmp.Or(c.HTTP, defaultHTTP), r, maxAnswer)
}

// Events calls f with each event of a task's tree that comes after one, in order
// and each once, until the tree has ended, ctx does, or f returns an error, which
// is then returned. A connection that is lost is made again, and goes on where it
// was lost. after is 0 for all events.
func (c *Client) Events(ctx context.Context, id task.ID, after uint64, f func(Event) error) error {
	for failures := 0; ; {
		before := after
		over, err := c.follow(ctx, id, &after, f)
		if over {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failures++; after > before {
			if failures = 1; err == nil { // it may be that all was told
				continue
			}
		}
		if failures > max(10, c.Retries) {
			return fmt.Errorf("follow the events of %s: %w", id, err)
		}
		if !sleep(ctx, pauseFor(failures-1)) {
			return ctx.Err()
		}
	}
}

// Latest returns the newest events of a task's tree, the oldest of them first.
func (c *Client) Latest(ctx context.Context, id task.ID, most int) ([]Event, error) {
	res, err := c.request(ctx, http.MethodGet, "/tasks/"+id.String()+"/events?last="+strconv.Itoa(most), nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the events of %s: HTTP status %s", id, res.Status)
	}
	var answer struct {
		Events []struct {
			Number uint64    `json:"number"`
			Type   string    `json:"type"`
			At     time.Time `json:"at"`
			Event  Event     `json:"event"`
		} `json:"events"`
	}
	if err := json.UnmarshalRead(http.MaxBytesReader(nil, res.Body, maxAnswer), &answer); err != nil {
		return nil, fmt.Errorf("read the events of %s: %w", id, err)
	}
	var list []Event
	for _, e := range answer.Events {
		e.Event.N, e.Event.Type, e.Event.At = e.Number, e.Type, e.At
		list = append(list, e.Event)
	}
	return list, nil
}

// Scheduled returns the tasks that have a schedule, paused ones, too, the newest first.
func (c *Client) Scheduled(ctx context.Context, limit, offset int) ([]Task, error) {
	list, err := ask[[]Task](ctx, c, "tasks.scheduled.list", params{"enabled_only": false, "limit": limit, "offset": offset})
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// follow reads one stream. over says that there is no use in another.
func (c *Client) follow(ctx context.Context, id task.ID, after *uint64, f func(Event) error) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.request(ctx, http.MethodGet, "/tasks/"+id.String()+"/events", nil,
		"Accept", "text/event-stream", "Last-Event-ID", strconv.FormatUint(*after, 10))
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNoContent:
		return true, nil
	case res.StatusCode == http.StatusNotFound:
		return true, fmt.Errorf("%w: %s", ErrNotFound, id)
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return false, fmt.Errorf("HTTP status %s", res.Status)
	case res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"):
		return true, fmt.Errorf("no stream of events was answered, but HTTP status %s", res.Status)
	}
	// Silence for longer than the node ever is silent means that it is lost.
	lost := time.AfterFunc(silence, cancel)
	defer lost.Stop()
	alive := func() { lost.Reset(silence) }
	err = jsonrpc.ReadEvents(res.Body, maxEvent, alive, func(read jsonrpc.Event) error {
		e := Event{Type: read.Name}
		if read.ID != "" {
			if e.N, err = strconv.ParseUint(read.ID, 10, 64); err != nil {
				over = true
				return fmt.Errorf("an event has the id %.40q", read.ID)
			}
		}
		if err := json.Unmarshal(read.Data, &e); err != nil {
			over = true
			return fmt.Errorf("read an event: %w", err)
		}
		if e.N <= *after {
			return nil
		}
		if err := f(e); err != nil {
			over = true
			return err
		}
		*after = e.N
		return nil
	})
	// Whether the tree has ended is known when there is nothing left.
	return over, err
}

// silence is how long a stream may be silent: the node sends a comment each half minute.
const silence = 90 * time.Second
