package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/passkey"
	"reeve.example/reeve/internal/passkey/passkeytest"
)

var passkeySite = passkey.Site{Origin: "https://reeve.example", Host: "reeve.example"}

const asksForPasskey = `
version: 1
name: bank
default: allow
rules:
  - {name: payments, tools: [transfer], effect: escalate, code: payments, approval: {passkey: true}}
  - {name: two, tools: [wipe], effect: escalate, code: two, approval: {passkey: true, quorum: 2}}
`

// register makes a passkey of a principal known.
func register(t *testing.T, n *node, by act.Principal, d *passkeytest.Device) (*guard.Passkey, error) {
	t.Helper()
	c, err := n.AskToRegister(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	return n.RegisterPasskey(t.Context(), by, &guard.NewPasskey{Nonce: c.Nonce, Label: "a key", Made: d.Make(c.Challenge)})
}

// confirmed is a passkey of a principal that counts.
func confirmed(t *testing.T, n *node, by act.Principal) *passkeytest.Device {
	t.Helper()
	d := passkeytest.New(passkeySite)
	p, err := register(t, n, by, d)
	if err == nil {
		_, err = n.ConfirmPasskey(t.Context(), p.ID, identity.Operator, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestThreat17PasskeyApproval: an act for which a rule asks for a passkey is agreed to with what
// a passkey of who agrees has signed for this answer to it, once, and with nothing else.
func TestThreat17PasskeyApproval(t *testing.T) {
	now := time.Now()
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy, c.Passkeys, c.Now = load(t, asksForPasskey), passkeySite, func() time.Time { return now }
	})
	bob := act.Principal{Name: "key:bob", Method: "key"}
	device, bobs := confirmed(t, n, alice), confirmed(t, n, bob)
	held := func(id, text string) *approval.Decision {
		t.Helper()
		d, _ := n.decide(t, call("s", id, "transfer", text))
		h, err := n.Show(t.Context(), d.Approval.ID)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h, other := held("1", "letters"), held("2", "notes")
	agree := guard.Reply{Agree: true, Seen: h.Seen, Note: "fine"}
	ask := func(h *approval.Decision, by act.Principal, r guard.Reply) *guard.Challenge {
		t.Helper()
		r.Seen = h.Seen
		c, err := n.AskToAgree(t.Context(), h.ID, by, r)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	signed := func(c *guard.Challenge, d *passkeytest.Device) *guard.Proof {
		return &guard.Proof{Nonce: c.Nonce, Signed: d.Sign(c.Challenge)}
	}
	with := func(edit func(r *guard.Reply)) guard.Reply {
		r := agree
		edit(&r)
		return r
	}
	changed := []approval.Change{{Pointer: "/params/text", New: `"others"`}}
	stale := signed(ask(h, alice, agree), device)
	now = now.Add(3 * time.Minute)
	for name, tt := range map[string]struct {
		by   act.Principal
		r    guard.Reply
		want error
	}{
		"nothing signed":   {alice, agree, approval.ErrPasskey},
		"too late":         {alice, with(func(r *guard.Reply) { r.Passkey = stale }), guard.ErrChallenge},
		"for another act":  {alice, with(func(r *guard.Reply) { r.Passkey = signed(ask(other, alice, agree), device) }), guard.ErrChallenge},
		"for another note": {alice, with(func(r *guard.Reply) { r.Passkey, r.Note = signed(ask(h, alice, agree), device), "pay twice" }), guard.ErrChallenge},
		"for another form": {alice, with(func(r *guard.Reply) { r.Passkey, r.Changes = signed(ask(h, alice, agree), device), changed }), guard.ErrChallenge},
		"for the act with changes": {alice, with(func(r *guard.Reply) {
			r.Passkey = signed(ask(h, alice, with(func(r *guard.Reply) { r.Changes = changed })), device)
		}), guard.ErrChallenge},
		"asked of somebody else":     {alice, with(func(r *guard.Reply) { r.Passkey = signed(ask(h, bob, agree), device) }), guard.ErrChallenge},
		"by somebody else's passkey": {alice, with(func(r *guard.Reply) { r.Passkey = signed(ask(h, alice, agree), bobs) }), passkey.ErrRefused},
		"by nobody's":                {alice, with(func(r *guard.Reply) { r.Passkey = signed(ask(h, alice, agree), passkeytest.New(passkeySite)) }), passkey.ErrRefused},
		"under an invented nonce":    {alice, with(func(r *guard.Reply) { c := *ask(h, alice, agree); c.Nonce = "mine"; r.Passkey = signed(&c, device) }), guard.ErrChallenge},
		"for a session": {alice, with(func(r *guard.Reply) {
			r.Passkey, r.For = signed(ask(h, alice, agree), device), approval.Span{Session: true}
		}), approval.ErrOnce},
		"as usual":                    {alice, with(func(r *guard.Reply) { r.Passkey, r.Usual = signed(ask(h, alice, agree), device), true }), approval.ErrOnce},
		"unverified":                  {alice, with(func(r *guard.Reply) { d := *device; d.Flags = 1; r.Passkey = signed(ask(h, alice, agree), &d) }), passkey.ErrRefused},
		"another holder of that name": {act.Principal{Name: alice.Name, Method: "key", Person: "mallory"}, agree, guard.ErrNoPasskey},
		"nobody's name":               {act.Principal{Name: "key:carol", Method: "key"}, agree, guard.ErrNoPasskey},
	} {
		if after, err := n.Answer(t.Context(), h.ID, tt.by, tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v, want %v", name, after, err, tt.want)
		}
	}
	if h, err := n.Show(t.Context(), h.ID); err != nil || h.State != approval.Held || len(h.Answers) != 0 {
		t.Fatalf("%+v, %v", h, err)
	}
	// What is right is taken, once.
	r := with(func(r *guard.Reply) { device.Counter = 100; r.Passkey = signed(ask(h, alice, agree), device) })
	after, err := n.Answer(t.Context(), h.ID, alice, r)
	if err != nil || after.State != approval.Approved || after.Answers[0].Passkey == "" || !strings.Contains(after.Answers[0].Signed, r.Passkey.Nonce) {
		t.Fatalf("%+v, %v", after, err)
	}
	if d, _ := n.decide(t, call("s", "3", "transfer", "letters")); d.Effect != act.Allow {
		t.Errorf("%v %v", d.Effect, d.Reasons)
	}
	again := held("4", "letters") // the same act once more is asked about once more
	r.Seen = again.Seen
	if _, err := n.Answer(t.Context(), again.ID, alice, r); !errors.Is(err, guard.ErrChallenge) {
		t.Errorf("a replay: %v", err)
	}
	// A copy of the authenticator is behind, and refused; that is recorded.
	device.Counter = 50
	if _, err := n.Answer(t.Context(), again.ID, alice, with(func(r *guard.Reply) { r.Seen, r.Passkey = again.Seen, signed(ask(again, alice, agree), device) })); !errors.Is(err, passkey.ErrCounter) {
		t.Errorf("a counter that went back: %v", err)
	}
	device.Counter = 200
	// One that fails is used up, too.
	c := ask(again, alice, agree)
	bad := signed(c, device)
	bad.Signature[9] ^= 1
	for _, proof := range []*guard.Proof{bad, signed(c, device)} {
		if _, err := n.Answer(t.Context(), again.ID, alice, with(func(r *guard.Reply) { r.Seen, r.Passkey = again.Seen, proof })); err == nil {
			t.Error("a challenge is answered twice")
		}
	}
	// To refuse, nobody needs one. A passkey that was revoked between is none.
	c = ask(other, alice, agree)
	list, err := n.Passkeys(t.Context(), alice.Name)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, err := n.RevokePasskey(t.Context(), list[0].ID, bob, false); err == nil {
		t.Error("anybody revokes anybody's")
	}
	if _, err := n.RevokePasskey(t.Context(), list[0].ID, alice, false); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Answer(t.Context(), other.ID, alice, with(func(r *guard.Reply) { r.Seen, r.Passkey = other.Seen, signed(c, device) })); !errors.Is(err, guard.ErrNoPasskey) {
		t.Errorf("by one that was revoked: %v", err)
	}
	if h, err := n.Answer(t.Context(), other.ID, alice, guard.Reply{Note: "no"}); err != nil || h.State != approval.Denied {
		t.Errorf("%+v, %v", h, err)
	}
	// Nobody answers in a window of the agent's.
	if d, _ := n.decide(t, call("s", "9", "transfer", "more")); d.Approval.Dialogue {
		t.Error("a window of the agent's answers")
	}
	// Where two must, each shows their own.
	d, _ := n.decide(t, call("s", "10", "wipe", "all"))
	if h, err = n.Show(t.Context(), d.Approval.ID); err != nil {
		t.Fatal(err)
	}
	cleo := act.Principal{Name: "key:cleo", Method: "key"}
	for by, d := range map[act.Principal]*passkeytest.Device{bob: bobs, cleo: confirmed(t, n, cleo)} {
		if after, err = n.Answer(t.Context(), h.ID, by, with(func(r *guard.Reply) { r.Seen, r.Passkey = h.Seen, signed(ask(h, by, agree), d) })); err != nil {
			t.Fatal(err)
		}
	}
	if after.State != approval.Approved {
		t.Errorf("%+v", after)
	}
}

// TestThreat17PasskeyConfirm: a passkey counts for nothing until somebody else has confirmed it,
// with a passkey that counts, or the node's owner has by the socket.
func TestThreat17PasskeyConfirm(t *testing.T) {
	now := time.Now()
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy, c.Passkeys, c.Now = load(t, asksForPasskey), passkeySite, func() time.Time { return now }
	})
	admin := act.Principal{Name: "key:admin", Method: "key", Person: "ada"}
	thief := act.Principal{Name: "key:new", Method: "key"}
	p, err := register(t, n, thief, passkeytest.New(passkeySite))
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]*passkeytest.Device{"ada": confirmed(t, n, admin), "ada's other key": confirmed(t, n, act.Principal{Name: "key:phone", Method: "key", Person: "ada"})}
	proof := func(id string, by act.Principal, d *passkeytest.Device) *guard.Proof {
		t.Helper()
		c, err := n.AskToConfirm(t.Context(), id, by)
		if err != nil {
			return nil
		}
		return &guard.Proof{Nonce: c.Nonce, Signed: d.Sign(c.Challenge)}
	}
	mine, err := register(t, n, admin, passkeytest.New(passkeySite))
	if err != nil {
		t.Fatal(err)
	}
	another := act.Principal{Name: "key:made-by-the-thief", Method: "key"}
	unconfirmed := passkeytest.New(passkeySite)
	if _, err := register(t, n, another, unconfirmed); err != nil {
		t.Fatal(err)
	}
	phone := act.Principal{Name: "key:phone", Method: "key", Person: "ada"}
	for name, tt := range map[string]struct {
		id    string
		by    act.Principal
		proof *guard.Proof
		want  error
	}{
		"oneself":                     {mine.ID, admin, proof(mine.ID, admin, devices["ada"]), guard.ErrSelf},
		"oneself, by another key":     {mine.ID, phone, proof(mine.ID, phone, devices["ada's other key"]), guard.ErrSelf},
		"a key without a passkey":     {p.ID, act.Principal{Name: "key:bare", Method: "key"}, nil, guard.ErrNoPasskey},
		"an admin who shows none":     {p.ID, admin, nil, approval.ErrPasskey},
		"one that nobody confirmed":   {p.ID, another, proof(p.ID, another, unconfirmed), guard.ErrWaits},
		"what was asked of another":   {p.ID, admin, proof(mine.ID, admin, devices["ada"]), guard.ErrChallenge},
		"another's passkey":           {p.ID, admin, proof(p.ID, admin, devices["ada's other key"]), passkey.ErrRefused},
		"a browser let in, by itself": {p.ID, act.Principal{Name: identity.Operator.Name, Method: "console"}, nil, guard.ErrNoPasskey},
	} {
		if after, err := n.ConfirmPasskey(t.Context(), tt.id, tt.by, tt.proof); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v, want %v", name, after, err, tt.want)
		}
	}
	if after, err := n.ConfirmPasskey(t.Context(), p.ID, admin, proof(p.ID, admin, devices["ada"])); err != nil || after.State != guard.PasskeyConfirmed || after.Confirmed.By != admin.Name {
		t.Fatalf("%+v, %v", after, err)
	}
	if _, err := n.ConfirmPasskey(t.Context(), p.ID, identity.Operator, nil); !errors.Is(err, approval.ErrEnded) {
		t.Errorf("twice: %v", err)
	}
	now = now.Add(8 * 24 * time.Hour)
	if _, err := n.ConfirmPasskey(t.Context(), mine.ID, identity.Operator, nil); !errors.Is(err, approval.ErrEnded) {
		t.Errorf("long after: %v", err)
	}
	// A registration is asked for, is for one principal, and there are only so many.
	c, err := n.AskToRegister(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	q := guard.NewPasskey{Nonce: c.Nonce, Label: "x", Made: passkeytest.New(passkeySite).Make(c.Challenge)}
	if _, err := n.RegisterPasskey(t.Context(), another, &q); !errors.Is(err, guard.ErrChallenge) {
		t.Errorf("asked of another: %v", err)
	}
	if _, err := n.RegisterPasskey(t.Context(), admin, &q); !errors.Is(err, guard.ErrChallenge) {
		t.Errorf("a second time: %v", err)
	}
	many := act.Principal{Name: "key:many", Method: "key"}
	for i := range 17 {
		c, err := n.AskToRegister(t.Context(), many)
		if err == nil {
			_, err = n.RegisterPasskey(t.Context(), many, &guard.NewPasskey{Nonce: c.Nonce, Label: fmt.Sprint(i), Made: passkeytest.New(passkeySite).Make(c.Challenge)})
		}
		if (err != nil) != (i == 16) || err != nil && !errors.Is(err, guard.ErrMany) {
			t.Errorf("the passkey %d: %v", i, err)
		}
	}
	// Nowhere nobody agrees.
	bare := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, asksForPasskey) })
	held, _ := bare.decide(t, call("s", "1", "transfer", "letters"))
	h, err := bare.Show(t.Context(), held.Approval.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bare.Answer(t.Context(), h.ID, alice, guard.Reply{Agree: true, Seen: h.Seen}); !errors.Is(err, guard.ErrNoSite) {
		t.Errorf("without a place: %v", err)
	}
}
