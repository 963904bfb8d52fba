package sqlite

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
)

// Head returns the log's newest committed size and checkpoint.
func (s *Store) Head(ctx context.Context, log uint32) (h ledger.Head, err error) {
	if log != 0 {
		return h, ledger.ErrNotFound
	}
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT size, checkpoint, pruned, pruned_checkpoint FROM head`, func(stmt *sqlite.Stmt) error {
			if stmt.ColumnInt64(0) < 0 || stmt.ColumnInt64(2) < 0 {
				return errors.New("the database's head is damaged: it tells of a negative number of records")
			}
			h.Size, h.Pruned = uint64(stmt.ColumnInt64(0)), uint64(stmt.ColumnInt64(2))
			if !stmt.ColumnIsNull(1) {
				h.Checkpoint = column(stmt, 1, nil)
			}
			if !stmt.ColumnIsNull(3) {
				h.PrunedCheckpoint = column(stmt, 3, nil)
			}
			return nil
		})
	})
	return h, err
}

// Logs lists the only log there is.
func (s *Store) Logs(ctx context.Context) ([]uint32, error) { return []uint32{0}, ctx.Err() }

// window is about how many bytes of batches one read brings into memory.
const window = 1 << 20

// readBatch reads the columns first, count and one of bytes.
func readBatch(stmt *sqlite.Stmt) (layout.Batch, error) {
	return layout.NewBatch(stmt.ColumnInt64(0), stmt.ColumnInt64(1), column(stmt, 2, nil))
}

// batches calls f with a column of those rows of a table (batch, or opening) that have
// records from index from to to. No statement is open while f runs, so that f may take its time.
// What is missing is passed over: ledger.Verify finds it.
func (s *Store) batches(ctx context.Context, table, col string, from, to uint64, f func(b *layout.Batch) error) error {
	from, to = clamp(from), clamp(to)
	var list []layout.Batch
	for from < to {
		list = list[:0]
		err := s.read(ctx, func(c *sqlite.Conn) error {
			size := 0
			err := query(c, `SELECT first, count, `+col+` FROM `+table+`
				WHERE first >= coalesce((SELECT max(first) FROM `+table+` WHERE first <= ?), 0) AND first < ? ORDER BY first LIMIT 256`,
				func(stmt *sqlite.Stmt) error {
					b, err := readBatch(stmt)
					if err != nil {
						return err
					}
					if b.End() > from {
						list = append(list, b)
					}
					if size += len(b.Data); size >= window && len(list) > 0 {
						return errEnough
					}
					return nil
				}, int64(from), int64(to))
			if err == errEnough {
				return nil
			}
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := f(&list[i]); err != nil {
				return err
			}
			from = max(from, list[i].End())
		}
	}
	return nil
}

// errEnough ends a query whose further rows are not needed now.
var errEnough = errors.New("enough")

// clamp brings an index into the range of SQLite's integers.
func clamp(index uint64) uint64 { return min(index, 1<<62) }

// Records calls f with the records from index from to to, also with those that
// the head says nothing of: ledger.Verify looks for them. See store.Store.
func (s *Store) Records(ctx context.Context, log uint32, from, to uint64, f func(index uint64, record []byte) error) error {
	head, err := s.Head(ctx, log)
	if err != nil {
		return err
	}
	from = max(from, head.Pruned)
	return s.batches(ctx, "batch", "records", from, to, func(b *layout.Batch) error { return b.Records(from, to, f) })
}

// Nodes returns hashes of one level of the tree. See store.Store.
func (s *Store) Nodes(ctx context.Context, log uint32, level int, from, to uint64) ([]tlog.Hash, error) {
	if log != 0 || to < from {
		return nil, ledger.ErrNotFound
	}
	if level == 0 {
		return s.leafHashes(ctx, from, to)
	}
	hashes := make([]tlog.Hash, 0, min(to-from, 1024))
	err := s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT n, hash FROM node WHERE level = ? + 0 AND n >= ? + 0 AND n < ? + 0 ORDER BY n`, func(stmt *sqlite.Stmt) error {
			if uint64(stmt.ColumnInt64(0)) != from+uint64(len(hashes)) {
				return ledger.ErrNotFound
			}
			if stmt.ColumnLen(1) != tlog.HashSize {
				return fmt.Errorf("%w: what stands for hash %d of level %d is none", ledger.ErrNotFound, stmt.ColumnInt64(0), level)
			}
			var h tlog.Hash
			stmt.ColumnBytes(1, h[:])
			hashes = append(hashes, h)
			return nil
		}, int64(level), int64(clamp(from)), int64(clamp(to)))
	})
	if err == nil && uint64(len(hashes)) != to-from {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return hashes, nil
}

// leafHashes returns the hashes of records.
func (s *Store) leafHashes(ctx context.Context, from, to uint64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, min(to-from, 1024))
	err := s.batches(ctx, "batch", "leaves", from, to, func(b *layout.Batch) (err error) {
		hashes, err = b.AppendLeaves(hashes, from, to)
		return err
	})
	if err == nil && uint64(len(hashes)) != to-from {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return hashes, nil
}

// Opening returns what lies beside a record.
func (s *Store) Opening(ctx context.Context, pos act.Position) (opening []byte, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		row, start, end, err := findOpening(c, "opening", pos)
		if err == nil {
			opening = row.Data[start:end:end]
		}
		return err
	})
	return opening, err
}

// Openings calls f with what lies beside records. See store.Store.
func (s *Store) Openings(ctx context.Context, log uint32, from, to uint64, f func(index uint64, opening []byte) error) error {
	if log != 0 {
		return ctx.Err()
	}
	return s.batches(ctx, "opening", "data", from, to, func(b *layout.Batch) error { return b.Openings(from, to, f) })
}

// Facts calls f with the facts of records. See store.Store.
func (s *Store) Facts(ctx context.Context, log uint32, from, to uint64, f func(index uint64, facts []byte) error) error {
	if log != 0 {
		return ctx.Err()
	}
	return s.batches(ctx, "fact", "data", from, to, func(b *layout.Batch) error { return b.Openings(from, to, f) })
}

// findOpening returns the row of openings, or of facts, that a record's is in, and where
// the record's opening is in the row's data: from start to end. It is
// ledger.ErrNotFound if there is none.
func findOpening(c *sqlite.Conn, table string, pos act.Position) (row layout.Batch, start, end int64, err error) {
	if pos.Log != 0 {
		return row, 0, 0, ledger.ErrNotFound
	}
	err = query(c, `SELECT first, count, data FROM `+table+` WHERE first <= ? ORDER BY first DESC LIMIT 1`, func(stmt *sqlite.Stmt) error {
		row, err = readBatch(stmt)
		return err
	}, int64(clamp(pos.Index)))
	if err != nil {
		return row, 0, 0, err
	}
	start, end, err = row.OpeningSpan(pos.Index)
	return row, start, end, err
}

// Part returns a stored part of openings.
func (s *Store) Part(ctx context.Context, hash [32]byte) (data []byte, err error) {
	return s.one(ctx, `SELECT data FROM part WHERE hash = ?`, hash[:])
}

// one returns the one column of the one row of a query, or ledger.ErrNotFound.
func (s *Store) one(ctx context.Context, text string, arg any) (data []byte, err error) {
	found := false
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, text, func(stmt *sqlite.Stmt) error {
			data, found = column(stmt, 0, nil), true
			return nil
		}, arg)
	})
	if err == nil && !found {
		err = ledger.ErrNotFound
	}
	return data, err
}

// OpeningBytes is the size of all openings and parts, in bytes.
func (s *Store) OpeningBytes(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT opening_bytes + (SELECT coalesce(sum(size), 0) FROM part) FROM head`,
			func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil })
	})
	return n, err
}

// KeyHead returns where the session was last written.
func (s *Store) KeyHead(ctx context.Context, key ledger.Key) (pos act.Position, ok bool, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		known := &s.heads
		if s.readOnly {
			// The node that writes has its newest heads in memory. They are read
			// from the claims, in one state of the database.
			if err := do(c, "BEGIN"); err != nil {
				return err
			}
			defer do(c, "ROLLBACK")
			known = new(heads)
			if err := known.load(c); err != nil {
				return err
			}
		}
		pos.Index, ok, err = known.find(c, key)
		return err
	})
	return pos, ok, err
}

// Claims calls f with what was written under versioned keys. See store.Store.
func (s *Store) Claims(ctx context.Context, log uint32, from, to uint64, f func(index uint64, c *ledger.Claim) error) error {
	if log != 0 {
		return ctx.Err()
	}
	return s.batches(ctx, "batch", "claims", from, to, func(b *layout.Batch) error { return b.Claims(from, to, f) })
}

// KeyWrite returns what was written for a session with a record.
func (s *Store) KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (claim ledger.Claim, err error) {
	if pos.Log != 0 {
		return claim, ledger.ErrNotFound
	}
	var b layout.Batch
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT first, count, claims FROM batch WHERE first <= ? ORDER BY first DESC LIMIT 1`, func(stmt *sqlite.Stmt) error {
			b, err = readBatch(stmt)
			return err
		}, int64(clamp(pos.Index)))
	})
	if err != nil {
		return claim, err
	}
	i, ok := b.Place(pos.Index)
	if !ok {
		return claim, ledger.ErrNotFound
	}
	return layout.FindClaim(b.Data, b.Count, i, key)
}
