package reeve_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/rawjson"
)

// TestApflowCommandLine: the command line of apflow, the program itself, works with a node under
// the base path that is made for it: every command that speaks to a server. (Some speak to
// none: tasks watch, executors list. Some work with no server, its own not either: monitor status,
// monitor db, and monitor trace of what has dependencies.)
func TestApflowCommandLine(t *testing.T) {
	r := start(t, nil)
	script, err := filepath.Abs("internal/apflow/testdata/cli.py")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(needs.Python(t, "apflow"), script, r.url+"/apflow", r.keys[identity.Agent])
	c.Dir = t.TempDir() // it has a database of its own where it is started
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore", "COLUMNS=200")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestApflowShapes: what is answered under /apflow has the shapes of apflow's own server, and
// /tasks those of the text. The credential counts on both alike.
func TestApflowShapes(t *testing.T) {
	r := start(t, map[string]string{"policy-text": "version: 1\ndefault: allow\nrules: [{name: n, tools: [nothing], effect: deny}]"})
	post := func(role identity.Role, path, method, params string) string {
		t.Helper()
		q, err := http.NewRequest("POST", r.url+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		if role != "" {
			q.Header.Set("Authorization", "Bearer "+r.keys[role])
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	result := func(body string) rawjson.Value {
		t.Helper()
		doc, err := rawjson.Parse([]byte(body))
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return doc.Root().Get("result")
	}
	const tree = `[{"id":"r","name":"R","dependencies":["c"],"task_tree_id":"mine","children_of":"me"},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]`
	made := result(post(identity.Agent, "/apflow/tasks", "tasks.create", tree))
	id := made.Get("id").Text()
	if made.Get("task").Get("id").Text() != id || made.Get("children").Len() != 1 || made.Get("task_tree_id").Text() != id || string(made.Get("has_children").Raw()) != "true" || made.Get("children_of").Text() != "me" {
		t.Errorf("create: %s", made.Raw())
	}
	one := `{"task_id":"` + id + `"}`
	if plain := result(post(identity.Agent, "/tasks", "tasks.list", `{}`)); plain.Get("total").Kind() != rawjson.Number {
		t.Errorf("the text's own list: %s", plain.Raw())
	}
	if list := result(post(identity.Agent, "/apflow/tasks", "tasks.list", `{}`)); list.Kind() != rawjson.Array || list.Len() != 1 {
		t.Errorf("list: %s", list.Raw())
	}
	events := post(identity.Agent, "/apflow/tasks", "tasks.execute", `{"task_id":"`+id+`","use_streaming":true}`)
	for _, want := range []string{`data: {"jsonrpc":"2.0"`, `"streaming":true`, `"type":"task_start"`, `"type":"task_completed"`, `"final":true`, `{"type":"stream_end"`} {
		if !strings.Contains(events, want) {
			t.Errorf("the stream has no %s:\n%s", want, events)
		}
	}
	if strings.Count(events, `"final":true`) != 1 || strings.Contains(events, "event:") || !strings.Contains(events, `"type":"final","task_id":"`+id+`","status":"completed"`) {
		t.Errorf("the stream is\n%s", events)
	}
	if again := result(post(identity.Agent, "/apflow/tasks", "tasks.execute", `{"tasks":[{"name":"N","schemas":{"method":"system_info_executor"}}]}`)); again.Get("status").Text() != "completed" || !again.Get("success").Bool() {
		t.Errorf("an execution without a stream: %s", again.Raw())
	}
	// Errors are sentences, and what is not there is null.
	if body := post(identity.Agent, "/apflow/tasks", "tasks.delete", one); !strings.Contains(body, `"data":"The task`) {
		t.Errorf("an error: %s", body)
	}
	if body := post(identity.Agent, "/apflow/tasks", "tasks.get", `{"task_id":"c0000000-0000-4000-8000-000000000001"}`); !strings.Contains(body, `"result":null`) {
		t.Errorf("an unknown task: %s", body)
	}
	if body := post(identity.Agent, "/apflow/tasks", "tasks.nothing", `{}`); !strings.Contains(body, "-32601") {
		t.Errorf("an unknown method: %s", body)
	}
	if copied := result(post(identity.Agent, "/apflow/tasks", "tasks.copy", one)); copied.Get("origin_type").Text() != "copy" || copied.Get("status").Text() != "pending" {
		t.Errorf("copy: %s", copied.Raw())
	}
	if health := result(post(identity.Agent, "/apflow/system", "system.health", `{}`)); health.Get("status").Text() != "healthy" {
		t.Errorf("health: %s", health.Raw())
	}
	if list := result(post(identity.Agent, "/apflow/system", "system.executors", `{}`)); list.Get("executors").Len() == 0 {
		t.Errorf("executors: %s", list.Raw())
	}
	if body := post(identity.Agent, "/apflow/system", "config.llm_key.set", `{"api_key":"k"}`); !strings.Contains(body, "-32602") {
		t.Errorf("a key that is not kept: %s", body)
	}
	// It is no way around: nobody without a credential, no role that only looks, nobody else's tasks.
	if body := post("", "/apflow/tasks", "tasks.list", `{}`); !strings.Contains(body, "-32004") {
		t.Errorf("without a credential: %s", body)
	}
	for _, method := range []string{"tasks.create", "tasks.execute", "tasks.webhook.trigger", "tasks.copy", "tasks.delete", "tasks.cancel", "tasks.update"} {
		if body := post(identity.Auditor, "/apflow/tasks", method, one); !strings.Contains(body, `"error"`) && !strings.Contains(body, `"status":"error"`) {
			t.Errorf("%s by an auditor: %s", method, body)
		}
	}
	for _, method := range []string{"tasks.get", "tasks.tree", "tasks.children"} {
		if body := post(identity.Approver, "/apflow/tasks", method, `{"task_id":"`+id+`","parent_id":"`+id+`"}`); strings.Contains(body, `"name"`) {
			t.Errorf("%s by somebody else: %s", method, body)
		}
	}
}
