package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// randomSelection builds a condition of plain selections with &&, || and !.
func randomSelection(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		return pick(r, []string{
			"args.a", "args.b", "args.c", "args.o.x", "args.o.y", "args['a']",
			"args.n > 3", "args.n == 7", "args.s == 'yes'", "args.o.x == args.a",
		})
	}
	switch r.IntN(5) {
	case 0:
		return "!(" + randomSelection(r, depth-1) + ")"
	case 1, 2:
		return "(" + randomSelection(r, depth-1) + " && " + randomSelection(r, depth-1) + ")"
	default:
		return "(" + randomSelection(r, depth-1) + " || " + randomSelection(r, depth-1) + ")"
	}
}

// FuzzRemovingAFieldNeverAllows holds what a missing value means: an attacker
// who leaves a field out gains nothing by it.
func FuzzRemovingAFieldNeverAllows(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(removingAField)
}

// TestThreat26RemovingAField is the same for seeds of its own.
func TestThreat26RemovingAField(t *testing.T) {
	for seed := range uint64(100) {
		removingAField(t, 1000+seed)
	}
}

func removingAField(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	effect := pick(r, []string{"deny", "escalate", "modify", "allow"})
	modify, fallback := "", "allow"
	switch effect {
	case "modify":
		modify = ", modify: {replace: {argument: n, with: 1}}"
	case "allow":
		fallback = "deny"
	}
	condition := randomSelection(r, 4)
	text := fmt.Sprintf("version: 1\ndefault: %s\nrules:\n  - {name: rule, tools: tool, effect: %s%s, when: %q}\n", fallback, effect, modify, condition)
	set, err := Load(File{"a.yaml", []byte(text)})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for range 20 {
		all := []act.Argument{
			{Name: "a", Value: []byte(pick(r, []string{"true", "false"}))},
			{Name: "b", Value: []byte(pick(r, []string{"true", "false"}))},
			{Name: "c", Value: []byte(pick(r, []string{"true", "false", "1"}))},
			{Name: "n", Value: []byte(pick(r, []string{"1", "7", "12", "1.5"}))},
			{Name: "s", Value: []byte(pick(r, []string{`"yes"`, `"no"`, "null"}))},
			{Name: "o", Value: []byte(pick(r, []string{`{"x":true,"y":false}`, `{"x":false,"y":true}`, `{"x":true}`}))},
		}
		for i := range all {
			all[i].Pointer = "/" + all[i].Name
		}
		judge := func(args []act.Argument) act.Effect {
			return set.Evaluate(&Input{Action: &act.Action{Kind: act.ToolCall, Canonical: "tool", Arguments: args}}).Effect
		}
		before := judge(all)
		for i := range all {
			less := append(append([]act.Argument(nil), all[:i]...), all[i+1:]...)
			if after := judge(less); after > before {
				t.Fatalf("without %s the effect goes from %s to %s\n%s%+v", all[i].Name, before, after, text, all)
			}
		}
		// A field inside an argument counts as one, too.
		inside := append([]act.Argument(nil), all...)
		inside[5].Value = []byte("{}")
		if after := judge(inside); after > before {
			t.Fatalf("without o's fields the effect goes from %s to %s\n%s", before, after, text)
		}
	}
}

// FuzzLoad feeds the loader anything. It must not panic, and what it accepts
// must survive the way through Text and Parse.
func FuzzLoad(f *testing.F) {
	f.Add("version: 1\ndefault: allow\nlists: {l: [a, '*b']}\nrules:\n  - name: a\n    tools: lists.l\n    when: |\n      text.matches(r'a+')\n    effect: deny\n")
	f.Add("cases:\n  - name: a\n    request: {method: x, n: 1e9}\n    expect: {effect: deny, codes: [a], edits: {/a: b}}\n")
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomPolicy(r))
	}
	f.Add("version: 1\ndefault: deny\nrules: [{name: a, effect: modify, modify: {replace: {argument: x, with: [1, {b: 2}]}}, when: has(args.x)}]")
	f.Add("- &a [*a]\n- !!binary x\n? b\n: <<: *a")
	f.Add(strings.Repeat("[", 100))
	f.Add(strings.Repeat("- ", 100))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		ParseCases(File{"a.test.yaml", []byte(text)}, ".")
		set, err := Load(File{"a.yaml", []byte(text)})
		if err != nil {
			if list, ok := err.(ErrorList); !ok || len(list) == 0 {
				t.Fatalf("the error is no ErrorList: %T %v", err, err)
			}
			return
		}
		again, err := Parse(set.Text())
		if err != nil || again.Hash() != set.Hash() {
			t.Fatalf("Parse(Text()): %v", err)
		}
		set.Evaluate(&Input{Action: &act.Action{Kind: act.ToolCall, Canonical: "shell"}})
	})
}
