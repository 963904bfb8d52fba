package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"reeve.example/reeve/internal/ledger"
)

// Items is all items of one kind, of which each is a T. It is the one way to read,
// change and write them, and to tell which of them are damaged. Make it with NewItems.
type Items[T any] struct {
	kind  Kind[T]
	guard *Guard
	quota *counter
}

// Kind says what the items of one kind are.
type Kind[T any] struct {
	Name string // such as "approval"
	// Parse reads what Fill wrote. An error, or what does not belong to the item's id,
	// is said as a *DamagedError.
	Parse func(item *ledger.Item) (*T, error)
	// Fill puts a T into an item: at least its Data.
	Fill func(v *T, item *Item) error
	// Quota bounds what an owner may have of them; the zero value does not.
	Quota Quota
}

// NewItems returns the items of a kind.
func NewItems[T any](g *Guard, kind Kind[T]) *Items[T] {
	return &Items[T]{kind: kind, guard: g, quota: g.newCounter(kind.Name, kind.Quota)}
}

// DamagedError says that what is stored of an item cannot be read, or that no node wrote it
// so. What depends on it is not known, and so is denied.
type DamagedError struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Err  error  `json:"-"` // for the log
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("what is stored of the %s %s is damaged: %v", e.Kind, e.ID, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Get reads an item; v is nil when there is none.
func (s *Items[T]) Get(ctx context.Context, id string) (v *T, item *Item, err error) {
	if item, err = s.guard.Read(ctx, s.kind.Name, id); err != nil {
		return nil, nil, err
	}
	item.quota = s.quota
	if item.Found {
		if v, err = s.parse(&item.Item, item.wrong); err != nil {
			return nil, nil, err
		}
	}
	return v, item, nil
}

// Parse reads an item that was listed.
func (s *Items[T]) Parse(item *ledger.Item) (*T, error) { return s.parse(item, s.guard.sound(item)) }

// parse reads an item, if nothing is wrong with it.
func (s *Items[T]) parse(item *ledger.Item, wrong error) (v *T, err error) {
	if err = wrong; err == nil {
		v, err = s.kind.Parse(item)
	}
	if err != nil {
		s.guard.sayDamaged(item, err)
		return nil, &DamagedError{Kind: s.kind.Name, ID: item.ID, Err: err}
	}
	return v, nil
}

// Fill puts a value into an item that was read, which is then to be written.
func (s *Items[T]) Fill(v *T, item *Item) error { return s.kind.Fill(v, item) }

// Lock has the others on this node wait who would change the item, until unlock. Without
// it, of many at once some would lose each time.
func (s *Items[T]) Lock(id string) (unlock func()) {
	return s.guard.locks.lock(ledger.ItemKey(s.kind.Name, id))
}

// Update changes one item and writes it with the record that change returns; without
// one nothing is written. change gets the item as it is, or a new T where there is none
// (then item.Found is false), and is called anew when another has written it meanwhile.
// The error is ledger.ErrLost when that happens too often.
func (s *Items[T]) Update(ctx context.Context, id string, change func(v *T, item *Item) (*Note, error)) (*T, error) {
	return s.UpdateWith(ctx, id, func(v *T, item *Item) (*Note, []*Item, error) {
		n, err := change(v, item)
		return n, nil, err
	})
}

// UpdateWith is Update for a change that writes other items as well, all with one record.
func (s *Items[T]) UpdateWith(ctx context.Context, id string, change func(v *T, item *Item) (*Note, []*Item, error)) (*T, error) {
	defer s.Lock(id)()
	for range attempts {
		v, item, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if v == nil {
			v = new(T)
		}
		n, also, err := change(v, item)
		if err != nil {
			return nil, err
		}
		if n == nil {
			return v, nil
		}
		if err := s.Fill(v, item); err != nil {
			return nil, err
		}
		if err := s.guard.Write(ctx, n, append(also, item)...); !errors.Is(err, ledger.ErrLost) {
			if err != nil {
				v = nil
			}
			return v, err
		}
	}
	return nil, fmt.Errorf("write the %s %q: %w", s.kind.Name, id, ledger.ErrLost)
}

// Remove removes an item, also one that is damaged, with the record that note returns: v
// is nil where it cannot be read. The error is ledger.ErrNotFound when there is none, and
// ledger.ErrLost when others write it meanwhile too often.
func (s *Items[T]) Remove(ctx context.Context, id string, note func(v *T) *Note) error {
	defer s.Lock(id)()
	for range attempts {
		item, err := s.guard.Read(ctx, s.kind.Name, id)
		if err != nil {
			return err
		}
		if !item.Found {
			return fmt.Errorf("the %s %q: %w", s.kind.Name, id, ledger.ErrNotFound)
		}
		item.quota = s.quota
		v, err := s.parse(&item.Item, item.wrong)
		if err != nil {
			v = nil
		}
		if err := s.guard.Remove(ctx, note(v), item); !errors.Is(err, ledger.ErrLost) {
			return err
		}
	}
	return fmt.Errorf("remove the %s %q: %w", s.kind.Name, id, ledger.ErrLost)
}

// Page lists the items that a query selects, in the order of their ids: at most as many
// as its Limit, or 1000. bad are those of them that are damaged. next is what to give as
// After for the next page; empty on the last.
func (s *Items[T]) Page(ctx context.Context, q ledger.ItemQuery) (list []*T, bad []*DamagedError, next string, err error) {
	q.Kind = s.kind.Name
	items, err := s.guard.cfg.Store.Items(ctx, q)
	if err != nil {
		return nil, nil, "", fmt.Errorf("list each %s: %w", s.kind.Name, err)
	}
	for i := range items {
		wrong := s.guard.sound(&items[i])
		if wrong == nil && Removed(&items[i]) {
			continue
		}
		v, err := s.parse(&items[i], wrong)
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			bad = append(bad, damaged)
			continue
		}
		list = append(list, v)
	}
	if len(items) == cmp.Or(q.Limit, ledger.DefaultItems) {
		next = items[len(items)-1].ID
	}
	return list, bad, next, nil
}

// All yields the items of all pages. One that is damaged yields a *DamagedError, and the
// others follow; after another error nothing follows.
func (s *Items[T]) All(ctx context.Context, q ledger.ItemQuery) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for {
			list, bad, next, err := s.Page(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, v := range list {
				if !yield(v, nil) {
					return
				}
			}
			for _, damaged := range bad {
				if !yield(nil, damaged) {
					return
				}
			}
			if next == "" {
				return
			}
			q.After = next
		}
	}
}

// damaged is which damaged items were said in the log, each once. The zero value is ready.
type damaged struct {
	mu   sync.Mutex
	said map[string]bool
}

// maxDamaged bounds the memory for what was said; then all is said once more.
const maxDamaged = 1000

func (g *Guard) sayDamaged(item *ledger.Item, err error) {
	id := fmt.Sprintf("%s %s %s", item.Kind, item.ID, item.Version)
	g.damaged.mu.Lock()
	defer g.damaged.mu.Unlock()
	if g.damaged.said[id] {
		return
	}
	if g.damaged.said == nil || len(g.damaged.said) >= maxDamaged {
		g.damaged.said = map[string]bool{}
	}
	g.damaged.said[id] = true
	g.cfg.Damaged()
	g.cfg.Logger.Error("an item in the database is damaged: what depends on it is denied", "kind", item.Kind, "id", item.ID, "error", err)
}
