package operator

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/internal/target"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecisionShown is a decision with why it was made, as far as that is kept.
type DecisionShown struct {
	ledger.Line
	Reasons []ReasonShown `json:"reasons,omitempty"`
	Risk    act.Risk      `json:"risk,omitzero"`
	// Held is the id of the decision of people about it.
	Held string `json:"held,omitzero"`
	// What says in one line what was asked, as it is kept.
	What string `json:"what,omitzero"`
	// Parts are the texts of the act in which something stands that was looked at, and what
	// was found in each; Arguments are a call's. Both are as the request is kept.
	Parts     []approval.Part `json:"parts,omitempty"`
	Arguments []Value         `json:"arguments,omitempty"`
	// Request is what was asked, and Modified what it was changed to, as they are kept:
	// masked, and absent where they are not.
	Request  jsontext.Value `json:"request,omitzero"`
	Modified jsontext.Value `json:"modified,omitzero"`
	Edits    []ledger.Edit  `json:"edits,omitempty"`
	// Considered are the rules of the policy then that did not decide.
	Considered []RuleShown `json:"considered,omitempty"`
	// Before are the steps of its session before it, the newest last.
	Before []ledger.Line `json:"before,omitempty"`
	// Exception is what a person can write into the policy to let exactly this act pass;
	// where there is none, NoException says why.
	Exception   string `json:"exception,omitzero"`
	NoException string `json:"no_exception,omitzero"`
	// Receipt is where the proof is that the record is in the ledger.
	Receipt string `json:"receipt"`
	Note    string `json:"note,omitzero"`

	again *replay.Again
}

// Final reports whether nobody can let the act pass.
func (d *DecisionShown) Final() bool {
	return slices.ContainsFunc(d.Reasons, func(r ReasonShown) bool { return r.Final })
}

// ReasonShown is a reason, with the rule that gives it as it stood in the policy then.
type ReasonShown struct {
	ledger.Reason
	// OWASP is the category of the Top 10 for Agentic Applications that the code belongs to.
	OWASP string     `json:"owasp,omitzero"`
	Says  *RuleShown `json:"says,omitzero"`
	// Ways are those of values, from what brought them in to what would carry them out.
	Ways []Way `json:"ways,omitempty"`
}

// RuleShown is a rule as it is written, with what became of it.
type RuleShown struct {
	PolicyRule
	Text string `json:"text,omitzero"`
	// Why is what kept the rule from the act, or made it meet it; Values are the parts of
	// its condition with what they were; and Otherwise says in what the act would have to
	// differ for the rule not to meet it, each enough by itself.
	Why       string   `json:"why,omitzero"`
	Values    []Value  `json:"values,omitempty"`
	Otherwise []string `json:"otherwise,omitempty"`
}

// Value is an argument, or a part of a rule's condition, with its value.
type Value struct {
	Expression string `json:"expression"`
	Value      string `json:"value"`
}

// Way is that of one value that neither the user nor one's own sources have named.
type Way struct {
	act.Trace
	// From says what brought it in, and To what would be done upon it.
	From string `json:"from"`
	To   string `json:"to"`
}

// stepsBefore is how many steps before an act are shown with it.
const stepsBefore = 5

func (o *API) explain(r *http.Request, _ act.Principal, _ Nothing) (*DecisionShown, error) {
	pos, err := act.ParsePosition(r.PathValue("id"))
	if err != nil {
		return nil, problem{http.StatusBadRequest, err}
	}
	d, err := o.Replays.Explain(r.Context(), pos)
	if err != nil {
		return nil, o.failed("the decision was not read", err)
	}
	return d, nil
}

// Explain tells why a decision was made: what is kept of it, and what the policy of then
// says when it looks at the act once more, with what the session remembered.
func (p *Replays) Explain(ctx context.Context, pos act.Position) (*DecisionShown, error) {
	line, err := ledger.ReadLine(ctx, p.Store, pos)
	if err != nil {
		return nil, err
	}
	d := &DecisionShown{Line: line, Receipt: "/ledger/" + strings.Replace(pos.String(), "-", "/receipt/", 1)}
	opening, err := ledger.ReadOpening(ctx, p.Store, pos)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		d.note("What lay beside the record has expired, was erased, or was never kept.")
	case err != nil:
		return nil, err
	default:
		kept, err := opening.Outcome()
		if err != nil {
			return nil, err
		}
		d.Risk, d.Held, d.Edits = kept.Risk, kept.Approval, kept.Edits
		for _, reason := range kept.Reasons {
			shown := ReasonShown{Reason: reason, OWASP: act.Category(reason.Code)}
			for _, t := range reason.Traces {
				shown.Ways = append(shown.Ways, p.wayOf(ctx, t, d.Tool))
			}
			d.Reasons = append(d.Reasons, shown)
		}
		d.Request, d.Modified = shownJSON(opening.Request), shownJSON(opening.Modified)
	}
	if d.Reasons == nil && d.Effect != "" {
		for _, name := range d.Rules {
			d.Reasons = append(d.Reasons, ReasonShown{Reason: ledger.Reason{Rule: name, Effect: d.Effect}})
		}
	}
	if d.Effect == "" {
		return d, nil
	}
	set, err := p.policyThen(ctx, d.Policy)
	if err != nil {
		return nil, err
	}
	if set == nil && d.Policy != "" {
		d.note("The policy that was in force then cannot be read any more.")
	}
	leave, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	d.again, err = replay.Once(ctx, p.Store, pos, p.Keys, set)
	leave()
	if err != nil {
		return nil, err
	}
	switch d.again.Missing {
	case "":
	case replay.Masked:
		d.note("The act is kept masked: what the rules saw then can be more than this.")
	default:
		if d.Request != nil {
			d.note("The rules are looked at without something that was known then: " + d.again.Missing + ".")
		}
	}
	d.rules(set)
	if a := d.again.Action; a != nil {
		for i := range a.Arguments {
			d.Arguments = append(d.Arguments, Value{a.Arguments[i].Name, string(a.Arguments[i].Value)})
		}
		d.What, d.Parts = target.What(a, nil), partsOf(a, d.again.Findings)
	}
	if effect, _ := act.ParseEffect(d.Effect); effect == act.Deny || effect == act.Escalate {
		if d.Exception, err = d.Except("SAY WHY", d.Time.AddDate(0, 0, 30).Format(time.DateOnly)); err != nil {
			d.NoException = err.Error()
		}
	}
	d.Before, err = before(ctx, p.Store, d.Principal, d.Session, pos)
	return d, err
}

func (d *DecisionShown) note(sentence string) { d.Note = strings.TrimSpace(d.Note + " " + sentence) }

// wayOf draws the way of a value, with what the record tells of what brought it in.
func (p *Replays) wayOf(ctx context.Context, t act.Trace, tool string) Way {
	w := Way{Trace: t, From: "foreign text", To: t.Argument}
	if t.Origin != "foreign" {
		w.From = "nothing that was read"
	}
	if t.Decision != "" {
		w.From += ", decision " + t.Decision
	}
	if tool != "" {
		w.To += " of " + tool
	}
	pos, err := act.ParsePosition(t.Decision)
	if err != nil {
		return w
	}
	line, err := ledger.ReadLine(ctx, p.Store, pos)
	if err != nil {
		return w
	}
	w.From = line.Kind + " in decision " + t.Decision
	if of := cmp.Or(w.Source, line.Tool, line.Answers); of != "" {
		w.From += ", of " + of
	}
	return w
}

// rules adds the rules of the policy then: what they say, and what became of each.
func (d *DecisionShown) rules(set *policy.Set) {
	if set == nil {
		return
	}
	again := map[string]*policy.RuleExplanation{}
	for i := range d.again.Rules {
		again[d.again.Rules[i].Rule] = &d.again.Rules[i]
	}
	for _, rule := range rulesOf(set) {
		if x := again[rule.Name]; x != nil {
			rule.Why, rule.Otherwise = x.Why, x.Otherwise
			for _, v := range x.Values {
				rule.Values = append(rule.Values, Value(v))
			}
		}
		met := false
		for i := range d.Reasons {
			if d.Reasons[i].Rule == rule.Name {
				met, d.Reasons[i].Says = true, &rule
			}
		}
		if !met {
			d.Considered = append(d.Considered, rule)
		}
	}
}

// partsOf are the texts of an act that run or write something, or in which detectors found
// anything, with where.
func partsOf(a *act.Action, found []policy.Finding) []approval.Part {
	parts := target.Parts(a)
	for _, f := range found {
		if f.Leaf >= len(a.Content) {
			continue
		}
		leaf := &a.Content[f.Leaf]
		at := slices.IndexFunc(parts, func(p approval.Part) bool { return p.Pointer == leaf.Pointer })
		if at < 0 {
			if len(leaf.Text) > maxFoundText {
				continue
			}
			at, parts = len(parts), append(parts, approval.Part{Pointer: leaf.Pointer, Text: leaf.Text})
		}
		parts[at].Findings = append(parts[at].Findings, approval.Finding{Code: f.Code, Message: f.Name, Weight: f.Score, Start: f.Start, End: f.End})
	}
	return parts
}

// maxFoundText is the longest text that is shown for what was found in it, in bytes.
const maxFoundText = 64 << 10

// shownJSON is JSON as it is kept; nothing for what is none.
func shownJSON(b []byte) jsontext.Value {
	if v := jsontext.Value(b); v.IsValid() {
		return v
	}
	return nil
}

// before are the steps of a session before one of its records, the newest last.
func before(ctx context.Context, store ledger.Reader, principal, session string, pos act.Position) ([]ledger.Line, error) {
	if session == "" {
		return nil, nil
	}
	at, err := ledger.ReadLine(ctx, store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := ledger.Search(ctx, store, ledger.Query{Session: session, Principal: principal, Until: at.Time.Add(1), Limit: 4 * stepsBefore})
	if err != nil {
		return nil, err
	}
	var list []ledger.Line
	for _, l := range found.Lines { // the newest first
		if l.Effect != "" && l.Position() != pos && !(l.Position().Log == pos.Log && l.Position().Index > pos.Index) && len(list) < stepsBefore {
			list = append(list, l)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// flows adds to a session's steps what came in by each, and where what others wrote went.
func (p *Replays) flows(ctx context.Context, steps []report.Step) error {
	at := make([]act.Position, len(steps))
	for i := range steps {
		at[i], _ = act.ParsePosition(steps[i].Decision) // as lineOf wrote it
	}
	newest := len(at) > 1 && steps[0].Time.After(steps[len(at)-1].Time)
	if newest {
		slices.Reverse(at)
	}
	leave, err := p.look(ctx)
	if err != nil {
		return err
	}
	defer leave()
	flows, err := replay.Flows(ctx, p.Store, p.Keys, p.policyThen, at)
	if newest {
		slices.Reverse(flows)
	}
	for i := range flows {
		steps[i].Labels, steps[i].Ways = flows[i].Labels, flows[i].Ways
		steps[i].Damaged = steps[i].Damaged || flows[i].Damaged
	}
	return err
}

// policyThen is a policy, in force or not any more; nil where it cannot be read.
func (p *Replays) policyThen(ctx context.Context, hash string) (*policy.Set, error) {
	if set := p.Policy(); set != nil && set.Hash() == hash {
		return set, nil
	}
	text, err := p.Store.Policy(ctx, hash)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	set, err := policy.Parse(text)
	if err != nil || set.Hash() != hash {
		return nil, nil // what is kept of it is damaged, or of another program's form
	}
	return set, nil
}

// rulesOf are the rules of a policy, as they are written.
func rulesOf(set *policy.Set) (rules []RuleShown) {
	var documents struct {
		Files []PolicyFile `json:"files"`
	}
	lines := map[string][]string{}
	if json.Unmarshal(set.Text(), &documents) == nil {
		for _, f := range documents.Files {
			lines[path.Base(filepath.ToSlash(f.Name))] = strings.Split(f.Text, "\n")
		}
	}
	for _, info := range set.Rules() {
		shown := RuleShown{PolicyRule: PolicyRule{info.Name, info.File, info.Line, info.Effect.String(), info.Observe, info.Behind}}
		shown.Text = ruleText(lines[path.Base(filepath.ToSlash(info.File))], info.Line) // documents are known by their base
		rules = append(rules, shown)
	}
	return rules
}

// maxRuleLines bounds how much of a rule is shown; the policy's page has all of it.
const maxRuleLines = 60

// ruleText is a rule from its line on: until one begins that stands no deeper, but for the
// rule's own closing.
func ruleText(lines []string, line int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	first := indent(lines[line-1])
	end := line
	for end < len(lines) && end-line < maxRuleLines && (strings.TrimSpace(lines[end]) == "" || indent(lines[end]) > first) {
		end++
	}
	return strings.TrimRight(strings.Join(lines[line-1:end], "\n"), " \n")
}

// ApprovalShown is an act that people are asked about, with what its agent did before.
type ApprovalShown struct {
	*approval.Decision
	Before []ledger.Line `json:"before,omitempty"`
}

// withBefore adds the steps before to what is shown of an act that is held.
func (o *API) withBefore(ctx context.Context, h *approval.Decision) (ApprovalShown, error) {
	shown := ApprovalShown{Decision: h}
	pos, err := act.ParsePosition(h.Decision)
	if err != nil {
		return shown, nil // held by what is no record
	}
	if shown.Before, err = before(ctx, o.Store, h.Principal, h.Session, pos); err != nil {
		return shown, o.failed("the steps before were not read", err)
	}
	return shown, nil
}
