package risk

import "strings"

// DroppedBy begins the notice that stands in the place of what a policy dropped.
const DroppedBy = "[removed by policy: "

// Notices appends the notices of a text, each once: what masks and policies put in
// the place of something. They are told by their form. "****" counts where nothing
// joins it, so that no line of stars is one.
func Notices(text string, dst []string) []string {
	add := func(notice string) {
		for _, had := range dst {
			if had == notice {
				return
			}
		}
		dst = append(dst, notice)
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[':
			if strings.HasPrefix(text[i:], DroppedBy) {
				add(DroppedBy)
				continue
			}
			const longest = 64
			rest := text[i+1 : min(len(text), i+longest)]
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				continue
			}
			if name, ok := strings.CutSuffix(rest[:end+1], removed); ok && plainName(name) {
				add(text[i : i+end+2])
			}
		case '*':
			start := i
			for i < len(text) && text[i] == '*' {
				i++
			}
			if i-start == len(masked) && (start == 0 || text[start-1] != '/') && (i == len(text) || text[i] != '/') {
				add(masked)
			}
			i--
		}
	}
	return dst
}

// plainName reports whether a notice's name is one: words of letters and digits.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && (i == 0 || c != ' ' && c != '-') {
			return false
		}
	}
	return name != ""
}
