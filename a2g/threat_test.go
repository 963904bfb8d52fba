package a2g

import (
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
)

// TestThreat16Replay: a signature is good once and near its time, in both directions,
// and also after the node was started anew.
func TestThreat16Replay(t *testing.T) {
	const did = "did:aeon:desk"
	dir, key := t.TempDir(), Key{Secret: secret}
	with := func(c *Config) { c.Secret = func(string) string { return secret } }
	start := time.Now()
	signed := func(id, nonce string, at time.Time) string {
		params, err := signParams([]byte(intentParams(did, id, "read")), key, nonce, at)
		if err != nil {
			t.Fatal(err)
		}
		return string(params)
	}
	ahead := signed("3", "ahead", start.Add(Window-time.Second)) // good for almost twice the window
	t.Run("before the restart", func(t *testing.T) {
		g := newGovernor(t, dir, with)
		g.now = start
		g.want("signed", g.post(MethodIntent, signed("1", "n1", start), Key{}, ""), "APPROVED 0")
		g.want("word for word, the recorded verdict", g.post(MethodIntent, signed("1", "n1", start), Key{}, ""), "APPROVED 0")
		g.want("its nonce for another act", g.post(MethodIntent, signed("2", "n1", start), Key{}, ""), "-32000 identity identity.replay")
		g.want("from the future, near", g.post(MethodIntent, ahead, Key{}, ""), "APPROVED 0")
		g.want("from the future, far", g.post(MethodIntent, signed("4", "n4", start.Add(Window+time.Second)), Key{}, ""), "-32000 identity identity.signature")
		g.want("from the past, near", g.post(MethodIntent, signed("5", "n5", start.Add(-Window+time.Second)), Key{}, ""), "APPROVED 0")
		g.want("from the past, far", g.post(MethodIntent, signed("6", "n6", start.Add(-Window-time.Second)), Key{}, ""), "-32000 identity identity.signature")
		// A wrong signature uses no nonce up.
		wrong, err := signParams([]byte(intentParams(did, "7", "read")), Key{Secret: fmt.Sprintf("%064x", 7)}, "n7", start)
		if err != nil {
			t.Fatal(err)
		}
		g.want("by another key", g.post(MethodIntent, string(wrong), Key{}, ""), "-32000 identity identity.signature")
		g.want("the nonce again", g.post(MethodIntent, signed("7", "n7", start), Key{}, ""), "APPROVED 0")
	})
	t.Run("after the restart", func(t *testing.T) {
		g := newGovernor(t, dir, with)
		g.now = start.Add(time.Second)
		g.want("its nonce for another act", g.post(MethodIntent, signed("8", "n1", start), Key{}, ""), "-32000 identity identity.replay")
		report := func(at time.Time) string {
			params, err := signParams([]byte(`{"agent_did":"`+did+`","intent_id":"1","status":"SUCCESS"}`), key, "report", at)
			if err != nil {
				t.Fatal(err)
			}
			return string(params)
		}
		g.want("a report", g.post(MethodReport, report(start), Key{}, ""), "recorded 0")
		g.want("a report again", g.post(MethodReport, report(start), Key{}, ""), "-32000 identity identity.replay")
		for at := start; at.Before(start.Add(3 * Window)); at = at.Add(time.Minute) {
			g.now = at
			if got := g.post(MethodIntent, signed("9", "ahead", start.Add(Window-time.Second)), Key{}, ""); got != "-32000 identity identity.replay" && got != "-32000 identity identity.signature" {
				t.Fatalf("after %v: %s", at.Sub(start), got)
			}
		}
	})
}

// TestThreat18OtherAct: who reports another act than the one approved is suspended,
// and who reports what was approved, in any spelling, is not.
func TestThreat18OtherAct(t *testing.T) {
	const did = "did:aeon:desk"
	report := func(id, more string) string {
		return fmt.Sprintf(`{"agent_did":%q,"intent_id":%q,"status":"SUCCESS"%s}`, did, id, more)
	}
	digest := act.Digest{7}.String()
	for _, tt := range []struct {
		name, said string
		suspended  bool
	}{
		{"nothing said", ``, false},
		{"the tool", `,"tool":"read"`, false},
		{"the same, spelled otherwise", `,"tool":"read","arguments":{ "\u00e9":"\u0078","n":1.0}`, false},
		{"another tool", `,"tool":"wipe"`, true},
		{"other arguments", `,"tool":"read","arguments":{"n":2}`, true},
		{"another digest", `,"digest":"` + digest + `"`, true},
	} {
		for _, registered := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, registered), func(t *testing.T) {
				g := newGovernor(t, t.TempDir(), nil)
				if registered {
					g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, "")
				}
				g.want("asked", g.post(MethodIntent, intentParams(did, "1", "read"), Key{}, ""), "APPROVED 0")
				want := "recorded 0"
				if tt.suspended {
					want = "-32001"
				}
				g.want("reported", g.post(MethodReport, report("1", tt.said), Key{}, ""), want)
				want = "APPROVED 0"
				if tt.suspended {
					want = "-32000 identity agent.suspended"
				}
				g.want("afterwards", g.post(MethodIntent, intentParams(did, "2", "read"), Key{}, ""), want)
				g.want("under its name in other letters", g.post(MethodIntent, intentParams("did:aeon:DESK", "2", "read"), Key{}, ""),
					map[bool]string{true: want, false: "APPROVED 0"}[registered])
				if !registered { // anybody can use the name: others are not barred by it
					g.as.Name = "key:b"
					g.want("another credential", g.post(MethodIntent, intentParams(did, "3", "read"), Key{}, ""), "APPROVED 0")
				}
				if tt.suspended {
					known, err := g.cfg.Guard.SetAgent(t.Context(), did, agent.Active, "", act.Principal{Name: "operator"})
					if err != nil || known.State != agent.Active {
						t.Fatal(known, err)
					}
					g.as.Name = "key:a"
					g.want("resumed", g.post(MethodIntent, intentParams(did, "4", "read"), Key{}, ""), "APPROVED 0")
				}
			})
		}
	}
}

// TestExceeded: a report of more than the verdict's manifest allows is a violation.
func TestExceeded(t *testing.T) {
	const did = "did:aeon:desk"
	for metrics, want := range map[string]string{
		`{"duration_ms":45}`:                           "recorded 0",
		`{"duration_ms":31000,"memory_used_mb":256}`:   "recorded 0", // stopped at the end of its time
		`{"duration_ms":900000}`:                       "-32001",
		`{"duration_ms":45,"memory_used_mb":5000}`:     "-32001",
		`{"duration_ms":45,"cpu_percent":900}`:         "-32001",
		`{"duration_ms":45,"cpu_percent":100,"x":1e9}`: "recorded 0",
	} {
		g := newGovernor(t, t.TempDir(), nil)
		g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, "")
		g.want("asked", g.post(MethodIntent, intentParams(did, "1", "read"), Key{}, ""), "APPROVED 0")
		g.want(metrics, g.post(MethodReport, `{"agent_did":"`+did+`","intent_id":"1","status":"SUCCESS","metrics":`+metrics+`}`, Key{}, ""), want)
		known, err := g.cfg.Guard.Agent(t.Context(), did)
		if err != nil || (known.Violations == 1) != (want == "-32001") {
			t.Errorf("%s: %d violations, %v", metrics, known.Violations, err)
		}
	}
}

// TestThreat28SkippedIntent: an agent that does an act without its intent is noticed by
// its report, and a policy can have that matter.
func TestThreat28SkippedIntent(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), nil)
	g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"","capabilities_requested":[]}`, Key{}, "")
	g.want("a report without an intent", g.post(MethodReport, `{"agent_did":"`+did+`","intent_id":"skipped","status":"SUCCESS","tool":"read","arguments":{}}`, Key{}, ""), "-32001")
	if known, err := g.cfg.Guard.Agent(t.Context(), did); err != nil || known.Violations != 1 {
		t.Errorf("%+v %v", known, err)
	}
	g.want("what the policy makes of it", g.post(MethodIntent, intentParams(did, "1", "trusted"), Key{}, ""), "-32000 identity agent.violations")
}

// TestThreat09Names: an agent that is barred is barred under each spelling of its
// name, and what is no DID is refused.
func TestThreat09Names(t *testing.T) {
	g := newGovernor(t, t.TempDir(), nil)
	if _, err := g.cfg.Guard.SetAgent(t.Context(), "did:aeon:evil", agent.Revoked, "", act.Principal{Name: "operator"}); err != nil {
		t.Fatal(err)
	}
	for did, want := range map[string]string{
		"did:aeon:evil":       "-32000 identity agent.revoked",
		"did:aeon:EVIL":       "-32000 policy",
		"did:aeon:ev%69l":     "-32602",
		"did:aeon:%45vil":     "-32602",
		"did:aeon:evil ":      "-32602",
		"did:aeon:evil\u200b": "-32602",
		"did:aeon:еvil":       "-32602",
		"not-a-did":           "-32602",
		"did:aeon:good":       "APPROVED 0",
	} {
		got := g.post(MethodIntent, intentParams(did, "1", "read"), Key{}, "")
		if want == "-32000 policy" {
			want = "-32000 identity agent.revoked"
		}
		g.want(did, got, want)
	}
}

// TestRegisterAgain: the credential of an agent registers it again with the same key;
// with another only where the old one signs, or after an operator has reset it.
func TestRegisterAgain(t *testing.T) {
	const did = "did:aeon:desk"
	g := newGovernor(t, t.TempDir(), nil)
	oldPublic, oldPrivate, _ := ed25519.GenerateKey(nil)
	newPublic, _, _ := ed25519.GenerateKey(nil)
	register := func(public ed25519.PublicKey, key Key, nonce string) string {
		return g.post(MethodRegister, `{"agent_did":"`+did+`","public_key":"`+FormatPublicKey(public)+`","capabilities_requested":[]}`, key, nonce)
	}
	g.want("registered", register(oldPublic, Key{}, ""), "registered 0")
	g.want("again, the same key", register(oldPublic, Key{}, ""), "registered 0")
	g.want("again, another key", register(newPublic, Key{}, ""), "-32002  agent.registration")
	g.want("signed by the old one", register(newPublic, Key{Private: oldPrivate}, "n1"), "registered 0")
	g.want("the old one counts no more", g.post(MethodIntent, intentParams(did, "1", "read"), Key{Private: oldPrivate}, "n2"), "-32000 identity identity.signature")
	g.want("back, unsigned", register(oldPublic, Key{}, ""), "-32002  agent.registration")
	if _, err := g.cfg.Guard.ResetKey(t.Context(), did, act.Principal{Name: "operator"}); err != nil {
		t.Fatal(err)
	}
	g.want("after a reset", register(oldPublic, Key{}, ""), "registered 0")
	g.as = act.Anonymous
	g.want("without a credential", register(oldPublic, Key{}, ""), "-32002 identity identity.foreign")

	// Who is anonymous owns no name.
	const other = "did:aeon:open"
	open := `{"agent_did":"` + other + `","public_key":"","capabilities_requested":[]}`
	g.want("anonymous", g.post(MethodRegister, open, Key{}, ""), "registered 0")
	g.as = act.Principal{Name: "key:b", Method: "key"}
	g.want("by a credential", g.post(MethodRegister, open, Key{}, ""), "registered 0")
	g.as = act.Anonymous
	g.want("and no more without", g.post(MethodIntent, intentParams(other, "1", "read"), Key{}, ""), "-32000 identity identity.foreign")
}

// TestOwnSessions: two agents of one credential share no session, whatever they call it.
func TestOwnSessions(t *testing.T) {
	g := newGovernor(t, t.TempDir(), nil)
	for _, did := range []string{"did:aeon:a", "did:aeon:b"} {
		g.want(did, g.post(MethodIntent, fmt.Sprintf(`{"agent_did":%q,"intent_id":"1","tool":"read","arguments":{},"context":{"session_id":"session-123"}}`, did), Key{}, ""), "APPROVED 0")
	}
}

// TestThreat15Spellings: an agent that registered has its DID in every spelling: no other
// credential registers or uses one, and each must be signed.
func TestThreat15Spellings(t *testing.T) {
	g := newGovernor(t, t.TempDir(), nil)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	public := FormatPublicKey(key.Public().(ed25519.PublicKey))
	register := func(did string) string {
		return `{"agent_did":"` + did + `","public_key":"` + public + `","capabilities_requested":[]}`
	}
	g.as = act.Principal{Name: "key:one", Method: "key"}
	g.want("registered", g.post(MethodRegister, register("did:aeon:sigX"), Key{}, ""), "registered 0")
	for _, did := range []string{"did:aeon:SIGX", "did:aeon:sigx", "did:aeon:SigX"} {
		g.as = act.Principal{Name: "key:one", Method: "key"}
		g.want(did+" unsigned", g.post(MethodIntent, intentParams(did, did, "read"), Key{}, ""), "-32000 identity identity.unsigned")
		g.as = act.Principal{Name: "key:two", Method: "key"}
		g.want(did+" of somebody else", g.post(MethodIntent, intentParams(did, did+"2", "read"), Key{}, ""), "-32000 identity identity.foreign")
		g.want(did+" registered by somebody else", g.post(MethodRegister, register(did), Key{}, ""), "-32002 identity identity.foreign")
	}
	for _, did := range []string{"did:aeon:%73igX", "did:aeon:s%69gX", "did:aeon:sig%58"} {
		g.want(did, g.post(MethodRegister, register(did), Key{}, ""), "-32602")
	}
}
