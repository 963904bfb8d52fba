package guard

import (
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/session"
)

// What follows is for a policy replay: for whoever judges recorded acts again.

// Keys are those under which what is remembered is looked up: without them it tells nothing.
type Keys struct{ Values []byte }

// DeriveKeys derives them from a ledger's seed: by Log.Key, or by ledger.DeriveKey.
func DeriveKeys(key func(use string) ([]byte, error)) (k Keys, err error) {
	k.Values, err = key(valuesUse)
	return k, err
}

// Then is what was usual for the agent of a recorded call, as it counted then; nil where
// nobody asked.
func (k Keys) Then(a *act.Action, links *ledger.ActLinks, set *policy.Set) (*habits.View, error) {
	if len(links.Habits) == 0 {
		return nil, nil
	}
	note, err := habits.ParseNote(links.Habits)
	if err != nil {
		return nil, err
	}
	v := &habits.View{Key: habits.NewKey(k.Values, a.Principal.Name, a.Agent.ID), Settings: set.HabitSettings(), Then: note}
	if a.User.ID != "" {
		v.User = UserOfHabits(a.User.ID, a.User.Organization)
	}
	return v, nil
}

// Restore gives an act that was read again what it was judged by the first time, and
// returns its violations.
func Restore(a *act.Action, given *ledger.Given) []act.Violation {
	a.Refusals = nil
	for _, r := range given.Refusals {
		a.Refusals = append(a.Refusals, act.Reason{Rule: r.Rule, Code: r.Code, Final: r.Final, Effect: act.Deny})
	}
	a.Enforces, a.Bounded, a.Model, a.ModelThreats = given.Enforces, given.Bounded, given.Model, given.Threats
	a.Runs = nil
	for _, r := range given.Runs {
		a.Runs = append(a.Runs, act.FileRun{File: r.File, Code: r.Code, Weight: r.Weight, Found: r.Found, Sets: r.Sets, Line: r.Line})
	}
	if len(given.Violations) == 0 {
		return nil
	}
	// Where they are in the act is not kept, and is needed when the act is changed: of
	// the checks that need no memory it is found again.
	again, _ := (*session.State)(nil).Check(a, nil)
	violations := make([]act.Violation, len(given.Violations))
	for i, v := range given.Violations {
		violations[i] = act.Violation{Check: v.Check, Unsure: v.Unsure}
		if at := slices.IndexFunc(again, func(w act.Violation) bool { return w.Check == v.Check }); at >= 0 {
			violations[i].Pointer, violations[i].Message = again[at].Pointer, again[at].Message
			again = slices.Delete(again, at, at+1)
		}
	}
	return violations
}

// Ruled is what the policy said of a recorded act before people were asked.
func Ruled(o *ledger.Outcome) act.Effect {
	effect, _ := act.ParseEffect(o.Effect)
	if len(o.Reasons) > 0 && o.Reasons[0].Rule == "approval" && slices.Contains(afterwards, o.Reasons[0].Code) {
		return act.Escalate
	}
	return effect
}

// afterwards are the codes of what becomes of an act that the policy holds.
var afterwards = []string{"approved", codeChanged, "approval_denied", codeGranted, over.Code, unshown.Code, "quota.held"}
