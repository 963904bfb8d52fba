package ledger

import (
	"context"
	"fmt"
	"slices"
)

// Order is that in which records of several logs are read.
type Order bool

// The orders, by the records' times. Within a log the order is always the log's own.
const (
	OldestFirst Order = false
	NewestFirst Order = true
)

// AllLogs are all records of all logs.
func AllLogs(ctx context.Context, store Reader) ([]Range, error) {
	logs, err := store.Logs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	var all []Range
	for _, log := range logs {
		all = append(all, Range{Log: log, To: ^uint64(0)})
	}
	return all, nil
}

// Merge calls f with the records of several logs in the order of their times, until f
// returns an error, which Merge returns. It reads in steps: neither is the store held
// while f takes its time, nor much memory. f must not keep data.
func Merge(ctx context.Context, store Reader, what []Range, order Order, f func(r *Record, data []byte) error) error {
	var cursors []*mergeCursor
	for _, w := range what {
		head, err := ReadHead(ctx, store, w.Log)
		if err != nil {
			return err
		}
		c := &mergeCursor{log: w.Log, from: max(w.From, head.Pruned), to: min(w.To, head.Size), order: order}
		if err := c.fill(ctx, store); err != nil {
			return err
		}
		cursors = append(cursors, c)
	}
	for {
		var next *mergeCursor
		for _, c := range cursors {
			if len(c.read) > 0 && (next == nil || c.before(next)) {
				next = c
			}
		}
		if next == nil {
			return nil
		}
		one := &next.read[0]
		if err := f(&one.record, one.data); err != nil {
			return err
		}
		if next.read = next.read[1:]; len(next.read) == 0 {
			if err := next.fill(ctx, store); err != nil {
				return err
			}
		}
	}
}

// mergeStep is how many records of a log are read at once.
const mergeStep = 256

// mergeCursor reads one log in one direction.
type mergeCursor struct {
	log      uint32
	from, to uint64 // what is not read yet
	order    Order
	read     []mergeRecord // and not given to anybody yet
}

type mergeRecord struct {
	record Record
	data   []byte
}

// before reports whether the next record of c comes before that of other.
func (c *mergeCursor) before(other *mergeCursor) bool {
	a, b := &c.read[0].record, &other.read[0].record
	if a.Time.Equal(b.Time) {
		return (c.log < other.log) != bool(c.order)
	}
	return a.Time.Before(b.Time) != bool(c.order)
}

// fill reads on, until there is a record or the end.
func (c *mergeCursor) fill(ctx context.Context, store Reader) error {
	for len(c.read) == 0 && c.from < c.to {
		from, to := c.from, min(c.from+mergeStep, c.to)
		if c.order == NewestFirst {
			from, to = c.to-min(mergeStep, c.to-c.from), c.to
		}
		c.read = nil
		err := store.Records(ctx, c.log, from, to, func(index uint64, data []byte) error {
			r, err := ParseRecord(data)
			if err != nil {
				return fmt.Errorf("record %d: the log is damaged, run reeve ledger verify: %w", index, err)
			}
			c.read = append(c.read, mergeRecord{r, append([]byte(nil), data...)})
			return nil
		})
		if err != nil {
			return fmt.Errorf("read log %d from record %d: %w", c.log, from, err)
		}
		if c.order == NewestFirst {
			slices.Reverse(c.read)
			c.to = from
		} else {
			c.from = to
		}
	}
	return nil
}
