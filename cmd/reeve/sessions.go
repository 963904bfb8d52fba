package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/visible"
)

func sessionsCommand() *cobra.Command {
	return group("sessions", "See what agents did, session by session", sessionsList(), sessionsShow(), sessionsLabels(), sessionsClear())
}

// newestRecords is how many records are looked through unless a flag says more.
const newestRecords = 20_000

// sessionsFunc, windowFunc and namedFunc answer from a database that is open, or from a node
// elsewhere; the last with the whole name of a session.
type (
	sessionsFunc func(ctx context.Context, q ledger.Query) (report.Runs, error)
	windowFunc   func(ctx context.Context, id string, q ledger.Query) (report.Window, error)
	namedFunc    func(ctx context.Context, name string) (id string, err error)
)

// askingSessions runs f with who tells of sessions: the node of --server, or the command's
// database.
func askingSessions(cmd *cobra.Command, f func(ctx context.Context, list sessionsFunc, show windowFunc, named namedFunc) error) error {
	node, err := askedNode(cmd)
	if err != nil {
		return err
	}
	if node == nil {
		return reading(cmd, func(ctx context.Context, _ reeve.Config, store store.Store) error {
			return f(ctx, func(ctx context.Context, q ledger.Query) (report.Runs, error) { return report.List(ctx, store, q) },
				func(ctx context.Context, id string, q ledger.Query) (report.Window, error) {
					return report.Show(ctx, store, id, q)
				}, func(ctx context.Context, name string) (string, error) { return report.Named(ctx, store, name) })
		})
	}
	return f(cmd.Context(), func(ctx context.Context, q ledger.Query) (runs report.Runs, err error) {
		err = node.Ask(ctx, "GET", "/api/v1/sessions?"+operator.Params(q).Encode(), nil, &runs)
		return runs, err
	}, func(ctx context.Context, id string, q ledger.Query) (w report.Window, err error) {
		err = node.Ask(ctx, "GET", "/api/v1/sessions/"+url.PathEscape(id)+"?"+operator.Params(q).Encode(), nil, &w)
		return w, err
	}, func(ctx context.Context, name string) (string, error) {
		var w report.Window
		err := node.Ask(ctx, "GET", "/api/v1/sessions/"+url.PathEscape(name)+"?part=true&limit=1", nil, &w)
		return w.ID, err
	})
}

// newestSessions lists at most so many sessions, 0 for all.
func newestSessions(ctx context.Context, list sessionsFunc, q ledger.Query, most int) (runs []report.Run, err error) {
	for {
		q.Limit = 100
		if most > 0 {
			q.Limit = min(q.Limit, most-len(runs))
		}
		some, err := list(ctx, q)
		if err != nil {
			return nil, err
		}
		runs = append(runs, some.Runs...)
		if q.Cursor = some.Next; q.Cursor == "" || most > 0 && len(runs) >= most {
			return runs, nil
		}
	}
}

// withoutProofs lists the same without the sessions in which hooks were only tried.
func withoutProofs(list sessionsFunc) sessionsFunc {
	return func(ctx context.Context, q ledger.Query) (report.Runs, error) {
		runs, err := list(ctx, q)
		runs.Runs = slices.DeleteFunc(runs.Runs, func(r report.Run) bool { return strings.HasSuffix(r.ID, ":"+hook.ProofSession) })
		return runs, err
	}
}

func sessionsList() *cobra.Command {
	var last int
	var all bool
	var q ledger.Query
	c := &cobra.Command{
		Use:   "list",
		Short: "List what agents did, run by run: sessions and trees of tasks, the newest first",
		Long: `Lists the runs of agents, by whichever door they came: coding agents, AOS, A2G, MCP, A2A and
tasks. A session is shown with those that it began. With --server another node is asked.
Those in which "reeve hook install" and "reeve hook test" called a hook are left out, unless --all
is given.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return usageError{errors.New("--last is not negative")}
			}
			return askingSessions(cmd, func(ctx context.Context, list sessionsFunc, _ windowFunc, _ namedFunc) error {
				if !all {
					list = withoutProofs(list)
				}
				runs, err := newestSessions(ctx, list, q, last)
				if err != nil {
					return err
				}
				if wantsJSON(cmd) {
					return printJSON(cmd.OutOrStdout(), append([]report.Run{}, runs...))
				}
				if len(runs) == 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "no session is in these records%s\n", elsewhere(cmd))
					return nil
				}
				w := cmd.OutOrStdout()
				fmt.Fprintf(w, "%-19s  %9s  %-5s  %5s  %6s  %7s  %5s  %s\n", "BEGAN", "LASTED", "DOOR", "STEPS", "DENIED", "CHANGED", "HELD", "SESSION")
				for i := range runs {
					s := &runs[i]
					fmt.Fprintf(w, "%-19s  %9s  %-5s  %5d  %6d  %7d  %5d  %s\n", s.Began.Local().Format(time.DateTime), s.Lasted(), printable(s.Door), s.Steps, s.Denied, s.Changed, s.Held, printable(s.ID))
				}
				return nil
			})
		},
	}
	c.Flags().IntVar(&last, "last", 100, "how many sessions at most; 0 for all")
	c.Flags().BoolVar(&all, "all", false, "also those in which a hook was only tried")
	c.Flags().StringVar(&q.Agent, "agent", "", "those in which this agent did something")
	c.Flags().StringVar(&q.User, "user", "", "those in which something was done for this user")
	c.Flags().StringVar(&q.Door, "door", "", "those that came by this protocol")
	c.Flags().StringVar(&q.Effect, "effect", "", "those in which something was decided so")
	return jsonFlag(aboutNode(c))
}

func sessionsShow() *cobra.Command {
	var asHTML, asJSON bool
	c := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show every step of a session, what was decided and why, and the files that it changed",
		Long: `Shows every step of a session with its verdict and reason, and the files that it changed, as
far as its steps tell: of a command, what can be read from its text. SESSION is a session's name
or the root of a tree of tasks, or the beginning or end of one that is among the newest 20,000
records. With --html it writes one page that needs nothing else, with --json the same for
programs.`,
		Args: args(notEmpty(cobra.ExactArgs(1))),
		RunE: func(cmd *cobra.Command, a []string) error {
			if asHTML && asJSON {
				return usageError{errors.New("--html and --json exclude each other")}
			}
			return askingSessions(cmd, func(ctx context.Context, _ sessionsFunc, show windowFunc, named namedFunc) error {
				id, err := named(ctx, a[0])
				if errors.Is(err, report.ErrNoneNamed) || operator.StatusOf(err) == http.StatusNotFound {
					return fmt.Errorf("%w%s", err, elsewhere(cmd))
				}
				if err != nil {
					return err
				}
				s, err := report.Collect(id, func(cursor string) (report.Window, error) {
					return show(ctx, id, ledger.Query{Oldest: true, Cursor: cursor})
				})
				if err != nil {
					return err
				}
				switch w := cmd.OutOrStdout(); {
				case asHTML:
					return sessionPage.Execute(w, s)
				case asJSON:
					return json.MarshalWrite(w, s, jsontext.WithIndent("  "), json.Deterministic(true))
				default:
					printSession(w, s)
					return nil
				}
			})
		},
	}
	c.Flags().BoolVar(&asHTML, "html", false, "write a page")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return aboutNode(c)
}

// labelsPath is where a session's labels are.
func labelsPath(session string) string {
	return "/api/v1/sessions/" + url.PathEscape(session) + "/labels"
}

func sessionsLabels() *cobra.Command {
	var principal, agent string
	c := &cobra.Command{
		Use:   "labels SESSION",
		Short: "Show what a session has read, as the policy's rules ask for it",
		Long: `Shows the labels of a session: foreign, where it has read anything that is not one's own, and
the tags that the policy gives to what it has read; and which tools were called or planned before
that. See docs/information-flow.md.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			l, err := labelsOf(cmd, a[0])
			if err != nil {
				return err
			}
			return printLabels(cmd, l)
		},
	}
	namedSession(c, &principal, &agent)
	return jsonFlag(aboutNode(c))
}

func sessionsClear() *cobra.Command {
	var principal, agent string
	c := &cobra.Command{
		Use:   "clear SESSION LABEL …",
		Short: "Take labels away from a session: vouch for what it has read until now",
		Long: `Takes labels away from a session, and records who did. With the label foreign a person vouches
for what the session has read until now: rules that ask whether it has read anything foreign no
longer hold, until it reads something new. Values keep who named them: what foreign text has
named is still foreign. A tag that is taken away says that what was read is not confidential
here. Nobody clears a session of their own credential.`,
		Args: args(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var l operator.SessionLabels
			if err := askNode(cmd, "POST", labelsPath(a[0]), operator.LabelsWord{Clear: a[1:], Principal: principal, Agent: agent}, &l); err != nil {
				return err
			}
			return printLabels(cmd, &l)
		},
	}
	namedSession(c, &principal, &agent)
	return jsonFlag(aboutNode(c))
}

// namedSession adds the flags that tell sessions of one name apart.
func namedSession(c *cobra.Command, principal, agent *string) {
	c.Flags().StringVar(principal, "principal", "", "the session's credential, where several have one of the name")
	c.Flags().StringVar(agent, "agent", "", "the session's agent, where several of one credential have one of the name")
}

// labelsOf asks for the labels of the session that a command names.
func labelsOf(cmd *cobra.Command, session string) (*operator.SessionLabels, error) {
	q := url.Values{"principal": {flagOf(cmd, "principal")}, "agent": {flagOf(cmd, "agent")}}
	l := new(operator.SessionLabels)
	return l, askNode(cmd, "GET", labelsPath(session)+"?"+q.Encode(), nil, l)
}

func printLabels(cmd *cobra.Command, l *operator.SessionLabels) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), l)
	}
	none := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return printable(strings.Join(list, ", "))
	}
	heard := "no: nothing can be the user's"
	if l.Heard {
		heard = "yes"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "session     %s\nagent       %s\ncredential  %s\nlabels      %s\nplanned     %s\nuser heard  %s\n",
		printable(l.Session), printable(l.Agent), printable(l.Principal), none(l.Labels), none(l.Planned), heard)
	return err
}

// labelsCleared says what taking labels away does.
func labelsCleared(cmd *cobra.Command, a []string) ([]string, error) {
	lines := []string{fmt.Sprintf("the session %s is taken to have read nothing that is %s", a[0], strings.Join(a[1:], ", "))}
	l, err := labelsOf(cmd, a[0])
	if err != nil {
		return lines, err
	}
	return append(lines, fmt.Sprintf("it is of %s (%s), and its labels are: %s", l.Agent, l.Principal, strings.Join(l.Labels, ", "))), nil
}

// readSessions reads the sessions from the ledger of a command.
func readSessions(cmd *cobra.Command, last int) ([]*report.Session, error) {
	if last < 0 {
		return nil, usageError{errors.New("--last is not negative")}
	}
	c, err := config(cmd)
	if err != nil {
		return nil, err
	}
	c = orOwn(c)
	if err := noRecords(c); err != nil {
		return nil, err
	}
	store, err := reeve.OpenReader(cmd.Context(), c)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	list, err := report.Read(cmd.Context(), store, uint64(last))
	return list, errors.Join(err, store.Close())
}

// harmless is a text of others with every character to be seen, on as many lines as
// it has: what agents sent must not steer the terminal or deceive the reader.
func harmless(s string) string { return visible.Lines(s) }

func oneLine(s string, longest int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

func printSession(w io.Writer, s *report.Session) {
	fmt.Fprintf(w, "session  %s\n", printable(s.ID))
	if s.Folder != "" {
		fmt.Fprintf(w, "folder   %s\n", printable(s.Folder))
	}
	fmt.Fprintf(w, "began    %s, lasted %s\n", s.Began.Local().Format("2006-01-02 15:04:05"), s.Lasted())
	fmt.Fprintf(w, "steps    %d: %d denied, %d changed, %d held for a person\n\n", len(s.Steps), s.Denied, s.Changed, s.Held)
	for i := range s.Steps {
		step := &s.Steps[i]
		fmt.Fprintf(w, "%s  %-8s  %-7s  %-7s  %s", step.Time.Local().Format("15:04:05"), step.Decision, step.Verdict(), step.Label(), step.Name())
		if step.Name() != "" && step.Text != "" {
			fmt.Fprint(w, "  ")
		}
		fmt.Fprintln(w, oneLine(step.Shown(), 160))
		if step.Agreed {
			fmt.Fprintf(w, "%31sits user agreed to the call, in the agent's own window\n", "")
		}
		if step.Damaged {
			fmt.Fprintf(w, "%31swhat is kept of it is damaged: verify the ledger\n", "")
		}
		if step.Child != "" {
			fmt.Fprintf(w, "%31sin the sub-agent %s\n", "", printable(step.Child))
		}
		if why := step.Why(); why != "" {
			fmt.Fprintf(w, "%31s%s\n", "", oneLine(why, 400))
		}
	}
	if len(s.Files) > 0 {
		fmt.Fprintf(w, "\nfiles\n")
	}
	for _, f := range s.Files {
		fmt.Fprintf(w, "  %-7s  %-7s  %s  (%s)\n", f.How, f.State, oneLine(printable(f.Path), 200), f.Decision)
	}
}

//go:embed sessions.html
var sessionHTML string

var sessionPage = template.Must(template.New("session").Funcs(template.FuncMap{"harmless": harmless}).Parse(sessionHTML))
