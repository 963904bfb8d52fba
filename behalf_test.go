package reeve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/server"

	"github.com/google/go-cmp/cmp"
)

const tokenSecret = "0123456789abcdef0123456789abcdef"

// tokenOf is a token of https://login for a while, with claims of its own.
func tokenOf(claims string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"HS256"}`)) + "." + b64(fmt.Appendf(nil, `{"iss":"https://login","aud":"reeve","exp":%d,%s}`, time.Now().Add(time.Hour).Unix(), claims))
	mac := hmac.New(sha256.New, []byte(tokenSecret))
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}

// behalf is a node that takes such tokens, and its server.
func behalf(t *testing.T, rules string, settings ...string) (*Node, *server.Server) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "policy.yaml"), "version: 1\ndefault: deny\nrules:\n"+rules)
	write(t, filepath.Join(dir, "secret"), tokenSecret)
	n := openNode(t, append([]string{"policy", filepath.Join(dir, "policy.yaml"), "jwt-secret", "file:" + filepath.Join(dir, "secret"), "jwt-audience", "reeve"}, settings...)...)
	s, err := server.New(n.serverConfig())
	if err != nil {
		t.Fatal(err)
	}
	return n, s
}

// says sends a request with a token.
func says(s http.Handler, token, path, body string) (status int, answer string) {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func decisionIn(t *testing.T, answer string) act.Position {
	t.Helper()
	_, id, _ := strings.Cut(answer, `"decision_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	pos, err := act.ParsePosition(id)
	if err != nil {
		t.Fatal(answer)
	}
	return pos
}

// TestOnBehalf: what a token says of by whose leave an agent acts is what rules see, what the
// record says, and what records are found by.
func TestOnBehalf(t *testing.T) {
	n, s := behalf(t, `

  - name: bob-delegates-nothing
    effect: deny
    when: action.principal.on_behalf_of == "jwt:https://login#bob"
  - name: only-the-mail-client
    effect: deny
    when: action.principal.on_behalf_of != "" && (action.principal.client != "mail" || !("mail.read" in action.principal.scopes))
  - name: not-through-the-planner
    effect: deny
    when: '"jwt:https://other#planner" in action.principal.actors'
  - name: all
    effect: allow
`)
	for i, tt := range []struct{ claims, effect, rule string }{
		{`"sub":"alice"`, "allow", "all"},
		{`"sub":"alice","act":{"sub":"mailbot"}`, "deny", "only-the-mail-client"},
		{`"sub":"alice","act":{"sub":"mailbot"},"azp":"mail","scope":"mail.send"`, "deny", "only-the-mail-client"},
		{`"sub":"bob","act":{"sub":"mailbot"},"azp":"mail","scope":"mail.read"`, "deny", "bob-delegates-nothing"},
		{`"sub":"alice","act":{"sub":"mailbot","act":{"sub":"planner","iss":"https://other"}},"azp":"mail","scope":"mail.read"`, "deny", "not-through-the-planner"},
		{`"sub":"alice","act":{"sub":"mailbot"},"azp":"mail","scope":"mail.read openid","organization":"acme"`, "allow", "all"},
	} {
		status, answer := says(s, tokenOf(tt.claims), "/", message("u", fmt.Sprint("d", i), "Hello."))
		if status != 200 {
			t.Fatalf("%s: %d %s", tt.claims, status, answer)
		}
		l, err := ledger.ReadLine(t.Context(), n.store, decisionIn(t, answer))
		if err != nil || l.Effect != tt.effect || len(l.Rules) == 0 || l.Rules[0] != tt.rule {
			t.Errorf("%s: %v %v %v", tt.claims, l.Effect, l.Rules, err)
		}
	}

	want := act.Delegation{
		OnBehalfOf: "jwt:https://login#alice", Actors: []string{"jwt:https://login#mailbot"}, Client: "mail", Scopes: []string{"mail.read", "openid"},
	}
	for _, who := range []string{"alice", "jwt:https://login#alice"} {
		found, err := ledger.Search(t.Context(), n.store, ledger.Query{Behalf: who, Effect: "allow"})
		if err != nil || len(found.Lines) != 1 {
			t.Fatalf("%s: %v %v", who, found, err)
		}
		l := found.Lines[0]
		if l.Principal != "jwt:https://login#mailbot?for=alice" || l.Organization != "acme" || !cmp.Equal(l.Delegation, want) {
			t.Errorf("%s: %v %s", who, l.Principal, cmp.Diff(want, l.Delegation))
		}
		record, _, err := ledger.ReadRecord(t.Context(), n.store, l.Position())
		if err != nil {
			t.Fatal(err)
		}
		opening, err := ledger.ReadOpening(t.Context(), n.store, l.Position())
		if err != nil {
			t.Fatal(err)
		}
		if a := replay.Act(&record, &opening); a == nil || !cmp.Equal(a.Principal.Delegated(), want) || a.Principal.Name != l.Principal {
			t.Errorf("the act is read again as %+v", a)
		}
	}
	if found, err := ledger.Search(t.Context(), n.store, ledger.Query{Behalf: "mailbot"}); err != nil || len(found.Lines) != 0 {
		t.Errorf("who acts is found as whom it acts for: %v %v", found, err)
	}
	status, answer := ask(n.Admin(), identity.Operator, identity.Admin, "GET", "/api/v1/decisions?on_behalf_of=alice&effect=allow", "")
	if status != 200 || strings.Count(answer, `"on_behalf_of":"jwt:https://login#alice"`) != 1 {
		t.Errorf("%d %s", status, answer)
	}
}

// TestThreat15DelegateIsNoApprover: who acts for an approver asks, and does not answer, and
// has nothing of what belongs to whom it acts for, nor to whom it acts for besides.
func TestThreat15DelegateIsNoApprover(t *testing.T) {
	_, s := behalf(t, "  - name: held\n    effect: escalate\n")
	delegate := tokenOf(`"sub":"alice","act":{"sub":"mailbot"},"role":"approver"`)
	if status, answer := says(s, delegate, "/", message("u", "h", "Hello.")); status != 200 || !strings.Contains(answer, "approval") {
		t.Fatalf("%d %s", status, answer)
	}
	get := func(token, path string) int {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	approver := tokenOf(`"sub":"alice","role":"approver"`)
	if status := get(approver, "/approvals"); status != 200 {
		t.Errorf("the approver: %d", status)
	}
	for _, path := range []string{"/approvals", "/api/v1/decisions", "/admin/keys"} {
		if status := get(delegate, path); status != 403 {
			t.Errorf("%s: the delegate gets %d", path, status)
		}
	}

	made := func(token string) string {
		status, answer := says(s, token, "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":{"tasks":[{"id":"t","name":"n"}]}}`)
		_, id, _ := strings.Cut(answer, `"id":"`)
		if id, _, _ = strings.Cut(id, `"`); status != 200 || id == "" {
			t.Fatalf("%d %s", status, answer)
		}
		return id
	}
	seen := func(token, id string) bool {
		_, answer := says(s, token, "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{"task_id":"`+id+`"}}`)
		return strings.Contains(answer, `"result":{`)
	}
	who := map[string]string{
		"alice": tokenOf(`"sub":"alice"`), "mailbot": tokenOf(`"sub":"mailbot"`),
		"mailbot for alice": tokenOf(`"sub":"alice","act":{"sub":"mailbot"}`), "mailbot for bob": tokenOf(`"sub":"bob","act":{"sub":"mailbot"}`),
		"planner for alice": tokenOf(`"sub":"alice","act":{"sub":"planner"}`),
	}
	for owner, token := range who {
		id := made(token)
		for other, theirs := range who {
			if got := seen(theirs, id); got != (owner == other) {
				t.Errorf("%s sees the task of %s: %v", other, owner, got)
			}
		}
	}
}

// TestThreat15DelegateTasks: what an agent may not do for somebody, it may not have a task do.
func TestThreat15DelegateTasks(t *testing.T) {
	n, s := behalf(t, `  - name: bob-delegates-nothing
    effect: deny
    on: call
    when: action.principal.on_behalf_of == "jwt:https://login#bob" && "jwt:https://login#mailbot" in action.principal.actors
  - name: all
    effect: allow
`)
	if err := n.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for who, rule := range map[string]string{"alice": "all", "bob": "bob-delegates-nothing"} {
		status, answer := says(s, tokenOf(`"sub":"`+who+`","act":{"sub":"mailbot"}`), "/flow",
			`{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"tasks":[{"name":"n","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]}}`)
		if status != 200 || strings.Contains(answer, `"error":{`) {
			t.Fatalf("%d %s", status, answer)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			found, err := ledger.Search(t.Context(), n.store, ledger.Query{Behalf: who, Kind: string(act.TaskStart)})
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s: no start is recorded: %v", who, err)
			}
			if len(found.Lines) == 0 {
				continue
			}
			if got := found.Lines[0].Rules; len(got) == 0 || got[0] != rule {
				t.Errorf("%s: %v", who, got)
			}
			break
		}
	}
}
