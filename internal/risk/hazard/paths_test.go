package hazard

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
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

// TestHomesAnywhere: whose home it is does not matter, nor where it lies; a folder that only looks like one
// is none.
func TestHomesAnywhere(t *testing.T) {
	for path, want := range map[string]string{
		"/home/kim/.bashrc": "~/.bashrc", "/Users/kim/Library/LaunchAgents/x.plist": "~/Library/LaunchAgents/x.plist", "C:\\Users\\kim\\.ssh\\config": "~/.ssh/config", "/c/Users/kim/.zshrc": "~/.zshrc",
		"/mnt/c/Users/kim/.aws/config": "~/.aws/config", "/var/lib/gitea/.ssh/authorized_keys": "~/.ssh/authorized_keys", "/srv/app/.bashrc": "~/.bashrc", "/host/root/.profile": "~/.profile",
		"/proc/1/root/home/kim/.ssh/x": "~/.ssh/x", "/app/.ssh/authorized_keys": "~/.ssh/authorized_keys", "/data/a/b/.config/systemd/user/x.service": "~/.config/systemd/user/x.service",
		"/Users/Shared/../kim/.zshrc": "~/.zshrc", "~/../kim/.zshrc": "~/.zshrc", "/volumes/old/home/kim/.netrc": "~/.netrc",
		"/work/app/test/home/kim/.bashrc": "/work/app/test/home/kim/.bashrc", "/workspaces/dotfiles/.zshrc": "/workspaces/dotfiles/.zshrc", "/tmp/h/.bashrc": "/tmp/h/.bashrc", "/home/kim/dotfiles/.bashrc": "~/dotfiles/.bashrc",
		"/work/app/.npmrc": "/work/app/.npmrc", "/work/app/.config/x": "/work/app/.config/x", "fixtures/.aws/credentials": "fixtures/.aws/credentials",
	} {
		if got := normalPath(path).text; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestPlacesByName: a place is the one that a look through all of them, in their order, finds.
func TestPlacesByName(t *testing.T) {
	all := builtin().places
	for _, rule := range all.rules {
		pattern := rule.parts
		if pattern == nil {
			pattern = []string{rule.name}
		}
		for _, name := range []string{"x", "config", ".ssh"} { // for what stands for any
			own := strings.NewReplacer("**", name, "*", name, "?", "x").Replace(strings.Join(pattern, "/"))
			for _, path := range []string{own, own + "/x", own + "x", "~/" + own, "etc/" + own, "var/" + own} {
				parts := strings.Split(path, "/")
				for _, absolute := range []bool{true, false} {
					want := place{}
					if i := slices.IndexFunc(all.rules, func(r placeRule) bool { return r.matches(parts, absolute) }); i >= 0 {
						want = all.rules[i].place
					}
					if got := all.of(parts, absolute); got != want {
						t.Errorf("%s, %t: %+v, want %+v", path, absolute, got, want)
					}
				}
			}
		}
	}
}

// TestAsPath: what a word names is found out once, is what it would be found to be anew, and takes no more room than
// it may, however many words there are.
func TestAsPath(t *testing.T) {
	a := newAssessor(Default())
	for _, word := range []string{"", "~", "/etc/shadow", "../../etc/passwd", "%2e%2e/x", "/home/kim/.ssh/id_rsa", "src/main.go"} {
		for range 2 {
			n := a.asPath(word)
			if want := normalPath(word); n.pathForm != want || n.place() != placeOf(want.text) {
				t.Errorf("%q: %+v, %+v", word, n.pathForm, n.place())
			}
			if a.asPath(word) != n {
				t.Errorf("%q is found out again", word)
			}
		}
	}
	for i := range 100_000 {
		a.asPath(fmt.Sprint("/etc/", i))
	}
	if n := len(a.paths); n > maxRemembered/256 || a.remembered > maxRemembered {
		t.Errorf("%d words, %d bytes", n, a.remembered)
	}
}
