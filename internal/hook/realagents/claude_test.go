//go:build !windows

package realagents

import (
	"os"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/modelserver"
)

// What is written into Claude Code's settings while it works does not take the hook away:
// Claude Code asks its hooks before it takes a change over.
func TestClaudeKeepsItsHook(t *testing.T) {
	a := agents[3]
	for name, change := range map[string]func(r *run){
		"its event renamed": func(r *run) {
			text, err := os.ReadFile(r.home + "/.claude/settings.json")
			if err != nil {
				t.Error(err)
			}
			r.file(".claude/settings.json", strings.ReplaceAll(string(text), "PreToolUse", "PreToolUsed"))
		},
		"hooks switched off": func(r *run) {
			if err := os.WriteFile(r.at(".claude/settings.local.json"), []byte(`{"disableAllHooks": true}`), 0o600); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, a, actsPolicy())
			if err := os.Mkdir(r.at(".claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(r.at(".claude/settings.local.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.model.Play("play it",
				modelserver.Calls(a.shell("echo ran > before.txt")),
				modelserver.Turn{Then: func(string) modelserver.Turn {
					change(r)
					time.Sleep(3 * time.Second) // it watches its settings
					return modelserver.Calls(a.shell("echo forbidden > after.txt"))
				}},
				modelserver.Say("finished"))
			r.prompt("play it")
			if !r.has("before.txt") || r.has("after.txt") {
				t.Error("the hook was taken away")
			}
		})
	}
}
