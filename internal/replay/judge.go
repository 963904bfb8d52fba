package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/a2g"
	"reeve.example/reeve/acs"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/proxy"
	"reeve.example/reeve/internal/policy"
)

// worker judges the acts of some sessions.
type worker struct {
	*shared
	queue chan []*item
	past  *pasts
	tally *tally

	askers   alike[ledger.Asker]
	outcomes alike[ledger.Outcome]
}

// Why it cannot be told what would become of an act.
const (
	Gone    = "contents gone"       // expired, erased, or never kept
	Masked  = "masked"              // a rule looks at what is kept masked
	Memory  = "session memory gone" // pruned with its records
	Score   = "no model's score"    // a model is asked now, and none was then
	Older   = "written by an older reeve"
	Habits  = "what was usual then was not kept"
	Damaged = "damaged"
	Counted = "acts were not counted"
	Origins = "where values came from was not asked"
	Labels  = "read under other labels"
	Bill    = "whether the tool was new was not asked"
	Unread  = "cannot be read again" // not as the act that was judged
	Program = "this reeve decides otherwise by the policy of then, too"
)

// told is what is known of an act beside its record.
type told struct {
	asker   ledger.Asker
	links   ledger.ActLinks
	outcome ledger.Outcome
	request []byte
}

// judge judges one act again and counts what comes of it. An error is of the store, or of
// ctx.
func (w *worker) judge(ctx context.Context, one *item) error {
	var t told
	why := Damaged
	if !one.damaged {
		why = w.open(ctx, one, &t)
	}
	var was *past
	if one.step != nil { // whatever becomes of the act: the next one needs it
		var err error
		if was, err = w.past.before(ctx, w.store, w.o.Keys.Values, one); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w.tally.unknown(Damaged)
			return nil
		}
		defer w.past.after(was, one)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if why != "" {
		w.tally.unknown(why)
		return nil
	}
	in, why := w.input(one, &t, was)
	if why != "" {
		w.tally.unknown(why)
		return nil
	}
	w.compare(ctx, one, &t, in)
	return nil
}

// input is an act as it was judged, with what its session remembered. why says what of it
// is not known any more; the act is nil if that is the act itself.
func (w *worker) input(one *item, t *told, was *past) (in *policy.Input, why string) {
	a := read(one, t)
	if a == nil {
		return nil, Unread
	}
	in = &policy.Input{Action: a, Violations: guard.Restore(a, t.outcome.Given)}
	if a.Session != "" || a.Step != "" {
		if was == nil {
			return in, Memory
		}
		if given := t.outcome.Given; given.Forgotten {
			if !one.step.Follows(was.state) {
				was.forget(was.state.Values.Key)
			}
			was.state.Known = false
		}
		if was.gone || !one.step.Follows(was.state) || one.step.Inherits() && was.state.Steps == 0 || one.step.Took() {
			return in, Memory
		}
		a.Hints |= was.state.Hints(a)
		in.Session = guard.Remembered(was.state, a, &w.instructions)
	}
	if w.candidate == nil {
		return in, ""
	}
	var err error
	if in.Session.Habits, err = w.o.Keys.Then(a, &t.links, w.candidate); err != nil {
		return in, Damaged
	}
	return in, ""
}

// compare judges an act by the candidate, and sets what comes of it against the record.
func (w *worker) compare(ctx context.Context, one *item, t *told, in *policy.Input) {
	d := w.ruled(in, w.candidate)
	if why := w.unclear(ctx, one, in, t, &d); why != "" {
		w.tally.unknown(why)
		return
	}
	before := guard.Ruled(&t.outcome)
	if before == d.Effect && before == act.Modify && t.outcome.Incomplete {
		w.tally.unknown(Masked)
		return
	}
	if before == d.Effect && (before != act.Modify || sameEdits(&t.outcome, &d)) {
		w.tally.same(t.agent(), before)
		return
	}
	if w.otherwise(ctx, in, t, before) {
		w.tally.unknown(Program)
		return
	}
	g := group{before, d.Effect, guard.Decisive(d.Reasons, d.Effect), t.agent(), short(t.links.Resource), one.record.Kind}
	if d.Effect > before {
		g.rule = t.stopped(before)
	}
	w.tally.changed(g, one.at())
}

// agent is the name of whose act it was.
func (t *told) agent() string { return short(cmp.Or(t.asker.Claims.Agent, t.asker.Name)) }

// stopped is the rule that gave the act the effect that it had.
func (t *told) stopped(effect act.Effect) string {
	for _, r := range t.outcome.Reasons {
		if e, _ := act.ParseEffect(r.Effect); e == effect && !r.Observe {
			return r.Rule
		}
	}
	return ""
}

// otherwise reports whether the policy that decided would decide otherwise now, so that a
// difference is none of the policies: another reeve decided, or knew other things. Of what
// is kept masked that is not asked.
func (w *worker) otherwise(ctx context.Context, in *policy.Input, t *told, before act.Effect) bool {
	if t.outcome.Given.Masked {
		return false
	}
	set := w.policyOf(ctx, t.outcome.Policy).set
	if set == nil {
		return false
	}
	again := w.ruled(in, set)
	return again.Effect != before || before == act.Modify && !sameEdits(&t.outcome, &again)
}

// ruled is what a policy says of an act before people are asked.
func (w *worker) ruled(in *policy.Input, set *policy.Set) act.Decision {
	d := guard.Judge(in.Action, in.Violations, in.Session, set)
	if d.Effect == act.Escalate && !guard.Held(&d) {
		d.Effect = act.Deny
	}
	return d
}

// unclear says why it cannot be told what the candidate says of an act: something that it
// looks at is not known. A denial that rests on something else stands.
func (w *worker) unclear(ctx context.Context, one *item, in *policy.Input, t *told, d *act.Decision) string {
	why := ""
	var names []string // of what may say something else
	for _, m := range [...]struct {
		what policy.Missing
		why  string
		is   bool
	}{
		{policy.MissingText, Masked, t.outcome.Given.Masked && !t.outcome.Given.Named},
		{policy.MissingContents, Masked, t.outcome.Given.Masked && t.outcome.Given.Named},
		{policy.MissingScore, Score, w.o.Scored && unscored(in)},
		{policy.MissingOrigins, Origins, one.step != nil && one.step.Unread() && in.Session.Values != nil && in.Session.Values.Lost},
		{policy.MissingOrigins, Labels, w.relabeled(ctx, in, t)},
		{policy.MissingHabits, Habits, in.Action.IsCall() && in.Session.Habits == nil && w.candidate.Habits()},
		{policy.MissingHabitsCount, Habits, in.Action.IsCall() && w.candidate.Habits()},
		{policy.MissingBill, Bill, in.Action.IsCall() && w.candidate.AsksBill() && !w.askedBill(ctx, t)},
		{policy.MissingPast, Counted, in.Session.Past != nil && slices.ContainsFunc(w.candidate.Counted(), func(key uint64) bool {
			_, sure := in.Session.Past(key)
			return !sure
		})},
	} {
		if !m.is {
			continue
		}
		if list := w.candidate.Unclear(in, m.what); len(list) > 0 {
			why, names = cmp.Or(why, m.why), append(names, list...)
		}
	}
	if why == "" {
		return ""
	}
	if d.Effect == act.Deny && len(w.candidate.Exceptions()) == 0 && slices.ContainsFunc(d.Reasons, func(r act.Reason) bool {
		return r.Effect == act.Deny && !r.Observe && r.Code != policy.CodeDefault && r.Rule != "modify" && !slices.Contains(names, r.Rule)
	}) {
		return ""
	}
	return why
}

// relabeled reports whether a session has read what the candidate may call another's: what
// is remembered was labelled by the policy of then.
func (w *worker) relabeled(ctx context.Context, in *policy.Input, t *told) bool {
	v := in.Session.Values
	return v != nil && !v.Empty() && w.candidate.Follows() && !w.policyOf(ctx, t.outcome.Policy).labels
}

// askedBill reports whether the policy of then asked whether tools were new, so that what
// was found of it is in the record.
func (w *worker) askedBill(ctx context.Context, t *told) bool {
	set := w.policyOf(ctx, t.outcome.Policy).set
	return set != nil && set.AsksBill()
}

// unscored reports whether an act is a call that no model was asked about.
func unscored(in *policy.Input) bool {
	a := in.Action
	return a.IsCall() && a.Model == nil && !slices.ContainsFunc(in.Violations, func(v act.Violation) bool { return v.Check == "model.absent" })
}

// sameEdits reports whether a decision changes an act as it was changed.
func sameEdits(was *ledger.Outcome, d *act.Decision) bool {
	return slices.EqualFunc(was.Edits, d.Edits, func(a ledger.Edit, b act.Edit) bool {
		return a.Pointer == b.Pointer && bytes.Equal(a.Value, b.Value)
	})
}

// open reads what lies beside a record; why says what is missing of it.
func (w *worker) open(ctx context.Context, one *item, t *told) (why string) {
	opening, err := one.record.Open(one.opening, one.facts, func(hash [32]byte) ([]byte, error) { return w.part(ctx, hash) })
	if errors.Is(err, ledger.ErrNotFound) {
		return Gone
	}
	if err != nil {
		return Damaged
	}
	var errs [3]error
	t.request = opening.Request
	t.asker, errs[0] = w.askers.read(opening.Principal, opening.Asker)
	t.links, errs[1] = opening.Linked()
	t.outcome, errs[2] = w.outcomes.read(opening.Reasons, opening.Outcome)
	switch {
	case errors.Join(errs[:]...) != nil:
		return Damaged
	case opening.Reasons != nil && (t.outcome.Policy != one.record.Policy || t.outcome.Effect != one.record.Effect):
		return Damaged
	case opening.Principal == nil || opening.Reasons == nil || opening.Links == nil || t.request == nil:
		return Gone
	case t.outcome.Given == nil || t.outcome.Given.Version < ledger.GivenVersion:
		return Older
	case t.outcome.Given.Version > ledger.GivenVersion:
		return Unread
	}
	return ""
}

// alike keeps what was read of texts that are the same in many records: who asks, and what is
// decided, is so. What is kept is never changed.
type alike[T any] map[string]T

// Bounds of what is kept: an agent can make each of its texts another one.
const (
	alikeMost = 256
	alikeSize = 4 << 10
)

func (a *alike[T]) read(text []byte, read func() (T, error)) (T, error) {
	if v, ok := (*a)[string(text)]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil || len(text) > alikeSize {
		return v, err
	}
	if *a == nil || len(*a) == alikeMost {
		*a = alike[T]{}
	}
	(*a)[string(text)] = v
	return v, nil
}

// Act reads the act that a record tells of, from what is kept of it; nil where that gives
// none, or another one.
func Act(r *ledger.Record, o *ledger.Opening) *act.Action {
	t := told{request: o.Request}
	t.asker, _ = o.Asker()
	t.links, _ = o.Linked()
	t.outcome, _ = o.Outcome()
	if t.outcome.Given == nil {
		return nil
	}
	return read(&item{record: *r}, &t)
}

// read reads the act of a record as its door did; nil where what is kept gives another one.
func read(one *item, t *told) *act.Action {
	by := t.asker.Who()
	var a *act.Action
	var err error
	switch one.record.Door {
	case "aos":
		a, err = aos.ActionOf(t.request)
	case "acs":
		a, err = acs.ActionOf(t.request)
	case "a2g":
		a, err = a2g.ActionOf(t.request)
	case "a2a":
		a = a2a.ActionOf(by, t.request)
	case "flow":
		a = engine.ActionOf(act.Kind(one.record.Kind), t.request)
		a.User.ID = t.asker.Claims.User
	case "mcp":
		l := &t.links
		a, err = proxy.ActionOf(&proxy.Question{
			Message: t.request, Server: l.Server, Session: l.Session, Agent: t.asker.Claims.AgentName, From: l.From,
			ID: l.ID, Answers: l.Answers, Method: l.Method, Resource: l.Resource, Hints: strings.Fields(l.Hints),
		}, by)
	}
	if err != nil || a == nil || string(a.Kind) != one.record.Kind {
		return nil
	}
	a.Principal, a.At = by, one.record.Time
	a.Session, a.Turn, a.Step, a.ID, a.Answers = t.links.Session, t.links.Turn, t.links.Step, t.links.ID, t.links.Answers
	if a.Agent.ID == "" {
		a.Agent.ID = t.asker.Claims.Agent
	}
	if a.Digest.String() != t.links.Digest && !t.outcome.Given.Masked {
		return nil
	}
	return a
}
