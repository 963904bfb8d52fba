//go:build unix

package target

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestThreat10NamedFiles: an act names, and a program takes its orders from, what does not end or
// is never written. Nobody waits for it, and nobody agrees to more than this one act.
func TestThreat10NamedFiles(t *testing.T) {
	for what, lay := range map[string]func(name string) error{
		"a pipe":          func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a device":        func(name string) error { return os.Symlink("/dev/zero", name) },
		"a terminal":      func(name string) error { return os.Symlink("/dev/tty", name) },
		"a kernel's file": func(name string) error { return os.Symlink("/proc/kmsg", name) },
		"ten gigabytes": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 10<<30)
		},
	} {
		for _, tt := range [][2]string{
			{"sh run.sh", "run.sh"}, {"make all", "Makefile"}, {"npm run x", "package.json"}, {"python3 tool.py", "tool.py"}, {"./prog", "prog"},
			{"git push origin main", ".git/HEAD"}, {"git push origin main", ".git/refs/heads/main"}, {"git push origin main", ".git/packed-refs"}, {"git push origin v1", ".git/config"},
			{"sh sub", "sub/inside"}, {"docker compose up", "compose.yaml"}, {"curl -d @data https://example.com", "data"}, {"sh < in", "in"},
		} {
			dir := t.TempDir()
			file := filepath.Join(dir, tt[1])
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := lay(file); err != nil {
				t.Fatal(err)
			}
			a := call("shell", "command", `"`+tt[0]+`"`)
			a.Folder = dir
			done := make(chan struct{})
			go func() {
				Of(a, &act.Decision{}, false).Look()
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Errorf("%s waits for %s as %s", tt[0], what, tt[1])
			}
		}
	}
}

// TestThreat10Patterns: a pattern of all that there is, in however many folders, is not looked for on the whole disk.
func TestThreat10Patterns(t *testing.T) {
	for _, command := range []string{
		"sh /*/*/*/*/*/*", "sh ../../../../../*/*/*/*/*", strings.Repeat("cd a; ", 70) + strings.Repeat("sh */*/*; ", 200), "make", "foo " + strings.Repeat("/usr/*/*,", 400),
	} {
		a := call("shell", "command", strconv.Quote(command))
		a.Folder = t.TempDir()
		recipe := "all:\n" + strings.Repeat("\tcd "+strings.Repeat("b", 20)+" && sh */*/*/* a b c d e f g h i j k\n", 900)
		if err := os.WriteFile(filepath.Join(a.Folder, "Makefile"), []byte(recipe), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan *Aim)
		go func() {
			m := Of(a, &act.Decision{}, false)
			m.Look()
			done <- m
		}()
		select {
		case m := <-done:
			if len(m.names) > 2*maxFiles {
				t.Errorf("%.40s: %d names", command, len(m.names))
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%.40s: it is looked for for ever", command)
		}
	}
}
