package proxy

import (
	"net/http"
	"net/url"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk"
)

// passedBack are the headers of an answer that the client gets, and what each may
// say. What a client shows of them a model can read, so there is no room in them for
// sentences.
var passedBack = map[string]func(string) bool{
	sessionHeader:   func(s string) bool { return len(s) <= 1024 && visibleASCII.MatchString(s) },
	versionHeader:   lazyregexp.New(`^[0-9A-Za-z.-]{1,32}$`).MatchString,
	"Cache-Control": lazyregexp.New(`^[a-z-]{1,32}(=[0-9]{1,12})?( *, *[a-z-]{1,32}(=[0-9]{1,12})?){0,9}$`).MatchString,
	"Retry-After": func(s string) bool {
		_, err := http.ParseTime(s)
		return err == nil || seconds.MatchString(s)
	},
	"Allow": lazyregexp.New(`^[A-Z]{1,16}( *, *[A-Z]{1,16}){0,15}$`).MatchString,
}

var (
	visibleASCII = lazyregexp.New(`^[\x21-\x7e]+$`)
	seconds      = lazyregexp.New(`^[0-9]{1,10}$`)
)

// answerHeaders leaves in the headers of a server's answer what may pass.
func (p *Proxy) answerHeaders(h http.Header) {
	kept := http.Header{}
	for name, may := range passedBack {
		v := h[name]
		switch {
		case len(v) == 0:
		case len(v) == 1 && may(v[0]):
			kept[name] = v
		default:
			p.logger().Warn("a header of the server's answer says what it must not, and is withheld", "server", p.Server, "header", name)
		}
	}
	if v := challenges(h["Www-Authenticate"]); len(v) > 0 {
		kept["Www-Authenticate"] = v
	}
	for name := range h {
		if name != "Content-Type" && kept[name] == nil {
			h.Del(name)
		}
	}
	for name, v := range kept {
		h[name] = v
	}
}

// schemes are the ways to show a credential that pass, as they are spelled.
var schemes = map[string]string{"bearer": "Bearer", "dpop": "DPoP", "basic": "Basic"}

// challengeParams are what a client needs to find its authorization server, and to
// ask for the right token. error_description and its like are sentences.
var challengeParams = map[string]func(string) bool{
	"realm": lazyregexp.New(`^[0-9A-Za-z._~:/@-]{1,256}$`).MatchString,
	"resource_metadata": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && len(s) <= 2048 && scope.MatchString(s)
	},
	"scope": func(s string) bool { return len(s) <= 2048 && scopes.MatchString(s) },
	"error": lazyregexp.New(`^[a-z_]{1,40}$`).MatchString,
	"algs":  lazyregexp.New(`^[A-Z]{2}[0-9A-Za-z]{1,8}( [A-Z]{2}[0-9A-Za-z]{1,8}){0,15}$`).MatchString,
}

// scope is what needs no escape in quotation marks (RFC 6749, section 3.3).
var (
	scope  = lazyregexp.New(`^[\x21\x23-\x5b\x5d-\x7e]+$`)
	scopes = lazyregexp.New(`^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$`)
)

// challenges writes anew what a 401 or a 403 asks for, with what may pass of it. What
// cannot be read ends it.
func challenges(values []string) (kept []string) {
	for _, rest := range values {
		var b strings.Builder // the present challenge; empty while none passes
		params, inScheme := 0, false
		end := func() {
			if b.Len() > 0 && len(kept) < 8 {
				kept = append(kept, b.String())
			}
			b.Reset()
			params, inScheme = 0, false
		}
		for rest = strings.TrimLeft(rest, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			name := rest[:tokenEnd(rest)]
			if name == "" {
				break
			}
			rest = strings.TrimLeft(rest[len(name):], " \t")
			if !inScheme || !strings.HasPrefix(rest, "=") {
				end()
				inScheme = true
				b.WriteString(schemes[strings.ToLower(name)])
				continue
			}
			var value string
			var ok bool
			if value, rest, ok = paramValue(strings.TrimLeft(rest[1:], " \t")); !ok {
				break
			}
			name = strings.ToLower(name)
			may := challengeParams[name]
			if b.Len() == 0 || may == nil || !may(value) || len(risk.Scan(value, risk.Injection, nil)) > 0 {
				continue
			}
			if params++; params > 1 {
				b.WriteByte(',')
			}
			b.WriteString(" " + name + `="` + value + `"`)
		}
		end()
	}
	return kept
}

// tokenEnd is the length of the token that s begins with (RFC 9110, section 5.6.2).
func tokenEnd(s string) int {
	i := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
	if i < 0 {
		return len(s)
	}
	return i
}

// paramValue reads a token or a quoted text.
func paramValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		n := tokenEnd(s)
		return s[:n], s[n:], n > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
