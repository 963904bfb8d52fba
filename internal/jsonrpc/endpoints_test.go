package jsonrpc

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
)

// A path speaks the protocols that name it, and no other; / speaks all of them.
func TestEndpoints(t *testing.T) {
	protocol := func(prefix string, paths ...string) Namespace {
		return Namespace{
			Paths: paths, Posted: prefix == "a/", OtherType: &Error{Code: -32005, Message: prefix},
			Match:  func(method string) bool { return strings.HasPrefix(method, prefix) },
			Handle: func(context.Context, *Request) ([]byte, *Error) { return []byte(`"` + prefix + `"`), nil },
		}
	}
	all := Endpoints(Handler{MaxBatch: 2}, []Namespace{protocol("a/", "/a"), protocol("b/", "/bc", "/b"), protocol("c/", "/bc")})
	for path, want := range map[string]string{"/": "a/ b/ c/", "/a": "a/", "/b": "b/", "/bc": "b/ c/"} {
		h := all[path]
		if h == nil || h.MaxBatch != 2 || h.Posted != (path == "/a") || (h.OtherType == nil) != (path == "/") {
			t.Fatalf("%s: %+v", path, h)
		}
		for _, prefix := range []string{"a/", "b/", "c/"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+prefix+`x"}`))
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			if got := strings.Contains(w.Body.String(), `"result"`); got != strings.Contains(want, prefix) {
				t.Errorf("%s at %s: %s", prefix, path, w.Body)
			}
		}
	}
	if len(all) != 4 || all["/bc"].Own != nil || all["/b"].Own == nil {
		t.Errorf("%d paths", len(all))
	}
}
