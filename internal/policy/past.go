package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/session"
)

// Rules over time: did("mail") is how often the session has done one of the policy's acts,
// did("mail", "1h") how often in the last hour, and approved("mail") how often after people
// agreed. What a session does not know of itself is an error, so that a rule that stops
// applies, and one that allows does not.
const (
	pastCall  = "@past"
	pastOfAct = "@pasts"
	// unremembered is what a failed condition is known by.
	unremembered = "the session's past is not known"
)

// approvedOnly stands for a window of time where acts are asked for to which people agreed.
const approvedOnly = -1

func didMacro(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	window := int64(0)
	if len(args) == 2 {
		text, ok := stringLiteral(args[1])
		within, err := time.ParseDuration(text)
		if !ok || err != nil || within < time.Second || within > session.TTL {
			return nil, eh.NewError(args[1].ID(), `the time is a text from "1s" to "24h", such as "10m"`)
		}
		window = within.Milliseconds()
	}
	return eh.NewCall(pastCall, args[0], eh.NewLiteral(types.Int(window)), eh.NewIdent(pastOfAct)), nil
}

func approvedMacro(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	return eh.NewCall(pastCall, args[0], eh.NewLiteral(types.Int(approvedOnly)), eh.NewIdent(pastOfAct)), nil
}

var pastOptions = []cel.EnvOption{
	cel.Macros(cel.GlobalMacro("did", 1, didMacro), cel.GlobalMacro("did", 2, didMacro), cel.GlobalMacro("approved", 1, approvedMacro)),
	cel.Variable(pastOfAct, cel.DynType),
	cel.Function(pastCall, cel.Overload("past_of_act", []*cel.Type{cel.StringType, cel.IntType, cel.DynType}, cel.IntType,
		cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			name, ok1 := args[0].(types.String)
			window, ok2 := args[1].(types.Int)
			of, ok3 := args[2].(memories)
			if !ok1 || !ok2 || !ok3 {
				return types.NoSuchOverloadErr()
			}
			return of.e.did(string(name), int64(window))
		}))),
}

// did is how often the session has done an act before this one.
func (e *evaluation) did(name string, window int64) ref.Val {
	i := slices.IndexFunc(e.set.counted, func(c counted) bool { return c.name == name })
	if i < 0 || e.in.Session.Past == nil {
		return types.NewErr(unremembered)
	}
	d, sure := e.in.Session.Past(e.set.counted[i].key)
	switch {
	case !sure:
		return types.NewErr(unremembered)
	case window == approvedOnly:
		return types.Int(d.Approved)
	case window > 0:
		return types.Int(d.Within(e.in.Action.At.Add(-time.Duration(window) * time.Millisecond)))
	}
	return types.Int(d.Count)
}

// NewPast is the past of a session that has done nothing yet.
func NewPast(key uint64) (session.Done, bool) { return session.Done{Key: key}, true }

// pastOf checks a call of did() or approved(), and notes the act.
func (x *examiner) pastOf(e, arg ast.Expr) {
	var names []string
	for _, s := range x.of.sinks {
		names = append(names, s.name)
	}
	name, ok := stringLiteral(arg)
	switch {
	case !ok:
		x.fail(e, `write it in quotes: did("mail")`, "did() and approved() take the name of an act")
	case !slices.Contains(names, name):
		x.fail(e, didYouMean(name, names), "there is no act %q; what is counted stands under acts:", name)
	default:
		x.past = append(x.past, name)
	}
}

// counted is one of the policy's acts that rules ask the session's past for.
type counted struct {
	name  string
	key   uint64 // changes with what the policy says of the act: what was counted before is another one
	sinks []*sink
}

// asksPast reports whether a rule asks how often an act was done.
func (s *Set) asksPast(name string) bool {
	return slices.ContainsFunc(s.rules, func(r *rule) bool {
		return r.when != nil && slices.Contains(r.when.past, name) || r.change.withExpr != nil && slices.Contains(r.change.withExpr.past, name)
	})
}

// settlePast gathers the acts that rules ask the session's past for.
func (s *Set) settlePast() {
	for _, k := range s.sinks {
		if i := slices.IndexFunc(s.counted, func(c counted) bool { return c.name == k.name }); i >= 0 {
			s.counted[i].sinks = append(s.counted[i].sinks, k)
		} else if s.asksPast(k.name) {
			s.counted = append(s.counted, counted{name: k.name, sinks: []*sink{k}})
		}
	}
	for i := range s.counted {
		c := &s.counted[i]
		h := sha256.New()
		fmt.Fprintf(h, "%q", c.name)
		for _, k := range c.sinks {
			fmt.Fprintf(h, " %d %q", k.scope.kinds, k.scope.tools)
		}
		c.key = binary.LittleEndian.Uint64(h.Sum(nil))
	}
}

// Counts reports whether an act is the one with a key. called is the tool whose result it is,
// as the session knows it.
func (s *Set) Counts(key uint64, a *act.Action, called string) bool {
	i := slices.IndexFunc(s.counted, func(c counted) bool { return c.key == key })
	return i >= 0 && slices.ContainsFunc(s.counted[i].sinks, func(k *sink) bool {
		if !k.scope.kinds.of(a) {
			return false
		}
		if session.Brings(a) {
			return k.scope.tools == nil || anyGlob(k.scope.tools, called)
		}
		return k.scope.fits(a)
	})
}
