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
	"reeve.example/reeve/internal/provenance"
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

// Follows reports whether the policy asks where values come from, so that there are labels.
func (g *Guard) Follows() bool { return g.policy.Load().Follows() }

// LabelsAfter are the labels that what goes on from a session has from it: where that is
// forgotten, it may have read anything.
func (g *Guard) LabelsAfter(ctx context.Context, of SessionName) ([]string, error) {
	if !g.Follows() {
		return nil, nil
	}
	has, err := g.Labels(ctx, of)
	switch {
	case errors.Is(err, ErrForgotten):
		return []string{provenance.Foreign.String()}, nil
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil
	}
	return has.Labels, err
}

// lockKnown locks a session that is remembered.
func (g *Guard) lockKnown(ctx context.Context, of SessionName) (*held, error) {
	s, err := g.sessions.lockNow(ctx, of.key(), of.Principal, g.cfg.Now())
	if err != nil {
		return nil, err
	}
	if !s.written() && s.state.Steps == 0 {
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

// lift is what the sessions above one get by a step of that one.
type lift struct {
	done []func(context.Context) error // of records of their own
	held *held                         // or else the session, locked, and its step in the other's entry; nil for nothing
	step *session.Step
	at   int64
}

// labelAbove gives the sessions above one the labels that this one has by a step, or had
// already, before that is recorded, the topmost first: what a sub-agent has read all have read
// from whom it has its work, and what a part has read the whole has. The parts of a whole are
// decided on several nodes, and what follows from a step may be on another one: so the whole has
// its labels in the same entry. It unlocks the sessions above, now or when the lift is settled.
func (g *Guard) labelAbove(s *run, a *act.Action, step *session.Step, e *ledger.Entry) (l lift, err error) {
	for _, p := range slices.Backward(s.above) {
		labels := s.state.Gains(step, p.state)
		if s.above = s.above[:len(s.above)-1]; len(labels) == 0 {
			p.unlock()
			continue
		}
		given := p.state.Label(g.cfg.Now(), labels)
		if s.partOf {
			e.Writes = append(e.Writes, &ledger.Write{Head: p.head, Data: given.Append(nil)})
			return lift{held: p.held, step: given}, nil
		}
		note := func(labels []string) *ledger.Entry {
			return g.entryOf(&Note{Kind: "session.labels", Door: a.Door, By: a.Principal, Details: map[string]string{
				"session": p.name, "of": a.Session, "labels": strings.Join(labels, " "),
			}})
		}
		done, err := g.queue(p.held, given, note(labels))
		if err != nil {
			return l, err
		}
		l.done = append(l.done, func(ctx context.Context) error {
			_, err := done(ctx)
			for n := 0; n < liftAttempts && (errors.Is(err, ledger.ErrLost) || errors.Is(err, ledger.ErrStale)); n++ {
				err = g.labelAgain(context.WithoutCancel(ctx), p.key, a.Principal.Name, labels, note)
			}
			if err != nil {
				return fmt.Errorf("note what a sub-agent has read of the session that began it: %v", err) // not to be decided again: it is recorded
			}
			return nil
		})
	}
	return l, nil
}

// liftAttempts is how often it is tried to give a session labels while other nodes write it:
// the next step of that session may follow from what was read. Who keeps that from being noted,
// by steps without a pause, gets no answer.
const liftAttempts = 50

// labelAgain gives a session the labels that it has not, where another node wrote it meanwhile.
func (g *Guard) labelAgain(ctx context.Context, key ledger.Key, principal string, labels []string, note func([]string) *ledger.Entry) error {
	p, err := g.sessions.lockNow(ctx, key, principal, g.cfg.Now())
	if err != nil {
		return err
	}
	v := &p.state.Values
	labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool {
		return slices.Contains(v.Tags, l) || v.Foreign && l == provenance.Foreign.String()
	})
	if len(labels) == 0 {
		p.unlock()
		return nil
	}
	settle, err := g.queue(p, p.state.Label(g.cfg.Now(), labels), note(labels))
	if err != nil {
		return err
	}
	_, err = settle(ctx)
	return err
}

// queued unlocks the session above, whose step waits in an entry.
func (l *lift) queued(t *ledger.Ticket) {
	if l.held != nil {
		l.at = l.held.state.Apply(l.step)
		l.held.queued(l.at, t)
	}
}

// settle gives the session above back when it is known how the entry ended, and waits until
// all above have their labels.
func (l *lift) settle(ctx context.Context, t *ledger.Ticket, at act.Position, err error) error {
	if l.held != nil {
		l.held.settle(l.at, t, at, err)
	}
	var errs []error
	for _, done := range l.done {
		errs = append(errs, done(ctx))
	}
	return errors.Join(errs...)
}

// drop gives the session above back where no entry was queued.
func (l *lift) drop(ctx context.Context) {
	for _, done := range l.done {
		_ = done(ctx) // the step fails for what kept it from being queued
	}
	if l.held != nil {
		l.held.unlock()
	}
}

// begin adds to an entry the first step of a session that begins with what one knows after
// a step. One that is there already stays as it is.
func (g *Guard) begin(ctx context.Context, e *ledger.Entry, s *run, step *session.Step, name SessionName, counted []uint64) error {
	key := name.key()
	if name.Session == "" || key == s.key {
		return nil
	}
	at, there, err := g.cfg.Store.KeyHead(ctx, key)
	if err != nil || there {
		return err
	}
	e.Writes = append(e.Writes, &ledger.Write{Head: ledger.NewKeyHead(key, at, false), Data: s.state.Begins(step, s.key, counted).Append(nil)})
	return nil
}
