package acs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"unicode/utf16"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// form is what a request's signature is of: all of it but the signature, as RFC 8785 writes
// it. What the chain has of a request, its params with the signature, stands in the same
// text, which is written once.
type form struct {
	text                 []byte
	params               int // where they begin; they end before the last byte
	signature, remainder int // the member signature, and what follows on it
}

// signed is what is signed, in the parts that make it up.
func (f *form) signed() [][]byte { return [][]byte{f.text[:f.signature], f.text[f.remainder:]} }

// paramsHash is what the chain has of the request.
func (f *form) paramsHash() [sha256.Size]byte {
	return sha256.Sum256(f.text[f.params : len(f.text)-1])
}

func formOf(root rawjson.Value) (*form, error) {
	id, params := root.Get("id"), root.Get("params")
	if !id.Exists() || params.Kind() != rawjson.Object {
		return nil, errors.New("a request of ACS has an id, and params")
	}
	w := writer{b: make([]byte, 0, len(root.Raw())+64)}
	w.b = append(w.b, `{"id":`...)
	w.value(id)
	w.b = append(w.b, `,"jsonrpc":"2.0","method":`...)
	w.value(root.Get("method"))
	w.b = append(w.b, `,"params":`...)
	f := &form{params: len(w.b)}
	f.signature, f.remainder = w.object(params, "signature")
	f.text = append(w.b, '}')
	return f, w.err
}

// canonicalAnswer is the same of an answer, whose member name holds what it says.
func canonicalAnswer(id []byte, name string, holder []byte) ([]byte, error) {
	if id == nil {
		id = []byte("null")
	}
	b := append(make([]byte, 0, len(holder)+64), `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), `,"`+name+`":`...)
	doc, err := rawjson.Parse(append(append(b, holder...), '}'))
	if err != nil {
		return nil, err
	}
	w := writer{b: make([]byte, 0, len(b)+len(holder))}
	w.value(doc.Root())
	return w.b, w.err
}

// writer writes values as RFC 8785 has it.
type writer struct {
	b   []byte
	err error // of a number that no double holds
}

func (w *writer) value(v rawjson.Value) {
	switch v.Kind() {
	case rawjson.Object:
		w.object(v, "")
	case rawjson.Array:
		w.b = append(w.b, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.value(e)
		}
		w.b = append(w.b, ']')
	case rawjson.String:
		if raw := v.Raw(); bytes.IndexByte(raw, '\\') < 0 {
			w.b = append(w.b, raw...)
		} else {
			w.token(raw)
		}
	case rawjson.Number:
		if raw := v.Raw(); plainInteger(raw) {
			w.b = append(w.b, raw...)
		} else {
			w.token(raw)
		}
	default:
		w.b = append(w.b, v.Raw()...)
	}
}

// object writes an object, and returns where its member of this name stands, with the comma
// that only stands there for it. Where there is none, from and to are the same.
func (w *writer) object(v rawjson.Value, noted string) (from, to int) {
	type member struct {
		name string
		v    rawjson.Value
	}
	var few [16]member
	members := few[:0]
	for name, m := range v.Members() {
		members = append(members, member{name, m})
	}
	slices.SortFunc(members, func(a, b member) int { return byUnits(a.name, b.name) })
	w.b = append(w.b, '{')
	for i, m := range members {
		begun := len(w.b)
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.name(m.name)
		w.b = append(w.b, ':')
		w.value(m.v)
		if m.name != noted || noted == "" {
			continue
		}
		if from, to = begun, len(w.b); i == 0 && len(members) > 1 {
			to++ // the next one's comma
		}
	}
	w.b = append(w.b, '}')
	if to == 0 {
		from, to = len(w.b), len(w.b)
	}
	return from, to
}

// name writes the name of a member.
func (w *writer) name(name string) {
	at := len(w.b)
	w.b = rawjson.AppendString(w.b, name)
	if own := w.b[at:]; bytes.IndexByte(own, '\\') >= 0 {
		w.b = w.b[:at]
		w.token(bytes.Clone(own))
	}
}

// token writes a text or a number that has another form than as it was sent.
func (w *writer) token(raw []byte) {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.b = append(w.b, v...)
}

// plainInteger reports whether a number is written in its only form.
func plainInteger(raw []byte) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) > 15 || len(digits) == 0 || digits[0] == '0' && len(raw) > 1 {
		return false
	}
	return !bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
}

// byUnits orders names by their units of UTF-16, as RFC 8785 does.
func byUnits(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i] < 0xEE || b[i] < 0xEE { // by these bytes the orders are the same
				return cmp.Compare(a[i], b[i])
			}
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return cmp.Compare(len(a), len(b))
}
