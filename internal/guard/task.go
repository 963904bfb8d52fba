package guard

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
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

// RecordTask records what a client had done to tasks, such as "tasks.create", with
// the change, and returns where.
func (g *Guard) RecordTask(ctx context.Context, n *Note, change *task.Change) (act.Position, error) {
	for range attempts {
		e := g.entryOf(n)
		e.Task = change
		pos, err := g.enqueue(ctx, e)
		if !errors.Is(err, ledger.ErrStale) {
			return pos, wrapTask(n.Kind, err)
		}
	}
	return act.Position{}, wrapTask(n.Kind, ledger.ErrStale)
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
