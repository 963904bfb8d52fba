package guardian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
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

// TestTamperingPutTogether: a path that a script puts together is the path that it names.
func TestTamperingPutTogether(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	run := func(name, text, line string) int {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return len(g.Tampering(call(work, "shell", "command", line), nil))
	}
	for _, c := range []struct{ name, text, line string }{
		{"a.py", "from pathlib import Path\n(Path.home()/\".claude\"/\"settings.json\").write_text(\"{}\")\n", "python3 a.py"},
		{"a.py", "from pathlib import Path\n(Path.home() / '.claude' / 'settings.json').unlink()\n", "python3 a.py"},
		{"a.py", "import os\nopen(os.path.join(os.path.expanduser('~'), '.claude', 'settings.json'), 'w').write('{}')\n", "python3 a.py"},
		{"a.py", "import os\nn = '.claude'\nopen(os.path.expanduser('~') + '/' + n + '/settings.json', 'w').write('{}')\n", "python3 a.py"},
		{"a.py", "import os\nos.chdir(os.path.expanduser('~/.claude'))\nopen('settings.json', 'w').write('{}')\n", "python3 a.py"},
		{"a.py", "import os\nopen(os.path.expanduser('~/.cl' + 'aude/settings.json'), 'w').write('{}')\n", "python3 a.py"},
		{"a.js", "const os = require('os'), p = require('path')\nrequire('fs').writeFileSync(p.join(os.homedir(), '.claude', 'settings.json'), '{}')\n", "node a.js"},
		{"a.rb", "File.write(File.join(Dir.home, '.claude', 'settings.json'), '{}')\n", "ruby a.rb"},
		{"a.pl", "open(F, '>', join('/', $ENV{HOME}, '.claude', 'settings.json'));\n", "perl a.pl"},
		{"Makefile", "D=.cl\nx:\n\trm -rf $(HOME)/$(D)aude\n", "make x"},
		{"Makefile", "R = ree\nx:\n\trm -rf ${HOME}/.config/$(R)ve\n", "make"},
		{"Makefile", "R := reeve\nx:\n\t$(R) hook uninstall --yes\n", "make x"},
		{"Makefile", "x:\n\trm -rf \\\n\t  $(HOME)/.config/reeve\n", "make x"},
		{"a.yml", "- hosts: localhost\n  tasks:\n    - file: { path: \"{{ ansible_env.HOME }}/.claude/settings.json\", state: absent }\n", "ansible-playbook a.yml"},
		{"a.yml", "- hosts: localhost\n  vars:\n    d: \"{{ lookup('env', 'HOME') }}/.config\"\n  tasks:\n    - ansible.builtin.file:\n        path: \"{{ d }}/reeve\"\n        state: absent\n", "ansible-playbook -c local a.yml"},
	} {
		if run(c.name, c.text, c.line) == 0 {
			t.Errorf("is let pass: %s", c.text)
		}
	}
	for _, c := range []struct{ name, text, line string }{
		{"a.py", "import json\nfrom pathlib import Path\nprint(json.loads((Path.home()/\".claude\"/\"settings.json\").read_text()))\n", "python3 a.py"},
		{"a.py", "from pathlib import Path\n(Path('.vscode')/'settings.json').write_text('{}')\n", "python3 a.py"},
		{"a.js", "require('fs').writeFileSync(require('path').join(__dirname, 'config', 'settings.json'), '{}')\n", "node a.js"},
		{"Makefile", "D = build\nOUT := $(D)/bin\nall:\n\tmkdir -p $(OUT) && go build -o $(OUT)/app ./...\nclean:\n\trm -rf $(D)\n", "make all"},
	} {
		if run(c.name, c.text, c.line) > 0 {
			t.Errorf("is denied: %s", c.text)
		}
	}
}

// TestRunsTampering: what a program finds by itself, or makes a program of, is looked at, too, where the
// session wrote it.
func TestRunsTampering(t *testing.T) {
	g, home := aGuarded(t)
	for _, c := range []struct {
		name, text, line string
		tampers          bool
	}{
		{"main.go", "func main() { h, _ := os.UserHomeDir(); os.RemoveAll(filepath.Join(h, \".config\", \"reeve\")) }", "go run main.go", true},
		{"main.go", "func main() { exec.Command(\"reeve\", \"approvals\", \"approve\", \"x\", \"--yes\").Run() }", "go run .", true},
		{"x_test.go", "func TestX(t *testing.T) { exec.Command(\"sh\", \"-c\", \"reeve hook uninstall --yes\").Run() }", "go test ./...", true},
		{"src/main.rs", "fn main() { Command::new(\"reeve\").args([\"hook\", \"uninstall\", \"--yes\"]).status(); }", "cargo run", true},
		{"a.c", "int main() { execlp(\"reeve\", \"reeve\", \"hook\", \"uninstall\", \"--yes\", 0); }", "gcc a.c -o a && ./a", true},
		{"tests/test_a.py", "from pathlib import Path\ndef test_a():\n    (Path.home()/\".claude\"/\"settings.json\").unlink()\n", "pytest -q", true},
		{"src/a.test.js", "test('a', () => fs.writeFileSync(path.join(os.homedir(), '.claude', 'settings.json'), '{}'))", "npx jest", true},
		{"main.go", "func main() { fmt.Println(\"we like reeve\"); os.RemoveAll(filepath.Join(os.TempDir(), \"x\")) }", "go run .", false},
		{"main.go", "func main() { exec.Command(\"reeve\", \"status\").Run() }", "go run .", false},
		{"tests/test_a.py", "def test_a(tmp_path):\n    (tmp_path/\"settings.json\").write_text('{}')\n", "pytest -q", false},
	} {
		work := filepath.Join(home, "src", "w"+strings.ReplaceAll(t.Name(), "/", ""))
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(work, filepath.Dir(c.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, c.name), []byte(c.text), 0o700); err != nil {
			t.Fatal(err)
		}
		wrote := append(hazard.Patterns(c.name), filepath.Base(c.name))
		a := call(work, "shell", "command", c.line)
		runs := g.Runs(a, hazard.Read(a), func(name string) bool { return slices.Contains(wrote, name) }, nil, nil)
		if got := slices.ContainsFunc(runs, func(r act.FileRun) bool { return r.Code == "defense.unhooked" }); got != c.tampers {
			t.Errorf("%s runs %s: %v, want %v", c.line, c.text, runs, c.tampers)
		}
	}
}
