// Package modelserver is a language model that says what a test tells it to: a server
// on loopback that speaks the protocols of OpenAI (Responses and Chat Completions),
// Anthropic (Messages) and Google (Gemini), plays scripts of words and tool calls to
// whatever coding agent asks, and remembers what the agent told it.
//
//	model := modelserver.Start(t)
//	model.Play("write it", modelserver.Call("write_file", map[string]any{…}), modelserver.Say("done"))
//	… // run the agent with the prompt "write it" and the base URL model.URL
//	model.Told("write it") // each thing that the model could read in that conversation
package modelserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Turn is one answer of the model: words, calls of tools, or both.
type Turn struct {
	Text  string
	Calls []ToolCall
	// Then makes the answer from what the model has been told, for scripts that need
	// something out of it, such as the id of a shell that is open.
	Then func(told string) Turn
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Name string
	// Namespace is the group of a tool, in Responses; empty for none.
	Namespace string
	Args      any
	// Text is the input of a tool that takes plain text instead of arguments.
	Text string
}

// Say is a turn of words, which ends an agent's turn.
func Say(text string) Turn { return Turn{Text: text} }

// Call is a turn that calls one tool.
func Call(name string, args any) Turn {
	return Turn{Calls: []ToolCall{{Name: name, Args: args}}}
}

// Calls is a turn that calls several tools at once.
func Calls(calls ...ToolCall) Turn { return Turn{Calls: calls} }

// Server is a model.
type Server struct {
	URL string

	mu     sync.Mutex
	plays  []*play
	calls  int // that were made, for their ids
	asides int // requests that belong to no script
	log    []string
}

// play is a script and how far it has come.
type play struct {
	prompt string
	turns  []Turn
	next   int
	told   []string // what the model was told, request by request
}

// Start starts a model, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// Play gives the turns of the conversation whose first prompt holds these words. A
// sub-agent's conversation is one of its own. After the last turn the model says "done".
func (s *Server) Play(prompt string, turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plays = append(s.plays, &play{prompt: prompt, turns: turns})
}

// Told is what the model was told in a conversation: the text of the last request of
// each turn, the prompt, the results of tools and all else but the tools' definitions.
func (s *Server) Told(prompt string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.plays {
		if p.prompt == prompt {
			return strings.Join(p.told, "\n")
		}
	}
	return ""
}

// Left is how many turns of a conversation have not been played.
func (s *Server) Left(prompt string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.plays {
		if p.prompt == prompt {
			return len(p.turns) - p.next
		}
	}
	return 0
}

// Log lists what was asked, for the message of a test that fails.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n")
}

// request is what a protocol reads from an agent's request.
type request struct {
	users  []string // what the user said, in order
	told   string   // all that the model can read
	tools  []string
	stream bool
	model  string
}

// maxRequest is the longest request that is read.
const maxRequest = 64 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return
	}
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		s.note("GET %s", path)
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted", "object": "model", "owned_by": "test"}}, "models": []any{}})
	case strings.HasSuffix(path, "/responses"):
		s.answer(w, path, body, &responses{})
	case strings.HasSuffix(path, "/chat/completions"):
		s.answer(w, path, body, &chat{})
	case strings.HasSuffix(path, "/v1/messages"):
		s.answer(w, path, body, &messages{})
	case strings.HasSuffix(path, ":streamGenerateContent"):
		s.answer(w, path, body, &gemini{stream: true})
	case strings.HasSuffix(path, ":generateContent"):
		s.answer(w, path, body, &gemini{})
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, map[string]any{"input_tokens": 100})
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, map[string]any{"totalTokens": 100})
	default:
		s.note("%s %s: not a model's", r.Method, path)
		http.NotFound(w, r)
	}
}

// protocol is one way to speak to a model.
type protocol interface {
	read(body []byte) (*request, error)
	write(w http.ResponseWriter, r *request, id string, t Turn)
}

func (s *Server) answer(w http.ResponseWriter, path string, body []byte, p protocol) {
	r, err := p.read(body)
	if err != nil {
		s.note("%s: %v", path, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, turn := s.turn(path, r)
	p.write(w, r, id, turn)
}

// turn finds the next turn of the conversation that a request belongs to: that whose
// prompt the user said first. A request without tools is an agent's own, for a title
// or a summary, and belongs to none.
func (s *Server) turn(path string, r *request) (id string, t Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p *play
	for _, said := range r.users {
		for _, candidate := range s.plays {
			if strings.Contains(said, candidate.prompt) {
				p = candidate
			}
		}
		if p != nil {
			break
		}
	}
	if p == nil || len(r.tools) == 0 {
		s.asides++
		s.log = append(s.log, fmt.Sprintf("%s: an aside of %d bytes", path, len(r.told)))
		return fmt.Sprintf("aside-%d", s.asides), Say("A title")
	}
	p.told = append(p.told, r.told)
	t = Say("done")
	if p.next < len(p.turns) {
		t = p.turns[p.next]
		p.next++
	}
	if t.Then != nil {
		t = t.Then(r.told)
	}
	s.log = append(s.log, fmt.Sprintf("%s: %q, turn %d: %+v", path, p.prompt, p.next, t))
	return fmt.Sprintf("%d", s.count(len(t.Calls))), t
}

// count makes the number that the ids of a turn's calls have.
func (s *Server) count(calls int) int {
	s.calls += calls + 1
	return s.calls
}

func (s *Server) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.MarshalWrite(w, v)
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func stream(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

// send sends one event; name is empty in protocols whose events have none.
func (e events) send(name string, v any) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // a script that is no JSON
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	e.w.(http.Flusher).Flush()
}

// text is a tool call's arguments as the text that most protocols put them in.
func (c *ToolCall) text() string {
	text, err := json.Marshal(c.Args, json.Deterministic(true))
	if err != nil || c.Args == nil {
		return "{}"
	}
	return string(text)
}

// words are all strings in a value, those of nested objects too, in the order of the
// text, and nothing else: what the model reads.
func words(v jsontext.Value) string {
	var b strings.Builder
	var gather func(any)
	gather = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
			b.WriteByte('\n')
		case []any:
			for _, e := range v {
				gather(e)
			}
		case map[string]any:
			for _, name := range sorted(v) {
				gather(v[name])
			}
		}
	}
	var any any
	if json.Unmarshal(v, &any) == nil {
		gather(any)
	}
	return b.String()
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
