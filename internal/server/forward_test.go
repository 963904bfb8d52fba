package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
)

// raw sends bytes to an address and returns the answer's status and body.
func raw(t *testing.T, network, address, request string) (status int, body string) {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// TestForwardedIsNotLocal sends what proxies make of a request from anywhere to a node
// without credentials on loopback.
func TestForwardedIsNotLocal(t *testing.T) {
	dir := t.TempDir()
	s := local(t, func(c *Config) {
		c.Socket = filepath.Join(dir, "s")
		c.Operator = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "operator") })
		c.Routes = []Route{{Pattern: "/data", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "data") }), Roles: identity.Roles}}
	})
	url, _ := run(t, s)
	address := strings.TrimPrefix(url, "http://")
	post := func(line, headers string) string {
		return fmt.Sprintf("POST / %s\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", line, address, len(whoCall), headers, whoCall)
	}
	if status, body := raw(t, "tcp", address, post("HTTP/1.1", "Connection: close\r\n")); status != 200 {
		t.Fatalf("a local caller: %d %s", status, body)
	}
	// As nginx does it unless told otherwise: the upstream's name as Host, HTTP/1.0, no header.
	if status, body := raw(t, "tcp", address, post("HTTP/1.0", "Connection: close\r\n")); status != 401 || !strings.Contains(body, "HTTP/1.0") {
		t.Errorf("as nginx forwards: %d %s", status, body)
	}
	for _, header := range []string{
		"Forwarded: for=203.0.113.9", "X-Forwarded-For: 203.0.113.9", "x-forwarded-for: 127.0.0.1", "X-Forwarded-For:", "X-Forwarded-Proto: https",
		"X-Forwarded-Host: reeve.example", "X-Forwarded: 1", "X_Forwarded_For: 203.0.113.9", "Forwarded-For: 203.0.113.9", "X-Forward-For: 1",
		"X-Real-IP: 203.0.113.9", "Via: 1.1 varnish", "X-BlueCoat-Via: 1", "X-Client-IP: 203.0.113.9", "True-Client-IP: 203.0.113.9",
		"CF-Connecting-IP: 203.0.113.9", "CF-Ray: 1", "CDN-Loop: cloudflare", "Fly-Client-IP: 203.0.113.9", "X-Cluster-Client-Ip: 203.0.113.9",
		"X-Original-Forwarded-For: 1", "X-Original-URL: /", "X-Original-Host: a", "X-Envoy-External-Address: 203.0.113.9", "X-Envoy-Attempt-Count: 1",
		"X-ProxyUser-Ip: 203.0.113.9", "WL-Proxy-Client-IP: 203.0.113.9", "Proxy-Client-IP: 1", "X-Remote-Addr: 203.0.113.9", "X-Originating-IP: 1",
		"X-Azure-ClientIP: 203.0.113.9", "Fastly-Client-IP: 203.0.113.9", "X-Amzn-Trace-Id: Root=1", "X-Appengine-User-IP: 1", "X-Nf-Client-Connection-Ip: 1",
		"Tailscale-User-Login: eve@example.com", "Ngrok-Auth-User-Email: eve@example.com", "Proxy-Connection: keep-alive",
		"X-Nginx-Proxy: true", "X-Goog-Authenticated-User-Email: eve@example.com", "X-Auth-Request-User: eve", "Remote-User: eve", "X-Host: reeve.example",
	} {
		if status, body := raw(t, "tcp", address, post("HTTP/1.1", header+"\r\n")); status != 401 || !strings.Contains(body, "passed on") {
			t.Errorf("with %q: %d %s", header, status, body)
		}
		name, _, _ := strings.Cut(header, ":")
		for _, path := range []string{"/data", "/metrics"} {
			if status, body := raw(t, "tcp", address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n\r\n"); status != 401 {
				t.Errorf("%s with %s: %d %s", path, name, status, body)
			}
		}
		// Nobody is the operator because a proxy was put before the socket.
		if status, _ := raw(t, "unix", filepath.Join(dir, "s"), "GET /admin/status HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n\r\n"); status != 403 {
			t.Errorf("on the socket with %s: %d", name, status)
		}
	}
	if status, body := raw(t, "unix", filepath.Join(dir, "s"), "GET /admin/status HTTP/1.0\r\n\r\n"); status != 403 {
		t.Errorf("on the socket by HTTP/1.0: %d %s", status, body)
	}
	// What honest clients send is no trace.
	for _, header := range []string{
		"User-Agent: x", "Accept: */*", "Accept-Encoding: gzip", "Connection: keep-alive", "Connection: close", "X-Request-Id: 1", "Traceparent: 00-1-2-01",
		"Idempotency-Key: 1", "Mcp-Session-Id: 1", "Mcp-Protocol-Version: 2025-06-18", "A2A-Version: 1.0", "Last-Event-Id: 1", "X-Stainless-Lang: python",
		"X-Agent-Did: did:a", "X-Reeve-Session: 1", "Baggage: a=b", "Cache-Control: no-cache", "Te: trailers", "Dnt: 1", "Priority: u=1",
	} {
		if status, body := raw(t, "tcp", address, post("HTTP/1.1", header+"\r\n")); status != 200 {
			t.Errorf("with %q: %d %s", header, status, body)
		}
	}
	for _, preface := range []string{"PROXY TCP4 203.0.113.9 127.0.0.1 5000 8080\r\n", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x09\x7f\x00\x00\x01\x13\x88\x1f\x90"} {
		if status, body := raw(t, "tcp", address, preface+post("HTTP/1.1", "")); status != 400 {
			t.Errorf("behind a PROXY preface: %d %s", status, body)
		}
	}
}

// With a credential a forwarded request is answered, and without one where the
// operator let anybody in by name.
func TestForwardedWithCredential(t *testing.T) {
	key, credential := newKey(t, "bot", identity.Agent)
	s := local(t, func(c *Config) { c.Auth = newAuth(t, true, key) })
	if w := ask(s, "POST", "/", whoCall, "X-Forwarded-For", "203.0.113.9", "Authorization", credential); w.Code != 200 {
		t.Errorf("with a key: %d %s", w.Code, w.Body)
	}
	open := local(t, func(c *Config) { c.Listen, c.AllowAnonymous = ":8080", true })
	if w := ask(open, "POST", "/", whoCall, "X-Forwarded-For", "203.0.113.9", "Host", "10.0.0.1"); w.Code != 200 {
		t.Errorf("where anybody may ask: %d %s", w.Code, w.Body)
	}
	// A WebSocket is opened for nobody either.
	if w := ask(local(t, nil), "GET", "/", "", "Upgrade", "websocket", "Connection", "Upgrade", "Via", "1.1 x"); w.Code == 101 || w.Code == 200 {
		t.Errorf("a WebSocket: %d", w.Code)
	}
}

func TestTrustedProxies(t *testing.T) {
	trusted, err := ParseProxies([]string{"10.0.0.5", "10.1.0.0/16", "2001:db8::/32", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, peer, header string
		sent               []string // name, value, …
		want               string
	}{
		{"nobody else is believed", "192.0.2.7:1", "", []string{"X-Forwarded-For", "203.0.113.9"}, "192.0.2.7"},
		{"a proxy is", "10.0.0.5:1", "", []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9"},
		{"with a port", "10.0.0.5:1", "", []string{"X-Forwarded-For", "203.0.113.9:4711"}, "203.0.113.9"},
		{"what the caller wrote is not", "10.0.0.5:1", "", []string{"X-Forwarded-For", "198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		{"nor in a line of its own", "10.0.0.5:1", "", []string{"X-Forwarded-For", "198.51.100.1", "X-Forwarded-For", "203.0.113.9"}, "203.0.113.9"},
		{"a chain of proxies", "10.0.0.5:1", "", []string{"X-Forwarded-For", "198.51.100.1, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		{"nothing but proxies", "10.0.0.5:1", "", []string{"X-Forwarded-For", "10.1.2.4, 10.1.2.3"}, "10.1.2.4"},
		{"unknown", "10.0.0.5:1", "", []string{"X-Forwarded-For", "203.0.113.9, unknown"}, "10.0.0.5"},
		{"nothing said", "10.0.0.5:1", "", nil, "10.0.0.5"},
		{"another header", "10.0.0.5:1", "", []string{"Forwarded", "for=203.0.113.9", "X-Real-Ip", "203.0.113.9"}, "10.0.0.5"},
		{"Forwarded", "10.0.0.5:1", "Forwarded", []string{"Forwarded", `for=198.51.100.1, For="[2001:db9::7]:99";proto=https;by=10.0.0.5`}, "2001:db9::7"},
		{"Forwarded, hidden", "10.0.0.5:1", "Forwarded", []string{"Forwarded", `for=_secret`}, "10.0.0.5"},
		{"its own", "10.0.0.5:1", "x-real-ip", []string{"X-Real-Ip", "203.0.113.9", "X-Forwarded-For", "198.51.100.1"}, "203.0.113.9"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.5]:1", "", []string{"X-Forwarded-For", "::ffff:203.0.113.9"}, "203.0.113.9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := local(t, func(c *Config) { c.Proxies = Proxies{Trusted: trusted, Header: tt.header} })
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			for i := 0; i < len(tt.sent); i += 2 {
				r.Header.Add(tt.sent[i], tt.sent[i+1])
			}
			if got := s.client(r).String(); got != tt.want {
				t.Errorf("the client is %s, want %s", got, tt.want)
			}
		})
	}
	// What comes from a proxy was forwarded, also where it leaves no trace.
	s := local(t, func(c *Config) { c.Proxies = Proxies{Trusted: trusted} })
	url, _ := run(t, s)
	address := strings.TrimPrefix(url, "http://")
	if status, body := raw(t, "tcp", address, fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(whoCall), whoCall)); status != 401 {
		t.Errorf("from a proxy without a trace: %d %s", status, body)
	}
	for _, bad := range []string{"everybody", "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/90", "10.0.0.1:80", "fe80::1%eth0", ""} {
		if got, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q is taken: %v", bad, got)
		}
	}
}

// Who has one network of IPv6 is one caller, and not 2⁶⁴.
func TestAddressNames(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.9:1": "address:203.0.113.9", "[2001:db8:1:2:3::4]:1": "address:2001:db8:1:2::/64", "[2001:db8:1:2:ffff::]:1": "address:2001:db8:1:2::/64",
		"[::1]:1": "address:::1", "[::ffff:127.0.0.1]:1": "address:127.0.0.1", "[fe80::1%eth0]:1": "address:fe80::/64",
	} {
		if got := addressName(addressOf(text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// FuzzClient: whatever a caller writes, the address is its own, unless a trusted
// proxy says otherwise; and then a valid one.
func FuzzClient(f *testing.F) {
	f.Add("203.0.113.9, 10.0.0.5", "Forwarded", `for="[::1]"`)
	f.Add("unknown,,", "X-Forwarded-For", "1.2.3.4:5")
	trusted, _ := ParseProxies([]string{"10.0.0.5"})
	f.Fuzz(func(t *testing.T, a, name, b string) {
		s := &Server{cfg: Config{Proxies: Proxies{Trusted: trusted, Header: name}}}
		r := &http.Request{Header: http.Header{"X-Forwarded-For": {a, b}, "Forwarded": {b, a}, http.CanonicalHeaderKey(name): {b}}, RemoteAddr: "192.0.2.1:9"}
		if got := s.client(r).String(); got != "192.0.2.1" {
			t.Errorf("a stranger is %s", got)
		}
		r.RemoteAddr = "10.0.0.5:9"
		if got := s.client(r); !got.IsValid() {
			t.Error("the client has no address")
		}
		trace(r)
	})
}
