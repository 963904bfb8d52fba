package guard_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestSwept: git clean passes where all that it would take is made again by a build; where it would take
// what nothing else holds, or that is not known, people are asked, and told what.
func TestSwept(t *testing.T) {
	n, dir := codingAgents(t)
	const built = "node_modules/a/index.js,dist/app.js,x.log,pkg/a.o,__pycache__/x.pyc"
	for i, tt := range []struct {
		command, files string // that git does not have
		folder         string
		passes         bool
	}{
		{"git clean -fdX", built, "", true},
		{"git clean -fdx", built, "", true},
		{"git clean -fd", built, "", true},
		{"git clean -fdX", built + ",src/new.go", "", true},
		{"git clean -fdx -e .env", built + ",.env", "", true},
		{"git clean -fdx --exclude=.env -e data", built + ",.env,data/shop.db", "", true},
		{"git clean -fd", built + ",.env", "", true},

		{"git clean -fdX", built + ",.env", "", false},
		{"git clean -fdx", built + ",data/shop.db", "", false},
		{"git clean -fdx", built + ",src/new.go", "", false},
		{"git clean -fd", built + ",src/new.go", "", false},
		{"git clean -fdx -e .env", built + ",.env,src/new.go", "", false},
		{"git clean -fdx -e 'x*'", built + ",.env", "", false},
		{"git clean -ffdx", "lib/.git/HEAD,lib/a.go", "", false},
		{"git reset --hard && git clean -fdx", built, "", false},
		{"git rm -q --cached kept.go && git clean -fdx", built, "", false},
		{"cp kept.go new.go && git clean -fdx", built, "", false},
		{"cd ~ && git clean -fdx", built, "", false},
		{"git -C .. clean -fdx", built, "", false},
		{"GIT_DIR=../x/.git git clean -fdx", built, "", false},
		{"git clean -fdx", built, "below", false},
		{"ssh web git clean -fdx", built, "", false},
	} {
		at := filepath.Join(dir, fmt.Sprint("swept", i))
		git := func(args ...string) {
			t.Helper()
			if out, err := exec.Command("git", append([]string{"-C", at}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		write(t, filepath.Join(at, "kept.go"), "package x\n")
		write(t, filepath.Join(at, "build/kept.txt"), "x\n")
		write(t, filepath.Join(at, "below/kept.go"), "package x\n")
		write(t, filepath.Join(at, ".gitignore"), "node_modules/\n/dist\n*.log\n*.o\n__pycache__\n.env\ndata/\n")
		git("init", "-q")
		git("add", "-A")
		for name := range strings.SplitSeq(tt.files, ",") {
			write(t, filepath.Join(at, name), "x\n")
		}
		d, _ := n.decide(t, tool(fmt.Sprint("swept", i), "1", "shell", filepath.Join(at, tt.folder), "command", tt.command))
		if passes := d.Effect == act.Allow; passes != tt.passes {
			t.Errorf("%s beside %s: %v %v", tt.command, tt.files, d.Effect, codesOf(d))
		}
		if tt.command == "git clean -fdX" && !tt.passes && !strings.Contains(d.Reasons[0].Message, ".env") {
			t.Errorf("it is not said what would go: %q", d.Reasons[0].Message)
		}
	}
}
