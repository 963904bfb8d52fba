package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/task"
)

func tasksCommand() *cobra.Command {
	return group("tasks", "Tasks: what becomes of them, and what became",
		tasksList(), tasksGet(), tasksTree(), tasksWatch(), tasksCancel(), tasksRetry(), tasksCopy(), tasksDelete(), tasksPushes())
}

// aboutTasks makes a command of one that asks a node. mustRun says that only a
// running one will do.
func aboutTasks(c *cobra.Command, mustRun bool, run func(cmd *cobra.Command, node *openNode, a []string) error) *cobra.Command {
	at := &nodeFlags{}
	at.add(c)
	settingFlags(c, "data", "database")
	c.RunE = func(cmd *cobra.Command, a []string) (err error) {
		node, err := at.running(cmd.Context(), cmd)
		switch {
		case err != nil:
			return err
		case node == nil && mustRun:
			return errNoNode
		case node == nil:
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			if err := noRecords(cfg); err != nil {
				return err
			}
			o, err := openOperator(cmd.Context(), cfg, false)
			if err != nil {
				return err
			}
			node = o.node(dataHint(cmd))
		}
		defer func() { err = errors.Join(err, node.close()) }()
		return run(cmd, node, a)
	}
	return c
}

// aboutOne is aboutTasks for a command about one task.
func aboutOne(c *cobra.Command, mustRun bool, run func(cmd *cobra.Command, node *openNode, id task.ID) error) *cobra.Command {
	c.Args = args(cobra.ExactArgs(1))
	return aboutTasks(c, mustRun, func(cmd *cobra.Command, node *openNode, a []string) error {
		id, err := taskID(a[0])
		if err != nil {
			return err
		}
		err = run(cmd, node, id)
		if errors.Is(err, flow.ErrNotFound) {
			return fmt.Errorf("there is no task %s", id)
		}
		return err
	})
}

func tasksList() *cobra.Command {
	var f flow.Filter
	var status string
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List tasks, the newest first; of workflows only the roots, unless --all",
		Args:  args(cobra.NoArgs),
	}
	c.Flags().StringVar(&status, "status", "", "only those that are pending, in_progress, completed, failed or cancelled")
	c.Flags().StringVar(&f.User, "user", "", "only this user's")
	c.Flags().IntVar(&f.Limit, "limit", 20, "at most so many, up to 1000")
	c.Flags().BoolVar(&all, "all", false, "also the tasks within workflows")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return aboutTasks(c, false, func(cmd *cobra.Command, node *openNode, _ []string) error {
		f.Status, f.Roots = task.Status(status), !all
		if status != "" && !slices.Contains(task.Statuses, f.Status) {
			return usageError{fmt.Errorf("--status %s: there is no such status", status)}
		}
		if f.Limit < 1 || f.Limit > 1000 {
			return usageError{fmt.Errorf("--limit %d: it is from 1 to 1000", f.Limit)}
		}
		list, err := node.client.List(cmd.Context(), f)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), rawList(list.Tasks))
		}
		if len(list.Tasks) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "there are no such tasks")
			return nil
		}
		listTasks(cmd.OutOrStdout(), list.Tasks)
		if more := list.Total - len(list.Tasks); more > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "and %d more: --limit shows them\n", more)
		}
		return nil
	})
}

func rawList(tasks []flow.Task) jsontext.Value {
	raw := []byte{'['}
	for i := range tasks {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, tasks[i].Raw...)
	}
	return append(raw, ']')
}

func listTasks(w io.Writer, tasks []flow.Task) {
	color := colored(w)
	names, executors := len("NAME"), len("EXECUTOR")
	for i := range tasks {
		t := &tasks[i]
		names = max(names, min(runewidth.StringWidth(printable(t.Name)), 32))
		executors = max(executors, min(runewidth.StringWidth(printable(executorOf(t))), 28))
	}
	fmt.Fprintf(w, "%s  %s  %s  %s  %6s  %6s  PROGRESS\n",
		pad("ID", 36), pad("STATUS", stateWidth), pad("NAME", names), pad("EXECUTOR", executors), "AGE", "TIME")
	for i := range tasks {
		t := &tasks[i]
		state := stateOfTask(t)
		fmt.Fprintf(w, "%s  %s%s  %s  %s  %6s  %6s  %s\n", t.ID,
			painted(state, color), strings.Repeat(" ", max(0, stateWidth-len(state))),
			pad(printable(t.Name), names), pad(dash(printable(executorOf(t))), executors),
			tookOf(time.Since(t.Created)), dash(durationOf(t)), progressOf(t))
	}
}

// progressOf is how far a task is, as tables have it.
func progressOf(t *flow.Task) string {
	switch {
	case t.Status == task.Completed:
		return "100%"
	case t.Progress > 0:
		return fmt.Sprintf("%d%%", int(t.Progress*100))
	}
	return "-"
}

func tasksGet() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "get ID",
		Short: "Show a task: its inputs, its result or error, and what was decided about it",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return aboutOne(c, false, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		t, err := node.client.Get(cmd.Context(), id)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), t.Raw)
		}
		showTask(cmd.OutOrStdout(), t, node.hint)
		return nil
	})
}

func showTask(w io.Writer, t *flow.Task, hint string) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s  %s\n", name, value)
		}
	}
	row("task", t.ID.String())
	row("name", printable(t.Name))
	row("id", printable(t.ClientID))
	if t.Root != t.ID {
		row("tree", t.Root.String())
	}
	row("executor", printable(executorOf(t)))
	row("user", printable(t.User))
	state := painted(stateOfTask(t), colored(w))
	if t.Attempt > 1 {
		state += fmt.Sprintf(" (attempt %d)", t.Attempt)
	}
	row("status", state)
	if t.Awaiting == "approval" {
		row("waits for", "a person, as approval "+printable(t.Approval))
	} else if t.Awaiting != "" {
		row("waits for", map[string]string{"dependencies": "other tasks", "retry": "its next attempt", "executor": "room to run"}[t.Awaiting])
	}
	row("error", printable(t.Error))
	row("created", when(t.Created.Local()))
	if !t.Started.IsZero() {
		row("started", when(t.Started.Local()))
		row("took", durationOf(t))
	}
	if !t.NextRun.IsZero() {
		row("next run", when(t.NextRun.Local()))
	}
	if !t.LastRun.IsZero() {
		row("last run", fmt.Sprintf("%s, %d so far", when(t.LastRun.Local()), t.Runs))
	}
	if t.Original != (task.ID{}) {
		row(printable(t.Origin)+" of", t.Original.String())
	}
	if t.Decision != "" {
		row("decided", "reeve ledger show "+printable(t.Decision)+ledgerHint(hint))
	}
	if t.Outcome != "" {
		row("outcome", "reeve ledger show "+printable(t.Outcome)+ledgerHint(hint))
	}
	value := func(name string, v jsontext.Value) {
		if len(v) > 0 && string(v) != "null" && string(v) != "{}" {
			fmt.Fprintf(w, "\n%s\n%s\n", name, readable(v))
		}
	}
	value("inputs", t.Inputs)
	value("inputs as the policy let them pass", t.Judged)
	value("params", t.Params)
	value("result", t.Result)
}

// ledgerHint is a hint for commands that look into a folder's ledger: there is none
// for a node elsewhere.
func ledgerHint(hint string) string {
	if strings.Contains(hint, "--server") {
		return ""
	}
	return hint
}

func tasksTree() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "tree ID",
		Short: "Draw a task with everything under it, and what each needs",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: what reeve run --json prints")
	return aboutOne(c, false, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		tree, err := node.client.Tree(cmd.Context(), id)
		if err != nil {
			return err
		}
		tasks := flat(tree)
		out := cmd.OutOrStdout()
		if asJSON {
			return printJSON(out, reportOf(outcome(tasks), tasks))
		}
		drawTree(out, tree)
		return nil
	})
}

// branch is a line of a tree that is drawn.
type branch struct {
	text string
	task *flow.Task
}

func branches(n *flow.Node, before, begin, below string) (list []branch) {
	list = append(list, branch{before + begin + labelOf(&n.Task), &n.Task})
	for i := range n.Children {
		begin, next := "├─ ", "│  "
		if i == len(n.Children)-1 {
			begin, next = "└─ ", "   "
		}
		list = append(list, branches(&n.Children[i], before+below, begin, next)...)
	}
	return list
}

func drawTree(w io.Writer, tree *flow.Node) {
	color := colored(w)
	list := branches(tree, "", "", "")
	labels := map[task.ID]string{}
	width := 0
	for _, b := range list {
		labels[b.task.ID] = labelOf(b.task)
		width = max(width, min(runewidth.StringWidth(b.text), 48))
	}
	for _, b := range list {
		state := stateOfTask(b.task)
		fmt.Fprintf(w, "%s  %s%s  %6s  %s%s\n", pad(b.text, width), painted(state, color), strings.Repeat(" ", max(0, stateWidth-len(state))),
			dash(durationOf(b.task)), dim(b.task.ID.String(), color), needsOf(b.task, labels))
	}
}

// needsOf says which tasks a task needs. What stands for a workflow needs them all.
func needsOf(t *flow.Task, labels map[task.ID]string) string {
	if len(t.Dependencies) == 0 || isWorkflow(t) {
		return ""
	}
	var list []string
	for i, n := range t.Dependencies {
		if i == 8 {
			list = append(list, fmt.Sprintf("%d more", len(t.Dependencies)-i))
			break
		}
		label, ok := labels[n.ID]
		if !ok {
			label = n.ID.String()
		}
		if !n.Required {
			label += " (optional)"
		}
		list = append(list, label)
	}
	return "  needs " + strings.Join(list, ", ")
}

func tasksWatch() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a task's workflow until it has ended, or you leave",
		Long: `Shows what became of the workflow that a task is in, and follows it until it has
ended. A connection that is lost is made again, and nothing is missed. The exit code
is that of reeve run.`,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON")
	return aboutOne(c, true, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		ctx, out := cmd.Context(), cmd.OutOrStdout()
		t, err := node.client.Get(ctx, id)
		if err != nil {
			return err
		}
		if asJSON {
			err = node.client.Events(ctx, t.Root, 0, func(e flow.Event) error { return printEvent(out, &e) })
		} else {
			show := newScreen(out)
			err = (&follower{client: node.client, root: t.Root, show: show, hint: node.hint}).follow(ctx)
			show.close()
		}
		if ctx.Err() != nil {
			return exitCode(exitInterrupted)
		}
		if err != nil {
			return err
		}
		tree, err := node.client.Tree(ctx, t.Root)
		if err != nil {
			return err
		}
		tasks := flat(tree)
		if !asJSON {
			fmt.Fprintln(out)
			table(out, tasks, colored(out))
		}
		if outcome(tasks) != "completed" {
			return exitCode(1)
		}
		return nil
	})
}

// printEvent prints an event as a line of JSON.
func printEvent(w io.Writer, e *flow.Event) error {
	line, err := json.Marshal(struct {
		N        uint64      `json:"n"`
		Event    string      `json:"event"`
		Task     task.ID     `json:"task_id"`
		Root     task.ID     `json:"root_task_id"`
		Status   task.Status `json:"status"`
		Progress float64     `json:"progress"`
		Message  string      `json:"message,omitzero"`
		Error    string      `json:"error,omitzero"`
	}{e.N, e.Type, e.Task, e.Root, e.Status, e.Progress, e.Message, e.Error}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

func tasksCancel() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a task and everything under it, also what runs",
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever waits for it and for the record")
	jsonFlag(c)
	return aboutOne(c, false, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		if err := cancelTree(cmd.Context(), node.client, id, node.client.Cancel, reason); err != nil {
			return err
		}
		t, err := node.client.Get(cmd.Context(), id)
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), t.Raw)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", id, stateOfTask(t))
		return nil
	})
}

func tasksRetry() *cobra.Command {
	c := &cobra.Command{
		Use:   "retry ID",
		Short: "Execute a task again, with everything under it that did not complete",
		Long: `Executes a task, or a workflow, that has ended or was never executed: of a workflow
that failed or was interrupted, what did not complete and what waits for it. What was
cancelled stays so: copy it, and execute the copy. reeve run --resume does the same, and
follows it.`,
	}
	jsonFlag(c)
	return aboutOne(c, true, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		started, err := node.client.Execute(cmd.Context(), flow.Execution{Existing: id})
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), map[string]task.ID{"root_task_id": started.Root})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "started %s\nreeve tasks watch %s%s follows it\n", started.Root, started.Root, node.hint)
		return nil
	})
}

func tasksCopy() *cobra.Command {
	var alone bool
	c := &cobra.Command{
		Use:   "copy ID",
		Short: "Make a task anew, with everything under it",
	}
	c.Flags().BoolVar(&alone, "alone", false, "only the task itself")
	jsonFlag(c)
	return aboutOne(c, false, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		made, err := node.client.Copy(cmd.Context(), id, !alone)
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), map[string]task.ID{"task_id": made})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", made)
		fmt.Fprintf(cmd.ErrOrStderr(), "reeve tasks retry %s%s executes it\n", made, node.hint)
		return nil
	})
}

func tasksDelete() *cobra.Command {
	var children bool
	c := &cobra.Command{
		Use:   "delete ID",
		Short: "Remove a task that was never executed",
	}
	c.Flags().BoolVar(&children, "children", false, "with everything under it")
	jsonFlag(c)
	return aboutOne(c, false, func(cmd *cobra.Command, node *openNode, id task.ID) error {
		if err := node.client.Delete(cmd.Context(), id, children); err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), map[string]task.ID{"deleted": id})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", id)
		return nil
	})
}

func tasksPushes() *cobra.Command {
	c := &cobra.Command{
		Use:   "pushes [TASK]",
		Short: "Tell how far push notifications have come: the last try, its error, the next one",
		Long: `Lists the push notifications of a tree of tasks or of an A2A task, or of all: who is told, up
to which event, and where it fails when it was last tried, why that failed, and when it is tried
again. Of an address only its host is shown, since the rest is the receiver's secret.`,
		Example: `  reeve tasks pushes
  reeve tasks pushes 9b2f6c1e-5d1f-4a43-9c3a-0e3f0f6f8a10 --json`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			of := ""
			if len(a) > 0 {
				of = a[0]
			}
			var list operator.PushList
			if err := askNode(cmd, "GET", "/pushes?task="+url.QueryEscape(of), nil, &list); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), list.Pushes)
			}
			if len(list.Pushes) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "there are no push notifications")
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "TASK\tTO\tSTATE\tEVENT\tFAILED\tLAST TRY\tNEXT\tERROR")
			for _, p := range list.Pushes {
				failed, tried, next := "-", "-", "-"
				if p.Failures > 0 {
					failed, tried = words.Count(p.Failures, "time"), when(p.Tried)
				}
				if p.Failures > 0 && !p.Next.IsZero() {
					next = when(p.Next)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", printable(p.Task), printable(p.To), p.State, p.Sent, failed, tried, next, dash(printable(p.Error)))
			}
			return w.Flush()
		},
	}
	return jsonFlag(aboutNode(c))
}
