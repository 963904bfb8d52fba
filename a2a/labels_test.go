package a2a_test

import (
	"fmt"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/storetest"
)

// flows asks a person before work is done upon what a stranger named. Ann is trusted, Bob is
// a stranger, and so is everybody whom it does not name.
const flows = `
version: 1
default: allow
labels:
  - {on: a2a.receive, servers: ["key:ann"], label: own, takes: [private]}
  - {on: task.result, tools: [echo], label: own}
acts:
  - {name: work, on: task.start, tools: [echo], control: [to]}
rules:
  - {name: foreign-target, acts: work, when: 'session.foreign && !action.control.all(v, v.origin() in ["user", "own"])', effect: escalate}
  - {name: private-stays, acts: work, when: '"private" in session.labels', effect: deny}
`

const (
	account = "GB29NWBK60161331926819"
	toWhom  = `[{"id":"a","name":"A","schemas":{"method":"echo"},"inputs":{"to":"${{ message.text }}"}}]`
)

func flowing(t *testing.T, n *node) {
	t.Helper()
	set, err := policy.Load(policy.File{Name: "flows.yaml", Data: []byte(flows)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.guard.SetPolicy(t.Context(), set, act.Principal{Name: "operator", Method: "local"}); err != nil {
		t.Fatal(err)
	}
}

// TestThreat08LabelsOfMessages: what a peer's message says is the peer's in the tree that it
// begins, with the labels that the peer gives it. These can lower what is thought of it, and
// never raise it.
func TestThreat08LabelsOfMessages(t *testing.T) {
	n := beginIn(t, t.TempDir(), `{"tasks":`+toWhom+`}`, nil)
	flowing(t, n)
	labelled := func(labels string) string { return `,"metadata":{"` + act.LabelsKey + `":` + labels + `}` }
	for _, c := range []struct{ who, more, want string }{
		{"ann", "", "TASK_STATE_COMPLETED"},
		{"ann", labelled(`["foreign"]`), "TASK_STATE_AUTH_REQUIRED"},
		{"ann", labelled(`["private"]`), "TASK_STATE_FAILED"},
		{"ann", labelled(`["secret","own"]`), "TASK_STATE_COMPLETED"}, // words that are not taken
		{"ann", labelled(`null`), "TASK_STATE_COMPLETED"},
		{"ann", labelled(`[]`), "TASK_STATE_COMPLETED"},
		{"ann", labelled(`"private"`), "TASK_STATE_AUTH_REQUIRED"}, // what cannot be read is foreign
		{"ann", labelled(`{"private":true}`), "TASK_STATE_AUTH_REQUIRED"},
		{"ann", labelled(`[["private"]]`), "TASK_STATE_AUTH_REQUIRED"},
		{"ann", labelled(`[7]`), "TASK_STATE_AUTH_REQUIRED"},
		{"ann", labelled(`["Private"]`), "TASK_STATE_FAILED"},
		{"ann", labelled(`[" private "]`), "TASK_STATE_FAILED"},
		{"ann", labelled(`["FOREIGN"]`), "TASK_STATE_AUTH_REQUIRED"},
		{"ann", `,"metadata":{"Reeve.Labels":["private"]}`, "TASK_STATE_FAILED"},
		{"bob", "", "TASK_STATE_AUTH_REQUIRED"},
		{"bob", labelled(`["own","user"]`), "TASK_STATE_AUTH_REQUIRED"},
		{"bob", labelled(`["private"]`), "TASK_STATE_AUTH_REQUIRED"}, // who is no friend chooses no words
		{"bob", labelled(`"own"`), "TASK_STATE_AUTH_REQUIRED"},
		{"bob", labelled(`[{"own":true}, 7, null]`), "TASK_STATE_AUTH_REQUIRED"},
	} {
		params := sent(`{"text":"`+account+`"}`, "", c.more)
		if got := n.do(c.who, "SendMessage", params); got.result("task", "status", "state") != c.want {
			t.Errorf("%s%s: %s", c.who, c.more, got.text)
		}
	}
}

// TestLabelsOfAnswers: what is answered says what was read for it, whether it is asked for at
// once, later, or told while it happens.
func TestLabelsOfAnswers(t *testing.T) {
	n := beginIn(t, t.TempDir(), `{"tasks":[{"id":"a","name":"A","schemas":{"method":"held"},"inputs":{"x":1}}]}`, nil)
	flowing(t, n)
	for who, want := range map[string]string{"ann": `["private","foreign"]`, "bob": `["foreign"]`} {
		got := n.do(who, "SendMessage", sent(`{"text":"go"}`, "", `,"metadata":{"`+act.LabelsKey+`":["private"]}`))
		if labels := got.result("task", "metadata", act.LabelsKey); labels != want {
			t.Errorf("%s: %s, not %s: %s", who, labels, want, got.text)
		}
		if again := n.do(who, "GetTask", `{"id":"`+got.result("task", "id")+`"}`); again.result("metadata", act.LabelsKey) != want {
			t.Errorf("%s, later: %s", who, again.text)
		}
	}
}

// TestLabelsOfTurns: the next message of a task goes on from what the one before has read.
func TestLabelsOfTurns(t *testing.T) {
	n := beginIn(t, t.TempDir(), `{"tasks":[{"id":"a","name":"A","schemas":{"method":"echo"},"inputs":{"to":"`+account+`"}}]}`, nil)
	flowing(t, n)
	if got := n.do("ann", "SendMessage", sent(`{"text":"go"}`, "")); got.result("task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Fatal(got.text)
	}
	asks := `[{"id":"a","name":"A","schemas":{"method":"held"},"inputs":{"a2a":{"state":"input-required","message":"Whom?"}}}]`
	asked := n.do("ann", "SendMessage", sent(tasks(asks), ""))
	if asked.result("task", "status", "state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatal(asked.text)
	}
	got := n.do("ann", "SendMessage", sent(`{"text":"go"}`, "", `,"taskId":"`+asked.result("task", "id")+`"`))
	if got.result("task", "status", "state") != "TASK_STATE_AUTH_REQUIRED" {
		t.Error(got.text)
	}
}

// TestThreat08LabelsOfContexts: a message that goes on with a conversation, by its context or
// by the tasks that it refers to, goes on from what these have read; another one does not.
func TestThreat08LabelsOfContexts(t *testing.T) {
	n := beginIn(t, t.TempDir(), `{"tasks":`+toWhom+`}`, nil)
	flowing(t, n)
	const text = `{"text":"` + account + `"}`
	first := n.do("ann", "SendMessage", sent(text, "", `,"contextId":"deal","metadata":{"`+act.LabelsKey+`":["private"]}`))
	if first.result("task", "status", "state") != "TASK_STATE_FAILED" {
		t.Fatal(first.text)
	}
	id := first.result("task", "id")
	for _, c := range []struct{ who, more, want string }{
		{"ann", `,"contextId":"deal"`, "TASK_STATE_FAILED"},
		{"ann", `,"contextId":"deal"`, "TASK_STATE_FAILED"},
		{"ann", `,"referenceTaskIds":["` + id + `"]`, "TASK_STATE_FAILED"},
		{"ann", `,"contextId":"new","referenceTaskIds":["none","` + id + `"]`, "TASK_STATE_FAILED"},
		{"ann", `,"contextId":"new"`, "TASK_STATE_FAILED"}, // the message before took it there
		{"ann", `,"contextId":"other"`, "TASK_STATE_COMPLETED"},
		{"ann", ``, "TASK_STATE_COMPLETED"},
		{"ann", `,"referenceTaskIds":["none"]`, "TASK_STATE_COMPLETED"},
		{"bob", `,"contextId":"deal","referenceTaskIds":["` + id + `"]`, "TASK_STATE_AUTH_REQUIRED"}, // as his own
	} {
		if got := n.do(c.who, "SendMessage", sent(text, "", c.more)); got.result("task", "status", "state") != c.want {
			t.Errorf("%s%s: %s", c.who, c.more, got.text)
		}
	}
}

// TestLabelsAcrossNodes: a tree whose tasks run on several nodes has read on all of them what
// it has read on one.
func TestLabelsAcrossNodes(t *testing.T) {
	url := storetest.Postgres(t)
	nodes := []*node{beginIn(t, url, "", nil), beginIn(t, url, "", nil)}
	for _, n := range nodes {
		flowing(t, n)
	}
	const root = "0198c0de-0000-7000-8000-000000000001"
	whole := guard.SessionName{Principal: "key:ann", Door: "flow", Session: root}
	step := func(n *node, part, id string, kind act.Kind, tool, text string) act.Effect {
		t.Helper()
		a := &act.Action{
			Door: "flow", Kind: kind, Principal: act.Principal{Name: "key:ann"}, Session: root + "@" + part, Step: id,
			Resource: tool, Canonical: tool, Body: []byte(`{"to":"` + text + `"}`),
			Content: []act.Leaf{{Pointer: "/to", Text: text}},
		}
		if kind == act.TaskStart {
			a.ID, a.Content[0].Arg = id, "to"
			a.Arguments = []act.Argument{{Name: "to", Pointer: "/to", Value: []byte(`"` + text + `"`)}}
		}
		a.Digest[0], a.Digest[1] = byte(len(id)), id[len(id)-1]
		d, _, err := n.guard.DecideWith(t.Context(), a, guard.With{PartOf: whole})
		if err != nil {
			t.Fatal(err)
		}
		return d.Effect
	}
	for i, n := range nodes {
		if e := step(n, fmt.Sprint(i), fmt.Sprint("before ", i), act.TaskStart, "echo", account); e != act.Allow {
			t.Fatalf("before anything was read: %s", e)
		}
	}
	step(nodes[0], "0", "read 1", act.TaskResult, "fetch", "Pay US133000000121212121212")
	for i, n := range nodes {
		if e := step(n, fmt.Sprint(i), fmt.Sprint("after ", i), act.TaskStart, "echo", account); e != act.Escalate {
			t.Errorf("node %d after the first one read a page: %s", i, e)
		}
	}
}
