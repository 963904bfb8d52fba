package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"reeve/approval"
	"reeve/ledger"

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

// ErrSealed: what is sealed is not this approval's, or was sealed under another seed.
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
	return s.aead.Seal(nil, nil, plain, bound(h)), nil
}

// open is what close sealed.
func (s sealer) open(h *approval.Decision) (*approval.Exact, error) {
	plain, err := s.aead.Open(nil, nil, h.Sealed, bound(h))
	if err != nil {
		return nil, ErrSealed
	}
	x := new(approval.Exact)
	if json.Unmarshal(plain, x) != nil || x.Digest() != h.Seen {
		return nil, ErrSealed
	}
	return x, nil
}
