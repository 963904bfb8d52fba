package reeve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/acs"
	"reeve.example/reeve/internal/ocsf/ocsftest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTraceOfACS: with acs.trace each step of a session that was agreed to with the profile
// acs-trace arrives at a receiver as an event of the class of the standard's table, and each
// decision as one that says what its answer said, with the attributes of the step and where
// its values came from. Every event is of OCSF's schema.
func TestTraceOfACS(t *testing.T) {
	const session = "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36"
	events, receiver := receiveEvents(t)
	secret := filepath.Join(t.TempDir(), "acs.secret")
	write(t, secret, strings.Repeat("s", 40))
	rules := "version: 1\ndefault: allow\nrules: [{name: no-wiping, tools: [wipe], effect: deny, reason: Nobody wipes., instead: Archive it.}, {name: asks, tools: [pay], effect: escalate}, {name: cards, detect: pii.card, effect: modify, modify: redact}, {name: watch, tools: [ls], effect: deny, observe: true}]\n"
	n, stop := exporting(t, "acs-keys", "k=desk:file:"+secret, "acs-ask", "desk", "acs-trace", "true", "events-mapping", "acs", "events-url", receiver, "policy-text", rules)
	a := &acsAgent{T: t, key: acs.Key{ID: "k", Agent: "desk", Secret: []byte(strings.Repeat("s", 40))}, session: session, http: serving(t, n)}

	steps := []struct {
		method, payload string
		class, activity int // of the step
		attributes      string
	}{
		{"steps/sessionStart", `{}`, 3002, 1, `{}`},
		{"steps/agentTrigger", `{"trigger_type":"scheduled"}`, 6002, 99, `{"acs.trigger.type":"scheduled"}`},
		{"steps/turnStart", `{"turn_id":"t-1","triggered_by":"user_message"}`, 6002, 99, `{"acs.turn.id":"t-1","acs.turn.triggered_by":"user_message"}`},
		{"steps/userMessage", `{"content":[{"type":"text","value":"hello","provenance":{"provenance_id":"p1","origin":"user_input","source_id":"u-1"}},{"type":"image","value":"AAAA"}]}`, 6002, 99, `{"acs.content.types":["text","image"]}`},
		{"steps/toolCallRequest", `{"tool":{"name":"read","provider":"files"},"capability":"filesystem.read","arguments":{"path":{"value":{"provenance":{"origin":"system"}},"provenance":{"provenance_id":"p2","origin":"agent_generated"}}}}`, 1007, 1, `{"gen_ai.tool.name":"read","acs.capability":"filesystem.read","acs.tool.provider":"files"}`},
		{"steps/toolCallResult", `{"tool":{"name":"read"},"exit_status":"success","request_id_ref":"00000000-0000-4000-8000-000000000005","duration_ms":12,"outputs":[{"value":"4111 1111 1111 1111","provenance":{"provenance_id":"p3","origin":"tool_output","source_id":"files"}}]}`, 1007, 2, `{"gen_ai.tool.name":"read","acs.exit_status":"success","acs.request_id_ref":"00000000-0000-4000-8000-000000000005","acs.duration_ms":12}`},
		{"steps/toolCallRequest", `{"tool":{"name":"wipe"},"arguments":{}}`, 1007, 1, `{"gen_ai.tool.name":"wipe"}`},
		{"steps/toolCallRequest", `{"tool":{"name":"pay"},"arguments":{}}`, 1007, 1, `{"gen_ai.tool.name":"pay"}`},
		{"steps/toolCallRequest", `{"tool":{"name":"ls"},"arguments":{}}`, 1007, 1, `{"gen_ai.tool.name":"ls"}`},
		{"steps/knowledgeRetrieval", `{"query":{"value":"q"},"source":{"name":"kb","type":"vector_db"},"results":[{"value":"a"},{"value":"b"}]}`, 6005, 1, `{"acs.source.type":"vector_db","acs.results.count":2}`},
		{"steps/memoryStore", `{"content":{"value":"a"},"memory_store":{"name":"m"},"operation":"create"}`, 6005, 4, `{"acs.memory_store.name":"m","acs.operation":"create"}`},
		{"steps/memoryContextRetrieval", `{"results":[]}`, 6005, 1, `{"acs.results.count":0}`},
		{"steps/preCompact", `{"entries_to_compact":["a","b"],"triggered_by":"size"}`, 6005, 99, `{"acs.compact.entry_count":2,"acs.compact.triggered_by":"size"}`},
		{"steps/postCompact", `{"summary":{"value":"s","provenance":{"origin":"agent_generated"}},"entries_compacted":["a"],"pre_compact_chain_hash":"x","post_compact_chain_hash":"y"}`, 6005, 99, `{"acs.compact.entry_count":1}`},
		{"steps/subagentStart", `{"subagent_session_id":"c","parent_session_id":"p","intent_derivation":"fresh"}`, 3002, 1, `{"acs.subagent.session_id":"c","acs.subagent.parent_session_id":"p","acs.subagent.intent_derivation":"fresh"}`},
		{"steps/subagentStop", `{"subagent_session_id":"c","outcome":"completed"}`, 3002, 2, `{"acs.subagent.session_id":"c","acs.subagent.outcome":"completed"}`},
		{"steps/skillRegister", `{"skill_id":"pdf","definition":{"ref":"r","digest":{"algorithm":"sha256","value":"ab"}},"declared_capabilities":["fs.read"]}`, 5001, 2, `{"acs.skill.id":"pdf","acs.skill.digest.algorithm":"sha256","acs.skill.digest.value":"ab","acs.skill.declared_capabilities":["fs.read"]}`},
		{"steps/skillLoad", `{"skill_id":"pdf","digest":{"algorithm":"sha256","value":"ab"},"load_trigger":"user","load_path":[{"skill_id":"root"},{"skill_id":"pdf"}]}`, 1005, 1, `{"acs.skill.id":"pdf","acs.skill.digest.algorithm":"sha256","acs.skill.digest.value":"ab","acs.skill.load_trigger":"user","acs.skill.load_path":["root","pdf"]}`},
		{"steps/skillUnload", `{"skill_id":"pdf","reason":"done"}`, 1005, 2, `{"acs.skill.id":"pdf","acs.skill.reason":"done"}`},
		{"agbom/snapshot", `{"components":[{"type":"model","id":"m-1"}]}`, 5001, 2, `{"acs.agbom.format":"canonical","acs.agbom.component_count":1}`},
		{"agbom/changed", `{"change_reason":"swap","added":[]}`, 5001, 2, `{"acs.agbom.format":"canonical","acs.agbom.change_reason":"swap"}`},
		{"protocols/MCP/tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 6003, 99, `{}`},
		{"steps/agentResponse", `{"content":[{"type":"text","value":"bye"}]}`, 6002, 99, `{"acs.content.types":["text"]}`},
		{"steps/turnEnd", `{"turn_id":"t-1","outcome":"completed"}`, 6002, 99, `{"acs.turn.id":"t-1","acs.turn.outcome":"completed"}`},
		{"steps/sessionEnd", `{"reason":"completed"}`, 3002, 2, `{"acs.session.reason":"completed"}`},
	}
	var methods []string
	for _, s := range steps {
		methods = append(methods, s.method)
	}
	offer, _ := json.Marshal(methods)
	if hello := a.ask("handshake/hello", `{"acs_versions_supported":["0.1.0"],"methods_implemented":`+string(offer)+`,"transports_supported":["http"],"provenance_producer":"none","profiles_supported":["acs-core","acs-trace"]}`); !strings.Contains(hello, `"profiles_accepted":["acs-core","acs-trace"]`) || !strings.Contains(hello, `"ocsf_enabled":true`) {
		t.Fatal(hello)
	}
	type said struct {
		Decision, Reasoning string
		Codes               []string `json:"reason_codes"`
		References          []struct {
			Rule string `json:"rule_id"`
		} `json:"policy_references"`
		Chain string `json:"chain_hash"`
	}
	answers := map[string]said{}
	for _, s := range steps {
		var got struct{ Result said }
		if err := json.Unmarshal([]byte(a.ask(s.method, s.payload)), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		answers[a.last()] = got.Result
	}
	// Another agent's key_id for the session is a denial that enters nothing, and is told.
	a.ask("steps/userMessage", `{"content":[{"type":"text","value":"hello"}]}`, `"agent_id":"desk"`, `"agent_id":"eve"`)
	answers[a.last()] = said{Decision: "deny", Reasoning: "The session is another agent's, or was begun with another key. Begin a session of your own.", Codes: []string{"key_not_bound"}}
	all := events(func(list []map[string]any) bool {
		return slices.ContainsFunc(list, func(e map[string]any) bool {
			return at(e, "unmapped", "acs", "request_id") == a.last() && fmt.Sprint(e["class_uid"]) == "2004"
		})
	})
	stop()
	n.tasks.Wait()

	for i, s := range steps {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
		var step, decision map[string]any
		for _, e := range all {
			if at(e, "unmapped", "acs", "request_id") != id || at(e, "unmapped", "reeve", "kind") == "acs.substituted" {
				continue
			}
			uid := fmt.Sprint(at(e, "metadata", "uid"))
			if !strings.Contains(uid, "/") {
				step = e
			}
			if at(e, "unmapped", "acs", "decision") != nil && (step == nil || decision == nil || strings.Contains(uid, "/")) {
				decision = e
			}
			if at(e, "metadata", "correlation_uid") != session+":"+id || at(e, "unmapped", "acs", "session_id") != session {
				t.Errorf("%s: the pair is not in %v", s.method, e["metadata"])
			}
		}
		if step == nil || decision == nil {
			t.Errorf("%s %s: no event of the step, or of its decision", s.method, id)
			continue
		}
		if got := fmt.Sprint(step["class_uid"], " ", step["activity_id"]); got != fmt.Sprint(s.class, " ", s.activity) {
			t.Errorf("%s is of class %s, want %d %d", s.method, got, s.class, s.activity)
		}
		if name := fmt.Sprint(at(step, "unmapped", "acs", "step", "type")); !strings.HasPrefix(s.method, "protocols/") && "steps/"+name != s.method && name != s.method {
			t.Errorf("%s is told as %s", s.method, name)
		}
		if got, want := fmt.Sprint(at(step, "unmapped", "acs", "attributes")), parsed(t, s.attributes); len(want) > 0 && got != fmt.Sprint(want) {
			t.Errorf("%s has %s, want %s", s.method, got, want)
		}
		want := answers[id]
		class := "6002"
		if want.Decision != "allow" || at(step, "unmapped", "reeve", "would") != nil { // where a rule that watches would not allow it
			class = "2004"
		}
		told := at(decision, "unmapped", "acs").(map[string]any)
		got := said{Decision: told["decision"].(string), Codes: texts(told["reason_codes"]), Chain: fmt.Sprint(told["chain_hash"])}
		got.Reasoning, _ = told["reasoning"].(string)
		references, _ := told["policy_references"].([]any)
		for i, one := range references {
			if i < len(want.References) && at(one, "rule_id") != want.References[i].Rule {
				t.Errorf("%s: the rules are %v", s.method, references)
			}
		}
		if fmt.Sprint(decision["class_uid"]) != class || got.Decision != want.Decision || got.Reasoning != want.Reasoning || !slices.Equal(got.Codes, want.Codes) || got.Chain != want.Chain || len(references) != len(want.References) || len(want.Chain) != 64 {
			t.Errorf("%s: the event of class %v says\n%+v %v, and the answer\n%+v", s.method, decision["class_uid"], got, references, want)
		}
		if at(told, "metadata", "evaluator") != "deterministic" || class == "2004" && want.Decision != "allow" && at(decision, "finding_info", "desc") != want.Reasoning {
			t.Errorf("%s: %v", s.method, decision)
		}
	}
	// Where values came from: of each value that says so, and of nothing inside a value.
	origins := map[string]string{}
	for _, e := range all {
		list, _ := e["enrichments"].([]any)
		for _, one := range list {
			if at(one, "name") == "acs_provenance_origin" {
				origins[fmt.Sprint(at(one, "data", "provenance_id"))] = fmt.Sprint(at(one, "value"), " ", at(one, "data", "source_id"))
			}
		}
	}
	if got := fmt.Sprint(origins); got != "map[<nil>:agent_generated <nil> p1:user_input u-1 p2:agent_generated <nil> p3:tool_output files]" {
		t.Errorf("the values came from %s", got)
	}
}

// TestTraceOfACSOff: without acs.trace neither records nor events have any of it, and the
// profile is not offered.
func TestTraceOfACSOff(t *testing.T) {
	events, receiver := receiveEvents(t)
	secret := filepath.Join(t.TempDir(), "acs.secret")
	write(t, secret, strings.Repeat("s", 40))
	n, stop := exporting(t, "acs-keys", "k=desk:file:"+secret, "events-mapping", "acs", "events-url", receiver, "policy-text", "version: 1\ndefault: allow\nrules: [{name: no-wiping, tools: [wipe], effect: deny, reason: Nobody wipes.}]\n")
	a := &acsAgent{T: t, key: acs.Key{ID: "k", Agent: "desk", Secret: []byte(strings.Repeat("s", 40))}, session: "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36", http: serving(t, n)}
	if hello := a.ask("handshake/hello", `{"acs_versions_supported":["0.1.0"],"methods_implemented":["steps/toolCallRequest"],"transports_supported":["http"],"provenance_producer":"none","profiles_supported":["acs-core","acs-trace"]}`); strings.Contains(hello, "acs-trace") {
		t.Error(hello)
	}
	a.ask("steps/toolCallRequest", `{"tool":{"name":"wipe"},"capability":"filesystem.delete","arguments":{"path":{"value":"a","provenance":{"origin":"system"}}}}`)
	all := events(func(list []map[string]any) bool { return len(list) >= 3 })
	stop()
	n.tasks.Wait()
	for _, e := range all {
		if text, _ := json.Marshal(e); strings.Contains(string(text), "Nobody wipes") || strings.Contains(string(text), "filesystem.delete") || strings.Contains(string(text), "chain_hash") || strings.Contains(string(text), "acs_provenance") {
			t.Errorf("%s", text)
		}
	}
	for _, settings := range [][]string{{"acs-trace", "true"}, {"acs-trace", "true", "events-mapping", "acs"}, {"acs-trace", "true", "events-url", receiver}} {
		flags := map[string]string{"data": t.TempDir()}
		for i := 0; i < len(settings); i += 2 {
			flags[settings[i]] = settings[i+1]
		}
		if _, err := Load("", func(string) string { return "" }, flags); err == nil || !strings.Contains(err.Error(), "acs.trace") {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

// receiveEvents is a receiver of events by HTTP, and what waits until some have come there.
func receiveEvents(t *testing.T) (events func(enough func([]map[string]any) bool) []map[string]any, url string) {
	var mu sync.Mutex
	var lines []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var list []jsontext.Value
		if err := json.Unmarshal(body, &list); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range list {
			lines = append(lines, string(e))
		}
	}))
	t.Cleanup(web.Close)
	schema := ocsftest.Schema(t)
	return func(enough func([]map[string]any) bool) []map[string]any {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			mu.Lock()
			got := slices.Clone(lines)
			mu.Unlock()
			if list := checkEvents(t, schema, got); enough(list) {
				return list
			} else if t.Failed() || time.Now().After(end) {
				t.Fatalf("%d events came: %s", len(got), strings.Join(got, "\n"))
			}
		}
	}, web.URL
}

// acsAgent is one that signs.
type acsAgent struct {
	*testing.T
	key     acs.Key
	session string
	http    http.Handler
	n       int
}

// last is the id of the request that was sent last.
func (a *acsAgent) last() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", a.n-1) }

// ask sends a request; change are texts of it and what stands there instead.
func (a *acsAgent) ask(method, payload string, change ...string) string {
	a.Helper()
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"acs_version":"0.1.0","request_id":"00000000-0000-4000-8000-%012d","timestamp":%q,"metadata":{"agent_id":"desk","session_id":%q,"user_context":{"user_id":"mara"}},"payload":%s}}`,
		a.n+1, method, a.n, time.Now().UTC().Format(time.RFC3339), a.session, payload)
	a.n++
	body, err := a.key.Sign([]byte(strings.NewReplacer(change...).Replace(text)))
	if err != nil {
		a.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1:8080/acs", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	a.http.ServeHTTP(w, r)
	if err := a.key.Verify(w.Body.Bytes(), a.session); w.Code != http.StatusOK || err != nil {
		a.Fatalf("%s: %d %v %s", method, w.Code, err, w.Body)
	}
	return w.Body.String()
}

func texts(list any) (all []string) {
	each, _ := list.([]any)
	for _, one := range each {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}
