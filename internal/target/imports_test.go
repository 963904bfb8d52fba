package target

import (
	"os"
	"path/filepath"
	"testing"

	"reeve.example/reeve/act"
)

// TestThreat17TakenIn: who agreed to a command for more than once agreed to what its files of orders
// took in then, in whatever way they say so; what they take in cannot be changed behind them.
func TestThreat17TakenIn(t *testing.T) {
	for _, tt := range []struct {
		command, file, text, taken string
		once                       bool // it is not known what is taken in
	}{
		{"make all", "Makefile", "include rules.mk\nall:\n\techo\n", "rules.mk", false},
		{"make all", "Makefile", "-include a.mk \\\n  rules.mk # x\n", "rules.mk", false},
		{"make all", "GNUmakefile", "  sinclude\trules.mk\r\n", "rules.mk", false},
		{"make all", "Makefile", "load ./plug.so\n", "plug.so", false},
		{"make -f build/x.mk", "build/x.mk", "include y.mk\n", "y.mk", false},
		{"make -C sub", "sub/Makefile", "include inc.mk\n", "sub/inc.mk", false},
		{"cat Makefile; make", "Makefile", "include rules.mk\n", "rules.mk", false},
		{"make; npm run x Makefile", "Makefile", "include rules.mk\n", "rules.mk", false},
		{"make", "Makefile", "include $(wildcard *.mk)\n", "", true},
		{"make", "Makefile", "F = rules\n$(eval include $(F).mk)\n", "", true},
		{"make", "Makefile", "all:\n\techo include this\n", "", false},
		{"just x", "justfile", "import 'more.just'\n", "more.just", false},
		{"just x", "justfile", "import? \"more.just\"\n", "more.just", false},
		{"just x", ".justfile", "mod tools\n", "tools/mod.just", false},
		{"just x", "justfile", "mod? tools 'deep/t.just'\n", "deep/t.just", false},
		{"task x", "Taskfile.yml", "version: 3\nincludes:\n  a: ./a\n", "", true},
		{"npm run x", "package.json", `{"scripts":{"x":"node tools/x.js --y"}}`, "tools/x.js", false},
		{"npm test", "package.json", `{"scripts":{"pretest":"sh -c 'cd . && ./pre.sh'","test":"vitest"}}`, "pre.sh", false},
		{"yarn x", "package.json", `{"scripts":{"x":"NODE_OPTIONS=--require=./hook.cjs node -e 1"}}`, "hook.cjs", false},
		{"npm run x", "package.json", `{"scripts":{"x":"eslint src/*.js"}}`, "", false},
		{"npm run x", "package.json", `not JSON`, "", true},
	} {
		dir := t.TempDir()
		lay := func(name, text string) {
			t.Helper()
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lay(tt.file, tt.text)
		if tt.taken != "" {
			lay(tt.taken, "as agreed")
		}
		sums := func() (sums map[string]string, once string) {
			a := call("shell", "command", `"`+tt.command+`"`)
			a.Folder = dir
			scope := Of(a, &act.Decision{}, false).Look()
			sums = map[string]string{}
			for _, f := range scope.Files {
				sums[f.Path] = f.Sum
			}
			return sums, scope.Once
		}
		before, once := sums()
		if (once != "") != tt.once {
			t.Errorf("%s with %q: once %q", tt.command, tt.text, once)
		}
		if tt.taken == "" || once != "" {
			continue
		}
		lay(tt.taken, "something else")
		after, _ := sums()
		changed := false
		for name, sum := range after {
			changed = changed || before[name] != sum
		}
		if !changed {
			t.Errorf("%s with %q: %s is another, and nobody sees it", tt.command, tt.text, tt.taken)
		}
	}
}

// TestTakenInByItself: files that take in each other end.
func TestTakenInByItself(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"Makefile": "include a.mk\n", "a.mk": "include Makefile a.mk b/b.mk\n", "b/b.mk": "include b.mk b/b.mk ../b/b.mk\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := call("shell", "command", `"make"`)
	a.Folder = dir
	if scope := Of(a, &act.Decision{}, false).Look(); len(scope.Files) > 2*maxFiles {
		t.Errorf("%d files", len(scope.Files))
	}
}
