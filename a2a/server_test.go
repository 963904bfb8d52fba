package a2a_test

import (
	"fmt"
	"net/http"
	"reeve.example/reeve/internal/guard"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

const echoes = `{"tasks":[{"id":"w","name":"W","schemas":{"method":"echo"},"inputs":{"said":"${{ message }}","text":"${{ message.text }}","data":"${{message.data}}"}}]}`

// A data part with tasks is executed, and the answer has the text's mapping.
func TestTasksAreExecuted(t *testing.T) {
	n := begin(t, "")
	a := n.do("ann", "SendMessage", sent(tasks(`[{"id":"r","name":"R"},{"id":"a","name":"A","parent_id":"r","schemas":{"method":"echo"},"inputs":{"n":12345678901234567890}},{"id":"b","name":"B","parent_id":"r","dependencies":["a"],"schemas":{"method":"echo"},"inputs":{"stdout":"out\n"}}]`), ""))
	task := func(way ...string) string { return a.result(append([]string{"task"}, way...)...) }
	for way, want := range map[string]string{
		"status state": "TASK_STATE_COMPLETED", "metadata protocol": "a2a", "metadata user_id": "key:ann", "metadata rootTaskId": task("contextId"),
		"artifacts 0 name": "A", "artifacts 0 parts 0 data n": "12345678901234567890", "artifacts 1 parts 0 text": "out\n", "history 0 taskId": task("id"),
	} {
		if got := task(strings.Fields(way)...); got != want || want == "" {
			t.Errorf("%s is %q, want %q: %s", way, got, want, a.text)
		}
	}
	if got := n.do("ann", "GetTask", `{"id":"`+task("id")+`","historyLength":0}`); got.result("history") != "" || got.result("artifacts", "1", "name") != "B" {
		t.Error(got.text)
	}
	kept := n.do("ann", "SendMessage", sent(tasks(one("echo")), "", `,"contextId":"mine"`))
	if got := kept.result("task", "contextId"); got != "mine" {
		t.Errorf("the context is %q, not the client's", got)
	}
	failed := n.do("ann", "SendMessage", sent(tasks(one("fail")), ""))
	if failed.result("task", "status", "state") != "TASK_STATE_FAILED" || !strings.Contains(failed.result("task", "status", "message", "parts", "0", "text"), "made to fail") {
		t.Error(failed.text)
	}
	unknown := n.do("ann", "SendMessage", sent(tasks(one("nothing")), ""))
	if unknown.result("task", "status", "state") != "TASK_STATE_REJECTED" || !strings.Contains(unknown.text, "nothing") {
		t.Error(unknown.text)
	}
	if wrong := n.call("ann", "SendMessage", sent(tasks(`[{"id":"a","name":"A","dependencies":["a"]}]`), "")); wrong.code() != "-32602" {
		t.Error(wrong.text)
	}
}

// A message of text is rejected with a sentence, or given to the workflow; what it
// holds is never taken for a reference to a result.
func TestWorkflow(t *testing.T) {
	n := begin(t, "")
	a := n.do("ann", "SendMessage", textParams("hello"))
	if a.result("task", "status", "state") != "TASK_STATE_REJECTED" || !strings.Contains(a.text, "data part") {
		t.Error(a.text)
	}
	n = begin(t, echoes)
	a = n.do("ann", "SendMessage", sent(`{"text":"one ${{ w }}"},{"data":{"x":["${{ w.text }}"]}}`, ""))
	result := []string{"task", "artifacts", "0", "parts", "0", "data"}
	for way, want := range map[string]string{
		"text": "one ${{ w }}", "data x 0": "${{ w.text }}", "said text": "one ${{ w }}", "said turn": "0", "said version": "1.0", "said task_id": a.result("task", "id"),
	} {
		if got := a.result(append(slices.Clone(result), strings.Fields(way)...)...); got != want {
			t.Errorf("%s is %q, want %q: %s", way, got, want, a.text)
		}
	}
}

// Each message is judged before anything becomes of it.
func TestPolicy(t *testing.T) {
	n := begin(t, echoes)
	denied := n.do("ann", "SendMessage", textParams("rm -rf /"))
	if denied.result("task", "status", "state") != "TASK_STATE_REJECTED" || !strings.Contains(denied.text, "Nothing is removed here.") {
		t.Error(denied.text)
	}
	changed := n.do("ann", "SendMessage", textParams("my card is 4111 1111 1111 1111"))
	if strings.Contains(changed.text, "1111") || changed.result("task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Error(changed.text)
	}
	for agree, state := range map[bool]string{true: "TASK_STATE_COMPLETED", false: "TASK_STATE_REJECTED"} {
		text := fmt.Sprintf("please pay %v", agree)
		stream := n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SendStreamingMessage","params":`+textParams(text)+`}`))
		id := n.next(stream).result("task", "id")
		if a := n.next(stream); a.result("statusUpdate", "status", "state") != "TASK_STATE_AUTH_REQUIRED" {
			t.Error(a.text)
		}
		if a := n.call("ann", "SendMessage", textParams("more", `,"taskId":"`+id+`"`)); a.code() != "-32004" {
			t.Error(a.text)
		}
		list, _, _, err := n.guard.Approvals(t.Context(), true, false, "", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d approvals: %v", len(list), err)
		}
		if _, err := n.guard.Answer(t.Context(), list[0].ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: agree, Seen: list[0].Seen}); err != nil {
			t.Fatal(err)
		}
		n.wait("ann", id, state)
		last := ""
		for a := range stream {
			last = a.result("statusUpdate", "status", "state")
		}
		if last != state {
			t.Errorf("the stream ended with %q, want %s", last, state)
		}
	}
}

// A task whose start waits for people is auth-required until they have answered.
func TestHeldTask(t *testing.T) {
	n := begin(t, "")
	a := n.do("ann", "SendMessage", sent(tasks(one("held")), ""))
	if a.result("task", "status", "state") != "TASK_STATE_AUTH_REQUIRED" {
		t.Fatal(a.text)
	}
	list, _, _, err := n.guard.Approvals(t.Context(), true, false, "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d approvals: %v", len(list), err)
	}
	if _, err := n.guard.Answer(t.Context(), list[0].ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: list[0].Seen}); err != nil {
		t.Fatal(err)
	}
	n.wait("ann", a.result("task", "id"), "TASK_STATE_COMPLETED")
}

// A workflow asks back, and the next message goes on.
func TestTurns(t *testing.T) {
	n := begin(t, string(a2a.ConformanceWorkflow))
	a := n.do("ann", "SendMessage", `{"message":{"messageId":"tck-input-required-1","role":"ROLE_USER","parts":[{"text":"book"}]}}`)
	id, context := a.result("task", "id"), a.result("task", "contextId")
	if a.result("task", "status", "state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatal(a.text)
	}
	if wrong := n.call("ann", "SendMessage", textParams("x", `,"taskId":"`+id+`","contextId":"other"`)); wrong.code() != "-32602" {
		t.Error(wrong.text)
	}
	subscribed := n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`))
	if first := n.next(subscribed); first.result("task", "status", "state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Error(first.text)
	}
	a = n.do("ann", "SendMessage", `{"message":{"messageId":"tck-artifact-text-1","taskId":"`+id+`","role":"ROLE_USER","parts":[{"text":"for two"}]}}`)
	if a.result("task", "id") != id || a.result("task", "contextId") != context || a.result("task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Error(a.text)
	}
	var states []string
	for e := range subscribed {
		states = append(states, e.result("statusUpdate", "status", "state")+e.result("artifactUpdate", "artifact", "name"))
	}
	if want := []string{"TASK_STATE_WORKING", "text", "TASK_STATE_COMPLETED"}; !slices.Equal(states, want) {
		t.Errorf("the subscriber saw %v, want %v", states, want)
	}
	if got := n.do("ann", "GetTask", `{"id":"`+id+`"}`); got.Get("result").Get("history").Len() != 3 || got.result("history", "1", "role") != "ROLE_AGENT" {
		t.Error(got.text) // what was said, asked back, and said
	}
	if a := n.call("ann", "SendMessage", textParams("more", `,"taskId":"`+id+`"`)); a.code() != "-32004" {
		t.Error(a.text)
	}
}

// Streams tell in order, end with the task, and go on where they ended.
func TestStreams(t *testing.T) {
	n := begin(t, "")
	stream := n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":"s","method":"SendStreamingMessage","params":`+sent(tasks(one("wait")), "")+`}`))
	first := n.next(stream)
	id := first.result("task", "id")
	if first.at("id") != "s" || first.result("task", "status", "state") != "TASK_STATE_SUBMITTED" {
		t.Error(first.text)
	}
	if a := n.next(stream); a.result("statusUpdate", "status", "state") != "TASK_STATE_WORKING" {
		t.Error(a.text)
	}
	others := []<-chan answer{
		n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)),
		n.events(n.ask("ann", "GET", "/rest/tasks/"+id+":subscribe", "")),
		n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"tasks/resubscribe","params":{"id":"`+id+`"}}`)),
	}
	for _, c := range others {
		if a := n.next(c); !strings.Contains(strings.ToLower(a.text), "working") {
			t.Error(a.text)
		}
	}
	close(n.gate)
	for _, c := range append(others, stream) {
		var told []string
		for a := range c {
			told = append(told, a.text)
		}
		if len(told) != 2 || !strings.Contains(told[0], "waited") || !strings.Contains(strings.ToLower(told[1]), "completed") {
			t.Errorf("the stream told %v", told)
		}
	}
	// A task that has ended: a plain error in 1.0, and one in the stream in 0.3.
	resp := n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)
	if a := n.read(resp); a.code() != "-32004" || resp.Header.Get("Content-Type") != "application/json" {
		t.Error(a.text)
	}
	resp = n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"tasks/resubscribe","params":{"id":"`+id+`"}}`)
	if a := n.read(resp); a.code() != "-32004" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Error(a.text)
	}
}

// What was said and what became of it survive the node, and what runs goes on.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	n := beginIn(t, dir, "", nil)
	done := n.do("ann", "SendMessage", sent(tasks(one("echo")), ""))
	running := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	n.wait("ann", running, "TASK_STATE_WORKING")
	paid := n.do("ann", "SendMessage", textParams("please pay", `,"metadata":{"a":1}`)).result("task", "id")
	n.stop()
	n = beginIn(t, dir, "", nil)
	after := n.do("ann", "GetTask", `{"id":"`+done.result("task", "id")+`"}`)
	if after.result() != done.result("task") {
		t.Errorf("it was %s\nand is %s", done.result("task"), after.result())
	}
	stream := n.events(n.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"`+running+`"}}`))
	close(n.gate)
	last := ""
	for a := range stream {
		last = a.text
	}
	if !strings.Contains(last, "TASK_STATE_COMPLETED") {
		t.Error(last)
	}
	n.wait("ann", paid, "TASK_STATE_AUTH_REQUIRED")
}

func TestCancel(t *testing.T) {
	n := begin(t, string(a2a.ConformanceWorkflow))
	running := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	asked := n.do("ann", "SendMessage", `{"message":{"messageId":"tck-input-required-1","role":"ROLE_USER","parts":[{"text":"book"}]}}`).result("task", "id")
	held := n.do("ann", "SendMessage", textParams("please pay")).result("task", "id")
	for _, id := range []string{running, asked, held} {
		if a := n.do("ann", "CancelTask", `{"id":"`+id+`"}`); a.result("status", "state") != "TASK_STATE_CANCELED" {
			t.Error(a.text)
		}
		if a := n.call("ann", "CancelTask", `{"id":"`+id+`"}`); a.code() != "-32002" {
			t.Error(a.text)
		}
	}
	list, _, _, err := n.guard.Approvals(t.Context(), true, false, "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d approvals: %v", len(list), err)
	}
	if _, err := n.guard.Answer(t.Context(), list[0].ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: list[0].Seen}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	n.wait("ann", held, "TASK_STATE_CANCELED") // what was agreed to is not wanted any more
}

func TestList(t *testing.T) {
	n := begin(t, "")
	var ids []string
	for i := range 7 {
		executor := "echo"
		if i%3 == 0 {
			executor = "fail"
		}
		ids = append(ids, n.do("ann", "SendMessage", sent(tasks(one(executor)), "", fmt.Sprintf(`,"contextId":"c%d"`, i%2))).result("task", "id"))
		time.Sleep(3 * time.Millisecond) // they are sorted by the millisecond
	}
	n.do("bob", "SendMessage", sent(tasks(one("echo")), ""))
	slices.Reverse(ids)
	var got []string
	token := ""
	for range 10 {
		a := n.do("ann", "ListTasks", `{"pageSize":3,"pageToken":"`+token+`"}`)
		if a.result("totalSize") != "7" || a.result("tasks", "0", "artifacts") != "" || a.result("tasks", "0", "history") != "" {
			t.Error(a.text)
		}
		for _, task := range a.Get("result").Get("tasks").Elems() {
			got = append(got, task.Get("id").Text())
		}
		if token = a.result("nextPageToken"); token == "" {
			break
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("the pages hold %v, want %v", got, ids)
	}
	for params, want := range map[string]string{
		`{"status":"TASK_STATE_FAILED"}`: "3", `{"contextId":"c1"}`: "3", `{"contextId":"c1","status":"TASK_STATE_COMPLETED"}`: "2", `{"contextId":"none"}`: "0",
		`{"statusTimestampAfter":"2999-01-01T00:00:00Z"}`: "0", `{"status_timestamp_after":"2020-01-01T00:00:00Z"}`: "7",
	} {
		if a := n.do("ann", "ListTasks", params); a.result("totalSize") != want || a.Get("result").Get("tasks").Kind().String() != "array" {
			t.Errorf("%s: %s", params, a.text)
		}
	}
	if a := n.do("ann", "ListTasks", `{"includeArtifacts":true,"historyLength":1,"status":"TASK_STATE_COMPLETED"}`); a.result("tasks", "0", "artifacts", "0", "name") != "A" || a.result("tasks", "0", "history", "0", "role") != "ROLE_USER" {
		t.Error(a.text)
	}
	for _, params := range []string{`{"pageSize":0}`, `{"pageSize":101}`, `{"pageToken":"x"}`, `{"historyLength":-1}`, `{"status":"TASK_STATE_RUNNING"}`} {
		if a := n.call("ann", "ListTasks", params); a.code() != "-32602" {
			t.Errorf("%s: %s", params, a.text)
		}
	}
}

const nobody = "00000000-0000-4000-8000-000000000001"

// Of others' tasks a caller learns as much as of those that do not exist, by every
// method and binding.
func TestThreat14Ownership(t *testing.T) {
	n := begin(t, "")
	id := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	n.do("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"p","url":"`+n.url+`/callback"}`)
	push := `{"url":"` + n.url + `/callback"}`
	asks := []func(as, id string) answer{}
	for method, params := range map[string]string{
		"GetTask": `{"id":"ID"}`, "CancelTask": `{"id":"ID"}`, "SubscribeToTask": `{"id":"ID"}`, "SendMessage": textParams("x", `,"taskId":"ID"`), "SendStreamingMessage": textParams("x", `,"taskId":"ID"`),
		"CreateTaskPushNotificationConfig": `{"taskId":"ID","url":"` + n.url + `/callback"}`, "GetTaskPushNotificationConfig": `{"taskId":"ID","id":"p"}`,
		"ListTaskPushNotificationConfigs": `{"taskId":"ID"}`, "DeleteTaskPushNotificationConfig": `{"taskId":"ID","id":"p"}`,
		"tasks/get": `{"id":"ID"}`, "tasks/cancel": `{"id":"ID"}`, "tasks/resubscribe": `{"id":"ID"}`,
		"message/send":                     `{"message":{"kind":"message","messageId":"m","role":"user","taskId":"ID","parts":[{"kind":"text","text":"x"}]}}`,
		"tasks/pushNotificationConfig/set": `{"taskId":"ID","pushNotificationConfig":` + push + `}`, "tasks/pushNotificationConfig/get": `{"id":"ID"}`,
		"tasks/pushNotificationConfig/list": `{"id":"ID"}`, "tasks/pushNotificationConfig/delete": `{"id":"ID","pushNotificationConfigId":"p"}`,
	} {
		asks = append(asks, func(as, id string) answer { return n.call(as, method, strings.ReplaceAll(params, "ID", id)) })
	}
	for _, prefix := range []string{"/rest", "/v1"} {
		for path, body := range map[string]string{
			"GET /tasks/ID": "", "POST /tasks/ID:cancel": "{}", "GET /tasks/ID:subscribe": "", "POST /tasks/ID/pushNotificationConfigs": push,
			"GET /tasks/ID/pushNotificationConfigs": "", "GET /tasks/ID/pushNotificationConfigs/p": "", "DELETE /tasks/ID/pushNotificationConfigs/p": "",
		} {
			verb, path, _ := strings.Cut(path, " ")
			asks = append(asks, func(as, id string) answer {
				return n.read(n.ask(as, verb, prefix+strings.ReplaceAll(path, "ID", id), body))
			})
		}
	}
	for _, as := range []string{"bob", ""} {
		for i, ask := range asks {
			if as == "" {
				n.open.Store(false)
			}
			foreign, unknown := ask("bob", id), ask("bob", nobody)
			if f, u := strings.ReplaceAll(foreign.text, id, "ID"), strings.ReplaceAll(unknown.text, nobody, "ID"); f != u || foreign.http != unknown.http || !strings.Contains(f, "no such task") {
				t.Errorf("%d: what is foreign is answered %d %s\nand what is unknown %d %s", i, foreign.http, f, unknown.http, u)
			}
		}
		if a := n.do("bob", "ListTasks", `{}`); a.result("totalSize") != "0" {
			t.Error(a.text)
		}
	}
	n.wait("ann", id, "TASK_STATE_WORKING")
	if a := n.do("admin", "ListTasks", `{}`); a.result("totalSize") != "1" {
		t.Error(a.text)
	}
	if a := n.do("ann", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`); a.result("configs", "0", "id") != "p" {
		t.Error(a.text)
	}
	n.do("admin", "CancelTask", `{"id":"`+id+`"}`)
}

// Errors have the codes of the protocol, and 1.0 the details.
func TestErrors(t *testing.T) {
	n := begin(t, "")
	message := `"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]`
	old := `"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]`
	for _, c := range []struct{ method, params, code string }{
		{"Nothing", `{}`, "-32601"}, {"message/nothing", `{}`, "-32601"}, {"tasks/list", `{}`, "-32601"},
		{"GetTask", `{}`, "-32602"}, {"GetTask", `{"id":1}`, "-32602"}, {"GetTask", `[]`, "-32602"}, {"GetTask", `{"id":"x"}`, "-32001"},
		{"GetTask", `{"id":"` + nobody + `","historyLength":-1}`, "-32602"}, {"tasks/get", `{"id":"` + nobody + `","historyLength":-1}`, "-32602"},
		{"SendMessage", `{}`, "-32602"}, {"SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`, "-32602"},
		{"SendMessage", `{"message":{` + message + `,"message_id":"n"}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","url":"http://x"}]}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"%"}]}}`, "-32602"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"dGNr","mediaType":"application/x-other"}]}}`, "-32005"},
		{"SendMessage", `{"message":{` + message + `,"taskId":"` + nobody + `"}}`, "-32001"},
		{"SendMessage", `{"message":{` + message + `},"configuration":{"taskPushNotificationConfig":{"url":"ftp://x"}}}`, "-32602"},
		{"message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"other","text":"x"}]}}`, "-32602"},
		{"message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":[]}]}}`, "-32602"},
		{"message/send", `{"message":{` + old + `,"taskId":"` + nobody + `"}}`, "-32001"},
		{"GetExtendedAgentCard", `{}`, "-32007"}, {"agent/getAuthenticatedExtendedCard", `{}`, "-32007"},
	} {
		as := "ann"
		if strings.Contains(c.code, "32007") {
			as = ""
		}
		a := n.call(as, c.method, c.params)
		if a.code() != c.code {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, a.text, c.code)
		}
		if info := a.at("error", "data", "0", "reason"); c.method[0] < 'a' && (info == "" || a.at("error", "data", "0", "domain") != "a2a-protocol.org") {
			t.Errorf("%s %s: no ErrorInfo: %s", c.method, c.params, a.text)
		}
	}
	for version, want := range map[string]string{"99.0": "-32009", "0.3": "-32009", "1.0": "-32001", "": "-32001"} {
		if a := n.call("ann", "GetTask", `{"id":"x"}`, "A2A-Version", version); a.code() != want {
			t.Errorf("version %q: %s", version, a.text)
		}
	}
	if a := n.call("ann", "GetTask", `{}`, "Content-Type", "text/plain"); a.code() != "-32005" || a.http != http.StatusUnsupportedMediaType {
		t.Error(a.text)
	}
	for path, want := range map[string]int{
		"GET /rest/tasks/x": 404, "GET /v1/tasks/x": 404, "GET /rest/nothing": 404, "GET /rest/tasks?pageSize=0": 400, "GET /rest/tasks?pageSize=a": 400, "GET /rest/tasks": 200,
		"POST /rest/message:send": 400, "POST /v1/message:send": 400, "GET /rest/tasks/x/pushNotificationConfigs/y/z": 404, "DELETE /rest/tasks/x": 404,
	} {
		verb, path, _ := strings.Cut(path, " ")
		if a := n.read(n.ask("ann", verb, path, "{}")); a.http != want || want >= 400 && a.at("error", "code") != fmt.Sprint(want) {
			t.Errorf("%s %s: %d %s", verb, path, a.http, a.text)
		}
	}
	if a := n.read(n.ask("ann", "GET", "/v1/tasks/x", "")); a.at("code") != "-32001" || a.at("error", "details", "0", "reason") != "TASK_NOT_FOUND" {
		t.Error(a.text)
	}
	if a := n.read(n.ask("ann", "POST", "/rest/message:send", `{"a":1,"a":2}`)); a.http != 400 || !strings.Contains(a.text, "PARSE_ERROR") {
		t.Error(a.text)
	}
	if a := n.read(n.ask("ann", "POST", "/rest/message:send", `{}`, "Content-Type", "text/plain")); a.http != 415 {
		t.Error(a.text)
	}
	if a := n.read(n.ask("ann", "GET", "/rest/tasks", "", "A2A-Version", "99.0")); a.http != 400 || !strings.Contains(a.text, "VERSION_NOT_SUPPORTED") {
		t.Error(a.text)
	}
}

// A message's record holds what was judged, and no secret of a receiver's.
func TestRecord(t *testing.T) {
	n := begin(t, "")
	n.do("ann", "SendMessage", sent(tasks(one("echo")), `{"taskPushNotificationConfig":{"url":"`+n.url+`/callback","token":"tokentokentoken","authentication":{"scheme":"Bearer","credentials":"hushhushhush"}}}`))
	a := n.read(n.ask("ann", "POST", "/rest/message:send", sent(tasks(one("echo")), "")))
	if a.at("task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Error(a.text)
	}
	items, err := n.guard.List(t.Context(), ledger.ItemQuery{Kind: "a2a.task"})
	if err != nil || len(items) != 2 {
		t.Fatalf("%d tasks: %v", len(items), err)
	}
	if !regexp.MustCompile(`"roots":\["[0-9a-f-]{36}"\]`).Match(items[0].Data) {
		t.Errorf("%s", items[0].Data)
	}
}
