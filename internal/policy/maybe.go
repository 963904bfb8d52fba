package policy

import (
	"slices"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
)

// mayBe is the function for rules that stop: args.environment.may_be("production")
// is false only of a call that says another environment. A value that is compared
// with == is silent for ["production"], "Production" and "production ", and for a
// call that leaves it out, of which nobody knows what the tool then takes.
const mayBe = "may_be"

// mayBeMacro lets the argument that may_be() looks at be missing: args.a.may_be(x)
// becomes args.?a.may_be(x).
func mayBeMacro(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	return eh.NewMemberCall(mayBe, optionally(eh, target), args[0]), nil
}

// optionally makes a selection below args one that may lead to nothing.
func optionally(eh cel.MacroExprFactory, e ast.Expr) ast.Expr {
	switch {
	case !belowArgs(e) || e.Kind() == ast.IdentKind:
		return e
	case e.Kind() == ast.SelectKind:
		s := e.AsSelect()
		return eh.NewCall(operators.OptSelect, optionally(eh, s.Operand()), eh.NewLiteral(types.String(s.FieldName())))
	}
	call := e.AsCall()
	return eh.NewCall(operators.OptIndex, optionally(eh, call.Args()[0]), call.Args()[1])
}

// belowArgs reports whether an expression is args or selects something below it.
func belowArgs(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent() == "args"
	case ast.SelectKind:
		return !e.AsSelect().IsTestOnly() && belowArgs(e.AsSelect().Operand())
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index && belowArgs(e.AsCall().Args()[0])
	}
	return false
}

var mayBeOptions = []cel.EnvOption{
	cel.Macros(cel.ReceiverMacro(mayBe, 1, mayBeMacro)),
	cel.Function(mayBe,
		cel.MemberOverload("dyn_may_be", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType, cel.BinaryBinding(evalMayBe)),
		cel.MemberOverload("dyn_may_be_list", []*cel.Type{cel.DynType, cel.ListType(cel.StringType)}, cel.BoolType, cel.BinaryBinding(evalMayBe))),
}

func evalMayBe(value, names ref.Val) ref.Val {
	globs, ok := texts(names)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	forms := make([]string, len(globs))
	for i, g := range globs {
		if forms[i], _ = canon.Name(g); len(forms[i]) > maxGlob {
			return types.NewErr("a name is too long to be looked for by may_be()")
		}
	}
	if o, ok := value.(*types.Optional); ok {
		if value = types.NullValue; o.HasValue() {
			value = o.GetValue()
		}
	}
	if types.IsUnknownOrError(value) {
		return value
	}
	said, is := saidToBe(value, forms)
	return types.Bool(is || !said)
}

// saidToBe looks for names in a value and all that is in it. said reports whether
// it says anything, and is whether it says one of the names.
func saidToBe(v ref.Val, forms []string) (said, is bool) {
	switch v := v.(type) {
	case types.Null:
		return false, false
	case types.String:
		return textToBe(string(v), forms)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			value, found := v.Find(key)
			if found && types.IsUnknownOrError(value) { // given twice: nobody knows what is said
				return false, true
			}
			if name, ok := key.(types.String); ok {
				_, named := textToBe(string(name), forms)
				is = is || named
			}
			if found {
				says, named := saidToBe(value, forms)
				said, is = said || says, is || named
			}
		}
		return said, is
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			says, named := saidToBe(it.Next(), forms)
			said, is = said || says, is || named
		}
		return said, is
	}
	if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
		return textToBe(string(text), forms)
	}
	return false, false
}

// textToBe looks for names in a text: as the whole of it and as one of its words,
// so that neither "production," nor "env=production" is another thing.
func textToBe(text string, forms []string) (said, is bool) {
	text = canon.Visible(text)
	whole, _ := canon.Name(strings.TrimSpace(text))
	if len(whole) <= maxGlobText && slices.ContainsFunc(forms, func(f string) bool { return glob.Match(f, whole) }) {
		return true, true
	}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return !ofWord(c) }) {
		said = true
		word, _ := canon.Name(word)
		if slices.ContainsFunc(forms, func(f string) bool { return glob.Match(f, word) }) {
			return true, true
		}
	}
	return said, false
}

func ofWord(c rune) bool {
	return c == '-' || c == '_' || unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.So)
}
