package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"zombiezen.com/go/sqlite"
)

// TestScrub: of a tree that was erased nothing stays in the files, nor of what its
// tasks held before it was written over.
func TestScrub(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	secrets := []string{"-the-first-result-", "-the-second-result-", "-the-inputs-"}
	large := func(text string) jsontext.Value {
		return jsontext.Value(`{"text":"` + string(bytes.Repeat([]byte(text), 3000)) + `"}`)
	}
	one := storetest.NewTask(1, task.ID{})
	one.Root, one.Phase, one.Size, one.Inputs, one.Result = one.ID, task.PhaseComplete, 1, large(secrets[2]), large(secrets[0])
	write := func(writes *task.Writes) {
		t.Helper()
		err := s.Commit(t.Context(), w.Lease, nil, nil, func(ledger.Found) (*ledger.Batch, error) {
			return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(&task.Writes{New: []*task.Task{one}})
	write(&task.Writes{Texts: []task.Text{{Task: one.ID, Result: large(secrets[1])}}})
	write(&task.Writes{Texts: []task.Text{{Task: one.ID, Clear: true}}})
	found := func() (list []string) {
		for _, secret := range secrets {
			for _, name := range []string{dbName, dbName + "-wal"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil && bytes.Contains(data, []byte(secret)) {
					list = append(list, secret+" in "+name)
				}
			}
		}
		return list
	}
	if len(found()) < len(secrets) {
		t.Fatalf("before it is erased there is only %v", found())
	}
	if gone, err := s.RemoveTrees(t.Context(), []task.ID{one.ID}, time.Time{}, task.ByErasure); err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := found(); len(list) > 0 {
		t.Errorf("it stands still in the files: %v", list)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSweepLate: who sweeps a tree leaves alone what has its id since a commit has swept it.
func TestSweepLate(t *testing.T) {
	s := open(t, t.TempDir())
	l, err := storetest.NewTasks(t.Context(), s, "tester")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Log.Close()
	root := storetest.TaskID(0)
	build := func() {
		t.Helper()
		tree := []*task.Task{storetest.NewTask(0, task.ID{}), storetest.NewTask(1, root, 0)}
		if err := l.Apply(t.Context(), &task.Change{Kind: task.Create, Root: root, Tasks: tree}); err != nil {
			t.Fatal(err)
		}
	}
	build()
	if gone, err := s.RemoveTrees(t.Context(), []task.ID{root}, time.Time{}, task.ByErasure); err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	if err := s.SweepTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	build()
	err = s.step(t.Context(), func(c *sqlite.Conn) error { return sweepOne(c, root) })
	if rows, failed := s.TaskRows(t.Context(), task.RowQuery{Root: root}); err != nil || failed != nil || len(rows) != 2 {
		t.Errorf("%d tasks of the new tree are there, want 2: %v, %v", len(rows), err, failed)
	}
}

// BenchmarkRemoveTrees removes trees of one task while commits go on.
func BenchmarkRemoveTrees(b *testing.B) {
	storetest.BenchmarkRemoveTrees(b, func(b *testing.B) store.Store {
		s, err := Open(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s
	})
}
