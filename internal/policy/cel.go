package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// Limits of a condition. A condition's cost is bounded when it is loaded, for
// a request of the sizes below, since counting while it runs would cost three
// to five times as much as the condition itself.
const (
	maxCondition   = 8 << 10      // characters
	maxCost        = 50_000_000   // CEL cost units; one is some 10 to 100 nanoseconds at the very worst
	maxCostAtOnce  = 20 * maxCost // of all conditions that one act can meet
	maxRegex       = 3_000        // instructions of a compiled pattern
	maxBreadth     = 200          // instructions of a pattern that one character can set to work
	costOfOrigin   = 1            // CEL cost units of each character whose origin is asked
	costOfStep     = 0.1          // CEL cost units of each of them
	maxLoops       = 3            // loops within loops
	sizeOfText     = 1_000_000    // bytes of all text together
	sizeOfLeaves   = 1_000        // texts in a request, and bytes of each in a loop
	sizeOfArgs     = 100          // arguments of a call
	sizeOfArgument = 100_000      // bytes of one argument read by its name
	sizeOfItem     = 10           // bytes of each of its members in a loop
	sizeOfName     = 1_000        // bytes of a name or an id
	sizeOfHost     = 100          // bytes of a host
)

// condition is a compiled expression. It is safe for concurrent use.
type condition struct {
	text    string
	ast     *cel.Ast
	env     *cel.Env
	program cel.Program
	cost    uint64        // at most
	found   risk.Detector // what its calls of found() ask for
	traces  bool          // it asks for the origin of something
	habits  bool          // it asks what is usual
	past    []string      // the names of the acts that it asks the session's past for
	follows bool          // it reads something of where the session's values came from
	reads   []argPath     // the arguments that it reads, for the report of a failure
	implied facts         // the arguments that exist when it holds
	exact   []argPath     // the arguments of which it needs to be one text exactly
	// spellings are the texts that it holds and could compare names with, when it
	// goes through the names of an object.
	spellings []spellings
}

// variable is one name that conditions may use.
type variable struct {
	name string
	typ  *cel.Type
	get  func(*evaluation) any
	doc  string
}

// Names of macros' results carry an @, which no expression can spell.
const (
	foundPrefix    = "@found."
	violatesPrefix = "@violates."
)

var (
	namespaces  = []string{"action", "agent", "user", "session", "habits", "lists"}
	globalNames = []string{"action", "agent", "user", "session", "habits", "lists", "args", "content", "paths", "text", "folded"}
)

// baseEnv is the environment without lists.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(jsonAdapter{}),
		cel.EnableMacroCallTracking(),
		cel.CrossTypeNumericComparisons(true),
		// Selecting from something that is no object is a failure rather than
		// "absent", so that a text in an object's place cannot silence a rule.
		cel.EnableErrorOnBadPresenceTest(true),
		cel.OptionalTypes(),
		ext.TwoVarComprehensions(),
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(64),
		cel.ExpressionNodeLimit(4000),
		cel.RegexProgramSizeLimit(maxRegex),
		cel.ASTValidators(
			cel.ValidateRegexLiterals(),
			cel.ValidateRegexProgramSizeLimit(maxRegex),
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(maxLoops),
		),
		cel.Macros(
			cel.GlobalMacro("found", 1, namedMacro("found", foundPrefix, "detector", nil)),
			cel.GlobalMacro("violates", 1, namedMacro("violates", violatesPrefix, "check", checkNames)),
		),
	}
	for _, v := range variables {
		options = append(options, cel.VariableWithDoc(v.name, v.typ, v.doc))
	}
	for _, name := range detectorNames {
		options = append(options, cel.Variable(foundPrefix+name, cel.BoolType))
	}
	for _, name := range checkNames {
		options = append(options, cel.Variable(violatesPrefix+name, cel.BoolType))
	}
	return cel.NewEnv(append(options, functionOptions()...)...)
})

// namedMacro turns found("secret") into a variable of that name, so that a
// misspelt name is found at load and the evaluation need not look it up. Without names
// the examiner knows which there are.
func namedMacro(function, prefix, what string, names []string) cel.MacroFactory {
	return func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		name, ok := stringLiteral(args[0])
		if !ok {
			return nil, eh.NewError(args[0].ID(), fmt.Sprintf("%s() takes the name of a %s in quotes", function, what))
		}
		if names != nil && !slices.Contains(names, name) {
			return nil, eh.NewError(args[0].ID(), fmt.Sprintf("there is no %s %q; %s", what, name, didYouMean(name, names)))
		}
		return eh.NewIdent(prefix + name), nil
	}
}

func stringLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// compiler compiles the conditions of one set.
type compiler struct {
	of        *Set
	env       *cel.Env
	listNames []string
	listSizes map[string]int        // by the variable's name
	lists     map[string]list       // by the variable's name
	listed    map[string]spellings  // of the lists that were asked for
	done      map[string]*condition // by kind and text: rules often share conditions
	breadths  map[string]int        // of the patterns, see breadth
}

func newCompiler(lists []list, of *Set) (*compiler, error) {
	env, err := baseEnv()
	if err != nil {
		return nil, err
	}
	c := &compiler{of: of, done: map[string]*condition{}, listSizes: map[string]int{}, lists: map[string]list{}, listed: map[string]spellings{}, breadths: map[string]int{}}
	var options []cel.EnvOption
	for _, l := range lists {
		values := types.NewStringList(jsonAdapter{}, l.values)
		options = append(options, cel.Constant("lists."+l.name, cel.ListType(cel.StringType), values))
		c.listNames = append(c.listNames, l.name)
		c.listSizes["lists."+l.name] = len(l.values)
		c.lists["lists."+l.name] = l
	}
	for _, o := range of.detectors.Own {
		options = append(options, cel.Variable(foundPrefix+o.Name, cel.BoolType))
	}
	c.env, err = env.Extend(options...)
	return c, err
}

// compile compiles one expression of a rule and reports its faults to d.
func (c *compiler) compile(d *document, p pending) *condition {
	if p.node.Kind != rawjson.String && p.node.Kind != rawjson.Bool && p.node.Kind != rawjson.Number {
		d.at(p.node, "quote it", "a condition is a CEL expression, not %s", p.node.Is())
		return nil
	}
	text := p.node.Text
	if strings.TrimSpace(text) == "" {
		d.at(p.node, "leave the key out if the rule has no condition", "the condition is empty")
		return nil
	}
	strict, anyTool := !p.rule.named(), p.rule.tools == nil
	key := fmt.Sprintf("%v %v %s", strict, anyTool, text)
	if done := c.done[key]; done != nil && p.part == whenPart {
		return done
	}
	parsed, issues := c.env.Parse(text)
	if issues.Err() != nil {
		d.celIssues(p.node, issues)
		return nil
	}
	x := &examiner{document: d, compiler: c, node: p.node, native: parsed.NativeRep(), strict: strict, anyTool: anyTool}
	x.names(x.native.Expr(), nil)
	if x.failed {
		return nil
	}
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		d.celIssues(p.node, issues)
		return nil
	}
	x.native = checked.NativeRep()
	known := facts{}
	if p.part == withPart {
		known[argPath{p.rule.change.argument}.String()] = true
		if p.rule.when != nil {
			known = known.with(p.rule.when.implied)
		}
	}
	x.guards(known)
	if t := checked.OutputType(); p.part == whenPart && !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		d.at(p.node, "compare it with something", "the condition is %s, not true or false", typeName(t))
		x.failed = true
	}
	if x.failed {
		return nil
	}
	estimate, err := c.env.EstimateCost(checked, estimator{c, x.ranges, x.items})
	if err != nil || estimate.Max > maxCost {
		d.at(p.node, "search less text, nest fewer loops, or shorten the patterns",
			"the condition could take too long: its cost is up to %s, and the limit is %d", costText(estimate.Max, err), maxCost)
		return nil
	}
	program, err := c.env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(literalFirst))
	if err != nil {
		d.at(p.node, "", "the condition cannot be compiled: %v", err)
		return nil
	}
	done := &condition{text: text, ast: checked, env: c.env, program: program, cost: estimate.Max, found: x.found, traces: x.traces, habits: x.habits, follows: x.follows, past: x.past, reads: x.reads, implied: x.implied(x.native.Expr(), true), exact: x.exact(x.native.Expr(), true),
		spellings: c.spellings(x)}
	if p.part == whenPart {
		c.done[key] = done
	}
	return done
}

// spellings gathers the texts that a condition could compare names with. What names
// no argument it compares with itself.
func (c *compiler) spellings(x *examiner) []spellings {
	if !x.loops {
		return nil
	}
	own := spellings{}
	for _, text := range x.texts {
		own.add(text)
	}
	all := []spellings{own}
	for _, name := range x.lists {
		s := c.listed[name]
		if s == nil {
			s = spellings{}
			for _, text := range c.lists[name].values {
				s.add(text)
			}
			c.listed[name] = s
		}
		all = append(all, s)
	}
	return all
}

func costText(max uint64, err error) string {
	if err != nil || max > 1<<62 {
		return "unbounded"
	}
	return fmt.Sprint(max)
}

// celIssues reports the first faults that CEL found in an expression.
func (d *document) celIssues(n *node, issues *cel.Issues) {
	for i, e := range issues.Errors() {
		if i == 3 {
			break
		}
		message, hint := plainWords(e)
		if hint == "" {
			hint = hintFor(e)
		}
		d.exprFault(n, e.Location, hint, "%s", message)
	}
}

// exprFault reports a fault at a place inside an expression.
func (d *document) exprFault(n *node, at common.Location, hint, format string, args ...any) {
	line, column := n.Line, n.Column
	if at != nil && at.Line() > 0 {
		line, column = d.place(n, at.Line(), at.Column())
	}
	d.fault(line, column, hint, format, args...)
}

// plainWords says in fewer words what CEL's messages say.
func plainWords(e *common.Error) (message, hint string) {
	message, _, _ = strings.Cut(e.Message, "\n")
	if rest, ok := strings.CutPrefix(message, "Syntax error: "); ok {
		rest, _, _ = strings.Cut(rest, " expecting ")
		if strings.Contains(rest, "<EOF>") {
			return "the expression is not complete", ""
		}
		return "this is not an expression: " + rest, ""
	}
	if rest, ok := strings.CutPrefix(message, "found no matching overload for '"); ok {
		function, types, _ := strings.Cut(rest, "' applied to '")
		if symbol, ok := operators.FindReverse(function); ok && symbol != "" {
			function = symbol
		}
		return fmt.Sprintf("%s cannot be applied to %s", strings.Trim(function, "_@"), strings.TrimSuffix(types, "'")), ""
	}
	if before, after, ok := strings.Cut(message, "; did you mean"); ok {
		return before, "did you mean" + after
	}
	return message, ""
}

func typeName(t *cel.Type) string {
	switch t.Kind() {
	case types.StringKind:
		return "a text"
	case types.IntKind, types.UintKind, types.DoubleKind:
		return "a number"
	case types.ListKind:
		return "a list"
	case types.MapKind:
		return "a mapping"
	case types.TimestampKind:
		return "a time"
	case types.DurationKind:
		return "a duration"
	}
	return "a " + cel.FormatCELType(t)
}

// estimator tells CEL's cost estimate how large the variables can be, and what
// functions cost.
type estimator struct {
	*compiler
	ranges map[int64]bool  // the expressions that loops go through, which are arguments
	items  map[string]bool // the loops' variables then
}

// EstimateSize says how large a value can be. What a loop goes through in an argument
// is many members or long ones: together they are no longer than the argument.
func (est estimator) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	path := n.Path()
	switch e := n.Expr(); {
	case e == nil && len(path) > 2 && path[0] == "args" && path[len(path)-1] == "@items", e == nil && len(path) == 0: // what a loop has at hand
		return upTo(sizeOfItem)
	case e == nil:
	case est.ranges[e.ID()]:
		return upTo(sizeOfArgument / sizeOfItem)
	case est.isItem(e):
		return upTo(sizeOfItem)
	}
	if len(path) == 0 {
		// Something computed, such as hosts(): as large as what it came from.
		switch n.Type().Kind() {
		case types.OpaqueKind: // an argument that may be missing
			return upTo(sizeOfArgument / sizeOfItem)
		case types.StringKind, types.BytesKind, types.ListKind, types.MapKind, types.DynKind:
			return upTo(sizeOfLeaves)
		}
		return nil
	}
	switch root := path[0]; {
	case root == "text" || root == "folded":
		return upTo(sizeOfText)
	case root == "content", root == "paths":
		return upTo(sizeOfLeaves)
	case root == "action.control", root == "action.carries":
		if len(path) == 1 {
			return upTo(sizeOfArgument / sizeOfItem)
		}
		return upTo(sizeOfItem)
	case root == "args" && len(path) == 1:
		return upTo(sizeOfArgs)
	case root == "args" && path[1] != "@values" && path[1] != "@keys":
		if len(path) == 2 {
			return upTo(sizeOfArgument)
		}
		return upTo(sizeOfLeaves)
	case strings.HasPrefix(root, "lists.") && len(path) == 1:
		return upTo(uint64(est.listSizes[root]))
	default:
		return upTo(sizeOfName)
	}
}

// isItem reports whether an expression is what a loop through an argument has at hand,
// or its text.
func (est estimator) isItem(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return est.items[e.AsIdent()]
	case ast.CallKind:
		call := e.AsCall()
		return call.FunctionName() == overloads.TypeConvertString && len(call.Args()) == 1 && est.isItem(call.Args()[0])
	}
	return false
}

func upTo(n uint64) *cost.SizeEstimate {
	e := cost.RangedSizeEstimate(0, n)
	return &e
}

func (est estimator) EstimateCallCost(function, overloadID string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	if function == overloads.Matches {
		if target == nil { // matches(text, "…")
			target, args = &args[0], args[1:]
		}
		pattern, _ := stringLiteral(args[0].Expr())
		perCharacter := costOfStep * float64(est.breadths[pattern])
		return cost.NewCallEstimate(cost.EstimateSize(est, *target).MultiplyByCostFactor(perCharacter), nil)
	}
	if overloadID == "dyn_origin" || overloadID == "dyn_usual" {
		return cost.NewCallEstimate(cost.EstimateSize(est, args[0]).MultiplyByCostFactor(costOfOrigin), nil)
	}
	perCharacter, own := functionCosts[strings.TrimSuffix(overloadID, "_list")]
	if !own || target == nil {
		return nil
	}
	size := cost.EstimateSize(est, *target)
	if function == mayBe {
		size = *upTo(sizeOfArgument)
	}
	work := size.MultiplyByCostFactor(perCharacter)
	if len(args) == 1 && args[0].Type().Kind() == types.ListKind {
		work = work.Multiply(cost.EstimateSize(est, args[0]).AsCost())
	}
	switch overloadID {
	case "string_hosts":
		hosts := cost.ListSizeEstimate(*upTo(maxHosts), *upTo(sizeOfHost))
		return cost.NewCallEstimate(work, &hosts)
	case "string_lower":
		return cost.NewCallEstimate(work, &size)
	}
	return cost.NewCallEstimate(work, nil)
}
