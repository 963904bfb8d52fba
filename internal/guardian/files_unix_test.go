//go:build unix

package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reeve.example/reeve/internal/risk/hazard"
)

// TestThreat10FilesOfActs: nobody who asks whether an act reaches for the guardian waits for the
// files that it names, whatever they are.
func TestThreat10FilesOfActs(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	for name, lay := range map[string]func(string) error{
		"pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"zero": func(name string) error { return os.Symlink("/dev/zero", name) },
		"kmsg": func(name string) error { return os.Symlink("/proc/kmsg", name) },
		"huge": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 10<<30)
		},
	} {
		if err := lay(filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{
			"kill $(cat NAME)", "xargs rm < NAME", "xargs -a NAME rm", "docker compose -f NAME up", "kubectl apply -f NAME", "claude --settings NAME", "sh NAME", "source NAME", "cat NAME | sh", "grep -l x NAME | xargs rm",
			"rsync --files-from=NAME . /tmp/x", "tar -T NAME -cf x", "cp NAME .claude/settings.json", "mv NAME ~/.claude/settings.json", "jq . NAME > .claude/settings.json", "git apply NAME", "patch < NAME",
			"podman run --env-file NAME x", "docker compose --env-file NAME up", "pkill -F NAME", "wc NAME", "parallel rm :::: NAME", "while read f; do rm $f; done < NAME",
		} {
			a := call(work, "shell", "command", strings.ReplaceAll(command, "NAME", name))
			done := make(chan struct{})
			go func() {
				g.Tampering(a, hazard.Read(a))
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Errorf("%s waits", strings.ReplaceAll(command, "NAME", name))
			}
		}
	}
}
