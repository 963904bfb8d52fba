package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// began is the time of the first of the acts that tests ask for.
var began = time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)

func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

// someAct is an act by one of a few agents.
func someAct(r *rand.Rand, i int) *ledger.Entry {
	session := fmt.Sprintf("s%d", r.IntN(1+i/20))
	user := pick(r, "", "ann", "bob")
	e := &ledger.Entry{
		Record: ledger.Record{
			Time: began.Add(time.Duration(i/3) * time.Second), Kind: pick(r, "tool.call", "tool.result", "message.user"), Door: pick(r, "aos", "a2g", "mcp"),
			Effect: pick(r, "allow", "allow", "allow", "deny", "escalate"), Policy: policyHash,
		},
		Request: fmt.Appendf(nil, `{"say":"Hello \u00fcber %d","path":"C:\\temp"}`, i), KeepContent: true,
		Reasons: []byte(`{"effect":"allow"}`),
		Links:   fmt.Appendf(nil, `{"digest":"d","resource":%q,"session":%q,"turn":"t","task":%q}`, pick(r, "shell", "read", "WebFetch"), session, pick(r, "", "root")),
	}
	switch pick(r, "plain", "masked", "parent", "note") {
	case "plain":
		e.Principal = fmt.Appendf(nil, `{"name":"key:k","method":"key","claims":{"agent":%q,"user":%q}}`, pick(r, "a", "b"), user)
	case "masked":
		e.Principal = fmt.Appendf(nil, `{"name":"key:k","method":"key","organization":"acme","claims":{"agent":"m","user":"<masked>","user_hash":%q}}`, ledger.UserHash("ann"))
	case "parent":
		e.Principal = []byte(`{"name":"anonymous","claims":{"agent":"c"}}`)
		e.Links = fmt.Appendf(nil, `{"digest":"d","resource":"Bash","tool":"shell","session":"child%d","parent":%q,"approval":"ap%d"}`, i, session, r.IntN(9))
	default:
		e.Record.Kind, e.Record.Door, e.Record.Effect = "admin.erase", "reeve", ""
		e.Principal, e.Links, e.Request, e.Reasons = []byte(`{"name":"admin","method":"local"}`), fmt.Appendf(nil, `{"did":"b","root":"root"}`), nil, nil
	}
	if r.IntN(4) == 0 {
		e.Record.Rules, e.Record.Codes = []string{pick(r, "no-rm", "ask")}, []string{pick(r, "x.y", "ask")}
	}
	return e
}

// allLines are the lines of a log, read one by one.
func allLines(t *testing.T, s ledger.Reader, from uint64) (lines []ledger.Line) {
	t.Helper()
	head, err := s.Head(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := max(from, head.Pruned); i < head.Size; i++ {
		l, err := ledger.ReadLine(t.Context(), s, act.Position{Index: i})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// someQuery asks for one to three things, of what someAct writes.
func someQuery(r *rand.Rand) ledger.Query {
	q := ledger.Query{Oldest: r.IntN(2) == 0, Limit: 5 + r.IntN(200)}
	for range r.IntN(4) {
		switch r.IntN(12) {
		case 0:
			q.Agent = pick(r, "a", "b", "c", "m", "nobody")
		case 1:
			q.User = pick(r, "ann", "bob", "<masked>")
		case 2:
			q.Session = pick(r, "s0", "s1", "s7", "s30", "child9")
		case 3:
			q.Tool = pick(r, "shell", "Bash", "read", "none")
		case 4:
			q.Effect = pick(r, "allow", "deny", "escalate", "modify")
		case 5:
			q.Rule = pick(r, "no-rm", "ask", "x.y")
		case 6:
			q.Door = pick(r, "aos", "mcp", "reeve")
		case 7:
			q.Kind = pick(r, "tool.call", "admin.erase")
		case 8:
			q.Task = "root"
		case 9:
			q.Since = began.Add(time.Duration(r.IntN(300)) * time.Second)
		case 10:
			q.Until = began.Add(time.Duration(300+r.IntN(300)) * time.Second)
		case 11:
			q.Approval, q.Organization = pick(r, "", "ap1"), pick(r, "", "acme")
		}
	}
	return q
}

// answers asks page by page.
func answers(t *testing.T, s ledger.Reader, q ledger.Query) (found []string) {
	t.Helper()
	for range 2000 {
		a, err := ledger.Search(t.Context(), s, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if len(a.Lines) > q.Limit {
			t.Fatalf("%+v: %d lines", q, len(a.Lines))
		}
		for i := range a.Lines {
			found = append(found, a.Lines[i].Decision)
		}
		if q.Cursor = a.Next; q.Cursor == "" {
			return found
		}
	}
	t.Fatalf("%+v does not end", q)
	return nil
}

// TestSearch holds what the index finds against reading everything, over generated logs.
func TestSearch(t *testing.T) {
	t.Cleanup(ledger.SmallSegments())
	r := rand.New(rand.NewPCG(1, 2))
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	var last *ledger.Ticket
	for i := range 1500 {
		last = enqueue(t, l, someAct(r, i))
	}
	wait(t, last)
	check := func(what string) {
		t.Helper()
		lines := allLines(t, s, 0)
		for range 15 {
			q := someQuery(r)
			var want []string
			for i := range lines {
				if q.Fits(&lines[i]) {
					want = append(want, lines[i].Decision)
				}
			}
			if !q.Oldest {
				slices.Reverse(want)
			}
			n, err := ledger.Count(t.Context(), s, q)
			if err != nil || n.N != len(want) {
				t.Fatalf("%s: %+v is counted as %d, %v, want %d", what, q, n.N, err, len(want))
			}
			if len(want) > 0 && (n.First.Decision != want[0] && n.First.Decision != want[len(want)-1] || n.First.Time.After(n.Last.Time)) {
				t.Fatalf("%s: %+v is from %s to %s, want %s and %s", what, q, n.First.Decision, n.Last.Decision, want[0], want[len(want)-1])
			}
			if diff := cmp.Diff(want, answers(t, s, q)); diff != "" {
				t.Fatalf("%s: %+v (-want +got):\n%s", what, q, diff)
			}
		}
	}
	check("as it was written")
	if err := l.Close(); err != nil { // it would seal what is dropped
		t.Fatal(err)
	}
	if err := s.DropSegments(t.Context(), 0, 0, 1500); err != nil {
		t.Fatal(err)
	}
	check("without an index")
	if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
		t.Fatal(err)
	}
	list, err := s.Segments(t.Context(), 0)
	if err != nil || len(list) < 11 || len(list) > 16 {
		t.Errorf("1500 records are covered by the segments %v, %v", list, err)
	}
	check("with an index")
	if err := s.DropSegments(t.Context(), 0, 700, 900); err != nil {
		t.Fatal(err)
	}
	check("with a hole in the index")
	var gone []act.Position
	for i := uint64(100); i < 1500; i += 7 {
		gone = append(gone, act.Position{Index: i})
	}
	if err := s.Erase(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	check("after an erasure")
	if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
		t.Fatal(err)
	}
	check("after an erasure, with an index")
	if _, err := s.TrimFacts(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
		t.Fatal(err)
	}
	check("without facts")
	cp, err := l.CheckpointAt(t.Context(), 1024)
	if err == nil {
		_, err = ledger.Prune(t.Context(), s, 0, cp, l.VerifierKey())
	}
	if err != nil {
		t.Fatal(err)
	}
	check("pruned")
	if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
		t.Fatal(err)
	}
	check("pruned, with an index")
}

// TestSearchText: contents are looked through whatever the case, also where JSON writes a
// character otherwise than it is.
func TestSearchText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	var last *ledger.Ticket
	for i := range 50 {
		e := someAct(r, i)
		e.Request = fmt.Appendf(nil, `{"say":"Hello \u00fcber %d.","path":"C:\\temp"}`, i)
		last = enqueue(t, l, e)
	}
	wait(t, last)
	for text, want := range map[string]int{
		"hello": 50, "über 7.": 1, `c:\TEMP`: 50, "%": 0, `"`: 50, "'; DROP TABLE fact; --": 0, "key:k": -1, "no such thing": 0,
	} {
		if got := len(answers(t, s, ledger.Query{Text: text, Limit: 7})); got != want && (want >= 0 || got == 0) {
			t.Errorf("%q is found %d times, want %d", text, got, want)
		}
	}
}

// TestSearchRefuses: what cannot be asked is said, and asks nothing of the database.
func TestSearchRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, q := range []ledger.Query{
		{Effect: "perhaps"}, {Door: "zzz"}, {Door: "AOS"}, {Kind: "x"}, {Kind: "tool"}, {Kind: "admin."}, {Kind: "adminx"}, {Limit: -1}, {Limit: ledger.MaxLines + 1}, {Logs: []uint32{7}}, {Text: strings.Repeat("a", 1025)},
		{Since: began, Until: began}, {Cursor: "x"}, {Cursor: "0-1"}, {Cursor: "zz.0-01"}, {Cursor: "-1.0-1"}, {Cursor: strings.Repeat("9", 400) + ".0-1"},
		{Cursor: "1.0-99999999999999999999"}, {Cursor: "1.0-1' OR 1=1"},
	} {
		if _, err := ledger.Search(t.Context(), s, q); !errors.Is(err, ledger.ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, q := range []ledger.Query{{Door: "reeve"}, {Door: "acs"}, {Kind: "tool.call"}, {Kind: "admin.policy"}, {Kind: "session.labels"}, {Kind: "acs.hello"}} {
		if _, err := ledger.Search(t.Context(), s, q); err != nil {
			t.Errorf("%+v: %v", q, err)
		}
	}
	// Whatever a name holds, it is a name.
	for _, name := range []string{"%", "_", "*", `'"; --`, "\x00", "\xff", strings.Repeat("x", 1024)} {
		if a, err := ledger.Search(t.Context(), s, ledger.Query{Agent: name, Session: name, Tool: name, Rule: name}); err != nil || len(a.Lines) != 0 {
			t.Errorf("%q: %v, %v", name, a, err)
		}
	}
}

// TestIndexChanged: a row of the index that is taken out, put in or changed, and facts
// that are taken away, are told by verify; what was erased on purpose is not.
func TestIndexChanged(t *testing.T) {
	t.Cleanup(ledger.SmallSegments())
	r := rand.New(rand.NewPCG(5, 6))
	for name, text := range map[string]string{
		"as it was":          `SELECT 1`,
		"a page is gone":     `DELETE FROM segment_page WHERE id = (SELECT max(id) FROM segment_page)`,
		"a page is changed":  `UPDATE segment_page SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM segment_page)`,
		"a page is another":  `UPDATE segment_page SET data = (SELECT data FROM segment_page ORDER BY id DESC LIMIT 1) WHERE id = (SELECT min(id) FROM segment_page)`,
		"all pages are gone": `DELETE FROM segment_page`,
		"it covers too much": `INSERT INTO segment VALUES (2, 7)`,
		"facts are gone":     `DELETE FROM fact WHERE first = (SELECT min(first) FROM fact)`,
		"facts are others":   `UPDATE fact SET data = (SELECT data FROM fact WHERE first > 0 LIMIT 1) WHERE first = 0`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			l := openLog(t, s)
			for i := range 200 {
				ticket := enqueue(t, l, someAct(r, i))
				if i%40 == 0 {
					wait(t, ticket)
				}
			}
			l.Close()
			if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Erase(t.Context(), []act.Position{{Index: 77}}); err != nil {
				t.Fatal(err)
			}
			verifyOK(t, s)
			if err := ledger.BuildIndex(t.Context(), s, 0, nil); err != nil {
				t.Fatal(err)
			}
			s.Close()
			execute(t, dir, text)
			s = openStore(t, dir)
			if report := verify(t, s); report.OK() != (name == "as it was") {
				t.Errorf("verify says %v", report.Problems)
			}
			// Whatever the index is, no answer is of another record than it says.
			for range 20 {
				q := someQuery(r)
				a, err := ledger.Search(t.Context(), s, q)
				if err != nil {
					t.Fatal(err)
				}
				for i := range a.Lines {
					if !q.Fits(&a.Lines[i]) {
						t.Errorf("%+v is answered with %+v", q, a.Lines[i])
					}
				}
			}
			if _, _, err := ledger.RebuildIndex(t.Context(), s, 0); err != nil {
				t.Fatal(err)
			}
			if report := verify(t, s); !report.OK() && name != "facts are others" {
				t.Errorf("after it was made anew verify says %v", report.Problems)
			}
		})
	}
}

// execute changes a closed database behind the program's back.
func execute(t *testing.T, dir, text string) {
	t.Helper()
	c, err := zombie.OpenConn(filepath.Join(dir, "reeve.db"), zombie.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(c, text, nil), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSearchKinds asks for kinds by a pattern, as rules do; what is counted by the index is not.
func TestSearchKinds(t *testing.T) {
	t.Cleanup(ledger.SmallSegments())
	r := rand.New(rand.NewPCG(3, 4))
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	var last *ledger.Ticket
	for i := range 600 {
		last = enqueue(t, l, someAct(r, i))
	}
	wait(t, last)
	for _, pattern := range []string{"tool.*", "*.user", "t??l.call", "*", "nothing.*"} {
		want := []string(nil)
		for _, line := range allLines(t, s, 0) {
			if glob.Match(pattern, line.Kind) {
				want = append(want, line.Decision)
			}
		}
		slices.Reverse(want)
		if d := cmp.Diff(want, answers(t, s, ledger.Query{Kind: pattern, Limit: 70})); d != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, d)
		}
		if _, err := ledger.Count(t.Context(), s, ledger.Query{Kind: pattern}); !errors.Is(err, ledger.ErrQuery) {
			t.Errorf("%s is counted: %v", pattern, err)
		}
	}
}
