package reeve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/engine"
	"reeve.example/reeve/guard"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
)

// Erase names what is erased: the contents of decisions, or everything that a
// user's requests left beside the ledger, and that user's tasks. The records stay.
// A preview of a user's erasure counts all but A2A tasks and their records.
type Erase struct {
	Decisions []string `json:"decisions,omitzero"`
	User      string   `json:"user,omitzero"`
	Preview   bool     `json:"preview,omitzero"`
}

// Erased tells how much was erased: the contents of decisions, trees of tasks, and
// A2A tasks.
type Erased struct {
	Count int `json:"count"`
	Trees int `json:"trees,omitzero"`
	A2A   int `json:"a2a_tasks,omitzero"`
}

func (n *Node) erase(ctx context.Context, by act.Principal, q Erase) (Erased, error) {
	if q.Preview {
		return n.previewErase(ctx, q)
	}
	var positions []act.Position
	for _, id := range q.Decisions {
		pos, err := act.ParsePosition(id)
		if err != nil {
			return Erased{}, problem{http.StatusBadRequest, err}
		}
		positions = append(positions, pos)
	}
	var erased Erased
	var left leftover
	if q.User != "" {
		// The records of a user's tasks are known by the tasks, so these go later.
		who, err := n.tasksOf(ctx, q.User)
		if err != nil {
			return erased, err
		}
		if erased.A2A, err = n.eraseMessages(ctx, by, &who, &left); err != nil {
			return erased, fmt.Errorf("A2A tasks, of which %d were erased: %w", erased.A2A, err)
		}
		found, err := n.positionsOf(ctx, &who, &left)
		if err != nil {
			return erased, err
		}
		positions = append(positions, found...)
		if erased.Count, err = n.eraseContents(ctx, by, positions, left.unread); err != nil {
			return erased, err
		}
		if erased.Trees, err = n.eraseTrees(ctx, by, &who, &left); err != nil {
			return erased, fmt.Errorf("trees of tasks, of which %d were erased: %w", erased.Trees, err)
		}
		// Also when nothing was found: an erasure before may have been broken off here.
		if err := n.store.Scrub(ctx); err != nil {
			return erased, fmt.Errorf("erase: %w", err)
		}
	} else {
		var err error
		if erased.Count, err = n.eraseContents(ctx, by, positions, 0); err != nil {
			return erased, err
		}
	}
	if left.unread+left.busy > 0 {
		left.erased = erased
		return erased, &left
	}
	if erased == (Erased{}) {
		return erased, problem{http.StatusNotFound, errors.New("nothing was found to erase")}
	}
	return erased, nil
}

// previewErase counts what would be erased of a user, and erases nothing.
func (n *Node) previewErase(ctx context.Context, q Erase) (Erased, error) {
	if q.User == "" || len(q.Decisions) > 0 {
		return Erased{}, badRequest("a preview is of a user, without decisions")
	}
	who, err := n.tasksOf(ctx, q.User)
	if err != nil {
		return Erased{}, err
	}
	var left leftover
	found, err := n.positionsOf(ctx, &who, &left)
	return Erased{Count: len(found), Trees: len(who.ended)}, err
}

// eraseContents erases what lies beside decisions.
func (n *Node) eraseContents(ctx context.Context, by act.Principal, positions []act.Position, unread int) (int, error) {
	if len(positions) == 0 {
		return 0, nil
	}
	// The record names how many, never whose: it outlives what is erased.
	details := map[string]string{"count": strconv.Itoa(len(positions))}
	if unread > 0 {
		details["unread"] = strconv.Itoa(unread)
	}
	if _, err := n.guard.Note(ctx, "erase", by, details); err != nil {
		return 0, err
	}
	return len(positions), n.store.Erase(ctx, positions)
}

// user is whose data is erased, with what tells that a record is about that.
type user struct {
	id    string
	trees map[string]bool // the ids of roots of the user's tasks
	a2a   map[string]bool // those of A2A tasks
	roots []task.ID
	// ended are those of which nothing is executed: no record of them is yet to come.
	ended []task.ID
}

// tasksOf lists a user's trees.
func (n *Node) tasksOf(ctx context.Context, id string) (user, error) {
	who := user{id: id, trees: map[string]bool{}, a2a: map[string]bool{}}
	for after := (task.Place{}); ; {
		roots, next, err := n.store.TreesOf(ctx, id, after)
		if err != nil {
			return who, fmt.Errorf("the user's tasks: %w", err)
		}
		for _, root := range roots {
			who.trees[root.String()] = true
			row, err := n.engine.Load().Row(ctx, engine.Caller{Admin: true}, root)
			if err != nil {
				if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
					continue
				}
				return who, fmt.Errorf("the user's task %s: %w", root, err)
			}
			if row.Open == 0 {
				who.ended = append(who.ended, root)
			}
		}
		if who.roots = append(who.roots, roots...); next == (task.Place{}) {
			return who, nil
		}
		after = next
	}
}

// eraseMessages removes the user's A2A tasks, with their messages.
func (n *Node) eraseMessages(ctx context.Context, by act.Principal, who *user, left *leftover) (int, error) {
	ids, busy, err := n.a2a.RemoveOf(ctx, who.id, by)
	for _, id := range ids {
		who.a2a[id] = true
	}
	left.busy += busy
	if err == nil {
		_, err = n.store.TrimItems(ctx, n.now())
	}
	return len(ids), err
}

// eraseTrees removes the user's trees, with what they were given and what they gave.
func (n *Node) eraseTrees(ctx context.Context, by act.Principal, who *user, left *leftover) (int, error) {
	gone, err := n.store.RemoveTrees(ctx, who.ended, time.Time{}, task.ByErasure)
	if err = errors.Join(err, n.finishRemoval(ctx, by, time.Time{})); err != nil {
		return len(gone), err
	}
	rest, err := n.tasksOf(ctx, who.id)
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
func (n *Node) positionsOf(ctx context.Context, who *user, left *leftover) (found []act.Position, err error) {
	logs, err := n.store.Logs(ctx)
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		head, err := n.store.Head(ctx, log)
		if err != nil {
			return nil, fmt.Errorf("read the head of log %d: %w", log, err)
		}
		for i := head.Pruned; i < head.Size; i++ {
			pos := act.Position{Log: log, Index: i}
			theirs, err := n.isOf(ctx, pos, who)
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
func (n *Node) isOf(ctx context.Context, pos act.Position, who *user) (bool, error) {
	o, err := ledger.ReadOpening(ctx, n.store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		// Of the record or of a part of the opening, too: only when the opening
		// itself is gone is there nothing to erase.
		if _, gone := n.store.Opening(ctx, pos); errors.Is(gone, ledger.ErrNotFound) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	if o.Principal == nil {
		return false, errors.New("its principal was not kept")
	}
	var by struct {
		Name   string `json:"name"`
		Claims struct {
			User     string `json:"user"`
			UserHash string `json:"user_hash"`
		} `json:"claims"`
	}
	if err := json.Unmarshal(o.Principal, &by); err != nil {
		return false, fmt.Errorf("its principal cannot be read: %w", err)
	}
	if by.Claims.User == who.id || by.Claims.UserHash == guard.UserHash(who.id) {
		return true, nil
	}
	var about struct {
		Root string `json:"root"`
		Task string `json:"a2a_task"`
	}
	if len(o.Links) > 0 && json.Unmarshal(o.Links, &about) != nil {
		about.Root, about.Task = "", "" // of another form: no record of a task
	}
	if by.Name != who.id && !who.trees[about.Root] && !who.a2a[about.Task] {
		return false, nil
	}
	// Of tasks and messages the user is who asked; elsewhere that is an agent, which
	// may serve many, or an administrator.
	r, _, err := ledger.ReadRecord(ctx, n.store, pos)
	return err == nil && (r.Door == "flow" || r.Door == "a2a"), err
}
