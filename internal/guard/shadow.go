package guard

import (
	"bytes"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/policy"
)

// Shadowed is what the candidate beside a policy would have decided about an act, before
// people were asked.
type Shadowed struct {
	Candidate  string // its hash
	Was, Would act.Effect
	// Changed says that they differ: in the effect, or in how the act would be changed.
	Changed bool
	// Rule is what makes the difference: the policy's that stopped the act, or the candidate's.
	Rule string
	// Failed says that the candidate could not be asked.
	Failed bool
	// Position is that of the decision's record.
	Position act.Position
}

// shadow asks the policy's candidate about an act that was judged, if there is one. Whatever
// becomes of that, the decision stays as it is.
func (g *Guard) shadow(in *policy.Input, d *act.Decision, set *policy.Set) (s *Shadowed) {
	candidate := set.Shadow()
	if candidate == nil || g.cfg.Shadowed == nil {
		return nil
	}
	was := d.Effect
	if was == act.Escalate && !Held(d) {
		was = act.Deny
	}
	s = &Shadowed{Candidate: candidate.Hash(), Was: was}
	defer func() {
		if recover() != nil {
			s.Failed = true
		}
	}()
	again := *in
	would := judge(&again, candidate)
	if s.Would = would.Effect; s.Would == act.Escalate && !Held(&would) {
		s.Would = act.Deny
	}
	s.Changed = was != s.Would || was == act.Modify && !sameEdits(d.Edits, would.Edits)
	if s.Changed {
		s.Rule = Decisive(would.Reasons, s.Would)
		if s.Would > was {
			s.Rule = Decisive(d.Reasons, was)
		}
	}
	return s
}

// shadowed tells of what the candidate would have decided, once the decision is durable.
func (g *Guard) shadowed(a *act.Action, s *Shadowed, at act.Position) {
	if s != nil {
		s.Position = at
		g.cfg.Shadowed(a, s)
	}
}

// Decisive is the rule of the first reason that gave an act its effect.
func Decisive(reasons []act.Reason, effect act.Effect) string {
	for i := range reasons {
		if r := &reasons[i]; r.Effect == effect && !r.Observe {
			return r.Rule
		}
	}
	return ""
}

func sameEdits(a, b []act.Edit) bool {
	return slices.EqualFunc(a, b, func(a, b act.Edit) bool { return a.Pointer == b.Pointer && bytes.Equal(a.Value, b.Value) })
}
