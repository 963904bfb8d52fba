package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Most languages that compile write a call in one way: a name with dots, and what it is given in
// brackets. An expressionReader goes through a program of any of them once from top to bottom, and
// evaluates what its expressions come to as far as that is a text: strings, variables that were set to
// some, what gives the home folder or a temporary one, what joins paths or texts, and the parameters of
// the program's own functions. What it is told of a call is what tables of calls say: see doings.

// unknownPart stands in a text for what is not known of it.
const unknownPart = "\x01"

// A said is what an expression comes to, as far as that is known. The zero said is nothing that is known.
type said struct {
	texts []string // that it may be; the home folder is ~
	name  string   // of a plain name with dots, in lower case: of a module, a type, a function
	plain string   // of a plain name, as it stands
	items []said   // of a list
	read  []string // the files whose content it holds; . is the environment
	from  []string // the addresses whose answer it holds
	below bool     // it is what lies in the folders that texts name
}

// sayOf is a text that is known.
func sayOf(text string) said { return said{texts: []string{text}} }

// maxTexts is how many texts an expression may come to, and maxListed how many items of a list are known.
const (
	maxTexts    = 8
	maxListed   = 64
	maxPathText = 4096
)

// expressionReader reads one program.
type expressionReader struct {
	text    string
	at      int
	form    spelling
	vars    map[string]said
	own     map[string][]string // functions of the program, and the names of what they are given
	given   map[string][]said   // what they are given
	gives   map[string]said     // what they give
	inside  []string            // the functions in which the reader is
	pending []said              // words of the calls in which the reader is
	steps   int
	depth   int
	learnt  bool // what its functions are given, and give
	// called is told of each call: by whose name, on what, with which words.
	called func(name string, on said, words []said) (gives said, known bool)
}

// spelling is how a language writes what others write differently.
type spelling struct {
	hash    bool // # begins a comment
	dollars bool // "$x" holds what x is
	dots    bool // . joins texts
	spaced  bool // a call needs no brackets
	ticks   bool // ' begins a string
	last    bool // a block gives what its last expression gives
}

// writtenAs is the form of a language, by the end of its files' names.
func writtenAs(end string) (spelling, bool) {
	switch end {
	case ".go", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".m", ".mm", ".java", ".cs", ".fs", ".vb", ".zig", ".d", ".odin", ".v":
		return spelling{}, true
	case ".rs":
		return spelling{last: true}, true
	case ".swift":
		return spelling{last: true}, true
	case ".kt", ".scala", ".kts", ".sbt":
		return spelling{dollars: true, last: true}, true
	case ".groovy", ".gradle":
		return spelling{dollars: true, ticks: true, spaced: true, last: true}, true
	case ".dart":
		return spelling{dollars: true, ticks: true}, true
	case ".php":
		return spelling{hash: true, dollars: true, dots: true, ticks: true}, true
	case ".hs", ".ml":
		return spelling{spaced: true}, true
	case ".nim", ".cr", ".ex", ".exs":
		return spelling{hash: true, spaced: true, ticks: end != ".nim"}, true
	case ".jl", ".r":
		return spelling{hash: true, dollars: end == ".jl", ticks: true}, true
	}
	return spelling{}, false
}

// maxReading is how many steps are taken in a program.
const maxReading = 150_000

// read goes through the program: what its functions are given, and give, is known when it is read again,
// and what that comes to when it is read once more.
func (r *expressionReader) read() {
	r.own, r.given, r.gives = map[string][]string{}, map[string][]said{}, map[string]said{}
	for pass := 0; pass < 3 && !r.learnt; pass++ {
		r.learnt = pass == 2 || pass == 1 && !r.learns()
		r.at, r.depth, r.vars, r.inside = 0, 0, map[string]said{}, nil
		for r.at < len(r.text) && r.more() {
			r.block(0)
		}
	}
}

// learns reports whether anything is known of what the program's functions are given, and give.
func (r *expressionReader) learns() bool {
	for _, v := range r.gives {
		if !v.empty() {
			return true
		}
	}
	for _, words := range r.given {
		if slices.ContainsFunc(words, func(v said) bool { return !v.empty() }) {
			return true
		}
	}
	return false
}

// empty reports whether nothing is known of a value.
func (v said) empty() bool {
	return len(v.texts)+len(v.items)+len(v.read)+len(v.from) == 0 && !v.below
}

// more counts a step.
func (r *expressionReader) more() bool {
	r.steps++
	return r.steps < maxReading && r.depth < maxBrackets
}

// maxBrackets is how deep brackets are read.
const maxBrackets = 48

// peek is the byte that comes next, 0 at the end.
func (r *expressionReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// ahead reports whether a text comes next.
func (r *expressionReader) ahead(s string) bool {
	return strings.HasPrefix(r.text[min(r.at, len(r.text)):], s)
}

// space passes what says nothing; lines says that ends of lines are such.
func (r *expressionReader) space(lines bool) {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			r.at++
		case c == '\\' && strings.HasPrefix(r.text[r.at:], "\\\n"):
			r.at += 2
		case r.ahead("//"), c == '#' && r.form.hash && !r.ahead("#{"):
			if end := strings.IndexByte(r.text[r.at:], '\n'); end >= 0 {
				r.at += end
			} else {
				r.at = len(r.text)
			}
		case r.ahead("/*"):
			if end := strings.Index(r.text[r.at:], "*/"); end >= 0 {
				r.at += end + 2
			} else {
				r.at = len(r.text)
			}
		default:
			return
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || isLetter(c) || c >= '0' && c <= '9' || c >= 0x80
}

// word is the name that comes next; empty for none.
func (r *expressionReader) word() string {
	begin := r.at
	if r.peek() == '$' && r.at+1 < len(r.text) && isWordByte(r.text[r.at+1]) {
		r.at++
	}
	for r.at < len(r.text) && isWordByte(r.text[r.at]) {
		r.at++
	}
	return strings.TrimPrefix(r.text[begin:r.at], "$")
}

// block reads statements to a closing bracket, and gives what the last of them gives.
func (r *expressionReader) block(end byte) (last said) {
	r.depth++
	defer func() { r.depth-- }()
	var names []string // that stand before the sign which sets them
	for r.at < len(r.text) && r.more() {
		r.space(true)
		c := r.peek()
		switch {
		case c == 0:
			return last
		case end != 0 && c == end:
			r.at++
			return last
		case c == '}' || c == ')' || c == ']':
			r.at++
			if end != 0 {
				return last
			}
			continue
		case c == ';':
			names, last = nil, said{}
			r.at++
			continue
		case c == '{':
			r.at++
			last = r.block('}')
			continue
		case c == ',':
			r.at++
			continue
		}
		begin := r.at
		line := max(0, r.at-256)
		line += strings.LastIndexByte(r.text[line:r.at], '\n')
		v := r.expression(true)
		if r.at == begin {
			if c == '|' { // |x| of a closure
				r.at++
				if name := r.word(); name != "" && r.peek() == '|' {
					r.at++
				}
				continue
			}
			names = nil
			r.at++
			continue
		}
		last = v
		if v.plain != "" {
			names = append(names, v.plain)
		}
		r.space(false)
		switch {
		case r.function(v, r.text[line+1:begin]):
			names = nil
		case r.ahead(":=") || r.ahead("=") && !r.ahead("==") && !r.ahead("=>") && !r.ahead("=~"):
			r.at += 1
			if r.peek() == '=' {
				r.at++
			}
			r.space(true)
			value := r.expression(false)
			first := 0
			if n := strings.Count(r.text[max(0, begin-32):begin], ","); n > 0 && len(names) > 1 && !strings.Contains(r.text[line+1:begin], "for ") {
				first = max(0, len(names)-1-n)
			} else {
				first = len(names) - 1
			}
			if len(names) > 0 && first >= 0 {
				r.set(names[first], value)
			}
			if names, last = nil, value; r.peek() == ',' {
				r.at++
			}
		case r.ahead(":") && !r.ahead("::") && v.plain != "":
			r.at++ // its type, or a loop's list
			r.space(false)
			if strings.Contains(r.text[line+1:begin], "for") {
				r.set(v.plain, r.expression(false).element())
				names = nil
				break
			}
			r.expression(false)
			r.space(false)
			if r.peek() == '=' && !r.ahead("==") {
				r.at++
				r.space(true)
				r.set(v.plain, r.expression(false))
				names = nil
			}
		case r.keyword("in"), v.plain != "" && r.ahead("<-"):
			if r.ahead("<-") {
				r.at += 2
			}
			r.space(true)
			list := r.expression(false)
			if bound := list.element(); len(names) > 0 {
				if strings.Contains(r.text[line+1:begin], "for") {
					r.set(names[len(names)-1], bound)
				} else {
					r.set(names[len(names)-1], list)
				}
			}
			names = nil
		case r.keyword("as"): // foreach ($list as $x)
			r.space(true)
			if name := r.word(); name != "" {
				r.set(name, v.element())
			}
			names = nil
		case r.peek() != ',' && v.plain == "":
			names = nil
		}
	}
	return last
}

// keyword passes a word, if it comes next.
func (r *expressionReader) keyword(w string) bool {
	if !r.ahead(w) || r.at+len(w) < len(r.text) && isWordByte(r.text[r.at+len(w)]) {
		return false
	}
	r.at += len(w)
	return true
}

// set remembers what a variable is.
func (r *expressionReader) set(name string, v said) {
	if name == "_" || len(r.vars) > 512 {
		return
	}
	v.plain, v.name = "", ""
	r.vars[name] = v
}

// element is one of what a value holds.
func (v said) element() said {
	if len(v.items) == 0 {
		v.plain, v.name = "", ""
		return v
	}
	e := said{read: v.read, from: v.from}
	for _, item := range v.items {
		e = e.or(item)
	}
	return e
}

// or is one of two values.
func (v said) or(o said) said {
	for _, t := range o.texts {
		if len(v.texts) < maxTexts && !slices.Contains(v.texts, t) {
			v.texts = append(slices.Clip(v.texts), t)
		}
	}
	return v.with(o)
}

// with holds what another value holds of files and answers.
func (v said) with(o said) said {
	for _, f := range o.read {
		if len(v.read) < maxTexts && !slices.Contains(v.read, f) {
			v.read = append(slices.Clip(v.read), f)
		}
	}
	for _, f := range o.from {
		if len(v.from) < maxTexts && !slices.Contains(v.from, f) {
			v.from = append(slices.Clip(v.from), f)
		}
	}
	v.below = v.below || o.below
	return v
}

// declares are the words before the name of a function.
var declares = set("func fn fun def function proc sub method")

// function reads the body of a function that an expression begins: func name(a string) {. line is what
// stands before the name in its line.
func (r *expressionReader) function(v said, line string) bool {
	name, params := "", []string(nil)
	switch {
	case v.name == "\x00function":
		name = v.plain
		for _, item := range v.items {
			params = append(params, item.plain)
		}
	case v.name == "\x00call" && strings.TrimSpace(line) != "" && !strings.ContainsAny(line, "=(."): // void name(String a) {
		name = v.plain
		for _, item := range v.items {
			params = append(params, item.plain)
		}
	default:
		return false
	}
	from := r.at
	for r.at < len(r.text) && r.at-from < 200 && !strings.ContainsRune("{=;\n", rune(r.text[r.at])) {
		r.at++
	}
	if r.peek() != '{' && (r.peek() != '=' || v.name == "\x00call" || r.ahead("==")) {
		r.at = from
		return false
	}
	r.own[name] = params
	outer := r.vars
	r.vars = map[string]said{}
	for k, known := range outer {
		r.vars[k] = known
	}
	for i, param := range params {
		if i < len(r.given[name]) {
			r.vars[param] = r.given[name][i]
		} else {
			delete(r.vars, param)
		}
	}
	r.inside = append(r.inside, name)
	var gives said
	if r.peek() == '{' {
		r.at++
		gives = r.block('}')
	} else {
		r.at++
		r.space(true)
		gives = r.expression(false)
	}
	if r.inside = r.inside[:len(r.inside)-1]; r.form.last || v.name == "\x00function" && r.form.spaced {
		r.gives[name] = r.gives[name].or(gives)
	}
	if len(r.inside) > 0 || strings.Contains(name, "\x00") {
		for k := range r.vars { // what a function inside of another sets is seen around it
			if _, there := outer[k]; there {
				outer[k] = r.vars[k]
			}
		}
	}
	r.vars = outer
	return true
}

// expression reads values and the signs that join them, to what ends them.
func (r *expressionReader) expression(statement bool) said {
	r.depth++
	defer func() { r.depth-- }()
	if !r.more() {
		r.at = len(r.text)
		return said{}
	}
	v := r.operand()
	for r.more() {
		begin := r.at
		r.space(r.joinsOn())
		var o said
		switch {
		case r.ahead("+=") || r.ahead(".=") || r.ahead("/="):
			r.at += 2
			r.space(true)
			o = r.expression(false)
			sum := v.add(o, "")
			if v.plain != "" {
				r.set(v.plain, sum)
			}
			return sum
		case r.ahead("++") && !r.ahead("++)") && !r.ahead("++;"), r.ahead("<>"), r.ahead(".."):
			r.at += 2
			r.space(true)
			v = v.add(r.operand(), "")
		case r.ahead("</>"):
			r.at += 3
			r.space(true)
			v = v.add(r.operand(), "/")
		case r.peek() == '+', r.peek() == '~', r.peek() == '.' && r.form.dots, r.peek() == '&' && !r.ahead("&&") && len(v.texts) > 0, r.peek() == '^':
			r.at++
			r.space(true)
			v = v.add(r.operand(), "")
		case r.peek() == '/' && (len(v.texts) > 0):
			r.at++
			r.space(true)
			v = v.add(r.operand(), "/")
		case r.ahead("??"), r.ahead("||"), r.ahead("?:"):
			r.at += 2
			r.space(true)
			v = v.or(r.operand())
		case r.ahead("?") && !r.ahead("?."):
			r.at++
			r.space(true)
			either := r.expression(false)
			r.space(true)
			if r.peek() == ':' && !r.ahead("::") {
				r.at++
				r.space(true)
				either = either.or(r.expression(false))
			}
			v = either
		default:
			r.at = begin
			return v
		}
	}
	return v
}

// joinsOn reports whether the next line goes on with what this one began.
func (r *expressionReader) joinsOn() bool {
	rest := strings.TrimLeft(r.text[min(r.at, len(r.text)):min(len(r.text), r.at+200)], " \t\r\n")
	return strings.HasPrefix(rest, "+ ") || strings.HasPrefix(rest, "+\"") || strings.HasPrefix(rest, "</>") || r.form.dots && strings.HasPrefix(rest, ". ")
}

// add is a text behind another, with a sign between.
func (v said) add(o said, sign string) said {
	sum := said{}.with(v).with(o)
	left, right := v.texts, o.texts
	if len(left) == 0 {
		left = []string{unknownPart}
	}
	if len(right) == 0 {
		right = []string{unknownPart}
	}
	for _, l := range left {
		for _, rt := range right {
			t := l + rt
			switch {
			case sign == "/" && (strings.HasPrefix(rt, "/") || strings.HasPrefix(rt, "~")):
				t = rt
			case sign == "/" && l == "":
				t = rt
			case sign == "/":
				t = strings.TrimSuffix(l, "/") + "/" + rt
			}
			if len(t) < maxPathText && len(sum.texts) < maxTexts {
				sum.texts = append(sum.texts, t)
			}
		}
	}
	return sum
}

// passed are words before a value that do not change it.
var passed = set("new try await mut ref const final let var val move return yield throw defer go discard ignore else do range static pub public private protected internal unsafe case when then if unless while until not lazy readonly global echo print in out comptime errdefer orelse catch do")

// operand reads one value and what is called on it.
func (r *expressionReader) operand() said {
	if r.depth++; !r.more() {
		r.at = len(r.text)
	}
	defer func() { r.depth-- }()
	for r.at < len(r.text) && strings.IndexByte("&*!@-", r.text[r.at]) >= 0 && !r.ahead("->") {
		r.at++
	}
	c := r.peek()
	switch {
	case c == '"' || c == '`' || c == '\'' && r.form.ticks:
		return r.follow(r.string())
	case c == '\'': // one character
		if rest := r.text[r.at:]; len(rest) > 2 {
			if end := strings.IndexByte(rest[1:min(len(rest), 12)], '\''); end > 0 {
				r.at += end + 2
				return sayOf(effects.Unescape(rest[1 : end+1]))
			}
		}
		r.at++
		return said{}
	case c == '(':
		r.at++
		words := r.words(')', said{})
		if len(words) == 1 {
			words[0].plain, words[0].name = "", ""
			return r.follow(words[0])
		}
		return r.follow(said{items: words})
	case c == '[':
		r.at++
		list := said{items: r.words(']', said{})}
		for _, item := range list.items {
			list = list.with(item)
		}
		r.space(false)
		if w := r.peek(); isLetter(w) && !r.form.spaced { // []string{…}
			begin := r.at
			for r.at < len(r.text) && (isWordByte(r.text[r.at]) || strings.IndexByte(".*[]", r.text[r.at]) >= 0) {
				r.at++
			}
			if r.peek() == '{' {
				r.at++
				return r.follow(said{items: r.words('}', said{})})
			}
			r.at = begin
		}
		return r.follow(list)
	case c == '$' && (r.ahead("$\"") || r.ahead("$@\"")):
		r.at = strings.IndexByte(r.text[r.at:], '"') + r.at
		return r.follow(r.string())
	case c == '.' && r.at+1 < len(r.text) && (isLetter(r.text[r.at+1]) || r.text[r.at+1] == '{'): // .{ … } of Zig, .userDirectory of Swift
		r.at++
		if r.peek() == '{' {
			r.at++
			return said{items: r.words('}', said{})}
		}
		return r.follow(r.member(said{}, r.word()))
	case c == '|' && !r.ahead("||"):
		return said{}
	}
	name := r.word()
	if name == "" {
		return said{}
	}
	low := lower(name)
	if declares[low] {
		begin := r.at
		r.space(false)
		if v, ok := r.declaration(); ok {
			return v
		}
		r.at = begin
	}
	if passed[low] && r.peek() != '(' && r.peek() != '.' && r.peek() != ':' || listed("return yield", low) {
		r.space(false)
		if c := r.peek(); c == 0 || c == '\n' || c == ';' || c == '}' || c == '{' {
			return said{}
		}
		v := r.expression(false)
		if low == "range" {
			return v.element()
		}
		if low == "return" && len(r.inside) > 0 {
			in := r.inside[len(r.inside)-1]
			r.gives[in] = r.gives[in].or(v)
		}
		return v
	}
	if listed("f r b s c u8 raw fmt str", low) && (r.peek() == '"' || r.peek() == '#' && r.ahead("#\"")) {
		r.at = strings.IndexByte(r.text[r.at:], '"') + r.at
		return r.follow(r.string())
	}
	if low == "for" || low == "foreach" {
		r.space(false)
	}
	v := r.vars[name]
	v.plain, v.name = name, low
	return r.follow(v)
}

// declaration reads the name of a function, and the names of what it is given, as far as the bracket
// that closes them.
func (r *expressionReader) declaration() (said, bool) {
	if r.peek() == '(' { // func (x *T) name(, or one without a name
		depth := 0
		begin := r.at
		for r.at < len(r.text) && r.at-begin < 400 {
			if c := r.text[r.at]; c == '(' {
				depth++
			} else if c == ')' {
				if depth--; depth == 0 {
					r.at++
					break
				}
			}
			r.at++
		}
		receiver := r.text[begin+1 : max(begin+1, r.at-1)]
		r.space(false)
		if !isLetter(r.peek()) && r.peek() != '_' || r.own == nil {
			return said{name: "\x00function", plain: "\x00", items: namesIn(receiver)}, true
		}
		begin = r.at
		if r.word(); r.peek() != '(' { // and no type that it gives
			r.at = begin
			return said{name: "\x00function", plain: "\x00", items: namesIn(receiver)}, true
		}
		r.at = begin
	}
	name := r.word()
	for name != "" && r.peek() == '.' {
		r.at++
		name = r.word()
	}
	for r.peek() == '<' || r.peek() == '[' {
		end := strings.IndexAny(r.text[r.at:], ">]")
		if end < 0 || end > 200 {
			return said{}, false
		}
		r.at += end + 1
	}
	r.space(false)
	if name == "" || r.peek() != '(' {
		return said{}, false
	}
	depth, begin := 0, r.at
	for ; r.at < len(r.text) && r.at-begin < 2000; r.at++ {
		if c := r.text[r.at]; c == '(' {
			depth++
		} else if c == ')' {
			if depth--; depth == 0 {
				r.at++
				return said{name: "\x00function", plain: name, items: namesIn(r.text[begin+1 : r.at-1])}, true
			}
		}
	}
	return said{}, false
}

// namesIn are the names of what a function is given: the first of each part where a type stands behind
// it, and the last where it stands before.
func namesIn(params string) (names []said) {
	for part := range strings.SplitSeq(params, ",") {
		part, _, _ = strings.Cut(part, "=")
		fields := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" \t\n:&*", c) })
		name := ""
		switch {
		case len(fields) == 0:
		case strings.Contains(part, "$"):
			name = part[strings.IndexByte(part, '$')+1:]
		case strings.Contains(part, ":"):
			left, _, _ := strings.Cut(part, ":")
			if fields = strings.Fields(left); len(fields) > 0 {
				name = fields[len(fields)-1]
			}
		default:
			name = fields[0]
			if len(fields) > 1 && isUpper(name[0]) || listed("char const final int auto var String", name) {
				name = strings.Trim(fields[len(fields)-1], "[]")
			}
		}
		names = append(names, said{plain: strings.TrimSpace(name)})
	}
	return names
}

// words reads what stands between brackets, with commas between. on is what the call around is called on.
func (r *expressionReader) words(end byte, on said) []said {
	first := len(r.pending)
	r.wordsTo(end, on)
	words := slices.Clone(r.pending[first:])
	clear(r.pending[first:])
	r.pending = r.pending[:first]
	return words
}

// wordsTo adds what stands before a closing bracket to the words that are pending.
func (r *expressionReader) wordsTo(end byte, on said) {
	first := len(r.pending)
	add := func(v said) {
		if len(r.pending) < first+maxListed {
			r.pending = append(r.pending, v)
		}
	}
	for r.more() {
		r.space(true)
		switch c := r.peek(); {
		case c == 0:
			return
		case c == end:
			r.at++
			return
		case c == ')' || c == ']' || c == '}':
			r.at++
			return
		case c == ',' || c == ';':
			r.at++
			continue
		case c == '{':
			add(r.closure(on))
			continue
		case c == '|': // |x| of Rust, or of Ruby
			r.at++
			close := strings.IndexByte(r.text[r.at:], '|')
			if close >= 0 && close < 120 {
				for _, name := range namesIn(r.text[r.at : r.at+close]) {
					if name.plain != "" {
						r.set(name.plain, on.element())
					}
				}
				r.at += close + 1
			}
			continue
		}
		begin := r.at
		v := r.expression(false)
		r.space(true)
		switch {
		case v.name == "\x00function" && v.plain == "\x00": // one without a name, which the call has run
			for _, name := range v.items {
				if name.plain != "" {
					r.set(name.plain, on.orOf(r.pending[first:]).element().inside(on.below))
				}
			}
			for from := r.at; r.at < len(r.text) && r.at-from < 120 && !strings.ContainsRune("{,;)=", rune(r.text[r.at])); {
				r.at++
			}
			if r.peek() == '{' {
				r.at++
				r.block('}')
			} else if r.ahead("=>") {
				r.at += 2
				r.space(true)
				r.expression(false)
			}
			continue
		case v.plain != "" && on.plain != "" && (r.ahead(":") || r.keyword("in")): // for (File f : files)
			if r.peek() == ':' {
				r.at++
			}
			r.space(true)
			r.set(v.plain, r.expression(false).element())
			continue
		case on.plain != "" && r.keyword("as"): // foreach ($list as $key => $x)
			for r.space(true); r.more() && r.peek() != end && r.peek() != 0; {
				if name := r.word(); name != "" {
					r.set(name, v.element())
				} else {
					r.at++
				}
			}
			continue
		case r.ahead("->"), r.ahead("=>"): // x -> …, and also 'key' => value
			r.at += 2
			r.space(true)
			if names := append(v.items, v); v.plain != "" || len(v.items) > 0 {
				for _, name := range names {
					if name.plain != "" {
						r.set(name.plain, on.element())
					}
				}
			}
			if r.peek() == '{' {
				add(r.closure(on))
			} else {
				add(r.expression(false))
			}
			continue
		case r.peek() == ':' && !r.ahead("::"), r.peek() == '=' && !r.ahead("=="): // name: value
			r.at++
			r.space(true)
			if v.plain != "" && listed("recursive force", lower(v.plain)) {
				r.expression(false)
				add(said{name: "recursive"})
			} else if value := r.expression(false); v.name != "" || len(v.texts) > 0 {
				add(value)
			}
			continue
		case r.at == begin:
			r.at++
			continue
		case isWordByte(r.peek()) || r.peek() == '<' || r.peek() == '>': // a type before a name, or a word of the language
			if r.peek() == '<' || r.peek() == '>' {
				r.at++
			}
			if v.plain != "" && len(v.texts) == 0 {
				continue
			}
		}
		add(v)
	}
}

// inside is what lies in the folders of a value.
func (v said) inside(is bool) said {
	if !is {
		return v
	}
	v.below, v.texts = true, slices.Clone(v.texts)
	for i, t := range v.texts {
		if !strings.HasSuffix(t, "*") && t != "" {
			v.texts[i] = strings.TrimSuffix(t, "/") + "/*"
		}
	}
	return v
}

// orOf is a value, or the first of others that is known, if it is not.
func (v said) orOf(others []said) said {
	if len(v.texts) > 0 || len(v.items) > 0 {
		return v
	}
	for _, o := range others {
		if len(o.texts) > 0 || len(o.items) > 0 {
			return o
		}
	}
	return v
}

// closure reads statements between { and }: of a function without a name, that is given what lies in what
// it is called on.
func (r *expressionReader) closure(on said) said {
	r.at++
	begin := r.at
	head, _, ok := strings.Cut(r.text[begin:min(len(r.text), begin+120)], "->")
	if !ok {
		if head, _, ok = strings.Cut(r.text[begin:min(len(r.text), begin+120)], " in"); ok && strings.Contains(head, "for ") {
			ok = false
		}
	}
	if ok && !strings.ContainsAny(head, "(){;=\"") {
		for _, name := range namesIn(head) {
			if name.plain != "" {
				r.set(name.plain, on.element())
			}
		}
		r.at += len(head) + 2
		if r.ahead("n ") || r.ahead("n\n") {
			r.at++
		}
	}
	if len(on.texts)+len(on.items) > 0 {
		r.set("it", on.element())
		r.set("0", on.element())
	}
	return r.block('}')
}

// follow reads what is asked of a value, or called on it: names behind dots, words in brackets.
func (r *expressionReader) follow(v said) said {
	for r.more() {
		begin := r.at
		if rest := strings.TrimLeft(r.text[r.at:min(len(r.text), r.at+400)], " \t\r\n"); strings.HasPrefix(rest, ".") && !r.form.dots && len(rest) > 1 && isLetter(rest[1]) || strings.HasPrefix(rest, "->") && len(rest) > 2 && isLetter(rest[2]) && v.plain != "" || strings.HasPrefix(rest, "?.") {
			r.space(true)
		}
		switch {
		case r.peek() == '<' && typesThenCall.MatchString(r.text[r.at:min(len(r.text), r.at+80)]):
			r.at += strings.IndexByte(r.text[r.at:], '>') + 1
		case r.ahead("::<"), r.ahead(".<"): // its types
			end := strings.IndexByte(r.text[r.at:], '>')
			if end < 0 || end > 200 {
				return v
			}
			r.at += end + 1
		case r.ahead("::"), r.ahead("->"), r.ahead("?."), r.ahead("!."), r.ahead("!!."), r.peek() == '.' && !r.form.dots, r.peek() == '\\' && r.form.dots:
			sign := r.at
			for r.at < len(r.text) && strings.IndexByte(":->?!.\\", r.text[r.at]) >= 0 && r.at-sign < 3 {
				r.at++
			}
			name := r.word()
			if name == "" {
				if r.peek() == '?' || r.peek() == '*' || r.peek() == '{' { // x.?, x.*
					r.at++
					continue
				}
				r.at = begin
				return v
			}
			v = r.member(v, name)
		case r.peek() == '!' && r.at+1 < len(r.text) && (r.text[r.at+1] == '(' || r.text[r.at+1] == '[' || r.text[r.at+1] == '!'):
			r.at++
		case r.peek() == '?' && (r.at+1 == len(r.text) || strings.IndexByte(".;,)\n", r.text[r.at+1]) >= 0), r.peek() == '!' && r.at+1 < len(r.text) && strings.IndexByte(".;,)\n", r.text[r.at+1]) >= 0:
			r.at++
		case r.peek() == '(':
			r.at++
			on := v.self()
			if v.name == "for" || v.name == "foreach" {
				on.plain = v.name
			}
			on.below = on.below || slices.ContainsFunc(doingsOf(v.name), func(d did) bool { return d.what == walksFolder || d.what == listsFolder })
			v = r.call(v, r.words(')', on))
		case r.peek() == '[' && (v.name != "" || len(v.items) > 0 || len(v.texts) > 0):
			r.at++
			name := v
			if words := r.words(']', said{}); strings.HasSuffix(name.name, "vec") || v.name == "array" {
				v = said{items: words}
			} else if given, known := r.called(v.name+".", v, words); known {
				v = given
			} else if len(v.items) > 0 {
				v = v.element()
			} else {
				v = said{from: v.from}
			}
		case r.peek() == '{' && v.name != "" && v.name[0] != 0 && takesClosure[v.name[strings.LastIndexByte(v.name, '.')+1:]]:
			v = r.call(v, []said{r.closure(v.self())})
		case r.ahead(" {") && v.name != "" && takesClosure[v.name[strings.LastIndexByte(v.name, '.')+1:]] && strings.Contains(v.name, "."):
			r.at++
			v = r.call(v, []said{r.closure(v.self())})
		case r.form.spaced && (r.peek() == ' ' || r.peek() == '\t') && v.name != "" && v.name[0] != 0 && doingsOf(v.name) != nil && len(v.texts) == 0:
			r.space(false)
			if c := r.peek(); c == '"' || c == '\'' && r.form.ticks || c == '(' || c == '$' || isLetter(c) {
				var words []said
				for c := r.peek(); c != 0 && c != '\n' && c != ';' && c != ')' && c != '}' && r.more(); c = r.peek() {
					before := r.at
					if words = append(words, r.expression(false)); r.at == before {
						break
					}
					for r.space(false); r.peek() == ','; r.space(true) {
						r.at++
					}
				}
				v = r.call(v, words)
				continue
			}
			r.at = begin
			return r.uncalled(v)
		default:
			r.at = begin
			return r.uncalled(v)
		}
	}
	return v
}

// uncalled is what a name gives that needs no brackets to be called.
func (r *expressionReader) uncalled(v said) said {
	if !r.form.spaced || v.name == "" || v.name[0] == 0 || len(v.texts)+len(v.items) > 0 {
		return v
	}
	if slices.ContainsFunc(doingsOf(v.name), func(d did) bool { return d.what >= homeFolder && d.what <= settingsFolder }) {
		v, _ = r.called(v.name, v, nil)
	}
	return v
}

// typesThenCall is the types that a call of a function is given before its words.
var typesThenCall = lazyregexp.New(`^<[\w., ?]+>[({]`)

// takesClosure are calls that are given a function in { and }, and no brackets.
var takesClosure = set("foreach each map filter forEachIndexed use let also apply run with walk walktopdown onEach eachfile eachfilerecurse eachdir")

// self is what a method was called on: what is before its name.
func (v said) self() said {
	v.plain, v.name = "", ""
	return v
}

// member is what stands behind a dot.
func (r *expressionReader) member(v said, name string) said {
	full := lower(name)
	if v.name != "" && v.name[0] != 0 {
		full = v.name + "." + full
	} else {
		full = "." + full
	}
	if len(full) > 96 {
		full = full[len(full)-96:]
	}
	m := v
	m.plain = ""
	if m.name = full; r.peek() != '(' && !r.ahead("!(") && !r.ahead("::") {
		if given, known := r.called(full+"=", v, nil); known {
			given.name = full
			return given
		}
		if v.plain != "" || len(v.read) > 0 {
			m.read = nil // one value of many
		}
	}
	return m
}

// call is what a call gives.
func (r *expressionReader) call(v said, words []said) said {
	name := v.name
	if own, is := r.own[v.plain]; is && v.plain != "" && !r.declares(words) {
		given := r.given[v.plain]
		for i := range own {
			for len(given) <= i {
				given = append(given, said{})
			}
			if i < len(words) {
				given[i] = given[i].or(words[i].self()).withItems(words[i])
			}
		}
		r.given[v.plain] = given
		return r.gives[v.plain]
	}
	if _, set := r.vars[v.plain]; set && v.plain != "" { // a function that the program put into a variable
		if name = ""; len(v.texts) == 1 && isName(v.texts[0]) {
			name, v = lower(v.texts[0]), said{}
		}
	}
	if name == "" || name[0] == 0 {
		return said{}
	}
	if given, known := r.called(name, v, words); known {
		return given
	}
	out := said{name: "", below: v.below}
	if v.plain != "" {
		out = said{name: "\x00call", plain: v.plain, items: words}
		for i := range out.items {
			out.items[i].name = ""
		}
	} else if v.below {
		out.texts = v.texts
	}
	out = out.with(v)
	for _, w := range words {
		out = out.with(w)
	}
	return out
}

// declares reports whether what was read as a call is the head of a function: void name(String a) {
func (r *expressionReader) declares(words []said) bool {
	rest := strings.TrimLeft(r.text[min(r.at, len(r.text)):min(len(r.text), r.at+20)], " \n")
	return (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "throws ")) && !slices.ContainsFunc(words, func(w said) bool { return w.plain == "" })
}

// withItems keeps the items of another value.
func (v said) withItems(o said) said {
	if len(v.items) == 0 {
		v.items = o.items
	}
	return v
}

// string reads a string, and puts in what is known of the values in it.
func (r *expressionReader) string() said {
	quote := r.text[r.at : r.at+1]
	if strings.HasPrefix(r.text[r.at:], `"""`) || strings.HasPrefix(r.text[r.at:], "'''") {
		quote = r.text[r.at : r.at+3]
	}
	before := byte(0)
	if r.at > 0 {
		before = r.text[r.at-1]
	}
	plain := quote == "'" && !(r.form.ticks && !r.form.dots && r.form.dollars) || quote == "`"
	r.at += len(quote)
	v, b := sayOf(""), strings.Builder{}
	flush := func() {
		s := b.String()
		if b.Reset(); !plain && strings.Contains(s, `\`) {
			s = effects.Unescape(s)
		}
		v = v.add(sayOf(s), "")
	}
	for r.at < len(r.text) && !r.ahead(quote) && r.more() {
		c := r.text[r.at]
		switch {
		case !plain && r.ahead(`\(`), !plain && r.ahead("#{"), !plain && r.ahead("${") && r.form.dollars, !plain && c == '{' && (before == '$' || before == '@' || before == '&' || r.form.dots && r.ahead("{$")):
			flush()
			if r.at++; c != '{' {
				r.at++
			}
			end := byte('}')
			if c == '\\' {
				end = ')'
			}
			if words := r.words(end, said{}); len(words) > 0 {
				v = v.add(words[0], "")
			} else {
				v = v.add(said{}, "")
			}
		case !plain && c == '$' && r.form.dollars && r.at+1 < len(r.text) && (isLetter(r.text[r.at+1]) || r.text[r.at+1] == '_'):
			flush()
			v = v.add(r.vars[r.word()], "")
		case c == '\\' && !plain && r.at+1 < len(r.text):
			b.WriteString(r.text[r.at : r.at+2])
			r.at += 2
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	flush()
	r.at = min(len(r.text), r.at+len(quote))
	return v
}

// joined is a path of several parts.
func joined(parts []said) (v said) {
	for i, p := range parts {
		if len(p.items) > 0 && len(p.texts) == 0 {
			p = joined(p.items).with(p)
		}
		if v = v.add(p, "/"); i == 0 {
			v = p
		}
	}
	for i, t := range v.texts {
		if strings.Contains(t, "/..") && !strings.Contains(t, unknownPart) {
			v.texts[i] = path.Clean(t)
		}
	}
	v.plain, v.name = "", ""
	return v
}
