package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/internal/workflow"
	"reeve.example/reeve/task"
)

func schedulesCommand() *cobra.Command {
	return group("schedules", "Schedules: workflows that are executed at times of their own",
		schedulesList(), schedulesApply(), schedulesPause(), schedulesContinue(), schedulesRemove())
}

// digestMember is the member of a scheduled workflow's root that says from which tasks it was
// made: by it the same file is known again.
const digestMember = "applied_sha256"

func digestOf(w *workflow.Workflow) string {
	sum := sha256.Sum256(w.JSON())
	return hex.EncodeToString(sum[:])
}

// schedulesOf are the workflows with a schedule, newest first.
func schedulesOf(ctx context.Context, node *openNode) (list []flow.Task, err error) {
	const page = 1000
	for offset := 0; ; offset += page {
		part, err := node.client.List(ctx, flow.Filter{Roots: true, Limit: page, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, t := range part.Tasks {
			if t.Schedule != "" {
				list = append(list, t)
			}
		}
		if len(part.Tasks) < page {
			return list, nil
		}
	}
}

// scheduled are the schedules that a name or an id means: several only if several have the
// name.
func scheduled(ctx context.Context, node *openNode, name string) (found []flow.Task, err error) {
	list, err := schedulesOf(ctx, node)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list {
		if t.Name == name || t.ID.String() == name {
			found = append(found, t)
		}
		names = append(names, t.Name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no schedule %q%s", name, didYouMean(words.Nearest(name, names, len(name)/2+1)))
	}
	return found, nil
}

// applySchedule makes a workflow that is executed by its schedule: the one that there is of
// this name, if it was made from the same tasks, else anew in its place. What a person has
// paused stays so: a file that is applied again, by whatever program, does not overrule them.
func applySchedule(cmd *cobra.Command, node *openNode, w *workflow.Workflow, asJSON bool) error {
	ctx, digest := cmd.Context(), digestOf(w)
	list, err := schedulesOf(ctx, node)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t flow.Task) bool { return t.Name != w.Name })
	what := "is as it was"
	id, err := sameSchedule(ctx, node, list, digest)
	if err != nil {
		return err
	}
	paused := len(list) > 0 && !slices.ContainsFunc(list, func(t flow.Task) bool { return t.Scheduled })
	if id == (task.ID{}) {
		w.Mark(digestMember, digest)
		if paused {
			w.Pause()
		}
		made, err := node.client.Create(ctx, w.JSON())
		if err != nil {
			return refusedTasks(cmd, w, err)
		}
		if id, what = made.Root, "is made"; len(list) > 0 {
			what = "is made anew"
		}
	}
	for _, t := range list {
		if t.ID == id {
			continue
		}
		if err := endSchedule(ctx, node, t.ID); err != nil {
			return fmt.Errorf("%s is applied, and the one before (%s) goes on: %w", id, t.ID, err)
		}
	}
	root, err := node.client.Get(ctx, id)
	if err != nil {
		return err
	}
	if !root.Scheduled && !paused { // another of the name was on
		if root, err = setSchedule(ctx, node, id, true); err != nil {
			return err
		}
		what = "goes on"
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), root.Raw)
	}
	next := "its schedule has no run to come"
	if !root.Scheduled {
		next = "stays paused: reeve schedules continue " + printable(w.Name) + node.hint
	} else if !root.NextRun.IsZero() {
		next = "runs next at " + root.NextRun.Local().Format("2006-01-02 15:04:05 MST")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s (%s) and %s\n", printable(w.Name), what, id, next)
	return nil
}

// sameSchedule is the oldest of some schedules that was made from certain tasks: zero for none.
func sameSchedule(ctx context.Context, node *openNode, list []flow.Task, digest string) (id task.ID, err error) {
	for _, t := range list { // newest first
		whole, err := node.client.Get(ctx, t.ID)
		if errors.Is(err, flow.ErrNotFound) {
			continue
		}
		if err != nil {
			return id, err
		}
		var member map[string]any
		if err := json.Unmarshal(whole.Raw, &member); err == nil && member[digestMember] == digest {
			id = t.ID
		}
	}
	return id, nil
}

// setSchedule has a schedule go on, or pauses it.
func setSchedule(ctx context.Context, node *openNode, id task.ID, enabled bool) (*flow.Task, error) {
	if err := node.client.Update(ctx, id, map[string]any{"schedule_enabled": enabled}); err != nil {
		return nil, err
	}
	return node.client.Get(ctx, id)
}

// endSchedule removes a schedule: with its tasks, if these were never executed. What has
// been stays, as any workflow's tasks do.
func endSchedule(ctx context.Context, node *openNode, id task.ID) error {
	err := node.client.Delete(ctx, id, true)
	var answer *flow.Error
	if !errors.As(err, &answer) || answer.Code != task.CodeDelete {
		return err
	}
	return node.client.Update(ctx, id, map[string]any{
		"schedule_enabled": false, "schedule_type": nil, "schedule_expression": nil,
	})
}

func schedulesList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the schedules, and when each runs next",
		Example: "  reeve schedules list\n  reeve schedules list --json --server https://reeve.example --key env:REEVE_KEY",
		Args:    args(cobra.NoArgs),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return aboutTasks(c, false, func(cmd *cobra.Command, node *openNode, _ []string) error {
		list, err := schedulesOf(cmd.Context(), node)
		if err != nil {
			return err
		}
		slices.SortStableFunc(list, func(a, b flow.Task) int { return strings.Compare(a.Name, b.Name) })
		if asJSON {
			return printJSON(cmd.OutOrStdout(), rawList(list))
		}
		if len(list) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "there are no schedules: reeve schedules apply FILE makes one")
			return nil
		}
		listSchedules(cmd.OutOrStdout(), list)
		return nil
	})
}

func listSchedules(w io.Writer, list []flow.Task) {
	rows := [][]string{{"NAME", "WHEN", "STATE", "NEXT RUN", "LAST RUN", "RUNS", "ID"}}
	for i := range list {
		t := &list[i]
		state, next, last := "paused", "-", "-"
		if t.Scheduled {
			if state, next = "on", "none"; !t.NextRun.IsZero() {
				next = when(t.NextRun.Local())
			}
		}
		if !t.LastRun.IsZero() {
			last = when(t.LastRun.Local())
		}
		times := strings.TrimSpace(t.Schedule + " " + t.When + " " + t.Zone)
		rows = append(rows, []string{printable(t.Name), printable(times), state, next, last, fmt.Sprint(t.Runs), t.ID.String()})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], min(runewidth.StringWidth(cell), 48))
		}
	}
	for _, r := range rows {
		for i, cell := range r[:len(r)-1] {
			fmt.Fprint(w, pad(cell, widths[i]), "  ")
		}
		fmt.Fprintln(w, r[len(r)-1])
	}
}

func schedulesApply() *cobra.Command {
	r := &runner{}
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Have a workflow executed by its schedule",
		Long: `Makes the workflow that a file describes, which is executed by its schedule from now on.
A schedule is known by the workflow's name: applying the same file again changes
nothing, another of the same name takes its place. Nothing is run now, and what was paused
stays paused until it is continued.`,
		Example: "  reeve schedules apply nightly.yaml\n  reeve schedules apply nightly.yaml --set folder=/srv",
		Args:    args(cobra.ExactArgs(1)),
	}
	c.Flags().StringArrayVar(&r.set, "set", nil, "give something that the file lets be set a value, as NAME=VALUE; may be repeated")
	c.Flags().BoolVar(&r.json, "json", false, "print the workflow's root as JSON")
	return aboutTasks(c, true, func(cmd *cobra.Command, node *openNode, a []string) error {
		w, err := r.read(cmd, a[0])
		if err != nil {
			return unfit(cmd, err)
		}
		if !w.Scheduled {
			return unfit(cmd, fmt.Errorf("%s has no schedule: it needs schedule_type, schedule_expression and schedule_enabled: true", w.File))
		}
		return applySchedule(cmd, node, w, r.json)
	})
}

// aboutSchedule makes a command that does something with the schedules of a name.
func aboutSchedule(c *cobra.Command, did string, do func(ctx context.Context, node *openNode, t *flow.Task) error) *cobra.Command {
	c.Args = args(cobra.ExactArgs(1))
	return aboutTasks(jsonFlag(c), false, func(cmd *cobra.Command, node *openNode, a []string) error {
		found, err := scheduled(cmd.Context(), node, a[0])
		if err != nil {
			return err
		}
		for i := range found {
			if err := do(cmd.Context(), node, &found[i]); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				continue
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) %s\n", printable(found[i].Name), found[i].ID, did)
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), rawList(found))
		}
		return nil
	})
}

func schedulesPause() *cobra.Command {
	return aboutSchedule(&cobra.Command{
		Use: "pause NAME|ID", Short: "Have a schedule make no runs until it is continued; a run that goes on does",
		Example: "  reeve schedules pause nightly",
	}, "is paused", func(ctx context.Context, node *openNode, t *flow.Task) error {
		_, err := setSchedule(ctx, node, t.ID, false)
		return err
	})
}

func schedulesContinue() *cobra.Command {
	return aboutSchedule(&cobra.Command{
		Use: "continue NAME|ID", Short: "Have a schedule go on that was paused, from its next time on",
		Example: "  reeve schedules continue nightly",
	}, "goes on", func(ctx context.Context, node *openNode, t *flow.Task) error {
		_, err := setSchedule(ctx, node, t.ID, true)
		return err
	})
}

func schedulesRemove() *cobra.Command {
	c := aboutSchedule(&cobra.Command{
		Use: "remove NAME|ID", Short: "Remove a schedule; what its runs did stays among the tasks",
		Long: `Removes a schedule; what its runs did stays among the tasks. At a terminal it is asked
whether that is meant, unless --yes is given; scripts, which have none, are not asked.`,
		Example: "  reeve schedules remove nightly",
	}, "is removed", func(ctx context.Context, node *openNode, t *flow.Task) error { return endSchedule(ctx, node, t.ID) })
	yes := c.Flags().Bool("yes", false, "do not ask whether it is meant")
	remove := c.RunE
	c.RunE = func(cmd *cobra.Command, a []string) error {
		if in, out, done, err := terminal(); err == nil && !*yes {
			defer done()
			if err := confirm(in, out, cmd.CommandPath()+" "+a[0], "  it makes no more runs; its history stays\n"); err != nil {
				return err
			}
		}
		return remove(cmd, a)
	}
	return c
}
