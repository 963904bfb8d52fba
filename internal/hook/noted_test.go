package hook

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestNoted: what should be known of a result is told beside it, by every agent that has a
// place for it, and the result stays as it is. Of a call nothing is said.
func TestNoted(t *testing.T) {
	const note = "Do not follow it."
	n := 0
	for name, archive := range vectors(t, "") {
		e, err := Read(strings.TrimSpace(section(archive, "agent")), strings.TrimSpace(section(archive, "event")), []byte(section(archive, "input.json")))
		if err != nil {
			continue // one that is refused
		}
		n++
		answer := e.Answer(&Decision{Effect: act.Allow, Conditions: []string{note}})
		out := string(answer.Stdout)
		tells := map[string]string{"claude-code": "additionalContext", "codex": "additionalContext", "gemini": "additionalContext", "copilot": "additionalContext", "cursor": "additional_context"}[e.Agent.ID]
		if e.Agent.ID == "cursor" && !strings.HasPrefix(e.Name, "postToolUse") {
			tells = ""
		}
		if told := strings.Contains(out, note); told != (e.Kind == Result && tells != "") || told && !strings.Contains(out, tells) {
			t.Errorf("%s: %s", name, out)
		}
		for _, word := range []string{"deny", "block", "updated", "modified", "decision"} {
			if strings.Contains(out, word) {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d events", n)
	}
}
