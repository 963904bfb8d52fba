package operator

import (
	"net/http"
	"os"
	"testing"

	"reeve.example/reeve/internal/identity"
)

// TestByUser: who answers where no node runs is the user of the machine, as where one does.
func TestByUser(t *testing.T) {
	got := ""
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, role := identity.FromContext(r.Context())
		got = by.Name + " " + string(role)
		w.Write([]byte("{}"))
	})
	if err := ByUser(node).Ask(t.Context(), "GET", "/", nil, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if want := identity.LocalUser(uint32(os.Getuid())).Name + " " + string(identity.Admin); got != want {
		t.Errorf("asked by %q, want %q", got, want)
	}
}
