package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
)

// conns shares the connections that may be open at once. Each belongs to a group: that
// of the principal who last asked by it, and before that of the address it comes from.
// While there is room a group may have as many as it likes. Where it gets scarce, the
// idlest connection of the group that has most ends; never one that awaits an answer,
// since what it asked for is being done.
//
// Whoever comes late finds room all the same: groups beyond their share leave a
// quarter to the others, and groups of more than a few leave some to those who have
// hardly any, such as an operator.
type conns struct {
	most    int
	refused func() // called for each connection that is refused or ended; nil for nobody

	mu     sync.Mutex
	open   int
	groups map[string]*group
}

// share is how many connections a group may always have, and few how many anybody has.
func (p *conns) share() int { return max(1, p.most/4) }
func (p *conns) few() int   { return max(1, p.most/256) }

// group is the connections of one caller. Its fields belong to conns' mutex.
type group struct {
	name string
	open int
	idle list.List // of *conn, those that await nothing, the idlest first
}

// conn is a connection that is counted. Its fields belong to conns' mutex.
type conn struct {
	net.Conn
	pool     *conns
	proxy    bool // of a trusted proxy, by which many callers come: it is of no principal's group
	group    *group
	awaiting int           // answers
	place    *list.Element // in the group's idle; nil while an answer is awaited, and after the end
	ended    bool
}

func newConns(most int, refused func()) *conns {
	return &conns{most: max(1, most), refused: refused, groups: make(map[string]*group)}
}

// admit counts a connection, nil if there is no room for it. The one that makes room,
// if any, is ended.
func (p *conns) admit(c net.Conn, name string, proxy bool) *conn {
	p.mu.Lock()
	g := p.group(name)
	victim, room := p.room(g, proxy)
	var admitted *conn
	if room {
		if victim != nil {
			p.remove(victim)
		}
		admitted = &conn{Conn: c, pool: p, proxy: proxy}
		p.open++
		p.add(admitted, p.group(name)) // the group may have gone with the victim
	} else {
		p.drop(g)
	}
	p.mu.Unlock()
	if victim != nil && room {
		victim.Conn.Close()
	}
	if (victim != nil || !room) && p.refused != nil {
		p.refused()
	}
	return admitted
}

// room reports whether a group may have one more connection, and which one has to end for it.
func (p *conns) room(g *group, proxy bool) (victim *conn, room bool) {
	switch {
	case !proxy && g.open >= p.share() && p.open >= p.most-p.most/4:
		victim = g.idlest()
		return victim, victim != nil
	case p.open >= p.most || g.open >= p.few() && p.open >= p.most-p.most/16:
		victim = p.idlest()
		return victim, victim != nil
	}
	return nil, true
}

// idlest is the idlest connection of the largest group that has one.
func (p *conns) idlest() *conn {
	var most *group
	for _, g := range p.groups {
		if g.idle.Len() > 0 && (most == nil || g.open > most.open) {
			most = g
		}
	}
	if most == nil {
		return nil
	}
	return most.idlest()
}

func (g *group) idlest() *conn {
	if first := g.idle.Front(); first != nil {
		return first.Value.(*conn)
	}
	return nil
}

func (p *conns) group(name string) *group {
	g := p.groups[name]
	if g == nil {
		g = &group{name: name}
		p.groups[name] = g
	}
	return g
}

func (p *conns) drop(g *group) {
	if g.open == 0 {
		delete(p.groups, g.name)
	}
}

// add puts a connection into a group, as the one that was used last.
func (p *conns) add(c *conn, g *group) {
	c.group = g
	g.open++
	if c.awaiting == 0 {
		c.place = g.idle.PushBack(c)
	}
}

// leave takes a connection out of its group.
func (p *conns) leave(c *conn) {
	if c.place != nil {
		c.group.idle.Remove(c.place)
		c.place = nil
	}
	c.group.open--
	p.drop(c.group)
}

// remove counts a connection no more.
func (p *conns) remove(c *conn) {
	if !c.ended {
		c.ended = true
		p.leave(c)
		p.open--
	}
}

// Close ends the connection.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.pool.mu.Lock()
	c.pool.remove(c)
	c.pool.mu.Unlock()
	return err
}

// CloseWrite lets net/http end an answer to a body that it does not read
// without the answer being lost.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// used notes that something has come.
func (c *conn) used() {
	c.pool.mu.Lock()
	if c.place != nil {
		c.group.idle.MoveToBack(c.place)
	}
	c.pool.mu.Unlock()
}

// await notes that an answer is awaited, until answered is called.
func (c *conn) await() {
	c.pool.mu.Lock()
	c.awaiting++
	if c.place != nil {
		c.group.idle.Remove(c.place)
		c.place = nil
	}
	c.pool.mu.Unlock()
}

func (c *conn) answered() {
	c.pool.mu.Lock()
	if c.awaiting--; c.awaiting == 0 && !c.ended {
		c.place = c.group.idle.PushBack(c)
	}
	c.pool.mu.Unlock()
}

// belongs notes whose connection it is. It is false where the caller has too many that
// all await answers.
func (c *conn) belongs(name string) bool {
	p := c.pool
	p.mu.Lock()
	if c.proxy || c.ended || c.group.name == name {
		p.mu.Unlock()
		return true
	}
	g := p.group(name)
	var victim *conn
	if g.open >= p.share() && p.open >= p.most-p.most/4 {
		if victim = g.idlest(); victim == nil {
			p.drop(g)
			p.mu.Unlock()
			return false
		}
		p.remove(victim)
	}
	p.leave(c)
	p.add(c, p.group(name))
	p.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	return true
}

// count is how many connections are open.
func (p *conns) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// sharedListener admits the connections that a listener takes.
type sharedListener struct {
	net.Listener
	pool *conns
	// name tells whose a new connection is, and whether it is a trusted proxy's.
	name func(net.Conn) (name string, proxy bool)
}

func (l *sharedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		name, proxy := l.name(c)
		if admitted := l.pool.admit(c, name, proxy); admitted != nil {
			return admitted, nil
		}
		c.Close()
	}
}

// connOf is the connection that is counted below one of http.Server's; nil where it is another's.
func connOf(c net.Conn) *conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

type connKey struct{}

// exchange is one request on a connection, and whether its answer is awaited: from when
// it has come whole.
type exchange struct {
	conn  *conn // nil where connections are not counted
	mu    sync.Mutex
	state exchangeState
}

type exchangeState byte

const (
	arriving exchangeState = iota
	awaited
	over
)

type exchangeKey struct{}

// arrive notes a request on its connection; end must be called.
func arrive(r *http.Request) (*http.Request, *exchange) {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c == nil {
		return r, nil
	}
	x := &exchange{conn: c}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if r.ContentLength == 0 {
		x.await()
		return r, x
	}
	c.used()
	r.Body = &arrivingBody{ReadCloser: r.Body, x: x, left: r.ContentLength}
	return r, x
}

// exchangeIn is the request that a context is of; nil for none.
func exchangeIn(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// await notes that the request has come whole.
func (x *exchange) await() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == arriving {
		x.state = awaited
		x.conn.await()
	}
}

// end notes that nothing more is awaited: the answer is there, or goes on as a stream.
func (x *exchange) end() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == awaited {
		x.conn.answered()
	}
	x.state = over
}

// arrivingBody sees when a body has come.
type arrivingBody struct {
	io.ReadCloser
	x    *exchange
	left int64 // negative where its length is not known
}

func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if err == io.EOF || b.left == 0 {
		b.x.await()
	}
	return n, err
}
