package replay

import (
	"cmp"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
)

// Shadow counts what the candidate beside a node's policy would have decided otherwise,
// since it is there. It is safe for concurrent use; the zero Shadow is ready.
type Shadow struct {
	mu        sync.Mutex
	candidate string
	since     time.Time
	tally     *tally
}

// shadowActs is how many acts of a group are named.
const shadowActs = 10

// Failed is why it cannot be told of an act what the candidate would have decided.
const Failed = "the candidate failed"

// Count takes up one act. Another candidate begins anew.
func (s *Shadow) Count(a *act.Action, by *guard.Shadowed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.candidate != by.Candidate {
		s.candidate, s.since, s.tally = by.Candidate, a.At, newTally(shadowActs)
	}
	agent := short(cmp.Or(a.Agent.ID, a.Principal.Name))
	switch {
	case by.Failed:
		s.tally.unknown(Failed)
	case by.Changed:
		s.tally.changed(group{by.Was, by.Would, by.Rule, agent, short(a.Resource), string(a.Kind)}, by.Position)
	default:
		s.tally.same(agent, by.Was)
	}
}

// Report is what was counted of a candidate; of one that has judged nothing yet, nothing.
func (s *Shadow) Report(candidate string, now time.Time) *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.candidate != candidate {
		return &Report{Candidate: candidate, Changes: []Change{}, Agents: []Agent{}}
	}
	whole := newTally(shadowActs) // the report's own, for this one goes on
	whole.join(s.tally)
	r := whole.report()
	r.Candidate, r.Since, r.Until, r.Records = candidate, s.since, now, uint64(r.Acts)
	return r
}
