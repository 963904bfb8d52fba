package engine_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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
	work := task.Work{Limits: map[string]int{"x": 3}, Start: func(_ context.Context, h task.Handed) func() {
		return func() {
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

// TestMemoryOrder: whatever becomes ready when, and however small the memory is, nothing
// is handed out while something more urgent is ready that has room.
func TestMemoryOrder(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) { memoryOrder(t, rand.New(rand.NewPCG(seed, 1))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func memoryOrder(t *testing.T, random *rand.Rand) {
	const many = 200
	limits := map[string]int{"a": 1 + random.IntN(3), "b": 1 + random.IntN(3), "c": 1 + random.IntN(3)}
	room, begin := 1+random.IntN(6), time.Now()
	// Between two steps everything settles, so that mu only guards against the model's own reader.
	var mu sync.Mutex
	ready, busy, made, handed := map[task.ID]task.Row{}, map[string]int{}, 0, 0
	var running []chan struct{}
	before := func(a, b task.Row) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.Created.Compare(b.Created), slices.Compare(a.ID[:], b.ID[:]))
	}
	add := func(n int) (list []*task.Row) {
		for ; n > 0 && made < many; n-- {
			r := task.Row{
				ID: task.NewID(begin), Executor: string("abc"[random.IntN(3)]), Phase: task.Ready, Priority: uint8(random.IntN(4)),
				Created: begin.Add(time.Duration(random.IntN(5)) * time.Second),
			}
			ready[r.ID] = r
			made++
			list = append(list, &r)
		}
		return list
	}
	add(many / 2)
	m := &engine.Memory{Length: 1 + random.IntN(9), Ready: func(_ context.Context, executor string, limit int) (list []task.Row, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range ready {
			if r.Executor == executor {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, before)
		return list[:min(limit, len(list))], nil
	}}
	work := task.Work{Limits: limits, Room: room, Start: func(_ context.Context, h task.Handed) func() {
		mu.Lock()
		defer mu.Unlock()
		mine, ok := ready[h.Task]
		if !ok {
			t.Errorf("%s was handed out twice", h.Task)
			return func() {}
		}
		if busy[mine.Executor] == limits[mine.Executor] || len(running) == room {
			t.Errorf("%s is handed out without room", mine.Executor)
		}
		for _, r := range ready {
			if before(r, mine) < 0 && busy[r.Executor] < limits[r.Executor] {
				t.Errorf("%s of priority %d is handed out before %s of priority %d", mine.Executor, mine.Priority, r.Executor, r.Priority)
			}
		}
		delete(ready, h.Task)
		busy[mine.Executor]++
		handed++
		end := make(chan struct{})
		running = append(running, end)
		return func() {
			<-end
			mu.Lock()
			defer mu.Unlock()
			busy[mine.Executor]--
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- m.Run(ctx, work) }()
	for synctest.Wait(); len(ready)+len(running) > 0 && !t.Failed(); synctest.Wait() {
		if random.IntN(3) == 0 || len(running) == 0 {
			m.Changed(&task.Writes{Ready: add(1 + random.IntN(5))})
			continue
		}
		i := random.IntN(len(running))
		end := running[i]
		running = slices.Delete(running, i, i+1)
		close(end)
	}
	if handed != made || made < many/2 {
		t.Errorf("%d of %d were handed out", handed, made)
	}
	for _, end := range running {
		close(end)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
