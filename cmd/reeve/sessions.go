package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/internal/visible"
)

func sessionsCommand() *cobra.Command {
	return group("sessions", "See what coding agents did, session by session", sessionsList(), sessionsShow())
}

// newestRecords is how many records are looked through unless a flag says more.
const newestRecords = 20_000

func sessionsList() *cobra.Command {
	var last int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the sessions of coding agents, the newest first",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			sessions, err := readSessions(cmd, last)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), summaries(sessions))
			}
			if len(sessions) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "no coding agent's session is in these records%s\n", elsewhere(cmd))
				return nil
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%-19s  %9s  %5s  %6s  %6s  %5s  %s\n", "BEGAN", "LASTED", "STEPS", "DENIED", "CHANGED", "FILES", "SESSION")
			for _, s := range sessions {
				fmt.Fprintf(w, "%-19s  %9s  %5d  %6d  %6d  %5d  %s\n", s.Began.Local().Format("2006-01-02 15:04:05"), s.Lasted(), len(s.Steps), s.Denied, s.Changed, len(s.Files), printable(s.ID))
			}
			return nil
		},
	}
	c.Flags().IntVar(&last, "last", newestRecords, "how many of the newest records to look through; 0 for all")
	return jsonFlag(ledgerFlags(c))
}

// summary is a session in a list, for programs: sessions show has its steps.
type summary struct {
	ID      string    `json:"session"`
	Agent   string    `json:"agent"`
	Folder  string    `json:"folder,omitzero"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Steps   int       `json:"steps"`
	Denied  int       `json:"denied"`
	Changed int       `json:"changed"`
	Held    int       `json:"held"`
	Files   int       `json:"files"`
}

func summaries(sessions []*report.Session) []summary {
	list := []summary{}
	for _, s := range sessions {
		list = append(list, summary{s.ID, s.Agent, s.Folder, s.Began, s.Ended, len(s.Steps), s.Denied, s.Changed, s.Held, len(s.Files)})
	}
	return list
}

func sessionsShow() *cobra.Command {
	var last int
	var asHTML, asJSON bool
	c := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show every step of a session, what was decided and why, and the files that it changed",
		Long: `Shows every step of a coding agent's session with its verdict and reason, and the files
that it changed, as far as its steps tell: of a command, what can be read from its text.
SESSION is a session's name, or the beginning or end of one. With --html it writes one
page that needs nothing else, with --json the same for programs.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if asHTML && asJSON {
				return usageError{errors.New("--html and --json exclude each other")}
			}
			sessions, err := readSessions(cmd, last)
			if err != nil {
				return err
			}
			s, err := report.Find(sessions, a[0])
			if err != nil {
				return fmt.Errorf("%w%s", err, elsewhere(cmd))
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
		},
	}
	c.Flags().IntVar(&last, "last", newestRecords, "how many of the newest records to look through; 0 for all")
	c.Flags().BoolVar(&asHTML, "html", false, "write a page")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return ledgerFlags(c)
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
