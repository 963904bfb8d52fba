package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Programs that run a text as code: shells, python, node, awk and the like.

// interpreter is a program that runs text.
type interpreter struct {
	shell    bool
	language string
	eval     string // options whose value is the text
}

var interpreters = map[string]interpreter{
	"sh": {true, "sh", "-c"}, "bash": {true, "sh", "-c"}, "dash": {true, "sh", "-c"}, "zsh": {true, "sh", "-c"},
	"ksh": {true, "sh", "-c"}, "ash": {true, "sh", "-c"}, "rbash": {true, "sh", "-c"}, "mksh": {true, "sh", "-c"},
	"csh": {true, "sh", "-c"}, "tcsh": {true, "sh", "-c"}, "fish": {true, "sh", "-c --command"}, "bsh": {true, "sh", "-c"}, "yash": {true, "sh", "-c"}, "osh": {true, "sh", "-c"}, "oksh": {true, "sh", "-c"}, "elvish": {true, "sh", "-c"}, "nu": {true, "sh", "-c --commands"}, "xonsh": {true, "sh", "-c"}, "pdksh": {true, "sh", "-c"},
	"python": {false, "python", "-c"}, "pypy": {false, "python", "-c"}, "jython": {false, "python", "-c"}, "ipython": {false, "python", "-c"},
	"pythonw": {false, "python", "-c"}, "platform-python": {false, "python", "-c"}, "graalpy": {false, "python", "-c"}, "micropython": {false, "python", "-c"}, "py": {false, "python", "-c"}, "sage": {false, "python", "-c"}, "bpython": {false, "python", "-c"}, "ptpython": {false, "python", "-c"},
	"perl": {false, "perl", "-e -E"}, "ruby": {false, "ruby", "-e"}, "irb": {false, "ruby", "-e"}, "jruby": {false, "ruby", "-e"},
	"php": {false, "php", "-r"}, "node": {false, "js", "-e --eval -p --print"}, "nodejs": {false, "js", "-e --eval -p --print"},
	"deno": {false, "js", "eval"}, "bun": {false, "js", "-e --eval"}, "lua": {false, "lua", "-e"}, "luajit": {false, "lua", "-e"},
	"tclsh": {false, "tcl", ""}, "wish": {false, "tcl", ""}, "awk": {false, "awk", ""}, "gawk": {false, "awk", ""}, "mawk": {false, "awk", ""}, "nawk": {false, "awk", ""},
	"osascript": {false, "applescript", "-e"}, "groovy": {false, "java", "-e"}, "jshell": {false, "java", ""}, "jrunscript": {false, "js", "-e"}, "jjs": {false, "js", ""},
	"scala": {false, "java", "-e"}, "r": {false, "r", "-e"}, "Rscript": {false, "r", "-e"}, "julia": {false, "julia", "-e"}, "guile": {false, "lisp", "-c"},
	"elixir": {false, "elixir", "-e"}, "erl": {false, "elixir", "-eval"}, "gdb": {false, "gdb", "-ex --ex -x"}, "vim": {false, "vim", "-c"}, "vi": {false, "vim", "-c"},
	"nvim": {false, "vim", "-c"}, "rvim": {false, "vim", "-c"}, "vimdiff": {false, "vim", "-c"}, "view": {false, "vim", "-c"}, "emacs": {false, "lisp", "--eval -eval"}, "ghc": {false, "haskell", "-e"},
	"bb": {false, "lisp", "-e --eval"}, "clojure": {false, "lisp", "-e --eval -M"}, "clj": {false, "lisp", "-e --eval"}, "racket": {false, "lisp", "-e --eval"}, "sbcl": {false, "lisp", "--eval"}, "chicken-csi": {false, "lisp", "-e"}, "gosh": {false, "lisp", "-e"}, "fennel": {false, "lisp", "-e"},
	"swipl": {false, "elixir", "-g -t"}, "raku": {false, "perl", "-e"}, "nim": {false, "c", "--eval"}, "v": {false, "c", "-e"}, "octave": {false, "r", "--eval"}, "octave-cli": {false, "r", "--eval"}, "matlab": {false, "r", "-batch -r"}, "wolframscript": {false, "r", "-code -c"}, "gp": {false, "c", ""},
	"crystal": {false, "ruby", "eval"}, "dart": {false, "dart", ""}, "pwsh": {false, "powershell", "-c -Command"}, "stap": {false, "c", "-e"}, "bpftrace": {false, "c", "-e"},
}

// pythonOption reads a word of Python's options, several of which stand behind one dash. what is
// the last one of them, if it takes a value: that is rest, where the word goes on with it (own),
// and else the next word.
func pythonOption(t string) (what byte, rest string, own bool) {
	if strings.HasPrefix(t, "--") {
		if listed("--check-hash-based-pycs --profile --ipython-dir --config", t) {
			return 'X', "", false
		}
		return 0, "", false
	}
	for j := 1; j < len(t); j++ {
		if listed("c m W X Q", t[j:j+1]) {
			return t[j], t[j+1:], j+1 < len(t)
		}
	}
	return 0, "", false
}

// nodeValues are options of Node and its like whose value is the next word.
const nodeValues = "-C --conditions --env-file --env-file-if-exists --loader --experimental-loader --title --icu-data-dir --input-type --inspect-port --disable-warning --redirect-warnings --ext --config -c --lock --import-map --cert --location --seed --watch-path --openssl-config"

// onlyParses reports whether an interpreter is told by these words to look whether a file can be read,
// and to run nothing.
func onlyParses(i interpreter, words []string) bool {
	option := map[string]string{"js": "--check -c", "ruby": "-c", "php": "-l --syntax-check"}[i.language]
	if i.shell {
		option = "-n --no-execute"
	}
	for _, w := range words {
		switch {
		case listed(option, w) && option != "":
			return !slices.ContainsFunc(words, func(w string) bool {
				return strings.ContainsAny(w, "$`") || strings.HasPrefix(w, "+") || listed("-r --require --import", w)
			})
		case !strings.HasPrefix(w, "-") || w == "-":
			return false
		}
	}
	return false
}

// started is what an interpreter is told to run.
type started struct {
	code        []flow // texts behind options
	file        *flow  // one of the words
	module      string // of Python
	words       []flow // that a script is given: $0 and on
	last        int    // the word behind which those of a text stand
	printed     taint  // what lies in the files that a filter is given
	interactive bool
}

// interpret judges a call of an interpreter: text after an option, a file, or
// what comes in.
func (c *invocation) interpret(i interpreter) (out flow) {
	if onlyParses(i, c.told()) {
		return flow{}
	}
	s := c.startedBy(i)
	c.editsInPlace(i, s.code)
	if i.language == "vim" {
		defer func() { out.taint |= s.printed }()
	}
	switch {
	case s.module != "":
		return c.runsPythonModule(s)
	case len(s.code) > 0:
		return c.runsTexts(i, s)
	case s.file != nil && i.language != "awk" && i.language != "vim" && i.language != "gdb":
		return c.runsScript(i, s)
	}
	return c.runsInput(i, s)
}

// startedBy reads the words of an interpreter.
func (c *invocation) startedBy(i interpreter) (s started) {
	script := i.language == "awk" // its first word is the program
	s.last = len(c.args)
	for k := 0; k < len(c.args); k++ {
		a := c.args[k]
		t := a.text
		switch {
		case i.language == "python" && len(t) > 1 && t[0] == '-':
			what, rest, own := pythonOption(t)
			if what != 0 && rest == "" && k+1 < len(c.args) {
				k++
				rest, own = c.args[k].text, false
			}
			switch what {
			case 'c':
				f := c.args[k]
				if own {
					f = flow{text: rest, known: a.known, taint: a.taint}
				}
				s.code, s.last = append(s.code, f), k
				return s // what follows are the program's arguments
			case 'm':
				s.module, s.words = rest, c.args[k+1:]
				return s
			}
		case listed(i.eval, t) && k+1 < len(c.args):
			k++
			for i.language == "js" && t == "eval" && k+1 < len(c.args) && strings.HasPrefix(c.args[k].text, "-") {
				k++ // deno eval -p CODE
			}
			s.code = append(s.code, c.args[k])
			if i.shell {
				s.words = c.args[k+1:]
				return s
			}
		case i.shell && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.HasSuffix(t, "c") && k+1 < len(c.args):
			k++
			for k+1 < len(c.args) && strings.HasPrefix(c.args[k].text, "-") && len(c.args[k].text) < 4 {
				k++
			}
			s.code = append(s.code, c.args[k])
			s.words = c.args[k+1:]
			return s
		case i.shell && (t == "-i" || t == "-li" || t == "-il" || t == "-pi"):
			s.interactive = true
		case i.shell && listed("-o -O +o +O", t):
			k++
		case i.shell && (t == "--rcfile" || t == "--init-file") && k+1 < len(c.args):
			k++
			c.ran(c.args[k].text)
			if f, ok := c.getFile(c.args[k].text); ok {
				c.runs(f, i.language)
			}
		case (i.language == "perl" || i.language == "ruby" || i.language == "php") && len(t) > 2 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], "eErR"):
			// -ne, -lane, -e'code', -rsocket
			cut := strings.IndexAny(t, "eE")
			if i.language == "php" {
				cut = strings.Index(t, "r")
			}
			if strings.HasPrefix(t, "-r") && i.language == "ruby" || strings.HasPrefix(t, "-M") || strings.HasPrefix(t, "-I") {
				s.code = append(s.code, flow{text: "require " + t[2:], known: true})
				continue
			}
			switch {
			case cut > 0 && cut+1 < len(t):
				s.code = append(s.code, flow{text: t[cut+1:], known: a.known, taint: a.taint})
			case cut > 0 && k+1 < len(c.args):
				k++
				s.code = append(s.code, c.args[k])
			}
		case t == "-pe" && i.language == "js" && k+1 < len(c.args):
			k++
			s.code = append(s.code, c.args[k])
		case i.language == "js" && listed(nodeValues, t) && k+1 < len(c.args):
			k++
		case len(t) > 2 && listed(i.eval, t[:2]) && t[1] != '-' && !i.shell:
			s.code = append(s.code, flow{text: t[2:], known: a.known, taint: a.taint})
		case strings.HasPrefix(t, "--") && strings.Contains(t, "=") && listed(i.eval, before(t, '=')):
			s.code = append(s.code, flow{text: t[strings.IndexByte(t, '=')+1:], known: a.known, taint: a.taint})
		case (c.name == "deno" || c.name == "bun") && s.file == nil && listed("run test x serve compile cache install", t):
			// a word before the file
		case i.language == "vim" && strings.HasPrefix(t, "+"):
			s.code = append(s.code, flow{text: t[1:], known: a.known})
		case i.language == "awk" && (t == "-f" || t == "-F" || t == "-v") && k+1 < len(c.args):
			k++
			if t == "-f" {
				script = false
			}
		case (t == "--import" || t == "--require" || t == "-r" || strings.HasPrefix(t, "--import=")) && i.language == "js" && k+1 <= len(c.args):
			v := strings.TrimPrefix(t, "--import=")
			if v == t && k+1 < len(c.args) {
				k++
				v = c.args[k].text
			}
			if strings.HasPrefix(v, "data:") {
				_, program, _ := strings.Cut(v, ",")
				s.code = append(s.code, flow{text: program, known: true})
			} else if content, ok := c.getFile(v); ok {
				c.runs(content, "js")
			}
		case t == "-" && i.shell && k+1 < len(c.args):
			s.file = &c.args[k+1] // no more options
			return s
		case descriptor(t) == "/dev/fd/0":
			s.file = nil
		case t == "-" || i.shell && readsInput(t): // what follows are the script's arguments
			s.file = nil
			return s
		case len(t) > 1 && (t[0] == '-' || t[0] == '+' && i.shell):
		default:
			if script {
				s.code, script = append(s.code, a), false
				continue
			}
			if s.file == nil {
				s.file = &c.args[k]
			}
			if i.language != "awk" && i.language != "vim" {
				return s
			}
			s.printed |= c.readFile(a).taint
		}
	}
	return s
}

// runsPythonModule judges that a module of Python is run.
func (c *invocation) runsPythonModule(s started) flow {
	if s.module == "site" && slices.ContainsFunc(s.words, func(w flow) bool { return w.text == "--user-site" }) {
		return flow{text: "~/.local/lib/python3/site-packages\n", known: true}
	}
	c.module(s.module)
	c.moduleTakes(s.module, s.words)
	c.asProgram(s.module, s.words)
	return flow{}
}

// runsTexts judges that texts among the words are run.
func (c *invocation) runsTexts(i interpreter, s started) (out flow) {
	out = flow{taint: c.in.taint | s.printed | c.filters(i, s.code)}
	joined := flow{known: true}
	for _, f := range s.code {
		f.text += "\n"
		joined = both(joined, f)
	}
	c.runsPrintedLines(i, joined.text)
	if i.language == "awk" {
		c.awkRuns(joined.text)
		c.awkPipes(joined.text)
		switch {
		case awkNames.MatchString(joined.text) && slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "-F") && strings.Contains(a.text, "=") || a.text == "="
		}):
			out = namesOnly(out)
		case awkPicks.MatchString(joined.text):
			out = chosen(out, joined.text)
		}
	}
	c.dynamic = c.dynamic || !joined.known
	if c.name == "fish" {
		joined.text = joinedInFish(joined.text)
	}
	if i.shell {
		c.evaluates(joined)
	}
	if !joined.known && len(strings.Trim(joined.text, "$(){}\n ")) < 4 {
		c.report("shell.dynamic_run", 0, c.at)
	}
	joined.known = true
	if i.shell && len(s.words) > 0 {
		defer c.given(s.words)()
	}
	given := []flow{{text: "-c", known: true}}
	if i.language == "js" {
		given, s.last = nil, lastOf(c.args, s.code)
	}
	defer c.supplied(append(given, c.args[min(s.last+1, len(c.args)):]...), c.in)()
	read := out.taint
	r := c.runs(joined, i.language)
	if out.taint |= r.taint; i.language != "awk" { // whose files are all among its words
		read = out.taint
	}
	out.taint |= c.recodedBy(i, joined.text, read)
	if i.shell {
		out.text, out.known = r.text, r.known
		if obviousShell(joined.text) {
			out.taint |= fromShell
		}
	}
	return out
}

// runsScript judges that a file is run.
func (c *invocation) runsScript(i interpreter, s started) flow {
	f := *s.file
	// Which file it is, or what comes over the one that it names, is read when it runs.
	c.dynamic = c.dynamic || !f.known || strings.HasPrefix(f.text, "/dev/fd/") || strings.HasPrefix(f.text, "/proc/")
	for k := range c.args {
		if &c.args[k] == s.file {
			c.asProgram(f.text, c.args[k+1:])
		}
	}
	if f.taint&(fromNet|fromDecoder|fromSocket|fromVendor) != 0 && !f.known {
		c.runs(flow{taint: f.taint}, i.language)
	}
	for k := range c.args {
		if &c.args[k] == s.file {
			defer c.supplied(c.args[k:], c.in)()
			s.words = c.args[k+1:]
		}
	}
	content, ok := c.getFile(f.text)
	if i.language == "python" && !ok {
		content, ok = c.getFile(f.text + "/__main__.py")
	}
	if ok {
		c.ranCopy(f.text)
		if i.shell {
			for k := range c.args {
				if &c.args[k] == s.file {
					defer c.called(c.args[k:], c.in)()
				}
			}
		}
		if i.shell && !c.lay[path.Clean(f.text)] && (strings.HasPrefix(f.text, "/tmp/") || strings.HasPrefix(f.text, "/var/tmp/") || strings.HasPrefix(f.text, "/dev/shm/")) && content.known {
			c.report("shell.staged_run", 0, c.at)
		}
		return c.runs(content, i.language)
	}
	c.toldToRun(s.words)
	c.ranFile(f.text)
	c.ranHidden(f.text)
	if !strings.ContainsAny(f.text, "/.") {
		c.ran(f.text)
	}
	if !strings.Contains(f.text, ".") && i.language == "python" {
		c.ran(f.text + "/__main__.py")
	}
	if i.language == "js" && path.Ext(f.text) == "" || strings.HasSuffix(f.text, ".") { // a folder
		c.ran(f.text + "/index.js")
	}
	c.attackTool(f.text)
	if isURL(f.text) {
		c.report("shell.download_run", 0, c.at)
	}
	return flow{taint: byCode}
}

// runsInput judges that what comes in is run.
func (c *invocation) runsInput(i interpreter, s started) flow {
	c.dynamic = c.dynamic || !c.in.known && (c.fed || c.in.taint&fromFile != 0)
	if c.in.taint&tooLong != 0 && !c.in.known {
		c.starve(c.at)
	}
	for k, a := range c.args {
		if a.text == "-" {
			defer c.supplied(c.args[k:], flow{})()
			break
		}
	}
	switch {
	case c.in.known && c.in.text != "":
		return c.runs(c.in, i.language)
	case c.in.taint&fromProgram != 0 && c.in.taint&(fromSocket|fromNet|fromDecoder|fromVendor) == 0:
		out := c.runs(flow{text: c.in.text, known: !nothingKnown(c.in.text), taint: c.in.taint}, i.language)
		out.taint |= fromShell
		return out
	case c.in.taint&(fromSocket|fromNet|fromDecoder|fromVendor) != 0:
		out := c.runs(c.in, i.language)
		out.taint |= fromShell
		return out
	case c.in.taint&fromFile != 0 && !c.fifo, c.in.text != "":
		c.evaluates(c.in)
		if c.altersRun = c.altersRun || c.in.taint&fromFilter != 0; c.in.taint&(fromFilter|fromFile) == fromFilter {
			c.report("shell.printed_run", 0, c.at) // the text was known before it was filtered
		}
		for _, name := range c.readFrom {
			c.ran(name)
		}
		c.report("shell.dynamic_run", 0, c.at)
	}
	if i.shell || s.interactive {
		if c.wrap > 0 && escapeWrappers[c.around] && c.in.text == "" && c.in.taint == 0 {
			c.report("shell.escape", 0.8, c.at)
		}
		return flow{taint: fromShell}
	}
	return flow{}
}

// supplied tells what a program is given besides its code, until the function is called that it
// returns.
func (c *invocation) supplied(words []flow, input flow) func() {
	before := c.supply
	c.supply = &supply{words: words, input: input, vars: c.vars}
	return func() { c.supply = before }
}

// lastOf is where the last of the words stands that are code.
func lastOf(args, code []flow) int {
	for k := len(args) - 1; k >= 0; k-- {
		if args[k].text == code[len(code)-1].text {
			return k
		}
	}
	return len(args)
}

// awkRuns judges that awk runs what it reads: the lines that come in, or those of a command.
func (c *invocation) awkRuns(code string) {
	squeezed := strings.ReplaceAll(code, " ", "")
	if !strings.Contains(squeezed, "system(") && !strings.Contains(squeezed, `|"sh`) && !strings.Contains(squeezed, `|"bash`) && !strings.Contains(squeezed, `|"/bin/`) {
		return
	}
	if c.in.taint&(fromNet|fromSocket) != 0 || strings.Contains(code, "getline") && (strings.Contains(code, "curl ") || strings.Contains(code, "wget ")) {
		c.report("shell.download_run", 0, c.at)
	}
	if c.in.known && strings.Contains(squeezed, "system($0)") {
		c.inside(c.in.text)
	}
	for _, command := range c.awkCommands(code) {
		c.inside(command)
	}
}

// awkCommands are the commands that a program of awk puts together of texts, of what comes in, and of the
// environment. Where what comes in is known only as paths, each stands for all.
func (c *invocation) awkCommands(code string) (commands []string) {
	read := c.in.text
	tokens := lex(code, true)
	if strings.Contains(code, "getline") {
		for i, t := range tokens {
			if t.isText && printsNames.MatchString(t.text) {
				_, where, _ := strings.Cut(strings.TrimSpace(joinedTexts(code, tokens[i:min(len(tokens), i+64)])), " ")
				read = strings.TrimPrefix(strings.TrimSpace(where), "-d ")
				break
			}
		}
	}
	for i, t := range tokens {
		if t.isText || t.text != "system" || len(commands) == 16 {
			continue
		}
		var b strings.Builder
		for _, w := range tokens[i+1 : min(len(tokens), i+64)] {
			if between := code[t.end:min(w.at, len(code))]; strings.ContainsAny(between, ";}") || strings.Count(code[t.end:w.at], ")") >= max(strings.Count(code[t.end:w.at], "("), 1) {
				break // behind what it is given
			}
			switch {
			case w.isText && w.callee == "environ":
				b.WriteString("$" + w.text)
			case w.isText:
				b.WriteString(w.text)
			case w.text != "environ":
				b.WriteString(strings.ReplaceAll(strings.TrimSpace(read), "\n", " "))
			}
		}
		commands = append(commands, b.String())
	}
	return commands
}

// printsNames is a command by which a program of awk is given names of files.
var printsNames = lazyregexp.New(`^\s*(?:ls|echo|printf|find)\s`)

// joinedTexts is what a program of awk joins of texts and of the environment, from the first on.
func joinedTexts(code string, tokens []token) string {
	var b strings.Builder
	for i, w := range tokens {
		if i > 0 && strings.ContainsAny(code[tokens[i-1].end:min(w.at, len(code))], "|;\n){}") {
			break
		}
		switch {
		case w.isText && w.callee == "environ":
			b.WriteString("$" + w.text)
		case w.isText:
			b.WriteString(w.text)
		}
	}
	return b.String()
}

// asProgram judges what a script or a module is told to do, by what is known of programs of
// its name, and by its words.
func (c *invocation) asProgram(name string, args []flow) {
	p := *c
	p.name, p.args = baseName(name), args
	if p.uses()&fromNet != 0 {
		p.fetched()
	}
	p.takesAway()
	p.givenCode()
	p.obeysFiles()
	if _, implies := unasked[p.name]; implies || moduleServers[p.name] || moduleWorkers[p.name] {
		p.runsImplied()
	}
}

// moduleTakes judges what a module of Python runs: itself, if the call wrote it; the texts that
// it is given; the script that it is given.
func (c *invocation) moduleTakes(name string, words []flow) {
	defer c.supplied(append([]flow{{text: name, known: true}}, words...), c.in)()
	c.runsModule(name)
	for i, w := range words {
		option := ""
		if i > 0 {
			option = words[i-1].text
		}
		switch {
		case name == "timeit" && (option == "-s" || option == "--setup" || !strings.HasPrefix(w.text, "-") && !listed("-n -r -u --number --repeat --unit", option)):
			c.runs(w, "python")
		case name == "pdb" && (option == "-c" || option == "--command"):
			c.runs(flow{text: strings.TrimLeft(w.text, "!"), known: w.known, taint: w.taint}, "python")
		case name == "zipapp" && listed("-o --output", option) && i > 1:
			if f, ok := c.getFile(words[i-2].text + "/__main__.py"); ok {
				c.putFile(w.text, f)
			}
		case name == "pickle" && !strings.HasPrefix(w.text, "-"): // whose objects it makes
			if f, ok := c.getFile(w.text); ok && f.known {
				c.objects(f.text, c.at)
			} else {
				c.evaluatesFile(w.text, c.at)
			}
		case strings.HasSuffix(w.text, ".py") && !strings.HasPrefix(w.text, "-"):
			if f, ok := c.getFile(w.text); ok {
				c.runs(f, "python")
			} else {
				c.ran(w.text)
			}
		}
	}
}

// readsInput says whether an option tells a shell to read its script from its input.
func readsInput(option string) bool {
	return len(option) > 1 && option[0] == '-' && strings.Contains(option, "s") && strings.Trim(option[1:], "abefhiklmnprstuvxBCEHPT") == ""
}

// module judges python -m.
func (c *invocation) module(name string) {
	switch name {
	case "http.server", "SimpleHTTPServer", "pyftpdlib", "uploadserver":
		c.report("shell.listener", 0.35, c.at)
	}
}
