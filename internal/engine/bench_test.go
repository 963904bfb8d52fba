package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// benchTree executes a tree and waits for its end.
func (n *node) benchTree(b *testing.B, params string) time.Duration {
	b.Helper()
	begin := time.Now()
	root, _ := n.execute(params)
	w, stop := n.Watch(root)
	defer stop()
	for range w.C {
		r, err := n.store.TaskRow(b.Context(), root)
		if err != nil {
			b.Fatal(err)
		}
		if r.Open == 0 {
			return time.Since(begin)
		}
	}
	return 0
}

// stores are those that the benchmarks run on.
var stores = map[string]func(b *testing.B) func() *node{
	"sqlite": func(b *testing.B) func() *node { return func() *node { return open(b, b.TempDir()) } },
	"postgres": func(b *testing.B) func() *node {
		url := storetest.DurablePostgres(b)
		return func() *node { return openShared(b, url) }
	},
}

func each(b *testing.B, f func(b *testing.B, open func() *node)) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) { f(b, stores[name](b)) })
	}
}

// BenchmarkTasks compares, in turns, what a task costs that is judged twice,
// recorded and told of, with the bare transitions of the same rows in batches of 64:
// nobody judges, records or executes. governed÷bare is the ratio of their rates.
func BenchmarkTasks(b *testing.B) {
	each(b, func(b *testing.B, open func() *node) {
		const size = 500
		n := open()
		var tree strings.Builder
		tree.WriteString(`{"id":"r","name":"r"}`)
		for i := range size - 1 {
			fmt.Fprintf(&tree, `,{"id":"t%d","name":"t%d","parent_id":"r","schemas":{"method":"echo"},"inputs":{"n":%d}}`, i, i, i)
		}
		bare := &bare{store: n.store}
		var err error
		if bare.lease, err = n.store.Acquire(b.Context(), "bare"); err != nil {
			b.Fatal(err)
		}
		if bare.lease.Log == n.log.Number() { // SQLite has one log: the bare transitions are made in another database
			bare = bareStore(b)
			n = open()
		}
		var governed, plain time.Duration
		tasks := 0
		b.ResetTimer()
		for b.Loop() {
			governed += n.benchTree(b, `{"tasks":[`+tree.String()+`]}`)
			plain += bare.run(b, size)
			tasks += size
		}
		b.ReportMetric(float64(tasks)/governed.Seconds(), "governed/s")
		b.ReportMetric(float64(tasks)/plain.Seconds(), "bare/s")
		b.ReportMetric(plain.Seconds()/governed.Seconds(), "governed÷bare")
	})
}

// BenchmarkDAG executes 1,000 tasks in ten layers, each of which depends on five
// of the layer above.
func BenchmarkDAG(b *testing.B) {
	each(b, benchDAG)
}

func benchDAG(b *testing.B, open func() *node) {
	n := open()
	n.works.set(func(context.Context, *executor.Job) (jsontext.Value, error) {
		return jsontext.Value(`{"ok":true}`), nil
	})
	var tree strings.Builder
	tree.WriteString(`{"id":"r","name":"r"}`)
	for layer := range 10 {
		for i := range 100 {
			fmt.Fprintf(&tree, `,{"id":"t%d-%d","name":"t","parent_id":"r","schemas":{"method":"echo"},"dependencies":[`, layer, i)
			for k := range 5 {
				if layer > 0 {
					fmt.Fprintf(&tree, `%s"t%d-%d"`, ","[:min(k, 1)], layer-1, (i*7+k*13)%100)
				}
			}
			tree.WriteString(`]}`)
		}
	}
	b.ResetTimer()
	for range b.N {
		n.benchTree(b, `{"tasks":[`+tree.String()+`]}`)
	}
}

// BenchmarkChain executes 100 tasks one after the other.
func BenchmarkChain(b *testing.B) {
	each(b, benchChain)
}

func benchChain(b *testing.B, open func() *node) {
	n := open()
	n.works.set(func(context.Context, *executor.Job) (jsontext.Value, error) {
		return jsontext.Value(`{"ok":true}`), nil
	})
	var tree strings.Builder
	tree.WriteString(`{"id":"t0","name":"t","schemas":{"method":"echo"}}`)
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&tree, `,{"id":"t%d","name":"t","parent_id":"t0","schemas":{"method":"echo"},"dependencies":["t%d"]}`, i, i-1)
	}
	b.ResetTimer()
	took := time.Duration(0)
	for range b.N {
		took += n.benchTree(b, `{"tasks":[`+tree.String()+`]}`)
	}
	b.ReportMetric(took.Seconds()*1e3/float64(100*b.N), "ms/step")
}

// BenchmarkCreate keeps single tasks, one after the other from 64 clients.
func BenchmarkCreate(b *testing.B) {
	n := open(b, b.TempDir())
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			params := jsontext.Value(`{"name":"t","schemas":{"method":"echo"},"inputs":{"n":1}}`)
			tasks, top, err := task.DecodeTasks(params, task.Reading{Now: time.Now()})
			if err == nil {
				_, err = n.Create(b.Context(), engine.Caller{}, tasks, top, engine.Making{Request: params})
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkCancel is how long a cancel takes to reach a running executor: on
// PostgreSQL, given to one node and meant for whichever runs the task.
func BenchmarkCancel(b *testing.B) {
	each(b, func(b *testing.B, open func() *node) {
		nodes := []*node{open()}
		if b.Name() == "BenchmarkCancel/postgres" {
			nodes = append(nodes, open())
		}
		stopped := make(chan time.Time, 1)
		for _, n := range nodes {
			n.works.set(func(ctx context.Context, _ *executor.Job) (jsontext.Value, error) {
				<-ctx.Done()
				stopped <- time.Now()
				return nil, ctx.Err()
			})
		}
		var all []time.Duration
		for b.Loop() {
			root, _ := nodes[0].execute(`{"name":"s","schemas":{"method":"echo"}}`)
			nodes[0].until(root, func(r task.Row) bool { return r.Phase == task.Running })
			begin := time.Now()
			if _, err := nodes[len(all)%len(nodes)].Cancel(b.Context(), engine.Caller{}, root, "", false); err != nil {
				b.Fatal(err)
			}
			all = append(all, (<-stopped).Sub(begin))
		}
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2].Seconds()*1e3, "p50-ms")
		b.ReportMetric(all[len(all)*95/100].Seconds()*1e3, "p95-ms")
	})
}

// BenchmarkStored is what a task costs with a thousand and a million others stored.
func BenchmarkStored(b *testing.B) {
	for _, stored := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(stored), func(b *testing.B) {
			n := open(b, b.TempDir())
			for made := 0; made < stored; {
				params := `{"id":"r","name":"r"}` + strings.Repeat(`,{"name":"t","parent_id":"r","schemas":{"method":"echo"},"inputs":{"n":1}}`, 999)
				tasks, top, err := task.DecodeTasks(jsontext.Value(`{"tasks":[`+params+`]}`), task.Reading{Now: time.Now()})
				if err == nil {
					_, err = n.Create(b.Context(), engine.Caller{}, tasks, top, engine.Making{})
				}
				if err != nil {
					b.Fatal(err)
				}
				made += len(tasks)
			}
			tree := `{"id":"r","name":"r"}` + strings.Repeat(`,{"name":"t","parent_id":"r","schemas":{"method":"echo"},"inputs":{"n":1}}`, 499)
			took, tasks := time.Duration(0), 0
			for b.Loop() {
				took += n.benchTree(b, `{"tasks":[`+tree+`]}`)
				tasks += 500
			}
			b.ReportMetric(float64(took.Microseconds())/float64(tasks), "µs/task")
		})
	}
}
