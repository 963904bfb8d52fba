package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"

	"github.com/coder/websocket"
)

// fakeConn is a connection of which only the end is of interest.
type fakeConn struct {
	net.Conn
	ended bool
}

func (c *fakeConn) Close() error { c.ended = true; return nil }

// TestConnectionShares opens, uses and ends connections of many callers at random, and
// holds what conns promises.
func TestConnectionShares(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := newConns(64, nil)
		var open []*conn
		closedByUs := map[*conn]bool{}
		alive := func() {
			kept := open[:0]
			for _, c := range open {
				if !c.ended {
					kept = append(kept, c)
				} else if c.awaiting > 0 && c.Conn.(*fakeConn).ended && c.place == nil && !closedByUs[c] {
					t.Fatal("a connection that awaits an answer was ended")
				}
			}
			open = kept
		}
		for range 5000 {
			who := fmt.Sprint("caller-", int(random.ExpFloat64()*2)) // some have much more than others
			switch random.IntN(6) {
			case 0, 1, 2:
				idle, few := 0, 0
				for _, c := range open {
					if c.awaiting == 0 {
						idle++
					}
					if c.group.name == who {
						few++
					}
				}
				c := p.admit(&fakeConn{}, who, false)
				if c == nil && idle > 0 && few < p.few() {
					t.Fatalf("%s has %d connections and got no other, while %d were idle", who, few, idle)
				}
				if c != nil {
					open = append(open, c)
				}
			case 3:
				if len(open) > 0 {
					c := open[random.IntN(len(open))]
					closedByUs[c] = true
					c.Close()
				}
			case 4:
				if len(open) > 0 {
					c := open[random.IntN(len(open))]
					if c.awaiting == 0 {
						c.await()
					} else {
						c.answered()
					}
				}
			case 5:
				if len(open) > 0 {
					c := open[random.IntN(len(open))]
					if random.IntN(2) == 0 {
						c.used()
					} else {
						c.belongs("key:" + who)
					}
				}
			}
			alive()
			sum := 0
			for name, g := range p.groups {
				if g.open == 0 {
					t.Fatalf("%s is remembered", name)
				}
				sum += g.open
			}
			if sum != p.open || sum != len(open) || sum > p.most {
				t.Fatalf("%d are open, %d counted, %d in groups", len(open), p.open, sum)
			}
		}
	}
}

// Who has everything, all of it awaiting answers, leaves room for others, one after the
// other, and the largest pays first.
func TestConnectionReserve(t *testing.T) {
	p := newConns(256, nil)
	fill := func(name string) (n int) {
		for {
			c := p.admit(&fakeConn{}, name, false)
			if c == nil {
				return n
			}
			c.await()
			n++
		}
	}
	got := []int{fill("a"), fill("b"), fill("c"), fill("d"), fill("e"), fill("f")}
	want := []int{192, 48, 1, 1, 1, 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("callers that await everything get %v, want %v", got, want)
	}
	// A key does not get more by being many addresses before it is known.
	p = newConns(256, nil)
	refused := 0
	for range 1000 {
		if c := p.admit(&fakeConn{}, "address:1", false); c == nil || !c.belongs("key:k") {
			refused++
		} else {
			c.await()
		}
	}
	if n := p.groups["key:k"].open; n > 192 || refused == 0 {
		t.Errorf("one key has %d connections that await", n)
	}
	if p.admit(&fakeConn{}, "address:2", false) == nil {
		t.Error("another finds no room")
	}
	// Behind a trusted proxy many share an address.
	p = newConns(256, nil)
	for i := range 240 {
		c := p.admit(&fakeConn{}, "address:proxy", true)
		if c == nil {
			t.Fatalf("a proxy has %d connections, and no more", i)
		}
		c.await()
		c.belongs("key:" + fmt.Sprint(i%3))
	}
}

// from is a client that comes from an address of loopback.
func from(ip string) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: 5 * time.Second}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}, Timeout: 20 * time.Second}
}

// TestThreat10Connections holds many connections in the ways that attackers do, from one
// address: others are served at once, also from the same address, and memory stays bounded.
// REEVE_SOAK=1 has it open as many as were used against a node.
func TestThreat10Connections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on loopback")
	}
	many, most := 300, 256
	if os.Getenv("REEVE_SOAK") != "" {
		many, most = 4200, 4096
	}
	key, credential := newKey(t, "bot", identity.Agent)
	for _, tt := range []struct{ name, first string }{
		{"silent", ""},
		{"kept alive", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"half a header", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Ty"},
		{"half a body", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: " + credential + "\r\nContent-Length: 60000\r\n\r\n{"},
		{"half a large body", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: " + credential + "\r\nContent-Length: 4000000\r\n\r\n{"},
		{"half a body of a stranger", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"},
		{"half a body of a route", "POST /mcp/judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: " + credential + "\r\nContent-Length: 40000000\r\n\r\n{"},
		{"chunks of a route", "POST /mcp/judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: " + credential + "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{    \r\n"},
		{"a WebSocket", "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: " + credential + "\r\n\r\n"},
		{"answers that nobody reads", strings.Repeat("GET /mcp/large HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+credential+"\r\n\r\n", 20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other, otherCredential := newKey(t, "other", identity.Agent)
			s := local(t, func(c *Config) {
				c.Auth = newAuth(t, true, key, other)
				c.Connections = most
				c.Connect = func(context.Context, http.Header) (func(*jsonrpc.Conn), error) { return nil, nil }
				c.Routes = []Route{{Pattern: "/mcp/", MaxBody: 40 << 20, JSON: true, Roles: identity.Roles, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.CopyN(w, endless{}, 4<<20) })}}
			})
			url, _ := run(t, s)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var held []net.Conn
			defer func() {
				for _, c := range held {
					c.Close()
				}
			}()
			d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}, Timeout: 5 * time.Second}
			for range many {
				c, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, c)
				c.SetWriteDeadline(time.Now().Add(5 * time.Second))
				io.WriteString(c, tt.first)
			}
			// With a key of one's own, from elsewhere and from where the others are, and for health.
			for _, ip := range []string{"127.0.0.3", "127.0.0.2"} {
				for range 10 {
					began := time.Now()
					r, _ := http.NewRequest("POST", url, strings.NewReader(whoCall))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Authorization", otherCredential)
					resp, err := from(ip).Do(r)
					if err != nil {
						t.Fatalf("from %s: %v", ip, err)
					}
					body, _ := io.ReadAll(resp.Body)
					resp.Body.Close()
					if resp.StatusCode != 200 || time.Since(began) > 10*time.Second {
						t.Errorf("from %s: %d %s after %s", ip, resp.StatusCode, body, time.Since(began))
					}
				}
			}
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 200<<20 {
				t.Errorf("%d connections cost %d MB", many, grown>>20)
			}
			if n := s.conns.count(); n > most {
				t.Errorf("%d connections are open, and %d are allowed", n, most)
			}
		})
	}
}

// TestAwaitedAnswersStay: whoever waits for an answer keeps its connection while others
// come and go.
func TestAwaitedAnswersStay(t *testing.T) {
	finish := make(chan struct{})
	rpc := &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{{
		Match: func(string) bool { return true },
		Handle: func(context.Context, *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			<-finish
			return []byte(`"done"`), nil
		},
	}}}
	s := local(t, func(c *Config) { c.RPC, c.Connections = map[string]*jsonrpc.Handler{"/": rpc}, 16 })
	url, _ := run(t, s)
	answers := make(chan string, 1)
	for _, encoding := range []string{"", "chunked"} {
		var wg sync.WaitGroup
		wg.Go(func() {
			var body io.Reader = strings.NewReader(whoCall)
			if encoding == "chunked" {
				body = io.MultiReader(body)
			}
			resp, err := http.Post(url, "application/json", body)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			answers <- string(b)
		})
		for len(inWork(s.limits)) == 0 {
			time.Sleep(time.Millisecond)
		}
		var idle []net.Conn
		for range 100 {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			idle = append(idle, c)
		}
		for i := 0; i < 100 && s.conns.count() < 16; i++ {
			time.Sleep(5 * time.Millisecond)
		}
		finish <- struct{}{}
		if got := <-answers; got != answered("done") {
			t.Errorf("%s: %s", encoding, got)
		}
		wg.Wait()
		for _, c := range idle {
			c.Close()
		}
	}
}

// TestThreat15RevokedStreams: a credential that holds no more ends what was opened with
// it within a second, and no call in between is carried out.
func TestThreat15RevokedStreams(t *testing.T) {
	key, credential := newKey(t, "bot", identity.Agent)
	other, otherCredential := newKey(t, "other", identity.Agent)
	auth := newAuth(t, true, key, other)
	streaming := make(chan struct{}, 10)
	s := local(t, func(c *Config) {
		c.Auth = auth
		c.Connect = func(context.Context, http.Header) (func(*jsonrpc.Conn), error) { return nil, nil }
		follow := whoami()
		handle := follow.Namespaces[0].Handle
		follow.Namespaces[0].Handle = func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			if r.Params.Exists() {
				r.Follow(func(ctx context.Context, send func(jsonrpc.Event) error) error {
					streaming <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				})
			}
			return handle(ctx, r)
		}
		c.RPC = map[string]*jsonrpc.Handler{"/": follow}
		c.Routes = []Route{{Pattern: "GET /events", Roles: identity.Roles, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Hold(r.Context(), time.Now())
			jsonrpc.ServeEvents(r.Context(), w, func(ctx context.Context, send func(jsonrpc.Event) error) error {
				streaming <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			})
		})}}
	})
	url, _ := run(t, s)
	ctx := t.Context()
	socket := func(credential string) *websocket.Conn {
		c, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {credential}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(ctx, websocket.MessageText, []byte(whoCall)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.Read(ctx); err != nil || !strings.Contains(string(got), "agent") {
			t.Fatalf("%s %v", got, err)
		}
		return c
	}
	ended := make(chan string, 10)
	for name, q := range map[string]string{
		"a stream":            "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + credential + "\r\n\r\n",
		"what follows a call": fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: 54\r\n\r\n%s", credential, `{"jsonrpc":"2.0","id":1,"method":"whoami","params":{}}`),
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, q)
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			ended <- name
		}()
		<-streaming
	}
	mine, theirs := socket(credential), socket(otherCredential)
	defer theirs.CloseNow()
	go func() {
		for {
			if _, got, err := mine.Read(ctx); err != nil {
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Errorf("the socket ends with %v", err)
				}
				ended <- "a socket"
				return
			} else if !strings.Contains(string(got), "-32000") {
				t.Errorf("after its key was revoked a call was answered %s", got)
			}
		}
	}()
	key.Revoked = time.Now()
	auth.SetKeys([]identity.Key{key, other})
	began := time.Now()
	mine.Write(ctx, websocket.MessageText, []byte(whoCall))
	for range 3 {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("something that was opened with a revoked key is still open")
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("that took %s", took)
	}
	if err := theirs.Write(ctx, websocket.MessageText, []byte(whoCall)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := theirs.Read(ctx); err != nil || string(got) != answered("key:other agent") {
		t.Errorf("another's socket: %s %v", got, err)
	}
}

// The first key ends what was open while nobody needed one. Where nobody can tell whether
// a key still holds, what is open by it ends, and its caller is not told that the key is
// at fault.
func TestEndedSockets(t *testing.T) {
	first, _ := newKey(t, "first", identity.Admin)
	for name, tt := range map[string]struct {
		happens func(*identity.Authenticator)
		want    websocket.StatusCode
	}{
		"the first key": {func(a *identity.Authenticator) { a.SetKeys([]identity.Key{first}) }, websocket.StatusPolicyViolation},
		"unsure":        {(*identity.Authenticator).Unsure, websocket.StatusGoingAway},
	} {
		t.Run(name, func(t *testing.T) {
			auth := newAuth(t, true)
			s := local(t, func(c *Config) {
				c.Auth = auth
				c.Connect = func(context.Context, http.Header) (func(*jsonrpc.Conn), error) { return nil, nil }
			})
			url, _ := run(t, s)
			c, _, err := websocket.Dial(t.Context(), url, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			tt.happens(auth)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, got, err := c.Read(ctx); websocket.CloseStatus(err) != tt.want {
				t.Errorf("%s %v", got, err)
			}
		})
	}
}
