package hazard

import (
	"slices"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/yamldoc"
)

// TestPrintedRun: what a shell runs of a text that is known is read; of one that only a program will
// print, it is said that nobody can. A policy's table can say that a program of one's own prints lines
// for a shell.
func TestPrintedRun(t *testing.T) {
	own := Extend([]string{"version: 1\nprograms:\n  - {program: plantctl, words: env, prints: shell, source: manual of plantctl}"}, func(_ int, f yamldoc.Fault) { t.Error(f) })
	for _, test := range []struct {
		line   string
		table  *Table
		unseen bool
	}{
		{`eval "$(plantctl env)"`, Default(), true},
		{`eval "$(plantctl env)"`, own, false},
		{`eval "$(plantctl get)"`, own, true},
		{`eval "$(./plantctl env)"`, own, true},
		{`echo ls | sh`, Default(), false},
		{`cat a.sh | sh`, Default(), false},
		{`sed 's/a/b/' a.sh | sh`, Default(), false},
		{`sh a.sh | sh`, Default(), true},
		{`bash -c 'echo ls' | sh`, Default(), false},
		{`timeout 5 ./gen | sh`, Default(), true},
		{`(cd x && ./gen) | sh`, Default(), true},
		{`env $(jq -r .env x.json) node a.js`, Default(), false},
		{`env $(./gen) node a.js`, Default(), true},
		{`echo "$(./gen)"`, Default(), false},
		{`./gen | grep x`, Default(), false},
		{`git commit -m "$(./gen)"`, Default(), false},
	} {
		a := test.table.Assess("bash", []act.Leaf{{Pointer: "/command", Arg: "command", Text: test.line}})
		got := slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Code == "shell.printed_run" })
		if got != test.unseen {
			t.Errorf("%s: printed_run %v, want %v", test.line, got, test.unseen)
		}
	}
}
