package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"github.com/jackc/pgx/v5"
)

// queueItems queues the writing of a batch's items: the last of each, in the
// order of their names, which is the order in which every node locks them.
func queueItems(b *pgx.Batch, lease ledger.Lease, batch *ledger.Batch) {
	if len(batch.Items) == 0 {
		return
	}
	type name struct{ kind, id string }
	last := make(map[name]*ledger.BatchItem, len(batch.Items))
	for i := range batch.Items {
		item := &batch.Items[i]
		last[name{item.Kind, item.ID}] = item
	}
	items := make([]*ledger.BatchItem, 0, len(last))
	for _, item := range last {
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b *ledger.BatchItem) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, item := range items {
		data := item.Data
		if data == nil {
			data = []byte{}
		}
		b.Queue(`INSERT INTO item (kind, id, log, index, open, due, data, owner, seal) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (kind, id) DO UPDATE SET log = excluded.log, index = excluded.index, open = excluded.open, due = excluded.due, data = excluded.data, owner = excluded.owner, seal = excluded.seal`,
			item.Kind, item.ID, lease.Log, batch.First+uint64(item.Entry), item.Open, layout.Nanoseconds(item.Due), data, item.Owner, notNil(item.Seal))
	}
}

// Item returns a named item.
func (s *Store) Item(ctx context.Context, kind, id string) (ledger.Item, error) {
	rows, err := s.pool.Query(ctx, `SELECT kind, id, log, index, open, due, data, owner, seal FROM item WHERE kind = $1 AND id = $2`, kind, id)
	if err != nil {
		return ledger.Item{}, err
	}
	item, err := pgx.CollectOneRow(rows, scanItem)
	return item, found(err)
}

// Items returns the items that a query selects.
func (s *Store) Items(ctx context.Context, q ledger.ItemQuery) ([]ledger.Item, error) {
	if q.Limit <= 0 {
		q.Limit = ledger.DefaultItems
	}
	text := `SELECT kind, id, log, index, open, due, data, owner, seal FROM item WHERE kind = $1 AND id > $2`
	if q.Open {
		text += ` AND open`
	}
	args := []any{q.Kind, max(q.After, q.Prefix), min(q.Limit, math.MaxInt32)}
	if q.Prefix != "" {
		args = append(args, q.Until())
		text += fmt.Sprintf(` AND id < $%d`, len(args))
	}
	if !q.DueBefore.IsZero() {
		args = append(args, layout.Nanoseconds(q.DueBefore))
		text += fmt.Sprintf(` AND due > 0 AND due < $%d`, len(args))
	}
	rows, err := s.pool.Query(ctx, text+` ORDER BY id LIMIT $3`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanItem)
}

// scanItem reads a row. One whose numbers cannot be has no data, which no kind can read.
func scanItem(row pgx.CollectableRow) (item ledger.Item, err error) {
	var log, index, due int64
	err = row.Scan(&item.Kind, &item.ID, &log, &index, &item.Open, &due, &item.Data, &item.Owner, &item.Seal)
	if len(item.Seal) == 0 {
		item.Seal = nil
	}
	if log < 0 || log > math.MaxUint32 || index < 0 {
		item.Data = nil
	}
	item.Version, item.Due = act.Position{Log: uint32(log), Index: uint64(index)}, layout.Time(due)
	return item, err
}

// CountItems returns how many items an owner has, and their bytes.
func (s *Store) CountItems(ctx context.Context, kind, owner string, open bool) (n int, bytes int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM item
		WHERE owner = $1 AND owner <> '' AND kind = $2 AND (open OR NOT $3)`, owner, kind, open).Scan(&n, &bytes)
	return n, bytes, err
}

// TrimItems removes items that are not open and were due before a time.
func (s *Store) TrimItems(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		tag, err := s.pool.Exec(ctx, `DELETE FROM item WHERE (kind, id) IN (SELECT kind, id FROM item
			WHERE due > 0 AND NOT open AND due < $1 LIMIT 500 FOR UPDATE SKIP LOCKED)`, layout.Nanoseconds(before))
		if removed += tag.RowsAffected(); err != nil {
			return removed, err
		}
		if tag.RowsAffected() == 0 {
			return removed, s.trimShares(ctx)
		}
	}
}

// SealItems seals the items that have no seal. Those that another node writes meanwhile have
// that node's.
func (s *Store) SealItems(ctx context.Context, again bool, seal func(*ledger.Item) []byte) error {
	if again {
		if _, err := s.pool.Exec(ctx, `UPDATE item SET seal = '' WHERE seal <> ''`); err != nil {
			return err
		}
	}
	const atOnce = 200
	for kind, id := "", ""; ; {
		rows, err := s.pool.Query(ctx, `SELECT kind, id, log, index, open, due, data, owner, seal FROM item
			WHERE (kind, id) > ($1, $2) AND seal = '' ORDER BY kind, id LIMIT $3`, kind, id, atOnce)
		if err != nil {
			return err
		}
		items, err := pgx.CollectRows(rows, scanItem)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		for i := range items {
			item := &items[i]
			kind, id = item.Kind, item.ID
			b.Queue(`UPDATE item SET seal = $5 WHERE kind = $1 AND id = $2 AND log = $3 AND index = $4 AND seal = ''`,
				kind, id, item.Version.Log, item.Version.Index, seal(item))
		}
		if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if len(items) < atOnce {
			return nil
		}
	}
}

// EachItem calls f with all items.
func (s *Store) EachItem(ctx context.Context, f func(*ledger.Item) error) error {
	const atOnce = 1000
	for kind, id := "", ""; ; {
		rows, err := s.pool.Query(ctx, `SELECT kind, id, log, index, open, due, data, owner, seal FROM item
			WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3`, kind, id, atOnce)
		if err != nil {
			return err
		}
		items, err := pgx.CollectRows(rows, scanItem)
		if err != nil {
			return err
		}
		for i := range items {
			kind, id = items[i].Kind, items[i].ID
			if err := f(&items[i]); err != nil {
				return err
			}
		}
		if len(items) < atOnce {
			return nil
		}
	}
}
