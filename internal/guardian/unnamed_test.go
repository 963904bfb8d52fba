package guardian

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// lines are those of a file of testdata, where ⏎ ends a line within one.
func lines(t *testing.T, name string) (list []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '#' {
			list = append(list, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return list
}

// TestTamperingUnnamed: what reaches for the guardian by programs, options and calls that
// nothing here has a name for, each class in many spellings; and honest work near it.
func TestTamperingUnnamed(t *testing.T) {
	g, home := aGuarded(t)
	try := func(line string, tampers bool) {
		t.Helper()
		line = strings.NewReplacer("$HOME", "$HOME", "HOME/", home+"/").Replace(line) // which leaves the variable
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", line), nil); (len(r) > 0) != tampers {
			t.Errorf("tampers: %v, want %v: %s: %v", len(r) > 0, tampers, line, r)
		}
	}
	for _, line := range lines(t, "reaches.txt") {
		try(line, true)
	}
	for _, line := range lines(t, "ordinary.txt") {
		try(line, false)
	}
	own := []string{"~/.config", "~/.config/reeve", "$HOME/.config/reeve", "HOME/.config/reeve/", "../../.config"}
	other := []string{"~/.config/app", "../other", "/tmp/other", "$HOME/src"}

	for _, verb := range []string{"checkout -f main -- .", "reset --hard", "restore -s x .", "read-tree -u --reset x", "clean -ffdx", "checkout-index -af", "merge x", "pull", "stash pop", "switch -f x", "zork --all"} {
		for _, form := range []string{"git --git-dir=/tmp/x --work-tree=%[1]s %[2]s", "git --work-tree %[1]s %[2]s", "GIT_WORK_TREE=%[1]s git %[2]s", "git -c core.worktree=%[1]s %[2]s",
			"export GIT_WORK_TREE=%[1]s; git %[2]s", "cd %[1]s && git --git-dir=/tmp/x %[2]s", "cd %[1]s && GIT_DIR=/tmp/x git %[2]s"} {
			for _, dir := range own {
				try(fmt.Sprintf(form, dir, verb), true)
			}
			for _, dir := range other {
				try(fmt.Sprintf(form, dir, verb), false)
			}
		}
	}
	for _, form := range []string{"cp -rT /tmp/x %s", "cp -r --no-target-directory /tmp/x %s", "mv -T /tmp/x %s", "mv --exchange /tmp/x %s", "ln -sfn /tmp/x %s", "ln -sfT /tmp/x %s", "ln -fhs /tmp/x %s", "zork %s /tmp/x", "zork --into %s", "zork --into=%s", "zork -a 'path=%s state=absent'",
		"pip install --target %s x", "zork install --root=%s x", "unknown-sync push /tmp/x %s"} {
		for _, dir := range own {
			try(fmt.Sprintf(form, dir), true)
		}
		for _, dir := range other {
			try(fmt.Sprintf(form, dir), false)
		}
	}
	law := "HOME/.config/reeve/reeve.yaml"
	for _, call := range []string{"file_put_contents", "fputs", "setContents", "zork", "empty_it", "File.zork", "os.ftruncate", "shutil.zork", "save", "put"} {
		for _, interpreter := range []string{"python3 -c", "node -e", "php -r", "ruby -e", "lua -e", "perl -e"} {
			try(fmt.Sprintf(`%s '%s("%s")'`, interpreter, call, law), true)
		}
	}
	for _, code := range []string{`python3 -c 'print(len(open("%s").readlines()))'`, `python3 -c 'from pathlib import Path; print(Path("%s").read_text())'`, `php -r 'echo file_get_contents("%s");'`, `node -e 'console.log(require("fs").readFileSync("%s").toString())'`} {
		try(fmt.Sprintf(code, law), false)
	}
	for _, link := range []string{`os.symlink(os.path.expanduser("~/.config"), "/tmp/c")`, `os.link("HOME/.config", "/tmp/c")`} {
		try(`python3 -c 'import os; `+link+`; open("/tmp/c/reeve/reeve.yaml", "w")'`, true)
		try(`python3 -c 'import os; `+link+`; open("/tmp/c/app/app.yaml", "w")'`, false)
	}
	for _, form := range []string{"zork -q \"open '%s' and go\"", "zork \"read %s\"", "sqlite3 /tmp/x \"attach '%s' as r\"", "duckdb <<'E'\ncopy t to '%s';\nE", "printf '%%s\\n' 'e %s' w | ed", "curl file://%s", "sftp -b - h <<'E'\nput /tmp/x %s\nE"} {
		for _, file := range []string{"HOME/.config/reeve/data/reeve.db", "~/.config/reeve/data/reeve.db"} {
			if strings.Contains(form, "file://") && file[0] == '~' {
				continue
			}
			try(fmt.Sprintf(form, file), true)
		}
		try(fmt.Sprintf(form, "/tmp/reeve.db"), false)
	}
	for _, form := range []string{"zork --pid %s", "zork --pid=%s", "zork --target-pid %s", "zork attach %s", "nsenter -t %s -m ls", "taskset -p 1 %s", "py-spy dump -p %s", "python3 -c 'import ctypes; ctypes.CDLL(None).ptrace(16, %s)'",
		"python3 -c 'import signal; signal.pidfd_send_signal(os.pidfd_open(%s), 9)'", "echo x > /proc/%s/fd/7", "dd if=/tmp/x of=/proc/%s/mem"} {
		try(fmt.Sprintf(form, "43210"), true)
		try(fmt.Sprintf(form, "991"), false)
	}
	try("echo x > /proc/$(pidof reeve)/mem", true)
	try("p=$(pgrep -x reeve); cp /tmp/x /proc/$p/root/x", true)
	for _, form := range []string{"gzip %s", "xz -f %s", "zip -m /tmp/a.zip %s", "7z a -sdel /tmp/a.7z %s", "zstd --rm %s", "scp h:x %s", "rclone copyto h:x %s", "rclone moveto %s h:x", "openssl rand -out %s 9", "xxd -r -p /tmp/x %s", "tar cf %s x", "dd if=/tmp/x of=%s", "git diff --output=%s", "git log -1 --output %s", "base64 -d -i /tmp/x -o %s"} {
		try(fmt.Sprintf(form, law), true)
		try(fmt.Sprintf(form, "/tmp/reeve.yaml"), false)
	}
	for _, up := range []string{"a", "a/b", "./a/b/c"} { // a link's own folder is where it is counted from
		back := strings.Repeat("../", strings.Count(strings.TrimPrefix(up, "./"), "/")+1)
		try("mkdir -p "+up+" && ln -s "+back+"../../.config "+up+"/l; rm -rf "+up+"/l/reeve", true)
		try("mkdir -p "+up+" && ln -s "+back+"other "+up+"/l; rm -rf "+up+"/l/reeve", false)
	}
	try("GOBIN=HOME/bin go install ./cmd/reeve", true)
	try("export GOBIN=~/bin; go install example.org/x/reeve@latest", true)
}
