package hazard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of one shell text. A parser that descends needs stack in proportion to
// what may be nested, so what opens something is counted first.
const (
	maxScript  = 256 << 10 // bytes that are parsed, but for comments and plain texts
	maxOpeners = 3000      // characters and words that may nest
	maxNesting = 200       // nodes inside nodes that are walked
)

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
	many      int    // of them those that turn more than a few times, or nobody knows how often
	around    string // the wrapper that was unwrapped last
	sourceRun bool   // runs words read at run time
	at        span
	functions map[string]*syntax.Stmt // by their names
	aliases   map[string]string
	calls     int                   // of functions and aliases, inside each other
	read      map[*syntax.Stmt]bool // the first statements of the substitutions that were judged
	cluster   string                // that the command before chose, without which this one is not run
	then      *syntax.Stmt          // what is run next, where this one goes well
	declares  int                   // functions whose bodies are read, before anybody calls them
	input     flow                  // what the script itself is given to read
	unseen    taint                 // of what stands where $() does in the words of the command, and in a text that it runs
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
	out := s.script(text)
	if a.depth == 0 && outer == nil {
		a.discloses = a.discloses || out.taint&fromSecret != 0
		if out.taint&(fromKeeper|recoded) != 0 {
			a.report("secret.shown", 0, s.spanOf(0, len(text)))
		}
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
	if s.depth >= maxDepth || !s.spend(inner) || s.commands <= 0 {
		s.starve(whole)
		s.wordsOnly(text, whole)
		return flow{}
	}
	s.depth++
	defer func() { s.depth-- }()
	file, err := parse(text)
	if errors.Is(err, errBounds) {
		s.starve(whole)
		s.wordsOnly(text, whole)
		return flow{}
	}
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
	s.kin(text)
	out := s.statements(file.Stmts, s.input)
	if strings.ContainsAny(text, "`") || strings.Contains(text, "(") && strings.ContainsAny(text, "$<>") {
		s.unread(file)
	}
	if err != nil {
		s.wordsOnly(text, whole)
	}
	return out
}

// errBounds says that a text is too large, or nests too much, to be parsed.
var errBounds = errors.New("the script is too large or nests too deeply")

// parse reads a script in the dialect of bash, and what bash refuses in those
// of its kin. What came before an error is kept. A text beyond the bounds is errBounds: the parser
// descends, and a stack that has no room left ends the process.
func parse(text string) (file *syntax.File, err error) {
	if code, nests := measure(text); code > maxScript || nests > maxOpeners {
		return nil, errBounds
	}
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
	for _, other := range []string{asZsh(text), asFish(text)} {
		if other == text {
			continue
		}
		if f, e := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(other), ""); e == nil {
			return f, nil
		}
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
	inner := &shell{assessor: s.assessor, vars: s.vars, files: s.files, fixed: &at, at: at, elevated: s.elevated, loops: s.loops, functions: s.functions, aliases: s.aliases, calls: s.calls, unseen: s.unseen, input: s.input}
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

	s.lingers = s.lingers || st.Background || st.Coprocess
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

// cmd judges a command without its redirections.
func (s *shell) cmd(c syntax.Command, in flow) flow {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return s.call(c, in)
	case *syntax.BinaryCmd:
		return s.binary(c, in)
	case *syntax.Subshell:
		cwd, went := s.cwd, s.went
		defer func() { s.cwd, s.went = cwd, went }()
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
		s.lingers = true
		s.loops++
		defer func() { s.loops-- }()
		lines := s.linesRead(c.Cond, in)
		defer s.turning(len(lines))()
		if len(lines) > 1 {
			var out flow
			for _, line := range lines {
				one := in
				one.text = line
				s.statements(c.Cond, one)
				out = both(out, s.statements(c.Do, in))
			}
			return out
		}
		s.statements(c.Cond, in)
		return s.statements(c.Do, in)
	case *syntax.ForClause:
		s.loops++
		defer func() { s.loops-- }()
		it, ok := c.Loop.(*syntax.WordIter)
		if !ok || it.Name == nil {
			defer s.turning(0)()
		} else {
			var all flow
			var each []flow
			all.known = true
			for _, w := range it.Items {
				f := s.word(w)
				each = append(each, f)
				f.text += " "
				all = both(all, f)
			}
			turns := 0
			if all.known && !strings.ContainsAny(all.text, "*?[$`") && !strings.Contains(all.text, "..") {
				turns = len(strings.Fields(all.text))
			}
			defer s.turning(turns)()
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
				s.movesAgents(c, as)
				if other && len(s.refs) < 64 {
					s.refs[as.Name.Value] = s.vars[as.Name.Value].text
				}
			}
		}
	case *syntax.TimeClause:
		return s.statement(c.Stmt, in)
	case *syntax.CoprocClause:
		s.lingers = true
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
	cwd, went := s.cwd, s.went
	s.calls++ // its own name in it is not followed: it would never end
	s.declares++
	s.statement(c.Body, in)
	s.declares--
	s.calls--
	s.cwd, s.went = cwd, went
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

// turning notes that what is read is in a loop, until what it returns is called. turns is how often that turns, 0
// where nobody knows.
func (s *shell) turning(turns int) (done func()) {
	if turns > 0 && turns <= fewTurns {
		return func() {}
	}
	s.many++
	return func() { s.many-- }
}

// fewTurns is how often somebody writes something to people who names each of them.
const fewTurns = 10

// linesRead are the lines that a loop reads one by one: while read x. Of more than may be looked at these are the
// ones that name a place of secrets.
func (s *shell) linesRead(cond []*syntax.Stmt, in flow) (lines []string) {
	if len(cond) == 0 || !strings.Contains(strings.TrimSpace(in.text), "\n") {
		return nil
	}
	call, is := cond[len(cond)-1].Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) == 0 || call.Args[0].Lit() != "read" {
		return nil
	}
	for line := range strings.Lines(in.text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > s.turns {
		lines = slices.DeleteFunc(lines, func(line string) bool { return !KeepsSecrets(line) })
		lines = lines[:min(len(lines), s.turns)]
	}
	s.turns -= len(lines)
	return lines
}
