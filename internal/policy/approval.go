package policy

import (
	"slices"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

var approvalKeys = []string{"quorum", "approvers", "another", "passkey", "within"}

// Limits of what a rule asks of people.
const (
	maxQuorum    = 20
	maxApprovers = 100
	maxWithin    = 30 * 24 * time.Hour
)

// readApproval reads who must agree to what a rule holds.
func (d *document) readApproval(r *rule, n *node) {
	v := n.Get("approval")
	switch {
	case v == nil:
		return
	case v.Kind != rawjson.Object:
		d.at(v, `write approval: {quorum: 2, approvers: ["key:alice"], within: 30m}`, "approval is a mapping, not %s", v.Is())
		return
	case r.effect != act.Escalate:
		d.at(v, "use effect: escalate, or leave it out", "only a rule that escalates asks people")
		return
	}
	d.known(v, approvalKeys, "approval")
	t := &act.Terms{Quorum: 1}
	if q := v.Get("quorum"); q != nil {
		i, err := strconv.Atoi(q.Text)
		if q.Kind != rawjson.Number || err != nil || i < 1 || i > maxQuorum {
			d.at(q, "", "quorum is a whole number from 1 to %d", maxQuorum)
		}
		t.Quorum = i
	}
	for _, w := range d.words(v.Get("approvers"), "approvers") {
		if w.Text == "" || w.Text == "*" {
			d.at(w, "leave approvers out to ask everybody with the role approver", "%q names nobody", w.Text)
		}
		t.Approvers = append(t.Approvers, w.Text)
	}
	named := func(p string) bool { return p != "" && p[len(p)-1] == '*' }
	if a := v.Get("approvers"); a != nil && (len(t.Approvers) > maxApprovers || len(t.Approvers) < t.Quorum && !slices.ContainsFunc(t.Approvers, named)) {
		d.at(a, "", "approvers are at most %d, and at least as many as the quorum", maxApprovers)
	}
	if o := v.Get("another"); o != nil {
		if t.Another = o.Text == "true"; o.Kind != rawjson.Bool {
			d.at(o, "", "another is true or false")
		}
	}
	if p := v.Get("passkey"); p != nil {
		if t.Passkey = p.Text == "true"; p.Kind != rawjson.Bool {
			d.at(p, "", "passkey is true or false")
		}
	}
	if w := v.Get("within"); w != nil {
		within, err := words.Duration(w.Text)
		if w.Kind != rawjson.String || err != nil || within < time.Second || within > maxWithin {
			d.at(w, "write 30m, 8h, 90s or 2d", "within is a time from 1s to %s", "720h")
		}
		t.Within = within
	}
	r.terms = t
}
