package acs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/needs"
)

// member is one of the corpus agent-evidence-vectors.
type member struct {
	ID, Family string
	Expected   struct {
		Verdict   string
		Code      *string
		CodeValue int
	}
	Payload struct {
		Request        json.RawMessage
		Response       json.RawMessage
		Steps          []struct{ Request json.RawMessage }
		SignatureState string                `json:"signature_state"`
		Intent         json.RawMessage       `json:"intent"`
		Content        struct{ Text string } `json:"observed_content"`
		Clock          time.Time             `json:"guardian_clock"`
		Approval       struct {
			For struct {
				Agent string `json:"agent_id"`
			} `json:"issued_for"`
		}
		Verifier struct {
			Secrets map[string]string `json:"secret_hex"`
		}
		Observed struct {
			Secrets map[string]string `json:"secret_hex"`
		} `json:"observed_agent"`
		Finding []struct{ Finding string } `json:"guardian_audit_record"`
		Records map[string][]struct {
			ID string `json:"request_id"`
		} `json:"guardian_session_records"`
		Policy  *struct{}      `json:"policy"`
		Entry   map[string]any `json:"context_entry"`
		Covers  []string       `json:"signature_covers"`
		Profile string
		Heads   []struct {
			Head string `json:"chain_hash"`
		} `json:"witnessed_heads"`
		Hook   *struct{}   `json:"approver_response"`
		Traced *[]struct{} `json:"guardian_trace_events"`
	}
}

// short is a request as the corpus writes it where no signature is at stake.
type short struct {
	Metadata struct {
		Agent string `json:"agent_id"`
		Turn  string `json:"turn_id"`
	}
	ACS, Method string
	Params      json.RawMessage
	ID          string    `json:"request_id"`
	Time        time.Time `json:"timestamp"`
}

// outside are the families that are not measured here. Of 17 and 18, which are of events of
// decisions, see package ocsf. The others are of what no guardian does: of an agent that gets
// no answer, or one that it cannot use (5, 10, 11, 12, 19), and of spans by the standard's
// names, which this one does not send (16).
var outside = []string{"acs-f-5", "acs-f-10", "acs-f-11", "acs-f-12", "acs-f-16", "acs-f-17", "acs-f-18", "acs-f-19"}

// TestCorpus sends the members of agent-evidence-vectors 0.27.0 by which a guardian can be
// measured to one: its short requests as whole ones, with tools that the policy knows.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(needs.Dir(t, "acs-vectors"), "lib", "python*", "site-packages", "agent_evidence_vectors", "corpora", "vectors-acs-core", "vectors", "*.json"))
	if err != nil || len(files) != 140 {
		t.Fatalf("%d members, %v", len(files), err)
	}
	measured := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := new(member)
		if err := json.Unmarshal(text, m); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if slices.Contains(outside, m.Family) {
			continue
		}
		t.Run(m.Family+" "+m.ID, func(t *testing.T) {
			verdict, code := m.play(t)
			if verdict == "" {
				return
			}
			measured[m.Family]++
			if verdict != m.Expected.Verdict || code != 0 && m.Expected.Code != nil && code != m.Expected.CodeValue {
				t.Errorf("%s %d, not %s %d: %s", verdict, code, m.Expected.Verdict, m.Expected.CodeValue, m.Payload.Request)
			}
		})
	}
	want := map[string]int{"acs-f-1": 6, "acs-f-2": 2, "acs-f-3": 2, "acs-f-4": 2, "acs-f-6": 4, "acs-f-7": 3, "acs-f-8": 4, "acs-f-9": 4, "acs-f-13": 11, "acs-f-14": 6, "acs-f-15": 2}
	if fmt.Sprint(measured) != fmt.Sprint(want) {
		t.Errorf("measured %v, not %v", measured, want)
	}
}

// play is what the guardian says to a member, and the code of its error; empty where it
// tells of nothing that a guardian does.
func (m *member) play(t *testing.T) (verdict string, code int) {
	p := &m.Payload
	switch {
	case m.Expected.Verdict == "unmeasurable", p.Hook != nil:
		return "", 0
	case m.Family == "acs-f-13":
		return m.signed(t)
	case m.Family == "acs-f-14":
		return m.resolved(t)
	case m.Family == "acs-f-15":
		return m.untold(t)
	case m.Family == "acs-f-6" || p.Covers != nil:
		return m.chained(t)
	case p.Request == nil && p.Steps == nil:
		return "", 0
	}
	a := open(t, t.TempDir(), keyA).agent()
	verdict = "allow"
	take := func(got *answer) {
		if got.Error.Code != 0 || got.Result.Decision != "allow" && got.Result.Methods == nil {
			verdict, code = "deny", got.Error.Code
		}
	}
	if m.Family != "acs-f-9" || p.Steps == nil && !bytes.Contains(p.Request, []byte("handshake/hello")) {
		a.hello()
	}
	if p.Intent != nil {
		take(a.ask("steps/sessionStart", fmt.Sprintf(`{"intent":%s}`, p.Intent)))
	}
	if p.Content.Text != "" {
		take(a.ask("steps/knowledgeRetrieval", fmt.Sprintf(`{"query":{"value":"c-1"},"results":[{"value":%q,"provenance":{"provenance_id":"p","origin":"retrieved"}}]}`, p.Content.Text)))
	}
	if p.Approval.For.Agent != "" {
		agree(t, a, p.Approval.For.Agent)
	}
	steps := []json.RawMessage{p.Request}
	if p.Steps != nil {
		steps = nil
		for _, step := range p.Steps {
			steps = append(steps, step.Request)
		}
	}
	for _, step := range steps {
		take(a.play(m, step))
	}
	return verdict, code
}

// agree has the boss agree to the call of a member, of this agent.
func agree(t *testing.T, a *agent, of string) {
	call := toolCall("records.write", `{"id":{"value":"c-1"}}`)
	if got := a.ask("steps/toolCallRequest", call, meta("agent_id", of)); got.Result.Decision != "defer" {
		if of != "helper" { // the session is the other agent's
			a.session = "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a37"
			a.head = ""
			a.ask("handshake/hello", helloFor(everything), meta("agent_id", of))
			a.ask("steps/toolCallRequest", call, meta("agent_id", of))
		}
	}
	list, _, _, err := a.guard.Approvals(t.Context(), true, true, "", 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, err := a.guard.Answer(t.Context(), list[0].ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: list[0].Seen}); err != nil {
		t.Fatal(err)
	}
}

// play sends one short request in whole.
func (a *agent) play(m *member, text json.RawMessage) *answer {
	var s short
	if err := json.Unmarshal(text, &s); err != nil {
		a.Fatal(err)
	}
	change := []func(map[string]any){func(p map[string]any) {
		if m.Payload.Policy == nil { // of the budgets' steps all have one id, and none is to be a replay
			p["request_id"] = s.ID
		}
		p["acs_version"] = map[string]string{"0.1": "0.1.0", "1.0": "1.0.0"}[s.ACS]
		if !m.Payload.Clock.IsZero() {
			p["timestamp"] = time.Now().Add(s.Time.Sub(m.Payload.Clock)).UTC().Format(time.RFC3339)
		}
		meta := p["metadata"].(map[string]any)
		meta["turn_id"] = s.Metadata.Turn
		if s.Metadata.Agent != "" {
			meta["agent_id"] = s.Metadata.Agent
		}
	}}
	if s.Method == "handshake/hello" {
		return a.ask(s.Method, string(s.Params), change...)
	}
	var call struct {
		Tool struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal(s.Params, &call); err != nil {
		a.Fatal(err)
	}
	values := map[string]any{}
	for name, v := range call.Tool.Arguments {
		values[name] = map[string]any{"value": v}
	}
	arguments, _ := json.Marshal(values)
	tool := call.Tool.Name
	switch { // which the policy here knows by these names
	case m.Payload.Policy != nil:
		tool = "budgeted"
	case m.Family == "acs-f-9":
		tool = "records.write"
	}
	body := a.form("steps/"+strings.TrimPrefix(s.Method, "hooks/"), toolCall(tool, string(arguments)), change...)
	signed, err := a.key.Sign(body)
	if err != nil {
		a.Fatal(err)
	}
	switch m.Payload.SignatureState {
	case "ABSENT":
		signed = body
	case "INVALID":
		signed = bytes.Replace(signed, []byte(`"value":"`), []byte(`"value":"A`), 1)
	case "COVERS_SUBSET":
		part, err := a.key.Sign(bytes.Replace(body, []byte(a.session), []byte("6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a39"), 1))
		if err != nil {
			a.Fatal(err)
		}
		signed = bytes.Replace(part, []byte("6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a39"), []byte(a.session), 1)
	}
	if s.ACS == "1.0" { // which is answered before it is known who asks
		return a.post(signed)
	}
	return a.send(signed)
}

// signed verifies a member's request as a guardian with its secrets does, or its answer as an
// agent does.
func (m *member) signed(t *testing.T) (verdict string, code int) {
	p := &m.Payload
	keys := map[string]*Key{}
	for _, secrets := range []map[string]string{p.Verifier.Secrets, p.Observed.Secrets} {
		for id, text := range secrets {
			secret, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			keys[id] = &Key{ID: id, Secret: secret}
		}
	}
	if len(keys) == 0 { // of how labels are named, which is the operator's
		return "", 0
	}
	if p.Response != nil {
		var request, response struct {
			Params, Result struct {
				Signature struct {
					Key string `json:"key_id"`
				}
			}
		}
		if err := json.Unmarshal(p.Request, &request); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(p.Response, &response); err != nil {
			t.Fatal(err)
		}
		if keys[request.Params.Signature.Key].Verify(p.Response, session) == nil {
			return "allow", 0
		}
		return "deny", 0
	}
	r, err := jsonrpc.RequestOf(p.Request)
	if err != nil {
		t.Fatal(err)
	}
	if _, fail := (&Server{keys: keys}).open(r); fail != nil {
		return "deny", fail.Code
	}
	return "allow", 0
}

// resolved is whether the record of a member is the one that this guardian makes of a result.
func (m *member) resolved(t *testing.T) (verdict string, code int) {
	g := open(t, t.TempDir(), keyA)
	a := g.agent()
	var r struct {
		Params struct {
			Metadata struct {
				Session string `json:"session_id"`
			}
			Payload struct {
				Ref string `json:"request_id_ref"`
			}
		}
	}
	if err := json.Unmarshal(m.Payload.Request, &r); err != nil {
		t.Fatal(err)
	}
	for name, records := range m.Payload.Records {
		a.session, a.head = name, ""
		a.hello()
		for _, one := range records {
			a.ask("steps/toolCallRequest", toolCall("ls", "{}"), set("request_id", one.ID))
		}
	}
	other := g.agent()
	other.session, other.n = r.Params.Metadata.Session, 500
	signed, err := other.key.Sign(other.form("steps/toolCallResult", `{"tool":{"name":"ls"},"exit_status":"success","outputs":[{"value":"a"}],"request_id_ref":"`+r.Params.Payload.Ref+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	if noted := g.noted(t, g.post(signed)); noted == (len(m.Payload.Finding) > 0) {
		return "allow", 0
	}
	return "deny", 0
}

// untold is whether as much is told of a replay as a member has of it: what is told is made
// of records, and the pair of a replay is that of an earlier request. The other members of
// the family are of agents' own logs, and of readers.
func (m *member) untold(t *testing.T) (verdict string, code int) {
	if m.Payload.Traced == nil {
		return "", 0
	}
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	same := set("request_id", "8b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36")
	a.ask("steps/toolCallRequest", toolCall("ls", "{}"), same)
	before := a.records()
	if got := a.ask("steps/toolCallRequest", toolCall("ls", "{}"), same); got.Error.Code != ReplayDetected {
		t.Fatalf("%s", got.raw)
	}
	if told := a.records() - before; told == uint64(len(*m.Payload.Traced)) {
		return "allow", 0
	}
	return "deny", 0
}

// records is how many there are.
func (g *guardian) records() uint64 {
	head, err := g.store.Head(g.Context(), 0)
	if err != nil {
		g.Fatal(err)
	}
	return head.Size
}

// chained is whether the entry of a member is one as this guardian makes it: it has the
// request's hash, and the head that the answer names is among what is signed.
func (m *member) chained(t *testing.T) (verdict string, code int) {
	a := open(t, t.TempDir(), keyA).agent()
	a.hello()
	got := a.ask("steps/toolCallRequest", toolCall("ls", "{}"))
	if heads := m.Payload.Heads; len(heads) > 0 && m.Payload.Profile == "ACS-Core" {
		last := m.Payload.Entry["previous_hash"] == heads[len(heads)-1].Head
		if ours := bytes.Contains(a.ask("steps/sessionEnd", `{"reason":"completed"}`).raw, []byte(`"previous_hash":"`+got.Result.Chain)); ours == last {
			return "allow", 0
		}
		return "deny", 0
	}
	if m.Payload.Covers == nil && m.Payload.Entry["chain_hash"] == nil {
		return "", 0
	}
	_, has := m.Payload.Entry["request_hash"]
	if m.Payload.Covers == nil {
		if ours := bytes.Contains(got.raw, []byte(`"request_hash":"`)); ours == has {
			return "allow", 0
		}
		return "deny", 0
	}
	changed := bytes.Replace(got.raw, []byte(got.Result.Chain), bytes.Repeat([]byte("0"), 64), 1)
	if covered := a.key.Verify(changed, a.session) != nil; covered == slices.Contains(m.Payload.Covers, "chain_hash") {
		return "allow", 0
	}
	return "deny", 0
}

// noted reports whether the record of an answer says that its reference was not found.
func (g *guardian) noted(t *testing.T, got *answer) bool {
	t.Helper()
	var ours struct {
		Result struct {
			Data struct {
				Reeve struct {
					ID string `json:"decision_id"`
				}
			} `json:"policy_data"`
		}
	}
	if err := json.Unmarshal(got.raw, &ours); err != nil {
		t.Fatal(err)
	}
	at, err := act.ParsePosition(ours.Result.Data.Reeve.ID)
	if err != nil {
		t.Fatalf("%v: %s", err, got.raw)
	}
	beside, err := ledger.ReadOpening(t.Context(), g.store, at)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(beside.Links, []byte("request_id_ref_unresolved")) || bytes.Contains(beside.Reasons, []byte("request_id_ref_unresolved"))
}

// TestProbes are the wire probes and the external-guardian probes that are published for
// guardians of the standard, written anew from their tables, by their ids. The rest of them is
// held elsewhere: over a restart (D2b, D2c) by TestReplay.
func TestProbes(t *testing.T) {
	const call, other = "steps/toolCallRequest", "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a40"
	ls := toolCall("ls", "{}")
	type probe struct {
		id   string
		play func(a *agent) *answer
		want string
	}
	sent := func(method, payload string, change ...func(map[string]any)) func(a *agent) *answer {
		return func(a *agent) *answer { return a.ask(method, payload, change...) }
	}
	raw := func(change func(body []byte) []byte) func(a *agent) *answer {
		return func(a *agent) *answer { return a.post(change(a.form(call, ls))) }
	}
	twice := func(change ...func(map[string]any)) func(a *agent) *answer {
		return func(a *agent) *answer {
			a.ask(call, ls, change...)
			return a.ask(call, ls, change...)
		}
	}
	hello := func(from, to string) string { return strings.Replace(helloFor(everything), from, to, 1) }
	afresh := func(method, payload string) func(a *agent) *answer {
		return func(a *agent) *answer {
			a.session, a.head = other, ""
			return a.ask(method, payload)
		}
	}
	for _, p := range []probe{
		{"D1a unsigned", raw(func(b []byte) []byte { return b }), "-32004"},
		{"D1b inverted", raw(func(b []byte) []byte {
			b, _ = keyA.Sign(b)
			return bytes.Replace(b, []byte(`"value":"`), []byte(`"value":"x`), 1)
		}), "-32004"},
		{"D1c of a part", raw(func(b []byte) []byte {
			b, _ = keyA.Sign(b)
			return bytes.Replace(b, []byte(`"ls"`), []byte(`"rm"`), 1)
		}), "-32004"},
		{"D2a a request_id again", twice(set("request_id", "7b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36")), "-32005"},
		{"D2b a nonce again", twice(set("nonce", "0123456789abcdef")), "-32005"},
		{"D3b an hour old", sent(call, ls, set("timestamp", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))), "-32006"},
		{"D3c an hour ahead", sent(call, ls, set("timestamp", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))), "-32006"},
		{"D4a allow, its head under its signature", sent(call, ls), "allow default"},
		{"D4b deny, its head under its signature", sent(call, toolCall("wipe", "{}")), "deny no-wiping"},
		{"D4c a head that cannot be", sent(call, ls, meta("session_state", map[string]any{"chain_hash": strings.Repeat("f", 64)})), "deny chain_mismatch"},
		{"D5 ping", func(a *agent) *answer { return a.post(a.form("system/ping", `{"echo":"x"}`)) }, "allow"},
		{"D6a version 9.9.9", afresh("handshake/hello", hello(`"0.1.0"`, `"9.9.9"`)), "-32001"},
		{"D6c not negotiated", func(a *agent) *answer {
			a.session, a.head = other, ""
			a.ask("handshake/hello", helloFor(`["steps/userMessage"]`))
			return a.ask(call, ls)
		}, "-32003"},
		{"D6d without a handshake", afresh(call, ls), "-32003"},
		{"D7 sessionStart", sent("steps/sessionStart", `{}`), "allow default"},
		{"D7 userMessage", sent("steps/userMessage", `{"content":[{"type":"text","value":"hello"}]}`), "allow default"},
		{"D7 agentResponse", sent("steps/agentResponse", `{"content":[{"type":"text","value":"hello"}]}`), "allow default"},
		{"D7 sessionEnd", sent("steps/sessionEnd", `{"reason":"completed"}`), "allow"},
		{"D8 wrapped tools/call", sent("protocols/MCP/tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":{"command":"rm -rf /"}}}`), "deny no-rm risk.destroy.system"},
		{"D11a a session_id of 2,000 bytes", sent(call, ls, meta("session_id", strings.Repeat("a", 2000))), "-32600"},
		{"D11b 5,000 levels", raw(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"arguments":{}`), []byte(`"arguments":{"x":{"value":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}}`), 1)
		}), "-32700"},
		{"external: jsonrpc 1.0", raw(func(b []byte) []byte {
			b, _ = keyA.Sign(bytes.Replace(b, []byte(`"2.0"`), []byte(`"1.0"`), 1))
			return b
		}), "-32600"},
		{"external: stdio alone", afresh("handshake/hello", hello(`["http"]`, `["stdio"]`)), "-32000"},
		{"external: no arguments", sent(call, `{"tool":{"name":"ls"}}`), "-32602"},
		{"external: the same again", func(a *agent) *answer {
			id := set("request_id", "8b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36")
			a.ask(call, `{"tool":{"name":"ls"}}`, id)
			return a.ask(call, ls, id)
		}, "-32005"},
	} {
		t.Run(p.id, func(t *testing.T) {
			a := open(t, t.TempDir(), keyA).agent()
			a.hello()
			if got := p.play(a); got.said() != p.want {
				t.Errorf("%s, not %s: %.300s", got.said(), p.want, got.raw)
			}
		})
	}
}
