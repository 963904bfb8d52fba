package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// sealed is a secret that a passphrase opens: AES-256-GCM under a key that PBKDF2 with
// HMAC-SHA-256 derives from it. Tools of other makers can open it, too.
type sealed struct {
	Form       string `json:"form"`
	Iterations int    `json:"iterations"`
	Salt       []byte `json:"salt"`
	Text       []byte `json:"text"` // the nonce of 12 bytes, and what is encrypted
}

const (
	sealForm = "pbkdf2-hmac-sha256 aes-256-gcm v1"
	// A guess costs whoever has the file about half a second of a processor.
	iterations     = 2_000_000
	mostIterations = 20_000_000 // that somebody else's file can ask of us
	// Shortest is the least that a passphrase has, in bytes: whoever has the file can
	// guess for as long as they like.
	Shortest = 16
)

// Seal makes a secret unreadable without a passphrase.
func Seal(plain, passphrase []byte) ([]byte, error) {
	if len(passphrase) < Shortest {
		return nil, fmt.Errorf("the passphrase has less than %d characters", Shortest)
	}
	s := sealed{Form: sealForm, Iterations: iterations, Salt: make([]byte, 16)}
	rand.Read(s.Salt)
	aead, err := s.aead(passphrase)
	if err != nil {
		return nil, err
	}
	s.Text = aead.Seal(nil, nil, plain, []byte(s.Form))
	return json.Marshal(s)
}

// ErrPassphrase: the passphrase is not the one, or what was sealed was changed.
var ErrPassphrase = errors.New("the passphrase does not open it, or it was changed since it was sealed")

// Unseal is what Seal was given.
func Unseal(text, passphrase []byte) ([]byte, error) {
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil || s.Form != sealForm || s.Iterations < 1 || s.Iterations > mostIterations || len(s.Salt) > 1<<10 {
		return nil, errors.New("it is not sealed in a form that this version knows")
	}
	aead, err := s.aead(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, s.Text, []byte(s.Form))
	if err != nil {
		return nil, ErrPassphrase
	}
	return plain, nil
}

func (s *sealed) aead(passphrase []byte) (cipher.AEAD, error) {
	key, err := pbkdf2.Key(sha256.New, string(passphrase), s.Salt, s.Iterations, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
