package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Bounds of one shell text. A parser that descends needs stack in proportion to
// what may be nested, so what opens something is counted first.
const (
	maxScript  = 256 << 10 // bytes that are parsed, but for comments and plain texts
	maxOpeners = 3000      // characters and words that may nest
	maxNesting = 200       // nodes inside nodes that are walked
)

// taint says where a text comes from or what it is.
type taint uint32

const (
	fromNet      taint = 1 << iota // was downloaded
	fromSocket                     // comes over a bare connection
	fromSecret                     // holds passwords or keys
	fromDecoder                    // was decoded or decrypted
	fromFile                       // the content of some file
	fromShell                      // is what a shell answers whose orders nobody sees
	fromSystem                     // a directory of the system
	fromVoid                       // is zeros or noise
	fromHost                       // what this machine is: its name, its environment
	tooLong                        // a part was left out: it was too long to be followed
	fromKeeper                     // a program gave it out that keeps secrets
	fromStranger                   // came from an address that is no usual place for code
	fromNobody                     // came from an address of which nobody can say whose it is
	fromShelf                      // was saved as a file, from where people keep what they give to others
	fromStore                      // is all of a database, or of what somebody works on
	fromPlace                      // is what a place of secrets holds as it is, and not one secret that was taken out of it
	recoded                        // what a place of secrets holds, in a form that hides it
	fromKeys                       // such a place is one of keys, of which each line is secret
)

// flow is what passes through a pipe, lies in a file or a variable. The zero
// flow is nothing.
type flow struct {
	text  string
	known bool // text is all of it
	taint taint
}

// files are what the commands of a call wrote so far, by the names that they used.
type files map[string]flow

func (f files) get(name string) (flow, bool) {
	content, ok := f[path.Clean(name)] // ./x is x
	return content, ok
}

func (f files) put(name string, content flow) {
	if len(f) < 256 {
		f[path.Clean(name)] = content
	}
}

// shell judges one script and those inside it.
type shell struct {
	*assessor
	vars    map[string]flow
	files   files // written by the script so far
	fixed   *span // of the outer text, when this one is inside it
	nesting int
	beside  []string // the variables that are set for the command alone
	// What the script did so far, for what only matters together.
	socket    bool // opened /dev/tcp
	fifo      bool // made a named pipe
	fed       bool // the input comes from a pipe or a redirection
	elevated  bool
	loops     int    // around the command
	around    string // the wrapper that was unwrapped last
	sourceRun bool   // runs words read at run time
	at        span
	functions map[string]*syntax.Stmt // by their names
	aliases   map[string]string
	calls     int                   // of functions and aliases, inside each other
	read      map[*syntax.Stmt]bool // the first statements of the substitutions that were judged
	cluster   string                // that the command before chose, without which this one is not run
	then      *syntax.Stmt          // what is run next, where this one goes well
}

// command judges a text that runs in a shell. outer is the span of the word
// that holds it, or nil if it is the leaf itself.
func (a *assessor) command(text string, outer *span) {
	if a.commands -= 3; a.commands <= 0 {
		a.starve(span{0, len(text)})
		return
	}
	s := &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: outer, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
	if looksWindows(text) {
		at := span{0, len(text)}
		if outer != nil {
			at = *outer
		}
		a.windows(text, at) // and as a shell's: which of them reads it is not known
	}
	if name, rest, ok := strings.Cut(text, "\n"); ok {
		// An interpreter's name, and what is typed into it.
		if i, ok := interpreters[baseName(strings.TrimSpace(name))]; ok && !i.shell {
			a.code(i.language, rest, s.spanOf(0, len(text)), false)
		}
	}
	if out := s.script(text); out.taint&(fromKeeper|recoded) != 0 && a.depth == 0 && outer == nil {
		a.report("secret.shown", 0, s.spanOf(0, len(text)))
	}
	s.conclude(text)
	if a.depth == 0 {
		// Whatever language it is in, a socket that a shell is tied to is plain.
		a.kept(1, 0.85, func() { a.code("", text, s.spanOf(0, len(text)), true) })
	}
}

// argv judges a command whose words come separately: no shell reads them.
func (a *assessor) argv(argv []string, at span) {
	s := &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: &at, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
	s.at = at
	args := make([]flow, len(argv))
	for i, w := range argv {
		args[i] = flow{text: w, known: true}
	}
	if joined := strings.Join(argv, " "); looksWindows(joined) {
		a.windows(joined, at)
	}
	s.invoke(args, flow{}, 0)
}

// script parses and walks one text, and returns what it would print.
func (s *shell) script(text string) flow {
	whole := s.spanOf(0, len(text))
	inner := 0
	if s.depth > 0 {
		inner = len(text)
	}
	if strings.Contains(text, "\r\n") {
		// Its places are no longer those of the leaf.
		s.fixed = &whole
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	code, nests := measure(text)
	if s.depth >= maxDepth || code > maxScript || !s.spend(inner) || s.commands <= 0 || nests > maxOpeners {
		s.starve(whole)
		s.wordsOnly(text, whole)
		return flow{}
	}
	s.depth++
	defer func() { s.depth-- }()
	file, err := parse(text)
	if file == nil || err != nil && len(file.Stmts) == 0 {
		if !looksWindows(text) {
			s.report("text.unreadable", 0, whole)
			if strings.ContainsAny(text, "|;&`$<>") {
				// What it would do is more than its words, and cannot be told.
				s.starve(whole)
			}
		}
		s.wordsOnly(text, whole)
		return flow{}
	}
	out := s.statements(file.Stmts, flow{})
	if strings.ContainsAny(text, "`") || strings.Contains(text, "(") && strings.ContainsAny(text, "$<>") {
		s.unread(file)
	}
	if err != nil {
		s.wordsOnly(text, whole)
	}
	return out
}

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

// parse reads a script in the dialect of bash, and what bash refuses in those
// of its kin. What came before an error is kept.
func parse(text string) (file *syntax.File, err error) {
	// The parser is another's, and what it reads is hostile: should it panic, the
	// text is one that cannot be parsed.
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the parser failed: %v", p)
		}
	}()
	bash, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err == nil {
		return bash, nil
	}
	if once := twiceNot(text); once != text { // which a shell takes, and the parser does not
		if f, e := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(once), ""); e == nil {
			return f, nil
		}
	}
	// A shell takes a here-document without an end as it is.
	if _, rest, ok := strings.Cut(err.Error(), "unclosed here-document `"); ok {
		closed := text + "\n" + strings.TrimSuffix(rest, "`") + "\n"
		if f, e := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(closed), ""); e == nil {
			return f, nil
		}
	}
	if len(text) > 16<<10 {
		return bash, err
	}
	if f, e := syntax.NewParser(syntax.Variant(syntax.LangZsh)).Parse(strings.NewReader(text), ""); e == nil {
		return f, nil
	}
	if f, e := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(3)).Parse(strings.NewReader(text), ""); f != nil && e == nil {
		return f, err
	}
	return bash, err
}

// twiceNot takes away what negates a command more than once; the rest keeps its place.
func twiceNot(text string) string {
	out := []byte(text)
	for i := 0; i < len(out); i++ {
		next := i + 1
		for next < len(out) && (out[next] == ' ' || out[next] == '\t') {
			next++
		}
		if out[i] == '!' && next > i+1 && next < len(out) && out[next] == '!' {
			out[i] = ' '
		}
	}
	return string(out)
}

// openers counts what can nest: brackets, substitutions, compound commands, and
// operators of arithmetic that stand before what they apply to.
func openers(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '`', '[', '!', '?', '~':
			n++
		case '-', '+':
			if i > 0 && (text[i-1] == text[i] || text[i-1] == ' ') && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == text[i]) {
				n++
			}
		case '<':
			if i+1 < len(text) && text[i+1] == '<' {
				n += 4 // here-documents are looked for again and again
			}
		}
	}
	for _, w := range []string{"if ", "while ", "until ", "for ", "case ", "time ", "coproc ", "function ", "select ", "do ", "then "} {
		n += strings.Count(text, w)
		n += strings.Count(text, w[:len(w)-1]+"\n")
	}
	return n
}

func (s *shell) spanOf(start, end int) span {
	if s.fixed != nil {
		return *s.fixed
	}
	return span{start, end}
}

func (s *shell) nodeSpan(n syntax.Node) span {
	if s.fixed != nil {
		return *s.fixed
	}
	return span{int(n.Pos().Offset()), int(n.End().Offset())}
}

// inside judges a text that is inside the one being read, such as the word after
// bash -c.
func (s *shell) inside(text string) flow {
	at := s.at
	inner := &shell{assessor: s.assessor, vars: s.vars, files: s.files, fixed: &at, at: at, elevated: s.elevated, loops: s.loops, functions: s.functions, aliases: s.aliases, calls: s.calls}
	if looksWindows(text) {
		s.windows(text, at)
	}
	out := inner.script(text)
	inner.conclude(text)
	s.socket, s.fifo, s.sourceRun = s.socket || inner.socket, s.fifo || inner.fifo, s.sourceRun || inner.sourceRun
	return out
}

// conclude reports what only the whole script shows.
func (s *shell) conclude(text string) {
	if s.socket && s.sourceRun {
		s.report("shell.reverse_shell", 0.95, s.spanOf(0, len(text)))
	}
}

func (s *shell) statements(all []*syntax.Stmt, in flow) flow {
	var out flow
	cluster := s.cluster
	for i, st := range all {
		f := s.statement(st, in)
		s.cluster = cluster // the next one is run even if this one failed
		if i == 0 {
			out = f
			continue
		}
		out = both(out, f)
	}
	return out
}

// both is what two commands print, one after the other.
func both(a, b flow) flow {
	f := flow{known: a.known && b.known, taint: a.taint | b.taint}
	switch {
	case a.text == "" || b.text == "" || len(a.text)+len(b.text) < 64<<10:
		f.text = a.text + b.text
	default:
		f.text, f.known = a.text, false
		f.taint |= tooLong
	}
	return f
}

// statement judges one command with its redirections.
func (s *shell) statement(st *syntax.Stmt, in flow) flow {
	if st == nil || st.Cmd == nil && len(st.Redirs) == 0 {
		return flow{}
	}
	if s.nesting >= maxNesting {
		s.starve(s.nodeSpan(st))
		return flow{}
	}
	s.nesting++
	defer func() { s.nesting-- }()

	in, sock := s.inputs(st.Redirs, in)
	var out flow
	if st.Cmd != nil {
		fed := s.fed
		s.fed = fed || slices.ContainsFunc(st.Redirs, givesInput)
		out = s.cmd(st.Cmd, in)
		s.fed = fed
	}
	return s.outputs(st.Redirs, out, sock, st.Cmd == nil)
}

func isNetworkDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// inputs gives what a command reads by its redirections.
func (s *shell) inputs(redirs []*syntax.Redirect, in flow) (flow, bool) {
	sock := false
	for _, r := range redirs {
		if s.commands <= 0 {
			break
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if r.Hdoc != nil {
				in = s.word(r.Hdoc)
			}
		case syntax.WordHdoc:
			in = s.word(r.Word)
			in.text += "\n"
		case syntax.RdrIn, syntax.RdrInOut:
			w := s.word(r.Word)
			s.mentions(w.text)
			if isNetworkDevice(w.text) {
				s.opened(r)
				sock = true
				in = flow{taint: fromSocket}
				continue
			}
			if r.Op == syntax.RdrIn {
				s.at = s.nodeSpan(r)
				f := s.readFile(w)
				if r.N == nil || r.N.Value == "0" {
					in = f
				} else if len(s.opens) < 64 { // it is read later
					s.opens[r.N.Value] = f
				}
			}
		case syntax.DplIn:
			w := s.word(r.Word)
			if f, ok := s.opens[w.text]; ok {
				in = f
			}
			if w.taint != 0 {
				in = flow{taint: w.taint}
			}
			if s.socket && w.text != "" && w.text != "-" {
				in, sock = flow{taint: fromSocket}, true
			}
		}
	}
	return in, sock
}

// opened notes a connection made by the shell itself.
func (s *shell) opened(n *syntax.Redirect) {
	to := s.word(n.Word).text
	s.watchedFile(to, true, flow{})
	if parts := strings.Split(to, "/"); len(parts) > 4 {
		s.host(parts[3], s.nodeSpan(n))
	}
	s.socket = true
	s.report("shell.socket", 0, s.nodeSpan(n))
}

// outputs gives what is left of a command's output after its redirections.
func (s *shell) outputs(redirs []*syntax.Redirect, out flow, sock, alone bool) flow {
	for _, r := range redirs {
		if s.commands--; s.commands < 0 {
			s.starve(s.nodeSpan(r))
			break
		}
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			w := s.word(r.Word)
			at := s.nodeSpan(r)
			if isNetworkDevice(w.text) {
				s.opened(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
				out = flow{}
				continue
			}
			if r.N != nil && r.N.Value == "2" || r.Op == syntax.RdrInOut {
				s.watchedFile(w.text, true, flow{})
				continue
			}
			s.at = at
			content := out
			if alone {
				content = flow{known: true}
			}
			s.writeFile(w, content, r.Op == syntax.AppOut || r.Op == syntax.AppAll)
			out = flow{}
		case syntax.DplOut:
			w := s.word(r.Word)
			// >& with a name is a file.
			if isNetworkDevice(w.text) {
				at := s.nodeSpan(r)
				s.opened(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
				out = flow{}
				continue
			}
			if r.N == nil && w.text != "" && w.text != "-" && !isDigits(w.text) && w.text[0] != '$' {
				s.at = s.nodeSpan(r)
				s.writeFile(w, out, false)
				out = flow{}
				continue
			}
			if s.socket && w.text != "-" && w.text != "1" && w.text != "2" || sock {
				at := s.nodeSpan(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
			}
		}
	}
	if sock && out.taint&fromShell != 0 {
		s.report("shell.reverse_shell", 0, s.spanOf(0, 0))
	}
	return out
}

// cmd judges a command without its redirections.
func (s *shell) cmd(c syntax.Command, in flow) flow {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return s.call(c, in)
	case *syntax.BinaryCmd:
		return s.binary(c, in)
	case *syntax.Subshell:
		cwd := s.cwd
		defer func() { s.cwd = cwd }()
		return s.statements(c.Stmts, in)
	case *syntax.Block:
		return s.statements(c.Stmts, in)
	case *syntax.IfClause:
		var out flow
		for c := c; c != nil; c = c.Else {
			s.statements(c.Cond, in)
			out = both(out, s.statements(c.Then, in))
		}
		return out
	case *syntax.WhileClause:
		s.loops++
		defer func() { s.loops-- }()
		s.statements(c.Cond, in)
		return s.statements(c.Do, in)
	case *syntax.ForClause:
		s.loops++
		defer func() { s.loops-- }()
		if it, ok := c.Loop.(*syntax.WordIter); ok && it.Name != nil {
			var all flow
			var each []flow
			all.known = true
			for _, w := range it.Items {
				f := s.word(w)
				each = append(each, f)
				f.text += " "
				all = both(all, f)
			}
			if len(each) > 1 && len(each) <= s.turns { // else what stands behind it is seen of the last only
				s.turns -= len(each)
				for _, f := range each {
					s.vars[it.Name.Value] = f
					s.statements(c.Do, in)
				}
			}
			all.text = strings.TrimSpace(all.text)
			s.vars[it.Name.Value] = all
		}
		return s.statements(c.Do, in)
	case *syntax.CaseClause:
		s.word(c.Word)
		var out flow
		for _, item := range c.Items {
			out = both(out, s.statements(item.Stmts, in))
		}
		return out
	case *syntax.FuncDecl:
		return s.function(c, in)
	case *syntax.DeclClause:
		s.exported(c)
		if n := len(c.Args); n == 0 || !slices.ContainsFunc(c.Args, func(as *syntax.Assign) bool { return as.Name != nil && (as.Value != nil || !as.Naked) }) {
			return flow{taint: fromHost | fromSecret | fromPlace} // export -p, declare -x: all that is set
		}
		other := false // names stand for other names: declare -n
		for _, as := range c.Args {
			if as.Name == nil && as.Value != nil {
				other = other || c.Variant.Value == "nameref" || strings.HasPrefix(as.Value.Lit(), "-") && strings.Contains(as.Value.Lit(), "n")
			}
			if as.Name != nil {
				s.assign(as)
				if other && len(s.refs) < 64 {
					s.refs[as.Name.Value] = s.vars[as.Name.Value].text
				}
			}
		}
	case *syntax.TimeClause:
		return s.statement(c.Stmt, in)
	case *syntax.CoprocClause:
		out := s.statement(c.Stmt, in)
		if out.taint&fromSocket != 0 {
			s.socket = true
		}
		s.vars["COPROC"] = flow{text: "63 60", taint: out.taint}
		return out
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		// Substitutions inside them run too.
		syntax.Walk(c, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				s.word(w)
				return false
			}
			return true
		})
	}
	return flow{}
}

func (s *shell) function(c *syntax.FuncDecl, in flow) flow {
	if c.Name != nil {
		if callsItself(c) {
			s.report("shell.fork_bomb", 0, s.nodeSpan(c))
		}
		if len(s.functions) < 256 {
			s.functions[c.Name.Value] = c.Body
		}
	}
	cwd := s.cwd
	s.calls++ // its own name in it is not followed: it would never end
	s.statement(c.Body, in)
	s.calls--
	s.cwd = cwd
	return flow{}
}

// callsItself says whether a function starts itself more than once, or aside.
func callsItself(c *syntax.FuncDecl) bool {
	piped, background := 0, false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			call, ok := st.Cmd.(*syntax.CallExpr)
			if ok && len(call.Args) > 0 && call.Args[0].Lit() == c.Name.Value {
				piped++
				background = background || st.Background
			}
			if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && st.Background && b.Op == syntax.Pipe {
				background = true
			}
		}
		return true
	})
	return piped >= 2 && background
}

func (s *shell) binary(c *syntax.BinaryCmd, in flow) flow {
	// Long chains lean to the left: they are walked without descending.
	var rest []*syntax.BinaryCmd
	left := c
	for {
		rest = append(rest, left)
		next, ok := left.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(left.X.Redirs) > 0 {
			break
		}
		left = next
	}
	cluster, then := s.cluster, s.then
	defer func() { s.cluster, s.then = cluster, then }()
	follows := func(i int) { // what is only run where this one went well
		if s.then = nil; i >= 0 && rest[i].Op == syntax.AndStmt {
			s.then = rest[i].Y
		}
	}
	follows(len(rest) - 1)
	out := s.statement(left.X, in)
	for i := len(rest) - 1; i >= 0; i-- {
		b := rest[i]
		if b.Op != syntax.AndStmt {
			s.cluster = cluster
		}
		follows(i - 1)
		if b.Op == syntax.Pipe || b.Op == syntax.PipeAll {
			fed := s.fed
			s.fed = true
			out = s.statement(b.Y, out)
			s.fed = fed
			continue
		}
		right := s.statement(b.Y, in)
		if b.Op == syntax.OrStmt {
			s.cluster = cluster
		}
		if b.Op == syntax.OrStmt && out.known && strings.TrimSpace(out.text) != "" {
			continue // what the left side printed is enough
		}
		out = both(out, right)
	}
	return out
}

// exported tells of names that are exported as they are: functions, with which bash fills the
// environment under names of their own, and the shell's options.
func (s *shell) exported(c *syntax.DeclClause) {
	if s.watch == nil || s.watch.Variable == nil {
		return
	}
	options := ""
	for _, as := range c.Args {
		switch {
		case as.Name == nil && as.Value != nil:
			options += as.Value.Lit()
		case as.Name == nil || !as.Naked || as.Value != nil || c.Variant.Value != "export" && !strings.Contains(options, "x"):
		case strings.Contains(options, "f"):
			s.watch.Variable("BASH_FUNC_"+as.Name.Value+"%%", "()")
		default:
			s.watch.Variable(as.Name.Value, s.vars[as.Name.Value].text)
		}
	}
}

func (s *shell) assign(as *syntax.Assign) {
	var v flow
	v.known = true
	switch {
	case as.Value != nil:
		v = s.word(as.Value)
	case as.Array != nil:
		for _, e := range as.Array.Elems {
			if e.Value == nil {
				continue
			}
			f := s.word(e.Value)
			if v.taint&tooLong != 0 { // what is substituted in it counts all the same
				v.taint |= f.taint
				continue
			}
			f.text += " "
			v = both(v, f)
		}
	}
	name := as.Name.Value
	if old, ok := s.vars[name]; ok && as.Index != nil { // one of a list
		old.text += " "
		v = both(old, v)
	}
	if as.Append {
		v = both(s.vars[name], v)
	}
	s.at = s.nodeSpan(as)
	if len(v.text) > 16<<10 {
		v.text, v.known = v.text[:16<<10], false
		v.taint |= tooLong
	}
	s.variable(name, v)
	s.vars[name] = v
}

func (s *shell) call(c *syntax.CallExpr, in flow) flow {
	s.at = s.nodeSpan(c)
	var beside []string
	for _, as := range c.Assigns {
		if as.Name != nil {
			s.assign(as)
			beside = append(beside, as.Name.Value)
		}
	}
	var args []flow
	for _, w := range c.Args {
		args = append(args, s.fields(w)...)
		if len(args) > 4096 {
			break
		}
	}
	s.at = s.nodeSpan(c)
	if len(args) == 0 {
		// An assignment alone, or a substitution that gives no word.
		return flow{known: true}
	}
	if len(c.Args) > 0 && obfuscated(c.Args[0], args[0]) {
		s.report("shell.obfuscated", 0, s.at)
	}
	before := s.beside
	s.beside = beside
	defer func() { s.beside = before }()
	return s.invoke(args, in, 0)
}

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

// fields gives the words that one word becomes: what is not quoted is split at
// spaces, and {a,b} gives two.
func (s *shell) fields(w *syntax.Word) []flow {
	if l := w.Lit(); strings.Contains(l, "{") && strings.Contains(l, ",") && len(l) < 4096 {
		var out []flow
		for _, p := range braces(l) {
			if strings.HasPrefix(p, "~") {
				p = homed(p)
			}
			out = append(out, flow{text: unquote(p, false), known: true})
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
				text = homed(text)
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
			s.files.put(name, f)
		case *syntax.ArithmExp:
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
		return slice(v, p.Slice)
	case p.Repl != nil && p.Repl.Orig != nil:
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
	if !isDigits(l) || len(l) > 4 {
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

// globbedKeys finds the file of keys that a pattern such as ~/.a*/cred* means.
func globbedKeys(pattern string) string {
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
