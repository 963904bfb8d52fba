package a2g

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"

	"github.com/google/go-cmp/cmp"
)

// governing is a small governing side: it decides as told, and keeps what came.
type governing struct {
	decide func(in *Intent) ruling
	beat   Beat

	mu       sync.Mutex
	reports  []*Report
	register []*Register
	asked    []string // ids of intents
	nonces   []string
	headers  []http.Header
	conns    []*jsonrpc.Conn
	keys     Keys
	drop     atomic.Int64 // connections to drop when the next intent comes
}

func (g *governing) handle(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys.Secret != "" || g.keys.Public != nil {
		nonce, _, err := Verify(r.Params, g.keys, time.Now())
		if err != nil {
			return nil, failure(PolicyViolation, err.Error(), r.Params)
		}
		g.nonces = append(g.nonces, nonce)
	}
	switch r.Method {
	case MethodIntent:
		_, in, err := decodeIntent(r)
		if err != nil {
			return nil, err
		}
		g.asked = append(g.asked, in.IntentID)
		if g.drop.Add(-1) >= 0 {
			jsonrpc.ConnFrom(ctx).Close("dropped")
			time.Sleep(50 * time.Millisecond)
			return nil, internalError(r.Params)
		}
		v := g.decide(in)
		v.intentID = in.IntentID
		return v.answer()
	case MethodReport:
		_, report, err := decodeReport(r)
		if err != nil {
			return nil, err
		}
		g.reports = append(g.reports, report)
		if report.Status == Timeout {
			return nil, failure(ExecutionError, "No verdict covers this.", r.Params)
		}
		return write(&Recorded{IntentID: report.IntentID, Status: "recorded"}), nil
	case MethodRegister:
		_, register, err := decodeRegister(r)
		if err != nil {
			return nil, err
		}
		g.register = append(g.register, register)
		return write(&Registered{AgentDID: register.AgentDID, Status: "registered", Policy: &Policy{Version: "1"}}), nil
	case MethodHeartbeat:
		if _, err := decodeHeartbeat(r); err != nil {
			return nil, err
		}
		return write(&g.beat), nil
	}
	return nil, unknownMethod()
}

// serve serves it over HTTP and WebSocket and returns the two addresses.
func (g *governing) serve(t testing.TB) (httpURL, wsURL string) {
	h := &jsonrpc.Handler{Own: &jsonrpc.Namespace{
		Match:  func(method string) bool { return strings.HasPrefix(method, "a2g/") },
		Handle: g.handle, Words: words,
	}}
	ctx, stop := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.headers = append(g.headers, r.Header)
		g.mu.Unlock()
		if jsonrpc.IsWebSocket(r) {
			h.ServeWebSocket(ctx, w, r, func(c *jsonrpc.Conn) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.conns = append(g.conns, c)
			})
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { stop(); server.Close() })
	return server.URL, "ws" + strings.TrimPrefix(server.URL, "http")
}

func (g *governing) conn(t testing.TB, i int) *jsonrpc.Conn {
	t.Helper()
	for range 500 {
		g.mu.Lock()
		n := len(g.conns)
		g.mu.Unlock()
		if n > i {
			return g.conns[i]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody connects")
	return nil
}

func ruled(effect act.Effect) func(*Intent) ruling {
	return func(in *Intent) ruling {
		return ruling{decision: &act.Decision{Effect: effect, Risk: act.Risk{Score: 0.95}, Reasons: []act.Reason{{Rule: "r", Code: "c", Message: "No.", Instead: "Ask.", Effect: effect}}}, expires: time.Now().Add(time.Minute), blockedBy: ByRisk}
	}
}

// both runs a test over HTTP and over a WebSocket.
func both(t *testing.T, g *governing, test func(t *testing.T, c *Client)) {
	httpURL, wsURL := g.serve(t)
	for name, url := range map[string]string{"HTTP": httpURL, "WebSocket": wsURL} {
		t.Run(name, func(t *testing.T) {
			c := &Client{URL: url, AgentDID: "did:aeon:desk", Key: "k"}
			defer c.Close()
			test(t, c)
		})
	}
}

func TestClient(t *testing.T) {
	g := &governing{decide: ruled(act.Allow)}
	ctx := t.Context()
	both(t, g, func(t *testing.T, c *Client) {
		g.decide = ruled(act.Allow)
		in := &Intent{Tool: "write_file", Arguments: Arguments(map[string]any{"b": 1, "a": "x"}), Context: &IntentContext{Reasoning: "why"}}
		v, err := c.Ask(ctx, in)
		if err != nil || !v.Allows(time.Now()) || v.Verdict != Approved || len(in.IntentID) != 36 || in.AgentDID != "did:aeon:desk" {
			t.Fatalf("%+v %v", v, err)
		}
		g.decide = ruled(act.Deny)
		v, err = c.Ask(ctx, in)
		want := &Verdict{Verdict: Denied, IntentID: in.IntentID, Risk: RiskAssessment{Score: 0.95, Level: Critical, Threats: []string{}}, BlockedBy: ByRisk, Decision: "0-0",
			Reasons: []Reason{{Rule: "r", Code: "c", Message: "No.", Instead: "Ask."}}, Instead: []string{"Ask."}, Message: "Policy violation: No."}
		if diff := cmp.Diff(want, v); diff != "" || err != nil || v.Allows(time.Now()) {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		g.decide = ruled(act.Escalate)
		if v, err = c.Ask(ctx, in); err != nil || v.Verdict != Escalate || v.Allows(time.Now()) {
			t.Errorf("%+v %v", v, err)
		}
		if _, err = c.Ask(ctx, &Intent{}); err == nil || !strings.Contains(err.Error(), "/params/tool") {
			t.Errorf("%v", err)
		}
		if r, err := c.Report(ctx, &Report{IntentID: in.IntentID, Status: Success, Result: Raw(`{"n":1}`), Metrics: &Metrics{DurationMS: 1}}); err != nil || r.Status != "recorded" {
			t.Errorf("%+v %v", r, err)
		}
		_, err = c.Report(ctx, &Report{IntentID: in.IntentID, Status: Timeout})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != ExecutionError || e.Data.IntentID != in.IntentID {
			t.Errorf("%v", err)
		}
		if r, err := c.Register(ctx, &Register{Metadata: map[string]any{"name": "Desk"}}); err != nil || r.Status != "registered" || r.Policy.Version != "1" {
			t.Errorf("%+v %v", r, err)
		}
		g.beat = Beat{Status: "active", PolicyVersion: "2"}
		if b, err := c.Heartbeat(ctx, "idle"); err != nil || b.PolicyVersion != "2" {
			t.Errorf("%+v %v", b, err)
		}
		if got := g.headers[len(g.headers)-1].Get("Authorization"); got != "Bearer k" {
			t.Errorf("the credential is %q", got)
		}
		c.Close()
		if _, err := c.Ask(ctx, in); !errors.Is(err, ErrClientClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestClientSigns(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	for name, tt := range map[string]struct {
		key  Key
		keys Keys
	}{
		"HMAC":    {Key{Secret: testSecret}, Keys{Secret: testSecret}},
		"Ed25519": {Key{Private: private}, Keys{Public: public}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &governing{decide: ruled(act.Allow), keys: tt.keys}
			both(t, g, func(t *testing.T, c *Client) {
				c.Signing = tt.key
				in := &Intent{Tool: "t", Arguments: Arguments(map[string]any{"ü": "<é>\u2028", "f": 1.0}), Context: &IntentContext{SessionID: "s"}}
				for range 2 {
					if _, err := c.Ask(t.Context(), in); err != nil {
						t.Error(err)
					}
				}
				if _, err := c.Heartbeat(t.Context(), ""); err != nil {
					t.Error(err)
				}
				if c.holdsConnection() {
					h, err := ReadHandshake(g.headers[len(g.headers)-1])
					if err != nil || h == nil {
						t.Fatalf("%v %v", h, err)
					}
					if _, _, err := h.Verify(tt.keys, time.Now()); err != nil {
						t.Error(err)
					}
				}
			})
			slices.Sort(g.nonces)
			if once := slices.Compact(slices.Clone(g.nonces)); len(once) != 2*3 || len(once) != len(g.nonces) {
				t.Errorf("the nonces were %v", g.nonces)
			}
		})
	}
}

func TestSignParams(t *testing.T) {
	for _, params := range []string{`{}`, `{"a":1}`, `{"context":{}}`, `{"context":{"reasoning":"r"},"a":{}}`, `{"context":{"signature":{"hash":"old"}}}`} {
		got, err := signParams([]byte(params), Key{Secret: testSecret}, "n-1", testNow)
		if params == `{}` {
			continue // no message is empty
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Verify(parse(t, string(got)), Keys{Secret: testSecret}, testNow); err != nil {
			t.Errorf("%s: %v: %s", params, err, got)
		}
	}
	if _, err := signParams([]byte(`{"context":1}`), Key{Secret: testSecret}, "n", testNow); err == nil {
		t.Error("a context that is none is signed")
	}
}

// TestPushes: messages of the governing side reach the callbacks, over a
// WebSocket as they are sent, and over HTTP with a heartbeat.
func TestPushes(t *testing.T) {
	held := ruling{intentID: "i-1", decision: &act.Decision{Effect: act.Allow}, expires: testNow}
	directive, _ := held.directive("did:aeon:desk")
	messages := []Raw{
		notification(MethodPolicy, write(&Policy{AgentDID: "did:aeon:desk", Version: "7"})),
		notification("g2a/unknown", []byte(`{}`)),
		notification(MethodDirective, directive),
		notification(MethodPolicy, []byte(`"no policy"`)),
		notification(MethodRevoke, (&Revoke{AgentDID: "did:aeon:desk", IntentIDs: []string{"i-1"}, Reason: "Over.", At: testNow}).params()),
	}
	g := &governing{decide: ruled(act.Allow), beat: Beat{Pending: messages}}
	both(t, g, func(t *testing.T, c *Client) {
		got := make(chan string, 10)
		c.OnPolicy = func(p *Policy) { got <- "policy " + p.Version }
		c.OnDirective = func(d *Directive) {
			if _, err := c.Ask(context.Background(), &Intent{Tool: "t", Arguments: Raw(`{}`)}); err != nil { // a callback may ask
				t.Error(err)
			}
			got <- "directive " + d.AgentDID + " " + d.IntentID + " " + d.Verdict.Verdict
		}
		c.OnRevoke = func(r *Revoke) { got <- "revoke " + strings.Join(r.IntentIDs, ",") + " " + r.Reason }
		if c.holdsConnection() {
			if err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, m := range messages {
				g.conn(t, 0).Send(m)
			}
		} else if _, err := c.Heartbeat(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"policy 7", "directive did:aeon:desk i-1 APPROVED", "revoke i-1 Over."} {
			select {
			case s := <-got:
				if s != want {
					t.Errorf("%s, want %s", s, want)
				}
			case <-time.After(5 * time.Second):
				t.Fatalf("%s did not come", want)
			}
		}
	})
}

// TestReconnect drops connections: what was asked is asked again with the same
// intent_id, the agent is registered again, and messages come again.
func TestReconnect(t *testing.T) {
	g := &governing{decide: ruled(act.Allow)}
	_, url := g.serve(t)
	policies := make(chan string, 10)
	c := &Client{URL: url, AgentDID: "did:aeon:desk", OnPolicy: func(p *Policy) { policies <- p.Version }}
	defer c.Close()
	if _, err := c.Register(t.Context(), &Register{}); err != nil {
		t.Fatal(err)
	}
	g.drop.Store(1)
	in := &Intent{Tool: "t", Arguments: Raw(`{}`)}
	v, err := c.Ask(t.Context(), in)
	// The first connection may have answered with an error before it ended.
	if e, ok := errors.AsType[*Error](err); ok && e.Code == -32603 {
		v, err = c.Ask(t.Context(), in)
	}
	if err != nil || v.Verdict != Approved {
		t.Fatalf("%v %v", v, err)
	}
	g.conn(t, 1).Close("again") // while nobody asks
	g.conn(t, 2).Send(notification(MethodPolicy, write(&Policy{Version: "9"})))
	select {
	case got := <-policies:
		if got != "9" {
			t.Errorf("the policy %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no message came by the new connection")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.register) < 2 || len(g.asked) < 2 || g.asked[0] != in.IntentID || g.asked[1] != in.IntentID {
		t.Errorf("%d registrations, and %v was asked", len(g.register), g.asked)
	}
}

// TestClientFailsClosed answers what no governing side should: it allows nothing.
func TestClientFailsClosed(t *testing.T) {
	const good = `"risk_assessment":{"score":0,"level":"LOW"},"expires_at":"2999-01-01T00:00:00Z"`
	for name, answer := range map[string]string{
		"nothing":           ``,
		"no JSON":           `{`,
		"another version":   `{"jsonrpc":"1.0","id":"1","result":{}}`,
		"neither":           `{"jsonrpc":"2.0","id":"1"}`,
		"both":              `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED","intent_id":"i",` + good + `},"error":{"code":-32000,"message":"no"}}`,
		"another id":        `{"jsonrpc":"2.0","id":"2","result":{"verdict":"APPROVED","intent_id":"i",` + good + `}}`,
		"another intent":    `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED","intent_id":"j",` + good + `}}`,
		"no intent":         `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED",` + good + `}}`,
		"another verdict":   `{"jsonrpc":"2.0","id":"1","result":{"verdict":"approved","intent_id":"i",` + good + `}}`,
		"no expiry":         `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED","intent_id":"i"}}`,
		"other arguments":   `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED","intent_id":"i","modified_arguments":{},` + good + `}}`,
		"arguments of null": `{"jsonrpc":"2.0","id":"1","result":{"verdict":"CONDITIONAL","intent_id":"i","modified_arguments":[],` + good + `}}`,
		"an odd error":      `{"jsonrpc":"2.0","id":"1","error":7}`,
		"another's denial":  `{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"no","data":{"intent_id":"j"}}}`,
		"expired":           `{"jsonrpc":"2.0","id":"1","result":{"verdict":"APPROVED","intent_id":"i","risk_assessment":{"score":0,"level":"LOW"},"expires_at":"2020-01-01T00:00:00Z"}}`,
		"denied, bare":      `{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"no"}}`,
		"denied as result":  `{"jsonrpc":"2.0","id":"1","result":{"verdict":"DENIED","intent_id":"i"}}`,
		"a notification":    `{"jsonrpc":"2.0","method":"g2a/directive","params":{"verdict":"APPROVED","intent_id":"i"}}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answer) }))
		c := &Client{URL: server.URL, AgentDID: "a", Retries: -1}
		v, err := c.Ask(t.Context(), &Intent{IntentID: "i", Tool: "t", Arguments: Raw(`{}`)})
		if err == nil && v.Allows(time.Now()) {
			t.Errorf("%s allows it: %+v", name, v)
		}
		server.Close()
	}
}

func TestClientRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		jsonrpc.WriteError(w, 401, &jsonrpc.Error{Code: -32000, Message: "Unauthorized", Data: jsonrpc.Reason("Send a key.")})
	}))
	defer server.Close()
	for _, url := range []string{server.URL, "ws" + strings.TrimPrefix(server.URL, "http")} {
		c := &Client{URL: url, AgentDID: "a"}
		_, err := c.Ask(t.Context(), &Intent{Tool: "t", Arguments: Raw(`{}`)})
		if e, ok := errors.AsType[*Error](err); !ok || e.Data.Reason != "Send a key." {
			t.Errorf("%s: %v", url, err)
		}
		c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	c := &Client{URL: "ws://127.0.0.1:1/", AgentDID: "a"}
	defer c.Close()
	if _, err := c.Ask(ctx, &Intent{Tool: "t", Arguments: Raw(`{}`)}); err == nil {
		t.Error("nobody is there, and there is an answer")
	}
}

// TestArguments: what cannot be an intent's arguments is none.
func TestArguments(t *testing.T) {
	for _, v := range []any{nil, 1, "x", []string{}, func() {}} {
		if got := Arguments(v); got != nil {
			t.Errorf("%v became %s", v, got)
		}
	}
	if got := string(Arguments(map[string]any{"b": "<&>", "a": nil})); got != `{"a":null,"b":"<&>"}` {
		t.Error(got)
	}
}

func ExampleClient() {
	g := &governing{decide: ruled(act.Allow)} // stands for a node
	server := httptest.NewServer(&jsonrpc.Handler{Own: &jsonrpc.Namespace{Match: func(string) bool { return true }, Handle: g.handle}})
	defer server.Close()
	ctx := context.Background()

	governance := &Client{URL: server.URL, AgentDID: "did:aeon:desk"}
	defer governance.Close()
	intent := &Intent{Tool: "write_file", Arguments: Arguments(map[string]any{"path": "/tmp/test.txt", "content": "Hello"})}
	verdict, err := governance.Ask(ctx, intent)
	if err != nil || !verdict.Allows(time.Now()) {
		fmt.Println("It must not happen.")
		return
	}
	arguments := intent.Arguments
	if verdict.ModifiedArguments != nil {
		arguments = verdict.ModifiedArguments
	}
	fmt.Println("Write the file:", string(arguments))
	_, err = governance.Report(ctx, &Report{IntentID: intent.IntentID, Status: Success, Metrics: &Metrics{DurationMS: 45}})
	fmt.Println("Reported:", err == nil)
	// Output:
	// Write the file: {"content":"Hello","path":"/tmp/test.txt"}
	// Reported: true
}
