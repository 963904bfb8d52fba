package aos

import (
	"bytes"
	"strings"

	"reeve.example/reeve/internal/rawjson"
)

// fault is what is wrong with a request.
type fault struct {
	at       rawjson.Value // the value, or the object that lacks a member
	member   string        // the member that is missing, or ""
	reason   string
	expected string
}

// pointer is the JSON Pointer of the faulty field from the request's root, also
// for a request within a batch.
func (f *fault) pointer(request rawjson.Value) string {
	p := f.at.Pointer()[len(request.Pointer()):]
	if f.member != "" {
		p += "/" + rawjson.EscapePointer(f.member)
	}
	return p
}

// check compares an object with its table and returns the first fault, in the
// table's order.
func (t *table) check(v rawjson.Value) *fault {
	if v.Kind() != rawjson.Object {
		return wrong(v, "an object of type "+t.name)
	}
	if t.tag != "" {
		tag := v.Get(t.tag)
		variant, f := t.variant(v, tag)
		if f != nil {
			return f
		}
		return variant.check(v)
	}
	var picked [maxFields]rawjson.Value
	members := picked[:len(t.fields)]
	v.Pick(t.names, members)
	for i, m := range members {
		f := &t.fields[i]
		if !m.Exists() {
			if f.flags&optional == 0 {
				return &fault{v, f.name, "The field is required, and it is missing.", f.expected()}
			}
			continue
		}
		if fault := f.check(m); fault != nil {
			return fault
		}
	}
	if t.either[0] != "" {
		a, b := v.Get(t.either[0]), v.Get(t.either[1])
		expected := "either " + t.either[0] + " or " + t.either[1]
		if !a.Exists() && !b.Exists() {
			return &fault{v, "", "It has neither " + t.either[0] + " nor " + t.either[1] + ".", expected}
		}
		if a.Exists() && b.Exists() {
			return &fault{v, "", "It has both " + t.either[0] + " and " + t.either[1] + ", and which of them counts cannot be known.", expected}
		}
	}
	return nil
}

// variant finds the table that a union's tag names.
func (t *table) variant(v, tag rawjson.Value) (*table, *fault) {
	for _, variant := range t.variants {
		if textIs(tag, variant.word) {
			return variant.table, nil
		}
	}
	allowed := make([]string, len(t.variants))
	for i, variant := range t.variants {
		allowed[i] = variant.word
	}
	tagField := field{name: t.tag, words: allowed}
	if !tag.Exists() {
		return nil, &fault{v, t.tag, "The field is required, and it is missing.", tagField.expected()}
	}
	return nil, tagField.checkOne(tag)
}

// textIs reports whether v is the string s, without a copy unless v has escapes.
func textIs(v rawjson.Value, s string) bool {
	raw := v.Raw()
	if len(raw) == len(s)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == s {
		return true
	}
	return v.Kind() == rawjson.String && bytes.IndexByte(raw, '\\') >= 0 && v.Text() == s
}

// check compares a field's value, or each element of a list, with its row.
func (f *field) check(v rawjson.Value) *fault {
	if f.flags&nullable != 0 && v.Kind() == rawjson.Null {
		return nil
	}
	if f.flags&list == 0 {
		return f.checkOne(v)
	}
	if v.Kind() != rawjson.Array {
		return wrong(v, f.expected())
	}
	if f.flags&filled != 0 && v.Len() == 0 {
		return &fault{v, "", "The array is empty.", f.expected()}
	}
	for _, e := range v.Elems() {
		if fault := f.checkOne(e); fault != nil {
			return fault
		}
	}
	return nil
}

func (f *field) checkOne(v rawjson.Value) *fault {
	kind := v.Kind()
	switch f.typ {
	case object:
		return f.table.check(v)
	case str:
		if kind != rawjson.String {
			return wrong(v, f.one())
		}
		if f.flags&(filled|list) == filled && len(v.Raw()) == 2 {
			return &fault{v, "", "The string is empty.", f.one()}
		}
		if f.words == nil {
			return nil
		}
		for _, w := range f.words {
			if textIs(v, w) {
				return nil
			}
		}
		return &fault{v, "", "The value is none of those allowed.", f.one()}
	case integer:
		if kind != rawjson.Number {
			return wrong(v, f.one())
		}
		if bytes.ContainsAny(v.Raw(), ".eE") {
			return &fault{v, "", "The number has a fraction or an exponent.", f.one()}
		}
	case boolean:
		if kind != rawjson.Bool {
			return wrong(v, f.one())
		}
	case record:
		if kind != rawjson.Object {
			return wrong(v, f.one())
		}
	case structure:
		if kind != rawjson.Object && kind != rawjson.Array {
			return wrong(v, f.one())
		}
	case timestamp:
		if kind != rawjson.String {
			return wrong(v, f.one())
		}
		if _, _, reason := parseTime(v.Text()); reason != "" {
			return &fault{v, "", reason, f.one()}
		}
	case base64Text:
		if kind != rawjson.String {
			return wrong(v, f.one())
		}
		if !isBase64(v) {
			return &fault{v, "", "The string is not Base64.", f.one()}
		}
	}
	return nil
}

// wrong is the fault of a value of the wrong type.
func wrong(v rawjson.Value, expected string) *fault {
	reason := "The value is " + article(v.Kind().String()) + "."
	return &fault{v, "", reason, expected}
}

func article(kind string) string {
	switch kind {
	case "null", "nothing":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// one describes what one value of the field must be.
func (f *field) one() string {
	switch f.typ {
	case integer:
		return "an integer, without fraction or exponent"
	case boolean:
		return "true or false"
	case record:
		return "an object"
	case structure:
		return "an object or an array"
	case anything:
		return "any JSON value"
	case timestamp:
		return "a date and time in ISO 8601, such as 2026-04-02T08:15:00Z"
	case base64Text:
		return "a string in Base64 (RFC 4648, section 4, with padding)"
	case object:
		return "an object of type " + f.table.name
	}
	switch len(f.words) {
	case 0:
		if f.flags&(filled|list) == filled {
			return "a string that is not empty"
		}
		return "a string"
	case 1:
		return `the string "` + f.words[0] + `"`
	}
	return "one of the strings " + strings.Join(f.words, ", ")
}

// expected describes what the field must be.
func (f *field) expected() string {
	s := f.one()
	if f.flags&list != 0 {
		switch {
		case f.typ == object:
			s = "an array of " + f.table.name
		default:
			s = "an array, each element " + s
		}
		if f.flags&filled != 0 {
			s += " with at least one element"
		}
	}
	if f.flags&nullable != 0 {
		s += ", or null"
	}
	return s
}

// base64Value gives the value of each byte of the alphabet, and 255 for others.
var base64Value = func() (t [256]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range t {
		t[i] = 255
	}
	for i := range len(alphabet) {
		t[alphabet[i]] = byte(i)
	}
	return t
}()

// isBase64 reports whether a string is Base64 as RFC 4648 section 4 has it:
// whole groups of four, padded, no line breaks, no bits left over. It makes no
// copy, since files can be large.
func isBase64(v rawjson.Value) bool {
	raw := v.Raw()
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') >= 0 { // some encoders write / as \/
		s = []byte(v.Text())
	}
	if len(s)%4 != 0 {
		return false
	}
	if len(s) == 0 {
		return true
	}
	var bad byte
	for _, c := range s[:len(s)-2] {
		bad |= base64Value[c] & 0xc0
	}
	a, b := s[len(s)-2], s[len(s)-1]
	switch {
	case bad != 0:
		return false
	case a == '=' && b == '=':
		return base64Value[s[len(s)-3]]&0x0f == 0
	case b == '=':
		return base64Value[a] < 64 && base64Value[a]&0x03 == 0
	}
	return base64Value[a] < 64 && base64Value[b] < 64
}
