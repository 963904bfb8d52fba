package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestStates: revoked is for good, and a name belongs to who registered it.
func TestStates(t *testing.T) {
	g := &Agent{DID: "did:a"}
	by := act.Principal{Name: "key:a"}
	if err := g.Register(by, false, "k", nil, nil, nil, start); err != nil || g.State != Active {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := g.Register(act.Principal{Name: "key:b"}, false, "k", nil, nil, nil, start); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if err := g.Register(by, false, "other", nil, nil, nil, start); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	g.Violations = 3
	if err := g.Set(Active, "", start); err != nil || g.Violations != 0 {
		t.Errorf("resumed: %+v, %v", g, err)
	}
	if err := g.Set(Revoked, "", start); err != nil {
		t.Error(err)
	}
	for _, state := range []State{Active, Suspended} {
		if err := g.Set(state, "", start); !errors.Is(err, ErrRevoked) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// TestKeyFault: of a key with which nothing is checked it is said why.
func TestKeyFault(t *testing.T) {
	for key, want := range map[string]string{
		"": "",
		"ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a": "",
		"ed25519:00": "not ed25519: and 64 hex digits",
		"rsa:00":     "not ed25519: and 64 hex digits",
		"ed25519:0100000000000000000000000000000000000000000000000000000000000000": "anybody can sign",
		"ed25519:eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": "its one form",
	} {
		g := &Agent{PublicKey: key}
		if fault := g.KeyFault(); (fault == "") != (want == "") || !strings.Contains(fault, want) || g.KeyVerifies() != (key != "" && want == "") {
			t.Errorf("%s: %q", key, fault)
		}
	}
}
