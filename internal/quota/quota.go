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
