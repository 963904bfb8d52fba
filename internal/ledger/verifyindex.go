package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
)

// index holds the segments of the index against the records and facts that they were made
// of. A name that was taken out of the index would be found by nobody, and a record with
// it.
func (a *audit) index(head Head) error {
	if a.opt.SkipOpenings {
		return nil
	}
	list, err := a.store.Segments(a.ctx, a.opt.Log)
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	sums := maphash.MakeSeed() // so that nobody can make up other postings of the same sum
	for _, seg := range list {
		if seg.To() > head.Size {
			a.problem(seg.From(), seg.To(), "The index covers records %s to %s, which are not all there: run reeve ledger index.", a.id(seg.From()), a.id(seg.To()-1))
			continue
		}
		fits, err := a.segment(seg, sums)
		if err != nil {
			return err
		}
		if fits {
			continue
		}
		// What was erased or pruned meanwhile took its segments with it.
		now, err := a.store.Segments(a.ctx, a.opt.Log)
		if err != nil {
			return fmt.Errorf("read the index: %w", err)
		}
		if slices.Contains(now, seg) {
			a.problem(seg.From(), seg.To(), "The index of records %s to %s does not fit them, or what lies beside them was removed: a question may miss one. Run reeve ledger index.", a.id(seg.From()), a.id(seg.To()-1))
		}
	}
	return nil
}

// segment reports whether a segment has exactly the postings of its records.
func (a *audit) segment(seg Segment, seed maphash.Seed) (bool, error) {
	hash := func(p Posting) uint64 {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], uint64(p.Term))
		binary.BigEndian.PutUint64(b[8:], p.Index)
		return maphash.Bytes(seed, b[:])
	}
	var want, got, counted uint64
	r := &segmentReader{ctx: a.ctx, store: a.store, log: a.opt.Log, seg: seg}
	for {
		err := r.turn()
		if errors.Is(err, errPage) || errors.Is(err, ErrStale) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read the index: %w", err)
		}
		if len(r.list) == 0 {
			break
		}
		for _, p := range r.list {
			got += hash(p)
			counted++
		}
	}
	var list []Posting
	for from := seg.From(); from < seg.To(); from += 256 {
		lines, err := readLines(a.ctx, a.store, a.opt.Log, from, min(from+256, seg.To()), every)
		if a.ctx.Err() != nil {
			return false, a.ctx.Err()
		}
		if err != nil {
			return true, nil // records that cannot be read are told of already
		}
		list = list[:0]
		for i := range lines {
			list = lines[i].postings(list, lines[i].Position().Index)
		}
		for _, p := range list {
			want += hash(p)
			counted--
		}
	}
	return want == got && counted == 0, nil
}
