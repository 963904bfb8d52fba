package pubkey

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
)

// small are the points of small order, in every form in which the standard library reads
// them: with both signs, and above the field's size.
func small() (keys [][]byte) {
	for _, y := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	} {
		key, _ := hex.DecodeString(y)
		signed := bytes.Clone(key)
		signed[31] |= 0x80
		keys = append(keys, key, signed)
	}
	return keys
}

// TestThreat15WeakKeys: for these keys somebody without a secret finds signatures that the
// standard library takes, and none of them is read.
func TestThreat15WeakKeys(t *testing.T) {
	forged := 0
	for _, key := range small() {
		if k, err := Ed25519(key); err == nil {
			t.Errorf("%x is read as %x", key, k)
		}
	forge:
		for _, r := range small() {
			for i := range 64 {
				if ed25519.Verify(key, fmt.Appendf(nil, "text %d", i), append(bytes.Clone(r), make([]byte, 32)...)) {
					forged++
					break forge
				}
			}
		}
	}
	if forged < 8 {
		t.Errorf("the attack is not shown: for %d keys only", forged)
	}
	if _, err := Ed25519(small()[2]); !errors.Is(err, ErrWeak) {
		t.Errorf("the neutral point: %v", err)
	}
}

func TestEd25519(t *testing.T) {
	for range 200 {
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Ed25519(public); err != nil || !bytes.Equal(got, public) {
			t.Fatalf("%x: %x %v", public, got, err)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 31), bytes.Repeat([]byte{7}, 33), bytes.Repeat([]byte{0xff}, 32)} {
		if _, err := Ed25519(bad); err == nil {
			t.Errorf("%x is read", bad)
		}
	}
}
