package provenance

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Apply remembers a step, the session's with this number.
func (m *Memory) Apply(st *Step, number int64) {
	if st.whole != nil {
		key := m.Key
		*m = *st.whole.clone()
		m.Key = key
	}
	if st.flags&flagVouched != 0 {
		m.Foreign, m.Lost = false, false
	}
	m.Tags = slices.DeleteFunc(m.Tags, func(t string) bool { return slices.Contains(st.clears, t) })
	m.Foreign = m.Foreign || st.flags&flagForeign != 0
	m.Heard = m.Heard || st.flags&flagHeard != 0
	m.add(st.grams)
	m.notice(st.places, number)
	for _, t := range st.tags {
		if !slices.Contains(m.Tags, t) && len(m.Tags) < MaxTags {
			m.Tags = append(m.Tags, t)
		}
	}
	for _, t := range st.plans {
		if !slices.Contains(m.Planned, t) && len(m.Planned) < MaxPlanned {
			m.Planned = append(m.Planned, t)
		}
	}
}

// Bound makes a step whole, with all that was remembered before it, where it would be
// larger than that, or where whole says so. number is the session's step that it will be.
func (m *Memory) Bound(st *Step, whole bool, number int64) {
	switch {
	case len(st.grams) > mostGrams:
		all := m.clone()
		all.Apply(st, number)
		*st = Step{flags: st.flags &^ flagClears, whole: all}
	case whole && !m.Empty():
		st.whole = m.clone()
	}
}

// Whole reports whether a step holds all that was remembered before it.
func (st *Step) Whole() bool { return st.whole != nil }

// Takes adds to a step the labels of another session, which the memory has taken already.
func (st *Step) Takes(tags []string, foreign bool) {
	for _, t := range tags {
		if !slices.Contains(st.tags, t) {
			st.tags = append(st.tags, t)
		}
	}
	st.flags |= flagTook
	if foreign {
		st.flags |= flagForeign
	}
}

// Took reports whether a step has labels of another session.
func (st *Step) Took() bool { return st.flags&flagTook != 0 }

// Inherits reports whether a whole step's values are under another session's key.
func (st *Step) Inherits() bool { return st.whole != nil && st.whole.Under != [16]byte{} }

// A step's encoding: its flags; of a whole one the memory; the grams as differences,
// the places, the tags, the plans, and the tags taken away where there are any.

// Append appends the step's encoding.
func (st *Step) Append(b []byte) []byte {
	flags := st.flags
	if st.whole != nil {
		flags |= flagWhole
	}
	b = append(b, flags)
	if st.whole != nil {
		b = st.whole.append(b)
	}
	b = appendGrams(b, st.grams)
	b = binary.AppendUvarint(b, uint64(len(st.places)))
	for _, g := range st.places {
		b = binary.LittleEndian.AppendUint32(b, uint32(g))
	}
	b = appendTexts(appendTexts(b, st.tags), st.plans)
	if st.clears != nil {
		b = appendTexts(b, st.clears)
	}
	return b
}

// Flags of a whole memory.
const (
	wholeForeign = 1 << iota
	wholeHeard
	wholeLost
	wholeSmall
	wholeLarge
	wholeUnder
)

func (m *Memory) append(b []byte) []byte {
	flags := byte(0)
	for i, is := range [...]bool{m.Foreign, m.Heard, m.Lost, m.small != nil, m.foreign != nil, m.Under != [16]byte{}} {
		if is {
			flags |= 1 << i
		}
	}
	b = append(b, flags, m.spread)
	if flags&wholeUnder != 0 {
		b = append(b, m.Under[:]...)
	}
	b = appendGrams(b, m.grams)
	b = binary.AppendUvarint(b, uint64(m.n))
	b = binary.AppendUvarint(b, uint64(m.trusts))
	for _, filter := range [...][]uint64{m.small, m.foreign, m.trusted} {
		for _, w := range filter {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	b = binary.AppendUvarint(b, uint64(m.next))
	b = binary.AppendUvarint(b, uint64(len(m.places)))
	for _, p := range m.places {
		b = binary.LittleEndian.AppendUint32(b, uint32(p.gram))
		b = binary.AppendUvarint(b, uint64(p.step))
	}
	return appendTexts(appendTexts(b, m.Tags), m.Planned)
}

func appendGrams(b []byte, grams []gram) []byte {
	b = binary.AppendUvarint(b, uint64(len(grams)))
	last := gram(0)
	for _, g := range grams {
		b = binary.AppendUvarint(b, uint64(g-last))
		last = g
	}
	return b
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

var errStep = errors.New("provenance: a remembered step is damaged")

// ParseStep reads what Append wrote.
func ParseStep(b []byte) (*Step, error) {
	r := bytesReader{b: b}
	st := &Step{flags: r.byte()}
	if st.flags&flagWhole != 0 {
		st.flags &^= flagWhole
		st.whole = r.memory()
	}
	st.grams = r.grams()
	for range r.count(4) {
		st.places = append(st.places, gram(r.uint32()))
	}
	st.tags, st.plans = r.texts(), r.texts()
	if st.flags&flagClears != 0 {
		st.clears = r.texts()
	}
	if r.bad || len(r.b) != 0 {
		return nil, errStep
	}
	return st, nil
}

// bytesReader reads an encoding. What is missing reads as zero, and is bad.
type bytesReader struct {
	b   []byte
	bad bool
}

func (r *bytesReader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, min(n, 8))
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *bytesReader) byte() byte     { return r.take(1)[0] }
func (r *bytesReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *bytesReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count reads how many elements follow, each of at least size bytes.
func (r *bytesReader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *bytesReader) grams() (grams []gram) {
	last := uint64(0)
	n := r.count(1)
	for i := range n {
		d := r.uvarint()
		if last += d; last > 1<<32-1 || i > 0 && d == 0 {
			r.bad = true
			return nil
		}
		grams = append(grams, gram(last))
	}
	return grams
}

func (r *bytesReader) texts() (texts []string) {
	for range r.count(1) {
		texts = append(texts, string(r.take(r.count(1))))
	}
	return texts
}

func (r *bytesReader) filter(words int) []uint64 {
	raw := r.take(8 * words)
	if r.bad {
		return nil
	}
	filter := make([]uint64, words)
	for i := range filter {
		filter[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return filter
}

func (r *bytesReader) memory() *Memory {
	flags := r.byte()
	m := &Memory{Foreign: flags&wholeForeign != 0, Heard: flags&wholeHeard != 0, Lost: flags&wholeLost != 0, spread: r.byte()}
	if flags&wholeUnder != 0 {
		copy(m.Under[:], r.take(len(m.Under)))
	}
	m.grams = r.grams()
	n, trusts := r.uvarint(), r.uvarint()
	m.n, m.trusts = int(n), int(trusts)
	if flags&wholeSmall != 0 {
		m.small = r.filter(smallWords)
	}
	if flags&wholeLarge != 0 {
		m.foreign, m.trusted = r.filter(foreignBits/64), r.filter(trustedBits/64)
	}
	next := r.uvarint()
	for range r.count(5) {
		m.places = append(m.places, place{gram(r.uint32()), uint32(r.uvarint())})
	}
	m.Tags, m.Planned = r.texts(), r.texts()
	if n > 1<<40 || trusts > 1<<40 || len(m.places) > noticed || next > 0 && next >= uint64(len(m.places)) {
		r.bad = true
	}
	m.next = int(next)
	return m
}
