package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/aos/guarded"
	"reeve.example/reeve/internal/operator"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const card = "4000 0000 0000 0002" // which the tests' policy masks

// asked is a question to the guardian.
type asked struct {
	Method string `json:"method"`
	ID     int64  `json:"id"`
}

// line is the line to a node, which can break.
type line struct {
	*httptest.Server
	node  string
	fault func(asked) string // "lost", "cut", "error", or "" to let pass

	// calls are the questions about tool calls, as they came.
	calls chan []byte
}

func newLine(t *testing.T, node string) *line {
	l := &line{node: node, calls: make(chan []byte, 64), fault: func(asked) string { return "" }}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var a asked
		if err := json.Unmarshal(body, &a); err != nil {
			t.Error(err)
		}
		if a.Method == "steps/toolCallRequest" {
			l.calls <- body
		}
		switch fault := l.fault(a); fault {
		case "lost":
			panic(http.ErrAbortHandler)
		case "error":
			json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": a.ID, "error": map[string]any{"code": -32603, "message": "Internal error"}})
		default:
			answer, err := http.Post(l.node+"/aos", "application/json", bytes.NewReader(body))
			if err != nil || fault == "cut" {
				panic(http.ErrAbortHandler)
			}
			defer answer.Body.Close()
			w.Header().Set("Content-Type", "application/json")
			io.Copy(w, answer.Body)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// approve has a person agree to the next call that is asked about.
func (l *line) approve(ctx context.Context, person *operator.Client) error {
	// The same question again is a repeat, which says what is held.
	answer, err := http.Post(l.node+"/aos", "application/json", bytes.NewReader(<-l.calls))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var told struct{ Result aos.Result }
	if err := json.NewDecoder(answer.Body).Decode(&told); err != nil {
		return err
	}
	if !told.Result.Pending() {
		return errors.New("the call is not held")
	}
	path := "/approvals/" + told.Result.Data.Approval.ID
	var held struct {
		Seen string `json:"seen"`
	}
	if err := person.Ask(ctx, "GET", path, nil, &held); err != nil {
		return err
	}
	var answered any
	return person.Ask(ctx, "POST", path, map[string]string{"answer": "approve", "seen": held.Seen}, &answered)
}

// tools are what agents call in the tests; each tells what it got.
type tools struct {
	mu  sync.Mutex
	ran []string
}

func (r *tools) call(name string, args map[string]any) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := ""
	for _, value := range args {
		first = value.(string)
	}
	r.ran = append(r.ran, name+" "+first)
	switch name {
	case "write_file":
		return "wrote " + first, nil
	case "turned":
		turned := []byte(first)
		slices.Reverse(turned)
		return string(turned), nil
	case "breaks":
		return "", errors.New("it broke")
	}
	return "did " + name + " " + first, nil
}

// goFrameworks are the ways in which Go programs call tools. Each sets up the tools, guarded
// for an agent, and returns what calls one and says what its caller got.
var goFrameworks = map[string]func(*testing.T, *guarded.Agent, *tools) func(ctx context.Context, name string, args map[string]any) (string, error){
	"a call": func(t *testing.T, agent *guarded.Agent, r *tools) func(context.Context, string, map[string]any) (string, error) {
		return func(ctx context.Context, name string, args map[string]any) (string, error) {
			out, err := agent.From(ctx, "").Call(ctx, name, args, func(_ context.Context, args guarded.Arguments) (guarded.Output, error) {
				text, err := r.call(name, args)
				return guarded.Output{Texts: []string{text}}, err
			})
			return strings.Join(out.Texts, "\n"), err
		}
	},
	"an MCP server": func(t *testing.T, agent *guarded.Agent, r *tools) func(context.Context, string, map[string]any) (string, error) {
		server := mcpServer(r)
		guardServer(server, agent)
		return mcpSession(t, server, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil))
	},
	"an MCP client": func(t *testing.T, agent *guarded.Agent, r *tools) func(context.Context, string, map[string]any) (string, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
		guardClient(client, agent)
		return mcpSession(t, mcpServer(r), client)
	},
	"an HTTP handler": func(t *testing.T, agent *guarded.Agent, r *tools) func(context.Context, string, map[string]any) (string, error) {
		server := httptest.NewServer(guardHandler(agent, httpTool(r)))
		t.Cleanup(server.Close)
		return func(ctx context.Context, name string, args map[string]any) (string, error) {
			body, _ := json.Marshal(args)
			answer, err := http.Post(server.URL+"/tools/"+name, "application/json", bytes.NewReader(body))
			if err != nil {
				return "", err
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode == http.StatusServiceUnavailable {
				return "", errors.New(string(text))
			}
			return string(text), nil
		}
	},
}

// httpTool serves the tools: the name is the end of the path, the body the arguments.
func httpTool(r *tools) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var args map[string]any
		if err := json.NewDecoder(req.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, err := r.call(filepath.Base(req.URL.Path), args)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		io.WriteString(w, text)
	})
}

func mcpServer(r *tools) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	for _, name := range []string{"note", "wipe_disk", "write_file", "turned", "transfer", "breaks"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			text, err := r.call(name, args)
			if err != nil {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, IsError: true}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: map[string]any{"text": text}}, nil
		})
	}
	return server
}

func mcpSession(t *testing.T, server *mcp.Server, client *mcp.Client) func(context.Context, string, map[string]any) (string, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := client.Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return func(ctx context.Context, name string, args map[string]any) (string, error) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return "", err
		}
		b, err := json.Marshal(result)
		return string(b), err
	}
}

// TestGoFrameworks: the table that every adapter has to pass, for tools of Go programs.
func TestGoFrameworks(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	url := node(t, readFile(t, "python", "tests", "policy.yaml"), map[string]string{"data": data})
	backwards := []byte(card)
	slices.Reverse(backwards)
	for framework, setUp := range goFrameworks {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			for _, test := range []struct {
				name, tool, argument string
				method, fault        string // which question is answered badly, and how
				got, never, ran      string // what the caller reads, and does not; what ran
				fails                bool   // the caller gets an error
			}{
				{name: "allowed", tool: "note", argument: "hello", got: "did note hello", ran: "note hello"},
				{name: "denied", tool: "wipe_disk", argument: "old", got: "Nothing is wiped here. Instead: Move it to the archive."},
				{name: "arguments changed", tool: "write_file", argument: "/srv/passwd", got: "wrote /workspace/file", ran: "write_file /workspace/file"},
				{name: "result changed", tool: "turned", argument: string(backwards), got: "****", never: card, ran: "turned " + string(backwards)},
				{name: "result denied", tool: "turned", argument: "egap neddibrof a", got: "This is forbidden.", never: "a forbidden page", ran: "turned egap neddibrof a"},
				{name: "pending", tool: "transfer", argument: "7", got: "second pair of eyes"},
				{name: "killed before", tool: "note", argument: "hello", method: "steps/toolCallRequest", fault: "lost", fails: true},
				{name: "killed during", tool: "note", argument: "hello", method: "steps/toolCallRequest", fault: "cut", fails: true},
				{name: "error answered", tool: "note", argument: "hello", method: "steps/toolCallRequest", fault: "error", fails: true},
				{name: "killed after", tool: "turned", argument: "olleh", method: "steps/toolCallResult", fault: "lost", never: "hello", ran: "turned olleh", fails: true},
				{name: "cut after", tool: "turned", argument: "olleh", method: "steps/toolCallResult", fault: "cut", never: "hello", ran: "turned olleh", fails: true},
			} {
				l, r := newLine(t, url), new(tools)
				agent := &guarded.Agent{Client: &aos.Client{URL: l.URL, Retries: -1}, Self: aos.Agent{ID: "clerk", Name: "Clerk"}}
				call := setUp(t, agent, r)
				if test.method != "" {
					l.fault = func(a asked) string {
						if a.Method == test.method {
							return test.fault
						}
						return ""
					}
				}
				got, err := call(t.Context(), test.tool, map[string]any{"text": test.argument})
				if test.tool == "write_file" { // the policy names the argument
					got, err = call(t.Context(), test.tool, map[string]any{"path": test.argument})
				}
				told := got
				if err != nil {
					told = err.Error()
				}
				var denied *guarded.Denied
				if (err != nil && !errors.As(err, &denied)) != test.fails {
					t.Errorf("%s: %v", test.name, err)
				}
				if !strings.Contains(told, test.got) || test.never != "" && strings.Contains(told, test.never) {
					t.Errorf("%s: the caller reads %q, want %q and not %q", test.name, told, test.got, test.never)
				}
				if ran := strings.Join(r.ran, ", "); !strings.HasSuffix(ran, test.ran) || test.ran == "" && ran != "" {
					t.Errorf("%s: %q ran, want %q", test.name, ran, test.ran)
				}
			}
		})
		t.Run(framework+", approved", func(t *testing.T) {
			t.Parallel()
			l, r := newLine(t, url), new(tools)
			agent := &guarded.Agent{Client: &aos.Client{URL: l.URL}, Self: aos.Agent{Name: "clerk"}, Wait: time.Minute}
			call := setUp(t, agent, r)
			done := make(chan error, 1)
			go func() { done <- l.approve(t.Context(), operator.Dial(t.Context(), data)) }()
			got, err := call(t.Context(), "transfer", map[string]any{"text": framework})
			if err != nil || !strings.Contains(got, "did transfer") {
				t.Errorf("%q, %v", got, err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGoInputs: what a tool asks the person of in the midst of a call, and what is answered, is judged, on a guarded
// server and in a guarded client, in the present version of MCP and in older ones.
func TestGoInputs(t *testing.T) {
	t.Parallel()
	url := node(t, readFile(t, "python", "tests", "policy.yaml"), nil)
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		for _, side := range []string{"server", "client", "nobody"} {
			for _, test := range []struct{ question, answer, asked, told string }{
				{"Which file?", "notes", "Which file?", "notes"},
				{"Is it " + card + "?", "notes", "Is it ****?", "notes"},
				{"Which card?", "it is " + card, "Which card?", "it is ****"},
				{"Something forbidden?", "notes", "", ""},
				{"Which file?", "a forbidden one", "Which file?", ""},
			} {
				t.Run(strings.Join([]string{version, side, test.question, test.answer}, ", "), func(t *testing.T) {
					t.Parallel()
					agent := newAgent(url)
					var asked, told string
					server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
					server.AddTool(&mcp.Tool{Name: "note", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						if len(r.Params.InputResponses) == 0 {
							schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
							return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"which": &mcp.ElicitParams{Message: test.question, RequestedSchema: schema}}}, nil
						}
						told = r.Params.InputResponses["which"].(*mcp.ElicitResult).Content["name"].(string)
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
					})
					answer := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked = r.Params.Message
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": test.answer}}, nil
					}
					client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: answer})
					switch side {
					case "server":
						guardServer(server, agent)
					case "client":
						client = answeringClient(agent, answer)
						guardClient(client, agent)
					}
					here, there := mcp.NewInMemoryTransports()
					if _, err := server.Connect(t.Context(), there, nil); err != nil {
						t.Fatal(err)
					}
					session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					session.CallTool(t.Context(), &mcp.CallToolParams{Name: "note", Arguments: map[string]any{}})
					wantAsked, wantTold := test.asked, test.told
					if side == "nobody" { // so that the test asks what it should
						wantAsked, wantTold = test.question, test.answer
					}
					if asked != wantAsked || told != wantTold {
						t.Errorf("the person was asked %q, and the tool told %q; want %q and %q", asked, told, wantAsked, wantTold)
					}
				})
			}
		}
	}
}

// TestGoTransport: a client's requests are calls, and its answers results.
func TestGoTransport(t *testing.T) {
	t.Parallel()
	l := newLine(t, node(t, readFile(t, "python", "tests", "policy.yaml"), nil))
	var got []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+string(body)+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/card":
			io.WriteString(w, "it is "+card)
		case "/trap":
			io.WriteString(w, "a forbidden page")
		case "/picture":
			w.Write([]byte{0xff, 0xd8})
		case "/away":
			http.Redirect(w, r, "/forbidden", http.StatusFound)
		}
	}))
	t.Cleanup(site.Close)
	client := guardedClient(newAgent(l.URL))
	ask := func(path, body string) (string, error) {
		r, err := http.NewRequest("POST", site.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer own")
		answer, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	if text, err := ask("/card", "for "+card); text != "it is ****" || err != nil || got[0] != "POST /card for **** Bearer own" {
		t.Errorf("%q, %v; sent %q", text, err, got)
	}
	var denied *guarded.Denied
	for _, path := range []string{"/trap", "/forbidden", "/away"} {
		if _, err := ask(path, "x"); !errors.As(err, &denied) || !strings.Contains(err.Error(), "Ask for something else.") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ask("/picture", "x"); err == nil || !strings.Contains(err.Error(), "cannot be judged") {
		t.Errorf("a picture: %v", err)
	}
	if _, err := ask("/note", "\xff"); err == nil || !strings.Contains(err.Error(), "cannot be judged") {
		t.Errorf("a body that is no text: %v", err)
	}
	sent := len(got)
	l.fault = func(asked) string { return "lost" }
	if _, err := ask("/note", "x"); err == nil || len(got) != sent {
		t.Errorf("without a guardian %q was sent: %v", got[sent:], err)
	}
	for _, sent := range got {
		if strings.Contains(sent, "/forbidden") {
			t.Errorf("%q was sent", sent)
		}
	}
	if text, err := shout(t.Context(), newAgent(l.node).Turn("", "").Of("below"), "hello"); text != "HELLO" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestGoTransportRedirect: what a caller sends to one host, in whatever header, no other one reads: neither the first that
// an answer leads to, nor one behind it.
func TestGoTransportRedirect(t *testing.T) {
	t.Parallel()
	l := newLine(t, node(t, readFile(t, "python", "tests", "policy.yaml"), nil))
	secrets := http.Header{"Authorization": {"Bearer own"}, "Cookie": {"own=1"}, "X-Api-Key": {"own"}, "Token": {"own"}, "Referer": {"https://own.example/?own"}}
	var got []string
	var there *httptest.Server
	note := func(w http.ResponseWriter, r *http.Request) {
		var told []string
		for name := range secrets {
			if strings.Contains(strings.Join(r.Header[name], ""), "own") {
				told = append(told, name)
			}
		}
		got = append(got, fmt.Sprint(r.URL.Path, " ", len(told), " ", r.Header.Get("Accept")))
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/same", http.StatusFound)
		case "/same":
			http.Redirect(w, r, there.URL+"/there", http.StatusFound)
		case "/there":
			http.Redirect(w, r, "/on", http.StatusFound)
		}
	}
	here := httptest.NewServer(http.HandlerFunc(note))
	there = httptest.NewServer(http.HandlerFunc(note))
	t.Cleanup(here.Close)
	t.Cleanup(there.Close)
	r, err := http.NewRequest("GET", here.URL+"/here", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = secrets.Clone()
	r.Header.Set("Accept", "text/plain")
	answer, err := guardedClient(newAgent(l.URL)).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if want := []string{"/here 5 text/plain", "/same 5 text/plain", "/there 0 text/plain", "/on 0 text/plain"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if asked := len(l.calls); asked != 4 {
		t.Errorf("%d calls were asked about, want each", asked)
	}
}

// TestGoHandlerInputs: wherever a handler reads its inputs from, it finds those that were judged.
func TestGoHandlerInputs(t *testing.T) {
	t.Parallel()
	url := node(t, readFile(t, "python", "tests", "policy.yaml"), nil)
	const given = "/srv/passwd" // of write_file, in whose place the policy puts another path
	formRead := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.FormValue("path")
			next.ServeHTTP(w, r)
		})
	}
	asItIs := func(next http.Handler) http.Handler { return next }
	for name, test := range map[string]struct {
		before      func(http.Handler) http.Handler
		query, body string
		kind        string
		status      int
	}{
		"query":                         {asItIs, "?path=" + given, "", "", 200},
		"query and a body of no length": {asItIs, "?path=" + given, "\x00", "", 200},
		"query, read before":            {formRead, "?path=" + given, "", "", 200},
		"body":                          {asItIs, "", `{"path": "` + given + `"}`, "application/json", 200},
		"body and a form, read before":  {formRead, "", "path=" + given, "application/x-www-form-urlencoded", 403},
		"query that cannot be read":     {asItIs, "?path=" + given + ";x", `{"path": "` + given + `"}`, "application/json", 400},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			tool := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				found = append(found, string(body), r.FormValue("path"), r.PostFormValue("path"), r.URL.String(), r.RequestURI)
			})
			server := httptest.NewServer(test.before(guardHandler(newAgent(url), tool)))
			defer server.Close()
			var body io.Reader = strings.NewReader(test.body)
			if test.body == "\x00" {
				body = io.MultiReader() // sent in chunks, of which there is none
			}
			answer, err := http.Post(server.URL+"/write_file"+test.query, test.kind, body)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if told := strings.Join(found, " "); answer.StatusCode != test.status || strings.Contains(told, "passwd") {
				t.Errorf("status %d; the tool found %q", answer.StatusCode, found)
			}
		})
	}
}

// TestGoHandlerLong: of an answer that is too long to be judged nothing is given on, though its
// handler writes on.
func TestGoHandlerLong(t *testing.T) {
	t.Parallel()
	tool := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "before ")
		if r.URL.Path == "/long" {
			w.Write(make([]byte, guarded.MaxBody))
		}
		io.WriteString(w, "after")
	})
	server := httptest.NewServer(guardHandler(newAgent(node(t, readFile(t, "python", "tests", "policy.yaml"), nil)), tool))
	t.Cleanup(server.Close)
	for path, want := range map[string]string{"/short": "201 before after", "/long": "503 The guardian could not be asked, or the result could not be judged.\n"} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if got := fmt.Sprintf("%d %s", answer.StatusCode, text); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
}

// TestGoDocs: the page's code is what the tests above run.
func TestGoDocs(t *testing.T) {
	t.Parallel()
	code := readFile(t, "go_guard_test.go")
	snippets := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readFile(t, "..", "docs", "frameworks", "go.md"), -1)
	if len(snippets) < 3 {
		t.Fatalf("the page has %d snippets", len(snippets))
	}
	for _, snippet := range snippets {
		if !strings.Contains(code, snippet[1]) {
			t.Errorf("this is not in go_guard_test.go:\n%s", snippet[1])
		}
	}
}
