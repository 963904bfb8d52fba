package operator

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
)

// Every route names its method and who may use it, and nobody else gets further: the API
// of this test has nothing behind it, so a handler that is reached would panic.
func TestRoles(t *testing.T) {
	api := &API{}
	mux := api.Mux()
	for _, route := range api.Routes() {
		method, path, ok := strings.Cut(route.Pattern, " ")
		if !ok || len(route.Roles) == 0 {
			t.Errorf("%q is for the roles %q", route.Pattern, route.Roles)
		}
		if (route.MaxBody > 0) != (method == "POST") || route.JSON != (method == "POST") {
			t.Errorf("%q reads %d bytes, of JSON: %t", route.Pattern, route.MaxBody, route.JSON)
		}
		for _, role := range append([]identity.Role{""}, identity.Roles...) {
			if slices.Contains(route.Roles, role) {
				continue
			}
			w, r := httptest.NewRecorder(), httptest.NewRequest(method, strings.NewReplacer("{did}", "x", "{id}", "x").Replace(path), strings.NewReader("{}"))
			mux.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Operator, role)))
			if w.Code != 403 {
				t.Errorf("%s as %q: %d %s", route.Pattern, role, w.Code, w.Body)
			}
		}
	}
}
