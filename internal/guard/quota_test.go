package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/sqlite"
)

// as makes an act one of another principal's.
func as(name string, a *act.Action) *act.Action {
	a.Principal = act.Principal{Name: name, Method: "key"}
	return a
}

// TestThreat25HeldQuota: of 100 acts at once as many wait for people as may; a restart
// forgets none, another principal has room of its own, and an answer makes room.
func TestThreat25HeldQuota(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	var refused atomic.Int32
	restart := func() *node {
		return open(t, dir, func(c *guard.Config) {
			c.Policy, c.Quotas = load(t, asking), guard.Quotas{Held: 10}
			c.Now = func() time.Time { return now }
			c.Refused = func(quota string) {
				if quota == "held" {
					refused.Add(1)
				}
			}
		})
	}
	n := restart()
	var mu sync.Mutex
	var waiting []act.Decision
	ask := func(who string, i int) act.Decision {
		d, _, err := n.Decide(context.Background(), as(who, call(fmt.Sprint("s", i), "1", "transfer", fmt.Sprint("to ", i))))
		if err != nil {
			t.Error(err)
		}
		return d
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			switch d := ask("key:a", i); {
			case d.Effect == act.Escalate:
				mu.Lock()
				waiting = append(waiting, d)
				mu.Unlock()
			case d.Effect != act.Deny || d.Reasons[0].Code != "quota.held" || !strings.Contains(d.Reasons[0].Message, "quotas.held"):
				t.Errorf("%v %+v", d.Effect, d.Reasons)
			}
		})
	}
	wg.Wait()
	if len(waiting) != 10 || refused.Load() != 90 {
		t.Fatalf("%d wait and %d were refused, want 10 and 90", len(waiting), refused.Load())
	}
	n.close()
	n = restart()
	if d := ask("key:a", 200); d.Effect != act.Deny {
		t.Errorf("after a restart: %v", d.Effect)
	}
	if d := ask("key:b", 200); d.Effect != act.Escalate {
		t.Errorf("another principal: %v %+v", d.Effect, d.Reasons)
	}
	n.answer(t, waiting[0], false)
	now = now.Add(2 * time.Second) // when it is counted again
	if d := ask("key:a", 201); d.Effect != act.Escalate {
		t.Errorf("after an answer: %v %+v", d.Effect, d.Reasons)
	}
}

// TestThreat25AgentQuota: a principal registers so many agents, and each of them again.
func TestThreat25AgentQuota(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Quotas = guard.Quotas{Agents: 3, Bytes: 10 << 10} })
	register := func(who, did, metadata string) error {
		a := as(who, intentOf(did, "", did))
		a.Kind, a.Agent.ID = act.AgentRegister, did
		_, known, err := n.Register(t.Context(), a, guard.Registration{DID: did, Metadata: []byte(metadata)})
		if err == nil && known == nil {
			t.Fatal("not allowed")
		}
		return err
	}
	for _, tt := range []struct {
		who, did, metadata string
		full               bool
	}{
		{"key:a", "did:x:1", "{}", false}, {"key:a", "did:x:2", "{}", false}, {"key:a", "did:x:3", "{}", false},
		{"key:a", "did:x:4", "{}", true}, {"key:b", "did:x:4", "{}", false}, {"key:a", "did:x:3", `{"a":1}`, false},
		{"key:a", "did:x:3", `"` + strings.Repeat("x", 11<<10) + `"`, true}, {"key:b", "did:x:5", `"` + strings.Repeat("x", 9<<10) + `"`, false},
		{"key:b", "did:x:6", `"` + strings.Repeat("x", 2<<10) + `"`, true},
	} {
		err := register(tt.who, tt.did, tt.metadata)
		if full := new(guard.QuotaError); errors.As(err, &full) != tt.full || err != nil && !tt.full {
			t.Errorf("%s %s: %v, want full %t", tt.who, tt.did, err, tt.full)
		}
	}
}

// TestThreat25Contents: who has had a day's bytes of contents kept is judged and recorded as
// before, and the record says that its contents are not kept; others' are.
func TestThreat25Contents(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Quotas, c.Now = guard.Quotas{Contents: 10 << 10}, func() time.Time { return now }
	})
	text := strings.Repeat("x", 4<<10)
	i := 0
	kept := func(who string, shared bool) bool {
		t.Helper()
		i++
		a := as(who, call("s", fmt.Sprint(i), "read", text))
		if shared {
			a.Agent.Raw = []byte(`{"instructions":"` + text + `"}`)
			a.Body = fmt.Appendf(nil, `{"agent":%s}`, a.Agent.Raw)
		} else {
			a.Body = fmt.Appendf(nil, `{"params":{"text":%s}}`, rawjson.Quote(text))
		}
		d, _ := n.decide(t, a)
		if d.Effect != act.Allow {
			t.Fatalf("%v %+v", d.Effect, d.Reasons)
		}
		o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
		if err != nil {
			t.Fatal(err)
		}
		said := bytes.Contains(o.Links, []byte(`"not_kept":"quotas.contents"`))
		if said == (o.Request != nil) {
			t.Errorf("kept %d bytes, and the record says %s", len(o.Request), o.Links)
		}
		return !said
	}
	for _, want := range []bool{true, true, false, false} {
		if got := kept("key:a", false); got != want {
			t.Errorf("kept %t, want %t", got, want)
		}
	}
	for range 20 { // what is stored once counts once
		if !kept("key:b", true) {
			t.Fatal("of another principal, alike each time: not kept")
		}
	}
	now = now.Add(time.Hour)
	if !kept("key:a", false) {
		t.Error("on the next day")
	}
	report, err := ledger.Verify(t.Context(), n.store, ledger.VerifyOptions{Log: n.log.Number(), TrustedKey: n.key})
	if err != nil || !report.OK() {
		t.Errorf("%v %+v", err, report)
	}
}

// TestThreat25IntentQuota: a principal has room for so many intents that nobody has
// reported; a report makes room, and another principal has its own.
func TestThreat25IntentQuota(t *testing.T) {
	now := time.Now()
	n := open(t, t.TempDir(), func(c *guard.Config) { c.Now = func() time.Time { return now } })
	intents := intent.New(n.Guard, nil, 3, 0, func() time.Time { return now })
	ask := func(who, id string) error {
		_, _, err := intents.Ask(t.Context(), as(who, intentOf(id, "read", id)), intent.Asking{Lasts: time.Minute})
		return err
	}
	for _, tt := range []struct {
		who, id string
		full    bool
	}{{"key:a", "1", false}, {"key:a", "2", false}, {"key:a", "3", false}, {"key:a", "4", true}, {"key:a", "3", false}, {"key:b", "1", false}} {
		err := ask(tt.who, tt.id)
		if full := new(guard.QuotaError); errors.As(err, &full) != tt.full || err != nil && !tt.full {
			t.Errorf("%s %s: %v, want full %t", tt.who, tt.id, err, tt.full)
		}
	}
	if _, _, err := intents.Report(t.Context(), as("key:a", report("1")), intent.Report{Status: "SUCCESS"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(5 * time.Second)
	if err := ask("key:a", "4"); err != nil {
		t.Errorf("after a report: %v", err)
	}
}

// headReads counts how often a session's memory is looked for in the store.
type headReads struct {
	store.Store
	n atomic.Int32
}

func (c *headReads) KeyHead(ctx context.Context, key ledger.Key) (act.Position, bool, error) {
	c.n.Add(1)
	return c.Store.KeyHead(ctx, key)
}

// TestThreat25SessionsShare: a principal with any number of sessions pushes none of
// another's out of memory, and is itself answered as before.
func TestThreat25SessionsShare(t *testing.T) {
	db, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reads := &headReads{Store: db}
	n := openOn(t, reads, func(c *guard.Config) { c.SessionBytes = 64 << 10 })
	n.decide(t, as("key:quiet", call("mine", "1", "read", "notes")))
	for i := range 300 {
		n.decide(t, as("key:loud", call(fmt.Sprint("s", i), "1", "read", "notes")))
	}
	if held, bytes := n.Sessions(); held >= 300 || bytes > 64<<10 {
		t.Fatalf("%d sessions, %d bytes are held: the bound was not reached", held, bytes)
	}
	for _, tt := range []struct {
		principal, session string
		reads              int32
	}{{"key:quiet", "mine", 0}, {"key:loud", "s299", 0}, {"key:loud", "s0", 1}} {
		before := reads.n.Load()
		if d, _ := n.decide(t, as(tt.principal, result(tt.session, "1"))); d.Effect != act.Allow {
			t.Errorf("%s of %s has forgotten its call: %+v", tt.session, tt.principal, d.Reasons)
		}
		if got := reads.n.Load() - before; got != tt.reads {
			t.Errorf("%s of %s was read %d times, want %d", tt.session, tt.principal, got, tt.reads)
		}
	}
}
