package a2g

import (
	"encoding/json"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

// sameJSON compares JSON whatever its spaces and order.
func sameJSON(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	g, err := generic(got)
	if err != nil {
		t.Fatalf("%s: %v: %s", what, err, got)
	}
	w, err := generic([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var testManifest = act.Manifest{MaxMemoryMB: 50, MaxCPUPercent: 10, TimeoutSeconds: 30, FilesystemScope: []string{"/tmp/**"}}

func TestVerdicts(t *testing.T) {
	expires := testNow.Add(5*time.Minute + 700*time.Millisecond).In(time.FixedZone("", 3600))
	model := 0.12
	reasons := []act.Reason{
		{Rule: "r1", Code: "c1", Message: "Too broad", Instead: "Use /tmp.", Effect: act.Deny},
		{Rule: "r2", Code: "c2", Message: "Watching.", Effect: act.Deny, Observe: true},
		{Rule: "r3", Message: "Odd.", Instead: "Use /tmp.", Effect: act.Escalate},
	}
	const (
		risk   = `"risk_assessment":{"score":0.15,"level":"LOW","model_score":0.12,"heuristic_score":0.15,"threats":["x"]}`
		common = `"intent_id":"i-1",` + risk + `,"capability_manifest":{"max_memory_mb":50,"max_cpu_percent":10,"timeout_seconds":30,"network_allowed":false,"filesystem_scope":["/tmp/**"]},` +
			`"expires_at":"2026-04-02T08:20:00Z","decision":"2-7"`
		said = `,"reasons":[{"rule":"r1","code":"c1","message":"Too broad","instead":"Use /tmp."},{"rule":"r3","code":"","message":"Odd.","instead":"Use /tmp."}]`
	)
	rule := func(d act.Decision) *ruling {
		d.Risk = act.Risk{Score: 0.15, Threats: []string{"x"}}
		d.Position = act.Position{Log: 2, Index: 7}
		return &ruling{intentID: "i-1", decision: &d, manifest: testManifest, expires: expires, model: &model, heuristic: 0.15}
	}
	edits := []act.Edit{{Pointer: "/params/arguments/a~1b/0"}, {Pointer: "/params/arguments/a~1b/1"}, {Pointer: "/params/note"}}
	modified := []byte(`{"params":{"arguments":{"a/b":["*", "*"]},"note":""}}`)

	allowed := rule(act.Decision{Effect: act.Allow})
	conditional := rule(act.Decision{Effect: act.Allow, Conditions: []string{"Tell the reader."}})
	changed := rule(act.Decision{Effect: act.Modify, Edits: edits, Conditions: []string{"Tell the reader."}})
	changed.modified = modified
	repeated := rule(act.Decision{Effect: act.Modify})
	repeated.modified = modified
	held := rule(act.Decision{Effect: act.Escalate, Reasons: reasons, Approval: &act.Approval{ID: "ap-1", State: "held", Expires: expires}})
	for name, tt := range map[string]struct {
		v    *ruling
		want string
	}{
		"approved":    {allowed, `{"verdict":"APPROVED",` + common + `,"conditions":[],"reasons":[]}`},
		"conditional": {conditional, `{"verdict":"CONDITIONAL",` + common + `,"conditions":["Tell the reader."],"reasons":[]}`},
		"modified": {changed, `{"verdict":"CONDITIONAL",` + common + `,"modified_arguments":{"a/b":["*", "*"]},"reasons":[],"conditions":["Tell the reader.",` +
			`"The argument a/b was replaced: call the tool with modified_arguments.","The value at /params/note was replaced: leave it out."]}`},
		"modified again": {repeated, `{"verdict":"CONDITIONAL",` + common + `,"modified_arguments":{"a/b":["*", "*"]},"reasons":[],"conditions":["Call the tool with modified_arguments."]}`},
		"escalate":       {held, `{"verdict":"ESCALATE",` + common + `,"conditions":[],"approval":{"id":"ap-1","state":"held","expires_at":"2026-04-02T08:20:00Z"}` + said + `}`},
	} {
		got, err := tt.v.answer()
		if err != nil {
			t.Errorf("%s: %v %s", name, err, err.Data)
			continue
		}
		sameJSON(t, name, got, tt.want)
		var v Verdict
		if err := json.Unmarshal(got, &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v.Allows(testNow) != (name != "escalate") || v.Allows(expires) {
			t.Errorf("%s: allows now %t, later %t", name, v.Allows(testNow), v.Allows(expires))
		}
	}

	denied := rule(act.Decision{Effect: act.Deny, Reasons: reasons})
	denied.model = nil
	result, err := denied.answer()
	if result != nil || err.Code != -32000 || err.Message != "Policy violation: Too broad." {
		t.Errorf("%s %v", result, err)
	}
	sameJSON(t, "denied", err.Data, `{"intent_id":"i-1","risk_score":0.15,"level":"LOW","verdict":"DENIED","reason":"Too broad.","blocked_by":"static_policy","instead":["Use /tmp."],"decision":"2-7",
		"risk_assessment":{"score":0.15,"level":"LOW","model_score":null,"heuristic_score":0.15,"threats":["x"]}`+said+`}`)
	for _, word := range []string{ByRisk, ByCapability, ByIdentity, ByApproval, ByExpiry, ByPolicy} {
		denied.blockedBy = word
		var data struct {
			BlockedBy string `json:"blocked_by"`
		}
		if json.Unmarshal(denied.denied().Data, &data); data.BlockedBy != word {
			t.Errorf("blocked by %q, want %q", data.BlockedBy, word)
		}
	}

	params, ok := denied.directive("did:aeon:a")
	if !ok {
		t.Error("a denial cannot be told")
	}
	sameJSON(t, "directive", params, `{"agent_did":"did:aeon:a","verdict":"DENIED","intent_id":"i-1","blocked_by":"static_policy","instead":["Use /tmp."],"decision":"2-7",
		"risk_assessment":{"score":0.15,"level":"LOW","model_score":null,"heuristic_score":0.15,"threats":["x"]}`+said+`}`)
	params, _ = allowed.directive("did:aeon:a")
	sameJSON(t, "directive", params, `{"agent_did":"did:aeon:a","verdict":"APPROVED",`+common+`,"conditions":[],"reasons":[]}`)

	// What cannot be told is not allowed.
	for name, broken := range map[string][]byte{"nothing": nil, "no JSON": []byte("{"), "no arguments": []byte(`{"params":{}}`), "no object": []byte(`{"params":{"arguments":[]}}`)} {
		changed.modified = broken
		if result, err := changed.answer(); result != nil || err == nil || err.Code != -32603 {
			t.Errorf("%s: %s %v", name, result, err)
		}
	}
	if _, err := (&ruling{intentID: "i", decision: &act.Decision{}}).answer(); err == nil || err.Code != -32000 {
		t.Errorf("the zero decision: %v", err)
	}
	b, _ := (&ruling{intentID: "i", decision: &act.Decision{Effect: act.Allow}}).answer()
	if manifest := parse(t, string(b)).Get("capability_manifest"); string(manifest.Get("filesystem_scope").Raw()) != "[]" || manifest.Get("network_allowed").Bool() {
		t.Errorf("without a manifest: %s", manifest.Raw())
	}
}

func TestErrors(t *testing.T) {
	params := parse(t, `{"intent_id":"\u0069-1"}`)
	sameJSON(t, "failure", failure(SessionExpired, "Register again.", params, `,"status":"x"`).Data, `{"reason":"Register again.","intent_id":"i-1","status":"x"}`)
	if got := failure(ExecutionError, "", rawjson.Value{}); got.Message != "Execution Error" || string(got.Data) != `{"reason":""}` {
		t.Errorf("%s %s", got.Message, got.Data)
	}
	if got := internalError(params); got.Code != -32603 || !json.Valid(got.Data) {
		t.Errorf("%v %s", got, got.Data)
	}
	if got := string(notification(MethodRevoke, (&Revoke{AgentDID: "a", IntentIDs: []string{"i"}, Reason: "r", At: testNow.Add(time.Millisecond)}).params())); got != `{"jsonrpc":"2.0","method":"g2a/revoke","params":{"agent_did":"a","intent_ids":["i"],"reason":"r","at":"2026-04-02T08:15:00Z"}}` {
		t.Error(got)
	}
	for code, want := range map[int]string{-32700: "Parse Error", -32601: "Method Not Found", -32002: "Registration Failed", -32003: "Capability Exhausted"} {
		if words[code] != want {
			t.Errorf("%d is %q", code, words[code])
		}
	}
}

// TestPolicyForm holds g2a/policy to exactly the text's form.
func TestPolicyForm(t *testing.T) {
	p := Policy{AgentDID: "did:aeon:myagent:1.0:abc123", Version: "2024-01-15", ConstitutionHash: "sha256:abc123", Capabilities: Capabilities{
		Tools:     map[string]ToolPolicy{"write_file": {Allowed: true}, "execute_command": {Allowed: true, Constraints: Constraints{BlockedPatterns: []string{"rm -rf"}}}, "no": {}},
		Network:   NetworkPolicy{AllowedDomains: []string{"api.github.com"}, BlockedDomains: []string{"*.onion"}},
		Resources: ResourcePolicy{MaxMemoryMB: 256, MaxCPUPercent: 50},
	}}
	const want = `{"agent_did":"did:aeon:myagent:1.0:abc123","version":"2024-01-15","capabilities":{"tools":{"execute_command":{"allowed":true,"constraints":{"blocked_patterns":["rm -rf"]}},"no":{"allowed":false,"constraints":{}},"write_file":{"allowed":true,"constraints":{}}},` +
		`"network":{"allowed_domains":["api.github.com"],"blocked_domains":["*.onion"]},"resources":{"max_memory_mb":256,"max_cpu_percent":50}},"constitution_hash":"sha256:abc123"}`
	if got := string(write(&p)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := string(write(&Policy{})); got != `{"agent_did":"","version":"","capabilities":{"tools":{},"network":{"allowed_domains":[],"blocked_domains":[]},"resources":{"max_memory_mb":0,"max_cpu_percent":0}},"constitution_hash":""}` {
		t.Error(got)
	}
}
