package postgres

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// text is a string as a column holds it. PostgreSQL's texts have neither zero
// bytes nor invalid UTF-8, and a client's may: such bytes are written as \x01 and
// two hexadecimal digits, and so is \x01 itself.
func text(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\x01") {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if s[i] <= 1 || r == utf8.RuneError && n == 1 {
			b = fmt.Appendf(b, "\x01%02x", s[i])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// untext reads what text wrote.
func untext(s string) string {
	if !strings.Contains(s, "\x01") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == 1 && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// number is a count as a column holds it.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// uuid is an id as a column holds it: the zero one is NULL.
func uuid(id task.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != task.ID{}} }

func uuids(ids []task.ID) []pgtype.UUID {
	list := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		list[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return list
}

// statuses number the protocol's states in the database.
var statuses = []task.Status{task.Pending, task.InProgress, task.Completed, task.Failed, task.Cancelled}

func statusNumber(s task.Status) int16 { return int16(slices.Index(statuses, s)) }

func statusOf(n int16) task.Status {
	if n < 0 || int(n) >= len(statuses) {
		return ""
	}
	return statuses[n]
}

// rowColumns are the columns of a task.Row, in the order of rowTypes, rowList and
// rowScan.
var rowColumns = strings.Fields(`id root parent owner name executor phase status priority size open events unmet attempt
	failures losses run node due held cascade progress error created updated started completed next last_run runs refs
	decision outcome`)

// rowTypes are what unnest makes of the arrays of a rowList.
var rowTypes = strings.Fields(`uuid uuid uuid text text text smallint smallint smallint bigint bigint bigint bigint bigint
	bigint bigint bigint text bigint text boolean float8 text bigint bigint bigint bigint bigint bigint bigint boolean
	text text`)

var (
	columnList = strings.Join(rowColumns, ", ")
	// taskColumns are those of a row of the table with the alias t.
	taskColumns = "t." + strings.Join(rowColumns, ", t.")
	insertRows  = `INSERT INTO task (` + columnList + `) SELECT * FROM ` + unnest(rowTypes)
	// A column that is not written over, or keeps its value, spares the indexes that
	// it is in.
	updateRows   = update("phase status size open events unmet attempt failures losses run node due held cascade progress error updated started completed next last_run runs refs decision outcome")
	countRows    = update("size open events unmet")
	redefineRows = update("parent owner name executor priority")
)

// updating is a statement that writes some columns of rows.
type updating struct {
	text    string
	columns []int // their places in rowColumns
}

// update is the writing of the columns of these names.
func update(names string) (u updating) {
	var set, list, types []string
	for i, name := range rowColumns {
		written := slices.Contains(strings.Fields(names), name)
		if !written && name != "id" {
			continue
		}
		if written {
			set = append(set, name+" = c."+name)
		}
		list, types = append(list, name), append(types, rowTypes[i])
		u.columns = append(u.columns, i)
	}
	u.text = `UPDATE task t SET ` + strings.Join(set, ", ") + ` FROM ` + unnest(types) + ` AS c (` + strings.Join(list, ", ") + `) WHERE t.id = c.id`
	return u
}

// queue queues the writing of rows, if there are any.
func (u *updating) queue(b *pgx.Batch, rows *rowList) {
	if len(rows.id) == 0 {
		return
	}
	all := rows.args()
	args := make([]any, len(u.columns))
	for i, place := range u.columns {
		args[i] = all[place]
	}
	b.Queue(u.text, args...)
}

// unnest is the table of parameters that are arrays of these types.
func unnest(types []string) string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = fmt.Sprintf("$%d::%s[]", i+1, t)
	}
	return "unnest(" + strings.Join(list, ", ") + ")"
}

// rowList is rows by column.
type rowList struct {
	id, root, parent                                              []pgtype.UUID
	owner, name, executor, node, held, failure, decision, outcome []string
	phase, status, priority                                       []int16
	cascade, refs                                                 []bool
	progress                                                      []float64
	numbers                                                       [numbers][]int64
}

// numbers is how many columns of a row are plain numbers.
const numbers = 16

func rowNumbers(r *task.Row) [numbers]int64 {
	return [numbers]int64{
		int64(r.Size), int64(r.Open), number(r.Events), int64(r.Unmet), int64(r.Attempt), int64(r.Failures), int64(r.Losses), int64(r.Run),
		layout.Nanoseconds(r.Due), layout.Nanoseconds(r.Created), layout.Nanoseconds(r.Updated), layout.Nanoseconds(r.Started), layout.Nanoseconds(r.Completed), layout.Nanoseconds(r.Next), layout.Nanoseconds(r.LastRun), int64(r.Runs),
	}
}

func (l *rowList) add(r *task.Row) {
	l.id = append(l.id, uuid(r.ID))
	l.root = append(l.root, uuid(r.Root))
	l.parent = append(l.parent, uuid(r.Parent))
	l.owner = append(l.owner, text(r.User))
	l.name = append(l.name, text(r.Name))
	l.executor = append(l.executor, text(r.Executor))
	l.node = append(l.node, text(r.Node))
	l.held = append(l.held, text(r.Held))
	l.failure = append(l.failure, text(r.Error))
	l.decision = append(l.decision, text(r.Decision))
	l.outcome = append(l.outcome, text(r.Outcome))
	l.phase = append(l.phase, int16(r.Phase))
	l.status = append(l.status, statusNumber(r.Status()))
	l.priority = append(l.priority, int16(r.Priority))
	l.cascade = append(l.cascade, r.Cascade)
	l.refs = append(l.refs, r.References)
	l.progress = append(l.progress, r.Progress)
	for i, n := range rowNumbers(r) {
		l.numbers[i] = append(l.numbers[i], n)
	}
}

// args are the columns, in the order of rowColumns.
func (l *rowList) args() []any {
	n := &l.numbers
	return []any{
		l.id, l.root, l.parent, l.owner, l.name, l.executor, l.phase, l.status, l.priority,
		n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], l.node, n[8], l.held, l.cascade, l.progress, l.failure,
		n[9], n[10], n[11], n[12], n[13], n[14], n[15], l.refs, l.decision, l.outcome,
	}
}

// rowScan is where the columns of a row are read to.
type rowScan struct {
	id, root, parent                                              pgtype.UUID
	owner, name, executor, node, held, failure, decision, outcome string
	phase, status, priority                                       int16
	cascade, refs                                                 bool
	progress                                                      float64
	n                                                             [numbers]int64
}

func (s *rowScan) into() []any {
	n := &s.n
	return []any{
		&s.id, &s.root, &s.parent, &s.owner, &s.name, &s.executor, &s.phase, &s.status, &s.priority,
		&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &s.node, &n[8], &s.held, &s.cascade, &s.progress, &s.failure,
		&n[9], &n[10], &n[11], &n[12], &n[13], &n[14], &n[15], &s.refs, &s.decision, &s.outcome,
	}
}

func (s *rowScan) row() task.Row {
	n := &s.n
	return task.Row{
		ID: s.id.Bytes, Root: s.root.Bytes, Parent: s.parent.Bytes, User: untext(s.owner), Name: untext(s.name), Executor: untext(s.executor),
		Phase: task.Phase(s.phase), Priority: uint8(s.priority), Size: int(n[0]), Open: int(n[1]), Events: uint64(n[2]), Unmet: int(n[3]),
		Attempt: int(n[4]), Failures: int(n[5]), Losses: int(n[6]), Run: int(n[7]), Node: untext(s.node), Due: layout.Time(n[8]),
		Held: untext(s.held), Cascade: s.cascade, Progress: s.progress, Error: untext(s.failure),
		Created: layout.Time(n[9]), Updated: layout.Time(n[10]), Started: layout.Time(n[11]), Completed: layout.Time(n[12]),
		Next: layout.Time(n[13]), LastRun: layout.Time(n[14]), Runs: int(n[15]), References: s.refs,
		Decision: untext(s.decision), Outcome: untext(s.outcome),
	}
}

// eachRow calls f with the task.Row of every row, and with what is read to more
// filled from the columns after it.
func eachRow(rows pgx.Rows, f func(r task.Row), more ...any) error {
	var s rowScan
	_, err := pgx.ForEachRow(rows, append(s.into(), more...), func() error {
		f(s.row())
		return nil
	})
	return err
}
