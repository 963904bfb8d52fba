package hazard

import (
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/lazyregexp"
)

// uses reports what the table says that the command does, and returns what its
// output holds then.
func (c *invocation) uses() (prints taint) {
	scale := 1.0
	if c.previews() || c.publishesHere() {
		scale = previewed
	}
	own := c.ownWords()
	verbs, shows := c.actingWords(own)
	helps := c.asksHelp()
	c.kept(scale, 0, func() {
		for _, u := range c.table.programs[c.name] {
			switch family, _, _ := strings.Cut(u.effect, "."); {
			case !u.isOf(own), u.often && !c.repeats(), shows && actingFamilies[family], helps && listed("destroy publish pay", family), family == "destroy" && !u.isOf(c.beforeContained(own)):
				continue
			case (u.effect == "publish.deploy" || u.effect == "destroy.cloud") && !u.isOf(verbs), u.effect == "secret.memory" && c.onlyTraces():
				continue
			case u.effect == "exfil.upload" && (c.copiesHere() || c.onlyGreets()), u.effect == "secret.print" && c.asksNames():
				continue
			}
			if u.effect == "pay.money" && c.onLocalChain() || u.effect == "publish.deploy" && c.deploysAside() || u.effect == "destroy.cloud" && c.bringsHere() {
				continue
			}
			switch {
			case u.effect == "destroy.format" && c.formatsTakenOut():
				c.report("destroy.device", 0, c.at)
			case u.effect != "":
				c.report(u.effect, u.weight, c.at)
			}
			if prints |= u.prints; u.issuer != nil {
				prints |= fromIssuer
				c.issued = append(append(c.issued, u.issuer...), plainWords(c.valueOf("--hostname", "-h"))...)
			}
			if c.inLocalCluster() && !c.tunnelled { // whose secrets were made here
				prints &^= fromKeeper
			}
			if u.sends && !c.keepsSecrets() {
				c.sendsFiles()
			}
			if u.serves {
				c.servesFolder()
			}
			if u.code {
				c.takesCode()
			}
			if u.tool {
				c.takesTool(u.short)
			}
		}
	})
	c.attackTool(c.path)
	return prints
}

// repeats reports whether the command runs many times, as far as its turns are known: in a loop, or for each line
// that another program reads.
func (c *invocation) repeats() bool { return c.many > 0 || listed("xargs parallel", c.around) }

// onlyGreets reports whether swaks tries how a server answers, and hangs up before there is a letter.
func (c *invocation) onlyGreets() bool {
	ends := c.valueOf("--quit-after")
	return c.name == "swaks" && len(ends) == 1 && listed("connect helo ehlo first-helo tls auth mail from rcpt to", strings.ToLower(ends[0].text)) &&
		!slices.ContainsFunc(c.args, func(a flow) bool {
			return !a.known || strings.Contains(a.text, "@/") || strings.HasPrefix(a.text, "@") || slices.ContainsFunc([]string{"--attach", "--body", "--data", "--header", "--h-", "--add", "--config", "-d"}, func(o string) bool { return strings.HasPrefix(a.text, o) })
		})
}

// asksNames reports whether a client of a cloud is told to show nothing of what it lists but names.
func (c *invocation) asksNames() bool {
	shown := c.valueOf("--query")
	return c.name == "aws" && len(shown) == 1 && shown[0].known && namesAlone.MatchString(shown[0].text)
}

var namesAlone = lazyregexp.New(`^[A-Za-z]+\[\*?\]\.(?:Name|\[Name(?:, ?(?:Type|Version|LastModifiedDate|ARN))*\])$`)

// copying are words behind which a program is told what it copies, and last where to.
var copying = set("cp copy copyto mv move moveto sync mirror rsync scp")

// copiesHere reports whether a program that copies between this machine and others brings something here: what
// it takes lies elsewhere, and where that goes does not.
func (c *invocation) copiesHere() bool {
	operands, known := c.copyWords()
	return known && len(operands) > 1 && c.liesElsewhere(operands[0]) && !slices.ContainsFunc(operands[1:], c.liesElsewhere)
}

// copiesThere reports whether such a program takes something to another place, from here or from elsewhere: the
// addresses that it is told behind that are where it goes.
func (c *invocation) copiesThere() bool {
	operands, _ := c.copyWords()
	if len(operands) < 2 {
		return false
	}
	return c.liesElsewhere(operands[len(operands)-1]) || !c.liesElsewhere(operands[0]) && slices.ContainsFunc(operands[1:], c.liesElsewhere)
}

// copyWords are the words by which a program is told what it copies, and where to, and whether all of them are known.
func (c *invocation) copyWords() (operands []string, known bool) {
	begun := false
	known = true
	for i := 0; i < len(c.args); i++ {
		known = known && c.args[i].known
		switch t := c.args[i].text; {
		case !begun:
			begun = copying[t]
		case t != "-" && strings.HasPrefix(t, "-"):
			if listed(c.table.options[c.name].takes, t) {
				i++
			}
		default:
			operands = append(operands, t)
		}
	}
	return operands, known
}

// liesElsewhere reports whether a program that copies takes a word for a place that is not on this machine: an
// address, name:path, or for clients of S3 that know it by an alias, what is no path.
func (c *invocation) liesElsewhere(word string) bool {
	switch scheme, _, addressed := strings.Cut(word, "://"); {
	case addressed:
		return scheme != "file"
	case c.name == "mc":
		return !strings.ContainsAny(word[:min(len(word), 1)], "./~-")
	}
	name, _, told := strings.Cut(word, ":")
	return told && !strings.ContainsAny(name[:min(len(name), 1)], "./~") && name != ""
}

// actingFamilies are the effects that a program does not have while it only shows what is there.
var actingFamilies = set("publish destroy shell persist pay")

// actingWords are those of a command's words that may say what it does, and whether it only shows what is there.
func (c *invocation) actingWords(own []flow) (verbs []flow, shows bool) {
	row, is := c.table.shows[c.name]
	if !is {
		return own, false
	}
	most := max(row.under+1, row.words)
	for _, verb := range row.verbs {
		most = max(most, 1+strings.Count(verb, " "))
	}
	var plain []int
	for i := 0; i < len(own); i++ {
		option, _, joined := strings.Cut(own[i].text, "=")
		switch {
		case !own[i].known:
			return own, false
		case !strings.HasPrefix(option, "-"):
			plain = append(plain, i)
		case listed(c.table.options[c.name].takes, option):
			if !joined {
				i++
			}
		case !joined && len(plain) < most:
			return own, false // which may take the next word
		}
		if n := len(plain); n == 0 || plain[n-1] != i || n > most {
			continue
		}
		last, said := own[i].text, c.plainly(own, plain)
		if slices.Contains(row.verbs, said) || len(plain) <= row.under+1 && slices.ContainsFunc(row.verbs, func(verb string) bool { return wild(verb, last) }) && !c.acts(own, plain[:len(plain)-1]) {
			return own, true
		}
	}
	if row.words == 0 || len(plain) < row.words {
		return own, false
	}
	for i, a := range own {
		if i <= plain[row.words-1] || strings.HasPrefix(a.text, "-") {
			verbs = append(verbs, a)
		}
	}
	return verbs, false
}

// plainly are some of a command's words as one text.
func (c *invocation) plainly(own []flow, at []int) string {
	var words []string
	for _, i := range at {
		words = append(words, own[i].text)
	}
	return strings.Join(words, " ")
}

// acts reports whether one of these words may say that the program destroys or publishes something.
func (c *invocation) acts(own []flow, at []int) bool {
	for _, i := range at {
		for _, u := range c.table.programs[c.name] {
			if (strings.HasPrefix(u.effect, "publish.") || strings.HasPrefix(u.effect, "destroy.")) && slices.ContainsFunc(u.words, func(group []string) bool { return anyMatches(group, own[i:i+1]) }) {
				return true
			}
		}
	}
	return false
}

// onlyTraces reports whether a debugger is told to show which functions are being called in a process,
// and nothing of what they hold.
func (c *invocation) onlyTraces() bool {
	if c.name != "gdb" || !c.names("-batch", "--batch") {
		return false
	}
	traces := false
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch option, value, joined := strings.Cut(a.text, "="); {
		case listed("-batch --batch -q -quiet --quiet -nx --nx -n", a.text):
		case listed("-p -pid --pid", option):
			if !joined {
				i++
			}
		case listed("-ex --ex -eval-command --eval-command", option):
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			if traces = true; !c.args[i].known || !traceCommands[strings.Join(strings.Fields(value), " ")] {
				return false
			}
		default:
			return false
		}
	}
	return traces
}

// traceCommands are commands of a debugger that show which functions are being called.
var traceCommands = map[string]bool{
	"bt": true, "backtrace": true, "where": true, "thread apply all bt": true, "thread apply all backtrace": true, "t a a bt": true, "info threads": true,
	"set pagination off": true, "set pagination 0": true, "set confirm off": true, "set height 0": true, "detach": true, "quit": true, "q": true,
}

// sendsFiles judges that the files that the command is given, and what comes in, go
// to a host.
func (c *invocation) sendsFiles() {
	sent := c.in
	for i, a := range c.args {
		name := a.text
		if c.isOwnKey(i) {
			continue
		}
		if strings.HasPrefix(name, "-") {
			var ok bool
			if _, name, ok = strings.Cut(name, "="); !ok {
				continue
			}
		}
		sent.taint |= a.taint
		if strings.Contains(name, "://") {
			continue
		}
		sent.taint |= c.readFile(flow{text: name, known: a.known}).taint
		sent.taint |= c.asWhole(name)
	}
	c.sent(sent, c.at)
	if c.fed && !c.in.known || slices.ContainsFunc(c.args, func(a flow) bool { return a.taint&fromFile != 0 }) {
		c.report("exfil.upload", passing, c.at)
	}
	c.namesHosts()
}

// namesHosts tells the words that are addresses, by their form, of a command that sends
// something: which option or place is for that, no table says of each program.
func (c *invocation) namesHosts() {
	for i, a := range c.args {
		t := a.text
		if _, v, ok := strings.Cut(t, "="); ok && !strings.Contains(t, "://") {
			t = v
		} else if strings.HasPrefix(t, "-") {
			continue
		}
		told := i > 0 && listed("-h --host --hostname --server -s -b --broker --brokers --bootstrap-server -n --endpoint --endpoint-url --url", c.args[i-1].text)
		if strings.Contains(t, "://") || told && t != "" && !strings.Contains(t, " ") || hasHostForm(t) {
			c.speaksTo(t)
		}
	}
}

// hasHostForm reports whether a word is a host by its form, and no file: with a login or a port,
// or a name whose last part is no usual end of a file's.
func hasHostForm(word string) bool {
	_, login, logs := strings.Cut(word, "@")
	if logs {
		word = login
	}
	name, _, _ := strings.Cut(word, "/")
	name, port, ported := strings.Cut(name, ":")
	if name == "" || strings.ContainsAny(name, " \n\t\"'`$(){}*?<>|&;,=@~") {
		return false
	}
	if h := hostOf(name); h.addr.IsValid() && strings.Count(name, ".") == 3 {
		return true
	}
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || strings.HasPrefix(name, ".") || len(name)-i < 3 || !strings.ContainsFunc(name[i+1:], func(r rune) bool { return r > '9' }) {
		return false
	}
	return logs || ported && (port == "" || isDigits(port)) || !fileEnds[strings.ToLower(name[i+1:])]
}

// fileEnds are ends of files' names that somebody could take for a domain's.
var fileEnds = set(`txt md rst log out csv tsv json jsonl yaml yml toml ini cfg conf env xml html htm css scss js mjs cjs ts tsx jsx py rb pl php go rs java kt c cc cpp h hpp cs swift sh bash zsh fish ps1 bat sql db sqlite dump
	tar gz tgz bz2 xz zst zip rar jar war whl gem deb rpm apk iso img bin exe dll so pdf doc docx xls xlsx ppt pptx odt png jpg jpeg gif svg webp mp3 mp4 wav pem crt key pub asc sig lock bundle patch diff bak tmp part eml ics parquet ipynb map wasm proto tf tfvars`)

// addressed judges what stands in an address that a command is given, whatever the command:
// who opens a page has sent what its address says. A login in an address is meant for the host.
func (c *invocation) addressed() {
	if speakers[c.name] || tellers[c.name] || c.name == "git" {
		return
	}
	for _, a := range c.args {
		if a.taint&(fromFile|fromSecret|fromHost|fromOutput|fromTyped) == 0 || a.taint&(fromFile|fromSecret|fromHost|fromOutput) == 0 && c.toOwn {
			continue
		}
		scheme, rest, ok := strings.Cut(a.text, "://")
		if !ok || !listed("http https ws wss ftp ftps", strings.ToLower(scheme)) || strings.ContainsAny(scheme, " ") || strings.Contains(before(rest, '/'), "@") && !browsers[c.name] {
			continue
		}
		c.speaksTo(a.text)
		c.sent(a, c.at)
		c.report("exfil.upload", passing, c.at)
	}
}

// browsers are programs that show a page to somebody.
var browsers = set("open xdg-open start wslview gnome-open kde-open sensible-browser x-www-browser www-browser firefox chrome google-chrome google-chrome-stable chromium chromium-browser brave brave-browser safari msedge microsoft-edge opera vivaldi explorer gio rundll32 webbrowser epiphany falkon qutebrowser lynx links w3m elinks")

// asWhole is what is taken along with a folder that is taken as a whole.
func (c *invocation) asWhole(folder string) (t taint) {
	switch {
	case c.ownFolder(folder):
		t |= fromOwn
	case c.wide(folder):
		t |= fromSystem
	}
	if f := normalPath(folder).text; c.holdsSecrets(f) || builtin().places.above[strings.TrimSuffix(f, "/*")] {
		t |= fromSecret | fromPlace
	}
	return t | c.takesAlong(folder)
}

// servesFolder judges that a folder, or the one that the command is in, is served to others.
func (c *invocation) servesFolder() {
	named := false
	for _, a := range c.args {
		t := a.text
		if strings.HasPrefix(t, "-") {
			_, v, ok := strings.Cut(t, "=")
			if !ok {
				continue
			}
			t = v
		}
		if t == "" || isDigits(t) || strings.Contains(t, ":") || hostOf(t).addr.IsValid() || t == "localhost" {
			continue
		}
		named = true
		if c.asWhole(t) != 0 || strings.HasPrefix(placeOf(normalPath(t).text).reads, "secret.") || c.asWhole(c.from(t)) != 0 {
			c.report("shell.serve", 0, c.at)
			return
		}
	}
	if !named && c.asWhole(c.cwd) != 0 {
		c.report("shell.serve", 0, c.at)
	}
}

// takesCode judges that a command runs or installs what lies at an address: where that is no
// place from which everybody takes code, who serves it decides what runs.
func (c *invocation) takesCode() {
	for _, a := range c.taken() {
		t := a.text
		if i := strings.Index(t, "://"); i > 0 && !strings.HasPrefix(t, "file:") {
			for i > 0 && (isLetter(t[i-1]) || t[i-1] == '+') {
				i--
			}
			for _, p := range []string{"git+", "git::", "hg+", "svn+", "source "} {
				t = strings.TrimPrefix(t[min(i, len(t)):], p)
				i = 0
			}
			if stranger(t) {
				c.reportSaying("code.foreign", 0, c.at, fmt.Sprintf("%.40q takes code from %.80q, which is no usual place for it.", c.name, hostOf(t).name))
				return
			}
		}
	}
}

// scriptRunners are programs that run a script or a project by its address, and the words that may stand before
// that: what stands behind it is for the script.
var scriptRunners = map[string]string{
	"jbang": "run app install trust add alias catalog init edit build export", "scala-cli": "run shell repl compile test package", "scala": "run shell repl compile test package",
	"groovy": "", "dotnet-script": "", "wasmtime": "run compile", "wasmer": "run", "nextflow": "run pull launch", "mlflow": "run", "cwltool": "",
}

// taken are the words of a command that may say what it takes: all but those of the program that it
// then runs, to which an address is what it works on (npx wait-on https://…).
func (c *invocation) taken() []flow {
	before, script := scriptRunners[c.name]
	begun, some := script || listed("npx bunx pnpx uvx dlx", c.name), packageRunners[c.name] || listed("pipx bundle", c.name)
	for i, a := range c.args {
		t := a.text
		switch {
		case strings.HasPrefix(t, "-"):
		case some && !begun && listed("dlx exec x run runpip", t):
			begun = true
		case script && listed(before, t):
		case !begun && some:
			some = false // another verb, behind which all words are names of what is taken
		case begun && (i == 0 || !mayTakeNext(c.args[i-1].text)):
			return append(c.args[:i+1:i+1], c.ownOptions(c.args[i+1:])...)
		}
	}
	return c.args
}

// ownOptions are the options by which npm takes its packages from elsewhere: it knows them behind the
// program's name, too, up to --.
func (c *invocation) ownOptions(args []flow) (own []flow) {
	for i, a := range args {
		if a.text == "--" || c.name != "npm" {
			break
		}
		if name, _, _ := strings.Cut(a.text, "="); listed("--registry --package --proxy --https-proxy", name) || strings.HasSuffix(name, ":registry") {
			own = append(own, args[i:min(i+2, len(args))]...)
		}
	}
	return own
}

// mayTakeNext reports whether the word behind this one may be its value.
func mayTakeNext(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") &&
		!listed("-- -y --yes -q --quiet -v --verbose -s --silent --no-install --prefer-offline --offline --frozen --locked --isolated --no-sync --no-project --no-dev --all-extras --no-cache --bun -c", word)
}

// previewed is what is left of a weight when a program only shows what it would do.
const previewed = 0.3

// previews reports whether the command is told to show what it would do, or what it
// is, and nothing more. Only of programs that the table knows to obey is that believed.
func (c *invocation) previews() bool {
	o, ok := c.table.options[c.name]
	if !ok || o.previews == nil {
		return false
	}
	var own []flow // without what other options take, and what stands behind them all
	for i := 0; i < len(c.args) && c.args[i].text != "--"; i++ {
		t := c.args[i].text
		if listed(o.takes, t) {
			i++
			continue
		}
		if strings.HasPrefix(t, "--no-dry") || listed("false none no 0", t[strings.LastIndexByte(t, '=')+1:]) {
			return false // --dry-run=false takes it back
		}
		own = append(own, c.args[i])
	}
	return slices.ContainsFunc(o.previews, func(w groups) bool { return w.among(own) })
}

// isOf reports whether a row is true of a program with these arguments.
func (u *use) isOf(args []flow) bool {
	return u.words.among(args) && (u.but == nil || !anyMatches(u.but, args))
}

// among reports whether each group has a word among the arguments.
func (w groups) among(args []flow) bool {
	for _, group := range w {
		if !anyMatches(group, args) {
			return false
		}
	}
	return true
}

func anyMatches(group []string, args []flow) bool {
	for i, a := range args {
		if i > 256 {
			return false
		}
		for _, pattern := range group {
			if wild(pattern, a.text) {
				return true
			}
		}
	}
	return false
}

// maxWild is how much of a word is matched: a longer one is a text, and every row of a table asks.
const maxWild = 512

// wild is glob.Match on the beginning of a word.
func wild(pattern, s string) bool { return glob.Match(pattern, s[:min(len(s), maxWild)]) }

// attackTools are scripts known by their names wherever they lie.
var attackTools = set("linpeas linenum autosuid les lse pspy pspy64 mimipenguin lazagne linux-exploit-suggester deepce sudo_bruteforce dirtycow dirtypipe pwnkit chisel merlin mimikatz sharphound rubeus winpeas powerview powerup nishang")

// attackTool reports scripts that are known to serve attacks.
func (s *shell) attackTool(p string) {
	name := strings.ToLower(baseName(p))
	for _, ext := range []string{".sh", ".py", ".pl", ".elf", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	if attackTools[name] {
		s.report("code.attack_tool", 0, s.at)
	}
}
