package flow_test

import (
	"strings"
	"testing"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/task"
)

// TestRoles has each role call each method about a task that is its own: auditors and
// approvers look, and whatever they would change stays.
func TestRoles(t *testing.T) {
	n := begin(t)
	look := map[string]string{
		"tasks.get": `{"task_id":"ID"}`, "tasks.detail": `{"task_id":"ID"}`, "tasks.tree": `{"task_id":"ID"}`, "tasks.children": `{"parent_id":"ID"}`,
		"tasks.list": `{}`, "tasks.count": `{}`, "tasks.clone": `{"task_id":"ID","save":false}`,
		"tasks.running.list": `{}`, "tasks.running.count": `{}`, "tasks.running.status": `{"task_ids":["ID"]}`,
		"tasks.scheduled.list": `{}`, "tasks.scheduled.due": `{}`, "tasks.scheduled.export-ical": `{}`, "tasks.scheduled.complete": `{"task_id":"ID"}`,
	}
	do := map[string]string{
		"tasks.create": `{"name":"N"}`, "tasks.update": `{"task_id":"ID","updates":{"name":"X"}}`, "tasks.copy": `{"task_id":"ID"}`,
		"tasks.clone": `{"task_id":"ID"}`, "tasks.scheduled.init": `{"task_id":"ID"}`, "tasks.running.cancel": `{"task_ids":["ID"]}`,
		"tasks.execute": `{"tasks":[{"name":"E","schemas":{"method":"echo"}}]}`, "execute_task_tree": `{"task_id":"ID"}`,
		"cancel": `{"task_id":"ID"}`, "tasks.cancel": `{"task_id":"ID"}`, "tasks.delete": `{"task_id":"ID"}`,
	}
	for _, method := range flow.Methods() {
		if look[method] == "" && do[method] == "" {
			t.Errorf("the method %s is not called", method)
		}
	}
	make := func(user string) string {
		return n.do(user+"@agent", "tasks.create", `{"name":"R","schemas":{"method":"echo"},"schedule_type":"daily","schedule_expression":"09:30","schedule_enabled":true}`).result("id")
	}
	for _, role := range []string{"auditor", "approver", "", "owner"} {
		user := "u-" + role
		root := make(user)
		before := n.do(user+"@agent", "tasks.list", `{}`).text
		for method, params := range look {
			if a := n.call(user+"@"+role, method, strings.ReplaceAll(params, "ID", root)); a.code() != 0 {
				t.Errorf("%s as %q: %s", method, role, a.text)
			}
		}
		for method, params := range do {
			own := n.call(user+"@"+role, method, strings.ReplaceAll(params, "ID", root))
			unknown := n.call(user+"@"+role, method, strings.ReplaceAll(params, "ID", nobody))
			if own.code() != task.CodeUnauthorized || !strings.Contains(own.text, "agent and admin") {
				t.Errorf("%s as %q: %s", method, role, own.text)
			}
			if method != "tasks.clone" && own.text != unknown.text {
				t.Errorf("%s as %q tells what there is: %s, and else %s", method, role, own.text, unknown.text)
			}
		}
		if after := n.do(user+"@agent", "tasks.list", `{}`).text; after != before {
			t.Errorf("something was changed as %q: %s\nwas %s", role, after, before)
		}
		if res := n.ask(user+"@"+role, "/", `{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"task_id":"`+root+`","use_streaming":true}}`); res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a stream of an execution as %q", role)
		}
	}
	for _, role := range []string{"agent", "admin"} {
		for method, params := range do {
			if a := n.call("v@"+role, method, strings.ReplaceAll(params, "ID", make("v"))); a.code() == task.CodeUnauthorized {
				t.Errorf("%s as %q: %s", method, role, a.text)
			}
		}
	}
}
