package policy

import (
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

func TestApprovalTerms(t *testing.T) {
	rule := func(approval string) string {
		return "version: 1\ndefault: allow\nrules:\n  - {name: r, effect: escalate, approval: " + approval + "}\n"
	}
	for _, tt := range []struct {
		approval string
		want     *act.Terms
		problem  string
	}{
		{"{}", &act.Terms{Quorum: 1}, ""},
		{"{quorum: 2, approvers: [a, b], within: 30m}", &act.Terms{Quorum: 2, Approvers: []string{"a", "b"}, Within: 30 * time.Minute}, ""},
		{"{quorum: 3, approvers: ['jwt:sso#*']}", &act.Terms{Quorum: 3, Approvers: []string{"jwt:sso#*"}}, ""},
		{"{quorum: 3, approvers: [a, b]}", nil, "at least as many as the quorum"},
		{"{quorum: 0}", nil, "quorum is a whole number"},
		{"{quorum: '2'}", nil, "quorum is a whole number"},
		{"{approvers: ['*']}", nil, "names nobody"},
		{"{within: 0s}", nil, "within is a time"},
		{"{within: 9000h}", nil, "within is a time"},
		{"{within: 5}", nil, "within is a time"},
		{"{who: me}", nil, "who"},
		{"[a]", nil, "approval is a mapping"},
	} {
		set, err := Load(File{Name: "p.yaml", Data: []byte(rule(tt.approval))})
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: error %v, want %q", tt.approval, err, tt.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.approval, err)
			continue
		}
		v := set.Evaluate(&Input{Action: &act.Action{Kind: act.ToolCall}})
		if diff := cmp.Diff(tt.want, v.Reasons[0].Terms); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.approval, diff)
		}
	}
	_, err := Load(File{Name: "p.yaml", Data: []byte("version: 1\ndefault: allow\nrules:\n  - {name: r, effect: deny, approval: {quorum: 2}}\n")})
	if err == nil || !strings.Contains(err.Error(), "only a rule that escalates asks people") {
		t.Errorf("on a deny rule: %v", err)
	}
}
