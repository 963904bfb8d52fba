package server

import (
	"net/http"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
)

func TestParseOrigins(t *testing.T) {
	for text, want := range map[string]string{
		"https://app.example": "https://app.example", "https://App.Example:443/": "https://app.example", "http://localhost:3000": "http://localhost:3000",
		"http://localhost:80": "http://localhost", "https://localhost:80": "https://localhost:80", "http://[::1]:3000": "http://[::1]:3000", "https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
	} {
		if got, err := ParseOrigins([]string{text}); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%q is read as %q: %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "*", "null", "https://*.example", "https://*", "app.example", "//app.example", "https://", "https://app.example/path", "https://app.example?", "https://app.example#",
		"https://user@app.example", "ftp://app.example", "https://app.example, https://b.example", "https://bücher.example", "https://app.example:", "file:///a", "https:app.example",
	} {
		if got, err := ParseOrigins([]string{text}); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// TestThreat21Origins: pages of allowed origins may call, and no others, however their
// origin is spelled; what else keeps pages of other sites away stays.
func TestThreat21Origins(t *testing.T) {
	key, credential := newKey(t, "bot", identity.Agent)
	origins := []string{"https://app.example", "http://localhost:3000"}
	open := local(t, func(c *Config) { c.Origins = origins })
	keyed := local(t, func(c *Config) { c.Origins, c.Auth = origins, newAuth(t, false, key) })
	none := local(t, nil)
	const allow, with = "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"

	for _, origin := range origins {
		w := ask(open, "POST", "/", whoCall, "Host", "localhost:8080", "Origin", origin, "Sec-Fetch-Site", "cross-site")
		if w.Code != 200 || w.Header().Get(allow) != origin || w.Header().Get(with) != "true" || !strings.Contains(w.Header().Get("Vary"), "Origin") {
			t.Errorf("%s: %d %v", origin, w.Code, w.Header())
		}
		// A page that may call needs a credential as everybody does, and is told so.
		if w := ask(keyed, "POST", "/", whoCall, "Host", "localhost:8080", "Origin", origin); w.Code != 401 || w.Header().Get(allow) != origin {
			t.Errorf("%s without a credential: %d %v", origin, w.Code, w.Header())
		}
		if w := ask(keyed, "POST", "/", whoCall, "Host", "localhost:8080", "Origin", origin, "Authorization", credential); w.Code != 200 {
			t.Errorf("%s with a credential: %d", origin, w.Code)
		}
		// The browser asks before, without one.
		w = ask(keyed, "OPTIONS", "/flow", "", "Host", "localhost:8080", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
		if w.Code != 204 || w.Header().Get(allow) != origin || w.Header().Get("Access-Control-Allow-Headers") != "authorization,content-type" ||
			!strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "POST") || w.Body.Len() > 0 {
			t.Errorf("the question of %s: %d %v", origin, w.Code, w.Header())
		}
	}
	// Nothing that looks like an allowed origin is one.
	hostile := []string{
		"null", "*", "", "https://app.example.evil.example", "https://evilapp.example", "https://evil.example/https://app.example", "https://app.example/", "https://app.example:8443", "https://app.example:443",
		"http://app.example", "HTTPS://APP.EXAMPLE", "https://app.example.", "https://a.app.example", "https://user@app.example", "https://app.example%00.evil.example", "https://app.example,https://evil.example",
		"https://app.example https://evil.example", " https://app.example", "https://app.example\t", "http://localhost:30000", "http://localhost:3000.evil.example", "http://localhost", "http://127.0.0.1:3000", "file://", "https://аpp.example",
	}
	for _, origin := range hostile {
		for _, s := range []*Server{open, keyed, none} {
			for _, method := range []string{"POST", "OPTIONS"} {
				w := ask(s, method, "/", whoCall, "Host", "localhost:8080", "Origin", origin, "Authorization", credential, "Access-Control-Request-Method", "POST")
				if w.Code != 403 || w.Header().Get(allow) != "" || w.Header().Get(with) != "" || w.Header().Get("Access-Control-Allow-Headers") != "" {
					t.Errorf("%s from %q: %d %v", method, origin, w.Code, w.Header())
				}
			}
		}
	}
	for _, tt := range []struct {
		name   string
		header []string
		code   int
	}{
		{"two origins", []string{"Host", "localhost:8080", "Origin", origins[0], "Origin", "https://evil.example"}, 403},
		{"two that are allowed", []string{"Host", "localhost:8080", "Origin", origins[0], "Origin", origins[1]}, 403},
		{"a name made to point here", []string{"Host", "evil.example", "Origin", origins[0]}, 403},
		{"a name made to point here, with itself as the origin", []string{"Host", "evil.example", "Origin", "http://evil.example"}, 403},
		{"the allowed page's own name made to point here", []string{"Host", "app.example", "Origin", origins[0]}, 403},
		{"another site's form", []string{"Host", "localhost:8080", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a page of the node itself", []string{"Host", "localhost:8080", "Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"}, 200},
		{"no browser", []string{"Host", "localhost:8080"}, 200},
	} {
		if w := ask(open, "POST", "/", whoCall, tt.header...); w.Code != tt.code || w.Code != 200 && w.Header().Get(allow) != "" || w.Header().Get(allow) == "*" {
			t.Errorf("%s: %d %v", tt.name, w.Code, w.Header())
		}
	}
	// A plain form cannot be sent by an allowed page either: JSON is all that is read.
	if w := ask(open, "POST", "/", whoCall, "Host", "localhost:8080", "Origin", origins[0], "Content-Type", "text/plain"); w.Code == 200 {
		t.Errorf("text/plain: %d", w.Code)
	}
	// What is asked for besides is not repeated unless it can be a header's name.
	for _, names := range []string{"a\r\nSet-Cookie: b", "a;b", strings.Repeat("a", 2000), "<script>"} {
		w := ask(open, "OPTIONS", "/", "", "Host", "localhost:8080", "Origin", origins[0], "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", names)
		if w.Header().Get("Access-Control-Allow-Headers") != "" {
			t.Errorf("%q: %v", names, w.Header())
		}
	}
	if w := ask(none, "POST", "/", whoCall, "Host", "localhost:8080"); w.Header().Get("Vary") != "" || w.Code != http.StatusOK {
		t.Errorf("without origins: %v", w.Header())
	}
}
