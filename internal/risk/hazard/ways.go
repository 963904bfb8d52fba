package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// A text that stands in a line reaches what runs it by many ways besides a pipe: over a
// descriptor with a number, as the words or the lines that a program is called with, by a program
// of awk that writes into a command.

// feeds notes what a descriptor is redirected to: the input, or one that is read by its number or
// by its name.
func (s *shell) feeds(n string, f flow, in *flow) {
	if n == "" || n == "0" {
		*in = f
		return
	}
	if len(s.opens) < 64 {
		s.opens[n] = f
		s.putFile("/dev/fd/"+n, f)
	}
}

// descriptor is the name under which a file of the shell's own open files is kept: /proc/self/fd/3 and
// /proc/$$/fd/3 are /dev/fd/3, and /dev/stdin is the first.
func descriptor(name string) string {
	switch {
	case name == "/dev/stdin":
		return "/dev/fd/0"
	case strings.HasPrefix(name, "/proc/"):
		if _, n, ok := strings.Cut(name, "/fd/"); ok && isDigits(n) {
			return "/dev/fd/" + n
		}
	}
	return name
}

// reads gives the command what comes in also by the name that its input has, until the function is
// called that it returns.
func (s *shell) reads(in flow) func() {
	const name = "/dev/fd/0"
	before, had := s.files[name]
	if in.text == "" && in.taint == 0 {
		delete(s.files, name)
	} else {
		s.files.put(name, in)
	}
	return func() {
		delete(s.files, name)
		if had {
			s.files[name] = before
		}
	}
}

// maxItems is how many of the items that a program is given on its input are each run by themselves.
const maxItems = 64

// items are the pieces into which xargs cuts what it reads: at a sign that it is told, at the ends of
// lines if one of them is put in a place, and else at spaces that no quotes hold.
func (c *invocation) items() []string {
	mark := "\x00"
	for i, a := range c.args {
		switch t := a.text; {
		case t == "-0" || t == "--null" || t == "-0r" || t == "-r0":
			mark = "\\0"
		case (t == "-d" || t == "--delimiter") && i+1 < len(c.args):
			mark = c.args[i+1].text
		case strings.HasPrefix(t, "--delimiter="):
			mark = t[len("--delimiter="):]
		case strings.HasPrefix(t, "-d") && len(t) > 2:
			mark = t[2:]
		}
	}
	text := c.in.text
	switch {
	case mark == "\\0":
		text = strings.ReplaceAll(text, `\0`, "\x00") // as printf is given it
		mark = "\x00"
	case mark == "\x00" && c.placeholder() != "":
		mark = "\n"
	case mark == "\x00":
		return quotedItems(text)
	default:
		mark = effects.Unescape(mark)
	}
	var out []string
	for item := range strings.SplitSeq(text, mark) {
		if item = strings.TrimRight(item, "\n"); strings.TrimSpace(item) != "" {
			out = append(out, item)
		}
	}
	return out
}

// quotedItems cuts a text at white space, but for what stands in quotes.
func quotedItems(text string) (out []string) {
	var b strings.Builder
	quote, begun := byte(0), false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(ch)
		case ch == '"' || ch == '\'':
			quote, begun = ch, true
		case ch == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r':
			if begun || b.Len() > 0 {
				out = append(out, b.String())
			}
			b.Reset()
			begun = false
		default:
			b.WriteByte(ch)
		}
	}
	if begun || b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// withItems are the calls that xargs makes of a command: one with all that it reads, and one with each
// item, since how many it gives to a call is told by options.
func (c *invocation) withItems(command []flow) [][]flow {
	items := c.items()
	if !c.in.known && len(items) == 0 || c.in.text == "" {
		return [][]flow{c.withInput(command)}
	}
	mark := c.placeholder()
	give := func(items ...string) []flow {
		out := slices.Clone(command)
		if mark == "" {
			for _, item := range items {
				out = append(out, flow{text: item, known: c.in.known, taint: c.in.taint})
			}
			return out
		}
		for i := range out {
			if strings.Contains(out[i].text, mark) && len(items[0]) < 16<<10 {
				out[i] = flow{text: strings.ReplaceAll(out[i].text, mark, items[0]), known: out[i].known && c.in.known, taint: out[i].taint | c.in.taint}
			}
		}
		return out
	}
	var calls [][]flow
	if mark == "" {
		calls = append(calls, give(items[:min(len(items), 1024)]...))
	} else { // what stands in more lines than one
		calls = append(calls, give(strings.TrimSpace(c.in.text)))
	}
	if len(items) == 1 && mark == "" {
		return calls
	}
	if len(items) > maxItems {
		items = append(items[:maxItems:maxItems], strings.Join(items[maxItems:], "\n"))
	}
	for _, item := range items {
		calls = append(calls, give(item))
	}
	return calls
}

// eachLine is what parallel makes of the lines that it reads: each is a command, or the last word of
// the command that it is given.
func (c *invocation) eachLine(command []flow) flow {
	if len(command) == 0 {
		return c.invoke([]flow{{text: "sh", known: true}}, c.in, c.wrap+1)
	}
	if c.in.text == "" {
		return c.invoke(c.withInput(command), c.in, c.wrap+1)
	}
	var each []flow
	for line := range strings.Lines(c.in.text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			each = append(each, flow{text: line})
		}
	}
	out := flow{known: true}
	for len(each) > 0 {
		n := min(len(each), 16)
		out = both(out, c.inside(parallel(command, each[:n])))
		each = each[n:]
	}
	out.taint |= c.in.taint
	return out
}

// callsBack judges what mapfile runs for the lines that it reads: it is told a command, and the lines
// are its words.
func (c *invocation) callsBack(callback flow) {
	before, had := c.vars["MAPFILE"]
	in := c.in
	in.text = strings.TrimRight(in.text, "\n")
	c.vars["MAPFILE"] = in
	c.inside(callback.text + ` "" "$MAPFILE"`)
	c.inside(callback.text + ` "$MAPFILE"`)
	if delete(c.vars, "MAPFILE"); had {
		c.vars["MAPFILE"] = before
	}
}

// wrapsCompiler judges the program that a compiler is told to call its own parts by: its words stand
// with commas between them.
func (c *invocation) wrapsCompiler() {
	for i, a := range c.args {
		if a.text != "-wrapper" || i+1 == len(c.args) || !compilers[c.name] {
			continue
		}
		var argv []flow
		for word := range strings.SplitSeq(c.args[i+1].text, ",") {
			argv = append(argv, flow{text: strings.Trim(word, `"'`), known: c.args[i+1].known, taint: c.args[i+1].taint})
		}
		c.invoke(argv, flow{}, c.wrap+1)
	}
}

// quoteOperators are those by which Perl and Ruby write a text without quotes: q(…), qw(…), %w[…].
var quoteOperators = lazyregexp.New(`(?:\bq[qw]?\s*|%[qQwWiI]?)[(\[{<|/!]`)

// plainQuotes is a program with such texts in plain quotes, so that all read them as what they are.
func plainQuotes(language, text string) string {
	if language != "perl" && language != "ruby" || len(text) > maxProgram || !quoteOperators.MatchString(text) {
		return text
	}
	var b strings.Builder
	rest := text
	for range 256 {
		at := quoteOperators.FindStringIndex(rest)
		if at == nil {
			break
		}
		open, body := rest[at[1]-1], rest[at[1]:]
		percent := rest[at[0]] == '%'
		end := closesAt(body, open)
		switch {
		case end < 0,
			percent != (language == "ruby"),
			percent && at[1] == at[0]+2 && (at[0] > 0 && !strings.ContainsRune(" \t\n(,*=[{;", rune(rest[at[0]-1])) || open == '/' || open == '|' || open == '!' || open == '<'), // a remainder
			strings.ContainsAny(body[:end], `"`) && strings.Contains(body[:end], "\n"):
			b.WriteString(rest[:at[1]])
			rest = body
			continue
		}
		b.WriteString(rest[:at[0]] + ` "` + strings.ReplaceAll(strings.Join(strings.Fields(body[:end]), " "), `"`, `\"`) + `"`)
		rest = body[end+1:]
	}
	return b.String() + rest
}

// closesAt is where a text ends that an operator opened with a bracket or another sign; -1 if it does
// not.
func closesAt(body string, open byte) int {
	closer := open
	if i := strings.IndexByte("([{<", open); i >= 0 {
		closer = ")]}>"[i]
	}
	depth := 1
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '\\':
			i++
		case body[i] == closer:
			if depth--; depth == 0 {
				return i
			}
		case body[i] == open:
			depth++
		}
	}
	return -1
}

// pipesTo is the command of a text by which Perl, Ruby and others open a pipe to a program, or from it:
// "|sh", "ls |".
func pipesTo(text string) (command string, ok bool) {
	t := strings.TrimSpace(text)
	if len(t) < 2 || strings.HasPrefix(t, "||") || strings.HasSuffix(t, "||") {
		return "", false
	}
	if t == "|-" || t == "-|" {
		return "", true
	}
	if rest, is := strings.CutPrefix(t, "|"); is {
		return strings.TrimSpace(rest), true
	}
	rest, is := strings.CutSuffix(t, "|")
	return strings.TrimSpace(rest), is
}

// awkPipes judges what a program of awk writes into commands, and what it has the shell run that it
// puts together.
func (c *invocation) awkPipes(code string) {
	w := awk{vars: map[string]string{}}
	for i, a := range c.args { // -v name=value
		value := ""
		switch {
		case i > 0 && c.args[i-1].text == "-v":
			value = a.text
		case strings.HasPrefix(a.text, "-v"):
			value = a.text[2:]
		default:
			continue
		}
		if name, v, ok := strings.Cut(value, "="); ok {
			w.vars[name] = effects.Unescape(v)
		}
	}
	w.input = "$INPUT"
	if c.in.text != "" {
		w.input = strings.TrimRight(c.in.text, "\n")
	}
	for _, statement := range awkStatements(code) {
		if name, value, ok := awkAssigns(statement); ok && len(w.vars) < 64 {
			w.vars[name] = w.value(value)
			continue
		}
		for _, call := range []string{"system(", "system ("} {
			if _, rest, ok := cutOutside(statement, call); ok && c.spend(len(rest)) {
				if end := closesAt(rest, '('); end >= 0 {
					c.inside(w.value(rest[:end]))
				}
			}
		}
		said, to, ok := cutOutside(statement, "|")
		to = strings.TrimLeft(to, "& ")
		words := strings.Fields(said)
		switch {
		case !ok || len(words) == 0 || strings.HasPrefix(to, "|"):
		case strings.HasPrefix(to, "getline"):
			c.inside(w.value(said))
		case strings.HasPrefix(words[0], "print"):
			_, said, _ = strings.Cut(said, "print")
			said = strings.Trim(strings.TrimPrefix(strings.TrimSpace(said), "f"), " ()")
			text := w.input
			if said != "" {
				text = w.printed(said)
			}
			if command := w.value(to); command != "" && c.spend(len(text)) {
				before, had := c.vars["AWK"]
				c.vars["AWK"] = flow{text: text, known: !strings.Contains(text, "$INPUT"), taint: c.in.taint}
				c.inside(`printf '%s\n' "$AWK" | ` + command)
				if delete(c.vars, "AWK"); had {
					c.vars["AWK"] = before
				}
			}
		}
	}
}

// awk is what is known of a program of awk: its variables, and what comes in.
type awk struct {
	vars  map[string]string
	input string
}

// value is what an expression gives that puts texts together.
func (w *awk) value(expression string) string {
	var b strings.Builder
	for i := 0; i < len(expression) && b.Len() < 16<<10; {
		switch ch := expression[i]; {
		case ch == '"':
			end := closing(expression[i+1:], `"`)
			if end < 0 {
				return b.String()
			}
			b.WriteString(effects.Unescape(expression[i+1 : i+1+end]))
			i += end + 2
		case ch == '$':
			b.WriteString(w.input)
			for i++; i < len(expression) && (isLetter(expression[i]) || expression[i] >= '0' && expression[i] <= '9'); i++ {
			}
		case isLetter(ch) || ch == '_':
			end := i
			for end < len(expression) && (isLetter(expression[end]) || expression[end] == '_' || expression[end] >= '0' && expression[end] <= '9') {
				end++
			}
			b.WriteString(w.vars[expression[i:end]])
			i = end
		case ch == ',':
			b.WriteByte(' ')
			i++
		default:
			i++
		}
	}
	return b.String()
}

// printed is what print or printf writes of an expression: a form takes the texts behind it.
func (w *awk) printed(expression string) string {
	form, rest, ok := cutOutside(expression, ",")
	if text := w.value(form); ok && strings.Contains(text, "%") {
		var b strings.Builder
		for ok || rest != "" {
			before, after, found := strings.Cut(text, "%")
			b.WriteString(before)
			if !found {
				text = ""
				break
			}
			text = strings.TrimLeft(after, "-+ #0123456789.")
			if text != "" {
				text = text[1:]
			}
			var one string
			one, rest, ok = cutOutside(rest, ",")
			b.WriteString(w.value(one))
		}
		return b.String() + text
	}
	return w.value(expression)
}

// awkAssigns reads name = value.
func awkAssigns(statement string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(statement, "=")
	name = strings.TrimSpace(name)
	return name, value, ok && isName(name) && !strings.HasPrefix(value, "=") && !strings.HasPrefix(value, "~")
}

// awkStatements cuts a program of awk at what ends a statement outside of texts.
func awkStatements(code string) (out []string) {
	code = code[:min(len(code), 64<<10)]
	start, quoted := 0, false
	for i := 0; i < len(code) && len(out) < 1024; i++ {
		switch ch := code[i]; {
		case ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case !quoted && (ch == ';' || ch == '\n' || ch == '{' || ch == '}'):
			out = append(out, strings.TrimSpace(code[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(code[min(start, len(code)):]))
}

// cutOutside cuts a text at a sign that stands in no quotes.
func cutOutside(text, sign string) (before, after string, ok bool) {
	quoted := false
	for i := 0; i+len(sign) <= len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i:i+len(sign)] == sign:
			return text[:i], text[i+len(sign):], true
		}
	}
	return text, "", false
}
