package operator

import (
	"context"
	"errors"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"

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
	// Request is what was asked, and Modified what it was changed to, as they are kept:
	// masked, and absent where they are not.
	Request  jsontext.Value `json:"request,omitzero"`
	Modified jsontext.Value `json:"modified,omitzero"`
	Edits    []ledger.Edit  `json:"edits,omitempty"`
	// Considered are the rules of the policy then that did not decide.
	Considered []RuleShown `json:"considered,omitempty"`
	// Before are the steps of its session before it, the newest last.
	Before []ledger.Line `json:"before,omitempty"`
	// Receipt is where the proof is that the record is in the ledger.
	Receipt string `json:"receipt"`
	Note    string `json:"note,omitzero"`
}

// ReasonShown is a reason, with the rule that gives it as it stood in the policy then.
type ReasonShown struct {
	ledger.Reason
	Says *RuleShown `json:"says,omitzero"`
}

// RuleShown is a rule as it is written.
type RuleShown struct {
	PolicyRule
	Text string `json:"text,omitzero"`
}

// stepsBefore is how many steps before an act are shown with it.
const stepsBefore = 5

// explain tells why a decision was made.
func (o *API) explain(r *http.Request, _ act.Principal, _ Nothing) (d DecisionShown, err error) {
	pos, err := act.ParsePosition(r.PathValue("id"))
	if err != nil {
		return d, problem{http.StatusBadRequest, err}
	}
	ctx := r.Context()
	if d.Line, err = ledger.ReadLine(ctx, o.Store, pos); err != nil {
		return d, o.failed("the decision was not read", err)
	}
	d.Receipt = "/ledger/" + strings.Replace(pos.String(), "-", "/receipt/", 1)
	rules, readable := o.rulesThen(ctx, d.Policy)
	if !readable && d.Policy != "" {
		d.Note = "The policy that was in force then cannot be read any more."
	}
	opening, err := ledger.ReadOpening(ctx, o.Store, pos)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		d.Note = strings.TrimSpace(d.Note + " What lay beside the record has expired, was erased, or was never kept.")
	case err != nil:
		return d, o.failed("what lies beside the decision was not read", err)
	default:
		kept, err := opening.Outcome()
		if err != nil {
			return d, o.failed("what lies beside the decision was not read", err)
		}
		d.Risk, d.Held, d.Edits = kept.Risk, kept.Approval, kept.Edits
		for _, reason := range kept.Reasons {
			d.Reasons = append(d.Reasons, ReasonShown{Reason: reason})
		}
		d.Request, d.Modified = shownJSON(opening.Request), shownJSON(opening.Modified)
	}
	if d.Reasons == nil {
		for _, name := range d.Rules {
			d.Reasons = append(d.Reasons, ReasonShown{Reason: ledger.Reason{Rule: name, Effect: d.Effect}})
		}
	}
	for i := range rules {
		met := false
		for j := range d.Reasons {
			if d.Reasons[j].Rule == rules[i].Name {
				met, d.Reasons[j].Says = true, &rules[i]
			}
		}
		if !met && d.Effect != "" {
			d.Considered = append(d.Considered, rules[i])
		}
	}
	if d.Before, err = o.before(ctx, d.Principal, d.Session, pos); err != nil {
		return d, o.failed("the steps before were not read", err)
	}
	return d, nil
}

// shownJSON is JSON as it is kept; nothing for what is none.
func shownJSON(b []byte) jsontext.Value {
	if v := jsontext.Value(b); v.IsValid() {
		return v
	}
	return nil
}

// before are the steps of a session before one of its records, the newest last.
func (o *API) before(ctx context.Context, principal, session string, pos act.Position) ([]ledger.Line, error) {
	if session == "" {
		return nil, nil
	}
	at, err := ledger.ReadLine(ctx, o.Store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := ledger.Search(ctx, o.Store, ledger.Query{Session: session, Principal: principal, Until: at.Time.Add(1), Limit: 4 * stepsBefore})
	if err != nil {
		return nil, err
	}
	var list []ledger.Line
	for _, l := range found.Lines { // the newest first
		if l.Effect != "" && l.Position() != pos && !(l.Position().Log == pos.Log && l.Position().Index > pos.Index) && len(list) < stepsBefore {
			list = append([]ledger.Line{l}, list...)
		}
	}
	return list, nil
}

// rulesThen are the rules of a policy, in force or not any more, as they are written.
func (o *API) rulesThen(ctx context.Context, hash string) (rules []RuleShown, ok bool) {
	set := o.Guard.Policy()
	if set.Hash() != hash {
		text, err := o.Retention.Store.Policy(ctx, hash)
		if err != nil {
			return nil, false
		}
		if set, err = policy.Parse(text); err != nil || set.Hash() != hash {
			return nil, false
		}
	}
	var documents struct {
		Files []PolicyFile `json:"files"`
	}
	if json.Unmarshal(set.Text(), &documents) != nil {
		return nil, false
	}
	lines := map[string][]string{}
	for _, f := range documents.Files {
		lines[path.Base(filepath.ToSlash(f.Name))] = strings.Split(f.Text, "\n")
	}
	infos := set.Rules()
	for _, info := range infos {
		shown := RuleShown{PolicyRule: PolicyRule{info.Name, info.File, info.Line, info.Effect.String(), info.Observe}}
		shown.Text = ruleText(lines[path.Base(filepath.ToSlash(info.File))], info.Line) // documents are known by their base
		rules = append(rules, shown)
	}
	return rules, true
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
	if shown.Before, err = o.before(ctx, h.Principal, h.Session, pos); err != nil {
		return shown, o.failed("the steps before were not read", err)
	}
	return shown, nil
}
