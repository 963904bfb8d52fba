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

// TestMissed: a dispatcher is told of tasks that have been ready for long, and have room.
func TestMissed(t *testing.T) {
	now := time.Now()
	old, young := task.Row{ID: task.NewID(now), Updated: now.Add(-time.Minute)}, task.Row{ID: task.NewID(now), Updated: now}
	told := &missedBy{}
	e := New(Config{Store: readyRows{rows: []task.Row{old, young}}, Dispatcher: told})
	e.missed(t.Context(), "echo", 10, now)
	if len(told.rows) != 1 || told.rows[0].ID != old.ID {
		t.Errorf("the dispatcher is told of %d missed tasks, want the old one", len(told.rows))
	}
	e.busy["echo"] = 10
	e.missed(t.Context(), "echo", 10, now)
	if len(told.rows) != 1 {
		t.Error("the dispatcher is told of missed tasks while there is no room for them")
	}
}

// missedBy is a dispatcher that notes what it is told of missed tasks.
type missedBy struct {
	Dispatcher
	rows []*task.Row
}

func (m *missedBy) Missed(rows []*task.Row) { m.rows = append(m.rows, rows...) }
