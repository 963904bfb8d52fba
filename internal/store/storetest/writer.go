package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"

	"golang.org/x/mod/sumdb/tlog"
)

// Epoch is the time of the first batch of a Writer; each further one is a
// second later.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Entry is a record to write, with what lies beside it.
type Entry struct {
	Record  []byte
	Opening []byte
	Facts   []byte
	Claims  []ledger.Claim
	Parts   []ledger.Part
	Items   []ledger.Item
}

// Writer commits batches to a store as a ledger does. Instead of a Merkle
// tree's hashes it writes NodeHash, and instead of a signed checkpoint
// Checkpoint.
type Writer struct {
	Store store.Store
	Lease ledger.Lease
	Size  uint64
	At    time.Time
}

// NewWriter acquires a log and goes on where it ends.
func NewWriter(ctx context.Context, store store.Store, owner string) (*Writer, error) {
	lease, err := store.Acquire(ctx, owner)
	if err != nil {
		return nil, err
	}
	head, err := store.Head(ctx, lease.Log)
	if err != nil {
		return nil, err
	}
	return &Writer{Store: store, Lease: lease, Size: head.Size, At: Epoch}, nil
}

// Pos returns the position of record i of the writer's log.
func (w *Writer) Pos(i uint64) act.Position { return act.Position{Log: w.Lease.Log, Index: i} }

// Commit writes the entries in one batch, without those that have a claim that
// lost, and returns the places of the claims that did, counting only each
// session's first: the others are not compared with the store.
func (w *Writer) Commit(ctx context.Context, entries ...Entry) (lost []int, err error) {
	type place struct {
		entry int
		key   ledger.Key
	}
	var claims []ledger.Claim
	var places []place
	first := map[ledger.Key]int{} // the entry with the session's first claim
	for i := range entries {
		for _, c := range entries[i].Claims {
			if _, again := first[c.Key]; again {
				continue
			}
			first[c.Key] = i
			claims = append(claims, c)
			places = append(places, place{i, c.Key})
		}
	}
	var size uint64
	err = w.Store.Commit(ctx, w.Lease, claims, nil, func(f ledger.Found) (*ledger.Batch, error) {
		lost = f.Lost
		out := map[int]bool{}
		for _, l := range lost {
			out[places[l].entry] = true
		}
		b := &ledger.Batch{First: w.Size, At: w.At}
		last := map[ledger.Key]uint64{}
		for i := range entries {
			e := &entries[i]
			for _, c := range e.Claims {
				// What chains on an entry that is out is out, too.
				out[i] = out[i] || first[c.Key] < i && out[first[c.Key]]
			}
			if out[i] {
				continue
			}
			for _, c := range e.Claims {
				if at, again := last[c.Key]; again {
					c.First, c.Prev = false, w.Pos(at)
				}
				last[c.Key] = w.Size + uint64(len(b.Records))
				b.Claims = append(b.Claims, ledger.BatchClaim{Entry: len(b.Records), Claim: c})
			}
			b.Records = append(b.Records, e.Record)
			b.Leaves = append(b.Leaves, tlog.RecordHash(e.Record))
			b.Openings = append(b.Openings, e.Opening)
			b.Facts = append(b.Facts, e.Facts)
			b.Parts = append(b.Parts, e.Parts...)
			for _, item := range e.Items {
				b.Items = append(b.Items, ledger.BatchItem{Entry: len(b.Records) - 1, Item: item})
			}
		}
		size = w.Size + uint64(len(b.Records))
		for level := 1; size>>(8*level) > 0; level++ {
			for n := w.Size >> (8 * level); n < size>>(8*level); n++ {
				b.Nodes = append(b.Nodes, ledger.Node{Level: level, N: n, Hash: NodeHash(level, n)})
			}
		}
		b.Checkpoint = Checkpoint(w.Lease.Log, size)
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	w.Size = size
	w.At = w.At.Add(time.Second)
	return lost, nil
}

// NodeHash stands for a hash of the tree.
func NodeHash(level int, n uint64) tlog.Hash {
	return sha256.Sum256(fmt.Appendf(nil, "node %d %d", level, n))
}

// Checkpoint stands for a signed checkpoint.
func Checkpoint(log uint32, size uint64) []byte {
	return fmt.Appendf(nil, "reeve.test/%d\n%d\n", log, size)
}

// Record is a record of n bytes, or somewhat more, that tells its number.
func Record(i uint64, n int) []byte {
	b := fmt.Appendf(nil, "record %d ", i)
	for len(b) < n {
		b = append(b, byte('a'+len(b)%26))
	}
	return b
}

// Key is the key of session number i: as random as real ones are.
func Key(i uint64) (k ledger.Key) {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, i))
	copy(k[:], sum[:])
	return k
}
