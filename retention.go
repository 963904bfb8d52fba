package reeve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/task"
)

// How often what is kept of tasks is looked at, and how soon after the start.
const (
	retainEvery = time.Hour
	retainFirst = time.Minute
)

// self is the principal of what the node does by itself.
var self = act.Principal{Name: "node", Method: "local"}

// retainTasks removes what is kept of tasks no longer, until ctx ends.
func (n *Node) retainTasks(ctx context.Context) {
	for wait := retainFirst; ; wait = retainEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := n.store.Alone(ctx, n.removeOldTasks); err != nil && ctx.Err() == nil {
			n.logger.Error("what is kept of old tasks was not removed", "error", err)
		}
	}
}

// removeOldTasks removes the events of old changes, the A2A tasks and the trees of
// tasks that ended longer ago than the retention says. What an A2A task shows are its
// trees, so it goes before them, and they stay as long as it does.
func (n *Node) removeOldTasks(ctx context.Context) error {
	_, events := n.store.TrimTaskEvents(ctx, n.now().Add(-n.cfg.Retention.Age))
	if n.cfg.Retention.Tasks == 0 {
		return errors.Join(events, n.finishRemoval(ctx, self, time.Time{}))
	}
	before := n.now().Add(-n.cfg.Retention.Tasks)
	messages, shown, err := n.a2a.RemoveOld(ctx, before)
	if err != nil { // and so it is not known which trees they show
		return errors.Join(events, fmt.Errorf("A2A tasks: %w", err), n.finishRemoval(ctx, self, time.Time{}))
	}
	trees := 0
	for after := (task.Place{}); ; {
		roots, next, err := n.store.EndedTrees(ctx, before, after)
		var gone []task.Gone
		roots = slices.DeleteFunc(roots, func(root task.ID) bool { return shown[root] })
		if err == nil {
			gone, err = n.store.RemoveTrees(ctx, roots, before, task.ByAge)
		}
		trees += len(gone)
		if err = errors.Join(err, n.finishRemoval(ctx, self, before)); err != nil {
			return errors.Join(events, fmt.Errorf("trees of tasks: %w", err))
		}
		if next == (task.Place{}) {
			break
		}
		after = next
	}
	_, err = n.store.TrimItems(ctx, n.now())
	if trees+messages > 0 {
		n.logger.Info("old tasks were removed, as the retention says", "trees", trees, "a2a", messages)
	}
	return errors.Join(events, err)
}

// noteAtOnce is how many trees one record tells of.
const noteAtOnce = 200

// finishRemoval records which trees were removed, also those that a former run of the
// node had no time to record, and removes what is left of them. before is until when
// those must have ended that were removed for their age.
func (n *Node) finishRemoval(ctx context.Context, by act.Principal, before time.Time) error {
	for {
		list, err := n.store.GoneTrees(ctx, noteAtOnce)
		if err != nil || len(list) == 0 {
			return errors.Join(err, n.store.SweepTrees(ctx))
		}
		var roots []task.ID
		var names []string
		tasks := 0
		for _, g := range list {
			if g.Why != list[0].Why {
				break // they have a record of their own
			}
			roots, names, tasks = append(roots, g.Root), append(names, g.Root.String()), tasks+g.Tasks
		}
		details := map[string]string{"what": "tasks", "trees": strconv.Itoa(len(roots)), "tasks": strconv.Itoa(tasks)}
		who := by
		if list[0].Why == task.ByAge { // of an erasure the record says how many, never whose
			who = self // whoever comes to record it
			details["roots"] = strings.Join(names, " ")
			if !before.IsZero() {
				details["before"] = before.UTC().Format(time.RFC3339)
			}
		}
		if _, err := n.guard.Note(ctx, list[0].Why, who, details); err != nil {
			return err
		}
		if err := n.store.NoteTrees(ctx, roots); err != nil {
			return err
		}
	}
}
