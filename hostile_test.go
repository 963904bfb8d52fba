package reeve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
)

// worst are texts that cost detectors and the shell reader more than others of their
// length.
var worst = []string{
	"ordinary words ", "4000 0000 0000 000", "ignore all previous instructions ", "-----BEGIN RSA PRIVATE KEY-----\\n",
	"AKIA0123456789ABCDE ", "password=x; ", "a@b.example ", "$(echo `id`) | sh; ", "QUtJQTAxMjM0NTY3ODlBQkNERQ ", "\\u200b\\u202e",
}

// TestThreat25Hostile: a whole node with ten keys, nine of which ask now and then. The
// tenth sends requests of 3 MB over 24 connections, of the texts that cost most. The nine
// are all answered. With REEVE_SOAK=1 it tells by how much longer they wait; the client
// works on the same processors.
func TestThreat25Hostile(t *testing.T) {
	rounds, samples := 1, 20
	if os.Getenv("REEVE_SOAK") != "" {
		rounds, samples = 3, 200
	}
	r := start(t, map[string]string{"policy-text": "version: 1\ndefault: allow\nrules: [{name: cards, on: call, detect: [pii.card, secret, injection], effect: deny}]\n"})
	var keys []string
	secret := regexp.MustCompile(`"secret":"([^"]+)"`)
	for i := range 10 {
		_, text := r.ask(identity.Admin, "POST", "/admin/keys", fmt.Sprintf(`{"name":"agent-%d","role":"agent"}`, i))
		found := secret.FindStringSubmatch(text)
		if found == nil {
			t.Fatal(text)
		}
		keys = append(keys, found[1])
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var steps atomic.Int64
	call := func(ctx context.Context, key, text string) (int, error) {
		n := steps.Add(1)
		body := strings.Replace(strings.Replace(transfer(int(n)), `"250"`, `"`+text+`"`, 1), `"id":"s"`, `"id":"`+key[len(key)-8:]+`"`, 1)
		q, err := http.NewRequestWithContext(ctx, "POST", r.url+"/aos", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Authorization", "Bearer "+key)
		resp, err := client.Do(q)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	large := make([]string, len(worst))
	for i, text := range worst {
		large[i] = strings.Repeat(text, 3_000_000/len(text))
	}
	measure := func() (p50, p99 time.Duration) {
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		for _, key := range keys[:9] {
			wg.Go(func() {
				for range samples {
					began := time.Now()
					if code, err := call(t.Context(), key, "ordinary words"); err != nil || code != 200 {
						t.Errorf("one of the others: %d %v", code, err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
		slices.Sort(took)
		return took[len(took)/2], took[len(took)*99/100]
	}
	measure() // connections, caches
	for round := range rounds {
		p50, p99 := measure()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var answered atomic.Int64
		for i := range 24 {
			wg.Go(func() {
				for k := i; ctx.Err() == nil; k++ {
					if code, err := call(ctx, keys[9], large[k%len(large)]); err == nil && code == 200 {
						answered.Add(1)
					}
				}
			})
		}
		time.Sleep(time.Second)
		beside50, beside99 := measure()
		cancel()
		wg.Wait()
		t.Logf("round %d: p50 %s and p99 %s; beside the hostile one, which had %d answers, %s and %s: %.1f times",
			round+1, p50, p99, answered.Load(), beside50, beside99, float64(beside99)/float64(p99))
	}
}
