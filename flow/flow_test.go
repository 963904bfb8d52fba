package flow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

const rules = `
version: 1
name: test
default: allow
rules:
  - {name: no-wipe, on: task.start, tools: [wipe], effect: deny, code: wipe, reason: Wiping is never allowed.}
`

// node is a whole node, without what surrounds it: an engine on a real store, which
// speaks flow over HTTP.
type node struct {
	testing.TB
	*engine.Engine
	server *flow.Server
	store  store.Store
	log    *ledger.Log
	url    string
	open   atomic.Bool // no credentials are configured
	gate   chan struct{}
	runs   atomic.Int64 // of the executor count
	mu     sync.Mutex
	turns  []string // names of the tasks that the executor turn had, in order
	tries  []string // attempts and keys that the executor flaky saw
	pushes chan *http.Request
	busy   atomic.Int64 // callbacks that are answered 503
}

// The executors of the tests.

type doing struct {
	id string
	do func(ctx context.Context, job *executor.Job) (jsontext.Value, error)
}

func (d doing) Describe() executor.Description {
	schema := `{"type":"object"}`
	if d.id == "number" {
		schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	}
	concurrent := 0
	if d.id == "turn" {
		concurrent = 1
	}
	return executor.Description{Concurrent: concurrent, ID: d.id, Name: "Does " + d.id, Description: "For tests.", InputSchema: jsontext.Value(schema)}
}

func (d doing) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	return d.do(ctx, job)
}

var opened atomic.Int32

// begin begins a node. Callers say who they are by the header Authorization: the
// bearer admin is one.
func begin(t testing.TB) *node {
	t.Helper()
	n := &node{TB: t, gate: make(chan struct{}), pushes: make(chan *http.Request, 100)}
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var e *engine.Engine
	log, err := ledger.Open(t.Context(), ledger.Config{
		Store: store, Origin: "test", Seed: make([]byte, 32), Owner: fmt.Sprint("flow ", opened.Add(1)),
		OnTasks: func(w *task.Writes) { e.Changed(w) },
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set, Answered: func(h *approval.Decision) { go e.Answered(context.Background(), h) }})
	if err != nil {
		t.Fatal(err)
	}
	executors := &executor.Registry{}
	echo := func(_ context.Context, job *executor.Job) (jsontext.Value, error) { return job.Inputs, nil }
	for _, d := range []doing{
		{"echo", echo}, {"number", echo}, {"wipe", echo},
		{"fail", func(context.Context, *executor.Job) (jsontext.Value, error) {
			return nil, executor.Final(fmt.Errorf("It is made to fail."))
		}},
		{"half", func(context.Context, *executor.Job) (jsontext.Value, error) {
			return nil, &executor.Error{Message: "It went wrong.", Final: true, Result: jsontext.Value(`{"half":"done"}`)}
		}},
		{"count", func(_ context.Context, job *executor.Job) (jsontext.Value, error) {
			n.runs.Add(1)
			return jsontext.Value(`{"done":true}`), nil
		}},
		{"wait", func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
			select {
			case <-n.gate:
				return jsontext.Value(`{"waited":true}`), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
		{"turn", func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
			n.mu.Lock()
			n.turns = append(n.turns, job.Name)
			n.mu.Unlock()
			select {
			case <-n.gate:
			case <-ctx.Done():
			}
			return jsontext.Value(`{}`), ctx.Err()
		}},
		{"flaky", func(_ context.Context, job *executor.Job) (jsontext.Value, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.tries = append(n.tries, fmt.Sprint(job.Attempt, " ", strings.TrimPrefix(job.Key, job.Task)))
			if len(n.tries)%3 != 0 {
				return nil, errors.New("not yet")
			}
			return jsontext.Value(`{}`), nil
		}},
		{"steps", func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
			for i := range 5 {
				job.Progress(float64(i)/5, fmt.Sprint("step ", i))
				select {
				case <-time.After(250 * time.Millisecond):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return jsontext.Value(`{}`), nil
		}},
	} {
		if err := executors.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	e = engine.New(engine.Config{
		Guard: judge, Store: store, Executors: executors, Node: log.Node(), Push: engine.NewPusher(http.DefaultClient, []byte("secret")),
		Dispatcher: &engine.Memory{Ready: func(ctx context.Context, id string, limit int) ([]task.Row, error) {
			return store.TaskRows(ctx, task.RowQuery{Phase: task.Ready, Executor: id, Limit: limit})
		}},
	})
	n.Engine, n.store, n.log = e, store, log
	n.server = flow.NewServer(flow.Config{Engine: e, Executors: executors, Open: n.open.Load, Version: "9.9", CheckURL: func(url string) error {
		if strings.Contains(url, "//10.") {
			return errors.New("10.0.0.1 is not public")
		}
		return nil
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	n.url = n.serve(ctx)
	t.Cleanup(func() {
		cancel()
		<-done
		log.Close()
		store.Close()
	})
	return n
}

// serve serves the node over HTTP, as a node's server does.
func (n *node) serve(ctx context.Context) string {
	space := n.server.Namespace()
	rpc := &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{space}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) { rpc.ServeWebSocket(caller(ctx, r), w, r, nil) })
	mux.Handle("GET /tasks/{id}/events", n.server.EventsHandler())
	mux.Handle("GET /.well-known/agent-card", n.server.AgentCard())
	mux.HandleFunc("POST /callback", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		n.pushes <- r
		if n.busy.Add(-1) >= 0 {
			w.WriteHeader(503)
		}
	})
	for _, path := range []string{"/", "/tasks", "/flow"} {
		mux.Handle("POST "+path, rpc)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(caller(r.Context(), r)))
	}))
	n.Cleanup(func() {
		n.server.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func caller(ctx context.Context, r *http.Request) context.Context {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return identity.NewContext(ctx, act.Anonymous, identity.Agent)
	case name == "admin":
		return identity.NewContext(ctx, act.Principal{Name: "key:admin", Method: "key"}, identity.Admin)
	}
	if user, role, ok := strings.Cut(name, "@"); ok { // such as ann@auditor
		return identity.NewContext(ctx, act.Principal{Name: "key:" + user, Method: "key"}, identity.Role(role))
	}
	return identity.NewContext(ctx, act.Principal{Name: "key:" + name, Method: "key"}, identity.Agent)
}

// post sends a body as somebody and returns the status and the answer.
func (n *node) post(as, body string) (int, string) {
	n.Helper()
	req, err := http.NewRequest("POST", n.url+"/", strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		n.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// answer is what a call was answered.
type answer struct {
	rawjson.Value
	text string
}

// code is the error's code, 0 for a result.
func (a answer) code() int {
	code, _ := a.Get("error").Get("code").Int()
	return int(code)
}

// at is the text or raw JSON of what a way of names leads to.
func (a answer) at(way ...string) string {
	v := a.Value
	for _, name := range way {
		v = v.Get(name)
	}
	if v.Kind() == rawjson.String {
		return v.Text()
	}
	return string(v.Raw())
}

// result is at within the result.
func (a answer) result(way ...string) string { return a.at(append([]string{"result"}, way...)...) }

// call makes a call as somebody, with more members of the request if there are any.
func (n *node) call(as, method, params string, more ...string) answer {
	n.Helper()
	status, text := n.post(as, `{"jsonrpc":"2.0","id":"1","method":"`+method+`","params":`+params+strings.Join(more, "")+`}`)
	doc, err := rawjson.Parse([]byte(text))
	if err != nil || status != 200 {
		n.Fatalf("%s %s: status %d, %v: %s", method, params, status, err, text)
	}
	a := answer{doc.Root(), text}
	if a.code() == jsonrpc.InternalError {
		n.Fatalf("%s %s: %s", method, params, text)
	}
	return a
}

// do makes a call that must succeed.
func (n *node) do(as, method, params string, more ...string) answer {
	n.Helper()
	a := n.call(as, method, params, more...)
	if a.Get("error").Exists() {
		n.Fatalf("%s %s: %s", method, params, a.text)
	}
	return a
}

// execute executes tasks and returns the root.
func (n *node) execute(as, tasks string) string {
	n.Helper()
	return n.do(as, "tasks.execute", `{"tasks":`+tasks+`}`).result("root_task_id")
}

// wait waits until a task has one of some states.
func (n *node) wait(as, id string, states ...task.Status) answer {
	n.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		a := n.do(as, "tasks.get", `{"task_id":"`+id+`"}`)
		for _, s := range states {
			if a.result("status") == string(s) {
				return a
			}
		}
		if time.Now().After(end) {
			n.Fatalf("the task never became %s: %s", states, a.text)
		}
	}
}

// parallel does something often at once.
func parallel(times int, f func(i int)) {
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

func id(s string) string { return `{"task_id":"` + s + `"}` }

const nobody = "550e8400-e29b-41d4-a716-446655440000"
