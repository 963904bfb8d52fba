package retention

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/task"
)

// ErrNothing says that there was nothing to erase.
var ErrNothing = errors.New("nothing was found to erase")

// Erased tells how much was erased: the contents of decisions, trees of tasks, and
// A2A tasks.
type Erased struct {
	Count int `json:"count"`
	Trees int `json:"trees,omitzero"`
	A2A   int `json:"a2a_tasks,omitzero"`
}

// Erase erases what lies beside decisions, and if a user is named, everything that the
// user's requests left beside the ledger, with the user's tasks. The records stay.
func (k *Keeper) Erase(ctx context.Context, by act.Principal, user string, decisions []act.Position) (Erased, error) {
	var erased Erased
	var left leftover
	if user != "" {
		// The records of a user's tasks are known by the tasks, so these go later.
		who, err := k.tasksOf(ctx, user)
		if err != nil {
			return erased, err
		}
		if erased.A2A, err = k.eraseMessages(ctx, by, &who, &left); err != nil {
			return erased, fmt.Errorf("A2A tasks, of which %d were erased: %w", erased.A2A, err)
		}
		found, err := k.positionsOf(ctx, &who, &left)
		if err != nil {
			return erased, err
		}
		decisions = append(decisions, found...)
		if erased.Count, err = k.eraseContents(ctx, by, decisions, left.unread); err != nil {
			return erased, err
		}
		if erased.Trees, err = k.eraseTrees(ctx, by, &who, &left); err != nil {
			return erased, fmt.Errorf("trees of tasks, of which %d were erased: %w", erased.Trees, err)
		}
		// Also when nothing was found: an erasure before may have been broken off here.
		if err := k.Store.Scrub(ctx); err != nil {
			return erased, fmt.Errorf("erase: %w", err)
		}
	} else {
		var err error
		if erased.Count, err = k.eraseContents(ctx, by, decisions, 0); err != nil {
			return erased, err
		}
	}
	if left.unread+left.busy > 0 {
		left.erased = erased
		return erased, &left
	}
	if erased == (Erased{}) {
		return erased, ErrNothing
	}
	return erased, nil
}

// PreviewErase counts what would be erased of a user, but for A2A tasks and their
// records, and erases nothing.
func (k *Keeper) PreviewErase(ctx context.Context, user string) (Erased, error) {
	who, err := k.tasksOf(ctx, user)
	if err != nil {
		return Erased{}, err
	}
	var left leftover
	found, err := k.positionsOf(ctx, &who, &left)
	return Erased{Count: len(found), Trees: len(who.ended)}, err
}

// eraseContents erases what lies beside decisions.
func (k *Keeper) eraseContents(ctx context.Context, by act.Principal, positions []act.Position, unread int) (int, error) {
	if len(positions) == 0 {
		return 0, nil
	}
	// The record names how many, never whose: it outlives what is erased.
	details := map[string]string{"count": strconv.Itoa(len(positions))}
	if unread > 0 {
		details["unread"] = strconv.Itoa(unread)
	}
	if _, err := k.Guard.Note(ctx, "erase", by, details); err != nil {
		return 0, err
	}
	if err := k.Guard.EraseHeld(ctx, by, positions); err != nil {
		return 0, err
	}
	if err := k.Store.Erase(ctx, positions); err != nil {
		return len(positions), err
	}
	return len(positions), k.anew(ctx, by, false)
}

// person is whose data is erased, with what tells that a record is about that.
type person struct {
	id    string
	trees map[string]bool // the ids of roots of the user's tasks
	a2a   map[string]bool // those of A2A tasks
	roots []task.ID
	// ended are those of which nothing is executed: no record of them is yet to come.
	ended []task.ID
}

// tasksOf lists a user's trees, with those that others made for the user.
func (k *Keeper) tasksOf(ctx context.Context, id string) (person, error) {
	who := person{id: id, trees: map[string]bool{}, a2a: map[string]bool{}}
	names := []string{id}
	for _, end := range identity.ActingFor(id) {
		ending, err := k.Store.UsersEnding(ctx, end)
		if err != nil {
			return who, fmt.Errorf("who has tasks for the user: %w", err)
		}
		for _, name := range ending {
			if d := identity.DelegationIn(name); d != nil && d.OnBehalfOf == id {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if err := k.addTasks(ctx, &who, name); err != nil {
			return who, err
		}
	}
	return who, nil
}

// addTasks adds the trees that one name has made.
func (k *Keeper) addTasks(ctx context.Context, who *person, name string) error {
	for after := (task.Place{}); ; {
		roots, next, err := k.Store.TreesOf(ctx, name, after)
		if err != nil {
			return fmt.Errorf("the user's tasks: %w", err)
		}
		for _, root := range roots {
			who.trees[root.String()] = true
			row, err := k.Engine.Row(ctx, engine.Caller{Admin: true}, root)
			if err != nil {
				if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
					continue
				}
				return fmt.Errorf("the user's task %s: %w", root, err)
			}
			if row.Open == 0 {
				who.ended = append(who.ended, root)
			}
		}
		if who.roots = append(who.roots, roots...); next == (task.Place{}) {
			return nil
		}
		after = next
	}
}

// eraseMessages removes the user's A2A tasks, with their messages.
func (k *Keeper) eraseMessages(ctx context.Context, by act.Principal, who *person, left *leftover) (int, error) {
	ids, busy, err := k.Messages.RemoveOf(ctx, who.id, by)
	for _, id := range ids {
		who.a2a[id] = true
	}
	left.busy += busy
	if err == nil {
		_, err = k.Store.TrimItems(ctx, k.Now())
	}
	return len(ids), err
}

// eraseTrees removes the user's trees, with what they were given and what they gave.
func (k *Keeper) eraseTrees(ctx context.Context, by act.Principal, who *person, left *leftover) (int, error) {
	gone, err := k.Store.RemoveTrees(ctx, who.ended, time.Time{}, task.ByErasure)
	if err = errors.Join(err, k.finishRemoval(ctx, by, time.Time{})); err != nil {
		return len(gone), err
	}
	rest, err := k.tasksOf(ctx, who.id)
	if left.busy += len(rest.roots); len(rest.roots) > 0 {
		left.tree = rest.roots[0]
	}
	return len(gone), err
}

// leftover tells of what was not erased: contents that could not be read while a
// user's were looked for, and tasks that are being executed. It is an error also when
// others were found and erased.
type leftover struct {
	erased Erased

	unread int
	first  act.Position
	cause  error // of the first

	busy int
	tree task.ID // the first of those that are being executed
}

func (l *leftover) add(pos act.Position, cause error) {
	if l.unread++; l.unread == 1 {
		l.first, l.cause = pos, cause
	}
}

func (l *leftover) Error() string {
	said := fmt.Sprintf("%d erased", l.erased.Count)
	if l.erased.Trees+l.erased.A2A > 0 {
		said += fmt.Sprintf(", with %d trees of tasks and %d A2A tasks", l.erased.Trees, l.erased.A2A)
	}
	if l.unread > 0 {
		said += fmt.Sprintf(", but the contents of %d could not be read, and may be this user's, too; "+
			"the first are those of %s: %v. Run reeve ledger verify, and erase them by their ids", l.unread, l.first, l.cause)
	}
	if l.busy > 0 {
		said += fmt.Sprintf(", but %d of the user's trees and A2A tasks are being executed", l.busy)
		if l.tree != (task.ID{}) {
			said += ", the first of them " + l.tree.String()
		}
		said += ": cancel them (reeve tasks cancel ID), and erase again"
	}
	return said
}

// positionsOf finds the decisions about acts for a user, in all logs, and notes
// of how many it cannot be told whose they are.
func (k *Keeper) positionsOf(ctx context.Context, who *person, left *leftover) (found []act.Position, err error) {
	logs, err := k.Store.Logs(ctx)
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		head, err := ledger.ReadHead(ctx, k.Store, log)
		if err != nil {
			return nil, err
		}
		for i := head.Pruned; i < head.Size; i++ {
			pos := act.Position{Log: log, Index: i}
			theirs, err := k.isOf(ctx, pos, who)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				left.add(pos, err)
			case theirs:
				found = append(found, pos)
			}
		}
	}
	return found, nil
}

// isOf reports whether an act was decided for a user, as far as it lies beside
// the decision. Where nothing does any more, it is nobody's.
func (k *Keeper) isOf(ctx context.Context, pos act.Position, who *person) (bool, error) {
	o, err := ledger.ReadOpening(ctx, k.Store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		// Of the record or of a part of the opening, too: only when the opening
		// itself is gone is there nothing to erase.
		if _, gone := k.Store.Opening(ctx, pos); errors.Is(gone, ledger.ErrNotFound) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	if o.Principal == nil {
		return false, errors.New("its principal was not kept")
	}
	by, err := o.Asker()
	if err != nil {
		return false, fmt.Errorf("its principal cannot be read: %w", err)
	}
	if by.Claims.User == who.id || by.Claims.UserHash == ledger.UserHash(who.id) || by.OnBehalfOf == who.id {
		return true, nil
	}
	about, err := o.Details()
	if err != nil {
		about = nil // of another form: no record of a task
	}
	if by.Name != who.id && !who.trees[about["root"]] && !who.a2a[about["a2a_task"]] {
		return false, nil
	}
	// Of tasks and messages the user is who asked; elsewhere that is an agent, which
	// may serve many, or an administrator.
	r, _, err := ledger.ReadRecord(ctx, k.Store, pos)
	return err == nil && (r.Door == "flow" || r.Door == "a2a"), err
}
