package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/mcp/proxy/install"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/retention"
	"reeve.example/reeve/internal/words"
)

// effects say, in a few lines for whoever is asked, what a deciding command will do.
// They change nothing. The approvals are not among them: they show what is answered.
var effects = map[string]func(cmd *cobra.Command, a []string) ([]string, error){
	"keys create":       keyCreated,
	"keys revoke":       keyRevoked,
	"passkeys confirm":  passkeyChanged("its holder agrees with it from now on to what rules ask a passkey for"),
	"passkeys revoke":   passkeyChanged("nobody agrees with it any more"),
	"agents reset-key":  agentChanged("its public key is forgotten: until it registers another, its messages need no signature"),
	"agents resume":     agentChanged("what it asks for is judged again, as that of others is"),
	"agents revoke":     agentChanged("it is allowed nothing any more, for good"),
	"agents suspend":    agentChanged("it is allowed nothing until it is resumed"),
	"habits forget":     habitsChanged("all that was learned counts as never seen: everything is asked about again"),
	"habits freeze":     habitsChanged("nothing more is learned until it is thawed"),
	"habits incident":   incidentMarked,
	"habits rebuild":    habitsChanged("its profile is made anew from what the ledger has"),
	"habits thaw":       habitsChanged("it is learned from again"),
	"ledger erase":      contentsErased,
	"ledger prune":      recordsPruned,
	"restore":           backupRestored,
	"sessions clear":    labelsCleared,
	"hook install":      hookInstalled,
	"hook uninstall":    hookUninstalled,
	"mcp install":       proxyInstalled,
	"mcp tools approve": toolsAnswered("calls of them are let through to judgement as they are defined here:"),
	"mcp tools forget":  serverForgotten,
	"mcp tools refuse":  toolsAnswered("these definitions stay out:"),
	"pins agree":        toolsAnswered("agents go by these files, and call these tools, as they are here:"),
	"pins forget":       serverForgotten,
	"pins refuse":       toolsAnswered("these stay out:"),
	"trust":             configTrusted,
	"console":           browserLetIn,
}

// flagOf is the text of a command's own flag.
func flagOf(cmd *cobra.Command, name string) string { return cmd.Flags().Lookup(name).Value.String() }

func keyCreated(cmd *cobra.Command, a []string) ([]string, error) {
	role := flagOf(cmd, "role")
	if _, ok := identity.ParseRole(role); !ok {
		return nil, usageError{fmt.Errorf("--role: %q is none of agent, approver, auditor and admin", role)}
	}
	lines := []string{fmt.Sprintf("a new API key %s, of the role %s", a[0], role)}
	var keys []operator.KeyInfo
	if err := askNode(cmd, "GET", "/admin/keys", nil, &keys); err != nil {
		return lines, err
	}
	var now operator.Status
	if err := askNode(cmd, "GET", "/admin/status", nil, &now); err != nil {
		return lines, err
	}
	switch {
	case now.Anonymous == "loopback":
		lines = append(lines, "callers of this machine still need none (anonymous: loopback)")
	case !now.Credentials:
		lines = append(lines, "it is the first: from then on everybody needs a credential, on loopback, too, also once it is revoked",
			"agents, hooks and Prometheus that ask now without one are refused then; the setting anonymous: loopback keeps this machine open")
	}
	return lines, nil
}

func keyRevoked(cmd *cobra.Command, a []string) ([]string, error) {
	var keys []operator.KeyInfo
	if err := askNode(cmd, "GET", "/admin/keys", nil, &keys); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(keys, func(k operator.KeyInfo) bool { return k.Name == a[0] && k.Revoked.IsZero() })
	if i < 0 {
		return []string{"there is no valid key of this name"}, nil
	}
	others := 0
	for _, k := range keys {
		if k.Name != a[0] && k.Role == keys[i].Role && k.Revoked.IsZero() {
			others++
		}
	}
	return []string{
		fmt.Sprintf("the key %s, of the role %s, made %s, is let in no more, at once and for good", a[0], keys[i].Role, keys[i].Created.Format(time.DateTime)),
		fmt.Sprintf("%s of this role stay valid; credentials are required as before", words.Count(others, "other key")),
	}, nil
}

func agentChanged(what string) func(*cobra.Command, []string) ([]string, error) {
	return func(cmd *cobra.Command, a []string) ([]string, error) {
		lines := []string{fmt.Sprintf("the agent %s: %s", a[0], what)}
		var r operator.AgentReport
		if err := askNode(cmd, "GET", "/agents/"+url.PathEscape(a[0]), nil, &r); err != nil {
			return lines, err
		}
		lines = append(lines, "now it is "+stateOf(r.Agent))
		if key, ok := strings.CutPrefix(r.Principal, "key:"); ok {
			return append(lines, fmt.Sprintf("its credential, the key %s, can still ask under other names", key)), nil
		} else if r.Principal != "" {
			return append(lines, fmt.Sprintf("who registered it, %s, can still ask under other names", r.Principal)), nil
		}
		return append(lines, "no credential registered it: whoever used the name can still ask under others"), nil
	}
}

func contentsErased(cmd *cobra.Command, ids []string) ([]string, error) {
	user := flagOf(cmd, "user")
	if user == "" {
		return []string{fmt.Sprintf("the contents of %s go, for good: %s", words.Count(len(ids), "decision"), strings.Join(ids, " ")), "the records stay"}, nil
	}
	var found retention.Erased
	if err := askNode(cmd, "POST", "/admin/erase", operator.Erase{User: user, Preview: true}, &found); err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("of the user %s go, for good: the contents of %s, %s that ended", user, words.Count(found.Count, "request"), words.Count(found.Trees, "task tree")),
		"and the user's A2A tasks with their messages, which are only counted as they go; the records stay",
	}, nil
}

func recordsPruned(cmd *cobra.Command, _ []string) ([]string, error) {
	q, err := pruneUpTo(flagOf(cmd, "checkpoint"), flagOf(cmd, "before"), time.Now())
	if err != nil {
		return nil, err
	}
	q.Preview = true
	var p retention.Pruned
	if err := askNode(cmd, "POST", "/admin/prune", q, &p); err != nil {
		return nil, err
	}
	if p.Records == 0 {
		return []string{fmt.Sprintf("no record goes: those below %d are gone already, and records go in whole tiles of 256", p.From)}, nil
	}
	return []string{
		fmt.Sprintf("%s go, for good: %d to %d, from %s to %s", words.Count(int(p.Records), "record"), p.From-p.Records, p.From-1, when(p.First), when(p.Last)),
		fmt.Sprintf("the records from %d on stay, and can still be proved", p.From),
	}, nil
}

func backupRestored(cmd *cobra.Command, a []string) ([]string, error) {
	cfg, err := config(cmd)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(a[0])
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(datadir.Find(cfg.Data))
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("the backup %s, %d bytes, of %s, becomes the database of %s", a[0], info.Size(), when(info.ModTime()), data),
		"a database that is there is not replaced; what came after the backup is not in it",
	}
	switch seed := flagOf(cmd, "seed"); {
	case seed != "":
		lines = append(lines, fmt.Sprintf("and %s becomes the seed that the ledger is signed with", seed))
	case flagOf(cmd, "passphrase") != "":
		lines = append(lines, "and the seed that is sealed in it becomes the one that the ledger is signed with")
	}
	return lines, nil
}

// whereHooked reads which of an agent's configurations a command is about.
func whereHooked(cmd *cobra.Command) *hooked {
	return &hooked{project: flagOf(cmd, "project") == "true", managed: flagOf(cmd, "managed") == "true"}
}

func hookInstalled(cmd *cobra.Command, a []string) ([]string, error) {
	h := whereHooked(cmd)
	in, err := h.installation(a[0])
	if err != nil {
		return nil, err
	}
	file, err := in.File()
	if err != nil {
		return nil, err
	}
	command, err := h.installedCommand(cmd)
	if err != nil {
		return nil, err
	}
	state := "which is new"
	if exists(file) {
		state = "in which everything else stays"
	}
	lines := []string{
		fmt.Sprintf("hooks of the agent %s are written into %s, %s", a[0], file, state),
		fmt.Sprintf("they run %s", strings.Join(slices.Insert(command, 1, "hook", "--agent", a[0]), " ")),
	}
	if h.managed {
		lines = append(lines, "they run for every user of this machine, and where the agent knows how, no other hooks do")
	}
	return lines, nil
}

func hookUninstalled(cmd *cobra.Command, a []string) (lines []string, err error) {
	for _, agent := range named(a) {
		in, err := whereHooked(cmd).installation(agent)
		if err != nil {
			return nil, err
		}
		if file, err := in.File(); err == nil && in.Installed() {
			lines = append(lines, fmt.Sprintf("reeve's hooks are taken out of %s: the agent %s works unguarded then", file, agent))
		}
	}
	if lines == nil {
		lines = []string{"nothing: reeve's hooks are not there"}
	}
	return lines, nil
}

func proxyInstalled(cmd *cobra.Command, a []string) ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	f, err := install.Find(a[0], flagOf(cmd, "project") == "true", home, os.Getenv)
	if err != nil {
		return nil, err
	}
	if file := flagOf(cmd, "file"); file != "" {
		f.Path = file
	}
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no servers to guard yet: there is no file %s", f.Client, f.Path)
	}
	if err != nil {
		return nil, err
	}
	if flagOf(cmd, "undo") == "true" {
		_, done, err := install.Unwrap(f.Client, text)
		return []string{fmt.Sprintf("in %s the proxy is taken away from %s: they work unguarded then", f.Path, dash(strings.Join(done.Changed, ", ")))}, err
	}
	command, err := proxyCommand(cmd, flagOf(cmd, "url"), flagOf(cmd, "key"))
	if err != nil {
		return nil, err
	}
	_, done, err := install.Wrap(f.Client, text, command)
	return []string{
		fmt.Sprintf("in %s the proxy is put in front of %s; what else is there stays", f.Path, dash(strings.Join(done.Changed, ", "))),
		"it is " + strings.Join(command, " "),
	}, err
}

func toolsAnswered(what string) func(*cobra.Command, []string) ([]string, error) {
	return func(cmd *cobra.Command, a []string) (lines []string, err error) {
		r, done, err := toolKeeper(cmd)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, done()) }()
		found, err := servers(cmd, r, a[0])
		if err != nil {
			return nil, err
		}
		var shown strings.Builder
		for _, s := range found {
			for _, t := range s.Tools {
				if t.Held != nil && (len(a) == 1 && t.Held.Refused == "" || slices.Contains(a[1:], t.Name)) {
					showHeld(&shown, s, t)
				}
			}
		}
		if shown.Len() == 0 {
			return []string{"no definition of these tools is held"}, nil
		}
		return append([]string{what}, strings.Split(strings.TrimSpace(shown.String()), "\n")...), nil
	}
}

func serverForgotten(cmd *cobra.Command, a []string) (lines []string, err error) {
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	id, name, err := oneServer(cmd, r, a[0])
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("what was agreed to, refused or held of the tools of %s (%s) is forgotten", printable(name), id),
		"what it lists next counts as its first listing: with mcp.pin trust-first it is trusted as it is then",
	}, nil
}

func configTrusted(cmd *cobra.Command, a []string) ([]string, error) {
	file := foundConfig
	if len(a) > 0 {
		file = a[0]
	}
	switch {
	case flagOf(cmd, "list") == "true":
		return []string{"what is trusted is listed"}, nil
	case flagOf(cmd, "remove") == "true":
		return []string{fmt.Sprintf("%s is trusted no more", file)}, nil
	}
	files, err := reeve.Named(file)
	if err != nil {
		return nil, err
	}
	lines := []string{"this configuration rules where it lies, with what it names from its folder or in its repository, as they are now:"}
	for _, f := range files {
		lines = append(lines, f.Hash+"  "+f.Path)
	}
	return lines, nil
}
