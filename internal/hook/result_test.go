package hook

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// hidden is what must not come to the model.
const hidden = "ghp_" + "Z9x8C7v6B5n4M3a2S1d0F9g8H7j6K5l4Q3w2"

// hidingPlaces are values in which a tool, or who writes what it gives, can put it; %s
// stands for it, %b for it in base64.
var hidingPlaces = []struct{ name, value string }{
	{"a text", `"token: %s"`},
	{"a name", `{"%s":"fine"}`},
	{"a name of an empty object", `{"stdout":"","%s":{}}`},
	{"a name far below", `{"stdout":"ok","data":[{"rows":[{"%s":1}]}]}`},
	{"a name in a list of blocks", `[{"type":"text","text":"ok","%s":true}]`},
	{"a name in structured content", `{"content":[{"type":"text","text":"ok"}],"structuredContent":{"%s":null}}`},
	{"a type", `[{"type":"%s","text":"ok"}]`},
	{"a role", `{"role":"%s","content":"ok"}`},
	{"a MIME type", `[{"type":"image","mimeType":"%s","data":"AAAA"}]`},
	{"a resource", `[{"type":"resource","resource":{"uri":"file:///x","text":"%s"}}]`},
	{"a blob", `[{"type":"resource","resource":{"uri":"file:///x","mimeType":"application/octet-stream","blob":"%b"}}]`},
	{"a file in base64", `{"type":"pdf","file":{"filePath":"/x","base64":"%b"}}`},
	{"base64 as the text", `"%b"`},
	{"base64 in a text", `"data: %b, and so on"`},
	{"base64 behind its like", `"https://example.org/files/%b"`},
	{"a data: URI", `"data:text/plain;base64,%b"`},
	{"a part of Gemini's", `[{"inlineData":{"mimeType":"text/plain","data":"%b"}}]`},
	{"a function's response", `[{"functionResponse":{"name":"x","response":{"output":"%s"}}}]`},
	{"JSON in a text", `"{\"a\":\"%s\"}"`},
	{"JSON in a text, in a name", `"{\"%s\":1}"`},
	{"a list of lists", `[[["%s"]]]`},
}

func hide(form string) string {
	form = strings.ReplaceAll(form, "%s", hidden)
	return strings.ReplaceAll(form, "%b", base64.StdEncoding.EncodeToString([]byte("the token is "+hidden)))
}

// judgeResult has a result judged by who finds what is hidden in a text and decides so, and
// returns the answer and what was asked.
func judgeResult(t *testing.T, agent, event, input string, effect act.Effect) (Answer, string) {
	t.Helper()
	e, err := Read(agent, event, []byte(input))
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	request, err := e.Request("turn", "call", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := &Decision{Effect: act.Allow, Message: "Fine."}
	if bytes.Contains(request, []byte(hidden)) {
		d = &Decision{Effect: effect, Message: "No.", Modified: bytes.ReplaceAll(request, []byte(hidden), []byte("[masked]"))}
	}
	return e.Answer(d), string(request)
}

// TestResultsHideNothing: whatever a model will read of a result is judged, wherever in the
// result it stands, and what is withheld or masked is nowhere in the answer.
func TestResultsHideNothing(t *testing.T) {
	for _, r := range results {
		for _, place := range hidingPlaces {
			for _, effect := range []act.Effect{act.Deny, act.Escalate, act.Modify} {
				t.Run(r.agent+"/"+place.name+"/"+effect.String(), func(t *testing.T) {
					value := hide(place.value)
					a, asked := judgeResult(t, r.agent, r.event, fmt.Sprintf(r.form, value), effect)
					hides(t, r.agent, value, a, asked)
				})
			}
		}
	}
}

// hides checks that what is hidden was judged, and is not in the answer.
func hides(t *testing.T, agent, value string, a Answer, asked string) {
	t.Helper()
	encoded := base64.StdEncoding.EncodeToString([]byte("the token is " + hidden))
	if !strings.Contains(asked, hidden) {
		t.Errorf("it is not judged: %s", value)
	}
	if said := string(a.Stdout) + a.Stderr; strings.Contains(said, hidden) || strings.Contains(said, encoded) {
		t.Errorf("the answer gives it back: %s", said)
	}
	if agent == "amazon-q" { // which has a warning only
		if a.Exit == 0 {
			t.Errorf("nobody is warned: %+v", a)
		}
		return
	}
	if doc, err := rawjson.Parse(a.Stdout); err != nil || doc.Root().Len() == 0 {
		t.Errorf("the result passes: %s", a.Stdout)
	}
}

// TestResultsElsewhere: what a tool gave is judged under whatever name the agent tells of it.
func TestResultsElsewhere(t *testing.T) {
	places := []string{
		`"tool_response":%s`, `"tool_output":%s`, `"tool_result":%s`, `"toolResult":%s`, `"result":%s`, `"output":%s`, `"response":%s`, `"structuredContent":%s`,
		`"Tool_Response":%s`, `"stdout":%s`, `"content":[{"type":"text","text":%s}]`, `"payload":{"result":{"output":%s}}`, `"data":{"tool_response":{"stdout":%s}}`,
		`"tool_response":null,"tool_output":%s`, `"tool_response":"","result":%s`, `"tool_response":{},"result":%s`, `"tool_response":{"stdout":"fine"},"tool_output":{"stdout":%s}`,
		`"duration_ms":12,"effort":{"level":"high"},"output":%s`, `"attachments":[{"url":%s}]`, `"error":%s`, `"message":%s`,
	}
	for _, r := range results {
		head, _, _ := strings.Cut(r.form, map[string]string{
			"cursor": `"tool_output"`, "copilot": `"toolResult"`, "opencode": `"output"`,
		}[r.agent])
		if head == r.form || r.agent == "claude-code" || r.agent == "codex" || r.agent == "gemini" || r.agent == "amazon-q" {
			head, _, _ = strings.Cut(r.form, `"tool_response"`)
		}
		for _, place := range places {
			for _, effect := range []act.Effect{act.Deny, act.Modify} {
				t.Run(r.agent+"/"+place+"/"+effect.String(), func(t *testing.T) {
					input := head + fmt.Sprintf(place, `"token: `+hidden+`"`) + "}"
					a, asked := judgeResult(t, r.agent, r.event, input, effect)
					hides(t, r.agent, input, a, asked)
				})
			}
		}
	}
}

// TestOwnForms: what Gemini CLI and Copilot show to their users alone is not judged, where
// their models are given something else; whatever their models may be given is.
func TestOwnForms(t *testing.T) {
	for _, tt := range []struct {
		agent, event, input string
		judged              bool
	}{
		{"gemini", "", `"llmContent":"fine","returnDisplay":"%s"`, false},
		{"gemini", "", `"returnDisplay":"%s"`, true},
		{"gemini", "", `"llmContent":null,"returnDisplay":"%s"`, true},
		{"gemini", "", `"llmContent":"fine","data":{"rows":["%s"]}`, true},
		{"gemini", "", `"llmContent":[{"text":"fine"},{"fileData":{"fileUri":"%s"}}]`, true},
		{"gemini", "", `"llmContent":{"returnDisplay":"%s"}`, true},
		{"gemini", "", `"error":{"message":"%s"}`, true},
		{"copilot", "postToolUse", `"resultType":"success","textResultForLlm":"fine","sessionLog":"%s"`, false},
		{"copilot", "postToolUse", `"resultType":"success","textResultForLlm":"fine","binaryResultsForLlm":[{"type":"resource","data":"%b"}]`, true},
		{"copilot", "postToolUse", `"resultType":"success","textResultForLlm":"fine","%s":1`, true},
		{"copilot", "postToolUse", `"resultType":"success","sessionLog":"%s"`, true},
		{"copilot", "postToolUse", `"resultType":"%s","textResultForLlm":"fine"`, true},
		{"copilot", "postToolUse", `"contents":[{"type":"text","text":"%s"}]`, true},
		{"copilot", "PostToolUse", `"result_type":"success","text_result_for_llm":"%s"`, true},
	} {
		form := `{"session_id":"s","hook_event_name":"AfterTool","tool_name":"x","tool_input":{},"tool_response":{%s}}`
		if tt.agent == "copilot" {
			form = `{"sessionId":"s","toolName":"x","toolArgs":{},"toolResult":{%s}}`
		}
		a, asked := judgeResult(t, tt.agent, tt.event, fmt.Sprintf(form, hide(tt.input)), act.Deny)
		if tt.judged {
			hides(t, tt.agent, tt.input, a, asked)
		} else if strings.Contains(asked, hidden) {
			t.Errorf("%s: %s is judged", tt.agent, tt.input)
		}
	}
}

// TestTakenOutStays: what is masked in a text does not come back with a name that is too plain
// to be judged, nor with a protocol's word; and where it does not stand there, the rest of the
// result stays as it is.
func TestTakenOutStays(t *testing.T) {
	const form = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_input":{},"tool_use_id":"1","tool_response":%s}`
	for _, tt := range []struct {
		result string
		masked bool
	}{
		{`{"content":[{"type":"text","text":"the word is hunterzz7"}]}`, true},
		{`{"content":[{"type":"text","text":"the word is hunterzz7"}],"hunterzz7":1}`, false},
		{`{"content":[{"type":"text","text":"the word is hunterzz7"}],"structuredContent":{"by":{"HunterZZ7":1}}}`, false},
		{`{"content":[{"type":"hunterzz7","text":"the word is hunterzz7"}]}`, false},
		{`{"content":[{"type":"text","text":"the word is hunterzz7"}],"x":"fine","my_hunterzz7":{}}`, false},
		{`{"content":[{"type":"text","text":"the word is 70364218 hunterzz7"}],"n":70364218}`, false},
	} {
		e := event(t, fmt.Sprintf(form, tt.result))
		request, err := e.Request("t", "c", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(request, []byte("hunterzz7"), []byte("[masked]"), 1)
		changed = bytes.Replace(changed, []byte("70364218 "), []byte("[masked]"), 1)
		a := e.Answer(&Decision{Effect: act.Modify, Message: "No.", Modified: changed})
		said := strings.ToLower(string(a.Stdout))
		if strings.Contains(said, "hunterzz7") || strings.Contains(said, "70364218") || strings.Contains(said, "withheld") == tt.masked {
			t.Errorf("%s: %s", tt.result, a.Stdout)
		}
	}
}

// TestWithheldHasItsForm: Claude Code shows its model the result as it was where what is to
// stand in its place has not the form of the tool's results. So has what is withheld without
// being read.
func TestWithheldHasItsForm(t *testing.T) {
	for tool, member := range map[string]string{
		"Bash": "stdout", "Read": "type", "Grep": "mode", "Glob": "filenames", "Edit": "newString", "Write": "content", "WebFetch": "result",
		"WebSearch": "results", "Task": "status", "Agent": "status", "NotebookEdit": "new_source", "ReadMcpResource": "contents",
	} {
		input := `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"` + tool + `","tool_input":{},"tool_use_id":"1","tool_response":{"x":"\ud83d` + hidden + `"`
		for _, end := range []string{"}}", ""} { // the second is broken off
			run := Run{Agent: "claude-code", Trails: t.TempDir(), Timeout: time.Minute}
			a := run.Respond(context.Background(), []byte(input+end), func(context.Context, []byte) (*Decision, error) {
				return &Decision{Effect: act.Deny, Message: "No."}, nil
			})
			doc, err := rawjson.Parse(a.Stdout)
			if err != nil {
				t.Fatal(err)
			}
			if out := doc.Root().Get("hookSpecificOutput").Get("updatedToolOutput"); !out.Get(member).Exists() || !bytes.Contains(out.Raw(), []byte("withheld")) || bytes.Contains(a.Stdout, []byte(hidden)) {
				t.Errorf("%s: %s", tool, a.Stdout)
			}
		}
	}
	// Of a tool whose form is not known the names stay that are a program's, and the words by
	// which it tells its results apart.
	e := event(t, `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"New","tool_input":{},"tool_use_id":"1","tool_response":{"status":"completed","items":[{"title":"a","n":4012888888881881,"`+hidden+`":1},{"title":"b"}],"done":true}}`)
	a := e.Answer(&Decision{Effect: act.Deny, Message: "No."})
	want := `"updatedToolOutput":{"status":"completed","items":[{"title":"[withheld by reeve: No.]","n":0}],"done":false}`
	if !bytes.Contains(a.Stdout, []byte(want)) {
		t.Errorf("%s", a.Stdout)
	}
}
