package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Upstream is a server that speaks Streamable HTTP, at a URL. header is sent with
// each request: a credential, for example.
func Upstream(address string, header http.Header) (Server, error) {
	u, err := parseUpstream(address)
	if err != nil {
		return nil, err
	}
	return &upstream{url: u, header: header, client: newClient()}, nil
}

type upstream struct {
	url    *url.URL
	header http.Header
	client *http.Client
}

// remote is a connection with an upstream, for a client that speaks lines.
type remote struct {
	*upstream
	p       *Proxy
	s       *session
	receive func([]byte)

	ctx    context.Context // of the streams; it ends with the connection
	cancel context.CancelFunc
	open   sync.WaitGroup

	mu        sync.Mutex // orders receive, and guards what follows
	session   string     // as the server named it
	version   string     // as it was agreed
	listening bool
	closed    bool
}

func (u *upstream) dial(ctx context.Context, p *Proxy, s *session, receive func([]byte), _ func(error)) (connection, error) {
	x := &remote{upstream: u, p: p, s: s, receive: receive}
	x.ctx, x.cancel = context.WithCancel(ctx)
	s.replays = true
	return x, nil
}

// send posts a message and reads its answers beside what comes next.
func (x *remote) send(ctx context.Context, raw []byte, list []*message) error {
	// The answer can go on for longer than who sends the message waits for its
	// beginning.
	posting, cancel := context.WithCancel(x.ctx)
	stop := context.AfterFunc(ctx, cancel)
	resp, err := x.post(posting, raw, list)
	stop()
	if err != nil {
		cancel()
		return err
	}
	if len(list) == 1 && list[0].method == "notifications/initialized" && resp.StatusCode < 300 {
		x.listen()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		cancel()
		resp.Body.Close()
		return errors.New("the connection is closed")
	}
	x.open.Go(func() {
		defer cancel()
		defer resp.Body.Close()
		x.answers(resp, list)
	})
	return nil
}

func (x *remote) post(ctx context.Context, raw []byte, list []*message) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url.String(), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	x.headers(r.Header)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if len(list) == 1 {
		setHeaders(r.Header, list[0], x.s.tools)
	}
	resp, err := x.client.Do(r)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 && list[0].method == "initialize" {
		x.mu.Lock()
		x.session = resp.Header.Get(sessionHeader)
		x.mu.Unlock()
	}
	if resp.StatusCode >= 300 && !isJSON(resp) {
		defer resp.Body.Close()
		return nil, fmt.Errorf("it answered %s", statusOf(resp))
	}
	return resp, nil
}

// statusOf is the status of an answer, in the protocol's words: the server's own
// could be orders for a model that is told of it.
func statusOf(resp *http.Response) string {
	return strings.TrimSpace(itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
}

func isJSON(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "application/json"
}

// headers sets those that every request has.
func (x *remote) headers(h http.Header) {
	for name, v := range x.header {
		h[name] = v
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.session != "" {
		h.Set(sessionHeader, x.session)
	}
	if x.version != "" {
		h.Set(versionHeader, x.version)
	}
}

// got hands on one message of the server.
func (x *remote) got(raw []byte) {
	x.mu.Lock()
	if x.version == "" { // the first answer with one is that to initialize
		if m, err := read(raw); err == nil {
			if v := m.root().Get("result").Get("protocolVersion").Text(); len(v) == len("2025-11-25") {
				x.version = v
			}
		}
	}
	x.mu.Unlock()
	x.receive(raw)
}

// answers reads what the server answers to a message. A request whose answer
// does not come is answered with an error.
func (x *remote) answers(resp *http.Response, list []*message) {
	open := map[string]string{} // ids of requests that are not answered, by key
	for _, m := range list {
		if m.request() {
			open[m.key] = m.id
		}
	}
	got := func(raw []byte) {
		if parts, _, err := split(raw); err == nil {
			for _, m := range parts {
				if m.method == "" {
					delete(open, m.key)
				}
			}
		} else {
			delete(open, keyOfText(idOf(raw))) // which is answered by the session
		}
		x.got(raw)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(x.p.maxMessage())+1))
		if err == nil && len(raw) <= x.p.maxMessage() && len(bytes.TrimSpace(raw)) > 0 {
			got(raw)
		}
	case "text/event-stream":
		last, err := x.events(resp.Body, "", got)
		if err == nil && last != "" && len(open) > 0 {
			x.resume(last, got, func() bool { return len(open) > 0 })
		}
	}
	if x.ctx.Err() != nil {
		return
	}
	text := "The server's answer did not come, or is too large."
	if resp.StatusCode >= 300 {
		text = "The server answered " + statusOf(resp) + "."
	}
	for _, id := range open {
		x.receive(errorAnswer(id, codeInternal, text, nil))
	}
}

// events hands on the events of a stream, and returns the id of the last.
func (x *remote) events(body io.Reader, last string, got func([]byte)) (string, error) {
	from := newEvents(body, x.p.maxMessage())
	for {
		e, err := from.next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		if e.id != "" {
			last = e.id
		}
		if len(bytes.TrimSpace(e.data)) > 0 {
			got(e.data)
		}
	}
}

// The pauses between attempts to open a stream again.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
	attempts   = 5 // that fail one after the other
)

// resume opens a stream again behind an event, until more says that nothing more
// is wanted, or the server has none.
func (x *remote) resume(last string, got func([]byte), more func() bool) {
	pause, failed := firstPause, 0
	for more() {
		select {
		case <-time.After(pause):
		case <-x.ctx.Done():
			return
		}
		resp, err := x.get(last)
		if err != nil || resp.StatusCode != http.StatusOK {
			if err == nil {
				resp.Body.Close()
			}
			if failed++; failed == attempts || x.ctx.Err() != nil {
				return
			}
			pause = min(2*pause, lastPause)
			continue
		}
		pause, failed = firstPause, 0
		last, err = x.events(resp.Body, last, got)
		resp.Body.Close()
		if err != nil {
			return
		}
	}
}

func (x *remote) get(last string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(x.ctx, http.MethodGet, x.url.String(), nil)
	if err != nil {
		return nil, err
	}
	x.headers(r.Header)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set(eventHeader, last)
	}
	return x.client.Do(r)
}

// listen opens the stream of what the server says by itself, where it has one.
func (x *remote) listen() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listening || x.closed {
		return
	}
	x.listening = true
	x.open.Go(func() {
		resp, err := x.get("")
		if err != nil {
			return
		}
		last := ""
		if resp.StatusCode == http.StatusOK {
			last, err = x.events(resp.Body, "", x.got)
		} else {
			err = errors.New(statusOf(resp)) // 405: there is none
		}
		resp.Body.Close()
		if err == nil {
			x.resume(last, x.got, func() bool { return true })
		}
	})
}

// close ends the session.
func (x *remote) close() error {
	x.mu.Lock()
	session := x.session
	x.closed = true
	x.mu.Unlock()
	x.cancel()
	x.open.Wait()
	if session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endsWhenTold)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, x.url.String(), nil)
	if err != nil {
		return err
	}
	x.headers(r.Header)
	if resp, err := x.client.Do(r); err == nil { // else it will find out by itself
		resp.Body.Close()
	}
	return nil
}
