package reeve_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/internal/identity"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// governed is a policy with something of everything.
const governed = `
version: 1
name: governed
default: allow
manifests:
  write_file: {filesystem_scope: [/workspace/**], timeout_seconds: 5}
rules:
  - {name: no wiping, tools: [wipe], effect: deny, code: wipe, reason: Wiping is never allowed., instead: Ask for one file to be removed.}
  - {name: second pair of eyes, tools: [transfer], effect: escalate, code: transfer}
  - {name: announced, tools: [deploy], effect: allow, conditions: [Tell the channel first.]}
  - {name: cards, detect: [pii.card], effect: modify, modify: redact}
  - {name: trust, check: agent.violations, effect: deny}
`

// agentOf is a client of the node, over HTTP or WebSocket.
func (r *running) agentOf(scheme, did string) *a2g.Client {
	c := &a2g.Client{URL: scheme + strings.TrimPrefix(r.url, "http") + "/a2g", AgentDID: did, Key: r.keys[identity.Agent]}
	r.Cleanup(c.Close)
	return c
}

func intentFor(tool, id string, args map[string]any) *a2g.Intent {
	return &a2g.Intent{IntentID: id, Tool: tool, Arguments: a2g.Arguments(args)}
}

// TestA2G talks to a node as an agent does: every verdict, every error code, by
// HTTP and by WebSocket.
func TestA2G(t *testing.T) {
	for _, scheme := range []string{"http", "ws"} {
		t.Run(scheme, func(t *testing.T) {
			r := start(t, map[string]string{"policy-text": governed})
			ctx := t.Context()
			c := r.agentOf(scheme, "did:aeon:desk")
			ask := func(tool, id string, args map[string]any) *a2g.Verdict {
				t.Helper()
				v, err := c.Ask(ctx, intentFor(tool, id, args))
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				return v
			}
			// An agent that never registered gets verdicts.
			v := ask("write_file", "i1", map[string]any{"path": "/workspace/a", "content": "x"})
			if v.Verdict != a2g.Approved || v.Manifest.FilesystemScope[0] != "/workspace/**" || v.Manifest.TimeoutSeconds != 5 || v.Risk.Level != a2g.Low || v.Risk.ModelScore != nil {
				t.Errorf("%+v", v)
			}
			if again := ask("write_file", "i1", map[string]any{"content": "x", "path": "/workspace/a"}); again.Decision != v.Decision || !again.ExpiresAt.Equal(v.ExpiresAt) {
				t.Errorf("asked again: %+v", again)
			}
			var e *a2g.Error
			if _, err := c.Ask(ctx, intentFor("write_file", "i1", map[string]any{"path": "/etc"})); !errors.As(err, &e) || e.Code != -32602 || e.Data.Field != "/params/intent_id" || e.Data.IntentID != "i1" {
				t.Errorf("another act under the same id: %v", err)
			}
			if v := ask("wipe", "i2", nil); v.Verdict != a2g.Denied || v.BlockedBy != a2g.ByPolicy || strings.Join(v.Instead, "") != "Ask for one file to be removed." {
				t.Errorf("denied: %+v", v)
			}
			if v := ask("deploy", "i3", nil); v.Verdict != a2g.Conditional || strings.Join(v.Conditions, "") != "Tell the channel first." {
				t.Errorf("conditional: %+v", v)
			}
			if v := ask("mail", "i4", map[string]any{"text": "card 4000 0000 0000 0002"}); v.Verdict != a2g.Conditional || string(v.ModifiedArguments) != `{"text":"card ****"}` {
				t.Errorf("modified: %+v", v)
			}

			registered, err := c.Register(ctx, &a2g.Register{CapabilitiesRequested: []string{"write_file", "wipe"}})
			if err != nil || registered.Policy.Capabilities.Tools["wipe"].Allowed || !registered.Policy.Capabilities.Tools["write_file"].Allowed {
				t.Errorf("registered: %+v, %v", registered, err)
			}
			if _, err := c.Report(ctx, &a2g.Report{IntentID: "i1", Status: a2g.Success, Result: a2g.Raw(`{"bytes_written":1}`), Metrics: &a2g.Metrics{DurationMS: 4}}); err != nil {
				t.Errorf("report: %v", err)
			}

			// A person is asked, and the agent told.
			held := ask("transfer", "i5", map[string]any{"to": "x"})
			if held.Verdict != a2g.Escalate || held.Approval == nil {
				t.Fatalf("held: %+v", held)
			}
			if code, text := r.answer(held.Approval.ID, "approve"); code != 200 {
				t.Fatal(text)
			}
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if v := ask("transfer", "i5", map[string]any{"to": "x"}); v.Verdict == a2g.Approved {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("after the answer: %+v", v)
				}
			}

			// What no verdict covers is a violation, and the policy suspends for it.
			if _, err := c.Report(ctx, &a2g.Report{IntentID: "never", Status: a2g.Success}); !errors.As(err, &e) || e.Code != -32001 {
				t.Errorf("a report without a verdict: %v", err)
			}
			if v := ask("read", "i6", nil); v.Verdict != a2g.Denied || v.BlockedBy != a2g.ByIdentity {
				t.Errorf("after a violation: %+v", v)
			}
			code, text := r.ask(identity.Admin, "GET", "/agents/did:aeon:desk", "")
			if code != 200 || !strings.Contains(text, `"state":"suspended"`) || !strings.Contains(text, `"reported":1`) || !strings.Contains(text, `"governed":0.5`) {
				t.Errorf("%d %s", code, text)
			}
			if code, text := r.ask(identity.Admin, "POST", "/agents/did:aeon:desk", `{"state":"active"}`); code != 200 {
				t.Errorf("%d %s", code, text)
			}
			if v := ask("read", "i7", nil); v.Verdict != a2g.Approved {
				t.Errorf("resumed: %+v", v)
			}
			if code, text := r.ask(identity.Admin, "POST", "/agents/did:aeon:desk", `{"state":"revoked","reason":"Seen enough."}`); code != 200 {
				t.Errorf("%d %s", code, text)
			}
			if v := ask("read", "i7", nil); v.Verdict != a2g.Denied {
				t.Errorf("revoked, and the verdict of before: %+v", v)
			}
			if _, err := c.Register(ctx, &a2g.Register{}); !errors.As(err, &e) || e.Code != -32002 {
				t.Errorf("a revoked agent registers: %v", err)
			}
			// All of it is in the one ledger, and in the metrics.
			if _, text := r.ask(identity.Auditor, "GET", "/metrics", ""); !strings.Contains(text, `reeve_a2g_ended_total{agent="did:aeon:desk",outcome="violation"} 1`) {
				t.Error("metrics do not count the violation")
			}
		})
	}
}

// TestA2GPushes: what the governing side says of itself reaches the agent: by its
// connection at once, and over HTTP with the next heartbeat.
func TestA2GPushes(t *testing.T) {
	for _, scheme := range []string{"http", "ws"} {
		t.Run(scheme, func(t *testing.T) {
			r := start(t, map[string]string{"policy-text": governed})
			c := r.agentOf(scheme, "did:aeon:desk")
			var mu sync.Mutex
			var got []string
			note := func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf(format, args...))
			}
			c.OnPolicy = func(p *a2g.Policy) { note("policy wipe=%v", p.Capabilities.Tools["wipe"].Allowed) }
			c.OnDirective = func(d *a2g.Directive) { note("directive %s %s", d.IntentID, d.Verdict.Verdict) }
			c.OnRevoke = func(d *a2g.Revoke) { note("revoke %s", d.Reason) }
			wait := func(want string) {
				t.Helper()
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					if scheme == "http" {
						if _, err := c.Heartbeat(t.Context(), ""); err != nil {
							t.Fatal(err)
						}
					}
					mu.Lock()
					text := strings.Join(got, "\n")
					mu.Unlock()
					if strings.Contains(text, want) {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("never came: %q; came: %q", want, text)
					}
				}
			}
			if _, err := c.Register(t.Context(), &a2g.Register{CapabilitiesRequested: []string{"wipe"}}); err != nil {
				t.Fatal(err)
			}
			if scheme == "ws" {
				wait("policy wipe=false")
			}
			r.policy(strings.Replace(governed, "tools: [wipe], effect: deny", "tools: [wipe_all], effect: deny", 1))
			wait("policy wipe=true")
			for i, answer := range []string{"approve", "deny"} {
				held, err := c.Ask(t.Context(), intentFor("transfer", fmt.Sprint("i", i), map[string]any{"n": i}))
				if err != nil || held.Approval == nil {
					t.Fatalf("%+v, %v", held, err)
				}
				r.answer(held.Approval.ID, answer)
			}
			wait("directive i0 APPROVED")
			wait("directive i1 DENIED")
			r.ask(identity.Admin, "POST", "/agents/did:aeon:desk", `{"state":"suspended","reason":"A look at the logs."}`)
			wait("revoke A look at the logs.")
		})
	}
}

// TestTelemetry: an observer is told everything in order, and goes on where it left off.
func TestTelemetry(t *testing.T) {
	r := start(t, map[string]string{"policy-text": governed})
	c := r.agentOf("http", "did:aeon:desk")
	watch := func(from string) *websocket.Conn {
		t.Helper()
		header := map[string][]string{"Authorization": {"Bearer " + r.keys[identity.Auditor]}}
		conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/telemetry"+from, &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		return conn
	}
	next := func(conn *websocket.Conn) (e a2g.Event) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, data, err := conn.Read(ctx)
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	conn := watch("")
	for i, tool := range []string{"read", "wipe", "transfer"} {
		if _, err := c.Ask(t.Context(), intentFor(tool, fmt.Sprint("i", i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	c.Report(t.Context(), &a2g.Report{IntentID: "i0", Status: a2g.Success})
	c.Report(t.Context(), &a2g.Report{IntentID: "i1", Status: a2g.Success})
	want := []string{
		"INTENT_RECEIVED i0 ", "RISK_ASSESSMENT i0 ", "INTENT_ALLOWED i0 ",
		"INTENT_RECEIVED i1 ", "RISK_ASSESSMENT i1 ", "INTENT_BLOCKED i1 static_policy",
		"INTENT_RECEIVED i2 ", "RISK_ASSESSMENT i2 ", "INTENT_BLOCKED i2 approval",
		"EXECUTION_COMPLETE i0 ", "EXECUTION_COMPLETE i1 ", "POLICY_VIOLATION  ",
	}
	var positions []string
	for i, w := range want {
		e := next(conn)
		if got := e.Type + " " + e.Intent + " " + e.Phase; got != w || e.Agent != "did:aeon:desk" {
			t.Errorf("event %d: %q of %s, want %q", i, got, e.Agent, w)
		}
		positions = append(positions, e.Position)
	}
	again := watch("?from=" + positions[2])
	for i := 3; i < len(want); i++ {
		if e := next(again); e.Position != positions[i] || e.Type != strings.Fields(want[i])[0] {
			t.Errorf("resumed, event %d: %s at %s, want %s", i, e.Type, e.Position, positions[i])
		}
	}
}

// TestModel: a model's score counts when it is the larger one, and is never invented.
func TestModel(t *testing.T) {
	var answer atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, answer.Load())
	}))
	defer server.Close()
	r := start(t, map[string]string{"model-url": server.URL + "/score_risk", "policy-text": `
version: 1
default: allow
rules:
  - {name: grave, on: tool.call, hazard: 0.8, effect: deny}
  - {name: nobody looked, check: model.absent, tools: [pay], effect: escalate}
`})
	c := r.agentOf("http", "did:aeon:desk")
	for i, tt := range []struct {
		answer, tool, verdict string
		model                 float64
	}{
		{`{"risk_score":0.3,"threats":["reads"]}`, "read", a2g.Approved, 0.3},
		{`{"risk_score":0.95,"reason":"it pays"}`, "pay", a2g.Denied, 0.95},
		{`nothing`, "pay", a2g.Escalate, -1},
		{`{"risk_score":7}`, "read", a2g.Approved, -1},
	} {
		answer.Store(tt.answer)
		v, err := c.Ask(t.Context(), intentFor(tt.tool, fmt.Sprint("i", i), map[string]any{"n": i}))
		if err != nil {
			t.Fatal(err)
		}
		got := -1.0
		if v.Risk.ModelScore != nil {
			got = *v.Risk.ModelScore
		}
		if v.Verdict != tt.verdict || got != tt.model || tt.model > v.Risk.Score {
			t.Errorf("%s: %+v", tt.answer, v)
		}
	}
}

// TestA2GOwnKey: an agent in Go registers with an Ed25519 key of its own, which signs everything
// from the first message on, over HTTP and by a WebSocket; another key is nobody there.
func TestA2GOwnKey(t *testing.T) {
	r := start(t, map[string]string{})
	for _, scheme := range []string{"http", "ws"} {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := func(key ed25519.PrivateKey) *a2g.Client {
			c := &a2g.Client{URL: scheme + strings.TrimPrefix(r.url, "http") + "/a2g", AgentDID: "did:example:" + scheme, Key: r.keys[identity.Agent], Signing: a2g.Key{Private: key}, Retries: -1}
			t.Cleanup(c.Close)
			return c
		}
		c := client(private)
		answer, err := c.Register(t.Context(), &a2g.Register{PublicKey: a2g.FormatPublicKey(public), CapabilitiesRequested: []string{"read"}})
		if err != nil || answer.Signatures != "required" {
			t.Fatalf("%s: %v %v", scheme, answer, err)
		}
		in := &a2g.Intent{Tool: "read", Arguments: a2g.Arguments(map[string]any{"path": "/a"})}
		v, err := c.Ask(t.Context(), in)
		if err != nil || v.Verdict != a2g.Approved {
			t.Fatalf("%s: %v %v", scheme, v, err)
		}
		if _, err := c.Report(t.Context(), &a2g.Report{IntentID: in.IntentID, Status: a2g.Success}); err != nil {
			t.Error(err)
		}
		_, other, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err = client(other).Ask(t.Context(), &a2g.Intent{Tool: "read", Arguments: a2g.Arguments(map[string]any{"path": "/a"})})
		if err == nil && v.Verdict != a2g.Denied {
			t.Errorf("%s: another key gets %v", scheme, v.Verdict)
		}
		v, err = client(private).Ask(t.Context(), &a2g.Intent{Tool: "read", Arguments: a2g.Arguments(map[string]any{"path": "/b"})})
		if err != nil || v.Verdict != a2g.Approved {
			t.Errorf("%s: connected anew: %v %v", scheme, v, err)
		}
	}
}
