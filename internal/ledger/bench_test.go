package ledger

import (
	"context"
	"fmt"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/task"
)

// nowhere is a store that keeps nothing: what is left is the ledger's own cost.
type nowhere struct {
	Store
	size uint64
}

func (s *nowhere) Acquire(context.Context, string) (Lease, error) { return Lease{}, nil }
func (s *nowhere) Release(context.Context, Lease) error           { return nil }
func (s *nowhere) Head(context.Context, uint32) (Head, error)     { return Head{}, nil }
func (s *nowhere) Commit(_ context.Context, _ Lease, _ []Claim, _ *task.Load, build func(Found) (*Batch, error)) error {
	b, err := build(Found{})
	if err == nil {
		s.size += uint64(len(b.Records))
	}
	return err
}

func benchEntry(session *KeyHead) *Entry {
	e := &Entry{
		Record: Record{
			Kind: "tool.call", Door: "aos", Effect: "deny", Codes: []string{"shell.pipe"}, Rules: []string{"no-remote-scripts"},
			Policy: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		},
		Request: make([]byte, 3000), Shared: [][2]int{{200, 1800}}, KeepContent: true,
		Principal: []byte(`{"name":"anonymous","method":"unauthenticated"}`),
		Reasons:   []byte(`[{"rule":"no-remote-scripts","code":"shell.pipe","message":"A script from the network would run unseen."}]`),
		Links:     []byte(`{"session":"0001","turn":"1","step":"7"}`),
	}
	if session != nil {
		e.Writes = []*Write{{Head: session, Data: make([]byte, 80)}}
	}
	return e
}

// BenchmarkCommitter is what one entry costs the committer's goroutine: all
// else waits for it. Batches have 64 entries, each of a session of its own.
func BenchmarkCommitter(b *testing.B) {
	const batch = 64
	store := &nowhere{}
	l, err := Open(b.Context(), Config{Store: store, Origin: "bench.local", Seed: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	g := &group{}
	for i := range batch {
		t, err := prepare(benchEntry(NewKeyHead(Key{byte(i)}, act.Position{}, false)), l.cfg.Now)
		if err != nil {
			b.Fatal(err)
		}
		g.tickets = append(g.tickets, t)
	}
	c := &committer{}
	if err := c.start(b.Context(), l); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		if err := c.commit(l, g); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrepare is what one entry of 3 KB costs its own caller.
func BenchmarkPrepare(b *testing.B) {
	l, err := Open(b.Context(), Config{Store: &nowhere{}, Origin: "bench.local", Seed: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := benchEntry(nil)
	b.ReportAllocs()
	for b.Loop() {
		t, err := prepare(e, l.cfg.Now)
		if err != nil {
			b.Fatal(err)
		}
		t.release()
	}
}

// BenchmarkLog is a whole entry, from Enqueue to Wait, with 64 callers.
func BenchmarkLog(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			l, err := Open(b.Context(), Config{Store: &nowhere{}, Origin: "bench.local", Seed: make([]byte, 32)})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			b.ReportAllocs()
			b.SetParallelism(max(callers/2, 1))
			e := benchEntry(nil)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					t, err := l.Enqueue(l.Generation(), e)
					if err == nil {
						_, err = t.Wait(b.Context())
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
