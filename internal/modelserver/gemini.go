package modelserver

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// gemini is Google's generateContent, whole or streamed.
type gemini struct{ stream bool }

func (*gemini) read(body []byte) (*request, error) {
	var in struct {
		Contents []struct {
			Role  string         `json:"role"`
			Parts jsontext.Value `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{}
	for _, c := range in.Contents {
		text := words(c.Parts)
		r.told += text
		if c.Role == "user" {
			r.users = append(r.users, text)
		}
	}
	for _, group := range in.Tools {
		for _, f := range group.Functions {
			r.tools = append(r.tools, f.Name)
		}
	}
	return r, nil
}

func (g *gemini) write(w http.ResponseWriter, _ *request, id string, t Turn) {
	var parts []any
	if t.Text != "" {
		parts = append(parts, map[string]any{"text": t.Text})
	}
	for i, c := range t.Calls {
		args := c.Args
		if args == nil {
			args = map[string]any{}
		}
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": fmt.Sprintf("call-%s-%d", id, i), "name": c.Name, "args": args}})
	}
	answer := map[string]any{
		"candidates": []any{map[string]any{
			"index": 0, "content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP",
		}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
	}
	if !g.stream {
		reply(w, answer)
		return
	}
	stream(w).send("", answer)
}
