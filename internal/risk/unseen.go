package risk

import (
	"strings"
	"unicode/utf8"
)

// Unseen looks for words that a person who looks at a page, a mail or a terminal does
// not see and a model reads all the same: elements that a style or an attribute hides,
// comments, what stands in attributes, what a terminal is told to conceal, to take
// back or to keep for itself. It does not ask what the words say where they stand in
// something that only hides (a style); where much honest work puts notes (comments,
// templates, texts in the place of images), they count when they address a reader.
//
// It is a pass of its own, in time linear in the text, and nothing where the text has
// no mark-up and no control characters.
func (s *scanner) unseen() {
	if !mayHide(s.text) {
		return
	}
	u := &unseen{view: viewOf(s.text), out: s.out}
	u.privateUse()
	u.terminal()
	if strings.IndexByte(u.view.text, '<') >= 0 {
		u.markup()
	}
	u.markdown()
	s.out = u.out
}

// The weights of what is not seen: what surely hides words, and what may be a note.
const (
	unseenWeight = 0.7
	noteWeight   = 0.3
)

// unseenName is what its notice says: [invisible text removed].
const unseenName = "invisible text"

// unseen is what is known while one text is looked at.
type unseen struct {
	view view
	out  []Finding
}

// hide notes a part of the view.
func (u *unseen) hide(code string, start, end int, weight float64) {
	if start, end = u.view.place(start), u.view.place(end); start < end {
		u.out = append(u.out, Finding{Unseen, code, unseenName, start, end, weight})
	}
}

// mayHide reports whether a text has any of what can hide words.
func mayHide(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0x1b, c == '\b', c == 0x7f, c == 0xee, c == 0xef && i+1 < len(text) && text[i+1] <= 0xa3, c >= 0xf3:
			return true
		case c == '\r' && i+1 < len(text) && text[i+1] != '\n':
			return true
		case c == 0xc2 && i+1 < len(text) && (text[i+1] == 0x9b || text[i+1] == 0x9d): // CSI and OSC in one character
			return true
		case c == '<' && i+1 < len(text) && (text[i+1] == '!' || text[i+1] == '?' || text[i+1] == '/' || isAlpha(text[i+1])):
			return true
		case c == '\\' && i+1 < len(text) && (text[i+1] == 'u' || text[i+1] == 'x' || text[i+1] == 'b' || text[i+1] == 'r'):
			return true
		case c == ']' && i+1 < len(text) && (text[i+1] == ':' || text[i+1] == '('):
			return true
		}
	}
	return false
}

// A view is a text as whoever shows it reads it: JSON's escapes, and those of
// quoted-printable mail, are undone in it.
type view struct {
	text string
	from []int32 // where each byte came from, and the end; nil where nothing was undone
}

// place is where a byte of the view stands in the text.
func (v view) place(i int) int {
	if v.from == nil {
		return i
	}
	return int(v.from[i])
}

func viewOf(text string) view {
	switch trimmed := strings.TrimLeft(text, " \t\r\n"); {
	case (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, `"`)) && strings.IndexByte(text, '\\') >= 0:
		return unescaped(text)
	case strings.Contains(text, `=3D`) && (strings.Contains(text, "=\n") || strings.Contains(text, "=\r\n") || strings.Contains(text, `=3D"`)):
		return unprinted(text)
	}
	return view{text: text}
}

// unescaped undoes the escapes of JSON: a page often comes as a string in a document.
func unescaped(text string) view {
	out := make([]byte, 0, len(text))
	from := make([]int32, 0, len(text)+1)
	put := func(b []byte, at int) {
		for _, c := range b {
			out, from = append(out, c), append(from, int32(at))
		}
	}
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			put([]byte{text[i]}, i)
			i++
			continue
		}
		switch c := text[i+1]; c {
		case 'n', 't', 'r', 'b', 'f':
			put([]byte{"\n\t\r\b\f"[strings.IndexByte("ntrbf", c)]}, i)
			i += 2
		case 'u':
			r, ok := hexRune(text, i+2, 4)
			if !ok {
				put([]byte{text[i]}, i)
				i++
				continue
			}
			put(utf8.AppendRune(nil, r), i)
			i += 6
		case '"', '\\', '/':
			put([]byte{c}, i)
			i += 2
		default:
			put([]byte{text[i]}, i)
			i++
		}
	}
	return view{string(out), append(from, int32(len(text)))}
}

// unprinted undoes quoted-printable.
func unprinted(text string) view {
	out := make([]byte, 0, len(text))
	from := make([]int32, 0, len(text)+1)
	for i := 0; i < len(text); {
		if text[i] == '=' {
			rest := text[i+1:]
			if strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r\n") {
				i += 2 + strings.IndexByte(rest, '\n')
				continue
			}
			if r, ok := hexRune(text, i+1, 2); ok {
				out, from = append(out, byte(r)), append(from, int32(i))
				i += 3
				continue
			}
		}
		out, from = append(out, text[i]), append(from, int32(i))
		i++
	}
	return view{string(out), append(from, int32(len(text)))}
}

// hexRune reads n hexadecimal digits.
func hexRune(text string, at, n int) (r rune, ok bool) {
	if at+n > len(text) {
		return 0, false
	}
	for _, c := range []byte(text[at : at+n]) {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// leastWords is how many words in a row make a text that says something.
const leastWords = 4

// Words in the order in which they stand, with only what stands between the words of a
// sentence between them. Code and lists of names have few in a row.
//
// says reports whether a text says something: whether it has so many words in a row,
// those of scripts without spaces counted by their characters.
func says(text string) bool {
	row, word := 0, 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			i += size
			switch {
			case r >= 0x2e80 && r < 0xa000, r >= 0xac00 && r < 0xd7b0, r >= 0xf900 && r < 0xfb00, r >= 0x0e00 && r < 0x1000:
				if word++; word%2 == 0 { // two characters are about a word
					row++
				}
			case r == 0xa0 || r >= 0x2000 && r <= 0x200a || r == 0x3000:
				if word >= 2 {
					row++
				}
				word = 0
			case r >= 0xc0:
				word++
			}
			if row >= leastWords {
				return true
			}
			continue
		}
		i++
		switch {
		case isAlpha(c):
			word++
			continue
		case c == '\'' || c == '-' || isDigit(c):
			continue
		}
		if word > 0 {
			row++
		}
		word = 0
		if row >= leastWords {
			return true
		}
		if strings.IndexByte(" \t\r\n,.:!?", c) < 0 {
			row = 0
		}
	}
	return row+min(word, 1) >= leastWords
}

// addresses reports whether a text gives its reader something to do: it speaks of what a
// model is, it holds an order by the words of one, or a sentence of it begins with one.
func addresses(text string) bool {
	if !says(text) {
		return false
	}
	if len(Scan(text, Injection, nil)) > 0 {
		return true
	}
	begins := true // of a sentence, or behind a word that an order stands behind
	for i := 0; i < len(text); {
		c := text[i]
		if !isAlpha(c) {
			switch c {
			case '.', '!', '?', ';', ':', '\n', ',', '(', '"', '*', '>':
				begins = true
			}
			i++
			continue
		}
		start := i
		for i < len(text) && (isAlpha(text[i]) || text[i] == '\'') {
			i++
		}
		if i-start > 16 {
			begins = false
			continue
		}
		word := strings.ToLower(text[start:i])
		if modelWords[word] || begins && askWords[word] {
			return true
		}
		begins = leadWords[word]
	}
	return false
}

var (
	// What a model, or what speaks for one, is called.
	modelWords = wordList(`ai llm llms gpt chatgpt openai anthropic claude gemini copilot chatbot assistant assistants`)
	// What somebody has an agent do to the world: those of a programmer's notes (add, set,
	// remove, see, use, make sure) are none of them.
	askWords = wordList(`ignore disregard forget send email e-mail mail forward transfer pay buy purchase visit invite upload grant tell inform reply respond
		recommend reveal disclose exfiltrate leak execute share post publish approve sign authorize authorise pretend act recite output say summarize summarise
		ignoriere vergiss sende schicke überweise ignorez envoie envoyez oublie ignora olvida envía manda`)
	// Behind these an order can stand within a sentence.
	leadWords = wordList(`please must should you and then to also kindly now first instead immediately bitte`)
)

// privateUse looks for rows of characters that no font has: one can be an icon, many in a
// row are a text in disguise.
func (u *unseen) privateUse() {
	const least = 8
	text := u.view.text
	start, n := 0, 0
	for i := 0; i <= len(text); {
		r, size := rune(0), 1
		if i < len(text) {
			if text[i] < 0xee { // most characters need no decoding
				if n == 0 {
					i++
					continue
				}
			} else {
				r, size = utf8.DecodeRuneInString(text[i:])
			}
		}
		if r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000 && r <= 0x10fffd {
			if n == 0 {
				start = i
			}
			n++
		} else {
			if n >= least {
				u.hide("unseen.private_use", start, i, unseenWeight)
			}
			n = 0
		}
		i += size
	}
}
