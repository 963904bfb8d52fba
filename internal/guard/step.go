package guard

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// inSession reports whether an act is a step of a session: an empty name is a name, in a
// step that has a context.
func inSession(a *act.Action) bool { return a.Session != "" || a.Step != "" }

// deciding is a step of a session while it is decided. The session is locked from the look
// at its memory until the step is queued, so that of two steps at once only one is the
// first; it is not locked while the disk is waited for.
type deciding struct {
	g    *Guard
	a    *act.Action
	with With
	read *hazard.Reading

	run     // the session, and those above it
	locked  bool
	files   lift   // what the sessions of its work remember of files; its held is nil where the act does nothing with any
	work    uint64 // the work that the session is a part of
	follows bool   // where values came from was asked when it was locked: those above it are, too

	set      *policy.Set
	in       *policy.Input
	decision act.Decision
	entry    *ledger.Entry
}

// decideInSession decides about a step.
func (g *Guard) decideInSession(ctx context.Context, a *act.Action, with With, read *hazard.Reading, look *links.Look) (act.Decision, []byte, error) {
	look.Up()
	usual := g.habitsOf(ctx, a, g.policy.Load()) // before the session is locked: it may be read from the disk
	s := &deciding{g: g, a: a, with: with, read: read, follows: g.policy.Load().Follows()}
	defer s.unlock()
	if err := s.lock(ctx); err != nil {
		return act.Decision{}, nil, err
	}
	owners, storedBy, err := g.sessions.owners(ctx, a)
	if err != nil {
		return act.Decision{}, nil, err
	}
	ended, err := g.outside(ctx, a)
	if err != nil {
		return act.Decision{}, nil, err
	}
	violations, repeat := s.state.Check(a, owners)
	if look.Wants() { // what the session remembers has it asked where files lie
		s.unlock()
		look.Up()
		if err := s.lock(ctx); err != nil {
			return act.Decision{}, nil, err
		}
		violations, repeat = s.state.Check(a, owners)
	}
	if repeat != nil && with.Items == nil && with.Task == nil {
		held := repeat.Effect == act.Escalate
		d, modified, err := s.repeated(ctx, repeat)
		if !errors.Is(err, ledger.ErrNotFound) {
			return d, modified, err
		}
		// The recorded answer has expired, or the act was held until now: it is
		// judged anew.
		if err := s.lock(ctx); err != nil {
			return act.Decision{}, nil, err
		}
		violations, _ = s.state.Check(a, owners)
		if !held {
			violations = append(violations, act.Violation{
				Check: "session.unknown", Unsure: true,
				Message: "This act was decided before, and that answer is no longer kept.",
			})
		}
	}
	s.set = g.policy.Load()
	if s.set.Follows() && !s.follows { // put in force since: the sessions above are not locked
		return act.Decision{}, nil, ledger.ErrStale
	}
	a.Hints |= s.state.Hints(a)
	if strayed := s.state.Strayed(a); strayed != a.Strayed {
		a.Strayed = strayed
		read = hazard.Read(a) // since the act is another one
		s.read = read
	}
	g.lookIntoRun(a, read, s.state)
	g.lookBehind(a, read, s.state)
	remembered := Remembered(s.state, a, &g.instructions)
	remembered.Habits = usual
	s.in = &policy.Input{Action: a, Violations: append(violations, a.Standing...), Session: remembered, Reading: read}
	s.decision = judge(s.in, s.set)
	d := &s.decision
	would := g.shadow(s.in, d, s.set)
	consent, release, err := g.consult(ctx, &inquiry{
		in: s.in, set: s.set, decision: d, asked: with.Asked, tainted: s.state.Tainted(a.Turn), defined: s.state.Defined(a), shell: s.state.Shell(),
	})
	if err != nil {
		return act.Decision{}, nil, err
	}
	defer release()
	if ended != nil {
		consent = append(consent, ended)
	}
	modified, err := Apply(a, d)
	if err != nil {
		return act.Decision{}, nil, err
	}
	endorsed := endorse(a, d, remembered, s.set)
	s.entry = g.entry(s.in, d, modified)
	noted := g.note(d, s.in, s.set, s.state)
	s.entry.Links = appendHabits(s.entry.Links, noted)
	step, err := s.remember(ctx, storedBy, endorsed)
	if err != nil {
		return act.Decision{}, nil, err
	}
	ruling := &Ruling{Decision: d, Modified: modified, Policy: s.set}
	if s.set.Follows() {
		ruling.Labels = s.state.LabelsWith(step)
		d.Labels = ruling.Labels
	}
	made, err := g.add(ctx, s.entry, with, consent, ruling)
	if err != nil {
		return act.Decision{}, nil, err
	}
	if d.Position, err = s.commit(ctx, step, made, release); err != nil {
		return act.Decision{}, nil, err
	}
	g.habits.count(noted)
	g.shadowed(a, would, d.Position)
	if ended != nil {
		g.waiting.wake(a.Dialogue)
	}
	return *d, modified, nil
}

// lock locks the session of the step, and those above it, and what its work remembers of files.
func (s *deciding) lock(ctx context.Context) (err error) {
	var parents uint64
	if s.a.Parent != "" && !s.follows { // else it is locked
		if parents, err = s.g.sessions.workOf(ctx, s.a); err != nil {
			return err
		}
	}
	s.run, err = s.g.sessions.lockRun(ctx, s.a, s.with.PartOf, s.follows)
	if err != nil {
		return err
	}
	s.locked = true
	if len(s.above) > 0 {
		parents = s.above[0].state.Work()
	}
	s.work = cmp.Or(s.state.Work(), parents, session.WorkOf(s.a))
	s.state.KeyedBy(s.g.valueKey)
	if s.a.IsCall() && s.read.Handles() || s.state.Discloses(s.a) || session.Tells(s.a) {
		err = s.lockFiles(ctx)
	}
	if err != nil {
		s.unlock()
	}
	return err
}

// lockFiles locks what the session's work remembers of files. Whoever has it locks no session any
// more until it is given back.
func (s *deciding) lockFiles(ctx context.Context) error {
	h, err := s.g.sessions.lockNow(ctx, keyOf("work", s.a.Principal.Name, strconv.FormatUint(s.work, 16)), s.a.Principal.Name, s.a.At)
	if err != nil {
		return err
	}
	if h.generation != s.generation { // something failed between
		h.unlock()
		return ledger.ErrStale
	}
	s.files = lift{held: h}
	s.state.Share(h.state)
	return nil
}

// unlock gives the sessions back, if they are locked.
func (s *deciding) unlock() {
	if !s.locked {
		return
	}
	s.locked = false
	if s.files.held != nil {
		s.files.held.unlock()
		s.files = lift{}
	}
	s.run.unlock()
}

// repeated answers a step that was decided before as it was answered then, and gives the
// session back; ledger.ErrNotFound where that answer is none any more.
func (s *deciding) repeated(ctx context.Context, repeat *session.Seen) (act.Decision, []byte, error) {
	// Placed steps carry their position; for the others the commit is waited for, without
	// the lock.
	at, placed, pending := repeat.At, repeat.Placed, s.ticket(repeat.Step)
	var labels []string
	if s.follows {
		labels = s.state.Labels()
	}
	s.unlock()
	d, modified, err := s.g.recorded(ctx, s.a, at, placed, pending)
	d.Labels = labels
	return d, modified, err
}

// remember makes the session's next step from the decided act, and adds to the entry what
// is remembered by it. storedBy is what was noted of the memories that the act retrieves,
// and endorsed what people have agreed to with it.
func (s *deciding) remember(ctx context.Context, storedBy []provenance.Origin, endorsed []provenance.Use) (*session.Step, error) {
	a, d, state := s.a, &s.decision, s.state
	done, read := a, s.read // what the session remembers is what is done
	if a.IsCall() && len(d.Edits) > 0 {
		form := s.in.Form
		if form == nil || !sameEdits(form.Edits, d.Edits) {
			return nil, errors.New("guard: an act is changed into a form that was not judged")
		}
		done, read = form.Action, form.Reading
	}
	if a.Kind == act.MemoryStore && d.Effect >= act.Modify {
		var err error
		if s.entry.Writes, err = s.g.sessions.memoriesStored(ctx, a, d.Edits, &state.Values); err != nil {
			return nil, err
		}
	}
	step := state.Step(a, d.Effect)
	if len(s.above) > 0 && !s.partOf {
		step.BegunBy(s.above[0].key, s.above[0].name)
	}
	step.Gives(read)
	state.Masked(step, a, d.Edits)
	state.Touched(step, done, read)
	state.Disclosed(step, a, d.Edits)
	if keys := s.set.Counted(); keys != nil {
		called := state.CalledBy(a)
		state.Counts(step, done, keys, func(key uint64) bool { return s.set.Counts(key, done, called) }, agreedTo(d))
	}
	if s.set.Follows() {
		from := s.set.Source(a, state.CalledBy(a))
		from.Each = storedBy
		state.Read(step, done, from, endorsed)
	}
	state.Works(step, s.work)
	s.entry.Writes = append(s.entry.Writes, &ledger.Write{Head: s.head, Data: step.Append(nil)})
	if files := &s.files; files.held != nil {
		if files.step = step.Shared(files.held.state); files.step != nil {
			s.entry.Writes = append(s.entry.Writes, &ledger.Write{Head: files.held.head, Data: files.step.Append(nil)})
		}
	}
	return step, nil
}

// commit makes the decision durable together with the step, and gives the sessions back
// while the disk is waited for. made and release are told how it ended: see add and consult.
func (s *deciding) commit(ctx context.Context, step *session.Step, made func(bool), release func()) (at act.Position, err error) {
	if s.with.Begins != nil && s.set.Follows() {
		err = s.g.begin(ctx, s.entry, &s.run, step, s.with.Begins(), s.set.Counted())
	}
	var above lift
	if err == nil {
		above, err = s.g.labelAbove(&s.run, s.a, step, s.entry)
	}
	var t *ledger.Ticket
	if err == nil {
		if t, err = s.g.cfg.Log.Enqueue(s.generation, s.entry); err != nil {
			s.forget()
		}
	}
	if err != nil {
		made(false)
		s.unlock() // before those above are locked again: who has them may wait for it
		above.drop(ctx)
		return act.Position{}, err
	}
	number := s.state.Apply(step)
	files := s.files
	s.locked, s.files = false, lift{}
	if files.held != nil && files.step == nil {
		files.held.unlock()
		files = lift{}
	}
	s.queued(number, t)
	files.queued(t)
	above.queued(t)

	// Also when the caller has gone away: the step is in the session's memory
	// and its end must be known.
	at, err = t.Wait(context.WithoutCancel(ctx))
	made(err == nil)
	release()                         // before the sessions are locked again: who has them may wait for the approval
	_ = files.settle(ctx, t, at, err) // has no records of its own
	lifted := above.settle(ctx, t, at, err)
	s.settle(number, t, at, err)
	if err == nil {
		err = lifted
	}
	return at, err
}

// lookIntoRun notes what the files do that a call runs. A file that was put together of pieces, or
// changed by a program, is what lies there, and not what any of the calls said; and of one that
// other sessions wrote, or a program brought, no call said anything.
func (g *Guard) lookIntoRun(a *act.Action, read *hazard.Reading, s *session.State) {
	if a.Runs = nil; !a.IsCall() {
		return
	}
	if g.cfg.Adds != nil {
		a.Runs = g.cfg.Adds(a, read)
	}
	if g.cfg.Runs == nil {
		return
	}
	does := read.Assess(hazard.Default())
	looks := len(does.Ran)+len(does.Fed)+len(does.Called)+len(does.Settings) > 0
	read.Tell(&hazard.Watch{File: func(p string, writes bool, _ string, _ bool) {
		looks = looks || !writes && s.WroteTo(path.Base(filepath.ToSlash(p)))
	}})
	if looks {
		a.Runs = append(a.Runs, g.cfg.Runs(a, read, s.WroteTo, s.Written, s.Astray)...)
	}
}

// lookBehind notes what a call does in a shell that is still open, with what the earlier commands of
// its session left there.
func (g *Guard) lookBehind(a *act.Action, read *hazard.Reading, s *session.State) {
	if !a.IsCall() {
		return
	}
	behind := read.Behind(s.Shell())
	if behind == nil {
		return
	}
	for _, f := range behind.Beyond(read) {
		a.Runs = append(a.Runs, act.FileRun{Code: f.Code, Weight: f.Weight})
	}
	of := behind.Of()
	if g.lookIntoRun(of, behind, s); len(of.Runs) > 0 {
		a.Runs = append(a.Runs, of.Runs...)
	}
	if g.defend(of, behind); len(of.Refusals) > len(a.Refusals) {
		a.Refusals = append(slices.Clip(a.Refusals), of.Refusals[len(a.Refusals):]...)
	}
}
