package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
)

// maxNear is how many grants are compared with an act that none of them covers.
const maxNear = 256

// near says of an act that people are asked about which agreement of its session comes nearest to it, and
// why that one does not hold; empty for none. It is told to people, and decides nothing.
func (g *Guard) near(ctx context.Context, q *inquiry) string {
	a := q.in.Action
	aim := g.aim(q)
	session := cmp.Or(a.Within, a.Session)
	var nearest *approval.Grant
	best, looked := 0, 0
	for grant, err := range g.grants.All(ctx, ledger.ItemQuery{Open: true}) {
		if looked++; err != nil || looked > maxNear {
			break
		}
		if grant.Principal != a.Principal.Name || grant.Session != "" && grant.Session != session || grant.Resource != a.Resource || grant.At(a.At) != approval.Approved {
			continue
		}
		likeness := 1 + alike(grant.Scope.Act, aim.Act)
		if grant.Scope.Same == aim.Same {
			likeness = maxNear * maxNear
		}
		if likeness > best && (likeness > 1 || grant.Scope.Act == "" && aim.Act == "") {
			nearest, best = grant, likeness
		}
	}
	if nearest == nil {
		return ""
	}
	why := aim.Once
	if why == "" {
		scope := aim.Look()
		scope.Defined = q.defined.String()
		if why = nearest.Scope.Unlike(scope); why == "" {
			why = "it does not answer all that is asked here"
		}
	}
	return fmt.Sprintf(" The agreement %s stands near, and does not hold: %s.", nearest.ID, strings.TrimSuffix(why, "."))
}

// alike is how many words two commands begin with in common.
func alike(one, other string) int {
	these, those := strings.Fields(one), strings.Fields(other)
	n := 0
	for n < min(len(these), len(those), maxNear) && these[n] == those[n] {
		n++
	}
	return n
}

// says adds a sentence to what people are told who are asked.
func says(d *act.Decision, sentence string) {
	i := slices.IndexFunc(d.Reasons, func(r act.Reason) bool { return r.Effect == act.Escalate && !r.Observe && r.Exception == "" })
	if i >= 0 && sentence != "" {
		d.Reasons = slices.Clone(d.Reasons)
		d.Reasons[i].Message += sentence
	}
}
