package policy

import (
	"fmt"
	"strings"

	"reeve.example/reeve/internal/words"
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
	return words.Nearest(word, candidates, max(2, len(word)/3+1))
}

// didYouMean is a hint: the nearest candidate, or all of them when none is near.
func didYouMean(word string, candidates []string) string {
	if c := nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return "it is one of " + strings.Join(candidates, ", ")
}
