//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// Windows has no file modes.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := open(t, dir)
	w := writer(t, s)
	commit(t, w, entries(w, 3, 10)...)
	for name, want := range map[string]os.FileMode{".": os.ModeDir | 0o700, dbName: 0o600, dbName + "-wal": 0o600, dbName + "-shm": 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}
