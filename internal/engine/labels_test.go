package engine_test

import (
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/provenance"

	"github.com/google/go-cmp/cmp"
)

// TestThreat08LabelsOfAnswers: what another agent answers is foreign unless the policy trusts
// that one, by the host that it was asked at. What the agent says of itself lowers that and never
// raises it, and no other executor's result speaks for an agent.
func TestThreat08LabelsOfAnswers(t *testing.T) {
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(`
version: 1
default: allow
labels:
  - {on: task.result, tools: [a2a_executor], servers: ["*.corp.example"], label: own, takes: [private]}
rules:
  - {name: r, when: 'session.foreign', effect: deny}
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		executor, result string
		by               provenance.Origin
		tags             []string
	}{
		{"a2a_executor", `{"agent":"billing.corp.example","message":{}}`, provenance.Own, nil},
		{"a2a_executor", `{"agent":"billing.corp.example","labels":["private","secret"]}`, provenance.Own, []string{"private"}},
		{"a2a_executor", `{"agent":"billing.corp.example","labels":["foreign"]}`, provenance.Foreign, nil},
		{"a2a_executor", `{"agent":"evil.example","labels":["own","private","user"]}`, provenance.Foreign, nil},
		{"a2a_executor", `{"agent":"billing.corp.example.evil.example"}`, provenance.Foreign, nil},
		{"a2a_executor", `{"message":{"agent":"billing.corp.example"}}`, provenance.Foreign, nil},
		{"rest_executor", `{"agent":"billing.corp.example","labels":["private"]}`, provenance.Foreign, nil},
	} {
		a := engine.ActionOf(act.TaskResult, []byte(`{"task":"t","executor":"`+c.executor+`","result":`+c.result+`}`))
		src := set.Source(a, a.Canonical)
		if src.By != c.by {
			t.Errorf("%s %s: %s, not %s", c.executor, c.result, src.By, c.by)
		}
		if diff := cmp.Diff(c.tags, src.Tags); diff != "" {
			t.Errorf("%s %s: %s", c.executor, c.result, diff)
		}
	}
}
