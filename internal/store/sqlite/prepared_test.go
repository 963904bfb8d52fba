package sqlite

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// compiledAnew are the statements with parameters that SQLite has compiled again for a connection. Neither
// the library nor its driver tells, so this reads their private fields.
func compiledAnew(c *sqlite.Conn) map[string]int {
	conn := reflect.ValueOf(c).Elem()
	tls := (*libc.TLS)(unsafe.Pointer(conn.FieldByName("tls").Pointer()))
	found := map[string]int{}
	for stmts := conn.FieldByName("stmts").MapRange(); stmts.Next(); {
		stmt := uintptr(stmts.Value().Elem().FieldByName("stmt").Uint())
		if n := lib.Xsqlite3_stmt_status(tls, stmt, lib.SQLITE_STMTSTATUS_REPREPARE, 0); n > 0 && strings.Contains(stmts.Key().String(), "?") {
			found[stmts.Key().String()] = int(n)
		}
	}
	return found
}

// watched is a store whose statements must all have been compiled once when it is closed.
type watched struct {
	*Store
	t *testing.T
}

func (w watched) Close() error {
	look := func(c *sqlite.Conn) {
		for text, n := range compiledAnew(c) {
			w.t.Errorf("compiled %d times more than once: %s", n, text)
		}
	}
	w.mu.Lock() // what tends the store in the background writes by it, too
	if w.writer != nil {
		look(w.writer)
	}
	w.mu.Unlock()
	for range len(w.idle) {
		c := <-w.idle
		look(c)
		defer func() { w.idle <- c }()
	}
	return w.Store.Close()
}
