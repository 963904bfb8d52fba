// Package policy turns policy documents, which are YAML with conditions in
// CEL, into an immutable Set, and judges actions by it.
//
//	set, err := policy.LoadPath("policies/")   // every fault, with its place and a hint
//	verdict := set.Evaluate(&policy.Input{Action: a})
//	fmt.Println(set.Explain(&policy.Input{Action: a}))
//
// Evaluate is pure: no clock, no disk, no state. Rules are found through an
// index on the kind and the resource of an action, so that ten thousand rules
// cost what a hundred do; conditions are type-checked and their cost bounded
// when they are loaded. docs/policy.md describes the documents.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/internal/yamldoc"
)

// File is one policy document. In the set's text and hash it goes by the last
// element of its name, so that a policy is the same wherever it lies.
type File struct {
	Name string
	Data []byte
}

func (f File) base() string { return path.Base(filepath.ToSlash(f.Name)) }

// Set is all documents of a policy, compiled. It is immutable and safe for
// concurrent use.
type Set struct {
	hash          string
	text          []byte
	rules         []*rule
	index         *index
	effect        act.Effect // the default
	observe       bool       // the default only observes
	defaultReason act.Reason
	manifests     manifests
	except        []*exception
	labels        []*label
	sinks         []*sink
	ownValues     []string     // globs, folded
	detectors     risk.Scanner // all that there are
	ownDetectors  []DetectorInfo
	habits        habits.Settings
	asksHabits    bool          // a rule asks what is usual
	asksBill      bool          // see AsksBill
	table         *hazard.Table // what its own tables add to what is known of programs
	follows       bool          // see Follows
	counted       []counted     // the acts that rules ask the session's past for
	masksUser     risk.Detector // what is masked in what users say
	shadow        *Set          // see Shadow
	grave         float64       // the score from which a call's risk denies; 0 for never
	files         int
	notes         []string // see Notes
}

// RuleInfo describes one rule of a Set.
type RuleInfo struct {
	Name    string
	File    string
	Line    int
	Effect  act.Effect
	Observe bool
	Behind  string // the rule that always decides before it; empty for none that is known
}

// Limits of a policy.
const (
	maxFiles = 1000
	maxRules = 100_000
	maxTotal = 64 << 20 // bytes of all documents
)

// Load compiles documents into a Set. The error is an ErrorList that names
// every fault that was found.
func Load(files ...File) (*Set, error) {
	live, candidate := apart(files)
	return withShadow(live, candidate, withIncluded)
}

// compile compiles documents. include adds the files that they include.
func compile(files []File, include func(files []File, docs []*document) []File) (*Set, error) {
	files = slices.Clone(files)
	byName := func(a, b File) int { return cmp.Compare(a.base(), b.base()) }
	slices.SortFunc(files, byName)
	var errs ErrorList
	total := 0
	for i, f := range files {
		total += len(f.Data)
		if i > 0 && f.base() == files[i-1].base() {
			errs = append(errs, &Error{File: f.Name, Message: "two documents have the same name"})
		}
	}
	if len(files) > maxFiles || total > maxTotal {
		errs = append(errs, &Error{Message: fmt.Sprintf("the policy is larger than %d files or %d MiB", maxFiles, maxTotal>>20)})
	}
	if errs != nil {
		return nil, errs
	}
	docs, tables := readDocuments(files)
	if more := include(files, docs); len(more) > len(files) {
		files = more
		slices.SortFunc(files, byName)
		docs, tables = readDocuments(files)
	}
	s := &Set{files: len(files)}
	s.table, errs = readTables(tables)
	s.assemble(docs)
	for _, d := range docs {
		slices.SortStableFunc(d.errs, func(a, b *Error) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		errs = append(errs, d.errs...)
	}
	if errs == nil && len(s.rules) == 0 {
		errs = append(errs, &Error{
			Message: "the policy has no rules",
			Hint:    "a policy that lets everything pass must say so with a rule such as {name: allow-everything, effect: allow}",
		})
	}
	if len(s.rules) > maxRules {
		errs = append(errs, &Error{Message: fmt.Sprintf("the policy has more than %d rules", maxRules)})
	}
	if errs == nil {
		for _, r := range s.rules {
			r.narrow(s.sinks)
		}
		if e := costAtOnce(s.rules); e != nil {
			errs = append(errs, e)
		}
	}
	if errs != nil {
		if len(errs) > maxErrors {
			errs = append(errs[:maxErrors:maxErrors], &Error{Message: "there are more faults; these are the first"})
		}
		return nil, errs
	}
	s.index = newIndex(s.rules)
	s.settlePast()
	s.follows = followsOrigins(s.rules)
	for _, r := range s.rules {
		if user := (&act.Action{Kind: act.MessageUser}); r.change.kind == redact && r.kinds.of(user) && !r.observe {
			s.masksUser |= r.detect
		}
	}
	s.text = writeText(files)
	s.settleHash()
	return s, nil
}

// settleHash names the set by its text.
func (s *Set) settleHash() {
	sum := sha256.Sum256(s.text)
	s.hash = "sha256:" + hex.EncodeToString(sum[:])
}

// readDocuments reads the documents among files, and gives back the tables of programs.
func readDocuments(files []File) (docs []*document, tables []File) {
	for _, f := range files {
		if isTable(f) {
			tables = append(tables, f)
			continue
		}
		docs = append(docs, readDocument(f))
	}
	return docs, tables
}

// assemble brings the documents together: names must be unique, defaults must
// agree, and every document can use every list.
func (s *Set) assemble(docs []*document) {
	lists := s.gather(docs)
	s.settleDefault(docs)
	s.manifests.settle()
	s.settleRisk(docs)
	s.settleHabits(docs)
	s.settleDetectors(docs)
	c, err := newCompiler(lists, s)
	if err != nil { // the environment is ours: only a bug can break it
		docs[0].fault(0, 0, "", "the conditions' environment cannot be made: %v", err)
		return
	}
	for _, d := range docs {
		s.compile(d, c, lists)
	}
}

// gather takes over what the documents hold, and returns their lists.
func (s *Set) gather(docs []*document) (lists []list) {
	seenLists, seenRules, seenExcept := map[string]string{}, map[string]string{}, map[string]string{}
	for _, d := range docs {
		for _, l := range d.lists {
			if where, ok := seenLists[l.name]; ok {
				d.at(l.at, "", "the list %q is also defined in %s", l.name, where)
				continue
			}
			seenLists[l.name] = fmt.Sprintf("%s:%d", d.file, l.at.Line)
			lists = append(lists, l)
		}
		for _, r := range d.rules {
			if where, ok := seenRules[r.name]; ok && r.name != "" {
				d.fault(r.line, r.column, "", "the rule %q is also defined in %s", r.name, where)
			}
			seenRules[r.name] = fmt.Sprintf("%s:%d", r.file, r.line)
			r.order = len(s.rules)
			s.rules = append(s.rules, r)
		}
		for _, x := range d.except {
			if where, ok := seenExcept[x.scope.name]; ok && x.scope.name != "" {
				d.fault(x.scope.line, x.scope.column, "", "the exception %q is also defined in %s", x.scope.name, where)
			}
			seenExcept[x.scope.name] = fmt.Sprintf("%s:%d", x.scope.file, x.scope.line)
			s.except = append(s.except, x)
			s.asksBill = s.asksBill || x.scope.asksBill()
		}
		s.manifests.add(d)
		s.labels, s.sinks = append(s.labels, d.labels...), append(s.sinks, d.sinks...)
		if d.older > 0 {
			s.notes = append(s.notes, fmt.Sprintf("%s is version %d of the starter policy, and this reeve has version %d: see what has changed, then include starter@%d, or starter to follow it",
				d.file, d.older, StarterVersion, StarterVersion))
		}
	}
	return lists
}

// settleDefault settles what happens to an act that no rule decides.
func (s *Set) settleDefault(docs []*document) {
	s.observe = true
	others := slices.ContainsFunc(docs, func(d *document) bool { return !isConstitution(d.file) })
	var first *document
	for _, d := range docs {
		if others && isConstitution(d.file) { // it only forbids, and has no default of its own
			continue
		}
		s.observe = s.observe && d.observe
		if d.errs == nil && !d.defers {
			if first != nil && d.effect != first.effect {
				d.fault(1, 1, "all documents of a policy must agree", "default: %s here, and %s in %s", d.effect, first.effect, first.file)
			}
			first = d
		}
	}
	if first != nil {
		s.effect = first.effect
	}
	message := "No rule decides this, and the policy's default is to " + s.effect.String() + "."
	switch s.effect {
	case act.Allow:
		message = "No rule forbids this."
	case act.Escalate:
		message = "No rule decides this, and the policy's default is to ask a person."
	}
	s.defaultReason = act.Reason{Rule: "default", Code: CodeDefault, Message: message, Effect: s.effect, Observe: s.observe && s.effect != act.Allow}
}

// compile compiles what a document says, and notes what its rules ask for.
func (s *Set) compile(d *document, c *compiler, lists []list) {
	for _, p := range d.exprs {
		if p.part == toolsPart {
			d.readTools(p, lists)
		}
	}
	for _, r := range d.rules {
		r.tools = unlessAll(r.tools)
	}
	for _, l := range d.labels {
		l.scope.tools = unlessAll(l.scope.tools)
	}
	for _, k := range d.sinks {
		k.scope.tools = unlessAll(k.scope.tools)
	}
	for _, p := range d.exprs {
		s.compilePart(d, p, c, lists)
	}
	for _, k := range d.sinks {
		if k.control == nil && k.reaches == 0 && !s.asksPast(k.name) {
			d.fault(k.scope.line, k.scope.column, "add control: [recipient], or reaches: [hosts]",
				"the act does not say upon whom or what it is done, and no rule asks whether it was: did(%q)", k.name)
		}
	}
	d.settleExcept(s.rules, []string{graveRule, manifestRule})
	for _, r := range d.rules {
		r.scan = r.detect
		s.asksHabits = s.asksHabits || r.usual
		s.asksBill = s.asksBill || r.asksBill()
		for _, c := range []*condition{r.when, r.change.withExpr} {
			if c != nil {
				s.asksHabits = s.asksHabits || c.habits
				r.scan |= c.found
			}
		}
	}
}

// unlessAll are the tools that something is said of; nil for all of them.
func unlessAll(tools []string) []string {
	if slices.Contains(tools, "*") {
		return nil
	}
	return tools
}

// compilePart compiles one expression of a document, or reads what else is written there.
func (s *Set) compilePart(d *document, p pending, c *compiler, lists []list) {
	switch p.part {
	case effectsPart:
		names := s.table.Effects()
		if !slices.ContainsFunc(names, func(name string) bool { return glob.Match(p.node.Text, name) }) {
			d.at(p.node, didYouMean(p.node.Text, names), "there is no effect %q", p.node.Text)
		}
	case detectPart:
		s.readDetect(d, p)
	case actsPart:
		d.settleActs(p, s.sinks)
	case valuesPart:
		s.ownValues = append(s.ownValues, d.ownValues(p, lists)...)
	case whenPart:
		p.rule.when = c.compile(d, p)
	case withPart:
		p.rule.change.withExpr = c.compile(d, p)
	case argumentPart:
		arg := argPath{p.rule.change.argument}.String()
		if !p.rule.named() && (p.rule.when == nil || !p.rule.when.implied[arg]) {
			d.at(p.node, "add when: has("+arg+"), or name the tools in full",
				"%s is replaced without knowing that it exists, in a rule that applies to many tools", arg)
		}
	}
}

// LoadPath compiles a policy file, or all *.yaml, *.yml and *.toml files of a
// directory, subdirectories not included. Files named *.test.yaml hold test
// cases and are passed over; *.toml files are constitutions; programs.yaml and
// *.programs.yaml say what programs do.
func LoadPath(name string) (*Set, error) {
	files, err := Files(name)
	if err != nil {
		return nil, err
	}
	return Load(files...)
}

// Files are the documents that LoadPath compiles.
func Files(name string) ([]File, error) {
	files, err := readPath(name)
	if err != nil {
		return nil, ErrorList{{File: name, Message: err.Error()}}
	}
	return files, nil
}

func readPath(name string) ([]File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, plainPathError(err)
	}
	if !info.IsDir() {
		f, err := readFile(name)
		return []File{f}, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, plainPathError(err)
	}
	var files []File
	for _, entry := range entries {
		if entry.IsDir() || !isPolicyFile(entry.Name()) {
			continue
		}
		if len(files) == maxFiles {
			return nil, fmt.Errorf("there are more than %d policy files", maxFiles)
		}
		f, err := readFile(filepath.Join(name, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no policy file (*.yaml, *.yml or *.toml) in this directory")
	}
	return files, nil
}

func isPolicyFile(name string) bool {
	if strings.HasPrefix(name, ".") || isTestFile(name) {
		return false
	}
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || isConstitution(name)
}

// isTable reports whether a file says what programs do, and not what is allowed.
func isTable(f File) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(f.base(), ".yaml"), ".yml")
	return name != f.base() && (name == "programs" || strings.HasSuffix(name, ".programs"))
}

// readTables adds what the files say of programs to what is built in.
func readTables(files []File) (*hazard.Table, ErrorList) {
	var errs ErrorList
	sources := make([]string, len(files))
	for i, f := range files {
		sources[i] = string(f.Data)
	}
	t := hazard.Extend(sources, func(i int, f yamldoc.Fault) {
		if len(errs) < maxErrors {
			errs = append(errs, &Error{files[i].Name, f.Line, f.Column, f.Message, f.Hint})
		}
	})
	return t, errs
}

func isTestFile(name string) bool {
	return strings.HasSuffix(name, ".test.yaml") || strings.HasSuffix(name, ".test.yml")
}

// readFile reads a file, but no more of it than a document may have.
func readFile(name string) (File, error) {
	f, err := regular.Open(name)
	if errors.Is(err, regular.ErrNot) {
		return File{}, fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return File{}, plainPathError(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, yamldoc.MaxBytes+1))
	if err != nil {
		return File{}, plainPathError(err)
	}
	if len(data) > yamldoc.MaxBytes {
		return File{}, fmt.Errorf("%s is larger than %d MiB", name, yamldoc.MaxBytes>>20)
	}
	return File{name, data}, nil
}

// plainPathError leaves out the system call's name.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Hash names the policy by its content, as "sha256:" and 64 hexadecimal digits.
func (s *Set) Hash() string { return s.hash }

// Text returns all documents in one form, from which Parse makes the same Set
// again: a JSON object {"reeve_policy":1,"files":[{"name":…,"text":…}]}, with the same of its
// Shadow as the member shadow where it has one.
func (s *Set) Text() []byte { return slices.Clone(s.text) }

// Default returns the effect of an action that no rule decides.
func (s *Set) Default() act.Effect { return s.effect }

// Rules describes the rules in their order.
func (s *Set) Rules() []RuleInfo {
	infos := make([]RuleInfo, len(s.rules))
	for i, r := range s.rules {
		infos[i] = RuleInfo{r.name, r.file, r.line, r.effect, r.observe, ""}
		if o := s.behind(r); o != nil {
			infos[i].Behind = o.name
		}
	}
	return infos
}

// Warnings are what is probably not meant: rules about tools that a call by another
// door passes, or one that says the same in another way. They keep no policy from
// being used.
func (s *Set) Warnings() (list ErrorList) {
	for _, k := range s.sinks {
		list = append(list, k.scope.forgets(fmt.Sprintf("the act %q", k.name))...)
	}
	for _, r := range s.rules {
		warn := func(hint, format string, args ...any) {
			list = append(list, &Error{File: r.file, Line: r.line, Column: r.column, Message: fmt.Sprintf(format, args...), Hint: hint})
		}
		if r.effect != act.Allow {
			list = append(list, r.forgets(fmt.Sprintf("the rule %q", r.name))...)
		}
		for _, tool := range r.tools {
			if strings.ContainsAny(tool, "{}[]|") {
				warn("give each as a pattern of its own, as in tools: [deploy_app, deploy_site]",
					"the rule %q names the tool %.80q: braces, brackets and bars are letters in a pattern, and no alternatives", r.name, tool)
			}
		}
		if o := s.behind(r); o != nil {
			warn("bind the other one to fewer tools, or take this one out",
				"the rule %q never decides: for all that it is for, the rule %q (%s:%d) says %s", r.name, o.name, o.file, o.line, o.effect)
		}
		if why := r.never(); why != "" {
			warn("change it, or take the rule out", "the rule %q meets no act: %s", r.name, why)
		}
		if o := s.idle(r); o != nil {
			warn("bind the other one to fewer tools, or take this one out",
				"the rule %q changes no decision: of all that it is for, the rule %q (%s:%d) says %s, too", r.name, o.name, o.file, o.line, o.effect)
		}
		for _, tool := range r.tools {
			if name := r.renamed(tool); name != "" {
				warn(fmt.Sprintf("name %s, too", name), "the rule %q names the tool %s: the hooks of coding agents call it %s, so that there it meets none", r.name, tool, name)
			}
		}
		given, common := r.renamedArguments()
		for i := range given {
			warn("compare args."+common[i], "the rule %q reads args.%s: the hooks of coding agents call it %s, so that there it meets none", r.name, given[i], common[i])
		}
		if r.when != nil && act.Stricter(r.effect, act.Escalate) == r.effect {
			told := map[string]bool{}
			for _, p := range r.when.exact {
				if arg := p.String(); !told[arg] {
					told[arg] = true
					warn(fmt.Sprintf("%s.may_be(…) holds for these, and where nothing is said", arg),
						"the rule %q compares %s with a text exactly, and does not hold for a list of it, other capitals or a space more", r.name, arg)
				}
			}
		}
	}
	return list
}

// forgets warns where what is about tools holds by some doors, and not by others.
func (r *rule) forgets(what string) (list ErrorList) {
	for _, d := range []*doors{&calls, &results} {
		if missing := d.missing(r.kinds); missing != nil && (r.tools != nil || r.hazard > 0) {
			list = append(list, &Error{File: r.file, Line: r.line, Column: r.column, Hint: "on: " + d.name + " names all of them",
				Message: fmt.Sprintf("%s is about %s, and does not hold for those that come as %s", what, d.of, strings.Join(missing, " or "))})
		}
	}
	return list
}

// soon is how long before its end an exception is noted.
const soon = 7 * 24 * time.Hour

// Notes are what is worth knowing of a policy at a time, and nothing that is wrong with
// it: that it stops less than one may think, or will.
func (s *Set) Notes(now time.Time) []string {
	notes := slices.Clone(s.notes)
	if !slices.ContainsFunc(s.rules, func(r *rule) bool { return !r.observe }) {
		notes = append(notes, "every rule only watches: nothing is stopped")
	}
	if s.shadow != nil {
		notes = append(notes, fmt.Sprintf("a candidate of %s is judged by beside it, and stops nothing: reeve policy shadow", words.Count(len(s.shadow.rules), "rule")))
	}
	const seldom = 0.9 // most of what is grave weighs no more
	switch {
	case s.grave == 0:
		notes = append(notes, "risk.deny is off: grave risk alone denies nothing")
	case s.grave > seldom:
		notes = append(notes, fmt.Sprintf("risk.deny is %v: most of what is grave weighs less, and passes", s.grave))
	}
	for _, x := range s.Exceptions() {
		until := x.Until.UTC().Format(time.RFC3339)
		if left := x.Until.Sub(now); left <= 0 {
			notes = append(notes, fmt.Sprintf("%s:%d: the exception %q is over since %s, and lets nothing pass any more", x.File, x.Line, x.Name, until))
		} else if left < soon {
			notes = append(notes, fmt.Sprintf("%s:%d: the exception %q is over at %s", x.File, x.Line, x.Name, until))
		}
	}
	return notes
}

// Watching counts the rules that only observe.
func (s *Set) Watching() (n int) {
	for _, r := range s.rules {
		if r.observe {
			n++
		}
	}
	return n
}

func writeText(files []File) []byte {
	b := []byte(`{"reeve_policy":1,"files":[`)
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = rawjson.AppendString(b, f.base())
		b = append(b, `,"text":`...)
		b = rawjson.AppendString(b, f.Data)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// Parse compiles the form that Text returns.
func Parse(text []byte) (*Set, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil, ErrorList{{Message: "this is not the text of a policy: " + err.Error()}}
	}
	if version, _ := doc.Root().Get("reeve_policy").Int(); version != 1 {
		return nil, ErrorList{{Message: "this is not the text of a policy that this reeve can read"}}
	}
	files := filesIn(doc.Root())
	if len(files) == 0 {
		return nil, ErrorList{{Message: "the text of the policy holds no documents"}}
	}
	// What was included is among them.
	return withShadow(files, filesIn(doc.Root().Get("shadow")), func(files []File, _ []*document) []File { return files })
}

// filesIn are the documents in the text of a policy.
func filesIn(text rawjson.Value) (files []File) {
	for _, f := range text.Get("files").Elems() {
		files = append(files, File{f.Get("name").Text(), []byte(f.Get("text").Text())})
	}
	return files
}
