package sqlite

import (
	"context"
	"math"
	"time"

	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"zombiezen.com/go/sqlite"
)

const (
	// lookRows is how many tasks a look for trees walks over.
	lookRows = 2000
	// removeRows is about how many rows a step removes: a few milliseconds in which
	// no commit is made.
	removeRows = 300
	// taskRows is about how many rows a task has, without its events.
	taskRows = 5
)

// step makes one small transaction that removes something for good.
func (s *Store) step(ctx context.Context, f func(c *sqlite.Conn) error) error {
	return s.pausing(ctx, func() error {
		err := s.securely(f)
		if err == nil {
			s.unsynced.Add(removeRows * 1024) // about
		}
		return err
	})
}

// pausing does something that commits wait for, and then leaves them the database for
// as long as that took.
func (s *Store) pausing(ctx context.Context, f func() error) error {
	begin := time.Now()
	if err := f(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return errClosed
	case <-time.After(time.Since(begin)):
		return nil
	}
}

// ended says of the tree of ?1 that all of it ended before ?2, that nothing of it
// runs again, and that no other tree was made from it.
const ended = `r.phase >= 6 AND r.next = 0 AND r.updated < ?2 + 0
	AND NOT EXISTS (SELECT 1 FROM task c WHERE c.root = CAST(?1 AS BLOB) AND c.parent IS NOT NULL AND (c.phase < 6 OR c.next > 0 OR c.updated >= ?2 + 0))
	AND NOT EXISTS (SELECT 1 FROM task_ref f JOIN task x ON x.id = f.task WHERE f.original = CAST(?1 AS BLOB) AND x.root <> CAST(?1 AS BLOB))
	AND NOT EXISTS (SELECT 1 FROM task c JOIN task_ref f ON f.original = c.id JOIN task x ON x.id = f.task
		WHERE c.root = CAST(?1 AS BLOB) AND c.parent IS NOT NULL AND x.root <> CAST(?1 AS BLOB))`

// walk looks at tasks in the order of an index, and returns those that are roots as
// the statement's third column says.
func (s *Store) walk(ctx context.Context, check func(c *sqlite.Conn, id task.ID) (bool, error), text string, args ...any) (roots []task.ID, next task.Place, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		var found []task.ID
		looked := 0
		err := query(c, text, func(stmt *sqlite.Stmt) error {
			looked++
			next = task.Place{Created: layout.Time(stmt.ColumnInt64(1)), ID: idOf(stmt, 0)}
			if stmt.ColumnInt(2) != 0 {
				found = append(found, next.ID)
			}
			return nil
		}, args...)
		if looked < lookRows {
			next = task.Place{}
		}
		for _, id := range found {
			ok := err == nil
			if ok && check != nil {
				ok, err = check(c, id)
			}
			if ok {
				roots = append(roots, id)
			}
		}
		return err
	})
	return roots, next, err
}

// EndedTrees returns the roots of trees that ended before a time. See task.Trees.
func (s *Store) EndedTrees(ctx context.Context, before time.Time, after task.Place) (roots []task.ID, next task.Place, err error) {
	at := layout.Nanoseconds(before)
	check := func(c *sqlite.Conn, id task.ID) (ok bool, err error) {
		err = query(c, `SELECT 1 FROM task r WHERE r.id = CAST(?1 AS BLOB) AND `+ended, func(*sqlite.Stmt) error {
			ok = true
			return nil
		}, id[:], at)
		return ok, err
	}
	return s.walk(ctx, check, `SELECT id, created, parent IS NULL AND open = 0 AND phase >= 6 AND next = 0 AND updated < ?3 FROM task
		WHERE (created, id) > (?1, ?2) AND created < ?3 ORDER BY created, id LIMIT ?4 + 0`,
		layout.Nanoseconds(after.Created), after.ID[:], at, int64(lookRows))
}

// TreesOf returns the roots of a user's trees. See task.Trees.
func (s *Store) TreesOf(ctx context.Context, user string, after task.Place) (roots []task.ID, next task.Place, err error) {
	return s.walk(ctx, nil, `SELECT id, created, parent IS NULL FROM task
		WHERE owner = CAST(?1 AS TEXT) AND (created, id) > (?2, ?3) ORDER BY created, id LIMIT ?4 + 0`,
		user, layout.Nanoseconds(after.Created), after.ID[:], int64(lookRows))
}

// UsersEnding returns the users whose names end so. See task.Trees.
func (s *Store) UsersEnding(ctx context.Context, end string) (users []string, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		users = nil
		return query(c, `SELECT DISTINCT owner FROM task WHERE substr(owner, -length(CAST(?1 AS TEXT))) = CAST(?1 AS TEXT) ORDER BY owner`, func(stmt *sqlite.Stmt) error {
			users = append(users, stmt.ColumnText(0))
			return nil
		}, end)
	})
	return users, err
}

// RemoveTrees removes trees. See task.Trees.
func (s *Store) RemoveTrees(ctx context.Context, roots []task.ID, before time.Time, why string) (gone []task.Gone, err error) {
	text, args := `SELECT size FROM task r WHERE r.id = CAST(?1 AS BLOB) AND r.parent IS NULL AND r.open = 0`, []any{nil}
	if !before.IsZero() {
		text += ` AND ` + ended
		args = append(args, layout.Nanoseconds(before))
	}
	for len(roots) > 0 {
		n := 0
		var some []task.Gone
		err := s.step(ctx, func(c *sqlite.Conn) error {
			n, some = 0, nil
			for budget := removeRows; n < len(roots) && budget > 0; n++ {
				g := task.Gone{Root: roots[n], Tasks: -1, Why: why}
				args[0] = g.Root[:]
				err := query(c, text, func(stmt *sqlite.Stmt) error {
					g.Tasks = stmt.ColumnInt(0)
					return nil
				}, args...)
				if err != nil {
					return err
				}
				if g.Tasks < 0 {
					continue
				}
				if err = execute(c, `DELETE FROM task WHERE id = ?`, g.Root[:]); err == nil {
					err = execute(c, `INSERT INTO task_gone (root, tasks, why, noted, swept) VALUES (?, ?, ?, 0, 0)
						ON CONFLICT (root) DO UPDATE SET tasks = excluded.tasks, why = excluded.why, noted = 0, swept = 0`, g.Root[:], int64(g.Tasks), why)
				}
				if err == nil {
					budget, err = sweep(c, g.Root, budget)
				}
				if err != nil {
					return err
				}
				some = append(some, g)
			}
			return nil
		})
		gone = append(gone, some...)
		if err != nil {
			return gone, err
		}
		roots = roots[n:]
	}
	return gone, nil
}

// sweep removes some rows of a tree whose root is gone, and returns how many more may
// be removed at once. The root's text goes last: as long as it is there no other task
// of the same id can be made, whose rows would be taken for this one's. See resweep.
func sweep(c *sqlite.Conn, root task.ID, budget int) (int, error) {
	for left := true; left; {
		var ids []task.ID
		limit := max(1, budget/taskRows)
		err := query(c, `SELECT id FROM task WHERE root = ? AND parent IS NOT NULL LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			ids = append(ids, idOf(stmt, 0))
			return nil
		}, root[:], int64(limit))
		for _, id := range ids {
			if err == nil {
				err = execute(c, `DELETE FROM task WHERE id = ?`, id[:])
			}
			if err == nil {
				err = sweepTexts(c, id)
			}
		}
		if left = len(ids) == limit; err != nil {
			return 0, err
		}
		if budget -= taskRows * len(ids); budget <= 0 {
			return 0, nil
		}
	}
	err := execute(c, `DELETE FROM task_event WHERE root = ?1 AND n IN (SELECT n FROM task_event WHERE root = CAST(?1 AS BLOB) ORDER BY n LIMIT ?2 + 0)`, root[:], int64(budget))
	if err != nil {
		return 0, err
	}
	if budget -= c.Changes(); budget <= 0 {
		return 0, nil
	}
	if err = sweepTexts(c, root); err == nil {
		err = execute(c, `DELETE FROM task_push WHERE root = ?`, root[:])
	}
	if err == nil {
		err = execute(c, `UPDATE task_gone SET swept = 1 WHERE root = ?`, root[:])
	}
	if err == nil {
		err = forget(c, root)
	}
	return budget - taskRows, err
}

// sweepTexts removes what a task has beside its row.
func sweepTexts(c *sqlite.Conn, id task.ID) error {
	for _, text := range []string{
		`DELETE FROM task_text WHERE id = ?`, `DELETE FROM task_need WHERE needs = ?`, `DELETE FROM task_need WHERE task = ?`,
		`DELETE FROM task_ref WHERE task = ?`, `DELETE FROM task_ref WHERE original = ?`,
	} {
		if err := execute(c, text, id[:]); err != nil {
			return err
		}
	}
	return nil
}

// resweep removes, at once, all that is left of gone trees whose ids a batch uses
// again. It reports whether there was anything. mu is held.
func (s *Store) resweep(w *task.Writes) (found bool, err error) {
	err = s.transact(func(c *sqlite.Conn) error {
		for _, t := range w.New {
			again, err := unswept(c, t.ID)
			if err != nil {
				return err
			}
			if again {
				found = true
				if _, err := sweep(c, t.ID, math.MaxInt32); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return found, err
}

// forget removes the row of a tree that was noted, and of which nothing is left.
func forget(c *sqlite.Conn, root task.ID) error {
	return execute(c, `DELETE FROM task_gone WHERE root = ? AND noted = 1 AND swept = 1`, root[:])
}

// unswept reports whether something may be left of a tree that is gone.
func unswept(c *sqlite.Conn, root task.ID) (left bool, err error) {
	err = query(c, `SELECT 1 FROM task_gone WHERE root = ? AND swept = 0`, func(*sqlite.Stmt) error { left = true; return nil }, root[:])
	return left, err
}

// sweepOne removes some rows of a tree that was found unswept before. If a commit has
// swept it since, a new tree of the same id may be there, which stays.
func sweepOne(c *sqlite.Conn, root task.ID) error {
	left, err := unswept(c, root)
	if err == nil && left {
		_, err = sweep(c, root, removeRows)
	}
	return err
}

// SweepTrees removes what is left of trees that are gone.
func (s *Store) SweepTrees(ctx context.Context) error {
	for {
		var root task.ID
		err := s.read(ctx, func(c *sqlite.Conn) error {
			return query(c, `SELECT root FROM task_gone WHERE swept = 0 LIMIT 1`, func(stmt *sqlite.Stmt) error {
				root = idOf(stmt, 0)
				return nil
			})
		})
		if err != nil || root == (task.ID{}) {
			return err
		}
		err = s.step(ctx, func(c *sqlite.Conn) error {
			return sweepOne(c, root)
		})
		if err != nil {
			return err
		}
	}
}

// GoneTrees returns trees that were removed and not yet noted.
func (s *Store) GoneTrees(ctx context.Context, limit int) (list []task.Gone, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT root, tasks, why FROM task_gone WHERE noted = 0 ORDER BY why, root LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			list = append(list, task.Gone{Root: idOf(stmt, 0), Tasks: stmt.ColumnInt(1), Why: stmt.ColumnText(2)})
			return nil
		}, int64(limit))
	})
	return list, err
}

// NoteTrees notes that the removal of trees was recorded.
func (s *Store) NoteTrees(ctx context.Context, roots []task.ID) error {
	return s.write(func(c *sqlite.Conn) error {
		for _, root := range roots {
			err := execute(c, `UPDATE task_gone SET noted = 1 WHERE root = ?`, root[:])
			if err == nil {
				err = forget(c, root)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wipeBytes is how much of the free pages one step of Scrub overwrites.
const wipeBytes = 4 << 20

// Scrub overwrites the database's free pages, in which older versions of what was
// written over may lie, and empties the WAL. See Erase.
func (s *Store) Scrub(ctx context.Context) error {
	free := int64(0)
	err := s.write(func(c *sqlite.Conn) error {
		size := int64(0)
		number := func(n *int64) func(stmt *sqlite.Stmt) error {
			return func(stmt *sqlite.Stmt) error { *n = stmt.ColumnInt64(0); return nil }
		}
		if err := query(c, `PRAGMA page_size`, number(&size)); err != nil {
			return err
		}
		if err := query(c, `PRAGMA freelist_count`, number(&free)); err != nil {
			return err
		}
		free *= size
		return execute(c, `CREATE TABLE IF NOT EXISTS wipe (data BLOB NOT NULL)`)
	})
	// A table of zeros takes the free pages, one after the other, and gives them back.
	for left := free; err == nil && left > 0; left -= wipeBytes {
		err = s.pausing(ctx, func() error {
			return s.write(func(c *sqlite.Conn) error {
				s.unsynced.Add(wipeBytes)
				return execute(c, `INSERT INTO wipe (data) VALUES (zeroblob(?))`, min(left, wipeBytes))
			})
		})
	}
	if err == nil {
		err = s.unwipe(ctx)
	}
	if err != nil {
		return err
	}
	return s.emptyWAL(ctx)
}

// unwipe gives the pages back that Scrub took, also what a crash left of them.
func (s *Store) unwipe(ctx context.Context) error {
	for n := 1; n > 0; {
		err := s.pausing(ctx, func() error {
			return s.write(func(c *sqlite.Conn) error {
				n = 0
				err := query(c, `SELECT 1 FROM sqlite_schema WHERE name = 'wipe'`, func(*sqlite.Stmt) error { n = 1; return nil })
				if err != nil || n == 0 {
					return err
				}
				err = execute(c, `DELETE FROM wipe WHERE rowid = (SELECT min(rowid) FROM wipe)`)
				if err == nil && c.Changes() == 0 {
					n, err = 0, execute(c, `DROP TABLE wipe`)
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Alone runs f: no other process writes this database.
func (s *Store) Alone(ctx context.Context, f func(ctx context.Context) error) error { return f(ctx) }

var _ task.Trees = (*Store)(nil)
