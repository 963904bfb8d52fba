package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"
)

// toServer is a call of an MCP server's tool by a proxy; server is empty where the door does
// not know it.
func toServer(t testing.TB, server, id string) *act.Action {
	t.Helper()
	a, err := aos.ActionOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{"message":{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"transfer","arguments":{"to":"1"}}}}}`, id))
	if err != nil {
		t.Fatal(err)
	}
	a.Principal, a.Session, a.Server = act.Anonymous, "s", server
	return a
}

const askingServers = "version: 1\ndefault: allow\nrules: [{name: ask, on: call, tools: [transfer], effect: escalate, code: ask}]\n"

// TestThreat17OtherServer: who agrees to a call of one server's tool has not agreed to the
// same call of another's, nor to one of which nobody knows whose it is, nor the other way round.
func TestThreat17OtherServer(t *testing.T) {
	for _, agreed := range []string{"sandbox", ""} {
		for _, used := range []string{"prod", "SANDBOX", "sandbox ", "sandbox/transfer", "", "sandbox"} {
			n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, askingServers) })
			held, _ := n.decide(t, toServer(t, agreed, "1"))
			if held.Effect != act.Escalate {
				t.Fatalf("%+v", held)
			}
			n.answer(t, held, true)
			want := act.Escalate
			if used == agreed {
				want = act.Allow
			}
			if d, _ := n.decide(t, toServer(t, used, "2")); d.Effect != want {
				t.Errorf("agreed for %q, used at %q: %v, want %v", agreed, used, d.Effect, want)
			}
		}
	}
}

// TestThreat16OtherServer: what was decided of a request is not answered again to the same
// one at another server, whose ids are its own.
func TestThreat16OtherServer(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, "version: 1\ndefault: allow\nrules: [{name: prod, on: call, when: 'action.server == \"prod\"', effect: deny, code: prod}]\n")
	})
	for _, step := range []string{"", "step"} {
		ask := func(server string) act.Decision {
			a := toServer(t, server, "7"+step)
			a.Step = step
			d, _ := n.decide(t, a)
			return d
		}
		first, again, prod := ask("sandbox"), ask("sandbox"), ask("prod")
		if first.Effect != act.Allow || step != "" && !again.Repeat || prod.Effect != act.Deny || prod.Repeat {
			t.Errorf("step %q: %v, again %v (repeat %t), at prod %v (repeat %t)", step, first.Effect, again.Effect, again.Repeat, prod.Effect, prod.Repeat)
		}
	}
}

// TestApprovalBeforeServers: what was agreed to before servers counted is used by the call
// that was shown with its server, and by no other.
func TestApprovalBeforeServers(t *testing.T) {
	for used, want := range map[string]act.Effect{"sandbox": act.Allow, "prod": act.Escalate} {
		n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, askingServers) })
		nameless, _ := n.decide(t, toServer(t, "", "0"))
		held, _ := n.decide(t, toServer(t, "sandbox", "1"))
		n.answer(t, held, true)
		// As a node before has kept it: under the name that no server is part of.
		now, err := n.Read(t.Context(), "approval", held.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		before, err := n.Read(t.Context(), "approval", nameless.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		before.Data, before.Due = bytes.ReplaceAll(now.Data, []byte(held.Approval.ID), []byte(nameless.Approval.ID)), now.Due
		by := guard.Admin("test", act.Anonymous, nil)
		if err := errors.Join(n.Write(t.Context(), by, before), n.Remove(t.Context(), by, now)); err != nil {
			t.Fatal(err)
		}
		if d, _ := n.decide(t, toServer(t, used, "2")); d.Effect != want {
			t.Errorf("used at %q: %v, want %v", used, d.Effect, want)
		}
	}
}
