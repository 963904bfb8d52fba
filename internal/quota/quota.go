// Package quota bounds what each caller may have of things that stay.
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Most is how much one owner may have. A bound of 0 is none.
type Most struct {
	N     int
	Bytes int64
}

// Full says that an owner has as much as it may have.
type Full struct {
	Most
	HasN     int
	HasBytes int64
}

func (e *Full) Error() string {
	return fmt.Sprintf("at most %d with %d bytes, and there are %d with %d", e.N, e.Bytes, e.HasN, e.HasBytes)
}

// Counter knows what each owner has. What is stored is counted in the store, so that a
// restart forgets nothing; between two counts, what is made is added.
type Counter struct {
	Most Most
	Now  func() time.Time
	// Count counts what an owner has in the store.
	Count func(ctx context.Context, owner string) (n int, bytes int64, err error)
	// Reserve, if set, is asked instead, where others make such things too: see Shared.
	Reserve func(ctx context.Context, r Reservation) (granted, has Room, err error)

	mu    sync.Mutex
	usage map[string]*usage
}

// usage is what an owner has, never less than it is: what has ended since it was counted
// counts until it is counted again.
type usage struct {
	mu      sync.Mutex
	counted time.Time
	n       int
	bytes   int64
	flying  int   // of n, what is being made
	afloat  int64 // likewise of bytes

	room     Room      // reserved, and not used yet; with Reserve
	reserved time.Time // when it was
}

// recount is how old a count may be, and again how soon another is made where it says that
// there is no room: counting costs more than refusing.
const (
	recount = time.Minute
	again   = time.Second
)

// maxOwners is of how many owners it is remembered what they have.
const maxOwners = 4096

// Take takes room before something is made, so that of many at once no more are made
// than there is room for. The error is *Full when there is none. made must be called once,
// with whether they were.
func (c *Counter) Take(ctx context.Context, owner string, n int, bytes int64) (made func(bool), err error) {
	if c.Most == (Most{}) || n <= 0 && bytes <= 0 {
		return func(bool) {}, nil
	}
	u := c.of(owner)
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.Reserve != nil {
		return c.takeReserved(ctx, u, owner, Room{max(0, n), max(0, bytes)})
	}
	full := func() bool {
		return c.Most.N > 0 && n > 0 && u.n+n > c.Most.N || c.Most.Bytes > 0 && bytes > 0 && u.bytes+bytes > c.Most.Bytes
	}
	if age := c.Now().Sub(u.counted); age > recount || full() && age > again {
		n, size, err := c.Count(ctx, owner)
		if err != nil {
			return nil, err
		}
		u.n, u.bytes, u.counted = n+u.flying, size+u.afloat, c.Now()
	}
	if full() {
		return nil, &Full{c.Most, u.n, u.bytes}
	}
	u.n += n
	u.bytes += bytes
	u.flying += n
	u.afloat += bytes
	return func(ok bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.flying -= n
		u.afloat -= bytes
		if !ok {
			u.n -= n
			u.bytes -= bytes
		}
	}, nil
}

// portions is how many portions all that an owner may have is dealt out in: so much of it
// can lie with nodes that do not use it.
const portions = 64

// reservedFor is for how long a node uses what it has reserved. The store keeps it for
// longer.
const reservedFor = 15 * time.Second

// takeReserved takes room out of what is reserved for this node, and reserves more where
// that is not enough. u is locked.
func (c *Counter) takeReserved(ctx context.Context, u *usage, owner string, want Room) (made func(bool), err error) {
	enough := func() bool {
		return (c.Most.N <= 0 || u.room.N >= want.N) && (c.Most.Bytes <= 0 || u.room.Bytes >= want.Bytes)
	}
	portion := Room{max(1, c.Most.N/portions), max(1, c.Most.Bytes/portions)}
	now := c.Now()
	if now.Sub(u.reserved) > reservedFor {
		u.room = Room{}
	}
	if !enough() {
		if age := now.Sub(u.counted); age < again && full(c.Most, u, want) {
			return nil, &Full{c.Most, u.n, u.bytes}
		}
		granted, has, err := c.Reserve(ctx, Reservation{
			Owner: owner, Most: c.Most, Flying: Room{u.flying, u.afloat}, Want: want, Portion: portion,
		})
		if err != nil {
			return nil, err
		}
		u.room, u.reserved, u.n, u.bytes, u.counted = granted, now, has.N, has.Bytes, now
		if !enough() {
			return nil, &Full{c.Most, has.N, has.Bytes}
		}
	}
	u.room.N -= want.N
	u.room.Bytes -= want.Bytes
	u.flying += want.N
	u.afloat += want.Bytes
	return func(ok bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.flying -= want.N
		u.afloat -= want.Bytes
		if !ok && c.Now().Sub(u.reserved) <= reservedFor {
			u.room.N += want.N
			u.room.Bytes += want.Bytes
		}
		if ok && portion.N <= 1 && c.Most.N > 0 {
			go c.giveBack(u, owner)
		}
	}, nil
}

// giveBack reserves no more than what is being made. Of a small number that an owner may
// have, what was made would else count twice until the reservation is over.
func (c *Counter) giveBack(u *usage, owner string) {
	ctx, cancel := context.WithTimeout(context.Background(), again)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	_, has, err := c.Reserve(ctx, Reservation{Owner: owner, Most: c.Most, Flying: Room{u.flying, u.afloat}})
	if err == nil { // else it goes with its time
		u.room, u.n, u.bytes, u.counted = Room{}, has.N, has.Bytes, c.Now()
	}
}

// full reports whether there was no room for what is wanted when it was counted last.
func full(most Most, u *usage, want Room) bool {
	return most.N > 0 && want.N > 0 && u.n+want.N > most.N || most.Bytes > 0 && want.Bytes > 0 && u.bytes+want.Bytes > most.Bytes
}

func (c *Counter) of(owner string) *usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.usage[owner]
	if u == nil {
		if c.usage == nil || len(c.usage) >= maxOwners {
			c.usage = map[string]*usage{} // they are counted again
		}
		u = &usage{}
		c.usage[owner] = u
	}
	return u
}
