package hazard

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestPackedPaths: a path that climbs is seen through escapes that lost their sign,
// backslashes before dots, and through Base64 and hexadecimal digits, whatever it leads to.
func TestPackedPaths(t *testing.T) {
	score := func(path string) float64 {
		return Assess("read_file", []act.Leaf{{Pointer: "/path", Arg: "path", Text: path}}).Score
	}
	for _, target := range []string{"etc/shadow", "etc/passwd", "windows/win.ini", "root/.ssh/id_rsa"} {
		for climbs := 2; climbs < 6; climbs++ {
			path := strings.Repeat("../", climbs) + target
			for name, form := range map[string]string{
				"plain":           path,
				"no sign":         strings.NewReplacer("/", "2f").Replace(path),
				"no sign at all":  strings.NewReplacer("/", "2F", "..", "2e2e").Replace(path),
				"other slash":     strings.NewReplacer("/", "5c").Replace(path),
				"backslashes":     strings.NewReplacer(".", `\.`, "/", `\/`).Replace(path),
				"more of them":    strings.NewReplacer("../", `\.\./`).Replace(path),
				"between":         strings.NewReplacer("..", `./\/.`).Replace(path),
				"Base64":          base64.StdEncoding.EncodeToString([]byte(path)),
				"Base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(path)),
				"hexadecimal":     hex.EncodeToString([]byte(path)),
			} {
				if got := score(form); got < Denied {
					t.Errorf("%s, %q: %.2f", name, form, got)
				}
			}
		}
	}
	for _, path := range []string{
		"src/main.go", "../shared/2f.go", "notes/2e2f.txt", "a..2d/b", "objects/5c/2f3e", "YWJjZGVmZ2hpams", "deadbeefdeadbeef", "c29tZS9mb2xkZXIvbm90ZXM",
		`src\.config\app`, `C:\work\.git\config`, `a\.b`, "commit/2e2e5f", "Makefile", "v1..v2",
	} {
		if got := score(path); got >= Denied {
			t.Errorf("%q: %.2f", path, got)
		}
	}
}
