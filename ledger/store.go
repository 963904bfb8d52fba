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

// Store keeps a node's ledger and everything that must be durable together
// with it. Two implementations, store/sqlite and store/postgres, pass the one
// suite store/storetest. Methods are safe for concurrent use; each is one
// transaction.
type Store interface {
	// Acquire takes a log that no living node holds (a new one when there is
	// none) and returns it with its head. A later Acquire of the same log, by
	// this or another node, fences this one: its Commits return ErrFenced.
	Acquire(ctx context.Context, owner string) (Lease, error)
	// Release gives the log up, so that a successor need not wait.
	Release(ctx context.Context, lease Lease) error

	// Commit makes one batch durable, all or nothing: when it returns nil the
	// batch survives the loss of power. First the claims are compared with the
	// sessions' heads, and the tasks that load names, nil for none, are read and
	// kept from others; build is then called and returns the batch without those
	// that lost, nil for nothing to write. It is called again when another node
	// wrote the same new task meanwhile; nothing was written then. What build returns as an error is
	// Commit's. ErrFenced when the lease's epoch is no longer the newest, or the
	// head is not at the batch's First.
	Commit(ctx context.Context, lease Lease, claims []Claim, load *task.Load, build func(Found) (*Batch, error)) error

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
	// Part returns a stored part of openings by its SHA-256.
	Part(ctx context.Context, hash [32]byte) ([]byte, error)
	// Erase removes the openings of these positions for good: their bytes are
	// overwritten, also in the database's journal.
	Erase(ctx context.Context, positions []act.Position) error
	// TrimOpenings removes openings, oldest first, that are older than before
	// or beyond maxBytes in all, in steps small enough not to hold up commits,
	// and the parts that nothing refers to any more. It returns how many
	// batches of openings and bytes it removed.
	TrimOpenings(ctx context.Context, before time.Time, maxBytes int64) (removed int, freed int64, err error)
	// OpeningBytes is the size of all openings and parts, in bytes.
	OpeningBytes(ctx context.Context) (int64, error)
	// PruneRecords removes whole batches of records that lie below size. The
	// hashes needed to prove everything from size on stay.
	PruneRecords(ctx context.Context, log uint32, size uint64, checkpoint []byte) error

	// SessionHead returns where the session was last written; ok is false when
	// it never was.
	SessionHead(ctx context.Context, key SessionKey) (pos act.Position, ok bool, err error)
	// SessionWrite returns what was written for a session with a record.
	SessionWrite(ctx context.Context, pos act.Position, key SessionKey) (Claim, error)

	// Item returns a named item. ErrNotFound when there is none.
	Item(ctx context.Context, kind, id string) (Item, error)
	// Items returns the items that a query selects.
	Items(ctx context.Context, q ItemQuery) ([]Item, error)
	// CountItems returns how many items of a kind an owner has, or of them those that are
	// open, and how many bytes of data they have.
	CountItems(ctx context.Context, kind, owner string, open bool) (n int, bytes int64, err error)
	// TrimItems removes items that are not open and were due before a time.
	TrimItems(ctx context.Context, before time.Time) (removed int64, err error)

	TaskStore
	TreeStore

	// PutPolicy keeps a policy set's text for ever, by its content hash.
	PutPolicy(ctx context.Context, hash string, text []byte, at time.Time) error
	// Policy returns a policy set's text.
	Policy(ctx context.Context, hash string) ([]byte, error)

	// PutKey adds an API key, or replaces the one with its name.
	PutKey(ctx context.Context, k Key) error
	// Keys lists all API keys, revoked ones too, oldest first.
	Keys(ctx context.Context) ([]Key, error)

	// PutAnchor notes that a checkpoint was published at a place.
	PutAnchor(ctx context.Context, a Anchor) error
	// Anchors lists a log's anchors, oldest first.
	Anchors(ctx context.Context, log uint32) ([]Anchor, error)

	// Probe reports whether the store can be written, by writing.
	Probe(ctx context.Context) error
	// Backup writes a consistent copy to a new file while the node runs.
	// Stores that are backed up by their own tools return an error that says so.
	Backup(ctx context.Context, file string) error
	Close() error
}

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

// SessionKey names a session: the first 16 bytes of a SHA-256 over everything
// that tells one from another.
type SessionKey [16]byte

// Claim is one write of a session's memory. Writes of a session form a chain,
// each naming the one before; a write whose Prev is not the session's head has
// lost to another.
type Claim struct {
	Key SessionKey
	// Prev is the position of the session's write before this one; First says
	// that there is none.
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

// TaskStore reads what the commits made of tasks.
type TaskStore interface {
	// Task returns a whole task. ErrNotFound when there is none.
	Task(ctx context.Context, id task.ID) (*task.Task, error)
	// TasksOf returns those of some tasks that exist, in no order.
	TasksOf(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// Tasks returns the tasks that a query selects, newest first, without their
	// results, and CountTasks how many there are without its Limit and Offset.
	Tasks(ctx context.Context, q task.Query) ([]*task.Task, error)
	CountTasks(ctx context.Context, q task.Query) (int, error)
	// OpenTasks returns how many tasks of a user, of all with an empty name, have not
	// ended, and how many bytes their definitions have.
	OpenTasks(ctx context.Context, user string) (n int, bytes int64, err error)
	// TaskRow returns what of a task changes. ErrNotFound when there is none.
	TaskRow(ctx context.Context, id task.ID) (task.Row, error)
	// TaskRows returns the rows that a query selects.
	TaskRows(ctx context.Context, q task.RowQuery) ([]task.Row, error)

	// TaskEvents returns at most limit events of a tree that come after one, in order.
	TaskEvents(ctx context.Context, root task.ID, after uint64, limit int) ([]task.Event, error)
	// TrimTaskEvents removes events that are older than before, of trees that are
	// not being executed.
	TrimTaskEvents(ctx context.Context, before time.Time) (removed int64, err error)

	// TakePush leases the pushes that are due, so that no other node tells the same
	// at once, until a time: then they are due again.
	TakePush(ctx context.Context, now, until time.Time, limit int) ([]task.Push, error)
	// PutPush writes how far a push has come.
	PutPush(ctx context.Context, p task.Push) error

	// LeaseEnds is until when nobody else can take the tasks of the lease's node for
	// lost; zero for never.
	LeaseEnds() time.Time
}

// Batch is what one commit makes durable. Entry i of it has index First+i.
// What it holds belongs to the store only until Commit returns.
type Batch struct {
	First    uint64
	At       time.Time // never before the At of the batch before
	Records  [][]byte
	Leaves   []tlog.Hash // the hash of each record
	Openings [][]byte    // beside each record; nil for none
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

// BatchClaim is a session's write with the place of its record in the batch.
// One record may write several sessions.
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

// Key is an API key. The secret itself is never stored.
type Key struct {
	Name         string
	Hash         [32]byte // SHA-256 of the secret
	Role         string
	Organization string
	Created      time.Time
	Revoked      time.Time // zero while valid
}

// Anchor says that a checkpoint of a log was published somewhere else.
type Anchor struct {
	Log        uint32
	Size       uint64
	Place      string // such as "file:/var/log/reeve-checkpoints" or "witness:https://…"
	At         time.Time
	Checkpoint []byte
}
