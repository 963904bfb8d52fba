package passkey_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"testing"

	"reeve.example/reeve/internal/passkey"
	"reeve.example/reeve/internal/passkey/passkeytest"
)

var challenge = bytes.Repeat([]byte{7}, 32)

func site(t *testing.T, origin string) passkey.Site {
	t.Helper()
	s, err := passkey.SiteAt(origin)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSiteAt(t *testing.T) {
	for origin, host := range map[string]string{
		"https://reeve.example": "reeve.example", "https://reeve.example:8443": "reeve.example", "http://localhost:8080": "localhost",
		"http://reeve.example": "", "https://127.0.0.1": "", "http://127.0.0.1:8080": "", "https://[::1]": "", "https://reeve.example/": "", "https://a@reeve.example": "", "reeve.example": "", "": "", "https://": "",
		"HTTPS://reeve.example": "", "https://reeve.example?x": "", "ftp://localhost": "",
	} {
		if s, err := passkey.SiteAt(origin); s.Host != host || (err == nil) != (host != "") {
			t.Errorf("%q: %+v, %v", origin, s, err)
		}
	}
}

// TestThreat17PasskeyForged: what an authenticator did not sign, for this very thing, at this
// site, with its holder there and verified, is taken from nobody.
func TestThreat17PasskeyForged(t *testing.T) {
	s := site(t, "https://reeve.example")
	d := passkeytest.New(s)
	made := d.Make(challenge)
	key, err := s.Make(&made, challenge)
	if err != nil {
		t.Fatal(err)
	}
	signed := d.Sign(challenge)
	if n, err := s.Check(key, &signed, challenge); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	other := passkeytest.New(s)
	for name, edit := range map[string]func(d *passkeytest.Device){
		"another origin":         func(d *passkeytest.Device) { d.Origin = "https://reeve.example.evil.example" },
		"another port":           func(d *passkeytest.Device) { d.Origin = "https://reeve.example:8443" },
		"another site":           func(d *passkeytest.Device) { d.Host = "evil.example" },
		"nobody verified":        func(d *passkeytest.Device) { d.Flags = 1 },
		"nobody there":           func(d *passkeytest.Device) { d.Flags = 4 },
		"within another page":    func(d *passkeytest.Device) { d.More = `,"crossOrigin":true` },
		"below another page":     func(d *passkeytest.Device) { d.More = `,"topOrigin":"https://evil.example"` },
		"an origin twice":        func(d *passkeytest.Device) { d.More = `,"origin":"https://evil.example"` },
		"another key":            func(d *passkeytest.Device) { d.Key = other.Key },
		"another key's name":     func(d *passkeytest.Device) { d.ID = other.ID },
		"more than there may be": func(d *passkeytest.Device) { d.Flags |= 1 << 6; d.Host = "evil.example" },
	} {
		forged := *d
		edit(&forged)
		if name != "another key" && name != "another key's name" { // which a registration is free to name
			if made := forged.Make(challenge); true {
				if _, err := s.Make(&made, challenge); !errors.Is(err, passkey.ErrRefused) {
					t.Errorf("made: %s: %v", name, err)
				}
			}
		}
		signed := forged.Sign(challenge)
		if _, err := s.Check(key, &signed, challenge); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("signed: %s: %v", name, err)
		}
	}
	for name, asked := range map[string][]byte{"another challenge": bytes.Repeat([]byte{8}, 32), "none": nil, "a short one": challenge[:8]} {
		signed := d.Sign(asked)
		if _, err := s.Check(key, &signed, challenge); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Check(key, &signed, asked); name != "another challenge" && !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("asked for %s: %v", name, err)
		}
	}
	// A registration is no assertion, and the reverse; nowhere nothing is taken.
	twisted := passkey.Signed{ID: made.ID, Client: made.Client, Authenticator: made.Authenticator, Signature: signed.Signature}
	if _, err := s.Check(key, &twisted, challenge); !errors.Is(err, passkey.ErrRefused) {
		t.Error(err)
	}
	if _, err := (passkey.Site{}).Check(key, &signed, challenge); err == nil {
		t.Error("a passkey is taken nowhere")
	}
	mixed := made
	mixed.Public = other.Public()
	if _, err := s.Make(&mixed, challenge); !errors.Is(err, passkey.ErrRefused) {
		t.Error("the page names another public key than the authenticator")
	}
	// Each byte of what was signed counts.
	fresh := d.Sign(challenge)
	for name, part := range map[string][]byte{"client": fresh.Client, "authenticator": fresh.Authenticator, "signature": fresh.Signature} {
		for i := range part {
			part[i] ^= 1
			if _, err := s.Check(key, &fresh, challenge); err == nil {
				t.Errorf("byte %d of the %s was changed", i, name)
			}
			part[i] ^= 1
		}
	}
	if _, err := s.Check(key, &fresh, challenge); err != nil {
		t.Error(err)
	}
	// What counts goes on, and what does not count stays at none.
	for _, tt := range []struct {
		stored, said uint32
		want         error
	}{{0, 0, nil}, {0, 1, nil}, {5, 6, nil}, {5, 5, passkey.ErrCounter}, {5, 4, passkey.ErrCounter}, {5, 0, passkey.ErrCounter}} {
		k := *key
		k.Counter, d.Counter = tt.stored, tt.said-1
		signed := d.Sign(challenge)
		if n, err := s.Check(&k, &signed, challenge); !errors.Is(err, tt.want) || err == nil && n != tt.said {
			t.Errorf("%d after %d: %d, %v", tt.said, tt.stored, n, err)
		}
	}
}

// TestKinds: the kinds of keys that browsers make are taken, and no others.
// TestThreat17PasskeyForm: what an authenticator says of a new key ends where it says, and is
// no key of which others know signatures.
func TestThreat17PasskeyForm(t *testing.T) {
	s := site(t, "https://reeve.example")
	d := passkeytest.New(s)
	const flags = 32
	weak, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(append([]byte{1}, make([]byte, 31)...)))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m *passkey.Made){
		"something behind it":              func(m *passkey.Made) { m.Authenticator = append(m.Authenticator, "trailing"...) },
		"a map behind it that is not said": func(m *passkey.Made) { m.Authenticator = append(m.Authenticator, 0xa0) },
		"extensions that are not there":    func(m *passkey.Made) { m.Authenticator[flags] |= 1 << 7 },
		"something behind extensions": func(m *passkey.Made) {
			m.Authenticator[flags] |= 1 << 7
			m.Authenticator = append(m.Authenticator, 0xa0, 0xa0)
		},
		"copied, and cannot be": func(m *passkey.Made) { m.Authenticator[flags] |= 1 << 4 },
		"cut off":               func(m *passkey.Made) { m.Authenticator = m.Authenticator[:len(m.Authenticator)-1] },
		"deep": func(m *passkey.Made) {
			m.Authenticator = append(m.Authenticator[:37+16+2+len(m.ID)], bytes.Repeat([]byte{0x81}, 3000)...)
		},
		"long": func(m *passkey.Made) {
			m.Authenticator = append(m.Authenticator[:37+16+2+len(m.ID)], 0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		},
		"the neutral point": func(m *passkey.Made) {
			m.Public = weak
			m.Authenticator = append(append(m.Authenticator[:37+16+2+len(m.ID)], 0xa1, 0x20, 0x58, 32, 1), make([]byte, 31)...)
		},
	} {
		made := d.Make(challenge)
		change(&made)
		if _, err := s.Make(&made, challenge); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	for name, change := range map[string]func(m *passkey.Made){
		"extensions": func(m *passkey.Made) {
			m.Authenticator[flags] |= 1 << 7
			m.Authenticator = append(m.Authenticator, 0xa1, 0x61, 'a', 0xf5)
		},
		"copied": func(m *passkey.Made) { m.Authenticator[flags] |= 1<<3 | 1<<4 },
	} {
		made := d.Make(challenge)
		change(&made)
		if _, err := s.Make(&made, challenge); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKinds(t *testing.T) {
	s := site(t, "https://reeve.example")
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	large, _ := rsa.GenerateKey(rand.Reader, 2048)
	d := passkeytest.New(s)
	for name, tt := range map[string]struct {
		public any
		inside []byte
		sign   func(message []byte) []byte
		want   bool
	}{
		"Ed25519": {ed.Public(), ed.Public().(ed25519.PublicKey), func(m []byte) []byte { return ed25519.Sign(ed, m) }, true},
		"RSA": {&large.PublicKey, large.N.Bytes(), func(m []byte) []byte {
			sum := sha256.Sum256(m)
			b, _ := rsa.SignPKCS1v15(rand.Reader, large, 5, sum[:])
			return b
		}, true},
		"P-384": {&p384.PublicKey, nil, func([]byte) []byte { return nil }, false},
	} {
		made := d.Make(challenge)
		der, err := x509.MarshalPKIXPublicKey(tt.public)
		if err != nil {
			t.Fatal(err)
		}
		// An authenticator writes the key's numbers into a map.
		before := 37 + 16 + 2 + len(made.ID)
		made.Public, made.Authenticator = der, append(made.Authenticator[:before:before], 0xa1, 0x20, 0x59, byte(len(tt.inside)>>8), byte(len(tt.inside)))
		made.Authenticator = append(made.Authenticator, tt.inside...)
		key, err := s.Make(&made, challenge)
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		signed := d.Sign(challenge)
		client := sha256.Sum256(signed.Client)
		signed.Signature = tt.sign(append(bytes.Clone(signed.Authenticator), client[:]...))
		if _, err := s.Check(key, &signed, challenge); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzMake: whatever a browser says, it is read within its bounds, and what is taken is what
// was asked.
func FuzzMake(f *testing.F) {
	s := passkey.Site{Origin: "https://reeve.example", Host: "reeve.example"}
	d := passkeytest.New(s)
	made := d.Make(challenge)
	f.Add(made.ID, made.Client, made.Authenticator, made.Public)
	f.Fuzz(func(t *testing.T, id, client, authenticator, public []byte) {
		key, err := s.Make(&passkey.Made{ID: id, Client: client, Authenticator: authenticator, Public: public}, challenge)
		if err == nil && (!bytes.Equal(key.ID, id) || !bytes.Contains(authenticator, id)) {
			t.Errorf("%x of %x", key.ID, authenticator)
		}
		if _, err := s.Check(&passkey.Key{ID: id, Public: public}, &passkey.Signed{ID: id, Client: client, Authenticator: authenticator, Signature: public}, challenge); err == nil {
			t.Error("a signature out of nothing")
		}
	})
}
