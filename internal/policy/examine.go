package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"reeve.example/reeve/internal/risk"
)

// examiner looks through one expression for what CEL's own checker accepts
// and a policy should not contain.
type examiner struct {
	*document
	*compiler
	node    *node
	native  *ast.AST
	strict  bool // unguarded reads are faults
	anyTool bool // the rule is for every tool
	failed  bool
	found   risk.Detector
	reads   []argPath
	// What a condition that goes through names could compare them with.
	loops  bool
	ranges map[int64]bool  // what loops go through, where that is an argument
	items  map[string]bool // and their variables
	// traces says that it asks for the origin of something.
	traces bool
	habits bool     // it asks what is usual
	past   []string // the acts that it asks the session's past for
	// follows says that it reads something of where the session's values came from.
	follows bool
	texts   []string
	lists   []string // by the variable's name
}

func (x *examiner) fail(e ast.Expr, hint, format string, args ...any) {
	x.failed = true
	x.exprFault(x.node, x.native.SourceInfo().GetStartLocation(e.ID()), hint, format, args...)
}

// names checks that every name in e is known, and patterns are literal. bound
// holds the variables of the loops around e.
func (x *examiner) names(e ast.Expr, bound []string) {
	switch e.Kind() {
	case ast.LiteralKind:
		if text, ok := stringLiteral(e); ok {
			x.texts = append(x.texts, text)
		}
	case ast.IdentKind:
		x.ident(e, bound)
	case ast.SelectKind:
		x.selection(e, bound)
	case ast.CallKind:
		x.call(e, bound)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			x.names(item, bound)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			x.names(entry.AsMapEntry().Key(), bound)
			x.names(entry.AsMapEntry().Value(), bound)
		}
	case ast.StructKind:
		x.fail(e, "", "objects of the type %s are not supported", e.AsStruct().TypeName())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		x.loops = true
		if c.IterVar2() == "" && x.ofArgument(c.IterRange()) {
			if x.ranges == nil {
				x.ranges, x.items = map[int64]bool{}, map[string]bool{}
			}
			x.ranges[c.IterRange().ID()], x.items[c.IterVar()] = true, true
		}
		x.names(c.IterRange(), bound)
		for _, v := range []string{c.IterVar(), c.IterVar2()} {
			// A variable that hides what reeve established would let a
			// condition be read as something that it is not.
			if slices.Contains(globalNames, v) {
				x.fail(e, "choose another name", "a loop's variable cannot be called %s", v)
			}
			bound = append(bound[:len(bound):len(bound)], v)
		}
		x.names(c.AccuInit(), bound)
		bound = append(bound, c.AccuVar())
		x.names(c.LoopCondition(), bound)
		x.names(c.LoopStep(), bound)
		x.names(c.Result(), bound)
	}
}

func (x *examiner) ident(e ast.Expr, bound []string) {
	name := e.AsIdent()
	switch {
	case slices.Contains(bound, name):
	case strings.HasPrefix(name, foundPrefix):
		of := strings.TrimPrefix(name, foundPrefix)
		bits, ok := x.compiler.of.detectorOf(of)
		if !ok {
			x.fail(e, didYouMean(of, x.compiler.of.detectorNames()), "there is no detector %q", of)
		}
		x.found |= bits
	case strings.HasPrefix(name, violatesPrefix):
	case name == pastOfAct:
	case name == originsOfAct:
		x.traces, x.follows = true, true
	case name == habitsOfAct:
		x.habits, x.follows = true, true
	case slices.Contains(namespaces, name):
		x.fail(e, "it has "+strings.Join(x.fields(name), ", "), "%s alone is not a value", name)
	case slices.Contains(globalNames, name), isTypeName(name):
	default:
		x.fail(e, didYouMean(name, globalNames), "there is no variable %q", name)
	}
}

func isTypeName(name string) bool {
	return slices.Contains([]string{"bool", "bytes", "double", "int", "uint", "string", "list", "map", "null_type", "type"}, name)
}

// fields lists what stands in a namespace.
func (x *examiner) fields(namespace string) []string {
	if namespace == "lists" {
		return x.listNames
	}
	var names []string
	for _, v := range variables {
		if rest, ok := strings.CutPrefix(v.name, namespace+"."); ok {
			names = append(names, rest)
		}
	}
	return names
}

// selection checks a chain such as action.principal.name.
func (x *examiner) selection(e ast.Expr, bound []string) {
	var fields []string
	root := e
	for root.Kind() == ast.SelectKind {
		fields = append(fields, root.AsSelect().FieldName())
		root = root.AsSelect().Operand()
	}
	slices.Reverse(fields)
	if root.Kind() != ast.IdentKind || slices.Contains(bound, root.AsIdent()) || !slices.Contains(namespaces, root.AsIdent()) {
		x.names(root, bound)
		return
	}
	namespace := root.AsIdent()
	x.habits = x.habits || namespace == "habits"
	known := x.fields(namespace)
	depth := 0 // how many of the fields name the variable
	for i := range fields {
		if slices.Contains(known, strings.Join(fields[:i+1], ".")) {
			depth = i + 1
		}
	}
	if namespace == "lists" && depth > 0 {
		x.lists = append(x.lists, "lists."+strings.Join(fields[:depth], "."))
	}
	if namespace == "session" && slices.Contains(followed, strings.Join(fields[:depth], ".")) {
		x.follows = true
	}
	switch {
	case depth == 0 && namespace == "lists" && len(known) == 0:
		x.fail(e, "define it under lists:", "there is no list %q", fields[0])
	case depth == 0:
		x.fail(e, didYouMean(strings.Join(fields, "."), known), "%s has no %s", namespace, strings.Join(fields, "."))
	case e.AsSelect().IsTestOnly() && depth == len(fields):
		x.fail(e, "compare it with an empty text or zero instead", "has(%s.%s) is of no use: it is always there",
			namespace, strings.Join(fields, "."))
	}
}

func (x *examiner) call(e ast.Expr, bound []string) {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		x.names(call.Target(), bound)
	}
	for _, a := range args {
		x.names(a, bound)
	}
	name := call.FunctionName()
	if name == pastCall {
		x.pastOf(e, args[0])
	}
	if name == "matches" && len(args) > 0 {
		last := args[len(args)-1]
		if pattern, ok := stringLiteral(last); !ok {
			x.fail(last, `write it in quotes: matches("…")`, "a pattern must be written out, so that it can be checked and compiled at load")
		} else if _, known := x.breadths[pattern]; !known {
			broad, problem, hint := patternFault(pattern)
			if problem != "" {
				x.fail(last, hint, "the pattern %#q cannot be used: %s", shorten(pattern), problem)
			} else {
				x.breadths[pattern] = broad
			}
		}
	}
	switch {
	case isOperator(name) || x.env.HasFunction(name):
	case macroForms[name] != "":
		x.fail(e, "write "+macroForms[name], "%s() is not called so", name)
	default:
		x.fail(e, didYouMean(name, functionNames(x.env)), "there is no function %s()", name)
	}
}

// macroForms is how macros are called, for who calls them otherwise: they are then taken
// for functions that there are not.
var macroForms = map[string]string{
	"has": "has(args.name)", "all": "list.all(x, …)", "exists": "list.exists(x, …)", "exists_one": "list.exists_one(x, …)",
	"filter": "list.filter(x, …)", "map": "list.map(x, …)", "found": `found("secret")`, "violates": `violates("session.loop")`,
	"did": `did("mail") or did("mail", "1h")`, "approved": `approved("mail")`, mayBe: `args.name.may_be("value")`,
	originName: "args.name.origin()", usualName: "args.name.usual()",
}

// isOperator tells operators and the results of macros from functions' names.
func isOperator(name string) bool {
	return strings.ContainsAny(name[:1], "_!-") || strings.Contains(name, "@")
}

func functionNames(env *cel.Env) []string {
	names := slices.Collect(maps.Keys(macroForms))
	for name := range env.Functions() {
		if !isOperator(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hintFor explains some of the checker's messages.
func hintFor(e *common.Error) string {
	if strings.Contains(e.Message, "(string, int)") || strings.Contains(e.Message, "(int, string)") {
		return "one side is a text and the other a number"
	}
	return ""
}

// argPath is a place below args, such as ["user", "name"] for args.user.name.
// An index that is not a literal text stands as its expression in brackets.
type argPath []string

func (p argPath) String() string {
	var b strings.Builder
	b.WriteString("args")
	for _, s := range p {
		switch {
		case strings.HasPrefix(s, "["):
			b.WriteString(s)
		case isIdentifier(s):
			b.WriteString("." + s)
		default:
			fmt.Fprintf(&b, "[%q]", s)
		}
	}
	return b.String()
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// facts is a set of places below args that are known to exist.
type facts map[string]bool

func (f facts) with(more facts) facts {
	if len(more) == 0 {
		return f
	}
	sum := make(facts, len(f)+len(more))
	for k := range f {
		sum[k] = true
	}
	for k := range more {
		sum[k] = true
	}
	return sum
}

// without leaves out what speaks of an index that now means another.
func (f facts) without(index string) facts {
	rest := make(facts, len(f))
	for k := range f {
		if !strings.Contains(k, index) {
			rest[k] = true
		}
	}
	return rest
}

func (f facts) common(g facts) facts {
	both := facts{}
	for k := range f {
		if g[k] {
			both[k] = true
		}
	}
	return both
}

// guards checks that every argument is known to exist where it is read. A rule
// for any tool meets calls without the argument; reading it then fails, and a
// failing deny rule matches, so that the unguarded rule would deny every call
// of every other tool.
//
// known are the arguments known from elsewhere: for a replacement's value, from
// its rule's condition.
func (x *examiner) guards(known facts) { x.guarded(x.native.Expr(), known) }

func (x *examiner) guarded(e ast.Expr, known facts) {
	if p, ok := x.argPath(e); ok && len(p) > 0 {
		x.read(e, p, known)
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		x.guarded(e.AsSelect().Operand(), known)
	case ast.CallKind:
		x.guardedCall(e, known)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			x.guarded(item, known)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			x.guarded(entry.AsMapEntry().Key(), known)
			x.guarded(entry.AsMapEntry().Value(), known)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		x.guarded(c.IterRange(), known)
		inner := known.without("[" + c.IterVar() + "]").without("[" + c.IterVar2() + "]")
		if p, ok := x.argPath(c.IterRange()); ok {
			// In args.exists(k, …) every args[k] exists.
			inner = inner.with(facts{append(p[:len(p):len(p)], "["+c.IterVar()+"]").String(): true})
		}
		x.guarded(c.AccuInit(), known)
		x.guarded(c.LoopStep(), inner)
		x.guarded(c.Result(), known)
	}
}

func (x *examiner) guardedCall(e ast.Expr, known facts) {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		// && takes either side's failure for false when the other side is
		// false, so each side guards the other.
		x.guarded(args[0], known.with(x.implied(args[1], true)))
		x.guarded(args[1], known.with(x.implied(args[0], true)))
		return
	case operators.LogicalOr:
		x.guarded(args[0], known.with(x.implied(args[1], false)))
		x.guarded(args[1], known.with(x.implied(args[0], false)))
		return
	case operators.Conditional:
		x.guarded(args[0], known)
		x.guarded(args[1], known.with(x.implied(args[0], true)))
		x.guarded(args[2], known.with(x.implied(args[0], false)))
		return
	}
	if call.IsMemberFunction() {
		x.guarded(call.Target(), known)
	}
	for _, a := range args {
		x.guarded(a, known)
	}
	if call.FunctionName() == mayBe && x.anyTool {
		x.meant(e, call.Target(), known)
	}
}

// meant refuses may_be() where it would hold for the calls of all other tools.
func (x *examiner) meant(e, target ast.Expr, known facts) {
	for target.Kind() == ast.CallKind && slices.Contains([]string{operators.OptSelect, operators.OptIndex}, target.AsCall().FunctionName()) {
		args := target.AsCall().Args()
		first := argPath{x.index(args[1])}
		if args[0].Kind() == ast.IdentKind && args[0].AsIdent() == "args" && !known[first.String()] {
			x.fail(e, "name the tools, or write has("+first.String()+") && …", "%s.may_be() holds for every call without this argument, in a rule for all tools", first)
		}
		target = args[0]
	}
}

// exact returns the arguments that must be one text exactly for e to have the value
// truth. A rule that stops by it is passed with ["text"], "Text" or "text ".
func (x *examiner) exact(e ast.Expr, truth bool) (all []argPath) {
	if e.Kind() != ast.CallKind {
		return nil
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalNot:
		return x.exact(args[0], !truth)
	case operators.LogicalAnd, operators.LogicalOr:
		return append(x.exact(args[0], truth), x.exact(args[1], truth)...)
	case operators.Equals, operators.NotEquals:
		for i := range 2 {
			_, text := stringLiteral(args[1-i])
			if p, ok := x.argPath(args[i]); ok && len(p) > 0 && text && truth == (name == operators.Equals) {
				all = append(all, p)
			}
		}
	case operators.In, operators.OldIn:
		if p, ok := x.argPath(args[0]); ok && len(p) > 0 && truth {
			all = append(all, p)
		}
	}
	return all
}

// read checks one read of an argument: all places on the way must exist.
func (x *examiner) read(e ast.Expr, p argPath, known facts) {
	x.reads = append(x.reads, p)
	if !x.strict {
		return
	}
	for i := range p {
		if isListIndex(p[i]) {
			continue
		}
		if step := p[:i+1]; !known[step.String()] {
			guard := fmt.Sprintf("has(%s)", step)
			if !strings.HasPrefix(step[i], "[") && !isIdentifier(step[i]) {
				guard = fmt.Sprintf("%q in %s", step[i], step[:i])
			} else if strings.HasPrefix(step[i], "[") {
				guard = fmt.Sprintf("%s in %s", strings.Trim(step[i], "[]"), step[:i])
			}
			x.fail(e, "write "+guard+" && …, or name the tools in full",
				"%s is read without knowing that it exists, in a rule that applies to many tools", step)
			return
		}
	}
}

func isListIndex(s string) bool {
	return len(s) > 2 && s[0] == '[' && s[1] >= '0' && s[1] <= '9'
}

// implied returns what must exist when e has the value truth.
func (x *examiner) implied(e ast.Expr, truth bool) facts {
	switch e.Kind() {
	case ast.SelectKind:
		if p, ok := x.argPath(e.AsSelect().Operand()); ok && truth && e.AsSelect().IsTestOnly() {
			return existing(append(p[:len(p):len(p)], e.AsSelect().FieldName()))
		}
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case operators.LogicalNot:
			return x.implied(args[0], !truth)
		case operators.LogicalAnd, operators.LogicalOr:
			a, b := x.implied(args[0], truth), x.implied(args[1], truth)
			if (call.FunctionName() == operators.LogicalAnd) == truth {
				return a.with(b)
			}
			return a.common(b)
		case operators.In, operators.OldIn:
			if p, ok := x.argPath(args[1]); ok && truth {
				return existing(append(p[:len(p):len(p)], x.index(args[0])))
			}
		}
	}
	return nil
}

// existing says that a place and everything on the way to it exist.
func existing(p argPath) facts {
	f := facts{}
	for i := range p {
		f[p[:i+1].String()] = true
	}
	return f
}

// argPath returns the place below args that e reads; args itself is the empty path.
func (x *examiner) argPath(e ast.Expr) (argPath, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == "args"
	case ast.SelectKind:
		s := e.AsSelect()
		if s.IsTestOnly() {
			return nil, false
		}
		if p, ok := x.argPath(s.Operand()); ok {
			return append(p[:len(p):len(p)], s.FieldName()), true
		}
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index {
			return nil, false
		}
		if p, ok := x.argPath(call.Args()[0]); ok {
			return append(p[:len(p):len(p)], x.index(call.Args()[1])), true
		}
	}
	return nil, false
}

// ofArgument reports whether e is one argument, or another value where it is missing.
func (x *examiner) ofArgument(e ast.Expr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		p, ok := x.argPath(e)
		return ok && len(p) > 0
	case ast.IdentKind: // a loop's variable in a loop
		return x.items[e.AsIdent()]
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index:
			p, ok := x.argPath(e)
			return ok && len(p) > 0
		case operators.OptSelect, operators.OptIndex:
			return belowArgs(call.Args()[0]) || x.ofArgument(call.Args()[0])
		case "orValue":
			return x.ofArgument(call.Target())
		}
	}
	return false
}

// index names an index: a literal text as itself, all else in brackets.
func (x *examiner) index(e ast.Expr) string {
	if s, ok := stringLiteral(e); ok {
		return s
	}
	if e.Kind() == ast.LiteralKind {
		if n, ok := e.AsLiteral().(types.Int); ok {
			return fmt.Sprintf("[%d]", int64(n))
		}
	}
	text, err := cel.ExprToString(e, x.native.SourceInfo())
	if err != nil {
		text = fmt.Sprintf("?%d", e.ID())
	}
	return "[" + text + "]"
}
