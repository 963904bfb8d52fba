package postgres

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const taskTables = ` FROM task t JOIN task_text x ON x.id = t.id `

// tasks reads whole tasks; the columns end with definition, judged and result.
func (s *Store) tasks(ctx context.Context, query string, args ...any) (list []*task.Task, err error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var definition, judged, result []byte
	err = eachRow(rows, func(r task.Row) {
		t := &task.Task{Row: r}
		t.Broken = t.SetDefinition(definition)
		t.Judged, t.Result = jsontext.Value(judged), jsontext.Value(result)
		list = append(list, t)
		definition, judged, result = nil, nil, nil
	}, &definition, &judged, &result)
	return list, err
}

// Task returns a whole task.
func (s *Store) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	list, err := s.TasksOf(ctx, []task.ID{id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the task %s: %w", id, ledger.ErrNotFound)
	}
	if list[0].Broken != nil {
		return nil, list[0].Broken
	}
	return list[0], nil
}

// TasksOf returns those of some tasks that exist.
func (s *Store) TasksOf(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	return s.tasks(ctx, `SELECT `+taskColumns+`, x.definition, x.judged, x.result`+taskTables+`WHERE t.id = ANY($1::uuid[])`, uuids(ids))
}

// conditions are a query's in SQL.
func conditions(q *task.Query) (where string, args []any) {
	var list []string
	add := func(format string, arg any) {
		args = append(args, arg)
		list = append(list, strings.ReplaceAll(format, "?", fmt.Sprintf("$%d", len(args))))
	}
	if q.User != "" {
		add("left(t.owner, 200) = left(?::text, 200) AND t.owner = ?::text", text(q.User))
	}
	if q.Status != "" {
		add("t.status = ?", statusNumber(q.Status))
	}
	if q.Parent != (task.ID{}) {
		add("t.root = (SELECT root FROM task WHERE id = ?) AND t.parent = ?", uuid(q.Parent)) // as the index has them
	}
	if q.Roots {
		list = append(list, "t.parent IS NULL")
	}
	if q.Scheduled {
		list = append(list, "t.next > 0")
		if !q.DueBefore.IsZero() {
			add("t.next < ?", layout.Nanoseconds(q.DueBefore))
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(list, " AND "), args
}

// Tasks returns the tasks that a query selects, without their results. The texts of
// those that Offset skips are not looked for.
func (s *Store) Tasks(ctx context.Context, q task.Query) ([]*task.Task, error) {
	where, args := conditions(&q)
	n := len(args)
	return s.tasks(ctx, fmt.Sprintf(`SELECT %s, x.definition, x.judged, NULL::bytea
		FROM (SELECT * FROM task t%s ORDER BY t.created DESC, t.id DESC LIMIT $%d OFFSET $%d) t JOIN task_text x ON x.id = t.id
		ORDER BY t.created DESC, t.id DESC`,
		taskColumns, where, n+1, n+2), append(args, q.Bounded(), max(q.Offset, 0))...)
}

// CountTasks returns how many tasks a query selects, without its bounds.
func (s *Store) CountTasks(ctx context.Context, q task.Query) (n int, err error) {
	where, args := conditions(&q)
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM task t`+where, args...).Scan(&n)
	return n, err
}

// OpenTasks returns how many tasks of a user, or of all, have not ended, and how many bytes they have.
func (s *Store) OpenTasks(ctx context.Context, user string) (n int, bytes int64, err error) {
	err = s.pool.QueryRow(ctx, openTasks, user).Scan(&n, &bytes)
	return n, bytes, err
}

const openTasks = `SELECT count(*), coalesce(sum(octet_length(x.definition)), 0)::bigint FROM task t JOIN task_text x ON x.id = t.id WHERE ($1 = '' OR t.owner = $1) AND t.status < 2`

// TaskRow returns what of a task changes.
func (s *Store) TaskRow(ctx context.Context, id task.ID) (task.Row, error) {
	list, err := s.rows(ctx, `SELECT `+columnList+` FROM task WHERE id = $1`, uuid(id))
	if err != nil {
		return task.Row{}, err
	}
	if len(list) == 0 {
		return task.Row{}, fmt.Errorf("the task %s: %w", id, ledger.ErrNotFound)
	}
	return list[0], nil
}

func (s *Store) rows(ctx context.Context, query string, args ...any) (list []task.Row, err error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = eachRow(rows, func(r task.Row) { list = append(list, r) })
	return list, err
}

// TaskRows returns the rows that a query selects.
func (s *Store) TaskRows(ctx context.Context, q task.RowQuery) ([]task.Row, error) {
	query, args := `SELECT `+columnList+` FROM task WHERE `, []any(nil)
	switch {
	case q.Root != (task.ID{}):
		query = `SELECT * FROM (SELECT ` + columnList + ` FROM task WHERE id = $1 AND parent IS NULL
			UNION ALL SELECT ` + columnList + ` FROM task WHERE root = $1 AND parent IS NOT NULL) tree ORDER BY created, id`
		args = append(args, uuid(q.Root))
	case q.Scheduled:
		query += `next > 0 AND next <= $1 ORDER BY next, id`
		args = append(args, layout.Nanoseconds(q.DueBefore))
	case q.Phase == task.Ready:
		query += `phase = 3 AND left(executor, 200) = left($1::text, 200) AND executor = $1::text ORDER BY priority, created, id`
		args = append(args, text(q.Executor))
	case q.Phase == task.Delayed:
		query += `phase = 2 AND due <= $1 ORDER BY due, id`
		args = append(args, layout.Nanoseconds(q.DueBefore))
	case q.Phase == task.Held && q.Held != "":
		query += `phase = 4 AND held = $1`
		args = append(args, text(q.Held))
	case q.Phase == task.Held:
		query += `phase = 4`
	case q.Phase == task.Running && q.Lost:
		query += `phase = 5 AND node NOT IN
			(SELECT log || ':' || epoch FROM log WHERE owner IS NOT NULL AND heartbeat >= clock_timestamp() - $1::interval)`
		args = append(args, leaseTime)
	case q.Phase == task.Running && q.Node != "":
		query += `phase = 5 AND node = $1`
		args = append(args, text(q.Node))
	case q.Phase == task.Running:
		query += `phase = 5`
	default:
		return nil, fmt.Errorf("postgres: rows of phase %d cannot be selected", q.Phase)
	}
	if q.Limit > 0 {
		args = append(args, limit(q.Limit))
		query += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	return s.rows(ctx, query, args...)
}

// TaskEvents returns events of a tree that come after one.
func (s *Store) TaskEvents(ctx context.Context, root task.ID, after uint64, most int) (list []task.Event, err error) {
	rows, err := s.pool.Query(ctx, `SELECT n, task, type, at, status, progress, message FROM task_event WHERE root = $1 AND n > $2 ORDER BY n LIMIT $3`,
		uuid(root), number(after), limit(max(most, 0)))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (task.Event, error) {
		e := task.Event{Root: root}
		var id pgtype.UUID
		var n, at int64
		var kind, status int16
		err := row.Scan(&n, &id, &kind, &at, &status, &e.Progress, &e.Message)
		e.N, e.Task, e.Type, e.At, e.Status, e.Message = uint64(n), id.Bytes, task.EventType(kind), layout.Time(at), statusOf(status), untext(e.Message)
		return e, err
	})
}

// trimEvents is how many events a step of TrimTaskEvents looks at.
const trimEvents = 2000

// TrimTaskEvents removes old events of trees that are not being executed. It walks
// over all events once, a step at a time, in the order of their key: no index is
// kept for their times, which every event would pay for.
func (s *Store) TrimTaskEvents(ctx context.Context, before time.Time) (removed int64, err error) {
	var root pgtype.UUID
	root.Valid = true // from the least one on
	for n := int64(-1); ; {
		var looked, gone int64
		var last pgtype.UUID
		var lastN int64
		err := s.pool.QueryRow(ctx, `
			WITH step AS MATERIALIZED (SELECT root, n, at FROM task_event WHERE (root, n) > ($1::uuid, $2::bigint) ORDER BY root, n LIMIT $3),
			gone AS (DELETE FROM task_event e USING step s WHERE e.root = s.root AND e.n = s.n AND s.at < $4
				AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = s.root AND t.open > 0) RETURNING 1),
			last AS (SELECT root, n FROM step ORDER BY root DESC, n DESC LIMIT 1)
			SELECT (SELECT count(*) FROM step), (SELECT count(*) FROM gone), (SELECT root FROM last), coalesce((SELECT n FROM last), 0)`,
			root, n, trimEvents, layout.Nanoseconds(before)).Scan(&looked, &gone, &last, &lastN)
		if err != nil {
			return removed, err
		}
		removed += gone
		if looked < trimEvents {
			break
		}
		root, n = last, lastN
	}
	_, err = s.pool.Exec(ctx, `DELETE FROM task_push WHERE done AND due < $1`, layout.Nanoseconds(before))
	return removed, err
}

// TakePush leases the pushes that are due.
func (s *Store) TakePush(ctx context.Context, now, until time.Time, most int) (list []task.Push, err error) {
	rows, err := s.pool.Query(ctx, `
		WITH due AS (SELECT id, due FROM task_push WHERE NOT done AND due <= $1 ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED)
		UPDATE task_push p SET due = $2 FROM due d WHERE p.id = d.id RETURNING p.id, p.root, p.data, d.due`,
		layout.Nanoseconds(now), layout.Nanoseconds(until), limit(max(most, 0)))
	if err != nil {
		return nil, err
	}
	var id, root pgtype.UUID
	var data []byte
	var due int64
	_, err = pgx.ForEachRow(rows, []any{&id, &root, &data, &due}, func() error {
		p := task.Push{ID: id.Bytes, Root: root.Bytes, Due: layout.Time(due)}
		if p.SetData(data) == nil { // a damaged one holds up nobody else's
			list = append(list, p)
		}
		return nil
	})
	return list, err
}

// Pushes lists pushes, those that are not done first.
func (s *Store) Pushes(ctx context.Context, root task.ID, most int) (list []task.Push, err error) {
	where, args := "", []any{limit(max(most, 0))}
	if root != (task.ID{}) {
		where, args = "WHERE root = $2", append(args, uuid(root))
	}
	rows, err := s.pool.Query(ctx, `SELECT id, root, data, due, done FROM task_push `+where+` ORDER BY done, due DESC LIMIT $1`, args...)
	if err != nil {
		return nil, err
	}
	var id, of pgtype.UUID
	var data []byte
	var due int64
	var done bool
	_, err = pgx.ForEachRow(rows, []any{&id, &of, &data, &due, &done}, func() error {
		p := task.Push{ID: id.Bytes, Root: of.Bytes, Due: layout.Time(due), Done: done}
		if p.SetData(data) == nil {
			list = append(list, p)
		}
		return nil
	})
	return list, err
}

// PutPush writes how far a push has come. One whose tree was deleted is no more.
func (s *Store) PutPush(ctx context.Context, p task.Push) error {
	data, err := p.Data()
	if err == nil {
		_, err = s.pool.Exec(ctx, `UPDATE task_push SET data = $2, due = $3, done = $4 WHERE id = $1`, uuid(p.ID), data, layout.Nanoseconds(p.Due), p.Done)
	}
	return err
}

// limit is a number of rows as a statement takes it.
func limit(n int) int { return min(n, math.MaxInt32) }
