package policy

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// Missing is what is not known of an act that is judged again.
type Missing uint8

// What can be missing.
const (
	MissingText        Missing = 1 << iota // what the caller says, but the act's kind and the tool's name
	MissingContents                        // the same, but the names of who asks and of the session
	MissingScore                           // what a model says of the call
	MissingOrigins                         // where the session's values came from, since nobody asked then
	MissingHabits                          // what was usual for the agent then
	MissingHabitsCount                     // by how many sessions the agent was known then
	MissingBill                            // which tools the agent had used then, since nobody asked
	MissingPast                            // what the session had done of the acts that rules count now
)

// Unclear names what of the policy may say something else of an act than it does, because
// something of the act is missing: rules, exceptions, and the built-in ones.
func (s *Set) Unclear(in *Input, missing Missing) (names []string) {
	a := in.Action
	text := missing&(MissingText|MissingContents) != 0
	known := plainVariables
	if missing&MissingText == 0 {
		known = namedVariables
	}
	if (text || missing&MissingScore != 0) && a.IsCall() && s.grave > 0 {
		names = append(names, graveRule)
	}
	if missing&MissingBill != 0 { // also rules that name the check, which nothing violates
		for _, r := range s.index.checked[kindOf(a)].candidates(nil, a) {
			if slices.Contains(r.check, newTool) {
				names = append(names, r.name)
			}
		}
	}
	for _, r := range s.index.candidates(nil, in) {
		if missing&MissingScore != 0 && r.hazard > 0 || text && r.looksAtText(known) ||
			missing&MissingOrigins != 0 && r.follows() || missing&MissingHabits != 0 && r.asksHabits() ||
			missing&MissingBill != 0 && r.asksBill() || missing&MissingHabitsCount != 0 && r.when.names(countOfHabits) ||
			missing&MissingPast != 0 && r.when != nil && r.when.past != nil {
			names = append(names, r.name)
		}
	}
	if missing&MissingBill != 0 {
		for _, x := range s.except {
			if x.scope.kinds.of(a) && x.scope.fits(a) && x.scope.asksBill() {
				names = append(names, x.scope.name)
			}
		}
	}
	if !text {
		return names
	}
	if a.IsCall() && s.manifests.of(a) != nil {
		names = append(names, manifestRule)
	}
	for _, x := range s.except {
		if x.scope.kinds.of(a) && x.scope.fits(a) && x.scope.looksAtText(known) {
			names = append(names, x.scope.name)
		}
	}
	return names
}

// looksAtText reports whether what a rule says depends on what the caller says, beyond
// the act's kind, the tool's name and the variables that are known.
func (r *rule) looksAtText(known []string) bool {
	return r.detect != 0 || r.hazard > 0 || r.acts != nil || r.effect == act.Modify || r.when.looksAtText(known) || r.change.withExpr.looksAtText(known)
}

// asksHabits reports whether what a rule says depends on what is usual for the agent.
func (r *rule) asksHabits() bool {
	return r.usual || r.when != nil && r.when.habits || r.change.withExpr != nil && r.change.withExpr.habits
}

// newTool is the check for which an agent's bill of materials is read.
const newTool = "tool.new"

func (r *rule) asksBill() bool {
	const called = violatesPrefix + newTool
	return slices.Contains(r.check, newTool) || r.when.names(called) || r.change.withExpr.names(called)
}

const countOfHabits = "habits.sessions"

// names reports whether a condition reads a variable.
func (c *condition) names(variable string) bool {
	if c != nil {
		for _, ref := range c.ast.NativeRep().ReferenceMap() {
			if ref.Name == variable {
				return true
			}
		}
	}
	return false
}

// plainVariables are those that conditions read which do not depend on it.
var plainVariables = []string{
	"action.kind", "action.door", "action.method", "action.time", "action.tool", "action.resource", "action.confusable",
	"action.server", "action.inner_method", "action.from", "action.failed",
	"session.steps", "session.calls", "session.age", "session.tainted", "session.autonomous", "session.foreign", "session.heard",
	"session.labels", "session.planned", "session.known",
}

// namedVariables are these, and the names of who asks and of the session.
var namedVariables = append(slices.Clone(plainVariables), "action.principal.name", "action.principal.method", "action.principal.organization",
	"action.principal.on_behalf_of", "action.principal.actors", "action.principal.client", "action.principal.scopes", "action.principal.proof",
	"agent.id", "agent.name", "agent.version", "agent.organization", "user.exists", "user.id", "user.name", "user.email", "user.organization",
	"session.id", "session.turn", "session.step")

func (c *condition) looksAtText(known []string) bool {
	if c == nil {
		return false
	}
	for _, ref := range c.ast.NativeRep().ReferenceMap() {
		if ref.Name != "" && ref.Value == nil && !slices.Contains(known, ref.Name) && !strings.HasPrefix(ref.Name, violatesPrefix) {
			return true
		}
	}
	return false
}

// SameLabels reports whether another policy says the same of where texts come from.
func (s *Set) SameLabels(o *Set) bool {
	return slices.EqualFunc(s.labels, o.labels, func(a, b *label) bool {
		return a.scope.kinds == b.scope.kinds && slices.Equal(a.scope.tools, b.scope.tools) && slices.Equal(a.servers, b.servers) &&
			a.parts == b.parts && a.by == b.by && slices.Equal(a.fields, b.fields) && slices.Equal(a.tags, b.tags)
	})
}
