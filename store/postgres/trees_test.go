package postgres

import (
	"context"
	"testing"

	"reeve/ledger"
	"reeve/store/storetest"
)

// BenchmarkRemoveTrees removes trees while commits go on.
func BenchmarkRemoveTrees(b *testing.B) {
	durable(b)
	storetest.BenchmarkRemoveTrees(b, func(b *testing.B) ledger.Store { return open(b, storetest.Postgres(b)) })
}

// TestAlone: while one node runs something alone, another leaves it out.
func TestAlone(t *testing.T) {
	url := storetest.Postgres(t)
	one, other := open(t, url), open(t, url)
	ran := 0
	count := func(ctx context.Context) error { ran++; return nil }
	err := one.Alone(t.Context(), func(ctx context.Context) error {
		count(ctx)
		return other.Alone(ctx, count)
	})
	if err != nil || ran != 1 {
		t.Errorf("ran %d times: %v", ran, err)
	}
	if err := other.Alone(t.Context(), count); err != nil || ran != 2 {
		t.Errorf("afterwards it ran %d times: %v", ran, err)
	}
}
