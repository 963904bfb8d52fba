package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTake: of many at once as many have room as there is; what failed gives it back at
// once, what has ended when it is counted again; and each owner has room of its own.
func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored, counts atomic.Int64
		c := &Counter{Most: Most{N: 20, Bytes: 100}, Now: time.Now, Count: func(_ context.Context, owner string) (int, int64, error) {
			counts.Add(1)
			if owner != "a" {
				return 0, 0, nil
			}
			return int(stored.Load()), 2 * stored.Load(), nil
		}}
		var taken atomic.Int64
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				made, err := c.Take(t.Context(), "a", 1, 2)
				if err != nil {
					if full := new(Full); !errors.As(err, &full) || full.HasN != 20 {
						t.Error(err)
					}
					return
				}
				taken.Add(1)
				if i%2 == 0 {
					time.Sleep(time.Millisecond) // in flight while others are refused
				}
				stored.Add(1)
				made(true)
			})
		}
		wg.Wait()
		if taken.Load() != 20 || counts.Load() > 1 {
			t.Errorf("%d had room, %d counts", taken.Load(), counts.Load())
		}
		if _, err := c.Take(t.Context(), "b", 1, 2); err != nil {
			t.Errorf("another owner: %v", err)
		}
		stored.Store(10)
		if _, err := c.Take(t.Context(), "a", 1, 2); err == nil {
			t.Error("counted again within a second")
		}
		time.Sleep(2 * time.Second)
		made, err := c.Take(t.Context(), "a", 10, 20)
		if err != nil {
			t.Fatalf("what has ended makes no room: %v", err)
		}
		made(false)
		if made, err = c.Take(t.Context(), "a", 10, 20); err != nil {
			t.Fatalf("what failed makes no room: %v", err)
		}
		stored.Store(20)
		made(true)
		time.Sleep(2 * time.Second)
		if _, err := c.Take(t.Context(), "a", 0, 60); err != nil {
			t.Errorf("bytes that fit: %v", err)
		}
		if _, err := c.Take(t.Context(), "a", 0, 1); err == nil {
			t.Error("a byte too many")
		}
		if _, err := c.Take(t.Context(), "a", 0, 0); err != nil {
			t.Errorf("nothing: %v", err)
		}
		for i := range 2 * maxOwners { // invented owners are forgotten, not kept
			if _, err := c.Take(t.Context(), fmt.Sprint(i), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.usage) > maxOwners {
			t.Errorf("%d owners are remembered", len(c.usage))
		}
	})
}
