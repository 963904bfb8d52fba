package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/session"
)

// item is one record with what lies beside it.
type item struct {
	record  ledger.Record
	opening []byte        // its contents, nil where there are none
	facts   []byte        // who asked, and what it belongs to; likewise
	claim   ledger.Claim  // of the session's write, if there is a step
	step    *session.Step // nil outside a session
	damaged bool          // something of it cannot be read
}

func (i *item) at() act.Position {
	return act.Position{Log: i.record.Log, Index: i.record.Index}
}
func (i *item) size() int { return 1024 + len(i.opening) + len(i.facts) + len(i.claim.Data) }

// source reads the records of a window from all logs, in the order of their times.
type source struct {
	store        Store
	logs         []*reader
	records      uint64 // in the window, as far as the indices tell
	since, until time.Time
}

// reader reads one log on.
type reader struct {
	log      uint32
	from, to uint64 // what is not read yet
	read     []*item
	counted  uint64 // records that are none of the window's, or no decisions
	notes    bool   // records that are no decisions are read, too
}

// Bounds of what is read of one log at once.
const (
	spanRecords = 512
	spanBytes   = 8 << 20
)

// open finds the window in each log. What is written afterwards is not in it.
func open(ctx context.Context, store Store, since, until time.Time) (*source, error) {
	logs, err := store.Logs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	s := &source{store: store, since: since, until: until}
	for _, log := range logs {
		head, err := ledger.ReadHead(ctx, store, log)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &reader{log: log, from: head.Pruned, to: head.Size}
		if !since.IsZero() {
			if r.from, err = search(ctx, store, log, r.from, r.to, since); err != nil {
				return nil, err
			}
		}
		if !until.IsZero() {
			if r.to, err = search(ctx, store, log, r.from, r.to, until); err != nil {
				return nil, err
			}
		}
		s.logs = append(s.logs, r)
		s.records += r.to - r.from
	}
	return s, nil
}

// search finds the first record of a log that is not older than a time. Within a log,
// times never go back.
func search(ctx context.Context, store Store, log uint32, from, to uint64, at time.Time) (uint64, error) {
	var failed error
	n := sort.Search(int(to-from), func(i int) bool {
		if failed != nil {
			return true
		}
		when, ok, err := timeFrom(ctx, store, log, from+uint64(i), to)
		if failed = err; err != nil || !ok {
			return true
		}
		return !when.Before(at)
	})
	return from + uint64(n), failed
}

var errEnough = errors.New("enough")

// timeFrom is the time of the first record from an index on that can be read.
func timeFrom(ctx context.Context, store Store, log uint32, from, to uint64) (at time.Time, ok bool, err error) {
	err = store.Records(ctx, log, from, to, func(_ uint64, data []byte) error {
		r, err := ledger.ParseRecord(data)
		if err != nil {
			return nil // the next one says as much
		}
		at, ok = r.Time, true
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return at, false, fmt.Errorf("read log %d from record %d: %w", log, from, err)
	}
	return at, ok, nil
}

// each calls f with the decisions of the window, and at last with nil. passed is told of
// records that are none.
func (s *source) each(ctx context.Context, passed func(records uint64), f func(*item) error) error {
	for {
		var next *reader
		for _, r := range s.logs {
			for len(r.read) == 0 && r.from < r.to {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := r.fill(ctx, s.store); err != nil {
					return err
				}
				passed(r.counted)
				r.counted = 0
			}
			if len(r.read) > 0 && (next == nil || r.read[0].record.Time.Before(next.read[0].record.Time)) {
				next = r
			}
		}
		if next == nil {
			return f(nil)
		}
		one := next.read[0]
		next.read[0], next.read = nil, next.read[1:]
		if err := f(one); err != nil {
			return err
		}
	}
}

// fill reads on. A damaged row does not end it: what cannot be read is counted as that.
func (r *reader) fill(ctx context.Context, store Store) error {
	from, to := r.from, min(r.from+spanRecords, r.to)
	bad := map[uint64]bool{}
	openings, to, err := gather(ctx, from, to, bad, func(from, to uint64, f func(uint64, []byte) error) error {
		return store.Openings(ctx, r.log, from, to, f)
	})
	if err != nil {
		return err
	}
	facts, to, err := gather(ctx, from, to, bad, func(from, to uint64, f func(uint64, []byte) error) error {
		return store.Facts(ctx, r.log, from, to, f)
	})
	if err != nil {
		return err
	}
	claims := map[uint64]ledger.Claim{}
	claimed := func(index uint64, c *ledger.Claim) error {
		if _, has := claims[index]; has || !session.IsStep(c.Data) {
			return nil
		}
		one := *c
		one.Data = bytes.Clone(c.Data)
		claims[index] = one
		return nil
	}
	if err = store.Claims(ctx, r.log, from, to, claimed); err != nil {
		for index := from; index < to; index++ {
			if err := store.Claims(ctx, r.log, index, index+1, claimed); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				bad[index] = true
			}
		}
	}
	take := func(index uint64, data []byte) error {
		record, err := ledger.ParseRecord(data)
		if err == nil && (record.Index != index || record.Log != r.log) {
			err = errors.New("it is another one")
		}
		if err != nil {
			r.read = append(r.read, r.damaged(index))
			return nil
		}
		if record.Effect == "" && !r.notes {
			return nil
		}
		one := &item{record: record, opening: openings[index], facts: facts[index], damaged: bad[index]}
		if c, ok := claims[index]; ok {
			if one.step, err = session.ParseStep(c.Data); err != nil {
				one.damaged = true
			}
			one.claim = c
		}
		r.read = append(r.read, one)
		return nil
	}
	if err = store.Records(ctx, r.log, from, to, take); err != nil {
		r.read = nil
		for index := from; index < to; index++ {
			if err := store.Records(ctx, r.log, index, index+1, take); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil && (len(r.read) == 0 || r.read[len(r.read)-1].record.Index != index) {
				r.read = append(r.read, r.damaged(index))
			}
		}
	}
	r.counted += to - from - uint64(len(r.read))
	r.from = to
	return nil
}

// damaged stands for a record that cannot be read.
func (r *reader) damaged(index uint64) *item {
	return &item{record: ledger.Record{Log: r.log, Index: index}, damaged: true}
}

// gather reads what lies beside records, until it is much, and returns up to where. Of rows
// that are damaged it notes whose they are. The error is ctx's alone.
func gather(ctx context.Context, from, to uint64, bad map[uint64]bool, read func(from, to uint64, f func(uint64, []byte) error) error) (map[uint64][]byte, uint64, error) {
	size := 0
	all := map[uint64][]byte{}
	take := func(index uint64, data []byte) error {
		if size += len(data); size > spanBytes && index > from {
			to = index
			return errEnough
		}
		all[index] = bytes.Clone(data)
		return nil
	}
	err := read(from, to, take)
	if err == nil || errors.Is(err, errEnough) {
		return all, to, nil
	}
	clear(all)
	size = 0
	for index := from; index < to; index++ {
		err := read(index, index+1, take)
		switch {
		case ctx.Err() != nil:
			return nil, to, context.Cause(ctx)
		case errors.Is(err, errEnough):
			return all, to, nil
		case err != nil:
			bad[index] = true
		}
	}
	return all, to, nil
}
