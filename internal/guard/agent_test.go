package guard_test

import (
	"errors"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/guard"

	"github.com/google/go-cmp/cmp"
)

// intentOf makes an intent of the agent did:a.
func intentOf(id, tool, text string) *act.Action {
	a := call("", id, tool, text)
	a.Door, a.Method, a.Step, a.Turn, a.Agent = "a2g", "a2g/intent", "", "", act.Agent{ID: "did:a"}
	return a
}

// report makes the report of an intent.
func report(id string) *act.Action {
	a := intentOf("", "", "done")
	a.Kind, a.Method, a.Answers = act.ToolResult, "a2g/report", id
	return a
}

func (n *node) ask(t testing.TB, a *act.Action) *intent.Intent {
	t.Helper()
	got, _, err := n.Ask(t.Context(), a, intent.Asking{Params: []byte(`{}`), Lasts: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAgents walks an agent's states.
func TestAgents(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	register := func(by, key string) (act.Decision, *agent.Agent, error) {
		a := intentOf("", "", "")
		a.Kind, a.Method, a.Principal.Name = act.AgentRegister, "a2g/register", by
		return n.Register(t.Context(), a, guard.Registration{DID: "did:a", PublicKey: key, Requested: []string{"read", "wipe"}})
	}
	if known, err := n.Agent(t.Context(), "did:a"); err != nil || known.State != "" {
		t.Fatalf("before: %+v, %v", known, err)
	}
	if _, known, err := register("key:a", "k1"); err != nil || known.State != agent.Active || !cmp.Equal(known.Granted, []string{"read"}) {
		t.Fatalf("registered: %+v, %v", known, err)
	}
	if _, _, err := register("key:a", "k1"); err != nil {
		t.Errorf("again: %v", err)
	}
	for name, tt := range map[string]struct {
		by, key string
		want    error
	}{"by somebody else": {"key:b", "k1", agent.ErrForeign}, "with another key": {"key:a", "k2", agent.ErrKey}} {
		if _, _, err := register(tt.by, tt.key); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := n.SetAgent(t.Context(), "did:a", agent.Suspended, "looked odd", alice); err != nil {
		t.Fatal(err)
	}
	if d, known, err := register("key:a", "k1"); err != nil || known != nil || d.Effect != act.Deny {
		t.Errorf("registering does not end a suspension: %+v, %v", known, err)
	}
	aos := call("s", "1", "read", "notes")
	aos.Agent.ID = "did:a"
	if d, _ := n.decide(t, aos); d.Effect != act.Deny || d.Reasons[0].Code != "agent.suspended" {
		t.Errorf("a suspended agent by another door: %v", d.Effect)
	}
	if _, err := n.SetAgent(t.Context(), "did:a", agent.Revoked, "", alice); err != nil {
		t.Fatal(err)
	}
	if _, err := n.SetAgent(t.Context(), "did:a", agent.Active, "", alice); !errors.Is(err, agent.ErrRevoked) {
		t.Errorf("revoked is for good: %v", err)
	}
	if d, known, err := register("key:a", "k1"); err != nil || known != nil || d.Effect != act.Deny {
		t.Errorf("a revoked agent registers: %+v, %v", known, err)
	}
	if list, _, _, err := n.Agents(t.Context(), "", 0); err != nil || len(list) != 1 || list[0].State != agent.Revoked {
		t.Errorf("%+v, %v", list, err)
	}
}
