// Package provenance remembers where the values of a session came from: which the
// user said, which stood in sources of one's own, and which in any other text that
// the agent read.
//
//	var m provenance.Memory
//	m.Key = provenance.NewKey(key)
//	step := m.Read(provenance.Text{Said: "Pay 50 to GB29NWBK60161331926819.", By: provenance.User})
//	m.Apply(step)
//	m.Origin("gb29 nwbk 6016 1331 9268 19") // User
//
// It keeps no text, only hashes under a session's own key, and little of them: a list
// while they are few, then filters. A filter can be wrong in one way: it says that it
// has what it has not, of one value in a hundred at most. So what may be foreign is; what
// only a filter says to be the user's is no more than one's own; and the first 300 that
// are trusted stay in the list, so that nobody who floods a session makes anything trusted.
package provenance

import (
	"slices"
)

// Origin says who named a value. A larger one is trusted more; the zero Origin is
// Unknown, which nobody named.
type Origin uint8

// The origins.
const (
	Unknown Origin = iota // it stands in nothing that was read
	Foreign               // it stands in a text that is not one's own
	Own                   // it stands in one's own sources only
	User                  // the user said it, or a person has endorsed it
)

var originNames = [...]string{"unknown", "foreign", "own", "user"}

func (o Origin) String() string {
	if int(o) < len(originNames) {
		return originNames[o]
	}
	return "unknown"
}

// Parse reads an origin's name.
func Parse(name string) (Origin, bool) {
	i := slices.Index(originNames[:], name)
	return Origin(max(i, 0)), i >= 0
}

// A gram is what a word, two words that follow each other, or a field leaves behind: 29
// bits of a hash, and in the lowest three whose it is.
type gram uint32

// owner says whose a gram is.
type owner uint8

const (
	ofUser     owner = iota
	ofOwn            // of a source of one's own
	ofForeign        // of any other text
	ofAgent          // put together by the agent after it had read foreign text: nobody's, also when one's own sources repeat it
	ofEndorsed       // a person agreed to it, for one tool and argument
)

func newGram(hash uint64, o owner) gram { return gram(hash>>35<<3) | gram(o) }

func (g gram) owner() owner { return owner(g & 7) }

// trusted reports whether what has this gram is trusted for it.
func (g gram) trusted() bool { o := g.owner(); return o != ofForeign && o != ofAgent }

// Bounds of what one session takes: 8 KB up to 5,000 grams, and 256 KB for any number.
const (
	exactMost   = 1200      // grams kept one by one: 4.8 KB
	smallMost   = 36_000    // bits that are set in the small filter: half of them
	smallWords  = 776       // its words of 64 bits: 6.2 KB
	trustedKept = 300       // grams that are trusted and kept one by one beside it
	trustedMore = 4096      // and beside the large filters
	foreignBits = 155 << 13 // of the large filter of grams that are not trusted: 155 KB
	trustedBits = 64 << 13  // and of all others
	trustedMost = 35_000    // grams that that filter takes: any further are nobody's
	noticed     = 64        // grams of which it is known when they were read
	// MaxTags bounds the tags that a session has.
	MaxTags = 32
	// MaxPlanned and MaxName bound the names of tools that are planned, and their bytes.
	MaxPlanned = 64
	MaxName    = 100
)

// Memory is what one session knows of its values. The zero Memory with a Key is ready.
// It is not safe for concurrent use.
type Memory struct {
	Key Key
	// Under names the session under whose key the values are, where it is another: the one
	// that began this one, whose values it knows. Zero for its own.
	Under [16]byte
	// Foreign says that foreign text was read, and Heard that a user was.
	Foreign, Heard bool
	// Lost says that a part of this memory is gone: what nobody is known to have
	// named may then have been foreign.
	Lost bool
	Tags []string // of what was read: the policy's own words
	// Planned are the names of tools that were used or planned before anything foreign
	// was read.
	Planned []string

	grams   []gram   // all while they are few, then the first that are trusted; sorted
	small   []uint64 // a filter, once there are more
	foreign []uint64 // filters, once there are many
	trusted []uint64
	n       int   // grams in the small filter, or that were
	trusts  int   // grams in the filter of trusted ones
	spread  uint8 // a bit for each owner of whom there are grams in filters
	places  []place
	next    int // where the ring's next place goes, once it is full
}

// place says at which step of the session a foreign word was first read.
type place struct {
	gram gram
	step uint32
}

// bits calls yield with n places of a gram in a filter until it says no.
func (g gram) bits(filter []uint64, n int, yield func(i uint64) bool) {
	size := uint64(len(filter)) * 64
	h := mix(uint64(g) * 0x9e3779b97f4a7c15)
	step := mix(h) | 1
	for range n {
		if !yield(h % size) {
			return
		}
		h += step
	}
}

// probes are how many bits of the small filter a gram sets: more where to be wrong
// would be to trust.
func (g gram) probes() int {
	if g.trusted() {
		return 7
	}
	return foreignProbes
}

// Bits that a gram sets in the large filters.
const (
	foreignProbes = 6
	trustedProbes = 12
)

func set(filter []uint64, g gram, probes int) {
	g.bits(filter, probes, func(i uint64) bool { filter[i/64] |= 1 << (i % 64); return true })
}

func holds(filter []uint64, g gram, probes int) bool {
	if filter == nil {
		return false
	}
	all := true
	g.bits(filter, probes, func(i uint64) bool { all = filter[i/64]&(1<<(i%64)) != 0; return all })
	return all
}

// has reports whether a gram was read, for certain or maybe: a filter is wrong now and
// then.
func (m *Memory) has(g gram) (is, exactly bool) {
	if _, ok := slices.BinarySearch(m.grams, g); ok {
		return true, true
	}
	switch {
	case m.spread>>g.owner()&1 == 0:
		return false, false
	case holds(m.small, g, g.probes()):
		return true, false
	case !g.trusted():
		return holds(m.foreign, g, foreignProbes), false
	}
	return holds(m.trusted, g, trustedProbes), false
}

// Exact reports whether everything is kept one by one.
func (m *Memory) Exact() bool { return m.small == nil && !m.Lost }

// Empty reports whether there is nothing to remember.
func (m *Memory) Empty() bool {
	return m.Under == [16]byte{} && len(m.grams) == 0 && m.small == nil && !m.Foreign && !m.Heard && !m.Lost && len(m.Tags) == 0 && len(m.Planned) == 0
}

// add remembers grams, which are sorted and new.
func (m *Memory) add(grams []gram) {
	if m.small == nil && len(m.grams)+len(grams) <= exactMost {
		m.grams = merge(m.grams, grams)
		return
	}
	if m.small == nil {
		m.small = make([]uint64, smallWords)
		all := m.grams
		m.grams = nil
		m.scatter(all)
	}
	m.scatter(grams)
}

// scatter adds grams where not all are kept one by one.
func (m *Memory) scatter(grams []gram) {
	room := trustedKept - len(m.grams)
	if m.foreign != nil {
		room = trustedMore - len(m.grams)
	}
	for _, owners := range [...][2]owner{{ofUser, ofEndorsed}, {ofOwn, ofOwn}} {
		var kept []gram
		for _, g := range grams {
			if o := g.owner(); (o == owners[0] || o == owners[1]) && len(kept) < room {
				kept = append(kept, g)
			}
		}
		m.grams, room = merge(m.grams, kept), room-len(kept)
	}
	for _, g := range grams {
		if _, kept := slices.BinarySearch(m.grams, g); kept {
			continue
		}
		m.spread |= 1 << g.owner()
		if m.n < smallMost {
			m.n += g.probes()
			set(m.small, g, g.probes())
			continue
		}
		if m.foreign == nil {
			m.foreign, m.trusted = make([]uint64, foreignBits/64), make([]uint64, trustedBits/64)
		}
		switch {
		case !g.trusted():
			set(m.foreign, g, foreignProbes)
		case m.trusts < trustedMost:
			m.trusts++
			set(m.trusted, g, trustedProbes)
		}
	}
}

// merge merges two sorted lists that have nothing in common.
func merge(a, b []gram) []gram {
	if len(b) == 0 {
		return a
	}
	all := make([]gram, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// notice remembers at which step foreign words were first read.
func (m *Memory) notice(grams []gram, step int64) {
	for _, g := range grams {
		if slices.ContainsFunc(m.places, func(p place) bool { return p.gram == g }) {
			continue
		}
		one := place{g, uint32(step)}
		if len(m.places) < noticed {
			m.places = append(m.places, one)
			continue
		}
		m.places[m.next] = one
		m.next = (m.next + 1) % noticed
	}
}

// Size is roughly the memory that it holds, in bytes.
func (m *Memory) Size() int {
	size := 4*cap(m.grams) + 8*(len(m.small)+len(m.foreign)+len(m.trusted)) + 8*cap(m.places)
	for _, list := range [...][]string{m.Tags, m.Planned} {
		for _, t := range list {
			size += 16 + len(t)
		}
	}
	return size
}

// Inherited is the memory of a session that one with this memory begins: it knows what
// that one knows, under the same key.
func (m *Memory) Inherited(under [16]byte) *Memory {
	c := m.clone()
	if c.Under == [16]byte{} {
		c.Under = under
	}
	c.places, c.next = nil, 0 // steps of another session
	return c
}

// clone is a copy that shares nothing.
func (m *Memory) clone() *Memory {
	c := *m
	c.grams, c.small = slices.Clone(m.grams), slices.Clone(m.small)
	c.foreign, c.trusted = slices.Clone(m.foreign), slices.Clone(m.trusted)
	c.places, c.Tags, c.Planned = slices.Clone(m.places), slices.Clone(m.Tags), slices.Clone(m.Planned)
	return &c
}
