package datadir

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	dir, err := os.MkdirTemp("", "datadir") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, urlFile)
	if err := WriteURL(dir, "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if url, err := URL(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a node: %q, %v", url, err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, Socket))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		name    string
		put     func() error
		url     string
		refused string // in the error
		unix    bool
	}{
		{"a URL", func() error { return WriteURL(dir, "https://[::1]:8080") }, "https://[::1]:8080", "", false},
		{"another one", func() error { return WriteURL(dir, "http://127.0.0.1:1") }, "http://127.0.0.1:1", "", false},
		{"nowhere", func() error { return WriteURL(dir, "") }, "", "", false},
		{"no URL", func() error { return os.WriteFile(name, []byte("ftp://127.0.0.1/"), 0o600) }, "", "holds no URL", false},
		{"nothing", func() error { return os.WriteFile(name, nil, 0o600) }, "", "holds no URL", false},
		{"much", func() error { return os.WriteFile(name, []byte("http://"+strings.Repeat("a", longestURL)), 0o600) }, "", "is larger", false},
		{"others may write it", func() error {
			return errors.Join(os.WriteFile(name, []byte("http://127.0.0.1:1"), 0o600), os.Chmod(name, 0o622))
		}, "", "is not of the user", true},
		{"a folder", func() error { return os.Mkdir(name, 0o700) }, "", "is no file", false},
		{"a link", func() error {
			other := filepath.Join(dir, "other")
			return errors.Join(os.WriteFile(other, []byte("http://127.0.0.1:2"), 0o600), os.Symlink(other, name))
		}, "", "is no file", true},
		// The node writes a file of its own in place of the link, and not where it leads.
		{"after a link", func() error {
			return errors.Join(os.Symlink(filepath.Join(dir, "other"), name), WriteURL(dir, "http://127.0.0.1:1"))
		}, "http://127.0.0.1:1", "", true},
	} {
		if tt.unix && runtime.GOOS == "windows" {
			continue
		}
		if tt.name != "another one" { // which replaces the one before
			os.Remove(name)
		}
		if err := tt.put(); err != nil {
			t.Fatal(tt.name, err)
		}
		url, err := URL(t.Context(), dir)
		if url != tt.url || (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%s: %q, %v", tt.name, url, err)
		}
	}
	if runtime.GOOS != "windows" {
		if text, err := os.ReadFile(filepath.Join(dir, "other")); string(text) != "http://127.0.0.1:2" {
			t.Errorf("where the link leads: %q, %v", text, err)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(dir, urlFile+".*")); len(list) > 0 {
		t.Error(list)
	}
}
