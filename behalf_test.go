package reeve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/ocsf/ocsftest"
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
  - name: cleo-delegates-reading
    effect: deny
    on: call
    when: |
      action.principal.on_behalf_of == "jwt:https://login#cleo" &&
      action.principal.scopes == ["mail.read"] && action.principal.client == "mail" &&
      action.principal.organization == "acme" && "jwt:https://login#planner" in action.principal.actors
  - name: dora-by-a-client
    effect: deny
    on: call
    when: action.principal.name == "jwt:https://login#dora" && action.principal.client == "mail" && "mail.send" in action.principal.scopes
  - name: all
    effect: allow
`)
	if err := n.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for who, tt := range map[string]struct{ token, rule string }{
		"alice": {`"act":{"sub":"mailbot"}`, "all"},
		"bob":   {`"act":{"sub":"mailbot"}`, "bob-delegates-nothing"},
		"cleo":  {`"act":{"sub":"mailbot","act":{"sub":"planner"}},"azp":"mail","scope":"mail.read","organization":"acme"`, "cleo-delegates-reading"},
		"dora":  {`"azp":"mail","scope":"mail.send calendar"`, "dora-by-a-client"}, // for herself, by a client
	} {
		rule := tt.rule
		status, answer := says(s, tokenOf(`"sub":"`+who+`",`+tt.token), "/flow",
			`{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"tasks":[{"name":"n","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]}}`)
		if status != 200 || strings.Contains(answer, `"error":{`) {
			t.Fatalf("%d %s", status, answer)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			q := ledger.Query{Behalf: who, Kind: string(act.TaskStart)}
			if who == "dora" {
				q.Behalf, q.Principal = "", "jwt:https://login#dora"
			}
			found, err := ledger.Search(t.Context(), n.store, q)
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

// TestBehalfIsTold: by whose leave an act was asked for stands in the event of it, which is of
// OCSF's schema, and on its page of the console.
func TestBehalfIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.jsonl")
	n, s := behalf(t, "  - name: all\n    effect: allow\n", "events-file", file)
	stop := exports(t, n)
	_, answer := says(s, tokenOf(`"sub":"alice","act":{"sub":"mailbot","act":{"sub":"planner"}},"azp":"mail","scope":"mail.read","organization":"acme"`), "/",
		message("u", "told", "Hello."))
	pos := decisionIn(t, answer)
	var text []byte
	for end := time.Now().Add(20 * time.Second); !strings.Contains(string(text), `"uid":"`+pos.String()+`"`) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		text, _ = os.ReadFile(file) // it is not there before the first event
	}
	stop()
	n.tasks.Wait()
	events := checkEvents(t, ocsftest.Schema(t), strings.Split(strings.TrimSpace(string(text)), "\n"))
	i := slices.IndexFunc(events, func(e map[string]any) bool { return at(e, "metadata", "uid") == pos.String() })
	if i < 0 {
		t.Fatalf("no event of %s:\n%s", pos, text)
	}
	got := fmt.Sprint(at(events[i], "actor", "user", "name"), " ", at(events[i], "actor", "user", "org", "uid"), " ", at(events[i], "actor", "invoked_by"))
	if got != "jwt:https://login#alice acme jwt:https://login#mailbot" {
		t.Errorf("the actor is %s", got)
	}
	if unmapped := fmt.Sprint(at(events[i], "unmapped", "reeve")); !strings.Contains(unmapped, "planner") || !strings.Contains(unmapped, "mail.read") {
		t.Errorf("through whom, and what for, is not in %s", unmapped)
	}

	status, answer := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"looks","role":"auditor"}`)
	_, secret, _ := strings.Cut(answer, `"secret":"`)
	secret, _, ok := strings.Cut(secret, `"`)
	if status != 200 || !ok {
		t.Fatal(answer)
	}
	login := httptest.NewRequest("POST", "/console/login", strings.NewReader("secret="+secret))
	login.Host = "localhost"
	login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	login.Header.Set("Origin", "http://localhost")
	entered := httptest.NewRecorder()
	if s.ServeHTTP(entered, login); entered.Code != 303 {
		t.Fatalf("%d %s", entered.Code, entered.Body)
	}
	page := httptest.NewRequest("GET", "/console/decisions/"+pos.String(), nil)
	page.Host = "localhost"
	for _, c := range entered.Result().Cookies() {
		page.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, page)
	if want := "<dt>On behalf of</dt><dd>jwt:https://login#alice, by jwt:https://login#mailbot, by jwt:https://login#planner</dd>"; w.Code != 200 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s is not on the page:\n%s", w.Code, want, w.Body)
	}
}

// TestBehalfIsKept: what waited for a person is judged again as asked for by the same leave.
func TestBehalfIsKept(t *testing.T) {
	n, s := behalf(t, `  - name: for-alice
    effect: escalate
    when: action.principal.on_behalf_of == "jwt:https://login#alice" && action.principal.client == "mail" && "send" in action.principal.scopes
`)
	if err := n.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := tokenOf(`"sub":"alice","act":{"sub":"mailbot"},"azp":"mail","scope":"send"`)
	want := act.Delegation{OnBehalfOf: "jwt:https://login#alice", Actors: []string{"jwt:https://login#mailbot"}, Client: "mail", Scopes: []string{"send"}}
	for door, body := range map[string]string{
		"a2g": `{"jsonrpc":"2.0","id":1,"method":"a2g/intent","params":{"agent_did":"did:aeon:mail","intent_id":"1","tool":"send","arguments":{"to":"bob"}}}`,
		"a2a": `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":{"tasks":[{"id":"a","name":"A","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]}}]},"configuration":{"returnImmediately":true}}}`,
	} {
		if status, answer := says(s, token, "/"+door, body); status != 200 || strings.Contains(answer, `"error":{`) {
			t.Fatalf("%s: %d %s", door, status, answer)
		}
		_, list := ask(n.Admin(), identity.Operator, identity.Admin, "GET", "/approvals", "")
		var waits struct {
			Approvals []struct{ ID, Door, State string }
		}
		if err := json.Unmarshal([]byte(list), &waits); err != nil {
			t.Fatalf("%s: %v: %s", door, err, list)
		}
		id := ""
		for _, w := range waits.Approvals { // tasks that the other door began may wait, too
			if w.Door == door && w.State == "held" {
				id = w.ID
			}
		}
		_, held := ask(n.Admin(), identity.Operator, identity.Admin, "GET", "/approvals/"+id, "")
		_, seen, _ := strings.Cut(held, `"seen":"`)
		seen, _, _ = strings.Cut(seen, `"`)
		if status, answer := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/approvals/"+id, `{"answer":"approve","seen":"`+seen+`"}`); status != 200 {
			t.Fatalf("%s: %d %s", door, status, answer)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			found, err := ledger.Search(t.Context(), n.store, ledger.Query{Behalf: "alice", Door: door, Effect: "allow"})
			if err != nil || time.Now().After(end) {
				all, _ := ledger.Search(t.Context(), n.store, ledger.Query{Door: door})
				t.Fatalf("%s: it is not allowed when it is judged again: %v %+v", door, err, all.Lines)
			}
			if len(found.Lines) > 0 {
				if l := found.Lines[0]; !cmp.Equal(l.Delegation, want) || l.Principal != "jwt:https://login#mailbot?for=alice" {
					t.Errorf("%s: %s %s", door, l.Principal, cmp.Diff(want, l.Delegation))
				}
				break
			}
		}
	}
}

// TestBehalfIsErased: what agents did for a person, and the tasks that they made for them, go
// with what is the person's; what they did for others stays.
func TestBehalfIsErased(t *testing.T) {
	n, s := behalf(t, "  - name: all\n    effect: allow\n")
	if err := n.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"/":     message("u", "e", "Hello."),
		"/a2a":  `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":{"tasks":[{"id":"a","name":"A","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]}}]}}}`,
		"/flow": `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":{"tasks":[{"id":"t","name":"n"}]}}`,
	}
	tokens := map[string]string{}
	for _, who := range []string{"alice", "bob"} {
		tokens[who] = tokenOf(`"sub":"` + who + `","act":{"sub":"mailbot"}`)
		for path, body := range bodies {
			if status, answer := says(s, tokens[who], path, body); status != 200 || strings.Contains(answer, `"error":{`) {
				t.Fatalf("%s: %d %s", path, status, answer)
			}
		}
	}
	left := func(who string) string {
		found, err := ledger.Search(t.Context(), n.store, ledger.Query{Behalf: who})
		if err != nil {
			t.Fatal(err)
		}
		_, list := says(s, tokens[who], "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.list","params":{}}`)
		_, sent := says(s, tokens[who], "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
		return fmt.Sprint(len(found.Lines) > 0, strings.Count(list, `"parent_id":null`), strings.Count(sent, `"contextId"`))
	}
	if got := left("alice"); got != "true 2 1" {
		t.Fatalf("before: %s", got)
	}
	if status, answer := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/erase", `{"user":"jwt:https://login#alice"}`); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	if got := left("alice"); got != "false 0 0" {
		t.Errorf("records, trees and A2A tasks for her that are left: %s", got)
	}
	if got := left("bob"); got != "true 2 1" {
		t.Errorf("what is another's: %s", got)
	}
}

// TestBehalfHasOneShare: who acts for many has one share of the node, and no new one with each
// person; who is acted for has its own.
func TestBehalfHasOneShare(t *testing.T) {
	_, s := behalf(t, "  - name: all\n    effect: allow\n", "limits-rate", "0.001")
	sends := func(claims string) int {
		status, _ := says(s, tokenOf(claims), "/", message("u", "r"+claims, "Hello."))
		return status
	}
	var refused bool
	for i := range 50 {
		refused = refused || sends(fmt.Sprintf(`"sub":"person-%d","act":{"sub":"mailbot"}`, i)) == 429
	}
	if !refused {
		t.Error("each person that is acted for gives another share")
	}
	if status := sends(`"sub":"person-1"`); status != 200 {
		t.Errorf("who is acted for: %d", status)
	}
	if status := sends(`"sub":"person-1","act":{"sub":"planner"}`); status != 200 {
		t.Errorf("who else acts for the same: %d", status)
	}
}
