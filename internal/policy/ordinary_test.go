package policy

import (
	"os"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// commandAct is a command that an agent would run.
func commandAct(text string) *act.Action {
	return &act.Action{Kind: act.ToolCall, Tool: &act.Tool{Name: "bash"}, Canonical: "bash", Resource: "bash",
		Arguments: []act.Argument{{Name: "command", Value: []byte(`"x"`), Pointer: "/arguments/command"}},
		Content:   []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: text}}}
}

// TestOrdinaryWork: what agents do all day passes the starter policy, and what cannot be
// undone asks a person.
func TestOrdinaryWork(t *testing.T) {
	text, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		t.Fatal(err)
	}
	starter := starterSet(t)
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		want := act.Allow
		if rest, ok := strings.CutPrefix(line, "ask: "); ok {
			line, want = rest, act.Escalate
		}
		v := starter.Evaluate(&Input{Action: commandAct(strings.ReplaceAll(line, "⏎", "\n"))})
		if v.Effect != want {
			var why []string
			for _, r := range v.Reasons {
				why = append(why, r.Rule+" "+r.Code)
			}
			t.Errorf("%s: %v, want %v: %v", line, v.Effect, want, why)
		}
	}
	if n < 300 {
		t.Errorf("only %d acts", n)
	}
}
