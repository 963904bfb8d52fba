package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/internal/workflow"
	"reeve.example/reeve/task"
)

// The exit codes of reeve run that are not 0 and 1.
const (
	exitUnfit       = 2   // the file, or the call, makes no sense
	exitInterrupted = 130 // somebody ended it
)

// runner is one reeve run.
type runner struct {
	set    []string
	json   bool
	detach bool
	check  bool
	resume bool
	result string
	at     nodeFlags
}

func runCommand() *cobra.Command {
	r := &runner{}
	c := &cobra.Command{
		Use:         "run FILE",
		Annotations: map[string]string{ofNode: "true"},
		Short:       "Execute a workflow from a file",
		Long: `Executes the workflow that a YAML or JSON file describes, shows how it goes, and
says at the end what became of each task. With a node running on the data folder,
or with --server, that node executes it; without one this command does, by the same
policy and into the same ledger. - reads standard input. docs/workflows.md explains
the file.

Ctrl-C stops what runs, and the workflow is cancelled; once more, and nothing is waited
for. --resume goes on with it, or with any workflow that did not complete: what has
completed stays as it is. Without an id it is the newest one that did not complete.

--check says whether the file can be executed with these settings, and in which order;
nothing is executed, and no node is asked.

A workflow with a schedule is not executed at once: that is reeve schedules apply.

The exit code is 0 when all tasks completed that had to, 1 when not, 2 when the file
is not a workflow, and 130 when it was interrupted.`,
		Example: `  reeve run report.yaml --set month=May
  reeve run report.yaml --result summary | jq .stdout
  reeve run report.yaml --allow-commands --policy policy.yaml
  reeve run report.yaml --check
  reeve run --resume 018f6b1e-3c44-4b0e-9d6a-2f1f0e1c7a55`,
		Args: func(cmd *cobra.Command, a []string) error {
			if r.resume {
				return args(cobra.MaximumNArgs(1))(cmd, a)
			}
			return args(cobra.ExactArgs(1))(cmd, a)
		},
		RunE: func(cmd *cobra.Command, a []string) error { return r.run(cmd, a) },
	}
	f := c.Flags()
	f.StringArrayVar(&r.set, "set", nil, "give something that the file lets be set a value, as NAME=VALUE; may be repeated")
	f.BoolVar(&r.json, "json", false, "print what became of it as JSON, and nothing else")
	f.BoolVar(&r.detach, "detach", false, "only start it; a node must be running")
	f.StringVar(&r.result, "result", "", "print this task's result as JSON, and nothing else")
	f.BoolVar(&r.check, "check", false, "only say whether the file can be executed; nothing is begun")
	f.BoolVar(&r.resume, "resume", false, "go on with the workflow whose id is given in place of a file, or the newest that did not complete")
	r.at.add(c)
	settingFlags(c, ownSettings...)
	return c
}

// ownSettings are the settings of a node that reeve run starts itself.
var ownSettings = []string{
	"data", "database", "policy", "keep", "redact", "allow-commands",
	"tasks-concurrent", "tasks-allow-private", "tasks-modules", "tasks-scratch",
	"llm-url", "llm-key", "llm-model", "llm-prompt-price", "llm-completion-price",
}

func (r *runner) run(cmd *cobra.Command, a []string) error {
	switch {
	case r.result != "" && (r.json || r.detach):
		return usageError{errors.New("--result waits for one result: it goes with neither --json nor --detach")}
	case r.check && (r.resume || r.detach || r.result != ""):
		return usageError{errors.New("--check executes nothing: it goes with neither --resume, --detach nor --result")}
	case r.resume && len(r.set) > 0:
		return usageError{errors.New("--resume goes on with a workflow as it was made: leave out --set")}
	}
	var w *workflow.Workflow
	var err error
	if !r.resume {
		if w, err = r.read(cmd, a[0]); err != nil {
			return unfit(cmd, err)
		}
	}
	if r.check {
		return r.checked(cmd, w)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// Once the workflow has begun, a first Ctrl-C is not the end, as it is of the
	// command's own context.
	ctx, leave := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer leave()

	out := cmd.OutOrStdout()
	told := out // what is for people
	if r.json || r.result != "" {
		told = cmd.ErrOrStderr()
	}
	show := newScreen(told)
	defer show.close()
	node, err := r.at.open(ctx, cmd, show, !r.detach && (r.resume || !w.Scheduled))
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return err
	case err != nil:
		return unfit(cmd, err)
	}
	defer func() {
		if closing := node.close(); closing != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "reeve:", closing)
		}
	}()
	if !r.resume && w.Scheduled {
		return applySchedule(cmd, node, w, r.json)
	}
	var started *flow.Started
	if r.resume {
		started, w, err = r.again(cmd, node, a)
	} else {
		started, err = node.client.Execute(cmd.Context(), flow.Execution{Tasks: w.JSON()})
	}
	switch {
	case cmd.Context().Err() != nil && err != nil:
		fmt.Fprintf(told, "interrupted before the node answered; reeve tasks list%s shows whether it has begun\n", node.hint)
		return exitCode(exitInterrupted)
	case err != nil && r.resume:
		return err
	case err != nil:
		return refusedTasks(cmd, w, err)
	}
	if r.detach {
		return r.detached(cmd, node, started)
	}
	if !r.json && r.result == "" {
		fmt.Fprintf(show, "%s: %s (%s)\n", printable(w.Name), words.Count(w.Count, "task"), started.Root)
	}
	f := &follower{client: node.client, root: started.Root, show: show, hint: node.hint}
	interrupted, err := attend(ctx, leave, f, signals)
	show.close()
	if interrupted && ctx.Err() != nil {
		fmt.Fprintf(told, "left; reeve run --resume %s%s goes on with it\n", started.Root, node.hint)
		return exitCode(exitInterrupted)
	}
	if err != nil {
		return fmt.Errorf("the workflow %s was started, and can no longer be followed: %w", started.Root, err)
	}
	tree, err := node.client.Tree(ctx, started.Root)
	if err != nil {
		return err
	}
	err = r.report(out, told, w, node, flat(tree), time.Since(f.begun))
	if interrupted {
		fmt.Fprintf(told, "reeve run --resume %s%s goes on with it\n", started.Root, node.hint)
		return exitCode(exitInterrupted)
	}
	node.linger(ctx, cmd.ErrOrStderr(), signals)
	return err
}

// read reads the workflow's file, with what was set.
func (r *runner) read(cmd *cobra.Command, file string) (*workflow.Workflow, error) {
	given := map[string]string{}
	for _, s := range r.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write NAME=VALUE", s)
		}
		given[name] = value
	}
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	source, err := io.ReadAll(io.LimitReader(in, workflow.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	w, err := workflow.Read(file, source, workflow.Options{Set: given})
	switch {
	case err != nil || r.result == "":
	case w.Scheduled:
		err = fmt.Errorf("--result %s: the workflow is executed by its schedule, and not waited for", r.result)
	case !w.Has(r.result):
		err = fmt.Errorf("--result %s: the workflow has no such task", r.result)
	}
	return w, err
}

// unfit says why nothing was begun, and ends with the code for it.
func unfit(cmd *cobra.Command, err error) error {
	if errors.Is(err, context.Canceled) {
		return exitCode(exitInterrupted)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "reeve:", err)
	return exitCode(exitUnfit)
}

// commandsOff is said of commands on a node that does not run any.
const commandsOff = "command_executor is off on this node: start the node with --allow-commands, or leave it to a node of this command's own, with --allow-commands and another folder in --data"

// refusedTasks says why the node did not take the tasks, where it can with the
// place in the file.
func refusedTasks(cmd *cobra.Command, w *workflow.Workflow, err error) error {
	var answer *flow.Error
	if !errors.As(err, &answer) || answer.Code == -32603 {
		return err
	}
	if answer.Code == task.CodeUnauthorized && answer.Data.Field == "" {
		return err // it is about the caller, and no place in the file
	}
	wrong := task.Error{
		Code: answer.Code, Task: answer.Data.Task, Field: answer.Data.Field, Reason: answer.Data.Reason,
		Expected: answer.Data.Expected, Cycle: answer.Data.Cycle,
	}
	text := w.Place(wrong)
	if answer.Code == task.CodeExecutor && strings.Contains(text, `"command_executor"`) {
		text = text[:strings.Index(text, "executor: ")] + "executor: " + commandsOff
	}
	return unfit(cmd, fmt.Errorf("%s:%s", w.File, text))
}

// again has a workflow go on that did not complete.
func (r *runner) again(cmd *cobra.Command, node *openNode, a []string) (*flow.Started, *workflow.Workflow, error) {
	ctx := cmd.Context()
	var id task.ID
	var err error
	if len(a) > 0 {
		id, err = taskID(a[0])
	} else {
		id, err = unfinished(ctx, node)
	}
	if err != nil {
		return nil, nil, err
	}
	t, err := node.client.Get(ctx, id)
	if errors.Is(err, flow.ErrNotFound) {
		return nil, nil, fmt.Errorf("there is no task %s", id)
	}
	if err != nil {
		return nil, nil, err
	}
	tree, err := node.client.Tree(ctx, t.Root)
	if err != nil {
		return nil, nil, err
	}
	w := &workflow.Workflow{Name: tree.Task.Name, Count: len(flat(tree))}
	if isWorkflow(&tree.Task) {
		w.Count--
	}
	started := &flow.Started{Root: t.Root, Task: t.Root}
	for _, one := range flat(tree) {
		if one.Awaiting != "" || one.Status == task.InProgress { // it goes on already, since a node runs
			return started, w, nil
		}
	}
	started, err = node.client.Execute(ctx, flow.Execution{Existing: t.Root})
	if answer, ok := errors.AsType[*flow.Error](err); ok && answer.Code == task.CodeExecutor && strings.Contains(answer.Data.Reason, `"command_executor"`) {
		err = errors.New(commandsOff)
	}
	return started, w, err
}

// unfinished is the newest workflow that did not complete.
func unfinished(ctx context.Context, node *openNode) (task.ID, error) {
	const newest = 100
	list, err := node.client.List(ctx, flow.Filter{Roots: true, Limit: newest})
	if err != nil {
		return task.ID{}, err
	}
	for i := range list.Tasks {
		if t := &list.Tasks[i]; t.Status != task.Completed && t.Schedule == "" {
			return t.ID, nil
		}
	}
	return task.ID{}, fmt.Errorf("of the newest %d workflows all have completed: reeve tasks list shows them", newest)
}

// checked says whether a workflow can be executed with these settings, and what it would do.
func (r *runner) checked(cmd *cobra.Command, w *workflow.Workflow) error {
	cfg, err := config(cmd)
	if err != nil {
		return err
	}
	all, err := executorsOf(cfg)
	if err != nil {
		return err
	}
	tasks := w.Tasks()
	var faults []string
	for _, t := range tasks {
		if t.Executor == "" {
			continue
		}
		i := slices.IndexFunc(all, func(e executorInfo) bool { return e.ID == t.Executor })
		var wrong *task.Error
		switch {
		case i < 0:
			wrong = &task.Error{Task: t.ID, Field: "schemas.method", Reason: fmt.Sprintf("there is no executor %q: see reeve executors list", t.Executor)}
		case !all[i].On:
			wrong = &task.Error{Task: t.ID, Field: "schemas.method", Reason: fmt.Sprintf("%s is off: it %s", t.Executor, all[i].Why)}
		default:
			wrong = engine.Fits(&executor.Description{ID: t.Executor, InputSchema: all[i].InputSchema, Literal: all[i].literal}, t.ID, t.Inputs, t.Later)
		}
		if wrong != nil {
			faults = append(faults, w.File+":"+w.Place(*wrong))
		}
	}
	if len(faults) > 0 {
		return unfit(cmd, errors.New(strings.Join(faults, "\n")))
	}
	if r.json {
		return printJSON(cmd.OutOrStdout(), checkReport(w, tasks))
	}
	out, labels, executors := cmd.OutOrStdout(), len("TASK"), len("EXECUTOR")
	for _, t := range tasks {
		labels, executors = max(labels, len(printable(t.ID))), max(executors, len(printable(t.Executor)))
	}
	fmt.Fprintf(out, "%s  %s  NEEDS\n", pad("TASK", labels), pad("EXECUTOR", executors))
	for _, t := range tasks {
		fmt.Fprintf(out, "%s  %s  %s\n", pad(printable(t.ID), labels), pad(dash(printable(t.Executor)), executors), dash(printable(strings.Join(t.Needs, ", "))))
	}
	_, err = fmt.Fprintf(out, "\n%s: %s; nothing was executed\n", printable(w.Name), words.Count(w.Count, "task"))
	return err
}

// checkReport is what --check --json prints.
func checkReport(w *workflow.Workflow, tasks []workflow.Task) any {
	type one struct {
		ID       string   `json:"id"`
		Executor string   `json:"executor,omitzero"`
		Needs    []string `json:"needs"`
	}
	report := struct {
		File      string `json:"file"`
		Name      string `json:"name"`
		Scheduled bool   `json:"scheduled"`
		Tasks     []one  `json:"tasks"`
	}{w.File, w.Name, w.Scheduled, []one{}}
	for _, t := range tasks {
		report.Tasks = append(report.Tasks, one{t.ID, t.Executor, append([]string{}, t.Needs...)})
	}
	return report
}

// detached says what was started, and how to find it again.
func (r *runner) detached(cmd *cobra.Command, node *openNode, s *flow.Started) error {
	if r.json {
		return printJSON(cmd.OutOrStdout(), s)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "started %s\nreeve tasks watch %s%s follows it\n", s.Root, s.Root, node.hint)
	return nil
}

// attend follows a tree to its end. At the first signal the tree is cancelled, at
// the second it is left.
func attend(ctx context.Context, leave context.CancelFunc, f *follower, signals <-chan os.Signal) (interrupted bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- f.follow(ctx) }()
	for {
		select {
		case err := <-ended:
			return interrupted, err
		case <-signals:
			if interrupted {
				leave()
				continue
			}
			interrupted = true
			fmt.Fprintln(f.show, "stopping; Ctrl-C once more leaves at once")
			go func() {
				if err := cancelTree(ctx, f.client, f.root, f.client.Interrupt, "Interrupted"); err != nil && ctx.Err() == nil {
					fmt.Fprintf(f.show, "it could not be stopped: %v\n", err)
				}
			}()
		}
	}
}

// cancelTree cancels what of a tree has not ended, also when its root has. cancel is the
// client's Cancel or Interrupt.
func cancelTree(ctx context.Context, client *flow.Client, root task.ID, cancel func(context.Context, task.ID, string) error, why string) error {
	err := cancel(ctx, root, why)
	if err == nil {
		return nil
	}
	tree, other := client.Tree(ctx, root)
	if other != nil {
		return err
	}
	cancelled := false
	for _, t := range flat(tree) {
		if t.Status.Ended() {
			continue
		}
		if cancel(ctx, t.ID, why) == nil {
			cancelled = true
		}
	}
	if cancelled || tree.Task.Status.Ended() {
		return nil
	}
	return err
}

// report says what became of a workflow that has ended.
func (r *runner) report(out, told io.Writer, w *workflow.Workflow, node *openNode, tasks []*flow.Task, took time.Duration) error {
	result := outcome(tasks)
	var failed error
	if result != "completed" {
		failed = exitCode(1)
	}
	switch {
	case r.json:
		if err := printJSON(out, reportOf(result, tasks)); err != nil {
			return err
		}
		return failed
	case r.result != "":
		for _, t := range tasks {
			if t.ClientID != r.result && t.ID.String() != r.result {
				continue
			}
			if t.Status != task.Completed {
				if t.Result != nil {
					fmt.Fprintf(told, "\n%s\n", labelOf(t))
					printResult(told, t)
				}
				return fmt.Errorf("the task %s has no result: it is %s: %s", labelOf(t), stateOfTask(t), printable(t.Error))
			}
			if err := printJSON(out, t.Result); err != nil {
				return err
			}
		}
		return failed
	}
	color := colored(told)
	fmt.Fprintln(told)
	table(told, tasks, color)
	fmt.Fprintf(told, "\n%s %s in %s\n", printable(w.Name), painted(result, color), tookOf(took))
	if failed != nil { // what went wrong is not to be buried under results
		for _, t := range tasks {
			if t.Status == task.Failed && t.Result != nil {
				fmt.Fprintf(told, "\n%s\n", labelOf(t))
				printResult(told, t)
			}
		}
		fmt.Fprintf(told, "\nreeve tasks tree %s%s shows all of it, reeve tasks get ID one task\n", tasks[0].ID, node.hint)
		return failed
	}
	for _, t := range last(tasks) {
		fmt.Fprintf(told, "\n%s\n", labelOf(t))
		printResult(told, t)
	}
	return nil
}

// last are the tasks that completed and that no other waits for.
func last(tasks []*flow.Task) (list []*flow.Task) {
	needed := map[task.ID]bool{}
	for _, t := range tasks {
		if isWorkflow(t) && len(tasks) > 1 {
			continue
		}
		for _, n := range t.Dependencies {
			needed[n.ID] = true
		}
	}
	const most = 5
	for _, t := range tasks {
		if !needed[t.ID] && t.Status == task.Completed && executorOf(t) != "" && len(list) < most {
			list = append(list, t)
		}
	}
	return list
}

// maxShown is how many lines of a result are shown to people.
const maxShown = 40

// printResult shows a result: what a program wrote as it is, anything else as JSON.
func printResult(w io.Writer, t *flow.Task) {
	text := string(pretty(t.Result))
	var program struct {
		Stdout *string `json:"stdout"`
		Stderr string  `json:"stderr"`
		Code   *int    `json:"exit_code"`
	}
	if json.Unmarshal(t.Result, &program) == nil && program.Stdout != nil && program.Code != nil {
		if text = *program.Stdout; t.Status == task.Failed {
			text += program.Stderr
		}
	}
	shown := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range shown {
		if i == maxShown {
			fmt.Fprintf(w, "  … %s more: reeve tasks get %s\n", words.Count(len(shown)-maxShown, "line"), t.ID)
			return
		}
		line = words.Shorten(printable(strings.ReplaceAll(line, "\t", "    ")), 1000)
		fmt.Fprintln(w, strings.TrimRight("  "+line, " "))
	}
}

// runReport is what --json prints.
type runReport struct {
	Root   task.ID      `json:"root_task_id"`
	Status string       `json:"status"` // completed, failed or cancelled
	Tasks  []taskReport `json:"tasks"`
}

type taskReport struct {
	Task     task.ID        `json:"task_id"`
	ID       string         `json:"id,omitzero"` // in the file
	Name     string         `json:"name"`
	Executor string         `json:"executor,omitzero"`
	Status   string         `json:"status"` // denied when the policy did not let it start
	Optional bool           `json:"optional,omitzero"`
	Attempt  int            `json:"attempt"`
	Seconds  float64        `json:"seconds"`
	Error    string         `json:"error,omitzero"`
	Decision string         `json:"decision_id,omitzero"`
	Outcome  string         `json:"outcome_id,omitzero"`
	Result   jsontext.Value `json:"result,omitzero"`
}

func reportOf(result string, tasks []*flow.Task) *runReport {
	fine := excused(tasks)
	report := &runReport{Root: tasks[0].ID, Status: result, Tasks: []taskReport{}}
	for _, t := range tasks {
		if isWorkflow(t) && len(tasks) > 1 && t.Status != task.Failed {
			continue
		}
		one := taskReport{
			Task: t.ID, ID: t.ClientID, Name: t.Name, Executor: executorOf(t), Status: stateOfTask(t), Optional: fine[t.ID],
			Attempt: t.Attempt, Error: t.Error, Decision: t.Decision, Outcome: t.Outcome,
		}
		if !t.Started.IsZero() && !t.Completed.IsZero() {
			one.Seconds = t.Completed.Sub(t.Started).Seconds()
		}
		one.Result = t.Result
		report.Tasks = append(report.Tasks, one)
	}
	return report
}

// printJSON prints a value for programs, and for a person over several lines.
func printJSON(w io.Writer, v any) error {
	text, ok := v.(jsontext.Value)
	if !ok {
		var err error
		if text, err = json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return err
		}
	}
	if isTerminal(w) {
		_, err := fmt.Fprintf(w, "%s\n", pretty(text))
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", bytes.TrimSpace(text))
	return err
}

// ── which node ──

// nodeFlags say which node is meant: that of the data folder, or another.
type nodeFlags struct{ server, key string }

func (n *nodeFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&n.server, "server", "", "URL of the node, such as https://reeve.example; the one on the data folder when empty")
	c.Flags().StringVar(&n.key, "key", "", "reference to an API key or token for --server: env:NAME or file:PATH")
}

// openNode is a way to a node.
type openNode struct {
	client *flow.Client
	close  func() error
	hint   string // the flags that name it, for a command to be tried
	// tasks counts what this process's own node executes; nil when another is asked.
	tasks func(context.Context) (int, error)
}

// linger keeps a node of this command's own for as long as it executes what others
// gave it, who found it on the data folder and follow it there, or until a signal.
func (n *openNode) linger(ctx context.Context, told io.Writer, signals <-chan os.Signal) {
	if n.tasks == nil {
		return
	}
	pause := func(d time.Duration) (signaled bool) {
		select {
		case <-signals:
			return true
		case <-time.After(d):
			return false
		}
	}
	for others := false; ; others = true {
		busy, err := n.tasks(ctx)
		switch {
		case err != nil || busy == 0 && !others:
			return
		case busy == 0:
			pause(time.Second) // they read how it ended
			return
		case !others:
			fmt.Fprintln(told, "other workflows are executed by this command's node: it waits for them (Ctrl-C leaves them)")
		}
		if pause(200 * time.Millisecond) {
			return
		}
	}
}

// errNoNode is why what only a running node can do is not done.
var errNoNode = errors.New("no node is running: start one with reeve serve, or name one with --server")

// fit refuses flags that name two nodes, or none.
func (n *nodeFlags) fit(cmd *cobra.Command) error {
	switch hint := dataHint(cmd); {
	case n.server != "" && hint != "":
		return usageError{fmt.Errorf("--server names a node that is elsewhere: leave out%s", hint)}
	case n.server == "" && n.key != "":
		return usageError{errors.New("--key is for --server; on the data folder none is needed")}
	}
	return nil
}

// running opens the way to a node that runs; nil when there is none.
func (n *nodeFlags) running(ctx context.Context, cmd *cobra.Command) (*openNode, error) {
	if err := n.fit(cmd); err != nil {
		return nil, err
	}
	if n.server != "" {
		client, err := n.client()
		return &openNode{client: client, close: func() error { return nil }, hint: " --server " + n.server}, err
	}
	cfg, err := config(cmd)
	if err != nil {
		return nil, err
	}
	o, err := openOperator(ctx, cfg, true)
	if errors.Is(err, errNotRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o.node(dataHint(cmd)), nil
}

// node is an operator's way to the node's tasks.
func (o *opened) node(hint string) *openNode {
	return &openNode{client: &flow.Client{URL: "http://localhost", HTTP: o.HTTP}, close: o.close, hint: hint}
}

func (n *nodeFlags) client() (*flow.Client, error) {
	key, err := n.credential()
	if err != nil {
		return nil, err
	}
	return flow.NewClient(n.server, key), nil
}

// credential is the key that is named for a node elsewhere, once its URL is looked at.
func (n *nodeFlags) credential() (key string, err error) {
	if u, err := url.Parse(n.server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usageError{fmt.Errorf("--server: %q is not an http or https URL, such as http://127.0.0.1:8080", n.server)}
	}
	if n.key == "" {
		return "", nil
	}
	text, err := secret.Read(n.key)
	if err != nil {
		return "", usageError{fmt.Errorf("--key: %w", err)}
	}
	return strings.TrimSpace(string(text)), nil
}

// serverOf is what nodeFlags say in a command that has them, by their names.
func serverOf(cmd *cobra.Command) nodeFlags {
	var n nodeFlags
	if cmd.Flags().Lookup("server") == nil {
		return n // its --key, if it has one, is another's
	}
	for name, to := range map[string]*string{"server": &n.server, "key": &n.key} {
		if f := cmd.Flags().Lookup(name); f != nil {
			*to = f.Value.String()
		}
	}
	return n
}

// dataHint are the flags that say where the node is, as they were given.
func dataHint(cmd *cobra.Command) string { return flagsHint(cmd, "config", "data", "database") }

// flagsHint are those of a command's flags that were given, to be given to another.
func flagsHint(cmd *cobra.Command, names ...string) (hint string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			hint += " --" + name + " " + f.Value.String()
		}
	}
	return hint
}

// open opens the way to a running node, and else, if it may, starts one for as long
// as the command lasts. Its log goes to where progress is shown.
func (n *nodeFlags) open(ctx context.Context, cmd *cobra.Command, log io.Writer, start bool) (*openNode, error) {
	node, err := n.running(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if node != nil {
		var ours []string
		for _, name := range ownSettings {
			if f := cmd.Flags().Lookup(name); f != nil && f.Changed && !slices.Contains([]string{"data", "database"}, name) {
				ours = append(ours, "--"+name)
			}
		}
		if len(ours) > 0 {
			return nil, fmt.Errorf("a node is running that has its own settings: start it with %s, or name another folder with --data for a node of this command's own", strings.Join(ours, " and "))
		}
		return node, nil
	}
	if !start {
		return nil, errNoNode
	}
	cfg, err := config(cmd)
	if err != nil {
		return nil, err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	own, stop, err := runNode(ctx, cfg)
	if errors.Is(err, ledger.ErrInUse) {
		if o := operator.Dial(ctx, cfg.Data); o != nil {
			return nil, fmt.Errorf("another command has begun on %s at the same moment: run this again, and its node is asked", cfg.Data)
		}
		return nil, fmt.Errorf("%w, and its socket in %s cannot be reached: run this as the node's user", err, cfg.Data)
	}
	if err != nil {
		return nil, err
	}
	o, err := openOperator(ctx, cfg, true)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	node = o.node(dataHint(cmd))
	node.close = stop
	node.tasks = func(ctx context.Context) (int, error) {
		return own.Engine().Count(ctx, engine.Caller{Admin: true}, task.Query{Status: task.InProgress})
	}
	return node, nil
}

// runNode runs a node in this process, which listens on the operator's socket
// alone. It does not end with ctx, but when it is stopped.
func runNode(ctx context.Context, cfg reeve.Config) (node *reeve.Node, stop func() error, err error) {
	cfg.Listen = ""
	cfg.Tasks.Grace = 0 // when it stops, its workflow has ended, or is left
	if node, err = reeve.Open(ctx, cfg); err != nil {
		return nil, nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- node.Serve(serving, func(string) { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return nil, nil, errors.Join(err, node.Close())
	}
	return node, func() error {
		cancel()
		return errors.Join(<-ended, node.Close())
	}, nil
}

// taskID reads the id of a task.
func taskID(s string) (task.ID, error) {
	id, err := task.ParseID(s)
	if err != nil {
		return id, usageError{fmt.Errorf("%q is no task's id, which is a UUID: see reeve tasks list", s)}
	}
	return id, nil
}
