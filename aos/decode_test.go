package aos

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"

	"github.com/google/go-cmp/cmp"
)

func TestActionOf(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{`, "the request is not acceptable JSON: unexpected end of data at byte 1"},
		{`[]`, `the request is not a JSON-RPC 2.0 request: it needs "jsonrpc": "2.0", a method and params`},
		{`{"jsonrpc":"2.0","method":"ping"}`, `the method "ping" is none that AOS asks for a decision with`},
		{`{"jsonrpc":"2.0","method":"steps/message"}`, "/params: The params are missing. Expected an object."},
		{`{"jsonrpc":"2.0","method":"steps/message","params":{}}`, "/params/context: The field is required, and it is missing. Expected an object of type StepContext."},
	} {
		if a, err := ActionOf([]byte(tt.body)); a != nil || err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.body, err, tt.want)
		}
	}
}

// TestAct compares everything that is read from one request.
func TestAct(t *testing.T) {
	body := request3KB()
	a, err := ActionOf(body)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"{": a.Agent.Raw, `"You`: a.Agent.Instructions, "[": a.Agent.Tools, `{"name":"Heron`: a.Agent.ModelRaw} {
		if !bytes.HasPrefix(raw, []byte(name)) || !bytes.Contains(body, raw) {
			t.Errorf("a part of the agent's description is %.60s", raw)
		}
	}
	a.Agent.Raw, a.Agent.Instructions, a.Agent.Tools, a.Agent.ModelRaw = nil, nil, nil, nil
	want := &act.Action{
		Door: "aos", Method: "steps/toolCallRequest", Kind: act.ToolCall,
		Agent:   act.Agent{ID: "lend-1", Name: "Lending desk", Version: "0.8.0", Provider: "Birch Library", Organization: "birch", Model: "heron-s-1"},
		User:    act.User{ID: "reader-9", Name: "Oda Lind", Email: "oda@lind.example", Organization: "birch"},
		Session: "s-100", Turn: "t-1", Step: "st-1", SaidAt: time.Date(2026, 4, 2, 8, 15, 0, 123456000, time.UTC),
		ID: "x-1", Resource: "cat.search", Canonical: "cat.search",
		Tool: &act.Tool{ID: "cat.search", Name: "cat.search", Type: "function_call", Arguments: []act.ToolArgument{
			{Name: "title", Type: "string", Required: true}, {Name: "limit", Type: "number"},
		}},
		Arguments: []act.Argument{
			{Name: "title", Value: []byte(`"Winter gardens"`), Pointer: "/params/toolCallRequest/inputs/0/value"},
			{Name: "limit", Value: []byte(`5`), Pointer: "/params/toolCallRequest/inputs/1/value"},
		},
		Content:   []act.Leaf{{Pointer: "/params/toolCallRequest/inputs/0/value", Text: "Winter gardens", Arg: "title", Base: 38}},
		Reasoning: "The reader asked for books on gardens in winter, so the catalogue is searched.",
		Body:      body, Digest: a.Digest, Earlier: a.Earlier,
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// call is a tool call with these inputs, as JSON.
func call(tool, inputs, context string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"a","id":"a","instructions":"","version":"1","provider":{"name":"p","url":"u"}},"session":{"id":"s"},%s},"toolCallRequest":{"executionId":"x","toolId":%q,"inputs":%s}}}`,
		context, tool, inputs)
}

const first = `"turnId":"t","stepId":"st","timestamp":"2026-04-02T08:15:00Z"`

func mcpCall(tool, rest string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q%s}}}}`, tool, rest)
}

// TestDigestBinds says what belongs to an act's digest, and what does not.
func TestDigestBinds(t *testing.T) {
	digest := func(body []byte) act.Digest {
		t.Helper()
		a, err := ActionOf(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return a.Digest
	}
	const inputs = `[{"name":"a","value":9007199254740993},{"name":"b","value":"x"}]`
	base := digest(call("send", inputs, first))
	for name, tt := range map[string]struct {
		body []byte
		same bool
	}{
		"another step, turn and time": {call("send", inputs, `"turnId":"u","stepId":"su","timestamp":"2027-04-02T08:15:00Z"`), true},
		"inputs in another order":     {call("send", `[{"name":"b","value":"x"},{"name":"a","value":9007199254740993}]`, first), true},
		"spelled another way":         {call("send", `[{"value":9007199254740993,"name":"\u0061"},{"name":"b","value":"\u0078"}]`, first), true},
		"the next number":             {call("send", `[{"name":"a","value":9007199254740992},{"name":"b","value":"x"}]`, first), false},
		"another tool":                {call("Send", inputs, first), false},
		"an input by its id":          {call("send", `[{"name":"a","id":"c","value":9007199254740993},{"name":"b","value":"x"}]`, first), false},
		"another execution":           {bytes.Replace(call("send", inputs, first), []byte(`"executionId":"x"`), []byte(`"executionId":"y"`), 1), true},
		"more in an input":            {call("send", `[{"name":"a","value":9007199254740993,"unit":"m"},{"name":"b","value":"x"}]`, first), false},
		"more in the call":            {bytes.Replace(call("send", inputs, first), []byte(`"toolId"`), []byte(`"force":true,"toolId"`), 1), false},
		"more in the params":          {bytes.Replace(call("send", inputs, first), []byte(`"toolCallRequest"`), []byte(`"force":true,"toolCallRequest"`), 1), false},
		"fewer inputs":                {call("send", `[{"name":"a","value":9007199254740993}]`, first), false},
	} {
		if got := digest(tt.body) == base; got != tt.same {
			t.Errorf("%s: same is %t, want %t", name, got, tt.same)
		}
	}

	mcp := digest(mcpCall("send", `,"arguments":{"a":9007199254740993,"b":"x"}`))
	for name, tt := range map[string]struct {
		body []byte
		same bool
	}{
		"arguments in another order":  {mcpCall("send", `,"arguments":{"b":"x","a":9007199254740993}`), true},
		"a progress token":            {mcpCall("send", `,"arguments":{"b":"x","a":9007199254740993},"_meta":{"progressToken":4}`), true},
		"something else beside":       {mcpCall("send", `,"arguments":{"b":"x","a":9007199254740993},"_meta":{"note":"y"}`), false},
		"another message's id":        {bytes.Replace(mcpCall("send", `,"arguments":{"a":9007199254740993,"b":"x"}`), []byte(`"id":1,"method":"tools/call"`), []byte(`"id":2,"method":"tools/call"`), 1), true},
		"something beside the params": {bytes.Replace(mcpCall("send", `,"arguments":{"a":9007199254740993,"b":"x"}`), []byte(`"id":1,"method":"tools/call"`), []byte(`"id":1,"x":2,"method":"tools/call"`), 1), false},
		"another argument":            {mcpCall("send", `,"arguments":{"b":"x","a":9007199254740993,"c":1}`), false},
	} {
		if got := digest(tt.body) == mcp; got != tt.same {
			t.Errorf("MCP, %s: same is %t, want %t", name, got, tt.same)
		}
	}

	// The same call by both doors is one act; in the form before, its kind told them apart.
	a, _ := ActionOf(call("send", inputs, first))
	b, _ := ActionOf(mcpCall("send", `,"arguments":{"b":"x","a":9007199254740993}`))
	const form = `{%s,"resource":"send","arguments":{"a":9007199254740993,"b":"x"}}`
	for _, a := range []*act.Action{a, b} {
		if want := fmt.Sprintf(form, `"v":2,"kind":"call"`); a.Digest != act.Digest(sum(want)) {
			t.Errorf("%s: the digest is not that of %s", a.Kind, want)
		}
		if want := fmt.Sprintf(form, `"kind":"`+string(a.Kind)+`"`); a.Earlier != act.Digest(sum(want)) {
			t.Errorf("%s: the earlier digest is not that of %s", a.Kind, want)
		}
	}
}

// TestTooMuch: a small request that names a great many texts, each at the end
// of a long path, is refused and not half read.
func TestTooMuch(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	// Without bounds the second would make a hundred megabytes of pointers, and with
	// longer arrays a million of them.
	for name, value := range map[string]string{
		"many texts":    `[` + strings.Repeat(`"a",`, content.MaxLeaves) + `"a"]`,
		"long pointers": `{"` + long + `":[` + strings.Repeat(`"a",`, 100) + `"a"]}`,
	} {
		body := call("send", `[{"name":"a","value":`+value+`}]`, first)
		start := time.Now()
		a, err := ActionOf(body)
		if a != nil || err == nil || !strings.Contains(err.Error(), "more pieces of text") {
			t.Errorf("%s: %.100v", name, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
	body := call("send", `[{"name":"a","value":[`+strings.Repeat(`"",0,`, 2*content.MaxLeaves)+`"b"]}]`, first)
	if a, err := ActionOf(body); err != nil || len(a.Content) != 1 {
		t.Errorf("what holds no text counts as text: %.100v", err)
	}
}

// TestParseTime compares with the standard library where both read the same.
func TestParseTime(t *testing.T) {
	for _, layout := range []string{time.RFC3339Nano, time.RFC3339} {
		for at := time.Date(1899, 12, 31, 23, 59, 59, 999, time.FixedZone("", -5*3600-1800)); at.Year() < 2101; at = at.Add(997*time.Hour + 61*time.Second + 1001) {
			text := at.Format(layout)
			want, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			if got, zoned, fault := parseTime(text); fault != "" || !zoned || !got.Equal(want) {
				t.Fatalf("%s: %v %t %s, want %v", text, got, zoned, fault, want)
			}
		}
	}
	for _, text := range []string{"", "T", "2026-04-02T", "2026-04-02T8:15", "2026-04-02T08:1", "2026-4-02T08:15:00Z", "2026-04-02T08:15:00.Z", "2026-04-02T08:15.5Z",
		"2026-04-02T08:15:00+", "2026-04-02T08:15:00+1", "2026-04-02T08:15:00ZZ", "2026-04-02T08:15:00Z ", " 2026-04-02T08:15:00Z", "2026-04-02T08:60:00Z", "2026-04-02T08:15:61Z",
		"2026-04-02T08:15:00−01:00", "20260402T08:15:00:00Z", "+2026-04-02T08:15:00Z", "2026-00-02T08:15:00Z", "2026-04-00T08:15:00Z", "2100-02-29T00:00:00Z", "2026-W14-4T08:15:00Z", "２０２６-04-02T08:15:00Z"} {
		if got, _, fault := parseTime(text); fault == "" {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	for _, text := range []string{"2026-04-02t08:15:00z", "2026-04-02T08:15:00+0200", "2026-04-02T08:15:00+02", "2026-12-31T23:59:60Z", "2026-04-02T08:15:00.123456789123Z", "2000-02-29T00", "20260402T0815"} {
		if _, _, fault := parseTime(text); fault != "" {
			t.Errorf("%q: %s", text, fault)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-04-02T08:15:00Z")
	f.Add("20260402T0815+0200")
	f.Fuzz(func(t *testing.T, text string) {
		got, zoned, fault := parseTime(text)
		want, err := time.Parse(time.RFC3339, text)
		if err == nil && (fault != "" || !zoned || !got.Equal(want)) && !strings.ContainsAny(text, ",") {
			t.Errorf("%q: %v %s, want %v", text, got, fault, want)
		}
		if fault == "" && len(text) < 11 {
			t.Errorf("%q is read", text)
		}
	})
}

func sum(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// TestDocumentation: the request that docs/protocol/aos.md shows is valid.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol/aos.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "-d '")
	request, _, closed := strings.Cut(rest, "'\n")
	if !ok || !closed {
		t.Fatal("the page shows no request")
	}
	if a, err := ActionOf([]byte(request)); err != nil || a.Kind != act.ToolCall {
		t.Errorf("%v", err)
	}
}

// TestThreat05Wrapped: a wrapped message that readers understand in two ways is
// refused, since somebody else executes it; one with members that the protocol does
// not have is not.
func TestThreat05Wrapped(t *testing.T) {
	for _, tt := range []struct {
		message string
		refused bool
	}{
		{`"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"`, true},
		{`"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0041me":"b"}`, true},
		{`"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"param\u017f":{"name":"b"}`, true},
		{`"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a","TEXT":"b"}]}`, true},
		{`"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"X":2,"Name":"b"},"_meta":{"Method":1},"more":{"Name":1}},"trace":{"Method":1}`, false},
	} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{"message":{` + tt.message + `}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{` + tt.message + `}}`,
		} {
			a, err := ActionOf([]byte(body))
			if err != nil {
				t.Fatal(body, err)
			}
			refused := len(a.Refusals) == 1 && a.Refusals[0].Code == act.CodeAmbiguous && a.Refusals[0].Final
			if refused != tt.refused {
				t.Errorf("%s: %+v", body, a.Refusals)
			}
		}
	}
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","messageId":"1","parts":[{"kind":"text","text":"a"}]}}}`:                            false,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","messageId":"1","parts":[{"kind":"text","text":"a","Text":"b"}]}}}`:                 true,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","messageId":"1","taskId":"a","task_id":"b","parts":[{"kind":"text","text":"a"}]}}}`: true,
		`{"role":"user","messageId":"1","parts":[{"kind":"data","data":{"Role":"agent"}}],"metadata":{"Parts":1}}`:                                                              false,
		`{"role":"user","Role":"agent","messageId":"1","parts":[{"kind":"text","text":"a"}]}`:                                                                                   true,
	} {
		a, err := ActionOf([]byte(`{"jsonrpc":"2.0","id":1,"method":"protocols/A2A","params":{"message":` + body + `}}`))
		if err != nil {
			t.Fatal(body, err)
		}
		if got := len(a.Refusals) == 1 && a.Refusals[0].Final; got != want {
			t.Errorf("%s: %+v", body, a.Refusals)
		}
	}
}

// TestThreat05DeclaredArguments: an argument that some programs take for another one,
// which the tool declares, is refused.
func TestThreat05DeclaredArguments(t *testing.T) {
	const declared = `"context":{"agent":{"name":"a","id":"a","instructions":"","version":"1","provider":{"name":"p","url":"u"},"model":{"id":"m","name":"m","provider":{"name":"p","url":"u"}},"tools":[{"id":"t","name":"t","type":"function","description":"d","provider":{"name":"p","url":"u"},"version":"1","outputs":[],"arguments":[{"name":"path","id":"p1","type":"string","description":"d","required":false},{"name":"x","id":"p2","type":"string","description":"d","required":false},{"name":"X","id":"p3","type":"string","description":"d","required":false}]}]},"session":{"id":"s"},"turnId":"t","stepId":"s","timestamp":"2026-01-01T00:00:00Z"}`
	for inputs, want := range map[string]bool{
		`{"name":"path","value":1}`:                            false,
		`{"name":"Path","value":1}`:                            true,
		`{"name":"path","value":1},{"name":"pa_th","value":2}`: true,
		`{"name":"Other","value":1}`:                           false,
	} {
		a, err := ActionOf([]byte(`{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{` + declared + `,"toolCallRequest":{"executionId":"e","toolId":"t","inputs":[` + inputs + `]}}}`))
		if err != nil {
			t.Fatal(inputs, err)
		}
		if got := len(a.Refusals) == 1 && a.Refusals[0].Final && a.Refusals[0].Code == act.CodeAmbiguous; got != want {
			t.Errorf("%s: %+v", inputs, a.Refusals)
		}
	}
}
