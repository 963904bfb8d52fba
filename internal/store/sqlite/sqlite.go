// Package sqlite keeps a node's ledger in one SQLite database, reeve.db in a
// directory of its own. One process at a time writes; others may read beside
// it, with Options.ReadOnly.
//
// Durability: the database is in WAL mode with synchronous=FULL. A Commit is
// one transaction: its pages are appended to the WAL file, and the WAL file is
// synced before Commit returns. Checkpoints, which copy pages from the WAL into
// the database, never lie in a commit's way: they run on another connection,
// and sync the WAL first and the database after. After a crash SQLite reads
// the WAL up to the last whole transaction. A transaction that Commit reported
// as failed can still be found there, if the crash came before the next one.
package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/store"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	dbName   = "reeve.db"
	lockName = "lock"
	// busyTimeout is how long to wait for a lock that another program, such as
	// a backup tool, holds on the database.
	busyTimeout = 5 * time.Second
	// maxReaders is how many reads run at once; more wait.
	maxReaders = 4
)

// Options say how a database is opened.
type Options struct {
	// ReadOnly opens a database that exists, beside a node that writes it or
	// without one. Nothing is written and no lock is taken: methods that write
	// return an error.
	ReadOnly bool
	// Logger is told what was damaged and made again. Nil is none.
	Logger *slog.Logger
}

// Store is an open database. It implements store.Store.
type Store struct {
	file     string
	readOnly bool
	lock     *os.File // held for as long as the store is open; nil when read only

	// slots holds as many tokens as reads may still begin, and idle the
	// connections that wait for one.
	slots chan struct{}
	idle  chan *sqlite.Conn

	heads heads

	member atomic.Pointer[nodes.Node] // the one that has announced itself

	// mu is held by who writes. It guards all of this.
	mu      sync.Mutex
	writer  *sqlite.Conn // nil after an error: opened anew by the next write
	closed  bool
	records []byte // buffers of the columns of a commit
	claims  []byte
	leaves  []byte

	unsynced atomic.Int64  // bytes committed since the last checkpoint began
	erased   atomic.Bool   // the WAL may hold what was erased; cleared with mu held
	kick     chan struct{} // wakes tend
	tends    atomic.Bool   // tend has begun
	tries    turns         // to empty the WAL
	rounds   turns         // of checkpoints: over when the next begins
	walHeld  bool          // the log was told that somebody keeps the WAL long; of tend alone
	log      *slog.Logger
	probing  chan struct{} // has a token while a probe writes
	stop     chan struct{} // closed by Close
	tended   sync.WaitGroup
	copies   sync.WaitGroup // backups under way
}

var _ store.Store = (*Store)(nil)

// Open opens the database in a directory, and makes both if need be. It returns
// ledger.ErrInUse when another process writes the database, and
// ledger.ErrNewerSchema when a newer reeve wrote it.
func Open(dir string, opts Options) (_ *Store, err error) {
	s := &Store{
		file:     filepath.Join(dir, dbName),
		readOnly: opts.ReadOnly,
		slots:    make(chan struct{}, maxReaders),
		idle:     make(chan *sqlite.Conn, maxReaders),
		kick:     make(chan struct{}, 1),
		probing:  make(chan struct{}, 1),
		log:      opts.Logger,
		stop:     make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.heads.kick = make(chan struct{}, 1)
	for range maxReaders {
		s.slots <- struct{}{}
	}
	if s.readOnly {
		if _, err := os.Stat(s.file); err != nil {
			return nil, fmt.Errorf("open the database: %w", err)
		}
		err := s.read(context.Background(), checkVersion)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("open %s: %w", s.file, err)
		}
		return s, nil
	}

	if s.lock, err = takeLock(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.closeFiles()
		}
	}()
	if err := createFile(dir, s.file); err != nil {
		return nil, fmt.Errorf("make the database: %w", err)
	}
	if info, err := os.Stat(s.file + "-wal"); err == nil && info.Size() > 0 {
		s.erased.Store(true) // a crash may have left what was erased
	}
	if s.writer, err = s.openWriter(); err != nil {
		return nil, err
	}
	if err := migrate(s.writer); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.file, err)
	}
	if err := s.loadHeads(s.log); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.file, err)
	}
	s.tends.Store(true)
	s.tended.Go(s.tend)
	s.tended.Go(s.mergeHeads)
	return s, nil
}

// takeLock makes the directory and takes its lock, which keeps other processes
// from writing there.
func takeLock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		pid, _ := io.ReadAll(io.LimitReader(f, 32))
		who := "process " + strings.TrimSpace(string(pid))
		if len(pid) == 0 {
			who = "a process"
		}
		err = fmt.Errorf("%w: %s holds %s", ledger.ErrInUse, who, dir)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// createFile makes the database's file, readable by its owner alone; SQLite
// gives the files beside it the same mode.
func createFile(dir, file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(dir)
}

// openWriter opens a connection that may write.
func (s *Store) openWriter() (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(s.file, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.file, err)
	}
	c.SetBusyTimeout(busyTimeout)
	for _, pragma := range []string{
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		"PRAGMA fullfsync=ON",            // macOS: fsync alone does not reach the disk
		"PRAGMA checkpoint_fullfsync=ON", // likewise
		"PRAGMA wal_autocheckpoint=0",
		"PRAGMA secure_delete=FAST", // zeros what was removed wherever that costs no extra write
		"PRAGMA temp_store=MEMORY",
	} {
		if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
			c.Close()
			return nil, fmt.Errorf("open %s: %w", s.file, err)
		}
	}
	return c, nil
}

// write runs f within a transaction, which is durable when write returns nil.
// After any error nothing of it has happened, as far as others can see.
func (s *Store) write(f func(c *sqlite.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transact(f)
}

// transact is write for who holds mu.
func (s *Store) transact(f func(c *sqlite.Conn) error) error {
	c, err := s.writable()
	if err != nil {
		return err
	}
	if err := do(c, "BEGIN IMMEDIATE"); err != nil {
		return s.broken(err)
	}
	if err := f(c); err != nil {
		if !c.AutocommitEnabled() { // else SQLite has rolled back by itself
			if rollback := do(c, "ROLLBACK"); rollback != nil {
				s.broken(rollback)
				return err
			}
		}
		return s.broken(err)
	}
	if err := do(c, "COMMIT"); err != nil {
		if !c.AutocommitEnabled() {
			_ = do(c, "ROLLBACK") // the connection is closed in any case
		}
		return s.broken(err)
	}
	return nil
}

var errReadOnly = errors.New("the database was opened for reading only")
var errClosed = errors.New("the database is closed")

// writable returns the writing connection. Who calls it holds mu.
func (s *Store) writable() (*sqlite.Conn, error) {
	switch {
	case s.readOnly:
		return nil, errReadOnly
	case s.closed:
		return nil, errClosed
	case s.writer == nil:
		c, err := s.openWriter()
		if err != nil {
			return nil, err
		}
		s.writer = c
	}
	return s.writer, nil
}

// broken returns the error. If it is SQLite's, the connection is not used
// again: after an error of the disk a new one reads everything from the disk.
func (s *Store) broken(err error) error {
	if isSQLite(err) && s.writer != nil {
		_ = s.writer.Close() // what was committed is in the WAL already
		s.writer = nil
	}
	return err
}

// isSQLite reports whether the error comes from the database.
func isSQLite(err error) bool {
	return err != nil && sqlite.ErrCode(err) != sqlite.ResultError
}

// read runs f with a connection that can only read. Each statement of f sees a
// state of its own unless f begins a transaction. f must not take long: as
// long as a statement of it is open, the WAL cannot be truncated.
func (s *Store) read(ctx context.Context, f func(c *sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return errClosed
	case <-s.slots:
	}
	defer func() { s.slots <- struct{}{} }()
	var c *sqlite.Conn
	select {
	case c = <-s.idle:
	default:
		var err error
		if c, err = s.openReader(); err != nil {
			return err
		}
	}
	err := f(c)
	if isSQLite(err) || !c.AutocommitEnabled() || c.CheckReset() != "" {
		_ = c.Close()
		return err
	}
	s.idle <- c
	return err
}

// openReader opens a connection that cannot write.
func (s *Store) openReader() (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(s.file, sqlite.OpenReadOnly)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.file, err)
	}
	c.SetBusyTimeout(busyTimeout)
	if s.readOnly {
		if err := standIn(c); err != nil {
			c.Close()
			return nil, fmt.Errorf("open %s: %w", s.file, err)
		}
	}
	return c, nil
}

// standIn has empty tables stand in, for one connection that only reads, for those that a database of an
// earlier version does not have yet: who looks into it must not be the one that changes it.
func standIn(c *sqlite.Conn) error {
	has := map[string]bool{}
	tables := func(c *sqlite.Conn, f func(name, text string) error) error {
		return sqlitex.ExecuteTransient(c, `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { return f(stmt.ColumnText(0), stmt.ColumnText(1)) },
		})
	}
	if err := tables(c, func(name, _ string) error { has[name] = true; return nil }); err != nil {
		return err
	}
	if names, err := migrations.ReadDir("migrations"); err != nil {
		return err
	} else if version, err := schemaVersion(c); err != nil || version == 0 || version >= len(names) {
		return err
	}
	present, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return err
	}
	defer present.Close()
	if err := migrate(present); err != nil {
		return err
	}
	return tables(present, func(name, text string) error {
		if has[name] {
			return nil
		}
		return sqlitex.ExecuteTransient(c, strings.Replace(text, "CREATE TABLE", "CREATE TEMP TABLE", 1), nil)
	})
}

// do runs a statement without parameters or results.
func do(c *sqlite.Conn, query string) error {
	stmt, err := prepare(c, query)
	if err != nil {
		return err
	}
	_, err = stmt.Step()
	if reset := stmt.Reset(); err == nil {
		err = reset
	}
	return err
}

// Close ends all use of the database, copies the WAL into it, and gives up the
// lock. A crash loses nothing that Close would save.
func (s *Store) Close() error {
	if !s.readOnly && s.heads.unmerged() >= closeSince {
		_ = s.flushHeads() // else the next start reads the same from the batches
	}
	_ = s.markHurt() // else it is noticed once more
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.tended.Wait()
	s.copies.Wait()
	for range maxReaders { // wait for all reads
		<-s.slots
	}
	return s.closeFiles()
}

// closeFiles closes the connections, and then the lock, which frees it.
func (s *Store) closeFiles() error {
	var errs []error
	for len(s.idle) > 0 {
		errs = append(errs, (<-s.idle).Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close()) // the last one: SQLite checkpoints and removes the WAL
		s.writer = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each step in a transaction.
func migrate(c *sqlite.Conn) error {
	names, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	if err := checkVersion(c); err != nil {
		return err
	}
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	for i := version; i < len(names); i++ {
		text, err := migrations.ReadFile("migrations/" + names[i].Name())
		if err != nil {
			return err
		}
		if err := step(c, i+1, string(text)); err != nil {
			return fmt.Errorf("migration %s: %w", names[i].Name(), err)
		}
	}
	return nil
}

func step(c *sqlite.Conn, version int, text string) (err error) {
	end, err := sqlitex.ImmediateTransaction(c)
	if err != nil {
		return err
	}
	defer end(&err)
	if err := sqlitex.ExecuteScript(c, text, nil); err != nil {
		return err
	}
	return sqlitex.ExecuteScript(c, fmt.Sprintf(`
		CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);
		DELETE FROM schema_version;
		INSERT INTO schema_version VALUES (%d);`, version), nil)
}

// schemaVersion returns the number of the newest migration that was made.
func schemaVersion(c *sqlite.Conn) (version int, err error) {
	tables := 0
	err = sqlitex.ExecuteTransient(c, `SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { tables = stmt.ColumnInt(0); return nil },
	})
	if err != nil || tables == 0 {
		return 0, err
	}
	err = sqlitex.ExecuteTransient(c, `SELECT version FROM schema_version`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { version = stmt.ColumnInt(0); return nil },
	})
	return version, err
}

// checkVersion refuses a database that a newer reeve wrote.
func checkVersion(c *sqlite.Conn) error {
	names, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	if version > len(names) {
		return fmt.Errorf("%w: its schema is version %d, this reeve knows %d", ledger.ErrNewerSchema, version, len(names))
	}
	return nil
}
