package main

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
)

// TestWays: what a person can do about a decision, and nothing where nobody can.
func TestWays(t *testing.T) {
	for _, tt := range []struct {
		name      string
		d         operator.DecisionShown
		held      approval.State
		says, not []string
	}{
		{"asked", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "escalate"}, Held: "abc"}, approval.Held,
			[]string{"approve abc\n", "approve abc --for session", "approve abc --until 2", "deny abc", "why 0-4 --allow"}, nil},
		{"answered", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "escalate"}, Held: "abc"}, approval.Used,
			[]string{"approval abc, used", "why 0-4 --allow"}, []string{"approve abc"}},
		{"asked long ago", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "escalate"}, Held: "abc"}, "", []string{"over"}, []string{"approve abc"}},
		{"denied", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "deny"}}, "", []string{"why 0-4 --allow"}, []string{"approvals"}},
		{"final", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "deny"}, Reasons: []operator.ReasonShown{{Reason: ledger.Reason{Final: true}}}}, "", []string{"Nobody can let this pass"}, []string{"--allow"}},
		{"allowed", operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "allow"}}, "", nil, []string{"reeve"}},
	} {
		var b strings.Builder
		printWays(&b, &tt.d, tt.held, "")
		for _, want := range tt.says {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is not said:\n%s", tt.name, want, &b)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(b.String(), not) {
				t.Errorf("%s: %q is said:\n%s", tt.name, not, &b)
			}
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 81 {
				t.Errorf("%s: wider than 80 columns: %s", tt.name, line)
			}
		}
	}
}
