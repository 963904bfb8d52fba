package guard

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/quota"
)

// Quotas bound what one principal may have of what stays until it is answered, or for
// good. A bound of 0 is none.
type Quotas struct {
	Agents int   // registered agents
	Held   int   // acts that wait for people
	Bytes  int64 // of each of these kinds
	// Contents is how many bytes of contents of a principal's acts are kept of one day
	// (UTC). Further acts are judged and recorded as ever, without their contents.
	Contents int64
}

// QuotaError says that a principal has as much as it may have.
type QuotaError struct {
	Quota  string // its name, such as held
	Reason string // a sentence
}

func (e *QuotaError) Error() string { return e.Reason }

// Quota bounds what one owner may have of a kind of items. A bound of 0 is none.
type Quota struct {
	Name    string // of the setting, such as "agents"
	What    string // what it bounds, in words
	Instead string // what who has as much can do: a sentence
	N       int
	Bytes   int64 // of their data
	Open    bool  // only those that are open count
}

// counter knows what owners have of a kind of items.
type counter struct {
	quota.Counter
	of Quota
}

// newCounter returns the counter of a kind of items; nil where nothing is bounded.
func (g *Guard) newCounter(kind string, q Quota) *counter {
	if q.N <= 0 && q.Bytes <= 0 {
		return nil
	}
	c := &counter{of: q, Counter: quota.Counter{
		Most: quota.Most{N: q.N, Bytes: q.Bytes}, Now: g.cfg.Now,
		Count: func(ctx context.Context, owner string) (int, int64, error) {
			return g.cfg.Store.CountItems(ctx, kind, owner, q.Open)
		},
	}}
	if shared := g.cfg.Shared; shared != nil {
		c.Reserve = func(ctx context.Context, r quota.Reservation) (granted, has quota.Room, err error) {
			return shared.ReserveItems(ctx, kind, q.Open, r)
		}
	}
	return c
}

// charge takes room for items before they are written. made must be called with whether
// they were. The error is a *QuotaError when there is none.
func (g *Guard) charge(ctx context.Context, items []*Item) (made func(bool), err error) {
	if len(items) == 0 {
		return func(bool) {}, nil
	}
	var all []func(bool)
	made = func(ok bool) {
		for _, f := range all {
			f(ok)
		}
	}
	for _, i := range items {
		if !i.Charged || i.quota == nil || i.Owner == "" {
			continue
		}
		q := &i.quota.of
		if q.Open && !i.Open {
			continue
		}
		n, bytes := 1, len(i.Data)
		if i.Found && i.was.Owner == i.Owner && (i.was.Open || !q.Open) {
			n, bytes = 0, bytes-i.bytes
		}
		one, err := i.quota.Take(ctx, i.Owner, n, int64(max(0, bytes)))
		if full, ok := errors.AsType[*quota.Full](err); ok {
			err = g.full(q, n, full)
		}
		if err != nil {
			made(false)
			return nil, err
		}
		all = append(all, one)
	}
	return made, nil
}

// full says that a quota has no room.
func (g *Guard) full(q *Quota, n int, full *quota.Full) error {
	g.cfg.Refused(q.Name)
	if full.N > 0 && full.HasN+n > full.N {
		return &QuotaError{q.Name, fmt.Sprintf("You may have %d %s (the node's quotas.%s), and have %d. %s", full.N, q.What, q.Name, full.HasN, q.Instead)}
	}
	return &QuotaError{q.Name, fmt.Sprintf("You may have %d bytes of %s (the node's quotas.bytes), and have %d. %s", full.Bytes, q.What, full.HasBytes, q.Instead)}
}

// contents counts how many bytes of contents were kept of each principal's acts of this
// day, by the nodes of a shared database together, else by this one since it started: so
// that none fills the disk, or makes others'
// contents go before their time.
type contents struct {
	most   int64
	shared *quota.Portions // what all nodes keep together; nil for one node
	seed   maphash.Seed
	logger *slog.Logger

	mu   sync.Mutex
	day  int64
	used map[string]*usage
}

// usage is the quota of contents that a principal has used today.
type usage struct {
	bytes int64
	// shared is the hash of what its last act had in common with others, which is stored once.
	shared uint64
	over   bool // and it was said
}

// maxPrincipals is of how many principals it is remembered; the others are one.
const maxPrincipals = 4096

// together reports whether there is room for contents in what all nodes keep of a principal
// today. Where that cannot be known there is none.
func (c *contents) together(name string, bytes int) bool {
	if c.shared == nil || bytes <= 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	most := float64(c.most)
	_, ok, err := c.shared.Take(ctx, fmt.Sprintf("contents %d %s", c.day, name), quota.Bucket{Most: most, Portion: max(1, most/64), Keep: 25 * time.Hour}, float64(bytes))
	return ok && err == nil
}

// take reports whether an act's contents can be kept.
func (c *contents) take(a *act.Action, bytes int, shared []byte) bool {
	if c.most <= 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if day := a.At.Unix() / int64(24*time.Hour/time.Second); day != c.day || c.used == nil {
		c.day, c.used = day, map[string]*usage{}
	}
	name := a.Principal.Name
	if c.used[name] == nil && len(c.used) >= maxPrincipals {
		name = ""
	}
	k := c.used[name]
	if k == nil {
		k = &usage{}
		c.used[name] = k
	}
	if len(shared) > 0 {
		if h := maphash.Bytes(c.seed, shared); h == k.shared {
			bytes -= len(shared)
		} else {
			k.shared = h
		}
	}
	if k.bytes+int64(bytes) <= c.most && c.together(name, bytes) {
		k.bytes += int64(bytes)
		return true
	}
	if !k.over {
		k.over = true
		c.logger.Warn("contents of a principal's acts are not kept any more today: see quotas.contents", "principal", name, "kept", k.bytes)
	}
	return false
}
