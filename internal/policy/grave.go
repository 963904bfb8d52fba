package policy

import (
	"slices"
	"strconv"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
)

// Grave risk denies by itself: a call whose hazards, or whose risk in a model's
// eyes, reach this score is denied whatever the rules say, unless the policy says
// another score or off.
const (
	graveRule    = "risk"
	manifestRule = "manifest" // of the reasons that a manifest gives
	defaultGrave = hazard.Grave
)

// readRisk reads the policy's own score from which risk denies.
func (d *document) readRisk(n *node) {
	if n == nil || n.Kind == rawjson.Null {
		return
	}
	if n.Kind != rawjson.Object {
		d.at(n, "write risk: {deny: 0.8}", "risk is a mapping, not %s", n.Is())
		return
	}
	d.known(n, []string{"deny"}, "risk")
	v := n.Get("deny")
	if v == nil {
		d.at(n, "write risk: {deny: 0.8}, or {deny: off}", "risk does not say from which score it denies")
		return
	}
	d.grave = &grave{at: v}
	if v.Kind == rawjson.String && v.Text == "off" {
		d.grave.off = true
		return
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != rawjson.Number || err != nil || !(f > 0 && f <= 1) {
		d.at(v, "0.8 is what hardly anybody wants an agent to do", "risk.deny is a number above 0, at most 1, or off")
	}
	d.grave.score = f
}

// grave is what a document says of the score from which risk denies.
type grave struct {
	score float64
	off   bool
	at    *node
}

// settleRisk takes what the documents say of risk, which must be one thing.
func (s *Set) settleRisk(docs []*document) {
	s.grave = defaultGrave
	var first *document
	for _, d := range docs {
		if d.grave == nil {
			continue
		}
		if first != nil && (first.grave.off != d.grave.off || first.grave.score != d.grave.score) {
			d.at(d.grave.at, "all documents of a policy must agree", "risk.deny is another one in %s", first.file)
		}
		first = d
		if s.grave = d.grave.score; d.grave.off {
			s.grave = 0
		}
	}
}

// GraveRisk is the score from which a call's risk denies by itself; 0 for never.
func (s *Set) GraveRisk() float64 { return s.grave }

// graveReasons are why a call's risk denies it, none if it does not: those of what
// was found that is grave, or all of it if it is grave together.
func (e *evaluation) graveReasons(s *Set) []act.Reason {
	if s.grave == 0 || !e.in.Action.IsCall() {
		return nil
	}
	a := e.assess()
	if a.Score < s.grave {
		return nil
	}
	var reasons []act.Reason
	for _, least := range []float64{s.grave, 0} {
		for i := range a.Findings {
			f := &a.Findings[i]
			if f.Weight < least || i == maxHazards {
				break
			}
			if at := slices.IndexFunc(reasons, func(r act.Reason) bool { return r.Code == "risk."+f.Code }); at >= 0 {
				reasons[at].Pointer = "" // at more than one place
				continue
			}
			reasons = append(reasons, act.Reason{
				Rule: graveRule, Code: "risk." + f.Code, Pointer: f.Pointer, Effect: act.Deny, Observe: s.observe,
				Message: f.Message,
			})
		}
		if reasons != nil {
			break
		}
	}
	return reasons
}

// generalInstead is the way on where no rule names one.
const generalInstead = "Say what you need to reach, and let a person do it."

// advise gives reasons that know of no way on the general one, where none of the others that
// count names its own: two that speak of one act can contradict each other.
func advise(grave, others []act.Reason) {
	names := func(r act.Reason) bool { return r.Instead != "" && !r.Observe && r.Exception == "" }
	if len(grave) > 0 && !slices.ContainsFunc(others, names) {
		grave[0].Instead = generalInstead
	}
}
