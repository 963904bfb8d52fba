// Package ledger is the tamper-evident log of what was decided. Records go
// through one committer, which makes them durable in batches; over them stands
// a Merkle tree (RFC 6962), of which every batch signs a checkpoint. Who keeps
// a checkpoint notices any later change, removal or reordering.
//
// A record holds salted commitments to what was asked and answered. The
// openings (salts and bytes) lie beside the log, where they can expire or be
// erased without breaking a proof.
//
//	log, err := ledger.Open(ctx, ledger.Config{Store: store, Origin: "reeve.local", Seed: seed})
//	t, err := log.Enqueue(log.Generation(), &ledger.Entry{Record: record, Request: body})
//	pos, err := t.Wait(ctx) // nil: the record is durable, and stands at pos
//
// Paths, bundles, checkpoints and proofs are C2SP's tlog-tiles,
// tlog-checkpoint, signed-note and tlog-proof. docs/ledger-format.md describes
// every byte.
package ledger

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/task"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors of a Log, possibly wrapped.
var (
	// ErrLost: another write of the session came between. Nothing was
	// recorded; read the session again and judge again.
	ErrLost = errors.New("another step of the session was recorded first")
	// ErrStale: a commit failed since the generation was asked for, and what
	// was judged may rest on steps that were never recorded. Judge again.
	ErrStale = errors.New("an earlier write to the ledger failed")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("the ledger is closed")
)

// Config is what a Log is made of.
type Config struct {
	// Store keeps the log. Required; Close does not close it.
	Store Store
	// Origin names the node's logs in checkpoints and keys: log 0 of origin
	// "reeve.local" is "reeve.local/0". Required; no spaces and no plus signs.
	Origin string
	// Seed is the secret of 32 bytes that each log's signing key is derived
	// from. Required.
	Seed []byte
	// Owner tells the store who holds the log. No other node that lives may have the same:
	// each would take the log from the other. A later run may, where this one is certainly
	// over by then: it has the log at once. See datadir.Claim.
	Owner string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// OnCheckpoint is called by the committer with each signed checkpoint once
	// it is durable, before the entries' tickets are done. It must not block.
	// nil for none.
	OnCheckpoint func(log uint32, size uint64, note []byte)
	// OnTasks is called likewise with what a batch made of tasks. What it holds must
	// not be changed. nil for none.
	OnTasks func(w *task.Writes)
	// MaxBatch is how many entries one commit takes; 0 means 256.
	MaxBatch int
	// Logger is told when the ledger cannot be written, and when it can again;
	// nil means slog.Default.
	Logger *slog.Logger
	// NewKey has the log go on with this seed where it was signed with another's, which is
	// lost: see FormerPlace. Nothing that was signed before is proved by it.
	NewKey bool
}

// Bounds of what waits for the disk.
const (
	defaultBatch  = 256
	batchBytes    = 8 << 20  // a batch that has this many takes no more entries
	queueBytes    = 64 << 20 // Enqueue blocks beyond it
	queueBatches  = 16       // likewise, in full batches
	commitTimeout = 30 * time.Second
)

// Log is one log, opened for writing. It is safe for concurrent use.
type Log struct {
	cfg    Config
	lease  Lease
	former []byte // the checkpoint that another key signed, and that this log goes on from
	signer *signer

	generation atomic.Uint64 // changed with mu held
	failing    atomic.Pointer[error]
	done       chan struct{} // closed when the committer has ended

	mu      sync.Mutex
	work    sync.Cond     // the queue has grown, or the log was closed
	room    sync.Cond     // the queue has shrunk
	queue   []*group      // oldest first; the last one may still grow
	entries int           // in queue
	bytes   int           // in queue
	askers  int           // entries of the last batch, and those queued when it ended; see gather
	pace    time.Duration // how long commits have taken lately
	begun   time.Time     // when the present commit began; zero for none
	closed  bool
	stopped error // why the log takes nothing any more, for good

	indexer   indexer
	tail, own Tail
	committer committer // owned by the committer's goroutine
}

// group is the entries of one commit. Closing done wakes all who wait for them.
type group struct {
	tickets []*Ticket
	bytes   int
	done    chan struct{}
}

// Entry is one record with everything that becomes durable together with it.
// The byte slices belong to the log from Enqueue on: they must not change.
type Entry struct {
	// Record is what is recorded. Log, Index and Commitments are set by the
	// log; a zero Time means now.
	Record Record

	// The log commits to each of these with a salted HMAC of its own, and
	// keeps the bytes beside the record. nil means that there is none.
	Request, Modified, Principal, Reasons, Links []byte
	// KeepContent says that the bytes of Request and Modified are kept. When
	// false they are committed to all the same.
	KeepContent bool
	// Shared are the spans [start, end) of Request, in order, that are alike in
	// many requests, such as the agent's description: they are stored once.
	Shared [][2]int

	// Writes are what this entry writes under versioned keys. Of two with the same
	// key the last counts.
	Writes []*Write

	// Task is a change of tasks that becomes durable with the record, or by itself
	// when the entry is of no Record.Kind. When it does not apply, nothing of the
	// entry is recorded, and Wait returns task.ErrMoved or a *task.Error.
	Task *task.Change
}

// Write is what one entry writes under a versioned key: a session's memory, or an item.
type Write struct {
	Head *KeyHead
	Data []byte
	// Item is the item that is written; nil for a session. Its head is that of
	// its ItemKey.
	Item *Item
}

// KeyHead is where a key was last written. The committer moves it on with each
// write, so that queued writes of one key form a chain. After ErrLost, or when the
// generation has grown, it is of no more use.
type KeyHead struct {
	key   Key
	pos   act.Position
	known bool
	lost  bool

	// Of the batch numbered serial; owned by the committer.
	serial uint64
	claim  int  // place of the key's first claim
	placed bool // the batch holds a write, at next
	next   act.Position
}

// NewKeyHead returns the head of a key as Store.KeyHead told it: known is false
// when it was never written.
func NewKeyHead(key Key, pos act.Position, known bool) *KeyHead {
	return &KeyHead{key: key, pos: pos, known: known}
}

// At is where the key was last written; known is false when it never was. Nothing may be
// queued that writes it.
func (h *KeyHead) At() (pos act.Position, known bool) { return h.pos, h.known }

// Ticket stands for an entry that is queued.
type Ticket struct {
	done <-chan struct{}
	pos  act.Position // valid once done
	err  error        // likewise

	time    int64 // of the record, Unix microseconds
	buffer  *[]byte
	tail    []byte // the record from its kind on
	opening []byte
	facts   []byte
	terms   []byte // by which the index finds it: see appendTerms
	parts   []Part
	writes  []*Write
	change  *task.Change
	broken  bool // its change met rows that are damaged: it is left out of its batch
	bytes   int
}

// Wait returns the record's position once it is durable. ErrLost: judge again.
// After any other error it is not known to be durable, and whatever it allowed
// must not happen. When ctx ends first, the record may still come to be.
func (t *Ticket) Wait(ctx context.Context) (act.Position, error) {
	select {
	case <-t.done:
		return t.pos, t.err
	case <-ctx.Done():
		return act.Position{}, ctx.Err()
	}
}

// Open takes a log that no living node holds, makes sure that what is stored
// agrees with the checkpoint that was signed last, and starts its committer.
// What it looks at does not grow with the log: Verify looks at everything.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxBatch <= 0 {
		cfg.MaxBatch = defaultBatch
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.OnTasks == nil {
		cfg.OnTasks = func(*task.Writes) {}
	}
	if cfg.OnCheckpoint == nil {
		cfg.OnCheckpoint = func(uint32, uint64, []byte) {}
	}
	if err := CheckOrigin(cfg.Origin); err != nil {
		return nil, err
	}
	lease, err := cfg.Store.Acquire(ctx, cfg.Owner)
	if err != nil {
		return nil, fmt.Errorf("take a log: %w", err)
	}
	l := &Log{cfg: cfg, lease: lease, done: make(chan struct{})}
	l.work.L, l.room.L = &l.mu, &l.mu
	l.generation.Store(1)
	if l.signer, err = newSigner(cfg.Origin, cfg.Seed, lease.Log); err == nil {
		err = sameSeed(ctx, cfg)
	}
	switch {
	case cfg.NewKey && errors.Is(err, ErrOtherSeed):
		err = l.takeOver(ctx)
	case cfg.NewKey && err == nil:
		err = l.tookOver(ctx)
	}
	if err == nil {
		err = l.committer.start(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, cfg.Store.Release(ctx, lease))
	}
	l.startIndexer(context.WithoutCancel(ctx))
	go l.run()
	return l, nil
}

// ErrOtherSeed: the database's logs were signed with keys of another seed. Nodes that
// share a database share the seed.
var ErrOtherSeed = errors.New("the database's ledger was signed with keys of another seed, or under another origin: " +
	"give all nodes that share it the same seed (--ledger-seed file:PATH) and the same --ledger-origin")

// sameSeed looks whether a log that others began has keys of this node's seed.
func sameSeed(ctx context.Context, cfg Config) error {
	logs, err := cfg.Store.Logs(ctx)
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, log := range logs {
		head, err := cfg.Store.Head(ctx, log)
		if err != nil {
			return fmt.Errorf("read the head of log %d: %w", log, err)
		}
		if len(head.Checkpoint) == 0 {
			continue
		}
		signer, err := newSigner(cfg.Origin, cfg.Seed, log)
		if err != nil {
			return err
		}
		if _, err := signer.verifier.open(head.Checkpoint); err != nil {
			return fmt.Errorf("log %d: %w: %w", log, ErrOtherSeed, err)
		}
		return nil // one tells of all
	}
	return nil
}

// FormerPlace is the place of the checkpoint with which a log ended that was signed with
// another key: the log of this key begins with its records, and goes on from there.
const FormerPlace = "the log before, of another key"

// KindNewKey is the kind of the record that says so, among the first that the new key signs:
// what the place says can be written by whoever writes the database, and a record cannot.
const KindNewKey = "admin.restore.new_key"

// takeOver notes the checkpoint that another key signed, as the one that this log goes on
// from. That its root is the tree's is looked at by load; who signed it, nobody can here.
func (l *Log) takeOver(ctx context.Context) error {
	head, err := l.cfg.Store.Head(ctx, l.lease.Log)
	if err != nil {
		return err
	}
	cp, err := ParseCheckpoint(head.Checkpoint)
	if err != nil {
		return fmt.Errorf("log %d: the checkpoint in the database: %w", l.lease.Log, err)
	}
	if cp.Origin != l.signer.name {
		return fmt.Errorf("the log is of %s, and this node's would be %s: give it the same --ledger-origin", cp.Origin, l.signer.name)
	}
	l.former = head.Checkpoint
	return l.cfg.Store.PutAnchor(ctx, Anchor{Log: l.lease.Log, Size: cp.Size, Place: FormerPlace, At: l.cfg.Now(), Checkpoint: head.Checkpoint})
}

// tookOver finds the checkpoint that takeOver noted, where the node ended after its first
// records and before the one that says so.
func (l *Log) tookOver(ctx context.Context) error {
	head, err := l.cfg.Store.Head(ctx, l.lease.Log)
	if err != nil {
		return err
	}
	anchors, err := l.cfg.Store.Anchors(ctx, l.lease.Log)
	if err != nil {
		return err
	}
	for _, n := range anchors {
		if n.Place == FormerPlace && n.Size < head.Size && head.Size < n.Size+namedWithin {
			l.former = n.Checkpoint
		}
	}
	return nil
}

// opens reads the checkpoint that the log stands under: signed by its key or, until the
// first record with a new one, by the key before.
func (l *Log) opens(signed []byte) (Checkpoint, error) {
	if l.former != nil && bytes.Equal(signed, l.former) {
		return ParseCheckpoint(signed)
	}
	return l.signer.verifier.open(signed)
}

// Former is the checkpoint with which the log of another key ended that this one goes on
// from; nil where it does so no more, or never did.
func (l *Log) Former() []byte { return l.former }

// Lag is how long a record takes at present until it is durable: as commits have taken
// lately, or the one that is being made, if that takes longer.
func (l *Log) Lag() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.IsZero() {
		return l.pace
	}
	return max(l.pace, time.Since(l.begun))
}

// Tail wakes those who follow what is written, here and where somebody else wakes it for
// other logs.
func (l *Log) Tail() *Tail { return &l.tail }

// Written is closed when this log is written from now on.
func (l *Log) Written() <-chan struct{} { return l.own.Written() }

// Lease is the right by which the log is written.
func (l *Log) Lease() Lease { return l.lease }

// Number is the log's number.
func (l *Log) Number() uint32 { return l.lease.Log }

// Node names this holder of the log among all that ever were: the log and its epoch.
func (l *Log) Node() string { return l.lease.Node() }

// VerifierKey is the public key that checks the log's checkpoints, in the form
// of C2SP signed-note.
func (l *Log) VerifierKey() string { return l.signer.vkey }

// CheckpointAt signs a checkpoint of the log as it was when it had size records. What is
// stored of then must be the beginning of what the newest checkpoint covers.
func (l *Log) CheckpointAt(ctx context.Context, size uint64) ([]byte, error) {
	head, err := l.cfg.Store.Head(ctx, l.Number())
	if err != nil {
		return nil, fmt.Errorf("read the head of log %d: %w", l.Number(), err)
	}
	newest, err := l.signer.verifier.open(head.Checkpoint)
	if err != nil {
		return nil, fmt.Errorf("the newest checkpoint of log %d: %w", l.Number(), err)
	}
	if size == 0 || size > newest.Size {
		return nil, fmt.Errorf("log %d has %d records, and never had %d under a checkpoint", l.Number(), newest.Size, size)
	}
	tree := NewTree(l.cfg.Store, l.Number())
	root, err := tree.Root(ctx, size)
	if err != nil {
		return nil, fmt.Errorf("read the tree of log %d: %w", l.Number(), err)
	}
	if size == newest.Size {
		if root != newest.Root {
			return nil, fmt.Errorf("log %d does not agree with its newest checkpoint: run reeve ledger verify", l.Number())
		}
		return head.Checkpoint, nil
	}
	proof, err := tree.ProveTree(ctx, newest.Size, size)
	if err == nil {
		err = tlog.CheckTree(proof, int64(newest.Size), newest.Root, int64(size), root)
	}
	if err != nil {
		return nil, fmt.Errorf("log %d does not agree with its newest checkpoint, run reeve ledger verify: %w", l.Number(), err)
	}
	return l.signer.sign(size, root), nil
}

// Key derives a secret key of 32 bytes from the seed, for one use that is not the
// ledger's own. All nodes that share the database have the same.
func (l *Log) Key(use string) ([]byte, error) { return DeriveKey(l.cfg.Seed, use) }

// DeriveKey is Log.Key for who has the seed and not the log.
func DeriveKey(seed []byte, use string) ([]byte, error) {
	return hkdf.Key(sha256.New, seed, nil, "reeve key v1\n"+use, 32)
}

// Generation grows when a commit fails: everything enqueued before and not yet
// durable is gone then, and what rests on it must be judged again.
func (l *Log) Generation() uint64 { return l.generation.Load() }

// Err is why the last commit failed, or nil when it did not.
func (l *Log) Err() error {
	if p := l.failing.Load(); p != nil {
		return *p
	}
	return nil
}

// Try has a log whose last commit failed commit once more, with nothing in it, and returns
// Err. Without it a node whom nobody asks because its ledger failed would never learn that
// it can be written again. It writes nothing, so the caller makes sure first that the
// database can be written.
func (l *Log) Try(ctx context.Context) error {
	if l.Err() != nil {
		if t, err := l.enqueue(l.Generation(), &Ticket{buffer: new([]byte), bytes: 1024}); err == nil {
			_, _ = t.Wait(ctx) // Err tells, also of those that came to be in between
		}
	}
	return l.Err()
}

// Enqueue puts an entry in the queue. The order of the calls is the order in
// the log. It returns ErrStale when gen is not the current generation, and
// blocks while the queue is full.
func (l *Log) Enqueue(gen uint64, e *Entry) (*Ticket, error) {
	t, err := prepare(e, l.cfg.Now)
	if err != nil {
		return nil, err
	}
	return l.enqueue(gen, t)
}

// enqueue puts a ticket in the queue. See Enqueue.
func (l *Log) enqueue(gen uint64, t *Ticket) (_ *Ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stopped == nil && !l.closed && gen == l.generation.Load() &&
		(l.bytes >= queueBytes || l.entries >= queueBatches*l.cfg.MaxBatch) {
		l.room.Wait()
	}
	switch {
	case l.stopped != nil:
		err = l.stopped
	case l.closed:
		err = ErrClosed
	case gen != l.generation.Load():
		err = ErrStale
		if why := l.Err(); why != nil {
			err = fmt.Errorf("%w: %v", ErrStale, why)
		}
	}
	if err != nil {
		t.release()
		return nil, err
	}
	var g *group
	if n := len(l.queue); n > 0 && len(l.queue[n-1].tickets) < l.cfg.MaxBatch && l.queue[n-1].bytes < batchBytes {
		g = l.queue[n-1]
	} else {
		g = &group{done: make(chan struct{})}
		l.queue = append(l.queue, g)
	}
	t.done = g.done
	g.tickets = append(g.tickets, t)
	g.bytes += t.bytes
	l.entries++
	l.bytes += t.bytes
	l.work.Signal()
	return t, nil
}

// Close commits what is queued, and gives the log up.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.work.Broadcast()
	l.room.Broadcast()
	l.mu.Unlock()
	<-l.done
	if again {
		return nil
	}
	l.endIndexer()
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := l.cfg.Store.Release(ctx, l.lease); err != nil && !errors.Is(err, ErrFenced) {
		return fmt.Errorf("give up log %d: %w", l.lease.Log, err)
	}
	return nil
}

// run is the committer's goroutine. While one batch waits for the disk, the
// next gathers in the queue.
func (l *Log) run() {
	defer close(l.done)
	for {
		g := l.next()
		if g == nil {
			return
		}
		begin := time.Now()
		l.mu.Lock()
		l.begun = begin
		l.mu.Unlock()
		err := l.committer.commit(l, g)
		l.mu.Lock()
		l.begun = time.Time{}
		l.pace += (time.Since(begin) - l.pace) / 8
		l.askers = len(g.tickets) + l.entries
		l.mu.Unlock()
		if err != nil {
			l.fail(g, err)
		} else if l.failing.Load() != nil {
			l.failing.Store(nil)
			l.cfg.Logger.Info("the ledger can be written again", "log", l.lease.Log)
		}
		for _, t := range g.tickets {
			t.release()
		}
		close(g.done)
	}
}

// next takes the oldest group, waiting for one; nil when the log is closed and
// the queue is empty.
func (l *Log) next() *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 {
		if l.closed || l.stopped != nil {
			return nil
		}
		l.work.Wait()
	}
	l.gather()
	g := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.entries -= len(g.tickets)
	l.bytes -= g.bytes
	l.room.Broadcast()
	return g
}

// gatherStep is how often gather looks, and gatherLongest what it never exceeds.
const (
	gatherStep    = 40 * time.Microsecond
	gatherLongest = 2 * time.Millisecond
)

// gather is the group commit's delay: the callers that the last commit answered
// are about to queue their next entries, and a commit that begins with the first
// of them costs as much as one for all. It waits until the queue is as long as it
// was lately, and no longer than a commit takes; a single caller never waits.
// The caller has locked mu.
func (l *Log) gather() {
	begin, longest := time.Now(), min(l.pace, gatherLongest)
	for !l.closed && l.stopped == nil && len(l.queue) == 1 && len(l.queue[0].tickets) < l.askers && time.Since(begin) < longest {
		l.mu.Unlock()
		time.Sleep(gatherStep)
		l.mu.Lock()
	}
}

// fail ends the entries of a failed batch, and everything queued behind it,
// which may rest on it. The generation grows before anybody is told.
func (l *Log) fail(g *group, err error) {
	if l.failing.Load() == nil {
		l.cfg.Logger.Error("the ledger cannot be written: nothing is decided until it can", "log", l.lease.Log, "error", err)
	}
	l.failing.Store(&err)
	l.mu.Lock()
	queue := l.queue
	l.queue, l.entries, l.bytes = nil, 0, 0
	l.generation.Add(1)
	if errors.Is(err, ErrFenced) {
		l.stopped = err
	}
	l.room.Broadcast()
	l.mu.Unlock()
	for _, t := range g.tickets {
		t.pos, t.err = act.Position{}, err
	}
	for _, g := range queue {
		for _, t := range g.tickets {
			t.err = err
			t.release()
		}
		close(g.done)
	}
}

// committer is what the committer's goroutine knows. Everything in it is its
// own, and reused from batch to batch.
type committer struct {
	tip   tip  // of the last durable batch
	stale bool // a commit failed: tip is to be read again

	serial uint64
	keys   map[Key]*KeyHead // keys of this batch
	claims []Claim
	parts  map[[32]byte]time.Time // put at, by batches of this process
	fresh  [][32]byte             // parts that this batch puts

	gathers gathers
	sealer  *Sealer

	next    tip // after this batch
	batch   Batch
	arena   []byte // the records, each behind a zero byte
	offsets []int
	lost    []bool     // by claim
	load    *task.Load // what the batch's changes look at; nil when there are none
}

// tip is the log's right edge.
type tip struct {
	frontier
	time int64 // of the newest record, Unix microseconds
}

// maxParts bounds the memory for the parts put lately.
const maxParts = 4096

func (c *committer) start(ctx context.Context, l *Log) (err error) {
	c.keys = map[Key]*KeyHead{}
	c.parts = map[[32]byte]time.Time{}
	if c.sealer, err = l.Sealer(); err != nil {
		return err
	}
	c.tip, err = load(ctx, l.cfg.Store, l.lease.Log, l.opens)
	return err
}

// commit makes one group durable. After an error nothing of it may be relied
// on; what the store then holds decides how the log goes on.
func (c *committer) commit(l *Log, g *group) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if c.stale {
		if err := c.recover(ctx, l); err != nil {
			return err
		}
	}
	c.claim(g)
	c.gathers.before(ctx, l, c.tip.size, len(g.tickets))
	err := l.cfg.Store.Commit(ctx, l.lease, c.claims, c.load, func(f Found) (*Batch, error) { return c.build(l, g, f) })
	if err != nil {
		c.stale = true
		c.gathers.now = nil
		clear(c.parts)
		if errors.Is(err, ErrFenced) {
			return fmt.Errorf("log %d stops for good: %w", l.lease.Log, err)
		}
		return fmt.Errorf("the record could not be made durable: %w", err)
	}
	for _, t := range g.tickets {
		if t.err != nil {
			continue
		}
		for _, w := range t.writes {
			w.Head.pos, w.Head.known = w.Head.next, true
		}
		if t.tail != nil {
			c.gathers.add(l, t)
		}
	}
	if c.next.size > c.tip.size {
		l.sealed(c.tip.size, c.next.size)
		c.tip = c.next
		l.cfg.OnCheckpoint(l.lease.Log, c.tip.size, c.batch.Checkpoint)
		l.own.Wake()
		l.tail.Wake()
	}
	if c.batch.Tasks != nil {
		l.cfg.OnTasks(c.batch.Tasks)
		c.batch.Tasks = nil
	}
	return nil
}

// recover reads the right edge again after a failed commit. The batch may have
// become durable all the same: its records then stay, unanswered.
func (c *committer) recover(ctx context.Context, l *Log) error {
	now, err := load(ctx, l.cfg.Store, l.lease.Log, l.opens)
	if err != nil {
		return err
	}
	if now.size < c.tip.size || now.size == c.tip.size && now.root() != c.tip.root() {
		return fmt.Errorf("log %d has lost records that were durable: it held %d, and now holds %d", l.lease.Log, c.tip.size, now.size)
	}
	now.time = max(now.time, c.tip.time)
	c.tip, c.stale = now, false
	return nil
}

// claim gathers the first claim of each key in the group: those that the store
// must compare with the keys' heads. Later ones follow within.
func (c *committer) claim(g *group) {
	c.serial++
	clear(c.keys)
	clear(c.claims)
	c.claims, c.load = c.claims[:0], nil
	for _, t := range g.tickets {
		if t.change != nil {
			if c.load == nil {
				c.load = &task.Load{}
			}
			t.change.Needs(c.load)
		}
		for _, w := range t.writes {
			h := w.Head
			if h.lost || h.serial == c.serial {
				continue
			}
			if c.keys[h.key] != nil {
				h.lost = true // two who each read the key: the first one wins
				continue
			}
			c.keys[h.key] = h
			h.serial, h.claim = c.serial, len(c.claims)
			c.claims = append(c.claims, Claim{Key: h.key, Prev: h.pos, First: !h.known, Data: w.Data})
		}
	}
}

// build makes the batch of all entries whose claims have not lost.
func (c *committer) build(l *Log, g *group, found Found) (*Batch, error) {
	for _, hash := range c.fresh {
		delete(c.parts, hash)
	}
	c.fresh = c.fresh[:0]
	c.lost = append(c.lost[:0], make([]bool, len(c.claims))...)
	for _, i := range found.Lost {
		c.lost[i] = true
	}
	for _, h := range c.keys {
		h.placed = false
	}
	c.next = c.tip
	b := &c.batch
	clear(b.Openings)
	clear(b.Facts)
	clear(b.Parts)
	clear(b.Claims)
	clear(b.Items)
	*b = Batch{
		First: c.tip.size, At: time.UnixMicro(max(l.cfg.Now().UnixMicro(), c.tip.time)).UTC(),
		Records: b.Records[:0], Leaves: b.Leaves[:0], Openings: b.Openings[:0], Facts: b.Facts[:0], Parts: b.Parts[:0],
		Claims: b.Claims[:0], Items: b.Items[:0], Nodes: b.Nodes[:0],
	}
	c.arena, c.offsets = c.arena[:0], c.offsets[:0]
	var book *task.Book
	if c.load != nil {
		book = task.NewBook(found.Tasks, *c.load, found.More)
	}
	for _, t := range g.tickets {
		if t.pos = (act.Position{}); t.broken {
			continue
		}
		t.err = nil
		if c.loses(t) {
			t.err = ErrLost
			continue
		}
		pos := act.Position{Log: l.lease.Log, Index: c.next.size}
		if t.change != nil {
			refused, err := apply(book, t, pos)
			if t.broken {
				// The book is of no more use, and what was loaded was changed: all
				// others begin again without this entry.
				if found.Tasks, err = found.More(*c.load); err != nil {
					return nil, err
				}
				return c.build(l, g, found)
			}
			if err != nil {
				return nil, err
			} else if refused {
				continue
			}
		}
		if t.tail != nil {
			t.pos = pos
			c.add(t)
		}
	}
	if book != nil {
		if w := book.Writes(); !w.Empty() {
			b.Tasks = w
		}
	}
	if c.next.size == c.tip.size {
		if b.Tasks == nil {
			return nil, nil
		}
		return b, nil
	}
	for i, from := range c.offsets {
		to := len(c.arena)
		if i+1 < len(c.offsets) {
			to = c.offsets[i+1]
		}
		b.Records = append(b.Records, c.arena[from+1:to:to])
	}
	b.Checkpoint = l.signer.sign(c.next.size, c.next.root())
	return b, nil
}

// apply makes an entry's change of tasks. When it does not apply, the entry loses,
// and so does what rests on its writes.
func apply(book *task.Book, t *Ticket, pos act.Position) (refused bool, err error) {
	decision := ""
	if t.tail != nil {
		decision = pos.String()
	}
	err = book.Apply(t.change, decision)
	var wrong *task.Error
	t.broken = errors.Is(err, task.ErrBroken)
	if err == nil || !t.broken && !errors.Is(err, task.ErrMoved) && !errors.As(err, &wrong) {
		return false, err
	}
	t.err = err
	for _, w := range t.writes {
		w.Head.lost = true
	}
	return true, nil
}

// loses says whether an entry loses: any of its claims lost, or follows one
// that did. Whatever rests on its other claims loses with it.
func (c *committer) loses(t *Ticket) bool {
	lost := false
	for _, w := range t.writes {
		if h := w.Head; h.lost || h.serial != c.serial || c.lost[h.claim] {
			lost = true
		}
	}
	if lost {
		for _, w := range t.writes {
			w.Head.lost = true
		}
	}
	return lost
}

// add puts an entry at the end of the batch.
func (c *committer) add(t *Ticket) {
	b, place := &c.batch, len(c.offsets)
	c.next.time = max(c.next.time, t.time)
	from := len(c.arena)
	c.offsets = append(c.offsets, from)
	c.arena = append(c.arena, 0) // RFC 6962: a leaf is hashed behind a zero byte
	c.arena = appendRecordHead(c.arena, t.pos, c.next.time)
	c.arena = append(c.arena, t.tail...)
	leaf := hashLeaf(c.arena[from:])
	b.Leaves = append(b.Leaves, leaf)
	b.Nodes = c.next.add(leaf, b.Nodes)
	b.Openings = append(b.Openings, t.opening)
	b.Facts = append(b.Facts, t.facts)
	for _, p := range t.parts {
		at, ok := c.parts[p.Hash]
		if ok && b.At.Sub(at) < PartWindow/2 {
			continue
		}
		if len(c.parts) >= maxParts {
			clear(c.parts)
			c.fresh = c.fresh[:0]
		}
		c.parts[p.Hash] = b.At
		c.fresh = append(c.fresh, p.Hash)
		b.Parts = append(b.Parts, p)
	}
	for _, w := range t.writes {
		h := w.Head
		claim := Claim{Key: h.key, Prev: h.pos, First: !h.known, Data: w.Data}
		if h.placed {
			claim.Prev, claim.First = h.next, false
		}
		if claim.First {
			claim.Prev = act.Position{}
		}
		b.Claims = append(b.Claims, BatchClaim{Entry: place, Claim: claim})
		if w.Item != nil {
			item := *w.Item
			item.Version = t.pos
			item.Seal = c.sealer.Item(&item)
			b.Items = append(b.Items, BatchItem{Entry: place, Item: item})
		}
		h.placed, h.next = true, t.pos
	}
}

// load reads a log's right edge from the store and checks it: the checkpoint
// is signed by us and fits the stored hashes, and these fit the last records.
func load(ctx context.Context, store Reader, log uint32, open func(signed []byte) (Checkpoint, error)) (tip, error) {
	var t tip
	head, err := store.Head(ctx, log)
	if err != nil {
		return t, fmt.Errorf("read the head of log %d: %w", log, err)
	}
	if head.Size == 0 {
		if len(head.Checkpoint) > 0 {
			return t, fmt.Errorf("log %d is damaged: it has a checkpoint and no records", log)
		}
		return t, nil
	}
	cp, err := open(head.Checkpoint)
	if err != nil {
		return t, fmt.Errorf("log %d: the checkpoint in the database cannot be trusted: %w", log, err)
	}
	if cp.Size != head.Size {
		return t, fmt.Errorf("log %d is damaged: its checkpoint is of %d records, the database says %d", log, cp.Size, head.Size)
	}
	if t.frontier, err = readFrontier(ctx, store, log, head.Size); err != nil {
		return t, fmt.Errorf("log %d: read the tree: %w", log, err)
	}
	if t.root() != cp.Root {
		return t, fmt.Errorf("log %d is damaged: its hashes do not give the root that was signed; run reeve ledger verify", log)
	}
	from := max((head.Size-1)/256*256, head.Pruned)
	if from >= head.Size {
		return t, nil
	}
	leaves, err := store.Nodes(ctx, log, 0, from, head.Size)
	if err != nil {
		return t, fmt.Errorf("log %d: read the last records' hashes: %w", log, err)
	}
	if len(leaves) == 256 {
		nodes, err := store.Nodes(ctx, log, 1, from/256, from/256+1)
		if err != nil {
			return t, fmt.Errorf("log %d: read the tree: %w", log, err)
		}
		if rootOf(leaves) != nodes[0] {
			return t, fmt.Errorf("log %d is damaged: the hashes of records %d to %d do not fit the tree; run reeve ledger verify", log, from, head.Size-1)
		}
	}
	next := from
	err = store.Records(ctx, log, from, head.Size, func(index uint64, data []byte) error {
		r, err := ParseRecord(data)
		if err == nil && (index != next || r.Log != log || r.Index != index) {
			err = fmt.Errorf("it says that it is %s", act.Position{Log: r.Log, Index: r.Index})
		}
		if err == nil && tlog.RecordHash(data) != leaves[index-from] {
			err = errors.New("it does not fit its hash")
		}
		if err != nil {
			return fmt.Errorf("log %d is damaged at record %d: %w; run reeve ledger verify", log, index, err)
		}
		t.time = r.Time.UnixMicro()
		next++
		return nil
	})
	if err == nil && next != head.Size {
		err = fmt.Errorf("log %d is damaged: record %d is missing; run reeve ledger verify", log, next)
	}
	return t, err
}
