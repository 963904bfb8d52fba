package hazard

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/risk/hazard/effects"
)

// What the words of a shell come to: quotes, parameters, substitutions, patterns of names.

// obfuscated says whether a command's name is written in pieces for no reason.
func obfuscated(w *syntax.Word, v flow) bool {
	if len(w.Parts) == 1 {
		l, ok := w.Parts[0].(*syntax.Lit)
		if !ok {
			q, ok := w.Parts[0].(*syntax.SglQuoted)
			return ok && q.Dollar && strings.Contains(q.Value, `\`)
		}
		return strings.Count(l.Value, `\`) > 1 && !strings.Contains(l.Value, `:\`) && !strings.ContainsAny(l.Value, `.`)
	}
	// c''at, w"ho"ami, c$@at: pieces of one word. "$DIR"/bin/x is ordinary.
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
			if p.Value == "" || len(p.Value) <= 2 && i > 0 {
				return true
			}
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				return true
			}
		case *syntax.ParamExp:
			if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*" || p.Param.Value == "IFS") || p.Slice != nil {
				return true
			}
		}
	}
	return false
}

// word gives a word's value as one text.
func (s *shell) word(w *syntax.Word) flow {
	if w == nil {
		return flow{known: true}
	}
	b := builder{known: true}
	s.parts(w.Parts, &b, true)
	return b.flow()
}

// tilde is what a shell makes of a word that begins with ~: ~+ is the folder that it is in.
func tilde(word string) string {
	switch rest, here := strings.CutPrefix(word, "~+"); {
	case here && (rest == "" || rest[0] == '/'):
		return "." + rest
	case strings.HasPrefix(word, "~"):
		return homed(word)
	}
	return word
}

// fields gives the words that one word becomes: what is not quoted is split at
// spaces, and {a,b} gives two.
func (s *shell) fields(w *syntax.Word) []flow {
	if l := w.Lit(); strings.Contains(l, "{") && strings.Contains(l, ",") && len(l) < 4096 {
		var out []flow
		for _, p := range braces(l) {
			out = append(out, flow{text: unquote(tilde(p), false), known: true})
		}
		return out
	}
	b := builder{known: true}
	if allWords(w) {
		if p := w.Parts[0].(*syntax.DblQuoted).Parts[0].(*syntax.ParamExp); p.Param.Value == "@" {
			if given := s.positional(); len(given) > 0 {
				return given
			}
		}
		s.parts(w.Parts[0].(*syntax.DblQuoted).Parts, &b, false)
	} else {
		s.parts(w.Parts, &b, false)
	}
	if !b.split {
		f := b.flow()
		if len(f.text) < 4096 && slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
			l, ok := p.(*syntax.Lit)
			return ok && strings.Contains(l.Value, "{") && strings.Contains(l.Value, ",")
		}) {
			var out []flow
			for _, p := range braces(f.text) {
				out = append(out, flow{text: p, known: f.known, taint: f.taint})
			}
			return out
		}
		return []flow{f}
	}
	f := b.flow()
	var out []flow
	for _, p := range strings.FieldsFunc(f.text, func(r rune) bool { return r == fieldSplit }) {
		out = append(out, flow{text: p, known: f.known, taint: f.taint})
		if len(out) > 1024 {
			break
		}
	}
	if f.text == "" {
		return nil
	}
	return out
}

// fieldSplit stands in a builder's text where a word is split. It is no
// character that a text can hold: a private use character of the last plane.
const fieldSplit = '\U0010fffd'

// maxWord bounds what expansions may make of a word, in bytes.
const maxWord = 128 << 10

// builder puts a word together.
type builder struct {
	b     strings.Builder
	known bool
	split bool // at fieldSplit
	taint taint
}

func (b *builder) flow() flow {
	return flow{text: b.b.String(), known: b.known, taint: b.taint}
}

// add adds what the script itself says.
func (b *builder) add(text string) { b.b.WriteString(text) }

// grow adds what an expansion gives.
func (b *builder) grow(text string) {
	if b.b.Len()+len(text) > maxWord {
		b.known = false
		b.taint |= tooLong
		return
	}
	b.b.WriteString(text)
}

// expanded adds the value of an expansion, which is split unless it is quoted.
func (b *builder) expanded(f flow, quoted bool) {
	b.known = b.known && f.known
	b.taint |= f.taint
	if quoted || !strings.ContainsAny(f.text, " \t\n") {
		b.grow(f.text)
		return
	}
	b.split = true
	parts := strings.Fields(f.text)
	if strings.TrimLeft(f.text, " \t\n") != f.text {
		b.add(string(fieldSplit))
	}
	b.grow(strings.Join(parts, string(fieldSplit)))
	if strings.TrimRight(f.text, " \t\n") != f.text {
		b.add(string(fieldSplit))
	}
}

func (s *shell) parts(parts []syntax.WordPart, b *builder, quoted bool) {
	if s.nesting >= maxNesting {
		b.known = false
		b.taint |= tooLong
		return
	}
	s.nesting++
	defer func() { s.nesting-- }()
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text := p.Value
			if i == 0 && !quoted && strings.HasPrefix(text, "~") {
				text = tilde(text)
			}
			b.add(unquote(text, quoted && len(parts) > 0))
		case *syntax.SglQuoted:
			if p.Dollar {
				b.add(effects.Unescape(p.Value))
			} else {
				b.add(p.Value)
			}
		case *syntax.DblQuoted:
			s.quotedParts(p.Parts, b)
		case *syntax.ParamExp:
			v := s.parameter(p)
			if !s.spend(len(v.text)) {
				v.text, v.known = "", false
				v.taint |= tooLong
			}
			if ifs, ok := s.vars["IFS"]; ok && !quoted && strings.ContainsAny(v.text, ifs.text) {
				v.text = strings.Map(func(r rune) rune {
					if strings.ContainsRune(ifs.text, r) {
						return ' '
					}
					return r
				}, v.text)
			}
			b.expanded(v, quoted)
		case *syntax.CmdSubst:
			b.expanded(s.substitution(p.Stmts), quoted)
		case *syntax.ProcSubst:
			s.mark(p.Stmts)
			f := s.statements(p.Stmts, flow{})
			b.taint |= f.taint
			b.known = false
			name := "/dev/fd/63"
			if p.Op == syntax.CmdOut && len(s.takers) < 60 { // what is written to it comes into the commands
				name = fmt.Sprintf("/dev/fd/%d", 62-len(s.takers))
				s.takers[name] = p.Stmts
			}
			b.add(name)
			s.putFile(name, f)
		case *syntax.ArithmExp:
			if n, ok := s.number(p.X, 0); ok {
				b.add(strconv.FormatInt(n, 10))
				continue
			}
			b.known = false
			b.add("1")
		case *syntax.ExtGlob:
			b.known = false
			b.add("*")
		default:
			b.known = false
		}
	}
}

func (s *shell) quotedParts(parts []syntax.WordPart, b *builder) {
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.add(unquoteDouble(l.Value))
			continue
		}
		s.parts([]syntax.WordPart{p}, b, true)
	}
}

// unquote removes the backslashes of an unquoted literal.
func unquote(s string, heredoc bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	if heredoc {
		return unquoteDouble(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unquoteDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// shellVariables are the values that variables have when nothing set them.
var shellVariables = map[string]string{
	"HOME": "~", "IFS": " ", "PATH": "/usr/bin:/bin", "PWD": "/home/user/work", "SHELL": "/bin/bash",
	"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/.local/share", "XDG_CACHE_HOME": "~/.cache", "XDG_STATE_HOME": "~/.local/state",
	"GRADLE_USER_HOME": "~/.gradle", "CARGO_HOME": "~/.cargo", "HF_HOME": "~/.cache/huggingface", "DOCKER_CONFIG": "~/.docker", "GNUPGHOME": "~/.gnupg", "CODEX_HOME": "~/.codex", "CLAUDE_CONFIG_DIR": "~/.claude",
	"@": "", "*": "", "HISTFILE": "~/.bash_history", "BASH": "/bin/bash", "OSTYPE": "linux-gnu", "TMPDIR": "/tmp",
}

func (s *shell) parameter(p *syntax.ParamExp) flow {
	if p.Param == nil {
		return flow{}
	}
	name := p.Param.Value
	if to, ok := s.refs[name]; ok {
		name = to
	}
	v, ok := s.vars[name]
	if !ok {
		text, standard := shellVariables[name]
		if name == "PWD" && s.cwd != "" {
			text = s.cwd
		}
		v = flow{text: text, known: standard}
		if !standard {
			v.text = "$" + name
		}
	}
	if !ok && secretName(name) {
		v.taint |= fromSecret
	}
	if p.Index != nil {
		v = element(v, p.Index)
	}
	switch {
	case p.Length:
		return flow{text: "1"}
	case p.Excl:
		if inner, ok := s.vars[v.text]; ok {
			return inner
		}
		return flow{text: "$" + v.text}
	case p.Exp != nil:
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if !ok || v.text == "" {
				d := s.word(p.Exp.Word)
				if !ok && d.text == "" {
					return v
				}
				return d
			}
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			return s.word(p.Exp.Word)
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			if !ok && !v.known {
				v.text = "${" + name + ":?}"
			}
		default:
			v.known = false
		}
	case p.Slice != nil:
		out := slice(v, p.Slice)
		out.taint |= inOtherForm(v.taint)
		return out
	case p.Repl != nil && p.Repl.Orig != nil:
		v.taint |= valuesAlone(v.taint)
		orig := s.word(p.Repl.Orig)
		with := flow{known: true}
		if p.Repl.With != nil {
			with = s.word(p.Repl.With)
		}
		if orig.known && with.known && orig.text != "" && len(with.text) < 256 {
			n := 1
			if p.Repl.All {
				n = -1
			}
			if len(v.text) < 16<<10 {
				v.text = strings.Replace(v.text, orig.text, with.text, n)
			}
		}
	}
	return v
}

// element is one of a list's values, which stand in its text with spaces between
// them: ${a[1]}. Which it is may not be known; all of them are it then.
func element(v flow, index syntax.ArithmExpr) flow {
	w, ok := index.(*syntax.Word)
	if !ok {
		v.known = false
		return v
	}
	l := w.Lit()
	if l == "@" || l == "*" {
		return v
	}
	all := strings.Fields(v.text)
	if !isDigits(l) || len(l) > 4 || strings.Contains(v.text, "\n") {
		v.known = false
		return v
	}
	n := 0
	for i := range len(l) {
		n = n*10 + int(l[i]-'0')
	}
	if n < len(all) {
		v.text = all[n]
	} else {
		v.text = ""
	}
	return v
}

// slice is ${x:1:2}.
func slice(v flow, sl *syntax.Slice) flow {
	num := func(e syntax.ArithmExpr) (int, bool) {
		w, ok := e.(*syntax.Word)
		if !ok {
			return 0, false
		}
		l := w.Lit()
		if !isDigits(l) || len(l) > 6 {
			return 0, false
		}
		n := 0
		for i := range len(l) {
			n = n*10 + int(l[i]-'0')
		}
		return n, true
	}
	text := v.text
	if text == "~" {
		text = "/home/user"
	}
	from, ok := num(sl.Offset)
	if !ok || from > len(text) {
		return flow{}
	}
	text = text[from:]
	if sl.Length != nil {
		n, ok := num(sl.Length)
		if !ok {
			return flow{}
		}
		text = text[:min(n, len(text))]
	}
	return flow{text: text, known: v.known, taint: v.taint}
}

// substitution is $(…): what the commands print, without the last newlines.
func (s *shell) substitution(all []*syntax.Stmt) flow {
	s.mark(all)
	at := s.at
	var out flow
	// $(<file) prints the file.
	if len(all) == 1 && all[0].Cmd == nil && len(all[0].Redirs) == 1 && all[0].Redirs[0].Op == syntax.RdrIn {
		s.at = s.nodeSpan(all[0])
		out = s.readFile(s.word(all[0].Redirs[0].Word))
	} else {
		out = s.statements(all, flow{})
	}
	s.at = at
	if len(all) == 0 {
		out.taint |= s.unseen
	}
	out.text = strings.TrimRight(out.text, "\n")
	if !out.known && out.text == "" {
		out.text = "$()"
	}
	return out
}

// mark notes that a substitution is judged.
func (s *shell) mark(all []*syntax.Stmt) {
	if len(all) == 0 {
		return
	}
	if s.read == nil {
		s.read = map[*syntax.Stmt]bool{}
	}
	s.read[all[0]] = true
}

// number is what an arithmetic expression comes to, if all of it is known.
func (s *shell) number(e syntax.ArithmExpr, depth int) (n int64, ok bool) {
	if depth > 16 {
		return 0, false
	}
	switch e := e.(type) {
	case *syntax.Word:
		text := e.Lit()
		if v, set := s.vars[text]; set && v.known {
			text = v.text
		} else if text == "" {
			if f := s.word(e); f.known {
				text = f.text
			}
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
		return n, err == nil
	case *syntax.ParenArithm:
		return s.number(e.X, depth+1)
	case *syntax.BinaryArithm:
		x, knownX := s.number(e.X, depth+1)
		y, knownY := s.number(e.Y, depth+1)
		if !knownX || !knownY {
			return 0, false
		}
		switch e.Op {
		case syntax.Add:
			return x + y, true
		case syntax.Sub:
			return x - y, true
		case syntax.Mul:
			return x * y, true
		case syntax.Quo, syntax.Rem:
			if y == 0 || y == -1 {
				return 0, false
			}
			if e.Op == syntax.Quo {
				return x / y, true
			}
			return x % y, true
		}
	}
	return 0, false
}

// globbed finds the program that a pattern such as /???/c?t means.
func globbed(pattern string) string {
	if !strings.ContainsAny(pattern, "*?[") || len(pattern) > 256 {
		return ""
	}
	dir, name := path.Split(pattern)
	if strings.Trim(name, "*?") == "" {
		return ""
	}
	for _, d := range []string{"", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"} {
		if ok, _ := path.Match(dir, d); !ok {
			continue
		}
		for _, p := range globTargets {
			if ok, _ := path.Match(name, p); ok {
				return p
			}
		}
	}
	return ""
}

// globTargets are programs worth hiding behind a pattern, the gravest first.
var globTargets = []string{"nc", "ncat", "socat", "bash", "sh", "dash", "python3", "python", "perl", "php", "ruby", "cat", "curl", "wget", "base64", "less", "more", "head", "tail", "nl", "id", "whoami", "uname", "rm", "dd", "chmod"}

// keyFiles are where keys lie in a home directory, for patterns that mean them.
var keyFiles = []string{"~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.aws/credentials", "~/.netrc", "~/.git-credentials", "~/.kube/config", "~/.docker/config.json", "~/.config/gh/hosts.yml", "~/.claude/.credentials.json", "~/.codex/auth.json"}

// projectKeys are the files of secrets that lie in projects under names that begin with a dot.
var projectKeys = []string{".env", ".env.local", ".env.production", ".netrc", ".npmrc", ".pypirc", ".pgpass"}

// globbedKeys finds the file of keys that a pattern such as ~/.a*/cred*, or .en? in a project, means. What
// stands for all hidden names means none of them.
func globbedKeys(pattern string) string {
	if !strings.ContainsAny(pattern, "?*[") {
		return "" // as nearly all
	}
	if dir, name := path.Split(pattern); strings.HasPrefix(name, ".") && strings.ContainsAny(name, "?*[") && len(pattern) <= 256 && strings.Trim(name, ".*?![]^") != "" {
		for _, key := range projectKeys {
			if ok, _ := path.Match(name, key); ok {
				return dir + key
			}
		}
	}
	pattern = homed(pattern)
	if !strings.HasPrefix(pattern, "~/.") || !strings.ContainsAny(pattern, "?*[") || len(pattern) > 256 {
		return ""
	}
	for _, p := range keyFiles {
		if ok, _ := path.Match(pattern, p); ok {
			return p
		}
	}
	return ""
}

// globbedPath finds the sensitive file that a pattern such as /e?c/sh?dow means.
func globbedPath(pattern string) string {
	if !strings.ContainsAny(pattern, "?*[") || len(pattern) > 256 || !strings.HasPrefix(pattern, "/") {
		return ""
	}
	for _, p := range []string{"/etc/shadow", "/etc/passwd", "/etc/sudoers", "/root/.ssh/id_rsa", "/etc/gshadow"} {
		ok, _ := path.Match(pattern, p)
		// /etc/* is a directory's content, and no hidden name.
		if ok && strings.Trim(path.Base(pattern), "*") != "" {
			return p
		}
	}
	return ""
}
