package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// whoami answers each call with its caller.
func whoami() *jsonrpc.Handler {
	return &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{{
		Match: func(m string) bool { return m == "whoami" },
		Handle: func(ctx context.Context, _ *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			p, role := identity.FromContext(ctx)
			return fmt.Appendf(nil, "%q", p.Name+" "+string(role)), nil
		},
	}}}
}

const whoCall = `{"jsonrpc":"2.0","id":1,"method":"whoami"}`

func answered(who string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":%q}`, who) }

func rpcError(code int, message, reason string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q,"data":{"reason":%q}}}`, code, message, reason)
}

// unauthorized is the answer to whoCall of a caller that is not known.
func unauthorized(reason string) string {
	return strings.Replace(rpcError(-32000, "Unauthorized", reason), "null", "1", 1)
}

func newAuth(t testing.TB, anonymous bool, keys ...identity.Key) *identity.Authenticator {
	t.Helper()
	when := identity.Never
	if anonymous {
		when = identity.UntilFirstKey
	}
	auth, err := identity.New(identity.Config{Anonymous: when})
	if err != nil {
		t.Fatal(err)
	}
	auth.SetKeys(keys)
	return auth
}

func newKey(t testing.TB, name string, role identity.Role) (identity.Key, string) {
	t.Helper()
	key, secret, err := identity.NewKey(name, role, "", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key, "Bearer " + secret
}

// local is a server on loopback without credentials, save what change says.
func local(t testing.TB, change func(*Config)) *Server {
	t.Helper()
	cfg := Config{
		Listen: "127.0.0.1:0", Auth: newAuth(t, true), RPC: map[string]*jsonrpc.Handler{"/": whoami()},
		Version: "1.2.3", Logger: quiet,
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request to the handler; header is name, value, name, value, …
func ask(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:8080"
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Add(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestCredentials(t *testing.T) {
	agentKey, agent := newKey(t, "bot", identity.Agent)
	auditorKey, auditor := newKey(t, "eve", identity.Auditor)
	adminKey, admin := newKey(t, "root", identity.Admin)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, role := identity.FromContext(r.Context())
		fmt.Fprintf(w, "%s %s", p.Name, role)
	})
	routes := []Route{
		{Pattern: "/admin/", Handler: echo, Roles: []identity.Role{identity.Admin}},
		{Pattern: "GET /contents/", Handler: echo, Roles: []identity.Role{identity.Auditor, identity.Admin}},
		{Pattern: "GET /ledger/", Handler: echo},
	}
	open := local(t, func(c *Config) { c.Routes = routes })
	closed := local(t, func(c *Config) {
		c.Routes = routes
		c.Auth = newAuth(t, true, agentKey, auditorKey, adminKey)
	})
	const required = "A credential is required: send an API key or a token as Authorization: Bearer."
	const wrong = "Bearer reeve_bot_0000000000000000000000000000000000000000000"
	tests := []struct {
		name         string
		server       *Server
		method, path string
		credential   string
		status       int
		body         string
	}{
		{"anonymous agent", open, "POST", "/", "", 200, answered("anonymous agent")},
		{"credential where none is configured", open, "POST", "/", agent, 401, unauthorized("The API key is not valid.")},
		{"agent", closed, "POST", "/", agent, 200, answered("key:bot agent")},
		{"admin asks as an agent does", closed, "POST", "/", admin, 200, answered("key:root admin")},
		{"none", closed, "POST", "/", "", 401, unauthorized(required)},
		{"wrong", closed, "POST", "/", wrong, 401, unauthorized("The API key is not valid.")},
		{"wrong verb comes first", closed, "PUT", "/", "", 405, rpcError(-32600, "Invalid Request", "Send JSON-RPC requests with POST.")},

		{"admin", closed, "POST", "/admin/keys", admin, 200, "key:root admin"},
		{"agent is no admin", closed, "POST", "/admin/keys", agent, 403, `{"error":"Your role is agent, which may not do this."}`},
		{"nobody is no admin", closed, "POST", "/admin/keys", "", 401, `{"error":"` + required + `"}`},
		{"anonymous is no admin", open, "POST", "/admin/keys", "", 401, `{"error":"A credential is required here."}`},
		{"auditor reads", closed, "GET", "/contents/1", auditor, 200, "key:eve auditor"},
		{"agent does not read", closed, "GET", "/contents/1", agent, 403, `{"error":"Your role is agent, which may not do this."}`},
		{"proofs are open", closed, "GET", "/ledger/0/checkpoint", "", 200, "anonymous "},
		{"proofs with a credential", closed, "GET", "/ledger/0/checkpoint", agent, 200, "key:bot agent"},
		{"proofs with a wrong credential", closed, "GET", "/ledger/0/checkpoint", wrong, 401, `{"error":"The API key is not valid."}`},
		{"metrics with an agent's key", closed, "GET", "/metrics", agent, 403, `{"error":"Your role is agent, which may not do this."}`},
		{"metrics without a key", closed, "GET", "/metrics", "", 401, `{"error":"` + required + `"}`},
		{"nowhere", closed, "GET", "/nowhere", "", 404, `{"error":"There is nothing at this path. Agents ask with POST /.","paths":["/"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var header []string
			if tt.credential != "" {
				header = []string{"Authorization", tt.credential}
			}
			w := ask(tt.server, tt.method, tt.path, whoCall, header...)
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, tt.status, tt.body)
			}
			if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate is %q", w.Header().Get("WWW-Authenticate"))
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
	var logged strings.Builder
	ask(local(t, func(c *Config) {
		c.Auth, c.Logger = newAuth(t, true, agentKey), slog.New(slog.NewTextHandler(&logged, nil))
	}), "POST", "/", whoCall, "Authorization", "Bearer nonsense")
	if said := logged.String(); !strings.Contains(said, "a credential was refused") || strings.Contains(said, "nil") {
		t.Errorf("the log says %q", said)
	}
	if w := ask(closed, "GET", "/metrics", "", "Authorization", auditor); w.Code != 200 {
		t.Errorf("metrics for an auditor: %d", w.Code)
	}
	if w := ask(open, "GET", "/metrics", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `reeve_refused_total{reason="credential"}`) {
		t.Errorf("metrics on loopback: %d %.300s", w.Code, w.Body)
	}
}

// TestThreat21Hosts is DNS rebinding and forged requests from pages of other sites (T21).
func TestThreat21Hosts(t *testing.T) {
	key, credential := newKey(t, "bot", identity.Agent)
	loopback := local(t, func(c *Config) { c.Hosts = []string{"Reeve.example:443"} })
	beyond := local(t, func(c *Config) {
		c.Listen, c.Auth = "0.0.0.0:8080", newAuth(t, false, key)
	})
	named := local(t, func(c *Config) {
		c.Listen, c.Auth, c.Hosts = "0.0.0.0:8080", newAuth(t, false, key), []string{"reeve.example"}
	})
	insecure := local(t, func(c *Config) { c.Listen, c.AllowAnonymous = ":8080", true })
	const foreign = "The request comes from a page of another site, and is not answered."
	tests := []struct {
		server *Server
		ok     bool
		header []string
	}{
		{loopback, true, []string{"Host", "localhost:8080"}},
		{loopback, true, []string{"Host", "localhost"}},
		{loopback, true, []string{"Host", "LOCALHOST.:8080"}},
		{loopback, true, []string{"Host", "127.0.0.1:8080"}},
		{loopback, true, []string{"Host", "[::1]:8080"}},
		{loopback, true, []string{"Host", "[::1]"}},
		{loopback, true, []string{"Host", "reeve.example"}},
		{loopback, false, []string{"Host", "evil.example:8080"}},
		{loopback, false, []string{"Host", "localhost.evil.example"}},
		{loopback, false, []string{"Host", "127.0.0.1.evil.example"}},
		{loopback, false, []string{"Host", "127.0.0.1:8080.evil.example"}},
		{loopback, false, []string{"Host", "192.168.1.2:8080"}},
		{loopback, false, []string{"Host", ""}},
		{loopback, true, []string{"Host", "localhost:8080", "Origin", "http://localhost:8080"}},
		{loopback, true, []string{"Host", "localhost:8080", "Origin", "http://LocalHost:8080"}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", "http://localhost:3000"}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", "http://evil.example"}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", "null"}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", ""}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", "http://localhost:8080.evil.example"}},
		{loopback, false, []string{"Host", "localhost:8080", "Origin", "http://localhost:8080", "Origin", "http://evil.example"}},
		{loopback, false, []string{"Host", "evil.example", "Origin", "http://evil.example"}},
		{loopback, false, []string{"Host", "localhost:8080", "Sec-Fetch-Site", "cross-site"}},
		{loopback, false, []string{"Host", "localhost:8080", "Sec-Fetch-Site", "same-site"}},
		{loopback, true, []string{"Host", "localhost:8080", "Sec-Fetch-Site", "same-origin"}},
		{beyond, true, []string{"Host", "anything.internal", "Authorization", credential}},
		{beyond, false, []string{"Host", "anything.internal", "Origin", "http://evil.example", "Authorization", credential}},
		{named, true, []string{"Host", "reeve.example", "Authorization", credential}},
		{named, true, []string{"Host", "10.0.0.7:8080", "Authorization", credential}},
		{named, false, []string{"Host", "anything.internal", "Authorization", credential}},
		{insecure, true, []string{"Host", "10.0.0.7:8080"}},
		{insecure, false, []string{"Host", "evil.example"}},
	}
	for _, tt := range tests {
		w := ask(tt.server, "POST", "/", whoCall, tt.header...)
		if ok := w.Code == 200; ok != tt.ok || !ok && w.Code != 403 {
			t.Errorf("listening on %s, %q: %d %s", tt.server.cfg.Listen, tt.header, w.Code, w.Body)
		}
	}
	// A stream of events and a WebSocket are opened for no other site either.
	streams := local(t, func(c *Config) {
		c.Connect = func(context.Context, http.Header) (func(*jsonrpc.Conn), error) { return nil, nil }
		c.Routes = []Route{{Pattern: "GET /events", Roles: identity.Roles, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			jsonrpc.ServeEvents(r.Context(), w, func(context.Context, func(jsonrpc.Event) error) error { return nil })
		})}}
	})
	for _, header := range [][]string{
		{"Host", "evil.example"}, {"Host", "localhost.evil.example:8080"}, {"Host", "127.0.0.1.nip.example"},
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:3000"}, {"Origin", "https://localhost:8080.evil.example"},
		{"Host", "evil.example", "Origin", "http://evil.example"},
	} {
		if w := ask(streams, "GET", "/events", "", header...); w.Code != 403 {
			t.Errorf("events with %q: %d", header, w.Code)
		}
		socket := append([]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, header...)
		if w := ask(streams, "GET", "/", "", socket...); w.Code != 403 {
			t.Errorf("a WebSocket with %q: %d", header, w.Code)
		}
	}
	if w := ask(streams, "GET", "/events", ""); w.Code != 200 {
		t.Errorf("events for one of this machine: %d", w.Code)
	}
	w := ask(loopback, "POST", "/", whoCall, "Origin", "http://evil.example")
	if want := rpcError(-32600, "Invalid Request", foreign); w.Body.String() != want {
		t.Errorf("the refusal is %s, want %s", w.Body, want)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/"} {
		if w := ask(loopback, "GET", path, "", "Host", "evil.example", "Accept", "text/html"); w.Code != 403 {
			t.Errorf("%s under a foreign name: %d", path, w.Code)
		}
	}
	// A link from another site may open a page, as a link does.
	if w := ask(loopback, "GET", "/healthz", "", "Sec-Fetch-Site", "cross-site", "Accept", "text/html"); w.Code != 200 {
		t.Errorf("a page by a link: %d", w.Code)
	}
}

func TestCheckListen(t *testing.T) {
	for _, tt := range []struct {
		listen                string
		configured, anonymous bool
		ok                    bool
	}{
		{"127.0.0.1:8080", false, false, true},
		{"localhost:8080", false, false, true},
		{"[::1]:8080", false, false, true},
		{"127.8.9.1:8080", false, false, true},
		{":8080", false, false, false},
		{"0.0.0.0:8080", false, false, false},
		{"[::]:8080", false, false, false},
		{"192.168.1.2:8080", false, false, false},
		{"localhost.evil.example:8080", false, false, false},
		{"nonsense", false, false, false},
		{":8080", true, false, true},
		{":8080", false, true, true},
	} {
		err := CheckListen(tt.listen, tt.configured, tt.anonymous)
		if (err == nil) != tt.ok {
			t.Errorf("CheckListen(%q, %v, %v) = %v", tt.listen, tt.configured, tt.anonymous, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "--insecure-anonymous") || !strings.Contains(err.Error(), "reeve keys create")) {
			t.Errorf("the error does not help: %v", err)
		}
	}
	if _, err := New(Config{Listen: ":0", Auth: newAuth(t, true)}); err == nil {
		t.Error("New listens to everybody without credentials")
	}
}

// TestHome is where a browser goes that asks for /.
func TestHome(t *testing.T) {
	s := local(t, func(c *Config) { c.Home = "/people/" })
	for _, accept := range []string{"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "text/html;q=0.1", "TEXT/HTML", "*/*;q=0, text/html"} {
		if w := ask(s, "GET", "/", "", "Accept", accept); w.Code != 303 || w.Header().Get("Location") != "/people/" {
			t.Errorf("Accept %q: %d, to %q", accept, w.Code, w.Header().Get("Location"))
		}
	}
	// Only a browser's GET is sent there.
	for _, tt := range []struct{ method, accept string }{
		{"GET", ""}, {"GET", "*/*"}, {"GET", "application/json"}, {"GET", "text/htmlx"}, {"HEAD", "text/html"}, {"DELETE", "text/html"}, {"OPTIONS", "text/html"},
		{"GET", "text/html;q=0"}, {"GET", "application/json, text/html; charset=utf-8; Q=0.000"}, {"GET", "text/html;q=none"},
	} {
		if w := ask(s, tt.method, "/", "", "Accept", tt.accept); w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s with Accept %q: %d", tt.method, tt.accept, w.Code)
		}
	}
}

// TestNowhere is paths and verbs that there are not: each answer helps.
func TestNowhere(t *testing.T) {
	s := local(t, func(c *Config) {
		c.RPC = map[string]*jsonrpc.Handler{"/": whoami(), "/aos": whoami()}
		c.Routes = []Route{{Pattern: "GET /ledger/{log}/", Handler: http.NotFoundHandler()}}
	})
	const nothing = `{"error":"There is nothing at this path. Agents ask with POST / or /aos.","paths":["/","/aos"]}`
	for _, tt := range []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"POST", "/aos/", 404, "", nothing},
		{"GET", "/aos/", 404, "", nothing},
		{"GET", "/favicon.ico", 404, "", nothing},
		{"POST", "/v1/guard?x=1", 404, "", nothing},
		{"GET", "/ledger", 404, "", nothing},
		{"POST", "/healthz", 405, "GET, HEAD", `{"error":"This path takes GET, HEAD only."}`},
		{"DELETE", "/ledger/0/", 405, "GET, HEAD", `{"error":"This path takes GET, HEAD only."}`},
		{"GET", "/ledger/0/x", 404, "", "404 page not found\n"}, // the route's own answer
	} {
		w := ask(s, tt.method, tt.path, whoCall)
		if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d %s, Allow %q", tt.method, tt.path, w.Code, w.Body, w.Header().Get("Allow"))
		}
	}
}

func TestHealth(t *testing.T) {
	var broken atomic.Bool
	var runs atomic.Int64
	checks := []Check{
		{Name: "store", Run: func(ctx context.Context) error {
			runs.Add(1)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the check has no deadline")
			}
			if broken.Load() {
				return errors.New("disk full on /secret/place")
			}
			return nil
		}},
		{Name: "ledger", Run: func(context.Context) error { return nil }},
	}
	key, _ := newKey(t, "k", identity.Agent)
	s := local(t, func(c *Config) { c.Checks = checks })
	stranger := local(t, func(c *Config) { c.Checks, c.Listen, c.Auth = checks, ":1", newAuth(t, false, key) })

	w := ask(s, "GET", "/healthz", "")
	if want := `{"status":"ok","version":"1.2.3","uptime_seconds":0}`; w.Code != 200 || w.Body.String() != want {
		t.Errorf("/healthz: %d %s, want %s", w.Code, w.Body, want)
	}
	if w := ask(s, "GET", "/health", ""); w.Code != 200 {
		t.Errorf("/health: %d", w.Code)
	}
	if w := ask(s, "POST", "/healthz", ""); w.Code != 405 {
		t.Errorf("POST /healthz: %d", w.Code)
	}
	ready := `{"status":"ready","checks":{"ledger":"ok","store":"ok"}}`
	for range 10 {
		if w := ask(s, "GET", "/readyz", ""); w.Code != 200 || w.Body.String() != ready {
			t.Errorf("/readyz: %d %s, want %s", w.Code, w.Body, ready)
		}
	}
	if runs.Load() != 1 {
		t.Errorf("ten looks ran the check %d times", runs.Load())
	}
	broken.Store(true)
	s.ready.last = time.Time{}
	if w, want := ask(s, "GET", "/readyz", ""), `{"status":"not ready","checks":{"ledger":"ok","store":"disk full on /secret/place"}}`; w.Code != 503 || w.Body.String() != want {
		t.Errorf("/readyz: %d %s, want %s", w.Code, w.Body, want)
	}
	if w, want := ask(stranger, "GET", "/readyz", ""), `{"status":"not ready","checks":{"ledger":"ok","store":"failed"}}`; w.Code != 503 || w.Body.String() != want {
		t.Errorf("/readyz for strangers: %d %s, want %s", w.Code, w.Body, want)
	}
	broken.Store(false)
	s.ready.last = time.Time{}
	if w := ask(s, "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("/readyz again: %d %s", w.Code, w.Body)
	}
}

func TestMetrics(t *testing.T) {
	m := NewMetrics("1.2.3")
	m.Decision(&act.Action{Door: "aos", Kind: act.ToolCall}, &act.Decision{Effect: act.Allow}, 3*time.Millisecond)
	m.Decision(&act.Action{Door: "aos", Kind: act.ToolCall}, &act.Decision{}, time.Millisecond)
	m.Decision(&act.Action{Door: "aos", Kind: act.ToolCall}, &act.Decision{Reasons: []act.Reason{
		{Rule: "no-transfers", Code: "bank", Effect: act.Deny}, {Rule: "new", Code: "new", Effect: act.Deny, Observe: true},
	}}, time.Millisecond)
	for i := range maxRules { // a policy's names are not bounded, and what is counted is
		m.Decision(&act.Action{}, &act.Decision{Reasons: []act.Reason{{Rule: strconv.Itoa(i), Effect: act.Deny}}}, time.Millisecond)
	}
	m.Checkpoint(0, 10, nil)
	m.Checkpoint(0, 14, nil)
	m.PolicyReload(true)
	m.PolicyReload(false)
	m.Published("file", true)
	m.Published("url", false)
	m.Gauge("reeve_sessions", "Sessions in memory.", func() float64 { return 7 })
	s := local(t, func(c *Config) { c.Metrics = m })
	ask(s, "POST", "/", "{")
	got := ask(s, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`reeve_decisions_total{door="aos",effect="allow",kind="tool.call"} 1`,
		`reeve_decisions_total{door="aos",effect="deny",kind="tool.call"} 2`,
		`reeve_decision_seconds_count 1003`,
		`reeve_rule_decisions_total{code="bank",effect="deny",rule="no-transfers"} 1`,
		`reeve_rule_decisions_total{code="new",effect="observe",rule="new"} 1`,
		`reeve_rule_decisions_total{code="",effect="deny",rule="other"} 2`,
		`reeve_policy_stale 1`,
		`reeve_checkpoint_publish_failing{place="file"} 0`,
		`reeve_checkpoint_publish_failing{place="url"} 1`,
		`reeve_quota_refused_total{quota="held"} 0`,
		`reeve_ready 1`,
		`reeve_ledger_batch_records_sum 4`,
		`reeve_ledger_records{log="0"} 14`,
		`reeve_policy_reloads_total{result="failed"} 1`,
		`reeve_sessions 7`,
		`reeve_calls_waiting 0`,
		`reeve_http_requests_in_flight 1`,
		`reeve_refused_total{reason="parse"} 1`,
		`reeve_build_info{go="` + runtime.Version() + `",version="1.2.3"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestPanicInRoute(t *testing.T) {
	s := local(t, func(c *Config) {
		c.Routes = []Route{{Pattern: "/boom", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })}}
	})
	if w := ask(s, "GET", "/boom", ""); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(s, "GET", "/metrics", ""); !strings.Contains(w.Body.String(), "reeve_http_requests_in_flight 1\n") {
		t.Error("the request that panicked is still counted as in flight")
	}
}

// run starts a server and returns its URL and what stops it.
func run(t testing.TB, s *Server) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(url string) { ready <- url }) }()
	select {
	case url = <-ready:
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	t.Cleanup(func() { stop() })
	return url, stop
}

func TestRunAndStop(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	rpc := &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{{
		Match: func(string) bool { return true },
		Handle: func(context.Context, *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			close(began)
			<-finish
			return []byte(`"done"`), nil
		},
	}}}
	s := local(t, func(c *Config) { c.RPC = map[string]*jsonrpc.Handler{"/": rpc} })
	url, stop := run(t, s)
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Post(url, "application/json", strings.NewReader(whoCall))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- string(b)
	}()
	<-began
	go func() { time.Sleep(50 * time.Millisecond); close(finish) }()
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got, want := <-answer, answered("done"); got != want {
		t.Errorf("the call that had begun was answered %s, want %s", got, want)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the server still answers")
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := local(t, func(c *Config) { c.Listen = taken.Addr().String() }).Run(context.Background(), nil); err == nil {
		t.Error("Run listens where another does")
	}
}

func TestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "reeve") // short: a socket's path has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "reeve.sock")
	withSocket := func(c *Config) {
		c.Socket = path
		c.Operator = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, role := identity.FromContext(r.Context())
			fmt.Fprintf(w, "%s %s %s", p.Name, p.Method, role)
		})
	}
	_, stop := run(t, local(t, withSocket))
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	get := func() string {
		resp, err := client.Get("http://whatever/admin/status")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	want := identity.LocalUser(uint32(os.Getuid())).Name + " socket admin"
	if runtime.GOOS == "windows" { // which does not say who is at the other end
		want = "socket socket admin"
	}
	if got := get(); got != want {
		t.Errorf("on the socket: %s, want %s", got, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode: %v %v", info, err)
	}
	if err := local(t, withSocket).Run(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "another node") {
		t.Errorf("a second node on the socket: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}

	// What a killed node leaves is no obstacle; what is no socket is not removed.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	_, stop = run(t, local(t, withSocket))
	client.CloseIdleConnections()
	if got := get(); got != want {
		t.Errorf("on the socket of a killed node: %s, want %s", got, want)
	}
	stop()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := local(t, withSocket).Run(context.Background(), nil); err == nil {
		t.Error("a file that is no socket was taken")
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("a file that is no socket was removed")
	}
	path = filepath.Join(dir, strings.Repeat("x", 120))
	if err := local(t, withSocket).Run(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a long path: %v", err)
	}
}

// writeCert writes a self-signed certificate with a serial number.
func writeCert(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		stamp := time.Now().Add(time.Duration(serial) * time.Minute)
		if err := os.Chtimes(name, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCert(t, certFile, keyFile, 1)
	s := local(t, func(c *Config) { c.TLSCert, c.TLSKey = certFile, keyFile })
	url, _ := run(t, s)
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("the URL is %s", url)
	}
	serial := func(call string) (int64, string) {
		s.cert.mu.Lock()
		s.cert.checked = time.Time{} // as if a second had passed
		s.cert.mu.Unlock()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		resp, err := client.Post(url, "application/json", strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); string(b) != answered("anonymous agent") {
			t.Errorf("the answer is %s", b)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), resp.Proto
	}
	if n, proto := serial(whoCall); n != 1 || proto != "HTTP/2.0" {
		t.Errorf("the certificate is %d over %s, want 1 over HTTP/2.0", n, proto)
	}
	serial(whoCall + strings.Repeat(" ", 2<<20)) // more than a connection's window
	writeCert(t, certFile, keyFile, 2)
	if n, _ := serial(whoCall); n != 2 {
		t.Errorf("after a change the certificate is %d, want 2", n)
	}
	if err := os.WriteFile(certFile, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, _ := serial(whoCall); n != 2 {
		t.Errorf("after a faulty change the certificate is %d, want 2", n)
	}
	for _, files := range [][2]string{{certFile, ""}, {"", keyFile}, {certFile, keyFile}, {"nowhere", keyFile}} {
		if _, err := New(Config{Listen: "127.0.0.1:0", Auth: newAuth(t, true), TLSCert: files[0], TLSKey: files[1]}); err == nil {
			t.Errorf("the files %q were taken", files)
		}
	}
}

// TestThreat10HostileBodies is T10 over a real connection: each is refused for what it
// is, within bounded memory, and the node goes on.
func TestThreat10HostileBodies(t *testing.T) {
	s := local(t, nil)
	url, _ := run(t, s)
	keys := func(n int) io.Reader {
		var b bytes.Buffer
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"%x":0,`, i)
		}
		b.WriteString(`"":0}`)
		return &b
	}
	tests := []struct {
		name     string
		body     io.Reader
		encoding string
		status   int
	}{
		{"10 MB", bytes.NewReader(bytes.Repeat([]byte(" "), 10<<20)), "", 413},
		{"30 MB in chunks", io.LimitReader(endless{}, 30<<20), "", 413},
		{"deep", strings.NewReader(strings.Repeat(`{"a":`, 20_000)), "", 200},
		{"a million names", keys(1_000_000), "", 413},
		{"as many names as fit", keys(400_000), "", 200},
		{"as many values as fit", strings.NewReader("[" + strings.Repeat("1,", 2_000_000) + "1]"), "", 200},
		{"gzip", strings.NewReader("\x1f\x8b\x08"), "gzip", 415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest("POST", url, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if tt.encoding != "" {
				r.Header.Set("Content-Encoding", tt.encoding)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			runtime.ReadMemStats(&after)
			if resp.StatusCode != tt.status || !bytes.Contains(body, []byte(`"error":{"code":-32`)) {
				t.Errorf("%d %s, want %d and an error", resp.StatusCode, body, tt.status)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 160<<20 {
				t.Errorf("%d MB were allocated", used>>20)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestThreat10Slowloris opens many connections that send their headers or bodies ever
// so slowly: others are served, and the slow ones are closed in time.
func TestThreat10Slowloris(t *testing.T) {
	s := local(t, func(c *Config) { c.Concurrent = 32 })
	server := s.httpServer(s)
	server.ReadHeaderTimeout, server.ReadTimeout = 500*time.Millisecond, 500*time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Close()
	var slow []net.Conn
	for i := range 100 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := "POST / HTTP/1.1\r\nHost: localhost\r\n"
		if i%2 == 0 {
			head += "Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{"
		}
		io.WriteString(c, head)
		slow = append(slow, c)
	}
	began := time.Now()
	resp, err := http.Post("http://"+listener.Addr().String(), "application/json", strings.NewReader(whoCall))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(began); resp.StatusCode != 200 || took > 3*time.Second { // who waits for the slow ones waits five
		t.Errorf("beside slow connections: %d after %s", resp.StatusCode, took)
	}
	for i, c := range slow {
		c.SetReadDeadline(began.Add(10 * time.Second))
		reader := bufio.NewReader(c)
		resp, err := http.ReadResponse(reader, nil)
		if i%2 == 0 {
			// A caller over its share of large bodies hears so; the others are too slow.
			if err != nil || resp.StatusCode != 408 && resp.StatusCode != 429 {
				t.Errorf("a slow body: %v %v", resp, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("slow headers were answered %d", resp.StatusCode)
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("a connection with slow headers was not closed")
		}
	}
}

func BenchmarkServer(b *testing.B) {
	key, credential := newKey(b, "bot", identity.Agent)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"whoami","params":{"text":"` + strings.Repeat("ordinary words ", 200) + `"}}`)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	result := []byte(`"x"`)
	rpc := func() map[string]*jsonrpc.Handler {
		return map[string]*jsonrpc.Handler{"/": {Namespaces: []jsonrpc.Namespace{{
			Match:  func(m string) bool { return m == "whoami" },
			Handle: func(context.Context, *jsonrpc.Request) ([]byte, *jsonrpc.Error) { return result, nil },
		}}}}
	}
	for _, bm := range []struct {
		name    string
		handler http.Handler
	}{
		{"echo", echo},
		{"jsonrpc", rpc()["/"]},
		{"server", local(b, func(c *Config) { c.RPC = rpc() })},
		{"server with key", local(b, func(c *Config) { c.RPC, c.Auth = rpc(), newAuth(b, true, key) })},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("POST", "/", nil)
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			if bm.name == "server with key" {
				r.Header.Set("Authorization", credential)
			}
			r.ContentLength = int64(len(body))
			reader := bytes.NewReader(body)
			w := &discard{header: http.Header{}}
			for b.Loop() {
				reader.Reset(body)
				r.Body = io.NopCloser(reader)
				bm.handler.ServeHTTP(w, r)
			}
			if w.status != 0 && w.status != 200 {
				b.Fatalf("the status is %d", w.status)
			}
		})
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
