package secret

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestReadTwice: what a pipe has given once is read again.
func TestReadTwice(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString("from a pipe\n")
	w.Close()
	ref := "file:/dev/fd/" + strconv.Itoa(int(r.Fd()))
	if runtime.GOOS == "windows" {
		return // it has no names for pipes like these
	}
	for range 2 {
		if got, err := Read(ref); string(got) != "from a pipe" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(file, []byte("from a file\r\n"), 0o600)
	blank := filepath.Join(t.TempDir(), "blank")
	os.WriteFile(blank, []byte("\n"), 0o600)
	large := filepath.Join(t.TempDir(), "large")
	os.WriteFile(large, make([]byte, 1<<20), 0o600)
	t.Setenv("REEVE_TEST_SECRET", "from the environment")
	t.Setenv("REEVE_TEST_EMPTY", "")
	for ref, want := range map[string]string{
		"env:REEVE_TEST_SECRET": "from the environment", "file:" + file: "from a file",
		"env:REEVE_TEST_EMPTY": "", "env:REEVE_TEST_UNSET": "", "env:": "", "file:": "", "file:" + file + "x": "", "file:" + blank: "", "file:" + large: "",
		"hunter2": "", "": "", "vault:x": "",
	} {
		got, err := Read(ref)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("Read(%q) = %q, %v", ref, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error has the secret in it: %v", err)
		}
	}
}
