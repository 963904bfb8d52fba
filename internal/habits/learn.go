package habits

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"reeve.example/reeve/act"
)

// Quiet is how long nothing must have come from a session for it to be over. What comes
// later is another one for what is counted; for what is usual it stays the same session.
const Quiet = 30 * time.Minute

// Bounds of what is remembered of sessions that are not over.
const (
	maxSeen = 256    // values of one session
	maxOpen = 20_000 // sessions
	maxDay  = 26     // hours of one session that are counted by themselves
)

// Session is what a session did, as its notes tell.
type Session struct {
	Agent       string // as in Note
	ID          Hash
	First, Last int64 // Unix milliseconds

	print    Print
	begins   Hash // the tool of the first call
	count    Count
	hours    []hour
	seen     []seen
	objected bool // somebody said no to something, so nothing of it counts
	alarmed  bool
	from     []act.Position // where it begins in each log
}

// seen is a value of a session.
type seen struct {
	hash    Hash // for all, or for one user where mine
	other   Hash // under which it may be known, too; 0 for none
	subject string
	at      act.Position
	teaches Teaches
	mine    bool
}

// Learner gathers notes until their sessions are over. The zero Learner is ready. It is
// not safe for concurrent use.
type Learner struct {
	open  map[sessionKey]*list.Element
	order list.List // of *Session, by Last
	now   int64     // the newest time that was seen, Unix milliseconds
	ended []*Session
}

type sessionKey struct {
	agent string
	id    Hash
}

func (s *Session) key() sessionKey { return sessionKey{s.Agent, s.ID} }

// Observe takes in a note, which stands beside the record at a position. Notes come in the
// order of their times. Where a clock went back, what comes then is of the time before:
// nobody makes another day of one that way.
func (l *Learner) Observe(n *Note, at act.Position) {
	if l.open == nil {
		l.open = map[sessionKey]*list.Element{}
	}
	l.now = max(l.now, n.At)
	l.end(l.now)
	e := l.open[sessionKey{n.Agent, n.Session}]
	if e == nil {
		if l.order.Len() >= maxOpen {
			l.endOne(l.order.Front())
		}
		e = l.order.PushBack(&Session{Agent: n.Agent, ID: n.Session, First: l.now})
		l.open[sessionKey{n.Agent, n.Session}] = e
	}
	e.Value.(*Session).add(n, at, l.now)
	l.order.MoveToBack(e)
}

// end ends the sessions that are over at a time: always in the order in which they were
// seen last, so that it is the same however often somebody looks.
func (l *Learner) end(now int64) {
	for e := l.order.Front(); e != nil && now-e.Value.(*Session).Last > Quiet.Milliseconds(); e = l.order.Front() {
		l.endOne(e)
	}
}

func (l *Learner) endOne(e *list.Element) {
	s := l.order.Remove(e).(*Session)
	delete(l.open, s.key())
	l.ended = append(l.ended, s)
}

// Settle gives back the sessions that are over at a time, in the order in which they
// ended.
func (l *Learner) Settle(until time.Time) []*Session {
	l.end(until.UnixMilli())
	return l.Ended()
}

// Ended gives back the sessions that were over when the last note came, likewise.
func (l *Learner) Ended() []*Session {
	ended := l.ended
	l.ended = nil
	return ended
}

// Begins is the place of one of the session's records.
func (s *Session) Begins() act.Position { return s.from[0] }

// Over reports whether a session is over at a time.
func (s *Session) Over(at time.Time) bool { return at.UnixMilli()-s.Last > Quiet.Milliseconds() }

// From are the first records, by log, that sessions which are not over still need.
func (l *Learner) From() map[uint32]uint64 {
	from := map[uint32]uint64{}
	for e := l.order.Front(); e != nil; e = e.Next() {
		for _, at := range e.Value.(*Session).from {
			if i, ok := from[at.Log]; !ok || at.Index < i {
				from[at.Log] = at.Index
			}
		}
	}
	return from
}

// add takes a note into its session, at a time that is never before that of another.
func (s *Session) add(n *Note, at act.Position, now int64) {
	if !slices.ContainsFunc(s.from, func(p act.Position) bool { return p.Log == at.Log }) {
		s.from = append(s.from, at)
	}
	s.Last = now
	s.objected = s.objected || n.Objected
	s.alarmed = s.alarmed || len(n.New) > 0 || n.Outside > 0
	for i, p := range n.Print {
		if s.print[i] == 0 {
			s.print[i] = p
		}
	}
	did := n.did()
	s.count.add(did)
	s.addHour(now/time.Hour.Milliseconds(), did)
	if !n.Ran {
		return
	}
	if s.begins == 0 {
		s.begins = n.Tool
	}
	if n.Watched {
		return
	}
	s.see(seen{hash: n.Tool, subject: OfTools, at: at, teaches: ForAll})
	for _, t := range n.Targets {
		one := seen{hash: t.Value, subject: t.Of, at: at, teaches: t.Teaches}
		if t.Teaches == ForUser {
			one.hash, one.other, one.mine = t.Mine, t.Value, true
		} else {
			one.other = t.Mine
		}
		s.see(one)
		if t.Private != 0 {
			one.hash, one.subject = join(one.hash, t.Private), OfPrivate
			if one.other != 0 {
				one.other = join(one.other, t.Private)
			}
			s.see(one)
		}
	}
}

func (s *Session) addHour(at int64, did Count) {
	if i := slices.IndexFunc(s.hours, func(h hour) bool { return h.at == at }); i >= 0 {
		s.hours[i].add(did)
	} else if len(s.hours) < maxDay {
		s.hours = append(s.hours, hour{at, did})
	}
}

// see notes a value, once a session: by what taught most of it.
func (s *Session) see(one seen) {
	i := slices.IndexFunc(s.seen, func(o seen) bool { return o.hash == one.hash && o.subject == one.subject })
	switch {
	case i >= 0:
		if one.teaches > s.seen[i].teaches {
			s.seen[i] = one
		}
	case len(s.seen) < maxSeen:
		s.seen = append(s.seen, one)
	}
}

// Learn takes a session into the profile that is over. Sessions come in the order of
// Settle.
func (p *Profile) Learn(s *Session) {
	end := s.Last / 1000
	if at := time.UnixMilli(s.Last); p.FrozenAt(at) || within(p.Said.Barred, at) || p.Said.excluded(s.ID) || p.Said.forgot(0, end) {
		return
	}
	shift(&p.alarmed, s.alarmed)
	if s.objected {
		p.unteach(uint32(s.ID))
		return
	}
	p.sessions++
	p.last = max(p.last, end)
	p.enter(s)
	p.measure(s)
	var touched, news uint64
	note := func(one seen) {
		i := p.subjectOf(one.subject, touched)
		if i < 0 {
			return
		}
		touched |= 1 << i
		if p.find(one.hash) == nil && (one.other == 0 || p.find(one.other) == nil) {
			news |= 1 << i
		}
	}
	all := s.seen
	if s.begins != 0 {
		all = append(all[:len(all):len(all)],
			seen{hash: join(s.begins, 1), subject: OfBegins, teaches: ForAll},
			seen{hash: join(Hash(hourOfWeek(s.First/1000)+1), 2), subject: OfHours, teaches: ForAll})
	}
	for _, one := range all {
		note(one)
	}
	for _, one := range all {
		i := p.subjectOf(one.subject, touched)
		if i < 0 || one.teaches == Nothing || p.Said.forgot(one.hash, end) {
			continue
		}
		if one.teaches == Again { // it was usual when it was let pass, and stays so
			if v := p.find(one.hash); v != nil {
				v.last, v.at = max(v.last, dayOf(end)), one.at
			} else if v := p.find(one.other); v != nil {
				v.last, v.at = max(v.last, dayOf(end)), one.at
			}
			continue
		}
		if v := p.put(one.hash, i, one.at, end, one.mine); v != nil {
			v.teach(uint32(s.ID), dayOf(end))
		}
	}
	for i := range p.subjects {
		if touched>>i&1 == 0 {
			continue
		}
		d := &p.subjects[i]
		is := news>>i&1 != 0
		shift(&d.changes, is)
		if d.seen++; is {
			d.newest = d.seen
		}
	}
}

// teach counts a session that taught a value, once, while more are needed.
func (v *value) teach(session uint32, day uint16) {
	n := int(v.taught)
	if slices.Contains(v.by[:n], session) {
		return
	}
	if n < MaxTaught {
		v.by[n], v.on[n] = session, day
		v.taught++
		return
	}
	if slices.Contains(v.on[:], day) {
		return
	}
	for i, d := range v.on { // one of several on one day makes room for another day
		if slices.Contains(v.on[:i], d) {
			v.by[i], v.on[i] = session, day
			return
		}
	}
}

// unteach takes back what a session taught before somebody objected to it.
func (p *Profile) unteach(session uint32) {
	p.values = slices.DeleteFunc(p.values, func(v value) bool { return v.taught == 1 && v.by[0] == session && !p.Said.taught(v.hash) })
	for i := range p.values {
		v := &p.values[i]
		k := slices.Index(v.by[:v.taught], session)
		if k < 0 {
			continue
		}
		copy(v.by[k:], v.by[k+1:v.taught])
		copy(v.on[k:], v.on[k+1:v.taught])
		v.taught--
		v.by[v.taught], v.on[v.taught] = 0, 0
	}
}

// put is the value with a hash, which is made where there is none.
func (p *Profile) put(h Hash, subject int, at act.Position, end int64, mine bool) *value {
	i, ok := p.place(h)
	if !ok {
		if !p.room(mine) {
			return nil
		}
		i, _ = p.place(h)
		p.values = slices.Insert(p.values, i, value{hash: h, subject: uint8(subject), first: dayOf(end), mine: mine})
	}
	v := &p.values[i]
	v.last, v.at = max(v.last, dayOf(end)), at
	return v
}

// room makes room for a value: the one goes that was taught least, and of these the
// one that was not seen for longest. Users' own values push out only each other.
func (p *Profile) room(mine bool) bool {
	n := 0
	for i := range p.values {
		if p.values[i].mine {
			n++
		}
	}
	full := len(p.values) >= maxValues || mine && n >= maxMine
	if !full {
		return true
	}
	worst := -1
	for i := range p.values {
		v := &p.values[i]
		if n >= maxMine && v.mine != mine && mine || p.Said.taught(v.hash) {
			continue
		}
		if worst < 0 || cmp.Or(cmp.Compare(v.taught, p.values[worst].taught), cmp.Compare(v.last, p.values[worst].last)) < 0 {
			worst = i
		}
	}
	if worst < 0 {
		return false
	}
	p.values = slices.Delete(p.values, worst, worst+1)
	return true
}

// enter counts a session to the chapter that it belongs to, and begins one where the
// agent is another than in any before.
func (p *Profile) enter(s *Session) {
	if s.print == (Print{}) {
		return
	}
	for i := len(p.chapters) - 1; i >= 0; i-- {
		if c := &p.chapters[i]; c.print.like(s.print) {
			c.sessions++
			for k, x := range s.print {
				if c.print[k] == 0 {
					c.print[k] = x
				}
			}
			return
		}
	}
	if len(p.chapters) == maxChapters {
		p.chapters = slices.Delete(p.chapters, 0, 1)
	}
	p.chapters = append(p.chapters, chapter{s.print, s.First / 1000, 1})
}

// measure counts how much the session did, and the hours that are over by now.
func (p *Profile) measure(s *Session) {
	p.volumes[sessionCalls].add(s.count.Calls)
	p.volumes[sessionDenied].add(s.count.Denied)
	p.volumes[sessionBytes].add(s.count.Bytes)
	for _, h := range s.hours {
		if i := slices.IndexFunc(p.hours, func(o hour) bool { return o.at == h.at }); i >= 0 {
			p.hours[i].add(h.Count)
		} else {
			p.hours = append(p.hours, h)
		}
	}
	slices.SortFunc(p.hours, func(a, b hour) int { return cmp.Compare(a.at, b.at) })
	over := s.Last/time.Hour.Milliseconds() - 2 // sessions that end later may have something of it, but not much
	for len(p.hours) > 0 && (p.hours[0].at < over || len(p.hours) > maxDay) {
		h := p.hours[0]
		p.hours = slices.Delete(p.hours, 0, 1)
		p.volumes[hourCalls].add(h.Calls)
		p.volumes[hourDenied].add(h.Denied)
		p.volumes[hourBytes].add(h.Bytes)
	}
}
