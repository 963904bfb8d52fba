package engine_test

import (
	"context"
	"crypto/sha256"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// plain is a call of a tool in a session.
func plain(session, id string) *act.Action {
	return &act.Action{
		Door: "aos", Method: "steps/toolCallRequest", Kind: act.ToolCall, Principal: act.Anonymous, At: time.Now(),
		Agent: act.Agent{ID: "a"}, Session: session, Turn: "t", Step: "step-" + id, ID: id, Resource: "read", Canonical: "read",
		Body: []byte(`{"jsonrpc":"2.0","id":1,"params":{}}`), Digest: sha256.Sum256([]byte(id)),
	}
}

// before is what there is of each kind before a row is damaged.
type before struct {
	secret      string // of an API key
	tree, other task.ID
	held        string // an approval
	waits       task.ID
	rows        int // tasks
}

// damagedRows is what a disk, or somebody at it, can do to each kind of row, and what
// must be so then. That the node works for everybody else is tried after each.
var damagedRows = []struct {
	name             string
	sqlite, postgres string // empty: the columns' types do not let it be
	closed           bool   // SQLite's node does not open, and says why
	check            func(t *testing.T, n *node, b *before)
}{
	{
		name:     "what a session remembers",
		postgres: `UPDATE batch SET claims = '\xff'`, sqlite: `UPDATE batch SET claims = x'ff'`, closed: true,
		check: func(t *testing.T, n *node, _ *before) { remembersNothing(t, n) },
	}, {
		name:     "where a session was written",
		postgres: `UPDATE session_head SET index = -5`,
		check:    func(t *testing.T, n *node, _ *before) { remembersNothing(t, n) },
	}, {
		name: "the index of sessions", sqlite: `INSERT INTO head_run VALUES (99, 1, 1, 1)`,
		check: func(t *testing.T, n *node, _ *before) { // it is made again
			if d, _, err := n.guard.Decide(t.Context(), plain("old", "2")); err != nil || d.Effect != act.Allow {
				t.Errorf("in a session that the index forgot: %+v, %v", d, err)
			}
		},
	}, {
		name:     "a key's hash",
		postgres: `UPDATE api_key SET hash = substring(hash from 1 for 5)`, sqlite: `UPDATE api_key SET hash = substr(hash, 1, 5)`, check: letsNobodyIn,
	}, {
		name:     "a key's hash that is too long",
		postgres: `UPDATE api_key SET hash = hash || '\x00'`, sqlite: `UPDATE api_key SET hash = CAST(hash || x'00' AS BLOB)`, check: letsNobodyIn,
	}, {
		name:   "when a key was revoked",
		sqlite: `UPDATE api_key SET revoked = 'no'`, check: letsNobodyIn,
	}, {
		name:     "a key's role",
		postgres: `UPDATE api_key SET role = 'boss'`, sqlite: `UPDATE api_key SET role = x'ff'`, check: letsNobodyIn,
	}, {
		name:     "a task's definition, cut off",
		postgres: `UPDATE task_text SET definition = '{"' WHERE id = $1`, sqlite: `UPDATE task_text SET definition = '{"' WHERE id = ?`, check: endsUnexecuted,
	}, {
		name:     "a task's definition, none",
		postgres: `UPDATE task_text SET definition = 'null' WHERE id = $1`, sqlite: `UPDATE task_text SET definition = 7 WHERE id = ?`, check: endsUnexecuted,
	}, {
		name:     "a task's phase",
		postgres: `UPDATE task SET phase = 77 WHERE id = $1`, sqlite: `UPDATE task SET phase = 'x' WHERE id = ?`, check: isNotExecuted,
	}, {
		name:   "a task's attempts",
		sqlite: `UPDATE task SET attempt = x'00' WHERE id = ?`, check: isNotExecuted,
	}, {
		name:     "where an approval was written",
		postgres: `UPDATE item SET index = -1 WHERE kind = 'approval'`, sqlite: `UPDATE item SET version = 'x' WHERE kind = 'approval'`, check: letsNothingPass,
	}, {
		name:   "when an approval expires",
		sqlite: `UPDATE item SET due = 'never' WHERE kind = 'approval'`, check: letsNothingPass,
	}, {
		name:     "an approval",
		postgres: `UPDATE item SET data = '\x00' WHERE kind = 'approval'`, sqlite: `UPDATE item SET data = 1.5 WHERE kind = 'approval'`, check: letsNothingPass,
	}, {
		name:     "events",
		postgres: `UPDATE task_event SET type = 200, status = 99, at = -1`, sqlite: `UPDATE task_event SET type = 'x', status = 99, at = x'ff'`,
		check: func(t *testing.T, n *node, b *before) {
			if _, err := n.Events(t.Context(), engine.Caller{}, b.other, 0, 100); err != nil {
				t.Error(err)
			}
		},
	}, {
		name:     "a kept policy",
		postgres: `UPDATE policy SET text = '\xff'`, sqlite: `UPDATE policy SET text = 3`,
		check: func(*testing.T, *node, *before) {}, // it is read by who looks back alone
	},
}

// remembersNothing: what depends on a session's memory is not answered.
func remembersNothing(t *testing.T, n *node) {
	if d, _, err := n.guard.Decide(t.Context(), plain("old", "2")); err == nil && d.Effect == act.Allow {
		t.Errorf("in the session whose memory is damaged: %+v", d)
	}
}

// letsNobodyIn: the damaged key is listed, lets nobody in, and is not as if it were none.
func letsNobodyIn(t *testing.T, n *node, b *before) {
	keys, err := n.store.Keys(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys: %v", len(keys), err)
	}
	auth, err := identity.New(identity.Config{Anonymous: identity.UntilFirstKey})
	if err != nil {
		t.Fatal(err)
	}
	auth.SetKeys(keys)
	for _, secret := range []string{b.secret, ""} {
		r := httptest.NewRequest("POST", "/", nil)
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		if p, role, err := auth.Authenticate(r); err == nil {
			t.Errorf("%s is let in as %s", p.Name, role)
		}
	}
}

// endsUnexecuted: the task fails for what it is, once, and is shown to be damaged.
func endsUnexecuted(t *testing.T, n *node, b *before) {
	if list, err := n.List(t.Context(), engine.Caller{}, task.Query{Limit: 100}); err != nil || !broken(list, b.tree) {
		t.Errorf("the list does not tell of it: %v", err)
	}
	if _, err := n.Get(t.Context(), engine.Caller{}, b.tree); err == nil {
		t.Error("it is shown as if it were sound")
	}
	if _, err := n.Execute(t.Context(), engine.Caller{}, b.tree, engine.Making{}); err == nil {
		if r := n.until(b.tree, func(r task.Row) bool { return r.Open == 0 }); r.Status() != task.Failed || !strings.Contains(r.Error, "damaged") {
			t.Errorf("it is %s: %s", r.Status(), r.Error)
		}
	}
	isNotExecuted(t, n, b)
}

func broken(list []*task.Task, id task.ID) bool {
	for _, t := range list {
		if t.ID == id {
			return t.Broken != nil && strings.Contains(t.Error, "damaged")
		}
	}
	return false
}

func isNotExecuted(t *testing.T, n *node, b *before) {
	n.Execute(t.Context(), engine.Caller{}, b.tree, engine.Making{}) // whatever is said
	time.Sleep(50 * time.Millisecond)
	for _, name := range n.works.names() {
		if name == "damaged" {
			t.Error("it was executed")
		}
	}
}

// letsNothingPass: an approval that cannot be read approves nothing, and is told of.
func letsNothingPass(t *testing.T, n *node, b *before) {
	if h, err := n.guard.Answer(t.Context(), b.held, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true}); err == nil {
		t.Errorf("it was approved: %+v", h)
	}
	if list, bad, _, err := n.guard.Approvals(t.Context(), false, false, "", 10); err != nil || len(list) != 0 || len(bad) != 1 || bad[0].ID != b.held {
		t.Errorf("%d sound, %v, %v", len(list), bad, err)
	}
	if r := n.until(b.waits, func(r task.Row) bool { return r.Open == 0 }); r.Status() != task.Failed || !strings.Contains(r.Error, "damaged") {
		t.Errorf("what waited for it is %s: %s", r.Status(), r.Error)
	}
	for _, name := range n.works.names() {
		if name == "held" {
			t.Error("what waited for it was executed")
		}
	}
}

// TestDamagedRows damages each kind of row, and has the node work on it: it denies what
// depends on the row, tells of it, and does everything else.
func TestDamagedRows(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, tt := range damagedRows {
			damage := tt.sqlite
			if kind == "postgres" {
				damage = tt.postgres
			}
			if damage == "" {
				continue
			}
			t.Run(kind+"/"+tt.name, func(t *testing.T) {
				dir, url := t.TempDir(), ""
				start := func() *node { return open(t, dir) }
				if kind == "postgres" {
					url = storetest.Postgres(t)
					start = func() *node { return openShared(t, url) }
				}
				n := start()
				b := n.fill()
				n.stop()
				if kind == "postgres" {
					damagePostgres(t, url, damage, b.tree)
				} else {
					damageSQLite(t, dir, damage, b.tree)
				}
				if tt.closed && kind == "sqlite" {
					store, err := sqlite.Open(dir, sqlite.Options{})
					if err == nil {
						store.Close()
					}
					if err == nil || !strings.Contains(err.Error(), "damaged") {
						t.Errorf("it opens: %v", err)
					}
					return
				}
				n = start()
				tt.check(t, n, b)
				n.worksForOthers(b)
			})
		}
	}
}

// fill makes a row of each kind.
func (n *node) fill() *before {
	b, ctx := &before{}, n.t.Context()
	if d, _, err := n.guard.Decide(ctx, plain("old", "1")); err != nil || d.Effect != act.Allow {
		n.t.Fatalf("%+v, %v", d, err)
	}
	key, secret, err := identity.NewKey("a", identity.Admin, "", "", time.Now())
	if err == nil {
		err = n.store.PutKey(ctx, key)
	}
	if err == nil {
		err = n.store.PutPolicy(ctx, "hash", []byte(rules), time.Now())
	}
	if err != nil {
		n.t.Fatal(err)
	}
	b.secret = secret
	tasks, top, err := task.DecodeTasks(jsontext.Value(`{"name":"damaged","schemas":{"method":"echo"},"inputs":{"n":1}}`), task.Reading{Now: time.Now()})
	if err == nil {
		b.tree, err = n.Create(ctx, engine.Caller{}, tasks, top, engine.Making{})
	}
	if err != nil {
		n.t.Fatal(err)
	}
	b.other, _ = n.execute(`{"name":"sound","schemas":{"method":"echo"}}`)
	n.wait(b.other)
	b.waits, _ = n.execute(`{"name":"held","schemas":{"method":"pay"}}`)
	b.held = n.until(b.waits, func(r task.Row) bool { return r.Phase == task.Held }).Held
	if b.rows, err = n.Count(ctx, engine.Caller{}, task.Query{}); err != nil {
		n.t.Fatal(err)
	}
	return b
}

// worksForOthers has the node do what does not depend on what is damaged.
func (n *node) worksForOthers(b *before) {
	n.t.Helper()
	ctx := n.t.Context()
	if d, _, err := n.guard.Decide(ctx, plain("new", "1")); err != nil || d.Effect != act.Allow {
		n.t.Errorf("an act in a session of its own: %+v, %v", d, err)
	}
	root, _ := n.execute(`{"name":"fine","schemas":{"method":"echo"}}`)
	if r := n.until(root, func(r task.Row) bool { return r.Open == 0 }); r.Status() != task.Completed {
		n.t.Errorf("another task is %s: %s", r.Status(), r.Error)
	}
	list, err := n.List(ctx, engine.Caller{}, task.Query{Limit: 100})
	if err != nil || len(list) != b.rows+1 {
		n.t.Errorf("%d tasks are listed, want %d: %v", len(list), b.rows+1, err)
	}
	if _, err := n.store.Keys(ctx); err != nil {
		n.t.Errorf("keys: %v", err)
	}
	if err := n.guard.ExpireApprovals(ctx); err != nil {
		n.t.Logf("approvals: %v", err)
	}
}

func damageSQLite(t *testing.T, dir, text string, id task.ID) {
	t.Helper()
	c, err := zombiezen.OpenConn(filepath.Join(dir, "reeve.db"), zombiezen.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var args []any
	if strings.Contains(text, "?") {
		args = []any{id[:]}
	}
	if err := sqlitex.Execute(c, text, &sqlitex.ExecOptions{Args: args}); err != nil || c.Changes() == 0 {
		t.Fatalf("%d rows were damaged: %v", c.Changes(), err)
	}
}

func damagePostgres(t *testing.T, url, text string, id task.ID) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), "SET search_path TO reeve"); err != nil {
		t.Fatal(err)
	}
	var args []any
	if strings.Contains(text, "$1") {
		args = []any{id.String()}
	}
	if tag, err := c.Exec(t.Context(), text, args...); err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%d rows were damaged: %v", tag.RowsAffected(), err)
	}
}
