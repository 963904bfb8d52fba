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
	Servers int   // MCP servers whose tools are pinned
	Agents  int   // registered agents
	Held    int   // acts that wait for people
	Bytes   int64 // of each of these kinds
	// Contents is how many bytes of contents of a principal's acts are kept of one day
	// (UTC). Further acts are judged and recorded as ever, without their contents.
	Contents int64
}

// QuotaError says that a principal has as much as it may have.
type QuotaError struct {
	Quota  string // its name: servers, agents, held
	Reason string // a sentence
}

func (e *QuotaError) Error() string { return e.Reason }

// counters are what principals have.
type counters struct {
	servers, agents, held quota.Counter
	contents              contents
}

func (g *Guard) count() {
	of := func(n int, kind string, open bool) quota.Counter {
		return quota.Counter{Most: quota.Most{N: n, Bytes: g.cfg.Quotas.Bytes}, Now: g.cfg.Now, Count: func(ctx context.Context, owner string) (int, int64, error) {
			return g.cfg.Store.CountItems(ctx, kind, owner, open)
		}}
	}
	q := g.cfg.Quotas
	g.counters.servers = of(q.Servers, toolsKind, false)
	g.counters.agents = of(q.Agents, agentKind, false)
	g.counters.held = of(q.Held, approvalKind, true)
	g.counters.contents = contents{most: q.Contents, seed: maphash.MakeSeed(), logger: g.cfg.Logger}
}

// take takes room for a principal's things before they are made. made must be called with
// whether they were.
func (g *Guard) take(ctx context.Context, c *quota.Counter, name, what, instead, owner string, n int, bytes int64) (made func(bool), err error) {
	made, err = c.Take(ctx, owner, n, bytes)
	if full, ok := errors.AsType[*quota.Full](err); ok {
		g.cfg.Refused(name)
		if full.N > 0 && full.HasN+n > full.N {
			return nil, &QuotaError{name, fmt.Sprintf("You may have %d %s (the node's quotas.%s), and have %d. %s", full.N, what, name, full.HasN, instead)}
		}
		return nil, &QuotaError{name, fmt.Sprintf("You may have %d bytes of %s (the node's quotas.bytes), and have %d. %s", full.Bytes, what, full.HasBytes, instead)}
	}
	return made, err
}

// contents counts how many bytes of contents were kept of each principal's acts of this
// day, by this node since it started: so that none fills the disk, or makes others'
// contents go before their time.
type contents struct {
	most   int64
	seed   maphash.Seed
	logger *slog.Logger

	mu   sync.Mutex
	day  int64
	used map[string]*kept
}

// kept is what was kept of a principal's acts.
type kept struct {
	bytes int64
	// shared is the hash of what its last act had in common with others, which is stored once.
	shared uint64
	over   bool // and it was said
}

// maxPrincipals is of how many principals it is remembered; the others are one.
const maxPrincipals = 4096

// take reports whether an act's contents can be kept.
func (c *contents) take(a *act.Action, bytes int, shared []byte) bool {
	if c.most <= 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if day := a.At.Unix() / int64(24*time.Hour/time.Second); day != c.day || c.used == nil {
		c.day, c.used = day, map[string]*kept{}
	}
	name := a.Principal.Name
	if c.used[name] == nil && len(c.used) >= maxPrincipals {
		name = ""
	}
	k := c.used[name]
	if k == nil {
		k = &kept{}
		c.used[name] = k
	}
	if len(shared) > 0 {
		if h := maphash.Bytes(c.seed, shared); h == k.shared {
			bytes -= len(shared)
		} else {
			k.shared = h
		}
	}
	if k.bytes+int64(bytes) <= c.most {
		k.bytes += int64(bytes)
		return true
	}
	if !k.over {
		k.over = true
		c.logger.Warn("contents of a principal's acts are not kept any more today: see quotas.contents", "principal", name, "kept", k.bytes)
	}
	return false
}
