// Package content reads an act out of a message, for every door alike: its
// arguments, its digest, and its texts, each with its JSON Pointer, which detectors
// read and edits change. It bounds them, since a short request can name a great many
// of them at a great depth.
package content

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// Bounds of one act's content. An act beyond them must be refused, since part
// of it would pass unread.
const (
	MaxLeaves   = 100_000
	MaxPointers = 16 << 20 // bytes of all pointers together
)

// Set is the content gathered so far. The zero Set is empty and ready.
type Set struct {
	Leaves []act.Leaf
	// Full says that the act has more content than the bounds allow.
	Full bool

	pointers int
}

// Add adds a string, and what a data: URI holds; other kinds of value, and
// strings that are empty, are left out. leaf says everything but the text.
func (s *Set) Add(v rawjson.Value, leaf act.Leaf) {
	if v.Kind() != rawjson.String || len(v.Raw()) == 2 {
		return
	}
	leaf.Text = v.Text()
	s.add(leaf)
	if mimeType, file, ok := dataURI(leaf.Text); ok {
		leaf.Fixed = true
		s.addFile(file, mimeType, leaf)
	}
}

// AddFixed adds a string that no edit may change, such as an id or a tool's
// name, unless it is a plain word.
func (s *Set) AddFixed(v rawjson.Value, leaf act.Leaf) {
	if v.Kind() == rawjson.String && !Word(v) {
		leaf.Fixed = true
		s.Add(v, leaf)
	}
}

// AddName adds the name of a member of the object that leaf points at, unless
// it is a plain name. No edit can change a name.
func (s *Set) AddName(name string, leaf act.Leaf) {
	if !PlainName(name) {
		leaf.Text, leaf.Fixed = name, true
		s.add(leaf)
	}
}

// PlainName reports whether a member's name is too plain and too short to hold anything
// that a detector looks for.
func PlainName(name string) bool { return plain(name, false) || isRandomID(name) }

// AddWord adds the name of a member of the object that leaf points at, however plain
// it is, unless AddName adds it: where a person is shown it, it says something.
func (s *Set) AddWord(name string, leaf act.Leaf) {
	if PlainName(name) {
		leaf.Text, leaf.Fixed = name, true
		s.add(leaf)
	}
}

func (s *Set) add(leaf act.Leaf) {
	s.pointers += len(leaf.Pointer)
	if len(s.Leaves) >= MaxLeaves || s.pointers > MaxPointers {
		s.Full = true
		return
	}
	s.Leaves = append(s.Leaves, leaf)
}

// AddFile adds a file's bytes, given as a Base64 string, when they are text: by
// their MIME type or by their look. A string that is not the Base64 of RFC 4648
// section 4 is added as it is, and once more as what a lenient reader makes of it.
func (s *Set) AddFile(v rawjson.Value, mimeType string, leaf act.Leaf) {
	if v.Kind() != rawjson.String || len(v.Raw()) == 2 {
		return
	}
	const keyLength = 256 // bytes at most of a key that happens to be Base64
	text := v.Text()
	leaf.File = true
	if file, err := base64.StdEncoding.DecodeString(text); err == nil {
		added := s.addFile(file, mimeType, leaf)
		if len(text) <= keyLength && !utf8.Valid(file) && !signed(file) {
			leaf.Fixed = added // which is what edits change
			s.Add(v, leaf)     // as whoever does not decode it sees it
		}
		return
	}
	s.Add(v, leaf)
	if file, ok := lenientBase64(text); ok {
		leaf.Fixed = true
		s.addFile(file, mimeType, leaf)
	}
}

// addFile adds a decoded file when it is text, and reports whether it is.
func (s *Set) addFile(file []byte, mimeType string, leaf act.Leaf) bool {
	text, wide := utf16Text(file)
	switch {
	case len(file) == 0:
		return false
	case wide:
		leaf.Text, leaf.Fixed = text, true
	case isText(mimeType, file):
		leaf.Text, leaf.Base64 = string(file), !leaf.Fixed
	default:
		return false
	}
	s.add(leaf)
	return true
}

// AddAll adds every string at or below v, which leaf.Pointer points at, every
// member's name that is more than a plain name, and every number that is long
// enough for a card's, except the members that skip (when not nil) says are no
// content: it is given a member's name and value.
func (s *Set) AddAll(v rawjson.Value, leaf act.Leaf, skip func(name string, v rawjson.Value) bool) {
	switch v.Kind() {
	case rawjson.String:
		s.Add(v, leaf)
	case rawjson.Number:
		if isLongNumber(v.Raw()) {
			leaf.Text = string(v.Raw())
			s.add(leaf)
		}
	case rawjson.Array:
		base := leaf.Pointer
		for i, e := range v.Elems() {
			if s.Full {
				return
			}
			if holdsText(e) {
				leaf.Pointer = base + "/" + strconv.Itoa(i)
				s.AddAll(e, leaf, skip)
			}
		}
	case rawjson.Object:
		base := leaf.Pointer
		for name, m := range v.Members() {
			if s.Full {
				return
			}
			if skip != nil && skip(name, m) {
				continue
			}
			leaf.Pointer = base
			s.AddName(name, leaf)
			if holdsText(m) {
				leaf.Pointer = Join(base, name)
				s.AddAll(m, leaf, skip)
			}
		}
	}
}

// holdsText spares a pointer for what cannot hold a string.
func holdsText(v rawjson.Value) bool {
	switch v.Kind() {
	case rawjson.String:
		return len(v.Raw()) > 2
	case rawjson.Number:
		return isLongNumber(v.Raw())
	case rawjson.Array, rawjson.Object:
		return v.Len() > 0
	}
	return false
}

// isLongNumber reports whether a number has the 13 to 19 digits of a card's,
// and nothing else.
func isLongNumber(raw []byte) bool {
	if len(raw) < 13 || len(raw) > 19 {
		return false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Join returns the JSON Pointer of a member.
func Join(base, name string) string { return base + "/" + rawjson.EscapePointer(name) }

// Index returns the JSON Pointer of an element.
func Index(base string, i int) string { return base + "/" + strconv.Itoa(i) }

// Word reports whether v is a short plain word, as protocols use for the kinds,
// roles and ids of their objects, a time or a MIME type: too plain and too short
// to hold anything that a detector looks for. Anything else may be text that
// somebody hid in such a place, and is read as text.
func Word(v rawjson.Value) bool {
	const longest = 64
	if v.Kind() != rawjson.String || len(v.Raw()) > 6*longest+2 {
		return false
	}
	raw := v.Raw()[1 : len(v.Raw())-1]
	if plain(raw, true) {
		return true
	}
	word := v.Text()
	return plain(word, true) || isRandomID(word) || isTime(word) || isMIME(word)
}

// IsID reports whether v is an id: a number, null, or a string in which no text
// could be told. Such ids differ when the same thing is done again, and are left
// out of digests; they are read as text all the same when they are no Word.
func IsID(v rawjson.Value) bool {
	const longest = 64
	switch v.Kind() {
	case rawjson.Number, rawjson.Null:
		return true
	case rawjson.String:
	default:
		return false
	}
	id := v.Text()
	for i := range len(id) {
		if c := id[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("._-/+:", c) < 0 {
			return false
		}
	}
	return len(id) <= longest
}

// plain reports whether a text is too short and too plain to hold anything: no
// card number or key is as short with digits in it, and no instruction is told
// in two words. path allows for "/" and "+".
func plain[T string | []byte](s T, path bool) bool {
	const (
		longest    = 40
		withDigits = 16 // bytes, when there are digits
		maxDigits  = 8
		manyWords  = 13 // bytes, when there are more than two words
	)
	if len(s) > longest {
		return false
	}
	digits, marks := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c):
		case isDigit(c):
			digits++
		case c == '$' && i == 0: // $schema
		case c == '_', i > 0 && (c == '-' || c == '.' || path && (c == '/' || c == '+')):
			marks++
		default:
			return false
		}
	}
	return (digits == 0 || digits <= maxDigits && len(s) <= withDigits) && (marks < 2 || len(s) <= manyWords)
}

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func isDigit(c byte) bool { return c-'0' < 10 }

// isRandomID reports whether s has the form of a UUID, with hyphens or without,
// or of a trace context (W3C traceparent). Detectors that read so many digits
// by chance would stop honest messages, since an id cannot be masked.
func isRandomID(s string) bool {
	switch len(s) {
	case 32:
		return isHex(s)
	case 36:
		return isHex(s[:8]) && s[8] == '-' && isHex(s[9:13]) && s[13] == '-' && isHex(s[14:18]) && s[18] == '-' && isHex(s[19:23]) && s[23] == '-' && isHex(s[24:])
	case 55:
		return isHex(s[:2]) && s[2] == '-' && isHex(s[3:35]) && s[35] == '-' && isHex(s[36:52]) && s[52] == '-' && isHex(s[53:])
	}
	return false
}

func isHex(s string) bool {
	for i := range len(s) {
		if hexValue(s[i]) > 15 {
			return false
		}
	}
	return true
}

// isMIME reports whether s is a MIME type of one of the known families.
func isMIME(s string) bool {
	family, kind, _ := strings.Cut(s, "/")
	switch family {
	case "application", "audio", "font", "image", "message", "model", "multipart", "text", "video":
		return plain(kind, false)
	}
	return false
}

// isTime reports whether s is a time in RFC 3339, to the nanosecond at most.
func isTime(s string) bool {
	const longest = len("2006-01-02T15:04:05.999999999+00:00")
	if len(s) > longest || len(s) < len("2006-01-02T15:04:05Z") || !isDigit(s[0]) {
		return false
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// Bounds of the labels that whoever says something gives it.
const (
	maxLabels = 64 // more than a session has, whose last is that it read what is foreign
	maxLabel  = 64 // bytes
)

// Foreign is the label of what may be anybody's.
const Foreign = "foreign"

// AppendLabels adds the labels in a list that others wrote, each once. Case and spaces around
// one are not told apart, and what stands there and cannot be read counts as foreign: who
// meant to warn has warned.
func AppendLabels(labels []string, list rawjson.Value) []string {
	add := func(label string) {
		if label = strings.ToLower(strings.TrimSpace(label)); label == "" || len(label) > maxLabel || len(labels) >= maxLabels-1 {
			label = Foreign
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	switch list.Kind() {
	case rawjson.Absent, rawjson.Null:
	case rawjson.Array:
		for _, v := range list.Elems() {
			switch v.Kind() {
			case rawjson.String:
				add(v.Text())
			case rawjson.Null:
			default:
				add("")
			}
		}
	default:
		add("")
	}
	return labels
}
