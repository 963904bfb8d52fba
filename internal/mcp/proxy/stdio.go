package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// Server is the way to an MCP server: Command or Upstream makes one.
type Server interface {
	// dial opens a connection. receive is called with each message of the
	// server, one after the other; ended once, when no more will come.
	dial(ctx context.Context, p *Proxy, s *session, receive func([]byte), ended func(error)) (connection, error)
}

// connection is one connection with a server.
type connection interface {
	// send sends a message; list are the messages in it.
	send(ctx context.Context, raw []byte, list []*message) error
	// close ends the connection, and waits until it has.
	close() error
}

// maxAtOnce is how many messages of one side are worked on at once.
const maxAtOnce = 128

// ServeStdio serves a client that speaks lines, such as one that started this
// process, until its input ends, the server's does, or ctx. It returns nil when
// the client ended it.
func (p *Proxy) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, server Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := &lineWriter{w: out}
	l := p.newLink(newToolbox(), func(raw []byte) { client.write(raw) })
	if err := l.dial(ctx, server); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- readLines(in, p.maxMessage(), func(line []byte, long bool) bool {
			if long {
				client.write(errorAnswer("null", codeInvalid, fmt.Sprintf("The message is larger than %d bytes.", p.maxMessage()), nil))
			} else {
				l.fromClient(ctx, line)
			}
			return ctx.Err() == nil
		})
	}()
	select {
	case err := <-ended:
		l.idle(ctx) // what the client asked for is still answered
		return errors.Join(err, l.conn.close())
	case <-l.ended:
		l.idle(ctx)
		return errors.Join(fmt.Errorf("the server %s ended the connection", p.Server), l.err, l.conn.close())
	case <-ctx.Done():
		l.conn.close()
		return ctx.Err()
	}
}

// link is one client's connection with the server, through a session.
type link struct {
	p      *Proxy
	s      *session
	conn   connection
	client func([]byte) // what the client gets

	working      atomic.Int64 // messages that are worked on
	fromC, fromS turns        // bound them: what waits on one side must not keep the other from it

	dialed chan struct{} // closed when conn is there
	ended  chan struct{} // closed when the server will send no more
	err    error         // why; set before ended is closed

	mu      sync.Mutex
	asked   map[string]chan rawjson.Value // what the proxy itself asks, by id
	askedID int
	prefix  string
}

// newLink returns a link that is not dialed yet. client gets what is for the client.
func (p *Proxy) newLink(tools *toolbox, client func([]byte)) *link {
	l := &link{
		p: p, s: p.newSession(tools, true), client: client, fromC: newTurns(), fromS: newTurns(),
		dialed: make(chan struct{}), ended: make(chan struct{}), asked: map[string]chan rawjson.Value{},
	}
	l.prefix = "reeve-" + l.s.name + "-"
	return l
}

// dial connects the link with the server.
func (l *link) dial(ctx context.Context, server Server) (err error) {
	l.conn, err = server.dial(ctx, l.p, l.s, func(raw []byte) {
		<-l.dialed
		l.fromServer(ctx, raw)
	}, func(err error) {
		l.err = err
		close(l.ended)
	})
	close(l.dialed)
	return err
}

// turns bound what is worked on at once, of one side: the number of messages, and
// that of large ones, which take many times their size.
type turns struct{ any, large chan struct{} }

func newTurns() turns {
	return turns{make(chan struct{}, maxAtOnce), make(chan struct{}, maxLargeAtOnce)}
}

// A large message has more than this many bytes, and only so many of them are worked
// on at once.
const (
	largeMessage   = 1 << 20
	maxLargeAtOnce = 4
)

// begin takes a turn and works on a message beside what comes next.
func (l *link) begin(ctx context.Context, t turns, raw []byte, f func()) {
	take := []chan struct{}{t.any}
	if len(raw) > largeMessage {
		take = append(take, t.large)
	}
	for i, c := range take {
		select {
		case c <- struct{}{}:
		case <-ctx.Done():
			for _, had := range take[:i] {
				<-had
			}
			return
		}
	}
	l.working.Add(1)
	go func() {
		defer func() {
			for _, c := range take {
				<-c
			}
			l.working.Add(-1)
		}()
		f()
	}()
}

// fromClient takes what the client sent. Requests are decided about beside each
// other, since one can wait for a person; anything else in its order.
func (l *link) fromClient(ctx context.Context, raw []byte) {
	p := l.short(ctx, raw, l.s.asks)
	pass := func() {
		if p == nil {
			p = readPiece(raw)
		}
		x := l.s.clientSaid(ctx, p, l.ask)
		if x.back != nil {
			l.client(x.back)
		}
		if x.on == nil {
			return
		}
		if err := l.conn.send(ctx, x.on, x.list); err != nil {
			l.unsent(x.list, err)
		}
	}
	if asks(raw) && !p.untouched() {
		l.begin(ctx, l.fromC, raw, pass)
		return
	}
	pass()
}

// maxShort is how long a message can be that is read before anything that comes
// after it.
const maxShort = 1 << 10

// short reads a short message, and finds out whether it is one that no rule can say
// anything of: that is forwarded at once. nil for a longer one. asked are the
// requests of the other side.
func (l *link) short(ctx context.Context, raw []byte, asked map[string]*call) *piece {
	if len(raw) > maxShort {
		return nil
	}
	p := readPiece(raw)
	for _, m := range p.list {
		m.untouched = l.s.untouched(ctx, m, asked)
	}
	return p
}

func (p *piece) untouched() bool {
	return p != nil && p.err == nil && len(p.list) == 1 && p.list[0].untouched
}

// unsent answers the requests that could not be sent.
func (l *link) unsent(list []*message, err error) {
	l.p.logger().Error("a message could not be sent to the server", "server", l.p.Server, "error", err)
	for _, m := range list {
		if m.request() {
			l.s.forget(l.s.calls, m.key)
			l.client(errorAnswer(m.id, codeInternal, "The server could not be reached: "+err.Error(), nil))
		}
	}
}

// fromServer takes what the server sent.
func (l *link) fromServer(ctx context.Context, raw []byte) {
	if l.own(raw) {
		return
	}
	p := l.short(ctx, raw, l.s.calls)
	pass := func() {
		if p == nil {
			p = readPiece(raw)
		}
		x := l.s.serverSaid(ctx, p, l.ask)
		if x.on != nil {
			l.client(x.on)
		}
		if x.back == nil {
			return
		}
		// What cannot be read is no message to the client, but it can be the
		// answer that the client waits for.
		if id := idOf(raw); x.unread && l.s.pending(keyOfText(id)) {
			l.client(errorAnswer(id, codeInternal, unreadable, nil))
			l.s.forget(l.s.calls, keyOfText(id))
			return
		}
		parts, _, err := split(x.back)
		if err != nil || x.unread && idOf(raw) == "null" {
			l.p.logger().Warn("what the server sent is no message", "server", l.p.Server)
			return
		}
		if err := l.conn.send(ctx, x.back, parts); err != nil {
			l.p.logger().Error("a message could not be sent to the server", "server", l.p.Server, "error", err)
		}
	}
	if isNotification(raw) || p.untouched() { // before anything that comes after it
		l.working.Add(1)
		pass()
		l.working.Add(-1)
		return
	}
	l.begin(ctx, l.fromS, raw, pass)
}

// asks reports whether a message wants an answer, without reading it: a message
// that only looks like it is worked on in another order, and nothing else.
func asks(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"method"`)) && bytes.Contains(raw, []byte(`"id"`))
}

func isNotification(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"method"`)) && !bytes.Contains(raw, []byte(`"id"`))
}

// ask asks the server on the proxy's own account.
func (l *link) ask(ctx context.Context, method string, params []byte) (rawjson.Value, error) {
	answer := make(chan rawjson.Value, 1)
	l.mu.Lock()
	l.askedID++
	id := l.prefix + itoa(l.askedID)
	l.asked[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.asked, id)
		l.mu.Unlock()
	}()
	m, err := read(request(id, method, params))
	if err != nil {
		return rawjson.Value{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := l.conn.send(ctx, m.raw(), []*message{m}); err != nil {
		return rawjson.Value{}, err
	}
	select {
	case v := <-answer:
		return resultOf(v)
	case <-l.ended:
		return rawjson.Value{}, errors.New("the server ended the connection")
	case <-ctx.Done():
		return rawjson.Value{}, errors.New("the server did not answer")
	}
}

// askTimeout is how long the server has to answer what the proxy asks.
const askTimeout = 30 * time.Second

func request(id, method string, params []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), rawjson.Quote(id)...)
	b = append(append(b, `,"method":`...), rawjson.Quote(method)...)
	b = append(append(b, `,"params":`...), params...)
	return append(b, '}')
}

func resultOf(answer rawjson.Value) (rawjson.Value, error) {
	if result := answer.Get("result"); result.Exists() {
		return result, nil
	}
	// Not what it says: that would be told to models without having been judged.
	code, _ := answer.Get("error").Get("code").Int()
	return rawjson.Value{}, fmt.Errorf("the server answered with the error %d", code)
}

// own takes an answer to what the proxy itself asked.
func (l *link) own(raw []byte) bool {
	if !bytes.Contains(raw, []byte(l.prefix)) {
		return false
	}
	m, err := read(raw)
	if err != nil || m.method != "" {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.asked[m.root().Get("id").Text()]
	if answer == nil {
		return false
	}
	delete(l.asked, m.root().Get("id").Text())
	answer <- m.root()
	return true
}

// lastAnswers is how long the answers to what the client asked are waited for,
// when its input has ended.
const lastAnswers = 10 * time.Second

// idle waits until the server has answered all, or nothing more will come.
func (l *link) idle(ctx context.Context) {
	start := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		over := !l.s.waiting()
		select {
		case <-l.ended:
			over = true
		default:
		}
		working := l.working.Load() > 0 // and may wait for a person
		if waited := time.Since(start); over && !working || !working && waited > lastAnswers || waited > lastAnswers+l.p.Wait {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// waiting reports whether the client waits for answers.
func (s *session) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return waitingIn(s.calls) > 0
}

// pending reports whether the client waits for the answer to a request.
func (s *session) pending(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[key]
	return c != nil && !c.answered && !c.gone
}

// Command is a server that is a program of this machine, with its arguments.
func Command(name string, args ...string) Server { return command(append([]string{name}, args...)) }

type command []string

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout io.Closer
	out    lineWriter
	turn   chan struct{} // holds who writes to it
	takes  time.Duration // how long it has to take a message before it is ended; 0 is for ever
	spent  atomic.Bool   // it did not take a message whole, and so takes no other
	exited chan struct{}
	err    error // how it exited; set before exited is closed
}

func (c command) dial(ctx context.Context, p *Proxy, _ *session, receive func([]byte), ended func(error)) (connection, error) {
	// Its input is closed first, so that it can end by itself: see close.
	cmd := exec.Command(c[0], c[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	x := &process{cmd: cmd, in: in, stdout: out, out: lineWriter{w: in}, turn: make(chan struct{}, 1), exited: make(chan struct{})}
	go func() {
		err := readLines(out, p.maxMessage(), func(line []byte, long bool) bool {
			if long {
				p.logger().Warn("the server wrote a line that is too long, and it was not passed on", "server", p.Server)
				if id := idOfLong(line); id != "null" {
					receive(errorAnswer(id, codeInternal, fmt.Sprintf("The server's answer is larger than %d bytes, and is withheld.", p.maxMessage()), nil))
				}
				return true
			}
			if !bytes.HasPrefix(bytes.TrimSpace(line), []byte{'{'}) && !bytes.HasPrefix(bytes.TrimSpace(line), []byte{'['}) {
				p.logger().Warn("the server wrote a line that is no message, and it was not passed on", "server", p.Server, "line", bounded(strings.ToValidUTF8(string(line), "?")))
				return true
			}
			receive(line)
			return true
		})
		x.err = errors.Join(err, cmd.Wait())
		close(x.exited)
		ended(x.err)
	}()
	return x, nil
}

// errUntaken is that a server has got nothing of a message, and never will.
var errUntaken = errors.New("the server takes nothing any more")

// send writes a line. A program that does not read keeps who sends only until ctx
// ends. The line is written on nevertheless: what came after a part of one could not
// be read.
func (x *process) send(ctx context.Context, raw []byte, _ []*message) error {
	select {
	case x.turn <- struct{}{}:
	case <-x.exited:
		return errUntaken
	case <-ctx.Done():
		return ctx.Err()
	}
	written := make(chan error, 1)
	go func() {
		if x.takes > 0 {
			stuck := time.AfterFunc(x.takes, func() { x.close() })
			defer stuck.Stop()
		}
		n, err := x.out.write(raw)
		if err != nil {
			x.spent.Store(true)
		}
		if err != nil && n == 0 {
			err = fmt.Errorf("%w: %w", errUntaken, err)
		}
		<-x.turn
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// How long a program has to end when its input is closed, and when it is told to.
const (
	endsByItself = 2 * time.Second
	endsWhenTold = 2 * time.Second
)

func (x *process) close() error {
	x.in.Close()
	select {
	case <-x.exited:
		return nil
	case <-time.After(endsByItself):
	}
	x.cmd.Process.Signal(os.Interrupt)
	select {
	case <-x.exited:
	case <-time.After(endsWhenTold):
		x.cmd.Process.Kill()
		x.stdout.Close() // which what it started can hold open
		<-x.exited
	}
	return nil
}

// lineWriter writes messages as lines, each whole.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (l *lineWriter) write(raw []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(append(l.buf[:0], oneLine(raw)...), '\n')
	n, err := l.w.Write(l.buf)
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return n, err
}

// readLines gives take each line that is not empty, without its end, until the
// input ends or take wants no more. Of a line that is too long only its beginning
// and its end are kept.
func readLines(in io.Reader, limit int, take func(line []byte, long bool) bool) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(r, limit)
		if (long || len(bytes.TrimSpace(line)) > 0) && !take(line, long) {
			return nil
		}
		if err == io.EOF || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// seenOfLong is how much of the beginning, and of the end, of a line that is too
// long is kept: enough to tell whom it would have answered.
const seenOfLong = 256

func readLine(r *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if long = long || len(line) > limit; long && len(line) > 2*seenOfLong {
			line = append(line[:seenOfLong], line[len(line)-seenOfLong:]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), long, err
	}
}

var idAtEnd = lazyregexp.New(`"id"\s*:\s*("[^"\\]*"|-?[0-9]+)\s*\}\s*$`)

// idOfLong is the id of an answer that is too long, as what was kept of it tells;
// null when it does not.
func idOfLong(line []byte) string {
	if id := idOf(line); id != "null" {
		return id
	}
	if found := idAtEnd.FindSubmatch(line); found != nil {
		return string(found[1])
	}
	return "null"
}
