package risk

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Own is a detector that a policy brings along: a form, what its digits must come to, and
// words that stand beside it. It is one of MaxOwn, each with a bit of Detector.
type Own struct {
	Bit     Detector
	Name    string         // as rules name it
	Says    string         // what its notice says is removed
	Pattern *regexp.Regexp // of its first group, where it has one, else all of it
	Checks  []func(value string) bool
	Near    []string // words in lower case, of which one must stand within Within bytes
	Within  int
	Weight  float64
}

// MaxOwn is how many detectors of their own the policies of a set can have.
const MaxOwn = 48

// firstOwn is the bit of the first.
const firstOwn Detector = 1 << 16

// OwnBit is the bit of the nth detector of a policy, from 0.
func OwnBit(n int) Detector { return firstOwn << n }

// maxOwnFound is how many findings of one of them in a text are told.
const maxOwnFound = 10_000

// owns looks for what the policy's detectors find.
func (s *scanner) owns(own []Own) {
	low := ""
	for i := range own {
		o := &own[i]
		if s.want&o.Bit == 0 {
			continue
		}
		if o.Near != nil {
			if low == "" {
				low = lowerASCII(s.text)
			}
			if !anyIn(low, o.Near) {
				continue
			}
		}
		for _, m := range o.Pattern.FindAllStringSubmatchIndex(s.text, maxOwnFound) {
			start, end := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				start, end = m[2], m[3]
			}
			if o.passes(s.text[start:end]) && (o.Near == nil || o.beside(low, m[0], m[1])) {
				s.add(o.Bit, o.Name, o.Says, start, end, o.Weight)
			}
		}
	}
}

func (o *Own) passes(value string) bool {
	return !slices.ContainsFunc(o.Checks, func(check func(string) bool) bool { return !check(value) })
}

// beside reports whether one of the words stands near a place, as a word.
func (o *Own) beside(low string, start, end int) bool {
	from, to := max(0, start-o.Within), min(len(low), end+o.Within)
	for from > 0 && !utf8.RuneStart(low[from]) {
		from--
	}
	for to < len(low) && !utf8.RuneStart(low[to]) {
		to++
	}
	around := low[from:to]
	for _, word := range o.Near {
		for at := 0; ; {
			i := strings.Index(around[at:], word)
			if i < 0 {
				break
			}
			i += at
			at = i + 1
			before, after := i == 0 && from == 0 || i > 0 && !isAlnum(around[i-1]), i+len(word) == len(around) || !isAlnum(around[i+len(word)])
			if i == 0 && from > 0 {
				before = !isAlnum(low[from-1])
			}
			if before && after {
				return true
			}
		}
	}
	return false
}

// Checks are what the characters of a value must come to, by their names in policies.
// What parts the groups of a number does not count.
var Checks = map[string]func(value string) bool{
	"luhn":     luhnValue,
	"mod97":    func(v string) bool { return mod97(compact(v)) },
	"iban":     func(v string) bool { v = compact(v); return len(v) > 4 && mod97(v[4:]+v[:4]) },
	"mod11":    mod11,
	"verhoeff": verhoeff,
}

// compact is a value's letters, in upper case, and digits.
func compact(v string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, v)
}

// luhnValue is ISO/IEC 7812: every second digit from the right doubled.
func luhnValue(v string) bool {
	sum, n := 0, 0
	for _, c := range slices.Backward([]byte(compact(v))) {
		if !isDigit(c) {
			return false
		}
		d := int(c - '0')
		if n++; n%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return n > 1 && sum%10 == 0
}

// mod97 is ISO 7064: read as a number, in which A is 10, it leaves 1.
func mod97(v string) bool {
	rest := 0
	for _, c := range []byte(v) {
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return len(v) > 2 && rest == 1
}

// mod11 weighs digits by their places from the right; an X at the end is ten.
func mod11(v string) bool {
	v = compact(v)
	sum := 0
	for i, c := range []byte(v) {
		d := int(c - '0')
		if c == 'X' && i == len(v)-1 {
			d = 10
		} else if !isDigit(c) {
			return false
		}
		sum += d * (len(v) - i) % 11
	}
	return len(v) > 1 && sum%11 == 0
}

// verhoeff is the check of the dihedral group of ten.
func verhoeff(v string) bool {
	permute := [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
	multiply := func(a, b int) int {
		switch {
		case a < 5 && b < 5:
			return (a + b) % 5
		case a < 5:
			return 5 + (a+b)%5
		case b < 5:
			return 5 + (a-b+5)%5
		}
		return (a - b + 5) % 5
	}
	c, n := 0, 0
	for _, d := range slices.Backward([]byte(compact(v))) {
		if !isDigit(d) {
			return false
		}
		c = multiply(c, int(permute[n%8][d-'0']-'0'))
		n++
	}
	return n > 1 && c == 0
}

// Detectors are the built-in detectors, in the order of their bits.
var Detectors = []struct{ Name, Finds string }{
	{"secret", "keys and tokens of the common providers, private keys, passwords"},
	{"pii.card", "payment card numbers, by their check digit"},
	{"pii.ssn", "US social security numbers"},
	{"pii.iban", "bank accounts, by their check digits"},
	{"pii.email", "e-mail addresses"},
	{"pii.phone", "phone numbers"},
	{"hidden", "characters that people cannot see: zero width, direction changes, tag characters"},
	{"injection", "instructions to the agent, where only data should be"},
	{"unseen", "words that a page, a mail or a terminal does not show"},
}
