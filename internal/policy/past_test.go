package policy

import (
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/session"
)

const overTime = `
version: 1
default: allow
acts:
  - {name: mail, tools: ["send_*"], control: [to]}
  - {name: tests, tools: [run_tests]}
  - {name: customer, tools: [read_customer]}
rules:
  - {name: few-mails, tools: ["send_*"], when: 'did("mail", "1h") >= 3', effect: deny}
  - {name: tests-first, tools: [deploy], when: 'did("tests") == 0', effect: deny}
  - {name: never-after, tools: ["send_*"], when: 'did("customer") > 0', effect: deny}
  - {name: once-agreed, tools: [pay], when: 'approved("mail") > 0', effect: allow}
`

// TestPast: rules over time say what the words say, and hold where the past is not known.
func TestPast(t *testing.T) {
	set, err := Load(File{"p.yaml", []byte(overTime)})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Counted()) != 3 {
		t.Errorf("%d acts are counted", len(set.Counted()))
	}
	key := map[string]uint64{}
	for _, c := range set.counted {
		key[c.name] = c.key
	}
	for _, c := range []struct {
		tool string
		past map[string]session.Done
		want act.Effect
	}{
		{"send_mail", nil, act.Allow},
		{"send_mail", map[string]session.Done{"mail": {Count: 2, Times: []int64{1, 2}}}, act.Allow},
		{"send_mail", map[string]session.Done{"mail": {Count: 3, Times: []int64{1, 2, 3}}}, act.Deny},
		{"send_mail", map[string]session.Done{"mail": {Count: 3, Times: []int64{-3_600_000, 2, 3}}}, act.Allow},
		{"send_mail", map[string]session.Done{"customer": {Count: 1}}, act.Deny},
		{"send_mail", map[string]session.Done{"customer": {Unsure: true}}, act.Deny},
		{"send_mail", map[string]session.Done{"mail": {Unsure: true}}, act.Deny},
		{"deploy", nil, act.Deny},
		{"deploy", map[string]session.Done{"tests": {Count: 1}}, act.Allow},
		{"deploy", map[string]session.Done{"tests": {Count: 1, Unsure: true}}, act.Deny},
	} {
		in := call(c.tool, "to", `"a@b.example"`)
		in.Session.Past = func(k uint64) (d session.Done, sure bool) {
			for name, d := range c.past {
				if key[name] == k {
					return d, !d.Unsure
				}
			}
			return session.Done{}, true
		}
		in.Action.At = time.UnixMilli(5)
		if v := set.Evaluate(in); v.Effect != c.want {
			t.Errorf("%s after %v: %s %+v", c.tool, c.past, v.Effect, v.Reasons)
		}
		in.Session.Past = nil
		v := set.Evaluate(in)
		if v.Effect != act.Deny || !strings.Contains(v.Reasons[1].Message, "not known what this session did") {
			t.Errorf("%s without a session: %s %+v", c.tool, v.Effect, v.Reasons)
		}
	}
	other, err := Load(File{"p.yaml", []byte(strings.Replace(overTime, `tools: ["send_*"], control`, `tools: [send_mail], control`, 1))})
	if err != nil {
		t.Fatal(err)
	}
	if other.counted[0].key == set.counted[0].key || other.counted[1].key != set.counted[1].key {
		t.Error("an act that is defined otherwise is counted as the same")
	}
}

// TestPastFaults: what cannot be meant is said at load.
func TestPastFaults(t *testing.T) {
	for rule, want := range map[string]string{
		`did("mial") > 0`:            "there is no act",
		`did(action.tool) > 0`:       "take the name of an act",
		`did("mail", "2 hours") > 0`: "the time is a text",
		`did("mail", "48h") > 0`:     "the time is a text",
		`did("mail", "1ms") > 0`:     "the time is a text",
		`did("mail")`:                "not true or false",
		`approved("x") > 0`:          "there is no act",
		`approved("mail") > 0`:       "no rule asks whether it was",
	} {
		text := "version: 1\ndefault: allow\nacts: [{name: mail, tools: [m]}, {name: other, tools: [o]}]\nrules: [{name: r, effect: deny, when: '" + rule + "'}]\n"
		if _, err := Load(File{"p.yaml", []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
