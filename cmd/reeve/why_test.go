package main

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/approval"
)

// TestWays: what a person can do about a decision, and nothing where nobody can.
func TestWays(t *testing.T) {
	for _, tt := range []struct {
		name      string
		e         explanation
		held      approval.State
		says, not []string
	}{
		{"asked", explanation{Decision: "0-4", Effect: "escalate", Approval: "abc"}, approval.Held,
			[]string{"approve abc\n", "approve abc --for session", "approve abc --until 2", "deny abc", "why 0-4 --allow"}, nil},
		{"answered", explanation{Decision: "0-4", Effect: "escalate", Approval: "abc"}, approval.Used,
			[]string{"approval abc, used", "why 0-4 --allow"}, []string{"approve abc"}},
		{"asked long ago", explanation{Decision: "0-4", Effect: "escalate", Approval: "abc"}, "", []string{"over"}, []string{"approve abc"}},
		{"denied", explanation{Decision: "0-4", Effect: "deny"}, "", []string{"why 0-4 --allow"}, []string{"approvals"}},
		{"final", explanation{Decision: "0-4", Effect: "deny", final: true}, "", []string{"Nobody can let this pass"}, []string{"--allow"}},
		{"allowed", explanation{Decision: "0-4", Effect: "allow"}, "", nil, []string{"reeve"}},
	} {
		var b strings.Builder
		tt.e.printWays(&b, tt.held)
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
