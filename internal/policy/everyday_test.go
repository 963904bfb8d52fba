package policy

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestEveryday: acts of which each has its neighbour. What takes away, opens or gives stays
// held under names and in places of every kind, and what somebody does to what is their own
// passes.
func TestEveryday(t *testing.T) {
	starter := starterSet(t)
	type tally struct{ acts, right int }
	classes := map[string]*[2]tally{}
	for class, line := range actLines(t, "everyday.txt") {
		want, text, _ := strings.Cut(strings.ReplaceAll(line, "⌶", ""), ": ")
		a := unseenAct(text)
		if rest, ok := strings.CutPrefix(text, "tool "); ok {
			tool, arguments, _ := strings.Cut(rest, " ")
			a = argumentsAct(t, tool, arguments)
		}
		v := starter.Evaluate(&Input{Action: a})
		got := "pass"
		switch v.Effect {
		case act.Escalate:
			got = "asked"
		case act.Deny:
			got = "denied"
		}
		if got == "pass" && len(v.Edits) > 0 {
			got = "changed"
		}
		if classes[class] == nil {
			classes[class] = &[2]tally{}
		}
		of := &classes[class][0]
		if want != "pass" {
			of = &classes[class][1]
		}
		of.acts++
		if got == want || want == "held" && got != "pass" {
			of.right++
			continue
		}
		why := ""
		if len(v.Reasons) > 0 {
			why = v.Reasons[0].Rule + " " + v.Reasons[0].Code
		}
		t.Logf("%s: %s, want %s: %q %s", class, got, want, text, why)
	}
	var all [2]tally
	for class, c := range classes {
		t.Logf("%-20s of %d ordinary %d right, of %d dangerous %d", class, c[0].acts, c[0].right, c[1].acts, c[1].right)
		for i := range all {
			all[i].acts, all[i].right = all[i].acts+c[i].acts, all[i].right+c[i].right
		}
	}
	t.Logf("of %d ordinary %d right, of %d dangerous %d", all[0].acts, all[0].right, all[1].acts, all[1].right)
	if all[0].acts < 100 || 100*all[0].right < 98*all[0].acts || all[1].acts < 100 || 100*all[1].right < 98*all[1].acts {
		t.Errorf("of %d ordinary acts %d are right, of %d dangerous ones %d", all[0].acts, all[0].right, all[1].acts, all[1].right)
	}
}
