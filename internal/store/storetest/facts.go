package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

// fillFacts writes n records in batches of batch, each with an opening and facts.
func (s *suite) fillFacts(w *Writer, n, batch int) {
	for at := 0; at < n; at += batch {
		var list []Entry
		for i := w.Size; i < w.Size+uint64(min(batch, n-at)); i++ {
			list = append(list, Entry{Record: Record(i, 100), Opening: opening(i, 100), Facts: fmt.Appendf(nil, "facts %d", i)})
		}
		s.commit(w, list...)
	}
}

// known lists the records that have facts, which must be as fillFacts wrote them.
func (s *suite) known(log uint32, from, to uint64) (list []uint64) {
	s.check(s.Store.Facts(s.ctx, log, from, to, func(i uint64, got []byte) error {
		s.diff("facts", fmt.Sprintf("facts %d", i), string(got))
		list = append(list, i)
		return nil
	}))
	return list
}

func facts(t *testing.T, s *suite) {
	w := s.writer()
	log := w.Lease.Log
	s.fillFacts(w, 40, 4) // ten batches, a second apart
	s.commit(w, Entry{Record: Record(40, 9)})
	s.diff("facts of another log", []uint64(nil), s.known(4711, 0, 50))
	for range 2 {
		s.diff("facts", span(0, 40), s.known(log, 0, 50))
		s.diff("facts", span(5, 7), s.known(log, 5, 7))
		s.reopen()
	}
	// The contents go, and who it was stays.
	_, _, err := s.TrimOpenings(s.ctx, Epoch.Add(5*time.Second), 1<<40)
	s.check(err)
	s.diff("openings", span(20, 40), s.kept(w, 40, 100))
	s.diff("facts", span(0, 40), s.known(log, 0, 50))
	n, err := s.TrimFacts(s.ctx, Epoch.Add(2*time.Second))
	s.check(err)
	s.diff("batches of facts removed", 2, n)
	s.diff("facts", span(8, 40), s.known(log, 0, 50))
	n, err = s.TrimFacts(s.ctx, Epoch.Add(2*time.Second))
	s.check(err)
	s.diff("batches of facts removed", 0, n)
	s.check(s.Erase(s.ctx, []act.Position{w.Pos(9), w.Pos(39), w.Pos(40)}))
	s.reopen()
	want := append([]uint64{8}, span(10, 39)...)
	s.diff("facts", want, s.known(log, 0, 50))
	s.diff("openings", span(20, 39), s.kept(w, 40, 100))

	w = s.writer()
	s.fillFacts(w, 600, 30)
	s.check(s.PruneRecords(s.ctx, log, 512, []byte("pruned")))
	if list := s.known(log, 0, 1000); list[0] < 482 || list[len(list)-1] != 640 {
		t.Errorf("facts of %d to %d are left, want those from 512 and of its batch", list[0], list[len(list)-1])
	}
}

func segments(t *testing.T, s *suite) {
	w := s.writer()
	log := w.Lease.Log
	s.fillFacts(w, 10, 10)
	list, err := s.Store.Segments(s.ctx, log)
	s.check(err)
	s.diff("segments", 0, len(list))
	pages := func(seg ledger.Segment) []ledger.SegmentPage {
		var list []ledger.SegmentPage
		for i, term := range []ledger.Term{-1 << 63, -5, 0, 7, 1<<63 - 1} {
			for j := range 3 {
				list = append(list, ledger.SegmentPage{
					Posting: ledger.Posting{Term: term, Index: seg.From() + uint64(10*j)}, Data: fmt.Appendf(nil, "%v %d %d", seg, i, j),
				})
			}
		}
		return list
	}
	put := func(seg ledger.Segment) {
		t.Helper()
		since, err := s.SegmentsDropped(s.ctx, log)
		s.check(err)
		s.check(s.PutSegment(s.ctx, log, seg, since, pages(seg)))
	}
	there := func(want ...ledger.Segment) {
		t.Helper()
		list, err := s.Store.Segments(s.ctx, log)
		s.check(err)
		s.diff("segments", want, list)
	}
	page := func(seg ledger.Segment, term ledger.Term, index uint64, next bool) string {
		t.Helper()
		p, err := s.SegmentPage(s.ctx, log, seg, ledger.Posting{Term: term, Index: index}, next)
		switch {
		case errors.Is(err, ledger.ErrStale):
			return "no segment"
		case err != nil:
			s.is(err, ledger.ErrNotFound)
			return ""
		}
		return string(p.Data)
	}
	a, b := ledger.Segment{Level: 0, N: 0}, ledger.Segment{Level: 0, N: 1}
	put(a)
	put(b)
	for range 2 {
		there(a, b)
		s.diff("page at a posting", "{0 0} 1 1", page(a, -5, 10, false))
		s.diff("page before a posting", "{0 0} 1 1", page(a, -5, 19, false))
		s.diff("page before a term", "{0 0} 1 2", page(a, -1, 0, false))
		s.diff("page after a posting", "{0 0} 1 2", page(a, -5, 10, true))
		s.diff("page of the next term", "{0 0} 2 0", page(a, -5, 20, true))
		s.diff("first page", "{0 1} 0 0", page(b, -1<<63, 0, true))
		s.diff("before the first page", "", page(b, -1<<63, 0, false))
		s.diff("after the last page", "", page(b, 1<<63-1, 1<<60, true))
		s.diff("page of no segment", "no segment", page(ledger.Segment{Level: 1}, 0, 0, false))
		s.reopen()
	}
	above := ledger.Segment{Level: 1, N: 0}
	put(above)
	there(above)
	s.diff("page of what was replaced", "no segment", page(a, 0, 0, false))
	put(a)
	there(above)
	s.diff("page of what is covered", "no segment", page(a, 0, 0, false))

	// What was made before facts went is not written.
	since, err := s.SegmentsDropped(s.ctx, log)
	s.check(err)
	s.check(s.Erase(s.ctx, []act.Position{w.Pos(3)}))
	there()
	s.diff("page of what was dropped", "no segment", page(above, 0, 0, false))
	s.is(s.PutSegment(s.ctx, log, a, since, pages(a)), ledger.ErrStale)
	there()
	put(a)
	put(b)
	s.check(s.DropSegments(s.ctx, log, b.From(), b.To()))
	there(a)
	_, err = s.TrimFacts(s.ctx, Epoch.Add(time.Hour))
	s.check(err)
	there()
}
