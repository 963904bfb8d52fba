package operator

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/internal/guard"
)

// TestLooks: so many make the memory of acts anew at once; others wait, and not for ever.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewReplays(nil, nil, guard.Keys{}, false)
		var leaves []func()
		for range looksAtOnce {
			leave, err := p.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		if _, err := p.look(t.Context()); StatusOf(err) != http.StatusTooManyRequests {
			t.Errorf("one more looks: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if _, err := p.look(gone); err == nil || time.Since(began) > 0 {
			t.Errorf("who is gone waits: %v", err)
		}
		time.AfterFunc(time.Second, leaves[0])
		if leave, err := p.look(t.Context()); err != nil {
			t.Errorf("the next one's turn: %v", err)
		} else {
			leave()
		}
	})
}

// TestEvidenceTaken: whoever takes an archive slower than it must be taken has it ended, also
// who takes a little all the time; how long it takes to make does not count.
func TestEvidenceTaken(t *testing.T) {
	ended := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &patient{Writer: w, control: http.NewResponseController(w), patience: 300 * time.Millisecond, atLeast: 1 << 40}
		if r.URL.Path == "/made-slowly" {
			for range 5 {
				time.Sleep(100 * time.Millisecond)
				p.Write(make([]byte, 1024))
			}
			return
		}
		var err error
		for err == nil {
			_, err = p.Write(make([]byte, 64<<10))
		}
		ended <- err
	}))
	defer s.Close()
	resp, err := http.Get(s.URL + "/made-slowly")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 5*1024 {
		t.Errorf("what is made slowly: %d bytes, %v", n, err)
	}
	if resp, err = http.Get(s.URL + "/slowly"); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for part := make([]byte, 64<<10); ; {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
			if _, err := io.ReadFull(resp.Body, part); err != nil {
				t.Log("the reader:", err)
			}
		case <-t.Context().Done():
			t.Fatal("a slow reader keeps it")
		}
	}
}
