package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/storetest"
)

// BenchmarkSearch asks what the console asks, of as many decisions as the environment says:
//
//	REEVE_DECISIONS=1000000 go test -run '^$' -bench Search/sqlite -benchtime 20x ./internal/ledger
//
// With REEVE_DECISIONS_DIR those of SQLite are kept in that folder, and found there again. Of
// PostgreSQL the processor's time is that of reeve, without the server's. best-ms is by the clock.
func BenchmarkSearch(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		dir := os.Getenv("REEVE_DECISIONS_DIR")
		if dir == "" {
			dir = b.TempDir()
		}
		benchmarkSearch(b, openStore(b, dir))
	})
	b.Run("postgres", func(b *testing.B) {
		s, err := postgres.Open(b.Context(), storetest.DurablePostgres(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		benchmarkSearch(b, s)
	})
}

func benchmarkSearch(b *testing.B, s store.Store) {
	n, _ := strconv.Atoi(os.Getenv("REEVE_DECISIONS"))
	if n == 0 {
		n = 20_000
	}
	head, err := s.Head(b.Context(), 0)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		b.Fatal(err)
	}
	if int(head.Size) < n {
		l := openLog(b, s)
		r := rand.New(rand.NewPCG(1, 1))
		begun := time.Now()
		var last *ledger.Ticket
		for i := int(head.Size); i < n; i++ {
			last = enqueue(b, l, usualAct(r, i))
		}
		wait(b, last)
		written := time.Since(begun)
		if err := ledger.BuildIndex(b.Context(), s, 0, nil); err != nil {
			b.Fatal(err)
		}
		b.Logf("%d decisions were written in %v, and found by the index %v later", n-int(head.Size), written.Round(time.Millisecond), (time.Since(begun) - written).Round(time.Millisecond))
		l.Close()
	}
	middle := began.Add(time.Duration(n/2) * 10 * time.Millisecond)
	for _, one := range []struct {
		name string
		q    ledger.Query
	}{
		{"newest", ledger.Query{}},
		{"denied", ledger.Query{Effect: "deny"}},
		{"agent and denied", ledger.Query{Agent: "agent-7", Effect: "deny"}},
		{"nothing of two that are common", ledger.Query{Door: "a2g", Kind: "message.user"}},
		{"user, a day in the middle", ledger.Query{User: "user-77", Since: middle.Add(-24 * time.Hour), Until: middle}},
		{"user, the oldest first", ledger.Query{User: "user-77", Oldest: true}},
		{"session of the middle", ledger.Query{Session: fmt.Sprintf("s-%d", n/2/20), Oldest: true}},
		{"rule that is rare", ledger.Query{Rule: "rare"}},
		{"tool, rule and agent", ledger.Query{Tool: "shell", Rule: "ask", Agent: "agent-3"}},
		{"nobody", ledger.Query{Agent: "nobody"}},
	} {
		b.Run(one.name, func(b *testing.B) {
			found, best := 0, time.Hour
			linear.Report(b, func() {
				for b.Loop() {
					asked := time.Now()
					a, err := ledger.Search(b.Context(), s, one.q)
					if err != nil {
						b.Fatal(err)
					}
					found, best = len(a.Lines), min(best, time.Since(asked))
				}
			})
			b.ReportMetric(float64(found), "lines")
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		})
	}
	b.Run("count of the denied", func(b *testing.B) {
		best := time.Hour
		linear.Report(b, func() {
			for b.Loop() {
				asked := time.Now()
				if _, err := ledger.Count(b.Context(), s, ledger.Query{Effect: "deny"}); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(asked))
			}
		})
		b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
	})
}

// usualAct is an act as a day's work has them: sessions of twenty steps, a hundred agents, a
// thousand users.
func usualAct(r *rand.Rand, i int) *ledger.Entry {
	door, kind := "aos", pick(r, "tool.call", "tool.result", "message.user")
	if r.IntN(3) == 0 {
		door, kind = "a2g", "tool.call"
	}
	e := &ledger.Entry{
		Record: ledger.Record{
			Time: began.Add(time.Duration(i) * 10 * time.Millisecond), Kind: kind, Door: door,
			Effect: "allow", Codes: []string{"default"}, Rules: []string{"default"}, Policy: policyHash,
		},
		Request: fmt.Appendf(nil, `{"say":"hello %d"}`, i), KeepContent: true, Reasons: []byte(`{"effect":"allow","reasons":[]}`),
		Principal: fmt.Appendf(nil, `{"name":"key:k%d","method":"key","claims":{"agent":"agent-%d","user":"user-%d"}}`, r.IntN(5), r.IntN(100), r.IntN(1000)),
		Links:     fmt.Appendf(nil, `{"digest":"sha256:d","resource":%q,"session":"s-%d","turn":"t","step":"%d"}`, pick(r, "shell", "read", "edit", "fetch"), i/20, i),
	}
	switch r.IntN(50) {
	case 0, 1, 2:
		e.Record.Effect, e.Record.Rules, e.Record.Codes = "deny", []string{"no-rm"}, []string{"shell.rm"}
	case 3:
		e.Record.Effect, e.Record.Rules = "escalate", []string{"ask"}
	case 4:
		if r.IntN(200) == 0 {
			e.Record.Rules = []string{"rare"}
		}
	}
	return e
}
