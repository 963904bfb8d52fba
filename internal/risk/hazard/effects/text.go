package effects

import (
	"strconv"
	"strings"
)

// Unescape undoes the escapes of printf, echo -e and $'…': \n, \x41, \101, \u0041.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if p := strings.IndexByte("abefnrtv", c); p >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v"[p])
			continue
		}
		base, most := 0, 0
		start := i
		switch {
		case c == 'x':
			base, most, start = 16, 2, i+1
		case c == 'u':
			base, most, start = 16, 4, i+1
		case c == 'U':
			base, most, start = 16, 8, i+1
		case c == '0':
			base, most = 8, 4
		case c >= '1' && c <= '7':
			base, most = 8, 3
		}
		end := start
		for end < len(s) && end-start < most && DigitOf(s[end]) < base {
			end++
		}
		n, err := strconv.ParseUint(s[start:end], base, 32)
		switch {
		case base == 0 || err != nil:
			if c != '\\' && c != '\'' && c != '"' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			continue
		case c == 'u' || c == 'U':
			b.WriteRune(rune(n))
		default:
			b.WriteByte(byte(n))
		}
		i = end - 1
	}
	return b.String()
}

// DigitOf is the value of a digit, up to 15; 99 for what is none.
func DigitOf(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}
