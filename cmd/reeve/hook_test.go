package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCodingAgent replays the session that examples/coding-agent tells of.
func TestCodingAgent(t *testing.T) {
	example, err := filepath.Abs("../../examples/coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 example,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLE", example)
			return nil
		},
	})
}

// BenchmarkHook measures a hook as an agent does: from the start of the process
// to its end. bare is the program doing nothing, the yardstick: what a node or a
// ledger of its own adds is the difference. small is what reeve-hook takes.
func BenchmarkHook(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "reeve")
	build := exec.Command("go", "build", "-o", dir+"/", ".", "reeve.example/reeve/cmd/reeve-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	node := exec.Command(program, "serve", "--listen", address, "--data", filepath.Join(dir, "node"))
	if err := node.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		node.Process.Kill()
		node.Wait()
	}()
	url := "http://" + address + "/"
	for tries := 0; ; tries++ {
		if resp, err := http.Get(url + "healthz"); err == nil {
			resp.Body.Close()
			break
		} else if tries > 400 {
			b.Fatal(err)
		}
		time.Sleep(25 * time.Millisecond)
	}
	trails := filepath.Join(dir, "trails")
	for _, c := range []struct {
		name, program string
		args          []string
	}{
		{"bare", "reeve", []string{"--version"}},
		{"small", "reeve-hook", []string{"hook", "--agent", "claude-code", "--trails", trails, "--url", url}},
		{"node", "reeve", []string{"hook", "--agent", "claude-code", "--trails", trails, "--url", url}},
		{"alone", "reeve", []string{"hook", "--agent", "claude-code", "--trails", trails, "--data", filepath.Join(dir, "own")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range b.N {
				cmd := exec.Command(filepath.Join(dir, c.program), c.args...)
				cmd.Stdin = bytes.NewReader(fmt.Appendf(nil, `{"session_id":"%s-%d","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_use_id":"t-%d"}`, c.name, i/8, i))
				out, err := cmd.Output()
				if err != nil || c.name != "bare" && string(out) != "{}\n" {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
