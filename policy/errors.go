package policy

import (
	"fmt"
	"strings"
)

// Error is one fault of a policy document: where it is, what is wrong, and
// what would be right.
type Error struct {
	File    string
	Line    int // from 1; 0 when the fault has no place in the file
	Column  int // from 1, in characters
	Message string
	Hint    string // how to mend it, or empty
}

// Error gives the fault as "file:line:column: message (hint)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// ErrorList is every fault that was found, in the order of files and lines.
type ErrorList []*Error

// Error gives one fault a line.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// maxErrors is how many faults a load reports; one more says that it stopped.
const maxErrors = 100

// nearest returns the candidate that word was probably meant to be, or "".
func nearest(word string, candidates []string) string {
	best, bestAt := "", max(2, len(word)/3+1)
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// didYouMean is a hint: the nearest candidate, or all of them when none is near.
func didYouMean(word string, candidates []string) string {
	if c := nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return "it is one of " + strings.Join(candidates, ", ")
}

// distance is the number of edits between two words: letters put in, left
// out, changed, or two neighbours swapped.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
