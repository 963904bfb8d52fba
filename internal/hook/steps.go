package hook

import (
	"bytes"
	"crypto/rand"
	"maps"
	"time"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json"
)

// Request makes the AOS request that asks about an event. turn and call name
// what the agent has no names for. Nil for an event that nothing is asked about.
func (e *Event) Request(turn, call string, now time.Time) ([]byte, error) {
	context := e.context(turn, call, now)
	switch e.Kind {
	case Ignored, Configured, Asking:
		return nil, nil
	case Start, End:
		texts := append([]text{{text: e.About}}, e.offTexts()...)
		return request("steps/message", &aos.MessageParams{Context: context, Message: message(aos.RoleSystem, texts)})
	case Prompt:
		return request("steps/message", &aos.MessageParams{Context: context, Message: message(aos.RoleUser, e.texts)})
	case Said:
		if len(e.texts) == 0 {
			return nil, nil
		}
		return request("steps/message", &aos.MessageParams{Context: context, Message: message(aos.RoleAgent, e.texts)})
	case Call:
		if e.Tool.MCP {
			return request("protocols/MCP", &aos.ProtocolParams{Context: &context, Message: e.mcpCall(call)})
		}
		inputs := make([]aos.ToolArgumentValue, 0, 8)
		for _, a := range e.arguments() {
			v := aos.ToolArgumentValue{Name: a.name, Value: a.value}
			if a.given != a.name {
				v.ID = a.given
			}
			inputs = append(inputs, v)
		}
		return request("steps/toolCallRequest", &aos.ToolCallRequestParams{
			Context: context, ToolCallRequest: aos.ToolCallRequest{ExecutionID: call, ToolID: e.Tool.Name, Inputs: inputs},
		})
	case Result:
		if e.Tool.MCP {
			return request("protocols/MCP", &aos.ProtocolParams{Context: &context, Message: e.mcpResult(call)})
		}
		outputs := make([]aos.Part, len(e.texts))
		for i, t := range e.texts {
			outputs[i] = aos.TextPart(t.text)
		}
		return request("steps/toolCallResult", &aos.ToolCallResultParams{
			Context: context, ExecutionID: call, Result: aos.ToolCallResult{Outputs: outputs, IsError: e.Failed},
		})
	default:
		return e.AsRetrieved(turn, call, now)
	}
}

// AsRetrieved makes the request that asks about a result's texts alone, as of
// something that was looked up: what became of its call is not asked.
func (e *Event) AsRetrieved(turn, call string, now time.Time) ([]byte, error) {
	step := aos.KnowledgeRetrievalStepParams{Query: e.About, Results: make([]aos.KnowledgeRetrievalResult, len(e.texts))}
	id := call
	if e.About != "" { // the file
		id = e.About
	}
	for i, t := range e.texts {
		step.Results[i] = aos.KnowledgeRetrievalResult{ID: id, Content: t.text}
	}
	context := e.context(turn, call, now)
	context.StepID += ":read"
	return request("steps/knowledgeRetrieval", &aos.KnowledgeRetrievalParams{Context: context, KnowledgeStep: step})
}

// context says in what a step happens. The model and the agent's version are no
// part of its description, since both change within a session, and a guardian
// takes a description that changes for another agent's.
func (e *Event) context(turn, call string, now time.Time) aos.StepContext {
	c := aos.StepContext{
		Agent: aos.Agent{
			Name: e.Agent.Name, ID: e.Agent.ID,
			Provider: aos.AgentProvider{Name: e.Agent.Provider, URL: e.Agent.URL},
		},
		Session:   aos.Session{ID: e.SessionID(), Metadata: map[string]any{"hook": e.Name}},
		TurnID:    turn,
		StepID:    stepNames[e.Kind] + call,
		Timestamp: now.UTC(),
	}
	if call == "" {
		c.StepID += rand.Text()
	}
	parent := ""
	if e.Child != "" {
		parent = e.Agent.ID + ":" + e.Session
	}
	for _, m := range []struct{ name, value string }{
		{"tool", e.Tool.Given}, {"server", e.Tool.Server}, {"cwd", e.Cwd}, {"model", e.Model}, {"version", e.Version}, {"parent", parent}, {"approval", e.Approval},
	} {
		if m.value != "" {
			c.Session.Metadata[m.name] = m.value
		}
	}
	if (e.Kind == Start || e.Kind == Prompt) && e.goesBy != nil {
		maps.Copy(c.Session.Metadata, goesByMembers(e.goesBy))
	}
	if e.Agreed {
		c.Session.Metadata["answered"] = "in the agent's own window"
	}
	if e.User != "" {
		c.User = &aos.User{ID: e.User, Email: e.User}
	}
	return c
}

// stepNames keep a call and its result apart, which share an id.
var stepNames = [...]string{Ignored: "", Start: "start:", End: "end:", Prompt: "prompt:", Call: "call:", Result: "result:", Fetched: "file:", Said: "said:", Configured: "settings:", Loaded: "instructions:", Asking: ""}

func message(role string, texts []text) aos.Message {
	m := aos.Message{ID: rand.Text(), Role: role}
	for _, t := range texts {
		m.Content = append(m.Content, aos.TextPart(t.text))
	}
	if m.Content == nil {
		m.Content = []aos.Part{aos.TextPart("")}
	}
	return m
}

func (e *Event) mcpCall(call string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), rawjson.Quote(call)...)
	b = append(b, `,"method":"tools/call","params":{"name":`...)
	b = rawjson.AppendString(b, e.Tool.Name)
	if e.input.Exists() {
		b = append(b, `,"arguments":`...)
		b = append(b, e.input.Raw()...)
	}
	return append(b, '}', '}')
}

func (e *Event) mcpResult(call string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), rawjson.Quote(call)...)
	b = append(b, `,"result":{"content":[`...)
	for i, t := range e.texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"text","text":`...)
		b = rawjson.AppendString(b, t.text)
		b = append(b, '}')
	}
	b = append(b, ']')
	if e.Failed {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}', '}')
}

func request(method string, params any) ([]byte, error) {
	return json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", 1, method, params}, json.Deterministic(true))
}

// modified reads what may pass instead: the arguments of a call, or the texts
// of a result. ok is false when it cannot be put into the agent's own form.
func (e *Event) modified(request []byte) (input []byte, texts []string, ok bool) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return nil, nil, false
	}
	params := doc.Root().Get("params")
	switch {
	case e.Kind == Call && e.Tool.MCP:
		arguments := params.Get("message").Get("params").Get("arguments")
		return arguments.Raw(), nil, arguments.Exists() && e.input.Exists() && params.Get("message").Get("params").Get("name").Text() == e.Tool.Name
	case e.Kind == Call:
		input, ok = e.changedInput(params.Get("toolCallRequest"))
		return input, nil, ok
	case e.Kind == Prompt:
		return nil, nil, false
	}
	list, member := params.Get("result").Get("outputs"), "text"
	switch {
	case params.Get("knowledgeStep").Exists():
		list, member = params.Get("knowledgeStep").Get("results"), "content"
	case e.Tool.MCP:
		list = params.Get("message").Get("result").Get("content")
	}
	if list.Len() != len(e.texts) {
		return nil, nil, false
	}
	texts = make([]string, len(e.texts))
	for i, part := range list.Elems() {
		v := part.Get(member)
		if v.Kind() != rawjson.String {
			return nil, nil, false
		}
		if texts[i] = v.Text(); texts[i] != e.texts[i].text && !e.texts[i].at.Exists() && !e.dropped(&e.texts[i]) {
			return nil, nil, false // found where nothing can be changed
		}
	}
	return nil, texts, !e.stays(texts)
}

// changedInput puts the changed inputs of a call back under the agent's names.
func (e *Event) changedInput(call rawjson.Value) ([]byte, bool) {
	asked := e.arguments()
	inputs := call.Get("inputs")
	if !e.input.Exists() || call.Get("toolId").Text() != e.Tool.Name || inputs.Len() != len(asked) {
		return nil, false
	}
	var changes []rawjson.Replacement
	for i, in := range inputs.Elems() {
		value := in.Get("value")
		if in.Get("name").Text() != asked[i].name || !value.Exists() {
			return nil, false
		}
		if bytes.Equal(value.Raw(), asked[i].value) {
			continue
		}
		switch {
		case e.input.Kind() != rawjson.Object:
			return value.Raw(), true
		case asked[i].given == "": // made here: what it was made from would have to change
			return nil, false
		}
		changes = append(changes, rawjson.Replacement{At: e.input.Get(asked[i].given), With: value.Raw()})
	}
	return splice(e.input, changes)
}

// splice returns a value's text with some of what lies in it replaced.
func splice(v rawjson.Value, changes []rawjson.Replacement) ([]byte, bool) {
	raw := v.Raw()
	start, _ := v.Span()
	var b []byte
	at := 0
	for _, c := range changes { // they come in the order of the text
		from, to := c.At.Span()
		from, to = from-start, to-start
		if from < at || to > len(raw) {
			return nil, false
		}
		b = append(b, raw[at:from]...)
		b = append(b, c.With...)
		at = to
	}
	return append(b, raw[at:]...), true
}
