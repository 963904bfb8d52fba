package agent

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"reeve.example/reeve/aos"

	"github.com/google/go-cmp/cmp"
)

// guardian is a guardian whose answers a test gives. It sees requests as they
// travel.
type guardian struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // methods
	// answer gets a request as JSON and returns the result's members.
	answer func(method, request string) map[string]any
}

func newGuardian(t *testing.T, answer func(method, request string) map[string]any) *guardian {
	g := &guardian{answer: answer}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw stdjson.RawMessage
		var request struct {
			ID     stdjson.RawMessage
			Method string
		}
		if stdjson.NewDecoder(r.Body).Decode(&raw) != nil || stdjson.Unmarshal(raw, &request) != nil {
			t.Error("the guardian was sent no JSON")
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked = append(g.asked, request.Method)
		result := g.answer(request.Method, string(raw))
		if result == nil {
			result = allow()
		}
		stdjson.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
	}))
	t.Cleanup(g.Close)
	return g
}

func allow() map[string]any { return map[string]any{"decision": "allow", "message": "Fine."} }

func deny(message, instead string) map[string]any {
	return map[string]any{"decision": "deny", "message": message, "data": map[string]any{"instead": []string{instead}}}
}

// modify answers with the request in which old stands no more, but new.
func modify(request, old, new string) map[string]any {
	return map[string]any{"decision": "modify", "message": "Changed.", "reasonCode": []string{"pii.card"},
		"modifiedRequest": stdjson.RawMessage(strings.ReplaceAll(request, old, new))}
}

// newAgent returns an agent in a folder of its own, and the steps it made.
func newAgent(t *testing.T, g *guardian) (*Agent, *[]*Step) {
	t.Helper()
	steps := new([]*Step)
	a, err := New(Config{
		Guardian: &aos.Client{URL: g.URL, Retries: -1}, Dir: filepath.Join(t.TempDir(), "work"),
		User:  &aos.User{ID: "oda", Organization: aos.Organization{ID: "shop"}},
		Watch: func(s *Step) { *steps = append(*steps, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, steps
}

func call(tool string, inputs ...any) Move {
	m := Move{Kind: Call, Tool: tool}
	for i := 0; i < len(inputs); i += 2 {
		m.Inputs = append(m.Inputs, aos.Argument(inputs[i].(string), inputs[i+1]))
	}
	return m
}

func do(t *testing.T, a *Agent, m Move) *Step {
	t.Helper()
	s, err := a.Do(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestToolsAreReal(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/secret", http.StatusFound)
			return
		}
		fmt.Fprint(w, "<p>hello "+r.URL.Path+"</p>")
	}))
	defer page.Close()
	g := newGuardian(t, func(string, string) map[string]any { return nil })
	a, _ := newAgent(t, g)
	list := "cat notes/a.txt"
	if runtime.GOOS == "windows" {
		list = `type notes\a.txt`
	}
	os.MkdirAll(filepath.Join(a.cfg.Handbook), 0o755)
	os.WriteFile(filepath.Join(a.cfg.Handbook, "h.md"), []byte("Tea is at four.\n\nThe shelf is blue."), 0o644)
	for _, test := range []struct {
		move   Move
		want   string
		failed bool
		asked  []string
	}{
		{call("write_file", "path", "notes/a.txt", "content", "tea"), "wrote 3 bytes to notes/a.txt with mode 0644", false, nil},
		{call("read_file", "path", "notes/a.txt"), "tea", false, nil},
		{call("read_file", "path", "missing"), "open missing: no such file or directory", true, nil},
		{call("write_file", "path", "x", "content", "x", "mode", "999"), `the mode "999" is not one such as 0644`, true, nil},
		{call("shell", "command", list), "tea", false, nil},
		{call("shell", "command", "exit 3"), "the command ended with code 3", true, nil},
		{call("fetch_page", "url", page.URL+"/a"), "<p>hello /a</p>", false, nil},
		{call("fetch_page", "url", page.URL+"/moved"), "the page has moved to /secret; it was not followed", true, nil},
		{call("fetch_page", "url", "file:///etc/passwd"), `"file:///etc/passwd" is not an http or https address`, true, nil},
		{call("search_handbook", "query", "blue shelf"), "[h.md#2] The shelf is blue.", false,
			[]string{"steps/toolCallRequest", "steps/knowledgeRetrieval", "steps/toolCallResult"}},
		{call("remember", "text", "Tea at four."), "remembered", false,
			[]string{"steps/toolCallRequest", "steps/memoryStore", "steps/toolCallResult"}},
		{call("recall", "query", "tea"), "Tea at four.", false,
			[]string{"steps/toolCallRequest", "steps/memoryContextRetrieval", "steps/toolCallResult"}},
		{call("recall", "query", "coffee"), "nothing is remembered about it", false, nil},
		{call("wipe"), `there is no tool "wipe"`, true, nil},
	} {
		if test.asked == nil {
			test.asked = []string{"steps/toolCallRequest", "steps/toolCallResult"}
		}
		g.asked = nil
		s := do(t, a, test.move)
		if runtime.GOOS == "windows" && strings.Contains(test.want, "no such file") {
			s.Text = test.want
		}
		if s.Text != test.want || s.Failed != test.failed {
			t.Errorf("%s: %q, failed %v; want %q, %v", test.move.Tool, s.Text, s.Failed, test.want, test.failed)
		}
		if diff := cmp.Diff(test.asked, g.asked); diff != "" {
			t.Errorf("%s asked (-want +got):\n%s", test.move.Tool, diff)
		}
	}
}

// The tools do not hold back: what stops a write outside is the guardian.
func TestDeniedIsNotDone(t *testing.T) {
	verdict := allow()
	g := newGuardian(t, func(method, _ string) map[string]any {
		if method == "steps/toolCallRequest" {
			return verdict
		}
		return nil
	})
	a, _ := newAgent(t, g)
	outside := filepath.Join(filepath.Dir(a.cfg.Dir), "outside.txt")
	move := call("write_file", "path", "../outside.txt", "content", "x")

	verdict = deny("That is outside.", "Write to drafts/.")
	s := do(t, a, move)
	if _, err := os.Stat(outside); !os.IsNotExist(err) {
		t.Fatal("a denied write was made")
	}
	if want := "The guardian denied this: That is outside.\nInstead: Write to drafts/."; !s.Denied || s.Text != want {
		t.Errorf("the plan was told %q, want %q", s.Text, want)
	}
	if n := len(g.asked); n != 1 {
		t.Errorf("a denied call was followed by %v", g.asked[1:])
	}

	verdict = allow()
	do(t, a, move)
	if _, err := os.Stat(outside); err != nil {
		t.Error("an allowed write was not made: the tool is not as able as the test needs it to be")
	}
}

func TestModifiedIsWhatCounts(t *testing.T) {
	t.Run("inputs", func(t *testing.T) {
		g := newGuardian(t, func(method, request string) map[string]any {
			if method == "steps/toolCallRequest" {
				return modify(request, "4000 0000 0000 0002", "****")
			}
			return nil
		})
		a, _ := newAgent(t, g)
		s := do(t, a, call("write_file", "path", "a.txt", "content", "card 4000 0000 0000 0002"))
		text, err := os.ReadFile(filepath.Join(a.cfg.Dir, "a.txt"))
		if err != nil || string(text) != "card ****" {
			t.Errorf("written: %q, %v", text, err)
		}
		want := []Change{{"content", "card 4000 0000 0000 0002", "card ****"}}
		if diff := cmp.Diff(want, s.Answers[0].Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if want := `(The guardian changed content to "card ****".)`; !strings.HasPrefix(s.Text, want) {
			t.Errorf("the plan was told %q", s.Text)
		}
	})
	t.Run("tool", func(t *testing.T) {
		g := newGuardian(t, func(method, request string) map[string]any {
			if method == "steps/toolCallRequest" {
				return modify(request, `"toolId":"write_file"`, `"toolId":"read_file"`)
			}
			return nil
		})
		a, _ := newAgent(t, g)
		do(t, a, call("write_file", "path", "a.txt", "content", "x"))
		if _, err := os.Stat(filepath.Join(a.cfg.Dir, "a.txt")); !os.IsNotExist(err) {
			t.Error("the tool that was called is not that of the modified request")
		}
	})
	for name, test := range map[string]struct {
		method string
		move   Move
	}{
		"result":    {"steps/toolCallResult", call("read_file", "path", "s.txt")},
		"knowledge": {"steps/knowledgeRetrieval", call("search_handbook", "query", "sesame")},
		"memory":    {"steps/memoryContextRetrieval", call("recall", "query", "sesame")},
		"user":      {"steps/message", Move{Kind: Hear, Text: "open sesame"}},
		"agent":     {"steps/message", Move{Kind: Say, Text: "open sesame"}},
		"event":     {"steps/agentTrigger", Move{Kind: Wake, Text: "open sesame", Event: aos.AgentTriggerEvent{Type: "email", ID: "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuardian(t, func(method, request string) map[string]any {
				if method == test.method {
					return modify(request, "sesame", "door")
				}
				return nil
			})
			a, _ := newAgent(t, g)
			os.WriteFile(filepath.Join(a.cfg.Dir, "s.txt"), []byte("open sesame"), 0o600)
			os.MkdirAll(a.cfg.Handbook, 0o755)
			os.WriteFile(filepath.Join(a.cfg.Handbook, "s.md"), []byte("open sesame"), 0o600)
			a.store("open sesame")
			s := do(t, a, test.move)
			if !strings.HasSuffix(s.Text, "open door") || strings.Contains(s.Text, "sesame") {
				t.Errorf("what came through: %q", s.Text)
			}
		})
	}
	t.Run("store", func(t *testing.T) {
		g := newGuardian(t, func(method, request string) map[string]any {
			if method == "steps/memoryStore" {
				return modify(request, "sesame", "door")
			}
			return nil
		})
		a, _ := newAgent(t, g)
		do(t, a, call("remember", "text", "open sesame"))
		if got, _ := a.remembered(""); len(got) != 1 || got[0] != "open door" {
			t.Errorf("remembered: %q", got)
		}
	})
}

// What is denied on the way back is seen by nobody.
func TestDeniedContent(t *testing.T) {
	for method, move := range map[string]Move{
		"steps/toolCallResult":         call("read_file", "path", "s.txt"),
		"steps/knowledgeRetrieval":     call("search_handbook", "query", "sesame"),
		"steps/memoryContextRetrieval": call("recall", "query", "sesame"),
		"steps/memoryStore":            call("remember", "text", "sesame twice"),
		"steps/message":                {Kind: Say, Text: "sesame"},
		"steps/agentTrigger":           {Kind: Wake, Text: "sesame", Event: aos.AgentTriggerEvent{Type: "email", ID: "1"}},
	} {
		g := newGuardian(t, func(m, _ string) map[string]any {
			if m == method {
				return deny("No.", "")
			}
			return nil
		})
		a, _ := newAgent(t, g)
		os.WriteFile(filepath.Join(a.cfg.Dir, "s.txt"), []byte("open sesame"), 0o600)
		os.MkdirAll(a.cfg.Handbook, 0o755)
		os.WriteFile(filepath.Join(a.cfg.Handbook, "s.md"), []byte("open sesame"), 0o600)
		a.store("open sesame")
		s := do(t, a, move)
		if !s.Denied || strings.Contains(s.Text, "sesame") {
			t.Errorf("%s: denied %v, and what came through is %q", method, s.Denied, s.Text)
		}
		if g.asked[len(g.asked)-1] != method {
			t.Errorf("%s: after the denial the agent went on to %v", method, g.asked)
		}
		if got, _ := a.remembered("twice"); len(got) != 0 {
			t.Errorf("%s: stored all the same: %q", method, got)
		}
	}
}

// No answer, or none that can be understood, stops the agent.
func TestFailsClosed(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"down":  nil,
		"error": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", http.StatusInternalServerError) },
		"shrug": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"decision":"maybe","message":"hm"}}`)
		},
		"modify without a request": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"decision":"modify","message":"hm"}}`)
		},
	} {
		server := httptest.NewServer(handler)
		if handler == nil {
			server.Close()
		} else {
			defer server.Close()
		}
		dir := t.TempDir()
		a, err := New(Config{Guardian: &aos.Client{URL: server.URL, Retries: -1}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := ParseScript([]byte("steps:\n  - call: write_file\n    with: {path: a.txt, content: x}\n  - say: done\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context(), plan); err == nil {
			t.Errorf("%s: the agent went on", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.txt")); !os.IsNotExist(err) {
			t.Errorf("%s: the file was written", name)
		}
	}
}

// The guardian goes away between the call and its result.
func TestFailsClosedHalfWay(t *testing.T) {
	g := newGuardian(t, func(method, _ string) map[string]any {
		if method == "steps/toolCallResult" {
			return map[string]any{"decision": "?"}
		}
		return nil
	})
	a, steps := newAgent(t, g)
	plan, _ := ParseScript([]byte("steps:\n  - call: remember\n    with: {text: a}\n  - say: done\n"), nil)
	if err := a.Run(t.Context(), plan); err == nil || len(*steps) != 0 || g.asked[len(g.asked)-1] != "steps/toolCallResult" {
		t.Errorf("error %v, and %d steps were shown", err, len(*steps))
	}
}

// What the agent declares fits what its tools read.
func TestContext(t *testing.T) {
	var request string
	g := newGuardian(t, func(_, r string) map[string]any { request = r; return nil })
	a, _ := newAgent(t, g)
	do(t, a, Move{Kind: Hear, Text: "hello"})
	do(t, a, Move{Kind: Say, Text: "hello", Cite: []aos.Source{aos.SiteSource("http://a.example/")}})
	var got struct {
		Params aos.MessageParams `json:"params"`
	}
	if err := stdjson.Unmarshal([]byte(request), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Params.Context
	if c.TurnID != "turn-1" || c.StepID != "step-2" || c.Session.ID != a.Session() || c.User.ID != "oda" || c.Timestamp.IsZero() {
		t.Errorf("context: %+v", c)
	}
	var ids []string
	for _, tool := range c.Agent.Tools {
		ids = append(ids, tool.ID)
	}
	want := []string{"read_file", "write_file", "shell", "fetch_page", "search_handbook", "remember", "recall"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("declared tools (-want +got):\n%s", diff)
	}
	if got.Params.Message.ID != "message-2" || got.Params.Message.Role != aos.RoleAgent || len(got.Params.Citation) != 1 {
		t.Errorf("message: %+v", got.Params)
	}
}
