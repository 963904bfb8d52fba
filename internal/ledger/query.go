package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/rawjson"
)

// Query asks for records. Each member that is set narrows it; the zero Query asks for the
// newest of all.
type Query struct {
	Since time.Time `json:"since,omitzero"` // inclusive
	Until time.Time `json:"until,omitzero"` // exclusive

	Agent        string `json:"agent,omitzero"`
	Principal    string `json:"principal,omitzero"`
	User         string `json:"user,omitzero"` // an id; whose is masked is found by it, too
	Organization string `json:"organization,omitzero"`
	// Behalf is who was acted for by a token, by name or by the subject alone.
	Behalf   string `json:"on_behalf_of,omitzero"`
	Session  string `json:"session,omitzero"` // with those that it began; or a tree of tasks
	Tool     string `json:"tool,omitzero"`    // as rules name it, or as it was sent
	Effect   string `json:"effect,omitzero"`
	Rule     string `json:"rule,omitzero"` // a rule's name, or a reason's code
	Door     string `json:"door,omitzero"`
	Kind     string `json:"kind,omitzero"` // or a pattern of kinds, as rules have it, such as admin.*
	Task     string `json:"task,omitzero"` // the root of a tree of tasks
	Approval string `json:"approval,omitzero"`
	// Text is looked for in the contents, whatever the case of its letters: they are read,
	// so that an answer takes its time and comes in parts.
	Text string `json:"text,omitzero"`

	Logs   []uint32 `json:"logs,omitempty"` // those that are asked; none for all
	Oldest bool     `json:"oldest_first,omitzero"`
	// Cursor is the Next of the answer before: the answer goes on behind it.
	Cursor string `json:"cursor,omitzero"`
	Limit  int    `json:"limit,omitzero"` // lines of an answer; 0 means 100
}

// Answer is a part of what a query finds.
type Answer struct {
	Lines []Line `json:"decisions"`
	// Next is the cursor of the rest; empty at the end. An answer with a Next may have
	// fewer lines than were asked for, and none: so much was looked through, up to Reached.
	Next string `json:"next,omitzero"`
	// Read is how many records were read for it, and Reached the time of the last.
	Read    int       `json:"read"`
	Reached time.Time `json:"reached,omitzero"`
}

// Bounds of a query.
const (
	DefaultLines = 100
	MaxLines     = 1000
	maxAsked     = 1024 // bytes of one member
	// readAtMost is how many records one answer reads that no posting led to, and
	// textAtMost how many bytes of contents are looked through, for at most textTime.
	readAtMost = 20_000
	textAtMost = 64 << 20
	textTime   = 2 * time.Second
)

// ErrQuery says that a query cannot be asked, and why.
var ErrQuery = errors.New("this cannot be asked")

func wrongQuery(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrQuery}, args...)...)
}

// terms are what the index can look for.
func (q *Query) terms() (terms []Term) {
	add := func(kind byte, name string) {
		if name != "" {
			terms = append(terms, termOf(kind, name))
		}
	}
	add(byApproval, q.Approval)
	add(bySession, q.Session)
	add(byTask, q.Task)
	if q.User != "" {
		add(byUser, UserHash(q.User))
	}
	add(byAgent, q.Agent)
	add(byPrincipal, q.Principal)
	add(byTool, q.Tool)
	add(byRule, q.Rule)
	add(byBehalf, q.Behalf)
	add(byOrganization, q.Organization)
	if !q.kinds() { // the index knows whole names
		add(byKind, q.Kind)
	}
	add(byDoor, q.Door)
	add(byEffect, q.Effect)
	return terms
}

// Fits holds a line against all of a query but its text, its logs and its cursor.
func (q *Query) Fits(l *Line) bool {
	same := func(asked string, is ...string) bool { return asked == "" || slices.Contains(is, asked) }
	return (q.Since.IsZero() || !l.Time.Before(q.Since)) && (q.Until.IsZero() || l.Time.Before(q.Until)) &&
		same(q.Agent, l.Agent) && same(q.Principal, l.Principal) && same(q.Organization, l.Organization) &&
		same(q.Behalf, l.OnBehalfOf, l.subject()) &&
		same(q.Session, l.Session, l.Parent, l.Task) && same(q.Tool, l.Tool, l.Resource) && same(q.Effect, l.Effect) &&
		(q.Rule == "" || slices.Contains(l.Rules, q.Rule) || slices.Contains(l.Codes, q.Rule)) &&
		same(q.Door, l.Door) && (q.Kind == "" || glob.Match(q.Kind, l.Kind)) && same(q.Task, l.Task) && same(q.Approval, l.Approval) &&
		(q.User == "" || l.userHash() == UserHash(q.User))
}

// doors are those that records are of; reeve is that of people.
var doors = []string{"aos", "acs", "a2g", "mcp", "a2a", "flow", "reeve"}

// noted are the beginnings of the kinds of records that are no decisions.
var noted = []string{"admin.", "acs.", "a2a.", "session.", "task.", "tasks."}

func knownKind(kind string) bool {
	return slices.Contains(act.Kinds, act.Kind(kind)) || slices.ContainsFunc(noted, func(begins string) bool { return len(kind) > len(begins) && strings.HasPrefix(kind, begins) })
}

// kinds reports whether a query asks for kinds by a pattern.
func (q *Query) kinds() bool { return strings.ContainsAny(q.Kind, "*?") }

// Check refuses what cannot be asked: whoever mistypes it must not take the answer for
// nothing that happened.
func (q *Query) Check() error {
	// Names are looked for by their hash, however long: whoever lists sessions asks by those that
	// older records have. What is compared with contents is bounded.
	for _, asked := range []struct{ name, value string }{{"text", q.Text}, {"cursor", q.Cursor}} {
		if len(asked.value) > maxAsked {
			return wrongQuery("%s is longer than %d bytes", asked.name, maxAsked)
		}
	}
	if q.Effect != "" {
		if _, ok := act.ParseEffect(q.Effect); !ok {
			return wrongQuery("effect is allow, modify, escalate or deny, not %.80q", q.Effect)
		}
	}
	if q.Door != "" && !slices.Contains(doors, q.Door) {
		return wrongQuery("door is %s, not %.80q", strings.Join(doors, ", "), q.Door)
	}
	if q.Kind != "" && !q.kinds() && !knownKind(q.Kind) {
		names := make([]string, len(act.Kinds))
		for i, k := range act.Kinds {
			names[i] = string(k)
		}
		return wrongQuery("kind is %s, or begins with one of %s; not %.80q", strings.Join(names, ", "), strings.Join(noted, ", "), q.Kind)
	}
	switch {
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return wrongQuery("until is not after since")
	case q.Limit < 0 || q.Limit > MaxLines:
		return wrongQuery("limit is 1 to %d", MaxLines)
	}
	_, err := parseMark(q.Cursor)
	return err
}

// mark is where an answer ended: a record, or where one was looked for last.
type mark struct {
	there bool
	micro int64 // of the record's time
	pos   act.Position
}

func (p mark) String() string { return strconv.FormatInt(p.micro, 36) + "." + p.pos.String() }

func parseMark(cursor string) (p mark, err error) {
	if cursor == "" {
		return p, nil
	}
	micro, pos, ok := strings.Cut(cursor, ".")
	if ok {
		p.micro, err = strconv.ParseInt(micro, 36, 64)
	}
	if err == nil {
		p.pos, err = act.ParsePosition(pos)
	}
	if p.there = true; !ok || err != nil || p.micro < 0 || p.micro > maxMicro || p.String() != cursor {
		return p, wrongQuery("the cursor is none that an answer gave: %.80q", cursor)
	}
	return p, nil
}

// CursorBefore is the cursor of an answer that begins with a line, the newest first.
func CursorBefore(l *Line) string {
	pos := l.Position()
	pos.Index++ // which is never in an answer of what lies before it
	return mark{there: true, micro: l.Time.UnixMicro(), pos: pos}.String()
}

// Search answers a query. It reads in steps, and no more than bounded work: see Answer.
func Search(ctx context.Context, store Reader, q Query) (Answer, error) {
	answer := Answer{Lines: []Line{}}
	if err := q.Check(); err != nil {
		return answer, err
	}
	after, err := parseMark(q.Cursor)
	if err != nil {
		return answer, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLines
	}
	logs, err := store.Logs(ctx)
	if err != nil {
		return answer, fmt.Errorf("list the logs: %w", err)
	}
	s := &search{ctx: ctx, store: store, q: q, terms: q.terms(), begun: time.Now()}
	for _, log := range logs {
		if len(q.Logs) > 0 && !slices.Contains(q.Logs, log) {
			continue
		}
		c, err := s.open(log, after)
		if err == nil {
			err = c.fill()
		}
		if err != nil {
			return answer, err
		}
		s.logs = append(s.logs, c)
	}
	for _, log := range q.Logs {
		if !slices.Contains(logs, log) {
			return answer, wrongQuery("there is no log %d", log)
		}
	}
	for {
		next := s.next()
		answer.Read = s.read
		if next == nil {
			return answer, nil
		}
		one := next.found[0]
		if one.line != nil {
			answer.Lines = append(answer.Lines, *one.line)
		}
		answer.Reached = time.UnixMicro(one.mark.micro).UTC()
		if one.line == nil || len(answer.Lines) == q.Limit {
			answer.Next = one.mark.String()
			return answer, nil
		}
		if next.found = next.found[1:]; len(next.found) == 0 {
			if err := next.fill(); err != nil {
				return answer, err
			}
		}
	}
}

// Tally is how many records a query finds in all, and the first and the last of them.
type Tally struct {
	N           int
	First, Last Line // of zero Decision when there is none
}

// Count counts what a query without a text finds. Where the index covers a log, its
// records are not read.
func Count(ctx context.Context, store Reader, q Query) (t Tally, err error) {
	if q.Cursor, q.Limit, q.Oldest = "", 0, false; q.Text != "" {
		return t, wrongQuery("what has a text is not counted")
	}
	if q.kinds() { // what the index leads to is counted without being read
		return t, wrongQuery("kinds are counted one by one, and not by a pattern such as %.80q", q.Kind)
	}
	if err := q.Check(); err != nil {
		return t, err
	}
	logs, err := store.Logs(ctx)
	if err != nil {
		return t, fmt.Errorf("list the logs: %w", err)
	}
	s := &search{ctx: ctx, store: store, q: q, terms: q.terms(), begun: time.Now()}
	for _, log := range logs {
		if len(q.Logs) > 0 && !slices.Contains(q.Logs, log) {
			continue
		}
		c, err := s.open(log, mark{})
		if err != nil {
			return t, err
		}
		if err := c.count(&t); err != nil {
			return t, err
		}
	}
	return t, nil
}

// count adds what is found in one log.
func (c *logSearch) count(t *Tally) error {
	var found []uint64 // the newest and the oldest
	for c.from < c.to {
		list, named, err := c.candidates()
		if err != nil {
			return err
		}
		if !named && len(list) > 0 {
			s := *c.search
			s.idle, s.bytes = 0, 0
			one := &logSearch{search: &s, log: c.log}
			if err := one.look(list); err != nil {
				return err
			}
			list = list[:0]
			for i := range one.found {
				list = append(list, one.found[i].mark.pos.Index)
			}
		}
		if len(list) == 0 {
			continue
		}
		t.N += len(list)
		found = append(found[:min(len(found), 1)], list[0], list[len(list)-1])
	}
	if len(found) == 0 {
		return nil
	}
	for _, index := range []uint64{found[0], found[len(found)-1]} {
		l, err := ReadLine(c.ctx, c.store, act.Position{Log: c.log, Index: index})
		if errors.Is(err, ErrNotFound) {
			continue // pruned meanwhile
		}
		if err != nil {
			return err
		}
		if t.First.Decision == "" || l.Time.Before(t.First.Time) {
			t.First = l
		}
		if t.Last.Decision == "" || !l.Time.Before(t.Last.Time) {
			t.Last = l
		}
	}
	return nil
}

// search is a query under way.
type search struct {
	ctx   context.Context
	store Reader
	q     Query
	terms []Term
	logs  []*logSearch
	begun time.Time
	read  int // records
	idle  int // of them those that no posting led to
	bytes int // of contents
}

// spent says that so much was read that the answer ends.
func (s *search) spent() bool {
	return s.idle >= readAtMost || s.bytes >= textAtMost || s.q.Text != "" && time.Since(s.begun) >= textTime
}

// next is the log whose line comes next; nil at the end.
func (s *search) next() (next *logSearch) {
	for _, c := range s.logs {
		if len(c.found) > 0 && (next == nil || c.before(next)) {
			next = c
		}
	}
	return next
}

// foundLine is a line that was found, or where a search ended without one.
type foundLine struct {
	mark mark
	line *Line
}

// logSearch searches one log.
type logSearch struct {
	*search
	log      uint32
	from, to uint64 // what is not looked at yet
	segments []Segment
	found    []foundLine // and not given to anybody yet

	in  *candidates // of the segment that is looked at
	seg Segment
}

func (c *logSearch) before(other *logSearch) bool {
	a, b := c.found[0].mark, other.found[0].mark
	if a.micro == b.micro {
		return (c.log < other.log) == c.q.Oldest
	}
	return a.micro < b.micro == c.q.Oldest
}

// open says what of a log a query is about.
func (s *search) open(log uint32, after mark) (*logSearch, error) {
	head, err := ReadHead(s.ctx, s.store, log)
	if err != nil {
		return nil, err
	}
	c := &logSearch{search: s, log: log, from: head.Pruned, to: head.Size}
	if !s.q.Since.IsZero() {
		if c.from, err = s.indexAt(c, s.q.Since.UnixMicro()); err != nil {
			return nil, err
		}
	}
	if !s.q.Until.IsZero() {
		if c.to, err = s.indexAt(c, s.q.Until.UnixMicro()); err != nil {
			return nil, err
		}
	}
	if after.there {
		if err := s.goOn(c, after); err != nil {
			return nil, err
		}
	}
	if c.from >= c.to || len(s.terms) == 0 {
		return c, nil
	}
	return c, c.refresh()
}

// refresh reads which segments there are.
func (c *logSearch) refresh() error {
	list, err := c.store.Segments(c.ctx, c.log)
	if err != nil {
		return fmt.Errorf("read the index of log %d: %w", c.log, err)
	}
	c.in, c.segments = nil, covering(list)
	return nil
}

// goOn leaves out what an answer before has looked at.
func (s *search) goOn(c *logSearch, after mark) error {
	newest := !s.q.Oldest
	if after.pos.Log == c.log {
		if newest {
			c.to = min(c.to, after.pos.Index)
		} else {
			c.from = max(c.from, after.pos.Index+1)
		}
		return nil
	}
	// Of records of one time those of the lower log come first, or last.
	micro := after.micro
	if c.log < after.pos.Log {
		micro++
	}
	index, err := s.indexAt(c, micro)
	if newest {
		c.to = min(c.to, index)
	} else {
		c.from = max(c.from, index)
	}
	return err
}

// indexAt is the first record that is not before a time, of those that a search is about.
func (s *search) indexAt(c *logSearch, micro int64) (uint64, error) {
	if c.from >= c.to {
		return c.from, nil
	}
	var failed error
	n := sort.Search(int(c.to-c.from), func(i int) bool {
		if failed != nil {
			return true
		}
		r, _, err := ReadRecord(s.ctx, s.store, act.Position{Log: c.log, Index: c.from + uint64(i)})
		if errors.Is(err, ErrNotFound) {
			return false // pruned meanwhile: it is older than what is there
		}
		failed = err
		return err == nil && r.Time.UnixMicro() >= micro
	})
	return c.from + uint64(n), failed
}

// stretch is how many records are read at once where all are, and together how far apart
// two may be that one read brings.
const (
	stretch  = 256
	together = 256
)

// fill looks on, until something is found, the log ends, or so much was read that the
// answer does.
func (c *logSearch) fill() error {
	for len(c.found) == 0 && c.from < c.to {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		list, _, err := c.candidates()
		if err != nil {
			return err
		}
		for len(list) > 0 && len(c.found) == 0 {
			n := 1 // those that one read brings
			for n < len(list) && distance(list[0], list[n]) < together {
				n++
			}
			if err := c.look(list[:n]); err != nil {
				return err
			}
			if list = list[n:]; len(list) > 0 && len(c.found) > 0 {
				c.backTo(list[0])
			}
		}
	}
	return nil
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// backTo has the search go on with a candidate that was not looked at.
func (c *logSearch) backTo(index uint64) {
	c.in = nil // what it has turned over lies behind it
	if !c.q.Oldest {
		c.to = index + 1
	} else {
		c.from = index
	}
}

// passed has the search go on behind a record.
func (c *logSearch) passed(index uint64) {
	if !c.q.Oldest {
		c.to = index
	} else {
		c.from = index + 1
	}
}

// candidates are records to look at next, in the order of the search: those that the index
// names, and all where there is none: named says which. What it has passed is not looked at
// again.
func (c *logSearch) candidates() (list []uint64, named bool, err error) {
	newest := !c.q.Oldest
	at := c.from
	if newest {
		at = c.to - 1
	}
	i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].To() > at })
	if i == len(c.segments) || c.segments[i].From() > at {
		// Not covered, up to the next segment.
		from, to := c.from, c.to
		if newest {
			if i > 0 {
				from = max(from, c.segments[i-1].To())
			}
			from = max(from, to-min(to, stretch))
		} else {
			if i < len(c.segments) {
				to = min(to, c.segments[i].From())
			}
			to = min(to, from+stretch)
		}
		for index := from; index < to; index++ {
			list = append(list, index)
		}
		if newest {
			slices.Reverse(list)
		}
		c.idle += len(list)
		c.passed(list[len(list)-1])
		return list, false, nil
	}
	seg := c.segments[i]
	if c.in == nil || c.seg != seg {
		c.in, c.seg = newCandidates(c.ctx, c.store, c.log, seg, c.terms, Order(!c.q.Oldest)), seg
	}
	for len(list) < stretch {
		index, ok, err := c.in.seek(at)
		if errors.Is(err, ErrStale) { // another took its place
			if err = c.refresh(); err == nil {
				return list, true, nil
			}
		}
		if errors.Is(err, errPage) {
			// Damaged: what it covers is read as if it were not there.
			c.segments = slices.Delete(c.segments, i, i+1)
			return list, true, nil
		}
		if err != nil {
			return nil, true, err
		}
		if !ok || newest && index < c.from || !newest && index >= c.to {
			if newest {
				c.to = max(c.from, min(c.to, seg.From()))
			} else {
				c.from = min(c.to, max(c.from, seg.To()))
			}
			return list, true, nil
		}
		list = append(list, index)
		c.passed(index)
		if c.from >= c.to || newest && index == seg.From() || !newest && index == seg.To()-1 {
			return list, true, nil
		}
		if at = index + 1; newest {
			at = index - 1
		}
	}
	return list, true, nil
}

// look reads candidates that stand close together, and keeps those that fit.
func (c *logSearch) look(list []uint64) error {
	low, high := slices.Min(list), slices.Max(list)
	lines, err := readLines(c.ctx, c.store, c.log, low, high+1, func(index uint64) bool { return slices.Contains(list, index) })
	if err != nil {
		return err
	}
	c.read += len(lines)
	if !c.q.Oldest {
		slices.Reverse(lines)
	}
	for i := range lines {
		l := &lines[i]
		pos := l.Position()
		if !c.q.Fits(l) {
			continue
		}
		if c.q.Text != "" {
			there, err := c.says(pos)
			if err != nil {
				return err
			}
			if !there {
				if c.spent() {
					c.found = append(c.found, foundLine{mark: mark{there: true, micro: l.Time.UnixMicro(), pos: pos}})
					c.passed(pos.Index)
					return nil
				}
				continue
			}
		}
		c.found = append(c.found, foundLine{mark{there: true, micro: l.Time.UnixMicro(), pos: pos}, l})
	}
	if len(c.found) == 0 && c.spent() && len(lines) > 0 {
		last := &lines[len(lines)-1]
		c.found = append(c.found, foundLine{mark: mark{there: true, micro: last.Time.UnixMicro(), pos: last.Position()}})
	}
	return nil
}

// says reports whether the contents of a record hold the text that is looked for.
func (c *logSearch) says(pos act.Position) (bool, error) {
	o, err := joinOpening(c.ctx, c.store, pos)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if c.ctx.Err() != nil {
		return false, c.ctx.Err()
	}
	if err != nil {
		return false, nil // damaged: ledger verify tells
	}
	text := strings.ToLower(c.q.Text)
	for f := range o {
		content := o[f].content
		c.bytes += len(content)
		if bytes.Contains(bytes.ToLower(content), []byte(text)) {
			return true, nil
		}
		if bytes.IndexByte(content, '\\') < 0 {
			continue // no text of it is written otherwise than it is
		}
		if doc, err := rawjson.Parse(content); err == nil && textWithin(doc.Root(), text, 0) {
			return true, nil
		}
	}
	return false, nil
}

// textWithin looks for a text in the strings of a JSON value.
func textWithin(v rawjson.Value, text string, depth int) bool {
	const deepest = 200
	switch v.Kind() {
	case rawjson.String:
		return strings.Contains(strings.ToLower(v.Text()), text)
	case rawjson.Array:
		for _, e := range v.Elems() {
			if depth < deepest && textWithin(e, text, depth+1) {
				return true
			}
		}
	case rawjson.Object:
		for name, e := range v.Members() {
			if strings.Contains(strings.ToLower(name), text) || depth < deepest && textWithin(e, text, depth+1) {
				return true
			}
		}
	}
	return false
}
