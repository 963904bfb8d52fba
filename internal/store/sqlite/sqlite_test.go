package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
)

func TestStore(t *testing.T) {
	var mu sync.Mutex
	dirs := map[*testing.T]string{}
	storetest.Exercise(t, func(t *testing.T) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if dirs[t] == "" {
			dirs[t] = t.TempDir()
		}
		return watched{open(t, dirs[t]), t}
	})
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func writer(t *testing.T, s store.Store) *storetest.Writer {
	t.Helper()
	w, err := storetest.NewWriter(t.Context(), s, "tester")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// entries returns n entries, each with a new session, and an opening of size bytes.
func entries(w *storetest.Writer, n, size int) (list []storetest.Entry) {
	for i := range uint64(n) {
		list = append(list, storetest.Entry{
			Record:  storetest.Record(w.Size+i, 450),
			Opening: bytes.Repeat([]byte("o"), size),
			Claims:  []ledger.Claim{{Key: storetest.Key(w.Size + i), First: true, Data: []byte("claim")}},
		})
	}
	return list
}

func commit(t *testing.T, w *storetest.Writer, list ...storetest.Entry) {
	t.Helper()
	if lost, err := w.Commit(t.Context(), list...); err != nil || lost != nil {
		t.Fatalf("commit: lost %v, error %v", lost, err)
	}
}

// whole makes sure that the store holds exactly the records and the sessions
// that w wrote with entries.
func whole(t *testing.T, w *storetest.Writer) {
	t.Helper()
	head, err := w.Store.Head(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if head.Size != w.Size {
		t.Fatalf("the log has %d records, want %d", head.Size, w.Size)
	}
	next := uint64(0)
	err = w.Store.Records(t.Context(), 0, 0, 1<<40, func(i uint64, r []byte) error {
		if i != next || !bytes.Equal(r, storetest.Record(i, 450)) {
			return fmt.Errorf("record %d follows record %d, or is another", i, next)
		}
		next++
		return nil
	})
	if err != nil || next != w.Size {
		t.Fatalf("the log reads to %d of %d: %v", next, w.Size, err)
	}
	for i := uint64(0); i < w.Size+2; i += 1 + w.Size/50 {
		pos, ok, err := w.Store.KeyHead(t.Context(), storetest.Key(i))
		if err != nil || ok != (i < w.Size) || ok && pos.Index != i {
			t.Fatalf("session %d of %d is at %v, %v: %v", i, w.Size, pos, ok, err)
		}
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(dir, Options{})
	if !errors.Is(err, ledger.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("a second opening: %v, want ErrInUse with our process", err)
	}
	if err := Restore("nothing", dir); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("restoring into it: %v, want ErrInUse", err)
	}
	s.Close()
	open(t, dir)
}

func TestNewerSchema(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.write(func(c *sqlite.Conn) error { return execute(c, `UPDATE schema_version SET version = 999`) }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	before, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(dir, opts); !errors.Is(err, ledger.ErrNewerSchema) {
			t.Errorf("%+v: %v, want ErrNewerSchema", opts, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, dbName)); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%+v: the refused database was changed: %v", opts, err)
		}
	}
	// It was given back.
	if f, err := takeLock(dir); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}

// TestReadOnly reads beside a node and without one.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no database: %v, want ErrNotExist", err)
	}
	s := open(t, dir)
	w := writer(t, s)
	commit(t, w, entries(w, 300, 10)...)

	look := func(t *testing.T) {
		r, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		seen := *w
		seen.Store = r
		whole(t, &seen)
		if _, err := r.Acquire(t.Context(), "reader"); !errors.Is(err, errReadOnly) {
			t.Errorf("a reader acquires the log: %v", err)
		}
		if err := r.Probe(t.Context()); !errors.Is(err, errReadOnly) {
			t.Errorf("a reader writes: %v", err)
		}
		if err := r.Erase(t.Context(), []act.Position{{Index: 1}}); !errors.Is(err, errReadOnly) {
			t.Errorf("a reader erases: %v", err)
		}
	}
	t.Run("Beside", func(t *testing.T) {
		look(t)
		commit(t, w, entries(w, 5, 10)...)
		look(t)
	})
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}
	commit(t, w, entries(w, 5, 10)...)
	t.Run("BesideMerged", look)
	s.Close()
	t.Run("Alone", look)
	if _, err := os.Stat(filepath.Join(dir, dbName)); err != nil {
		t.Fatal(err)
	}
	w.Store = open(t, dir)
	whole(t, w)
}

// TestErase looks for the erased bytes in the database's files.
func TestErase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	secret := func(i uint64) []byte { return fmt.Appendf(nil, "-the-secret-of-%04d-", i) }
	for range 20 {
		list := entries(w, 30, 0)
		for i := range list {
			list[i].Opening = bytes.Repeat(secret(w.Size+uint64(i)), 200)
		}
		commit(t, w, list...)
	}
	found := func(text []byte) (files []string) {
		t.Helper()
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, text) {
				files = append(files, name.Name())
			}
		}
		return files
	}
	if found(secret(77)) == nil {
		t.Fatal("the secret is nowhere before it is erased")
	}
	if err := s.Erase(t.Context(), []act.Position{{Index: 77}, {Index: 300}, {Index: 599}}); err != nil {
		t.Fatal(err)
	}
	for _, i := range []uint64{77, 300, 599} {
		if files := found(secret(i)); files != nil {
			t.Errorf("erased secret %d is still in %v", i, files)
		}
	}
	if found(secret(78)) == nil {
		t.Error("a secret that was not erased is gone")
	}

	// What expires is overwritten, too, once the WAL is.
	w.At = storetest.Epoch.Add(time.Hour)
	commit(t, w, entries(w, 30, 3000)...)
	if _, _, err := s.TrimOpenings(t.Context(), storetest.Epoch.Add(time.Hour), 1<<40); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for i := uint64(0); i < 600; i += 7 {
		if files := found(secret(i)); files != nil {
			t.Fatalf("expired secret %d is still in %v", i, files)
		}
	}
}

// TestEraseBesideReader erases while another program reads the database and does
// not end: commits go on meanwhile, Erase says what is left, and the journal is
// emptied once the reader has ended.
func TestEraseBesideReader(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	secret := []byte("-the-secret-of-a-reader-")
	list := entries(w, 30, 0)
	list[7].Opening = bytes.Repeat(secret, 200)
	commit(t, w, list...)

	reader, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, text := range []string{"BEGIN", "SELECT count(*) FROM batch"} {
		if err := do(reader, text); err != nil {
			t.Fatal(err)
		}
	}

	// A checkpoint that waited for the reader would hold up commits for
	// busyTimeout, if not for ever.
	const slow = busyTimeout / 2
	erased := make(chan error, 1)
	go func() { erased <- s.Erase(t.Context(), []act.Position{{Index: 7}}) }()
	slowest, commits := time.Duration(0), 0
	for running := true; running; commits++ {
		began := time.Now()
		commit(t, w, entries(w, 5, 100)...)
		slowest = max(slowest, time.Since(began))
		select {
		case err = <-erased:
			running = false
		case <-time.After(5 * time.Millisecond):
		}
		if slowest > slow {
			t.Fatalf("a commit took %s beside an erasure", slowest)
		}
	}
	t.Logf("%d commits, the slowest took %s", commits, slowest)
	if err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("erasing beside a reader: %v, want an error that tells of the journal", err)
	}
	if _, err := s.Opening(t.Context(), act.Position{Index: 7}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the erased opening: %v, want ErrNotFound", err)
	}

	if err := do(reader, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s.wake() // the next tending
	wal := filepath.Join(dir, dbName+"-wal")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		info, err := os.Stat(wal)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the journal has %d bytes long after the reader has ended", info.Size())
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, secret) {
		t.Error("the secret is still in the database")
	}
	whole(t, w)
}

// TestLeftJournal opens a database whose process died before the journal could be
// emptied: it may hold what was erased, and is emptied soon.
func TestLeftJournal(t *testing.T) {
	dir, dead := t.TempDir(), t.TempDir()
	s := open(t, dead)
	w := writer(t, s)
	commit(t, w, entries(w, 30, 300)...)
	for _, name := range []string{dbName, dbName + "-wal"} {
		data, err := os.ReadFile(filepath.Join(dead, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Store = open(t, dir)
	w.Store.(*Store).wake() // the next tending
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, dbName+"-wal")); err != nil || info.Size() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the journal that was left is not emptied")
		}
	}
	whole(t, w)
}

// TestEraseUnderLoad erases while this process writes and reads without a pause:
// there is no moment at which none of its readers needs the journal.
func TestEraseUnderLoad(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	for range 10 {
		commit(t, w, entries(w, 100, 3000)...)
	}
	var readers sync.WaitGroup
	defer readers.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for range 2 * maxReaders {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.read(context.Background(), func(c *sqlite.Conn) error {
					if err := errors.Join(do(c, "BEGIN"), do(c, "SELECT count(*) FROM batch")); err != nil {
						return err
					}
					time.Sleep(20 * time.Millisecond)
					return do(c, "ROLLBACK")
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	size := w.Size
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.Commit(context.Background(), entries(w, 5, 100)...); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range size / 400 {
		if err := s.Erase(t.Context(), []act.Position{{Index: i}}); err != nil {
			t.Error(err)
		}
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "one"))
	w := writer(t, s)
	for range 40 {
		commit(t, w, entries(w, 100, 500)...)
	}
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}

	// The node goes on while the copy is made.
	copied := *w
	file := filepath.Join(dir, "backup.db")
	done := make(chan error)
	go func() { done <- s.Backup(context.Background(), file, []byte("sealed")) }()
	for more := true; more; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			more = false
		default:
			commit(t, w, entries(w, 100, 500)...)
		}
	}
	if err := s.Backup(t.Context(), file, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a backup over another: %v, want ErrExist", err)
	}
	if parts, _ := filepath.Glob(filepath.Join(dir, "*.part*")); parts != nil {
		t.Errorf("%v was left", parts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, file+"2", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled backup: %v", err)
	}

	two := filepath.Join(dir, "two")
	if seed, err := SealedSeed(file); err != nil || string(seed) != "sealed" {
		t.Errorf("the sealed seed is %q, %v", seed, err)
	}
	if err := Restore(file, two); err != nil {
		t.Fatal(err)
	}
	if seed, err := SealedSeed(filepath.Join(two, dbName)); err != nil || seed != nil {
		t.Errorf("the restored database holds the sealed seed %q, %v", seed, err)
	}
	restored := open(t, two)
	head, err := restored.Head(t.Context(), 0)
	if err != nil || head.Size < 4000 || head.Size > w.Size {
		t.Fatalf("the copy has %d records, want between 4000 and %d: %v", head.Size, w.Size, err)
	}
	copied.Store, copied.Size = restored, head.Size
	whole(t, &copied)
	again := writer(t, restored)
	commit(t, again, entries(again, 3, 10)...)
	restored.Close()

	// A restore replaces nothing, and a damaged copy is refused.
	if err := Restore(file, two); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("restoring over a database: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut short":      func(b []byte) []byte { return b[:len(b)/2] },
		"another file":   func(b []byte) []byte { return []byte("not a database") },
		"empty":          func(b []byte) []byte { return nil },
		"pages of noise": func(b []byte) []byte { copy(b[4096*10:], bytes.Repeat([]byte{0xa5}, 4096*200)); return b },
	} {
		bad := filepath.Join(dir, "bad.db")
		if err := os.WriteFile(bad, damage(bytes.Clone(data)), 0o600); err != nil {
			t.Fatal(err)
		}
		three := filepath.Join(dir, "three")
		if err := Restore(bad, three); err == nil {
			t.Errorf("%s: restored", name)
		}
		if left, _ := filepath.Glob(filepath.Join(three, dbName+"*")); left != nil {
			t.Errorf("%s: %v was left", name, left)
		}
	}
	for _, statement := range []string{`CREATE TRIGGER more AFTER INSERT ON batch BEGIN DELETE FROM api_key; END`, `CREATE VIEW more AS SELECT 1`} {
		bad := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := withFile(bad, sqlite.OpenReadWrite, func(c *sqlite.Conn) error { return execute(c, statement) }); err != nil {
			t.Fatal(err)
		}
		if err := Restore(bad, filepath.Join(t.TempDir(), "four")); err == nil || !strings.Contains(err.Error(), "which no node makes") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestMerge merges heads over several levels, with crashes in between.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, open(t, dir))
	crash := func() { // as if the process had died: nothing is flushed
		w.Store.Close()
		w = writer(t, open(t, dir))
	}
	for i := range 70 {
		list := make([]storetest.Entry, 0, 5000)
		for range 5000 {
			n := w.Size + uint64(len(list))
			list = append(list, storetest.Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: storetest.Key(n), First: true}}})
		}
		commit(t, w, list...)
		switch i {
		case 5, 15, 30:
			if err := w.Store.(*Store).flushHeads(); err != nil {
				t.Fatal(err)
			}
		case 20, 40:
			crash()
		case 50:
			// A merge that is cut off leaves blocks that nothing refers to.
			s := w.Store.(*Store)
			s.heads.flushing.Lock()
			if err := s.read(t.Context(), s.heads.readFilter); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.merge(s.heads.dirty, s.heads.runs); err != nil {
				t.Fatal(err)
			}
			s.heads.flushing.Unlock()
			crash()
		}
	}
	s := w.Store.(*Store)
	for i := uint64(0); i < w.Size+5000; i += 97 {
		pos, ok, err := s.KeyHead(t.Context(), storetest.Key(i))
		if err != nil || ok != (i < w.Size) || ok && pos.Index != i {
			t.Fatalf("session %d of %d is at %v, %v: %v", i, w.Size, pos, ok, err)
		}
	}
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}
	if len(s.heads.dirty) != 0 || s.heads.frozen != nil {
		t.Error("heads are left in memory after they were merged")
	}
	// Every head stands once, and nothing else is left.
	var runs, entries int64
	for _, r := range s.heads.runs {
		if r.count > 0 {
			runs++
			entries += r.count
		}
	}
	if entries != int64(w.Size) || runs < 1 {
		t.Errorf("%d runs have %d heads, want %d", runs, entries, w.Size)
	}
	var stored int64
	err := s.read(t.Context(), func(c *sqlite.Conn) error {
		return query(c, `SELECT sum(length(data) - 4) / 24 FROM head_block`, func(stmt *sqlite.Stmt) error {
			stored = stmt.ColumnInt64(0)
			return nil
		})
	})
	if err != nil || stored != entries {
		t.Errorf("%d heads are stored, want %d: %v", stored, entries, err)
	}
}

// TestMergeFails lets merges fail: nothing is lost, and the next one succeeds.
func TestMergeFails(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 1000, 0)...)
	limit(t, s, 1)
	if err := s.flushHeads(); err == nil {
		t.Fatal("a full disk took the heads")
	}
	limit(t, s, 1<<30)
	whole(t, w)
	commit(t, w, entries(w, 1000, 0)...)
	whole(t, w)
	for range 2 {
		if err := s.flushHeads(); err != nil {
			t.Fatal(err)
		}
		whole(t, w)
	}
}

// TestPruneAfterFailedMerge prunes when a merge has failed, so that heads wait in
// two places, and when a commit that was reported as failed is not known yet: the
// claims that go are in the runs first, or the database could not be opened again.
func TestPruneAfterFailedMerge(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	commit(t, w, entries(w, 1000, 0)...)
	limit(t, s, 1)
	if err := s.flushHeads(); err == nil {
		t.Fatal("a full disk took the heads")
	}
	limit(t, s, 1<<30)
	commit(t, w, entries(w, 1000, 0)...)
	commit(t, w, entries(w, 560, 0)...)
	s.heads.mu.Lock()
	for i := uint64(2000); i < 2560; i++ {
		delete(s.heads.dirty, storetest.Key(i))
	}
	s.heads.upto = 2000
	s.heads.mu.Unlock()
	if err := s.PruneRecords(t.Context(), 0, 2560, []byte("pruned")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		commit(t, w, entries(w, 10, 0)...)
		for i := range w.Size {
			pos, ok, err := s.KeyHead(t.Context(), storetest.Key(i))
			if err != nil || !ok || pos.Index != i {
				t.Fatalf("session %d of %d is at %v, %v: %v", i, w.Size, pos, ok, err)
			}
		}
		s.Close() // nothing is flushed: as if the process had died
		s = open(t, dir)
		w = writer(t, s)
	}
}

// limit bounds the database to a number of pages, or to those it has.
func limit(t *testing.T, s *Store, pages int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.writable()
	if err == nil {
		err = do(c, fmt.Sprint("PRAGMA max_page_count=", pages))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFull fills the database up: commits fail whole, and go on afterwards.
func TestFull(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 10, 100)...)
	limit(t, s, 1)
	_, err := w.Commit(t.Context(), entries(w, 10, 100_000)...)
	if sqlite.ErrCode(err) != sqlite.ResultFull {
		t.Fatalf("a commit to a full database: %v", err)
	}
	whole(t, w)
	commit(t, w, entries(w, 10, 100_000)...) // on a new connection, without the limit
	whole(t, w)
}

// TestAmbiguous tells the store that a commit failed which did not: it finds
// out, and keeps the sessions right.
func TestAmbiguous(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 10, 0)...)
	s.heads.mu.Lock()
	for i := range uint64(10) {
		delete(s.heads.dirty, storetest.Key(i))
	}
	s.heads.upto = 0
	s.heads.mu.Unlock()
	commit(t, w, entries(w, 10, 0)...)
	whole(t, w)
}

// TestCheckpoint makes sure that the WAL is begun anew while commits go on
// without a pause, and is gone in the end.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	for written := int64(0); ; {
		commit(t, w, entries(w, 40, 100_000)...)
		written += 40 * 100_000
		info, err := os.Stat(filepath.Join(dir, dbName+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		if written > info.Size()+20<<20 {
			break
		}
		if written > 1<<30 {
			t.Fatalf("the WAL has grown to %d MB", info.Size()>>20)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, dbName+"-wal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the WAL is left after Close: %v", err)
	}
}

// TestDamaged reads rows that somebody has changed: errors, and no panic.
func TestDamaged(t *testing.T) {
	for _, change := range []string{
		`UPDATE batch SET records = substr(records, 1, 100)`,
		`UPDATE batch SET count = -1`,
		`UPDATE batch SET count = 9223372036854775807`,
		`UPDATE batch SET count = count + 1`,
		`UPDATE batch SET records = 7, leaves = 'x', claims = zeroblob(50)`,
		`UPDATE opening SET data = zeroblob(4)`,
		`UPDATE opening SET data = X'ffffffffffffffff'`,
		`UPDATE opening SET count = 1 << 40`,
	} {
		t.Run(change, func(t *testing.T) {
			s := open(t, t.TempDir())
			w := writer(t, s)
			commit(t, w, entries(w, 5, 30)...)
			if err := s.write(func(c *sqlite.Conn) error { return execute(c, change) }); err != nil {
				t.Fatal(err)
			}
			errs := map[string]error{}
			errs["records"] = s.Records(t.Context(), 0, 0, 5, func(uint64, []byte) error { return nil })
			_, errs["hashes"] = s.Nodes(t.Context(), 0, 0, 0, 5)
			_, errs["opening"] = s.Opening(t.Context(), act.Position{Index: 2})
			_, errs["session"] = s.KeyWrite(t.Context(), act.Position{Index: 2}, storetest.Key(2))
			wrong := 0
			for what, err := range errs {
				switch {
				case errors.Is(err, layout.ErrDamaged), errors.Is(err, ledger.ErrNotFound):
					wrong++
				case err != nil:
					t.Errorf("%s: %v", what, err)
				}
			}
			if wrong == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}

// Closing merges where many commits left heads, so that the next start reads few claims;
// and what is looked for then is found with the filter and before it is read.
func TestHeadsAtClose(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, open(t, dir))
	for i := range uint64(closeSince) {
		commit(t, w, storetest.Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: storetest.Key(i), First: true}}})
	}
	w.Store.Close()
	s := open(t, dir)
	if n := s.heads.unmerged(); n != 0 || s.heads.filter != nil {
		t.Errorf("%d batches are read at a start, and the filter is read: %v", n, s.heads.filter != nil)
	}
	for round := range 2 {
		for i := range uint64(2 * closeSince) {
			pos, ok, err := s.KeyHead(t.Context(), storetest.Key(i))
			if err != nil || ok != (i < closeSince) || ok && pos.Index != i {
				t.Fatalf("round %d: session %d is at %v, %v: %v", round, i, pos, ok, err)
			}
		}
		if s.heads.filter == nil {
			t.Error("the filter was not read")
		}
	}
	// New keys are in the filter, whether it was read before or after they came.
	w = writer(t, s)
	commit(t, w, storetest.Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: storetest.Key(9999), First: true}}})
	w.Store.Close()
	s = open(t, dir)
	w = writer(t, s)
	commit(t, w, storetest.Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: storetest.Key(9998), First: true}}})
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}
	w.Store.Close()
	s = open(t, dir)
	if err := s.read(t.Context(), s.heads.readFilter); err != nil {
		t.Fatal(err)
	}
	for _, i := range []uint64{0, 9998, 9999} {
		if s.heads.never(storetest.Key(i)) {
			t.Errorf("the filter denies session %d", i)
		}
	}
}

func TestHeadFilter(t *testing.T) {
	h := heads{dirty: map[ledger.Key]uint64{}, filter: make([]byte, filterBytes)}
	for i := range uint64(200_000) {
		h.put(storetest.Key(i), i)
	}
	wrong := 0
	for i := range uint64(200_000) {
		if h.never(storetest.Key(i)) {
			t.Fatalf("the filter denies session %d", i)
		}
		if !h.never(storetest.Key(i + 1<<32)) {
			wrong++
		}
	}
	if wrong > 200 {
		t.Errorf("the filter takes %d of 200000 new sessions for old ones", wrong)
	}
	if d := cmp.Diff(200_000, len(h.dirty)); d != "" {
		t.Error(d)
	}
}

func TestThreat22Injection(t *testing.T) {
	dir := t.TempDir()
	storetest.Injection(t, func(t *testing.T) store.Store { return open(t, dir) })
}

// TestEraseBusy: an erasure waits for a try to empty the journal that takes long, since the
// machine is busy, and says that a copy stays only where that is so.
func TestEraseBusy(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 5, 0)...)
	<-s.slots // as a read of our own has, for which every try waits
	erased := make(chan error, 1)
	go func() { erased <- s.Erase(t.Context(), []act.Position{{Index: 3}}) }()
	select {
	case err := <-erased:
		t.Errorf("before a try was over: %v", err)
		s.slots <- struct{}{}
		return
	case <-time.After(3500 * time.Millisecond): // longer than all pauses together
	}
	s.slots <- struct{}{}
	if err := <-erased; err != nil {
		t.Error(err)
	}
}

// TestMissing: who reads of a table or column that is gone is told which, and no statement.
func TestMissing(t *testing.T) {
	for change, want := range map[string]string{
		`ALTER TABLE head DROP COLUMN pruned_checkpoint`: "its column pruned_checkpoint is missing",
		`DROP TABLE head`: "its table head is missing",
	} {
		dir := t.TempDir()
		s, err := Open(dir, Options{})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(execute(c, change), c.Close()); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(dir, Options{ReadOnly: true}); err == nil {
			_, err = s.Head(t.Context(), 0)
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SELECT") {
			t.Errorf("%s: %v", change, err)
		}
	}
}
