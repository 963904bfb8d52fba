package engine

import (
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"

	"github.com/google/go-cmp/cmp"
)

// TestCallerOf: what each role sees and does of its own and of others' tasks, with
// credentials and without. Who sent nothing that is known does nothing.
func TestCallerOf(t *testing.T) {
	type may struct{ Own, Others, Act bool }
	for _, tt := range []struct {
		role                    identity.Role
		credentials, withoutAny may
	}{
		{identity.Agent, may{Own: true, Act: true}, may{true, true, true}},
		{identity.Approver, may{Own: true}, may{Own: true, Others: true}},
		{identity.Auditor, may{Own: true}, may{Own: true, Others: true}},
		{identity.Admin, may{true, true, true}, may{true, true, true}},
		{"emperor", may{Own: true}, may{Own: true, Others: true}},
		{"", may{Own: true}, may{Own: true, Others: true}},
	} {
		ctx := identity.NewContext(t.Context(), act.Principal{Name: "mia"}, tt.role)
		for open, want := range map[bool]may{false: tt.credentials, true: tt.withoutAny} {
			c := CallerOf(ctx, open)
			if got := (may{c.Sees("mia"), c.Sees("tom"), c.acts() == nil}); got != want || c.Principal.Name != "mia" {
				t.Errorf("role %q, open %t: %s", tt.role, open, cmp.Diff(want, got))
			}
		}
	}
	if c := CallerOf(t.Context(), false); c.acts() == nil || c.Sees("mia") {
		t.Errorf("without a principal: %+v", c)
	}
}
