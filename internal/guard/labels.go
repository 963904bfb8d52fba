package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/session"
)

// Labels are what a session has read, as rules ask for it.
type Labels struct {
	Labels  []string // tags, and foreign
	Planned []string // tools
	Heard   bool     // a message of the user was seen
}

// Errors of labels.
var (
	// ErrForgotten: the session's memory has expired.
	ErrForgotten = errors.New("what this session has read is not remembered any more")
	// ErrNoLabel: there is nothing to take away.
	ErrNoLabel = errors.New("the session does not have this label")
)

// Labels returns what a session has read. ErrNotFound, of package ledger, where there is
// none.
func (g *Guard) Labels(ctx context.Context, of SessionName) (Labels, error) {
	s, err := g.lockKnown(ctx, of)
	if err != nil {
		return Labels{}, err
	}
	defer s.unlock()
	v := &s.state.Values
	return Labels{s.state.Labels(), slices.Clone(v.Planned), v.Heard}, nil
}

// lockKnown locks a session that is remembered.
func (g *Guard) lockKnown(ctx context.Context, of SessionName) (*held, error) {
	s, err := g.sessions.lock(ctx, of.key(), of.Principal, g.cfg.Now())
	if err != nil {
		return nil, err
	}
	if _, known := s.head.At(); !known && s.state.Steps == 0 {
		err = fmt.Errorf("the session %.80q: %w", of.Session, ledger.ErrNotFound)
	} else if !s.state.Known {
		err = ErrForgotten
	}
	if err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

// ClearLabels takes labels away from a session at a person's word, and records it: a tag
// that what it read was confidential, or foreign, by which the person vouches for what it
// has read until now. Values keep who named them, and what is read from then on is labelled
// anew. Nobody clears a session of their own.
func (g *Guard) ClearLabels(ctx context.Context, of SessionName, labels []string, by act.Principal) (at act.Position, err error) {
	if by.Name == of.Principal {
		return act.Position{}, approval.ErrOwn
	}
	for range attempts {
		at, err = g.clearLabels(ctx, of, labels, by)
		if !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			break
		}
	}
	return at, err
}

func (g *Guard) clearLabels(ctx context.Context, of SessionName, labels []string, by act.Principal) (act.Position, error) {
	s, err := g.lockKnown(ctx, of)
	if err != nil {
		return act.Position{}, err
	}
	has := s.state.Labels()
	for _, l := range labels {
		if !slices.Contains(has, l) {
			s.unlock()
			return act.Position{}, fmt.Errorf("%w: %.80q is none of %s", ErrNoLabel, l, strings.Join(has, ", "))
		}
	}
	e := g.entryOf(Admin("session.clear", by, map[string]string{
		"session": of.Session, "agent": of.Agent, "principal": of.Principal, "labels": strings.Join(labels, " "),
	}))
	settle, err := g.queue(s, s.state.Clear(g.cfg.Now(), labels), e)
	var at act.Position
	if err == nil {
		at, err = settle(ctx)
	}
	if err != nil {
		return act.Position{}, fmt.Errorf("record that labels were cleared: %w", err)
	}
	return at, nil
}

// queue queues a record with a session's next step, and gives the session back. The
// returned function must be called: it waits until both are durable.
func (g *Guard) queue(s *held, step *session.Step, e *ledger.Entry) (settle func(context.Context) (act.Position, error), err error) {
	e.Writes = append(e.Writes, &ledger.Write{Head: s.head, Data: step.Append(nil)})
	t, err := g.cfg.Log.Enqueue(s.generation, e)
	if err != nil {
		s.forget()
		s.unlock()
		return nil, err
	}
	number := s.state.Apply(step)
	s.queued(number, t)
	return func(ctx context.Context) (act.Position, error) {
		// Also when the caller has gone away: the step is in the session's memory and its
		// end must be known.
		at, err := t.Wait(context.WithoutCancel(ctx))
		s.settle(number, t, at, err)
		return at, err
	}, nil
}

// labelParent gives the session that began one the labels that it has by a step, or had
// already, before that is recorded: what a sub-agent has read its parent has read. It
// unlocks the parent, now or when the returned function, which must be called, has waited
// for the record.
func (g *Guard) labelParent(s *run, a *act.Action, step *session.Step) (settle func(context.Context), err error) {
	p := s.parent
	if p == nil {
		return func(context.Context) {}, nil
	}
	labels := s.state.Gains(step, p.state)
	s.parent = nil
	if len(labels) == 0 {
		p.unlock()
		return func(context.Context) {}, nil
	}
	e := g.entryOf(&Note{Kind: "session.labels", Door: a.Door, By: a.Principal, Details: map[string]string{
		"session": a.Parent, "of": a.Session, "labels": strings.Join(labels, " "),
	}})
	done, err := g.queue(p, p.state.Label(g.cfg.Now(), labels), e)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { _, _ = done(ctx) }, nil // what is lost is given again with the next step
}
