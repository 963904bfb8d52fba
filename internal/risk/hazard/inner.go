package hazard

import (
	"path"
	"slices"
	"strings"
	"sync"

	"reeve.example/reeve/internal/lazyregexp"
)

// Many programs run a text that they are given: a pager, an editor, a filter, a hook, a
// remote shell. Which option of which program does so is a list without an end. So a word
// that is itself a command, and would do grave harm, is read as one whoever is given it,
// but for programs whose words are texts.

// tellers are programs whose words are told, searched or stored, and not run.
var tellers = set(`echo printf : true false ls stat test [ [[ grep egrep fgrep rg ag ack export declare read cd say logger notify-send wall write figlet cowsay
	mail mailx mutt sendmail jq yq sed gsed awk gawk mawk nawk curl wget http https xh httpie aws slack telegram-send ntfy claude codex gemini llm aider cat tee
	basename dirname realpath mkdir touch hub jira linear bd wc sort uniq cut tr git-commit shellcheck reeve asciinema pgrep pkill pidwait`)

// textOptions are options whose value is a text for people.
var textOptions = set("-m --message -b --body --title -t --description --desc -d --comment --notes -n --summary --subject --text --prompt --reason --label --name --data --note --changelog --msg --tag -l --help-text")

// graveInside is how grave what a word says must be to count.
const graveInside = 0.75

// runsWords reads the words of a command that are commands themselves.
func (c *invocation) runsWords() {
	if tellers[c.name] || c.depth > maxDepth/2 {
		return
	}
	if (c.name == "git" || c.name == "gh" || c.name == "glab") && !c.gitRuns() {
		return
	}
	c.runsProperties()
	if c.coded && !programs()[c.name] && !c.knownRunner() {
		return // see takesLines
	}
	own := c.args
	if at := c.wrapped(); at >= 0 && tellers[baseName(own[at].text)] {
		own = own[:at] // the others are no command: sudo pkill -f 'node .*'
	}
	for i, a := range own {
		if i > 64 {
			return
		}
		t := a.text
		if len(t) < 6 || len(t) > 16<<10 || !strings.ContainsAny(t, " \t\n$") || i > 0 && textOptions[c.args[i-1].text] && c.name != "git" {
			continue
		}
		if name, _, ok := strings.Cut(t, "="); ok && textOptions[name] && c.name != "git" {
			continue
		}
		c.wordRun(t)
	}
}

// runsProperties judges the command whose program one property of a build names, and whose words
// another: -Dexec.executable=sh -Dexec.args="-c x".
func (c *invocation) runsProperties() {
	if !listed("mvn mvnw mvnd", c.name) {
		return
	}
	properties := map[string]string{}
	for i, a := range c.args {
		t := a.text
		if i == 0 || !listed("-D --define", c.args[i-1].text) {
			t = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(t, "--define="), "--define"), "-D")
		}
		if name, value, ok := strings.Cut(t, "="); ok && len(properties) < 64 {
			properties[name] = value
		}
	}
	program := properties["exec.executable"]
	if program == "" {
		return
	}
	line := program
	for _, name := range []string{"exec.args", "exec.commandlineArgs"} {
		line += " " + properties[name]
	}
	line += " " + strings.ReplaceAll(properties["exec.arguments"], ",", " ")
	c.inside(buildProperty.ReplaceAllStringFunc(line, func(p string) string {
		name := strings.Trim(p, "${}")
		if value, ok := properties[name]; ok {
			return value
		}
		return name // what the build's file says
	}))
}

// buildProperty is a property of a build where its value is meant. A shell has no dots in its names.
var buildProperty = lazyregexp.New(`\$\{[\w.-]+\}`)

// knownRunner reports whether the tables know the program, and so what its words do.
func (c *invocation) knownRunner() bool {
	t := c.table
	_, has := t.options[c.name]
	_, acts := handlers[c.name]
	return has || acts || interpreters[c.name].language != "" || t.programs[c.name] != nil || t.elsewhere[c.name] != nil || t.files[c.name] != nil || rareLanguages[c.name]
}

// gitRuns reports whether a subcommand of git is one of those that run what they are given.
func (c *invocation) gitRuns() bool {
	for i, a := range c.args {
		switch a.text {
		case "commit", "tag", "notes", "log", "stash", "merge", "show", "shortlog", "pr", "issue", "release", "gist", "api", "repo", "mr", "blame", "diff", "revert", "cherry-pick":
			return false
		case "-c", "-C", "--git-dir", "--work-tree":
		default:
			if !strings.HasPrefix(a.text, "-") && (i == 0 || c.args[i-1].text != "-c" && c.args[i-1].text != "-C") {
				return c.name == "git"
			}
		}
	}
	return c.name == "git"
}

// wordRun reads a text that a program may run: as it is, or behind what tells the program
// to run it (!, |, name=, exec, a call).
func (s *shell) wordRun(text string) {
	for _, candidate := range commandsIn(text) {
		s.kept(1, graveInside, func() { s.inside(candidate) })
	}
}

// commandsIn gives the parts of a text that begin with a program's name.
func commandsIn(text string) []string {
	var out []string
	add := func(t string) {
		t = strings.TrimLeft(t, " \t\n\r!|:\\(){}'\"@+;&")
		if word := strings.FieldsFunc(t[:min(len(t), 256)], func(r rune) bool { return strings.ContainsRune(" \t\n|;&<>()", r) }); len(word) > 1 && programs()[baseName(strings.Trim(word[0], `'"`))] {
			out = append(out, strings.TrimRight(t, " \t\n;"))
		}
	}
	add(text)
	for rest, ok := text, true; ok && len(out) < 8; { // a=-XX:OnError=x
		if _, rest, ok = strings.Cut(rest, "="); ok && strings.Contains(before(rest, ' '), "=") {
			_, value, _ := strings.Cut(rest, "=")
			add(value)
		}
	}
	for _, mark := range []string{"!", "|", "=", "$(", "`", "shell ", "shell-command ", "system ", "system(", "exec ", "spawn ", "run-shell ", "\n\t"} {
		if _, rest, ok := strings.Cut(text, mark); ok && len(out) < 8 {
			add(rest)
			if bare := strings.TrimRight(rest, `")'`+"`"); bare != rest {
				add(bare)
			}
			if mark == "system(" || mark == "shell-command " {
				add(strings.Trim(rest, `"')( `))
			}
		}
	}
	return out
}

// runsVariable judges a variable by which a program is told what to run.
func (s *shell) runsVariable(name string, v flow) {
	for i := range s.table.variables {
		row := &s.table.variables[i]
		if row.host || !slices.ContainsFunc(strings.Fields(row.names), func(pattern string) bool { return wild(pattern, name) }) {
			continue
		}
		s.obeys(v.text, nil)
		switch {
		case row.effect != "":
			if row.value.among([]flow{v}) {
				s.report(row.effect, row.weight, s.at)
			}
		case v.taint&fromAnything != 0 && nothingKnown(v.text):
			s.report("shell.printed_run", 0, s.at)
		case strings.ContainsAny(v.text, " |;"):
			s.wordRun(v.text)
		}
		first := before(strings.TrimLeft(v.text, "-rIM"), ' ')
		place := normalPath(first).text
		switch {
		case row.effect != "" || !strings.Contains(first, "/") || !temporary(place):
		case row.own && s.mayBeOwn(place) && len(s.settled) < maxRan:
			s.settled = append(s.settled, place)
		default:
			s.report("code.library_hijack", 0.6, s.at)
		}
		if row.own {
			return // of which no other row says more
		}
	}
}

// mayBeOwn reports whether what lies at a place among temporary files may be somebody's own settings:
// the call puts nothing there that it brought from elsewhere, or that it says itself. Whose the file is
// only the disk can tell, and what a session wrote into it is known by its name.
func (s *shell) mayBeOwn(place string) bool {
	if !plainPlace.MatchString(place) && place != "/tmp/"+NewName || s.isForeign(place) || s.isForeign(place+"/x") {
		return false
	}
	for name, f := range s.files {
		if name = normalPath(name).text; (name == place || strings.HasPrefix(name, place+"/")) && (f.taint&(fromNet|fromSocket|fromDecoder) != 0 || f.text != "") {
			return false
		}
	}
	return true
}

// plainPlace is one of which every part is known.
var plainPlace = lazyregexp.New(`^[\w./@+-]+$`)

// installers run, or install and then run, the file that they are given.
var installers = set("java make gmake dpkg rpm apt apt-get dnf yum zypper pacman apk installer pytest r uv psql sqlite3 msiexec pwsh nix-build open start xdg-open rundll32 wine mono dotnet ansible-playbook terraform insmod kextload just task rake gradle ant cmake ninja tclsh expect")

// runsFetched judges that a command is given a file that was downloaded, or what comes from
// the network on its input, and runs it.
func (c *invocation) runsFetched() {
	if RunsNothing(c.name, c.told()) {
		return
	}
	c.givenCode()
	c.obeysFiles()
	_, implies := unasked[c.name]
	if implies || moduleServers[c.name] || moduleWorkers[c.name] {
		c.runsImplied()
	}
	if !installers[c.name] && !packageRunners[c.name] {
		return
	}
	if !implies {
		c.runsImplied()
	}
	if c.foreign != nil {
		for i, a := range c.args {
			if i > 0 && c.args[i-1].text == "-C" && c.isForeign(a.text) || c.isForeign("x") {
				c.report("code.foreign", 0, c.at)
			}
		}
		if len(c.args) == 0 && c.isForeign("x") {
			c.report("code.foreign", 0, c.at)
		}
	}
	for _, a := range c.args {
		if f, ok := c.getFile(strings.TrimPrefix(a.text, "@")); ok && f.taint&fromNet != 0 {
			c.report("shell.download_run", 0, c.at)
			return
		}
	}
	if c.name == "uv" && len(c.args) > 1 && c.args[0].text == "run" {
		p := *c
		p.name, p.args = baseName(c.args[1].text), c.args[2:]
		p.runsImplied()
	}
	for _, a := range c.taken() {
		if c.name == "uv" && len(c.args) > 1 && c.args[0].text == "run" && isURL(a.text) {
			c.report("shell.download_run", 0, c.at)
		}
	}
	readsInput := c.name == "r" || c.name == "java" || c.name == "tclsh" || c.name == "expect"
	for _, a := range c.args {
		readsInput = readsInput || a.text == "-" || a.text == "/dev/stdin"
	}
	if readsInput && c.in.taint&fromNet != 0 {
		c.report("shell.download_run", 0, c.at)
	}
	if (c.name == "make" || c.name == "gmake") && c.in.text != "" {
		c.recipes(c.in.text)
	}
	if c.name == "make" || c.name == "gmake" {
		for i, a := range c.args {
			if f, ok := c.getFile(a.text); ok && i > 0 && listed("-f --file --makefile", c.args[i-1].text) {
				c.makefile(a.text, f)
			}
		}
		for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
			if f, ok := c.getFile(name); ok {
				c.makefile(name, f)
			}
		}
	}
}

// unasked are the files that programs run without being told which: code of a language, or
// settings that say what is run.
var unasked = func() map[string]implied {
	m := map[string]implied{}
	for _, row := range []struct{ programs, files, language string }{
		{"make gmake", "Makefile makefile GNUmakefile", ""},
		{"pytest py.test", "conftest.py test_*.py *_test.py", "python"},
		{"unittest nose2 green", "test*.py *_test.py", "python"},
		{"flask", "app.py wsgi.py", "python"},
		{"nox", "noxfile.py", "python"},
		{"invoke inv", "tasks.py", "python"},
		{"fab", "fabfile.py", "python"},
		{"scons", "SConstruct", "python"},
		{"doit", "dodo.py", "python"},
		{"locust", "locustfile.py", "python"},
		{"sphinx-build", "conf.py", "python"},
		{"rake", "Rakefile", "ruby"},
		{"gulp", "gulpfile.js gulpfile.mjs", "js"},
		{"grunt", "Gruntfile.js", "js"},
		{"webpack", "webpack.config.js webpack.config.cjs", "js"},
		{"vite vitest", "vite.config.js vite.config.ts vite.config.mjs vitest.config.ts", "js"},
		{"eslint", "eslint.config.js eslint.config.mjs .eslintrc.js", "js"},
		{"jest", "jest.config.js jest.config.mjs jest.config.cjs jest.config.ts *.test.js", "js"},
		{"rollup", "rollup.config.js rollup.config.mjs", "js"},
		{"npm pnpm yarn bun node turbo nx npm-run-all run-s run-p lerna wireit", "package.json", ofTasks},
		{"just", "justfile Justfile .justfile", ofTasks},
		{"task go-task", "Taskfile.yml Taskfile.yaml", ofTasks},
		{"tox", "tox.ini setup.cfg", ofTasks},
		{"pre-commit prek", ".pre-commit-config.yaml", ofTasks},
		{"docker docker-compose podman podman-compose", "compose.yaml compose.yml docker-compose.yml docker-compose.yaml", ofTasks},
		{"lefthook", "lefthook.yml", ofTasks},
		{"mise", "mise.toml .mise.toml", ofTasks},
		{"poe", "pyproject.toml", ofTasks},
		{"hatch pdm", "pyproject.toml", ofTasks},
		{"composer", "composer.json", ofTasks},
		{"overmind foreman honcho", "Procfile", ofTasks},
		{"skaffold", "skaffold.yaml", ofTasks},
		{"act", ".github/workflows/*.yml", ofTasks},
	} {
		for name := range strings.FieldsSeq(row.programs) {
			m[name] = implied{strings.Fields(row.files), row.language}
		}
	}
	return m
}()

// patternsOfPrograms are the patterns among these files.
var patternsOfPrograms = sync.OnceValue(func() (patterns []string) {
	for _, u := range unasked {
		for _, name := range u.files {
			if strings.Contains(name, "*") && !slices.Contains(patterns, name) {
				patterns = append(patterns, name)
			}
		}
	}
	for _, rows := range builtin().files {
		for _, row := range rows {
			for _, name := range row.unasked {
				if !slices.Contains(patterns, name) {
					patterns = append(patterns, name)
				}
			}
		}
	}
	return patterns
})

type implied struct {
	files    []string
	language string
}

// ofTasks is no program: what they say is run stands among other texts.
const ofTasks = "tasks"

// runsImplied judges the files that a command runs without being told, or by an option.
func (c *invocation) runsImplied() {
	if c.implying { // a script that has another of the same file run
		return
	}
	c.implying = true
	defer func() { c.implying = false }()
	c.runsHere()
	u := unasked[c.name]
	if c.name == "node" && !slices.ContainsFunc(c.args, func(a flow) bool { return strings.HasPrefix(a.text, "--run") }) ||
		slices.Contains(u.files, "compose.yaml") && !(c.composes() && c.names("up", "run", "create", "start", "restart", "watch", "build")) {
		u = implied{}
	}
	for _, name := range u.files {
		if strings.Contains(name, "*") {
			c.runFiles = patterned(c.runFiles, name)
		} else {
			c.runFiles = noted(c.runFiles, name)
		}
		if u.language == "" || len(c.files) == 0 {
			continue // see recipes
		}
		for written, f := range c.files {
			if ok, _ := path.Match(name, path.Base(written)); ok && (f.text != "" || f.taint&fromNet != 0) {
				c.runsKind(f, path.Base(written), u.language)
				if u.language == ofTasks && c.addedTo[written] { // wherever in it
					c.taskFile(f.text)
				}
			}
		}
	}
	for i, a := range c.args {
		module, _, called := strings.Cut(a.text, ":")
		switch {
		case moduleServers[c.name] && called && !strings.ContainsAny(a.text, "/ "),
			moduleWorkers[c.name] && (i > 0 && listed("-A --app -k --kopf-module", c.args[i-1].text) || listed("dramatiq arq taskiq", c.name)),
			c.name == "flask" && i > 0 && listed("-A --app", c.args[i-1].text):
			c.runsModule(module)
		case moduleServers[c.name] || moduleWorkers[c.name] || c.name == "flask":
			if option, value, joined := strings.Cut(a.text, "="); joined && listed("-A --app", option) {
				c.runsModule(before(value, ':'))
			}
		}
	}
	if app := c.vars["FLASK_APP"]; c.name == "flask" && app.known && !strings.HasSuffix(app.text, ".py") {
		c.runsModule(before(app.text, ':'))
	}
	for i, a := range c.args {
		if i > 0 && listed("-f --file --makefile", c.args[i-1].text) {
			c.ran(a.text)
		}
	}
}

// moduleServers are programs that serve what a module holds, and moduleWorkers those that do its tasks.
var (
	moduleServers = set("uvicorn gunicorn hypercorn daphne granian waitress-serve uwsgi fastapi litestar sanic robyn")
	moduleWorkers = set("celery dramatiq rq huey_consumer arq taskiq faust")
)

// runsKind judges that a file is run that the call wrote, as a program or as settings.
func (c *invocation) runsKind(f flow, name, language string) {
	if language != ofTasks {
		if name == "tasks.py" && f.known {
			f.text = askedTasks(f.text, c.told())
		}
		c.runs(f, language)
		return
	}
	if f.taint&fromNet != 0 {
		c.report("shell.download_run", 0, c.at)
	}
	if name == "package.json" && f.text != "" {
		words := c.told()
		if !runsOfPackages[c.name] {
			words = nil
		}
		for _, script := range packageScripts(f.text, words, false) {
			c.inside(script)
		}
		return
	}
	c.taskFile(f.text)
}

// taskFile judges what a text of settings says is run: each text in it that is a command, if
// that would do grave harm; and what containers are given of this machine.
func (s *shell) taskFile(text string) {
	text = text[:min(len(text), 32<<10)]
	for _, from := range composedMounts(text) {
		s.givesKeys(from)
	}
	for _, service := range composedServices(text) {
		s.inMounts(service)
	}
	host := mountsRoot.FindStringSubmatch(text)
	for _, m := range packageScript.FindAllStringSubmatch(text, 64) {
		s.wordRun(unquoteDouble(m[1]))
	}
	lines := 0
	for line := range strings.Lines(text) {
		if lines++; lines > 400 {
			break
		}
		rest := strings.TrimSpace(line)
		for range 6 { // tasks: {x: {cmds: [rm -rf /home]}}
			rest = strings.Trim(rest, "-@+ \t\"'[]{},")
			if len(rest) > 5 {
				s.wordRun(closed(rest))
			}
			if host != nil && (strings.HasPrefix(rest, "rm ") || strings.Contains(rest, " "+host[1]) || strings.Contains(rest, "chroot")) {
				command, _, _ := strings.Cut(rest, ",")
				s.kept(1, graveInside, func() { s.inside("docker run -v /:" + host[1] + " image " + command) })
			}
			cut := strings.IndexAny(rest, ":=")
			if cut < 0 {
				break
			}
			rest = rest[cut+1:]
		}
	}
}

// closed is a text with the quote at its end that belongs to one in it.
func closed(text string) string {
	for _, quote := range []string{"'", `"`} {
		if strings.Count(text, quote)%2 == 1 {
			return text + quote
		}
	}
	return text
}

// mountsRoot is a container's volume that is all of the machine.
var mountsRoot = lazyregexp.New(`["'\s-]/:(/[\w./-]+)`)

// isTaskFile reports whether a file of a name says what others run.
func isTaskFile(base string) bool {
	for _, u := range unasked {
		if u.language == ofTasks && slices.Contains(u.files, base) {
			return true
		}
	}
	return false
}

// runsModule judges that a module is run by its name, from wherever modules are looked for.
func (c *invocation) runsModule(name string) {
	if name == "" || strings.ContainsAny(name, "/ -$") {
		return
	}
	at := strings.ReplaceAll(name, ".", "/")
	for _, dir := range c.importsFrom("") {
		for _, file := range []string{at + ".py", at + "/__main__.py", at + "/__init__.py"} {
			if f, ok := c.getFile(path.Join(dir, file)); ok {
				c.runs(f, "python")
			}
		}
	}
	c.ran(at + ".py")
	c.ran(at + "/__main__.py")
}

// importsFrom are the folders in which a program finds its modules: that of the script, and
// those that are set.
func (a *assessor) importsFrom(script string) []string {
	dirs := []string{".", path.Dir(script)}
	if a.supply != nil {
		for dir := range strings.SplitSeq(a.supply.vars["PYTHONPATH"].text, ":") {
			dirs = append(dirs, dir)
		}
	}
	return slices.Compact(dirs[:min(len(dirs), 8)])
}

// codeTakers are programs that run code of a language which an option, or their input, brings;
// behind is the word behind which they do.
var codeTakers = map[string]struct{ behind, options, language string }{
	"manage.py":       {"shell shell_plus", "-c --command", "python"},
	"django-admin":    {"shell shell_plus", "-c --command", "python"},
	"django-admin.py": {"shell shell_plus", "-c --command", "python"},
	"flask":           {"shell", "", "python"},
	"scrapy":          {"shell", "-c", "python"},
	"odoo":            {"shell", "", "python"},
	"odoo-bin":        {"shell", "", "python"},
	"superset":        {"shell", "", "python"},
	"blender":         {"", "--python-expr", "python"},
	"pyspark":         {"", "", "python"},
	"hython":          {"", "-c", "python"},
	"mayapy":          {"", "-c", "python"},
	"freecadcmd":      {"", "-c", "python"},
	"gimp":            {"", "-b --batch", "python"},
	"kpython":         {"", "-c", "python"},
	"pylint":          {"", "--init-hook", "python"},
	"mongosh":         {"", "--eval", "js"},
	"mongo":           {"", "--eval", "js"},
	"rails":           {"runner r console c", "runner r", "ruby"},
	"wp":              {"eval shell", "eval", "php"},
	"artisan":         {"tinker", "--execute", "php"},
	"tinker":          {"", "--execute", "php"},
}

// givenCode judges the code that a program is given which runs it.
func (c *invocation) givenCode() {
	t, ok := codeTakers[c.name]
	if !ok || t.behind != "" && !slices.ContainsFunc(c.args, func(a flow) bool { return listed(t.behind, a.text) }) {
		return
	}
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case joined && listed(t.options, option):
			c.runs(flow{text: value, known: a.known, taint: a.taint}, t.language)
		case i > 0 && listed(t.options, c.args[i-1].text):
			c.runs(a, t.language)
		}
	}
	if c.in.text != "" || c.in.taint&(fromNet|fromSocket|fromDecoder) != 0 {
		c.runs(c.in, t.language)
	}
}

// orders reads the lines of an input that begin with !, for programs that run these.
func (c *invocation) orders() {
	if !listed("ed ex ftp lftp sftp telnet mail gnuplot dc less more", c.name) || c.in.text == "" {
		return
	}
	for line := range strings.Lines(c.in.text[:min(len(c.in.text), 16<<10)]) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			c.inside(rest)
		}
	}
}

// fetched marks the files that a command brings here from a store elsewhere.
func (c *invocation) fetched() {
	if c.copiesThere() {
		return
	}
	for i, a := range c.args {
		t := a.text
		if !strings.Contains(t, ":") && (i == 0 || !listed("-f --file -o --output -O", c.args[i-1].text)) {
			continue
		}
		if name := t[strings.LastIndexAny(t, "/:")+1:]; name != "" {
			if _, there := c.getFile(name); !there {
				c.putFile(name, flow{taint: fromNet})
			}
		}
	}
}

// makefile judges that a makefile is run which the call wrote, or into which it put something, wherever in it.
func (c *invocation) makefile(name string, f flow) {
	if f.taint&fromNet != 0 {
		c.report("shell.download_run", 0, c.at)
	}
	if c.recipes(f.text); c.addedTo[path.Clean(name)] {
		c.taskFile(f.text)
	}
}

// recipes reads the commands of a makefile that the call itself wrote.
func (c *invocation) recipes(text string) {
	if c.implying { // a recipe that calls make again
		return
	}
	c.implying = true
	defer func() { c.implying = false }()
	for _, line := range recipesIn(expanded(text[:min(len(text), 16<<10)], c.toldVariables(), c.vars), c.told(), false) {
		c.inside(line)
	}
}

// told are the words of a command; one that is not known stands for any.
func (c *invocation) told() []string {
	words := []string{}
	for _, a := range c.args {
		if !a.known && !strings.ContainsAny(a.text, "$`") {
			a.text += "$"
		}
		words = append(words, a.text)
	}
	return words
}

// toldVariables are the variables that the words of a command set.
func (c *invocation) toldVariables() map[string]string {
	set := map[string]string{}
	for _, a := range c.args {
		if name, value, ok := strings.Cut(a.text, "="); ok && isName(name) {
			if set[name] = value; !a.known || a.taint != 0 { // which the shell has then
				delete(set, name)
				c.vars[name] = flow{text: value, known: a.known, taint: a.taint}
			}
		}
	}
	return set
}
