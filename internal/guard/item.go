package guard

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
)

// Item is a ledger.Item as it was read: written, it loses against whoever wrote it in
// between (ledger.ErrLost).
type Item struct {
	ledger.Item
	Found bool // else there is none yet
	// Charged says that its owner's quota must have room for it: set by who writes it.
	Charged bool

	head  *ledger.KeyHead
	quota *counter
	was   ledger.Item // as it was read, without its data
	bytes int         // of its data, as it was read
	wrong error       // why what was read is not believed; nil when it is
}

// Sound is nil for an item that is as a node of this database wrote it last, or that there
// is not. Else it is why it is not to be believed: what depends on it is not known.
func (i *Item) Sound() error {
	if i.wrong == nil {
		return nil
	}
	return &DamagedError{Kind: i.Kind, ID: i.ID, Err: i.wrong}
}

var idEncoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// ItemID makes an item's id of bytes of a hash, at most 16, over what tells it from others.
func ItemID(bytes int, parts ...string) string {
	key := keyOf(parts...)
	return idEncoding.EncodeToString(key[:bytes])
}

// Note is what a record says that something was done which is no decision.
type Note struct {
	Kind    string // such as "a2a.cancel"
	Door    string // by which protocol
	By      act.Principal
	Details map[string]string
	// Request is what asked for it, which is kept where the contents of all acts are;
	// nil for none.
	Request []byte
	// Plain says that who and the details are kept as they are: names by which somebody
	// looks for the record later. Else they are masked, as an act's are.
	Plain bool
	// Habits is what is learned of it; nil for nothing.
	Habits *habits.Note
	// Codes are the record's own, which stay when what lies beside it is removed.
	Codes []string
	// Sealed has the record say that rows without a seal are believed no more: see ledger.CodeSealed.
	Sealed bool
}

// Admin is the note of an administrative act.
func Admin(what string, by act.Principal, details map[string]string) *Note {
	return &Note{Kind: "admin." + what, Door: "reeve", By: by, Details: details}
}

// entryOf is a note as an entry of the ledger.
func (g *Guard) entryOf(n *Note) *ledger.Entry {
	e := &ledger.Entry{
		Record:    ledger.Record{Time: g.cfg.Now(), Kind: n.Kind, Door: n.Door, Codes: slices.Clone(n.Codes)},
		Principal: appendPrincipal(nil, n.By),
		Links:     appendDetails(nil, n.Details),
		Request:   n.Request,
	}
	if !n.Plain {
		e.Principal, e.Links = g.maskedNames(e.Principal), g.masked(e.Links)
	}
	e.Links = appendHabits(e.Links, n.Habits)
	if e.KeepContent = n.Request != nil && g.cfg.Keep == KeepAll; e.KeepContent {
		e.Request = g.masked(n.Request)
	}
	if set := g.policy.Load(); set != nil {
		e.Record.Policy = set.Hash()
	}
	if n.Sealed && !g.unsealed.Load() {
		e.Record.Codes = append(e.Record.Codes, ledger.CodeSealed)
	}
	return e
}

// Read reads an item. One that Remove has emptied is not found. What is not as a node wrote
// it last is found, and not Sound.
func (g *Guard) Read(ctx context.Context, kind, id string) (*Item, error) {
	key := ledger.ItemKey(kind, id)
	for tries := 1; ; tries++ {
		at, known, err := g.cfg.Store.KeyHead(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read the %s %q: %w", kind, id, err)
		}
		none := func() *Item {
			return &Item{Item: ledger.Item{Kind: kind, ID: id}, head: ledger.NewKeyHead(key, at, known)}
		}
		if !known { // where a key was never written there is no item: mostly so, and cheap to know
			return none(), nil
		}
		item, err := g.cfg.Store.Item(ctx, kind, id)
		if errors.Is(err, ledger.ErrNotFound) {
			return none(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the %s %q: %w", kind, id, err)
		}
		wrong := g.sound(&item)
		// What is read after the head is as new, or newer, and of a newer one a write loses.
		// Of different logs the positions do not tell: it is read until they are of one.
		if other := item.Version.Log != at.Log; wrong == nil && other && tries < readTries {
			continue
		} else if wrong == nil && (other || item.Version.Index < at.Index) {
			wrong = ledger.ErrRolledBack
		}
		if wrong == nil && Removed(&item) {
			at = item.Version
			return none(), nil
		}
		i := &Item{Item: item, Found: true, head: ledger.NewKeyHead(key, item.Version, true), was: item, bytes: len(item.Data), wrong: wrong}
		if wrong != nil { // whoever may overwrite it does so where the key was last written, and seals nothing of what was there
			i.head, i.Data = ledger.NewKeyHead(key, at, true), nil
		}
		i.was.Data = nil
		return i, nil
	}
}

// readTries is how often an item is read that other nodes write meanwhile, each in a log of
// its own.
const readTries = 16

// sound is nil for an item that bears its seal.
func (g *Guard) sound(item *ledger.Item) error {
	err := g.seals.CheckItem(item)
	if err != nil && g.unsealed.Load() && errors.Is(err, ledger.ErrUnsealed) {
		return nil
	}
	return err
}

// SealFields is the seal of something that is stored beside the log and is no item, by what it is
// and its fields.
func (g *Guard) SealFields(what string, fields ...string) string {
	return string(g.seals.Fields(what, fields...))
}

// FoundDamaged counts something that was found damaged beside the items.
func (g *Guard) FoundDamaged() { g.cfg.Damaged() }

// Unsealed reports whether what bears no seal is believed: see Config.Unsealed.
func (g *Guard) Unsealed() bool { return g.unsealed.Load() }

// Sealed has the guard believe no item any more that bears no seal: see Config.Unsealed.
func (g *Guard) Sealed() { g.unsealed.Store(false) }

// Gone reports whether there is no item any more where one was written.
func (i *Item) Gone() bool {
	_, known := i.head.At()
	return !i.Found && known
}

// Next is an item that was just written, for its next write without being read: it loses
// against whoever writes it in between, as one that was read does.
func (i *Item) Next() *Item {
	next := &Item{Item: i.Item, Found: true, head: i.head, quota: i.quota, was: i.Item, bytes: len(i.Data)}
	next.was.Data = nil
	return next
}

// List lists items of one kind, also those that are Removed. Those that are not sound have
// no data, which no kind can read.
func (g *Guard) List(ctx context.Context, q ledger.ItemQuery) ([]ledger.Item, error) {
	list, err := g.cfg.Store.Items(ctx, q)
	for i := range list {
		if err := g.sound(&list[i]); err != nil {
			g.sayDamaged(&list[i], err)
			list[i].Data = nil
		}
	}
	return list, err
}

// Write writes items with a record of what was done. The error is ledger.ErrLost when
// another has written one of them since it was read, or when that cannot be told.
func (g *Guard) Write(ctx context.Context, n *Note, items ...*Item) error {
	_, err := g.write(ctx, g.entryOf(n), items)
	if errors.Is(err, ledger.ErrStale) {
		err = ledger.ErrLost // it is read again, and then rests on what is there
	}
	if err != nil && !errors.Is(err, ledger.ErrLost) {
		return fmt.Errorf("record %s: %w", n.Kind, err)
	}
	return err
}

// write makes an entry durable together with items.
func (g *Guard) write(ctx context.Context, e *ledger.Entry, items []*Item) (act.Position, error) {
	made, err := g.charge(ctx, items)
	if err != nil {
		return act.Position{}, err
	}
	e.Writes = appendItems(e.Writes, items)
	pos, err := g.enqueue(ctx, e)
	made(err == nil)
	return pos, err
}

func appendItems(writes []*ledger.Write, items []*Item) []*ledger.Write {
	for _, i := range items {
		writes = append(writes, &ledger.Write{Head: i.head, Item: &i.Item})
	}
	return writes
}

// removedAt is when an item was due that Remove has emptied: long ago, so that
// Store.TrimItems takes it away.
var removedAt = time.Unix(1, 0).UTC()

// Remove empties items, with a record. They are not found any more from then on, and
// Store.TrimItems takes them away. The error is as Write's.
func (g *Guard) Remove(ctx context.Context, n *Note, items ...*Item) error {
	for _, i := range items {
		i.Open, i.Due, i.Data, i.Owner = false, removedAt, nil, "" // nobody's: it takes no room
	}
	return g.Write(ctx, n, items...)
}

// Removed reports whether Remove has emptied an item, which is as if there were none.
func Removed(item *ledger.Item) bool {
	return !item.Open && len(item.Data) == 0 && item.Due.Equal(removedAt)
}

// locks are locks for things with names: who works on which item on this node, so that
// of many at once none loses for ever. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[ledger.Key]*lock
}

type lock struct {
	sync.Mutex
	users int // who has it or waits for it; guarded by locks.mu
}

func (s *locks) lock(key ledger.Key) (unlock func()) {
	s.mu.Lock()
	if s.held == nil {
		s.held = map[ledger.Key]*lock{}
	}
	l := s.held[key]
	if l == nil {
		l = &lock{}
		s.held[key] = l
	}
	l.users++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.held, key)
		}
	}
}
