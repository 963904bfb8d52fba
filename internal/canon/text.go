package canon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text is a text in the form in which texts are compared: lower case, with the
// compatibility forms of characters folded together and invisible ones removed.
// A text in that form already is returned without allocating.
func Text(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && lower[s[i]] == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	b, all := []byte(s), byte(0)
	for ; i < len(b); i++ {
		all |= b[i]
		b[i] = lower[b[i]]
	}
	if all >= utf8.RuneSelf {
		return wideText(s)
	}
	return string(b)
}

// lower maps ASCII's capitals to small letters and every other byte to itself.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

func wideText(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == 0xfdfa || c == 0xfdfb { // each stands for a sentence: a text made of them would grow eighteenfold
			return ' '
		}
		if unicode.In(c, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return c
	}, s)
	return strings.ToLower(norm.NFKC.String(s))
}
