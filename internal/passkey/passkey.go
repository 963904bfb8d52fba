// Package passkey checks what people's authenticators sign for a site, as WebAuthn has it: a
// new key, and later that its holder was there and agreed to one thing. It is pure; package
// guard knows whose a key is, and what was to be agreed to.
//
// Who made an authenticator is not asked (attestation): a person confirms a new key, and not
// a maker. So there is nothing to read but fixed places of bytes, JSON, and a public key in
// the form that browsers give it in.
package passkey

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"

	"reeve.example/reeve/internal/pubkey"

	"github.com/go-json-experiment/json"
)

// Site is where passkeys are used. The zero value is none.
type Site struct {
	// Origin is the address of its pages, as browsers say it: https://reeve.example.
	Origin string
	// Host is what a passkey is bound to: the origin's host name.
	Host string
}

// SiteAt is the site of an origin. Browsers have passkeys only where a host has a name, and
// only over TLS but for this machine's own.
func SiteAt(origin string) (Site, error) {
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme+"://"+u.Host != origin:
		return Site{}, fmt.Errorf("%q is not the origin of pages, such as https://reeve.example or http://localhost:8080", origin)
	case net.ParseIP(u.Hostname()) != nil:
		return Site{}, errors.New("browsers bind no passkey to an address: use a name, and localhost in place of 127.0.0.1")
	case u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost"):
		return Site{}, errors.New("browsers have passkeys over https only, but for http://localhost")
	}
	return Site{Origin: origin, Host: u.Hostname()}, nil
}

// Key is the public half of a passkey.
type Key struct {
	ID     []byte `json:"id"`     // by which its authenticator knows it
	Public []byte `json:"public"` // SubjectPublicKeyInfo, in DER
	// Counter is the authenticator's, of what it last signed; 0 for one that does not count.
	Counter uint32 `json:"counter,omitzero"`
	// Synced says that it can be on several devices of its holder's.
	Synced bool `json:"synced,omitzero"`
}

// Made is what a browser says of a new passkey.
type Made struct {
	ID            []byte `json:"id"`
	Client        []byte `json:"client"`        // clientDataJSON
	Authenticator []byte `json:"authenticator"` // the authenticator's data
	Public        []byte `json:"public"`
}

// Signed is what a passkey has signed.
type Signed struct {
	ID            []byte `json:"id"`
	Client        []byte `json:"client"`
	Authenticator []byte `json:"authenticator"`
	Signature     []byte `json:"signature"`
}

// Errors of Make and Check, each with what is wrong.
var (
	ErrRefused = errors.New("the passkey's answer is not taken")
	// ErrCounter: what counts was set back, as it is where somebody has copied the key.
	ErrCounter = errors.New("the passkey's counter went back, as it does where somebody has copied it")
)

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Bounds of what is read, in bytes.
const (
	maxID    = 1023
	maxPart  = 4096
	leastRSA = 2048
	mostRSA  = 4096
)

// Flags of an authenticator's data.
const (
	userPresent  = 1 << 0
	userVerified = 1 << 2
	canBeSynced  = 1 << 3
	isSynced     = 1 << 4
	hasKey       = 1 << 6
	hasMore      = 1 << 7
)

// Make checks what was said of a new passkey, against the challenge that was given for it.
func (s Site) Make(m *Made, challenge []byte) (*Key, error) {
	if err := s.client(m.Client, "webauthn.create", challenge); err != nil {
		return nil, err
	}
	data, err := s.authenticator(m.Authenticator)
	if err != nil {
		return nil, err
	}
	const before = 16 // the authenticator's model
	if data.flags&hasKey == 0 || len(data.rest) < before+2 {
		return nil, refuse("the authenticator tells of no key")
	}
	length := int(binary.BigEndian.Uint16(data.rest[before:]))
	rest := data.rest[before+2:]
	if length == 0 || length > maxID || length > len(rest) || !bytes.Equal(rest[:length], m.ID) {
		return nil, refuse("the authenticator tells of another key")
	}
	public, err := publicOf(m.Public)
	if err != nil {
		return nil, err
	}
	if !endsAfterKey(rest[length:], data.flags&hasMore != 0) {
		return nil, refuse("the authenticator's data go on where they should end")
	}
	for _, part := range public.parts {
		if !bytes.Contains(rest[length:], part) {
			return nil, refuse("the authenticator tells of another public key than the page")
		}
	}
	return &Key{ID: m.ID, Public: m.Public, Counter: data.counter, Synced: data.flags&canBeSynced != 0}, nil
}

// Check checks that a key's holder was there, was verified (by a finger, a face or a code), and
// signed this challenge on the site's pages. It returns the authenticator's counter.
func (s Site) Check(k *Key, signed *Signed, challenge []byte) (counter uint32, err error) {
	if len(signed.ID) == 0 || !bytes.Equal(signed.ID, k.ID) {
		return 0, refuse("it is by another key")
	}
	if err := s.client(signed.Client, "webauthn.get", challenge); err != nil {
		return 0, err
	}
	data, err := s.authenticator(signed.Authenticator)
	if err != nil {
		return 0, err
	}
	public, err := publicOf(k.Public)
	if err != nil {
		return 0, err
	}
	client := sha256.Sum256(signed.Client)
	if !public.verify(append(bytes.Clone(signed.Authenticator), client[:]...), signed.Signature) {
		return 0, refuse("the signature is not of this key")
	}
	if (data.counter != 0 || k.Counter != 0) && data.counter <= k.Counter {
		return 0, ErrCounter
	}
	return data.counter, nil
}

// client checks what the browser says that it was asked, by whom.
func (s Site) client(data []byte, what string, challenge []byte) error {
	var c struct {
		Type        string `json:"type"`
		Challenge   string `json:"challenge"`
		Origin      string `json:"origin"`
		CrossOrigin bool   `json:"crossOrigin"`
		TopOrigin   string `json:"topOrigin"`
	}
	if len(data) > maxPart {
		return refuse("the browser says more than is read")
	}
	if err := json.Unmarshal(data, &c); err != nil { // a name twice is an error
		return refuse("what the browser says is no JSON of this kind")
	}
	want := base64.RawURLEncoding.EncodeToString(challenge)
	switch {
	case s.Origin == "" || len(challenge) < 16:
		return refuse("nothing was asked")
	case c.Type != what:
		return refuse("it is of the kind %q", c.Type)
	case subtle.ConstantTimeCompare([]byte(c.Challenge), []byte(want)) != 1:
		return refuse("it is for something else than what was asked")
	case c.Origin != s.Origin:
		return refuse("it was given on pages of %q, not of %s", c.Origin, s.Origin)
	case c.CrossOrigin || c.TopOrigin != "":
		return refuse("it was given within a page of another site")
	}
	return nil
}

// said is an authenticator's data.
type said struct {
	flags   byte
	counter uint32
	rest    []byte // the key, and what extensions say
}

func (s Site) authenticator(data []byte) (d said, err error) {
	const fixed = 32 + 1 + 4
	if len(data) < fixed || len(data) > maxPart {
		return d, refuse("the authenticator's data have not the length of such data")
	}
	host := sha256.Sum256([]byte(s.Host))
	d = said{flags: data[32], counter: binary.BigEndian.Uint32(data[33:]), rest: data[fixed:]}
	switch {
	case !bytes.Equal(data[:32], host[:]):
		return d, refuse("it is for another site")
	case d.flags&userPresent == 0 || d.flags&userVerified == 0:
		return d, refuse("the authenticator has not verified who is there, by a finger, a face or a code")
	case d.flags&isSynced != 0 && d.flags&canBeSynced == 0:
		return d, refuse("the authenticator has copied a key of which it says that it cannot be")
	case d.flags&(hasKey|hasMore) == 0 && len(d.rest) > 0:
		return d, refuse("the authenticator's data go on where they should end")
	}
	return d, nil
}

// endsAfterKey reports whether data are one key as authenticators write them, a map in CBOR
// (RFC 8949), and what extensions say, another one, if they say something.
func endsAfterKey(data []byte, more bool) bool {
	data, ok := behindItem(data, 0)
	if ok && more {
		data, ok = behindItem(data, 0)
	}
	return ok && len(data) == 0
}

// behindItem is what stands behind one item of CBOR, of a length that is said. Authenticators
// write no others (CTAP 2.1, section 8).
func behindItem(data []byte, depth int) (rest []byte, ok bool) {
	const deepest = 8
	if len(data) == 0 || depth > deepest {
		return nil, false
	}
	kind, small := data[0]>>5, data[0]&31
	data = data[1:]
	n := uint64(small)
	if small >= 24 {
		size := 1 << (small - 24)
		if small > 27 || len(data) < size {
			return nil, false
		}
		n = 0
		for _, b := range data[:size] {
			n = n<<8 | uint64(b)
		}
		data = data[size:]
	}
	switch kind {
	case 2, 3: // bytes, text
		if n > uint64(len(data)) {
			return nil, false
		}
		return data[n:], true
	case 4, 5, 6: // list, map, tag
		if n > uint64(len(data)) { // each is a byte at least
			return nil, false
		}
		switch kind {
		case 5:
			n *= 2
		case 6:
			n = 1
		}
		for range n {
			if data, ok = behindItem(data, depth+1); !ok {
				return nil, false
			}
		}
	}
	return data, true
}

// public is a public key of a kind that is taken.
type public struct {
	parts  [][]byte // its numbers, as an authenticator writes them, too
	verify func(message, signature []byte) bool
}

func publicOf(der []byte) (p public, err error) {
	if len(der) > maxPart {
		return p, refuse("the public key is longer than is read")
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return p, refuse("the public key cannot be read")
	}
	switch k := parsed.(type) {
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil || k.Curve != elliptic.P256() {
			return p, refuse("the public key is of a curve that is not taken")
		}
		p.parts = [][]byte{point[1:33], point[33:]}
		p.verify = func(message, signature []byte) bool {
			sum := sha256.Sum256(message)
			return ecdsa.VerifyASN1(k, sum[:], signature)
		}
	case ed25519.PublicKey:
		if k, err = pubkey.Ed25519(k); err != nil {
			return p, refuse("%v", err)
		}
		p.parts = [][]byte{k}
		p.verify = func(message, signature []byte) bool { return ed25519.Verify(k, message, signature) }
	case *rsa.PublicKey:
		if size := k.N.BitLen(); size < leastRSA || size > mostRSA {
			return p, refuse("the public key has %d bits", size)
		}
		p.parts = [][]byte{k.N.Bytes()}
		p.verify = func(message, signature []byte) bool {
			sum := sha256.Sum256(message)
			return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
		}
	default:
		return p, refuse("the public key is of a kind that is not taken")
	}
	return p, nil
}
