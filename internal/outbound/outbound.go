// Package outbound makes connections to addresses that others choose: what a
// task calls, where a notification goes. Without it, whoever names a URL could
// have the node call its own loopback, its cloud's metadata service, or a
// neighbour that trusts it.
//
//	dialer := &outbound.Dialer{Allowed: []string{"*.example.com"}}
//	client := dialer.Client(outbound.Options{Timeout: 30 * time.Second, MaxResponse: 1 << 20})
//	response, err := client.Get("https://api.example.com/")
//
// Names are judged at each hop, so that a redirect leads nowhere else. Addresses
// are judged when the socket is about to connect, after the name was resolved,
// so that a name whose answer changes between two lookups is of no use.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/words"
)

// ErrRefused is what errors wrap when an address or a host may not be reached.
var ErrRefused = errors.New("refused")

// ErrTooLarge is the error of reading an answer beyond Options.MaxResponse.
var ErrTooLarge = errors.New("the answer is larger than what is read of one")

// Dialer connects to what may be reached. The zero value reaches every public
// address. It must not be changed after its first use, and may be used by many
// goroutines.
type Dialer struct {
	// AllowPrivate lets addresses be reached that are not of the public internet:
	// loopback, private and link-local networks, and the metadata services there.
	AllowPrivate bool
	// Allowed are the only hosts that may be reached, if there are any: names,
	// globs such as *.example.com, addresses, or networks such as 192.0.2.0/24. An
	// address that is listed itself may be reached although it is private.
	Allowed []string
	// Blocked may not be reached, whatever Allowed says. Where a list is set, an
	// address may be asked for in place of a name only if Allowed lists it: it
	// would be the way around.
	Blocked []string
	// Resolver looks up names; nil means net.DefaultResolver.
	Resolver *net.Resolver

	once   sync.Once
	filter filter
	bad    error
}

// filter is what the lists of a Dialer say.
type filter struct {
	allowed, blocked []string // names and globs, in lower case
	addresses, not   []netip.Prefix
}

// Check says whether the lists can be read. What cannot be read reaches nothing.
func (d *Dialer) Check() error {
	d.once.Do(func() {
		if d.filter.allowed, d.filter.addresses, d.bad = parseHosts(d.Allowed); d.bad == nil {
			d.filter.blocked, d.filter.not, d.bad = parseHosts(d.Blocked)
		}
	})
	return d.bad
}

func parseHosts(list []string) (names []string, nets []netip.Prefix, err error) {
	for _, h := range list {
		if p, err := netip.ParsePrefix(h); err == nil {
			nets = append(nets, p.Masked())
		} else if a, err := netip.ParseAddr(h); err == nil && a.Zone() == "" {
			nets = append(nets, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		} else if name := canonical(h); name != "" && len(name) <= 253 && ascii(name) {
			names = append(names, name)
		} else {
			return nil, nil, fmt.Errorf("%w: %q is no host's name; write it in ASCII, as xn--…", ErrRefused, h)
		}
	}
	return names, nets, nil
}

// canonical is a name as it is compared: DNS knows no case, and a dot at the end
// changes nothing.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// CheckHost says whether a host may be asked for: a name, or an address without
// brackets. What the name resolves to is judged when it is dialled.
func (d *Dialer) CheckHost(host string) error {
	if err := d.Check(); err != nil {
		return err
	}
	f := &d.filter
	host = canonical(host)
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		switch {
		case within(f.not, a):
			return fmt.Errorf("%w: the address %s is blocked", ErrRefused, a)
		case len(d.Allowed)+len(d.Blocked) > 0 && !within(f.addresses, a):
			return fmt.Errorf("%w: the address %s is not among the allowed domains", ErrRefused, a)
		}
		return nil
	}
	switch {
	case host == "" || len(host) > 253 || !ascii(host):
		return fmt.Errorf("%w: %q is no host's name; write it in ASCII, as xn--…", ErrRefused, words.Shorten(host, 100))
	case matches(f.blocked, host):
		return fmt.Errorf("%w: %q is among the blocked domains", ErrRefused, host)
	case len(d.Allowed) > 0 && !matches(f.allowed, host):
		return fmt.Errorf("%w: %q is not among the allowed domains", ErrRefused, host)
	}
	return nil
}

// CheckURL says whether an address may be called that is kept for later, as far as it
// can be told without asking anybody: what its name resolves to is judged when it is
// dialled.
func (d *Dialer) CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%w: it is no URL", ErrRefused)
	}
	host := canonical(u.Hostname())
	if err := d.CheckHost(host); err != nil || d.AllowPrivate {
		return err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return d.checkAddress(a)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == "localhost":
		return fmt.Errorf("%w: %s is this machine", ErrRefused, host)
	case last != "" && last[0] >= '0' && last[0] <= '9': // such as 2130706433, or 0x7f.1
		return fmt.Errorf("%w: %s is an address that some read as another", ErrRefused, host)
	}
	return nil
}

// checkAddress judges an address that is about to be connected to.
func (d *Dialer) checkAddress(a netip.Addr) error {
	zone := a.Zone() != ""
	a = a.WithZone("").Unmap()
	switch {
	case within(d.filter.not, a):
		return fmt.Errorf("%w: the address %s is blocked", ErrRefused, a)
	case d.AllowPrivate || !zone && within(d.filter.addresses, a):
		return nil
	case zone || !Public(a):
		return fmt.Errorf("%w: the address %s is not a public one", ErrRefused, a)
	}
	return nil
}

// DialContext connects over TCP, once host and address were judged.
func (d *Dialer) DialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(network, "tcp") {
		return nil, fmt.Errorf("%w: only TCP is spoken, and not %s", ErrRefused, network)
	}
	if err := d.CheckHost(host); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: 10 * time.Second, Resolver: d.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %q is no address", ErrRefused, address)
			}
			return d.checkAddress(to.Addr())
		}}
	conn, err := dialer.DialContext(ctx, network, hostport)
	to := asked(hostport)
	if err != nil {
		return nil, to.without(err)
	}
	return &connection{conn, to}, nil
}

// asked is the host and port that were asked for, which an error may tell. What
// the name resolved to, who resolved it, and from which address of this node the
// connection was made, is nothing that whoever chose the name shall learn.
type asked string

func (a asked) Network() string { return "tcp" }
func (a asked) String() string  { return string(a) }

// without is an error that tells no address but the one that was asked for.
func (a asked) without(err error) error {
	op, ok := err.(*net.OpError)
	if !ok {
		return err
	}
	told := &net.OpError{Op: op.Op, Net: op.Net, Addr: a, Err: op.Err}
	host, _, _ := net.SplitHostPort(string(a))
	if _, err := netip.ParseAddr(host); err == nil {
		return told
	}
	if lookup := (*net.DNSError)(nil); errors.As(err, &lookup) && !lookup.IsNotFound {
		told.Err = &net.DNSError{Err: "it cannot be looked up now", Name: host, IsTimeout: lookup.IsTimeout, IsTemporary: lookup.IsTemporary}
	} else if lookup != nil || errors.Is(err, ErrRefused) {
		told.Err = &nowhere{host, lookup == nil}
	}
	return told
}

// nowhere is the error for a name that leads to nothing that may be reached. It
// reads the same whether the name exists, which is nobody's matter whose network
// it is not; only who tries again knows whether that is of use.
type nowhere struct {
	host    string
	refused bool
}

func (n *nowhere) Error() string {
	return fmt.Sprintf("refused: %s is not found, or its address is not a public one or is blocked", n.host)
}

func (n *nowhere) Is(target error) bool { return n.refused && target == ErrRefused }

// connection is one whose errors tell no address but the one that was asked for.
type connection struct {
	net.Conn
	asked asked
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.asked.without(err)
}

func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.asked.without(err)
}

// special are the networks that are not the public internet, or that lead into
// one that is not, beside those that package netip knows: the registries of
// special-purpose addresses of IANA (RFC 6890), with carriers' NAT, tests and
// documentation, NAT64, 6to4 and Teredo. What embeds an IPv4 address is refused
// whole, since whoever translates it decides where it leads. The last line is of
// addresses that look public and are a cloud's own, reached from its machines only.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fec0::/10", "::/96",
	"168.63.129.16/32")

// allocated is what of IPv6 is handed out as global unicast. The rest is special,
// or will be: what is not in here is not public, whatever it turns out to be.
var allocated = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// Public is whether an address is one of the public internet, and not of this
// machine: its own public address is reached over the loopback, past what guards
// it from outside.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" && !within(special, a) && (a.Is4() || allocated.Contains(a) && !isatap(a)) && !own(a)
}

// isatap is whether an address holds an IPv4 address as ISATAP (RFC 5214) does.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// own is whether this machine has the address. When that cannot be told, it has.
func own(a netip.Addr) bool {
	mine, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(mine, func(m net.Addr) bool {
		p, err := netip.ParsePrefix(m.String())
		return err == nil && p.Addr().Unmap() == a
	})
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(a) })
}

func matches(globs []string, host string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return g == host || strings.Contains(g, "*") && glob.Match(g, host) })
}

// Options say how a client behaves.
type Options struct {
	// Timeout is for a whole exchange, with the answer's body; 0 leaves it to the
	// requests' contexts.
	Timeout time.Duration
	// HeaderTimeout is how long an answer may take to begin; 0 means a minute.
	HeaderTimeout time.Duration
	// MaxResponse is how many bytes of an answer's body are read, unpacked; what
	// comes after is ErrTooLarge. 0 means 16 MiB.
	MaxResponse int64
	// Redirects is how many are followed. When there are more, the redirect
	// itself is the answer.
	Redirects int
	// Header is added to requests to the origin of For (its scheme, host and port)
	// as long as no redirect led elsewhere in between: what holds a credential
	// is sent to nobody but whom it was given for.
	Header http.Header
	For    *url.URL
	// Credentials are added likewise, each where it says, to requests that do not have
	// its header.
	Credentials []Credential
}

// Client returns a client whose connections the dialer makes. It heeds no proxy
// of the environment, and keeps no cookies. Call its CloseIdleConnections when
// it is no longer needed.
func (d *Dialer) Client(o Options) *http.Client {
	t := &transport{dialer: d, options: o, next: &http.Transport{
		DialContext:            d.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  o.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}}
	if o.HeaderTimeout == 0 {
		t.next.ResponseHeaderTimeout = time.Minute
	}
	if o.MaxResponse == 0 {
		t.options.MaxResponse = 16 << 20
	}
	return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > o.Redirects {
			return http.ErrUseLastResponse
		}
		return redirect(next, via)
	}}
}

// redirect makes a request that follows another one fit for where it goes.
func redirect(next *http.Request, via []*http.Request) error {
	if via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("%w: a redirect leads from https to %s", ErrRefused, next.URL.Scheme)
	}
	// It would hold the query of the one before, and with it perhaps a key.
	next.Header.Del("Referer")
	if sameOrigin(next, via[0].URL) {
		return nil
	}
	// net/http drops Authorization and cookies only, and not from a name to one
	// below it; services take keys in headers of any name.
	for name := range next.Header {
		if !slices.Contains([]string{"Accept", "Accept-Language", "Content-Type", "Content-Encoding", "User-Agent"}, name) {
			next.Header.Del(name)
		}
	}
	return nil
}

// sameOrigin is whether a request, and all those whose redirects led to it, went
// to one origin.
func sameOrigin(r *http.Request, to *url.URL) bool {
	for r != nil {
		if origin(r.URL) != origin(to) {
			return false
		}
		if r.Response == nil {
			return true
		}
		r = r.Response.Request
	}
	return true
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(canonical(u.Hostname()), port)
}

// transport judges each hop's host and bounds what comes back.
type transport struct {
	dialer  *Dialer
	options Options
	next    *http.Transport
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	err := t.dialer.CheckHost(r.URL.Hostname())
	if err == nil && r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		err = fmt.Errorf("%w: only http and https are spoken, and not %q", ErrRefused, r.URL.Scheme)
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	if t.options.For != nil && sameOrigin(r, t.options.For) {
		r = r.Clone(r.Context())
		for name, values := range t.options.Header {
			r.Header[name] = values
		}
		t.options.credentials(r)
	}
	if span := act.TraceparentFrom(r.Context()); span != "" && r.Header.Get("Traceparent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Traceparent", span)
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{from: response.Body, left: t.options.MaxResponse}
	return response, nil
}

// CloseIdleConnections is what http.Client calls.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// bounded is a body of which only so much is read.
type bounded struct {
	from io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One byte more tells a body that ends here from one that goes on.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

func (b *bounded) Close() error { return b.from.Close() }
