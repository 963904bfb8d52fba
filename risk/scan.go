package risk

import (
	"unicode"
	"unicode/utf8"
)

// scanner is one pass over one text.
type scanner struct {
	text string
	want Detector
	out  []Finding

	hidden int      // hidden characters seen, wanted or not
	spans  [][2]int // of them
	rtl    bool     // the text has letters that are written from right to left
}

func (s *scanner) add(d Detector, code, name string, start, end int, score float64) {
	if s.want&d != 0 && start < end {
		s.out = append(s.out, Finding{d, code, name, start, end, score})
	}
}

// class says what a byte can be the beginning of.
type class uint8

const (
	letter    class = 1 << iota // of a word
	digit                       // of a number
	mark                        // of something at this very byte
	beyond                      // not ASCII
	wordClass = letter | digit
)

var classes = func() (t [256]class) {
	for c := range t {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z' && c < utf8.RuneSelf:
			t[c] = letter
		case '0' <= c && c <= '9':
			t[c] = digit
		case c >= utf8.RuneSelf:
			t[c] = beyond
		}
	}
	for _, c := range "@+-:=<[(" {
		t[c] = mark
	}
	return
}()

func isWord(c byte) bool  { return classes[c]&wordClass != 0 || c == '_' }
func isDigit(c byte) bool { return c-'0' <= 9 }
func isUpper(c byte) bool { return c-'A' <= 25 }

// scan looks closer at each byte that could begin a finding.
func (s *scanner) scan() {
	text := s.text
	for i := 0; i < len(text); {
		switch c := text[i]; classes[c] {
		case letter:
			s.word(i)
			for i++; i < len(text) && classes[text[i]]&wordClass != 0; i++ {
			}
		case digit:
			s.number(i)
			for i++; i < len(text) && classes[text[i]] == digit; i++ {
			}
		case mark:
			s.mark(i, c)
			i++
		case beyond:
			i += s.rune(i)
		default:
			i++
		}
	}
}

func (s *scanner) mark(i int, c byte) {
	switch c {
	case '@':
		s.email(i)
	case '+':
		s.internationalPhone(i)
	case '(':
		s.nationalPhone(i)
	case '-':
		s.privateKey(i)
	case ':', '=':
		s.assignment(i)
		s.urlPassword(i)
	case '<', '[':
		s.roleMarker(i)
	}
}

// number looks at a run of digits.
func (s *scanner) number(i int) {
	if i > 0 && (isWord(s.text[i-1]) || s.text[i-1] >= utf8.RuneSelf) {
		return
	}
	if s.want&Card != 0 {
		s.card(i)
	}
	if s.want&SSN != 0 {
		s.ssn(i)
	}
	if s.want&Phone != 0 {
		s.nationalPhone(i)
	}
	if s.want&Secret != 0 {
		s.telegramToken(i)
	}
}

// word looks at the beginning of a word: most secrets have a prefix, and most
// instructions one of few verbs.
func (s *scanner) word(i int) {
	text := s.text
	if i+4 > len(text) {
		return
	}
	if i > 0 && (text[i-1] == '_' || isDigit(text[i-1])) {
		return
	}
	head := (uint32(text[i])<<24 | uint32(text[i+1])<<16 | uint32(text[i+2])<<8 | uint32(text[i+3])) | 0x20202020
	if s.want&Secret != 0 {
		s.token(i, head)
	}
	if s.want&IBAN != 0 && isUpper(text[i]) && isUpper(text[i+1]) && isDigit(text[i+2]) && isDigit(text[i+3]) {
		s.iban(i)
	}
	if s.want&Injection != 0 {
		s.instruction(i, head)
	}
}

// rune looks at a character beyond ASCII and returns its length.
func (s *scanner) rune(i int) int {
	r, size := utf8.DecodeRuneInString(s.text[i:])
	switch {
	case r >= 0x0590 && r <= 0x08ff:
		s.rtl = true
	case r == '忽' || r == '無' || r == '无':
		s.instructionCJK(i)
		return size
	}
	if code, name := s.hides(i, r, size); code != "" {
		end := i + size
		// A run of hidden characters is one finding.
		for end < len(s.text) {
			next, n := utf8.DecodeRuneInString(s.text[end:])
			if c, _ := s.hides(end, next, n); c == "" {
				break
			}
			end += n
		}
		s.hidden++
		s.spans = append(s.spans, [2]int{i, end})
		score := 0.5
		if code != "hidden.zero_width" {
			score = 0.7
		}
		s.add(Hidden, code, name, i, end, score)
		return end - i
	}
	return size
}

// hides reports how a character hides something: it is not seen, or turns the
// order of what is seen. Characters that a script or an emoji needs do not.
func (s *scanner) hides(i int, r rune, size int) (code, name string) {
	switch {
	case r >= 0xe0000 && r <= 0xe007f:
		if s.flag(i) {
			return "", ""
		}
		return "hidden.tag", "tag characters"
	case r >= 0xe0100 && r <= 0xe01ef:
		return "hidden.variation", "variation selectors"
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return "hidden.bidi", "direction controls"
	case r == 0x200e, r == 0x200f, r == 0x061c:
		if s.rtl || s.near(i, size, isRTL) {
			return "", ""
		}
		return "hidden.bidi", "direction controls"
	case r == 0x200c, r == 0x200d:
		if s.near(i, size, joins) {
			return "", ""
		}
		return "hidden.zero_width", "zero-width characters"
	case r >= 0xfe00 && r <= 0xfe0f:
		if prev, _ := utf8.DecodeLastRuneInString(s.text[:i]); prev > 0xff || prev == '#' || prev == '*' || prev == 0xa9 || prev == 0xae || prev >= '0' && prev <= '9' {
			if prev < 0xfe00 || prev > 0xfe0f {
				return "", ""
			}
		}
		return "hidden.variation", "variation selectors"
	case r == 0x200b, r == 0x2060, r >= 0x2061 && r <= 0x2064, r == 0x180e, r == 0x00ad, r == 0x3164, r == 0xffa0, r == 0x115f, r == 0x1160,
		r == 0xfeff && i > 0:
		return "hidden.zero_width", "zero-width characters"
	}
	return "", ""
}

// flag reports whether tag characters at i belong to an emoji flag: they follow
// U+1F3F4 and at most six others.
func (s *scanner) flag(i int) bool {
	for range 7 {
		r, size := utf8.DecodeLastRuneInString(s.text[:i])
		if r == 0x1f3f4 {
			return true
		}
		if r < 0xe0000 || r > 0xe007f {
			return false
		}
		i -= size
	}
	return false
}

// near reports whether the character before or after satisfies f.
func (s *scanner) near(i, size int, f func(rune) bool) bool {
	before, _ := utf8.DecodeLastRuneInString(s.text[:i])
	after, _ := utf8.DecodeRuneInString(s.text[i+size:])
	return f(before) || f(after)
}

func isRTL(r rune) bool { return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfefc }

// joins reports whether a character is of those that zero-width joiners and
// non-joiners are made for: Arabic, Indic and related scripts, and emoji.
func joins(r rune) bool {
	return isRTL(r) || r >= 0x0900 && r <= 0x0fff || r >= 0x1000 && r <= 0x109f || r >= 0x1780 && r <= 0x18af ||
		r >= 0x2190 && r <= 0x2bff || r >= 0x1f000 && r <= 0x1faff || r == 0xfe0f || unicode.Is(unicode.Syriac, r)
}
