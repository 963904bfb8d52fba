package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var bindSecret = []byte(strings.Repeat("s", 32))

// bound is a node that takes tokens, at a moment of the test.
type bound struct {
	*Authenticator
	now time.Time
	is  *issuer
}

func newBound(t testing.TB, change func(*JWT)) *bound {
	t.Helper()
	b := &bound{now: start.Add(-2 * time.Minute), is: newIssuer(t)}
	cfg := JWT{Secret: bindSecret, Audience: "reeve", Leeway: 30 * time.Second, Now: func() time.Time { return b.now }}
	if change != nil {
		change(&cfg)
	}
	var err error
	if b.Authenticator, err = New(Config{Anonymous: UntilFirstKey, JWT: &cfg}); err != nil {
		t.Fatal(err)
	}
	b.now = start
	return b
}

// token is one with claims beside what every token has; it lasts for an hour.
func (b *bound) token(t testing.TB, more string) string {
	t.Helper()
	claims := fmt.Sprintf(`{"iss":"https://issuer","aud":"reeve","sub":"agent-7","exp":%d%s}`, start.Add(time.Hour).Unix(), more)
	return b.is.token(t, "HS256", `{"alg":"HS256"}`, claims, bindSecret)
}

// jwkOf is a public key as JSON, and how it signs.
func jwkOf(t testing.TB, key any) (jwk map[string]any, alg string) {
	t.Helper()
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(key.Public().(ed25519.PublicKey))}, "EdDSA"
	case *ecdsa.PrivateKey:
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		n := len(point) / 2
		return map[string]any{"kty": "EC", "crv": key.Params().Name, "x": b64(point[1 : n+1]), "y": b64(point[n+1:])}, map[int]string{32: "ES256", 48: "ES384"}[n]
	}
	is := key.(*issuer)
	return map[string]any{"kty": "RSA", "n": b64(is.rsa.N.Bytes()), "e": b64(big.NewInt(int64(is.rsa.E)).Bytes())}, "RS256"
}

func printOf(t testing.TB, key any) string {
	t.Helper()
	jwk, _ := jwkOf(t, key)
	text, err := json.Marshal(jwk) // of which the members are in their order
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return b64(sum[:])
}

const nodeURL = "https://node.example/flow"

func atNode(u *url.URL) bool { return u.Scheme == "https" && u.Host == "node.example" }

// proof is made of a header and claims that change may spoil.
func proof(t testing.TB, key any, token string, at time.Time, change func(header, claims map[string]any)) string {
	t.Helper()
	jwk, alg := jwkOf(t, key)
	hash := sha256.Sum256([]byte(token))
	header := map[string]any{"typ": "dpop+jwt", "alg": alg, "jwk": jwk}
	claims := jwt.MapClaims{"jti": rand.Text(), "htm": "POST", "htu": nodeURL, "iat": at.Unix(), "ath": b64(hash[:])}
	if change != nil {
		change(header, claims)
	}
	if alg, _ = header["alg"].(string); jwt.GetSigningMethod(alg) == nil {
		alg = "none"
	}
	if is, ok := key.(*issuer); ok {
		key = is.rsa
	}
	out := &jwt.Token{Header: header, Claims: claims, Method: jwt.GetSigningMethod(alg)}
	with := key
	switch alg {
	case "none":
		with = jwt.UnsafeAllowNoneSignatureType
	case "HS256":
		with = bindSecret
	}
	text, err := out.SignedString(with)
	if err != nil {
		return strings.Join([]string{"unsigned", err.Error()}, " ")
	}
	return text
}

func sending(scheme, token string, proofs ...string) *http.Request {
	r := httptest.NewRequest("POST", nodeURL, nil)
	r.Header["Authorization"] = []string{scheme + " " + token}
	if len(proofs) > 0 {
		r.Header["Dpop"] = proofs
	}
	return r
}

func why(c *Credential, err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestDPoP(t *testing.T) {
	b := newBound(t, nil)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	for name, key := range map[string]any{"Ed25519": ed, "P-256": b.is.ec, "RSA": b.is} {
		token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, key)+`"},"scope":"read"`)
		c, err := b.CheckAt(sending("DPoP", token, proof(t, key, token, start, nil)), atNode)
		if err != nil || c.Principal.Delegated().Proof != "dpop" || len(c.Principal.Delegated().Scopes) != 1 || c.Err() != nil {
			t.Errorf("%s: %v %v", name, c, err)
		}
	}
	token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, ed)+`"}`)
	for name, change := range map[string]func(h, c map[string]any){
		"a query and a fragment in htu": func(_, c map[string]any) { c["htu"] = nodeURL + "?a=b#c" },
		"members that nobody knows":     func(h, c map[string]any) { h["kid"], c["more"] = "x", "y" },
		"a little early":                func(_, c map[string]any) { c["iat"] = start.Add(20 * time.Second).Unix() },
		"a little late":                 func(_, c map[string]any) { c["iat"] = start.Add(-80 * time.Second).Unix() },
		"a nonce that nobody asked for": func(_, c map[string]any) { c["nonce"] = "n" },
	} {
		if got := why(b.CheckAt(sending("dpop", token, proof(t, ed, token, start, change)), atNode)); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	rs := func(h, _ map[string]any) { h["alg"] = "PS256" }
	token = b.token(t, `,"cnf":{"jkt":"`+printOf(t, b.is)+`"}`)
	if got := why(b.CheckAt(sending("DPoP", token, proof(t, b.is, token, start, rs)), atNode)); got != "" {
		t.Errorf("PS256: %s", got)
	}
}

// TestThreat15BoundTokens: whoever has read a token that is bound to a key, and all that was
// ever sent with it, has nothing.
func TestThreat15BoundTokens(t *testing.T) {
	b := newBound(t, nil)
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	cnf := `,"cnf":{"jkt":"` + printOf(t, key) + `"}`
	token := b.token(t, cnf)
	plain := b.token(t, "")
	check := func(r *http.Request) (*Error, string) {
		c, err := b.CheckAt(r, atNode)
		if err == nil {
			return nil, fmt.Sprintf("is taken, as %v", c.Principal)
		}
		return err.(*Error), err.(*Error).Proof
	}

	// The token's own faults.
	for name, r := range map[string]*http.Request{
		"as Bearer":                            sending("Bearer", token),
		"as Bearer with a proof":               sending("Bearer", token, proof(t, key, token, start, nil)),
		"a plain token with a proof":           sending("DPoP", plain, proof(t, key, plain, start, nil)),
		"a plain token without a proof":        sending("DPoP", plain),
		"the key of a thief":                   sending("DPoP", token, proof(t, other, token, start, nil)),
		"a token that says itself so, unsound": sending("DPoP", token+"x", proof(t, key, token+"x", start, nil)),
	} {
		if err, code := check(r); err == nil || code != "invalid_token" && name[:1] != "a" {
			t.Errorf("%s: %v %s", name, err, code)
		}
	}
	// Beside what is known, too: the issuer relies on all of it.
	thumb := `"jkt":"` + printOf(t, key) + `"`
	for _, cnf := range []string{`{` + thumb + `,"osc":1}`, `{` + thumb + `,"kid":"x"}`, `{` + thumb + `,"jwk":{}}`, `{` + thumb + `,"x5t#s256":"zz"}`, `{` + thumb + `,"JKT":"x"}`, `null`, `"x"`, `{}`, `{"jwk":{}}`, `{"kid":"x"}`, `{"jkt":7}`, `{"jkt":""}`, `{"jkt":"AAAA"}`, `{"x5t#S256":"zz"}`, `{"jkt":"` + strings.Repeat("A", 42) + `="}`, `[]`} {
		token := b.token(t, `,"cnf":`+cnf)
		for _, scheme := range []string{"Bearer", "DPoP"} {
			if _, err := b.CheckAt(sending(scheme, token, proof(t, key, token, start, nil)), atNode); err == nil {
				t.Errorf("cnf %s is taken as %s", cnf, scheme)
			}
		}
	}
	if _, err := b.CheckAt(sending("DPoP", "reeve_ci_0000000000000000000000000000000000000000000"), atNode); err == nil {
		t.Error("an API key with a proof")
	}

	// The proof's.
	spoil := map[string]func(h, c map[string]any){
		"no typ":                    func(h, _ map[string]any) { delete(h, "typ") },
		"typ of a token":            func(h, _ map[string]any) { h["typ"] = "JWT" },
		"alg none":                  func(h, _ map[string]any) { h["alg"] = "none" },
		"a MAC":                     func(h, _ map[string]any) { h["alg"] = "HS256" },
		"no jwk":                    func(h, _ map[string]any) { delete(h, "jwk") },
		"a jwk that is none":        func(h, _ map[string]any) { h["jwk"] = "x" },
		"a symmetric jwk":           func(h, _ map[string]any) { h["jwk"] = map[string]any{"kty": "oct", "k": b64(bindSecret)} },
		"a private part":            func(h, _ map[string]any) { h["jwk"].(map[string]any)["d"] = b64(key.Seed()) },
		"another key's jwk":         func(h, _ map[string]any) { h["jwk"], _ = jwkOf(t, other) },
		"alg of another key":        func(h, _ map[string]any) { h["jwk"].(map[string]any)["alg"] = "ES256" },
		"critical headers":          func(h, _ map[string]any) { h["crit"] = []string{"x"} },
		"no htm":                    func(_, c map[string]any) { delete(c, "htm") },
		"another method":            func(_, c map[string]any) { c["htm"] = "GET" },
		"a method in small letters": func(_, c map[string]any) { c["htm"] = "post" },
		"no htu":                    func(_, c map[string]any) { delete(c, "htu") },
		"htu a number":              func(_, c map[string]any) { c["htu"] = 7 },
		"another host":              func(_, c map[string]any) { c["htu"] = "https://evil.example/flow" },
		"another scheme":            func(_, c map[string]any) { c["htu"] = "http://node.example/flow" },
		"another path":              func(_, c map[string]any) { c["htu"] = "https://node.example/" },
		"a path as another":         func(_, c map[string]any) { c["htu"] = "https://node.example/flow/" },
		"a path that is escaped":    func(_, c map[string]any) { c["htu"] = "https://node.example/%2Fflow" },
		"a path in another case":    func(_, c map[string]any) { c["htu"] = "https://node.example/FLOW" },
		"only a path":               func(_, c map[string]any) { c["htu"] = "/flow" },
		"no ath":                    func(_, c map[string]any) { delete(c, "ath") },
		"ath of another token":      func(_, c map[string]any) { sum := sha256.Sum256([]byte(plain)); c["ath"] = b64(sum[:]) },
		"no iat":                    func(_, c map[string]any) { delete(c, "iat") },
		"iat a text":                func(_, c map[string]any) { c["iat"] = "now" },
		"an old one":                func(_, c map[string]any) { c["iat"] = start.Add(-91 * time.Second).Unix() },
		"one of tomorrow":           func(_, c map[string]any) { c["iat"] = start.Add(31 * time.Second).Unix() },
		"one of the far future":     func(_, c map[string]any) { c["iat"] = 1e300 },
		"an end that has come":      func(_, c map[string]any) { c["exp"] = start.Add(-time.Hour).Unix() },
		"no jti":                    func(_, c map[string]any) { delete(c, "jti") },
		"jti a number":              func(_, c map[string]any) { c["jti"] = 7 },
		"a long jti":                func(_, c map[string]any) { c["jti"] = strings.Repeat("x", longestJTI+1) },
		"a long proof":              func(_, c map[string]any) { c["more"] = strings.Repeat("x", longestProof) },
	}
	for name, change := range spoil {
		if err, code := check(sending("DPoP", token, proof(t, key, token, start, change))); err == nil || !strings.HasPrefix(err.Challenge(), "DPoP ") {
			t.Errorf("%s: %s", name, code)
		}
	}
	good := proof(t, key, token, start, nil)
	for name, r := range map[string]*http.Request{
		"none":                        sending("DPoP", token),
		"two":                         sending("DPoP", token, good, good),
		"empty":                       sending("DPoP", token, ""),
		"the token itself":            sending("DPoP", token, token),
		"P-384":                       sending("DPoP", b.token(t, `,"cnf":{"jkt":"`+printOf(t, p384)+`"}`), proof(t, p384, token, start, nil)),
		"a signature that is changed": sending("DPoP", token, good[:len(good)-4]+"AAAA"),
		"a name twice":                sending("DPoP", token, b64([]byte(`{"typ":"dpop+jwt","typ":"dpop+jwt"}`))+good[strings.Index(good, "."):]),
	} {
		if err, code := check(r); err == nil || err.Proof != "invalid_dpop_proof" {
			t.Errorf("%s: %s", name, code)
		}
	}
	if _, err := b.CheckAt(sending("DPoP", token, good), atNode); err != nil {
		t.Fatalf("the proof: %v", err)
	}
	// What was sent is not sent again: not at once, not later, and not while it could still be good.
	for _, later := range []time.Duration{0, time.Second, 59 * time.Second, 89 * time.Second, 95 * time.Second, time.Hour - time.Second} {
		b.now = start.Add(later)
		if err, code := check(sending("DPoP", token, good)); err == nil {
			t.Errorf("again after %s: %s", later, code)
		}
	}
	// Where nobody says what the node's own address is, no proof is for it.
	b.now = start
	if _, err := b.Check(sending("DPoP", token, proof(t, key, token, start, nil))); err == nil {
		t.Error("a proof for any address is taken")
	}
}

// TestThreat15ProofsBeforeTheBeginning: a proof that the program before this one may have seen
// is not taken, and one that was made since is.
func TestThreat15ProofsBeforeTheBeginning(t *testing.T) {
	b := newBound(t, nil)
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, key)+`"}`)
	begun := start.Add(-2 * time.Minute)
	for after, taken := range map[time.Duration]bool{-30 * time.Second: false, -time.Second: false, 0: false, time.Second: true, 20 * time.Second: true} {
		b.now = begun.Add(21 * time.Second)
		if _, err := b.CheckAt(sending("DPoP", token, proof(t, key, token, begun.Add(after), nil)), atNode); (err == nil) != taken {
			t.Errorf("made %v after the beginning: %v", after, err)
		}
	}
}

// TestThreat15WeakProofKey: the neutral point of the curve checks what nobody has signed.
func TestThreat15WeakProofKey(t *testing.T) {
	for _, x := range [][]byte{append([]byte{1}, make([]byte, 31)...), make([]byte, 32)} {
		if _, _, err := proofKey(map[string]any{"typ": "dpop+jwt", "alg": "EdDSA", "jwk": map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(x)}}); err == nil {
			t.Errorf("%x is a proof's key", x)
		}
	}
}

// TestThreat15Replay: of many who send one proof at once one is let in.
func TestThreat15Replay(t *testing.T) {
	b := newBound(t, nil)
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, key)+`"}`)
	for range 20 {
		one := proof(t, key, token, start, nil)
		var taken sync.WaitGroup
		var mu sync.Mutex
		n := 0
		for range 16 {
			taken.Go(func() {
				if _, err := b.CheckAt(sending("DPoP", token, one), atNode); err == nil {
					mu.Lock()
					n++
					mu.Unlock()
				}
			})
		}
		if taken.Wait(); n != 1 {
			t.Fatalf("one proof is taken %d times", n)
		}
	}
	// The memory is bounded, for each key, and forgets nothing that could come again.
	p := b.tokens.proofs
	for i := range maxProofs + 10 {
		if i%100 == 0 {
			b.now = start.Add(time.Duration(i) * time.Microsecond)
		}
		err := p.use("thief", "thief", fmt.Sprint(i), b.now)
		if (err == nil) != (i < maxKeyProofs) {
			t.Fatalf("proof %d: %v", i, err)
		}
		if i > maxKeyProofs {
			break
		}
	}
	if err := p.use("somebody else", "another", "1", b.now); err != nil {
		t.Errorf("others are held up: %v", err)
	}
	if p.use("thief", "thief", "7", b.now) == nil {
		t.Error("a full memory forgets")
	}
	for i := range maxProofs { // by many keys
		if p.use("many", fmt.Sprint("key ", i%20), fmt.Sprint(i), b.now) != nil {
			break
		}
	}
	if err := p.use("somebody else", "another", "2", b.now); err != nil {
		t.Errorf("who has many keys holds others up: %v", err)
	}
	span := proofAge + 2*30*time.Second
	if at := b.now.Add(span / 2); p.use("thief", "thief", "7", at) == nil {
		t.Error("forgotten while it could come again")
	}
	if err := p.use("thief", "thief", "new", b.now.Add(3*span)); err != nil {
		t.Errorf("nothing is ever forgotten: %v", err)
	}
	if n := len(p.recent) + len(p.past); n > maxKeyProofs+maxWhoProofs+30 {
		t.Errorf("%d proofs are remembered", n)
	}
}

func TestNonce(t *testing.T) {
	b := newBound(t, func(c *JWT) { c.Nonce = true })
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, key)+`"}`)
	with := func(nonce any) error {
		_, err := b.CheckAt(sending("DPoP", token, proof(t, key, token, b.now, func(_, c map[string]any) { c["nonce"] = nonce })), atNode)
		return err
	}
	refused, ok := with("x").(*Error)
	if !ok || refused.Proof != "use_dpop_nonce" || refused.Nonce == "" || !strings.Contains(refused.Challenge(), `DPoP realm="reeve", error="use_dpop_nonce"`) {
		t.Fatalf("%+v", refused)
	}
	if err := with(refused.Nonce); err != nil {
		t.Errorf("with the nonce: %v", err)
	}
	if err := with(refused.Nonce); err != nil { // as long as it is fresh
		t.Errorf("with the nonce once more: %v", err)
	}
	other := newBound(t, func(c *JWT) { c.Nonce = true }).tokens.proofs.nonce(start)
	for _, nonce := range []any{"", 7, refused.Nonce + "A", other, b.tokens.proofs.nonce(start.Add(time.Minute)), b.tokens.proofs.nonce(start.Add(-nonceAge - time.Second))} {
		if with(nonce) == nil {
			t.Errorf("nonce %v is taken", nonce)
		}
	}
	b.now = start.Add(nonceAge + time.Second)
	if with(refused.Nonce) == nil {
		t.Error("an old nonce is taken")
	}
}

func TestRequireProof(t *testing.T) {
	b := newBound(t, func(c *JWT) { c.RequireProof = true })
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	if why(b.CheckAt(sending("Bearer", b.token(t, "")), atNode)) == "" {
		t.Error("a plain token is taken")
	}
	token := b.token(t, `,"cnf":{"jkt":"`+printOf(t, key)+`"}`)
	if got := why(b.CheckAt(sending("DPoP", token, proof(t, key, token, start, nil)), atNode)); got != "" {
		t.Error(got)
	}
}

func FuzzProof(f *testing.F) {
	b := newBound(f, nil)
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	token := b.token(f, `,"cnf":{"jkt":"`+printOf(f, key)+`"}`)
	good := proof(f, key, token, start, nil)
	header, rest, _ := strings.Cut(good, ".")
	f.Add(header, rest)
	f.Add(b64([]byte(`{"typ":"dpop+jwt","alg":"none","jwk":{}}`)), rest)
	f.Fuzz(func(t *testing.T, first, second string) {
		sent := first + "." + second
		if _, err := b.CheckAt(sending("DPoP", token, sent), atNode); err == nil && sent != good {
			t.Errorf("%s is taken", sent)
		}
	})
}

// FuzzProofKey: whatever stands in a header, no key comes of one with a private part, and
// the thumbprint is that of the key.
func FuzzProofKey(f *testing.F) {
	for _, key := range []any{newIssuer(f), newIssuer(f).ec, newIssuer(f).ed} {
		jwk, alg := jwkOf(f, key)
		text, _ := json.Marshal(map[string]any{"typ": "dpop+jwt", "alg": alg, "jwk": jwk})
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		header := map[string]any{}
		if json.Unmarshal([]byte(text), &header) != nil {
			return
		}
		key, print, err := proofKey(maps.Clone(header))
		if err == nil && (key == nil || len(print) != 43 || header["jwk"].(map[string]any)["d"] != nil) {
			t.Errorf("%s gives %v %s", text, key, print)
		}
	})
}
