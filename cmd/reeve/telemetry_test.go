package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/otlp/otlptest"
)

// A node that is killed again and again while it sends traces has told in the end of every
// act that it answered, whichever spans were on their way.
func TestTracesKill(t *testing.T) {
	receiver := otlptest.Start(t)
	dir := filepath.Join(t.TempDir(), "data")
	acked := map[string]bool{}
	var mu sync.Mutex
	start := func() *process { return startNode(t, dir, "--telemetry-url", receiver.HTTP) }
	for round := range min(*kills, 5) {
		p := start()
		client := &http.Client{Timeout: 10 * time.Second}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				session := fmt.Sprintf("s-%d-%d", round, w)
				for i := 3; ; i += 3 { // denied, so that no result is awaited
					body, _ := stepOf(session, i)
					a, err := post(client, p.url, body)
					if err != nil {
						return // killed
					}
					mu.Lock()
					acked[a.Result.Data.DecisionID] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(300+rand.IntN(900)) * time.Millisecond)
		p.Process.Kill()
		p.Wait()
		wg.Wait()
	}
	start()
	if len(acked) == 0 {
		t.Fatal("nothing was answered")
	}
	ids := map[string]string{} // decision → span
	spans := receiver.Wait(t, func(spans []otlptest.Span) bool {
		got := map[string]bool{}
		for _, s := range spans {
			if d, ok := s.Attributes["reeve.decision.id"].(string); ok && s.Name != "apply_guardrail reeve" {
				got[d] = true
			}
		}
		for d := range acked {
			if !got[d] {
				return false
			}
		}
		return true
	})
	twice := 0
	for _, s := range spans {
		d, _ := s.Attributes["reeve.decision.id"].(string)
		if s.Name == "apply_guardrail reeve" {
			continue
		}
		if before, seen := ids[d]; seen {
			if twice++; before != s.ID() {
				t.Errorf("decision %s has the spans %s and %s", d, before, s.ID())
			}
		}
		ids[d] = s.ID()
	}
	t.Logf("%d decisions, %d sent again", len(acked), twice)
}
