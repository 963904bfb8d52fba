package guard_test

import (
	"context"
	"testing"

	"reeve/act"
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
