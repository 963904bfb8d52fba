package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/operator"
)

// whose names an agent's credential, and a user of it, on the command line.
type whose struct{ principal, user, organization string }

func (w *whose) flags(c *cobra.Command, user bool) {
	c.Flags().StringVar(&w.principal, "principal", "", "the agent's credential, where several agents bear the name")
	if user {
		c.Flags().StringVar(&w.user, "user", "", "a user of the agent's, whose own values are meant, too")
		c.Flags().StringVar(&w.organization, "organization", "", "that user's organization, where the agent says it")
	}
}

func habitsPath(agent string) string { return "/api/v1/agents/" + url.PathEscape(agent) + "/habits" }

func habitsCommand() *cobra.Command {
	var w whose
	c := group("habits", "What agents usually do: what was learned, what is new, and what people say of it",
		habitsSay("forget", "AGENT [VALUE]", "Have one value, or all that was learned of an agent, count as never seen", 2),
		habitsSay("freeze", "AGENT", "Learn nothing of an agent until thaw", 1),
		habitsSay("thaw", "AGENT", "Learn of an agent again", 1),
		habitsSay("rebuild", "AGENT", "Make an agent's profile anew from what the ledger has", 1),
		habitsIncident())
	c.Use = "habits [AGENT]"
	c.Long = `Shows what an agent usually does, or lists the agents of whom that is known: in which
dimensions it is settled, which values are usual, what is new this week, and when its
instructions, tools, model or version changed. Values are shown as they are kept beside
the decisions; those of users are shown for that user only. See docs/habits.md.`
	c.Args = args(cobra.MaximumNArgs(1))
	c.RunE = func(cmd *cobra.Command, a []string) error {
		if len(a) == 0 {
			return habitsList(cmd)
		}
		q := url.Values{}
		for name, value := range map[string]string{"principal": w.principal, "user": w.user, "organization": w.organization} {
			if value != "" {
				q.Set(name, value)
			}
		}
		path := habitsPath(a[0])
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
		var r habits.Report
		if err := askNode(cmd, "GET", path, nil, &r); err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), r)
		}
		var list operator.HabitsList
		if err := askNode(cmd, "GET", "/api/v1/habits?"+url.Values{"agent": {a[0]}}.Encode(), nil, &list); err != nil {
			return err
		}
		list.Unusual = slices.DeleteFunc(list.Unusual, func(u operator.UnusualLine) bool { return u.Principal != r.Principal })
		return errors.Join(showHabits(cmd.OutOrStdout(), &r), showUnusual(cmd.OutOrStdout(), list.Unusual))
	}
	w.flags(c, true)
	jsonFlag(aboutNode(c))
	return c
}

func habitsList(cmd *cobra.Command) error {
	var list operator.HabitsList
	if err := askNode(cmd, "GET", "/api/v1/habits", nil, &list); err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), list)
	}
	if len(list.Agents) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing was learned of any agent: a session counts half an hour after its last act, where the policy asks what is usual")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tCREDENTIAL\tSESSIONS\tLAST\tUNUSUAL")
	for _, r := range list.Agents {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", printable(r.Agent), printable(r.Principal), r.Sessions, when(r.Last), alarmsText(r))
	}
	if list.More {
		fmt.Fprintln(cmd.ErrOrStderr(), "there are others: name the agent")
	}
	return errors.Join(w.Flush(), showUnusual(cmd.OutOrStdout(), list.Unusual))
}

// showUnusual lists what was unusual lately, one cause a line.
func showUnusual(out io.Writer, list []operator.UnusualLine) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nAGENT\tSINCE\tLAST\tACTS\tSESSIONS\tDECISION\tUNUSUAL")
	for _, u := range list {
		acts := fmt.Sprint(u.Acts)
		if u.Asked > 0 {
			acts += fmt.Sprintf(" (%d asked)", u.Asked)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", printable(u.Agent), when(u.First), when(u.Last), acts, u.Sessions, u.Decision, printable(u.Text))
	}
	return w.Flush()
}

// alarmsText is how often something was unusual, against what may be.
func alarmsText(r *habits.Report) string {
	if r.Alarms.Sessions == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of the last %d sessions (%.1f %%; %.1f %% may be)", r.Alarms.Unusual, r.Alarms.Sessions,
		100*float64(r.Alarms.Unusual)/float64(r.Alarms.Sessions), 100*r.Alarms.Budget)
}

// maxHabitsShown is how many values of a dimension are printed.
const maxHabitsShown = 20

func showHabits(out io.Writer, r *habits.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "agent\t%s\n", printable(r.Agent))
	fmt.Fprintf(w, "credential\t%s\n", printable(r.Principal))
	last := ""
	if !r.Last.IsZero() {
		last = ", the last on " + r.Last.Format(time.DateOnly)
	}
	fmt.Fprintf(w, "sessions\t%d%s\n", r.Sessions, last)
	fmt.Fprintf(w, "unusual\t%s\n", alarmsText(r))
	if r.Learning {
		fmt.Fprintf(w, "learning\ttoo little is known yet to call anything new: that takes %d sessions\n", habits.Learning)
	}
	if r.Frozen {
		fmt.Fprintln(w, "frozen\tnothing is learned at present")
	}
	if r.Owed {
		fmt.Fprintln(w, "anew\tit is about to be made anew from the ledger")
	}
	for _, c := range r.Chapters {
		said := fmt.Sprintf("since %s, %d sessions", c.Since.Format(time.DateOnly), c.Sessions)
		if len(c.Changed) > 0 {
			said += "; changed: " + strings.Join(c.Changed, ", ")
			for _, d := range r.Dimensions {
				if n := c.New[d.Name]; n > 0 {
					said += fmt.Sprintf("; %d new of %s", n, printable(d.Name))
				}
			}
		}
		fmt.Fprintf(w, "chapter\t%s\n", said)
	}
	for _, v := range r.Volumes {
		if v.Usual >= 0 {
			fmt.Fprintf(w, "usual\tup to %d %s\n", v.Usual, v.Of)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nDIMENSION\tSESSIONS\tVALUES\tUSUAL\tLAST NEW ONE\tWHAT IS NEW")
	for _, d := range r.Dimensions {
		says := "is said"
		if !d.Speaks {
			says = "is not said: " + d.Why
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d sessions ago\t%s\n", printable(d.Name), d.Sessions, d.Values, d.Usual, d.Quiet, says)
	}
	if err := w.Flush(); err != nil || len(r.Values) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nVALUE\tOF\tSEEN\tTAUGHT BY\t")
	shown, left := map[string]int{}, 0
	for _, v := range r.Values {
		if shown[v.Dimension]++; shown[v.Dimension] > maxHabitsShown {
			left++
			continue
		}
		text := v.Text
		if text == "" {
			text = "(decision " + v.Decision + ")"
		}
		by := fmt.Sprintf("%d sessions", v.Sessions)
		if v.Taught {
			by = "a person"
		}
		var marks []string
		for mark, is := range map[string]bool{"usual": v.Usual, "the user's own": v.Mine} {
			if is {
				marks = append(marks, mark)
			}
		}
		if v.New {
			marks = append(marks, "new this week")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", printable(text), printable(v.Dimension), v.Seen.Format(time.DateOnly), by, strings.Join(marks, ", "))
	}
	if left > 0 {
		fmt.Fprintf(w, "and %d more: --json has them\n", left)
	}
	return w.Flush()
}

func habitsSay(say, use, short string, most int) *cobra.Command {
	var w whose
	c := &cobra.Command{
		Use:   say + " " + use,
		Short: short,
		Args:  args(cobra.RangeArgs(1, most)),
		RunE: func(cmd *cobra.Command, a []string) error {
			q := operator.HabitsWord{Say: say, Principal: w.principal, User: w.user, Organization: w.organization}
			if len(a) > 1 {
				q.Value = a[1]
			}
			var r habits.Report
			if err := askNode(cmd, "POST", habitsPath(a[0]), q, &r); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), r)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "done, and recorded")
			return nil
		},
	}
	w.flags(c, say == "forget")
	jsonFlag(aboutNode(c))
	return c
}

func habitsIncident() *cobra.Command {
	c := &cobra.Command{
		Use:   "incident DECISION",
		Short: "Have the session of a decision teach nothing, and what it taught be forgotten",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var marked operator.Incident
			if err := askNode(cmd, "POST", "/api/v1/decisions/"+url.PathEscape(a[0])+"/incident", operator.Nothing{}, &marked); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), marked)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "done, and recorded")
			return nil
		},
	}
	return jsonFlag(aboutNode(c))
}

// habitsChanged says what a word on an agent's habits does.
func habitsChanged(what string) func(*cobra.Command, []string) ([]string, error) {
	return func(cmd *cobra.Command, a []string) ([]string, error) {
		lines := []string{what}
		if len(a) > 1 {
			lines = []string{fmt.Sprintf("%q counts as never seen: it is asked about again", a[1])}
		}
		q := url.Values{}
		if p := flagOf(cmd, "principal"); p != "" {
			q.Set("principal", p)
		}
		var r habits.Report
		if err := askNode(cmd, "GET", habitsPath(a[0])+"?"+q.Encode(), nil, &r); err != nil {
			return lines, err
		}
		return append([]string{fmt.Sprintf("of %s (%s), which is known by %d sessions:", r.Agent, r.Principal, r.Sessions)}, lines...), nil
	}
}

// incidentMarked says what marking an incident does.
func incidentMarked(_ *cobra.Command, a []string) ([]string, error) {
	return []string{fmt.Sprintf("the session of decision %s teaches nothing, and what it taught is forgotten", a[0])}, nil
}
