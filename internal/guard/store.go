package guard

import (
	"context"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

// Store is what a Guard reads of the database; what it writes goes through the log.
// The methods are those of store.Store.
type Store interface {
	ledger.Reader
	KeyHead(ctx context.Context, key ledger.Key) (pos act.Position, ok bool, err error)
	KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (ledger.Claim, error)
	Item(ctx context.Context, kind, id string) (ledger.Item, error)
	Items(ctx context.Context, q ledger.ItemQuery) ([]ledger.Item, error)
	CountItems(ctx context.Context, kind, owner string, open bool) (n int, bytes int64, err error)
	PutPolicy(ctx context.Context, hash string, text []byte, at time.Time) error
}
