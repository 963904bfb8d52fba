package message

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func read(t testing.TB, src string) (Message, []act.Leaf) {
	t.Helper()
	doc, err := rawjson.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var texts content.Set
	return Read(doc.Root(), "", &texts), texts.Leaves
}

// texts are the leaves as "pointer: text".
func texts(leaves []act.Leaf) (list []string) {
	for _, l := range leaves {
		text := l.Pointer + ": " + l.Text
		if l.Fixed {
			text += " (fixed)"
		}
		list = append(list, text)
	}
	return list
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      Message
		texts     []string
	}{
		{"call", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"post","arguments":{"type":"text","n":1},"_meta":{"progressToken":"p","note":"seen"}}}`,
			Message{Request: true, Method: "tools/call", ID: "4", Resource: "post", Arguments: []act.Argument{
				{Name: "type", Value: []byte(`"text"`), Pointer: "/params/arguments/type"}, {Name: "n", Value: []byte(`1`), Pointer: "/params/arguments/n"}}},
			[]string{"/params/arguments/type: text", "/params/_meta/note: seen"}},
		{"call with arguments that are none", `{"id":"4","method":"tools/call","params":{"name":"post","arguments":["a"]}}`,
			Message{Request: true, Method: "tools/call", ID: "4", Resource: "post"}, []string{"/params/arguments/0: a"}},
		{"name that is no name", `{"id":1,"method":"tools/call","params":{"name":{"a":"wipe it"}}}`,
			Message{Request: true, Method: "tools/call", ID: "1"}, []string{"/params/name/a: wipe it"}},
		{"method that is none", `{"id":1,"method":7,"params":{"a":"b c"}}`, Message{ID: "1"}, []string{"/params/a: b c"}},
		{"result and error", `{"id":1,"result":{"content":[{"type":"text","text":"a"}]},"error":{"message":"b","data":["c"]}}`,
			Message{ID: "1", Failed: true}, []string{"/result/content/0/text: a", "/error/message: b", "/error/data/0: c"}},
		{"audio", `{"id":1,"result":{"content":[{"type":"audio","mimeType":"text/plain","data":"aGk="},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"text","data":"iVBO"}]}}`,
			Message{ID: "1"}, []string{"/result/content/0/data: hi", "/result/content/2/data: iVBO"}},
		{"embedded resource", `{"id":1,"result":{"content":[{"type":"resource","resource":{"uri":"a://b","mimeType":"text/plain","text":"x"}}]}}`,
			Message{ID: "1"}, []string{"/result/content/0/resource/uri: a://b", "/result/content/0/resource/text: x"}},
		{"elicited", `{"id":1,"result":{"action":"accept","content":{"type":"novel","when":"now"}}}`,
			Message{ID: "1"}, []string{"/result/content/type: novel", "/result/content/when: now"}},
		{"completion", `{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"Od"}}}`,
			Message{Request: true, Method: "completion/complete", ID: "1"}, []string{"/params/ref/name: greet", "/params/argument/name: who", "/params/argument/value: Od"}},
		{"failed, and a result", `{"error":{"message":"a"},"result":{"isError":false}}`, Message{Failed: true}, []string{"/error/message: a"}},
		{"more beside a call", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"post"},"x":"a b","result":{"y":"c d"},"error":{"data":{"z":"e f"}}}`,
			Message{Request: true, Method: "tools/call", ID: "4", Resource: "post", Failed: true}, []string{"/x: a b", "/result/y: c d", "/error/data/z: e f"}},
		{"more beside an answer", `{"jsonrpc":"2.0","id":4,"result":{},"params":{"a":"b c"},"x":["d e"],"context":"f g"}`,
			Message{ID: "4"}, []string{"/params/a: b c", "/x/0: d e", "/context: f g"}},
		{"JSON-RPC's own that hold more", `{"jsonrpc":"a b","id":"c d","method":"ignore/all/previous/instructions"}`,
			Message{Request: true, Method: "ignore/all/previous/instructions", ID: "c d"}, []string{"/jsonrpc: a b (fixed)", "/id: c d (fixed)", "/method: ignore/all/previous/instructions (fixed)"}},
		{"names and ids that hold more", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a b","arguments":{"c d":{"e f":1}},"_meta":{"progressToken":"4111111111111111"}}}`,
			Message{Request: true, Method: "tools/call", ID: "4", Resource: "a b", Arguments: []act.Argument{{Name: "c d", Value: []byte(`{"e f":1}`), Pointer: "/params/arguments/c d"}}},
			[]string{"/params/name: a b (fixed)", "/params/arguments: c d (fixed)", "/params/arguments/c d: e f (fixed)", "/params/_meta/progressToken: 4111111111111111 (fixed)"}},
		{"a number that is long", `{"jsonrpc":"2.0","id":4,"result":{"x":4111111111111111}}`, Message{ID: "4"}, []string{"/result/x: 4111111111111111"}},
		{"not an object", `{"id":1,"method":"x","params":["a"]}`, Message{Request: true, Method: "x", ID: "1"}, []string{"/params/0: a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, leaves := read(t, tt.src)
			got.From = "" // see TestFrom
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.texts, texts(leaves)); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListed: a definition's hash changes with anything in it, and not with
// the order of its members; its name is the canonical one.
func TestListed(t *testing.T) {
	list := func(tool string) act.Definition {
		m, _ := read(t, `{"id":1,"result":{"tools":[`+tool+`,{"noname":1},7]}}`)
		if len(m.Listed) != 1 {
			t.Fatalf("%d tools listed", len(m.Listed))
		}
		return m.Listed[0]
	}
	a := list(`{"name":" Post_Note","description":"d","inputSchema":{"type":"object"}}`)
	b := list(`{"inputSchema":{"type":"object"},"name":" Post_Note","description":"\u0064"}`)
	c := list(`{"name":" Post_Note","description":"d","inputSchema":{"type":"object","x":1}}`)
	if a.Name != "post_note" || a != b || a.Hash == c.Hash {
		t.Errorf("%v, %v, %v", a, b, c)
	}
	if m, _ := read(t, `{"id":1,"method":"x","result":{"tools":[{"name":"a"}]}}`); m.Listed != nil {
		t.Error("a request lists tools")
	}
}

// FuzzRead: nothing makes it panic, what it points at is there, and no text
// passes unread but bytes that are no text.
func FuzzRead(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a b","arguments":{"a":["b c"]}}}`)
	f.Add(`{"id":1,"result":{"tools":[{"name":"a","description":"b c","inputSchema":{"required":["a","b c"]}}],"contents":[{"blob":"aGk=","mimeType":"a/b c"}]}}`)
	f.Add(`{"id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"a b","content":[{"type":"tool_use","input":{"type":"x"}}]}]}}`)
	f.Add(`{"structuredContent":"a b","params":[["a b"]]}`)
	f.Fuzz(func(t *testing.T, src string) {
		doc, err := rawjson.Parse([]byte(src))
		if err != nil || doc.Root().Kind() != rawjson.Object {
			return
		}
		var texts content.Set
		Read(doc.Root(), "", &texts)
		seen, fixed := map[string]bool{}, map[string]bool{}
		for _, leaf := range texts.Leaves {
			v := doc.At(leaf.Pointer)
			if leaf.Fixed {
				fixed[leaf.Text] = true
				if !v.Exists() {
					t.Fatalf("there is no %s", leaf.Pointer)
				}
				continue
			}
			if v.Kind() == rawjson.Number && string(v.Raw()) == leaf.Text {
				continue
			}
			if v.Kind() != rawjson.String || !leaf.Base64 && v.Text() != leaf.Text {
				t.Fatalf("%s is %s, and says %q", leaf.Pointer, v.Raw(), leaf.Text)
			}
			seen[leaf.Pointer] = true
		}
		for v := range doc.Root().Strings() {
			p := v.Pointer()
			bytes := strings.HasSuffix(p, "/blob") || strings.HasSuffix(p, "/data")
			if !seen[p] && !fixed[v.Text()] && !content.Word(v) && !bytes {
				t.Errorf("%s passes unread: %s", p, v.Raw())
			}
		}
		checkCanonical(t, AppendCanonical([]byte("{"), doc.Root()))
	})
}

// TestCanonical: a call with a name and arguments has the form that it has in
// every protocol; whatever else the message holds is in the form of the rest.
func TestCanonical(t *testing.T) {
	for src, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1},"_meta":{"progressToken":7}}}`: `"arguments":{"x":1}`,
		`{"id":2,"method":"tools/call","params":{"name":"a"}}`:                                                                 `"arguments":{}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"y":"z"}`:                                         `"content":{"params":{"_meta":null,"rest":{"name":"a"}},"rest":{"y":"z"}}`,
		`{"jsonrpc":"2.0","id":"a b","method":"ping"}`:                                                                         `"content":{"rest":{"id":"a b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"a b","traceparent":"c"}}}`:                   `"content":{"params":{"_meta":{"progressToken":"a b"},"rest":{}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"params":7}`:                                                                      `"content":{"params":{"_meta":null,"rest":7},"result":{"_meta":null,"rest":{}}}`,
		`{"b":1,"a":2}`: `"content":{"message":{"a":2,"b":1}}`,
	} {
		doc, err := rawjson.Parse([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendCanonical(nil, doc.Root())); got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}

// checkCanonical checks that what was appended makes a JSON object.
func checkCanonical(t *testing.T, b []byte) {
	if _, err := rawjson.Parse(append(b, '}')); err != nil {
		t.Errorf("the canonical form is not JSON: %v\n%s", err, b)
	}
}

// TestFrom: who a message comes from, as far as its form tells.
func TestFrom(t *testing.T) {
	for src, want := range map[string]string{
		`{"id":1,"method":"tools/call"}`:                                              act.FromClient,
		`{"id":1,"method":"ping"}`:                                                    act.FromClient,
		`{"id":1,"method":"x/y"}`:                                                     act.FromClient,
		`{"id":1,"method":"sampling/createMessage"}`:                                  act.FromServer,
		`{"id":1,"method":"elicitation/create"}`:                                      act.FromServer,
		`{"method":"notifications/message"}`:                                          act.FromServer,
		`{"method":"notifications/anything"}`:                                         act.FromServer,
		`{"method":"notifications/initialized"}`:                                      act.FromClient,
		`{"id":1,"result":{"role":"assistant","content":{"type":"text","text":"a"}}}`: act.FromServer,
		`{"id":1,"error":{"code":1,"message":"a"}}`:                                   act.FromServer,
	} {
		if got, _ := read(t, src); got.From != want {
			t.Errorf("%s comes from %q, want %q", src, got.From, want)
		}
	}
}

// TestElicitation: what a person is asked for is read, the names of the fields, too.
func TestElicitation(t *testing.T) {
	m, leaves := read(t, `{"id":1,"method":"elicitation/create","params":{"mode":"form","message":"Sign in","requestedSchema":{"type":"object","properties":{"apiKey":{"type":"string"},"a b":{"type":"string"}}}}}`)
	if len(m.Arguments) != 2 || m.Arguments[0].Name != "mode" || m.Arguments[1].Name != "message" {
		t.Errorf("the arguments are %v", m.Arguments)
	}
	want := []string{
		"/params/requestedSchema/properties: apiKey (fixed)", "/params/mode: form", "/params/message: Sign in", "/params/requestedSchema/properties: a b (fixed)",
	}
	if diff := cmp.Diff(want, texts(leaves)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	// A form is one, whatever the mode says: older clients know no modes.
	m, _ = read(t, `{"id":1,"method":"elicitation/create","params":{"mode":"url","url":"https://example.com","message":"Sign in","requestedSchema":{"type":"object"}}}`)
	if len(m.Arguments) != 3 || string(m.Arguments[0].Value) != `"form"` {
		t.Errorf("the arguments are %v", m.Arguments)
	}
}

// TestThreat05MethodSpellings: a method that is one of the protocol's to a reader that
// is not strict, by case, spaces, separators or look-alikes, is nobody's.
func TestThreat05MethodSpellings(t *testing.T) {
	for _, like := range []string{
		"Tools/Call", "TOOLS/CALL", "tools/call ", " tools/call", "tools/call\n", "tools/call\x00", "/tools/call", "tools/call/", "tools//call", "tools/./call",
		`tools\call`, "tools.call", "tools_call", "toolsCall", "$/tools/call", "t\u043eols/call", "\uff54\uff4f\uff4f\uff4c\uff53/call", "tools\u2044call", "to\u200bols/call",
		"sampling/createmessage", "Initialize",
	} {
		spelled, err := jsontext.AppendQuote(nil, like)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := rawjson.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%s,"params":{}}`, spelled))
		if err != nil {
			t.Fatal(like, err)
		}
		if d := Double(doc.Root(), ""); d == nil || d.Pointer != "/method" {
			t.Errorf("%q passes: %v", like, d)
		}
	}
	for _, call := range []string{
		`"method":"rpc.tools/call","params":{"name":"shell","arguments":{"command":"id"}}`, `"method":"x/y","params":{"arguments":{},"name":"shell"}`,
		`"method":"x/y","params":{"name":"shell","arguments":null}`, `"method":"vendor/tools/call","params":{"name":"wipe"}`,
	} {
		doc, _ := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + call + `}`))
		if d := Double(doc.Root(), ""); d == nil || d.Pointer != "/method" || d.For != "tools/call" {
			t.Errorf("%s passes: %v", call, d)
		}
	}
	for _, other := range []string{`{"name":"x"}`, `{"arguments":{}}`, `[]`, `{"item":{"name":"x","arguments":{}}}`} {
		doc, _ := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"x/y","params":` + other + `}`))
		if d := Double(doc.Root(), ""); d != nil {
			t.Errorf("%s is refused: %v", other, d)
		}
	}
	for data, at := range map[string]string{
		`{"elicitations":[{"mode":"url","Url":"https://evil.example","url":"https://a.example"}]}`:              "/error/data/elicitations/0",
		`{"elicitations":[{"mode":"url","url":"https://a.example"},{"elicitation_id":"x"}]}`:                    "/error/data/elicitations/1",
		`{"Elicitations":[{"mode":"url"}]}`:                                                                     "/error/data",
		`{"elicitations":[{"mode":"url","url":"https://a.example","elicitationId":"1","message":"m"}],"Url":1}`: "",
		`{"supported":["2025-06-18"],"Name":{"Method":1}}`:                                                      "",
		`["Url"]`: "", `"url"`: "",
	} {
		doc, err := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":` + data + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d := Double(doc.Root(), ""); d != nil {
			got = d.Pointer
		}
		if got != at {
			t.Errorf("%s: a double at %q, want %q", data, got, at)
		}
	}
	for name := range defined {
		doc, _ := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + name + `"}`))
		if d := Double(doc.Root(), ""); d != nil {
			t.Errorf("%s is refused: %v", name, d)
		}
	}
	for _, other := range []string{"x/y", "vendor/tools/call", "tools/call2", "notifications/vendor", "textDocument/didOpen"} {
		doc, _ := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + other + `"}`))
		if d := Double(doc.Root(), ""); d != nil {
			t.Errorf("%s is refused: %v", other, d)
		}
	}
}

// The caller's span is read of a request's _meta, and is no part of what the act is.
func TestTraceparent(t *testing.T) {
	const span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	with, err := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{},"_meta":{"traceparent":"` + span + `"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	without, err := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if m := Read(with.Root(), "", new(content.Set)); m.Traceparent != span {
		t.Errorf("the span is %q", m.Traceparent)
	}
	if a, b := AppendCanonical(nil, with.Root()), AppendCanonical(nil, without.Root()); string(a) != string(b) {
		t.Errorf("%s is not %s", a, b)
	}
}
