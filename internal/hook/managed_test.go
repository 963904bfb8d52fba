//go:build linux

package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/internal/rawjson"
)

// aMachine is an installation in the machine's settings, in a folder of the test's.
func aMachine(t *testing.T, agent string) (in *Installation, file string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	in = &Installation{Agent: agent, Managed: true, root: t.TempDir(), Command: []string{"/bin/sh", "--url", "http://127.0.0.1:8080/"}}
	file, err := in.File()
	if err != nil {
		t.Fatal(err)
	}
	return in, file
}

// What is installed in the machine's settings goes out again, and what was there before
// is what it was, byte for byte.
func TestManaged(t *testing.T) {
	before := map[string][]string{
		"claude-code": {"", "{}", `{"allowManagedHooksOnly": false, "model": "opus"}`, `{ "allowManagedHooksOnly":true }`, `{"permissions": {"deny": ["Read(./.env)"]},
 "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}}`},
		"gemini":   {"", `{"hooksConfig": {"enabled": false, "notifications": false}}`, `{"hooksConfig":{"enabled":true}}`, `{"hooksConfig":{}}`},
		"codex":    {""},
		"cursor":   {"", `{"version": 1, "hooks": {"stop": [{"command": "mine.sh"}]}}`},
		"copilot":  {""},
		"opencode": {""},
	}
	for agent, p := range places {
		if p.managed == nil {
			continue
		}
		if before[agent] == nil {
			t.Errorf("%s is not tried", agent)
		}
		for _, text := range before[agent] {
			in, file := aMachine(t, agent)
			if text != "" {
				write(t, file, text)
			}
			changed, err := in.Install()
			if err != nil || !changed {
				t.Fatalf("%s %q: %v, %v", agent, text, changed, err)
			}
			if changed, err = in.Install(); err != nil || changed {
				t.Errorf("%s %q: again: %v, %v", agent, text, changed, err)
			}
			if !in.Installed() {
				t.Errorf("%s: %s", agent, read(t, file))
			}
			if line, err := in.installedLine(); err != nil || !strings.Contains(line, "hook --agent "+agent) {
				t.Errorf("%s: %q, %v", agent, line, err)
			}
			if off := switchedOff([]byte(read(t, file))); off != "" {
				t.Errorf("%s %q: it switches hooks off: %s", agent, text, off)
			}
			for _, s := range in.settings() {
				if !s.isIn([]byte(read(t, file))) {
					t.Errorf("%s %q: %s is not set:\n%s", agent, text, s.path, read(t, file))
				}
			}
			if info, err := os.Stat(file); err != nil || text == "" && info.Mode().Perm() != 0o644 {
				t.Errorf("%s: others do not read %s: %v, %v", agent, file, info.Mode(), err)
			}
			if _, err := in.Remove(); err != nil {
				t.Fatalf("%s %q: %v", agent, text, err)
			}
			if text == "" {
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
					t.Errorf("%s: left: %v", agent, left)
				}
			} else if got := read(t, file); got != text {
				t.Errorf("%s: %q became %q", agent, text, got)
			}
		}
	}
}

// What an administrator changed later stays, and what had been set before stays set.
func TestManagedKeepsLaterChanges(t *testing.T) {
	in, file := aMachine(t, "claude-code")
	write(t, file, `{"allowManagedHooksOnly": true, "model": "opus"}`)
	if _, err := in.Install(); err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(read(t, file), `"opus"`, `"sonnet"`, 1))
	if _, err := in.Remove(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); !sameJSON([]byte(got), []byte(`{"allowManagedHooksOnly": true, "model":"sonnet"}`)) {
		t.Errorf("left: %s", got)
	}
	if left := in.Left(); len(left) != 1 || !strings.Contains(left[0], backupSuffix) {
		t.Errorf("said: %q", left)
	}
}

// OpenCode's own list of plugins has reeve's, and loses nothing else.
func TestManagedPlugin(t *testing.T) {
	in, file := aMachine(t, "opencode")
	own := filepath.Join(filepath.Dir(file), "opencode.json")
	const before = `{ "plugin": ["theirs"],  "share": "disabled" }`
	write(t, own, before)
	if _, err := in.Install(); err != nil {
		t.Fatal(err)
	}
	doc, err := rawjson.Parse([]byte(read(t, own)))
	if err != nil {
		t.Fatal(err)
	}
	var plugins []string
	for _, p := range doc.Root().Get("plugin").Elems() {
		plugins = append(plugins, p.Text())
	}
	if !slices.Equal(plugins, []string{"theirs", "file://" + file}) || doc.Root().Get("share").Text() != "disabled" {
		t.Errorf("%s", read(t, own))
	}
	if _, err := in.Remove(); err != nil || read(t, own) != before {
		t.Errorf("%v, %s", err, read(t, own))
	}
}

// A program that somebody else could replace does not run for everybody.
func TestManagedOnlyRootsPrograms(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "reeve")
	write(t, program, "#!/bin/sh\n")
	for name, mode := range map[string]os.FileMode{"closed": 0o700, "anybody's": 0o777, "the group's": 0o775} {
		if err := os.Chmod(program, mode); err != nil {
			t.Fatal(err)
		}
		in, file := aMachine(t, "claude-code")
		in.Command = []string{program}
		if _, err := in.Install(); err == nil {
			t.Errorf("%s: it was installed", name)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
	in, _ := aMachine(t, "codex")
	in.Command = []string{filepath.Join(dir, "missing")}
	if _, err := in.Install(); err == nil {
		t.Error("a missing program was installed")
	}
}

func FuzzSettings(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":{"b":false,"c":1}}`, `{"a":{"b":true}}`, `{"a":{}}`, `{"a":[]}`, "{\n  \"x\": \"\\u00e9\"\n}"} {
		f.Add([]byte(text))
	}
	s := setting{[]string{"a", "b"}, "true"}
	f.Fuzz(func(t *testing.T, text []byte) {
		with, err := set(text, s.path, []byte(s.value))
		if err != nil {
			return
		}
		if !s.isIn(with) {
			t.Fatalf("%q became %q", text, with)
		}
		if again, err := set(with, s.path, []byte(s.value)); err != nil || !bytes.Equal(again, with) {
			t.Fatalf("again: %q, %v", again, err)
		}
		less, err := unset(with, s.path)
		if err != nil || s.isIn(less) {
			t.Fatalf("%q, %v", less, err)
		}
		// Everything else is what it was.
		doc, err := rawjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		now, err := rawjson.Parse(less)
		if err != nil {
			t.Fatalf("%q is no JSON: %v", less, err)
		}
		for name, v := range doc.Root().Members() {
			if name != "a" && !bytes.Equal(v.AppendCanonical(nil), now.Root().Get(name).AppendCanonical(nil)) {
				t.Fatalf("%s is %q now", name, now.Root().Get(name).Raw())
			}
		}
		for name, v := range doc.Root().Get("a").Members() {
			if name != "b" && !bytes.Equal(v.AppendCanonical(nil), now.Root().Get("a").Get(name).AppendCanonical(nil)) {
				t.Fatalf("a.%s is %q now", name, now.Root().Get("a").Get(name).Raw())
			}
		}
	})
}
