package guardian

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file, in folders that are made.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestTamperingBehindBounds: what lies behind a bound of depth, size or number is denied.
func TestTamperingBehindBounds(t *testing.T) {
	g, home := aGuarded(t)
	work, own := home+"/src/proj", home+"/.config/reeve"
	many := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	nested := "rm -rf ~/.config/reeve"
	for range 6 {
		nested = "npx -c " + quote(nested)
	}
	put(t, work+"/deep0.sh", "rm -rf ~/.config/reeve\n")
	for i := range 20 {
		put(t, fmt.Sprintf("%s/deep%d.sh", work, i+1), fmt.Sprintf("sh ./deep%d.sh\n", i))
	}
	put(t, work+"/honest0.sh", "echo hello\n")
	for i := range 3 {
		put(t, fmt.Sprintf("%s/honest%d.sh", work, i+1), fmt.Sprintf("sh ./honest%d.sh\n", i))
	}
	put(t, work+"/bundle.js", strings.Repeat("f(1);\n", 100<<10))
	put(t, work+"/gone", many(3000, "build/x%d.o\n"))
	put(t, work+"/big.sh", "# "+strings.Repeat("x", 300<<10)+"\nrm -rf ~/.config/reeve\n")
	put(t, work+"/list1", many(600, "/x/y%d\n")+own+"/data\n")
	put(t, work+"/list2", strings.Repeat("x/y\n", 20<<10)+own+"/data\n")
	for i := range 200 {
		put(t, fmt.Sprintf("%s/f/l%d", work, i), "nothing\n")
	}
	for i, line := range []string{
		nested,
		"sh ./deep3.sh", "sh ./deep20.sh",
		"sh ./big.sh",
		"xargs rm -rf < list1",
		"xargs rm -rf < list2",
		many(140, "cat f/l%d; ") + "xargs rm -rf < list1",
		many(600, "ls /x%d; ") + "ls -d ~/.config/ree* | xargs rm -rf",
		"sqlite3 x \"" + many(600, "select '/a/%d'; ") + "attach '" + own + "/data/reeve.db' as r\"",
		"python3 -c 'import os; os.symlink(os.path.expanduser(\"~/.config\"), \"/tmp/" + strings.Repeat("c/", 40) + "l\"); open(\"/tmp/" + strings.Repeat("c/", 40) + "l/reeve/reeve.yaml\", \"w\")'",
		"python3 -c '" + many(6, "open(\".claude/x%d.json\");") + "open(\".claude/settings.json\",\"w\")'",
		"python3 - <<'E'\n" + strings.Repeat("#"+strings.Repeat("a", 100)+"\n", 3000) + "import os; os.system(\"reeve approvals approve abc\")\nE",
		"rm -rf " + strings.Repeat("x ", 3000) + "../../link/data",
		"zork run " + strings.Repeat("x ", 3000) + "../../link/data/seed",
	} {
		if len(g.Tampering(call(work, "shell", "command", line), nil)) == 0 {
			t.Errorf("passes: %d: %.60s … %s", i, line, line[max(0, len(line)-80):])
		}
	}
	for i, line := range []string{ // honest work of these sizes
		"sh ./honest3.sh", "xargs rm -f < gone", many(140, "cat f/l%d; ") + "xargs echo < gone", "sqlite3 x \"" + many(600, "select '/a/%d'; ") + "\"", "node ./bundle.js",
		"python3 - <<'E'\n" + many(400, "open('data/x%d/y.csv')\n") + "E",
	} {
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %d: %.60s: %s", i, line, r[0].Message)
		}
	}
}

// TestTamperingJoined: a folder and a name in it, a program and its words, an address and what
// it is asked for may each be arguments of their own, under whatever names.
func TestTamperingJoined(t *testing.T) {
	g, home := aGuarded(t)
	work, own := home+"/src/proj", home+"/.config/reeve"
	padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("# comment\n", 8000) + "reeve approvals approve abc\n"))
	for i, a := range [][]string{
		{"run_b64", "code", padded},
		{"rename", "old", "/tmp/x", "new", own + "/reeve.yaml"},
		{"move_file", "search", "/tmp/x", "replace", own + "/reeve.yaml"},
		{"write_file", "text", own + "/reeve.yaml", "body", "version: 1"},
		{"write_file", "data", own + "/reeve.yaml", "bytes", "version: 1"},
		{"edit_file", "find", own + "/reeve.yaml", "with", "version: 1"},
		{"write_file", "input", own + "/reeve.yaml", "bytes", "version: 1"},
		{"write_file", "query", own + "/reeve.yaml", "bytes", "version: 1"},
		{"write_file", "title", own + "/re eve.yaml/../reeve.yaml", "bytes", "version: 1"},
		{"write_file", "path", "file://" + own + "/reeve.yaml", "content", "x"},
		{"write_file", "uri", "FILE://localhost" + own + "/reeve%2Eyaml", "content", "x"},
		{"write_file", "path", own + "/reeve.yaml\n", "content", "x"},
		{"write_file", "path", " " + own + "/reeve.yaml", "content", "x"},
		{"write_file", "path", "\t" + own + "//reeve.yaml/", "content", "x"},
		{"write_file", "path", "\"" + own + "/reeve.yaml\"", "content", "x"},
		{"write_file", "dir", own, "name", "reeve.yaml", "content", "x"},
		{"write_file", "directory", home + "/.config", "filename", "reeve/reeve.yaml", "content", "x"},
		{"write_file", "base", home, "rel", ".config/reeve/reeve.yaml", "content", "x"},
		{"write_file", "base", home + "/.config/ree", "suffix", "ve/reeve.yaml", "content", "x"},
		{"create_symlink", "target", home + "/.config", "link", "/tmp/z"},
		{"extract_archive", "archive", "/tmp/x.tar", "destination", home + "/.config"},
		{"extract_archive", "archive", "/tmp/x.tar", "destination", own},
		{"download", "url", "https://x.example/p", "destination", own + "/reeve.yaml"},
		{"sync_folder", "source", "/tmp/x", "destination", home + "/.config"},
		{"replace_folder", "with", "/tmp/x", "path", home + "/.config"},
		{"set_permissions", "path", own, "mode", "000"},
		{"set_permissions", "path", home + "/.config", "mode", "000"},
		{"empty_trash", "paths", home + "/.config"},
		{"clean", "folder", home + "/.config"},
		{"archive", "path", home + "/.config", "remove", "true"},
		{"git_checkout", "work_tree", home + "/.config", "ref", "x"},
		{"http_request", "url", "http://127.0.0.1:8181/approvals/abc", "method", "POST"},
		{"http_request", "host", "127.0.0.1", "port", "8181", "path", "/approvals/abc", "method", "POST"},
		{"http_request", "base_url", "http://127.0.0.1:8181", "path", "/approvals/abc", "method", "POST"},
		{"http_request", "url", "http://localhost:8181/", "path", "admin/keys", "method", "POST"},
		{"http_request", "url", "http://[::1]:8181/admin/keys"},
		{"http_request", "url", "http://0x7f000001:8181/approvals/x"},
		{"http_request", "url", "http://127.0.0.1:08181/approvals/x"},
		{"http_request", "url", "http://127.0.0.1:8181/x/../approvals/x"},
		{"http_request", "url", "http://127.0.0.1:8181/%61pprovals/x"},
		{"http_request", "url", "http://127.0.0.1:8181/console/approvals/x"},
		{"http_request", "url", "http://user@127.0.0.1:8181/approvals/x"},
		{"unix_request", "socket", own + "/data/reeve.sock", "path", "/approvals/x"},
		{"browser_navigate", "url", "http://127.0.0.1:8181/console/"},
		{"kill_process", "pid", "43210"},
		{"kill_process", "name", "reeve"},
		{"stop_service", "service", "reeve"},
		{"docker_stop", "container", "reeve"},
		{"sql", "query", "ATTACH '" + own + "/data/reeve.db' AS r; DELETE FROM r.batches"},
		{"query", "database", own + "/data/reeve.db", "sql", "select 1"},
		{"run", "argv", "[\"reeve\",\"approvals\",\"approve\",\"x\"]"},
		{"run", "program", "reeve", "args", "approvals approve x"},
		{"run", "program", "reeve", "args/0", "approvals", "args/1", "approve", "args/2", "x"},
		{"spawn", "file", home + "/bin/reeve", "args", "trust"},
		{"spawn", "file", "/usr/bin/env", "args", "reeve trust ."},
	} {
		if len(g.Tampering(call(work, a[0], a[1:]...), nil)) == 0 {
			t.Errorf("passes: tool %d: %.100v", i, a)
		}
	}
	for _, a := range [][]string{
		{"rename", "old", "a.go", "new", "b.go"}, {"write_file", "path", "docs/a.md", "content", own + "/reeve.yaml"}, {"edit_file", "path", "docs/a.md", "old", own, "new", own + "/reeve.yaml"},
		{"write_file", "dir", work, "name", "reeve.yaml", "content", "x"}, {"write_file", "path", work + "/reeve.yaml", "content", "version: 1"}, {"create_symlink", "target", work + "/a", "link", work + "/b"},
		{"set_permissions", "path", work, "mode", "755"}, {"clean", "folder", work + "/build"}, {"empty_trash"}, {"git_status", "repo_path", home + "/.config"}, {"list_directory", "path", home + "/.config"},
		{"create_directory", "path", home + "/.config/app"}, {"set_working_directory", "path", home + "/.config"}, {"http_request", "url", "http://127.0.0.1:8080/admin/"}, {"http_request", "url", "http://127.0.0.1:8181/healthz"},
		{"http_request", "host", "127.0.0.1", "port", "8080", "path", "/approvals/abc"}, {"http_request", "url", "http://127.0.0.1:8181/", "body", "steps/message"}, {"kill_process", "pid", "43211"}, {"kill_process", "name", "vite"},
		{"stop_service", "service", "postgresql"}, {"sql", "query", "select * from approvals where path = '/a/b'"}, {"run", "program", "go", "args", "test ./..."}, {"run", "program", "reeve", "args", "approvals list"},
		{"run", "program", "reeve", "args", "ledger verify"}, {"send_message", "channel", "ops", "text", "reeve approvals approve x is what you run"}, {"task", "prompt", "run reeve approvals list", "description", "look"},
		{"create_issue", "title", "reeve approvals approve is slow", "body", "It takes long."}, {"run_b64", "code", base64.StdEncoding.EncodeToString([]byte("echo hello, what a nice day this is"))},
		{"search", "root", home, "query", ".config/reeve/reeve.yaml"}, {"search_files", "path", home + "/.config", "pattern", "*.yaml"}, {"open_file", "path", home + "/.config/app/a.yaml"}, {"upload", "file", work + "/a.png", "url", "https://x.example/reeve"},
		{"deploy", "service", "reeve", "image", "example.org/reeve:1", "port", "8181"}, {"lsp_definition", "file_path", work + "/cmd/reeve/main.go", "line", "3"}, {"start_server", "cwd", home + "/.config", "port", "8181"},
	} {
		if r := g.Tampering(call(work, a[0], a[1:]...), nil); len(r) > 0 {
			t.Errorf("is denied: %.100v: %s", a, r[0].Message)
		}
	}
}

// TestTamperingOrdinarySettings: settings without hooks are edited like any file, whether or not the
// passage is there; those that switch hooks off, and those with hooks, are not.
func TestTamperingOrdinarySettings(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	local := work + "/.claude/settings.json"
	for _, c := range []struct {
		file, old, new string
		tampers        bool
	}{
		{local, `"allow": [`, `"allow": ["Bash(npm test)",`, false}, {local, "x", `"env": {"A": "b"}`, false},
		{local, "x", `"disableAllHooks": true`, true}, {local, "x", `"env": {"BASH_ENV": "/x"}`, true},
		{home + "/.claude/settings.json", "that is not there", `"allow": []`, true}, {home + "/.claude/settings.json", "PreToolUse", "Pre", true},
	} {
		if r := g.Tampering(call(work, "edit", "file_path", c.file, "old_string", c.old, "new_string", c.new), nil); (len(r) > 0) != c.tampers {
			t.Errorf("tampers: %v, want %v: %+v", len(r) > 0, c.tampers, c)
		}
	}
}

// TestTamperingLargeSettings: settings that are too large to be read are not changed, nor made.
func TestTamperingLargeSettings(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	// Settings that are padded first.
	file := home + "/.claude/settings.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	big := string(text[:len(text)-2]) + strings.Repeat(" ", 5<<20) + string(text[len(text)-2:])
	if len(g.Tampering(call(work, "write", "file_path", file, "content", big), nil)) == 0 {
		t.Error("settings become too large to be read")
	}
	put(t, file, big)
	if len(g.Tampering(call(work, "write", "file_path", file, "content", "{}"), nil)) == 0 {
		t.Error("settings that are large lose the hooks")
	}
	if len(g.Tampering(call(work, "bash", "command", "rm -rf ~/.claude"), nil)) == 0 {
		t.Error("settings that are large go with their folder")
	}
}

// TestDotfiles: whoever keeps their own settings in a repository brings out the files that they
// name, and links for what lies in packages; not what may be the guardian's.
func TestDotfiles(t *testing.T) {
	g, home := aGuarded(t)
	for _, name := range []string{"vim/.vimrc", "app/app/a.toml", "shell/dot-bashrc", "bad/reeve/reeve.yaml", "worse/dot-config/reeve/policy/x.yaml", "claude/.claude/settings.json"} {
		put(t, home+"/dotfiles/"+name, "x")
	}
	for _, name := range []string{"zsh/.zshrc", "vim/.vimrc"} {
		put(t, home+"/clean/"+name, "x")
	}
	install := "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\nfor d in */; do\n  stow -t \"$HOME\" -R \"$d\"\ndone\n"
	if r := g.Tampering(call(home+"/clean", "write_file", "path", home+"/clean/install.sh", "content", install), nil); r != nil {
		t.Errorf("a script that makes links is refused when it is written: %v", r)
	}
	if r := g.Tampering(call(home+"/clean", "shell", "command", "for d in */; do stow -t ~ -R $d; done"), nil); r != nil {
		t.Errorf("packages that are on the disk are refused: %v", r)
	}
	const git = "git --git-dir=$HOME/.dotfiles --work-tree=$HOME "
	for line, tampers := range map[string]bool{
		"cd ~/dotfiles && stow -n -v -t ~ vim shell && stow -t ~ vim shell": false, "cd ~/dotfiles && stow -n -v -t ~ vim && stow -t ~ claude": true, "stow --version": false, "ls -la && git log --oneline -5; stow -V; stow --help | head -3": false, "stow --version -t ~ -d ~/dotfiles claude": false,
		"cd ~/dotfiles && stow vim": false, "cd ~/dotfiles && stow -v --dotfiles -t ~ vim shell": false, "stow -d ~/dotfiles -t ~/.config app": false, "stow --dir=~/dotfiles --target ~/.config app": false,
		"stow -d ~/dotfiles -t ~/.config bad": true, "stow -d ~/dotfiles -t ~ --dotfiles worse": true, "stow -d ~/dotfiles -t ~ vim worse": true, "stow -d ~/dotfiles -t ~ claude": true,
		"stow -d ~/dotfiles -t~/.config bad": true, "stow -d ~/dotfiles -t ~/.config gone": false, "git clone x ~/dotfiles/gone; stow -d ~/dotfiles -t ~/.config gone": true, "tar xf x -C ~/dotfiles; stow -d ~/dotfiles -t ~/.config gone": true, "mkdir ~/dotfiles/gone; cp x ~/dotfiles/gone/; stow -d ~/dotfiles -t ~/.config gone": false, "mkdir ~/dotfiles/gone; mv reeve ~/dotfiles/gone/; stow -d ~/dotfiles -t ~/.config gone": true, "mkdir ~/dotfiles/gone; mv sub ~/dotfiles/gone/.config; stow -d ~/dotfiles -t ~ gone": true,
		"cd ~/dotfiles && mv ~/.zshrc shell/ && stow -t ~ shell vim": false, "cd ~/dotfiles && cp -r /tmp/x shell/ && stow -t ~ shell": true, "cd ~/dotfiles && for d in vim shell; do stow -t \"$HOME\" -R \"$d\"; done": false, "cd ~/dotfiles && for d in */; do stow -t \"$HOME\" -R \"$d\"; done": true, "stow -d ~/dotfiles -t ~/.config *": true, "stow -d ~/dotfiles -t ~/.config $X": true,
		"cp -r /tmp/x ~/dotfiles/app; stow -d ~/dotfiles -t ~/.config app": true, "echo x > ~/dotfiles/app/y; stow -d ~/dotfiles -t ~/.config app": false, "echo x > ~/dotfiles/app/reeve/reeve.yaml; stow -d ~/dotfiles -t ~/.config app": true,
		git + "checkout -- .bashrc .vimrc": false, git + "restore -s main -- .config/app/a.toml": false, git + "status": false, git + "add .bashrc": false, git + "commit -am x": false,
		git + "checkout": true, git + "pull": true, git + "checkout -- .": true, git + "checkout -- .config": true, git + "checkout -- .config/reeve/reeve.yaml": true, git + "checkout -- ':(glob)**'": true, git + "checkout -- '.conf*'": true,
		git + "checkout -- .bashrc .config/../.config": true, git + "checkout --pathspec-from-file=x -- a": true, git + "reset --hard -- .bashrc": true, "cd ~/.config && " + git + "checkout -- reeve": true,
	} {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", line), nil); (len(r) > 0) != tampers {
			t.Errorf("tampers: %v, want %v: %s: %v", len(r) > 0, tampers, line, r)
		}
	}
}
