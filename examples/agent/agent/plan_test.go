package agent

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScript(t *testing.T) {
	g := newGuardian(t, func(_, request string) map[string]any {
		if strings.Contains(request, "forbidden") {
			return deny("No.", "Something else.")
		}
		return nil
	})
	a, steps := newAgent(t, g)
	os.WriteFile(filepath.Join(a.cfg.Dir, "a.txt"), []byte("tea"), 0o600)
	plan, err := ParseScript([]byte(`
steps:
  - user: ${greeting}, what is in the file?
  - call: read_file
    with: {path: a.txt}
    as: file
  - call: write_file
    with: {path: forbidden.txt, content: x}
    as: no
    denied:
      - call: write_file
        with: {path: "${file}.txt", content: "$${file} is ${file}"}
  - say: "It is ${file}. ${no}"
    cite: [a.txt, "http://a.example/"]
`), map[string]string{"greeting": "Hello"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range *steps {
		got = append(got, s.Text)
	}
	want := []string{
		"Hello, what is in the file?", "tea", "The guardian denied this: No.\nInstead: Something else.",
		"wrote 14 bytes to tea.txt with mode 0644",
		"It is tea. The guardian denied this: No.\nInstead: Something else.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if text, _ := os.ReadFile(filepath.Join(a.cfg.Dir, "tea.txt")); string(text) != "${file} is tea" {
		t.Errorf("written: %q", text)
	}
}

func TestScriptEndsWhenTheUserIsNotHeard(t *testing.T) {
	g := newGuardian(t, func(string, string) map[string]any { return deny("No.", "") })
	a, steps := newAgent(t, g)
	plan, _ := ParseScript([]byte("steps:\n  - user: hello\n  - say: hello\n"), nil)
	if err := a.Run(t.Context(), plan); err != nil || len(*steps) != 1 {
		t.Errorf("%d steps, error %v", len(*steps), err)
	}
}

func TestScriptMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                             "no steps",
		"steps: []":                                    "no steps",
		"steps:\n  - why: because":                     "step 1 of the script needs exactly one of",
		"steps:\n  - say: a\n    user: b":              "step 1 of the script needs exactly one of",
		"steps:\n  - say: a\n    with: {b: c}":         "calls no tool",
		"steps:\n  - say: a\n    sya: b":               "sya",
		"steps:\n  - say: a\n  - say: ${b}":            "step 2 of the script uses ${b}",
		"steps:\n  - {say: a, denied: [{as: b}]}":      "step 1, denied 1 of the script needs",
		"steps:\n  - {call: a, with: {b: [\"${c}\"]}}": "uses ${c}",
		"steps:\n  - {say: a, denied: [{say: b, as: c}]}\n  - say: ${c}": "uses ${c}",
		"steps: [": "read the script",
		"steps:\n  - say: " + strings.Repeat("a", maxScript): "longer than",
	} {
		if _, err := ParseScript([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte("steps:\n  - call: shell\n    with: {command: \"${a} $${b\", n: [1, {x: y}]}\n    as: b\n  - say: ${b}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScript(text, map[string]string{"a": "1"})
		if err != nil {
			return
		}
		// Whatever was accepted can be walked to its end.
		var last *Step
		for range 1000 {
			move, err := s.Next(t.Context(), last)
			if err != nil {
				t.Fatal(err)
			}
			if move == nil {
				return
			}
			last = &Step{Move: *move, Text: "x"}
		}
	})
}

// modelServer is a chat-completions server that answers with the replies in
// turn, the last one again and again, and keeps the requests. The reply "busy"
// is a status 503.
func modelServer(t *testing.T, replies ...string) (url string, requests *[]string) {
	requests = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw stdjson.RawMessage
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer key" || stdjson.NewDecoder(r.Body).Decode(&raw) != nil {
			t.Errorf("%s %s, authorization %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
		}
		*requests = append(*requests, string(raw))
		reply := replies[min(len(*requests), len(replies))-1]
		if reply == "busy" {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", requests
}

// says and calls are a model's replies.
func says(text string) string {
	return reply(map[string]any{"role": "assistant", "content": text, "refusal": nil})
}

func calls(nameAndArguments ...string) string {
	var list []any
	for i := 0; i < len(nameAndArguments); i += 2 {
		list = append(list, map[string]any{"id": fmt.Sprint("id-", i), "type": "function",
			"function": map[string]any{"name": nameAndArguments[i], "arguments": nameAndArguments[i+1]}})
	}
	return reply(map[string]any{"role": "assistant", "content": nil, "tool_calls": list})
}

func reply(message map[string]any) string {
	b, _ := stdjson.Marshal(map[string]any{"id": "x", "object": "chat.completion", "usage": map[string]any{"total_tokens": 9},
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}}})
	return string(b)
}

func TestModel(t *testing.T) {
	url, requests := modelServer(t,
		"busy",
		calls("write_file", `{"content":"tea","path":"a.txt"}`, "write_file", `{"path":"forbidden.txt","content":"x"}`),
		calls("read_file", `{"path":`, "read_file", `{"path":"a.txt","path":"b.txt"}`, "read_file", `{"path":"a.txt"}`, "wipe", ``),
		says("The file says sesame."),
		says("The file says what it says."),
	)
	g := newGuardian(t, func(method, request string) map[string]any {
		switch {
		case method == "steps/message" && strings.Contains(request, "4000 0000 0000 0002"):
			return modify(request, "4000 0000 0000 0002", "****")
		case strings.Contains(request, "forbidden") && method == "steps/toolCallRequest":
			return deny("That name is forbidden.", "Choose another.")
		case strings.Contains(request, "sesame"):
			return deny("That word is not for users.", "")
		}
		return nil
	})
	a, steps := newAgent(t, g)
	plan, err := NewModel(ModelConfig{URL: url, Name: "small", Key: "key"}, "What is in the file? My card is 4000 0000 0000 0002.")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if got := (*steps)[len(*steps)-1].Text; got != "The file says what it says." {
		t.Errorf("the user was told %q", got)
	}
	if text, _ := os.ReadFile(filepath.Join(a.cfg.Dir, "a.txt")); string(text) != "tea" {
		t.Errorf("written: %q", text)
	}
	var first, last struct {
		Model    string
		Messages []map[string]any
		Tools    []struct {
			Type     string
			Function struct {
				Name       string
				Parameters struct {
					Type       string
					Properties map[string]map[string]string
					Required   []string
				}
			}
		}
	}
	stdjson.Unmarshal([]byte((*requests)[0]), &first)
	stdjson.Unmarshal([]byte((*requests)[len(*requests)-1]), &last)
	if first.Model != "small" || len(first.Tools) != len(tools) || first.Tools[1].Function.Name != "write_file" ||
		!cmp.Equal(first.Tools[1].Function.Parameters.Required, []string{"path", "content"}) ||
		first.Tools[1].Function.Parameters.Properties["mode"]["type"] != "string" {
		t.Errorf("what the model was offered: %+v", first)
	}
	type said struct{ Role, Content string }
	var got []said
	for _, m := range last.Messages {
		got = append(got, said{m["role"].(string), fmt.Sprint(m["content"])})
	}
	want := []said{
		{"system", instructions},
		{"user", "What is in the file? My card is ****."},
		{"assistant", ""},
		{"tool", "wrote 3 bytes to a.txt with mode 0644"},
		{"tool", "The guardian denied this: That name is forbidden.\nInstead: Choose another."},
		{"assistant", ""},
		{"tool", "nothing was done: the arguments are not a JSON object: "},
		{"tool", "nothing was done: the arguments are not a JSON object: "},
		{"tool", "tea"},
		{"tool", `there is no tool "wipe"`},
		{"assistant", "The file says sesame."},
		{"user", "The guardian denied this: That word is not for users.\nThe user has not seen your message. Write another."},
	}
	for i := range got {
		if i < len(want) && strings.HasSuffix(want[i].Content, "object: ") && strings.HasPrefix(got[i].Content, want[i].Content) {
			got[i].Content = want[i].Content // the rest is the decoder's
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conversation (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.Join(*requests, ""), "4000 0000") {
		t.Error("the model saw what the guardian took out")
	}
	if id := last.Messages[4]["tool_call_id"]; id != "id-2" {
		t.Errorf("the second call is answered as %v", id)
	}
}

func TestModelIsBounded(t *testing.T) {
	g := newGuardian(t, func(string, string) map[string]any { return nil })
	many := make([]string, 0, 2*maxCalls+2)
	for range maxCalls + 1 {
		many = append(many, "recall", `{"query":""}`)
	}
	for name, test := range map[string]struct{ reply, want string }{
		"never ends":  {calls("recall", `{"query":""}`), "has not finished after 3 turns"},
		"many calls":  {calls(many...), "17 calls at once"},
		"nothing":     {says(" "), "neither with a message nor with a tool call"},
		"no choice":   {`{"choices":[]}`, "no choice"},
		"no JSON":     {`<html>`, "read its reply"},
		"always busy": {"busy", "503"},
		"endless":     {`"` + strings.Repeat("a", maxReply) + `"`, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := modelServer(t, test.reply)
			a, _ := newAgent(t, g)
			plan, err := NewModel(ModelConfig{URL: url, Name: "small", Key: "key", Turns: 3}, "hello")
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Run(t.Context(), plan); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if n := len(*requests); n > modelAttempts {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

func TestModelIsNotToldWhatTheGuardianKeepsFromIt(t *testing.T) {
	url, requests := modelServer(t, says("hello"))
	g := newGuardian(t, func(string, string) map[string]any { return deny("No.", "") })
	a, steps := newAgent(t, g)
	plan, _ := NewModel(ModelConfig{URL: url, Name: "small", Key: "key"}, "hello")
	if err := a.Run(t.Context(), plan); err != nil || len(*steps) != 1 || len(*requests) != 0 {
		t.Errorf("error %v, %d steps, %d requests to the model", err, len(*steps), len(*requests))
	}
}

func TestModelMistakes(t *testing.T) {
	for _, c := range []ModelConfig{{}, {URL: "ftp://a.example", Name: "a"}, {URL: "http://a.example"}} {
		if _, err := NewModel(c, "hello"); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	if _, err := NewModel(ModelConfig{URL: "http://a.example", Name: "a"}, " "); err == nil {
		t.Error("a model without a task was taken")
	}
}

func TestSecret(t *testing.T) {
	t.Setenv("AGENT_TEST_KEY", "k1")
	file := filepath.Join(t.TempDir(), "key")
	os.WriteFile(file, []byte("k2\n"), 0o600)
	for reference, want := range map[string]string{"": "", "env:AGENT_TEST_KEY": "k1", "file:" + file: "k2"} {
		if got, err := Secret(reference); got != want || err != nil {
			t.Errorf("%s: %q, %v", reference, got, err)
		}
	}
	for _, reference := range []string{"k3", "env:AGENT_TEST_NONE", "file:" + file + "x"} {
		if got, err := Secret(reference); err == nil {
			t.Errorf("%s gave %q", reference, got)
		} else if strings.Contains(err.Error(), "k3") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}
