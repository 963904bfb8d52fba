package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTamperingScripts: a script on the disk is read when it is run, by whatever program.
func TestTamperingScripts(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "HOME", home)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	acts := map[string]string{ // by kind of file, what it does, with ACT put in
		"a.sh": "#!/bin/sh\nset -eu\necho begin\nACT\n", "tool": "#!/usr/bin/env bash\n# a tool\nACT\n", "plain": "ACT\n", "sub/in.sh": "ACT\n", "lib.sh": "work() {\n  ACT\n}\nwork\n",
		"Makefile": "all: build\nbuild:\n\t@ACT\n", "justfile": "build:\n  ACT\n", "package.json": `{"name": "x", "scripts": {"postinstall": "ACT"}}`, "deep.sh": "sh ./a.sh\n", "other.mk": "x:\n\tACT\n",
		"a.py": "import os\nos.system('ACT')\n", "a.js": "#!/usr/bin/env node\nrequire('child_process').execSync('ACT')\n", "a.rb": "system 'ACT'\n", "a.pl": "#!/usr/bin/perl\nsystem('ACT');\n", "Rakefile": "task(:x) { sh 'ACT' }\n",
	}
	runs := []string{
		"sh a.sh", "./a.sh", "bash -eu ./a.sh x y", ". ./a.sh", "source a.sh", "HOME/src/proj/a.sh", "./tool --fast", "env X=1 ./tool", "timeout 5 ./tool", "nohup ./tool &", "./plain", "sh plain", "cd sub && sh in.sh", "cd sub; ./in.sh", "sh sub/in.sh", "bash lib.sh", "sh ./deep.sh", "find . -name a.sh -exec sh {} \\; ; sh a.sh",
		"make", "make build", "make -C . build", "make -f other.mk x", "make --file=other.mk", "just build", "npm install", "npm run x", "npm --prefix . test", "pnpm i", "yarn", "python3 a.py", "python3.12 -u a.py", "uv run python a.py", "node a.js", "./a.js", "ruby a.rb", "perl a.pl", "./a.pl", "rake x", "(./a.sh)", "true && ./a.sh || false", "echo $(./a.sh)", "sudo ./a.sh", "cat x | sh a.sh", "xargs -a list ./a.sh", "sh -x a.sh", "bash --norc a.sh", "make -j4 V=1 all",
	}
	for _, does := range []string{"reeve approvals approve abc", "cat HOME/.config/reeve/data/seed", "rm -rf HOME/.config/reeve", "pkill reeve", "cp /tmp/x HOME/.config/reeve/policy/mine.yaml"} {
		for name, text := range acts {
			put(name, strings.ReplaceAll(text, "ACT", does))
		}
		for _, line := range runs {
			line = strings.ReplaceAll(line, "HOME", home)
			if len(g.Tampering(call(work, "shell", "command", line), nil)) == 0 {
				t.Errorf("is let pass: %s (it does %s)", line, does)
			}
		}
	}
	for name, text := range acts {
		put(name, strings.ReplaceAll(text, "ACT", "echo hello && go test ./... && rm -rf build && npm run lint"))
	}
	put("loop.sh", "sh ./loop.sh\n. ./loop.sh\n")
	put("big.sh", strings.Repeat("echo hello\n", 60_000))
	put("binary", "\x7fELF\x00\x01 reeve approvals approve abc")
	for _, line := range append(runs, "sh loop.sh", "sh big.sh", "./binary", "cat a.sh", "sh nowhere.sh", "python3 -m http.server", "python3 -c 'print(1)' a.py", "git add a.sh", "chmod +x a.sh") {
		line = strings.ReplaceAll(line, "HOME", home)
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", line, r[0].Message)
		}
	}
}
