package sqlite

import (
	"context"
	"math"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

// insertItem writes an item of a batch that begins at first. One that stays what it is
// found by, as most do that are written often, is written without the indexes.
func insertItem(c *sqlite.Conn, item *ledger.BatchItem, first uint64) error {
	open := int64(0)
	if item.Open {
		open = 1
	}
	version, due, data := int64(first)+int64(item.Entry), layout.Nanoseconds(item.Due), notNil(item.Data)
	err := execute(c, `INSERT INTO item (kind, id, version, open, due, data, owner, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, data = excluded.data, seal = excluded.seal
		WHERE open = excluded.open AND due = excluded.due AND owner = excluded.owner`,
		item.Kind, item.ID, version, open, due, data, item.Owner, notNil(item.Seal))
	if err != nil || c.Changes() > 0 {
		return err
	}
	return execute(c, `UPDATE item SET version = ?, open = ?, due = ?, data = ?, owner = ?, seal = ? WHERE kind = ? AND id = ?`,
		version, open, due, data, item.Owner, notNil(item.Seal), item.Kind, item.ID)
}

// Item returns a named item.
func (s *Store) Item(ctx context.Context, kind, id string) (item ledger.Item, err error) {
	err = ledger.ErrNotFound
	failed := s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT id, version, open, due, data, owner, seal FROM item WHERE kind = ? AND id = ?`, func(stmt *sqlite.Stmt) error {
			item, err = readItem(stmt, kind), nil
			return nil
		}, kind, id)
	})
	if failed != nil {
		err = failed
	}
	return item, err
}

// Items returns the items that a query selects.
func (s *Store) Items(ctx context.Context, q ledger.ItemQuery) (items []ledger.Item, err error) {
	if q.Limit <= 0 {
		q.Limit = ledger.DefaultItems
	}
	text := `SELECT id, version, open, due, data, owner, seal FROM item WHERE kind = ? AND id > ?`
	if q.Open {
		text += ` AND open <> 0`
	}
	args := []any{q.Kind, max(q.After, q.Prefix)}
	if q.Prefix != "" {
		text += ` AND id < ?`
		args = append(args, q.Until())
	}
	if !q.DueBefore.IsZero() {
		text += ` AND due > 0 AND due < ?`
		args = append(args, layout.Nanoseconds(q.DueBefore))
	}
	args = append(args, int64(min(q.Limit, math.MaxInt32)))
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, text+` ORDER BY id LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			items = append(items, readItem(stmt, q.Kind))
			return nil
		}, args...)
	})
	return items, err
}

// readItem reads a row. One whose numbers are none has no data, which no kind can read.
func readItem(stmt *sqlite.Stmt, kind string) ledger.Item {
	item := ledger.Item{
		Kind: kind, ID: stmt.ColumnText(0), Version: act.Position{Index: uint64(stmt.ColumnInt64(1))},
		Open: stmt.ColumnInt64(2) != 0, Due: layout.Time(stmt.ColumnInt64(3)), Owner: stmt.ColumnText(5),
	}
	if integers(stmt, 1, 2, 3) {
		item.Data = column(stmt, 4, nil)
	}
	if stmt.ColumnLen(6) > 0 {
		item.Seal = column(stmt, 6, nil)
	}
	return item
}

// CountItems returns how many items an owner has, and their bytes.
func (s *Store) CountItems(ctx context.Context, kind, owner string, open bool) (n int, bytes int64, err error) {
	text := `SELECT count(*), coalesce(sum(length(data)), 0) FROM item WHERE owner = ? AND owner <> '' AND kind = ?`
	if open {
		text += ` AND open <> 0`
	}
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, text, func(stmt *sqlite.Stmt) error {
			n, bytes = stmt.ColumnInt(0), stmt.ColumnInt64(1)
			return nil
		}, owner, kind)
	})
	return n, bytes, err
}

// TrimItems removes items that are not open and were due before a time.
func (s *Store) TrimItems(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		found := false
		err := s.read(ctx, func(c *sqlite.Conn) error {
			return query(c, `SELECT 1 FROM item WHERE due > 0 AND open = 0 AND due < ? LIMIT 1`, func(*sqlite.Stmt) error {
				found = true
				return nil
			}, layout.Nanoseconds(before))
		})
		if err != nil || !found {
			return removed, err
		}
		err = s.step(ctx, func(c *sqlite.Conn) error {
			err := execute(c, `DELETE FROM item WHERE (kind, id) IN
				(SELECT kind, id FROM item WHERE due > 0 AND open = 0 AND due < ? LIMIT 100)`, layout.Nanoseconds(before))
			removed += int64(c.Changes())
			return err
		})
		if err != nil {
			return removed, err
		}
	}
}

// SealItems seals the items that have no seal.
func (s *Store) SealItems(ctx context.Context, again bool, seal func(*ledger.Item) []byte) error {
	if again {
		err := s.write(func(c *sqlite.Conn) error { return execute(c, `UPDATE item SET seal = x'' WHERE seal <> x''`) })
		if err != nil {
			return err
		}
	}
	const atOnce = 200
	for after, n := int64(0), atOnce; n == atOnce; {
		err := s.step(ctx, func(c *sqlite.Conn) error {
			seals := map[int64][]byte{}
			n = 0
			err := query(c, `SELECT id, version, open, due, data, owner, seal, kind, rowid FROM item WHERE rowid > ? AND length(seal) = 0 ORDER BY rowid LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
				item := readItem(stmt, stmt.ColumnText(7))
				after = stmt.ColumnInt64(8)
				seals[after] = seal(&item)
				n++
				return nil
			}, after, int64(atOnce))
			for row, seal := range seals {
				if err == nil {
					err = execute(c, `UPDATE item SET seal = ? WHERE rowid = ?`, seal, row)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EachItem calls f with all items. A database that an earlier version wrote has none with a
// seal, which is ledger.ErrUnsealed.
func (s *Store) EachItem(ctx context.Context, f func(*ledger.Item) error) error {
	const atOnce = 1000
	for after, n := int64(0), atOnce; n == atOnce; {
		n = 0
		err := s.read(ctx, func(c *sqlite.Conn) error {
			has := false
			err := query(c, `SELECT 1 FROM pragma_table_info('item') WHERE name = 'seal'`, func(*sqlite.Stmt) error { has = true; return nil })
			if err == nil && !has {
				err = ledger.ErrUnsealed
			}
			if err != nil {
				return err
			}
			return query(c, `SELECT id, version, open, due, data, owner, seal, kind, rowid FROM item WHERE rowid > ? ORDER BY rowid LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
				item := readItem(stmt, stmt.ColumnText(7))
				after = stmt.ColumnInt64(8)
				n++
				return f(&item)
			}, after, int64(atOnce))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
