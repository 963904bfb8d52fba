package habits

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"reeve.example/reeve/act"
)

// Said is what people said of an agent's habits. It outlives the profile that is made from
// notes: made anew, it is held to the same.
type Said struct {
	// Frozen are the times in which nothing is learned. The last is open while it is so.
	Frozen []Span `json:"frozen,omitzero"`
	// Forgot are values that count from a time on only; the zero Hash is all of them.
	Forgot []Word `json:"forgot,omitzero"`
	// Taught are values that a person says are usual.
	Taught []Word `json:"taught,omitzero"`
	// Barred are the times in which the agent was suspended or revoked: sessions that ended
	// then teach nothing. They are noted as sessions end.
	Barred []Span `json:"barred,omitzero"`
	// Incidents are sessions that teach nothing.
	Incidents []Word `json:"incidents,omitzero"`
}

// Span is from a time until another; the zero To is for ever.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// Word is what one person said of a value or a session.
type Word struct {
	Hash    Hash         `json:"hash,omitzero,string"`
	Subject string       `json:"subject,omitzero"`
	At      time.Time    `json:"at"`
	By      string       `json:"by,omitzero"`
	Seen    act.Position `json:"seen,omitzero"`
}

// maxSaid bounds each kind of words. Beyond it an older one must go first, which nobody
// does without being told.
const maxSaid = 200

// ErrFull: no more can be said of one agent.
var ErrFull = errors.New("so much was said of this agent's habits that there is no room for more: forget all of them, and it begins anew")

// ErrFrozen: it is so already.
var ErrFrozen = errors.New("nothing changes")

func (s *Said) add(list *[]Word, w Word) error {
	if i := slices.IndexFunc(*list, func(o Word) bool { return o.Hash == w.Hash }); i >= 0 {
		(*list)[i] = w
		return nil
	}
	if len(*list) >= maxSaid {
		return ErrFull
	}
	*list = append(*list, w)
	return nil
}

// Freeze has nothing learned from a time on, and Thaw ends that.
func (p *Profile) Freeze(at time.Time) error {
	if p.FrozenAt(at) {
		return fmt.Errorf("%w: nothing is learned of this agent already", ErrFrozen)
	}
	if len(p.Said.Frozen) == maxSaid {
		return ErrFull
	}
	p.Said.Frozen = append(p.Said.Frozen, Span{From: at})
	return nil
}

// Thaw ends what Freeze began.
func (p *Profile) Thaw(at time.Time) error {
	if n := len(p.Said.Frozen); n > 0 && p.Said.Frozen[n-1].To.IsZero() {
		p.Said.Frozen[n-1].To = at
		return nil
	}
	return fmt.Errorf("%w: something is learned of this agent already", ErrFrozen)
}

// FrozenAt reports whether nothing was learned at a time.
func (p *Profile) FrozenAt(at time.Time) bool {
	return within(p.Said.Frozen, at)
}

func within(spans []Span, at time.Time) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return !at.Before(s.From) && (s.To.IsZero() || at.Before(s.To)) })
}

// Bar notes whether the agent was suspended or revoked when a session ended that is about
// to be learned.
func (p *Profile) Bar(s *Session, barred bool) {
	list, at := p.Said.Barred, time.UnixMilli(s.Last).UTC()
	open := len(list) > 0 && list[len(list)-1].To.IsZero()
	switch {
	case barred && !open:
		if len(list) == maxSaid { // what lay between the two oldest teaches nothing, too
			list[1].From = list[0].From
			list = slices.Delete(list, 0, 1)
		}
		p.Said.Barred = append(list, Span{From: at})
	case !barred && open:
		list[len(list)-1].To = at
	}
}

// Teach makes a value usual at a person's word.
func (p *Profile) Teach(w Word) error {
	if err := p.Said.add(&p.Said.Taught, w); err != nil {
		return err
	}
	p.said(w)
	return nil
}

// Words are what a target is known as for all users: with what its session had read.
func (t *Target) Words() []Word {
	list := []Word{{Hash: t.Value, Subject: t.Of}}
	if t.Private != 0 {
		list = append(list, Word{Hash: join(t.Value, t.Private), Subject: OfPrivate})
	}
	return list
}

// said puts a value among those that are known.
func (p *Profile) said(w Word) {
	if i := p.subjectOf(w.Subject, 0); i >= 0 {
		p.put(w.Hash, i, w.Seen, w.At.Unix(), false)
	}
}

// Forget has a value count as never seen, or all with the zero Hash. What comes later
// counts again.
func (p *Profile) Forget(w Word) error {
	if w.Hash == 0 {
		p.Said.Taught, p.Said.Forgot = nil, nil
		p.clear()
	}
	if err := p.Said.add(&p.Said.Forgot, w); err != nil {
		return err
	}
	p.Said.Taught = slices.DeleteFunc(p.Said.Taught, func(t Word) bool { return t.Hash == w.Hash })
	if i, ok := p.place(w.Hash); ok {
		p.values = slices.Delete(p.values, i, i+1)
	}
	return nil
}

// Exclude has a session teach nothing. What it taught already goes when the profile is
// made anew; until then nothing is usual that it taught.
func (p *Profile) Exclude(w Word) error {
	if err := p.Said.add(&p.Said.Incidents, w); err != nil {
		return err
	}
	p.values = slices.DeleteFunc(p.values, func(v value) bool { return slices.Contains(v.by[:v.taught], uint32(w.Hash)) })
	return nil
}

// Empty reports whether nobody said anything.
func (s *Said) Empty() bool {
	return len(s.Frozen)+len(s.Forgot)+len(s.Taught)+len(s.Barred)+len(s.Incidents) == 0
}

// excluded reports whether a session teaches nothing, at somebody's word.
func (s *Said) excluded(session Hash) bool {
	return slices.ContainsFunc(s.Incidents, func(w Word) bool { return w.Hash == session })
}

// forgot reports whether what was seen of a value at a time counts no more.
func (s *Said) forgot(h Hash, at int64) bool {
	return slices.ContainsFunc(s.Forgot, func(w Word) bool { return (w.Hash == h || w.Hash == 0) && at <= w.At.Unix() })
}

// taught reports whether a person said that a value is usual.
func (s *Said) taught(h Hash) bool {
	return slices.ContainsFunc(s.Taught, func(w Word) bool { return w.Hash == h })
}

func (p *Profile) clear() {
	*p = Profile{Principal: p.Principal, Agent: p.Agent, Said: p.Said}
}

// Anew is a profile of the same agent that has learned nothing yet, and to which people
// said the same.
func (p *Profile) Anew() *Profile {
	n := &Profile{Principal: p.Principal, Agent: p.Agent, Said: p.Said}
	for _, w := range p.Said.Taught {
		n.said(w)
	}
	return n
}

func (s Span) String() string {
	if s.To.IsZero() {
		return fmt.Sprintf("since %s", s.From.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("from %s to %s", s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
}
