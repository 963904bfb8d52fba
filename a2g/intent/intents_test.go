package intent_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/sqlite"
)

const rules = `
version: 1
name: test
default: allow
rules:
  - name: transfers
    on: tool.call
    tools: [transfer]
    effect: escalate
    reason: A person must see each transfer.
  - name: cards
    detect: [pii.card]
    effect: modify
    modify: redact
    code: pii.card
    reason: A card number was masked.
`

var alice = act.Principal{Name: "key:alice", Method: "key"}

// node is intents on a real store, with a clock that stands.
type node struct {
	*intent.Intents
	guard *guard.Guard
	store *sqlite.Store
	log   *ledger.Log
}

func open(t *testing.T, dir string) (*node, *time.Time) {
	t.Helper()
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32), Owner: "node"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	clock := func() time.Time { return now }
	g, err := guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{intent.New(g, nil, 0, 0, clock), g, store, log}
	t.Cleanup(n.close)
	return n, &now
}

func (n *node) close() {
	n.log.Close()
	n.store.Close()
}

// intentOf makes an intent of the agent did:a.
func intentOf(id, tool, text string) *act.Action {
	return &act.Action{
		Door: "a2g", Method: "a2g/intent", Kind: act.ToolCall, Principal: act.Anonymous, Agent: act.Agent{ID: "did:a"},
		ID: id, Resource: tool, Canonical: tool,
		Arguments: []act.Argument{{Name: "text", Value: fmt.Appendf(nil, "%q", text), Pointer: "/params/text"}},
		Content:   []act.Leaf{{Pointer: "/params/text", Text: text, Arg: "text"}},
		Body:      fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"params":{"text":%q}}`, text), Digest: sha256.Sum256([]byte(tool + "\x00" + text)),
	}
}

// report makes the report of an intent.
func report(id string) *act.Action {
	a := intentOf("", "", "done")
	a.Kind, a.Method, a.Answers = act.ToolResult, "a2g/report", id
	return a
}

func (n *node) ask(t *testing.T, a *act.Action) *intent.Intent {
	t.Helper()
	got, _, err := n.Ask(t.Context(), a, intent.Asking{Params: []byte(`{}`), Lasts: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// answer answers for what is held.
func (n *node) answer(t *testing.T, d act.Decision, agree bool) {
	t.Helper()
	h, err := n.guard.Show(t.Context(), d.Approval.ID)
	if err == nil {
		_, err = n.guard.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: agree, Seen: h.Seen})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAsk: an intent's verdict is recorded once and for all.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	n, now := open(t, dir)
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
	n, _ = open(t, dir)
	again := n.ask(t, intentOf("i1", "read", "notes"))
	if !again.Verdict.Repeat || again.Verdict.Position != first.Verdict.Position || !again.Expires.Equal(first.Expires) {
		t.Errorf("asked again after a restart: %+v", again)
	}
}

// TestAskModified: a verdict that changes the arguments changes them each time it
// is asked for, and what it replaced is not kept.
func TestAskModified(t *testing.T) {
	dir := t.TempDir()
	n, _ := open(t, dir)
	for i := range 3 {
		if i == 2 {
			n.close()
			n, _ = open(t, dir)
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
	n, now := open(t, dir)
	ask := func(id, nonce string) error {
		_, _, err := n.Ask(context.Background(), intentOf(id, "read", id), intent.Asking{Lasts: time.Minute, Nonce: nonce, Signed: *now})
		return err
	}
	if err := ask("1", "n1"); err != nil {
		t.Fatal(err)
	}
	n.close()
	n, now = open(t, dir)
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
	n, now := open(t, t.TempDir())
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
	n, now := open(t, t.TempDir())
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
	n, now := open(t, t.TempDir())
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
