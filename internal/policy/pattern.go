package policy

import (
	"fmt"
	"math/bits"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// matcher is a compiled pattern with texts of which every match contains one.
// Looking for these first is some fifty times faster than running the pattern,
// and nearly all texts contain none.
type matcher struct {
	pattern  *regexp.Regexp
	literals []literal // nil when none are known
}

// literal is a text that matches contain. start and end say that it stands at
// the start or the end of a word.
type literal struct {
	text       string
	start, end bool
}

func newMatcher(pattern string) (*matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	m := &matcher{pattern: re}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		m.literals = required(tree.Simplify())
	}
	return m, nil
}

// patternFault says why a pattern cannot be used, and what to write instead. It
// returns nothing but the pattern's breadth for one that can be.
func patternFault(pattern string) (broad int, problem, hint string) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		problem, hint = syntaxFault(err)
		return 0, problem, hint
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err.Error(), ""
	}
	const less = "repeat less, as x{1000} counts a thousand times, or split it: x.matches(r'a') || x.matches(r'b')"
	if n := len(program.Inst); n > maxRegex {
		return 0, fmt.Sprintf("it takes %d instructions, and the limit is %d", n, maxRegex), less
	}
	if broad = breadth(program); broad > maxBreadth {
		return 0, fmt.Sprintf("one character can set %d of its instructions to work, and the limit is %d", broad, maxBreadth), less
	}
	return broad, "", ""
}

// breadth returns how many instructions of a program one character can set to
// work at most. RE2's time is at worst the text's length times this number, of
// which a hostile text makes use: (x?){500}(x+x+)+y has two thousand, and each x
// sets all of them to work.
func breadth(program *syntax.Prog) int {
	words := (len(program.Inst) + 63) / 64
	reached := make([][]uint64, len(program.Inst))
	// from returns the instructions that run without a further character.
	from := func(start uint32) []uint64 {
		if reached[start] != nil {
			return reached[start]
		}
		set := make([]uint64, words)
		for todo := []uint32{start}; len(todo) > 0; {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if set[i/64]&(1<<(i%64)) != 0 {
				continue
			}
			set[i/64] |= 1 << (i % 64)
			switch inst := &program.Inst[i]; inst.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				todo = append(todo, inst.Out, inst.Arg)
			case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
				todo = append(todo, inst.Out)
			}
		}
		reached[start] = set
		return set
	}
	most, set := 0, make([]uint64, words)
	for c := range alphabet(program) {
		copy(set, from(uint32(program.Start))) // a match may start anywhere
		for i := range program.Inst {
			if inst := &program.Inst[i]; takes(inst, c) {
				for k, w := range from(inst.Out) {
					set[k] |= w
				}
			}
		}
		n := 0
		for _, w := range set {
			n += bits.OnesCount64(w)
		}
		most = max(most, n)
	}
	return most
}

// alphabet returns a character of each kind that a program tells apart.
func alphabet(program *syntax.Prog) map[rune]bool {
	all := map[rune]bool{utf8.MaxRune: true, '\n' + 1: true} // . takes both
	for i := range program.Inst {
		switch inst := &program.Inst[i]; inst.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(inst.Rune) == 1 { // which may stand for the other case, too
				all[inst.Rune[0]] = true
				for c := unicode.SimpleFold(inst.Rune[0]); c != inst.Rune[0]; c = unicode.SimpleFold(c) {
					all[c] = true
				}
				continue
			}
			for k := 0; k < len(inst.Rune); k += 2 {
				all[inst.Rune[k]] = true // the first of a range: a set of ranges changes nowhere else to more
			}
		}
	}
	return all
}

func takes(inst *syntax.Inst, c rune) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1:
		return inst.MatchRune(c)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return c != '\n'
	}
	return false
}

// syntaxFault says why RE2 refuses a pattern, and what to write instead.
func syntaxFault(err error) (problem, hint string) {
	e, ok := err.(*syntax.Error)
	if !ok {
		return err.Error(), ""
	}
	for _, around := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(e.Expr, around) {
			return "RE2 cannot look around, as " + around + " does", "use two patterns, such as x.matches(r'a') && !x.matches(r'b')"
		}
	}
	what := fmt.Sprintf("%#q", shorten(e.Expr))
	switch e.Code {
	case syntax.ErrInvalidPerlOp:
		return "RE2 does not know " + what, "groups are (…), (?:…) and (?P<name>…), and flags (?i), (?m) and (?s)"
	case syntax.ErrInvalidEscape:
		if len(e.Expr) == 2 && e.Expr[1] >= '1' && e.Expr[1] <= '9' {
			return "RE2 cannot refer back to a group, as " + what + " does", "write the text out once more"
		}
		return "RE2 does not know the escape " + what, `a backslash itself is \\`
	case syntax.ErrTrailingBackslash:
		return "it ends in a backslash", `a backslash itself is \\`
	case syntax.ErrMissingParen:
		return "a ( is not closed", `a ( itself is \(`
	case syntax.ErrUnexpectedParen:
		return "a ) closes nothing", `a ) itself is \)`
	case syntax.ErrMissingBracket:
		return "the [ in " + what + " is not closed", `a [ itself is \[`
	case syntax.ErrMissingRepeatArgument:
		return "there is nothing that " + what + " could repeat", "put a backslash before it to mean the character itself"
	case syntax.ErrInvalidRepeatOp:
		return "RE2 does not know the repetition " + what, "there are no possessive repetitions, and none are needed: time grows with the text's length only"
	case syntax.ErrInvalidRepeatSize:
		return "the repetition " + what + " is too large", "at most 1000, also of repetitions within each other"
	case syntax.ErrInvalidCharRange:
		return "RE2 knows no range or class " + what, "a range runs upwards, and a - that stands for itself is put last"
	case syntax.ErrInvalidNamedCapture:
		return "the group in " + what + " has no name that RE2 takes", "leave it out: (…)"
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return "it is too large", "split it: x.matches(r'a') || x.matches(r'b')"
	}
	return string(e.Code) + ": " + what, "see https://github.com/google/re2/wiki/Syntax"
}

// match reports whether the pattern matches s. g, if not nil, tells of s which
// literals it cannot contain.
func (m *matcher) match(s string, g *trigrams) bool {
	if m.literals == nil {
		return m.pattern.MatchString(s)
	}
	for i := range m.literals {
		l := &m.literals[i]
		if (g == nil || g.mayContain(l.text)) && l.in(s) {
			return m.pattern.MatchString(s)
		}
	}
	return false
}

func (l *literal) in(s string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], l.text)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(l.text)
		if !(l.start && i > 0 && isWord(s[i-1]) == isWord(s[i])) && !(l.end && end < len(s) && isWord(s[end]) == isWord(s[end-1])) {
			return true
		}
		from = i + 1
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Bounds of what is worked out of a pattern.
const (
	maxLiterals = 24
	maxClass    = 6 // characters of a class that are written out
)

// required returns texts of which every match of re contains at least one, or
// nil when none can be told. Of several parts that must all match it takes the
// one whose shortest text is longest.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
		return nil
	case syntax.OpConcat:
		return requiredOfConcat(re.Sub)
	case syntax.OpAlternate:
		if all := language(re); useful(all) {
			return literals(all, false, false)
		}
		var all []literal
		for _, sub := range re.Sub {
			l := required(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	if all := language(re); useful(all) {
		return literals(all, false, false)
	}
	return nil
}

// requiredOfConcat joins neighbouring parts into longer texts.
func requiredOfConcat(subs []*syntax.Regexp) []literal {
	var best []literal
	consider := func(l []literal) {
		if l != nil && shortest(l) > shortest(best) {
			best = l
		}
	}
	for i := 0; i < len(subs); {
		run := language(subs[i])
		if run == nil {
			consider(required(subs[i]))
			i++
			continue
		}
		from := i
		for i++; i < len(subs); i++ {
			longer := product(run, language(subs[i]))
			if longer == nil {
				break
			}
			run = longer
		}
		if useful(run) {
			boundary := func(at int) bool { return at >= 0 && at < len(subs) && subs[at].Op == syntax.OpWordBoundary }
			consider(literals(run, boundary(from-1), boundary(i)))
		}
	}
	return best
}

// language returns every text that re matches, or nil when they are too many
// or depend on what is around them.
func language(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCharClass:
		var all []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if len(all) == maxClass {
					return nil
				}
				all = append(all, string(c))
			}
		}
		return all
	case syntax.OpCapture:
		return language(re.Sub[0])
	case syntax.OpQuest:
		if all := language(re.Sub[0]); all != nil && len(all) < maxLiterals {
			return append(slices.Clone(all), "")
		}
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			if all = product(all, language(sub)); all == nil {
				return nil
			}
		}
		return all
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := language(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

func product(a, b []string) []string {
	if a == nil || b == nil || len(a)*len(b) > maxLiterals {
		return nil
	}
	all := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

func useful(texts []string) bool { return len(texts) > 0 && !slices.Contains(texts, "") }

func literals(texts []string, start, end bool) []literal {
	all := make([]literal, len(texts))
	for i, t := range texts {
		all[i] = literal{t, start, end}
	}
	return all
}

func shortest(all []literal) int {
	n := 0
	for i := range all {
		if i == 0 || len(all[i].text) < n {
			n = len(all[i].text)
		}
	}
	return n
}

// trigrams is a filter of the three-byte sequences in a text. It may take a
// sequence for contained that is not, never the other way round.
type trigrams struct{ bits [1 << 8]uint64 }

func trigram(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> 18
}

func (g *trigrams) fill(s string) {
	clear(g.bits[:])
	for i := 2; i < len(s); i++ {
		h := trigram(s[i-2], s[i-1], s[i])
		g.bits[h>>6] |= 1 << (h & 63)
	}
}

func (g *trigrams) mayContain(s string) bool {
	for i := 2; i < len(s); i++ {
		h := trigram(s[i-2], s[i-1], s[i])
		if g.bits[h>>6]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return true
}

// literalFirst makes CEL's matches() with a literal pattern use a matcher.
var literalFirst = &interpreter.RegexOptimization{
	Function:   "matches",
	OverloadID: overloads.MatchesString,
	RegexIndex: 1,
	Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		m, err := newMatcher(pattern)
		if err != nil {
			return nil, err
		}
		plain := interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
			return m.value(values[0], nil)
		})
		return &matchCall{plain, call.Args()[0], m}, nil
	},
}

// matchCall is a call of matches() that knows the evaluation it is part of.
type matchCall struct {
	interpreter.InterpretableCall
	text    interpreter.InterpretableV2
	matcher *matcher
}

// evaluationName is a variable that no expression can spell.
const evaluationName = "@evaluation"

// Exec is how the interpreter runs a call.
func (c *matchCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.text.Exec(frame)
	if s, ok := v.(types.String); ok && c.matcher.literals != nil {
		if e, ok := frame.ResolveName(evaluationName); ok {
			return c.matcher.value(v, e.(*evaluation).trigramsOf(string(s)))
		}
	}
	return c.matcher.value(v, nil)
}

func (m *matcher) value(v ref.Val, g *trigrams) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Bool(m.match(string(s), g))
}
