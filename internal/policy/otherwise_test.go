package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOtherwise: whatever is said of how an act would have to differ is true: an act that
// differs in that, and in nothing else, is not met by the rule.
func TestOtherwise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	var write func(deep int) string
	write = func(deep int) string {
		switch n := r.IntN(6); {
		case deep == 0 || n < 2:
			return "args." + names[r.IntN(len(names))]
		case n == 2:
			return "!(" + write(deep-1) + ")"
		case n < 5:
			return "(" + write(deep-1) + " && " + write(deep-1) + ")"
		}
		return "(" + write(deep-1) + " || " + write(deep-1) + ")"
	}
	tried := 0
	for range 400 {
		set := load(t, rules(fmt.Sprintf("  - {name: all, tools: [x], when: %q, effect: deny}\n", write(3))))
		args := map[string]bool{}
		act := func() *Input {
			var list []string
			for _, name := range names {
				list = append(list, name, fmt.Sprint(args[name]))
			}
			return call("x", list...)
		}
		for _, name := range names {
			args[name] = r.IntN(2) == 0
		}
		x := set.Explain(act()).Rules[0]
		if !x.Matched {
			if x.Otherwise != nil {
				t.Errorf("it did not match, and would not if %q", x.Otherwise)
			}
			continue
		}
		was := map[string]bool{}
		for k, v := range args {
			was[k] = v
		}
	ways:
		for _, way := range x.Otherwise {
			for k, v := range was {
				args[k] = v
			}
			if strings.HasPrefix(way, "the tool") {
				continue
			}
			changed := map[string]bool{}
			for part := range strings.SplitSeq(way, " and ") {
				name, no := strings.CutPrefix(part, "not ")
				name = strings.TrimPrefix(name, "args.")
				if before, twice := changed[name]; twice && before == no {
					continue ways // nothing is both
				}
				changed[name], args[name] = !no, !no
			}
			tried++
			if after := set.Explain(act()).Rules[0]; after.Matched {
				t.Errorf("%s with %v: it matches, though %q", set.rules[0].when.text, was, way)
			}
		}
	}
	if tried < 150 {
		t.Errorf("%d ways were tried", tried)
	}
}

// TestOtherwiseNames: what a rule looks at beside its condition is said, too.
func TestOtherwiseNames(t *testing.T) {
	set := load(t, rules(`  - {name: tool, tools: [shell, y], when: args.n > 10, effect: deny}
  - {name: hazard, on: call, hazard: 0.5, effect: deny}
  - {name: failed, tools: shell, when: args.missing == 1, effect: deny}
  - {name: detect, detect: secret, effect: deny}
  - {name: other, tools: z, effect: deny}
`))
	x := set.Explain(call("shell", "n", "12", "command", `"rm -rf /"`, "key", `"AK`+`IAIOSFODNN7EXAMPLQ"`))
	var got []string
	for _, r := range x.Rules {
		got = append(got, r.Rule+": "+strings.Join(r.Otherwise, "; "))
	}
	want := []string{
		"tool: the tool is another than shell; not (args.n > 10)",
		"hazard: its hazards score less than 0.50 (they score ",
		"failed: the tool is another than shell; the condition can be evaluated",
		"detect: this is not found in it: secret",
		"other: ",
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("got %q, want %q", got[i], w)
		}
	}
}
