package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/task"
)

// bare is a store whose tasks pass from ready to completed with nobody looking.
type bare struct {
	store store.Store
	lease ledger.Lease
}

func bareStore(b *testing.B) *bare {
	b.Helper()
	store, err := sqlite.Open(b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	lease, err := store.Acquire(context.Background(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return &bare{store, lease}
}

// run makes tasks of one tree, and then starts and ends them, 64 in a transaction.
// It returns how long the starts and ends took.
func (s *bare) run(b *testing.B, count int) (took time.Duration) {
	b.Helper()
	now := time.Now()
	root := task.NewID(now)
	var made []*task.Task
	for i := range count {
		t := &task.Task{Row: task.Row{ID: task.NewID(now), Root: root, Parent: root, Name: "t", Executor: "bare", Priority: 2}, Inputs: []byte(`{"n":1}`)}
		if i == 0 {
			t.ID, t.Parent = root, task.ID{}
		}
		made = append(made, t)
	}
	s.commit(b, []*task.Change{{Kind: task.Create, Root: root, At: now, Tasks: made, Ask: true}})
	begin := time.Now()
	for some := range slices.Chunk(made, 64) {
		var started, ended []*task.Change
		for _, t := range some {
			started = append(started, &task.Change{Kind: task.Start, Task: t.ID, Root: root, At: now, Attempt: 1, Node: s.lease.Node()})
			ended = append(ended, &task.Change{
				Kind: task.Finish, Task: t.ID, Root: root, At: now, Attempt: 1, Node: s.lease.Node(), Outcome: task.PhaseComplete, Result: []byte(`{"n":1}`),
			})
		}
		s.commit(b, started)
		s.commit(b, ended)
	}
	return time.Since(begin)
}

func (s *bare) commit(b *testing.B, changes []*task.Change) {
	b.Helper()
	var load task.Load
	for _, c := range changes {
		c.Needs(&load)
	}
	err := s.store.Commit(context.Background(), s.lease, nil, &load, func(f ledger.Found) (*ledger.Batch, error) {
		book := task.NewBook(f.Tasks, load, f.More)
		for _, c := range changes {
			if err := book.Apply(c, ""); err != nil {
				return nil, err
			}
		}
		return &ledger.Batch{Tasks: book.Writes()}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
