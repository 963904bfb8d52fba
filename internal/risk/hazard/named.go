package hazard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Names that a script gives: functions, aliases and the words that a script is given.
// Who calls `f /` runs what f was said to be, with / in the place of $1.

// maxCalls bounds how deep named commands are followed into each other.
const maxCalls = 8

// named runs a function or an alias that the script itself made. done is false if the
// command is neither.
func (s *shell) named(args []flow, in flow) (out flow, done bool) {
	name := args[0].text
	if s.calls >= maxCalls {
		return flow{}, false
	}
	if body, ok := s.functions[name]; ok {
		s.calls++
		defer func() { s.calls-- }()
		defer s.given(args)()
		return s.statement(body, in), true
	}
	if value, ok := s.aliases[name]; ok && before(strings.TrimSpace(value), ' ') != name {
		s.calls++
		defer func() { s.calls-- }()
		if strings.ContainsAny(value, "|;&<>$`'\"\\(\n") {
			return s.inside(value + " " + (&invocation{shell: s}).joined(args[1:]).text), true
		}
		var words []flow
		for w := range strings.FieldsSeq(value) {
			words = append(words, flow{text: w, known: true})
		}
		if len(words) > 0 {
			return s.invoke(append(words, args[1:]...), in, 1), true
		}
	}
	return flow{}, false
}

// given sets $0, $1 and the others, and returns what sets back what they were.
func (s *shell) given(args []flow) (restore func()) {
	before := map[string]flow{}
	missing := []string{}
	set := func(name string, v flow) {
		if old, ok := s.vars[name]; ok {
			before[name] = old
		} else {
			missing = append(missing, name)
		}
		s.vars[name] = v
	}
	for i, a := range args {
		if i > 9 {
			break
		}
		set(string(rune('0'+i)), a)
	}
	if len(args) > 1 {
		all := (&invocation{shell: s}).joined(args[1:])
		set("@", all)
		set("*", all)
	}
	return func() {
		for name, v := range before {
			s.vars[name] = v
		}
		for _, name := range missing {
			delete(s.vars, name)
		}
	}
}

// called sets what a script is given that runs as a program of its own, its name first: nothing
// stands where it is given no word. It returns what sets back what was so.
func (s *shell) called(args []flow, in flow) (restore func()) {
	input, words := s.input, args
	for len(words) < 10 {
		words = append(words[:len(words):len(words)], flow{known: true})
	}
	count, counted := s.vars["#"]
	back := s.given(words)
	all := (&invocation{shell: s}).joined(args[1:])
	s.vars["@"], s.vars["*"] = all, all
	s.vars["#"] = flow{text: strconv.Itoa(len(args) - 1), known: true}
	s.input = in
	s.inFiles++
	return func() {
		back()
		s.inFiles--
		s.input = input
		if delete(s.vars, "#"); counted {
			s.vars["#"] = count
		}
	}
}

// shift takes the first of the words away that a script was given.
func (c *invocation) shift() flow {
	words := c.positional()
	n := 1
	if len(c.args) > 0 && isDigits(c.args[0].text) && len(c.args[0].text) == 1 {
		n = int(c.args[0].text[0] - '0')
	}
	if n > len(words) || len(words) == 0 {
		return flow{known: true}
	}
	words = words[n:]
	for i := '1'; i <= '9'; i++ {
		if k := int(i - '1'); k < len(words) {
			c.vars[string(i)] = words[k]
		} else {
			c.vars[string(i)] = flow{known: true}
		}
	}
	all := c.joined(words)
	c.vars["@"], c.vars["*"] = all, all
	c.vars["#"] = flow{text: strconv.Itoa(len(words)), known: true}
	return flow{known: true}
}

// positional are $1, $2 and on, as far as they are known.
func (s *shell) positional() []flow {
	var all []flow
	last := '9'
	if n := s.vars["#"]; n.known && len(n.text) == 1 {
		last = rune(n.text[0])
	}
	for i := '1'; i <= last; i++ {
		v, ok := s.vars[string(i)]
		if !ok {
			break
		}
		all = append(all, v)
	}
	return all
}

// allWords says whether a word stands for all words of a list, each for itself: "$@", "${a[@]}".
func allWords(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	quoted, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(quoted.Parts) != 1 {
		return false
	}
	p, ok := quoted.Parts[0].(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Length {
		return false
	}
	if index, ok := p.Index.(*syntax.Word); ok {
		return index.Lit() == "@"
	}
	return p.Param.Value == "@"
}

// braces gives the words that braces make of one: ~/{*,.*} is ~/* and ~/.*.
func braces(text string) []string {
	const most = 64
	words := []string{text}
	for range 4 {
		var next []string
		changed := false
		for _, w := range words {
			open := strings.IndexByte(w, '{')
			for open >= 0 && open > 0 && w[open-1] == '$' {
				open = -1
			}
			if open < 0 {
				next = append(next, w)
				continue
			}
			end := strings.IndexByte(w[open:], '}')
			if end < 0 || !strings.Contains(w[open:open+end], ",") || strings.Contains(w[open+1:open+end], "{") {
				next = append(next, w)
				continue
			}
			changed = true
			for part := range strings.SplitSeq(w[open+1:open+end], ",") {
				if next = append(next, w[:open]+part+w[open+end+1:]); len(next) >= most {
					return next
				}
			}
		}
		if words = next; !changed {
			break
		}
	}
	return words
}
