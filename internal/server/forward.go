package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
)

// Proxies are the reverse proxies that a node believes.
type Proxies struct {
	// Trusted are their addresses and networks. What comes from them was forwarded,
	// whatever it says of itself.
	Trusted []netip.Prefix
	// Header is where they say whose request it is: X-Forwarded-For (and so is none
	// given), Forwarded (RFC 7239), or a name of their own with one address, such as
	// X-Real-IP. No other header is looked at: a proxy passes on those that it does
	// not set itself, as the caller wrote them.
	Header string
}

// ParseProxies reads addresses and networks such as 10.0.0.5 and 10.1.0.0/16.
func ParseProxies(list []string) (prefixes []netip.Prefix, err error) {
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, wrong := netip.ParseAddr(text)
			if wrong != nil || a.Zone() != "" {
				return nil, fmt.Errorf("%q is neither an address nor a network such as 10.1.0.0/16", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p.Bits() == 0 {
			return nil, fmt.Errorf("%q is everybody: name the proxies", text)
		}
		if a := p.Addr(); a.Is4In6() {
			if p.Bits() < 96 {
				return nil, fmt.Errorf("%q is more than IPv4: name the proxies", text)
			}
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, nil
}

func (p *Proxies) trusts(a netip.Addr) bool {
	for _, prefix := range p.Trusted {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// peer is the address at the other end of a request's connection.
func peer(r *http.Request) netip.Addr { return addressOf(r.RemoteAddr) }

// addressOf reads an address, with or without a port. It is invalid where there is
// none.
func addressOf(text string) netip.Addr {
	text = strings.TrimSpace(text)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// client is the address that a request comes from. Only a trusted proxy is believed
// about it, and of a chain only what trusted ones have written: the last address
// that is not one of theirs. What stands before it the caller could write itself.
func (s *Server) client(r *http.Request) netip.Addr {
	from := peer(r)
	if !s.cfg.Proxies.trusts(from) {
		return from
	}
	said := chain(r.Header, s.cfg.Proxies.Header)
	for i := len(said) - 1; i >= 0; i-- {
		a := addressOf(said[i])
		if !a.IsValid() {
			break // unknown, or hidden: nobody can tell more
		}
		from = a
		if !s.cfg.Proxies.trusts(a) {
			break
		}
	}
	return from
}

// chain are the addresses that a header names, the nearest last.
func chain(h http.Header, name string) (said []string) {
	if name == "" {
		name = "X-Forwarded-For"
	}
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if !strings.EqualFold(name, "Forwarded") {
				said = append(said, part)
				continue
			}
			address := "unknown"
			for pair := range strings.SplitSeq(part, ";") {
				if key, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(key, "for") {
					address = strings.Trim(value, `"`)
				}
			}
			said = append(said, address)
		}
	}
	return said
}

// addressKey is where a request's context has the name of its address.
type addressKey struct{}

// addressName names an address as those without a credential are counted. Who has one
// IPv6 address has 2⁶⁴ of them, which are one caller.
func addressName(a netip.Addr) string {
	if a.Is6() && !a.IsLoopback() {
		if p, err := a.Prefix(64); err == nil {
			return "address:" + p.String()
		}
	}
	return "address:" + a.String()
}

// traced returns the request with the caller's span, where its header names one.
func traced(r *http.Request) *http.Request {
	if ctx := act.WithTraceparent(r.Context(), r.Header.Get("Traceparent")); ctx != r.Context() {
		return r.WithContext(ctx)
	}
	return r
}

// placed returns the request with the address that it comes from, where that is
// not the connection's.
func (s *Server) placed(r *http.Request) *http.Request {
	if len(s.cfg.Proxies.Trusted) == 0 {
		return r
	}
	from := s.client(r)
	if !from.IsValid() || from == peer(r) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), addressKey{}, addressName(from)))
}

// forwarded says by what a request shows that another program passed it on, so that
// it need not come from this machine; it is empty where nothing does. A program
// that passes on without a trace cannot be told from the caller.
func (s *Server) forwarded(r *http.Request) string {
	if s.cfg.Proxies.trusts(peer(r)) {
		return "it comes from a proxy"
	}
	return trace(r)
}

// trace says by what a request itself shows that it was passed on.
func trace(r *http.Request) string {
	if !r.ProtoAtLeast(1, 1) {
		return "it is of HTTP/1.0, as proxies send it" // nginx, unless it is told otherwise
	}
	for name := range r.Header {
		if tracing(name) {
			return "it has the header " + name
		}
	}
	return ""
}

// tracing reports whether a header is one that programs add to what they pass on. There
// are more of them than anybody has listed, so this knows how they are named: after
// forwarding, the address or the original of a request, or the service that adds
// them. An agent has no reason to send one.
func tracing(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	if strings.Contains(name, "forward") {
		return true
	}
	for _, prefix := range tracePrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	last := name
	for word := range strings.SplitSeq(name, "-") {
		if word == "via" || word == "envoy" || word == "proxy" {
			return true
		}
		last = word
	}
	switch last {
	case "ip", "clientip", "realip", "remoteip", "socketip", "userip", "addr", "clientaddr", "remoteaddr":
		return true
	}
	return false
}

var tracePrefixes = []string{
	"proxy-", "x-proxy", "x-original-", "x-real-", "x-rewrite-url", "x-client-cert", "x-ssl-", "ssl-client-", "x-scheme", "x-url-scheme",
	"front-end-https", "surrogate-", "x-varnish", "x-cache", "x-gateway-", "x-edge-",
	"cdn-", "cf-", "fly-", "fastly-", "akamai-", "x-akamai-", "true-client-", "x-amzn-", "x-amz-cf-", "x-azure-", "x-arr-", "x-appengine-",
	"x-cloud-trace-context", "x-goog-iap-", "x-vercel-", "x-nf-", "x-sucuri-", "incap-", "x-iinfo", "ngrok-", "tailscale-", "x-traefik", "x-haproxy",
	"x-goog-authenticated-", "x-ms-client-principal", "x-ms-token-", "x-auth-request-", "x-authenticated-", "x-remote-", "remote-user", "x-webauth-", "x-host", "x-server-name",
	"x-kong-", "x-linkerd", "l5d-", "x-istio",
}

// who tells who sent a request. Without credentials whoever is on this machine may
// ask, and what was forwarded may come from anywhere: nobody is anonymous then.
func (s *Server) who(r *http.Request) (*identity.Credential, error) {
	c, err := s.cfg.Auth.CheckAt(r, func(u *url.URL) bool { return s.addressed(r, u) })
	if err == nil && c.Workload() {
		// The connection is another program's, and its certificate says nothing of who asks.
		if how := s.forwarded(r); how != "" {
			return nil, &identity.Error{Missing: true, Reason: "This request was passed on by another program (" + how +
				"), whose certificate is not the caller's: a key or a token is required."}
		}
	}
	if err == nil && c.Principal == act.Anonymous && !s.cfg.AllowAnonymous {
		if how := s.forwarded(r); how != "" {
			s.refusals.Do(func() {
				s.logger.Warn("a request without a credential was passed on by another program, and refused", "because", how, "from", r.RemoteAddr)
			})
			return nil, &identity.Error{Missing: true, Reason: "This request was passed on by another program (" + how +
				"), so nobody can tell that it comes from this machine, and a credential is required. " +
				"An agent of this machine with a proxy in its settings should except this address from it (NO_PROXY)."}
		}
	}
	return c, err
}

// addressed reports whether an address is that of a request, as its caller wrote it: the name
// must be the node's own, and not only the one that the request says, which whoever sends on
// what was meant for another would choose. A trusted proxy may change the name, the port and
// whether there is TLS.
func (s *Server) addressed(r *http.Request, u *url.URL) bool {
	scheme := strings.ToLower(u.Scheme)
	if of, ok := strings.CutPrefix(scheme, "ws"); ok {
		scheme = "http" + of // a WebSocket is opened by a request of HTTP
	}
	if scheme != "http" && scheme != "https" || u.User != nil || u.Opaque != "" {
		return false
	}
	host := authority(u.Host, scheme)
	if !s.cfg.Proxies.trusts(peer(r)) && (host != authority(r.Host, scheme) || (scheme == "https") != (r.TLS != nil)) {
		return false
	}
	for _, own := range s.cfg.Hosts {
		if name, _, err := net.SplitHostPort(own); err == nil && name != "" {
			if authority(own, scheme) == host {
				return true
			}
		} else if HostName(own) != "" && HostName(own) == HostName(host) {
			return true
		}
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || s.cfg.Behind != "" { // the address is another one's
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	name, port, _ := net.SplitHostPort(host)
	if err != nil || port != strconv.Itoa(int(local.Port())) {
		return false
	}
	if name == "localhost" {
		return local.Addr().Unmap().IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == local.Addr().Unmap().WithZone("")
}

// authority is a host in one form, with its port.
func authority(host, scheme string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if port == "" {
		if port = "80"; scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(HostName(name), port)
}

// here reports whether a request comes from this machine, as far as can be told.
func (s *Server) here(r *http.Request) bool { return s.local && s.forwarded(r) == "" }
