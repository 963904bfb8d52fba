package server

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/quota"

	"golang.org/x/time/rate"
)

// How callers share the node. Each call takes a turn, which lasts from when its
// body has come until its answer is known, and weighs one, or more if it is large.
const (
	// recently is for how long after its last call a caller counts as active.
	recently = 10 * time.Second
	// shared is the weight that the active callers may have in work together,
	// in equal shares, as long as there are several. A caller alone may use
	// everything; with others beside it, what it has in work is what they wait
	// behind.
	shared = 48
	// leastShare is the smallest share.
	leastShare = 4
	// weightOf is how many bytes of body add one to a call's weight, since
	// reading and judging them takes as long as a small call.
	weightOf  = 16 << 10
	maxWeight = 16
	// heavyFrom is the weight from which on a call is heavy: detectors look at it for
	// tens of milliseconds, and the ledger seals and writes it as a whole. While several
	// callers are active, one of each is in work, and allHeavy together: what they cost
	// is what the others wait behind, and a processor is left for those.
	heavyFrom = 8
	// maxQueue is how many calls of one caller may wait for their turn.
	maxQueue = 512
	// longestWait is for how long they wait.
	longestWait = 10 * time.Second
	// longestDelay is for how long a call is held so that its caller keeps to
	// its rate, rather than refused.
	longestDelay = time.Second
	// pause is what a refusal takes. A caller that is refused at once asks
	// again at once, and refusing it would be all that the node does.
	pause = 200 * time.Millisecond
	// maxCallers is how many callers are remembered.
	maxCallers = 4096
	// callerBodies and allBodies bound the bodies in memory, in bytes, those that
	// have come by half too: a connection of HTTP/2 alone brings maxStreams of
	// them. A caller has no more than is left for the others, so that however
	// many fill the memory, there is room for one that sends a small body.
	callerBodies = 64 << 20
	allBodies    = 256 << 20
	// comesWithin is how long a body may take to come while its caller's room is short.
	comesWithin = time.Second
)

// limiter lets callers take turns.
type limiter struct {
	total    int             // weight in work at once, of all callers
	allHeavy int             // heavy calls in work at once, of all callers, while several are active
	rate     rate.Limit      // calls a second of one caller; 0 for no limit
	shared   *quota.Portions // of the rate at all nodes; nil for one node
	now      func() time.Time

	mu      sync.Mutex
	used    int   // weight in work
	heavy   int   // heavy calls in work
	waiting int   // calls that wait
	bodies  int64 // bytes reserved for bodies
	callers map[string]*caller
	newest  *caller   // head of the list of callers, the last to ask first
	oldest  *caller   // its end
	queue   []*caller // those with calls that wait, the next one first
}

// caller is one principal. Its fields belong to the limiter's mutex.
type caller struct {
	name         string
	used         int // weight in work
	heavy        int // heavy calls in work
	bodies       int64
	coming       []*room // of those bodies the ones that have not come whole
	waiting      []*waiter
	tokens       *rate.Limiter // nil without a rate
	last         time.Time
	newer, older *caller
}

// waiter is a call that waits for its turn.
type waiter struct {
	weight int
	turn   chan struct{} // closed when it has come
}

// sharedRate waits until a call is within the rate that its caller has at all nodes
// together. ok is false where that cannot be known: then the rate holds for each node.
func (l *limiter) sharedRate(ctx context.Context, name string) (refusal *jsonrpc.Refusal, ok bool) {
	perSecond := float64(l.rate)
	b := quota.Bucket{PerSecond: perSecond, Most: max(1, math.Ceil(perSecond)), Portion: max(1, math.Floor(perSecond/portionsOfSecond)), Keep: max(time.Minute, time.Duration(2/perSecond*float64(time.Second)))}
	for patience := longestDelay; ; {
		within, cancel := context.WithTimeout(ctx, longestDelay)
		wait, taken, err := l.shared.Take(within, "rate "+name, b, 1)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil:
			return nil, false
		case taken:
			return nil, true
		case err != nil || wait > patience:
			return refuse(ctx, &jsonrpc.Refusal{Status: 429, RetryAfter: max(1, int(math.Ceil(wait.Seconds()))), Reason: "You call more often than these nodes allow. Ask again later."}), true
		}
		wait = max(wait, time.Millisecond)
		patience -= wait
		sleep(ctx, wait)
	}
}

// portionsOfSecond is in how many portions what a caller may do in a second is dealt out
// to nodes.
const portionsOfSecond = 20

func newLimiter(total int, perSecond float64) *limiter {
	return &limiter{total: total, allHeavy: max(1, runtime.GOMAXPROCS(0)-1), rate: rate.Limit(perSecond), now: time.Now, callers: make(map[string]*caller)}
}

// busy is the answer when the node, not the caller, is over its limit.
var busy = &jsonrpc.Refusal{Status: 503, RetryAfter: 1, Reason: "The node is at its limit of calls. Ask again in a second."}

// enter waits until a call is within its caller's rate, and for its turn. It returns what ends
// the turn, or why there is none.
func (l *limiter) enter(ctx context.Context, name string, size int) (leave func(), refusal *jsonrpc.Refusal) {
	if refusal := l.pace(ctx, name); refusal != nil {
		return nil, refusal
	}
	return l.turn(ctx, name, size)
}

// pace waits until a call is within its caller's rate, or refuses it.
func (l *limiter) pace(ctx context.Context, name string) *jsonrpc.Refusal {
	if l.rate <= 0 {
		return nil
	}
	if l.shared != nil {
		if refusal, together := l.sharedRate(ctx, name); together {
			return refusal
		}
	}
	l.mu.Lock()
	now := l.now()
	c := l.caller(name, now)
	if c == nil {
		l.mu.Unlock()
		return refuse(ctx, busy)
	}
	r := c.tokens.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	if delay > longestDelay {
		r.CancelAt(now)
	}
	l.mu.Unlock()
	if delay > longestDelay {
		return refuse(ctx, &jsonrpc.Refusal{Status: 429, RetryAfter: int(math.Ceil(delay.Seconds())), Reason: "You call more often than this node allows. Ask again later."})
	}
	if delay > 0 {
		sleep(ctx, delay)
	}
	return nil
}

// turn waits for a call's turn.
func (l *limiter) turn(ctx context.Context, name string, size int) (leave func(), refusal *jsonrpc.Refusal) {
	weight := min(1+size/weightOf, maxWeight, l.total)
	l.mu.Lock()
	c := l.caller(name, l.now())
	if c == nil {
		l.mu.Unlock()
		return nil, refuse(ctx, busy)
	}
	if len(c.waiting) == 0 && l.fits(c, weight) && l.used+weight <= l.total {
		l.begin(c, weight)
		l.mu.Unlock()
		return func() { l.leave(c, weight) }, nil
	}
	if len(c.waiting) >= maxQueue || l.waiting >= 4*l.total {
		r := busy
		if len(c.waiting) >= maxQueue {
			r = &jsonrpc.Refusal{Status: 429, RetryAfter: 1, Reason: "You have too many calls waiting. Ask again when some are answered."}
		}
		l.mu.Unlock()
		return nil, refuse(ctx, r)
	}
	w := &waiter{weight, make(chan struct{})}
	if len(c.waiting) == 0 {
		l.queue = append(l.queue, c)
	}
	c.waiting = append(c.waiting, w)
	l.waiting++
	l.mu.Unlock()

	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-w.turn:
		return func() { l.leave(c, weight) }, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if !l.abandon(c, w) { // its turn came just now
		l.leave(c, weight)
	}
	return nil, busy
}

// refuse returns the refusal after the pause.
func refuse(ctx context.Context, r *jsonrpc.Refusal) *jsonrpc.Refusal {
	sleep(ctx, pause)
	return r
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fits reports whether a caller may have so much more in work. A caller with
// nothing in work always may, but for a heavy call where others' are in work.
func (l *limiter) fits(c *caller, weight int) bool {
	share := l.share(c)
	if weight >= heavyFrom && share < l.total && (c.heavy > 0 || l.heavy >= l.allHeavy) {
		return false
	}
	return c.used == 0 || c.used+weight <= share
}

// share is the weight that a caller may have in work now.
func (l *limiter) share(c *caller) int {
	active := 0
	for other := l.newest; other != nil && active < shared/leastShare && c.last.Sub(other.last) < recently; other = other.older {
		active++
	}
	if active <= 1 {
		return l.total
	}
	return min(shared/active, l.total)
}

func (l *limiter) begin(c *caller, weight int) {
	c.used += weight
	l.used += weight
	if weight >= heavyFrom {
		c.heavy++
		l.heavy++
	}
}

// leave ends a turn and gives what it held to those that wait, one caller after
// the other.
func (l *limiter) leave(c *caller, weight int) {
	l.mu.Lock()
	c.used -= weight
	l.used -= weight
	if weight >= heavyFrom {
		c.heavy--
		l.heavy--
	}
	l.dispatch()
	l.mu.Unlock()
}

func (l *limiter) dispatch() {
	for unfit := 0; unfit < len(l.queue); {
		c := l.queue[0]
		w := c.waiting[0]
		if l.used > 0 && l.used+w.weight > l.total {
			return // nobody overtakes it, or a large call would wait for ever
		}
		if l.fits(c, w.weight) {
			l.begin(c, w.weight)
			c.waiting = c.waiting[1:]
			l.waiting--
			close(w.turn)
			unfit = 0
		} else {
			unfit++
		}
		l.queue = l.queue[1:]
		if len(c.waiting) > 0 {
			l.queue = append(l.queue, c)
		}
	}
}

// abandon takes a call out of the queue. It is false when its turn has come.
func (l *limiter) abandon(c *caller, w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range c.waiting {
		if other != w {
			continue
		}
		c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
		l.waiting--
		if len(c.waiting) == 0 {
			for k, q := range l.queue {
				if q == c {
					l.queue = append(l.queue[:k:k], l.queue[k+1:]...)
					break
				}
			}
		}
		l.dispatch() // what it waited in front of may fit
		return true
	}
	return false
}

// caller finds or remembers a caller and notes that it asks. It is nil when too
// many are at work to remember another.
func (l *limiter) caller(name string, now time.Time) *caller {
	c := l.callers[name]
	if c == nil {
		if len(l.callers) >= maxCallers && !l.forget() {
			return nil
		}
		c = &caller{name: name}
		if l.rate > 0 {
			c.tokens = rate.NewLimiter(l.rate, max(1, int(math.Ceil(float64(l.rate)))))
		}
		l.callers[name] = c
	} else {
		l.unlink(c)
	}
	c.last = now
	c.older = l.newest
	if l.newest != nil {
		l.newest.newer = c
	} else {
		l.oldest = c
	}
	l.newest = c
	return c
}

func (l *limiter) unlink(c *caller) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		l.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		l.oldest = c.newer
	}
	c.newer, c.older = nil, nil
}

// forget drops the caller that has been idle longest.
func (l *limiter) forget() bool {
	for c := l.oldest; c != nil; c = c.newer {
		if c.used == 0 && c.bodies == 0 && len(c.waiting) == 0 {
			l.unlink(c)
			delete(l.callers, c.name)
			return true
		}
	}
	return false
}

// reserve takes memory for a body before any of it is read.
func (l *limiter) reserve(ctx context.Context, name string, size int64) (release func(), refusal *jsonrpc.Refusal) {
	whole, release, refusal := l.receive(ctx, name, size, nil)
	if refusal == nil {
		whole()
	}
	return release, refusal
}

// noRoom is why a caller has no memory for so much more; nil where it has. What is left of
// it all is for others.
func (l *limiter) noRoom(c *caller, size int64) *jsonrpc.Refusal {
	switch {
	case c.bodies+size > callerBodies:
		return &jsonrpc.Refusal{Status: 429, RetryAfter: 1, Reason: "You send too much at once. Send one request after the other."}
	case c.name != identity.Operator.Name && c.bodies+size > allBodies-(l.bodies+size):
		return busy
	}
	return nil
}

// take takes memory for a caller, or gives it back.
func (l *limiter) take(c *caller, size int64) {
	c.bodies += size
	l.bodies += size
}

// giveWay ends a body of a caller that has not come whole, for one of this size: the
// largest that is larger, else the oldest that has taken long. It is false for none.
func (l *limiter) giveWay(c *caller, size int64, now time.Time) bool {
	var least *room
	for _, r := range c.coming { // the oldest first
		if (r.size > size || now.Sub(r.since) >= comesWithin) && (least == nil || r.size > least.size) {
			least = r
		}
	}
	if least == nil {
		return false
	}
	least.end()
	l.take(c, -least.size)
	least.size = 0
	c.coming = slices.DeleteFunc(c.coming, func(r *room) bool { return r == least })
	return true
}

// room is the memory that is reserved for a body while it comes.
type room struct {
	size  int64 // 0 once it gave way
	since time.Time
	end   func() // of its reading
}

// receive reserves memory for a body that comes, as reserve does. Where its caller has none
// left, bodies of the same caller that have not come whole give way: larger ones, and those
// that have taken long. Who sends bodies by half from an address that others have, too, so
// keeps none of them away by it. whole must be called when the body has come, or failed to;
// end, which ends its reading, is called before that or never; nil for what is there already.
func (l *limiter) receive(ctx context.Context, name string, size int64, end func()) (whole, release func(), refusal *jsonrpc.Refusal) {
	l.mu.Lock()
	now := l.now()
	c := l.caller(name, now)
	if refusal = busy; c != nil {
		for refusal = l.noRoom(c, size); refusal != nil && l.giveWay(c, size, now); {
			refusal = l.noRoom(c, size)
		}
	}
	if refusal != nil {
		l.mu.Unlock()
		return nil, nil, refuse(ctx, refusal)
	}
	r := &room{size: size, since: now, end: end}
	l.take(c, size)
	if end != nil {
		c.coming = append(c.coming, r)
	}
	l.mu.Unlock()
	whole = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.coming = slices.DeleteFunc(c.coming, func(other *room) bool { return other == r })
	}
	release = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.take(c, -r.size)
		r.size = 0
	}
	return whole, release, nil
}

// waitingCalls is how many calls wait for their turn.
func (l *limiter) waitingCalls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}
