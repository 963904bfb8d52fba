package guard

import (
	"bytes"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is written beside a record is what package ledger's types read, member by member:
// who adds one to the writer and not to the reader is told here.
func TestWrittenAsRead(t *testing.T) {
	a := &act.Action{
		Principal: act.Principal{Name: "key:ann", Method: "key", Organization: "birch"},
		Agent:     act.Agent{ID: "clerk", Name: "Clerk", Version: "2", Organization: "birch"},
		User:      act.User{ID: "u", Name: "U", Email: "u@birch.example", Organization: "birch"},
		Method:    "steps/toolCallRequest", Resource: "transfer", Session: "s", Turn: "t", Step: "1", ID: "e1", Answers: "e0",
		Faults: []string{"one", "two"},
	}
	d := &act.Decision{
		Effect: act.Modify, Policy: "sha256:x", Risk: act.Risk{Score: 0.25, Level: "low", Threats: []string{"T1"}},
		Reasons: []act.Reason{
			{Rule: "r", Code: "c", Message: "m", Instead: "i", Effect: act.Deny, Observe: true, Pointer: "/p", Final: true, Exception: "x"},
			{Rule: "r2", Message: "m2", Effect: act.Modify},
		},
		Edits:    []act.Edit{{Pointer: "/a", Value: jsontext.Value(`"new"`), Old: jsontext.Value(`"old"`)}},
		Approval: &act.Approval{ID: "h1"},
	}
	model := 0.5
	judged := *a
	judged.Refusals, judged.Enforces, judged.Bounded = []act.Reason{{Rule: "g", Code: "guardian.tampering", Final: true, Message: "no"}, {Rule: "l", Code: "c"}}, []string{"a", "b"}, true
	judged.Model, judged.ModelThreats = &model, []string{"exfiltration"}
	asked := *a
	asked.Door, asked.Server, asked.From = "mcp", "files", act.FromServer
	asker := appendClaims(appendPrincipal(nil, a.Principal), a, true)
	links := appendLinks(nil, a, &act.Decision{})
	links = append(appendMember(links[:len(links)-1], "not_kept", "quotas.contents"), '}')
	for _, tt := range []struct {
		name    string
		written []byte
		read    any
	}{
		{"who asked", asker, new(ledger.Asker)},
		{"an administrator", appendPrincipal(nil, act.Principal{Name: "n", Method: "local"}), new(ledger.Asker)},
		{"the links", links, new(ledger.ActLinks)},
		{"the links of a proxy's question", appendLinks(nil, &asked, &act.Decision{}), new(ledger.ActLinks)},
		{"what it was judged by", appendGiven(nil, &policy.Input{Action: &judged, Violations: []act.Violation{{Check: "call.loop", Unsure: true, Message: "m", Pointer: "/p"}, {Check: "id.reused"}}}, true, true), new(ledger.Given)},
		{"nothing it was judged by", appendGiven(nil, &policy.Input{Action: a, Session: policy.Session{Known: true}}, false, false), new(ledger.Given)},
		{"the details", appendDetails(nil, map[string]string{"b": "2", "a": "1"}), new(ledger.Details)},
		{"the outcome", appendReasons(nil, d, true), new(ledger.Outcome)},
		{"an outcome whose edits are not kept", appendReasons(nil, d, false), new(ledger.Outcome)},
		{"nothing said", appendReasons(nil, &act.Decision{Effect: act.Allow}, true), new(ledger.Outcome)},
	} {
		if err := json.Unmarshal(tt.written, tt.read, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v in %s", tt.name, err, tt.written)
			continue
		}
		again, err := json.Marshal(tt.read, json.Deterministic(true))
		if err != nil || !bytes.Equal(again, tt.written) {
			t.Errorf("%s is written as\n%s\nand read as\n%s (%v)", tt.name, tt.written, again, err)
		}
	}
}
