package ledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// The terms of a record are known when it is queued, and those of a segment of records
// when its last one is written: it is sealed from them, and no record is read again.
//
// What was erased meanwhile must never get into the index. Every erasure drops segments, also
// one by another node; where that was done since before the first record of a segment
// was written, PutSegment refuses what was gathered, and the records are read.

// appendTerms appends the terms of an entry, 8 bytes each.
func appendTerms(b []byte, r *Record, e *Entry) []byte {
	var o *Opening
	if e.Principal != nil || e.Links != nil {
		o = &Opening{Principal: e.Principal, Links: e.Links}
	}
	l := lineOf(r, o)
	var list [24]Posting // as many as most records have
	for _, p := range l.postings(list[:0], 0) {
		b = binary.BigEndian.AppendUint64(b, uint64(p.Term))
	}
	return b
}

// gathered are the postings of a segment of level 0.
type gathered struct {
	seg   Segment
	since uint64 // how often segments had been dropped before its first record was written
	list  []Posting
}

// gathers gathers the postings of the segment that is being written. It is the committer's.
type gathers struct {
	now   *gathered // nil where the segment was begun before, or something failed
	since uint64
	known bool // since is of before the present batch
}

// maxGathered bounds the postings of one segment: of records with more terms they are read.
const maxGathered = 64 << 10

// before is called before a batch of at most so many records is written: where a segment
// begins among them, it looks how often segments were dropped until now.
func (c *gathers) before(ctx context.Context, l *Log, size uint64, most int) {
	c.known = false
	begin := SegmentOf(0, size)
	if begin.From() < size {
		begin.N++
	}
	if begin.From() >= size+uint64(most) {
		return
	}
	var err error
	c.since, err = l.cfg.Store.SegmentsDropped(ctx, l.lease.Log)
	c.known = err == nil
}

// add takes in a record that was written.
func (c *gathers) add(l *Log, t *Ticket) {
	seg := SegmentOf(0, t.pos.Index)
	if t.pos.Index == seg.From() {
		c.now = nil
		if c.known {
			c.now = &gathered{seg: seg, since: c.since, list: make([]Posting, 0, 12<<segmentBits[0])}
		}
	}
	if c.now == nil {
		return
	}
	if c.now.seg != seg || len(c.now.list)+len(t.terms)/8 > maxGathered {
		c.now = nil
		return
	}
	for terms := t.terms; len(terms) > 0; terms = terms[8:] {
		c.now.list = append(c.now.list, Posting{Term(binary.BigEndian.Uint64(terms)), t.pos.Index})
	}
	if t.pos.Index == seg.To()-1 {
		l.indexer.ready.put(c.now)
		c.now = nil
	}
}

// gatheredSegments are those that wait to be sealed.
type gatheredSegments struct {
	mu   sync.Mutex
	list []*gathered
}

// maxReady is how many wait: of those before, the records are read.
const maxReady = 4

func (s *gatheredSegments) put(g *gathered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == maxReady {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, g)
}

// take returns the segment if it waits, once; nil else.
func (s *gatheredSegments) take(seg Segment) *gathered {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, g := range s.list {
		if g.seg == seg {
			s.list = slices.Delete(s.list, i, i+1)
			return g
		}
	}
	return nil
}

// sealGathered seals a segment of what was gathered.
func sealGathered(ctx context.Context, store Store, log uint32, g *gathered) error {
	slices.SortFunc(g.list, Posting.compare)
	w := &pageWriter{seg: g.seg}
	for _, p := range g.list {
		w.add(p)
	}
	if err := store.PutSegment(ctx, log, g.seg, g.since, w.end()); err != nil {
		return fmt.Errorf("write the index of records %d to %d of log %d: %w", g.seg.From(), g.seg.To()-1, log, err)
	}
	return nil
}
