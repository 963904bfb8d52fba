package hazard

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// Grave is from where on what a call would do is grave: see Assess.
const Grave = 0.8

// unreadEnd is how grave it is that a program does more than was read of it: somebody is asked.
const unreadEnd = 0.5

// RunsFile tells what running a file would do, by its name and what stands in it, and which files
// it takes in or has run. words are what the program is told that runs it: of a makefile and of a
// package's scripts only what they name is run; nil for all of it. Of data, prose, and what is
// compiled nothing is told.
func (t *Table) RunsFile(name, text string, words []string) (does []Finding, takes []string) {
	does, takes, _ = t.runsFile(name, text, words, 0)
	return does, takes
}

// RunsFound is what RunsFile tells of a file that lay on the disk, with what the disk says of the act of the
// reading: which data is the project's own, which cluster is this machine's.
func (r *Reading) RunsFound(name, text string, words []string) (does []Finding) {
	a := newAssessor(Default())
	r.places(a, r.Folders()[0])
	a.there = true
	does, _, _ = a.wholeFile(name, text, words)
	return does
}

// runsFile tells besides into which files running it puts what a place of secrets holds.
func (t *Table) runsFile(name, text string, words []string, inFiles int) (does []Finding, takes, keeps []string) {
	a := newAssessor(t)
	a.inFiles = inFiles
	return a.wholeFile(name, text, words)
}

// wholeFile judges that one file is run, and nothing beside it.
func (a *assessor) wholeFile(name, text string, words []string) (does []Finding, takes, keeps []string) {
	a.runs = true
	if len(text) > maxProgram {
		text, a.cut = text[:maxProgram], true
	}
	a.size = len(text)
	base := path.Base(slashed(strings.TrimSpace(name)))
	if !a.runsFile(base, text, words) {
		return nil, nil, nil
	}
	a.findings = withoutNotes(a.findings)
	if (isTest(base) || a.there && listed("python js ruby php", languageOfFile(base, text))) && !storesOfOthers.MatchString(withoutTests(text)) {
		a.findings = slices.DeleteFunc(a.findings, func(f Finding) bool { return listed("destroy.store sql.destroy", f.Code) && f.Weight < Grave })
	}
	if clear(a.seen); a.cut {
		a.report("shell.written_run", unreadEnd, span{0, len(text)})
	}
	if takes = a.runFiles; words != nil && base == "package.json" { // of its other scripts nothing is run
		return a.findings, slices.DeleteFunc(takes, func(name string) bool { return name == base }), a.keptIn
	}
	for _, taken := range takenIn(strings.ToLower(base), text) {
		takes = noted(takes, taken)
	}
	return a.findings, takes, a.keptIn
}

// isTest reports whether a file of a name holds tests.
func isTest(base string) bool { return testNames.MatchString(base) }

var (
	testNames = lazyregexp.New(`(?i)(?:^|[._-])(?:tests?|spec|e2e|cy)[._-]|^conftest\.py$|^rails_helper\.rb$`)
	// storesOfOthers are words of a test, or of a program that fills a store for one, by which it does more than to empty the store that it is given,
	// as tests do before and behind each other: it drops one, or says which one it means. To drop what may
	// be there, and all that the program knows to make again, is to empty it.
	dropsIfThere   = lazyregexp.New(`(?i)\bdrop\s+table\s+if\s+exists\b`)
	storesOfOthers = lazyregexp.New(`(?i)\bdrop[ _]?(?:table|database|schema|collection|index)|(?:^|[^a-z])prod(?:uction)?(?:[^a-z]|$)|\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|mssql|sqlserver|clickhouse)://(?:[^@/\s"']*@)?(?:[^l1\[$/]|l[^o])`)
)

// withoutTests is a text without the drops of what may be there, and of databases that are of tests by their names.
func withoutTests(text string) string {
	text = dropsIfThere.ReplaceAllString(text, "")
	return dropsNamed.ReplaceAllStringFunc(text, func(drop string) string {
		if name := dropsNamed.FindStringSubmatch(drop)[1]; testName(name) {
			return ""
		}
		return drop
	})
}

// dropsNamed is the call of a client that drops the database of a name.
var dropsNamed = lazyregexp.New(`\.drop_?[dD]atabase\(\s*["']([\w-]+)["']\s*\)`)

// With tells what the call would do beyond what is found in it alone, where these files hold these
// texts: what they do with the words, the variables and the input that the call gives them, and
// what it does with what stands in them.
func (r *Reading) With(texts map[string]string) (does []Finding) {
	alone := r.Assess(Default())
	for _, folder := range r.Folders() {
		a := newAssessor(Default())
		a.lay = map[string]bool{}
		for name, text := range texts {
			if len(text) <= maxProgram {
				a.putFile(name, flow{text: text, known: true})
				a.lay[path.Clean(name)] = true
			}
		}
		a.begins(r.of.Folder, folder)
		a.leadsBy(r.of.Links)
		a.read(r.sorted())
		for _, f := range withoutNotes(a.findings) {
			if f.Weight >= asksFrom && !slices.ContainsFunc(alone.Findings, func(had Finding) bool { return had.Code == f.Code && had.Weight >= f.Weight }) {
				does = append(does, f)
			}
		}
	}
	return does
}

// asksFrom is how grave something is at least that somebody is asked about.
const asksFrom = 0.4

// InFile is what a call does by running a file that does it and that a session wrote, or by what it sets in one that is run;
// without a file, by what earlier commands have left in its shell. by says which session: "this session", or another one.
func (t *Table) InFile(r act.FileRun, by string) Finding {
	e := t.effects[r.Code]
	says := cmp.Or(r.Says, e.message, "It does what somebody is asked about.")
	f := Finding{Code: r.Code, Category: e.category, Technique: e.technique, Weight: r.Weight, Beside: true, Text: r.Text}
	switch {
	case r.Sets:
		f.Message = fmt.Sprintf("The call adds a hook to %.80q, which a coding agent runs by itself: %s", r.File, says)
	case r.File == "":
		f.Message = "By what earlier commands of this session have set in its shell: " + says
	default:
		f.Message = fmt.Sprintf("The call runs %.80q, which %s wrote%s: %s", r.File, by, inLine(r), says)
	}
	return f
}

// Saying is the sentence of a finding, where that is another than the one for all of its code, and quotes nothing: what
// is said of a file is recorded, and its words are not.
func (t *Table) Saying(f Finding) string {
	if f.Message == t.effects[f.Code].message || strings.Contains(f.Message, `"`) {
		return ""
	}
	return f.Message
}

// InFound is what a call does by running a file that does it and that the session did not write.
func (t *Table) InFound(r act.FileRun) Finding {
	e := t.effects[foundRun]
	return Finding{
		Code: foundRun, Category: e.category, Technique: e.technique, Weight: e.weight, Beside: true, Text: r.Text,
		Message: fmt.Sprintf("The call runs %.80q, which lies there%s: %s", r.File, inLine(r), cmp.Or(r.Says, t.effects[r.Code].message, "It does what is grave.")),
	}
}

// inLine says which line of a file it is, where that is known.
func inLine(r act.FileRun) string {
	if r.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", r.Line)
}

// LineOf tells which line of a file does what RunsFile found in it, from 1, and what stands there; 0 and
// empty where no one line does it. What a program of a language does has no place in its text, so the
// beginnings of that are read: the first line with which one does it is the one.
func (t *Table) LineOf(name, text string, words []string, f Finding) (line int, said string) {
	at := f.Start
	if f.Start <= 0 && f.End >= len(text) {
		if len(text) > maxLined {
			return 0, ""
		}
		var ends []int // of each line, without its break
		for i, c := range []byte(text + "\n") {
			if c == '\n' {
				ends = append(ends, i)
			}
		}
		does := func(n int) bool {
			found, _ := t.RunsFile(name, text[:ends[n]], words)
			return slices.ContainsFunc(found, func(o Finding) bool { return o.Code == f.Code && o.Weight >= f.Weight })
		}
		i := sort.Search(len(ends), does)
		if i == len(ends) || f.Code == "" {
			return 0, ""
		}
		at = ends[i]
	}
	if at < 0 || at > len(text) {
		return 0, ""
	}
	from := strings.LastIndexByte(text[:at], '\n') + 1
	said, _, _ = strings.Cut(text[from:], "\n")
	return strings.Count(text[:from], "\n") + 1, strings.TrimSpace(said)
}

// maxLined is how large a file is at most of which the beginnings are read to find a line.
const maxLined = 32 << 10

// spanOf is where a part of a text stands in it first, and the whole text where it does not.
func spanOf(part, text string) span {
	if i := strings.Index(text, part); i >= 0 && part != "" {
		return span{i, i + len(part)}
	}
	return span{0, len(text)}
}

const foundRun = "shell.found_run"

// AsksFound reports whether what running a file does asks also where nobody in the session wrote the file:
// what is grave, and what no undo brings back. A script that was always there starts and stops, installs and
// fetches all day; that it deletes what others have, changes what they use, gives rights or pays shows in
// no word of the call that runs it.
func AsksFound(f Finding) bool {
	if f.Weight >= Grave {
		return true
	}
	for kind, least := range irrevocable {
		if ok, _ := path.Match(kind, f.Code); ok && f.Weight >= least {
			return true
		}
	}
	return false
}

// irrevocable are the effects that no undo brings back, and from which weight on each asks when it is typed.
// What a script deletes under a name that only its variables know is not among them: nearly all do.
var irrevocable = map[string]float64{
	"publish.*": 0.3, "pay.*": 0.4, "open.*": 0.5, "sql.destroy": asksFrom, "sql.grant": 0.45,
	"destroy.cloud": asksFrom, "destroy.store": asksFrom, "destroy.work": asksFrom, "destroy.backup": asksFrom, "destroy.device": asksFrom,
	"priv.account": 0.45, "priv.admin_account": 0.45, "priv.grant": 0.45, "priv.password": 0.45, "defense.firewall": 0.5,
}

// withoutNotes leaves out what is said of how a text is spelled or called, and not of what it does.
func withoutNotes(findings []Finding) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool {
		return listed("text.unreadable command.not_understood shell.interactive", f.Code)
	})
}

// runsFile judges that a file is run, and reports whether it can be.
func (a *assessor) runsFile(base, text string, words []string) bool {
	at := span{0, len(text)}
	lang := languageOfFile(base, text)
	if lang == "" && listed(".fish .nu .xsh .zsh .bats", path.Ext(base)) {
		lang = "sh"
	}
	if lang == "" && listed("Gemfile Vagrantfile Brewfile Podfile Fastfile Dangerfile", base) || path.Ext(base) == ".gemspec" {
		lang = "ruby"
	}
	if lang == "" && listed("SConstruct SConscript wscript", base) {
		lang = "python"
	}
	low := strings.ToLower(base)
	source, isSource := sourceOf(low)
	orders, isDocument := documentOrders(low, text)
	switch {
	case isDocument:
		for _, order := range orders {
			a.command(order, &at)
		}
	case strings.HasSuffix(low, ".ipynb"):
		for _, cell := range cellsOf(text) {
			a.code("python", cell, at, false)
		}
	case low == "package.json":
		for _, script := range packageScripts(text, words, a.there) {
			at := spanOf(script, text)
			a.command(script, &at)
		}
	case isPlaybook(low, text):
		a.playbook(text, at)
	case strings.HasSuffix(low, ".nix"):
		a.nix(text, at)
	case isJustfile(low):
		a.command(justLines(askedRecipes(text, words)), &at)
		a.apart(at).taskFile(text)
	case isTaskFile(base):
		if isTaskfile(low) {
			for _, command := range taskCommands(text, words) {
				at := spanOf(command, text)
				a.command(command, &at)
			}
		}
		if !a.there || !isTaskfile(low) {
			a.apart(at).taskFile(text)
		}
	case low == "rakefile":
		a.code("ruby", AsRuby(askedOfRakefile(text, words)), at, false)
	case low == "tasks.py" && words != nil:
		a.code("python", askedTasks(text, words), at, false)
	case isSource:
		a.answersIn(text, at)
		a.source(source, text, at)
	case listed(".ahk .au3", path.Ext(low)):
		a.answersIn(text, at)
	case lang == "sh":
		a.command(text, nil)
	case lang != "":
		a.code(lang, text, at, false)
	case isMakefile(low):
		for _, line := range recipes(text, words, a.there) {
			at := spanOf(line, text)
			a.command(line, &at)
		}
	case gitHooks[low]:
		a.command(text, nil)
	case holdsObjects(text):
		a.objects(text, at)
	case isBuildFile(base):
		a.taken(low, text)
	case isData(low):
		return false
	case strings.HasPrefix(strings.TrimSpace(text), "import ") || strings.HasPrefix(strings.TrimSpace(text), "from "):
		a.code("python", text, at, false)
	default:
		a.command(text, nil)
	}
	return true
}

// holdsObjects reports whether a text makes objects where it is loaded, and so calls what it names: a pickle, or
// YAML with the tags of Python.
func holdsObjects(text string) bool { return isPickle(text) || objectTags.MatchString(text) }

func isPickle(text string) bool {
	return strings.HasSuffix(strings.TrimSpace(text), ".") && (pickleBegins.MatchString(text) || strings.HasPrefix(text, "\x80"))
}

var (
	pickleBegins = lazyregexp.New(`^(?:\x{80}.)?[(}\])]*(?:[ci][\w.]+\n\w+\n|[SV][^\n]*\n|[(}\]]*p\d+\n)`)
	objectTags   = lazyregexp.New(`!!python/object(?:/apply|/new)?:`)
)

// objects judges that the objects of a text are made. Who loads it gives it to Python.
func (a *assessor) objects(text string, at span) {
	load := "yaml.unsafe_load"
	if isPickle(text) {
		load = "pickle.loads"
	}
	module, _, _ := strings.Cut(load, ".")
	a.code("python", "import "+module+"\n"+load+"("+strconv.QuoteToASCII(text)+")", at, false)
}

// cellsOf are the cells of a notebook that hold code.
func cellsOf(text string) (cells []string) {
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		return nil
	}
	for _, cell := range doc.Root().Get("cells").Elems() { // none, if it is something else
		if kind := cell.Get("cell_type"); kind.Kind() == rawjson.String && kind.Text() != "code" || len(cells) >= maxCells {
			continue
		}
		var b strings.Builder
		for line := range cell.Get("source").Strings() {
			b.WriteString(line.Text())
		}
		cells = append(cells, b.String())
	}
	return cells
}

// maxCells is how many cells of a notebook are read.
const maxCells = 256

// gitHooks are the names of the files that git runs by itself.
var gitHooks = set("pre-commit pre-push pre-merge-commit pre-rebase commit-msg prepare-commit-msg post-commit post-merge post-checkout post-rewrite applypatch-msg pre-applypatch post-applypatch")

// GitHooks are these names.
func GitHooks() []string { return slices.Sorted(maps.Keys(gitHooks)) }

// Asked are the commands that a makefile, or a package's scripts, hold for some words; known is false of
// files of other kinds. there says that nobody in the session wrote the file.
func Asked(name, text string, words []string, there bool) (commands []string, known bool) {
	switch base := strings.ToLower(path.Base(slashed(name))); {
	case base == "package.json":
		return packageScripts(text, words, there), true
	case isTaskfile(base):
		return taskCommands(text, words), true
	case isJustfile(base):
		return []string{justLines(askedRecipes(text, words))}, true
	case isMakefile(base):
		return recipes(text, words, there), true
	}
	return nil, false
}

// isMakefile reports whether a file of a name holds the recipes of make, or of what is like it.
func isMakefile(low string) bool {
	return strings.Contains(low, "makefile") || strings.HasSuffix(low, ".mk") || low == "justfile"
}

// isData reports whether the name of a file says that it is no program, nor what may be one.
func isData(low string) bool {
	return strings.Contains(low, ".") && !listed(".txt .dat .tmp .log .in .out .conf .cfg .env .bak .x .run .cmd", path.Ext(low))
}

// MayHoldOrders reports whether a file is none that RunsFile reads, and none for people, so that a
// program which takes it may do what stands in it: a playbook, a document, a plot.
func MayHoldOrders(name string) bool {
	low := strings.ToLower(path.Base(slashed(name)))
	_, isSource := sourceOf(low)
	return isData(low) && !isSource && !isTaskFile(low) && !isBuildFile(low) && low != "package.json" && languageOfFile(low, "") == "" &&
		!listed(".md .markdown .rst .adoc .html .htm .csv .tsv .lock .svg .po", path.Ext(low))
}

// packageScripts are the scripts of a package.json that its programs run for some words, with
// those that these run in turn; all of them where it cannot be told. Where nobody in the session wrote the
// file, a word of which a part is not known stands for those that have the rest of it.
func packageScripts(text string, words []string, there bool) []string {
	scripts := map[string][]string{}
	var all []string
	for _, m := range namedScript.FindAllStringSubmatch(text, 256) {
		script := unquoteDouble(m[2])
		scripts[m[1]], all = append(scripts[m[1]], script), append(all, script)
	}
	asked := askingPackage(words)
	wanted := named(scripts, asked.names)
	switch likely := there && words != nil; {
	case words == nil || asked.any && !likely || strings.Contains(text, "\\u"):
		return all
	case asked.any:
		for _, w := range words {
			pattern := unknownOfWord.ReplaceAllString(w, "*")
			for name := range scripts {
				if pattern != w && strings.Trim(pattern, "*") != "" && matches(pattern, name) {
					wanted = append(wanted, name)
				}
			}
		}
	}
	for _, name := range slices.Clone(wanted) {
		wanted = append(wanted, "pre"+name, "post"+name)
	}
	commands := needed(scripts, wanted)
	if slices.ContainsFunc(commands, func(command string) bool { return speaksOf(command, "wireit") }) { // whose commands stand elsewhere in it
		return all
	}
	return commands
}

// unknownOfWord is a part of a word that only a shell knows.
var unknownOfWord = lazyregexp.New(`\$\{[^}]*\}|\$\([^)]*\)|\$\w+`)

// namedScript is a member of a package.json that is a text.
var namedScript = lazyregexp.New(`"((?:[^"\\]|\\.){1,100})"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// named are those words that name something.
func named(of map[string][]string, words []string) (names []string) {
	for _, w := range words {
		if _, ok := of[w]; ok {
			names = append(names, w)
		}
	}
	return names
}

// needed are the commands that stand under some names, and under those that these speak of in
// turn: whether a word names something is not asked of the programs around it.
func needed(of map[string][]string, names []string) (commands []string) {
	done := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		if names = names[1:]; done[name] {
			continue
		}
		done[name] = true
		for _, command := range of[name] {
			commands = append(commands, command)
			for other := range of {
				if !done[other] && speaksOf(command, other) {
					names = append(names, other, "pre"+other, "post"+other)
				}
			}
		}
	}
	return commands
}

// speaksOf reports whether a command has a word, or a pattern that stands for it.
func speaksOf(command, word string) bool {
	for w := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()\"'`$=,", r) }) {
		if w == word || strings.ContainsAny(w, "*?[{") && (strings.ContainsAny(w, "{") || matches(w, word)) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern of a path stands for a name.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}
