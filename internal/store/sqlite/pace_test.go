package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/storetest"
)

// many returns an entry that writes n new sessions.
func many(w *storetest.Writer, n int) storetest.Entry {
	e := storetest.Entry{Record: storetest.Record(w.Size, 450)}
	for i := range uint64(n) {
		e.Claims = append(e.Claims, ledger.Claim{Key: storetest.Key(1<<60 | w.Size<<24 | i), First: true, Data: []byte("claim")})
	}
	return e
}

// soon is a context that ends at once for a commit that waits for ever, and is no bound for one
// that does not: that one has ended before it looks.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestThreat02SlowMerge: where sessions come faster than their heads are merged, commits wait
// for the merge and fail none, memory stays bounded, and the WAL is copied meanwhile.
func TestThreat02SlowMerge(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	s.heads.flushing.Lock() // a merge that does not go on
	locked := true
	defer func() {
		if locked {
			s.heads.flushing.Unlock()
		}
	}()
	const each = 1 << 14
	for range softDirty / each {
		commit(t, w, many(w, each))
	}
	if _, err := w.Commit(soon(t), many(w, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a commit while the heads of %d sessions wait to be merged: %v", softDirty, err)
	}
	if n := len(s.heads.dirty); n != softDirty {
		t.Errorf("the heads of %d sessions are in memory, want %d", n, softDirty)
	}
	s.heads.flushing.Unlock()
	locked = false
	commit(t, w, many(w, 1))
	for i := range w.Size {
		pos, ok, err := s.KeyHead(t.Context(), storetest.Key(1<<60|i<<24))
		if err != nil || !ok || pos.Index != i {
			t.Fatalf("a session of record %d of %d is at %v, %v: %v", i, w.Size, pos, ok, err)
		}
	}
}

// TestBehind says how many heads may be in memory, by how far a merge has come.
func TestBehind(t *testing.T) {
	broken := errors.New("no")
	for _, test := range []struct {
		name          string
		dirty         int
		toMerge, done int64
		failed        error
		behind        bool
		err           error
	}{
		{"few", 1, 0, 0, nil, false, nil},
		{"before a merge", softDirty, 0, 0, nil, true, nil},
		{"as it begins", softDirty, 1000, 0, nil, true, nil},
		{"in the middle", softDirty, 1000, 500, nil, false, nil},
		{"in the middle, more", (softDirty + hardDirty) / 2, 1000, 500, nil, true, nil},
		{"near the end", hardDirty - 1000, 1000, 999, nil, false, nil},
		{"most", hardDirty, 1000, 1000, nil, true, nil},
		{"merges fail", softDirty, 1000, 0, broken, false, nil},
		{"merges fail, most", hardDirty, 1000, 0, broken, true, broken},
	} {
		h := heads{dirty: map[ledger.Key]uint64{}, toMerge: test.toMerge, didMerge: test.done, failed: test.failed}
		for i := range test.dirty {
			h.dirty[storetest.Key(uint64(i))] = 0
		}
		if behind, err := h.behind(); behind != test.behind || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, %v", test.name, behind, err)
		}
	}
}

// TestAfterMerge: while the runs are removed that a merge took the place of, as many heads may
// wait as at its end.
func TestAfterMerge(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, many(w, 1000))
	if err := s.flushHeads(); err != nil {
		t.Fatal(err)
	}
	s.heads.mu.Lock()
	for i := range uint64(softDirty) {
		s.heads.dirty[storetest.Key(1<<61|i)] = 0
	}
	s.heads.mu.Unlock()
	if behind, err := s.heads.behind(); behind || err != nil {
		t.Errorf("after a merge %d heads are too many: %v", softDirty, err)
	}
}

// TestThreat02SlowCopy: where the disk copies the journal more slowly than it is written, commits
// wait for the copying, and those that wait too long fail and leave nothing.
func TestThreat02SlowCopy(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	commit(t, w, entries(w, 5, 100)...)
	// A slot is held as by a read that is slow: tend, which empties the WAL, waits for it.
	<-s.slots
	s.erased.Store(true)
	s.wake()
	for len(s.slots) > 0 { // until tend has the others
		time.Sleep(time.Millisecond)
	}
	s.unsynced.Store(maxBehind)
	if _, err := w.Commit(soon(t), entries(w, 5, 100)...); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a commit while %d bytes wait to be copied: %v", maxBehind, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Commit(t.Context(), entries(w, 5, 100)...)
		done <- err
	}()
	s.slots <- struct{}{}
	if err := <-done; err != nil {
		t.Fatalf("when it is copied: %v", err)
	}
	whole(t, w)
}

// TestLongMerge: the WAL is copied and begun anew while a merge goes on.
func TestLongMerge(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	s.heads.flushing.Lock() // a merge that does not go on
	defer s.heads.flushing.Unlock()
	commit(t, w, many(w, maxDirty))
	copied(t, s, w, dir)
}

// TestBusyReads: the WAL is begun anew also where some read is always under way.
func TestBusyReads(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range maxReaders {
		go func() {
			for ctx.Err() == nil {
				_, _ = s.Head(ctx, 0)
			}
		}()
	}
	copied(t, s, w, dir)
}

// copied commits without a pause until the WAL is shorter than what was written.
func copied(t *testing.T, s *Store, w *storetest.Writer, dir string) {
	t.Helper()
	for written := int64(0); ; {
		commit(t, w, entries(w, 40, 100_000)...)
		written += 40 * 100_000
		info, err := os.Stat(filepath.Join(dir, dbName+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		if written > info.Size()+20<<20 {
			return
		}
		if written > 400<<20 {
			t.Fatalf("the WAL has grown to %d MB", info.Size()>>20)
		}
	}
}

// TestBackupBesideWrites: while a backup reads, or another program, commits and reads go on, and
// what is erased is told to stay in the journal.
func TestBackupBesideWrites(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	commit(t, w, entries(w, 10, 1000)...)
	c, err := s.openReader()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := do(c, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := headSize(c); err != nil {
		t.Fatal(err)
	}
	writing, err := s.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Close()
	for range 3 {
		commit(t, w, entries(w, 40, 100_000)...)
		if err := s.checkpoint(writing); err != nil {
			t.Fatal(err)
		}
		whole(t, w)
	}
	if err := do(c, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// TestThreat02StuckDisk: while a write does not end, a probe says so, as many as there are, and
// the database is well again by itself when it does.
func TestThreat02StuckDisk(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // as a write has that the disk does not end
	for range 3 {
		if err := s.Probe(soon(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside a write that does not end: %v", err)
		}
	}
	s.mu.Unlock()
	if err := s.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}
