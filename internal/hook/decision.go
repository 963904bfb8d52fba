package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
)

// filesChanged is the code for what an agent goes by, and nobody has agreed to.
const filesChanged = "files.changed"

// held is the code with which AOS says that a person must agree.
const held = "approval_required"

// ReadDecision reads the guardian's answer to a request. An answer that does not
// say plainly what was decided is an error.
func ReadDecision(answer []byte) (*Decision, error) {
	doc, err := rawjson.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("the guardian's answer is not acceptable JSON: %w", err)
	}
	if fault := doc.Root().Get("error"); fault.Exists() {
		why := fault.Get("message").Text()
		if s := fault.Get("data").Get("reason").Text(); s != "" {
			why += ": " + s
		}
		return nil, fmt.Errorf("the guardian did not decide: %s", why)
	}
	result := doc.Root().Get("result")
	effect, known := act.ParseEffect(result.Get("decision").Text())
	if !known {
		return nil, errors.New("the guardian's answer holds no decision")
	}
	data := result.Get("data")
	d := &Decision{
		Effect: effect, Message: result.Get("message").Text(), ID: data.Get("decision_id").Text(),
		Codes: textsOf(result.Get("reasonCode")), Instead: textsOf(data.Get("instead")),
		Modified: result.Get("modifiedRequest").Raw(), Conditions: textsOf(data.Get("conditions")),
	}
	for _, o := range data.Get("observed").Elems() {
		if o.Get("code").Text() == filesChanged {
			d.Files = addNew(d.Files, o.Get("message").Text())
		}
	}
	if effect == act.Deny && slices.Contains(d.Codes, held) {
		d.Effect, d.Approval = act.Escalate, data.Get("approval").Get("id").Text()
		d.Dialogue = data.Get("approval").Get("dialogue").Bool()
		d.Asked = data.Get("approval").Get("asked").Text()
		d.Lasting = data.Get("approval").Get("lasting").Bool()
		d.Message = strings.TrimSpace(strings.TrimSuffix(d.Message, wording.MustAgree))
	}
	return d, nil
}

func textsOf(list rawjson.Value) (texts []string) {
	for _, v := range list.Elems() {
		texts = append(texts, v.Text())
	}
	return texts
}

// DecisionOf is a decision that was made in this process.
func DecisionOf(d *act.Decision, modified []byte) *Decision {
	h := &Decision{Effect: d.Effect, ID: d.Position.String(), Modified: modified, Conditions: d.Conditions}
	var said []string
	for _, r := range d.Reasons {
		if r.Observe {
			if r.Code == filesChanged {
				h.Files = addNew(h.Files, r.Message)
			}
			continue
		}
		h.Codes = addNew(h.Codes, r.Code)
		h.Instead = addNew(h.Instead, r.Instead)
		if r.Effect == d.Effect {
			said = addNew(said, r.Message)
		}
	}
	h.Message = strings.Join(said, " ")
	if d.Effect == act.Escalate {
		if d.Approval != nil {
			h.Approval, h.Dialogue, h.Lasting, h.Asked = d.Approval.ID, d.Approval.Dialogue, d.Approval.Lasting, wording.Asked(d)
		}
	}
	return h
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// unanswered is the code for the result of a call that was not allowed.
const unanswered = "result.denied"

// Unanswered reports whether a result was denied since its call was not allowed. So it is,
// too, when the agent's user agreed in the agent's window to what was held no longer.
func (d *Decision) Unanswered() bool {
	return d.Effect == act.Deny && slices.Contains(d.Codes, unanswered)
}

// Covers reports whether a decision about a result's texts alone answers all else
// that spoke against the result.
func (d *Decision) Covers(result *Decision) bool {
	return !slices.ContainsFunc(result.Codes, func(code string) bool { return code != unanswered && !slices.Contains(d.Codes, code) })
}
