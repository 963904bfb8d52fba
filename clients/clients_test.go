// Package clients_test runs the clients' own tests, and their examples, against a
// real node.
package clients_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"reeve.example/reeve"
)

// node starts a node with a policy and returns its URL. settings are as on the
// command line of reeve serve.
func node(t *testing.T, policy string, settings map[string]string) (url string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"listen": "127.0.0.1:0", "data": filepath.Join(dir, "data"), "policy": file}
	for name, value := range settings {
		flags[name] = value
	}
	cfg, err := reeve.Load("", func(string) string { return "" }, flags)
	if err != nil {
		t.Fatal(err)
	}
	n, err := reeve.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- n.Serve(ctx, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case url = <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return url
}

// run runs a program in a folder with REEVE_URL set to the node's, and fails the
// test with all that it wrote if it does not end well.
func run(t *testing.T, dir, url string, program string, args ...string) (output string) {
	t.Helper()
	return runWith(t, dir, []string{"REEVE_URL=" + url}, program, args...)
}

// runWith runs a program in a folder with these variables besides the test's own.
func runWith(t *testing.T, dir string, env []string, program string, args ...string) (output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
