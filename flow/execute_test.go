package flow_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
)

// TestExecute: the answer comes at once, and names a root that tasks.get knows.
func TestExecute(t *testing.T) {
	n := begin(t)
	a := n.do("ann", "tasks.execute", `{"tasks":[{"id":"task1","name":"Task 1","user_id":"key:ann","schemas":{"method":"wait"},"inputs":{}}]}`)
	root := a.result("root_task_id")
	want := fmt.Sprintf(`{"root_task_id":%q,"status":"started","task_id":%q,"tasks":[{"id":%q,"client_id":"task1"}]}`, root, root, root)
	if diff := cmp.Diff(want, a.result()); diff != "" {
		t.Error(diff)
	}
	n.wait("ann", root, task.InProgress)
	close(n.gate)
	if got := n.wait("ann", root, task.Completed); got.result("result", "waited") != "true" || got.result("progress") != "1" {
		t.Errorf("at the end: %s", got.text)
	}
}

// TestExecuteOrder: by dependencies and by priority; parents and children say nothing.
func TestExecuteOrder(t *testing.T) {
	n := begin(t)
	root := n.execute("", `[
		{"id":"root","name":"R","schemas":{"method":"echo"},"dependencies":["c"],"inputs":{"sum":"${{ c.sum }}+"}},
		{"id":"a","name":"A","parent_id":"root","schemas":{"method":"echo"},"inputs":{"n":1}},
		{"id":"b","name":"B","parent_id":"root","schemas":{"method":"fail"}},
		{"id":"c","name":"C","parent_id":"root","schemas":{"method":"echo"},"dependencies":[{"id":"a"},{"id":"b","required":false}],"inputs":{"sum":"${{ a.n }}"}}]`)
	got := n.wait("", root, task.Completed)
	if got.result("result", "sum") != "1+" {
		t.Errorf("the root's result is %s", got.result("result"))
	}
}

// TestPriority: of what could start, the most urgent does.
func TestPriority(t *testing.T) {
	n := begin(t)
	first := n.execute("", `[{"name":"first","schemas":{"method":"turn"}}]`)
	n.wait("", first, task.InProgress)
	root := n.execute("", `[{"id":"r","name":"3","priority":3,"schemas":{"method":"turn"}},{"name":"1","priority":1,"parent_id":"r","schemas":{"method":"turn"}},
		{"name":"0","priority":0,"parent_id":"r","schemas":{"method":"turn"}},{"name":"2","parent_id":"r","schemas":{"method":"turn"}}]`)
	close(n.gate)
	n.wait("", root, task.Completed)
	n.mu.Lock()
	defer n.mu.Unlock()
	if diff := cmp.Diff([]string{"first", "0", "1", "2", "3"}, n.turns); diff != "" {
		t.Error(diff)
	}
}

// TestPriorityStarts: of what is ready at once, and has room, the most urgent begins first
// all the same, by the times that the tasks tell.
func TestPriorityStarts(t *testing.T) {
	n := begin(t)
	const many = 60
	tasks := `{"id":"r","name":"R","dependencies":["0"]}`
	for i := range many {
		tasks += fmt.Sprintf(`,{"id":"%d","name":"%d","parent_id":"r","priority":%d,"schemas":{"method":%q}}`, i, i, (i*7)%4, []string{"count", "echo", "steps"}[i%3])
	}
	root := n.execute("", "["+tasks+"]")
	until := time.Now().Add(20 * time.Second)
	for {
		var starts [4][]string
		started := 0
		for _, node := range n.do("", "tasks.tree", id(root)).Get("result").Get("children").Elems() {
			v := node.Get("task")
			if at := v.Get("started_at"); at.Kind() == rawjson.String {
				p, _ := v.Get("priority").Int()
				starts[p] = append(starts[p], at.Text())
				started++
			}
		}
		if started < many && time.Now().Before(until) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if started < many {
			t.Fatalf("%d of %d have begun", started, many)
		}
		for p := range 3 {
			if last, next := slices.Max(starts[p]), slices.Min(starts[p+1]); last > next {
				t.Errorf("a task of priority %d began at %s, and one of priority %d at %s", p, last, p+1, next)
			}
		}
		return
	}
}

// TestParallelUpdates: changes of one task at the same time are all made, also while
// its own work changes it.
func TestParallelUpdates(t *testing.T) {
	n := begin(t)
	root := n.execute("ann", `[{"name":"S","schemas":{"method":"steps"}}]`)
	parallel(50, func(i int) {
		n.do("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"params":{"n%d":1},"priority":%d}}`, root, i, i%4))
	})
	n.wait("ann", root, task.Completed)
}

// TestRetry: a failure is tried again as params.retry says; the attempts of a run
// have the same key, and another run has another.
func TestRetry(t *testing.T) {
	n := begin(t)
	const tasks = `[{"name":"F","schemas":{"method":"flaky"},"params":{"retry":{"max_attempts":%d,"backoff":"fixed","initial_delay":0.01}}}]`
	root := n.execute("", fmt.Sprintf(tasks, 3))
	if got := n.wait("", root, task.Completed); got.result("attempt") != "3" {
		t.Errorf("at the end: %s", got.text)
	}
	root = n.execute("", fmt.Sprintf(tasks, 2))
	n.wait("", root, task.Failed)
	n.do("", "tasks.execute", id(root))
	n.wait("", root, task.Completed)
	n.mu.Lock()
	defer n.mu.Unlock()
	if diff := cmp.Diff([]string{"1 /1", "2 /1", "3 /1", "1 /1", "2 /1", "1 /2"}, n.tries); diff != "" {
		t.Error(diff)
	}
}

// TestExecuteFailed: a required dependency that fails keeps its dependents from
// running; executing the tree again runs them, and not what completed.
func TestExecuteFailed(t *testing.T) {
	n := begin(t)
	a := n.do("", "tasks.execute", `{"tasks":[
		{"id":"r","name":"R","schemas":{"method":"count"},"dependencies":["bad"]},
		{"id":"good","name":"Good","parent_id":"r","schemas":{"method":"count"}},
		{"id":"bad","name":"Bad","parent_id":"r","schemas":{"method":"fail"},"dependencies":["good"]}]}`)
	root := a.result("root_task_id")
	ids := map[string]string{}
	for _, m := range a.Get("result").Get("tasks").Elems() {
		ids[m.Get("client_id").Text()] = m.Get("id").Text()
	}
	got := n.wait("", root, task.Cancelled)
	if !strings.Contains(got.result("error"), "Bad") || !strings.Contains(got.result("error"), "failed") {
		t.Errorf("the dependent's error is %q", got.result("error"))
	}
	if got := n.wait("", ids["bad"], task.Failed); got.result("error") != "It is made to fail." || got.result("completed_at") == "null" {
		t.Errorf("what failed: %s", got.text)
	}
	n.do("", "tasks.update", `{"task_id":"`+ids["bad"]+`","updates":{"schemas":{"method":"count"}}}`)
	if a := n.do("", "tasks.execute", `{"task_id":"`+root+`"}`); a.result("root_task_id") != root || a.result("status") != "started" {
		t.Errorf("again: %s", a.text)
	}
	n.wait("", root, task.Completed)
	if got := n.runs.Load(); got != 3 { // good once, bad and the root
		t.Errorf("there were %d runs", got)
	}
	if a := n.call("", "tasks.execute", id(root)); a.code() != task.CodeTransition {
		t.Errorf("what has completed: %s", a.text)
	}
}

// TestDenied: a denied start fails without the executor.
func TestDenied(t *testing.T) {
	n := begin(t)
	root := n.execute("", `[{"name":"W","schemas":{"method":"wipe"}}]`)
	got := n.wait("", root, task.Failed)
	if !strings.Contains(got.result("error"), "Wiping is never allowed") || got.result("decision_id") == "" {
		t.Errorf("denied: %s", got.text)
	}
}

// TestCancel: pending or in progress becomes cancelled, for ever, and all under it.
func TestCancel(t *testing.T) {
	n := begin(t)
	a := n.do("", "tasks.execute", `{"tasks":[{"id":"r","name":"R","schemas":{"method":"wait"}},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"wait"},"dependencies":["r"]}]}`)
	root := a.result("root_task_id")
	n.wait("", root, task.InProgress)
	if diff := cmp.Diff(`{"task_id":"`+root+`","status":"cancelled"}`, n.do("", "tasks.cancel", `{"task_id":"`+root+`","error_message":"Enough."}`).result()); diff != "" {
		t.Error(diff)
	}
	close(n.gate)
	for _, m := range a.Get("result").Get("tasks").Elems() {
		got := n.wait("", m.Get("id").Text(), task.Cancelled)
		if got.result("error") == "" || got.result("completed_at") == "null" {
			t.Errorf("cancelled: %s", got.text)
		}
	}
	if got := n.do("", "tasks.get", id(root)); got.result("error") != "Enough." {
		t.Errorf("the reason: %s", got.text)
	}
	if a := n.call("", "tasks.cancel", id(root)); a.code() != task.CodeTransition {
		t.Errorf("once more: %s", a.text)
	}
	pending := n.do("", "tasks.create", `{"name":"P"}`).result("id")
	n.do("", "tasks.cancel", id(pending))
	n.wait("", pending, task.Cancelled)
}

// TestA2A: with metadata or configuration beside params the answer has the text's
// A2A shape.
func TestA2A(t *testing.T) {
	n := begin(t)
	tasks := `{"tasks":[{"name":"T","schemas":{"method":"wait"}}]}`
	a := n.do("ann", "tasks.execute", tasks, `,"metadata":{"stream":false}`)
	root := a.result("context_id")
	for _, b := range []answer{a, n.do("ann", "execute_task_tree", tasks, fmt.Sprintf(`,"configuration":{"push_notification_config":{"url":%q}}`, n.url+"/callback"))} {
		r := b.Get("result")
		data := rawjson.Value{}
		for _, part := range r.Get("status").Get("message").Get("parts").Elems() {
			data = part.Get("data")
		}
		if b.result("kind") != "task" || b.result("id") == b.result("context_id") || b.result("metadata", "protocol") != "a2a" ||
			b.result("metadata", "root_task_id") != b.result("context_id") || b.result("metadata", "user_id") != "key:ann" || b.result("artifacts") != "[]" ||
			data.Get("protocol").Text() != "a2a" || data.Get("root_task_id").Text() != b.result("context_id") || !data.Get("progress").Exists() {
			t.Errorf("the answer is %s", b.text)
		}
		if state := b.result("status", "state"); state != "submitted" && state != "working" {
			t.Errorf("the state is %q", state)
		}
	}
	c := n.do("ann", "tasks.cancel", id(root), `,"metadata":{"error_message":"No more."}`)
	if c.result("status", "state") != "canceled" || c.result("context_id") != root || !strings.Contains(c.text, `"status":"cancelled"`) || !strings.Contains(c.text, "No more.") {
		t.Errorf("cancel: %s", c.text)
	}
	// The upstream's cancel names the task beside params.
	again := n.do("ann", "tasks.create", `{"name":"T"}`).result("id")
	d := n.do("ann", "cancel", `{}`, `,"task_id":"`+again+`","metadata":{"force":true}`)
	if d.result("final") != "true" || d.result("task_id") != again || d.result("status", "state") != "canceled" {
		t.Errorf("the upstream's cancel: %s", d.text)
	}
	// An existing task is named in metadata, too.
	e := n.do("ann", "tasks.create", `{"name":"E","schemas":{"method":"echo"}}`).result("id")
	if x := n.do("ann", "tasks.execute", `{}`, `,"metadata":{"task_id":"`+e+`"}`); x.result("context_id") != e {
		t.Errorf("an existing task: %s", x.text)
	}
	n.wait("ann", e, task.Completed)
}

// TestA2AForm: whatever is asked in A2A's form is answered so: what is about one task as a
// task, with its result as an artifact when it has ended, and everything else with the
// protocol's name.
func TestA2AForm(t *testing.T) {
	n := begin(t)
	const beside = `,"metadata":{"stream":false}`
	tasks := `{"tasks":[{"id":"r","name":"R","dependencies":["a"]},{"id":"a","name":"A","parent_id":"r","schemas":{"method":"echo"},"inputs":{"x":1}}]}`
	// Who wants to wait gets the end.
	done := n.do("ann", "tasks.execute", `{"tasks":[{"name":"E","schemas":{"method":"echo"},"inputs":{"x":1}}]}`, `,"configuration":{"blocking":true}`)
	if done.result("status", "state") != "completed" || !strings.Contains(done.result("artifacts"), `{"x":1}`) {
		t.Errorf("an execution that is waited for: %s", done.text)
	}
	plain := n.do("ann", "tasks.execute", `{"tasks":[{"name":"E","schemas":{"method":"echo"}}],"configuration":{"blocking":true}}`)
	if got := n.do("ann", "tasks.get", id(plain.result("root_task_id"))); got.result("status") != "completed" {
		t.Errorf("after a plain execution that is waited for: %s", got.text)
	}
	root := n.do("ann", "tasks.execute", tasks, beside).result("context_id")
	n.wait("ann", root, task.Completed)
	for _, c := range []struct{ method, params, state string }{
		{"tasks.get", id(root), "completed"},
		{"tasks.detail", id(root), "completed"},
		{"tasks.create", `{"name":"C"}`, "submitted"},
		{"tasks.update", `{"task_id":"` + root + `","updates":{"name":"N"}}`, "completed"},
		{"tasks.copy", id(root), "submitted"},
	} {
		a := n.do("ann", c.method, c.params, beside)
		if a.result("kind") != "task" || a.result("metadata", "protocol") != "a2a" || a.result("metadata", "user_id") != "key:ann" || a.result("status", "state") != c.state {
			t.Errorf("%s: %s", c.method, a.text)
		}
	}
	for _, c := range []struct{ method, params string }{
		{"tasks.list", `{}`}, {"tasks.tree", id(root)}, {"tasks.children", `{"parent_id":"` + root + `"}`}, {"tasks.count", `{}`},
		{"tasks.delete", id(n.do("ann", "tasks.create", `{"name":"D"}`).result("id"))},
	} {
		if a := n.do("ann", c.method, c.params, beside); a.result("metadata", "protocol") != "a2a" {
			t.Errorf("%s: %s", c.method, a.text)
		}
		if c.method == "tasks.delete" {
			continue
		}
		if a := n.do("ann", c.method, c.params); strings.Contains(a.text, `"a2a"`) {
			t.Errorf("%s in its plain form: %s", c.method, a.text)
		}
	}
	// Whose the tasks are can stand in metadata, as the table of the text has it.
	n.open.Store(true)
	u := n.do("", "tasks.create", `{"name":"U"}`, `,"metadata":{"user_id":"user123"}`)
	if u.result("metadata", "user_id") != "user123" {
		t.Errorf("a user in metadata: %s", u.text)
	}
	n.open.Store(false)
	if a := n.call("ann", "tasks.create", `{"name":"U"}`, `,"metadata":{"user_id":"bob"}`); a.code() != task.CodeUnauthorized {
		t.Errorf("another user in metadata: %s", a.text)
	}
	// A tree that is being executed is working, and as far as it is.
	busy := n.do("ann", "tasks.execute", `{"tasks":[{"id":"r","name":"R","dependencies":["w","a"]},{"id":"w","name":"W","parent_id":"r","schemas":{"method":"wait"}},
		{"id":"a","name":"A","parent_id":"r","schemas":{"method":"echo"}}]}`, beside).result("context_id")
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a := n.do("ann", "tasks.get", id(busy), beside)
		if a.result("status", "state") != "working" {
			t.Fatalf("a tree that is being executed: %s", a.text)
		}
		if strings.Contains(a.text, `"progress":0.33`) {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("a tree of which a third has ended: %s", a.text)
		}
	}
	close(n.gate)
	n.wait("ann", busy, task.Completed)
}

// TestSubject: the text's own calls name the user as the credential does.
func TestSubject(t *testing.T) {
	n := begin(t)
	a := n.do("ann", "tasks.create", `{"name":"T","user_id":"ann"}`)
	if got := n.do("ann", "tasks.get", id(a.result("id"))); got.result("user_id") != "key:ann" {
		t.Errorf("it belongs to %s", got.text)
	}
	if got := n.do("ann", "tasks.list", `{"user_id":"ann"}`); got.result("total") != "1" {
		t.Errorf("the list: %s", got.text)
	}
	n.do("ann", "tasks.update", `{"task_id":"`+a.result("id")+`","updates":{"user_id":"ann"}}`)
	n.do("ann", "tasks.execute", `{"tasks":[{"id":"task1","name":"Task 1","user_id":"ann","schemas":{"method":"echo"},"inputs":{}}]}`)
	if got := n.call("bob", "tasks.create", `{"name":"T","user_id":"ann"}`); got.code() != task.CodeUnauthorized {
		t.Errorf("another's subject: %s", got.text)
	}
	if got := n.do("bob", "tasks.list", `{"user_id":"ann"}`); got.result("total") != "0" {
		t.Errorf("another's list: %s", got.text)
	}
}

// TestResumable: what was cancelled by somebody who means to go on runs when the tree is
// executed again, and what had completed does not; what was cancelled otherwise stays so.
func TestResumable(t *testing.T) {
	n := begin(t)
	const tree = `[{"id":"r","name":"R","schemas":{"method":"echo"},"dependencies":["w"]},{"id":"d","name":"D","parent_id":"r","schemas":{"method":"count"}},
		{"id":"w","name":"W","parent_id":"r","dependencies":["d"],"schemas":{"method":"wait"}}]`
	states := func(root string) string {
		t.Helper()
		tree := n.do("ann", "tasks.tree", id(root)).Get("result")
		all := []string{tree.Get("task").Get("name").Text() + " " + tree.Get("task").Get("status").Text() + " " + string(tree.Get("task").Get("resumable").Raw())}
		for _, c := range tree.Get("children").Elems() {
			all = append(all, c.Get("task").Get("name").Text()+" "+c.Get("task").Get("status").Text()+" "+string(c.Get("task").Get("resumable").Raw()))
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	running := func() string {
		t.Helper()
		a := n.do("ann", "tasks.execute", tree)
		for _, m := range a.Get("result").Get("tasks").Elems() {
			if m.Get("client_id").Text() == "w" {
				n.wait("ann", m.Get("id").Text(), task.InProgress)
			}
		}
		return a.result("root_task_id")
	}
	root, other := running(), running()
	n.do("ann", "tasks.cancel", `{"task_id":"`+root+`","resumable":true,"error_message":"Interrupted"}`)
	if got := states(root); got != "D completed , R cancelled true, W cancelled true" {
		t.Errorf("after the interruption: %s", got)
	}
	n.do("ann", "tasks.cancel", id(other))
	if got := states(other); got != "D completed , R cancelled , W cancelled " {
		t.Errorf("after a cancel: %s", got)
	}
	if a := n.call("ann", "tasks.execute", id(other)); a.code() != task.CodeTransition {
		t.Errorf("what was cancelled for good: %s", a.text)
	}
	runs := n.runs.Load()
	n.do("ann", "tasks.execute", id(root))
	close(n.gate)
	n.wait("ann", root, task.Completed)
	if got := n.runs.Load() - runs; got != 0 {
		t.Errorf("what had completed ran %d times more", got)
	}
}

// TestFailedResult: what a task gave although it failed is kept, and nobody builds on it.
func TestFailedResult(t *testing.T) {
	n := begin(t)
	a := n.do("", "tasks.execute", `[{"id":"r","name":"R","schemas":{"method":"echo"},"dependencies":[{"id":"h","required":false}]},{"id":"h","name":"H","parent_id":"r","schemas":{"method":"half"}}]`)
	root := a.result("root_task_id")
	got := n.wait("", root, task.Completed)
	if strings.Contains(got.text, "half") {
		t.Errorf("who waited for it got %s", got.text)
	}
	for _, node := range n.do("", "tasks.tree", id(root)).Get("result").Get("children").Elems() {
		v := node.Get("task")
		if v.Get("status").Text() != "failed" || string(v.Get("result").Raw()) != `{"half":"done"}` || v.Get("error").Text() != "It went wrong." {
			t.Errorf("what failed: %s", v.Raw())
		}
	}
}

// TestWaysOut: a refusal of a tree says what to do instead.
func TestWaysOut(t *testing.T) {
	n := begin(t)
	a := n.do("", "tasks.create", `{"name":"A"}`).result("id")
	for _, c := range []struct {
		params string
		code   int
		method string
	}{
		{`{"name":"B","dependencies":["` + a + `"]}`, task.CodeNeeds, "tasks.create"},
		{`[{"id":"1","name":"1"},{"id":"2","name":"2","dependencies":["1"]}]`, task.CodeTree, "tasks.execute"},
	} {
		if got := n.call("", c.method, c.params); got.code() != c.code || !strings.Contains(got.text, "parent_id") {
			t.Errorf("%s: %s", c.params, got.text)
		}
	}
	n.do("", "tasks.create", `{"name":"B","parent_id":"`+a+`","dependencies":["`+a+`"]}`)
	if got := n.call("", "tasks.execute", `{"tasks":[{"name":"T"}]}`, `,"configuration":{"push_notification_config":{"url":"http://10.0.0.1/"}}`); got.code() != -32602 ||
		!strings.Contains(got.text, "configuration.push_notification_config.url") || !strings.Contains(got.text, "10.0.0.1 is not public") {
		t.Errorf("a callback that may not be called: %s", got.text)
	}
}

// TestPush: a callback at each change of status, with the client's headers, signed.
func TestPush(t *testing.T) {
	n := begin(t)
	root := n.do("", "tasks.execute", fmt.Sprintf(`{"tasks":[{"name":"T","schemas":{"method":"echo"},"inputs":{"a":1}}],
		"configuration":{"push_notification_config":{"url":%q,"headers":{"Authorization":"Bearer token"},"method":"POST"}}}`, n.url+"/callback")).result("root_task_id")
	var statuses []string
	for len(statuses) == 0 || statuses[len(statuses)-1] != "completed" {
		select {
		case r := <-n.pushes:
			body, _ := io.ReadAll(r.Body)
			doc, err := rawjson.Parse(body)
			if err != nil || doc.Root().Get("task_id").Text() != root || r.Header.Get("Authorization") != "Bearer token" {
				t.Fatalf("the callback is %s, with %v: %v", body, r.Header, err)
			}
			at, sum, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Reeve-Signature"), "t="), ",v1=")
			mac := hmac.New(sha256.New, []byte("secret"))
			mac.Write([]byte(at + "." + string(body)))
			if hex.EncodeToString(mac.Sum(nil)) != sum {
				t.Errorf("the signature is %s", r.Header.Get("X-Reeve-Signature"))
			}
			statuses = append(statuses, doc.Root().Get("status").Text())
			if s := statuses[len(statuses)-1]; s == "completed" && string(doc.Root().Get("result").Raw()) != `{"a":1}` {
				t.Errorf("the last callback is %s", body)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("the callbacks were %v", statuses)
		}
	}
	if diff := cmp.Diff([]string{"in_progress", "completed"}, statuses); diff != "" {
		t.Error(diff)
	}
	head, err := n.store.Head(t.Context(), n.log.Number())
	if err != nil {
		t.Fatal(err)
	}
	var records strings.Builder
	if err := ledger.Export(t.Context(), n.store, ledger.Range{Log: n.log.Number(), To: head.Size}, true, &records); err != nil {
		t.Fatal(err)
	}
	if text := records.String(); !strings.Contains(text, "push_notification_config") || strings.Contains(text, "Bearer token") {
		t.Errorf("the secret header, or not even the call, is in the records: %s", text)
	}
}

// TestPushRetry: a callback that fails is made again, the same, before the next one.
func TestPushRetry(t *testing.T) {
	n := begin(t)
	n.busy.Store(1)
	n.do("", "tasks.execute", `{"tasks":[{"name":"T","schemas":{"method":"echo"}}]}`, fmt.Sprintf(`,"configuration":{"push_notification_config":{"url":%q}}`, n.url+"/callback"))
	var events, bodies []string
	for range 3 {
		select {
		case r := <-n.pushes:
			body, _ := io.ReadAll(r.Body)
			events, bodies = append(events, r.Header.Get("X-Reeve-Event")), append(bodies, string(body))
		case <-time.After(30 * time.Second):
			t.Fatalf("the callbacks were %v", bodies)
		}
	}
	if events[0] != events[1] || bodies[0] != bodies[1] || events[1] == events[2] || !strings.Contains(bodies[2], `"completed"`) {
		t.Errorf("the callbacks were %v, %v", events, bodies)
	}
}

// TestErrors reaches each code, and the helpful fields of the invalid ones.
func TestErrors(t *testing.T) {
	n := begin(t)
	root := n.do("", "tasks.create", `{"name":"R","children":[{"name":"C"}]}`).result("id")
	busy := n.execute("", `[{"name":"W","schemas":{"method":"wait"}}]`)
	n.wait("", busy, task.InProgress)
	lone := n.do("", "tasks.create", `[{"id":"r","name":"R"},{"id":"a","name":"A","parent_id":"r"},{"id":"b","name":"B","parent_id":"r","dependencies":["a"]}]`).Get("result").Get("tasks")
	// The root may stand last, also of whom tasks belong to (reeve run sends it so).
	if last := n.do("ann", "tasks.create", `[{"id":"a","name":"A","parent_id":"r"},{"id":"r","name":"R"}]`); last.code() != 0 {
		t.Errorf("a tree whose root stands last: %s", last.text)
	}
	var b string
	for _, m := range lone.Elems() {
		b = m.Get("id").Text()
	}
	message := map[int]string{-32001: "Task not found", -32002: "Circular dependency detected", -32003: "Executor not found", -32004: "Unauthorized", -32602: "Invalid params", -32601: "Method not found"}
	tests := []struct {
		method, params string
		code           int
		field          string
	}{
		{"tasks.get", id(nobody), -32001, ""},
		{"tasks.execute", `{"tasks":[{"id":"a","name":"A","dependencies":["a"]}]}`, -32002, ""},
		{"tasks.execute", `{"tasks":[{"name":"A","schemas":{"method":"nothing"}}]}`, -32003, "schemas.method"},
		{"tasks.create", `{"name":"A","origin_type":"link"}`, -32005, "original_task_id"},
		{"tasks.create", `{"name":"A","origin_type":"link","original_task_id":"` + nobody + `"}`, -32005, "original_task_id"},
		{"tasks.execute", id(b), -32007, ""},
		{"tasks.execute", id(busy), -32008, ""},
		{"tasks.delete", id(root), -32009, ""},
		{"tasks.create", `{"name":"A","parent_id":"` + nobody + `"}`, -32010, "parent_id"},
		{"tasks.create", `{"name":"A","parent_id":"` + root + `","dependencies":["` + nobody + `"]}`, -32011, "dependencies[0].id"},
		{"tasks.create", `[{"name":"A"},{"name":"B"}]`, -32012, ""},
		{"tasks.generate", `{}`, -32601, ""},
		{"tasks.nothing", `{}`, -32601, ""},
		{"tasks.get", `{"task_id":"task-uuid"}`, -32602, "task_id"},
		{"tasks.get", `{"task_id":7}`, -32602, "task_id"},
		{"tasks.get", `{}`, -32602, "task_id"},
		{"tasks.get", `[]`, -32602, "params"},
		{"tasks.create", `{}`, -32602, "name"},
		{"tasks.create", `{"name":"A","priority":4}`, -32602, "priority"},
		{"tasks.create", `{"name":"A","priority":1.5}`, -32602, "priority"},
		{"tasks.create", `{"name":"A","inputs":[]}`, -32602, "inputs"},
		{"tasks.create", `{"name":"A","status":"completed"}`, -32602, "status"},
		{"tasks.create", `{"name":"A","result":{}}`, -32602, "result"},
		{"tasks.create", `{"name":"A","created_at":"2026-01-01T00:00:00Z"}`, -32602, "created_at"},
		{"tasks.create", `{"name":"A","parent_id":"task1"}`, -32602, "parent_id"},
		{"tasks.create", `{"name":"A","schemas":{"method":"number"},"inputs":{"n":"x"}}`, -32602, "inputs.n"},
		{"tasks.execute", `{}`, -32602, "tasks"},
		{"tasks.execute", `{"tasks":[]}`, -32602, "tasks"},
		{"tasks.execute", `{"tasks":{}}`, -32602, "tasks"},
		{"tasks.execute", `{"tasks":[{"name":"A"}],"task_id":"` + root + `"}`, -32602, "task_id"},
		{"tasks.execute", `{"tasks":[{"name":"A"}],"use_streaming":"yes"}`, -32602, "use_streaming"},
		{"tasks.execute", `{"task_id":"` + root + `","metadata":[]}`, -32602, "metadata"},
		{"tasks.execute", `{"task_id":"` + root + `","metadata":{"stream":1}}`, -32602, "metadata.stream"},
		{"tasks.list", `{"limit":0}`, -32602, "limit"},
		{"tasks.list", `{"limit":1001}`, -32602, "limit"},
		{"tasks.list", `{"limit":"many"}`, -32602, "limit"},
		{"tasks.list", `{"offset":-1}`, -32602, "offset"},
		{"tasks.list", `{"status":"deleted"}`, -32602, "status"},
		{"tasks.list", `{"user_id":{}}`, -32602, "user_id"},
		{"tasks.list", `{"user_id":"\u0000"}`, -32602, "user_id"},
		{"tasks.list", `{"root_only":"x"}`, -32602, "root_only"},
		{"tasks.count", `{"statuses":"failed"}`, -32602, "statuses"},
		{"tasks.count", `{"statuses":["gone"]}`, -32602, "statuses"},
		{"tasks.tree", `{"task_id":"x"}`, -32602, "task_id"},
		{"tasks.children", `{}`, -32602, "parent_id"},
		{"tasks.copy", `{"task_id":"` + root + `","copy_children":1}`, -32602, "copy_children"},
		{"tasks.delete", `{"task_id":"` + root + `","cascade":"yes"}`, -32602, "cascade"},
		{"tasks.cancel", `{"task_ids":[]}`, -32602, "task_ids"},
		{"tasks.cancel", `{"task_ids":["x"]}`, -32602, "task_ids[0]"},
		{"tasks.cancel", `{"task_id":"` + root + `","task_ids":["` + root + `"]}`, -32602, "task_id"},
		{"tasks.cancel", `{"task_id":"` + root + `","force":2}`, -32602, "force"},
		{"tasks.cancel", `{"task_id":"` + root + `","error_message":""}`, -32602, "error_message"},
		{"tasks.running.status", `{}`, -32602, "task_ids"},
		{"tasks.scheduled.list", `{"schedule_type":"hourly"}`, -32602, "schedule_type"},
		{"tasks.scheduled.due", `{"before":"tomorrow"}`, -32602, "before"},
		{"tasks.scheduled.due", `{"before":"9999-01-01T00:00:00Z"}`, -32602, "before"},
	}
	for _, tt := range tests {
		a := n.call("", tt.method, tt.params)
		if a.code() != tt.code || message[tt.code] != "" && a.at("error", "message") != message[tt.code] || a.at("error", "data", "reason") == "" && tt.code != -32002 {
			t.Errorf("%s %s: %s", tt.method, tt.params, a.text)
		}
		if tt.field != "" && a.at("error", "data", "field") != tt.field {
			t.Errorf("%s %s: the field is %q, not %q: %s", tt.method, tt.params, a.at("error", "data", "field"), tt.field, a.text)
		}
	}
	if a := n.call("", "tasks.get", `{"task_id":"abc"}`); a.at("error", "data", "reason") != "Invalid UUID format" {
		t.Errorf("no UUID: %s", a.text)
	}
	if a := n.call("ann", "tasks.create", `{"name":"A","user_id":"key:bob"}`); a.code() != -32004 {
		t.Errorf("for somebody else: %s", a.text)
	}
	close(n.gate)
}

// TestPushRefused: what no callback can be made with.
func TestPushRefused(t *testing.T) {
	n := begin(t)
	for config, field := range map[string]string{
		`{}`:                                                           "url",
		`{"url":"ftp://x/"}`:                                           "url",
		`{"url":"http://"}`:                                            "url",
		`{"url":"http://:80/"}`:                                        "url",
		`{"url":"http://a:b@x"}`:                                       "url",
		`{"url":"/x"}`:                                                 "url",
		`{"url":"http://x/","method":"PUT"}`:                           "method",
		`{"url":"http://x/","method":"post"}`:                          "method",
		`{"url":"http://x/","headers":[]}`:                             "headers",
		`{"url":"http://x/","headers":{"A":1}}`:                        "headers.A",
		`{"url":"http://x/","headers":{"Host":"y"}}`:                   "headers.Host",
		`{"url":"http://x/","headers":{"content-length":"1"}}`:         "headers.content-length",
		`{"url":"http://x/","headers":{"Transfer-Encoding":"c"}}`:      "headers.Transfer-Encoding",
		`{"url":"http://x/","headers":{"A b":"1"}}`:                    "headers.A b",
		`{"url":"http://x/","headers":{"A":"1\r\nB: 2"}}`:              "headers.A",
		`{"url":"http://x/","headers":{"A":"1","a":"2"}}`:              "headers.a",
		`{"url":"http://x/","headers":{"A":"` + long(9<<10) + `"}}`:    "headers",
		`{"url":"http://x/` + long(3000) + `"}`:                        "url",
		`{"url":"http://x/","headers":{"X-Reeve-Signature":"t=1,v1"}}`: "headers.X-Reeve-Signature",
		`"http://x/"`:                                                  "",
	} {
		a := n.call("", "tasks.execute", `{"tasks":[{"name":"A"}]}`, `,"configuration":{"push_notification_config":`+config+`}`)
		want := strings.TrimSuffix("configuration.push_notification_config."+field, ".")
		if a.code() != task.CodeInvalid || a.at("error", "data", "field") != want {
			t.Errorf("%.60s: %s", config, a.text)
		}
	}
	if a := n.do("", "tasks.list", `{}`); a.result("total") != "0" {
		t.Errorf("something was made all the same: %s", a.text)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// TestBatch: calls of a batch are answered in order; nothing is streamed there, nor
// after a notification, which is carried out.
func TestBatch(t *testing.T) {
	n := begin(t)
	const own = "11111111-2222-4333-8444-555555555555"
	_, text := n.post("", `[{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"tasks":[{"id":"`+own+`","name":"A","schemas":{"method":"echo"}}],"use_streaming":true}},
		{"jsonrpc":"2.0","method":"tasks.create","params":{"name":"B"}},
		{"jsonrpc":"2.0","id":2,"method":"tasks.get","params":{"task_id":"`+own+`"}}]`)
	doc, err := rawjson.Parse([]byte(text))
	if err != nil || doc.Root().Len() != 2 || !strings.Contains(text, `"status":"started"`) {
		t.Fatalf("the batch: %s", text)
	}
	if status, text := n.post("", `{"jsonrpc":"2.0","method":"tasks.execute","params":{"tasks":[{"name":"C","schemas":{"method":"echo"}}],"use_streaming":true}}`); status != 204 || text != "" {
		t.Errorf("a notification: %d %s", status, text)
	}
	if a := n.do("", "tasks.list", `{}`); a.result("total") != "3" {
		t.Errorf("the list: %s", a.text)
	}
}

// TestParallel: fifty creates, executes and cancels at once.
func TestParallel(t *testing.T) {
	n := begin(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	parallel(50, func(i int) {
		a := n.do("ann", "tasks.create", fmt.Sprintf(`[{"id":"r","name":"R%d","schemas":{"method":"count"},"dependencies":["c"]},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"count"}}]`, i))
		mu.Lock()
		defer mu.Unlock()
		seen[a.result("id")] = true
	})
	if len(seen) != 50 {
		t.Fatalf("there are %d ids", len(seen))
	}
	var roots []string
	for root := range seen {
		roots = append(roots, root)
	}
	parallel(50, func(i int) { n.do("ann", "tasks.execute", id(roots[i])) })
	for _, root := range roots {
		n.wait("ann", root, task.Completed)
	}
	if got := n.runs.Load(); got != 100 {
		t.Errorf("there were %d runs of 100 tasks", got)
	}
	waiting := make([]string, 50)
	parallel(50, func(i int) { waiting[i] = n.execute("ann", `[{"name":"W","schemas":{"method":"wait"}}]`) })
	parallel(50, func(i int) {
		if a := n.do("ann", "tasks.cancel", id(waiting[i])); a.result("status") != "cancelled" {
			t.Errorf("cancel: %s", a.text)
		}
	})
	close(n.gate)
	for _, root := range waiting {
		n.wait("ann", root, task.Cancelled)
	}
	// Of many who execute or cancel the same at once, one does.
	one := n.do("ann", "tasks.create", `{"name":"O","schemas":{"method":"count"}}`).result("id")
	var began, ended int
	parallel(50, func(int) {
		a := n.call("ann", "tasks.execute", id(one))
		mu.Lock()
		defer mu.Unlock()
		if a.code() == 0 {
			began++
		}
	})
	two := n.do("ann", "tasks.create", `{"name":"T"}`).result("id")
	parallel(50, func(int) {
		a := n.call("ann", "tasks.cancel", id(two))
		mu.Lock()
		defer mu.Unlock()
		if a.code() == 0 {
			ended++
		}
	})
	if began != 1 || ended != 1 {
		t.Errorf("the same was executed %d times, and cancelled %d times", began, ended)
	}
}

// TestAgentCard: as the text has it, with the executors beside.
func TestAgentCard(t *testing.T) {
	n := begin(t)
	res, err := http.Get(n.url + "/.well-known/agent-card")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	doc, err := rawjson.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	c := doc.Root()
	var skills []string
	for _, s := range c.Get("skills").Elems() {
		skills = append(skills, s.Get("id").Text())
	}
	if c.Get("name").Text() != "reeve" || c.Get("version").Text() != "9.9" || c.Get("url").Text() != n.url || !c.Get("capabilities").Get("streaming").Bool() ||
		!c.Get("capabilities").Get("push_notifications").Bool() || skills[0] != "tasks.execute" || len(skills) != 11 || c.Get("description").Text() == "" {
		t.Errorf("the card is %s", body)
	}
	for _, s := range c.Get("skills").Elems() {
		if s.Get("id").Text() == "number" && s.Get("input_schema").Get("type").Text() != "object" {
			t.Errorf("a skill is %s", s.Raw())
		}
	}
}
