package wording

import (
	"math"
	"strings"
	"testing"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

func TestWording(t *testing.T) {
	deny := func(message, instead string) act.Reason {
		return act.Reason{Rule: "r", Code: "c", Effect: act.Deny, Message: message, Instead: instead}
	}
	mild := act.Reason{Rule: "mild", Code: "m", Effect: act.Allow, Message: "Mild.", Instead: "Nothing."}
	watch := act.Reason{Rule: "watch", Code: "w", Effect: act.Deny, Message: "Watched.", Instead: "Beware.", Observe: true}
	for _, tt := range []struct {
		name                         string
		d                            act.Decision
		message, why, codes, instead string
		advice                       string
	}{
		{"nothing said: denied", act.Decision{}, "The policy does not allow this.", "", "", "", ""},
		{"nothing said: held", act.Decision{Effect: act.Escalate}, "A person must agree to this first.", "", "", "", ""},
		{"nothing said: changed", act.Decision{Effect: act.Modify}, "This may happen in the changed form only.", "", "", "", ""},
		{"nothing said: allowed", act.Decision{Effect: act.Allow}, "No rule of the policy speaks against this.", "", "", "", ""},
		{"the strictest speak", act.Decision{Reasons: []act.Reason{mild, watch, deny("No", "Ask")}}, "No.", "No.", "m c", "Nothing. Ask", "No. Ask."},
		{"each once", act.Decision{Reasons: []act.Reason{deny("No.", "Ask."), deny("No.", "Ask.")}}, "No.", "No.", "c", "Ask.", "No. Ask."},
		{"three at most", act.Decision{Reasons: []act.Reason{deny("A", ""), deny("B!", ""), deny("", ""), deny("C", ""), deny("D", "")}}, "A. B! C.", "A. B! C.", "c", "", "A. B! C. D."},
		{"held", act.Decision{Effect: act.Escalate, Reasons: []act.Reason{{Effect: act.Escalate, Message: "Costs much"}}}, "Costs much. A person must agree first.", "Costs much.", "", "", "Costs much."},
	} {
		got := []string{Message(&tt.d), Why(&tt.d), strings.Join(Each(&tt.d, Code), " "), strings.Join(Each(&tt.d, Instead), " "), strings.Join(Deciding(&tt.d, Advice), " ")}
		if diff := cmp.Diff([]string{tt.message, tt.why, tt.codes, tt.instead, tt.advice}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestAsked: who is asked reads what of the act does what, on one line, and why they are asked.
func TestAsked(t *testing.T) {
	held := func(message string, passages ...act.Passage) act.Reason {
		return act.Reason{Effect: act.Escalate, Message: message, Passages: passages}
	}
	push := act.Passage{Does: "It is rewritten.", Text: "git push -f"}
	note := held("Watched.", act.Passage{Does: "It watches.", Text: "x"})
	note.Observe = true
	for _, tt := range []struct {
		reasons []act.Reason
		want    string
	}{
		{nil, ""},
		{[]act.Reason{held("No.")}, ""},
		{[]act.Reason{note}, ""},
		{[]act.Reason{{Effect: act.Allow, Passages: []act.Passage{push}}}, ""},
		{[]act.Reason{held("Others use it", push), note}, "It is rewritten: `git push -f`. Others use it."},
		{[]act.Reason{held("A.", push, act.Passage{Does: "It is rewritten.", Text: "git push -d b"}), held("B.", push)}, "It is rewritten: `git push -f`, `git push -d b`. A. B."},
		{[]act.Reason{held("Others use it. It is rewritten.", push)}, "It is rewritten: `git push -f`. Others use it."},
		{[]act.Reason{held("A.", act.Passage{Does: "It is deleted."})}, "It is deleted. A."},
		{[]act.Reason{held("A.", act.Passage{Does: "It is run.", Text: "a\x1b[2K\u202eb"})}, "It is run: `a⟨U+001B⟩[2K⟨U+202E⟩b`. A."},
	} {
		if got := Asked(&act.Decision{Effect: act.Escalate, Reasons: tt.reasons}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestFigures(t *testing.T) {
	for score, want := range map[float64]string{0: "0", 0.85: "0.85", 1: "1", math.NaN(): "1", math.Inf(-1): "1", 0.00001: "0.00001"} {
		if got := string(AppendScore(nil, score)); got != want {
			t.Errorf("%v: %s, want %s", score, got, want)
		}
	}
	if got := Level(act.Risk{Score: 0.9}); got != act.Level(0.9) {
		t.Errorf("level %q", got)
	}
	if got := Level(act.Risk{Score: 0.9, Level: "own"}); got != "own" {
		t.Errorf("level %q", got)
	}
}
