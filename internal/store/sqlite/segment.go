package sqlite

import (
	"context"

	"reeve.example/reeve/internal/ledger"

	"zombiezen.com/go/sqlite"
)

// Segments lists what finds the records of a log. See store.Store.
func (s *Store) Segments(ctx context.Context, log uint32) (list []ledger.Segment, err error) {
	if log != 0 {
		return nil, ctx.Err()
	}
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT level, n FROM segment ORDER BY level, n`, func(stmt *sqlite.Stmt) error {
			if !integers(stmt, 0, 1) {
				return nil // damaged: what it covers is read record by record
			}
			if seg, ok := ledger.NewSegment(stmt.ColumnInt64(0), stmt.ColumnInt64(1)); ok {
				list = append(list, seg)
			}
			return nil
		})
	})
	return list, err
}

// A row without a page says that the segment is there and has none.
const pageBefore = `SELECT p.term, p.first, p.data FROM segment s LEFT JOIN (SELECT term, first, data FROM segment_page
	WHERE level = ?1 + 0 AND n = ?2 + 0 AND (term, first) <= (?3 + 0, ?4 + 0) ORDER BY term DESC, first DESC LIMIT 1) p
	WHERE s.level = ?1 + 0 AND s.n = ?2 + 0`

const pageAfter = `SELECT p.term, p.first, p.data FROM segment s LEFT JOIN (SELECT term, first, data FROM segment_page
	WHERE level = ?1 + 0 AND n = ?2 + 0 AND (term, first) > (?3 + 0, ?4 + 0) ORDER BY term, first LIMIT 1) p
	WHERE s.level = ?1 + 0 AND s.n = ?2 + 0`

// SegmentPage finds a page of a segment. See store.Store.
func (s *Store) SegmentPage(ctx context.Context, log uint32, seg ledger.Segment, at ledger.Posting, next bool) (page ledger.SegmentPage, err error) {
	if log != 0 {
		return page, ledger.ErrStale
	}
	text := pageBefore
	if next {
		text = pageAfter
	}
	err = ledger.ErrStale
	failed := s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, text, func(stmt *sqlite.Stmt) error {
			if stmt.ColumnIsNull(2) {
				err = ledger.ErrNotFound
				return nil
			}
			page = ledger.SegmentPage{Posting: ledger.Posting{Term: ledger.Term(stmt.ColumnInt64(0)), Index: uint64(stmt.ColumnInt64(1))}, Data: column(stmt, 2, nil)}
			err = nil
			return nil
		}, int64(seg.Level), int64(seg.N), int64(at.Term), int64(clamp(at.Index)))
	})
	if failed != nil {
		err = failed
	}
	return page, err
}

// PutSegment writes a segment in place of those within it. See store.Store.
func (s *Store) PutSegment(ctx context.Context, log uint32, seg ledger.Segment, since uint64, pages []ledger.SegmentPage) error {
	if log != 0 {
		return ledger.ErrNotFound
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.awaitCopy(ctx); err != nil {
		return err
	}
	return s.write(func(c *sqlite.Conn) error {
		now, err := segmentsDropped(c)
		if err != nil {
			return err
		}
		if now != since {
			return ledger.ErrStale
		}
		covered := false
		for level := seg.Level + 1; level < ledger.SegmentLevels && !covered; level++ {
			err := query(c, `SELECT 1 FROM segment WHERE level = ? AND n = ?`, func(*sqlite.Stmt) error { covered = true; return nil },
				int64(level), int64(ledger.SegmentOf(level, seg.From()).N))
			if err != nil {
				return err
			}
		}
		if covered {
			return nil
		}
		if err := dropWithin(c, seg); err != nil {
			return err
		}
		written := int64(0)
		for i := range pages {
			p := &pages[i]
			err := execute(c, `INSERT INTO segment_page (level, n, term, first, data) VALUES (?, ?, ?, ?, ?)`,
				int64(seg.Level), int64(seg.N), int64(p.Term), int64(p.Index), p.Data)
			if err != nil {
				return err
			}
			written += int64(len(p.Data))
		}
		s.wrote(written)
		return execute(c, `INSERT INTO segment (level, n) VALUES (?, ?)`, int64(seg.Level), int64(seg.N))
	})
}

// SegmentsDropped counts how often segments were dropped. See store.Store.
func (s *Store) SegmentsDropped(ctx context.Context, log uint32) (n uint64, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		n, err = segmentsDropped(c)
		return err
	})
	return n, err
}

func segmentsDropped(c *sqlite.Conn) (n uint64, err error) {
	err = query(c, `SELECT n FROM segments_dropped`, func(stmt *sqlite.Stmt) error { n = uint64(stmt.ColumnInt64(0)); return nil })
	return n, err
}

// DropSegments removes the segments over a stretch of a log. See store.Store.
func (s *Store) DropSegments(ctx context.Context, log uint32, from, to uint64) error {
	if log != 0 {
		return ctx.Err()
	}
	return s.securely(func(c *sqlite.Conn) error { return dropSegments(c, from, to) })
}

// dropSegments removes every segment that has a record from index from to to, as its terms
// tell of facts that are gone.
func dropSegments(c *sqlite.Conn, from, to uint64) error {
	if err := execute(c, `UPDATE segments_dropped SET n = n + 1`); err != nil {
		return err
	}
	for level := range ledger.SegmentLevels {
		low, high := ledger.SegmentOf(level, from).N, ledger.SegmentOf(level, max(to, 1)-1).N
		for _, table := range []string{"segment", "segment_page"} {
			err := execute(c, `DELETE FROM `+table+` WHERE level = ? AND n BETWEEN ? AND ?`, int64(level), int64(low), int64(high))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropWithin removes a segment, and those of lower levels that are within it.
func dropWithin(c *sqlite.Conn, seg ledger.Segment) error {
	for level := range seg.Level + 1 {
		low, high := ledger.SegmentOf(level, seg.From()).N, ledger.SegmentOf(level, seg.To()-1).N
		for _, table := range []string{"segment", "segment_page"} {
			err := execute(c, `DELETE FROM `+table+` WHERE level = ? AND n BETWEEN ? AND ?`, int64(level), int64(low), int64(high))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
