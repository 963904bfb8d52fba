package postgres

import (
	"context"
	"errors"

	"reeve.example/reeve/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// Segments lists what finds the records of a log. See store.Store.
func (s *Store) Segments(ctx context.Context, log uint32) (list []ledger.Segment, err error) {
	rows, err := s.pool.Query(ctx, `SELECT level, n FROM segment WHERE log = $1 ORDER BY level, n`, log)
	if err != nil {
		return nil, err
	}
	var level, n int64
	_, err = pgx.ForEachRow(rows, []any{&level, &n}, func() error {
		if seg, ok := ledger.NewSegment(level, n); ok {
			list = append(list, seg)
		}
		return nil
	})
	return list, err
}

// A row without a page says that the segment is there and has none.
const pageBefore = `SELECT p.term, p.first, p.data FROM segment s LEFT JOIN (SELECT term, first, data FROM segment_page
	WHERE log = $1 AND level = $2 AND n = $3 AND (term, first) <= ($4, $5) ORDER BY term DESC, first DESC LIMIT 1) p ON true
	WHERE s.log = $1 AND s.level = $2 AND s.n = $3`

const pageAfter = `SELECT p.term, p.first, p.data FROM segment s LEFT JOIN (SELECT term, first, data FROM segment_page
	WHERE log = $1 AND level = $2 AND n = $3 AND (term, first) > ($4, $5) ORDER BY term, first LIMIT 1) p ON true
	WHERE s.log = $1 AND s.level = $2 AND s.n = $3`

// SegmentPage finds a page of a segment. See store.Store.
func (s *Store) SegmentPage(ctx context.Context, log uint32, seg ledger.Segment, at ledger.Posting, next bool) (page ledger.SegmentPage, err error) {
	text := pageBefore
	if next {
		text = pageAfter
	}
	var term, first *int64
	err = s.pool.QueryRow(ctx, text, log, seg.Level, seg.N, int64(at.Term), clamp(at.Index)).Scan(&term, &first, &page.Data)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return page, ledger.ErrStale
	case err != nil:
		return page, err
	case term == nil || first == nil:
		return page, ledger.ErrNotFound
	}
	page.Posting = ledger.Posting{Term: ledger.Term(*term), Index: uint64(*first)}
	return page, nil
}

// PutSegment writes a segment in place of those within it. See store.Store.
func (s *Store) PutSegment(ctx context.Context, log uint32, seg ledger.Segment, since uint64, pages []ledger.SegmentPage) error {
	return s.transact(ctx, func(tx pgx.Tx) error {
		var now uint64
		// Not the log's row: its commits go on.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, int32(lockSegments), int32(log)); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT segments_dropped FROM log WHERE log = $1`, log).Scan(&now); err != nil {
			return found(err)
		}
		if now != since {
			return ledger.ErrStale
		}
		for level := seg.Level + 1; level < ledger.SegmentLevels; level++ {
			var covered bool
			err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM segment WHERE log = $1 AND level = $2 AND n = $3)`,
				log, level, ledger.SegmentOf(level, seg.From()).N).Scan(&covered)
			if err != nil || covered {
				return err
			}
		}
		for level := range seg.Level + 1 {
			if err := deleteSegments(ctx, tx, log, level, seg.From(), seg.To()); err != nil {
				return err
			}
		}
		terms, firsts, data := make([]int64, len(pages)), make([]int64, len(pages)), make([][]byte, len(pages))
		for i := range pages {
			terms[i], firsts[i], data[i] = int64(pages[i].Term), int64(pages[i].Index), pages[i].Data
		}
		if _, err := tx.Exec(ctx, `INSERT INTO segment_page (log, level, n, term, first, data)
			SELECT $1, $2, $3, * FROM unnest($4::bigint[], $5::bigint[], $6::bytea[])`, log, seg.Level, seg.N, terms, firsts, data); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO segment (log, level, n) VALUES ($1, $2, $3)`, log, seg.Level, seg.N)
		return err
	})
}

// SegmentsDropped counts how often segments were dropped. See store.Store.
func (s *Store) SegmentsDropped(ctx context.Context, log uint32) (n uint64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT segments_dropped FROM log WHERE log = $1`, log).Scan(&n)
	return n, found(err)
}

// DropSegments removes the segments over a stretch of a log. See store.Store.
func (s *Store) DropSegments(ctx context.Context, log uint32, from, to uint64) error {
	return s.transact(ctx, func(tx pgx.Tx) error { return dropSegments(ctx, tx, log, from, to) })
}

// dropSegments removes every segment that has a record from index from to to, as its terms
// tell of facts that are gone.
func dropSegments(ctx context.Context, tx pgx.Tx, log uint32, from, to uint64) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, int32(lockSegments), int32(log)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE log SET segments_dropped = segments_dropped + 1 WHERE log = $1`, log); err != nil {
		return err
	}
	for level := range ledger.SegmentLevels {
		if err := deleteSegments(ctx, tx, log, level, from, to); err != nil {
			return err
		}
	}
	return nil
}

func deleteSegments(ctx context.Context, tx pgx.Tx, log uint32, level int, from, to uint64) error {
	low, high := ledger.SegmentOf(level, from).N, ledger.SegmentOf(level, max(to, 1)-1).N
	for _, table := range []string{"segment", "segment_page"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE log = $1 AND level = $2 AND n BETWEEN $3 AND $4`, log, level, low, high); err != nil {
			return err
		}
	}
	return nil
}
