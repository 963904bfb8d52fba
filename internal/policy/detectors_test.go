package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/act"
)

const ownDetector = `version: 1
default: allow
detectors:
  - name: staff-number
    description: badges
    pattern: '\bE([0-9]{7})\b'
    check: luhn
    near: [staff, badge]
    mask: badge number
    examples:
      find: ["Badge E1234566 was lost."]
      leave: ["Order E1234566", "Badge E1234567", "badgeE E1234566"]
`

func TestOwnDetectors(t *testing.T) {
	set, err := Load(File{"a.yaml", []byte(ownDetector + `
rules:
  - {name: mask, on: message.agent, detect: staff-number, effect: modify, modify: redact}
  - {name: held, on: message.user, when: 'found("staff-number")', effect: escalate}
`)})
	if err != nil {
		t.Fatal(err)
	}
	say := func(kind act.Kind, text string) Verdict {
		return set.Evaluate(&Input{Action: &act.Action{Kind: kind, Content: []act.Leaf{{Pointer: "/t", Text: text}}, Body: []byte(`{"t":""}`)}})
	}
	v := say(act.MessageAgent, "Take the BADGE E1234566, and the order E1234567.")
	if v.Effect != act.Modify || len(v.Edits) != 1 || string(v.Edits[0].Value) != `"Take the BADGE E[badge number removed], and the order E1234567."` || v.Reasons[0].Code != "staff-number" {
		t.Errorf("%+v", v)
	}
	if v := say(act.MessageUser, "My badge: E12345\u200b66"); v.Effect != act.Escalate {
		t.Errorf("disguised: %v", v.Effect)
	}
	if v := say(act.MessageAgent, "Take the badge E1234567."); v.Effect != act.Allow {
		t.Errorf("wrong check digit: %v", v.Effect)
	}
	var own []DetectorInfo
	for _, d := range set.Detectors() {
		if d.File != "" {
			own = append(own, d)
		}
	}
	if diff := cmp.Diff([]DetectorInfo{{Name: "staff-number", Finds: "badges", File: "a.yaml", Line: 4, Examples: 4}}, own); diff != "" {
		t.Error(diff)
	}
	x := set.Explain(&Input{Action: &act.Action{Kind: act.MessageAgent, Content: []act.Leaf{{Pointer: "/t", Text: "nothing"}}}})
	if why := x.Rules[0].Why; !strings.Contains(why, "staff-number") {
		t.Errorf("explained as %q", why)
	}
}

// TestOwnDetectorsAcrossFiles: a rule names a detector of another file.
func TestOwnDetectorsAcrossFiles(t *testing.T) {
	_, err := Load(File{"b.yaml", []byte(ownDetector + "rules: [{name: b, tools: [x], effect: deny}]\n")},
		File{"a.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: a, detect: staff-number, effect: deny}]\n")})
	if err != nil {
		t.Error(err)
	}
}

func TestOwnDetectorFaults(t *testing.T) {
	for _, c := range []struct{ is, becomes, want string }{
		{"name: staff-number", "name: secret", `there is a built-in detector "secret"`},
		{"name: staff-number", "name: Staff", `cannot be a detector's name`},
		{"check: luhn", "check: lun", `there is no check "lun"`},
		{"Badge E1234566 was", "Badge E1234567 was", "finds nothing in this example"},
		{"Badge E1234567\"", "Badge E1234566\"", "finds \"1234566\" in an example that it should leave"},
		{`'\bE([0-9]{7})\b'`, `'\bE([0-9]{7}'`, "the pattern cannot be used"},
		{`'\bE([0-9]{7})\b'`, `'(x?){500}(x+x+)+y'`, "the pattern cannot be used"},
		{`'\bE([0-9]{7})\b'`, `'[0-9]*'`, "matches where nothing stands"},
		{`'\bE([0-9]{7})\b'`, `'(E)([0-9])'`, "has 2 groups"},
		{"mask: badge number", "mask: 'a]b'", "mask is what the notice says"},
		{"    description: badges", "    colour: blue", `"colour"`},
		{"    check: luhn\n    near: [staff, badge]\n", "    within: 5\n", "beside near"},
		{"  - name: staff-number", "  - name: staff-number\n    pattern: x\n    examples: {find: [x]}\n  - name: staff-number", "also defined in"},
	} {
		_, err := Load(File{"a.yaml", []byte(strings.Replace(ownDetector, c.is, c.becomes, 1) + "rules: [{name: a, tools: [x], effect: deny}]\n")})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.becomes, err, c.want)
		}
	}
	_, err := Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: a, when: 'found(\"staff\")', effect: deny}, {name: b, detect: staff, effect: deny}]\n")})
	if err == nil || strings.Count(err.Error(), `there is no detector "staff"`) != 2 {
		t.Error(err)
	}
}
