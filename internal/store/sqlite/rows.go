package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// rows runs a prepared statement and calls f with each row.
func rows(stmt *sqlite.Stmt, f func(stmt *sqlite.Stmt) error) (err error) {
	defer func() {
		if reset := stmt.Reset(); err == nil {
			err = reset
		}
	}()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if err := f(stmt); err != nil {
			return err
		}
	}
}

// query runs a statement with parameters and calls f with each row.
//
// SQLite compiles a statement anew, at many times the cost of running it, when a parameter
// that its planner looked at has changed, and the library clears them all before each use.
// The planner looks at a parameter that stands alone in a LIMIT, and at one that equals a
// column of what is joined or sorted; in an expression (? + 0, CAST) it does not. TestStore
// fails for a statement that is compiled twice.
func query(c *sqlite.Conn, text string, f func(stmt *sqlite.Stmt) error, args ...any) error {
	stmt, err := prepare(c, text)
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			stmt.BindInt64(i+1, v)
		case float64:
			stmt.BindFloat(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			if v == nil {
				stmt.BindNull(i + 1)
			} else {
				stmt.BindBytes(i+1, v)
			}
		default:
			return fmt.Errorf("sqlite: a parameter cannot be %T", arg)
		}
	}
	return rows(stmt, f)
}

// prepare is Prepare of the connection, whose errors quote the statement: whoever reads them is
// told what of the database is missing instead.
func prepare(c *sqlite.Conn, text string) (*sqlite.Stmt, error) {
	stmt, err := c.Prepare(text)
	if err == nil {
		return stmt, nil
	}
	said := strings.TrimPrefix(err.Error(), "sqlite: prepare ")
	if quoted, none := strconv.QuotedPrefix(said); none == nil {
		said = strings.TrimPrefix(said[len(quoted):], ": ")
	}
	for _, what := range []string{"table", "column"} {
		if _, name, ok := strings.Cut(said, "no such "+what+": "); ok {
			said = "the database is damaged: its " + what + " " + name + " is missing; restore it from a backup"
		}
	}
	return nil, &statementError{said, err}
}

// statementError is an error of a statement, told without it.
type statementError struct {
	said string
	err  error
}

func (e *statementError) Error() string { return e.said }
func (e *statementError) Unwrap() error { return e.err }

// execute runs a statement with parameters that has no rows.
func execute(c *sqlite.Conn, text string, args ...any) error {
	return query(c, text, func(*sqlite.Stmt) error { return nil }, args...)
}

// integers reports whether columns are whole numbers. SQLite keeps in a column whatever
// was put there, and reads a text that is none as 0: which is "not revoked", "never due".
func integers(stmt *sqlite.Stmt, cols ...int) bool {
	for _, col := range cols {
		if stmt.ColumnType(col) != sqlite.TypeInteger {
			return false
		}
	}
	return true
}

// column copies a column into buf, which grows if need be, and returns it.
func column(stmt *sqlite.Stmt, col int, buf []byte) []byte {
	n := stmt.ColumnLen(col)
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	stmt.ColumnBytes(col, buf)
	return buf
}
