package acs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/store/sqlite"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const session = "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36"

const law = `version: 1
default: allow
acts:
  - {name: payment, tools: [pay], control: [to]}
labels:
  - {tools: [contacts], label: own}
rules:
  - {name: strangers, acts: payment, when: '!action.control.all(v, v.origin() in ["user", "own"])', effect: deny}
  - {name: writes, tools: [records.write], effect: escalate, reason: A person writes.}
  - {name: budget, tools: [budgeted], when: 'session.calls >= 3', effect: deny}
  - {name: two-agree, tools: [launch], effect: escalate, approval: {approvers: ["user:boss"]}, reason: The boss launches.}
  - {name: no-wiping, tools: ["*wipe*"], effect: deny, reason: Nobody wipes., instead: Archive it.}
  - {name: no-rm, on: call, when: 'text.contains("rm -rf /")', effect: deny}
  - {name: released, tools: [deploy], effect: escalate, reason: A person releases.}
  - {name: cards, detect: pii.card, effect: modify, modify: redact}
  - {name: modest, tools: [resize], effect: modify, modify: {replace: {argument: size, with: 10}}}
  - {name: no-spies, on: agent.event, when: 'text.contains("spy")', effect: deny}
`

// guardian is one under a policy, whose store lies in a folder and can be opened again.
type guardian struct {
	*testing.T
	dir   string
	guard *guard.Guard
	store *sqlite.Store
	http  *jsonrpc.Handler
	close func()
}

func open(t *testing.T, dir string, keys ...Key) *guardian {
	t.Helper()
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(law)})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	g := &guardian{T: t, dir: dir, store: store, close: sync.OnceFunc(func() { log.Close(); store.Close() })}
	t.Cleanup(g.close)
	if g.guard, err = guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set}); err != nil {
		t.Fatal(err)
	}
	namespace := New(Config{Guard: g.guard, Keys: keys, Version: "test"}).Namespace()
	g.http = &jsonrpc.Handler{Own: &namespace}
	return g
}

// keyA and keyB sign for one agent each.
var (
	keyA = Key{ID: "2026-11", Agent: "ci", Secret: bytes.Repeat([]byte{7}, 32)}
	keyB = Key{ID: "other", Agent: "eve", Secret: bytes.Repeat([]byte{9}, 32)}
)

// agent is one that asks.
type agent struct {
	*guardian
	key     Key
	session string
	n       int
	head    string // of the chain, as the agent keeps it itself
}

func (g *guardian) agent() *agent { return &agent{guardian: g, key: keyA, session: session} }

// answer is what the guardian says.
type answer struct {
	Result struct {
		Decision      string
		Reasoning     string
		ReasonCodes   []string            `json:"reason_codes"`
		Modifications map[string]any      `json:"modifications"`
		Defer         map[string]any      `json:"defer_details"`
		Chain         string              `json:"chain_hash"`
		Policies      []map[string]string `json:"policy_references"`
		Methods       []string            `json:"methods_evaluated"`
		Profiles      []string            `json:"profiles_accepted"`
		OnFailure     string              `json:"on_decision_failure"`
		Skew          int                 `json:"skew_window_ms"`
		Payload       map[string]any
		Signature     map[string]string
	}
	Error struct {
		Code      int
		Data      map[string]any
		Signature map[string]string
	}
	raw []byte
}

func (a *answer) said() string {
	if a.Error.Code != 0 {
		return fmt.Sprint(a.Error.Code)
	}
	return strings.TrimSpace(a.Result.Decision + " " + strings.Join(a.Result.ReasonCodes, " "))
}

// form makes a request, unsigned.
func (a *agent) form(method, payload string, change ...func(params map[string]any)) []byte {
	a.n++
	params := map[string]any{
		"acs_version": Version, "request_id": fmt.Sprintf("00000000-0000-4000-8000-%012d", a.n), "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"metadata": map[string]any{"agent_id": "helper", "session_id": a.session}, "payload": json.RawMessage(payload),
	}
	for _, c := range change {
		c(params)
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.n, "method": method, "params": params})
	if err != nil {
		a.Fatal(err)
	}
	return b
}

// post sends a request as it is.
func (g *guardian) post(body []byte) *answer {
	g.Helper()
	r := httptest.NewRequestWithContext(g.Context(), http.MethodPost, "/acs", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.http.ServeHTTP(w, r)
	out := &answer{raw: w.Body.Bytes()}
	if w.Code != http.StatusOK {
		g.Fatalf("the status %d: %s", w.Code, out.raw)
	}
	if err := json.Unmarshal(out.raw, out); err != nil {
		g.Fatalf("%v: %s", err, out.raw)
	}
	return out
}

// ask signs a request, sends it, and checks what the answer is signed with, and its chain.
func (a *agent) ask(method, payload string, change ...func(params map[string]any)) *answer {
	a.Helper()
	signed, err := a.key.Sign(a.form(method, payload, change...))
	if err != nil {
		a.Fatal(err)
	}
	return a.send(signed)
}

func (a *agent) send(signed []byte) *answer {
	a.Helper()
	out := a.post(signed)
	if out.Error.Code != SignatureInvalid && out.Error.Code > -32500 {
		if err := a.key.Verify(out.raw, a.session); err != nil {
			a.Fatalf("the answer %s: %v", out.raw, err)
		}
	}
	if out.Result.Chain != "" {
		entry, err := EntryOf(signed, a.head)
		if err != nil {
			a.Fatal(err)
		}
		if a.head = entry.Head(); a.head != out.Result.Chain {
			a.Fatalf("the chain has the head %s, not %s", out.Result.Chain, a.head)
		}
	}
	return out
}

var everything = func() string {
	methods := slices.Clone(boms)
	for name := range steps {
		methods = append(methods, "steps/"+name)
	}
	b, _ := json.Marshal(append(methods, "protocols/MCP/tools/call", "wrapped:mcp-2025-06-18/*"))
	return string(b)
}()

func helloFor(methods string) string {
	return `{"acs_versions_supported":["0.1.0"],"methods_implemented":` + methods + `,"transports_supported":["http"],"provenance_producer":"none","profiles_supported":["acs-core","acs-audit"]}`
}

func (a *agent) hello() *answer {
	a.Helper()
	out := a.ask("handshake/hello", helloFor(everything))
	if out.Error.Code != 0 {
		a.Fatalf("hello: %s", out.raw)
	}
	return out
}

func meta(name string, value any) func(map[string]any) {
	return func(p map[string]any) { p["metadata"].(map[string]any)[name] = value }
}

func set(name string, value any) func(map[string]any) {
	return func(p map[string]any) { p[name] = value }
}

func toolCall(tool, arguments string) string {
	return fmt.Sprintf(`{"tool":{"name":%q},"arguments":%s}`, tool, arguments)
}

// TestKey is the vector of the standard's proposal for the keys of sessions.
func TestKey(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	got := hex.EncodeToString((&Key{Secret: secret}).sessionKey(session))
	if want := "80f0dc8c611279bfc2af2d5f374c5cb685888192ce1af5c3e0673d8fa748e8a4"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestVectors are the signing cases of agent-evidence-vectors 0.27.0, family acs-f-13: one
// request under keys that were derived rightly and wrongly.
func TestVectors(t *testing.T) {
	secret := func(first byte) []byte {
		b := make([]byte, 32)
		for i := range b {
			b[i] = first + byte(i)
		}
		return b
	}
	october, september := &Key{ID: "2026-10", Secret: secret(0)}, &Key{ID: "2026-09", Secret: secret(32)}
	for _, c := range []struct {
		name, label, mac string
		holds            bool
	}{
		{"as it is derived", "2026-10", "IpKQ7ATTCnGgalf/y1wBDRGZXLTFcSlQ+dHFvsf23s4=", true},
		{"the other label", "2026-09", "Z10sCIH8d+Ml7YvhFBRrWx5bWyzmp/2FN6SF3gAEq34=", true},
		{"under one label by the other's secret", "2026-09", "IpKQ7ATTCnGgalf/y1wBDRGZXLTFcSlQ+dHFvsf23s4=", false},
		{"a label that is not known", "default", "IpKQ7ATTCnGgalf/y1wBDRGZXLTFcSlQ+dHFvsf23s4=", false},
		{"the session as the label", session, "IpKQ7ATTCnGgalf/y1wBDRGZXLTFcSlQ+dHFvsf23s4=", false},
		{"64 bytes", "2026-10", "O5xw6un3MQX1ArXfaVVIJVIRtfgh9m0qaM53kKNOfxg=", false},
		{"the session as salt", "2026-10", "Od12mQKTcRHBlZ9J9or5JPDYeoWS6GVy4VoWr5MjBdw=", false},
		{"another session", "2026-10", "XIgJ2pSy2NeQ8AzZ+r/OSLVE7Y8oj1f51+/fBAIVwCY=", false},
		{"the secret itself", "2026-10", "9i9NvXqbqNZKUUf/2TtuS8UXjGddsOTFEVbPwUZ6zgI=", false},
	} {
		r, err := jsonrpc.RequestOf(fmt.Appendf(nil, `{"id":1,"jsonrpc":"2.0","method":"steps/toolCallRequest","params":{"acs_version":"0.1.0","metadata":{"agent_id":"agent-acs-vectors","session_id":%q},"payload":{"arguments":{"to":{"value":"ops@example.org"}},"tool":{"name":"email.send"}},"request_id":"56a78506-aa4a-489d-8171-8833ef83f7bd","signature":{"algorithm":"HMAC-SHA256","key_id":%q,"value":%q},"timestamp":"2026-10-15T12:00:00Z"}}`, session, c.label, c.mac))
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{keys: map[string]*Key{october.ID: october, september.ID: september}}
		if _, fail := s.open(r); (fail == nil) != c.holds || fail != nil && fail.Code != SignatureInvalid {
			t.Errorf("%s: %v", c.name, fail)
		}
	}
	answer := []byte(`{"id":1,"jsonrpc":"2.0","result":{"acs_version":"0.1.0","decision":"deny","reasoning":"recipient outside the committed intent","request_id":"56a78506-aa4a-489d-8171-8833ef83f7bd","signature":{"algorithm":"HMAC-SHA256","key_id":"2026-09","value":"6Avy7TLtaLnIJ1JlEFrXji/ZNikaIQW95ZIy5/b1n1c="},"type":"final"}}`)
	if september.Verify(answer, session) != nil || october.Verify(answer, session) == nil {
		t.Error("an answer is signed under the label that the request named, and no other")
	}
}

// TestUnresolved: a result of what never came in its session is noted in its record, and one
// of what came is not.
func TestUnresolved(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	a.hello()
	a.ask("steps/toolCallRequest", toolCall("ls", "{}"))
	for ref, want := range map[string]bool{"00000000-0000-4000-8000-000000000002": false, "00000000-0000-4000-8000-000000000077": true} {
		got := a.ask("steps/toolCallResult", `{"tool":{"name":"ls"},"exit_status":"success","outputs":[{"value":"a"}],"request_id_ref":"`+ref+`"}`)
		if noted := g.noted(t, got); noted != want {
			t.Errorf("%s: noted %v", ref, noted)
		}
	}
}

// TestHello: what is agreed to is what both sides have, and it stays.
func TestHello(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	if got := a.ask("steps/sessionStart", `{}`).said(); got != "-32003" {
		t.Errorf("before the handshake: %s", got)
	}
	first := a.ask("handshake/hello", helloFor(`["steps/userMessage","steps/nonsense","protocols/A2A/x"]`))
	if r := first.Result; !slices.Equal(r.Methods, []string{"steps/userMessage"}) || !slices.Equal(r.Profiles, []string{"acs-core", "acs-audit"}) || r.OnFailure != "deny" || r.Skew != 300000 {
		t.Errorf("%s", first.raw)
	}
	if got := a.ask("steps/sessionStart", `{}`); got.said() != "-32003" || got.Error.Data["method"] != "steps/sessionStart" {
		t.Errorf("what was not agreed to: %s", got.raw)
	}
	again := a.ask("handshake/hello", helloFor(`["steps/userMessage","steps/nonsense","protocols/A2A/x"]`))
	if diff := cmp.Diff(first.Result.Methods, again.Result.Methods); diff != "" {
		t.Error(diff)
	}
	if got := a.ask("handshake/hello", helloFor(everything)).said(); got != "-32000" {
		t.Errorf("other terms: %s", got)
	}
	for change, want := range map[string]string{
		`"0.1.0"→"9.9.9"`: "-32001", `["http"]→["stdio"]`: "-32000", `"acs-core",→`: "-32000", `"none"→"guessed"`: "-32602", `["0.1.0"]→[]`: "-32602",
	} {
		old, new, _ := strings.Cut(change, "→")
		other := g.agent()
		other.n, other.session = 100+a.n, "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a37"
		if got := other.ask("handshake/hello", strings.Replace(helloFor(everything), old, new, 1)); got.said() != want {
			t.Errorf("%s: %s", change, got.raw)
		}
	}
}

// TestEnvelope: what is no request of the standard, or is nobody's, does nothing.
func TestEnvelope(t *testing.T) {
	g := open(t, t.TempDir(), keyA, keyB)
	a := g.agent()
	a.hello()
	call := toolCall("ls", "{}")
	signed := func() string {
		b, err := a.key.Sign(a.form("steps/toolCallRequest", call))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"unsigned":                      {string(a.form("steps/toolCallRequest", call)), SignatureInvalid},
		"partly":                        {strings.Replace(signed(), `"key_id":"2026-11",`, "", 1), SignatureInvalid},
		"without a value":               {strings.Replace(signed(), `"value":`, `"valve":`, 1), SignatureInvalid},
		"another label":                 {strings.Replace(signed(), `"key_id":"2026-11"`, `"key_id":"nobody"`, 1), SignatureInvalid},
		"another's label":               {strings.Replace(signed(), `"key_id":"2026-11"`, `"key_id":"other"`, 1), SignatureInvalid},
		"another algorithm":             {strings.Replace(signed(), Algorithm, "none", 1), SignatureInvalid},
		"another tool":                  {strings.Replace(signed(), `"ls"`, `"rm"`, 1), SignatureInvalid},
		"another id":                    {strings.Replace(signed(), `"id":`, `"id":1`, 1), SignatureInvalid},
		"another method":                {strings.Replace(signed(), "toolCallRequest", "toolCallResult", 1), SignatureInvalid},
		"more":                          {strings.Replace(signed(), `"jsonrpc"`, `"extra":1,"jsonrpc"`, 1), -32600},
		"twice":                         {strings.Replace(signed(), `"payload":{`, `"payload":{"tool":{"name":"x"},`, 1), -32700},
		"jsonrpc 1.0":                   {strings.Replace(signed(), `"2.0"`, `"1.0"`, 1), -32600},
		"no id":                         {string(withoutID(signed())), -32600},
		"no method of ACS":              {string(a.form("nonsense", call)), -32601},
		"version":                       {string(a.form("steps/toolCallRequest", call, set("acs_version", "9.9.9"))), UnsupportedVersion},
		"no version at all":             {string(a.form("steps/toolCallRequest", call, set("acs_version", "0.x"))), UnsupportedVersion},
		"half a version":                {string(a.form("steps/toolCallRequest", call, set("acs_version", "0."))), UnsupportedVersion},
		"a long version":                {string(a.form("steps/toolCallRequest", call, set("acs_version", "0.1.0.0"))), UnsupportedVersion},
		"two payloads":                  {string(a.form("steps/toolCallRequest", call, set("Payload", map[string]any{}))), -32600},
		"two sessions":                  {string(a.form("steps/toolCallRequest", call, meta("sessionId", "x"))), -32600},
		"no version":                    {string(a.form("steps/toolCallRequest", call, func(p map[string]any) { delete(p, "acs_version") })), -32600},
		"no params":                     {`{"jsonrpc":"2.0","id":1,"method":"system/ping"}`, -32600},
		"a long session":                {string(a.form("system/ping", `{}`, meta("session_id", strings.Repeat("a", 5000)))), -32600},
		"deep":                          {`{"jsonrpc":"2.0","id":1,"method":"system/ping","params":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`, -32700},
		"not JSON":                      {`{`, -32700},
		"a number that no double holds": {strings.Replace(signed(), `"arguments":{}`, `"arguments":{"n":{"value":12345678901234567891}}`, 1), SignatureInvalid},
	} {
		if got := g.post([]byte(c.body)); got.Error.Code != c.want || got.Result.Decision != "" {
			t.Errorf("%s: %s", name, got.raw)
		} else if got.Error.Signature != nil {
			t.Errorf("%s: the answer to nobody is signed", name)
		}
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"an hour ago":   {set("timestamp", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)), "-32006"},
		"in an hour":    {set("timestamp", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)), "-32006"},
		"a wrong head":  {meta("session_state", map[string]any{"chain_hash": strings.Repeat("0", 64)}), "deny chain_mismatch"},
		"another agent": {meta("agent_id", "other"), "deny key_not_bound"},
	} {
		if got := a.ask("steps/toolCallRequest", call, c.change); got.said() != c.want {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	// Members that some readers take for those of the standard, and others do not.
	for _, payload := range []string{
		`{"tool":{"name":"ls"},"Tool":{"name":"rm"},"arguments":{}}`,
		`{"tool":{"name":"ls","NAME":"rm"},"arguments":{}}`,
		`{"tool":{"name":"ls"},"arguments":{},"Arguments":{"path":{"value":"/"}}}`,
		`{"tool":{"name":"ls"},"arguments":{"path":{"value":"a","Value":"/"}}}`,
		`{"tool":{"name":"ls"},"arguments":{},"rawCommand":"rm -rf /"}`,
	} {
		if got := a.ask("steps/toolCallRequest", payload); got.Error.Code != -32602 || !strings.Contains(string(got.raw), "which of them counts cannot be known") {
			t.Errorf("%s: %s", payload, got.raw)
		}
	}
	for _, version := range []string{"0.1", "0.1.0", "0.2.0-rc.1"} {
		if got := a.ask("steps/toolCallRequest", call, set("acs_version", version)); got.Error.Code != 0 {
			t.Errorf("version %s: %s", version, got.raw)
		}
	}
	eve := g.agent()
	eve.key, eve.n = keyB, 500
	if got := eve.ask("steps/toolCallRequest", call).said(); got != "deny key_not_bound" {
		t.Errorf("another's session: %s", got)
	}
	if got := a.ask("steps/toolCallRequest", call, meta("session_state", map[string]any{"chain_hash": a.head})).said(); got != "allow default" {
		t.Errorf("with the head as it is: %s", got)
	}
}

// withoutID takes the id of a request away.
func withoutID(s string) []byte {
	before, rest, _ := strings.Cut(s, `"id":`)
	_, after, _ := strings.Cut(rest, ",")
	return []byte(before + after)
}

// TestReplay: no request is taken twice: not after a refusal, not after the session's end,
// and not by a node that was started again.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir, keyA)
	a := g.agent()
	a.hello()
	const once = "0123456789abcdef"
	taken, _ := a.key.Sign(a.form("steps/toolCallRequest", toolCall("ls", "{}"), set("nonce", once)))
	refused, _ := a.key.Sign(a.form("steps/toolCallRequest", `{"tool":{"name":"ls"}}`))
	if got := a.send(taken).said(); got != "allow default" {
		t.Fatal(got)
	}
	if got := a.send(refused).said(); got != "-32602" {
		t.Fatal(got)
	}
	check := func(when string) {
		t.Helper()
		for _, body := range [][]byte{taken, refused} {
			if got := a.send(body); got.said() != "-32005" {
				t.Errorf("%s: %s", when, got.raw)
			}
		}
		if got := a.ask("steps/toolCallRequest", toolCall("ls", "{}"), set("nonce", once)).said(); got != "-32005" {
			t.Errorf("%s, the nonce: %s", when, got)
		}
		for _, id := range []string{"00000000-0000-4000-8000-000000000002"} {
			if got := a.ask("steps/userMessage", `{"content":[{"type":"text","value":"Hi"}]}`, set("request_id", id)).said(); got != "-32005" {
				t.Errorf("%s, the id for something else: %s", when, got)
			}
		}
	}
	check("at once")
	g.close()
	next := open(t, dir, keyA)
	a.guardian = next
	check("after a restart")
	if got := a.ask("steps/sessionEnd", `{"reason":"completed"}`).said(); got != "allow" {
		t.Fatal(got)
	}
	check("after the end")
	if got := a.ask("steps/toolCallRequest", toolCall("ls", "{}")).said(); !strings.HasPrefix(got, "deny session_ended") {
		t.Error(got)
	}
	if got := a.ask("handshake/hello", helloFor(everything)).said(); got != "-32005" {
		t.Error(got)
	}
}

// TestThreat25SignersShare: what a request has of the node counts as its signer's only where they
// send it now. Whoever has no key, or a copy of what was signed, uses up nobody's share.
func TestThreat25SignersShare(t *testing.T) {
	g := open(t, t.TempDir(), keyA, keyB)
	var told []string
	namespace := New(Config{
		Guard: g.guard, Keys: []Key{keyA, keyB}, Version: "test",
		Known: func(_ context.Context, by act.Principal, _ int) *jsonrpc.Refusal {
			told = append(told, by.Name)
			return nil
		},
		Unknown: func(context.Context) { told = append(told, "nobody") },
	}).Namespace()
	g.http = &jsonrpc.Handler{Own: &namespace}
	a := g.agent()
	a.hello()
	form := func(change ...func(map[string]any)) []byte {
		return a.form("steps/toolCallRequest", toolCall("ls", "{}"), change...)
	}
	sign := func(key Key, request []byte) []byte {
		b, err := key.Sign(request)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	taken := sign(keyA, form())
	g.post(taken)
	short := keyA
	short.Secret = bytes.Repeat([]byte{8}, 32)
	for _, tt := range []struct {
		what string
		body []byte
		want string
	}{
		{"signed now", sign(keyA, form()), "key:ci"},
		{"not signed", form(), "nobody"},
		{"under the agent's label with another secret", sign(short, form()), "nobody"},
		{"changed on the way", bytes.Replace(sign(keyA, form()), []byte(`"ls"`), []byte(`"rm"`), 1), "nobody"},
		{"a copy", taken, "nobody"},
		{"a copy in other letters", bytes.Replace(taken, []byte(`"jsonrpc":`), []byte(` "jsonrpc" : `), 1), "nobody"},
		{"from yesterday", sign(keyA, form(set("timestamp", time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)))), "nobody"},
		{"from tomorrow", sign(keyA, form(set("timestamp", time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)))), "nobody"},
		{"another's, in this session", sign(keyB, form()), "key:eve"},
		{"an id that was used, signed by another", sign(keyB, form(set("request_id", "00000000-0000-4000-8000-000000000002"))), "nobody"},
		{"a ping of a stranger", a.form("system/ping", "{}"), "nobody"},
		{"what is not understood", []byte(`{"jsonrpc":"2.0","id":1,"method":"nonsense","params":{}}`), "nobody"},
	} {
		told = nil
		got := g.post(tt.body)
		if diff := cmp.Diff([]string{tt.want}, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.what, diff, got.raw)
		}
	}
}

// TestTwoNodes: what one node remembers of a session that another has written meanwhile
// counts for nothing. The chain goes on, and neither a copy nor a step after the end passes.
func TestTwoNodes(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	other := *g
	namespace := New(Config{Guard: g.guard, Keys: []Key{keyA}, Version: "test"}).Namespace()
	other.http = &jsonrpc.Handler{Own: &namespace}
	a := g.agent()
	a.hello()
	var copies [][]byte
	for n := range 6 {
		if a.guardian = g; n%2 == 1 {
			a.guardian = &other
		}
		body := a.form("steps/toolCallRequest", toolCall("ls", "{}"), meta("session_state", map[string]any{"chain_hash": a.head}))
		if a.head == "" {
			body = a.form("steps/toolCallRequest", toolCall("ls", "{}"))
		}
		signed, err := a.key.Sign(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.send(signed).said(); got != "allow default" {
			t.Fatalf("step %d: %s", n, got)
		}
		copies = append(copies, signed)
	}
	for _, at := range []*guardian{g, &other} {
		for _, one := range copies {
			if got := at.post(one).said(); got != "-32005" {
				t.Errorf("a copy: %s", got)
			}
		}
	}
	a.guardian = g
	if got := a.ask("steps/sessionEnd", `{"reason":"completed"}`).said(); got != "allow" {
		t.Fatal(got)
	}
	a.guardian = &other
	if got := a.ask("steps/toolCallRequest", toolCall("ls", "{}")).said(); !strings.HasPrefix(got, "deny session_ended") {
		t.Error(got)
	}
}

// TestHooks: each hook is answered as its table says.
func TestHooks(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	a.hello()
	for _, c := range []struct{ method, payload, want string }{
		{"steps/sessionStart", `{"intent":{"raw":"tidy up"}}`, "allow default"},
		{"steps/agentTrigger", `{"trigger_type":"scheduled"}`, "allow default"},
		{"steps/agentTrigger", `{"trigger_type":"moon"}`, "-32602"},
		{"steps/turnStart", `{"turn_id":"t","triggered_by":"user_message"}`, "allow default"},
		{"steps/userMessage", `{"content":[{"type":"text","value":"Hello."}]}`, "allow default"},
		{"steps/userMessage", `{"content":[{"type":"text","value":"My card is 4000 0000 0000 0002."}]}`, "modify pii.card"},
		{"steps/userMessage", `{"content":[]}`, "-32602"},
		{"steps/toolCallRequest", toolCall("ls", `{"path":{"value":"/w"}}`), "allow default"},
		{"steps/toolCallRequest", toolCall("wipe_disk", `{}`), "deny no-wiping"},
		{"steps/toolCallRequest", toolCall("ls", `{"path":"/w"}`), "-32602"},
		{"steps/toolCallRequest", `{"tool":{"name":"x"},"arguments":{},"raw_command":"rm -rf /"}`, "deny no-rm risk.destroy.system"},
		{"steps/toolCallRequest", toolCall("resize", `{"size":{"value":99}}`), "modify modest"},
		{"steps/toolCallRequest", toolCall("deploy", `{"app":{"value":"web"}}`), "defer approval_required released"},
		{"steps/toolCallResult", `{"tool":{"name":"ls"},"exit_status":"success","outputs":[{"value":"a b"}]}`, "allow default"},
		{"steps/toolCallResult", `{"tool":{"name":"ls"},"exit_status":"success","outputs":[{"value":"card 4000 0000 0000 0002"}],"request_id_ref":"00000000-0000-4000-8000-000000000009"}`, "modify pii.card"},
		{"steps/knowledgeRetrieval", `{"query":{"value":"q"},"results":[{"value":"text"}]}`, "allow default"},
		{"steps/memoryStore", `{"content":{"value":"remember"}}`, "allow default"},
		{"steps/memoryContextRetrieval", `{"results":[{"value":"remember"}]}`, "allow default"},
		{"steps/preCompact", `{"entries_to_compact":["a"],"triggered_by":"size"}`, "allow default"},
		{"steps/postCompact", `{"summary":{"value":"what was said"},"entries_compacted":["a"],"pre_compact_chain_hash":"x","post_compact_chain_hash":"y"}`, "allow default"},
		{"steps/postCompact", `{"summary":{"value":"a spy came"},"entries_compacted":["a"],"pre_compact_chain_hash":"x","post_compact_chain_hash":"y"}`, "modify no-spies"},
		{"steps/subagentStart", `{"subagent_session_id":"s"}`, "allow default"},
		{"steps/subagentStart", `{"subagent_session_id":"s","subagent_intent":"spy"}`, "deny no-spies"},
		{"steps/subagentStart", `{"subagent_session_id":"s","subagent_intent":"4000 0000 0000 0002"}`, "deny pii.card modify_unsupported"},
		{"steps/subagentStop", `{"subagent_session_id":"s","outcome":"completed","summary":"spy"}`, "allow"},
		{"steps/skillLoad", `{"skill_id":"pdf","digest":{"algorithm":"sha256","value":"aa"},"load_trigger":"agent","load_path":[]}`, "deny skill_unverifiable"},
		{"steps/skillRegister", `{"skill_id":"pdf","definition":{"ref":"r","digest":{"algorithm":"sha256","value":"aa"}},"declared_capabilities":[]}`, "allow default"},
		{"steps/skillLoad", `{"skill_id":"pdf","digest":{"algorithm":"sha256","value":"aa"},"load_trigger":"agent","load_path":[]}`, "allow default"},
		{"steps/skillLoad", `{"skill_id":"pdf","digest":{"algorithm":"sha256","value":"bb"},"load_trigger":"agent","load_path":[]}`, "deny skill_unverifiable"},
		{"steps/skillUnload", `{"skill_id":"pdf"}`, "allow"},
		{"agbom/snapshot", `{"components":[]}`, "allow default"},
		{"protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shell","arguments":{"command":"rm -rf /"}}}`, "deny no-rm risk.destroy.system"},
		{"protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"resize","arguments":{"size":99}}}`, "modify modest"},
		{"protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`, "-32602"},
		{"wrapped:mcp-2025-06-18/tools/call", `{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"4000 0000 0000 0002"}]}}`, "modify pii.card"},
		{"protocols/MCP/tools/list", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, "-32003"},
		{"steps/agentResponse", `{"content":[{"type":"text","value":"Done."}]}`, "allow default"},
		{"steps/turnEnd", `{"turn_id":"t","outcome":"completed"}`, "allow"},
		{"steps/sessionEnd", `{"reason":"completed"}`, "allow"},
	} {
		got := a.ask(c.method, c.payload)
		if got.said() != c.want && !(strings.HasPrefix(c.want, "allow") && got.Result.Decision == "allow") {
			t.Errorf("%s %s: %s", c.method, c.payload, got.raw)
		}
		if d := got.Result.Decision; d != "" && (got.Result.Chain == "" || d != "allow" && got.Result.Reasoning == "" || d == "modify" && got.Result.Modifications == nil) {
			t.Errorf("%s: incomplete: %s", c.method, got.raw)
		}
	}
	if got := a.ask("system/ping", `{"echo":"hi"}`).Result; got.Decision != "allow" || got.Payload["echo"] != "hi" || got.Chain != "" {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string]func(map[string]any){
		"another version": set("acs_version", "9.9.9"), "an old time": set("timestamp", "2020-01-01T00:00:00Z"),
		"a wrong signature": set("signature", map[string]any{"algorithm": Algorithm, "key_id": keyA.ID, "value": "AAAA"}), "an unknown key": set("signature", map[string]any{"key_id": "x"}),
	} {
		if got := a.post(a.form("system/ping", `{"n":12345678901234567891}`, change)); got.Result.Decision != "allow" || got.Result.Signature != nil {
			t.Errorf("a ping with %s: %s", name, got.raw)
		}
	}
	if got := a.post(a.form("system/ping", `{}`)); got.Result.Decision != "allow" || got.Result.Signature != nil {
		t.Errorf("an unsigned ping: %s", got.raw)
	}
}

// TestModifications: what is changed is said as the standard has it, and whoever applies
// it has what the policy lets pass.
func TestModifications(t *testing.T) {
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	for _, c := range []struct{ method, payload, want string }{
		{"steps/toolCallRequest", toolCall("resize", `{"size":{"value":99},"name":{"value":"a"}}`), `{"parameter_overrides":{"size":10}}`},
		{"steps/toolCallRequest", toolCall("note", `{"to":{"value":["bo","4000 0000 0000 0002"]}}`), `{"parameter_overrides":{"to":["bo","****"]}}`},
		{"steps/userMessage", `{"content":[{"type":"text","value":"a"},{"type":"text","value":"4000 0000 0000 0002"}]}`, `{"redactions":[{"path":"/content/1/value","replacement":"****"}]}`},
		{"wrapped:mcp-2025-06-18/tools/call", `{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"4000 0000 0000 0002"}]}}`, `{"redactions":[{"path":"/result/content/0/text","replacement":"****"}]}`},
		{"protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"resize","arguments":{"size":99,"b":{"c":"4000 0000 0000 0002"}}}}`, `{"parameter_overrides":{"b":{"c":"****"},"size":10}}`},
	} {
		got, _ := json.Marshal(a.ask(c.method, c.payload).Result.Modifications)
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.payload, diff)
		}
	}
}

// TestDefer: what waits for a person is deferred, is let through when it comes again after
// they agreed, once, and says to no model how they do it.
func TestDefer(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	a.hello()
	call := toolCall("deploy", `{"app":{"value":"web"}}`)
	first := a.ask("steps/toolCallRequest", call)
	if d := first.Result.Defer; d["resolution_method"] != "human_approval" || d["timeout_decision"] != "deny" || d["resolution_timeout_ms"].(float64) < 3_000_000 || strings.Contains(first.Result.Reasoning, "reeve approvals") {
		t.Errorf("%s", first.raw)
	}
	if got := a.ask("steps/toolCallRequest", call).said(); got != "defer approval_required released" {
		t.Errorf("before anybody agreed: %s", got)
	}
	list, _, _, err := g.guard.Approvals(t.Context(), true, true, "", 0)
	if err != nil || len(list) != 1 || list[0].Door != "acs" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := g.guard.Answer(t.Context(), list[0].ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: list[0].Seen}); err != nil {
		t.Fatal(err)
	}
	if got := a.ask("steps/toolCallRequest", toolCall("deploy", `{"app":{"value":"db"}}`)).Result.Decision; got != "defer" {
		t.Errorf("another act: %s", got)
	}
	if got := a.ask("steps/toolCallRequest", call).said(); got != "allow approved released" {
		t.Errorf("after that: %s", got)
	}
	if got := a.ask("steps/toolCallRequest", call).Result.Decision; got != "defer" {
		t.Errorf("once more: %s", got)
	}
}

// TestAsk: an agent that can show its user a question is answered ask where nobody in
// particular must agree, and what its user agreed to is known of the call's result. All else
// waits as before.
func TestAsk(t *testing.T) {
	asking := keyA
	asking.Asks = true
	g := open(t, t.TempDir(), asking)
	a := g.agent()
	a.hello()
	call := toolCall("deploy", `{"app":{"value":"web"}}`)
	first := a.ask("steps/toolCallRequest", call, meta("user_context", map[string]any{"user_id": "ada"}))
	if first.said() != "ask approval_required released" || strings.Contains(string(first.raw), "defer_details") {
		t.Fatalf("%s", first.raw)
	}
	var asked struct {
		Result struct {
			Details struct {
				Approver    struct{ Type, ID string }
				Question    string
				Seconds     int    `json:"timeout_seconds"`
				Disposition string `json:"timeout_disposition"`
			} `json:"ask_details"`
		}
	}
	if err := json.Unmarshal(first.raw, &asked); err != nil {
		t.Fatal(err)
	}
	if d := asked.Result.Details; d.Approver.Type != "human" || d.Approver.ID != "ada" || !strings.Contains(d.Question, "A person releases.") || d.Seconds < 60 || d.Disposition != "deny" {
		t.Errorf("%s", first.raw)
	}
	result := func(tool, ref string) string {
		return fmt.Sprintf(`{"tool":{"name":%q},"exit_status":"success","outputs":[{"value":"done"}],"request_id_ref":%q}`, tool, ref)
	}
	if got := a.ask("steps/toolCallResult", result("deploy", "00000000-0000-4000-8000-000000000002")).Result.Decision; got != "allow" {
		t.Errorf("the result: %s", got)
	}
	list, _, _, err := g.guard.Approvals(t.Context(), false, true, "", 0)
	if err != nil || len(list) != 1 || list[0].State != "dialogue" {
		t.Errorf("what was held: %+v, %v", list, err)
	}
	for payload, want := range map[string]string{
		call:                     "ask", // each call is asked about
		toolCall("launch", `{}`): "defer",
	} {
		if got := a.ask("steps/toolCallRequest", payload).Result.Decision; got != want {
			t.Errorf("%s: %s", payload, got)
		}
	}
	if got := a.ask("protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{}}}`).Result.Decision; got != "defer" {
		t.Errorf("by MCP: %s", got)
	}
	b := open(t, t.TempDir(), keyA).agent() // whose agent shows nothing
	b.hello()
	if got := b.ask("steps/toolCallRequest", call).Result.Decision; got != "defer" {
		t.Errorf("of another agent: %s", got)
	}
}

// TestProvenance: what an agent says of where a value comes from lowers what is thought of
// it, and raises nothing.
func TestProvenance(t *testing.T) {
	said := func(value, provenance string) string {
		return fmt.Sprintf(`{"type":"text","value":%q,"provenance":%s}`, value, provenance)
	}
	const user, external = `{"provenance_id":"p1","origin":"user_input"}`, `{"provenance_id":"p2","origin":"external"}`
	message := func(parts ...string) [2]string {
		return [2]string{"steps/userMessage", `{"content":[` + strings.Join(parts, ",") + `]}`}
	}
	result := func(tool, provenance string) [2]string {
		return [2]string{"steps/toolCallResult", fmt.Sprintf(`{"tool":{"name":%q},"exit_status":"success","outputs":[%s]}`, tool, said("account DE111", provenance))}
	}
	for name, c := range map[string]struct {
		before [][2]string
		of     string // what is said of the argument
		want   string
	}{
		"the user's":                      {[][2]string{message(said("pay DE111", user))}, "", "allow"},
		"the user's, and nothing said":    {[][2]string{message(`{"type":"text","value":"pay DE111"}`)}, "", "allow"},
		"in another part":                 {[][2]string{message(said("pay DE222", user), said("pay DE111", external))}, "", "deny"},
		"beside another part":             {[][2]string{message(said("pay DE111", user), said("pay DE222", external))}, "", "allow"},
		"an agent's":                      {[][2]string{message(said("pay DE111", `{"origin":"agent_generated"}`))}, "", "deny"},
		"of no known origin":              {[][2]string{message(said("pay DE111", `{"origin":"heaven"}`))}, "", "deny"},
		"the user's, untrusted":           {[][2]string{message(said("pay DE111", `{"origin":"user_input","trust":"untrusted"}`))}, "", "deny"},
		"a tool's":                        {[][2]string{result("mail", `{"origin":"tool_output"}`)}, "", "deny"},
		"a tool's that says trusted":      {[][2]string{result("mail", `{"origin":"user_input","trust":"trusted"}`)}, "", "deny"},
		"one's own source":                {[][2]string{result("contacts", `{"origin":"tool_output","trust":"untrusted"}`)}, "", "allow"},
		"another's by one's own source":   {[][2]string{result("contacts", external)}, "", "deny"},
		"the user's, out of a result":     {[][2]string{message(said("pay DE111", user))}, `,"provenance":{"origin":"retrieved"}`, "deny"},
		"the user's, put by the model":    {[][2]string{message(said("pay DE111", user))}, `,"provenance":{"origin":"agent_generated"}`, "allow"},
		"nobody's, said to be the user's": {nil, `,"provenance":{"origin":"user_input","trust":"trusted"}`, "deny"},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, t.TempDir(), keyA).agent()
			a.hello()
			for _, step := range c.before {
				if step[0] == "steps/toolCallResult" { // of a tool that was called
					for _, tool := range []string{"mail", "contacts"} {
						if strings.Contains(step[1], tool) {
							a.ask("steps/toolCallRequest", toolCall(tool, "{}"))
						}
					}
				}
				if got := a.ask(step[0], step[1]); got.Result.Decision != "allow" {
					t.Fatalf("%s", got.raw)
				}
			}
			if got := a.ask("steps/toolCallRequest", toolCall("pay", `{"to":{"value":"DE111"`+c.of+`}}`)); got.Result.Decision != c.want {
				t.Errorf("%s", got.raw)
			}
		})
	}
}

// TestIntent: a strict intent bounds a session to its tools, and does not change.
func TestIntent(t *testing.T) {
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	intent := func(parsed, origin string) string {
		return `{"trigger_type":"system","intent":{"parsed":` + parsed + `,"parser_provenance":{"origin":"` + origin + `"},"scope_mode":"strict"}}`
	}
	for _, c := range []struct{ method, payload, want string }{
		{"steps/sessionStart", intent(`["ls"]`, "tool_output"), "deny intent_unfounded"},
		{"steps/toolCallRequest", toolCall("cat", "{}"), "allow default"},
		{"steps/sessionStart", intent(`["ls",{"tool":"git","operation":"read"}]`, "user_input"), "allow default"},
		{"steps/toolCallRequest", toolCall("ls", "{}"), "allow default"},
		{"steps/toolCallRequest", toolCall("cat", "{}"), "deny intent_mismatch"},
		{"protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cat","arguments":{}}}`, "deny intent_mismatch"},
		{"steps/toolCallRequest", toolCall("git", "{}"), "deny intent_mismatch"},
		{"steps/toolCallRequest", `{"tool":{"name":"git"},"arguments":{},"operation":"read"}`, "allow default"},
		{"steps/agentTrigger", intent(`["ls","cat"]`, "user_input"), "deny intent_fixed"},
		{"steps/sessionStart", intent(`["ls",{"tool":"git","operation":"read"}]`, "user_input"), "allow default"},
		{"steps/toolCallRequest", toolCall("cat", "{}"), "deny intent_mismatch"},
	} {
		if got := a.ask(c.method, c.payload).said(); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.method, c.payload, got, c.want)
		}
	}
}

// TestAdapters: what the adapters of the standard's repository need of an answer to their
// handshake: the terms in its payload, a time to wait of ten seconds at most, and sessions of
// agents that claim no profile.
func TestAdapters(t *testing.T) {
	a := open(t, t.TempDir(), keyA).agent()
	got := a.ask("handshake/hello", `{"acs_versions_supported":["0.1.0"],"methods_implemented":["steps/toolCallRequest"],"transports_supported":["http"],"max_payload_size_bytes":1000000,"provenance_producer":"none","wrapped_protocols":[],"profiles_supported":[],"signature_algorithms_supported":["HMAC-SHA256"]}`)
	terms, err := json.Marshal(got.Result.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var hello struct {
		Version, Transport string
		Methods            []string `json:"methods_evaluated"`
		Timeout            struct {
			Default int `json:"default_ms"`
		} `json:"timeout_config"`
		OnFailure string `json:"on_decision_failure"`
	}
	if err := json.Unmarshal(terms, &hello); err != nil {
		t.Fatal(err)
	}
	if len(got.Result.Profiles) != 0 || len(hello.Methods) != 1 || hello.Timeout.Default > 10_000 || hello.Timeout.Default == 0 || hello.OnFailure != "deny" {
		t.Errorf("%s", got.raw)
	}
	if got := a.ask("steps/toolCallRequest", toolCall("Bash", `{"command":{"value":"ls"}}`), meta("codex_session_id", "thr_1"), meta("cwd", "/srv/x")); got.Result.Decision != "allow" {
		t.Errorf("%s", got.raw)
	}
}

// TestAdaptersSteps: the steps as the adapters of Claude Code, Cursor and NAT send them, and
// what these can do with the answers: a result's change is taken as its whole text alone.
func TestAdaptersSteps(t *testing.T) {
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	for _, tt := range []struct{ method, payload, want, changes string }{
		{"steps/sessionStart", `{}`, "allow default", ""},
		{"steps/sessionStart", `{"platform_context":{"workspace_roots":["/srv/x"],"composer_mode":"agent","is_background_agent":false}}`, "allow default", ""},
		{"steps/turnStart", `{"turn_id":"7b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36","triggered_by":"user_message"}`, "allow default", ""},
		{"steps/userMessage", `{"content":[{"type":"text","value":""}]}`, "allow default", ""},
		{"steps/toolCallRequest", `{"tool":{"name":"search","provider":"npx server"},"arguments":{"raw_params":{"value":"not json"}}}`, "allow default", ""},
		{"steps/toolCallResult", `{"tool":{"name":"Bash"},"exit_status":"success","outputs":[{"value":{"stdout":"a","interrupted":false}}],"request_id_ref":"00000000-0000-4000-8000-000000000006","duration_ms":12}`, "allow default", ""},
		{"steps/toolCallResult", `{"tool":{"name":"Edit"},"exit_status":"blocked","outputs":[]}`, "allow default", ""},
		{"steps/toolCallResult", `{"tool":{"name":"Read"},"exit_status":"success","outputs":[{"value":"card 4111 1111 1111 1111!"}]}`, "modify pii.card cards", `{"modified_content":"card ****!"}`},
		{"steps/toolCallResult", `{"tool":{"name":"Read"},"exit_status":"success","outputs":[{"value":["4111 1111 1111 1111"]}]}`, "modify pii.card cards", `{"redactions":[{"path":"/outputs/0/value/0","replacement":"****"}]}`},
		{"steps/toolCallResult", `{"tool":{"name":"Read"},"exit_status":"success","outputs":[{"value":"a"},{"value":"4111 1111 1111 1111"}]}`, "modify pii.card cards", `{"redactions":[{"path":"/outputs/1/value","replacement":"****"}]}`},
		{"steps/agentResponse", `{"content":[{"type":"text","value":""}]}`, "allow default", ""},
		{"steps/preCompact", `{"entries_to_compact":["a"],"triggered_by":"framework_initiated"}`, "allow default", ""},
		{"steps/subagentStart", `{"subagent_session_id":"s","parent_session_id":"p","parent_step_id":"q","intent_derivation":"derived_from_parent","subagent_descriptor":{"agent_name":"explorer"}}`, "allow default", ""},
		{"steps/turnEnd", `{"turn_id":"7b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36","outcome":"interrupted"}`, "allow", ""},
		{"steps/sessionEnd", `{"reason":"abandoned"}`, "allow", ""},
	} {
		got := a.ask(tt.method, tt.payload, meta("platform", "claude-code"), meta("adapter_version", "0.1.3"), meta("permission_mode", "default"))
		changes := ""
		if got.Result.Modifications != nil {
			text, _ := json.Marshal(got.Result.Modifications)
			changes = string(text)
		}
		if !strings.HasPrefix(got.said(), strings.Fields(tt.want)[0]) || changes != tt.changes {
			t.Errorf("%s %s: %s %s, not %s %s", tt.method, tt.payload, got.said(), changes, tt.want, tt.changes)
		}
	}
}

// TestDeferredBounded: a session's steps are not put off for ever.
func TestDeferredBounded(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	a.hello()
	items := newSessions(g.guard)
	if _, err := items.Update(t.Context(), sessionID(session), func(s *sessionState, _ *guard.Item) (*guard.Note, error) {
		s.Deferred = maxDeferred - 1
		return guard.Admin("test", act.Principal{}, nil), nil
	}); err != nil {
		t.Fatal(err)
	}
	call := toolCall("deploy", `{"app":{"value":"web"}}`)
	for _, want := range []string{"defer approval_required released", "deny deferrals_exhausted released"} {
		if got := a.ask("steps/toolCallRequest", call).said(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestAtOnce: steps of one session that come at once are taken one after the other, and each
// enters the chain.
func TestAtOnce(t *testing.T) {
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	const n = 20
	var bodies [][]byte
	for range n {
		b, _ := a.key.Sign(a.form("steps/toolCallRequest", toolCall("ls", "{}")))
		bodies = append(bodies, b, b) // each twice
	}
	var mu sync.Mutex
	heads, refused := map[string]bool{}, 0
	var all sync.WaitGroup
	for _, b := range bodies {
		all.Go(func() {
			got := a.post(b)
			mu.Lock()
			defer mu.Unlock()
			if got.Error.Code == ReplayDetected {
				refused++
			} else {
				heads[got.Result.Chain] = true
			}
		})
	}
	all.Wait()
	if len(heads) != n || refused != n {
		t.Errorf("%d heads, %d refused", len(heads), refused)
	}
}

// TestUnrecorded: where nothing can be written down, the answer is a signed denial, since
// an error could be taken for leave to go on.
func TestUnrecorded(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	a.hello()
	g.close()
	if got := a.ask("steps/toolCallRequest", toolCall("ls", "{}")).said(); got != "deny record.failed" {
		t.Error(got)
	}
}

// TestProof: a signature that says nothing else is not looked through for what is masked; one
// with more in it is, since whoever carries a request can add that.
func TestProof(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(law)})
	if err != nil {
		t.Fatal(err)
	}
	if g.store, err = sqlite.Open(t.TempDir(), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	defer g.store.Close()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: g.store, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if g.guard, err = guard.New(t.Context(), guard.Config{Log: log, Store: g.store, Policy: set, Redact: risk.Secret}); err != nil {
		t.Fatal(err)
	}
	namespace := New(Config{Guard: g.guard, Keys: []Key{keyA}, Version: "test"}).Namespace()
	g.http = &jsonrpc.Handler{Own: &namespace}
	a := g.agent()
	a.hello()
	for _, tt := range []struct{ more, arguments string }{
		{"", `{"a":{"value":"x"}}`},
		{`"password":"open sesame please",`, `{"a":{"value":"x"}}`},
		{"", `{"password":{"value":"open sesame please"}}`},
	} {
		body, err := a.key.Sign(a.form("steps/toolCallRequest", toolCall("ls", tt.arguments)))
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.Replace(body, []byte(`"signature":{`), []byte(`"signature":{`+tt.more), 1)
		at := g.records()
		if got := a.post(body); got.Result.Decision != "allow" {
			t.Fatalf("%s", got.raw)
		}
		beside, err := ledger.ReadOpening(t.Context(), g.store, act.Position{Index: at})
		if err != nil {
			t.Fatal(err)
		}
		if kept := string(beside.Request); strings.Contains(kept, "sesame") || !strings.Contains(kept, `"method":"steps/toolCallRequest"`) {
			t.Errorf("%s is kept", kept)
		}
	}
}

// TestLate: an answer that comes when its agent waits no longer is recorded as late: with the
// decision where that took so long, and else in a record of its own. What was in time is not.
func TestLate(t *testing.T) {
	g := open(t, t.TempDir(), keyA)
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(law)})
	if err != nil {
		t.Fatal(err)
	}
	ahead := time.Duration(0)
	if g.store, err = sqlite.Open(t.TempDir(), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	defer g.store.Close()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: g.store, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if g.guard, err = guard.New(t.Context(), guard.Config{
		Log: log, Store: g.store, Policy: set, Now: func() time.Time { return time.Now().Add(ahead) },
		Score: func(_ context.Context, tool string, _ []byte) (float64, []string, bool) {
			if tool == "slow" {
				ahead += Timeout + time.Second
			}
			return 0, nil, true
		},
		Observe: func(_ context.Context, a *act.Action, _ *act.Decision, _ time.Duration) {
			if a.Resource == "written" {
				ahead += Timeout + time.Second
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	namespace := New(Config{Guard: g.guard, Keys: []Key{keyA}, Version: "test", Trace: true}).Namespace()
	g.http = &jsonrpc.Handler{Own: &namespace}
	a := g.agent()
	a.hello()
	for _, tt := range []struct{ tool, want string }{
		{"ls", `tool.call {"decision":"allow"`},
		{"slow", `tool.call late {"decision":"allow"`},
		{"written", `tool.call {"decision":"allow" acs.late late {"decision":"allow"`},
	} {
		before := g.records()
		if got := a.ask("steps/toolCallRequest", toolCall(tt.tool, "{}")); got.Result.Decision != "allow" {
			t.Fatalf("%s: %s", tt.tool, got.raw)
		}
		var got []string
		for at := before; at < g.records(); at++ {
			r, _, err := ledger.ReadRecord(t.Context(), g.store, act.Position{Index: at})
			if err != nil {
				t.Fatal(err)
			}
			beside, err := ledger.ReadOpening(t.Context(), g.store, act.Position{Index: at})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(beside.Links), `\`, "")
			_, answer, _ := strings.Cut(text, `"answer":`)
			got = append(got, r.Kind)
			if strings.Contains(answer, `"late":{"elapsed_ms":11`) {
				got = append(got, "late")
			}
			got = append(got, strings.Trim(answer, `"`)[:min(len(answer), 19)])
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.tool, diff)
		}
	}
}

// TestExact: numbers that RFC 8785 would write as another one are told from those it keeps.
func TestExact(t *testing.T) {
	for number, want := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "1": true, "1.10": true, "0.1": true, "1e3": true, "100000000000000000000": true, "9007199254740993": false, "9007199254740992": true,
		"12345678901234567890": false, "1e400": false, "1e-400": false, "1e999999999999999999999": false, "0.1000000000000000055": false, "123456789.125": true, "5e-324": true,
	} {
		if got := exact([]byte(number)); got != want {
			t.Errorf("%s: %v", number, got)
		}
	}
}

// FuzzEnvelope: whatever comes unsigned, or is changed after it was signed, decides nothing.
func FuzzEnvelope(f *testing.F) {
	a := &agent{key: keyA, session: session, guardian: &guardian{}}
	for _, payload := range []string{`{}`, toolCall("ls", `{"a":{"value":[1,{"b":null}]}}`), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`} {
		b, err := a.key.Sign(a.form("steps/toolCallRequest", payload))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, 40, byte(1))
		f.Add(b, len(b)-10, byte(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, at int, flip byte) {
		s := &Server{keys: map[string]*Key{keyA.ID: &keyA}}
		read := func(body []byte) *request {
			r, err := jsonrpc.RequestOf(body)
			if err != nil {
				return nil
			}
			q, fail := s.open(r)
			if fail != nil {
				return nil
			}
			return q
		}
		q := read(body)
		if q == nil || q.key == nil || len(body) == 0 {
			if a, err := ActionOf(body); err == nil && a != nil && a.Door != "acs" {
				t.Error("an act of another door")
			}
			return
		}
		changed := bytes.Clone(body)
		changed[uint(at)%uint(len(changed))] ^= flip
		p := read(changed)
		if p == nil || p.key == nil {
			return
		}
		one, _ := formOf(q.Message)
		two, _ := formOf(p.Message)
		if !bytes.Equal(bytes.Join(one.signed(), nil), bytes.Join(two.signed(), nil)) {
			t.Errorf("one signature holds for\n%s\nand\n%s", one.text, two.text)
		}
	})
}

// TestForm: each value is written as RFC 8785 has it, which a library does, too.
func TestForm(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `[true,false]`, `"a\u0008\f\n\u001f\"\\\/\u20ac\ud83d\ude00é"`, `{"b":1,"a":[{"d":2,"c":{}}],"":0}`,
		`{"\ud83d\ude00":1,"\uffee":2,"é":3,"z\n":4,"A":5,"\ud83d\ude01x":6,"zz":7}`,
		`[0,-0,1,-1,10,1.0,1.50,1e3,1E-7,123456789012345,1234567890123456,9007199254740993,1e21,1e20,0.000001,5e-324,-0.0,100]`,
	} {
		doc, err := rawjson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		w := writer{}
		w.value(doc.Root())
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil || w.err != nil || string(want) != string(w.b) {
			t.Errorf("%s, not %s (%v, %v)", w.b, want, err, w.err)
		}
	}
	for _, params := range []string{`{"signature":{"a":1}}`, `{"signature":1,"z":2}`, `{"a":0,"signature":1}`, `{"a":0,"signature":1,"z":2}`, `{"a":0}`, `{}`} {
		doc, err := rawjson.Parse([]byte(`{"jsonrpc":"2.0","id":"x","method":"m","params":` + params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		f, err := formOf(doc.Root())
		if err != nil {
			t.Fatal(err)
		}
		without := string(content.AppendWithout(nil, doc.Root().Get("params"), "signature"))
		if got, want := string(bytes.Join(f.signed(), nil)), `{"id":"x","jsonrpc":"2.0","method":"m","params":`+without+`}`; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// FuzzSign: what one side signs the other verifies, and nothing else.
func FuzzSign(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"steps/x","params":{"metadata":{"session_id":"s"},"payload":{"b":[1.50,"\u00e9","\ud83d\ude00"],"a":null}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		signed, err := keyA.Sign(body)
		if err != nil {
			return
		}
		doc, err := rawjson.Parse(signed)
		if err != nil {
			t.Fatalf("%v: %s", err, signed)
		}
		f, err := formOf(doc.Root())
		if err != nil {
			t.Fatal(err)
		}
		form := bytes.Join(f.signed(), nil)
		if got := jsontext.Value(bytes.Clone(form)); got.Canonicalize() != nil || !bytes.Equal(got, form) {
			t.Errorf("not canonical: %s, but %s", form, got)
		}
		want := jsontext.Value(bytes.Clone(doc.Root().Get("params").Raw()))
		if err := want.Canonicalize(); err != nil || sha256.Sum256(want) != f.paramsHash() {
			t.Errorf("%v: the params are %s, and their form is not %s", err, want, f.text)
		}
		params := doc.Root().Get("params")
		session := params.Get("metadata").Get("session_id").Text()
		if err := keyA.signer(session).check(params.Get("signature"), form); err != nil {
			t.Error(err)
		}
		if keyB.signer(session).check(params.Get("signature"), form) == nil || keyA.signer(session+"x").check(params.Get("signature"), form) == nil {
			t.Error("another key's, or another session's")
		}
	})
}

// TestSecondReading: a verifier that was written from the text alone, in another language,
// finds every signature and every link of a session right, and what was changed wrong.
func TestSecondReading(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the second verifier needs python3: run scripts/test-needs")
	}
	a := open(t, t.TempDir(), keyA).agent()
	var lines [][]byte
	say := func(method, payload string, change ...func(map[string]any)) {
		signed, err := a.key.Sign(a.form(method, payload, change...))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, signed, a.send(signed).raw)
	}
	say("handshake/hello", helloFor(everything))
	say("steps/userMessage", `{"content":[{"type":"text","value":"naïve 😀 \u007f \u2028 \" \\ \u0001"}]}`, meta("turn_id", "t-1"))
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		x := math.Float64frombits(r.Uint64())
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		say("steps/toolCallRequest", toolCall("n", fmt.Sprintf(`{"x":{"value":[%s,%d,%g,{"\ue000":1,"😀":2}]}}`, strconv.FormatFloat(x, 'g', -1, 64), r.IntN(1<<40), float64(r.IntN(1000))/8)))
	}
	say("steps/toolCallRequest", toolCall("n", `{"x":{"value":[1e21,1e20,123e-7,1e-6,1e-7,0.1,-0,100,5e-324,1.7976931348623157e308]}}`))
	say("steps/toolCallRequest", `{"tool":{"name":"n"}}`)
	say("steps/toolCallRequest", toolCall("wipe", `{}`))
	say("steps/sessionEnd", `{"reason":"completed"}`)
	check := func(text []byte) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, "-B", "../docs/verify_acs.py", hex.EncodeToString(keyA.Secret), keyA.ID)
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	text := bytes.Join(lines, []byte("\n"))
	if out, err := check(text); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, change := range [][2]string{{`"decision":"deny"`, `"decision":"allow"`}, {`"name":"wipe"`, `"name":"list"`}, {`"reason":"completed"`, `"reason":"cancelled"`}, {`"turn_id":"t-1"`, `"turn_id":"t-2"`}} {
		if !bytes.Contains(text, []byte(change[0])) {
			t.Fatalf("nothing has %s", change[0])
		}
		if out, err := check(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)); err == nil {
			t.Errorf("%s → %s: %s", change[0], change[1], out)
		}
	}
	if out, err := check(bytes.Join(append(slices.Clone(lines[:4]), lines[6:]...), []byte("\n"))); err == nil {
		t.Errorf("a step was left out: %s", out)
	}
}
