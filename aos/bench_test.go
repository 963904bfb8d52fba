package aos

import (
	"bytes"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// request3KB is a tool call with a realistic description of the agent.
func request3KB() []byte {
	b := []byte(`{"jsonrpc":"2.0","id":71,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"Lending desk","id":"lend-1","description":"Front desk of a town library","instructions":`)
	b = rawjson.AppendString(b, string(bytes.Repeat([]byte("You help readers find, borrow and renew books. Be brief and friendly. "), 8)))
	b = append(b, `,"version":"0.8.0","provider":{"name":"Birch Library","url":"https://birch.example/it"},"model":{"name":"Heron small","id":"heron-s-1","provider":{"name":"Heron Models"},"maxTokens":1024,"contextWindow":16000,"stopSequences":["##"],"defaultParams":{"temperature":0}},"tools":[`...)
	for i, name := range []string{"cat.search", "cat.reserve", "loans.renew", "hours"} {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":"`+name+`","id":"`+name+`","description":"Works on titles of the catalogue","type":"function_call","arguments":[{"name":"title","description":"The title or a part of it","type":"string","required":true},{"name":"limit","type":"number","required":false}],"outputs":[{"name":"hits","type":"array","mimeType":"application/json"}]}`...)
	}
	b = append(b, `],"mcpServers":[{"name":"catalogue-mcp","version":"2.1.0"}],"resources":[{"name":"House rules","id":"rules","content":"Loans last 28 days.","mimeType":"text/plain"}],"organization":{"id":"birch","name":"Birch Library"}},"session":{"id":"s-100"},"turnId":"t-1","stepId":"st-1","timestamp":"2026-04-02T08:15:00.123456+00:00","user":{"id":"reader-9","name":"Oda Lind","email":"oda@lind.example","organization":{"id":"birch"}}},"toolCallRequest":{"executionId":"x-1","toolId":"cat.search","inputs":[{"name":"title","value":"Winter gardens"},{"name":"limit","value":5}]},"reasoning":"The reader asked for books on gardens in winter, so the catalogue is searched."}}`...)
	return b
}

func requestOf(b testing.TB, body []byte) *jsonrpc.Request {
	doc, err := rawjson.Parse(body)
	if err != nil {
		b.Fatal(err)
	}
	root := doc.Root()
	return &jsonrpc.Request{Method: root.Get("method").Text(), ID: root.Get("id").Raw(), Params: root.Get("params"), Message: root, Body: body}
}

func BenchmarkDecode3KB(b *testing.B) {
	body := request3KB()
	r := requestOf(b, body)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Decode(r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse3KB is the cost of reading the JSON, which comes before Decode.
func BenchmarkParse3KB(b *testing.B) {
	body := request3KB()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := rawjson.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate3KB(b *testing.B) {
	r := requestOf(b, request3KB())
	b.ReportAllocs()
	for b.Loop() {
		if f := toolCallTable.Check(r.Params, r.Message); f != nil {
			b.Fatal(f)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	d := act.Decision{Effect: act.Deny, Policy: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Reasons: []act.Reason{
		{Rule: "no-pipe-to-shell", Code: "shell.pipe", Message: "A download must not be run unread.", Instead: "Download it to a file, and read it first.", Effect: act.Deny},
	}, Risk: act.Risk{Score: 0.9, Level: "CRITICAL", Threats: []string{"shell.pipe"}}, Position: act.Position{Index: 1234567}}
	b.ReportAllocs()
	for b.Loop() {
		appendResult(make([]byte, 0, 768), &d, nil)
	}
}
