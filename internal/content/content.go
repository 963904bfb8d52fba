// Package content gathers the texts of an act, each with its JSON Pointer: what
// detectors read and edits change. It bounds them, since a short request can
// name a great many of them at a great depth.
package content

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reeve/act"
	"reeve/internal/rawjson"
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

// Add adds a string; other kinds of value, and strings that are empty, are left out.
// leaf says everything but the text.
func (s *Set) Add(v rawjson.Value, leaf act.Leaf) {
	if v.Kind() != rawjson.String || len(v.Raw()) == 2 {
		return
	}
	leaf.Text = v.Text()
	s.add(leaf)
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
// their MIME type or by their look. A string that is not Base64 is added as it is.
func (s *Set) AddFile(v rawjson.Value, mimeType string, leaf act.Leaf) {
	if v.Kind() != rawjson.String || len(v.Raw()) == 2 {
		return
	}
	text := v.Text()
	file, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		leaf.Text = text
	case isText(mimeType, file):
		leaf.Text, leaf.Base64 = string(file), true
	default:
		return
	}
	s.add(leaf)
}

// AddAll adds every string at or below v, which leaf.Pointer points at, and
// every number that is long enough for a card's, except the members that skip (when not nil) says are no content: it is given a
// member's name and value.
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
			if holdsText(m) && (skip == nil || !skip(name, m)) {
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

// isText reports whether a file is text that detectors should read.
func isText(mimeType string, file []byte) bool {
	mimeType, _, _ = strings.Cut(strings.ToLower(mimeType), ";")
	mimeType = strings.TrimSpace(mimeType)
	if strings.HasPrefix(mimeType, "text/") || strings.HasSuffix(mimeType, "+json") || strings.HasSuffix(mimeType, "+xml") {
		return true
	}
	switch mimeType {
	case "application/json", "application/xml", "application/yaml", "application/toml", "application/javascript",
		"application/sql", "application/x-sh", "application/x-ndjson", "application/x-www-form-urlencoded", "application/x-pem-file":
		return true
	}
	for _, c := range file {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b {
			return false
		}
	}
	return utf8.Valid(file)
}

// Word reports whether v is a short plain word, as protocols use for the kinds,
// roles and ids of their objects. Anything longer or with spaces may be text
// that somebody hid in such a place, and is read as text.
func Word(v rawjson.Value) bool {
	const longest = 64
	if v.Kind() != rawjson.String || len(v.Raw()) > 6*longest+2 {
		return false
	}
	word := v.Raw()[1 : len(v.Raw())-1]
	if bytes.IndexByte(word, '\\') >= 0 {
		word = []byte(v.Text())
	}
	for _, c := range word {
		switch {
		case c-'a' < 26, c-'A' < 26, c-'0' < 10, strings.IndexByte("._-/+:", c) >= 0:
		default:
			return false
		}
	}
	return len(word) <= longest
}

// AppendWithout appends an object in its canonical form without the named
// members, and any other value whole.
func AppendWithout(dst []byte, v rawjson.Value, without ...string) []byte {
	if v.Kind() != rawjson.Object {
		if !v.Exists() {
			return append(dst, "null"...)
		}
		return v.AppendCanonical(dst)
	}
	type member struct {
		name string
		v    rawjson.Value
	}
	members := make([]member, 0, v.Len())
	for name, m := range v.Members() {
		if !slices.Contains(without, name) {
			members = append(members, member{name, m})
		}
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, m.name)
		dst = append(dst, ':')
		dst = m.v.AppendCanonical(dst)
	}
	return append(dst, '}')
}

// Beside reports whether a member of a JSON-RPC message is none of the message's
// own, but stands beside them: what AOS adds when the message itself is its params.
func Beside(message rawjson.Value, name string) bool {
	return (name == "context" || name == "reasoning") && message.Get("jsonrpc").Exists()
}
