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
	u.asides()
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
		case c == '{' && i+1 < len(text) && strings.IndexByte("/%#:\\", text[i+1]) >= 0:
			return true
		case (i == 0 || text[i-1] == '\n') && strings.IndexByte(".*/`~%#", c) >= 0:
			if line, _, _ := strings.Cut(text[i:], "\n"); mayPlead(line) { // see asides
				return true
			}
		}
	}
	return (strings.HasPrefix(text, "---") || headed(text)) && mayPlead(text)
}

// mayPlead reports whether one of the words that ask stands in a text.
func mayPlead(text string) bool {
	for _, part := range [...]string{"lease", "LEASE", "indly", "INDLY", "itte", "ITTE"} {
		if strings.Contains(text, part) {
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
	case strings.HasPrefix(trimmed, `{\rtf`): // no JSON
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
				if r == '\r' { // of a line's end; nothing goes back in a mail
					i += 3
					continue
				}
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
// model is, it holds an order by the words of one, or a sentence of it is one.
func addresses(text string) bool {
	return says(text) && (len(Scan(text, Injection, nil)) > 0 || speechOf(text) != 0)
}

// pleads reports whether a text asks its reader for something in so many words. Where
// honest work has short orders of its own (what a button does, what a line of code does),
// no other is told from those.
func pleads(text string) bool {
	return says(text) && (len(Scan(text, Injection, nil)) > 0 || speechOf(text)&speaksPlea != 0)
}

// speech says what a text does to its reader.
type speech uint8

const (
	speaksModel speech = 1 << iota // it speaks of what a model is
	speaksOrder                    // a sentence, or a part of one, is an order
	speaksPlea                     // an order that asks: "please send"
)

// speechOf reads a text by its sentences. An order is a verb with which a part of one begins,
// and what it is to be done to: the verbs of an enumeration ("to use, copy, publish, sell")
// have nothing behind them but the next one. What is done to "my" accounts is ordered in the
// user's name, by verbs that mean little elsewhere.
func speechOf(text string) (said speech) {
	begins, mine := true, false // a part of a sentence; one that asks something to be done
	before, pleaded := wordKind(0), false
	var buf [16]byte
	for i := 0; i < len(text); {
		c := text[i]
		if !isAlpha(c) {
			switch c {
			case '.', '!', '?', ';', '\n':
				begins, pleaded = true, pleaded && c == '\n'
				mine = mine && (c == '\n' || c == '.' && i+1 < len(text) && isAlnum(text[i+1])) // an address goes on
			case ':':
				begins = i+1 == len(text) || text[i+1] <= ' '
			case ',', '(', '"', '*', '>':
				begins = true
			case '-', '_', '/', '\\', '@', '=', '#', '&', '$': // of a name, and no word
				if i+1 < len(text) && isAlpha(text[i+1]) && i > 0 && isAlnum(text[i-1]) {
					begins = false
				}
			}
			i++
			continue
		}
		start := i
		for i < len(text) && (isAlpha(text[i]) || text[i] == '\'') {
			i++
		}
		if i-start > len(buf) {
			begins, before = false, 0
			continue
		}
		word := buf[:i-start]
		for k := range word {
			if word[k] = text[start+k]; word[k] != '\'' {
				word[k] |= 0x20
			}
		}
		kind := kindOf[string(word)]
		switch {
		case kind&aModel != 0:
			said |= speaksModel
		case begins && kind&asks != 0 && orders(kind, text[i:]):
			if said |= speaksOrder; pleaded {
				said |= speaksPlea
			}
		case mine && kind&ofMe != 0:
			said |= speaksOrder
		}
		mine = mine || kind&pleas != 0 || begins && kind&does != 0
		pleaded = kind&pleas != 0 || pleaded && (before&pleas != 0 || kind&precedes != 0)
		begins = kind&precedes != 0 && (kind&to == 0 || before&meant != 0)
		before = kind
	}
	return said
}

// orders reports whether a verb that an order can begin with is one, by what stands behind
// it. What is asked of whoever contributes to a project ("tell us", "share your") goes to
// nobody else, unless the sentence names somebody.
func orders(verb wordKind, rest string) bool {
	object := strings.TrimLeft(rest, " \t\r\n")
	if len(object) == len(rest) || object == "" {
		return false
	}
	end := 0
	for end < len(object) && isAlpha(object[end]) {
		end++
	}
	switch next := object[:end]; next {
	case "":
		return isDigit(object[0]) || strings.IndexByte("\"'`[{<$@#*(", object[0]) >= 0 || object[0] >= utf8.RuneSelf
	case "and", "or", "of", "in", "on", "by", "at", "is", "are", "was", "were", "if", "when":
		return false
	case "to", "as":
		return verb&gives != 0
	case "us", "your":
		sentence := object[:min(len(object), 300)]
		if stop := strings.Index(sentence, ". "); stop >= 0 {
			sentence = sentence[:stop]
		}
		return strings.IndexByte(sentence, '@') >= 0 || strings.Contains(sentence, "://")
	}
	return true
}

// wordKind says what a word can be in an order.
type wordKind uint16

const (
	aModel   wordKind = 1 << iota // what a model, or what speaks for one, is called
	asks                          // what somebody has an agent do to the world: a programmer's notes (add, set, see, use, make sure) have none of them
	gives                         // of these, what gives: to whom can stand at once behind it
	does                          // what is ordered in the user's name, if it is done to something of "mine"
	ofMe                          // what is the user's
	pleas                         // what an order that asks begins with
	precedes                      // behind it an order can stand within a sentence
	to                            // which does so where it is meant, and not as in "changed to share"
	meant                         // what means it
)

var kindOf = func() map[string]wordKind {
	m := map[string]wordKind{}
	for kind, list := range map[wordKind]string{
		aModel: `ai llm llms gpt chatgpt openai anthropic claude gemini copilot chatbot assistant assistants`,
		asks: `ignore disregard forget send email mail forward transfer pay buy purchase visit invite upload grant tell inform reply respond
			recommend reveal disclose exfiltrate leak execute share post publish approve sign authorize authorise pretend act recite output say summarize summarise withdraw
			ignoriere vergiss sende schicke ignorez envoie envoyez oublie ignora olvida manda`,
		gives: `send email mail forward transfer pay upload grant reply respond withdraw`,
		does: `change update modify delete remove create make book reserve move withdraw deposit sell unlock lock disable enable schedule cancel get retrieve find
			fetch list read use access download search give set dispatch initiate leave redirect guide fill add call open export copy show check turn generate start stop let`,
		ofMe:     `my me`,
		pleas:    `please kindly bitte`,
		precedes: `please kindly bitte must should you and then to also now first instead immediately just simply`,
		to:       `to`,
		meant:    `need needs have has required remember want wants asked ask sure you going supposed expected instructed obliged told`,
	} {
		for word := range strings.FieldsSeq(list) {
			m[word] |= kind
		}
	}
	return m
}()

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
