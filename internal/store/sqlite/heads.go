package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

// heads knows where each session was last written. Sessions' keys are random,
// and nearly every decision writes one: a row for each would dirty a page of
// its own in every commit. So the newest heads are in memory only, and after a
// crash they are read again from the claims of the batches. When there are
// many, they are merged in the background into runs: arrays sorted by key, one
// for each level, each level many times larger than the one before. A level is
// rewritten only when all before it are full, which makes a head's share of the
// writing small however many sessions there are.
//
// A run is cut into blocks by the keys' first bits, so that a head is found
// with one read by number. A filter in memory tells, without any read, that a
// session was never written. It is read once some sessions were looked for in the
// runs: a program that decides once and ends has no use for it. When it fills up, at
// some ten million sessions, it answers less often, and no more than that is lost.
//
// A head that is not found says that a session is new, and a new session remembers
// nothing that it did. So what is damaged here must never read as "not found": blocks
// and filter carry a sum. Once it is noticed, the next start makes all of it again from
// the batches (repair.go).
type heads struct {
	kick     chan struct{} // wakes who merges
	flushing sync.Mutex    // held while runs are being merged
	steps    turns         // of merges: over when some more is written, or the merge has ended

	mu     sync.RWMutex // guards what follows; read-locked while runs are read
	upto   uint64       // the claims of all records below are in here
	inRuns uint64       // the claims of all records below are in the runs
	dirty  map[ledger.Key]uint64
	since  int // batches whose claims are in dirty
	runs   [headLevels]run
	failed error       // why the last merge failed, if it did
	gone   bool        // heads of records that were pruned were lost: who is not found may have been there
	hurt   atomic.Bool // something here was found to be damaged

	// filter knows every key in the runs, in frozen and in dirty; nil until it is read.
	filter  []byte
	changed [filterParts]bool // the parts of it that are not written as they are
	looked  atomic.Int64      // how many keys were looked for in the runs, without a filter

	// What is being merged; nil when nothing is. Changed with flushing held, too.
	frozen     map[ledger.Key]uint64
	frozenUpto uint64
	toMerge    int64 // how many entries the merge writes at most
	didMerge   int64 // and has written
}

// run is one sorted array of heads. A run of no entries is none.
type run struct {
	id    int64
	count int64
	depth uint // how many bits of a key number its block
}

const (
	headLevels  = 8
	levelZero   = 1 << 16 // entries at level 0; each level has levelFactor times more
	levelFactor = 8
	blockTarget = 128
	// Memory and the time to start after a crash are bounded by how much is
	// not in the runs yet.
	maxDirty    = 1 << 15
	maxSince    = 4096
	softDirty   = 1 << 17 // from here on heads come no faster than a merge goes on
	hardDirty   = 1 << 19 // no more is taken: a merge has ended before, or fails
	filterBytes = 4 << 20
	filterParts = 16
	chunkBlocks = 48 // blocks that one transaction writes: about 5 ms
	filterAfter = 32 // keys looked for in the runs before the filter is read
	// closeSince is from how many batches on Close merges, so that the next start has few to read.
	closeSince = 256
)

// load reads which runs there are, and the claims that are not in them.
func (h *heads) load(c *sqlite.Conn) error {
	h.dirty = map[ledger.Key]uint64{}
	err := query(c, `SELECT heads_upto FROM head`, func(stmt *sqlite.Stmt) error {
		h.inRuns = uint64(stmt.ColumnInt64(0))
		h.upto = h.inRuns
		return nil
	})
	if err != nil {
		return err
	}
	err = query(c, `SELECT level, run, count, depth FROM head_run`, func(stmt *sqlite.Stmt) error {
		level := stmt.ColumnInt64(0)
		if level < 0 || level >= headLevels || stmt.ColumnInt64(3) > 32 {
			return fmt.Errorf("%w: there is no level %d of session heads", layout.ErrDamaged, level)
		}
		h.runs[level] = run{stmt.ColumnInt64(1), stmt.ColumnInt64(2), uint(stmt.ColumnInt64(3))}
		return nil
	})
	if err != nil {
		return err
	}
	if err := h.loadMarks(c); err != nil {
		return err
	}
	size, err := headSize(c)
	if err != nil {
		return err
	}
	return h.catchUp(c, size)
}

// readFilter reads the filter, if that was not done yet.
func (h *heads) readFilter(c *sqlite.Conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.filter != nil {
		return nil
	}
	filter, whole, err := filterOf(c)
	if err != nil {
		return err
	}
	if !whole && h.runs != [headLevels]run{} {
		return errFilter
	}
	h.filter = filter
	for i := range h.changed {
		h.changed[i] = !whole // then all of them are written: one that is missing is damaged
	}
	for _, known := range []map[ledger.Key]uint64{h.frozen, h.dirty} {
		for key := range known {
			h.note(key)
		}
	}
	return nil
}

func headSize(c *sqlite.Conn) (size uint64, err error) {
	err = query(c, `SELECT size FROM head`, func(stmt *sqlite.Stmt) error {
		size = uint64(stmt.ColumnInt64(0))
		return nil
	})
	return size, err
}

// catchUp takes in the claims of the records below size that are not known:
// after a start, or after a commit that was reported as failed and was not.
func (h *heads) catchUp(c *sqlite.Conn, size uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if size < h.upto {
		return fmt.Errorf("%w: the log has shrunk from %d to %d records", layout.ErrDamaged, h.upto, size)
	}
	for h.upto < size {
		stmt, err := prepare(c, `SELECT first, count, claims FROM batch WHERE first >= ? ORDER BY first LIMIT 64`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, int64(h.upto))
		n := 0
		err = rows(stmt, func(stmt *sqlite.Stmt) error {
			b, err := readBatch(stmt)
			if err != nil {
				return err
			}
			n++
			h.since++
			h.upto = b.End()
			return layout.Claims(b.Data, b.Count, func(c *ledger.BatchClaim) error {
				h.put(c.Key, b.First+uint64(c.Entry))
				return nil
			})
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: the records from %d are missing", layout.ErrDamaged, h.upto)
		}
	}
	return nil
}

// add takes in the claims of a batch that is now durable, and reports whether
// it is time to merge.
func (h *heads) add(b *ledger.Batch) (full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range b.Claims {
		h.put(b.Claims[i].Key, b.First+uint64(b.Claims[i].Entry))
	}
	h.upto = b.First + uint64(len(b.Records))
	h.since++
	return h.full()
}

// merged is the size of the log below which every claim is in the runs.
func (h *heads) merged() uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.inRuns
}

// unmerged is how many batches have claims that are not in the runs.
func (h *heads) unmerged() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.since
}

func (h *heads) full() bool { return len(h.dirty) >= maxDirty || h.since >= maxSince }

func (h *heads) isFull() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.full()
}

// wake has the heads merged if there are many.
func (h *heads) wake() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// behind says whether more heads are in memory than may be: as many more than softDirty as
// the merge that is under way has written of what it has to, up to hardDirty when it ends.
// While merges fail they may come to hardDirty at once, and then err says why they fail.
func (h *heads) behind() (behind bool, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	most := float64(hardDirty)
	if h.failed == nil {
		most = softDirty + (hardDirty-softDirty)*float64(h.didMerge)/float64(max(h.toMerge, 1))
	}
	if float64(len(h.dirty)) < most {
		return false, nil
	}
	if h.failed != nil {
		err = fmt.Errorf("the sessions' heads cannot be written: %w", h.failed)
	}
	return true, err
}

// awaitMerge waits while more heads are in memory than may be.
func (s *Store) awaitMerge(ctx context.Context) error {
	for {
		step := s.heads.steps.next()
		behind, err := s.heads.behind()
		if err != nil || !behind {
			return err
		}
		s.heads.wake()
		select {
		case <-step:
		case <-s.stop:
			return errClosed
		case <-ctx.Done():
			return fmt.Errorf("the sessions' heads are not written as fast as they come: %w", ctx.Err())
		}
	}
}

func (h *heads) put(key ledger.Key, index uint64) {
	h.dirty[key] = index
	if h.filter != nil {
		h.note(key)
	}
}

// note has the filter know a key.
func (h *heads) note(key ledger.Key) {
	for i := 0; i < len(key); i += 4 {
		bit := binary.LittleEndian.Uint32(key[i:]) % (filterBytes * 8)
		if at, mask := bit/8, byte(1)<<(bit%8); h.filter[at]&mask == 0 {
			h.filter[at] |= mask
			h.changed[at/(filterBytes/filterParts)] = true
		}
	}
}

// never reports whether the session was surely never written.
func (h *heads) never(key ledger.Key) bool {
	for i := 0; i < len(key); i += 4 {
		bit := binary.LittleEndian.Uint32(key[i:]) % (filterBytes * 8)
		if h.filter[bit/8]&(1<<(bit%8)) == 0 {
			return true
		}
	}
	return false
}

// find returns the index of the record that last wrote the session.
func (h *heads) find(c *sqlite.Conn, key ledger.Key) (index uint64, ok bool, err error) {
	defer func() {
		if err != nil && errors.Is(err, layout.ErrDamaged) && err != errGone {
			h.hurt.Store(true)
		}
	}()
	if h.gone || h.looked.Load() >= filterAfter {
		if err := h.readFilter(c); err != nil {
			return 0, false, err
		}
		h.looked.Store(0)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if index, ok := h.dirty[key]; ok {
		return index, true, nil
	}
	if index, ok := h.frozen[key]; ok {
		return index, true, nil
	}
	if h.filter != nil && h.never(key) {
		return 0, false, nil
	}
	for _, r := range h.runs {
		if r.count == 0 {
			continue
		}
		if h.filter == nil {
			h.looked.Add(1)
		}
		if index, ok, err := r.find(c, key); ok || err != nil {
			return index, ok, err
		}
	}
	if h.gone {
		return 0, false, errGone
	}
	return 0, false, nil
}

// block returns the number of the key's block.
func (r run) block(key []byte) int64 {
	return r.id<<32 | int64(uint64(binary.BigEndian.Uint32(key))>>(32-r.depth))
}

func (r run) find(c *sqlite.Conn, key ledger.Key) (index uint64, ok bool, err error) {
	stmt, err := prepare(c, `SELECT data FROM head_block WHERE id = ?`)
	if err != nil {
		return 0, false, err
	}
	stmt.BindInt64(1, r.block(key[:]))
	there := false
	err = rows(stmt, func(stmt *sqlite.Stmt) error {
		there = true
		data, err := r.open(r.block(key[:]), column(stmt, 0, nil))
		if err != nil {
			return err
		}
		lo, hi := 0, len(data)/len(entry{})
		for lo < hi {
			mid := (lo + hi) / 2
			at := data[mid*len(entry{}):]
			switch bytes.Compare(at[:keySize], key[:]) {
			case -1:
				lo = mid + 1
			case 1:
				hi = mid
			default:
				index, ok = binary.LittleEndian.Uint64(at[keySize:]), true
				return nil
			}
		}
		return nil
	})
	if err == nil && !there {
		err = errBlock
	}
	return index, ok, err
}

// seal appends the sum of a block's entries, or of a part of the filter; open checks that of
// a block, and that the entries are those of this block in their order. What older programs
// wrote has no sum.
func seal(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, sums))
}

var sums = crc32.MakeTable(crc32.Castagnoli)

func (r run) open(id int64, data []byte) ([]byte, error) {
	switch n := len(data) - 4; {
	case len(data) == 0:
		return nil, errBlock
	case len(data)%len(entry{}) == 0:
	case len(data)%len(entry{}) != 4 || binary.LittleEndian.Uint32(data[n:]) != crc32.Checksum(data[:n], sums):
		return nil, errBlock
	default:
		data = data[:n]
	}
	var last []byte
	for at := 0; at < len(data); at += len(entry{}) {
		key := data[at : at+keySize]
		if r.block(key) != id || bytes.Compare(last, key) >= 0 {
			return nil, errBlock
		}
		last = key
	}
	return data, nil
}

// flushHeads merges the heads in memory into the runs. Commits and reads go on
// meanwhile. After an error the same heads are merged the next time.
func (s *Store) flushHeads() error {
	h := &s.heads
	h.flushing.Lock()
	defer h.flushing.Unlock()

	err := s.read(context.Background(), h.readFilter)
	if err != nil {
		return fmt.Errorf("read the filter of sessions: %w", err)
	}
	h.mu.Lock()
	if h.frozen == nil {
		h.frozen, h.frozenUpto = h.dirty, h.upto
		h.dirty, h.since = map[ledger.Key]uint64{}, 0
	}
	h.mu.Unlock()
	h.steps.over()

	level, merged, err := s.merge(h.frozen, h.runs)
	if err == nil {
		err = s.write(func(c *sqlite.Conn) error {
			return errors.Join(
				execute(c, `DELETE FROM head_run WHERE level <= ?`, int64(level)),
				execute(c, `INSERT INTO head_run (level, run, count, depth) VALUES (?, ?, ?, ?)`,
					int64(level), merged.id, merged.count, int64(merged.depth)),
				execute(c, `UPDATE head SET heads_upto = ?`, int64(h.frozenUpto)))
		})
	}
	if errors.Is(err, layout.ErrDamaged) {
		h.hurt.Store(true)
	}
	h.mu.Lock()
	if h.failed = err; err == nil {
		clear(h.runs[:level])
		h.runs[level], h.frozen = merged, nil
		h.inRuns = h.frozenUpto
	}
	h.didMerge = h.toMerge // hardDirty may wait while what was merged is removed, until the next one begins
	h.mu.Unlock()
	h.steps.over()
	if err != nil {
		return fmt.Errorf("write the sessions' heads: %w", err)
	}
	return s.dropRuns()
}

// merge writes a new run: these heads and the runs of all levels up to the
// first that has room for them all. Nothing refers to it yet.
func (s *Store) merge(heads map[ledger.Key]uint64, runs [headLevels]run) (level int, merged run, err error) {
	newest := make([]entry, 0, len(heads))
	for key, index := range heads {
		newest = append(newest, newEntry(key, index))
	}
	slices.SortFunc(newest, entry.compare)
	sources := []*source{{entries: newest}}
	total := int64(len(heads))
	for room := int64(levelZero); ; room *= levelFactor {
		if r := runs[level]; r.count > 0 {
			total += r.count
			sources = append(sources, &source{store: s, run: r, next: r.id << 32, end: (r.id + 1) << 32})
		}
		if total <= room || level == headLevels-1 {
			break
		}
		level++
	}
	for total>>merged.depth > 2*blockTarget && merged.depth < 32 {
		merged.depth++
	}
	s.heads.merging(total, 0)
	if err := s.writeFilter(); err != nil {
		return 0, run{}, err
	}
	if merged.id, err = s.newRun(); err != nil {
		return 0, run{}, err
	}
	// Every block is written, also one in which no key falls: one that is missing is damaged.
	w := blockWriter{store: s, next: merged.id << 32, total: total}
	for {
		// The smallest key, from the newest source that has it.
		var least *source
		for _, src := range sources {
			if err := src.fill(); err != nil {
				return 0, run{}, err
			}
			if len(src.entries) == 0 {
				continue
			}
			order := -1
			if least != nil {
				order = src.entries[0].compare(least.entries[0])
			}
			switch order {
			case -1:
				least = src
			case 0:
				src.entries = src.entries[1:] // an older head of the same session
			}
		}
		if least == nil {
			if err := w.upTo(merged.id<<32 + 1<<merged.depth); err != nil {
				return 0, run{}, err
			}
			return level, merged, w.flush()
		}
		e := &least.entries[0]
		if err := w.add(merged.block(e[:]), e); err != nil {
			return 0, run{}, err
		}
		least.entries = least.entries[1:]
		merged.count++
	}
}

// merging notes how far a merge has come, of how many entries in all.
func (h *heads) merging(total, done int64) {
	h.mu.Lock()
	h.toMerge, h.didMerge = total, done
	h.mu.Unlock()
	h.steps.over()
}

// writeFilter writes the parts of the filter that have changed. It may know more than the
// runs, and must not know less.
func (s *Store) writeFilter() error {
	h := &s.heads
	for i := range int64(filterParts) {
		h.mu.Lock()
		changed := h.changed[i]
		var part []byte
		if changed {
			part = slices.Clone(h.filter[i*filterBytes/filterParts : (i+1)*filterBytes/filterParts])
		}
		h.changed[i] = false
		h.mu.Unlock()
		if !changed {
			continue
		}
		err := s.write(func(c *sqlite.Conn) error {
			return execute(c, `REPLACE INTO head_filter (part, data) VALUES (?, ?)`, i, seal(part))
		})
		if err != nil {
			h.mu.Lock()
			h.changed[i] = true
			h.mu.Unlock()
			return err
		}
	}
	return nil
}

// entry is a head as it lies in a run: the key, then the index.
type entry [keySize + 8]byte

const keySize = len(ledger.Key{})

func newEntry(key ledger.Key, index uint64) (e entry) {
	copy(e[:], key[:])
	binary.LittleEndian.PutUint64(e[keySize:], index)
	return e
}

func (e entry) compare(other entry) int { return bytes.Compare(e[:keySize], other[:keySize]) }

// source yields sorted entries: some in memory, or else those of a run's
// blocks from number next to end.
type source struct {
	entries   []entry
	store     *Store
	run       run
	next, end int64
}

// fill reads on when no entries are left. None are left after it at the end.
func (src *source) fill() error {
	for len(src.entries) == 0 && src.next < src.end {
		err := src.store.read(context.Background(), func(c *sqlite.Conn) error {
			stmt, err := prepare(c, `SELECT id, data FROM head_block WHERE id >= ? AND id < ? ORDER BY id LIMIT 64`)
			if err != nil {
				return err
			}
			stmt.BindInt64(1, src.next)
			stmt.BindInt64(2, src.end)
			src.next = src.end
			src.entries = make([]entry, 0, 96*blockTarget)
			var data []byte
			n := 0
			return rows(stmt, func(stmt *sqlite.Stmt) error {
				if n++; n == 64 {
					src.next = stmt.ColumnInt64(0) + 1
				}
				data = column(stmt, 1, data)
				entries, err := src.run.open(stmt.ColumnInt64(0), data)
				if err != nil {
					return err
				}
				for part := range slices.Chunk(entries, len(entry{})) {
					src.entries = append(src.entries, entry(part))
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// blockWriter writes entries in blocks, a few blocks in each transaction.
type blockWriter struct {
	store *Store
	next  int64 // the block that is begun next
	ids   []int64
	ends  []int // where each block ends in data
	data  []byte
	total int64 // entries, at most
	done  int64 // entries written
}

func (w *blockWriter) add(id int64, e *entry) error {
	if err := w.upTo(id + 1); err != nil {
		return err
	}
	w.data = append(w.data, e[:]...)
	w.ends[len(w.ends)-1] = len(w.data)
	return nil
}

// upTo begins the blocks below id that have not begun. What was flushed has ended: keys come
// in their order.
func (w *blockWriter) upTo(id int64) error {
	for ; w.next < id; w.next++ {
		if len(w.ids) == chunkBlocks {
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.ids = append(w.ids, w.next)
		w.ends = append(w.ends, len(w.data))
	}
	return nil
}

func (w *blockWriter) flush() error {
	if err := w.store.awaitCopy(context.Background()); err != nil {
		return err
	}
	err := w.store.write(func(c *sqlite.Conn) error {
		start := 0
		for i, id := range w.ids {
			if err := execute(c, `INSERT INTO head_block (id, data) VALUES (?, ?)`, id, seal(w.data[start:w.ends[i]:w.ends[i]])); err != nil {
				return err
			}
			start = w.ends[i]
		}
		return nil
	})
	if err == nil {
		w.done += int64(len(w.data) / len(entry{}))
		w.store.heads.merging(w.total, w.done)
		w.store.wrote(int64(len(w.data)))
	}
	w.ids, w.ends, w.data = w.ids[:0], w.ends[:0], w.data[:0]
	return err
}

// newRun returns a number that no run has, not even an abandoned one.
func (s *Store) newRun() (id int64, err error) {
	err = s.read(context.Background(), func(c *sqlite.Conn) error {
		return query(c, `SELECT max(coalesce((SELECT max(run) FROM head_run), 0), coalesce((SELECT max(id) >> 32 FROM head_block), 0)) + 1`,
			func(stmt *sqlite.Stmt) error { id = stmt.ColumnInt64(0); return nil })
	})
	return id, err
}

// dropRuns removes the blocks of runs that nothing refers to: those that were
// merged into others, and those that a crash left unfinished.
func (s *Store) dropRuns() error {
	s.heads.mu.RLock()
	runs := s.heads.runs
	s.heads.mu.RUnlock()
	for next := int64(0); ; {
		first := int64(-1)
		err := s.read(context.Background(), func(c *sqlite.Conn) error {
			return query(c, `SELECT id FROM head_block WHERE id >= ? ORDER BY id LIMIT 1`,
				func(stmt *sqlite.Stmt) error { first = stmt.ColumnInt64(0); return nil }, next)
		})
		if err != nil || first < 0 {
			return err
		}
		id := first >> 32
		next = (id + 1) << 32
		if slices.ContainsFunc(runs[:], func(r run) bool { return r.count > 0 && r.id == id }) {
			continue
		}
		for removed := chunkBlocks; removed > 0; {
			err := s.write(func(c *sqlite.Conn) error {
				err := execute(c, `DELETE FROM head_block WHERE id IN (SELECT id FROM head_block WHERE id >= ? AND id < ? LIMIT ? + 0)`,
					first, next, int64(chunkBlocks))
				removed = c.Changes()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
}
