package executor

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// model is an OpenAI-compatible server with a script.
type model struct {
	*httptest.Server
	mu      sync.Mutex
	asked   llmRequest
	header  http.Header
	content string
	gone    chan struct{} // closed when a client goes away in the middle
}

func newModel(t *testing.T, pieces []string, tail ...string) *model {
	m := &model{gone: make(chan struct{}), content: "text/event-stream"}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		m.header = r.Header.Clone()
		err := json.Unmarshal(body, &m.asked)
		m.mu.Unlock()
		if err != nil || r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", m.content)
		if m.content != "text/event-stream" {
			io.WriteString(w, strings.Join(pieces, ""))
			return
		}
		io.WriteString(w, ": hello\n\n")
		for _, p := range pieces {
			fmt.Fprintf(w, "data: {\"model\":\"tiny-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", quote(p))
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
		for _, line := range tail {
			if line == "hang" {
				<-r.Context().Done()
				close(m.gone)
				return
			}
			io.WriteString(w, "data: "+line+"\n\n")
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *model) executor(prices ...float64) Executor {
	c := LLMConfig{BaseURL: m.URL + "/v1/", Key: "s3cret-key", Model: "tiny", AllowPrivate: true}
	if len(prices) == 2 {
		c.PromptPrice, c.CompletionPrice = prices[0], prices[1]
	}
	return NewLLM(c)
}

const (
	stop  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage = `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150}}`
	done  = `[DONE]`
)

func TestLLM(t *testing.T) {
	m := newModel(t, []string{"Hel", "lo", " there"}, stop, usage, done)
	e := m.executor(2, 10)
	tr := try(t, e, `{"system":"be short","prompt":"hi","temperature":0.5,"max_tokens":20,"response_format":{"type":"text"}}`)
	v, err := tr.run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	cost := (100*2 + 50*10) / 1e6
	if diff := cmp.Diff(llmResult{"Hello there", "tiny-1", llmUsage{Prompt: 100, Completion: 50, Total: 150}, &cost, "stop"}, read[llmResult](t, v)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if tr.progress() != "Hel|lo| there" {
		t.Errorf("told: %s", tr.progress())
	}
	var said []string
	for _, one := range m.asked.Messages {
		said = append(said, string(one))
	}
	if diff := cmp.Diff([]string{`{"role":"system","content":"be short"}`, `{"role":"user","content":"hi"}`}, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if m.asked.Model != "tiny" || m.asked.MaxTokens != 20 || !m.asked.Stream || !m.asked.Options.Usage || *m.asked.Temperature != 0.5 || m.header.Get("Authorization") != "Bearer s3cret-key" {
		t.Errorf("asked: %+v, %v", m.asked, m.header)
	}
}

func TestLLMShapes(t *testing.T) {
	whole := newModel(t, []string{`{"model":"w","choices":[{"message":{"role":"assistant","content":"all at once"},"finish_reason":"length"}]}`})
	whole.content = "application/json"
	e := whole.executor()
	v, err := try(t, e, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"model":"other"}`).run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if r := read[llmResult](t, v); r.Content != "all at once" || r.Finish != "length" || r.Cost != nil || !r.Usage.Estimated || r.Usage.Prompt == 0 || whole.asked.Model != "other" {
		t.Errorf("%s", v)
	}
	for name, m := range map[string]*model{
		"broken off":       newModel(t, []string{"half"}),
		"an error":         newModel(t, []string{"half"}, `{"error":{"message":"overloaded with s3cret-key"}}`),
		"no JSON":          newModel(t, []string{"half"}, `{"choices":`),
		"a member twice":   newModel(t, []string{"half"}, `{"choices":[],"choices":[]}`),
		"a very long line": newModel(t, []string{"half"}, strings.Repeat("x", maxLLMLine)),
	} {
		e := m.executor()
		_, err := try(t, e, `{"prompt":"hi"}`).run(t.Context(), e)
		failure := wrong(t, err)
		if failure.Final || failure.Result == nil || read[llmResult](t, failure.Result).Content != "half" || strings.Contains(failure.Message, "s3cret") {
			t.Errorf("%s: %+v", name, failure)
		}
	}
}

func TestLLMRefused(t *testing.T) {
	m := newModel(t, nil, stop, done)
	e, priced := m.executor(), m.executor(1_000_000, 1_000_000)
	for name, c := range map[string]struct {
		e            Executor
		inputs, want string
	}{
		"not set up":         {NewLLM(LLMConfig{}), `{"prompt":"x"}`, "no language model"},
		"a strange base":     {NewLLM(LLMConfig{BaseURL: "ftp://x", Model: "m"}), `{"prompt":"x"}`, "no whole http"},
		"no model":           {NewLLM(LLMConfig{BaseURL: m.URL}), `{"prompt":"x"}`, `"model" is missing`},
		"nothing":            {e, `{}`, "is needed"},
		"both":               {e, `{"prompt":"x","messages":[{"role":"user"}]}`, "not both"},
		"no role":            {e, `{"messages":[{"role":"user"},{"content":"x"}]}`, "no role at 1"},
		"no object":          {e, `{"messages":["x"]}`, "no role at 0"},
		"no tokens":          {e, `{"prompt":"x","max_tokens":0}`, "max_tokens"},
		"no money":           {e, `{"prompt":"x","max_cost_usd":0}`, "max_cost_usd"},
		"unknown prices":     {e, `{"prompt":"x","max_cost_usd":1}`, "does not know the prices"},
		"another's prices":   {priced, `{"prompt":"x","model":"other","max_cost_usd":1}`, "does not know the prices"},
		"a prompt too dear":  {priced, `{"prompt":"` + strings.Repeat("word ", 100) + `","max_cost_usd":100}`, "the prompt alone"},
		"a private address":  {NewLLM(LLMConfig{BaseURL: m.URL, Model: "m"}), `{"prompt":"x"}`, "not a public one"},
		"a wrong path":       {NewLLM(LLMConfig{BaseURL: m.URL + "/v2", Model: "m", AllowPrivate: true}), `{"prompt":"x"}`, "404"},
		"a wrong type":       {e, `{"prompt":["x"]}`, `"prompt" must be a string`},
		"a wrong type below": {e, `{"messages":{"role":"user"}}`, `"messages" must be an array`},
	} {
		_, err := try(t, c.e, c.inputs).run(t.Context(), c.e)
		if failure := wrong(t, err); !failure.Final || !strings.Contains(failure.Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, failure, c.want)
		}
	}
	tr := try(t, e, `{"prompt":"x"}`)
	tr.job.Manifest = act.Manifest{TimeoutSeconds: 5}
	if _, err := tr.run(t.Context(), e); !strings.Contains(wrong(t, err).Message, "does not allow the network") {
		t.Error(err)
	}
}

func TestLLMStatus(t *testing.T) {
	for status, final := range map[int]bool{400: true, 401: true, 429: false, 500: false, 503: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(status)
			io.WriteString(w, `{"error":{"message":"not with `+r.Header.Get("Authorization")+`"}}`)
		}))
		e := NewLLM(LLMConfig{BaseURL: server.URL, Key: "s3cret-key", Model: "m", AllowPrivate: true})
		_, err := try(t, e, `{"prompt":"x"}`).run(t.Context(), e)
		server.Close()
		if failure := wrong(t, err); failure.Final != final || !strings.Contains(failure.Message, "not with Bearer ***") || failure.After.Seconds() != 3 {
			t.Errorf("%d: %+v", status, failure)
		}
	}
}

// TestLLMBudget: a model that does not stop is stopped, and the connection closed.
func TestLLMBudget(t *testing.T) {
	endless := make([]string, 2000)
	for i := range endless {
		endless[i] = "word "
	}
	for name, c := range map[string]struct {
		inputs    string
		maxTokens int // that were asked for
	}{
		"tokens":            {`{"prompt":"x","max_tokens":30}`, 30},
		"money":             {`{"prompt":"x","max_cost_usd":0.001}`, 90},
		"the smaller":       {`{"prompt":"x","max_cost_usd":0.001,"max_tokens":7}`, 7},
		"the other smaller": {`{"prompt":"x","max_cost_usd":0.001,"max_tokens":100000}`, 90},
	} {
		m := newModel(t, endless, "hang")
		e := m.executor(1, 10)
		_, err := try(t, e, c.inputs).run(t.Context(), e)
		failure := wrong(t, err)
		if !failure.Final || failure.Result == nil {
			t.Fatalf("%s: %+v", name, failure)
		}
		r := read[llmResult](t, failure.Result)
		if asked := m.asked.MaxTokens; math.Abs(float64(asked-c.maxTokens)) > 10 {
			t.Errorf("%s: asked for %d tokens", name, asked)
		}
		if words := strings.Count(r.Content, "word"); r.Finish != "budget" || words < 5 || words > m.asked.MaxTokens+1 || !r.Usage.Estimated {
			t.Errorf("%s: %d words, %+v", name, words, r)
		}
	}
	// What the endpoint says at the end counts more than what was guessed.
	m := newModel(t, []string{"short"}, stop, `{"usage":{"prompt_tokens":1,"completion_tokens":5000}}`, done)
	e := m.executor(1, 10)
	_, err := try(t, e, `{"prompt":"x","max_cost_usd":0.01}`).run(t.Context(), e)
	if failure := wrong(t, err); !failure.Final || !strings.Contains(failure.Message, "more than the 0.01") || read[llmResult](t, failure.Result).Content != "short" {
		t.Errorf("%+v", failure)
	}
}

func TestLLMEnds(t *testing.T) {
	m := newModel(t, []string{"begun"}, "hang")
	e := m.executor()
	tr := try(t, e, `{"prompt":"x"}`)
	begun := make(chan struct{}, 8)
	tr.on = func(string) { begun <- struct{}{} }
	cancels(t, e, tr, begun)
	<-m.gone

	slow := newModel(t, nil, "hang")
	e = slow.executor()
	_, err := try(t, e, `{"prompt":"x","timeout":0.3}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || !strings.Contains(failure.Message, "longer than") {
		t.Errorf("%+v", failure)
	}
	<-slow.gone
}
