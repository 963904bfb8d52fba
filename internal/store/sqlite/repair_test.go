package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/internal/store/storetest"

	"zombiezen.com/go/sqlite"
)

// damage changes the database as a fault of the disk, or somebody, would.
func damage(t *testing.T, s *Store, statements ...string) {
	t.Helper()
	err := s.write(func(c *sqlite.Conn) error {
		for _, text := range statements {
			if err := execute(c, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What can become of the index of sessions.
var damages = map[string]string{
	"a level that is none": `INSERT INTO head_run VALUES (99, 1, 1, 1)`,
	"a run of no blocks":   `UPDATE head_run SET run = run + 100`,
	"another depth":        `UPDATE head_run SET depth = depth + 1`,
	"garbage of its size":  `UPDATE head_block SET data = randomblob(length(data))`,
	"garbage":              `UPDATE head_block SET data = x'00'`,
	"nothing":              `UPDATE head_block SET data = x''`,
	"text":                 `UPDATE head_block SET data = 'block'`,
	"no blocks":            `DELETE FROM head_block`,
	"one block less":       `DELETE FROM head_block WHERE id = (SELECT max(id) FROM head_block)`,
	"one bit":              `UPDATE head_block SET data = CAST(substr(data, 1, 100) || char(1) || substr(data, 102) AS BLOB)`,
	"an empty filter":      `UPDATE head_filter SET data = zeroblob(length(data))`,
	"no filter":            `DELETE FROM head_filter`,
	"a short filter":       `UPDATE head_filter SET data = x'00' WHERE part = 3`,
}

// TestDamagedIndex: whatever becomes of the index of sessions, the node starts, says so, and
// no session that was there reads as one that never was.
func TestDamagedIndex(t *testing.T) {
	for name, statement := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			w := writer(t, s)
			commit(t, w, entries(w, 2000, 0)...)
			if err := s.flushHeads(); err != nil {
				t.Fatal(err)
			}
			commit(t, w, entries(w, 10, 0)...)
			damage(t, s, statement)
			// While it runs, and after a start that has not noticed, who is asked for is found,
			// or cannot be told.
			s.Close()
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := uint64(0); i < w.Size; i += 7 {
				pos, ok, err := s.KeyHead(t.Context(), storetest.Key(i))
				if err == nil && (!ok || pos.Index != i) || err != nil && !errors.Is(err, layout.ErrDamaged) {
					t.Fatalf("session %d is at %v, %v: %v", i, pos, ok, err)
				}
			}
			s.Close()
			var log bytes.Buffer
			s, err = Open(dir, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if name != "a level that is none" && !strings.Contains(log.String(), "made again") {
				t.Errorf("it does not say what was damaged: %q", log.String())
			}
			w = writer(t, s)
			commit(t, w, entries(w, 10, 0)...)
			whole(t, w)
			s.Close()
			log.Reset()
			if s, err = Open(dir, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil || log.Len() > 0 {
				t.Fatalf("it is still damaged: %v %s", err, log.String())
			}
			s.Close()
		})
	}
}

// TestDamagedIndexLosesOne: a claim of which nobody can say whether it is on its head loses,
// and the others of its batch do not.
func TestDamagedIndexLosesOne(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 100, 0)...)
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}
	damage(t, s, `UPDATE head_block SET data = randomblob(length(data))`)
	fresh := entries(w, 2, 0)
	old := storetest.Entry{Record: storetest.Record(w.Size+2, 450), Claims: []ledger.Claim{{Key: storetest.Key(7), First: true, Data: []byte("anew")}}}
	lost, err := w.Commit(t.Context(), append(fresh, old)...)
	if err != nil || len(lost) != 1 || lost[0] != 2 {
		t.Fatalf("lost %v, %v; want the last alone", lost, err)
	}
}

// TestDamagedIndexAfterPrune: where records are gone, the sessions of those that are left are
// found again, new ones begin, and those that were lost are told from new ones: they are
// denied, also after the next start. Where the filter is damaged, too, nobody could tell.
func TestDamagedIndexAfterPrune(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	commit(t, w, entries(w, 1024, 0)...)
	commit(t, w, entries(w, 1024, 0)...)
	if err := s.PruneRecords(t.Context(), 0, 1024, []byte("pruned")); err != nil {
		t.Fatal(err)
	}
	damage(t, s, `UPDATE head_block SET data = randomblob(length(data))`)
	if _, _, err := s.KeyHead(t.Context(), storetest.Key(0)); !errors.Is(err, layout.ErrDamaged) {
		t.Errorf("it is not noticed: %v", err)
	}
	s.Close()
	for range 2 {
		s = open(t, dir)
		for i := range uint64(3072) {
			pos, ok, err := s.KeyHead(t.Context(), storetest.Key(i))
			switch {
			case i < 1024 && !errors.Is(err, errGone), i >= 1024 && i < 2048 && (err != nil || !ok || pos.Index != i), i >= 2048 && (err != nil || ok):
				t.Fatalf("session %d is at %v, %v: %v", i, pos, ok, err)
			}
		}
		s.Close()
	}
	s = open(t, dir)
	damage(t, s, `UPDATE head_block SET data = randomblob(length(data))`, `UPDATE head_filter SET data = randomblob(length(data)) WHERE part = 3`)
	if _, _, err := s.KeyHead(t.Context(), storetest.Key(1500)); !errors.Is(err, layout.ErrDamaged) {
		t.Errorf("it is not noticed: %v", err)
	}
	s.Close()
	if s, err := Open(dir, Options{}); !errors.Is(err, layout.ErrDamaged) || !strings.Contains(err.Error(), "restore a backup") {
		if err == nil {
			s.Close()
		}
		t.Errorf("it opens: %v", err)
	}
}
