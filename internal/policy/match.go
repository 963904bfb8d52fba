package policy

import (
	"strings"
	"unicode/utf8"
)

// matchPath matches a path against a glob in which * and ? do not cross a
// slash and ** does; "a/**/b" is also "a/b", and "**/b" also "b".
//
// It keeps, for each length of the path, whether the glob so far matches that
// much of it, so that its time is the product of the two lengths, whatever the
// stars.
func matchPath(glob, path string) bool {
	row := make([]bool, len(path)+1, 128)
	row[0] = true
	for first := true; glob != ""; first = false {
		switch {
		case strings.HasPrefix(glob, "/**/"):
			glob = glob[4:]
			before, below := row[0], false // below: a slash matched further left
			row[0] = false
			for p := 1; p <= len(path); p++ {
				slash := path[p-1] == '/'
				hit := before && slash
				before = row[p]
				row[p] = hit || slash && below
				below = below || hit
			}
		case first && strings.HasPrefix(glob, "**/"):
			glob = glob[3:]
			for p := 1; p <= len(path); p++ {
				row[p] = path[p-1] == '/'
			}
		case strings.HasPrefix(glob, "**"):
			glob = glob[2:]
			for p := 1; p <= len(path); p++ {
				row[p] = row[p] || row[p-1]
			}
		case glob[0] == '*':
			glob = glob[1:]
			for p := 1; p <= len(path); p++ {
				row[p] = row[p] || row[p-1] && path[p-1] != '/'
			}
		case glob[0] == '?':
			glob = glob[1:]
			for p := len(path); p > 0; p-- {
				_, size := utf8.DecodeLastRuneInString(path[:p])
				row[p] = row[p-size] && path[p-1] != '/'
			}
			row[0] = false
		default:
			for p := len(path); p > 0; p-- {
				row[p] = row[p-1] && path[p-1] == glob[0]
			}
			row[0] = false
			glob = glob[1:]
		}
	}
	return row[len(path)]
}
