// Package layout is how a batch lies in the columns of a database row, alike
// in every store. docs/ledger-format.md describes the same bytes for readers in
// other languages.
//
// Records: for each record its length as a uvarint, then its bytes.
//
// Claims: for each claim the place of its record in the batch as a uvarint, the
// session's key of 16 bytes, a byte of flags (bit 0: the session's first write),
// unless it is the first the log and index of the write before as uvarints,
// then the length of its data as a uvarint, and the data.
//
// Openings, in groups of consecutive records: for each record the offset and the
// length of its opening as little-endian uint32s, the offset counted from the
// group's first byte; then the openings. A length of 0 is no opening.
package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

// ErrDamaged says that a column does not hold what the layout demands.
var ErrDamaged = errors.New("the database is damaged")

// AppendRecords appends the records column of a batch to dst.
func AppendRecords(dst []byte, records [][]byte) []byte {
	for _, r := range records {
		dst = binary.AppendUvarint(dst, uint64(len(r)))
		dst = append(dst, r...)
	}
	return dst
}

// Records yields the count records of a column, which are parts of data. It is
// an error if they are not exactly the column.
func Records(data []byte, count int, f func(i int, record []byte) error) error {
	for i := range count {
		record, rest, ok := cut(data)
		if !ok {
			return fmt.Errorf("%w: record %d of a batch is cut short", ErrDamaged, i)
		}
		if err := f(i, record); err != nil {
			return err
		}
		data = rest
	}
	if len(data) != 0 {
		return fmt.Errorf("%w: a batch of %d records has %d bytes after the last", ErrDamaged, count, len(data))
	}
	return nil
}

// cut takes a length as a uvarint and as many bytes off the front of data.
func cut(data []byte) (part, rest []byte, ok bool) {
	n, w := binary.Uvarint(data)
	if w <= 0 || n > uint64(len(data)-w) {
		return nil, nil, false
	}
	return data[w : w+int(n)], data[w+int(n):], true
}

const flagFirst = 1

// AppendClaims appends the claims column of a batch to dst.
func AppendClaims(dst []byte, claims []ledger.BatchClaim) []byte {
	for i := range claims {
		c := &claims[i]
		dst = binary.AppendUvarint(dst, uint64(c.Entry))
		dst = append(dst, c.Key[:]...)
		if c.First {
			dst = append(dst, flagFirst)
		} else {
			dst = append(dst, 0)
			dst = binary.AppendUvarint(dst, uint64(c.Prev.Log))
			dst = binary.AppendUvarint(dst, c.Prev.Index)
		}
		dst = binary.AppendUvarint(dst, uint64(len(c.Data)))
		dst = append(dst, c.Data...)
	}
	return dst
}

// Claims yields the claims of a column, whose Data are parts of data, of a
// batch of count records.
func Claims(data []byte, count int, f func(c *ledger.BatchClaim) error) error {
	var c ledger.BatchClaim
	for len(data) > 0 {
		entry, w := binary.Uvarint(data)
		if w <= 0 || entry >= uint64(count) || len(data) < w+len(c.Key)+1 {
			return errClaims
		}
		c.Entry = int(entry)
		data = data[w:]
		copy(c.Key[:], data)
		flags := data[len(c.Key)]
		data = data[len(c.Key)+1:]
		c.First, c.Prev = flags == flagFirst, act.Position{}
		switch flags {
		case flagFirst:
		case 0:
			log, w := binary.Uvarint(data)
			if w <= 0 || log > math.MaxUint32 {
				return errClaims
			}
			data = data[w:]
			index, w := binary.Uvarint(data)
			if w <= 0 {
				return errClaims
			}
			data = data[w:]
			c.Prev = act.Position{Log: uint32(log), Index: index}
		default:
			return errClaims
		}
		var ok bool
		if c.Data, data, ok = cut(data); !ok {
			return errClaims
		}
		if err := f(&c); err != nil {
			return err
		}
	}
	return nil
}

var errClaims = fmt.Errorf("%w: the claims of a batch cannot be read", ErrDamaged)

// FindClaim returns a copy of what was written for a session with one record
// of a batch of count records. It is ledger.ErrNotFound if nothing was.
func FindClaim(data []byte, count, entry int, key ledger.Key) (found ledger.Claim, err error) {
	err = Claims(data, count, func(c *ledger.BatchClaim) error {
		if c.Entry == entry && c.Key == key {
			found = c.Claim
			return errFound
		}
		return nil
	})
	switch err {
	case errFound:
		found.Data = append([]byte{}, found.Data...)
		return found, nil
	case nil:
		return found, ledger.ErrNotFound
	}
	return found, err
}

var errFound = errors.New("found")

// groupBytes is where a group of openings ends. A row of this size is read,
// dropped and checkpointed quickly.
const groupBytes = 1 << 20

// Groups splits the openings of a batch into groups [from, to) of about a
// mebibyte, leaving out runs at the ends of a group that have none.
func Groups(openings [][]byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from, to, size := 0, 0, 0
		for i, o := range openings {
			if len(o) == 0 {
				continue
			}
			if size == 0 {
				from = i
			}
			to, size = i+1, size+len(o)
			if size >= groupBytes {
				if !yield(from, to) {
					return
				}
				size = 0
			}
		}
		if size > 0 {
			yield(from, to)
		}
	}
}

// AppendOpenings appends the data column of a group of openings to dst.
func AppendOpenings(dst []byte, openings [][]byte) ([]byte, error) {
	offset := uint64(len(openings)) * tableEntry
	for _, o := range openings {
		if offset+uint64(len(o)) > math.MaxUint32 {
			return nil, errors.New("an opening is larger than 4 GiB")
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(offset))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(o)))
		offset += uint64(len(o))
	}
	for _, o := range openings {
		dst = append(dst, o...)
	}
	return dst, nil
}

// tableEntry is the bytes of an offset and a length.
const tableEntry = 8

// TableSpan is where in the data of a group the offset and length of its
// opening number i are.
func TableSpan(i int) (start, end int64) {
	return int64(i) * tableEntry, int64(i+1) * tableEntry
}

// OpeningSpan returns where in the data of a group of count openings its
// opening number i is. The span is empty when there is none.
func OpeningSpan(data []byte, count, i int) (start, end int64, err error) {
	from, to := TableSpan(i)
	if i < 0 || i >= count || to > int64(len(data)) {
		return 0, 0, errOpening
	}
	table := data[from:to]
	start = int64(binary.LittleEndian.Uint32(table))
	end = start + int64(binary.LittleEndian.Uint32(table[4:]))
	if start == end {
		return 0, 0, nil
	}
	if start < int64(count)*tableEntry || end > int64(len(data)) {
		return 0, 0, errOpening
	}
	return start, end, nil
}

var errOpening = fmt.Errorf("%w: a group of openings cannot be read", ErrDamaged)

// Check refuses a batch that is not whole, before any of it is written.
func Check(b *ledger.Batch) error {
	n := len(b.Records)
	if len(b.Leaves) != n || len(b.Openings) != n && len(b.Openings) != 0 || len(b.Facts) != n && len(b.Facts) != 0 {
		return fmt.Errorf("a batch of %d records has %d leaf hashes, %d openings and %d facts", n, len(b.Leaves), len(b.Openings), len(b.Facts))
	}
	last := 0
	for i := range b.Claims {
		e := b.Claims[i].Entry
		if e < last || e >= n {
			return fmt.Errorf("a session's write belongs to record %d of a batch of %d, or is out of order", e, n)
		}
		last = e
	}
	return nil
}

// Nanoseconds is a time as a column holds it; the zero time is 0. What is beyond
// the years 1678 to 2262 becomes the nearest time that a column can hold.
func Nanoseconds(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

var earliest, latest = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)

// Time reads what Nanoseconds made.
func Time(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
