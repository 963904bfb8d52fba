package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// following is a protocol whose calls are followed by events: as many as the method
// says, or without end.
type following struct {
	refused atomic.Int64 // calls that nothing could follow
	sent    atomic.Int64
	over    chan error // how each stream ended
}

func (f *following) handler() *Handler {
	f.over = make(chan error, 100)
	return &Handler{
		Namespaces: []Namespace{{
			Match: func(string) bool { return true },
			Handle: func(_ context.Context, r *Request) ([]byte, *Error) {
				count := 1 << 30
				fmt.Sscanf(r.Method, "follow%d", &count)
				if r.Method == "plain" {
					return []byte(`"plain"`), nil
				}
				if !r.Follow(f.follow(r.Method, count)) || !r.CanFollow() {
					f.refused.Add(1)
				}
				if r.Method == "fail" {
					return nil, &Error{Code: -32001, Message: "no"}
				}
				return []byte("{\n\"a\": 1\r\n}"), nil
			},
		}},
		patience: &hurried, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func (f *following) follow(method string, count int) Follow {
	return func(ctx context.Context, send func(Event) error) (err error) {
		defer func() { f.over <- err }()
		switch method {
		case "panic":
			panic("in a stream")
		case "silent":
			<-ctx.Done()
			return ctx.Err()
		}
		text := ""
		if method == "large" {
			text = strings.Repeat("x", 8<<10)
		}
		for i := range count {
			if err := send(Event{Name: "tick", ID: fmt.Sprint(i + 1), Data: fmt.Appendf(nil, "{\"n\":%d,\n\"text\":%q}", i+1, text)}); err != nil {
				return err
			}
			f.sent.Add(1)
		}
		return nil
	}
}

func request(method string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `"}`
}

func (f *following) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.over:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the stream does not end")
		return nil
	}
}

// TestFollow: the answer and the events, each a message, with no line break in it.
func TestFollow(t *testing.T) {
	noLeaks(t)
	var f following
	h := f.handler()
	streams := 0
	h.Streaming = func(context.Context) { streams++ }
	w := post(h, request("follow2"))
	want := "event: response\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{ \"a\": 1  }}\n\n" +
		"event: tick\nid: 1\ndata: {\"n\":1, \"text\":\"\"}\n\nevent: tick\nid: 2\ndata: {\"n\":2, \"text\":\"\"}\n\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
	if got := w.Header().Get("Content-Type"); got != "text/event-stream" || w.Code != 200 || streams != 1 {
		t.Errorf("%d %s, and Streaming was called %d times", w.Code, got, streams)
	}
	for body, want := range map[string]string{
		request("plain"):                       `{"jsonrpc":"2.0","id":7,"result":"plain"}`,
		request("fail"):                        `{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"no"}}`,
		"[" + request("follow2") + "]":         "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\n\"a\": 1\r\n}}]",
		`{"jsonrpc":"2.0","method":"follow2"}`: "",
		"[" + request("plain") + ",1]":         `[{"jsonrpc":"2.0","id":7,"result":"plain"},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"A request is an object, and this is a number."}}}]`,
	} {
		if got := post(h, body).Body.String(); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := f.refused.Load(); got != 2 { // in the batch, and after the notification
		t.Errorf("%d calls could not be followed", got)
	}
	if w := post(h, request("panic")); !strings.HasSuffix(w.Body.String(), "}}\n\n") {
		t.Errorf("a stream that breaks down: %s", w.Body)
	}
}

// TestFollowGone: a client that goes away, or takes nothing, ends the stream, and a
// silent stream sends comments.
func TestFollowGone(t *testing.T) {
	noLeaks(t)
	var f following
	server := httptest.NewUnstartedServer(f.handler())
	server.Config.ReadTimeout = 200 * time.Millisecond // of the request, not of the stream
	server.Start()
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	open := func(method string) (io.Reader, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(request(method)))
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cancel(); res.Body.Close() })
		return res.Body, cancel
	}
	body, cancel := open("silent")
	lines := bufio.NewScanner(body)
	for comments := 0; comments < 6; { // for longer than the server's ReadTimeout
		if !lines.Scan() {
			t.Fatalf("a silent stream ends: %v", lines.Err())
		}
		if lines.Text() == ":" {
			comments++
		}
	}
	cancel()
	if err := f.ended(t); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that goes: %v", err)
	}
	_, cancel = open("large")
	if err := f.ended(t); err == nil {
		t.Error("a client that takes nothing is written to without end")
	}
	cancel()
}

// TestFollowHTTP2: there, deadlines would end a stream also while nothing is written.
func TestFollowHTTP2(t *testing.T) {
	noLeaks(t)
	var f following
	h := f.handler()
	h.patience = &patience{write: 100 * time.Millisecond, ping: 300 * time.Millisecond}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ReadTimeout, server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(request("silent")))
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil || res.ProtoMajor != 2 {
		t.Fatalf("%v: %v", res, err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for comments := 0; comments < 3; {
		if !lines.Scan() {
			t.Fatalf("a silent stream ends: %v", lines.Err())
		}
		if lines.Text() == ":" {
			comments++
		}
	}
	cancel()
	if err := f.ended(t); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that goes: %v", err)
	}
}

// TestFollowConn: over a connection events wait for the reader beside other calls,
// and end with it.
func TestFollowConn(t *testing.T) {
	var f following
	url, _ := socketServer(t, f.handler())
	c := dial(t, url)
	say(t, c, request("follow1000"))
	if got := hear(t, c); !strings.Contains(got, `"id":7`) {
		t.Errorf("first comes %s", got)
	}
	time.Sleep(50 * time.Millisecond) // more than the bound of Send would be waiting
	for n := range 1000 {
		if got := hear(t, c); got != fmt.Sprintf("{\"event\":\"tick\",\"data\":{\"n\":%d,\n\"text\":\"\"}}", n+1) {
			t.Fatalf("event %d is %s", n+1, got)
		}
	}
	if err := f.ended(t); err != nil {
		t.Error(err)
	}
	// A stream without end beside another call.
	other := dial(t, url)
	say(t, other, request("large"))
	say(t, other, `{"jsonrpc":"2.0","id":"beside","method":"plain"}`)
	for !strings.Contains(hear(t, other), `"beside"`) {
	}
	other.CloseNow()
	if err := f.ended(t); err == nil {
		t.Error("a stream without end has ended")
	}
	say(t, c, request("silent"))
	hear(t, c)
	c.CloseNow()
	if err := f.ended(t); !errors.Is(err, context.Canceled) {
		t.Errorf("a connection that is lost: %v", err)
	}
	// A reader that takes nothing at all loses the connection.
	c = dial(t, url)
	say(t, c, request("large"))
	if err := f.ended(t); !errors.Is(err, ErrClosed) {
		t.Errorf("a reader that reads nothing: %v", err)
	}
}

// TestServeEvents: a stream without a call before it.
func TestServeEvents(t *testing.T) {
	var f following
	f.handler()
	w := httptest.NewRecorder()
	ServeEvents(t.Context(), w, f.follow("follow1", 1))
	if diff := cmp.Diff("event: tick\nid: 1\ndata: {\"n\":1, \"text\":\"\"}\n\n", w.Body.String()); diff != "" || !w.Flushed {
		t.Error(diff)
	}
}

func TestReadEvents(t *testing.T) {
	const stream = ": a comment\n\nevent: a\nid: 7\ndata: {\"n\":\ndata:1}\r\n\r\n\n\nid: 8\n\ndata\n\ndata: broken off"
	var got []string
	alive := 0
	err := ReadEvents(strings.NewReader(stream), 100, func() { alive++ }, func(e Event) error {
		got = append(got, fmt.Sprintf("%s %s %q", e.Name, e.ID, e.Data))
		return nil
	})
	want := []string{`a 7 "{\"n\":\n1}"`, `  ""`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || alive != 14 {
		t.Errorf("error %v, %d lines, events (-want +got):\n%s", err, alive, diff)
	}
	stop := errors.New("stop")
	if err := ReadEvents(strings.NewReader("data: 1\n\n"), 100, nil, func(Event) error { return stop }); err != stop {
		t.Errorf("the error of the reader's function is %v", err)
	}
	for name, long := range map[string]string{
		"a line": "data: " + strings.Repeat("x", 200),
		"lines":  strings.Repeat("data: xxxxxxxxxxxxxxx\n", 20),
	} {
		err := ReadEvents(strings.NewReader(long+"\n\n"), 100, nil, func(Event) error { return nil })
		if !errors.Is(err, ErrEventTooLarge) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
