package agent

import (
	"strconv"
	"strings"
)

// IsDID reports whether a text is a decentralized identifier: did:METHOD:ID, in which
// every character can be seen. What can stand there as it is is not escaped, and escapes
// are in upper case: each DID has one spelling, but for what its method makes of letters.
func IsDID(s string) bool {
	rest, ok := strings.CutPrefix(s, "did:")
	method, id, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 || method == "" || id == "" || strings.HasSuffix(id, ":") || len(s) > MaxDID {
		return false
	}
	for i := range len(method) {
		if c := method[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c == '%':
			if d, err := escaped(id[i:]); err != nil || plain(d) || id[i:i+3] != strings.ToUpper(id[i:i+3]) {
				return false
			}
			i += 2
		case !plain(c) && c != ':':
			return false
		}
	}
	return true
}

// plain reports whether a character of a DID stands for itself.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0
}

// escaped reads the %XX that a text begins with.
func escaped(s string) (byte, error) {
	if len(s) < 3 {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(n), err
}

// Fold gives the spellings of one DID one form: who is barred is barred under each of
// them. It is no name: methods may tell upper from lower case.
func Fold(did string) string {
	b := make([]byte, 0, len(did))
	for i := 0; i < len(did); i++ {
		c := did[i]
		if c == '%' {
			if d, err := escaped(did[i:]); err == nil {
				c, i = d, i+2
			}
		}
		b = append(b, c)
	}
	return strings.ToLower(string(b))
}
