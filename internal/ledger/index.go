package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// The index finds records by their terms: one for each name of a record and its facts that
// can be asked for. What it is made of, records and facts, is written in the transaction
// of each record. The index itself is written later and in bulk, since terms are hashes:
// written with each record they would make a page of the database each.
//
// It is made of segments, as those of text search are. A segment of level 0 holds the
// postings of 1,024 records, sorted by term and record; sixteen of a level become one of
// the next. What no segment covers is read record by record: the newest 1,024 at most,
// unless the index was dropped. What a posting leads to is held against the question
// again, so that no term that two names share, and no damaged page, answers wrongly.

// Segment is a stretch of a log that the index covers.
type Segment struct {
	Level int
	N     uint64 // which of its level
}

// segmentBits are how many records a segment of each level has, as powers of two.
var segmentBits = [...]uint{10, 14, 18}

// SegmentLevels is how many levels there are.
const SegmentLevels = 3

// NewSegment is the segment that columns name; ok is false when there is no such one.
func NewSegment(level, n int64) (seg Segment, ok bool) {
	if level < 0 || level >= SegmentLevels || n < 0 || n > 1<<62>>segmentBits[level] {
		return seg, false
	}
	return Segment{int(level), uint64(n)}, true
}

// SegmentOf is the segment of a level that a record is in.
func SegmentOf(level int, index uint64) Segment {
	return Segment{level, min(index, 1<<62) >> segmentBits[level]}
}

// From is the first record of a segment, and To the one after its last.
func (s Segment) From() uint64 { return s.N << segmentBits[s.Level] }
func (s Segment) To() uint64   { return (s.N + 1) << segmentBits[s.Level] }

// Term stands for a name of one kind: half of a SHA-256, so that nobody chooses names
// that share one.
type Term int64

// Posting says that a record has a term. Postings are in the order of terms, and then of
// records.
type Posting struct {
	Term  Term
	Index uint64
}

func (p Posting) compare(q Posting) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Index, q.Index))
}

// SegmentPage is a part of a segment, by its first posting.
type SegmentPage struct {
	Posting
	Data []byte
}

// The kinds of terms. They stand in what is hashed, so that a number is given once.
const (
	byDoor byte = iota + 1
	byKind
	byEffect
	byRule
	byTool
	byAgent
	byPrincipal
	byUser
	bySession
	byTask
	byApproval
	byOrganization
	byBehalf
)

func termOf(kind byte, name string) Term {
	var b [96]byte // which most names fit into
	sum := sha256.Sum256(append(append(b[:0], kind), name...))
	return Term(binary.BigEndian.Uint64(sum[:]))
}

// named calls f with each name by which a line is found.
func (l *Line) named(f func(kind byte, name string)) {
	one := func(kind byte, name string) {
		if name != "" {
			f(kind, name)
		}
	}
	one(byDoor, l.Door)
	one(byKind, l.Kind)
	one(byEffect, l.Effect)
	for _, r := range l.Rules {
		one(byRule, r)
	}
	for _, c := range l.Codes {
		one(byRule, c)
	}
	one(byTool, l.Tool)
	one(byTool, l.Resource)
	one(byAgent, l.Agent)
	one(byPrincipal, l.Principal)
	one(byUser, l.userHash())
	one(bySession, l.Session)
	one(bySession, l.Parent) // a session shows what those did that it began
	one(bySession, l.Task)   // and what is done for a tree of tasks is a run, too
	one(byTask, l.Task)
	one(byApproval, l.Approval)
	one(byOrganization, l.Organization)
	one(byBehalf, l.OnBehalfOf)
	one(byBehalf, l.subject())
}

// subject is who was acted for, as the token calls them: jwt:<issuer>#<subject>.
func (l *Line) subject() string {
	_, subject, _ := strings.Cut(l.OnBehalfOf, "#")
	return subject
}

func (l *Line) userHash() string {
	if l.UserHash == "" && l.User != "" {
		return UserHash(l.User)
	}
	return l.UserHash
}

// postings appends the terms of a line.
func (l *Line) postings(list []Posting, index uint64) []Posting {
	first := len(list)
	l.named(func(kind byte, name string) {
		p := Posting{termOf(kind, name), index}
		if !slices.Contains(list[first:], p) {
			list = append(list, p)
		}
	})
	return list
}

// A page is the postings of one term after the other: the term in 8 bytes, how many
// records have it, the first one as a distance from the segment's beginning, the others
// as distances from the one before, as uvarints; and a CRC-32C over all of it, in 4 bytes.
const pageBytes = 8 << 10

var pageSums = crc32.MakeTable(crc32.Castagnoli)

// pageWriter cuts sorted postings into pages.
type pageWriter struct {
	seg   Segment
	pages []SegmentPage
	page  []byte // that is being written
	first Posting
	run   []byte // the records of the present term
	count uint64
	last  Posting
}

func (w *pageWriter) add(p Posting) {
	if w.count > 0 && (p.Term != w.last.Term || len(w.page)+len(w.run) >= pageBytes) {
		w.endRun()
	}
	if w.count == 0 {
		if len(w.page) >= pageBytes {
			w.endPage()
		}
		if len(w.page) == 0 {
			w.first = p
		}
		w.run = binary.AppendUvarint(w.run[:0], p.Index-w.seg.From())
	} else {
		w.run = binary.AppendUvarint(w.run, p.Index-w.last.Index)
	}
	w.count++
	w.last = p
}

func (w *pageWriter) endRun() {
	w.page = binary.BigEndian.AppendUint64(w.page, uint64(w.last.Term))
	w.page = binary.AppendUvarint(w.page, w.count)
	w.page = append(w.page, w.run...)
	w.count = 0
}

func (w *pageWriter) endPage() {
	data := binary.BigEndian.AppendUint32(bytes.Clone(w.page), crc32.Checksum(w.page, pageSums))
	w.pages = append(w.pages, SegmentPage{w.first, data})
	w.page = w.page[:0]
}

func (w *pageWriter) end() []SegmentPage {
	if w.count > 0 {
		w.endRun()
	}
	if len(w.page) > 0 {
		w.endPage()
	}
	return w.pages
}

var errPage = errors.New("a page of the index is damaged: run reeve ledger index")

// postings calls f with the postings of a page, in order, until it returns false.
func (p *SegmentPage) postings(seg Segment, f func(Posting) bool) error {
	data := p.Data
	if len(data) < 4 {
		return errPage
	}
	data, sum := data[:len(data)-4], binary.BigEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(data, pageSums) != sum {
		return errPage
	}
	last, begun := Posting{}, false
	for len(data) > 0 {
		if len(data) < 8 {
			return errPage
		}
		term := Term(binary.BigEndian.Uint64(data))
		count, n := binary.Uvarint(data[8:])
		if n <= 0 || count == 0 || count > uint64(len(data)) {
			return errPage
		}
		data = data[8+n:]
		index := seg.From()
		for i := range count {
			distance, n := binary.Uvarint(data)
			if n <= 0 || distance >= seg.To()-index || i > 0 && distance == 0 {
				return errPage
			}
			data = data[n:]
			index += distance
			one := Posting{term, index}
			if begun && last.compare(one) >= 0 {
				return errPage
			}
			last, begun = one, true
			if !f(one) {
				return nil
			}
		}
	}
	return nil
}

// termPage is the records that have one term, as far as one page tells.
type termPage struct {
	list []uint64
	// whole says that the term's first record of the page is its first of the segment, as
	// other terms stand before it.
	whole bool
	first Posting // of the page
}

// finder goes through the records of a segment that have a term.
type finder struct {
	ctx   context.Context
	store Reader
	log   uint32
	seg   Segment
	term  Term
	order Order
	page  termPage
	read  bool
	over  bool
	pages int // read
}

// load reads a page.
func (f *finder) load(at Posting, next bool) (bool, error) {
	page, err := f.store.SegmentPage(f.ctx, f.log, f.seg, at, next)
	f.page = termPage{list: f.page.list[:0]}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.pages++
	f.page.first = page.Posting
	f.page.whole = page.Term != f.term
	err = page.postings(f.seg, func(p Posting) bool {
		if p.Term == f.term {
			f.page.list = append(f.page.list, p.Index)
		}
		return p.Term <= f.term
	})
	return err == nil, err
}

// seek returns the record with the term that is nearest to index, from it on in the order;
// ok is false when there is none.
func (f *finder) seek(index uint64) (found uint64, ok bool, err error) {
	for {
		if f.over {
			return 0, false, nil
		}
		if f.read {
			if found, ok := f.inPage(index); ok {
				return found, true, nil
			}
		}
		if err := f.turn(index); err != nil {
			return 0, false, err
		}
	}
}

// inPage is seek within the page that was read.
func (f *finder) inPage(index uint64) (uint64, bool) {
	list := f.page.list
	at, exact := slices.BinarySearch(list, index)
	if f.order == NewestFirst && !exact {
		at--
	}
	if at < 0 || at >= len(list) {
		return 0, false
	}
	return list[at], true
}

// turn reads the page in which seek goes on.
func (f *finder) turn(index uint64) error {
	at := Posting{f.term, index}
	if !f.read {
		f.read = true
		there, err := f.load(at, false)
		if err == nil && !there && f.order == OldestFirst {
			there, err = f.load(at, true)
		}
		f.over = !there
		if err == nil && there && len(f.page.list) == 0 && f.order == NewestFirst {
			f.over = true // the term would stand there
		}
		return err
	}
	if f.order == NewestFirst {
		if f.page.whole || f.page.first.Index == f.seg.From() {
			f.over = true
			return nil
		}
		there, err := f.load(Posting{f.term, min(index, f.page.first.Index-1)}, false)
		f.over = !there || len(f.page.list) == 0
		return err
	}
	// A later page may be the one, or the next after this one.
	first := f.page.first
	there, err := f.load(at, false)
	if err == nil && there && f.page.first.compare(first) <= 0 {
		there, err = f.load(first, true)
	}
	f.over = !there || len(f.page.list) == 0
	return err
}

// candidates goes through the records of a segment that have all of some terms.
type candidates struct {
	finders []*finder
	order   Order
}

func newCandidates(ctx context.Context, store Reader, log uint32, seg Segment, terms []Term, order Order) *candidates {
	c := &candidates{order: order}
	for _, t := range terms {
		c.finders = append(c.finders, &finder{ctx: ctx, store: store, log: log, seg: seg, term: t, order: order})
	}
	return c
}

// seek returns the candidate nearest to index, from it on in the order.
func (c *candidates) seek(index uint64) (uint64, bool, error) {
	for agreed := 0; ; {
		for _, f := range c.finders {
			found, ok, err := f.seek(index)
			if err != nil || !ok {
				return 0, false, err
			}
			if found != index {
				index, agreed = found, 0
			}
			if agreed++; agreed == len(c.finders) {
				return index, true, nil
			}
		}
	}
}

// covering are segments that cover a log without overlap, in its order: of those that
// overlap, as while one takes the place of others, the largest.
func covering(list []Segment) []Segment {
	slices.SortFunc(list, func(a, b Segment) int { return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.N, b.N)) })
	var cover []Segment
	for _, s := range list {
		if !slices.ContainsFunc(cover, func(c Segment) bool { return c.From() <= s.From() && s.To() <= c.To() }) {
			cover = append(cover, s)
		}
	}
	slices.SortFunc(cover, func(a, b Segment) int { return cmp.Compare(a.From(), b.From()) })
	return cover
}

// BuildIndex brings the index of a log up to date: it seals what is not sealed yet of the
// records that are there, in steps small enough not to hold up commits. progress is
// called with up to where the log is covered; nil for none.
func BuildIndex(ctx context.Context, store Store, log uint32, progress func(done, size uint64)) error {
	head, err := ReadHead(ctx, store, log)
	if err != nil {
		return err
	}
	return buildIndex(ctx, store, log, head.Pruned, head.Size, nil, progress)
}

// RebuildIndex makes the index of a log anew. It returns up to where the log is covered,
// and how many records it has.
func RebuildIndex(ctx context.Context, store Store, log uint32) (covered, size uint64, err error) {
	head, err := ReadHead(ctx, store, log)
	if err == nil {
		err = store.DropSegments(ctx, log, 0, 1<<62)
	}
	if err == nil {
		err = buildIndex(ctx, store, log, head.Pruned, head.Size, nil, nil)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("make the index of log %d anew: %w", log, err)
	}
	return max(head.Pruned, head.Size>>segmentBits[0]<<segmentBits[0]), head.Size, nil
}

// buildIndex seals what is not sealed of a stretch. Somebody else may do so at the same
// time, or drop what was sealed: it begins again then with what is there. What ready has
// is not read; nil for nothing.
func buildIndex(ctx context.Context, store Store, log uint32, from, to uint64, ready *gatheredSegments, progress func(done, size uint64)) error {
	for try := 1; ; try++ {
		err := sealAll(ctx, store, log, from, to, ready, progress)
		if !errors.Is(err, ErrStale) || try == sealTries {
			return err
		}
		select { // two that began again at once would be in each other's way again
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(sealPause)):
		}
	}
}

func sealAll(ctx context.Context, store Store, log uint32, from, to uint64, ready *gatheredSegments, progress func(done, size uint64)) error {
	list, err := store.Segments(ctx, log)
	if err != nil {
		return fmt.Errorf("read the index of log %d: %w", log, err)
	}
	there := map[Segment]bool{}
	covered := func(s Segment) bool {
		for level := s.Level; level < SegmentLevels; level++ {
			if there[SegmentOf(level, s.From())] {
				return true
			}
		}
		return false
	}
	for _, s := range list {
		there[s] = true
	}
	seg := SegmentOf(0, from)
	for ; seg.To() <= to; seg.N++ {
		if progress != nil && seg.N%16 == 0 {
			progress(seg.From(), to)
		}
		if covered(seg) {
			continue
		}
		if g := ready.take(seg); g != nil {
			err = sealGathered(ctx, store, log, g)
		} else {
			err = sealRecords(ctx, store, log, seg)
		}
		if err != nil {
			return err
		}
		there[seg] = true
		// Each that is now whole on the next level is made of its sixteen.
		for level := 1; level < SegmentLevels; level++ {
			above, whole := SegmentOf(level, seg.From()), true
			for below := SegmentOf(level-1, above.From()); below.To() <= above.To(); below.N++ {
				whole = whole && (there[below] || below.To() <= from)
			}
			if !whole {
				break
			}
			if err := sealSegments(ctx, store, log, above, there); err != nil {
				return err
			}
		}
	}
	if progress != nil {
		progress(to, to)
	}
	return nil
}

// sealTries is how often sealing begins again when segments went meanwhile, and sealPause
// how long it waits before at most.
const (
	sealTries = 50
	sealPause = 100 * time.Millisecond
)

// sealRecords makes a segment of level 0, of records and their facts.
func sealRecords(ctx context.Context, store Store, log uint32, seg Segment) error {
	return seal(ctx, store, log, seg, func(w *pageWriter) error {
		lines, err := readLines(ctx, store, log, seg.From(), seg.To(), every)
		if err != nil {
			return err
		}
		var list []Posting
		for i := range lines {
			list = lines[i].postings(list, lines[i].Position().Index)
		}
		slices.SortFunc(list, Posting.compare)
		for _, p := range list {
			w.add(p)
		}
		return nil
	})
}

// sealSegments makes a segment of those of the level below.
func sealSegments(ctx context.Context, store Store, log uint32, seg Segment, there map[Segment]bool) error {
	err := seal(ctx, store, log, seg, func(w *pageWriter) error {
		var parts []*segmentReader
		for below := SegmentOf(seg.Level-1, seg.From()); below.To() <= seg.To(); below.N++ {
			if !there[below] {
				continue // pruned
			}
			r := &segmentReader{ctx: ctx, store: store, log: log, seg: below}
			if err := r.turn(); err != nil {
				return err
			}
			parts = append(parts, r)
		}
		for {
			var next *segmentReader
			for _, r := range parts {
				if len(r.list) > 0 && (next == nil || r.list[0].compare(next.list[0]) < 0) {
					next = r
				}
			}
			if next == nil {
				return nil
			}
			w.add(next.list[0])
			if next.list = next.list[1:]; len(next.list) == 0 {
				if err := next.turn(); err != nil {
					return err
				}
			}
		}
	})
	if err == nil {
		there[seg] = true
		for below := SegmentOf(seg.Level-1, seg.From()); below.To() <= seg.To(); below.N++ {
			delete(there, below)
		}
	}
	return err
}

// seal writes a segment that was made while nothing of its log was dropped.
func seal(ctx context.Context, store Store, log uint32, seg Segment, fill func(w *pageWriter) error) error {
	since, err := store.SegmentsDropped(ctx, log)
	if err != nil {
		return err
	}
	w := &pageWriter{seg: seg}
	if err = fill(w); err == nil {
		err = store.PutSegment(ctx, log, seg, since, w.end())
	}
	if err != nil {
		err = fmt.Errorf("write the index of records %d to %d of log %d: %w", seg.From(), seg.To()-1, log, err)
	}
	return err
}

// segmentReader reads a segment's postings, page by page.
type segmentReader struct {
	ctx   context.Context
	store Reader
	log   uint32
	seg   Segment
	begun bool
	last  Posting // of the page that was read
	list  []Posting
}

func (r *segmentReader) turn() error {
	at := Posting{Term: -1 << 63}
	if r.begun {
		at = r.last
	}
	page, err := r.store.SegmentPage(r.ctx, r.log, r.seg, at, true)
	if errors.Is(err, ErrNotFound) {
		r.list = nil
		return nil
	}
	if err != nil {
		return err
	}
	r.begun, r.last, r.list = true, page.Posting, nil
	return page.postings(r.seg, func(p Posting) bool {
		r.list = append(r.list, p)
		return true
	})
}

// indexer seals what a log has written, in the background.
type indexer struct {
	ready gatheredSegments
	wake  chan struct{}
	stop  context.CancelFunc
	done  sync.WaitGroup
	owed  sync.WaitGroup // what was woken for and is not done yet
}

// indexAfter is how long after its start a node looks for what was not sealed before: a
// program that lives shorter, as a hook does, leaves that to others.
const indexAfter = 2 * time.Second

func (l *Log) startIndexer(ctx context.Context) {
	ctx, l.indexer.stop = context.WithCancel(ctx)
	l.indexer.wake = make(chan struct{}, 1)
	l.indexer.done.Go(func() {
		first := time.NewTimer(indexAfter)
		defer first.Stop()
		for {
			woken := false
			select {
			case <-ctx.Done():
				select {
				case <-l.indexer.wake:
					l.indexer.owed.Done()
				default:
				}
				return
			case <-first.C:
			case <-l.indexer.wake:
				woken = true
			}
			head, err := l.cfg.Store.Head(ctx, l.lease.Log)
			if err == nil {
				err = buildIndex(ctx, l.cfg.Store, l.lease.Log, head.Pruned, head.Size, &l.indexer.ready, nil)
			}
			if err != nil && ctx.Err() == nil {
				l.cfg.Logger.Warn("the index beside the ledger was not brought up to date; questions read record by record", "log", l.lease.Log, "error", err)
			}
			if woken {
				l.indexer.owed.Done()
			}
		}
	})
}

// sealed wakes the indexer when a segment has become whole.
func (l *Log) sealed(before, after uint64) {
	if before>>segmentBits[0] == after>>segmentBits[0] {
		return
	}
	l.indexer.owed.Add(1) // before whom it wakes can be done
	select {
	case l.indexer.wake <- struct{}{}:
	default:
		l.indexer.owed.Done()
	}
}

// sealAtEnd is how long the end of a log waits for what is being sealed. A hook that
// happens to fill a segment seals it before it ends: nobody else might.
const sealAtEnd = 250 * time.Millisecond

func (l *Log) endIndexer() {
	sealed := make(chan struct{})
	go func() {
		l.indexer.owed.Wait()
		close(sealed)
	}()
	select {
	case <-sealed:
	case <-time.After(sealAtEnd):
	}
	l.indexer.stop()
	l.indexer.done.Wait()
}
