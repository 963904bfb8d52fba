package storetest

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"
)

// Injection hands a store texts that would be SQL, JSON paths or patterns if any statement
// were put together from them: each comes back as it was, finds itself and nothing else,
// and changes nothing.
func Injection(t *testing.T, open func(t *testing.T) store.Store) {
	s := &suite{T: t, ctx: t.Context(), open: func() store.Store { return open(t) }}
	s.Store = s.open()
	t.Cleanup(func() { s.Store.Close() })
	w := s.writer()
	texts := []string{
		`' OR '1'='1`, `x' OR 1=1 --`, `'; DROP TABLE task; --`, `' UNION SELECT name, hash FROM api_key --`, `") OR ("1"="1`, `admin'/*`,
		`%`, `_`, `*`, `?1`, `$1`, `:x`, `@x`, `\'`, `'\''`, `$$; DELETE FROM task; $$`, `E'\\x27'`, `$.a.b`, `$[*] ? (@ > 0)`, `x" ASC; --`,
		"'\n; DROP TABLE head", "\u02bc OR 1=1", "\uff07 OR 1=1", "'||(SELECT 1)||'", "1; SELECT pg_sleep(9)", strings.Repeat("'", 999),
	}
	var all []*task.Task
	for i, text := range texts {
		one := NewTask(i+1, task.ID{})
		one.Root, one.User, one.Name, one.Executor, one.Error = one.ID, text, text, text, text
		one.Created, one.Updated, one.Size = Epoch, Epoch, 1
		one.Phase, one.Held, one.Node = task.Held, text, text
		all = append(all, one)
	}
	s.write(w, &task.Writes{New: all})
	for i, text := range texts {
		if list, err := s.Tasks(s.ctx, task.Query{User: text, Limit: 100}); err != nil || len(list) != 1 || list[0].ID != TaskID(i+1) || list[0].Name != text {
			s.Errorf("tasks of %q: %d, %v", text, len(list), err)
		}
		if n, err := s.CountTasks(s.ctx, task.Query{User: text}); err != nil || n != 1 {
			s.Errorf("tasks of %q are counted as %d, %v", text, n, err)
		}
		if rows, err := s.TaskRows(s.ctx, task.RowQuery{Phase: task.Held, Held: text}); err != nil || len(rows) != 1 {
			s.Errorf("tasks held by %q: %d, %v", text, len(rows), err)
		}
		if _, err := s.Item(s.ctx, text, text); err == nil {
			s.Errorf("there is an item %q", text)
		}
		if _, err := s.Policy(s.ctx, text); err == nil {
			s.Errorf("there is a policy %q", text)
		}
	}
	if n, err := s.CountTasks(s.ctx, task.Query{}); err != nil || n != len(texts) {
		s.Errorf("%d tasks are there of %d, %v", n, len(texts), err)
	}
}
