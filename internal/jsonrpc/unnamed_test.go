package jsonrpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A protocol whose streams have no names, whose errors may begin them, and which has
// no notifications.
func TestUnnamed(t *testing.T) {
	h := &Handler{
		OtherType: &Error{Code: -32005, Message: "Incompatible content types"},
		Namespaces: []Namespace{{
			Match: func(string) bool { return true }, Unnamed: true, Answered: true,
			Handle: func(_ context.Context, r *Request) ([]byte, *Error) {
				r.Follow(func(_ context.Context, send func(Event) error) error { return send(Event{Data: []byte(`{"n":2}`)}) })
				switch r.Method {
				case "plain":
					return nil, &Error{Code: 1, Message: "no"}
				case "within":
					return nil, &Error{Code: 2, Message: "no", Follows: true}
				}
				return []byte("1"), nil
			},
		}},
	}
	for _, c := range []struct{ contentType, body, wantType, want string }{
		{"application/json", `{"jsonrpc":"2.0","id":7,"method":"m"}`, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}\n\ndata: {\"n\":2}\n\n"},
		{"application/json", `{"jsonrpc":"2.0","id":7,"method":"plain"}`, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`},
		{"application/json", `{"jsonrpc":"2.0","id":7,"method":"within"}`, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":2,\"message\":\"no\"}}\n\ndata: {\"n\":2}\n\n"},
		{"application/json", `{"jsonrpc":"2.0","method":"m"}`, "application/json", `{"jsonrpc":"2.0","id":null,"result":1}`},
		{"text/plain", `{}`, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"Incompatible content types"}}`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		h.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") != c.wantType || w.Body.String() != c.want {
			t.Errorf("%s: %s %q, want %s %q", c.body, w.Header().Get("Content-Type"), w.Body, c.wantType, c.want)
		}
	}
}
