// Package replay judges the acts of a window once more, as they were and with the session
// memory that they had, under a candidate policy, and tells what would be decided
// otherwise. It reads, and changes nothing.
//
//	report, err := replay.Run(ctx, store, candidate, replay.Options{Since: yesterday, Keys: keys})
//
// An act comes to one of three ends, which are counted apart: the same, changed, or that
// it cannot be told, because what it was judged by is not there any more.
package replay

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
)

// Store is what is read of the database; see store.Store.
type Store interface {
	ledger.Reader
	KeyWrite(ctx context.Context, pos act.Position, key ledger.Key) (ledger.Claim, error)
	Claims(ctx context.Context, log uint32, from, to uint64, f func(index uint64, c *ledger.Claim) error) error
}

// Options say what is judged again, and how.
type Options struct {
	// Since and Until are the window: the records from one time to before another. Zero
	// is the oldest record, and the newest at the start.
	Since, Until time.Time
	// Keys are those of the ledger's seed, without which nothing that is remembered can be
	// looked up.
	Keys guard.Keys
	// Scored says that a model is asked for the risk of calls now: of a call that none was
	// asked about, it cannot be told what it would have said.
	Scored bool
	// Workers is how many acts are judged at once; 0 for one on each processor.
	Workers int
	// Acts is how many of a group's acts are named.
	Acts int
	// Progress is called now and then, never at once, with how many records were looked at,
	// and of how many; nil for never.
	Progress func(done, of uint64)
}

// Run judges a window again. It ends early, with the error of ctx, when that does.
func Run(ctx context.Context, store Store, candidate *policy.Set, o Options) (*Report, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	source, err := open(ctx, store, o.Since, o.Until)
	if err != nil {
		return nil, err
	}
	var done atomic.Uint64
	shared := &shared{store: store, candidate: candidate, o: &o, policies: map[string]*then{candidate.Hash(): {set: candidate, labels: true}},
		instructions: guard.Instructions{Key: guard.ValuesKey(o.Keys.Values, ledger.Key{})}}
	workers := make([]*worker, o.Workers)
	var group sync.WaitGroup
	for i := range workers {
		w := &worker{shared: shared, queue: make(chan []*item, 1), past: newPasts(memoryMost / o.Workers), tally: newTally(o.Acts)}
		workers[i] = w
		group.Go(func() {
			for items := range w.queue {
				for _, one := range items {
					if ctx.Err() != nil {
						break // what is queued is let go
					}
					if err := w.judge(ctx, one); err != nil {
						cancel(err)
					}
				}
				done.Add(uint64(len(items)))
			}
		})
	}
	stop := report(o.Progress, &done, source.records)
	err = source.each(ctx, func(records uint64) { done.Add(records) }, dispatch(ctx, workers))
	for _, w := range workers {
		close(w.queue)
	}
	group.Wait()
	stop()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	whole := newTally(o.Acts)
	for _, w := range workers {
		whole.join(w.tally)
	}
	r := whole.report()
	r.Candidate, r.Since, r.Until, r.Records = candidate.Hash(), source.since, source.until, source.records
	return r, nil
}

// Bounds of what is in memory at once.
const (
	memoryMost = 128 << 20 // bytes of sessions' memories
	queuedMost = 64        // records handed to a worker at once
	queuedSize = 1 << 20   // and their bytes
)

// dispatch hands the steps of one session to one worker, in their order, and acts of no
// session to any. A call with nil hands out what is left.
func dispatch(ctx context.Context, workers []*worker) func(*item) error {
	waiting := make([][]*item, len(workers))
	sizes := make([]int, len(workers))
	next := 0
	flush := func(i int) error {
		if len(waiting[i]) == 0 {
			return nil
		}
		select {
		case workers[i].queue <- waiting[i]:
			waiting[i], sizes[i] = nil, 0
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return func(one *item) error {
		if one == nil {
			for i := range workers {
				if err := flush(i); err != nil {
					return err
				}
			}
			return nil
		}
		i := next
		if one.step != nil {
			i = int(uint16(one.claim.Key[0])|uint16(one.claim.Key[1])<<8) % len(workers)
		} else {
			next = (next + 1) % len(workers)
		}
		waiting[i], sizes[i] = append(waiting[i], one), sizes[i]+one.size()
		if len(waiting[i]) == queuedMost || sizes[i] > queuedSize {
			return flush(i)
		}
		return nil
	}
}

// report calls progress now and then until the function that it returns is called.
func report(progress func(done, of uint64), done *atomic.Uint64, of uint64) (stop func()) {
	if progress == nil {
		return func() {}
	}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(min(done.Load(), of), of)
			case <-ended:
				progress(min(done.Load(), of), of)
				return
			}
		}
	}()
	return func() { close(ended); <-over }
}

// shared is what the workers have together.
type shared struct {
	store     Store
	candidate *policy.Set
	o         *Options

	instructions guard.Instructions

	mu       sync.Mutex
	policies map[string]*then
	parts    parts
}

// then is the policy that decided; set is nil where it cannot be read any more.
type then struct {
	once sync.Once
	set  *policy.Set
	// labels says that it labelled what was read as the candidate would.
	labels bool
}

// mostPolicies bounds how many policies of a window are held: of further ones nothing is
// asked.
const mostPolicies = 16

// policyOf is the policy of a hash; its set is nil where it cannot be had.
func (s *shared) policyOf(ctx context.Context, hash string) *then {
	s.mu.Lock()
	p := s.policies[hash]
	if p == nil && len(s.policies) < mostPolicies {
		p = new(then)
		s.policies[hash] = p
	}
	s.mu.Unlock()
	if p == nil {
		return new(then)
	}
	p.once.Do(func() {
		if p.set != nil {
			return
		}
		if text, err := s.store.Policy(ctx, hash); err == nil {
			if set, err := policy.Parse(text); err == nil && set.Hash() == hash {
				p.set, p.labels = set, set.SameLabels(s.candidate)
			}
		}
	})
	return p
}

// parts are pieces that many openings share, such as an agent's description. It is safe
// for concurrent use.
type parts struct {
	mu    sync.Mutex
	held  map[[32]byte][]byte
	bytes int
}

const partsMost = 32 << 20

func (s *shared) part(ctx context.Context, hash [32]byte) ([]byte, error) {
	p := &s.parts
	p.mu.Lock()
	data, ok := p.held[hash]
	p.mu.Unlock()
	if ok {
		return data, nil
	}
	data, err := s.store.Part(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("a part of it: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil || p.bytes > partsMost {
		p.held, p.bytes = map[[32]byte][]byte{}, 0
	}
	if _, ok := p.held[hash]; !ok {
		p.held[hash] = data
		p.bytes += len(data)
	}
	return data, nil
}
