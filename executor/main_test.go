package executor

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/sandbox"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv("EXECUTOR_TEST_MCP") != "" {
		serveMCP() // the test program is also the MCP server that the tests start
		return
	}
	os.Exit(m.Run())
}

// trial is a job and what was told while it ran.
type trial struct {
	t    *testing.T
	job  *Job
	mu   sync.Mutex
	over bool
	told []string
	part []float64
	on   func(message string)
}

// try makes a job with the executor's own manifest.
func try(t *testing.T, e Executor, inputs string) *trial {
	t.Helper()
	tr := &trial{t: t}
	tr.job = &Job{Task: "t", Root: "t", Attempt: 1, Key: "key-of-the-run", Inputs: jsontext.Value(inputs), Manifest: e.Describe().Manifest, Progress: func(f float64, s string) {
		tr.mu.Lock()
		if tr.over {
			t.Errorf("progress after the end: %q", s)
		}
		tr.told, tr.part = append(tr.told, s), append(tr.part, f)
		on := tr.on
		tr.mu.Unlock()
		if on != nil {
			on(s)
		}
	}}
	return tr
}

func (tr *trial) run(ctx context.Context, e Executor) (jsontext.Value, error) {
	v, err := e.Execute(ctx, tr.job)
	tr.mu.Lock()
	tr.over = true
	tr.mu.Unlock()
	if err == nil && (!v.IsValid() || v.Kind() != '{') {
		tr.t.Errorf("the result is no JSON object: %s", v)
	}
	given := v
	if said, ok := errors.AsType[*Error](err); ok {
		given = said.Result
	}
	if schema := e.Describe().ResultSchema; schema != nil && given != nil {
		if wrong := task.CheckInputs(schema, given); wrong != nil {
			tr.t.Errorf("the result is not as its schema says: %s: %s: %s", wrong.Field, wrong.Reason, given)
		}
	}
	return v, err
}

func (tr *trial) progress() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.told, "|")
}

// read decodes a result.
func read[T any](t *testing.T, v jsontext.Value) (out T) {
	t.Helper()
	if err := json.Unmarshal(v, &out); err != nil {
		t.Fatalf("%v: %s", err, v)
	}
	return out
}

// wrong is the Error that was expected.
func wrong(t *testing.T, err error) *Error {
	t.Helper()
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		t.Fatalf("want an Error, got %v", err)
	}
	return e
}

// cancels runs a job, ends its context when something is told (or after a
// while, when nothing is), and sees that it returns soon.
func cancels(t *testing.T, e Executor, tr *trial, started <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tr.run(ctx, e)
		done <- err
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatalf("it ended by itself: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("it did not start")
	}
	begun := time.Now()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("cancelled after %v", took)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not end when it was cancelled")
	}
}

// network allows a test to reach its own servers.
var reachable = act.Manifest{TimeoutSeconds: 60, NetworkAllowed: true, MaxMemoryMB: 2048, MaxCPUPercent: 400}
