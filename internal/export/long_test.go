package export_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/sqlite"
)

// longest notes how many bytes wait at once.
type longest struct {
	next, waits, most int
}

func (s *longest) Take(r *export.Record) {
	if int(r.Index) != s.next || !bytes.HasPrefix(r.Opening.Request, fmt.Appendf(nil, `{"n":%d,`, r.Index)) {
		panic(fmt.Sprintf("record %d where %d is next", r.Index, s.next))
	}
	s.next++
	s.waits += len(r.Opening.Request)
	s.most = max(s.most, s.waits)
}
func (s *longest) Pass(time.Time)        {}
func (s *longest) Forget()               {}
func (s *longest) Since() (uint64, bool) { return 0, false }
func (s *longest) Send(context.Context) (int, error) {
	s.waits = 0
	return 0, nil
}

// TestThreat25LongActs: whoever asks for decisions about long acts does not decide how much
// memory it takes to send on what was decided. All of it arrives, in its order.
func TestThreat25LongActs(t *testing.T) {
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32), Owner: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := new(longest)
	f := &export.Follower{Name: "test", Store: store, Tail: l.Tail(), Sink: s}
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n, size = 30, 3 << 20
	for i := range n {
		ticket, err := l.Enqueue(l.Generation(), &ledger.Entry{
			Record: ledger.Record{Kind: "tool.call", Door: "aos", Effect: "allow"}, Request: fmt.Appendf(nil, `{"n":%d,"x":"%s"}`, i, bytes.Repeat([]byte{'x'}, size)),
			Principal: []byte(`{"name":"key:a","method":"key"}`), Links: []byte(`{}`), KeepContent: true,
		})
		if err == nil {
			_, err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is left is sent all the same
	f.Run(ctx)
	if s.next != n || s.most > 20<<20 {
		t.Errorf("%d records were sent, %d bytes of them at once", s.next, s.most)
	}
}
