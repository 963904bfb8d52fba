package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

// Erase overwrites the openings of these positions with zeros, where they are,
// and empties the WAL, so that neither file holds them any more. While another
// program reads the database the WAL cannot be emptied: Erase then returns an
// error after about three seconds, and the WAL is emptied later. Copies made
// with Backup keep them.
func (s *Store) Erase(ctx context.Context, positions []act.Position) error {
	if len(positions) == 0 {
		return nil
	}
	for len(positions) > 0 {
		n := min(len(positions), 128)
		err := s.securely(func(c *sqlite.Conn) error {
			for _, pos := range positions[:n] {
				for _, table := range []string{"opening", "fact"} {
					if err := s.erase(c, table, pos); err != nil {
						return err
					}
				}
				if err := dropSegments(c, pos.Index, pos.Index+1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("erase: %w", err)
		}
		positions = positions[n:]
	}
	if err := s.emptyWAL(ctx); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	return nil
}

func (s *Store) erase(c *sqlite.Conn, table string, pos act.Position) (err error) {
	row, start, end, err := findOpening(c, table, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	blob, err := c.OpenBlob("main", table, "data", int64(row.First), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	i, _ := row.Place(pos.Index)
	from, to := layout.TableSpan(i)
	for _, span := range [][2]int64{{start, end}, {from, to}} {
		if _, err := blob.Seek(span[0], io.SeekStart); err != nil {
			return err
		}
		if _, err := blob.Write(make([]byte, span[1]-span[0])); err != nil {
			return err
		}
	}
	return nil
}

// TrimOpenings removes openings that are too old or too many. What was too old
// is overwritten in the database; the room of what was too many is soon
// written anew. See store.Store.
func (s *Store) TrimOpenings(ctx context.Context, before time.Time, maxBytes int64) (removed int, freed int64, err error) {
	total, err := s.OpeningBytes(ctx)
	if err != nil {
		return 0, 0, err
	}
	openings := func(_ context.Context, excess int64) (int, int64, error) {
		return s.trimOpenings(before.UnixNano(), excess)
	}
	parts := func(context.Context) (int, int64, error) { return s.trimParts() }
	return layout.Trim(ctx, total, maxBytes, openings, parts)
}

// trimOpenings makes one step: it removes some of the oldest rows that are
// older than before, or until more than excess bytes are gone.
func (s *Store) trimOpenings(before, excess int64) (n int, size int64, err error) {
	type row struct {
		first, at, size int64
	}
	var old []row
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.writable()
	if err != nil {
		return 0, 0, err
	}
	byAge := false
	err = query(c, `SELECT first, at, size FROM opening ORDER BY first LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
		r := row{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2)}
		if r.at >= before && size >= excess || size >= layout.TrimBytes {
			return errEnough
		}
		byAge = byAge || r.at < before
		old = append(old, r)
		size += r.size
		return nil
	}, int64(layout.TrimRows))
	if err != nil && err != errEnough {
		return 0, 0, s.broken(err)
	}
	if len(old) == 0 {
		return 0, 0, nil
	}
	if byAge {
		if err := do(c, "PRAGMA secure_delete=ON"); err != nil {
			return 0, 0, s.broken(err)
		}
		defer do(c, "PRAGMA secure_delete=FAST")
	}
	err = s.transact(func(c *sqlite.Conn) error {
		for _, r := range old {
			if err := execute(c, `DELETE FROM opening WHERE first = ?`, r.first); err != nil {
				return err
			}
		}
		return execute(c, `UPDATE head SET opening_bytes = opening_bytes - ?`, size)
	})
	if err != nil {
		return 0, 0, err
	}
	s.unsynced.Add(size)
	return len(old), size, nil
}

// TrimFacts removes facts that are older than a time, overwritten in the database.
func (s *Store) TrimFacts(ctx context.Context, before time.Time) (removed int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		n, err := s.trimFacts(before.UnixNano())
		if removed += n; err != nil || n == 0 {
			return removed, err
		}
	}
}

func (s *Store) trimFacts(before int64) (n int, err error) {
	err = s.securely(func(c *sqlite.Conn) error {
		n = 0
		var from, to uint64
		// They lie in the order of their times.
		err := query(c, `DELETE FROM fact WHERE first IN (SELECT first FROM (SELECT first, at FROM fact ORDER BY first LIMIT ? + 0) WHERE at < ?) RETURNING first, count`,
			func(stmt *sqlite.Stmt) error {
				first, end := uint64(stmt.ColumnInt64(0)), uint64(stmt.ColumnInt64(0)+stmt.ColumnInt64(1))
				if n++; n == 1 {
					from = first
				}
				from, to = min(from, first), max(to, end)
				return nil
			}, int64(layout.TrimRows), before)
		if err != nil || n == 0 {
			return err
		}
		return dropSegments(c, from, to)
	})
	return n, err
}

// securely is write, with what is removed overwritten with zeros.
func (s *Store) securely(f func(c *sqlite.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.writable()
	if err != nil {
		return err
	}
	if err := do(c, "PRAGMA secure_delete=ON"); err != nil {
		return s.broken(err)
	}
	defer func() {
		if s.writer != nil { // it is closed when it fails
			_ = do(s.writer, "PRAGMA secure_delete=FAST")
		}
	}()
	return s.transact(f)
}

// trimParts removes some parts that no opening refers to any more.
func (s *Store) trimParts() (n int, size int64, err error) {
	err = s.write(func(c *sqlite.Conn) error {
		n, size = 0, 0
		needed := time.Now().UnixNano()
		err := query(c, `SELECT at FROM opening ORDER BY first LIMIT 1`, func(stmt *sqlite.Stmt) error {
			needed = stmt.ColumnInt64(0)
			return nil
		})
		if err != nil {
			return err
		}
		var ids []int64
		err = query(c, `SELECT id, size FROM part WHERE last_put < ? ORDER BY last_put LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			ids = append(ids, stmt.ColumnInt64(0))
			if size += stmt.ColumnInt64(1); size >= layout.TrimBytes {
				return errEnough
			}
			return nil
		}, needed-int64(ledger.PartWindow), int64(layout.TrimRows))
		if err != nil && err != errEnough {
			return err
		}
		for _, id := range ids {
			if err := execute(c, `DELETE FROM part WHERE id = ?`, id); err != nil {
				return err
			}
		}
		n = len(ids)
		return nil
	})
	return n, size, err
}

// PruneRecords removes the records below size, rounded down to a complete tile
// of 256 records, with their openings and their sessions' writes. See
// store.Store.
func (s *Store) PruneRecords(ctx context.Context, log uint32, size uint64, checkpoint []byte) error {
	if log != 0 {
		return ledger.ErrNotFound
	}
	if err := s.mergeBelow(size); err != nil {
		return err
	}
	size -= size % layout.Tile
	err := s.write(func(c *sqlite.Conn) error {
		return execute(c, `UPDATE head SET pruned = ?1, pruned_checkpoint = ?2 WHERE pruned < ?1`, int64(size), checkpoint)
	})
	if err != nil {
		return err
	}
	for removed := layout.TrimRows; removed > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.write(func(c *sqlite.Conn) error {
			err := execute(c, `DELETE FROM batch WHERE first IN
				(SELECT first FROM batch WHERE first + count <= (SELECT pruned FROM head) ORDER BY first LIMIT ? + 0)`, int64(layout.TrimRows))
			removed = c.Changes()
			return err
		})
		if err != nil {
			return err
		}
	}
	for n := layout.TrimRows; n > 0; {
		if n, _, err = s.pruneOpenings(int64(size)); err != nil {
			return err
		}
	}
	for removed := layout.TrimRows; removed > 0; {
		err := s.write(func(c *sqlite.Conn) error {
			err := execute(c, `DELETE FROM fact WHERE first IN (SELECT first FROM fact WHERE first + count <= ? ORDER BY first LIMIT ? + 0)`, int64(size), int64(layout.TrimRows))
			removed = c.Changes()
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.write(func(c *sqlite.Conn) error { return dropSegments(c, 0, size) })
}

// mergeBelow merges the sessions' heads of all records below size into the runs.
// After a crash the heads are read from the claims that are not in runs yet: if
// those were gone, the database could not be opened again. It is an error if
// the log has fewer records.
func (s *Store) mergeBelow(size uint64) error {
	err := s.write(func(c *sqlite.Conn) error {
		have, err := headSize(c)
		if err != nil {
			return err
		}
		if size > have {
			return fmt.Errorf("prune: the log has %d records only", have)
		}
		return s.heads.catchUp(c, have) // a commit that was reported as failed may not be known
	})
	// What is left of a merge that failed is merged first, by itself.
	for err == nil && s.heads.merged() < size {
		err = s.flushHeads()
	}
	return err
}

func (s *Store) pruneOpenings(size int64) (n int, freed int64, err error) {
	err = s.write(func(c *sqlite.Conn) error {
		err := query(c, `DELETE FROM opening WHERE first IN
			(SELECT first FROM opening WHERE first + count <= ? ORDER BY first LIMIT ? + 0) RETURNING size`, func(stmt *sqlite.Stmt) error {
			n++
			freed += stmt.ColumnInt64(0)
			return nil
		}, size, int64(layout.TrimRows))
		if err != nil {
			return err
		}
		return execute(c, `UPDATE head SET opening_bytes = opening_bytes - ?`, freed)
	})
	return n, freed, err
}
