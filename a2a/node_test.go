package a2a_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

const rules = `
version: 1
name: test
default: allow
rules:
  - {name: no-rm, on: a2a.receive, when: 'text.contains("rm -rf")', effect: deny, code: no.rm, reason: Nothing is removed here.}
  - {name: ask, on: a2a.receive, when: 'text.contains("please pay")', effect: escalate, code: ask, reason: Payments are agreed to by people.}
  - {name: hide, on: a2a.receive, detect: pii.card, effect: modify, modify: redact, reason: Card numbers are masked.}
  - {name: held, on: task.start, tools: [held], effect: escalate, code: held, reason: This task is agreed to by people.}
`

// node is a whole node, without what surrounds it: an agent on an engine on a real
// store, which speaks A2A over all bindings.
type node struct {
	testing.TB
	*a2a.Server
	engine    *engine.Engine
	guard     *guard.Guard
	url, grpc string
	open      *atomic.Bool // no credentials are configured
	gate      chan struct{}
	stop      func()
	calls     chan *call   // callbacks
	busy      atomic.Int64 // callbacks that are answered 503
}

// call is one callback of a push notification.
type call struct {
	header http.Header
	body   string
}

type doing struct {
	id string
	do func(ctx context.Context, job *executor.Job) (jsontext.Value, error)
}

func (d doing) Describe() executor.Description {
	return executor.Description{ID: d.id, Name: "Does " + d.id, Description: "For tests.", InputSchema: jsontext.Value(`{"type":"object"}`)}
}

func (d doing) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	return d.do(ctx, job)
}

var opened atomic.Int32

// begin begins a node. Callers say who they are by the header Authorization.
func begin(t testing.TB, workflow string) *node { return beginIn(t, t.TempDir(), workflow, nil) }

// beginIn begins a node on a folder that may hold another's store, or on the
// PostgreSQL database of a URL.
func beginIn(t testing.TB, dir, workflow string, change func(*a2a.Config)) *node {
	t.Helper()
	n := &node{TB: t, gate: make(chan struct{}), open: &atomic.Bool{}, calls: make(chan *call, 100)}
	var store store.Store
	var dispatcher engine.Dispatcher
	var err error
	shared := strings.HasPrefix(dir, "postgres://")
	if shared {
		var s *postgres.Store
		if s, err = postgres.Open(t.Context(), dir); err == nil {
			store, dispatcher = s, s.Dispatcher(slog.Default())
		}
	} else {
		store, err = sqlite.Open(dir, sqlite.Options{})
		dispatcher = &engine.Memory{Ready: func(ctx context.Context, id string, limit int) ([]task.Row, error) {
			return store.TaskRows(ctx, task.RowQuery{Phase: task.Ready, Executor: id, Limit: limit})
		}}
	}
	if err != nil {
		t.Fatal(err)
	}
	var e *engine.Engine
	log, err := ledger.Open(t.Context(), ledger.Config{
		Store: store, Origin: "test", Seed: make([]byte, 32), Owner: fmt.Sprint("a2a ", opened.Add(1)),
		OnTasks: func(w *task.Writes) { e.Changed(w) },
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	var answered sync.WaitGroup
	n.guard, err = guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set, Answered: func(h *approval.Decision) {
		answered.Go(func() { e.Answered(context.Background(), h) })
		answered.Go(func() { n.Answered(context.Background(), h) })
	}})
	if err != nil {
		t.Fatal(err)
	}
	executors := &executor.Registry{}
	for _, d := range []doing{
		{"echo", func(_ context.Context, job *executor.Job) (jsontext.Value, error) { return job.Inputs, nil }},
		{"held", func(_ context.Context, job *executor.Job) (jsontext.Value, error) { return job.Inputs, nil }},
		{"fail", func(context.Context, *executor.Job) (jsontext.Value, error) {
			return nil, executor.Final(errors.New("It is made to fail."))
		}},
		{"wait", func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
			select {
			case <-n.gate:
				return jsontext.Value(`{"text":"waited"}`), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
	} {
		if err := executors.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := executors.Register(a2a.NewConformance()); err != nil {
		t.Fatal(err)
	}
	e = engine.New(engine.Config{
		Guard: n.guard, Store: store, Executors: executors, Node: log.Node(),
		Dispatcher: dispatcher,
	})
	n.engine = e
	callbacks := &outbound.Dialer{AllowPrivate: true}
	cfg := a2a.Config{
		Guard: n.guard, Engine: e, Executors: executors, Open: n.open.Load, Version: "9.9", Alone: !shared, Node: log.Node(),
		Callback: callbacks.Client(outbound.Options{}), Wait: 20 * time.Second,
	}
	if workflow != "" {
		cfg.Workflow = jsontext.Value(workflow)
	}
	if change != nil {
		change(&cfg)
	}
	n.Server = a2a.NewServer(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { n.Run(ctx) })
	stopHTTP, stopGRPC := n.serve(), n.serveGRPC()
	n.stop = sync.OnceFunc(func() {
		n.Close()
		stopHTTP()
		stopGRPC()
		cancel()
		running.Wait()
		answered.Wait()
		log.Close()
		store.Close()
	})
	t.Cleanup(n.stop)
	return n
}

func (n *node) serve() (stop func()) {
	rpc := &jsonrpc.Handler{Namespaces: n.Namespaces(), OtherType: n.Namespaces()[0].OtherType}
	mux := http.NewServeMux()
	mux.Handle("POST /{$}", rpc)
	mux.Handle("POST /a2a", rpc)
	mux.Handle("/rest/", n.REST())
	mux.Handle("/v1/", n.RESTv03())
	mux.Handle("GET /.well-known/agent-card.json", n.Card(false))
	mux.Handle("GET /a2a/.well-known/agent-card.json", n.Card(true))
	mux.HandleFunc("POST /callback", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if n.busy.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		n.calls <- &call{r.Header, string(body)}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(caller(r.Context(), r.Header.Get("Authorization"))))
	}))
	n.url = server.URL
	return func() {
		server.CloseClientConnections()
		server.Close()
	}
}

type asCaller struct {
	grpc.ServerStream
	ctx context.Context
}

func (s asCaller) Context() context.Context { return s.ctx }

func (n *node) serveGRPC() (stop func()) {
	known := func(ctx context.Context) context.Context {
		return caller(ctx, strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ""))
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			return handle(known(ctx), in)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			return handle(srv, asCaller{stream, known(stream.Context())})
		}),
	)
	n.RegisterGRPC(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.Fatal(err)
	}
	n.grpc = listener.Addr().String()
	n.SetGRPC(n.grpc)
	go server.Serve(listener)
	return server.Stop
}

func caller(ctx context.Context, authorization string) context.Context {
	name, ok := strings.CutPrefix(authorization, "Bearer ")
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

// ask sends an HTTP request as somebody.
func (n *node) ask(as, method, path, body string, headers ...string) *http.Response {
	n.Helper()
	r, err := http.NewRequestWithContext(n.Context(), method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.Fatal(err)
	}
	return resp
}

// answer is what was answered.
type answer struct {
	rawjson.Value
	text string
	http int
}

func (n *node) read(resp *http.Response) answer {
	n.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		n.Fatal(err)
	}
	text, _ := strings.CutPrefix(string(bytes.TrimSpace(b)), "data: ")
	a := answer{text: text, http: resp.StatusCode}
	if doc, err := rawjson.Parse([]byte(text)); err == nil {
		a.Value = doc.Root()
	}
	return a
}

// at is the text or raw JSON of what a way of names, and numbers, leads to.
func (a answer) at(way ...string) string {
	v := a.Value
	for _, name := range way {
		if v.Kind() == rawjson.Array {
			for i, e := range v.Elems() {
				if fmt.Sprint(i) == name {
					v = e
					break
				}
			}
			continue
		}
		v = v.Get(name)
	}
	if v.Kind() == rawjson.String {
		return v.Text()
	}
	return string(v.Raw())
}

// result is at within the result.
func (a answer) result(way ...string) string { return a.at(append([]string{"result"}, way...)...) }

func (a answer) code() string { return a.at("error", "code") }

// call makes a call of JSON-RPC as somebody.
func (n *node) call(as, method, params string, headers ...string) answer {
	n.Helper()
	return n.read(n.ask(as, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, headers...))
}

// do makes a call that must succeed.
func (n *node) do(as, method, params string) answer {
	n.Helper()
	a := n.call(as, method, params)
	if a.Get("error").Exists() || !a.Get("result").Exists() {
		n.Fatalf("%s %s: %s", method, params, a.text)
	}
	return a
}

var messages atomic.Int32

// textParams is the params of a message of text; more are members of it.
func textParams(text string, more ...string) string {
	return sent(`{"text":`+string(rawjson.Quote(text))+`}`, "", more...)
}

// sent is the params of a message of some parts.
func sent(parts, configuration string, more ...string) string {
	s := fmt.Sprintf(`{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[%s]%s}`, messages.Add(1), parts, strings.Join(more, ""))
	if configuration != "" {
		s += `,"configuration":` + configuration
	}
	return s + "}"
}

// tasks is a part of data that holds tasks.
func tasks(list string) string { return `{"data":{"tasks":` + list + `}}` }

// one is a task of one executor.
func one(executor string) string {
	return `[{"id":"a","name":"A","schemas":{"method":"` + executor + `"},"inputs":{"n":12345678901234567890}}]`
}

// wait waits until a task has a state.
func (n *node) wait(as, id, state string) answer {
	n.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a := n.do(as, "GetTask", `{"id":"`+id+`"}`)
		if a.result("status", "state") == state {
			return a
		}
		if time.Now().After(end) {
			n.Fatalf("the task never came to %s: %s", state, a.text)
		}
	}
}

// events reads a stream of server-sent events into a channel, which is closed at
// its end.
func (n *node) events(resp *http.Response) <-chan answer {
	c := make(chan answer, 1000)
	go func() {
		defer close(c)
		defer resp.Body.Close()
		body, data := bufio.NewReader(resp.Body), ""
		for {
			line, err := body.ReadString('\n')
			if err != nil {
				return
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data += text
			} else if line == "\n" && data != "" {
				doc, err := rawjson.Parse([]byte(data))
				if err != nil {
					n.Errorf("an event is no JSON: %s", data)
					return
				}
				c <- answer{Value: doc.Root(), text: data}
				data = ""
			}
		}
	}()
	return c
}

// next is a stream's next event.
func (n *node) next(c <-chan answer) answer {
	n.Helper()
	select {
	case a, ok := <-c:
		if !ok {
			n.Fatal("the stream has ended")
		}
		return a
	case <-time.After(30 * time.Second):
		n.Fatal("no event came")
	}
	return answer{}
}

// ended waits for a stream's end.
func (n *node) ended(c <-chan answer) {
	n.Helper()
	select {
	case a, ok := <-c:
		if ok {
			n.Fatalf("the stream has not ended: %s", a.text)
		}
	case <-time.After(30 * time.Second):
		n.Fatal("the stream does not end")
	}
}
