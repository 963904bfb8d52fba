package policy

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestStrangers: programs that no table names are held by what their words say that they do,
// and by what they are given to run.
func TestStrangers(t *testing.T) {
	starter := starterSet(t)
	all, held := map[string]int{}, map[string]int{}
	for class, line := range actLines(t, "strangers.txt") {
		all[class]++
		v := starter.Evaluate(&Input{Action: commandAct(line)})
		passes := v.Effect == act.Allow || v.Effect == act.Modify
		switch {
		case !passes:
			held[class]++
			if class == "ordinary" {
				t.Errorf("%v %v: %q", v.Effect, v.Reasons[0].Code, line)
			}
		case class != "ordinary":
			t.Logf("%s passes: %q", class, line)
		}
	}
	for class, n := range all {
		t.Logf("%-32s %d of %d held", class, held[class], n)
		if class != "ordinary" && float64(held[class]) < 0.93*float64(n) {
			t.Errorf("%s: only %d of %d are held", class, held[class], n)
		}
	}
}
