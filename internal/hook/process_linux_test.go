package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAgentOf(t *testing.T) {
	for line, want := range map[string]string{
		"codex exec do it": "codex", "/opt/bin/claude -p hello": "claude-code", "node --no-warnings /usr/lib/gemini -p x": "gemini",
		"bun /x/opencode run y": "opencode", "codex app-server": "", "claude mcp serve": "", "node": "", "node --version": "",
		"vim claude": "", "grep codex": "", "": "", "q chat": "",
	} {
		if got := agentOf(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, and should be %q", line, got, want)
		}
	}
}

// TestProcesses finds a process that is named like an agent, and when it began.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "copilot")
	sleep, err := exec.LookPath("sleep")
	if err == nil {
		err = os.Symlink(sleep, program)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "60")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	// For an instant after a program was put in a process's place it has no words yet.
	line := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if words, err := os.ReadFile(line); err == nil && len(words) > 0 {
			break
		}
	}
	for _, p := range Processes() {
		if p.PID == cmd.Process.Pid {
			if since := time.Since(p.Began); p.Agent != "copilot" || p.Folder != dir || since < -2*time.Second || since > time.Minute {
				t.Errorf("%+v", p)
			}
			return
		}
	}
	t.Error("it was not found")
}
