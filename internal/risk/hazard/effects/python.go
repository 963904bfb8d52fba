package effects

import (
	"golang.org/x/text/unicode/norm"

	"slices"
	"strconv"
	"strings"
)

// There is a parser of Python in Go, of the language as it was before f-strings. What effects
// need of Python's grammar is small: statements by their first word and their indentation, and
// expressions by their operators' precedence, all of which are read alike.

// parsePython reads a program. ok is false where a part of it was not understood.
func parsePython(source string) (body []*statement, ok, cut bool) {
	p := &python{s: source, ok: true}
	p.scan()
	body = p.block(-1, 0)
	return body, p.ok, p.cut
}

// python reads tokens, which are few kinds: names, numbers, texts, signs, and the ends of
// lines with the indentation of the next.
type python struct {
	s      string
	tokens []pythonToken
	at     int
	nodes  int
	depth  int
	ok     bool
	cut    bool // not all was read
}

type pythonToken struct {
	kind   byte // 'n'ame, '0' number, 's' a text, 'b' one of bytes, 'f' one with values in it, 'l'ine, or 'o'perator
	text   string
	indent int // of a line
}

const pythonPrefixes = "rRbBuUfFtT"

// scan cuts the source into tokens.
func (p *python) scan() {
	s, open := p.s, 0
	line := func(i int) (indent, next int) {
		for {
			indent, next = 0, i
			for next < len(s) && (s[next] == ' ' || s[next] == '\t' || s[next] == '\f') {
				if indent++; s[next] == '\t' {
					indent += 7
				}
				next++
			}
			if next < len(s) && s[next] == '#' {
				for next < len(s) && s[next] != '\n' {
					next++
				}
			}
			if next < len(s) && (s[next] == '\n' || s[next] == '\r') {
				i = next + 1
				continue
			}
			return indent, next
		}
	}
	indent, i := line(0)
	p.tokens = append(p.tokens, pythonToken{kind: 'l', indent: indent})
	for i < len(s) && len(p.tokens) < 2*maxNodes {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\f' || c == '\r':
			i++
		case c == '\\' && i+1 < len(s) && (s[i+1] == '\n' || s[i+1] == '\r'):
			i += 2
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == '\n' && open > 0:
			i++
		case c == '\n':
			indent, i = line(i + 1)
			p.tokens = append(p.tokens, pythonToken{kind: 'l', indent: indent})
		case c == ';' && open == 0:
			p.tokens = append(p.tokens, pythonToken{kind: 'o', text: ";"})
			i++
		case letter(c):
			j := i
			for j < len(s) && (letter(s[j]) || s[j] >= '0' && s[j] <= '9') {
				j++
			}
			if j < len(s) && (s[j] == '"' || s[j] == '\'') && j-i <= 2 && strings.Trim(s[i:j], pythonPrefixes) == "" {
				i = p.text(s[i:j], j)
				continue
			}
			p.tokens = append(p.tokens, pythonToken{kind: 'n', text: norm.NFKC.String(s[i:j])}) // as Python takes names
			i = j
		case c == '"' || c == '\'':
			i = p.text("", i)
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			j := i + 1
			for j < len(s) && (letter(s[j]) || s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			p.tokens = append(p.tokens, pythonToken{kind: '0', text: s[i:j]})
			i = j
		default:
			n := 1
			for _, sign := range []string{"**=", "//=", ">>=", "<<=", "...", "**", "//", "==", "!=", "<=", ">=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "<<", ">>"} {
				if strings.HasPrefix(s[i:], sign) {
					n = len(sign)
					break
				}
			}
			switch c {
			case '(', '[', '{':
				open++
			case ')', ']', '}':
				open = max(0, open-1)
			}
			p.tokens = append(p.tokens, pythonToken{kind: 'o', text: s[i : i+n]})
			i += n
		}
	}
	p.ok, p.cut = p.ok && i >= len(s), i < len(s)
	p.tokens = append(p.tokens, pythonToken{kind: 'l', indent: -2})
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// text reads a string at i, behind its prefix, and returns where it ends.
func (p *python) text(prefix string, i int) int {
	s, quote := p.s, p.s[i:i+1]
	if strings.HasPrefix(s[i:], strings.Repeat(quote, 3)) {
		quote = s[i : i+3]
	}
	begin := i + len(quote)
	j := endOf(s, begin, quote)
	if strings.ContainsAny(prefix, "fFtT") {
		if k := endWithValues(s, begin, quote, 0); k >= 0 {
			j = k
		}
	}
	t := pythonToken{kind: 's', text: s[begin:j]}
	if j == len(s) || s[j] == '\n' {
		p.ok = false
	} else {
		j += len(quote)
	}
	if !strings.ContainsAny(prefix, "rR") {
		if !strings.ContainsAny(prefix, "bB") {
			t.text = spelledOut(t.text)
		}
		t.text = Unescape(t.text)
	}
	switch {
	case strings.ContainsAny(prefix, "fFtT"):
		t.kind = 'f'
	case strings.ContainsAny(prefix, "bB"):
		t.kind = 'b'
	}
	p.tokens = append(p.tokens, t)
	return j
}

func (p *python) peek() pythonToken { return p.tokens[p.at] }

func (p *python) is(sign string) bool {
	t := p.peek()
	return t.kind == 'o' && t.text == sign
}

func (p *python) word(w string) bool {
	t := p.peek()
	return t.kind == 'n' && t.text == w
}

func (p *python) next() pythonToken {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

func (p *python) take(sign string) bool {
	if p.is(sign) {
		p.next()
		return true
	}
	return false
}

func (p *python) takeWord(w string) bool {
	if p.word(w) {
		p.next()
		return true
	}
	return false
}

// skip goes to the end of the statement.
func (p *python) skip() {
	for p.peek().kind != 'l' && !p.is(";") {
		p.next()
	}
}

// block reads the lines that are indented deeper than outer.
func (p *python) block(outer, depth int) (body []*statement) {
	if depth > maxNesting {
		p.ok, p.cut = false, true
	}
	for p.at < len(p.tokens)-1 {
		t := p.peek()
		if t.kind == 'l' {
			if t.indent <= outer || depth > maxNesting {
				return body
			}
			p.next()
			if p.peek().kind == 'l' {
				continue
			}
			body = append(body, p.statements(t.indent, depth)...)
			continue
		}
		p.ok = false
		p.next()
	}
	return body
}

// suite is what stands behind a colon: the rest of the line, or a block.
func (p *python) suite(indent, depth int) []*statement {
	if p.peek().kind == 'l' {
		return p.block(indent, depth+1)
	}
	return p.statements(indent, depth+1)
}

// statements reads one line.
func (p *python) statements(indent, depth int) (list []*statement) {
	for p.peek().kind != 'l' {
		if p.take(";") {
			continue
		}
		before := p.at
		list = append(list, p.statement(indent, depth)...)
		if p.peek().kind != 'l' && !p.is(";") {
			if _, compound := lineBegins[p.tokens[before].text]; compound && p.at > before && p.tokens[p.at-1].kind == 'l' {
				return list
			}
			p.ok = false
			p.skip()
		}
	}
	return list
}

// lineBegins are the words that begin a statement with a suite.
var lineBegins = map[string]bool{
	"if": true, "elif": true, "while": true, "else": true, "try": true, "finally": true, "except": true, "for": true,
	"with": true, "def": true, "class": true, "async": true, "match": true, "case": true,
}

// colon goes to the colon before a suite.
func (p *python) colon() {
	for p.peek().kind != 'l' {
		if p.take(":") {
			return
		}
		p.ok = false
		p.next()
	}
}

func (p *python) statement(indent, depth int) []*statement {
	t := p.peek()
	if t.kind == 'n' {
		switch t.text {
		case "async":
			p.next()
			return p.statement(indent, depth)
		case "if", "elif", "while", "assert", "del", "raise":
			p.next()
			s := &statement{kind: within}
			if p.peek().kind != 'l' && !p.is(";") {
				s.value = p.expressions()
			}
			if p.takeWord("from") {
				s.body = append(s.body, &statement{value: p.expression(0)})
			}
			if t.text == "if" || t.text == "elif" || t.text == "while" {
				p.colon()
				s.body, s.again = p.suite(indent, depth), t.text == "while"
			}
			return []*statement{s}
		case "else", "try", "finally":
			p.next()
			p.colon()
			return []*statement{{kind: within, body: p.suite(indent, depth)}}
		case "except":
			p.next()
			p.take("*")
			if !p.is(":") {
				p.expressions()
				if p.takeWord("as") {
					p.next()
				}
			}
			p.colon()
			return []*statement{{kind: within, body: p.suite(indent, depth)}}
		case "for":
			p.next()
			s := &statement{kind: repeated, targets: p.targets()}
			if p.takeWord("in") {
				s.value = p.expressions()
			}
			p.colon()
			s.body = p.suite(indent, depth)
			return []*statement{s}
		case "with":
			p.next()
			s := &statement{kind: within}
			enclosed := p.is("(") && p.withParenthesis()
			for !p.is(":") && p.peek().kind != 'l' {
				one := &statement{kind: assign, value: p.expression(0)}
				if p.takeWord("as") {
					one.targets = []*node{p.expression(9)}
				}
				s.body = append(s.body, one)
				if !p.take(",") && !(enclosed && p.take(")")) {
					break
				}
			}
			p.colon()
			s.body = append(s.body, p.suite(indent, depth)...)
			return []*statement{s}
		case "def":
			p.next()
			called := p.next().text
			f := &node{kind: function}
			if p.take("[") {
				p.until("]")
			}
			if p.take("(") {
				f.names = p.parameters(")")
			}
			if p.take("->") {
				p.expression(0)
			}
			p.colon()
			f.body = p.suite(indent, depth)
			return []*statement{{kind: assign, targets: []*node{one(name, called)}, value: f}}
		case "class":
			p.next()
			p.next()
			s := &statement{kind: within}
			if p.is("(") {
				s.value = p.expression(0)
			}
			p.colon()
			s.body = p.suite(indent, depth)
			const begins = "__init__" // what it makes known of its objects
			if slices.ContainsFunc(s.body, func(s *statement) bool { return len(s.targets) == 1 && s.targets[0].text == begins }) {
				s.body = append(s.body, &statement{value: one(call, "", one(name, begins))})
			}
			return []*statement{s}
		case "return":
			p.next()
			s := &statement{kind: returned}
			if p.peek().kind != 'l' && !p.is(";") {
				s.value = p.expressions()
			}
			return []*statement{s}
		case "import":
			p.next()
			s := &statement{kind: imports}
			for {
				module := p.dotted()
				bound, to := strings.SplitN(module, ".", 2)[0], strings.SplitN(module, ".", 2)[0]
				if p.takeWord("as") {
					bound, to = p.next().text, module
				}
				s.names = append(s.names, bound, to)
				if !p.take(",") {
					return []*statement{s}
				}
			}
		case "from":
			p.next()
			module := p.dotted()
			if !p.takeWord("import") {
				break
			}
			s := &statement{kind: imports}
			p.take("(")
			for p.peek().kind == 'n' || p.is("*") {
				what := p.next().text
				bound := what
				if p.takeWord("as") {
					bound = p.next().text
				}
				s.names = append(s.names, bound, module+"."+what)
				p.take(",")
			}
			p.take(")")
			return []*statement{s}
		case "global", "nonlocal", "pass", "break", "continue":
			p.skip()
			return nil
		}
	}
	if p.is("@") {
		p.next()
		return []*statement{{value: p.expression(0)}}
	}
	return p.assignment()
}

// assignment reads an expression, or what is bound to one.
func (p *python) assignment() []*statement {
	s := &statement{value: p.expressions()}
	if p.take(":") { // its type
		p.expression(0)
	}
	for p.is("=") {
		p.next()
		s.kind, s.targets = assign, append(s.targets, s.value)
		s.value = p.expressions()
	}
	if t := p.peek(); t.kind == 'o' && len(t.text) > 1 && strings.HasSuffix(t.text, "=") && !strings.ContainsAny(t.text[:1], "=!<>:") {
		p.next()
		return []*statement{{kind: extend, targets: []*node{s.value}, value: p.expressions()}}
	}
	return []*statement{s}
}

// withParenthesis reports whether what with stands before is a list in parentheses, and takes
// the first of these.
func (p *python) withParenthesis() bool {
	open := 0
	for i := p.at; i < len(p.tokens); i++ {
		switch t := p.tokens[i]; {
		case t.kind == 'l':
			return false
		case t.kind == 'o' && strings.ContainsAny(t.text, "([{"):
			open++
		case t.kind == 'o' && strings.ContainsAny(t.text, ")]}"):
			if open--; open == 0 {
				if following := p.tokens[i+1]; following.kind == 'o' && following.text == ":" {
					p.next()
					return true
				}
				return false
			}
		}
	}
	return false
}

func (p *python) dotted() string {
	var b strings.Builder
	for {
		switch {
		case p.is("."), p.is("..."):
			b.WriteString(p.next().text)
		case p.peek().kind == 'n' && !p.word("import") && !p.word("as"):
			b.WriteString(p.next().text)
			if !p.is(".") {
				return b.String()
			}
		default:
			return b.String()
		}
	}
}

// targets are what a loop binds.
func (p *python) targets() (list []*node) {
	p.take("(")
	for !p.word("in") && p.peek().kind != 'l' {
		before := p.at
		list = append(list, p.expression(9))
		p.take(",")
		p.take(")")
		if p.at == before {
			p.next()
		}
	}
	return list
}

// parameters reads the names of a function's parameters.
func (p *python) parameters(end string) (names []string) {
	for !p.is(end) && p.peek().kind != 'l' {
		t := p.next()
		if t.kind != 'n' {
			continue
		}
		names = append(names, t.text)
		if end != ":" && p.take(":") {
			p.expression(0)
		}
		if p.take("=") {
			p.expression(0)
		}
	}
	p.take(end)
	return names
}

// until goes behind a sign that closes.
func (p *python) until(sign string) {
	for p.peek().kind != 'l' && !p.take(sign) {
		p.next()
	}
}

// expressions reads one, or several with commas between, which are a list.
func (p *python) expressions() *node {
	first := p.expression(0)
	if !p.is(",") {
		return first
	}
	all := one(list, "", first)
	for p.take(",") {
		if t := p.peek(); t.kind == 'l' || t.kind == 'o' && strings.Contains("=)]};:", t.text) {
			break
		}
		all.kids = append(all.kids, p.expression(0))
	}
	return all
}

// Precedences of what stands between two expressions; others bind by themselves.
var pythonBinds = map[string]int{
	":=": 1, "or": 2, "and": 2, "in": 4, "is": 4, "not": 4, "<": 4, ">": 4, "==": 4, ">=": 4, "<=": 4, "!=": 4,
	"|": 5, "^": 5, "&": 5, "<<": 6, ">>": 6, "+": 7, "-": 7, "*": 8, "/": 8, "//": 8, "%": 8, "@": 8, "**": 9,
}

func (p *python) expression(least int) *node {
	if p.depth++; p.depth > maxNesting || p.nodes > maxNodes {
		p.ok, p.cut = false, true
		p.depth--
		p.skip()
		return one(anything, "")
	}
	defer func() { p.depth-- }()
	left := p.unary()
	for {
		t := p.peek()
		if t.kind != 'o' && t.kind != 'n' {
			return left
		}
		if t.kind == 'n' && t.text == "if" && least <= 1 { // a if b else c
			p.next()
			condition := p.expression(2)
			if !p.takeWord("else") {
				return one(anything, "", left, condition)
			}
			left = one(anything, "or", left, condition, p.expression(0))
			continue
		}
		binds := pythonBinds[t.text]
		if binds == 0 || binds < least || t.kind == 'n' && t.text == "in" && least > 4 {
			return left
		}
		p.next()
		if t.text == "not" {
			p.takeWord("in")
		}
		if t.text == "is" {
			p.takeWord("not")
		}
		p.nodes++
		left = one(binary, t.text, left, p.expression(binds+1))
	}
}

func (p *python) unary() *node {
	p.nodes++
	t := p.peek()
	switch {
	case t.kind == 'n' && (t.text == "not" || t.text == "await"):
		p.next()
		return p.unaryOf(4)
	case t.kind == 'n' && t.text == "yield":
		p.next()
		p.takeWord("from")
		if n := p.peek(); n.kind == 'l' || n.kind == 'o' && strings.Contains(")]};", n.text) {
			return one(anything, "")
		}
		return p.expressions()
	case t.kind == 'n' && t.text == "lambda":
		p.next()
		f := &node{kind: function, names: p.parameters(":")}
		f.body = []*statement{{kind: returned, value: p.expression(0)}}
		return f
	case t.kind == 'o' && (t.text == "-" || t.text == "+" || t.text == "~"):
		p.next()
		of := p.unaryOf(9)
		if t.text == "-" && of.kind == number {
			of.text = "-" + of.text
		}
		return of
	case t.kind == 'o' && (t.text == "*" || t.text == "**"):
		p.next()
		return one(spread, t.text, p.unaryOf(5))
	}
	return p.trailers(p.atom())
}

func (p *python) unaryOf(least int) *node {
	if p.depth > maxNesting {
		p.ok, p.cut = false, true
		return one(anything, "")
	}
	return p.expression(least)
}

// trailers reads what stands behind an atom: calls, attributes, indexes.
func (p *python) trailers(n *node) *node {
	for {
		p.nodes++
		switch {
		case p.take("."):
			n = one(attribute, p.next().text, n)
		case p.take("("):
			n = one(call, "", n)
			for !p.is(")") && p.peek().kind != 'l' {
				before, word := p.at, ""
				if t := p.peek(); t.kind == 'n' && p.at+1 < len(p.tokens) && p.tokens[p.at+1].kind == 'o' && p.tokens[p.at+1].text == "=" {
					word = t.text
					p.at += 2
				}
				n.names = append(n.names, word)
				n.kids = append(n.kids, p.element(p.expression(0)))
				p.take(",")
				if p.at == before {
					p.ok = false
					p.next()
				}
			}
			p.take(")")
		case p.take("["):
			n = p.subscript(n)
		default:
			return n
		}
	}
}

// subscript reads what stands in brackets behind a value.
func (p *python) subscript(n *node) *node {
	parts, colons := []*node{}, 0
	var bounds [3]*node // of a slice
	for !p.is("]") && p.peek().kind != 'l' {
		if p.take(":") {
			colons++
			continue
		}
		if p.take(",") {
			continue
		}
		before := p.at
		parts = append(parts, p.expression(0))
		bounds[min(colons, 2)] = parts[len(parts)-1]
		if p.at == before {
			p.next()
		}
	}
	p.take("]")
	switch {
	case colons > 0 && colons < 3 && len(parts) <= 3:
		return one(cut, "", n, bounds[0], bounds[1], bounds[2])
	case colons == 0 && len(parts) == 1:
		return one(index, "", n, parts[0])
	}
	return one(anything, "", append([]*node{n}, parts...)...)
}

// element is an expression in brackets, which may be what a comprehension makes.
func (p *python) element(first *node) *node {
	for p.word("for") || p.word("async") || p.word("if") {
		p.takeWord("async")
		if p.takeWord("if") {
			first = one(anything, "if", first, p.expression(2))
			continue
		}
		p.takeWord("for")
		targets := one(list, "", p.targets()...)
		p.takeWord("in")
		first = one(collection, "", first, targets, p.expression(2))
	}
	return first
}

func (p *python) atom() *node {
	if p.peek().kind == 'l' { // which is not the expression's
		p.ok = false
		return one(anything, "")
	}
	t := p.next()
	switch t.kind {
	case 'n':
		return one(name, t.text)
	case '0':
		return one(number, t.text)
	case 'b':
		text := t.text
		for p.peek().kind == 'b' {
			text += p.next().text
		}
		return one(octets, text)
	case 's', 'f':
		n := p.said(t)
		for k := p.peek().kind; k == 's' || k == 'f'; k = p.peek().kind {
			n = one(joined, "", n, p.said(p.next()))
		}
		return n
	}
	switch t.text {
	case "(", "[":
		end := map[string]string{"(": ")", "[": "]"}[t.text]
		all, commas := one(list, ""), 0
		for !p.is(end) && p.peek().kind != 'l' {
			before := p.at
			all.kids = append(all.kids, p.element(p.expression(0)))
			if p.take(",") {
				commas++
			}
			if p.at == before {
				p.ok = false
				p.next()
			}
		}
		p.take(end)
		if t.text == "(" && commas == 0 && len(all.kids) == 1 || len(all.kids) == 1 && all.kids[0].kind == collection {
			return all.kids[0]
		}
		return all
	case "{":
		all, colons := one(object, ""), 0
		for !p.is("}") && p.peek().kind != 'l' {
			before := p.at
			key := p.expression(0)
			value := key
			if p.take(":") {
				colons++
				value = p.expression(0)
			} else if key.kind == spread {
				colons++ // **of what has names
			}
			all.names, all.kids = append(all.names, key.text), append(all.kids, p.element(value))
			p.take(",")
			if p.at == before {
				p.ok = false
				p.next()
			}
		}
		p.take("}")
		if colons == 0 && len(all.kids) > 0 { // a set
			if all.kind, all.names = list, nil; len(all.kids) == 1 && all.kids[0].kind == collection {
				return all.kids[0]
			}
		}
		return all
	case "...":
		return one(anything, "")
	}
	p.ok = false
	return one(anything, "")
}

// said is a text, with the values that an f-string has in it.
func (p *python) said(t pythonToken) *node {
	if t.kind == 's' {
		return one(literal, t.text)
	}
	n := one(joined, "")
	rest := t.text
	for {
		before, behind, found := strings.Cut(rest, "{")
		n.kids = append(n.kids, one(literal, strings.ReplaceAll(before, "}}", "}")))
		if !found {
			return n
		}
		if strings.HasPrefix(behind, "{") {
			n.kids, rest = append(n.kids, one(literal, "{")), behind[1:]
			continue
		}
		end := closes(behind)
		if end < 0 {
			p.ok = false
			return n
		}
		inner := behind[:end]
		if i := strings.LastIndexAny(inner, "!:"); i > 0 && !strings.ContainsAny(inner[i:], `)]}'"`) && !strings.HasPrefix(inner[i:], "!=") {
			inner = inner[:i]
		}
		if p.depth < maxNesting/2 {
			q := &python{s: strings.TrimSuffix(strings.TrimSpace(inner), "="), ok: true, depth: p.depth + 4, nodes: p.nodes}
			q.scan()
			q.next()
			n.kids = append(n.kids, q.expressions())
			p.nodes, p.ok = q.nodes, p.ok && q.ok
		}
		rest = behind[end+1:]
	}
}

// closes is where the brace ends that stands before s.
func closes(s string) int {
	open := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			if end := endOf(s, i+1, s[i:i+1]); end < len(s) && s[end] == s[i] {
				i = end
			}
		case '{':
			open++
		case '}':
			if open--; open < 0 {
				return i
			}
		}
	}
	return -1
}

// endOf is where a text ends that began before from.
func endOf(s string, from int, quote string) int {
	j := from
	for ; j < len(s); j++ {
		if s[j] == '\\' {
			j++
		} else if strings.HasPrefix(s[j:], quote) || len(quote) == 1 && s[j] == '\n' {
			break
		}
	}
	return min(j, len(s))
}

// endWithValues is where a text ends that has values in it, in which other texts stand with
// whatever quotes; -1 where it does not end so.
func endWithValues(s string, from int, quote string, depth int) int {
	open := 0
	for j := from; j < len(s) && depth < 8; j++ {
		switch {
		case open == 0 && s[j] == '\\':
			j++
		case open == 0 && strings.HasPrefix(s[j:], quote):
			return j
		case len(quote) == 1 && s[j] == '\n' && open == 0:
			return -1
		case open == 0 && (strings.HasPrefix(s[j:], "{{") || strings.HasPrefix(s[j:], "}}")):
			j++
		case s[j] == '{':
			open++
		case s[j] == '}':
			open = max(0, open-1)
		case open > 0 && (s[j] == '"' || s[j] == '\''):
			inner := s[j : j+1]
			if strings.HasPrefix(s[j:], strings.Repeat(inner, 3)) {
				inner = s[j : j+3]
			}
			end := endOf(s, j+len(inner), inner)
			if strings.ContainsRune("fFtT", rune(s[j-1])) {
				end = endWithValues(s, j+len(inner), inner, depth+1)
			}
			if end < 0 || end >= len(s) {
				return -1
			}
			j = end + len(inner) - 1
		}
	}
	return -1
}

// integer is a number of either language; ok is false for any other.
func integer(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSuffix(text, "n"), "_", ""), 0, 64)
	return n, err == nil
}
