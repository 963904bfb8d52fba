package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

const rules = `
version: 1
name: test
default: allow
rules:
  - name: no-wipe
    on: task.start
    tools: [wipe]
    effect: deny
    code: wipe
    reason: Wiping is never allowed.
    instead: Ask for one file to be removed.
  - name: ask
    on: task.start
    tools: [pay]
    effect: escalate
    code: pay
    reason: Money moves only when a person agrees.
  - name: cards
    on: ["task.*"]
    detect: [pii.card]
    effect: modify
    modify: redact
    code: pii.card
    reason: A card number was masked.
`

// node is an engine on a real store.
type node struct {
	*engine.Engine
	t     testing.TB
	store store.Store
	log   *ledger.Log
	guard *guard.Guard
	works *works
	stop  func()
	// revoked are the principals whose credentials were.
	revoked sync.Map
}

// works are the executors of the tests, and what was seen of them.
type works struct {
	mu      sync.Mutex
	started []string // names of tasks, in the order of their starts
	keys    map[string]int
	now     int // running now
	most    int
	do      func(ctx context.Context, job *executor.Job) (jsontext.Value, error)
}

func (w *works) executor(id string, concurrent int) executor.Executor {
	return work{w, executor.Description{ID: id, InputSchema: jsontext.Value(`{"type":"object"}`), Concurrent: concurrent}}
}

type work struct {
	w *works
	d executor.Description
}

func (e work) Describe() executor.Description { return e.d }

func (e work) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	e.w.mu.Lock()
	e.w.started = append(e.w.started, job.Name)
	e.w.keys[job.Key]++
	e.w.now++
	e.w.most = max(e.w.most, e.w.now)
	do := e.w.do
	e.w.mu.Unlock()
	defer func() {
		e.w.mu.Lock()
		e.w.now--
		e.w.mu.Unlock()
	}()
	if do != nil {
		return do(ctx, job)
	}
	return job.Inputs, nil
}

func (w *works) set(do func(ctx context.Context, job *executor.Job) (jsontext.Value, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.do = do
}

func (w *works) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.started)
}

var opened atomic.Int32

// open opens a node on SQLite.
func open(t testing.TB, dir string) *node {
	t.Helper()
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return openOn(t, store, &engine.Memory{Length: 100, Ready: func(ctx context.Context, id string, limit int) ([]task.Row, error) {
		return store.TaskRows(ctx, task.RowQuery{Phase: task.Ready, Executor: id, Limit: limit})
	}})
}

// openShared opens one of the nodes of a PostgreSQL database.
func openShared(t testing.TB, url string) *node {
	t.Helper()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return openOn(t, store, store.Dispatcher(slog.Default()))
}

func openOn(t testing.TB, store store.Store, dispatcher engine.Dispatcher) *node {
	t.Helper()
	n := &node{t: t, store: store, works: &works{keys: map[string]int{}}}
	var err error
	n.log, err = ledger.Open(t.Context(), ledger.Config{
		Store: store, Origin: "test", Seed: make([]byte, 32), Owner: fmt.Sprint("node ", opened.Add(1)),
		OnTasks: func(w *task.Writes) { n.Changed(w) },
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	if n.guard, err = guard.New(t.Context(), guard.Config{
		Log: n.log, Store: store, Policy: set, Answered: func(h *approval.Decision) { go n.Answered(context.Background(), h) },
	}); err != nil {
		t.Fatal(err)
	}
	executors := &executor.Registry{}
	for _, e := range []executor.Executor{n.works.executor("echo", 256), n.works.executor("one", 1), n.works.executor("wipe", 0), n.works.executor("pay", 0)} {
		if err := executors.Register(e); err != nil {
			t.Fatal(err)
		}
	}
	n.Engine = engine.New(engine.Config{
		Guard: n.guard, Store: store, Executors: executors, Node: n.log.Node(),
		Dispatcher: dispatcher,
		Revoked: func(principal string) bool {
			_, is := n.revoked.Load(principal)
			return is
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	n.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		if err := n.log.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

func TestMain(m *testing.M) { os.Exit(m.Run()) }

// execute executes tasks given as JSON.
func (n *node) execute(params string) (root task.ID, tasks []*task.Task) {
	n.t.Helper()
	tasks, top, err := task.DecodeTasks(jsontext.Value(params), task.Reading{Now: time.Now()})
	if err == nil {
		root, err = n.Create(n.t.Context(), engine.Caller{}, tasks, top, engine.Making{Execute: true, Request: jsontext.Value(params)})
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return root, tasks
}

// wait waits until a tree has ended, and returns its tasks by name.
func (n *node) wait(root task.ID) map[string]*task.Task {
	n.t.Helper()
	n.until(root, func(r task.Row) bool { return r.Open == 0 })
	m := map[string]*task.Task{}
	for _, t := range storetest.Tree(n.t, n.store, root) {
		m[t.Name] = t
	}
	return m
}

func (n *node) until(id task.ID, is func(task.Row) bool) task.Row {
	n.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		r, err := n.store.TaskRow(n.t.Context(), id)
		if err != nil {
			n.t.Fatal(err)
		}
		if is(r) {
			return r
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("it did not come to it: %+v", r)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestTree(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		if job.Name == "broken" {
			return nil, errors.New("no such host")
		}
		return job.Inputs, nil
	})
	root, _ := n.execute(`{"tasks":[
		{"id":"all","name":"all"},
		{"id":"a","name":"a","parent_id":"all","schemas":{"method":"echo"},"inputs":{"n":1}},
		{"id":"b","name":"broken","parent_id":"all","schemas":{"method":"echo"}},
		{"id":"c","name":"c","parent_id":"all","schemas":{"method":"echo"},"inputs":{"from":"${{ a.n }}"},
			"dependencies":[{"id":"a"},{"id":"b","required":false}]},
		{"id":"d","name":"d","parent_id":"all","schemas":{"method":"echo"},"dependencies":[{"id":"b"}]},
		{"id":"e","name":"e","parent_id":"all","schemas":{"method":"echo"},"dependencies":[{"id":"d"}]}
	]}`)
	got := n.wait(root)
	for name, want := range map[string]task.Status{"all": "completed", "a": "completed", "broken": "failed", "c": "completed", "d": "cancelled", "e": "cancelled"} {
		if got[name].Status() != want {
			t.Errorf("%s is %s (%s), want %s", name, got[name].Status(), got[name].Error, want)
		}
	}
	if got := string(got["c"].Result); got != `{"from":1,"a":{"n":1}}` {
		t.Errorf("c gave %s", got)
	}
	for _, name := range []string{"broken", "d", "e"} {
		if got[name].Error == "" {
			t.Errorf("%s does not say why", name)
		}
	}
	if got["a"].Decision == "" || got["a"].Outcome == "" {
		t.Error("a does not name its records")
	}

	// Executed again, only what did not complete runs, and what depends on it.
	n.works.set(nil)
	before := len(n.works.names())
	if _, err := n.Execute(t.Context(), engine.Caller{}, root, engine.Making{}); err != nil {
		t.Fatal(err)
	}
	got = n.wait(root)
	for name, task := range got {
		if task.Status() != "completed" {
			t.Errorf("executed again, %s is %s (%s)", name, task.Status(), task.Error)
		}
	}
	again := n.works.names()[before:]
	slices.Sort(again)
	if want := []string{"broken", "c", "d", "e"}; !slices.Equal(again, want) {
		t.Errorf("executed again: %v, want %v", again, want)
	}
	var wrong *task.Error
	if _, err := n.Execute(t.Context(), engine.Caller{}, root, engine.Making{}); !errors.As(err, &wrong) || wrong.Code != task.CodeTransition {
		t.Errorf("a completed tree executed once more: %v", err)
	}
	n.verify()
}

// verify checks the whole ledger.
func (n *node) verify() {
	n.t.Helper()
	report, err := ledger.Verify(n.t.Context(), n.store, ledger.VerifyOptions{TrustedKey: n.log.VerifierKey()})
	if err != nil || !report.OK() {
		n.t.Errorf("the ledger does not hold: %v %v", report, err)
	}
}

func TestPolicy(t *testing.T) {
	n := open(t, t.TempDir())
	root, _ := n.execute(`{"tasks":[
		{"id":"r","name":"r"},
		{"id":"w","name":"w","parent_id":"r","schemas":{"method":"wipe"}},
		{"id":"c","name":"c","parent_id":"r","schemas":{"method":"echo"},"inputs":{"text":"card 4111 1111 1111 1111"}}
	]}`)
	got := n.wait(root)
	if w := got["w"]; w.Status() != "failed" || w.Error != "Denied: Wiping is never allowed. Ask for one file to be removed. (wipe)" || w.Started.IsZero() {
		t.Errorf("%s: %s", w.Status(), w.Error)
	}
	if slices.Contains(n.works.names(), "w") {
		t.Error("what was denied was executed")
	}
	c := got["c"]
	if string(c.Inputs) != `{"text":"card 4111 1111 1111 1111"}` || c.Judged == nil || string(c.Judged) == string(c.Inputs) {
		t.Errorf("inputs %s, judged %s", c.Inputs, c.Judged)
	}
	if string(c.Result) != string(c.Judged) {
		t.Errorf("it ran with %s, and not with %s", c.Result, c.Judged)
	}
}

// seen is what an approver says of the act that is held. A task's row is there a moment before
// the one who writes it has noted that its approval is.
func (n *node) seen(id string) string {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		h, err := n.guard.Show(n.t.Context(), id)
		if err == nil {
			return h.Seen
		}
		if !errors.Is(err, ledger.ErrNotFound) || time.Now().After(deadline) {
			n.t.Fatal(err)
		}
	}
}

func TestApproval(t *testing.T) {
	n := open(t, t.TempDir())
	root, _ := n.execute(`{"name":"p","schemas":{"method":"pay"},"inputs":{"amount":5}}`)
	r := n.until(root, func(r task.Row) bool { return r.Phase == task.Held })
	if r.Status() != task.Pending || r.Held == "" {
		t.Fatalf("%+v", r)
	}
	by := act.Principal{Name: "key:boss", Method: "key"}
	if _, err := n.guard.Answer(t.Context(), r.Held, by, guard.Reply{Agree: true, Seen: n.seen(r.Held), Note: "fine"}); err != nil {
		t.Fatal(err)
	}
	if got := n.wait(root)["p"]; got.Status() != "completed" {
		t.Errorf("approved, it is %s (%s)", got.Status(), got.Error)
	}
	root, _ = n.execute(`{"name":"p","schemas":{"method":"pay"},"inputs":{"amount":6}}`)
	r = n.until(root, func(r task.Row) bool { return r.Phase == task.Held })
	if _, err := n.guard.Answer(t.Context(), r.Held, by, guard.Reply{Note: "too much"}); err != nil {
		t.Fatal(err)
	}
	if got := n.wait(root)["p"]; got.Status() != "failed" {
		t.Errorf("denied, it is %s (%s)", got.Status(), got.Error)
	}
}

// TestThreat15RevokedTasks: what a credential has left behind does not start once it is revoked:
// neither a run of a schedule, nor what people agree to afterwards.
func TestThreat15RevokedTasks(t *testing.T) {
	n := open(t, t.TempDir())
	create := func(text string) task.ID {
		t.Helper()
		tasks, top, err := task.DecodeTasks(jsontext.Value(text), task.Reading{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		caller := engine.Caller{Principal: act.Principal{Name: "key:stolen", Method: "key"}, User: "key:stolen"}
		root, err := n.Create(t.Context(), caller, tasks, top, engine.Making{Execute: !strings.Contains(text, "schedule")})
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	scheduled := create(`{"name":"s","schemas":{"method":"echo"},"schedule_type":"interval","schedule_expression":"1","schedule_enabled":true,"max_runs":3}`)
	held := create(`{"name":"p","schemas":{"method":"pay"},"inputs":{"amount":5}}`)
	r := n.until(held, func(r task.Row) bool { return r.Phase == task.Held })
	n.until(scheduled, func(r task.Row) bool { return r.Runs >= 1 && r.Phase.Ended() })
	n.revoked.Store("key:stolen", true)
	before := len(n.works.names())
	boss := act.Principal{Name: "key:boss", Method: "key"}
	if _, err := n.guard.Answer(t.Context(), r.Held, boss, guard.Reply{Agree: true, Seen: n.seen(r.Held)}); err != nil {
		t.Fatal(err)
	}
	if got := n.wait(held)["p"]; got.Status() != "failed" || !strings.Contains(got.Error, "revoked") {
		t.Errorf("agreed to after it was revoked: %s (%s)", got.Status(), got.Error)
	}
	last := n.until(scheduled, func(r task.Row) bool { return r.Runs == 3 && r.Phase.Ended() })
	if started := n.works.names()[before:]; last.Status() != task.Failed || len(started) > 0 {
		t.Errorf("its schedule: %s, and started %v", last.Status(), started)
	}
}

// TestApprovalByAnother: a task carries the person who had it made, so that another one can
// agree to its start, and that one cannot.
func TestApprovalByAnother(t *testing.T) {
	n := open(t, t.TempDir())
	set, err := policy.Load(policy.File{Name: "another.yaml", Data: []byte("version: 1\ndefault: allow\nrules: [{name: pay, on: call, tools: [pay], effect: escalate, approval: {another: true}}]\n")})
	if err == nil {
		err = n.guard.SetPolicy(t.Context(), set, act.Principal{Name: "operator", Method: "local"})
	}
	if err != nil {
		t.Fatal(err)
	}
	key := func(name, person string) act.Principal {
		return act.Principal{Name: "key:" + name, Method: "key", Person: person}
	}
	token := act.Principal{Name: "jwt:https://id.example#eve", Method: "jwt"}
	delegate := act.Principal{Name: "jwt:https://id.example#agent?for=ada", Method: "jwt", Delegation: &act.Delegation{
		OnBehalfOf: "jwt:https://id.example#ada", Person: "ada", Actors: []string{"jwt:https://id.example#agent"},
	}}
	for _, tt := range []struct {
		asked act.Principal
		wants map[string]error
	}{
		{key("laptop", "ada"), map[string]error{"desk": approval.ErrSame, "anybody": approval.ErrWho, "boss": nil}},
		{key("laptop", ""), map[string]error{"desk": approval.ErrWho, "boss": approval.ErrWho}},
		{token, map[string]error{"eve": approval.ErrOwn, "anybody": approval.ErrWho, "boss": nil}},
		{delegate, map[string]error{"desk": approval.ErrSame, "anybody": approval.ErrWho, "boss": nil}},
	} {
		tasks, top, err := task.DecodeTasks(jsontext.Value(`{"name":"p","schemas":{"method":"pay"},"inputs":{"amount":5}}`), task.Reading{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		root, err := n.Create(t.Context(), engine.Caller{Principal: tt.asked, User: tt.asked.Name}, tasks, top, engine.Making{Execute: true})
		if err != nil {
			t.Fatal(err)
		}
		r := n.until(root, func(r task.Row) bool { return r.Phase == task.Held })
		for _, by := range []act.Principal{key("anybody", ""), key("desk", "ada"), token, key("boss", "bob")} {
			want, tried := tt.wants[strings.TrimPrefix(by.Name, "key:")]
			if by.Method == "jwt" {
				want, tried = tt.wants["eve"]
			}
			if !tried {
				continue
			}
			if _, err := n.guard.Answer(t.Context(), r.Held, by, guard.Reply{Agree: true, Seen: n.seen(r.Held)}); !errors.Is(err, want) {
				t.Errorf("%s asked, %s (%s) agrees: %v, want %v", tt.asked.Name, by.Name, by.Person, err, want)
			}
		}
		if tt.wants["boss"] == nil {
			if got := n.wait(root)["p"]; got.Status() != "completed" {
				t.Errorf("%s: it is %s (%s)", tt.asked.Name, got.Status(), got.Error)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	n := open(t, t.TempDir())
	stopped := make(chan struct{}, 1)
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		<-ctx.Done()
		stopped <- struct{}{}
		return jsontext.Value(`{"late":true}`), nil // too late: it is cancelled
	})
	root, _ := n.execute(`{"name":"s","schemas":{"method":"echo"}}`)
	n.until(root, func(r task.Row) bool { return r.Phase == task.Running })
	if r, err := n.Cancel(t.Context(), engine.Caller{}, root, "", false); err != nil || r.Status() != task.Cancelled {
		t.Fatalf("%v, %v", r.Status(), err)
	}
	<-stopped
	time.Sleep(20 * time.Millisecond)
	if r, _ := n.store.TaskRow(t.Context(), root); r.Phase != task.PhaseCancelled || r.Error != "Cancelled by user" {
		t.Errorf("%+v", r)
	}
	var wrong *task.Error
	if _, err := n.Cancel(t.Context(), engine.Caller{}, root, "", false); !errors.As(err, &wrong) || wrong.Code != task.CodeTransition {
		t.Errorf("cancelled again: %v", err)
	}
}

func TestRetry(t *testing.T) {
	n := open(t, t.TempDir())
	var tries atomic.Int32
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		if tries.Add(1) < 3 {
			return nil, fmt.Errorf("not yet, at attempt %d", job.Attempt)
		}
		return jsontext.Value(fmt.Sprintf(`{"attempt":%d,"key":%q}`, job.Attempt, job.Key)), nil
	})
	root, _ := n.execute(`{"name":"s","schemas":{"method":"echo"},"params":{"retry":{"max_attempts":3,"initial_delay":0.02}}}`)
	got := n.wait(root)["s"]
	if got.Status() != "completed" || string(got.Result) != fmt.Sprintf(`{"attempt":3,"key":"%s/1"}`, root) {
		t.Errorf("%s %s %s", got.Status(), got.Result, got.Error)
	}
	n.works.mu.Lock()
	defer n.works.mu.Unlock()
	if n.works.keys[root.String()+"/1"] != 3 {
		t.Error(n.works.keys)
	}
}

func TestLimits(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		time.Sleep(time.Millisecond)
		return job.Inputs, nil
	})
	list := `{"id":"r","name":"r"}`
	for i := range 40 {
		list += fmt.Sprintf(`,{"id":"t%d","name":"t%d","parent_id":"r","priority":%d,"schemas":{"method":"one"}}`, i, i%4, i%4)
	}
	root, _ := n.execute(`{"tasks":[` + list + `]}`)
	n.wait(root)
	if n.works.most != 1 {
		t.Errorf("%d ran at once", n.works.most)
	}
	// The first one may have been taken before the others were there.
	if names := n.works.names()[1:]; !slices.IsSorted(names) {
		t.Errorf("not by priority: %v", names)
	}
}

// A node that stops gives back what runs; the next one does it.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	root, _ := n.execute(`{"tasks":[{"id":"r","name":"r","schemas":{"method":"echo"}},{"id":"x","name":"x","parent_id":"r","dependencies":["r"],"schemas":{"method":"one"}}]}`)
	n.until(root, func(r task.Row) bool { return r.Phase == task.Running })
	n.stop()
	n = open(t, dir)
	got := n.wait(root)
	if got["r"].Status() != "completed" || got["r"].Attempt != 2 || got["x"].Status() != "completed" {
		t.Errorf("%+v", got["r"].Row)
	}
	events, err := n.store.TaskEvents(t.Context(), root, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.N != uint64(i)+1 {
			t.Errorf("event %d has the number %d", i+1, e.N)
		}
	}
}

func TestSchedule(t *testing.T) {
	n := open(t, t.TempDir())
	tasks, top, err := task.DecodeTasks(jsontext.Value(`{"name":"s","schemas":{"method":"echo"},"schedule_type":"interval","schedule_expression":"1","schedule_enabled":true,"max_runs":2}`), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	root, err := n.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{})
	if err != nil {
		t.Fatal(err)
	}
	r := n.until(root, func(r task.Row) bool { return r.Runs == 2 && r.Phase.Ended() })
	if r.Run != 2 || !r.Next.IsZero() {
		t.Errorf("%+v", r)
	}
}

// A run that is due while the one before goes on begins when that is over.
func TestScheduleBusy(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-ctx.Done():
		}
		return job.Inputs, nil
	})
	tasks, top, err := task.DecodeTasks(jsontext.Value(`{"name":"s","schemas":{"method":"echo"},"schedule_type":"interval","schedule_expression":"1","schedule_enabled":true,"max_runs":2}`), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	root, err := n.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{})
	if err != nil {
		t.Fatal(err)
	}
	r := n.until(root, func(r task.Row) bool { return r.Runs == 2 && r.Phase.Ended() })
	if len(n.works.names()) != 2 || !r.Next.IsZero() {
		t.Errorf("%d starts; %+v", len(n.works.names()), r)
	}
}

func TestProgress(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		for i := range 1000 {
			job.Progress(float64(i)/1000, fmt.Sprint("line ", i))
		}
		return job.Inputs, nil
	})
	root, _ := n.execute(`{"name":"s","schemas":{"method":"echo"}}`)
	n.wait(root)
	events, err := n.store.TaskEvents(t.Context(), root, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var progress []task.Event
	for _, e := range events {
		if e.Type == task.ProgressUpdate {
			progress = append(progress, e)
		}
	}
	if len(progress) == 0 || len(progress) > 10 || progress[len(progress)-1].Progress != 0.999 {
		t.Errorf("%d events of progress: %+v", len(progress), progress)
	}
	if last := events[len(events)-1]; last.Type != task.TaskCompleted || last.Progress != 1 {
		t.Errorf("%+v", last)
	}
}

// Two nodes share a database: a tree is executed once, whoever has it executed;
// a cancel reaches the node that runs the task; and approvals answered on one let
// tasks of the other go on.
func TestShared(t *testing.T) {
	url := storetest.Postgres(t)
	one, two := openShared(t, url), openShared(t, url)
	var list strings.Builder
	list.WriteString(`{"id":"r","name":"r"}`)
	for i := range 200 {
		fmt.Fprintf(&list, `,{"id":"t%d","name":"t%d","parent_id":"r","schemas":{"method":"echo"}}`, i, i)
	}
	root, _ := one.execute(`{"tasks":[` + list.String() + `]}`)
	for name, x := range two.wait(root) {
		if x.Status() != task.Completed || x.Attempt != 1 {
			t.Errorf("%s is %s after %d attempts: %s", name, x.Status(), x.Attempt, x.Error)
		}
	}
	if a, b := len(one.works.names()), len(two.works.names()); a+b != 200 {
		t.Errorf("%d and %d tasks were executed", a, b)
	}

	stopped := make(chan time.Time, 2)
	wait := func(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
		<-ctx.Done()
		stopped <- time.Now()
		return nil, ctx.Err()
	}
	one.works.set(wait)
	two.works.set(wait)
	for _, n := range []*node{one, two} { // one of them does not run it
		root, _ := one.execute(`{"name":"s","schemas":{"method":"echo"}}`)
		n.until(root, func(r task.Row) bool { return r.Phase == task.Running })
		begin := time.Now()
		if _, err := n.Cancel(t.Context(), engine.Caller{}, root, "", false); err != nil {
			t.Fatal(err)
		}
		select {
		case at := <-stopped:
			t.Logf("stopped after %v", at.Sub(begin))
		case <-time.After(10 * time.Second):
			t.Fatal("the cancel did not arrive")
		}
	}
	one.works.set(nil)
	two.works.set(nil)

	root, _ = one.execute(`{"name":"p","schemas":{"method":"pay"}}`)
	r := one.until(root, func(r task.Row) bool { return r.Phase == task.Held })
	if _, err := two.guard.Answer(t.Context(), r.Held, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: two.seen(r.Held)}); err != nil {
		t.Fatal(err)
	}
	if got := one.wait(root)["p"]; got.Status() != task.Completed {
		t.Errorf("approved, it is %s (%s)", got.Status(), got.Error)
	}
}
