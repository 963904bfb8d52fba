package reeve_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/acs"
	"reeve.example/reeve/internal/identity"
)

// TestACS: a node with a key serves ACS to whoever signs with it, though all else needs a
// credential; what it decides by it, it decides and remembers as it does by AOS. Without
// a key there is no such door.
func TestACS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acs.secret")
	if err := os.WriteFile(file, []byte(strings.Repeat("s", 40)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := acs.Key{ID: "2026-11", Agent: "desk", Secret: []byte(strings.Repeat("s", 40))}
	const session = "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36"
	n := 0
	post := func(r *running, method, payload string) string {
		t.Helper()
		n++
		body, err := key.Sign(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"acs_version":"0.1.0","request_id":"00000000-0000-4000-8000-%012d","timestamp":%q,"metadata":{"agent_id":"desk","session_id":%q},"payload":%s}}`,
			n, method, n, time.Now().UTC().Format(time.RFC3339), session, payload))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post(r.url+"/acs", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode == http.StatusOK {
			if err := key.Verify(text, session); err != nil {
				t.Errorf("%s: %v: %s", method, err, text)
			}
		}
		return fmt.Sprint(answer.StatusCode, " ", string(text))
	}
	const hello = `{"acs_versions_supported":["0.1.0"],"methods_implemented":["steps/toolCallRequest","agbom/snapshot","agbom/changed"],"transports_supported":["http"],"provenance_producer":"none"}`
	r := start(t, map[string]string{"acs-keys": "2026-11=desk:file:" + file, "policy-text": "version: 1\ndefault: allow\nrules: [{name: no-wiping, tools: [wipe], effect: deny}, {name: twice, tools: [ring], when: 'session.calls > 0', effect: deny}]\n"})
	if got := post(r, "handshake/hello", hello); !strings.Contains(got, `"on_decision_failure":"deny"`) {
		t.Error(got)
	}
	for _, want := range [][2]string{{"wipe", "deny"}, {"ring", "allow"}, {"ring", "deny"}} {
		if got := post(r, "steps/toolCallRequest", fmt.Sprintf(`{"tool":{"name":%q},"arguments":{}}`, want[0])); !strings.Contains(got, `"decision":"`+want[1]+`"`) {
			t.Errorf("%v: %s", want, got)
		}
	}
	for _, said := range [][2]string{{"agbom/snapshot", `{"components":[{"type":"model","id":"m-1"},{"type":"skill","id":"pdf"}]}`}, {"agbom/changed", `{"removed":[{"type":"skill","id":"pdf"}],"added":[{"type":"robot","id":"arm"}]}`}} {
		if got := post(r, said[0], said[1]); !strings.Contains(got, `"decision":"allow"`) {
			t.Errorf("%s: %s", said[0], got)
		}
	}
	if _, bill := r.ask(identity.Auditor, "GET", "/api/v1/agents/desk/bom", ""); !strings.Contains(bill, `"name":"m-1"`) || !strings.Contains(bill, `"name":"robot arm"`) || strings.Count(bill, `"gone":true`) != 1 {
		t.Errorf("its bill: %s", bill)
	}
	key.Secret[0]++
	if answer := post(start(t, nil), "handshake/hello", hello); !strings.HasPrefix(answer, "404") {
		t.Errorf("a node without keys: %s", answer)
	}
}

// TestACSKeys: what is wrong with a key is said, and never what it is.
func TestACSKeys(t *testing.T) {
	t.Setenv("REEVE_TEST_ACS", "too short")
	t.Setenv("REEVE_TEST_ACS_LONG", strings.Repeat("x", 32))
	for text, want := range map[string]string{
		"a":                                  "LABEL=AGENT:env:NAME",
		"a=b":                                "LABEL=AGENT:env:NAME",
		"a=b:env:REEVE_TEST_ACS_NONE":        "is not set",
		"a=b:env:REEVE_TEST_ACS":             "shorter than 32 bytes",
		"a=b:c0ffeec0ffeec0ffeec0ffeec0ffee": "acs.keys",
		"a=b:env:REEVE_TEST_ACS_LONG,a=c:env:REEVE_TEST_ACS_LONG": "there twice",
	} {
		cfg, err := reeve.Load("", func(string) string { return "" }, map[string]string{"data": t.TempDir(), "acs-keys": text})
		if err != nil {
			t.Fatal(err)
		}
		node, err := reeve.Open(t.Context(), cfg)
		if err == nil {
			node.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c0ffee") || strings.Contains(err.Error(), "too short") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
