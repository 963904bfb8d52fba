package executor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// signCard is a card with a signature over its canonical form, as the protocol has it.
func signCard(t testing.TB, card string, key any, alg jose.SignatureAlgorithm, kid string) string {
	t.Helper()
	doc, err := rawjson.Parse([]byte(card))
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, err := s.Sign(doc.Root().AppendCanonical(nil))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(compact, ".")
	return strings.TrimSuffix(card, "}") + fmt.Sprintf(`,"signatures":[{"protected":%q,"signature":%q}]}`, parts[0], parts[2])
}

const plainCard = `{"name":"peer","url":"https://peer.example/a2a","capabilities":{"streaming":false},"skills":[]}`

func peerOf(t testing.TB, keys ...jose.JSONWebKey) jose.JSONWebKeySet {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePeer("peer.example=file:keys", func(string) ([]byte, error) { return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	if p.Origin != "https://peer.example:443" {
		t.Errorf("the origin is %s", p.Origin)
	}
	return p.Keys
}

// TestThreat15PeerCards: a card counts as a peer's only with a signature by one of the peer's
// keys over all that it says. What was changed, or signed otherwise, is refused.
func TestThreat15PeerCards(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	otherPublic, other, _ := ed25519.GenerateKey(rand.Reader)
	curve, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	keys := peerOf(t, jose.JSONWebKey{Key: public, KeyID: "a"}, jose.JSONWebKey{Key: curve.Public(), KeyID: "b", Algorithm: "ES256"})
	good := signCard(t, plainCard, private, jose.EdDSA, "a")
	shared := signCard(t, plainCard, []byte(public), jose.HS256, "a") // the public key as a shared secret
	none := strings.TrimSuffix(plainCard, "}") + `,"signatures":[{"protected":"` + base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"a"}`)) + `","signature":""}]}`
	crit := signedWith(t, `{"alg":"EdDSA","crit":["x"],"x":1}`, private)
	for name, c := range map[string]struct {
		card string
		ok   bool
	}{
		"Ed25519":                           {good, true},
		"ECDSA":                             {signCard(t, plainCard, curve, jose.ES256, "b"), true},
		"without the key's name":            {signCard(t, plainCard, private, jose.EdDSA, ""), true},
		"members in another order":          {strings.Replace(good, `{"name":"peer","url":"https://peer.example/a2a",`, `{ "url":"https://peer.example/a2a", "name":"pe\u0065r",`, 1), true},
		"another's signature beside":        {strings.Replace(good, `"signatures":[`, `"signatures":[{"protected":"e30","signature":"AA"},`, 1), true},
		"not signed":                        {plainCard, false},
		"no signatures":                     {strings.TrimSuffix(plainCard, "}") + `,"signatures":[]}`, false},
		"signatures are null":               {strings.TrimSuffix(plainCard, "}") + `,"signatures":null}`, false},
		"signatures are no list":            {strings.TrimSuffix(plainCard, "}") + `,"signatures":{"a":1}}`, false},
		"another key":                       {signCard(t, plainCard, other, jose.EdDSA, "a"), false},
		"another key's name":                {signCard(t, plainCard, private, jose.EdDSA, "c"), false},
		"a shared secret":                   {shared, false},
		"no algorithm":                      {none, false},
		"a critical extension":              {crit, false},
		"another address":                   {strings.Replace(good, "peer.example", "evil.example", 1), false},
		"one member more":                   {strings.Replace(good, `{"name"`, `{"x":1,"name"`, 1), false},
		"one member less":                   {strings.Replace(good, `"url":"https://peer.example/a2a",`, ``, 1), false},
		"a member twice":                    {strings.Replace(good, `{"name":"peer"`, `{"name":"evil","name":"peer"`, 1), false},
		"a member in capitals":              {strings.Replace(good, `{"name"`, `{"URL":"https://evil.example","name"`, 1), false},
		"false is true":                     {strings.Replace(good, `false`, `true`, 1), false},
		"too many":                          {strings.Replace(good, `"signatures":[`, `"signatures":[`+strings.Repeat(`{"protected":"e30","signature":"AA"},`, maxCardSignatures), 1), false},
		"the key in the header":             {signedWith(t, fmt.Sprintf(`{"alg":"EdDSA","jwk":{"kty":"OKP","crv":"Ed25519","x":%q}}`, base64.RawURLEncoding.EncodeToString(otherPublic)), other), false},
		"no JSON":                           {good + "x", false},
		"an empty member more, in capitals": {strings.Replace(signCard(t, `{"name":"peer","url":"https://peer.example/a2a"}`, private, jose.EdDSA, "a"), `{"name"`, `{"URL":"","name"`, 1), true},
	} {
		covered, err := verifyCard([]byte(c.card), &keys)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (!bytes.Contains(covered, []byte("https://peer.example/a2a")) || bytes.Contains(covered, []byte("URL")) || bytes.Contains(covered, []byte("signatures"))) {
			t.Errorf("%s: what is read is %s", name, covered)
		}
	}
	for i := range good { // no byte of it can be changed without that being seen
		for _, flip := range []byte{1, 0x20} {
			changed := []byte(good)
			changed[i] ^= flip
			covered, err := verifyCard(changed, &keys)
			if err != nil {
				continue
			}
			if original, _ := verifyCard([]byte(good), &keys); !bytes.Equal(covered, original) {
				t.Errorf("byte %d: %s is taken for %s", i, covered, original)
			}
		}
	}
}

// signedWith is the plain card with a signature under a header that a library would not write.
func signedWith(t testing.TB, header string, key ed25519.PrivateKey) string {
	t.Helper()
	doc, err := rawjson.Parse([]byte(plainCard))
	if err != nil {
		t.Fatal(err)
	}
	protected := base64.RawURLEncoding.EncodeToString([]byte(header))
	signature := ed25519.Sign(key, []byte(protected+"."+base64.RawURLEncoding.EncodeToString(doc.Root().AppendCanonical(nil))))
	return strings.TrimSuffix(plainCard, "}") + fmt.Sprintf(`,"signatures":[{"protected":%q,"signature":%q}]}`, protected, base64.RawURLEncoding.EncodeToString(signature))
}

// TestPeerCardOfPython: what the protocol's own Python kit signs is verified, though a card is
// served with empty members that are left out before it is signed.
func TestPeerCardOfPython(t *testing.T) {
	card, err := os.ReadFile("testdata/card-python.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePeer("http://Peer.example=file:testdata/card-python.pem", func(name string) ([]byte, error) { return os.ReadFile(strings.TrimPrefix(name, "file:")) })
	if err != nil || p.Origin != "http://peer.example:80" {
		t.Fatal(p.Origin, err)
	}
	if _, err := verifyCard(card, &p.Keys); err != nil {
		t.Error(err)
	}
	if _, err := verifyCard(bytes.Replace(card, []byte("does it"), []byte("does no"), 1), &p.Keys); err == nil {
		t.Error("a changed card is taken")
	}
}

// TestPeerKeys: what are no public keys is refused, and what is no origin.
func TestPeerKeys(t *testing.T) {
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	secret, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private}}})
	for _, key := range []string{"", "x", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, `{"kty":"oct","k":"c2VjcmV0"}`, string(secret), "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n", "-----BEGIN"} {
		if _, err := ParsePeer("peer.example=file:x", func(string) ([]byte, error) { return []byte(key), nil }); err == nil {
			t.Errorf("%.40s is taken for public keys", key)
		}
	}
	for _, text := range []string{"", "peer.example", "=file:x", "peer.example=", "ftp://peer.example=file:x", "https://u@peer.example=file:x", "https://peer.example/a=file:x", "https://=file:x"} {
		if _, err := ParsePeer(text, func(string) ([]byte, error) { return nil, errors.New("no file") }); err == nil {
			t.Errorf("%q is taken for a peer", text)
		}
	}
}

// TestThreat15PeerSpeaks: with an agent whose keys are known nothing is spoken before its
// card was verified, and with an unknown one nothing where cards must be signed.
func TestThreat15PeerSpeaks(t *testing.T) {
	behind, g := a2aServer(t, "JSON-RPC", false)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") }}
	var sign, through string
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, ".json") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		switch card := strings.ReplaceAll(strings.TrimSpace(string(text)), behind.URL, through); sign {
		case "right":
			text = []byte(signCard(t, card, private, jose.EdDSA, ""))
		case "changed":
			text = []byte(strings.Replace(signCard(t, card, private, jose.EdDSA, ""), `"test"`, `"best"`, 1))
		default:
			text = []byte(card)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", fmt.Sprint(len(text)))
		return err
	}
	listens := httptest.NewServer(proxy)
	defer listens.Close()
	through = listens.URL
	u, _ := url.Parse(through)
	known := []Peer{{Origin: originOf(u), Keys: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public}}}}}
	elsewhere := []Peer{{Origin: "https://peer.example:443", Keys: known[0].Keys}}
	for _, c := range []struct {
		name, sign string
		config     A2AConfig
		ok         bool
	}{
		{"known, signed", "right", A2AConfig{Peers: known, Signed: true}, true},
		{"known, not signed", "", A2AConfig{Peers: known}, false},
		{"known, changed", "changed", A2AConfig{Peers: known}, false},
		{"unknown, signed", "right", A2AConfig{Peers: elsewhere}, true},
		{"unknown, where all must be known", "right", A2AConfig{Peers: elsewhere, Signed: true}, false},
		{"nobody known, where all must be", "", A2AConfig{Signed: true}, false},
		{"nobody known", "", A2AConfig{}, true},
	} {
		sign = c.sign
		c.config.AllowPrivate = true
		e := NewA2A(c.config)
		_, err := try(t, e, a2aInputsFor(listens, "work", "")).run(t.Context(), e)
		spoke := false
		select {
		case <-g.got:
			spoke = true
		default:
		}
		if (err == nil) != c.ok || spoke != c.ok {
			t.Errorf("%s: spoken with: %v, %v", c.name, spoke, err)
		}
		if own := (*Error)(nil); err != nil && (!errors.As(err, &own) || !own.Final || !strings.Contains(own.Message, "not trusted")) {
			t.Errorf("%s: it is tried again: %v", c.name, err)
		}
	}
}

// FuzzPeerCard: whatever is served as a card ends, and only what was signed is covered.
func FuzzPeerCard(f *testing.F) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	keys := peerOf(f, jose.JSONWebKey{Key: public})
	good := signCard(f, plainCard, private, jose.EdDSA, "")
	want, err := verifyCard([]byte(good), &keys)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, plainCard, `{"signatures":[{}]}`, `[]`, strings.Repeat("[", 1000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, card []byte) {
		if got, err := verifyCard(card, &keys); err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s is covered", got)
		}
	})
}
