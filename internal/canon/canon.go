// Package canon brings the names of tools, servers and executors to the one
// form that rules are matched against, so that "WIPE " or a Cyrillic look-alike
// is no way round a rule about "wipe".
//
//	name, confusable := canon.Name(call.Tool)
//	if confusable {
//		// The name imitates another one. Say so, and match it by what it looks like.
//	}
//	if name == "wipe" {
//		// …
//	}
//
// What is one thing stays apart from what is another: "-", "_", ".", "/" and ":"
// are kept as they are, and so are letters with accents and names written
// wholly in another script.
package canon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"

	"reeve.example/reeve/internal/words"
)

// Name returns the canonical form of a name: compatibility forms resolved
// (NFKC), invisible and control characters removed, white space trimmed and its
// runs folded to one space, lower case, and characters that look like ASCII
// ones replaced by them.
//
// confusable says that there were such characters: full width, mathematical or
// circled letters; letters of another script inside a Latin word, or a word
// made of nothing but letters that look Latin; dashes and slashes that are not
// those of the keyboard. The canonical form of a canonical form is itself.
//
// A name that is plain already is returned without allocating. Of any other,
// what lies beyond MaxName bytes is cut off, which makes it confusable, too: no
// honest name is so long, and a request could be made of nothing else.
func Name(s string) (name string, confusable bool) {
	if len(s) <= MaxName && isCanonical(s) {
		return s, false
	}
	if isASCII(s) { // as in readFile
		if lower := strings.ToLower(s); len(s) <= MaxName && isCanonical(lower) {
			return lower, false
		}
	}
	// Lower case, composition and look-alikes can each bring about what another
	// one changes. Two rounds do for all names seen; the bound keeps a surprise
	// from becoming a loop.
	for range 8 {
		if len(s) > MaxName {
			s, confusable = words.Cut(s, MaxName), true
		}
		next, c := fold(s)
		confusable = confusable || c
		if next == s {
			break
		}
		s = next
	}
	return s, confusable
}

// MaxName is how many bytes of a name count.
const MaxName = 1 << 10

// isCanonical reports whether a name is plain: lower-case ASCII without spaces
// at its ends or in runs. Most names are.
func isCanonical(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' && (c != ' ' || i == 0 || i == len(s)-1 || s[i-1] == ' ') || c >= 0x7f || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func fold(s string) (folded string, confusable bool) {
	confusable = resolvesToASCII(s)
	s = norm.NFKC.String(s)
	if len(s) > MaxName { // some characters stand for many
		s, confusable = words.Cut(s, MaxName), true
	}
	runes := clean(s)
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(runes); {
		end := i
		for end < len(runes) && ofWord(runes[end]) {
			end++
		}
		if end == i {
			r := runes[i]
			if ascii, ok := lookAlikes[r]; ok {
				r, confusable = rune(ascii), true
			}
			b.WriteRune(r)
			i++
			continue
		}
		if foldWord(&b, runes[i:end]) {
			confusable = true
		}
		i = end
	}
	return b.String(), confusable
}

// resolvesToASCII reports whether a character beyond ASCII stands for visible
// ASCII ones, such as ｗ or 𝐰 for w.
func resolvesToASCII(s string) bool {
	for i, r := range s {
		if r < utf8.RuneSelf {
			continue
		}
		d := norm.NFKC.PropertiesString(s[i:]).Decomposition()
		visible := false
		for _, c := range d {
			if c >= utf8.RuneSelf {
				visible = false
				break
			}
			visible = visible || c > ' '
		}
		if visible {
			return true
		}
	}
	return false
}

// clean leaves out what is not seen, and makes one space of white space.
func clean(s string) []rune {
	runes := make([]rune, 0, len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = len(runes) > 0
			continue
		case invisible(r):
			continue
		}
		if space {
			runes = append(runes, ' ')
			space = false
		}
		runes = append(runes, r)
	}
	return runes
}

// invisible reports whether a character shows nothing.
func invisible(r rune) bool {
	if r < 0x0100 {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xad
	}
	return unicode.Is(invisibles, r)
}

// invisibles are control, format and private characters, variation selectors,
// fillers, and what stands for bytes that are no text.
var invisibles = rangetable.Merge(unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector,
	rangetable.New(0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, unicode.ReplacementChar))

// ofWord reports whether a character belongs to a word: a letter, a digit, or a
// mark on one.
func ofWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// foldWord writes a word in lower case. A word of another script is left alone
// unless it has Latin letters too, or every letter of it looks like one: then
// it imitates a Latin word, and is written as that.
func foldWord(b *strings.Builder, word []rune) (confusable bool) {
	latin, others, alike := false, 0, 0
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			latin = latin || r > '9'
		case lookAlikes[r] != 0:
			alike++
			others++
		case !unicode.IsMark(r):
			others++
		}
	}
	imitates := alike > 0 && (latin || alike == others)
	plain := false // the character before is an ASCII letter
	for _, r := range word {
		if ascii := lookAlikes[r]; imitates && ascii != 0 {
			r, confusable = rune(ascii), true
		} else if plain && unicode.Is(unicode.Mn, r) {
			// No letter has this accent, or it would have been composed.
			confusable = true
			continue
		} else if lower := unicode.ToLower(r); lower != r {
			confusable = confusable || r >= utf8.RuneSelf && lower < utf8.RuneSelf
			r = lower
		}
		plain = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return confusable
}

// lookAlikes are characters that are taken for ASCII ones, of the scripts in
// which such names have been seen, and the ASCII character in lower case. What
// NFKC resolves is not among them.
var lookAlikes = func() map[rune]byte {
	m := map[rune]byte{}
	for _, row := range []struct{ ascii, like string }{
		// Latin letters of other alphabets and phonetics; Greek; Cyrillic;
		// Armenian; Cherokee and Lisu, whose letters were made from Latin ones.
		{"a", "ɑᴀ" + "αΑ" + "аА" + "Ꭺꓮ"},
		{"b", "ʙƄƅ" + "Ββ" + "ВвЬь" + "Ᏼꓐ"},
		{"c", "ᴄ" + "ϲϹ" + "сС" + "Ꮯꓚ"},
		{"d", "ᴅɗ" + "ԁԀ" + "ժ" + "Ꭰꓓ"},
		{"e", "ᴇ" + "εΕ" + "еЕҽҼєЄ" + "ҿ" + "Ꭼꓰ"},
		{"f", "ꜰƒ" + "ϝϜ" + "ֆ" + "ꓝ"},
		{"g", "ɡɢ" + "ԍԌ" + "ց" + "Ꮐꓖ"},
		{"h", "ʜɦ" + "Η" + "һҺнН" + "հՀ" + "Ꮋꓧ"},
		{"i", "ıɪɩ" + "ιΙ" + "іІ" + "Ꭵꓲ"},
		{"j", "ȷᴊ" + "ϳͿ" + "јЈ" + "յ" + "Ꭻꓙ"},
		{"k", "ᴋ" + "κΚ" + "кКҝҜ" + "Ꮶꓗ"},
		{"l", "ʟ" + "ӏӀ" + "ԼՂ" + "Ꮮꓡ"},
		{"m", "ᴍ" + "Μ" + "мМ" + "Ꮇꓟ"},
		{"n", "ɴ" + "ηΝ" + "пП" + "ոռ" + "ꓠ"},
		{"o", "ᴏ" + "οΟσ" + "оО" + "օՕ" + "ꓳ"},
		{"p", "ᴘ" + "ρΡ" + "рР" + "Ꮲꓑ"},
		{"q", "ǫ" + "ԛԚ" + "զգ"},
		{"r", "ʀ" + "гᴦ" + "Ꭱꓣ"},
		{"s", "ꜱʂ" + "ѕЅ" + "Տ" + "Ꮪꓢ"},
		{"t", "ᴛ" + "τΤ" + "тТ" + "Ꭲꓔ"},
		{"u", "ᴜʋ" + "υμ" + "цЦ" + "սՍ" + "ꓴ"},
		{"v", "ᴠ" + "ν" + "ѵѴ" + "Ꮩꓦ"},
		{"w", "ᴡɯ" + "ω" + "ԝԜѡѠшШ" + "ա" + "Ꮃꓪ"},
		{"x", "χΧ" + "хХҳҲ" + "ꓫ"},
		{"y", "ʏ" + "γΥ" + "уУүҮ" + "Ꭹꓬ"},
		{"z", "ᴢʐ" + "Ζζ" + "Ꮓꓜ"},
		{"3", "зЗӡӠ"}, {"6", "б"},
		{"-", "‐‑‒–—―−⁃﹘"}, {"_", "ˍ"}, {"/", "⁄∕⧸╱"}, {".", "․‧"}, {":", "ː∶꞉"},
	} {
		for _, r := range row.like {
			m[r] = row.ascii[0]
		}
	}
	return m
}()
