package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/act"

	"golang.org/x/mod/sumdb/tlog"
)

// VerifyOptions says what a log is held against.
type VerifyOptions struct {
	Log uint32
	// TrustedKey is the log's public key: see VerifierKey. Required.
	TrustedKey string
	// Checkpoints are signed checkpoints that were kept elsewhere, where nobody
	// who can write the database could change them. Those of other logs are
	// passed over. Without them a log that was cut short cannot be told from
	// one that never went further.
	Checkpoints [][]byte
	// FormerKeys are keys with which the log was signed before, if it goes on from another's:
	// see FormerPlace.
	FormerKeys []string
	// SkipOpenings leaves out what lies beside the records.
	SkipOpenings bool
	// Progress is called now and then with the number of records looked at;
	// nil for none.
	Progress func(done, size uint64)
}

// Report is what Verify found.
type Report struct {
	Log    uint32
	Size   uint64
	Pruned uint64 // records below it were removed on purpose
	// Openings is how many records have all that they commit to beside them, and Absent how
	// many have some or all of it no more, or never had. Missing is how often which of it is
	// not there, by the fields' names.
	Openings, Absent uint64
	Missing          map[string]uint64
	// Noted says that the records below it stand under a checkpoint of which the
	// database says that it was published at NotedAt, outside of this machine's log.
	// Nobody has looked there: whoever writes the database writes this note, too.
	Noted   uint64
	NotedAt string
	// Confirmed says that the records below it stand under a checkpoint of
	// VerifyOptions.Checkpoints. It alone holds against somebody who writes the
	// database and has the key.
	Confirmed uint64
	// Former is how many records another key signed, which was lost: this log's key says of
	// them that they are as they were found, and no more. FormerProved says that a key of
	// VerifyOptions.FormerKeys signed them so; Unproved is how many checkpoints of that time
	// were held against the log, and not against a key.
	Former       uint64
	FormerProved bool
	Unproved     int
	// Unchecked is how many checkpoints could not be compared, because the
	// hashes that they need were pruned.
	Unchecked int
	// Problems holds what is wrong, in the order of the log; none means that
	// everything holds. More counts those beyond the first thousand.
	Problems []Problem
	More     int
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Problem is one thing that is wrong, with the records from From (inclusive) to
// To (exclusive). From equals To where it is not about records.
type Problem struct {
	From, To uint64
	Message  string // a sentence
}

func (p Problem) String() string { return p.Message }

const maxProblems = 1000

// claimed is a checkpoint that the log must agree with.
type claimed struct {
	Checkpoint
	source string
	place  string // where the database says it was published; empty for the other sources
	given  bool   // by the caller
	head   bool   // the database's own
}

// audit is a verification under way. Two trees are built side by side: stored
// from the hashes that the database has, and fresh from the records alone. The
// signed checkpoints tell which of them is right.
type audit struct {
	ctx    context.Context
	store  Reader
	opt    VerifyOptions
	report *Report

	stored, fresh frontier
	known         bool // every record so far went into stored
	whole         bool // every record so far went into fresh
	claims        []claimed
	good          uint64 // the largest size at which a checkpoint agrees
	broken        bool   // the last checkpoint compared does not
	time          time.Time
	former        []*verifier
	before        []uint64          // sizes at which the database says that a log of another key ended
	named         []uint64          // records that say that it did
	removed       []string          // codes of the records that say that others were removed
	hashes        map[string]uint64 // of policies, and the first record that names each
}

// reader reads tiles, and checks what can be checked of each by itself. Each is used
// by one goroutine.
type reader struct {
	ctx      context.Context
	store    Reader
	opt      VerifyOptions
	found    *found // the tile that is read
	partHash [32]byte
	partData []byte
}

func (a *reader) problem(from, to uint64, format string, args ...any) {
	a.found.problems = append(a.found.problems, Problem{from, to, fmt.Sprintf(format, args...)})
}

// Verify reads a whole log and holds it against its hashes, its checkpoint and
// every checkpoint known. It works beside a running node. Whatever is wrong
// with the log stands in the report; the error is for a store that cannot be
// read, or a key that is none.
func Verify(ctx context.Context, store Reader, opt VerifyOptions) (*Report, error) {
	key, err := newVerifier(opt.TrustedKey)
	if err != nil {
		return nil, err
	}
	head, err := store.Head(ctx, opt.Log)
	if err != nil {
		return nil, fmt.Errorf("read the head of log %d: %w", opt.Log, err)
	}
	a := &audit{
		ctx: ctx, store: store, opt: opt, known: true, whole: true, hashes: map[string]uint64{},
		report: &Report{Log: opt.Log, Size: head.Size, Pruned: head.Pruned},
	}
	for _, vkey := range opt.FormerKeys {
		former, err := newVerifier(vkey)
		if err != nil {
			return nil, err
		}
		if former.Name() == key.Name() { // of several logs each has its own
			a.former = append(a.former, former)
		}
	}
	if err := a.gather(key, head); err != nil {
		return nil, err
	}
	if err := a.pruned(head); err != nil {
		return nil, err
	}
	if err := a.tiles(head); err != nil {
		return nil, err
	}
	a.taken(head)
	if err := a.beyond(head); err != nil {
		return nil, err
	}
	if err := a.index(head); err != nil {
		return nil, err
	}
	if err := a.policies(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.report.Problems, func(a, b Problem) int { return cmp.Compare(a.From, b.From) })
	return a.report, nil
}

func (a *audit) problem(from, to uint64, format string, args ...any) {
	a.add(Problem{from, to, fmt.Sprintf(format, args...)})
}

func (a *audit) add(p Problem) {
	if len(a.report.Problems) == maxProblems {
		a.report.More++
		return
	}
	a.report.Problems = append(a.report.Problems, p)
}

// namedWithin is how many records after the last of the former log one says that it was.
const namedWithin = 256

// opened reads a checkpoint that the log's key signed or, of the time before it had that key,
// a former one. Without the former key it is unproved: the tree must agree with it all the same.
func (a *audit) opened(key *verifier, signed []byte) (cp Checkpoint, proved bool, err error) {
	if cp, err = key.open(signed); err == nil {
		return cp, true, nil
	}
	old, oldErr := ParseCheckpoint(signed)
	if a.report.Former == 0 || oldErr != nil || old.Origin != key.Name() || old.Size > a.report.Former {
		return cp, false, err
	}
	for _, former := range a.former {
		if cp, err := former.open(signed); err == nil {
			return cp, true, nil
		}
	}
	if len(a.former) > 0 {
		return cp, false, errors.New("neither the log's key nor the former one signed it")
	}
	a.report.Unproved++
	return old, false, nil
}

// taken holds what the database says of other keys against the records that say it. Either
// without the other was written, or taken away, by somebody who has not the log's key.
func (a *audit) taken(head Head) {
	fits := func(size, named uint64) bool { return named >= size && named < size+namedWithin }
	for _, size := range a.before {
		if size >= head.Pruned && !slices.ContainsFunc(a.named, func(n uint64) bool { return fits(size, n) }) {
			a.problem(size, size, "The database says that the log goes on from another key's at record %s, and no record there says so.", a.id(size))
		}
	}
	if head.Pruned > 0 && a.known && !slices.Contains(a.removed, CodePruned(head.Pruned)) {
		a.problem(0, head.Pruned, "Records %s to %s are missing, and no record says that they were removed.", a.id(0), a.id(head.Pruned-1))
	}
	for _, n := range a.named {
		if !slices.ContainsFunc(a.before, func(size uint64) bool { return fits(size, n) }) {
			a.problem(n, n+1, "Record %s says that the log goes on from another key's, and the database does not have the checkpoint with which that ended: it was taken away.", a.id(n))
		}
	}
	if len(a.former) > 0 && len(a.before) == 0 {
		a.problem(0, 0, "A former key of this log was given, and nothing says that it goes on from another key's: that was taken away, or the log is another one.")
	}
}

// gather collects the checkpoints that the log must agree with, by size.
func (a *audit) gather(key *verifier, head Head) error {
	anchors, err := a.store.Anchors(a.ctx, a.opt.Log)
	if err != nil {
		return fmt.Errorf("read the anchors of log %d: %w", a.opt.Log, err)
	}
	for _, n := range anchors {
		if n.Place == FormerPlace {
			a.report.Former = max(a.report.Former, n.Size)
			a.before = append(a.before, n.Size)
		}
	}
	switch cp, err := key.open(head.Checkpoint); {
	case head.Size == 0 && len(head.Checkpoint) == 0:
	case err != nil:
		a.problem(head.Size, head.Size, "The database's own checkpoint is not to be trusted: %v.", err)
	case cp.Size != head.Size:
		a.problem(min(head.Size, cp.Size), max(head.Size, cp.Size),
			"The database says that the log has %d records, and its checkpoint was signed for %d.", head.Size, cp.Size)
		a.claims = append(a.claims, claimed{Checkpoint: cp, source: "the database's own checkpoint", head: true})
	default:
		a.claims = append(a.claims, claimed{Checkpoint: cp, source: "the database's own checkpoint", head: true})
	}
	if head.Pruned > 0 {
		cp, _, err := a.opened(key, head.PrunedCheckpoint)
		if err != nil || cp.Size < head.Pruned {
			a.problem(0, head.Pruned, "Records %s to %s were removed, and no signed checkpoint accounts for it.", a.id(0), a.id(head.Pruned-1))
		} else {
			a.claims = append(a.claims, claimed{Checkpoint: cp, source: "the checkpoint up to which records were pruned", head: true})
		}
	}
	for _, n := range anchors {
		cp, proved, err := a.opened(key, n.Checkpoint)
		if n.Place == FormerPlace && err != nil {
			a.problem(0, n.Size, "The checkpoint with which the log before ended, at %d records, is not signed with the former key that was given.", n.Size)
			continue
		}
		if _, err := key.open(n.Checkpoint); n.Place == FormerPlace && err == nil { // or it would be proved by a key that was never given
			a.problem(0, n.Size, "The checkpoint with which the log before ended, at %d records, is signed with this log's own key: it was put there.", n.Size)
			continue
		}
		if err != nil || cp.Size != n.Size {
			a.problem(n.Size, n.Size, "The checkpoint of %d records noted as published at %s is not to be trusted: it was changed.", n.Size, n.Place)
			continue
		}
		if n.Place == FormerPlace {
			a.report.FormerProved = a.report.FormerProved || proved && n.Size == a.report.Former
			a.claims = append(a.claims, claimed{Checkpoint: cp, source: "the last checkpoint of " + n.Place})
			continue
		}
		a.claims = append(a.claims, claimed{Checkpoint: cp, place: n.Place, source: "the checkpoint published at " + n.Place + " on " + n.At.UTC().Format(time.RFC3339)})
	}
	for i, signed := range a.opt.Checkpoints {
		if cp, err := ParseCheckpoint(signed); err == nil && cp.Origin != key.Name() {
			continue
		}
		cp, proved, err := a.opened(key, signed)
		if err != nil {
			a.problem(head.Size, head.Size, "Checkpoint %d of those given is not to be trusted: %v.", i+1, err)
			continue
		}
		a.claims = append(a.claims, claimed{Checkpoint: cp, source: "a checkpoint kept elsewhere", given: proved})
	}
	slices.SortStableFunc(a.claims, func(a, b claimed) int { return cmp.Compare(a.Size, b.Size) })
	return nil
}

// pruned goes over the part of the tree whose records were pruned: of it the
// roots of complete tiles are left.
func (a *audit) pruned(head Head) error {
	if head.Pruned%256 != 0 || head.Pruned > head.Size {
		a.problem(0, 0, "The database says that %d records of %d were pruned, which cannot be.", head.Pruned, head.Size)
		a.whole, a.known = false, false
		return nil
	}
	tree := NewTree(a.store, a.opt.Log)
	for n := uint64(0); n < head.Pruned/256; n++ {
		row, err := tree.Tile(a.ctx, 1, n/256, int(min(256, head.Pruned/256-n/256*256)))
		if errors.Is(err, ErrNotFound) {
			a.problem(n*256, head.Pruned, "The hashes over the pruned records are missing from record %s on.", a.id(n*256))
			a.whole, a.known = false, false
			return nil
		} else if err != nil {
			return err
		}
		if err := a.addTile(row[n%256]); err != nil {
			return err
		}
	}
	a.fresh = a.stored
	for len(a.claims) > 0 && a.claims[0].Size <= head.Pruned {
		root, err := tree.Root(a.ctx, a.claims[0].Size)
		if err == nil {
			a.compare(a.claims[0], &root, &root)
		} else if errors.Is(err, ErrNotFound) {
			a.report.Unchecked++
		} else {
			return err
		}
		a.claims = a.claims[1:]
	}
	return nil
}

// addTile appends a complete tile to the tree of stored hashes, and checks the
// upper hashes that it completes.
func (a *audit) addTile(h tlog.Hash) error {
	for _, n := range a.stored.addTile(h, nil) {
		span := uint64(1) << (8 * n.Level)
		got, err := a.store.Nodes(a.ctx, a.opt.Log, n.Level, n.N, n.N+1)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("read the tree: %w", err)
		}
		if err != nil || got[0] != n.Hash {
			a.problem(n.N*span, (n.N+1)*span, "The tree's hash over records %s to %s is missing or was changed.", a.id(n.N*span), a.id((n.N+1)*span-1))
		}
	}
	return nil
}

// found is what the database has of one tile: 256 records, or fewer at the end.
type found struct {
	from, to uint64
	kept     []tlog.Hash // the hashes kept of the records; nil if missing
	fresh    []tlog.Hash // the hashes of the records themselves
	all      bool        // every record could be read
	suspects []uint64    // records that do not fit the hash kept of them
	root     *tlog.Hash  // the tile's own hash; nil if missing or not complete
	count    uint64      // of records
	records  []Record    // those that can be read and are at their place
	openings uint64      // how many of them have all that they commit to beside them
	missing  [fields]uint64
	problems []Problem // of the tile by itself
}

// tiles checks all records. Tiles are read on every processor, some ahead of the one
// that is put into the trees, which they are in their order.
func (a *audit) tiles(head Head) error {
	type job struct {
		from, to uint64
		found    *found
		err      error
		done     chan struct{}
	}
	ctx, stop := context.WithCancel(a.ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs, inOrder := make(chan *job), make(chan *job, 4*workers)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		defer close(inOrder)
		defer close(jobs)
		for from := head.Pruned; from < head.Size; {
			j := &job{from: from, to: min(from+256-from%256, head.Size), done: make(chan struct{})}
			for _, to := range []chan *job{inOrder, jobs} {
				select {
				case to <- j:
				case <-ctx.Done():
					return
				}
			}
			from = j.to
		}
	})
	for range workers {
		running.Go(func() {
			r := &reader{ctx: ctx, store: a.store, opt: a.opt}
			for j := range jobs {
				j.found, j.err = r.read(j.from, j.to)
				close(j.done)
			}
		})
	}
	for j := range inOrder {
		select {
		case <-j.done:
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
		if j.err != nil {
			return j.err
		}
		if j.found.count == 0 {
			if gone, err := a.gone(j.from, head.Size); gone || err != nil {
				return err
			}
		}
		if err := a.tile(j.found); err != nil {
			return err
		}
		if a.opt.Progress != nil {
			a.opt.Progress(j.to, head.Size)
		}
	}
	return a.ctx.Err()
}

// tile puts one tile into the trees, and checks it against them and what came before.
func (a *audit) tile(t *found) (err error) {
	from, to := t.from, t.to
	for i := range t.problems {
		a.add(t.problems[i])
	}
	for i := range t.records {
		r := &t.records[i]
		if r.Time.Before(a.time) {
			a.problem(r.Index, r.Index+1, "Record %s has an earlier time than a record before it.", a.id(r.Index))
			continue
		}
		a.time = r.Time
		switch r.Kind {
		case KindNewKey:
			a.named = append(a.named, r.Index)
		case KindPruned:
			a.removed = append(a.removed, r.Codes...)
		}
		if _, seen := a.hashes[r.Policy]; !seen && r.Policy != "" {
			a.hashes[r.Policy] = r.Index
		}
	}
	if !a.opt.SkipOpenings {
		a.report.Openings += t.openings
		a.report.Absent += uint64(len(t.records)) - t.openings
		for f, n := range t.missing {
			if n == 0 {
				continue
			}
			if a.report.Missing == nil {
				a.report.Missing = map[string]uint64{}
			}
			a.report.Missing[Field(f).String()] += n
		}
	}
	if t.kept == nil && t.all {
		t.kept = t.fresh
	}
	a.whole = a.whole && t.all

	inside := a.known && t.kept != nil
	stored := a.stored
	for i := range to - from - 1 {
		if inside {
			stored.add(t.kept[i], nil)
		}
		if a.whole {
			a.fresh.add(t.fresh[i], nil)
		}
		a.claim(from+i+1, inside, &stored)
	}
	if a.whole {
		a.fresh.add(t.fresh[to-from-1], nil)
	}
	switch {
	case a.known && t.root != nil:
		err = a.addTile(*t.root)
	case inside && to-from == 256:
		err = a.addTile(rootOf(t.kept))
	case inside:
		stored.add(t.kept[to-from-1], nil)
		a.stored = stored
	default:
		a.known = false
	}
	if err != nil {
		return err
	}
	keptSigned, freshSigned := a.claim(to, a.known, &a.stored)
	if t.root != nil {
		keptSigned = t.kept != nil && rootOf(t.kept) == *t.root
		freshSigned = t.all && rootOf(t.fresh) == *t.root
	}
	a.judge(t, keptSigned, freshSigned)
	return nil
}

// read reads one tile's records and hashes, and checks each record by itself.
func (a *reader) read(from, to uint64) (*found, error) {
	t := &found{from: from, to: to, fresh: make([]tlog.Hash, to-from)}
	a.found = t
	var err error
	t.kept, err = a.nodes(0, from, to)
	if err != nil {
		return nil, err
	}
	if t.kept == nil {
		a.problem(from, to, "The hashes kept of records %s to %s are missing.", a.id(from), a.id(to-1))
	}
	if to-from == 256 {
		root, err := a.nodes(1, from/256, from/256+1)
		if err != nil {
			return nil, err
		}
		if root == nil {
			a.problem(from, to, "The tree's hash over records %s to %s is missing.", a.id(from), a.id(to-1))
		} else {
			t.root = &root[0]
		}
	}

	next := from
	err = a.store.Records(a.ctx, a.opt.Log, from, to, func(index uint64, data []byte) error {
		if index < next || index >= to {
			return fmt.Errorf("record %s stands out of order", a.id(index))
		}
		a.missing(next, index)
		next = index + 1
		t.count++
		t.fresh[index-from] = tlog.RecordHash(data)
		if t.kept != nil && t.kept[index-from] != t.fresh[index-from] {
			t.suspects = append(t.suspects, index)
		}
		r, err := ParseRecord(data)
		switch {
		case err != nil:
			a.problem(index, index+1, "Record %s cannot be read: %v.", a.id(index), err)
		case r.Log != a.opt.Log || r.Index != index:
			a.problem(index, index+1, "Record %s says that it is record %s: records were reordered or copied.", a.id(index), r.ID())
		default:
			t.records = append(t.records, r)
		}
		return nil
	})
	switch {
	case a.ctx.Err() != nil:
		return nil, a.ctx.Err()
	case err != nil:
		a.problem(next, to, "Records %s to %s cannot be read: %v.", a.id(next), a.id(to-1), err)
	default:
		a.missing(next, to)
	}
	t.all = t.count == to-from
	if a.opt.SkipOpenings {
		return t, nil
	}
	return t, a.openings(t)
}

// nodes returns stored hashes, nil when they are missing.
func (a *reader) nodes(level int, from, to uint64) ([]tlog.Hash, error) {
	hashes, err := a.store.Nodes(a.ctx, a.opt.Log, level, from, to)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the tree: %w", err)
	case uint64(len(hashes)) != to-from:
		return nil, nil
	}
	return hashes, nil
}

func (a *audit) id(index uint64) string  { return act.Position{Log: a.opt.Log, Index: index}.String() }
func (a *reader) id(index uint64) string { return act.Position{Log: a.opt.Log, Index: index}.String() }

func (a *reader) missing(from, to uint64) {
	switch {
	case to == from+1:
		a.problem(from, to, "Record %s is missing.", a.id(from))
	case to > from:
		a.problem(from, to, "Records %s to %s are missing.", a.id(from), a.id(to-1))
	}
}

// claim compares the checkpoints of size records with both trees, and says
// whether the last of them agrees with each.
func (a *audit) claim(size uint64, known bool, stored *frontier) (storedOK, freshOK bool) {
	for len(a.claims) > 0 && a.claims[0].Size == size {
		var roots [2]*tlog.Hash
		if known {
			root := stored.root()
			roots[0] = &root
		}
		if a.whole {
			root := a.fresh.root()
			roots[1] = &root
		}
		storedOK, freshOK = a.compare(a.claims[0], roots[0], roots[1])
		a.claims = a.claims[1:]
	}
	return storedOK, freshOK
}

// compare holds a checkpoint against the roots of both trees at its size; a
// root is nil where it cannot be known.
func (a *audit) compare(c claimed, stored, fresh *tlog.Hash) (storedOK, freshOK bool) {
	storedOK = stored != nil && *stored == c.Root
	freshOK = fresh != nil && *fresh == c.Root
	switch {
	case stored == nil && fresh == nil:
		a.report.Unchecked++
	case !storedOK && !freshOK && a.broken:
		// The same as with the checkpoint before.
	case !storedOK && !freshOK:
		a.broken = true
		from := min(a.good, c.Size-min(c.Size, 1))
		a.problem(from, c.Size, "The log does not agree with %s, signed for %d records: at least one of records %s to %s was changed together with its hashes, or the log was gone on with from an older copy.",
			c.source, c.Size, a.id(from), a.id(max(c.Size, 1)-1))
	case c.given:
		a.report.Confirmed = max(a.report.Confirmed, c.Size)
	case c.place != "" && c.place != LogPlace && c.Size > a.report.Noted:
		a.report.Noted, a.report.NotedAt = c.Size, c.place
	}
	if storedOK || freshOK {
		a.broken = false
		a.good = max(a.good, c.Size)
	}
	return storedOK, freshOK
}

// judge decides what is wrong in a tile: records, or the hashes kept of them.
// Right is what leads to the tile's own hash or, at the log's end, to the
// signed checkpoint.
func (a *audit) judge(t *found, keptSigned, freshSigned bool) {
	for _, i := range t.suspects {
		if freshSigned {
			a.problem(i, i+1, "The hash kept of record %s was changed; the record itself is as it was signed.", a.id(i))
		} else {
			a.problem(i, i+1, "Record %s was changed: it does not fit the hash that was kept of it.", a.id(i))
		}
	}
	if t.root != nil && len(t.suspects) == 0 && t.kept != nil && !keptSigned {
		a.problem(t.from, t.to, "The tree's hash over records %s to %s does not fit them: it was changed, or one of them together with the hash kept of it.", a.id(t.from), a.id(t.to-1))
	}
}

// openings checks what lies beside a tile's records.
func (a *reader) openings(t *found) error {
	beside := make([][fields]bool, len(t.records)) // what each record has: of its contents, and of its facts
	for _, read := range []func(context.Context, uint32, uint64, uint64, func(uint64, []byte) error) error{a.store.Openings, a.store.Facts} {
		rest, at := t.records, 0
		err := read(a.ctx, a.opt.Log, t.from, t.to, func(index uint64, data []byte) error {
			for len(rest) > 0 && rest[0].Index < index {
				rest, at = rest[1:], at+1
			}
			if len(rest) == 0 || rest[0].Index != index {
				return nil // of a record that is missing, or not at its place
			}
			r := &rest[0]
			o, err := parseOpening(data, a.part)
			for f := range o {
				beside[at][f] = beside[at][f] || o[f].present
			}
			if err == nil {
				err = r.check(&o)
			}
			if err != nil {
				a.problem(index, index+1, "What lies beside record %s does not hold: %v.", a.id(index), err)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the openings of records %s to %s: %w", a.id(t.from), a.id(t.to-1), err)
		}
	}
	for i := range t.records {
		all := true
		for f, c := range t.records[i].Commitments {
			if c != (Commitment{}) && !beside[i][f] {
				all = false
				t.missing[f]++
			}
		}
		if all {
			t.openings++
		}
	}
	return nil
}

// part returns a part of openings. The last one is remembered: neighbouring
// records mostly share it.
func (a *reader) part(hash [32]byte) ([]byte, error) {
	if a.partData == nil || a.partHash != hash {
		data, err := a.store.Part(a.ctx, hash)
		if err != nil {
			return nil, err
		}
		a.partHash, a.partData = hash, data
	}
	return a.partData, nil
}

// gone reports whether there are no more records at all, though many should
// follow: what is missing is then named once. The size is only what the
// database says, and must not decide how long Verify takes.
func (a *audit) gone(from, size uint64) (bool, error) {
	if size-from <= 4*256 {
		return false, nil
	}
	found := errors.New("found")
	err := a.store.Records(a.ctx, a.opt.Log, from, size, func(uint64, []byte) error { return found })
	if errors.Is(err, found) {
		return false, nil
	}
	if a.ctx.Err() != nil {
		return false, a.ctx.Err()
	}
	a.problem(from, size, "Records %s to %s are missing: the database has none from there on.", a.id(from), a.id(size-1))
	return true, nil
}

// policies makes sure that the text of every policy that decided is kept as it was.
func (a *audit) policies() error {
	for _, hash := range slices.Sorted(maps.Keys(a.hashes)) {
		text, err := a.store.Policy(a.ctx, hash)
		sum := sha256.Sum256(text)
		switch {
		case errors.Is(err, ErrNotFound):
			a.problem(a.hashes[hash], a.hashes[hash]+1, "The text of the policy %s, which decided %s and others, is missing.", hash, a.id(a.hashes[hash]))
		case err != nil:
			return fmt.Errorf("read the policy %s: %w", hash, err)
		case hash != "sha256:"+hex.EncodeToString(sum[:]):
			a.problem(a.hashes[hash], a.hashes[hash]+1, "The text of the policy %s, which decided %s and others, was changed.", hash, a.id(a.hashes[hash]))
		}
	}
	return nil
}

// beyond looks for what should be behind the newest record, or should not.
func (a *audit) beyond(head Head) error {
	for _, c := range a.claims {
		if c.Size <= head.Size || c.head {
			continue
		}
		a.problem(head.Size, c.Size, "Records %s to %s are missing from the end: %s was signed for %d records, and the log has %d.",
			a.id(head.Size), a.id(c.Size-1), c.source, c.Size, head.Size)
	}
	extra := false
	behind := errors.New("a record behind the end")
	err := a.store.Records(a.ctx, a.opt.Log, head.Size, math.MaxInt64, func(uint64, []byte) error {
		extra = true
		return behind
	})
	if err != nil && a.ctx.Err() != nil {
		return err
	}
	now, err := a.store.Head(a.ctx, a.opt.Log)
	if err != nil {
		return fmt.Errorf("read the head of log %d: %w", a.opt.Log, err)
	}
	if extra && now.Size == head.Size {
		a.problem(head.Size, head.Size+1, "Record %s stands in the database, and the newest checkpoint was signed for %d records: the checkpoint is an older one.", a.id(head.Size), head.Size)
	}
	return nil
}

// SplitCheckpoints takes apart a file of signed checkpoints, one behind the
// other, as an Anchorer writes it. Paragraphs that nobody signed are passed over.
func SplitCheckpoints(file []byte) [][]byte {
	var out [][]byte
	var text, signed []byte
	for len(file) > 0 {
		line, rest, _ := bytes.Cut(file, []byte("\n"))
		file = rest
		switch {
		case bytes.HasPrefix(line, []byte("— ")) && len(text) > 0:
			if signed == nil {
				signed = append(bytes.Clone(text), '\n')
			}
			signed = append(append(signed, line...), '\n')
			continue
		case signed != nil:
			out = append(out, signed)
			text, signed = nil, nil
		}
		if len(line) > 0 {
			text = append(append(text, line...), '\n')
		} else if len(file) > 0 && !bytes.HasPrefix(file, []byte("— ")) {
			text = nil
		}
	}
	if signed != nil {
		out = append(out, signed)
	}
	return out
}
