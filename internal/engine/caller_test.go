package engine

import (
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"

	"github.com/google/go-cmp/cmp"
)

// TestCallerOf: what each role sees and does of its own and of others' tasks, with
// credentials and without. Who sent nothing that is known does nothing.
// TestOwn: a caller may name itself as its credential does, and nobody else.
func TestOwn(t *testing.T) {
	for _, tt := range []struct{ principal, says, means string }{
		{"key:ci", "ci", "key:ci"},
		{"key:ci", "key:ci", "key:ci"},
		{"key:ci", "", ""},
		{"key:ci", "cd", "cd"},
		{"key:ci", "key:cd", "key:cd"},
		{"jwt:https://sso#user123", "user123", "jwt:https://sso#user123"},
		{"jwt:https://sso#user123", "https://sso#user123", "https://sso#user123"},
		{"jwt:https://sso#user123", "user12", "user12"},
		{"jwt:https://sso#key:ci", "key:ci", "jwt:https://sso#key:ci"}, // it gets its own tasks, not those of the key
		{"jwt:https://sso#a#b", "b", "b"},
		{"jwt:https://sso#a#b", "a#b", "jwt:https://sso#a#b"},
		{"jwt:#s", "s", "jwt:#s"},
		{"anonymous", "anonymous", "anonymous"},
		{"anonymous", "key:ci", "key:ci"},
	} {
		c := Caller{User: tt.principal}
		if got := c.own(tt.says); got != tt.means {
			t.Errorf("%s says %q, which means %q, want %q", tt.principal, tt.says, got, tt.means)
		}
	}
	if got := (Caller{User: "key:root", Admin: true}).own("root"); got != "root" {
		t.Errorf("an admin who speaks of a user root means %q", got)
	}
}

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
