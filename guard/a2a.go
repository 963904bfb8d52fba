package guard

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/policy"
)

// Kept is an item that a protocol keeps, as it was read: written again, it loses
// against whoever wrote it in between (ledger.ErrLost).
type Kept struct {
	ledger.Item
	Found bool // else there is none yet
	head  *ledger.KeyHead
}

// Kept reads an item of a protocol's own kind.
func (g *Guard) Kept(ctx context.Context, kind, id string) (Kept, error) {
	item, head, err := g.item(ctx, kind, id)
	if errors.Is(err, ledger.ErrNotFound) && head != nil {
		return Kept{Item: ledger.Item{Kind: kind, ID: id}, head: head}, nil
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read the %s %q: %w", kind, id, err)
	}
	if Removed(&item) {
		return Kept{Item: ledger.Item{Kind: kind, ID: id}, head: head}, nil
	}
	return Kept{Item: item, Found: true, head: head}, nil
}

// Items lists items of a protocol's own kind, also those that are Removed.
func (g *Guard) Items(ctx context.Context, q ledger.ItemQuery) ([]ledger.Item, error) {
	return g.cfg.Store.Items(ctx, q)
}

func keptWrites(items []Kept) (writes []*ledger.Write) {
	for i := range items {
		writes = append(writes, &ledger.Write{Head: items[i].head, Item: &items[i].Item})
	}
	return writes
}

// DecideKeeping decides about an act, and makes the items that keep returns
// durable with the decision. keep may be called more than once. again says that
// people were asked about the act, and are not asked again. See Decide.
func (g *Guard) DecideKeeping(ctx context.Context, a *act.Action, again bool, keep func(d *act.Decision, modified []byte) ([]Kept, error)) (act.Decision, []byte, error) {
	return g.decide(ctx, a, asked{again: again, also: func(d *act.Decision, modified []byte, _ *policy.Set) ([]*ledger.Write, error) {
		items, err := keep(d, modified)
		return keptWrites(items), err
	}})
}

// Keep writes items with a record of what was done, such as "a2a.cancel", and by
// whom. The error is ledger.ErrLost when another has written one of them since it
// was read.
func (g *Guard) Keep(ctx context.Context, what string, by act.Principal, details map[string]string, items ...Kept) error {
	e := g.note(what, by, details)
	e.Record.Kind, e.Record.Door = what, "a2a"
	e.Principal, e.Links = g.masked(e.Principal), g.masked(e.Links)
	e.Writes = keptWrites(items)
	if _, err := g.enqueue(ctx, e); err != nil {
		if errors.Is(err, ledger.ErrStale) {
			return ledger.ErrLost // it is read again, and then rests on what is there
		}
		return err
	}
	return nil
}
