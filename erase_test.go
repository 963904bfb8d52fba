package reeve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
)

// TestEraseGranted: what people agreed to for a user's later acts ends, and what it was is forgotten, with the user's
// other contents.
func TestEraseGranted(t *testing.T) {
	r := start(t, map[string]string{"policy-text": `
version: 1
name: t
default: allow
rules: [{name: pay, tools: [pay], effect: escalate, code: pay, reason: A person decides.}]
risk: {deny: off}
`})
	agent := r.asks(step(1, "clerk", "pay", "to", "the sailing boat"))
	var held struct {
		Approvals []struct {
			ID string `json:"id"`
		} `json:"approvals"`
	}
	for range 100 {
		_, text := r.ask(identity.Approver, "GET", "/approvals", "")
		if json.Unmarshal([]byte(text), &held); len(held.Approvals) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(held.Approvals) != 1 {
		t.Fatal("nothing is held")
	}
	id := held.Approvals[0].ID
	var shown struct {
		Seen string `json:"seen"`
	}
	_, text := r.ask(identity.Approver, "GET", "/approvals/"+id, "")
	json.Unmarshal([]byte(text), &shown)
	if code, text := r.ask(identity.Approver, "POST", "/approvals/"+id, fmt.Sprintf(`{"answer":"approve","seen":%q,"for":{"session":true}}`, shown.Seen)); code != 200 {
		t.Fatal(code, text)
	}
	<-agent
	<-r.asks(step(2, "clerk", "pay", "to", "the sailing boat")) // as it was agreed to
	if text := <-r.asks(step(3, "clerk", "pay", "to", "the sailing boat")); !strings.Contains(text, `"granted"`) {
		t.Fatalf("not granted: %s", text)
	}
	if code, text := r.as(identity.Operator, "POST", "/admin/erase", `{"user":"u"}`); code != 200 {
		t.Fatal(code, text)
	}
	if _, text := r.ask(identity.Auditor, "GET", "/grants", ""); strings.Contains(text, "sailing boat") {
		t.Errorf("kept still: %s", text)
	}
	if text := <-r.asks(step(4, "clerk", "pay", "to", "the sailing boat")); !strings.Contains(text, "A person decides.") {
		t.Errorf("granted still: %s", text)
	}
}
