package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
)

// TestCreate: one task, several, a whole tree, and children of what exists.
func TestCreate(t *testing.T) {
	n := begin(t)
	one := n.do("ann", "tasks.create", `{"name":"Task Name","user_id":"key:ann","parent_id":null,"priority":2,"inputs":{},"schemas":{"method":"not_there"},"dependencies":[]}`)
	root := one.result("id")
	if _, err := task.ParseID(root); err != nil || one.result("status") != "pending" || one.result("root_task_id") != root {
		t.Fatalf("one: %s", one.text)
	}
	child := n.do("ann", "tasks.create", fmt.Sprintf(`{"name":"C","parent_id":%q,"dependencies":[{"id":%q}]}`, root, root))
	if child.result("root_task_id") != root {
		t.Errorf("a child of what exists: %s", child.text)
	}
	several := n.do("ann", "tasks.create", `[{"id":"a","name":"A"},{"id":"b","name":"B","parent_id":"a","dependencies":[{"id":"a"}]}]`)
	if several.Get("result").Get("tasks").Len() != 2 || several.result("id") != several.result("root_task_id") {
		t.Errorf("several: %s", several.text)
	}
	a := n.do("ann", "tasks.get", id(several.result("id")))
	if a.result("client_id") != "a" || a.result("user_id") != "key:ann" || a.result("priority") != "2" {
		t.Errorf("the root of several: %s", a.text)
	}
	tree := n.do("ann", "tasks.create", `{"tasks":[{"name":"R","children":[{"name":"S","children":[{"name":"T"}]}]}]}`)
	if tree.Get("result").Get("tasks").Len() != 3 {
		t.Errorf("a tree: %s", tree.text)
	}
	const own = "11111111-2222-4333-8444-555555555555"
	if a := n.do("ann", "tasks.create", `{"id":"`+own+`","name":"X"}`); a.result("id") != own {
		t.Errorf("an own UUID: %s", a.text)
	}
	if a := n.call("ann", "tasks.create", `{"id":"`+own+`","name":"X"}`); a.code() != task.CodeInvalid {
		t.Errorf("the same UUID again: %s", a.text)
	}
}

// TestGet: the whole object, with each of the protocol's members.
func TestGet(t *testing.T) {
	n := begin(t)
	root := n.do("ann", "tasks.create", `{"name":"N","inputs":{"big":12345678901234567890.10},"schemas":{"method":"echo","type":"local"},"params":{"p":[1]},"mine":{"x":null}}`).result("id")
	got := n.do("ann", "tasks.get", id(root))
	for _, name := range []string{"id", "parent_id", "user_id", "name", "status", "priority", "inputs", "params", "schemas", "result", "error", "dependencies",
		"progress", "created_at", "started_at", "updated_at", "completed_at", "origin_type", "original_task_id", "has_references", "schedule_type"} {
		if !got.Get("result").Get(name).Exists() {
			t.Errorf("%s is missing", name)
		}
	}
	if got.result("inputs", "big") != "12345678901234567890.10" || got.result("mine", "x") != "null" {
		t.Errorf("what was sent is changed: %s", got.text)
	}
	if d := n.do("ann", "tasks.detail", id(root)); d.result() != got.result() {
		t.Errorf("tasks.detail is %s", d.text)
	}
}

// TestUpdate: both forms, what is refused, and what may not change while executing.
func TestUpdate(t *testing.T) {
	n := begin(t)
	root := n.do("ann", "tasks.create", `{"name":"N"}`).result("id")
	a := n.do("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"name":"Updated Name","priority":1}}`, root))
	if diff := cmp.Diff(`{"id":"`+root+`","status":"pending"}`, a.result()); diff != "" {
		t.Error(diff)
	}
	n.do("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"inputs":{"x":1}}`, root))
	got := n.do("ann", "tasks.get", id(root))
	if got.result("name") != "Updated Name" || got.result("priority") != "1" || got.result("inputs", "x") != "1" {
		t.Errorf("after two updates: %s", got.text)
	}
	for updates, field := range map[string]string{
		`"updates":{"status":"completed"}`: "updates.status", `"updates":{"priority":9}`: "updates.priority", `"priority":9`: "priority",
		`"updates":{"result":{}}`: "updates.result", `"updates":{"id":"x"}`: "updates.id", `"updates":[]`: "updates", `"metadata":{}`: "updates",
		`"updates":{"started_at":"2026-01-01T00:00:00Z"}`: "updates.started_at",
	} {
		a := n.call("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,%s}`, root, updates))
		if a.code() != task.CodeInvalid || a.at("error", "data", "field") != field {
			t.Errorf("%s: %s", updates, a.text)
		}
	}
	running := n.execute("ann", `[{"name":"W","schemas":{"method":"wait"}}]`)
	n.wait("ann", running, task.InProgress)
	for _, updates := range []string{`{"schemas":{"method":"echo"}}`, `{"parent_id":"` + root + `"}`} {
		if a := n.call("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":%s}`, running, updates)); a.code() != task.CodeTransition {
			t.Errorf("%s while executing: %s", updates, a.text)
		}
	}
	if a := n.call("admin", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"user_id":"key:bob"}}`, running)); a.code() != task.CodeTransition {
		t.Errorf("the user while executing: %s", a.text)
	}
	if a := n.call("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"user_id":"key:bob"}}`, root)); a.code() != task.CodeUnauthorized {
		t.Errorf("another user: %s", a.text)
	}
	n.do("ann", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"name":"Other"}}`, running))
	close(n.gate)
}

// TestUpdateCircle: a dependency that closes a circle is refused, on update as on create.
func TestUpdateCircle(t *testing.T) {
	n := begin(t)
	made := n.do("", "tasks.create", `[{"id":"r","name":"R"},{"id":"a","name":"A","parent_id":"r"},{"id":"b","name":"B","parent_id":"r","dependencies":["a"]},{"id":"c","name":"C","parent_id":"r","dependencies":["b"]}]`)
	ids := map[string]string{}
	for _, m := range made.Get("result").Get("tasks").Elems() {
		ids[m.Get("client_id").Text()] = m.Get("id").Text()
	}
	for _, need := range []string{"a", "b", "c"} {
		a := n.call("", "tasks.update", fmt.Sprintf(`{"task_id":%q,"updates":{"dependencies":[{"id":%q}]}}`, ids["a"], ids[need]))
		if a.code() != task.CodeCircular || a.at("error", "message") != "Circular dependency detected" || a.Get("error").Get("data").Get("cycle").Len() < 2 {
			t.Errorf("a needs %s: %s", need, a.text)
		}
	}
	for _, tasks := range []string{
		`[{"id":"a","name":"A","dependencies":["a"]}]`,
		`[{"id":"a","name":"A","dependencies":["b"]},{"id":"b","name":"B","parent_id":"a","dependencies":["a"]}]`,
	} {
		for _, method := range []string{"tasks.create", "tasks.execute"} {
			if a := n.call("", method, `{"tasks":`+tasks+`}`); a.code() != task.CodeCircular {
				t.Errorf("%s %s: %s", method, tasks, a.text)
			}
		}
	}
}

// TestDelete: only what is pending, has no children and no dependents, unless the
// children are to go, too.
func TestDelete(t *testing.T) {
	n := begin(t)
	made := n.do("", "tasks.create", `[{"id":"r","name":"R"},{"id":"a","name":"A","parent_id":"r"},{"id":"b","name":"B","parent_id":"r","dependencies":["a"]}]`)
	root, a := made.result("id"), made.Get("result").Get("tasks")
	ids := []string{}
	for _, m := range a.Elems() {
		ids = append(ids, m.Get("id").Text())
	}
	for _, what := range []string{root, ids[1]} {
		if got := n.call("", "tasks.delete", id(what)); got.code() != task.CodeDelete {
			t.Errorf("delete %s: %s", what, got.text)
		}
	}
	if got := n.do("", "tasks.delete", id(ids[2])); got.result() != `{"success":true}` {
		t.Errorf("a leaf: %s", got.text)
	}
	n.do("", "tasks.delete", `{"task_id":"`+root+`","cascade":true}`)
	for _, gone := range ids {
		if got := n.call("", "tasks.get", id(gone)); got.code() != task.CodeNotFound {
			t.Errorf("after it was deleted: %s", got.text)
		}
	}
	done := n.execute("", `[{"name":"E","schemas":{"method":"echo"}}]`)
	n.wait("", done, task.Completed)
	if got := n.call("", "tasks.delete", id(done)); got.code() != task.CodeDelete {
		t.Errorf("what has completed: %s", got.text)
	}
}

// TestList: pages, filters, and the bounds of both.
func TestList(t *testing.T) {
	n := begin(t)
	for i := range 7 {
		n.do("ann", "tasks.create", fmt.Sprintf(`[{"id":"r","name":"R%d"},{"id":"c","name":"C","parent_id":"r"}]`, i))
	}
	all := n.do("ann", "tasks.list", `{}`)
	if all.result("total") != "14" || all.result("limit") != "100" || all.result("offset") != "0" || all.Get("result").Get("tasks").Len() != 14 {
		t.Errorf("all: %s", all.text)
	}
	seen := map[string]bool{}
	for offset := 0; offset < 9; offset += 3 {
		page := n.do("ann", "tasks.list", fmt.Sprintf(`{"limit":3,"offset":%d,"status":"pending","root_only":true,"user_id":"key:ann"}`, offset))
		if page.result("total") != "7" {
			t.Errorf("a page: %s", page.text)
		}
		for _, m := range page.Get("result").Get("tasks").Elems() {
			seen[m.Get("name").Text()] = true
		}
	}
	if len(seen) != 7 {
		t.Errorf("the pages together have %v", seen)
	}
	if a := n.do("ann", "tasks.list", `{"status":"failed"}`); a.result("total") != "0" || a.result("tasks") != "[]" {
		t.Errorf("none: %s", a.text)
	}
	if a := n.do("ann", "tasks.count", `{"root_only":true}`); a.result("pending") != "7" || a.result("total") != "7" || a.result("failed") != "0" {
		t.Errorf("count: %s", a.text)
	}
	if a := n.do("ann", "tasks.count", `{"statuses":["failed"]}`); a.result() != `{"failed":0,"total":0}` {
		t.Errorf("count of one: %s", a.text)
	}
}

// TestTree: all descendants, at every depth; the direct children only of tasks.children.
func TestTree(t *testing.T) {
	n := begin(t)
	made := n.do("", "tasks.create", `{"name":"R","children":[{"name":"A","children":[{"name":"B"}]},{"name":"C"}]}`)
	root := made.result("id")
	tree := n.do("", "tasks.tree", id(root)).Get("result")
	if tree.Get("task").Get("name").Text() != "R" || tree.Get("children").Len() != 2 {
		t.Fatalf("the tree is %s", tree.Raw())
	}
	depth := map[string]int{}
	for _, child := range tree.Get("children").Elems() {
		depth[child.Get("task").Get("name").Text()] = child.Get("children").Len()
		if child.Get("task").Get("name").Text() == "A" {
			sub := n.do("", "tasks.tree", id(child.Get("task").Get("id").Text()))
			if sub.result("task", "name") != "A" || sub.Get("result").Get("children").Len() != 1 {
				t.Errorf("the tree under A: %s", sub.text)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"A": 1, "C": 0}, depth); diff != "" {
		t.Error(diff)
	}
	children := n.do("", "tasks.children", `{"parent_id":"`+root+`"}`)
	var names []string
	for _, m := range children.Get("result").Get("children").Elems() {
		names = append(names, m.Get("name").Text())
	}
	if len(names) != 2 {
		t.Errorf("the children are %v", names)
	}
}

// TestCopy: new ids, nothing of the execution, the definition and the dependencies
// among the copies.
func TestCopy(t *testing.T) {
	n := begin(t)
	root := n.execute("ann", `[{"id":"r","name":"R","schemas":{"method":"echo"},"inputs":{"k":1}},{"id":"c","name":"C","parent_id":"r","dependencies":["r"],"schemas":{"method":"echo"},"inputs":{"of":"${{ r.k }}"}}]`)
	n.wait("ann", root, task.Completed)
	a := n.do("ann", "tasks.copy", `{"task_id":"`+root+`","copy_children":true}`)
	made := a.result("copied_task_id")
	if a.result("original_task_id") != root || a.result("status") != "pending" || made == root {
		t.Fatalf("copied: %s", a.text)
	}
	c := n.do("ann", "tasks.get", id(made))
	if c.result("result") != "null" || c.result("error") != "null" || c.result("progress") != "0" || c.result("inputs") != `{"k":1}` || c.result("origin_type") != "copy" ||
		c.result("original_task_id") != root || c.result("started_at") != "null" {
		t.Errorf("the copy is %s", c.text)
	}
	if o := n.do("ann", "tasks.get", id(root)); o.result("has_references") != "true" || o.result("status") != "completed" {
		t.Errorf("the original is %s", o.text)
	}
	n.do("ann", "tasks.execute", id(made))
	n.wait("ann", made, task.Completed)
	var child string
	for _, m := range n.do("ann", "tasks.children", `{"parent_id":"`+made+`"}`).Get("result").Get("children").Elems() {
		child = m.Get("id").Text()
	}
	if got := n.wait("ann", child, task.Completed); got.result("result", "of") != "1" {
		t.Errorf("the copied child: %s", got.text)
	}
}

// TestClone: the upstream's forms of copying.
func TestClone(t *testing.T) {
	n := begin(t)
	root := n.execute("ann", `[{"id":"r","name":"R","schemas":{"method":"echo"},"inputs":{"k":1}},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"echo"}}]`)
	n.wait("ann", root, task.Completed)
	for n.do("ann", "tasks.count", `{"statuses":["completed"]}`).result("total") != "2" {
		time.Sleep(5 * time.Millisecond)
	}
	total := func() string { return n.do("ann", "tasks.list", `{}`).result("total") }
	if a := n.do("ann", "tasks.clone", `{"task_id":"`+root+`","save":false}`); a.Get("result").Get("tasks").Len() != 2 || a.result("saved") != "false" || total() != "2" {
		t.Errorf("a preview: %s", a.text)
	}
	if a := n.do("ann", "tasks.clone", `{"task_id":"`+root+`","reset_fields":["status"]}`); a.result("status") != "pending" || a.Get("result").Get("children").Len() != 1 || total() != "4" {
		t.Errorf("a copy: %s", a.text)
	}
	for _, origin := range []string{"link", "archive"} {
		a := n.do("ann", "tasks.clone", `{"task_id":"`+root+`","origin_type":"`+origin+`","recursive":false}`)
		if a.result("status") != "completed" || a.result("result", "k") != "1" || a.result("children") != "[]" {
			t.Errorf("%s: %s", origin, a.text)
		}
		if origin == "archive" {
			if a := n.call("ann", "tasks.update", `{"task_id":"`+a.result("id")+`","updates":{"name":"x"}}`); a.code() != task.CodeTransition {
				t.Errorf("an archive changed: %s", a.text)
			}
		}
	}
	for _, wrong := range []string{`"origin_type":"mixed"`, `"reset_fields":{"name":"x"}`, `"reset_fields":["name"]`, `"recursive":1`} {
		if a := n.call("ann", "tasks.clone", `{"task_id":"`+root+`",`+wrong+`}`); a.code() != task.CodeInvalid {
			t.Errorf("%s: %s", wrong, a.text)
		}
	}
	pending := n.do("ann", "tasks.create", `{"name":"P"}`).result("id")
	if a := n.call("ann", "tasks.clone", `{"task_id":"`+pending+`","origin_type":"link"}`); a.code() != task.CodeSchema {
		t.Errorf("a link to what has not completed: %s", a.text)
	}
}

// TestRunning: the upstream's methods about what runs.
func TestRunning(t *testing.T) {
	n := begin(t)
	root := n.execute("ann", `[{"name":"W","schemas":{"method":"wait"}}]`)
	n.wait("ann", root, task.InProgress)
	if a := n.do("ann", "tasks.running.list", `{}`); a.Get("result").Len() != 1 {
		t.Errorf("list: %s", a.text)
	}
	if a := n.do("ann", "tasks.running.count", `{"user_id":"key:ann"}`); a.result() != `{"count":1,"user_id":"key:ann"}` {
		t.Errorf("count: %s", a.text)
	}
	a := n.do("ann", "tasks.running.status", `{"task_ids":["`+root+`","`+nobody+`"]}`)
	var said []string
	for _, m := range a.Get("result").Elems() {
		said = append(said, m.Get("status").Text()+" "+string(m.Get("is_running").Raw()))
	}
	if diff := cmp.Diff([]string{"in_progress true", "not_found false"}, said); diff != "" {
		t.Errorf("%s: %s", diff, a.text)
	}
	several := n.do("ann", "tasks.running.cancel", `{"task_ids":["`+root+`","`+nobody+`"],"force":true}`)
	said = nil
	for _, m := range several.Get("result").Elems() {
		said = append(said, m.Get("status").Text()+" "+string(m.Get("force").Raw()))
	}
	if diff := cmp.Diff([]string{"cancelled true", "error true"}, said); diff != "" {
		t.Errorf("%s: %s", diff, several.text)
	}
	if a := n.wait("ann", root, task.Cancelled); a.result("error") != "Force cancelled by user" {
		t.Errorf("cancelled: %s", a.text)
	}
	if a := n.do("ann", "tasks.cancel", `{"context_ids":["`+root+`"]}`); !strings.Contains(a.text, `"status":"failed"`) {
		t.Errorf("once more: %s", a.text)
	}
}

// TestScheduled: schedules are run by the node itself, and can be asked about.
func TestScheduled(t *testing.T) {
	n := begin(t)
	far := n.do("ann", "tasks.create", `{"name":"Far","schedule_type":"daily","schedule_expression":"09:30","schedule_enabled":true,"schemas":{"method":"count"}}`).result("id")
	n.do("ann", "tasks.create", `{"name":"Off","schedule_type":"interval","schedule_expression":"3600","schedule_enabled":false,"schemas":{"method":"count"}}`)
	near := n.do("ann", "tasks.create", `{"name":"Near","schedule_type":"interval","schedule_expression":"1","schedule_enabled":true,"max_runs":2,"schemas":{"method":"count"}}`).result("id")
	list := func(params string) int { return n.do("ann", "tasks.scheduled.list", params).Get("result").Len() }
	if got := []int{list(`{"schedule_type":"daily"}`), list(`{"enabled_only":false}`), list(`{"enabled_only":false,"schedule_type":"weekly"}`), list(`{"schedule_type":"daily","offset":1}`)}; !cmp.Equal(got, []int{1, 3, 0, 0}) {
		t.Errorf("the lists have %v", got)
	}
	if a := n.do("ann", "tasks.scheduled.due", `{"before":"2260-01-01T00:00:00Z"}`); !strings.Contains(a.text, `"Far"`) {
		t.Errorf("due: %s", a.text)
	}
	if a := n.do("ann", "tasks.scheduled.due", `{"before":"2000-01-01T00:00:00"}`); a.result() != "[]" {
		t.Errorf("due long ago: %s", a.text)
	}
	if a := n.do("ann", "tasks.scheduled.init", `{"task_id":"`+far+`","from_time":"2259-12-31T10:00:00Z"}`); a.result("next_run_at") != "2260-01-01T09:30:00Z" {
		t.Errorf("init: %s", a.text)
	}
	calendar := n.do("ann", "tasks.scheduled.export-ical", `{"schedule_type":"daily"}`)
	if !strings.Contains(calendar.result("ical_content"), "DTSTART:22600101T093000Z") || calendar.result("task_count") != "1" {
		t.Errorf("calendar: %s", calendar.text)
	}
	for end := time.Now().Add(30 * time.Second); n.do("ann", "tasks.get", id(near)).result("run_count") != "2"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the schedule was not run twice")
		}
	}
	n.wait("ann", near, task.Completed)
	if got := n.runs.Load(); got != 2 {
		t.Errorf("it was executed %d times", got)
	}
	if a := n.do("ann", "tasks.scheduled.complete", id(near)); a.result("next_run_at") != "null" || a.result("run_count") != "2" {
		t.Errorf("complete: %s", a.text)
	}
	if a := n.call("ann", "tasks.scheduled.init", id(near)); a.code() != task.CodeInvalid {
		t.Errorf("init of what has no run to come: %s", a.text)
	}
}
