package agent

import (
	"errors"
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
