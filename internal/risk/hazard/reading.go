package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// A Reading is what one call would do, by the built-in table. Several ask that of the same
// act: who looks after the guardian, the policy, what a session remembers. So it is read once,
// when the first of them asks, and each has what the first one had. It is for one goroutine.
type Reading struct {
	of          *act.Action
	call        *call
	folders     []string        // that the call may work in; nil where nobody asked
	saysFolder  map[string]bool // the arguments by whose names it works there; nil where nobody asked
	parts       []Part
	done        bool // the following are known
	assessment  Assessment
	seen        []sight // in the order in which they were seen
	brings      bool    // files are written, or come from elsewhere
	filed       bool    // files is known
	files       []File
	defined     bool // definitions are known
	definitions []Definition
	before      string // what stands before the call's own command: see Behind
}

// sight is a command that a call would start, or a file or an address that it names.
type sight struct {
	command *Command // nil for the others
	address bool
	text    string
	writes  bool
	content string
	known   bool
}

// Read begins to read an act, which must not change as long as the reading is used.
func Read(a *act.Action) *Reading { return &Reading{of: a} }

// For is the reading if it is one of this very act, and else a new one: an act that was
// changed does something else. r may be nil.
func (r *Reading) For(a *act.Action) *Reading {
	if r != nil && r.of == a {
		return r
	}
	return Read(a)
}

// sorted is the call with its texts sorted by what they are.
func (r *Reading) sorted() *call {
	if r.call == nil {
		r.call = newCall(r.of.Canonical, r.of.Content)
		r.call.names, r.call.server, r.call.args = words(r.of.Resource), words(r.of.Server), r.of.Arguments
	}
	return r.call
}

// Watch reads the call and tells what it sees: see Observe.
func (r *Reading) Watch(w *Watch) {
	noting := *w
	r.seen = nil
	noting.Command = func(c *Command) {
		r.seen = append(r.seen, sight{command: c})
		if w.Command != nil {
			w.Command(c)
		}
	}
	noting.File = func(path string, writes bool, content string, known bool) {
		r.seen = append(r.seen, sight{text: path, writes: writes, content: content, known: known})
		if w.File != nil {
			w.File(path, writes, content, known)
		}
	}
	noting.URL = func(url string) {
		r.seen = append(r.seen, sight{address: true, text: url})
		if w.URL != nil {
			w.URL(url)
		}
	}
	folders := r.Folders()
	a := newAssessor(Default())
	a.watch = &noting
	r.places(a, folders[0])
	a.read(r.sorted())
	r.assessment, r.done = r.elsewhereToo(a.assessment(), Default(), folders), true
	r.brings = len(a.written)+len(a.copies)+len(a.foreign)+len(a.unpacked)+len(a.removed)+len(a.remotes) > 0
}

// places tells an assessor where the call is made, and what is known of the repository there.
func (r *Reading) places(a *assessor, folder string) {
	a.begins(r.of.Folder, folder)
	a.leadsBy(r.of.Links)
	a.abroad = r.of.Strayed
	a.branch, a.unkept, a.ignored = r.of.Branch, r.of.Unkept, r.of.Ignored
	a.stores, a.chosen, a.swept = r.of.Stores, r.of.Cluster, r.of.Swept
	a.clusters, a.missing = r.of.Kubeconfigs, r.of.Missing
	a.private, a.secretIn = r.of.Secrets, r.of.KeepsSecret
}

// read reads the call unless somebody has.
func (r *Reading) read() {
	if !r.done {
		r.Watch(&Watch{})
	}
}

// Tell tells of the commands, files and addresses that were seen when the call was read, as Watch
// does, and reads it only if nobody has.
func (r *Reading) Tell(w *Watch) {
	r.read()
	for _, s := range r.seen {
		switch {
		case s.command != nil:
			if w.Command != nil {
				w.Command(s.command)
			}
		case s.address:
			if w.URL != nil {
				w.URL(s.text)
			}
		case w.File != nil:
			w.File(s.text, s.writes, s.content, s.known)
		}
	}
}

// Assess judges the call by a table.
func (r *Reading) Assess(t *Table) Assessment {
	if t != Default() {
		folders := r.Folders()
		a := newAssessor(t)
		r.places(a, folders[0])
		a.read(r.sorted())
		return r.elsewhereToo(a.assessment(), t, folders)
	}
	r.read()
	return r.assessment
}

// Through judges the call by a table as one of a machine some port of which leads to another one.
func (r *Reading) Through(t *Table) Assessment {
	folders := r.Folders()
	a := newAssessor(t)
	a.tunnelled = true
	r.places(a, folders[0])
	a.read(r.sorted())
	return r.elsewhereToo(a.assessment(), t, folders)
}

// Astray is the reading of the call as one of which nothing is known of where its data is.
func (r *Reading) Astray() *Reading {
	of := *r.of
	of.Stores, of.Cluster = nil, ""
	return Read(&of)
}

// Ports are the numbers in the call that may name a port.
func (r *Reading) Ports() (ports []string) {
	for i := range r.sorted().leaves {
		if l := &r.call.leaves[i]; len(l.Text) <= maxPortText {
			ports = append(ports, portsIn(l.Text, maxPorts-len(ports))...)
		}
	}
	return ports
}

// Handles reports whether it matters to the call what is known of files, or whether it is to be
// remembered of files what it does: it writes some, runs some, or sends some.
func (r *Reading) Handles() bool {
	r.read()
	c, a := r.sorted(), &r.assessment
	return c.kind.writes || anyOf(c.words, movingTools) || r.brings || a.Speaks ||
		slices.ContainsFunc(a.Called, isOwnProgram) || len(a.Ran)+len(a.RanIn)+len(a.Fed)+len(a.Sent)+len(a.Kept)+len(a.Copied)+len(a.Tunnels)+len(a.Mounted)+len(a.Laid) > 0 || mayBeLocal(r.sorted())
}

// isOwnProgram reports whether a program that is looked for is none of those that every machine has,
// and so perhaps one of the project.
func isOwnProgram(called string) bool {
	name := strings.TrimPrefix(called, lookedFor(""))
	return !programs()[name] && !tellers[name]
}

// elsewhereToo is an assessment of the call in the first of its folders, with what is found in the
// others.
func (r *Reading) elsewhereToo(found Assessment, t *Table, folders []string) Assessment {
	for _, folder := range folders[1:] {
		a := newAssessor(t)
		a.begins(r.of.Folder, folder)
		a.leadsBy(r.of.Links)
		a.read(r.sorted())
		for _, f := range a.findings {
			if !slices.ContainsFunc(found.Findings, func(had Finding) bool { return had.Code == f.Code && had.Weight >= f.Weight }) {
				found = found.With(f)
			}
		}
	}
	return found
}

// Parts tells what the call's texts are for: see the function of that name.
func (r *Reading) Parts() []Part {
	if r.parts == nil {
		r.parts = r.sorted().parts()
	}
	return r.parts
}

// Shown tells the files, by the names that they lie under, of which the call shows something.
// all says that these are all of them: not so where the call looks through folders, or
// where it cannot be told.
func (r *Reading) Shown() (names []string, all bool) { return r.sorted().shown() }

// Local reports whether what a call gives is read from the machine itself: it names files
// or runs a command, and no address. A result of it can be written back to where it came
// from.
func (r *Reading) Local() bool {
	c := r.sorted()
	files := c.path != ""
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.role == roleContent {
			continue
		}
		if rest := strings.ReplaceAll(l.Text, "file://", ""); strings.Contains(rest, "://") {
			return false
		}
		if l.role == roleCommand {
			files = true
			for word := range strings.FieldsFuncSeq(l.Text, func(c rune) bool { return strings.ContainsRune(" \t\n;|&()`$'\"", c) }) {
				if listed("curl wget http https xh httpie aria2c lynx links elinks w3m axel gh glab", baseName(word)) {
					return false
				}
			}
		}
	}
	address := false
	r.Tell(&Watch{File: func(string, bool, string, bool) { files = true }, URL: func(string) { address = true }})
	return files && !address
}
