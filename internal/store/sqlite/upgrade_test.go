package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestUpgrade brings a database of the third schema up to date.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	storetest.Upgrade(t, func(t *testing.T) store.Store { return open(t, dir) }, func(t *testing.T) {
		c, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite, sqlite.OpenWAL)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := sqlitex.ExecuteScript(c, `DROP TABLE reached; DROP TABLE fact; DROP TABLE segment; DROP TABLE segment_page; DROP TABLE segments_dropped; ALTER TABLE api_key DROP COLUMN person; ALTER TABLE api_key DROP COLUMN seal; DROP TABLE task_ref; DROP TABLE task_gone; DROP TABLE item;
			CREATE TABLE item (kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, open INTEGER NOT NULL, due INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
			CREATE INDEX item_due ON item (kind, due) WHERE due > 0;
			CREATE INDEX item_open ON item (kind, id) WHERE open = 1;
			UPDATE schema_version SET version = 3;`, nil); err != nil {
			t.Fatal(err)
		}
		for id, data := range storetest.OldItems {
			if err := execute(c, `INSERT INTO item (kind, id, version, open, due, data) VALUES ('agent', ?, 0, 0, 0, ?)`, id, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestReadEarlier: a log is read in a database of an earlier version that nobody has brought up to date, and
// reading does not change it.
func TestReadEarlier(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	version := func(change string) (n int) {
		c, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := sqlitex.ExecuteScript(c, change, nil); err != nil {
			t.Fatal(err)
		}
		if n, err = schemaVersion(c); err != nil {
			t.Fatal(err)
		}
		return n
	}
	version(`DROP TABLE reached; DROP TABLE fact; DROP TABLE segment; DROP TABLE segment_page; DROP TABLE segments_dropped; UPDATE schema_version SET version = 7;`)
	r, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := t.Context()
	if err := r.Facts(ctx, 0, 0, 10, func(uint64, []byte) error { return nil }); err != nil {
		t.Errorf("facts: %v", err)
	}
	if list, err := r.Segments(ctx, 0); err != nil || list != nil {
		t.Errorf("segments: %v, %v", list, err)
	}
	if n, err := r.SegmentsDropped(ctx, 0); err != nil || n != 0 {
		t.Errorf("dropped: %d, %v", n, err)
	}
	if _, err := r.Reached(ctx, "x", 0); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("reached: %v", err)
	}
	if n := version(""); n != 7 {
		t.Errorf("the schema is %d", n)
	}
}
