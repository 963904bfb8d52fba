package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// issuer has a key of each kind and signs whatever it is told to.
type issuer struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
	ed  ed25519.PrivateKey
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	var is issuer
	var err error
	if is.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if is.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, is.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return &is
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwks is the issuer's public keys, under the kids rsa, ec and ed.
func (is *issuer) jwks(t testing.TB) []byte {
	t.Helper()
	point, err := is.ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"keys": []map[string]any{
		{"kty": "RSA", "kid": "rsa", "use": "sig", "alg": "RS256", "n": b64(is.rsa.N.Bytes()), "e": b64(big.NewInt(int64(is.rsa.E)).Bytes())},
		{"kty": "EC", "kid": "ec", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])},
		{"kty": "OKP", "kid": "ed", "crv": "Ed25519", "key_ops": []string{"verify"}, "x": b64(is.ed.Public().(ed25519.PublicKey))},
		{"kty": "RSA", "kid": "enc", "use": "enc", "n": b64(is.rsa.N.Bytes()), "e": "AQAB"},
		{"kty": "EC", "kid": "other", "crv": "P-521", "x": "AA", "y": "AA"},
		{"kty": "oct", "kid": "shared", "k": b64([]byte(strings.Repeat("k", 32)))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// token signs header and claims, both JSON, with alg's way of signing.
func (is *issuer) token(t testing.TB, alg, header, claims string, secret []byte) string {
	t.Helper()
	text := b64([]byte(header)) + "." + b64([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	var sig []byte
	var err error
	switch alg {
	case "RS256":
		sig, err = rsa.SignPKCS1v15(rand.Reader, is.rsa, crypto.SHA256, sum[:])
	case "PS256":
		sig, err = rsa.SignPSS(rand.Reader, is.rsa, crypto.SHA256, sum[:], nil)
	case "ES256":
		r, s, e := ecdsa.Sign(rand.Reader, is.ec, sum[:])
		err = e
		sig = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "EdDSA":
		sig = ed25519.Sign(is.ed, []byte(text))
	case "HS256":
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		sig = mac.Sum(nil)
	case "none":
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(sig)
}

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest("POST", "/", nil)
	if len(authorization) > 0 {
		r.Header["Authorization"] = authorization
	}
	return r
}

type outcome struct {
	Principal act.Principal
	Role      Role
	Error     string
}

func ask(a *Authenticator, r *http.Request) outcome {
	p, role, err := a.Authenticate(r)
	o := outcome{Principal: p, Role: role}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

const good = `"iss":"https://issuer","aud":"reeve","sub":"agent-7","exp":1795255500,"nbf":1795255100` // 10:05:00, 09:58:20

func claims(rest string) string { return "{" + good + rest + "}" }

func TestThreat15Tokens(t *testing.T) {
	is := newIssuer(t)
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, is.jwks(t), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return start }
	if got := time.Unix(1795255500, 0).UTC(); got != start.Add(5*time.Minute) {
		t.Fatalf("the token's end is %s", got)
	}
	withJWKS, err := New(Config{Anonymous: UntilFirstKey, JWT: &JWT{JWKS: file, Issuer: "https://issuer", Audience: "reeve", Now: clock, Leeway: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte(strings.Repeat("s", 32))
	withSecret, err := New(Config{JWT: &JWT{Secret: secret, Audience: "reeve", Now: clock, RoleClaim: "realm_access.roles", Roles: map[string]Role{"reeve-admins": Admin, "bots": Agent}}})
	if err != nil {
		t.Fatal(err)
	}
	// The public key as others would have it in hand: what HMAC is confused with.
	der, err := x509.MarshalPKIXPublicKey(&is.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})

	agent := func(role Role) outcome {
		return outcome{act.Principal{Name: "jwt:https://issuer#agent-7", Method: "jwt"}, role, ""}
	}
	invalid := outcome{Error: "The token is not valid."}
	expired := outcome{Error: "The token has expired."}
	rs := func(header, claims string) string { return is.token(t, "RS256", header, claims, nil) }
	const rsHeader = `{"alg":"RS256","kid":"rsa"}`
	hs := func(claims string) string { return is.token(t, "HS256", `{"alg":"HS256"}`, claims, secret) }
	pastSignature := rs(rsHeader, claims(""))

	tests := []struct {
		name  string
		auth  *Authenticator
		token string
		want  outcome
	}{
		{"RS256", withJWKS, rs(rsHeader, claims("")), agent(Agent)},
		{"ES256", withJWKS, is.token(t, "ES256", `{"alg":"ES256","kid":"ec"}`, claims(""), nil), agent(Agent)},
		{"EdDSA", withJWKS, is.token(t, "EdDSA", `{"alg":"EdDSA","kid":"ed"}`, claims(""), nil), agent(Agent)},
		{"without kid, the only one", withJWKS, is.token(t, "EdDSA", `{"alg":"EdDSA"}`, claims(""), nil), agent(Agent)},
		{"role", withJWKS, rs(rsHeader, claims(`,"role":"auditor","organization":"ACME"`)), outcome{act.Principal{Name: "jwt:https://issuer#agent-7", Method: "jwt", Organization: "ACME"}, Auditor, ""}},
		{"audience among several", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"reeve"`, `["x","reeve"]`, 1)), agent(Agent)},
		{"just expired, within the leeway", withJWKS, rs(rsHeader, strings.Replace(claims(""), "1795255500", "1795255180", 1)), agent(Agent)},

		{"alg none", withJWKS, is.token(t, "none", `{"alg":"none"}`, claims(""), nil), invalid},
		{"alg None", withJWKS, is.token(t, "none", `{"alg":"None","kid":"rsa"}`, claims(""), nil), invalid},
		{"alg missing", withJWKS, is.token(t, "none", `{"kid":"rsa"}`, claims(""), nil), invalid},
		{"alg number", withJWKS, is.token(t, "none", `{"alg":0}`, claims(""), nil), invalid},
		{"alg none with secret", withSecret, is.token(t, "none", `{"alg":"none"}`, claims(""), nil), invalid},
		{"signature dropped", withJWKS, pastSignature[:strings.LastIndex(pastSignature, ".")+1], invalid},
		{"signature changed", withJWKS, pastSignature[:len(pastSignature)-8] + "AAAAAAAA", invalid},
		{"claims changed", withJWKS, is.token(t, "RS256", rsHeader, claims(""), nil)[:20] + "A" + pastSignature[21:], invalid},
		{"HS256 with the public key as PEM", withJWKS, is.token(t, "HS256", `{"alg":"HS256","kid":"rsa"}`, claims(""), publicPEM), invalid},
		{"HS256 with the modulus", withJWKS, is.token(t, "HS256", `{"alg":"HS256","kid":"rsa"}`, claims(""), is.rsa.N.Bytes()), invalid},
		{"HS256 with the symmetric key of the JWKS", withJWKS, is.token(t, "HS256", `{"alg":"HS256","kid":"shared"}`, claims(""), []byte(strings.Repeat("k", 32))), invalid},
		{"RS256 where there is a secret", withSecret, rs(rsHeader, claims("")), invalid},
		{"PS256 with an RS256 key", withJWKS, is.token(t, "PS256", `{"alg":"PS256","kid":"rsa"}`, claims(""), nil), invalid},
		{"ES256 with another's kid", withJWKS, is.token(t, "ES256", `{"alg":"ES256","kid":"rsa"}`, claims(""), nil), invalid},
		{"key for encryption", withJWKS, rs(`{"alg":"RS256","kid":"enc"}`, claims("")), invalid},
		{"kid unknown", withJWKS, rs(`{"alg":"RS256","kid":"nobody"}`, claims("")), invalid},
		{"kid as a path", withJWKS, rs(`{"alg":"RS256","kid":"../../dev/null"}`, claims("")), invalid},
		{"kid as SQL", withJWKS, rs(`{"alg":"RS256","kid":"x' UNION SELECT 'k"}`, claims("")), invalid},
		{"own key inside", withJWKS, newIssuer(t).token(t, "RS256", `{"alg":"RS256","kid":"rsa","jwk":{"kty":"RSA"},"jku":"http://127.0.0.1:1/"}`, claims(""), nil), invalid},
		{"critical header", withJWKS, rs(`{"alg":"RS256","kid":"rsa","crit":["b64"],"b64":false}`, claims("")), invalid},
		{"another issuer's key", withJWKS, newIssuer(t).token(t, "RS256", rsHeader, claims(""), nil), invalid},
		{"claim twice", withJWKS, rs(rsHeader, claims(`,"role":"agent","role":"admin"`)), invalid},
		{"claim twice, once escaped", withJWKS, rs(rsHeader, claims(`,"role":"agent","r\u006fle":"admin"`)), invalid},
		{"claim twice, inside", withSecret, hs(claims(`,"realm_access":{"roles":["bots"],"roles":["reeve-admins"]}`)), invalid},
		{"header twice", withJWKS, rs(`{"alg":"RS256","kid":"enc","kid":"rsa"}`, claims("")), invalid},
		{"algorithm twice", withJWKS, rs(`{"alg":"none","alg":"RS256","kid":"rsa"}`, claims("")), invalid},
		{"claims that are not UTF-8", withJWKS, rs(rsHeader, claims(`,"organization":"`+"\xff"+`"`)), invalid},

		{"expired", withJWKS, rs(rsHeader, strings.Replace(claims(""), "1795255500", "1795255100", 1)), expired},
		{"no exp", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"exp":1795255500,`, "", 1)), invalid},
		{"exp as text", withJWKS, rs(rsHeader, strings.Replace(claims(""), "1795255500", `"never"`, 1)), invalid},
		{"not yet", withJWKS, rs(rsHeader, strings.Replace(claims(""), "1795255100", "1795255300", 1)), invalid},
		{"wrong audience", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"reeve"`, `"other"`, 1)), invalid},
		{"no audience", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"aud":"reeve",`, "", 1)), invalid},
		{"wrong issuer", withJWKS, rs(rsHeader, strings.Replace(claims(""), `https://issuer`, `https://issuer/`, 1)), invalid},
		{"no issuer", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"iss":"https://issuer",`, "", 1)), invalid},
		{"no subject", withJWKS, rs(rsHeader, strings.Replace(claims(""), `"sub":"agent-7",`, "", 1)), outcome{Error: "The token names no subject, or one that cannot be recorded."}},
		{"subject with control characters", withJWKS, rs(rsHeader, strings.Replace(claims(""), `agent-7`, `a\u001b[2J`, 1)), outcome{Error: "The token names no subject, or one that cannot be recorded."}},
		{"role nobody knows", withJWKS, rs(rsHeader, claims(`,"role":"root"`)), outcome{Error: "The token names no role that is known here."}},
		{"role null", withJWKS, rs(rsHeader, claims(`,"role":null`)), outcome{Error: "The token names no role that is known here."}},
		{"roles", withJWKS, rs(rsHeader, claims(`,"role":["user","admin"]`)), agent(Admin)},
		{"two roles", withJWKS, rs(rsHeader, claims(`,"role":["agent","admin"]`)), outcome{Error: "The token names more than one role."}},

		{"HS256", withSecret, hs(claims("")), agent(Agent)},
		{"HS256, mapped role", withSecret, hs(claims(`,"realm_access":{"roles":["x","reeve-admins"]}`)), agent(Admin)},
		{"HS256, role not mapped", withSecret, hs(claims(`,"realm_access":{"roles":["admin"]}`)), outcome{Error: "The token names no role that is known here."}},
		{"HS256, wrong secret", withSecret, is.token(t, "HS256", `{"alg":"HS256"}`, claims(""), []byte(strings.Repeat("x", 32))), invalid},
		{"HS256, no issuer asked for", withSecret, hs(`{"aud":"reeve","sub":"s","exp":1795255500}`), outcome{act.Principal{Name: "jwt:#s", Method: "jwt"}, Agent, ""}},

		{"not a token", withJWKS, "abc", invalid},
		{"dots", withJWKS, "..", invalid},
		{"four parts", withJWKS, pastSignature + ".x", invalid},
		{"padding", withJWKS, pastSignature + "==", invalid},
		{"huge", withJWKS, strings.Repeat("a", 20<<10), outcome{Error: "The credential is too long."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ask(tt.auth, request("Bearer "+tt.token))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if !withJWKS.Configured() {
		t.Error("a JWT setting is no credential")
	}
	if got := ask(withJWKS, request()); got.Error == "" {
		t.Errorf("without a credential: %+v", got)
	}
}

func TestKeys(t *testing.T) {
	auth, err := New(Config{Anonymous: UntilFirstKey})
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := NewKey("ci-bot", Approver, "ACME", "", start)
	if err != nil {
		t.Fatal(err)
	}
	other, otherSecret, err := NewKey("gone", Admin, "", "", start)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^reeve_ci-bot_[0-9A-Za-z]{43}$`).MatchString(secret) || secret[13:] == otherSecret[11:] {
		t.Errorf("the secrets are %s and %s", secret, otherSecret)
	}
	if key.Hash != sha256.Sum256([]byte(secret)) || strings.Contains(fmt.Sprintf("%+v", key), secret[13:]) {
		t.Errorf("the key %+v does not fit its secret", key)
	}
	holder := outcome{act.Principal{Name: "key:ci-bot", Method: "key", Organization: "ACME"}, Approver, ""}
	anonymous := outcome{act.Anonymous, Agent, ""}
	required := outcome{Error: "A credential is required: send an API key or a token as Authorization: Bearer."}
	notValid := outcome{Error: "The API key is not valid."}
	malformed := outcome{Error: "The header Authorization is not of the form Bearer CREDENTIAL."}
	revoked := other
	revoked.Revoked = start
	newer := key
	newer.Role = "emperor"

	tests := []struct {
		name string
		keys []Key
		auth []string
		want outcome
	}{
		{"no keys, none sent", nil, nil, anonymous},
		{"no keys, one sent", nil, []string{"Bearer " + secret}, notValid},
		{"no keys, a token sent", nil, []string{"Bearer a.b.c"}, outcome{Error: "No credentials are configured here, so none can be checked. Send none."}},
		{"no keys, an empty header sent", nil, []string{""}, malformed},
		{"none sent", []Key{key}, nil, required},
		{"right", []Key{other, key}, []string{"Bearer " + secret}, holder},
		{"scheme in another case", []Key{key}, []string{"bearer  " + secret + " "}, holder},
		{"another scheme", []Key{key}, []string{"Basic " + secret}, malformed},
		{"no scheme", []Key{key}, []string{secret}, malformed},
		{"empty", []Key{key}, []string{"Bearer "}, malformed},
		{"twice", []Key{key}, []string{"Bearer " + secret, "Bearer " + secret}, outcome{Error: "The header Authorization was sent twice."}},
		{"cut short", []Key{key}, []string{"Bearer " + secret[:len(secret)-1]}, notValid},
		{"the hash itself", []Key{key}, []string{"Bearer reeve_" + string(key.Hash[:])}, notValid},
		{"revoked", []Key{key, revoked}, []string{"Bearer " + otherSecret}, outcome{Error: "The API key has been revoked."}},
		{"only revoked ones, none sent", []Key{revoked}, nil, required},
		{"role of a newer version", []Key{newer}, []string{"Bearer " + secret}, notValid},
		{"a token where there are only keys", []Key{key}, []string{"Bearer a.b.c"}, outcome{Error: "The credential is not valid."}},
	}
	for _, tt := range tests {
		auth.SetKeys(tt.keys)
		if diff := cmp.Diff(tt.want, ask(auth, request(tt.auth...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	beyond, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(required, ask(beyond, request())); diff != "" {
		t.Errorf("where anonymous callers are not let in (-want +got):\n%s", diff)
	}
}

func TestNewKeyRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, org string
		role      Role
	}{
		{"", "", Agent}, {"-x", "", Agent}, {"a b", "", Agent}, {"a\nb", "", Agent}, {strings.Repeat("a", 65), "", Agent}, {"é", "", Agent},
		{"a", "", "root"}, {"a", "", ""}, {"a", "x\x1b[2J", Agent}, {"a", strings.Repeat("o", 300), Agent}, {"a", "\u202eevil", Agent},
	} {
		if _, _, err := NewKey(tt.name, tt.role, tt.org, "", start); err == nil {
			t.Errorf("NewKey(%q, %q, %q) was accepted", tt.name, tt.role, tt.org)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	weak := filepath.Join(t.TempDir(), "weak.json")
	small := new(big.Int).Lsh(big.NewInt(1), 1023)
	os.WriteFile(weak, fmt.Appendf(nil, `{"keys":[{"kty":"RSA","n":%q,"e":"AQAB"}]}`, b64(small.Bytes())), 0o600)
	offCurve := filepath.Join(t.TempDir(), "off.json")
	os.WriteFile(offCurve, fmt.Appendf(nil, `{"keys":[{"kty":"EC","crv":"P-256","x":%q,"y":%[1]q}]}`, b64(make([]byte, 32))), 0o600)
	empty := filepath.Join(t.TempDir(), "empty.json")
	os.WriteFile(empty, []byte(`{"keys":[{"kty":"oct","k":"AAAA"}]}`), 0o600)
	for name, jwt := range map[string]JWT{
		"nothing":             {Audience: "a"},
		"secret and jwks":     {Secret: secret, JWKS: empty, Audience: "a", Issuer: "i"},
		"short secret":        {Secret: secret[:31], Audience: "a"},
		"no audience":         {Secret: secret},
		"jwks without issuer": {JWKS: empty, Audience: "a"},
		"http":                {JWKS: "http://issuer.example/jwks", Issuer: "i", Audience: "a"},
		"file URL":            {JWKS: "file:///etc/passwd", Issuer: "i", Audience: "a"},
		"no such file":        {JWKS: empty + "x", Issuer: "i", Audience: "a"},
		"weak RSA key":        {JWKS: weak, Issuer: "i", Audience: "a"},
		"point off the curve": {JWKS: offCurve, Issuer: "i", Audience: "a"},
		"symmetric keys only": {JWKS: empty, Issuer: "i", Audience: "a"},
	} {
		if _, err := New(Config{JWT: &jwt}); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}

func TestJWKSFromURL(t *testing.T) {
	old, fresh := newIssuer(t), newIssuer(t)
	var served atomic.Pointer[issuer]
	var readings atomic.Int64
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		readings.Add(1)
		if down.Load() {
			http.Error(w, "down", 500)
			return
		}
		w.Write(served.Load().jwks(t))
	}))
	defer server.Close()
	served.Store(old)
	down.Store(true) // at the start, which must not keep the node from starting
	var clock atomic.Int64
	now := func() time.Time { return start.Add(time.Duration(clock.Load())) }
	auth, err := New(Config{JWT: &JWT{JWKS: server.URL, Issuer: "https://issuer", Audience: "reeve", Now: now, Leeway: 48 * time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	token := func(is *issuer, kid string) *http.Request {
		return request("Bearer " + is.token(t, "EdDSA", `{"alg":"EdDSA","kid":"`+kid+`"}`, claims(""), nil))
	}
	accepted := func(r *http.Request) bool { _, _, err := auth.Authenticate(r); return err == nil }

	if accepted(token(old, "ed")) {
		t.Error("a token was accepted before the keys were read")
	}
	down.Store(false)
	clock.Add(int64(11 * time.Second))
	if !accepted(token(old, "ed")) {
		t.Error("the keys were not read once the issuer was up")
	}
	before := readings.Load()
	for i := range 50 {
		if accepted(token(old, fmt.Sprintf("invented-%d", i))) {
			t.Error("an invented kid was accepted")
		}
	}
	if n := readings.Load() - before; n > 1 {
		t.Errorf("50 invented kids made %d readings", n)
	}
	// The issuer changes its keys: read again beside the requests.
	served.Store(fresh)
	clock.Add(int64(freshFor + time.Second))
	accepted(token(old, "ed"))
	for deadline := time.Now().Add(5 * time.Second); !accepted(token(fresh, "ed")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new keys were not read")
		}
	}
	if accepted(token(old, "ed")) {
		t.Error("a key that the issuer withdrew is still used")
	}
	// Down for longer than the keys may be used.
	down.Store(true)
	clock.Add(int64(usableFor + time.Minute))
	if accepted(token(fresh, "ed")) {
		t.Error("a key was used that could not be read again for a day")
	}
}

func TestContext(t *testing.T) {
	if p, role := FromContext(context.Background()); p != act.Anonymous || role != "" {
		t.Errorf("nobody is %+v, %q", p, role)
	}
	if p, role := FromContext(NewContext(context.Background(), Operator, Admin)); p != Operator || role != Admin {
		t.Errorf("the operator is %+v, %q", p, role)
	}
}

func TestChallenge(t *testing.T) {
	auth, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"":         `Bearer realm="reeve"`,
		"Bearer x": `Bearer realm="reeve", error="invalid_token", error_description="No credentials are configured here, so none can be checked"`,
	} {
		r := request()
		if header != "" {
			r = request(header)
		}
		_, _, err := auth.Authenticate(r)
		var e *Error
		if !errors.As(err, &e) || e.Challenge() != want {
			t.Errorf("%q: the challenge is %s, want %s", header, e.Challenge(), want)
		}
	}
}

func FuzzAuthenticate(f *testing.F) {
	secret := []byte(strings.Repeat("s", 32))
	auth, err := New(Config{Anonymous: UntilFirstKey, JWT: &JWT{Secret: secret, Audience: "reeve", Now: func() time.Time { return start }}})
	if err != nil {
		f.Fatal(err)
	}
	valid := (&issuer{}).token(f, "HS256", `{"alg":"HS256"}`, claims(""), secret)
	f.Add("Bearer " + valid)
	f.Add("Bearer reeve_x_0")
	f.Add("Bearer ..")
	f.Add("Bearer ey" + "JhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, header string) {
		p, _, err := auth.Authenticate(request(header))
		if err == nil && (p.Method != "jwt" || !strings.Contains(header, strings.SplitAfterN(valid, ".", 3)[2])) {
			t.Fatalf("%q made the caller %+v", header, p)
		}
	})
}

// TestThreat15StrictJWKS: a set in which two readers could see different keys is no set.
func TestThreat15StrictJWKS(t *testing.T) {
	const x = `"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	key := `{"kty":"OKP","crv":"Ed25519","kid":"a",` + x + `}`
	for name, text := range map[string]string{
		"keys twice":           `{"keys":[` + key + `],"keys":[]}`,
		"keys in two cases":    `{"Keys":[` + key + `]}`,
		"a member twice":       `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","kid":"b",` + x + `}]}`,
		"a member in capital":  `{"keys":[{"KTY":"OKP","crv":"Ed25519","kid":"a",` + x + `}]}`,
		"a folded K":           `{"\u212aeys":[` + key + `]}`,
		"an unknown one twice": `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","z":1,"z":2,` + x + `}]}`,
		"behind the end":       `{"keys":[` + key + `]} {}`,
		"no UTF-8":             `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"\xff",` + x + `}]}`,
	} {
		if strings.Contains(text, `\x`) {
			text = strings.ReplaceAll(text, `\xff`, "\xff")
		}
		if keys, err := parseJWKS([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, keys)
		}
	}
	if keys, err := parseJWKS([]byte(`{"keys":[` + key + `],"more":{"kid":1}}`)); err != nil || len(keys) != 1 {
		t.Errorf("an ordinary one: %v, %v", keys, err)
	}
}

// TestCredentialEnds: what is open asks its credential whether it still holds, and hears
// when that may have changed.
func TestCredentialEnds(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	now := start
	a, err := New(Config{Anonymous: UntilFirstKey, JWT: &JWT{Secret: secret, Audience: "reeve", Now: func() time.Time { return now }, Leeway: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	is := newIssuer(t)
	token, err := a.Check(request("Bearer " + is.token(t, "HS256", `{"alg":"HS256"}`, claims(""), secret)))
	if err != nil {
		t.Fatal(err)
	}
	key, text, _ := NewKey("bot", Agent, "", "", start)
	other, secretOther, _ := NewKey("other", Agent, "", "", start)
	a.SetKeys([]Key{key})
	held, err := a.Check(request("Bearer " + text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		change     func()
		token, key string
	}{
		{"at first", func() {}, "", ""},
		{"within the leeway", func() { now = token.Ends.Add(-time.Second) }, "", ""},
		{"at the end", func() { now = token.Ends }, "The token has expired.", ""},
		{"another key beside it", func() { a.SetKeys([]Key{key, other}) }, "The token has expired.", ""},
		{"revoked", func() { key.Revoked = now; a.SetKeys([]Key{key, other}) }, "The token has expired.", "The API key has been revoked."},
		{"gone", func() { a.SetKeys([]Key{other}) }, "The token has expired.", "The API key is not valid."},
	} {
		changed := held.Changed()
		before := a.keys.Load()
		tt.change()
		if replaced := a.keys.Load() != before; replaced {
			select {
			case <-changed:
			default:
				t.Errorf("%s: nobody heard of it", tt.name)
			}
		}
		for what, pair := range map[string]struct {
			c    *Credential
			want string
		}{"token": {token, tt.token}, "key": {held, tt.key}} {
			got := ""
			if err := pair.c.Err(); err != nil {
				got = err.Error()
			}
			if got != pair.want {
				t.Errorf("%s: the %s: %q, want %q", tt.name, what, got, pair.want)
			}
		}
	}
	// Keys that are read again unchanged wake nobody.
	changed := held.Changed()
	a.SetKeys([]Key{other})
	select {
	case <-changed:
		t.Error("the same keys are a change")
	default:
	}
	// Keys that cannot be read again end what is open by one of them, and new calls go on.
	fine, err := a.Check(request("Bearer " + secretOther))
	if err != nil {
		t.Fatal(err)
	}
	changed = fine.Changed()
	a.Unsure()
	select {
	case <-changed:
	default:
		t.Error("nobody heard that the keys are unsure")
	}
	if fine.Err() != nil || !errors.Is(fine.Lasts(), ErrUnsure) || token.Lasts() == nil || errors.Is(token.Lasts(), ErrUnsure) {
		t.Error(fine.Err(), fine.Lasts(), token.Lasts())
	}
	if a.SetKeys([]Key{other}); fine.Lasts() != nil {
		t.Error("keys that were read again are unsure:", fine.Lasts())
	}
	open, err := New(Config{Anonymous: UntilFirstKey})
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := open.Check(request())
	if err != nil || nobody.Err() != nil {
		t.Fatal(err, nobody.Err())
	}
	open.SetKeys([]Key{key})
	if nobody.Err() == nil {
		t.Error("nobody may still ask where a credential is needed")
	}
}

// A key of a configuration is the one that was made, and what is not exactly its form is no
// key; nothing that is refused is repeated, since it may be a secret.
func TestGivenKeys(t *testing.T) {
	elsewhere := func(ref string) (string, error) {
		if ref == "env:HASH" {
			return "sha256:" + strings.Repeat("ab", 32), nil
		}
		return "", errors.New("a secret is not written here")
	}
	key, secret, err := NewKey("agent-1", Admin, "", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseKey(key.Setting(), elsewhere)
	if err != nil || parsed.Name != "agent-1" || parsed.Role != "admin" || parsed.Hash != key.Hash || !parsed.Given {
		t.Fatalf("%+v, %v", parsed, err)
	}
	known, err := KnownKey("agent-1", Admin, "", secret)
	if err != nil || known.Hash != key.Hash {
		t.Errorf("%+v, %v", known, err)
	}
	if k, err := ParseKey("a=agent:env:HASH", elsewhere); err != nil || k.Hash[0] != 0xab {
		t.Errorf("%+v, %v", k, err)
	}
	digits := strings.Repeat("0a", 32)
	for _, wrong := range []string{
		"", "=", "a", "a=", "a=agent", "a=agent:", secret, "a=" + secret, "a=agent:" + secret, "a=king:sha256:" + digits, "=agent:sha256:" + digits,
		"a b=agent:sha256:" + digits, "a=agent:sha256:" + digits[2:], "a=agent:sha256:" + digits + "00", "a=agent:sha256:" + strings.Repeat("zz", 32),
		"a=agent:sha512:" + digits, "a=Agent:sha256:" + digits, "a=agent:SHA256:" + digits, "a=agent: sha256:" + digits, "a=agent:file:/none",
	} {
		if k, err := ParseKey(wrong, elsewhere); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %+v, %v", wrong, k, err)
		}
	}
	for _, weak := range []string{"", "reeve_", "reeve_admin", "secret", strings.Repeat("x", 64), "reeve_" + strings.Repeat(" ", 40), "reeve_" + strings.Repeat("x", 600)} {
		if _, err := KnownKey("a", Agent, "", weak); err == nil {
			t.Errorf("%q is taken for a secret", weak)
		}
	}
}

// When nobody needs a credential, and what a key, a revoked one or a token changes.
func TestThreat15Anonymous(t *testing.T) {
	key, secret, err := NewKey("k", Agent, "", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	revoked := key
	revoked.Revoked = time.Now()
	for _, c := range []struct {
		when           Anonymous
		keys           []Key
		anonymous, key bool
	}{
		{Never, nil, false, false},
		{Never, []Key{key}, false, true},
		{UntilFirstKey, nil, true, false},
		{UntilFirstKey, []Key{key}, false, true},
		{UntilFirstKey, []Key{revoked}, false, false},
		{UntilFirstKey, []Key{{Name: "x", Damaged: true}}, false, false},
		{Always, nil, true, false},
		{Always, []Key{key}, true, true},
		{Always, []Key{revoked}, true, false}, // and the revoked key makes nobody anonymous
	} {
		auth, err := New(Config{Anonymous: c.when})
		if err != nil {
			t.Fatal(err)
		}
		auth.SetKeys(c.keys)
		p, role, err := auth.Authenticate(request())
		if (err == nil) != c.anonymous || err == nil && (p != act.Anonymous || role != Agent) {
			t.Errorf("%+v: without a credential: %v %v %v", c, p, role, err)
		}
		if _, _, err := auth.Authenticate(request("Bearer " + secret)); (err == nil) != c.key {
			t.Errorf("%+v: with the key: %v", c, err)
		}
		if _, _, err := auth.Authenticate(request("Bearer nonsense")); err == nil {
			t.Errorf("%+v: nonsense is taken", c)
		}
	}
}

// A credential that nobody has checked holds for nothing, and one that the machine vouches
// for holds whatever becomes of the keys.
func TestCredentialOfNobody(t *testing.T) {
	var none Credential
	if err := none.Lasts(); err == nil {
		t.Error("the zero credential holds")
	}
	if none.Changed() != nil {
		t.Error("it can still change")
	}
	auth, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := auth.Vouched(Operator, Admin)
	changed := c.Changed()
	auth.Unsure()
	<-changed
	if err := c.Lasts(); err != nil {
		t.Error(err)
	}
}

// TestPerson: whose a credential is stands in the key, in its setting, and in the claim of a
// token that is named for it.
func TestPerson(t *testing.T) {
	for person, fine := range map[string]bool{"": true, "ada": true, "ada@example.org": true, "Ådá": true, "a b": false, "@ada": false, "a:b": false, "a=b": false, "a,b": false, strings.Repeat("a", 129): false, "a\x1b": false} {
		key, _, err := NewKey("k", Approver, "", person, time.Now())
		if (err == nil) != fine {
			t.Errorf("%q: %v", person, err)
		}
		if err != nil {
			continue
		}
		back, err := ParseKey(key.Setting(), nil)
		if err != nil || back.Person != person || back.Role != "approver" || back.Hash != key.Hash {
			t.Errorf("%q: %+v %v", key.Setting(), back, err)
		}
		if p, _, err := newKeyRing([]Key{key}).holder(key.Hash); err != nil || p.Person != person || person != "" && p.Holder() != person || person == "" && p.Holder() != "key:k" {
			t.Errorf("%q: %+v %v", person, p, err)
		}
	}
}

// TestRevoked: a name counts as revoked while no key of it is valid, and one that is not known
// does not.
func TestRevoked(t *testing.T) {
	a, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a.SetKeys([]Key{
		{Name: "gone", Role: "agent", Hash: [32]byte{1}, Revoked: now}, {Name: "there", Role: "agent", Hash: [32]byte{2}}, {Name: "damaged", Damaged: true},
		{Name: "both", Role: "agent", Hash: [32]byte{3}, Revoked: now}, {Name: "both", Role: "agent", Hash: [32]byte{4}, Given: true},
	})
	for principal, want := range map[string]bool{"key:gone": true, "key:damaged": true, "key:there": false, "key:both": false, "gone": false, "jwt:gone": false, "": false, "anonymous": false} {
		if a.Revoked(principal) != want {
			t.Errorf("%q: %t", principal, !want)
		}
	}
	a.SetKeys([]Key{{Name: "gone", Role: "agent", Hash: [32]byte{5}}})
	if a.Revoked("key:gone") {
		t.Error("another key of this name is valid")
	}
}
