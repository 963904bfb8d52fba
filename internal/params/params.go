// Package params checks the params of a request against tables: what a protocol's
// text says of its objects, as data. The first fault, in the table's order, is named
// with its JSON Pointer and with what was expected.
package params

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// Fault says which field of a request is wrong, why, and what was expected.
type Fault struct {
	Field    string // its JSON Pointer
	Reason   string // a sentence
	Expected string // "a string", for example
}

// Wrong returns a Fault.
func Wrong(field, reason, expected string) *Fault { return &Fault{field, reason, expected} }

func (f *Fault) Error() string {
	return fmt.Sprintf("%s: %s Expected %s.", f.Field, f.Reason, f.Expected)
}

// AppendMembers appends a fault as the members of an object.
func (f *Fault) AppendMembers(b []byte) []byte {
	b = rawjson.AppendString(append(b, `"field":`...), f.Field)
	b = rawjson.AppendString(append(b, `,"reason":`...), f.Reason)
	return rawjson.AppendString(append(b, `,"expected":`...), f.Expected)
}

// Flags say more about a field.
type Flags uint8

const (
	Optional Flags = 1 << iota // may be absent
	Nullable                   // null stands for the value
	List                       // an array of values of the type
	Filled                     // a string that is not empty
	Some                       // a list with at least one element
)

// Field is one row of a table.
type Field struct {
	Name  string
	Type  *Type // nil means String, or where there is a Table, the object that it describes
	Flags Flags
	Max   int      // of a string: the most bytes that its text may have; of a list: of each element; 0 for any
	Most  int      // of a list: the most elements; 0 for any
	Words []string // the allowed values of a string; nil for any
	Table *Table
}

// Type is the type of a field's value.
type Type struct {
	Kinds []rawjson.Kind // nil for any
	Is    string         // what a value is, in words
	// Check returns a sentence for a value of those kinds that is none of the type,
	// else an empty string; nil for every one is.
	Check func(v rawjson.Value) string
}

// The types of JSON. Protocols have types of their own beside them.
var (
	String    = &Type{Kinds: []rawjson.Kind{rawjson.String}, Is: "a string"}
	Boolean   = &Type{Kinds: []rawjson.Kind{rawjson.Bool}, Is: "true or false"}
	Record    = &Type{Kinds: []rawjson.Kind{rawjson.Object}, Is: "an object"} // with any members
	Structure = &Type{Kinds: []rawjson.Kind{rawjson.Object, rawjson.Array}, Is: "an object or an array"}
	Anything  = &Type{Is: "any JSON value"} // null included
	Integer   = &Type{Kinds: []rawjson.Kind{rawjson.Number}, Is: "an integer, without fraction or exponent", Check: func(v rawjson.Value) string {
		if bytes.ContainsAny(v.Raw(), ".eE") {
			return "The number has a fraction or an exponent."
		}
		return ""
	}}
)

func (t *Type) has(k rawjson.Kind) bool {
	for _, kind := range t.Kinds {
		if k == kind {
			return true
		}
	}
	return t.Kinds == nil
}

// Table is the description of one object. An object with a tag is a union: the
// member named by the tag tells which of the variants holds. Members that a table
// does not name are tolerated.
type Table struct {
	Name     string // as the specification calls it; empty for no name
	Fields   []Field
	Tag      string
	Variants []Variant
	// Either names two members of which exactly one must be there.
	Either [2]string
	// Exact refuses members that are none of the table's, and that some readers take for one of
	// them (canon.FoldMember): here and in the tables below.
	Exact bool

	names  []string          // of the fields; filled in by Prepare
	folded map[string]string // the names as such readers compare them
}

// Variant is the table that holds for a word of the tag.
type Variant struct {
	Word  string
	Table *Table
}

// maxFields is the largest number of fields in a table.
const maxFields = 12

// Prepare makes tables, and those below them, ready for Check.
func Prepare(tables ...*Table) {
	for _, t := range tables {
		if t.names != nil {
			continue
		}
		if len(t.Fields) > maxFields {
			panic("params: the table " + t.Name + " has more fields than maxFields")
		}
		t.names, t.folded = make([]string, len(t.Fields)), map[string]string{}
		for i := range t.Fields {
			f := &t.Fields[i]
			t.names[i], t.folded[canon.FoldMember(f.Name)] = f.Name, f.Name
			if f.Table != nil {
				f.Table.Exact = f.Table.Exact || t.Exact
				Prepare(f.Table)
			} else if f.Type == nil {
				f.Type = String
			}
		}
		for _, v := range t.Variants {
			v.Table.Exact = v.Table.Exact || t.Exact
			Prepare(v.Table)
		}
	}
}

// Check compares an object with its table, which is prepared. request is what the
// pointer of a fault starts at: the request's root, also within a batch.
func (t *Table) Check(v, request rawjson.Value) *Fault {
	f := t.check(v)
	if f == nil {
		return nil
	}
	field := f.at.Pointer()[len(request.Pointer()):]
	if f.member != "" {
		field += "/" + rawjson.EscapePointer(f.member)
	}
	return &Fault{field, f.reason, f.expected}
}

// Object refuses params that are no object.
func Object(v rawjson.Value) *Fault {
	switch v.Kind() {
	case rawjson.Object:
		return nil
	case rawjson.Absent:
		return Wrong("/params", "The params are missing.", "an object")
	}
	return Wrong("/params", "The value is "+v.Kind().Noun()+".", "an object")
}

// fault is a Fault before its pointer is made.
type fault struct {
	at       rawjson.Value // the value, or the object that lacks a member
	member   string        // the member that is missing, or ""
	reason   string
	expected string
}

// ofType is the fault of a value of the wrong type.
func ofType(v rawjson.Value, expected string) *fault {
	return &fault{v, "", "The value is " + v.Kind().Noun() + ".", expected}
}

const missing = "The field is required, and it is missing."

func (t *Table) check(v rawjson.Value) *fault {
	if v.Kind() != rawjson.Object {
		return ofType(v, t.one())
	}
	if t.Tag != "" {
		variant, f := t.variant(v)
		if f != nil {
			return f
		}
		return variant.check(v)
	}
	var picked [maxFields]rawjson.Value
	members := picked[:len(t.Fields)]
	v.Pick(t.names, members)
	for i, m := range members {
		f := &t.Fields[i]
		if !m.Exists() {
			if f.Flags&Optional == 0 {
				return &fault{v, f.Name, missing, f.expected()}
			}
			continue
		}
		if fault := f.check(m); fault != nil {
			return fault
		}
	}
	if t.Exact {
		if f := t.double(v); f != nil {
			return f
		}
	}
	if t.Either[0] != "" {
		a, b := v.Get(t.Either[0]), v.Get(t.Either[1])
		expected := "either " + t.Either[0] + " or " + t.Either[1]
		if !a.Exists() && !b.Exists() {
			return &fault{v, "", "It has neither " + t.Either[0] + " nor " + t.Either[1] + ".", expected}
		}
		if a.Exists() && b.Exists() {
			return &fault{v, "", "It has both " + t.Either[0] + " and " + t.Either[1] + ", and which of them counts cannot be known.", expected}
		}
	}
	return nil
}

// double is the fault of a member that is none of the table's, and is taken for one.
func (t *Table) double(v rawjson.Value) *fault {
	for name, m := range v.Members() {
		if slices.Contains(t.names, name) {
			continue
		}
		if is, ok := t.folded[canon.FoldMember(name)]; ok {
			return &fault{m, "", "Some readers take this member for " + is + ", and others do not: which of them counts cannot be known.", is + ", or another name"}
		}
	}
	return nil
}

// variant finds the table that a union's tag names.
func (t *Table) variant(v rawjson.Value) (*Table, *fault) {
	tag := v.Get(t.Tag)
	words := make([]string, 0, 4)
	for _, variant := range t.Variants {
		if tag.Is(variant.Word) {
			return variant.Table, nil
		}
		words = append(words, variant.Word)
	}
	field := Field{Type: String, Words: words}
	if !tag.Exists() {
		return nil, &fault{v, t.Tag, missing, field.expected()}
	}
	return nil, field.checkOne(tag)
}

// check compares a field's value, or each element of a list, with its row.
func (f *Field) check(v rawjson.Value) *fault {
	if f.Flags&Nullable != 0 && v.Kind() == rawjson.Null {
		return nil
	}
	if f.Flags&List == 0 {
		return f.checkOne(v)
	}
	switch n := v.Len(); {
	case v.Kind() != rawjson.Array:
		return ofType(v, f.expected())
	case n == 0 && f.Flags&Some != 0:
		return &fault{v, "", "The array is empty.", f.expected()}
	case f.Most > 0 && n > f.Most:
		return &fault{v, "", fmt.Sprintf("The array has %d elements.", n), f.expected()}
	}
	for _, e := range v.Elems() {
		if fault := f.checkOne(e); fault != nil {
			return fault
		}
	}
	return nil
}

func (f *Field) checkOne(v rawjson.Value) *fault {
	if f.Table != nil {
		return f.Table.check(v)
	}
	if !f.Type.has(v.Kind()) {
		return ofType(v, f.one())
	}
	if v.Kind() == rawjson.String {
		if f.Flags&Filled != 0 && len(v.Raw()) == 2 {
			return &fault{v, "", "The string is empty.", f.one()}
		}
		if f.Max > 0 && len(v.Raw()) > f.Max { // not shorter than the text
			if n := len(v.Text()); n > f.Max {
				return &fault{v, "", fmt.Sprintf("The string has %d bytes.", n), f.one()}
			}
		}
	}
	if f.Type.Check != nil {
		if reason := f.Type.Check(v); reason != "" {
			return &fault{v, "", reason, f.one()}
		}
	}
	for _, w := range f.Words {
		if v.Is(w) {
			return nil
		}
	}
	if f.Words != nil {
		return &fault{v, "", "The value is none of those allowed.", f.one()}
	}
	return nil
}

func (t *Table) one() string {
	if t.Name == "" {
		return Record.Is
	}
	return "an object of type " + t.Name
}

// one describes what one value of the field must be.
func (f *Field) one() string {
	switch {
	case f.Table != nil:
		return f.Table.one()
	case len(f.Words) == 1:
		return `the string "` + f.Words[0] + `"`
	case f.Words != nil:
		return "one of the strings " + strings.Join(f.Words, ", ")
	case f.Type != String:
		return f.Type.Is
	case f.Flags&Filled != 0 && f.Max > 0:
		return fmt.Sprintf("a string of 1 to %d bytes", f.Max)
	case f.Flags&Filled != 0:
		return "a string that is not empty"
	case f.Max > 0:
		return fmt.Sprintf("a string of at most %d bytes", f.Max)
	}
	return String.Is
}

// expected describes what the field must be.
func (f *Field) expected() string {
	s := f.one()
	if f.Flags&List != 0 {
		switch {
		case f.Most > 0:
			s = fmt.Sprintf("an array of at most %d elements, each %s", f.Most, s)
		case f.Table != nil && f.Table.Name != "":
			s = "an array of " + f.Table.Name
		default:
			s = "an array, each element " + s
		}
		if f.Flags&Some != 0 {
			s += " with at least one element"
		}
	}
	if f.Flags&Nullable != 0 {
		s += ", or null"
	}
	return s
}
