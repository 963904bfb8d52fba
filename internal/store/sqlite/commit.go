package sqlite

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"zombiezen.com/go/sqlite"
)

// Acquire takes log 0, the only one in an SQLite database. The lock on the
// directory already keeps other processes out.
func (s *Store) Acquire(ctx context.Context, owner string) (lease ledger.Lease, err error) {
	err = s.write(func(c *sqlite.Conn) error {
		if err := execute(c, `UPDATE head SET epoch = epoch + 1, owner = ?`, owner); err != nil {
			return err
		}
		return query(c, `SELECT epoch FROM head`, func(stmt *sqlite.Stmt) error {
			lease.Epoch = uint64(stmt.ColumnInt64(0))
			return nil
		})
	})
	if err != nil {
		return ledger.Lease{}, fmt.Errorf("acquire the log: %w", err)
	}
	return lease, nil
}

// Release notes that nobody holds the log.
func (s *Store) Release(ctx context.Context, lease ledger.Lease) error {
	if lease.Log != 0 {
		return ledger.ErrNotFound
	}
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `UPDATE head SET owner = '' WHERE epoch = ?`, int64(lease.Epoch))
	})
}

// errNothing rolls a commit back when every entry of it lost.
var errNothing = errors.New("nothing to commit")

// Commit makes a batch durable. See store.Store.
func (s *Store) Commit(ctx context.Context, lease ledger.Lease, claims []ledger.Claim, load *task.Load, build func(ledger.Found) (*ledger.Batch, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := errors.Join(s.awaitMerge(ctx), s.awaitCopy(ctx)); err != nil {
		return err
	}
	var batch *ledger.Batch
	s.mu.Lock()
	defer s.mu.Unlock()
	write := func(c *sqlite.Conn) error {
		size, err := s.checkLease(c, lease)
		if err != nil {
			return err
		}
		found := ledger.Found{More: func(l task.Load) (*task.Loaded, error) { return loadTasks(c, l) }}
		if found.Lost, err = s.lost(c, claims, size); err != nil {
			return err
		}
		if load != nil {
			if found.Tasks, err = loadTasks(c, *load); err != nil {
				return err
			}
		}
		if batch, err = build(found); err != nil {
			return err
		}
		if batch == nil {
			return errNothing
		}
		if batch.First != size {
			return ledger.ErrFenced
		}
		if batch.Tasks != nil {
			written, err := writeTasks(c, batch.Tasks)
			if err != nil {
				return err
			}
			s.unsynced.Add(written)
		}
		if len(batch.Records) == 0 {
			return nil
		}
		if err := layout.Check(batch); err != nil {
			return err
		}
		return s.insert(c, batch)
	}
	err := s.transact(write)
	if sqlite.ErrCode(err) == sqlite.ResultConstraintPrimaryKey && batch != nil && batch.Tasks != nil {
		// Perhaps the id of a tree that is gone, and of which something is left.
		if again, failed := s.resweep(batch.Tasks); failed == nil && again {
			err = s.transact(write)
		}
	}
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(batch.Records) > 0 && s.heads.add(batch) {
		s.heads.wake()
	}
	s.wrote(0)
	return nil
}

// checkLease returns the size of the log, and makes sure that memory knows the
// claims of all its records.
func (s *Store) checkLease(c *sqlite.Conn, lease ledger.Lease) (size uint64, err error) {
	var epoch uint64
	err = query(c, `SELECT size, epoch FROM head`, func(stmt *sqlite.Stmt) error {
		size, epoch = uint64(stmt.ColumnInt64(0)), uint64(stmt.ColumnInt64(1))
		return nil
	})
	if err != nil {
		return 0, err
	}
	if lease.Log != 0 || lease.Epoch != epoch {
		return 0, ledger.ErrFenced
	}
	// No other goroutine changes upto while this one holds mu.
	if size != s.heads.upto {
		if err := s.heads.catchUp(c, size); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// lost returns the places of the claims that are not on their session's head.
// Of several claims of one session the later ones chain on the first within
// this batch, and share its fate.
func (s *Store) lost(c *sqlite.Conn, claims []ledger.Claim, size uint64) (lost []int, err error) {
	seen := make(map[ledger.Key]bool, len(claims)) // whether it lost
	for i := range claims {
		claim := &claims[i]
		loses, again := seen[claim.Key]
		if again {
			loses = loses || claim.First || claim.Prev.Log != 0 || claim.Prev.Index < size
		} else {
			head, ok, err := s.heads.find(c, claim.Key)
			if errors.Is(err, layout.ErrDamaged) {
				// Nobody can say whether it is on its head. Who reads it is told why, and
				// the others of the batch are not in it.
				ok, head = claim.First, ^uint64(0)
				err = nil
			}
			if err != nil {
				return nil, err
			}
			loses = claim.First == ok || ok && claim.Prev != act.Position{Index: head}
		}
		seen[claim.Key] = loses
		if loses {
			lost = append(lost, i)
		}
	}
	return lost, nil
}

// insert writes everything of a batch.
func (s *Store) insert(c *sqlite.Conn, b *ledger.Batch) error {
	s.records = layout.AppendRecords(shrunk(s.records), b.Records)
	s.claims = layout.AppendClaims(shrunk(s.claims), b.Claims)
	s.leaves = shrunk(s.leaves)
	for i := range b.Leaves {
		s.leaves = append(s.leaves, b.Leaves[i][:]...)
	}
	at := b.At.UnixNano()
	err := execute(c, `INSERT INTO batch (first, count, at, leaves, claims, records) VALUES (?, ?, ?, ?, ?, zeroblob(?))`,
		int64(b.First), int64(len(b.Records)), at, s.leaves, s.claims, int64(len(s.records)))
	if err == nil {
		err = fill(c, "batch", "records", b.First, s.records)
	}
	if err != nil {
		return err
	}
	written := int64(len(s.records)+len(s.claims)+len(s.leaves)) + commitOverhead
	for i := range b.Nodes {
		n := &b.Nodes[i]
		err := execute(c, `INSERT INTO node (level, n, hash) VALUES (?, ?, ?)`, int64(n.Level), int64(n.N), n.Hash[:])
		if err != nil {
			return err
		}
	}
	openings, err := s.insertOpenings(c, "opening", b.First, at, b.Openings)
	if err != nil {
		return err
	}
	facts, err := s.insertOpenings(c, "fact", b.First, at, b.Facts)
	if err != nil {
		return err
	}
	written += facts
	for _, p := range b.Parts {
		err := execute(c, `INSERT INTO part (hash, last_put, size, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (hash) DO UPDATE SET last_put = max(last_put, excluded.last_put)`,
			p.Hash[:], at, int64(len(p.Data)), p.Data)
		if err != nil {
			return err
		}
		written += int64(len(p.Data))
	}
	for i := range b.Items {
		if err := insertItem(c, &b.Items[i], b.First); err != nil {
			return err
		}
		written += int64(len(b.Items[i].Data))
	}
	s.unsynced.Add(written + openings)
	return execute(c, `UPDATE head SET size = ?, checkpoint = ?, opening_bytes = opening_bytes + ?`,
		int64(b.First)+int64(len(b.Records)), b.Checkpoint, openings)
}

// commitOverhead is about what a commit writes besides its columns.
const commitOverhead = 16 << 10

// insertOpenings writes the openings of a batch, or its facts, in groups, and returns
// their bytes.
func (s *Store) insertOpenings(c *sqlite.Conn, table string, first uint64, at int64, openings [][]byte) (written int64, err error) {
	for from, to := range layout.Groups(openings) {
		s.records, err = layout.AppendOpenings(shrunk(s.records), openings[from:to])
		if err != nil {
			return 0, err
		}
		size := int64(len(s.records))
		err = execute(c, `INSERT INTO `+table+` (first, count, at, size, data) VALUES (?, ?, ?, ?, zeroblob(?))`,
			int64(first)+int64(from), int64(to-from), at, size, size)
		if err == nil {
			err = fill(c, table, "data", first+uint64(from), s.records)
		}
		if err != nil {
			return 0, err
		}
		written += size
	}
	return written, nil
}

// fill writes the last column of a row, which was made of zeros. A long
// parameter would be copied three times on its way, once byte by byte; this
// way its bytes go straight to the pages.
func fill(c *sqlite.Conn, table, column string, row uint64, data []byte) error {
	blob, err := c.OpenBlob("main", table, column, int64(row), true)
	if err != nil {
		return err
	}
	_, err = blob.Write(data)
	return errors.Join(err, blob.Close())
}

// shrunk empties a buffer for use again, and drops one that grew unusually.
func shrunk(buf []byte) []byte {
	if cap(buf) > 2<<20 {
		return nil
	}
	return buf[:0]
}
