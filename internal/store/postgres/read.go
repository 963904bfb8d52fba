package postgres

import (
	"context"
	"errors"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/mod/sumdb/tlog"
)

// Head returns a log's newest committed size and checkpoint.
func (s *Store) Head(ctx context.Context, log uint32) (h ledger.Head, err error) {
	err = s.pool.QueryRow(ctx, `SELECT size, checkpoint, pruned, pruned_checkpoint FROM log WHERE log = $1`, log).
		Scan(&h.Size, &h.Checkpoint, &h.Pruned, &h.PrunedCheckpoint)
	return h, found(err)
}

// found turns pgx's error for a missing row into ledger.ErrNotFound.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.ErrNotFound
	}
	return err
}

// Logs lists the numbers of all logs.
func (s *Store) Logs(ctx context.Context) ([]uint32, error) {
	rows, err := s.pool.Query(ctx, `SELECT log FROM log ORDER BY log`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uint32])
}

// window is how many rows of batches one read brings into memory.
const window = 16

func scanBatch(row pgx.CollectableRow) (layout.Batch, error) {
	var first, count int64
	var data []byte
	if err := row.Scan(&first, &count, &data); err != nil {
		return layout.Batch{}, err
	}
	return layout.NewBatch(first, count, data)
}

// clamp brings an index into the range of PostgreSQL's integers.
func clamp(index uint64) uint64 { return min(index, 1<<62) }

// batches calls f with a column of those rows of a table (batch, or opening) that have
// records from index from to to, with no statement open meanwhile. What is missing is passed over:
// ledger.Verify finds it.
func (s *Store) batches(ctx context.Context, log uint32, table, col string, from, to uint64, f func(b *layout.Batch) error) error {
	from, to = clamp(from), clamp(to)
	for from < to {
		rows, err := s.pool.Query(ctx, `SELECT first, count, `+col+` FROM `+table+`
			WHERE log = $1 AND first >= coalesce((SELECT max(first) FROM `+table+` WHERE log = $1 AND first <= $2), 0) AND first < $3
			ORDER BY first LIMIT $4`, log, from, to, window)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, scanBatch)
		if err != nil {
			return err
		}
		more := false
		for i := range list {
			end := list[i].End()
			if end <= from {
				continue
			}
			if err := f(&list[i]); err != nil {
				return err
			}
			from, more = end, true
		}
		if !more && len(list) < window {
			return nil
		}
	}
	return nil
}

// Records calls f with the records from index from to to, also with those that
// the head says nothing of: ledger.Verify looks for them. See store.Store.
func (s *Store) Records(ctx context.Context, log uint32, from, to uint64, f func(index uint64, record []byte) error) error {
	head, err := s.Head(ctx, log)
	if err != nil {
		return err
	}
	from = max(from, head.Pruned)
	return s.batches(ctx, log, "batch", "records", from, to, func(b *layout.Batch) error { return b.Records(from, to, f) })
}

// Nodes returns hashes of one level of the tree. See store.Store.
func (s *Store) Nodes(ctx context.Context, log uint32, level int, from, to uint64) ([]tlog.Hash, error) {
	if to < from {
		return nil, ledger.ErrNotFound
	}
	hashes := make([]tlog.Hash, 0, min(to-from, 1024))
	var err error
	if level == 0 {
		err = s.batches(ctx, log, "batch", "leaves", from, to, func(b *layout.Batch) (err error) {
			hashes, err = b.AppendLeaves(hashes, from, to)
			return err
		})
	} else {
		hashes, err = s.upper(ctx, log, level, from, to, hashes)
	}
	if err == nil && uint64(len(hashes)) != to-from {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return hashes, nil
}

// upper appends the hashes of a level above the records.
func (s *Store) upper(ctx context.Context, log uint32, level int, from, to uint64, hashes []tlog.Hash) ([]tlog.Hash, error) {
	rows, err := s.pool.Query(ctx, `SELECT n, hash FROM node WHERE log = $1 AND level = $2 AND n >= $3 AND n < $4 ORDER BY n`,
		log, level, clamp(from), clamp(to))
	if err != nil {
		return nil, err
	}
	var n uint64
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &hash}, func() error {
		if n != from+uint64(len(hashes)) || len(hash) != tlog.HashSize {
			return ledger.ErrNotFound
		}
		hashes = append(hashes, tlog.Hash(hash))
		return nil
	})
	return hashes, err
}

// Opening returns what lies beside a record.
func (s *Store) Opening(ctx context.Context, pos act.Position) ([]byte, error) {
	row, start, end, err := findOpening(ctx, s.pool, "opening", pos, "")
	if err != nil {
		return nil, err
	}
	return row.Data[start:end:end], nil
}

// Openings calls f with what lies beside records. See store.Store.
func (s *Store) Openings(ctx context.Context, log uint32, from, to uint64, f func(index uint64, opening []byte) error) error {
	return s.batches(ctx, log, "opening", "data", from, to, func(b *layout.Batch) error { return b.Openings(from, to, f) })
}

// Facts calls f with the facts of records. See store.Store.
func (s *Store) Facts(ctx context.Context, log uint32, from, to uint64, f func(index uint64, facts []byte) error) error {
	return s.batches(ctx, log, "fact", "data", from, to, func(b *layout.Batch) error { return b.Openings(from, to, f) })
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// findOpening returns the row of openings, or of facts, that a record's is in, and where
// in its data it is. It is ledger.ErrNotFound if there is none. lock is empty or
// FOR UPDATE.
func findOpening(ctx context.Context, q querier, table string, pos act.Position, lock string) (row layout.Batch, start, end int64, err error) {
	rows, err := q.Query(ctx, `SELECT first, count, data FROM `+table+` WHERE log = $1 AND first <= $2 ORDER BY first DESC LIMIT 1 `+lock,
		pos.Log, clamp(pos.Index))
	if err != nil {
		return row, 0, 0, err
	}
	if row, err = pgx.CollectOneRow(rows, scanBatch); err != nil {
		return row, 0, 0, found(err)
	}
	start, end, err = row.OpeningSpan(pos.Index)
	return row, start, end, err
}

// Part returns a stored part of openings.
func (s *Store) Part(ctx context.Context, hash [32]byte) (data []byte, err error) {
	err = s.pool.QueryRow(ctx, `SELECT data FROM part WHERE hash = $1`, hash[:]).Scan(&data)
	return data, found(err)
}

// OpeningBytes is the size of all openings and parts, in bytes.
func (s *Store) OpeningBytes(ctx context.Context) (n int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (coalesce((SELECT sum(opening_bytes) FROM log), 0) + coalesce((SELECT sum(size) FROM part), 0))::bigint`).Scan(&n)
	return n, err
}

// KeyHead returns where the session was last written.
func (s *Store) KeyHead(ctx context.Context, key ledger.Key) (pos act.Position, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT log, index FROM session_head WHERE key = $1`, pgtype.UUID{Bytes: key, Valid: true}).
		Scan(&pos.Log, &pos.Index)
	if errors.Is(err, pgx.ErrNoRows) {
		return pos, false, nil
	}
	return pos, err == nil, err
}

// Claims calls f with what was written under versioned keys. See store.Store.
func (s *Store) Claims(ctx context.Context, log uint32, from, to uint64, f func(index uint64, c *ledger.Claim) error) error {
	return s.batches(ctx, log, "batch", "claims", from, to, func(b *layout.Batch) error { return b.Claims(from, to, f) })
}

// KeyWrite returns what was written for a session with a record.
func (s *Store) KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (claim ledger.Claim, err error) {
	rows, err := s.pool.Query(ctx, `SELECT first, count, claims FROM batch WHERE log = $1 AND first <= $2 ORDER BY first DESC LIMIT 1`,
		pos.Log, clamp(pos.Index))
	if err != nil {
		return claim, err
	}
	b, err := pgx.CollectOneRow(rows, scanBatch)
	if err != nil {
		return claim, found(err)
	}
	i, ok := b.Place(pos.Index)
	if !ok {
		return claim, ledger.ErrNotFound
	}
	return layout.FindClaim(b.Data, b.Count, i, key)
}
