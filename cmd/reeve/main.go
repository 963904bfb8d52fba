// Command reeve runs a node and everything around it: see "reeve help".
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	_ "time/tzdata" // schedules have time zones, also where the system has none

	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/sandbox"
	"reeve.example/reeve/internal/words"
)

func main() {
	sandbox.Main() // the program is also the helper that starts sandboxed commands
	os.Exit(run())
}

// run is main with an exit code: what the help of the program says of them.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand()
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd) {
		complete(root)
	}
	called, err := root.ExecuteContextC(ctx)
	var usage usageError
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "reeve: %v\nSee '%s --help'.\n", err, called.CommandPath())
		return 2
	}
	fmt.Fprintf(os.Stderr, "reeve: %v\n", err)
	return 1
}

// usageError is a call with wrong flags or arguments.
type usageError struct{ error }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "reeve",
		Short: "A guardian for AI agents: it decides, and it can prove what it decided",
		Long: `reeve stands beside AI agents. Before an agent acts it answers "may it?";
afterwards it can prove what happened.

  reeve hook install   have the coding agent here ask it before each act
  reeve why            why the last act was stopped, and what would let it pass
  reeve approvals      what waits for a person: see it, agree or refuse
  reeve try COMMAND    would this be allowed
  reeve sessions       what the agents did

  reeve serve          start a node on http://127.0.0.1:8080, nothing else to set up
  reeve demo           watch an agent being held to a policy
  reeve init           write the starter policy here, to edit
  reeve run FILE       execute a workflow, each step of which is judged
  reeve doctor         is anything wrong here

Exit codes: 0 it was done, or is allowed; 1 it failed, or does not hold; 2 the call, a
flag, a file or the configuration makes no sense, and nothing was done; 3 denied and 4 held
for a person, by decide and try (policy replay: decided otherwise, and not to be told); 130
interrupted. What programs read is printed by --json.
Variables: each setting of reeve settings is one, and NO_COLOR is obeyed.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:          args(cobra.NoArgs),
	}
	root.SetVersionTemplate("reeve {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(), demoCommand(), initCommand(),
		runCommand(), tasksCommand(), schedulesCommand(), executorsCommand(),
		policyCommand(), tryCommand(), whyCommand(), decideCommand(),
		ledgerCommand(), evidenceCommand(), a2gCommand(), execCommand(), agentsCommand(), habitsCommand(), bomCommand(), riskCommand(), approvalsCommand(), keysCommand(), passkeysCommand(), nodesCommand(),
		mcpCommand(), pinsCommand(), hookCommand(), sessionsCommand(),
		consoleCommand(), backupCommand(), restoreCommand(), settingsCommand(), trustCommand(), doctorCommand(),
		versionCommand(), licensesCommand(),
	)
	askFirst(root)
	help := root.HelpFunc() // most starts, of hooks, show none
	root.SetHelpFunc(func(cmd *cobra.Command, a []string) {
		showExamples(root)
		help(cmd, a)
	})
	return root
}

// args makes a usage error of cobra's checks of arguments, which says how the command is
// called, and what was probably meant.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		switch err := check(cmd, a); {
		case err == nil:
			return nil
		case cmd.HasSubCommands() && len(a) > 0:
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			of := strings.TrimPrefix(cmd.CommandPath()+" "+a[0], cmd.Root().Name()+" ")
			like := words.Nearest(a[0], names, 3)
			if like == "" {
				like = strings.Join(below(cmd, a[0]), " or ")
			}
			return usageError{fmt.Errorf("there is no command %q%s", of, didYouMean(like))}
		}
		return usageError{fmt.Errorf("%s is called so: %s", cmd.CommandPath(), cmd.UseLine())}
	}
}

// below are the commands of one's commands that have a name, as they are called.
func below(cmd *cobra.Command, name string) (paths []string) {
	for _, c := range cmd.Commands() {
		for _, sub := range c.Commands() {
			if sub.Name() == name {
				paths = append(paths, sub.CommandPath())
			}
		}
	}
	if len(paths) > 3 { // too common a name to tell what was meant
		return nil
	}
	return paths
}

// oneOf is args of a command with one argument, which is one of some names: without it they are said.
func oneOf(names []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if len(a) == 0 {
			return usageError{fmt.Errorf("%s is called so: %s; choose one of %s", cmd.CommandPath(), cmd.UseLine(), strings.Join(names, ", "))}
		}
		return args(cobra.ExactArgs(1))(cmd, a)
	}
}

// notEmpty refuses an argument without a character, as a variable that is not set gives it.
func notEmpty(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if slices.Contains(a, "") {
			return usageError{fmt.Errorf("an argument is empty: %s is called so: %s", cmd.CommandPath(), cmd.UseLine())}
		}
		return check(cmd, a)
	}
}

// didYouMean asks so after a word that is not known; nothing where none is like it.
func didYouMean(like string) string {
	if like == "" {
		return ""
	}
	return ": did you mean " + like + "?"
}

// flagError says of a flag that cannot be read what was probably meant, or what it takes.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	named := cmd.Flags().Args()
	switch {
	case errors.As(err, &unknown) && cmd.HasSubCommands() && len(named) > 0: // of a command that there is not
		return args(cobra.NoArgs)(cmd, named)
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		like := words.Nearest(unknown.GetSpecifiedName(), names, 3)
		if like != "" {
			like = "--" + like
		}
		return usageError{fmt.Errorf("unknown flag --%s%s", unknown.GetSpecifiedName(), didYouMean(like))}
	case errors.As(err, &value):
		takes := map[string]string{
			"bool": "true or false", "duration": "a length of time such as 10s, 5m or 1h30m", "float64": "a number",
			"int": "a whole number", "int64": "a whole number", "uint32": "a whole number, not negative", "uint64": "a whole number, not negative",
		}[value.GetFlag().Value.Type()]
		if takes != "" { // others say it themselves
			return usageError{fmt.Errorf("flag --%s: %q is not %s", value.GetFlag().Name, value.GetValue(), takes)}
		}
	}
	return usageError{err}
}

// group is a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return usageError{fmt.Errorf("%s needs one of its commands: %s", cmd.CommandPath(), strings.Join(names, ", "))}
	}}
	c.AddCommand(commands...)
	return c
}

// settings describes a node's settings. Most commands have them as flags, and reading
// their tags for each command would be half of what a short one takes.
var settings = sync.OnceValue(new(reeve.Config).Settings)

// settingFlags adds the flags of a node's settings to a command: all of them,
// or those named. The configuration file is one of them.
func settingFlags(cmd *cobra.Command, names ...string) {
	cmd.Flags().String("config", "", "configuration file (YAML); environment REEVE_CONFIG, else ./reeve.yaml if it is trusted: see reeve trust")
	for _, s := range settings() {
		wanted := len(names) == 0 && s.Of == ""
		for _, n := range names {
			wanted = wanted || n == s.Flag
		}
		if !wanted {
			continue
		}
		doc := s.Doc
		if s.Default != "" {
			doc += " (default " + s.Default + ")"
		}
		cmd.Flags().String(s.Flag, "", doc)
		if s.IsBool() {
			cmd.Flags().Lookup(s.Flag).NoOptDefVal = "true"
		}
	}
}

// misspelt says which variables are nearly a setting's. Others may be the user's own, named
// by env: references.
func misspelt(environ []string) (said []string) {
	known := []string{"REEVE_CONFIG", "REEVE_KEY"}
	for _, s := range settings() {
		known = append(known, s.Env)
	}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "REEVE_") || slices.Contains(known, name) {
			continue
		}
		if near := words.Nearest(name, known, 2); near != "" {
			said = append(said, fmt.Sprintf("no setting has the variable %s%s", printable(name), didYouMean(near)))
		}
	}
	return said
}

// config reads a command's configuration: see reeve.Load.
func config(cmd *cobra.Command) (reeve.Config, error) { return configFor(cmd, false) }

// configFor is the same of a command that only looks into a database, where it says so.
func configFor(cmd *cobra.Command, looks bool) (reeve.Config, error) {
	file, _ := cmd.Flags().GetString("config")
	if file == "" {
		file = os.Getenv("REEVE_CONFIG")
	}
	if file == "" {
		var err error
		if file, err = trustedConfig(cmd, looks); err != nil {
			return reeve.Config{}, usageError{err}
		}
	}
	for _, said := range misspelt(os.Environ()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "reeve: %s\n", said)
	}
	given := map[string]string{}
	for _, s := range settings() {
		if f := cmd.Flags().Lookup(s.Flag); f != nil && f.Changed {
			given[s.Flag] = f.Value.String()
		}
	}
	c, err := reeve.Load(file, os.Getenv, given)
	if err != nil {
		return c, usageError{err}
	}
	return c, nil
}
