package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
)

func bomPath(agent string, q url.Values) string {
	return "/api/v1/agents/" + url.PathEscape(agent) + "/bom?" + q.Encode()
}

func bomCommand() *cobra.Command {
	var w whose
	var format, out string
	c := group("bom", "What agents are made of: their bills of materials, as their acts show them", bomDiff(), bomVerify())
	c.Use = "bom [AGENT]"
	c.Long = `Shows what an agent is made of, or lists the agents of whom that is known: its model,
tools, MCP servers, peers, knowledge, memory and skills, when each was first and last
seen, what it declares and never used, and what it used and never declared.

With --format the bill is written in a form of others, signed by the node: ` + formatNames() + `.
A CycloneDX document holds its signature. With SPDX and SWID it stands in a statement
beside the document: --out FILE writes FILE and FILE.sig. See docs/bom.md.`
	c.Args = args(cobra.MaximumNArgs(1))
	c.RunE = func(cmd *cobra.Command, a []string) error {
		switch {
		case len(a) == 0 && (format != "" || out != ""):
			return usageError{errors.New("--format and --out need an agent")}
		case len(a) == 0:
			return bomList(cmd)
		case format != "" && !slices.Contains(bom.Formats, bom.Format(format)):
			return usageError{fmt.Errorf("there is no format %q: choose one of %s", format, formatNames())}
		case format == "" && out != "":
			return usageError{errors.New("--out needs --format")}
		case format != "":
			return bomWrite(cmd, a[0], w.principal, format, out)
		}
		r, err := bomReport(cmd, a[0], w.principal, "")
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), r)
		}
		return showBOM(cmd.OutOrStdout(), r)
	}
	w.flags(c, false)
	c.Flags().StringVar(&format, "format", "", "write the signed bill in this form: "+formatNames())
	c.Flags().StringVar(&out, "out", "", "with --format: the file to write, and FILE.sig beside it where the form holds no signature (default: standard output)")
	return jsonFlag(aboutNode(c))
}

func formatNames() string {
	var names []string
	for _, f := range bom.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

func bomReport(cmd *cobra.Command, agent, principal, since string) (*bom.Report, error) {
	q := url.Values{}
	if principal != "" {
		q.Set("principal", principal)
	}
	if since != "" {
		q.Set("since", since)
	}
	r := new(bom.Report)
	return r, askNode(cmd, "GET", bomPath(agent, q), nil, r)
}

func bomList(cmd *cobra.Command) error {
	var all operator.BOMList
	for after := ""; ; {
		var page operator.BOMList
		if err := askNode(cmd, "GET", "/api/v1/boms?"+url.Values{"after": {after}}.Encode(), nil, &page); err != nil {
			return err
		}
		all.Bills = append(all.Bills, page.Bills...)
		if after = page.Next; after == "" {
			break
		}
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), all)
	}
	if len(all.Bills) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "no act of an agent is recorded")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tCREDENTIAL\tVERSION\tSINCE\tCOMPONENTS")
	for _, b := range all.Bills {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\n", printable(b.Agent), printable(b.Principal), b.Version, when(b.Changed), b.Components)
	}
	return w.Flush()
}

func bomWrite(cmd *cobra.Command, agent, principal, format, out string) error {
	q := url.Values{"format": {format}}
	if principal != "" {
		q.Set("principal", principal)
	}
	var document, statement []byte
	path := bomPath(agent, q)
	err := withNode(cmd, false, path, func(c *operator.Client) (err error) {
		document, statement, err = c.Document(cmd.Context(), path)
		return err
	})
	if err != nil {
		return err
	}
	if out == "" {
		if statement != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "this form holds no signature: --out FILE writes it beside the document, as FILE.sig")
		}
		_, err := cmd.OutOrStdout().Write(document)
		return err
	}
	if err := os.WriteFile(out, document, 0o644); err != nil {
		return err
	}
	if statement == nil {
		return nil
	}
	return os.WriteFile(out+".sig", statement, 0o644)
}

func showBOM(out io.Writer, r *bom.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	name := printable(r.Agent)
	if r.Name != "" && r.Name != r.Agent {
		name += " (" + printable(r.Name) + ")"
	}
	if r.Release != "" {
		name += " " + printable(r.Release)
	}
	fmt.Fprintf(w, "agent\t%s\n", name)
	fmt.Fprintf(w, "credential\t%s\n", printable(r.Principal))
	fmt.Fprintf(w, "bill\t%s, version %d since %s\n", r.Serial, r.Version, when(r.Changed))
	if r.Policy != "" {
		fmt.Fprintf(w, "policy\t%s\n", printable(r.Policy))
	}
	if r.Full {
		fmt.Fprintf(w, "full\tthere were more components than the %d that a bill has room for: later ones are not in it\n", bom.MaxComponents)
	}
	if r.Making {
		fmt.Fprintln(w, "anew\tit is being made anew from the ledger: something may be missing yet")
	}
	if err := w.Flush(); err != nil || len(r.Components) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nTYPE\tNAME\tVERSION\tHASH\tFIRST\tLAST\t")
	for _, c := range r.Components {
		name := printable(c.Name)
		if c.Server != "" {
			name += " of " + printable(c.Server)
		}
		var marks []string
		for _, m := range []struct {
			is   bool
			mark string
		}{{c.Gone, "gone"}, {c.Undeclared, "used, never declared"}, {c.Unused && !c.Gone, "declared, never used"}, {c.Confusable, "looks like another name"}} {
			if m.is {
				marks = append(marks, m.mark)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.12s\t%s\t%s\t%s\n", c.Type, name, dash(printable(c.Version)), dash(c.SHA256), c.First.Format(time.DateOnly), c.Last.Format(time.DateOnly), strings.Join(marks, "; "))
	}
	return w.Flush()
}

func bomDiff() *cobra.Command {
	var w whose
	var since string
	c := &cobra.Command{
		Use:   "diff AGENT",
		Short: "What came to an agent, changed and went, since a version, a day or an age",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			r, err := bomReport(cmd, a[0], w.principal, since)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), r.Changes)
			}
			out := cmd.OutOrStdout()
			for _, change := range r.Changes {
				fmt.Fprintf(out, "%s  %s\n", change.At.Format(time.RFC3339), printable(change.Text))
			}
			if len(r.Changes) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "nothing has changed")
			}
			return nil
		},
	}
	w.flags(c, false)
	c.Flags().StringVar(&since, "since", "", "a version such as 3, a day such as 2027-01-31, a time, or an age such as 24h (default: the version before the present one)")
	return jsonFlag(aboutNode(c))
}

func bomVerify() *cobra.Command {
	var key, signature, age string
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a bill that a node gave out, offline",
		Long: `Checks that the log with this public key has signed the bill as it is, and the checkpoint
in it. The key must have come by another way than the bill: 'reeve ledger key' prints it.
An old bill holds as well as a new one: --max-age refuses those of long ago.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if key == "" {
				return usageError{errors.New("--key is needed: the log's public key, got by another way than the bill")}
			}
			var most time.Duration
			if cmd.Flags().Changed("max-age") { // an empty one, as of a variable that is not set, is no age
				var err error
				if most, err = words.Duration(age); err != nil {
					return usageError{fmt.Errorf("--max-age: %w", err)}
				}
				if most <= 0 { // which would hold every bill
					return usageError{errors.New("--max-age is an age such as 24h: more than nothing")}
				}
			}
			document, err := readFile(cmd, a[0])
			if err != nil {
				return err
			}
			var statement []byte
			if signature == "" && a[0] != "-" {
				if _, err := os.Stat(a[0] + ".sig"); err == nil {
					signature = a[0] + ".sig"
				}
			}
			if signature != "" {
				if statement, err = readFile(cmd, signature); err != nil {
					return err
				}
			}
			v, err := bom.Verify(document, statement, key)
			if err != nil {
				return fmt.Errorf("the bill does not hold: %w", err)
			}
			if err := fresh(v.Created, time.Now(), most); err != nil {
				return fmt.Errorf("the bill holds, but %w", err)
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), v)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the bill holds: version %d of %s, of %s, signed by %s with %d records\n",
				v.Version, printable(v.Agent), v.Created.Format(time.RFC3339), v.Log, v.Size)
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "the log's public key")
	c.Flags().StringVar(&signature, "signature", "", "the statement beside a bill in SPDX or SWID (default: FILE.sig, where it is there)")
	c.Flags().StringVar(&age, "max-age", "", "refuse a bill that is older, such as 24h")
	return jsonFlag(c)
}

// clocksDiffer is by how much the clocks of two machines may.
const clocksDiffer = 5 * time.Minute

// fresh says why a bill is not of a time that is wanted: most is its greatest age, 0 for any.
// One that is dated ahead would be new for longer than it is.
func fresh(created, now time.Time, most time.Duration) error {
	switch age := now.Sub(created); {
	case age < -clocksDiffer:
		return fmt.Errorf("is dated %s, which is still to come: the clock of the node that made it was wrong, or this one is", created.Format(time.RFC3339))
	case most > 0 && age > most:
		return fmt.Errorf("is of %s: older than was asked for", created.Format(time.RFC3339))
	}
	return nil
}
