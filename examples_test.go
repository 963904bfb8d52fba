package reeve

import (
	"testing"

	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
)

// TestBankExample: the example's policy says of each case what stands there.
func TestBankExample(t *testing.T) {
	set, err := policy.LoadPath("examples/bank")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := policy.LoadCases("examples/bank")
	if err != nil {
		t.Fatal(err)
	}
	report := set.Test(cases, replay.Case)
	for _, r := range report.Results {
		if r.Problem != "" {
			t.Errorf("%s: %s", r.Case.Name, r.Problem)
		}
	}
	if len(cases) < 8 {
		t.Errorf("there are %d cases", len(cases))
	}
}
