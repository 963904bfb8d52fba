package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup writes a consistent copy of the database to a new file, which only its
// owner can read, with the ledger's seed as it was sealed. Commits go on meanwhile. The
// file appears under its name only when it is whole and on the disk.
func (s *Store) Backup(ctx context.Context, file string, sealedSeed []byte) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = os.ErrExist
		}
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up to %s: %w", file, err), os.Remove(part))
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.copy(ctx, part); err != nil {
		return err
	}
	if sealedSeed != nil {
		if err := putSeed(part, sealedSeed); err != nil {
			return err
		}
	}
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// copy copies the database to a file, which takes long: it is none of the reads that the
// tending waits for.
func (s *Store) copy(ctx context.Context, file string) (err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	s.copies.Add(1)
	s.mu.Unlock()
	defer s.copies.Done()
	c, err := s.openReader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return copyDatabase(ctx, c, file)
}

// copyDatabase copies what c reads to a file, and makes of it a database that
// needs no other files beside it.
func copyDatabase(ctx context.Context, c *sqlite.Conn, file string) (err error) {
	to, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	// Within one transaction, which begins with the first read, the copy is of
	// one state: without it, each commit would make SQLite begin the copy again.
	if err := do(c, "BEGIN"); err != nil {
		return err
	}
	defer do(c, "ROLLBACK")
	if _, err := headSize(c); err != nil {
		return err
	}
	backup, err := sqlite.NewBackup(to, "main", c, "main")
	if err != nil {
		return err
	}
	for more := true; more; {
		if err = ctx.Err(); err == nil {
			more, err = backup.Step(backupPages)
		}
		if err != nil {
			backup.Close()
			return err
		}
	}
	if err := backup.Close(); err != nil {
		return err
	}
	return execute(to, "PRAGMA journal_mode=DELETE")
}

// Restore puts a copy that Backup made into a directory, whose node is not
// running, after verifying that it is whole. It never replaces a database.
func Restore(file, dir string) (err error) {
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	target := filepath.Join(dir, dbName)
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restore: %s is there already; move it away first", target)
	}
	part := target + ".part"
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("restore %s: %w", file, err), ignoreMissing(os.Remove(part)))
		}
	}()
	if err := copyFile(file, part); err != nil {
		return err
	}
	if err := verify(part); err != nil {
		return err
	}
	if err := withFile(part, sqlite.OpenReadWrite, func(c *sqlite.Conn) error { return execute(c, `DROP TABLE IF EXISTS sealed_seed`) }); err != nil {
		return err
	}
	// A WAL without its database would be read as part of the new one.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := ignoreMissing(os.Remove(target + suffix)); err != nil {
			return err
		}
	}
	if err := os.Rename(part, target); err != nil {
		return err
	}
	return syncDir(dir)
}

// putSeed adds a sealed seed to a copy.
func putSeed(file string, seed []byte) error {
	return withFile(file, sqlite.OpenReadWrite, func(c *sqlite.Conn) error {
		if err := execute(c, `CREATE TABLE sealed_seed (seed BLOB NOT NULL)`); err != nil {
			return err
		}
		return execute(c, `INSERT INTO sealed_seed VALUES (?)`, seed)
	})
}

// SealedSeed is the sealed seed that a copy holds; nil where it holds none.
func SealedSeed(file string) (seed []byte, err error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	err = withFile(file, sqlite.OpenReadOnly, func(c *sqlite.Conn) error {
		there := false
		err := query(c, `SELECT 1 FROM sqlite_schema WHERE name = 'sealed_seed'`, func(*sqlite.Stmt) error { there = true; return nil })
		if err != nil || !there {
			return err
		}
		const longest = 64 << 10
		return query(c, `SELECT seed FROM sealed_seed`, func(stmt *sqlite.Stmt) error {
			if seed != nil || stmt.ColumnLen(0) > longest {
				return layout.ErrDamaged
			}
			seed = make([]byte, stmt.ColumnLen(0))
			stmt.ColumnBytes(0, seed)
			return nil
		})
	})
	return seed, err
}

// withFile opens the database of a copy, which nothing else has open.
func withFile(file string, how sqlite.OpenFlags, f func(*sqlite.Conn) error) error {
	c, err := sqlite.OpenConn(file, how)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// verify makes sure that a file is a whole database of ours.
func verify(file string) (err error) {
	c, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = query(c, "PRAGMA integrity_check(1)", func(stmt *sqlite.Stmt) error {
		if said := stmt.ColumnText(0); said != "ok" {
			return fmt.Errorf("%w: %s", layout.ErrDamaged, said)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := checkVersion(c); err != nil {
		return err
	}
	version, err := schemaVersion(c)
	if err == nil && version == 0 {
		err = errors.New("it is not a database of reeve")
	}
	if err != nil {
		return err
	}
	// A trigger would run with what the restored node writes, and a view stand in a table's place.
	return query(c, "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')", func(stmt *sqlite.Stmt) error {
		return fmt.Errorf("%w: it has a %s %.100q, which no node makes", layout.ErrDamaged, stmt.ColumnText(0), stmt.ColumnText(1))
	})
}
