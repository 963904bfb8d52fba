package aos

import (
	stdjson "encoding/json"
	"time"

	"github.com/go-json-experiment/json"
)

// The objects of section 3, as a caller writes and reads them. A field that
// the text requires is always written; an optional one is left out when it has
// its zero value. The guardian itself reads requests without these types, so
// that no byte of what was sent is lost.

// Raw is a JSON value as its bytes.
type Raw = stdjson.RawMessage

// Agent is what an agent says about itself (3.1).
type Agent struct {
	Name         string        `json:"name"`
	ID           string        `json:"id"`
	Description  string        `json:"description,omitzero"`
	Instructions string        `json:"instructions"`
	Version      string        `json:"version"`
	Provider     AgentProvider `json:"provider"`
	Model        *Model        `json:"model,omitzero"`
	// Tools that are nil are unknown; an empty slice says that there are none.
	Tools        []ToolDefinition `json:"tools,omitzero"`
	MCPServers   []MCPServer      `json:"mcpServers,omitzero"`
	Resources    []Resource       `json:"resources,omitzero"`
	Organization *Organization    `json:"organization,omitzero"`
	Metadata     map[string]any   `json:"metadata,omitzero"`
}

// AgentProvider is who provides an agent (3.1.1).
type AgentProvider struct {
	Name     string         `json:"name"`
	URL      string         `json:"url"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// Model is an agent's language model (3.1.2). Token counts that are 0 are left out.
type Model struct {
	Name          string         `json:"name"`
	ID            string         `json:"id"`
	Provider      LLMProvider    `json:"provider"`
	MaxTokens     int64          `json:"maxTokens,omitzero"`
	ContextWindow int64          `json:"contextWindow,omitzero"`
	StopSequences []string       `json:"stopSequences,omitzero"`
	DefaultParams map[string]any `json:"defaultParams,omitzero"`
	Metadata      map[string]any `json:"metadata,omitzero"`
}

// LLMProvider is who provides a model (3.1.3).
type LLMProvider struct {
	Name     string         `json:"name"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// MCPServer is an MCP server that an agent can use (3.1.4).
type MCPServer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Resource is a resource that an agent can use (3.1.5).
type Resource struct {
	Name        string         `json:"name"`
	ID          string         `json:"id"`
	Description string         `json:"description,omitzero"`
	Content     string         `json:"content"`
	MimeType    string         `json:"mimeType,omitzero"`
	Metadata    map[string]any `json:"metadata,omitzero"`
}

// ToolDefinition declares a tool (3.2). Nil arguments or outputs say that the
// tool has none.
type ToolDefinition struct {
	Name        string                   `json:"name"`
	ID          string                   `json:"id"`
	Description string                   `json:"description,omitzero"`
	Type        string                   `json:"type"` // such as function_call, api_request
	Arguments   []ToolArgumentDefinition `json:"arguments"`
	Outputs     []ToolOutputDefinition   `json:"outputs"`
	Metadata    map[string]any           `json:"metadata,omitzero"`
}

// ToolArgumentDefinition declares a tool's argument (3.2.1).
type ToolArgumentDefinition struct {
	Name        string `json:"name"`
	ID          string `json:"id,omitzero"`
	Description string `json:"description,omitzero"`
	Type        string `json:"type,omitzero"` // string, number, boolean, object, array or null
	MimeType    string `json:"mimeType,omitzero"`
	Required    bool   `json:"required"`
}

// ToolOutputDefinition declares a tool's output (3.2.2).
type ToolOutputDefinition struct {
	Name        string `json:"name"`
	ID          string `json:"id,omitzero"`
	Description string `json:"description,omitzero"`
	Type        string `json:"type,omitzero"` // string, number, boolean, object, array or null
	MimeType    string `json:"mimeType,omitzero"`
}

// The roles of a message.
const (
	RoleUser   = "user"
	RoleAgent  = "agent"
	RoleSystem = "system"
)

// Message is one message between a user and an agent (3.3).
type Message struct {
	ID       string         `json:"id"`   // unique in the session
	Role     string         `json:"role"` // RoleUser, RoleAgent or RoleSystem
	Content  []Part         `json:"content"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// Part is one piece of content (3.4). Kind is "text", "file" or "data", and
// says which of Text, File and Data counts. TextPart, FilePart and DataPart
// make one.
type Part struct {
	Kind     string         `json:"kind"`
	Text     string         `json:"text"`
	File     *File          `json:"file"`
	Data     Raw            `json:"data"` // a JSON object or array
	Metadata map[string]any `json:"metadata"`
}

// TextPart returns a part that is text (3.4.1).
func TextPart(text string) Part { return Part{Kind: "text", Text: text} }

// FilePart returns a part that is a file (3.4.2).
func FilePart(f File) Part { return Part{Kind: "file", File: &f} }

// DataPart returns a part that is an object or array (3.4.3). A value that
// JSON cannot express makes the request fail.
func DataPart(v any) Part { return Part{Kind: "data", Data: rawOf(v)} }

// MarshalJSON writes the fields that belong to the part's kind.
func (p Part) MarshalJSON() ([]byte, error) {
	switch p.Kind {
	case "text":
		return json.Marshal(struct {
			Kind     string         `json:"kind"`
			Text     string         `json:"text"`
			Metadata map[string]any `json:"metadata,omitzero"`
		}{p.Kind, p.Text, p.Metadata})
	case "file":
		return json.Marshal(struct {
			Kind     string         `json:"kind"`
			File     *File          `json:"file"`
			Metadata map[string]any `json:"metadata,omitzero"`
		}{p.Kind, p.File, p.Metadata})
	default:
		return json.Marshal(struct {
			Kind     string         `json:"kind"`
			Data     Raw            `json:"data"`
			Metadata map[string]any `json:"metadata,omitzero"`
		}{p.Kind, p.Data, p.Metadata})
	}
}

// File is a file's bytes or its address (3.5). Bytes that are not nil are sent;
// else URI is.
type File struct {
	Name     string `json:"name,omitzero"`
	MimeType string `json:"mimeType,omitzero"`
	Bytes    []byte `json:"bytes,omitzero"`
	URI      string `json:"uri,omitzero"`
}

// AgentTrigger is an event that wakes an agent (3.6).
type AgentTrigger struct {
	Type     string            `json:"type"` // "autonomous"
	Event    AgentTriggerEvent `json:"event"`
	Content  []Part            `json:"content"`
	Metadata map[string]any    `json:"metadata,omitzero"`
}

// AgentTriggerEvent names the event (3.6.1).
type AgentTriggerEvent struct {
	Type string `json:"type"` // such as email, recurring
	ID   string `json:"id"`
}

// Source is a source that a message cites (3.7). Kind is "file" or "site".
// FileSource and SiteSource make one.
type Source struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

// FileSource returns a source that is a file (3.7.1). url may be empty.
func FileSource(id, name, url string) Source { return Source{"file", id, name, url} }

// SiteSource returns a source that is a site (3.7.2).
func SiteSource(url string) Source { return Source{Kind: "site", URL: url} }

// MarshalJSON writes the fields that belong to the source's kind.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Kind == "site" {
		return json.Marshal(struct {
			Kind string `json:"kind"`
			URL  string `json:"url"`
		}{s.Kind, s.URL})
	}
	return json.Marshal(struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Name string `json:"name"`
		URL  string `json:"url,omitzero"`
	}{s.Kind, s.ID, s.Name, s.URL})
}

// StepContext says in what a step happens (3.8).
type StepContext struct {
	Agent     Agent     `json:"agent"`
	Session   Session   `json:"session"`
	TurnID    string    `json:"turnId"` // unique in the session
	StepID    string    `json:"stepId"` // unique in the turn
	Timestamp time.Time `json:"timestamp"`
	User      *User     `json:"user,omitzero"`
}

// Session names a session (3.9).
type Session struct {
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// User is the person that an agent works for (3.10).
type User struct {
	ID           string         `json:"id"`
	Name         string         `json:"name,omitzero"`
	Email        string         `json:"email,omitzero"`
	Organization Organization   `json:"organization"`
	Metadata     map[string]any `json:"metadata,omitzero"`
}

// Organization is an organization (3.11).
type Organization struct {
	ID       string         `json:"id"`
	Name     string         `json:"name,omitzero"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// KnowledgeRetrievalStepParams is what was looked for and found (3.14).
type KnowledgeRetrievalStepParams struct {
	Query    string                     `json:"query,omitzero"`
	Keywords []string                   `json:"keywords,omitzero"`
	Results  []KnowledgeRetrievalResult `json:"results"`
}

// KnowledgeRetrievalResult is one piece of what was found (3.14.1).
type KnowledgeRetrievalResult struct {
	ID       string         `json:"id"` // the source's id
	Content  string         `json:"content"`
	MimeType string         `json:"mimeType,omitzero"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// ToolCallRequest is a tool call that is about to be made (3.15).
type ToolCallRequest struct {
	// ExecutionID names the call. Asking again with the same id, because the
	// answer was lost, gives the same answer.
	ExecutionID string              `json:"executionId"`
	ToolID      string              `json:"toolId"`
	Inputs      []ToolArgumentValue `json:"inputs"`
}

// ToolArgumentValue is one argument of a call (3.15.1). Argument makes one.
type ToolArgumentValue struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitzero"`
	Value Raw    `json:"value"`
}

// Argument returns an argument of a call. A value that JSON cannot express
// makes the request fail.
func Argument(name string, value any) ToolArgumentValue {
	return ToolArgumentValue{Name: name, Value: rawOf(value)}
}

// Text returns the argument when it is a string, and its JSON otherwise.
func (v ToolArgumentValue) Text() string {
	var s string
	if json.Unmarshal(v.Value, &s) == nil && len(v.Value) > 0 && v.Value[0] == '"' {
		return s
	}
	return string(v.Value)
}

// rawOf is v as JSON. What cannot be written becomes an empty value, which no
// encoder accepts: the request that holds it is never sent.
func rawOf(v any) Raw {
	raw, err := json.Marshal(v)
	if err != nil {
		return Raw{}
	}
	return raw
}

// ToolCallResult is what a tool gave (4.6.1.1).
type ToolCallResult struct {
	Outputs []Part `json:"outputs"` // text parts only
	IsError bool   `json:"isError"` // the tool failed
}

// AgentTriggerParams are the params of steps/agentTrigger (4.1).
type AgentTriggerParams struct {
	Context StepContext  `json:"context"`
	Trigger AgentTrigger `json:"trigger"`
}

// KnowledgeRetrievalParams are the params of steps/knowledgeRetrieval (4.2).
type KnowledgeRetrievalParams struct {
	Context       StepContext                  `json:"context"`
	KnowledgeStep KnowledgeRetrievalStepParams `json:"knowledgeStep"`
	Reasoning     string                       `json:"reasoning,omitzero"`
}

// MemoryParams are the params of steps/memoryStore and
// steps/memoryContextRetrieval (4.3, 4.4).
type MemoryParams struct {
	Context   StepContext `json:"context"`
	Memory    []string    `json:"memory"`
	Reasoning string      `json:"reasoning,omitzero"`
}

// MessageParams are the params of steps/message (4.5).
type MessageParams struct {
	Context   StepContext `json:"context"`
	Message   Message     `json:"message"`
	Citation  []Source    `json:"citation"`
	Reasoning string      `json:"reasoning,omitzero"`
}

// ToolCallRequestParams are the params of steps/toolCallRequest (4.6).
type ToolCallRequestParams struct {
	Context         StepContext     `json:"context"`
	ToolCallRequest ToolCallRequest `json:"toolCallRequest"`
	Reasoning       string          `json:"reasoning,omitzero"`
}

// ToolCallResultParams are the params of steps/toolCallResult (4.6).
type ToolCallResultParams struct {
	Context     StepContext    `json:"context"`
	ExecutionID string         `json:"executionId"`
	Result      ToolCallResult `json:"result"`
}

// ProtocolParams are the params of protocols/A2A and protocols/MCP (4.7, 4.8).
type ProtocolParams struct {
	// Context is an addition to the text: without it the guardian knows
	// neither the agent nor the session.
	Context   *StepContext `json:"context,omitzero"`
	Message   Raw          `json:"message"` // the A2A or MCP message, whole
	Reasoning string       `json:"reasoning,omitzero"`
}
