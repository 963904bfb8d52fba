package hazard

import "strings"

// measure tells how much of a script a parser has to descend into: the bytes that
// are neither white space, comments nor plain quoted text, and what may nest in
// them. Long texts that a script only hands on (here-documents, quoted strings)
// and comments cost a parser time in proportion to their length, and no stack.
//
// Where it cannot be sure to see quotes as the parser does, all of the text counts.
func measure(text string) (code, nests int) {
	code, nests, sure := codeOf(text)
	if !sure {
		return len(text) - strings.Count(text, " "), openers(text)
	}
	return code, nests
}

// codeOf reads a script's quotes, comments and here-documents. sure is false for
// what is seldom written and changes how quotes are read.
func codeOf(text string) (code, nests int, sure bool) {
	var pending []hereDocument
	start, word := 0, false // of the code that is not counted yet; a word goes on
	count := func(to int) {
		nests += openers(text[start:to])
	}
	i := 0
	for i < len(text) {
		c := text[i]
		switch {
		case c == '\\':
			code += 2
			i += 2
			word = true
			continue
		case c == '\'' || c == '"':
			count(i)
			end, substitutes := quoted(text, i, 0)
			if end < 0 {
				return 0, 0, false
			}
			if substitutes { // what stands in them counts
				code += end - i
				nests += openers(text[i:end])
			}
			code += 2
			i, start, word = end, end, true
			continue
		case c == '#' && !word:
			count(i)
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return code, nests, true
			}
			i += end
			start = i
			continue
		case strings.HasPrefix(text[i:], "${"):
			end := plainParameter(text, i)
			if end < 0 {
				return 0, 0, false
			}
			code += end - i
			i, word = end, true
			continue
		case c == '`', c == '$' && i+1 < len(text) && strings.IndexByte("'\"[", text[i+1]) >= 0, strings.HasPrefix(text[i:], "(("):
			return 0, 0, false
		case strings.HasPrefix(text[i:], "<<<"):
			code, i, word = code+3, i+3, false
			continue
		case strings.HasPrefix(text[i:], "<<"):
			h, end, ok := hereDocumentAt(text, i+2)
			if !ok {
				return 0, 0, false
			}
			pending = append(pending, h)
			code, i, word = code+end-i, end, true
			continue
		case c == '\n' && len(pending) > 0:
			count(i)
			i++
			for _, h := range pending {
				end := h.end(text, i)
				if body := text[i:end]; !h.plain && strings.ContainsAny(body, "$`") {
					code += len(body)
					nests += openers(body)
				}
				i = end
			}
			pending, start, word = nil, i, false
			continue
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			word = false
		case strings.IndexByte(";&|()<>", c) >= 0:
			code++
			word = false
		default:
			code++
			word = true
		}
		i++
	}
	count(min(i, len(text)))
	return code, nests, true
}

// quoted returns the end of the quoted text at i, or -1, and whether something is
// substituted in it.
func quoted(text string, i, depth int) (end int, substitutes bool) {
	if text[i] == '\'' {
		n := strings.IndexByte(text[i+1:], '\'')
		if n < 0 {
			return -1, false
		}
		return i + n + 2, false
	}
	for k := i + 1; k < len(text); {
		switch {
		case text[k] == '\\':
			k += 2
		case text[k] == '"':
			return k + 1, substitutes
		case text[k] == '`':
			return -1, false
		case strings.HasPrefix(text[k:], "${"):
			if k = plainParameter(text, k); k < 0 {
				return -1, false
			}
		case strings.HasPrefix(text[k:], "$("):
			substitutes = true
			if k = substitution(text, k+2, depth+1); k < 0 {
				return -1, false
			}
		default:
			k++
		}
	}
	return -1, false
}

// plainParameter returns the end of a ${name}, possibly with an operator and a plain
// word, or -1.
func plainParameter(text string, i int) int {
	n := strings.IndexByte(text[i:], '}')
	if n < 0 || n > 200 || strings.ContainsAny(text[i+2:i+n], "\"'`\\${\n") {
		return -1
	}
	return i + n + 1
}

// substitution returns the end of a $( whose inside begins at i, or -1 where it
// holds more than words, quotes and brackets.
func substitution(text string, i, depth int) int {
	if depth > 20 {
		return -1
	}
	for open := 1; i < len(text); {
		switch c := text[i]; {
		case c == '\\':
			i += 2
		case c == '\'' || c == '"':
			if i, _ = quoted(text, i, depth); i < 0 {
				return -1
			}
		case c == '`', c == '#', strings.HasPrefix(text[i:], "<<"), strings.HasPrefix(text[i:], "case "), c == '$' && i+1 < len(text) && strings.IndexByte("{'\"[", text[i+1]) >= 0:
			return -1
		case c == '(':
			open++
			i++
		case c == ')':
			i++
			if open--; open == 0 {
				return i
			}
		default:
			i++
		}
	}
	return -1
}

// hereDocument is one that a line announced.
type hereDocument struct {
	delimiter string
	tabs      bool // before its lines are left out
	plain     bool // nothing in it is substituted
}

// hereDocumentAt reads what stands behind <<.
func hereDocumentAt(text string, i int) (h hereDocument, end int, ok bool) {
	if i < len(text) && text[i] == '-' {
		h.tabs = true
		i++
	}
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i < len(text) && (text[i] == '\'' || text[i] == '"') {
		n := strings.IndexByte(text[i+1:], text[i])
		if n <= 0 {
			return h, 0, false
		}
		h.delimiter, h.plain = text[i+1:i+1+n], true
		i += n + 2
	} else {
		start := i
		for i < len(text) && (isName(text[i:i+1]) || text[i] >= '0' && text[i] <= '9' || text[i] == '-' || text[i] == '.') {
			i++
		}
		h.delimiter = text[start:i]
	}
	// Anything that goes on is a spelling that is better not guessed at.
	follows := i == len(text) || strings.IndexByte(" \t\n;&|)<>", text[i]) >= 0
	return h, i, h.delimiter != "" && follows && !strings.ContainsAny(h.delimiter, "\n\\$`")
}

// end returns where a here-document that begins at i ends, behind its last line.
func (h hereDocument) end(text string, i int) int {
	for i < len(text) {
		line, next := text[i:], len(text)
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], i+n+1
		}
		if h.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		if line == h.delimiter {
			return next - min(1, next-i-len(line)) // the line's end is code again
		}
		i = next
	}
	return len(text)
}
