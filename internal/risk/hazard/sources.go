package hazard

import (
	"html"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
)

// Files of languages that are not parsed are read in one way: what they run, send and write
// stands in their strings. A source text that starts programs may start those that its strings
// name; one that speaks to a network may send the files of secrets that it names; and one that
// writes may write where it names a place that is guarded. What is ordinary in a program, to
// start one and to fetch something, weighs nothing here.

// sourceLanguage is how the strings of a language are told from the rest.
type sourceLanguage struct {
	ends  string // of the names of its files, separated by spaces
	hash  bool   // # begins a comment
	ticks bool   // ' begins a string, and not a character, a lifetime or a quoted form
	end   string // of the name of the one that is read
}

var sourceLanguages = []sourceLanguage{
	{ends: ".go .rs .c .h .cc .cpp .cxx .hpp .m .mm .java .kt .scala .cs .fs .vb .swift .d .zig .hs .ml .mli .v .odin .adb .pas"},
	{ends: ".groovy .kts .gradle .sbt .dart .vue .svelte", ticks: true},
	{ends: ".clj .cljs .cljc .edn .scm .ss .rkt .lisp .lsp .cl .el .fnl .janet"},
	{ends: ".r .jl .ex .exs .cr .nim .tcl .exp .awk .coffee .raku .rakumod .erl .hrl .gd .star", hash: true, ticks: true},
}

// sourceOf is the language of a source text by the name of its file.
func sourceOf(name string) (sourceLanguage, bool) {
	end := strings.ToLower(path.Ext(name))
	for _, l := range sourceLanguages {
		if end != "" && listed(l.ends, end) {
			l.end = end
			return l, true
		}
	}
	return sourceLanguage{}, false
}

// sourceWords are what words of these languages can do besides those of abilities.
var sourceWords = func() map[string]ability {
	m := map[string]ability{}
	for _, row := range []struct {
		what  ability
		words string
	}{
		{canRun, "command commandcontext callcommand callprocess readprocess createprocess process processstartinfo execshellcmd execcmd execcmdex startcmd shell sh cmd run open_process_in popen exec execvp commandline launch launchpath invoke_shell runcommand system2 cmdline qprocess generate esyscmd execute output_of rawsystem proc"},
		{canHTTP, "http https httpc post httpclient reqwest ureq hyper urlsession url httprequest webrequest libcurl curl_easy_init httpurlconnection okhttpclient okhttp ktor httpoison req tesla httr dio client restclient"},
		{canConnect, "dial net tcpstream tcpclient socketstream networkstream connect"},
		{canWrite, "writefile write create openfile writer filewriter writestring fputs fwrite fopen writealltext writeallbytes writetext ofstream outputstream fileoutputstream spit with-temp-file write-region writelines cat save put_contents writefilesync"},
	} {
		for w := range set(row.words) {
			m[w] |= row.what
		}
	}
	return m
}()

// source judges a program by its strings.
func (a *assessor) source(l sourceLanguage, text string, at span) {
	if !a.spend(len(text)) {
		a.starve(at)
		return
	}
	whole := text
	if !l.ticks {
		text = strings.ReplaceAll(text, "'", " ")
	}
	p := &program{assessor: a, kept: true, at: at}
	tokens := lex(text, l.hash)
	for i, t := range tokens {
		if t.isText {
			if isWriteMode(t.text) && opens(tokens[max(0, i-8):i]) {
				p.can |= canWrite
			}
			p.strings = append(p.strings, t)
			p.fetches = p.fetches || isURL(t.text) && hostOf(t.text).kind() != "loopback"
			continue
		}
		p.can |= abilities[t.text] | sourceWords[t.text]
	}
	a.directives(text, at)
	a.programDoes(l.end, whole, at)
	a.fetchesAndRuns(whole, at)
	if p.can&canHTTP != 0 && evaluatesText.MatchString(whole) && slices.ContainsFunc(p.strings, func(t token) bool { return isURL(t.text) && stranger(t.text) }) {
		a.report("shell.download_run", 0, at)
	}
	if p.can&canRun != 0 {
		p.runsStrings(text)
	}
	secret := false
	for _, place := range p.places(tokens, text) {
		pl := placeOf(place)
		secret = secret || strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6
		if p.can&canWrite != 0 && pl.writes != "" && pl.write >= 0.6 {
			a.report(pl.writes, pl.write, at)
		}
	}
	if secret && (p.can&(canHTTP|canConnect) != 0 || p.fetches) {
		a.report("exfil.secret", 0, at)
	}
	if p.fetches && allVariables.MatchString(whole) && slices.ContainsFunc(p.strings, func(t token) bool { return isURL(t.text) && stranger(t.text) }) {
		a.report("exfil.secret", 0.6, at)
	}
	if p.can&canConnect != 0 && p.can&canRun != 0 && p.can&canRedirect != 0 && slices.ContainsFunc(p.strings, func(t token) bool {
		return obviousShell(t.text) && !strings.Contains(t.text, "-c")
	}) && !slices.ContainsFunc(p.strings, func(t token) bool { return t.text == "-c" }) {
		a.report("shell.reverse_shell", 0, at)
	}
}

// evaluatesText is how programs of these languages run a text that they have as code.
var evaluatesText = lazyregexp.New(`\bCode\.(?:eval_string|compile_string|eval_quoted)\b|\((?:eval|load-string|read-eval)\s|\bEval\.(?:me|x)\b|\bGroovyShell\b|\bScriptEngine\w*\b|\binclude_string\b|\bMeta\.parse\b|\bEVAL\b|\berl_eval\b`)

// places are the paths that a source text names: as they stand, put together, and behind what
// gives the home folder.
func (p *program) places(tokens []token, text string) (places []string) {
	add := func(name string) {
		if len(name) > 2 && len(name) < 512 && !strings.ContainsAny(name, " \n") && len(places) < 256 {
			places = append(places, normalPath(name).text)
		}
	}
	for i, t := range p.strings[:min(len(p.strings), 128)] {
		s := strings.TrimPrefix(t.text, "file://")
		if i := strings.Index(s, "}/."); i >= 0 { // ${home}/.x
			s = s[i+1:]
		}
		switch {
		case strings.HasPrefix(s, "/."):
			add("~" + s)
		case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "~"):
			add(s)
		case strings.HasPrefix(s, "."):
			add(s)
			add("~/" + s)
			if i+1 < len(p.strings) {
				add("~/" + s + "/" + p.strings[i+1].text)
			}
		}
	}
	for _, path := range foldedPaths(tokens, text) {
		add(path)
	}
	return places
}

// directives reads the lines that a language's own tools run: //go:generate.
func (a *assessor) directives(text string, at span) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "//go:generate "); ok {
			a.kept(1, graveInside, func() { a.command(command, &at) })
		}
	}
}

// isBuildFile reports whether programs find a file of a name by themselves, and do what it says.
func isBuildFile(base string) bool {
	return slices.ContainsFunc(patternsOfPrograms(), func(pattern string) bool {
		ok, _ := path.Match(pattern, base)
		return ok
	})
}

// homes are the ways of build files to name the home folder.
var homes = strings.NewReplacer("$ENV{HOME}", "$HOME", "$env(HOME)", "$HOME", "{{ ansible_env.HOME }}", "$HOME", "${env.HOME}", "$HOME", "${user.home}", "$HOME", "$(HOME)", "$HOME", "$(UserProfile)", "$HOME", "$(USERPROFILE)", "$HOME", "&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">", "${pathexpand(\"~\")}", "$HOME")

// settingsText judges a text of settings, of a build or of a language of its own: the commands
// that stand anywhere in it, its strings as the words of one, and the files that it names beside
// an address.
func (s *shell) settingsText(text string) {
	text = homes.Replace(text[:min(len(text), 32<<10)])
	s.taskFile(text)
	s.cmakeDoes(text)
	s.markedUpDoes(text)
	s.fetchesAndRuns(text, s.at)
	tried := 0
	for line := range strings.Lines(text) {
		for i := 0; i < len(line) && tried < 40; {
			begin := i
			for i < len(line) && (line[i] >= 'a' && line[i] <= 'z' || line[i] >= '0' && line[i] <= '9' || line[i] == '-' || line[i] == '_' || line[i] == '.' || line[i] == '/') {
				i++
			}
			if word := line[begin:i]; begin > 0 && i < len(line) && line[i] == ' ' && programs()[baseName(word)] {
				tried++
				s.wordRun(strings.TrimRight(strings.TrimSpace(line[begin:]), `)]}"'>/;,`))
			}
			i = max(i, begin+1)
		}
	}
	p := &program{assessor: s.assessor, kept: true, at: s.at}
	tokens := lex(text, true)
	for _, t := range tokens {
		if t.isText {
			p.strings = append(p.strings, t)
		}
	}
	p.runsStrings("RUN") // whose strings are commands
	s.namesPlaces(text)
}

// cmakeDoes judges what a file of CMake does to files: its words are a shell's, between brackets.
func (s *shell) cmakeDoes(text string) {
	var script strings.Builder
	for _, m := range cmakeCalls.FindAllStringSubmatch(text, 256) {
		words := strings.TrimSpace(m[3])
		switch call, name := strings.ToLower(m[1]), strings.ToUpper(m[2]); {
		case call == "set" && !strings.Contains(words, " "):
			script.WriteString(m[2] + "=" + words + "\n")
		case call == "foreach":
			if list, named := strings.CutPrefix(words, "IN LISTS "); named {
				words = "${" + strings.TrimSpace(list) + "}"
			}
			script.WriteString(m[2] + "=" + strings.TrimPrefix(words, "IN ITEMS ") + "\n")
		case call == "file" && strings.HasPrefix(name, "GLOB"):
			if into, found, ok := strings.Cut(words, " "); ok {
				found = strings.TrimSpace(found[max(0, strings.LastIndexByte(found, ' ')):]) // behind its options
				script.WriteString(into + "=" + found + "\n")
			}
		case call == "file" && (name == "REMOVE_RECURSE" || name == "REMOVE"):
			script.WriteString("rm -rf " + words + "\n")
		case call == "file" && name == "RENAME":
			script.WriteString("mv " + words + "\n")
		}
	}
	if script.Len() > 0 {
		s.kept(1, asksFrom, func() { s.command(script.String(), &s.at) })
	}
}

// cmakeCalls are a file's own changes of files, and the names that it sets.
var cmakeCalls = lazyregexp.New(`(?i)\b(set|file|foreach)\s*\(\s*(\w+)\s+([^()]*)\)`)

// markedUpDoes judges what a build of Ant or MSBuild removes: its properties are variables, and what its elements
// of that name are given is.
func (s *shell) markedUpDoes(text string) {
	s.markedUpRuns(text)
	if !strings.Contains(text, "<") || !removesMarkedUp.MatchString(text) {
		return
	}
	var script strings.Builder
	shells := strings.NewReplacer("$(", "${", ")", "}", `\`, "/")
	set := map[string]bool{"HOME": true}
	own := func(value string) string { // a property that is not set here is a folder of the build's
		return propertyMarkedUp.ReplaceAllStringFunc(shells.Replace(value), func(property string) string {
			if set[strings.Trim(property, "${}")] {
				return property
			}
			return "build"
		})
	}
	for _, m := range setsMarkedUp.FindAllStringSubmatch(text, 64) {
		name, value := m[1]+m[3], own(m[2]+m[4])
		script.WriteString(name + `="` + value + "\"\n")
		set[name] = true
	}
	for _, m := range removesMarkedUp.FindAllStringSubmatch(text, 64) {
		script.WriteString(`rm -rf "` + own(m[1]) + "\"\n")
	}
	s.kept(1, asksFrom, func() { s.command(script.String(), &s.at) })
}

// markedUpRuns judges what a build of Maven or Ant has run: a program, and its words, which are elements or their
// attributes.
func (s *shell) markedUpRuns(text string) {
	var script strings.Builder
	for _, m := range startsMarkedUp.FindAllStringSubmatchIndex(text, 16) {
		program, rest := submatch(text, m, 1)+submatch(text, m, 2), text[m[1]:]
		if end := endsMarkedUp.FindStringIndex(rest); end != nil {
			rest = rest[:end[0]]
		}
		words := []string{program}
		for _, a := range wordMarkedUp.FindAllStringSubmatch(rest, 32) {
			words = append(words, html.UnescapeString(a[1]+a[2]))
		}
		line := quotedWords(words)
		if more := lineMarkedUp.FindStringSubmatch(rest); more != nil {
			line += " " + html.UnescapeString(more[1]+more[2])
		}
		script.WriteString(line + "\n")
	}
	if script.Len() > 0 {
		s.kept(1, asksFrom, func() { s.command(script.String(), &s.at) })
	}
}

// submatch is a group of a match by its places, empty for none.
func submatch(text string, m []int, group int) string {
	if m[2*group] < 0 {
		return ""
	}
	return text[m[2*group]:m[2*group+1]]
}

var (
	// startsMarkedUp is the program that such a build starts, wordMarkedUp one of its words, and lineMarkedUp several.
	startsMarkedUp = lazyregexp.New(`(?i)<executable>\s*([^<>\s]+)\s*</executable>|<exec\b[^<>]*\bexecutable\s*=\s*"([^"<>]+)"`)
	endsMarkedUp   = lazyregexp.New(`(?i)</configuration>|</exec>|<executable>|<exec\b`)
	wordMarkedUp   = lazyregexp.New(`(?i)<argument>\s*([^<]*?)\s*</argument>|<arg\s+value\s*=\s*"([^"]*)"`)
	lineMarkedUp   = lazyregexp.New(`(?i)<commandlineArgs>\s*([^<]*?)\s*</commandlineArgs>|<arg\s+line\s*=\s*"([^"]*)"`)

	// removesMarkedUp is an element by which a build removes a folder, or the first that it is given within;
	// setsMarkedUp sets a property.
	removesMarkedUp  = lazyregexp.New(`(?is)<(?:delete|removedir)\b(?:[^<>]*>\s*<(?:fileset|dirset))?[^<>]*\b(?:dir|directories)\s*=\s*"([^"<>\n]+)"`)
	propertyMarkedUp = lazyregexp.New(`\$\{[\w.-]+\}`)
	setsMarkedUp     = lazyregexp.New(`(?is)<property\s+name\s*=\s*"(\w+)"\s+(?:value|location)\s*=\s*"([^"\n]*)"|<(\w+)>([$%\w~/.][^<>\n"]*)</`)
)

// namesPlaces judges that a list of files, or settings, name a file of keys: whoever is given
// them has it.
func (s *shell) namesPlaces(text string) {
	for word := range strings.FieldsFuncSeq(text[:min(len(text), 32<<10)], func(r rune) bool { return strings.ContainsRune(" \t\n=,;|&<>'\"`(){}[]", r) }) {
		if !strings.ContainsAny(word, "/~") || isURL(word) && !strings.HasPrefix(word, "file://") {
			continue
		}
		if pl := placeOf(normalPath(strings.TrimPrefix(word, "file://")).text); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
			s.report("secret.read", 0.4, s.at)
			return
		}
	}
}

// apart is a shell for a text that the call does not run itself.
func (a *assessor) apart(at span) *shell {
	return &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: &at, at: at, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
}
