package hazard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Two calls belong together: a file that one writes and another runs does what was written.
// A call says which files it runs (Assessment.Ran), and Reading.Written what files that it writes
// would do.

// A File is a file that a call writes, by its name, and how grave it would be to run it.
type File struct {
	Name   string
	Weight float64
	Copy   string // the file whose content it gets; empty for a content of its own
	Path   string // as the call names it
	Text   string // what is written
}

// maxRan is how many files of one call are told.
const maxRan = 16

// ran notes that a file is run which the call did not write itself.
func (a *assessor) ran(name string) {
	if base := scriptName(name); base != "" && len(a.runFiles) < maxRan {
		a.runFiles = append(a.runFiles, base)
	}
}

// scriptName is what a file is known by from one call to the next: where it lies is spelled
// in many ways.
func scriptName(name string) string {
	name = path.Base(strings.TrimRight(slashed(strings.TrimSpace(name)), "/"))
	if name == "." || name == "/" || name == ".." || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "$") || len(name) > 255 {
		return ""
	}
	return name
}

// Written tells of the files that the call writes what it would be to run them. Of a source of
// a language that is compiled, or of prose, nothing is told.
func (r *Reading) Written() (files []File) {
	c, t := r.sorted(), Default()
	if !c.kind.writes && !anyOf(c.words, movingTools) && !slices.ContainsFunc(c.leaves, func(l leaf) bool { return writesFiles(l.Text) }) {
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
	add := func(name, text string) {
		if strings.HasPrefix(name, "/dev/") {
			return
		}
		if base := scriptName(name); base != "" && len(files) < maxRan {
			files = append(files, File{Name: base, Weight: t.ifRun(base, text), Path: name, Text: text})
		}
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		switch {
		case c.kind.writes && c.path != "" && l.role != rolePath && !oldTexts[c.nameOf(l)] && (l.role == roleContent || newTexts[c.nameOf(l)]):
			add(c.path, l.Text)
		case l.role == roleCommand && l.words == nil && writesFiles(l.Text):
			a := newAssessor(t)
			a.pointer, a.size, a.runs = l.Pointer, len(l.Text), true
			a.command(l.Text, nil)
			for name, f := range a.written {
				switch {
				case f.taint&fromNet != 0:
					if base := scriptName(name); base != "" && len(files) < maxRan && !strings.HasPrefix(name, "/dev/") {
						files = append(files, File{Name: base, Weight: unseen(f.taint), Path: name})
					}
				case f.text != "":
					add(name, f.text)
				}
			}
			for _, pair := range a.copies {
				copied(pair[0], pair[1])
			}
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

// writesFiles is a quick look for what a command needs to write a text, or a copy, to a file.
func writesFiles(text string) bool {
	if strings.Contains(text, "curl") || strings.Contains(text, "wget") || strings.Contains(text, "http") {
		return true // what it brings from elsewhere
	}
	if strings.Contains(text, "cp ") || strings.Contains(text, "mv ") || strings.Contains(text, "ln ") || strings.Contains(text, "install ") {
		return true
	}
	return strings.Contains(text, "tee ") || strings.Contains(text, "dd ") || strings.Contains(text, ">") && (strings.Contains(text, "<") || strings.Contains(text, "echo ") || strings.Contains(text, "printf ") || strings.Contains(text, "cat "))
}

// ifRun is how grave it would be to run a file.
func (t *Table) ifRun(name, text string) float64 {
	const most = 64 << 10
	if len(text) > most {
		text = text[:most]
	}
	lang := languageOfFile(name, text)
	base := strings.ToLower(name)
	makes := strings.Contains(base, "makefile") || strings.HasSuffix(base, ".mk") || base == "justfile"
	if isTaskFile(path.Base(name)) && base != "package.json" {
		a := newAssessor(t)
		a.size, a.runs = len(text), true
		at := span{0, len(text)}
		s := &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: &at, at: at, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
		s.taskFile(text)
		return graveness(a.findings)
	}
	if lang == "" && !makes && base != "package.json" && strings.Contains(base, ".") && !listed(".txt .dat .tmp .log .in .out .conf .cfg .env .bak .x .run .cmd", path.Ext(base)) {
		return 0
	}
	a := newAssessor(t)
	a.size, a.runs = len(text), true
	at := span{0, len(text)}
	switch {
	case lang != "" && lang != "sh":
		a.code(lang, text, at, false)
	case lang == "sh":
		a.command(text, nil)
	case makes:
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "\t"); ok {
				a.command(strings.TrimLeft(rest, "@-+ "), &at)
			}
		}
	case base == "package.json":
		for _, m := range packageScript.FindAllStringSubmatch(text, 64) {
			a.command(unquoteDouble(m[1]), &at)
		}
	case strings.HasPrefix(strings.TrimSpace(text), "import ") || strings.HasPrefix(strings.TrimSpace(text), "from "):
		a.code("python", text, at, false)
	default:
		a.command(text, nil)
	}
	return graveness(a.findings)
}

// graveness is what running a file comes to.
func graveness(findings []Finding) float64 {
	weight := 0.0
	for _, f := range findings {
		if f.Code != "text.unreadable" && f.Code != "command.not_understood" && f.Code != "shell.interactive" {
			weight = max(weight, f.Weight)
		}
	}
	return weight
}
