package hazard

import (
	"path"
	"slices"
	"strings"
)

// Two calls belong together: a file that one writes and another runs does what was written.
// A call says which files it runs (Assessment.Ran), and Reading.Written what files that it writes
// would do.

// A File is a file that a call writes, by its name, and how grave it would be to run it, and to
// run what stands in it: a command that is a value, or an example, in a text of another kind.
type File struct {
	Name   string
	Weight float64
	Inside float64
	Copy   string   // the file whose content it gets; empty for a content of its own
	Folder bool     // it is a folder, filled from elsewhere, or from the archive Copy
	Known  bool     // it came whole from where people keep what they give to others
	From   string   // the address that it came from, if that is known
	Path   string   // as the call names it
	Sure   bool     // it is written whatever else the call does
	Takes  []string // the files that it takes in, or has run, by their names
	Keeps  []string // the files into which running it would put what a place of secrets holds
	Text   string   // what is written
	Adds   bool     // it is written behind what the file holds already
	// Changed says that it is written to, and what it holds then is not known.
	Changed bool
}

// maxRan is how many files of one call are told, of those that it runs and of those that it
// names.
const maxRan = 128

// ran notes that a file is run which the call did not write itself.
func (a *assessor) ran(name string) {
	a.runFiles = noted(a.runFiles, name)
	if a.inFolders(&a.ranIn, name); !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") {
		a.inHere(hereAll)
		a.inHere(hereFile)
	}
}

// isLookedFor notes that the program is looked for by its name: in the folders that the script has put
// before those of the machine, and in those where a project keeps programs.
func (c *invocation) isLookedFor() {
	if c.other || strings.ContainsAny(c.path, "/$ ") || shellWords[c.name] {
		return
	}
	if key := lookedFor(c.name); !harmless[c.name] && !slices.Contains(c.assessor.called, key) && len(c.assessor.called) < maxRan {
		c.assessor.called = append(c.assessor.called, key)
	}
	for dir := range strings.SplitSeq(c.vars["PATH"].text, ":") {
		if dir != "" && !strings.HasPrefix(dir, "$PATH") && !strings.HasPrefix(dir, "${PATH") {
			c.ran(dir + "/" + c.name)
		}
	}
}

// lookedFor is the pattern by which a program is known that is called by its name alone.
func lookedFor(name string) string { return "*bin/" + name }

// inHere notes that something is run of the folder that the call is made in.
func (a *assessor) inHere(which string) {
	if !a.other && !slices.Contains(a.ranIn, which) {
		a.ranIn = append(a.ranIn, which)
	}
}

// runsHere notes that a command runs what it finds in the folder that it is in, and in those
// that its words name.
func (c *invocation) runsHere() {
	c.inFolders(&c.ranIn, "x")
	c.inHere(hereAll)
	below := c.went != c.began
	for i, a := range c.args {
		word := a.text
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		} else if strings.HasPrefix(word, "-") && len(word) > 2 && word[1] != '-' {
			word = word[2:] // -Cx
		}
		if len(word) < 512 && !strings.ContainsAny(word, " \n") && !isURL(word) {
			c.inFolders(&c.ranIn, word+"/x")
			told := c.name == "docker" || c.name == "podman" || i > 0 && listed("-C --directory --prefix --cwd --chdir --project --manifest-path -f --file", c.args[i-1].text) || word != a.text
			below = below || (told || strings.Contains(word, "/")) && strings.Trim(word, "./") != "" && !strings.HasPrefix(word, "-")
		}
	}
	if below {
		c.inHere(hereFile)
	}
}

// maxDeep is how many folders above a file are looked at.
const maxDeep = 32

// inFolders notes the names of the folders in which a file lies, as far as they are known.
func (a *assessor) inFolders(names *[]string, file string) {
	if a.other || len(file) > 4096 || len(*names) >= maxRan {
		return
	}
	file = slashed(file)
	if !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "~") {
		file = a.went + "/" + file
	}
	depth := 0
	for name := range strings.SplitSeq(path.Dir(file), "/") {
		if depth++; depth > maxDeep {
			return
		}
		if name != "" && name != "~" && name != "." && name != ".." && !strings.ContainsAny(name, "$*?`") {
			*names = noted(*names, name)
		}
	}
}

// mentions notes what a word of a command may name: the word, or what stands in it behind a sign
// as in HEAD:file, if=file, @file.
func (a *assessor) mentions(word string) {
	if len(word) > 4096 || strings.ContainsAny(word, "\n") {
		return
	}
	i := strings.LastIndexAny(word, ":=<")
	for _, name := range []string{strings.TrimPrefix(word, "@"), word[i+1:]}[:min(i+2, 2)] {
		if strings.Contains(name, " ") && strings.ContainsAny(name, "*?[") {
			continue // a statement
		}
		for _, name := range bracketed(name) {
			if a.named = noted(a.named, name); strings.Contains(name, "/") {
				a.inFolders(&a.namedIn, name)
			}
		}
	}
}

// obeys notes that a program does what stands in the files that a text names, or in what lies
// in a folder: all of it, or the files of some kinds.
func (a *assessor) obeys(text string, kinds []string) {
	if kinds == nil {
		kinds = []string{AnyFile}
	}
	statement := strings.Contains(strings.TrimSpace(text), " ") // in which a star is no pattern, and most words are no names
	for word := range strings.FieldsFuncSeq(text[:min(len(text), 4096)], func(r rune) bool { return strings.ContainsRune(" \t\n=:,;'\"@()", r) }) {
		word = strings.TrimPrefix(word, "-r") // ruby -r./file
		if statement && (!strings.ContainsAny(word, "./\\") || strings.ContainsAny(word, "*?[]{}<>$")) {
			continue
		}
		for _, word := range bracketed(word) {
			names := append([]string{word}, a.inFolder(word, kinds)...)
			if strings.ContainsAny(word, "*?") && path.Ext(word[strings.LastIndexAny(word, "*?"):]) != "" {
				names = names[:1] // files with an end, and no folders
			}
			for _, name := range names {
				a.obeyed = noted(a.obeyed, name)
				a.inFolders(&a.ranIn, name)
			}
		}
		if strings.Contains(word, "/") && strings.Trim(word, "./") != "" {
			a.inHere(hereFile)
		}
	}
}

// inFolder are the patterns of the files of some kinds in a folder, if a word may name one.
func (a *assessor) inFolder(word string, kinds []string) (patterns []string) {
	folder := strings.TrimRight(word, "/")
	switch here := path.Clean(word) == "."; {
	case here && !slices.Contains(kinds, AnyFile):
		for _, kind := range kinds {
			a.obeyed = patterned(a.obeyed, kind)
		}
	case folder == word && !slices.Contains(kinds, AnyFile) && slices.ContainsFunc(kinds, func(kind string) bool { return matches(kind, path.Base(word)) }): // a file
	case len(a.obeyed) > maxRan/2: // there is no room to say which
		return []string{folder + "/" + AnyFile}
	default:
		for _, kind := range kinds {
			patterns = append(patterns, folder+"/"+kind)
		}
	}
	return patterns
}

// obeysFiles notes the files that tell the command what to run: those that it is given, by the
// table, and those that it looks for.
func (c *invocation) obeysFiles() {
	for _, row := range c.table.files[c.name] {
		if !row.words.among(c.args) || c.saysOnly(row.not) {
			continue
		}
		switch {
		case row.alone:
		case row.unasked != nil:
			c.runsHere()
		case row.option != "":
			for _, value := range c.optionValues(row.option) {
				c.obeys(value, row.kinds)
				if makers[c.name] {
					c.obeysPrinted(value)
				}
			}
		default:
			words := c.without(row.words)
			if at := c.wrapped(); at >= 0 && starters[c.name] {
				words = words[:at+1] // the others are for the program that it starts
			}
			if starters[c.name] || takesOnly[c.name] {
				words = c.knownWords(words, row.kinds)
			}
			for i, a := range words {
				if i > 0 && listed("-k -m -t --filter --testNamePattern --test-name-pattern -g --grep --deselect --tests", words[i-1].text) && a.known && strings.ContainsAny(a.text, "*?[") && !strings.ContainsAny(a.text, "./") {
					continue // which of the tests by their names
				}
				if !strings.HasPrefix(a.text, "-") && !(clientsOfData[c.name] && (readsData(a.text) || !strings.ContainsAny(a.text, " ."))) { // what is no statement names a database
					c.obeys(a.text, row.kinds)
				}
			}
			c.dynamic = c.dynamic || c.fed && !c.in.known
		}
		for _, pattern := range row.unasked {
			c.runFiles = patterned(c.runFiles, pattern)
		}
	}
}

// saysOnly reports whether a command has words, and each of them is one of these, but for what options are
// given behind the first.
func (c *invocation) saysOnly(words []string) bool {
	for i, a := range c.args {
		if is := slices.Contains(words, a.text); !is && (i == 0 || !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(c.args[i-1].text, "-") || !a.known) {
			return false
		}
	}
	return words != nil && len(c.args) > 0
}

// without are the words of a command without the first of each group, by which a row knows what the program
// does: the verb in git config and in go run is no file of that name.
func (c *invocation) without(said groups) []flow {
	words := c.args
	for _, group := range said {
		if i := slices.IndexFunc(words, func(a flow) bool { return anyMatches(group, []flow{a}) }); i >= 0 {
			words = slices.Concat(words[:i], words[i+1:])
		}
	}
	return words
}

// takesOnly are programs that take files of their own kinds alone, so that a word which is only known when
// they run stands for one of these; starters start the program that their first word names.
var (
	takesOnly = set("pytest py.test behave robot cc gcc clang tcc g++ c++ clang++ rustc go")
	starters  = set("gdb strace ltrace valgrind perf rr")
)

// knownWords are some words of a command without those that are only known when it runs: for these the
// files of some kinds are noted, and where it starts the program that a word names, any file if that is
// the word, and none for what that program or an option is given then.
func (c *invocation) knownWords(words []flow, kinds []string) (known []flow) {
	started := false
	for i, a := range words {
		unknown := !a.known && strings.ContainsAny(a.text, "$`")
		before := ""
		if i > 0 {
			before = words[i-1].text
		}
		switch given := listed("-p --pid -P", before); {
		case !unknown:
			value := strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !listed("--args -f -ff -c -C -T -t -tt -v -q -g -batch --batch --", before)
			started = started || !strings.HasPrefix(a.text, "-") && !value && !(c.name == "perf" && i == 0)
			known = append(known, a)
		case kinds != nil:
			for _, kind := range kinds {
				c.obeyed = noted(c.obeyed, kind)
			}
		case !started && !given:
			known = append(known, a)
		}
	}
	return known
}

// clientsOfData are clients of databases, which read tables from files besides orders.
var clientsOfData = set("psql mysql mariadb sqlite3 duckdb clickhouse-client clickhouse")

// readsData reports whether a query names files of tables, and none that holds orders.
func readsData(query string) bool {
	data := false
	for _, end := range []string{".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson", ".arrow", ".feather", ".orc", ".avro", ".xlsx"} {
		data = data || strings.Contains(query, end)
	}
	return data && !strings.Contains(query, ".sql") && !strings.Contains(query, ".read") && !strings.Contains(query, "\\i")
}

// optionValues are the values of options, as they stand.
func (c *invocation) optionValues(options string) (values []string) {
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case joined && listed(options, option):
			values = append(values, value)
		case listed(options, a.text) && i+1 < len(c.args):
			values = append(values, c.args[i+1].text)
		case len(a.text) > 2 && a.text[0] == '-' && a.text[1] != '-' && listed(options, a.text[:2]):
			values = append(values, a.text[2:])
		}
	}
	return values
}

// bracketed are the names that a pattern with brackets alone stands for, such as x[.]sh. Packages' extras are
// written so, too, and are no files.
func bracketed(word string) []string {
	from := strings.IndexByte(word, '[')
	if from < 0 || strings.ContainsAny(word, "*?") {
		return []string{word}
	}
	to := strings.IndexByte(word[from:], ']') + from
	set := word[from+1 : max(from+1, to)]
	if to <= from+1 || strings.ContainsAny(set, "-!^:") || len(set) > 16 || strings.ContainsAny(word[to+1:], "[") {
		return []string{word, AnyFile}
	}
	var names []string
	if path.Ext(word[to:]) != "" { // a file may be called so
		names = append(names, word)
	}
	for _, c := range set {
		names = append(names, word[:from]+string(c)+word[to+1:])
	}
	return names
}

// noted adds a file's name. Where there is no more room any file may be meant.
func noted(names []string, name string) []string {
	if len(names) >= maxRan {
		return names
	}
	base := scriptName(name)
	switch {
	case base == "" || slices.Contains(names, base):
		return names
	case len(names) == maxRan-1:
		base = AnyFile
	}
	return append(names, base)
}

// patterned adds a pattern as it stands in a table: see Patterns.
func patterned(names []string, pattern string) []string {
	if len(names) < maxRan && !slices.Contains(names, pattern) {
		names = append(names, pattern)
	}
	return names
}

// AnyFile is the pattern of all files.
const AnyFile = "*"

// scriptName is what a file is known by from one call to the next: where it lies is spelled
// in many ways.
func scriptName(name string) string {
	name = strings.TrimRight(slashed(strings.TrimSpace(name)), "/")
	if strings.ContainsAny(name, "*?[") {
		return filesLike(name)
	}
	name = path.Base(name)
	if name == "." || name == "/" || name == ".." || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "$") || len(name) > 255 {
		return ""
	}
	return name
}

// filesLike is the pattern that a pattern of a shell comes to, of those that a file is known by:
// all files, those with an ending, and both in a folder that is named.
func filesLike(pattern string) string {
	folder, name := path.Split(pattern)
	end := name[strings.LastIndexAny(name, "*?[]")+1:]
	if dot := strings.LastIndexByte(end, '.'); dot >= 0 && strings.ContainsAny(name, "*?[") {
		end = end[dot:]
	} else {
		end = ""
	}
	folder = path.Base(strings.TrimRight(folder, "/"))
	if !strings.ContainsAny(name, "*?[") || strings.ContainsAny(folder, "*?[$~") || folder == "." || folder == ".." || folder == "/" || len(folder)+len(end) > 250 {
		return AnyFile + end
	}
	return folder + "/" + AnyFile + end
}

// Patterns are the patterns that a file is known by besides its name: those that filesLike gives,
// and those by which programs find the files that they run without being told.
func Patterns(p string) []string {
	p = slashed(strings.TrimSpace(p))
	base, end := path.Base(p), path.Ext(p)
	patterns := []string{AnyFile}
	if end != "" {
		patterns = append(patterns, AnyFile+end)
	}
	if folder := path.Base(path.Dir(p)); folder != "." && folder != "/" && folder != ".." {
		for _, one := range patterns {
			patterns = append(patterns, folder+"/"+one)
		}
	}
	if name := strings.TrimSuffix(strings.TrimSuffix(base, ".exe"), ".cmd"); !strings.Contains(name, ".") && listed("bin .bin sbin shims Scripts", path.Base(path.Dir(p))) {
		patterns = append(patterns, lookedFor(name))
	}
	for _, one := range patternsOfPrograms() {
		if isLike(one, p) && !slices.Contains(patterns, one) {
			patterns = append(patterns, one)
		}
	}
	return patterns
}

// Like reports whether a pattern by which files are known stands for the one at a place.
func Like(pattern, p string) bool {
	p = slashed(p)
	if name, ok := strings.CutPrefix(pattern, lookedFor("")); ok {
		return name != "" && slices.Contains(Patterns(p), pattern)
	}
	return isLike(pattern, p)
}

// isLike reports whether a file has a name like the last part of a pattern, and lies somewhere below a
// folder of the name that stands before it.
func isLike(pattern, p string) bool {
	folder, name := path.Split(pattern)
	if ok, _ := path.Match(name, path.Base(p)); !ok {
		return false
	}
	return folder == "" || strings.Contains("/"+path.Dir(p)+"/", "/"+folder)
}

// Written tells of the files that the call writes what it would be to run them. Of a source of
// a language that is compiled, or of prose, nothing is told.
func (r *Reading) Written() []File {
	if !r.filed {
		r.files, r.filed = r.filesWritten(), true
	}
	return r.files
}

func (r *Reading) filesWritten() (files []File) {
	c, t := r.sorted(), Default()
	if r.read(); !c.kind.writes && !anyOf(c.words, movingTools) && !anyOf(c.words, patchingTools) && !r.brings {
		return nil // most calls
	}
	copied := func(from, to string) {
		if from, to = scriptName(from), scriptName(to); from != "" && to != "" && len(files) < maxRan {
			files = append(files, File{Name: to, Copy: from})
		}
	}
	if paths := c.paths(); len(paths) > 1 && anyOf(c.words, movingTools) {
		copied(paths[0], paths[len(paths)-1])
	}
	sure := c.kind.writes
	note := func(f File) {
		if f.Name = scriptName(f.Path); f.Name == "" || len(files) >= maxRan || strings.HasPrefix(f.Path, "/dev/") {
			return
		}
		if f.Text != "" {
			f.Weight, f.Takes, f.Keeps = t.ifRun(f.Name, f.Text)
			f.Inside = max(f.Weight, t.ifTaken(f.Name, f.Text))
		}
		if files = append(files, f); keepsRemotes(f.Path, f.Text) {
			files = append(files, remotesAsFiles(remotesWritten(f.Text))...)
		}
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		switch {
		case (c.kind.writes || anyOf(c.words, patchingTools)) && isPatch(l.Text):
			each, _ := filesPatched(l.Text)
			for _, f := range each {
				note(File{Path: f.name, Text: f.adds, Sure: sure, Adds: !f.whole})
			}
		case c.kind.writes && c.path != "" && l.role != rolePath && !oldTexts[c.nameOf(l)] && (l.role == roleContent || newTexts[c.nameOf(l)]):
			note(File{Path: c.path, Text: l.Text, Sure: sure})
		case l.role == roleCommand && l.words == nil && r.brings:
			a := newAssessor(t)
			a.begins(r.of.Folder, r.Folders()[0])
			a.leadsBy(r.of.Links)
			first, _, _ := strings.Cut(l.Text, "\n")
			sure = !strings.ContainsAny(first, "&|;()`")
			a.pointer, a.size, a.runs = l.Pointer, len(l.Text), true
			a.command(l.Text, nil)
			for name, f := range a.written {
				switch {
				case f.taint&(fromNet|fromSocket) != 0:
					note(File{Path: name, Weight: unseen(f.taint), Inside: unseen(f.taint), Known: f.taint&fromShelf != 0, From: a.addresses[path.Clean(name)]})
				case f.text != "":
					note(File{Path: name, Text: f.text, Sure: sure, Adds: a.addedTo[name]})
				default:
					note(File{Path: name, Changed: true})
				}
			}
			for _, pair := range a.copies {
				copied(pair[0], pair[1])
			}
			for _, gone := range a.removed {
				if !strings.ContainsAny(gone, "*?[") {
					note(File{Path: gone, Sure: sure})
				}
			}
			files = append(files, a.foldersBrought()...)
			files = append(files, remotesAsFiles(a.remotes)...)
		}
	}
	return files
}

// unseen is how grave it is to run what a call before brought from elsewhere, which nobody has
// seen. In one line that is refused. Here somebody may have looked, or checked its sum: one asks,
// where the address is one that people keep code at.
func unseen(of taint) float64 {
	if of&fromNobody != 0 {
		return 0.9
	}
	return 0.6
}

// IsEdit reports whether the call changes a passage of a file, and leaves the rest of it.
func (r *Reading) IsEdit() bool {
	c, tool := r.sorted(), r.of.Canonical
	for i := range c.leaves {
		if oldTexts[c.nameOf(&c.leaves[i])] {
			return true
		}
	}
	return strings.Contains(tool, "append") || strings.Contains(tool, "insert")
}

// ifRun is how grave it would be to run a file, which files it takes in or has run, and into which it
// would put a secret.
func (t *Table) ifRun(name, text string) (weight float64, takes, keeps []string) {
	findings, takes, keeps := t.runsFile(name, text, nil, 1)
	return graveness(findings), slices.DeleteFunc(takes, func(name string) bool { return everyModule[strings.TrimSuffix(name, ".py")] }), keeps
}

// ifTaken is how grave it would be to run what stands in a file: of a script or a source all of
// it, of others a line, a value, or what it hides in one of the usual ways.
func (t *Table) ifTaken(name, text string) float64 {
	a := newAssessor(t)
	a.taken(name, text)
	return graveness(withoutNotes(a.findings))
}

// taken judges that what stands in a file is run, if that is no script and no source.
func (a *assessor) taken(name, text string) {
	if _, isSource := sourceOf(name); isSource || languageOfFile(name, text) != "" {
		return
	}
	text = text[:min(len(text), 16<<10)]
	a.size, a.runs, a.commands = len(text), true, maxTaken
	s := a.apart(span{0, len(text)})
	cut := a.cut
	if s.settingsText(text); a.commands >= 0 && a.inner >= 0 && a.words >= 0 {
		a.cut = cut // what of it is no command need not be understood as one: "${path.module}/x"
	}
	s.handsOver(text, span{0, len(text)})
	bare := strings.TrimSpace(text)
	for _, shown := range []func(string) (string, bool){unbase64, unhex, turned, backwards} {
		if hidden, ok := shown(bare); ok && hidden != "" {
			s.taskFile(hidden)
		}
	}
}

// maxTaken is how many commands of a text are judged that the call itself does not run.
const maxTaken = 150

// turned is a text whose letters stand thirteen places further on, and backwards one that is
// written from its end.
func turned(text string) (string, bool) {
	if len(text) > 4<<10 {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, text), true
}

func backwards(text string) (string, bool) {
	if len(text) > 4<<10 {
		return "", false
	}
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes), true
}

// graveness is what running a file comes to.
func graveness(findings []Finding) float64 {
	weight := 0.0
	for _, f := range findings {
		weight = max(weight, f.Weight)
	}
	return weight
}
