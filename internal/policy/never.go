package policy

import (
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// What is said here of a rule is certain. Of most conditions nobody can tell beforehand whether there
// will be an act for which they are true, and of these nothing is said.

// never says why a rule can meet no act; empty where that is not plain.
func (r *rule) never() string {
	if r.tools != nil && r.kinds&^spoken == 0 && !slices.ContainsFunc(r.tools, func(g string) bool { return glob.Match(g, "") }) {
		return "it is for named tools, and what is said by a user, an agent or a system has none"
	}
	if r.when == nil {
		return ""
	}
	folded := r.when.folded()
	if is, known := constant(folded); known && !is {
		return "its condition is never true"
	}
	wants := map[string]ref.Val{}
	for _, part := range conjuncts(folded, nil) {
		if is, known := constant(part); known && !is {
			return "a part of its condition is never true"
		}
		what, value := equation(part)
		if what == "" {
			continue
		}
		if had, ok := wants[what]; ok && had.Equal(value) != types.True {
			return fmt.Sprintf("its condition wants %s to be two things at once", what)
		}
		wants[what] = value
		text, isText := value.Value().(string)
		switch {
		case !isText:
		case what == "action.kind" && r.kinds&(1<<otherPlace) == 0 && !r.kinds.named(text):
			return fmt.Sprintf("its condition wants the kind %.60q, and it is for others", text)
		case what == "action.tool" && r.tools != nil && !slices.ContainsFunc(r.tools, func(g string) bool { return glob.Match(g, text) }):
			return fmt.Sprintf("its condition wants the tool %.60q, and it is for others", text)
		case what == "action.tool":
			if name, _ := canon.Name(text); name != text {
				return fmt.Sprintf("action.tool is the name in its one form, and never %.60q: compare it with %.60q", text, name)
			}
		}
	}
	return ""
}

// spoken are the kinds of act that are nobody's call and have no tool.
var spoken = func() (s kindSet) {
	for _, k := range []act.Kind{act.MessageUser, act.MessageAgent, act.MessageSystem} {
		s |= 1 << kindPlace[k]
	}
	return s
}()

// named reports whether one of the kinds has such a name.
func (s kindSet) named(name string) bool {
	if name == string(act.MCPRequest) && s&(1<<mcpCallPlace) != 0 {
		return true
	}
	place, ok := kindPlace[act.Kind(name)]
	return ok && s&(1<<place) != 0
}

// folded is the condition with all worked out in it that is the same for every act.
func (c *condition) folded() ast.Expr {
	folding, err := cel.NewConstantFoldingOptimizer(cel.MaxConstantFoldIterations(100))
	if err == nil {
		var optimizer *cel.StaticOptimizer
		if optimizer, err = cel.NewStaticOptimizer(folding); err == nil {
			if done, issues := optimizer.Optimize(c.env, c.ast); issues.Err() == nil {
				return done.NativeRep().Expr()
			}
		}
	}
	return c.ast.NativeRep().Expr() // which says less
}

// constant is what an expression is for every act; known is false where that is not plain.
func constant(e ast.Expr) (is, known bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		is, known = e.AsLiteral().Value().(bool)
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.LogicalNot:
			is, known = constant(args[0])
			is = !is
		case operators.LogicalAnd, operators.LogicalOr:
			strong := e.AsCall().FunctionName() == operators.LogicalOr // which one of them is enough for
			both := true
			for _, arg := range args {
				one, ok := constant(arg)
				if ok && one == strong {
					return strong, true
				}
				both = both && ok
			}
			is, known = !strong, both
		}
	}
	return is, known
}

// conjuncts are the parts of a condition that all have to be true.
func conjuncts(e ast.Expr, list []ast.Expr) []ast.Expr {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
		for _, arg := range e.AsCall().Args() {
			list = conjuncts(arg, list)
		}
		return list
	}
	return append(list, e)
}

// equation is what a part of a condition wants to be what; empty where it is no such thing.
func equation(e ast.Expr) (what string, value ref.Val) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Equals {
		return "", nil
	}
	args := e.AsCall().Args()
	for i := range 2 {
		if name := placeName(args[i]); name != "" && args[1-i].Kind() == ast.LiteralKind {
			return name, args[1-i].AsLiteral()
		}
	}
	return "", nil
}

// placeName is the name of a place such as args.to or action.kind; empty for anything else.
func placeName(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if of := placeName(e.AsSelect().Operand()); of != "" && !e.AsSelect().IsTestOnly() {
			return of + "." + e.AsSelect().FieldName()
		}
	}
	return ""
}

// idle is a rule before another one that says the same of all that it is for, so that the other changes
// no decision: nil where nothing is certain.
func (s *Set) idle(r *rule) *rule {
	if r.observe || r.terms != nil || r.effect != act.Deny && r.effect != act.Escalate || r.endorse {
		return nil
	}
	for _, o := range s.rules {
		if o.order < r.order && o.effect == r.effect && o.always() && o.terms == nil && r.kinds&^o.kinds == 0 && covers(o.tools, r.tools) &&
			!slices.ContainsFunc(s.except, func(x *exception) bool { return lifts(x, o) }) {
			return o
		}
	}
	return nil
}

// renamed is the name that a coding agent's hook gives a tool which a rule names as the agent does; empty
// where the rule holds there, too. Words that are the tools of others as well mean those.
func (r *rule) renamed(tool string) string {
	common, ok := canon.CommonTool(tool)
	if !ok || isGlob(tool) || slices.ContainsFunc(r.tools, func(g string) bool { return glob.Match(g, common) }) || slices.Contains(strings.Fields(manysWords), tool) {
		return ""
	}
	return common
}

const manysWords = "create delete list search view task agent patch replace fetch"

// renamedArguments are the arguments that a rule for tools of coding agents alone reads by the names that
// these give them, each with the one that the hooks give it.
func (r *rule) renamedArguments() (given, common []string) {
	if r.when == nil || r.tools == nil || slices.ContainsFunc(r.tools, func(g string) bool { name, ok := canon.CommonTool(g); return !ok || name != g }) {
		return nil, nil
	}
	for _, p := range r.when.reads {
		if len(p) == 0 {
			continue
		}
		if name, ok := canon.CommonArgument(p[0]); ok && !slices.Contains(given, p[0]) && !slices.ContainsFunc(r.when.reads, func(o argPath) bool { return len(o) > 0 && o[0] == name }) {
			given, common = append(given, p[0]), append(common, name)
		}
	}
	return given, common
}
