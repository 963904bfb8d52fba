package postgres

import (
	"context"
	"testing"

	"reeve/ledger"
	"reeve/store/storetest"
	"reeve/task"
)

// BenchmarkRemoveTrees removes trees while commits go on.
func BenchmarkRemoveTrees(b *testing.B) {
	storetest.BenchmarkRemoveTrees(b, func(b *testing.B) ledger.Store { return open(b, storetest.DurablePostgres(b)) })
}

// TestAlone: while one node runs something alone, another leaves it out.
func TestAlone(t *testing.T) {
	url := storetest.Postgres(t)
	one, other := open(t, url), open(t, url)
	ran := 0
	count := func(ctx context.Context) error { ran++; return nil }
	err := one.Alone(t.Context(), func(ctx context.Context) error {
		count(ctx)
		return other.Alone(ctx, count)
	})
	if err != nil || ran != 1 {
		t.Errorf("ran %d times: %v", ran, err)
	}
	if err := other.Alone(t.Context(), count); err != nil || ran != 2 {
		t.Errorf("afterwards it ran %d times: %v", ran, err)
	}
}

// TestDropJobs: old jobs go whose tasks have ended, or are gone, and no others.
func TestDropJobs(t *testing.T) {
	s := open(t, storetest.Postgres(t))
	w := writer(t, s, "tester")
	var tasks []*task.Task
	var ready []*task.Row
	for i, phase := range []task.Phase{task.Ready, task.Running, task.PhaseComplete, task.PhaseCancelled, task.Ready, task.PhaseComplete} {
		one := storetest.NewTask(i, task.ID{})
		one.Root, one.Phase = one.ID, phase
		tasks, ready = append(tasks, one), append(ready, &one.Row)
	}
	gone := storetest.NewTask(100, task.ID{}).Row
	ready = append(ready, &gone)
	err := s.Commit(t.Context(), w.Lease, nil, nil, func(ledger.Found) (*ledger.Batch, error) {
		return &ledger.Batch{First: w.Size, At: w.At, Tasks: &task.Writes{New: tasks, Ready: ready}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs := func() (n int) {
		t.Helper()
		if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := s.SweepTrees(t.Context()); err != nil || jobs() != 7 {
		t.Errorf("%d young jobs are there, want 7: %v", jobs(), err)
	}
	// All but the last of the tasks' grow old; one of them is being worked on.
	_, err = s.pool.Exec(t.Context(), `UPDATE river_job SET created_at = now() - interval '2 hours' WHERE args->>'task' <> $1`, tasks[5].ID.String())
	if err == nil {
		_, err = s.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now(), attempted_by = '{dead}', attempt = 1 WHERE args->>'task' = $1`, tasks[2].ID.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SweepTrees(t.Context()); err != nil || jobs() != 4 {
		t.Errorf("%d jobs are there, want those of two that wait, one that runs, and a young one: %v", jobs(), err)
	}
}
