package jsonrpc

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// own is a protocol's error, as its client has it.
type own struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *own) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// TestPost: what each answer gives, and whether the request may be sent again. What
// may have been carried out is sent again only where that does no harm.
func TestPost(t *testing.T) {
	const refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Who are you?"}}`
	for _, tt := range []struct {
		status     int
		body, want string
		again      Retry
	}{
		{200, `{"result":1}`, "", Never},
		{200, strings.Repeat("x", 200), "the answer is too large", Never},
		{401, refused, "Who are you? (-32000)", Never},
		{401, "go away", "HTTP status 401 Unauthorized", Never},
		{404, `{"error":"no"}`, "HTTP status 404 Not Found", Never},
		{429, refused, "HTTP status 429 Too Many Requests", Whenever},
		{500, "oops", "HTTP status 500 Internal Server Error", Never},
		{502, "", "HTTP status 502 Bad Gateway", IfTwice},
		{503, refused, "HTTP status 503 Service Unavailable", Whenever},
		{504, "", "HTTP status 504 Gateway Timeout", IfTwice},
	} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("headers: %v", r.Header)
			}
			w.WriteHeader(tt.status)
			w.Write([]byte(tt.body))
		}))
		r, err := NewRequest(t.Context(), http.MethodPost, node.URL, "k", []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, again, err := Post[own](node.Client(), r, 100)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || again != tt.again || err == nil && string(answer) != tt.body {
			t.Errorf("%d %.40s: %q %q %d, want %q %d", tt.status, tt.body, answer, got, again, tt.want, tt.again)
		}
		node.Close()
		if _, again, err := Post[own](node.Client(), r, 100); err == nil || again != IfTwice {
			t.Errorf("no node: %v %d", err, again)
		}
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		answer Answer
		want   string
	}{
		{Answer{Code: 200, Status: "200 OK", Body: []byte(`{"a":1}`)}, ""},
		{Answer{Code: 403, Status: "403 Forbidden", Body: []byte(`{"error":"This is for admins."}`)}, "This is for admins."},
		{Answer{Code: 404, Status: "404 Not Found", Body: []byte("<html>")}, "the node answered 404 Not Found"},
	} {
		var a struct {
			A int `json:"a"`
		}
		got := ""
		if err := tt.answer.Read(&a); err != nil {
			got = err.Error()
		}
		if got != tt.want || got == "" && a.A != 1 {
			t.Errorf("%s: %q %v, want %q", tt.answer.Status, got, a, tt.want)
		}
	}
}
