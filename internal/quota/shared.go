package quota

import (
	"context"
	"sync"
	"time"
)

// Shared is where nodes that share a database have their rates and quotas together. What a
// node may use it is given in portions, so that few of its decisions wait for the
// database: a portion is taken from what all have before it is used, so that a node that
// is killed with one takes it with it, and nobody ever has too much.
type Shared interface {
	// Draw takes whole units from a bucket, at most n. When there is none, wait is how long
	// it takes until there is one, a minute at most.
	Draw(ctx context.Context, name string, b Bucket, n float64) (got float64, wait time.Duration, err error)
	// ReserveItems and ReserveTasks reserve room for what an owner is about to make. has
	// is what there is, with what is reserved for other nodes and what is being made.
	ReserveItems(ctx context.Context, kind string, open bool, r Reservation) (granted, has Room, err error)
	ReserveTasks(ctx context.Context, r Reservation) (granted, has Room, err error)
}

// Bucket fills by PerSecond up to Most; a new one is full.
type Bucket struct {
	PerSecond float64
	Most      float64
	// Portion is how much a node takes at once.
	Portion float64
	// Keep is for how long it is remembered that it is not full.
	Keep time.Duration
}

// Room is for how many things, of how many bytes in all.
type Room struct {
	N     int
	Bytes int64
}

// Reservation asks for room for what is about to be made.
type Reservation struct {
	Owner   string
	Most    Most
	Flying  Room // what this node is making already
	Want    Room // what it must have
	Portion Room // what it takes where there is so much
}

// Grant is what of a reservation there is room for beside what an owner has. Without room
// for what is wanted there is none.
func (r *Reservation) Grant(has Room) (granted Room) {
	n, ok := grant(int64(r.Most.N), int64(has.N), int64(r.Want.N), int64(r.Portion.N))
	bytes, fits := grant(r.Most.Bytes, has.Bytes, r.Want.Bytes, r.Portion.Bytes)
	if !ok || !fits {
		return Room{}
	}
	return Room{int(n), bytes}
}

func grant(most, has, want, portion int64) (n int64, ok bool) {
	if most <= 0 { // no bound
		return max(want, portion), true
	}
	if want > 0 && has+want > most {
		return 0, false
	}
	return max(want, min(portion, most-has)), true
}

// Portions are what this node has taken from buckets and not used. It is safe for
// concurrent use.
type Portions struct {
	From Shared
	Now  func() time.Time // nil means time.Now

	mu sync.Mutex
	of map[string]*portion
}

// portion is what there is of one bucket. Its fields belong to its mutex: while one asks
// for more, the others of its owner wait for that.
type portion struct {
	mu    sync.Mutex
	left  float64
	taken time.Time
	empty time.Time // until when there is nothing to be had
}

// staleAfter is when a portion is dropped that was not used: it was filled meanwhile.
const staleAfter = time.Second

// Take uses n units of a bucket. ok is false when there are none: wait is how long it
// takes until there may be.
func (p *Portions) Take(ctx context.Context, name string, b Bucket, n float64) (wait time.Duration, ok bool, err error) {
	one := p.portion(name)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := p.now()
	if b.PerSecond > 0 && now.Sub(one.taken) > staleAfter {
		one.left = 0
	}
	for one.left < n {
		if wait := one.empty.Sub(now); wait > 0 {
			return wait, false, nil
		}
		got, wait, err := p.From.Draw(ctx, name, b, max(b.Portion, n-one.left))
		if err != nil {
			return 0, false, err
		}
		one.left, one.taken = one.left+got, now
		if got < 1 {
			one.empty = now.Add(wait)
			return wait, false, nil
		}
	}
	one.left -= n
	return 0, true, nil
}

func (p *Portions) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

func (p *Portions) portion(name string) *portion {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of[name]
	if one == nil {
		if p.of == nil || len(p.of) >= maxOwners {
			p.of = map[string]*portion{} // portions are lost, which gives nobody too much
		}
		one = &portion{}
		p.of[name] = one
	}
	return one
}
