package policy

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestLeaks: what a place of secrets holds does not leave by any program, whatever option takes it
// and whatever carries it there; a credential reaches the program that it is for.
func TestLeaks(t *testing.T) {
	starter := starterSet(t)
	all, right := map[string]int{}, map[string]int{}
	for class, line := range actLines(t, "leaks.txt") {
		want, command, _ := strings.Cut(line, ": ")
		v := starter.Evaluate(&Input{Action: commandAct(command)})
		got := "pass"
		switch v.Effect {
		case act.Escalate:
			got = "asked"
		case act.Deny:
			got = "denied"
		}
		all[class+" "+want]++
		if got == want || want == "held" && got != "pass" {
			right[class+" "+want]++
			continue
		}
		why := ""
		for _, r := range v.Reasons {
			why += " " + r.Rule + " " + r.Code
		}
		t.Errorf("%s: %s, want %s: %q%s", class, got, want, command, why)
	}
	for class, n := range all {
		t.Logf("%-20s %d of %d right", class, right[class], n)
	}
}
