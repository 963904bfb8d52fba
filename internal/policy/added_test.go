package policy

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestAddedHooksAsk: a hook that a call adds to an agent's settings asks a person.
func TestAddedHooksAsk(t *testing.T) {
	a := commandAct("date")
	if v := starterSet(t).Evaluate(&Input{Action: a, Session: Session{Known: true}}); v.Effect != act.Allow {
		t.Errorf("without: %v %+v", v.Effect, v.Reasons)
	}
	a.Runs = []act.FileRun{{File: "settings.json", Code: "persist.setting", Weight: 0.45, Sets: true}}
	if v := starterSet(t).Evaluate(&Input{Action: a, Session: Session{Known: true}}); v.Effect != act.Escalate {
		t.Errorf("with: %v %+v", v.Effect, v.Reasons)
	}
}
