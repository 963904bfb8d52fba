package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// TestUpgrade brings a database of the third schema up to date. Its indexes are then
// those of a new one.
func TestUpgrade(t *testing.T) {
	url := storetest.Postgres(t)
	indexes := func(s *Store) []string {
		t.Helper()
		rows, err := s.pool.Query(t.Context(), `SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	var fresh []string
	var last *Store
	storetest.Upgrade(t, func(t *testing.T) store.Store {
		if last = open(t, url); fresh == nil {
			fresh = indexes(last)
		}
		return last
	}, func(t *testing.T) {
		c, err := pgx.Connect(t.Context(), url)
		if err == nil {
			defer c.Close(t.Context())
			_, err = c.Exec(t.Context(), `SET search_path = reeve; DROP TABLE reached, member, bucket, reserved, fact, segment, segment_page; ALTER TABLE log DROP COLUMN segments_dropped; DROP FUNCTION unseal CASCADE; ALTER TABLE item DROP COLUMN seal; ALTER TABLE api_key DROP COLUMN person, DROP COLUMN seal; DROP FUNCTION tell CASCADE; DROP FUNCTION tell_approval CASCADE; DROP TABLE task_ref; DROP TABLE task_gone; DROP INDEX item_over; ALTER TABLE item DROP COLUMN owner; DROP INDEX task_tree;
				CREATE INDEX task_tree ON task (root, id) WHERE parent IS NOT NULL;
				CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
				UPDATE schema_version SET version = 3; DROP TABLE schema_survives; UPDATE log SET owner = NULL`)
		}
		for id, data := range storetest.OldItems {
			if err == nil {
				_, err = c.Exec(t.Context(), `INSERT INTO item (kind, id, log, index, open, due, data) VALUES ('agent', $1, 0, 0, false, 0, $2)`, id, []byte(data))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if got := indexes(last); !slices.Equal(got, fresh) {
		t.Errorf("the indexes are\n%q\nwant\n%q", got, fresh)
	}
}

// TestMigrationsStay: what databases were made by is not changed afterwards. A new
// migration is added to the list.
func TestMigrationsStay(t *testing.T) {
	all, err := schemaSteps()
	if err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	for i, text := range all.texts {
		fmt.Fprintf(&sums, "%04d %x\n", i+1, sha256.Sum256([]byte(text)))
	}
	want, err := os.ReadFile("testdata/migrations.sum")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), sums.String()); d != "" {
		t.Error(d)
	}
}

// versions is a database that programs of several versions work with.
type versions struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
	all  steps
}

func newVersions(t *testing.T) *versions {
	v := &versions{T: t, url: storetest.Postgres(t)}
	var err error
	if v.all, err = schemaSteps(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(v.url)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	if v.pool, err = pgxpool.New(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.pool.Close)
	return v
}

func (v *versions) exec(text string, args ...any) {
	v.Helper()
	if _, err := v.pool.Exec(v.Context(), text, args...); err != nil {
		v.Fatalf("%s: %v", text, err)
	}
}

// before makes the schema of the version before this one said which programs survive it,
// as the program of that time did.
func (v *versions) before() {
	v.Helper()
	v.exec(`CREATE SCHEMA reeve; CREATE TABLE schema_version (version integer NOT NULL)`)
	for _, text := range v.all.texts[:5] {
		v.exec(text)
	}
	v.exec(`INSERT INTO schema_version VALUES (5)`)
}

// bring is what the program does at its start.
func (v *versions) bring(s steps) error {
	return s.bring(v.Context(), v.pool, schema, func() error { return nil })
}

// snapshot is all that the schema has: tables with their columns, indexes, constraints,
// functions, triggers, and its version.
func (v *versions) snapshot() (list []string) {
	v.Helper()
	rows, err := v.pool.Query(v.Context(), `
		SELECT format('column %s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns WHERE table_schema = 'reeve'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'reeve'
		UNION ALL SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = 'reeve'::regnamespace
		UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'reeve'::regnamespace
		UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'reeve'::regnamespace
		UNION ALL SELECT format('version %s', version) FROM schema_version ORDER BY 1`)
	if err != nil {
		v.Fatal(err)
	}
	if list, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		v.Fatal(err)
	}
	return list
}

// lives has a node of an older program hold a log.
func (v *versions) lives(log int) {
	v.Helper()
	v.exec(`INSERT INTO log (log, epoch, owner, heartbeat) VALUES ($1, 1, 'old-host:1:x', clock_timestamp())`, log)
}

// TestOlderBeside upgrades a database while a node of the version before works with it: that
// goes on, by the statements that it has, and nothing of what it wrote is lost.
func TestOlderBeside(t *testing.T) {
	v := newVersions(t)
	v.before()
	v.lives(0)
	old := func(i int) {
		t.Helper()
		v.exec(`UPDATE log SET heartbeat = clock_timestamp() WHERE log = 0`)
		v.exec(`INSERT INTO api_key (name, hash, role, organization, created, revoked) VALUES ($1, $2, 'agent', '', 1, 0)
			ON CONFLICT (name) DO UPDATE SET hash = $2, revoked = 2`, fmt.Sprint("key", i%2), make([]byte, 32))
		v.exec(`INSERT INTO item (kind, id, log, index, open, due, data, owner) VALUES ('agent', $1, 0, $2, true, 0, '{}', 'key:a')
			ON CONFLICT (kind, id) DO UPDATE SET log = excluded.log, index = excluded.index, open = excluded.open, due = excluded.due, data = excluded.data, owner = excluded.owner`, fmt.Sprint("a", i%2), i)
		v.exec(`INSERT INTO session_head (key, log, index) VALUES (gen_random_uuid(), 0, $1)`, i)
		v.exec(`INSERT INTO batch (log, first, count, at, leaves, claims, records) VALUES (0, $1, 1, 1, '', NULL, '')`, i)
		v.exec(`INSERT INTO node (log, level, n, hash) VALUES (0, 1, $1, '')`, i)
		v.exec(`INSERT INTO opening (log, first, count, at, size, data) VALUES (0, $1, 1, 1, 1, 'x')`, i)
		v.exec(`INSERT INTO part (hash, last_put, size, data) VALUES (decode(md5($1::text), 'hex'), 1, 1, 'x')`, fmt.Sprint(i))
		v.exec(`INSERT INTO policy (hash, at, text) VALUES ($1, 1, 'x')`, fmt.Sprint(i))
		v.exec(`INSERT INTO anchor (log, size, place, at, checkpoint) VALUES (0, 1, 'x', 1, 'x')`)
		v.exec(`INSERT INTO task_ref (original, task) VALUES (gen_random_uuid(), gen_random_uuid())`)
		v.exec(`UPDATE log SET size = $1 WHERE log = 0`, i+1)
	}
	for i := range 3 {
		old(i)
	}
	before := v.snapshot()
	if err := v.bring(v.all); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		old(3 + i)
	}
	// All that was there is there as it was: older programs find what they know.
	after := v.snapshot()
	for _, what := range before {
		if !slices.Contains(after, what) && !strings.HasPrefix(what, "version ") {
			t.Errorf("the schema has no more: %s", what)
		}
	}
	// And nothing more is wanted of what they write.
	tables := map[string]bool{}
	for _, what := range before {
		if table, ok := strings.CutPrefix(what, "column "); ok {
			table, _, _ = strings.Cut(table, ".")
			tables[table] = true
		}
	}
	for _, what := range after {
		table, isColumn := strings.CutPrefix(what, "column ")
		table, _, _ = strings.Cut(table, ".")
		if !slices.Contains(before, what) && isColumn && tables[table] && strings.HasSuffix(what, " NO ") {
			t.Errorf("older programs do not write this column, which must have a value: %s", what)
		}
	}
	s := open(t, v.url)
	keys, err := s.Keys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Errorf("%v, %v", keys, err)
	}
	if n, _, err := s.CountItems(t.Context(), "agent", "key:a", true); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	members, err := s.Members(t.Context())
	if err != nil || len(members) != 1 || members[0].Name != "old-host" || !members[0].Living || members[0].Size != 6 {
		t.Errorf("%+v, %v", members, err)
	}
}

// TestNewerSchema: a program starts on a newer schema that its maker says it survives, and
// refuses others. A step that older programs do not survive is not made while one lives.
// Whatever is refused, nothing was changed.
func TestNewerSchema(t *testing.T) {
	v := newVersions(t)
	v.before()
	v.lives(0)
	last := len(v.all.texts)
	adds := steps{texts: append(slices.Clone(v.all.texts), `CREATE TABLE later (id integer)`), survives: v.all.survives}
	breaks := steps{texts: append(slices.Clone(adds.texts), `ALTER TABLE api_key DROP COLUMN organization`), survives: last + 2}
	unchanged := func(what string, want string, f func() error) {
		t.Helper()
		before := v.snapshot()
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if d := cmp.Diff(before, v.snapshot()); d != "" {
			t.Errorf("%s: it was changed (-before +after):\n%s", what, d)
		}
	}
	unchanged("a step that a living node does not survive", "old-host (log 0); stop them first", func() error { return v.bring(breaks) })
	unchanged("a reader", "start a node of this version first", func() error { _, err := OpenReader(t.Context(), v.url); return err })
	if err := v.bring(adds); err != nil {
		t.Fatal(err)
	}
	// This program is now the older one.
	if err := v.bring(v.all); err != nil {
		t.Errorf("on a schema that it survives: %v", err)
	}
	if s, err := OpenReader(t.Context(), v.url); err != nil {
		t.Errorf("to read it: %v", err)
	} else {
		s.Close()
	}
	unchanged("still a living node", "stop them first", func() error { return v.bring(breaks) })
	v.exec(`UPDATE log SET heartbeat = now() - interval '1 minute'`)
	if err := v.bring(breaks); err != nil {
		t.Fatal(err)
	}
	for what, open := range map[string]func() error{
		"to write": func() error { _, err := Open(t.Context(), v.url); return err },
		"to read":  func() error { _, err := OpenReader(t.Context(), v.url); return err },
	} {
		unchanged(what, "and has changed nothing", func() error {
			err := open()
			if !errors.Is(err, ledger.ErrNewerSchema) {
				t.Errorf("%s: %v", what, err)
			}
			return err
		})
	}
	// What was said of one version counts for no other.
	v.exec(`UPDATE schema_survives SET oldest = 1; UPDATE schema_version SET version = 999`)
	unchanged("nobody said it", "its schema is version 999", func() error { _, err := Open(t.Context(), v.url); return err })
}
