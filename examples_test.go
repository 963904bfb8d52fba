package reeve

import (
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/policy"
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
	report := set.Test(cases, func(request []byte) (*policy.Input, error) {
		a, err := aos.ActionOf(request)
		if err != nil {
			return nil, err
		}
		a.Principal = act.Anonymous
		return &policy.Input{Action: a, Session: policy.Session{Known: true}}, nil
	})
	for _, r := range report.Results {
		if r.Problem != "" {
			t.Errorf("%s: %s", r.Case.Name, r.Problem)
		}
	}
	if len(cases) < 8 {
		t.Errorf("there are %d cases", len(cases))
	}
}
