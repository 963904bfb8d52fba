package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/internal/store/sqlite"

	"github.com/google/go-cmp/cmp"
)

// TestRuns: each run is listed once, by whichever door its steps came, and shown whole in
// windows, with what it began.
func TestRuns(t *testing.T) {
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: "test.local", Seed: bytes.Repeat([]byte{1}, 32), Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	type one struct{ door, kind, links, request, effect string }
	acts := []one{
		{"aos", "tool.call", `"session":"claude-code:s","resource":"shell"`, `{"params":{"toolCallRequest":{"inputs":[{"name":"command","value":"ls"}]}}}`, "allow"},
		{"aos", "tool.call", `"session":"claude-code:s/agent-1","parent":"claude-code:s","resource":"shell"`, `{"params":{"toolCallRequest":{"inputs":[{"name":"command","value":"pwd"}]}}}`, "deny"},
		{"a2g", "tool.call", `"session":"g","resource":"mail.send"`, `{"params":{"arguments":{"query":"to ann"}}}`, "escalate"},
		{"mcp", "mcp.request", `"session":"m","resource":"read"`, `{"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}`, "modify"},
		{"flow", "task.start", `"session":"root@node","task":"root","resource":"command_executor"`, `{"inputs":{"command":"make"}}`, "allow"},
		{"flow", "tasks.create", `"root":"root"`, ``, ""},
		{"a2a", "message.user", `"session":"a","resource":"x"`, `{"params":{"message":{"parts":[{"text":"good morning"}]}}}`, "allow"},
	}
	var last *ledger.Ticket
	const rounds = 50
	for range rounds {
		for _, a := range acts {
			e := &ledger.Entry{
				Record:    ledger.Record{Kind: a.kind, Door: a.door, Effect: a.effect},
				Principal: []byte(`{"name":"key:k","claims":{"agent":"helper"}}`), Links: []byte(`{` + a.links + `}`), KeepContent: true,
			}
			if a.effect != "" {
				e.Links = []byte(`{"digest":"d",` + a.links + `}`)
			}
			if a.request != "" {
				e.Request = []byte(a.request)
			}
			if last, err = log.Enqueue(log.Generation(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for q := (ledger.Query{Limit: 2}); ; {
		list, err := report.List(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Runs {
			if got[r.ID] != "" {
				t.Errorf("%s is listed twice", r.ID)
			}
			got[r.ID] = fmt.Sprintf("%s by %s: %d steps, %d denied, %d changed, %d held", r.Door, r.Agent, r.Steps, r.Denied, r.Changed, r.Held)
		}
		if q.Cursor = list.Next; q.Cursor == "" {
			break
		}
	}
	want := map[string]string{
		"claude-code:s": "aos by claude-code: 100 steps, 50 denied, 0 changed, 0 held",
		"g":             "a2g by helper: 50 steps, 0 denied, 0 changed, 50 held",
		"m":             "mcp by helper: 50 steps, 0 denied, 50 changed, 0 held",
		"root":          "flow by helper: 100 steps, 0 denied, 0 changed, 0 held",
		"a":             "a2a by helper: 50 steps, 0 denied, 0 changed, 0 held",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	for id, text := range map[string]string{"claude-code:s": "ls", "g": "to ann", "m": "a.txt", "root": "make", "a": "good morning"} {
		windows := 0
		whole, err := report.Collect(id, func(cursor string) (report.Window, error) {
			windows++
			return report.Show(t.Context(), s, id, ledger.Query{Oldest: true, Limit: 30, Cursor: cursor})
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(whole.Steps)%rounds != 0 || windows < 2 || whole.Steps[0].Text != text {
			t.Errorf("%s has %d steps in %d windows, the first is %q", id, len(whole.Steps), windows, whole.Steps[0].Text)
		}
	}
	if _, err := report.Show(t.Context(), s, "claude-code:%", ledger.Query{}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a session that there is not: %v", err)
	}
	// A step whose contents are damaged is shown as that, with the others.
	torn := 0
	w, err := report.Show(t.Context(), damaged{s}, "root", ledger.Query{Oldest: true, Limit: 20})
	for i := range w.Steps {
		if w.Steps[i].Damaged {
			torn++
		}
	}
	if err != nil || len(w.Steps) != 20 || torn != 1 {
		t.Errorf("%d steps of a run, %d of them damaged: %v", len(w.Steps), torn, err)
	}
}

// TestNamed: a name, or a part of one, is found without summing up the sessions that there are.
func TestNamed(t *testing.T) {
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: "test.local", Seed: bytes.Repeat([]byte{1}, 32), Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const records = 1500
	var last *ledger.Ticket
	for i := range records {
		e := &ledger.Entry{
			Record:    ledger.Record{Kind: "tool.call", Door: "aos", Effect: "allow"},
			Principal: []byte(`{"name":"key:k"}`), Links: fmt.Appendf(nil, `{"digest":"d","session":"claude-code:%03d.s"}`, i%500),
		}
		if last, err = log.Enqueue(log.Generation(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		id  string
		err error
	}{
		"claude-code:007.s": {id: "claude-code:007.s"},
		"007":               {id: "claude-code:007.s"},
		":007.s":            {id: "claude-code:007.s"},
		"00":                {err: report.ErrManyNamed},
		"NOSUCH":            {err: report.ErrNoneNamed},
	} {
		read := 0
		id, err := report.Named(t.Context(), counting{s, &read}, name)
		if id != want.id || !errors.Is(err, want.err) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
		if read > 3*records {
			t.Errorf("%s: %d records were read, and there are %d", name, read, records)
		}
	}
}

// counting counts the records that are read.
type counting struct {
	*sqlite.Store
	read *int
}

func (c counting) Records(ctx context.Context, log uint32, from, to uint64, f func(uint64, []byte) error) error {
	return c.Store.Records(ctx, log, from, to, func(index uint64, record []byte) error {
		*c.read++
		return f(index, record)
	})
}

// damaged is a store in which the contents of one record cannot be read.
type damaged struct{ *sqlite.Store }

func (d damaged) Opening(ctx context.Context, pos act.Position) ([]byte, error) {
	if pos.Index == 4 {
		return nil, errors.New("the disk says no")
	}
	return d.Store.Opening(ctx, pos)
}
