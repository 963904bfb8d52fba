package guard

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/policy"
	"reeve.example/reeve/task"
)

// DecideTask decides about the start of a task, or about its result, and makes the
// change of the task that change names durable with the decision. manifest is
// what the policy lets the executor use, and said whether it says anything of it.
// task.ErrMoved: the task has moved on, and nothing was recorded. See Decide for the rest.
// again says that people were asked about this start, and are not asked again.
func (g *Guard) DecideTask(ctx context.Context, a *act.Action, again bool,
	change func(d *act.Decision, modified []byte, manifest act.Manifest, said bool) (*task.Change, error),
) (act.Decision, []byte, error) {
	return g.decide(ctx, a, asked{again: again, change: func(d *act.Decision, modified []byte, set *policy.Set) (*task.Change, error) {
		manifest, said := set.Manifest(a.Canonical)
		if a.Kind == act.TaskStart {
			d.Manifest = &manifest
		}
		return change(d, modified, manifest, said)
	}})
}

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
func (g *Guard) RecordTask(ctx context.Context, what string, by act.Principal, request []byte, details map[string]string, change *task.Change) (act.Position, error) {
	for range attempts {
		e := g.note(what, by, details)
		e.Record.Kind, e.Record.Door = what, "flow"
		e.Principal, e.Links = g.masked(e.Principal), g.masked(e.Links)
		e.Request = request
		if e.KeepContent = g.cfg.Keep == KeepAll; e.KeepContent {
			e.Request = g.masked(request)
		}
		e.Task = change
		pos, err := g.enqueue(ctx, e)
		if !errors.Is(err, ledger.ErrStale) {
			return pos, wrapTask(what, err)
		}
	}
	return act.Position{}, wrapTask(what, ledger.ErrStale)
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
