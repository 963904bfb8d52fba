package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/task"
)

// A dispatcher whose queue is short of many rows hands out all of them, each once,
// reads the rows now and then only, and takes up one that is ready again.
func TestMemory(t *testing.T) {
	const many, length = 500, 20
	var mu sync.Mutex
	var ready []task.Row // most urgent first
	for range many {
		ready = append(ready, task.Row{ID: task.NewID(time.Now()), Executor: "x", Phase: task.Ready, Attempt: 3, Run: 2})
	}
	again, started, reads := ready[0], map[task.Handed]int{}, 0
	m := &engine.Memory{Length: length, Ready: func(_ context.Context, _ string, limit int) ([]task.Row, error) {
		mu.Lock()
		defer mu.Unlock()
		reads++
		return slices.Clone(ready[:min(limit, len(ready))]), nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	work := task.Work{Limits: map[string]int{"x": 3}, Start: func(_ context.Context, h task.Handed) {
		mu.Lock()
		had := len(ready)
		ready = slices.DeleteFunc(ready, func(r task.Row) bool { return r.ID == h.Task && r.Attempt+1 == h.Attempt })
		if len(ready) == had { // a row that was read before its task started: it is not started again
			mu.Unlock()
			return
		}
		started[h]++
		first := h.Task == again.ID && h.Attempt == 4
		mu.Unlock()
		if first { // it is ready again before this attempt has returned
			next := again
			next.Attempt++
			mu.Lock()
			ready = append(ready, next)
			mu.Unlock()
			m.Changed(&task.Writes{Ready: []*task.Row{&next}})
		}
		mu.Lock()
		defer mu.Unlock()
		if len(started) == many+1 {
			cancel()
		}
	}}
	go func() {
		defer close(over)
		if err := m.Run(ctx, work); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d of %d attempts were handed out, after %d reads", len(started), many+1, reads)
	}
	for h, n := range started {
		if n != 1 {
			t.Errorf("%+v was handed out %d times", h, n)
		}
	}
	if reads > 10*many/length {
		t.Errorf("the rows were read %d times", reads)
	}
}
