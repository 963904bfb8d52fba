package executor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOverlapping: secrets that overlap are masked whole, whoever named them: a task
// can send a header of which it knows that the node's credential begins so.
func TestOverlapping(t *testing.T) {
	for _, tt := range []struct {
		secrets    secrets
		text, want string
	}{
		{secrets{"sk-kind-", "sk-kind-0123456789"}, "key sk-kind-0123456789.", "key ***."},
		{secrets{"said: sk-ki", "sk-kind-0123456789"}, "it said: sk-kind-0123456789, and sk-kind-", "it ***, and sk-kind-"},
		{secrets{"456789 is", "sk-kind-0123456789", "kind-0"}, "sk-kind-0123456789 is", "***"},
		{secrets{"abcdef"}, "abcdefabcdef", "******"},
		{secrets{"abcdef"}, "abcde", "abcde"},
		{nil, "abcdef", "abcdef"},
	} {
		if got := tt.secrets.mask(tt.text); got != tt.want {
			t.Errorf("%q with %q masked is %q, want %q", tt.text, tt.secrets, got, tt.want)
		}
		// However it comes, the same is said.
		for n := 1; n < len(tt.text); n++ {
			said, rest := "", ""
			for from := 0; from < len(tt.text); from += n {
				var some string
				some, rest = tt.secrets.begun(rest + tt.text[from:min(from+n, len(tt.text))])
				said += some
			}
			if got := said + tt.secrets.mask(rest); strings.ReplaceAll(got, "******", "***") != strings.ReplaceAll(tt.want, "******", "***") {
				t.Errorf("%q with %q, %d at a time, is said as %q, want %q", tt.text, tt.secrets, n, got, tt.want)
			}
		}
	}
}

// TestOverlappingREST: what a service tells of a request gives no credential away, nor
// where it is cut.
func TestOverlappingREST(t *testing.T) {
	const key = "sk-kind-0123456789abcdef"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 8<<10-15)+r.Header.Get("X-Key"))
		w.Header().Set("X-Echo", r.Header.Get("X-Key"))
		if r.URL.Path == "/long" {
			w.Write([]byte(strings.Repeat("x", 1000-15)))
		}
		w.Write([]byte(r.Header.Get("X-Key")))
	}))
	defer s.Close()
	one, err := ParseCredential(s.URL+"=X-Key: env:K", func(string) ([]byte, error) { return []byte(key), nil })
	if err != nil {
		t.Fatal(err)
	}
	rest := NewREST(RESTConfig{AllowPrivate: true, Credentials: Credentials{one}, MaxBody: 1000})
	for _, path := range []string{"/", "/long"} {
		value, err := try(t, rest, `{"url":"`+s.URL+path+`","headers":{"X-Guess":"sk-kind-"}}`).run(t.Context(), rest)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"sk-kind-", "0123456"} {
			if strings.Contains(string(value), part) {
				t.Errorf("%s: %q of the credential is in %.300s", path, part, value)
			}
		}
	}
}
