package engine

import (
	"context"
	"testing"
	"time"

	"reeve.example/reeve/task"
)

// readyRows is a store of ready rows.
type readyRows struct {
	task.Store
	rows []task.Row
}

func (r readyRows) TaskRows(context.Context, task.RowQuery) ([]task.Row, error) { return r.rows, nil }

// TestRestartOnce: a task that was handed out again, and has to wait, is not handed out
// once more each time that somebody looks.
func TestRestartOnce(t *testing.T) {
	now := time.Now()
	old, young := task.Row{ID: task.NewID(now), Updated: now.Add(-time.Minute)}, task.Row{ID: task.NewID(now), Updated: now}
	e := New(Config{Store: readyRows{rows: []task.Row{old, young}}})
	handed := 0
	look := func(want int) {
		t.Helper()
		e.restart(t.Context(), "echo", 10, now, func(h task.Handed) {
			if handed++; h.Task != old.ID {
				t.Errorf("the young task %s was handed out", h.Task)
			}
		})
		if handed != want {
			t.Errorf("%d were handed out, want %d", handed, want)
		}
	}
	look(1)
	look(1)
	e.unclaim(old.ID) // it was not begun
	look(2)
}
