//go:build unix

package hook

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever the hook's program does, the agent gets an answer that holds: a call is
// blocked with words, what a tool gave is withheld, and of what is only told nothing
// keeps the agent. Agents start hooks by different shells.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name, program string // empty: there is none
		call          int    // the exit code for a call
		says          string // on standard error
		stdout        string // of a call; the rest is the hook's failure
	}{
		{"an answer", "cat >/dev/null; echo '{}'", 0, "", "{}\n"},
		{"what it is asked", "cat", 0, "", "the event"},
		{"a refusal", "echo 'reeve: no node' >&2; exit 2", 2, "no node", ""},
		{"a refusal without words", "exit 2", 2, "Nothing happens", ""},
		{"missing", "", 2, "failed with exit code 127", "reeve: "},
		{"exit code 1", "exit 1", 2, "failed with exit code 1", "reeve: "},
		{"exit code 1 with words", "echo broken; echo broken >&2; exit 1", 2, "failed with exit code 1", "broken\nreeve: "},
		{"exit code 3", "exit 3", 2, "failed with exit code 3", "reeve: "},
		{"killed", "kill -9 $$", 2, "failed with exit code 137", "reeve: "},
		{"killed by another signal", "kill -USR1 $$", 2, "failed with exit code", "reeve: "},
		{"stalled", "exec sleep 600", 2, "no answer in 1 seconds", "reeve: "},
		{"frozen", "kill -STOP $$", 2, "no answer in 1 seconds", "reeve: "},
		{"stalled after it allowed", "echo '{}'; exec sleep 600", 2, "no answer in 1 seconds", "{}\nreeve: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, "it's reeve")
			in := &Installation{Agent: "claude-code", Home: dir, Command: []string{program}, Patience: -3 * time.Second}
			if c.program != "" {
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.program+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish"} {
				if _, err := exec.LookPath(shell); err != nil {
					continue
				}
				for event, code := range map[string]int{"PreToolUse": c.call, "PostToolUse": 0, "Stop": min(c.call, 1)} {
					stdout, stderr, exit := runLine(t, shell, in.line(event), "the event")
					if exit != code || event == "PreToolUse" && !strings.Contains(stderr, c.says) {
						t.Errorf("%s, %s: exit code %d, want %d; it says %q", shell, event, exit, code, stderr)
					}
					switch {
					case c.call == 0 || event == "PreToolUse":
						if !strings.HasPrefix(stdout, c.stdout) {
							t.Errorf("%s, %s: standard output %q", shell, event, stdout)
						}
					case event == "PostToolUse" && !strings.Contains(stdout, "withheld"):
						t.Errorf("%s: of the result it says %q", shell, stdout)
					}
				}
			}
		})
	}
}

func runLine(t *testing.T, shell, line, stdin string) (stdout, stderr string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, "-c", line)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &said
	began := time.Now()
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}
