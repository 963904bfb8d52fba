package datadir

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestClaim: a later run on a folder has the name of the one before, and only once that
// is over; nothing else ever has it.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	one, release := Claim(dir)
	beside, releaseBeside := Claim(dir)
	if beside == one {
		t.Error("two runs at once have one name")
	}
	releaseBeside()
	release()
	again, release := Claim(dir)
	if (again == one) != (runtime.GOOS == "linux") {
		t.Errorf("a later run is %q, the first one was %q", again, one)
	}
	release()
	if runtime.GOOS != "linux" {
		return
	}
	// A copy of the folder, as in an image of a container, is another one.
	text, err := os.ReadFile(filepath.Join(dir, "reeve.run"))
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := os.WriteFile(filepath.Join(copied, "reeve.run"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	other, release := Claim(copied)
	if other == one {
		t.Error("a copy has the name of the first")
	}
	release()
	// What stands there otherwise is no name.
	for _, bad := range []string{"", "x\n", string(text) + "more", "\x00\x00"} {
		if err := os.WriteFile(filepath.Join(copied, "reeve.run"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		name, release := Claim(copied)
		release()
		if again, release := Claim(copied); again != name || name == other {
			t.Errorf("with %q: %q, and then %q", bad, name, again)
		} else {
			release()
		}
	}
	// A link leads nowhere, and no folder has no name that lasts.
	if err := os.Remove(filepath.Join(copied, "reeve.run")); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(copied, "reeve.run")); err != nil {
		t.Fatal(err)
	}
	first, release := Claim(copied)
	release()
	second, release := Claim(copied)
	release()
	if _, err := os.Lstat(target); first == second || err == nil {
		t.Errorf("by a link: %q and %q, %v", first, second, err)
	}
}
