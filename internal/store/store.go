// Package store says what a node needs of a database: the whole of what its rooms
// need each. Two implementations, store/sqlite and store/postgres, pass the one suite
// store/storetest.
package store

import (
	"context"
	"log/slog"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/task"
)

// Store keeps a node's ledger and everything that must be durable together with it.
// Methods are safe for concurrent use; each is one transaction. The errors are those
// of package ledger.
type Store interface {
	ledger.Store
	Versions
	Items
	Openings
	task.Store
	task.Trees
	identity.Keys
	Followers

	// PutPolicy keeps a policy set's text for ever, by its content hash.
	PutPolicy(ctx context.Context, hash string, text []byte, at time.Time) error

	// Watch calls changed with what other processes change, one after the other, until
	// ctx ends. A zero Change says that something may have been missed; it comes at the
	// beginning, and whenever the connection was lost. A store of one process tells
	// nothing.
	Watch(ctx context.Context, logger *slog.Logger, changed func(ledger.Change))

	// Announce tells the other nodes what the one says of itself that holds the lease.
	// ErrFenced when it does not hold it any more.
	Announce(ctx context.Context, lease ledger.Lease, n nodes.Node) error
	// Members lists who writes each log, or wrote it last.
	Members(ctx context.Context) ([]nodes.Node, error)
	// Tell has the nodes hear of a change, by Watch; this one, too.
	Tell(ctx context.Context, c ledger.Change) error

	// Probe reports whether the store can be written, by writing.
	Probe(ctx context.Context) error
	Close() error
}

// Followers keeps how far those have come who follow a log beside the program that writes
// it, and must go on there after it has ended.
type Followers interface {
	// Reached returns what a follower of a log kept last. ErrNotFound when it kept nothing.
	Reached(ctx context.Context, follower string, log uint32) ([]byte, error)
	// PutReached keeps it, in place of what the follower kept before.
	PutReached(ctx context.Context, follower string, log uint32, data []byte) error
}

// Versions reads what was written under versioned keys, such as sessions' memories.
type Versions interface {
	// KeyHead returns where a versioned key was last written; ok is false when
	// it never was.
	KeyHead(ctx context.Context, key ledger.Key) (pos act.Position, ok bool, err error)
	// KeyWrite returns what was written under a versioned key with a record.
	KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (ledger.Claim, error)
	// Claims calls f with what was written under versioned keys with the records from index
	// from (inclusive) to to (exclusive), in order, until f returns an error, which Claims
	// returns. f must not keep the claim's data.
	Claims(ctx context.Context, log uint32, from, to uint64, f func(index uint64, c *ledger.Claim) error) error
}

// Items reads named items, and removes those that are over.
type Items interface {
	// Item returns a named item. ErrNotFound when there is none.
	Item(ctx context.Context, kind, id string) (ledger.Item, error)
	// Items returns the items that a query selects.
	Items(ctx context.Context, q ledger.ItemQuery) ([]ledger.Item, error)
	// CountItems returns how many items of a kind an owner has, or of them those that are
	// open, and how many bytes of data they have.
	CountItems(ctx context.Context, kind, owner string, open bool) (n int, bytes int64, err error)
	// EachItem calls f with the items of all kinds, until f returns an error, which EachItem
	// returns. f must not read the store.
	EachItem(ctx context.Context, f func(*ledger.Item) error) error
	// SealItems gives each item that has no seal the one that seal makes of it; again has it
	// take all seals away before.
	SealItems(ctx context.Context, again bool, seal func(*ledger.Item) []byte) error
	// TrimItems removes items that are not open and were due before a time.
	TrimItems(ctx context.Context, before time.Time) (removed int64, err error)
}

// Openings removes what lies beside records.
type Openings interface {
	// Erase removes the openings of these positions for good, with their facts: their
	// bytes are overwritten, also in the database's journal.
	Erase(ctx context.Context, positions []act.Position) error
	// TrimFacts removes facts that are older than a time, and returns how many batches of
	// them. What found records by them goes with them.
	TrimFacts(ctx context.Context, before time.Time) (removed int, err error)
	// TrimOpenings removes openings, oldest first, that are older than before
	// or beyond maxBytes in all, in steps small enough not to hold up commits,
	// and the parts that nothing refers to any more. It returns how many
	// batches of openings and bytes it removed.
	TrimOpenings(ctx context.Context, before time.Time, maxBytes int64) (removed int, freed int64, err error)
	// OpeningBytes is the size of all openings and parts, in bytes.
	OpeningBytes(ctx context.Context) (int64, error)
}
