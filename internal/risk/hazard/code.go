package hazard

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Code of other languages is read in two ways. Python and JavaScript are parsed, and judged
// as the lines of a shell that would do the same: see package effects; so are the calls of those
// that are written with names and brackets: see doings.go. Of all of them, and
// there are too many to parse, a lexer common to all tells words from strings, since what an
// attack needs has much the same names in all; what the words can do together is what counts.
// A socket whose ends become a program's input and output is a reverse shell in any language.

// ability is what a word of a program can do.
type ability uint32

const (
	canConnect ability = 1 << iota
	canListen
	canHTTP
	canRun    // other programs
	canEval   // text as code
	canDecode // hidden text
	canRedirect
	canSetUser
	canDelete // whole directories
	canFork
	canWrite
	canInject
	canCapture
	takesRequest // what a web server's visitors send
	namesShell   // a string that is a shell's name
	loops
	canUnlink // single files
	canQuery  // SQL
	canEmpty  // an address's DELETE
)

// abilities are the words, in lower case, by what they can do.
var abilities = func() map[string]ability {
	m := map[string]ability{}
	for _, row := range []struct {
		what  ability
		words string
	}{
		{canConnect, "socket tcpsocket udpsocket fsockopen pfsockopen stream_socket_client socket_create create_connection open_connection sockaddr_in inet_aton tcpclient tcpstream ztcp gen_tcp dialtcp peeraddr socketchannel connectex peerport make-network-process sockstream"},
		{canListen, "listen tcpserver createserver tcplistener stream_socket_server socket_listen serversocket localport socketserver"},
		{canHTTP, "urlopen urlretrieve requests urllib urllib2 httplib curl_exec curl_init lwp httpclient httprequest xmlhttprequest open-uri httparty webclient axios downloadstring downloadfile getstore http.get https.get httpget httpx aiohttp lwp undici superagent net_http"},
		{canRun, "system exec execl execlp execle execv execve execvp execvpe popen popen2 popen3 spawn spawnl spawnv spawnsync execsync execfile execfilesync subprocess proc_open shell_exec passthru pcntl_exec check_output check_call getoutput getstatusoutput processbuilder getruntime child_process pty forkpty open3 os.execute io.popen startprocess execute-shell shell-command call-process start-process term createprocess qx posix_spawn syscall run_command"},
		{canEval, "eval exec compile assert create_function loadstring instance_eval class_eval __import__ execscript vm runinthiscontext runincontext runinnewcontext loadstring instance_exec"},
		{canDecode, "b64decode base64 base64_decode unhexlify fromhex hex2bin atob decode64 decode_base64 gzinflate gzuncompress decompress str_rot13 fromcharcode unescape strrev codecs marshal unpack convert_uudecode"},
		{canRedirect, "dup2 dup fdopen getinputstream getoutputstream pipe fileno stdin stdout"},
		{canSetUser, "setuid setresuid setreuid seteuid posix_setuid"},
		{canDelete, "rmtree rm_rf rm_r removeall remove_tree remove_entry_secure rmsync rimraf deltree"},
		{canUnlink, "unlink unlinksync remove removesync rmdir rmdirsync delete rm delete_file deletefile"},
		{canWrite, "file_put_contents writefile writefilesync appendfile appendfilesync copyfile copyfilesync copy2 copytree inplace symlink symlinksync write_text write_bytes createwritestream writealltext writetextfile writetextfilesync"},
		{canFork, "fork"},
		{canQuery, "execute executemany executescript exec_query query raw queryraw executeraw executerawunsafe queryrawunsafe exec_driver_sql prepare sqlalchemy sqlite3 psycopg2 psycopg pymysql mysql pg duckdb knex sequelize"},
		{canInject, "ptrace process_vm_writev writeprocessmemory createremotethread virtualallocex virtualalloc openprocess ntmapviewofsection queueuserapc process_vm_readv memfd_create fexecve"},
		{canCapture, "pynput pyxhook setwindowshookex getasynckeystate keylogger"},
		{takesRequest, "_get _post _request _cookie http_get_vars request.getparameter"},
		{loops, "while loop until"},
	} {
		for w := range set(row.words) {
			m[w] |= row.what
		}
	}
	return m
}()

// token is a word or a string of a program.
type token struct {
	text   string
	isText bool
	callee string // of a string: the word before it, if only signs are between
	at     int
	end    int
}

// lex cuts code into words and strings, comments left out. hash says that #
// begins a comment.
func lex(text string, hash bool) []token {
	var out []token
	last := ""
	var unclosed [256]bool
	join := false
	var joined strings.Builder // the last string, where it is put together
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			j := i + 1
			for j < len(text) && (text[j] == '_' || text[j] >= 'a' && text[j] <= 'z' || text[j] >= 'A' && text[j] <= 'Z' || text[j] >= '0' && text[j] <= '9' || text[j] >= 0x80) {
				j++
			}
			w := strings.ToLower(text[i:j])
			out = append(out, token{text: w, at: i, end: j})
			last, join = w, false
			i = j
		case c == '"' || c == '\'' || c == '`':
			quote := text[i : i+1]
			if strings.HasPrefix(text[i:], `"""`) || strings.HasPrefix(text[i:], "'''") {
				quote = text[i : i+3]
			}
			body := text[i+len(quote):]
			end := -1
			if !unclosed[c] {
				end = closing(body, quote)
			}
			if end < 0 {
				unclosed[c] = true
				i++
				continue
			}
			s := body[:end]
			if strings.Contains(s, `\`) && len(s) < 64<<10 {
				s = effects.Unescape(s)
			}
			if n := len(out) - 1; join && n >= 0 && out[n].isText && out[n].text != "HOME" && len(out[n].text) < 16<<10 {
				if joined.Len() == 0 {
					joined.WriteString(out[n].text)
				}
				joined.WriteString(s)
				out[n].text = joined.String()
				out[n].end = i + len(quote)*2 + end
			} else {
				joined.Reset()
				out = append(out, token{text: s, isText: true, callee: last, at: i, end: i + len(quote)*2 + end})
			}
			join = false
			i += len(quote)*2 + end
		case c == '#' && hash && (i == 0 || text[i-1] == ' ' || text[i-1] == '\n' || text[i-1] == '\t'), c == '/' && i+1 < len(text) && text[i+1] == '/' && (i == 0 || text[i-1] != ':'):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return out
			}
			i += end
		case c == '+' || c == '.' && (i > 0 && (text[i-1] == '"' || text[i-1] == '\'')):
			join = true
			i++
		case c == ' ' || c == '\n' || c == '\t':
			i++
		default:
			join = false
			if c == ';' || c == '\n' || c == '}' || c == ']' {
				last = ""
			}
			i++
		}
	}
	return out
}

// closing finds where a string ends; escaped quotes do not end it.
func closing(s, quote string) int {
	for i := 0; i+len(quote) <= len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == quote[0] && s[i:i+len(quote)] == quote:
			return i
		case s[i] == '\n' && len(quote) == 1 && quote != "`" && i > 4096:
			return -1
		}
	}
	return -1
}

// moduleEnds are how the names of programs end that take in others by the names of modules.
var moduleEnds = map[string]string{"python": ".py", "js": ".js", "ruby": ".rb"}

// code judges a program of another language than the shell's, and returns what
// its output may hold. kept says that it is written to a file: then only what
// is plain is reported.
func (a *assessor) code(language, text string, at span, kept bool) taint {
	if a.depth >= maxDepth || !a.spend(len(text)) {
		a.starve(at)
		return 0
	}
	a.depth++
	defer func() { a.depth-- }()
	if !kept {
		a.watchedCode(language, text)
		a.answersIn(text, at)
		a.startsAgent(text, at)
	}
	if end := moduleEnds[language]; end != "" && !kept {
		for _, name := range takenIn("x"+end, text) {
			a.runFiles = noted(a.runFiles, name)
		}
	}
	if language == "python" {
		var commands []string
		text, commands = magics(text)
		for _, line := range commands {
			a.command(line, &at)
		}
	}
	switch language {
	case "sh":
		a.command(text, &at)
		return 0
	case "powershell":
		a.windows(text, at)
		return 0
	case "vim", "gdb":
		a.editorCommands(text, at)
	}
	if len(text) > maxProgram {
		a.starve(at)
		text = text[:maxProgram]
	}
	if language == "js" && !kept {
		for _, m := range shellTemplate.FindAllStringSubmatch(text, 64) { // of Bun, zx and execa
			a.command(templateHoles.ReplaceAllString(m[1], "$$X"), &at)
		}
	}
	reads := taint(0)
	if (language == "python" || language == "js") && !kept {
		reads = a.effects(language, text, at)
	}
	if language == "" && strings.Contains(text, "<?") {
		language = "php"
	}
	if language == "php" && !kept {
		a.programDoes(".php", text, at)
	}
	if !kept && !followed[language] {
		a.takesAwayIn(text, at)
	}
	text = plainQuotes(language, text)
	p := program{assessor: a, language: language, kept: kept, at: at}
	tokens := lex(text, language != "js" && language != "c" && language != "lua" && language != "java")
	p.read(tokens, text)
	if !kept {
		for _, path := range foldedPaths(tokens, text) {
			p.file(path)
		}
	}
	return p.judge(text) | reads
}

// followed are the languages of which it is known where the values of their calls come from.
var followed = set("python js php perl ruby awk sh")

// takesAwayIn judges that code of a language that is not followed takes away, by a call of whatever name that
// says so, a place of somebody's that it names.
func (a *assessor) takesAwayIn(text string, at span) {
	if !takesAway.MatchString(text) {
		return
	}
	for _, m := range namedPlaces.FindAllStringSubmatch(text, 16) {
		a.removes(m[1], true, at)
	}
}

var (
	takesAway   = lazyregexp.New(`(?i)(?:delete|remove|erase|unlink|trash|destroy|wipe|purge)[-_./]?(?:all|dir|tree|director|content|recurs|folder|file|path)|\bdel_dir|\brmdir|\brmtree|deltree|=>\s*absent|action\s*[:(]?\s*:?delete|\brm\s+-[a-z]*r`)
	namedPlaces = lazyregexp.New("[\"'`]((?:~|/(?:home|Users|root|mnt|srv|media|var))/[^\"'`\\s,;|]+)")
)

// startsAgent judges that a program has a coding agent work that asks nobody, by its maker's library: that
// reads no settings of the user's unless it is told to, and so no hooks.
func (a *assessor) startsAgent(text string, at span) {
	if agentLibrary.MatchString(text) && asksNobody.MatchString(text) && !userSettings.MatchString(text) {
		a.report("defense.unhooked", 0, at)
	}
}

var (
	agentLibrary = lazyregexp.New(`claude[-_]agent[-_]sdk|claude[-_]code[-_]sdk|@anthropic-ai/claude-code|@openai/codex-sdk|@opencode-ai/sdk|@github/copilot-sdk|@google/gemini-cli-core`)
	asksNobody   = lazyregexp.New(`(?i)bypass_?permissions|accept_?edits|dangerously_?(?:skip|bypass|allow)|danger-full-access|approval_?(?:policy|mode)["']?\s*[:=]\s*["'](?:never|yolo)|can_?use_?tool`)
	userSettings = lazyregexp.New(`(?i)setting_?sources["']?\s*[:=]\s*\[[^\]]*user`)
)

// shellTemplate is a template that a function of a shell's name is given, and templateHoles what is put
// into one.
var (
	shellTemplate = lazyregexp.New("(?:^|[^\\w$])(?:Bun\\.)?(?:\\$|\\$\\.\\w+|sh|exec|execa|execaCommand|zx|shell)(?:\\([^()`]*\\))?`([^`]*)`")
	templateHoles = lazyregexp.New(`\$\{[^{}]*\}`)
)

// magics are the lines of a shell that a cell of IPython has, and the cell without them.
func magics(text string) (code string, commands []string) {
	if !strings.Contains(text, "!") && !strings.Contains(text, "%") {
		return text, nil
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		line, after, more := strings.Cut(rest, "\n")
		rest = after
		bare := strings.TrimSpace(line)
		word, argument, _ := strings.Cut(bare, " ")
		switch {
		case strings.HasPrefix(bare, "%%"):
			if listed("%%bash %%sh %%! %%sx %%system %%script %%cmd", word) {
				// All that follows is the shell's, or another program's.
				shell := after
				if word == "%%script" {
					shell = argument + " <<'END_OF_CELL'\n" + after + "\nEND_OF_CELL"
				}
				return b.String(), append(commands, shell)
			}
			if listed("%%python %%python3 %%pypy %%timeit %%time %%capture %%prun", word) && strings.Contains(argument, "(") {
				b.WriteString(argument)
			}
		case strings.HasPrefix(bare, "!"):
			commands = append(commands, strings.TrimLeft(bare, "!"))
			b.WriteString(line[:strings.IndexByte(line, '!')] + "pass")
		case listed("%sx %system %sc", word):
			commands = append(commands, argument)
			b.WriteString(line[:strings.IndexByte(line, '%')] + "pass")
		case strings.HasPrefix(bare, "%"):
			if listed("%time %timeit %prun", word) {
				b.WriteString(argument)
			} else {
				b.WriteString(line[:strings.IndexByte(line, '%')] + "pass")
			}
		default:
			// files = !ls
			if name, command, ok := strings.Cut(bare, "="); ok && strings.HasPrefix(strings.TrimSpace(command), "!") && !strings.ContainsAny(name, "('\"") {
				commands = append(commands, strings.TrimSpace(command)[1:])
				b.WriteString(line[:len(line)-len(strings.TrimLeft(line, " \t"))] + "pass")
				break
			}
			b.WriteString(line)
		}
		if more {
			b.WriteByte('\n')
		}
	}
	return b.String(), commands
}

// effects judges what code does as the lines of a shell that would do the same. Of code that
// is not known to be all of its language, what was understood counts. It returns what the files hold that
// the code reads, which it may print.
func (a *assessor) effects(language, text string, at span) (reads taint) {
	if a.steps > maxEffects {
		a.starve(at)
		return 0
	}
	e := effects.Of(language, text, a.givenTo())
	a.steps += e.Steps
	for _, line := range e.Lines {
		if !a.spend(len(line)) {
			a.starve(at)
			return 0
		}
		a.line(line, at)
	}
	for _, given := range e.Texts {
		if !a.spend(len(given)) {
			a.starve(at)
			return 0
		}
		a.heard(language, given, at)
	}
	p := program{assessor: a, language: language, at: at}
	for _, path := range e.Reads {
		p.file(path)
	}
	for _, name := range e.Evaluates {
		a.evaluatesFile(name, at)
	}
	if e.Cut || e.Hidden {
		a.starve(at)
	}
	if e.Dark {
		a.report("shell.encoded_run", darkCode, at)
	}
	return p.taint
}

// evaluatesFile judges that a program runs what stands in a file, as it may run the file itself.
func (a *assessor) evaluatesFile(name string, at span) {
	f, here := a.getFile(name)
	switch {
	case !here:
		a.ran(name)
	case f.taint&fromShelf != 0:
		a.report("code.foreign", 0, at)
	case f.taint&fromNet != 0:
		a.report("shell.download_run", 0, at)
	}
}

// supply is what a program is given besides its code.
type supply struct {
	words []flow // the first is what is run
	input flow
	vars  map[string]flow
}

// Names of what a program is given, where nobody knows what that is: see effects.Text.
const (
	wordName  = "WORD_"
	inputName = "INPUT"
)

// givenTo is what the program that is read next is given.
func (a *assessor) givenTo() effects.Given {
	script := ""
	if a.supply != nil && len(a.supply.words) > 0 {
		script = a.supply.words[0].text
	}
	dirs := a.importsFrom(script)
	g := effects.Given{File: func(name string) (string, bool) {
		for _, dir := range dirs {
			if f, ok := a.getFile(path.Join(dir, name)); ok && f.known && f.text != "" {
				return f.text, true
			}
			if path.IsAbs(name) {
				break
			}
		}
		f, ok := a.getFile(name)
		return f.text, ok && f.known && f.text != ""
	}}
	if len(a.written) == 0 {
		g.File = nil
	}
	if a.supply == nil {
		return g
	}
	told := func(f flow, name string) effects.Text {
		return effects.Text{Said: f.text, Known: f.known && f.taint&tooLong == 0, Name: name}
	}
	for i, w := range a.supply.words {
		g.Words = append(g.Words, told(w, wordName+strconv.Itoa(i)))
	}
	if a.supply.input.text != "" || a.supply.input.taint != 0 {
		g.Input = told(a.supply.input, inputName)
	}
	g.Variable = func(name string) effects.Text {
		v, ok := a.supply.vars[name]
		if !ok {
			return effects.Text{}
		}
		return told(v, name)
	}
	return g
}

// line judges what a program does, as a line of a shell in which the variables are those that
// the program was given.
func (a *assessor) line(text string, at span) {
	given, coded := a.supply, a.coded
	a.supply, a.coded = nil, true
	defer func() { a.supply, a.coded = given, coded }()
	if given == nil {
		a.command(text, &at)
		return
	}
	if a.commands -= 3; a.commands <= 0 {
		a.starve(at)
		return
	}
	s := &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: &at, at: at, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
	for name, v := range given.vars {
		s.vars[name] = v
	}
	for i, w := range given.words {
		s.vars[wordName+strconv.Itoa(i)] = w
	}
	s.vars[inputName] = given.input
	s.inside(text)
}

// heard judges a text that a program gives to a function of which nothing is known: what it
// would do in any language, if that is grave.
func (a *assessor) heard(language, text string, at span) {
	a.kept(1, graveInside, func() {
		if effects.Whole(language, text) && strings.Contains(text, "(") {
			a.code(language, text, at, false)
			return
		}
		if other := map[string]string{"python": "js", "js": "python"}[language]; effects.Whole(other, text) && strings.Contains(text, "(") {
			a.code(other, text, at, false)
			return
		}
		for _, command := range commandsIn(text) {
			a.command(command, &at)
		}
	})
}

// darkCode is how grave it is that what code calls, or runs as code, is put together where it
// runs. Honest programs do it, too.
const darkCode = 0.3

// maxEffects is after how many steps no more programs of one call are read for their effects: a
// short program can take many, and one command has room for hundreds of programs.
const maxEffects = 60_000

// maxProgram is how many bytes of a program are read.
const maxProgram = 256 << 10

// program is what is known of one text of code.
type program struct {
	*assessor
	language string
	kept     bool
	at       span
	can      ability
	strings  []token
	forks    int
	words    int
	nesting  int  // of strings that are read as code
	further  bool // the string stands behind another one that the same call is given
	taint    taint
	shells   bool // runs nothing but a shell
	fetches  bool // names an address that is not this machine's
	walks    bool // goes through all that lies in a folder
	recurses bool // with all that is in it
	queries  []string
	files    []string
}

func (p *program) read(tokens []token, text string) {
	for i, t := range tokens {
		if t.isText {
			if isWriteMode(t.text) && opens(tokens[max(0, i-8):i]) {
				p.can |= canWrite
			}
			p.strings = append(p.strings, t)
			if !p.kept {
				p.mentions(t.text) // a file that it may read, and hand on
			}
			if p.loadsSettings(tokens, i, text) {
				continue
			}
			p.further = i > 0 && tokens[i-1].isText && tokens[i-1].callee == t.callee && listed("python js ruby", p.language)
			p.string(t)
			continue
		}
		p.words++
		can := abilities[t.text]
		switch t.text {
		case "exec":
			// Code in Python, a program elsewhere.
			if p.language == "python" {
				can = canEval
			} else {
				can = canRun
			}
		case "assert":
			if p.language != "php" && p.language != "" { // elsewhere it looks whether something holds
				can = 0
			}
		case "compile":
			if p.language != "python" {
				can = 0
			}
		case "io":
			if i+1 < len(tokens) && tokens[i+1].text == "socket" {
				can = canConnect
			}
		case "dial":
			if i > 0 && tokens[i-1].text == "net" {
				can = canConnect
			}
		case "command":
			if i > 0 && tokens[i-1].text == "exec" {
				can = canRun
			}
		case "sockets":
			can = canConnect
		case "net":
			if i+1 < len(tokens) && (tokens[i+1].text == "connect" || tokens[i+1].text == "socket" || tokens[i+1].text == "createconnection") {
				can = canConnect
			}
		case "include_once", "require_once":
			if p.language == "php" && i+1 < len(tokens) && tokens[i+1].isText && isURL(tokens[i+1].text) {
				can = canHTTP | canEval
			}
		case "load", "source", "include": // a text, or an address, as code
			if p.language == "php" && i+1 < len(tokens) && tokens[i+1].isText && isURL(tokens[i+1].text) {
				can = canHTTP | canEval
			}
			if p.language == "lua" || p.language == "r" || p.language == "julia" {
				can = canEval
			}
		case "write":
			if i > 0 && listed("file io bun pathname", tokens[i-1].text) {
				can = canWrite
			}
		case "copy", "rename", "replace", "link", "cp", "mv", "move", "renamesync":
			if i > 0 && listed("shutil os fs fileutils file", tokens[i-1].text) {
				can = canWrite
			}
		case "delete":
			if i > 0 && listed("requests httpx axios session client http superagent got request", tokens[i-1].text) {
				can = canEmpty
			}
		case "directory":
			if i > 0 && tokens[i-1].text == "delete" && p.language == "lisp" {
				can = canDelete
			}
		case "recursive":
			if p.can&canUnlink != 0 {
				p.recurses = true
			}
		case "fetch":
			if p.language == "js" {
				can = canHTTP
			}
		case "uri", "http", "https": // URI.open, HTTP::Tiny, Net::HTTP.get
			if i+1 < len(tokens) && listed("open get tiny post request get_response new", tokens[i+1].text) {
				can = canHTTP
			}
		case "bind":
			if p.can&canConnect != 0 {
				can = canListen
			}
		case "execute":
			if i > 0 && tokens[i-1].text == "os" {
				can = canRun
			}
		case "function":
			if p.language == "js" && strings.HasPrefix(text[t.at:], "Function(") {
				can = canEval
			}
		case "require", "import", "use":
			if i+1 < len(tokens) && tokens[i+1].isText {
				if can = moduleAbility(tokens[i+1].text); strings.HasPrefix(tokens[i+1].text, "data:") {
					can = canEval // a module that stands in its address
				} else if isURL(tokens[i+1].text) {
					can = canHTTP | canEval // a module that is fetched
				}
			}
		case "process":
			if i+1 < len(tokens) && (tokens[i+1].text == "start" || tokens[i+1].text == "new" || tokens[i+1].text == "run") {
				can = canRun
			}
		case "run":
			if p.language == "julia" {
				can = canRun
			}
		}
		if called := t.end < len(text) && strings.HasPrefix(strings.TrimLeft(text[t.end:], " "), "("); can&canFork != 0 && (called || listed("perl ruby", p.language)) {
			p.forks++ // and not the name of a copy of a repository
		}
		p.can |= can
		if !p.kept && p.nesting == 0 {
			p.loses(tokens, i, text)
		}
	}
	if !p.kept && p.nesting == 0 {
		p.requests(tokens, text)
	}
	if p.language == "perl" || p.language == "ruby" || p.language == "php" {
		if strings.Contains(text, "`") {
			p.can |= canRun
		}
	}
	for _, mark := range []string{"%x", "qx"} {
		if _, rest, ok := strings.Cut(text, mark); ok && (p.language == "ruby" || p.language == "perl") && len(rest) > 2 && len(rest) < 16<<10 {
			p.can |= canRun
			p.strings = append(p.strings, token{text: strings.TrimRight(rest[1:], ")]}> ;"), isText: true})
			if strings.Contains(text, "eval") && (strings.Contains(rest, "curl ") || strings.Contains(rest, "wget ")) {
				p.can |= canHTTP
			}
		}
	}
	if strings.Contains(text, "/inet/tcp") || strings.Contains(text, "/inet/udp") || strings.Contains(text, "/inet4/") {
		p.can |= canConnect
		if strings.Contains(text, "|&") && strings.Contains(text, "getline") {
			p.can |= canRun | canRedirect
		}
	}
	if strings.Contains(text, "/dev/tcp/") {
		p.can |= canConnect
	}
	if strings.Contains(text, "|") && p.language == "awk" && strings.Contains(text, "getline") {
		p.can |= canRun
	}
}

// loadsSettings reports whether a string is the name of a file that the words before it load into the
// program's environment, or as variables of which the program takes single ones. What it does with these
// is seen where it does it.
func (p *program) loadsSettings(tokens []token, at int, text string) bool {
	name := tokens[at].text
	if !strings.HasPrefix(path.Base(name), ".env") || placeOf(normalPath(name).text).read >= 0.6 {
		return false
	}
	for i := at - 1; i >= max(0, at-8); i-- {
		t := tokens[i]
		switch {
		case t.text == "dotenv_values" && !t.isText:
			return i > 0 && choosesOnly(tokens, text, i-1, i)
		case listed("load_dotenv loadenvfile", t.text), t.text == "config" && strings.Contains(text[max(0, t.at-32):t.at], "dotenv"):
			return !strings.ContainsAny(text[t.end:tokens[at].at], ";\n")
		case !t.isText && !listed("path dotenv_path join resolve dirname __dirname __file__ os override require process cwd", t.text):
			return false
		}
	}
	return false
}

// choosesOnly reports whether a program takes single values out of the variables of a file, which the word at
// loader reads and the one at named is set to.
func choosesOnly(tokens []token, text string, named, loader int) bool {
	if named >= loader || tokens[named].isText || strings.ContainsAny(text[tokens[named].end:tokens[loader].at], "\n;(") || !strings.Contains(text[tokens[named].end:tokens[loader].at], "=") {
		return false
	}
	for i, t := range tokens {
		if i == named || t.isText && !strings.Contains(strings.ToLower(t.text), "{"+tokens[named].text) || !t.isText && t.text != tokens[named].text {
			continue
		}
		if rest := strings.TrimLeft(text[t.end:], " "); t.isText || !strings.HasPrefix(rest, "[") && !strings.HasPrefix(rest, ".get(") {
			return false
		}
	}
	return true
}

// isWriteMode says whether a text is what open is told to write by.
func isWriteMode(s string) bool {
	return s != "" && len(s) <= 3 && strings.ContainsAny(s, "wax+") && strings.Trim(s, "wax+bt") == ""
}

// opens says whether words just before a mode open a file.
func opens(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool {
		return !t.isText && listed("open fopen mode opensync file", t.text)
	})
}

func moduleAbility(name string) ability {
	switch strings.TrimPrefix(name, "node:") {
	case "net", "socket", "tls", "dgram":
		return canConnect
	case "child_process":
		return canRun
	case "http", "https", "http2", "open-uri", "net/http", "socket.http", "ssl.https", "undici", "axios", "got", "node-fetch", "lwp::simple":
		return canHTTP
	case "vm":
		return canEval
	}
	return 0
}

// string reads one string of the program.
func (p *program) string(t token) {
	s := strings.TrimSpace(t.text)
	if s == "" || len(s) > 64<<10 {
		return
	}
	if command, ok := pipesTo(s); ok && (p.language == "perl" || p.language == "ruby") {
		p.can |= canRun
		s = command
	}
	first, rest, _ := strings.Cut(s, " ")
	name := baseName(first)
	if (interpreters[name].shell || strings.EqualFold(name, "cmd") || strings.EqualFold(name, "powershell")) && len(rest) < 40 {
		p.can |= namesShell
		if rest == "" || rest == "-i" || rest == "-p" || rest == "&" || rest == "-l" {
			p.shells = true
		}
	}
	if len(s) > 2 && (strings.Contains(s, ">&") || strings.Contains(s, "<&")) {
		p.can |= canRedirect
	}
	switch s {
	case "socket", "net":
		if t.callee == "require" {
			p.can |= canConnect
		}
	case "child_process":
		p.can |= canRun
	}
	if listed("array_map array_walk array_filter call_user_func call_user_func_array usort send public_send __send__ getattr", t.callee) {
		p.can |= abilities[strings.ToLower(s)] // a function that is called by its name
	}
	if f, ok := p.getFile(s); ok { // by the command around it
		p.taint |= f.taint & (fromSecret | fromPlace | fromSystem | fromOwn)
	}
	if p.language == "" && p.nesting == 0 && len(s) > 40 && strings.Contains(s, "(") {
		// Code inside a command's quotes, whoever it is for.
		p.nesting++
		p.read(lex(s, false), s)
		p.nesting--
		return
	}
	if p.language == "" && !p.kept && looksLikeCommand(s) || p.language == "" && strings.Contains(s, "/bin/") && looksLikeCommand(s) {
		p.assessor.kept(1, 0.9, func() { p.command(s, &p.at) })
		return
	}
	if !p.kept && p.language != "" && p.language != "sh" && isSQL(s) {
		if len(p.queries) < 32 {
			p.queries = append(p.queries, s)
		}
		return
	}
	runs := abilities[t.callee]&canRun != 0 || t.callee == "getline" ||
		p.language != "" && (t.callee == "execute" || t.callee == "run" || t.callee == "call" || t.callee == "script")
	if t.callee == "exec" && p.language == "python" {
		runs = false
		p.nested("python", s)
	}
	switch {
	case runs && s != "" && (!p.further || p.kept && p.takesLines("")):
		if p.kept {
			p.assessor.kept(1, 0.8, func() { p.command(s, &p.at) })
		} else {
			p.command(s, &p.at)
		}
	case abilities[t.callee]&canDelete != 0 && (systemTrees[s] || s == "/"):
		p.report("destroy.system", 0, p.at)
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, ">") || strings.Contains(s, "..") && strings.Contains(s, "/"):
		p.file(s)
	case p.language != "" && p.language != "python" && p.language != "js" && len(s) < 256 && !strings.ContainsAny(s, " \n:") && !takesSettings[t.callee] && KeepsSecrets(s):
		p.file(s)
	case isURL(s) && len(s) < 2048:
		p.host(s, p.at)
		p.fetches = p.fetches || hostOf(s).kind() != "loopback"
	case len(s) >= 16 && !strings.Contains(s, " "):
		p.hidden(s, t.callee)
	}
}

// takesSettings are functions that take a file of settings in as variables, or only look whether it is there.
var takesSettings = set("load overload config dotenv loadenv godotenv createimmutable createmutable createunsafeimmutable createunsafemutable createarraybacked from_filename from_path env_file envfile exists exist isfile is_file file_exists stat basename")

// file judges that a program reads a path that its strings name, and keeps it for
// what else the program does with paths.
func (p *program) file(s string) {
	if rest := strings.TrimLeft(s, ">+< "); rest != s {
		s, p.can = rest, p.can|canWrite // open(F, ">>/etc/x")
	}
	if len(s) > 512 || strings.ContainsAny(s, " \n") {
		return
	}
	if len(p.files) < 64 {
		p.files = append(p.files, s)
	}
	pl := placeOf(normalPath(s).text)
	if strings.HasPrefix(s, "/.") { // behind what gives the home directory
		if home := placeOf(normalPath("~" + s).text); home.read > pl.read {
			pl = home
		}
	}
	if pl.read >= 0.3 && pl.reads != "" {
		p.taint |= fromSecret | fromPlace
		if !p.kept {
			p.report(pl.reads, pl.read, p.at)
		}
	}
}

// changes judges what a program that runs now deletes and writes. Which of its words
// belongs to which of its strings is not read: what can delete deletes what is named.
func (p *program) changes() {
	for _, s := range p.files {
		if p.can&(canDelete|canUnlink) != 0 {
			p.removes(s, p.can&canDelete != 0 || p.walks || p.recurses || strings.ContainsAny(s, "*?"), p.at)
		}
		if p.can&canWrite != 0 {
			p.assessor.putsProgram(s, "", p.at)
		}
		if pl := placeOf(normalPath(s).text); p.can&canWrite != 0 && pl.write >= 0.6 && pl.writes != "" {
			p.report(pl.writes, pl.write, p.at)
		}
	}
}

// hidden decodes a string that may be hidden code.
func (p *program) hidden(s, callee string) {
	if p.can&(canDecode|canEval) == 0 && abilities[callee]&canDecode == 0 {
		return
	}
	for _, f := range []func(string) (string, bool){unbase64, unhex} {
		if t, ok := f(s); ok && len(t) > 8 && strings.ContainsAny(t, " (/;") {
			p.nested(p.language, t)
			p.command(t, &p.at)
			return
		}
	}
}

func (p *program) nested(language, text string) {
	if p.kept && len(text) < 32 {
		return
	}
	p.taint |= p.code(language, text, p.at, p.kept)
}

// downloads remembers the files that a program names which speaks to the net: what it says is
// read in no other way than as words, so that each may be what it fetches.
func (p *program) downloads() {
	if p.kept || p.language == "python" || p.language == "js" {
		return
	}
	var urls []string
	for _, t := range p.strings {
		if isURL(t.text) {
			urls = append(urls, t.text)
		}
	}
	for _, t := range p.strings {
		name := path.Base(t.text)
		if len(urls) == 0 || isURL(t.text) || len(t.text) > 255 || !strings.ContainsAny(t.text, "./") || strings.ContainsAny(t.text, " \n$()<>") || len(name) < 3 {
			continue
		}
		if _, there := p.getFile(t.text); !there {
			p.putFile(t.text, flow{taint: brought(urls)})
		}
	}
}

// speaksHere reports whether all addresses that a program has are this machine's, as in tests of a server that
// runs here. Behind a tunnel it is another one.
func (p *program) speaksHere() bool {
	some := false
	for _, t := range p.strings {
		if !strings.Contains(t.text, "://") {
			continue
		}
		if !isURL(t.text) || hostOf(t.text).kind() != "loopback" {
			return false
		}
		some = true
	}
	return some && !p.tunnelled && p.can&(canConnect|canListen) == 0
}

// onlyBytes reports whether all that a program decodes stands in it, and is no text: bytes of a picture, as tests
// write them.
func onlyBytes(text string) bool {
	decoded := decodes.FindAllStringSubmatch(text, 32)
	for _, m := range decoded {
		if digits, hex := unhex(m[1]); hex || m[1] == "" || len(digits) > 0 || len(m[1]) > 512 {
			return false
		}
	}
	return len(decoded) > 0 && len(decoded) == len(decoders.FindAllString(text, 33))
}

var (
	// decodes are digits of base 16 that a program has decoded as they stand there, and decoders all words by
	// which programs decode.
	decodes  = lazyregexp.New(`(?i)\b(?:unhexlify|fromhex|hex2bin)\s*\(\s*["']([0-9a-f]*)["']\s*\)`)
	decoders = lazyregexp.New(`(?i)\b(?:\w*unhexlify|fromhex|hex2bin|atob|unescape|\w*b(?:ase)?(?:16|32|64|85)\w*|decode\w*|\w*decode|\w*decompress\w*|gzinflate|gzuncompress|str_rot13|fromcharcode|strrev|codecs|marshal|unpack)\b`)
)

// judge reports what the program's abilities come to.
func (p *program) judge(text string) taint {
	has := func(all ability) bool { return p.can&all == all }
	short := !p.kept
	if has(canHTTP) {
		p.taint |= fromNet
	}
	if has(canHTTP) || p.language == "php" { // whose functions of files take addresses
		p.downloads()
	}
	if has(canConnect) {
		p.taint |= fromSocket
	}
	if has(canDecode) {
		p.taint |= fromDecoder
	}
	talks := has(canConnect) || has(canListen)
	// A socket, and a loop that runs what comes over it.
	typed := p.language == "php" && has(canConnect|canRedirect) && len(text) < 8<<10 || p.language == "" && (strings.Contains(text, "connect(") || strings.Contains(text, "accept("))
	obeys := (short || typed) && has(canConnect|loops) && (has(canEval) || has(canRun))
	shellOverSocket := obeys || talks && (has(canRun|canRedirect) && has(namesShell) || short && (has(canRun) || has(canRedirect|namesShell)))
	if p.kept && has(canConnect|canRun) && has(loops) && (p.language == "python" || p.language == "perl" || p.language == "php" || p.language == "ruby") && len(text) < 6<<10 && has(namesShell) {
		shellOverSocket = true
	}
	switch {
	case shellOverSocket && has(canListen) && !strings.Contains(text, "connect"):
		p.report("shell.bind_shell", 0, p.at)
	case shellOverSocket:
		p.report("shell.reverse_shell", 0, p.at)
	}
	switch {
	case !short:
	case has(canHTTP|canEval) || p.fetches && has(canEval):
		p.report("shell.download_run", 0, p.at)
	case has(canRun|canEval) && slices.ContainsFunc(p.strings, func(t token) bool {
		return strings.HasPrefix(t.text, "curl ") || strings.HasPrefix(t.text, "wget ")
	}):
		p.report("shell.download_run", 0, p.at)
	case has(canHTTP | canRun):
		p.report("shell.download_run", 0.6, p.at)
	}
	if has(canDecode|canEval) && (short || longestString(p.strings) > 200) {
		p.report("shell.encoded_run", 0, p.at)
	} else if has(canDecode|canRun) && short && !onlyBytes(text) {
		p.report("shell.encoded_run", 0.8, p.at)
	}
	if has(takesRequest) && (has(canRun) || has(canEval) || strings.Contains(text, "<?=`")) && (p.language == "php" || strings.Contains(text, "<?php")) {
		p.report("shell.web_shell", 0, p.at)
	}
	if short && has(canRun) && p.shells && !talks && (len(text) < 400) {
		p.report("shell.escape", 0, p.at)
	}
	if has(canSetUser) && (short || has(canRun|namesShell)) {
		p.report("priv.setuid", 0.85, p.at)
	}
	if has(canInject) && short {
		p.report("code.inject", 0, p.at)
	}
	if has(canCapture) {
		p.report("secret.capture", 0.7, p.at)
	}
	if p.forks > 0 && short && has(loops) && p.words < 24 || p.forks > 1 && p.words < 8 {
		p.report("shell.fork_bomb", 0, p.at)
	}
	if short {
		p.walks = walksTree.MatchString(text)
		p.changes()
		if p.can&(canDelete|canUnlink) != 0 && losesHome.MatchString(text) {
			p.report("destroy.system", 0, p.at)
		}
		if has(canRun) {
			p.runsStrings(text)
		}
	}
	if short {
		p.joinedPaths()
		if has(canQuery) {
			for _, q := range p.queries {
				p.sql(q, p.at)
			}
		}
		if losesRows.MatchString(text) {
			p.report("destroy.store", 0.45, p.at)
		}
		if setsID.MatchString(text) {
			p.report("priv.setuid", 0.8, p.at)
		}
		if showsKey.MatchString(text) {
			p.report("secret.shown", 0, p.at)
		}
		if has(canEmpty) && p.fetches {
			p.report("destroy.cloud", 0.45, p.at)
		}
	}
	if (short && (talks || has(canHTTP)) || p.fetches && short) && allVariables.MatchString(text) {
		p.report("exfil.secret", 0.85, p.at)
	}
	if short && (talks || has(canHTTP) || p.fetches) {
		p.assessor.speaks = true
		p.tellsTyped(text)
	}
	if p.taint&fromSecret != 0 && (talks || has(canHTTP) || p.fetches && short) && !p.speaksHere() {
		w := 0.0
		if p.kept {
			w = 0.8 // a program that asks for a password, perhaps, and where it belongs
		}
		p.report("exfil.secret", w, p.at)
	}
	if short && (talks || has(canHTTP) || p.fetches || has(canConnect)) && p.language != "python" && p.language != "js" && readsFiles.MatchString(text) {
		p.report("exfil.upload", passing, p.at)
		for i, t := range p.strings {
			if i < 64 && (strings.Contains(t.text, "://") || hasHostForm(t.text)) {
				p.speaksTo(t.text)
			}
		}
	}
	if short && (talks || has(canHTTP) || p.fetches) && p.language != "python" && p.language != "js" {
		p.sendsListed(text)
	}
	if has(canRun) && short {
		p.report("code.process", 0, p.at)
	}
	if short {
		p.losesObjects(text)
		p.dropsAfar(text)
		p.sendsMoney(text)
		p.tellsMany(text)
		p.trusts(text, p.texts, p.at)
	}
	if short && (has(canRun) || has(canEval) || loadsFiles.MatchString(text[:min(len(text), 16<<10)])) {
		p.runsNamed(text)
	}
	return p.taint
}

// texts yields the strings of a program.
func (p *program) texts(yield func(string) bool) {
	for _, t := range p.strings {
		if !yield(t.text) {
			return
		}
	}
}

// runsNamed notes that a program may run what it reads, and the names of files in it.
func (p *program) runsNamed(text string) {
	p.dynamic = true
	for word := range strings.FieldsFuncSeq(text[:min(len(text), 16<<10)], func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-*?~", r) || r >= 0x80)
	}) {
		p.mentions(word)
	}
}

// loadsFiles are the words by which languages run a file of their own.
var loadsFiles = lazyregexp.New(`\b(?:do|load|require|require_relative|include|include_once|require_once|source|dofile|loadfile|runpy|import_module|exec_module|importlib)\b`)

// setsID gives a file the rights of its owner; showsKey prints what a keeper of secrets gives out.
var (
	setsID   = lazyregexp.New(`(?i)\bchmod(?:sync)?\W.{0,120}?\b0?o?[4-7][0-7]{3}\b`)
	showsKey = lazyregexp.New(`(?is)(?:\b(?:print|puts|pprint|say|echo)\b|console\.log).{0,200}\b(?:keyring\.get_password|get_secret_value|getsecretvalue|access_secret_version|get_secret|getpassword)\(`)
)

// readsFiles are the ways in which languages that are read by their words take a file's content.
var readsFiles = lazyregexp.New(`(?i)\b(?:file\.(?:read|open|binread)|io\.(?:read|open)|readfile|file_get_contents|fopen|slurp|open\s*[(\s]|read_file|readlines|get-content|readalltext|readallbytes|read_to_string|os\.readfile|ioutil\.readfile|files\.(?:read|lines|new)|filereader|fileinputstream)`)

// sendsListed judges that a program which speaks to others lists a folder and reads what it finds: where a file of
// secrets lies there that nothing names, or the folder is somebody's home, it sends that, too.
func (p *program) sendsListed(text string) {
	if p.private == nil || p.other || !listing.MatchString(text) || !readsFiles.MatchString(text) {
		return
	}
	own := len(p.strings) > 0
	c := &invocation{shell: p.apart(p.at)}
	var folders []string
	for i, t := range p.strings {
		if h := hostOf(t.text); i < 64 && isURL(t.text) && h.kind() != "loopback" && h.kind() != "private" {
			own = false
		}
		if s := t.text; i < 64 && s != "" && len(s) < 256 && !strings.ContainsAny(s, " \n:") && (strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || listing.MatchString(t.callee)) {
			folders = append(folders, s)
		}
	}
	if own {
		return
	}
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		if c.wide(folder) || c.takesAlong(folder) != 0 {
			p.report("exfil.secret", 0.6, p.at)
			return
		}
	}
	if namesHome.MatchString(text) {
		p.report("exfil.secret", 0.6, p.at)
	}
}

var (
	// listing is how languages list what lies in a folder, and namesHome how they say a home.
	listing   = lazyregexp.New(`(?i)(?:\b|_)(?:read_?dir\w*|open_?dir|scan_?dir\w*|list[._]?(?:dir|files|directory|contents)\w*|each_child|children|entries|foreach|walk\w*|glob\w*|rglob|enumerate_?files\w*|get_?files|get-childitem|directory_?(?:iterator|files|contents)|recursivedirectoryiterator|filewalker|dir_walk|ls|lfs\.dir|find_?files?)\b`)
	namesHome = lazyregexp.New(`(?i)homedir|home_dir|dir\.home|user_?home|\bhome\(\)|user\.home|env\W{1,4}home\b|getenv\W{1,4}home\b|expand_path\W{1,4}~`)
)

// walksTree are the ways to go through a whole tree; losesHome is a deletion of all that is
// somebody's, by one of the names that languages have for it.
var (
	walksTree = lazyregexp.New(`(?i)\b(?:walk|rglob|walkdir|nftw|fts_open|scandir|readdirsync|find)\b`)
	losesHome = lazyregexp.New(`(?i)\b(?:rmtree|remove_tree|rm_rf|rm_r|rmsync|rm|removeall|rimraf|deltree)\s*[( ]\s*[\w.'"()$]{0,40}?(?:homedir\(\)|path\.home\(\)|dir\.home|env(?:iron)?[.\[{(]+['"]?home['"]?[\]})]?|getenv\(['"]home['"]\)|expanduser\(['"]~/?['"]\))\s*(?:,\s*(?:\{|true|ignore)|[);]|$)`)
)

// allVariables is the whole environment, in which most tokens stand.
var allVariables = lazyregexp.New(`dict\(os\.environ|os\.environ\)|os\.environ\.(?:items|copy|values)\(|(?:process|Bun|import\.meta)\.env\s*[,)}]|Deno\.env\.toObject|\bDotenv\.(?:parse|load)\b[^\n;]{0,40}\.(?:to_|inspect|map)|credentials\.(?:config|to_h|as_json)\b|%ENV\b|\bENV\.(?:to_h|to_a|to_hash|inspect|map|each|values)|\$_ENV\b[^\[]|getenv\(\)|(?:System\.get_env|System/getenv|environment|getEnvironment|os:env|envPairs|Platform\.environment|ProcessInfo\.processInfo\.environment)(?:\(\)|\s*[),;|\n]|$)|os\.Environ\b|\benv::vars(?:_os)?\(|GetEnvironmentVariables\(|Sys\.getenv\(\)|getEnvMap\(|\bUnix\.environment\b|\bposix-environ\b|opa\.runtime\(\)(?:\.env\b|\["env"\])?\s*(?:[,)}\]\n]|$)|\$ENV\s*(?:[|,)}\]]|$)|\$env\s*\|\s*to\b|\{\{-?\s*(?:\.Env|env|environ)\s*(?:\||-?\}\})|read\*\("env:|[(,|=]\s*ENV\s*(?:[),;|\n]|$)`)

// joinedPaths reads names that stand one after the other as one path in a home directory:
// join(home, ".aws", "credentials").
func (p *program) joinedPaths() {
	for i, t := range p.strings {
		if i+1 == len(p.strings) || i > 64 {
			return
		}
		if !strings.HasPrefix(t.text, ".") || len(t.text) < 3 || strings.ContainsAny(t.text, " \n") {
			continue
		}
		if pl := placeOf(normalPath("~/" + t.text + "/" + p.strings[i+1].text).text); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
			p.taint |= fromSecret | fromPlace
			p.report(pl.reads, pl.read, p.at)
		}
	}
}

// runsStrings reads the strings of a program that starts others: each as a command of its
// own, and from each that names a program on as its words.
func (p *program) runsStrings(text string) {
	lines := p.takesLines(text)
	for i, t := range p.strings {
		if i > 64 {
			return
		}
		s := &shell{assessor: p.assessor, vars: map[string]flow{}, files: p.written, fixed: &p.at, at: p.at, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
		if strings.Contains(t.text, " ") && len(t.text) < 16<<10 {
			if lines {
				s.wordRun(t.text)
			}
			continue
		}
		if !programs()[baseName(t.text)] || i+1 == len(p.strings) {
			continue
		}
		var argv []flow
		for j, w := range p.strings[i:min(i+8, len(p.strings))] {
			if j > 0 && apart(text, p.strings[i+j-1], w) {
				break
			}
			argv = append(argv, flow{text: w.text, known: true})
		}
		if len(argv) < 2 {
			continue
		}
		if interpreters[baseName(strings.TrimSuffix(t.text, ".exe"))].shell && strings.HasPrefix(argv[1].text, "-") && strings.Contains(argv[1].text, " ") { // its words as one text
			s.wordRun(t.text + " " + argv[1].text)
		}
		p.assessor.kept(1, graveInside, func() { s.invoke(argv, flow{}, 0) })
	}
}

// apart reports whether two strings of a program stand in statements of their own.
func apart(text string, one, next token) bool {
	if one.end > next.at || next.at > len(text) {
		return false
	}
	between := text[one.end:next.at]
	return strings.Contains(between, ";") || strings.Contains(between, "\n") && strings.Trim(between, "\"'` \t\r\n") == ""
}

// takesLines reports whether a program has lines of a shell run, or whatever it is given: it names a
// shell, or an option behind which one takes a line, or calls what takes one with a text of several
// words, or with what is not a text. One that starts programs with their words apart runs none: a line
// that it gives to one of them, as a test gives it to a checker of lines, is that program's business.
func (p *program) takesLines(text string) bool {
	if !listed("python js ruby", p.language) && p.language != "" {
		return true
	}
	for _, t := range p.strings {
		if interpreters[baseName(strings.TrimSuffix(t.text, ".exe"))].shell || listed("-c -lc -ic /c /C /k -Command -EncodedCommand -e --eval cmd powershell pwsh cmd.exe powershell.exe", t.text) {
			return true
		}
	}
	for _, m := range lineCalls.FindAllStringSubmatch(text, 64) {
		switch given := strings.TrimSpace(m[1]); {
		case given == "" || given[0] == ')':
		case !strings.ContainsAny(given[:1], "\"'`"):
			return true
		default:
			literal, _, closed := strings.Cut(given[1:], given[:1])
			if !closed || strings.ContainsAny(literal, " |;&") {
				return true
			}
		}
	}
	return runsLines.MatchString(text)
}

var (
	// lineCalls are calls of what takes a line, and what they are given.
	lineCalls = lazyregexp.New(`(?i)(?:\b(?:system|system2|popen\w*|exec\w*|spawn|spawnsync|capture[23]e?|capture|shell\w*|shell_exec|passthru|proc_open|qx|esyscmd|syscmd|rawsystem|open_process_in|getoutput|getstatusoutput|cmd|sh|check_output|startprocess|process\.start|os\.run|launch)[!?]?[ \t]*\([ \t\n]*|\b(?:system|exec|spawn|sh)[ \t]+)([^\n]{1,200})`)
	// runsLines are other ways: by signs, and by words that say so.
	runsLines = lazyregexp.New("(?i)shell\\s*[=:]\\s*true|%x[\\[({|!]|\\.execute\\(\\)|\"\\.!|(?m:^|[=(\\s])`[^`\\n]+`|execute_process|run-program|shell-command|\\bcommandline\\b|useshellexecute|(?-i:\\bRUN\\b)|launchpath|callcommand|\\bsys\\.command\\b")
)

func longestString(all []token) int {
	n := 0
	for _, t := range all {
		if !strings.Contains(t.text, " ") {
			n = max(n, len(t.text))
		}
	}
	return n
}

// editorCommands are what vim -c and gdb -ex are given: one a line.
func (a *assessor) editorCommands(text string, at span) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), ":")
		switch {
		case strings.HasPrefix(line, "!"):
			if obviousShell(line[1:]) {
				a.report("shell.escape", 0, at)
			}
			a.command(line[1:], &at)
		case strings.HasPrefix(line, "shell "):
			a.command(line[6:], &at)
		case line == "shell" || strings.HasPrefix(line, "set shell="):
			a.report("shell.escape", 0, at)
		default:
			if i := strings.IndexByte(line, '!'); i > 0 { // :r !command, :w !command
				a.command(line[i+1:], &at)
			}
			for _, l := range []string{"python3", "python", "py3", "pyx", "py", "lua", "perl", "ruby"} {
				if rest, ok := strings.CutPrefix(line, l+" "); ok {
					a.code(strings.TrimRight(l, "3x"), rest, at, false)
					break
				}
			}
		}
	}
}

// languageOf tells the language of code by the names around it, or its look.
func languageOf(names, text string) string {
	for _, w := range words(names) {
		switch w {
		case "python", "python3", "ipython", "jupyter", "notebook":
			return "python"
		case "node", "javascript", "js", "typescript":
			return "js"
		case "ruby", "perl", "php", "lua":
			return w
		case "bash", "sh", "shell":
			return "sh"
		case "powershell", "pwsh":
			return "powershell"
		}
	}
	switch {
	case strings.Contains(text, "require(") || strings.Contains(text, "const ") || strings.Contains(text, "=>"):
		return "js"
	case strings.Contains(text, "<?php") || strings.HasPrefix(text, "$") && strings.Contains(text, ";"):
		return "php"
	}
	return "python"
}

// languageOfFile tells the language of a script by its name or its first line;
// empty for what is no script.
func languageOfFile(path, text string) string {
	if strings.HasPrefix(text, "#!") {
		line, _, _ := strings.Cut(text, "\n")
		for _, w := range strings.Fields(line[2:]) {
			if i, ok := interpreters[baseName(w)]; ok {
				return i.language
			}
		}
		return "sh"
	}
	if strings.Contains(text[:min(len(text), 256)], "<?php") || strings.HasPrefix(text, "<?=") {
		return "php"
	}
	dot := strings.LastIndexByte(path, '.')
	if dot < strings.LastIndexByte(path, '/') || dot < 0 {
		return ""
	}
	switch strings.ToLower(path[dot+1:]) {
	case "sh", "bash", "zsh", "ksh", "command":
		return "sh"
	case "py", "pyw", "pth":
		return "python"
	case "pl", "pm", "cgi":
		return "perl"
	case "rb":
		return "ruby"
	case "php", "phtml", "php5", "phar":
		return "php"
	case "js", "mjs", "cjs", "ts", "jsx", "tsx", "mts", "cts":
		return "js"
	case "lua":
		return "lua"
	case "ps1", "psm1", "bat", "cmd", "vbs", "hta", "jse", "vbe", "wsf":
		return "powershell"
	case "jsp", "jspx", "asp", "aspx":
		return "java"
	}
	return ""
}
