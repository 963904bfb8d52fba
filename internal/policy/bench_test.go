package policy

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// benchmarkSet has n rules as real policies have them: most for one tool or a
// family of tools, some for every act.
func benchmarkSet(tb testing.TB, n int) *Set {
	var b strings.Builder
	b.WriteString("version: 1\ndefault: allow\nrules:\n")
	b.WriteString("  - {name: late, on: tool.call, effect: deny, when: 'session.calls > 500'}\n")
	b.WriteString("  - {name: large, tools: transfer.money, effect: escalate, when: 'args.amount > 1000 && user.exists'}\n")
	b.WriteString("  - {name: family, tools: 'transfer.*', effect: deny, when: 'has(args.currency) && !(args.currency in [\"EUR\", \"USD\"])'}\n")
	for i := range n - 3 {
		tool := fmt.Sprintf("tool%d.run", i)
		switch i % 5 {
		case 1:
			tool = fmt.Sprintf("server%d.*", i)
		case 2:
			tool = fmt.Sprintf("*.action%d", i)
		case 3:
			tool = fmt.Sprintf("*part%d*", i)
		}
		fmt.Fprintf(&b, "  - {name: rule %d, on: [tool.call, mcp.request], tools: %q, effect: deny, when: 'has(args.amount) && args.amount > %d'}\n", i, tool, i)
	}
	set, err := Load(File{"bench.yaml", []byte(b.String())})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			set := benchmarkSet(b, n)
			in := &Input{
				Action: &act.Action{
					Kind: act.ToolCall, Resource: "transfer.money", Canonical: "transfer.money",
					User:      act.User{ID: "u-1"},
					Arguments: []act.Argument{{Name: "amount", Value: []byte("250"), Pointer: "/a"}, {Name: "currency", Value: []byte(`"EUR"`), Pointer: "/c"}},
					Content:   []act.Leaf{{Pointer: "/c", Text: "EUR"}},
				},
				Session: Session{Calls: 12, Known: true},
			}
			b.ReportAllocs()
			for b.Loop() {
				if v := set.Evaluate(in); v.Effect != act.Allow {
					b.Fatal(v)
				}
			}
		})
	}
}
