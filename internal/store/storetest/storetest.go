// Package storetest is the contract that every store.Store keeps, as tests.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/mod/sumdb/tlog"
)

// Exercise tests a store. open opens the database that belongs to the test t:
// a new one the first time, and the same again after it was closed. Tests close
// what they open.
func Exercise(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(*testing.T, *suite){
		"Empty": empty, "Records": records, "Large": large, "Reused": reused, "Nodes": nodes,
		"Sessions": sessions, "Lost": lost, "Chains": chains, "ManySessions": manySessions,
		"Fencing": fencing, "Release": release, "Refused": refused,
		"Openings": openings, "Erase": erase, "TrimByAge": trimByAge, "TrimByBytes": trimByBytes, "TrimParts": trimParts, "Facts": facts, "Segments": segments,
		"Items": items, "ManyItems": manyItems, "Seals": seals, "Prune": prune, "Policies": policies, "Keys": keys, "Anchors": anchors, "Reached": reached,
		"Concurrency": concurrency, "Closed": closed,
		"TaskRoundTrip": taskRoundTrip, "TaskLife": taskLife, "TaskLoad": taskLoad, "TaskTexts": taskTexts, "TaskUpdate": taskUpdate,
		"TaskDelete": taskDelete, "TaskQueries": taskQueries, "TaskRows": taskRows, "TaskEvents": taskEvents, "TaskPushes": taskPushes,
		"TaskClaims": taskClaims, "TaskRefused": taskRefused, "TaskDamaged": taskDamaged, "TaskFenced": taskFenced, "TaskTree": taskTree, "TaskChain": taskChain, "TaskWriters": taskWriters,
		"TreesEnded": treesEnded, "TreesOf": treesOf, "TreesLarge": treesLarge, "TreesAlone": treesAlone, "TreesAgain": treesAgain,
	} {
		t.Run(name, func(t *testing.T) {
			s := &suite{T: t, ctx: t.Context(), open: func() store.Store { return open(t) }}
			s.Store = s.open()
			t.Cleanup(func() { s.Store.Close() })
			test(t, s)
		})
	}
}

// suite is one test's store.
type suite struct {
	*testing.T
	store.Store
	ctx  context.Context
	open func() store.Store
}

// reopen closes the store and opens its database again.
func (s *suite) reopen() {
	s.Helper()
	s.check(s.Store.Close())
	s.Store = s.open()
}

func (s *suite) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error %v, want %v", err, want)
	}
}

func (s *suite) diff(what string, want, got any) {
	s.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		s.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func (s *suite) writer() *Writer {
	s.Helper()
	w, err := NewWriter(s.ctx, s.Store, "tester")
	s.check(err)
	return w
}

// commit writes entries none of which may lose.
func (s *suite) commit(w *Writer, entries ...Entry) {
	s.Helper()
	lost, err := w.Commit(s.ctx, entries...)
	s.check(err)
	if lost != nil {
		s.Fatalf("claims %v lost, want none", lost)
	}
}

// fill writes n records of size bytes in batches of the given size.
func (s *suite) fill(w *Writer, n, size, batch int) {
	s.Helper()
	for end := w.Size + uint64(n); w.Size < end; {
		var list []Entry
		for i := w.Size; i < end && len(list) < batch; i++ {
			list = append(list, Entry{Record: Record(i, size)})
		}
		s.commit(w, list...)
	}
}

// read returns the indexes of the records from from to to, after comparing each
// with what fill wrote.
func (s *suite) read(log uint32, from, to uint64, size int) (indexes []uint64) {
	s.Helper()
	s.check(s.Records(s.ctx, log, from, to, func(i uint64, record []byte) error {
		if !bytes.Equal(record, Record(i, size)) {
			s.Fatalf("record %d reads %.40q", i, record)
		}
		indexes = append(indexes, i)
		return nil
	}))
	return indexes
}

func span(from, to uint64) (list []uint64) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

func empty(t *testing.T, s *suite) {
	w := s.writer()
	head, err := s.Head(s.ctx, w.Lease.Log)
	s.check(err)
	s.diff("head", ledger.Head{}, head)
	_, err = s.Head(s.ctx, 4711)
	s.is(err, ledger.ErrNotFound)
	logs, err := s.Logs(s.ctx)
	s.check(err)
	s.diff("logs", []uint32{w.Lease.Log}, logs)
	s.diff("records", []uint64(nil), s.read(w.Lease.Log, 0, 100, 0))

	_, err = s.Opening(s.ctx, w.Pos(0))
	s.is(err, ledger.ErrNotFound)
	_, err = s.Part(s.ctx, [32]byte{})
	s.is(err, ledger.ErrNotFound)
	_, err = s.KeyWrite(s.ctx, w.Pos(0), Key(1))
	s.is(err, ledger.ErrNotFound)
	_, ok, err := s.KeyHead(s.ctx, Key(1))
	s.check(err)
	s.diff("a session never written is known", false, ok)
	s.check(s.Erase(s.ctx, []act.Position{w.Pos(0), {Log: 4711, Index: 3}}))
	n, err := s.OpeningBytes(s.ctx)
	s.check(err)
	s.diff("bytes of openings", int64(0), n)
	s.check(s.Probe(s.ctx))
}

func records(t *testing.T, s *suite) {
	w := s.writer()
	s.fill(w, 1, 450, 1)
	s.fill(w, 699, 450, 64)
	s.fill(w, 300, 450, 1)
	for range 2 {
		head, err := s.Head(s.ctx, w.Lease.Log)
		s.check(err)
		s.diff("head", ledger.Head{Size: 1000, Checkpoint: Checkpoint(w.Lease.Log, 1000)}, head)
		for _, r := range [][2]uint64{{0, 1000}, {0, 1}, {1, 2}, {63, 66}, {699, 701}, {999, 1000}, {5, 5}} {
			s.diff(fmt.Sprintf("records from %d to %d", r[0], r[1]), span(r[0], r[1]), s.read(w.Lease.Log, r[0], r[1], 450))
		}
		s.diff("records beyond the end", span(990, 1000), s.read(w.Lease.Log, 990, 1<<63, 450))
		s.diff("records from beyond the end", []uint64(nil), s.read(w.Lease.Log, 1<<63, 1<<63+5, 450))
		s.reopen()
	}

	stop := errors.New("stop")
	n := 0
	err := s.Records(s.ctx, w.Lease.Log, 0, 1000, func(uint64, []byte) error {
		n++
		if n == 100 {
			return stop
		}
		return nil
	})
	if err != stop || n != 100 {
		t.Errorf("after an error of the callback: %v after %d records", err, n)
	}
	// The callback may use the store itself.
	s.check(s.Records(s.ctx, w.Lease.Log, 0, 100, func(i uint64, _ []byte) error {
		return s.Records(s.ctx, w.Lease.Log, i, i+1, func(uint64, []byte) error { return nil })
	}))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.is(s.Records(ctx, w.Lease.Log, 0, 1000, func(uint64, []byte) error { return nil }), context.Canceled)
}

func large(t *testing.T, s *suite) {
	w := s.writer()
	var list []Entry
	for i := range uint64(12) {
		list = append(list, Entry{Record: Record(i, 1<<20), Opening: bytes.Repeat([]byte{byte(i)}, int(i)<<18)})
	}
	s.commit(w, list...)
	s.diff("records", span(0, 12), s.read(w.Lease.Log, 0, 12, 1<<20))
	for i, e := range list {
		got, err := s.Opening(s.ctx, w.Pos(uint64(i)))
		if i == 0 {
			s.is(err, ledger.ErrNotFound)
			continue
		}
		s.check(err)
		if !bytes.Equal(got, e.Opening) {
			t.Errorf("opening %d is not as it was written", i)
		}
	}
}

// reused makes sure that a store keeps none of the slices it is given.
func reused(t *testing.T, s *suite) {
	w := s.writer()
	e := Entry{
		Record: Record(0, 100), Opening: []byte("opening"), Parts: []ledger.Part{{Hash: [32]byte{1}, Data: []byte("part")}},
		Claims: []ledger.Claim{{Key: Key(1), First: true, Data: []byte("data")}},
	}
	s.commit(w, e)
	for _, b := range [][]byte{e.Record, e.Opening, e.Parts[0].Data, e.Claims[0].Data} {
		clear(b)
	}
	s.diff("records", span(0, 1), s.read(w.Lease.Log, 0, 1, 100))
	got, err := s.Opening(s.ctx, w.Pos(0))
	s.check(err)
	s.diff("opening", "opening", string(got))
	got, err = s.Part(s.ctx, [32]byte{1})
	s.check(err)
	s.diff("part", "part", string(got))
	claim, err := s.KeyWrite(s.ctx, w.Pos(0), Key(1))
	s.check(err)
	s.diff("session's write", "data", string(claim.Data))
}

func nodes(t *testing.T, s *suite) {
	w := s.writer()
	s.fill(w, 200, 20, 64)
	s.fill(w, 5*256, 20, 300)
	for _, r := range [][2]uint64{{0, 5}, {3, 4}, {2, 2}} {
		got, err := s.Nodes(s.ctx, w.Lease.Log, 1, r[0], r[1])
		s.check(err)
		want := []tlog.Hash{}
		for n := r[0]; n < r[1]; n++ {
			want = append(want, NodeHash(1, n))
		}
		s.diff("hashes of level 1", want, got)
	}
	for _, r := range [][2]uint64{{0, 1480}, {63, 65}, {255, 257}, {1479, 1480}} {
		got, err := s.Nodes(s.ctx, w.Lease.Log, 0, r[0], r[1])
		s.check(err)
		want := []tlog.Hash{}
		for n := r[0]; n < r[1]; n++ {
			want = append(want, tlog.RecordHash(Record(n, 20)))
		}
		s.diff("hashes of level 0", want, got)
	}
	for _, r := range []struct {
		log      uint32
		level    int
		from, to uint64
	}{{w.Lease.Log, 1, 0, 6}, {w.Lease.Log, 1, 5, 6}, {w.Lease.Log, 2, 0, 1}, {w.Lease.Log, 0, 1479, 1481}, {4711, 1, 0, 1}, {4711, 0, 0, 1}, {w.Lease.Log, 0, 1 << 63, 1<<63 + 1}} {
		_, err := s.Nodes(s.ctx, r.log, r.level, r.from, r.to)
		s.is(err, ledger.ErrNotFound)
	}
}

// head compares the head of a session, and what was written there.
func (s *suite) head(key ledger.Key, want ledger.Claim, at act.Position) {
	s.Helper()
	pos, ok, err := s.KeyHead(s.ctx, key)
	s.check(err)
	if !ok {
		s.Fatalf("session %x is not known", key)
	}
	s.diff("session's head", at, pos)
	got, err := s.KeyWrite(s.ctx, pos, key)
	s.check(err)
	s.diff("session's write", want, got)
}

func (s *suite) unknown(key ledger.Key) {
	s.Helper()
	pos, ok, err := s.KeyHead(s.ctx, key)
	s.check(err)
	if ok {
		s.Fatalf("session %x is known, at %v", key, pos)
	}
}

func sessions(t *testing.T, s *suite) {
	w := s.writer()
	one := ledger.Claim{Key: Key(1), First: true, Data: []byte("one")}
	two := ledger.Claim{Key: Key(2), First: true, Data: []byte{}}
	s.commit(w, Entry{Record: Record(0, 9)}, Entry{Record: Record(1, 9), Claims: []ledger.Claim{one, two}})
	s.head(Key(1), one, w.Pos(1))
	s.head(Key(2), two, w.Pos(1))
	s.unknown(Key(3))
	_, err := s.KeyWrite(s.ctx, w.Pos(0), Key(1))
	s.is(err, ledger.ErrNotFound)
	_, err = s.KeyWrite(s.ctx, w.Pos(1), Key(3))
	s.is(err, ledger.ErrNotFound)

	next := ledger.Claim{Key: Key(1), Prev: w.Pos(1), Data: []byte("next")}
	s.commit(w, Entry{Record: Record(2, 9), Claims: []ledger.Claim{next}})
	for range 2 {
		s.head(Key(1), next, w.Pos(2))
		s.head(Key(2), two, w.Pos(1))
		s.unknown(Key(3))
		old, err := s.KeyWrite(s.ctx, w.Pos(1), Key(1))
		s.check(err)
		s.diff("the write before", one, old)
		for _, span := range [][2]uint64{{0, 3}, {1, 2}, {2, 99}, {0, 1}, {3, 2}} {
			var want, got []ledger.BatchClaim
			for _, c := range []ledger.BatchClaim{{Entry: 1, Claim: one}, {Entry: 1, Claim: two}, {Entry: 2, Claim: next}} {
				if uint64(c.Entry) >= span[0] && uint64(c.Entry) < span[1] {
					want = append(want, c)
				}
			}
			s.check(s.Claims(s.ctx, w.Lease.Log, span[0], span[1], func(index uint64, c *ledger.Claim) error {
				c.Data = bytes.Clone(c.Data)
				got = append(got, ledger.BatchClaim{Entry: int(index), Claim: *c})
				return nil
			}))
			s.diff(fmt.Sprintf("the claims from %d to %d", span[0], span[1]), want, got)
		}
		enough := errors.New("enough")
		s.is(s.Claims(s.ctx, w.Lease.Log, 0, 3, func(uint64, *ledger.Claim) error { return enough }), enough)
		s.reopen()
	}
}

func lost(t *testing.T, s *suite) {
	w := s.writer()
	first := func(n uint64) ledger.Claim { return ledger.Claim{Key: Key(n), First: true, Data: []byte("x")} }
	after := func(n, at uint64) ledger.Claim {
		return ledger.Claim{Key: Key(n), Prev: w.Pos(at), Data: []byte("y")}
	}
	s.commit(w, Entry{Record: Record(0, 9), Claims: []ledger.Claim{first(1)}}, Entry{Record: Record(1, 9), Claims: []ledger.Claim{first(2)}})

	// Claims of sessions 1 (not new), 3 (never written), 2 (elsewhere) lose; the
	// others win, and move up.
	got, err := w.Commit(s.ctx,
		Entry{Record: []byte("no"), Claims: []ledger.Claim{first(1)}},
		Entry{Record: Record(2, 9), Claims: []ledger.Claim{first(4)}},
		Entry{Record: []byte("no"), Claims: []ledger.Claim{after(3, 0)}},
		Entry{Record: []byte("no"), Claims: []ledger.Claim{first(5), after(2, 0)}},
		Entry{Record: Record(3, 9)},
		Entry{Record: Record(4, 9), Claims: []ledger.Claim{first(6)}},
	)
	s.check(err)
	s.diff("claims that lost", []int{0, 2, 4}, got)
	s.diff("records", span(0, 5), s.read(w.Lease.Log, 0, 100, 9))
	for range 2 {
		s.head(Key(1), first(1), w.Pos(0))
		s.head(Key(2), first(2), w.Pos(1))
		s.head(Key(4), first(4), w.Pos(2))
		s.head(Key(6), first(6), w.Pos(4))
		s.unknown(Key(3))
		s.unknown(Key(5)) // it won, and the record's other claim lost
		s.reopen()
	}

	// Nothing is written when all lose.
	w = s.writer()
	for _, batch := range []*ledger.Batch{nil, {First: w.Size, At: w.At}} {
		calls := 0
		s.check(s.Commit(s.ctx, w.Lease, []ledger.Claim{first(1), first(7)}, nil, func(f ledger.Found) (*ledger.Batch, error) {
			calls++
			s.diff("claims that lost", []int{0}, f.Lost)
			return batch, nil
		}))
		s.diff("calls of build", 1, calls)
		s.unknown(Key(7))
		head, err := s.Head(s.ctx, w.Lease.Log)
		s.check(err)
		s.diff("size", uint64(5), head.Size)
	}
	// What won and was left out can be written later.
	s.commit(w, Entry{Record: Record(5, 9), Claims: []ledger.Claim{first(5), after(4, 2), first(7)}})
	s.head(Key(4), after(4, 2), w.Pos(5))
	s.head(Key(7), first(7), w.Pos(5))
	// The same claim wins only once.
	got, err = w.Commit(s.ctx, Entry{Record: Record(6, 9), Claims: []ledger.Claim{after(4, 2)}})
	s.check(err)
	s.diff("claims that lost", []int{0}, got)
}

func chains(t *testing.T, s *suite) {
	w := s.writer()
	claim := func(first bool) []ledger.Claim {
		return []ledger.Claim{{Key: Key(1), First: first, Data: []byte("x")}}
	}
	s.commit(w,
		Entry{Record: Record(0, 9), Claims: claim(true)},
		Entry{Record: Record(1, 9)},
		Entry{Record: Record(2, 9), Claims: claim(false)},
		Entry{Record: Record(3, 9), Claims: claim(false)})
	s.head(Key(1), ledger.Claim{Key: Key(1), Prev: w.Pos(2), Data: []byte("x")}, w.Pos(3))
	s.reopen()
	w = s.writer()
	s.head(Key(1), ledger.Claim{Key: Key(1), Prev: w.Pos(2), Data: []byte("x")}, w.Pos(3))

	// A chain whose first claim loses is lost, and the rest of the batch is not.
	list := []Entry{
		{Record: []byte("no"), Claims: []ledger.Claim{{Key: Key(1), Prev: w.Pos(2)}}},
		{Record: Record(4, 9), Claims: []ledger.Claim{{Key: Key(2), First: true, Data: []byte("z")}}},
		{Record: []byte("no"), Claims: []ledger.Claim{{Key: Key(1), Prev: w.Pos(4)}}},
		{Record: Record(5, 9), Claims: []ledger.Claim{{Key: Key(2), Prev: w.Pos(5), Data: []byte("z")}}},
	}
	got, err := w.Commit(s.ctx, list...)
	s.check(err)
	s.diff("claims that lost", []int{0}, got)
	s.diff("records", span(0, 6), s.read(w.Lease.Log, 0, 9, 9))
	s.head(Key(2), ledger.Claim{Key: Key(2), Prev: w.Pos(4), Data: []byte("z")}, w.Pos(5))

	// A store that is given later claims of a session too lets them share the
	// first one's fate.
	all := []ledger.Claim{
		{Key: Key(2), First: true},
		{Key: Key(2), Prev: w.Pos(6)},
		{Key: Key(1), Prev: w.Pos(3)},
		{Key: Key(1), Prev: w.Pos(8)},
		{Key: Key(1), Prev: w.Pos(1)},
	}
	s.check(s.Commit(s.ctx, w.Lease, all, nil, func(f ledger.Found) (*ledger.Batch, error) {
		s.diff("claims that lost", []int{0, 1, 4}, f.Lost)
		return nil, nil
	}))
}

// manySessions writes so many sessions that a store which keeps some of them in
// memory has to write them out, and compares each with a map.
func manySessions(t *testing.T, s *suite) {
	const batches, batch = 60, 2500
	w := s.writer()
	at := map[uint64]uint64{}
	rng := rand.New(rand.NewPCG(1, 2))
	next := uint64(0)
	for range batches {
		var list []Entry
		used := map[uint64]bool{}
		for range batch {
			n := next
			if next > 0 && rng.IntN(4) == 0 {
				n = rng.Uint64N(next)
			}
			if used[n] {
				n = next
			}
			used[n] = true
			c := ledger.Claim{Key: Key(n), First: true}
			if n < next {
				c.First, c.Prev = false, w.Pos(at[n])
			} else {
				next++
			}
			at[n] = w.Size + uint64(len(list))
			list = append(list, Entry{Record: []byte("r"), Claims: []ledger.Claim{c}})
		}
		s.commit(w, list...)
	}
	for range 2 {
		for range 3000 {
			n := rng.Uint64N(next + 1000)
			pos, ok, err := s.KeyHead(s.ctx, Key(n))
			s.check(err)
			if want, known := at[n]; ok != known || ok && pos != w.Pos(want) {
				t.Fatalf("session %d of %d is at %v, %v; want %d, %v", n, next, pos, ok, want, known)
			}
		}
		s.reopen()
	}
	w = s.writer()
	n := rng.Uint64N(next)
	got, err := w.Commit(s.ctx, Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: Key(n), First: true}}})
	s.check(err)
	s.diff("claims that lost", []int{0}, got)
	s.commit(w, Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: Key(n), Prev: w.Pos(at[n])}}})
}

func fencing(t *testing.T, s *suite) {
	w := s.writer()
	s.fill(w, 3, 9, 3)
	newer := s.writer()
	s.diff("log", w.Lease.Log, newer.Lease.Log)
	if newer.Lease.Epoch <= w.Lease.Epoch {
		t.Errorf("epoch %d follows epoch %d", newer.Lease.Epoch, w.Lease.Epoch)
	}
	_, err := w.Commit(s.ctx, Entry{Record: Record(3, 9)})
	s.is(err, ledger.ErrFenced)
	s.fill(newer, 2, 9, 1)
	// A batch that does not go on where the log ends.
	for _, size := range []uint64{0, 4, 6} {
		other := *newer
		other.Size = size
		_, err := other.Commit(s.ctx, Entry{Record: []byte("no"), Claims: []ledger.Claim{{Key: Key(1), First: true}}})
		s.is(err, ledger.ErrFenced)
	}
	_, err = (&Writer{Store: s.Store, Lease: ledger.Lease{Log: 4711, Epoch: newer.Lease.Epoch}}).Commit(s.ctx, Entry{Record: []byte("no")})
	s.is(err, ledger.ErrFenced)
	s.unknown(Key(1))
	s.diff("records", span(0, 5), s.read(w.Lease.Log, 0, 9, 9))
}

func release(t *testing.T, s *suite) {
	w := s.writer()
	s.fill(w, 3, 9, 3)
	s.check(s.Release(s.ctx, w.Lease))
	s.reopen()
	next, err := NewWriter(s.ctx, s.Store, "somebody else")
	s.check(err)
	s.diff("log", w.Lease.Log, next.Lease.Log)
	s.diff("size", uint64(3), next.Size)
	s.check(s.Release(s.ctx, w.Lease)) // of no effect: it is fenced
	s.fill(next, 3, 9, 3)
}

// refused makes sure that a commit that fails leaves nothing.
func refused(t *testing.T, s *suite) {
	w := s.writer()
	good := func() *ledger.Batch {
		return &ledger.Batch{
			First: 0, At: Epoch, Records: [][]byte{Record(0, 9)}, Leaves: []tlog.Hash{{}}, Openings: [][]byte{[]byte("o")},
			Claims: []ledger.BatchClaim{{Claim: ledger.Claim{Key: Key(1), First: true}}}, Checkpoint: []byte("c"),
		}
	}
	claims := []ledger.Claim{{Key: Key(1), First: true}}
	for name, spoil := range map[string]func(b *ledger.Batch){
		"no leaf hashes":         func(b *ledger.Batch) { b.Leaves = nil },
		"openings for others":    func(b *ledger.Batch) { b.Openings = make([][]byte, 2) },
		"claim beyond the batch": func(b *ledger.Batch) { b.Claims[0].Entry = 1 },
		"claim before the batch": func(b *ledger.Batch) { b.Claims[0].Entry = -1 },
		"two hashes in one place": func(b *ledger.Batch) {
			b.Nodes = []ledger.Node{{Level: 1}, {Level: 1}}
		},
	} {
		b := good()
		spoil(b)
		if err := s.Commit(s.ctx, w.Lease, claims, nil, func(ledger.Found) (*ledger.Batch, error) { return b, nil }); err == nil {
			t.Fatalf("%s: the commit succeeded", name)
		}
		head, err := s.Head(s.ctx, w.Lease.Log)
		s.check(err)
		s.diff(name+": head", ledger.Head{}, head)
		s.unknown(Key(1))
		n, err := s.OpeningBytes(s.ctx)
		s.check(err)
		s.diff(name+": bytes of openings", int64(0), n)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.is(s.Commit(ctx, w.Lease, claims, nil, func(ledger.Found) (*ledger.Batch, error) { return good(), nil }), context.Canceled)
	s.check(s.Commit(s.ctx, w.Lease, claims, nil, func(ledger.Found) (*ledger.Batch, error) { return good(), nil }))
}

func opening(i uint64, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "<secret %d>", i), n/8)
}

// fillOpenings writes n records in batches of batch, each with an opening of
// about size bytes.
func (s *suite) fillOpenings(w *Writer, n, size, batch int) {
	s.Helper()
	for end := w.Size + uint64(n); w.Size < end; {
		var list []Entry
		for i := w.Size; i < end && len(list) < batch; i++ {
			list = append(list, Entry{Record: Record(i, 100), Opening: opening(i, size)})
		}
		s.commit(w, list...)
	}
}

// kept returns which of the first n records have an opening, each of which must
// be as fillOpenings wrote it.
func (s *suite) kept(w *Writer, n uint64, size int) (list []uint64) {
	s.Helper()
	for i := range n {
		got, err := s.Opening(s.ctx, w.Pos(i))
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		s.check(err)
		if !bytes.Equal(got, opening(i, size)) {
			s.Fatalf("opening %d reads %.30q", i, got)
		}
		list = append(list, i)
	}
	// The same, all at once, and in parts that begin and end anywhere.
	for _, step := range []uint64{n, 3} {
		var again []uint64
		for from := uint64(0); from < n; from += step {
			s.check(s.Openings(s.ctx, w.Lease.Log, from, min(from+step, n), func(i uint64, got []byte) error {
				if !bytes.Equal(got, opening(i, size)) {
					s.Fatalf("opening %d of many reads %.30q", i, got)
				}
				again = append(again, i)
				return nil
			}))
		}
		s.diff(fmt.Sprintf("openings, %d at once", step), list, again)
	}
	return list
}

func openings(t *testing.T, s *suite) {
	w := s.writer()
	s.commit(w,
		Entry{Record: Record(0, 9)},
		Entry{Record: Record(1, 9), Opening: opening(1, 100)},
		Entry{Record: Record(2, 9)},
		Entry{Record: Record(3, 9), Opening: opening(3, 100), Parts: []ledger.Part{{Hash: [32]byte{7}, Data: []byte("an agent")}}})
	s.commit(w, Entry{Record: Record(4, 9)})
	s.commit(w, Entry{Record: Record(5, 9), Opening: opening(5, 100), Parts: []ledger.Part{
		{Hash: [32]byte{7}, Data: []byte("an agent")}, {Hash: [32]byte{8}, Data: []byte("another")}}})
	for range 2 {
		s.diff("openings", []uint64{1, 3, 5}, s.kept(w, 9, 100))
		for hash, want := range map[byte]string{7: "an agent", 8: "another"} {
			got, err := s.Part(s.ctx, [32]byte{hash})
			s.check(err)
			s.diff("part", want, string(got))
		}
		_, err := s.Part(s.ctx, [32]byte{9})
		s.is(err, ledger.ErrNotFound)
		_, err = s.Opening(s.ctx, act.Position{Log: 4711, Index: 1})
		s.is(err, ledger.ErrNotFound)
		n, err := s.OpeningBytes(s.ctx)
		s.check(err)
		if least := int64(3*len(opening(1, 100)) + len("an agent") + len("another")); n < least || n > least+100 {
			t.Errorf("openings have %d bytes, want %d or a little more", n, least)
		}
		s.reopen()
	}
}

func erase(t *testing.T, s *suite) {
	w := s.writer()
	s.fillOpenings(w, 20, 3000, 8)
	s.check(s.Erase(s.ctx, []act.Position{w.Pos(3), w.Pos(8), w.Pos(19), w.Pos(20), w.Pos(1 << 40)}))
	want := slices.DeleteFunc(span(0, 20), func(i uint64) bool { return i == 3 || i == 8 || i == 19 })
	for range 2 {
		s.diff("openings", want, s.kept(w, 20, 3000))
		s.diff("records", span(0, 20), s.read(w.Lease.Log, 0, 20, 100))
		s.reopen()
	}
	s.check(s.Erase(s.ctx, []act.Position{w.Pos(3)}))
	w = s.writer()
	s.fillOpenings(w, 1, 3000, 1)
}

func trimByAge(t *testing.T, s *suite) {
	w := s.writer()
	s.fillOpenings(w, 40, 1000, 4) // 10 batches, a second apart
	before, err := s.OpeningBytes(s.ctx)
	s.check(err)
	removed, freed, err := s.TrimOpenings(s.ctx, Epoch.Add(3*time.Second), 1<<40)
	s.check(err)
	s.diff("batches of openings removed", 3, removed)
	s.diff("openings", span(12, 40), s.kept(w, 40, 1000))
	after, err := s.OpeningBytes(s.ctx)
	s.check(err)
	s.diff("bytes freed", before-after, freed)
	if after > before*75/100 || after < before*65/100 {
		t.Errorf("%d of %d bytes are left, want about 70%%", after, before)
	}
	removed, freed, err = s.TrimOpenings(s.ctx, Epoch.Add(3*time.Second), 1<<40)
	s.check(err)
	s.diff("removed and freed again", []int64{0, 0}, []int64{int64(removed), freed})
	s.diff("records", span(0, 40), s.read(w.Lease.Log, 0, 40, 100))
}

func trimByBytes(t *testing.T, s *suite) {
	w := s.writer()
	s.fillOpenings(w, 400, 1000, 4)
	total, err := s.OpeningBytes(s.ctx)
	s.check(err)
	removed, freed, err := s.TrimOpenings(s.ctx, Epoch, total/2)
	s.check(err)
	left, err := s.OpeningBytes(s.ctx)
	s.check(err)
	s.diff("bytes freed", total-left, freed)
	if left > total/2 || left < total/2-total/100*2 {
		t.Errorf("%d of %d bytes are left, want half or a little less", left, total)
	}
	if removed < 50 || removed > 52 {
		t.Errorf("%d batches of openings removed, want 50", removed)
	}
	s.diff("openings", span(uint64(removed)*4, 400), s.kept(w, 400, 1000))
	_, _, err = s.TrimOpenings(s.ctx, Epoch, 0)
	s.check(err)
	left, err = s.OpeningBytes(s.ctx)
	s.check(err)
	s.diff("bytes left", int64(0), left)
	s.diff("openings", []uint64(nil), s.kept(w, 400, 1000))
	s.fillOpenings(w, 4, 1000, 4)
}

func trimParts(t *testing.T, s *suite) {
	w := s.writer()
	part := func(n byte) ledger.Part { return ledger.Part{Hash: [32]byte{n}, Data: bytes.Repeat([]byte{n}, 500)} }
	there := func() (list []int) {
		for n := range byte(9) {
			got, err := s.Part(s.ctx, [32]byte{n})
			if errors.Is(err, ledger.ErrNotFound) {
				continue
			}
			s.check(err)
			s.diff("part", part(n).Data, got)
			list = append(list, int(n))
		}
		return list
	}
	s.commit(w, Entry{Record: Record(0, 100), Opening: opening(0, 100), Parts: []ledger.Part{part(1), part(2)}})
	w.At = Epoch.Add(ledger.PartWindow / 2)
	s.commit(w, Entry{Record: Record(1, 100), Opening: opening(1, 100), Parts: []ledger.Part{part(3)}})
	w.At = Epoch.Add(2 * ledger.PartWindow)
	s.commit(w, Entry{Record: Record(2, 100), Opening: opening(2, 100), Parts: []ledger.Part{part(2)}})

	// Nothing is old, and the first opening stands: all stay.
	_, _, err := s.TrimOpenings(s.ctx, Epoch, 1<<40)
	s.check(err)
	s.diff("parts", []int{1, 2, 3}, there())
	// Of the second batch's time on, within the window of the first: all stay.
	_, _, err = s.TrimOpenings(s.ctx, Epoch.Add(time.Second), 1<<40)
	s.check(err)
	s.diff("openings", []uint64{1, 2}, s.kept(w, 3, 100))
	s.diff("parts", []int{1, 2, 3}, there())
	// Only what the third put again stays.
	before, err := s.OpeningBytes(s.ctx)
	s.check(err)
	_, freed, err := s.TrimOpenings(s.ctx, Epoch.Add(ledger.PartWindow), 1<<40)
	s.check(err)
	after, err := s.OpeningBytes(s.ctx)
	s.check(err)
	s.diff("bytes freed", before-after, freed)
	s.diff("parts", []int{2}, there())
	// No opening stands: what was put more than the window ago goes.
	_, _, err = s.TrimOpenings(s.ctx, time.Now(), 0)
	s.check(err)
	s.diff("parts", []int(nil), there())
}

func prune(t *testing.T, s *suite) {
	w := s.writer()
	s.fillOpenings(w, 100, 100, 100)
	s.fillOpenings(w, 1000, 100, 30)
	claim := ledger.Claim{Key: Key(1), First: true, Data: []byte("late")}
	s.commit(w, Entry{Record: Record(1100, 100), Claims: []ledger.Claim{claim}})
	log := w.Lease.Log
	if err := s.PruneRecords(s.ctx, log, 1200, nil); err == nil {
		t.Error("a log of 1101 records was pruned to 1200")
	}
	s.is(s.PruneRecords(s.ctx, 4711, 0, nil), ledger.ErrNotFound)
	s.check(s.PruneRecords(s.ctx, log, 600, []byte("pruned")))
	for range 2 {
		head, err := s.Head(s.ctx, log)
		s.check(err)
		s.diff("head", ledger.Head{Size: 1101, Checkpoint: Checkpoint(log, 1101), Pruned: 512, PrunedCheckpoint: []byte("pruned")}, head)
		s.diff("records", span(512, 1101), s.read(log, 0, 2000, 100))
		s.diff("records", span(513, 600), s.read(log, 513, 600, 100))
		hashes, err := s.Nodes(s.ctx, log, 1, 0, 4)
		s.check(err)
		s.diff("hashes of level 1", 4, len(hashes))
		_, err = s.Nodes(s.ctx, log, 0, 0, 1)
		s.is(err, ledger.ErrNotFound)
		_, err = s.Nodes(s.ctx, log, 0, 512, 1100)
		s.check(err)
		if list := s.kept(w, 1100, 100); list[0] < 482 || !slices.Contains(list, 512) {
			t.Errorf("openings from %d on are left, want those from 512 and of its batch", list[0])
		}
		s.head(Key(1), claim, w.Pos(1100))
		s.reopen()
		s.check(s.PruneRecords(s.ctx, log, 300, []byte("earlier"))) // of no effect
	}
	w = s.writer()
	s.fillOpenings(w, 100, 100, 30)
	s.diff("records", span(512, 1201), s.read(log, 0, 2000, 100))
}

func policies(t *testing.T, s *suite) {
	_, err := s.Policy(s.ctx, "sha256:none")
	s.is(err, ledger.ErrNotFound)
	hash := "sha256:'; DROP TABLE policy; --"
	text := []byte("rules: [] # \x00\xff")
	s.check(s.PutPolicy(s.ctx, hash, text, Epoch))
	s.check(s.PutPolicy(s.ctx, hash, text, Epoch.Add(time.Hour))) // again
	s.check(s.PutPolicy(s.ctx, "empty", nil, time.Time{}))
	for range 2 {
		got, err := s.Policy(s.ctx, hash)
		s.check(err)
		s.diff("policy", text, got)
		got, err = s.Policy(s.ctx, "empty")
		s.check(err)
		s.diff("length of the empty policy", 0, len(got))
		s.reopen()
	}
}

func keys(t *testing.T, s *suite) {
	got, err := s.Keys(s.ctx)
	s.check(err)
	s.diff("number of keys", 0, len(got))
	want := []identity.Key{
		{Name: "ci", Hash: sha256.Sum256([]byte("1")), Role: "agent", Organization: "ACME \"ü\"", Person: "ada@example.org", Seal: "seal", Created: Epoch.Add(123456789)},
		{Name: "a'b", Hash: sha256.Sum256([]byte("2")), Role: "admin", Created: Epoch.Add(time.Hour), Revoked: Epoch.Add(2 * time.Hour)},
	}
	s.check(s.PutKey(s.ctx, want[1]))
	s.check(s.PutKey(s.ctx, want[0]))
	for range 2 {
		got, err = s.Keys(s.ctx)
		s.check(err)
		s.diff("keys", want, got)
		s.reopen()
	}
	want[0].Revoked, want[0].Seal = Epoch.Add(3*time.Hour), "another seal"
	want[0].Hash = sha256.Sum256([]byte("3"))
	s.check(s.PutKey(s.ctx, want[0]))
	got, err = s.Keys(s.ctx)
	s.check(err)
	s.diff("keys", want, got)
}

func anchors(t *testing.T, s *suite) {
	w := s.writer()
	log := w.Lease.Log
	got, err := s.Anchors(s.ctx, log)
	s.check(err)
	s.diff("number of anchors", 0, len(got))
	want := []ledger.Anchor{
		{Log: log, Size: 7, Place: "file:/var/log/x", At: Epoch.Add(5), Checkpoint: []byte("seven")},
		{Log: log, Size: 7, Place: "witness:https://example.org/?a='b'", At: Epoch, Checkpoint: []byte("seven")},
		{Log: log, Size: 9, Place: "file:/var/log/x", At: Epoch.Add(time.Minute), Checkpoint: []byte("nine")},
	}
	for _, a := range want {
		s.check(s.PutAnchor(s.ctx, a))
	}
	for range 2 {
		got, err = s.Anchors(s.ctx, log)
		s.check(err)
		s.diff("anchors", want, got)
		s.reopen()
	}
	got, err = s.Anchors(s.ctx, 4711)
	s.check(err)
	s.diff("number of anchors of another log", 0, len(got))
}

func reached(t *testing.T, s *suite) {
	w := s.writer()
	log := w.Lease.Log
	none := func(follower string, log uint32) {
		t.Helper()
		if data, err := s.Reached(s.ctx, follower, log); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a follower that kept nothing has %q, %v", data, err)
		}
	}
	none("traces", log)
	for _, data := range [][]byte{[]byte("7"), []byte("9 with\x00more"), nil} {
		s.check(s.PutReached(s.ctx, "traces", log, data))
		s.check(s.PutReached(s.ctx, "events'--", log, []byte("3")))
		s.reopen()
		got, err := s.Reached(s.ctx, "traces", log)
		s.check(err)
		s.diff("what was kept", string(data), string(got))
		got, err = s.Reached(s.ctx, "events'--", log)
		s.check(err)
		s.diff("what another follower kept", "3", string(got))
	}
	none("others", log)
	none("traces", 4711)
	if err := s.PutReached(s.ctx, "traces", 4711, []byte("1")); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("kept for a log that is not there: %v", err)
	}
}

// concurrency does everything at once while one goroutine commits.
func concurrency(t *testing.T, s *suite) {
	w := s.writer()
	log := w.Lease.Log
	s.fillOpenings(w, 300, 500, 64)
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, do := range []func(rng *rand.Rand) error{
		func(rng *rand.Rand) error {
			from := rng.Uint64N(300)
			next := from
			err := s.Records(s.ctx, log, from, from+200, func(i uint64, r []byte) error {
				if i != next || !bytes.Equal(r, Record(i, 100)) {
					return fmt.Errorf("record %d reads %.30q, want record %d", i, r, next)
				}
				next++
				return nil
			})
			return err
		},
		func(rng *rand.Rand) error {
			head, err := s.Head(s.ctx, log)
			if err != nil {
				return err
			}
			if !bytes.Equal(head.Checkpoint, Checkpoint(log, head.Size)) {
				return fmt.Errorf("the checkpoint of %d records is %q", head.Size, head.Checkpoint)
			}
			_, err = s.Nodes(s.ctx, log, 0, 0, head.Size)
			return err
		},
		func(rng *rand.Rand) error {
			// A session's write is there once its head is.
			n := rng.Uint64N(60)
			pos, ok, err := s.KeyHead(s.ctx, Key(n))
			if err != nil || !ok {
				return err
			}
			_, err = s.KeyWrite(s.ctx, pos, Key(n))
			return err
		},
		func(rng *rand.Rand) error {
			i := rng.Uint64N(300)
			got, err := s.Opening(s.ctx, w.Pos(i))
			if errors.Is(err, ledger.ErrNotFound) {
				return nil
			}
			if err == nil && !bytes.Equal(got, opening(i, 500)) {
				err = fmt.Errorf("opening %d reads %.30q", i, got)
			}
			return err
		},
		func(rng *rand.Rand) error { return s.Erase(s.ctx, []act.Position{w.Pos(rng.Uint64N(300))}) },
		func(rng *rand.Rand) error {
			_, _, err := s.TrimOpenings(s.ctx, Epoch, 100_000)
			return err
		},
		func(rng *rand.Rand) error { return s.Probe(s.ctx) },
		func(rng *rand.Rand) error {
			return s.PutKey(s.ctx, identity.Key{Name: fmt.Sprint(rng.IntN(5)), Created: Epoch})
		},
	} {
		others.Go(func() {
			rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := do(rng); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	heads := map[uint64]uint64{}
	for n := range uint64(60) {
		var list []Entry
		for i := range uint64(20) {
			key := (n*20 + i*3) % 60
			c := ledger.Claim{Key: Key(key), First: true}
			if at, ok := heads[key]; ok {
				c.First, c.Prev = false, w.Pos(at)
			}
			heads[key] = w.Size + i
			list = append(list, Entry{Record: Record(w.Size+i, 100), Opening: opening(w.Size+i, 500), Claims: []ledger.Claim{c}})
		}
		lost, err := w.Commit(s.ctx, list...)
		if err != nil || lost != nil {
			t.Errorf("commit %d: lost %v, %v", n, lost, err)
			break
		}
	}
	close(done)
	others.Wait()
	s.diff("records", span(0, w.Size), s.read(log, 0, w.Size, 100))
}

func closed(t *testing.T, s *suite) {
	w := s.writer()
	s.check(s.Store.Close())
	s.check(s.Store.Close())
	if _, err := w.Commit(s.ctx, Entry{Record: Record(0, 9)}); err == nil {
		t.Error("a closed store commits")
	}
	if _, err := s.Head(s.ctx, 0); err == nil {
		t.Error("a closed store reads")
	}
}
