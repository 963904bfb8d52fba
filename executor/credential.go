package executor

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"

	"reeve.example/reeve/internal/outbound"
)

// Credentials are what the node is known by to services: tasks need not hold them. A
// task's request gets one only when the task itself names its origin, and only where
// the credential says: see outbound.Credential.
type Credentials []outbound.Credential

// ParseCredential reads a credential of the form ORIGIN[/PATH]=[HEADER: ]REFERENCE, such
// as api.example.com=env:TOKEN, or https://api.example.com/v1=X-API-Key: file:PATH. An
// origin without a scheme means https. secret reads what the reference names. Without
// a header it is sent as Authorization: Bearer.
func ParseCredential(text string, secret func(reference string) ([]byte, error)) (c outbound.Credential, err error) {
	where, reference, ok := strings.Cut(text, "=")
	if !ok || where == "" || reference == "" {
		return c, fmt.Errorf("%q is not of the form ORIGIN=env:NAME or ORIGIN=file:PATH", cut(where, 200))
	}
	if c.To, err = credentialOrigin(where); err != nil {
		return c, err
	}
	c.Header, c.Value = "Authorization", "Bearer "
	if header, rest, named := strings.Cut(reference, ": "); named {
		if c.Header, reference = textproto.CanonicalMIMEHeaderKey(header), strings.TrimSpace(rest); !isToken(header) || reservedHeaders[c.Header] || harmless[c.Header] {
			return c, fmt.Errorf("%s: %q is no header that can hold a credential", where, cut(header, 100))
		}
		c.Value = ""
	}
	value, err := secret(reference)
	if err != nil {
		return c, fmt.Errorf("%s: %w", where, err)
	}
	if strings.ContainsFunc(string(value), func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return c, fmt.Errorf("%s: the credential has characters that no header can have", where)
	}
	if len(value) < shortestCredential {
		return c, fmt.Errorf("%s: the credential is shorter than %d characters, and could not be told from other text in results", where, shortestCredential)
	}
	c.Value += string(value)
	return c, nil
}

// shortestCredential is the length below which a credential is not taken: it is masked
// wherever it comes up, and what is shorter would be found by chance.
const shortestCredential = 8

// credentialOrigin reads where a credential is sent.
func credentialOrigin(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the origin of a web service, such as api.example.com or https://api.example.com/v1", cut(text, 200))
	}
	host := u.Hostname()
	if strings.HasSuffix(host, ".") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || r == '*' || r == '?' }) {
		return nil, fmt.Errorf("%q must be one host's name in ASCII, without a dot at the end", cut(host, 200))
	}
	a, err := netip.ParseAddr(host)
	if u.Scheme == "http" && !(err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")) {
		return nil, fmt.Errorf("%s: a credential is sent over https only, or to this machine", cut(text, 200))
	}
	if !outbound.PlainPath(u.EscapedPath()) {
		return nil, fmt.Errorf("%s: the path must have no empty, dotted or escaped parts", cut(text, 200))
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	if port := u.Port(); port == "" {
		u.Host = net.JoinHostPort(host, map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// arm has a client send the credentials, and keeps all of them out of what is told.
func (cs Credentials) arm(o *outbound.Options, s *secrets) {
	o.Credentials = cs
	for _, c := range cs {
		s.add(c.Value)
		scheme, credential, ok := strings.Cut(c.Value, " ")
		if !ok {
			continue
		}
		s.add(credential)
		if strings.EqualFold(scheme, "basic") {
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				s.add(string(plain))
				if _, password, ok := strings.Cut(string(plain), ":"); ok {
					s.add(password)
				}
			}
		}
	}
}
