package links

import (
	"os"
	"path/filepath"
	"testing"
)

func TestResolve(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/there/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"/link": "there", "/two": "link/deep", "/gone": "nowhere"} {
		if err := os.Symlink(to, dir+link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/there/deep":           "/there/deep",
		"/link/deep":            "/there/deep",
		"/two":                  "/there/deep",
		"/link/new/file":        "/there/new/file",
		"/link/../there/x":      "/there/x",
		"/absent/../link/deep":  "/there/deep",
		"/gone/file":            "/gone/file",
		"/there/deep/file/more": "/there/deep/file/more",
	} {
		if got := Resolve(dir + path); got != dir+want {
			t.Errorf("%s leads to %s, want %s", path, got, dir+want)
		}
	}
	if got := Resolve("/nowhere/at/../all"); got != "/nowhere/all" {
		t.Errorf("%s", got)
	}
}
