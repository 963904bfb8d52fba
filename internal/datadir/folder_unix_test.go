//go:build unix

package datadir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFolderOthersWrite: a folder that others can write, or put another in the place
// of, is no data folder.
func TestFolderOthersWrite(t *testing.T) {
	base := t.TempDir()
	for _, tt := range []struct {
		name    string
		modes   []fs.FileMode // from the outermost
		refused string
	}{
		{"ours", []fs.FileMode{0o755, 0o700}, ""},
		{"others read", []fs.FileMode{0o755, 0o755}, ""},
		{"all write", []fs.FileMode{0o755, 0o777}, "others can write the data folder"},
		{"all write, sticky", []fs.FileMode{0o755, 0o777 | fs.ModeSticky}, "others can write the data folder"},
		{"all write above", []fs.FileMode{0o777, 0o700}, "in the place of"},
		{"all write far above", []fs.FileMode{0o777, 0o755, 0o700}, "in the place of"},
		{"all write above, sticky", []fs.FileMode{0o777 | fs.ModeSticky, 0o700}, ""},
	} {
		dir := base
		for _, mode := range tt.modes {
			dir = filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-"))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, in := range []string{dir, filepath.Join(dir, "new")} {
			if in != dir && tt.modes[len(tt.modes)-1]&fs.ModeSticky != 0 {
				continue // there nobody renames what is another's
			}
			got, err := Make(in)
			if (err == nil) != (tt.refused == "") || err == nil && got != in {
				t.Errorf("%s: %q, %v", tt.name, got, err)
			} else if err != nil && in == dir && (!strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "chmod go-w")) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if Find(in) != in {
				t.Errorf("%s: found %s", tt.name, Find(in))
			}
		}
		link := filepath.Join(base, "link")
		os.Remove(link)
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		if _, err := Make(link); (err == nil) != (tt.refused == "") {
			t.Errorf("%s, by a link: %v", tt.name, err)
		}
		if conn, err := Dial(t.Context(), dir); err == nil {
			conn.Close()
			t.Errorf("%s: somebody answers", tt.name)
		} else if strings.Contains(err.Error(), "others can write") != (tt.refused != "") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestOwner: whose a folder is, and what its group may, by the numbers alone.
func TestOwner(t *testing.T) {
	for _, tt := range []struct {
		owner         owner
		uid, gid      uint32
		writes        bool
		folder, above bool // it is refused
	}{
		{owner{1000, 1000, 0o700}, 1000, 1000, true, false, false},
		{owner{1000, 1000, 0o775}, 1000, 1000, true, false, false}, // the user's own group
		{owner{1000, 4242, 0o770}, 1000, 1000, true, true, true},
		{owner{1000, 4242, 0o770}, 1000, 4242, true, true, true}, // a group that is not the user's alone
		{owner{1000, 4242, 0o750}, 1000, 1000, true, false, false},
		{owner{1000, 1000, 0o702}, 1000, 1000, true, true, true},
		{owner{1001, 1001, 0o755}, 1000, 1000, true, true, true},
		{owner{1001, 1001, 0o755}, 1000, 1000, false, true, true},
		{owner{0, 0, 0o755}, 1000, 1000, true, false, false},
		{owner{0, 1000, 0o770}, 1000, 1000, true, false, false},
		{owner{1001, 1001, 0o700}, 0, 0, true, true, true},    // root would write as another
		{owner{1001, 1001, 0o700}, 0, 0, false, false, false}, // but may look
		{owner{1001, 1001, 0o777}, 0, 0, false, true, true},
		{owner{0, 0, 0o777 | fs.ModeSticky}, 1000, 1000, true, true, false},
		{owner{0, 0, 0o775}, 0, 0, true, false, false},
	} {
		if err := tt.owner.folder("d", tt.uid, tt.gid, tt.writes); (err != nil) != tt.folder {
			t.Errorf("%+v: %v", tt, err)
		}
		if err := tt.owner.above("d", "d/x", tt.uid, tt.gid, tt.writes); (err != nil) != tt.above {
			t.Errorf("%+v, above: %v", tt, err)
		}
	}
}

// TestMount: in a mount that others can write, the node has a folder of its own, which
// is the same after each start.
func TestMount(t *testing.T) {
	mount := filepath.Join(t.TempDir(), "mount")
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tmpfs(mount); err != nil {
		t.Skipf("a file system can be mounted by the administrator, and on Linux: %v", err)
	}
	defer syscall.Unmount(mount, 0)
	if err := os.Chmod(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Make(mount); got != mount || err != nil {
		t.Errorf("while it is ours: %q, %v", got, err)
	}
	if err := os.Chmod(mount, 0o777); err != nil {
		t.Fatal(err)
	}
	within := filepath.Join(mount, own)
	if Find(mount) != mount {
		t.Error("a folder is found that is not there")
	}
	if err := os.WriteFile(filepath.Join(mount, "seed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(mount); err == nil || !strings.Contains(err.Error(), "move the node's files") {
		t.Errorf("with a node's files: %v", err)
	}
	os.Remove(filepath.Join(mount, "seed"))
	for range 2 {
		if got, err := Make(mount); got != within || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(within); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	for _, dir := range []string{mount, within} {
		if Find(dir) != within {
			t.Errorf("of %s is found %s", dir, Find(dir))
		}
	}
	if got, err := Make(within); got != within || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Make(filepath.Join(within, "aside")); err != nil {
		t.Error(err)
	}
	if _, err := Make(filepath.Join(mount, "another")); err == nil {
		t.Error("another folder in a mount that others can write")
	}
	if err := os.Chown(within, 4242, 4242); err == nil {
		if _, err := Make(mount); err == nil {
			t.Error("another user's folder")
		}
	}
}
