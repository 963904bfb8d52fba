package guard_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
)

const overTime = `
version: 1
default: allow
acts:
  - {name: mail, tools: ["send_*"]}
  - {name: tests, tools: [run_tests]}
  - {name: secret, on: tool.result, tools: [read_customer]}
  - {name: big, tools: [pay_big]}
rules:
  - {name: few-mails, tools: ["send_*"], when: 'did("mail", "1h") >= 3', effect: deny}
  - {name: tests-first, tools: [deploy], when: 'did("tests") == 0', effect: deny}
  - {name: never-after, tools: ["send_*"], when: 'did("secret") > 0', effect: deny}
  - {name: first-asked, tools: [pay_big], when: 'approved("big") == 0', effect: escalate}
`

// TestOverTime: rules over time hold against calls at once, other names of one act, a restart,
// a policy that begins to ask within a session, and what the agent says of results.
func TestOverTime(t *testing.T) {
	dir := t.TempDir()
	edit := func(c *guard.Config) { c.Policy = load(t, overTime) }
	n := open(t, dir, edit)
	effect := func(session, id, tool string) act.Effect {
		d, _ := n.decide(t, call(session, id, tool, "x"))
		return d.Effect
	}
	var passed atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			d, _, err := n.Decide(context.Background(), call("s", fmt.Sprint(i), fmt.Sprint("send_", i%4), "x"))
			if err == nil && d.Effect == act.Allow {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 3 {
		t.Errorf("%d of 12 calls at once pass", passed.Load())
	}
	if e := effect("t", "1", "deploy"); e != act.Deny {
		t.Errorf("without tests: %s", e)
	}
	effect("t", "2", "run_tests")
	n.close()
	n = open(t, dir, edit)
	if e := effect("s", "20", "send_x"); e != act.Deny {
		t.Errorf("the fourth, after a restart: %s", e)
	}
	if e := effect("s", "21", "deploy"); e != act.Deny {
		t.Errorf("the tests of another session count: %s", e)
	}
	if e := effect("t", "3", "deploy"); e != act.Allow {
		t.Errorf("after the tests: %s", e)
	}
	// What a result says of itself does not count: it is of the tool that was called.
	effect("u", "1", "read_customer")
	answer := told(act.ToolResult, "u", "2", "1", "Ann Example")
	answer.Resource, answer.Canonical = "read_weather", "read_weather"
	n.decide(t, answer)
	if e := effect("u", "3", "send_x"); e != act.Deny {
		t.Errorf("after a customer was read: %s", e)
	}
	held, _ := n.decide(t, call("v", "1", "pay_big", "x"))
	if held.Effect != act.Escalate {
		t.Fatalf("the first: %s", held.Effect)
	}
	if e := effect("v", "2", "pay_big"); e != act.Escalate {
		t.Errorf("what waits counts as agreed to: %s", e)
	}
	n.answer(t, held, true)
	if e := effect("v", "1", "pay_big"); e != act.Allow {
		t.Fatalf("agreed to: %s", e)
	}
	if d, _ := n.decide(t, call("v", "4", "pay_big", "another")); d.Effect != act.Allow {
		t.Errorf("after people agreed once: %s %+v", d.Effect, d.Reasons)
	}
	if e := effect("w", "1", "other"); e != act.Allow {
		t.Fatal(e)
	}
	if err := n.SetPolicy(context.Background(), load(t, overTime+"  - {name: x, tools: [x], when: 'did(\"tests\", \"2h\") > 5', effect: deny}\n"), act.Principal{Name: "op"}); err != nil {
		t.Fatal(err)
	}
	if e := effect("w", "2", "send_x"); e != act.Allow {
		t.Errorf("a policy that counts the same acts forgets what was counted: %s", e)
	}
	if err := n.SetPolicy(context.Background(), load(t, "version: 1\ndefault: allow\nrules: [{name: a, tools: [x], effect: deny}]"), act.Principal{Name: "op"}); err != nil {
		t.Fatal(err)
	}
	effect("w", "3", "send_x")
	if err := n.SetPolicy(context.Background(), load(t, overTime), act.Principal{Name: "op"}); err != nil {
		t.Fatal(err)
	}
	if e := effect("w", "4", "send_x"); e != act.Deny {
		t.Errorf("what was done while nobody counted is taken for nothing: %s", e)
	}
}

// TestOverTimeTwice: the message of a call that was asked about as a step is that call, and
// is judged by what was done before it; another call is not.
func TestOverTimeTwice(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, overTime) })
	message := func(id, text string) act.Effect {
		a := call("s", "m"+id, "send_x", text)
		a.Kind, a.InnerMethod, a.Server = act.MCPRequest, "tools/call", "mail"
		d, _ := n.decide(t, a)
		return d.Effect
	}
	for i, text := range []string{"one", "two", "three"} {
		id := fmt.Sprint(i)
		if d, _ := n.decide(t, call("s", id, "send_x", text)); d.Effect != act.Allow {
			t.Fatalf("the step of mail %s: %s", id, d.Effect)
		}
		if e := message(id, text); e != act.Allow {
			t.Errorf("the message of mail %s: %s", id, e)
		}
	}
	if e := message("4", "four"); e != act.Deny {
		t.Errorf("a fourth mail, by a message alone: %s", e)
	}
	if e := message("5", "three"); e != act.Deny {
		t.Errorf("the third mail once more: %s", e)
	}
}
