package postgres

import (
	"context"
	"errors"
	"slices"

	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// ids are all tasks that a load names.
func ids(l *task.Load) []pgtype.UUID {
	return uuids(slices.Concat(l.Tasks, l.Dependents, l.Under, l.Trees))
}

// queueLock queues the locking of the roots of all that a load names. The lock of
// a root keeps its whole tree from others: no dependency leaves a tree.
func queueLock(b *pgx.Batch, l *task.Load) {
	b.Queue(`SELECT 1 FROM task WHERE id IN (SELECT root FROM task WHERE id = ANY($1::uuid[])) ORDER BY id FOR UPDATE`, ids(l))
}

// queueLoad queues the reading of what a load names. Each statement sees what was
// committed when it begins, so that what stands behind the lock sees all that was
// written before it was had.
func queueLoad(b *pgx.Batch, l *task.Load) {
	if len(l.Tasks) > 0 {
		b.Queue(`SELECT `+columnList+` FROM task WHERE id = ANY($1::uuid[])`, uuids(l.Tasks))
	}
	if len(l.Dependents) > 0 {
		b.Queue(`SELECT `+taskColumns+`, n.needs, n.task, n.required FROM task_need n JOIN task t ON t.id = n.task WHERE n.needs = ANY($1::uuid[])`,
			uuids(l.Dependents))
	}
	if len(l.Under) > 0 {
		b.Queue(`WITH RECURSIVE under AS (SELECT id, root FROM task WHERE id = ANY($1::uuid[])
				UNION SELECT t.id, t.root FROM task t JOIN under u ON t.root = u.root AND t.parent = u.id WHERE t.parent IS NOT NULL)
			SELECT `+taskColumns+` FROM under u JOIN task t ON t.id = u.id`, uuids(l.Under))
	}
	if len(l.Trees) > 0 {
		b.Queue(`SELECT `+columnList+` FROM task WHERE id = ANY($1::uuid[])
			UNION ALL SELECT `+columnList+` FROM task WHERE root = ANY($1::uuid[]) AND parent IS NOT NULL`, uuids(l.Trees))
		b.Queue(`SELECT needs, task, required FROM task_need WHERE needs IN (SELECT unnest($1::uuid[])
			UNION ALL SELECT id FROM task WHERE root = ANY($1::uuid[]) AND parent IS NOT NULL)`, uuids(l.Trees))
	}
}

// readLoad reads what queueLoad asked for. Rows and edges that several parts of
// the load name come once.
func readLoad(results pgx.BatchResults, l *task.Load) (*task.Loaded, error) {
	loaded := &task.Loaded{}
	seen, edges := map[task.ID]bool{}, map[task.Edge]bool{}
	row := func(r task.Row) {
		if !seen[r.ID] {
			seen[r.ID] = true
			loaded.Rows = append(loaded.Rows, r)
		}
	}
	var needs, waits pgtype.UUID
	var required bool
	edge := func() {
		if e := (task.Edge{Needs: needs.Bytes, Task: waits.Bytes, Required: required}); !edges[e] {
			edges[e] = true
			loaded.Edges = append(loaded.Edges, e)
		}
	}
	read := func(f func(rows pgx.Rows) error) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		return f(rows)
	}
	justRows := func(rows pgx.Rows) error { return eachRow(rows, row) }
	var err error
	if len(l.Tasks) > 0 {
		err = read(justRows)
	}
	if err == nil && len(l.Dependents) > 0 {
		err = read(func(rows pgx.Rows) error {
			return eachRow(rows, func(r task.Row) { row(r); edge() }, &needs, &waits, &required)
		})
	}
	if err == nil && len(l.Under) > 0 {
		err = read(justRows)
	}
	if err == nil && len(l.Trees) > 0 {
		if err = read(justRows); err == nil {
			err = read(func(rows pgx.Rows) error {
				_, err := pgx.ForEachRow(rows, []any{&needs, &waits, &required}, func() error { edge(); return nil })
				return err
			})
		}
	}
	if err != nil {
		return nil, err
	}
	return loaded, nil
}

// more reads more within a commit, of trees that it has locked.
type more struct {
	asked int                     // how often for dependents alone
	trees map[task.ID]bool        // roots of the trees that are known whole
	rows  map[task.ID]task.Row    // of those
	edges map[task.ID][]task.Edge // likewise, by what is needed
}

// patience is how often a commit asks for the dependents of some tasks before it
// gets whole trees. What ends a long chain asks for each link's: one round trip
// for each would hold up all others for seconds.
const patience = 8

func (m *more) load(ctx context.Context, c *pgx.Conn, l task.Load) (*task.Loaded, error) {
	alone := len(l.Dependents) > 0 && len(l.Tasks)+len(l.Under)+len(l.Trees) == 0
	if !alone {
		return loadTasks(ctx, c, &l)
	}
	if m.asked++; m.asked <= patience {
		return loadTasks(ctx, c, &l)
	}
	loaded := &task.Loaded{}
	var unknown []task.ID
	for _, id := range l.Dependents {
		if _, known := m.rows[id]; !known {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		if err := m.learn(ctx, c, unknown); err != nil {
			return nil, err
		}
	}
	seen := map[task.ID]bool{}
	for _, id := range l.Dependents {
		if seen[id] {
			continue
		}
		seen[id] = true
		for _, e := range m.edges[id] {
			loaded.Edges = append(loaded.Edges, e)
			loaded.Rows = append(loaded.Rows, m.rows[e.Task])
		}
	}
	return loaded, nil
}

// learn reads the whole trees of tasks.
func (m *more) learn(ctx context.Context, c *pgx.Conn, of []task.ID) error {
	if m.rows == nil {
		m.trees, m.rows, m.edges = map[task.ID]bool{}, map[task.ID]task.Row{}, map[task.ID][]task.Edge{}
	}
	rows, err := loadTasks(ctx, c, &task.Load{Tasks: of})
	if err != nil {
		return err
	}
	var roots []task.ID
	for i := range rows.Rows {
		if root := rows.Rows[i].Root; !m.trees[root] {
			m.trees[root] = true
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil
	}
	loaded, err := loadTasks(ctx, c, &task.Load{Trees: roots})
	if err != nil {
		return err
	}
	for _, r := range loaded.Rows {
		m.rows[r.ID] = r
	}
	for _, e := range loaded.Edges {
		m.edges[e.Needs] = append(m.edges[e.Needs], e)
	}
	return nil
}

func loadTasks(ctx context.Context, c *pgx.Conn, l *task.Load) (loaded *task.Loaded, err error) {
	var b pgx.Batch
	queueLoad(&b, l)
	results := c.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	return readLoad(results, l)
}

// taken reports whether a commit failed since another made a task of the same id
// after it was looked for, which no lock keeps it from.
func taken(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "23505" && e.ConstraintName == "task_pkey"
}

// queueTasks queues the writing of what a batch makes of tasks: a statement for
// each table and kind of change, however many tasks there are.
func queueTasks(b *pgx.Batch, w *task.Writes) error {
	if err := queueNew(b, w.New); err != nil {
		return err
	}
	if err := queueRedefined(b, w.Redefined); err != nil {
		return err
	}
	var changed, counted rowList
	for _, r := range w.Rows {
		if w.Counted[r] {
			counted.add(r)
		} else {
			changed.add(r)
		}
	}
	updateRows.queue(b, &changed)
	countRows.queue(b, &counted)
	queueTexts(b, w.Texts)
	queueEvents(b, w.Events)
	if err := queuePushes(b, w.Pushes); err != nil {
		return err
	}
	queueDeleted(b, w.Deleted)
	queueNotice(b, w)
	return nil
}

func queueNew(b *pgx.Batch, tasks []*task.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	var list rowList
	definitions, results := make([][]byte, len(tasks)), make([][]byte, len(tasks))
	for i, t := range tasks {
		var err error
		if definitions[i], err = t.Definition(); err != nil {
			return err
		}
		list.add(&t.Row)
		results[i] = t.Result
	}
	b.Queue(insertRows, list.args()...)
	b.Queue(`INSERT INTO task_text (id, definition, result) SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::bytea[])`, list.id, definitions, results)
	queueNeeds(b, tasks, "")
	queueReferences(b, tasks)
	return nil
}

// queueReferences queues what tasks were copied or linked from.
func queueReferences(b *pgx.Batch, tasks []*task.Task) {
	var originals, made []pgtype.UUID
	for _, t := range tasks {
		if t.Original != (task.ID{}) {
			originals, made = append(originals, uuid(t.Original)), append(made, uuid(t.ID))
		}
	}
	if len(made) > 0 {
		b.Queue(`INSERT INTO task_ref (original, task) SELECT * FROM unnest($1::uuid[], $2::uuid[])`, originals, made)
	}
}

// queueNeeds queues the edges of tasks. Of several to the same task one is required
// if any is. again is what to do with one that there is already.
func queueNeeds(b *pgx.Batch, tasks []*task.Task, again string) {
	var needs, waits []pgtype.UUID
	var required []bool
	for _, t := range tasks {
		at := make(map[task.ID]int, len(t.Dependencies))
		for _, d := range t.Dependencies {
			if i, again := at[d.ID]; again {
				required[i] = required[i] || d.Required
				continue
			}
			at[d.ID] = len(needs)
			needs, waits, required = append(needs, uuid(d.ID)), append(waits, uuid(t.ID)), append(required, d.Required)
		}
	}
	if len(needs) > 0 {
		b.Queue(`INSERT INTO task_need (needs, task, required) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::boolean[]) AS n (needs, task, required)
			ORDER BY needs, task`+again, needs, waits, required)
	}
}

// dropNeeds removes the edges of those that wait. The tables have no way from a
// task to what it needs, which few ask for, but by its tree.
const dropNeeds = `DELETE FROM task_need WHERE task = ANY($1::uuid[]) AND needs IN (
	SELECT t.id FROM task t WHERE t.root IN (SELECT root FROM task WHERE id = ANY($1::uuid[])) AND t.parent IS NOT NULL
	UNION ALL SELECT root FROM task WHERE id = ANY($1::uuid[]))`

func queueRedefined(b *pgx.Batch, tasks []*task.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	// Of one task the last counts.
	last := make(map[task.ID]*task.Task, len(tasks))
	for _, t := range tasks {
		last[t.ID] = t
	}
	var list []*task.Task
	var rows rowList
	var definitions [][]byte
	for _, t := range tasks {
		if last[t.ID] != t {
			continue
		}
		d, err := t.Definition()
		if err != nil {
			return err
		}
		list, definitions = append(list, t), append(definitions, d)
		rows.add(&t.Row)
	}
	keys := rows.id
	redefineRows.queue(b, &rows)
	b.Queue(`UPDATE task_text x SET definition = c.definition FROM unnest($1::uuid[], $2::bytea[]) AS c (id, definition) WHERE x.id = c.id`, keys, definitions)
	b.Queue(dropNeeds, keys)
	queueNeeds(b, list, ` ON CONFLICT (needs, task) DO UPDATE SET required = excluded.required`)
	return nil
}

// queueTexts queues what all texts together make of each task's.
func queueTexts(b *pgx.Batch, texts []task.Text) {
	if len(texts) == 0 {
		return
	}
	type final struct {
		clear          bool
		result, judged []byte
	}
	all := make(map[task.ID]*final, len(texts))
	var order []task.ID
	for i := range texts {
		t := &texts[i]
		f := all[t.Task]
		if f == nil {
			f = &final{}
			all[t.Task] = f
			order = append(order, t.Task)
		}
		if t.Clear {
			*f = final{clear: true}
		}
		if t.Result != nil {
			f.result = t.Result
		}
		if t.Judged != nil {
			f.judged = t.Judged
		}
	}
	clears := make([]bool, len(order))
	results, judged := make([][]byte, len(order)), make([][]byte, len(order))
	for i, id := range order {
		f := all[id]
		clears[i], results[i], judged[i] = f.clear, f.result, f.judged
	}
	b.Queue(`UPDATE task_text x SET
			result = CASE WHEN c.clear THEN c.result ELSE coalesce(c.result, x.result) END,
			judged = CASE WHEN c.clear THEN c.judged ELSE coalesce(c.judged, x.judged) END
		FROM unnest($1::uuid[], $2::boolean[], $3::bytea[], $4::bytea[]) AS c (id, clear, result, judged)
		WHERE x.id = c.id AND (c.result IS NOT NULL OR c.judged IS NOT NULL OR x.result IS NOT NULL OR x.judged IS NOT NULL)`,
		uuids(order), clears, results, judged)
}

func queueEvents(b *pgx.Batch, events []task.Event) {
	if len(events) == 0 {
		return
	}
	roots, tasks := make([]pgtype.UUID, len(events)), make([]pgtype.UUID, len(events))
	numbers, times := make([]int64, len(events)), make([]int64, len(events))
	types, states := make([]int16, len(events)), make([]int16, len(events))
	progress, messages := make([]float64, len(events)), make([]string, len(events))
	for i := range events {
		e := &events[i]
		roots[i], tasks[i], numbers[i], types[i], times[i] = uuid(e.Root), uuid(e.Task), number(e.N), int16(e.Type), layout.Nanoseconds(e.At)
		states[i], progress[i], messages[i] = statusNumber(e.Status), e.Progress, text(e.Message)
	}
	b.Queue(`INSERT INTO task_event (root, n, task, type, at, status, progress, message)
		SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::smallint[], $5::bigint[], $6::smallint[], $7::float8[], $8::text[])
		ON CONFLICT (root, n) DO NOTHING`, // a tree whose counter of events is damaged loses events, and the others nothing
		roots, numbers, tasks, types, times, states, progress, messages)
}

func queuePushes(b *pgx.Batch, pushes []task.Push) error {
	for i := range pushes {
		p := &pushes[i]
		data, err := p.Data()
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO task_push (id, root, data, due, done) VALUES ($1, $2, $3, $4, $5)`, uuid(p.ID), uuid(p.Root), data, layout.Nanoseconds(p.Due), p.Done)
	}
	return nil
}

func queueDeleted(b *pgx.Batch, deleted []task.ID) {
	if len(deleted) == 0 {
		return
	}
	keys := uuids(deleted)
	b.Queue(dropNeeds, keys) // before the rows go, which say what tree they are of
	for _, text := range []string{
		`DELETE FROM task WHERE id = ANY($1::uuid[])`, `DELETE FROM task_text WHERE id = ANY($1::uuid[])`,
		`DELETE FROM task_need WHERE needs = ANY($1::uuid[])`, `DELETE FROM task_event WHERE root = ANY($1::uuid[])`,
		`DELETE FROM task_push WHERE root = ANY($1::uuid[])`, `DELETE FROM task_ref WHERE task = ANY($1::uuid[])`,
	} {
		b.Queue(text, keys)
	}
}
