package a2g

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/internal/pubkey"
	"reeve.example/reeve/internal/rawjson"
)

// Signatures as the published SDKs make them. Signed is the text
// "TIMESTAMP:NONCE:MESSAGE", where the message is the agent's DID in a handshake,
// and in an intent its params as canonical JSON, without context.signature, and
// without the context if it is empty then. The signature is HMAC-SHA256 with a
// shared secret, or Ed25519, in hex.

// Window is how far a signature's time may be from ours, in both directions. A
// nonce has to be remembered from when it was signed until Window after it.
const Window = 5 * time.Minute

// Errors of signatures. Each comes with more words.
var (
	// ErrUnsigned: there is no signature.
	ErrUnsigned = errors.New("not signed")
	// ErrSignature: it is none of this agent for these bytes.
	ErrSignature = errors.New("the signature is wrong")
	// ErrTime: it was made too long ago, or in the future.
	ErrTime = errors.New("the signature's time is not within five minutes of ours")
)

// Keys are what an agent's signatures are checked with. The zero value checks
// none: whatever is signed is refused.
type Keys struct {
	// Secret is the secret shared with the agent, as the SDKs make it: hex. Its
	// text as well as the bytes that it stands for may be the key, since the
	// Python and TypeScript SDKs take the one and the Rust SDK the other.
	Secret string
	// Public is the agent's registered key. With it, no HMAC is taken.
	Public ed25519.PublicKey
}

// none reports whether nothing can be checked with them.
func (k *Keys) none() bool { return k.Secret == "" && k.Public == nil }

// keyPrefix begins a registered public key.
const keyPrefix = "ed25519:"

// ParsePublicKey reads a public key as agents register it: "ed25519:" and 64 hex
// digits.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	digits, ok := strings.CutPrefix(s, keyPrefix)
	if key, err := hex.DecodeString(digits); ok && err == nil && len(key) == ed25519.PublicKeySize {
		return pubkey.Ed25519(key)
	}
	return nil, fmt.Errorf("want %s and %d hex digits", keyPrefix, 2*ed25519.PublicKeySize)
}

// FormatPublicKey is the form that ParsePublicKey reads.
func FormatPublicKey(key ed25519.PublicKey) string { return keyPrefix + hex.EncodeToString(key) }

// Verify checks the signature in the context of params. Only when it is right
// are its nonce and time returned, for the caller to refuse a nonce that came
// before: a nonce that is kept for a wrong signature could be used up by anybody.
// The error is one of the three above.
func Verify(params rawjson.Value, keys Keys, now time.Time) (nonce string, at time.Time, err error) {
	s := params.Get("context").Get("signature")
	if !s.Exists() || s.Kind() == rawjson.Null {
		return "", time.Time{}, ErrUnsigned
	}
	sig := Signature{Timestamp: digitsOf(s.Get("timestamp")), Nonce: s.Get("nonce").Text(), Hash: s.Get("hash").Text()}
	nonce, at, err = sig.verify(keys, now, appendSigned(nil, params, byCodePoint))
	if errors.Is(err, ErrSignature) { // the SDKs sort names differently; few messages show it
		nonce, at, err = sig.verify(keys, now, appendSigned(nil, params, asInJavaScript))
	}
	return nonce, at, err
}

// Handshake is what an SDK signs when it connects: headers of the upgrade.
type Handshake struct {
	AgentDID string
	Signature
}

// ReadHandshake reads the headers X-Agent-DID, X-Timestamp, X-Nonce and
// X-Signature. It is nil when there is none of them, and an error when they are
// incomplete or one is there twice.
func ReadHandshake(header http.Header) (*Handshake, error) {
	var h Handshake
	found := 0
	for name, to := range map[string]*string{
		"X-Agent-Did": &h.AgentDID, "X-Timestamp": &h.Timestamp, "X-Nonce": &h.Nonce, "X-Signature": &h.Hash,
	} {
		switch values := header[name]; {
		case len(values) > 1:
			return nil, fmt.Errorf("%w: the header %s is there twice", ErrSignature, name)
		case len(values) == 1:
			found++
			*to = values[0]
		}
	}
	switch {
	case found == 0:
		return nil, nil
	case found < 4 || h.AgentDID == "" || len(h.AgentDID) > maxDID:
		return nil, fmt.Errorf("%w: the headers X-Agent-DID, X-Timestamp, X-Nonce and X-Signature go together", ErrSignature)
	}
	return &h, nil
}

// Verify checks a handshake with its agent's keys, and returns what Verify does.
func (h *Handshake) Verify(keys Keys, now time.Time) (nonce string, at time.Time, err error) {
	return h.verify(keys, now, []byte(h.AgentDID))
}

// verify checks that the signature is one of a message.
func (s *Signature) verify(keys Keys, now time.Time, message []byte) (nonce string, at time.Time, err error) {
	ms, ok := parseMilliseconds(s.Timestamp)
	if !ok {
		return "", time.Time{}, fmt.Errorf("%w: its timestamp is no number of milliseconds", ErrSignature)
	}
	if !goodNonce(s.Nonce) {
		return "", time.Time{}, fmt.Errorf("%w: its nonce is not 1 to %d letters, digits or marks other than a colon", ErrSignature, maxNonce)
	}
	hash, err := hex.DecodeString(s.Hash)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("%w: it is not in hex", ErrSignature)
	}
	if !keys.check(hash, s.signed(message)) {
		return "", time.Time{}, ErrSignature
	}
	at = time.UnixMilli(ms)
	if at.Before(now.Add(-Window)) || at.After(now.Add(Window)) {
		return "", time.Time{}, ErrTime
	}
	return s.Nonce, at, nil
}

// signed is the text that is signed.
func (s *Signature) signed(message []byte) []byte {
	b := make([]byte, 0, len(s.Timestamp)+len(s.Nonce)+len(message)+2)
	b = append(b, s.Timestamp...)
	b = append(b, ':')
	b = append(b, s.Nonce...)
	b = append(b, ':')
	return append(b, message...)
}

// check reports whether hash is the signature of a text with one of the keys.
func (k *Keys) check(hash, signed []byte) bool {
	if len(k.Public) == ed25519.PublicKeySize {
		return len(hash) == ed25519.SignatureSize && ed25519.Verify(k.Public, signed, hash)
	}
	if k.Secret == "" || len(hash) != sha256.Size {
		return false
	}
	right := hmac.Equal(hash, mac([]byte(k.Secret), signed))
	if key, err := hex.DecodeString(k.Secret); err == nil && len(key) > 0 {
		right = hmac.Equal(hash, mac(key, signed)) || right
	}
	return right
}

func mac(key, signed []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(signed)
	return m.Sum(nil)
}

// digitsOf is a timestamp as it was sent: a string's text, or a number's digits.
func digitsOf(v rawjson.Value) string {
	if v.Kind() == rawjson.Number {
		return string(v.Raw())
	}
	return v.Text()
}

func parseMilliseconds(s string) (int64, bool) {
	const longest = 15 // until the year 33658
	if len(s) == 0 || len(s) > longest {
		return 0, false
	}
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(s, 10, 64)
	return ms, err == nil
}

// goodNonce reports whether a nonce can be told from what stands beside it: with
// a colon in it, one signed text could be read in two ways, and a nonce be used
// twice.
func goodNonce(s string) bool {
	if len(s) == 0 || len(s) > maxNonce {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return true
}

// appendSigned appends the canonical form of params that is signed: names sorted,
// no spaces, and every name, string and number spelled as it was sent, since each
// SDK signs with the same writer that it sends with, and their writers differ.
func appendSigned(dst []byte, params rawjson.Value, compare func(a, b string) int) []byte {
	return appendSorted(dst, params, compare, ofParams)
}

// place is what an object is, since two of them are not signed whole.
type place uint8

const (
	anywhere  place = iota
	ofParams        // its context is left out, if it has nothing but a signature
	ofContext       // its signature is left out
)

// appendSorted appends a value with the members of objects sorted.
func appendSorted(dst []byte, v rawjson.Value, compare func(a, b string) int, at place) []byte {
	switch v.Kind() {
	case rawjson.Object:
		members := membersOf(v)
		slices.SortFunc(members, func(a, b member) int { return compare(a.name, b.name) })
		dst = append(dst, '{')
		first := true
		for _, m := range members {
			inner := anywhere
			switch {
			case at == ofParams && m.name == "context" && m.value.Kind() == rawjson.Object:
				if n := m.value.Len(); n == 0 || n == 1 && m.value.Get("signature").Exists() {
					continue
				}
				inner = ofContext
			case at == ofContext && m.name == "signature":
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, m.raw...)
			dst = append(dst, ':')
			dst = appendSorted(dst, m.value, compare, inner)
		}
		return append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(dst, e, compare, anywhere)
		}
		return append(dst, ']')
	}
	return append(dst, v.Raw()...)
}

// member is a member of an object, with its name as it was written.
type member struct {
	name  string
	raw   []byte
	value rawjson.Value
}

func membersOf(object rawjson.Value) []member {
	list := make([]member, 0, object.Len())
	src := object.Raw()
	start, _ := object.Span()
	at := 1 // after the brace
	for name, v := range object.Members() {
		from, to := v.Span()
		// Before the value stand white space, a comma, the name and a colon.
		before := src[at : from-start]
		open, shut := bytes.IndexByte(before, '"'), bytes.LastIndexByte(before, '"')
		list = append(list, member{name, before[open : shut+1], v})
		at = to - start
	}
	return list
}

// byCodePoint is the order of the Python and Rust SDKs: that of bytes in UTF-8 is
// the same.
func byCodePoint(a, b string) int { return strings.Compare(a, b) }

// asInJavaScript is the order of the TypeScript SDK, which sorts by UTF-16 and
// then puts the names into an object, where array indices come first.
func asInJavaScript(a, b string) int {
	i, aIs := arrayIndex(a)
	j, bIs := arrayIndex(b)
	switch {
	case aIs && bIs:
		return cmp.Compare(i, j)
	case aIs:
		return -1
	case bIs:
		return 1
	}
	return compareUTF16(a, b)
}

// compareUTF16 compares as by UTF-16. Only what UTF-16 writes in surrogates, from
// U+10000 on, stands elsewhere there: before U+E000.
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// arrayIndex reads a name that is an array index to JavaScript: 0 to 2^32-2 in
// its only spelling.
func arrayIndex(s string) (int64, bool) {
	if len(s) == 0 || len(s) > 10 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, ok := parseMilliseconds(s)
	return n, ok && n < 1<<32-1
}

// Key is what an agent signs with. The zero value signs nothing.
type Key struct {
	// Secret is the secret shared with the governing side, as hex. Its text is
	// the key, as in the Python and TypeScript SDKs.
	Secret string
	// Private signs instead, if it is set; the public half is to be registered.
	Private ed25519.PrivateKey
}

// signs reports whether there is a key.
func (k Key) signs() bool { return k.Secret != "" || len(k.Private) == ed25519.PrivateKeySize }

// Sign signs a message: a DID for a handshake, or the params of an intent as
// canonical JSON.
func (k Key) Sign(message []byte, nonce string, at time.Time) *Signature {
	s := &Signature{Timestamp: strconv.FormatInt(at.UnixMilli(), 10), Nonce: nonce}
	if len(k.Private) == ed25519.PrivateKeySize {
		s.Hash = hex.EncodeToString(ed25519.Sign(k.Private, s.signed(message)))
	} else {
		s.Hash = hex.EncodeToString(mac([]byte(k.Secret), s.signed(message)))
	}
	return s
}
