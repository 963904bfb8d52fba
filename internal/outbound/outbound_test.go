package outbound

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// names answers DNS questions from a function, over a real socket.
func names(t *testing.T, answer func(name string) netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if reply := reply(question[:n], answer); reply != nil {
				server.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// reply is a DNS answer with one address, for a question with one name.
func reply(question []byte, answer func(string) netip.Addr) []byte {
	var labels []string
	end := 12
	for end < len(question) && question[end] != 0 {
		size := int(question[end])
		if end+1+size > len(question) {
			return nil
		}
		labels = append(labels, string(question[end+1:end+1+size]))
		end += 1 + size
	}
	if end += 5; end > len(question) {
		return nil
	}
	kind := binary.BigEndian.Uint16(question[end-4:])
	a := answer(strings.Join(labels, "."))
	out := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:end]...)
	if a.Is4() && kind == 1 || a.Is6() && kind == 28 {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		out = append(out, a.AsSlice()...)
	}
	return out
}

// TestThreat13URL: addresses that surely lead to where no callback may go are refused when
// they are given, however they are written.
func TestThreat13URL(t *testing.T) {
	for _, address := range []string{
		"http://127.0.0.1/", "http://127.0.0.1:9/cb", "https://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://10.0.0.1/",
		"http://169.254.169.254/latest", "http://[fe80::1%25eth0]/", "http://0/", "http://0.0.0.0/", "http://2130706433/", "http://0x7f.1/", "http://0x7f000001/",
		"http://127.1/", "http://0177.0.0.1/", "http://127.0.0.1./", "http://localhost/", "http://LocalHost./", "http://a.localhost:80/", "http://a.LOCALHOST./",
		"http://[64:ff9b::7f00:1]/", "http://①②⑦.⓪.⓪.①/", "http://loc\u0430lhost/", "http://%6cocalhost/", "http:///x", "http://", "::", "http://[::1", "http://a b/",
	} {
		if err := (&Dialer{}).CheckURL(address); err == nil {
			t.Errorf("%s is accepted", address)
		}
	}
	for _, address := range []string{"https://callback.url", "http://callback.example:8080/a?b=c", "https://1.1.1.1/", "https://[2606:4700:4700::1111]/", "http://localhost.example/", "http://7a.example/"} {
		if err := (&Dialer{}).CheckURL(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"http://127.0.0.1:9/cb", "http://localhost/"} {
		if err := (&Dialer{AllowPrivate: true}).CheckURL(address); err != nil {
			t.Errorf("%s, with private addresses allowed: %v", address, err)
		}
	}
}

func TestThreat13Addresses(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "172.32.0.1": true, "100.128.0.1": true,
		"127.0.0.1": false, "127.8.9.10": false, "::1": false, // loopback
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "fd00::1": false, // private
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.100.100.200": false, // link-local and metadata
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "255.255.255.255": false, "240.0.0.1": false,
		"224.0.0.1": false, "ff02::1": false, // multicast
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, // IPv4 in IPv6
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001:0:1::1": false, // NAT64, 6to4, Teredo
		"::ffff:0:a00:1": false, "2002:a00:1::1": false, "2001:0:5ef5:79fd::f5ff:fffe": false, "64:ff9b::5db8:d822": false, // translated, also of a public one
		"2606:4700::5efe:a00:1": false, "2606:4700::200:5efe:a00:1": false, // ISATAP
		"fec0::1": false, "2001:db8::1": false, "198.18.0.1": false, "192.0.0.192": false, "3fff::1": false, "5f00::1": false, "100:0:0:1::1": false,
		"4000::1": false, "1::1": false, "8000::1": false, "fb00::1": false, // not handed out
		"192.31.196.1": false, "192.52.193.1": false, "192.175.48.1": false, "2620:4f:8000::1": false, // special, though some are routed
		"168.63.129.16": false, "::ffff:168.63.129.16": false, "168.63.129.17": true, // a cloud's own
	} {
		a := netip.MustParseAddr(address)
		if Public(a) != public {
			t.Errorf("%s is public: %v", address, !public)
		}
		d := &Dialer{}
		if err := d.checkAddress(a); (err == nil) != public || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
		if err := (&Dialer{AllowPrivate: true}).checkAddress(a); err != nil {
			t.Errorf("%s, with private addresses allowed: %v", address, err)
		}
	}
	if err := (&Dialer{}).checkAddress(netip.MustParseAddr("2606:4700:4700::1111%eth0")); !errors.Is(err, ErrRefused) {
		t.Errorf("an address with a zone: %v", err)
	}
}

func TestHosts(t *testing.T) {
	lists := &Dialer{Allowed: []string{"example.com", "*.Example.org.", "10.0.0.0/8", "::1"}, Blocked: []string{"bad.example.org", "10.6.6.6"}}
	for _, c := range []struct {
		dialer *Dialer
		host   string
		ok     bool
	}{
		{lists, "example.com", true}, {lists, "EXAMPLE.com.", true}, {lists, "a.example.org", true}, {lists, "a.b.example.org", true},
		{lists, "example.org", false}, {lists, "notexample.com", false}, {lists, "example.com.evil.net", false}, {lists, "bad.example.org", false}, {lists, "BAD.example.org.", false},
		{lists, "10.1.2.3", true}, {lists, "::ffff:10.1.2.3", true}, {lists, "10.6.6.6", false}, {lists, "::ffff:10.6.6.6", false}, {lists, "1.1.1.1", false}, {lists, "::1", true},
		{lists, "", false}, {lists, "exämple.com", false}, {lists, "ｅxample.com", false},
		{&Dialer{}, "anything.net", true}, {&Dialer{}, "1.1.1.1", true}, {&Dialer{}, "", false},
		{&Dialer{Blocked: []string{"*.evil.net"}}, "evil.net", true}, {&Dialer{Blocked: []string{"*.evil.net"}}, "x.evil.net", false},
		{&Dialer{Blocked: []string{"*.evil.net"}}, "1.1.1.1", false}, // the way around a blocked name
		{&Dialer{Allowed: []string{"exämple.com"}}, "example.com", false}, {&Dialer{Blocked: []string{"a b"}}, "example.com", false},
		{&Dialer{Allowed: []string{strings.Repeat("*a", 100)}}, strings.Repeat("a", 253), true},
	} {
		if err := c.dialer.CheckHost(c.host); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%v/%v, %q: %v", c.dialer.Allowed, c.dialer.Blocked, c.host, err)
		}
	}
}

// TestThreat13OwnAddresses: a machine's public address leads to its own loopback.
func TestThreat13OwnAddresses(t *testing.T) {
	mine, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mine {
		if a := netip.MustParsePrefix(m.String()).Addr(); !own(a) || Public(a) {
			t.Errorf("%s: own %v, public %v", a, own(a), Public(a))
		}
	}
	if own(netip.MustParseAddr("93.184.216.34")) {
		t.Error("every address is this machine's")
	}
}

// TestThreat13ErrorsTellNothing: whoever may name a host must not learn from errors what
// a network looks like in which it does not stand.
func TestThreat13ErrorsTellNothing(t *testing.T) {
	resolver := names(t, func(name string) netip.Addr {
		switch name {
		case "intranet.test":
			return netip.MustParseAddr("10.20.30.40")
		case "closed.test":
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.Addr{}
	})
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: &net.UDPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 53}, Err: errors.New("unreachable")}
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.(*net.TCPConn).SetLinger(0) // a reset, whose error names both ends
			c.Close()
		}
	}()
	_, open, _ := net.SplitHostPort(l.Addr().String())
	get := func(d *Dialer, url string) string {
		t.Helper()
		client := d.Client(Options{})
		defer client.CloseIdleConnections()
		response, err := client.Get(url)
		if err == nil {
			response.Body.Close()
			t.Fatalf("%s was reached", url)
		}
		for _, telling := range []string{"10.20.30.40", "127.0.0.1", "10.9.8.7", ":53"} {
			if strings.Contains(err.Error(), telling) {
				t.Errorf("%s: %v", url, err)
			}
		}
		return err.Error()
	}
	there := get(&Dialer{Resolver: resolver}, "http://intranet.test/")
	missing := get(&Dialer{Resolver: resolver}, "http://nothing.test/")
	if strings.ReplaceAll(there, "intranet", "nothing") != missing {
		t.Errorf("a name that exists is told from one that does not:\n%s\n%s", there, missing)
	}
	get(&Dialer{Resolver: broken}, "http://intranet.test/")
	get(&Dialer{Resolver: resolver, AllowPrivate: true}, "http://closed.test:1/")
	get(&Dialer{Resolver: resolver, AllowPrivate: true}, "http://closed.test:"+open+"/")
}

// TestThreat13Rebinding asks for a name that is public at the first look and the
// loopback at the next: what counts is what is connected to.
func TestThreat13Rebinding(t *testing.T) {
	reached := atomic.Bool{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())

	var lookups atomic.Int32
	resolver := names(t, func(name string) netip.Addr {
		if name == "rebinding.test" && lookups.Add(1) <= 2 { // A and AAAA
			return netip.MustParseAddr("93.184.216.34")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	if got, err := resolver.LookupNetIP(t.Context(), "ip4", "rebinding.test"); err != nil || got[0].String() != "93.184.216.34" {
		t.Fatalf("the first look: %v, %v", got, err)
	}
	lookups.Store(2)
	client := (&Dialer{Resolver: resolver}).Client(Options{})
	defer client.CloseIdleConnections()
	for _, name := range []string{"rebinding.test", "loopback.test", "127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "localhost"} {
		response, err := client.Get("http://" + name + ":" + port + "/")
		if err == nil {
			response.Body.Close()
			t.Errorf("%s was reached", name)
		} else if !errors.Is(err, ErrRefused) && strings.HasSuffix(name, ".test") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if reached.Load() {
		t.Error("the loopback was reached")
	}
	// The same name is reached where it may be, so that the above says something.
	allowed := (&Dialer{Resolver: resolver, Allowed: []string{"*.test", "127.0.0.1"}}).Client(Options{})
	defer allowed.CloseIdleConnections()
	response, err := allowed.Get("http://loopback.test:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if !reached.Load() {
		t.Error("the server was not reached where it may be")
	}
	// An address that is blocked is blocked behind a name too, whatever else is allowed.
	blocked := (&Dialer{Resolver: resolver, AllowPrivate: true, Blocked: []string{"127.0.0.0/8"}}).Client(Options{})
	defer blocked.CloseIdleConnections()
	if _, err := blocked.Get("http://loopback.test:" + port + "/"); !errors.Is(err, ErrRefused) {
		t.Errorf("a blocked network: %v", err)
	}
}

// TestThreat13Redirects follows redirects out of what may be reached.
func TestThreat13Redirects(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner server was reached") }))
	defer inner.Close()
	_, innerPort, _ := net.SplitHostPort(inner.Listener.Addr().String())
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	}))
	defer outer.Close()
	resolver := names(t, func(name string) netip.Addr {
		return netip.MustParseAddr(map[string]string{"outer.test": "127.0.0.1", "inner.test": "127.0.0.2"}[name])
	})
	_, port, _ := net.SplitHostPort(outer.Listener.Addr().String())
	client := (&Dialer{Resolver: resolver, Allowed: []string{"outer.test", "inner.test", "127.0.0.1/32"}, Blocked: []string{"*.blocked.test"}}).Client(Options{Redirects: 3})
	defer client.CloseIdleConnections()
	for _, to := range []string{"http://inner.test:" + innerPort, "http://x.blocked.test/", "http://other.test/", "http://169.254.169.254/latest/", "http://[::1]:" + innerPort, "ftp://outer.test/"} {
		if _, err := client.Get("http://outer.test:" + port + "/?to=" + url.QueryEscape(to)); !errors.Is(err, ErrRefused) {
			t.Errorf("a redirect to %s: %v", to, err)
		}
	}
	// More than are followed: the last redirect is the answer.
	loop := "http://outer.test:" + port + "/"
	response, err := client.Get(loop + "?to=" + url.QueryEscape("/?to="+url.QueryEscape("/?to="+url.QueryEscape("/?to="+url.QueryEscape("/?to=/")))))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusFound {
		t.Errorf("too many redirects: %s", response.Status)
	}
}

// TestHeadersStay: what holds a credential goes to one origin only, and not back
// to it either once another one had a say.
func TestHeadersStay(t *testing.T) {
	seen := map[string]http.Header{}
	handle := func(name string, next func(*http.Request) string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen[name+r.URL.Path] = r.Header.Clone()
			if to := next(r); to != "" {
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			}
		})
	}
	var a, b *httptest.Server
	b = httptest.NewServer(handle("b", func(*http.Request) string { return a.URL + "/back" }))
	defer b.Close()
	a = httptest.NewServer(handle("a", func(r *http.Request) string {
		return map[string]string{"/": "/same", "/same": b.URL + "/"}[r.URL.Path]
	}))
	defer a.Close()
	to, _ := url.Parse(a.URL)
	client := (&Dialer{AllowPrivate: true}).Client(Options{Redirects: 5, For: to, Header: http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}}})
	defer client.CloseIdleConnections()
	request, _ := http.NewRequest("POST", a.URL+"/?key=q", strings.NewReader("body"))
	request.Header.Set("X-Token", "own")
	request.Header.Set("Content-Type", "text/plain")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	for name, secret := range map[string]bool{"a/": true, "a/same": true, "b/": false, "a/back": false} {
		h := seen[name]
		if h == nil {
			t.Fatalf("%s was not asked", name)
		}
		for _, header := range []string{"X-Api-Key", "Authorization", "X-Token"} {
			if got := h.Get(header) != ""; got != secret {
				t.Errorf("%s: %s sent: %v", name, header, got)
			}
		}
		if h.Get("Content-Type") != "text/plain" || h.Get("Referer") != "" {
			t.Errorf("%s: %v", name, h)
		}
	}
}

func TestNoDowngrade(t *testing.T) {
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.test"}}
	for scheme, ok := range map[string]bool{"https": true, "http": false} {
		next := &http.Request{URL: &url.URL{Scheme: scheme, Host: "a.test"}, Header: http.Header{}}
		if err := redirect(next, []*http.Request{from}); (err == nil) != ok {
			t.Errorf("https to %s: %v", scheme, err)
		}
	}
}

func TestMaxResponse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		w.Write(make([]byte, n))
	}))
	defer server.Close()
	client := (&Dialer{AllowPrivate: true}).Client(Options{MaxResponse: 1000})
	defer client.CloseIdleConnections()
	for size, want := range map[int]error{0: nil, 999: nil, 1000: nil, 1001: ErrTooLarge, 100_000: ErrTooLarge} {
		response, err := client.Get(server.URL + "/" + strconv.Itoa(size))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(response.Body)
		response.Body.Close()
		if !errors.Is(err, want) || len(b) != min(size, 1000) {
			t.Errorf("%d bytes: %d read, %v", size, len(b), err)
		}
	}
}

// TestNoProxy: a proxy of the environment would dial in place of the dialer.
func TestNoProxy(t *testing.T) {
	client := (&Dialer{}).Client(Options{})
	if client.Transport.(*transport).next.Proxy != nil || client.Jar != nil {
		t.Error("the client has a proxy or a jar of cookies")
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.com", "127.0.0.1", "::ffff:7f00:1", "[::1]", "xn--a", "0x7f.1", "a%00b", "fe80::1%eth0"} {
		f.Add(s, "*.example.com")
	}
	f.Fuzz(func(t *testing.T, host, glob string) {
		d := &Dialer{Allowed: []string{glob, "example.com"}, Blocked: []string{"blocked.test", "10.0.0.1"}}
		err := d.CheckHost(host)
		if err != nil && !errors.Is(err, ErrRefused) {
			t.Fatalf("%q: %v", host, err)
		}
		if name := canonical(host); err == nil && (name == "blocked.test" || name == "10.0.0.1" || !ascii(name)) {
			t.Fatalf("%q may be reached", host)
		}
	})
}
