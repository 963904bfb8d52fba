package reeve_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// provider is a small OpenID Connect provider: it lets everybody in who comes, by an
// authorization code, and asks for the verifier that goes with the challenge.
type provider struct {
	*httptest.Server
	key    ed25519.PrivateKey
	codes  map[string]url.Values
	claims func(jwt.MapClaims) // what a test makes of the token
	signed func(jwt.MapClaims) string
}

func newProvider(t *testing.T) *provider {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: private, codes: map[string]url.Values{}, claims: func(jwt.MapClaims) {}}
	p.signed = func(c jwt.MapClaims) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
		token.Header["kid"] = "one"
		text, err := token.SignedString(p.key)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"EdDSA"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": "one", "alg": "EdDSA", "use": "sig", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := base64.RawURLEncoding.EncodeToString([]byte(q.Get("state")))[:20]
		p.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		asked, ok := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if !ok || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			asked.Get("redirect_uri") != r.FormValue("redirect_uri") || id != "reeve" || secret != "of-the-client" {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		c := jwt.MapClaims{"iss": p.URL, "aud": "reeve", "sub": "ada", "nonce": asked.Get("nonce"), "groups": []string{"oncall"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
		p.claims(c)
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.signed(c)})
	})
	return p
}

// TestThreat15ConsoleProvider: people log in at a provider, and nobody does by its answer to
// another, by a token that is not what was asked for, or in a browser that did not ask.
func TestThreat15ConsoleProvider(t *testing.T) {
	p := newProvider(t)
	t.Setenv("LOGIN_SECRET", "of-the-client")
	node := func() *running {
		return start(t, map[string]string{"policy-text": asking, "login-issuer": p.URL, "login-client": "reeve", "login-secret": "env:LOGIN_SECRET", "jwt-role-from": "groups", "jwt-roles": "oncall=approver,bots=agent,staff=auditor"})
	}
	r, tries := node(), 0
	fresh := func() *visitor { // who guesses waits: not here
		if tries++; tries%8 == 0 {
			r = node()
		}
		return r.visitor()
	}
	begin := func(v *visitor) string {
		t.Helper()
		resp, text := v.send("GET", "/console/login/provider?to=/console/approvals", "")
		at := resp.Header.Get("Location")
		if resp.StatusCode != 303 || !strings.HasPrefix(at, p.URL+"/authorize?") {
			t.Fatalf("%d %s %s", resp.StatusCode, at, text)
		}
		c := resp.Cookies()
		if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteLaxMode || c[0].Path != "/console/login" {
			t.Errorf("the cookie of a login: %v", c)
		}
		q, err := http.NewRequest("GET", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := v.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		back.Body.Close()
		return strings.TrimPrefix(back.Header.Get("Location"), v.url)
	}
	v := r.visitor()
	if _, text := v.send("GET", "/console/login", ""); !strings.Contains(text, "/console/login/provider?to=") {
		t.Error("the page does not lead to the provider")
	}
	back := begin(v)
	if resp, text := v.send("GET", back, ""); resp.StatusCode != 303 || resp.Header.Get("Location") != "/console/approvals" {
		t.Fatalf("the login: %d %s", resp.StatusCode, text)
	}
	// The same person as by a token of the same issuer, in the role that the claim means.
	if _, text := v.send("GET", "/console/approvals", ""); !strings.Contains(text, "jwt:"+p.URL+"#ada") || !strings.Contains(text, "<span>approver</span>") {
		t.Errorf("who it is: %s", text)
	}
	if resp, _ := v.send("GET", back, ""); resp.StatusCode != 400 {
		t.Errorf("the answer a second time: %d", resp.StatusCode)
	}
	if resp, _ := r.visitor().send("GET", begin(r.visitor()), ""); resp.StatusCode != 400 {
		t.Errorf("in another browser: %d", resp.StatusCode)
	}
	for _, change := range []func(url.Values){
		func(q url.Values) { q.Del("state") }, func(q url.Values) { q.Set("state", q.Get("state")+"x") }, func(q url.Values) { q.Set("code", "other") },
		func(q url.Values) { q.Del("code") }, func(q url.Values) { q.Set("iss", "https://evil.example") }, func(q url.Values) { q.Set("error", "access_denied") },
	} {
		v := fresh()
		path, query, _ := strings.Cut(begin(v), "?")
		q, _ := url.ParseQuery(query)
		change(q)
		resp, text := v.send("GET", path+"?"+q.Encode(), "")
		if resp.StatusCode < 400 || resp.StatusCode == 429 || strings.Contains(text, "evil.example") {
			t.Errorf("with %v: %d", q, resp.StatusCode)
		}
		if resp, _ := v.send("GET", "/console/approvals", ""); resp.StatusCode != 303 {
			t.Errorf("with %v somebody is logged in", q)
		}
	}
	other := newProvider(t)
	for name, claims := range map[string]func(jwt.MapClaims){
		"another audience": func(c jwt.MapClaims) { c["aud"] = "wiki" }, "another issuer": func(c jwt.MapClaims) { c["iss"] = other.URL }, "an old one": func(c jwt.MapClaims) { c["exp"] = 1 },
		"another login": func(c jwt.MapClaims) { c["nonce"] = "x" }, "no nonce": func(c jwt.MapClaims) { delete(c, "nonce") }, "another party": func(c jwt.MapClaims) { c["aud"], c["azp"] = []string{"reeve", "wiki"}, "wiki" },
		"no role": func(c jwt.MapClaims) { delete(c, "groups") }, "an agent": func(c jwt.MapClaims) { c["groups"] = "bots" }, "two roles": func(c jwt.MapClaims) { c["groups"] = []string{"oncall", "staff"} },
		"an unknown role": func(c jwt.MapClaims) { c["groups"] = "admin" }, "nobody": func(c jwt.MapClaims) { c["sub"] = "" }, "a name not seen": func(c jwt.MapClaims) { c["sub"] = "ada\u202e" },
	} {
		p.claims = claims
		v := fresh()
		resp, _ := v.send("GET", begin(v), "")
		if resp.StatusCode != 401 && resp.StatusCode != 403 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		if resp, _ := v.send("GET", "/console/approvals", ""); resp.StatusCode != 303 {
			t.Errorf("%s is logged in", name)
		}
	}
	p.claims = func(jwt.MapClaims) {}
	signed := p.signed
	for name, sign := range map[string]func(jwt.MapClaims) string{
		"another's key": func(c jwt.MapClaims) string { return other.signed(c) },
		"no signature": func(c jwt.MapClaims) string {
			s, _ := jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
			return s
		},
		"a shared one": func(c jwt.MapClaims) string {
			s, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte("of-the-client"))
			return s
		},
		"a cut one": func(c jwt.MapClaims) string { s := signed(c); return s[:len(s)-4] },
		"nothing":   func(jwt.MapClaims) string { return "" },
	} {
		p.signed = sign
		v := fresh()
		if resp, _ := v.send("GET", begin(v), ""); resp.StatusCode != 401 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	// Who has shown nothing does not begin logins without end.
	for n := 0; ; n++ {
		resp, _ := r.visitor().send("GET", "/console/login/provider", "")
		if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "" {
			break
		}
		if n > 20 {
			t.Fatalf("%d logins were begun: %d", n, resp.StatusCode)
		}
	}
}
