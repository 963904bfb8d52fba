package retention

import (
	"context"
	"strconv"
	"time"

	"reeve.example/reeve/act"
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

// Prune removes the records of the node's log up to a checkpoint that it signed, as
// text, which opens to size records.
func (k *Keeper) Prune(ctx context.Context, by act.Principal, checkpoint []byte, size uint64) (Pruned, error) {
	if _, err := k.Guard.Note(ctx, "prune", by, map[string]string{"checkpoint_size": strconv.FormatUint(size, 10)}); err != nil {
		return Pruned{}, err
	}
	from, err := ledger.Prune(ctx, k.Store, k.Log.Number(), checkpoint, k.Log.VerifierKey())
	return Pruned{From: from}, err
}

// PreviewPrune tells what would go by a checkpoint of so many records. The note of
// it is one record more, so the newest tile that stays is never below the checkpoint.
func (k *Keeper) PreviewPrune(ctx context.Context, size uint64) (Pruned, error) {
	head, err := k.Store.Head(ctx, k.Log.Number())
	if err != nil {
		return Pruned{}, err
	}
	p := Pruned{From: size &^ 255}
	if p.From <= head.Pruned {
		return Pruned{From: head.Pruned}, nil
	}
	p.Records = p.From - head.Pruned
	for index, at := range map[uint64]*time.Time{head.Pruned: &p.First, p.From - 1: &p.Last} {
		r, _, err := ledger.ReadRecord(ctx, k.Store, act.Position{Log: k.Log.Number(), Index: index})
		if err != nil {
			return Pruned{}, err
		}
		*at = r.Time
	}
	return p, nil
}
