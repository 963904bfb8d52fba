package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSilentProvider: while a provider is silent, it is asked once for all who wait, none
// waits for another, and who goes away is let go. A failure is not kept.
func TestSilentProvider(t *testing.T) {
	var asked atomic.Int32
	asking := make(chan chan func(w http.ResponseWriter))
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer := make(chan func(w http.ResponseWriter))
		asking <- answer
		(<-answer)(w)
	}))
	defer p.Close()
	c := &Console{Config: Config{Provider: &Provider{Issuer: p.URL}}}
	first := make(chan error)
	go func() { _, err := c.reach(t.Context()); first <- err }()
	answer := <-asking
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, err := c.reach(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("who goes away: %v", err)
		}
	}
	answer <- func(w http.ResponseWriter) { http.Error(w, "not now", http.StatusServiceUnavailable) }
	if err := <-first; err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("who waited: %v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { w.Header().Set("Location", "https://evil.example/"); w.WriteHeader(307) },
		func(w http.ResponseWriter) { fmt.Fprintf(w, `{"issuer":%q,"x":"%s`, p.URL, strings.Repeat("x", 2<<20)) },
		func(w http.ResponseWriter) { fmt.Fprintf(w, `{"issuer":%q}`, p.URL) },
	}
	for i, answer := range answers {
		go func() { (<-asking) <- answer }()
		if _, err := c.reach(t.Context()); (err == nil) != (i == 2) {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if _, err := c.reach(gone); err != nil {
		t.Errorf("once it has answered: %v", err)
	}
}
