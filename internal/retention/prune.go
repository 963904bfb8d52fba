package retention

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
)

// Pruned tells from which index on the records are still there; a preview, also how
// many would go, and of when the first and the last of them are.
type Pruned struct {
	From    uint64    `json:"from"`
	Records uint64    `json:"records,omitzero"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

// ErrKept: records would go that are kept for longer.
var ErrKept = errors.New("nothing is pruned")

// Before is a signed checkpoint of the node's log below which every record is older than
// a time; nil where none is.
func (k *Keeper) Before(ctx context.Context, t time.Time) ([]byte, error) {
	head, err := k.Store.Head(ctx, k.Log.Number())
	if err != nil {
		return nil, err
	}
	var failed error
	older := sort.Search(int(head.Size-head.Pruned), func(i int) bool {
		at, err := k.at(ctx, head.Pruned+uint64(i))
		failed = errors.Join(failed, err)
		return err != nil || !at.Before(t)
	})
	size := (head.Pruned + uint64(older)) &^ (tile - 1)
	if failed != nil || size <= head.Pruned {
		return nil, failed
	}
	return k.Log.CheckpointAt(ctx, size)
}

// tile is in how many records they go.
const tile = 256

// at is when a record of the node's log was made.
func (k *Keeper) at(ctx context.Context, index uint64) (time.Time, error) {
	r, _, err := ledger.ReadRecord(ctx, k.Store, act.Position{Log: k.Log.Number(), Index: index})
	if err != nil {
		return time.Time{}, fmt.Errorf("read record %s: %w", act.Position{Log: k.Log.Number(), Index: index}, err)
	}
	return r.Time, nil
}

// Prune removes the records of the node's log up to a checkpoint that it signed, as
// text, which opens to size records.
func (k *Keeper) Prune(ctx context.Context, by act.Principal, checkpoint []byte, size uint64) (Pruned, error) {
	p, err := k.PreviewPrune(ctx, size)
	if err != nil || p.Records == 0 {
		return Pruned{From: p.From}, err
	}
	n := guard.Admin("prune", by, map[string]string{"checkpoint_size": strconv.FormatUint(size, 10)})
	n.Plain, n.Sealed = true, true // what said so before may go
	n.Codes = []string{ledger.CodePruned(p.From)}
	if err := k.Guard.Write(ctx, n); err != nil {
		return Pruned{}, err
	}
	if p.From, err = ledger.Prune(ctx, k.Store, k.Log.Number(), checkpoint, k.Log.VerifierKey()); err != nil {
		return p, err
	}
	return p, k.anew(ctx, by, true)
}

// PreviewPrune tells what would go by a checkpoint of so many records, or why nothing
// may. The note of it is one record more, so the newest tile that stays is never below
// the checkpoint.
func (k *Keeper) PreviewPrune(ctx context.Context, size uint64) (Pruned, error) {
	head, err := k.Store.Head(ctx, k.Log.Number())
	if err != nil {
		return Pruned{}, err
	}
	p := Pruned{From: size &^ (tile - 1)}
	if p.From <= head.Pruned || p.From > head.Size { // the latter ledger.Prune refuses, and says why
		return Pruned{From: head.Pruned}, nil
	}
	p.Records = p.From - head.Pruned
	if p.First, err = k.at(ctx, head.Pruned); err == nil {
		p.Last, err = k.at(ctx, p.From-1)
	}
	if err != nil {
		return Pruned{}, err
	}
	if newest := k.Now().Add(-k.Records); k.Records > 0 && p.Last.After(newest) {
		return Pruned{}, fmt.Errorf("%w: records stay until they are %d days old (retention.records), and of these the newest is of %s",
			ErrKept, int(k.Records.Hours())/24, p.Last.UTC().Format(time.DateOnly))
	}
	return p, nil
}
