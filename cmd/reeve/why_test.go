package main

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
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

// TestWhyOnBehalf: why says by whose leave an act was asked for, with whatever the token's
// names are made of written so that it is seen; and nothing where no token said so.
func TestWhyOnBehalf(t *testing.T) {
	for _, tt := range []struct {
		of   act.Delegation
		says string
	}{
		{act.Delegation{}, ""},
		{act.Delegation{OnBehalfOf: "jwt:https://login#alice", Actors: []string{"jwt:https://login#mailbot", "jwt:https://login#planner"}, Client: "mail", Scopes: []string{"mail.read", "openid"}},
			"  on behalf of jwt:https://login#alice, by jwt:https://login#mailbot, through jwt:https://login#planner, client mail, scopes mail.read openid\n"},
		{act.Delegation{Client: "ma\x1b[2Jil"}, "  client ma⟨U+001B⟩[2Jil\n"},
	} {
		d := operator.DecisionShown{Line: ledger.Line{Decision: "0-4", Effect: "allow", Facts: ledger.Facts{Agent: "a", Session: "s", Delegation: tt.of}}}
		var b strings.Builder
		printWhy(&b, &d, "", false)
		_, rest, _ := strings.Cut(b.String(), "session s\n")
		if got, _, _ := strings.Cut(rest, "\n"); got+"\n" != tt.says && (tt.says != "" || strings.Contains(b.String(), "behalf")) {
			t.Errorf("%+v: %q", tt.of, b.String())
		}
	}
}
