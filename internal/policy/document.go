package policy

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// rule is one compiled rule. It is immutable.
type rule struct {
	name         string
	file         string
	line, column int
	order        int // its place among all rules of the set

	kinds  kindSet
	tools  []string // canonical globs; nil for any resource
	check  []string
	detect risk.Detector
	texts  useSet  // which texts the detectors count in
	least  float64 // what a finding weighs at least, to count
	when   *condition
	scan   risk.Detector // every detector that the rule needs to have run

	effect  act.Effect
	change  change // of a modify rule
	code    string // empty: see reasons
	reason  string
	instead string
	observe bool
	risk    float64

	conditions []string   // under which it lets an act pass
	hazard     float64    // the least score of the call's hazards; 0 when they do not matter
	acts       []string   // globs for the names of acts that the rule is for; nil for any act
	endorse    bool       // an approval endorses the act's targets for the session
	usual      bool       // what is usual passes
	effects    []string   // globs: of hazards with such an effect the weight counts, and not the score
	terms      *act.Terms // who must agree to what it holds; nil for anybody
}

// change is what a modify rule does.
type change struct {
	kind     changeKind
	argument string
	with     []byte     // raw JSON
	withExpr *condition // instead of with
}

type changeKind uint8

const (
	noChange changeKind = iota
	redact              // mask what the rule's detectors found
	drop                // put a notice in place of the item
	replace             // give an argument another value
	mark                // change nothing, and tell who reads it the rule's conditions
)

// kindSet is a set of kinds of act as rules tell them apart: those of act.Kinds by
// their places there, MCP messages that call a tool, and those not listed.
type kindSet uint32

// Places beside those of act.Kinds.
const (
	mcpCallPlace = 30
	otherPlace   = 31
)

// doors are kinds of act that are one thing by several doors, under the name that means them all in a rule.
type doors struct {
	name  string
	of    string // what they are, in a sentence
	kinds []door
}

// door is one of them.
type door struct {
	name string
	bit  kindSet
}

// callKind is the name of calls by every door.
const callKind = "call"

// calls are the doors by which a tool is called, and results those by which what it gave comes back.
var (
	calls = doors{callKind, "calls of tools", []door{
		doorOf(act.ToolCall), doorOf(act.TaskStart), {string(act.MCPRequest), 1 << mcpCallPlace},
	}}
	results = doors{"result", "results of tools", []door{
		doorOf(act.ToolResult), doorOf(act.TaskResult), doorOf(act.MCPResponse),
	}}
)

func doorOf(k act.Kind) door { return door{string(k), 1 << slices.Index(act.Kinds, k)} }

// all are the kinds by every door.
func (d *doors) all() (kinds kindSet) {
	for _, one := range d.kinds {
		kinds |= one.bit
	}
	return kinds
}

// kindOf returns the place of an act's kind in a kindSet.
func kindOf(a *act.Action) int {
	if a.CallsMCP() {
		return mcpCallPlace
	}
	if place, ok := kindPlace[a.Kind]; ok {
		return place
	}
	return otherPlace
}

// of reports whether an act is of one of the kinds.
func (s kindSet) of(a *act.Action) bool { return s&(1<<kindOf(a)) != 0 }

// missing names the doors that a set leaves out, where it has some of them.
func (d *doors) missing(kinds kindSet) (names []string) {
	if kinds&d.all() == 0 {
		return nil
	}
	for _, one := range d.kinds {
		if kinds&one.bit == 0 {
			names = append(names, one.name)
		}
	}
	return names
}

// named reports whether the rule is bound to tools by their full names, so
// that its author knows their arguments.
func (r *rule) named() bool {
	return r.tools != nil && !slices.ContainsFunc(r.tools, isGlob)
}

func isGlob(s string) bool { return strings.ContainsAny(s, "*?") }

// document is what one file says, before its conditions are compiled.
type document struct {
	*yamlReader
	include *node      // names the built-in policy that holds, too; nil for none
	older   int        // the version of the starter that it is, if that is older; else 0
	defers  bool       // the default is the included policy's
	effect  act.Effect // the default
	observe bool
	lists   []list
	rules   []*rule
	exprs   []pending

	manifests []*manifest

	except      []*exception
	exceptRules []exceptRule
	labels      []*label
	sinks       []*sink
	detectors   []*detector
	grave       *grave            // nil when the document says nothing of risk
	habits      *settingsOfHabits // nil where it says nothing of them
}

type list struct {
	name   string
	values []string
	at     *node
}

// pending is a part of a rule that can be read once every list is known.
type pending struct {
	rule *rule
	part part
	node *node
}

type part uint8

const (
	toolsPart    part = iota // a glob, or "lists.NAME" for the globs of a list
	whenPart                 // the condition
	argumentPart             // the name of the argument to replace
	withPart                 // the expression to replace it with
	effectsPart              // a glob for the names of effects
	actsPart                 // a glob for the names of acts
	detectPart               // the name of a detector
	valuesPart               // a value that is one's own, or "lists.NAME" for those of a list
)

var (
	documentKeys = []string{"version", "name", "description", "include", "default", "mode", "lists", "rules", "manifests", "except", "risk", "labels", "acts", "habits", "detectors"}
	ruleKeys     = []string{"name", "description", "on", "tools", "check", "detect", "texts", "severity", "hazard", "effects", "acts", "when", "effect", "modify", "conditions", "approval", "endorse", "unless", "code", "reason", "instead", "mode", "risk"}
	modifyForms  = []string{"redact", "drop", "mark"}
	replaceKeys  = []string{"argument", "with", "with_expr"}

	codePattern = lazyregexp.New(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	listPattern = lazyregexp.New(`^[a-z_][a-z0-9_]{0,63}$`)
)

// Codes that reeve itself gives; a rule may not take them.
const (
	// CodeRuleError says that a rule's condition could not be evaluated.
	CodeRuleError = "rule_error"
	// CodeModifyConflict says that two rules want different values for one argument.
	CodeModifyConflict = "modify_conflict"
	// CodeModifyImpossible says that a modify rule applied but there is nothing that it could change.
	CodeModifyImpossible = "modify_impossible"
	// CodeDefault is the code of a decision that no rule made.
	CodeDefault = "default"
)

var ownCodes = append([]string{CodeRuleError, CodeModifyConflict, CodeModifyImpossible, CodeDefault, "approval_required"}, act.FinalCodes...)

// noted is the least weight of an effect that a rule names, if it does not say another.
const noted = 0.3

const maxReason = 1000 // bytes of a reason or an instead

func readDocument(f File) *document {
	d := &document{yamlReader: &yamlReader{file: f.Name, source: strings.TrimPrefix(string(f.Data), "\ufeff")}}
	read := d.read
	if isConstitution(f.Name) {
		read = d.readConstitution
	}
	root := read()
	if root == nil {
		return d
	}
	if root.Kind != rawjson.Object {
		d.at(root, "start with version: 1, default: … and rules: …", "a policy document is a mapping, not %s", root.Is())
		return d
	}
	d.known(root, documentKeys, "a policy document")
	if v := root.Get("version"); v == nil {
		d.at(root, "add version: 1", "the document does not say its version")
	} else if v.Kind != rawjson.Number || v.Text != "1" {
		d.at(v, "this reeve reads version: 1", "version %q is not known", v.Text)
	}
	d.older = olderStarter(d.textOf(root.Get("name"), "name"))
	d.textOf(root.Get("description"), "description")
	if v := root.Get("include"); v != nil {
		d.include = v
		if _, err := readIncluded(v.Text); err != nil || v.Kind != rawjson.String {
			hint := "write include: starter"
			if err != nil {
				hint = err.Error()
			}
			d.at(v, hint, "%q is no policy that can be included", v.Text)
		}
	}
	if v := root.Get("default"); v == nil && d.include != nil {
		d.defers = true
	} else if v == nil {
		d.at(root, "add default: allow, or default: deny to forbid everything that no rule allows",
			"the document does not say what happens when no rule decides")
	} else if e, ok := d.effectOf(v, "default"); ok {
		if e == act.Modify {
			d.at(v, "it is one of allow, escalate, deny", "the default cannot be modify")
		}
		d.effect = e
	}
	if mode := root.Get("mode"); mode == nil || mode.Text != shadowMode { // see apart
		d.observe = d.modeOf(mode)
	}
	d.readLists(root.Get("lists"))
	d.readManifests(root.Get("manifests"))
	for _, item := range d.items(root, "except", "write each exception as - name: …", 0) {
		d.readException(item)
	}
	d.readRisk(root.Get("risk"))
	d.readHabits(root.Get("habits"))
	for _, item := range d.items(root, "detectors", detectorForm, risk.MaxOwn) {
		d.readDetector(item)
	}
	for _, item := range d.items(root, "labels", labelForm, maxLabels) {
		d.readLabel(item)
	}
	for _, item := range d.items(root, "acts", sinkForm, maxSinks) {
		d.readSink(item)
	}
	for _, item := range d.items(root, "rules", "write each rule as - name: …", 0) { // maxRules is of all files
		d.readRule(item)
	}
	return d
}

// items are the members of the list that a document has under a name; none where it has
// none, or something else, or more than most, which is 0 for any number. hint says how one
// is written.
func (d *document) items(root *node, name, hint string, most int) []*node {
	n := root.Get(name)
	switch {
	case n == nil || n.Kind == rawjson.Null:
		return nil
	case n.Kind != rawjson.Array:
		d.at(n, hint, "%s is a list, not %s", name, n.Is())
		return nil
	case most > 0 && len(n.Items) > most:
		d.at(n, "", "there are more than %d %s", most, name)
		return nil
	}
	return n.Items
}

// known reports the members of a mapping that have no meaning.
func (d *document) known(n *node, keys []string, what string) {
	for _, m := range n.Members {
		if !slices.Contains(keys, m.Name) {
			d.fault(m.Line, m.Column, didYouMean(m.Name, keys), "%s has no key %q", what, m.Name)
		}
	}
}

// textOf reads an optional text.
func (d *document) textOf(n *node, what string) string {
	if n == nil || n.Kind == rawjson.Null {
		return ""
	}
	if n.Kind == rawjson.Array || n.Kind == rawjson.Object {
		d.at(n, "", "%s is a text, not %s", what, n.Is())
		return ""
	}
	text := strings.TrimSpace(n.Text)
	if len(text) > maxReason {
		d.at(n, "", "%s is longer than %d bytes", what, maxReason)
	}
	return text
}

func (d *document) effectOf(n *node, what string) (act.Effect, bool) {
	e, ok := act.ParseEffect(n.Text)
	if n.Kind != rawjson.String || !ok {
		d.at(n, didYouMean(n.Text, []string{"allow", "deny", "escalate", "modify"}), "%s: %q is not an effect", what, n.Text)
		return act.Deny, false
	}
	return e, true
}

// modeOf reports whether a mode is observe.
func (d *document) modeOf(n *node) bool {
	if n == nil {
		return false
	}
	if n.Text != "enforce" && n.Text != "observe" {
		d.at(n, didYouMean(n.Text, []string{"enforce", "observe"}), "mode: %q is not a mode", n.Text)
	}
	return n.Text == "observe"
}

// words reads a text or a list of texts. It returns nil when n is absent.
func (d *document) words(n *node, what string) []*node {
	switch {
	case n == nil:
		return nil
	case n.Kind == rawjson.String:
		return []*node{n}
	case n.Kind == rawjson.Array && len(n.Items) > 0:
		var words []*node
		for _, item := range n.Items {
			if item.Kind != rawjson.String || item.Text == "" {
				d.at(item, "quote it", "%s is a list of texts; this is %s", what, item.Is())
				continue
			}
			words = append(words, item)
		}
		return words
	}
	d.at(n, "leave the key out if it should not matter", "%s is a text or a list of texts, not %s", what, n.Is())
	return nil
}

func (d *document) readLists(n *node) {
	if n == nil || n.Kind == rawjson.Null {
		return
	}
	if n.Kind != rawjson.Object {
		d.at(n, "write lists: { name: [\"…\"] }", "lists is a mapping of names to lists, not %s", n.Is())
		return
	}
	for _, m := range n.Members {
		l := list{name: m.Name, at: &node{Line: m.Line, Column: m.Column}}
		if !listPattern.MatchString(m.Name) {
			d.at(l.at, "use lower-case letters, digits and _", "%q cannot be the name of a list", m.Name)
			continue
		}
		if m.Value.Kind != rawjson.Array {
			d.at(m.Value, "", "a list is a list of texts, not %s", m.Value.Is())
			continue
		}
		for _, item := range m.Value.Items {
			if item.Kind != rawjson.String {
				d.at(item, "quote it", "a list holds texts; this is %s", item.Is())
				continue
			}
			l.values = append(l.values, item.Text)
		}
		d.lists = append(d.lists, l)
	}
}

func (d *document) readRule(n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, "write each rule as - name: …", "a rule is a mapping, not %s", n.Is())
		return
	}
	r := &rule{file: d.file, line: n.Line, column: n.Column}
	d.known(n, ruleKeys, "a rule")
	r.name = d.textOf(n.Get("name"), "name")
	switch {
	case r.name == "":
		d.at(n, "add name: …", "the rule has no name")
	case !ruleName(r.name):
		d.at(n.Get("name"), "use letters, digits, spaces and . _ / -, at most 100", "%q cannot be the name of a rule", r.name)
	case r.name == "default":
		d.at(n.Get("name"), "", "a rule cannot be called default: that is the name of what happens when no rule decides")
	case r.name == graveRule, r.name == manifestRule:
		d.at(n.Get("name"), "", "a rule cannot be called %s: that is the name of a built-in one", r.name)
	}
	d.textOf(n.Get("description"), "description")
	r.kinds = d.kindsOf(n.Get("on"))
	for _, w := range d.words(n.Get("tools"), "tools") {
		d.exprs = append(d.exprs, pending{r, toolsPart, w})
	}
	for _, w := range d.words(n.Get("check"), "check") {
		if !slices.Contains(checkNames, w.Text) {
			d.at(w, didYouMean(w.Text, checkNames), "there is no check %q", w.Text)
		}
		r.check = append(r.check, w.Text)
	}
	for _, w := range d.words(n.Get("detect"), "detect") {
		d.exprs = append(d.exprs, pending{r, detectPart, w})
	}
	if v := n.Get("hazard"); v != nil {
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != rawjson.Number || err != nil || f <= 0 || f > 1 {
			d.at(v, "0.8 is what hardly anybody wants, 0.5 what somebody may", "hazard is a number above 0, at most 1")
		}
		r.hazard = f
	}
	for _, w := range d.words(n.Get("effects"), "effects") {
		d.exprs = append(d.exprs, pending{r, effectsPart, w})
		r.effects = append(r.effects, w.Text)
	}
	if r.effects != nil && r.hazard == 0 {
		r.hazard = noted
	}
	for _, w := range d.words(n.Get("acts"), "acts") {
		d.exprs = append(d.exprs, pending{r, actsPart, w})
		r.acts = append(r.acts, w.Text)
	}
	if v := n.Get("when"); v != nil {
		d.exprs = append(d.exprs, pending{r, whenPart, v})
	}
	if v := n.Get("effect"); v == nil {
		d.at(n, "add effect: deny, escalate, modify or allow", "the rule does not say its effect")
	} else {
		r.effect, _ = d.effectOf(v, "effect")
	}
	d.readModify(r, n)
	d.readTexts(r, n)
	d.readConditions(r, n)
	d.readApproval(r, n)
	if v := n.Get("endorse"); v != nil {
		switch {
		case v.Text != "once" && v.Text != "session":
			d.at(v, didYouMean(v.Text, []string{"once", "session"}), "endorse: %q is neither once nor session", v.Text)
		case r.effect != act.Escalate:
			d.at(v, "use effect: escalate, or leave it out", "only what people are asked about can be endorsed")
		}
		r.endorse = v.Text == "session"
	}
	d.readUnless(r, n)
	if v := n.Get("code"); v != nil {
		r.code = d.textOf(v, "code")
		if !codePattern.MatchString(r.code) || len(r.code) > 64 {
			d.at(v, "use lower-case words joined by . _ or -", "%q cannot be a code", r.code)
		} else if slices.Contains(ownCodes, r.code) {
			d.at(v, "choose another", "the code %s has a meaning of its own", r.code)
		}
	}
	r.reason = d.textOf(n.Get("reason"), "reason")
	r.instead = d.textOf(n.Get("instead"), "instead")
	r.observe = d.modeOf(n.Get("mode")) || d.observe
	if v := n.Get("risk"); v != nil {
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != rawjson.Number || err != nil || f < 0 || f > 1 {
			d.at(v, "", "risk is a number from 0 to 1")
		}
		r.risk = f
	}
	d.rules = append(d.rules, r)
}

// readTexts reads in which texts a rule's detectors count, and from which weight on.
func (d *document) readTexts(r *rule, n *node) {
	v := n.Get("texts")
	for _, w := range d.words(v, "texts") {
		i := slices.Index(useNames, w.Text)
		if i < 0 {
			d.at(w, didYouMean(w.Text, useNames), "texts: %q is none of the uses of a text", w.Text)
			continue
		}
		r.texts |= 1 << i
		if r.effect == act.Modify && hazard.Use(i) == hazard.Replaced {
			d.at(w, "leave it out: such a text is not changed", "what an edit looks for cannot be changed")
		}
	}
	switch {
	case v == nil && r.effect == act.Modify:
		r.texts = everyUse &^ (1 << hazard.Replaced)
	case v == nil:
		r.texts = everyUse
	case n.Get("detect") == nil && r.change.kind != drop:
		d.at(v, "add detect: […]", "texts says where detectors look, and the rule has no detect")
	}
	if v := n.Get("severity"); v != nil {
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != rawjson.Number || err != nil || f <= 0 || f > 1 {
			d.at(v, "0.9 is what is surely a key, 0.5 leaves out what is plainly an example", "severity is a number above 0, at most 1")
		}
		if n.Get("detect") == nil {
			d.at(v, "add detect: […]", "severity is of what detectors find, and the rule has no detect")
		}
		r.least = f
	}
}

// useSet is a set of uses of a text.
type useSet uint8

const (
	everyUse useSet = 1<<hazard.Said | 1<<hazard.Run | 1<<hazard.Written | 1<<hazard.Replaced
	// guiding is beside them: what tells a model how to use tools is said, too.
	guiding useSet = 1 << (hazard.Replaced + 1)
)

// useNames are the uses as policies name them, in their order.
var useNames = []string{"said", "run", "written", "replaced", "guiding"}

// readTools adds the globs that one entry of tools stands for.
func (d *document) readTools(p pending, lists []list) {
	globs := []string{p.node.Text}
	if name, ok := strings.CutPrefix(p.node.Text, "lists."); ok {
		i := slices.IndexFunc(lists, func(l list) bool { return l.name == name })
		if i < 0 {
			d.at(p.node, "define it under lists:", "there is no list %q", name)
			return
		}
		if globs = lists[i].values; len(globs) == 0 {
			d.at(p.node, "", "the list %q is empty, so that the rule would never apply", name)
		}
	}
	for _, g := range globs {
		// Patterns take the one form that names take, so that no spelling of
		// a name slips by a rule and no spelling of a rule is without effect.
		glob, _ := canon.Name(g)
		if glob == "" {
			d.at(p.node, "", "%q names no tool", g)
			continue
		}
		p.rule.tools = append(p.rule.tools, glob)
	}
}

// settleActs checks that there is an act with the name that a rule gives.
func (d *document) settleActs(p pending, sinks []*sink) {
	if !slices.ContainsFunc(sinks, func(s *sink) bool { return glob.Match(p.node.Text, s.name) }) {
		var names []string
		for _, s := range sinks {
			names = append(names, s.name)
		}
		d.at(p.node, didYouMean(p.node.Text, names), "there is no act %q", p.node.Text)
	}
}

func (d *document) kindsOf(n *node) kindSet {
	if n == nil {
		return ^kindSet(0)
	}
	var kinds kindSet
	for _, w := range d.words(n, "on") {
		if w.Text == "*" {
			return ^kindSet(0)
		}
		matched := false
		for i, k := range act.Kinds {
			if glob.Match(w.Text, string(k)) {
				kinds |= 1 << i
				matched = true
				if k == act.MCPRequest {
					kinds |= 1 << mcpCallPlace
				}
			}
		}
		for _, d := range []*doors{&calls, &results} {
			if glob.Match(w.Text, d.name) {
				kinds |= d.all()
				matched = true
			}
		}
		if !matched {
			d.at(w, didYouMean(w.Text, kindNames), "there is no kind of act %q", w.Text)
		}
	}
	return kinds
}

func (d *document) readModify(r *rule, n *node) {
	v := n.Get("modify")
	if r.effect != act.Modify {
		if v != nil {
			d.at(v, "set effect: modify", "modify: needs effect: modify")
		}
		return
	}
	switch {
	case v == nil:
		d.at(n.Get("effect"), "add modify: redact, drop, mark or {replace: …}", "the rule does not say how it modifies")
	case v.Kind == rawjson.String && v.Text == "redact":
		r.change.kind = redact
		if n.Get("detect") == nil {
			d.at(v, "add detect: […]", "modify: redact masks what detectors found, and the rule has no detect")
		}
	case v.Kind == rawjson.String && v.Text == "drop":
		r.change.kind = drop
	case v.Kind == rawjson.String && v.Text == "mark":
		// It says how, not whether: it lets nothing pass that the default stops.
		r.change.kind, r.effect = mark, act.Allow
		if n.Get("conditions") == nil {
			d.at(v, "add conditions: [what should be known of it]", "modify: mark tells the rule's conditions, and it has none")
		}
	case v.Kind == rawjson.Object && len(v.Members) == 1 && v.Members[0].Name == "replace" && v.Members[0].Value.Kind == rawjson.Object:
		d.readReplace(r, v.Members[0].Value)
	case v.Kind == rawjson.String:
		d.at(v, didYouMean(v.Text, modifyForms), "modify: %q is not a way to modify", v.Text)
	default:
		d.at(v, "it is redact, drop, mark or {replace: {argument: NAME, with: VALUE}}", "this is not a way to modify")
	}
}

func (d *document) readReplace(r *rule, n *node) {
	d.known(n, replaceKeys, "replace")
	r.change.kind = replace
	if r.change.argument = d.textOf(n.Get("argument"), "argument"); r.change.argument == "" {
		d.at(n, "add argument: NAME", "replace does not say which argument")
	} else {
		d.exprs = append(d.exprs, pending{r, argumentPart, n.Get("argument")})
	}
	with, expr := n.Get("with"), n.Get("with_expr")
	switch {
	case (with == nil) == (expr == nil):
		d.at(n, "add with: VALUE, or with_expr: a CEL expression", "replace needs exactly one of with and with_expr")
	case with != nil:
		r.change.with = with.AppendJSON(nil)
		if doc, err := rawjson.Parse(r.change.with); err != nil {
			d.at(with, "", "the value cannot be written as JSON: %v", err)
		} else {
			r.change.with = doc.Root().AppendCanonical(nil)
		}
	default:
		d.exprs = append(d.exprs, pending{r, withPart, expr})
	}
}

// ruleName reports whether a text can be the name of a rule: letters, digits, spaces
// and . _ / -, at most 100.
func ruleName(s string) bool {
	other := strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !strings.ContainsRune(" ._/-", c)
	})
	return !other && !strings.ContainsRune(" ._/-", rune(s[0])) && utf8.RuneCountInString(s) <= 100
}

var checkNames = func() (names []string) {
	for _, c := range session.Checks {
		names = append(names, c.Name)
	}
	return names
}()

var kindNames = func() (names []string) {
	for _, k := range act.Kinds {
		names = append(names, string(k))
	}
	return append(names, calls.name, results.name)
}()
