package postgres

import (
	"context"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/jackc/pgx/v5"
)

// BenchmarkRemoveTrees removes trees while commits go on.
func BenchmarkRemoveTrees(b *testing.B) {
	storetest.BenchmarkRemoveTrees(b, func(b *testing.B) store.Store { return open(b, storetest.DurablePostgres(b)) })
}

// TestAlone: while one node runs something alone, another leaves it out.
func TestAlone(t *testing.T) {
	url := storetest.Postgres(t)
	one, other := open(t, url+"&pool_max_conns=1"), open(t, url)
	ran := 0
	count := func(ctx context.Context) error { ran++; return one.SweepTrees(ctx) } // which needs the only connection
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

// TestSweepLate: who sweeps a tree leaves alone what has its id since another has swept it.
func TestSweepLate(t *testing.T) {
	s := open(t, storetest.Postgres(t))
	l := tasks(t, s, "tester")
	tree := func() []*task.Task {
		return []*task.Task{storetest.NewTask(0, task.ID{}), storetest.NewTask(1, storetest.TaskID(0), 0)}
	}
	build := func(ask bool) {
		t.Helper()
		if err := l.Apply(t.Context(), &task.Change{Kind: task.Create, Root: storetest.TaskID(0), Tasks: tree(), Ask: ask}); err != nil {
			t.Fatal(err)
		}
	}
	build(false)
	roots := []task.ID{storetest.TaskID(0)}
	if gone, err := s.RemoveTrees(t.Context(), roots, time.Time{}, task.ByErasure); err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	if err := s.SweepTrees(t.Context()); err != nil { // another's
		t.Fatal(err)
	}
	build(true)
	err := s.transact(t.Context(), func(tx pgx.Tx) error { _, err := sweep(t.Context(), tx, roots); return err })
	if rows, failed := s.TaskRows(t.Context(), task.RowQuery{Root: roots[0]}); err != nil || failed != nil || len(rows) != 2 {
		t.Errorf("%d tasks of the new tree are there, want 2: %v, %v", len(rows), err, failed)
	}
	for _, id := range []task.ID{storetest.TaskID(0), storetest.TaskID(1)} {
		if _, err := s.Task(t.Context(), id); err != nil {
			t.Error(err)
		}
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
