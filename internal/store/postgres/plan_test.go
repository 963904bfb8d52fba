package postgres

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/store/storetest"

	"github.com/jackc/pgx/v5"
)

// TestPlans: what questions ask of the database can be looked up, and need not be read
// through or sorted: without reading through, which a planner prefers of small tables, no
// plan falls back to it.
func TestPlans(t *testing.T) {
	s := open(t, storetest.Postgres(t))
	ctx := t.Context()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, `SET LOCAL enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"page before": pageBefore, "page after": pageAfter,
		"records":  `SELECT first, count, records FROM batch WHERE log = 1 AND first >= coalesce((SELECT max(first) FROM batch WHERE log = 1 AND first <= 5), 0) AND first < 9 ORDER BY first`,
		"facts":    `SELECT first, count, data FROM fact WHERE log = 1 AND first >= coalesce((SELECT max(first) FROM fact WHERE log = 1 AND first <= 5), 0) AND first < 9 ORDER BY first`,
		"contents": `SELECT first, count, data FROM opening WHERE log = 1 AND first <= 5 ORDER BY first DESC LIMIT 1`,
		"dropped":  `DELETE FROM segment_page WHERE log = 1 AND level = 0 AND n BETWEEN 1 AND 2`,
	} {
		for i, v := range []string{"1", "0", "2", "3", "4"} {
			text = strings.ReplaceAll(text, "$"+string(rune('1'+i)), v)
		}
		rows, err := tx.Query(ctx, "EXPLAIN "+text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, "Index") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
