package main

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"
)

// completions are what a shell offers for the first argument of a command: a name, and
// after a tab what it is. They ask a node that runs or read its records, and never open
// one; what cannot be told is not offered.
var completions = map[string]func(cmd *cobra.Command) []string{
	"agents reset-key": agentIDs, "agents resume": agentIDs, "agents revoke": agentIDs, "agents show": agentIDs, "agents suspend": agentIDs,
	"approvals approve": approvalIDs, "approvals deny": approvalIDs, "approvals show": approvalIDs,
	"executors show": executorIDs,
	"hook install":   agentNames, "hook status": agentNames, "hook test": agentNames, "hook uninstall": agentNames,
	"keys revoke":  keyNames,
	"ledger erase": decisionIDs, "ledger receipt": decisionIDs, "ledger show": decisionIDs, "why": decisionIDs,
	"sessions clear":  sessionIDs,
	"sessions labels": sessionIDs,
	"sessions show":   sessionIDs,
	"tasks cancel":    taskIDs, "tasks copy": taskIDs, "tasks delete": taskIDs, "tasks get": taskIDs, "tasks retry": taskIDs, "tasks tree": taskIDs, "tasks watch": taskIDs,
}

// flagWords are the values of flags that are one of few words.
var flagWords = map[string][]string{
	"anonymous": {"until-first-key", "loopback", "never"}, "keep": {"all", "not-allowed", "none"}, "ledger-public": {"auto", "true", "false"},
	"log-format": {"text", "json"}, "model-kind": {"score_risk", "openai"}, "mcp-pin": {"trust-first", "ask", "off"}, "pin": {"trust-first", "ask", "off"},
	"unreachable": {"block", "decide"}, "disclose": {"request", "modified", "principal", "reasons", "links"},
}

// complete gives each command its completions.
func complete(root *cobra.Command) {
	for path, offers := range completions {
		c, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 {
			panic("reeve: there is no command " + path)
		}
		c.ValidArgsFunction = func(cmd *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second) // somebody waits at a prompt
			defer cancel()
			cmd.SetContext(ctx)
			words := slices.DeleteFunc(offers(cmd), func(w string) bool { return w == "" })
			return words, cobra.ShellCompDirectiveNoFileComp
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		words := func(flag string, list []string) {
			if c.Flags().Lookup(flag) != nil {
				c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		for flag, list := range flagWords {
			words(flag, list)
		}
		if strings.HasPrefix(c.CommandPath(), "reeve keys ") {
			var roles []string
			for _, r := range identity.Roles {
				roles = append(roles, string(r))
			}
			words("role", roles)
		}
		if c.CommandPath() == "reeve tasks list" {
			var list []string
			for _, s := range task.Statuses {
				list = append(list, string(s))
			}
			words("status", list)
		}
	}
	walk(root)
}

// running asks a node that runs, on the data folder or where --server says.
func running(cmd *cobra.Command, path string, a any) bool {
	if serverOf(cmd).server != "" {
		return askNode(cmd, "GET", path, nil, a) == nil
	}
	c, err := config(cmd)
	if err != nil {
		return false
	}
	if strings.HasPrefix(path, "/approvals") {
		c = orOwn(c)
	}
	o := operator.Dial(cmd.Context(), c.Data)
	return o != nil && o.Ask(cmd.Context(), "GET", path, nil, a) == nil
}

func agentIDs(cmd *cobra.Command) (ids []string) {
	var page operator.AgentList
	running(cmd, "/agents?after=", &page)
	for _, g := range page.Agents {
		ids = append(ids, offer(g.DID, stateOf(g)))
	}
	return ids
}

func approvalIDs(cmd *cobra.Command) (ids []string) {
	var page operator.ApprovalList
	running(cmd, "/approvals?after="+url.QueryEscape(""), &page)
	for _, h := range page.Approvals {
		ids = append(ids, offer(h.ID, agentOf(h)+": "+strings.TrimSpace(string(h.Kind)+" "+h.Resource)))
	}
	return ids
}

func keyNames(cmd *cobra.Command) (names []string) {
	var keys []operator.KeyInfo
	running(cmd, "/admin/keys", &keys)
	for _, k := range keys {
		if k.Revoked.IsZero() && !k.Given {
			names = append(names, offer(k.Name, k.Role))
		}
	}
	return names
}

func taskIDs(cmd *cobra.Command) (ids []string) {
	var client *flow.Client
	if at := serverOf(cmd); at.server != "" {
		client, _ = at.client()
	} else if c, err := config(cmd); err == nil {
		if o := operator.Dial(cmd.Context(), c.Data); o != nil {
			client = &flow.Client{URL: "http://localhost", HTTP: o.HTTP}
		}
	}
	if client == nil {
		return nil
	}
	list, err := client.List(cmd.Context(), flow.Filter{Roots: true, Limit: 50})
	if err != nil {
		return nil
	}
	for i := range list.Tasks {
		t := &list.Tasks[i]
		ids = append(ids, offer(t.ID.String(), t.Name+" "+stateOfTask(t)))
	}
	return ids
}

func decisionIDs(cmd *cobra.Command) (ids []string) {
	const newest = 30
	reading(cmd, func(ctx context.Context, _ reeve.Config, s store.Store) error {
		logs, err := s.Logs(ctx)
		for _, log := range logs {
			head, err := s.Head(ctx, log)
			if err != nil {
				return err
			}
			var of []string
			err = s.Records(ctx, log, head.Size-min(head.Size, newest), head.Size, func(_ uint64, data []byte) error {
				if r, err := ledger.ParseRecord(data); err == nil {
					of = append(of, offer(act.Position{Log: log, Index: r.Index}.String(), strings.TrimSpace(string(r.Kind)+" "+r.Effect)))
				}
				return nil
			})
			if err != nil {
				return err
			}
			slices.Reverse(of)
			ids = append(ids, of...)
		}
		return err
	})
	return ids
}

func sessionIDs(cmd *cobra.Command) (ids []string) {
	sessions, _ := readSessions(cmd, newestRecords)
	for _, s := range sessions {
		ids = append(ids, offer(s.ID, s.Began.Local().Format(time.DateTime)))
	}
	return ids
}

func executorIDs(cmd *cobra.Command) (ids []string) {
	c, err := config(cmd)
	if err != nil {
		return nil
	}
	list, _ := executorsOf(c)
	for _, e := range list {
		ids = append(ids, offer(e.ID, e.Name))
	}
	return ids
}

func agentNames(*cobra.Command) []string { return hook.Agents() }

// offer is a word with what it is, neither of which a shell can take for more than that.
// What agents name themselves is theirs.
func offer(word, what string) string {
	if strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'`$\\;&|<>(){}[]*?!#~", r) }) {
		return ""
	}
	return word + "\t" + printable(strings.Join(strings.Fields(what), " "))
}
