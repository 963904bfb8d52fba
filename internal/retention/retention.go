// Package retention removes what is not kept any longer: contents and tasks for their
// age or their size, what a user left when somebody asks for it, and the oldest records
// up to a checkpoint. What is removed for a reason has a record, which outlives it and
// so never says whose it was.
//
//	k := &retention.Keeper{Store: store, Guard: g, Log: log, Engine: e, Messages: a2a, Contents: 30 * 24 * time.Hour, …}
//	go k.Run(ctx)
//	erased, err := k.Erase(ctx, by, "key:ann", nil)
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/task"
)

// Store is what is tended of the database; see store.Store.
type Store interface {
	ledger.Store
	task.Trees
	store.Openings
	TrimItems(ctx context.Context, before time.Time) (removed int64, err error)
	TrimTaskEvents(ctx context.Context, before time.Time) (removed int64, err error)
}

// Keeper removes what is not kept any longer. All but the lengths of time and Bytes is
// required.
type Keeper struct {
	Store    Store
	Log      *ledger.Log // the node's own, which is pruned
	Guard    *guard.Guard
	Bills    *bom.Keeper
	Engine   *engine.Engine
	Messages *a2a.Server
	// Contents is how long what lies beside records is kept, and Bytes how much of it;
	// 0 is for no limit of size.
	Contents time.Duration
	Bytes    int64
	// Links is how long it is kept who asked, and what a record belongs to; 0 is for as
	// long as the records. Contents that are kept longer keep it as long as they.
	Links time.Duration
	// Tasks is how long trees of tasks are kept when they have ended; 0 is for ever.
	Tasks time.Duration
	// Records is how old a record has to be to be pruned.
	Records time.Duration
	Now     func() time.Time
	Logger  *slog.Logger
}

// How often contents are looked at, and tasks; and how soon after the start.
const (
	contentsEvery = time.Minute
	tasksEvery    = time.Hour
	tasksFirst    = time.Minute
)

// Run removes what has become too old or too much, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { every(ctx, contentsEvery, contentsEvery, k.removeOldContents) })
	both.Go(func() {
		every(ctx, tasksFirst, tasksEvery, func(ctx context.Context) {
			if err := k.Store.Alone(ctx, k.RemoveOldTasks); err != nil && ctx.Err() == nil {
				k.Logger.Error("what is kept of old tasks was not removed", "error", err)
			}
		})
	})
	both.Wait()
}

func every(ctx context.Context, first, then time.Duration, f func(context.Context)) {
	for wait := first; ; wait = then {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			f(ctx)
		}
	}
}

// removeOldContents removes contents that are older or more than is kept.
func (k *Keeper) removeOldContents(ctx context.Context) {
	removed, freed, err := k.Store.TrimOpenings(ctx, k.Now().Add(-k.Contents), k.Bytes)
	if err != nil && ctx.Err() == nil {
		k.Logger.Error("contents were not removed", "error", err)
	} else if removed > 0 {
		k.Logger.Info("contents were removed, as the retention says", "batches", removed, "bytes", freed)
	}
	if k.Links == 0 {
		return
	}
	removed, err = k.Store.TrimFacts(ctx, k.Now().Add(-max(k.Links, k.Contents)))
	if err != nil && ctx.Err() == nil {
		k.Logger.Error("who asked for old decisions was not removed", "error", err)
	} else if removed > 0 {
		k.Logger.Info("who asked for old decisions was removed, as the retention says", "batches", removed)
		if err := k.anew(ctx, self, true); err != nil && ctx.Err() == nil {
			k.Logger.Error("agents' habits and bills of materials hold what was removed, until they are made anew", "error", err)
		}
	}
}

// anew has what was learned from records made anew without those that are gone.
func (k *Keeper) anew(ctx context.Context, by act.Principal, daily bool) error {
	return errors.Join(k.Guard.HabitsAnew(ctx, by, daily), k.Bills.Anew(ctx, by, daily))
}

// self is the principal of what the node does by itself.
var self = act.Principal{Name: "node", Method: "local"}

// RemoveOldTasks removes the events of old changes, the A2A tasks and the trees of
// tasks that ended longer ago than the retention says. What an A2A task shows are its
// trees, so it goes before them, and they stay as long as it does.
func (k *Keeper) RemoveOldTasks(ctx context.Context) error {
	_, events := k.Store.TrimTaskEvents(ctx, k.Now().Add(-k.Contents))
	if k.Tasks == 0 {
		return errors.Join(events, k.finishRemoval(ctx, self, time.Time{}))
	}
	before := k.Now().Add(-k.Tasks)
	messages, shown, err := k.Messages.RemoveOld(ctx, before)
	if err != nil { // and so it is not known which trees they show
		return errors.Join(events, fmt.Errorf("A2A tasks: %w", err), k.finishRemoval(ctx, self, time.Time{}))
	}
	trees := 0
	for after := (task.Place{}); ; {
		roots, next, err := k.Store.EndedTrees(ctx, before, after)
		var gone []task.Gone
		roots = slices.DeleteFunc(roots, func(root task.ID) bool { return shown[root] })
		if err == nil {
			gone, err = k.Store.RemoveTrees(ctx, roots, before, task.ByAge)
		}
		trees += len(gone)
		if err = errors.Join(err, k.finishRemoval(ctx, self, before)); err != nil {
			return errors.Join(events, fmt.Errorf("trees of tasks: %w", err))
		}
		if next == (task.Place{}) {
			break
		}
		after = next
	}
	_, err = k.Store.TrimItems(ctx, k.Now())
	if trees+messages > 0 {
		k.Logger.Info("old tasks were removed, as the retention says", "trees", trees, "a2a", messages)
	}
	return errors.Join(events, err)
}

// noteAtOnce is how many trees one record tells of.
const noteAtOnce = 200

// finishRemoval records which trees were removed, also those that a former run of the
// node had no time to record, and removes what is left of them. before is until when
// those must have ended that were removed for their age.
func (k *Keeper) finishRemoval(ctx context.Context, by act.Principal, before time.Time) error {
	for {
		list, err := k.Store.GoneTrees(ctx, noteAtOnce)
		if err != nil || len(list) == 0 {
			return errors.Join(err, k.Store.SweepTrees(ctx))
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
		if _, err := k.Guard.Note(ctx, list[0].Why, who, details); err != nil {
			return err
		}
		if err := k.Store.NoteTrees(ctx, roots); err != nil {
			return err
		}
	}
}
