package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/task"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors that a Store returns, possibly wrapped.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrFenced: another node has taken over the log. The node must stop writing.
	ErrFenced = errors.New("another node has taken over this log")
	// ErrNewerSchema: the database was written by a newer reeve.
	ErrNewerSchema = errors.New("the database was written by a newer version of reeve")
	// ErrInUse: another process has the database.
	ErrInUse = errors.New("another reeve is using this database")
)

// Reader reads logs and what lies beside them. Methods are safe for concurrent use.
type Reader interface {
	// Head returns a log's newest committed size and signed checkpoint.
	Head(ctx context.Context, log uint32) (Head, error)
	// Logs lists the numbers of all logs.
	Logs(ctx context.Context) ([]uint32, error)
	// Records calls f with the records from index from (inclusive) to to
	// (exclusive), in order, until f returns an error, which Records returns.
	// Records that have been pruned are skipped: the first call may be for a
	// larger index than from. f must not keep record.
	Records(ctx context.Context, log uint32, from, to uint64, f func(index uint64, record []byte) error) error
	// Nodes returns the stored hashes n from (inclusive) to to (exclusive) of
	// one level of the tree in units of 8 (level 0 holds the records' own
	// hashes, level 1 the root of each complete tile of 256 records).
	// ErrNotFound if any is missing. Level 0 below the pruned size may be gone.
	Nodes(ctx context.Context, log uint32, level int, from, to uint64) ([]tlog.Hash, error)
	// Opening returns what lies beside a record: see Entry.Opening.
	// ErrNotFound when it has expired, was erased, or was never kept.
	Opening(ctx context.Context, pos act.Position) ([]byte, error)
	// Openings calls f with what lies beside the records from index from (inclusive)
	// to to (exclusive), in order and without those that have nothing, until f returns
	// an error, which Openings returns. f must not keep opening.
	Openings(ctx context.Context, log uint32, from, to uint64, f func(index uint64, opening []byte) error) error
	// Facts is Openings for the facts: see Batch.Facts.
	Facts(ctx context.Context, log uint32, from, to uint64, f func(index uint64, facts []byte) error) error
	// Part returns a stored part of openings by its SHA-256.
	Part(ctx context.Context, hash [32]byte) ([]byte, error)
	// Segments lists the segments of a log's index. Of two that cover the same records
	// either will do.
	Segments(ctx context.Context, log uint32) ([]Segment, error)
	// SegmentPage returns the last page of a segment that begins with a posting not after
	// at, or where next says so the first one that begins after it. ErrNotFound when
	// there is none; ErrStale when the segment itself is not there, or no more.
	SegmentPage(ctx context.Context, log uint32, seg Segment, at Posting, next bool) (SegmentPage, error)
	// Policy returns a policy set's text by its content hash, which records name.
	Policy(ctx context.Context, hash string) ([]byte, error)
	// Anchors lists a log's anchors, oldest first.
	Anchors(ctx context.Context, log uint32) ([]Anchor, error)
}

// Store is where a log is written, together with everything that must be durable
// with it. Each method is one transaction. Package store has the whole of what a
// node needs of a database.
type Store interface {
	Reader

	// Acquire takes a log that no living node holds (a new one when there is
	// none) and returns it with its head. A later Acquire of the same log, by
	// this or another node, fences this one: its Commits return ErrFenced.
	Acquire(ctx context.Context, owner string) (Lease, error)
	// Release gives the log up, so that a successor need not wait.
	Release(ctx context.Context, lease Lease) error

	// Commit makes one batch durable, all or nothing: when it returns nil the
	// batch survives the loss of power. First the claims are compared with the
	// keys' heads, and the tasks that load names, nil for none, are read and
	// kept from others; build is then called and returns the batch without those
	// that lost, nil for nothing to write. It is called again when another node
	// wrote the same new task meanwhile; nothing was written then. What build returns as an error is
	// Commit's. ErrFenced when the lease's epoch is no longer the newest, or the
	// head is not at the batch's First.
	Commit(ctx context.Context, lease Lease, claims []Claim, load *task.Load, build func(Found) (*Batch, error)) error

	// PutSegment writes a segment of the index, in place of those within it, unless one that
	// covers it is there: two may seal at once. It is ErrStale when segments of the log were
	// dropped since since.
	PutSegment(ctx context.Context, log uint32, seg Segment, since uint64, pages []SegmentPage) error
	// SegmentsDropped counts how often segments of a log were dropped.
	SegmentsDropped(ctx context.Context, log uint32) (uint64, error)
	// DropSegments removes the segments that have any record from index from (inclusive)
	// to to (exclusive).
	DropSegments(ctx context.Context, log uint32, from, to uint64) error

	// PruneRecords removes whole batches of records that lie below size. The
	// hashes needed to prove everything from size on stay.
	PruneRecords(ctx context.Context, log uint32, size uint64, checkpoint []byte) error
	// PutAnchor notes that a checkpoint was published at a place.
	PutAnchor(ctx context.Context, a Anchor) error
}

// Change says what was changed in a database that others write, too. The zero Change says
// that anything may have been.
type Change struct {
	Kind ChangeKind
	ID   string // of an approval, of IntentsAnswered behind the node that judged; of ReadPolicy the node where it was asked for, of RecordsWritten who wrote
}

// ChangeKind is what was changed.
type ChangeKind string

// What is told.
const (
	KeysChanged     ChangeKind = "keys"     // API keys
	AgentsChanged   ChangeKind = "agents"   // which agents are barred
	ApprovalChanged ChangeKind = "approval" // one held decision
	IntentsAnswered ChangeKind = "intents"  // the A2G intents that one held decision was about
	NodesChanged    ChangeKind = "nodes"    // which nodes there are, or their policies
	RecordsWritten  ChangeKind = "records"  // by the node that ID names
	ReadPolicy      ChangeKind = "policy"   // the policy is to be read again, at somebody's word
)

// Lease is the right to write one log, until fenced.
type Lease struct {
	Log   uint32
	Epoch uint64
}

// Node names who has the lease among all that ever had one: "0:7".
func (l Lease) Node() string { return fmt.Sprintf("%d:%d", l.Log, l.Epoch) }

// Head is the state of a log: its size and its newest signed checkpoint
// (nil when the log is empty), the size below which records were pruned, and
// the signed checkpoint up to which that was done (nil when none were).
type Head struct {
	Size             uint64
	Checkpoint       []byte
	Pruned           uint64
	PrunedCheckpoint []byte
}

// ErrHead: the head tells of records that are not there. Whoever read up to it would not end.
var ErrHead = errors.New("its head is not what the records are: run reeve ledger verify")

// ReadHead reads a log's head for whoever reads records up to it: the newest must be there.
func ReadHead(ctx context.Context, store Reader, log uint32) (Head, error) {
	head, err := store.Head(ctx, log)
	if err != nil {
		return head, fmt.Errorf("read the head of log %d: %w", log, err)
	}
	if head.Size == 0 {
		return head, nil
	}
	there := false
	err = store.Records(ctx, log, head.Size-1, head.Size, func(uint64, []byte) error {
		there = true
		return nil
	})
	switch {
	case err != nil:
		return head, fmt.Errorf("read the newest record of log %d: %w", log, err)
	case !there:
		return head, fmt.Errorf("the database says that log %d has %d records, and has no record %s: %w",
			log, head.Size, act.Position{Log: log, Index: head.Size - 1}, ErrHead)
	}
	return head, nil
}

// Key is a versioned key, under which a session's memory or an item is written: the
// first 16 bytes of a SHA-256 over everything that tells one from another.
type Key [16]byte

// Claim is one write under a versioned key. Writes of a key form a chain, each
// naming the one before; a write whose Prev is not the key's head has lost to another.
type Claim struct {
	Key Key
	// Prev is the position of the key's write before this one; First says that
	// there is none.
	Prev  act.Position
	First bool
	Data  []byte
}

// Found is what a commit finds in the store before it writes.
type Found struct {
	// Lost are the places of the claims that lost, in order; nil when none did.
	Lost  []int
	Tasks *task.Loaded // what was to be loaded; nil for nothing
	// More loads further tasks of the same trees, in the same transaction.
	More func(task.Load) (*task.Loaded, error)
}

// Batch is what one commit makes durable. Entry i of it has index First+i.
// What it holds belongs to the store only until Commit returns.
type Batch struct {
	First    uint64
	At       time.Time // never before the At of the batch before
	Records  [][]byte
	Leaves   []tlog.Hash // the hash of each record
	Openings [][]byte    // the contents beside each record; nil for none
	// Facts are the openings of the fields that tell who asked, and what it belongs to:
	// they stay when the contents go, and are what records are found by. nil for none.
	Facts [][]byte
	// Parts are those that this batch's openings refer to and that were not in
	// a batch of the last PartWindow. So a part may go once it was last put
	// more than PartWindow before the At of the oldest batch of openings kept.
	Parts      []Part
	Claims     []BatchClaim
	Items      []BatchItem // in the order of the entries; of one item the last counts
	Nodes      []Node
	Checkpoint []byte       // signed, of the size after this batch; nil when there are no Records
	Tasks      *task.Writes // nil for none
}

// BatchClaim is a write under a key with the place of its record in the batch.
// One record may write several keys.
type BatchClaim struct {
	Entry int
	Claim
}

// PartWindow is for how long after a part was put openings may refer to it
// without putting it again.
const PartWindow = 10 * time.Minute

// Part is a piece of openings that many of them share, such as an agent's
// description, stored once.
type Part struct {
	Hash [32]byte
	Data []byte
}

// Node is one hash of the tree's levels above the records, in units of 8:
// Level is 1 or more.
type Node struct {
	Level int
	N     uint64
	Hash  tlog.Hash
}

// Anchor says that a checkpoint of a log was published somewhere else.
type Anchor struct {
	Log        uint32
	Size       uint64
	Place      string // such as "file:/var/log/reeve-checkpoints" or "witness:https://…"
	At         time.Time
	Checkpoint []byte
}
