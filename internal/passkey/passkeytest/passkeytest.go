// Package passkeytest is an authenticator for tests, and the browser around it: it makes a
// passkey and signs with it, as it should or otherwise.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"reeve.example/reeve/internal/passkey"
)

// Device is an authenticator with one passkey. What is set otherwise is said otherwise.
type Device struct {
	Origin, Host string
	ID           []byte
	Key          *ecdsa.PrivateKey
	Counter      uint32
	Flags        byte   // of who was there; 5 is present and verified
	More         string // members that the browser says beside, such as `,"crossOrigin":true`
}

// New is an authenticator at a site.
func New(site passkey.Site) *Device {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	d := &Device{Origin: site.Origin, Host: site.Host, ID: make([]byte, 16), Key: key, Flags: 5, More: `,"crossOrigin":false`}
	rand.Read(d.ID)
	return d
}

func (d *Device) client(what string, challenge []byte) []byte {
	return fmt.Appendf(nil, `{"type":%q,"challenge":%q,"origin":%q%s}`, what, base64.RawURLEncoding.EncodeToString(challenge), d.Origin, d.More)
}

func (d *Device) data(flags byte) []byte {
	host := sha256.Sum256([]byte(d.Host))
	return binary.BigEndian.AppendUint32(append(host[:], flags), d.Counter)
}

// Public is the public key as browsers give it.
func (d *Device) Public() []byte {
	der, err := x509.MarshalPKIXPublicKey(&d.Key.PublicKey)
	if err != nil {
		panic(err)
	}
	return der
}

// Make makes the passkey known.
func (d *Device) Make(challenge []byte) passkey.Made {
	point, err := d.Key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	data := append(d.data(d.Flags|1<<6), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(d.ID))), d.ID...)
	data = append(append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20), point[1:33]...)
	data = append(append(data, 0x22, 0x58, 0x20), point[33:]...)
	return passkey.Made{ID: d.ID, Client: d.client("webauthn.create", challenge), Authenticator: data, Public: d.Public()}
}

// Sign signs a challenge, and counts.
func (d *Device) Sign(challenge []byte) passkey.Signed {
	d.Counter++
	s := passkey.Signed{ID: d.ID, Client: d.client("webauthn.get", challenge), Authenticator: d.data(d.Flags)}
	client := sha256.Sum256(s.Client)
	sum := sha256.Sum256(append(append([]byte{}, s.Authenticator...), client[:]...))
	var err error
	if s.Signature, err = ecdsa.SignASN1(rand.Reader, d.Key, sum[:]); err != nil {
		panic(err)
	}
	return s
}
