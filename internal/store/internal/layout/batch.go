package layout

import (
	"context"
	"fmt"

	"reeve.example/reeve/internal/ledger"

	"golang.org/x/mod/sumdb/tlog"
)

// Tile is how many records a complete tile of the tree covers.
const Tile = 256

// Removing goes in steps, so that no commit waits for long.
const (
	TrimRows  = 64      // rows that one step removes at most
	TrimBytes = 4 << 20 // bytes after which a step ends
)

// Batch is a row of batches, or of openings, with one of its columns.
type Batch struct {
	First uint64
	Count int
	Data  []byte
}

// NewBatch is what a row says. It is ErrDamaged when no row can be so.
func NewBatch(first, count int64, data []byte) (Batch, error) {
	const maxCount = 1 << 24 // more records, or openings, than any row has
	if first < 0 || count <= 0 || count > maxCount {
		return Batch{}, fmt.Errorf("%w: there cannot be a batch of %d records at %d", ErrDamaged, count, first)
	}
	return Batch{uint64(first), int(count), data}, nil
}

// End is the index after the batch's last.
func (b *Batch) End() uint64 { return b.First + uint64(b.Count) }

// Place returns where in the batch a record is; ok is false when it is not.
func (b *Batch) Place(index uint64) (i int, ok bool) {
	if index < b.First || index-b.First >= uint64(b.Count) {
		return 0, false
	}
	return int(index - b.First), true
}

// OpeningSpan returns where in the column data of the openings the opening of a record
// is: from start to end. It is ledger.ErrNotFound when there is none.
func (b *Batch) OpeningSpan(index uint64) (start, end int64, err error) {
	i, ok := b.Place(index)
	if !ok {
		return 0, 0, ledger.ErrNotFound
	}
	start, end, err = OpeningSpan(b.Data, b.Count, i)
	if err == nil && start == end {
		err = ledger.ErrNotFound
	}
	return start, end, err
}

// Records calls f with those records of the column records that have an index
// from from to to.
func (b *Batch) Records(from, to uint64, f func(index uint64, record []byte) error) error {
	return Records(b.Data, b.Count, func(i int, record []byte) error {
		index := b.First + uint64(i)
		if index < from || index >= to {
			return nil
		}
		return f(index, record)
	})
}

// Openings calls f with the openings in the column data that belong to records with an
// index from from to to.
func (b *Batch) Openings(from, to uint64, f func(index uint64, opening []byte) error) error {
	for index := max(from, b.First); index < min(to, b.End()); index++ {
		start, end, err := OpeningSpan(b.Data, b.Count, int(index-b.First))
		if err == nil && start < end {
			err = f(index, b.Data[start:end:end])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Claims calls f with those claims of the column claims that belong to records with an
// index from from to to.
func (b *Batch) Claims(from, to uint64, f func(index uint64, c *ledger.Claim) error) error {
	return Claims(b.Data, b.Count, func(c *ledger.BatchClaim) error {
		index := b.First + uint64(c.Entry)
		if index < from || index >= to {
			return nil
		}
		return f(index, &c.Claim)
	})
}

// AppendLeaves appends the hashes of the column leaves to those of the records
// from from on, up to index to. It is ledger.ErrNotFound when they do not go on
// where hashes ends.
func (b *Batch) AppendLeaves(hashes []tlog.Hash, from, to uint64) ([]tlog.Hash, error) {
	if b.First > from+uint64(len(hashes)) {
		return hashes, ledger.ErrNotFound
	}
	if len(b.Data) != b.Count*tlog.HashSize {
		return hashes, fmt.Errorf("%w: the hashes of the records from %d on are not as many as the records", ledger.ErrNotFound, b.First)
	}
	for i := range uint64(b.Count) {
		if index := b.First + i; index >= from && index < to {
			hashes = append(hashes, tlog.Hash(b.Data[i*tlog.HashSize:]))
		}
	}
	return hashes, nil
}

// Trim removes openings, and then the parts that no opening refers to any more,
// a step of each at a time, until a step finds nothing. total is how many bytes
// there are, and maxBytes how many may stay.
func Trim(ctx context.Context, total, maxBytes int64,
	openings func(ctx context.Context, excess int64) (n int, size int64, err error),
	parts func(ctx context.Context) (n int, size int64, err error),
) (removed int, freed int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return removed, freed, err
		}
		n, old, err := openings(ctx, total-freed-maxBytes)
		if err != nil {
			return removed, freed, err
		}
		removed += n
		freed += old
		unused, size, err := parts(ctx)
		if err != nil {
			return removed, freed, err
		}
		freed += size
		if n == 0 && unused == 0 {
			return removed, freed, nil
		}
	}
}
