package habits

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/words"
)

// View is a profile as one act of one user meets it. The zero View knows nothing, so that
// nothing is usual, and nothing is new.
type View struct {
	ID       string   // names the profile, as in Note
	Profile  *Profile // nil for none
	Key      provenance.Key
	User     string // empty for nobody that was named
	Settings Settings
	// Hour is what was done so far in the present hour, this act not counted.
	Hour Count
	// Then is the note of the act when it was decided: what was usual and new then counts,
	// whatever is known by now.
	Then *Note
	// Speaks are the dimensions that are settled, where that was worked out before.
	Speaks *Speaks

	who Hash // of User, once it is asked for
}

// Speaks is which of a profile's dimensions are settled, by the settings.
type Speaks struct {
	settings Settings
	set      uint64
}

// Speaks works out which dimensions are settled: for as long as the profile stays as it is.
func (p *Profile) Speaks(s Settings) *Speaks { return &Speaks{s, p.speaking(s)} }

// Use is a value that an act is done upon, as what it is used as.
type Use = provenance.Use

// Target is what a note says of a use. tags are those of what the session has read.
func (v *View) Target(u Use, tags []string) Target {
	t := Target{Of: subjectName(u.Tool, u.Argument), Value: Hash(v.Key.Sum(u))}
	t.Mine = join(t.Value, v.user())
	if !slices.IsSorted(tags) {
		tags = slices.Sorted(slices.Values(tags))
	}
	for _, tag := range tags {
		t.Private = join(t.Private+1, hashOf(v.Key, "@tag", "", tag))
	}
	return t
}

// subjectName names the dimension of a tool's argument.
func subjectName(tool, argument string) string {
	name := tool + " " + argument
	if argument == "" {
		name = tool
	}
	if len(name) > maxSubject || !utf8.ValidString(name) {
		name = strings.ToValidUTF8(words.Cut(name, maxSubject), "?")
	}
	return name
}

func (v *View) user() Hash {
	if v.who == 0 {
		v.who = hashOf(v.Key, "@user", "", v.User)
	}
	return v.who
}

// Tool is a tool as a value.
func (v *View) Tool(name string) Hash { return hashOf(v.Key, "@tool", "", name) }

// Session is a session's name as a value.
func (v *View) Session(name string) Hash { return hashOf(v.Key, "@session", "", name) }

// Usual reports whether a use is usual for this agent or this user, with all that the
// session has read.
func (v *View) Usual(u Use, tags []string) bool {
	if v == nil || v.Then == nil && (v.Profile == nil || len(v.Profile.values) == 0) {
		return false
	}
	return v.IsUsual(v.Target(u, tags))
}

// IsUsual is Usual for a target.
func (v *View) IsUsual(t Target) bool {
	if v.Then != nil {
		return slices.ContainsFunc(v.Then.Targets, func(o Target) bool { return o.Usual && o.Value == t.Value && o.Private == t.Private })
	}
	p := v.Profile
	if p == nil {
		return false
	}
	for i, h := range [...]Hash{t.Value, t.Mine} {
		if i == 1 && v.User == "" && v.Settings.Named || !p.usual(h, v.Settings) {
			continue
		}
		if t.Private == 0 || p.usual(join(h, t.Private), v.Settings) {
			return true
		}
	}
	return false
}

func (p *Profile) usual(h Hash, s Settings) bool {
	if p.Said.taught(h) {
		return true
	}
	found := p.find(h)
	return found != nil && found.usual(s)
}

// Act is what a view is asked about.
type Act struct {
	Tool    string
	Targets []Target
	First   bool // the first call of its session
	Calls   int64
	At      time.Time
}

// News are the dimensions that are settled and in which an act is new.
func (v *View) News(a *Act) (list []News) {
	if v == nil || v.Profile == nil || v.Profile.sessions < Learning || v.Then != nil {
		return nil
	}
	p := v.Profile
	var speak uint64
	if v.Speaks != nil && v.Speaks.settings == v.Settings {
		speak = v.Speaks.set
	} else {
		speak = p.speaking(v.Settings)
	}
	if speak == 0 {
		return nil
	}
	look := func(name string, hashes ...Hash) {
		i := slices.IndexFunc(p.subjects, func(s subject) bool { return s.name == name })
		if i < 0 || speak>>i&1 == 0 || slices.ContainsFunc(hashes, func(h Hash) bool { return p.find(h) != nil }) {
			return
		}
		class := name
		if strings.Contains(name, " ") {
			class = OfTargets
		}
		list = append(list, News{Class: class, Subject: name, Sessions: int(p.subjects[i].seen), Values: p.count(i), Quiet: p.subjects[i].quiet()})
	}
	tool := v.Tool(a.Tool)
	look(OfTools, tool)
	for _, t := range a.Targets {
		look(t.Of, t.Value, t.Mine)
		if t.Private != 0 {
			look(OfPrivate, join(t.Value, t.Private), join(t.Mine, t.Private))
		}
	}
	if a.First {
		look(OfBegins, join(tool, 1))
		h := hourOfWeek(a.At.Unix())
		near := make([]Hash, 0, 3) // an hour earlier or later is no news
		for d := range int64(3) {
			near = append(near, join(Hash((h+d+167)%168+1), 2))
		}
		look(OfHours, near...)
	}
	return list
}

// quiet is for how many sessions nothing new was seen.
func (s *subject) quiet() int { return int(s.seen - s.newest) }

// count is how many values of a dimension are known.
func (p *Profile) count(subject int) (n int) {
	for i := range p.values {
		if int(p.values[i].subject) == subject {
			n++
		}
	}
	return n
}

// News says in what an act is new, and how sure that is.
type News struct {
	Class    string
	Subject  string
	Sessions int // that had to do with it
	Values   int // that are known
	Quiet    int // sessions since the last new one
}

func (n News) String() string {
	what := "Never seen as " + n.Subject
	switch n.Class {
	case OfTools:
		what = "It never used this tool"
	case OfBegins:
		what = "None of its sessions began so"
	case OfHours:
		what = "None of its sessions began at this hour"
	case OfPrivate:
		what = "What it has read never went there"
	}
	return fmt.Sprintf("%s in %d sessions, of %d known, the last new one %d sessions ago.", what, n.Sessions, n.Values, n.Quiet)
}

// Outside is how far the act's counts lie outside of what is usual: how many times as much
// as in all but the few sessions and hours that the settings allow; 0 where they are
// within, or too little is known. of says what.
func (v *View) Outside(a *Act) (times float64, of string) {
	if v == nil || v.Profile == nil || v.Then != nil {
		return 0, ""
	}
	is := [volumes]uint32{sessionCalls: uint32(min(a.Calls+1, 1<<30)), hourCalls: v.Hour.Calls + 1, hourDenied: v.Hour.Denied, hourBytes: v.Hour.Bytes}
	for i, n := range is {
		if n < 8 { // few of anything are no anomaly
			continue
		}
		most, ok := v.Profile.volumes[i].most(v.Settings.Alarms)
		if !ok || n <= most {
			continue
		}
		if t := float64(n) / float64(most); t > times {
			times, of = t, fmt.Sprintf("%d %s, where %d are usual.", n*unit(i), volumeNames[i], most*unit(i))
		}
	}
	return times, of
}

func unit(volume int) uint32 {
	if volume == sessionBytes || volume == hourBytes {
		return byteUnit
	}
	return 1
}

// Sessions is how many sessions taught what is known.
func (v *View) Sessions() int {
	if v == nil || v.Profile == nil {
		return 0
	}
	return int(v.Profile.sessions)
}

// Changed says what of the agent changed when its present chapter began, and when; ""
// for one that was always the same or is so for long.
func (v *View) Changed(now time.Time) string {
	if v == nil {
		return ""
	}
	said, _ := v.Profile.changed(now)
	return said
}

func (p *Profile) changed(now time.Time) (said string, since time.Time) {
	if p == nil || len(p.chapters) < 2 {
		return "", since
	}
	before, last := &p.chapters[len(p.chapters)-2], &p.chapters[len(p.chapters)-1]
	if since = time.Unix(last.since, 0).UTC(); now.Sub(since) > recent {
		return "", since
	}
	return fmt.Sprintf("Its %s changed on %s.", strings.Join(last.print.from(before.print), ", "), since.Format("Monday, 2 January")), since
}

// recent is for how long a change of the agent is told beside what is new.
const recent = 14 * 24 * time.Hour

// from names what differs from a print before.
func (p Print) from(before Print) (names []string) {
	for i := range p {
		if p[i] != before[i] && p[i] != 0 && before[i] != 0 {
			names = append(names, PrintNames[i])
		}
	}
	return names
}
