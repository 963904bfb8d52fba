package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/outbound"
)

// filter says which hosts may be reached.
type filter struct {
	allowed, blocked []string       // names and globs, in lower case
	addresses        []netip.Prefix // allowed as they are, public or not
	not              []netip.Prefix // blocked
	only             bool           // what is not allowed is refused
}

// newFilter reads the manifest's domains.
func newFilter(m act.Manifest) (*filter, error) {
	f := &filter{only: len(m.AllowedDomains) > 0}
	for _, list := range []struct {
		from  []string
		names *[]string
		nets  *[]netip.Prefix
	}{{m.AllowedDomains, &f.allowed, &f.addresses}, {m.BlockedDomains, &f.blocked, &f.not}} {
		for _, d := range list.from {
			if p, err := netip.ParsePrefix(d); err == nil {
				*list.nets = append(*list.nets, p.Masked())
			} else if a, err := netip.ParseAddr(d); err == nil && a.Zone() == "" {
				*list.nets = append(*list.nets, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			} else if name := strings.ToLower(strings.TrimSuffix(d, ".")); name != "" && len(name) <= 253 && ascii(name) {
				*list.names = append(*list.names, name)
			} else {
				// A name in other letters is asked for as xn--…, and would not be recognized.
				return nil, fmt.Errorf("%w: %q is no host's name; write it in ASCII, as xn--…", ErrRefused, d)
			}
		}
	}
	return f, nil
}

func (f *filter) describe() string {
	return fmt.Sprintf("%d allowed, %d blocked; the proxy resolves names itself and dials no private, loopback or link-local address that is not listed by itself",
		len(f.allowed)+len(f.addresses), len(f.blocked)+len(f.not))
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func matchesDomain(globs []string, host string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return g == host || strings.Contains(g, "*") && glob.Match(g, host) })
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(a) })
}

// host judges a name or an address as it was asked for. An address is reached
// only when it is listed, since otherwise it would be the way around what is
// blocked by name.
func (f *filter) host(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); a.Zone() != "" || within(f.not, a) || !within(f.addresses, a) {
			return fmt.Errorf("the address %s is not among the allowed domains", host)
		}
		return nil
	}
	switch {
	case host == "" || matchesDomain(f.blocked, host):
		return fmt.Errorf("%q is among the blocked domains", host)
	case f.only && !matchesDomain(f.allowed, host):
		return fmt.Errorf("%q is not among the allowed domains", host)
	}
	return nil
}

// address judges what a name resolved to, just before it is dialled.
func (f *filter) address(a netip.Addr) error {
	a = a.Unmap()
	switch {
	case within(f.not, a):
		return errors.New("its address is blocked")
	case within(f.addresses, a):
		return nil
	case !outbound.Public(a):
		return errors.New("its address is not a public one")
	}
	return nil
}

// proxyEnv sets the variables by which programs find a proxy.
func proxyEnv(env [][]byte) [][]byte {
	env = slices.DeleteFunc(slices.Clone(env), func(e []byte) bool {
		name, _, _ := strings.Cut(string(e), "=")
		return slices.Contains([]string{"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"}, strings.ToLower(name))
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env = append(env, []byte(name+"=http://"+proxyAddress))
	}
	return env
}

// Limits of the proxy.
const (
	proxyConnections = 256
	proxyDial        = 10 * time.Second
	proxyRefusals    = 10 // kept to be reported
)

// proxy lets a command reach what a filter allows, over HTTP.
type proxy struct {
	filter  *filter
	server  *http.Server
	forward *httputil.ReverseProxy
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	slots   chan struct{}

	mu      sync.Mutex
	refusal []string
	tunnels map[net.Conn]bool
	closed  bool
}

func newProxy(f *filter) *proxy {
	p := &proxy{filter: f, slots: make(chan struct{}, proxyConnections), tunnels: map[net.Conn]bool{}}
	p.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Header.Del("Proxy-Authorization") },
		Transport: &http.Transport{DialContext: p.dial, Proxy: nil, MaxIdleConnsPerHost: 2, IdleConnTimeout: 10 * time.Second, ResponseHeaderTimeout: 5 * time.Minute},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	return p
}

// serve answers on the socket that the helper made in the command's namespace.
func (p *proxy) serve(fds []int) error {
	if len(fds) != 1 {
		return errors.New("sandbox: the helper sent no socket for the proxy")
	}
	unix.CloseOnExec(fds[0])
	file := os.NewFile(uintptr(fds[0]), "proxy")
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	go p.server.Serve(listener)
	return nil
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.tunnels {
		c.Close()
	}
	p.mu.Unlock()
	p.server.Close()
	p.forward.Transport.(*http.Transport).CloseIdleConnections()
}

// refused says what was refused.
func (p *proxy) refused() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refusal) == 0 {
		return ""
	}
	return "; refused: " + strings.Join(p.refusal, ", ")
}

func (p *proxy) note(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(host) > 253 {
		host = host[:253]
	}
	if len(p.refusal) < proxyRefusals && !slices.Contains(p.refusal, host) {
		p.refusal = append(p.refusal, host)
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "too many connections at once", http.StatusServiceUnavailable)
		return
	}
	host := r.URL.Hostname()
	if r.Method == http.MethodConnect {
		h, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			http.Error(w, "CONNECT needs host:port", http.StatusBadRequest)
			return
		}
		host = h
	} else if r.URL.Scheme != "http" || host == "" {
		http.Error(w, "this is a proxy: ask for a whole http URL, or CONNECT", http.StatusBadRequest)
		return
	}
	if err := p.filter.host(host); err != nil {
		p.note(host)
		http.Error(w, "refused: "+err.Error(), http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		r.Host = r.URL.Host // not another host's name behind the one that was judged
		p.forward.ServeHTTP(w, r)
		return
	}
	p.tunnel(w, r)
}

func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), proxyDial)
	defer cancel()
	far, err := p.dial(ctx, "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	if !p.keep(near) || !p.keep(far) {
		return
	}
	defer p.forget(near, far)
	near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	pipe := func(to net.Conn, from io.Reader) {
		io.Copy(to, from)
		if half, ok := to.(*net.TCPConn); ok {
			half.CloseWrite()
		}
		done <- struct{}{}
	}
	go pipe(far, buffered)
	go pipe(near, far)
	<-done
	<-done
}

// keep remembers a tunnel's end, to be closed with the proxy.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.tunnels[c] = true
	}
	return !p.closed
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}

// dial resolves a name once, judges what it resolved to, and dials just that:
// a second lookup could be answered with another address. Its errors tell the
// command nothing of the network that the proxy is in: neither who resolves names,
// nor what they resolve to.
func (p *proxy) dial(ctx context.Context, _, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	nowhere := fmt.Errorf("%s is not found, or its address is not a public one or is blocked", host)
	var addresses []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{a}
	} else if addresses, err = p.resolve(ctx, host); err != nil {
		if lookup := (*net.DNSError)(nil); errors.As(err, &lookup) && !lookup.IsNotFound {
			return nil, fmt.Errorf("%s cannot be looked up now", host)
		}
		return nil, nowhere
	}
	dialer := net.Dialer{Timeout: proxyDial}
	err = nowhere
	for _, a := range addresses[:min(len(addresses), 8)] {
		if p.filter.address(a) != nil {
			p.note(host)
			continue
		}
		conn, failed := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if failed == nil {
			return conn, nil
		}
		err = fmt.Errorf("%s was not reached", host)
		if op := (*net.OpError)(nil); errors.As(failed, &op) {
			err = fmt.Errorf("%s was not reached: %w", host, op.Err)
		}
	}
	return nil, err
}
