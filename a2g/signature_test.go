package a2g

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"reeve.example/reeve/internal/rawjson"
)

var (
	testNow    = time.Date(2026, 4, 2, 8, 15, 0, 0, time.UTC)
	testSecret = strings.Repeat("ab", 32)
)

// signed are params with a signature of this key.
func signed(t testing.TB, params string, key Key, nonce string, at time.Time) rawjson.Value {
	t.Helper()
	s := key.Sign(appendSigned(nil, parse(t, params), byCodePoint), nonce, at)
	return withSignature(t, params, s.Timestamp, s.Nonce, s.Hash)
}

func withSignature(t testing.TB, params, timestamp, nonce, hash string) rawjson.Value {
	t.Helper()
	return parse(t, fmt.Sprintf(`%s,"context":{"signature":{"timestamp":%q,"nonce":%q,"hash":%q}}}`, strings.TrimSuffix(params, "}"), timestamp, nonce, hash))
}

func parse(t testing.TB, src string) rawjson.Value {
	t.Helper()
	doc, err := rawjson.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func TestVerify(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	otherPublic, _, _ := ed25519.GenerateKey(nil)
	const params = `{"agent_did":"a","tool":"t","arguments":{}}`
	hmacKey, edKey := Key{Secret: testSecret}, Key{Private: private}
	bytesKey, _ := hex.DecodeString(testSecret)
	good := hmacKey.Sign([]byte(params), "n-1", testNow)
	canonical := string(appendSigned(nil, parse(t, params), byCodePoint))
	rust := &Signature{Timestamp: "1775117700000", Nonce: "n-1"}
	rust.Hash = hex.EncodeToString(mac(bytesKey, rust.signed([]byte(canonical))))

	tests := []struct {
		name   string
		params rawjson.Value
		keys   Keys
		want   error
	}{
		{"HMAC", signed(t, params, hmacKey, "n-1", testNow), Keys{Secret: testSecret}, nil},
		{"HMAC with the decoded key", withSignature(t, params, rust.Timestamp, rust.Nonce, rust.Hash), Keys{Secret: testSecret}, nil},
		{"HMAC in capitals", withSignature(t, params, rust.Timestamp, rust.Nonce, strings.ToUpper(rust.Hash)), Keys{Secret: testSecret}, nil},
		{"Ed25519", signed(t, params, edKey, "n-1", testNow), Keys{Public: public}, nil},
		{"five minutes ago", signed(t, params, hmacKey, "n-1", testNow.Add(-Window)), Keys{Secret: testSecret}, nil},
		{"in five minutes", signed(t, params, hmacKey, "n-1", testNow.Add(Window)), Keys{Secret: testSecret}, nil},

		{"no signature", parse(t, params), Keys{Secret: testSecret}, ErrUnsigned},
		{"a null", parse(t, `{"context":{"signature":null}}`), Keys{Secret: testSecret}, ErrUnsigned},
		{"no params", rawjson.Value{}, Keys{Secret: testSecret}, ErrUnsigned},
		{"no keys", signed(t, params, hmacKey, "n-1", testNow), Keys{}, ErrSignature},
		{"an empty key", signed(t, params, Key{}, "n-1", testNow), Keys{}, ErrSignature},
		{"another secret", signed(t, params, hmacKey, "n-1", testNow), Keys{Secret: testSecret + "00"}, ErrSignature},
		{"another public key", signed(t, params, edKey, "n-1", testNow), Keys{Public: otherPublic}, ErrSignature},
		{"HMAC of one with a public key", signed(t, params, hmacKey, "n-1", testNow), Keys{Secret: testSecret, Public: public}, ErrSignature},
		{"Ed25519 of one without", signed(t, params, edKey, "n-1", testNow), Keys{Secret: testSecret}, ErrSignature},
		{"too old", signed(t, params, hmacKey, "n-1", testNow.Add(-Window-time.Millisecond)), Keys{Secret: testSecret}, ErrTime},
		{"too new", signed(t, params, hmacKey, "n-1", testNow.Add(Window+time.Millisecond)), Keys{Secret: testSecret}, ErrTime},
		{"another nonce", withSignature(t, params, good.Timestamp, "n-2", good.Hash), Keys{Secret: testSecret}, ErrSignature},
		{"another time", withSignature(t, params, "1775117700001", good.Nonce, good.Hash), Keys{Secret: testSecret}, ErrSignature},
		{"a nonce with a colon", signed(t, params, hmacKey, "n:1", testNow), Keys{Secret: testSecret}, ErrSignature},
		{"a nonce without end", signed(t, params, hmacKey, strings.Repeat("n", maxNonce+1), testNow), Keys{Secret: testSecret}, ErrSignature},
		{"an empty nonce", signed(t, params, hmacKey, "", testNow), Keys{Secret: testSecret}, ErrSignature},
		{"a time that is none", withSignature(t, params, "-1", "n", good.Hash), Keys{Secret: testSecret}, ErrSignature},
		{"a time without end", withSignature(t, params, "17751177000000000", "n", good.Hash), Keys{Secret: testSecret}, ErrSignature},
		{"no hex", withSignature(t, params, good.Timestamp, "n", "zz"), Keys{Secret: testSecret}, ErrSignature},
		{"half a hash", withSignature(t, params, good.Timestamp, good.Nonce, good.Hash[:32]), Keys{Secret: testSecret}, ErrSignature},
		{"a signature that is none", parse(t, `{"context":{"signature":7}}`), Keys{Secret: testSecret}, ErrSignature},
	}
	for _, tt := range tests {
		nonce, at, err := Verify(tt.params, tt.keys, testNow)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if (err == nil) != (nonce == "n-1") || (err == nil) == at.IsZero() {
			t.Errorf("%s: the nonce is %q, the time %v", tt.name, nonce, at)
		}
	}
}

func TestHandshake(t *testing.T) {
	key := Key{Secret: testSecret}
	s := key.Sign([]byte("did:aeon:a"), "n-1", testNow)
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	whole := []string{"X-Agent-DID", "did:aeon:a", "X-Timestamp", s.Timestamp, "X-Nonce", s.Nonce, "X-Signature", s.Hash}
	h, err := ReadHandshake(header(whole...))
	if err != nil {
		t.Fatal(err)
	}
	if nonce, at, err := h.Verify(Keys{Secret: testSecret}, testNow); nonce != "n-1" || !at.Equal(testNow) || err != nil {
		t.Errorf("%q %v %v", nonce, at, err)
	}
	if _, _, err := h.Verify(Keys{Secret: testSecret}, testNow.Add(2*Window)); !errors.Is(err, ErrTime) {
		t.Errorf("%v", err)
	}
	if h, err := ReadHandshake(header("Authorization", "x")); h != nil || err != nil {
		t.Errorf("%v %v", h, err)
	}
	for name, bad := range map[string]http.Header{
		"no signature": header(whole[:6]...),
		"no agent":     header(whole[2:]...),
		"two agents":   header(append([]string{"X-Agent-DID", "did:aeon:b"}, whole...)...),
		"empty agent":  header("X-Agent-DID", "", "X-Timestamp", "1", "X-Nonce", "n", "X-Signature", "00"),
	} {
		if h, err := ReadHandshake(bad); h != nil || !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v %v", name, h, err)
		}
	}
}

func TestPublicKeys(t *testing.T) {
	public, _, _ := ed25519.GenerateKey(nil)
	if got, err := ParsePublicKey(FormatPublicKey(public)); err != nil || !bytes.Equal(got, public) {
		t.Errorf("%x %v", got, err)
	}
	for _, s := range []string{"", "ed25519:", "ed25519:abc123...", hex.EncodeToString(public), "Ed25519:" + hex.EncodeToString(public), FormatPublicKey(public) + "00"} {
		if key, err := ParsePublicKey(s); err == nil || key != nil {
			t.Errorf("%q is the key %x", s, key)
		}
	}
}

// TestOrders compares the order by UTF-16 with one made in the plain way.
func TestOrders(t *testing.T) {
	names := []string{"", "a", "aa", "b", "é", "\ud7ff", "\ue000", "～", "\uffff", "😀", "\U0010ffff", "a😀", "a～", "0", "10", "9", "01", "4294967294", "4294967295"}
	less := func(a, b string) bool { // by UTF-16
		x, y := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				return x[i] < y[i]
			}
		}
		return len(x) < len(y)
	}
	for _, a := range names {
		for _, b := range names {
			if got := compareUTF16(a, b); (got < 0) != less(a, b) || (got > 0) != less(b, a) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
	sort.Slice(names, func(i, j int) bool { return asInJavaScript(names[i], names[j]) < 0 })
	if got, want := strings.Join(names[:4], " "), "0 9 10 4294967294"; got != want {
		t.Errorf("the indices are %s, want %s", got, want)
	}
}

// FuzzVerify: what is signed verifies, however it is spaced and ordered, and
// nothing makes the check panic or pass by accident.
func FuzzVerify(f *testing.F) {
	for _, body := range requests(f) {
		f.Add(body, "n-1")
	}
	f.Add([]byte(`{"params":{"context":{"signature":{}},"context ":{}}}`), "")
	f.Fuzz(func(t *testing.T, body []byte, nonce string) {
		doc, err := rawjson.Parse(body)
		if err != nil {
			return
		}
		params := doc.Root().Get("params")
		for _, compare := range []func(a, b string) int{byCodePoint, asInJavaScript} {
			text := appendSigned(nil, params, compare)
			if params.Exists() {
				again, err := rawjson.Parse(text)
				if err != nil {
					t.Fatalf("what is signed is no JSON: %s", text)
				}
				if twice := appendSigned(nil, again.Root(), compare); !bytes.Equal(text, twice) {
					t.Fatalf("%s is signed as %s", text, twice)
				}
			}
		}
		if _, _, err := Verify(params, Keys{Secret: testSecret}, testNow); err == nil {
			t.Fatalf("it passes: %s", body)
		}
		if params.Kind() != rawjson.Object || params.Get("context").Exists() {
			return
		}
		s := Key{Secret: testSecret}.Sign(appendSigned(nil, params, asInJavaScript), nonce, testNow)
		with, err := rawjson.Parse(fmt.Appendf(nil, `{"context":{"signature":{"timestamp":%s,"nonce":%s,"hash":%q}},%s`, s.Timestamp, rawjson.Quote(nonce), s.Hash, bytes.TrimLeft(params.Raw()[1:], " \t\r\n")))
		if err != nil {
			return // params was empty
		}
		if got, _, err := Verify(with.Root(), Keys{Secret: testSecret}, testNow); (err == nil) != goodNonce(nonce) || err == nil && got != nonce {
			t.Fatalf("%v: %s", err, with.Source())
		}
	})
}
