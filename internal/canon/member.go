package canon

import (
	"unicode"
	"unicode/utf8"
)

// FoldMember is the name of an object's member, or of an argument, as the readers
// compare it that take several for one: without case, by Unicode's simple folding
// (ſ is s, and the Kelvin sign k), with the dotted and the dotless i as i, and
// without "_" and "-" but at the beginning, since some take is_error for isError.
func FoldMember(name string) string {
	b := make([]byte, 0, len(name))
	for i, r := range name {
		if r = foldMember(r, i); r >= 0 {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// SameMember reports whether such readers take two names for one. Names that have
// nothing in common, as most have, cost nearly nothing.
func SameMember(a, b string) bool {
	i, j := 0, 0
	for {
		r, s := rune(-1), rune(-1)
		for r < 0 && i < len(a) {
			c, size := utf8.DecodeRuneInString(a[i:])
			r = foldMember(c, i)
			i += size
		}
		for s < 0 && j < len(b) {
			c, size := utf8.DecodeRuneInString(b[j:])
			s = foldMember(c, j)
			j += size
		}
		if r != s {
			return false
		}
		if r < 0 {
			return true
		}
	}
}

// foldMember is the character for which r stands at a place of a name, or -1 for none.
func foldMember(r rune, at int) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r | 0x20
	case (r == '_' || r == '-') && at > 0:
		return -1
	case r < utf8.RuneSelf:
		return r
	case r == 'İ' || r == 'ı':
		return 'i'
	}
	// The same for all characters that are one without case: the smallest lower-case
	// letter of them, where there is one.
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}
