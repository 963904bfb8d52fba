// Package export gives what a log holds to somebody outside who collects it, such as a
// tracing back end. It follows the log by its tail, beside the commits and in its own
// time: no decision waits for it. How far it has come lies in the database, so that after
// a crash it goes on where it was, and what was sent since it last wrote that down is sent
// again: at least once, and nothing is lost while the records are there.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"
)

// Record is a record of the log with what lies beside it. Fields of the opening that were
// not kept, or are gone, are nil.
type Record struct {
	ledger.Record
	Raw     []byte    // the record as it stands in the log
	Leaf    tlog.Hash // its hash in the log's tree
	Opening ledger.Opening
	Facts   ledger.Facts
}

// Sink makes something of records and sends it. Its methods are called by one goroutine.
type Sink interface {
	// Take takes up the next record. What is to be sent because of it waits for Send.
	Take(r *Record)
	// Pass tells the time: what waits for records that did not come is sent without them.
	Pass(now time.Time)
	// Send sends what waits, and returns how many were sent. After an error what was not
	// sent still waits, and Send is called again, with nothing else between: after a
	// *RefusedError at once, and what that counts is given up.
	Send(ctx context.Context) (sent int, err error)
	// Since is the oldest record that something still to come depends on; false for none.
	Since() (index uint64, ok bool)
	// Forget drops what waits for Send: it was sent before.
	Forget()
}

// RefusedError says that the receiver will never take some of what was sent.
type RefusedError struct {
	N   int
	Err error
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Store is what a Follower needs of a database.
type Store interface {
	ledger.Reader
	Reached(ctx context.Context, follower string, log uint32) ([]byte, error)
	PutReached(ctx context.Context, follower string, log uint32, data []byte) error
}

// Follower gives a log to a sink. Prepare comes first, and then Run.
type Follower struct {
	Name   string // by which the place is kept; metrics and log lines have it, too
	Store  Store
	Log    uint32
	Tail   *ledger.Tail // tells when there is something new
	Sink   Sink
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default

	next   uint64        // the first record that was not taken up
	looked time.Time     // when the last round began
	late   time.Duration // how old the first record was when it was taken up
	kept   time.Time     // when the place was last kept
	dirty  bool          // since then it has changed
	parts  map[[32]byte][]byte

	failing atomic.Bool
	size    atomic.Uint64 // of the log
	behind  atomic.Uint64 // the first record that was not sent
	oldest  atomic.Int64  // its time, in microseconds; 0 when nothing waits
	sent    atomic.Uint64
	refused atomic.Uint64
	pruned  atomic.Uint64
	damaged atomic.Uint64
}

// Bounds of a follower's work.
const (
	stretch = 256                    // records read at once
	most    = 16 << 20               // bytes of what lies beside them, beyond the first one's: an agent's acts are long at will
	pause   = 250 * time.Millisecond // between looks, so that many commits are one look
	tick    = time.Second            // between looks at a silent log
	keep    = 2 * time.Second        // between writing down the place
	// A follower rests so many times as long as it has worked. While the node decides much,
	// whoever asks it needs the processor more, and what is new can wait: but not for ever.
	share     = 4
	shareBusy = 40
	busyFrom  = 200 // records a second
	patience  = time.Minute

	firstRetry = time.Second
	lastRetry  = time.Minute
	lastTry    = 5 * time.Second // to send the rest when the node stops
	maxParts   = 256
)

// place is how far a follower has come, as it is kept.
type place struct {
	Next uint64 `json:"next"`
	// Since is the oldest record that must be read again, to know what waits for
	// something. At is until when time had passed.
	Since uint64    `json:"since"`
	At    time.Time `json:"at"`
}

// Prepare finds where to go on: where the follower was, and the first time at the log's
// end, which is written down, so that nothing that is written from now on is missed.
func (f *Follower) Prepare(ctx context.Context) error {
	if f.Now == nil {
		f.Now = time.Now
	}
	if f.Logger == nil {
		f.Logger = slog.Default()
	}
	head, err := f.Store.Head(ctx, f.Log)
	if err != nil {
		return fmt.Errorf("read the head of log %d: %w", f.Log, err)
	}
	f.size.Store(head.Size)
	p := place{Next: head.Size, Since: max(head.Size, 1) - 1, At: f.Now()} // the last one before is what the first new one follows on
	data, err := f.Store.Reached(ctx, f.Name, f.Log)
	if first := errors.Is(err, ledger.ErrNotFound); first {
		f.dirty, err = true, nil
	} else if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return fmt.Errorf("read how far %s has come in log %d: %w", f.Name, f.Log, err)
	}
	// A database that was put back to an earlier state may have fewer records.
	f.next = min(p.Next, head.Size)
	f.behind.Store(f.next)
	for from := max(p.Since, head.Pruned); from < f.next; {
		records, to, err := f.Read(ctx, from, min(f.next, from+stretch))
		if err != nil {
			return err
		}
		from = to
		for i := range records {
			f.Sink.Take(&records[i])
		}
	}
	f.Sink.Pass(p.At)
	f.Sink.Forget()
	return f.keep(ctx)
}

// Run follows the log until ctx ends, and then tries once to send the rest.
func (f *Follower) Run(ctx context.Context) {
	for ctx.Err() == nil {
		written, began, before := f.Tail.Written(), time.Now(), f.size.Load()
		more, err := f.round(ctx)
		if err != nil && ctx.Err() == nil {
			f.Logger.Error("the ledger is not exported", "exporter", f.Name, "error", err)
			wait(ctx, nil, firstRetry)
			continue
		}
		worked := time.Since(began)
		rate := float64(f.size.Load()-before) / began.Sub(f.looked).Seconds()
		f.looked = began
		wait(ctx, nil, rest(worked, rate, f.late, more))
		if !more {
			wait(ctx, written, tick)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTry)
	defer cancel()
	for more := true; more; {
		var err error
		if more, err = f.once(last); err != nil {
			return // the next run goes on where this one was
		}
	}
	f.kept = time.Time{}
	_ = f.keep(last) // likewise
}

// rest is how long to rest after so much work, while so many records a second come and what
// is to be sent is so late.
func rest(worked time.Duration, rate float64, late time.Duration, more bool) time.Duration {
	times := time.Duration(share)
	if rate >= busyFrom && late < patience {
		times = shareBusy
	}
	if !more {
		return max(times*worked, pause)
	}
	return times * worked
}

// wait waits for a time, or until something was written; nil for the time alone.
func wait(ctx context.Context, written <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-written:
	case <-timer.C:
	}
}

// round takes up what is new, some of it, and sends until it has arrived.
func (f *Follower) round(ctx context.Context) (more bool, err error) {
	if more, err = f.take(ctx); err != nil {
		return false, err
	}
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		if err := f.send(ctx); err == nil {
			break
		} else if ctx.Err() == nil && !f.failing.Swap(true) {
			f.Logger.Warn("nothing arrives where the ledger is exported to; it is tried again until it does", "exporter", f.Name, "error", err)
		}
		wait(ctx, nil, retry)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if head, err := f.Store.Head(ctx, f.Log); err == nil {
			f.size.Store(head.Size)
		}
	}
	if f.failing.Swap(false) {
		f.Logger.Info("what is exported arrives again", "exporter", f.Name)
	}
	return more, f.keep(ctx)
}

// once is round without trying again.
func (f *Follower) once(ctx context.Context) (more bool, err error) {
	if err := f.send(ctx); err != nil { // what a round before has left
		return false, err
	}
	if more, err = f.take(ctx); err == nil {
		err = f.send(ctx)
	}
	return more, err
}

// take takes up the next stretch.
func (f *Follower) take(ctx context.Context) (more bool, err error) {
	head, err := f.Store.Head(ctx, f.Log)
	if err != nil {
		return false, fmt.Errorf("read the head of log %d: %w", f.Log, err)
	}
	f.size.Store(head.Size)
	if f.next < head.Pruned {
		f.pruned.Add(head.Pruned - f.next)
		f.Logger.Error("records were pruned before they were exported", "exporter", f.Name, "records", head.Pruned-f.next)
		f.next, f.dirty = head.Pruned, true
	}
	to := min(head.Size, f.next+stretch)
	if f.next < to {
		var records []Record
		if records, to, err = f.Read(ctx, f.next, to); err != nil {
			return false, err
		}
		for i := range records {
			if i == 0 {
				f.oldest.Store(records[i].Time.UnixMicro())
				f.late = f.Now().Sub(records[i].Time)
			}
			f.Sink.Take(&records[i])
		}
		f.next, f.dirty = to, true
	}
	f.Sink.Pass(f.Now())
	return to < head.Size, nil
}

// send sends what waits.
func (f *Follower) send(ctx context.Context) error {
	for {
		sent, err := f.Sink.Send(ctx)
		f.sent.Add(uint64(sent))
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			f.refused.Add(uint64(refused.N))
			f.Logger.Error("what was exported was refused, and is not sent again", "exporter", f.Name, "dropped", refused.N, "error", err)
			continue
		}
		if err == nil {
			f.behind.Store(f.next)
			f.oldest.Store(0)
		}
		return err
	}
}

// keep writes down the place, now and then.
func (f *Follower) keep(ctx context.Context) error {
	now := f.Now()
	if !f.dirty || now.Sub(f.kept) < keep && !now.Before(f.kept) {
		return nil
	}
	p := place{Next: f.next, Since: f.next, At: now}
	if since, ok := f.Sink.Since(); ok {
		p.Since = min(since, f.next)
	}
	data, err := json.Marshal(p)
	if err == nil {
		err = f.Store.PutReached(ctx, f.Name, f.Log, data)
	}
	if err != nil {
		return fmt.Errorf("write down how far %s has come in log %d: %w", f.Name, f.Log, err)
	}
	f.kept, f.dirty = now, false
	return nil
}

// errMost ends a stretch before its end.
var errMost = errors.New("that is enough at once")

// Read reads records with what lies beside them, and returns up to where: fewer of them are
// read at once where they are long. One that is damaged is left out: whoever verifies the
// log hears of it, and the others go on. Of a Follower it needs a Name, a Store, a Log and
// a Logger.
func (f *Follower) Read(ctx context.Context, from, to uint64) ([]Record, uint64, error) {
	failed := func(what string, err error) ([]Record, uint64, error) {
		return nil, from, fmt.Errorf("read %s %d to %d of log %d: %w", what, from, to, f.Log, err)
	}
	beside := [2]map[uint64][]byte{}
	for i, read := range []func(context.Context, uint32, uint64, uint64, func(uint64, []byte) error) error{f.Store.Openings, f.Store.Facts} {
		beside[i] = map[uint64][]byte{}
		size, reached := 0, to
		err := read(ctx, f.Log, from, to, func(index uint64, data []byte) error {
			if size += len(data); size > most && index > from {
				reached = index
				return errMost
			}
			beside[i][index] = append([]byte(nil), data...)
			return nil
		})
		if err != nil && !errors.Is(err, errMost) {
			return failed("what lies beside records", err)
		}
		to = reached
	}
	records := make([]Record, 0, to-from)
	err := f.Store.Records(ctx, f.Log, from, to, func(index uint64, data []byte) error {
		r, err := ledger.ParseRecord(data)
		if err != nil || r.Log != f.Log || r.Index != index {
			f.damaged.Add(1)
			f.Logger.Error("a damaged record is not exported: run reeve ledger verify", "exporter", f.Name, "index", index)
			return nil
		}
		records = append(records, Record{Record: r, Raw: append([]byte(nil), data...), Leaf: tlog.RecordHash(data)})
		return nil
	})
	if err != nil {
		return failed("records", err)
	}
	for i := range records {
		r := &records[i]
		o, err := r.Open(beside[0][r.Index], beside[1][r.Index], func(hash [32]byte) ([]byte, error) { return f.part(ctx, hash) })
		if err != nil {
			if o, err = r.Open(nil, beside[1][r.Index], nil); err != nil {
				continue // the record is all that is known
			}
		}
		r.Opening, r.Facts = o, o.Facts()
	}
	return records, to, nil
}

// part reads a part of openings, such as an agent's description, which many share.
func (f *Follower) part(ctx context.Context, hash [32]byte) ([]byte, error) {
	if data, ok := f.parts[hash]; ok {
		return data, nil
	}
	data, err := f.Store.Part(ctx, hash)
	if err == nil {
		if len(f.parts) >= maxParts {
			clear(f.parts)
		}
		if f.parts == nil {
			f.parts = map[[32]byte][]byte{}
		}
		f.parts[hash] = data
	}
	return data, err
}

// Stats is how an exporter does.
type Stats struct {
	Behind                         uint64        // records that were not sent yet
	Delay                          time.Duration // how old the oldest of them is that was taken up
	Sent, Refused, Pruned, Damaged uint64
	Failing                        bool
}

// Stats may be called at any time.
func (f *Follower) Stats() Stats {
	s := Stats{
		Sent: f.sent.Load(), Refused: f.refused.Load(), Pruned: f.pruned.Load(), Damaged: f.damaged.Load(), Failing: f.failing.Load(),
	}
	if size, behind := f.size.Load(), f.behind.Load(); size > behind {
		s.Behind = size - behind
	}
	if oldest := f.oldest.Load(); oldest > 0 {
		s.Delay = max(time.Since(time.UnixMicro(oldest)), 0)
	}
	return s
}
