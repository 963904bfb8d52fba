package guard

import (
	"context"
	"errors"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/ledger"
)

// removedAt is when an item was due that Remove has emptied: long ago, so that
// Store.TrimItems takes it away.
var removedAt = time.Unix(1, 0).UTC()

// Remove empties items, with an administrative record of what was done and by whom.
// They are not found any more from then on, and Store.TrimItems takes them away. The
// error is ledger.ErrLost when another has written one of them since it was read.
func (g *Guard) Remove(ctx context.Context, what string, by act.Principal, details map[string]string, items ...Kept) error {
	for i := range items {
		items[i].Open, items[i].Due, items[i].Data = false, removedAt, nil
	}
	e := g.note(what, by, details)
	e.Writes = keptWrites(items)
	if _, err := g.enqueue(ctx, e); err != nil {
		if errors.Is(err, ledger.ErrStale) {
			return ledger.ErrLost
		}
		return err
	}
	return nil
}

// Removed reports whether Remove has emptied an item, which is as if there were none.
func Removed(item *ledger.Item) bool {
	return !item.Open && len(item.Data) == 0 && item.Due.Equal(removedAt)
}
