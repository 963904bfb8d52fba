package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/words"
)

// Report is what comes of a window under a candidate.
type Report struct {
	Candidate string    `json:"candidate"` // its hash
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	// Records are all of the window, and Acts those that were decided about: the sum of
	// the three ends that they come to.
	Records    uint64 `json:"records"`
	Acts       int    `json:"acts"`
	Same       int    `json:"same"`
	Changed    int    `json:"changed"`
	CannotTell int    `json:"cannot_tell"`
	// Looser are those of Changed that would be let through where they were stopped, or
	// with fewer changes; Stricter those the other way round.
	Looser   int `json:"looser"`
	Stricter int `json:"stricter"`
	// Because says of how many acts it cannot be told for which reason.
	Because map[string]int `json:"cannot_tell_because,omitempty"`
	// Changes are the acts that would be decided otherwise, in groups: deny to allow first.
	Changes []Change `json:"changes"`
	// Agents are those of which fewer acts would pass, those first that would stop working.
	Agents []Agent `json:"agents"`
	// Left says that there are more groups or agents than these.
	Left bool `json:"left_out,omitzero"`
}

// Change is a group of acts that would be decided otherwise.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Rule is what makes the difference: the rule that stopped the act where it would
	// pass, else the one of the candidate that would not let it pass as it did.
	Rule  string `json:"rule"`
	Agent string `json:"agent"`
	Tool  string `json:"tool,omitzero"`
	Kind  string `json:"kind"`
	Acts  int    `json:"acts"`
	// First are the ids of the first of them.
	First []string `json:"first,omitempty"`

	from, to act.Effect
	first    []act.Position
}

// Agent is what a candidate would do to an agent's work: of the acts that passed, and of
// which it can be told.
type Agent struct {
	Agent  string `json:"agent"`
	Passed int    `json:"passed"`
	Denied int    `json:"denied"` // would be
	Asked  int    `json:"asked"`  // people would be, first
	// Stops says that none of its acts would pass any more.
	Stops bool `json:"stops,omitzero"`
}

// Bounds of a report.
const (
	mostGroups = 5000
	mostAgents = 5000
	mostNames  = 200 // bytes of a name
)

// group names a Change.
type group struct {
	from, to                act.Effect
	rule, agent, tool, kind string
}

// tally counts what comes of acts.
type tally struct {
	acts                      int // named of each group
	equal                     int
	because                   map[string]int
	groups                    map[group]*Change
	agents                    map[string]*Agent
	left                      bool
	changes, looser, stricter int
}

func newTally(acts int) *tally {
	return &tally{acts: acts, because: map[string]int{}, groups: map[group]*Change{}, agents: map[string]*Agent{}}
}

func (t *tally) unknown(why string) { t.because[why]++ }

func (t *tally) same(agent string, effect act.Effect) {
	t.equal++
	if effect >= act.Modify {
		if a := t.agent(agent); a != nil {
			a.Passed++
		}
	}
}

func (t *tally) agent(name string) *Agent {
	a := t.agents[name]
	if a == nil {
		if len(t.agents) == mostAgents {
			t.left = true
			return nil
		}
		a = &Agent{Agent: name}
		t.agents[name] = a
	}
	return a
}

func short(s string) string {
	if len(s) > mostNames {
		return words.Cut(s, mostNames) + "…"
	}
	return s
}

// changed counts an act that would be decided otherwise.
func (t *tally) changed(g group, at act.Position) {
	t.changes++
	switch {
	case g.to > g.from:
		t.looser++
	case g.to < g.from:
		t.stricter++
	}
	if g.from >= act.Modify {
		if a := t.agent(g.agent); a != nil {
			a.Passed++
			switch g.to {
			case act.Deny:
				a.Denied++
			case act.Escalate:
				a.Asked++
			}
		}
	}
	c := t.groups[g]
	if c == nil {
		if len(t.groups) == mostGroups {
			t.left = true
			return
		}
		c = &Change{From: g.from.String(), To: g.to.String(), Rule: g.rule, Agent: g.agent, Tool: g.tool, Kind: g.kind, from: g.from, to: g.to}
		t.groups[g] = c
	}
	c.Acts++
	if len(c.first) < t.acts {
		c.first = append(c.first, at)
	}
}

// join takes up what another tally has counted.
func (t *tally) join(o *tally) {
	t.equal, t.changes, t.left = t.equal+o.equal, t.changes+o.changes, t.left || o.left
	t.looser, t.stricter = t.looser+o.looser, t.stricter+o.stricter
	for why, n := range o.because {
		t.because[why] += n
	}
	for g, c := range o.groups {
		had := t.groups[g]
		if had == nil {
			if len(t.groups) == mostGroups {
				t.left = true
				continue
			}
			own := *c
			own.first = slices.Clone(c.first)
			t.groups[g] = &own
			continue
		}
		had.Acts += c.Acts
		had.first = append(had.first, c.first...)
	}
	for name, a := range o.agents {
		had := t.agents[name]
		if had == nil {
			if len(t.agents) == mostAgents {
				t.left = true
				continue
			}
			had = &Agent{Agent: name}
			t.agents[name] = had
		}
		had.Passed, had.Denied, had.Asked = had.Passed+a.Passed, had.Denied+a.Denied, had.Asked+a.Asked
	}
}

func (t *tally) report() *Report {
	r := &Report{Same: t.equal, Changed: t.changes, Looser: t.looser, Stricter: t.stricter, Because: t.because, Left: t.left, Changes: []Change{}, Agents: []Agent{}}
	for _, n := range t.because {
		r.CannotTell += n
	}
	r.Acts = r.Same + r.Changed + r.CannotTell
	for _, c := range t.groups {
		slices.SortFunc(c.first, func(a, b act.Position) int { return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.Index, b.Index)) })
		c.First = nil
		for _, pos := range c.first[:min(len(c.first), t.acts)] {
			c.First = append(c.First, pos.String())
		}
		r.Changes = append(r.Changes, *c)
	}
	slices.SortFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Acts, a.Acts), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Kind, b.Kind))
	})
	for _, name := range slices.Sorted(maps.Keys(t.agents)) {
		if a := t.agents[name]; a.Denied+a.Asked > 0 {
			a.Stops = a.Denied+a.Asked == a.Passed
			r.Agents = append(r.Agents, *a)
		}
	}
	slices.SortStableFunc(r.Agents, func(a, b Agent) int {
		if a.Stops != b.Stops {
			if a.Stops {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Denied+b.Asked, a.Denied+a.Asked)
	})
	return r
}

// Shorten leaves no more groups and agents than this, and says so; 0 leaves all.
func (r *Report) Shorten(most int) {
	if most <= 0 {
		return
	}
	r.Left = r.Left || len(r.Changes) > most || len(r.Agents) > most
	r.Changes, r.Agents = r.Changes[:min(len(r.Changes), most)], r.Agents[:min(len(r.Agents), most)]
}

// rank orders changes: what would be let through first, from the widest step on, then
// what would be stopped, from the widest step on, then what would be changed otherwise.
func (c *Change) rank() int {
	step := int(c.to) - int(c.from)
	switch {
	case step > 0:
		return 10*(3-step) + int(c.from)
	case step < 0:
		return 100 + 10*(3+step) + int(c.to)
	}
	return 200
}
