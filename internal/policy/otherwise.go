package policy

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"reeve.example/reeve/internal/words"
)

// Bounds of what is said: a condition of many alternatives has very many ways out.
const (
	maxOtherwise     = 6
	maxAtoms         = 16
	maxTurned        = 3   // of them at once
	maxOtherwiseText = 200 // characters
)

// otherwise are the ways in which an act would have to differ for a rule not to match it. It
// says nothing of other rules, which can stop the act that differs.
func (e *evaluation) otherwise(r *rule, m *match, condition *watched) (ways []string) {
	a := e.in.Action
	if r.tools != nil {
		ways = append(ways, fmt.Sprintf("the tool is another than %s", a.Canonical))
	}
	if r.acts != nil {
		ways = append(ways, "it is none of the acts "+strings.Join(r.acts, ", "))
	}
	if r.check != nil {
		var failed []string
		for _, v := range e.in.Violations {
			if slices.Contains(r.check, v.Check) && !slices.Contains(failed, v.Check) {
				failed = append(failed, v.Check)
			}
		}
		ways = append(ways, "it passes the check "+strings.Join(failed, " and "))
	}
	switch {
	case r.effects != nil:
		ways = append(ways, fmt.Sprintf("nothing in it that weighs %.2f or more has such an effect: %s", r.hazard, strings.Join(r.effects, ", ")))
	case r.hazard > 0:
		ways = append(ways, fmt.Sprintf("its hazards score less than %.2f (they score %.2f)", r.hazard, e.assess().Score))
	}
	if r.detect != 0 {
		ways = append(ways, "this is not found in it: "+e.set.nameOf(e.foundMask&r.detect))
	}
	if r.usual {
		ways = append(ways, "it is usual for its agent")
	}
	switch {
	case m.err != nil:
		ways = append(ways, "the condition can be evaluated")
	case condition != nil:
		ways = append(ways, condition.ways()...)
	}
	return ways[:min(len(ways), maxOtherwise)]
}

// atoms are the parts of a condition that have no parts of their own, each once, with what
// they were. ok is false for one that has too many, or none of whose value is known.
func (c *watched) atoms(x ast.Expr, at map[string]int, list *[]atom) (ok bool) {
	if parts, _ := junction(x); parts != nil {
		for _, part := range parts {
			if !c.atoms(part, at, list) {
				return false
			}
		}
		return true
	}
	text, err := cel.ExprToString(x, c.ast.NativeRep().SourceInfo())
	v, known := c.state.Value(x.ID())
	was, is := v.(types.Bool)
	if err != nil || !known || !is {
		return false
	}
	if _, has := at[text]; !has {
		at[text] = len(*list)
		one := atom{text: words.Shorten(hush(text), maxOtherwiseText), was: bool(was)}
		if x.Kind() == ast.CallKind && !x.AsCall().IsMemberFunction() {
			one.text = "(" + one.text + ")"
		}
		*list = append(*list, one)
	}
	return len(*list) <= maxAtoms
}

// atom is a part of a condition that is true or false, and which it was.
type atom struct {
	text string
	was  bool
}

// junction are the parts of what is put together of others by and, or, and not.
func junction(x ast.Expr) (parts []ast.Expr, operator string) {
	if x.Kind() != ast.CallKind {
		return nil, ""
	}
	switch call := x.AsCall(); call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		return call.Args(), call.FunctionName()
	}
	return nil, ""
}

// holds is what a condition is with some of its atoms the other way round. The same atom in
// two places is one.
func (c *watched) holds(x ast.Expr, at map[string]int, atoms []atom, turned []int) bool {
	parts, operator := junction(x)
	if parts == nil {
		text, _ := cel.ExprToString(x, c.ast.NativeRep().SourceInfo())
		i := at[text]
		return atoms[i].was != slices.Contains(turned, i)
	}
	for _, part := range parts {
		is := c.holds(part, at, atoms, turned)
		switch {
		case operator == operators.LogicalNot:
			return !is
		case is == (operator == operators.LogicalOr):
			return is
		}
	}
	return operator == operators.LogicalAnd
}

// ways are the smallest sets of atoms that make a condition false which was true, when they
// are the other way round.
func (c *watched) ways() (ways []string) {
	x := c.ast.NativeRep().Expr()
	var atoms []atom
	at := map[string]int{}
	if !c.atoms(x, at, &atoms) {
		return nil
	}
	var found [][]int
	for _, turned := range subsets(len(atoms), maxTurned) {
		if slices.ContainsFunc(found, func(less []int) bool {
			return !slices.ContainsFunc(less, func(i int) bool { return !slices.Contains(turned, i) })
		}) || c.holds(x, at, atoms, turned) {
			continue
		}
		found = append(found, turned)
		var all []string
		for _, i := range turned {
			if atoms[i].was {
				all = append(all, "not "+atoms[i].text)
			} else {
				all = append(all, atoms[i].text)
			}
		}
		ways = append(ways, strings.Join(all, " and "))
	}
	return ways
}

// subsets are the sets of the numbers below n with so many members at most, smaller ones first.
func subsets(n, most int) (sets [][]int) {
	last := [][]int{{}}
	for range most {
		var next [][]int
		for _, set := range last {
			from := 0
			if len(set) > 0 {
				from = set[len(set)-1] + 1
			}
			for i := from; i < n; i++ {
				next = append(next, append(slices.Clone(set), i))
			}
		}
		sets, last = append(sets, next...), next
	}
	return sets
}
