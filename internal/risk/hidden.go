package risk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/internal/canon"
)

// leads are the first bytes of the characters beyond ASCII that a matcher looks
// at. The others belong to letters that neither hide nor begin anything.
var leads = func() (t [256]bool) {
	for _, c := range []byte{
		0xc2, 0xcd, // no-break space and soft hyphen; combining grapheme joiner
		0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, // Greek, Cyrillic, Armenian
		0xd8,                         // Arabic
		0xe1, 0xe2, 0xe3, 0xef, 0xf0, // fillers, spaces, dashes, controls, selectors, full width, mathematical
		0xe5, 0xe6, 0xe7, 0xeb, // the beginnings of instructions in Chinese, Japanese, Korean
		0xf3, // tags, and more selectors
	} {
		t[c] = true
	}
	return
}()

// beyond looks at a character beyond ASCII.
func (s *scanner) beyond(i int) {
	text := s.text
	switch c := text[i]; c {
	case 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5:
		// A letter of another alphabet inside a Latin word imitates one.
		if i > 0 && isAlpha(text[i-1]) || i+2 < len(text) && isAlpha(text[i+2]) {
			s.disguised = true
		}
		if c == 0xd0 && s.want&Injection != 0 {
			s.instructionCyrillic(i)
		}
		return
	case 0xe5, 0xe6, 0xe7, 0xeb:
		if s.want&Injection != 0 {
			s.instructionEastAsian(i)
		}
		return
	case 0xd8:
		if s.want&Injection != 0 {
			s.instructionArabic(i)
		}
	}
	h, size := s.hides(i)
	if h == nil {
		s.disguised = s.disguised || s.disguises(i, size)
		return
	}
	end, worst := i+size, h
	for end < len(text) && text[end] >= utf8.RuneSelf { // a run is one finding
		next, size := s.hides(end)
		if next == nil {
			break
		}
		if next.score > worst.score {
			worst = next
		}
		end += size
	}
	s.disguised = true
	s.skip = max(s.skip, end)
	score := worst.score
	if breaksOnly(text, i, end) {
		score = sampleWeight
	}
	s.add(Hidden, worst.code, worst.name, i, end, score)
}

// breaksOnly reports whether a run is of one kind of zero-width space alone, and stands beside
// something else than letters and digits on at least one side. Pages have them where a
// line may break, before addresses and in braces, and sources that were copied from pages.
// They say nothing, and part no word: a rule that asks for a severity leaves them be.
func breaksOnly(text string, i, end int) bool {
	const most = 16 * len("\u200b") // more of them in a row are counted by somebody
	if run := text[i:end]; len(run) > most || !strings.Contains("\u200b\u200c\u2060\ufeff", run[:min(3, len(run))]) || strings.Trim(run, run[:3]) != "" {
		return false
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return !word(before(text, i)) || !word(after(text, end))
}

// hiding is a way to hide.
type hiding struct {
	code, name string
	score      float64
}

var (
	zeroWidth = &hiding{"hidden.zero_width", "zero-width characters", 0.5}
	bidi      = &hiding{"hidden.bidi", "direction controls", 0.7}
	tags      = &hiding{"hidden.tag", "tag characters", 0.9}
	selectors = &hiding{"hidden.variation", "variation selectors", 0.6}
	format    = &hiding{"hidden.format", "invisible format characters", 0.5}
)

// hides says how the character at i hides something: it is not seen, or turns
// the order of what is seen. Characters that a script or an emoji needs do not.
// The answer depends on the characters around, not on those far away.
//
// canon.Invisible says what is not seen at all; here is what kind it is of, and
// where it is excused.
func (s *scanner) hides(i int) (*hiding, int) {
	text := s.text
	switch text[i] { // most characters need no decoding
	case 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3:
	default:
		return nil, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case r < 0x100: // soft hyphens are in many a text, see disguises; C1 controls are letters that were decoded wrongly
		return nil, size
	case r < 0x2000:
		switch r {
		case 0x061c: // Arabic letter mark
			return s.mark(i, size)
		case 0x180b, 0x180c, 0x180d, 0x180f: // Mongolian variation selectors
			if before := before(text, i); before >= 0x1800 && before <= 0x18af && !selector(before) {
				return nil, size
			}
			return selectors, size
		}
	case r == 0x200e, r == 0x200f:
		return s.mark(i, size)
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return bidi, size
	case r == 0x200c, r == 0x200d:
		a, b := before(text, i), after(text, i+size)
		if joins(a) || joins(b) || r == 0x200d && pictorial(a) && pictorial(b) {
			return nil, size
		}
		return zeroWidth, size
	case r == 0x200b:
		if a, b := before(text, i), after(text, i+size); breaks(a) && breaks(b) {
			return nil, size
		}
		return zeroWidth, size
	case r == 0xfeff:
		if i == 0 { // a byte order mark
			return nil, size
		}
		return zeroWidth, size
	case selector(r):
		// One selector behind a symbol, a keycap or an ideograph chooses its
		// look. Behind a letter, or several in a row, they carry data.
		switch a := before(text, i); {
		case selector(a), a < 0x80 && strings.IndexByte("#*0123456789", byte(a)) < 0, a > 0x80 && a < 0x2000 && a != 0xa9 && a != 0xae:
			return selectors, size
		}
		return nil, size
	case r >= 0xe0000 && r <= 0xe007f:
		if flag(text, i) {
			return nil, size
		}
		return tags, size
	}
	if canon.Invisible(r) {
		return format, size
	}
	return nil, size
}

// mark judges a direction mark, which text written from right to left needs.
func (s *scanner) mark(i, size int) (*hiding, int) {
	if s.rtl == 0 {
		s.rtl = 2
		for _, r := range s.text {
			if rightToLeft(r) {
				s.rtl = 1
				break
			}
		}
	}
	if s.rtl == 1 {
		return nil, size
	}
	return bidi, size
}

func before(text string, i int) rune {
	r, size := utf8.DecodeLastRuneInString(text[:i])
	if size == 0 {
		return 0
	}
	return r
}

func after(text string, i int) rune {
	r, size := utf8.DecodeRuneInString(text[i:])
	if size == 0 {
		return 0
	}
	return r
}

func selector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180d || r == 0x180f
}

func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff && r != 0x061c || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// joins reports whether r is of the scripts in which letters are joined and
// parted by zero-width characters: Arabic, those of India and its neighbours,
// Mongolian.
func joins(r rune) bool {
	return r >= 0x0600 && r <= 0x08ff && r != 0x061c || r >= 0x0900 && r <= 0x0fff || r >= 0x1000 && r <= 0x109f || r >= 0x1780 && r <= 0x17ff && r != 0x17b4 && r != 0x17b5 ||
		r >= 0x1800 && r <= 0x18af && (r < 0x180b || r > 0x180f) || r >= 0xfb50 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x11000 && r <= 0x11fff
}

// breaks reports whether r is of the scripts that write no spaces, and where a
// zero-width space says where a line may break.
func breaks(r rune) bool {
	return r >= 0x0e00 && r <= 0x0fff || r >= 0x1000 && r <= 0x109f || r >= 0x1780 && r <= 0x17ff && r != 0x17b4 && r != 0x17b5
}

// pictorial reports whether r can stand beside the joiner of an emoji.
func pictorial(r rune) bool {
	return r == 0xfe0f || r >= 0x2190 && r <= 0x2bff || r >= 0x1f000 && r <= 0x1faff
}

// flags are the emoji that are spelled with tag characters, the only ones that
// are made.
var flags = func() (list []string) {
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		flag := "\U0001f3f4"
		for _, c := range region {
			flag += string(0xe0000 + c)
		}
		list = append(list, flag+"\U000e007f")
	}
	return
}()

// flag reports whether the tag character at i belongs to a flag.
func flag(text string, i int) bool {
	for _, f := range flags {
		for at := 4; at < len(f); at += 4 {
			if i >= at && strings.HasPrefix(text[i-at:], f) {
				return true
			}
		}
	}
	return false
}

// disguises reports whether the character at i, which hides nothing, stands for
// another or parts what belongs together.
func (s *scanner) disguises(i, size int) bool {
	text := s.text
	r, _ := utf8.DecodeRuneInString(text[i:])
	switch {
	case r == 0xad:
		return true
	case r >= 0xff10 && r <= 0xff19, r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a,
		r >= 0x1d400 && r <= 0x1d7ff, r >= 0x24b6 && r <= 0x24e9, r >= 0x1f130 && r <= 0x1f189:
		return true
	case r == 0xa0, r >= 0x2000 && r <= 0x2015, r == 0x202f, r == 0x205f, r == 0x2212, r == 0x3000:
		return i > 0 && isDigit(text[i-1]) && i+size < len(text) && isDigit(text[i+size])
	}
	return false
}

// scanSeen scans the text once more as a person sees it: what is hidden left
// out, what looks like ASCII brought to it.
func (s *scanner) scanSeen(d Scanner) {
	text := s.text
	seen := make([]byte, 0, len(text))
	from := make([]int32, 0, len(text)+1) // where each byte of seen came from
	word, latin := 0, false               // the end of the present word, and whether it holds Latin letters
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			seen, from = append(seen, text[i]), append(from, int32(i))
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if h, _ := s.hides(i); h == nil && r != 0xad {
			if i >= word && r >= 0x370 && r < 0x590 {
				word, latin = s.wordOf(i)
				latin = latin || len(seen) > 0 && isAlpha(seen[len(seen)-1])
			}
			if c := looksLike(r, latin && i < word); c != 0 {
				seen, from = append(seen, c), append(from, int32(i))
			} else {
				for k := range size {
					seen, from = append(seen, text[i+k]), append(from, int32(i+k))
				}
			}
		}
		i += size
	}
	from = append(from, int32(len(text)))
	again := scanner{text: string(seen), want: s.want &^ (Hidden | Unseen), phoneAt: never, ssnAt: never, cardAt: never}
	again.scan()
	again.owns(d.Own)
	for _, f := range again.out {
		f.Start = int(from[f.Start])
		last := int(from[f.End-1])
		_, size := utf8.DecodeRuneInString(text[last:])
		f.End = last + size
		s.out = append(s.out, f)
	}
}

// wordOf returns the end of the word that goes on at i, and whether Latin
// letters are in it.
func (s *scanner) wordOf(i int) (end int, latin bool) {
	for end = i; end < len(s.text); {
		c := s.text[end]
		switch {
		case isAlpha(c):
			latin = true
			end++
		case c >= 0xcd && c <= 0xd5:
			end += 2
		case c == 0xe2 || c == 0xcc: // a hidden or combining character does not end it
			_, size := utf8.DecodeRuneInString(s.text[end:])
			if h, _ := s.hides(end); h == nil && c == 0xe2 {
				return end, latin
			}
			end += size
		default:
			return end, latin
		}
	}
	return end, latin
}

// looksLike returns the ASCII character that r stands for or, inside a Latin
// word, looks like; 0 for none.
func looksLike(r rune, latin bool) byte {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		return byte(r - 0xff01 + '!')
	case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return ' '
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical letters, in thirteen styles of 52
		return letterAt((r - 0x1d400) % 52)
	case r >= 0x1d7ce && r <= 0x1d7ff:
		return '0' + byte((r-0x1d7ce)%10)
	case r >= 0x24b6 && r <= 0x24e9: // in circles
		return letterAt(r - 0x24b6)
	case r >= 0x1f130 && r <= 0x1f149:
		return 'A' + byte(r-0x1f130)
	case r >= 0x1f150 && r <= 0x1f169:
		return 'A' + byte(r-0x1f150)
	case r >= 0x1f170 && r <= 0x1f189:
		return 'A' + byte(r-0x1f170)
	case latin && r < 0x600:
		return imitations[r]
	}
	return 0
}

func letterAt(n rune) byte {
	if n < 26 {
		return 'A' + byte(n)
	}
	return 'a' + byte(n-26)
}

// imitations are the letters of other alphabets that are taken for Latin ones.
var imitations = func() map[rune]byte {
	m := map[rune]byte{}
	const like = "АAВBСCЕEНHІIЈJКKМMОOРPЅSТTХXҮYаaсcԁdеeһhіiјjкkӏlмmոnпnоoрpԛqгrѕsтtսuѵvԝwхxуyЗ3зz" +
		"ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXαaεeιiκkνvοoρpτtυuχxγy" + "օoհhզqցgԼL"
	runes := []rune(like)
	for i := 0; i < len(runes); i += 2 {
		m[runes[i]] = byte(runes[i+1])
	}
	return m
}()
