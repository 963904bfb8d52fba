package hazard

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// Table is what is known of programs: what their options do, how grave that is, and
// who says so. It is immutable. The one that is built in stands in tables/*.yaml, for
// people who know attacks to read and check; a policy can add to it.
type Table struct {
	effects  map[string]effect
	programs map[string][]use // of Unix, by name
	told     map[string][]use // what becomes of what a program is told, by name: who knows it knows no more of the program
	windows  map[string][]use // of Windows, by name in lower case and without .exe
	options  map[string]options
	// keys are the options with which a program is told its key, separated by spaces.
	keys map[string]string
	// elsewhere is where the commands stand that a program has run on another machine.
	elsewhere map[string][]remoteRun
	hosts     map[string][]hostRow // where a program is told hosts
	files     map[string][]fileRow // by program
	carriers  map[string][]carrierRow
	emptied   map[string][]emptiedRow
	changed   map[string][]changeRow
	outputs   []outputsRow
	// installers are the addresses of vendors' installers, cut at each slash.
	installers [][]string
	makers     map[string]bool // whose tools people take, by forge and name
	variables  []variableRow
	settings   []settingsFile
	shows      map[string]showRow
	calls      []callRow // of tools of services
	scripts    []script
	places     places
}

// effect is what a kind of finding means: the OWASP Agentic (ASI) category, the
// MITRE ATT&CK technique, the usual weight, and the sentence.
type effect struct {
	category, technique string
	weight              float64
	message             string
}

// use is one thing that a program does when its arguments hold certain words.
type use struct {
	words  groups
	but    []string // of which none is there
	effect string
	weight float64  // 0 is the effect's own
	prints taint    // what its output holds
	issuer []string // the domains of the service that alone takes it; nil where others may
	sends  bool     // the files it is given, and what comes in, go to a host
	speaks bool     // its words, and what comes in, go to others
	tells  bool     // so do they, and the files that its options name, as texts that people read
	keeps  bool     // it keeps secrets, or has them used: what it is given belongs there
	often  bool     // only where it runs many times: in a loop, for each line of a list
	serves bool     // the folder that it is given, or is in, is shown to whoever asks
	code   bool     // it runs, or installs, what lies at the addresses that it is given
	tool   bool     // that is a program which is run as it comes, so that it counts whose it is
	short  bool     // which owner/name names, too
	script bool     // it prints lines for a shell to run, which is what it is for
	path   bool     // it prints where something lies
}

// groups are words of which one of each must be among the arguments. * stands for
// anything, ? for one character.
type groups [][]string

func wordsOf(text string) (w groups) {
	for group := range strings.FieldsSeq(text) {
		w = append(w, strings.Split(group, "|"))
	}
	return w
}

// options is how a program's arguments are read.
type options struct {
	takes    string   // those that take the next word, separated by spaces
	wraps    int      // words before the command that it runs; -1 for a program that runs none
	previews []groups // with the words of one of them it only shows what it would do
}

// fileRow is which files tell a program what to run: the values of options, its plain words and
// what comes in, or files that it finds without being told.
type fileRow struct {
	words   groups
	option  string   // options, separated by spaces
	unasked []string // names, in which * stands for anything
	alone   bool     // and nothing else of the folder is run
	not     []string // where these are all its words, the row says nothing
	kinds   []string // of the files that it takes of a folder, in which * stands for anything; any without them
}

// variableRow is a variable by which a program is told what to run. Without an effect its value
// is read as a command.
type variableRow struct {
	names  string // separated by spaces; * stands for anything
	value  groups
	effect string
	weight float64
	host   bool // it holds a host that programs speak to
	code   bool // and from which they take code, or what they are told
	parts  bool // and that is parts of themselves, which they run as they come
	model  bool // and that is whom agents ask what to do
	own    bool // it names somebody's settings, wherever these lie
}

// showRow is by which words a program only shows what is there.
type showRow struct {
	verbs []string
	under int // so many words may stand before one of them
	words int // or so many of its words say what it does; 0 for any
}

// remoteRun is where in a program's arguments a command stands that it has run elsewhere, or
// here, by a shell.
type remoteRun struct {
	words  groups
	after  string // words, separated by |, of which the first begins it
	skip   int    // plain words before it
	option string // options of which it is the value, separated by spaces
	takes  string // further options that take the next word
	plain  bool   // no shell reads it
	here   bool   // it is run on this machine
}

// script is what a whole script of Windows holds together: every part must be in the
// text, in lower case.
type script struct {
	parts  string
	effect string
	weight float64
}

// generated is tables/*.yaml as one array of JSON, in the order of their names. To read
// YAML takes a process that judges a single call longer than all the rest that it does. A
// test compares the two, and writes this one: go test ./internal/risk/hazard -update
//
//go:embed tables.json
var generated []byte

// builtin is the table that is built in. It is read when it is first needed: most
// commands of reeve never judge a call.
var builtin = sync.OnceValue(func() *Table {
	doc, err := rawjson.Parse(generated)
	if err != nil {
		panic(err)
	}
	var roots []*yamldoc.Node
	for _, root := range doc.Root().Elems() {
		roots = append(roots, yamldoc.FromJSON(root))
	}
	t := &Table{effects: map[string]effect{}, programs: map[string][]use{}, told: map[string][]use{}, windows: map[string][]use{}, options: map[string]options{}, keys: map[string]string{}, elsewhere: map[string][]remoteRun{}, hosts: map[string][]hostRow{}, files: map[string][]fileRow{}, carriers: map[string][]carrierRow{}, emptied: map[string][]emptiedRow{}, changed: map[string][]changeRow{}, makers: map[string]bool{}, shows: map[string]showRow{}, places: newPlaces()}
	t.add(roots, sections, func(i int, f yamldoc.Fault) {
		panic(fmt.Sprintf("hazard: table %d: %s", i, f.Message)) // a test reads it first
	})
	return t
})

// Extend reads documents that add effects and programs to what is built in. What is
// wrong with the document of an index is told to fault, and then nothing is added.
func Extend(sources []string, fault func(i int, f yamldoc.Fault)) *Table {
	b := builtin()
	if len(sources) == 0 {
		return b
	}
	t := &Table{maps.Clone(b.effects), maps.Clone(b.programs), maps.Clone(b.told), maps.Clone(b.windows), maps.Clone(b.options), b.keys, b.elsewhere, b.hosts, b.files, b.carriers, b.emptied, b.changed, b.outputs, b.installers, b.makers, b.variables, b.settings, b.shows, slices.Clip(b.calls), b.scripts, b.places}
	sound := true
	tell := func(i int, f yamldoc.Fault) {
		sound = false
		fault(i, f)
	}
	t.add(read(sources, tell), policySections, tell)
	if !sound {
		return b
	}
	return t
}

// Effects are the names of the effects that the table knows.
func (t *Table) Effects() []string { return slices.Sorted(maps.Keys(t.effects)) }

// Default is the table without a policy's additions.
func Default() *Table { return builtin() }

// section is a part of a document: its rows' members, and what a row becomes.
type section struct {
	name, must, may string
	read            func(*tableReader, *yamldoc.Node)
}

// sections stand in the order in which they are read: rows name effects. A policy may
// have those of policySections; the places of a system and what scripts hold are built in.
var (
	policySections = []section{
		{"effects", "effect weight says", "asi attack", (*tableReader).effect},
		{"programs", "program source", "words but effect weight when prints issuer sends keeps serves fetches", (*tableReader).program},
		{"windows", "program effect source", "words weight", (*tableReader).windowsProgram},
		{"options", "program", "takes wraps previews source", (*tableReader).option},
		{"calls", "effect source", "tool args weight looks", (*tableReader).call},
	}
	sections = append(policySections[:5:5],
		section{"keys", "program options source", "", (*tableReader).key},
		section{"elsewhere", "program source", "words after skip option takes plain", (*tableReader).runsElsewhere},
		section{"runs", "program source", "words after skip option takes plain", (*tableReader).runsHere},
		section{"hosts", "program source", "words option plain skip takes", (*tableReader).hostsOf},
		section{"files", "program source", "words option unasked alone not kinds", (*tableReader).obeysFiles},
		section{"carriers", "program source", "words option last folder", (*tableReader).carriesFiles},
		section{"emptied", "program source", "words option variable last", (*tableReader).emptiesFolder},
		section{"changed", "program source", "words folder holes", (*tableReader).changesFiles},
		section{"outputs", "files names source", "", (*tableReader).outputsOf},
		section{"installers", "addresses source", "", (*tableReader).installersOf},
		section{"makers", "owners source", "", (*tableReader).makersOf},
		section{"variables", "variable source", "value effect weight host fetches own", (*tableReader).variable},
		section{"settings", "files source", "names script markers builds anywhere code in quoted loads urls alone", (*tableReader).settingsOf},
		section{"shows", "program verbs source", "under words", (*tableReader).onlyShows},
		section{"scripts", "holds effect source", "weight", (*tableReader).script},
		section{"places", "paths", "reads read writes write", (*tableReader).place},
	)
)

// Bounds of a table.
const (
	maxRows         = 10_000 // of all documents
	maxUses         = 200    // of one program
	maxGroups       = 8      // of words
	maxAlternatives = 300    // of a row's words
	maxCell         = 4000   // bytes
)

// tableReader reads one document into a table.
type tableReader struct {
	*Table
	root *yamldoc.Node // nil if it cannot be read
	rows *int          // of all documents
	tell func(yamldoc.Fault)
}

// read reads sources; what cannot be read is nil.
func read(sources []string, fault func(int, yamldoc.Fault)) []*yamldoc.Node {
	roots := make([]*yamldoc.Node, len(sources))
	for i, source := range sources {
		roots[i] = yamldoc.Read(strings.TrimPrefix(source, "\ufeff"), func(f yamldoc.Fault) { fault(i, f) })
	}
	return roots
}

// add reads documents into the table. Each may name the effects of every other.
func (t *Table) add(roots []*yamldoc.Node, allowed []section, fault func(int, yamldoc.Fault)) {
	rows := 0
	readers := make([]tableReader, len(roots))
	for i, root := range roots {
		readers[i] = tableReader{Table: t, rows: &rows, tell: func(f yamldoc.Fault) { fault(i, f) }}
		readers[i].open(root, allowed)
	}
	for _, s := range allowed {
		for i := range readers {
			readers[i].section(s)
		}
	}
}

func (r *tableReader) fault(n *yamldoc.Node, hint, format string, args ...any) {
	r.tell(yamldoc.Fault{Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *tableReader) open(root *yamldoc.Node, allowed []section) {
	if root == nil {
		return
	}
	if root.Kind != rawjson.Object {
		r.fault(root, "start with version: 1 and programs: …", "a table of programs is a mapping, not %s", root.Is())
		return
	}
	if v := root.Get("version"); v == nil || v.Kind != rawjson.Number || v.Text != "1" {
		r.fault(root, "write version: 1", "the document does not say that its version is 1")
	}
	for _, m := range root.Members {
		if m.Name != "version" && !slices.ContainsFunc(allowed, func(s section) bool { return s.name == m.Name }) {
			r.tell(yamldoc.Fault{Line: m.Line, Column: m.Column, Message: fmt.Sprintf("%q is no part of a table of programs", m.Name), Hint: "it has effects, programs, windows, options and calls"})
		}
	}
	r.root = root
}

func (r *tableReader) section(s section) {
	if r.root == nil {
		return
	}
	n := r.root.Get(s.name)
	if n == nil || n.Kind == rawjson.Null {
		return
	}
	if n.Kind != rawjson.Array {
		r.fault(n, "write each row as - {…}", "%s is a list, not %s", s.name, n.Is())
		return
	}
	for _, row := range n.Items {
		if *r.rows++; *r.rows == maxRows+1 {
			r.fault(row, "", "the tables of programs have more than %d rows", maxRows)
		}
		if *r.rows > maxRows {
			return
		}
		if r.shape(row, s) {
			s.read(r, row)
		}
	}
}

// shape reports whether a row is a mapping that has the members it must have, and
// none without a meaning.
func (r *tableReader) shape(row *yamldoc.Node, s section) bool {
	if row.Kind != rawjson.Object {
		r.fault(row, "write it as - {…}", "a row of %s is a mapping, not %s", s.name, row.Is())
		return false
	}
	ok := true
	for _, m := range row.Members {
		if !listed(s.must, m.Name) && !listed(s.may, m.Name) {
			r.tell(yamldoc.Fault{Line: m.Line, Column: m.Column, Message: fmt.Sprintf("%q is no member of a row of %s", m.Name, s.name), Hint: "it has " + strings.TrimSpace(s.must+" "+s.may)})
			ok = false
		} else if m.Value.Kind == rawjson.Object || m.Value.Kind == rawjson.Null || len(m.Value.Text) > maxCell {
			r.fault(m.Value, "", "%s is a text of at most %d bytes", m.Name, maxCell)
			ok = false
		}
	}
	for _, name := range strings.Fields(s.must) {
		if row.Get(name) == nil {
			r.fault(row, "", "the row does not say its %s", name)
			ok = false
		}
	}
	return ok
}

// text is a member's text, empty for none.
func text(row *yamldoc.Node, name string) string {
	if n := row.Get(name); n != nil {
		return strings.TrimSpace(n.Text)
	}
	return ""
}

// weight is a member that is a number above 0, at most 1; 0 for none.
func (r *tableReader) weight(row *yamldoc.Node, name string) float64 {
	n := row.Get(name)
	if n == nil {
		return 0
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != rawjson.Number || err != nil || !(f > 0 && f <= 1) {
		r.fault(n, "0.8 is what hardly anybody wants an agent to do", "%s is a number above 0, at most 1", name)
	}
	return f
}

// code is a member that names an effect.
func (r *tableReader) code(row *yamldoc.Node, name string) string {
	code := text(row, name)
	if _, ok := r.effects[code]; !ok && row.Get(name) != nil {
		r.fault(row.Get(name), "define it under effects", "there is no effect %q", code)
	}
	return code
}

// words reads groups of words.
func (r *tableReader) words(n *yamldoc.Node) groups {
	if n == nil {
		return nil
	}
	w := wordsOf(n.Text)
	all := 0
	for _, group := range w {
		all += len(group)
		if slices.Contains(group, "") {
			r.fault(n, "", "a word is empty")
		}
	}
	if len(w) == 0 || len(w) > maxGroups || all > maxAlternatives {
		r.fault(n, "", "there are 1 to %d groups of words, and at most %d words", maxGroups, maxAlternatives)
	}
	return w
}

func (r *tableReader) effect(row *yamldoc.Node) {
	code := text(row, "effect")
	if _, ok := r.effects[code]; ok {
		r.fault(row, "", "the effect %q is there already", code)
		return
	}
	family, name, ok := strings.Cut(code, ".")
	if !ok || !effectName(family) || !effectName(name) {
		r.fault(row.Get("effect"), "such as secret.read", "%q is no name of an effect: a family and a name", code)
		return
	}
	e := effect{category: text(row, "asi"), technique: text(row, "attack"), weight: r.weight(row, "weight"), message: text(row, "says")}
	if e.category == "" {
		e.category = "ASI02"
	}
	r.effects[code] = e
}

func effectName(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// named calls put for each of a row's programs.
func (r *tableReader) named(row *yamldoc.Node, put func(name string)) {
	names := strings.Fields(text(row, "program"))
	if len(names) == 0 {
		r.fault(row, "", "the row names no program")
	}
	for _, name := range names {
		put(name)
	}
}

// printable is what the output of a program may be said to hold.
var printable = map[string]taint{"": 0, "secret": fromSecret, "secrets": fromSecret | fromPlace, "key": fromSecret | fromKeeper, "host": fromHost, "network": fromNet}

func (r *tableReader) program(row *yamldoc.Node) {
	u := use{words: r.words(row.Get("words")), effect: r.code(row, "effect"), weight: r.weight(row, "weight")}
	if but := r.words(row.Get("but")); len(but) == 1 {
		u.but = but[0]
	} else if but != nil {
		r.fault(row.Get("but"), "part them by |", "but is one group of words")
	}
	prints, ok := printable[text(row, "prints")]
	switch text(row, "prints") {
	case "shell":
		u.script, ok = true, true
	case "path":
		u.path, ok = true, true
	}
	if !ok {
		r.fault(row.Get("prints"), "", "prints is one of secret, secrets, key, host, network, shell and path")
	}
	u.prints, u.issuer = prints, strings.Fields(text(row, "issuer"))
	if len(u.issuer) == 0 {
		u.issuer = nil
	}
	if n := row.Get("sends"); n != nil {
		u.sends, u.tells, u.speaks = n.Text == "files", n.Text == "texts", n.Text == "words"
		if !u.sends && !u.tells && !u.speaks {
			r.fault(n, "", "sends is files, texts or words, or not there")
		}
	}
	if n := row.Get("when"); n != nil {
		if u.often = n.Text == "repeated"; !u.often {
			r.fault(n, "", "when is repeated, or not there")
		}
	}
	if n := row.Get("serves"); n != nil {
		if u.serves = n.Text == "files"; !u.serves {
			r.fault(n, "", "serves is files, or not there")
		}
	}
	if n := row.Get("keeps"); n != nil {
		if u.keeps = n.Text == "secrets"; !u.keeps {
			r.fault(n, "", "keeps is secrets, or not there")
		}
	}
	if n := row.Get("fetches"); n != nil {
		u.code, u.short = n.Text == "code", n.Text == "repository"
		if u.tool = u.short || n.Text == "tool"; !u.code && !u.tool {
			r.fault(n, "", "fetches is code, tool or repository, or not there")
		}
	}
	if u.effect == "" && u.prints == 0 && !u.sends && !u.tells && !u.speaks && !u.keeps && !u.serves && !u.code && !u.tool && !u.script && !u.path {
		r.fault(row, "", "the row does not say what the program does: effect, prints, sends, keeps, serves or fetches")
	}
	does := u.effect != "" || u.prints != 0 || u.sends || u.serves || u.code || u.tool || u.script || u.path
	r.named(row, func(name string) {
		if does {
			r.put(r.programs, row, name, u)
		}
		if u.tells || u.speaks || u.keeps {
			r.put(r.told, row, name, u)
		}
	})
}

func (r *tableReader) windowsProgram(row *yamldoc.Node) {
	u := use{words: r.words(row.Get("words")), effect: r.code(row, "effect"), weight: r.weight(row, "weight")}
	r.named(row, func(name string) { r.put(r.windows, row, name, u) })
}

func (r *tableReader) put(m map[string][]use, row *yamldoc.Node, name string, u use) {
	if len(m[name]) == maxUses {
		r.fault(row, "", "%q has more than %d rows", name, maxUses)
		return
	}
	m[name] = append(slices.Clip(m[name]), u)
}

func (r *tableReader) option(row *yamldoc.Node) {
	o := options{takes: strings.Join(strings.Fields(text(row, "takes")), " "), wraps: -1}
	if n := row.Get("wraps"); n != nil {
		var err error
		if o.wraps, err = strconv.Atoi(n.Text); err != nil || o.wraps < 0 || o.wraps > 9 {
			r.fault(n, "", "wraps is how many words stand before the command that the program runs")
		}
	}
	if n := row.Get("previews"); n != nil && n.Kind == rawjson.Array {
		for _, item := range n.Items {
			o.previews = append(o.previews, r.words(item))
		}
	} else if n != nil {
		o.previews = []groups{r.words(n)}
	}
	r.named(row, func(name string) {
		if _, ok := r.Table.options[name]; ok {
			r.fault(row, "", "the options of %q are there already", name)
			return
		}
		r.Table.options[name] = o
	})
}

// call reads what a tool of a service does.
func (r *tableReader) call(row *yamldoc.Node) {
	tool, args := r.words(row.Get("tool")), r.words(row.Get("args"))
	c := callRow{tool: patternsOf(tool, patternOf), args: patternsOf(args, argPatternOf), effect: r.code(row, "effect"), weight: r.weight(row, "weight")}
	if tool == nil && args == nil {
		r.fault(row, "", "the row says neither which tool nor which arguments it means")
	}
	for _, group := range args {
		for _, pattern := range group {
			if !strings.Contains(pattern, "=") {
				r.fault(row.Get("args"), "such as visibility=public", "%q is no name=value", pattern)
			}
		}
	}
	if n := row.Get("looks"); n != nil {
		if c.looks = n.Text == "true"; !c.looks {
			r.fault(n, "", "looks is true, or not there")
		}
	}
	r.calls = append(r.calls, c)
}

// key reads which options of a program name a file of keys that it uses for what it is for.
func (r *tableReader) key(row *yamldoc.Node) {
	list := strings.Join(strings.Fields(text(row, "options")), " ")
	r.named(row, func(name string) { r.keys[name] = list })
}

// obeysFiles reads which files tell a program what to run.
func (r *tableReader) obeysFiles(row *yamldoc.Node) {
	f := fileRow{words: r.words(row.Get("words")), option: text(row, "option"), unasked: strings.Fields(text(row, "unasked")), kinds: strings.Fields(text(row, "kinds")), alone: text(row, "alone") == "true", not: strings.FieldsFunc(text(row, "not"), func(r rune) bool { return r == '|' })}
	if len(f.unasked) == 0 {
		f.unasked = nil
	}
	if len(f.kinds) == 0 {
		f.kinds = nil
	}
	r.named(row, func(name string) { r.Table.files[name] = append(r.Table.files[name], f) })
}

// carriesFiles reads where a program puts what it brings from elsewhere.
func (r *tableReader) carriesFiles(row *yamldoc.Node) {
	f := carrierRow{words: r.words(row.Get("words")), option: text(row, "option"), last: text(row, "last") == "true", folder: text(row, "folder") == "true"}
	r.named(row, func(name string) { r.Table.carriers[name] = append(r.Table.carriers[name], f) })
}

// emptiesFolder reads where a program is told the folder that it empties.
func (r *tableReader) emptiesFolder(row *yamldoc.Node) {
	f := emptiedRow{words: r.words(row.Get("words")), option: text(row, "option"), variable: text(row, "variable"), last: text(row, "last") == "true"}
	r.named(row, func(name string) { r.Table.emptied[name] = append(r.Table.emptied[name], f) })
}

// changesFiles reads when a program changes the files that it is named.
func (r *tableReader) changesFiles(row *yamldoc.Node) {
	f := changeRow{words: r.words(row.Get("words")), folder: text(row, "folder") == "true", holes: text(row, "holes") == "true"}
	r.named(row, func(name string) { r.Table.changed[name] = append(r.Table.changed[name], f) })
}

// outputsOf reads under which names such a folder stands in files of settings.
func (r *tableReader) outputsOf(row *yamldoc.Node) {
	r.outputs = append(r.outputs, outputsRow{files: strings.Fields(text(row, "files")), names: strings.Fields(text(row, "names"))})
}

// installersOf reads at which addresses a vendor keeps its installer.
func (r *tableReader) installersOf(row *yamldoc.Node) {
	for address := range strings.FieldsSeq(text(row, "addresses")) {
		r.installers = append(r.installers, strings.Split(address, "/"))
	}
}

// makersOf reads whose tools people take: github.com/owner, or the owner alone.
func (r *tableReader) makersOf(row *yamldoc.Node) {
	for owner := range strings.FieldsSeq(text(row, "owners")) {
		if !strings.Contains(owner, "/") {
			owner = "github.com/" + owner
		}
		r.makers[strings.ToLower(owner)] = true
	}
}

// variable reads what a variable has a program run.
func (r *tableReader) variable(row *yamldoc.Node) {
	r.variables = append(r.variables, variableRow{names: text(row, "variable"), value: r.words(row.Get("value")), effect: r.code(row, "effect"), weight: r.weight(row, "weight"), host: text(row, "host") == "true", code: text(row, "fetches") != "", parts: text(row, "fetches") == "tool", model: text(row, "fetches") == "model", own: text(row, "own") == "true"})
}

// settingsOf reads which settings of a file are run.
func (r *tableReader) settingsOf(row *yamldoc.Node) {
	s := settingsFile{script: text(row, "script") == "true", markers: text(row, "markers") == "true", builds: text(row, "builds") == "true",
		anywhere: text(row, "anywhere") == "true", code: text(row, "code"), in: text(row, "in"), quoted: text(row, "quoted") == "true", alone: text(row, "alone") == "true",
		loads: strings.Fields(text(row, "loads")), urls: strings.Fields(text(row, "urls"))}
	for file := range strings.FieldsSeq(text(row, "files")) {
		s.files = append(s.files, strings.Split(strings.ToLower(file), "/"))
	}
	for name := range strings.FieldsSeq(text(row, "names")) {
		s.names = append(s.names, strings.ToLower(name))
	}
	r.settings = append(r.settings, s)
}

// runsElsewhere reads where a program is told a command that it has run elsewhere.
func (r *tableReader) runsElsewhere(row *yamldoc.Node) { r.runsText(row, false) }

// runsHere reads where a program is told a command that it has run on this machine.
func (r *tableReader) runsHere(row *yamldoc.Node) { r.runsText(row, true) }

func (r *tableReader) runsText(row *yamldoc.Node, here bool) {
	e := remoteRun{words: r.words(row.Get("words")), after: text(row, "after"), option: text(row, "option"), takes: text(row, "takes"), plain: text(row, "plain") == "true", here: here}
	if n := row.Get("skip"); n != nil {
		var err error
		if e.skip, err = strconv.Atoi(n.Text); err != nil || e.skip < 0 || e.skip > 9 {
			r.fault(n, "", "skip is how many words stand before the command")
		}
	}
	r.named(row, func(name string) { r.Table.elsewhere[name] = append(r.Table.elsewhere[name], e) })
}

// hostsOf reads where a program is told hosts.
func (r *tableReader) hostsOf(row *yamldoc.Node) {
	h := hostRow{words: r.words(row.Get("words")), option: text(row, "option"), plain: text(row, "plain"), takes: text(row, "takes")}
	if !listed("first all images settings values", h.plain) && h.plain != "" {
		r.fault(row.Get("plain"), "", "plain is first, all, images, settings or values")
	}
	if n := row.Get("skip"); n != nil {
		var err error
		if h.skip, err = strconv.Atoi(n.Text); err != nil || h.skip < 0 || h.skip > 9 {
			r.fault(n, "", "skip is how many words stand before a host")
		}
	}
	r.named(row, func(name string) { r.Table.hosts[name] = append(r.Table.hosts[name], h) })
}

// onlyShows reads by which words a program only shows what is there.
func (r *tableReader) onlyShows(row *yamldoc.Node) {
	show := showRow{verbs: strings.Split(text(row, "verbs"), "|")}
	for name, to := range map[string]*int{"under": &show.under, "words": &show.words} {
		if n := row.Get(name); n != nil {
			var err error
			if *to, err = strconv.Atoi(n.Text); err != nil || *to < 0 || *to > 9 {
				r.fault(n, "", "%s is a number of words", name)
			}
		}
	}
	r.named(row, func(name string) { r.Table.shows[name] = show })
}

func (r *tableReader) script(row *yamldoc.Node) {
	r.scripts = append(r.scripts, script{text(row, "holds"), r.code(row, "effect"), r.weight(row, "weight")})
}

func (r *tableReader) place(row *yamldoc.Node) {
	r.places.add(text(row, "paths"), place{
		reads: r.code(row, "reads"), read: r.weight(row, "read"),
		writes: r.code(row, "writes"), write: r.weight(row, "write"),
	})
}
