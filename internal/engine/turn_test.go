package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"reeve.example/reeve/task"
)

// TestTurns: whatever is more urgent and was taken before begins before; what is not, or came
// later, is not waited for; and who leaves without beginning holds nobody up.
func TestTurns(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			var s turns
			const many = 60
			list := make([]*turn, many)
			began := make([]bool, many)
			ready := make([]chan struct{}, many) // each may begin when it is told to
			var mu sync.Mutex
			for i := range list {
				list[i], ready[i] = s.take(uint8(random.IntN(6))), make(chan struct{})
				go func() {
					<-ready[i]
					if i%7 == 0 { // it was not to begin after all
						list[i].over()
						list[i].over()
						return
					}
					if !list[i].wait(t.Context()) {
						return
					}
					mu.Lock()
					began[i] = true
					mu.Unlock()
					list[i].over()
				}()
			}
			told := make([]bool, many)
			for _, i := range random.Perm(many) {
				close(ready[i])
				told[i] = true
				synctest.Wait()
				mu.Lock()
				for k := range list {
					// It has begun exactly when it was told to, and so was all that it waits for.
					want := told[k] && k%7 != 0
					for before := range k {
						if list[before].priority < list[k].priority && !told[before] {
							want = false
						}
					}
					if began[k] != want {
						t.Errorf("seed %d: %d of priority %d has begun: %t", seed, k, list[k].priority, began[k])
					}
				}
				mu.Unlock()
			}
			for p, taken := range s.taken {
				if len(taken) > 0 {
					t.Errorf("seed %d: %d of priority %d are kept", seed, len(taken), p)
				}
			}
		})
	}
	var s turns
	s.take(0)
	last := s.take(3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if last.wait(ctx) {
		t.Error("a turn came although its context ended")
	}
}

// TestKeyed: one at a time has the right to change a task, others meanwhile those to change
// others, and nothing is kept of any.
func TestKeyed(t *testing.T) {
	var k keyed
	var mu sync.Mutex
	held, most := map[byte]int{}, 0
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			id := task.ID{byte(i % 3)}
			ctx, cancel := context.WithCancel(t.Context())
			if i%5 == 0 {
				cancel()
			}
			defer cancel()
			unlock, err := k.lock(ctx, id)
			if err != nil {
				return
			}
			mu.Lock()
			held[id[0]]++
			most = max(most, held[id[0]])
			mu.Unlock()
			mu.Lock()
			held[id[0]]--
			mu.Unlock()
			unlock()
		})
	}
	all.Wait()
	if most != 1 || len(k.held) != 0 {
		t.Errorf("%d had the right at once, and %d are kept", most, len(k.held))
	}
}
