package jsonrpc

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// The status codes that a connection is closed with (RFC 6455, section 7.4.1).
const (
	statusNormal          = int(websocket.StatusNormalClosure)
	statusGoingAway       = int(websocket.StatusGoingAway)
	statusUnsupportedData = int(websocket.StatusUnsupportedData)
	statusPolicyViolation = int(websocket.StatusPolicyViolation)
	statusTooBig          = int(websocket.StatusMessageTooBig)
	statusTryAgainLater   = int(websocket.StatusTryAgainLater)
)

// IsWebSocket reports whether a request asks for a WebSocket.
func IsWebSocket(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, upgrade := range r.Header["Upgrade"] {
		for token := range strings.SplitSeq(upgrade, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "websocket") {
				return true
			}
		}
	}
	return false
}

// ServeWebSocket makes a connection of a request that asks for one, and serves it
// until it ends: one JSON text message for each call, batch or answer. It returns
// when no call of it is in work. opened, if not nil, gets the connection before
// anything is read from it.
//
// The namespaces get ctx, and each request the header of this one. When ctx ends
// the connection is closed with the status 1001. The context of a request does
// not end when its connection is hijacked or lost, so that ctx has to be one that
// ends when the server stops; http.Server.Shutdown does not wait for this.
//
// The caller has to check the Host and Origin before: a browser lets a page of
// any site open a WebSocket, with the Origin as the only sign of it. Here, only an
// Origin that is not the Host of the request is refused.
//
// A message over MaxBody is answered with -32600 and the connection closed with
// 1009, a binary message closes it with 1003, and one that does not arrive in
// time with 1008. What is no JSON is answered with -32700, and the connection
// lives on.
func (h *Handler) ServeWebSocket(ctx context.Context, w http.ResponseWriter, r *http.Request, opened func(*Conn)) {
	taken := &hijacked{ResponseWriter: w}
	socket, err := websocket.Accept(taken, r, &websocket.AcceptOptions{
		// All three SDKs offer permessage-deflate, and none needs it. It would
		// cost 1.2 MB for each connection that is being written to, let a
		// message of 4 KB cost what one of 4 MB does, and tell the length of
		// secrets to whoever can put text beside them. Over HTTP compressed
		// bodies are refused as well. Without it a message has as many bytes in
		// memory as on the wire, so that MaxBody bounds both.
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		h.count("method") // it is answered already
		return
	}
	defer socket.CloseNow()
	socket.SetReadLimit(-1) // next has the limit, and answers before it closes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ws := &webSocket{h: h, ctx: ctx, socket: socket, conn: taken.conn, wait: h.waits()}
	c := newConn(h, ws)
	var pings sync.WaitGroup
	pings.Go(func() { ws.ping(c) })
	h.converse(ctx, c, r.Header, opened)
	pings.Wait()
}

// hijacked is a ResponseWriter that keeps the connection that is taken from it:
// closing it ends whatever waits for it, as nothing else surely does.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// webSocket is the wire of a WebSocket.
type webSocket struct {
	h      *Handler
	ctx    context.Context // of the connection
	socket *websocket.Conn
	conn   net.Conn
	wait   *patience
	// reading is since when next reads, in Unix nanoseconds, and 0 while it does
	// not: pongs are seen only by who reads.
	reading atomic.Int64
}

func (w *webSocket) next() ([]byte, func(), *fault) {
	w.reading.Store(time.Now().UnixNano())
	defer w.reading.Store(0)
	kind, r, err := w.socket.Reader(context.Background())
	if err != nil {
		return nil, nil, &fault{last: true, end: closeFrame{statusNormal, ""}}
	}
	if kind != websocket.MessageText {
		w.h.count("binary")
		return nil, nil, &fault{last: true, end: closeFrame{statusUnsupportedData, "Send JSON as text messages."}}
	}
	slow := time.AfterFunc(w.wait.message, func() {
		w.h.count("slow")
		w.end(closeFrame{statusPolicyViolation, "The message did not arrive in time."})
	})
	defer slow.Stop()
	return w.read(r)
}

// read reads a message, and reserves the memory for it: little at first.
func (w *webSocket) read(r io.Reader) (body []byte, release func(), f *fault) {
	limit := w.h.maxBody()
	release, f = w.reserve(min(firstRead, limit))
	defer func() {
		if f != nil && release != nil {
			release()
		}
	}()
	if f != nil {
		return nil, nil, f
	}
	body = make([]byte, 0, 4<<10)
	large := false
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			w.h.count("size")
			return nil, release, &fault{
				reason: "The message is larger than " + strconv.FormatInt(limit, 10) + " bytes, the limit of this server.",
				last:   true, end: closeFrame{statusTooBig, "The message is too large."},
			}
		case err == io.EOF:
			return body, release, nil
		case err != nil:
			return nil, release, &fault{last: true, end: closeFrame{statusNormal, ""}}
		case len(body) > firstRead && !large:
			more, f := w.reserve(limit)
			if f != nil {
				return nil, release, f
			}
			first := release
			release = func() { first(); more() }
			large = true
		}
	}
}

func (w *webSocket) reserve(size int64) (release func(), f *fault) {
	if w.h.Reserve == nil {
		return noop, nil
	}
	release, refusal := w.h.Reserve(w.ctx, size)
	if refusal != nil {
		return nil, &fault{reason: refusal.Reason, code: InternalError, last: true, end: closeFrame{statusTryAgainLater, refusal.Reason}}
	}
	return release, nil
}

func (w *webSocket) write(message []byte) error {
	late := time.AfterFunc(w.wait.write, w.kill)
	defer late.Stop()
	return w.socket.Write(context.Background(), websocket.MessageText, message)
}

func (w *webSocket) end(g closeFrame) {
	// The library waits for the other side longer than it says when a message
	// has come by half.
	late := time.AfterFunc(w.wait.close, w.kill)
	defer late.Stop()
	const longest = 123 // of a reason: a control frame's 125 bytes, less the code
	for len(g.reason) > longest || !utf8.ValidString(g.reason) {
		g.reason = g.reason[:min(len(g.reason)-1, longest)]
	}
	w.socket.Close(websocket.StatusCode(g.code), g.reason)
	w.kill()
}

func (w *webSocket) kill() { w.conn.Close() }

// ping looks now and then whether the other side is still there, until the
// connection ends. Intermediaries see that the connection is in use.
func (w *webSocket) ping(c *Conn) {
	ticker := time.NewTicker(w.wait.ping)
	defer ticker.Stop()
	for {
		select {
		case <-c.live.Done():
			return
		case <-ticker.C:
		}
		if !w.alive(c.live) {
			c.close(closeFrame{statusGoingAway, ""})
			w.kill()
			return
		}
	}
}

// alive reports whether the other side answers a ping. While nothing is read,
// since there is too much to do, its answer would not be seen, and it counts as
// alive.
func (w *webSocket) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, w.wait.ping)
	defer cancel()
	if w.socket.Ping(ctx) == nil {
		return true
	}
	since := w.reading.Load()
	return since == 0 || time.Since(time.Unix(0, since)) < w.wait.ping
}
