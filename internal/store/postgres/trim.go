package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"github.com/jackc/pgx/v5"
)

// Erase removes the openings of these positions. PostgreSQL keeps old versions
// of a row until it is vacuumed, which Erase does, and its pages and write-ahead
// log until they are used again, which only the server's operator can hasten.
func (s *Store) Erase(ctx context.Context, positions []act.Position) error {
	for len(positions) > 0 {
		n := min(len(positions), 128)
		err := s.transact(ctx, func(tx pgx.Tx) error {
			for _, pos := range positions[:n] {
				for _, table := range []string{"opening", "fact"} {
					if err := erase(ctx, tx, table, pos); err != nil {
						return err
					}
				}
				if err := dropSegments(ctx, tx, pos.Log, pos.Index, pos.Index+1); err != nil {
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
	if _, err := s.pool.Exec(ctx, `VACUUM opening, fact, segment_page`); err != nil {
		return fmt.Errorf("erase: the bytes are removed, but old versions of the rows stay until the next vacuum: %w", err)
	}
	return nil
}

func erase(ctx context.Context, tx pgx.Tx, table string, pos act.Position) error {
	row, start, end, err := findOpening(ctx, tx, table, pos, "FOR UPDATE")
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	i, _ := row.Place(pos.Index)
	from, to := layout.TableSpan(i)
	clear(row.Data[start:end])
	clear(row.Data[from:to])
	_, err = tx.Exec(ctx, `UPDATE `+table+` SET data = $3 WHERE log = $1 AND first = $2`, pos.Log, row.First, row.Data)
	return err
}

// TrimOpenings removes openings that are too old or too many. See store.Store.
func (s *Store) TrimOpenings(ctx context.Context, before time.Time, maxBytes int64) (removed int, freed int64, err error) {
	total, err := s.OpeningBytes(ctx)
	if err != nil {
		return 0, 0, err
	}
	openings := func(ctx context.Context, excess int64) (int, int64, error) {
		return s.trimOpenings(ctx, before.UnixNano(), excess)
	}
	return layout.Trim(ctx, total, maxBytes, openings, s.trimParts)
}

// trimOpenings makes one step: it removes some of the oldest rows that are
// older than before, or until more than excess bytes are gone.
func (s *Store) trimOpenings(ctx context.Context, before, excess int64) (n int, size int64, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		// A row is removed while what stands before it is not enough yet.
		return tx.QueryRow(ctx, `
			WITH oldest AS (SELECT log, first, at, size FROM opening ORDER BY at, log, first LIMIT $3),
			due AS (SELECT *, coalesce(sum(size) OVER (ORDER BY at, log, first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS so_far FROM oldest),
			gone AS (DELETE FROM opening o USING due d
				WHERE o.log = d.log AND o.first = d.first AND (d.at < $1 OR d.so_far < $2) AND d.so_far < $4
				RETURNING o.log, o.size),
			counted AS (UPDATE log l SET opening_bytes = opening_bytes - g.size
				FROM (SELECT log, sum(size) AS size FROM gone GROUP BY log) g WHERE l.log = g.log)
			SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone`, before, excess, layout.TrimRows, layout.TrimBytes).Scan(&n, &size)
	})
	return n, size, err
}

// TrimFacts removes facts that are older than a time. See store.Store.
func (s *Store) TrimFacts(ctx context.Context, before time.Time) (removed int, err error) {
	for {
		n := 0
		err := s.transact(ctx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `DELETE FROM fact f USING (SELECT log, first FROM fact WHERE at < $1 ORDER BY at, log, first LIMIT $2) d
				WHERE f.log = d.log AND f.first = d.first RETURNING f.log, f.first, f.count`, before.UnixNano(), layout.TrimRows)
			if err != nil {
				return err
			}
			type stretch struct{ from, to uint64 }
			gone := map[uint32]stretch{}
			var log uint32
			var first, count uint64
			n = 0
			_, err = pgx.ForEachRow(rows, []any{&log, &first, &count}, func() error {
				n++
				g, again := gone[log]
				if !again {
					g.from = first
				}
				gone[log] = stretch{min(g.from, first), max(g.to, first+count)}
				return nil
			})
			if err != nil {
				return err
			}
			for _, log := range slices.Sorted(maps.Keys(gone)) {
				if err := dropSegments(ctx, tx, log, gone[log].from, gone[log].to); err != nil {
					return err
				}
			}
			return nil
		})
		if removed += n; err != nil || n == 0 {
			return removed, err
		}
	}
}

// trimParts removes some parts that no opening refers to any more.
func (s *Store) trimParts(ctx context.Context) (n int, size int64, err error) {
	// A part that is being put right now is locked, and left alone.
	err = s.pool.QueryRow(ctx, `
		WITH unused AS (SELECT hash FROM part
			WHERE last_put < coalesce((SELECT min(at) FROM opening), $1) - $2::bigint
			ORDER BY last_put LIMIT $3 FOR UPDATE SKIP LOCKED),
		gone AS (DELETE FROM part WHERE hash IN (SELECT hash FROM unused) RETURNING size)
		SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone`,
		time.Now().UnixNano(), int64(ledger.PartWindow), layout.TrimRows).Scan(&n, &size)
	return n, size, err
}

// PruneRecords removes the records below size, rounded down to a complete tile
// of 256 records, with their openings and their sessions' writes. See
// store.Store.
func (s *Store) PruneRecords(ctx context.Context, log uint32, size uint64, checkpoint []byte) error {
	err := s.transact(ctx, func(tx pgx.Tx) error {
		var have uint64
		if err := tx.QueryRow(ctx, `SELECT size FROM log WHERE log = $1 FOR UPDATE`, log).Scan(&have); err != nil {
			return found(err)
		}
		if size > have {
			return fmt.Errorf("prune: the log has %d records only", have)
		}
		_, err := tx.Exec(ctx, `UPDATE log SET pruned = $2, pruned_checkpoint = $3 WHERE log = $1 AND pruned < $2`,
			log, size-size%layout.Tile, checkpoint)
		return err
	})
	if err != nil {
		return err
	}
	for {
		tag, err := s.pool.Exec(ctx, `DELETE FROM batch WHERE log = $1 AND first IN
			(SELECT first FROM batch WHERE log = $1 AND first + count <= (SELECT pruned FROM log WHERE log = $1) ORDER BY first LIMIT $2)`,
			log, layout.TrimRows)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			break
		}
	}
	for {
		tag, err := s.pool.Exec(ctx, `DELETE FROM fact WHERE log = $1 AND first IN
			(SELECT first FROM fact WHERE log = $1 AND first + count <= (SELECT pruned FROM log WHERE log = $1) ORDER BY first LIMIT $2)`, log, layout.TrimRows)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			break
		}
	}
	if err := s.DropSegments(ctx, log, 0, size-size%layout.Tile); err != nil {
		return err
	}
	for n := 1; n > 0; {
		err := s.transact(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `
				WITH gone AS (DELETE FROM opening WHERE log = $1 AND first IN
					(SELECT first FROM opening WHERE log = $1 AND first + count <= (SELECT pruned FROM log WHERE log = $1) ORDER BY first LIMIT $2)
					RETURNING size),
				counted AS (UPDATE log SET opening_bytes = opening_bytes - (SELECT coalesce(sum(size), 0) FROM gone) WHERE log = $1)
				SELECT count(*) FROM gone`, log, layout.TrimRows).Scan(&n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
