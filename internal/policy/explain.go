package policy

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"reeve.example/reeve/act"
)

// Explanation says of every rule whether it matched an action, and why not.
type Explanation struct {
	Verdict Verdict
	Rules   []RuleExplanation
}

// RuleExplanation is what became of one rule.
type RuleExplanation struct {
	Rule    string
	File    string
	Line    int
	Effect  act.Effect
	Observe bool
	Matched bool
	// Why is a sentence: what made the rule match, or what kept it from it.
	Why string
	// Values are the parts of the condition with their values. What looks like
	// a secret is masked, and long values are shortened.
	Values []ExplainedValue
	// Otherwise says in what the act would have to differ for the rule not to match: each
	// is enough by itself. Empty for a rule that did not match.
	Otherwise []string
}

// ExplainedValue is the value that a part of a condition had.
type ExplainedValue struct {
	Expression string
	Value      string
}

// Explain judges an action as Evaluate does, and says of every rule what
// became of it. It is meant for people: it takes far longer than Evaluate.
func (s *Set) Explain(in *Input) Explanation {
	x := Explanation{Verdict: s.Evaluate(in), Rules: s.explainRules(in)}
	if inner := Inner(in.Action); inner != nil { // of a rule that met that one it is told how
		for i, r := range s.explainRules(s.innerInput(in, inner)) {
			if r.Matched && !x.Rules[i].Matched {
				x.Rules[i] = r
			}
		}
	}
	return x
}

func (s *Set) explainRules(in *Input) (rules []RuleExplanation) {
	e := s.newEvaluation(in)
	defer e.free()
	e.rules = s.index.candidates(e.rules, in)
	e.judge()
	matched := map[*rule]*match{}
	for i := range e.matches {
		matched[e.matches[i].rule] = &e.matches[i]
	}
	// Every detector that any rule names, so that it can be said what was found.
	all := s.newEvaluation(in)
	defer all.free()
	all.scan(s.everyDetector())
	for _, r := range s.rules {
		re := RuleExplanation{Rule: r.name, File: r.file, Line: r.line, Effect: r.effect, Observe: r.observe}
		m := matched[r]
		re.Matched = m != nil
		switch {
		case m == nil:
			re.Why = all.whyNot(r, in)
		case m.err != nil && r.effect == act.Allow:
			re.Matched = false
			re.Why = fmt.Sprintf("it could not be evaluated: %v", m.err)
		case m.err != nil:
			re.Why = fmt.Sprintf("it could not be evaluated, which counts as a match: %v", m.err)
		case m.unsure:
			re.Why = "it matches, but what the session remembers is not certain, so it is only noted"
		case r.observe:
			re.Why = "it matches, and only observes"
		default:
			re.Why = "it matches"
		}
		var condition *watched
		if r.when != nil && r.kinds.of(in.Action) && r.fits(in.Action) {
			if condition = all.watch(r.when); condition != nil {
				re.Values = condition.values()
			}
		}
		if re.Matched {
			re.Otherwise = all.otherwise(r, m, condition)
		}
		rules = append(rules, re)
	}
	return rules
}

// whyNot names the first part of a rule that does not hold.
func (e *evaluation) whyNot(r *rule, in *Input) string {
	a := in.Action
	switch {
	case !r.kinds.of(a):
		return fmt.Sprintf("it is not for %s", a.Kind)
	case !r.fits(a) && a.Canonical == "":
		return "it is for named tools, and this act has none"
	case !r.fits(a):
		return fmt.Sprintf("%q is none of its tools (%s)", a.Canonical, strings.Join(r.tools, ", "))
	case r.check != nil && !slices.ContainsFunc(in.Violations, func(v act.Violation) bool { return slices.Contains(r.check, v.Check) }):
		return "the check passes: " + strings.Join(r.check, ", ")
	case r.acts != nil && !e.isOneOf(r.acts):
		return "it is none of the acts " + strings.Join(r.acts, ", ")
	case r.effects != nil && !e.endangers(r):
		return fmt.Sprintf("none of the call's hazards that weighs %.2f has such an effect: %s", r.hazard, strings.Join(r.effects, ", "))
	case r.hazard > 0 && !e.endangers(r):
		return fmt.Sprintf("the call's hazards score %.2f, and the rule asks for %.2f", e.assess().Score, r.hazard)
	case r.detect != 0 && e.foundMask&r.detect == 0:
		return "no detector found anything: " + e.set.nameOf(r.detect)
	case r.detect != 0 && !e.detected(r):
		return "what " + e.set.nameOf(r.detect) + " found stands in texts that the rule does not look at, or is not grave enough"
	}
	if r.when != nil {
		if holds, err := e.eval(r.when); err == nil && !holds {
			return "its condition is false"
		}
	}
	if r.change.kind == replace {
		return fmt.Sprintf("the argument %q has that value already", r.change.argument)
	}
	return "it does not match"
}

const (
	maxValues    = 20
	maxValueText = 80 // characters
)

// watched is a condition with the value that each part of it had.
type watched struct {
	*condition
	state interpreter.EvalState
}

// watch evaluates a condition once more, remembering the value of each part; nil where it
// cannot.
func (e *evaluation) watch(c *condition) *watched {
	program, err := c.env.Program(c.ast, cel.EvalOptions(cel.OptExhaustiveEval))
	if err != nil {
		return nil
	}
	e.reading.spellings = c.spellings
	_, details, _ := program.Eval(e)
	if details == nil || details.State() == nil {
		return nil
	}
	return &watched{c, details.State()}
}

// values lists the parts that decide: comparisons, calls, and what they read.
func (c *watched) values() []ExplainedValue {
	info := c.ast.NativeRep().SourceInfo()
	var values []ExplainedValue
	seen := map[string]bool{}
	var show func(x ast.Expr)
	show = func(x ast.Expr) {
		if len(values) >= maxValues {
			return
		}
		deeper, listed := parts(x)
		if listed {
			text, err := cel.ExprToString(x, info)
			if value, ok := valueOf(c.state, x.ID()); err == nil && ok && !seen[text] {
				seen[text] = true
				values = append(values, ExplainedValue{shorten(text), shorten(hush(value))})
			}
		}
		for _, d := range deeper {
			show(d)
		}
	}
	show(c.ast.NativeRep().Expr())
	return values
}

// parts returns what to look into below an expression, and whether its own
// value is worth showing. The insides of loops have no single value.
func parts(x ast.Expr) (deeper []ast.Expr, listed bool) {
	switch x.Kind() {
	case ast.IdentKind, ast.SelectKind:
		return nil, true
	case ast.ComprehensionKind:
		return nil, true
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
			return call.Args(), false
		case operators.Index:
			return nil, true
		}
		if call.IsMemberFunction() {
			deeper = append(deeper, call.Target())
		}
		for _, a := range call.Args() {
			if a.Kind() != ast.LiteralKind && a.Kind() != ast.ListKind {
				deeper = append(deeper, a)
			}
		}
		return deeper, true
	}
	return nil, false
}

func valueOf(state interpreter.EvalState, id int64) (string, bool) {
	v, ok := state.Value(id)
	if !ok {
		return "", false
	}
	return showValue(v)
}

func showValue(v ref.Val) (string, bool) {
	switch v := v.(type) {
	case types.String:
		return fmt.Sprintf("%q", shorten(hush(string(v)))), true
	case types.Timestamp, types.Duration, types.Bytes:
		return fmt.Sprint(v.Value()), true
	case *types.Unknown:
		return "", false
	}
	if types.IsError(v) {
		return "failed", true
	}
	b, ok := appendValue(nil, v, hush, 0)
	return string(b), ok
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxValueText {
		return string(r[:maxValueText-1]) + "…"
	}
	return s
}

// String gives the explanation as text: the verdict, then each rule that
// matched, then those that were near: the right kind and tool, but no match.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", x.Verdict.Effect)
	for _, r := range x.Verdict.Reasons {
		note := ""
		switch {
		case r.Exception != "":
			note = ", lifted by the exception " + r.Exception
		case r.Observe:
			note = ", only observed"
		}
		fmt.Fprintf(&b, "  %s (%s%s) %s\n", r.Rule, r.Code, note, r.Message)
		for _, t := range r.Traces {
			fmt.Fprintf(&b, "    %s\n", t)
		}
		if r.Instead != "" {
			fmt.Fprintf(&b, "    instead: %s\n", r.Instead)
		}
	}
	for _, c := range x.Verdict.Conditions {
		fmt.Fprintf(&b, "  on condition: %s\n", c)
	}
	for _, matched := range []bool{true, false} {
		for _, r := range x.Rules {
			if r.Matched != matched {
				continue
			}
			mark := "-"
			if matched {
				mark = "+"
			}
			fmt.Fprintf(&b, "%s %s (%s:%d, %s): %s\n", mark, r.Rule, r.File, r.Line, r.Effect, r.Why)
			for _, v := range r.Values {
				fmt.Fprintf(&b, "    %s = %s\n", v.Expression, v.Value)
			}
		}
	}
	return b.String()
}
