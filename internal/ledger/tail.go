package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reeve.example/reeve/act"
)

// Tail wakes those who follow logs when something was written. It says no more: what was
// written they read for themselves, each at its own pace, so that one who is slow holds up
// nobody. The zero Tail is ready.
type Tail struct {
	mu      sync.Mutex
	written chan struct{}
}

// Wake says that something was written. It does not block.
func (t *Tail) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written != nil {
		close(t.written)
		t.written = nil
	}
}

// Written is closed when something is written from now on. Who asks for it first and then
// reads misses nothing.
func (t *Tail) Written() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = make(chan struct{})
	}
	return t.written
}

// Places are the ends of logs as somebody has read them: by log, the next record.
type Places map[uint32]uint64

// Ends are the places behind the newest records.
func Ends(ctx context.Context, store Reader) (Places, error) {
	logs, err := store.Logs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	ends := Places{}
	for _, log := range logs {
		head, err := store.Head(ctx, log)
		if err != nil {
			return nil, fmt.Errorf("read the head of log %d: %w", log, err)
		}
		ends[log] = head.Size
	}
	return ends, nil
}

// String writes places as a stream's reader gives them back to go on there: "0-17,1-4".
func (p Places) String() string {
	list := make([]string, 0, len(p))
	for _, log := range slices.Sorted(maps.Keys(p)) {
		list = append(list, act.Position{Log: log, Index: p[log]}.String())
	}
	return strings.Join(list, ",")
}

// maxPlaces is how many logs places name at most.
const maxPlaces = 1024

// ParsePlaces reads what String wrote.
func ParsePlaces(text string) (Places, error) {
	p := Places{}
	for i, one := range strings.Split(text, ",") {
		pos, err := act.ParsePosition(one)
		if _, twice := p[pos.Log]; err != nil || twice || i == maxPlaces {
			return nil, wrongQuery("%s is no place in the logs that a stream gave", strconv.QuoteToASCII(one[:min(len(one), 80)]))
		}
		p[pos.Log] = pos.Index
	}
	return p, nil
}

// Follow calls f with what a query asks for, of what is written from some places on, until
// ctx ends or f returns an error, which Follow returns. A log that is not among the places is
// followed from its beginning. at is behind the line, of all logs. Of lines of several
// logs that were written at nearly the same time a later one may come first.
func (t *Tail) Follow(ctx context.Context, store Reader, q Query, from Places, f func(l *Line, at Places) error) error {
	if err := q.Check(); err != nil {
		return err
	}
	if q.Text != "" || q.Cursor != "" {
		return wrongQuery("what is written from now on is followed without a text and a cursor")
	}
	at := maps.Clone(from)
	for {
		written := t.Written()
		more, err := follow(ctx, store, q, at, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-written:
		}
	}
}

// follow reads some of what is new in each log.
func follow(ctx context.Context, store Reader, q Query, at Places, f func(l *Line, at Places) error) (more bool, err error) {
	logs, err := store.Logs(ctx)
	if err != nil {
		return false, fmt.Errorf("list the logs: %w", err)
	}
	var found []Line
	to := Places{}
	for _, log := range logs {
		if len(q.Logs) > 0 && !slices.Contains(q.Logs, log) {
			continue
		}
		head, err := store.Head(ctx, log)
		if err != nil {
			return false, fmt.Errorf("read the head of log %d: %w", log, err)
		}
		begin := max(at[log], head.Pruned)
		if begin >= head.Size {
			continue
		}
		if head.Size-begin > stretch { // else it ends by itself
			if head, err = ReadHead(ctx, store, log); err != nil {
				return false, err
			}
		}
		to[log] = min(head.Size, begin+stretch)
		more = more || to[log] < head.Size
		lines, err := readLines(ctx, store, log, begin, to[log], every)
		if err != nil {
			return false, err
		}
		found = append(found, lines...)
	}
	slices.SortStableFunc(found, func(a, b Line) int { return a.Time.Compare(b.Time) })
	for i := range found {
		pos := found[i].Position()
		at[pos.Log] = pos.Index + 1
		if !q.Fits(&found[i]) {
			continue
		}
		if err := f(&found[i], at); err != nil {
			return false, err
		}
	}
	maps.Copy(at, to)
	return more, nil
}
