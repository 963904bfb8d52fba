package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/aos"

	"github.com/go-json-experiment/json"
)

// Limits of a model's plan.
const (
	defaultTurns  = 16
	maxCalls      = 16      // tool calls in one reply
	maxReply      = 4 << 20 // bytes
	modelTime     = 2 * time.Minute
	modelAttempts = 3
)

// ModelConfig names a language model with an OpenAI-compatible interface.
type ModelConfig struct {
	// URL is the base of the interface, such as http://127.0.0.1:11434/v1.
	URL string
	// Name is the model's name there.
	Name string
	// Key is sent as a bearer credential; empty for none. See Secret.
	Key string
	// Turns is how often the model is asked at most; 0 means 16.
	Turns int
	// HTTP makes the requests; nil means a client that waits two minutes.
	HTTP *http.Client
}

// Model is a Plan that a language model makes step by step.
type Model struct {
	cfg      ModelConfig
	ask      string // the user's request, until it has been said
	messages []chatMessage
	tools    []chatTool
	queue    []chatCall // calls of the last reply that are still to be made
	now      chatCall
	why      string
	turns    int
}

// NewModel returns the plan of a model that is asked to do what the user asks.
func NewModel(cfg ModelConfig, ask string) (*Model, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the model's address %q is not an http or https URL", cfg.URL)
	}
	if cfg.Name == "" {
		return nil, errors.New("the model has no name: an interface may offer several")
	}
	if strings.TrimSpace(ask) == "" {
		return nil, errors.New("the model is not asked to do anything")
	}
	if cfg.Turns == 0 {
		cfg.Turns = defaultTurns
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{
			Timeout: modelTime,
			// A redirect would carry the conversation to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Model{cfg: cfg, ask: ask, tools: chatTools()}, nil
}

// Describe returns the model as the guardian is told about it.
func (c ModelConfig) Describe() *aos.Model {
	host := c.URL
	if u, err := url.Parse(c.URL); err == nil {
		host = u.Host
	}
	return &aos.Model{Name: c.Name, ID: c.Name, Provider: aos.LLMProvider{Name: host}}
}

// Secret returns what a reference stands for: env:NAME an environment variable,
// file:PATH a file. A secret itself on a command line could be read by others.
func Secret(reference string) (string, error) {
	switch kind, name, _ := strings.Cut(reference, ":"); {
	case reference == "":
		return "", nil
	case kind == "env":
		if v := os.Getenv(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	case kind == "file":
		text, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read the key: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	return "", errors.New("a key is given as env:NAME or file:PATH, never as it is")
}

// The chat-completions interface.
type (
	chatMessage struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"` // a JSON object as text
		} `json:"function"`
	}
	chatTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string     `json:"name"`
			Description string     `json:"description"`
			Parameters  chatSchema `json:"parameters"`
		} `json:"function"`
	}
	chatSchema struct {
		Type                 string                  `json:"type"`
		Properties           map[string]chatProperty `json:"properties"`
		Required             []string                `json:"required"`
		AdditionalProperties bool                    `json:"additionalProperties"`
	}
	chatProperty struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	chatRequest struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
		Tools    []chatTool    `json:"tools"`
	}
	chatReply struct {
		Choices []struct {
			Message struct {
				Content   *string    `json:"content"`
				ToolCalls []chatCall `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
)

// chatTools tells a model about the tools, as the guardian is told.
func chatTools() (list []chatTool) {
	for _, d := range definitions() {
		t := chatTool{Type: "function"}
		t.Function.Name, t.Function.Description = d.ID, d.Description
		t.Function.Parameters = chatSchema{Type: "object", Properties: map[string]chatProperty{}, Required: []string{}}
		for _, a := range d.Arguments {
			t.Function.Parameters.Properties[a.Name] = chatProperty{a.Type, a.Description}
			if a.Required {
				t.Function.Parameters.Required = append(t.Function.Parameters.Required, a.Name)
			}
		}
		list = append(list, t)
	}
	return list
}

// Next tells the model what came of its last move, and returns its next.
func (m *Model) Next(ctx context.Context, last *Step) (*Move, error) {
	if m.ask != "" {
		move := &Move{Kind: Hear, Text: m.ask}
		m.ask = ""
		return move, nil
	}
	switch last.Move.Kind {
	case Hear:
		if last.Denied {
			return nil, nil // the model never hears of it
		}
		m.messages = append(m.messages, chatMessage{Role: "system", Content: instructions}, chatMessage{Role: "user", Content: last.Text})
	case Call:
		m.answer(last.Text)
	case Say:
		if !last.Denied {
			return nil, nil
		}
		m.messages = append(m.messages, chatMessage{Role: "assistant", Content: last.Move.Text},
			chatMessage{Role: "user", Content: last.Text + "\nThe user has not seen your message. Write another."})
	}
	for {
		for len(m.queue) > 0 {
			m.now, m.queue = m.queue[0], m.queue[1:]
			inputs, err := inputsOf(m.now)
			if err == nil {
				return &Move{Kind: Call, Tool: m.now.Function.Name, Inputs: inputs, Why: m.why}, nil
			}
			m.answer(err.Error())
		}
		if m.turns >= m.cfg.Turns {
			return nil, fmt.Errorf("the model has not finished after %d turns", m.cfg.Turns)
		}
		m.turns++
		reply, err := m.complete(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the model: %w", err)
		}
		if len(reply.ToolCalls) == 0 {
			if strings.TrimSpace(reply.Content) == "" {
				return nil, errors.New("the model answered neither with a message nor with a tool call")
			}
			return &Move{Kind: Say, Text: reply.Content}, nil
		}
		m.messages = append(m.messages, reply)
		m.queue, m.why = reply.ToolCalls, reply.Content
	}
}

// answer tells the model what came of the call that is on.
func (m *Model) answer(text string) {
	m.messages = append(m.messages, chatMessage{Role: "tool", ToolCallID: m.now.ID, Content: text})
}

// inputsOf reads a call's arguments, in the order in which the tool declares them.
func inputsOf(c chatCall) (inputs []aos.ToolArgumentValue, err error) {
	values := map[string]aos.Raw{}
	if strings.TrimSpace(c.Function.Arguments) != "" {
		if err := json.Unmarshal([]byte(c.Function.Arguments), &values); err != nil {
			return nil, fmt.Errorf("nothing was done: the arguments are not a JSON object: %v", err)
		}
	}
	if i := slices.IndexFunc(tools, func(t tool) bool { return t.ID == c.Function.Name }); i >= 0 {
		for _, a := range tools[i].Arguments {
			if v, ok := values[a.Name]; ok {
				inputs = append(inputs, aos.ToolArgumentValue{Name: a.Name, Value: v})
				delete(values, a.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		inputs = append(inputs, aos.ToolArgumentValue{Name: name, Value: values[name]})
	}
	return inputs, nil
}

// complete asks the model for its next message. It asks again when the
// interface is busy.
func (m *Model) complete(ctx context.Context) (chatMessage, error) {
	body, err := json.Marshal(chatRequest{m.cfg.Name, m.messages, m.tools}, json.Deterministic(true))
	if err != nil {
		return chatMessage{}, err
	}
	for attempt := 1; ; attempt++ {
		reply, again, err := m.post(ctx, body)
		if err == nil || !again || attempt == modelAttempts {
			return reply, err
		}
		select {
		case <-ctx.Done():
			return chatMessage{}, ctx.Err()
		case <-time.After(time.Duration(attempt) * 500 * time.Millisecond):
		}
	}
}

func (m *Model) post(ctx context.Context, body []byte) (reply chatMessage, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(m.cfg.URL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return reply, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if m.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	res, err := m.cfg.HTTP.Do(req)
	if err != nil {
		return reply, true, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil {
		return reply, true, err
	}
	if len(text) > maxReply {
		return reply, false, errors.New("its reply is too long")
	}
	if res.StatusCode != http.StatusOK {
		again = res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500
		return reply, again, fmt.Errorf("it answered %s: %.300q", res.Status, text)
	}
	var r chatReply
	if err := json.Unmarshal(text, &r); err != nil {
		return reply, false, fmt.Errorf("read its reply: %w", err)
	}
	if len(r.Choices) == 0 {
		return reply, false, errors.New("its reply holds no choice")
	}
	said := r.Choices[0].Message
	if len(said.ToolCalls) > maxCalls {
		return reply, false, fmt.Errorf("it makes %d calls at once, and %d are allowed", len(said.ToolCalls), maxCalls)
	}
	reply = chatMessage{Role: "assistant", ToolCalls: said.ToolCalls}
	if said.Content != nil {
		reply.Content = *said.Content
	}
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].Type = "function"
	}
	return reply, false, nil
}
