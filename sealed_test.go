package reeve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// database is a node's, and somebody who writes it and has not the seed.
type database struct {
	*testing.T
	url  string // of PostgreSQL
	dir  string
	seed string
	node *Node
}

func databases(t *testing.T, test func(t *testing.T, d *database)) {
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			d := &database{T: t, dir: t.TempDir(), seed: filepath.Join(t.TempDir(), "seed")}
			if err := os.WriteFile(d.seed, []byte(strings.Repeat("07", 32)), 0o600); err != nil {
				t.Fatal(err)
			}
			if kind == "PostgreSQL" {
				d.url = storetest.Postgres(t)
			}
			d.open()
			test(t, d)
		})
	}
}

func (d *database) config() Config {
	flags := map[string]string{"data": d.dir, "ledger-seed": "file:" + d.seed}
	if d.url != "" {
		flags["database"] = d.url
	}
	cfg, err := Load("", func(string) string { return "" }, flags)
	if err != nil {
		d.Fatal(err)
	}
	return cfg
}

func (d *database) open() {
	d.Helper()
	settings := []string{"data", d.dir, "ledger-seed", "file:" + d.seed}
	if d.url != "" {
		settings = append(settings, "database", d.url)
	}
	d.node = openNode(d.T, settings...)
}

// again ends the node, has somebody do something meanwhile, and starts it.
func (d *database) again(meanwhile ...string) {
	d.Helper()
	if err := d.node.Close(); err != nil {
		d.Fatal(err)
	}
	d.exec(meanwhile...)
	d.open()
}

func (d *database) exec(statements ...string) {
	d.Helper()
	for _, text := range statements {
		var err error
		if d.url == "" {
			var c *sqlite.Conn
			if c, err = sqlite.OpenConn(filepath.Join(d.dir, "reeve.db"), sqlite.OpenReadWrite); err == nil {
				c.SetBusyTimeout(5 * time.Second)
				err = sqlitex.ExecuteScript(c, text, nil)
				c.Close()
			}
		} else {
			ctx := context.Background()
			var c *pgx.Conn
			if c, err = pgx.Connect(ctx, d.url); err == nil {
				if _, err = c.Exec(ctx, `SET search_path = reeve`); err == nil {
					_, err = c.Exec(ctx, text)
				}
				c.Close(ctx)
			}
		}
		if err != nil {
			d.Fatalf("%s: %v", text, err)
		}
	}
}

// bytes is a literal of bytes.
func (d *database) bytes(b []byte) string {
	if d.url == "" {
		return fmt.Sprintf("x'%x'", b)
	}
	return `'\x` + hex.EncodeToString(b) + `'`
}

func (d *database) create(name string, role identity.Role) (secret string) {
	d.Helper()
	var key operator.KeyInfo
	if err := operator.Within(d.node.Admin()).Ask(d.Context(), "POST", "/admin/keys", operator.KeyInfo{Name: name, Role: string(role)}, &key); err != nil {
		d.Fatal(err)
	}
	return key.Secret
}

func (d *database) revoke(name string) {
	d.Helper()
	if err := operator.Within(d.node.Admin()).Ask(d.Context(), "POST", "/admin/keys/revoke", operator.KeyName{Name: name}, &operator.KeyInfo{}); err != nil {
		d.Fatal(err)
	}
}

// role is what a caller with a secret may do; "" for one who is not let in.
func (d *database) role(secret string) identity.Role {
	d.Helper()
	if err := d.node.keys.Reload(d.Context()); err != nil {
		d.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/", nil)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	_, role, err := d.node.auth.Authenticate(r)
	if err != nil {
		return ""
	}
	return role
}

// problems are what ledger verify and doctor say of the rows.
func (d *database) problems() string {
	d.Helper()
	cfg := d.config()
	s, err := OpenReader(d.Context(), cfg)
	if err != nil {
		d.Fatal(err)
	}
	defer s.Close()
	list, unsealed, err := cfg.CheckRows(d.Context(), s, true)
	if err != nil || unsealed {
		d.Fatalf("unsealed %v: %v", unsealed, err)
	}
	return strings.Join(list, "\n")
}

// TestThreat29Keys: whoever writes the database makes no key, gives none another role, gives
// none back that was revoked, and takes none away so that nobody needs one.
func TestThreat29Keys(t *testing.T) {
	forged := "reeve_x_" + strings.Repeat("A", 43)
	hash := sha256.Sum256([]byte(forged))
	for name, tt := range map[string]struct {
		attack func(d *database) []string
		said   string
	}{
		"made": {func(d *database) []string {
			return []string{`INSERT INTO api_key (name, hash, role, organization, created, revoked) VALUES ('x', ` + d.bytes(hash[:]) + `, 'admin', '', 1, 0)`}
		}, `The API key "x"`},
		"another's secret": {func(d *database) []string {
			return []string{`UPDATE api_key SET hash = ` + d.bytes(hash[:]) + ` WHERE name = 'agent'`}
		}, `The API key "agent"`},
		"another role": {func(*database) []string { return []string{`UPDATE api_key SET role = 'admin' WHERE name = 'agent'`} }, `The API key "agent"`},
		"not revoked":  {func(*database) []string { return []string{`UPDATE api_key SET revoked = 0`} }, `The API key "gone"`},
		"put back as it was": {func(*database) []string {
			return []string{`DELETE FROM api_key WHERE name = 'gone'`, `INSERT INTO api_key SELECT * FROM was WHERE name = 'gone'`}
		}, `The API key "gone"`},
		"all put back as they were": {func(*database) []string {
			return []string{`DELETE FROM api_key`, `INSERT INTO api_key SELECT * FROM was`, `DELETE FROM item WHERE kind = 'keys'`, `INSERT INTO item SELECT * FROM rolls`}
		}, `keys "roll" is of record`},
		"taken away":               {func(*database) []string { return []string{`DELETE FROM api_key`} }, `The API key "agent"`},
		"taken away with the roll": {func(*database) []string { return []string{`DELETE FROM api_key`, `DELETE FROM item`} }, "list of API keys was taken away"},
		"two changed": {func(*database) []string {
			return []string{`UPDATE api_key SET hash = (SELECT w.hash FROM was w WHERE w.name <> api_key.name ORDER BY w.name LIMIT 1)`}
		}, `The API key "agent"`},
	} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stopped %v", name, stopped), func(t *testing.T) {
				databases(t, func(t *testing.T, d *database) {
					agent, gone := d.create("agent", identity.Agent), d.create("gone", identity.Admin)
					d.exec(`CREATE TABLE was AS SELECT * FROM api_key`, `CREATE TABLE rolls AS SELECT * FROM item WHERE kind = 'keys'`)
					d.revoke("gone")
					if role := d.role(agent); role != identity.Agent {
						t.Fatalf("before: %q", role)
					}
					if p := d.problems(); p != "" {
						t.Fatalf("before: %s", p)
					}
					if attack := tt.attack(d); stopped {
						d.again(attack...)
					} else {
						d.exec(attack...)
					}
					for what, role := range map[string]identity.Role{"forged": d.role(forged), "revoked": d.role(gone), "without a key": d.role("")} {
						if role != "" {
							t.Errorf("%s: is let in as %q", what, role)
						}
					}
					if role := d.role(agent); role != "" && role != identity.Agent {
						t.Errorf("the agent is %q", role)
					}
					if p := d.problems(); !strings.Contains(p, tt.said) {
						t.Errorf("want %q, got:\n%s", tt.said, p)
					}
					// The node's owner makes it good again.
					if d.role(d.create("new", identity.Agent)) != identity.Agent {
						t.Error("a new key lets nobody in")
					}
				})
			})
		}
	}
}

// TestThreat29Verify: what somebody did to the row of a barred agent, or to all rows, is told.
func TestThreat29Verify(t *testing.T) {
	for attack, said := range map[string]string{
		`DELETE FROM item WHERE id = 'did:a'`:                       `The agent "did:a", which is barred, was taken away`,
		`DELETE FROM item WHERE kind <> 'keys'`:                     "The list of the agents that are barred was taken away",
		`UPDATE item SET owner = 'key:x' WHERE id = 'did:a'`:        `The agent "did:a": it`,
		`UPDATE item SET seal = '', due = 1 WHERE kind = 'agent'`:   `The agent "did:a": it bears no seal`,
		`UPDATE item SET id = 'did:b' WHERE id = 'did:a'`:           `The agent "did:b": it`,
		`DELETE FROM item; DELETE FROM api_key`:                     "The list of API keys was taken away",
		`INSERT INTO item SELECT * FROM was`:                        `The agent "did:a" is of record`,
		`INSERT INTO item SELECT * FROM was WHERE kind = 'no such'`: "",
	} {
		t.Run(attack, func(t *testing.T) {
			databases(t, func(t *testing.T, d *database) {
				for _, state := range []agent.State{agent.Active, agent.Revoked} {
					if _, err := d.node.guard.SetAgent(t.Context(), "did:a", state, "", identity.Operator); err != nil {
						t.Fatal(err)
					}
					if state == agent.Active {
						d.exec(`CREATE TABLE was AS SELECT * FROM item WHERE kind = 'agent'`)
					}
				}
				if strings.HasPrefix(attack, "INSERT") && !strings.Contains(attack, "no such") {
					d.exec(`DELETE FROM item WHERE kind = 'agent'`)
				}
				d.again(attack)
				if p := d.problems(); said == "" && p != "" || !strings.Contains(p, said) {
					t.Errorf("want %q, got:\n%s", said, p)
				}
				if state := d.node.guard.Barred("did:a"); state == "" {
					t.Error("it is not barred any more")
				}
			})
		})
	}
}

// TestThreat29Lowered: a database of which somebody makes one of an earlier version, when seals were not there
// yet, is not verified as such where the ledger says that it was sealed.
func TestThreat29Lowered(t *testing.T) {
	for name, attack := range map[string][]string{
		"columns": {`ALTER TABLE item DROP COLUMN seal`, `UPDATE schema_version SET version = version - 5`},
		"items":   {`DROP TABLE item`, `UPDATE schema_version SET version = version - 5`},
	} {
		t.Run(name, func(t *testing.T) {
			databases(t, func(t *testing.T, d *database) {
				d.create("agent", identity.Agent)
				if err := d.node.Close(); err != nil {
					t.Fatal(err)
				}
				if d.url != "" {
					attack = []string{attack[0] + " CASCADE", attack[1]}
				}
				d.exec(attack...)
				if d.url != "" { // it is not read at all
					if s, err := OpenReader(t.Context(), d.config()); err == nil {
						s.Close()
						t.Error("it is read")
					}
					return
				}
				if p := d.problems(); !strings.Contains(p, "taken away") {
					t.Errorf("got %q", p)
				}
			})
		})
	}
}

// TestThreat29Replicas: nodes that share a database believe each other's rows, and none of what
// somebody else writes there.
func TestThreat29Replicas(t *testing.T) {
	databases(t, func(t *testing.T, d *database) {
		if d.url == "" {
			return
		}
		first := d.node
		secret := d.create("agent", identity.Agent)
		d.dir = t.TempDir()
		d.open()
		if role := d.role(secret); role != identity.Agent {
			t.Errorf("at the other node: %q", role)
		}
		other := d.create("second", identity.Approver)
		second := d.node
		for _, d.node = range []*Node{first, second} {
			if role := d.role(other); role != identity.Approver {
				t.Errorf("made at the second: %q", role)
			}
		}
		d.revoke("second")
		d.exec(`UPDATE api_key SET revoked = 0`)
		for _, d.node = range []*Node{first, second} {
			if role := d.role(other); role != "" {
				t.Errorf("revoked at one of them: %q", role)
			}
			if role := d.role(secret); role != identity.Agent {
				t.Errorf("the other key: %q", role)
			}
		}
	})
}

// TestSealedOnce: what an earlier version wrote is sealed when a node starts, and a record says so;
// what is put there without a seal later is not, whatever else was taken away.
func TestSealedOnce(t *testing.T) {
	earlier := []string{`DELETE FROM item WHERE kind = 'keys'`, `UPDATE item SET seal = ''`, `UPDATE api_key SET seal = ''`}
	databases(t, func(t *testing.T, d *database) {
		secret := d.create("agent", identity.Agent)
		d.again(earlier...) // but the ledger says that it was sealed
		if role := d.role(secret); role != "" {
			t.Errorf("what was unsealed lets in %q", role)
		}
		if role := d.role(""); role != "" {
			t.Errorf("nobody needs a key: %q", role)
		}
		if p := d.problems(); !strings.Contains(p, "was taken away") {
			t.Error(p)
		}
		if d.node.guard.Unsealed() {
			t.Error("what has no seal is believed")
		}
	})
}

// TestSealsEarlier: a database of an earlier version is sealed at the first start, with a record;
// its keys and what is barred hold as before, and from then on nothing without a seal.
func TestSealsEarlier(t *testing.T) {
	databases(t, func(t *testing.T, d *database) {
		if err := d.node.Close(); err != nil {
			t.Fatal(err)
		}
		if d.url == "" {
			d.dir = t.TempDir()
		} else {
			d.url = storetest.Postgres(t)
		}
		secret, gone := d.earlier()
		d.open()
		d.holds(t, "sealed", secret, gone)
		d.again()
		d.holds(t, "at the next start", secret, gone)
		d.again(`DELETE FROM item WHERE kind = 'keys'`, `UPDATE api_key SET revoked = 0, seal = ''`)
		if role := d.role(gone); role != "" || d.role(secret) != "" {
			t.Errorf("what was forged later is sealed: %q", role)
		}
		if p := d.problems(); !strings.Contains(p, "was taken away") {
			t.Error(p)
		}
	})
}

// holds reports whether one key lets an agent in, a revoked one nobody, an agent is barred, and nothing is damaged.
func (d *database) holds(t *testing.T, when, secret, gone string) {
	t.Helper()
	if role := d.role(secret); role != identity.Agent {
		t.Errorf("%s: the key lets in %q", when, role)
	}
	if role := d.role(gone); role != "" {
		t.Errorf("%s: the revoked key lets in %q", when, role)
	}
	if state := d.node.guard.Barred("did:a"); state != agent.Revoked {
		t.Errorf("%s: the agent is %q", when, state)
	}
	if p := d.problems(); p != "" {
		t.Errorf("%s: %s", when, p)
	}
}

// TestSealsNewKey: where the seed is lost, and the ledger goes on with another, the rows of the
// copy are sealed anew, and hold.
func TestSealsNewKey(t *testing.T) {
	databases(t, func(t *testing.T, d *database) {
		secret, gone := d.create("agent", identity.Agent), d.create("gone", identity.Admin)
		d.revoke("gone")
		if _, err := d.node.guard.SetAgent(t.Context(), "did:a", agent.Revoked, "", identity.Operator); err != nil {
			t.Fatal(err)
		}
		if err := d.node.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, d.seed, strings.Repeat("08", 32))
		write(t, filepath.Join(d.dir, datadir.Restored), datadir.NewLog)
		d.open()
		for _, when := range []string{"sealed", "at the next start"} {
			d.holds(t, when, secret, gone)
			d.again()
		}
	})
}

// TestSealsWait: while a node of an earlier version runs, which writes without seals, what has none
// is believed; once it has ended all is sealed.
func TestSealsWait(t *testing.T) {
	databases(t, func(t *testing.T, d *database) {
		if d.url == "" {
			return
		}
		if err := d.node.Close(); err != nil {
			t.Fatal(err)
		}
		d.url = storetest.Postgres(t)
		secret, _ := d.earlier()
		d.exec(`INSERT INTO log (log, epoch, size, owner, heartbeat) VALUES (9, 1, 0, 'old-host:1:x', clock_timestamp())`)
		d.open()
		d.exec(`UPDATE log SET heartbeat = clock_timestamp() WHERE log = 9`)
		d.node.sealLater(t.Context())
		if !d.node.guard.Unsealed() {
			t.Fatal("it was sealed beside a node that seals nothing")
		}
		if role := d.role(secret); role != identity.Agent {
			t.Errorf("meanwhile the key lets in %q", role)
		}
		if state := d.node.guard.Barred("did:a"); state != agent.Revoked {
			t.Errorf("meanwhile the agent is %q", state)
		}
		d.exec(`UPDATE log SET heartbeat = now() - interval '1 minute' WHERE log = 9`)
		d.node.sealLater(t.Context())
		if d.node.guard.Unsealed() {
			t.Fatal("it was not sealed")
		}
		if role := d.role(secret); role != identity.Agent {
			t.Errorf("then the key lets in %q", role)
		}
		if p := d.problems(); p != "" {
			t.Error(p)
		}
	})
}

// earlier makes what a node of an earlier version left: an agent that is barred, a key and one that
// was revoked, whose secrets it returns.
func (d *database) earlier() (valid, revoked string) {
	d.Helper()
	cfg := d.config()
	s, err := openStore(d.Context(), cfg, false)
	if err != nil {
		d.Fatal(err)
	}
	log, err := ledger.Open(d.Context(), ledger.Config{Store: s, Origin: cfg.Ledger.Origin, Seed: bytes.Repeat([]byte{7}, 32), Owner: "earlier"})
	if err != nil {
		d.Fatal(err)
	}
	set, err := LoadPolicy("")
	if err != nil {
		d.Fatal(err)
	}
	g, err := guard.New(d.Context(), guard.Config{Log: log, Store: s, Policy: set})
	if err != nil {
		d.Fatal(err)
	}
	if _, err := g.SetAgent(d.Context(), "did:a", agent.Revoked, "", identity.Operator); err != nil {
		d.Fatal(err)
	}
	key, valid, err := identity.NewKey("agent", identity.Agent, "", "", time.Now())
	if err != nil {
		d.Fatal(err)
	}
	old, revoked, err := identity.NewKey("old", identity.Admin, "", "", time.Now())
	old.Revoked = time.Now()
	if err := errors.Join(err, s.PutKey(d.Context(), key), s.PutKey(d.Context(), old), log.Close(), s.Close()); err != nil {
		d.Fatal(err)
	}
	d.exec(`UPDATE item SET seal = ''`)
	return valid, revoked
}
