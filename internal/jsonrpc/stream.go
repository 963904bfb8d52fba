package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// Event is one message of a stream.
type Event struct {
	Name string // what it tells; one line, empty for none
	ID   string // its place in the stream, for Last-Event-ID; one line, empty for none
	Data []byte // one JSON value
}

// ReadEvents calls f with each event of a stream of server-sent events that has data, and
// alive, which may be nil, with each line. It returns nil at the stream's end: an event that
// broke off is none. limit bounds an event's size in bytes; beyond it the error is ErrEventTooLarge.
// f must not keep an event's data.
func ReadEvents(from io.Reader, limit int, alive func(), f func(Event) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), limit)
	var e Event
	var data []byte
	for lines.Scan() {
		if alive != nil {
			alive()
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "data":
			if len(data)+len(value) > limit {
				return ErrEventTooLarge
			}
			data = append(append(data, value...), '\n') // the lines of an event are lines of its data
		case name == "event":
			e.Name = value
		case name == "id":
			e.ID = value
		case lines.Text() == "":
			if data != nil {
				e.Data = data[:len(data)-1]
				if err := f(e); err != nil {
					return err
				}
			}
			e, data = Event{}, nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return ErrEventTooLarge
	}
	return lines.Err()
}

// ErrEventTooLarge is an event beyond the bound that its reader set.
var ErrEventTooLarge = errors.New("an event of the stream is too large")

// Follow sends what follows an answer. It returns when there is nothing more to be
// sent, when send fails, or soon after ctx ends: the other side has gone then.
//
// send waits for a reader that is slow. It must not be called at the same time by
// several, nor after Follow has returned.
type Follow func(ctx context.Context, send func(Event) error) error

// followUp is the stream of events that follows an answer; its zero value is none.
type followUp struct {
	run     Follow
	unnamed bool // see Namespace.Unnamed
}

// Streams counts the streams that are open, so that one caller leaves room for the
// others. Its zero value lets none open.
type Streams struct {
	Most int // open at once
	Own  int // of them, of one caller

	mu   sync.Mutex
	open int
	of   map[string]int // by caller; guarded by mu, as open is
}

// Room reports whether a caller may open one more.
func (s *Streams) Room(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(caller)
}

func (s *Streams) room(caller string) bool { return s.open < s.Most && s.of[caller] < s.Own }

// Enter counts a stream, and returns what counts it no more; nil when there is no room.
func (s *Streams) Enter(caller string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.room(caller) {
		return nil
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.open++
	s.of[caller]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if s.of[caller]--; s.of[caller] == 0 {
			delete(s.of, caller)
		}
	}
}

// Follow has the answer to the call followed by what f sends, if the call succeeds.
// It is false, and changes nothing, where nothing can follow: in a batch, and after
// a notification.
func (r *Request) Follow(f Follow) bool {
	if r.follow == nil {
		return false
	}
	r.follow.run = f
	return true
}

// Rewrite replaces what Follow was given, if it was: for who passes a call on and tells what
// follows in other words.
func (r *Request) Rewrite(with func(Follow) Follow) {
	if r.follow != nil && r.follow.run != nil {
		r.follow.run = with(r.follow.run)
	}
}

// CanFollow reports whether something can follow the answer.
func (r *Request) CanFollow() bool { return r.follow != nil }

// ServeEvents answers an HTTP request with a stream of events (text/event-stream)
// until f returns or the client is gone. A client that takes nothing for half a
// minute counts as gone; a stream that is silent sends a comment now and then.
func ServeEvents(ctx context.Context, w http.ResponseWriter, f Follow) {
	(&Handler{}).serveEvents(ctx, w, nil, followUp{run: f})
}

// serveEvents streams an answer, if there is one, and what follows it.
func (h *Handler) serveEvents(ctx context.Context, w http.ResponseWriter, answer []byte, f followUp) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &eventWriter{w: w, control: http.NewResponseController(w), wait: h.waits()}
	header := w.Header()
	header["Content-Type"] = []string{"text/event-stream"}
	header["Cache-Control"] = []string{"no-store"}
	header["X-Accel-Buffering"] = []string{"no"} // some proxies would collect events
	w.WriteHeader(http.StatusOK)
	var err error
	if answer == nil {
		err = e.write(nil) // so that the client sees the stream begin
	} else {
		first := Event{Name: "response", Data: answer}
		if f.unnamed {
			first.Name = ""
		}
		err = e.event(first)
	}
	if err != nil {
		return
	}
	var beating sync.WaitGroup
	defer beating.Wait() // nobody writes after the handler has returned
	defer cancel()
	beating.Go(func() {
		ticker := time.NewTicker(e.wait.ping)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if e.write([]byte(":\n\n")) != nil {
					cancel()
					return
				}
			}
		}
	})
	h.run(ctx, f.run, e.event)
}

// run calls a Follow. Its panic ends the stream, and nothing else.
func (h *Handler) run(ctx context.Context, f Follow, send func(Event) error) {
	defer func() {
		if p := recover(); p != nil {
			logger := h.Logger
			if logger == nil {
				logger = slog.Default()
			}
			logger.Error("panic in a stream", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	_ = f(ctx, send) // whoever follows says what is worth being known
}

// eventWriter writes events over HTTP.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	wait    *patience

	mu     sync.Mutex
	buffer []byte
	err    error // of the first write that failed
}

func (e *eventWriter) event(v Event) error {
	b := e.buffer[:0]
	if v.Name != "" {
		b = append(append(append(b, "event: "...), v.Name...), '\n')
	}
	if v.ID != "" {
		b = append(append(append(b, "id: "...), v.ID...), '\n')
	}
	b = append(b, "data: "...)
	from := len(b)
	b = append(b, v.Data...)
	// A line break in JSON is white space between its tokens, and would end the line.
	for i, c := range b[from:] {
		if c == '\n' || c == '\r' {
			b[from+i] = ' '
		}
	}
	b = append(b, "\n\n"...)
	e.buffer = b
	if cap(b) > 64<<10 {
		e.buffer = nil
	}
	return e.write(b)
}

// write writes and flushes, within the time that a client has for it.
func (e *eventWriter) write(text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	e.control.SetWriteDeadline(time.Now().Add(e.wait.write))
	if _, e.err = e.w.Write(text); e.err == nil {
		e.err = e.control.Flush()
	}
	e.control.SetWriteDeadline(time.Time{}) // HTTP/2 would end a stream that is silent
	return e.err
}

// sendEvents sends what follows an answer on a connection.
func (h *Handler) sendEvents(ctx context.Context, c *Conn, f followUp) {
	defer c.streams.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.live, cancel)()
	h.run(ctx, f.run, func(v Event) error {
		if v.Name == "" {
			return c.sendInTime(v.Data)
		}
		b := append([]byte(`{"event":`), rawjson.Quote(v.Name)...)
		b = append(b, `,"data":`...)
		b = append(b, v.Data...)
		return c.sendInTime(append(b, '}'))
	})
}
