// Package visible writes texts of others so that a person sees every character
// of them, and a terminal acts on none.
//
//	fmt.Println(visible.Line("ls\x1b[2K\u202e")) // ls⟨U+001B⟩[2K⟨U+202E⟩
//
// What is shown corresponds one to one to what is there: a character is written as
// itself, or by its number between the brackets ⟨ and ⟩; a bracket that is in
// the text is written by its number, too. Written by their numbers are characters
// that act on a terminal, are not seen, change how others look or stand, or look
// like those of the keyboard without being them.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/internal/canon"
)

// Line shows a text on one line.
func Line(s string) string { return show(s, false) }

// Lines shows a text, and keeps its line feeds.
func Lines(s string) string { return show(s, true) }

// The brackets around a number.
const (
	opening = '⟨'
	closing = '⟩'
)

// The signs around letters that are written from right to left: whatever shows
// them in their own direction leaves what stands around them in its order.
const (
	isolate = '\u2068'
	pop     = '\u2069'
)

func show(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	native := false // the word before is of another script, and imitates nothing
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' && lines:
			b.WriteByte('\n')
			native = false
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "%c0x%02X%c", opening, s[i], closing)
		case wordly(r):
			end := wordEnd(s, i)
			native = word(&b, s[i:end], native || nativeFollows(s, end))
			i = end
			continue
		default:
			native = native && r == ' '
			if r >= ' ' && r < 0x7f || r > 0x7f && symbol(r) {
				b.WriteRune(r)
			} else {
				number(&b, r)
			}
		}
		i += size
	}
	return b.String()
}

// plain reports whether a text is printable ASCII: most are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func number(b *strings.Builder, r rune) { fmt.Fprintf(b, "%cU+%04X%c", opening, r, closing) }

// wordly reports whether r is of a word.
func wordly(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !wordly(r) || r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// nativeFollows reports whether behind one space there is a word of another
// script that imitates nothing: so that the one before is prose, too.
func nativeFollows(s string, i int) bool {
	return i < len(s) && s[i] == ' ' && native(s[i+1:wordEnd(s, i+1)])
}

func native(w string) bool {
	for _, r := range w {
		if r < utf8.RuneSelf || !unicode.IsLetter(r) || unicode.Is(unicode.Latin, r) {
			return false
		}
	}
	_, imitates := canon.Name(w)
	return w != "" && !imitates
}

// word writes a word, and reports whether it is a native one. In a word that
// imitates one of plain letters all others are written by their numbers, but for
// prose: the Russian for "with" looks like the Latin c.
func word(b *strings.Builder, w string, prose bool) bool {
	if plain(w) {
		b.WriteString(w)
		return false
	}
	_, imitates := canon.Name(w)
	if imitates && prose {
		imitates = false
		for i := range len(w) {
			imitates = imitates || w[i] < utf8.RuneSelf
		}
	}
	backward := false
	before, marks := rune(0), 0
	for _, r := range w {
		seen := r < utf8.RuneSelf || !imitates && !blank(r) && unicode.IsGraphic(r) && !imitatesSign(r) && (wordly(r) || !rightToLeft(r))
		if unicode.IsMark(r) {
			marks++
			seen = seen && before >= utf8.RuneSelf && marks <= 3 && !unicode.Is(unicode.Me, r)
		} else {
			before, marks = r, 0
		}
		if turned := seen && rightToLeft(r); turned != backward && (turned || !unicode.IsMark(r) || !seen) {
			if backward = turned; backward {
				b.WriteRune(isolate)
			} else {
				b.WriteRune(pop)
			}
		}
		if seen {
			b.WriteRune(r)
		} else {
			number(b, r)
		}
	}
	if backward {
		b.WriteRune(pop)
	}
	return !imitates && native(w)
}

// symbol reports whether a character beyond ASCII that is of no word is seen as
// what it is.
func symbol(r rune) bool {
	switch {
	case r == '–', r == '—', r == '…': // of another width than the keyboard's
		return true
	case r == opening, r == closing, blank(r), unicode.IsSpace(r), !unicode.IsGraphic(r), rightToLeft(r), imitatesSign(r):
		return false
	}
	_, imitates := canon.Name(string(r))
	return !imitates
}

// blank reports whether r shows nothing, or chooses the look of another.
func blank(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0, 0xfffc, 0x1d159:
		return true
	}
	return r >= 0x180b && r <= 0x180f || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff
}

// imitatesSign reports whether a character looks like a sign of the keyboard that means something to a program, and is
// none (Unicode's confusables, without the dashes and quotes of printed texts and the signs of Chinese and Japanese).
func imitatesSign(r rune) bool { return r >= utf8.RuneSelf && strings.ContainsRune(likeSigns, r) }

const likeSigns = "ǃⵑ" + "ʺˮ˝" + "ʹʻʼʽʾʿˈˊꞌ′‵՚ᛌ" + "¸‚ꓹ" + "‐‑‒⁃˗−➖Ⲻ﹘" + "․܁܂꘎ꓸ" + "⁄∕⟋╱⧸᜵Ⳇ" + "ː˸։∶⁚᛬ꓽ꞉᠃᠉" + ";" + "‹❮˂ᚲᐸ" + "᐀꓿⹀" + "›❯˃ᐳ" + "ʔɁॽ" +
	"❲❨⦅❳❩⦆" + "∖⟍⧵⧹﹨" + "˄ˆ" + "ˋ՝‛" + "ǀ∣ⵏ❘।⸼ǁ∥￨∙ᱼ" + "˜∼⁓῀" + "⁎∗✱" + "᛭➕" + "❴❵" + "﹍﹎﹏" + "﹟﹩﹠﹡﹢﹣﹤﹥﹦﹪﹫"

func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}
