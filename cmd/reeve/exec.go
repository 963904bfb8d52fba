package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/sandbox"
)

// The exit codes of reeve exec that are not the command's own.
const (
	exitTimedOut = 124 // the command was ended at its time limit
	exitFailed   = 125 // nothing was run, since something went wrong
	exitDenied   = 126 // nothing was run, since it is not allowed
	exitSignal   = 128 // and the signal's number, when one ended the command
)

// exitCode is an error that ends the program with a code, and says nothing more.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// execution is one reeve exec.
type execution struct {
	intent, agent, tool, session string
	at                           nodeFlags
	url                          string // of A2G, where it is no node's
	dir                          string
	env                          []string
	wait                         time.Duration
	verbose                      bool
	json                         bool // say at the end, on standard error, how it went
	first                        bool // the verdict, or the question, is this process's
}

func execCommand() *cobra.Command {
	x := &execution{}
	c := &cobra.Command{
		Use:   "exec [flags] -- COMMAND…",
		Short: "Ask for a command, run it inside its manifest, and report how it ended",
		Long: `Asks a running node whether a command may run (A2G), runs it inside the
manifest of the verdict, and reports how it ended, with what was measured. The node is
the one of --server, else the one that runs on the data folder, else the one at
` + defaultNode + `.
Without an intent, the command itself is the intent: the tool execute_command with
the argument command, a list, beside dir and the environment that --env adds, so
that what people agree to is what runs; what it reads from standard input is not
part of it. A file that ends in .wasm is run as a WASI module.

Where a person must agree, give --wait: a verdict is good for the one process that
asked for it.

Every limit of the manifest is enforced, or nothing is run; limits that the
policy calls advisory and that cannot be enforced here are reported.

The exit code is the command's own; 124 when its time was up, 126 when it was not
allowed, 125 when something went wrong before it ran. With --json the last line on
standard error is one object: the verdict, the reasons, and the report that was sent.`,
		Example: `  reeve exec -- make test
  reeve exec --server https://reeve.example --key env:REEVE_KEY --wait 10m -- terraform apply plan.out`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, command []string) error {
			if err := x.find(cmd); err != nil {
				return failedExec(cmd.ErrOrStderr(), err)
			}
			return x.run(cmd.Context(), command, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&x.intent, "intent", "", "file with the intent's params, - for standard input: their argument command must be this command")
	f.StringVar(&x.agent, "agent", "did:reeve:exec", "DID of the agent that asks")
	f.StringVar(&x.tool, "tool", "execute_command", "tool that the command is asked for as")
	f.StringVar(&x.session, "session", "", "session that the command belongs to")
	x.at.add(c)
	f.StringVar(&x.url, "url", "", "where A2G is spoken, such as http://127.0.0.1:8080/a2g")
	f.MarkDeprecated("url", "name the node with --server")
	f.StringVar(&x.dir, "dir", "", "directory that the command runs in; the present one when empty")
	f.StringSliceVar(&x.env, "env", nil, "names of further environment variables that the command gets")
	f.DurationVar(&x.wait, "wait", 0, "how long to wait for a person, when one must agree")
	f.BoolVarP(&x.verbose, "verbose", "v", false, "say how each limit is held, and what was measured")
	f.BoolVar(&x.json, "json", false, "say at the end on standard error how it went, for programs")
	settingFlags(c, "data")
	return c
}

// defaultNode is where a node listens of which nothing else is said.
const defaultNode = "http://127.0.0.1:8080"

// find settles which node is asked.
func (x *execution) find(cmd *cobra.Command) error {
	if x.url != "" && x.at.server != "" {
		return errors.New("--url and --server both name a node: leave out --url")
	}
	if x.url != "" {
		return nil
	}
	at := x.at.server
	if at == "" {
		c, err := config(cmd)
		if err != nil {
			return err
		}
		if at, err = datadir.URL(cmd.Context(), orOwn(c).Data); err != nil && !errors.Is(err, datadir.ErrNotRunning) {
			return err
		}
	} else if hint := dataHint(cmd); hint != "" {
		return fmt.Errorf("--server names a node that is elsewhere: leave out%s", hint)
	}
	x.at.server = cmp.Or(at, defaultNode)
	x.url = strings.TrimRight(x.at.server, "/") + "/a2g"
	return nil
}

func (x *execution) run(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := x.place(); err != nil {
		return failedExec(stderr, err)
	}
	client := &a2g.Client{URL: x.url, AgentDID: x.agent}
	defer client.Close()
	var err error
	if x.at.server == "" {
		x.at.server = x.url
	}
	if client.Key, err = x.at.credential(); err != nil {
		return failedExec(stderr, err)
	}
	intent, err := x.readIntent(command, stdin)
	if err != nil {
		return failedExec(stderr, err)
	}
	verdict, err := x.ask(ctx, client, intent, stderr)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w; is a node running? reeve serve starts one", err)
		}
		return failedExec(stderr, fmt.Errorf("ask the node: %w", err))
	}
	if !x.allowed(verdict, stderr) {
		x.tell(stderr, verdict, nil, exitDenied)
		return exitCode(exitDenied)
	}
	changed := len(verdict.ModifiedArguments) > 0
	if changed {
		if command, err = commandIn(verdict.ModifiedArguments); err != nil {
			return failedExec(stderr, fmt.Errorf("the policy changed the arguments: %w", err))
		}
	}
	report := &a2g.Report{AgentDID: intent.AgentDID, IntentID: intent.IntentID}
	if !changed {
		report.Tool, report.Arguments = intent.Tool, intent.Arguments
	}
	manifest := act.Manifest(*verdict.Manifest)
	outcome, err := x.execute(ctx, manifest, command, stdin, stdout, stderr)
	code := x.describe(report, &manifest, &outcome, err, stderr)
	defer x.tell(stderr, verdict, report, code)
	// Also when the caller has gone away: what was done must be known.
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if _, err := client.Report(reporting, report); err != nil {
		return failedExec(stderr, fmt.Errorf("the command ended (%d), and its report was not taken: %w", code, err))
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// tell says how it went, where programs read it: standard output is the command's own.
func (x *execution) tell(stderr io.Writer, v *a2g.Verdict, report *a2g.Report, code int) {
	if !x.json {
		return
	}
	printJSON(stderr, struct {
		Verdict string      `json:"verdict"`
		Reasons any         `json:"reasons"`
		Report  *a2g.Report `json:"report,omitzero"` // absent where nothing was run
		Exit    int         `json:"exit_code"`
	}{string(v.Verdict), v.Reasons, report, code})
}

// failedExec says what went wrong, and ends with the code for it.
func failedExec(stderr io.Writer, err error) error {
	fmt.Fprintln(stderr, "reeve:", err)
	return exitCode(exitFailed)
}

// readIntent returns the intent that the command is asked for with.
func (x *execution) readIntent(command []string, stdin io.Reader) (*a2g.Intent, error) {
	if x.intent == "" {
		arguments := map[string]any{"command": command, "dir": x.dir}
		if len(x.env) > 0 {
			arguments["env"] = x.variables()
		}
		in := &a2g.Intent{AgentDID: x.agent, IntentID: rand.Text(), Tool: x.tool, Arguments: a2g.Arguments(arguments)}
		if x.session != "" {
			in.Context = &a2g.IntentContext{SessionID: x.session}
		}
		return in, nil
	}
	var text []byte
	var err error
	if x.intent == "-" {
		text, err = io.ReadAll(io.LimitReader(stdin, 4<<20))
	} else {
		text, err = os.ReadFile(x.intent)
	}
	if err != nil {
		return nil, fmt.Errorf("read the intent: %w", err)
	}
	var message struct {
		Params *a2g.Intent `json:"params"`
	}
	in := new(a2g.Intent)
	if err := json.Unmarshal(text, &message); err == nil && message.Params != nil {
		in = message.Params // a whole request
	} else if err := json.Unmarshal(text, in); err != nil {
		return nil, fmt.Errorf("the intent cannot be read: %w", err)
	}
	if in.IntentID == "" {
		in.IntentID = rand.Text()
	}
	if in.AgentDID == "" {
		in.AgentDID = x.agent
	}
	asked, err := commandIn(in.Arguments)
	if err != nil {
		return nil, fmt.Errorf("the intent's arguments: %w", err)
	}
	if !slices.Equal(asked, command) {
		return nil, fmt.Errorf("the intent asks for another command: %q, not %q", asked, command)
	}
	var around struct {
		Dir string            `json:"dir"`
		Env map[string]string `json:"env"`
	}
	if err := json.Unmarshal(in.Arguments, &around); err != nil {
		return nil, fmt.Errorf("the intent's arguments: %w", err)
	}
	if around.Dir != x.dir || !maps.Equal(around.Env, x.variables()) {
		return nil, fmt.Errorf("the intent asks for another directory or environment: its arguments need \"dir\": %q, and \"env\" with what --env adds, as NAME: value", x.dir)
	}
	return in, nil
}

// place settles the directory that the command runs in.
func (x *execution) place() (err error) {
	x.dir, err = filepath.Abs(x.dir)
	return err
}

// variables are what --env adds to the environment.
func (x *execution) variables() map[string]string {
	added := map[string]string{}
	for _, name := range x.env {
		if value, ok := os.LookupEnv(name); ok {
			added[name] = value
		}
	}
	return added
}

// commandIn is the command that an intent's arguments name: a list of words, or
// a text that is a shell's.
func commandIn(arguments a2g.Raw) ([]string, error) {
	var list struct {
		Command []string `json:"command"`
	}
	if json.Unmarshal(arguments, &list) == nil && len(list.Command) > 0 {
		return list.Command, nil
	}
	var line struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(arguments, &line) == nil && line.Command != "" {
		return []string{"/bin/sh", "-c", line.Command}, nil
	}
	return nil, errors.New(`want an argument "command": a list of words, or a text for /bin/sh -c`)
}

// ask asks for the intent, and again while a person is waited for.
func (x *execution) ask(ctx context.Context, client *a2g.Client, intent *a2g.Intent, stderr io.Writer) (*a2g.Verdict, error) {
	const pause = time.Second
	deadline := time.Now().Add(x.wait)
	for told := false; ; told = true {
		verdict, err := client.Ask(ctx, intent)
		if err == nil && !told {
			x.first = !verdict.Repeat
		}
		if err != nil || verdict.Verdict != a2g.Escalate || time.Now().After(deadline) {
			return verdict, err
		}
		if !told {
			fmt.Fprintf(stderr, "reeve: waiting for a person to agree%s\n", howToAgree(stderr, verdict.Approval.ID))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// allowed reports whether a verdict lets the command run, now and for the first
// time, and says why not.
func (x *execution) allowed(v *a2g.Verdict, stderr io.Writer) bool {
	switch {
	case v.Verdict == a2g.Escalate:
		fmt.Fprintf(stderr, "reeve: a person must agree first%s\n", howToAgree(stderr, v.Approval.ID))
	case !v.Allows(time.Now()):
		fmt.Fprintf(stderr, "reeve: denied (%s): %s\n", v.BlockedBy, printable(v.Message))
		for _, r := range v.Reasons {
			fmt.Fprintf(stderr, "  %s: %s\n", printable(r.Code), printable(r.Message))
		}
		for _, s := range v.Instead {
			fmt.Fprintf(stderr, "  instead: %s\n", printable(s))
		}
	case v.Used, !x.first:
		fmt.Fprintln(stderr, "reeve: this verdict was given before, and is good for one run: ask with a new intent_id")
	case v.Manifest == nil:
		fmt.Fprintln(stderr, "reeve: the verdict has no manifest")
	default:
		for _, c := range v.Conditions {
			fmt.Fprintf(stderr, "reeve: condition: %s\n", printable(c))
		}
		return true
	}
	return false
}

// execute runs the command inside its manifest.
func (x *execution) execute(ctx context.Context, m act.Manifest, command []string, stdin io.Reader, stdout, stderr io.Writer) (sandbox.Outcome, error) {
	c := sandbox.Command{Args: command, Dir: x.dir, Env: environment(x.env), Stdin: stdin, Stdout: stdout, Stderr: stderr}
	if x.intent == "-" {
		c.Stdin = nil // it was the intent
	}
	if strings.HasSuffix(command[0], ".wasm") {
		module, err := filepath.Abs(command[0])
		if err != nil {
			return sandbox.Outcome{}, err
		}
		return sandbox.RunWASM(ctx, m, module, c)
	}
	return sandbox.Run(ctx, m, c)
}

// environment is what a command gets of ours: where programs are, how to write,
// and what is named. Secrets lie in the rest.
func environment(names []string) (env []string) {
	for _, name := range append([]string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR"}, names...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// hint says why a command may have failed that looked for files: a manifest that grants none
// of the folder is what a policy gives that says nothing of the tool.
func (x *execution) hint(m *act.Manifest, stderr io.Writer) {
	granted := slices.ContainsFunc(slices.Concat(m.FilesystemScope, m.FilesystemRead), func(path string) bool {
		root, _, _ := strings.Cut(path, "*")
		return strings.HasPrefix(x.dir+"/", root) || strings.HasPrefix(root, x.dir+"/") // also a part of it
	})
	if !granted {
		fmt.Fprintf(stderr, "reeve: no file of %s is granted to %s: the policy's manifests do, with filesystem_read or filesystem_scope (docs/policy.md)\n", printable(x.dir), printable(x.tool))
	}
}

// describe writes how it ended into the report, and tells a person. It returns
// the exit code.
func (x *execution) describe(report *a2g.Report, manifest *act.Manifest, o *sandbox.Outcome, err error, stderr io.Writer) (code int) {
	result := map[string]any{"exit_code": o.ExitCode, "limits": o.Limits}
	if o.Signal != "" {
		result["signal"] = o.Signal
	}
	if o.OutOfMemory {
		result["out_of_memory"] = true
	}
	if o.OverQuota != "" {
		result["over_quota"] = o.OverQuota
	}
	report.Metrics = &a2g.Metrics{DurationMS: math.Round(float64(o.Duration.Microseconds())/100) / 10}
	if o.MemoryPeakMB > 0 {
		memory, cpu := float64(o.MemoryPeakMB), math.Round(o.CPUPercent*10)/10
		report.Metrics.MemoryUsedMB, report.Metrics.CPUPercent = &memory, &cpu
	}
	switch {
	case errors.Is(err, sandbox.ErrRefused):
		report.Status, report.Error, code = a2g.Aborted, err.Error(), exitDenied
		fmt.Fprintln(stderr, "reeve:", err)
	case err != nil:
		report.Status, report.Error, code = a2g.Failure, err.Error(), exitFailed
		fmt.Fprintln(stderr, "reeve:", err)
	case o.OverQuota != "":
		report.Status, report.Error, code = a2g.Failure, o.OverQuotaText(), exitSignal+signalNumber(o.Signal)
		fmt.Fprintln(stderr, "reeve:", o.OverQuotaText())
	case o.TimedOut:
		report.Status, code = a2g.Timeout, exitTimedOut
		fmt.Fprintf(stderr, "reeve: ended at its time limit, after %s\n", o.Duration.Round(time.Millisecond))
	case o.ExitCode < 0:
		report.Status, code = a2g.Failure, exitSignal+signalNumber(o.Signal)
		fmt.Fprintf(stderr, "reeve: ended by %s\n", o.Signal)
	case o.ExitCode > 0:
		report.Status, code = a2g.Failure, o.ExitCode
		x.hint(manifest, stderr)
	default:
		report.Status = a2g.Success
	}
	if o.OutOfMemory {
		fmt.Fprintln(stderr, "reeve: the memory was used up")
	}
	for _, l := range o.Limits {
		if l.State != sandbox.Enforced {
			fmt.Fprintf(stderr, "reeve: %s IS NOT ENFORCED (%s: %s) %s\n", l.Name, strings.ReplaceAll(l.State, "_", " "), l.Mechanism, l.Detail)
		} else if x.verbose {
			text := fmt.Sprintf("reeve: %s is enforced by %s", l.Name, l.Mechanism)
			if l.Detail != "" {
				text += ": " + l.Detail
			}
			fmt.Fprintln(stderr, text)
		}
	}
	if x.verbose {
		fmt.Fprintf(stderr, "reeve: took %s, %d MB at most, %.0f %% of a CPU\n", o.Duration.Round(time.Millisecond), o.MemoryPeakMB, o.CPUPercent)
	}
	if text, err := json.Marshal(result, json.Deterministic(true)); err == nil {
		report.Result = text
	}
	return code
}

// signalNumber is what shells add to 128.
func signalNumber(name string) int {
	switch name {
	case "SIGHUP":
		return 1
	case "SIGINT":
		return 2
	case "SIGQUIT":
		return 3
	case "SIGILL":
		return 4
	case "SIGABRT":
		return 6
	case "SIGFPE":
		return 8
	case "SIGSEGV":
		return 11
	case "SIGPIPE":
		return 13
	case "SIGTERM":
		return 15
	case "SIGXCPU":
		return 24
	case "SIGXFSZ":
		return 25
	case "SIGSYS":
		return 31
	}
	return 9
}

// howToAgree says at a terminal how people answer. Elsewhere an agent may read it,
// which is not told.
func howToAgree(w io.Writer, id string) string {
	if !isTerminal(w) {
		return ""
	}
	return ": reeve approvals show " + printable(id)
}
