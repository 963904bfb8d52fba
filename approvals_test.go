package reeve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/identity"
)

const bank = `
version: 1
name: bank
default: allow
rules:
  - {name: second pair of eyes, tools: [transfer], effect: escalate, code: transfer}
`

// running is a node that serves, with a key for each role.
type running struct {
	*testing.T
	node *reeve.Node
	url  string
	keys map[identity.Role]string
	stop context.CancelFunc
	file string // the policy
	seed string // of nodes that share a database
}

func start(t *testing.T, settings map[string]string) *running {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	text := settings["policy-text"]
	if text == "" {
		text = bank
	}
	delete(settings, "policy-text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"listen": "127.0.0.1:0", "data": filepath.Join(dir, "data"), "policy": file}
	for name, value := range settings {
		flags[name] = value
	}
	cfg, err := reeve.Load("", func(string) string { return "" }, flags)
	if err != nil {
		t.Fatal(err)
	}
	n, err := reeve.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{T: t, file: file, keys: map[identity.Role]string{}}
	secret := regexp.MustCompile(`"secret":"([^"]+)"`)
	for _, role := range []identity.Role{identity.Agent, identity.Approver, identity.Auditor, identity.Admin} {
		w := httptest.NewRecorder()
		q := httptest.NewRequestWithContext(identity.NewContext(t.Context(), identity.Operator, identity.Admin), "POST", "/admin/keys",
			strings.NewReader(fmt.Sprintf(`{"name":%q,"role":%q}`, role, role)))
		n.Admin().ServeHTTP(w, q)
		found := secret.FindStringSubmatch(w.Body.String())
		if found == nil {
			t.Fatalf("no key for the role %s: %s", role, w.Body)
		}
		r.keys[role] = found[1]
	}
	r.serve(n)
	return r
}

// serve serves with an opened node until stop is called, or the test is over.
func (r *running) serve(n *reeve.Node) {
	t := r.T
	t.Helper()
	r.node = n
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- n.Serve(ctx, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case r.url = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
}

// policy puts another policy in force.
func (r *running) policy(text string) {
	r.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	if code, text := r.ask(identity.Admin, "POST", "/admin/policy/reload", "{}"); code != 200 {
		r.Fatalf("%d %s", code, text)
	}
}

// ask makes one call with a role's key.
func (r *running) ask(role identity.Role, method, path, body string) (int, string) {
	q, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if key := r.keys[role]; key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Error(err)
	}
	return resp.StatusCode, string(bytes.TrimSpace(text))
}

// transfer is a step that the policy holds.
func transfer(step int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"Clerk","id":"clerk","instructions":"Pay.","version":"1","provider":{"name":"Birch","url":"https://birch.example"}},"session":{"id":"s"},"turnId":"t","stepId":"%d","timestamp":%q,"user":{"id":"u","organization":{"id":"birch"}}},"toolCallRequest":{"toolId":"transfer","executionId":"e%d","inputs":[{"name":"what","value":"250"}]}}}`,
		step, step, time.Now().UTC().Format(time.RFC3339), step)
}

// seen looks at what is held, and returns what an answer says of it.
func (r *running) seen(id string) string {
	r.Helper()
	code, text := r.ask(identity.Approver, "GET", "/approvals/"+id, "")
	found := regexp.MustCompile(`"seen":"([^"]+)"`).FindStringSubmatch(text)
	if code != 200 || found == nil {
		r.Fatalf("%d %s", code, text)
	}
	return found[1]
}

// answer looks at what is held, and approves or denies it.
func (r *running) answer(id, answer string) (int, string) {
	r.Helper()
	return r.ask(identity.Approver, "POST", "/approvals/"+id, fmt.Sprintf(`{"answer":%q,"seen":%q}`, answer, r.seen(id)))
}

// held waits until something waits for a person, and returns its id.
func (r *running) held() string {
	r.Helper()
	id := regexp.MustCompile(`"id":"(\w+)"`)
	for range 400 {
		if _, text := r.ask(identity.Approver, "GET", "/approvals", ""); id.MatchString(text) {
			return id.FindStringSubmatch(text)[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.Fatal("nothing is held")
	return ""
}

// TestApprovalRoles: an agent sees and answers nothing, an auditor answers
// nothing, and nobody answers without a credential.
func TestApprovalRoles(t *testing.T) {
	r := start(t, nil)
	if _, text := r.ask(identity.Agent, "POST", "/", transfer(1)); !strings.Contains(text, "approval_required") {
		t.Fatal(text)
	}
	id := r.held()
	seen := r.seen(id)
	for _, tt := range []struct {
		role         identity.Role
		method, path string
		body         string
		want         int
	}{
		{"", "GET", "/approvals", "", 401},
		{"", "POST", "/approvals/" + id, `{"answer":"approve"}`, 401},
		{identity.Agent, "GET", "/approvals", "", 403},
		{identity.Agent, "POST", "/approvals/" + id, `{"answer":"approve"}`, 403},
		{identity.Auditor, "GET", "/approvals/" + id, "", 200},
		{identity.Auditor, "POST", "/approvals/" + id, `{"answer":"approve"}`, 403},
		{identity.Approver, "GET", "/approvals?limit=0", "", 400},
		{identity.Approver, "GET", "/approvals?state=open", "", 400},
		{identity.Approver, "GET", "/approvals?all=perhaps", "", 400},
		{identity.Approver, "GET", "/approvals?all=true&all=true", "", 400},
		{identity.Approver, "GET", "/approvals?all=false&limit=2", "", 200},
		{identity.Approver, "GET", "/approvals/" + id + "?all=1", "", 400},
		{identity.Approver, "GET", "/grants?limit=1", "", 400},
		{identity.Auditor, "GET", "/agents?all=1", "", 400},
		{identity.Auditor, "GET", "/nodes?all=1", "", 200},
		{identity.Admin, "POST", "/admin/backup", `{"file":"` + filepath.Join(t.TempDir(), "not", "there") + `"}`, 400},
		{identity.Approver, "GET", "/approvals/none", "", 404},
		{identity.Approver, "POST", "/approvals/" + id, `{"answer":"yes"}`, 400},
		{identity.Approver, "POST", "/approvals/" + id, `{"answer":"approve","force":true}`, 400},
		{identity.Approver, "POST", "/approvals/" + id, `{"answer":"approve","decision":"0-99"}`, 409},
		{identity.Approver, "DELETE", "/approvals/" + id, "", 405},
		{identity.Approver, "POST", "/approvals/" + id, `{"answer":"approve"}`, 409}, // not looked at
		{identity.Approver, "POST", "/approvals/" + id, `{"answer":"approve","seen":"` + seen + `"}`, 200},
		{identity.Admin, "POST", "/approvals/" + id, `{"answer":"approve","seen":"` + seen + `"}`, 409},
	} {
		if got, text := r.ask(tt.role, tt.method, tt.path, tt.body); got != tt.want {
			t.Errorf("%s %s %s %s: %d, want %d: %s", tt.role, tt.method, tt.path, tt.body, got, tt.want, text)
		}
	}
}

// TestApprovalWaits: a call waits for the answer and has it at once; beyond
// the limit nobody waits, and the node stops without waiting for people.
func TestApprovalWaits(t *testing.T) {
	r := start(t, map[string]string{"approvals-wait": "50s", "approvals-held": "1"})
	answers := make(chan string, 1)
	ask := func(step int) {
		_, text := r.ask(identity.Agent, "POST", "/", transfer(step))
		answers <- text
	}
	go ask(1)
	id := r.held()
	begin := time.Now()
	if _, text := r.ask(identity.Agent, "POST", "/", transfer(2)); !strings.Contains(text, "approval_required") || time.Since(begin) > 20*time.Second {
		t.Errorf("beyond the limit, after %v: %s", time.Since(begin), text)
	}
	r.answer(id, "approve")
	if text := <-answers; !strings.Contains(text, `"decision":"allow"`) || time.Since(begin) > 20*time.Second {
		t.Errorf("the call that waited, after %v: %s", time.Since(begin), text)
	}
	go ask(3)
	r.held()
	r.stop()
	if text := <-answers; !strings.Contains(text, "approval_required") {
		t.Errorf("a call that waits when the node stops: %s", text)
	}
}

// TestGrantShown: one grant is shown to whoever may be asked, to no agent, and a made-up one is not there.
func TestGrantShown(t *testing.T) {
	r := start(t, nil)
	for role, want := range map[identity.Role]int{identity.Approver: 404, identity.Auditor: 404, identity.Admin: 404, identity.Agent: 403, "": 401} {
		if code, text := r.ask(role, "GET", "/grants/nothing", ""); code != want {
			t.Errorf("%q: %d %s", role, code, text)
		}
	}
}
