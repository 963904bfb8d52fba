//go:build !windows

package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
