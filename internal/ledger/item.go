package ledger

import (
	"crypto/sha256"
	"time"

	"reeve.example/reeve/act"
)

// Item is a durable thing with a name that lies beside the log and changes only
// together with a record: a held decision, an intent, an agent. It outlives its
// records, which prove how it came to be as it is.
type Item struct {
	Kind string // what it is, such as "approval"
	ID   string // its name among those of its kind
	// Owner is the principal whose quota it counts for; empty for nobody's.
	Owner string
	// Version is the position of the record that wrote it last. Set by the store.
	Version act.Position
	// Open says that the item still waits for something.
	Open bool
	// Due is when something must be done about an open item, and from when on
	// one that is not open may be removed; zero for never.
	Due  time.Time
	Data []byte
	// Seal proves that a node wrote it: see Sealer. Set by the log.
	Seal []byte
}

// ItemQuery selects items of one kind, in the order of their ids.
type ItemQuery struct {
	Kind  string
	After string // only ids greater than this
	// Prefix selects only the longer ids that begin with it; empty for all. It is of
	// characters of one byte.
	Prefix string
	Open   bool // only those that are open
	// DueBefore, when not zero, selects those that are due before it.
	DueBefore time.Time
	Limit     int // at most so many; 0 means 1000
}

// Until is the first id after those with the Prefix, which is not empty.
func (q *ItemQuery) Until() string {
	last := len(q.Prefix) - 1
	return q.Prefix[:last] + string(q.Prefix[last]+1)
}

// DefaultItems is how many items a query without a Limit returns.
const DefaultItems = 1000

// ItemKey is the key under which an item's writes are compared: who writes an item that another has written since it was read loses (ErrLost).
func ItemKey(kind, id string) (k Key) {
	h := sha256.New()
	h.Write([]byte("item\x00" + kind + "\x00" + id))
	var sum [sha256.Size]byte
	copy(k[:], h.Sum(sum[:0]))
	return k
}

// BatchItem is an item with the place of its record in the batch.
type BatchItem struct {
	Entry int
	Item
}
