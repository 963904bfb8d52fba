package habits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
)

// Unusual is what was noted as unusual of one agent. One cause is one line, however many
// acts it shows in. It holds no value, and no user's name.
type Unusual struct {
	Agent     string    `json:"agent"`
	Principal string    `json:"principal"`
	Lines     []Counted `json:"lines"` // by when they began
	// Read is by log up to where notes are counted: nodes may read the same ones.
	Read map[uint32]uint64 `json:"read,omitzero"`
}

// Line is one cause: a change of the agent, with all that came of it, or else what was new
// in one kind of dimension, or too much, with no day between.
type Line struct {
	// In is in what the acts were new, as habits.new says it, and OfAmounts.
	In       []string  `json:"in"`
	Changed  string    `json:"changed,omitzero"` // what of the agent had changed
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Acts     int       `json:"acts"`
	Sessions int       `json:"sessions"`
	Asked    int       `json:"asked,omitzero"` // acts of them that were not just noted
	Times    float64   `json:"times,omitzero"` // the usual, at most
	Decision string    `json:"decision"`       // the newest
}

// Counted is a line with what it is counted by.
type Counted struct {
	Line
	// Newest are the newest sessions, under the agent's key: what comes from one of them
	// is no other session.
	Newest []Hash `json:"newest,omitzero"`
}

// OfAmounts is in what acts are unusual of which there are too many.
const OfAmounts = "amount"

// Bounds of what is kept of one agent.
const (
	maxUnusual  = 16
	maxNewest   = 32 // sessions of a line that may go on side by side
	unusualGap  = 24 * time.Hour
	UnusualKept = 30 * 24 * time.Hour
)

// Add counts a note, if something in it was unusual, and returns its line, and in what that
// line is unusual only since: all of it where it is new, and where the agent changed, which
// makes one cause of all that it then does, each further dimension. p is what is known of the agent; nil for nothing.
func (u *Unusual) Add(n *Note, at act.Position, p *Profile) (line *Line, fresh []string) {
	if n.Said == SaidNothing || at.Index < u.Read[at.Log] {
		return nil, nil
	}
	if u.Read == nil {
		u.Read = map[uint32]uint64{}
	}
	u.Read[at.Log] = at.Index + 1
	now := time.UnixMilli(n.At).UTC()
	changed, since := p.changed(now)
	one := u.lineOf(n, now, changed, since)
	begun := one == nil
	if begun {
		u.Lines = slices.DeleteFunc(u.Lines, func(l Counted) bool { return now.Sub(l.Last) > UnusualKept })
		if len(u.Lines) >= maxUnusual {
			u.Lines = slices.Delete(u.Lines, 0, 1)
		}
		u.Lines = append(u.Lines, Counted{Line: Line{First: now}})
		one = &u.Lines[len(u.Lines)-1]
	}
	line = &one.Line
	for _, in := range n.Unusual() {
		if !slices.Contains(line.In, in) {
			line.In, fresh = append(line.In, in), append(fresh, in)
		}
	}
	line.Changed = cmp.Or(line.Changed, changed)
	if !slices.Contains(one.Newest, n.Session) {
		if len(one.Newest) == maxNewest {
			one.Newest = slices.Delete(one.Newest, 0, 1)
		}
		one.Newest = append(one.Newest, n.Session)
		line.Sessions++
	}
	if line.Acts++; n.Said == SaidAsked {
		line.Asked++
	}
	if now.After(line.Last) {
		line.Last = now
	}
	line.Times, line.Decision = max(line.Times, n.Outside), at.String()
	if !begun && line.Changed == "" { // one cause, which is known by its first dimension
		fresh = nil
	}
	return line, fresh
}

// lineOf is the line to which a note belongs; nil for none. What began after the agent
// changed has that cause, also where it was known later only.
func (u *Unusual) lineOf(n *Note, now time.Time, changed string, since time.Time) *Counted {
	first := n.Unusual()[0]
	for i := len(u.Lines) - 1; i >= 0; i-- {
		l := &u.Lines[i]
		switch {
		case changed != "" && (l.Changed == changed || !l.First.Before(since)):
			return l
		case changed == "" && l.In[0] == first && now.Sub(l.Last) < unusualGap:
			return l
		}
	}
	return nil
}

// Unusual is in what an act was unusual that a policy noted: what says most comes first.
func (n *Note) Unusual() (list []string) {
	for _, in := range [...]string{OfTools, OfPrivate, OfTargets, OfBegins, OfHours} {
		if slices.Contains(n.New, in) {
			list = append(list, in)
		}
	}
	if n.Outside > 0 || len(list) == 0 {
		list = append(list, OfAmounts)
	}
	return list
}

// String says a line for people.
func (l *Line) String() string {
	var said []string
	for _, in := range l.In {
		said = append(said, map[string]string{
			OfTools: "a tool that it never used", OfPrivate: "what it has read goes where it never went", OfTargets: "targets that it never had",
			OfBegins: "a session that began as none did", OfHours: "a session at an hour when none began", OfAmounts: "more of it than is usual",
		}[in])
	}
	text := strings.Join(said, "; ")
	if l.Times > 0 {
		text += fmt.Sprintf(" (%.1f times)", l.Times)
	}
	if l.Changed != "" {
		text += ". " + l.Changed
	}
	return text
}
