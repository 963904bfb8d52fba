package guard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"reeve/act"
	"reeve/agent"
	"reeve/guard"
	"reeve/ledger"
	"reeve/store/postgres"
	"reeve/store/storetest"
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
	first := nodes[0].ask(t, intent("i", "read", "notes"))
	if again := nodes[1].ask(t, intent("i", "read", "notes")); again.Verdict.Position != first.Verdict.Position {
		t.Errorf("an intent at another node: %v, want the recorded %v", again.Verdict.Position, first.Verdict.Position)
	}
	if _, err := nodes[0].SetAgent(t.Context(), "did:a", agent.Suspended, "", alice); err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].LoadAgents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := nodes[1].ask(t, intent("j", "read", "notes")); got.Allowed() {
		t.Error("an agent that was suspended at another node")
	}
}
