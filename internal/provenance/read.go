package provenance

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"
)

// Text is a text that comes into a session.
type Text struct {
	Said string
	By   Origin // User, Own, or Foreign; Unknown is Foreign
	// At is where the text stands in the JSON that it is a part of, and Fields are the
	// places in that, or in the text itself where it is JSON, that are one's own
	// although the text is not: JSON Pointers in which * is any member. They are as
	// whole values: a name that somebody else chose may hold an order, and what
	// stands within it is nobody's.
	At     string
	Fields []string
}

// Source is what a policy says of where a text comes from. The zero Source is of
// nobody that is known.
type Source struct {
	By     Origin
	Fields []string // JSON Pointers, with * for any member: places in a result that are one's own
	Tags   []string // how confidential it is, in the policy's own words
	// Each is what each text was when it was stored, of memory; where that is trusted
	// more than By, it counts.
	Each []Origin
	// Of a user's message, whose its files are, what it quotes, and what stands beside the words:
	// data, metadata, citations.
	Files, Quotes, Beside Origin
}

// Step is what one act adds to a session's memory. It is made durable with the act's
// record.
type Step struct {
	flags  byte
	grams  []gram // sorted, and new
	places []gram // of foreign words that stand by themselves
	tags   []string
	plans  []string
	clears []string // tags that a person took away; the mark of foreign text by flagVouched
	whole  *Memory  // all of the memory with this step, where that is shorter
}

const (
	flagForeign = 1 << iota
	flagHeard
	flagWhole
	flagVouched // a person vouched for what was read until now
	flagClears
	flagTook // it has labels of another session
)

// mostGrams is how many grams of a step are written one by one. A step with more
// writes the whole memory, which is bounded.
const mostGrams = 32 << 10

// reader gathers the grams of texts.
type reader struct {
	*Memory
	grams  []gram
	places []gram
	text   Text
	by     Origin
	values bool // what is one's own are whole values
}

// Read is what the memory is to remember of texts that come in. It changes nothing.
func (m *Memory) Read(texts ...Text) *Step {
	r := reader{Memory: m}
	st := &Step{}
	size := 0
	for _, t := range texts {
		size += len(t.Said)
	}
	if size > 0 {
		r.grams = make([]gram, 0, min(size/4+8, mostGrams))
	}
	for _, t := range texts {
		r.text, r.by = t, max(t.By, Foreign)
		if r.by == Foreign {
			st.flags |= flagForeign
		}
		if r.by == User {
			st.flags |= flagHeard
		}
		if r.values = r.by == Foreign && matches(t.Fields, t.At); r.values {
			r.by = Own
		}
		r.read(t.Said, t.At, false, 0)
	}
	r.finish(st)
	return st
}

// Uses is what the memory is to remember of the values that an act uses: those that
// nobody named are the agent's, and stay so when one's own sources repeat them. Before
// anything foreign was read there is nobody who could have had it make them up.
func (m *Memory) Uses(values ...string) *Step {
	r := reader{Memory: m}
	st := &Step{}
	if m.Foreign || m.Lost {
		for _, v := range values {
			r.uses(v)
		}
	}
	r.finish(st)
	return st
}

// Endorse adds to a step that a person agreed to a value, for its use.
func (m *Memory) Endorse(st *Step, u Use) {
	g := m.endorsement(u)
	if is, _ := m.has(g); is {
		return
	}
	if i, found := slices.BinarySearch(st.grams, g); !found {
		st.grams = slices.Insert(st.grams, i, g)
	}
}

// Tag adds tags to a step.
func (m *Memory) Tag(st *Step, tags ...string) {
	for _, t := range tags {
		if !slices.Contains(m.Tags, t) && !slices.Contains(st.tags, t) && len(m.Tags)+len(st.tags) < MaxTags {
			st.tags = append(st.tags, t)
		}
	}
}

// Clear adds to a step that a person took labels away: tags, or with vouched the mark that
// foreign text was read. Who said which value stays as it is.
func (st *Step) Clear(vouched bool, tags ...string) {
	if vouched {
		st.flags |= flagVouched
	}
	if st.clears = append(st.clears, tags...); st.clears != nil {
		st.flags |= flagClears
	}
}

// Plan adds names of tools to a step, that were planned before anything foreign was read.
func (st *Step) Plan(tools ...string) {
	for _, t := range tools {
		if t != "" && len(t) <= MaxName && len(st.plans) < MaxPlanned {
			st.plans = append(st.plans, t)
		}
	}
}

// Labels are the tags that a step adds, and whether foreign text was read.
func (st *Step) Labels() (tags []string, foreign bool) { return st.tags, st.flags&flagForeign != 0 }

// Taint adds to a step that foreign text was read, whatever it said.
func (st *Step) Taint() { st.flags |= flagForeign }

// Empty reports whether a step adds nothing.
func (st *Step) Empty(m *Memory) bool {
	news := st.flags&flagForeign != 0 && !m.Foreign || st.flags&flagHeard != 0 && !m.Heard
	return !news && len(st.grams) == 0 && len(st.tags) == 0 && len(st.plans) == 0 && len(st.places) == 0 && st.whole == nil
}

// Join adds what another step adds.
func (st *Step) Join(o *Step) {
	st.flags |= o.flags
	st.grams = merge(st.grams, slices.DeleteFunc(slices.Clone(o.grams), func(g gram) bool {
		_, found := slices.BinarySearch(st.grams, g)
		return found
	}))
	st.places = append(st.places, o.places...)
	st.tags, st.plans = append(st.tags, o.tags...), append(st.plans, o.plans...)
}

// finish brings what was gathered into a step.
func (r *reader) finish(st *Step) {
	slices.Sort(r.grams)
	st.grams = slices.Compact(r.grams)
	st.grams = slices.DeleteFunc(st.grams, func(g gram) bool { is, _ := r.has(g); return is })
	st.places = r.places
}

func (r *reader) add(h uint64, o owner) { r.grams = append(r.grams, newGram(h, o)) }

// maxNested is how many texts of JSON inside texts are read as such.
const maxNested = 3

// read reads one text, which is a whole field where field says so.
func (r *reader) read(s, at string, field bool, depth int) {
	if depth < maxNested && looksLikeJSON(s) {
		if doc, err := rawjson.Parse([]byte(strings.TrimSpace(s))); err == nil {
			r.json(doc.Root(), at, depth)
			return
		}
	}
	s = fold(s)
	if r.values && r.value(s) {
		return
	}
	r.words(s, field)
	if other, differs := decoded(s); differs {
		r.words(other, field)
	}
}

func looksLikeJSON(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']')
}

// json reads a value of JSON, each text and number as a field.
func (r *reader) json(v rawjson.Value, at string, depth int) {
	by, values := r.by, r.values
	if by == Foreign && matches(r.text.Fields, at) {
		r.by, r.values = Own, true
	}
	switch v.Kind() {
	case rawjson.String:
		r.read(v.Text(), at, true, depth+1)
	case rawjson.Number:
		r.words(string(v.Raw()), true)
	case rawjson.Array:
		for i, e := range v.Elems() {
			r.json(e, at+"/"+itoa(i), depth)
		}
	case rawjson.Object:
		for name, e := range v.Members() {
			if r.by != Own { // what a member is called is nobody's word but the writer's
				r.words(fold(name), false)
			}
			r.json(e, at+"/"+rawjson.EscapePointer(name), depth)
		}
	}
	r.by, r.values = by, values
}

// value remembers a value of several words as what it is, and reports whether it was one.
func (r *reader) value(s string) bool {
	n, whole := 0, uint64(0)
	words(mailboxes(s), func(w string, _ bool) {
		if n++; n == 1 {
			whole = r.Key.tokenOf(w).hash
		} else {
			whole = wholeOf(whole, r.Key.tokenOf(w).hash)
		}
	})
	if n < 2 {
		return false
	}
	if j, ok := joined(s); ok {
		r.word(r.Key.tokenOf(j), false)
	}
	r.add(whole, r.owner())
	return true
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + string(rune('0'+i%10))
}

// matches reports whether a JSON Pointer, or one above it, is one of the patterns.
func matches(patterns []string, pointer string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		rest := pointer
		for p != "" {
			var want, is string
			want, p, _ = strings.Cut(p[1:], "/")
			if p != "" {
				p = "/" + p
			}
			if rest == "" {
				return false
			}
			is, rest, _ = strings.Cut(rest[1:], "/")
			if rest != "" {
				rest = "/" + rest
			}
			if want != "*" && want != is {
				return false
			}
		}
		return true
	})
}

// words reads the words of a folded text.
func (r *reader) words(s string, whole bool) {
	var before token
	var run grouped
	n := 0
	emit := func(j string) { r.word(r.Key.tokenOf(j), false) }
	if whole {
		if j, ok := joined(s); ok {
			emit(j)
		}
	}
	words(s, func(w string, field bool) {
		t := r.Key.tokenOf(w)
		r.word(t, field)
		if n++; n > 1 && !before.kind.stands() && !t.kind.stands() && (r.by != Foreign || before.tiny() && t.tiny()) {
			r.add(pairOf(before.hash, t.hash), r.owner())
		}
		before = t
		if plain(w) && len(run.digits)+len(run.account) == 0 {
			return
		}
		run.add(w, emit)
		parts(w, t.kind, func(p string) { r.word(r.Key.tokenOf(p), true) })
		if t.kind == mailbox && r.by == Foreign { // whose host is anybody's
			r.word(r.Key.tokenOf(w[strings.LastIndexByte(w, '@')+1:]), false)
		}
	})
}

func (r *reader) owner() owner {
	switch r.by {
	case User:
		return ofUser
	case Own:
		return ofOwn
	}
	return ofForeign
}

// word remembers one word, which is a whole field where field says so.
func (r *reader) word(t token, field bool) {
	switch {
	case r.by == User:
		r.add(t.hash, ofUser)
		return
	case !t.short:
		r.add(t.hash, r.owner())
	case r.by == Foreign && utf8.RuneCountInString(t.text) >= 3: // as one of several words
		r.add(t.hash, ofForeign)
	}
	if t.short && field {
		r.add(fieldOf(t.hash), r.owner())
	}
	if r.by == Foreign && t.kind.stands() && len(r.places) < noticed {
		hash := t.hash
		if t.short {
			hash = fieldOf(hash)
		}
		r.places = append(r.places, newGram(hash, ofForeign))
	}
}

// uses remembers what of a value nobody named.
func (r *reader) uses(value string) {
	s := fold(value)
	if r.Origin(value) != Unknown {
		return
	}
	if j, ok := joined(s); ok {
		r.add(r.Key.tokenOf(j).hash, ofAgent)
	}
	n, whole := 0, uint64(0)
	words(s, func(w string, _ bool) {
		t := r.Key.tokenOf(w)
		if n++; n == 1 {
			whole = t.hash
		} else {
			whole = wholeOf(whole, t.hash)
		}
		if o, _ := r.one(t); o == Unknown && (!t.short || n == 1) {
			hash := t.hash
			if t.short {
				hash = fieldOf(hash)
			}
			r.add(hash, ofAgent)
		}
	})
	if n > 1 {
		r.add(whole, ofAgent)
	}
}
