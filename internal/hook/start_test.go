package hook

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
)

// TestRepositorySwitchesOff: what in a repository switches hooks off is said when a
// session begins, below the repository's root, too; and where that is denied, no prompt
// goes on.
func TestRepositorySwitchesOff(t *testing.T) {
	for _, tt := range []struct{ agent, file, text, off string }{
		{"claude-code", ".claude/settings.json", `{"disableAllHooks": true}`, "disableAllHooks"},
		{"claude-code", ".claude/settings.local.json", `{"env": {"CLAUDE_CODE_SIMPLE": "1"}}`, "CLAUDE_CODE_SIMPLE"},
		{"codex", ".codex/config.toml", "[features]\nhooks = false\n", "hooks = false"},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled"},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"disabled": ["reeve"]}}`, "hooksConfig.disabled"},
		{"copilot", ".claude/settings.json", `{"disableAllHooks": true}`, "disableAllHooks"},
		{"copilot", ".github/copilot/settings.json", `{"disableAllHooks": true}`, "disableAllHooks"},
		{"claude-code", ".claude/settings.json", `{"disableAllHooks": false}`, ""},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": true, "disabled": []}}`, ""},
		{"codex", ".codex/config.toml", "[features]\nhooks = true\n", ""},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, filepath.FromSlash(tt.file)), tt.text)
		below := filepath.Join(root, "cmd", "deep")
		if err := os.MkdirAll(below, 0o755); err != nil {
			t.Fatal(err)
		}
		a, err := Find(tt.agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Start, Prompt} {
			events := places[tt.agent].events
			name := events[slices.IndexFunc(events, func(name string) bool { return a.events[name] == kind })]
			body := map[string]any{"hook_event_name": name, "session_id": "s", "sessionId": "s", "cwd": below, "prompt": "go on", "source": "startup", "turn_id": "t"}
			if tt.agent == "copilot" {
				delete(body, "hook_event_name")
				delete(body, "session_id")
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			run := &Run{Agent: tt.agent, Event: name, Trails: t.TempDir(), Timeout: Timeout}
			if tt.agent != "copilot" {
				run.Event = ""
			}
			var asked []string
			answer := run.Respond(t.Context(), text, func(_ context.Context, request []byte) (*Decision, error) {
				asked = append(asked, string(request))
				if strings.Contains(string(request), "switches hooks off") && kind == Prompt {
					return &Decision{Effect: act.Deny, Message: "Not here."}, nil
				}
				return &Decision{Effect: act.Allow}, nil
			})
			all := strings.Join(asked, "\n")
			switch {
			case tt.off == "":
				if strings.Contains(all+answer.Stderr, "switches hooks off") {
					t.Errorf("%s %s: %s", tt.agent, tt.text, all)
				}
			case !strings.Contains(all, tt.off) || !strings.Contains(answer.Stderr, tt.off):
				t.Errorf("%s %s, event %s: it is not said: %q, asked %q", tt.agent, tt.text, name, answer.Stderr, asked)
			case kind == Prompt && tt.agent != "copilot" && answer.Exit == 0 && !strings.Contains(string(answer.Stdout), "Not here."):
				t.Errorf("%s %s: the prompt goes on: %s", tt.agent, tt.text, answer.Stdout)
			}
		}
	}
}
