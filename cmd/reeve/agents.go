package main

import (
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/operator"
)

func agentsCommand() *cobra.Command {
	return group("agents", "Agents: who they are, how what they asked for ended, and their standing",
		agentsList(), agentsShow(),
		agentsSet("suspend", agent.Suspended, "Allow an agent nothing until it is resumed"),
		agentsSet("resume", agent.Active, "End an agent's suspension"),
		agentsSet("revoke", agent.Revoked, "Allow an agent nothing any more, for good"),
		agentsResetKey())
}

func agentsList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the agents that registered, or were suspended or revoked",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			after, n := "", 0
			list := []*agent.Agent{}
			for {
				var page operator.AgentList
				if err := askNode(cmd, "GET", "/agents?after="+url.QueryEscape(after), nil, &page); err != nil {
					return err
				}
				sayDamaged(cmd, page.Damaged)
				list = append(list, page.Agents...)
				for _, g := range page.Agents {
					if n++; n == 1 {
						fmt.Fprintln(w, "AGENT\tSTATE\tREGISTERED BY\tSEEN\tVIOLATIONS")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", printable(g.DID), stateOf(g), printable(g.Principal), when(g.Seen), g.Violations)
				}
				if after = page.Next; after == "" {
					break
				}
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), list)
			}
			if n == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "no agent has registered")
			}
			return w.Flush()
		},
	}
	jsonFlag(aboutNode(c))
	return c
}

// sayDamaged names what the database holds and cannot be read.
func sayDamaged(cmd *cobra.Command, list []*guard.DamagedError) {
	for _, e := range list {
		fmt.Fprintf(cmd.ErrOrStderr(), "damaged: what is stored of the %s %s cannot be read, and what depends on it is denied; the node's log says why\n", printable(e.Kind), printable(e.ID))
	}
}

func agentsShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show DID",
		Short: "Show an agent, and how what it asked for ended",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var r operator.AgentReport
			if err := askNode(cmd, "GET", "/agents/"+url.PathEscape(a[0]), nil, &r); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), r)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			row := func(name, value string) {
				if value != "" {
					fmt.Fprintf(w, "%s\t%s\n", name, printable(value))
				}
			}
			row("agent", r.DID)
			row("state", stateOf(r.Agent))
			row("because", r.Reason)
			row("registered by", r.Principal)
			row("registered", when(r.Registered))
			row("seen", when(r.Seen))
			row("public key", keyOf(r.Agent))
			row("asked for", strings.Join(r.Requested, ", "))
			row("granted", strings.Join(r.Granted, ", "))
			c := r.Conduct
			row("intents", fmt.Sprintf("%d: %d allowed, %d denied, %d held", c.Intents, c.Allowed, c.Denied, c.Held))
			row("ended", fmt.Sprintf("%d as reported, %d mismatched, %d unreported, %d ambiguous, %d revoked", c.Reported, c.Mismatched, c.Unreported, c.Ambiguous, c.Revoked))
			row("violations", fmt.Sprint(c.Violations))
			row("governed", fmt.Sprintf("%.1f %% of what became known", 100*c.Governed))
			return w.Flush()
		},
	}
	jsonFlag(aboutNode(c))
	return c
}

func agentsSet(verb string, state agent.State, short string) *cobra.Command {
	q := operator.AgentState{State: state}
	c := &cobra.Command{
		Use:   verb + " DID",
		Short: short,
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var g agent.Agent
			if err := askNode(cmd, "POST", "/agents/"+url.PathEscape(a[0]), q, &g); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), g)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", printable(g.DID), g.State)
			if name, ok := strings.CutPrefix(g.Principal, "key:"); ok && state != agent.Active {
				fmt.Fprintf(cmd.OutOrStdout(), "Its credential, the key %s, can still ask under other names: to bar it, too, revoke that key.\n", printable(name))
			} else if g.Principal != "" && state != agent.Active {
				fmt.Fprintf(cmd.OutOrStdout(), "Who registered it, %s, can still ask under other names.\n", printable(g.Principal))
			} else if state != agent.Active {
				fmt.Fprintln(cmd.OutOrStdout(), "No credential registered it: whoever used the name can still ask under others.")
			}
			return nil
		},
	}
	c.Flags().StringVar(&q.Reason, "reason", "", "why, for the agent and the record")
	jsonFlag(aboutNode(c))
	return c
}

func agentsResetKey() *cobra.Command {
	c := &cobra.Command{
		Use:   "reset-key DID",
		Short: "Forget an agent's public key, so that it can register another",
		Long:  "Forgets an agent's public key: until it registers another, its messages need no signature.",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var g agent.Agent
			if err := askNode(cmd, "POST", "/agents/"+url.PathEscape(a[0]), operator.AgentState{ResetKey: true}, &g); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), g)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has no public key any more\n", printable(g.DID))
			return nil
		},
	}
	jsonFlag(aboutNode(c))
	return c
}

// keyOf is an agent's public key, and what is wrong with it.
func keyOf(g *agent.Agent) string {
	if fault := g.KeyFault(); fault != "" {
		return g.PublicKey + " (no signature is checked with it: " + fault + ")"
	}
	return g.PublicKey
}

func stateOf(g *agent.Agent) string {
	if g.State == "" {
		return "unregistered"
	}
	return string(g.State)
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
