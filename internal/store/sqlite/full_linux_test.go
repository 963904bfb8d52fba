package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/internal/store/storetest"

	"golang.org/x/sys/unix"
)

var systemChildren = map[string]func(dir string) error{"limited": childLimited}

// childLimited writes until its files must not grow any more, and goes on when
// they may again.
func childLimited(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	w, err := storetest.NewWriter(ctx, s, "child")
	if err != nil {
		return err
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: was.Max}); err != nil {
		return err
	}
	failed := 0
	for range 100 {
		if _, err := w.Commit(ctx, entries(w, 10, 3000)...); err != nil {
			failed++
		}
	}
	if failed == 0 || w.Size == 0 {
		return fmt.Errorf("%d of 100 commits failed", failed)
	}
	if probeUntil(s) == nil {
		return fmt.Errorf("the probe found nothing wrong")
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := s.Probe(ctx); err != nil {
		return fmt.Errorf("after the limit: %w", err)
	}
	if _, err := w.Commit(ctx, entries(w, 10, 3000)...); err != nil {
		return fmt.Errorf("after the limit: %w", err)
	}
	fmt.Println(w.Size)
	return s.Close()
}

// probeUntil probes until there is no room left even for that.
func probeUntil(s *Store) (err error) {
	for range 2000 {
		if err = s.Probe(context.Background()); err != nil {
			break
		}
	}
	return err
}

// TestThreat02FileLimit is a full disk that any user can have: the process's files may
// not grow beyond a size.
func TestThreat02FileLimit(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startChild(t, "limited", dir)
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
	}
	w := &storetest.Writer{Store: open(t, dir)}
	fmt.Sscan(lines[0], &w.Size)
	whole(t, w)
}

// TestThreat02FullDisk fills a small file system up, and makes room again.
func TestThreat02FullDisk(t *testing.T) {
	storetest.WithSmallDisk(t, 4<<20, func(t *testing.T, dir string) {
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, filepath.Join(dir, "data"))
		defer s.Close()
		w := writer(t, s)
		failed := 0
		for range 200 {
			if _, err := w.Commit(t.Context(), entries(w, 10, 3000)...); err != nil {
				failed++
			}
		}
		if failed == 0 || w.Size == 0 {
			t.Fatalf("%d of 200 commits failed", failed)
		}
		if probeUntil(s) == nil {
			t.Error("the probe finds nothing wrong with a full disk")
		}
		whole(t, w)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("with room again: %v", err)
		}
		commit(t, w, entries(w, 10, 3000)...)
		whole(t, w)
	})
}
