package policy

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestTablesOfPrograms: what a policy's table says of programs counts as what is built
// in does, is part of the policy's hash and text, and its faults are the policy's.
func TestTablesOfPrograms(t *testing.T) {
	rules := File{"a.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: r, tools: none, effect: allow}]\n")}
	table := func(name, row string) File {
		return File{name, []byte("version: 1\nprograms:\n  - {program: plantctl, words: stop, " + row + "}\n")}
	}
	call := func(s *Set) act.Effect {
		return s.Evaluate(&Input{Action: &act.Action{Kind: "tool.call", Tool: &act.Tool{Name: "shell"}, Canonical: "shell",
			Content: []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: "plantctl stop"}}}}).Effect
	}
	without, err := Load(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"programs.yaml", "programs.yml", "plant.programs.yaml"} {
		with, err := Load(rules, table(name, "effect: destroy.halt, weight: 0.9, source: manual of plantctl"))
		if err != nil {
			t.Fatal(err)
		}
		if call(without) != act.Allow || call(with) != act.Deny || with.Hash() == without.Hash() {
			t.Errorf("%s: %v without, %v with", name, call(without), call(with))
		}
		again, err := Parse(with.Text())
		if err != nil || again.Hash() != with.Hash() || call(again) != act.Deny {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(rules, table("programs.yaml", "effect: destroy.all, source: x")); err == nil || err.Error() != `programs.yaml:3:46: there is no effect "destroy.all" (define it under effects)` {
		t.Errorf("%v", err)
	}
	if _, err := Load(table("programs.yaml", "effect: destroy.halt, source: x")); err == nil {
		t.Error("a table alone is no policy")
	}
	if _, err := Load(File{"myprograms.yaml", table("", "effect: destroy.halt, source: x").Data}); err == nil {
		t.Error("another name is a document")
	}
}
