package export_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/sqlite"
)

// sink writes down what it is given. It depends on the last three records.
type sink struct {
	mu     sync.Mutex
	waits  []uint64
	sent   []uint64
	taken  []uint64
	failed int // how often Send is to fail
	refuse int
}

func (s *sink) Take(r *export.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits, s.taken = append(s.waits, r.Index), append(s.taken, r.Index)
	if string(r.Opening.Request) != fmt.Sprintf(`{"n":%d}`, r.Index) || r.Facts.Principal != "key:a" {
		panic(fmt.Sprintf("record %d has %s and %+v", r.Index, r.Opening.Request, r.Facts))
	}
}
func (s *sink) Pass(time.Time) {}
func (s *sink) Forget()        { s.mu.Lock(); s.waits = nil; s.mu.Unlock() }
func (s *sink) Since() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) == 0 {
		return 0, false
	}
	return s.taken[len(s.taken)-min(len(s.taken), 3)], true
}

func (s *sink) Send(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		s.failed--
		return 0, errors.New("not now")
	}
	n := len(s.waits)
	s.sent, s.waits = append(s.sent, s.waits...), nil
	if no := min(s.refuse, n); no > 0 {
		s.refuse = 0
		return n - no, &export.RefusedError{N: no, Err: errors.New("too many")}
	}
	return n, nil
}

func (s *sink) has() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.sent) }

func write(t *testing.T, l *ledger.Log, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		ticket, err := l.Enqueue(l.Generation(), &ledger.Entry{
			Record: ledger.Record{Kind: "tool.call", Door: "aos", Effect: "allow"}, Request: fmt.Appendf(nil, `{"n":%d}`, i),
			Principal: []byte(`{"name":"key:a","method":"key"}`), Links: []byte(`{}`), KeepContent: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == from+n-1 {
			if _, err := ticket.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFollower: all that is written after the first start is sent, in order; after an end
// that wrote nothing down again, from where it was; pruned and refused records are counted.
func TestFollower(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
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
	write(t, l, 0, 5)
	start := func(s *sink) (*export.Follower, func()) {
		f := &export.Follower{Name: "test", Store: store, Log: 0, Tail: l.Tail(), Sink: s}
		if err := f.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.Run(ctx); close(done) }()
		return f, func() { cancel(); <-done }
	}
	await := func(s *sink, n int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); s.has() < n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d came of %d", s.has(), n)
			}
		}
	}
	expect := func(s *sink, from, to int) {
		t.Helper()
		var want []uint64
		for i := from; i < to; i++ {
			want = append(want, uint64(i))
		}
		if !slices.Equal(s.sent, want) {
			t.Errorf("%v were sent, want %d to %d", s.sent, from, to)
		}
	}

	one := &sink{failed: 2}
	f, stop := start(one)
	write(t, l, 5, 600)
	await(one, 600)
	stop()
	expect(one, 5, 605)
	if s := f.Stats(); s.Sent != 600 || s.Behind != 0 || s.Failing {
		t.Errorf("%+v", s)
	}
	kept, err := store.Reached(t.Context(), "test", 0)
	if err != nil {
		t.Fatal(err)
	}

	// What was written meanwhile comes; what the last records were is taken up again, and not sent.
	write(t, l, 605, 10)
	two := &sink{refuse: 4}
	f, stop = start(two)
	await(two, 10)
	stop()
	expect(two, 605, 615)
	if two.taken[0] != 602 {
		t.Errorf("it was read again from %d on, want 602", two.taken[0])
	}
	if s := f.Stats(); s.Sent != 6 || s.Refused != 4 {
		t.Errorf("%+v", s)
	}

	// As if it had been killed before it wrote that down.
	if err := store.PutReached(t.Context(), "test", 0, kept); err != nil {
		t.Fatal(err)
	}
	three := &sink{}
	_, stop = start(three)
	await(three, 10)
	stop()
	expect(three, 605, 615)
	if err := store.PutReached(t.Context(), "test", 0, []byte("{")); err != nil {
		t.Fatal(err)
	}
	broken := &export.Follower{Name: "test", Store: store, Tail: l.Tail(), Sink: three}
	if err := broken.Prepare(t.Context()); err == nil {
		t.Error("a place that cannot be read is taken for the log's end")
	}
}
