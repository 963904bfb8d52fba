package postgres

import (
	"slices"
	"testing"

	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/jackc/pgx/v5"
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
			_, err = c.Exec(t.Context(), `SET search_path = reeve; DROP TABLE member, bucket, reserved; DROP FUNCTION tell CASCADE; DROP FUNCTION tell_approval CASCADE; DROP TABLE task_ref; DROP TABLE task_gone; DROP INDEX item_over; ALTER TABLE item DROP COLUMN owner; DROP INDEX task_tree;
				CREATE INDEX task_tree ON task (root, id) WHERE parent IS NOT NULL;
				CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
				UPDATE schema_version SET version = 3`)
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
