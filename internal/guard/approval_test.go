package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/risk/hazard"

	"github.com/google/go-cmp/cmp"
)

const asking = `
version: 1
name: asking
default: allow
rules:
  - name: transfers
    on: tool.call
    tools: [transfer]
    effect: escalate
    code: transfer
    reason: A person must see each transfer.
  - name: cards
    detect: [pii.card]
    effect: modify
    modify: redact
    code: pii.card
    reason: A card number was masked.
`

var alice = act.Principal{Name: "key:alice", Method: "key"}

func load(t testing.TB, text string) *policy.Set {
	t.Helper()
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// asker is a node whose policy asks people, with a clock that stands.
func asker(t testing.TB, dir string) (*node, *time.Time) {
	now := time.Now()
	return open(t, dir, func(c *guard.Config) {
		c.Policy = load(t, asking)
		c.Now = func() time.Time { return now }
	}), &now
}

func codesOf(d act.Decision) (codes []string) {
	for _, r := range d.Reasons {
		codes = append(codes, r.Code)
	}
	return codes
}

// seen is what an approver says of the act that was held.
func (n *node) seen(t testing.TB, d act.Decision) string {
	t.Helper()
	h, err := n.Show(context.Background(), d.Approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	return h.Seen
}

func (n *node) answer(t testing.TB, d act.Decision, agree bool) *approval.Decision {
	t.Helper()
	if d.Approval == nil {
		t.Fatalf("nothing was asked: %+v", d)
	}
	h, err := n.Answer(context.Background(), d.Approval.ID, alice, guard.Reply{Agree: agree, Seen: n.seen(t, d)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestApprove walks an act through its approval: held, held still when asked
// again, allowed once, and held again.
func TestApprove(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	if held.Effect != act.Escalate || held.Approval.State != "held" {
		t.Fatalf("first: %v %+v", held.Effect, held.Approval)
	}
	again, _ := n.decide(t, call("s", "1", "transfer", "100"))
	if !again.Repeat || again.Position != held.Position || again.Effect != act.Escalate {
		t.Errorf("the same step while it is held: %+v", again)
	}
	retry, _ := n.decide(t, call("s", "2", "transfer", "100"))
	if retry.Effect != act.Escalate || retry.Approval.ID != held.Approval.ID {
		t.Errorf("the same act in another step: %+v", retry)
	}
	for name, other := range map[string]*act.Action{
		"other arguments": call("s", "3", "transfer", "999"), "another session": call("s2", "3", "transfer", "100"),
	} {
		if d, _ := n.decide(t, other); d.Approval.ID == held.Approval.ID {
			t.Errorf("%s: has the same approval", name)
		}
	}
	h, err := n.Approval(t.Context(), held.Approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(h.Request), `"text":"100"`) || h.Decision != held.Position.String() || h.Needs[0].Code != "transfer" {
		t.Errorf("what the approver sees: %+v", h)
	}
	if h := n.answer(t, held, true); h.State != approval.Approved {
		t.Errorf("after the answer: %s", h.State)
	}

	done, _ := n.decide(t, call("s", "1", "transfer", "100"))
	if done.Effect != act.Allow || done.Repeat || done.Approval.State != "used" {
		t.Errorf("after the answer: %v %+v %+v", done.Effect, done.Approval, done.Reasons)
	}
	if diff := cmp.Diff([]string{"approved", "transfer"}, codesOf(done)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	once, _ := n.decide(t, call("s", "1", "transfer", "100"))
	if once.Effect != act.Allow || !once.Repeat || once.Position != done.Position {
		t.Errorf("the step that used it, asked about again: %+v", once)
	}
	if d, _ := n.decide(t, result("s", "1")); d.Effect != act.Allow {
		t.Errorf("its result: %v %+v", d.Effect, d.Reasons)
	}
	next, _ := n.decide(t, call("s", "5", "transfer", "100"))
	if next.Effect != act.Escalate || next.Approval.State != "held" {
		t.Errorf("an approval is used once: %v", next.Effect)
	}
	if list, _, _, err := n.Approvals(t.Context(), true, false, "", 0); err != nil || len(list) != 3 {
		t.Errorf("open: %d, %v", len(list), err)
	}
}

// TestRefuse: a refusal holds for the very same act as long as the question
// would have, and an approval can be taken back.
func TestRefuse(t *testing.T) {
	n, now := asker(t, t.TempDir())
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	n.answer(t, held, false)
	d, _ := n.decide(t, call("s", "2", "transfer", "100"))
	if d.Effect != act.Deny || d.Reasons[0].Code != "approval_denied" || d.Reasons[0].Instead == "" {
		t.Errorf("after the refusal: %+v", d)
	}
	if _, err := n.Answer(t.Context(), held.Approval.ID, alice, guard.Reply{Agree: true}); !errors.Is(err, approval.ErrEnded) {
		t.Errorf("agreeing after a refusal: %v", err)
	}
	*now = now.Add(approval.Within)
	if d, _ = n.decide(t, call("s", "3", "transfer", "100")); d.Effect != act.Escalate {
		t.Errorf("after its time: %v", d.Effect)
	}
	n.answer(t, d, true)
	if h := n.answer(t, d, false); h.State != approval.Revoked {
		t.Errorf("taken back: %s", h.State)
	}
	if d, _ = n.decide(t, call("s", "4", "transfer", "100")); d.Effect != act.Escalate {
		t.Errorf("after it was taken back: %v", d.Effect)
	}
}

func TestAnswerRefused(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	ctx := t.Context()
	if _, err := n.Answer(ctx, held.Approval.ID, act.Anonymous, guard.Reply{Agree: true, Seen: n.seen(t, held)}); !errors.Is(err, approval.ErrOwn) {
		t.Errorf("the asker itself: %v", err)
	}
	if _, err := n.Answer(ctx, held.Approval.ID, alice, guard.Reply{Agree: true, Seen: n.seen(t, held), Decision: "0-999"}); !errors.Is(err, guard.ErrChanged) {
		t.Errorf("another decision was looked at: %v", err)
	}
	if _, err := n.Answer(ctx, "none", alice, guard.Reply{Agree: true}); err == nil {
		t.Error("an approval that is not there was answered")
	}
}

// TestExpire: nobody answers, or nobody comes.
func TestExpire(t *testing.T) {
	n, now := asker(t, t.TempDir())
	unanswered, _ := n.decide(t, call("s", "1", "transfer", "1"))
	unused, _ := n.decide(t, call("s", "2", "transfer", "2"))
	n.answer(t, unused, true)
	*now = now.Add(approval.Within)
	if _, err := n.Answer(t.Context(), unanswered.Approval.ID, alice, guard.Reply{Agree: true, Seen: n.seen(t, unanswered)}); !errors.Is(err, approval.ErrEnded) {
		t.Errorf("an answer that is too late: %v", err)
	}
	if d, _ := n.decide(t, call("s", "3", "transfer", "2")); d.Effect != act.Escalate {
		t.Errorf("an approval used too late: %v", d.Effect)
	}
	*now = now.Add(time.Second)
	if err := n.ExpireApprovals(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := n.Approval(t.Context(), unanswered.Approval.ID)
	if err != nil || h.State != approval.Expired || h.Request != nil {
		t.Errorf("swept: %+v, %v", h, err)
	}
}

// TestPolicyChanges: what is used is judged by the policy of that moment.
func TestPolicyChanges(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	put := func(text string) {
		t.Helper()
		if err := n.SetPolicy(t.Context(), load(t, text), alice); err != nil {
			t.Fatal(err)
		}
	}
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	n.answer(t, held, true)
	put(asking + "  - {name: frozen, tools: [transfer], effect: deny, code: frozen}\n")
	if d, _ := n.decide(t, call("s", "2", "transfer", "100")); d.Effect != act.Deny {
		t.Errorf("a new deny: %v", d.Effect)
	}
	put(asking + "  - {name: second, tools: [transfer], effect: escalate, code: second}\n")
	d, _ := n.decide(t, call("s", "3", "transfer", "100"))
	if d.Effect != act.Escalate || d.Approval.State != "held" {
		t.Errorf("a new rule that asks: %v %+v", d.Effect, d.Approval)
	}
	if h, _ := n.Approval(t.Context(), d.Approval.ID); len(h.Needs) != 2 {
		t.Errorf("needs: %+v", h.Needs)
	}
	if _, err := n.Answer(t.Context(), d.Approval.ID, act.Principal{Name: "key:bob"}, guard.Reply{Agree: true, Seen: n.seen(t, d)}); err != nil {
		t.Fatal(err)
	}
	put(asking + "  - {name: unrelated, tools: [wipe], effect: deny}\n")
	if d, _ := n.decide(t, call("s", "4", "transfer", "100")); d.Effect != act.Allow {
		t.Errorf("an unrelated edit: %v", d.Effect)
	}
}

// TestApproveModified: what is agreed to is the form that the policy gave it.
func TestApproveModified(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	const card = "card 4000 0000 0000 0002"
	held, _ := n.decide(t, call("s", "1", "transfer", card))
	h, err := n.Approval(t.Context(), held.Approval.ID)
	if err != nil || len(h.Edits) != 1 || string(h.Edits[0].Value) != `"card ****"` {
		t.Fatalf("%+v, %v", h, err)
	}
	n.answer(t, held, true)
	d, modified := n.decide(t, call("s", "2", "transfer", card))
	if d.Effect != act.Modify || !strings.Contains(modified, `"card ****"`) {
		t.Errorf("%v %s", d.Effect, modified)
	}
}

// TestUsedOnce: of many who come at once with an agreed act, one gets through.
func TestUsedOnce(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	n.answer(t, held, true)
	var wait sync.WaitGroup
	var mu sync.Mutex
	count := map[act.Effect]int{}
	for i := range 20 {
		wait.Go(func() {
			d, _, err := n.Decide(context.Background(), call("s", fmt.Sprint("x", i), "transfer", "100"))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			count[d.Effect]++
			mu.Unlock()
		})
	}
	wait.Wait()
	if count[act.Allow] != 1 || count[act.Escalate] != 19 && count[act.Deny] == 0 {
		t.Errorf("%v, want one allowed", count)
	}
}

// TestAwait: who waits is woken by the answer.
func TestAwait(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	done := make(chan error)
	go func() { done <- n.Await(t.Context(), held.Approval.ID) }()
	n.answer(t, held, true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other, _ := n.decide(t, call("s", "2", "transfer", "200"))
	if err := n.Await(ctx, other.Approval.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that went away: %v", err)
	}
}

// TestApprovalsSurvive: what is held outlives the process.
func TestApprovalsSurvive(t *testing.T) {
	dir := t.TempDir()
	n, _ := asker(t, dir)
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	n.close()
	n, _ = asker(t, dir)
	n.answer(t, held, true)
	n.close()
	n, _ = asker(t, dir)
	if d, _ := n.decide(t, call("s", "1", "transfer", "100")); d.Effect != act.Allow {
		t.Errorf("%v", d.Effect)
	}
}

// TestApprovedBefore: what was held or agreed to under the digest's form before
// this one still stands, for that act and once; a refusal, too.
func TestApprovedBefore(t *testing.T) {
	for _, agree := range []bool{true, false} {
		n, _ := asker(t, t.TempDir())
		before := call("s", "1", "transfer", "100")
		held, _ := n.decide(t, before)
		earlier := before.Digest
		now := func(step, amount string) *act.Action { // the same call, after an upgrade
			a := call("s", step, "transfer", amount)
			a.Earlier, a.Digest = a.Digest, act.Digest{1, byte(len(amount))}
			return a
		}
		if a := now("2", "100"); a.Earlier != earlier {
			t.Fatal("not the same call")
		}
		if d, _ := n.decide(t, now("1", "100")); !d.Repeat || d.Effect != act.Escalate {
			t.Errorf("the same step while it is held: %+v", d)
		}
		if d, _ := n.decide(t, now("2", "100")); d.Effect != act.Escalate || d.Approval.ID != held.Approval.ID {
			t.Errorf("while it is held: %v %+v", d.Effect, d.Approval)
		}
		n.answer(t, held, agree)
		if d, _ := n.decide(t, now("3", "1000")); d.Effect != act.Escalate || d.Approval.ID == held.Approval.ID {
			t.Errorf("another call: %v %+v", d.Effect, d.Approval)
		}
		want := act.Deny
		if agree {
			want = act.Allow
		}
		if d, _ := n.decide(t, now("1", "100")); d.Effect != want {
			t.Errorf("after the answer: %v %v", d.Effect, codesOf(d))
		}
		if !agree {
			continue
		}
		if d, _ := n.decide(t, now("5", "100")); d.Effect != act.Escalate || d.Approval.ID == held.Approval.ID {
			t.Errorf("used twice: %v %+v", d.Effect, d.Approval)
		}
	}
}

// TestThreat17Approval: an approval is good for the act that was seen, once, in time, and
// under the rules that asked for it: by no other act, agent or session, no second
// use, no answer to what is no longer held, and no answer that nobody looked for.
func TestThreat17Approval(t *testing.T) {
	ask := func(edit func(a *act.Action)) *act.Action {
		a := call("s", "1", "transfer", "100")
		if edit != nil {
			edit(a)
		}
		return a
	}
	n, now := asker(t, t.TempDir())
	held, _ := n.decide(t, ask(nil))
	seen := n.seen(t, held)
	n.answer(t, held, true)
	for name, other := range map[string]*act.Action{
		"other arguments":   call("s", "o1", "transfer", "999"),
		"another agent":     ask(func(a *act.Action) { a.Agent.ID, a.Step, a.ID = "b", "o2", "o2" }),
		"another principal": ask(func(a *act.Action) { a.Principal.Name = "key:other" }),
		"another session":   ask(func(a *act.Action) { a.Session = "s2" }),
	} {
		if d, _ := n.decide(t, other); d.Effect == act.Allow || d.Approval != nil && d.Approval.ID == held.Approval.ID {
			t.Errorf("%s: %v, %+v", name, d.Effect, d.Approval)
		}
	}
	if d, _ := n.decide(t, call("s", "2", "transfer", "100")); d.Effect != act.Allow {
		t.Fatalf("the act itself: %v %+v", d.Effect, d.Reasons)
	}
	again, _ := n.decide(t, call("s", "3", "transfer", "100"))
	if again.Effect != act.Escalate {
		t.Errorf("used twice: %v", again.Effect)
	}

	// A second tab still shows the first request: the one that is held now has
	// the same act, and another text around it.
	a := ask(func(a *act.Action) { a.Body = []byte(`{"jsonrpc":"2.0","id":1,"params":{"text":"100"},"note":"new"}`) })
	a.Session, a.Step, a.ID = "tab", "4", "4"
	first, _ := n.decide(t, ask(func(a *act.Action) { a.Session = "tab" }))
	stale := n.seen(t, first)
	*now = now.Add(2 * approval.Within)
	later, _ := n.decide(t, a)
	if later.Approval.ID != first.Approval.ID {
		t.Fatal("not the same approval")
	}
	reply := func(r guard.Reply) error {
		_, err := n.Answer(t.Context(), later.Approval.ID, alice, r)
		return err
	}
	if err := reply(guard.Reply{Agree: true, Seen: stale}); !errors.Is(err, approval.ErrUnseen) {
		t.Errorf("the second tab: %v", err)
	}
	if err := reply(guard.Reply{Agree: true, Seen: n.seen(t, later), Decision: first.Position.String()}); !errors.Is(err, guard.ErrChanged) {
		t.Errorf("the decision before: %v", err)
	}
	for _, other := range []string{"", seen, "sha256:00"} {
		if err := reply(guard.Reply{Agree: true, Seen: other}); !errors.Is(err, approval.ErrUnseen) {
			t.Errorf("seen %q: %v", other, err)
		}
	}

	// Of a yes and a no at once one counts, and with a no the act does not come.
	fresh := n.seen(t, later)
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wait.Go(func() { errs[i] = reply(guard.Reply{Agree: i == 0, Seen: fresh}) })
	}
	wait.Wait()
	h, err := n.Approval(t.Context(), later.Approval.ID)
	if err != nil || h.State != approval.Denied && h.State != approval.Revoked {
		t.Errorf("after a yes and a no at once: %+v, %v, %v", h, err, errs)
	}
	if d, _ := n.decide(t, ask(func(a *act.Action) { a.Session, a.Step, a.ID = "tab", "5", "5" })); d.Effect == act.Allow {
		t.Error("it came through after a no")
	}

	// Agreed to, and then another policy: what it denies is denied, and what it asks
	// anew was not agreed to.
	for _, rule := range []string{"effect: deny", "effect: escalate, approval: {quorum: 2}"} {
		b := ask(func(a *act.Action) { a.Session = rule })
		held, _ := n.decide(t, b)
		n.answer(t, held, true)
		if err := n.SetPolicy(t.Context(), load(t, asking+"  - {name: new, tools: [transfer], code: new, "+rule+"}\n"), alice); err != nil {
			t.Fatal(err)
		}
		if d, _ := n.decide(t, ask(func(a *act.Action) { a.Session, a.Step, a.ID = rule, "6", "6" })); d.Effect == act.Allow {
			t.Errorf("another policy (%s): %v", rule, d.Effect)
		}
		if err := n.SetPolicy(t.Context(), load(t, asking), alice); err != nil {
			t.Fatal(err)
		}
	}

	// Agreed to, and too late.
	late, _ := n.decide(t, ask(func(a *act.Action) { a.Session = "late" }))
	n.answer(t, late, true)
	*now = now.Add(2 * approval.Within)
	if d, _ := n.decide(t, ask(func(a *act.Action) { a.Session, a.Step, a.ID = "late", "7", "7" })); d.Effect == act.Allow {
		t.Error("too late, and allowed")
	}
}

// What an agent's own user agreed to, in the agent's window, is recorded as that: the agent
// says so with the result, and nothing is allowed by it.
func TestDialogue(t *testing.T) {
	const named = `
version: 1
name: asking
default: allow
rules:
  - {name: transfers, on: tool.call, tools: [transfer], effect: escalate, code: transfer, reason: A person must see each transfer.}
  - {name: large, on: tool.call, tools: [large], effect: escalate, code: large, reason: The chief must agree., approval: {approvers: ["key:chief"]}}
  - {name: two, on: tool.call, tools: [two], effect: escalate, code: two, reason: Two must agree., approval: {quorum: 2}}
  - {name: never, on: tool.call, tools: [never], effect: deny}
  - {name: result-of-a-call, check: [result.orphan, result.denied], effect: deny}
`
	for _, tt := range []struct {
		name   string
		tool   string
		before func(t *testing.T, n *node, d act.Decision, now *time.Time)
		change func(a *act.Action)
		want   string // the check that the result violates
		state  approval.State
	}{
		{name: "its user agreed", tool: "transfer", want: "result.dialogue", state: approval.Dialogue},
		{name: "somebody agreed as well", tool: "transfer", before: func(t *testing.T, n *node, d act.Decision, _ *time.Time) { n.answer(t, d, true) }, want: "result.dialogue", state: approval.Dialogue},
		{name: "somebody refused", tool: "transfer", before: func(t *testing.T, n *node, d act.Decision, _ *time.Time) { n.answer(t, d, false) }, want: "result.denied", state: approval.Denied},
		{name: "its time was over", tool: "transfer", before: func(_ *testing.T, _ *node, _ act.Decision, now *time.Time) { *now = now.Add(2 * time.Hour) }, want: "result.denied", state: approval.Expired},
		{name: "nothing is said", tool: "transfer", change: func(a *act.Action) { a.Dialogue = "" }, want: "result.denied", state: approval.Held},
		{name: "another approval is named", tool: "transfer", change: func(a *act.Action) { a.Dialogue = "nosuchapproval" }, want: "result.denied", state: approval.Held},
		{name: "another agent's", tool: "transfer", change: func(a *act.Action) { a.Agent.ID = "b" }, want: "result.denied", state: approval.Held},
		{name: "another principal's", tool: "transfer", change: func(a *act.Action) { a.Principal = alice }, want: "result.orphan", state: approval.Held},
		{name: "another session's", tool: "transfer", change: func(a *act.Action) { a.Session = "s2" }, want: "result.orphan", state: approval.Held},
		{name: "somebody in particular is asked", tool: "large", want: "result.denied", state: approval.Held},
		{name: "two are asked", tool: "two", want: "result.denied", state: approval.Held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Now()
			n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy, c.Now = load(t, named), func() time.Time { return now } })
			held, _ := n.decide(t, call("s", "1", tt.tool, "100"))
			if held.Effect != act.Escalate || held.Approval.Dialogue != (tt.tool == "transfer") {
				t.Fatalf("the call: %v %+v", held.Effect, held.Approval)
			}
			if tt.before != nil {
				tt.before(t, n, held, &now)
			}
			a := result("s", "1")
			a.Dialogue = held.Approval.ID
			if tt.change != nil {
				tt.change(a)
			}
			d, _ := n.decide(t, a)
			if tt.want == "result.dialogue" {
				if d.Effect != act.Allow || a.Dialogue == "" {
					t.Errorf("the result: %v %v", d.Effect, codesOf(d))
				}
			} else if d.Effect != act.Deny || !strings.Contains(strings.Join(codesOf(d), " "), tt.want) {
				t.Errorf("the result: %v %v", d.Effect, codesOf(d))
			}
			h, err := n.Approval(t.Context(), held.Approval.ID)
			if err != nil || h.State != tt.state {
				t.Fatalf("the approval is %s (%v), want %s", h.State, err, tt.state)
			}
			if tt.state != approval.Dialogue {
				return
			}
			// It was for what has happened, and nothing else.
			again, _ := n.decide(t, call("s", "2", tt.tool, "100"))
			if again.Effect != act.Escalate || again.Approval.State != "held" {
				t.Errorf("the same call once more: %v %+v", again.Effect, again.Approval)
			}
			second := result("s", "2")
			second.Answers, second.Dialogue = "2", "nosuchapproval"
			if d, _ := n.decide(t, second); d.Effect != act.Deny {
				t.Errorf("the second result: %v %v", d.Effect, codesOf(d))
			}
		})
	}

	// What was denied stays denied, whatever the agent says its user said.
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, named) })
	held, _ := n.decide(t, call("s", "1", "transfer", "100"))
	n.decide(t, call("s", "2", "never", "100"))
	a := result("s", "2")
	a.Dialogue = held.Approval.ID
	if d, _ := n.decide(t, a); d.Effect != act.Deny {
		t.Errorf("the result of a denied call: %v %v", d.Effect, codesOf(d))
	}
}

// TestThreat17DefinitionChanged: a tool that its server has defined anew since people agreed
// is asked about anew, once and for a session.
func TestThreat17DefinitionChanged(t *testing.T) {
	for _, forSession := range []bool{false, true} {
		n, _ := asker(t, t.TempDir())
		list := func(step, definition string) {
			t.Helper()
			a := call("s", step, "", "x")
			a.Kind, a.Server, a.InnerMethod, a.ID = act.MCPResponse, "bank", "tools/list", ""
			a.Listed = []act.Definition{{Name: "transfer", Hash: act.Digest{definition[0]}}}
			a.Digest = act.Digest{1, definition[0]}
			if d, _ := n.decide(t, a); d.Effect != act.Allow {
				t.Fatalf("the list: %v %+v", d.Effect, d.Reasons)
			}
		}
		ask := func(step string) *act.Action {
			a := call("s", step, "transfer", "100")
			a.Server = "bank"
			return a
		}
		list("l1", "a")
		held, _ := n.decide(t, ask("1"))
		reply := guard.Reply{Agree: true, Seen: n.seen(t, held)}
		if forSession {
			reply.For = approval.Span{Session: true}
		}
		if _, err := n.Answer(t.Context(), held.Approval.ID, alice, reply); err != nil {
			t.Fatal(err)
		}
		if forSession {
			if d, _ := n.decide(t, ask("1a")); d.Effect != act.Allow {
				t.Errorf("what was agreed to: %v", d.Effect)
			}
		}
		list("l2", "b")
		if d, _ := n.decide(t, ask("2")); d.Effect != act.Escalate {
			t.Errorf("for a session %v: defined anew: %v", forSession, d.Effect)
		}
		list("l3", "a")
		if d, _ := n.decide(t, ask("3")); d.Effect != act.Allow {
			t.Errorf("for a session %v: as it was agreed to: %v", forSession, d.Effect)
		}
	}
}

// TestThreat17ClockSetBack: who sets the clock back does not bring an agreement back.
func TestThreat17ClockSetBack(t *testing.T) {
	n, now := asker(t, t.TempDir())
	was := *now
	held, _ := n.decide(t, call("s", "1", "transfer", "1"))
	n.answer(t, held, true)
	*now = was.Add(-24 * time.Hour)
	if d, _ := n.decide(t, call("s", "2", "transfer", "1")); d.Effect == act.Allow {
		t.Error("used the day before")
	}
	*now = was.Add(2 * approval.Within)
	unused, _ := n.decide(t, call("s", "3", "transfer", "2"))
	n.answer(t, unused, true)
	*now = now.Add(2 * approval.Within)
	if err := n.ExpireApprovals(t.Context()); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(-2 * approval.Within)
	if d, _ := n.decide(t, call("s", "4", "transfer", "2")); d.Effect == act.Allow {
		t.Error("what had ended is back")
	}
}

// TestThreat17ChangedElsewhere: what a person wrote for one argument stands in that argument,
// however the act comes again: with its arguments in another order, or by another door. The
// act that people were asked about is the same then.
func TestThreat17ChangedElsewhere(t *testing.T) {
	const text = `
version: 1
name: desk
default: allow
rules: [{name: payments, tools: [transfer], effect: escalate}]
risk: {deny: off}
`
	inputs := func(pairs ...string) string {
		var b strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":%q,"value":%q}`, pairs[i], pairs[i+1])
		}
		return b.String()
	}
	step := func(id, inputs string) *act.Action {
		a, err := aos.ActionOf([]byte(`{"jsonrpc":"2.0","id":"` + id + `","method":"steps/toolCallRequest","params":{"toolCallRequest":{"executionId":"` + id + `","toolId":"transfer","inputs":[` + inputs + `]},"reasoning":"x",` +
			`"context":{"agent":{"id":"clerk","name":"clerk","version":"1","instructions":"x","provider":{"name":"p","url":"https://p.example"},"organization":{"id":"o"},"url":"https://a.example"},"session":{"id":"s"},"turnId":"t","stepId":"step-` + id + `","timestamp":"2026-11-22T08:15:00Z","user":{"id":"u","name":"u","email":"u@example.com","organization":{"id":"o"}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		a.Principal = act.Anonymous
		return a
	}
	for name, again := range map[string]*act.Action{
		"as it was":     step("2", inputs("to", "Evil Ltd", "note", "Oak Ltd")),
		"another order": step("2", inputs("note", "Oak Ltd", "to", "Evil Ltd")),
	} {
		n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, text) })
		held, _ := n.decide(t, step("1", inputs("to", "Evil Ltd", "note", "Oak Ltd")))
		h, err := n.Show(t.Context(), held.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: h.Seen, Changes: []approval.Change{{Pointer: h.Exact.Arguments[0].Pointer, New: `"Birch Ltd"`}}}); err != nil {
			t.Fatal(err)
		}
		d, modified := n.decide(t, again)
		if d.Effect != act.Modify || strings.Contains(modified, "Evil Ltd") || !strings.Contains(modified, `{"name":"to","value":"Birch Ltd"}`) || !strings.Contains(modified, `{"name":"note","value":"Oak Ltd"}`) {
			t.Errorf("%s: %v %v %s", name, d.Effect, codesOf(d), modified)
		}
	}
}

// TestChangesWithQuorum: where several must agree, who changes an act proposes a form of it.
// It passes in that form once enough have agreed to exactly these bytes, and in no form to which
// fewer did.
func TestChangesWithQuorum(t *testing.T) {
	const text = `
version: 1
name: bank
default: allow
rules: [{name: two, tools: [transfer], effect: escalate, approval: {quorum: 2}}]
`
	bob, cleo := act.Principal{Name: "key:bob", Method: "key"}, act.Principal{Name: "key:cleo", Method: "key"}
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, text) })
	held, _ := n.decide(t, call("s", "1", "transfer", "letters"))
	h, err := n.Show(t.Context(), held.Approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	seen := h.Seen
	answer := func(by act.Principal, values ...string) (approval.State, error) {
		r := guard.Reply{Agree: true, Seen: seen}
		for _, v := range values {
			r.Changes = append(r.Changes, approval.Change{Pointer: "/params/text", New: v})
		}
		h, err := n.Answer(t.Context(), held.Approval.ID, by, r)
		if err != nil {
			return "", err
		}
		return h.State, nil
	}
	for i, tt := range []struct {
		by     act.Principal
		values []string
		state  approval.State
		err    error
	}{
		{alice, nil, approval.Held, nil},
		{bob, []string{`"notes"`}, approval.Held, nil},
		{bob, []string{`"notes"`}, "", approval.ErrAnswered},
		{cleo, []string{` "notes"`}, approval.Held, nil}, // other bytes
		{cleo, []string{`"secrets"`, `"secrets"`}, "", guard.ErrChanges},
		{alice, []string{`"notes"`}, approval.Approved, nil},
		{cleo, []string{`"notes"`}, "", approval.ErrEnded},
	} {
		if state, err := answer(tt.by, tt.values...); state != tt.state || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Fatalf("%d: %s, %v, want %s, %v", i, state, err, tt.state, tt.err)
		}
	}
	d, modified := n.decide(t, call("s", "2", "transfer", "letters"))
	if d.Effect != act.Modify || !strings.Contains(modified, "notes") || !strings.Contains(d.Reasons[0].Message, "key:bob and key:alice changed and agreed to this") {
		t.Errorf("%v %v %s", d.Effect, d.Reasons, modified)
	}

	// Forms are kept for a while, and there is not room for any number of them.
	held, _ = n.decide(t, call("s", "3", "transfer", "others"))
	if h, err = n.Show(t.Context(), held.Approval.ID); err != nil {
		t.Fatal(err)
	}
	seen = h.Seen
	big := `"` + strings.Repeat("x", 60<<10)
	for i := range 5 {
		_, err := answer(act.Principal{Name: fmt.Sprintf("key:%d", i), Method: "key"}, fmt.Sprintf("%s%d\"", big, i))
		if (err != nil) != (i == 4) || err != nil && !errors.Is(err, guard.ErrChanges) {
			t.Errorf("form %d: %v", i, err)
		}
	}
	if h, err = n.Show(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	eve := act.Principal{Name: "key:eve", Method: "key"}
	for name, r := range map[string]guard.Reply{
		"a form of nobody": {Form: "sha256:0"}, "a form and changes": {Form: h.Forms()[1].Digest, Changes: h.Forms()[1].Changes},
		"for longer": {Form: h.Forms()[1].Digest, For: approval.Span{Session: true}}, "as usual": {Form: h.Forms()[1].Digest, Usual: true},
	} {
		r.Agree, r.Seen = true, seen
		if _, err := n.Answer(t.Context(), h.ID, eve, r); !errors.Is(err, guard.ErrChanges) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h, err = n.Answer(t.Context(), h.ID, eve, guard.Reply{Agree: true, Seen: seen, Form: h.Forms()[1].Digest}); err != nil || h.State != approval.Approved || !strings.HasSuffix(h.Changes()[0].New, `1"`) {
		t.Errorf("a form that is there: %+v, %v", h, err)
	}
}

// TestChangedIsRemembered: of an act that a person changed, the session remembers what was
// done: the file that holds the changed text is as grave to run as that.
func TestChangedIsRemembered(t *testing.T) {
	const text = `
version: 1
name: desk
default: allow
rules: [{name: asks, tools: [write_file], effect: escalate}]
`
	step := func(id, tool, inputs string) *act.Action {
		a, err := aos.ActionOf([]byte(`{"jsonrpc":"2.0","id":"` + id + `","method":"steps/toolCallRequest","params":{"toolCallRequest":{"executionId":"` + id + `","toolId":"` + tool + `","inputs":[` + inputs + `]},"reasoning":"x",` +
			`"context":{"agent":{"id":"clerk","name":"clerk","version":"1","instructions":"x","provider":{"name":"p","url":"https://p.example"},"organization":{"id":"o"},"url":"https://a.example"},"session":{"id":"s"},"turnId":"t","stepId":"step-` + id + `","timestamp":"2026-11-22T08:15:00Z","user":{"id":"u","name":"u","email":"u@example.com","organization":{"id":"o"}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		a.Principal = act.Anonymous
		return a
	}
	const grave, harmless = "rm -rf ~/src ~/Documents", "echo hello"
	for _, tt := range []struct {
		asked, given string
		argument     int
		want         act.Effect
	}{{grave, harmless, 1, act.Allow}, {harmless, grave, 1, act.Deny}, {grave, "other.sh", 0, act.Allow}} {
		n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, text) })
		write := `{"name":"path","value":"a.sh"},{"name":"content","value":"` + tt.asked + `"}`
		held, _ := n.decide(t, step("1", "write_file", write))
		h, err := n.Show(t.Context(), held.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: h.Seen, Changes: []approval.Change{{Pointer: h.Exact.Arguments[tt.argument].Pointer, New: `"` + tt.given + `"`}}}); err != nil {
			t.Fatal(err)
		}
		if d, _ := n.decide(t, step("2", "write_file", write)); d.Effect != act.Modify {
			t.Fatalf("the changed act: %v %v", d.Effect, codesOf(d))
		}
		if d, _ := n.decide(t, step("3", "bash", `{"name":"command","value":"bash a.sh"}`)); d.Effect != tt.want {
			t.Errorf("asked %q, given %q: to run it is %v, want %v: %v", tt.asked, tt.given, d.Effect, tt.want, codesOf(d))
		}
	}
}

// TestThreat17ChangedAgainstTheGuardian: a form that a person gives an act is held against all
// that the act itself is held against. Nobody, whoever answers, has an agent reach for the
// guardian's own, or beyond the limits of a tool.
func TestThreat17ChangedAgainstTheGuardian(t *testing.T) {
	const text = `
version: 1
name: desk
default: allow
rules: [{name: asks, tools: [fetch], effect: escalate}]
risk: {deny: off}
manifests: {fetch: {blocked_patterns: [forbidden]}}
`
	for value, code := range map[string]string{"notes": "", "seed": act.CodeTampering, "forbidden words": policy.CodePatterns} {
		n := open(t, t.TempDir(), func(c *guard.Config) {
			c.Policy = load(t, text)
			c.Tampering = func(a *act.Action, _ *hazard.Reading) []act.Reason {
				if string(a.Arguments[0].Value) == `"seed"` && a.Content[0].Text == "seed" {
					return []act.Reason{act.Final("guardian", act.CodeTampering, "This would read the seed.", "")}
				}
				return nil
			}
		})
		held, _ := n.decide(t, call("s", "1", "fetch", "letters"))
		h, err := n.Show(t.Context(), held.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: h.Seen, Changes: []approval.Change{{Pointer: "/params/text", New: fmt.Sprintf("%q", value)}}}); err != nil {
			t.Fatal(err)
		}
		d, modified := n.decide(t, call("s", "2", "fetch", "letters"))
		if code == "" && (d.Effect != act.Modify || !strings.Contains(modified, value)) || code != "" && (d.Effect != act.Deny || !slices.Contains(codesOf(d), code) || modified != "") {
			t.Errorf("%q: %v %v %s", value, d.Effect, codesOf(d), modified)
		}
	}
}

// TestAnotherDelegated: who acts for a person by a token's word acts for them as much as who
// says so itself. Where the policy asks another person, she agrees by no credential of hers.
func TestAnotherDelegated(t *testing.T) {
	now := time.Now()
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, strings.Replace(asking, "    code: transfer\n", "    code: transfer\n    approval: {another: true}\n", 1))
		c.Now = func() time.Time { return now }
	})
	a := call("s", "1", "transfer", "100")
	a.Principal = act.Principal{Name: "jwt:https://login#mailbot?for=4711", Method: "jwt", Delegation: &act.Delegation{
		OnBehalfOf: "jwt:https://login#4711", Person: "ada", Actors: []string{"jwt:https://login#mailbot"},
	}}
	held, _ := n.decide(t, a)
	if held.Approval == nil {
		t.Fatalf("%+v", held)
	}
	seen := n.seen(t, held)
	for _, by := range []act.Principal{
		{Name: "jwt:https://login#4711", Method: "jwt"},
		{Name: "jwt:https://login#4711", Method: "jwt", Person: "ada"},
		{Name: "jwt:https://other#4711", Method: "jwt"},
		{Name: "key:phone", Method: "key", Person: "ada"},
		{Name: "key:desk", Method: "key", Person: "4711"},
	} {
		if _, err := n.Answer(t.Context(), held.Approval.ID, by, guard.Reply{Agree: true, Seen: seen}); !errors.Is(err, approval.ErrSame) {
			t.Errorf("%+v agrees to her own: %v", by, err)
		}
	}
	bob := act.Principal{Name: "key:desk", Method: "key", Person: "bob"}
	if _, err := n.Answer(t.Context(), held.Approval.ID, bob, guard.Reply{Agree: true, Seen: seen}); err != nil {
		t.Errorf("another: %v", err)
	}
}
