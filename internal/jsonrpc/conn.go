package jsonrpc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// Conn is one connection on which both sides send messages: a WebSocket, or a
// pair of streams. Each message is one JSON text: a call, a batch, an answer.
//
// Calls of one connection are carried out side by side, at most maxCalls of them,
// and answered as they are ready: their ids tell the answers apart. What comes
// beyond that waits unread. A call that has begun is finished when the connection
// ends, since what it records must not stay half done: the context of a call does
// not end with its connection. Whoever waits in a call for something else must
// wait for Done, too.
//
// Its methods may be called at the same time.
type Conn struct {
	wire    wire
	largest int64 // bytes of calls in work at once, but for one call that is alone
	wait    *patience
	live    context.Context // ends when the connection is to end
	die     context.CancelFunc
	streams sync.WaitGroup // of events that follow answers

	mu      sync.Mutex
	change  sync.Cond  // of what mu guards
	calls   int        // in work, until their answer is written
	bytes   int64      // of their messages
	queue   []message  // to be written
	pushed  int        // messages of Send in queue
	size    int64      // their bytes
	ended   bool       // nothing more is queued but the answers of calls in work
	goodbye closeFrame // how it ends
	late    *time.Timer
}

// The bounds of one connection.
const (
	maxCalls  = 64      // in work at once
	maxPushed = 256     // messages of Send that wait to be written
	maxUnread = 1 << 20 // bytes of them, but for one that is alone
)

// patience is for how long a connection waits for the other side.
type patience struct {
	message time.Duration // for a message that has begun to be complete
	write   time.Duration // for the other side to take a message
	ping    time.Duration // between pings, and for the answer to one
	calls   time.Duration // for the calls in work, when we end the connection
	close   time.Duration // for the other side's part of closing
}

var usual = patience{message: 30 * time.Second, write: 30 * time.Second, ping: 30 * time.Second, calls: 10 * time.Second, close: 5 * time.Second}

func (h *Handler) waits() *patience {
	if h.patience != nil {
		return h.patience
	}
	return &usual
}

// wire is what carries a connection's messages.
type wire interface {
	// next waits for a message. fault is set instead when there is none, or none
	// that is carried out. release gives back what the message holds of memory.
	next() (body []byte, release func(), fault *fault)
	// write writes one message. Only one is written at a time.
	write(message []byte) error
	// end says why and closes; it takes no longer than patience.close.
	end(closeFrame)
	// kill ends whatever next, write and end wait for.
	kill()
}

// fault is why there is no message.
type fault struct {
	reason string     // what the other side is told as an error of the code InvalidRequest; empty for nothing
	code   int        // another code, if not 0
	last   bool       // there will be no further message
	left   bool       // the other side takes what is still written, and has ended by itself
	end    closeFrame // what to close with, if last
}

// closeFrame is a WebSocket's status code and reason.
type closeFrame struct {
	code   int
	reason string
}

// message is one that waits to be written.
type message struct {
	data    []byte
	pushed  bool
	written func() // called when it is written, or never will be; may be nil
}

// Errors of Conn.Send.
var (
	ErrClosed = errors.New("the connection is closed")
	ErrSlow   = errors.New("the other side does not read what it is sent, and its connection was closed")
)

// ErrUnauthorized is the cause with which the context of a connection ends whose caller
// may not use it any more.
var ErrUnauthorized = errors.New("the credential is not valid any more")

type connKey struct{}

// ConnFrom returns the connection that a call came by, nil over HTTP.
func ConnFrom(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

func newConn(h *Handler, w wire) *Conn {
	c := &Conn{wire: w, largest: 2 * h.maxBody(), wait: h.waits()}
	c.live, c.die = context.WithCancel(context.Background())
	c.change.L = &c.mu
	return c
}

// Send queues a message, which is one JSON value, to be sent after those queued
// before. It does not wait: the connection of a reader that does not read is
// closed. The message must not be changed any more. The error is ErrClosed or
// ErrSlow; without one, the message may still be lost with the connection.
func (c *Conn) Send(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return ErrClosed
	case c.pushed >= maxPushed || c.pushed > 0 && c.size+int64(len(data)) > maxUnread:
		c.endLocked(closeFrame{statusPolicyViolation, "Messages are not read."})
		go c.wire.kill() // it may have to wait for a lock of the one who writes
		return ErrSlow
	}
	c.pushed++
	c.size += int64(len(data))
	c.queue = append(c.queue, message{data: data, pushed: true})
	c.change.Broadcast()
	return nil
}

// sendInTime queues a message as Send does, and waits for room instead of giving the
// other side up: only if that takes nothing at all, the connection ends.
func (c *Conn) sendInTime(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Half of the bounds, so that Send finds room beside a stream.
	for !c.ended && (c.pushed >= maxPushed/2 || c.pushed > 0 && c.size+int64(len(data)) > maxUnread/2) {
		c.change.Wait()
	}
	if c.ended {
		return ErrClosed
	}
	c.pushed++
	c.size += int64(len(data))
	c.queue = append(c.queue, message{data: data, pushed: true})
	c.change.Broadcast()
	return nil
}

// Done is closed when the connection is at its end: nothing more can be sent.
func (c *Conn) Done() <-chan struct{} { return c.live.Done() }

// Close ends the connection, once what is queued and the answers of calls in work
// are written, or that took too long. It does not wait for it. The other side is
// told the reason, of which a WebSocket takes 123 bytes.
func (c *Conn) Close(reason string) { c.close(closeFrame{statusNormal, reason}) }

func (c *Conn) close(g closeFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(g)
}

func (c *Conn) endLocked(g closeFrame) {
	if c.ended {
		return
	}
	c.ended, c.goodbye = true, g
	c.die()
	c.change.Broadcast()
	// The writer waits for the answers of the calls in work, but not for ever.
	c.late = time.AfterFunc(c.wait.calls, func() { c.wire.end(g) })
}

// begin takes a place for a call, and waits for one. It is false when the
// connection has ended meanwhile.
func (c *Conn) begin(size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && (c.calls >= maxCalls || c.calls > 0 && c.bytes+size > c.largest) {
		c.change.Wait()
	}
	if c.ended {
		return false
	}
	c.calls++
	c.bytes += size
	return true
}

// finish gives a call's place back.
func (c *Conn) finish(size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	c.bytes -= size
	c.change.Broadcast()
}

// answer queues a call's answer. There are no more of them than calls, so that
// they need no bound of their own.
func (c *Conn) answer(data []byte, written func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, message{data: data, written: written})
	c.change.Broadcast()
}

// take waits for the next message to write. ok is false when there is none any
// more: the connection has ended, and the calls in work are answered.
func (c *Conn) take() (m message, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 {
		if c.ended && c.calls == 0 {
			return message{}, false
		}
		c.change.Wait()
	}
	m = c.queue[0]
	c.queue[0] = message{}
	c.queue = c.queue[1:]
	if m.pushed {
		c.pushed--
		c.size -= int64(len(m.data))
		c.change.Broadcast()
	}
	return m, true
}

// writeAll writes what is queued until the connection ends, and then ends it.
func (c *Conn) writeAll() {
	failed := false
	for {
		m, ok := c.take()
		if !ok {
			break
		}
		if !failed && len(m.data) > 0 {
			if err := c.wire.write(m.data); err != nil {
				failed = true // the calls in work are finished, and answer nobody
				c.close(closeFrame{statusGoingAway, ""})
			}
		}
		if m.written != nil {
			m.written()
		}
	}
	if failed {
		c.wire.kill()
	} else {
		c.wire.end(c.goodbye)
	}
}

// converse carries out what comes by a connection until it ends, and returns when
// it has, and no call is in work.
func (h *Handler) converse(ctx context.Context, c *Conn, header http.Header, opened func(*Conn)) {
	ctx = context.WithValue(ctx, connKey{}, c)
	// Who waits for a turn waits for nothing when the connection has ended.
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.live, stop)()
	defer context.AfterFunc(ctx, func() {
		switch cause := context.Cause(ctx); cause {
		case ErrUnauthorized:
			c.close(closeFrame{statusPolicyViolation, "The credential that this was opened with is not valid any more."})
		case context.Canceled:
			c.close(closeFrame{statusGoingAway, "The node stops."})
		default:
			c.close(closeFrame{statusGoingAway, cause.Error()})
		}
	})()

	var writer sync.WaitGroup
	writer.Go(c.writeAll)
	if opened != nil {
		opened(c)
	}
	h.readAll(waiting, context.WithoutCancel(ctx), c, header)
	writer.Wait()
	c.streams.Wait()
	c.late.Stop()
}

// idle waits until no call is in work.
func (c *Conn) idle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.calls > 0 {
		c.change.Wait()
	}
}

// readAll reads calls and has them carried out until there are no more.
func (h *Handler) readAll(waiting, calls context.Context, c *Conn, header http.Header) {
	for {
		body, release, fault := c.wire.next()
		if fault != nil {
			if fault.reason != "" && c.begin(0) {
				code := InvalidRequest
				if fault.code != 0 {
					code = fault.code
				}
				c.answer(h.appendError(nil, h.Own, nil, code, fault.reason), func() { c.finish(0) })
			}
			if !fault.last {
				continue
			}
			if fault.left {
				c.idle()
			}
			c.close(fault.end)
			return
		}
		size := int64(len(body))
		if !c.begin(size) {
			release()
			return
		}
		out := buffers.Get().(*[]byte)
		*out = (*out)[:0]
		written := func() {
			putBuffer(out)
			release()
			c.finish(size)
		}
		leave, refusal := h.enter(waiting, len(body))
		doc, err := rawjson.Parse(body)
		switch {
		case refusal != nil && err == nil:
			*out = h.appendRefused(*out, doc.Root(), refusal)
			c.answer(*out, written)
		case refusal != nil:
			*out = h.appendError(*out, h.Own, nil, refusal.code(h.Own), refusal.Reason)
			c.answer(*out, written)
		case err != nil:
			*out = h.appendUnread(*out, body, err)
			leave()
			c.answer(*out, written)
		default:
			run := func() {
				var follow followUp
				*out, leave = h.carry(calls, header, *out, doc.Root(), leave, &follow)
				leave()
				if follow.run == nil {
					c.answer(*out, written)
					return
				}
				c.streams.Add(1) // before the call is over, so that converse waits for it
				c.answer(*out, written)
				go h.sendEvents(calls, c, follow)
			}
			if h.inOrder(doc.Root()) {
				run()
			} else {
				go run()
			}
		}
	}
}

// inOrder reports whether a call is to be finished before the next is looked at.
func (h *Handler) inOrder(root rawjson.Value) bool {
	method := root.Get("method").Text()
	space, _ := h.namespace(method)
	return space != nil && space.InOrder != nil && space.InOrder(method)
}
