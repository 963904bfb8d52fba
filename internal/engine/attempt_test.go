package engine

import (
	"context"
	"testing"
	"testing/synctest"

	"reeve.example/reeve/task"
)

// TestEnter: of one attempt the second start is refused, and of an older one any. A newer
// attempt begins when the one before is over.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{Store: struct{ task.Store }{}}) // nothing of it is asked
		id := task.NewID(e.cfg.Now())
		enter := func(ctx context.Context, run, number int) (*attempt, chan bool) {
			a, entered := &attempt{run: run, number: number, left: make(chan struct{}), turn: e.turns.take(2)}, make(chan bool, 1)
			go func() { entered <- e.enter(ctx, id, a) }()
			synctest.Wait()
			return a, entered
		}
		want := func(what string, entered chan bool, want bool) {
			t.Helper()
			select {
			case got := <-entered:
				if got != want {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			default:
				t.Errorf("%s: it waits", what)
			}
		}
		first, entered := enter(t.Context(), 2, 1)
		want("the first", entered, true)
		_, entered = enter(t.Context(), 2, 1)
		want("the same", entered, false)
		_, entered = enter(t.Context(), 1, 3)
		want("of an earlier run", entered, false)
		ctx, cancel := context.WithCancel(t.Context())
		_, entered = enter(ctx, 2, 2)
		next, waits := enter(t.Context(), 3, 1)
		if len(entered)+len(waits) > 0 {
			t.Error("a newer attempt does not wait for the one before")
		}
		cancel()
		synctest.Wait()
		want("when the node stops", entered, false)
		e.leave(id, first, "")
		synctest.Wait()
		want("when the one before is over", waits, true)
		e.leave(id, next, "")
		_, entered = enter(t.Context(), 3, 2)
		want("later", entered, true)
	})
}
