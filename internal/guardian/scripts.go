package guardian

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/target"
)

// A script that lies on the disk is read when it is run, whoever wrote it and however long
// ago: what it does to the guardian is the same as if the call did it. Programs that are compiled
// are read where they are made: see programs.go. What a script fetches is not read.

var (
	shells       = words("sh bash zsh dash ksh ash mksh yash fish source .")
	interpreters = words("python python2 python3 pypy pypy3 node nodejs deno bun tsx ts-node perl ruby php lua luajit rscript osascript tclsh expect pwsh powershell groovy julia elixir")
	// instructed are programs that are told what to run by a file of the folder.
	instructed = map[string][]string{
		"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"}, "just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
		"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"}, "nx": {"package.json"}, "turbo": {"package.json"}, "lerna": {"package.json"}, "run-s": {"package.json"}, "run-p": {"package.json"}, "npm-run-all": {"package.json"}, "rake": {"Rakefile"}, "invoke": {"tasks.py"}, "inv": {"tasks.py"}, "pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml"},
	}
	instructing = words("-f --file --makefile --justfile -t --taskfile")
)

// told stands for a program that is told what to run by a file.
const told = "a file of commands"

// maxScript is the largest script that is read, and maxScripts how many of one act are.
const (
	maxScript  = 256 << 10
	maxScripts = 64
	maxChain   = 16 // of scripts that run one another
)

// A script is a file that a call runs, and what stands in it.
type script struct {
	name  string   // under which it lies
	words []string // what the program is told that runs it; nil for a script of its own
	text  string
	said  string   // how the call names it
	in    string   // the folder in which it lies, as the call says it, or as it was found there
	found bool     // by its name, and not because the call said where it lies
	dirs  []string // the folders from which the call may name it
}

// maxRuns is how much is told of the files that one call runs.
const maxRuns = 32

// Runs tells what those files do that a call runs, as they lie on the disk, and those that they
// run in turn: all of it where the session wrote to them, and where it did not what is gravest of what is grave
// or what no undo brings back, as if it were typed where the disk says what it says (see target.Look). astray
// reports whether that may not be so. Nothing is told of a file that the call itself writes to before, as it will then be. What one of them takes in, or
// evaluates, and the session brought, is as grave as brought says: nobody has looked at it.
func (g *Guarded) Runs(a *act.Action, read *hazard.Reading, wrote func(name string) bool, brought func(name string) float64, astray func(stores []act.Stores) bool) (runs []act.FileRun) {
	if g == nil {
		return nil
	}
	read = read.For(a)
	e := &examination{g: g, a: a, folders: read.Folders(), files: maxScripts, contents: maxScripts, namesLeft: maxNamesIn, tool: a.Canonical, gathering: true, wrote: wrote}
	written := map[string]bool{}
	for _, f := range read.Written() {
		written[f.Name] = true
	}
	var named []string // words that are names of files which were written
	does, o := read.Assess(hazard.Default()), &overlook{}
	read.Tell(&hazard.Watch{
		Command: func(c *hazard.Command) {
			e.went = c.Dirs[1:]
			e.scripts(c, base(c.Name))
			if file := e.places(c); file != "" {
				runs = added(runs, act.FileRun{File: file, Code: "defense.unhooked", Weight: 0.6})
			}
			for _, w := range c.Words {
				if w = w[strings.LastIndexAny(w, "=@")+1:]; len(named) < maxScripts && wrote(path.Base(filepath.ToSlash(w))) {
					named = append(named, w)
				}
			}
		},
		File: func(p string, writes bool, _ string, _ bool) { // sh < x, cat x | sh
			if name := path.Base(filepath.ToSlash(p)); !writes && slices.Contains(does.Fed, name) {
				e.words = nil
				e.script(p, "", e.lastDirs())
			}
		},
	})
	for _, file := range does.Settings {
		if ofOthers(file) { // who may write there decides what runs
			runs = append(runs, act.FileRun{File: filepath.Base(file), Code: "code.library_hijack", Weight: 0.6, Found: true})
			break
		}
	}
	o.roots = e.roots()
	for _, name := range slices.Concat(does.Ran, does.Called, does.Fed) {
		e.takesIn(o, name, "")
	}
	for _, words := range e.spread {
		e.packagesBelow(o, words)
	}
	brings := func(takes []string) {
		for _, name := range takes {
			if name = path.Base(filepath.ToSlash(name)); brought == nil || wrote(name) || written[name] || strings.ContainsAny(name, "*?[") {
				continue
			}
			if w := brought(name); w > 0 {
				runs = added(runs, act.FileRun{File: name, Code: "shell.written_run", Weight: w})
			}
		}
	}
	for i := 0; i < len(e.gathered); i++ { // which become more
		s := e.gathered[i]
		if s.found && !wrote(s.name) {
			takes := hazard.Takes(s.name, s.text)
			for _, name := range takes {
				e.takesIn(o, name, s.in)
			}
			brings(takes)
			continue
		}
		found, takes := hazard.Default().RunsFile(s.name, s.text, s.words)
		brings(takes)
		for _, name := range slices.Concat(hazard.Takes(s.name, s.text), takes) {
			e.takesIn(o, name, o.within(s.in))
		}
		for _, name := range takes { // what it has run may lie anywhere
			e.takesIn(o, name, "")
		}
		if written[s.name] || written["*"] {
			continue
		}
		if !wrote(s.name) {
			if gravest, is := e.gravestFound(s, found, astray); is {
				runs = append(runs, s.runs(gravest, true))
			}
			continue
		}
		if e.tampersIn(s) {
			runs = append(runs, act.FileRun{File: s.name, Code: "defense.unhooked", Weight: 0.6})
		}
		if slices.ContainsFunc(takes, func(name string) bool {
			return wrote(name) && !strings.Contains(name, "*") && !slices.ContainsFunc(e.gathered, func(s script) bool { return s.name == name })
		}) {
			continue // what the session remembers of these counts
		}
		if len(found) == 0 && !s.found {
			runs = append(runs, act.FileRun{File: s.name})
		}
		for _, r := range s.runsAll(found) {
			runs = added(runs, r)
		}
	}
	if texts, first := e.textsOf(read, written, named); len(texts) > 0 {
		for _, f := range read.With(texts) {
			runs = added(runs, act.FileRun{File: first, Code: f.Code, Weight: f.Weight, Says: hazard.Default().Saying(f)})
		}
	}
	if e.tooMuch && len(runs) > 0 { // more than could be read
		runs = append(runs, act.FileRun{File: runs[0].File, Code: "shell.written_run", Weight: 0.5})
	}
	slices.SortStableFunc(runs, func(x, y act.FileRun) int { return cmp.Compare(y.Weight, x.Weight) })
	return runs[:min(len(runs), maxRuns)]
}

// runsAll is what running a script does: of the first and gravest findings with the lines that do it.
func (s *script) runsAll(found []hazard.Finding) (runs []act.FileRun) {
	for _, f := range found {
		had := len(runs)
		if runs = added(runs, act.FileRun{File: s.name, Code: f.Code, Weight: f.Weight, Says: hazard.Default().Saying(f)}); len(runs) > had && had < maxLined {
			runs[had] = s.runs(f, false)
		}
	}
	return runs
}

// added adds what running a file does, unless it is known already that the call does that by running one.
func added(runs []act.FileRun, r act.FileRun) []act.FileRun {
	if i := slices.IndexFunc(runs, func(had act.FileRun) bool { return !had.Found && had.Code == r.Code }); i >= 0 {
		runs[i].Weight = max(runs[i].Weight, r.Weight)
		return runs
	}
	return append(runs, r)
}

// runs is what running a script does by a finding, with the line that does it.
func (s *script) runs(f hazard.Finding, found bool) act.FileRun {
	line, text := hazard.Default().LineOf(s.name, s.text, s.words, f)
	return act.FileRun{File: s.name, Code: f.Code, Weight: f.Weight, Found: found, Line: line, Text: text, Says: hazard.Default().Saying(f)}
}

// maxLined is of how many findings of a script the line is told.
const maxLined = 3

// packagesBelow gathers the packages below the folders of a call that the session wrote to, for what
// these words have run of their scripts.
func (e *examination) packagesBelow(o *overlook, words []string) {
	const name = "package.json"
	if !e.wrote(name) {
		return
	}
	for _, file := range o.like(name, "") {
		if text, err := regular.Read(file, maxSetting); err == nil && len(e.gathered) < maxScripts {
			e.gathered = append(e.gathered, script{name: name, words: words, text: string(text), in: filepath.Dir(file), found: true})
		} else {
			e.tooMuch = true
		}
	}
}

// gravestFound is the gravest of what a file does that nobody in the session wrote, if that asks: by these
// findings, and by what the disk says of the place in which the file is run.
func (e *examination) gravestFound(s script, found []hazard.Finding, astray func([]act.Stores) bool) (gravest hazard.Finding, is bool) {
	if !slices.ContainsFunc(found, hazard.AsksFound) {
		return gravest, false
	}
	typed := &act.Action{Kind: e.a.Kind, Resource: "shell", Canonical: "shell", Folder: e.placeOf(s), Content: []act.Leaf{{Pointer: "/command", Arg: "command", Text: s.text}}}
	if target.Look(typed); astray != nil && astray(typed.Stores) {
		typed.Stores, typed.Cluster = nil, ""
	}
	for _, f := range hazard.Read(typed).RunsFound(s.name, s.text, s.words) {
		if hazard.AsksFound(f) && f.Weight > gravest.Weight {
			gravest, is = f, true
		}
	}
	return gravest, is
}

// placeOf is the folder in which a file is run: that in which it lies, of one that tells a program what to
// run, and of any other the one from which it is named.
func (e *examination) placeOf(s script) string {
	for _, parts := range e.readings(s.said, s.dirs) {
		file := "/" + strings.Join(parts, "/")
		if info, err := os.Stat(filepath.FromSlash(file)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if below, ok := strings.CutSuffix(file, "/"+path.Clean(s.said)); ok && s.words == nil {
			return below
		}
		if s.words != nil {
			return path.Dir(file)
		}
	}
	return e.cwd()
}

// maxTexts is how much is read of the files that a call names, besides those that it runs.
const maxTexts = 1 << 20

// textsOf tells what stands in the files that the session wrote and that the call runs or reads, by
// the names that it gives them, and the first of these.
func (e *examination) textsOf(read *hazard.Reading, written map[string]bool, named []string) (texts map[string]string, first string) {
	texts = map[string]string{}
	left := maxTexts
	add := func(said, text string) {
		name := path.Base(filepath.ToSlash(said))
		if _, has := texts[said]; has || said == "" || !e.wrote(name) || written[name] || written["*"] || len(text) > left || strings.IndexByte(text, 0) >= 0 {
			return
		}
		if left -= len(text); first == "" {
			first = name
		}
		texts[said] = text
	}
	for _, s := range e.gathered {
		add(s.said, s.text)
	}
	read.Tell(&hazard.Watch{File: func(p string, writes bool, _ string, _ bool) {
		if !writes && e.wrote(path.Base(filepath.ToSlash(p))) {
			named = append(named, p)
		}
	}})
	for _, p := range named {
		if _, has := texts[p]; has {
			continue
		}
		for _, text := range e.readFiles(p, e.lastDirs()) {
			add(p, text)
		}
	}
	return texts, first
}

// scripts reads the script that a command runs.
func (e *examination) scripts(c *hazard.Command, name string) {
	if e.isReeve(c.Name, c.Dirs) {
		return
	}
	e.words = nil
	defer func() { e.args = nil }()
	version := strings.TrimRight(name, "0123456789.")
	if !e.gathering {
		e.programFiles(c, version)
	}
	if hazard.RunsNothing(version, c.Words) {
		return
	}
	if name == "git" && e.gathering {
		e.gitRuns(c)
	}
	if files := instructed[name]; files != nil {
		e.words = e.asked(name, c)
		e.assigned = slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return strings.HasPrefix(w, "-") || !strings.Contains(w, "=") })
		e.instructed(c, files)
		if hazard.MeansOthers(name, c.Words) {
			e.spread = append(e.spread, e.words)
		}
		e.words = nil
	}
	switch {
	case instructed[name] != nil && !interpreters[version]: // bun runs files, too
	case name == "ansible-playbook":
		for _, w := range c.Words {
			if ext := path.Ext(w); !strings.HasPrefix(w, "-") && (ext == ".yml" || ext == ".yaml") {
				e.script(w, told, c.Dirs)
			}
		}
	case shells[name], interpreters[version]:
		if i := slices.IndexFunc(c.Words, func(w string) bool { return w != "" && w[0] != '-' && w != "run" }); i >= 0 && !slices.ContainsFunc(c.Words[:i], givesProgram) {
			e.args = c.Words[i+1:]
			e.script(c.Words[i], name, c.Dirs)
		}
	case strings.Contains(c.Name, "/"):
		e.args = c.Words
		e.script(c.Name, "", c.Dirs)
	case e.gathering && e.wrote(name):
		for _, dir := range ofPrograms {
			e.script(dir+"/"+name, "", c.Dirs)
		}
	}
}

// asked are the words of a program that is told what to run by a file, and of one that runs the scripts of
// many packages those that its settings add; none, which stands for any, where the session wrote these.
func (e *examination) asked(name string, c *hazard.Command) []string {
	words := append([]string{}, c.Words...)
	orders := hazard.OrdersOf(name)
	var settings []string
	for _, file := range orders {
		if e.gathering && e.wrote(file) {
			return nil
		}
		settings = append(settings, e.readFiles(file, c.Dirs)...)
	}
	if orders == nil {
		return words
	}
	return hazard.WithOrders(words, settings)
}

// givesProgram reports whether an option gives an interpreter its program.
func givesProgram(option string) bool {
	return option == "-m" || option == "-e" || option == "-r" || option == "-p" || option == "-E" || option == "--eval" || strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.HasSuffix(option, "c")
}

// instructed reads the file that tells a program what to run.
func (e *examination) instructed(c *hazard.Command, files []string) {
	named := false
	for i, w := range c.Words {
		if option, v, said := strings.Cut(w, "="); instructing[option] && !slices.Contains(files, "package.json") {
			if !said && i+1 < len(c.Words) {
				v = c.Words[i+1]
			}
			named = true
			e.script(v, told, c.Dirs)
		}
	}
	dirs := slices.Clone(c.Dirs)
	for _, option := range []string{"-C", "--directory", "--prefix", "--dir", "--cwd", "-d"} {
		dirs = append(dirs, values(c.Words, option)...)
	}
	if !named {
		for _, f := range files {
			with := told
			switch path.Ext(f) {
			case ".py":
				with = "python"
			case "":
				if f == "Rakefile" {
					with = "rake"
				}
			}
			e.script(f, with, dirs)
		}
	}
}

// script reads one script, as the interpreter does that is named, or that it names: in each folder
// that it may lie in.
func (e *examination) script(name, with string, dirs []string) {
	one := strings.Join(slices.Concat([]string{name, with}, dirs, []string{"\x00"}, e.words, []string{"\x00"}, e.args), "\x00") // a makefile is another for other targets
	if slices.Contains(e.scriptsRead, one) {
		return
	}
	for _, text := range e.readFiles(name, dirs) {
		if e.scriptsRead = append(e.scriptsRead, one); len(e.scriptsRead) > maxScripts {
			e.tooMuch = true
			return
		}
		e.scriptText(name, text, with, dirs)
	}
}

// scriptText looks at what stands in a script.
func (e *examination) scriptText(name, text, with string, dirs []string) {
	if strings.IndexByte(text, 0) >= 0 {
		return
	}
	e.toldByVariables(with, dirs)
	if low := strings.ToLower(path.Base(filepath.ToSlash(name))); e.gathering && with == told && (strings.Contains(low, "makefile") || strings.HasSuffix(low, ".mk")) {
		text = hazard.Inlined(text, func(name string) (string, bool) {
			texts := e.readFiles(name, dirs)
			return strings.Join(texts, "\n"), len(texts) > 0
		})
	}
	if e.gathering {
		e.gathered = append(e.gathered, script{name: path.Base(filepath.ToSlash(name)), words: e.words, text: text, said: name, in: path.Dir(filepath.ToSlash(name)), dirs: dirs})
	}
	if e.chain >= maxChain || len(text) > maxScript {
		e.tooMuch = e.tooMuch || e.chain >= maxChain || !e.gathering && e.g.namedIn(text)
		return
	}
	if with == told {
		commands := recipes(name, text, e.assigned)
		if asked, known := hazard.Asked(name, text, e.words, e.gathering && !e.wrote(path.Base(filepath.ToSlash(name)))); known && e.gathering {
			commands = strings.Join(asked, "\n")
		}
		e.interprets("sh", commands, dirs)
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	if with == "" {
		if with = interpreterIn(first); with == "" {
			with = "sh" // which is what runs a text that names none
		}
	}
	if calledAt.MatchString(name) { // whose folder the script asks for
		text = ownFolder.ReplaceAllStringFunc(text, func(string) string { return path.Dir(filepath.ToSlash(name)) })
	}
	e.interprets(with, text, dirs)
}

// ownFolder is how a script asks for the folder in which it lies: by the name under which it was called.
var (
	ownFolder = lazyregexp.New(`\$\(\s*dirname\s+(?:--\s+)?"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?"?\s*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}`)
	calledAt  = lazyregexp.New(`^[\w./-]+/[\w.-]+$`)
)

// namedIn reports whether a text names what is guarded. A script full of variables may reach
// for anything, as nearly all do: it is looked at closely where it speaks of the guardian.
func (g *Guarded) namedIn(text string) bool {
	low := strings.ToLower(oneLiteral(text))
	for _, p := range g.programs {
		for at := 0; ; {
			i := strings.Index(low[at:], p)
			if i < 0 {
				break
			}
			i += at
			if !letter(low, i-1) && !letter(low, i+len(p)) {
				return true
			}
			at = i + 1
		}
	}
	for word := range strings.FieldsFuncSeq(low, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;|&()=/", r) }) {
		if len(word) > 2 && len(word) < 32 && strings.ContainsAny(word, "*?[") && named.MatchString(word) && slices.ContainsFunc(g.programs, func(p string) bool { return same(word, p) }) {
			return true
		}
	}
	for _, p := range g.places {
		if n := len(p.parts); n > 1 && p.kind != program && strings.Contains(low, p.parts[n-2]+"/"+p.parts[n-1]) {
			return true
		}
	}
	if plain := gist(low); slices.ContainsFunc(g.places, func(p place) bool {
		n := len(p.parts)
		return n > 1 && p.kind != program && len(p.parts[n-2]) > 3 && strings.Contains(plain, p.parts[n-2]) && strings.Contains(plain, p.parts[n-1])
	}) {
		return true // its parts are put together
	}
	return number(text, g.pid) && strings.Contains(low, "kill") || number(text, g.port) && decidingText.MatchString(text)
}

// named is a pattern in which at least two letters stand.
var named = lazyregexp.New(`[a-z][a-z*?]*[a-z]`)

// letter reports whether a letter or a digit stands at a place of a text.
func letter(s string, at int) bool {
	return at >= 0 && at < len(s) && (s[at] >= 'a' && s[at] <= 'z' || s[at] >= '0' && s[at] <= '9')
}

// interprets looks at a text as a program of this name would take it.
func (e *examination) interprets(with, text string, dirs []string) {
	if shells[with] {
		text = e.givenWords(text) + text
	}
	named := !e.gathering && e.g.namedIn(text)
	if shells[with] {
		if in := dirs[len(dirs)-1]; in != "" && !strings.Contains(in, "'") {
			text = "cd '" + in + "'\n" + text
		}
		around := e.shell
		if e.shell = with; named {
			e.runs(text)
		} else {
			e.plainly(text)
		}
		e.shell = around
		return
	}
	if !named {
		switch {
		case e.gathering:
		case !evaluated.MatchString(with) || !hazard.Understood(languageOf(with), text):
			e.program(text)
			if evaluated.MatchString(with) && changing.MatchString(strings.ToLower(text)) {
				e.does(asProgram(with, text))
				return
			}
		case changing.MatchString(strings.ToLower(text)):
			e.does(asProgram(with, text))
			return
		}
		if removing.MatchString(strings.ToLower(text)) || strings.Contains(text, "rm") {
			e.plainly(asProgram(with, text))
		}
		return
	}
	if with == "rake" {
		with, text = "ruby", hazard.AsRuby(text)
	}
	went := e.went
	e.went = dirs[1:]
	if evaluated.MatchString(with) && hazard.Understood(languageOf(with), text) { // what it does is known
		e.decidesIn(text)
		e.does(asProgram(with, text))
	} else {
		e.code(oneLiteral(text))
		e.asksInCode(text)
		e.runs(asProgram(with, text)) // what it starts in turn
	}
	e.went = went
}

// asProgram is the command that gives a text to an interpreter; empty if the text could end it.
func asProgram(with, text string) string {
	const end = "END-OF-THIS-SCRIPT"
	if strings.Contains(text, end) {
		return ""
	}
	return with + " - <<'" + end + "'\n" + text + "\n" + end
}

// plainly looks at a script that does not name what is guarded: at the scripts that it runs in turn,
// and at the folders that it takes away by plain names, since what is guarded goes with a folder above it.
func (e *examination) plainly(text string) {
	e.chain++
	went := e.went
	hazard.Observe("shell", []act.Leaf{{Pointer: "/command", Arg: "command", Text: text}}, &hazard.Watch{Shell: e.shell, Command: func(c *hazard.Command) {
		name := base(c.Name)
		e.scripts(c, name)
		if e.went = c.Dirs[1:]; filters[name] && !e.gathering {
			e.ends(c, name)
		}
		if slices.ContainsFunc(c.Dirs, unknownPlace) || !enders[name] && (e.gathering || lookers[name] || printers[name]) {
			return
		}
		if !enders[name] { // of a folder it is not known what is done to it
			own := *c
			own.Words = slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return unknownPlace(w) || !e.isGuarded(w, c.Dirs) })
			e.paths(&own, name)
			return
		}
		plain := *c
		plain.Words = slices.DeleteFunc(slices.Clone(c.Words), unknownPlace)
		if name == "find" && slices.Contains(c.Words, "-delete") {
			name, plain.Words = "rm", append([]string{"-r"}, plain.Words...)
		}
		e.paths(&plain, name)
	}, File: func(p string, writes bool, content string, known bool) {
		if writes && !e.gathering && !unknownPlace(p) && !slices.ContainsFunc(e.went, unknownPlace) {
			e.file(p, true, nil, content, known)
		}
	}})
	e.went = went
	e.chain--
}

// unknownPlace reports whether a word is known only when the script runs, but for the home folder.
func unknownPlace(word string) bool {
	for _, home := range []string{"$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(word, home); ok && (rest == "" || rest[0] == '/') {
			word = rest
		}
	}
	return strings.ContainsAny(word, "$`{") || word == "*" || strings.HasPrefix(word, "*")
}

// recipes are the commands in a file that tells a program what to run: the lines that are
// moved in, without the marks before them, or the texts of JSON and YAML.
//
// Variables that the file sets, or the words that are given beside it, stand for their values.
func recipes(name, text string, assigned []string) string {
	var b strings.Builder
	if lines := hazard.PlaybookLines(name, text); lines != "" {
		return lines
	}
	if ext := path.Ext(name); ext == ".json" || ext == ".yml" || ext == ".yaml" {
		eachText(text, func(_, text string) { b.WriteString(text + "\n") })
		return b.String()
	}
	told := map[string]string{}
	for _, w := range assigned {
		name, value, _ := strings.Cut(w, "=")
		told[name] = value
	}
	for line := range strings.Lines(hazard.Expanded(text, told)) {
		if line[0] == '\t' || line[0] == ' ' {
			b.WriteString(makeVariable.ReplaceAllString(strings.TrimLeft(line, " \t@+-"), "$$$1"))
		} else if _, recipe, ok := strings.Cut(line, ";"); ok && strings.Contains(line[:len(line)-len(recipe)], ":") { // target: ; command
			b.WriteString(recipe)
		}
	}
	return b.String()
}

// makeVariable is a variable as make and just write it.
var makeVariable = lazyregexp.New(`(?:\$\(|\$\{|\{\{\s*)(\w+)(?:\)|\}|\s*\}\})`)

var shebang = lazyregexp.New(`^#!\s*(\S+)(?:\s+(?:-\S+\s+)*(\S+))?`)

// interpreterIn is the interpreter that a script's first line names.
func interpreterIn(first string) string {
	m := shebang.FindStringSubmatch(first)
	if m == nil {
		return ""
	}
	name := path.Base(filepath.ToSlash(m[1]))
	if name == "env" {
		name = path.Base(m[2])
	}
	return name
}
