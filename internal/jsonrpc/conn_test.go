package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// noLeaks fails the test when goroutines that it began are still there a while
// after it.
func noLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 300 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines became %d:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
	})
}

// hurried is the patience of tests.
var hurried = patience{message: 300 * time.Millisecond, write: 300 * time.Millisecond, ping: 100 * time.Millisecond, calls: 300 * time.Millisecond, close: 200 * time.Millisecond}

// socketServer serves WebSockets until the test ends, which finds each new
// connection in the channel.
func socketServer(t *testing.T, h *Handler) (url string, opened chan *Conn) {
	noLeaks(t)
	opened = make(chan *Conn, 100)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		h.ServeWebSocket(ctx, w, r, func(c *Conn) { opened <- c })
	}))
	t.Cleanup(func() {
		stop()
		server.Close()
		serving.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL, opened
}

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { c.CloseNow() })
	return c
}

func say(t *testing.T, c *websocket.Conn, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	kind, data, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if kind != websocket.MessageText {
		t.Fatalf("a message of the kind %v", kind)
	}
	return string(data)
}

// closed waits for the other side's close and returns its code and reason.
func closed(t *testing.T, c *websocket.Conn) (websocket.StatusCode, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for {
		_, _, err := c.Read(ctx)
		if err == nil {
			continue
		}
		var e websocket.CloseError
		if !errors.As(err, &e) {
			return -1, err.Error()
		}
		return e.Code, e.Reason
	}
}

// TestSameAnswers sends over every transport what TestAnswers has, and what came
// over HTTP is what must come.
func TestSameAnswers(t *testing.T) {
	h := twoProtocols(new(atomic.Int64))
	bodies := []string{
		`{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":{"a": 1.50}}`,
		`{"jsonrpc":"2.0","id":"\u0061\/é","method":"aos/nothing"}`,
		`{"jsonrpc":"2.0","id":1.0,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":null,"method":"aos/nothing"}`,
		`{"jsonrpc":"2.0","id":1,"method":"aos/panic"}`, `{"jsonrpc":"2.0","id":1,"method":"aos/fail"}`, `{"jsonrpc":"2.0","id":1,"method":"nobody"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"aos/nothing"}`, `{`, `{} {}`, "{\"id\":\"\xff\"}", `[]`, `"x"`, `null`, `[[]]`,
		`[{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":[1]},{"jsonrpc":"2.0","method":"aos/echo"},{"jsonrpc":"2.0","id":"2","method":"flow.echo","params":[2]}]`,
		strings.Repeat("[", 200),
	}
	url, _ := socketServer(t, h)
	c := dial(t, url)
	for _, body := range bodies {
		want := post(h, body).Body.String()
		say(t, c, body)
		if got := hear(t, c); got != want {
			t.Errorf("%s over a WebSocket: %s, want %s", body, got, want)
		}
		var out bytes.Buffer
		if err := h.ServeStdio(t.Context(), strings.NewReader(body+"\n"), &out, nil); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want+"\n" {
			t.Errorf("%s over streams: %s, want %s", body, got, want)
		}
	}
	// Notifications are carried out, and nothing comes back.
	say(t, c, `{"jsonrpc":"2.0","method":"aos/echo"}`)
	say(t, c, `[{"jsonrpc":"2.0","method":"aos/echo"}]`)
	say(t, c, `{"jsonrpc":"2.0","id":"last","method":"aos/nothing"}`)
	if got := hear(t, c); !strings.Contains(got, `"last"`) {
		t.Errorf("after two notifications came %s", got)
	}
}

// gated is a protocol whose calls wait to be let go on, each by its params.
type gated struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
	began chan string
}

func (g *gated) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gates == nil {
		g.gates = map[string]chan struct{}{}
	}
	if g.gates[name] == nil {
		g.gates[name] = make(chan struct{})
	}
	return g.gates[name]
}

func (g *gated) handler(done *atomic.Int64) *Handler {
	g.began = make(chan string, 10000)
	return &Handler{
		Namespaces: []Namespace{{
			Match:   func(string) bool { return true },
			InOrder: func(method string) bool { return method == "first" },
			Handle: func(ctx context.Context, r *Request) ([]byte, *Error) {
				name := string(r.Params.Raw())
				g.began <- name
				<-g.gate(name)
				if ctx.Err() != nil {
					return nil, &Error{Code: InternalError, Message: "the context has ended"}
				}
				done.Add(1)
				return []byte(name), nil
			},
		}},
		MaxBody: 64 << 10, patience: &hurried,
	}
}

func call(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":[%s]}`, id, method, params)
}

func result(id int, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":[%s]}`, id, params)
}

func TestSideBySide(t *testing.T) {
	var g gated
	url, _ := socketServer(t, g.handler(new(atomic.Int64)))
	c := dial(t, url)
	say(t, c, call(1, "m", "1"))
	say(t, c, call(2, "m", "2"))
	<-g.began
	<-g.began
	close(g.gate("[2]"))
	if got, want := hear(t, c), result(2, "2"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	close(g.gate("[1]"))
	if got, want := hear(t, c), result(1, "1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestInOrder(t *testing.T) {
	var g gated
	url, _ := socketServer(t, g.handler(new(atomic.Int64)))
	c := dial(t, url)
	say(t, c, call(1, "first", "1"))
	say(t, c, call(2, "m", "2"))
	if name := <-g.began; name != "[1]" {
		t.Fatalf("%s began", name)
	}
	select {
	case name := <-g.began:
		t.Fatalf("%s began before what must be first has ended", name)
	case <-time.After(100 * time.Millisecond):
	}
	close(g.gate("[2]"))
	close(g.gate("[1]"))
	if diff := cmp.Diff([]string{result(1, "1"), result(2, "2")}, []string{hear(t, c), hear(t, c)}); diff != "" {
		t.Error(diff)
	}
}

// TestFlood sends far more calls than are carried out at once: none is lost, and
// never are more in work than may be.
func TestFlood(t *testing.T) {
	var now, most atomic.Int64
	h := &Handler{Namespaces: []Namespace{{
		Match: func(string) bool { return true },
		Handle: func(_ context.Context, r *Request) ([]byte, *Error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond)
			return r.ID, nil
		},
	}}, patience: &hurried}
	url, _ := socketServer(t, h)
	c := dial(t, url)
	const calls = 2000
	go func() {
		for i := range calls {
			c.Write(context.Background(), websocket.MessageText, []byte(call(i, "m", "")))
		}
	}()
	seen := map[string]bool{}
	for range calls {
		seen[hear(t, c)] = true
	}
	if len(seen) != calls {
		t.Errorf("%d answers to %d calls", len(seen), calls)
	}
	if most.Load() > maxCalls {
		t.Errorf("%d calls were in work at once, and at most %d may be", most.Load(), maxCalls)
	}
}

// TestLargeCallsTakeTurns holds the bytes of one connection's calls in bounds.
func TestLargeCallsTakeTurns(t *testing.T) {
	var g gated
	url, _ := socketServer(t, g.handler(new(atomic.Int64)))
	c := dial(t, url)
	large := func(id int) string { return call(id, "m", fmt.Sprint(id)) + strings.Repeat(" ", 60<<10) }
	for id := range 3 {
		say(t, c, large(id))
	}
	first, second := <-g.began, <-g.began
	select {
	case name := <-g.began:
		t.Fatalf("%s began beside %s and %s", name, first, second)
	case <-time.After(100 * time.Millisecond):
	}
	for id := range 3 {
		close(g.gate(fmt.Sprintf("[%d]", id)))
	}
	for range 3 {
		hear(t, c)
	}
}

func TestPush(t *testing.T) {
	var g gated
	url, opened := socketServer(t, g.handler(new(atomic.Int64)))
	c := dial(t, url)
	server := <-opened
	want := []string{}
	for i := range 10 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i))
		if err := server.Send([]byte(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	server.Close("enough said")
	if err := server.Send([]byte("{}")); err != ErrClosed {
		t.Errorf("sending after the end: %v", err)
	}
	<-server.Done()
	got := []string{}
	for range 10 {
		got = append(got, hear(t, c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if code, reason := closed(t, c); code != websocket.StatusNormalClosure || reason != "enough said" {
		t.Errorf("closed with %v %q", code, reason)
	}
}

// TestSlowReader sends to one who does not read: sending never waits, and the
// connection ends.
func TestSlowReader(t *testing.T) {
	var g gated
	url, opened := socketServer(t, g.handler(new(atomic.Int64)))
	dial(t, url)
	server := <-opened
	message := bytes.Repeat([]byte("x"), 32<<10)
	start := time.Now()
	for i := 0; ; i++ {
		if err := server.Send(message); err != nil {
			if err != ErrSlow && err != ErrClosed {
				t.Errorf("%v", err)
			}
			break
		}
		if i > 100000 {
			t.Fatal("without end")
		}
		time.Sleep(50 * time.Microsecond)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
	select {
	case <-server.Done():
	case <-time.After(5 * time.Second):
		t.Error("the connection lives on")
	}
}

// TestAnswersNotRead asks and does not read the answers: no more calls are
// carried out than may be in work, and the connection ends.
func TestAnswersNotRead(t *testing.T) {
	var calls atomic.Int64
	answer := append(append([]byte(`"`), bytes.Repeat([]byte("x"), 1<<20)...), '"')
	h := &Handler{Namespaces: []Namespace{{
		Match:  func(string) bool { return true },
		Handle: func(context.Context, *Request) ([]byte, *Error) { calls.Add(1); return answer, nil },
	}}, patience: &hurried}
	url, opened := socketServer(t, h)
	c := dial(t, url)
	server := <-opened
	go func() {
		for i := range 1000 {
			if c.Write(context.Background(), websocket.MessageText, []byte(call(i, "m", ""))) != nil {
				return
			}
		}
	}()
	select {
	case <-server.Done():
	case <-time.After(10 * time.Second):
		t.Error("the connection lives on")
	}
	if calls.Load() > 2*maxCalls {
		t.Errorf("%d calls were carried out", calls.Load())
	}
}

// TestClosedMeanwhile closes while a call is in work: it is finished, with a
// context that has not ended.
func TestClosedMeanwhile(t *testing.T) {
	for name, end := range map[string]func(*websocket.Conn){
		"closed": func(c *websocket.Conn) { c.Close(websocket.StatusNormalClosure, "") },
		"lost":   func(c *websocket.Conn) { c.CloseNow() },
	} {
		t.Run(name, func(t *testing.T) {
			var g gated
			var done atomic.Int64
			url, opened := socketServer(t, g.handler(&done))
			c := dial(t, url)
			server := <-opened
			say(t, c, call(1, "m", "1"))
			<-g.began
			end(c)
			<-server.Done()
			close(g.gate("[1]"))
			for i := 0; done.Load() == 0; i++ {
				if i > 500 {
					t.Fatal("the call was not finished")
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// TestStop ends the context of the server: calls in work are answered, and then
// the connection is closed.
func TestStop(t *testing.T) {
	noLeaks(t)
	var g gated
	h := g.handler(new(atomic.Int64))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeWebSocket(ctx, w, r, nil)
		close(ended)
	}))
	defer server.Close()
	c := dial(t, server.URL)
	say(t, c, call(1, "m", "1"))
	say(t, c, call(2, "m", "2"))
	<-g.began
	<-g.began
	stop()
	time.Sleep(20 * time.Millisecond)
	close(g.gate("[1]"))
	if got, want := hear(t, c), result(1, "1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code, reason := closed(t, c); code != websocket.StatusGoingAway || reason != "The node stops." {
		t.Errorf("closed with %v %q", code, reason) // without the second, which takes too long
	}
	select {
	case <-ended:
		t.Error("it returned while a call was in work")
	case <-time.After(50 * time.Millisecond):
	}
	close(g.gate("[2]"))
	<-ended
}

func TestRefusedMessages(t *testing.T) {
	var g gated
	h := g.handler(new(atomic.Int64))
	var mu sync.Mutex
	var counted []string
	h.Refused = func(reason string) {
		mu.Lock()
		defer mu.Unlock()
		counted = append(counted, reason)
	}
	url, _ := socketServer(t, h)

	t.Run("too large", func(t *testing.T) {
		c := dial(t, url)
		fits := call(1, "m", "1")
		fits += strings.Repeat(" ", int(h.MaxBody)-len(fits))
		close(g.gate("[1]"))
		say(t, c, fits)
		if got, want := hear(t, c), result(1, "1"); got != want {
			t.Errorf("a message of exactly the limit: %s", got)
		}
		say(t, c, fits+" ")
		if got, want := hear(t, c), failure("null", -32600, "Invalid Request", "The message is larger than 65536 bytes, the limit of this server."); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if code, _ := closed(t, c); code != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v", code)
		}
	})
	t.Run("huge, in fragments", func(t *testing.T) {
		c := dial(t, url)
		go func() {
			w, err := c.Writer(context.Background(), websocket.MessageText)
			for err == nil {
				_, err = w.Write(bytes.Repeat([]byte(" "), 4<<10))
			}
		}()
		if got := hear(t, c); !strings.Contains(got, "-32600") {
			t.Errorf("%s", got)
		}
		if code, _ := closed(t, c); code != websocket.StatusMessageTooBig && code != -1 {
			t.Errorf("closed with %v", code)
		}
	})
	t.Run("binary", func(t *testing.T) {
		c := dial(t, url)
		c.Write(t.Context(), websocket.MessageBinary, []byte(call(1, "m", "1")))
		if code, _ := closed(t, c); code != websocket.StatusUnsupportedData {
			t.Errorf("closed with %v", code)
		}
	})
	t.Run("slow", func(t *testing.T) {
		c := dial(t, url)
		w, err := c.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(`{"jsonrpc"`))
		if code, _ := closed(t, c); code != websocket.StatusPolicyViolation {
			t.Errorf("closed with %v", code)
		}
	})
	t.Run("fragments", func(t *testing.T) {
		c := dial(t, url)
		w, err := c.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []byte(call(1, "m", "1")) {
			w.Write([]byte{b})
		}
		w.Close()
		if got, want := hear(t, c), result(1, "1"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"size", "size", "binary", "slow"}, counted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHalfFrames talks to a server below the protocol: what no library sends.
func TestHalfFrames(t *testing.T) {
	var g gated
	url, opened := socketServer(t, g.handler(new(atomic.Int64)))
	mask := "\x00\x00\x00\x00"
	for name, sent := range map[string]string{
		"a header by half":                      "\x81",
		"a length of 2^63":                      "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff" + mask + strings.Repeat(" ", 70<<10),
		"a length below zero":                   "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff" + mask,
		"not masked":                            "\x81\x02{}",
		"compressed, which was not agreed":      "\xc1\x82" + mask + "{}",
		"a continuation of nothing":             "\x80\x82" + mask + "{}",
		"a ping that is too long":               "\x89\xfe\x01\x00" + mask + strings.Repeat("x", 256),
		"a message within another":              "\x01\x82" + mask + "{}\x81\x82" + mask + "{}",
		"an unknown opcode":                     "\x83\x80" + mask,
		"a close with half a code":              "\x88\x81" + mask + "x",
		"nothing at all":                        "",
		"a message by half, and nothing beyond": "\x81\x8a" + mask + "{",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+strings.TrimPrefix(url, "http://")+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
			r := bufio.NewReader(c)
			res, err := http.ReadResponse(r, nil)
			if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v %v", res, err)
			}
			server := <-opened
			io.WriteString(c, sent)
			select {
			case <-server.Done(): // at last for want of an answer to a ping
			case <-time.After(8 * time.Second):
				t.Error("the connection lives on")
			}
			io.Copy(io.Discard, r)
		})
	}
}

// TestPing keeps a connection that answers pings, also while its calls are so
// many that nothing is read.
func TestPing(t *testing.T) {
	var g gated
	url, opened := socketServer(t, g.handler(new(atomic.Int64)))
	c := dial(t, url)
	server := <-opened
	answers := make(chan string, 2*maxCalls)
	go func() {
		for {
			_, data, err := c.Read(context.Background())
			if err != nil {
				close(answers)
				return
			}
			answers <- string(data)
		}
	}()
	for i := range maxCalls + 2 {
		say(t, c, call(i, "m", "1"))
	}
	select {
	case <-server.Done():
		t.Fatal("the connection has ended")
	case <-time.After(6 * hurried.ping):
	}
	close(g.gate("[1]"))
	for range maxCalls + 2 {
		if _, ok := <-answers; !ok {
			t.Fatal("the connection has ended")
		}
	}
	select {
	case <-server.Done():
		t.Fatal("the connection has ended")
	case <-time.After(4 * hurried.ping):
	}
}

func TestTurns(t *testing.T) {
	h := twoProtocols(new(atomic.Int64))
	var turns, reserved atomic.Int64
	turns.Store(2)
	h.Enter = func(context.Context, int) (func(), *Refusal) {
		if turns.Add(-1) < 0 {
			return nil, &Refusal{429, 7, "Too often."}
		}
		return noop, nil
	}
	h.Reserve = func(_ context.Context, size int64) (func(), *Refusal) {
		if reserved.Add(size) > 300<<10 {
			reserved.Add(-size)
			return nil, &Refusal{429, 1, "Too much."}
		}
		return func() { reserved.Add(-size) }, nil
	}
	h.MaxBody = 256 << 10
	url, _ := socketServer(t, h)
	c := dial(t, url)
	for id := 1; id <= 3; id++ {
		say(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"aos/nothing"}`, id))
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, id)
		if id == 3 {
			want = failure("3", -32603, "Internal server error", "Too often.")
		}
		if got := hear(t, c); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	say(t, c, `{`)
	if got, want := hear(t, c), failure("null", -32603, "Internal error", "Too often."); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i := 0; reserved.Load() != 0; i++ {
		if i > 100 {
			t.Fatalf("%d bytes stay reserved", reserved.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
	say(t, c, strings.Repeat(" ", 100<<10))
	if got, want := hear(t, c), failure("null", -32603, "Internal error", "Too much."); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code, reason := closed(t, c); code != websocket.StatusTryAgainLater || reason != "Too much." {
		t.Errorf("closed with %v %q", code, reason)
	}
	if reserved.Load() != 0 {
		t.Errorf("%d bytes stay reserved", reserved.Load())
	}
}

func TestConnFrom(t *testing.T) {
	var got atomic.Pointer[Conn]
	h := &Handler{Namespaces: []Namespace{{
		Match: func(string) bool { return true },
		Handle: func(ctx context.Context, r *Request) ([]byte, *Error) {
			got.Store(ConnFrom(ctx))
			return append([]byte{'"'}, r.Header.Get("X-Agent-DID")+`"`...), nil
		},
	}}}
	url, opened := socketServer(t, h)
	c, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Agent-DID": {"did:aeon:a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	say(t, c, call(1, "m", ""))
	if answer := hear(t, c); !strings.Contains(answer, "did:aeon:a") || got.Load() != <-opened {
		t.Errorf("%s came by %p", answer, got.Load())
	}
	post(h, call(1, "m", ""))
	if got.Load() != nil {
		t.Error("a call over HTTP has a connection")
	}
}

func TestUpgrade(t *testing.T) {
	url, _ := socketServer(t, twoProtocols(new(atomic.Int64)))
	for name, tt := range map[string]struct {
		header http.Header
		status int
	}{
		"another site":  {http.Header{"Origin": {"https://evil.example"}}, 403},
		"no upgrade":    {http.Header{"Upgrade": {"h2c"}}, 426},
		"other version": {http.Header{"Sec-WebSocket-Version": {"8"}}, 400},
	} {
		r, _ := http.NewRequest("GET", url, nil)
		r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
		for k, v := range tt.header {
			r.Header[k] = v
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d", name, res.Status, tt.status)
		}
		if got, want := IsWebSocket(r), name != "no upgrade"; got != want {
			t.Errorf("%s: IsWebSocket is %t", name, got)
		}
	}
	// What is offered to compress with is not taken.
	c, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if got := res.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("the extensions are %q", got)
	}
}

func TestStdio(t *testing.T) {
	noLeaks(t)
	h := twoProtocols(new(atomic.Int64))
	h.patience = &hurried
	tests := []struct{ name, in, out string }{
		{"nothing", "", ""},
		{"empty lines", "\n \r\n\n", ""},
		{"no end of line", `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":1,"result":null}` + "\n"},
		{"CRLF", `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}` + "\r\n", `{"jsonrpc":"2.0","id":1,"result":null}` + "\n"},
		{"a carriage return within", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"aos/echo\",\"params\":[1,\r2]}\n", `{"jsonrpc":"2.0","id":1,"result":[1, 2]}` + "\n"},
		{"too long", strings.Repeat("x", 200<<10) + "\n" + `{"jsonrpc":"2.0","method":"aos/nothing"}` + "\n", failure("null", -32600, "Invalid Request", "The message is larger than 65536 bytes, the limit of this server.") + "\n"},
		{"too long, no end", strings.Repeat("x", 65<<10), failure("null", -32600, "Invalid Request", "The message is larger than 65536 bytes, the limit of this server.") + "\n"},
		{"two values", "{}{}\n", failure("null", -32700, "Parse error", "The body is not acceptable JSON: unexpected data after the value at byte 2.") + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := h.ServeStdio(t.Context(), strings.NewReader(tt.in), &out, nil); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.out, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStdioEnd ends the input while a call is in work: it is answered all the same.
func TestStdioEnd(t *testing.T) {
	noLeaks(t)
	var g gated
	h := g.handler(new(atomic.Int64))
	var out bytes.Buffer
	go func() {
		<-g.began
		time.Sleep(2 * hurried.calls)
		close(g.gate("[1]"))
	}()
	if err := h.ServeStdio(t.Context(), strings.NewReader(call(1, "m", "1")+"\n"), &out, nil); err != nil {
		t.Error(err)
	}
	if got, want := out.String(), result(1, "1")+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStdioStuck never reads what is written, and never ends the input.
func TestStdioStuck(t *testing.T) {
	noLeaks(t)
	var g gated
	h := g.handler(new(atomic.Int64))
	in, keep := io.Pipe()
	unread, out := io.Pipe()
	defer keep.Close()
	defer unread.Close()
	opened := make(chan *Conn, 1)
	ended := make(chan error)
	go func() { ended <- h.ServeStdio(context.Background(), in, out, func(c *Conn) { opened <- c }) }()
	c := <-opened
	for i := 0; c.Send([]byte(`{}`)) == nil; i++ {
		if i > 2*maxPushed {
			t.Fatal("without end")
		}
	}
	if err := <-ended; err != ErrSlow {
		t.Errorf("%v", err)
	}

	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- h.ServeStdio(ctx, in, out, nil) }()
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("%v", err)
	}

	unread.Close() // a write fails
	go func() { ended <- h.ServeStdio(context.Background(), in, out, func(c *Conn) { c.Send([]byte(`{}`)) }) }()
	if err := <-ended; err != io.ErrClosedPipe {
		t.Errorf("%v", err)
	}
}

// FuzzServeStdio: each line of JSON gets at most one line of JSON, and the
// answers are those of HTTP.
func FuzzServeStdio(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{}\n[]", `{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":{}}`, "{\"id\":\"\xff\"}\r\n{",
		`[{"jsonrpc":"2.0","id":"\u0000","method":"aos/body"},{"jsonrpc":"2.0","method":"aos/panic"},3]` + "\n" + `{"jsonrpc":"2.0","method":"flow.echo"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		h := twoProtocols(new(atomic.Int64))
		h.MaxBody = 1 << 10
		var out bytes.Buffer
		if err := h.ServeStdio(t.Context(), bytes.NewReader(in), &out, nil); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			if len(line) <= 1<<10 && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			body := post(h, string(line)).Body.String()
			if len(line) > 1<<10 {
				body = failure("null", -32600, "Invalid Request", "The message is larger than 1024 bytes, the limit of this server.")
			}
			if body != "" {
				want[strings.NewReplacer("\r", " ").Replace(body)]++
			}
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if want[line]--; want[line] < 0 {
				t.Fatalf("%q: unexpected line %q", in, line)
			}
			if v := jsontext.Value(line); !v.IsValid() {
				t.Fatalf("%q: the line %q is not JSON", in, line)
			}
			if want[line] == 0 {
				delete(want, line)
			}
		}
		if len(want) > 0 {
			t.Fatalf("%q: not answered: %v", in, want)
		}
	})
}

// TestServerTimeouts: what bounds a request over HTTP does not end a WebSocket.
func TestServerTimeouts(t *testing.T) {
	noLeaks(t)
	h := twoProtocols(new(atomic.Int64))
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeWebSocket(r.Context(), w, r, nil)
		close(ended)
	}))
	server.Config.ReadTimeout, server.Config.WriteTimeout, server.Config.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	defer server.Close()
	c := dial(t, server.URL)
	time.Sleep(300 * time.Millisecond)
	say(t, c, `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`)
	if got, want := hear(t, c), `{"jsonrpc":"2.0","id":1,"result":null}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c.Close(websocket.StatusNormalClosure, "")
	<-ended
}
