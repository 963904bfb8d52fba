package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

const live = `
version: 1
default: allow
rules:
  - {name: no-wipe, on: call, tools: [wipe], effect: deny}
  - {name: ask-deploy, on: call, tools: [deploy], effect: escalate}
  - {name: secrets, detect: [secret], effect: modify, modify: redact}
  - {name: loop, check: [call.loop], effect: deny}
`

func load(t testing.TB, text string) *policy.Set {
	t.Helper()
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// node is a guard on a real store.
type node struct {
	testing.TB
	guard *guard.Guard
	store store.Store
	log   *ledger.Log
}

var names int

func open(t testing.TB, s store.Store, edit func(*guard.Config)) *node {
	t.Helper()
	names++
	log, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: "test", Seed: make([]byte, 32), Owner: fmt.Sprint("node ", names)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	cfg := guard.Config{Log: log, Store: s, Policy: load(t, live), Redact: risk.Secret}
	if edit != nil {
		edit(&cfg)
	}
	g, err := guard.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &node{t, g, s, log}
}

func openSQLite(t testing.TB, edit func(*guard.Config)) *node {
	t.Helper()
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return open(t, s, edit)
}

// call is the request of a call, as an agent sends it.
func call(agent, session string, n int, tool, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"A","id":%q,"instructions":"%s","version":"1","provider":{"name":"p","url":"u"}},
		"session":{"id":%q},"turnId":"t","stepId":"st-%d","timestamp":%q},"toolCallRequest":{"executionId":"x-%d","toolId":%q,"inputs":[{"name":"text","value":%q}]}}}`,
		agent, strings.Repeat("Be careful. ", 20), session, n, time.Now().UTC().Format(time.RFC3339), n, tool, text)
}

// result is the request of what a call gave.
func result(session string, n, of int, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallResult","params":{"context":{"agent":{"name":"A","id":"agent-s","instructions":"i","version":"1","provider":{"name":"p","url":"u"}},
		"session":{"id":%q},"turnId":"t","stepId":"st-%d","timestamp":%q},"executionId":"x-%d","result":{"outputs":[{"kind":"text","text":%q}],"isError":false}}}`,
		session, n, time.Now().UTC().Format(time.RFC3339), of, text)
}

func (n *node) decide(request []byte) act.Decision {
	n.Helper()
	a, err := aos.ActionOf(request)
	if err != nil {
		n.Fatal(err)
	}
	a.Principal = act.Anonymous
	d, _, err := n.guard.Decide(n.Context(), a)
	if err != nil {
		n.Fatal(err)
	}
	return d
}

func (n *node) call(session string, i int, tool, text string) act.Decision {
	n.Helper()
	return n.decide(call("agent-"+session, session, i, tool, text))
}

func options(t testing.TB) replay.Options {
	t.Helper()
	keys, err := guard.DeriveKeys(func(use string) ([]byte, error) { return ledger.DeriveKey(make([]byte, 32), use) })
	if err != nil {
		t.Fatal(err)
	}
	return replay.Options{Keys: keys, Acts: 2}
}

func run(t testing.TB, s replay.Store, set *policy.Set, o replay.Options) *replay.Report {
	t.Helper()
	r, err := replay.Run(t.Context(), s, set, o)
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.Same + r.Changed + r.CannotTell; sum != r.Acts {
		t.Errorf("%d acts come to %d ends", r.Acts, sum)
	}
	return r
}

// What a candidate changes is grouped, what would be let through first, with the acts and
// the agents that would stop working.
func TestChanges(t *testing.T) {
	n := openSQLite(t, nil)
	for i := range 3 {
		n.call("a", i, "wipe", fmt.Sprint(i))
	}
	n.call("a", 3, "read", "x")
	for i := range 2 {
		n.call("b", i, "write", fmt.Sprint(i))
	}
	n.call("b", 2, "deploy", "x")
	r := run(t, n.store, load(t, `
version: 1
default: allow
rules:
  - {name: no-writes, on: call, tools: [write], effect: deny}
  - {name: ask-read, on: call, tools: [read], effect: escalate}
  - {name: deploy-safe, on: call, tools: [deploy], effect: modify, modify: {replace: {argument: text, with: safe}}}
`), options(t))
	want := []replay.Change{
		{From: "deny", To: "allow", Rule: "no-wipe", Agent: "agent-a", Tool: "wipe", Kind: "tool.call", Acts: 3, First: []string{"0-1", "0-2"}},
		{From: "escalate", To: "modify", Rule: "ask-deploy", Agent: "agent-b", Tool: "deploy", Kind: "tool.call", Acts: 1, First: []string{"0-7"}},
		{From: "allow", To: "deny", Rule: "no-writes", Agent: "agent-b", Tool: "write", Kind: "tool.call", Acts: 2, First: []string{"0-5", "0-6"}},
		{From: "allow", To: "escalate", Rule: "ask-read", Agent: "agent-a", Tool: "read", Kind: "tool.call", Acts: 1, First: []string{"0-4"}},
	}
	var got []replay.Change
	for _, c := range r.Changes {
		got = append(got, replay.Change{From: c.From, To: c.To, Rule: c.Rule, Agent: c.Agent, Tool: c.Tool, Kind: c.Kind, Acts: c.Acts, First: c.First})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(replay.Change{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	agents := []replay.Agent{{Agent: "agent-b", Passed: 2, Denied: 2, Stops: true}, {Agent: "agent-a", Passed: 1, Asked: 1, Stops: true}}
	if diff := cmp.Diff(agents, r.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if r.Looser != 4 || r.Stricter != 3 || r.Acts != 7 || r.Records != 8 {
		t.Errorf("%+v", r)
	}
	if r.Shorten(1); len(r.Changes) != 1 || len(r.Agents) != 1 || !r.Left {
		t.Errorf("shortened: %+v", r)
	}
}

// What people answered is no difference of policies.
func TestAnswered(t *testing.T) {
	n := openSQLite(t, nil)
	boss := act.Principal{Name: "key:boss", Method: "key"}
	for i, agree := range []bool{true, false} {
		d := n.call("s", i, "deploy", fmt.Sprint(i))
		h, err := n.guard.Show(t.Context(), d.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.guard.Answer(t.Context(), h.ID, boss, guard.Reply{Agree: agree, Seen: h.Seen}); err != nil {
			t.Fatal(err)
		}
		again := n.call("s", 10+i, "deploy", fmt.Sprint(i))
		if want := map[bool]act.Effect{true: act.Allow, false: act.Deny}[agree]; again.Effect != want {
			t.Fatalf("answered %v: %+v", agree, again)
		}
	}
	if r := run(t, n.store, n.guard.Policy(), options(t)); r.Changed != 0 || r.CannotTell != 0 || r.Same != 4 {
		t.Errorf("%+v", r)
	}
	if r := run(t, n.store, load(t, "version: 1\ndefault: allow\nrules: [{name: r, on: trigger, effect: deny}]\n"), options(t)); r.Looser != 4 || r.Changes[0].From != "escalate" {
		t.Errorf("without the rule: %+v", r)
	}
}

// What cannot be told is counted as that, and why.
func TestCannotTell(t *testing.T) {
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	nothing := load(t, "version: 1\ndefault: allow\nrisk: {deny: off}\nrules: [{name: r, on: trigger, effect: deny}]\n")
	because := func(t *testing.T, r *replay.Report, same int, want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, r.Because); diff != "" || r.Same != same || r.Changed != 0 {
			t.Errorf("%+v (-want +got):\n%s", r, diff)
		}
	}
	t.Run("not kept", func(t *testing.T) {
		n := openSQLite(t, func(c *guard.Config) { c.Keep = guard.KeepNone })
		n.call("s", 1, "read", "x")
		because(t, run(t, n.store, n.guard.Policy(), options(t)), 0, map[string]int{replay.Gone: 1})
	})
	t.Run("erased", func(t *testing.T) {
		n := openSQLite(t, nil)
		d := n.call("s", 1, "read", "x")
		n.call("s", 2, "read", "y")
		if err := n.store.Erase(t.Context(), []act.Position{d.Position}); err != nil {
			t.Fatal(err)
		}
		because(t, run(t, n.store, n.guard.Policy(), options(t)), 1, map[string]int{replay.Gone: 1})
	})
	t.Run("masked", func(t *testing.T) {
		n := openSQLite(t, nil)
		if d := n.call("s", 1, "read", "token "+secret); d.Effect != act.Modify {
			t.Fatalf("%+v", d)
		}
		n.call("s", 2, "read", "plain")
		because(t, run(t, n.store, n.guard.Policy(), options(t)), 1, map[string]int{replay.Masked: 1})
		// Where no rule looks at what is masked, it can be told.
		if r := run(t, n.store, nothing, options(t)); r.CannotTell != 0 || r.Looser != 1 || r.Changes[0].From != "modify" {
			t.Errorf("nothing looks at it: %+v", r)
		}
		// A denial that rests on the tool alone stands, whatever else is looked at.
		if r := run(t, n.store, load(t, live+"  - {name: no-read, on: call, tools: [read], effect: deny}\n"), options(t)); r.CannotTell != 0 || r.Stricter != 2 {
			t.Errorf("denied by the tool: %+v", r)
		}
		// So does a rule that looks at who asks, whose names are kept as they were.
		if r := run(t, n.store, load(t, "version: 1\ndefault: allow\nrisk: {deny: off}\nrules: [{name: who, effect: deny, when: 'agent.id == \"a\" && session.step != \"\" && action.principal.name != \"\"'}]\n"), options(t)); r.CannotTell != 0 {
			t.Errorf("by who asks: %+v", r)
		}
		// Unless an exception may lift it.
		excepted := live + "  - {name: no-read, on: call, tools: [read], effect: deny}\nexcept: [{name: x, reason: y, rules: [no-read], on: call, tools: [read], when: 'text.contains(\"ghp\")', until: 2099-01-01}]\n"
		if r := run(t, n.store, load(t, excepted), options(t)); r.Because[replay.Masked] != 1 || r.Stricter != 1 {
			t.Errorf("an exception: %+v", r)
		}
	})
	t.Run("masked beside the act", func(t *testing.T) {
		n := openSQLite(t, nil)
		n.decide(call("agent "+secret, "s", 1, "read", "x"))
		because(t, run(t, n.store, load(t, "version: 1\ndefault: allow\nrisk: {deny: off}\nrules: [{name: r, when: 'agent.id.contains(\"ghp\")', effect: deny}]\n"), options(t)), 0, map[string]int{replay.Masked: 1})
		because(t, run(t, n.store, nothing, options(t)), 1, map[string]int{})
	})
	t.Run("score", func(t *testing.T) {
		n := openSQLite(t, nil)
		n.call("s", 1, "read", "x")
		o := options(t)
		o.Scored = true
		because(t, run(t, n.store, n.guard.Policy(), o), 0, map[string]int{replay.Score: 1})
		because(t, run(t, n.store, nothing, o), 1, map[string]int{})
		scored := openSQLite(t, func(c *guard.Config) {
			c.Score = func(context.Context, string, []byte) (float64, []string, bool) { return 0.9, []string{"x"}, true }
		})
		if d := scored.call("s", 1, "read", "x"); d.Effect != act.Deny {
			t.Fatalf("%+v", d)
		}
		because(t, run(t, scored.store, scored.guard.Policy(), o), 1, map[string]int{})
		because(t, run(t, scored.store, scored.guard.Policy(), options(t)), 1, map[string]int{})
	})
	t.Run("labels", func(t *testing.T) {
		const rules = "version: 1\ndefault: allow\nrisk: {deny: off}\n%srules: [{name: r, on: call, tools: [pay], when: 'session.foreign', effect: deny}]\n"
		n := openSQLite(t, func(c *guard.Config) { c.Policy = load(t, fmt.Sprintf(rules, "")) })
		n.call("s", 1, "read", "x")
		n.decide(result("s", 2, 1, "Somebody wrote this."))
		if d := n.call("s", 3, "pay", "x"); d.Effect != act.Deny {
			t.Fatalf("%+v", d)
		}
		n.call("s", 4, "read", "y")
		because(t, run(t, n.store, n.guard.Policy(), options(t)), 4, map[string]int{})
		own := load(t, fmt.Sprintf(rules, "labels: [{tools: [read], label: own}]\n"))
		because(t, run(t, n.store, own, options(t)), 3, map[string]int{replay.Labels: 1})
		// Nor can it be told where the policy of then asked for nothing of the kind.
		plain := openSQLite(t, func(c *guard.Config) { c.Policy = nothing })
		plain.call("s", 1, "read", "x")
		plain.call("s", 2, "pay", "x")
		because(t, run(t, plain.store, own, options(t)), 1, map[string]int{replay.Origins: 1})
	})
	t.Run("older", func(t *testing.T) {
		n := openSQLite(t, nil)
		n.call("s", 1, "read", "x")
		older := edited{n.store, func(o *ledger.Outcome) { o.Given = nil }}
		because(t, run(t, older.rewritten(t), n.guard.Policy(), options(t)), 0, map[string]int{replay.Older: 1})
		newer := edited{n.store, func(o *ledger.Outcome) { o.Given.Version = 99 }}
		because(t, run(t, newer.rewritten(t), n.guard.Policy(), options(t)), 0, map[string]int{replay.Unread: 1})
		otherwise := edited{n.store, func(o *ledger.Outcome) { o.Effect = "deny" }}
		because(t, run(t, otherwise.rewritten(t), n.guard.Policy(), options(t)), 0, map[string]int{replay.Program: 1})
		because(t, run(t, otherwise.rewritten(t), nothing, options(t)), 0, map[string]int{replay.Program: 1})
	})
	t.Run("pruned", func(t *testing.T) {
		n := openSQLite(t, nil)
		for i := range 300 {
			n.call("long", i, "read", fmt.Sprint(i))
		}
		for i := range 3 {
			n.call("short", i, "read", fmt.Sprint(i))
		}
		head, err := n.store.Head(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.store.PruneRecords(t.Context(), 0, 256, head.Checkpoint); err != nil {
			t.Fatal(err)
		}
		r := run(t, n.store, n.guard.Policy(), options(t))
		if r.Because[replay.Memory] == 0 || r.Same < 3 || r.Changed != 0 || r.Acts >= 300 {
			t.Errorf("%+v", r)
		}
	})
}

// edited is a store in which what lies beside the records was written otherwise.
type edited struct {
	store.Store
	edit func(*ledger.Outcome)
}

// rewritten is a store of its own with the same acts, of which the outcomes are edited.
func (e edited) rewritten(t *testing.T) store.Store {
	t.Helper()
	to, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	log, err := ledger.Open(t.Context(), ledger.Config{Store: to, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	head, err := e.Head(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range head.Size {
		pos := act.Position{Index: i}
		r, _, err := ledger.ReadRecord(t.Context(), e.Store, pos)
		if err != nil {
			t.Fatal(err)
		}
		o, err := ledger.ReadOpening(t.Context(), e.Store, pos)
		if err != nil {
			t.Fatal(err)
		}
		entry := &ledger.Entry{Record: r, Request: o.Request, Modified: o.Modified, Principal: o.Principal, Reasons: o.Reasons, Links: o.Links, KeepContent: true}
		if r.Effect != "" {
			out, err := o.Outcome()
			if err != nil {
				t.Fatal(err)
			}
			text, err := e.Policy(t.Context(), out.Policy)
			if err != nil {
				t.Fatal(err)
			}
			if err := to.PutPolicy(t.Context(), out.Policy, text, r.Time); err != nil {
				t.Fatal(err)
			}
			e.edit(&out)
			entry.Record.Effect = out.Effect
			if entry.Reasons, err = json.Marshal(out); err != nil {
				t.Fatal(err)
			}
		}
		e.Claims(t.Context(), 0, i, i+1, func(_ uint64, c *ledger.Claim) error {
			entry.Writes = append(entry.Writes, &ledger.Write{Head: ledger.NewKeyHead(c.Key, c.Prev, !c.First), Data: append([]byte(nil), c.Data...)})
			return nil
		})
		ticket, err := log.Enqueue(log.Generation(), entry)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// faulty is a store of which some rows are damaged.
type faulty struct {
	store.Store
	records, openings, facts, claims func(index uint64, data []byte) ([]byte, error)
}

var errDamaged = errors.New("the database is damaged")

func (f faulty) Records(ctx context.Context, log uint32, from, to uint64, each func(uint64, []byte) error) error {
	return f.Store.Records(ctx, log, from, to, func(index uint64, data []byte) error { return spoilt(f.records, index, data, each) })
}

func (f faulty) Openings(ctx context.Context, log uint32, from, to uint64, each func(uint64, []byte) error) error {
	return f.Store.Openings(ctx, log, from, to, func(index uint64, data []byte) error { return spoilt(f.openings, index, data, each) })
}

func (f faulty) Facts(ctx context.Context, log uint32, from, to uint64, each func(uint64, []byte) error) error {
	return f.Store.Facts(ctx, log, from, to, func(index uint64, data []byte) error { return spoilt(f.facts, index, data, each) })
}

func (f faulty) Claims(ctx context.Context, log uint32, from, to uint64, each func(uint64, *ledger.Claim) error) error {
	return f.Store.Claims(ctx, log, from, to, func(index uint64, c *ledger.Claim) error {
		return spoilt(f.claims, index, c.Data, func(index uint64, data []byte) error { c.Data = data; return each(index, c) })
	})
}

func spoilt(by func(uint64, []byte) ([]byte, error), index uint64, data []byte, each func(uint64, []byte) error) error {
	if by != nil {
		var err error
		if data, err = by(index, data); err != nil {
			return err
		}
	}
	return each(index, data)
}

// Damaged rows are counted, end nothing, and change nothing of the others.
func TestDamaged(t *testing.T) {
	n := openSQLite(t, nil)
	for i := range 20 {
		n.call(fmt.Sprint(i%4), i, "read", fmt.Sprint(i))
	}
	gone := func(index uint64, data []byte) ([]byte, error) {
		if index == 7 {
			return nil, errDamaged
		}
		return data, nil
	}
	flipped := func(index uint64, data []byte) ([]byte, error) {
		if index != 7 {
			return data, nil
		}
		data = append([]byte(nil), data...)
		data[len(data)/2] ^= 0x55
		return data, nil
	}
	short := func(index uint64, data []byte) ([]byte, error) {
		if index == 7 {
			data = data[:len(data)-9]
		}
		return data, nil
	}
	for name, tt := range map[string]struct {
		store  faulty
		others int // steps of the same session that follow, of which the memory is not known
	}{
		"record gone":     {faulty{records: gone}, 0},
		"record flipped":  {faulty{records: flipped}, 0},
		"opening gone":    {faulty{openings: gone}, 0},
		"opening flipped": {faulty{openings: flipped}, 0},
		"opening short":   {faulty{openings: short}, 0},
		"facts gone":      {faulty{facts: gone}, 0},
		"facts flipped":   {faulty{facts: flipped}, 0},
		"facts short":     {faulty{facts: short}, 0},
		"claim short":     {faulty{claims: short}, 0},
	} {
		tt.store.Store = n.store
		r := run(t, tt.store, n.guard.Policy(), options(t))
		if r.Because[replay.Damaged] != 1 || r.Same != 19 || r.Changed != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := run(t, faulty{Store: n.store, claims: gone}, n.guard.Policy(), options(t)); r.Changed != 0 || r.Because[replay.Damaged] != 1 || r.Same != 19 {
		t.Errorf("what one step wrote of its session is gone: %+v", r)
	}
}

// counted is a store that counts how often it is asked.
type counted struct {
	faulty
	reads *int
}

func (c counted) Records(ctx context.Context, log uint32, from, to uint64, each func(uint64, []byte) error) error {
	*c.reads++
	return c.faulty.Records(ctx, log, from, to, each)
}

// Of a session's steps what came in is read in one go, whatever else lies between them, and
// one that is damaged is said to be, and no more.
func TestFlows(t *testing.T) {
	n := openSQLite(t, nil)
	var at []act.Position
	for i := range 200 {
		n.call(fmt.Sprint(i%4), i, "read", fmt.Sprint(i))
		if i%4 == 1 {
			at = append(at, act.Position{Index: uint64(i)})
		}
	}
	gone := func(index uint64, data []byte) ([]byte, error) {
		if index == 101 {
			return nil, errDamaged
		}
		return data, nil
	}
	policyThen := func(_ context.Context, hash string) (*policy.Set, error) { return n.guard.Policy(), nil }
	for name, s := range map[string]faulty{"sound": {}, "record": {records: gone}, "opening": {openings: gone}, "facts": {facts: gone}, "claim": {claims: gone}} {
		s.Store = n.store
		reads := 0
		flows, err := replay.Flows(t.Context(), counted{s, &reads}, options(t).Keys, policyThen, at)
		if err != nil || len(flows) != len(at) {
			t.Fatalf("%s: %d flows, %v", name, len(flows), err)
		}
		for i, f := range flows {
			if f.Damaged != (name != "sound" && at[i].Index == 101) {
				t.Errorf("%s: %v is damaged: %v", name, at[i], f.Damaged)
			}
		}
		if name == "sound" && reads > 2 {
			t.Errorf("%d steps took %d reads", len(at), reads)
		}
	}
	// A policy that cannot be read is none.
	broken := func(context.Context, string) (*policy.Set, error) { return nil, errDamaged }
	if _, err := replay.Flows(t.Context(), n.store, options(t).Keys, broken, at); err != nil {
		t.Error(err)
	}
	// What is asked for in another order, twice, or is not there, is answered, too.
	odd := []act.Position{at[9], at[3], at[3], {Log: 7, Index: 1}, {Index: 1 << 40}, at[4]}
	if flows, err := replay.Flows(t.Context(), n.store, options(t).Keys, policyThen, odd); err != nil || len(flows) != len(odd) {
		t.Errorf("%d flows, %v", len(flows), err)
	}
}

// One session on two nodes of a database, each with a log of its own, is one memory.
func TestSeveralLogs(t *testing.T) {
	s, err := postgres.Open(t.Context(), storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	const rules = "version: 1\ndefault: allow\nrules: [{name: third, on: call, when: 'session.calls % 3 == 2', effect: deny}, {name: loop, check: call.loop, effect: deny}]\n"
	edit := func(c *guard.Config) { c.Policy = load(t, rules) }
	nodes := []*node{open(t, s, edit), open(t, s, edit)}
	for i := range 40 {
		nodes[i%3%2].call(fmt.Sprint(i%2), i, "read", fmt.Sprint(i%5))
	}
	r := run(t, s, load(t, rules), options(t))
	if r.Same != 40 || r.CannotTell != 0 || r.Changed != 0 {
		t.Errorf("%+v", r)
	}
}

// What is written meanwhile is not in the window, and who asks can end it.
func TestGrowsAndEnds(t *testing.T) {
	n := openSQLite(t, nil)
	for i := range 200 {
		n.call(fmt.Sprint(i%9), i, "read", fmt.Sprint(i))
	}
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		for i := 1000; ; i++ {
			select {
			case <-stop:
				return
			default:
				n.call(fmt.Sprint(i%9), i, "wipe", fmt.Sprint(i))
			}
		}
	})
	for range 5 {
		if r := run(t, n.store, n.guard.Policy(), options(t)); r.Acts < 200 || r.Changed != 0 || r.CannotTell != 0 {
			t.Errorf("%+v", r)
		}
	}
	close(stop)
	writing.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.Run(ctx, n.store, n.guard.Policy(), options(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	cause := errors.New("enough")
	slow, end := context.WithCancelCause(t.Context())
	o := options(t)
	o.Workers = 1
	_, err := replay.Run(slow, faulty{Store: n.store, openings: func(index uint64, data []byte) ([]byte, error) {
		if index > 100 {
			end(cause)
		}
		return data, nil
	}}, n.guard.Policy(), o)
	if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		t.Errorf("ended under way: %v", err)
	}
}

// Many records take no more memory than few: what is held is bounded.
func TestMemoryBound(t *testing.T) {
	records := 16_000
	if testing.Short() {
		records = 4000
	}
	if n, _ := strconv.Atoi(os.Getenv("REEVE_RECORDS")); n > 0 { // such as a million
		records = n
	}
	n := openSQLite(t, nil)
	fill(n, records, records/8)
	var peak uint64
	var m runtime.MemStats
	o := options(t)
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	o.Progress = func(done, of uint64) {
		runtime.GC() // what is left is what is held
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	r := run(t, n.store, n.guard.Policy(), o)
	if r.Same != records {
		t.Fatalf("%+v", r)
	}
	if grown := int64(peak) - int64(before); grown > 200<<20 {
		t.Errorf("%d records take %d MiB", records, grown>>20)
	} else {
		t.Logf("%d records in %d sessions: %d KiB", records, records/8, grown>>10)
	}
}

// fill has calls decided, by several at once.
func fill(n *node, records, sessions int) {
	var group sync.WaitGroup
	const writers = 64
	for w := range writers {
		group.Go(func() {
			for i := w; i < records; i += writers {
				n.call(fmt.Sprint(i%sessions), i, "read", fmt.Sprintf("the text number %d, which is about as long as what agents say", i))
			}
		})
	}
	group.Wait()
}
