package guard_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/linear"
)

// BenchmarkAgents decides for agents of whom habits are known: for one that is active, and
// for each of as many as the environment says in turn, whose profiles lie on the disk.
//
//	REEVE_AGENTS=100000 go test -run '^$' -bench Agents -benchtime 2000x ./internal/guard
func BenchmarkAgents(b *testing.B) {
	agents, _ := strconv.Atoi(os.Getenv("REEVE_AGENTS"))
	if agents == 0 {
		agents = 500
	}
	ctx := context.Background()
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var clock sync.Mutex
	n := open(b, b.TempDir(), func(c *guard.Config) {
		c.Policy = load(b, habitual)
		c.Now = func() time.Time { clock.Lock(); defer clock.Unlock(); return now }
	})
	later := func(d time.Duration) {
		clock.Lock()
		defer clock.Unlock()
		now = now.Add(d)
	}
	decide := func(agent int, session string, one *act.Action) {
		one.Agent.ID = fmt.Sprint("agent-", agent)
		if _, _, err := n.Decide(ctx, one); err != nil {
			b.Error(err)
		}
	}
	for from := 0; from < agents; from += 10_000 { // so many at once
		var group sync.WaitGroup
		for w := range 64 {
			group.Go(func() {
				for i := from + w; i < min(from+10_000, agents); i += 64 {
					session := fmt.Sprint("s", i)
					decide(i, session, told(act.MessageUser, session, "1", "", fmt.Sprint("pay bill-", i)))
					decide(i, session, call(session, "2", "pay", fmt.Sprint("bill-", i)))
				}
			})
		}
		group.Wait()
		later(time.Hour)
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	before, began := heap(), time.Now()
	learned, err := n.Learn(ctx, now)
	if err != nil || learned != agents {
		b.Fatalf("%d sessions were learned: %v", learned, err)
	}
	b.Logf("%d agents: learned in %v; %.0f MB before, %.0f MB after", agents, time.Since(began).Round(time.Millisecond), before, heap())
	for name, of := range map[string]func(i int) int{"one": func(int) int { return 7 }, "each": func(i int) int { return i % agents }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			linear.Report(b, func() {
				for b.Loop() {
					session := fmt.Sprint(name, b.N, i)
					decide(of(i), session, call(session, "2", "pay", "bill-7"))
					i++
				}
			})
			b.ReportMetric(heap(), "MB")
		})
	}
}
