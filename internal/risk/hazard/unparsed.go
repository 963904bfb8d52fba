package hazard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
)

// What is read of a script that does not parse, or only in part.

// unread judges what is substituted where nobody above looked: in a subscript, a pattern, the
// words of an expansion that changes a value. A shell runs it wherever it stands. And what it
// evaluates as arithmetic, or expands once more, it reads again, so that a value that holds a
// substitution runs it: x='a[$(id)]'; echo $((x)).
func (s *shell) unread(file *syntax.File) {
	evaluates := false
	var texts []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if s.commands <= 0 {
			return false
		}
		var inner []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			inner = n.Stmts
		case *syntax.ProcSubst:
			inner = n.Stmts
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
			evaluates = true
		case *syntax.ParamExp:
			evaluates = evaluates || n.Index != nil || n.Slice != nil || n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps
		case *syntax.DeclClause:
			evaluates = true
		case *syntax.CallExpr:
			evaluates = evaluates || len(n.Args) > 0 && evaluators[n.Args[0].Lit()]
		case *syntax.SglQuoted:
			if len(texts) <= maxUnread && subscripts.MatchString(n.Value) {
				texts = append(texts, n.Value)
			}
		}
		if len(inner) > 0 && !s.read[inner[0]] {
			s.substitution(inner)
		}
		return true
	})
	if !evaluates {
		return
	}
	for _, v := range s.vars {
		if len(texts) <= maxUnread && substitutes(v.text) {
			texts = append(texts, v.text)
		}
	}
	if len(texts) > maxUnread { // which of them are read would be chance
		s.starve(s.nodeSpan(file))
		return
	}
	for _, text := range texts {
		s.inside("echo \"" + strings.ReplaceAll(text, `"`, `\"`) + "\"")
	}
}

// maxUnread is of how many values that an evaluation may run the substitutions are judged.
const maxUnread = 32

// evaluators are commands whose arguments a shell reads as names with subscripts, or as
// arithmetic.
var evaluators = set("let test [ printf read unset mapfile readarray wait typeset integer")

// subscripts finds a name with a subscript that substitutes a command.
var subscripts = lazyregexp.New("[A-Za-z_][0-9A-Za-z_]*\\[[^\\]]*(?:\\$\\(|`)")

// substitutes reports whether a text holds a substitution of a command.
func substitutes(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`")
}

// wordsOnly reads a text that could not be parsed: as words, each command's
// name followed by its words as far as the next sign that ends a command.
func (s *shell) wordsOnly(text string, at span) {
	if len(text) > s.loose {
		s.starve(at)
	}
	text = text[:min(len(text), s.loose)]
	s.loose -= len(text)
	s.at = at
	var args []flow
	var in flow
	flush := func(piped bool) {
		var out flow
		for len(args) > 0 && reserved[args[0].text] {
			args = args[1:]
		}
		if len(args) > 0 {
			out = s.invoke(args, in, 0)
		}
		in, args = flow{}, nil
		if piped {
			in = out
		}
	}
	for _, t := range looseWords(text, 2000) {
		switch t {
		case "|", "|&":
			flush(true)
		case ";", "&", "&&", "||", "\n", "(", ")", "{", "}", "`":
			flush(false)
		default:
			if isNetworkDevice(strings.TrimLeft(t, "<>&0123456789")) {
				s.socket = true
				s.report("shell.socket", 0, at)
				if len(args) > 0 && interpreters[baseName(args[0].text)].shell {
					s.report("shell.reverse_shell", 0, at)
				}
			}
			args = append(args, flow{text: t, known: true})
		}
	}
	flush(false)
}

// reserved are the words of a shell that stand before a command.
var reserved = set("! { } if then elif else fi do done while until time coproc case esac in select function")

// looseWords cuts a text into words and the signs between commands. Quotes hold
// words together as long as they close.
func looseWords(text string, most int) []string {
	var out []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	noQuote := [2]bool{} // the quote that did not close is not looked for again
	for i := 0; i < len(text) && len(out) < most; i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r':
			flush()
		case '\n', ';', '(', ')', '`', '|', '&':
			if c == '&' && i > 0 && (text[i-1] == '>' || text[i-1] == '<') {
				b.WriteByte(c)
				continue
			}
			flush()
			t := string(c)
			if i+1 < len(text) && text[i+1] == c && (c == '|' || c == '&') {
				t += t
				i++
			}
			out = append(out, t)
		case '\'', '"':
			k := 0
			if c == '"' {
				k = 1
			}
			end := -1
			if !noQuote[k] {
				end = strings.IndexByte(text[i+1:], c)
				noQuote[k] = end < 0
			}
			if end >= 0 {
				b.WriteString(text[i+1 : i+1+end])
				i += end + 1
			}
		case '\\':
			if i+1 < len(text) {
				i++
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return out
}
