package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// exception is a named exception of a policy: it lifts what some rules, or reasons
// with some codes, would decide about an act, as long as it lasts. Everything else
// about the act stays.
type exception struct {
	// scope is what the exception is for, in the parts of a rule: kinds, tools
	// and a condition. Its name and place are the exception's.
	scope *rule

	rules  []string // names of rules
	codes  []string
	reason string
	until  time.Time // from here on it says nothing
}

var exceptKeys = []string{"name", "reason", "rules", "codes", "on", "tools", "when", "until"}

// readException reads one exception of a document.
func (d *document) readException(n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, "write each exception as - name: …", "an exception is a mapping, not %s", n.Is())
		return
	}
	d.known(n, exceptKeys, "an exception")
	x := &exception{scope: &rule{file: d.file, line: n.Line, column: n.Column, effect: act.Allow}}
	x.scope.name = d.textOf(n.Get("name"), "name")
	switch {
	case x.scope.name == "":
		d.at(n, "add name: …", "the exception has no name")
	case !ruleName(x.scope.name):
		d.at(n.Get("name"), "use letters, digits, spaces and . _ / -, at most 100", "%q cannot be the name of an exception", x.scope.name)
	}
	if x.reason = d.textOf(n.Get("reason"), "reason"); x.reason == "" {
		d.at(n, "add reason: …, for whoever reads the records", "the exception does not say why it is made")
	}
	for _, w := range d.words(n.Get("rules"), "rules") {
		d.exceptRules = append(d.exceptRules, exceptRule{x, w})
		x.rules = append(x.rules, w.Text)
	}
	for _, w := range d.words(n.Get("codes"), "codes") {
		switch {
		case slices.Contains(act.FinalCodes, w.Text):
			d.at(w, "take it out", "no exception can lift %s: nobody can let that pass", w.Text)
		case w.Text == CodeDefault:
			d.at(w, "write a rule with effect: allow", "an exception lifts what rules decide, and the default is no rule")
		case !codePattern.MatchString(w.Text) || len(w.Text) > 64:
			d.at(w, "write it as it stands in the reasons, such as risk.shell.download_run", "%q is no code", w.Text)
		}
		x.codes = append(x.codes, w.Text)
	}
	if n.Get("rules") == nil && n.Get("codes") == nil {
		d.at(n, "add rules: […] or codes: […]", "the exception does not say what it lifts")
	}
	x.scope.kinds = d.kindsOf(n.Get("on"))
	for _, w := range d.words(n.Get("tools"), "tools") {
		d.exprs = append(d.exprs, pending{x.scope, toolsPart, w})
	}
	if v := n.Get("when"); v != nil {
		d.exprs = append(d.exprs, pending{x.scope, whenPart, v})
	}
	x.until = d.untilOf(n)
	d.except = append(d.except, x)
}

// exceptRule is the name of a rule that an exception lifts, to be looked up once
// all rules are known.
type exceptRule struct {
	of   *exception
	node *node
}

// untilOf reads when an exception ends: at a time, or with the last moment of a day
// in UTC.
func (d *document) untilOf(n *node) time.Time {
	v := n.Get("until")
	if v == nil {
		d.at(n, "add until: 2027-01-31", "the exception does not say until when it lasts")
		return time.Time{}
	}
	if t, err := time.Parse(time.DateOnly, v.Text); err == nil {
		return t.AddDate(0, 0, 1)
	}
	t, err := time.Parse(time.RFC3339, v.Text)
	if err != nil || v.Kind != rawjson.String {
		d.at(v, "write a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z", "until: %q is no day and no time", v.Text)
	}
	return t
}

// settle checks, once the conditions are compiled, that exceptions name rules that
// there are, and that each is for something smaller than everything.
func (d *document) settleExcept(rules []*rule, reserved []string) {
	for _, e := range d.exceptRules {
		i := slices.IndexFunc(rules, func(r *rule) bool { return r.name == e.node.Text })
		switch {
		case i >= 0 && rules[i].effect == act.Allow:
			d.at(e.node, "", "the rule %q lets acts pass: there is nothing to lift", e.node.Text)
		case i < 0 && !slices.Contains(reserved, e.node.Text):
			var names []string
			for _, r := range rules {
				names = append(names, r.name)
			}
			hint := ""
			if near := nearest(e.node.Text, append(names, reserved...)); near != "" {
				hint = "did you mean " + near + "?"
			}
			d.at(e.node, hint, "there is no rule %q", e.node.Text)
		}
	}
	for _, x := range d.except {
		s := x.scope
		if slices.ContainsFunc(s.tools, func(g string) bool { return strings.Trim(g, "*?") == "" }) {
			s.tools = nil // names nothing
		}
		whole := s.tools == nil && s.kinds == ^kindSet(0)
		if whole && (s.when == nil || !s.when.variable()) && d.errs == nil {
			d.fault(s.line, s.column, "add tools:, on: or a when: that looks at the act", "the exception %q is for every act", s.name)
		}
	}
}

// variable reports whether a condition looks at the act at all.
func (c *condition) variable() bool {
	for _, ref := range c.ast.NativeRep().ReferenceMap() {
		if ref.Name != "" && ref.Value == nil {
			return true
		}
	}
	return false
}

// lifts reports whether the exception names a reason.
func (x *exception) lifts(r *act.Reason) bool {
	return r.Excepted() && (slices.Contains(x.rules, r.Rule) || slices.Contains(x.codes, r.Code))
}

// lift has the exceptions that hold for the act take away the effect of the reasons
// that they name. It reports whether nothing is left of them.
//
// A rule that matched gives one reason for each thing it found. As long as one of
// them stands, so does the rule's effect.
func (e *evaluation) lift(set *Set, reasons []act.Reason) bool {
	if set.except == nil || len(reasons) == 0 {
		return false
	}
	all := true
	by := make([]*exception, len(reasons))
	for i := range reasons {
		if reasons[i].Observe {
			continue
		}
		for _, x := range set.except {
			if x.lifts(&reasons[i]) && e.excepts(x) {
				by[i] = x
				break
			}
		}
		all = all && by[i] != nil
	}
	if !all {
		return false
	}
	for i, x := range by {
		if x != nil {
			r := &reasons[i]
			r.Observe, r.Exception = true, x.scope.name
			r.Message = strings.TrimSpace(r.Message) + fmt.Sprintf(" The exception %q lets it pass until %s: %s", x.scope.name, x.until.UTC().Format(time.RFC3339), x.reason)
		}
	}
	return true
}

// excepts reports whether an exception is for the act, now. What its condition
// cannot read is no exception.
func (e *evaluation) excepts(x *exception) bool {
	a, s := e.in.Action, x.scope
	if !a.At.Before(x.until) || a.At.IsZero() || !s.kinds.of(a) || !s.fits(a) {
		return false
	}
	if s.when == nil {
		return true
	}
	if s.when.found != 0 {
		mask := e.foundMask
		defer func() { e.foundMask = mask }()
		for i := range a.Content {
			for _, f := range e.set.detectors.Scan(a.Content[i].Text, wanted(&a.Content[i], s.when.found), nil) {
				e.foundMask |= f.Detector
			}
		}
		if s.when.found&risk.Injection != 0 && len(across(a)) > 0 {
			e.foundMask |= risk.Injection
		}
	}
	// A missing argument on one side of ||, and a number that is none, would let
	// what is not there decide: so every value on the way must be one.
	program, err := s.when.env.Program(s.when.ast, cel.EvalOptions(cel.OptTrackState))
	if err != nil {
		return false
	}
	v, details, err := program.Eval(e)
	if err != nil || v != types.True || details == nil || details.State() == nil {
		return false
	}
	for _, id := range details.State().IDs() {
		value, _ := details.State().Value(id)
		if d, ok := value.(types.Double); types.IsUnknownOrError(value) || ok && d != d {
			return false
		}
	}
	return true
}

// An Exception describes one exception of a Set.
type Exception struct {
	Name, File, Reason string
	Line               int
	Until              time.Time
}

// Exceptions describes the set's exceptions in their order.
func (s *Set) Exceptions() []Exception {
	list := make([]Exception, len(s.except))
	for i, x := range s.except {
		list[i] = Exception{x.scope.name, x.scope.file, x.reason, x.scope.line, x.until}
	}
	return list
}
