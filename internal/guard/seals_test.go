package guard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/jackc/pgx/v5"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// forger is somebody who can write a node's database, and has not its seed.
type forger struct {
	*testing.T
	*node
	rules  string
	begins func() store.Store
	writes func(sqlite, postgres string, args ...any)
}

// forgers runs an attack on both stores: while the node runs, and while it does not.
func forgers(t *testing.T, rules string, prepare func(f *forger) (attack func(), holds func())) {
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stopped %v", kind, stopped), func(t *testing.T) {
				f := &forger{T: t, rules: rules}
				if kind == "SQLite" {
					f.inSQLite(t.TempDir())
				} else {
					f.inPostgres(storetest.Postgres(t))
				}
				f.start()
				attack, holds := prepare(f)
				if stopped {
					f.node.close()
				}
				attack()
				if stopped {
					f.start()
				}
				holds()
			})
		}
	}
}

func (f *forger) start() {
	f.node = openOn(f.T, f.begins(), func(c *guard.Config) { c.Policy = load(f.T, f.rules) })
}

func (f *forger) inSQLite(dir string) {
	f.begins = func() store.Store {
		s, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			f.Fatal(err)
		}
		return s
	}
	f.writes = func(text, _ string, args ...any) {
		f.Helper()
		c, err := driver.OpenConn(filepath.Join(dir, "reeve.db"), driver.OpenReadWrite)
		if err != nil {
			f.Fatal(err)
		}
		defer c.Close()
		c.SetBusyTimeout(5 * time.Second)
		if err := sqlitex.Execute(c, text, &sqlitex.ExecOptions{Args: args}); err != nil {
			f.Fatalf("%s: %v", text, err)
		}
	}
}

func (f *forger) inPostgres(url string) {
	f.begins = func() store.Store {
		s, err := postgres.Open(f.Context(), url)
		if err != nil {
			f.Fatal(err)
		}
		return s
	}
	f.writes = func(_, text string, args ...any) {
		f.Helper()
		ctx := context.Background()
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			f.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, "SET search_path = reeve"); err != nil {
			f.Fatal(err)
		}
		if _, err := c.Exec(ctx, text, args...); err != nil {
			f.Fatalf("%s: %v", text, err)
		}
	}
}

// both is writes for a statement that both read alike, but for how parameters are named.
func (f *forger) both(text string, args ...any) {
	f.Helper()
	f.writes(text, text, args...)
}

func (f *forger) item(kind, id string) ledger.Item {
	f.Helper()
	item, err := f.store.Item(f.Context(), kind, id)
	if err != nil {
		f.Fatal(err)
	}
	return item
}

// set writes what an item says, and no seal anew.
func (f *forger) set(item ledger.Item) {
	f.Helper()
	f.writes(`UPDATE item SET data = ?, open = ?, owner = ? WHERE kind = ? AND id = ?`,
		`UPDATE item SET data = $1, open = $2, owner = $3 WHERE kind = $4 AND id = $5`, item.Data, item.Open, item.Owner, item.Kind, item.ID)
}

// restore puts a row back as it was, with its version and its seal.
func (f *forger) restore(item ledger.Item) {
	f.Helper()
	due := int64(0)
	if !item.Due.IsZero() {
		due = item.Due.UnixNano()
	}
	f.both(fmt.Sprintf(`DELETE FROM item WHERE kind = '%s' AND id = '%s'`, item.Kind, item.ID))
	f.writes(`INSERT INTO item (kind, id, version, open, due, data, owner, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		`INSERT INTO item (kind, id, log, index, open, due, data, owner, seal) VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8)`,
		item.Kind, item.ID, int64(item.Version.Index), item.Open, due, item.Data, item.Owner, item.Seal)
}

func (f *forger) passes(what string, a *act.Action) {
	f.Helper()
	if d, _, err := f.Decide(f.Context(), a); err == nil && (d.Effect == act.Allow || d.Effect == act.Modify) {
		f.Errorf("%s: it passes: %+v", what, d)
	}
}

// TestThreat29Approval: whoever writes the database agrees to nothing: not by changing what is
// held, by making a row, by a used agreement as it was before, or by another one's row.
func TestThreat29Approval(t *testing.T) {
	agreed := func(f *forger, item ledger.Item) ledger.Item {
		h, err := approval.Parse(item.Data)
		if err != nil {
			f.Fatal(err)
		}
		h.State, h.Sealed = approval.Approved, nil
		h.Answers = []approval.Answer{{By: "key:alice", At: time.Now(), Agree: true}}
		item.Open = true
		if item.Data, err = h.Data(); err != nil {
			f.Fatal(err)
		}
		return item
	}
	t.Run("agreed to", func(t *testing.T) {
		forgers(t, asking, func(f *forger) (func(), func()) {
			d, _ := f.decide(f.T, call("s", "1", "transfer", "100"))
			item := agreed(f, f.item("approval", d.Approval.ID))
			return func() { f.set(item) }, func() { f.passes("agreed to by a row", call("s", "2", "transfer", "100")) }
		})
	})
	t.Run("without a seal", func(t *testing.T) {
		forgers(t, asking, func(f *forger) (func(), func()) {
			d, _ := f.decide(f.T, call("s", "1", "transfer", "100"))
			item := agreed(f, f.item("approval", d.Approval.ID))
			item.Seal = []byte{}
			return func() { f.restore(item) }, func() { f.passes("a row without a seal", call("s", "2", "transfer", "100")) }
		})
	})
	t.Run("used again", func(t *testing.T) {
		forgers(t, asking, func(f *forger) (func(), func()) {
			d, _ := f.decide(f.T, call("s", "1", "transfer", "100"))
			f.answer(f.T, d, true)
			item := f.item("approval", d.Approval.ID)
			if d, _ := f.decide(f.T, call("s", "2", "transfer", "100")); d.Effect != act.Allow {
				f.Fatalf("%+v", d)
			}
			return func() { f.restore(item) }, func() { f.passes("an agreement that was used", call("s", "3", "transfer", "100")) }
		})
	})
	t.Run("of another act", func(t *testing.T) {
		forgers(t, asking, func(f *forger) (func(), func()) {
			one, _ := f.decide(f.T, call("s", "1", "transfer", "1"))
			two, _ := f.decide(f.T, call("s", "2", "transfer", "1000"))
			f.answer(f.T, one, true)
			agreed, held := f.item("approval", one.Approval.ID), f.item("approval", two.Approval.ID)
			agreed.ID = held.ID
			return func() { f.restore(agreed) }, func() { f.passes("another one's row", call("s", "3", "transfer", "1000")) }
		})
	})
	t.Run("of another seed", func(t *testing.T) {
		forgers(t, asking, func(f *forger) (func(), func()) {
			d, _ := f.decide(f.T, call("s", "1", "transfer", "100"))
			item := agreed(f, f.item("approval", d.Approval.ID))
			other, err := ledger.NewSealer([]byte("another seed of thirty-two bytes"))
			if err != nil {
				f.Fatal(err)
			}
			item.Seal = other.Item(&item)
			return func() { f.restore(item) }, func() { f.passes("a row of another node", call("s", "2", "transfer", "100")) }
		})
	})
}

// TestThreat29Grant: a grant that was taken back is not given back by its row, nor is one
// stretched or made.
func TestThreat29Grant(t *testing.T) {
	for name, forge := range map[string]func(f *forger, was ledger.Item){
		"put back": func(f *forger, was ledger.Item) { f.restore(was) },
		"changed":  func(f *forger, was ledger.Item) { f.set(was) },
		"unsealed": func(f *forger, was ledger.Item) { was.Seal = []byte{}; f.restore(was) },
	} {
		t.Run(name, func(t *testing.T) {
			forgers(t, asking, func(f *forger) (func(), func()) {
				d, _ := f.decide(f.T, call("s", "1", "transfer", "100"))
				h, err := f.Answer(f.Context(), d.Approval.ID, alice, guard.Reply{Agree: true, Seen: f.seen(f.T, d), For: approval.Span{Until: time.Now().Add(time.Hour)}})
				if err != nil || h.Grant == "" {
					f.Skipf("no grant: %+v %v", h, err)
				}
				if d, _ := f.decide(f.T, call("s", "2", "transfer", "100")); d.Effect != act.Allow {
					f.Fatalf("%+v", d)
				}
				if d, _ := f.decide(f.T, call("s", "3", "transfer", "100")); d.Effect != act.Allow {
					f.Fatalf("by the grant: %+v", d)
				}
				item := f.item("grant", h.Grant)
				if _, err := f.Revoke(f.Context(), h.Grant, alice, ""); err != nil {
					f.Fatal(err)
				}
				return func() { forge(f, item) }, func() { f.passes("a grant that was taken back", call("s", "4", "transfer", "100")) }
			})
		})
	}
}

// TestThreat29Agent: an agent that is barred stays so, whatever becomes of its row while the
// node runs and while it does not. One of whose bar nobody knows any more is let go by its operator.
func TestThreat29Agent(t *testing.T) {
	for name, forge := range map[string]func(f *forger, active ledger.Item){
		"open is unset":   func(f *forger, _ ledger.Item) { f.writes(`UPDATE item SET open = 0`, `UPDATE item SET open = false`) },
		"made active":     func(f *forger, active ledger.Item) { f.set(active) },
		"put back":        func(f *forger, active ledger.Item) { f.restore(active) },
		"emptied":         func(f *forger, active ledger.Item) { active.Data, active.Open = []byte{}, false; f.set(active) },
		"without a seal":  func(f *forger, active ledger.Item) { active.Seal = []byte{}; f.restore(active) },
		"taken away":      func(f *forger, _ ledger.Item) { f.both(`DELETE FROM item WHERE id = 'did:a'`) },
		"all taken away":  func(f *forger, _ ledger.Item) { f.both(`DELETE FROM item`) },
		"under new names": func(f *forger, _ ledger.Item) { f.both(`UPDATE item SET id = 'did:x' WHERE id = 'did:a'`) },
	} {
		t.Run(name, func(t *testing.T) {
			forgers(t, rules, func(f *forger) (func(), func()) {
				if _, err := f.SetAgent(f.Context(), "did:a", agent.Active, "", alice); err != nil {
					f.Fatal(err)
				}
				active := f.item("agent", "did:a")
				if _, err := f.SetAgent(f.Context(), "did:a", agent.Revoked, "", alice); err != nil {
					f.Fatal(err)
				}
				return func() { forge(f, active) }, func() {
					if _, err := f.LoadAgents(f.Context()); err != nil {
						f.Log(err)
					}
					a := call("s", "1", "read", "x")
					a.Agent.ID = "did:a"
					f.passes("a barred agent", a)
					if known, err := f.Agent(f.Context(), "did:a"); err == nil && known.State == agent.Active {
						f.Errorf("it is active: %+v", known)
					}
					if _, err := f.SetAgent(f.Context(), "did:b", agent.Active, "", alice); err != nil {
						f.Fatal(err)
					}
					a = call("s", "2", "read", "x")
					a.Agent.ID = "did:b"
					if d, _, err := f.Decide(f.Context(), a); err != nil || d.Effect != act.Allow {
						f.Errorf("another agent, once its operator has said so: %+v, %v", d, err)
					}
				}
			})
		})
	}
}

// TestUnsealed: what an earlier version wrote is believed until it is sealed, and nothing that is
// forged then.
func TestUnsealed(t *testing.T) {
	dir := t.TempDir()
	f := &forger{T: t, rules: asking}
	f.inSQLite(dir)
	f.start()
	d, _ := f.decide(t, call("s", "1", "transfer", "100"))
	f.answer(t, d, true)
	f.node.close()
	f.both(`UPDATE item SET seal = x''`)
	old, err := os.ReadFile(filepath.Join(dir, "reeve.db"))
	if err != nil {
		t.Fatal(err)
	}
	f.start() // sealed, as it says of itself
	f.passes("without a seal", call("s", "2", "transfer", "100"))
	f.node.close()
	if err := os.WriteFile(filepath.Join(dir, "reeve.db"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	f.node = openOn(t, f.begins(), func(c *guard.Config) { c.Policy, c.Unsealed = load(t, asking), true })
	if d, _ := f.decide(t, call("s", "3", "transfer", "100")); d.Effect != act.Allow {
		t.Errorf("what an earlier version wrote: %+v", d)
	}
	two, _ := f.decide(t, call("s", "4", "transfer", "200"))
	f.answer(t, two, true)
	f.both(`UPDATE item SET seal = x''`)
	f.Sealed()
	f.passes("once it is sealed", call("s", "5", "transfer", "200"))
	if _, err := f.Approval(t.Context(), two.Approval.ID); !errors.As(err, new(*guard.DamagedError)) {
		t.Errorf("%v", err)
	}
}
