package operator

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/sqlite"
)

// mailing asks about whom foreign text named.
const mailing = `
version: 1
default: allow
acts:
  - {name: mail, tools: [send], control: [to]}
rules:
  - name: stranger
    acts: mail
    when: session.foreign && !action.control.all(v, v.origin() in ["user", "own"])
    unless: usual
    effect: escalate
`

// lived is the operator's interface of a node whose agents have lived for some days.
type lived struct {
	*testing.T
	guard *guard.Guard
	mux   *http.ServeMux
	now   time.Time
	n     int
}

func live(t *testing.T) *lived {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32), Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte(mailing)})
	if err != nil {
		t.Fatal(err)
	}
	l := &lived{T: t, now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)}
	l.guard, err = guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set, Now: func() time.Time { return l.now }})
	if err != nil {
		t.Fatal(err)
	}
	l.mux = (&API{Guard: l.guard, Store: store, Logger: slog.New(slog.DiscardHandler)}).Mux()
	return l
}

// send has an agent mail somebody whom its user named, in a session of its own a day later.
func (l *lived) send(principal, agent, user, to string) act.Position {
	l.Helper()
	l.n++
	l.now = l.now.Add(24 * time.Hour)
	session := fmt.Sprint("s", l.n)
	one := func(kind act.Kind, id, tool string) act.Decision {
		body := fmt.Sprintf(`{"params":{"to":%q}}`, to)
		a := &act.Action{
			Door: "aos", Kind: kind, Principal: act.Principal{Name: principal, Method: "key"}, Agent: act.Agent{ID: agent}, User: act.User{ID: user},
			Session: session, Turn: "t", Step: id, ID: id, Resource: tool, Canonical: tool,
			Content: []act.Leaf{{Pointer: "/params/to", Text: to, Arg: "to"}}, Body: []byte(body), Digest: sha256.Sum256([]byte(id + body)),
		}
		if kind == act.ToolCall {
			a.Arguments = []act.Argument{{Name: "to", Value: fmt.Appendf(nil, "%q", to), Pointer: "/params/to"}}
		}
		d, _, err := l.guard.Decide(l.Context(), a)
		if err != nil {
			l.Fatal(err)
		}
		return d
	}
	one(act.MessageUser, "1", "")
	d := one(act.ToolCall, "2", "send")
	l.now = l.now.Add(time.Hour)
	if _, err := l.guard.Learn(l.Context(), l.now); err != nil {
		l.Fatal(err)
	}
	return d.Position
}

func (l *lived) ask(role identity.Role, method, path, body string) (int, string) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	l.mux.ServeHTTP(w, r.WithContext(identity.NewContext(l.Context(), act.Principal{Name: "key:" + string(role), Method: "key"}, role)))
	return w.Code, w.Body.String()
}

// TestHabitsRoutes: auditors look, admins say something of them, approvers mark incidents,
// and agents get nothing, not even whether there is something.
func TestHabitsRoutes(t *testing.T) {
	l := live(t)
	at := l.send("key:bot", "mailer", "ann", "bob@corp.example")
	const mailer, list = "/api/v1/agents/mailer/habits", "/api/v1/habits"
	incident := "/api/v1/decisions/" + at.String() + "/incident"
	for _, tt := range []struct {
		role         identity.Role
		method, path string
		body         string
		code         int
		want         string
	}{
		{identity.Agent, "GET", list, "", 403, ""},
		{identity.Agent, "GET", mailer, "", 403, ""},
		{identity.Agent, "GET", "/api/v1/agents/nobody/habits", "", 403, ""},
		{identity.Agent, "POST", mailer, `{"say":"forget"}`, 403, ""},
		{identity.Agent, "POST", incident, `{}`, 403, ""},
		{identity.Approver, "GET", mailer, "", 403, ""},
		{identity.Approver, "POST", mailer, `{"say":"freeze"}`, 403, ""},
		{identity.Auditor, "POST", mailer, `{"say":"freeze"}`, 403, ""},
		{identity.Auditor, "POST", incident, `{}`, 403, ""},

		{identity.Auditor, "GET", list, "", 200, `"agent":"mailer","principal":"key:bot","sessions":1,`},
		{identity.Auditor, "GET", list + "?agent=nobody", "", 200, `{"agents":[],"unusual":[]}`},
		{identity.Auditor, "GET", mailer, "", 200, `"learning":true`},
		{identity.Auditor, "GET", mailer + "?principal=key:other", "", 404, "nothing was learned"},
		{identity.Auditor, "GET", "/api/v1/agents/nobody/habits", "", 404, "nothing was learned"},

		{identity.Admin, "POST", mailer, `{"say":"praise"}`, 400, "forget"},
		{identity.Admin, "POST", mailer, `{"say":"freeze","until":"tomorrow"}`, 400, "until"},
		{identity.Admin, "POST", mailer, `{"say":"freeze","value":"bob@corp.example"}`, 400, "for forget"},
		{identity.Admin, "POST", mailer, `{"say":"forget","value":"` + strings.Repeat("x", maxNote+1) + `"}`, 400, "2000"},
		{identity.Admin, "POST", mailer, `{"say":"forget","value":"never@seen.example"}`, 404, "nothing was learned"},
		{identity.Admin, "POST", "/api/v1/agents/nobody/habits", `{"say":"forget"}`, 404, "nothing was learned"},
		{identity.Admin, "POST", mailer, `{"say":"freeze"}`, 200, `"frozen":true`},
		{identity.Admin, "POST", mailer, `{"say":"thaw"}`, 200, `"sessions":1`},
		{identity.Admin, "POST", mailer, `{"say":"rebuild"}`, 200, `"owed":true`},
		{identity.Admin, "POST", mailer, `{"say":"forget","value":"bob@corp.example","user":"ann"}`, 200, `"agent":"mailer"`},

		{identity.Approver, "POST", "/api/v1/decisions/x/incident", `{}`, 400, ""},
		{identity.Approver, "POST", "/api/v1/decisions/0-9999/incident", `{}`, 404, ""},
		{identity.Approver, "POST", "/api/v1/decisions/0-0/incident", `{}`, 404, ""}, // which is no call
		{identity.Approver, "POST", incident, `{}`, 200, `{"decision":"` + at.String() + `","agent":"mailer","principal":"key:bot"}`},
	} {
		code, text := l.ask(tt.role, tt.method, tt.path, tt.body)
		if code != tt.code || !strings.Contains(text, tt.want) || tt.code == 403 && strings.Contains(text, "bob@") {
			t.Errorf("%s %s %s %.60s: %d, want %d and %q: %s", tt.role, tt.method, tt.path, tt.body, code, tt.code, tt.want, text)
		}
	}

	l.send("key:other", "mailer", "ann", "bob@corp.example")
	if code, text := l.ask(identity.Auditor, "GET", mailer, ""); code != 409 || !strings.Contains(text, "principal") {
		t.Errorf("two agents bear the name: %d %s", code, text)
	}
	if code, text := l.ask(identity.Auditor, "GET", mailer+"?principal=key:other", ""); code != 200 || !strings.Contains(text, `"principal":"key:other"`) {
		t.Errorf("one of them: %d %s", code, text)
	}
}

// TestHabitsOfUsers: what one user named is shown to who asks for that user, and in no
// other answer.
func TestHabitsOfUsers(t *testing.T) {
	l := live(t)
	for range 3 {
		l.send("key:bot", "mailer", "ann", "ann-knows@corp.example")
		l.send("key:bot", "mailer", "bea", "bea-knows@corp.example")
	}
	for query, want := range map[string]string{
		"": "", "?user=ann": "ann-knows@corp.example", "?user=bea": "bea-knows@corp.example", "?user=cy": "", "?user=ann&organization=other": "", "?user=ann%00": "",
	} {
		code, text := l.ask(identity.Auditor, "GET", "/api/v1/agents/mailer/habits"+query, "")
		var r habits.Report
		if err := json.Unmarshal([]byte(text), &r); code != 200 || err != nil {
			t.Fatalf("%s: %d %v %s", query, code, err, text)
		}
		got := ""
		for _, v := range r.Values {
			if v.Mine {
				if got += v.Text; !v.Usual {
					t.Errorf("%s: after three sessions it is not usual: %+v", query, v)
				}
			}
		}
		if got != want || strings.Contains(text, "-knows@") != (want != "") {
			t.Errorf("%s: it shows %q, want %q:\n%s", query, got, want, text)
		}
	}
	if _, text := l.ask(identity.Admin, "GET", "/api/v1/habits", ""); strings.Contains(text, "-knows@") || strings.Contains(text, `"hash"`) {
		t.Errorf("the list shows values: %s", text)
	}
}
