//go:build unix

package regular

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestThreat10FilesWithoutEnd: whatever stands where a file is named, reading it ends, and soon.
func TestThreat10FilesWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.Symlink("/dev/zero", at("zero")))
	must(os.Symlink("pipe", at("link")))
	must(os.Symlink("loop", at("loop")))
	must(os.WriteFile(at("small"), []byte("text"), 0o600))
	must(os.WriteFile(at("sparse"), nil, 0o600))
	must(os.Truncate(at("sparse"), 10<<30))
	must(os.Symlink("/proc/self/status", at("growing"))) // it says that it holds nothing
	if _, err := os.Stat(at("growing")); err != nil {
		must(os.Remove(at("growing")))
		must(os.WriteFile(at("growing"), []byte(strings.Repeat("x", 101)), 0o600))
	}
	for name, want := range map[string]error{"pipe": ErrNot, "zero": ErrNot, "link": ErrNot, ".": ErrNot, "small": nil, "sparse": ErrTooLarge, "growing": ErrTooLarge, "loop": syscall.ELOOP, "none": os.ErrNotExist} {
		began := time.Now()
		text, err := Read(at(name), 100)
		if !errors.Is(err, want) || want != nil && text != nil {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: read for %v", name, took)
		}
	}
}
