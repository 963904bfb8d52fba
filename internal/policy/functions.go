package policy

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"reeve.example/reeve/internal/glob"
)

// functionCosts are the costs of our functions for each character of the text
// that they work on, and for each element of a list given to them.
var functionCosts = map[string]float64{
	"string_like":      1,
	"string_glob":      4,
	"string_under":     0.5,
	"string_may_reach": 0.5,
	"string_hosts":     0.5,
	"string_host_in":   0.2,
	"string_lower":     0.1,
	"dyn_may_be":       0.5,
}

// functionOptions declares what conditions can call beyond CEL's own.
func functionOptions() []cel.EnvOption {
	// onText declares a function of a text and either one text or a list of
	// them, of which any will do.
	onText := func(name, overload string, f func(text string, args []string) ref.Val) cel.EnvOption {
		call := func(a, b ref.Val) ref.Val {
			text, ok := a.(types.String)
			args, ok2 := texts(b)
			if !ok || !ok2 {
				return types.NoSuchOverloadErr()
			}
			return f(string(text), args)
		}
		return cel.Function(name,
			cel.MemberOverload(overload, []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(call)),
			cel.MemberOverload(overload+"_list", []*cel.Type{cel.StringType, cel.ListType(cel.StringType)}, cel.BoolType, cel.BinaryBinding(call)))
	}
	tooLong := func(text string, globs []string) bool {
		return len(text) > maxGlobText || slices.ContainsFunc(globs, func(g string) bool { return len(g) > maxGlob })
	}
	return append([]cel.EnvOption{
		onText("like", "string_like", func(text string, globs []string) ref.Val {
			if tooLong(text, globs) {
				return types.NewErr("the text is too long to be matched by like()")
			}
			return types.Bool(slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, text) }))
		}),
		onText("glob", "string_glob", func(text string, globs []string) ref.Val {
			if tooLong(text, globs) {
				return types.NewErr("the path is too long to be matched by glob()")
			}
			return types.Bool(pathGlob(text, globs))
		}),
		onText("under", "string_under", func(text string, dirs []string) ref.Val { return types.Bool(pathUnder(text, dirs)) }),
		onText("may_reach", "string_may_reach", func(text string, dirs []string) ref.Val { return types.Bool(pathMayReach(text, dirs)) }),
		onText("host_in", "string_host_in", func(text string, list []string) ref.Val { return types.Bool(hostIn(text, list)) }),
		cel.Function("lower", cel.MemberOverload("string_lower", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				s, ok := v.(types.String)
				if !ok {
					return types.NoSuchOverloadErr()
				}
				return types.String(strings.ToLower(string(s)))
			}))),
		cel.Function("hosts", cel.MemberOverload("string_hosts", []*cel.Type{cel.StringType}, cel.ListType(cel.StringType),
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				s, ok := v.(types.String)
				if !ok {
					return types.NoSuchOverloadErr()
				}
				return types.NewStringList(jsonAdapter{}, hostsOf(string(s)))
			}))),
	}, slices.Concat(mayBeOptions, rememberedOptions, pastOptions)...)
}

// Limits of like() and glob(), whose time is the product of the two lengths.
// Beyond them they fail, so that a path padded with "./" cannot slip by.
const (
	maxGlobText = 4096
	maxGlob     = 256
)

// texts reads a text or a list of texts.
func texts(v ref.Val) ([]string, bool) {
	switch v := v.(type) {
	case types.String:
		return []string{string(v)}, true
	case traits.Lister:
		if s, ok := v.Value().([]string); ok {
			return s, true
		}
		var all []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			s, ok := it.Next().(types.String)
			if !ok {
				return nil, false
			}
			all = append(all, string(s))
		}
		return all, true
	}
	return nil, false
}
