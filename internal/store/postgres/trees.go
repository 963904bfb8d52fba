package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	// lookRows is how many tasks a look for trees walks over.
	lookRows = 2000
	// removeTasks is about how many tasks a step removes.
	removeTasks = 500
	// removeEvents is how many events a step removes of a tree.
	removeEvents = 5000
)

// ended says of the tree of r that all of it ended before $2, that nothing of it runs
// again, and that no other tree was made from it.
const ended = `r.phase >= 6 AND r.next = 0 AND r.updated < $2
	AND NOT EXISTS (SELECT 1 FROM task c WHERE c.root = r.id AND c.parent IS NOT NULL AND (c.phase < 6 OR c.next > 0 OR c.updated >= $2))
	AND NOT EXISTS (SELECT 1 FROM task_ref f JOIN task x ON x.id = f.task WHERE f.original = r.id AND x.root <> r.id)
	AND NOT EXISTS (SELECT 1 FROM task c JOIN task_ref f ON f.original = c.id JOIN task x ON x.id = f.task
		WHERE c.root = r.id AND c.parent IS NOT NULL AND x.root <> r.id)`

// walk looks at tasks in the order of an index: those of which the third column says
// so are returned.
func (s *Store) walk(ctx context.Context, text string, args ...any) (found []task.ID, next task.Place, err error) {
	rows, err := s.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, next, err
	}
	var id pgtype.UUID
	var created int64
	var wanted bool
	looked := 0
	_, err = pgx.ForEachRow(rows, []any{&id, &created, &wanted}, func() error {
		looked++
		if next = (task.Place{Created: layout.Time(created), ID: id.Bytes}); wanted {
			found = append(found, next.ID)
		}
		return nil
	})
	if looked < lookRows {
		next = task.Place{}
	}
	return found, next, err
}

// EndedTrees returns the roots of trees that ended before a time. See task.Trees.
func (s *Store) EndedTrees(ctx context.Context, before time.Time, after task.Place) (roots []task.ID, next task.Place, err error) {
	at := layout.Nanoseconds(before)
	found, next, err := s.walk(ctx, `SELECT id, created, parent IS NULL AND open = 0 AND phase >= 6 AND next = 0 AND updated < $3 FROM task
		WHERE (created, id) > ($1::bigint, $2::uuid) AND created < $3 ORDER BY created, id LIMIT $4`,
		layout.Nanoseconds(after.Created), pgtype.UUID{Bytes: after.ID, Valid: true}, at, lookRows)
	if err != nil || len(found) == 0 {
		return nil, next, err
	}
	rows, err := s.pool.Query(ctx, `SELECT r.id FROM task r WHERE r.id = ANY($1::uuid[]) AND `+ended+` ORDER BY r.created, r.id`, uuids(found), at)
	if err != nil {
		return nil, next, err
	}
	roots, err = pgx.CollectRows(rows, scanID)
	return roots, next, err
}

func scanID(row pgx.CollectableRow) (id task.ID, err error) {
	var u pgtype.UUID
	err = row.Scan(&u)
	return u.Bytes, err
}

// TreesOf returns the roots of a user's trees. See task.Trees.
func (s *Store) TreesOf(ctx context.Context, user string, after task.Place) (roots []task.ID, next task.Place, err error) {
	// The index has the beginning of long names only: others are walked over, too.
	return s.walk(ctx, `SELECT id, created, parent IS NULL AND owner = $1::text FROM task
		WHERE left(owner, 200) = left($1::text, 200) AND (created, id) > ($2::bigint, $3::uuid) ORDER BY created, id LIMIT $4`,
		text(user), layout.Nanoseconds(after.Created), pgtype.UUID{Bytes: after.ID, Valid: true}, lookRows)
}

// UsersEnding returns the users whose names end so. See task.Trees.
func (s *Store) UsersEnding(ctx context.Context, end string) (users []string, err error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT owner FROM task WHERE right(owner, length($1::text)) = $1::text ORDER BY owner`, text(end))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (user string, err error) {
		err = row.Scan(&user)
		return untext(user), err
	})
}

// RemoveTrees removes trees. See task.Trees. It takes the locks of their roots
// as a commit does, so that no commit changes a tree meanwhile.
func (s *Store) RemoveTrees(ctx context.Context, roots []task.ID, before time.Time, why string) (gone []task.Gone, err error) {
	for len(roots) > 0 {
		begin := time.Now()
		n := min(len(roots), removeTasks)
		var some []task.Gone
		err := s.transact(ctx, func(tx pgx.Tx) error {
			some = nil
			rows, err := tx.Query(ctx, `SELECT id, size FROM task WHERE id = ANY($1::uuid[]) AND parent IS NULL AND open = 0 ORDER BY id FOR UPDATE`, uuids(roots[:n]))
			if err != nil {
				return err
			}
			var id pgtype.UUID
			var size int
			sizes := map[task.ID]int{}
			if _, err = pgx.ForEachRow(rows, []any{&id, &size}, func() error { sizes[id.Bytes] = size; return nil }); err != nil {
				return err
			}
			locked := make([]task.ID, 0, len(sizes))
			for id := range sizes {
				locked = append(locked, id)
			}
			if !before.IsZero() { // as it is now that nobody changes it
				rows, err := tx.Query(ctx, `SELECT r.id FROM task r WHERE r.id = ANY($1::uuid[]) AND `+ended, uuids(locked), layout.Nanoseconds(before))
				if err != nil {
					return err
				}
				if locked, err = pgx.CollectRows(rows, scanID); err != nil {
					return err
				}
			}
			tasks := make([]int64, len(locked))
			for i, id := range locked {
				tasks[i] = int64(sizes[id])
				some = append(some, task.Gone{Root: id, Tasks: sizes[id], Why: why})
			}
			if _, err = tx.Exec(ctx, `DELETE FROM task WHERE id = ANY($1::uuid[])`, uuids(locked)); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO task_gone (root, tasks, why, noted, swept) SELECT r, n, $3, false, false FROM unnest($1::uuid[], $2::bigint[]) AS g (r, n)
				ON CONFLICT (root) DO UPDATE SET tasks = excluded.tasks, why = excluded.why, noted = false, swept = false`, uuids(locked), tasks, why)
			return err
		})
		if err != nil {
			return gone, err
		}
		gone = append(gone, some...)
		roots = roots[n:]
		if err := pause(ctx, begin); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// pause leaves the database to others for as long as what began then has taken.
func pause(ctx context.Context, begin time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Since(begin)):
		return nil
	}
}

// SweepTrees removes what is left of trees that are gone, some tasks at a time, and of
// jobs whose tasks have gone on without them. No commit needs what it locks.
func (s *Store) SweepTrees(ctx context.Context) error {
	if err := s.dropJobs(ctx); err != nil {
		return err
	}
	for {
		rows, err := s.pool.Query(ctx, `SELECT root FROM task_gone WHERE NOT swept LIMIT $1`, removeTasks)
		if err != nil {
			return err
		}
		roots, err := pgx.CollectRows(rows, scanID)
		if err != nil || len(roots) == 0 {
			return err
		}
		left := 1
		for err == nil && left > 0 {
			begin := time.Now()
			err = s.transact(ctx, func(tx pgx.Tx) error { left, err = sweep(ctx, tx, roots); return err })
			if err == nil {
				err = pause(ctx, begin)
			}
		}
		if err != nil {
			return err
		}
	}
}

// jobAge is how old a job is that may be of no use to anybody: long after what becomes
// of its task was decided without it.
const jobAge = time.Hour

// dropJobs removes jobs that River would keep for days: those that a dead node worked
// on, and those that wait for an executor which no node has, once their task neither
// waits to start nor runs. What becomes of tasks does not depend on it.
func (s *Store) dropJobs(ctx context.Context) error {
	for {
		begin := time.Now()
		tag, err := s.pool.Exec(ctx, `DELETE FROM river_job WHERE id IN (SELECT j.id FROM river_job j
			WHERE j.kind = $1 AND j.state IN ('available', 'running') AND j.created_at < now() - $2::interval
			AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = (j.args->>'task')::uuid AND t.phase IN (3, 5))
			LIMIT $3 FOR UPDATE SKIP LOCKED)`, jobKind, jobAge, removeTasks)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if err := pause(ctx, begin); err != nil {
			return err
		}
	}
}

// sweep removes some of what is left of trees, and returns how much that was. The
// roots' texts go last: as long as they are there no other tasks of the same ids can be
// made, whose rows would be taken for these. See resweep.
//
// Of several who sweep one waits for the other, and then leaves what that has swept:
// a new tree of the same id may be there.
func sweep(ctx context.Context, tx pgx.Tx, roots []task.ID) (removed int, err error) {
	rows, err := tx.Query(ctx, `SELECT root FROM task_gone WHERE root = ANY($1::uuid[]) AND NOT swept ORDER BY root FOR UPDATE`, uuids(roots))
	if err != nil {
		return 0, err
	}
	if roots, err = pgx.CollectRows(rows, scanID); err != nil || len(roots) == 0 {
		return 0, err
	}
	keys := uuids(roots)
	rows, err = tx.Query(ctx, `DELETE FROM task WHERE id IN (SELECT id FROM task WHERE root = ANY($1::uuid[]) AND parent IS NOT NULL LIMIT $2) RETURNING id`, keys, removeTasks)
	if err != nil {
		return 0, err
	}
	ids, err := pgx.CollectRows(rows, scanID)
	if err != nil || len(ids) > 0 {
		return len(ids), errors.Join(err, sweepTexts(ctx, tx, ids))
	}
	tag, err := tx.Exec(ctx, `DELETE FROM task_event WHERE (root, n) IN (SELECT root, n FROM task_event WHERE root = ANY($1::uuid[]) LIMIT $2)`, keys, removeEvents)
	if err != nil || tag.RowsAffected() > 0 {
		return int(tag.RowsAffected()), err
	}
	if err = sweepTexts(ctx, tx, roots); err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM task_push WHERE root = ANY($1::uuid[])`, keys)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE task_gone SET swept = true WHERE root = ANY($1::uuid[])`, keys)
	}
	if err == nil {
		err = forget(ctx, tx, keys)
	}
	return 0, err
}

// sweepTexts removes what tasks have beside their rows. All that a task needs, and all
// that need it, is of the same tree.
func sweepTexts(ctx context.Context, tx pgx.Tx, ids []task.ID) error {
	for _, text := range []string{
		`DELETE FROM task_text WHERE id = ANY($1::uuid[])`, `DELETE FROM task_need WHERE needs = ANY($1::uuid[])`,
		`DELETE FROM task_ref WHERE task = ANY($1::uuid[])`, `DELETE FROM task_ref WHERE original = ANY($1::uuid[])`,
	} {
		if _, err := tx.Exec(ctx, text, uuids(ids)); err != nil {
			return err
		}
	}
	return nil
}

// resweep removes, at once, all that is left of gone trees whose ids new tasks use
// again, after a commit failed for that. It reports whether there was anything.
func (s *Store) resweep(ctx context.Context, err error, w *task.Writes) bool {
	var e *pgconn.PgError
	if w == nil || !errors.As(err, &e) || e.Code != "23505" || e.TableName != "task_text" {
		return false
	}
	ids := make([]task.ID, len(w.New))
	for i, t := range w.New {
		ids[i] = t.ID
	}
	rows, err := s.pool.Query(ctx, `SELECT root FROM task_gone WHERE NOT swept AND root = ANY($1::uuid[])`, uuids(ids))
	if err != nil {
		return false
	}
	roots, err := pgx.CollectRows(rows, scanID)
	for left := len(roots); err == nil && left > 0; {
		err = s.transact(ctx, func(tx pgx.Tx) error { left, err = sweep(ctx, tx, roots); return err })
	}
	return err == nil // also when another node has swept them meanwhile
}

// forget removes the rows of trees that were noted, and of which nothing is left.
func forget(ctx context.Context, tx pgx.Tx, keys []pgtype.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM task_gone WHERE root = ANY($1::uuid[]) AND noted AND swept`, keys)
	return err
}

// GoneTrees returns trees that were removed and not yet noted.
func (s *Store) GoneTrees(ctx context.Context, most int) ([]task.Gone, error) {
	rows, err := s.pool.Query(ctx, `SELECT root, tasks, why FROM task_gone WHERE NOT noted ORDER BY why, root LIMIT $1`, limit(max(most, 0)))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (g task.Gone, err error) {
		var root pgtype.UUID
		err = row.Scan(&root, &g.Tasks, &g.Why)
		g.Root = root.Bytes
		return g, err
	})
}

// NoteTrees notes that the removal of trees was recorded.
func (s *Store) NoteTrees(ctx context.Context, roots []task.ID) error {
	keys := uuids(roots)
	return s.transact(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE task_gone SET noted = true WHERE root = ANY($1::uuid[])`, keys)
		if err == nil {
			err = forget(ctx, tx, keys)
		}
		return err
	})
}

// Scrub has the server forget old versions of rows of tasks and items. See Erase.
func (s *Store) Scrub(ctx context.Context) error {
	for _, table := range []string{"task", "task_text", "task_event", "task_push", "task_need", "item"} {
		if _, err := s.pool.Exec(ctx, `VACUUM `+table); err != nil {
			return fmt.Errorf("what was removed stays in old versions of rows until the next vacuum: %w", err)
		}
	}
	return nil
}

// Alone runs f unless another node that shares the database runs one now.
func (s *Store) Alone(ctx context.Context, f func(ctx context.Context) error) (err error) {
	// A connection of its own, which f has no need of: the pool may have no other.
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	had := false
	defer func() { // also when ctx is over; the server frees the lock with the connection
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		defer cancel()
		if had {
			_, _ = c.Exec(end, `SELECT pg_advisory_unlock($1)`, int64(lockAlone)) // so that who asks next has it
		}
		_ = c.Close(end)
	}()
	if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(lockAlone)).Scan(&had); err != nil || !had {
		return err
	}
	return f(ctx)
}

var _ task.Trees = (*Store)(nil)
