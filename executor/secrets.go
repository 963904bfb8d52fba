package executor

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// secrets are texts that must appear in no result and no error: the values of
// the headers and credentials that were sent. Servers send them back more often
// than one thinks, in error pages for example.
type secrets []string

const masked = "***"

// shortestSecret is the length below which a text is not looked for: it would be
// found by chance everywhere.
const shortestSecret = 6

// add remembers a credential, as it is and as it is written in a URL.
func (s *secrets) add(texts ...string) {
	for _, t := range texts {
		if len(t) < shortestSecret {
			continue
		}
		*s = append(*s, t)
		if q := url.QueryEscape(t); q != t {
			*s = append(*s, q)
		}
	}
}

// mask replaces all secrets in a text. They are looked for in the text as it came: of
// two that overlap, such as a credential and a header that is how credentials of its
// kind begin, replacing the one would hide the other from being found.
func (s secrets) mask(text string) string {
	spans := s.spans(text)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, span := range spans {
		out.WriteString(text[at:span.from])
		out.WriteString(masked)
		at = span.to
	}
	out.WriteString(text[at:])
	return out.String()
}

// span is a place in a text.
type span struct{ from, to int }

// spans are where secrets stand, in order; those that overlap are one.
func (s secrets) spans(text string) (list []span) {
	for _, secret := range s {
		for at := 0; ; at += len(secret) {
			i := strings.Index(text[at:], secret)
			if i < 0 {
				break
			}
			at += i
			list = append(list, span{at, at + len(secret)})
		}
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := list[:0]
	for _, next := range list {
		if n := len(merged); n > 0 && next.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, next.to)
		} else {
			merged = append(merged, next)
		}
	}
	return merged
}

// begun masks a text whose rest is still to come. It leaves as rest an end that could
// be the beginning of a secret.
func (s secrets) begun(text string) (said, rest string) {
	end := len(text) - s.held(text)
	for _, span := range s.spans(text) {
		if span.from < end && end < span.to {
			end = span.from // they overlap
		}
	}
	return s.mask(text[:end]), text[end:]
}

// held returns how much of a text's end could be the beginning of a secret, whose rest
// is still to come.
func (s secrets) held(text string) int {
	most := 0
	for _, secret := range s {
		for n := min(len(secret)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				most = n
			}
		}
	}
	return most
}

// maskJSON masks what is in the strings of a JSON value, however they are
// written. Numbers keep their digits.
func (s secrets) maskJSON(v jsontext.Value) (jsontext.Value, error) {
	if len(s) == 0 {
		return v, nil
	}
	var out bytes.Buffer
	d := jsontext.NewDecoder(bytes.NewReader(v))
	e := jsontext.NewEncoder(&out)
	for {
		token, err := d.ReadToken()
		if err == io.EOF {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err == nil && token.Kind() == '"' {
			if text := token.String(); s.mask(text) != text {
				token = jsontext.String(s.mask(text))
			}
		}
		// A credential of digits alone can come back as a number.
		if err == nil && token.Kind() == '0' && slices.Contains(s, token.String()) {
			token = jsontext.String(masked)
		}
		if err == nil {
			err = e.WriteToken(token)
		}
		if err != nil {
			// Also when two names became one: better no answer than half of one.
			return nil, errors.New("the answer holds what was sent as a credential, and cannot be shown")
		}
	}
}

// reservedHeaders are for the connection, and not for who uses it.
var reservedHeaders = map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Upgrade": true, "Te": true, "Trailer": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Expect": true}

// harmless are headers whose values hold no secret, and would be found in any answer.
var harmless = map[string]bool{"Accept": true, "Accept-Language": true, "Accept-Encoding": true, "Content-Type": true, "User-Agent": true,
	"Cache-Control": true, "Idempotency-Key": true, "If-None-Match": true, "If-Match": true, "If-Modified-Since": true, "Range": true, "Prefer": true, "Referer": true, "Origin": true}

// headers reads the input of this name, and adds what must not come out again.
func headers(in map[string]string, s *secrets) (http.Header, error) {
	h := http.Header{}
	for name, value := range in {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, final("the input \"headers\" has the name %q, which no header can have", cut(name, 100))
		case reservedHeaders[canonical]:
			return nil, final("the header %s is the connection's own and cannot be set", canonical)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, final("the value of the header %s has characters that no header can have", canonical)
		case h[canonical] != nil:
			return nil, final("the header %s is there twice", canonical)
		}
		h.Set(canonical, value)
		if !harmless[canonical] {
			s.add(value)
			if _, credential, ok := strings.Cut(value, " "); ok {
				s.add(credential)
			}
		}
	}
	return h, nil
}

// isToken is whether a text can be a header's name.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// basic is the value of an Authorization header.
func basic(user, password string, s *secrets) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	s.add(password, encoded)
	return "Basic " + encoded
}
