package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
)

// sealer keeps what people are asked about readable for them, and for nobody who
// has the database alone: AES-256-GCM, with a key that all nodes of a database
// derive from their common seed.
type sealer struct{ aead cipher.AEAD }

func newSealer(log *ledger.Log) (sealer, error) {
	key, err := log.Key("held acts AES-256-GCM")
	if err != nil {
		return sealer{}, fmt.Errorf("derive the key of held acts: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// ErrSealed: what is sealed is not what it is read for, or was sealed under another seed.
var ErrSealed = errors.New("what would be done cannot be unsealed: it was sealed by a node with another seed, or changed since")

// bound is what a sealed text is good for: one approval, for one act.
func bound(h *approval.Decision) []byte {
	return fmt.Appendf(nil, "approval %s\n%s\n%s", h.ID, h.Digest, h.Seen)
}

// close seals what an approver is shown.
func (s sealer) close(h *approval.Decision, x *approval.Exact) ([]byte, error) {
	plain, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("seal a held act: %w", err)
	}
	return s.seal(plain, bound(h)), nil
}

// seal makes a text unreadable, and good only for what it is bound to.
func (s sealer) seal(plain, bound []byte) []byte { return s.aead.Seal(nil, nil, plain, bound) }

func (s sealer) unseal(sealed, bound []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, bound)
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// open is what close sealed.
func (s sealer) open(h *approval.Decision) (*approval.Exact, error) {
	plain, err := s.unseal(h.Sealed, bound(h))
	if err != nil {
		return nil, err
	}
	x := new(approval.Exact)
	if json.Unmarshal(plain, x) != nil || x.Digest() != h.Seen {
		return nil, ErrSealed
	}
	return x, nil
}

// Seal makes a text unreadable for all who have the database alone, and good only for
// what it is bound to.
func (g *Guard) Seal(plain, bound []byte) []byte { return g.seal.seal(plain, bound) }

// Unseal is what Seal was given; else ErrSealed.
func (g *Guard) Unseal(sealed, bound []byte) ([]byte, error) { return g.seal.unseal(sealed, bound) }
