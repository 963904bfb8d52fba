package main

import (
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// build builds a program, named as go build names it, into a file.
func build(t *testing.T, file, name string, env ...string) {
	t.Helper()
	c := exec.Command("go", "build", "-o", file, name)
	c.Env = append(os.Environ(), env...)
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, text)
	}
}

// freeAddress is an address on this machine that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// TestWorkflows runs the example as it is documented, and the guide's snippets and
// commands: see testdata/workflow. The scripts find them in their folder, and whom
// tasks call on this machine.
func TestWorkflows(t *testing.T) {
	bin, modules := t.TempDir(), t.TempDir()
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	build(t, filepath.Join(bin, "prices"+suffix), "reeve.example/reeve/examples/workflow/prices")
	build(t, filepath.Join(bin, "own"+suffix), "reeve.example/reeve/examples/workflow/own")
	greet := filepath.Join(t.TempDir(), "greet.go")
	if err := os.WriteFile(greet, []byte(greetSource), 0o600); err != nil {
		t.Fatal(err)
	}
	build(t, filepath.Join(modules, "greet.wasm"), greet, "GOOS=wasip1", "GOARCH=wasm")
	model, tools, agent := httptest.NewServer(http.HandlerFunc(answerPrompt)), httptest.NewServer(toolServer()), newAgent()
	for _, s := range []*httptest.Server{model, tools, agent} {
		t.Cleanup(s.Close)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/workflow",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"ADDR", "PRICES"} {
				addr, err := freeAddress()
				if err != nil {
					return err
				}
				env.Setenv(name, addr)
			}
			env.Setenv("URL", "http://"+env.Getenv("ADDR"))
			env.Setenv("LLM", model.URL)
			env.Setenv("MCP", tools.URL)
			env.Setenv("A2A", agent.URL)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			for dir, from := range map[string]string{"examples/workflow": "../../examples/workflow", "docs/modules": modules} {
				if err := os.CopyFS(filepath.Join(env.WorkDir, dir), os.DirFS(from)); err != nil {
					return err
				}
			}
			for name, text := range snippets(t) {
				if err := os.WriteFile(filepath.Join(env.WorkDir, "docs", name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"ready": cmdReady, "capture": cmdCapture},
	})
}

// guide is the guide's text.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	block    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	fileName = regexp.MustCompile(`^# ([a-z0-9-]+\.yaml)\n`)
)

// snippets are the files in the guide: each begins with its name.
func snippets(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, b := range block.FindAllStringSubmatch(guide(t), -1) {
		if b[1] != "yaml" {
			continue
		}
		name := fileName.FindStringSubmatch(b[2])
		if name == nil || files[name[1]] != "" {
			t.Fatalf("a file in the guide does not begin with a name of its own:\n%s", b[2])
		}
		files[name[1]] = b[2]
	}
	return files
}

// Whatever the guide shows is run by testdata/workflow/guide.txtar.
func TestGuideIsRun(t *testing.T) {
	text, err := os.ReadFile("testdata/workflow/guide.txtar")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(string(text), " --yes ", " ") // it has no terminal to be asked at
	files := snippets(t)
	if len(files) < 10 {
		t.Errorf("the guide has %d files", len(files))
	}
	for name := range files {
		if !strings.Contains(script, " "+name) {
			t.Errorf("%s is not run", name)
		}
	}
	// Where the guide names an address, or an id, the script has a variable.
	here := strings.NewReplacer("http://127.0.0.1:8099", "http://$PRICES", "http://127.0.0.1:11434", "$LLM",
		"http://127.0.0.1:8001/mcp", "$MCP", "http://127.0.0.1:8002", "$A2A", " ID", " $ID")
	commands := 0
	for _, b := range block.FindAllStringSubmatch(guide(t), -1) {
		if b[1] == "go" {
			program, err := os.ReadFile("../../examples/workflow/own/main.go")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(program), b[2]) {
				t.Errorf("this is not in examples/workflow/own/main.go:\n%s", b[2])
			}
		}
		for line := range strings.Lines(b[2]) {
			line = strings.TrimSpace(line)
			if b[1] != "" || !strings.HasPrefix(line, "reeve ") || strings.Contains(line, "--database") { // which needs another program
				continue
			}
			commands++
			if line = "exec " + here.Replace(line); !strings.Contains(script, line+"\n") && !strings.Contains(script, line+" &") {
				t.Errorf("it is not run: %s", line)
			}
		}
	}
	if commands < 15 {
		t.Errorf("the guide has %d commands", commands)
	}
}

const greetSource = `package main

import (
	"fmt"
	"os"
)

func main() { fmt.Println("Hello", os.Args[1]) }
`

// answerPrompt is a model that knows one answer.
func answerPrompt(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || r.URL.Path != "/v1/chat/completions" || !strings.Contains(string(body), "capital of Norway") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"model":"tiny","choices":[{"index":0,"message":{"role":"assistant","content":"Oslo"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`)
}

// toolServer is an MCP server with a tool that counts letters.
func toolServer() http.Handler {
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Count int `json:"count"`
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "letters", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "count"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, out, error) {
			return nil, out{len(in.Text)}, nil
		})
		return s
	}, nil)
}

// greeter is an A2A agent that says hello.
type greeter struct{}

func (greeter) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(x, x.Message), nil) &&
			yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("Hello there")), nil) &&
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

func (greeter) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

func newAgent() *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	card := &a2a.AgentCard{
		Name: "greeter", Version: "1", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(s.URL+"/rpc", a2a.TransportProtocolJSONRPC)},
	}
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(greeter{})))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return s
}
