package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// Many files of settings hold commands that somebody's program runs by itself later: an agent's
// status line, an editor's task, a hook of a manager of packages. Who writes one there has it run,
// so it is read as the command that it is. Which files and which settings is tables/settings.yaml.

// settingsFile is a kind of file, and which of its settings are run.
type settingsFile struct {
	files   [][]string // patterns of the last parts of a path
	names   []string   // patterns of the settings' names, in lower case without signs
	script  bool       // the whole file is one of a shell
	markers bool       // what is run stands in a line behind !
	builds  bool       // a service runs it, with secrets that it keeps
	// anywhere says that a name may stand anywhere in a line, and not only where that begins.
	anywhere bool
	code     string   // the language that the file is a program of
	in       string   // the language of what is run; empty for a command
	quoted   bool     // what stands in quotes may be typed, or handed on to be run
	loads    []string // patterns of names of settings that say which file is loaded
	urls     []string // parts of the names of settings that say whom something is fetched from, or sent to
	alone    bool     // nothing that it runs has a reason to speak to somebody else
}

// startedBy is the row of the table for a file; nil if none says that it is run.
func (t *Table) startedBy(file string) *settingsFile {
	parts := strings.Split(strings.ToLower(slashed(file)), "/")
	for i := range t.settings {
		for _, pattern := range t.settings[i].files {
			if len(pattern) > len(parts) {
				continue
			}
			tail := parts[len(parts)-len(pattern):]
			if matchesParts(pattern, tail) {
				return &t.settings[i]
			}
		}
	}
	return nil
}

func matchesParts(pattern, parts []string) bool {
	for i, p := range pattern {
		if !wild(p, parts[i]) {
			return false
		}
	}
	return true
}

// settings judges the commands that a text puts into a file of settings. Only what is grave
// counts: of setting something up that is meant to run, nothing else is known.
func (a *assessor) settings(file, text string, at span) {
	a.packagesFrom(file, text, at)
	a.takesIntoDocument(file, text, at)
	a.namesOutputs(file, text, at)
	a.sendsAgentsElsewhere(file, text, at)
	a.takesPartsFrom(file, text, at)
	a.asksModelOf(file, text, at)
	a.hookSends(file, text, at)
	a.configures(file, text, at)
	s := a.table.startedBy(file)
	if s == nil || text == "" || a.depth > maxDepth/2 || len(text) > maxNestedText || !a.spend(len(text)) {
		return
	}
	// Nobody runs them now, so who watches what the call does is not told of them.
	watch := a.watch
	a.watch = nil
	a.depth++
	defer func() { a.depth--; a.watch = watch }()
	var commands []string
	if !s.script {
		commands = s.commands(file, text)
	}
	if s.builds {
		a.builds(text, commands, at)
		return
	}
	for _, command := range commands {
		if temporary(normalPath(before(command, ' ')).text) {
			a.report("persist.setting", 0, at) // whoever may write there says what it is
		}
	}
	if s.loadsForeign(text) {
		a.report("persist.setting", 0, at)
	}
	if s.quoted {
		for _, t := range lex(text, false) {
			if t.isText && t.end-t.at > 5 && len(commands) < 4*maxSettings {
				commands = append(commands, strings.TrimRight(strings.TrimLeft(t.text, "!"), "\n\r"))
				if typed := keyNames.ReplaceAllString(text[t.at+1:t.end-1], ""); typed != text[t.at+1:t.end-1] {
					commands = append(commands, typed)
				}
			}
		}
	}
	if (s.alone || a.ofUser(file)) && (s.quoted || !slices.Contains(s.names, "args")) && slices.ContainsFunc(s.programs(text, commands), ofNoPackage) {
		a.report("persist.setting", 0, at)
	}
	if s.alone && slices.ContainsFunc(commands, speaksOut) {
		a.report("persist.setting", 0, at)
	}
	ran := len(a.runFiles)
	defer func() { a.later = append(a.later, a.runFiles[min(ran, len(a.runFiles)):]...) }()
	a.kept(0.97, graveInside, func() {
		if s.script {
			a.command(text, &at)
			return
		}
		if s.code != "" {
			a.code(strings.TrimSuffix(s.code, "any"), text, at, false)
		}
		for _, command := range commands {
			if s.in != "" {
				a.code(s.in, command, at, false)
				continue
			}
			a.command(command, &at)
			for _, inner := range commandsIn(command) {
				if inner != command {
					a.command(inner, &at)
				}
			}
		}
	})
	if s.fetchesFrom(text) || s.namesStranger(text) {
		a.report("code.foreign", 0, at)
	}
	if s.code == "" && s.in == "" {
		a.startsStrangers(commands, at)
	}
	if len(s.urls) > 0 && looksAtNone.MatchString(text) {
		a.report("defense.trust", 0.5, at)
	}
}

// startsStrangers judges that a command of a file of settings, such as an MCP server's, takes what it starts from
// a stranger: it is asked about when it is typed, and nobody types it.
func (a *assessor) startsStrangers(commands []string, at span) {
	for _, command := range commands {
		if !a.spend(len(command)) {
			return
		}
		inner := newAssessor(a.table)
		inner.size, inner.runs, inner.depth, inner.commands, inner.began = len(command), true, a.depth+1, maxTaken, a.began
		inner.command(command, nil)
		for _, f := range inner.findings {
			if f.Code == "code.foreign" && f.Weight >= asks {
				a.reportSaying(f.Code, f.Weight, at, f.Message)
				return
			}
		}
	}
}

// hookSends judges that a hook of git's sends something to somebody whenever git does anything: a repository to
// where nobody keeps it, a file to a stranger.
func (a *assessor) hookSends(file, text string, at span) {
	if !isGitHook(normalPath(file).text) || text == "" || a.depth > maxDepth/2 || len(text) > maxNestedText || !a.spend(len(text)) {
		return
	}
	inner := newAssessor(a.table)
	inner.size, inner.runs, inner.depth, inner.commands, inner.began = len(text), true, a.depth+1, maxTaken, a.began
	inner.command(text, nil)
	for _, f := range inner.findings {
		if (f.Code == "publish.elsewhere" || strings.HasPrefix(f.Code, "exfil.")) && f.Weight >= asks {
			a.reportSaying("persist.setting", 0.5, at, "git runs this by itself, and it sends something to somebody: "+f.Message)
			return
		}
	}
}

// ofUser reports whether a file of settings counts for all that its user does, and lies in no project that is
// worked on.
func (a *assessor) ofUser(file string) bool {
	p := normalPath(file).text
	if from := a.from(file); from != "" {
		p = normalPath(from).text
	}
	own := normalPath(a.began).text
	return strings.HasPrefix(p, "~/") && (own == "" || own == "~" || !strings.HasPrefix(p, own+"/"))
}

// programs are the commands of a text that is run, and of one in quotes those in a line that starts something.
func (s *settingsFile) programs(text string, commands []string) (list []string) {
	if s.script {
		for line := range strings.Lines(text) {
			list = append(list, line)
		}
		return list
	}
	if !s.quoted {
		return commands
	}
	for line := range strings.Lines(text) {
		if !startsSomething.MatchString(line) && !strings.Contains(line, "`") {
			continue
		}
		for _, m := range inQuotes.FindAllStringSubmatch(line, 8) {
			list = append(list, m[1])
		}
		if _, command, ok := strings.Cut(line, "!"); ok && s.markers {
			list = append(list, command)
		}
	}
	return append(list, s.plainCommands(text)...)
}

// plainCommands are those of its settings that stand in a line without quotes.
func (s *settingsFile) plainCommands(text string) (list []string) {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && s.runs(name) {
			list = append(list, strings.TrimLeft(value, "= "))
		}
	}
	return list
}

var (
	startsSomething = lazyregexp.New(`(?i)exec|system|spawn|popen|jobstart|shell|process|\brun|prog|command|autocmd|termopen|\\n["']`)
	inQuotes        = lazyregexp.New("[\"'`]([~./][^\"'`\\\\\\s,]*)")
)

// ofNoPackage reports whether a command starts a program by its path where no package puts one, and no
// program keeps what belongs to it: in the home itself, in a project, among what was fetched.
func ofNoPackage(command string) bool {
	word := strings.Trim(before(strings.TrimLeft(strings.TrimSpace(command), "!@-+:\"'(["), ' '), "\"'),;]&\n\r")
	if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
		return true
	}
	p, home := strings.CutPrefix(normalPath(word).text, "~/")
	if !home || strings.ContainsAny(p, "*$") {
		return home && p == "" || temporary(normalPath(word).text)
	}
	return p != "" && !strings.HasPrefix(p, ".") && !listed("bin sbin go Library AppData Applications snap", before(p, '/'))
}

// keyNames are how a file of keys says that one is pressed which is no letter.
var keyNames = lazyregexp.New(`\\[CM]-(?:\\[CM]-)?.|\\e|\\[nrt]`)

// settingFiles are the files that programs keep their settings in, which they are told to change:
// by the words before a name and a value.
var settingFiles = map[string]struct{ file, before string }{
	"npm": {".npmrc", "config set"}, "pnpm": {".npmrc", "config set"}, "yarn": {".yarnrc.yml", "config set"}, "bun": {"bunfig.toml", "config set"},
	"go": {"go/env", "env -w"}, "pip": {"pip.conf", "config set"}, "pip3": {"pip.conf", "config set"}, "conda": {".condarc", "config --set"}, "uv": {"uv.toml", "config set"},
}

// sets judges that a program is told to change its settings as the line that it writes then.
func (c *invocation) sets() {
	c.setsPackage()
	c.setsLogin()
	c.namesCommands()
	c.setsCommands()
	kept, ok := settingFiles[c.name]
	if !ok || len(c.args) < 3 || c.args[0].text+" "+c.args[1].text != kept.before {
		return
	}
	rest := c.args[2:]
	for i := 0; i < len(rest); i++ {
		name := rest[i].text
		if strings.HasPrefix(name, "-") {
			continue
		}
		line := name
		if !strings.Contains(name, "=") && i+1 < len(rest) {
			i++
			line += "=" + rest[i].text
		}
		c.settings(kept.file, strings.TrimPrefix(line, "global."), c.at)
	}
}

// setsPackage judges that a package's file is changed by words: npm pkg set scripts.postinstall=….
func (c *invocation) setsPackage() {
	if !runsOfPackages[c.name] || len(c.args) < 3 || c.args[0].text != "pkg" || c.args[1].text != "set" {
		return
	}
	for _, a := range c.args[2:] {
		key, value, ok := strings.Cut(a.text, "=")
		if !ok || strings.HasPrefix(key, "-") {
			continue
		}
		parts := strings.FieldsFunc(key, func(r rune) bool { return strings.ContainsRune(".[]", r) })
		text := string(rawjson.Quote(strings.Trim(value, `"`)))
		for i := len(parts) - 1; i >= 0 && i < 8; i-- {
			text = "{" + string(rawjson.Quote(parts[i])) + ": " + text + "}"
		}
		c.wrote("package.json", flow{text: text + "\n", known: true, taint: a.taint & (fromSecret | fromPlace)}, true)
	}
}

// setsLogin judges that a client of a cluster is told the program that logs it in, as what stands in its
// settings then.
func (c *invocation) setsLogin() {
	if !listed("kubectl oc", c.name) || !c.names("set-credentials") {
		return
	}
	if words := append(c.valuesOf("--exec-command"), c.valuesOf("--exec-arg")...); len(words) > 0 {
		c.settings(".kube/config", "command: "+string(rawjson.Quote(quotedWords(words)))+"\n", c.at)
	}
}

// looksAtNone are the settings by which programs look at no certificate any more.
var looksAtNone = lazyregexp.New(`(?mi)^\s*(?:-k|--insecure|insecure)\s*$|^\s*(?:check_certificate|strict-ssl|strict_ssl|enableStrictSsl|sslVerify|http_check)\s*[=:]\s*["']?(?:off|false|no|0)\b|^\s*trusted-host\s*=|-?-insecure[ =]true`)

// lineNames are the names of the settings in a line, in lower case without signs, and their values.
func lineNames(line string) (pairs [][2]string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	for i, w := range words {
		name, value, ok := strings.Cut(strings.TrimLeft(w, `"'-`), "=")
		if colon, after, is := strings.Cut(name, ":"); is && !ok {
			name, value, ok = colon, after, true
		}
		if value == "" && i+1 < len(words) {
			if value = words[i+1]; strings.Trim(value, "=:") == "" && i+2 < len(words) {
				value = words[i+2]
			}
		}
		if i > 0 && !ok {
			continue
		}
		pairs = append(pairs, [2]string{plainName(name), strings.Trim(strings.TrimLeft(value, "=:"), `"',;`)})
	}
	return pairs
}

// loadsForeign reports whether a setting says that a file is loaded which does not lie where the
// settings are: in a folder of the machine where everybody may put one, or of somebody's own.
func (s *settingsFile) loadsForeign(text string) bool {
	if len(s.loads) == 0 {
		return false
	}
	for line := range strings.Lines(text) {
		for _, pair := range lineNames(line) {
			if !slices.ContainsFunc(s.loads, func(pattern string) bool { return wild(pattern, pair[0]) }) {
				continue
			}
			_, rest, _ := strings.Cut(line, before(pair[1], ' '))
			for word := range strings.FieldsFuncSeq(pair[1]+" "+rest, func(r rune) bool { return strings.ContainsRune(" \t\n=:,\"'", r) }) {
				if p := normalPath(word).text; temporary(p) || strings.HasPrefix(word, "/home/") || strings.HasPrefix(word, "/Users/") || strings.HasPrefix(p, "~/.") && strings.Contains(p, "/.cache/") {
					return true
				}
			}
		}
	}
	return false
}

// namesStranger reports whether a setting names a host, for what is fetched or sent, that is nobody
// from whom everybody fetches.
func (s *settingsFile) namesStranger(text string) bool {
	if len(s.urls) == 0 {
		return false
	}
	for line := range strings.Lines(text) {
		plain := strings.Join(words(line[:min(len(line), 4096)]), "")
		if !slices.ContainsFunc(s.urls, func(name string) bool { return strings.Contains(plain, name) }) {
			continue
		}
		for _, address := range addressIn.FindAllString(line, 16) {
			if stranger(address) {
				return true
			}
		}
	}
	return false
}

var addressIn = lazyregexp.New(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>,;]+`)

// speaksOut reports whether a command names somebody on the net by an address.
func speaksOut(command string) bool {
	return slices.ContainsFunc(addressIn.FindAllString(command, 16), func(address string) bool { return hostOf(address).kind() == "public" })
}

// maxSettings is how many commands of one text are read.
const maxSettings = 64

// commands are the settings of a text that are run.
func (s *settingsFile) commands(file, text string) (list []string) {
	add := func(command string) {
		if command = strings.TrimSuffix(strings.TrimSpace(command), `\n`); len(command) > 2 && len(list) < maxSettings {
			list = append(list, command)
		}
	}
	if path.Ext(file) == ".md" { // what stands before the text of it is settings
		head, body := "", text
		if rest, front := strings.CutPrefix(text, "---\n"); front {
			head, body, _ = strings.Cut(rest, "\n---")
		}
		for _, m := range runInProse.FindAllStringSubmatch(body, maxSettings) {
			add(m[1])
		}
		text = head
	}
	var n nest
	if doc, err := rawjson.Parse([]byte(text)); err == nil {
		n.json(doc.Root(), "", "", 0)
	} else if faults := 0; strings.Contains(text, ":") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		if root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ }); faults == 0 && root != nil && (root.Members != nil || root.Items != nil) {
			n.yaml(root, "", "", 0)
		}
	}
	if n.leaves != nil {
		s.ofLeaves(&n, add)
		return list
	}
	program := ""                           // that the lines before named last
	for line := range strings.Lines(text) { // a part of one, or of another form
		line = strings.TrimSpace(line)
		if s.markers {
			if _, command, ok := strings.Cut(line, "!"); ok {
				add(strings.Trim(command, `"' `))
			}
		}
		if s.anywhere {
			words := strings.Fields(line)
			for i, w := range words {
				if i > 0 && i+1 < len(words) && s.runs(w) {
					rest := strings.Join(words[i+1:], " ")
					add(rest)
					if q := rest[:1]; q == `"` || q == "'" { // what stands in quotes, and other words behind it
						add(before(rest[1:], q[0]))
					}
				}
				if name, value, ok := strings.Cut(strings.TrimLeft(w, "-"), "="); ok && s.runs(name) {
					add(strings.Trim(value+" "+strings.Join(words[i+1:], " "), `"' `))
				}
			}
		}
		cut := strings.IndexAny(line, "=: \t")
		if line == "" || strings.ContainsRune("#;", rune(line[0])) || cut < 0 {
			continue
		}
		name, value := strings.Trim(line[:cut], `"' `), strings.Trim(strings.TrimLeft(line[cut:], "=: \t"), ", ")
		if s.runs(name) {
			if q := value; len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
				value = unquoteDouble(q[1 : len(q)-1])
			}
			add(strings.TrimPrefix(value, "!"))
			doc, err := rawjson.Parse([]byte(value))
			if err != nil || doc.Root().Kind() != rawjson.Array {
				program = value
				continue
			}
			words := []string{program}
			for _, e := range doc.Root().Elems() {
				words = append(words, e.Text())
				add(e.Text())
			}
			if program != "" {
				add(quotedWords(words))
			}
		}
	}
	return list
}

// ofLeaves are the settings of a text of which the form is known: what is a list beside a command
// are its words.
func (s *settingsFile) ofLeaves(n *nest, add func(string)) {
	for i := 0; i < len(n.leaves); i++ {
		l := &n.leaves[i]
		if !s.runs(l.Arg) {
			continue
		}
		parent, last := splitPointer(l.Pointer)
		if isDigits(last) { // a command as a list of its words
			words := []string{l.Text}
			for i+1 < len(n.leaves) {
				if p, _ := splitPointer(n.leaves[i+1].Pointer); p != parent {
					break
				}
				i++
				words = append(words, n.leaves[i].Text)
			}
			add(quotedWords(words))
			for _, w := range words {
				add(w)
			}
			continue
		}
		words := []string{l.Text}
		for _, m := range n.leaves {
			if p, _ := splitPointer(m.Pointer); p == parent+"/args" || p == parent+"/arguments" {
				words = append(words, m.Text)
			}
		}
		if len(words) > 1 {
			add(quotedWords(words))
		}
		add(l.Text)
	}
}

// quotedWords is a command of these words.
func quotedWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// runs reports whether a setting of this name is run.
func (s *settingsFile) runs(name string) bool {
	name = strings.Join(words(name), "")
	return slices.ContainsFunc(s.names, func(pattern string) bool { return wild(pattern, name) })
}

// runInProse is a command in the text of a command that an agent has by its name.
var runInProse = lazyregexp.New("!`([^`\\n]+)`")

// packageSources are the lines by which managers of packages know where packages come from.
var packageSources = lazyregexp.New(`(?mi)^\s*(?:@[\w.-]+:)?(?:registry|index-url|extra-index-url|find-links|npmregistryserver|index)\s*[=:]\s*["']?(http://[^\s"']+|https?://[0-9.]+[:/][^\s"']*)`)

// fetchesFrom reports whether packages come from then on over a line that anybody may hold, or
// from an address that is a number.
func (s *settingsFile) fetchesFrom(text string) bool {
	if !slices.Contains(s.names, "registry") {
		return false
	}
	for _, m := range packageSources.FindAllStringSubmatch(text, 8) {
		if h := hostOf(m[1]); h.name != "" && h.kind() == "public" {
			return true
		}
	}
	return false
}
