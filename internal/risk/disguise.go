package risk

import (
	"html"
	"strings"
	"unicode/utf8"
)

// Orders in disguise: a model reads them through escapes, backwards, shifted by
// thirteen letters, or with its words cut, and so does the scanner. A text that was
// decoded is read again, as often as it is encoded, up to a bound.

const (
	maxDecodings = 3        // escapes inside escapes
	decodedAt    = 64 << 10 // bytes that are decoded at once
	decodedTwice = 1 << 10  // of them, those that the next part begins with
)

// escapes reads the text again without its escapes: entities of HTML, percent-encoding,
// and those of programs' strings.
func (s *scanner) escapes() {
	if s.decodings == maxDecodings || !escaped(s.text) {
		return
	}
	for base := 0; base < len(s.text); base += decodedAt - decodedTwice {
		part := s.text[base:min(len(s.text), base+decodedAt)]
		plain, from := decoded(part)
		if from == nil {
			continue
		}
		inner := scanner{text: plain, want: Injection, phoneAt: never, ssnAt: never, cardAt: never, decodings: s.decodings + 1}
		inner.scan()
		inner.escapes()
		for _, f := range inner.out {
			start, end := from[f.Start], from[f.End]
			if end-start == f.End-f.Start {
				continue // nothing in it was escaped: it is found without this
			}
			s.addOrder(f.Code, base+start, base+end, f.Score)
		}
	}
}

// escaped reports whether more than a few characters of a text are escaped.
func escaped(text string) bool {
	const few = 3
	n := 0
	for _, c := range []byte(`%&\`) {
		for i := 0; n < few; i++ {
			next := strings.IndexByte(text[i:], c)
			if next < 0 {
				break
			}
			i += next
			if _, size := escapeAt(text[i:]); size > 0 {
				n++
			}
		}
	}
	return n >= few
}

// Unescaped is a text without its escapes: entities of HTML, percent-encoding, and those of
// programs' strings, undone once.
func Unescaped(text string) string {
	if plain, from := decoded(text); from != nil {
		return plain
	}
	return text
}

// decoded undoes the escapes of a text. from says where each byte of plain, and its
// end, came from; it is nil where nothing is escaped.
func decoded(text string) (plain string, from []int) {
	var b []byte
	for i := 0; i < len(text); {
		char, size := text[i:i+1], 1
		switch text[i] {
		case '&', '%', '\\':
			if c, long := escapeAt(text[i:]); long > 0 {
				if from == nil {
					b = append(make([]byte, 0, len(text)), text[:i]...)
					from = make([]int, i, len(text)+1)
					for k := range from {
						from[k] = k
					}
				}
				char, size = c, long
			}
		}
		if from != nil {
			for range len(char) {
				from = append(from, i)
			}
			b = append(b, char...)
		}
		i += size
	}
	if from == nil {
		return "", nil
	}
	return string(b), append(from, len(text))
}

// escapeAt decodes the escape that a text begins with; its size is 0 if it is none.
func escapeAt(text string) (char string, size int) {
	hex := func(at, digits int) (string, int) {
		n, ok := hexRune(text, at, digits)
		switch {
		case !ok:
			return "", 0
		case digits == 2 && n >= utf8.RuneSelf:
			return string([]byte{byte(n)}), at + digits
		}
		return string(n), at + digits
	}
	switch {
	case text[0] == '%':
		if strings.HasPrefix(text, "%u") {
			return hex(2, 4)
		}
		return hex(1, 2)
	case strings.HasPrefix(text, `\x`):
		return hex(2, 2)
	case strings.HasPrefix(text, `\u`):
		return hex(2, 4)
	case text[0] == '&':
		end := strings.IndexByte(text[:min(len(text), 12)], ';') + 1
		if end == 0 && strings.HasPrefix(text, "&#") { // browsers do without
			for end = 2; end < min(len(text), 10) && isAlnum(text[end]); end++ {
			}
		}
		if c := html.UnescapeString(text[:end]); end > 0 && c != text[:end] {
			return c, end
		}
	}
	return "", 0
}

// addOrder adds an order that was read in another form, on the boundaries of characters.
func (s *scanner) addOrder(code string, start, end int, score float64) {
	for start > 0 && !utf8.RuneStart(s.text[start]) {
		start--
	}
	for end < len(s.text) && !utf8.RuneStart(s.text[end]) {
		end++
	}
	s.injected = max(s.injected, end)
	s.add(Injection, code, "instructions", start, end, score)
}

// orderWords are words of which an order cannot do without one.
var orderWords = strings.Fields("ignore disregard forget override bypass instructions instruction prompt prompts guidelines directives")

// turned are those words backwards, and shifted.
var turned = func() map[string]func(string) string {
	m := map[string]func(string) string{}
	for _, w := range orderWords {
		m[backwards(w)], m[shifted(w)] = backwards, shifted
	}
	return m
}()

func backwards(text string) string {
	b := make([]byte, len(text))
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			c = ' '
		}
		b[len(b)-1-i] = c
	}
	return string(b)
}

func shifted(text string) string {
	b := []byte(text)
	for i, c := range b {
		if isAlpha(c) {
			b[i] = c&0x20 | (c|0x20-'a'+13)%26 + 'A'
		}
	}
	return string(b)
}

// turnedOrder reads what stands around a word that is one backwards, or shifted.
func (s *scanner) turnedOrder(i int) {
	const behind, ahead, next = 100, 600, 300
	if i < s.turnedUpTo {
		return
	}
	end := i
	for end < len(s.text) && end-i < 16 && isAlpha(s.text[end]) {
		end++
	}
	turn, ok := turned[strings.ToLower(s.text[i:end])]
	if !ok {
		return
	}
	s.turnedUpTo = i + next
	from, to := max(0, i-behind), min(len(s.text), i+ahead)
	inner := scanner{text: turn(s.text[from:to]), want: Injection, phoneAt: never, ssnAt: never, cardAt: never, decodings: maxDecodings, turnedUpTo: ahead * 2}
	inner.scan()
	for _, f := range inner.out {
		start, end := from+f.Start, from+f.End
		if turn("ab") == "ba" {
			if stop := strings.LastIndexAny(s.text[to-f.End:to-f.Start], ".!?\n"); stop >= 0 { // the sentence before it
				f.End -= stop + 1
			}
			start, end = to-f.End, to-f.Start
		}
		s.addOrder(f.Code, start, end, f.Score)
	}
}

// What an order is made of when its words are cut: a verb, what it speaks of, and that.
var (
	cutVerbs  = strings.Fields("ignore disregard forget override bypass")
	cutScopes = strings.Fields("previously previous preceding prior above earlier your system initial original all")
	cutFills  = strings.Fields("the any every of and these those my other")
	cutThings = strings.Fields("instructions instruction prompts prompt directives directive guidelines guardrails rules commands")
)

// cutOrder reads the letters from i on without what stands between them, and finds an
// order of which at least one word is cut. Whole words are found by themselves.
func (s *scanner) cutOrder(i int) {
	if i >= s.injected && s.cutVerb(i) {
		s.cutOrderOf(i)
	}
}

// cutVerb says whether the first four letters from i on, which is nearly always all
// that has to be read, begin one of the verbs.
func (s *scanner) cutVerb(i int) bool {
	verb, n := "", 0
	for k := i; k < min(len(s.text), i+32); k++ {
		c := s.text[k]
		if !isAlpha(c) {
			continue
		}
		if n == 0 {
			verb = cutVerbOf[c&0x1f]
		}
		if verb == "" || verb[n] != c|0x20 {
			return false
		}
		if n++; n == 4 {
			return true
		}
	}
	return false
}

func (s *scanner) cutOrderOf(i int) {
	const letters, gap = 96, 12
	var buf [letters]byte
	var at [letters]int
	n := 0
	for k, last := i, i; k < len(s.text) && n < letters && k-last <= gap; k++ {
		if c := s.text[k]; isAlpha(c) {
			buf[n], at[n], last = c|0x20, k, k
			n++
		}
	}
	p, cut, scoped := 0, false, false
	take := func(words []string) bool {
		for _, w := range words {
			if p+len(w) <= n && string(buf[p:p+len(w)]) == w {
				cut = cut || at[p+len(w)-1]-at[p]+1 != len(w)
				p += len(w)
				return true
			}
		}
		return false
	}
	if !take(cutVerbs) {
		return
	}
	for range 8 {
		switch {
		case scoped && take(cutThings):
			end := at[p-1] + 1
			if inWord := end < len(s.text) && isAlpha(s.text[end]); cut && !inWord && !s.stated(i) {
				s.addOrder("injection.override", i, s.sentence(end), 0.85)
			}
			return
		case take(cutScopes):
			scoped = true
		case !take(cutFills):
			return
		}
	}
}

// cutVerbOf is the one of the verbs that begins with a letter, empty for none. They begin
// with five letters.
var cutVerbOf = func() (of [32]string) {
	for _, v := range cutVerbs {
		if of[v[0]&0x1f] != "" {
			panic("risk: two verbs of cut orders begin with the letter of " + v)
		}
		of[v[0]&0x1f] = v
	}
	return of
}()

// addDisguises adds the heads of words at which an order in disguise can begin.
func addDisguises() {
	for w := range turned {
		addTrigger(w[:4], Injection, aTurnedOrder, 0)
	}
	for _, v := range cutVerbs {
		addTrigger(v[:3], Injection, aCutOrder, 0) // shorter ones are seen where words are
	}
}
