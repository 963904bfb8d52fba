//go:build !windows

package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineWithoutPath: what a repository puts on the PATH is neither the hook's shell nor
// anything that the shell calls.
func TestLineWithoutPath(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"sh", "sleep", "kill", "echo", "true", "env"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n: > "+dir+"/ran-"+name+"\nexit 0\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	slow := filepath.Join(dir, "hook")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec /bin/cat > "+dir+"/asked\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := &Installation{Agent: "claude-code", Home: dir, Command: []string{slow}}
	cmd := exec.Command("/bin/sh", "-c", in.line("PreToolUse"))
	cmd.Env, cmd.Stdin = []string{"PATH=" + bin}, strings.NewReader("{}")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err != nil {
		t.Error("the hook was not asked")
	}
	if ran, _ := filepath.Glob(filepath.Join(dir, "ran-*")); len(ran) > 0 {
		t.Errorf("%v was run", ran)
	}
}

// TestFlagsIn: the flags of an installed hook are read back from the line that the agent has.
func TestFlagsIn(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"--data", "/home/a/.config/reeve/data"},
		{"--data", "/home/a b/it's \"so\"/reeve/data", "--url", "http://127.0.0.1:1/", "--policy", ""},
		{"--data", `/x\y/'`, "--key", "file:/k hook --agent x"},
	} {
		in := &Installation{Agent: "claude-code", Command: append([]string{"/usr/bin/reeve"}, flags...)}
		if diff := cmp.Diff(flags, flagsIn(in.line("PreToolUse"), in.Agent)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
