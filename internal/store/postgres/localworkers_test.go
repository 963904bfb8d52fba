package postgres

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"
)

// TestDesk gives a node's workers to what its commits make ready and to River's
// jobs, and never more than there are.
func TestDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var started []task.ID
		var woken []string
		release := make(chan struct{})
		work := task.Work{Limits: map[string]int{"a": 3, "b": 3}, Room: 4, Start: func(_ context.Context, h task.Handed) func() {
			mu.Lock()
			started = append(started, h.Task)
			mu.Unlock()
			return func() { <-release }
		}}
		ready := func(executor string, from int, priorities ...uint8) (rows []*task.Row) {
			for i, p := range priorities {
				rows = append(rows, &task.Row{ID: storetest.TaskID(from + i), Executor: executor, Priority: p})
			}
			return rows
		}
		named := func(what string, rows []*task.Row, want ...int) {
			t.Helper()
			var got, ids []task.ID
			for _, r := range rows {
				got = append(got, r.ID)
			}
			for _, i := range want {
				ids = append(ids, storetest.TaskID(i))
			}
			if !slices.Equal(got, ids) {
				t.Errorf("%s %v, want %v", what, got, ids)
			}
		}
		took := func(d *localWorkers, queue string, most, want int) {
			t.Helper()
			if n := d.take(queue, most); n != want {
				t.Errorf("River may fetch %d jobs of %s, want %d", n, queue, want)
			}
		}

		var d localWorkers
		kept, rest := d.keep(ready("a", 0, 2))
		named("a desk that is not open keeps", kept)
		named("and leaves", rest, 0)

		d.open(t.Context(), work, func(queue string) { mu.Lock(); defer mu.Unlock(); woken = append(woken, queue) })
		kept, rest = d.keep(append(ready("a", 0, 3, 2, 0, 1), ready("nobody's", 4, 0)...))
		named("the most urgent are kept, as many as there are workers:", kept, 2, 3, 1)
		named("the others are left:", rest, 4, 0)
		took(&d, "a", 3, 0)
		took(&d, "b", 3, 1) // for which there is room
		d.drop(kept)        // the commit failed
		synctest.Wait()
		kept, rest = d.keep(ready("a", 0, 3))
		named("what would overtake River's jobs is not kept:", kept)
		named("and left", rest, 0)
		took(&d, "a", 3, 3)
		d.fetched("a", 3, 3) // and perhaps there are more
		d.ended("a", func(w *workers) { w.river = 0 })
		kept, _ = d.keep(ready("a", 0, 3))
		named("what would overtake more of River's jobs is not kept:", kept)
		took(&d, "a", 3, 3)
		d.fetched("a", 3, 0)
		kept, rest = d.keep(ready("a", 0, 1, 1))
		named("kept", kept, 0, 1)
		named("left", rest)
		d.begin(kept)
		synctest.Wait()
		mu.Lock()
		if len(started) != 2 {
			t.Errorf("%d tasks were started, want 2", len(started))
		}
		mu.Unlock()
		took(&d, "a", 3, 1)
		took(&d, "b", 2, 0)
		time.Sleep(time.Second)
		mu.Lock()
		woken = nil
		mu.Unlock()

		close(release) // both end
		time.Sleep(time.Second)
		mu.Lock()
		slices.Sort(woken)
		if want := []string{"a", "b"}; !slices.Equal(woken, want) {
			t.Errorf("River looks again for jobs of %v, want %v", woken, want)
		}
		mu.Unlock()
		took(&d, "a", 2, 2) // River has one of its jobs still
		took(&d, "b", 3, 1)

		d.close()
		kept, _ = d.keep(ready("b", 0, 0))
		named("a closed desk keeps", kept)
		took(&d, "a", 3, 0)
	})
}

// TestKept: what a node keeps for itself has no job. What it has no worker for has,
// and another node does it.
func TestKept(t *testing.T) {
	const few = 20
	url := storetest.Postgres(t)
	handed := make(chan string, 2*few)
	var held atomic.Bool
	start := func(ctx context.Context, n *node, h task.Handed) {
		handed <- n.Log.Node()
		if held.Load() {
			<-ctx.Done()
		}
	}
	one := startNode(t, url, "one", map[string]int{"echo": 2}, start)
	jobs := func() (n int) {
		t.Helper()
		if err := one.store.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	by := func(want string) {
		t.Helper()
		select {
		case got := <-handed:
			if got != want {
				t.Errorf("the node %s was handed the task, want %s", got, want)
			}
		case <-time.After(patient):
			t.Fatal("no node was handed the task")
		}
	}
	for i := range few {
		create(t, one.Tasks, i, i+1, "echo")
		by(one.Log.Node())
	}
	had := jobs() // while River looks for jobs, workers are set aside for these
	if had == few {
		t.Errorf("all of %d tasks have jobs, want that some were kept", few)
	}
	held.Store(true)
	create(t, one.Tasks, few, few+2, "echo")
	by(one.Log.Node())
	by(one.Log.Node())
	had = jobs()
	create(t, one.Tasks, few+2, few+3, "echo")
	if n := jobs(); n != had+1 {
		t.Errorf("what there is no worker for has %d jobs, want 1", n-had)
	}
	two := startNode(t, url, "two", map[string]int{"echo": 2}, start)
	by(two.Log.Node())
}
