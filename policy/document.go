package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve/act"
	"reeve/internal/canon"
	"reeve/internal/rawjson"
	"reeve/risk"
	"reeve/session"
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
)

// kindSet is a set of act.Kinds; otherKinds stands for those not listed there.
type kindSet uint32

const otherKinds kindSet = 1 << 31

func kindBit(k act.Kind) kindSet {
	if i := slices.Index(act.Kinds, k); i >= 0 {
		return 1 << i
	}
	return otherKinds
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
	effect  act.Effect // the default
	observe bool
	lists   []list
	rules   []*rule
	exprs   []pending

	manifests []*manifest
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
)

var (
	documentKeys = []string{"version", "name", "description", "default", "mode", "lists", "rules", "manifests"}
	ruleKeys     = []string{"name", "description", "on", "tools", "check", "detect", "hazard", "when", "effect", "modify", "conditions", "approval", "code", "reason", "instead", "mode", "risk"}
	modifyForms  = []string{"redact", "drop"}
	replaceKeys  = []string{"argument", "with", "with_expr"}

	codePattern = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	listPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`)
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

var ownCodes = []string{CodeRuleError, CodeModifyConflict, CodeModifyImpossible, CodeDefault, "approval_required"}

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
	if root.kind != mappingNode {
		d.at(root, "start with version: 1, default: … and rules: …", "a policy document is a mapping, not %s", nodeKindNames[root.kind])
		return d
	}
	d.known(root, documentKeys, "a policy document")
	if v := root.get("version"); v == nil {
		d.at(root, "add version: 1", "the document does not say its version")
	} else if v.kind != numberNode || v.text != "1" {
		d.at(v, "this reeve reads version: 1", "version %q is not known", v.text)
	}
	d.textOf(root.get("name"), "name")
	d.textOf(root.get("description"), "description")
	if v := root.get("default"); v == nil {
		d.at(root, "add default: allow, or default: deny to forbid everything that no rule allows",
			"the document does not say what happens when no rule decides")
	} else if e, ok := d.effectOf(v, "default"); ok {
		if e == act.Modify {
			d.at(v, "it is one of allow, escalate, deny", "the default cannot be modify")
		}
		d.effect = e
	}
	d.observe = d.modeOf(root.get("mode"))
	d.readLists(root.get("lists"))
	d.readManifests(root.get("manifests"))
	if v := root.get("rules"); v != nil && v.kind != nullNode {
		if v.kind != sequenceNode {
			d.at(v, "write each rule as - name: …", "rules is a list, not %s", nodeKindNames[v.kind])
		}
		for _, item := range v.items {
			d.readRule(item)
		}
	}
	return d
}

// known reports the members of a mapping that have no meaning.
func (d *document) known(n *node, keys []string, what string) {
	for _, m := range n.members {
		if !slices.Contains(keys, m.name) {
			d.fault(m.line, m.column, didYouMean(m.name, keys), "%s has no key %q", what, m.name)
		}
	}
}

// textOf reads an optional text.
func (d *document) textOf(n *node, what string) string {
	if n == nil || n.kind == nullNode {
		return ""
	}
	if n.kind == sequenceNode || n.kind == mappingNode {
		d.at(n, "", "%s is a text, not %s", what, nodeKindNames[n.kind])
		return ""
	}
	text := strings.TrimSpace(n.text)
	if len(text) > maxReason {
		d.at(n, "", "%s is longer than %d bytes", what, maxReason)
	}
	return text
}

func (d *document) effectOf(n *node, what string) (act.Effect, bool) {
	e, ok := act.ParseEffect(n.text)
	if n.kind != stringNode || !ok {
		d.at(n, didYouMean(n.text, []string{"allow", "deny", "escalate", "modify"}), "%s: %q is not an effect", what, n.text)
		return act.Deny, false
	}
	return e, true
}

// modeOf reports whether a mode is observe.
func (d *document) modeOf(n *node) bool {
	if n == nil {
		return false
	}
	if n.text != "enforce" && n.text != "observe" {
		d.at(n, didYouMean(n.text, []string{"enforce", "observe"}), "mode: %q is not a mode", n.text)
	}
	return n.text == "observe"
}

// words reads a text or a list of texts. It returns nil when n is absent.
func (d *document) words(n *node, what string) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == stringNode:
		return []*node{n}
	case n.kind == sequenceNode && len(n.items) > 0:
		var words []*node
		for _, item := range n.items {
			if item.kind != stringNode || item.text == "" {
				d.at(item, "quote it", "%s is a list of texts; this is %s", what, nodeKindNames[item.kind])
				continue
			}
			words = append(words, item)
		}
		return words
	}
	d.at(n, "leave the key out if it should not matter", "%s is a text or a list of texts, not %s", what, nodeKindNames[n.kind])
	return nil
}

func (d *document) readLists(n *node) {
	if n == nil || n.kind == nullNode {
		return
	}
	if n.kind != mappingNode {
		d.at(n, "write lists: { name: [\"…\"] }", "lists is a mapping of names to lists, not %s", nodeKindNames[n.kind])
		return
	}
	for _, m := range n.members {
		l := list{name: m.name, at: &node{line: m.line, column: m.column}}
		if !listPattern.MatchString(m.name) {
			d.at(l.at, "use lower-case letters, digits and _", "%q cannot be the name of a list", m.name)
			continue
		}
		if m.value.kind != sequenceNode {
			d.at(m.value, "", "a list is a list of texts, not %s", nodeKindNames[m.value.kind])
			continue
		}
		for _, item := range m.value.items {
			if item.kind != stringNode {
				d.at(item, "quote it", "a list holds texts; this is %s", nodeKindNames[item.kind])
				continue
			}
			l.values = append(l.values, item.text)
		}
		d.lists = append(d.lists, l)
	}
}

func (d *document) readRule(n *node) {
	if n.kind != mappingNode {
		d.at(n, "write each rule as - name: …", "a rule is a mapping, not %s", nodeKindNames[n.kind])
		return
	}
	r := &rule{file: d.file, line: n.line, column: n.column}
	d.known(n, ruleKeys, "a rule")
	r.name = d.textOf(n.get("name"), "name")
	switch {
	case r.name == "":
		d.at(n, "add name: …", "the rule has no name")
	case !ruleName(r.name):
		d.at(n.get("name"), "use letters, digits, spaces and . _ / -, at most 100", "%q cannot be the name of a rule", r.name)
	case r.name == "default":
		d.at(n.get("name"), "", "a rule cannot be called default: that is the name of what happens when no rule decides")
	}
	d.textOf(n.get("description"), "description")
	r.kinds = d.kindsOf(n.get("on"))
	for _, w := range d.words(n.get("tools"), "tools") {
		d.exprs = append(d.exprs, pending{r, toolsPart, w})
	}
	for _, w := range d.words(n.get("check"), "check") {
		if !slices.Contains(checkNames, w.text) {
			d.at(w, didYouMean(w.text, checkNames), "there is no check %q", w.text)
		}
		r.check = append(r.check, w.text)
	}
	for _, w := range d.words(n.get("detect"), "detect") {
		det, ok := risk.ParseDetector(w.text)
		if !ok {
			d.at(w, didYouMean(w.text, detectorNames), "there is no detector %q", w.text)
		}
		r.detect |= det
	}
	if v := n.get("hazard"); v != nil {
		f, err := strconv.ParseFloat(v.text, 64)
		if v.kind != numberNode || err != nil || f <= 0 || f > 1 {
			d.at(v, "0.8 is what hardly anybody wants, 0.5 what somebody may", "hazard is a number above 0, at most 1")
		}
		r.hazard = f
	}
	if v := n.get("when"); v != nil {
		d.exprs = append(d.exprs, pending{r, whenPart, v})
	}
	if v := n.get("effect"); v == nil {
		d.at(n, "add effect: deny, escalate, modify or allow", "the rule does not say its effect")
	} else {
		r.effect, _ = d.effectOf(v, "effect")
	}
	d.readModify(r, n)
	d.readConditions(r, n)
	d.readApproval(r, n)
	if v := n.get("code"); v != nil {
		r.code = d.textOf(v, "code")
		if !codePattern.MatchString(r.code) || len(r.code) > 64 {
			d.at(v, "use lower-case words joined by . _ or -", "%q cannot be a code", r.code)
		} else if slices.Contains(ownCodes, r.code) {
			d.at(v, "choose another", "the code %s has a meaning of its own", r.code)
		}
	}
	r.reason = d.textOf(n.get("reason"), "reason")
	r.instead = d.textOf(n.get("instead"), "instead")
	r.observe = d.modeOf(n.get("mode")) || d.observe
	if v := n.get("risk"); v != nil {
		f, err := strconv.ParseFloat(v.text, 64)
		if v.kind != numberNode || err != nil || f < 0 || f > 1 {
			d.at(v, "", "risk is a number from 0 to 1")
		}
		r.risk = f
	}
	d.rules = append(d.rules, r)
}

// readTools adds the globs that one entry of tools stands for.
func (d *document) readTools(p pending, lists []list) {
	globs := []string{p.node.text}
	if name, ok := strings.CutPrefix(p.node.text, "lists."); ok {
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

func (d *document) kindsOf(n *node) kindSet {
	if n == nil {
		return ^kindSet(0)
	}
	var kinds kindSet
	for _, w := range d.words(n, "on") {
		if w.text == "*" {
			return ^kindSet(0)
		}
		matched := false
		for i, k := range act.Kinds {
			if matchName(w.text, string(k)) {
				kinds |= 1 << i
				matched = true
			}
		}
		if !matched {
			d.at(w, didYouMean(w.text, kindNames), "there is no kind of act %q", w.text)
		}
	}
	return kinds
}

func (d *document) readModify(r *rule, n *node) {
	v := n.get("modify")
	if r.effect != act.Modify {
		if v != nil {
			d.at(v, "set effect: modify", "modify: needs effect: modify")
		}
		return
	}
	switch {
	case v == nil:
		d.at(n.get("effect"), "add modify: redact, drop or {replace: …}", "the rule does not say how it modifies")
	case v.kind == stringNode && v.text == "redact":
		r.change.kind = redact
		if r.detect == 0 {
			d.at(v, "add detect: […]", "modify: redact masks what detectors found, and the rule has no detect")
		}
	case v.kind == stringNode && v.text == "drop":
		r.change.kind = drop
	case v.kind == mappingNode && len(v.members) == 1 && v.members[0].name == "replace" && v.members[0].value.kind == mappingNode:
		d.readReplace(r, v.members[0].value)
	case v.kind == stringNode:
		d.at(v, didYouMean(v.text, modifyForms), "modify: %q is not a way to modify", v.text)
	default:
		d.at(v, "it is redact, drop or {replace: {argument: NAME, with: VALUE}}", "this is not a way to modify")
	}
}

func (d *document) readReplace(r *rule, n *node) {
	d.known(n, replaceKeys, "replace")
	r.change.kind = replace
	if r.change.argument = d.textOf(n.get("argument"), "argument"); r.change.argument == "" {
		d.at(n, "add argument: NAME", "replace does not say which argument")
	} else {
		d.exprs = append(d.exprs, pending{r, argumentPart, n.get("argument")})
	}
	with, expr := n.get("with"), n.get("with_expr")
	switch {
	case (with == nil) == (expr == nil):
		d.at(n, "add with: VALUE, or with_expr: a CEL expression", "replace needs exactly one of with and with_expr")
	case with != nil:
		r.change.with = with.appendJSON(nil)
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
	return names
}()

var detectorNames = []string{"secret", "pii", "pii.card", "pii.ssn", "pii.iban", "pii.email", "pii.phone", "hidden", "injection", "all"}
