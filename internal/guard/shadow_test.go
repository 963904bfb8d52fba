package guard_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/policy"
)

// beside is a policy with a candidate.
func beside(t testing.TB, live, candidate string) *policy.Set {
	t.Helper()
	files := []policy.File{{Name: "live.yaml", Data: []byte(live)}}
	if candidate != "" {
		files = append(files, policy.File{Name: "next.yaml", Data: []byte(candidate)})
	}
	set, err := policy.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A candidate changes no answer, no memory and no record but the policy's hash: the same
// history has the same end with one and without, and each difference is told once, of
// durable decisions, with the memory that the session had.
func TestShadowed(t *testing.T) {
	const live = rules
	const candidate = "version: 1\nmode: shadow\ndefault: allow\nrules: [{name: third, on: call, when: 'session.calls >= 2', effect: deny}, {name: ask, on: call, tools: [deploy], effect: escalate}]\n"
	history := func(set *policy.Set) (decided []string, told []guard.Shadowed) {
		var mu sync.Mutex
		n := open(t, t.TempDir(), func(c *guard.Config) {
			c.Policy = set
			c.Shadowed = func(a *act.Action, s *guard.Shadowed) { mu.Lock(); told = append(told, *s); mu.Unlock() }
		})
		for i, c := range []struct{ tool, text string }{{"wipe", "x"}, {"read", "1"}, {"deploy", "card 4000 0000 0000 0002"}, {"read", "2"}, {"read", "2"}, {"wipe", "y"}} {
			d, modified := n.decide(t, call("s", fmt.Sprint(i), c.tool, c.text))
			var reasons []string
			for _, r := range d.Reasons {
				reasons = append(reasons, r.Rule+" "+r.Code)
			}
			decided = append(decided, fmt.Sprint(d.Effect, reasons, modified, d.Position))
		}
		n.decide(t, call("s", "5", "wipe", "y")) // the recorded answer, once more
		return decided, told
	}
	without, none := history(beside(t, live, ""))
	with, told := history(beside(t, live, candidate))
	if diff := cmp.Diff(without, with); diff != "" || none != nil {
		t.Errorf("a candidate changes answers (-without +with):\n%s", diff)
	}
	var got []string
	for _, s := range told {
		got = append(got, fmt.Sprint(s.Was, s.Would, s.Changed, s.Rule, s.Failed, s.Position.Index))
	}
	if diff := cmp.Diff([]string{
		fmt.Sprint(act.Deny, act.Allow, true, "no-wipe", false, uint64(1)),
		fmt.Sprint(act.Allow, act.Allow, false, "", false, uint64(2)),
		fmt.Sprint(act.Modify, act.Escalate, true, "ask", false, uint64(3)),
		fmt.Sprint(act.Allow, act.Deny, true, "third", false, uint64(4)),
		fmt.Sprint(act.Allow, act.Deny, true, "third", false, uint64(5)),
		fmt.Sprint(act.Deny, act.Deny, false, "", false, uint64(6)),
	}, got); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}
}

// BenchmarkShadow is a decision with the starter policy alone, and with the starter beside
// it as its candidate: in turns, so that both have the same machine.
func BenchmarkShadow(b *testing.B) {
	const live = "version: 1\ninclude: starter\n"
	const candidate = "version: 1\nmode: shadow\ninclude: starter\n"
	nodes := map[string]*node{}
	for name, set := range map[string]*policy.Set{"alone": beside(b, live, ""), "beside": beside(b, live, candidate)} {
		nodes[name] = open(b, b.TempDir(), func(c *guard.Config) {
			c.Policy = set
			c.Shadowed = func(*act.Action, *guard.Shadowed) {}
		})
	}
	for _, name := range []string{"alone", "beside", "alone again", "beside again"} {
		n := nodes[strings.Fields(name)[0]]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			linear.Report(b, func() {
				for b.Loop() {
					i++
					one := call(fmt.Sprint(name, b.N, i/100), fmt.Sprint(i), "shell", fmt.Sprintf("cd /srv/p%d && go test ./...", i%20))
					if _, _, err := n.Decide(b.Context(), one); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
