package guard_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/rawjson"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// damages are what a disk, or somebody at it, can make of an item.
var damages = map[string]string{
	"nothing": "", "cut off": `{"id":"`, "garbage": "\x00\xff\xfe{", "another kind": `[1, 2]`, "null": "null", "no members": "{}", "wrong members": `{"id":7,"state":[],"did":{},"verdict":"x"}`,
}

// damage overwrites an item, behind the store's back.
func damage(t *testing.T, dir, kind, id, data string) {
	t.Helper()
	c, err := sqlite.OpenConn(filepath.Join(dir, "reeve.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = sqlitex.Execute(c, `UPDATE item SET data = ? WHERE kind = ? AND id = ?`, &sqlitex.ExecOptions{Args: []any{[]byte(data), kind, id}})
	if err != nil || c.Changes() != 1 {
		t.Fatalf("%d items were damaged: %v", c.Changes(), err)
	}
}

// TestDamagedApproval: nobody lets pass what a damaged held decision is about, the
// same act asked for again does not pass either, and the others end in their time.
func TestDamagedApproval(t *testing.T) {
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n, now := asker(t, dir)
			var held []string
			for _, amount := range []string{"1", "2", "3"} {
				d, _ := n.decide(t, call("s", amount, "transfer", amount))
				held = append(held, d.Approval.ID)
			}
			damage(t, dir, "approval", held[1], data)
			if h, err := n.Answer(t.Context(), held[1], alice, guard.Reply{Agree: true}); err == nil {
				t.Errorf("the damaged one was approved: %+v", h)
			}
			a := call("s", "4", "transfer", "2")
			if d, _, err := n.Decide(t.Context(), a); err == nil && (d.Effect == act.Allow || d.Effect == act.Modify) {
				t.Errorf("what it is about: %+v", d)
			}
			if _, _, _, err := n.Approvals(t.Context(), true, false, "", 0); err != nil {
				t.Log(err)
			}
			if d, _ := n.decide(t, call("s", "5", "read", "1")); d.Effect != act.Allow {
				t.Errorf("another act: %+v", d)
			}
			*now = now.Add(2 * approval.Within)
			if err := n.ExpireApprovals(t.Context()); err != nil {
				t.Log(err)
			}
			for _, id := range []string{held[0], held[2]} {
				if item, err := n.store.Item(t.Context(), "approval", id); err != nil || item.Open {
					t.Errorf("a sound one still waits: %+v, %v", item, err)
				}
			}
		})
	}
}

// TestDamagedIntent: an intent that is damaged keeps no other from being ended.
func TestDamagedIntent(t *testing.T) {
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n, now := asker(t, dir)
			for _, id := range []string{"1", "2", "3"} {
				a, _, err := n.Ask(t.Context(), intentOf(id, "read", id), intent.Asking{Lasts: time.Minute})
				if err != nil || a.Verdict.Effect != act.Allow {
					t.Fatalf("%+v, %v", a, err)
				}
			}
			items, err := n.store.Items(t.Context(), ledger.ItemQuery{Kind: "intent", Open: true})
			if err != nil || len(items) != 3 {
				t.Fatalf("%d intents are open: %v", len(items), err)
			}
			damage(t, dir, "intent", items[0].ID, data) // the first, by which the others would wait
			*now = now.Add(24 * time.Hour)
			ended, err := n.Expire(t.Context())
			if len(ended) < 2 {
				t.Errorf("%d were ended: %v", len(ended), err)
			}
			for _, item := range items[1:] {
				if item, err := n.store.Item(t.Context(), "intent", item.ID); err != nil || item.Open {
					t.Errorf("a sound one is still open: %+v, %v", item, err)
				}
			}
		})
	}
}

// TestDamagedAgent: an agent that is barred stays so, whatever became of what is stored
// of it. The node starts, and the others are answered.
func TestDamagedAgent(t *testing.T) {
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := open(t, dir, nil)
			for _, did := range []string{"did:a", "did:b"} {
				if _, err := n.SetAgent(t.Context(), did, agent.Revoked, "", alice); err != nil {
					t.Fatal(err)
				}
			}
			n.close()
			damage(t, dir, "agent", "did:a", data)
			n = open(t, dir, nil)
			for i, tt := range []struct {
				did  string
				want act.Effect
			}{{"did:a", act.Deny}, {"did:b", act.Deny}, {"did:c", act.Allow}} {
				a := call("s"+tt.did, fmt.Sprint(i), "read", "x")
				a.Agent.ID = tt.did
				if d, _ := n.decide(t, a); d.Effect != tt.want {
					t.Errorf("%s: %+v", tt.did, d)
				}
			}
			if _, err := n.SetAgent(t.Context(), "did:a", agent.Active, "", alice); err == nil {
				t.Error("the damaged one was made active")
			}
		})
	}
}

// TestDamagedAgentOpen: what says that an agent is barred is no integer any more: it stays
// barred.
func TestDamagedAgentOpen(t *testing.T) {
	for _, value := range []string{"'x'", "2", "-1", "0.5", "x'ff'", "''"} {
		t.Run(value, func(t *testing.T) {
			dir := t.TempDir()
			n := open(t, dir, nil)
			if _, err := n.SetAgent(t.Context(), "did:a", agent.Revoked, "", alice); err != nil {
				t.Fatal(err)
			}
			n.close()
			c, err := sqlite.OpenConn(filepath.Join(dir, "reeve.db"), sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			if err := sqlitex.Execute(c, `UPDATE item SET open = `+value+` WHERE kind = 'agent'`, nil); err != nil || c.Changes() != 1 {
				t.Fatalf("%d items were damaged: %v", c.Changes(), err)
			}
			c.Close()
			n = open(t, dir, nil)
			a := call("s", "1", "read", "x")
			a.Agent.ID = "did:a"
			if d, _ := n.decide(t, a); d.Effect != act.Deny {
				t.Errorf("%+v", d)
			}
		})
	}
}

// definitions are the tools that an MCP server lists.
func definitions(t *testing.T, list ...string) (all []rawjson.Value) {
	t.Helper()
	for _, text := range list {
		doc, err := rawjson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc.Root())
	}
	return all
}

// TestDamagedLists: of every kind, one that is damaged fails no list, is named in it, and
// what depends on it is denied or refused; the others are as they were.
func TestDamagedLists(t *testing.T) {
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n, _ := asker(t, dir)
			ids := map[string]string{} // of the one that is damaged, by kind
			for _, s := range []string{"1", "2"} {
				held, _ := n.decide(t, call("s"+s, s, "transfer", s))
				ids["approval"] = held.Approval.ID
				n.ask(t, intentOf(s, "read", s))
				if _, err := n.SetAgent(t.Context(), "did:"+s, agent.Suspended, "", alice); err != nil {
					t.Fatal(err)
				}
				if _, err := n.pins.Compare(t.Context(), alice, "server "+s, pins.TrustFirst, definitions(t, `{"name":"x"}`)); err != nil {
					t.Fatal(err)
				}
			}
			for _, kind := range []string{"intent", "agent", "mcp.tool"} {
				items, err := n.store.Items(t.Context(), ledger.ItemQuery{Kind: kind})
				if err != nil || len(items) != 2 {
					t.Fatalf("%s: %d, %v", kind, len(items), err)
				}
				ids[kind] = items[0].ID
			}
			n.close()
			for kind, id := range ids {
				damage(t, dir, kind, id, data)
			}
			n, _ = asker(t, dir) // the node starts
			check := func(kind string, sound int, bad []*guard.DamagedError, err error) {
				t.Helper()
				if err != nil || sound != 1 || len(bad) != 1 || bad[0].ID != ids[kind] || bad[0].Kind != kind {
					t.Errorf("%s: %d sound, %v, %v", kind, sound, bad, err)
				}
			}
			approvals, bad, _, err := n.Approvals(t.Context(), true, false, "", 10)
			check("approval", len(approvals), bad, err)
			agents, bad, _, err := n.Agents(t.Context(), "", 10)
			check("agent", len(agents), bad, err)
			intents, bad, err := n.Of(t.Context(), "did:a", false)
			check("intent", len(intents), bad, err)
			servers, bad, err := n.pins.Servers(t.Context())
			check("mcp.tool", len(servers), bad, err)
			if _, err := n.Approval(t.Context(), ids["approval"]); err == nil {
				t.Error("the damaged approval is shown")
			}
			refused := 0
			for _, s := range []string{"server 1", "server 2"} {
				if held, err := n.pins.Compare(t.Context(), alice, s, pins.TrustFirst, definitions(t, `{"name":"x"}`)); err != nil {
					refused++
				} else if len(held) > 0 {
					t.Errorf("%s: %v", s, held)
				}
			}
			if refused != 1 {
				t.Errorf("the tools of %d of 2 servers were refused", refused)
			}
		})
	}
}
