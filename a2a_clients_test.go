package reeve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/rawjson"
)

// boxes pass things between a test's programs: POST puts a body into the box of a
// path, GET takes one out, and waits until there is one.
func boxes(t *testing.T) (url string) {
	var mu sync.Mutex
	all := map[string]chan []byte{}
	box := func(path string) chan []byte {
		mu.Lock()
		defer mu.Unlock()
		if all[path] == nil {
			all[path] = make(chan []byte, 100)
		}
		return all[path]
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if len(body) == 0 {
				body = []byte("null")
			}
			token := rawjson.Quote(r.Header.Get("X-A2A-Notification-Token"))
			box(r.URL.Path) <- []byte(`{"token":` + string(token) + `,"body":` + string(body) + `}`)
			return
		}
		select {
		case b := <-box(r.URL.Path):
			w.Header().Set("Content-Type", "application/json")
			w.Write(b)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// The official clients of both versions do over each binding what there is to be
// done: they read the card, send, stream, get, list, cancel, subscribe again after a
// stream was dropped, and are told by push notifications.
func TestA2AClients(t *testing.T) {
	r := start(t, map[string]string{"a2a-grpc": "127.0.0.1:0", "tasks-allow-private": "true", "allow-private-callbacks": "true"})
	boxes := boxes(t)
	t.Run("all", func(t *testing.T) { // ends before the node does
		for _, c := range []struct{ environment, program string }{
			{"a2a-python-v1", "python_v1.py"}, {"a2a-python-v03", "python_v03.py"}, {"a2a-node-v1", "node_v1.mjs"}, {"a2a-node-v03", "node_v03.mjs"},
		} {
			t.Run(c.environment, func(t *testing.T) {
				t.Parallel()
				program, err := filepath.Abs(filepath.Join("a2a", "testdata", "clients", c.program))
				if err != nil {
					t.Fatal(err)
				}
				interpreter := ""
				if filepath.Ext(program) == ".py" {
					interpreter = needs.Python(t, c.environment)
				} else {
					interpreter, program = needs.Node(t), besideModules(t, needs.Dir(t, c.environment), program)
				}
				cmd := exec.CommandContext(t.Context(), interpreter, program)
				cmd.Env = append(os.Environ(), "REEVE_URL="+r.url, "BOXES_URL="+boxes, "REEVE_KEY="+r.keys[identity.Agent])
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, binding := range []string{"JSONRPC", "HTTP+JSON", "GRPC"} {
					if !strings.Contains(string(out), "passed "+binding+"\n") {
						t.Errorf("it says nothing of %s:\n%s", binding, out)
					}
				}
			})
		}
	})
}

// besideModules copies a program to where Node.js finds what it imports: modules
// are looked for in the folders above the program.
func besideModules(t *testing.T, environment, program string) string {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(environment, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, filepath.Base(program))
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}
