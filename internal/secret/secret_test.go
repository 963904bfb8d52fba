package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
