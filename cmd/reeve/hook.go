package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/report"
)

// hooked is one reeve hook: its flags.
type hooked struct {
	hook.Run
	url, key string

	user, project, managed bool // where it is installed
}

func hookCommand() *cobra.Command {
	h := &hooked{}
	c := &cobra.Command{
		Use:   "hook --agent AGENT",
		Short: "Judge what a coding agent is about to do, as its hook",
		Long: `Reads an event of a coding agent's hook from standard input, asks the guardian, and
answers in the agent's own form. "reeve hook install AGENT" writes it into the
agent's configuration. Agents: ` + strings.Join(hook.Agents(), ", ") + `.

With --url it asks that node, as an agent and never as its operator. Without, it
asks the node that runs on the data folder, at its address; and if none runs there, it
opens the folder itself, with the same policy and a ledger of its own. When the node
cannot be reached, --unreachable says what follows: block, or decide by itself, with a
ledger beside it; standard error says which.

An agent chooses the folder it works in, and what it works on may set variables. So no
setting is read from the environment, nor from a reeve.yaml in that folder: they are
flags, or lie in the file that --config names, else in the user's own configuration
folder (reeve/reeve.yaml), where the data folder is, too (reeve/data).

What cannot be read blocks: exit code 2, and a sentence on standard error.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer := h.run(cmd.Context(), cmd, cmd.InOrStdin())
			io.WriteString(cmd.ErrOrStderr(), answer.Stderr)
			if _, err := cmd.OutOrStdout().Write(answer.Stdout); err != nil {
				return exitCode(2) // the agent does not know what was decided
			}
			if answer.Exit != 0 {
				return exitCode(answer.Exit)
			}
			return nil
		},
	}
	// Also a wrong flag, in a configuration that was edited by hand, blocks: 2 is
	// the exit code for wrong usage, too.
	f := c.Flags()
	f.StringVar(&h.Agent, "agent", "", "the agent whose hook this is")
	f.StringVar(&h.Event, "event", "", "the event, for agents that do not say it on standard input")
	h.flags(c)
	c.AddCommand(hookInstall(), hookUninstall(), hookStatus(), hookTest())
	return c
}

// flags are those of the hook that an installation passes on to it.
func (h *hooked) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&h.url, "url", "", "where the node speaks AOS, such as http://127.0.0.1:8080/")
	f.StringVar(&h.key, "key", "", "reference to an API key of the role agent: env:NAME or file:PATH")
	f.String("unreachable", "", "when the node cannot be reached: block, or decide by itself (default: hook.unreachable of the configuration, or block)")
	f.DurationVar(&h.Timeout, "timeout", hook.Timeout, "how long to wait for the node")
	f.StringVar(&h.Trails, "trails", "", "folder of what a session's hooks tell each other (default: in the user's cache folder)")
	ownFlags(c, "data", "policy", "keep", "redact")
}

func hookInstall() *cobra.Command {
	h := &hooked{}
	c := &cobra.Command{
		Use:   "install AGENT",
		Short: "Write the hook into an agent's configuration",
		Long: `Writes the hook into an agent's own configuration: the user's, or with --project the
one of the repository in the present folder. What else is in the file stays, and the
file as it was lies beside it, with the ending .before-reeve; "reeve hook uninstall"
takes the hook out again.

With --managed it is written into the machine's settings, which only root can write:
neither users nor repositories overrule them, and where the agent knows how, no other
hooks run. Say with --url which node is asked, or with --data in whose folder.

The flags of "reeve hook" given here are passed on to it.`,
		Args: oneOf(hook.Agents()),
		RunE: func(cmd *cobra.Command, a []string) error {
			return h.install(cmd, a[0])
		},
	}
	h.where(c)
	h.flags(c)
	return c
}

// where adds the flags that say which of an agent's configurations is meant.
func (h *hooked) where(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&h.user, "user", false, "for this user, in all folders (the default)")
	f.BoolVar(&h.project, "project", false, "for the repository in the present folder only")
	f.BoolVar(&h.managed, "managed", false, "for every user of this machine, in the settings that are root's")
	c.MarkFlagsMutuallyExclusive("user", "project", "managed")
}

func (h *hooked) install(cmd *cobra.Command, agent string) error {
	in, err := h.installation(agent)
	if err != nil {
		return err
	}
	file, err := in.File()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	cfg, err := hookConfig(cmd)
	if err == nil {
		_, err = reeve.LoadPolicy(cfg.PolicyPath()) // before anything is written that could not judge
	}
	if err != nil {
		return usageError{err}
	}
	if in.Command, err = h.installedCommand(cmd); err != nil {
		return err
	}
	changed, err := in.Install()
	if err != nil {
		return err
	}
	if changed {
		fmt.Fprintf(out, "wrote the hook into %s\n", file)
	} else {
		fmt.Fprintf(out, "the hook is in %s already\n", file)
	}
	for _, line := range in.Advice() {
		fmt.Fprintf(out, "\n%s\n", line)
	}
	said, err := in.Trust(cmd.Context())
	if err != nil {
		return err
	}
	if said != "" {
		fmt.Fprintf(out, "\n%s\n", said)
	}
	return prove(cmd, in)
}

func hookUninstall() *cobra.Command {
	h := &hooked{}
	c := &cobra.Command{
		Use:   "uninstall [AGENT]",
		Short: "Take the hook out of an agent's configuration, or of all agents'",
		Long: `Takes out what "reeve hook install" wrote: of the user's configuration, or with --project
of that of the repository in the present folder, or with --managed of the machine's. A
file that was not changed since becomes what it was, byte for byte; of others everything
else stays. What reeve's hooks are still in, and what of its settings stays, is said.`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return h.uninstall(cmd, named(a))
		},
	}
	h.where(c)
	return c
}

// named is the one agent that is named, or all there are.
func named(a []string) []string {
	if len(a) > 0 {
		return a[:1]
	}
	return hook.Agents()
}

func (h *hooked) uninstall(cmd *cobra.Command, agents []string) error {
	out, found := cmd.OutOrStdout(), false
	var failed []error
	for _, agent := range agents {
		in, err := h.installation(agent)
		if err != nil {
			return err
		}
		file, err := in.File()
		if err != nil {
			if len(agents) == 1 {
				return err
			}
			continue // it has no settings of that kind
		}
		if !in.Installed() {
			continue
		}
		found = true
		changed, err := in.Remove()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if changed {
			fmt.Fprintf(out, "took reeve out of %s\n", file)
		}
		for _, line := range in.Left() {
			fmt.Fprintf(out, "  %s\n", printable(line))
		}
	}
	if !found {
		fmt.Fprintln(out, "reeve is not in the settings of "+strings.Join(agents, ", ")+" there")
	}
	// Where else a hook is, it goes on running.
	for _, agent := range agents {
		for _, other := range []*hooked{{}, {project: true}, {managed: true}} {
			if other.project == h.project && other.managed == h.managed {
				continue
			}
			in, err := other.installation(agent)
			if err != nil {
				return err
			}
			if file, err := in.File(); err == nil && in.Installed() {
				fmt.Fprintf(out, "reeve is still in %s\n", file)
			}
		}
	}
	return errors.Join(failed...)
}

// installation is where an agent's hook is, or is to be.
func (h *hooked) installation(agent string) (*hook.Installation, error) {
	if _, err := hook.Find(agent); err != nil {
		return nil, usageError{err}
	}
	in := &hook.Installation{Agent: agent, Managed: h.managed, Patience: h.Timeout, Folder: hook.Folder(agent, os.Getenv)}
	var err error
	if in.Home, err = os.UserHomeDir(); err == nil && h.project {
		in.Project, err = os.Getwd()
	}
	return in, err
}

// prove calls an installed hook as its agent would.
func prove(cmd *cobra.Command, in *hook.Installation) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	took, err := in.Prove(cmd.Context(), folder)
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), struct {
			Answered bool  `json:"answered"`
			Millis   int64 `json:"milliseconds"`
		}{true, took.Milliseconds()})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nThe hook was called as the agent calls it: it answered after %d ms, and blocks what it cannot read.\n", took.Milliseconds())
	return nil
}

func hookTest() *cobra.Command {
	h := &hooked{}
	c := &cobra.Command{
		Use:   "test AGENT",
		Short: "Call an installed hook once, as the agent calls it",
		Long: `Runs the command that stands in the agent's configuration, by a shell, about a command
that does nothing, and then about nothing that could be read. The first has to be
answered, and the second blocked. The answer is recorded, in the session reeve-hook-test.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			in, err := h.installation(a[0])
			if err != nil {
				return err
			}
			return prove(cmd, in)
		},
	}
	h.where(c)
	return jsonFlag(c)
}

func hookStatus() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [AGENT]",
		Short: "Tell for each agent whether its hooks would run here, and why not",
		Long: `Looks, for each coding agent or one, at what decides whether it runs reeve's hooks for
this user in the present folder: its settings and those of the repository, managed
settings, the environment, trust, versions, and the last event that was recorded. The
exit code is 1 where a hook is installed and would not run or not hold.

What was due in a session of the last day and did not come is told with a question mark:
a prompt that nothing followed for ten minutes, a call without its result, a result
without its call, an agent's process that has run as long without any event.`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if len(a) > 0 {
				if _, err := hook.Find(a[0]); err != nil {
					return usageError{err}
				}
			}
			return status(cmd, named(a))
		},
	}
	return jsonFlag(ledgerFlags(c))
}

// agentStatus is what is told of one agent's hooks.
type agentStatus struct {
	Agent     string    `json:"agent"`
	Version   string    `json:"version,omitzero"`
	Guarded   bool      `json:"guarded"` // installed, and nothing keeps the hooks from running
	Installed []string  `json:"installed"`
	Problems  []string  `json:"problems"`
	Unknown   []string  `json:"unknown"` // what could not be found out, so that it may not run
	Notes     []string  `json:"notes"`
	LastEvent time.Time `json:"last_event,omitzero"`
	Unseen    []string  `json:"unseen"` // what was due and did not come
}

// mostUnseen is how many things that were due and did not come status tells of an agent.
const mostUnseen = 8

func status(cmd *cobra.Command, agents []string) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	// There may be no ledger yet, which status is not about.
	sessions, _ := readSessions(cmd, newestRecords)
	last := map[string]time.Time{}
	for _, s := range sessions {
		if !strings.HasSuffix(s.ID, ":"+hook.ProofSession) && s.Ended.After(last[s.Agent]) {
			last[s.Agent] = s.Ended
		}
	}
	lost := map[string][]string{} // by agent, what was due and did not come
	now := time.Now()
	for _, s := range sessions {
		for _, what := range s.Unseen(now) {
			lost[s.Agent] = append(lost[s.Agent], "in session "+s.ID+", "+what)
		}
	}
	running := hook.Processes()
	list, bad := []agentStatus{}, false
	for _, agent := range agents {
		s := hook.StatusOf(cmd.Context(), agent, home, folder, os.Getenv)
		if len(s.Installed) == 0 && s.Version == "" && s.Settings == "" && len(agents) > 1 {
			continue
		}
		one := agentStatus{
			Agent: agent, Version: s.Version, Guarded: len(s.Installed) > 0 && len(s.Problems)+len(s.Unknown) == 0, LastEvent: last[agent], Unknown: slices.Concat([]string{}, s.Unknown),
			Installed: slices.Concat([]string{}, s.Installed), Problems: slices.Concat([]string{}, s.Problems), Notes: slices.Concat([]string{}, s.Notes), Unseen: []string{},
		}
		if s.Settings != "" {
			one.Notes = append(one.Notes, "its settings are in "+s.Settings+", and its program is not on this PATH")
		}
		if len(s.Installed) > 0 {
			bad = bad || len(s.Problems) > 0
			own := slices.DeleteFunc(slices.Clone(running), func(p hook.Process) bool { return p.Agent != agent })
			one.Unseen = slices.Concat(one.Unseen, report.UnseenProcesses(own, sessions, now), lost[agent])
		}
		list = append(list, one)
	}
	switch {
	case wantsJSON(cmd):
		if err := printJSON(cmd.OutOrStdout(), list); err != nil {
			return err
		}
	case len(list) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "no hook is installed here, and no coding agent that could have one was found: see reeve hook install --help")
	}
	if !wantsJSON(cmd) {
		for _, one := range list {
			one.print(cmd.OutOrStdout())
		}
	}
	if bad {
		return exitCode(1)
	}
	return nil
}

func (s *agentStatus) print(w io.Writer) {
	if len(s.Installed) == 0 {
		fmt.Fprintf(w, "%s: not installed; it works unguarded\n", s.Agent)
		for _, n := range s.Notes {
			fmt.Fprintf(w, "  %s\n", printable(n))
		}
		return
	}
	how := "its hooks run"
	switch {
	case len(s.Problems) > 0:
		how = "NOT GUARDED as it should be"
	case len(s.Unknown) > 0:
		how = "whether its hooks run is NOT KNOWN"
	}
	fmt.Fprintf(w, "%s: %s\n", s.Agent, how)
	for _, file := range s.Installed {
		fmt.Fprintf(w, "  installed in %s\n", file)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(w, "  ! %s\n", printable(p))
	}
	for _, u := range s.Unknown {
		fmt.Fprintf(w, "  ? %s\n", printable(u))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "  %s\n", printable(n))
	}
	if s.LastEvent.IsZero() {
		fmt.Fprint(w, "  no event was recorded yet\n")
	} else {
		fmt.Fprintf(w, "  last event %s\n", s.LastEvent.Local().Format("2006-01-02 15:04:05"))
	}
	shown := min(len(s.Unseen), mostUnseen) // the newest stand first
	for _, what := range s.Unseen[:shown] {
		fmt.Fprintf(w, "  ? %s\n", printable(what))
	}
	if more := len(s.Unseen) - shown; more > 0 {
		fmt.Fprintf(w, "  ? and %d more of the last day: see reeve sessions list\n", more)
	}
}

// installedCommand is this program with the flags that the hook is to have. Paths
// are made absolute: an agent chooses the folder that the hook runs in.
func (h *hooked) installedCommand(cmd *cobra.Command) ([]string, error) {
	if h.managed && !cmd.Flags().Changed("url") && !cmd.Flags().Changed("data") {
		// Its own folder of each user would be found by variables, when the hook runs.
		return nil, usageError{errors.New("--managed: say with --url which node is asked, or with --data in whose folder it decides; it holds for every user")}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The small program for hooks, if it was installed, too: it starts sooner.
	if small := filepath.Join(filepath.Dir(program), "reeve-hook"+filepath.Ext(program)); exists(small) {
		program = small
	}
	command := []string{program}
	for _, name := range []string{"config", "url", "key", "unreachable", "timeout", "trails", "data", "policy", "keep", "redact"} {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		value := f.Value.String()
		switch ref, isFile := strings.CutPrefix(value, "file:"); {
		case name == "config" || name == "data" || name == "policy" || name == "trails":
			value, err = filepath.Abs(value)
		case name == "key" && isFile:
			ref, err = filepath.Abs(ref)
			value = "file:" + ref
		}
		if err != nil {
			return nil, err
		}
		command = append(command, "--"+name, value)
	}
	// Where the user's own folders are is settled now: later, what the agent works
	// on could say it, by a variable.
	if file := userConfig(); !h.managed && !cmd.Flags().Lookup("config").Changed && file != "" {
		command = append(command, "--config", file)
	}
	if !h.managed && !cmd.Flags().Lookup("data").Changed {
		c, err := hookConfig(cmd)
		if err != nil {
			return nil, err
		}
		command = append(command, "--data", c.Data)
	}
	return command, nil
}

// run answers one event.
func (h *hooked) run(ctx context.Context, cmd *cobra.Command, stdin io.Reader) hook.Answer {
	if h.Agent == "" {
		return hook.Block("say --agent, one of " + strings.Join(hook.Agents(), ", "))
	}
	// A process that lives for some tens of milliseconds has no use for a collector
	// of garbage, as long as there is little.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	input, err := hook.Input(stdin)
	if err != nil {
		return hook.Block(err.Error())
	}
	g := &guardian{hooked: h, cmd: cmd}
	answer := h.Respond(ctx, input, g.ask)
	if err := g.close(); err != nil {
		answer = hook.Block(err.Error())
	}
	answer.Stderr = g.said + answer.Stderr
	return answer
}

// hookConfig is the configuration of a hook.
func hookConfig(cmd *cobra.Command) (reeve.Config, error) {
	return ownConfig(cmd, "hook", "hook-unreachable", "data", "policy", "keep", "redact")
}

// guardian is who decides about one event: a node, or this process.
type guardian struct {
	*hooked
	cmd  *cobra.Command // whose flags are the settings
	cfg  reeve.Config
	node *reeve.Node // opened by this process; nil until it is
	said string      // for standard error
}

// close ends what was opened here.
func (g *guardian) close() error {
	if g.node == nil {
		return nil
	}
	node := g.node
	g.node = nil
	return node.Close()
}

func (g *guardian) ask(ctx context.Context, request []byte) (d *hook.Decision, err error) {
	if g.node != nil {
		return g.decide(ctx, request)
	}
	if g.cfg, err = hookConfig(g.cmd); err != nil {
		return nil, err
	}
	url := g.url
	if url == "" {
		// The socket is the operator's, and nothing is asked there: a hook is the agent's.
		url, err = datadir.URL(ctx, g.cfg.Data)
		if err != nil && !errors.Is(err, datadir.ErrNotRunning) {
			return nil, err
		}
	}
	if url == "" {
		return g.decide(ctx, request)
	}
	d, err = hook.Ask(ctx, url, g.key, request)
	var gone *hook.Unreachable
	if !errors.As(err, &gone) {
		return d, err
	}
	if g.cfg.Hook.Unreachable != "decide" {
		return nil, fmt.Errorf("%w, and so nothing is allowed", err)
	}
	g.said += fmt.Sprintf("reeve: %v: the hook decides by itself\n", err)
	return g.decide(ctx, request)
}

// aside is the folder in a data folder where hooks decide that found it in use.
const aside = "aside"

// caller is who asks when a hook decides by itself: whoever started it.
var caller = act.Principal{Name: "hook", Method: "local"}

// decide decides in this process.
func (g *guardian) decide(ctx context.Context, request []byte) (*hook.Decision, error) {
	if g.node == nil {
		var err error
		if g.node, err = g.open(ctx); err != nil {
			return nil, fmt.Errorf("the hook cannot decide by itself: %w", err)
		}
	}
	a, err := aos.ActionOf(request)
	if err != nil {
		return nil, fmt.Errorf("the event cannot be judged: %w", err)
	}
	a.Principal = caller
	d, modified, err := g.node.Guard().Decide(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("the act was not decided: %w", err)
	}
	if a.Kind == act.MessageSystem { // as a session begins with: of those before it is learned, since no node runs that would
		g.node.LearnHabits(ctx)
	}
	return hook.DecisionOf(&d, modified), nil
}

// open opens the data folder. Where a node has it, and the hook is to decide
// nevertheless, it keeps a ledger of its own beside.
func (g *guardian) open(ctx context.Context) (*reeve.Node, error) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	g.cfg.Listen = "127.0.0.1:0" // nowhere: who has the usual port is another program
	node, err := reeve.Open(ctx, g.cfg)
	if g.cfg.Hook.Unreachable == "decide" && errors.Is(err, ledger.ErrInUse) {
		g.cfg.Data = filepath.Join(datadir.Find(g.cfg.Data), aside)
		g.said += "reeve: the decision is recorded in " + g.cfg.Data + ", since the data folder is in use\n"
		node, err = reeve.Open(ctx, g.cfg)
	}
	if errors.Is(err, ledger.ErrInUse) {
		err = fmt.Errorf("%w; give the node's address with --url", err)
	}
	return node, err
}
