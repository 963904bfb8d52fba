// Package hazard judges what a tool call would do: the commands it would run,
// the paths it would touch, the hosts it would reach, the SQL it would send.
//
//	a := hazard.Assess(call.Tool, call.Leaves)
//	for _, f := range a.Findings {
//		fmt.Printf("%s: %s (%.2f)\n", f.Code, f.Message, f.Weight)
//	}
//
// Commands are parsed, not matched as text. What a command is known to do is a
// table: it reads, it writes, it runs what it is given, it talks to the network.
// What flows between commands is followed: a text from the network that ends in
// an interpreter, a secret that ends at a host, a literal that is decoded and run.
//
// It is a heuristic: it knows forms, not intentions. Reading and writing of
// ordinary files stays near 0, administration that may be wanted (installing a
// package, fetching a file) below 0.7, and what hardly anybody wants an agent to
// do is at 0.8 or more.
//
// Everything is bounded: size, nesting, number of commands, rounds of decoding.
// Where a bound is hit the rest is read as plain words, and that is a finding of
// its own.
//
// Where to look:
//
//	a call and its arguments    assess form calls texts parts shown
//	shells                      shell expansion redirections variables named flow unparsed
//	a command                   commands wrappers interpret inner; handlers names the function
//	                            that reads a program, in the file of what such programs do:
//	                            download copying removing git containers archives …
//	a command of which only     table bytable reach loss elsewhere strangers, and tables/*.yaml
//	a table or nothing is known
//	code, SQL, Windows          code languages effects/, sql, windows
//	places and hosts            paths homes wide links hosts
//	over several commands       secrets carriers written rehearsal typed, and watch for others
package hazard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Finding is one thing that an act would do and that endangers somebody.
type Finding struct {
	Code       string  // stable, such as "shell.reverse_shell"
	Category   string  // code of OWASP's Agentic Top 10, such as "ASI05"
	Technique  string  // of MITRE ATT&CK, such as "T1059.004", or empty
	Weight     float64 // from 0 to 1
	Message    string  // a sentence for a person
	Pointer    string  // of the leaf
	Start, End int     // span in the leaf's text, in bytes
	// Beside says that it stands in no text of the call: the message says where, such as in a
	// file that the call runs; Text are the words there, where they are known.
	Beside bool
	Text   string
}

// Assessment is what was found in one tool call. The zero Assessment found nothing.
type Assessment struct {
	Score    float64 // from 0 to 1
	Findings []Finding
	// Ran are the files, by their names, that the call runs and did not write itself; Fed those
	// of which something may become code that it runs: it runs what it reads, and names these.
	Ran, Fed []string
	// Called are the programs that the call has looked for where programs lie, as Patterns has them:
	// a file of such a name in a folder for programs may be what is run.
	Called []string
	// Settings are the places among temporary files that the call names for settings or a home: whoever
	// may write there decides what is run.
	Settings []string
	// Altered are the same as Fed, where a filter makes another text of them first, and that is run.
	Altered []string
	// Awaited are those of both that the call may run, or read orders from, when it has long been
	// answered: what is written into them later is run.
	Awaited []string
	// RanIn are the folders, by their names, that the call runs something of: one of them, or one
	// above it, may have come from elsewhere. "." is any.
	RanIn []string
	// Tunnels are the ports of this machine, as digits, that the call makes lead to another one; AnyPort
	// for one that is not known.
	Tunnels []string
	// Mounted are the folders that the call mounts from elsewhere, and Laid the places into which it puts a secret: of
	// which an earlier one may have mounted the folder.
	Mounted, Laid []string
	// Strays says that the call has a shell take variables from a file of which nothing is known: which
	// database a program speaks to may stand in one.
	Strays bool
	// Sent are the files, by their names, that the call reads and did not write itself, if it
	// sends something; Kept those into which it puts what a secret place holds, and Copied what
	// gets its content from which other file: a later call knows these by their names alone.
	Sent, Kept []string
	// Later are the files, by their names, that settings which the call writes have run, as Ran has them.
	Later []string
	// Pushed are the remotes, as RemoteName calls them, to which the call pushes.
	Pushed []string
	// FetchedRun are the packages, without their versions, that the call fetches by their names and runs at once.
	FetchedRun []string
	Copied     [][2]string
	// Discloses says that what the call gives holds what a place of secrets holds, and Speaks that it
	// tells others something.
	Discloses, Speaks bool
}

// Bounds of one assessment.
const (
	maxText     = 512 << 10 // bytes of one leaf that are read, when it is not run
	maxTotal    = 2 << 20   // bytes of all leaves
	leafCost    = 64        // bytes that even an empty leaf counts for: it is looked at in many ways
	maxWords    = 4096      // members of a list that are one command's words
	maxInner    = 512 << 10 // bytes that come to be while reading: decoded, expanded, unwrapped
	maxLoose    = 48 << 10  // bytes that are read as words
	maxFindings = 64
	maxDepth    = 12       // texts inside texts
	maxCommands = 2000     // commands and redirections of one call, wrapped ones included
	maxArgs     = 64 << 10 // words of all these together
	longWord    = 32       // bytes of a word by which it counts as one more: they are looked at in as many ways

	maxRemembered = 4 << 20 // bytes that are kept of what words name
)

// assessor reads one call: what it may still spend, how what is read counts, where that runs, what is known
// beforehand, and what it has found so far.
type assessor struct {
	table *Table
	verdict
	budget
	manner
	whereabouts
	beforehand
	filing
	running
	outgoing
	knownPaths
}

// knownPaths are what words name: see asPath.
type knownPaths struct {
	paths      map[string]*namedPath // by the word
	remembered int                   // bytes that they take, about
}

// verdict is what was found, and where in the call, and with which weight, what is found next counts.
type verdict struct {
	findings []Finding
	seen     map[string]int // by code: index in findings of the gravest one
	pointer  string         // of the leaf being read
	size     int            // of its text, in bytes
	inText   *textPlace     // the text of the call in which what is read was found; nil for its own
	scale    float64        // of the weights: below 1 where a text is kept, and not run
	floor    float64        // findings below it are left out
	cut      bool           // what is read was too long to be read to its end
}

// budget is what may still be spent: see the bounds.
type budget struct {
	bytes    int // of leaves, left to be read
	inner    int // of texts inside them
	loose    int // of texts read as words, since they are no commands that can be parsed
	commands int // left to be judged
	words    int // of commands, those that others start included, left to be looked at
	turns    int // of loops, that may still be read one by one
	steps    int // that programs took to be read for their effects
	depth    int
	inFiles  int // files around what is read that are run, and were written before
}

// manner is how what is read is meant.
type manner struct {
	runs      bool    // the leaf is a command, a program, a query or an address
	kinned    bool    // what is read is read as another shell's: see kin
	coded     bool    // what is read stands for a call in a program, which gives each word as it is
	implying  bool    // what is read is run by a program that was not told which file
	supply    *supply // what the program is given that is read next
	rehearsed bool    // what is destroyed are data of tests
	ofHere    bool    // the database is one of this machine
	filesHere bool    // so are the files that a query names, and each was judged by its place
	aside     bool    // the cloud is one that this machine plays, or was set up for one change
	toOwn     bool    // the hosts that the command names may have the secrets that are kept for them
	near      bool    // the command names hosts, and all are of this machine or its networks
	within    bool    // the command names hosts, and by their names all are of one's own network
	bare      bool    // the command speaks to an address that is a number, and nobody's name
	same      bool    // what is written is a program under its own name
	there     bool    // what is read is a file that nobody in the session wrote: what is likely of it counts
}

// whereabouts is where what is read runs: in which folder, and on which machine.
type whereabouts struct {
	cwd      string   // where cd led, if that is known
	went     string   // where cd led from there, as it was spelled
	lost     bool     // cd went where only an unset variable says
	guarded  bool     // an unset variable ends the script
	dirs     []string // that the scripts went to, if they are watched
	start    string   // the folder in which its commands begin, if that is known
	other    bool     // what is read runs on another machine
	on       string   // that machine, or the container, if it is known: see Command.On
	remote   string   // see Command.Remote
	live     bool     // and it is one that people use, by its name
	afar     bool     // and it is none of one's own: see removesAfar
	composed bool     // which is a container of the project that somebody works on
	engine   bool     // which is a database
	chosen   string   // the cluster that is spoken to where none is named, if it is one of this machine
}

// beforehand is what is known before the call is read, of its folder and of earlier calls.
type beforehand struct {
	watch    *Watch
	held     Held              // what is known of secrets that were read before
	began    string            // the folder in which the call is made, if that is known
	abroad   bool              // which is no folder of the work that the session began
	branch   string            // that is checked out there, if that is known
	moved    bool              // a command may have checked out another one
	unkept   []string          // files of secrets there that the repository would take in: see act.Action
	ignored  []string          // and those that it ignores
	swept    *act.Swept        // what git clean would take there; nil if that is not known
	private  func() []string   // files of secrets there, and below: see act.Action
	secretIn func(string) bool // of a file that is named, whether what stands in it is a secret: see act.Action
	stores   []act.Stores      // what is here of the data of projects, by their own files
	clusters []act.Kubeconfig  // files that lead to clusters of this machine: see act.Action
	missing  func(string) bool // of a file that is named, whether nothing lies there: see act.Action
}

// filing is what the call's commands did to files and folders so far.
type filing struct {
	written   files             // files that the call's commands wrote so far
	lies      files             // the same by where they lie: see getFile
	lay       map[string]bool   // those of them that lay there before, and what they hold was told
	addedTo   map[string]bool   // those of them that held something before, which is not known
	addresses map[string]string // where those came from that were downloaded
	// fetchedLast is the address of what was downloaded last.
	fetchedLast string
	copies      [][2]string // files that were copied, and where
	linked      [][2]string // names that the call made for others, and where they lead
	made        [][2]string // files of which others were made, and these
	removed     []string    // files that are taken away
	unpacked    [][2]string // archives that were unpacked, and into which folders
	foreign     []foreignFolder
	typedInto   map[string]string // terminals, and what of a line was typed into them
	staged      string            // a file of secrets that was added to a repository; empty for none
	stashed     string            // one that is in a stash, though it was not committed
	refs        map[string]string // names that stand for others: declare -n
}

// running is what the call runs, or may run: what an Assessment tells of it.
type running struct {
	runFiles  []string // by their names, if the call did not write them
	called    []string // programs that are looked for by their names: see Assessment
	settled   []string // places of settings: see Assessment
	ranIn     []string // the names of the folders that runFiles lie in
	named     []string // what the words of the commands name
	namedIn   []string // the names of the folders of those
	obeyed    []string // files by which programs are told what to run
	later     []string // files that settings which were written have run
	readFrom  []string // files that were read, and could be what an interpreter is fed
	dynamic   bool     // code is run that is read, or put together, when it runs
	altersRun bool     // what is run is the text of a file that a filter has changed
	lingers   bool     // something of it goes on, or waits, while other calls are made
}

// outgoing is what leaves this machine, or is shown to who called.
type outgoing struct {
	leaving          // what of it is on its way to others
	mounted []string // folders that the call mounts from elsewhere
	laid    []string // places into which it puts a secret
	// backedUpAfar says that it has set up a repository elsewhere, to which later commands make backups.
	backedUpAfar bool
	issued       []string          // the domains of services whose tokens it has printed
	tunnels      []string          // the ports that the call makes lead elsewhere: see Assessment
	tunnelled    bool              // a port of this machine may be another machine's
	remotes      map[string]string // where the script has git push to, by the names of remotes
	pushedTo     []string          // the remotes to which it pushes
	fetchedRun   []string          // the packages that it fetches and runs
	keptIn       []string          // files into which a secret was put, by their names
	strayed      bool              // a file was read that may set variables by which programs find their data
	sends        bool              // something is sent to another host
	speaks       bool              // others are told something: see Assessment
	discloses    bool              // what a place of secrets holds is shown to who called
}

// span is a part of the leaf's text, in bytes.
type span struct{ start, end int }

// report adds a finding by its code in the table of effects. A weight of 0 is the table's.
func (a *assessor) report(code string, weight float64, at span) { a.reportSaying(code, weight, at, "") }

// reportSaying is report with a sentence that names what is meant; empty for the table's.
func (a *assessor) reportSaying(code string, weight float64, at span, says string) {
	a.sends = a.sends || strings.HasPrefix(code, "exfil.")
	t, ok := a.table.effects[code]
	if !ok {
		panic("hazard: no effect " + code)
	}
	if weight == 0 {
		weight = t.weight
	}
	if a.rehearsed && (code == "destroy.store" || code == "sql.destroy") || a.aside && listed("destroy.store destroy.cloud publish.name publish.mass", code) {
		weight *= previewed
	}
	if a.ofHere && code == "sql.destroy" {
		weight = min(weight, 0.6) // somebody here can say whether it may go
	}
	if weight *= a.scale; weight < a.floor {
		return
	}
	pointer := a.pointer
	if a.inText != nil { // which has no place in the request
		pointer, a.size, at = a.inText.pointer, a.inText.size, span{0, a.inText.size}
	}
	// What a parser put in where something was missing has no place of its own.
	if at.end = min(at.end, a.size); at.end <= at.start || at.start < 0 {
		at = span{0, a.size}
	}
	f := Finding{Code: code, Category: t.category, Technique: t.technique, Weight: weight, Message: cmp.Or(says, t.message), Pointer: pointer, Start: at.start, End: at.end}
	if i, ok := a.seen[code+pointer]; ok {
		if a.findings[i].Weight < weight {
			a.findings[i] = f
		}
		return
	}
	if len(a.findings) >= maxFindings {
		return
	}
	a.seen[code+pointer] = len(a.findings)
	a.findings = append(a.findings, f)
}

// starve notes that a bound was hit, so that a part was not understood. Of what
// would be run that is grave: nobody can say what it does. Of what is kept or told
// to somebody it is worth a note.
func (a *assessor) starve(at span) {
	a.cut = true
	if a.runs && a.floor == 0 {
		a.report("command.not_understood", 0, at)
		return
	}
	a.report("text.bounds", 0, at)
}

// spend takes from the bytes of inner texts that may be read, and says whether
// they sufficed.
func (a *assessor) spend(n int) bool {
	a.inner -= n
	return a.inner >= 0
}

// kept calls read with weights scaled: for text that is kept and not run. Of
// what may be wanted in a file, only what is grave is reported.
func (a *assessor) kept(scale, floor float64, read func()) {
	s, f := a.scale, a.floor
	a.scale, a.floor = s*scale, max(f, floor)
	read()
	a.scale, a.floor = s, f
}

// Assess judges a tool call by its canonical name and its leaves. What a text
// is, is told by its form and by where it stands; the names of the tool and of
// the argument are hints, and unknown ones are read too.
func Assess(tool string, leaves []act.Leaf) Assessment { return Default().Assess(tool, leaves) }

// Assess judges a tool call by what the table knows.
func (t *Table) Assess(tool string, leaves []act.Leaf) Assessment {
	return t.assess(newCall(tool, leaves))
}

func (t *Table) assess(c *call) Assessment {
	a := newAssessor(t)
	a.read(c)
	return a.assessment()
}

// assessment is what was found, the gravest first.
func (a *assessor) assessment() Assessment {
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		switch {
		case x.Weight > y.Weight:
			return -1
		case x.Weight < y.Weight:
			return 1
		}
		return 0
	})
	all := Assessment{Score: score(a.findings), Findings: a.findings, Ran: a.runFiles, Kept: a.keptIn, Pushed: a.pushedTo, FetchedRun: a.fetchedRun, Discloses: a.discloses, Speaks: a.speaks || a.sends || a.pushed}
	all.Fed, all.RanIn, all.Called, all.Settings = a.obeyed, a.ranIn, a.called, a.settled
	if a.dynamic {
		all.Fed = append(slices.Clip(a.obeyed), a.named...)
		all.RanIn = append(slices.Clip(a.ranIn), a.namedIn...)
	}
	if a.altersRun {
		for _, p := range a.readFrom {
			all.Altered = noted(all.Altered, p)
		}
	}
	for _, pair := range append(slices.Clip(a.copies), a.made...) {
		if from, to := scriptName(pair[0]), scriptName(pair[1]); from != "" && to != "" && from != to {
			all.Copied = append(all.Copied, [2]string{from, to})
		}
	}
	for i := len(all.Copied) - 1; i >= 0; i-- { // what is a copy of what it runs, too
		if pair := all.Copied[i]; slices.Contains(all.Ran, pair[1]) {
			all.Ran = noted(all.Ran, pair[0])
		}
	}
	all.Later = a.later
	all.Tunnels, all.Strays = a.tunnels, a.strayed
	all.Mounted, all.Laid = a.mounted, a.laid
	if a.lingers {
		all.Awaited = append(slices.Clip(all.Ran), all.Fed...)
	}
	all.Copied = append(all.Copied, a.pairs...)
	all.Sent = a.gone
	if a.pushed {
		if all.Sent = append(all.Sent, repository); a.pushedStash {
			all.Sent = append(all.Sent, stash)
		}
		for _, pair := range a.pairs { // in the same call
			all.Sent = append(all.Sent, pair[0])
		}
	}
	if a.sends {
		for _, p := range a.readFrom {
			if name := scriptName(p); name != "" {
				all.Sent = append(all.Sent, name)
			}
		}
	}
	return all
}

// SendsKept is the finding that a call sends a file into which an earlier one put a secret.
func SendsKept(name string) Finding {
	if name == repository || name == workTree || name == stash {
		t := Default().effects["secret.shown"]
		return Finding{Beside: true, Code: "secret.shown", Category: t.category, Technique: t.technique, Weight: 0.6,
			Message: "The call pushes a repository to which this session added a file of secrets, such as .env. git rm --cached takes that out, and a line in .gitignore keeps it out."}
	}
	t := Default().effects["exfil.secret"]
	if archive, ok := strings.CutPrefix(name, Along("")); ok {
		return Finding{Beside: true, Code: "exfil.secret", Category: t.category, Technique: t.technique, Weight: 0.6,
			Message: fmt.Sprintf("The call sends %.80q, into which this session packed a folder with a file of secrets.", archive)}
	}
	return Finding{Beside: true, Code: "exfil.secret", Category: t.category, Technique: t.technique, Weight: t.weight,
		Message: fmt.Sprintf("The call sends %.80q, into which this session put what a place of secrets holds.", name)}
}

// With is the assessment with one finding more.
func (a Assessment) With(f Finding) Assessment {
	at := slices.IndexFunc(a.Findings, func(had Finding) bool { return had.Weight < f.Weight })
	if at < 0 {
		at = len(a.Findings)
	}
	a.Findings = slices.Insert(slices.Clip(a.Findings), at, f)
	a.Score = score(a.Findings)
	return a
}

// score is the gravest weight, raised a little by every other kind of finding:
// ten harmless oddities are not an attack, but of two calls with the same gravest
// finding the odder one ranks higher. Findings are ordered by weight.
func score(findings []Finding) float64 {
	const echo = 0.2 // how much of a further finding's weight counts
	rest := 1.0
	var codes []string
	for _, f := range findings {
		if slices.Contains(codes, f.Code) {
			continue
		}
		w := f.Weight
		if len(codes) > 0 {
			w *= echo
		}
		codes = append(codes, f.Code)
		rest *= 1 - w
	}
	return min(1-rest, 0.99)
}

// maxTurns is how many turns of a call's loops are read one by one.
const maxTurns = 32

func newAssessor(t *Table) *assessor {
	a := &assessor{table: t}
	a.seen, a.scale = map[string]int{}, 1
	a.budget = budget{bytes: maxTotal, inner: maxInner, loose: maxLoose, commands: maxCommands, words: maxArgs, turns: maxTurns}
	a.written, a.refs, a.paths = files{}, map[string]string{}, map[string]*namedPath{}
	a.opens, a.takers = map[string]flow{}, map[string][]*syntax.Stmt{}
	return a
}

// call is a tool call, its leaves sorted by what they are.
type call struct {
	tool   string
	words  []string // of the tool's name
	kind   toolKind
	leaves []leaf
	path   string // where content would be written, if that is known
	// names are the words of the tool's name as it was sent, and args what it is given beside
	// texts: numbers, true and false.
	names []string
	args  []act.Argument
	// server are the words of the name of the server that has the tool.
	server []string
	// byForm are the commands that a program and a list beside it make.
	byForm []formed
}

type leaf struct {
	act.Leaf
	role role
	// place is Pointer with the argument's name where its value stands, so that the names on
	// the way are the same by every door.
	place string
	// variable is the variable of a command that the value is of, where an object says both.
	variable string
	// words holds the members of a list of arguments, this leaf the first.
	words []string
	skip  bool // read together with another leaf
}

func newCall(tool string, leaves []act.Leaf) *call {
	c := &call{tool: strings.ToLower(tool), leaves: make([]leaf, 0, min(len(leaves), 64))}
	c.words = words(c.tool)
	c.kind = kindOfTool(c.words)
	names := hints{}
	for _, l := range leaves {
		one := leaf{Leaf: l, place: standsAt(&l)}
		one.Text = c.asTyped(one.Text)
		one.role = roleOf(c.kind, names, l.Arg, one.place, l.Text)
		if one.role == rolePath && c.path == "" {
			c.path = l.Text
		}
		c.leaves = append(c.leaves, one)
	}
	c.pairVariables()
	c.joinArguments()
	c.joinByForm()
	// The hooks call the two texts of an edit old and new, which say nothing where no
	// file is named: of a move they are paths.
	for i := range c.leaves {
		l := &c.leaves[i]
		if !c.kind.writes || c.path == "" || l.role != roleUnknown {
			continue
		}
		if name := c.nameOf(l); (name == "old" || name == "new") && (formOf(l.Text) != rolePath || strings.ContainsAny(l.Text, " \n") && !anyOf(c.words, movingTools)) {
			l.role = roleContent
		}
	}
	return c
}

// standsAt is where a leaf stands among the arguments of its call, whatever the door.
func standsAt(l *act.Leaf) string {
	if l.Base <= 0 || l.Base > len(l.Pointer) {
		return l.Pointer
	}
	return "/" + rawjson.EscapePointer(l.Arg) + l.Pointer[l.Base:]
}

// pairVariables finds which variables are set by {"name":"A","value":"b"} in a list of them.
func (c *call) pairVariables() {
	for i := range c.leaves {
		l := &c.leaves[i]
		object, member := splitPointer(l.place)
		list, n := splitPointer(object)
		if !isDigits(n) || !environments[lastName(list)] || !variableNames[strings.ToLower(member)] || !isName(l.Text) {
			continue
		}
		for _, j := range []int{i - 2, i - 1, i + 1, i + 2} {
			if j < 0 || j >= len(c.leaves) {
				continue
			}
			m := &c.leaves[j]
			if at, name := splitPointer(m.place); at == object && (strings.EqualFold(name, "value") || strings.EqualFold(name, "val")) {
				m.variable = l.Text
			}
		}
	}
}

// joinArguments puts the members of lists together that are one command's
// words: {"command":"rm","args":["-rf","/"]} and {"argv":["rm","-rf","/"]}, also where
// the arguments are one text, or come as pairs of a name and a value.
func (c *call) joinArguments() {
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.skip {
			continue
		}
		parent, index := splitPointer(l.place)
		isList := index == "0" && (l.role == roleCommand || l.role == roleUnknown)
		if !isList && programNames[ownName(l)] && programs()[baseName(strings.TrimSpace(l.Text))] {
			l.role = roleCommand
		}
		if !isList && (l.role != roleCommand || strings.ContainsAny(strings.TrimSpace(l.Text), " \n;|&")) {
			continue
		}
		words := []string{l.Text}
		for j := i + 1; j < len(c.leaves) && len(words) < maxWords; j++ {
			m := &c.leaves[j]
			p, n := splitPointer(m.place)
			sameList := isList && p == parent
			following := !isList && isDigits(n) && argumentLists[listName(p, m)]
			if !sameList && !following {
				break
			}
			words = append(words, m.Text)
		}
		if one := c.argumentsAsText(i); !isList && len(words) == 1 && one != nil {
			l.role, l.words, one.skip = roleCommand, append(words, looseWords(one.Text, maxWords-1)...), true
			continue
		}
		// A list of whole commands is not one command's words.
		if isList && manyCommands[listName(parent, l)] {
			continue
		}
		if len(words) < 2 || isList && strings.ContainsAny(strings.TrimSpace(l.Text), " \n;|&") {
			continue
		}
		if isList && l.role != roleCommand && !programs()[baseName(l.Text)] && (!argumentLists[listName(parent, l)] || c.program(l.Text) == "") {
			continue
		}
		l.role, l.words = roleCommand, words
		for j := range words[1:] {
			c.leaves[i+1+j].skip = true
		}
	}
}

// joinByForm puts a program and a list of texts beside it together, whatever they are called: a tool that
// starts programs may call them as it likes. Where the list is called what arguments are, it is a command;
// else only what is grave counts, since most lists beside a word are something else.
func (c *call) joinByForm() {
	var lists map[string]*listBeside // by the places beside which they stand, once they are asked for
	for i := range c.leaves[:min(len(c.leaves), maxWords)] {
		l := &c.leaves[i]
		text := strings.TrimSpace(l.Text)
		parent, index := splitPointer(l.place)
		if l.skip || l.words != nil || isDigits(index) || l.role == roleContent || l.role == roleCommand && argumentLists[ownName(l)] || len(text) > 255 || strings.ContainsAny(text, " \n;|&") || !programs()[baseName(text)] {
			continue
		}
		if lists == nil {
			lists = c.firstLists()
		}
		list := lists[parent]
		if list == nil || len(c.byForm) == maxByForm {
			continue
		}
		named := argumentLists[list.name]
		if named || slices.ContainsFunc(list.words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "/~ ") }) {
			c.byForm = append(c.byForm, formed{l.Pointer, len(l.Text), append([]string{text}, list.words...), named})
		}
	}
}

// listBeside is a list of texts: where it stands, what it is called, and its members.
type listBeside struct {
	at, name string
	words    []string
}

// firstLists are the first lists of texts in each object of a call, by where that stands.
func (c *call) firstLists() map[string]*listBeside {
	lists := map[string]*listBeside{}
	for i := range c.leaves {
		at, n := splitPointer(c.leaves[i].place)
		if !isDigits(n) {
			continue
		}
		above, name := splitPointer(at)
		list := lists[above]
		if list == nil {
			list = &listBeside{at: at, name: strings.ToLower(name)}
			lists[above] = list
		}
		if list.at == at && len(list.words) < maxWords {
			list.words = append(list.words, c.leaves[i].Text)
		}
	}
	return lists
}

// formed is a command that a program and a list beside it make, and whether the list is called what
// arguments are.
type formed struct {
	pointer string
	size    int
	words   []string
	named   bool
}

// maxByForm is how many such commands of one call are read.
const maxByForm = 8

// readByForm judges the commands that programs and lists beside them make.
func (a *assessor) readByForm(c *call) {
	for _, f := range c.byForm {
		a.pointer, a.size, a.runs = f.pointer, f.size, true
		at, floor := span{0, f.size}, Grave
		if f.named {
			floor = 0
		}
		ran, obeyed, ranIn := a.runFiles, a.obeyed, a.ranIn
		a.kept(1, floor, func() { a.argv(f.words, at) })
		if !f.named {
			a.runFiles, a.obeyed, a.ranIn = ran, obeyed, ranIn
		}
	}
}

// argumentsAsText is the text of a command's arguments that stands beside the command; nil if
// there is none.
func (c *call) argumentsAsText(command int) *leaf {
	beside, _ := splitPointer(c.leaves[command].place)
	for _, at := range []int{command + 1, command - 1} {
		if at < 0 || at >= len(c.leaves) {
			continue
		}
		l := &c.leaves[at]
		parent, last := splitPointer(l.place)
		if isDigits(last) || l.skip || !argumentLists[ownName(l)] {
			continue
		}
		if parent == beside || strings.EqualFold(last, "value") {
			return l
		}
	}
	return nil
}

// ownName is what a leaf is called: where names and values come in pairs, the name.
func ownName(l *leaf) string { return listName(l.place, l) }

// listName is what a list at a place is called, of which a leaf is, or which it is itself.
func listName(pointer string, l *leaf) string {
	if last := lastName(pointer); last != "value" {
		return last
	}
	return strings.ToLower(l.Arg)
}

// programNames are the names of arguments that say which program is started.
var programNames = set("program executable binary exe prog")

// manyCommands are the names of lists of which each member is a command.
var manyCommands = set("commands cmds scripts lines steps runs")

// argumentLists are the names of lists that hold a command's arguments.
var argumentLists = set("args arguments argv params parameters flags options")

func splitPointer(p string) (parent, last string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}

func lastName(pointer string) string {
	_, last := splitPointer(pointer)
	return strings.ToLower(last)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// read judges a call's texts: those that are run first, then the others, the
// shortest first. So no heap of harmless text uses up what may be read before the
// text is reached that matters.
func (a *assessor) read(c *call) {
	order, total := make([]*leaf, 0, len(c.leaves)), 0
	for i := range c.leaves {
		if l := &c.leaves[i]; !l.skip && l.Text != "" {
			order = append(order, l)
			total += len(l.Text)
		}
	}
	if total > a.bytes {
		slices.SortStableFunc(order, func(x, y *leaf) int {
			switch xs, ys := x.role.runs(), y.role.runs(); {
			case xs && ys:
				return 0
			case xs:
				return -1
			case ys:
				return 1
			}
			return len(x.Text) - len(y.Text)
		})
	}
	a.lingers = a.lingers || slices.ContainsFunc(c.args, asksForBackground)
	for _, l := range order {
		ran, obeyed, ranIn := a.runFiles, a.obeyed, a.ranIn
		a.leaf(c, l)
		if a.nested(c, l); l.role == roleContent { // it is kept, and runs nothing yet
			a.runFiles, a.obeyed, a.ranIn = ran, obeyed, ranIn
		}
	}
	a.readByForm(c)
	if a.depth == 0 && c.saysNoCommand() {
		a.runs = true
		a.starve(span{})
	}
	if a.depth == 0 {
		a.services(c)
		a.gitTool(c)
		a.movedByTool(c)
		a.removedByTool(c)
		a.emptiedByTool(c)
		a.programTool(c)
		a.answersByTool(c)
	}
}

// leaf judges one text of a call.
func (a *assessor) leaf(c *call, l *leaf) {
	a.pointer, a.size = l.Pointer, len(l.Text)
	form := roleUnknown
	if l.role == roleUnknown {
		form = formOf(l.Text)
	}
	a.runs = l.role.runs() || form == roleCommand
	text := l.Text
	whole := span{0, len(text)}
	a.bytes = max(0, a.bytes-leafCost)
	most := min(maxText, a.bytes)
	if l.role == roleCommand {
		most = a.bytes
	}
	if len(text) > most || most == 0 {
		a.starve(whole)
		if text = text[:most]; text == "" {
			return
		}
	}
	a.bytes -= len(text)
	if l.role != rolePath {
		a.secrets(text)
	}
	a.telling(c, l, text)
	a.givesAway(c, l, form, text)
	if (c.kind.writes || anyOf(c.words, patchingTools)) && isPatch(text) {
		a.patch(text, whole)
		return
	}
	if name, value := variableOf(l); name != "" {
		s := &shell{assessor: a, vars: map[string]flow{}, files: a.written, fixed: &whole, at: whole, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
		s.variable(name, flow{text: value, known: true})
		if formOf(value) == roleCommand { // what is called a variable may be run all the same
			a.command(value, nil)
		}
		return
	}
	if l.role != rolePath && l.role != roleURL && l.role != roleCommand && l.role != roleCode && (anyOf(c.words, sendingTools) || anyOf(c.words, fetchingTools)) {
		a.encoded(text, whole)
	}
	switch l.role {
	case roleCommand:
		if anyOf(c.words, remoteTools) {
			a.elsewhere(func() { a.commandOf(c, l, text) })
		} else {
			a.commandOf(c, l, text)
		}
	case roleCode:
		a.code(languageOf(c.tool+" "+l.Arg, text), text, whole, false)
	case rolePath:
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			a.watchedFile(line, c.kind.writes, flow{})
			a.discloses = a.discloses || !c.kind.writes && KeepsSecrets(line)
			if c.kind.writes && a.addsSettings(c, line) {
				a.report("persist.profile", 0, whole)
				continue
			}
			a.path(line, c.kind.writes, whole)
		}
	case roleURL:
		if file, ok := c.localFile(text); ok {
			a.path(file, c.kind.writes, whole)
			return
		}
		a.url(text, whole)
	case roleSQL:
		a.sql(text, whole)
	case roleContent:
		if !oldTexts[c.nameOf(l)] {
			a.asksNobody(c.path, text, whole)
			a.settings(c.path, text, whole)
			a.putsProgram(c.path, text, whole)
		}
		a.content(c.path, text, whole)
	case roleProse:
		a.prose(text, whole)
	case roleSought: // what it says is done to nothing
	default:
		if file, ok := c.localFile(text); ok && form == roleURL {
			a.path(file, c.kind.writes, whole)
			return
		}
		if argumentLists[c.nameOf(l)] {
			a.wordsOf(c, text)
		}
		a.unknown(text, form, whole)
	}
}

// patchingTools are words in the names of tools that are given patches.
var patchingTools = set("patch diff apply edit change changes")

// environments are the names of arguments that hold variables for what a call runs.
var environments = set("env envs environ environment environmentvariables envvars env_vars variables vars")

// variableNames are what members are called that say which variable an object is.
var variableNames = set("name key variable var")

// shellTools are tools that run what they are given as a command, and do nothing else.
var shellTools = set("bash sh zsh shell powershell pwsh cmd run_command run_shell_command execute_command exec_command shell_command")

// saysNoCommand reports whether a shell is called without a command that can be read: with none, or with
// one that is no text.
func (c *call) saysNoCommand() bool {
	if !shellTools[strings.Join(c.words, "_")] {
		return false
	}
	for i := range c.args {
		if name := plainName(c.args[i].Name); listed("command cmd commandline script code", name) {
			value := strings.TrimSpace(string(c.args[i].Value))
			return value == "" || !strings.ContainsRune(`"[{`, rune(value[0]))
		}
	}
	return false
}

// variableOf is the variable that a call gives to what it runs with a leaf, and its value; empty if the
// leaf is none. It stands in an object under its name, in a list as NAME=value, or there as an
// object of a name and a value.
func variableOf(l *leaf) (name, value string) {
	parent, name := splitPointer(l.place)
	value = l.Text
	if l.variable != "" {
		return l.variable, value
	}
	if isDigits(name) { // NAME=value, in a list
		name, value, _ = strings.Cut(value, "=")
	}
	if !environments[lastName(parent)] || !isName(name) {
		return "", ""
	}
	return name, value
}

// commandOf judges a leaf that is a command.
func (a *assessor) commandOf(c *call, l *leaf, text string) {
	whole := span{0, len(text)}
	if l.words != nil {
		if len(l.words) == maxWords {
			a.starve(whole)
		}
		a.argv(l.words, whole)
		if program := c.program(l.words[0]); program != "" {
			a.argv(append([]string{program}, l.words...), whole)
		}
		return
	}
	a.command(text, nil)
	a.eitherWay(l.Arg, text, whole)
	a.wordsOf(c, text)
}

// fetchingTools are words in the names of tools that are meant for what lies on the net: a file of
// the machine that they run on is none of it.
var fetchingTools = set("fetch http https request requests scrape crawl download curl wget proxy webhook web url urls webpage website")

// localFile is the path that an address of a file says: editors and servers of languages name
// files so. A tool that fetches from the net is given none.
func (c *call) localFile(text string) (file string, ok bool) {
	const scheme = "file:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) || strings.ContainsAny(text, "?\n") || anyOf(c.words, fetchingTools) {
		return "", false
	}
	file = text[len(scheme):]
	if rest, found := strings.CutPrefix(file, "//"); found {
		if file = strings.TrimPrefix(rest, "localhost"); !strings.HasPrefix(file, "/") {
			return "", false // on another machine
		}
	}
	if plain, err := url.PathUnescape(file); err == nil && strings.HasPrefix(file, "/") && strings.IndexByte(plain, ':') == 2 {
		file = strings.TrimPrefix(file, "/") // a drive of Windows
	}
	return file, true
}

// eitherWay reads what runs as code, too: a tool that runs what it is given need not be a
// shell, unless the argument's name says so. No line of a shell that does something is a
// program of these languages, and no such program does something as a shell's line.
func (a *assessor) eitherWay(arg, text string, at span) {
	if arg == "command" || !strings.ContainsAny(text, "(%!") || listed("command commands cmd cmdline commandline shell bash sh powershell argv terminal", strings.Join(words(arg), "")) {
		return
	}
	for _, language := range []string{"python", "js"} {
		code, commands := text, []string(nil)
		if language == "python" {
			code, commands = magics(text)
		}
		if len(commands) > 0 || effects.Whole(language, code) {
			a.code(language, text, at, false)
			return
		}
	}
}

// secrets notes what looks like a key or password in a text that the call hands
// on. Where it goes may be where it belongs: it is a note, and no verdict.
func (a *assessor) secrets(text string) {
	for i, f := range risk.Scan(text[:min(len(text), 128<<10)], risk.Secret, nil) {
		if i == 8 {
			return
		}
		a.report("secret.content", 0.35*f.Score, span{f.Start, f.End})
	}
}

// unknown reads a text of which nothing says what it is.
func (a *assessor) unknown(text string, form role, at span) {
	switch form {
	case roleURL:
		a.url(text, at)
	case rolePath:
		a.path(text, false, at)
		a.sql(text, at)
	case roleCommand:
		a.command(text, nil)
	case roleSQL:
		a.sql(text, at)
	default:
		a.sql(text, at)
		a.prose(text, at)
	}
}

// prose is text for people, in which an attack may still be quoted or hidden:
// only where it goes (hosts) and traversals inside it are looked at.
func (a *assessor) prose(text string, at span) {
	if len(text) > 4096 || strings.ContainsAny(text, "\n") {
		return
	}
	if strings.ContainsAny(text, "/\\%") && !strings.Contains(text, " ") {
		a.path(text, false, at)
	}
}

// content is text that would be written to a file. It is judged where it would
// run later by itself, or where it is a script, and then less sternly than a
// command that runs now.
func (a *assessor) content(path, text string, at span) {
	p := normalPath(path)
	lang := languageOfFile(p.text, text)
	place := placeOf(p.text)
	if from := a.from(path); place.name == "" && from != "" {
		place = placeOf(normalPath(from).text)
	}
	byItself := place.write >= 0.7 || isGitHook(p.text)
	switch {
	case byItself && lang == "":
		lang = "sh"
	case lang == "":
		return
	}
	if len(text) > 128<<10 {
		if byItself {
			a.runs = true
			a.starve(at)
		}
		text = text[:128<<10]
	}
	// A script is no command that runs: setup scripts download, install and delete. What
	// somebody wants to run is judged when it is run, and what runs by itself here.
	scale := 0.95
	if lang == "sh" && !byItself {
		scale = 0.5
	}
	a.kept(scale, 0.79*scale, func() {
		if lang != "sh" {
			a.code(lang, text, at, true)
			return
		}
		if isCrontab(p.text) {
			text = cronCommands(text)
		}
		a.command(text, &at)
	})
}

// isGitHook reports whether git runs a file by itself, at its own events.
func isGitHook(p string) bool {
	return strings.Contains("/"+p, "/.git/hooks/") && !strings.HasSuffix(p, ".sample")
}
