// Package canon brings the names of tools, servers and executors to the one
// form that rules are matched against, so that "WIPE " or a Cyrillic look-alike
// is no way round a rule about "wipe".
package canon

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Name returns the canonical form of a name: compatibility forms resolved
// (NFKC), invisible and control characters removed, white space trimmed and its
// runs folded to one space, lower case, and letters that look like ASCII ones
// replaced by them. confusable says that there were such letters. Separators
// such as "-", "_", "." and "/" keep names apart.
func Name(s string) (name string, confusable bool) {
	if isCanonical(s) {
		return s, false
	}
	// Lower case first: folding and NFKC can each undo what the other did, so
	// both are done until nothing changes. Two rounds are enough for all of
	// Unicode; the bound keeps a surprise from becoming a loop.
	for range 4 {
		next, c := fold(s)
		confusable = confusable || c
		if next == s {
			break
		}
		s = next
	}
	return s, confusable
}

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

func fold(s string) (string, bool) {
	confusable := false
	var b strings.Builder
	space := false
	for _, r := range norm.NFKC.String(s) {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case invisible(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		r = unicode.ToLower(r)
		if ascii, ok := lookAlikes[r]; ok {
			confusable = true
			r = ascii
		}
		b.WriteRune(r)
	}
	return b.String(), confusable
}

// invisible reports whether a character shows nothing: control, format and
// filler characters, variation selectors, and combining marks that hide as one.
func invisible(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector):
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0, r == unicode.ReplacementChar:
		return true
	}
	return false
}

// lookAlikes are lower-case letters that are taken for ASCII ones, of the
// scripts that such names have been seen in. What NFKC resolves (full width,
// mathematical, circled letters) is not among them.
var lookAlikes = func() map[rune]rune {
	m := map[rune]rune{}
	for _, row := range []struct{ ascii, like string }{
		{"a", "аɑαᴀ"}, {"b", "ЬьвʙЪ"}, {"c", "сϲᴄⅽ"}, {"d", "ԁɗᴅ"}, {"e", "еҽєᴇε"}, {"f", "ϝſғ"},
		{"g", "ɡցɢ"}, {"h", "һհнʜ"}, {"i", "іıιɩӏᎥ"}, {"j", "јϳᴊ"}, {"k", "кκᴋҝ"}, {"l", "ⅼʟḷӀ"},
		{"m", "мᴍ"}, {"n", "пոηɴո"}, {"o", "оοσօᴏഠ"}, {"p", "рρᴘ"}, {"q", "ԛզ"}, {"r", "гᴦʀг"},
		{"s", "ѕꜱʂ"}, {"t", "тτᴛ"}, {"u", "υսᴜʋц"}, {"v", "νѵᴠ"}, {"w", "ԝѡωᴡш"}, {"x", "хχ×"},
		{"y", "уγүʏ"}, {"z", "ᴢʐ"}, {"3", "зӡ"}, {"-", "‐‑‒–—−"}, {"_", "＿"}, {"/", "⁄∕"}, {".", "․"},
	} {
		for _, r := range row.like {
			m[unicode.ToLower(r)] = rune(row.ascii[0])
		}
	}
	return m
}()
