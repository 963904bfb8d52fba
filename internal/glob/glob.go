// Package glob matches names with patterns, as policies, manifests and lists of hosts
// write them.
package glob

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether a pattern matches the whole of a name: * stands for any
// characters, ? for one, and everything else for itself. It goes back only to the last *,
// so that its time is bounded by the product of the two lengths.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // where to go back to: after the last *, and what it has eaten
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(name[n:])
			p, n = p+1, n+size
		case p < len(pattern) && pattern[p] == name[n]:
			p, n = p+1, n+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(name[mark:])
			mark += size
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
