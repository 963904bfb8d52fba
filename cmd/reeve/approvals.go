package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8/cwriter"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"
)

func approvalsCommand() *cobra.Command {
	return group("approvals", "Acts that wait for a person: see them, and answer",
		approvalsList(), approvalsShow(), approvalsAnswer("approve", "Let the act happen: once, or what does the same for a while"),
		approvalsAnswer("deny", "Refuse the act"), approvalsRevoke())
}

func approvalsList() *cobra.Command {
	var all, granted, asJSON bool
	var which choice
	c := &cobra.Command{
		Use:   "list",
		Short: "List the acts that wait for an answer, and what would happen",
		Long: `Lists the acts that wait for an answer, the newest first: how long there is to answer and
since when it is asked, who asks, which rule holds it, what would happen, and in which session
and folder, since the same command of two sessions is two acts. With --granted it lists what
people agreed to for more than once, and lets acts pass now.`,
		Example: `  reeve approvals list
  reeve approvals list --agent claude-code --last 5
  reeve approvals list --granted
  reeve approvals list --server https://reeve.example --key env:REEVE_KEY --json`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if which.last < 0 {
				return usageError{errors.New("--last is not negative")}
			}
			if granted {
				return listGranted(cmd, which, all, asJSON)
			}
			list, err := askApprovals(cmd, all)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(h *approval.Decision) bool { return !which.is(agentOf(h), h.Principal, h.Session) })
			slices.SortStableFunc(list, func(a, b *approval.Decision) int {
				return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
			})
			list, more := list[:which.shown(len(list))], len(list)-which.shown(len(list))
			switch {
			case asJSON:
				if err := printJSON(cmd.OutOrStdout(), list); err != nil {
					return err
				}
			case len(list) == 0:
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing waits for an answer%s%s\n", which.text(), elsewhere(cmd))
			default:
				listApprovals(cmd.OutOrStdout(), list, lineWidth(cmd.OutOrStdout()))
			}
			sayMore(cmd, more)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "also those that are over")
	c.Flags().BoolVar(&granted, "granted", false, "what people agreed to for more than once")
	which.flags(c)
	return aboutNode(c)
}

// askApprovals asks the node for what it holds; all: also for what is over.
func askApprovals(cmd *cobra.Command, all bool) ([]*approval.Decision, error) {
	list := []*approval.Decision{}
	for after := ""; ; {
		path := "/approvals?after=" + url.QueryEscape(after)
		if all {
			path += "&all=1"
		}
		var page operator.ApprovalList
		if err := askNode(cmd, "GET", path, nil, &page); err != nil {
			return nil, err
		}
		sayDamaged(cmd, page.Damaged)
		list = append(list, page.Approvals...)
		if after = page.Next; after == "" {
			return list, nil
		}
	}
}

// approvalNamed is the id of an approval that a person names by it, or by the decision that was held, which is
// what an agent's window and `reeve why` tell. A decision that is no longer what waits names nothing.
func approvalNamed(cmd *cobra.Command, name string) (string, error) {
	log, position, is := strings.Cut(name, "-")
	if _, err := strconv.ParseUint(log, 10, 64); err != nil || !is {
		return name, nil
	}
	if _, err := strconv.ParseUint(position, 10, 64); err != nil {
		return name, nil
	}
	list, err := askApprovals(cmd, true)
	if err != nil {
		return "", err
	}
	for _, h := range list {
		if h.Decision == name {
			return h.ID, nil
		}
	}
	return "", fmt.Errorf("decision %s holds nothing for people; reeve approvals list shows what waits, and reeve why %s what was decided%s", name, name, elsewhere(cmd))
}

// choice is which acts are listed, and how many.
type choice struct {
	agent, session string
	last           int
}

func (w *choice) flags(c *cobra.Command) {
	c.Flags().StringVar(&w.agent, "agent", "", "those of this agent, or of this credential")
	c.Flags().StringVar(&w.session, "session", "", "those of this session: its name, or the end of it")
	c.Flags().IntVar(&w.last, "last", 50, "how many at most, the newest; 0 for all")
}

// is reports whether what somebody does in a session is among them.
func (w *choice) is(agent, principal, session string) bool {
	return (w.agent == "" || w.agent == agent || w.agent == principal) && (w.session == "" || strings.HasSuffix(session, w.session))
}

// shown is how many of so many are listed.
func (w *choice) shown(n int) int {
	if w.last > 0 {
		return min(n, w.last)
	}
	return n
}

// text says of an empty list of what it is.
func (w *choice) text() (said string) {
	if w.agent != "" {
		said += " of agent " + printable(w.agent)
	}
	if w.session != "" {
		said += " of session " + printable(w.session)
	}
	return said
}

func sayMore(cmd *cobra.Command, more int) {
	if more > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "there are %d more: see --last\n", more)
	}
}

func listGranted(cmd *cobra.Command, which choice, all, asJSON bool) error {
	list := []*approval.Grant{}
	for after := ""; ; {
		path := "/grants?after=" + url.QueryEscape(after)
		if all {
			path += "&all=1"
		}
		var page operator.GrantList
		if err := askNode(cmd, "GET", path, nil, &page); err != nil {
			return err
		}
		sayDamaged(cmd, page.Damaged)
		list = append(list, page.Grants...)
		if after = page.Next; after == "" {
			break
		}
	}
	list = slices.DeleteFunc(list, func(g *approval.Grant) bool { return !which.is(g.Agent, g.Principal, g.Session) })
	slices.SortStableFunc(list, func(a, b *approval.Grant) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	more := len(list) - which.shown(len(list))
	list = list[:which.shown(len(list))]
	defer sayMore(cmd, more)
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		return printJSON(out, list)
	case len(list) == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "nothing was agreed to for more than once%s%s\n", which.text(), elsewhere(cmd))
		return nil
	}
	width := lineWidth(out)
	fmt.Fprintf(out, "%-16s  %-8s  %-5s  %-20s  BY\n", "ID", "STATE", "LEFT", "AGENT")
	for _, g := range list {
		left, state := "", string(g.State)
		if g.State == approval.Approved {
			left, state = shortTime(time.Until(g.Until)), "granted"
		}
		row := fmt.Sprintf("%-16s  %-8s  %-5s  %s  %s", g.ID, state, left, pad(printable(cmp.Or(g.Agent, g.Principal)), 20), printable(strings.Join(g.Who(), ", ")))
		fmt.Fprintln(out, runewidth.Truncate(row, width, "…"))
		fmt.Fprintln(out, runewidth.Truncate("    "+printable(cmp.Or(g.What, strings.TrimSpace(g.Kind+" "+g.Resource))), width, "…"))
		if g.State != approval.Approved {
			continue
		}
		for _, line := range append([]string{reachOf(g)}, g.Scope.Words()...) {
			fmt.Fprintln(out, runewidth.Truncate("      "+printable(line), width, "…"))
		}
	}
	return nil
}

// reachOf says where a grant holds.
func reachOf(g *approval.Grant) string {
	reach := "in all sessions"
	if g.Session != "" {
		reach = "in session " + printable(g.Session)
	}
	if g.Scope.Folder != "" {
		reach += ", in " + printable(g.Scope.Folder)
	}
	return reach
}

func approvalsRevoke() *cobra.Command {
	q := operator.GrantChange{State: approval.Revoked}
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what was agreed to for more than once",
		Long: `Takes back what was agreed to for more than once, by its id as list --granted has it, or by
that of the approval: from then on people are asked again.`,
		Example: `  reeve approvals list --granted
  reeve approvals revoke mqg3y2k7c5d4n8ab`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if err := askTerminal(cmd, a, "  people are asked again about what it covers\n"); err != nil {
				return err
			}
			var g approval.Grant
			if err := askNode(cmd, "POST", "/grants/"+url.PathEscape(a[0]), q, &g); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), &g)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", g.ID, g.State)
			return nil
		},
	}
	c.Flags().StringVar(&q.Note, "note", "", "a sentence for the record")
	jsonFlag(c)
	return aboutNode(c)
}

// listApprovals prints acts that are held: who asks, why and for how long, below it what would
// happen, and since when and where it is asked for.
func listApprovals(out io.Writer, list []*approval.Decision, width int) {
	fmt.Fprintf(out, "%-16s  %-8s  %-5s  %-20s  RULE\n", "ID", "STATE", "LEFT", "AGENT")
	for _, h := range list {
		left := ""
		if h.Open() {
			left = shortTime(time.Until(h.Expires))
		}
		row := fmt.Sprintf("%-16s  %-8s  %-5s  %s  %s", h.ID, h.State, left, pad(printable(agentOf(h)), 20), printable(strings.Join(h.Rules(), ", ")))
		fmt.Fprintln(out, runewidth.Truncate(row, width, "…"))
		fmt.Fprintln(out, runewidth.Truncate("    "+printable(cmp.Or(h.What, strings.TrimSpace(h.Kind+" "+h.Resource))), width, "…"))
		fmt.Fprintln(out, runewidth.Truncate("      "+whereOf(h, width-6), width, "…"))
		for _, a := range h.Answers {
			fmt.Fprintln(out, runewidth.Truncate("      "+printable(answerText(a)), width, "…"))
		}
		if !h.Open() {
			fmt.Fprintln(out, runewidth.Truncate("      what it was: reeve why "+h.Decision, width, "…"))
		}
	}
}

// answerText is who answered, how, and with which note.
func answerText(a approval.Answer) string {
	verb := "agreed"
	if !a.Agree {
		verb = "refused"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s at %s %s", a.By, verb, a.At.Format(time.RFC3339), a.Note))
}

// Bounds of what a list shows of a session's name, and leaves for a folder's.
const (
	sessionWidth = 40
	sessionLeast = 16
	folderLeast  = 24
)

// whereOf says since when, and in which session and folder something is asked for, in so many
// columns. Of a long name of a session its end is shown, in which those of one agent differ; of a
// folder its beginning and its end.
func whereOf(h *approval.Decision, width int) string {
	text := "asked " + shortTime(time.Since(h.Created)) + " ago"
	folder := printable(h.Folder)
	left := width - runewidth.StringWidth(text)
	if h.Session != "" {
		const mark = ", session "
		room := sessionWidth
		if folder != "" {
			room = max(sessionLeast, min(room, left-len(mark)-len(", in ")-min(runewidth.StringWidth(folder), folderLeast)))
		}
		name := printable(h.Session)
		if runewidth.StringWidth(name) > room {
			name = runewidth.TruncateLeft(name, runewidth.StringWidth(name)-room+1, "…")
		}
		text += mark + name
	}
	if folder != "" {
		const mark = ", in "
		text += mark + inside(folder, width-runewidth.StringWidth(text)-len(mark))
	}
	return text
}

// inside is a text in so many columns, cut in its middle where it is longer.
func inside(text string, width int) string {
	all := runewidth.StringWidth(text)
	if all <= width || width < 3 {
		return text
	}
	head := (width - 1) / 3
	begins := runewidth.Truncate(text, head, "")
	return begins + runewidth.TruncateLeft(text, all-(width-1-head), "…")
}

// lineWidth is how wide lines may be: a terminal's width, and 80 columns elsewhere.
func lineWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		if width, _, err := cwriter.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, 40)
		}
	}
	return 80
}

// shortTime is a length of time in its largest unit, such as 58m.
func shortTime(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", max(0, d/time.Second))
}

func approvalsShow() *cobra.Command {
	var asJSON, exact bool
	c := &cobra.Command{
		Use:   "show ID|DECISION",
		Short: "Show exactly what would be done, and who is asked",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			id, err := approvalNamed(cmd, a[0])
			if err != nil {
				return err
			}
			var h approval.Decision
			if err := askNode(cmd, "GET", "/approvals/"+url.PathEscape(id), nil, &h); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), &h)
			}
			return showApproval(cmd.OutOrStdout(), &h, exact)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	exactFlag(c, &exact)
	return aboutNode(c)
}

func exactFlag(c *cobra.Command, exact *bool) {
	c.Flags().BoolVar(exact, "exact", false, "also the whole request as it was sent, with all that its protocol puts around the call")
}

func approvalsAnswer(verb, short string) *cobra.Command {
	q := operator.ApprovalAnswer{Answer: verb}
	var lasts, until string
	var changes []string
	var exact bool
	c := &cobra.Command{
		Use:   verb + " ID|DECISION",
		Short: short,
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var h approval.Decision
			var err error
			if q.For, err = spanNamed(lasts, until, time.Now()); err != nil {
				return usageError{err}
			}
			id, err := approvalNamed(cmd, a[0])
			if err != nil {
				return err
			}
			if id != a[0] {
				q.Decision = cmp.Or(q.Decision, a[0])
			}
			path := "/approvals/" + url.PathEscape(id)
			if q.Seen == "" || changes != nil || q.Form != "" { // what is printed here is what is agreed to
				if err := askNode(cmd, "GET", path, nil, &h); err != nil {
					return err
				}
				if h.State == approval.Held && q.Seen == "" {
					out := cmd.OutOrStdout()
					if wantsJSON(cmd) { // for whoever is asked, and not for programs
						out = cmd.ErrOrStderr()
					}
					if err := showApproval(out, &h, exact); err != nil {
						return err
					}
					fmt.Fprintln(out)
				}
				if q.Answer == "approve" && q.Seen == "" {
					q.Seen = h.Seen
				}
				if q.Changes, err = changesNamed(h.Exact, changes); err != nil {
					return err
				}
			}
			if err := askTerminal(cmd, a, question(&h, &q)); err != nil {
				return err
			}
			if err := askNode(cmd, "POST", path, q, &h); err != nil {
				if strings.Contains(err.Error(), approval.ErrOnce.Error()) {
					return fmt.Errorf("%w; nothing was agreed to: without --for and --until you agree to it once", err)
				}
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), &h)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s%s\n", h.ID, h.State, missing(&h))
			if h.Grant != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "what does the same is let through, %s (grant %s)\n", spanText(h.For()), h.Grant)
			} else if h.State == approval.Approved && !q.For.Once() {
				fmt.Fprintln(cmd.OutOrStdout(), "only once: somebody else who agreed has said no more than that")
			}
			return nil
		},
	}
	jsonFlag(c)
	if verb == "approve" {
		c.Long = `Shows what would be done, with every character of what the tool is given, asks at the terminal,
and lets it happen once. --exact shows the whole request, too, as it was sent.

With --for session or --until it also lets through, unasked, what does the same later: what
the same rules ask about, by the same agent and tool, with the same arguments (a text for
readers, as of a message, and the content of the same file may be others), nothing graver,
with the files that it runs unchanged. A command has to be readable whole, and is the same
only in the same folder. What the policy denies, no agreement lets through.`
		c.Example = `  reeve approvals approve mqg3y2k7c5d4n8ab
  reeve approvals approve 0-1205
  reeve approvals approve mqg3y2k7c5d4n8ab --for session
  reeve approvals approve mqg3y2k7c5d4n8ab --until 7d --note 'The release week.'
  reeve approvals approve mqg3y2k7c5d4n8ab --change amount=25 --change to='Birch Ltd'`
		c.Flags().StringVar(&lasts, "for", "", "session: also what does the same in this session, for a day at most; or a length of time, as --until")
		c.Flags().StringVar(&until, "until", "", "also what does the same, for a time such as 2h or 7d, or until the end of a day such as 2027-01-31")
		c.Flags().StringArrayVar(&changes, "change", nil, "NAME=VALUE: agree, once, with this argument changed; can be given several times. The policy judges that form before it happens")
		c.Flags().StringVar(&q.Form, "form", "", "agree, once, to the form that somebody else proposed with changes: its digest, as show prints it")
		c.Flags().BoolVar(&q.Usual, "usual", false, "also: upon whom or what it is done is usual for the agent from now on, and is not asked about again where a rule passes what is usual")
		c.Flags().StringVar(&q.Seen, "seen", "", "what show printed as \"seen\": agree only to exactly that, without printing it again")
	}
	exactFlag(c, &exact)
	c.Flags().StringVar(&q.Note, "note", "", "a sentence for the agent and the record")
	c.Flags().StringVar(&q.Decision, "decision", "", "answer only if this decision, as shown, is still the one that waits")
	return aboutNode(c)
}

// missing says of what is held still how many people have agreed to it, of how many who must.
func missing(h *approval.Decision) string {
	agreed, wanted := h.Progress()
	if h.State != approval.Held || agreed == 0 {
		return ""
	}
	return fmt.Sprintf(" still: %d of %d have agreed", agreed, wanted)
}

// changesNamed are the changes of an act's arguments that were given as NAME=VALUE. What is a
// text stays one, and all else is JSON.
func changesNamed(x *approval.Exact, given []string) (list []operator.ArgumentChange, err error) {
	var arguments []approval.Argument // nothing is shown where there are none
	if x != nil {
		arguments = x.Arguments
	}
	for _, one := range given {
		name, text, ok := strings.Cut(one, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--change is NAME=VALUE, not %.80q", one)}
		}
		var found *approval.Argument
		var names []string
		for i := range arguments {
			arg := &arguments[i]
			names = append(names, arg.Name)
			if arg.Name == name && found != nil {
				return nil, usageError{fmt.Errorf("several arguments are named %.80q: say which by its pointer, such as %s", name, arg.Pointer)}
			}
			if arg.Name == name || arg.Pointer == name {
				found = arg
			}
		}
		if found == nil {
			return nil, usageError{fmt.Errorf("the act has no argument %.80q that can be changed: it has %s", name, cmp.Or(printable(strings.Join(names, ", ")), "none"))}
		}
		value := jsontext.Value(text)
		if strings.HasPrefix(found.Value, `"`) {
			if value, err = jsontext.AppendQuote(nil, text); err != nil {
				return nil, usageError{fmt.Errorf("--change %s: %w", printable(name), err)}
			}
		} else if !value.IsValid() {
			return nil, usageError{fmt.Errorf("--change %s: what is no text stays JSON, which this is not", printable(name))}
		}
		list = append(list, operator.ArgumentChange{Pointer: found.Pointer, Value: value})
	}
	return list, nil
}

// question is what is asked about last, below what would be done.
func question(h *approval.Decision, q *operator.ApprovalAnswer) (shown string) {
	if h.What != "" {
		shown = "  " + printable(words.Shorten(h.What, 400)) + "\n"
	}
	switch {
	case q.Answer != "approve":
	case q.For.Once():
		shown += "  once\n"
	default:
		shown += "  and what does the same, " + spanText(q.For) + "\n"
	}
	for _, c := range q.Changes {
		shown += "  with " + printable(c.Pointer) + " changed to " + printable(words.Shorten(string(c.Value), 400)) + "\n"
	}
	for _, f := range h.Forms() {
		for _, c := range f.Changes {
			if f.Digest == q.Form {
				shown += "  with " + printable(c.Pointer) + " changed to " + printable(words.Shorten(c.New, 400)) + "\n"
			}
		}
	}
	if q.Usual {
		shown += "  and upon whom or what it is done is usual for the agent from now on\n"
	}
	return shown
}

// spanNamed is how long somebody agrees for.
func spanNamed(lasts, until string, now time.Time) (s approval.Span, err error) {
	if lasts == "session" || lasts == "once" {
		s.Session, lasts = lasts == "session", ""
	}
	if lasts != "" && until != "" {
		return s, errors.New("--for and --until both name a time: leave one out")
	}
	if text := cmp.Or(until, lasts); text != "" {
		if d, err := words.Duration(text); err == nil && d > 0 {
			s.Until = now.Add(d)
		} else if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
			s.Until = day.AddDate(0, 0, 1)
		} else if s.Until, err = time.Parse(time.RFC3339, text); err != nil {
			return s, fmt.Errorf("%q is neither a length of time, such as 2h or 7d, nor a day, such as 2027-01-31", text)
		}
	}
	if s.Once() {
		return s, nil
	}
	if _, err := s.At(now); err != nil {
		return s, err
	}
	return s, nil
}

// spanText says how long somebody agreed for.
func spanText(s approval.Span) string {
	switch {
	case s.Until.IsZero():
		return "in this session"
	case s.Session:
		return "in this session, until " + s.Until.Local().Format("2006-01-02 15:04")
	}
	return "until " + s.Until.Local().Format("2006-01-02 15:04")
}

// showApproval prints a held decision. All of it that an agent wrote is made
// harmless: it is read by the person whom it may want to deceive. exact is the whole request, too,
// which is shown anyway where the arguments of a call are not all of what would be done.
func showApproval(out io.Writer, h *approval.Decision, exact bool) error {
	call := h.Exact != nil && h.Exact.Whole && len(h.Exact.Arguments) > 0
	what := h.What
	if call { // it follows, whole
		what = ""
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"approval", h.ID}, {"state", string(h.State)}, {"decision", h.Decision}, {"asked by", h.Principal}, {"agent", h.Agent},
		{"session", h.Session}, {"folder", h.Folder}, {"what", what}, {"act", strings.TrimSpace(h.Kind + " " + h.Resource)}, {"digest", h.Digest}, {"seen", h.Seen},
		{"asked at", h.Created.Format(time.RFC3339)}, {"expires", left(h)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], printable(row[1]))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range h.Needs {
		who := "any approver"
		if len(n.Approvers) > 0 {
			who = strings.Join(n.Approvers, ", ")
		}
		if n.Another {
			who += ", but for the person whose act it is"
		}
		if n.Passkey {
			who += ", with a passkey, in the console"
		}
		fmt.Fprintf(out, "\nrule %s (%s) asks %s of %s\n  %s\n", printable(n.Rule), printable(n.Code), people(n.Quorum), printable(who), printable(n.Message))
	}
	for _, a := range h.Answers {
		fmt.Fprintf(out, "\n%s\n", printable(answerText(a)))
		for _, c := range a.Changes {
			fmt.Fprintf(out, "  with %s changed to %s\n", printable(c.Pointer), printable(c.New))
		}
		if a.Form != "" {
			fmt.Fprintf(out, "  form %s\n", printable(a.Form))
		}
	}
	if h.Exact != nil {
		if call {
			showCall(out, h.Exact)
		}
		if exact || !call {
			showExact(out, h.Exact)
		} else {
			showChanges(out, h.Exact)
		}
		showScope(out, &h.Exact.Scope)
		return nil
	}
	if h.Request != nil {
		fmt.Fprintf(out, "\nthe request, as it is kept:\n%s\n", readable(h.Request))
	}
	for _, e := range h.Edits {
		fmt.Fprintf(out, "\nthe policy changes %s to\n%s\n", printable(e.Pointer), readable(e.Value))
	}
	return nil
}

// showExact prints what would be done: every character as its reader will have it,
// and numbers digit by digit. Only the space between tokens is laid out anew, and no
// escape is left that hides a letter.
func showExact(out io.Writer, x *approval.Exact) {
	fmt.Fprintf(out, "\nthe request, exactly:\n%s\n", readable(jsontext.Value(x.Request)))
	showChanges(out, x)
}

// showCall prints what a tool would be given, each argument whole. A text is shown as its lines,
// and anything else as JSON.
func showCall(out io.Writer, x *approval.Exact) {
	tool, _, _ := strings.Cut(x.What, ":")
	fmt.Fprintf(out, "\n%s would be called with\n", printable(cmp.Or(tool, "it")))
	for _, arg := range x.Arguments {
		var text string
		if json.Unmarshal([]byte(arg.Value), &text) != nil {
			fmt.Fprintf(out, "  %s =\n%s\n", printable(arg.Name), readable(jsontext.Value(arg.Value)))
			continue
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) == 1 {
			fmt.Fprintf(out, "  %s = %s\n", printable(arg.Name), printable(lines[0]))
			continue
		}
		fmt.Fprintf(out, "  %s =\n", printable(arg.Name))
		for _, line := range lines {
			fmt.Fprintf(out, "    %s\n", printable(line))
		}
	}
}

// showChanges prints what the policy changes in what would be done.
func showChanges(out io.Writer, x *approval.Exact) {
	for _, c := range x.Changes {
		fmt.Fprintf(out, "\nthe policy changes %s from\n%s\nto\n%s\n", printable(c.Pointer), readable(jsontext.Value(c.Old)), readable(jsontext.Value(c.New)))
	}
}

// showScope says what agreement to more than this one act would cover.
func showScope(out io.Writer, s *approval.Scope) {
	switch {
	case s.Once != "":
		fmt.Fprintf(out, "\nIt can be agreed to once only: %s.\n", printable(s.Once))
	case s.Same != "":
		what := "the same call by the same agent"
		if s.Act != "" {
			what = "this command by the same agent"
		}
		fmt.Fprintln(out, "\nAgreement for more than once would cover "+what)
		if s.Folder != "" {
			fmt.Fprintf(out, "  in %s\n", printable(s.Folder))
		}
		for _, line := range s.Words() {
			fmt.Fprintln(out, "  "+printable(line))
		}
	}
}

func people(n int) string {
	if n == 1 {
		return "one"
	}
	return strconv.Itoa(n)
}

func agentOf(h *approval.Decision) string {
	if h.Agent != "" {
		return h.Agent
	}
	return h.Principal
}

// left says when a held decision expires.
func left(h *approval.Decision) string {
	text := h.Expires.Format(time.RFC3339)
	if h.Open() {
		text += " (" + time.Until(h.Expires).Round(time.Second).String() + ")"
	}
	return text
}

// readable is JSON over several lines, with nothing that a terminal would act on or
// a person would not see. A text could be written in escapes alone (\u0072\u006d), which
// nobody reads: what needs no escape is shown without one.
func readable(v jsontext.Value) string {
	v = v.Clone()
	if v.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false)) != nil {
		return printable(string(v))
	}
	var lines []string
	for line := range bytes.Lines(v) {
		lines = append(lines, "  "+printable(strings.TrimSuffix(string(line), "\n")))
	}
	return strings.Join(lines, "\n")
}

// printable is a text of others on one line, with every character to be seen.
func printable(s string) string { return visible.Line(s) }
