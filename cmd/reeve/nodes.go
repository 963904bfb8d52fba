package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
)

func nodesCommand() *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "nodes",
		Short: "Show the nodes that share a database, and in what they differ",
		Long: `Shows each node that lives: its version and policy, the log that it writes, since when it
runs, when it last gave a sign of life, and the ledger's lag there: how long a record takes
until it is durable. One that was killed or is cut off is shown as gone for a day, or until
another takes up its log. Ends with exit code 1 when one is gone, and when they differ in
policy, executors or version.

A running node is asked, or else the database itself.`,
		Example: `  reeve nodes
  reeve nodes --server https://reeve.example --key env:REEVE_KEY --json`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := listNodes(cmd, all)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), &list); err != nil {
					return err
				}
			} else if err := printNodes(cmd, &list); err != nil {
				return err
			}
			wrong := list.Differences
			if len(list.Missing) > 0 {
				wrong = append(wrong, fmt.Sprintf("gone without having ended: %s", printable(strings.Join(list.Missing, ", "))))
			}
			if len(wrong) > 0 {
				return errors.New(strings.Join(wrong, "; "))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "also those that ended, by the logs that they wrote last")
	return aboutNode(c)
}

// listNodes asks a node which ones there are, and the database where none runs: a node
// that is opened only to look would be one more.
func listNodes(cmd *cobra.Command, all bool) (list operator.NodeList, err error) {
	path := "/nodes"
	if all {
		path += "?all=1"
	}
	err = ask(cmd, true, "GET", path, nil, &list)
	if !errors.Is(err, errNotRunning) {
		return list, err
	}
	err = reading(cmd, func(ctx context.Context, _ reeve.Config, store store.Store) error {
		members, err := store.Members(ctx)
		list = operator.ListNodes(members, all)
		return err
	})
	return list, err
}

func printNodes(cmd *cobra.Command, list *operator.NodeList) error {
	if len(list.Nodes) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "no node is running")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tVERSION\tPOLICY\tLOG\tRECORDS\tNEWEST\tLAG\tUP\tSEEN\tSTATE")
	for _, n := range list.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n",
			printable(dash(n.Name)), printable(dash(n.Version)), dash(nodes.Short(n.Policy)), n.Log, n.Size, ago(n.Newest),
			n.Lag.Duration().Round(100*time.Microsecond), ago(n.Started), n.Age.Duration().Round(100*time.Millisecond), printable(stateOfNode(&n)))
	}
	return w.Flush()
}

// ago is how long ago something was, in a unit that fits.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, time.Since(t))
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

func stateOfNode(n *nodes.Node) string {
	switch {
	case n.Gone:
		return "GONE: killed, or cut off from the database"
	case !n.Living:
		return "ended"
	case n.Policy == "":
		return "does not serve, or is of an older program"
	case n.Refused != "":
		return n.Refused
	case n.Problem != "":
		return "its policy was not read again: " + strings.ReplaceAll(n.Problem, "\n", "; ")
	}
	return "serves"
}
