package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve"
	"reeve/approval"
)

func approvalsCommand() *cobra.Command {
	return group("approvals", "Acts that wait for a person: see them, and answer",
		approvalsList(), approvalsShow(), approvalsAnswer("approve", "Let the act happen, once"), approvalsAnswer("deny", "Refuse the act"))
}

func approvalsList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the acts that wait for an answer",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			after, n := "", 0
			for {
				path := "/approvals?after=" + url.QueryEscape(after)
				if all {
					path += "&all=1"
				}
				var page reeve.ApprovalList
				if err := askNode(cmd, "GET", path, nil, &page); err != nil {
					return err
				}
				for _, h := range page.Approvals {
					if n++; n == 1 {
						fmt.Fprintln(w, "ID\tSTATE\tAGENT\tACT\tEXPIRES")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", h.ID, h.State, printable(agentOf(h)), printable(strings.TrimSpace(h.Kind+" "+h.Resource)), left(h))
				}
				if after = page.Next; after == "" {
					break
				}
			}
			if n == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing waits for an answer%s\n", elsewhere(cmd))
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those that are over")
	settingFlags(c, "data", "database")
	return c
}

func approvalsShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show what would be done, and who is asked",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var h approval.Decision
			if err := askNode(cmd, "GET", "/approvals/"+url.PathEscape(a[0]), nil, &h); err != nil {
				return err
			}
			return showApproval(cmd.OutOrStdout(), &h)
		},
	}
	settingFlags(c, "data", "database")
	return c
}

func approvalsAnswer(verb, short string) *cobra.Command {
	q := reeve.ApprovalAnswer{Answer: verb}
	c := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var h approval.Decision
			if err := askNode(cmd, "POST", "/approvals/"+url.PathEscape(a[0]), q, &h); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", h.ID, h.State)
			return nil
		},
	}
	c.Flags().StringVar(&q.Note, "note", "", "a sentence for the agent and the record")
	c.Flags().StringVar(&q.Decision, "decision", "", "answer only if this decision, as shown, is still the one that waits")
	settingFlags(c, "data", "database")
	return c
}

// showApproval prints a held decision. All of it that an agent wrote is made
// harmless: it is read by the person whom it may want to deceive.
func showApproval(out io.Writer, h *approval.Decision) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"approval", h.ID}, {"state", string(h.State)}, {"decision", h.Decision}, {"asked by", h.Principal}, {"agent", h.Agent},
		{"session", h.Session}, {"act", strings.TrimSpace(h.Kind + " " + h.Resource)}, {"digest", h.Digest},
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
		fmt.Fprintf(out, "\nrule %s (%s) asks %s of %s\n  %s\n", printable(n.Rule), printable(n.Code), people(n.Quorum), printable(who), printable(n.Message))
	}
	for _, a := range h.Answers {
		verb := "agreed"
		if !a.Agree {
			verb = "refused"
		}
		fmt.Fprintf(out, "\n%s %s at %s %s\n", printable(a.By), verb, a.At.Format(time.RFC3339), printable(a.Note))
	}
	if h.Request != nil {
		fmt.Fprintf(out, "\nthe request:\n%s\n", readable(h.Request))
	}
	for _, e := range h.Edits {
		fmt.Fprintf(out, "\nthe policy changes %s to\n%s\n", printable(e.Pointer), readable(e.Value))
	}
	return nil
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

// readable is JSON over several lines, with what a terminal would act on, and
// what a person would not see, written as escapes.
func readable(v jsontext.Value) string {
	v = append(jsontext.Value(nil), v...)
	if v.Indent(jsontext.WithIndent("  ")) != nil {
		return printable(string(v))
	}
	var lines []string
	for line := range bytes.Lines(v) {
		lines = append(lines, "  "+printable(strings.TrimSuffix(string(line), "\n")))
	}
	return strings.Join(lines, "\n")
}

// printable writes characters that are not plainly visible as escapes.
func printable(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c == ' ' || unicode.IsGraphic(c) && !unicode.IsSpace(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "\\u%04x", c)
		}
	}
	return b.String()
}
