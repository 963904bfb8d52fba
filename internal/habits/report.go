package habits

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"
)

// Report is a profile as people see it.
type Report struct {
	Agent     string    `json:"agent"`
	Principal string    `json:"principal"`
	Sessions  int       `json:"sessions"`
	Last      time.Time `json:"last,omitzero"` // when the newest of them ended
	// Learning says that too little is known yet to call anything new.
	Learning bool `json:"learning,omitzero"`
	// Frozen says that nothing is learned at present, and Owed that the profile is about to
	// be made anew.
	Frozen bool `json:"frozen,omitzero"`
	Owed   bool `json:"owed,omitzero"`

	Alarms     Alarms      `json:"alarms"`
	Dimensions []Dimension `json:"dimensions"`
	Values     []Value     `json:"values"`
	// Users counts values that are users' own, of which only that user's are listed who was
	// asked for.
	Users    int       `json:"users_values,omitzero"`
	Chapters []Chapter `json:"chapters,omitzero"`
	Volumes  []Volume  `json:"volumes,omitzero"`
	Said     Said      `json:"said,omitzero"`
}

// Alarms are how many of the newest sessions had something unusual, against what the
// settings allow.
type Alarms struct {
	Sessions int     `json:"sessions"` // of which
	Unusual  int     `json:"unusual"`  // so many
	Budget   float64 `json:"budget"`
}

// Dimension is one of a profile's dimensions.
type Dimension struct {
	Name     string `json:"name"`
	Sessions int    `json:"sessions"` // that had to do with it
	Values   int    `json:"values"`   // that are known
	Usual    int    `json:"usual"`    // of them, for all users
	Quiet    int    `json:"quiet"`    // sessions since the last new one
	// News are how many of the newest sessions brought something new, of Of.
	News int `json:"news"`
	Of   int `json:"of"`
	// Speaks says that it is settled: what is new in it is said. Why says why it is not.
	Speaks bool   `json:"speaks"`
	Why    string `json:"why,omitzero"`
	// Changes is the share of sessions with something new, of each 32, the newest first.
	Changes []float64 `json:"changes,omitzero"`
}

// Value is one value that is known.
type Value struct {
	Dimension string `json:"dimension"`
	Hash      Hash   `json:"hash,string"`
	// Text is what it says, where contents are kept and may be seen.
	Text     string    `json:"text,omitzero"`
	Decision string    `json:"decision,omitzero"` // where it was last seen
	First    time.Time `json:"first"`             // days
	Seen     time.Time `json:"seen"`
	Sessions int       `json:"sessions"` // that taught it, up to 5
	Usual    bool      `json:"usual"`
	Taught   bool      `json:"taught,omitzero"` // at a person's word
	Mine     bool      `json:"users_own,omitzero"`
	New      bool      `json:"new,omitzero"` // first seen within a week

	At act.Position `json:"-"`
}

// Chapter is a time in which the agent was the same.
type Chapter struct {
	Since    time.Time `json:"since"`
	Sessions int       `json:"sessions"`
	Changed  []string  `json:"changed,omitzero"` // since the one before
	// New are how many values were first seen since it began, by dimension.
	New map[string]int `json:"new,omitzero"`
}

// Volume is how much of something is usual at most; -1 while too little is known.
type Volume struct {
	Of    string `json:"of"`
	Usual int    `json:"usual"`
}

// Report is the profile as people see it at a time.
func (p *Profile) Report(s Settings, now time.Time) *Report {
	r := &Report{
		Agent: p.Agent, Principal: p.Principal, Sessions: int(p.sessions), Learning: p.sessions < Learning,
		Frozen: p.FrozenAt(now), Said: p.Said,
		Alarms:     Alarms{Sessions: int(min(p.sessions, window)), Unusual: ones(&p.alarmed), Budget: s.Alarms},
		Dimensions: []Dimension{}, Values: []Value{},
	}
	if p.last > 0 {
		r.Last = p.Last()
	}
	speak := p.speaking(s)
	for i := range p.subjects {
		d := &p.subjects[i]
		one := Dimension{Name: d.name, Sessions: int(d.seen), Quiet: d.quiet(), News: ones(&d.changes), Of: int(min(d.seen, window)), Speaks: speak>>i&1 != 0}
		switch {
		case one.Speaks:
		case d.seen < Learning:
			one.Why = "it is learning"
		default:
			one.Why = d.silent(p.sessions, s)
		}
		for k := 0; k < one.Of; k += 32 {
			part := min(32, one.Of-k)
			n := 0
			for b := k; b < k+part; b++ {
				n += int(d.changes[b/64] >> (b % 64) & 1)
			}
			one.Changes = append(one.Changes, math.Round(100*float64(n)/float64(part))/100)
		}
		r.Dimensions = append(r.Dimensions, one)
	}
	day := func(d uint16) time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }
	for i := range p.values {
		v := &p.values[i]
		taught := p.Said.taught(v.hash)
		one := Value{
			Dimension: p.subjects[v.subject].name, Hash: v.hash, First: day(v.first), Seen: day(v.last), Sessions: int(v.taught),
			Usual: taught || v.usual(s), Taught: taught, Mine: v.mine, New: now.Sub(day(v.first)) < 7*24*time.Hour, At: v.at,
		}
		d := &r.Dimensions[v.subject]
		if d.Values++; one.Usual && !v.mine {
			d.Usual++
		}
		if r.Values = append(r.Values, one); v.mine {
			r.Users++
		}
	}
	slices.SortStableFunc(r.Values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), b.Seen.Compare(a.Seen), cmp.Compare(a.Hash, b.Hash))
	})
	for i := range p.chapters {
		c := &p.chapters[i]
		one := Chapter{Since: time.Unix(c.since, 0).UTC(), Sessions: int(c.sessions), New: map[string]int{}}
		if i > 0 {
			one.Changed = c.print.from(p.chapters[i-1].print)
		}
		for k := range p.values {
			first := p.values[k].first
			later := i+1 < len(p.chapters) && first >= dayOf(p.chapters[i+1].since)
			if first >= dayOf(c.since) && !later {
				one.New[p.subjects[p.values[k].subject].name]++
			}
		}
		r.Chapters = append(r.Chapters, one)
	}
	for i := range p.volumes {
		one := Volume{Of: volumeNames[i], Usual: -1}
		if most, ok := p.volumes[i].most(s.Alarms); ok {
			one.Usual = int(most * unit(i))
		}
		r.Volumes = append(r.Volumes, one)
	}
	return r
}

// silent says why a dimension that has learned is not settled.
func (d *subject) silent(sessions uint32, s Settings) string {
	later := *d // if nothing new comes from now on
	later.seen = max(d.seen, window)
	switch {
	case d.rate(sessions) <= s.Alarms:
		return "others that are more settled take up the alarms that the policy allows"
	case later.rate(uint32(uint64(sessions)*uint64(later.seen)/uint64(d.seen))) <= s.Alarms:
		return "it has too few sessions for as few alarms as the policy allows"
	}
	return "news are too common in it"
}

// Words are what a value can be known as in a profile: by each dimension, for all users
// and for one. user is as in View.
func (p *Profile) Words(k provenance.Key, user, text string) (list []Word) {
	v := View{Key: k, User: user}
	for i := range p.subjects {
		name := p.subjects[i].name
		var h []Hash
		if at := strings.LastIndexByte(name, ' '); at >= 0 {
			t := v.Target(Use{Tool: name[:at], Argument: name[at+1:], Value: text}, nil)
			h = []Hash{t.Value, t.Mine}
		} else if name == OfTools {
			h = []Hash{v.Tool(text)}
		}
		for _, one := range h {
			if p.find(one) != nil || p.Said.taught(one) {
				list = append(list, Word{Hash: one, Subject: name})
			}
		}
	}
	return list
}

// OfUser reports whether a value, which a note names, is this user's own.
func (t *Target) OfUser(k provenance.Key, user string, h Hash) bool {
	v := View{Key: k, User: user}
	return t.Mine == h && join(t.Value, v.user()) == h
}
