package a2g

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/sqlite"
)

const secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// governor is a Server on a real store, with a clock that stands.
type governor struct {
	*testing.T
	*Server
	rpc http.Handler
	now time.Time
	as  act.Principal
}

func newGovernor(t *testing.T, dir string, edit func(*Config)) *governor {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	log, err := ledger.Open(ctx, ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(`
version: 1
default: allow
rules:
  - {name: strangers, check: agent.unregistered, tools: [vault], effect: deny}
  - {name: beyond, check: agent.capability, effect: deny}
  - {name: trust, check: agent.violations, tools: [trusted], effect: deny}
  - {name: cards, detect: [pii.card], effect: modify, modify: redact}
`)})
	if err != nil {
		t.Fatal(err)
	}
	g := &governor{T: t, now: time.Now(), as: act.Principal{Name: "key:a", Method: "key"}}
	clock := func() time.Time { return g.now }
	guard, err := guard.New(ctx, guard.Config{Log: log, Store: store, Policy: set, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Guard: guard, Now: clock}
	if edit != nil {
		edit(&cfg)
	}
	g.Server = NewServer(cfg)
	space := g.Namespace()
	h := &jsonrpc.Handler{Own: &space}
	g.rpc = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Serve(identity.NewContext(r.Context(), g.as, identity.Agent), w, r)
	})
	return g
}

// reply is what was answered: the code is 0 for a result.
type reply struct {
	Result struct {
		Verdict string
		Status  string
	}
	Error struct {
		Code int
		Data struct {
			BlockedBy string `json:"blocked_by"`
			IntentID  string `json:"intent_id"`
			Reasons   []struct{ Code string }
		}
	}
}

func (r *reply) String() string {
	code := ""
	if len(r.Error.Data.Reasons) > 0 {
		code = r.Error.Data.Reasons[0].Code
	}
	return strings.TrimSpace(fmt.Sprintf("%s%s %d %s %s", r.Result.Verdict, r.Result.Status, r.Error.Code, r.Error.Data.BlockedBy, code))
}

// post sends a message with params, signed with a key under a nonce if it has one.
func (g *governor) post(method, params string, key Key, nonce string) string {
	g.Helper()
	if nonce != "" {
		signed, err := signParams([]byte(params), key, nonce, g.now)
		if err != nil {
			g.Fatal(err)
		}
		params = string(signed)
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":"1","method":"`+method+`","params":`+params+`}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.rpc.ServeHTTP(w, r)
	var got reply
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		g.Fatalf("%v: %s", err, w.Body)
	}
	return got.String()
}

func intentParams(did, id, tool string) string {
	return fmt.Sprintf(`{"agent_did":%q,"intent_id":%q,"tool":%q,"arguments":{"n":1.0,"é":"x"}}`, did, id, tool)
}

func (g *governor) want(what, got, want string) {
	g.Helper()
	if got != want {
		g.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestSigned: an agent with a secret signs everything, with the right key, at the
// right time, and each time anew.
func TestSigned(t *testing.T) {
	const did = "did:aeon:desk"
	dir := t.TempDir()
	with := func(c *Config) {
		c.Secret = func(of string) string {
			if of == did {
				return secret
			}
			return ""
		}
	}
	g := newGovernor(t, dir, with)
	key, wrong := Key{Secret: secret}, Key{Secret: strings.Repeat("ff", 32)}
	ask := func(id string, key Key, nonce string) string {
		return g.post(MethodIntent, intentParams(did, id, "read"), key, nonce)
	}
	g.want("unsigned", ask("1", Key{}, ""), "-32000 identity identity.unsigned")
	g.want("another key", ask("1", wrong, "n1"), "-32000 identity identity.signature")
	g.want("signed: the nonce of the wrong signature is not used up", ask("1", key, "n1"), "APPROVED 0")
	g.want("replayed", ask("2", key, "n1"), "-32000 identity identity.replay")
	g.want("the same intent, signed anew", ask("1", key, "n2"), "APPROVED 0")
	signed := g.now
	g.now = g.now.Add(Window + time.Second)
	stale, err := signParams([]byte(intentParams(did, "4", "read")), key, "n4", signed)
	if err != nil {
		t.Fatal(err)
	}
	g.want("too late", g.post(MethodIntent, string(stale), Key{}, ""), "-32000 identity identity.signature")
	g.want("others need not sign", g.post(MethodIntent, intentParams("did:aeon:other", "1", "read"), Key{}, ""), "APPROVED 0")
	g.want("an unsigned registration", g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, ""), "-32002 identity identity.unsigned")
	g.want("an unsigned report", g.post(MethodReport, `{"agent_did":"`+did+`","intent_id":"1","status":"SUCCESS"}`, Key{}, ""), "-32000 identity identity.unsigned")
	g.want("a signed report", g.post(MethodReport, `{"agent_did":"`+did+`","intent_id":"1","status":"SUCCESS"}`, key, "n5"), "recorded 0")
}

// TestRegisteredKey: once an agent has registered a key, only that counts.
func TestRegisteredKey(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), nil)
	public, private, _ := ed25519.GenerateKey(nil)
	g.want("registered", g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"`+FormatPublicKey(public)+`","capabilities_requested":["read"]}`, Key{}, ""), "registered 0")
	key := Key{Private: private}
	g.want("unsigned", g.post(MethodIntent, intentParams(did, "1", "read"), Key{}, ""), "-32000 identity identity.unsigned")
	g.want("HMAC", g.post(MethodIntent, intentParams(did, "1", "read"), Key{Secret: secret}, "n1"), "-32000 identity identity.signature")
	g.want("signed", g.post(MethodIntent, intentParams(did, "1", "read"), key, "n2"), "APPROVED 0")
	g.want("a tool that it did not register for", g.post(MethodIntent, intentParams(did, "2", "write"), key, "n3"), "-32000 capability agent.capability")
	g.as.Name = "key:b"
	g.want("by somebody else", g.post(MethodIntent, intentParams(did, "3", "read"), key, "n4"), "-32000 identity identity.foreign")
	g.want("registered by somebody else", g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"`+FormatPublicKey(public)+`","capabilities_requested":[]}`, key, "n5"), "-32002 identity identity.foreign")
}

// TestStrangers: what somebody does under the name of an agent that nobody
// registered counts for nobody else.
func TestStrangers(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), nil)
	unknown := `{"agent_did":"` + did + `","intent_id":"never","status":"SUCCESS"}`
	g.want("an unknown intent", g.post(MethodReport, unknown, Key{}, ""), "-32001")
	g.want("who did it", g.post(MethodIntent, intentParams(did, "1", "trusted"), Key{}, ""), "-32000 identity agent.violations")
	g.as.Name = "key:b"
	g.want("another", g.post(MethodIntent, intentParams(did, "1", "trusted"), Key{}, ""), "APPROVED 0")
}

// TestModifiedReport: what a report says is compared with what the verdict left.
func TestModifiedReport(t *testing.T) {
	const did = "did:aeon:desk"
	for _, tt := range []struct{ arguments, want string }{
		{`{"text":"card ****"}`, "recorded 0"},
		{`{"text":"card 4000 0000 0000 0002"}`, "-32001"},
	} {
		g := newGovernor(t, t.TempDir(), nil)
		asked := `{"agent_did":"` + did + `","intent_id":"1","tool":"mail","arguments":{"text":"card 4000 0000 0000 0002"},"more":1}`
		g.want("asked", g.post(MethodIntent, asked, Key{}, ""), "CONDITIONAL 0")
		got := g.post(MethodReport, `{"agent_did":"`+did+`","intent_id":"1","status":"SUCCESS","tool":"mail","arguments":`+tt.arguments+`}`, Key{}, "")
		g.want(tt.arguments, got, tt.want)
	}
}

// TestHandshakeNonce: a handshake says nothing of the message, so that its nonce
// is used up by the first.
func TestHandshakeNonce(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), func(c *Config) { c.Secret = func(string) string { return secret } })
	h := Key{Secret: secret}.Sign([]byte(did), "n1", g.now)
	post := func(id string) string {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":"1","method":"a2g/intent","params":`+intentParams(did, id, "read")+`}`))
		for name, value := range map[string]string{"Content-Type": "application/json", "X-Agent-DID": did, "X-Timestamp": h.Timestamp, "X-Nonce": h.Nonce, "X-Signature": h.Hash} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		g.rpc.ServeHTTP(w, r)
		var got reply
		json.Unmarshal(w.Body.Bytes(), &got)
		return got.String()
	}
	g.want("first", post("1"), "APPROVED 0")
	g.want("the same again", post("1"), "-32000 identity identity.replay")
	g.want("another intent", post("2"), "-32000 identity identity.replay")
}

// TestEnds: verdicts, sessions and budgets end, each with its own code.
func TestEnds(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), func(c *Config) { c.PerMinute = 3; c.Lasts = time.Minute })
	ask := func(id, tool string) string { return g.post(MethodIntent, intentParams(did, id, tool), Key{}, "") }
	g.want("a policy that demands registration", ask("0", "vault"), "-32000 identity agent.unregistered")
	g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, "")
	g.want("registered", ask("1", "vault"), "APPROVED 0")
	g.want("the same", ask("1", "vault"), "APPROVED 0")
	g.want("too often", ask("2", "vault"), "-32003 capability agent.rate")
	g.now = g.now.Add(2 * time.Minute)
	g.want("an expired verdict", ask("1", "vault"), "-32000 expired verdict.expired")
	g.want("what was refused stays with no id", ask("2", "vault"), "APPROVED 0")
	g.now = g.now.Add(25 * time.Hour)
	g.want("silent for too long", ask("3", "vault"), "-32004 expired session.expired")
	g.want("its heartbeat", g.post(MethodHeartbeat, `{"agent_did":"`+did+`"}`, Key{}, ""), "-32004")
	g.want("registered again", g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, ""), "registered 0")
	g.want("heard from again", ask("3", "vault"), "APPROVED 0")
}

// TestDeclared: what an agent registered for is known of each of its acts, in the one form of
// names.
func TestDeclared(t *testing.T) {
	c := &caller{agent: &agent.Agent{Requested: []string{"Read_Mail", "send"}}}
	a := &act.Action{Kind: act.ToolCall, Canonical: "send"}
	c.standing(a)
	if !slices.Equal(a.Declared, []string{"read_mail", "send"}) {
		t.Error(a.Declared)
	}
}

// TestFirstKey: who registers a first key may sign with it at once, and only with that one;
// what is known already is changed by nobody who has not the key.
func TestFirstKey(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	otherPublic, otherPrivate, _ := ed25519.GenerateKey(nil)
	for _, must := range []bool{false, true} {
		g := newGovernor(t, t.TempDir(), func(c *Config) { c.Signed = must })
		register := func(did string, public ed25519.PublicKey, key Key, nonce string) string {
			return g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"`+FormatPublicKey(public)+`","capabilities_requested":["read"]}`, key, nonce)
		}
		g.want("signed by another key", register("did:aeon:a", public, Key{Private: otherPrivate}, "n1"), "-32002 identity identity.signature")
		g.want("signed by a secret", register("did:aeon:a", public, Key{Secret: secret}, "n2"), "-32002 identity identity.signature")
		if must {
			g.want("not signed", register("did:aeon:a", public, Key{}, ""), "-32002 identity identity.unsigned")
		}
		g.want("signed by its own", register("did:aeon:a", public, Key{Private: private}, "n3"), "registered 0")
		g.want("the same message again", register("did:aeon:a", public, Key{Private: private}, "n3"), "-32002 identity identity.replay")
		g.want("another key, signed by itself", register("did:aeon:a", otherPublic, Key{Private: otherPrivate}, "n4"), "-32002 identity identity.signature")
		g.want("signed", g.post(MethodIntent, intentParams("did:aeon:a", "1", "read"), Key{Private: private}, "n5"), "APPROVED 0")
		g.want("another agent without a key", g.post(MethodIntent, intentParams("did:aeon:b", "1", "read"), Key{Private: private}, "n6"), "-32000 identity identity.signature")

		// A handshake of an agent without a key proves nothing, and one with a key must be its own.
		header := func(did string, key Key) http.Header {
			s := key.Sign([]byte(did), newUUID(), g.now)
			return http.Header{"X-Agent-Did": {did}, "X-Timestamp": {s.Timestamp}, "X-Nonce": {s.Nonce}, "X-Signature": {s.Hash}}
		}
		ctx := identity.NewContext(t.Context(), g.as, identity.Agent)
		if did, err := g.Server.Handshake(ctx, header("did:aeon:new", Key{Private: private})); did != "" || err != nil {
			t.Errorf("a handshake before the registration proves %q: %v", did, err)
		}
		if did, err := g.Server.Handshake(ctx, header("did:aeon:a", Key{Private: private})); did != "did:aeon:a" || err != nil {
			t.Errorf("a handshake proves %q: %v", did, err)
		}
		if did, err := g.Server.Handshake(ctx, header("did:aeon:a", Key{Private: otherPrivate})); did != "" || !errors.Is(err, ErrSignature) {
			t.Errorf("a handshake with another key proves %q: %v", did, err)
		}
	}
}

// TestWeakKeySaid: who registers a key with which anybody can sign is told that.
func TestWeakKeySaid(t *testing.T) {
	g := newGovernor(t, t.TempDir(), nil)
	body := `{"jsonrpc":"2.0","id":"1","method":"` + MethodRegister + `","params":{"agent_did":"did:aeon:weak","public_key":"ed25519:0100000000000000000000000000000000000000000000000000000000000000","capabilities_requested":[]}}`
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.rpc.ServeHTTP(w, r)
	if said := w.Body.String(); !strings.Contains(said, "anybody can sign") || !strings.Contains(said, "need no signature") || strings.Contains(said, "hex digits") {
		t.Error(said)
	}
}
