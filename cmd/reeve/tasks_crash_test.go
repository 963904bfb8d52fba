package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"
)

// service is what the tasks of these tests call: it takes a moment, and counts the
// calls under each idempotency key.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int
	done  atomic.Int64 // calls that were answered
}

// works waits until so many calls are answered that what was under way when a node was
// killed is likely done: a task that takes its node down with it again and again is
// given up, and a test that kills faster than anybody works looks like one.
func (s *service) works(t *testing.T) {
	t.Helper()
	const enough = 200
	for until, end := s.done.Load()+enough, time.Now().Add(20*time.Second); s.done.Load() < until && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

func newService(t *testing.T) *service {
	s := &service{calls: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls[r.Header.Get("Idempotency-Key")]++
		s.mu.Unlock()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"ok":true}`)
		s.done.Add(1)
	}))
	t.Cleanup(s.Close)
	return s
}

// tree is a workflow of eight tasks: a root, three sources, and four that follow.
// Its ids are the client's, so that asking twice makes it once.
func (s *service) tree() (root task.ID, tasks []map[string]any) {
	ids := make([]task.ID, 8)
	for i := range ids {
		ids[i] = task.NewID(time.Now())
	}
	for i, id := range ids {
		t := map[string]any{"id": id.String(), "name": fmt.Sprint("t", i)}
		if i > 0 {
			t["parent_id"] = ids[0].String()
			t["schemas"] = map[string]any{"method": "rest_executor"}
			t["inputs"] = map[string]any{"url": s.URL, "method": "POST", "json": map[string]any{"n": i}}
		}
		if i > 3 {
			t["dependencies"] = []any{ids[i-3].String(), map[string]any{"id": ids[i-1].String(), "required": false}}
		}
		tasks = append(tasks, t)
	}
	return ids[0], tasks
}

// submit has trees executed until ctx ends, by whichever node answers, and returns
// the roots of those that were accepted.
func (s *service) submit(ctx context.Context, t *testing.T, nodes func() string) (roots []task.ID) {
	for ctx.Err() == nil {
		root, tasks := s.tree()
		for ctx.Err() == nil {
			call, cancel := context.WithTimeout(ctx, 2*time.Second)
			c := flow.NewClient(nodes(), "")
			_, err := c.Execute(call, flow.Execution{Tasks: tasks})
			cancel()
			var said *flow.Error
			// It exists: the answer to an earlier try was lost.
			if err == nil || errors.As(err, &said) && strings.Contains(said.Error(), "exists") {
				roots = append(roots, root)
				break
			}
			if errors.As(err, &said) && said.Code == task.CodeInvalid {
				t.Error(err)
				return roots
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return roots
}

// ended waits until all trees have ended, and checks that each task completed.
func ended(t *testing.T, store task.Store, roots []task.ID) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	again := 0
	for _, root := range roots {
		for {
			r, err := store.TaskRow(t.Context(), root)
			if err != nil {
				t.Fatalf("the tree %s is lost: %v", root, err)
			}
			if r.Open == 0 {
				break
			}
			if time.Now().After(deadline) {
				for _, x := range storetest.Tree(t, store, root) {
					t.Logf("%s: phase %d, attempt %d, unmet %d, node %q", x.Name, x.Phase, x.Attempt, x.Unmet, x.Node)
				}
				t.Fatalf("the tree %s does not end: %d tasks are open", root, r.Open)
			}
			time.Sleep(5 * time.Millisecond)
		}
		list := storetest.Tree(t, store, root)
		if len(list) != 8 {
			t.Fatalf("%d tasks", len(list))
		}
		for _, x := range list {
			if x.Phase != task.PhaseComplete {
				t.Errorf("%s is %s: %s", x.Name, x.Status(), x.Error)
			}
			if x.Attempt > 1 {
				again++
			}
		}
		events, err := store.TaskEvents(t.Context(), root, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if e.N != uint64(i)+1 {
				t.Fatalf("event %d of %s has the number %d", i+1, root, e.N)
			}
		}
	}
	t.Logf("%d trees ended; %d tasks started more than once", len(roots), again)
}

// once checks that each task was done, and at most once more for each node killed.
func (s *service) once(t *testing.T, roots []task.ID, kills int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) < 7*len(roots) {
		t.Errorf("%d tasks were done, of %d", len(s.calls), 7*len(roots))
	}
	for key, n := range s.calls {
		if n > 1+kills {
			t.Errorf("%s was done %d times", key, n)
		}
	}
}

// A node that is killed again and again in mid-tree loses no task, and its ledger holds.
func TestThreat01KillTasks(t *testing.T) {
	kills := *kills
	dir := filepath.Join(t.TempDir(), "data")
	s := newService(t)
	var url atomic.Value
	p := startNode(t, dir, "--tasks-allow-private")
	url.Store(p.url)
	ctx, cancel := context.WithCancel(context.Background())
	lists := make([][]task.ID, 4)
	var submitting sync.WaitGroup
	for i := range lists {
		submitting.Go(func() { lists[i] = s.submit(ctx, t, func() string { return url.Load().(string) }) })
	}
	for range kills {
		time.Sleep(200*time.Millisecond + rand.N(300*time.Millisecond))
		s.works(t)
		p.Process.Kill()
		p.Wait()
		p = startNode(t, dir, "--tasks-allow-private")
		url.Store(p.url)
	}
	cancel()
	submitting.Wait()
	var roots []task.ID
	for _, list := range lists {
		roots = append(roots, list...)
	}
	_, store := openReader(t, map[string]string{"data": dir})
	ended(t, store, roots)
	s.once(t, roots, kills)
	p.Process.Kill()
	p.Wait()
	if report, _ := readBack(t, dir); !report.OK() {
		t.Errorf("the ledger does not hold: %v", report.Problems)
	}
}

// Three nodes share the work on one PostgreSQL. Whichever is killed, every task of
// every tree ends.
func TestThreat01KillNodes(t *testing.T) {
	kills := *kills
	database := storetest.Postgres(t)
	s := newService(t)
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, []byte(strings.Repeat("07", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	nodes := make([]*process, 3)
	start := func(i int) {
		p := startNode(t, filepath.Join(t.TempDir(), fmt.Sprint("node", i)), "--tasks-allow-private", "--database", database, "--ledger-seed", "file:"+seed)
		mu.Lock()
		defer mu.Unlock()
		nodes[i] = p
	}
	for i := range nodes {
		start(i)
	}
	any := func() string {
		mu.Lock()
		defer mu.Unlock()
		return nodes[rand.IntN(len(nodes))].url
	}
	ctx, cancel := context.WithCancel(context.Background())
	lists := make([][]task.ID, 4)
	var submitting sync.WaitGroup
	for i := range lists {
		submitting.Go(func() { lists[i] = s.submit(ctx, t, any) })
	}
	for range kills {
		time.Sleep(300*time.Millisecond + rand.N(500*time.Millisecond))
		s.works(t)
		i := rand.IntN(len(nodes))
		nodes[i].Process.Kill()
		nodes[i].Wait()
		start(i)
	}
	cancel()
	submitting.Wait()
	// One of them stays away: the others do its work.
	nodes[0].Process.Kill()
	nodes[0].Wait()
	var roots []task.ID
	for _, list := range lists {
		roots = append(roots, list...)
	}
	cfg, store := openReader(t, map[string]string{"data": t.TempDir(), "database": database, "ledger-seed": "file:" + seed})
	ended(t, store, roots)
	s.once(t, roots, kills+1)
	for _, p := range nodes {
		p.Process.Kill()
		p.Wait()
	}
	logs, err := store.Logs(t.Context())
	if err != nil || len(logs) < 3 {
		t.Errorf("logs %v, %v", logs, err)
	}
	for _, log := range logs {
		key, err := cfg.LedgerKey(log)
		if err != nil {
			t.Fatal(err)
		}
		report, err := ledger.Verify(t.Context(), store, ledger.VerifyOptions{Log: log, TrustedKey: key})
		if err != nil || !report.OK() {
			t.Errorf("log %d does not hold: %v %v", log, err, report)
		}
	}
}
