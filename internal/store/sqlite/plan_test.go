package sqlite

import (
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestPlans: what questions ask of the database is looked up, and never read through.
func TestPlans(t *testing.T) {
	s := open(t, t.TempDir())
	for name, text := range map[string]string{
		"page before": pageBefore, "page after": pageAfter,
		"records":  `SELECT first, count, records FROM batch WHERE first >= coalesce((SELECT max(first) FROM batch WHERE first <= 5), 0) AND first < 9 ORDER BY first LIMIT 256`,
		"facts":    `SELECT first, count, data FROM fact WHERE first >= coalesce((SELECT max(first) FROM fact WHERE first <= 5), 0) AND first < 9 ORDER BY first LIMIT 256`,
		"contents": `SELECT first, count, data FROM opening WHERE first <= 5 ORDER BY first DESC LIMIT 1`,
		"dropped":  `DELETE FROM segment_page WHERE level = 0 AND n BETWEEN 1 AND 2`,
	} {
		err := s.read(t.Context(), func(c *sqlite.Conn) error {
			return query(c, `EXPLAIN QUERY PLAN `+text, func(stmt *sqlite.Stmt) error {
				// Of the page that a subquery has found, and of nothing, there is one row.
				step := stmt.ColumnText(3)
				if strings.HasPrefix(step, "SCAN") && step != "SCAN p" && step != "SCAN p LEFT-JOIN" || strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%s: %s", name, step)
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
