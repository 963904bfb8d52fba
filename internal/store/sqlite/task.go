package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"zombiezen.com/go/sqlite"
)

// rowColumns are the columns of a task.Row, in the order of readRow and rowArgs.
const rowColumns = `id, root, parent, owner, name, executor, phase, status, priority, size, open, events, unmet, attempt,
	failures, losses, run, node, due, held, cascade, progress, error, created, updated, started, completed, next, last_run,
	runs, refs, decision, outcome`

var (
	insertRow = `INSERT INTO task (` + rowColumns + `) VALUES (` + strings.Repeat("?, ", strings.Count(rowColumns, ",")) + `?)`
	// updateRow writes what changes while a task is executed. SQLite writes every
	// index that a column named here is in, also when its value stays the same.
	updateRow = `UPDATE task SET phase = ?, status = ?, size = ?, open = ?, events = ?, unmet = ?, attempt = ?, failures = ?,
		losses = ?, run = ?, node = ?, due = ?, held = ?, cascade = ?, progress = ?, error = ?, updated = ?, started = ?,
		completed = ?, next = ?, last_run = ?, runs = ?, refs = ?, decision = ?, outcome = ? WHERE id = ?`
	// countRow writes what a row counts, and redefineRow what clients change.
	countRow    = `UPDATE task SET size = ?, open = ?, events = ?, unmet = ? WHERE id = ?`
	redefineRow = `UPDATE task SET parent = ?, owner = ?, name = ?, executor = ?, priority = ? WHERE id = ?`
)

// statuses number the protocol's states in the database.
var statuses = []task.Status{task.Pending, task.InProgress, task.Completed, task.Failed, task.Cancelled}

func statusNumber(s task.Status) int64 { return int64(slices.Index(statuses, s)) }

// statusOf is a stored status; one that is none is empty.
func statusOf(n int) task.Status {
	if n < 0 || n >= len(statuses) {
		return ""
	}
	return statuses[n]
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func idOf(stmt *sqlite.Stmt, col int) (id task.ID) {
	stmt.ColumnBytes(col, id[:])
	return id
}

// rowArgs are the parameters of insertRow.
func rowArgs(r *task.Row) []any {
	var parent []byte
	if r.Parent != (task.ID{}) {
		parent = r.Parent[:]
	}
	return []any{
		r.ID[:], r.Root[:], parent, r.User, r.Name, r.Executor, int64(r.Phase), statusNumber(r.Status()), int64(r.Priority),
		int64(r.Size), int64(r.Open), int64(r.Events), int64(r.Unmet), int64(r.Attempt), int64(r.Failures), int64(r.Losses),
		int64(r.Run), r.Node, layout.Nanoseconds(r.Due), r.Held, flag(r.Cascade), r.Progress, r.Error,
		layout.Nanoseconds(r.Created), layout.Nanoseconds(r.Updated), layout.Nanoseconds(r.Started), layout.Nanoseconds(r.Completed),
		layout.Nanoseconds(r.Next), layout.Nanoseconds(r.LastRun), int64(r.Runs), flag(r.References), r.Decision, r.Outcome,
	}
}

// changeArgs are the parameters of updateRow.
func changeArgs(r *task.Row) []any {
	all := rowArgs(r)
	args := append(make([]any, 0, len(all)), all[6], all[7]) // phase and status
	args = append(args, all[9:23]...)                        // from size to error
	return append(append(args, all[24:]...), r.ID[:])        // from updated on
}

func readRow(stmt *sqlite.Stmt) (r task.Row) {
	r.ID, r.Root, r.Parent = idOf(stmt, 0), idOf(stmt, 1), idOf(stmt, 2)
	r.User, r.Name, r.Executor = stmt.ColumnText(3), stmt.ColumnText(4), stmt.ColumnText(5)
	r.Phase, r.Priority = task.Phase(stmt.ColumnInt(6)), uint8(stmt.ColumnInt(8))
	r.Size, r.Open, r.Events, r.Unmet = stmt.ColumnInt(9), stmt.ColumnInt(10), uint64(stmt.ColumnInt64(11)), stmt.ColumnInt(12)
	r.Attempt, r.Failures, r.Losses, r.Run = stmt.ColumnInt(13), stmt.ColumnInt(14), stmt.ColumnInt(15), stmt.ColumnInt(16)
	r.Node, r.Due, r.Held = stmt.ColumnText(17), layout.Time(stmt.ColumnInt64(18)), stmt.ColumnText(19)
	r.Cascade, r.Progress, r.Error = stmt.ColumnInt(20) != 0, stmt.ColumnFloat(21), stmt.ColumnText(22)
	r.Created, r.Updated = layout.Time(stmt.ColumnInt64(23)), layout.Time(stmt.ColumnInt64(24))
	r.Started, r.Completed = layout.Time(stmt.ColumnInt64(25)), layout.Time(stmt.ColumnInt64(26))
	r.Next, r.LastRun, r.Runs = layout.Time(stmt.ColumnInt64(27)), layout.Time(stmt.ColumnInt64(28)), stmt.ColumnInt(29)
	r.References, r.Decision, r.Outcome = stmt.ColumnInt(30) != 0, stmt.ColumnText(31), stmt.ColumnText(32)
	if !integers(stmt, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 23, 24, 25, 26, 27, 28, 29, 30) {
		r.Phase = noPhase
	}
	return r
}

// noPhase is that of a row whose numbers are none: no change can be made of it.
const noPhase task.Phase = 255

// loadTasks reads what changes look at, within the transaction of a commit.
func loadTasks(c *sqlite.Conn, l task.Load) (*task.Loaded, error) {
	loaded := &task.Loaded{}
	seen := make(map[task.ID]bool, len(l.Tasks))
	row := func(stmt *sqlite.Stmt) error {
		if id := idOf(stmt, 0); !seen[id] {
			seen[id] = true
			loaded.Rows = append(loaded.Rows, readRow(stmt))
		}
		return nil
	}
	one := func(id task.ID) error {
		if seen[id] {
			return nil
		}
		return query(c, `SELECT `+rowColumns+` FROM task WHERE id = ?`, row, id[:])
	}
	for _, id := range l.Tasks {
		if err := one(id); err != nil {
			return nil, err
		}
	}
	for _, id := range l.Under {
		err := query(c, `WITH RECURSIVE under (u) AS (
				SELECT CAST(? AS BLOB) UNION SELECT t.id FROM task t JOIN under ON t.parent = u)
			SELECT `+rowColumns+` FROM task WHERE id IN (SELECT u FROM under)`, row, id[:])
		if err != nil {
			return nil, err
		}
	}
	asked := make(map[task.ID]bool, len(l.Dependents))
	for _, id := range l.Dependents {
		if asked[id] {
			continue
		}
		asked[id] = true
		from := len(loaded.Edges)
		err := query(c, `SELECT task, required FROM task_need WHERE needs = ?`, func(stmt *sqlite.Stmt) error {
			loaded.Edges = append(loaded.Edges, task.Edge{Task: idOf(stmt, 0), Needs: id, Required: stmt.ColumnInt(1) != 0})
			return nil
		}, id[:])
		if err != nil {
			return nil, err
		}
		for _, e := range loaded.Edges[from:] {
			if err := one(e.Task); err != nil {
				return nil, err
			}
		}
	}
	trees := make(map[task.ID]bool, len(l.Trees))
	for _, root := range l.Trees {
		if trees[root] {
			continue
		}
		trees[root] = true
		if err := one(root); err != nil {
			return nil, err
		}
		if err := query(c, `SELECT `+rowColumns+` FROM task WHERE root = ? AND parent IS NOT NULL`, row, root[:]); err != nil {
			return nil, err
		}
		// The tasks that Dependents named have their edges already.
		err := query(c, `SELECT n.needs, n.task, n.required FROM task_need n
			WHERE n.needs = ?1 OR n.needs IN (SELECT id FROM task WHERE root = ?1 AND parent IS NOT NULL)`,
			func(stmt *sqlite.Stmt) error {
				if e := (task.Edge{Needs: idOf(stmt, 0), Task: idOf(stmt, 1), Required: stmt.ColumnInt(2) != 0}); !asked[e.Needs] {
					loaded.Edges = append(loaded.Edges, e)
				}
				return nil
			}, root[:])
		if err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// writeTasks writes what a batch makes of tasks, and returns about how many bytes.
func writeTasks(c *sqlite.Conn, w *task.Writes) (written int64, err error) {
	for _, t := range w.New {
		definition, err := t.Definition()
		if err == nil {
			err = execute(c, insertRow, rowArgs(&t.Row)...)
		}
		if err == nil {
			err = execute(c, `INSERT INTO task_text (id, definition, result) VALUES (?, ?, ?)`, t.ID[:], definition, []byte(t.Result))
		}
		if err == nil {
			err = insertNeeds(c, t)
		}
		if err == nil && t.Original != (task.ID{}) {
			err = execute(c, `INSERT INTO task_ref (original, task) VALUES (?, ?)`, t.Original[:], t.ID[:])
		}
		if err != nil {
			return 0, err
		}
		written += int64(1024 + len(definition) + len(t.Result))
	}
	for _, t := range w.Redefined {
		definition, err := t.Definition()
		if err == nil {
			all := rowArgs(&t.Row)
			err = execute(c, redefineRow, all[2], all[3], all[4], all[5], all[8], t.ID[:])
		}
		if err == nil {
			err = execute(c, `UPDATE task_text SET definition = ? WHERE id = ?`, definition, t.ID[:])
		}
		if err == nil {
			err = execute(c, `DELETE FROM task_need WHERE task = ?`, t.ID[:])
		}
		if err == nil {
			err = insertNeeds(c, t)
		}
		if err != nil {
			return 0, err
		}
		written += int64(1024 + len(definition))
	}
	for _, r := range w.Rows {
		if w.Counted[r] {
			err = execute(c, countRow, int64(r.Size), int64(r.Open), int64(r.Events), int64(r.Unmet), r.ID[:])
		} else {
			err = execute(c, updateRow, changeArgs(r)...)
		}
		if err != nil {
			return 0, err
		}
		written += 512
	}
	for i := range w.Texts {
		t := &w.Texts[i]
		if t.Clear {
			err = execute(c, `UPDATE task_text SET result = NULL, judged = NULL WHERE id = ? AND (result IS NOT NULL OR judged IS NOT NULL)`, t.Task[:])
		} else {
			err = execute(c, `UPDATE task_text SET result = coalesce(?, result), judged = coalesce(?, judged) WHERE id = ?`,
				[]byte(t.Result), []byte(t.Judged), t.Task[:])
		}
		if err != nil {
			return 0, err
		}
		written += int64(512 + len(t.Result) + len(t.Judged))
	}
	for _, id := range w.Deleted {
		for _, text := range []string{
			`DELETE FROM task WHERE id = ?`, `DELETE FROM task_text WHERE id = ?`,
			`DELETE FROM task_need WHERE needs = ?`, `DELETE FROM task_need WHERE task = ?`,
			`DELETE FROM task_event WHERE root = ?`, `DELETE FROM task_push WHERE root = ?`, `DELETE FROM task_ref WHERE task = ?`,
		} {
			if err := execute(c, text, id[:]); err != nil {
				return 0, err
			}
		}
		written += 1024
	}
	for i := range w.Events {
		e := &w.Events[i]
		// A tree whose counter of events is damaged loses events. The others in the batch
		// lose nothing.
		err := execute(c, `INSERT INTO task_event (root, n, task, type, at, status, progress, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (root, n) DO NOTHING`,
			e.Root[:], int64(e.N), e.Task[:], int64(e.Type), layout.Nanoseconds(e.At), statusNumber(e.Status), e.Progress, e.Message)
		if err != nil {
			return 0, err
		}
		written += int64(128 + len(e.Message))
	}
	for i := range w.Pushes {
		p := &w.Pushes[i]
		data, err := p.Data()
		if err == nil {
			err = execute(c, `INSERT INTO task_push (id, root, data, due, done) VALUES (?, ?, ?, ?, ?)`,
				p.ID[:], p.Root[:], data, layout.Nanoseconds(p.Due), flag(p.Done))
		}
		if err != nil {
			return 0, err
		}
		written += int64(256 + len(data))
	}
	return written, nil
}

func insertNeeds(c *sqlite.Conn, t *task.Task) error {
	for _, d := range t.Dependencies {
		err := execute(c, `INSERT INTO task_need (needs, task, required) VALUES (?, ?, ?)
			ON CONFLICT (needs, task) DO UPDATE SET required = max(required, excluded.required)`, d.ID[:], t.ID[:], flag(d.Required))
		if err != nil {
			return err
		}
	}
	return nil
}

// readTask reads a whole task from rowColumns, definition, judged and result.
func readTask(stmt *sqlite.Stmt, result bool) *task.Task {
	t := &task.Task{Row: readRow(stmt)}
	const text = 33
	t.Broken = t.SetDefinition(column(stmt, text, nil))
	if stmt.ColumnType(text+1) != sqlite.TypeNull {
		t.Judged = jsontext.Value(column(stmt, text+1, nil))
	}
	if result && stmt.ColumnType(text+2) != sqlite.TypeNull {
		t.Result = jsontext.Value(column(stmt, text+2, nil))
	}
	return t
}

// taskColumns are those of a whole task, from task and task_text.
var taskColumns = `t.` + strings.ReplaceAll(rowColumns, ", ", ", t.") + `, x.definition, x.judged, x.result`

var taskTables = ` FROM task t JOIN task_text x ON x.id = t.id `

// Task returns a whole task.
func (s *Store) Task(ctx context.Context, id task.ID) (t *task.Task, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT `+taskColumns+taskTables+`WHERE t.id = CAST(? AS BLOB)`, func(stmt *sqlite.Stmt) (err error) {
			t = readTask(stmt, true)
			return t.Broken
		}, id[:])
	})
	if err == nil && t == nil {
		err = fmt.Errorf("the task %s: %w", id, ledger.ErrNotFound)
	}
	return t, err
}

// TasksOf returns those of some tasks that exist.
func (s *Store) TasksOf(ctx context.Context, ids []task.ID) (list []*task.Task, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		for some := range slices.Chunk(ids, 64) {
			args := make([]any, len(some))
			for i := range some {
				args[i] = some[i][:]
			}
			in := strings.Repeat(", ?", len(some))[2:]
			err := query(c, `SELECT `+taskColumns+taskTables+`WHERE t.id IN (`+in+`)`, func(stmt *sqlite.Stmt) error {
				list = append(list, readTask(stmt, true))
				return nil
			}, args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// conditions are a query's in SQL.
func conditions(q *task.Query) (where string, args []any) {
	var list []string
	add := func(text string, arg any) {
		list = append(list, text)
		args = append(args, arg)
	}
	if q.User != "" {
		add("t.owner = ?", q.User)
	}
	if q.Status != "" {
		add("t.status = ?", statusNumber(q.Status))
	}
	if q.Parent != (task.ID{}) {
		add("t.parent = ?", q.Parent[:])
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

// Tasks returns the tasks that a query selects, without their results.
func (s *Store) Tasks(ctx context.Context, q task.Query) (list []*task.Task, err error) {
	where, args := conditions(&q)
	args = append(args, int64(q.Bounded()), int64(q.Offset))
	err = s.read(ctx, func(c *sqlite.Conn) error {
		// What is skipped is skipped in the index.
		return query(c, `SELECT `+taskColumns+taskTables+`WHERE t.id IN (SELECT t.id FROM task t`+where+
			` ORDER BY t.created DESC, t.id DESC LIMIT ? + 0 OFFSET ? + 0) ORDER BY t.created DESC, t.id DESC`, func(stmt *sqlite.Stmt) error {
			list = append(list, readTask(stmt, false))
			return nil
		}, args...)
	})
	return list, err
}

// CountTasks returns how many tasks a query selects, without its bounds.
func (s *Store) CountTasks(ctx context.Context, q task.Query) (n int, err error) {
	where, args := conditions(&q)
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT count(*) FROM task t`+where, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt(0)
			return nil
		}, args...)
	})
	return n, err
}

// OpenTasks returns how many tasks of a user, or of all, have not ended, and how many bytes they have.
func (s *Store) OpenTasks(ctx context.Context, user string) (n int, bytes int64, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT count(*), coalesce(sum(length(x.definition)), 0) FROM task t JOIN task_text x ON x.id = t.id WHERE (?1 = '' OR t.owner = ?1) AND t.status < 2`, func(stmt *sqlite.Stmt) error {
			n, bytes = stmt.ColumnInt(0), stmt.ColumnInt64(1)
			return nil
		}, user)
	})
	return n, bytes, err
}

// TaskRow returns what of a task changes.
func (s *Store) TaskRow(ctx context.Context, id task.ID) (r task.Row, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT `+rowColumns+` FROM task WHERE id = ?`, func(stmt *sqlite.Stmt) error {
			r = readRow(stmt)
			return nil
		}, id[:])
	})
	if err == nil && r.ID != id {
		err = fmt.Errorf("the task %s: %w", id, ledger.ErrNotFound)
	}
	return r, err
}

// TaskRows returns the rows that a query selects.
func (s *Store) TaskRows(ctx context.Context, q task.RowQuery) (list []task.Row, err error) {
	text, args := `SELECT `+rowColumns+` FROM task WHERE `, []any(nil)
	switch {
	case q.Root != (task.ID{}):
		text += `id = CAST(?1 AS BLOB) AND parent IS NULL OR root = CAST(?1 AS BLOB) AND parent IS NOT NULL ORDER BY created, id`
		args = append(args, q.Root[:])
	case q.Scheduled:
		text += `next > 0 AND next <= ? ORDER BY next`
		args = append(args, layout.Nanoseconds(q.DueBefore))
	case q.Phase == task.Ready:
		text += `phase = 3 AND executor = CAST(? AS TEXT) ORDER BY priority, created, id`
		args = append(args, q.Executor)
	case q.Phase == task.Delayed:
		text += `phase = 2 AND due <= ? ORDER BY due`
		args = append(args, layout.Nanoseconds(q.DueBefore))
	case q.Phase == task.Held && q.Held != "":
		text += `phase = 4 AND held = ?`
		args = append(args, q.Held)
	case q.Phase == task.Held:
		text += `phase = 4`
	case q.Phase == task.Running && q.Lost:
		text += `phase = 5 AND node <> (SELECT '0:' || epoch FROM head)`
	case q.Phase == task.Running && q.Node != "":
		text += `phase = 5 AND node = ?`
		args = append(args, q.Node)
	case q.Phase == task.Running:
		text += `phase = 5`
	default:
		return nil, fmt.Errorf("sqlite: rows of phase %d cannot be selected", q.Phase)
	}
	if q.Limit > 0 {
		text += ` LIMIT ? + 0`
		args = append(args, int64(q.Limit))
	}
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, text, func(stmt *sqlite.Stmt) error {
			list = append(list, readRow(stmt))
			return nil
		}, args...)
	})
	return list, err
}

// TaskEvents returns events of a tree that come after one.
func (s *Store) TaskEvents(ctx context.Context, root task.ID, after uint64, limit int) (list []task.Event, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT n, task, type, at, status, progress, message FROM task_event WHERE root = CAST(? AS BLOB) AND n > ? + 0 ORDER BY n LIMIT ? + 0`,
			func(stmt *sqlite.Stmt) error {
				list = append(list, task.Event{
					Root: root, N: uint64(stmt.ColumnInt64(0)), Task: idOf(stmt, 1), Type: task.EventType(stmt.ColumnInt(2)),
					At: layout.Time(stmt.ColumnInt64(3)), Status: statusOf(stmt.ColumnInt(4)), Progress: stmt.ColumnFloat(5), Message: stmt.ColumnText(6),
				})
				return nil
			}, root[:], int64(min(after, 1<<62)), int64(limit))
	})
	return list, err
}

// trimEvents is how many events a step of TrimTaskEvents looks at.
const trimEvents = 2000

// TrimTaskEvents removes old events of trees that are not being executed, and pushes
// that were told long ago. It walks over all events, a step at a time: commits wait
// only for steps that find something to remove.
func (s *Store) TrimTaskEvents(ctx context.Context, before time.Time) (removed int64, err error) {
	type event struct {
		root task.ID
		n    int64
	}
	last := event{n: -1}
	for looked := trimEvents; looked == trimEvents; {
		looked = 0
		from := last
		var old []event
		err := s.read(ctx, func(c *sqlite.Conn) error {
			return query(c, `SELECT root, n, at < ?3 AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = e.root AND t.open > 0) FROM task_event e
				WHERE (root, n) > (?1, ?2) ORDER BY root, n LIMIT ?4 + 0`, func(stmt *sqlite.Stmt) error {
				looked++
				if last = (event{idOf(stmt, 0), stmt.ColumnInt64(1)}); stmt.ColumnInt(2) != 0 {
					old = append(old, last)
				}
				return nil
			}, from.root[:], from.n, layout.Nanoseconds(before), int64(trimEvents))
		})
		for some := range slices.Chunk(old, removeRows) {
			if err == nil {
				err = s.step(ctx, func(c *sqlite.Conn) error {
					for _, e := range some {
						err := execute(c, `DELETE FROM task_event WHERE root = ?1 AND n = ?2
							AND NOT EXISTS (SELECT 1 FROM task t WHERE t.id = ?1 AND t.open > 0)`, e.root[:], e.n)
						if err != nil {
							return err
						}
						removed += int64(c.Changes())
					}
					return nil
				})
			}
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, s.step(ctx, func(c *sqlite.Conn) error {
		return execute(c, `DELETE FROM task_push WHERE done = 1 AND due < ?`, layout.Nanoseconds(before))
	})
}

// TakePush leases the pushes that are due.
func (s *Store) TakePush(ctx context.Context, now, until time.Time, limit int) (list []task.Push, err error) {
	found := false
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT 1 FROM task_push WHERE done = 0 AND due <= ? LIMIT 1`, func(*sqlite.Stmt) error {
			found = true
			return nil
		}, layout.Nanoseconds(now))
	})
	if err != nil || !found {
		return nil, err
	}
	err = s.write(func(c *sqlite.Conn) error {
		list = nil
		var taken []task.ID
		err := query(c, `SELECT id, root, data, due FROM task_push WHERE done = 0 AND due <= ? ORDER BY due LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			p := task.Push{ID: idOf(stmt, 0), Root: idOf(stmt, 1), Due: layout.Time(stmt.ColumnInt64(3))}
			taken = append(taken, p.ID)
			if p.SetData(column(stmt, 2, nil)) == nil { // a damaged one holds up nobody else's
				list = append(list, p)
			}
			return nil
		}, layout.Nanoseconds(now), int64(limit))
		for _, id := range taken {
			if err == nil {
				err = execute(c, `UPDATE task_push SET due = ? WHERE id = ?`, layout.Nanoseconds(until), id[:])
			}
		}
		return err
	})
	return list, err
}

// Pushes lists pushes, those that are not done first.
func (s *Store) Pushes(ctx context.Context, root task.ID, limit int) (list []task.Push, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		where, args := "", []any{}
		if root != (task.ID{}) {
			where, args = "WHERE root = ?", append(args, root[:])
		}
		return query(c, `SELECT id, root, data, due, done FROM task_push `+where+` ORDER BY done, due DESC LIMIT ? + 0`, func(stmt *sqlite.Stmt) error {
			p := task.Push{ID: idOf(stmt, 0), Root: idOf(stmt, 1), Due: layout.Time(stmt.ColumnInt64(3)), Done: stmt.ColumnInt64(4) != 0}
			if p.SetData(column(stmt, 2, nil)) == nil {
				list = append(list, p)
			}
			return nil
		}, append(args, int64(limit))...)
	})
	return list, err
}

// PutPush writes how far a push has come.
func (s *Store) PutPush(ctx context.Context, p task.Push) error {
	data, err := p.Data()
	if err != nil {
		return err
	}
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `UPDATE task_push SET data = ?, due = ?, done = ? WHERE id = ?`, data, layout.Nanoseconds(p.Due), flag(p.Done), p.ID[:])
	})
}

// LeaseEnds is never: the lock on the directory keeps other processes out.
func (s *Store) LeaseEnds() time.Time { return time.Time{} }
