package flow_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"
)

// shown is what a caller sees of an answer, without what is different each time.
func shown(a answer, own string) string {
	return strings.ReplaceAll(a.text, own, "ID")
}

// TestThreat14Ownership calls every method about a task as its owner, as another user, as
// somebody without a credential, as an admin, and on a node that knows no credentials.
func TestThreat14Ownership(t *testing.T) {
	n := begin(t)
	root := n.do("ann", "tasks.create", `{"name":"R","schemas":{"method":"echo"},"children":[{"name":"C"}],"schedule_type":"daily","schedule_expression":"09:30","schedule_enabled":true}`).result("id")
	ofTask := map[string]string{ // what is to be said of a task, by method; ID stands for it
		"tasks.get": `{"task_id":"ID"}`, "tasks.detail": `{"task_id":"ID"}`, "tasks.tree": `{"task_id":"ID"}`, "tasks.children": `{"parent_id":"ID"}`,
		"tasks.scheduled.complete": `{"task_id":"ID"}`, "tasks.scheduled.init": `{"task_id":"ID"}`,
		"tasks.update": `{"task_id":"ID","updates":{"name":"X"}}`, "tasks.delete": `{"task_id":"ID"}`, "tasks.copy": `{"task_id":"ID"}`,
		"tasks.clone": `{"task_id":"ID","save":false}`, "tasks.execute": `{"task_id":"ID"}`, "execute_task_tree": `{"task_id":"ID","use_streaming":true}`,
		"tasks.cancel": `{"task_id":"ID"}`, "tasks.running.cancel": `{"task_ids":["ID"]}`, "cancel": `{"task_id":"ID"}`,
		"tasks.running.status": `{"task_ids":["ID"]}`,
		"tasks.create":         `{"name":"N","parent_id":"ID"}`,
	}
	before := n.do("ann", "tasks.tree", id(root)).text
	for _, as := range []string{"bob", ""} {
		for method, params := range ofTask {
			foreign := shown(n.call(as, method, strings.ReplaceAll(params, "ID", root)), root)
			unknown := shown(n.call(as, method, strings.ReplaceAll(params, "ID", nobody)), nobody)
			if foreign != unknown {
				t.Errorf("%s as %q: what is foreign is answered %s\nand what is unknown %s", method, as, foreign, unknown)
			}
			if !strings.Contains(foreign, `"error"`) && !strings.Contains(foreign, "not_found") {
				t.Errorf("%s as %q: %s", method, as, foreign)
			}
		}
		for _, method := range []string{"tasks.list", "tasks.running.list", "tasks.scheduled.list", "tasks.scheduled.due", "tasks.scheduled.export-ical", "tasks.count", "tasks.running.count"} {
			for _, params := range []string{`{}`, `{"user_id":"key:ann"}`} {
				if a := n.do(as, method, params); strings.Contains(a.text, root) || a.result("total") != "" && a.result("total") != "0" {
					t.Errorf("%s %s as %q: %s", method, params, as, a.text)
				}
			}
		}
		// Others' tasks are no source of links, nor what is waited for.
		for _, params := range []string{`{"name":"L","origin_type":"link","original_task_id":"ID"}`, `{"name":"L","dependencies":["ID"]}`} {
			foreign, unknown := n.call(as, "tasks.create", strings.ReplaceAll(params, "ID", root)), n.call(as, "tasks.create", strings.ReplaceAll(params, "ID", nobody))
			if shown(foreign, root) != shown(unknown, nobody) || foreign.code() == 0 {
				t.Errorf("%s as %q: %s", params, as, foreign.text)
			}
		}
	}
	if after := n.do("ann", "tasks.tree", id(root)).text; after != before {
		t.Errorf("somebody else changed it: %s", after)
	}
	for _, as := range []string{"ann", "admin"} {
		for _, method := range []string{"tasks.get", "tasks.tree", "tasks.children", "tasks.running.status", "tasks.clone"} {
			n.do(as, method, strings.ReplaceAll(ofTask[method], "ID", root))
		}
		if a := n.do(as, "tasks.list", `{"user_id":"key:ann"}`); a.result("total") != "2" {
			t.Errorf("the list of %s: %s", as, a.text)
		}
	}
	// What an admin or nobody makes is theirs; an admin may make what is another's.
	mine := n.do("admin", "tasks.create", `{"name":"M"}`).result("id")
	theirs := n.do("admin", "tasks.create", `{"name":"T","user_id":"key:bob"}`).result("id")
	anonymous := n.do("", "tasks.create", `{"name":"A"}`).result("id")
	under := n.do("admin", "tasks.create", `{"name":"U","parent_id":"`+root+`"}`).result("id")
	for task, owner := range map[string]string{mine: "key:admin", theirs: "key:bob", anonymous: "anonymous", under: "key:ann"} {
		if a := n.do("admin", "tasks.get", id(task)); a.result("user_id") != owner {
			t.Errorf("the owner is %s, want %s", a.result("user_id"), owner)
		}
	}
	n.do("bob", "tasks.get", id(theirs))
	if a := n.call("bob", "tasks.get", id(mine)); a.code() != task.CodeNotFound {
		t.Errorf("an admin's task: %s", a.text)
	}
	copied := n.do("admin", "tasks.copy", `{"task_id":"`+root+`","copy_children":true}`).result("copied_task_id")
	if a := n.do("ann", "tasks.get", id(copied)); a.result("user_id") != "key:ann" {
		t.Errorf("a copy by an admin: %s", a.text)
	}
	// A node that knows no credentials: everything is everybody's.
	n.open.Store(true)
	for _, as := range []string{"", "bob"} {
		if a := n.do(as, "tasks.get", id(root)); a.result("user_id") != "key:ann" {
			t.Errorf("open: %s", a.text)
		}
	}
	free := n.do("", "tasks.create", `{"name":"F"}`).result("id")
	if a := n.do("", "tasks.get", id(free)); a.result("user_id") != "null" {
		t.Errorf("open: %s", a.text)
	}
	n.do("", "tasks.create", `{"name":"F","user_id":"user123"}`)
	if a := n.do("", "tasks.list", `{"user_id":"user123"}`); a.result("total") != "1" {
		t.Errorf("open: %s", a.text)
	}
	n.open.Store(false)
	if a := n.call("bob", "tasks.get", id(free)); a.code() != task.CodeNotFound {
		t.Errorf("what was made while it was open, after: %s", a.text)
	}
}

// TestThreat14OwnStream: who may not execute a tree is not streamed it either.
func TestThreat14OwnStream(t *testing.T) {
	n := begin(t)
	root := n.execute("ann", `[{"name":"W","schemas":{"method":"wait"}}]`)
	n.wait("ann", root, task.InProgress)
	res := n.ask("bob", "/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"task_id":%q,"use_streaming":true}}`, root))
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("a foreign tree is streamed: %s", kind)
	}
	close(n.gate)
	n.wait("ann", root, task.Completed)
}

// forbidden is what tells of the inside: this checkout's path, too.
var forbidden = regexp.MustCompile(`(?i)sql|goroutine|panic|\.go:|` + regexp.QuoteMeta(checkout()))

func checkout() string {
	dir, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	return dir
}

// FuzzRequest sends params of any kind to every method: each is answered, as an
// error that helps or not at all, and nothing of the inside is shown.
func FuzzRequest(f *testing.F) {
	n := begin(f)
	existing := n.do("", "tasks.create", `{"name":"R","children":[{"name":"C"}]}`).result("id")
	list := []string{"tasks.create", "tasks.get", "tasks.update", "tasks.delete", "tasks.list", "tasks.execute", "tasks.cancel", "tasks.tree", "tasks.children",
		"tasks.copy", "execute_task_tree", "cancel", "tasks.detail", "tasks.count", "tasks.clone", "tasks.running.list", "tasks.running.status", "tasks.running.count",
		"tasks.running.cancel", "tasks.scheduled.list", "tasks.scheduled.due", "tasks.scheduled.init", "tasks.scheduled.complete", "tasks.scheduled.export-ical"}
	for i, params := range []string{
		`{"name":"A","priority":0}`, `{"task_id":"ID"}`, `{"task_id":"ID","updates":{"priority":3}}`, `{"task_id":"ID","cascade":true}`, `{"limit":3,"status":"failed"}`,
		`{"tasks":[{"id":"a","name":"A","dependencies":["b"]},{"id":"b","name":"B","parent_id":"a"}]}`, `{"task_ids":["ID"],"force":true}`, `[]`, `[[]]`, `{"task_id":null}`,
		`{"task_id":"ID","copy_children":true}`, `{"tasks":[],"metadata":{"stream":true}}`, `{"statuses":["pending"]}`, `{"task_id":"ID","origin_type":"link","save":false}`,
		`{"before":"2026-01-01T00:00:00Z"}`, `{"user_id":"\ud800"}`, `{"name":"A","schedule_type":"once","schedule_expression":"9999-12-31T23:59:59Z","schedule_enabled":true}`,
	} {
		f.Add(uint8(i), params, `{}`)
		f.Add(uint8(i+5), params, `{"metadata":{"task_id":"ID"}}`)
	}
	f.Fuzz(func(t *testing.T, which uint8, params, more string) {
		inner, err := rawjson.Parse([]byte(params))
		if err != nil || inner.Root().Kind() != rawjson.Object && inner.Root().Kind() != rawjson.Array || len(params) > 1<<16 {
			return
		}
		method := list[int(which)%len(list)]
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
		if beside, err := rawjson.Parse([]byte(more)); err == nil && beside.Root().Get("metadata").Exists() {
			body = body[:len(body)-1] + `,"metadata":` + string(beside.Root().Get("metadata").Raw()) + `}`
		}
		m := &node{TB: t, url: n.url}
		status, text := m.post("", strings.ReplaceAll(body, "ID", existing))
		if strings.HasPrefix(text, "event: response") {
			return
		}
		doc, err := rawjson.Parse([]byte(text))
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s", body, status, text)
		}
		a := answer{doc.Root(), text}
		if a.code() == -32603 || a.code() != 0 && (a.at("error", "message") == "" || forbidden.MatchString(a.at("error"))) {
			t.Fatalf("%s: %s", body, text)
		}
	})
}

// TestTimes: no run is so far off that it is taken for one that is overdue.
func TestTimes(t *testing.T) {
	n := begin(t)
	a := n.do("", "tasks.create", `{"name":"A","schemas":{"method":"count"},"schedule_type":"once","schedule_expression":"2261-12-31T00:00:00Z","schedule_enabled":true}`)
	time.Sleep(1500 * time.Millisecond) // longer than the engine takes to look
	if got := n.do("", "tasks.get", id(a.result("id"))); got.result("run_count") != "0" || got.result("status") != "pending" || strings.HasPrefix(got.result("next_run_at"), "1") {
		t.Errorf("a run in the far future: %s", got.text)
	}
}

// TestNoRun: a schedule that would never run is refused, with what is wrong.
func TestNoRun(t *testing.T) {
	n := begin(t)
	idle := n.do("", "tasks.create", `{"name":"A","schedule_type":"once","schedule_expression":"2020-01-01T00:00:00Z"}`).result("id") // not enabled
	for params, field := range map[string]string{
		`"schedule_type":"once","schedule_expression":"2020-01-01T00:00:00Z"`:                                                                            "schedule_expression",
		`"schedule_type":"once","schedule_expression":"2020-01-01T00:00","schedule_timezone":"Europe/Oslo","schedule_missed":"once"`:                     "schedule_expression",
		`"schedule_type":"once","schedule_expression":"9000-01-01T00:00:00Z"`:                                                                            "schedule_expression",
		`"schedule_type":"daily","schedule_expression":"09:30","schedule_end_at":"2020-01-01T00:00:00Z"`:                                                 "schedule_end_at",
		`"schedule_type":"monthly","schedule_expression":"31@09:30","schedule_start_at":"2260-02-01T00:00:00Z","schedule_end_at":"2260-02-28T00:00:00Z"`: "schedule_expression",
	} {
		enabled := params + `,"schedule_enabled":true`
		for prefix, a := range map[string]answer{
			"":          n.call("", "tasks.create", `{"name":"B",`+enabled+`}`),
			"tasks[1].": n.call("", "tasks.create", `{"tasks":[{"id":"a","name":"A"},{"id":"b","name":"B","parent_id":"a",`+enabled+`}]}`),
			"updates.":  n.call("", "tasks.update", `{"task_id":"`+idle+`","updates":{`+enabled+`}}`),
		} {
			if a.code() != task.CodeInvalid || a.at("error", "data", "field") != prefix+field || a.at("error", "data", "reason") == "" {
				t.Errorf("%s: %s", params, a.text)
			}
		}
	}
	if a := n.do("", "tasks.list", `{}`); a.result("total") != "1" {
		t.Errorf("something was made: %s", a.text)
	}
	// What has run once is no mistake afterwards.
	n.do("", "tasks.update", `{"task_id":"`+idle+`","updates":{"name":"C"}}`)
}
