package guard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/storetest"
)

// The guard's memory is the same on PostgreSQL, where a session's steps can be
// decided by several nodes.
func TestPostgres(t *testing.T) {
	ctx := context.Background()
	url := storetest.Postgres(t)
	connect := func() *node {
		store, err := postgres.Open(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		return openOn(t, store, nil)
	}
	a, b := connect(), connect()
	first, _ := a.decide(t, call("s", "1", "read", "notes"))
	if first.Effect != act.Allow {
		t.Errorf("ordinary call: %v", first.Effect)
	}
	if d, _ := b.decide(t, result("s", "1")); d.Effect != act.Allow {
		t.Errorf("its result, on another node: %+v", d.Reasons)
	}
	if d, _ := a.decide(t, call("s", "2", "wipe", "disk")); d.Effect != act.Deny {
		t.Errorf("forbidden call after another node's step: %v", d.Effect)
	}
	if d, _ := b.decide(t, result("s", "2")); d.Effect != act.Deny {
		t.Errorf("result of a denied call, on another node: %v", d.Effect)
	}
	if d, _ := b.decide(t, call("s", "1", "read", "notes")); !d.Repeat || d.Position != first.Position {
		t.Errorf("repeat on another node: %v at %v", d.Repeat, d.Position)
	}
	for _, n := range []*node{a, b} {
		report, err := ledger.Verify(ctx, n.store, ledger.VerifyOptions{Log: n.log.Number(), TrustedKey: n.key})
		if err != nil || !report.OK() {
			t.Errorf("log %d: %v %+v", n.log.Number(), err, report)
		}
	}
}

// TestApproveBetweenNodes: what one node holds is answered at another, wakes who
// waits at the first, and is used once by all of them together.
func TestApproveBetweenNodes(t *testing.T) {
	url := storetest.Postgres(t)
	nodes := make([]*node, 2)
	for i := range nodes {
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = openOn(t, store, func(c *guard.Config) { c.Policy = load(t, asking) })
	}
	held, _ := nodes[0].decide(t, call("s", "1", "transfer", "100"))
	woken := make(chan error, 1)
	go func() { woken <- nodes[0].Await(t.Context(), held.Approval.ID) }()
	nodes[1].answer(t, held, true)
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var allowed atomic.Int32
	for i := range 8 {
		wait.Go(func() {
			d, _, err := nodes[i%2].Decide(context.Background(), call("s", fmt.Sprint("x", i), "transfer", "100"))
			if err != nil && !errors.Is(err, ledger.ErrLost) {
				t.Error(err)
			}
			if d.Effect == act.Allow {
				allowed.Add(1)
			}
		})
	}
	wait.Wait()
	if allowed.Load() != 1 {
		t.Errorf("%d allowed, want one", allowed.Load())
	}
	first := nodes[0].ask(t, intentOf("i", "read", "notes"))
	if again := nodes[1].ask(t, intentOf("i", "read", "notes")); again.Verdict.Position != first.Verdict.Position {
		t.Errorf("an intent at another node: %v, want the recorded %v", again.Verdict.Position, first.Verdict.Position)
	}
	if _, err := nodes[0].SetAgent(t.Context(), "did:a", agent.Suspended, "", alice); err != nil {
		t.Fatal(err)
	}
	if changed, err := nodes[1].LoadAgents(t.Context()); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := nodes[1].ask(t, intentOf("j", "read", "notes")); got.Allowed() {
		t.Error("an agent that was suspended at another node")
	}
}

// TestThreat17TwoNodes: what one node holds is shown byte by byte at another of the same
// seed, and answered there; of many asks at both at once one alone is allowed by it; and
// an intent's params are had back at either, and lie in the database in clear for nobody.
func TestThreat17TwoNodes(t *testing.T) {
	url := storetest.Postgres(t)
	connect := func() *node {
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		return openOn(t, store, func(c *guard.Config) { c.Policy = load(t, asking) })
	}
	nodes := []*node{connect(), connect()}
	const key = "gh" + "p_016C7Aa9Zq4Tb8Xw2Vn5Rm1Lk3Jh6Gf0DdCcYy"
	for round := range 5 {
		here, there := nodes[round%2], nodes[1-round%2]
		text := fmt.Sprint(key, " \x1b[2K ", round)
		a := call("s", fmt.Sprint(round), "transfer", text)
		a.Body = fmt.Appendf(nil, `{"params":{"text":%s}}`, rawjson.Quote(text))
		held, _ := here.decide(t, a)
		if held.Effect != act.Escalate {
			t.Fatalf("%+v", held)
		}
		h, err := there.Show(t.Context(), held.Approval.ID)
		if err != nil || h.Exact == nil || h.Exact.Request != string(a.Body) {
			t.Fatalf("at the other node: %+v, %v", h, err)
		}
		if _, err := there.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: "sha256:other"}); !errors.Is(err, approval.ErrUnseen) {
			t.Errorf("agreed to something else: %v", err)
		}
		if _, err := there.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: h.Seen}); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		var allowed atomic.Int32
		for i := range 16 {
			wait.Go(func() {
				b := call("s", fmt.Sprint(round, " ", i), "transfer", text)
				b.Body = a.Body
				d, _, err := nodes[i%2].Decide(context.Background(), b)
				if err != nil && !errors.Is(err, ledger.ErrLost) {
					t.Error(err)
				}
				if err == nil && d.Effect == act.Allow {
					allowed.Add(1)
				}
			})
		}
		wait.Wait()
		if allowed.Load() != 1 {
			t.Errorf("one approval allowed %d acts", allowed.Load())
		}
	}

	params := []byte(`{"arguments":{"text":"` + key + `"}}`)
	asked := intentOf("i", "transfer", key)
	if _, _, err := nodes[0].Ask(t.Context(), asked, intent.Asking{Params: params, Lasts: time.Minute}); err != nil {
		t.Fatal(err)
	}
	got, err := nodes[1].Get(t.Context(), asked.Principal.Name, asked.Agent.ID, asked.ID)
	if err != nil || !bytes.Equal(got.Params, params) {
		t.Errorf("at the other node: %s, %v", got.Params, err)
	}
	for _, kind := range []string{"intent", "approval"} {
		items, err := nodes[0].store.Items(t.Context(), ledger.ItemQuery{Kind: kind})
		if err != nil || len(items) == 0 {
			t.Fatalf("%d of kind %s, %v", len(items), kind, err)
		}
		for _, item := range items {
			var sealed struct{ Sealed []byte }
			if err := json.Unmarshal(item.Data, &sealed); err != nil {
				t.Error(err)
			}
			if item.Open && sealed.Sealed == nil {
				t.Errorf("the %s %s has nothing sealed: %s", kind, item.ID, item.Data)
			}
			if kind == "intent" && bytes.Contains(item.Data, []byte(key)) {
				t.Errorf("the %s %s lies in clear: %s", kind, item.ID, item.Data)
			}
		}
	}

	// A node with another seed, which could unseal nothing, does not come in.
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: bytes.Repeat([]byte{7}, 32), Owner: "stranger"}); err == nil {
		log.Close()
		t.Error("a node with another seed shares the database")
	}
}

// countedReads counts the writes of sessions that are read.
type countedReads struct {
	guard.Store
	heads, writes atomic.Int64
}

func (c *countedReads) KeyHead(ctx context.Context, key ledger.Key) (act.Position, bool, error) {
	c.heads.Add(1)
	return c.Store.KeyHead(ctx, key)
}

func (c *countedReads) KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (ledger.Claim, error) {
	c.writes.Add(1)
	return c.Store.KeyWrite(ctx, pos, key)
}

// TestRoaming: a session whose steps go from node to node, as behind a load balancer, is
// judged as on one node, and a step reads what the others wrote since, not all of it.
func TestRoaming(t *testing.T) {
	url := storetest.Postgres(t)
	var nodes []*node
	var reads []*countedReads
	for range 3 {
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		counted := &countedReads{Store: store}
		nodes = append(nodes, openOn(t, store, func(c *guard.Config) { c.Shared, c.Store = store, counted }))
		reads = append(reads, counted)
	}
	alone, err := postgres.Open(t.Context(), storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	one := openOn(t, alone, nil)
	said := func(d act.Decision) string {
		text := fmt.Sprint(d.Effect, d.Repeat)
		for _, r := range d.Reasons {
			text += " " + r.Code
		}
		return text
	}
	const steps = 150
	random := rand.New(rand.NewPCG(1, 2))
	for i := range steps {
		make := func() *act.Action { return call("s", fmt.Sprint(i), "read", fmt.Sprint("notes ", i)) }
		switch random.IntN(6) {
		case 0: // the result of an earlier call, or of none
			of := fmt.Sprint(random.IntN(i + 2))
			make = func() *act.Action { return result("s", of) }
		case 1:
			make = func() *act.Action { return call("s", fmt.Sprint(i), "wipe", "disk") }
		case 2: // what was asked before
			of := random.IntN(i + 1)
			make = func() *act.Action { return call("s", fmt.Sprint(of), "read", fmt.Sprint("notes ", of)) }
		case 3: // again and again
			make = func() *act.Action { return call("s", fmt.Sprint(i), "read", "the same") }
		}
		want, _ := one.decide(t, make())
		got, _ := nodes[random.IntN(3)].decide(t, make())
		if said(got) != said(want) {
			t.Errorf("step %d: %s, on one node %s", i, said(got), said(want))
		}
	}
	heads, writes := int64(0), int64(0)
	for _, r := range reads {
		heads, writes = heads+r.heads.Load(), writes+r.writes.Load()
	}
	t.Logf("%d steps: %d heads and %d writes were read", steps, heads, writes)
	if writes > 5*steps {
		t.Errorf("%d steps read %d writes", steps, writes)
	}
}
