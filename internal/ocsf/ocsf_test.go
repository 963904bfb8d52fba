package ocsf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/ocsf/ocsftest"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestMappings: by both mappings every kind of act with every decision, by whomever, gives
// events of OCSF's schema; by ACS's they have the classes of its table.
func TestMappings(t *testing.T) {
	schema := ocsftest.Schema(t)
	// A kind, the step where that says more, and the class by each mapping.
	kinds := []struct {
		kind, method string
		ocsf, acs    int
		activity     int // by ACS's
	}{
		{"message.user", "steps/userMessage", 6003, 6002, 99},
		{"message.agent", "steps/agentResponse", 6003, 6002, 99},
		{"message.system", "steps/message", 6003, 6003, 99},
		{"trigger", "steps/agentTrigger", 6003, 6002, 99},
		{"tool.call", "steps/toolCallRequest", 6003, 1007, 1},
		{"tool.result", "steps/toolCallResult", 6003, 1007, 2},
		{"knowledge.retrieve", "steps/knowledgeRetrieval", 6005, 6005, 1},
		{"memory.retrieve", "steps/memoryContextRetrieval", 6005, 6005, 1},
		{"memory.store", "steps/memoryStore", 6005, 6005, 4},
		{"agent.event", "steps/sessionStart", 6003, 3002, 1},
		{"agent.event", "steps/sessionEnd", 6003, 3002, 2},
		{"agent.event", "steps/turnStart", 6003, 6002, 99},
		{"agent.event", "steps/turnEnd", 6003, 6002, 99},
		{"agent.event", "steps/preCompact", 6003, 6005, 99},
		{"agent.event", "steps/postCompact", 6003, 6005, 99},
		{"agent.event", "steps/subagentStart", 6003, 3002, 1},
		{"agent.event", "steps/subagentStop", 6003, 3002, 2},
		{"agent.event", "steps/skillRegister", 6003, 5001, 2},
		{"agent.event", "steps/skillLoad", 6003, 1005, 1},
		{"agent.event", "steps/skillUnload", 6003, 1005, 2},
		{"agent.event", "agbom/snapshot", 6003, 5001, 2},
		{"agent.event", "agbom/changed", 6003, 5001, 2},
		{"agent.event", "steps/unheardOf", 6003, 6003, 99},
		{"mcp.request", "tools/call", 6003, 6003, 99},
		{"mcp.response", "tools/call", 6003, 6003, 99},
		{"a2a.send", "message/send", 6003, 6003, 99},
		{"task.start", "", 6003, 6003, 99},
		{"admin.policy.load", "", 6003, 6003, 99},
		{"admin.agent.handshake", "", 3002, 3002, 1},
	}
	askers := []string{
		``, `{"name":"anonymous","method":"anonymous"}`,
		`{"name":"key:a","method":"key","organization":"birch","claims":{"agent":"lend-1","agent_name":"Lend","user":"ada","user_name":"Ada"}}`,
		`{"name":"jwt:https://login#bot?for=4711","method":"jwt","organization":"birch","on_behalf_of":"jwt:https://login#4711","actors":["jwt:https://login#bot","jwt:https://login#desk"],"client":"portal","scopes":["mail.send"],"proof":"dpop","claims":{"agent":"bot"}}`,
		`{"name":"jwt:https://login#bot?for=4711","method":"jwt","on_behalf_of":"jwt:https://login#4711","claims":{"agent":"","user_hash":"abcd"}}`,
		`damaged`,
	}
	reasons := `{"effect":"deny","reasons":[],"risk":{"score":0.9,"level":"CRITICAL","threats":["ASI02: x"]},"policy":"p"}`
	severities := map[string]int{"allow": 1, "modify": 2, "escalate": 3, "deny": 4}
	for _, acs := range []bool{false, true} {
		m := NewMapper(Config{Version: "v", Log: "log", Key: "key", ACS: acs})
		index := uint64(0)
		for _, one := range kinds {
			for _, asker := range askers {
				for _, decided := range []string{"", "allow", "allow deny", "modify", "escalate", "deny"} {
					effect, would, _ := strings.Cut(decided, " ")
					if strings.HasPrefix(one.kind, "admin.") != (effect == "") {
						continue
					}
					r := &export.Record{Record: ledger.Record{Index: index, Time: time.Unix(1, 0), Kind: one.kind, Door: "acs", Effect: effect, Observed: would}, Raw: []byte("{}")}
					index++
					if asker != "" {
						r.Opening.Principal = []byte(asker)
						r.Opening.Links = fmt.Appendf(nil, `{"digest":"d","method":%q,"resource":"tidy","session":"s","turn":"t","step":"1","id":"c1"}`, one.method)
						r.Opening.Reasons = []byte(reasons)
					} else if strings.HasPrefix(one.kind, "agent.event") {
						continue // of which nothing tells what it was
					}
					if effect == "deny" || would != "" {
						r.Codes, r.Rules, r.Policy = []string{"money.too_much", "input.ambiguous"}, []string{"few", "none"}, "sha256:x"
					}
					r.Facts = r.Opening.Facts()
					events, err := m.Events(r, nil)
					if err != nil {
						t.Fatal(err)
					}
					if finding := effect != "" && (effect != "allow" || would != ""); len(events) != 1 && !finding || len(events) != 2 && finding {
						t.Errorf("%s %s gives %d events", one.kind, decided, len(events))
					}
					for i, text := range events {
						v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
						if err != nil {
							t.Fatal(err)
						}
						if err := schema.Validate(v); err != nil {
							t.Fatalf("acs %t, %s %s: %#v\n%s", acs, one.kind, one.method, err, text)
						}
						e := v.(map[string]any)
						class, activity := one.ocsf, fmt.Sprint(e["activity_id"])
						if acs {
							class = one.acs
						}
						if i == 1 {
							class = detectionFinding
						} else if acs && activity != fmt.Sprint(one.activity) {
							t.Errorf("%s %s has activity %s", one.kind, one.method, activity)
						}
						if fmt.Sprint(e["class_uid"]) != fmt.Sprint(class) {
							t.Errorf("acs %t: %s %s is of class %v, want %d", acs, one.kind, one.method, e["class_uid"], class)
						}
						if acs && effect != "" && fmt.Sprint(e["severity_id"]) != fmt.Sprint(severities[effect]) {
							t.Errorf("%s has severity %v", decided, e["severity_id"])
						}
						if behalf := strings.Contains(asker, "on_behalf_of") && i == 0; behalf && !bytes.Contains(text, []byte(`"user":{"name":"jwt:https://login#4711"`)) {
							t.Errorf("for whom it was done is not in %s", text)
						}
					}
				}
			}
		}
	}
}

// TestDecisionsOfACS: the event of a decision has what ACS's text says of it (trace/events.md,
// as of October 2026): numbers and words by the decision, the pair of the step, who acted, and
// the policies in the order of the answer. Whose finding it is has its status and verdict.
func TestDecisionsOfACS(t *testing.T) {
	m := NewMapper(Config{Version: "v1", Log: "log", Key: "key", ACS: true})
	for i, one := range []struct{ effect, method, want string }{
		{"deny", "steps/toolCallRequest", `2 Denied 2 Blocked 4 true deny tidy`},
		{"modify", "steps/toolCallResult", `4 Modified 99 modify 2 false modify tidy`},
		{"escalate", "steps/toolCallRequest", `99 defer 99 defer 3 true defer tidy`},
		{"deny", "steps/userMessage", `2 Denied 2 Blocked 4 true deny -`},
		{"allow", "steps/toolCallRequest", `1 Allowed 1 Allowed 1 false allow -`},
	} {
		kinds := map[string]string{"steps/toolCallRequest": "tool.call", "steps/toolCallResult": "tool.result", "steps/userMessage": "message.user"}
		r := &export.Record{Record: ledger.Record{Index: uint64(i), Time: time.Unix(1, 0), Kind: kinds[one.method], Door: "acs", Effect: one.effect, Rules: []string{"few", "none"}, Codes: []string{"few", "none"}, Policy: "sha256:x"}, Raw: []byte("{}")}
		r.Opening.Principal = []byte(`{"name":"key:a","method":"key","claims":{"agent":"lend-1"}}`)
		r.Opening.Links = fmt.Appendf(nil, `{"digest":"d","method":%q,"resource":"tidy","session":"s","step":"r-2","id":"r-2"}`, one.method)
		r.Opening.Reasons = []byte(`{"effect":"deny","reasons":[],"policy":"p"}`)
		r.Facts = r.Opening.Facts()
		events, err := m.Events(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Metadata struct {
				Correlation string `json:"correlation_uid"`
				Profiles    []string
			}
			ActionID       int `json:"action_id"`
			Action         string
			DispositionID  int `json:"disposition_id"`
			Disposition    string
			SeverityID     int  `json:"severity_id"`
			IsAlert        bool `json:"is_alert"`
			VerdictID      *int `json:"verdict_id"`
			StatusID       *int `json:"status_id"`
			Authorizations []struct {
				Policy struct{ UID, Name, Version string }
			}
			Evidences []struct {
				Actor   struct{ Session struct{ UID string } }
				AIAgent struct{ UID string } `json:"ai_agent"`
				API     *struct{ Operation string }
			}
			Unmapped struct{ ACS map[string]any }
		}
		last := events[len(events)-1]
		if err := json.Unmarshal(last, &e, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		operation := "-"
		if len(e.Evidences) > 0 {
			if api := e.Evidences[0].API; api != nil {
				operation = api.Operation
			}
			if got := e.Evidences[0]; got.AIAgent.UID != "lend-1" || got.Actor.Session.UID != "s" {
				t.Errorf("%s: the evidence %+v", one.method, got)
			}
		}
		if got := fmt.Sprint(e.ActionID, " ", e.Action, " ", e.DispositionID, " ", e.Disposition, " ", e.SeverityID, " ", e.IsAlert, " ", e.Unmapped.ACS["decision"], " ", operation); got != one.want {
			t.Errorf("%s %s: %s, want %s", one.effect, one.method, got, one.want)
		}
		if e.Metadata.Correlation != "s:r-2" || e.Unmapped.ACS["request_id"] != "r-2" || e.Unmapped.ACS["session_id"] != "s" {
			t.Errorf("%s: the pair is not in %s", one.effect, last)
		}
		if !slices.Contains(e.Metadata.Profiles, "security_control") || e.VerdictID != nil || e.StatusID != nil || len(e.Authorizations) != 2 || e.Authorizations[1].Policy.UID != "reeve" || e.Authorizations[1].Policy.Version != "sha256:x" {
			t.Errorf("%s: %s", one.effect, last)
		}
	}
}

// TestSchema: the schema that events are held against is the one that was compiled, and
// its licence lies beside it.
func TestSchema(t *testing.T) {
	sums, err := os.ReadFile("ocsftest/schema/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join("ocsftest/schema", name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// TestFileBroken: who was killed in the middle of a line spoils that line alone.
func TestFileBroken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(name, []byte("{}\n{\"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &File{Name: name}
	for range 2 {
		if err := f.Send(t.Context(), [][]byte{[]byte("{1}"), []byte("{2}")}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if want := "{}\n{\"half\n{1}\n{2}\n{1}\n{2}\n"; err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want %q", got, err, want)
	}
}

// TestCorpus holds the records of agent-evidence-vectors 0.27.0 that are events of decisions
// (families 17 and 18) against those that are made here of the same decisions: a member is
// allowed where it says as much, and the same. Not measured are a policy without an id and a
// name, which no reference of an answer lacks here; and a decision that comes late where the
// agent goes on without one, since here it is told to stop.
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
		var m struct {
			ID, Family string
			Expected   struct{ Verdict string }
			Payload    struct{ Record struct{ OCSF any } }
		}
		if err := json.Unmarshal(text, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		its, _ := m.Payload.Record.OCSF.(map[string]any)
		if m.Family != "acs-f-17" && m.Family != "acs-f-18" || strings.Contains(string(text), "late_decision_fail_open") || its["authorizations"] != nil {
			continue
		}
		measured[m.Family]++
		verdict := "allow"
		if why := differs(its, made(t, its)); why != "" {
			verdict = "deny"
			t.Logf("%s: %s", m.ID, why)
		}
		if verdict != m.Expected.Verdict {
			t.Errorf("%s %s: %s, not %s: %v", m.Family, m.ID, verdict, m.Expected.Verdict, its)
		}
	}
	if got := fmt.Sprint(measured); got != "map[acs-f-17:9 acs-f-18:8]" {
		t.Errorf("measured %s", got)
	}
}

// made is the event that is made here of what another's tells of, of the same class.
func made(t *testing.T, its map[string]any) map[string]any {
	t.Helper()
	told, _ := its["unmapped"].(map[string]any)["acs"].(map[string]any)
	ids := map[string]string{"request_id": "r-1", "session_id": "s-1"}
	for name := range ids {
		if id, ok := told[name].(string); ok {
			ids[name] = id
		}
	}
	r := &export.Record{Record: ledger.Record{Time: time.Unix(1, 0), Kind: string(act.ToolCall), Door: "acs", Effect: "allow", Policy: "sha256:x"}, Raw: []byte("{}")}
	links := ledger.ActLinks{Method: "steps/toolCallRequest", Resource: "ls", Session: ids["session_id"], Step: ids["request_id"], Answer: &ledger.Answered{Decision: "allow"}}
	switch decision, _ := told["decision"].(string); {
	case told["agbom"] != nil:
		r.Kind, links.Method, links.Resource = string(act.AgentEvent), "agbom/snapshot", ""
	case decision != "" && decision != "allow":
		r.Effect, links.Answer.Decision = map[string]string{"ask": "escalate", "defer": "escalate"}[decision], decision
		r.Effect = cmp.Or(r.Effect, decision)
	case its["class_uid"] == 2004.0: // allows are findings where a rule that watches would not
		r.Observed = "deny"
	}
	r.Opening.Principal = []byte(`{"name":"key:a","method":"key","claims":{"agent":"lend-1"}}`)
	r.Opening.Links, _ = json.Marshal(links)
	r.Facts = r.Opening.Facts()
	events, err := NewMapper(Config{Version: "v1", Log: "log", Key: "key", ACS: true}).Events(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range events {
		var e map[string]any
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		if e["class_uid"] == its["class_uid"] {
			return e
		}
	}
	t.Fatalf("no event of class %v is made", its["class_uid"])
	return nil
}

// differs says in what another's event of a decision is not as one that is made here, of what
// the standard's table says; empty for nothing.
func differs(its, ours map[string]any) string {
	for _, name := range []string{"class_name", "activity_id", "severity_id", "action_id", "action", "disposition_id", "disposition", "is_alert"} {
		if other, said := its[name]; its["class_uid"] == 2004.0 && name != "class_name" || said {
			if other != ours[name] {
				return fmt.Sprint(name, " is ", other, ", not ", ours[name])
			}
		}
	}
	told := func(e map[string]any, name string) any {
		acs, _ := e["unmapped"].(map[string]any)["acs"].(map[string]any)
		return acs[name]
	}
	for _, name := range []string{"request_id", "session_id", "decision"} {
		if told(its, name) != told(ours, name) && told(its, "agbom") == nil {
			return fmt.Sprint(name, " is ", told(its, name), ", not ", told(ours, name))
		}
	}
	if other, own := its["metadata"].(map[string]any)["correlation_uid"], ours["metadata"].(map[string]any)["correlation_uid"]; other != own {
		return fmt.Sprint("the pair is ", other, ", not ", own)
	}
	return ""
}

// TestLate: a decision that came when its agent waited no longer is a finding that says so,
// also where it allowed; and what was late by its writing alone has one of its own.
func TestLate(t *testing.T) {
	schema := ocsftest.Schema(t)
	late := `"late":{"elapsed_ms":12000,"timeout_ms":10000,"posture":"deny","payload_bytes":70}`
	for _, one := range []struct {
		kind, effect, links string
		class               int
		want                string
	}{
		{"tool.call", "allow", `{"digest":"d","method":"steps/toolCallRequest","resource":"ls","session":"s","step":"r","answer":{"decision":"allow",` + late + `}}`, 2, "1 1 false"},
		{"tool.call", "deny", `{"digest":"d","method":"steps/toolCallRequest","resource":"ls","session":"s","step":"r","answer":{"decision":"deny",` + late + `}}`, 2, "2 4 true"},
		{"acs.late", "", `{"agent":"desk","session":"s","method":"steps/toolCallRequest","request_id":"r","answer":` + strconv.Quote(`{"decision":"modify",`+late+`}`) + `}`, 2, "4 2 false"},
		{"acs.turnEnd", "", `{"agent":"desk","session":"s","method":"steps/turnEnd","request_id":"r","answer":` + strconv.Quote(`{"decision":"allow"}`) + `}`, 1, "1 1 false"},
	} {
		r := &export.Record{Record: ledger.Record{Time: time.Unix(1, 0), Kind: one.kind, Door: "acs", Effect: one.effect}, Raw: []byte("{}")}
		r.Opening.Principal, r.Opening.Links = []byte(`{"name":"key:desk","method":"key","claims":{"agent":"desk"}}`), []byte(one.links)
		r.Facts = r.Opening.Facts()
		events, err := NewMapper(Config{Version: "v", Log: "log", Key: "key", ACS: true}).Events(r, nil)
		if err != nil || len(events) != one.class {
			t.Fatalf("%s: %v, %s", one.kind, err, events)
		}
		last := string(events[len(events)-1])
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(last))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %#v\n%s", one.kind, err, last)
		}
		e := v.(map[string]any)
		if got := fmt.Sprint(e["action_id"], " ", e["severity_id"], " ", e["is_alert"]); got != one.want {
			t.Errorf("%s %s: %s, want %s", one.kind, one.effect, got, one.want)
		}
		said := strings.Contains(last, `"types":["late_decision_fail_closed"]`) && strings.Contains(last, `"failure":{"class":"timeout","elapsed_ms":12000,"timeout_ms":10000,"posture":"deny","payload_bytes":70}`)
		if said != (one.class == 2) || !strings.Contains(last, `"correlation_uid":"s:r"`) {
			t.Errorf("%s: %s", one.kind, last)
		}
	}
}
