package ocsf

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchema: the schema that events are held against is the one that was compiled, and
// its licence lies beside it.
func TestSchema(t *testing.T) {
	sums, err := os.ReadFile("testdata/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// TestFileBroken: who was killed in the middle of a line spoils that line alone.
func TestFileBroken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(name, []byte("{}\n{\"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &File{Name: name}
	for range 2 {
		if err := f.Send(t.Context(), [][]byte{[]byte("{1}"), []byte("{2}")}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if want := "{}\n{\"half\n{1}\n{2}\n{1}\n{2}\n"; err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want %q", got, err, want)
	}
}
