package a2g

import (
	"fmt"
	"math"
	"strings"

	"reeve.example/reeve/agent"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// invalid says which field of a request is wrong, why, and what was expected.
type invalid struct{ field, reason, expected string }

func (i *invalid) Error() string {
	return fmt.Sprintf("%s: %s Expected %s.", i.field, i.reason, i.expected)
}

// fault is what is wrong with a value.
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

// checkParams checks that a request has params as a table says.
func checkParams(r *jsonrpc.Request, t *table) *invalid {
	if r.Params.Kind() != rawjson.Object {
		reason := "The params are missing."
		if r.Params.Exists() {
			reason = "The value is " + article(r.Params.Kind()) + "."
		}
		return &invalid{"/params", reason, "an object"}
	}
	if f := t.check(r.Params); f != nil {
		return &invalid{f.pointer(r.Message), f.reason, f.expected}
	}
	return nil
}

// check compares an object with its table and returns the first fault, in the
// table's order.
func (t *table) check(v rawjson.Value) *fault {
	if v.Kind() != rawjson.Object {
		return wrong(v, "an object")
	}
	for i := range t.fields {
		f := &t.fields[i]
		m := v.Get(f.name)
		if m.Kind() == rawjson.Null && f.flags&optional != 0 {
			continue
		}
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
	return nil
}

// check compares a field's value, or each element of a list, with its row.
func (f *field) check(v rawjson.Value) *fault {
	if f.flags&list == 0 {
		return f.checkOne(v)
	}
	if v.Kind() != rawjson.Array {
		return wrong(v, f.expected())
	}
	if v.Len() > maxList {
		return &fault{v, "", fmt.Sprintf("The array has %d elements.", v.Len()), f.expected()}
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
		return f.checkText(v)
	case number:
		if kind != rawjson.Number {
			return wrong(v, f.one())
		}
		if x := v.Float(); math.IsNaN(x) || x < 0 {
			return &fault{v, "", "The number is below zero or out of range.", f.one()}
		}
	case record:
		if kind != rawjson.Object {
			return wrong(v, f.one())
		}
	case timestamp:
		if kind != rawjson.String && kind != rawjson.Number {
			return wrong(v, f.one())
		}
	}
	return nil
}

func (f *field) checkText(v rawjson.Value) *fault {
	if f.words == nil && f.max == 0 {
		if f.flags&filled != 0 && len(v.Raw()) == 2 {
			return &fault{v, "", "The string is empty.", f.one()}
		}
		return nil
	}
	text := v.Text()
	switch {
	case f.flags&filled != 0 && text == "":
		return &fault{v, "", "The string is empty.", f.one()}
	case f.max > 0 && len(text) > f.max:
		return &fault{v, "", fmt.Sprintf("The string has %d bytes.", len(text)), f.one()}
	}
	if f.flags&did != 0 && !agent.IsDID(text) {
		return &fault{v, "", "The string is no DID.", f.one()}
	}
	for _, w := range f.words {
		if text == w {
			return nil
		}
	}
	if f.words != nil {
		return &fault{v, "", "The value is none of those allowed.", f.one()}
	}
	return nil
}

// wrong is the fault of a value of the wrong type.
func wrong(v rawjson.Value, expected string) *fault {
	return &fault{v, "", "The value is " + article(v.Kind()) + ".", expected}
}

func article(kind rawjson.Kind) string {
	switch kind {
	case rawjson.Null, rawjson.Absent:
		return kind.String()
	case rawjson.Array, rawjson.Object:
		return "an " + kind.String()
	}
	return "a " + kind.String()
}

// one describes what one value of the field must be.
func (f *field) one() string {
	switch f.typ {
	case number:
		return "a number that is not below zero"
	case record, object:
		return "an object"
	case anything:
		return "any JSON value"
	case timestamp:
		return "milliseconds since 1970, as a string of digits"
	}
	if f.words != nil {
		return "one of the strings " + strings.Join(f.words, ", ")
	}
	s := "a string"
	switch {
	case f.flags&did != 0:
		s = fmt.Sprintf("a DID of at most %d bytes, such as did:aeon:desk", f.max)
	case f.flags&filled != 0 && f.max > 0:
		s = fmt.Sprintf("a string of 1 to %d bytes", f.max)
	case f.flags&filled != 0:
		s = "a string that is not empty"
	case f.max > 0:
		s = fmt.Sprintf("a string of at most %d bytes", f.max)
	}
	return s
}

// expected describes what the field must be.
func (f *field) expected() string {
	s := f.one()
	if f.flags&list != 0 {
		s = fmt.Sprintf("an array of at most %d elements, each %s", maxList, s)
	}
	if f.flags&optional != 0 {
		s += ", or null"
	}
	return s
}
