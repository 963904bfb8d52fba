package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestBehind: a rule is said to be never reached where another one always denies or holds what
// it is for, and not where it may still decide.
func TestBehind(t *testing.T) {
	for _, tt := range []struct {
		rules  string
		behind string // rules that never decide, with the one that does
	}{
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], effect: deny}`, "a<b"},
		{`{name: a, tools: [x], when: 'args.y == "1"', effect: allow}, {name: b, effect: deny}`, "a<b"},
		{`{name: a, tools: ["x_*"], effect: modify, detect: pii, modify: redact}, {name: b, tools: ["x*"], effect: deny}`, "a<b"},
		{`{name: a, tools: [x], effect: allow}, {name: b, tools: [x], effect: escalate}`, "a<b"},
		{`{name: a, tools: [x], effect: modify, detect: pii, modify: redact}, {name: b, tools: [x], effect: escalate}`, ""},
		{`{name: a, tools: [x], effect: deny}, {name: b, tools: [x], effect: deny}`, ""},
		{`{name: a, tools: [x, y], effect: escalate}, {name: b, tools: [x], effect: deny}`, ""},
		{`{name: a, effect: escalate}, {name: b, tools: ["*"], effect: deny}`, "a<b"},
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], when: 'args.y == "1"', effect: deny}`, ""},
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], detect: secret, effect: deny}`, ""},
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], hazard: 0.3, effect: deny}`, ""},
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], on: task.start, effect: deny}`, ""},
		{`{name: a, tools: [x], on: task.start, effect: escalate}, {name: b, tools: [x], on: call, effect: deny}`, "a<b"},
		{`{name: a, tools: [x], effect: escalate}, {name: b, tools: [x], mode: observe, effect: deny}`, ""},
		{`{name: a, tools: [x], mode: observe, effect: escalate}, {name: b, tools: [x], effect: deny}`, ""},
		{`{name: a, tools: ["x?"], effect: escalate}, {name: b, tools: ["x*y"], effect: deny}`, ""},
	} {
		text := "version: 1\ndefault: allow\nrules: [" + tt.rules + "]\n"
		for _, except := range []string{"", "except: [{name: e, reason: r, rules: [b], tools: [x], until: 2099-01-01}]\n"} {
			set, err := Load(File{"x.yaml", []byte(text + except)})
			if err != nil {
				if except == "" || !strings.Contains(tt.rules, "name: b, effect: deny") {
					t.Errorf("%s: %v", tt.rules, err)
				}
				continue
			}
			var list []string
			for _, r := range set.Rules() {
				if r.Behind != "" {
					list = append(list, r.Name+"<"+r.Behind)
				}
			}
			want := tt.behind
			if except != "" {
				want = "" // what is lifted hides nothing
			}
			if got := fmt.Sprint(list); got != fmt.Sprint(strings.Fields(want)) {
				t.Errorf("%s %s: %s, want %q", tt.rules, except, got, want)
			}
			if warned := strings.Contains(fmt.Sprint(set.Warnings()), "never decides"); warned != (want != "") {
				t.Errorf("%s %s: warnings %v", tt.rules, except, set.Warnings())
			}
		}
	}
}
