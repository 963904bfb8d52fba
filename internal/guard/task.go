package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/task"
)

// Screen returns the body of a result as the policy lets it be said, without a record
// and without a session's memory; ok is false when the policy does not let it.
func (g *Guard) Screen(a *act.Action) (body []byte, ok bool) {
	a.At = g.cfg.Now()
	d := Judge(a, nil, policy.Session{}, g.policy.Load())
	if d.Effect == act.Allow {
		return a.Body, true
	}
	body, err := Apply(a, &d)
	return body, err == nil && body != nil
}

// Carried is what new tasks have of others that they were made of: copies what these were to
// do, links what came of it.
type Carried struct {
	From  SessionName // of the tree that the others are in
	Began bool        // something of that has been executed
	Texts []string    // what the new tasks have of it
}

// RecordTask records what a client had done to tasks, such as "tasks.create", with
// the change, and returns where. The tree that the tasks are in has read what the trees
// have read that something of it was carried from, by the same entry.
func (g *Guard) RecordTask(ctx context.Context, n *Note, change *task.Change, tree SessionName, carried ...Carried) (pos act.Position, err error) {
	for range attempts {
		e := g.entryOf(n)
		e.Task = change
		if len(carried) > 0 && g.Follows() {
			pos, err = g.recordCarried(ctx, e, tree, carried)
		} else {
			pos, err = g.enqueue(ctx, e)
		}
		if !errors.Is(err, ledger.ErrStale) && !errors.Is(err, ledger.ErrLost) {
			return pos, wrapTask(n.Kind, err)
		}
	}
	return act.Position{}, wrapTask(n.Kind, ledger.ErrStale)
}

// recordCarried is one try to record a change of tasks of which something was carried from
// other trees.
func (g *Guard) recordCarried(ctx context.Context, e *ledger.Entry, tree SessionName, carried []Carried) (act.Position, error) {
	var labels []string
	var texts []provenance.Text
	var knew *session.State // before, where all comes from one tree
	for i := range carried {
		c := &carried[i]
		has, state, err := g.hasRead(ctx, c)
		if err != nil {
			return act.Position{}, err
		}
		if knew = nil; len(carried) == 1 {
			knew = state
		}
		for _, l := range has {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
		if slices.Contains(has, provenance.Foreign.String()) {
			for _, said := range c.Texts {
				texts = append(texts, provenance.Text{Said: said, By: provenance.Foreign})
			}
		}
	}
	s, err := g.sessions.lockNow(ctx, tree.key(), tree.Principal, g.cfg.Now())
	if err != nil {
		return act.Position{}, err
	}
	begins := s.state.Known && s.state.Steps == 0
	if begins && knew != nil { // it knows all that the one knew, and whose that was
		s.state.Inherit(knew, carried[0].From.key())
		texts = nil
	}
	step := s.state.Label(g.cfg.Now(), labels, texts...)
	if begins {
		s.state.DidNone(step, g.policy.Load().Counted())
	}
	settle, err := g.queue(s, step, e)
	if err != nil {
		return act.Position{}, err
	}
	return settle(ctx)
}

// hasRead returns the labels of what was carried, and what its tree knows; nil where there is
// nothing, or where it is forgotten.
func (g *Guard) hasRead(ctx context.Context, c *Carried) (labels []string, knows *session.State, err error) {
	s, err := g.lockKnown(ctx, c.From)
	switch {
	case errors.Is(err, ErrForgotten), errors.Is(err, ledger.ErrNotFound) && c.Began:
		return []string{provenance.Foreign.String()}, nil, nil
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	defer s.unlock()
	knows = &session.State{}
	knows.Inherit(s.state, c.From.key())
	return knows.Labels(), knows, nil
}

// ChangeTask makes a change of a task durable that is no decision of anybody's, such
// as its progress.
func (g *Guard) ChangeTask(ctx context.Context, change *task.Change) error {
	for range attempts {
		_, err := g.enqueue(ctx, &ledger.Entry{Task: change})
		if !errors.Is(err, ledger.ErrStale) {
			return wrapTask("a change of a task", err)
		}
	}
	return wrapTask("a change of a task", ledger.ErrStale)
}

// wrapTask says what could not be recorded; what the client did wrong stays as it is.
func wrapTask(what string, err error) error {
	var wrong *task.Error
	if err == nil || errors.As(err, &wrong) || errors.Is(err, task.ErrMoved) {
		return err
	}
	return fmt.Errorf("record %s: %w", what, err)
}
