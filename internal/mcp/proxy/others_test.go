package proxy

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/policy"
)

func build(t *testing.T, of string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", name, of).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

// starter is a proxy with the starter policy, and a rule that lets servers use the
// client's model.
func starter(t *testing.T) *Proxy {
	t.Helper()
	g := testGuard(t, testRules)
	set, err := policy.Load(append(policy.Starter(), policy.File{Name: "sampling.yaml", Data: []byte("version: 1\nname: sampling\ndefault: allow\n" +
		"rules:\n  - {name: may-use-the-model, on: mcp.request, when: 'action.inner_method == \"sampling/createMessage\"', effect: allow}\n")})...)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.SetPolicy(t.Context(), set, Here); err != nil {
		t.Fatal(err)
	}
	return &Proxy{Guardian: local(g), Server: "real"}
}

// everything starts the SDK's own conformance server. It names no port that it
// chose by itself, so that a free one is found for it.
func everything(t *testing.T, program string, flags ...string) (url string) {
	t.Helper()
	for range 5 { // somebody else can take the port before it does
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		cmd := exec.Command(program, append([]string{"-http", address}, flags...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() { cmd.Wait(); close(exited) }()
		t.Cleanup(func() { cmd.Process.Kill(); <-exited })
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			select {
			case <-exited:
				deadline = time.Time{}
				continue
			case <-time.After(10 * time.Millisecond):
			}
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				return "http://" + address + "/"
			}
		}
	}
	t.Fatal("the server does not listen")
	return ""
}

// TestConformance: through the proxy, with the starter policy, a server passes
// what it passes without it.
func TestConformance(t *testing.T) {
	t.Parallel()
	node, modules := needs.Node(t), filepath.Join(needs.Dir(t, "mcp-node"), "node_modules")
	program := build(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	const alpha = "conformance-alpha"
	newest := []string{"--suite", "all", "--spec-version", firstStateless}
	for _, tt := range []struct {
		name, suite, want string
		flags             []string // of the server; none: a command
		args              []string // of the suite
	}{
		{"0.1.16", "@modelcontextprotocol/conformance", "40 passed, 0 failed", []string{"-stateless=false"}, nil},
		{"0.2.0", alpha, "73 passed, 0 failed", []string{"-stateless=false"}, nil},
		{"0.1.16, stateless", "@modelcontextprotocol/conformance", "26 passed, 4 failed", []string{"-stateless"}, nil},
		{"0.2.0, stateless", alpha, "55 passed, 4 failed", []string{"-stateless"}, nil},
		{"2026-07-28", alpha, "153 passed, 0 failed", []string{"-stateless"}, newest},
		{"0.2.0, a command", alpha, "73 passed, 0 failed", nil, nil},
		// One or two checks less: what is answered at once is no stream, which on a busy machine
		// is so once more.
		{"2026-07-28, a command", alpha, "15[12] passed, 0 failed", nil, newest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var h http.Handler
			if p := starter(t); tt.flags == nil {
				programs := p.NewPrograms(t.Context(), Command(program))
				t.Cleanup(programs.Close)
				h = programs
			} else {
				to, err := p.NewHandler(everything(t, program, tt.flags...))
				if err != nil {
					t.Fatal(err)
				}
				h = to
			}
			url := strings.Replace(serve1(t, h), "127.0.0.1", "localhost", 1)
			suite := []string{filepath.Join(modules, tt.suite, "dist/index.js"), "server", "--url", url}
			out, _ := exec.Command(node, append(suite, tt.args...)...).CombinedOutput()
			if !regexp.MustCompile("Total: " + tt.want).Match(out) {
				t.Errorf("want %s:\n%s", tt.want, regexp.MustCompile(`(?m)^(✗|✓|Total).*`).FindAll(out, -1))
			}
		})
	}
}

// npm is a server from npm, over stdio.
func npm(t *testing.T, name string, args ...string) []string {
	program := filepath.Join(needs.Dir(t, "mcp-node"), "node_modules/@modelcontextprotocol", name, "dist/index.js")
	return append([]string{needs.Node(t), program}, args...)
}

// TestServers: real servers from npm, with the SDK's client.
func TestServers(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("card 491"+"6 3385 0608 2832\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MEMORY_FILE_PATH", filepath.Join(folder, "memory.json"))
	for _, tt := range []struct {
		server []string
		tool   string
		args   map[string]any
		want   string
	}{
		{npm(t, "server-everything", "stdio"), "echo", map[string]any{"message": "hello"}, "Echo: hello"},
		{npm(t, "server-filesystem", folder), "read_text_file", map[string]any{"path": filepath.Join(folder, "a.txt")}, "card ****"},
		{npm(t, "server-filesystem", folder), "read_text_file", map[string]any{"path": "/etc/shadow"}, "Passwords or keys are read."},
		{npm(t, "server-memory"), "create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ann", "entityType": "person", "observations": []any{"sails"}}}}, "[\n  {\n    \"name\": \"Ann\""},
	} {
		p := starter(t)
		c := connectStdio(t, p, Command(tt.server[0], tt.server[1:]...))
		list, err := c.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) < 5 {
			t.Errorf("%v, %v", list, err)
		}
		known, _, err := p.Guardian.(*Local).Pins.Servers(t.Context())
		if err != nil || len(known) != 1 {
			t.Fatal(known, err)
		}
		for _, tool := range known[0].Tools {
			if tool.Held != nil { // nothing speaks against what an honest server lists
				t.Errorf("%s is held: %q", tool.Name, tool.Held.Found)
			}
		}
		if got := askWith(t, c, tt.tool, tt.args); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s…", tt.tool, got, tt.want)
		}
	}
}

// TestClients: the official clients for Python and TypeScript, which start the
// program as they start any server.
func TestClients(t *testing.T) {
	node, reeve := needs.Node(t), build(t, "reeve.example/reeve/cmd/reeve")
	script := func(name string) string {
		path, err := filepath.Abs(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	h, err := starter(t).NewHandler(serveHTTP(t, false))
	if err != nil {
		t.Fatal(err)
	}
	over := func(client ...string) []string {
		return append(append(client, `[["echo",{"message":"hi"}],["get-sum",{"a":2,"b":3}],["none",{}],["echo",{"message":"4111 1111 1111 1111"}]]`,
			reeve, "mcp", "--data", t.TempDir(), "--"), npm(t, "server-everything", "stdio")...)
	}
	for _, tt := range []struct {
		name    string
		command []string
		want    []string
	}{
		{"Python", over(needs.Python(t, "mcp-python"), script("client.py")), everythingSays},
		{"TypeScript", over(node, script("client.mjs")), everythingSays},
		{"TypeScript over HTTP", []string{node, script("client.mjs"), `[["echo",{"text":"hi"}],["none",{}]]`, serve1(t, http.HandlerFunc(h.ServeHTTP))},
			[]string{"tool echo\n", `ok echo "echo: hi"`, `failed none "Denied by policy: The server lists no tool of this name.`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(tt.command[0], tt.command[1:]...)
			cmd.Dir = needs.Dir(t, "mcp-node") // where the script finds its libraries
			var said, wrong bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &wrong
			err := cmd.Run()
			for _, want := range tt.want {
				if !strings.Contains(said.String(), want) {
					t.Errorf("said\n%s%v %s, without\n%s", said.String(), err, wrong.String(), want)
				}
			}
		})
	}
}

var everythingSays = []string{
	"tool echo\n", `ok echo "Echo: hi"`, `ok get-sum "The sum of 2 and 3 is 5."`,
	`failed none "Denied by policy: The server lists no tool of this name.`, `ok echo "Echo: ****"`,
}
