package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"

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

// TestAsk: an intent's verdict is recorded once and for all.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	n, now := asker(t, dir)
	first := n.ask(t, intentOf("i1", "read", "notes"))
	if !first.Allowed() || first.Verdict.Repeat || !first.Expires.Equal(now.Add(5*time.Minute).Truncate(time.Second)) {
		t.Errorf("%+v", first)
	}
	if _, _, err := n.Ask(t.Context(), intentOf("i1", "read", "other"), intent.Asking{}); !errors.Is(err, intent.ErrOtherAct) {
		t.Errorf("another act under the same id: %v", err)
	}
	stranger := intentOf("i1", "read", "other")
	stranger.Agent.ID = "did:b"
	if got := n.ask(t, stranger); got.Verdict.Position == first.Verdict.Position {
		t.Error("another agent's intent was looked up")
	}
	*now = now.Add(time.Hour)
	n.close()
	n, _ = asker(t, dir)
	again := n.ask(t, intentOf("i1", "read", "notes"))
	if !again.Verdict.Repeat || again.Verdict.Position != first.Verdict.Position || !again.Expires.Equal(first.Expires) {
		t.Errorf("asked again after a restart: %+v", again)
	}
}

// TestAskModified: a verdict that changes the arguments changes them each time it
// is asked for, and what it replaced is not kept.
func TestAskModified(t *testing.T) {
	dir := t.TempDir()
	n, _ := asker(t, dir)
	for i := range 3 {
		if i == 2 {
			n.close()
			n, _ = asker(t, dir)
		}
		got, modified, err := n.Ask(t.Context(), intentOf("i1", "pay", "card 4000 0000 0000 0002"), intent.Asking{Lasts: time.Minute})
		if err != nil || got.Verdict.Effect != act.Modify || !strings.Contains(string(modified), "card ****") || got.Verdict.Repeat != (i > 0) {
			t.Errorf("ask %d: %+v %s, %v", i, got, modified, err)
		}
	}
	items, err := n.store.Items(t.Context(), ledger.ItemQuery{Kind: "intent"})
	if err != nil || len(items) != 1 || strings.Contains(string(items[0].Data), "4000") {
		t.Errorf("%d items, %v: %s", len(items), err, items[0].Data)
	}
}

// TestNonce: a nonce is good once, also after a restart, and also when two come at once.
func TestNonce(t *testing.T) {
	dir := t.TempDir()
	n, now := asker(t, dir)
	ask := func(id, nonce string) error {
		_, _, err := n.Ask(context.Background(), intentOf(id, "read", id), intent.Asking{Lasts: time.Minute, Nonce: nonce, Signed: *now})
		return err
	}
	if err := ask("1", "n1"); err != nil {
		t.Fatal(err)
	}
	n.close()
	n, now = asker(t, dir)
	if err := ask("2", "n1"); !errors.Is(err, intent.ErrReplayed) {
		t.Errorf("used before: %v", err)
	}
	if err := n.UseNonce(t.Context(), "did:a", "n1", *now, alice); !errors.Is(err, intent.ErrReplayed) {
		t.Errorf("used before, in a handshake: %v", err)
	}
	var wait sync.WaitGroup
	var good atomic.Int32
	for i := range 8 {
		wait.Go(func() {
			if err := ask(fmt.Sprint("at once ", i), "n2"); err == nil {
				good.Add(1)
			} else if !errors.Is(err, intent.ErrReplayed) && !errors.Is(err, ledger.ErrLost) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if good.Load() != 1 {
		t.Errorf("%d of 8 with one nonce came through", good.Load())
	}
}

// TestAskHeld: a held intent changes once, to what people or their time decide.
func TestAskHeld(t *testing.T) {
	n, now := asker(t, t.TempDir())
	for i, tt := range []struct {
		name   string
		then   func(d act.Decision)
		effect act.Effect
		code   string
	}{
		{"agreed", func(d act.Decision) { n.answer(t, d, true) }, act.Allow, "approved"},
		{"refused", func(d act.Decision) { n.answer(t, d, false) }, act.Deny, "approval_denied"},
		{"nobody answered", func(act.Decision) { *now = now.Add(approval.Within) }, act.Deny, "approval_expired"},
		{"agreed, and it came too late", func(d act.Decision) { n.answer(t, d, true); *now = now.Add(approval.Within) }, act.Deny, "approval_expired"},
	} {
		id, text := fmt.Sprint("i", i), tt.name
		held := n.ask(t, intentOf(id, "transfer", text))
		if held.Verdict.Effect != act.Escalate || held.Params == nil {
			t.Fatalf("%s: first: %+v", tt.name, held)
		}
		if again := n.ask(t, intentOf(id, "transfer", text)); again.Verdict.Position != held.Verdict.Position {
			t.Errorf("%s: judged again while it is held", tt.name)
		}
		tt.then(held.Verdict)
		got := n.ask(t, intentOf(id, "transfer", text))
		if got.Verdict.Effect != tt.effect || got.Verdict.Reasons[0].Code != tt.code {
			t.Errorf("%s: %v %+v", tt.name, got.Verdict.Effect, got.Verdict.Reasons)
		}
		if again := n.ask(t, intentOf(id, "transfer", text)); again.Verdict.Position != got.Verdict.Position || again.Verdict.Effect != tt.effect || again.Params != nil {
			t.Errorf("%s: afterwards: %+v", tt.name, again)
		}
	}
}

// TestReport walks how an intent can end.
func TestReport(t *testing.T) {
	n, now := asker(t, t.TempDir())
	success := intent.Report{Status: "SUCCESS"}
	for _, tt := range []struct {
		id, tool  string
		reports   []intent.Report
		wait      time.Duration
		outcome   intent.Outcome
		violation bool // of the last report
	}{
		{"as approved", "read", []intent.Report{{Status: "FAILURE", Tool: "read"}}, 0, intent.Reported, false},
		{"said twice", "read", []intent.Report{success, success}, 0, intent.Reported, false},
		{"said twice and differently", "read", []intent.Report{success, {Status: "FAILURE"}}, 0, intent.Ambiguous, true},
		{"nobody knows", "read", []intent.Report{{Status: "TIMEOUT"}}, 0, intent.Ambiguous, false},
		{"another tool", "read", []intent.Report{{Status: "SUCCESS", Tool: "wipe"}}, 0, intent.Mismatched, true},
		{"another tool, and then as approved", "read", []intent.Report{{Status: "SUCCESS", Tool: "wipe"}, success}, 0, intent.Mismatched, true},
		{"said twice, and the second time of another act", "read", []intent.Report{success, {Status: "SUCCESS", Tool: "wipe"}}, 0, intent.Ambiguous, true},
		{"another act", "read", []intent.Report{{Status: "SUCCESS", Digest: "sha256:00"}}, 0, intent.Mismatched, true},
		{"a little late", "read", []intent.Report{success}, 5 * time.Minute, intent.Reported, false},
		{"too late", "read", []intent.Report{success}, time.Hour, "", true},
		{"held", "transfer", []intent.Report{success}, 0, "", true},
	} {
		n.ask(t, intentOf(tt.id, tt.tool, tt.id))
		*now = now.Add(tt.wait)
		var violation string
		for _, r := range tt.reports {
			var err error
			if _, violation, err = n.Report(t.Context(), report(tt.id), r); err != nil {
				t.Fatal(err)
			}
		}
		got := n.ask(t, intentOf(tt.id, tt.tool, tt.id))
		if got.Outcome != tt.outcome || (violation != "") != tt.violation {
			t.Errorf("%s: %s, violation %q", tt.id, got.Outcome, violation)
		}
	}
	if _, violation, err := n.Report(t.Context(), report("never asked"), success); err != nil || violation == "" {
		t.Errorf("no intent: %q, %v", violation, err)
	}
	list, _, err := n.Of(t.Context(), "did:a", false)
	if err != nil || len(list) != 11 {
		t.Errorf("intents: %d, %v", len(list), err)
	}
}

// TestEndIntents: what nobody reports ends by itself, and what is taken back at once.
func TestEndIntents(t *testing.T) {
	n, now := asker(t, t.TempDir())
	n.ask(t, intentOf("1", "read", "a"))
	n.ask(t, intentOf("2", "transfer", "b"))
	*now = now.Add(10 * time.Minute)
	n.ask(t, intentOf("3", "read", "c"))
	ended, err := n.Expire(t.Context())
	if err != nil || len(ended) != 1 || ended[0].ID != "1" || ended[0].Outcome != intent.Unreported {
		t.Errorf("%+v, %v", ended, err)
	}
	ended, err = n.Withdraw(t.Context(), "did:a")
	if err != nil || len(ended) != 2 {
		t.Errorf("%+v, %v", ended, err)
	}
	if got := n.ask(t, intentOf("3", "read", "c")); got.Outcome != intent.Withdrawn || got.Open() {
		t.Errorf("%+v", got)
	}
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
