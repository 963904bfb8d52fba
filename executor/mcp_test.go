package executor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// released lets go of calls that nobody cancelled.
var released = make(chan struct{})

// mcpServer is a real server. stopped is sent to when a call's context ended.
func mcpServer(stopped chan<- string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	type count struct {
		Count int `json:"count"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "counts letters"}, func(ctx context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, count, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 4, Message: "counting"})
		}
		return nil, count{len(in.Text)}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it went wrong")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, r *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "hanging"})
		select {
		case <-ctx.Done():
			if stopped != nil {
				stopped <- "hang"
			}
		case <-released: // a stateless server is told nothing
		}
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "where"}, func(_ context.Context, r *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, any, error) {
		said := os.Getenv("EXECUTOR_TEST_SECRET") + " " + os.Getenv("HOME")
		if r.Extra != nil {
			said += r.Extra.Header.Get("Authorization")
		}
		if b, err := os.ReadFile(os.Getenv("EXECUTOR_TEST_FILE")); err == nil {
			said += string(b)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "test://note", Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://note", MIMEType: "text/plain", Text: "noted"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "a greeting", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
	})
	return s
}

// serveMCP is the server over standard streams that tests start.
func serveMCP() {
	if os.Getenv("EXECUTOR_TEST_MCP") == "broken" {
		fmt.Fprintln(os.Stderr, "no way, says "+os.Getenv("EXECUTOR_TEST_SECRET"))
		os.Exit(3)
	}
	mcpServer(nil).Run(context.Background(), &mcp.StdioTransport{})
}

// mcpTargets are the same server over both transports: an executor, and the
// beginning of the inputs.
func mcpTargets(t *testing.T, stopped chan<- string) map[string]string {
	t.Helper()
	targets := map[string]string{}
	for name, stateless := range map[string]bool{"HTTP": false, "stateless HTTP": true} {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer(stopped) }, &mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		targets[name] = `{"url":"` + server.URL + `","headers":{"Authorization":"Bearer s3cret-value"},`
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	targets["standard streams"] = `{"command":[` + quote(self) + `],"env":{"EXECUTOR_TEST_MCP":"1","EXECUTOR_TEST_SECRET":"s3cret-value","EXECUTOR_TEST_FILE":"/etc/shadow","GORACE":"atexit_sleep_ms=0"},`
	return targets
}

func localMCP(t *testing.T) Executor {
	return NewMCP(MCPConfig{AllowPrivate: true, AllowCommands: true, Scratch: t.TempDir()})
}

// tryMCP makes a job whose manifest has room for the race detector.
func tryMCP(t *testing.T, e Executor, inputs string) *trial {
	tr := try(t, e, inputs)
	tr.job.Manifest = reachable
	return tr
}

func TestMCP(t *testing.T) {
	for name, target := range mcpTargets(t, make(chan string, 100)) {
		t.Run(name, func(t *testing.T) {
			e := localMCP(t)
			tr := tryMCP(t, e, target+`"tool":"count","arguments":{"text":"four"}}`)
			v, err := tr.run(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"content":[{"type":"text","text":"{\"count\":4}"}],"structuredContent":{"count":4},"is_error":false}`; string(v) != want {
				t.Errorf("%s", v)
			}
			if told := tr.progress(); told != "counting" || tr.part[0] != 0.25 {
				t.Errorf("told: %q %v", told, tr.part)
			}
			_, err = tryMCP(t, e, target+`"tool":"fail","arguments":{"text":"x"}}`).run(t.Context(), e)
			if failure := wrong(t, err); failure.Message != "the tool failed: it went wrong" || !strings.Contains(string(failure.Result), `"is_error":true`) {
				t.Errorf("a tool that fails: %+v", failure)
			}
			_, err = tryMCP(t, e, target+`"tool":"nothing"}`).run(t.Context(), e)
			if failure := wrong(t, err); !failure.Final || !strings.Contains(failure.Message, "nothing") {
				t.Errorf("a tool that is not there: %+v", failure)
			}
			v, err = tryMCP(t, e, target+`"resource":"test://note"}`).run(t.Context(), e)
			if err != nil || string(v) != `{"contents":[{"uri":"test://note","mimeType":"text/plain","text":"noted"}]}` {
				t.Errorf("a resource: %s, %v", v, err)
			}
			v, err = tryMCP(t, e, target+`"prompt":"greet","arguments":{"who":"Ada"}}`).run(t.Context(), e)
			if err != nil || !strings.Contains(string(v), `"text":"Hello Ada"`) || !strings.Contains(string(v), `"description":"a greeting"`) {
				t.Errorf("a prompt: %s, %v", v, err)
			}
			_, err = tryMCP(t, e, target+`"prompt":"greet","arguments":{"who":1}}`).run(t.Context(), e)
			if failure := wrong(t, err); !failure.Final {
				t.Errorf("a prompt's argument: %+v", failure)
			}
			v, err = tryMCP(t, e, target+`"tool":"where","arguments":{"text":""}}`).run(t.Context(), e)
			if err != nil || strings.Contains(string(v), "s3cret") || !strings.Contains(string(v), "***") || strings.Contains(string(v), "root:") {
				t.Errorf("what it sees: %s, %v", v, err)
			}
		})
	}
}

func TestMCPEnds(t *testing.T) {
	stopped := make(chan string, 100)
	for name, target := range mcpTargets(t, stopped) {
		t.Run(name, func(t *testing.T) {
			e := localMCP(t)
			inputs := target + `"tool":"hang","arguments":{"text":""}}`
			tr := tryMCP(t, e, inputs)
			up := make(chan struct{}, 8)
			tr.on = func(string) { up <- struct{}{} }
			cancels(t, e, tr, up)
			if name == "HTTP" {
				select {
				case <-stopped:
				case <-time.After(30 * time.Second):
					t.Error("the server was not told")
				}
			}
			start := time.Now()
			_, err := tryMCP(t, e, strings.TrimSuffix(inputs, "}")+`,"timeout":2}`).run(t.Context(), e)
			if failure := wrong(t, err); failure.Final || time.Since(start) > 30*time.Second {
				t.Errorf("its time: %+v after %v", failure, time.Since(start))
			}
		})
	}
	close(released)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		<-r.Context().Done()
	}))
	defer silent.Close()
	e := localMCP(t)
	_, err := tryMCP(t, e, `{"url":"`+silent.URL+`","tool":"x","timeout":0.5}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || !strings.Contains(failure.Message, "longer than") {
		t.Errorf("a server that never answers: %+v", failure)
	}
}

func TestMCPRefused(t *testing.T) {
	self, _ := os.Executable()
	e := localMCP(t)
	closed := NewMCP(MCPConfig{})
	redirect := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	defer redirect.Close()
	for name, c := range map[string]struct {
		e            Executor
		m            act.Manifest
		inputs, want string
		final        bool
	}{
		"no server":        {e, reachable, `{"tool":"t"}`, "is needed", true},
		"two servers":      {e, reachable, `{"url":"http://127.0.0.1:1","command":["x"],"tool":"t"}`, "not both", true},
		"nothing asked":    {e, reachable, `{"url":"http://127.0.0.1:1"}`, "only one", true},
		"two things asked": {e, reachable, `{"url":"http://127.0.0.1:1","tool":"t","prompt":"p"}`, "only one", true},
		"no commands":      {closed, reachable, `{"command":["x"],"tool":"t"}`, "starts no MCP servers", true},
		"a private one":    {closed, reachable, `{"url":"` + redirect.URL + `","tool":"t"}`, "not a public one", true},
		"no network":       {e, act.Manifest{TimeoutSeconds: 5}, `{"url":"` + redirect.URL + `","tool":"t"}`, "does not allow the network", true},
		"no such program":  {e, reachable, `{"command":["no-such-program"],"tool":"t"}`, "no-such-program", true},
		"not held":         {e, act.Manifest{TimeoutSeconds: 5}, `{"command":["` + self + `"],"tool":"t"}`, "max_memory_mb is 0", true},
		"a broken server":  {e, reachable, `{"command":["` + self + `"],"env":{"EXECUTOR_TEST_MCP":"broken","EXECUTOR_TEST_SECRET":"s3cret-value"},"tool":"t"}`, "did not answer", false},
		"a redirect":       {e, reachable, `{"url":"` + redirect.URL + `","tool":"t"}`, "was not reached", false},
	} {
		tr := try(t, c.e, c.inputs)
		tr.job.Manifest = c.m
		_, err := tr.run(t.Context(), c.e)
		failure := wrong(t, err)
		if failure.Final != c.final || !strings.Contains(failure.Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, failure, c.want)
		}
		if name == "a broken server" {
			said := read[struct {
				Stderr   string `json:"stderr"`
				ExitCode int    `json:"exit_code"`
			}](t, failure.Result)
			if said.ExitCode != 3 || said.Stderr != "no way, says ***\n" {
				t.Errorf("%s: %+v", name, said)
			}
		}
	}
}

// TestMCPHostile: lines that are no messages, and one that does not end.
func TestMCPHostile(t *testing.T) {
	e := localMCP(t)
	for name, line := range map[string]string{
		"garbage":  `while read l; do echo garbage; done`,
		"no end":   `read l; head -c 20000000 /dev/zero | tr '\0' x; sleep 30`,
		"an array": `read l; echo '[[[[[[]]]]]]'; sleep 1`,
		"silence":  `cat > /dev/null`,
	} {
		start := time.Now()
		tr := tryMCP(t, e, `{"command":["/bin/sh","-c",`+quote(line)+`],"tool":"t","timeout":4}`)
		if _, err := tr.run(t.Context(), e); err == nil || time.Since(start) > 40*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(start))
		}
	}
}
