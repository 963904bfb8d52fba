package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// Session is what conditions may see of a session's memory.
type Session struct {
	Steps, Calls int64     // steps and tool calls so far, this one not counted
	Started      time.Time // zero when unknown
	Tainted      bool      // untrusted content entered the present turn
	Autonomous   bool      // an event started it, not a person
	Known        bool      // its memory is whole: nothing expired or was evicted
	// Values are what is known of where the session's values came from; nil for nothing.
	Values *provenance.Memory
	// At is the position of the record of one of its steps, where that is known, and the
	// tool whose result it was; nil for none.
	At func(step int64) (at act.Position, tool string, ok bool)
	// Habits are what is known of what the agent usually does; nil for nothing.
	Habits *habits.View
	// Past is what the session has done of an act that the policy counts, and whether that is
	// all of it; nil for nothing that is known.
	Past func(key uint64) (d session.Done, sure bool)
	// Instructed reports whether a value stands in the agent's own instructions; nil for none.
	Instructed func(value string) bool
	// Written is how grave it would be to run a file that the session wrote, by its name; 0
	// for one that it did not write. Nil for nothing.
	Written func(name string) float64
	// Inside is the same of what stands in such a file.
	Inside func(name string) float64
	// WroteTo reports whether the session wrote to a file. Nil for nothing.
	WroteTo func(name string) bool
	// OwnWork reports whether, of what its work wrote, the session itself wrote a file. Nil for all.
	OwnWork func(name string) bool
	// Brought is the same of what lies in a folder that came from elsewhere.
	Brought func(name string) float64
	// Awaits reports whether something that the session began may run what is written into a
	// file. Nil for nothing.
	Awaits func(f *hazard.File) bool
	// Tunnelled reports whether the session has made one of these ports of this machine lead to
	// another one. Nil for nothing.
	Tunnelled func(ports func() []string) bool
	// Mounted reports whether the session has mounted a folder from another machine.
	Mounted func(folder string) bool
	// Astray reports whether what files say of the data of a project may not be so, for what the
	// session did. Nil for no: who asks has looked at the files, and there is no session.
	Astray func(stores []act.Stores) bool
	// Kept reports whether the session put what a place of secrets holds into a file of this
	// name.
	Kept func(name string) bool
	// Held is what the session knows of the values that it has read in places of secrets.
	Held hazard.Held
	// Wrote reports whether the session has itself written exactly this text into a file.
	// Who reads it back reads nothing that came from elsewhere.
	Wrote func(text string) bool
	// Valued reports whether the session has itself written this value, which looks like a
	// secret, into a file: a model that reads it back had it before. Nil for none.
	Valued func(value string) bool
	// Local says that the act brings what was read from the machine itself.
	Local bool
	// CalledBy is the tool whose result an act is, as the session knows it; nil to believe
	// what the act says of itself.
	CalledBy func(a *act.Action) string
}

// Input is what a policy judges.
type Input struct {
	Action     *act.Action
	Session    Session
	Violations []act.Violation
	// Refusals are why reeve itself denies the act, whatever the rules say.
	Refusals []act.Reason
	// Reading is what the act would do, as others read it too; nil where nobody does.
	Reading *hazard.Reading
	// Form is the verdict's, for whoever goes on with the act.
	Form *Form

	targets *targets // as they were read first, for whoever asks again of the same act
}

// Finding is what a detector found in one leaf of an action's content.
type Finding struct {
	Leaf int // index into Action.Content
	risk.Finding
}

// Verdict is what a policy says about an action. The zero value denies.
type Verdict struct {
	Effect act.Effect
	// Reasons holds every rule that matched, and what failed: those that were
	// applied first, strictest first, then those that only observe.
	Reasons []act.Reason
	// Edits make the modified request, when the effect is modify, and the one
	// that a person is asked to agree to, when it is escalate.
	Edits []act.Edit
	// Conditions are what the rules that let the act pass ask for, in sentences.
	// An act that is denied has none.
	Conditions []string
	Risk       act.Risk
	Findings   []Finding
	// Form is what the edits make of the act, once it was judged so; nil where there are none.
	Form *Form
}

// Form is an act as edits change it, with the reading by which it was judged.
type Form struct {
	Action  *act.Action
	Reading *hazard.Reading
	Edits   []act.Edit
}

// evaluation is the working memory of one Evaluate, and the activation that
// conditions read their variables from. It is reused.
type evaluation struct {
	in         *Input
	set        *Set
	targets    *targets // once they are asked for
	traced     []traced // whose values are known
	usual      *bool    // whether all is usual, likewise
	asks       bool     // a rule asks about what the act is done upon, whatever is found in it
	table      *hazard.Table
	call       *hazard.Reading // what the act would do
	rules      []*rule         // candidates
	matches    []match
	args       object
	reading    reading
	content    ref.Val
	paths      ref.Val
	text       ref.Val
	folded     ref.Val
	grams      *trigrams // of folded, once a pattern asks
	gramsMade  bool
	findings   []risk.Finding
	leaves     []int         // the leaf of each finding
	foundMask  risk.Detector // of all findings
	violations []int         // indices into in.Violations, see match
	hazards    hazard.Assessment
	assessed   bool // hazards is known
}

// match is a rule on its way to matching.
type match struct {
	rule       *rule
	violations []int // of the checks that the rule names: the certain ones, or else the unsure ones
	unsure     bool  // there are only unsure ones
	lifted     bool  // by an exception
	err        error // the condition failed
	edits      []argumentEdit
}

// argumentEdit gives one argument another value.
type argumentEdit struct {
	pointer string
	value   []byte
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func (s *Set) newEvaluation(in *Input) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.in, e.set, e.table, e.call = in, s, s.table, in.Reading.For(in.Action)
	e.args.reading = &e.reading
	e.args.reset(in.Action.Arguments)
	return e
}

// free returns e to the pool without holding on to a request's bytes.
func (e *evaluation) free() {
	e.args.reset(nil)
	clear(e.rules)
	clear(e.matches[:cap(e.matches)])
	*e = evaluation{
		grams: e.grams, rules: e.rules[:0], matches: e.matches[:0], args: object{vals: e.args.vals},
		traced: cleared(e.traced), findings: e.findings[:0], leaves: e.leaves[:0], violations: e.violations[:0],
	}
	if cap(e.findings) < 4096 && cap(e.args.vals) < 4096 && cap(e.rules) < 4096 {
		evaluations.Put(e)
	}
}

func cleared(list []traced) []traced { clear(list); return list[:0] }

// evaluate judges an act in one form and one reading. Where that leaves out
// invisible characters, the act is what visible made, and its arguments are cleaned
// as they are read. differs says that a folded reading may come to something else.
func (s *Set) evaluate(in *Input, how reading) (v Verdict, differs bool) {
	e := s.newEvaluation(in)
	defer e.free()
	e.reading = how
	e.rules = s.index.candidates(e.rules, in)
	e.judge()
	v = s.conclude(e)
	return v, e.reading.differs
}

// judge finds which candidates match. What costs little goes first: a rule's
// checks and its condition, and only then, once for all rules that are still
// in question, the detectors.
func (e *evaluation) judge() {
	var want risk.Detector
	for _, r := range e.rules {
		m := match{rule: r}
		if r.check != nil && !e.violated(&m) {
			continue
		}
		if r.acts != nil && !e.isOneOf(r.acts) {
			continue
		}
		if r.hazard > 0 && !e.endangers(r) {
			continue
		}
		if r.when != nil && r.when.found == 0 {
			holds, err := e.eval(r.when)
			if err == nil && !holds {
				continue
			}
			m.err = err
		}
		want |= r.scan
		e.matches = append(e.matches, m)
		e.asks = e.asks || r.acts != nil && r.effect == act.Escalate && !m.observed() && m.err == nil && r.scan == 0
	}
	if want != 0 {
		e.scan(want)
		kept := e.matches[:0]
		for _, m := range e.matches {
			if e.holds(&m) {
				kept = append(kept, m)
			}
		}
		e.matches = kept
	}
	e.replacements()
}

// holds decides the parts of a rule that need the detectors.
func (e *evaluation) holds(m *match) bool {
	r := m.rule
	if r.detect != 0 && !e.detected(r) {
		return false
	}
	if r.when != nil && r.when.found != 0 {
		holds, err := e.eval(r.when)
		if err == nil && !holds {
			return false
		}
		m.err = err
	}
	return true
}

// detected reports whether a rule's detectors found something that counts for it.
func (e *evaluation) detected(r *rule) bool {
	if e.foundMask&r.detect == 0 {
		return false
	}
	if r.texts == everyUse && r.least == 0 {
		return true
	}
	for i := range e.findings {
		if e.counts(r, i) {
			return true
		}
	}
	return false
}

// counts reports whether finding i is one of a rule's detectors, in a text that
// the rule looks at, and grave enough.
func (e *evaluation) counts(r *rule, i int) bool {
	f := &e.findings[i]
	if r.change.kind == redact && e.given(i) {
		return false
	}
	return f.Detector&r.detect != 0 && f.Score >= r.least && e.looksAt(r, e.leaves[i])
}

// looksAt reports whether a rule's detectors count in leaf i.
func (e *evaluation) looksAt(r *rule, i int) bool {
	return r.texts>>e.part(i).Use&1 != 0 || r.texts&guiding != 0 && e.in.Action.Content[i].Guides
}

// part is what leaf i is for. Only the texts of calls are anything but said.
func (e *evaluation) part(i int) hazard.Part {
	if !e.in.Action.IsCall() {
		return hazard.Part{}
	}
	return e.call.Parts()[i]
}

// violated notes which of the violations are of the rule's checks. Certain
// ones decide; unsure ones alone are only flagged.
func (e *evaluation) violated(m *match) bool {
	collect := func(unsure bool) {
		start := len(e.violations)
		for i := range e.in.Violations {
			if v := &e.in.Violations[i]; v.Unsure == unsure && slices.Contains(m.rule.check, v.Check) {
				e.violations = append(e.violations, i)
			}
		}
		m.violations = e.violations[start:len(e.violations):len(e.violations)]
	}
	if collect(false); len(m.violations) == 0 {
		collect(true)
		m.unsure = true
	}
	return len(m.violations) > 0
}

// eval evaluates a condition. An error says that it has no answer.
func (e *evaluation) eval(c *condition) (bool, error) {
	v, err := e.run(c)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("its condition is neither true nor false")
	}
	return bool(b), nil
}

// run evaluates an expression.
func (e *evaluation) run(c *condition) (ref.Val, error) {
	e.reading.spellings = c.spellings
	v, _, err := c.program.Eval(e)
	if err != nil {
		return nil, e.failure(c, err)
	}
	return v, nil
}

// failure says why a condition failed. CEL's own words can quote the values
// that it met, so they are not used.
func (e *evaluation) failure(c *condition, err error) error {
	for _, p := range c.reads {
		if v, ok := e.args.find(p[0]); !ok {
			return fmt.Errorf("the argument %q is missing", p[0])
		} else if types.IsError(v) {
			return fmt.Errorf("the argument %q is given twice", p[0])
		}
	}
	text := err.Error()
	switch {
	case strings.Contains(text, unremembered):
		return fmt.Errorf("it is not known what this session did before")
	case strings.Contains(text, "no such key"):
		return fmt.Errorf("a value that it reads is missing")
	case strings.Contains(text, "no such overload"):
		return fmt.Errorf("a value has another type than it expects")
	case strings.Contains(text, "given twice"):
		return fmt.Errorf("an argument is given twice")
	case strings.Contains(text, "too long"):
		return fmt.Errorf("a value is too long for it")
	case strings.Contains(text, "index out of bounds"):
		return fmt.Errorf("a list that it reads is too short")
	}
	return fmt.Errorf("its condition has no result")
}

// assess judges what a tool call would do, once.
func (e *evaluation) assess() *hazard.Assessment {
	if !e.assessed {
		e.assessed = true
		if a := e.in.Action; a.IsCall() {
			call := e.call
			if astray := e.in.Session.Astray; astray != nil && (len(a.Stores) > 0 || a.Cluster != "") && astray(a.Stores) {
				call = call.Astray()
			}
			e.hazards = call.Assess(e.table)
			through := e.in.Session.Tunnelled != nil && e.in.Session.Tunnelled(e.call.Ports)
			held := e.in.Session.Held.With(hazard.Held{Holds: e.in.Action.HoldsSecret, Knows: e.in.Action.SecretFor})
			switch {
			case held.Holds != nil && e.hazards.Speaks:
				e.hazards = call.Telling(e.table, held, through)
			case through:
				e.hazards = call.Through(e.table)
			}
			e.runsWritten()
			e.writesAwaited()
			e.sendsKept()
			e.laysInMounted()
			// A model can be talked into a low score by what it reads, but not
			// into lowering that of the heuristics.
			if m := a.Model; m != nil && *m > e.hazards.Score {
				f := hazard.Finding{Code: "model", Category: "ASI01", Weight: *m, Message: "The model that was asked finds this call dangerous."}
				e.hazards.Score, e.hazards.Findings = *m, append([]hazard.Finding{f}, e.hazards.Findings...)
			}
		}
	}
	return &e.hazards
}

// runsWritten adds what the files do that the call runs, and what stands in those of which it runs
// something that the session wrote before.
func (e *evaluation) runsWritten() {
	read := map[string]bool{}
	for _, r := range e.in.Action.Runs {
		if r.Found {
			e.hazards = e.hazards.With(e.table.InFound(r))
			continue
		}
		if !r.Sets {
			read[r.File] = true
		}
		if r.Code != "" {
			e.hazards = e.hazards.With(e.table.InFile(r, e.writer(r.File)))
		}
	}
	for _, of := range []struct {
		names   []string
		written func(name string) float64
		code    string
		says    string
	}{
		{e.hazards.Ran, e.ranWritten(), "shell.written_run", "The call runs %.80q, which %s wrote or fetched, and which would do what asks a person where a command does it."},
		{e.hazards.Called, e.in.Session.Written, "shell.written_run", "The call runs a program of a name, %.80q, that %s has given to a file of its own, which would do what asks a person where a command does it."},
		{e.hazards.RanIn, e.in.Session.Brought, "code.foreign", "The call runs what lies in the folder %.80q, which %s brought from elsewhere: nobody is known to have looked at it."},
		{e.hazards.Fed, e.in.Session.Inside, "shell.written_run", "The call runs what it reads in %.80q, which %s wrote or fetched, and which would do what asks a person where a command does it."},
		{e.hazards.Altered, e.wroteTo, "shell.written_run", "The call runs what a filter makes of %.80q, which %s wrote: what that will be nobody can read."},
		{e.hazards.Later, e.graveWritten, "persist.setting", "The call has a program of somebody's run %.80q later, which %s wrote, and which would do what hardly anybody wants."},
		{e.hazards.Pushed, e.in.Session.Written, "publish.elsewhere", "The call pushes to %.80q, which %s has put at an address that only foreign text has named, or where people do not keep their repositories."},
		{e.hazards.FetchedRun, e.onlyHeard, "code.foreign", "The call fetches %.80[1]q and runs it, and only foreign text has named it: nobody is known to have looked at it."},
	} {
		for _, name := range of.names {
			if of.written == nil {
				break
			}
			if w := of.written(name); w > 0 && !read[name] {
				e.hazards = e.hazards.With(hazard.Finding{Code: of.code, Category: "ASI05", Technique: "T1059", Weight: w, Message: fmt.Sprintf(of.says, name, e.writer(name)), Beside: true})
			}
		}
	}
}

// writer says which session wrote a file: this one, or another of those that work in its folder.
func (e *evaluation) writer(name string) string {
	if own := e.in.Session.OwnWork; own != nil && !own(name) {
		return "another session here"
	}
	return "this session"
}

// onlyHeard is how grave it is to run a package that only foreign text has named in this session, and text from
// elsewhere: what lies in the folder, or a command printed, is the user's more often than not. Of a name that is
// one plain word it is not remembered where it was read.
func (e *evaluation) onlyHeard(name string) float64 {
	o, step := e.trace("", name)
	if o != provenance.Foreign || step <= 0 || e.in.Session.At == nil {
		return 0
	}
	if _, tool, ok := e.in.Session.At(step); !ok || hazard.FromHere(tool) {
		return 0
	}
	return mayDo
}

// wroteTo is how grave it is to run what a filter makes of a file, if the session wrote that.
func (e *evaluation) wroteTo(name string) float64 {
	if e.in.Session.WroteTo == nil || !e.in.Session.WroteTo(name) {
		return 0
	}
	return 0.5
}

// ranWritten is how grave it is that a file runs which the session wrote. What stands in one that no
// reader knows is asked about, if some line of it would be grave: its program may do it.
func (e *evaluation) ranWritten() func(name string) float64 {
	written, inside := e.in.Session.Written, e.in.Session.Inside
	if written == nil || inside == nil {
		return written
	}
	return func(name string) float64 {
		if w := written(name); w > 0 || !hazard.MayHoldOrders(name) || inside(name) < hazard.Grave {
			return w
		}
		return mayDo
	}
}

// graveWritten is how grave it is that settings name a file which the session wrote, where running that is
// grave.
func (e *evaluation) graveWritten(name string) float64 {
	if e.in.Session.Written == nil || e.in.Session.Written(name) < hazard.Grave {
		return 0
	}
	return mayDo
}

// mayDo is how grave it is that a program is given a file which it may obey: somebody is asked.
const mayDo = 0.5

// writesAwaited adds what it would be to run the files that the call writes and that something
// which the session has begun is going to run.
func (e *evaluation) writesAwaited() {
	if e.in.Session.Awaits == nil {
		return
	}
	for _, f := range e.call.Written() {
		w := max(f.Weight, f.Inside)
		if f.Copy != "" && e.in.Session.Inside != nil {
			w = e.in.Session.Inside(f.Copy)
		}
		for _, name := range f.Takes { // which lie there already
			if e.in.Session.Written != nil {
				w = max(w, e.in.Session.Written(name))
			}
		}
		if w > 0 && e.in.Session.Awaits(&f) {
			e.hazards = e.hazards.With(hazard.Finding{Code: "shell.written_run", Category: "ASI05", Technique: "T1059", Weight: w, Message: fmt.Sprintf("The call writes %.80q, which something that was begun before runs, or reads its commands from. What stands in it may do what a command may not do unasked.", f.Name)})
		}
	}
}

// sendsKept adds that the call sends a file into which the session put a secret before.
func (e *evaluation) sendsKept() {
	if e.in.Session.Kept == nil {
		return
	}
	for _, name := range e.hazards.Sent {
		for _, as := range []string{name, hazard.Along(name)} {
			if e.in.Session.Kept(as) {
				e.hazards = e.hazards.With(hazard.SendsKept(as))
				break
			}
		}
	}
}

// laysInMounted adds that the call puts a secret into a folder that the session mounted from another machine.
func (e *evaluation) laysInMounted() {
	if e.in.Session.Mounted == nil {
		return
	}
	for _, place := range e.hazards.Laid {
		if i := slices.IndexFunc(hazard.FoldersOf(place), e.in.Session.Mounted); i >= 0 {
			e.hazards = e.hazards.With(hazard.LaidIn(hazard.FoldersOf(place)[i]))
			return
		}
	}
}

// endangers reports whether the call's hazards are grave enough for the rule: all of
// them together, or one that has an effect that it names.
func (e *evaluation) endangers(r *rule) bool {
	a := e.assess()
	if r.effects == nil {
		return a.Score >= r.hazard
	}
	return slices.ContainsFunc(a.Findings, r.names)
}

// names reports whether a hazard is one of those that the rule names.
func (r *rule) names(f hazard.Finding) bool {
	return f.Weight >= r.hazard && slices.ContainsFunc(r.effects, func(pattern string) bool { return glob.Match(pattern, f.Code) })
}

// scan runs the detectors over the content.
func (e *evaluation) scan(want risk.Detector) {
	var spread map[int][]risk.Finding
	if want&risk.Injection != 0 {
		spread = across(e.in.Action)
	}
	for i := range e.in.Action.Content {
		looked := wanted(&e.in.Action.Content[i], want)
		own := looked&(risk.Injection|risk.Secret) != 0 && e.wrote(i)
		if own {
			looked &^= risk.Injection | risk.Guidance | risk.Secret
		}
		before := len(e.findings)
		e.findings = e.set.detectors.Scan(e.in.Action.Content[i].Text, looked, e.findings)
		e.leaveOwn(i, before)
		if !own {
			e.findings = append(e.findings, spread[i]...)
		}
		for len(e.leaves) < len(e.findings) {
			e.foundMask |= e.findings[len(e.leaves)].Detector
			e.leaves = append(e.leaves, i)
		}
	}
}

// leaveOwn leaves out of what was found in leaf i, from one finding on, the secrets that the session
// itself has written into a file. Masked, its agent could not edit its own lines.
func (e *evaluation) leaveOwn(i, from int) {
	if e.in.Session.Valued == nil || !session.Returns(e.in.Action) {
		return
	}
	kept := e.findings[:from]
	for _, f := range e.findings[from:] {
		if f.Detector != risk.Secret || !e.in.Session.Valued(e.in.Action.Content[i].Text[f.Start:f.End]) {
			kept = append(kept, f)
		}
	}
	e.findings = kept
}

// wrote reports whether leaf i of what comes in is a text that the session wrote itself.
func (e *evaluation) wrote(i int) bool {
	return e.in.Session.Wrote != nil && session.Returns(e.in.Action) && e.in.Session.Wrote(e.in.Action.Content[i].Text)
}

// wanted is what is looked for in a leaf: in one that tells a model how to use tools,
// injection is more.
func wanted(leaf *act.Leaf, want risk.Detector) risk.Detector {
	if leaf.Guides && want&risk.Injection != 0 {
		return want | risk.Guidance
	}
	return want
}

// ResolveName gives conditions their variables.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if name == evaluationName {
		return e, true
	}
	get := variableByName[name]
	if get == nil {
		if own, ok := strings.CutPrefix(name, foundPrefix); ok {
			bits, ok := e.set.detectorOf(own)
			return types.Bool(e.foundMask&bits != 0), ok
		}
		return nil, false
	}
	return get(e), true
}

// Parent is part of CEL's activation.
func (e *evaluation) Parent() interpreter.Activation { return nil }

var _ cel.Activation = (*evaluation)(nil)

// variables are all that conditions can read. Each namespace holds either what
// reeve established or what the caller says, never both under one name.
var variables = []variable{
	{"action.kind", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Kind) }, "the kind of act, such as tool.call"},
	{"action.door", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Door) }, "the protocol that it came by"},
	{"action.method", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Method) }, "the protocol's method"},
	{"action.time", cel.TimestampType, func(e *evaluation) any { return types.Timestamp{Time: e.in.Action.At} }, "when reeve received it"},
	{"action.principal.name", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Name) }, "who asks, by credential"},
	{"action.principal.method", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Method) }, "how they proved it"},
	{"action.principal.organization", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Organization) }, "the credential's organization"},
	{"action.principal.on_behalf_of", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Delegated().OnBehalfOf) }, "who is acted for, by the token"},
	{"action.principal.actors", cel.ListType(cel.StringType), func(e *evaluation) any {
		return types.NewStringList(jsonAdapter{}, e.in.Action.Principal.Delegated().Actors)
	}, "who acts for them, the present one first"},
	{"action.principal.client", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Delegated().Client) }, "the OAuth client that the token was given to"},
	{"action.principal.scopes", cel.ListType(cel.StringType), func(e *evaluation) any {
		return types.NewStringList(jsonAdapter{}, e.in.Action.Principal.Delegated().Scopes)
	}, "what the token is good for"},
	{"action.principal.proof", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Principal.Delegated().Proof) }, "how the token was shown to be the caller's own: dpop or mtls"},
	{"action.tool", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Canonical) }, "the tool's or peer's name in its one form"},
	{"action.resource", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Resource) }, "the name as sent"},
	{"action.confusable", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Action.Confusable) }, "the name has look-alike characters"},
	{"action.server", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Server) }, "the MCP server or A2A peer"},
	{"action.inner_method", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.InnerMethod) }, "the method of a wrapped A2A or MCP message"},
	{"action.from", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Speaker()) }, "who the text comes from"},
	{"action.failed", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Action.Failed) }, "a result says that the tool failed"},
	{"action.control", cel.ListType(cel.StringType), func(e *evaluation) any { return textsOf(e.targetsOf().control) }, "upon whom or what the act is done"},
	{"action.carries", cel.ListType(cel.StringType), func(e *evaluation) any { return textsOf(e.targetsOf().carries) }, "the content that it carries"},
	{"action.acts", cel.ListType(cel.StringType), func(e *evaluation) any { return types.NewStringList(jsonAdapter{}, e.targetsOf().names) }, "the names of the policy's acts that it is"},
	{"action.hints", cel.ListType(cel.StringType), func(e *evaluation) any {
		return types.NewStringList(jsonAdapter{}, append([]string{}, e.set.hints(e.in.Action).Names()...))
	}, "what the MCP server says of the tool called: destructive, writes and open-world always, the others where a label takes them of it"},
	{"action.local", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Session.Local) }, "what it brings was read from the machine itself"},
	{"action.reasoning", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Reasoning) }, "the agent's reasoning"},

	{"agent.id", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.ID) }, "the agent's id, as it says"},
	{"agent.name", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.Name) }, "its name"},
	{"agent.version", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.Version) }, "its version"},
	{"agent.provider", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.Provider) }, "its provider"},
	{"agent.model", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.Model) }, "its model's id"},
	{"agent.organization", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Agent.Organization) }, "its organization"},

	{"user.exists", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Action.User.ID != "") }, "the agent names a user"},
	{"user.id", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.User.ID) }, "the user's id, as the agent says"},
	{"user.name", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.User.Name) }, "their name"},
	{"user.email", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.User.Email) }, "their address"},
	{"user.organization", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.User.Organization) }, "their organization"},

	{"session.id", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Session) }, "the session's id, as the agent says"},
	{"session.folder", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Folder) }, "the folder that the agent works in, as its hook says; empty where nothing does"},
	{"session.turn", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Turn) }, "the turn's id"},
	{"session.step", cel.StringType, func(e *evaluation) any { return types.String(e.in.Action.Step) }, "the step's id"},
	{"session.steps", cel.IntType, func(e *evaluation) any { return types.Int(e.in.Session.Steps) }, "steps before this one"},
	{"session.calls", cel.IntType, func(e *evaluation) any { return types.Int(e.in.Session.Calls) }, "tool calls before this one"},
	{"session.age", cel.DurationType, func(e *evaluation) any { return types.Duration{Duration: e.age()} }, "since its first step"},
	{"session.tainted", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Session.Tainted) }, "untrusted content entered this turn"},
	{"session.autonomous", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Session.Autonomous) }, "an event started it, not a person"},
	{"session.foreign", cel.BoolType, func(e *evaluation) any {
		v := e.in.Session.Values
		return types.Bool(v != nil && (v.Foreign || v.Lost))
	}, "text that is neither the user's nor one's own was read in it"},
	{"session.heard", cel.BoolType, func(e *evaluation) any {
		return types.Bool(e.in.Session.Values != nil && e.in.Session.Values.Heard)
	}, "a user's message was seen in it"},
	{"session.labels", cel.ListType(cel.StringType), func(e *evaluation) any { return types.NewStringList(jsonAdapter{}, e.sessionLabels()) }, "the tags of what was read in it"},
	{"session.planned", cel.ListType(cel.StringType), func(e *evaluation) any { return types.NewStringList(jsonAdapter{}, e.planned()) }, "tools called or planned before anything foreign was read"},
	{"session.known", cel.BoolType, func(e *evaluation) any { return types.Bool(e.in.Session.Known) }, "its memory is whole"},

	{"habits.sessions", cel.IntType, func(e *evaluation) any { return types.Int(e.in.Session.Habits.Sessions()) }, "sessions by which the agent is known"},
	{"habits.new", cel.ListType(cel.StringType), func(e *evaluation) any { return types.NewStringList(jsonAdapter{}, e.newIn()) }, "in which of the settled dimensions the act is new: tool, target, private, begin, hour"},
	{"habits.outside", cel.DoubleType, func(e *evaluation) any { return types.Double(e.outside()) }, "how many times the usual the session's or the hour's counts are; 0 within it"},

	{"args", cel.MapType(cel.StringType, cel.DynType), func(e *evaluation) any { return &e.args }, "the call's arguments by name"},
	{"content", cel.ListType(cel.StringType), func(e *evaluation) any { return e.contentList() }, "every piece of text"},
	{"paths", cel.ListType(cel.StringType), func(e *evaluation) any { return e.pathList() }, "the paths that a call's arguments name"},
	{"text", cel.StringType, func(e *evaluation) any { return e.wholeText() }, "all of it, joined by line ends"},
	{"folded", cel.StringType, func(e *evaluation) any { return e.foldedText() }, "all of it in lower case, look-alikes folded, the invisible removed"},
}

var variableByName = map[string]func(*evaluation) any{}

func init() {
	for _, name := range [...]string{originsOfAct, habitsOfAct, pastOfAct} {
		variableByName[name] = func(e *evaluation) any { return memories{e} }
	}
	for _, v := range variables {
		variableByName[v.name] = v.get
	}
	for _, name := range detectorNames {
		mask, _ := risk.ParseDetector(name)
		variableByName[foundPrefix+name] = func(e *evaluation) any { return types.Bool(e.foundMask&mask != 0) }
	}
	for _, name := range checkNames {
		variableByName[violatesPrefix+name] = func(e *evaluation) any {
			return types.Bool(slices.ContainsFunc(e.in.Violations, func(v act.Violation) bool { return v.Check == name && !v.Unsure }))
		}
	}
}

func (e *evaluation) age() time.Duration {
	if e.in.Session.Started.IsZero() {
		return 0
	}
	return max(0, e.in.Action.At.Sub(e.in.Session.Started))
}

func (e *evaluation) contentList() ref.Val {
	if e.content == nil {
		leaves := make([]string, len(e.in.Action.Content))
		for i := range leaves {
			leaves[i] = e.in.Action.Content[i].Text
		}
		e.content = types.NewStringList(jsonAdapter{}, leaves)
	}
	return e.content
}

// pathList is what a call's arguments name as files and folders: not what it would write
// into them or look for in them, and not what a command reaches, which hazards read.
func (e *evaluation) pathList() ref.Val {
	if e.paths == nil {
		var list []string
		if a := e.in.Action; a.IsCall() {
			for _, f := range reach(a).files {
				i := slices.IndexFunc(a.Content, func(l act.Leaf) bool { return l.Pointer == f.pointer })
				if use := e.part(i).Use; use != hazard.Written && use != hazard.Replaced {
					list = append(list, f.text)
				}
			}
		}
		e.paths = types.NewStringList(jsonAdapter{}, list)
	}
	return e.paths
}

func (e *evaluation) wholeText() ref.Val {
	if e.text == nil {
		e.text = types.String(joinContent(e.in.Action.Content))
	}
	return e.text
}

func joinContent(content []act.Leaf) string {
	if len(content) == 1 {
		return content[0].Text
	}
	size := 0
	for i := range content {
		size += len(content[i].Text) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for i := range content {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(content[i].Text)
	}
	return b.String()
}

// trigramsOf returns the filter of s if s is the variable folded, which is
// what many patterns are run on; for other texts it would not pay.
func (e *evaluation) trigramsOf(s string) *trigrams {
	const most = 64 << 10 // a longer text would fill the filter
	if e.folded == nil || len(s) < 64 || len(s) > most || s != string(e.folded.(types.String)) {
		return nil
	}
	if !e.gramsMade {
		if e.grams == nil {
			e.grams = new(trigrams)
		}
		e.grams.fill(s)
		e.gramsMade = true
	}
	return e.grams
}

func (e *evaluation) foldedText() ref.Val {
	if e.folded == nil {
		e.folded = types.String(canon.Text(string(e.wholeText().(types.String))))
	}
	return e.folded
}
