package a2a

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Those who ask while a read is going on get what the next one finds, which begins
// after they asked; it is made once for all.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &reads{going: map[readKey]*reading{}}
		var stored, made atomic.Int32
		ask := func(key string) int32 {
			got, err := together(t.Context(), all, readKey{what: key}, func(context.Context) (int32, error) {
				made.Add(1)
				found := stored.Load()
				time.Sleep(time.Second)
				return found, nil
			})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		var asking sync.WaitGroup
		for n := range 3 {
			stored.Store(int32(n))
			for range 100 {
				asking.Go(func() {
					if got := ask("x"); got < int32(n) {
						t.Errorf("who asked when it was %d was told %d", n, got)
					}
				})
			}
			synctest.Wait()
		}
		asking.Go(func() { ask("y") })
		asking.Wait()
		if made.Load() != 3 {
			t.Errorf("%d reads were made, want 2 of one thing and 1 of another", made.Load())
		}
		if len(all.going) != 0 {
			t.Errorf("%d reads are still going", len(all.going))
		}
		if _, err := together(t.Context(), all, readKey{}, func(context.Context) (int, error) { return 0, fmt.Errorf("no") }); err == nil {
			t.Error("the error is lost")
		}
	})
}
