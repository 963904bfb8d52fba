package outbound

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Credential is a header that requests to one origin get. Origins are compared exactly:
// a name with a dot at the end is another one.
type Credential struct {
	// To is the origin, with its port, and the path at and below which the header is
	// sent: empty for all.
	To     *url.URL
	Header string // as net/http writes it
	Value  string // secret
}

// covers reports whether a request is one that gets the credential: it goes to its
// origin, as did every one that a redirect led from, and below its path.
func (c *Credential) covers(r *http.Request) bool {
	for hop := r; hop != nil; hop = hop.Response.Request {
		if exactOrigin(hop.URL) != exactOrigin(c.To) || hop.URL.User != nil {
			return false
		}
		if hop.Response == nil {
			break
		}
	}
	path := r.URL.EscapedPath()
	if c.To.Path == "" {
		return true
	}
	// What a server may read as another path is below none.
	return PlainPath(path) && (path == c.To.Path || strings.HasPrefix(path, c.To.Path+"/"))
}

// PlainPath reports whether every reader takes a path for the same: it has no dotted
// or empty parts, and nothing escaped that could be a part's end or a dot.
func PlainPath(path string) bool {
	lower := strings.ToLower(path)
	for _, s := range []string{`\`, "%2e", "%2f", "%5c", "%25", ";", "//"} {
		if strings.Contains(lower, s) {
			return false
		}
	}
	parts := strings.Split(path, "/")
	return !slices.Contains(parts, ".") && !slices.Contains(parts, "..")
}

// exactOrigin is the scheme, host and port of a URL. A dot at the end of the name stays.
func exactOrigin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// credentials adds the credentials that a request gets. For is the URL that the client
// was made for: what leads from there to another origin, by a redirect or by what the
// other side says, gets none. A header that the request has already stays as it is.
func (o *Options) credentials(r *http.Request) {
	if o.For == nil {
		return
	}
	best := map[string]*Credential{} // by header: of several the one with the longest path
	for i := range o.Credentials {
		c := &o.Credentials[i]
		if exactOrigin(o.For) != exactOrigin(c.To) || r.Header[c.Header] != nil || !c.covers(r) {
			continue
		}
		if b := best[c.Header]; b == nil || len(c.To.Path) > len(b.To.Path) {
			best[c.Header] = c
		}
	}
	for name, c := range best {
		r.Header[name] = []string{c.Value}
	}
}
