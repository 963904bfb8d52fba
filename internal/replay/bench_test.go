package replay_test

import (
	"fmt"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/session"
)

// benched are the texts of the calls that are judged.
func benched(i int) (tool, text string) {
	switch i % 3 {
	case 0:
		return "shell", fmt.Sprintf("cd /srv/project%d && go test ./... 2>&1 | tail -%d", i%17, i%40)
	case 1:
		return "write_file", fmt.Sprintf("package main\n\n// The value number %d.\nfunc value%d() int { return %d }\n", i, i, i)
	}
	return "search", fmt.Sprintf("where is the value number %d used, and by whom", i)
}

// BenchmarkJudge is what Judge reaches on all processors: the yardstick of BenchmarkReplay.
// An op is one act.
func BenchmarkJudge(b *testing.B) {
	set := starter(b)
	var acts []*act.Action
	for i := range 600 {
		tool, text := benched(i)
		a, err := aos.ActionOf(call("agent", "s", i, tool, text))
		if err != nil {
			b.Fatal(err)
		}
		a.Principal, a.At = act.Anonymous, a.SaidAt
		acts = append(acts, a)
	}
	linear.Report(b, func() {
		b.RunParallel(func(pb *testing.PB) {
			state, instructions := &session.State{Known: true}, guard.Instructions{}
			for i := 0; pb.Next(); i++ {
				a := acts[i%len(acts)]
				guard.Judge(a, nil, guard.Remembered(state, a, &instructions), set)
			}
		})
	})
}

// BenchmarkReplay judges recorded acts again. An op is one act.
func BenchmarkReplay(b *testing.B) {
	set := starter(b)
	n := openSQLite(b, func(c *guard.Config) { c.Policy = set })
	const records = 3000
	for i := range records {
		tool, text := benched(i)
		n.decide(call("agent", fmt.Sprint(i%40), i, tool, text))
	}
	o := options(b)
	b.ResetTimer()
	linear.Report(b, func() {
		for done := 0; done < b.N; done += records {
			if r, err := replay.Run(b.Context(), n.store, set, o); err != nil || r.Changed > 0 || r.CannotTell > 0 || r.Same != records {
				b.Fatalf("%+v, %v", r, err)
			}
		}
	})
}

func starter(b *testing.B) *policy.Set {
	set, err := policy.Load(policy.Starter()...)
	if err != nil {
		b.Fatal(err)
	}
	return set
}
