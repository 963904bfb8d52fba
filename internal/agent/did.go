package agent

import (
	"strconv"
	"strings"
)

// IsDID reports whether a text is a decentralized identifier: did:METHOD:ID, in which
// every character can be seen.
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
			if _, err := escaped(id[i:]); err != nil {
				return false
			}
			i += 2
		case (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("._-:", c) < 0:
			return false
		}
	}
	return true
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
