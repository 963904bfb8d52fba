package provenance

import (
	"unicode/utf8"

	"reeve.example/reeve/internal/canon"
)

// shortest is up to how many signs a word must be a whole field to count as one's own
// or as foreign: "3" stands in every text.
const shortest = 4

// Salts keep what a word leaves apart from what a field, a pair and a whole do.
const (
	fieldSalt = 0x9ae16a3b2f90404f
	wholeSalt = 0xc949d7c7509e6557
)

func fieldOf(h uint64) uint64    { return mix(h ^ fieldSalt) }
func pairOf(a, b uint64) uint64  { return mix(a*3 + mix(b)) }
func wholeOf(a, b uint64) uint64 { return mix(a*5 + mix(b^wholeSalt)) }

// token is one word of a text or a value.
type token struct {
	hash  uint64
	short bool // it must be a field
	kind  shape
	text  string
}

// tiny reports whether a word says nothing by itself, so that as foreign it is looked
// up with the word beside it.
func (t token) tiny() bool { return utf8.RuneCountInString(t.text) < 3 }

// tokenOf makes a token of a word.
func (k Key) tokenOf(w string) token {
	if plain(w) {
		return token{k.sum(w), len(w) <= shortest, plainWord, w}
	}
	f, kind := form(w)
	return token{k.sum(f), utf8.RuneCountInString(f) <= shortest, kind, w}
}

// Origin says who named a value, which is a text.
func (m *Memory) Origin(value string) Origin {
	o, _ := m.Trace(value)
	return o
}

// Forgotten is the step of what may be foreign only because a part of the memory is gone.
const Forgotten = -1

// Trace says who named a value, and of one that is foreign at which step of the
// session it was first read; 0 where that is not known, or Forgotten.
func (m *Memory) Trace(value string) (o Origin, step int64) {
	s := mailboxes(fold(value))
	if j, ok := joined(s); ok {
		if o, step = m.one(m.Key.tokenOf(j)); o != Unknown {
			return o, step
		}
	}
	o, step = m.trace(s)
	if o == Unknown {
		if other, differs := percent(s); differs {
			return m.trace(other)
		}
	}
	return o, step
}

// trace says who named a folded value.
func (m *Memory) trace(s string) (Origin, int64) {
	var first, before token
	n, whole := 0, uint64(0)
	user, sure, own, foreign, long := true, true, true, true, false // so far
	standing, least, at := 0, User, int64(0)                        // of words that stand by themselves
	words(s, func(w string, _ bool) {
		t := m.Key.tokenOf(w)
		n++
		if t.kind.stands() {
			standing++
			o, step := m.one(t)
			if least = min(least, o); o == Foreign {
				at = step
			}
		}
		if n == 1 {
			first, before, whole = t, t, t.hash
		} else {
			if !before.kind.stands() && !t.kind.stands() {
				pair := pairOf(before.hash, t.hash)
				is, exactly := m.has(newGram(pair, ofUser))
				user, sure = user && is, sure && exactly
				if foreign && before.tiny() && t.tiny() {
					long = true
					foreign, _ = m.has(newGram(pair, ofForeign))
				}
				if own {
					own, _ = m.has(newGram(pair, ofOwn))
				}
			}
			before, whole = t, wholeOf(whole, t.hash)
		}
		if foreign && !t.tiny() {
			long = true
			foreign, _ = m.has(newGram(t.hash, ofForeign))
		}
	})
	foreign = foreign && long
	switch {
	case n == 0 && s == "":
		return User, 0
	case n == 0:
		return Unknown, 0
	case n == 1:
		return m.one(first)
	case user && least == User && sure:
		return User, 0
	case user && least >= Own && !foreign:
		return Own, 0
	case standing == n:
		return least, at
	case at != 0 || standing > 0 && least == Foreign:
		return Foreign, at
	case foreign:
		return Foreign, m.stepOf(newGram(first.hash, ofForeign))
	case m.Lost:
		return Foreign, Forgotten
	}
	if !own || least < Own {
		own, _ = m.has(newGram(whole, ofOwn)) // as a whole value
	}
	if asked, _ := m.has(newGram(whole, ofAgent)); own && !asked {
		return Own, 0
	}
	return Unknown, 0
}

// one says who named one word.
func (m *Memory) one(t token) (Origin, int64) {
	said, exactly := m.has(newGram(t.hash, ofUser))
	hash := t.hash
	if t.short {
		hash = fieldOf(hash)
	}
	g := newGram(hash, ofForeign)
	foreign, _ := m.has(g)
	switch {
	case said && exactly:
		return User, 0
	case said && !foreign: // which a filter says
		return Own, 0
	case foreign:
		return Foreign, m.stepOf(g)
	case t.kind == address:
		// What is put together of a foreign host, name or value is foreign; and a host
		// with nothing else behind it is the host.
		o, step := Unknown, int64(0)
		parts(t.text, t.kind, func(p string) {
			if is, at := m.one(m.Key.tokenOf(p)); is == Foreign && o != Foreign && utf8.RuneCountInString(p) > shortest {
				o, step = is, at
			}
		})
		if o == Foreign {
			return o, step
		}
	}
	if m.Lost {
		return Foreign, Forgotten
	}
	if own, _ := m.has(newGram(hash, ofOwn)); own {
		if asked, _ := m.has(newGram(hash, ofAgent)); !asked {
			return Own, 0
		}
	}
	return Unknown, 0
}

// stepOf is the step at which a gram was first read, 0 when that is not known.
func (m *Memory) stepOf(g gram) int64 {
	for _, p := range m.places {
		if p.gram == g {
			return int64(p.step)
		}
	}
	return 0
}

// Use is a value and what it is used as: an argument of a tool.
type Use struct{ Tool, Argument, Value string }

// Endorsed reports whether a person has endorsed a value for its use.
func (m *Memory) Endorsed(u Use) bool {
	is, exactly := m.has(m.endorsement(u))
	return is && exactly
}

// endorsement is what an endorsed value leaves behind.
func (m *Memory) endorsement(u Use) gram { return newGram(m.Key.Sum(u), ofEndorsed) }

// Sum names a value and its use, in the form in which values are compared: nobody without
// the key can aim at it, or read it back.
func (k Key) Sum(u Use) uint64 {
	s := fold(u.Value)
	if j, ok := joined(s); ok {
		s = j
	}
	return wholeOf(wholeOf(k.sum(u.Tool), k.sum(canon.FoldMember(u.Argument))), k.sum(s))
}
