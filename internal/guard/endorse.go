package guard

import (
	"fmt"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/words"
)

// maxEndorsed bounds the values that one approval endorses, and of which the record tells.
const maxEndorsed = 64

// endorse is what people have agreed to beside the act that they let pass: that the
// values upon which it is done are the user's from now on in this session, as the same
// argument of the same tool. The reason of the approval says so.
func endorse(a *act.Action, d *act.Decision, s policy.Session, set *policy.Set) []provenance.Use {
	if !agreedTo(d) || d.Reasons[0].Code != "approved" {
		return nil
	}
	var rules []string
	for _, r := range d.Reasons[1:] {
		if r.Effect == act.Escalate && !r.Observe {
			rules = append(rules, r.Rule)
		}
	}
	list := set.Endorses(&policy.Input{Action: a, Session: s}, rules)
	if len(list) == 0 || len(list) > maxEndorsed {
		return nil
	}
	var told []string
	for i, u := range list {
		if i == 4 {
			told = append(told, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		value := risk.Mask(u.Value, risk.Scan(u.Value, risk.Secret|risk.Card|risk.SSN|risk.IBAN, nil))
		told = append(told, fmt.Sprintf("%s (%s)", words.Shorten(value, 80), u.Argument))
	}
	d.Reasons[0].Message += fmt.Sprintf(" In this session, %s may use these from now on as if the user had named them: %s.", a.Resource, strings.Join(told, ", "))
	return list
}

// agreedTo reports whether an act passes because people have agreed to it, or to what does the same.
func agreedTo(d *act.Decision) bool {
	return d.Effect >= act.Modify && len(d.Reasons) > 0 && d.Reasons[0].Rule == "approval" &&
		(d.Reasons[0].Code == "approved" || d.Reasons[0].Code == codeChanged || d.Reasons[0].Code == codeGranted)
}
