package evidence

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of a year the list of decisions is longer than what is read of one file: it is held to its
// sum all the same. And what an archive calls its files does nothing to a terminal.
func TestEvidenceOfAnybody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "any.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	long := make([]byte, maxMember+1)
	for _, m := range []struct {
		name string
		text []byte
	}{{"long", long}, {"a\x1b[2J\u202eb", nil}, {"a\x1b[2J\u202eb", nil}, {linesName, []byte("{\n")}} {
		w, err := z.Create(m.name)
		if err == nil {
			_, err = w.Write(m.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := &check{files: map[string]*zip.File{"long": r.File[0]}}
	if sum, err := e.sum("long"); err != nil || sum != fmt.Sprintf("%x", sha256.Sum256(long)) {
		t.Errorf("%s %v", sum, err)
	}
	var out bytes.Buffer
	if err := Verify(file, "test.local/1+00000000+AA==", &out); err == nil {
		t.Error("it holds")
	}
	if !strings.Contains(out.String(), "twice") || strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("%q", out.String())
	}
}
