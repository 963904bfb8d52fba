package intent

import (
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestEnd walks how an intent can end.
func TestEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		effect  act.Effect
		before  Outcome
		report  Report
		minutes int
		want    Outcome
		refused bool
	}{
		{"as approved", act.Allow, "", Report{Status: "SUCCESS"}, 1, Reported, false},
		{"with what was called", act.Modify, "", Report{Status: "FAILURE", Tool: "t", Digest: "call"}, 1, Reported, false},
		{"as it was asked, and not as it was left", act.Modify, "", Report{Status: "SUCCESS", Tool: "t", Digest: "asked"}, 1, Mismatched, true},
		{"another tool", act.Allow, "", Report{Status: "SUCCESS", Tool: "u"}, 1, Mismatched, true},
		{"nobody knows", act.Allow, "", Report{Status: "ABORTED"}, 1, Ambiguous, false},
		{"too late", act.Allow, "", Report{Status: "SUCCESS"}, 60, "", true},
		{"denied", act.Deny, "", Report{Status: "SUCCESS"}, 1, "", true},
		{"held", act.Escalate, "", Report{Status: "SUCCESS"}, 1, "", true},
		{"taken back", act.Allow, Withdrawn, Report{Status: "SUCCESS"}, 1, Withdrawn, true},
		{"taken back, and obeyed", act.Allow, Withdrawn, Report{Status: "ABORTED"}, 1, Withdrawn, false},
	} {
		n := &Intent{Tool: "t", Digest: "asked", Call: "call", Verdict: act.Decision{Effect: tt.effect}, Expires: start.Add(5 * time.Minute), Outcome: tt.before}
		violation := n.End(tt.report, start.Add(time.Duration(tt.minutes)*time.Minute))
		if n.Outcome != tt.want || (violation != "") != tt.refused {
			t.Errorf("%s: %q, violation %q", tt.name, n.Outcome, violation)
		}
	}
}

// TestConduct: acts that a verdict covers, of all that became known.
func TestConduct(t *testing.T) {
	of := func(effect act.Effect, how Outcome) *Intent {
		return &Intent{Verdict: act.Decision{Effect: effect}, Outcome: how}
	}
	got := ConductOf([]*Intent{of(act.Allow, Reported), of(act.Modify, Ambiguous), of(act.Allow, Mismatched), of(act.Allow, Unreported), of(act.Deny, ""), of(act.Escalate, "")}, 2)
	want := Conduct{Intents: 6, Allowed: 4, Denied: 1, Held: 1, Reported: 1, Ambiguous: 1, Mismatched: 1, Unreported: 1, Violations: 2, Governed: 0.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ConductOf(nil, 0).Governed; got != 1 {
		t.Errorf("of nothing: %v", got)
	}
}
