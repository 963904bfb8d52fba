package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

var (
	errBlock  = fmt.Errorf("%w: a block of session heads cannot be read; the next start makes it again", layout.ErrDamaged)
	errFilter = fmt.Errorf("%w: the filter of session heads cannot be read; the next start makes it again", layout.ErrDamaged)
	errHurt   = fmt.Errorf("%w: the heads of sessions could not be read before", layout.ErrDamaged)
	errGone   = fmt.Errorf("%w: what this session remembered was lost with a damaged index, after its records were pruned; begin another", layout.ErrDamaged)
)

// Marks, beside the parts of the filter.
const (
	goneMark = filterParts + iota // heads of records that were pruned were lost
	hurtMark                      // what is damaged was noticed, and is to be made again
)

// loadMarks reads what an earlier process noted of the heads.
func (h *heads) loadMarks(c *sqlite.Conn) error {
	hurt := false
	err := query(c, `SELECT part FROM head_filter WHERE part >= ?`, func(stmt *sqlite.Stmt) error {
		switch stmt.ColumnInt64(0) {
		case goneMark:
			h.gone = true
		default:
			hurt = true
		}
		return nil
	}, int64(filterParts))
	if err == nil && hurt {
		err = errHurt
	}
	return err
}

// filterOf reads the filter. whole says that no part of it is missing.
func filterOf(c *sqlite.Conn) (filter []byte, whole bool, err error) {
	const size = filterBytes / filterParts
	filter = make([]byte, filterBytes)
	parts := 0
	err = query(c, `SELECT part, data FROM head_filter WHERE part < ?`, func(stmt *sqlite.Stmt) error {
		data := column(stmt, 1, nil)
		if len(data) == size+4 && binary.LittleEndian.Uint32(data[size:]) == crc32.Checksum(data[:size], sums) {
			data = data[:size]
		}
		part := stmt.ColumnInt64(0)
		if part < 0 || len(data) != size {
			return errFilter
		}
		parts++
		copy(filter[part*size:], data)
		return nil
	}, int64(filterParts))
	return filter, parts == filterParts, err
}

// markHurt notes on the disk that the heads are damaged, if that was noticed.
func (s *Store) markHurt() error {
	if !s.heads.hurt.Load() || s.readOnly {
		return nil
	}
	err := s.write(func(c *sqlite.Conn) error {
		return execute(c, `REPLACE INTO head_filter (part, data) VALUES (?, x'01')`, int64(hurtMark))
	})
	if err == nil {
		s.heads.hurt.Store(false)
	}
	return err
}

// loadHeads loads the heads as a node does that will write: what is damaged of them is made
// again from the batches, as far as these are there.
func (s *Store) loadHeads(log *slog.Logger) error {
	err := s.heads.load(s.writer)
	if !errors.Is(err, layout.ErrDamaged) {
		return err
	}
	lost, repair := s.repairHeads()
	if repair != nil {
		return fmt.Errorf("%w (it cannot be made again: %w)", err, repair)
	}
	if lost {
		log.Error("the index of sessions was damaged, and records were pruned: sessions that were last seen before are denied", "error", err)
	} else {
		log.Error("the index of sessions was damaged, and was made again from the ledger", "error", err)
	}
	return nil
}

// repairHeads makes the index again from the claims of all batches. Where batches were pruned,
// a session that was last written in one of them cannot be found any more: lost says so. Then
// the filter must be whole, which tells of every session that it was never there.
func (s *Store) repairHeads() (lost bool, err error) {
	h := &s.heads
	var from uint64
	if err := query(s.writer, `SELECT coalesce(min(first), 0) FROM batch`, func(stmt *sqlite.Stmt) error {
		from = uint64(stmt.ColumnInt64(0))
		return nil
	}); err != nil {
		return false, err
	}
	filter := make([]byte, filterBytes)
	if lost = from > 0; lost {
		whole := false
		if filter, whole, err = filterOf(s.writer); err != nil || !whole {
			return false, errors.New("records were pruned, and the filter that tells which sessions are new is damaged, too: restore a backup")
		}
	}
	err = s.write(func(c *sqlite.Conn) error {
		if lost {
			if err := execute(c, `REPLACE INTO head_filter (part, data) VALUES (?, x'01')`, int64(goneMark)); err != nil {
				return err
			}
		}
		return errors.Join(
			execute(c, `DELETE FROM head_run`),
			execute(c, `UPDATE head SET heads_upto = ?`, int64(from)))
	})
	if err != nil {
		return false, err
	}
	h.dirty, h.frozen, h.runs, h.filter = map[ledger.Key]uint64{}, nil, [headLevels]run{}, filter
	h.upto, h.inRuns, h.since, h.gone = from, from, 0, lost
	for i := range h.changed {
		h.changed[i] = true
	}
	size, err := headSize(s.writer)
	for err == nil && h.upto < size {
		if err = h.catchUp(s.writer, h.upto+1); err == nil && h.full() {
			err = s.flushHeads()
		}
	}
	if err == nil {
		err = s.flushHeads() // the filter that lies on the disk is the new one
	}
	if err == nil {
		h.hurt.Store(false)
		err = s.write(func(c *sqlite.Conn) error {
			return execute(c, `DELETE FROM head_filter WHERE part >= ? AND part <> ?`, int64(filterParts), int64(goneMark))
		})
	}
	return lost, err
}
