package a2g

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

// request is a request with these params.
func request(t testing.TB, method, params string) *jsonrpc.Request {
	t.Helper()
	doc, err := rawjson.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"1","method":%q,"params":%s}`, method, params))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	return &jsonrpc.Request{Method: method, ID: root.Get("id").Raw(), Params: root.Get("params"), Message: root, Body: root.Raw()}
}

func intentWith(tool, arguments, more string) string {
	return fmt.Sprintf(`{"agent_did":"did:aeon:a","intent_id":"i-1","tool":%q,"arguments":%s%s}`, tool, arguments, more)
}

// TestSameDigestAsAOS: the same call is the same act, whichever protocol it comes by.
func TestSameDigestAsAOS(t *testing.T) {
	for _, tt := range []struct{ tool, arguments, inputs string }{
		{"shell", `{"command":"ls","n":1.50}`, `[{"name":"n","value":1.50},{"name":"command","value":"ls"}]`},
		{"write file", `{"ü":"\u0061b","x":{"b":[1, 2],"a":null}}`, `[{"name":"x","value":{"a":null,"b":[1,2]}},{"name":"\u00fc","value":"ab"}]`},
		{"now", `{}`, `[]`},
	} {
		a, _, fail := decodeIntent(request(t, MethodIntent, intentWith(tt.tool, tt.arguments, `,"context":{"session_id":"s","reasoning":"why","trace":"x"}`)))
		if fail != nil {
			t.Fatal(fail)
		}
		b, err := aos.ActionOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"A","id":"a","instructions":"","version":"1","provider":{"name":"p","url":"u"}},
			"session":{"id":"s"},"turnId":"t","stepId":"st","timestamp":"2026-04-02T08:15:00Z"},"toolCallRequest":{"executionId":"x","toolId":%q,"inputs":%s}}}`, tt.tool, tt.inputs))
		if err != nil {
			t.Fatal(err)
		}
		if a.Digest != b.Digest {
			t.Errorf("%s: %s over A2G, and %s over AOS", tt.tool, a.Digest, b.Digest)
		}
		if a.Canonical != b.Canonical || a.Kind != b.Kind {
			t.Errorf("%s: %s %s, %s %s", tt.tool, a.Kind, a.Canonical, b.Kind, b.Canonical)
		}
		got, earlier := callDigest(tt.tool, request(t, "", tt.arguments).Params)
		if got != a.Digest.String() || earlier != a.Earlier.String() {
			t.Errorf("%s: callDigest is %s, in the form before %s", tt.tool, got, earlier)
		}
	}
}

// TestDigest: what is done counts, and nothing else.
func TestDigest(t *testing.T) {
	digest := func(params string) act.Digest {
		a, _, fail := decodeIntent(request(t, MethodIntent, params))
		if fail != nil {
			t.Fatal(fail)
		}
		return a.Digest
	}
	base := digest(intentWith("t", `{"a":1}`, ""))
	for name, params := range map[string]string{
		"another intent":  `{"intent_id":"i-2","agent_did":"did:aeon:b","arguments":{"a":1},"tool":"t"}`,
		"another context": intentWith("t", `{"a":1}`, `,"context":{"reasoning":"x","trace":{"id":1},"signature":{"timestamp":"1","nonce":"n","hash":"00"}}`),
		"another writing": intentWith("t", `{ "\u0061" : 1 }`, ""),
	} {
		if digest(params) != base {
			t.Errorf("%s is another act", name)
		}
	}
	for name, params := range map[string]string{
		"another tool":     intentWith("T", `{"a":1}`, ""),
		"another value":    intentWith("t", `{"a":1.0}`, ""),
		"a string":         intentWith("t", `{"a":"1"}`, ""),
		"another argument": intentWith("t", `{"a":1,"b":null}`, ""),
		"an unknown param": intentWith("t", `{"a":1}`, `,"cwd":"/"`),
	} {
		if digest(params) == base {
			t.Errorf("%s is the same act", name)
		}
	}
}

func TestDecodeIntent(t *testing.T) {
	a, in, fail := decodeIntent(request(t, MethodIntent, intentWith("Write File ", `{"a":"x"}`, `,"context":{"session_id":"s","parent_intent":"p","reasoning":"r","signature":{"timestamp":1775117700000,"nonce":"n","hash":"00"}}`)))
	if fail != nil {
		t.Fatal(fail)
	}
	want := &Intent{AgentDID: "did:aeon:a", IntentID: "i-1", Tool: "Write File ", Arguments: Raw(`{"a":"x"}`), Context: &IntentContext{
		SessionID: "s", ParentIntent: "p", Reasoning: "r", Signature: &Signature{Timestamp: "1775117700000", Nonce: "n", Hash: "00"},
	}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Canonical != "write file" || a.Door != "a2g" || a.Method != MethodIntent || a.Step != "i-1" {
		t.Errorf("%q %q %q %q", a.Canonical, a.Door, a.Method, a.Step)
	}
}

// TestBatchPointers: fields are named from the call's own root, also in a batch.
func TestBatchPointers(t *testing.T) {
	doc, err := rawjson.Parse([]byte(`[1,{"params":{"agent_did":"did:aeon:a","intent_id":"i","tool":"t","arguments":{"x":"y"}}},{"params":{"agent_did":"did:aeon:a"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	at := func(i string) *jsonrpc.Request {
		v := doc.At(i)
		return &jsonrpc.Request{Method: MethodIntent, Params: v.Get("params"), Message: v, Body: v.Raw()}
	}
	a, _, fail := decodeIntent(at("/1"))
	if fail != nil {
		t.Fatal(fail)
	}
	checkAct(t, a)
	_, _, fail = decodeIntent(at("/2"))
	if fail == nil || !strings.Contains(string(fail.Data), `"field":"/params/intent_id"`) {
		t.Errorf("%v", fail)
	}
}

func TestDecodeReport(t *testing.T) {
	half := 0.5
	_, got, fail := decodeReport(request(t, MethodReport, `{"agent_did":"did:aeon:a","intent_id":"i","status":"FAILURE","error":"no","metrics":{"duration_ms":12.5,"cpu_percent":0.5,"memory_used_mb":null},"tool":"t","arguments":{"b":1,"a":2}}`))
	if fail != nil {
		t.Fatal(fail)
	}
	a, _, _ := decodeIntent(request(t, MethodIntent, intentWith("t", `{"a":2,"b":1}`, "")))
	want := &Report{AgentDID: "did:aeon:a", IntentID: "i", Status: Failure, Error: "no", Metrics: &Metrics{DurationMS: 12.5, CPUPercent: &half}, Tool: "t", Arguments: Raw(`{"b":1,"a":2}`), Digest: a.Digest.String()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, _, fail = decodeReport(request(t, MethodReport, `{"agent_did":"did:aeon:a","intent_id":"i","status":"SUCCESS","tool":"t","arguments":{},"digest":"sha256:`+strings.Repeat("0", 64)+`"}`))
	if fail == nil || !strings.Contains(string(fail.Data), `"/params/digest"`) {
		t.Errorf("a digest that is not of the arguments: %v", fail)
	}
}

func TestDecodeRegister(t *testing.T) {
	a, got, fail := decodeRegister(request(t, MethodRegister, `{"agent_did":"did:aeon:a","public_key":"ed25519:00","capabilities_requested":["t",""],"metadata":{"name":"N","version":"1","n":{"x":[1]}},"plan":"steal it all"}`))
	if fail == nil {
		t.Fatalf("an empty capability is taken: %v %v", a, got)
	}
	a, got, fail = decodeRegister(request(t, MethodRegister, `{"agent_did":"did:aeon:a","public_key":"ed25519:00","capabilities_requested":["t"],"metadata":{"name":"N","version":"1"},"plan":"steal it all"}`))
	if fail != nil {
		t.Fatal(fail)
	}
	want := &Register{AgentDID: "did:aeon:a", PublicKey: "ed25519:00", CapabilitiesRequested: []string{"t"}, Metadata: map[string]any{"name": "N", "version": "1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Agent.Name != "N" || a.Agent.Version != "1" || len(a.Arguments) != 3 || a.Content[len(a.Content)-1].Text != "steal it all" {
		t.Errorf("%+v", a)
	}
	many := make([]string, maxList+1)
	for i := range many {
		many[i] = "t"
	}
	list, _ := json.Marshal(many)
	if _, _, fail := decodeRegister(request(t, MethodRegister, `{"agent_did":"did:aeon:a","capabilities_requested":`+string(list)+`}`)); fail == nil {
		t.Error("a list without end is taken")
	}
}

func TestDecodeHeartbeat(t *testing.T) {
	got, fail := decodeHeartbeat(request(t, MethodHeartbeat, `{"agent_did":"did:aeon:a","status":"idle","load":0.5}`))
	if diff := cmp.Diff(&Heartbeat{AgentDID: "did:aeon:a", Status: "idle"}, got); diff != "" || fail != nil {
		t.Errorf("%v %s", fail, diff)
	}
	if _, fail := decodeHeartbeat(request(t, MethodHeartbeat, `{}`)); fail == nil {
		t.Error("a heartbeat of nobody is taken")
	}
}

// TestTooMuch: no part of an act passes unread.
func TestTooMuch(t *testing.T) {
	var b strings.Builder
	for i := range content.MaxLeaves + 1 {
		fmt.Fprintf(&b, `,"a%d":1`, i)
	}
	_, _, fail := decodeIntent(request(t, MethodIntent, intentWith("t", "{"+b.String()[1:]+"}", "")))
	if fail == nil || !strings.Contains(string(fail.Data), "more pieces of text") {
		t.Errorf("%v", fail)
	}
	_, _, fail = decodeReport(request(t, MethodReport, `{"agent_did":"did:aeon:a","intent_id":"i","status":"SUCCESS","result":[`+strings.Repeat(`"x",`, content.MaxLeaves)+`"x"]}`))
	if fail == nil || !strings.Contains(string(fail.Data), "more pieces of text") {
		t.Errorf("%v", fail)
	}
}

func TestActionOf(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"jsonrpc":"2.0","method":"a2g/heartbeat","params":{}}`, `{"jsonrpc":"2.0","method":"a2g/intent"}`, `{"method":"a2g/intent"}`} {
		if a, err := ActionOf([]byte(body)); err == nil || a != nil {
			t.Errorf("%s is the act %v", body, a)
		}
	}
}

// requests are the requests of the vectors, and what else a fuzzer should begin with.
func requests(t testing.TB) (list [][]byte) {
	for _, archive := range readVectors(t, "") {
		if body := section(archive, "request.json"); body != nil {
			list = append(list, body)
		}
	}
	return append(list, []byte(`{"jsonrpc":"2.0","id":1,"method":"a2g/heartbeat","params":{"agent_did":"did:aeon:a"}}`))
}

func fuzzDecode(f *testing.F, method string, decode func(r *jsonrpc.Request) (*act.Action, *jsonrpc.Error)) {
	for _, body := range requests(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := rawjson.Parse(body)
		if err != nil {
			return
		}
		root := doc.Root()
		r := &jsonrpc.Request{Method: method, ID: root.Get("id").Raw(), Params: root.Get("params"), Message: root, Body: root.Raw()}
		a, fail := decode(r)
		if fail == nil {
			checkAct(t, a)
			return
		}
		var data struct{ Field, Reason, Expected string }
		if fail.Code != -32602 || a != nil || json.Unmarshal(fail.Data, &data) != nil || data.Reason == "" || data.Expected == "" || !strings.HasPrefix(data.Field, "/params") {
			t.Errorf("%d %s", fail.Code, fail.Data)
		}
	})
}

func FuzzDecodeIntent(f *testing.F) {
	fuzzDecode(f, MethodIntent, func(r *jsonrpc.Request) (*act.Action, *jsonrpc.Error) {
		a, in, err := decodeIntent(r)
		if err == nil && (in.AgentDID == "" || in.IntentID == "" || in.Tool == "" || in.Arguments == nil) {
			f.Errorf("%+v", in)
		}
		return a, err
	})
}

func FuzzDecodeReport(f *testing.F) {
	fuzzDecode(f, MethodReport, func(r *jsonrpc.Request) (*act.Action, *jsonrpc.Error) {
		a, _, err := decodeReport(r)
		return a, err
	})
}

func FuzzDecodeRegister(f *testing.F) {
	fuzzDecode(f, MethodRegister, func(r *jsonrpc.Request) (*act.Action, *jsonrpc.Error) {
		a, _, err := decodeRegister(r)
		return a, err
	})
}
