package guard_test

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
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
)

const rules = `
version: 1
name: test
default: allow
rules:
  - name: no-wipe
    on: tool.call
    tools: [wipe]
    effect: deny
    code: wipe
    reason: Wiping is never allowed.
    instead: Ask for one file to be removed.
  - name: cards
    detect: [pii.card]
    effect: modify
    modify: redact
    code: pii.card
    reason: A card number was masked.
  - name: orphan
    check: [result.orphan, result.denied, id.reused, memory.foreign]
    effect: deny
    code: session
    reason: It does not fit the session.
`

var opened atomic.Int32 // nodes, each with a name of its own

// node is a guard on a real store.
type node struct {
	*guard.Guard
	*intent.Intents
	pins  *pins.Pins
	store store.Store
	log   *ledger.Log
	key   string
}

func open(t testing.TB, dir string, edit func(*guard.Config)) *node {
	t.Helper()
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return openOn(t, store, edit)
}

func openOn(t testing.TB, store store.Store, edit func(*guard.Config)) *node {
	t.Helper()
	ctx := context.Background()
	log, err := ledger.Open(ctx, ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32), Owner: fmt.Sprint("node ", opened.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := guard.Config{Log: log, Store: store, Policy: set}
	if edit != nil {
		edit(&cfg)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g, err := guard.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{g, intent.New(g, nil, 0, 0, cfg.Now), pins.New(g, 0, 0, cfg.Now), store, log, log.VerifierKey()}
	t.Cleanup(n.close)
	return n
}

func (n *node) close() {
	n.log.Close()
	n.store.Close()
}

// call makes a tool call with one argument.
func call(session, id, tool, text string) *act.Action {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"params":{"text":%q}}`, text)
	return &act.Action{
		Door: "aos", Method: "steps/toolCallRequest", Kind: act.ToolCall, Principal: act.Anonymous,
		Agent: act.Agent{ID: "a"}, Session: session, Turn: "t", Step: "step-" + id, ID: id,
		Resource: tool, Canonical: tool,
		Arguments: []act.Argument{{Name: "text", Value: fmt.Appendf(nil, "%q", text), Pointer: "/params/text"}},
		Content:   []act.Leaf{{Pointer: "/params/text", Text: text, Arg: "text"}},
		Body:      []byte(body), Digest: sha256.Sum256([]byte(tool + "\x00" + text)),
	}
}

func result(session, id string) *act.Action {
	a := call(session, "r"+id, "", "done")
	a.Kind, a.ID, a.Answers = act.ToolResult, "", id
	return a
}

func (n *node) decide(t testing.TB, a *act.Action) (act.Decision, string) {
	t.Helper()
	d, modified, err := n.Decide(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d, string(modified)
}

func TestDecide(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	if d, _ := n.decide(t, call("s", "1", "read", "notes")); d.Effect != act.Allow {
		t.Errorf("ordinary call: %v", d.Effect)
	}
	d, _ := n.decide(t, call("s", "2", "wipe", "disk"))
	if d.Effect != act.Deny || d.Reasons[0].Code != "wipe" || d.Reasons[0].Instead == "" {
		t.Errorf("forbidden call: %+v", d)
	}
	d, modified := n.decide(t, call("s", "3", "post", "card 4000 0000 0000 0002 lost"))
	if d.Effect != act.Modify || modified != `{"jsonrpc":"2.0","id":1,"params":{"text":"card **** lost"}}` {
		t.Errorf("card: %v %s", d.Effect, modified)
	}
	if d, _ := n.decide(t, result("s", "2")); d.Effect != act.Deny {
		t.Errorf("result of a denied call: %v", d.Effect)
	}
	if d, _ := n.decide(t, result("s", "9")); d.Effect != act.Deny {
		t.Errorf("orphan: %v", d.Effect)
	}
}

// The same act asked about again gets the recorded decision, also after a
// restart and under another policy; another act under the same id is refused.
func TestRepeat(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir, nil)
	first, modified := n.decide(t, call("s", "1", "post", "card 4000 0000 0000 0002 lost"))
	check := func(when string) {
		t.Helper()
		again, m := n.decide(t, call("s", "1", "post", "card 4000 0000 0000 0002 lost"))
		if !again.Repeat || again.Position != first.Position || m != modified {
			t.Errorf("%s: repeat %v at %v (first %v), %s", when, again.Repeat, again.Position, first.Position, m)
		}
		if diff := cmp.Diff(first.Reasons, again.Reasons); diff != "" {
			t.Errorf("%s: reasons (-first +again):\n%s", when, diff)
		}
	}
	check("at once")
	n.close()
	n = open(t, dir, nil)
	check("after a restart")
	if d, _ := n.decide(t, call("s", "1", "post", "another text")); d.Effect != act.Deny || d.Repeat {
		t.Errorf("another act under the same id: %v", d.Effect)
	}
}

// The same act can come again with its arguments in another order: a recorded
// edit must not hit the wrong one.
func TestRepeatReordered(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	both := func(first, second string) *act.Action {
		a := call("s", "1", "post", "")
		a.Body = fmt.Appendf(nil, `{"id":1,"params":[%q,%q]}`, first, second)
		a.Content = []act.Leaf{{Pointer: "/params/0", Text: first}, {Pointer: "/params/1", Text: second}}
		a.Digest = sha256.Sum256([]byte("the two of them"))
		return a
	}
	const card, note = "4000 0000 0000 0002", "a note"
	if _, modified := n.decide(t, both(card, note)); modified != `{"id":1,"params":["****","a note"]}` {
		t.Fatalf("first: %s", modified)
	}
	if d, modified := n.decide(t, both(note, card)); d.Effect != act.Modify || modified != `{"id":1,"params":["a note","****"]}` {
		t.Errorf("in another order: %v %s", d.Effect, modified)
	}
}

// Of two uses of one id at once, only one is the first.
func TestConcurrentReuse(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	for round := range 20 {
		var allowed atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				a := call(fmt.Sprint("s", round), "x", "read", fmt.Sprint("file ", i))
				d, _, err := n.Decide(context.Background(), a)
				if err != nil {
					t.Error(err)
				}
				if d.Effect == act.Allow {
					allowed.Add(1)
				}
			})
		}
		wg.Wait()
		if allowed.Load() != 1 {
			t.Fatalf("%d of 8 different acts under one id were allowed, want 1", allowed.Load())
		}
	}
}

// Memory stored for one user is not given to another, across sessions.
func TestForeignMemory(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	memory := func(kind act.Kind, session, user, step string) *act.Action {
		a := call(session, step, "", "likes large print")
		a.Kind, a.ID, a.User, a.Content[0].Item = kind, "", act.User{ID: user}, "/params/text"
		return a
	}
	n.decide(t, memory(act.MemoryStore, "s1", "oda", "1"))
	if d, _ := n.decide(t, memory(act.MemoryRetrieve, "s2", "oda", "2")); d.Effect != act.Allow {
		t.Errorf("own memory: %v", d.Effect)
	}
	if d, _ := n.decide(t, memory(act.MemoryRetrieve, "s3", "eve", "3")); d.Effect != act.Deny {
		t.Errorf("foreign memory: %v", d.Effect)
	}
	beside := memory(act.MemoryRetrieve, "s3", "eve", "3b")
	beside.Content[0].Item = ""
	if d, _ := n.decide(t, beside); d.Effect != act.Allow {
		t.Errorf("a text that stands beside the memories: %v", d.Effect)
	}
	n.decide(t, memory(act.MemoryStore, "s3", "eve", "4"))
	if d, _ := n.decide(t, memory(act.MemoryRetrieve, "s4", "eve", "5")); d.Effect != act.Allow {
		t.Errorf("memory that both stored: %v", d.Effect)
	}
}

// What is remembered in a changed form is known in that form.
func TestModifiedMemory(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	memory := func(kind act.Kind, user, step, text string) *act.Action {
		a := call("s"+user, step, "", text)
		a.Kind, a.ID, a.User, a.Content[0].Item = kind, "", act.User{ID: user}, "/params/text"
		return a
	}
	if d, _ := n.decide(t, memory(act.MemoryStore, "oda", "1", "card 4000 0000 0000 0002")); d.Effect != act.Modify {
		t.Fatalf("storing a card: %v", d.Effect)
	}
	if d, _ := n.decide(t, memory(act.MemoryRetrieve, "eve", "2", "card ****")); d.Effect != act.Deny {
		t.Errorf("foreign memory in its changed form: %v", d.Effect)
	}
}

// Sessions that do not fit in memory are read again, and remember all the same.
func TestEviction(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.SessionBytes = 4096 })
	for i := range 100 {
		n.decide(t, call(fmt.Sprint("s", i), "x", "read", "notes"))
	}
	if held, _ := n.Sessions(); held > 20 {
		t.Errorf("%d sessions are held in 4 KB", held)
	}
	for i := range 100 {
		if d, _ := n.decide(t, result(fmt.Sprint("s", i), "x")); d.Effect != act.Allow {
			t.Fatalf("session %d has forgotten its call: %+v", i, d.Reasons)
		}
	}
}

// An old session is forgotten, and what is unknown does not deny.
func TestExpired(t *testing.T) {
	now := time.Now()
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Now = func() time.Time { return now } })
	n.decide(t, call("s", "1", "read", "notes"))
	now = now.Add(25 * time.Hour)
	if d, _ := n.decide(t, result("s", "1")); d.Effect != act.Allow {
		t.Errorf("result in an expired session: %v %+v", d.Effect, d.Reasons)
	}
	if d, _ := n.decide(t, result("new", "1")); d.Effect != act.Deny {
		t.Errorf("result in a session never seen: %v", d.Effect)
	}
}

// failing is a store whose commits fail while told so, before or after they
// are durable.
type failing struct {
	store.Store
	mode atomic.Int32 // 1: before, 2: after
}

var errDisk = errors.New("the disk is full")

func (f *failing) Commit(ctx context.Context, l ledger.Lease, claims []ledger.Claim, load *task.Load, build func(ledger.Found) (*ledger.Batch, error)) error {
	mode := f.mode.Load()
	if mode == 1 {
		return errDisk
	}
	err := f.Store.Commit(ctx, l, claims, load, build)
	if err == nil && mode == 2 {
		return errDisk
	}
	return err
}

// No record, no answer; and when the disk recovers, so does the node, with a
// session's memory that holds what the ledger holds.
func TestFailedWrite(t *testing.T) {
	for mode, name := range []string{1: "lost", 2: "kept but reported lost"} {
		if name == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f := &failing{Store: store}
			n := openOn(t, f, nil)
			n.decide(t, call("s", "1", "read", "notes"))
			f.mode.Store(int32(mode))
			if _, _, err := n.Decide(context.Background(), call("s", "2", "read", "more")); err == nil {
				t.Fatal("a verdict was given without a record")
			}
			f.mode.Store(0)
			if d, _ := n.decide(t, result("s", "1")); d.Effect != act.Allow {
				t.Errorf("the session has forgotten what was recorded: %+v", d.Reasons)
			}
			d, _ := n.decide(t, call("s", "2", "read", "more"))
			if d.Effect != act.Allow || d.Repeat != (mode == 2) {
				t.Errorf("the call asked about again: %v, repeat %v", d.Effect, d.Repeat)
			}
			report, err := ledger.Verify(context.Background(), store, ledger.VerifyOptions{TrustedKey: n.key})
			if err != nil || !report.OK() {
				t.Errorf("the ledger does not hold: %v %v", err, report)
			}
		})
	}
}

// What is kept beside the ledger is what was configured, and secrets are masked.
func TestKept(t *testing.T) {
	for _, tt := range []struct {
		keep           guard.Keep
		allowed, other bool
	}{{guard.KeepAll, true, true}, {guard.KeepNotAllowed, false, true}, {guard.KeepNone, false, false}} {
		t.Run(string(tt.keep), func(t *testing.T) {
			n := open(t, t.TempDir(), func(c *guard.Config) { c.Keep = tt.keep; c.Redact = 1<<8 - 1 })
			named := func(a *act.Action) *act.Action {
				a.User.Name, a.Resource = "eve@lind.example", "eve@lind.example"
				a.Body = []byte(strings.Replace(string(a.Body), `"id":1`, `"id":1,"instructions":"ask eve@lind.example"`, 1))
				return a
			}
			a, _ := n.decide(t, named(call("s", "1", "read", "mail oda@lind.example")))
			b, _ := n.decide(t, named(call("s", "2", "wipe", "mail oda@lind.example")))
			for d, want := range map[act.Position]bool{a.Position: tt.allowed, b.Position: tt.other} {
				o, err := ledger.ReadOpening(context.Background(), n.store, d)
				if err != nil {
					t.Fatal(err)
				}
				if (o.Request != nil) != want {
					t.Errorf("decision %s: request kept %v, want %v", d, o.Request != nil, want)
				}
				for _, kept := range [][]byte{o.Request, o.Principal, o.Links} {
					if strings.Contains(string(kept), "eve@") {
						t.Errorf("decision %s: a name was not masked: %s", d, kept)
					}
				}
				if strings.Contains(string(o.Request), "oda@") {
					t.Errorf("decision %s: the address was not masked: %s", d, o.Request)
				}
				if o.Reasons == nil || o.Principal == nil || o.Links == nil {
					t.Errorf("decision %s: reasons, principal and links are always kept", d)
				}
			}
		})
	}
}

// TestUserHash: what was kept of a user's acts is found, also where the id is masked.
func TestUserHash(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Redact = risk.All })
	for i := range 200 {
		id := fmt.Sprintf("user%d@lind.example", i)
		a := call("s", fmt.Sprint(i), "read", "notes")
		a.Session, a.User.ID = id, id
		d, _ := n.decide(t, a)
		o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(o.Principal), id) || !strings.Contains(string(o.Principal), `"user_hash":"`+ledger.UserHash(id)+`"`) {
			t.Fatalf("%s: %s", id, o.Principal)
		}
	}
}

// TestKeptEdits: what a rule puts into a request is masked like the request,
// and then the answer cannot be repeated from what is kept.
func TestKeptEdits(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Redact = risk.All
		c.Policy = load(t, rules+"  - {name: to, tools: [send], effect: modify, modify: {replace: {argument: text, with: desk@lind.example}}}\n")
	})
	for i := range 2 {
		d, modified := n.decide(t, call("s", "1", "send", "hello"))
		if d.Effect != act.Modify || !strings.Contains(modified, "desk@lind.example") {
			t.Fatalf("ask %d: %v %s", i, d.Effect, modified)
		}
		o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
		if err != nil {
			t.Fatal(err)
		}
		for _, kept := range [][]byte{o.Request, o.Modified, o.Reasons} {
			if strings.Contains(string(kept), "desk@") {
				t.Errorf("ask %d: the new value is kept: %s", i, kept)
			}
		}
	}
}

// TestKeptDescription: an agent's description that was clean is not read again,
// and one that is not clean is masked each time, also when it is written in escapes.
func TestKeptDescription(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Redact = risk.All })
	pad := strings.Repeat("Help readers find books. ", 10)
	for i, instructions := range []string{pad, pad + "mail eve@lind.example", pad, pad + `mail eve\u0040lind.example`, pad + "mail eve@lind.example"} {
		a := call("s", fmt.Sprint(i), "read", "notes")
		a.Agent.Raw = []byte(`{"instructions":"` + instructions + `"}`)
		a.Body = []byte(`{"agent":` + string(a.Agent.Raw) + `,"params":{"text":"notes"},"also":"pat@lind.example"}`)
		d, _ := n.decide(t, a)
		o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
		if err != nil {
			t.Fatal(err)
		}
		if kept := string(o.Request); strings.Contains(kept, "lind.example") || !strings.Contains(kept, "Help readers") {
			t.Errorf("step %d: %s", i, kept)
		}
	}
}

// TestKeptNames: a secret that stands where nothing can be masked is not kept.
func TestKeptNames(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Redact = risk.All })
	a := call("s", "1", "read", "notes")
	a.Body = []byte(`{"params":{"eve@lind.example":1}}`)
	a.Content = []act.Leaf{{Pointer: "/params", Text: "eve@lind.example", Fixed: true}}
	d, _ := n.decide(t, a)
	o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(o.Request), "eve@") {
		t.Errorf("kept: %s", o.Request)
	}
}

// TestBounds: a tool with limits of its own is called only by doors that tell them.
func TestBounds(t *testing.T) {
	const limits = "{timeout_seconds: 5}"
	all := "[max_memory_mb, max_cpu_percent, timeout_seconds, network_allowed, filesystem_scope, filesystem_read, allowed_domains, blocked_domains, blocked_patterns]"
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, rules+"manifests: {'*': "+limits+", build: "+limits+", 'run_*': "+limits+", look: {advisory: "+all+"}}\n")
	})
	for i, tt := range []struct {
		tool    string
		bounded bool
		want    act.Effect
	}{
		{"read", false, act.Allow}, {"build", false, act.Deny}, {"build", true, act.Allow}, {"run_tests", false, act.Deny}, {"look", false, act.Allow},
	} {
		a := call("s", fmt.Sprint(i), tt.tool, "x")
		a.Bounded = tt.bounded
		if d, _ := n.decide(t, a); d.Effect != tt.want || tt.want == act.Deny && d.Reasons[0].Code != "limits.unenforced" {
			t.Errorf("%s, bounded %v: %v %+v", tt.tool, tt.bounded, d.Effect, d.Reasons)
		}
	}
}

// TestRefusals: what reeve itself refuses no rule allows.
func TestRefusals(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	a := call("s", "1", "read", "notes")
	a.Refusals = []act.Reason{{Rule: "identity", Code: "agent.revoked", Message: "The agent is revoked.", Effect: act.Deny}}
	if d, _ := n.decide(t, a); d.Effect != act.Deny || d.Reasons[0].Code != "agent.revoked" {
		t.Errorf("%+v", d)
	}
}

func TestSetPolicy(t *testing.T) {
	n := open(t, t.TempDir(), nil)
	before, _ := n.decide(t, call("s", "1", "read", "notes"))
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte("version: 1\nname: strict\ndefault: deny\nrules: [{name: look, on: tool.call, tools: [list], effect: allow, reason: Looking is free.}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.SetPolicy(context.Background(), set, alice); err != nil {
		t.Fatal(err)
	}
	after, _ := n.decide(t, call("s", "2", "read", "notes"))
	if after.Effect != act.Deny || after.Policy != set.Hash() || before.Policy == after.Policy {
		t.Errorf("under the new policy: %v by %s", after.Effect, after.Policy)
	}
	for _, hash := range []string{before.Policy, after.Policy} {
		text, err := n.store.Policy(context.Background(), hash)
		if err != nil {
			t.Errorf("the text of %s is not kept: %v", hash, err)
		} else if again, err := policy.Parse(text); err != nil || again.Hash() != hash {
			t.Errorf("the kept text of %s does not make that policy: %v", hash, err)
		}
	}
}
