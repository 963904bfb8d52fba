// Package words does to short texts what many rooms need: it finds the word that was
// probably meant, reads lengths of time, and cuts what is too long to be shown or kept.
package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Nearest is the candidate that is fewest edits away from a word, and fewer than a
// limit; "" for none. Letters' cases do not count.
func Nearest(word string, candidates []string, limit int) string {
	best := ""
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < limit {
			best, limit = c, d
		}
	}
	return best
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

// Cut is the beginning of a text that has more bytes than most, in whole characters.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Shorten is a text of at most so many bytes, for a sentence: what is cut ends with an
// ellipsis, and is valid.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Count is a number of things, for a sentence: "1 record", "2 records".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
