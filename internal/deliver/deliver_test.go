package deliver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/internal/outbound"
)

func TestRetry(t *testing.T) {
	var all time.Duration
	failures := 1
	for ; ; failures++ {
		wait, retry := Retry(failures, io.EOF)
		if !retry {
			break
		}
		if wait <= 0 || wait > longest {
			t.Errorf("after %d failures it waits %v", failures, wait)
		}
		all += wait
	}
	if failures != attempts || all < 15*time.Minute || all > 30*time.Minute {
		t.Errorf("an event is given up after %d attempts and %v", failures, all)
	}
	if _, retry := Retry(1, fmt.Errorf("call: %w", outbound.ErrRefused)); retry {
		t.Error("an address that may not be called is tried again")
	}
	if wait, retry := Retry(0, nil); !retry || wait != first {
		t.Errorf("before anything failed: %v, %v", wait, retry)
	}
}

func TestPost(t *testing.T) {
	status := http.StatusNoContent
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "{}" || r.Header.Get("X-Own") != "1" || r.Header.Get("User-Agent") != "reeve" || r.Method != http.MethodPost {
			t.Errorf("%s %s %v", r.Method, body, r.Header)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
	}))
	defer s.Close()
	header := func() http.Header { return http.Header{"X-Own": {"1"}} }
	if err := Post(t.Context(), s.Client(), s.URL, header(), []byte("{}")); err != nil {
		t.Error(err)
	}
	for _, status = range []int{http.StatusFound, http.StatusForbidden, http.StatusBadGateway} {
		if err := Post(t.Context(), s.Client(), s.URL, header(), []byte("{}")); err == nil {
			t.Errorf("%d is an answer", status)
		}
	}
	if err := Post(t.Context(), s.Client(), "://", header(), nil); err == nil {
		t.Error("no address is one")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Post(ended, s.Client(), s.URL, header(), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := NewWake()
		var looks atomic.Int64
		go w.Loop(ctx, func(n int) {
			if at := looks.Add(1) - 1; int64(n) != at {
				t.Errorf("look %d is the %d.", at, n)
			}
		})
		synctest.Wait()
		w.Up()
		w.Up()
		synctest.Wait()
		looked := looks.Load()
		if looked < 2 || looked > 3 { // it may have taken the first word before the second
			t.Errorf("it looked %d times when it was woken", looked)
		}
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		if more := looks.Load() - looked; more != 3 {
			t.Errorf("it looked %d times in three seconds", more)
		}
		cancel()
		synctest.Wait()
	})
}
