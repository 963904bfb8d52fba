package modelserver

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// messages is Anthropic's Messages.
type messages struct{}

func (*messages) read(body []byte) (*request, error) {
	var in struct {
		Model    string         `json:"model"`
		Messages jsontext.Value `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
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
		r.tools = append(r.tools, tool.Name)
	}
	return r, nil
}

func (*messages) write(w http.ResponseWriter, r *request, id string, t Turn) {
	type block = map[string]any
	var whole []block
	if t.Text != "" {
		whole = append(whole, block{"type": "text", "text": t.Text})
	}
	for i, c := range t.Calls {
		args := c.Args
		if args == nil {
			args = map[string]any{}
		}
		whole = append(whole, block{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": c.Name, "input": args})
	}
	reason := "end_turn"
	if len(t.Calls) > 0 {
		reason = "tool_use"
	}
	message := map[string]any{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": r.model, "content": whole,
		"stop_reason": reason, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 10},
	}
	if !r.stream {
		reply(w, message)
		return
	}
	out := stream(w)
	message["content"], message["stop_reason"] = []any{}, nil
	out.send("message_start", map[string]any{"type": "message_start", "message": message})
	for i, b := range whole {
		start, delta := block{"type": "text", "text": ""}, block{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			input, err := json.Marshal(b["input"], json.Deterministic(true))
			if err != nil {
				panic(err) // a script that is no JSON
			}
			start = block{"type": "tool_use", "id": b["id"], "name": b["name"], "input": block{}}
			delta = block{"type": "input_json_delta", "partial_json": string(input)}
		}
		out.send("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": start})
		out.send("content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": delta})
		out.send("content_block_stop", map[string]any{"type": "content_block_stop", "index": i})
	}
	out.send("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 10}})
	out.send("message_stop", map[string]any{"type": "message_stop"})
}
