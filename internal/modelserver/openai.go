package modelserver

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolGroup is a tool, or a namespace with tools in it.
type toolGroup struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

// responses is OpenAI's Responses.
type responses struct{}

func (*responses) read(body []byte) (*request, error) {
	var in struct {
		Model  string         `json:"model"`
		Input  jsontext.Value `json:"input"`
		Tools  []toolGroup    `json:"tools"`
		Stream bool           `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: in.Model, stream: in.Stream, told: words(in.Input)}
	var items []struct {
		Type    string         `json:"type"`
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
		Tools   []toolGroup    `json:"tools"` // of the type additional_tools
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return nil, fmt.Errorf("the input: %w", err)
	}
	for _, item := range items {
		if item.Role == "user" {
			r.users = append(r.users, words(item.Content))
		}
		in.Tools = append(in.Tools, item.Tools...)
	}
	for _, tool := range in.Tools {
		name := tool.Name
		if name == "" {
			name = tool.Type
		}
		r.tools = append(r.tools, name)
		for _, inner := range tool.Tools {
			r.tools = append(r.tools, name+"."+inner.Name)
		}
	}
	return r, nil
}

func (*responses) write(w http.ResponseWriter, r *request, id string, t Turn) {
	var items []map[string]any
	if t.Text != "" {
		items = append(items, map[string]any{
			"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": t.Text, "annotations": []any{}}},
		})
	}
	for i, c := range t.Calls {
		call := fmt.Sprintf("call_%s_%d", id, i)
		item := map[string]any{"type": "function_call", "id": "fc_" + call, "call_id": call, "name": c.Name, "arguments": c.text(), "status": "completed"}
		if c.Text != "" {
			item = map[string]any{"type": "custom_tool_call", "id": "ctc_" + call, "call_id": call, "name": c.Name, "input": c.Text, "status": "completed"}
		}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	usage := map[string]any{
		"input_tokens": 10, "input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 20,
	}
	whole := map[string]any{"id": "resp_" + id, "object": "response", "model": r.model, "status": "completed", "output": items, "usage": usage}
	if !r.stream {
		reply(w, whole)
		return
	}
	out := stream(w)
	out.send("response.created", map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_" + id, "object": "response", "model": r.model, "status": "in_progress", "output": []any{}}})
	for i, item := range items {
		out.send("response.output_item.added", map[string]any{"type": "response.output_item.added", "output_index": i, "item": item})
		if item["type"] == "message" {
			out.send("response.output_text.delta", map[string]any{"type": "response.output_text.delta", "output_index": i, "item_id": item["id"], "content_index": 0, "delta": t.Text})
		}
		out.send("response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	out.send("response.completed", map[string]any{"type": "response.completed", "response": whole})
}

// chat is OpenAI's Chat Completions.
type chat struct{}

func (*chat) read(body []byte) (*request, error) {
	var in struct {
		Model    string         `json:"model"`
		Messages jsontext.Value `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: in.Model, stream: in.Stream, told: words(in.Messages)}
	users, err := said(in.Messages)
	if err != nil {
		return nil, err
	}
	r.users = users
	for _, tool := range in.Tools {
		r.tools = append(r.tools, tool.Function.Name)
	}
	return r, nil
}

// said lists what users said in a list of messages.
func said(list jsontext.Value) (users []string, err error) {
	var all []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("the messages: %w", err)
	}
	for _, m := range all {
		if m.Role == "user" {
			users = append(users, words(m.Content))
		}
	}
	return users, nil
}

func (*chat) write(w http.ResponseWriter, r *request, id string, t Turn) {
	calls := make([]any, len(t.Calls))
	for i, c := range t.Calls {
		calls[i] = map[string]any{
			"index": i, "id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.text()},
		}
	}
	message := map[string]any{"role": "assistant", "content": t.Text}
	reason := "stop"
	if len(calls) > 0 {
		message["tool_calls"], reason = calls, "tool_calls"
	}
	usage := map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	head := map[string]any{"id": "chatcmpl-" + id, "model": r.model, "created": 1}
	if !r.stream {
		head["object"], head["usage"] = "chat.completion", usage
		head["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}}
		reply(w, head)
		return
	}
	head["object"] = "chat.completion.chunk"
	out := stream(w)
	head["choices"] = []any{map[string]any{"index": 0, "delta": message, "finish_reason": nil}}
	out.send("", head)
	head["choices"] = []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}
	head["usage"] = usage
	out.send("", head)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
