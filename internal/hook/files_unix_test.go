//go:build unix

package hook

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestThreat10HookFiles: a hook that waits is one that its agent gives up, and goes on without.
// Nothing that lies in a project, in whatever place of it, is waited for.
func TestThreat10HookFiles(t *testing.T) {
	lay := map[string]func(string) error{
		"pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"zero": func(name string) error { return os.Symlink("/dev/zero", name) },
		"kmsg": func(name string) error { return os.Symlink("/proc/kmsg", name) },
		"huge": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 10<<30)
		},
	}
	for what, lay := range lay {
		for _, name := range []string{
			"AGENTS.md", "CLAUDE.md", ".claude", ".claude/settings.json", ".claude/skills", ".claude/skills/one/SKILL.md", ".claude/commands/one.md", ".claude/agents", ".mcp.json", ".cursor", ".cursor/rules",
			".gemini/settings.json", ".github", ".git", ".git/config", ".git/HEAD", "notes", "notes/deep",
		} {
			t.Setenv("HOME", t.TempDir())
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(name, ".git/") && name != ".git" {
				if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := lay(file); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				lookBrought(dir)
				for _, prompt := range []string{"@notes", "@notes/deep", "/one", "@" + name} {
					Read("claude-code", "", obj(nil).str("session_id", "s").str("cwd", dir).str("hook_event_name", "UserPromptSubmit").str("prompt", prompt).end())
				}
				Read("claude-code", "", obj(nil).str("session_id", "s").str("cwd", dir).str("hook_event_name", "Stop").str("transcript_path", file).end())
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatalf("a hook waits for %s as %s", what, name)
			}
		}
	}
}
