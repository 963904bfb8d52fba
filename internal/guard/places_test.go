package guard_test

import (
	"sync"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
)

// shows is a call that reads a file, and writes one that puts a text there.
func shows(id, path string) *act.Action { return fileCall(id, "read_file", "path", path) }

func writes(id, path, text string) *act.Action {
	return fileCall(id, "write_file", "path", path, "content", text)
}

func fileCall(id, tool string, args ...string) *act.Action {
	a := call("s", id, tool, "")
	a.Arguments, a.Content = nil, nil
	for i := 0; i < len(args); i += 2 {
		a.Content = append(a.Content, act.Leaf{Pointer: "/params/" + args[i], Text: args[i+1], Arg: args[i]})
		a.Digest[i] = byte(len(id) + len(args[i+1]))
	}
	return a
}

// TestHangingFiles: where a file lies is looked up once for each act, and while that takes the
// session answers others.
func TestHangingFiles(t *testing.T) {
	const masked = "DB=postgres://shop:[password removed]@localhost"
	for name, first := range map[string]*act.Action{"read": shows("2", "/srv/slow/.env"), "written back": writes("2", "/srv/slow/.env", masked)} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			looks := map[string]int{}
			begun, goOn := make(chan bool, 16), make(chan bool)
			n := open(t, t.TempDir(), func(c *guard.Config) {
				c.Policy = load(t, "version: 1\ndefault: allow\nrules: [{name: hide, on: tool.result, detect: secret, effect: modify, modify: redact}]")
				c.Places = func(path string) []string {
					mu.Lock()
					looks[path]++
					mu.Unlock()
					if path == "/srv/slow/.env" {
						begun <- true
						<-goOn
					}
					return []string{path, "id of " + path}
				}
			})
			n.decide(t, shows("1", "/srv/app/.env"))
			r := result("s", "1")
			r.Content = []act.Leaf{{Pointer: "/params/text", Text: "DB=postgres://shop:hunter2hunter2@localhost"}}
			r.Body = []byte(`{"params":{"text":"DB=postgres://shop:hunter2hunter2@localhost"}}`)
			if d, _ := n.decide(t, r); d.Effect != act.Modify {
				t.Fatalf("nothing is masked: %v", d.Reasons)
			}
			end := make(chan error, 1)
			go func() {
				_, _, err := n.Decide(t.Context(), first)
				end <- err
			}()
			<-begun
			if d, _ := n.decide(t, shows("3", "/srv/app/other")); d.Effect != act.Allow { // hangs, if the session is held
				t.Errorf("%v", d.Effect)
			}
			close(goOn)
			if err := <-end; err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for path, times := range looks {
				if times != 1 {
					t.Errorf("%s is looked up %d times", path, times)
				}
			}
		})
	}
}
