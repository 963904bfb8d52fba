package policy

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/words"
)

// conclude makes the verdict of the rules that matched: the strictest wins,
// and all of them are said.
func (s *Set) conclude(e *evaluation) Verdict {
	v := Verdict{Effect: act.Allow}
	for i, f := range e.findings {
		v.Findings = append(v.Findings, Finding{e.leaves[i], f})
	}
	decided := false // a rule said whether the act may happen
	applied := false // a rule that was not only observed matched
	for i := range e.matches {
		m := &e.matches[i]
		start := len(v.Reasons)
		v.Reasons = e.reasons(v.Reasons, m)
		if effect, ok := m.effect(); ok {
			if effect != act.Allow && (e.lift(s, v.Reasons[start:]) || e.pass(m, v.Reasons[start:])) {
				m.lifted = true
				continue
			}
			applied = true
			decided = decided || effect != act.Modify && m.rule.change.kind != mark
			v.Effect = act.Stricter(v.Effect, effect)
		}
	}
	if grave := e.graveReasons(s); grave != nil {
		if !s.observe && !e.lift(s, grave) {
			v.Effect, decided = act.Deny, true
		}
		advise(grave, slices.Concat(v.Reasons, e.in.Refusals))
		v.Reasons = append(v.Reasons, grave...)
	}
	// A modify rule says how, not whether: else a card number in a forbidden
	// call would turn the default's deny into a permission.
	byDefault := s.defaultReason
	if e.in.Action.InnerMethod == sampling && e.in.Action.Kind == act.MCPRequest {
		byDefault = unasked
		byDefault.Observe = s.observe
	}
	if !decided && (!applied || byDefault.Effect != act.Allow) {
		if !s.observe {
			v.Effect = act.Stricter(v.Effect, byDefault.Effect)
		}
		v.Reasons = append(v.Reasons, byDefault)
	}
	refusals := slices.Clone(e.in.Refusals)
	for i := range refusals {
		// Of these, only a manifest's limits are the policy's own.
		if refusals[i].Rule != manifestRule || !refusals[i].Observe && !e.lift(s, refusals[i:i+1]) {
			v.Effect = act.Deny
		}
	}
	if v.Effect == act.Modify || v.Effect == act.Escalate {
		edits, problem := e.edits()
		if problem != nil {
			v.Effect = act.Deny
			v.Reasons = append(v.Reasons, *problem)
		} else {
			v.Edits = edits
		}
	}
	if v.Effect != act.Deny {
		v.Conditions = e.conditions()
	}
	sortReasons(v.Reasons)
	v.Reasons = append(refusals, v.Reasons...)
	v.Risk = e.risk() // last, when all that was assessed is known
	return v
}

// sampling is the method by which an MCP server uses the client's model: it writes
// what the model reads, at the client's cost. Whatever a policy's default is, it needs
// a rule that allows it.
const sampling = "sampling/createMessage"

// unasked is why it is denied where no rule says anything of it.
var unasked = act.Reason{
	Rule: "default", Code: "mcp.sampling", Effect: act.Deny,
	Message: "An MCP server wants to use the client's model, and no rule allows that.",
	Instead: "Go on without it.",
}

// sortReasons puts those that were applied first, strictest first.
func sortReasons(reasons []act.Reason) {
	if len(reasons) < 2 {
		return
	}
	slices.SortStableFunc(reasons, func(a, b act.Reason) int {
		if a.Observe != b.Observe {
			if b.Observe {
				return -1
			}
			return 1
		}
		return int(a.Effect) - int(b.Effect)
	})
}

// observed reports whether a match is only noted: because its rule watches,
// because the session's memory is not certain enough to act on, or because an
// exception has lifted it.
func (m *match) observed() bool { return m.rule.observe || m.unsure || m.lifted }

// effect returns what a match contributes; ok is false for nothing.
func (m *match) effect() (act.Effect, bool) {
	switch {
	case m.observed(), m.err != nil && m.rule.effect == act.Allow:
		return act.Allow, false
	case m.err != nil && m.rule.effect == act.Modify:
		return act.Deny, true
	}
	return m.rule.effect, true
}

// reasons appends what a match has to say.
func (e *evaluation) reasons(dst []act.Reason, m *match) []act.Reason {
	r := m.rule
	var traces []act.Trace
	if r.acts != nil || r.when != nil && r.when.traces {
		traces = e.traces()
	}
	told := ""
	for i, t := range traces {
		if told += " " + t.String() + "."; i == 1 {
			break
		}
	}
	if said := e.unusual(r); said != "" {
		told += " " + said
	}
	told += e.beside(r)
	if told != "" && r.endorse {
		told += " Who agrees lets the tool use this for the rest of the session."
	}
	reason := act.Reason{Rule: r.name, Code: r.code, Traces: traces, Message: r.reason, Instead: r.instead, Effect: r.effect, Observe: m.observed(), Terms: r.terms}
	if r.effects != nil && r.effect == act.Escalate {
		reason.Passages = e.passages(r)
	}
	if told != "" && reason.Message == "" {
		reason.Message = "The rule " + r.name + " applies."
	}
	reason.Message += told
	if m.err == nil || r.effect == act.Deny || r.effect == act.Escalate {
		dst = e.ruleReasons(dst, m, reason)
	}
	if m.err == nil {
		return dst
	}
	failure := act.Reason{Rule: r.name, Code: CodeRuleError, Effect: r.effect, Observe: m.observed()}
	consequence := "it was taken to apply"
	switch r.effect {
	case act.Allow:
		failure.Observe = true
		consequence = "it does not allow this"
	case act.Modify:
		failure.Effect = act.Deny
		consequence = "what it would have changed cannot pass"
	}
	if r.observe {
		consequence = "it only observes"
	}
	failure.Message = fmt.Sprintf("The rule %s could not be evaluated: %v; %s.", r.name, m.err, consequence)
	return append(dst, failure)
}

// ruleReasons appends one reason, or for a rule without a code of its own one
// for each check and detector that made it match, under its name.
func (e *evaluation) ruleReasons(dst []act.Reason, m *match, reason act.Reason) []act.Reason {
	r := m.rule
	if r.check == nil && r.detect == 0 && r.hazard == 0 {
		if reason.Code == "" {
			reason.Code = codeOf(r.name)
		}
		if reason.Message == "" {
			reason.Message = "The rule " + r.name + " applies."
		}
		return append(dst, reason)
	}
	start := len(dst)
	add := func(code, message, pointer string) {
		one := reason
		one.Pointer = pointer
		if one.Code == "" {
			one.Code = code
		}
		if one.Message == "" {
			one.Message = message
		}
		for i := start; i < len(dst); i++ {
			if had := &dst[i]; had.Code == one.Code {
				if had.Pointer != one.Pointer {
					had.Pointer = ""
				}
				if !strings.Contains(had.Message, one.Message) && len(had.Message) < maxReason {
					had.Message += " " + one.Message
				}
				return
			}
		}
		dst = append(dst, one)
	}
	for _, i := range m.violations {
		v := &e.in.Violations[i]
		add(v.Check, hush(v.Message), v.Pointer)
	}
	if r.hazard > 0 {
		for i, f := range e.assess().Findings {
			if r.effects != nil && !r.names(f) {
				continue
			}
			if r.effects != nil || i == 0 || i < maxHazards && f.Weight >= r.hazard/2 { // the gravest, and what weighs beside it
				add("risk."+f.Code, f.Message, f.Pointer)
			}
		}
	}
	for i, f := range e.findings {
		if e.counts(r, i) {
			add(e.set.nameOf(f.Detector), "Found: "+f.Name+".", e.in.Action.Content[e.leaves[i]].Pointer)
		}
	}
	return dst
}

// beside is what a rule met of what the call would do. A rule of many effects says by itself only what
// they have in common.
func (e *evaluation) beside(r *rule) (told string) {
	if r.effects == nil || r.reason == "" && r.code == "" {
		return ""
	}
	for _, f := range e.assess().Findings {
		if r.names(f) && !strings.Contains(r.reason+told, f.Message) && len(told) < maxReason/4 {
			told += " " + f.Message
		}
	}
	return told
}

// passages are the parts of a call's texts that would do what a rule is about.
func (e *evaluation) passages(r *rule) (list []act.Passage) {
	for _, f := range e.assess().Findings {
		if f.Beside && f.Text == "" || !r.names(f) { // what stands in no text that is known the message tells
			continue
		}
		p := act.Passage{Does: f.Message, Text: passage(f.Text)}
		for i := range e.in.Action.Content {
			if l := &e.in.Action.Content[i]; !f.Beside && l.Pointer == f.Pointer && f.Start >= 0 && f.Start < f.End && f.End <= len(l.Text) {
				p.Text = passage(l.Text[f.Start:f.End])
				break
			}
		}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
		if len(list) == maxPassages {
			break
		}
	}
	return list
}

// passage is a part of a text as a person reads it: in one line, masked and cut.
func passage(text string) string {
	return words.Shorten(strings.Join(strings.Fields(hush(text)), " "), maxPassage)
}

// Bounds of what a person reads of a call in one sentence.
const (
	maxPassages = 3
	maxPassage  = 160 // bytes
)

// maxHazards is how many of a call's hazards one rule gives as reasons.
const maxHazards = 8

// codeOf makes a code of a rule's name.
func codeOf(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, name), "-._")
}

// never is what may not stand in a reason, wherever it came from.
const never = risk.Secret | risk.Card | risk.SSN | risk.IBAN

// hush masks what a message must not repeat.
func hush(message string) string {
	return maskText(message, risk.Scan(message, never, nil))
}

// maskText masks findings, those that overlap as one.
func maskText(text string, findings []risk.Finding) string {
	if len(findings) == 0 {
		return text
	}
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, func(a, b risk.Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	merged := sorted[:1]
	for _, f := range sorted[1:] {
		if last := &merged[len(merged)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
		} else {
			merged = append(merged, f)
		}
	}
	return risk.Mask(text, merged)
}

// replacements works out the values that replace rules give, and leaves out
// the rules whose arguments have them already.
func (e *evaluation) replacements() {
	var masks risk.Detector
	any := false
	for i := range e.matches {
		m := &e.matches[i]
		if m.rule.change.kind == redact && !m.observed() {
			masks |= m.rule.detect
		}
		any = any || m.rule.change.kind == replace
	}
	if !any {
		return
	}
	kept := e.matches[:0]
	for _, m := range e.matches {
		if m.rule.change.kind != replace || m.err != nil || e.replacement(&m, masks) {
			kept = append(kept, m)
		}
	}
	e.matches = kept
}

// replacement reports whether there is something to replace, or it failed. A
// value computed from the request is masked as the request itself is.
func (e *evaluation) replacement(m *match, masks risk.Detector) bool {
	c := &m.rule.change
	value := c.with
	if c.withExpr != nil {
		v, err := e.run(c.withExpr)
		if err != nil {
			m.err = err
			return true
		}
		ok := false
		value, ok = appendValue(nil, v, func(s string) string {
			return maskText(s, e.set.detectors.Scan(s, masks, nil))
		}, 0)
		if !ok {
			m.err = fmt.Errorf("the new value of %q cannot be written as JSON", c.argument)
			return true
		}
	}
	present, same := false, true
	e.args.places(c.argument, func(i int) {
		a := &e.in.Action.Arguments[i]
		present = true
		if doc, err := rawjson.Parse(a.Value); err == nil {
			had := doc.Root().AppendCanonical(nil)
			if bytes.Equal(had, value) || e.reading.visible && canon.Visible(string(had)) == canon.Visible(string(value)) {
				return
			}
		}
		same = false
		m.edits = append(m.edits, argumentEdit{a.Pointer, value})
	})
	if !present {
		m.err = fmt.Errorf("the argument %q is missing", c.argument)
		return true
	}
	return !same
}

// edits composes what the modify rules change. A replaced argument wins over
// what lies in it, a dropped item over what is masked in it, and masks are
// taken together on the text as it was sent. problem says why the act cannot
// be brought into a form that may pass.
func (e *evaluation) edits() (edits []act.Edit, problem *act.Reason) {
	content := e.in.Action.Content
	var masks []*rule    // that mask what they found
	var drops *rule      // one that drops
	var notices []string // for each leaf; nil when nothing is dropped
	var arguments []argumentEdit
	values := map[string][]byte{} // of arguments, by pointer
	for i := range e.matches {
		m := &e.matches[i]
		r := m.rule
		if m.observed() || m.err != nil || r.effect != act.Modify {
			continue
		}
		switch r.change.kind {
		case redact:
			masks = append(masks, r)
		case drop:
			var ok bool
			drops = r
			if notices, ok = e.dropped(r, notices); !ok {
				return nil, impossible(r)
			}
		case replace:
			for _, edit := range m.edits {
				if edit.pointer == "" {
					return nil, impossible(r)
				}
				other, ok := values[edit.pointer]
				if ok && !bytes.Equal(other, edit.value) {
					return nil, &act.Reason{Rule: r.name, Code: CodeModifyConflict, Effect: act.Deny, Pointer: edit.pointer,
						Message: fmt.Sprintf("Two rules want different values for the argument %q.", r.change.argument)}
				}
				if !ok {
					values[edit.pointer] = edit.value
					arguments = append(arguments, edit)
				}
			}
		}
	}
	dropped := map[string]bool{} // pointers of strings that are replaced by a notice
	for i, notice := range notices {
		if notice != "" {
			dropped[content[i].Pointer] = true
		}
	}
	for next, i := 0, 0; i < len(content); i++ {
		leaf := &content[i]
		start := next
		for next < len(e.findings) && e.leaves[next] == i {
			next++
		}
		if replaced(values, leaf.Pointer) || leaf.Fixed && dropped[leaf.Pointer] {
			continue
		}
		var text string
		if notices != nil && notices[i] != "" {
			if text = notices[i]; text == leaf.Text { // it was dropped before
				continue
			}
			if e.part(i).Exact {
				return nil, exact(drops, leaf, e.part(i), nil)
			}
		} else {
			var masked []risk.Finding
			var by *rule
			for n := start; n < next; n++ {
				if k := slices.IndexFunc(masks, func(r *rule) bool { return e.counts(r, n) }); k >= 0 {
					if by == nil {
						by = masks[k]
					}
					masked = append(masked, e.findings[n])
				}
			}
			switch {
			case len(masked) == 0:
				continue
			case e.part(i).Exact:
				return nil, exact(by, leaf, e.part(i), masked)
			}
			if text = maskText(leaf.Text, masked); text == leaf.Text || leaf.Pointer == "" || leaf.Fixed {
				return nil, impossible(by)
			}
		}
		if leaf.Base64 {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		edits = append(edits, act.Edit{Pointer: leaf.Pointer, Value: rawjson.Quote(text)})
	}
	for _, edit := range arguments {
		edits = append(edits, act.Edit{Pointer: edit.pointer, Value: edit.value})
	}
	return edits, nil
}

// replaced reports whether a leaf lies in an argument that is replaced.
func replaced(arguments map[string][]byte, pointer string) bool {
	if len(arguments) == 0 {
		return false
	}
	for {
		if _, ok := arguments[pointer]; ok {
			return true
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return false
		}
		pointer = pointer[:i]
	}
}

// dropped notes the notice for each leaf of the items that a rule drops: those
// in which its detectors found something, or all. ok is false when there is
// nothing to drop, or an item of which something would stay.
func (e *evaluation) dropped(r *rule, notices []string) (all []string, ok bool) {
	content := e.in.Action.Content
	if notices == nil {
		notices = make([]string, len(content))
	}
	reason := r.reason
	if reason == "" {
		reason = r.name
	}
	notice := risk.DroppedBy + strings.TrimRight(reason, ".") + "]"
	items := map[string]bool{}
	for i := range content {
		// A text that no edit can change makes no item of its own: else a
		// message with an id would have a part that cannot be dropped.
		drops := !content[i].Fixed && e.looksAt(r, i)
		if r.detect != 0 {
			from, to := e.leafFindings(i)
			for drops = false; from < to && !drops; from++ {
				drops = e.counts(r, from)
			}
		}
		if drops {
			if content[i].Pointer == "" {
				return notices, false
			}
			items[itemOf(&content[i])] = true
		}
	}
	gone := map[string]bool{} // strings that a notice replaces
	for i := range content {
		if items[itemOf(&content[i])] && !content[i].Fixed {
			gone[content[i].Pointer] = true
			if notices[i] == "" {
				notices[i] = notice
			}
		}
	}
	for i := range content {
		if content[i].Fixed && items[itemOf(&content[i])] && !gone[content[i].Pointer] {
			return notices, false
		}
	}
	return notices, len(items) > 0
}

func itemOf(l *act.Leaf) string {
	if l.Item != "" {
		return l.Item
	}
	return l.Pointer
}

// leafFindings returns where the findings in leaf i begin and end.
func (e *evaluation) leafFindings(i int) (from, to int) {
	from, _ = slices.BinarySearch(e.leaves, i)
	to, _ = slices.BinarySearch(e.leaves, i+1)
	return from, to
}

func impossible(r *rule) *act.Reason {
	return &act.Reason{Rule: r.name, Code: CodeModifyImpossible, Effect: act.Deny,
		Message: fmt.Sprintf("The rule %s must change something that cannot be changed, so the act cannot pass.", r.name)}
}

// exact is the problem that a rule would change a text in which nothing may be
// changed: what is left of a command is another command.
func exact(r *rule, leaf *act.Leaf, part hazard.Part, found []risk.Finding) *act.Reason {
	what := "a command, a program, a query or an address"
	if part.Use == hazard.Replaced {
		what = "a text that an edit looks for"
	}
	reason := &act.Reason{Rule: r.name, Code: CodeModifyImpossible, Effect: act.Deny, Pointer: leaf.Pointer,
		Message: fmt.Sprintf("The rule %s would change %s, in which nothing is changed, so the act cannot pass.", r.name, what),
		Instead: "Ask again without it."}
	if names := namesOf(found); names != "" {
		reason.Message = fmt.Sprintf("%s holds %s. Nothing is changed in it, so the act cannot pass (rule %s).", strings.ToUpper(what[:1])+what[1:], names, r.name)
		reason.Instead = "Ask again without that: name a file or a variable in its place."
		if !slices.ContainsFunc(found, func(f risk.Finding) bool { return f.Detector != risk.Hidden }) {
			reason.Instead = "Write it again without those characters."
		}
	}
	return reason
}

// namesOf says what was found, each kind once.
func namesOf(found []risk.Finding) string {
	var names []string
	for _, f := range found {
		if !slices.Contains(names, f.Name) && len(names) < maxHazards {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// maxThreats bounds the threats that a decision names.
const maxThreats = 20

// noThreats is shared by all verdicts without any; nobody appends to it in place.
var noThreats = []string{}

// risk sums up findings, violations and the grave rules that matched.
func (e *evaluation) risk() act.Risk {
	score, threats := 0.0, noThreats
	add := func(s float64, threat string) {
		score = max(score, s)
		if threat != "" && !slices.Contains(threats, threat) && len(threats) < maxThreats {
			threats = append(threats, threat)
		}
	}
	for _, f := range e.findings {
		add(f.Score, f.Name)
	}
	// A door that tells the agent its limits (A2G) tells it the risk score, too: it is then
	// assessed even if no rule asks for it.
	model := 0.0
	if e.assessed || e.in.Action.Bounded {
		a := e.assess()
		for _, f := range a.Findings {
			if f.Code == "model" {
				model = f.Weight
				continue
			}
			add(f.Weight, f.Category+" "+f.Code)
		}
		if model == 0 {
			score = max(score, a.Score)
		}
	}
	for i := range e.in.Violations {
		v := &e.in.Violations[i]
		weight := checkWeight(v.Check)
		if v.Unsure {
			weight /= 2
		}
		add(weight, checkThreat[v.Check])
	}
	for i := range e.matches {
		if r := e.matches[i].rule; r.risk > 0 {
			add(r.risk, r.name)
		}
	}
	r := act.Risk{Score: max(score, model), Threats: threats, Heuristic: score, Model: e.in.Action.Model}
	r.Level = act.Level(r.Score)
	for _, t := range e.in.Action.ModelThreats {
		if !slices.Contains(r.Threats, t) {
			r.Threats = append(r.Threats[:len(r.Threats):len(r.Threats)], t)
		}
	}
	return r
}

// checkWeights is how grave a violated check is, where it is not 0.5.
var checkWeights = map[string]float64{
	"agent.changed": 0.8, "session.shared": 0.8, "memory.foreign": 0.8, "mcp.changed": 0.8, "mask.written_back": 0.6, "secret.retyped": 0.9,
	"result.orphan": 0.7, "result.denied": 0.7, "result.repeated": 0.7, "id.reused": 0.7,
	"tool.confusable": 0.7, "tool.undeclared": 0.7, "reply.orphan": 0.6,
	"memory.unknown": 0.2, "files.changed": 0.3, "tool.new": 0.3, "time.skew": 0.1, "time.backwards": 0.2, "citation.unknown": 0.2,
	"order.unexpected": 0.1, "autonomous": 0.1, "session.unknown": 0.1, "agent.unregistered": 0.1, "agent.capability": 0.3, "result.dialogue": 0.1,
}

func checkWeight(check string) float64 {
	if w, ok := checkWeights[check]; ok {
		return w
	}
	return 0.5
}

// checkThreat is what a violated check is called among the threats.
var checkThreat = func() map[string]string {
	m := map[string]string{}
	for _, c := range session.Checks {
		m[c.Name] = c.Doc
	}
	return m
}()

// conditions are those of the rules that let the act pass, each once, in the
// rules' order.
func (e *evaluation) conditions() (all []string) {
	var seen map[string]bool
	for i := range e.matches {
		m := &e.matches[i]
		if m.observed() || m.err != nil {
			continue
		}
		for _, c := range m.rule.conditions {
			if seen == nil {
				seen = map[string]bool{}
			}
			if !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}
