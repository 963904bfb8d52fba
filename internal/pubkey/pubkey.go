// Package pubkey reads the Ed25519 public keys of others.
package pubkey

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// ErrWeak: there are signatures by the key that nobody needed its secret for.
var ErrWeak = errors.New("the Ed25519 key is one of those for which anybody can sign")

var (
	field = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	// weak are the second coordinates of the eight points of small order. With one of them
	// as the key, the signature of one text in eight, or of all, is known to everybody.
	weak = []*big.Int{
		big.NewInt(0), big.NewInt(1), new(big.Int).Sub(field, big.NewInt(1)),
		number("5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826"),
		number("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7"),
	}
)

func number(hex string) *big.Int {
	n, _ := new(big.Int).SetString(hex, 16)
	return n
}

// Ed25519 is a public key of 32 bytes. Refused is what is no canonical form of a point, since
// others would read it otherwise, and what has small order.
func Ed25519(key []byte) (ed25519.PublicKey, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("an Ed25519 public key is %d bytes long, and this has %d", ed25519.PublicKeySize, len(key))
	}
	b := slices.Clone(key)
	b[31] &= 0x7f // the sign of the first coordinate
	slices.Reverse(b)
	y := new(big.Int).SetBytes(b)
	if y.Cmp(field) >= 0 {
		return nil, errors.New("the Ed25519 key is not written in its one form")
	}
	for _, w := range weak {
		if y.Cmp(w) == 0 {
			return nil, ErrWeak
		}
	}
	return ed25519.PublicKey(slices.Clone(key)), nil
}
