package policy

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/session"
)

// origin() says who named a value, and usual() whether it is usual for the agent. Both ask
// what is remembered, so their macros give them a variable that no expression can spell.
const (
	originName   = "origin"
	originCall   = "@origin"
	originsOfAct = "@origins"
	usualName    = "usual"
	usualCall    = "@usual"
	habitsOfAct  = "@habits"
)

var rememberedOptions = []cel.EnvOption{
	cel.Variable(originsOfAct, cel.DynType),
	cel.Variable(habitsOfAct, cel.DynType),
	cel.Macros(rememberedMacro(originName, originCall, originsOfAct), rememberedMacro(usualName, usualCall, habitsOfAct)),
	rememberedFunction(originCall, "dyn_origin", cel.StringType, func(e *evaluation, value ref.Val) ref.Val {
		return types.String(e.originOf(value).String())
	}),
	rememberedFunction(usualCall, "dyn_usual", cel.BoolType, func(e *evaluation, value ref.Val) ref.Val {
		return types.Bool(e.usualOf(value))
	}),
}

func rememberedMacro(name, call, variable string) cel.Macro {
	return cel.ReceiverMacro(name, 0, func(eh cel.MacroExprFactory, target ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
		return eh.NewCall(call, target, eh.NewIdent(variable)), nil
	})
}

func rememberedFunction(call, overload string, result *cel.Type, answer func(*evaluation, ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(call, cel.Overload(overload, []*cel.Type{cel.DynType, cel.DynType}, result,
		cel.BinaryBinding(func(value, of ref.Val) ref.Val {
			m, ok := of.(memories)
			if !ok {
				return types.NoSuchOverloadErr()
			}
			return answer(m.e, value)
		})))
}

// memories is the evaluation as a value of conditions, for the functions alone that ask
// what is remembered.
type memories struct{ e *evaluation }

func (m memories) ConvertToNative(reflect.Type) (any, error) { return nil, errNotNative }
func (m memories) ConvertToType(ref.Type) ref.Val            { return types.NewErr("no value") }
func (m memories) Equal(ref.Val) ref.Val                     { return types.False }
func (m memories) Type() ref.Type                            { return types.DynType }
func (m memories) Value() any                                { return nil }

// maxDepth is how deep lists and objects are looked into for what is in them.
const maxDepth = 32

// eachIn calls yield with all that is in a value and is itself neither a list nor an
// object, until it reports false. Of what lies too deep it reports false as well.
func eachIn(v ref.Val, depth int, yield func(ref.Val) bool) bool {
	switch v := v.(type) {
	case *types.Optional:
		return !v.HasValue() || eachIn(v.GetValue(), depth, yield)
	case traits.Mapper:
		if depth >= maxDepth {
			return false
		}
		for it := v.Iterator(); it.HasNext() == types.True; {
			if member, found := v.Find(it.Next()); found && !eachIn(member, depth+1, yield) {
				return false
			}
		}
		return true
	case traits.Lister:
		if depth >= maxDepth {
			return false
		}
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !eachIn(it.Next(), depth+1, yield) {
				return false
			}
		}
		return true
	}
	return yield(v)
}

// asText is a text or a number as the text that it is in an argument.
func asText(v ref.Val) (text string, ok bool) {
	switch v := v.(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), true
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), true
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), true
	}
	return "", false
}

// followed are the variables of a session that come from where its values came from.
var followed = []string{"foreign", "heard", "labels", "planned"}

// followsOrigins reports whether one of the rules asks where values came from.
func followsOrigins(rules []*rule) bool {
	return slices.ContainsFunc(rules, func(r *rule) bool {
		return r.follows() || r.change.kind == redact && r.detect&personal != 0 // what the user gave for its use is not masked
	})
}

func (r *rule) follows() bool {
	return r.acts != nil || r.when != nil && r.when.follows || r.change.withExpr != nil && r.change.withExpr.follows
}

// originOf says who named a value: of a list or an object, the least trusted of what is
// in it, and nobody where that cannot be told.
func (e *evaluation) originOf(v ref.Val) provenance.Origin {
	least := provenance.User
	all := eachIn(v, 0, func(v ref.Val) bool {
		switch v.(type) {
		case types.Bool, types.Null: // of which there are too few to tell anything
			return true
		}
		text, ok := asText(v)
		if ok {
			o, _ := e.trace("", text)
			least = min(least, o)
		}
		return ok
	})
	if !all {
		return provenance.Unknown
	}
	return least
}

// trace says who named a value that an argument has, and at which step of the session
// it was first read where that is known. Where no argument is named, it is any that has
// the value.
func (e *evaluation) trace(argument, value string) (provenance.Origin, int64) {
	values := e.in.Session.Values
	o, step := provenance.Unknown, int64(0)
	if values != nil {
		o, step = e.traceIn(values, value)
	}
	if o != provenance.Foreign && e.calledForeign(value) {
		o, step = provenance.Foreign, 0
	}
	if o == provenance.Unknown && e.in.Session.Instructed != nil && e.in.Session.Instructed(value) {
		return provenance.Own, 0
	}
	if o < provenance.Own && (e.set.isOwn(value) || e.eachNamed(value)) {
		return provenance.Own, 0
	}
	if o < provenance.User && values != nil && e.endorsed(argument, value) {
		return provenance.User, 0
	}
	return o, step
}

// calledForeign reports whether the agent itself says that somebody else wrote what it puts
// this value into: that is believed of anybody, whoever else has named it.
func (e *evaluation) calledForeign(value string) bool {
	return value != "" && slices.ContainsFunc(e.in.Action.Content, func(l act.Leaf) bool { return l.Foreign && strings.Contains(l.Text, value) })
}

// traced is who named a value, as the session's memory says.
type traced struct {
	value  string
	origin provenance.Origin
	step   int64
}

// maxTraced bounds how many values of an act are not looked up twice.
const maxTraced = 16

func (e *evaluation) traceIn(m *provenance.Memory, value string) (provenance.Origin, int64) {
	for i := range e.traced {
		if t := &e.traced[i]; t.value == value {
			return t.origin, t.step
		}
	}
	o, step := m.Trace(value)
	if len(e.traced) < maxTraced {
		e.traced = append(e.traced, traced{value, o, step})
	}
	return o, step
}

// isOwn reports whether the policy says that a value is one's own wherever it stands. A
// glob names one value each: what it stands for must be within one.
func (s *Set) isOwn(value string) bool {
	if len(s.ownValues) == 0 || len(value) > maxGlobText {
		return false
	}
	f := canon.Text(value)
	return slices.ContainsFunc(s.ownValues, func(g string) bool { return glob.Match(g, f) && ofOne(g, f) })
}

// eachNamed reports whether a value is several in one text, as a list of addresses is, or one
// in the form of a letter's head ("Bob" <bob@corp.example>), and each of them is one's own or
// the user's. Not one word of it may be anybody else's.
func (e *evaluation) eachNamed(value string) bool {
	if len(e.set.ownValues) == 0 || len(value) > maxGlobText {
		return false
	}
	parts := provenance.Parts(value)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p provenance.Part) bool {
		if e.set.isOwn(p.Text) {
			return false
		}
		values := e.in.Session.Values
		return !p.Stands || values == nil || values.Origin(p.Text) < provenance.Own
	})
}

// ofOne reports whether a text that a glob matches does so with stars that stay within one
// value: a star is no space, comma, bracket or control character, and no second @, or else
// "*@corp.example" would be "eve@evil.example, bob@corp.example", too. Signs of a path and
// of a query it is only where the glob has said whose they are: https://corp.example/*.
func ofOne(pattern, text string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return true
	}
	if strings.Count(text, "@") > max(1, strings.Count(pattern, "@")) {
		return false
	}
	row := make([]bool, len(text)+1, 256) // whether the pattern so far matches that much of the text
	row[0] = true
	for i := range len(pattern) {
		switch c := pattern[i]; c {
		case '*', '?':
			below := placed(pattern[:i])
			next := make([]bool, len(row), 256)
			next[0] = c == '*' && row[0]
			for at, r := range text {
				to := at + utf8.RuneLen(r)
				next[to] = c == '*' && row[to] || oneValue(r, below) && (row[at] || c == '*' && next[at])
			}
			row = next
		default:
			for n := len(text); n > 0; n-- {
				row[n] = row[n-1] && text[n-1] == c
			}
			row[0] = false
		}
	}
	// What goes up from a folder is no longer in it.
	return row[len(text)] && (strings.Contains(pattern, "..") || !slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' }), ".."))
}

// placed reports whether a glob has named a place before a star: a host, and a slash behind
// it, or a folder.
func placed(before string) bool {
	if _, rest, is := strings.Cut(before, "://"); is {
		before = rest
	}
	return strings.Contains(before, "/")
}

// oneValue reports whether a character can be in the midst of one value.
func oneValue(r rune, below bool) bool {
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return true
	case below:
		return strings.ContainsRune("._-+~=@/?&:%#!$", r)
	}
	return strings.ContainsRune("._-+~=@", r)
}

// endorsed reports whether a person has agreed to a value for this tool and for each
// argument that has it.
func (e *evaluation) endorsed(argument, value string) bool {
	all := false
	for _, t := range e.targetsOf().control {
		if t.text != value || argument != "" && t.argument != argument {
			continue
		}
		if all = e.in.Session.Values.Endorsed(e.use(t)); !all {
			return false
		}
	}
	return all
}

// personal are the detectors of what somebody says of themselves to have it used.
const personal = risk.Card | risk.SSN | risk.IBAN | risk.Email | risk.Phone

// saidBack reports whether a personal number in what comes in, or in what the agent answers
// its user, is one that the user said in this session: the agent has it and so has the user,
// and masked the agent could no longer tell which payment is meant. Where the policy masks
// such numbers in what the user says, the agent has never seen it.
func (e *evaluation) saidBack(f *risk.Finding, leaf *act.Leaf) bool {
	a := e.in.Action
	if a.Kind != act.MessageAgent && (a.Kind == act.MessageUser || !session.Brings(a)) || f.Detector&e.set.masksUser != 0 {
		return false
	}
	o, _ := e.in.Session.Values.Trace(leaf.Text[f.Start:f.End])
	return o == provenance.User
}

// worked are the detectors of what acts are done upon. Nobody pays to a number of social
// security, and a card is charged by those who have it already.
const worked = risk.IBAN | risk.Email | risk.Phone

// workedWith reports whether a finding in what comes in is what the agent works with: an
// account or an address in a source that a label names as one's own, all of it or some
// fields, and that no tag calls confidential. Masked, nothing could be done upon it.
func (e *evaluation) workedWith(f *risk.Finding) bool {
	a := e.in.Action
	if f.Detector&worked == 0 || a.Kind == act.MessageUser || a.Kind == act.MessageSystem || !session.Brings(a) {
		return false // a system's message is one's own without a label
	}
	tool := a.Canonical
	if e.in.Session.CalledBy != nil {
		tool = e.in.Session.CalledBy(a)
	}
	from := e.set.Source(a, tool)
	return (from.By == provenance.Own || from.Fields != nil) && from.Tags == nil
}

// given reports whether finding i is a personal number that is here to be used: in what
// comes in, see workedWith and saidBack; in a call, what it is done upon, where that is the
// user's or one's own, or a rule asks a person about just that. Masked, the act would be
// done upon nothing.
func (e *evaluation) given(i int) bool {
	f, leaf := &e.findings[i], &e.in.Action.Content[e.leaves[i]]
	if f.Detector&personal == 0 || e.in.Session.Values == nil {
		return false
	}
	if leaf.Arg == "" {
		return e.saidBack(f, leaf) || e.workedWith(f)
	}
	return slices.ContainsFunc(e.targetsOf().control, func(t target) bool {
		if t.argument != leaf.Arg || t.text != leaf.Text {
			return false
		}
		o, _ := e.trace(t.argument, t.text)
		return o >= provenance.Own || e.asks
	})
}

// Endorses are the values that an approval of an act makes the user's, for the session,
// by the rules that held it; nil where none of them says so.
func (s *Set) Endorses(in *Input, rules []string) (list []provenance.Use) {
	if !slices.ContainsFunc(s.rules, func(r *rule) bool { return r.endorse && slices.Contains(rules, r.name) }) {
		return nil
	}
	e := s.newEvaluation(in)
	defer e.free()
	for _, t := range e.targetsOf().control {
		if o, _ := e.trace(t.argument, t.text); o < provenance.Own {
			list = append(list, e.use(t))
		}
	}
	return list
}

// use is a target as what it is used as.
func (e *evaluation) use(t target) provenance.Use {
	return provenance.Use{Tool: e.in.Action.Canonical, Argument: t.argument, Value: t.text}
}

// Ways are those of the values that an act is done upon, where nobody trusted has named
// them; and where the policy does not say upon what it is done, of the values of its arguments
// that foreign text has named.
func (s *Set) Ways(in *Input) []act.Trace {
	e := s.newEvaluation(in)
	defer e.free()
	if in.Session.Values == nil || len(e.targetsOf().names) > 0 {
		return e.traces()
	}
	a := in.Action
	if !a.IsCall() && a.Kind != act.A2ASend {
		return nil
	}
	var list []target
	for i := range a.Content {
		l := &a.Content[i]
		if len(l.Text) > 0 && len(l.Text) <= maxWay && len(list) < maxTraces {
			if o, _ := e.trace(l.Arg, l.Text); o == provenance.Foreign {
				list = append(list, target{argument: l.Arg, text: l.Text})
			}
		}
	}
	return e.tracesOf(list)
}

// maxWay is the longest value whose way is told without a rule that asks for it, in bytes.
const maxWay = 1024

// maxTraces is how many values one reason tells the origin of.
const maxTraces = 4

// traces tell of the values upon which the act is done, and that nobody trusted has
// named, where they came from.
func (e *evaluation) traces() []act.Trace { return e.tracesOf(e.targetsOf().control) }

func (e *evaluation) tracesOf(targets []target) (list []act.Trace) {
	for _, t := range targets {
		o, step := e.trace(t.argument, t.text)
		if o >= provenance.Own {
			continue
		}
		one := act.Trace{Argument: t.argument, Value: shorten(hush(t.text)), Origin: o.String()}
		if t.whole != "" && slices.ContainsFunc(list, func(o act.Trace) bool { return o.Argument == one.Argument && o.Value == one.Value }) {
			continue
		}
		one.Forgotten = step == provenance.Forgotten
		if at := e.in.Session.At; at != nil && step > 0 {
			if position, tool, ok := at(step); ok {
				one.Decision, one.Source = position.String(), shorten(tool)
			}
		}
		if list = append(list, one); len(list) == maxTraces {
			break
		}
	}
	return list
}

// texts of a list of values.
func textsOf(list []target) ref.Val {
	texts := make([]string, 0, len(list))
	for i := range list {
		if t := &list[i]; t.whole == "" || !slices.Contains(texts, t.text) { // a host stands there once
			texts = append(texts, t.text)
		}
	}
	return types.NewStringList(jsonAdapter{}, texts)
}

// planned are the tools that were called or planned before anything foreign was read.
func (e *evaluation) planned() []string {
	if e.in.Session.Values == nil {
		return []string{}
	}
	return e.in.Session.Values.Planned
}

// sessionLabels are the tags of what a session has read, with foreign for what is not
// one's own.
func (e *evaluation) sessionLabels() []string {
	v := e.in.Session.Values
	if v == nil {
		return []string{}
	}
	labels := slices.Clone(v.Tags)
	if v.Foreign || v.Lost {
		labels = append(labels, provenance.Foreign.String())
	}
	return labels
}
