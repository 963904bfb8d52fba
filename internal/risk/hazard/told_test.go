package hazard

import (
	"slices"
	"strings"
	"testing"
)

// TestTold: of a makefile, a package's scripts and tasks only that is run which words ask for, however
// they say it; and where that cannot be told, all of it may be.
func TestTold(t *testing.T) {
	const (
		scripts = `{"name":"ui","scripts":{"release":"changeset publish","lint":"eslint .","ship":"npm run release","predev":"npm run ship","rel+":"changeset publish","test":"vitest"}}`
		packs   = `{"scripts":{"prepare":"changeset publish","lint":"eslint ."}}`
		made    = ".PHONY: help test release\nhelp: ## what there is\n\t@grep -E '^[a-zA-Z_-]+:.*?## .*$$' $(MAKEFILE_LIST) | sort | awk 'BEGIN {FS = \":.*?## \"}; {printf \"%-30s %s\\n\", $$1, $$2}'\ntest: src\n\tcargo test\nrelease: test\n\tcargo publish\nall: lint\n\t$(MAKE) release\nlint:\n\tcargo clippy --features \"$(X)\"\nplus:\n\t+cargo publish\n%.o: %.c\n\tcc -c $<\n"
		release = "release:\n\tcargo publish\n"
		tasks   = "import os\nfrom invoke import task\n\n@task\ndef test(c):\n    c.run('pytest')\n\n@task(test)\ndef publish(c):\n    c.run('twine upload dist/*')\n\n@task(pre=[publish])\ndef all_of_it(c):\n    pass\n\n@task(default=True)\ndef check(c):\n    c.run('ruff check')\n"
	)
	for _, tt := range []struct {
		file, text, words string
		publishes         bool
	}{
		{"package.json", scripts, "ls", false}, {"package.json", scripts, "ls react --json", false}, {"package.json", scripts, "outdated", false}, {"package.json", scripts, "audit fix", false}, {"package.json", scripts, "whoami", false},
		{"package.json", scripts, "config get registry", false}, {"package.json", scripts, "pkg set a=b", false}, {"package.json", scripts, "exec tsc", false}, {"package.json", scripts, "run", false}, {"package.json", scripts, "run lint", false},
		{"package.json", scripts, "--filter ./site/* lint", false}, {"package.json", scripts, "install", false}, {"package.json", scripts, "t", false}, {"package.json", scripts, "run -s test", false}, {"package.json", scripts, "-v", false}, {"package.json", scripts, "", false},
		{"package.json", scripts, "run release", true}, {"package.json", scripts, "ship", true}, {"package.json", scripts, "-C x -s dev release", true}, {"package.json", scripts, "run dev predev", true}, {"package.json", scripts, "run rel*", true}, {"package.json", scripts, "run $X", true},
		{"package.json", scripts, "run /^rel/", true}, {"package.json", scripts, "run rel+", true}, {"package.json", scripts, "exec --call=$X", true}, {"package.json", scripts, "exec -c release-all", true}, {"package.json", scripts, "--filter * lint", true}, {"package.json", scripts, "workspaces foreach run release", true},
		{"package.json", packs, "ls", false}, {"package.json", packs, "run lint", false}, {"package.json", packs, "i", true}, {"package.json", packs, "inst", true}, {"package.json", packs, "--frozen-lockfile", true}, {"package.json", packs, "", true}, {"package.json", packs, "pack", true}, {"package.json", packs, "pub", true},
		{"package.json", strings.Replace(scripts, "release", "\\u0072elease", 1), "run release", true},

		{"Makefile", made, "help", false}, {"Makefile", made, "nothere", false}, {"Makefile", made, "--version", false}, {"Makefile", made, "-h", false}, {"Makefile", made, "-qp", false}, {"Makefile", made, "-np", false}, {"Makefile", made, "", false}, {"Makefile", made, "test -j4", false}, {"Makefile", made, "-j 4 -C . V=1 lint", false},
		{"Makefile", made, "-j$()", true}, {"Makefile", made, "-Bn release", false}, {"Makefile", made, "--dry-run release", false}, {"Makefile", made, "-sk lint test", false}, {"Makefile", ".DEFAULT_GOAL := help\n" + release + "help:\n\techo x\n", "", false}, {"Makefile", "define x\ny\nendef\n" + release + "help:\n\techo\n", "--help", false},
		{"Makefile", made, "release", true}, {"Makefile", made, "help all", true}, {"Makefile", made, "$X", true}, {"Makefile", made, "rel*", true}, {"Makefile", made, "-C n release", true}, {"Makefile", made, "-j n release", true}, {"Makefile", made, "-- release", true}, {"Makefile", made, "--jobs=4 all", true}, {"Makefile", made, "-fn release", true}, {"Makefile", made, "-f n release", true}, {"Makefile", made, "-Inq release", true},
		{"Makefile", made, "-n plus", true}, {"Makefile", "x:\n\tcargo publish; : $(MAKE)\n", "-n x", true}, {"Makefile", "X := $(shell cargo publish)\nhelp:\n\techo\n", "-n help", true}, {"Makefile", "X != cargo publish\nhelp:\n\techo\n", "help", true}, {"Makefile", "MAKEFLAGS += x\n" + release, "-n release", true},
		{"Makefile", "help:\n\techo\nMakefile: x\nx:\n\tcargo publish\n", "-n help", true}, {"Makefile", "include x.mk\nhelp:\n\techo\nx.mk:\n\tcargo publish\n", "help", true}, {"Makefile", ".taken: x.mk\nhelp:\n\techo\nx.mk:\n\tcargo publish\n", "help", true}, {"Makefile", ".missing: x.mk\nhelp:\n\techo\nx.mk:\n\techo 'help: ; cargo publish' > x.mk\ny:\n\tcargo publish\n", "help", true},
		{"Makefile", "CC = cargo publish --\nhelp:\n\techo\n", "prog", true}, {"Makefile", release + "help:\n\techo\n.c.o:\n\tcargo publish\n", "x.o", true}, {"Makefile", "help:\n\techo\n%: x\n\tcargo publish\n", "nothere", true}, {"Makefile", "help:\n\techo\n.DEFAULT:\n\tcargo publish\n", "nothere", true}, {"Makefile", "T = help\n$(T): release\n" + release, "help", true},
		{"Makefile", release + "help:\n\t\"ma\"ke release\n", "help", true}, {"Makefile", release + "help:\n\tX=1 $${M} release\n", "help", true}, {"Makefile", release + "help:\n\tfor x in release; do make $${x}; done\n", "help", true}, {"Makefile", release + ".DEFAULT_GOAL = release\nhelp:\n\techo\n", "", true}, {"Makefile", release + "help:\n\teval make release\n", "help", true},
		{"Makefile", "T ?= x\nhelp: $(T)\n" + release, "help T=release", true}, {"Makefile", "help: $(T)\n" + release, "help", true}, {"Makefile", release, "--eval=x:;y x", true}, {"Makefile", ".SECONDEXPANSION:\n" + release + "help: $$(X)\n", "help", true}, {"Makefile", "define x\nhelp: release\nendef\n$(eval $(x))\n" + release, "help", true},

		{"tasks.py", tasks, "test", false}, {"tasks.py", tasks, "--list", false}, {"tasks.py", tasks, "-l", false}, {"tasks.py", tasks, "check", false}, {"tasks.py", tasks, "", false}, {"tasks.py", tasks, "--help", false},
		{"tasks.py", tasks, "publish", true}, {"tasks.py", tasks, "all-of-it", true}, {"tasks.py", tasks, "test --x publish", true}, {"tasks.py", tasks, "$X", true}, {"tasks.py", tasks, "-l publish", true}, {"tasks.py", tasks + "os.system('twine upload dist/*')\n", "--list", true}, {"tasks.py", strings.Replace(tasks, "@task(test)", "@task(name='t')", 1), "t", true},
		{"tasks.py", strings.Replace(tasks, "c.run('pytest')", "publish(c)", 1), "test", true}, {"tasks.py", strings.Replace(tasks, "c.run('ruff check')", "globals()['publish'](c)", 1), "check", true}, {"tasks.py", strings.Replace(tasks, "@task(test)", "@task(\n  aliases=['t'])", 1), "t", true},
	} {
		does, _ := Default().RunsFile(tt.file, tt.text, strings.Fields(tt.words))
		got := slices.ContainsFunc(does, func(f Finding) bool { return strings.HasPrefix(f.Code, "publish.") })
		if got != tt.publishes {
			t.Errorf("%s %s: publishes %v, %v", tt.file, tt.words, got, does)
		}
	}
}

// TestRunsNothing: what only says what it is, or only reads its program, runs nothing; a word that is
// not known, or takes that back, may have it run.
func TestRunsNothing(t *testing.T) {
	for line, want := range map[string]bool{
		"make --version": true, "make -v": true, "bash -n x.sh": true, "sh --norc -n x.sh": true, "php -l x.php": true, "ruby -c x.rb": true, "node --check x.js": true,
		"make -n": false, "make --version --eval=x": false, "make x": false, "bash x.sh -n": false, "bash -n $X": false, "bash -n +n x.sh": false, "python -n x.py": false, "node -r ./x.js --check x.js": false, "npm -v": false,
	} {
		words := strings.Fields(line)
		if got := RunsNothing(words[0], words[1:]); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
