// Package habits is what an agent has always done: which tools it uses, to whom it
// sends, how much of it in a session and an hour. It answers one question of a target,
// whether it is usual, and one of an act, in what it is new.
//
//	key := habits.NewKey(secret, "key:ann", "mailer")
//	var l habits.Learner
//	l.Observe(&note, position)              // of each decision about a call, from its record
//	for _, s := range l.Settle(now) {       // the sessions that are over
//		profile.Learn(s)
//	}
//	view := habits.View{Profile: profile, Key: key, User: user}
//	view.Usual("send_mail", "to", "bob@corp.example", nil)
//
// What an attacker can bring about teaches nothing: a value counts that the user said or
// that stood in a source of one's own, and a value out of foreign text only once a person
// has agreed to it; once a session, and as usual after several sessions on several days.
// What the user said is usual for that user alone.
//
// A profile is made of notes alone, which lie beside the records, and of what people said
// of it: so it can be made anew from what retention and erasure have left. It holds no
// text but the names of tools and arguments. Values are hashes under a key of the agent's,
// each with the place of a record where whoever may see contents finds it.
package habits

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"
)

// Hash stands for a value: of its use, its value, and for one user's own of that user.
type Hash uint64

// Bounds of a profile: 64 KB of memory, however many sessions there were.
const (
	maxValues   = 800
	maxMine     = 500 // of them, users' own
	maxSubjects = 48  // dimensions
	maxSubject  = 96  // bytes of a dimension's name
	maxChapters = 8
	window      = 256 // sessions over which it is counted how often there is something new
	// MaxTaught is the most sessions and days that a setting can want.
	MaxTaught = 5
	// Learning is how many sessions a dimension must have seen to speak.
	Learning = 30
)

// The dimensions beside those of the targets, which are named by tool and argument.
const (
	OfTools   = "tool"    // the tools that it uses
	OfBegins  = "begin"   // what a session begins with
	OfHours   = "hour"    // the hours of the week in which a session begins
	OfPrivate = "private" // where what is tagged goes
	OfTargets = "target"  // any dimension that is named by tool and argument
)

// everybodys are the dimensions that every agent has.
var everybodys = []string{OfTools, OfBegins, OfHours, OfPrivate}

// Settings say what is usual, and how often an alarm may be false.
type Settings struct {
	Sessions int     // in so many sessions
	Days     int     // on so many days
	Alarms   float64 // of a hundred sessions so many hundredths
	// Named says that only users who are named have habits of their own. Else an agent that
	// names nobody has one user.
	Named bool
}

// Default are the settings of a policy that says nothing of them.
var Default = Settings{Sessions: 3, Days: 2, Alarms: 0.01}

// Profile is what is known of one agent. The zero Profile knows nothing. It is not safe
// for concurrent use; one that nobody changes can be asked by many.
type Profile struct {
	// Principal and Agent are the credential that it has, and the name that it bears.
	Principal, Agent string
	// Said is what people said of its habits.
	Said Said

	sessions uint32
	last     int64 // when the newest session ended, Unix seconds
	subjects []subject
	values   []value // by hash
	chapters []chapter
	volumes  [volumes]histogram
	hours    []hour // those that are not over
	alarmed  [window / 64]uint64
}

// subject is a dimension: what it saw, and how often that was new.
type subject struct {
	name    string
	seen    uint32 // sessions that had to do with it
	newest  uint32 // the session, counted by seen, that last brought something new; 0 for none
	changes [window / 64]uint64
}

// value is one value of a dimension, and which sessions taught it.
type value struct {
	hash    Hash
	at      act.Position // of a decision where it stood
	first   uint16       // days since 1970
	last    uint16
	subject uint8
	mine    bool // one user's own
	taught  uint8
	by      [MaxTaught]uint32 // sessions that taught it, each once
	on      [MaxTaught]uint16 // their days
}

// chapter is a time in which the agent was the same: its instructions, tools, model and
// version.
type chapter struct {
	print    Print
	since    int64 // Unix seconds
	sessions uint32
}

// Print is hashes of an agent's instructions, tools, model and version; 0 is unknown.
type Print [4]uint32

// PrintNames are what a Print is of.
var PrintNames = [...]string{"instructions", "tools", "model", "version"}

// like reports whether two prints can be of the same agent.
func (p Print) like(o Print) bool {
	for i := range p {
		if p[i] != o[i] && p[i] != 0 && o[i] != 0 {
			return false
		}
	}
	return true
}

// histogram counts how much there was of something, each bucket a quarter of a power of
// two.
type histogram [64]uint16

// What is counted.
const (
	sessionCalls = iota
	sessionDenied
	sessionBytes
	hourCalls
	hourDenied
	hourBytes
	volumes
)

var volumeNames = [volumes]string{"calls in a session", "denials in a session", "bytes out in a session", "calls in an hour", "denials in an hour", "bytes out in an hour"}

// hour is what was done in one hour so far.
type hour struct {
	at int64 // hours since 1970
	Count
}

// Count is how much was done.
type Count struct{ Calls, Denied, Bytes uint32 }

// Add counts a decision.
func (c *Count) Add(n *Note) { c.add(n.did()) }

func (c *Count) add(o Count) { c.Calls += o.Calls; c.Denied += o.Denied; c.Bytes += o.Bytes }

func bucketOf(n uint32) int {
	if n < 4 {
		return int(n)
	}
	e := bits.Len32(n) - 1 // at least 2
	return min(4*(e-1)+int(n>>(e-2)&3), len(histogram{})-1)
}

// top is the largest number that falls into a bucket.
func top(b int) uint32 {
	if b < 4 {
		return uint32(b)
	}
	e := b/4 + 1
	return uint32((uint64(4+b%4+1) << (e - 2)) - 1)
}

// byteUnit is how many bytes count as one.
const byteUnit = 64

func (h *histogram) add(n uint32) {
	b := bucketOf(n)
	if h[b] == 1<<15 { // older ones count half
		for i := range h {
			h[i] /= 2
		}
	}
	h[b]++
}

// most is the number below which all but a share lie; ok is false while there are too few.
func (h *histogram) most(share float64) (n uint32, ok bool) {
	total := 0
	for _, c := range h {
		total += int(c)
	}
	if total < Learning {
		return 0, false
	}
	above := 0
	for b := len(h) - 1; b >= 0; b-- {
		if above += int(h[b]); float64(above) > share*float64(total) {
			return max(top(b), 1), true
		}
	}
	return 1, true
}

// find is the value with a hash; nil for none.
func (p *Profile) find(h Hash) *value {
	if i, ok := p.place(h); ok {
		return &p.values[i]
	}
	return nil
}

func (p *Profile) place(h Hash) (int, bool) {
	return slices.BinarySearchFunc(p.values, h, func(v value, h Hash) int { return cmp.Compare(v.hash, h) })
}

// usual reports whether a value was taught by enough sessions on enough days.
func (v *value) usual(s Settings) bool {
	if int(v.taught) < s.Sessions {
		return false
	}
	days, on := 0, v.on[:v.taught]
	for i, d := range on {
		if !slices.Contains(on[:i], d) {
			days++
		}
	}
	return days >= s.Days
}

// subjectOf is the place of a dimension, which is made where there is none: if need be in
// the place of the one with which the fewest sessions had to do, and of these the one that
// lies back furthest. -1 where all others are kept: those of a set of places, those that
// every agent has, and those of which people have said something.
func (p *Profile) subjectOf(name string, kept uint64) int {
	if i := slices.IndexFunc(p.subjects, func(s subject) bool { return s.name == name }); i >= 0 {
		return i
	}
	if len(p.subjects) < maxSubjects {
		p.subjects = append(p.subjects, subject{name: name})
		return len(p.subjects) - 1
	}
	last := [maxSubjects]uint16{}
	for i := range p.values {
		v := &p.values[i]
		if last[v.subject] = max(last[v.subject], v.last); p.Said.taught(v.hash) {
			kept |= 1 << v.subject
		}
	}
	least := -1
	for i := range p.subjects {
		s := &p.subjects[i]
		if kept>>i&1 != 0 || slices.Contains(everybodys, s.name) {
			continue
		}
		if least < 0 || cmp.Or(cmp.Compare(s.seen, p.subjects[least].seen), cmp.Compare(last[i], last[least])) < 0 {
			least = i
		}
	}
	if least >= 0 {
		p.values = slices.DeleteFunc(p.values, func(v value) bool { return int(v.subject) == least })
		p.subjects[least] = subject{name: name}
	}
	return least
}

// shift moves a window of bits on by one session.
func shift(w *[window / 64]uint64, is bool) {
	for i := len(w) - 1; i > 0; i-- {
		w[i] = w[i]<<1 | w[i-1]>>63
	}
	if w[0] <<= 1; is {
		w[0] |= 1
	}
}

func ones(w *[window / 64]uint64) (n int) {
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return n
}

// rate is the share of all sessions that a dimension would call new: seen as a little more
// than it was, since few sessions prove little.
func (s *subject) rate(sessions uint32) float64 {
	n := float64(min(s.seen, window))
	return (float64(ones(&s.changes)) + 0.5) / (n + 1) * float64(s.seen) / float64(max(sessions, 1))
}

// speaking are the places of the dimensions that are settled: in which something new is so
// rare that all of them together stay within the alarms that the settings allow.
func (p *Profile) speaking(s Settings) (set uint64) {
	var places []int
	for i := range p.subjects {
		if p.subjects[i].seen >= Learning {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Compare(p.subjects[a].rate(p.sessions), p.subjects[b].rate(p.sessions))
	})
	sum := 0.0
	for _, i := range places {
		if sum += p.subjects[i].rate(p.sessions); sum > s.Alarms {
			break
		}
		set |= 1 << i
	}
	return set
}

func dayOf(unix int64) uint16 { return uint16(unix / (24 * 60 * 60)) }

// hourOfWeek is one of the 168, as a value.
func hourOfWeek(unix int64) int64 { return unix / 3600 % (7 * 24) }

// NewKey is the key under which an agent's values are kept: secret is of 16 bytes and
// more, and nobody's outside the node.
func NewKey(secret []byte, principal, agent string) provenance.Key {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("habits of agents"))
	for _, part := range [...]string{principal, agent} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return provenance.NewKey([16]byte(h.Sum(nil)[:16]))
}

// hashOf is a value as it is kept: of its use.
func hashOf(k provenance.Key, tool, argument, v string) Hash {
	return Hash(k.Sum(provenance.Use{Tool: tool, Argument: argument, Value: v}))
}

// join makes one hash of two that nobody can aim at.
func join(a, b Hash) Hash {
	x := uint64(a)*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(uint64(b), 29)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return Hash(x ^ x>>31)
}

// Empty reports whether nothing was learned.
func (p *Profile) Empty() bool { return p == nil || p.sessions == 0 && len(p.values) == 0 }

// Last is when the newest session that taught it something ended.
func (p *Profile) Last() time.Time { return time.Unix(p.last, 0).UTC() }
