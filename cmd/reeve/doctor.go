package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

// finding is one line of what doctor found.
type finding struct {
	About string `json:"about"`
	// State is ok, note (worth knowing), or problem.
	State string `json:"state"`
	Text  string `json:"text"`
}

// doctor gathers what stands around a node and its hooks. It changes nothing.
type doctor struct{ found []finding }

func (d *doctor) add(state, about, format string, args ...any) {
	d.found = append(d.found, finding{about, state, printable(fmt.Sprintf(format, args...))})
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that reeve needs here, and say what is wrong",
		Long: `Looks at the configuration, the policy, the data folder and its disk, the node if one runs,
the ledger's checkpoints and the clock, what waits for people, and the hooks of each coding
agent. Nothing is changed or made. The exit code is 1 where something is wrong.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{}
			d.add("ok", "program", "reeve %s, %s/%s", version(), runtime.GOOS, runtime.GOARCH)
			if c, err := config(cmd); err != nil {
				d.add("problem", "settings", "%v", err)
			} else {
				c = orOwn(c)
				d.policy(c)
				if d.data(cmd.Context(), c) {
					d.node(cmd.Context(), c)
				}
			}
			d.hooks(cmd.Context())
			return d.report(cmd.OutOrStdout(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	settingFlags(c, "policy", "data", "database", "ledger-seed", "ledger-origin")
	return c
}

func (d *doctor) report(w io.Writer, asJSON bool) error {
	problems := 0
	for _, f := range d.found {
		if f.State == "problem" {
			problems++
		}
	}
	if asJSON {
		if err := printJSON(w, d.found); err != nil {
			return err
		}
	} else {
		marks := map[string]string{"ok": "ok", "note": "--", "problem": "!!"}
		for _, f := range d.found {
			fmt.Fprintf(w, "%s  %-10s  %s\n", marks[f.State], f.About, f.Text)
		}
		switch problems {
		case 0:
			fmt.Fprintln(w, "\nnothing is wrong")
		default:
			fmt.Fprintf(w, "\n%s\n", words.Count(problems, "problem"))
		}
	}
	if problems > 0 {
		return exitCode(1)
	}
	return nil
}

func (d *doctor) policy(c reeve.Config) {
	name := c.PolicyPath()
	set, err := reeve.LoadPolicy(name)
	if err != nil {
		d.add("problem", "policy", "%v", err)
		return
	}
	if name == "" {
		name = "the built-in starter"
	}
	d.add("ok", "policy", "%s: %s, %d of them only watching; default %s", name, words.Count(len(set.Rules()), "rule"), set.Watching(), set.Default())
	for _, note := range set.Notes(time.Now()) {
		d.add("note", "policy", "%s", note)
	}
	for _, w := range set.Warnings() {
		d.add("note", "policy", "%v", w)
	}
}

// data looks at the data folder and at what is in the ledger. It reports whether there
// is a folder.
func (d *doctor) data(ctx context.Context, c reeve.Config) bool {
	if c.Database == "" {
		dir := datadir.Find(c.Data)
		if !exists(dir) {
			d.add("note", "data", "there is no %s yet: the first start makes it", c.Data)
			return false
		}
		switch free, err := reeve.FreeBytes(dir); {
		case err != nil:
			d.add("problem", "data", "%v", err)
		case free < 100<<20:
			d.add("problem", "data", "%s: %d MiB are free on its disk, and without a record there is no answer", dir, free>>20)
		case free < 2<<30:
			d.add("note", "data", "%s: %d MiB are free on its disk", dir, free>>20)
		default:
			d.add("ok", "data", "%s: %d GiB are free on its disk", dir, free>>30)
		}
	}
	s, err := reeve.OpenReader(ctx, c)
	if err != nil {
		d.add("problem", "ledger", "%v", err)
		return true
	}
	if err := errors.Join(d.ledger(ctx, s), d.rows(ctx, c, s), s.Close()); err != nil {
		d.add("problem", "ledger", "%v", err)
	}
	return true
}

// rows looks at what lies beside the ledger and is believed.
func (d *doctor) rows(ctx context.Context, c reeve.Config, s store.Store) error {
	if _, err := c.LedgerKey(0); err != nil {
		return nil // without the seed nothing of it can be told
	}
	problems, unsealed, err := c.CheckRows(ctx, s, false)
	if unsealed {
		d.add("note", "rows", "approvals, agents, API keys and the rest bear no seals yet: an earlier version wrote them, and the next start of a node seals them")
	}
	for i, p := range problems {
		if i == 10 {
			d.add("problem", "rows", "and %d more: reeve ledger verify", len(problems)-i)
			break
		}
		d.add("problem", "rows", "%s", p)
	}
	return err
}

func (d *doctor) ledger(ctx context.Context, s store.Store) error {
	waiting, err := s.Items(ctx, ledger.ItemQuery{Kind: "approval", Open: true, Limit: 1000})
	if err != nil {
		return err
	}
	if n := len(waiting); n > 0 {
		d.add("note", "approvals", "waiting for an answer: %s (reeve approvals list)", words.Count(n, "act"))
	}
	logs, err := s.Logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		head, err := ledger.ReadHead(ctx, s, log)
		if errors.Is(err, ledger.ErrHead) {
			d.add("problem", "ledger", "%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if head.Size == 0 {
			continue
		}
		d.add("ok", "ledger", "log %d: %s", log, words.Count(int(head.Size), "record"))
		err = s.Records(ctx, log, head.Size-1, head.Size, func(_ uint64, data []byte) error {
			r, err := ledger.ParseRecord(data)
			if ahead := time.Until(r.Time); err == nil && ahead > time.Minute {
				d.add("problem", "clock", "the newest record of log %d is of %s, which is still to come: the clock was set back", log, r.Time.Format(time.RFC3339))
			}
			return err
		})
		if err != nil {
			return err
		}
		anchors, err := s.Anchors(ctx, log)
		if err != nil {
			return err
		}
		elsewhere := uint64(0)
		for _, a := range anchors {
			if a.Place != ledger.LogPlace && a.Place != ledger.FormerPlace {
				elsewhere = max(elsewhere, a.Size)
			}
		}
		if elsewhere == 0 {
			d.add("note", "ledger", "log %d is anchored nowhere, no checkpoint was published elsewhere (ledger.file, ledger.url, ledger.witness): who writes the database and has the key could rewrite it", log)
		}
	}
	return nil
}

// node asks the node that runs on the data folder whether it is ready.
func (d *doctor) node(ctx context.Context, c reeve.Config) {
	if set, err := reeve.LoadPolicy(c.PolicyPath()); err == nil {
		if _, hash := nodeOn(ctx, c); hash != "" && hash != set.Hash() {
			d.add("note", "node", "it judges by another policy (%s) than %s (%s), which is what these settings name: it was started with others", nodes.Short(hash), cmp.Or(c.PolicyPath(), "the built-in starter"), nodes.Short(set.Hash()))
		}
	}
	d.policies(ctx, c)
	url, err := datadir.URL(ctx, datadir.Find(c.Data))
	switch {
	case errors.Is(err, datadir.ErrNotRunning):
		d.add("note", "node", "none runs on this folder: hooks and proxies decide by themselves")
		return
	case err != nil:
		d.add("problem", "node", "%v", err)
		return
	case url == "":
		d.add("ok", "node", "one runs, and listens on its socket alone")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var health struct {
		Version string `json:"version"`
	}
	var ready struct {
		Checks map[string]string `json:"checks"`
	}
	if err := fetch(ctx, url+"/healthz", &health); err != nil {
		d.add("problem", "node", "%s does not answer: %v", url, err)
		return
	}
	if err := fetch(ctx, url+"/readyz", &ready); err != nil {
		d.add("problem", "node", "%v", err)
		return
	}
	bad := false
	for name, state := range ready.Checks {
		if state != "ok" {
			d.add("problem", "node", "it is not ready: %s: %s", name, state)
			bad = true
		}
	}
	if !bad {
		d.add("ok", "node", "%s is ready", url)
	}
	if health.Version != "" && !strings.HasPrefix(version(), health.Version) && !strings.HasPrefix(health.Version, version()) {
		d.add("note", "node", "it runs version %s, and this is %s", health.Version, version())
	}
}

// policies looks whether the nodes that live judge by their policies as these lie there now.
func (d *doctor) policies(ctx context.Context, c reeve.Config) {
	node := operator.Dial(ctx, datadir.Find(c.Data))
	if node == nil {
		return
	}
	var list operator.NodeList
	if err := node.Ask(ctx, "GET", "/nodes", nil, &list); err != nil {
		d.add("problem", "node", "it does not say by which policy it judges: %v", err)
		return
	}
	for i := range list.Nodes {
		if n := &list.Nodes[i]; n.Living && n.Problem != "" {
			d.add("problem", "node", "%s goes on with the policy that it had: %s", n.Name, stateOfNode(n))
		}
	}
}

// fetch reads a short JSON answer, also that of a node that is not ready.
func fetch(ctx context.Context, url string, into any) error {
	r, err := jsonrpc.NewRequest(ctx, http.MethodGet, url, "", nil)
	if err != nil {
		return err
	}
	answer, err := jsonrpc.Fetch(http.DefaultClient, r, 1<<20)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.Body, into)
}

func (d *doctor) hooks(ctx context.Context) {
	home, err := os.UserHomeDir()
	if err != nil {
		d.add("problem", "hooks", "%v", err)
		return
	}
	folder, err := os.Getwd()
	if err != nil {
		d.add("problem", "hooks", "%v", err)
		return
	}
	some := false
	for _, agent := range hook.Agents() {
		s := hook.StatusOf(ctx, agent, home, folder, os.Getenv)
		switch {
		case len(s.Installed) == 0 && s.Version != "":
			d.add("note", "hooks", "%s %s is here, and works unguarded: reeve hook install %s", agent, s.Version, agent)
		case s.Settings != "":
			d.add("note", "hooks", "%s: its settings are in %s, without a hook: where it runs, it works unguarded", agent, s.Settings)
		case len(s.Installed) > 0 && len(s.Problems)+len(s.Unknown) == 0:
			d.add("ok", "hooks", "%s: %s", agent, strings.Join(s.Installed, ", "))
		}
		for _, file := range s.Installed {
			if flags, known := s.Flags[file]; known {
				d.decides(ctx, agent, flags)
			}
		}
		some = some || len(s.Installed) > 0 || s.Version != "" || s.Settings != ""
		for _, u := range s.Unknown {
			d.add("note", "hooks", "%s: whether its hooks run is not known: %s", agent, u)
		}
		for _, p := range s.Problems {
			d.add("problem", "hooks", "%s: %s", agent, p)
		}
	}
	if !some {
		d.add("note", "hooks", "no coding agent is found here")
	}
}

// decides tells who decides about what an agent's hooks ask, and by which policy. A node and the
// hooks that decide where none runs are to judge alike.
func (d *doctor) decides(ctx context.Context, agent string, flags []string) {
	c := hookCommand()
	if err := c.ParseFlags(flags); err != nil {
		d.add("problem", "hooks", "%s: %v", agent, err)
		return
	}
	if url := flagOf(c, "url"); url != "" {
		d.add("ok", "hooks", "%s: the node at %s decides, by its own policy", agent, url)
		return
	}
	cfg, err := hookConfig(c)
	if err != nil {
		d.add("problem", "hooks", "%s: %v", agent, err)
		return
	}
	set, err := reeve.LoadPolicy(cfg.PolicyPath())
	if err != nil {
		d.add("problem", "hooks", "%s: its policy: %v", agent, err)
		return
	}
	by := cmp.Or(cfg.PolicyPath(), "the built-in starter")
	node, hash := nodeOn(ctx, cfg)
	switch {
	case !node:
		d.add("ok", "hooks", "%s: its hooks decide by %s, with records in %s", agent, by, cfg.Data)
	case hash == set.Hash():
		d.add("ok", "hooks", "%s: the node on %s decides, by %s", agent, cfg.Data, by)
	case hash != "":
		d.add("problem", "hooks", "%s: the node on %s decides by another policy (%s) than its hooks would without it (%s, %s): start both with the same --policy, or both without", agent, cfg.Data, nodes.Short(hash), by, nodes.Short(set.Hash()))
	}
}

// nodeOn reports whether a node runs on the data folder, and by which policy it judges: the hash,
// empty where it does not say so.
func nodeOn(ctx context.Context, c reeve.Config) (runs bool, hash string) {
	node := operator.Dial(ctx, datadir.Find(c.Data))
	if node == nil {
		return false, ""
	}
	var is operator.Status
	if err := node.Ask(ctx, "GET", "/admin/status", nil, &is); err != nil {
		return true, ""
	}
	return true, is.Policy
}
