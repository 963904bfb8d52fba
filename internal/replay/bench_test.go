package replay_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// BenchmarkReplay sets replaying records beside judging acts that are in memory already, and
// beside reading the acts from their requests and judging them, which every door must. The
// ways take turns, on all processors; it prints each one's processor time for an act, at the
// median, and how much of what the yardsticks reach a replay does.
func BenchmarkReplay(b *testing.B) {
	set := starter(b)
	n := openSQLite(b, func(c *guard.Config) { c.Policy = set })
	const records = 3000
	requests, acts := make([][]byte, records), make([]*act.Action, records)
	for i := range records {
		tool, text := benched(i)
		requests[i] = call("agent", fmt.Sprint(i%40), i, tool, text)
		acts[i] = actionOf(b, requests[i])
		n.decide(requests[i])
	}
	o := options(b)
	ways := []struct {
		name string
		run  func()
	}{
		{"judge", func() { atOnce(records, func(i int) { judged(acts[i], set) }) }},
		{"read+judge", func() { atOnce(records, func(i int) { judged(actionOf(b, requests[i]), set) }) }},
		{"replay", func() {
			if r, err := replay.Run(b.Context(), n.store, set, o); err != nil || r.Same != records {
				b.Errorf("%+v, %v", r, err)
			}
		}},
	}
	took := make([][]float64, len(ways))
	for b.Loop() {
		for i, way := range ways {
			took[i] = append(took[i], float64(linear.Process(way.run).Nanoseconds())/1e3/records)
		}
	}
	median := func(i int) float64 { slices.Sort(took[i]); return took[i][len(took[i])/2] }
	for i, way := range ways {
		b.ReportMetric(median(i), way.name+"-cpu-µs/act")
	}
	b.ReportMetric(median(0)/median(2), "of-judge")
	b.ReportMetric(median(1)/median(2), "of-read+judge")
	b.ReportMetric(0, "ns/op") // of all ways together, which says nothing
}

func actionOf(b *testing.B, request []byte) *act.Action {
	a, err := aos.ActionOf(request)
	if err != nil {
		b.Error(err)
	}
	a.Principal, a.At = act.Anonymous, a.SaidAt
	return a
}

// judged is an act judged as the first step of its session.
func judged(a *act.Action, set *policy.Set) {
	var instructions guard.Instructions
	guard.Judge(a, nil, guard.Remembered(&session.State{Known: true}, a, &instructions), set)
}

// atOnce does something for each number, on all processors.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	group.Wait()
}

func starter(b *testing.B) *policy.Set {
	set, err := policy.Load(policy.Starter()...)
	if err != nil {
		b.Fatal(err)
	}
	return set
}
