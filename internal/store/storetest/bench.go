package storetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
)

// BenchmarkCommit64 measures commits of 64 records of 450 bytes, each the first
// of a session, without and with openings of 3 KB beside them. cpu-ns/entry is
// what this process spent on one, without waiting for the disk.
func BenchmarkCommit64(b *testing.B, open func(b *testing.B) store.Store) {
	for _, c := range []struct {
		name    string
		opening []byte
	}{{"bare", nil}, {"openings", bytes.Repeat([]byte("o"), 3<<10)}} {
		b.Run(c.name, func(b *testing.B) {
			store := open(b)
			defer store.Close()
			benchmarkCommit(b, store, c.opening)
		})
	}
}

func benchmarkCommit(b *testing.B, store store.Store, opening []byte) {
	const n = 64
	w, err := NewWriter(b.Context(), store, "bench")
	if err != nil {
		b.Fatal(err)
	}
	batch := &ledger.Batch{Openings: make([][]byte, n), Checkpoint: bytes.Repeat([]byte("c"), 200)}
	claims := make([]ledger.Claim, n)
	data := bytes.Repeat([]byte("d"), 120)
	for i := range n {
		batch.Records = append(batch.Records, Record(uint64(i), 450))
		batch.Leaves = append(batch.Leaves, tlog.RecordHash(batch.Records[i]))
		batch.Openings[i] = opening
		batch.Claims = append(batch.Claims, ledger.BatchClaim{Entry: i})
	}
	seq := sha256.Sum256([]byte(b.Name()))
	start := cpuTime()
	b.ResetTimer()
	for b.Loop() {
		// New keys, at the price of one hash for two.
		for i := 0; i < n; i += 2 {
			seq = sha256.Sum256(seq[:])
			claims[i] = ledger.Claim{Key: ledger.Key(seq[:16]), First: true, Data: data}
			claims[i+1] = ledger.Claim{Key: ledger.Key(seq[16:]), First: true, Data: data}
		}
		err := store.Commit(b.Context(), w.Lease, claims, nil, func(ledger.Found) (*ledger.Batch, error) {
			batch.First, batch.At, batch.Nodes = w.Size, w.At, nil
			for i := range claims {
				batch.Claims[i].Claim = claims[i]
			}
			w.Size += n
			if w.Size%256 == 0 {
				batch.Nodes = []ledger.Node{{Level: 1, N: w.Size/256 - 1}}
			}
			return batch, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	entries := float64(b.N) * n
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/entries, "ns/entry")
	b.ReportMetric(float64(cpuTime()-start)/entries, "cpu-ns/entry")
}

// BenchmarkTasks64 measures the bare life of tasks that depend on nothing: 64 are
// started by one commit and completed by the next, each time read, written over
// and told of by events, without a record, a book or an engine. An engine is
// measured against it. The store holds as many more tasks as the name says.
func BenchmarkTasks64(b *testing.B, open func(b *testing.B) store.Store) {
	for _, stored := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("stored=%d", stored), func(b *testing.B) {
			store := open(b)
			defer store.Close()
			benchmarkTasks(b, store, stored)
		})
	}
}

func benchmarkTasks(b *testing.B, store store.Store, stored int) {
	const n = 64
	w, err := NewWriter(b.Context(), store, "bench")
	if err != nil {
		b.Fatal(err)
	}
	commit := func(load *task.Load, build func(rows []task.Row) *task.Writes) {
		b.Helper()
		err := store.Commit(b.Context(), w.Lease, nil, load, func(f ledger.Found) (*ledger.Batch, error) {
			var rows []task.Row
			if load != nil {
				rows = f.Tasks.Rows
			}
			return &ledger.Batch{First: w.Size, At: w.At, Tasks: build(rows)}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	last := 0
	add := func(count int, phase task.Phase) (ids []task.ID) {
		list := make([]*task.Task, count)
		for i := range list {
			t := NewTask(last, task.ID{})
			last++
			t.Root, t.Phase, t.Created, t.Run, t.Size = t.ID, phase, w.At, 1, 1
			list[i] = t
			ids = append(ids, t.ID)
		}
		commit(nil, func([]task.Row) *task.Writes { return &task.Writes{New: list} })
		return ids
	}
	for last < stored {
		add(min(5000, stored-last), task.PhaseComplete)
	}
	change := func(ids []task.ID, to task.Phase, kinds ...task.EventType) {
		commit(&task.Load{Tasks: ids}, func(rows []task.Row) *task.Writes {
			if len(rows) != len(ids) {
				b.Fatalf("%d of %d tasks were found", len(rows), len(ids))
			}
			writes := &task.Writes{}
			for i := range rows {
				r := &rows[i]
				r.Phase, r.Updated, r.Attempt, r.Node = to, w.At, 1, w.Lease.Node()
				r.Started = Epoch
				if to.Ended() {
					r.Completed, r.Node, r.Progress = w.At, "", 1
					writes.Texts = append(writes.Texts, task.Text{Task: r.ID, Result: jsontext.Value(`{"ok":true}`)})
				}
				for _, k := range kinds {
					r.Events++
					writes.Events = append(writes.Events, task.Event{Root: r.ID, Task: r.ID, N: r.Events, Type: k, At: w.At, Status: r.Status()})
				}
				writes.Rows = append(writes.Rows, r)
			}
			return writes
		})
	}
	var spent time.Duration
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		ids := add(n, task.Ready)
		start := cpuTime()
		b.StartTimer()
		change(ids, task.Running, task.StatusUpdate)
		change(ids, task.PhaseComplete, task.StatusUpdate, task.TaskCompleted)
		spent += cpuTime() - start
	}
	done := float64(b.N) * n
	b.ReportMetric(done/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64(spent)/done, "cpu-ns/task")
}

// BenchmarkRemoveTrees compares commits of one task each while nothing else is done
// with commits while 20,000 trees are removed, of five tasks each: how long the median
// commit takes, and the slowest of a hundred.
func BenchmarkRemoveTrees(b *testing.B, open func(b *testing.B) store.Store) {
	const trees, under = 20_000, 4
	store := open(b)
	defer store.Close()
	w, err := NewWriter(b.Context(), store, "bench")
	if err != nil {
		b.Fatal(err)
	}
	commit := func(writes *task.Writes) time.Duration {
		begin := time.Now()
		err := store.Commit(b.Context(), w.Lease, nil, nil, func(ledger.Found) (*ledger.Batch, error) {
			return &ledger.Batch{First: w.Size, At: w.At, Tasks: writes}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	var roots []task.ID
	var list []*task.Task
	var events []task.Event
	for i := range trees {
		tree := ended(10*i, under, Epoch)
		roots = append(roots, tree[0].ID)
		list = append(list, tree...)
		for n := range 3 * len(tree) {
			events = append(events, task.Event{Root: tree[0].ID, Task: tree[0].ID, N: uint64(n) + 1, Type: task.StatusUpdate, At: Epoch})
		}
		if i%500 == 499 {
			commit(&task.Writes{New: list, Events: events})
			list, events = nil, nil
		}
	}
	next := 10 * trees
	measure := func(name string, during func(took func())) {
		var times []time.Duration
		during(func() {
			next++
			times = append(times, commit(&task.Writes{New: ended(next, 0, Epoch.Add(time.Hour))}))
		})
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), name+"-p99-µs")
	}
	for b.Loop() {
		measure("alone", func(one func()) {
			for range 2000 {
				one()
			}
		})
		removed := make(chan error, 1)
		begin := time.Now()
		go func() {
			_, err := store.RemoveTrees(b.Context(), roots, Epoch.Add(time.Minute), task.ByAge)
			if err == nil {
				err = store.SweepTrees(b.Context())
			}
			removed <- err
		}()
		measure("removing", func(one func()) {
			for {
				select {
				case err := <-removed:
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(trees*(under+1)/time.Since(begin).Seconds(), "removed-tasks/s")
					return
				default:
					one()
				}
			}
		})
	}
}
