package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
)

func ledgerSearch() *cobra.Command {
	var q ledger.Query
	var since, until string
	var asJSON, asCSV, asHTML bool
	most := ledger.DefaultLines
	c := &cobra.Command{
		Use:   "search",
		Short: "Find decisions by when, who, what and why",
		Long: `Finds decisions by their time, agent, user, session, tool, effect, rule and door, the newest
first. What is asked for must be so all at once. --since and --until take a day, a time or an
age. --text looks through the contents, as far as they are kept, and says how far it has come.
With --server another node is asked, as auditor.`,
		Example: `  reeve ledger search --effect deny --since 24h
  reeve ledger search --user ann@example.com --since 2027-01-01 --csv > ann.csv
  reeve ledger search --rule no-force-push --agent claude-code --json
  reeve ledger search --text 'DROP TABLE' --since 7d --server https://reeve.example --key file:auditor.key`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if since != "" {
				if q.Since, err = operator.Moment(since, time.Now()); err != nil {
					return usageError{fmt.Errorf("--since: %w", err)}
				}
			}
			if until != "" {
				if q.Until, err = operator.Moment(until, time.Now()); err != nil {
					return usageError{fmt.Errorf("--until: %w", err)}
				}
			}
			if most < 0 {
				return usageError{errors.New("--last is not negative")}
			}
			if cmd.Flags().Changed("last") && cmd.Flags().Changed("limit") {
				return usageError{errors.New("--last and --limit are the same: leave one out")}
			}
			if err := q.Check(); err != nil {
				return usageError{err}
			}
			w := cmd.OutOrStdout()
			var out lineWriter
			switch n := count(asJSON, asCSV, asHTML); {
			case n > 1:
				return usageError{errors.New("--json, --csv and --html exclude each other")}
			case asJSON:
				out = &jsonLines{w: w}
			case asCSV:
				out = &csvLines{csv.NewWriter(w)}
			case asHTML:
				out = &htmlLines{w: w, about: q}
			default:
				out = &tableLines{w: w, progress: cmd.ErrOrStderr(), text: q.Text != ""}
			}
			return looking(cmd, func(ctx context.Context, at records) error { return find(ctx, at.ask, q, most, out) })
		},
	}
	f := c.Flags()
	f.StringVar(&since, "since", "", "from this day, time or age on, such as 2027-01-31 or 24h")
	f.StringVar(&until, "until", "", "before this day, time or age")
	f.StringVar(&q.Agent, "agent", "", "the agent's id")
	f.StringVar(&q.Principal, "principal", "", "who asked, as the node established it, such as key:ci")
	f.StringVar(&q.User, "user", "", "the user's id, also where it is masked")
	f.StringVar(&q.Organization, "organization", "", "the organization")
	f.StringVar(&q.Behalf, "on-behalf-of", "", "who was acted for by a token: its subject, or jwt:ISSUER#SUBJECT")
	f.StringVar(&q.Session, "session", "", "the session, with those that it began")
	f.StringVar(&q.Tool, "tool", "", "the tool, as rules name it or as it was sent")
	f.StringVar(&q.Effect, "effect", "", "allow, modify, escalate or deny")
	f.StringVar(&q.Rule, "rule", "", "a rule's name, or a reason's code")
	f.StringVar(&q.Door, "door", "", "the protocol, such as aos, a2g, mcp, a2a or flow")
	f.StringVar(&q.Kind, "kind", "", "what sort of act it is, such as tool.call, admin.erase, or admin.* for all of a sort")
	f.StringVar(&q.Task, "task", "", "the root of a tree of tasks")
	f.StringVar(&q.Approval, "approval", "", "the approval that was asked for")
	f.StringVar(&q.Text, "text", "", "a text in the contents, whatever the case of its letters")
	f.BoolVar(&q.Oldest, "oldest", false, "the oldest first")
	f.IntVar(&most, "last", most, "how many decisions at most; 0 for all")
	f.IntVar(&most, "limit", most, "the same as --last")
	f.BoolVar(&asJSON, "json", false, "print JSON, a line each")
	f.BoolVar(&asCSV, "csv", false, "print a table for spreadsheets")
	f.BoolVar(&asHTML, "html", false, "print one page")
	return aboutNode(c)
}

func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

// decisionsFunc answers a query: of a database that is open, or of a node elsewhere.
type decisionsFunc func(ctx context.Context, q ledger.Query) (ledger.Answer, error)

// find writes what a query finds, page by page: at most so many lines, 0 for all.
func find(ctx context.Context, ask decisionsFunc, q ledger.Query, most int, out lineWriter) error {
	read := 0
	for n, begun := 0, false; ; {
		q.Limit = ledger.MaxLines
		if most > 0 {
			q.Limit = min(q.Limit, most-n)
		}
		a, err := ask(ctx, q)
		if err != nil {
			return err
		}
		if !begun { // and nothing is written where it cannot be asked
			if err := out.begin(); err != nil {
				return err
			}
			begun = true
		}
		for i := range a.Lines {
			if err := out.add(&a.Lines[i]); err != nil {
				return err
			}
		}
		n += len(a.Lines)
		read += a.Read
		if q.Cursor = a.Next; q.Cursor == "" || most > 0 && n >= most {
			return out.end(n, q.Cursor != "")
		}
		if err := out.reached(read, a.Reached); err != nil {
			return err
		}
	}
}

// lineWriter writes what was found in one form.
type lineWriter interface {
	begin() error
	add(l *ledger.Line) error
	// reached is told how far a search has come that takes longer.
	reached(read int, at time.Time) error
	end(n int, more bool) error
}

// tableLines is for people at a terminal. What one answer of the search brings is written with
// columns as wide as it needs.
type tableLines struct {
	w, progress io.Writer
	text        bool
	rows        [][]string
	widths      []int
}

func (t *tableLines) row(cells ...string) {
	if t.widths == nil {
		t.widths = make([]int, len(cells))
	}
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], runewidth.StringWidth(cell))
	}
	t.rows = append(t.rows, cells)
}

// write writes the rows that have gathered.
func (t *tableLines) write() error {
	for _, cells := range t.rows {
		last := len(cells) - 1
		for i, cell := range cells[:last] {
			cells[i] = pad(cell, t.widths[i])
		}
		if _, err := fmt.Fprintln(t.w, strings.Join(cells, "  ")); err != nil {
			return err
		}
	}
	t.rows = nil
	return nil
}

func (t *tableLines) begin() error {
	t.row("DECISION", "TIME", "DOOR", "KIND", "EFFECT", "AGENT", "TOOL", "RULES")
	return nil
}

func (t *tableLines) add(l *ledger.Line) error {
	who := l.Agent
	if who == "" {
		who = l.Principal
	}
	if l.Gone {
		who = "(not kept)"
	}
	t.row(l.Decision, l.Time.Local().Format(time.DateTime), dash(printable(l.Door)), printable(l.Kind), dash(printable(l.Effect)),
		dash(printable(words.Shorten(who, 40))), dash(printable(words.Shorten(l.Tool, 40))), dash(printable(strings.Join(l.Rules, " "))))
	return nil
}

func (t *tableLines) reached(read int, at time.Time) error {
	if err := t.write(); err != nil {
		return err
	}
	if t.text {
		fmt.Fprintf(t.progress, "… %s looked through, back to %s\n", words.Count(read, "decision"), at.Local().Format(time.DateTime))
	}
	return nil
}

func (t *tableLines) end(n int, more bool) error {
	if err := t.write(); err != nil {
		return err
	}
	switch {
	case more:
		fmt.Fprintf(t.progress, "there are more than these %d: see --last\n", n)
	case n == 0:
		fmt.Fprintln(t.progress, "nothing was found")
	}
	return nil
}

// jsonLines is for programs: a line each.
type jsonLines struct{ w io.Writer }

func (j *jsonLines) begin() error { return nil }

func (j *jsonLines) add(l *ledger.Line) error {
	text, err := json.Marshal(l, json.Deterministic(true), jsontext.EscapeForHTML(true))
	if err == nil {
		_, err = j.w.Write(append(text, '\n'))
	}
	return err
}

func (j *jsonLines) reached(int, time.Time) error { return nil }
func (j *jsonLines) end(int, bool) error          { return nil }

// csvLines is for spreadsheets.
type csvLines struct{ w *csv.Writer }

func (c *csvLines) begin() error {
	return c.w.Write([]string{"decision", "time", "door", "kind", "effect", "would", "rules", "codes", "agent", "principal", "organization", "user", "tool", "server", "session", "task", "approval", "policy", "on_behalf_of", "actors", "client"})
}

func (c *csvLines) add(l *ledger.Line) error {
	user := l.User
	if user == "" {
		user = l.UserHash
	}
	row := []string{l.Decision, l.Time.Format(time.RFC3339Nano), l.Door, l.Kind, l.Effect, l.Would, strings.Join(l.Rules, " "), strings.Join(l.Codes, " "),
		l.Agent, l.Principal, l.Organization, user, l.Tool, l.Server, l.Session, l.Task, l.Approval, l.Policy,
		l.OnBehalfOf, strings.Join(l.Actors, " "), l.Client}
	for i := range row {
		row[i] = cell(row[i])
	}
	return c.w.Write(row)
}

// cell is a text that a spreadsheet shows, and never computes: names are what agents say.
// A formula can also begin behind blanks, and in the wide forms of its first character.
func cell(s string) string {
	s = printable(s)
	if first := strings.TrimLeft(s, " \u00a0\u3000"); first != "" && strings.ContainsAny(first[:1], "=+-@|%") ||
		strings.HasPrefix(first, "＝") || strings.HasPrefix(first, "＋") || strings.HasPrefix(first, "－") || strings.HasPrefix(first, "＠") {
		return "'" + s
	}
	return s
}

func (c *csvLines) reached(int, time.Time) error { return nil }

func (c *csvLines) end(int, bool) error {
	c.w.Flush()
	return c.w.Error()
}

//go:embed search.html
var searchHTML string

var searchPage = template.Must(template.New("search").Funcs(template.FuncMap{"harmless": printable, "join": strings.Join}).Parse(searchHTML))

// htmlLines is a page for people that needs nothing else.
type htmlLines struct {
	w     io.Writer
	about ledger.Query
	lines []ledger.Line
}

func (h *htmlLines) begin() error                 { return nil }
func (h *htmlLines) add(l *ledger.Line) error     { h.lines = append(h.lines, *l); return nil }
func (h *htmlLines) reached(int, time.Time) error { return nil }

func (h *htmlLines) end(n int, more bool) error {
	asked := operator.Params(h.about)
	var what []string
	for _, name := range []string{"since", "until", "agent", "principal", "user", "organization", "on_behalf_of", "session", "tool", "effect", "rule", "door", "kind", "task", "approval", "text"} {
		if v := asked.Get(name); v != "" {
			what = append(what, name+" "+v)
		}
	}
	return searchPage.Execute(h.w, struct {
		Asked []string
		Lines []ledger.Line
		More  bool
	}{what, h.lines, more})
}
