package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

// Exit codes of a replay, so that a script can tell what came of it.
const (
	exitChanged exitCode = 3 // acts would be decided otherwise
	exitUntold  exitCode = 4 // none that can be told, and of some it cannot
)

// whatIf is one replay.
type whatIf struct {
	candidate, since, until string
	limit, acts             int
}

func policyReplay() *cobra.Command {
	var w whatIf
	c := &cobra.Command{
		Use:   "replay",
		Short: "Judge what agents did once more, under another policy, before it rules",
		Long: `Judges the recorded acts of a window once more under a candidate, each with what its session
remembered then, and tells which would be decided otherwise: by rule, agent and tool, what
would be let through first. Nothing is recorded or changed. Without --candidate it is the
policy of the node that runs on the data folder, else the configured one, as its files are now.

Each act comes to one of three ends: the same, changed, or that it cannot be told, because
what it was judged by is gone, or is kept masked and a rule looks at it. People's answers are
left out: what is compared is what the policy says before they are asked.

The exit code is 0 where everything would be decided the same, 3 where acts would be decided
otherwise, 4 where none would as far as it can be told, and of some it cannot; 130 after Ctrl-C.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := w.run(cmd)
			if err != nil {
				return err
			}
			report.Shorten(w.limit)
			if wantsJSON(cmd) {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				printReplay(cmd.OutOrStdout(), "again", report)
			}
			if err != nil {
				return err
			}
			switch {
			case report.Changed > 0:
				return exitChanged
			case report.CannotTell > 0:
				return exitUntold
			}
			return nil
		},
	}
	c.Flags().StringVar(&w.candidate, "candidate", "", "the policy to try, a file or a folder (default: the configured one)")
	c.Flags().StringVar(&w.since, "since", "24h", "from when on: an age such as 7d, a day, or a time")
	c.Flags().StringVar(&w.until, "until", "", "until when (default: now)")
	c.Flags().IntVar(&w.limit, "limit", 50, "how many groups and agents to show; 0 for all")
	c.Flags().IntVar(&w.acts, "acts", 3, "how many acts of each group to name")
	settingFlags(c, "data", "database", "policy", "ledger-seed", "ledger-origin")
	new(nodeFlags).add(c)
	return jsonFlag(c)
}

func policyShadow() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "shadow",
		Short: "Say what the candidate beside the running node's policy would have decided otherwise",
		Long: `Tells what the candidate beside the policy, its documents with mode: shadow, would have
decided otherwise of what the running node has decided since that candidate is there. Of
what was decided before, policy replay tells.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageError{errors.New("--limit is not negative")}
			}
			var report replay.Report
			if err := ask(cmd, true, "GET", "/api/v1/policy/shadow", nil, &report); err != nil {
				return err
			}
			report.Shorten(limit)
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), report)
			}
			printReplay(cmd.OutOrStdout(), "also", &report)
			return nil
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "how many groups and agents to show; 0 for all")
	settingFlags(c, "data")
	new(nodeFlags).add(c)
	return jsonFlag(c)
}

// mostNamed bounds how many acts of a group are named.
const mostNamed = 1000

func (w *whatIf) run(cmd *cobra.Command) (*replay.Report, error) {
	if w.limit < 0 || w.acts < 0 || w.acts > mostNamed {
		return nil, usageError{fmt.Errorf("--limit is not negative, and --acts is between 0 and %d", mostNamed)}
	}
	now := time.Now()
	since, err := operator.Moment(w.since, now)
	if err != nil {
		return nil, usageError{fmt.Errorf("--since %w", err)}
	}
	var until time.Time
	if w.until != "" {
		if until, err = operator.Moment(w.until, now); err != nil {
			return nil, usageError{fmt.Errorf("--until %w", err)}
		}
		if !since.Before(until) {
			return nil, usageError{errors.New("--until is not after --since")}
		}
	}
	report, err := w.ask(cmd, since, until)
	if errors.Is(err, context.Canceled) {
		return nil, exitCode(exitInterrupted)
	}
	return report, err
}

func (w *whatIf) ask(cmd *cobra.Command, since, until time.Time) (*replay.Report, error) {
	node, err := askedNode(cmd)
	if err != nil {
		return nil, err
	}
	if node == nil && w.candidate == "" && !cmd.Flags().Changed("policy") { // the policy in force is the node's
		if node, err = nodeHere(cmd); err != nil {
			return nil, err
		}
	}
	if node != nil {
		q := operator.Replay{Since: since, Until: until, Acts: w.acts, Limit: w.limit}
		if w.candidate != "" {
			files, err := policy.Files(w.candidate)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				q.Candidate = append(q.Candidate, operator.PolicyFile{Name: f.Name, Text: string(f.Data)})
			}
		}
		var report replay.Report
		return &report, node.Ask(cmd.Context(), "POST", "/api/v1/policy/replay", q, &report)
	}
	var report *replay.Report
	err = reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
		if w.candidate == "" && c.PolicyPath() == "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "reeve: no policy is named and no node runs here: judged under the built-in starter")
		}
		candidate, err := reeve.LoadPolicy(cmp.Or(w.candidate, c.PolicyPath()))
		if err != nil {
			return err
		}
		keys, err := c.PastKeys()
		if err != nil {
			return err
		}
		shown := &share{w: cmd.ErrOrStderr()}
		report, err = replay.Run(ctx, store, candidate, replay.Options{
			Since: since, Until: until, Keys: keys, Acts: w.acts, Scored: c.Model.URL != "", Progress: shown.progress(),
		})
		shown.clear()
		return err
	})
	return report, err
}

// share shows on a terminal how much is done.
type share struct {
	w     io.Writer
	shown bool
}

func (s *share) progress() func(done, of uint64) {
	if !isTerminal(s.w) {
		return nil
	}
	return func(done, of uint64) {
		if of > 0 {
			s.shown = true
			fmt.Fprintf(s.w, "\r\x1b[K%d of %s, %d %%", done, words.Count(int(of), "record"), 100*done/of)
		}
	}
}

func (s *share) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
}

func printReplay(w io.Writer, how string, r *replay.Report) {
	fmt.Fprintf(w, "%s judged %s under %s\n\n", words.Count(r.Acts, "act"), how, r.Candidate)
	fmt.Fprintf(w, "%8d the same\n%8d changed%s\n%8d cannot be told%s\n", r.Same, r.Changed, parts(
		[]string{"let through more", "let through less", "changed otherwise"}, []int{r.Looser, r.Stricter, r.Changed - r.Looser - r.Stricter}),
		r.CannotTell, because(r.Because))
	if len(r.Changes) > 0 {
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "WAS\tWOULD BE\tACTS\tRULE\tAGENT\tTOOL\tSUCH AS")
		for _, c := range r.Changes {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", c.From, c.To, c.Acts, printable(c.Rule), printable(c.Agent), printable(cmp.Or(c.Tool, c.Kind)), strings.Join(c.First, " "))
		}
		t.Flush()
	}
	if len(r.Agents) > 0 {
		fmt.Fprintln(w, "\nagents of which less would pass")
		for _, a := range r.Agents {
			what := fmt.Sprintf("of %s that passed%s", words.Count(a.Passed, "act"), parts([]string{"would be denied", "would wait for people"}, []int{a.Denied, a.Asked}))
			if a.Stops {
				what = "would stop working: " + what
			}
			fmt.Fprintf(w, "  %s  %s\n", printable(a.Agent), what)
		}
	}
	if r.Left {
		fmt.Fprintln(w, "\nthere is more than is shown: see --limit")
	}
	if len(r.Changes) > 0 && len(r.Changes[0].First) > 0 {
		fmt.Fprintf(w, "\nreeve why %s tells why it was decided as it was\n", r.Changes[0].First[0])
	}
}

// parts lists how many there are of each, without those of which there are none.
func parts(names []string, n []int) string {
	var list []string
	for i, name := range names {
		if n[i] > 0 {
			list = append(list, fmt.Sprintf("%d %s", n[i], name))
		}
	}
	if list == nil {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

func because(why map[string]int) string {
	names := slices.Sorted(maps.Keys(why))
	n := make([]int, len(names))
	for i, name := range names {
		n[i] = why[name]
	}
	return parts(names, n)
}
