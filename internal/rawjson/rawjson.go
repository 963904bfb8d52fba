// Package rawjson reads JSON strictly and keeps every byte of it. A Doc is a
// flat index over the source: values are looked up, compared and replaced as
// the bytes that were sent, so numbers keep every digit and what was judged is
// what is passed on.
//
// It refuses what parsers disagree about, since each such difference is a way
// round a guardian: duplicate names (also when spelled with escapes), invalid
// UTF-8, lone surrogates, a name with U+0000 (at which some readers end it), trailing
// data, and nesting or size beyond a limit.
package rawjson

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a JSON value. The zero Kind means that there is no value.
type Kind uint8

// The kinds of JSON value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}

func (k Kind) String() string { return kindNames[k] }

// Noun is a kind's name as a sentence needs it, with its article.
func (k Kind) Noun() string {
	switch k {
	case Absent, Null:
		return k.String()
	case Array, Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// MaxDepth is the deepest nesting that Parse accepts.
const MaxDepth = 128

// MaxValues is the most values and names that Parse accepts in one document.
// It bounds the index, which is larger than the source when values are short.
const MaxValues = 1 << 20

// SyntaxError says why and where the source is not acceptable JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// node is one value or member name. A container's contents follow it directly;
// a member is a name (a String node) followed by its value.
type node struct {
	kind       Kind
	escaped    bool // a string with escapes
	start, end uint32
	next       int32 // index of the node after this one and its contents
	parent     int32 // -1 for the root
	count      int32 // members or elements
}

// Doc is a parsed document. It is immutable and safe for concurrent use, and
// refers to the source, which must not change.
type Doc struct {
	src   []byte
	nodes []node
}

// Value is one value in a Doc. The zero Value is absent: every method may be
// called on it.
type Value struct {
	doc *Doc
	i   int32
}

// Root returns the document's outermost value.
func (d *Doc) Root() Value { return Value{d, 0} }

// Source returns the document's bytes.
func (d *Doc) Source() []byte { return d.src }

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Kind returns the value's type, Absent for the zero Value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.node().kind
}

// Exists reports whether there is a value; null is one.
func (v Value) Exists() bool { return v.doc != nil }

// Raw returns the value's bytes as sent, nil for the zero Value.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.src[n.start:n.end:n.end]
}

// Span returns the value's place in the source.
func (v Value) Span() (start, end int) {
	if v.doc == nil {
		return 0, 0
	}
	return int(v.node().start), int(v.node().end)
}

// Len returns the number of members or elements.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().count)
}

// Text returns a string's decoded text, and "" for other kinds.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.doc.text(v.i)
}

func (d *Doc) text(i int32) string {
	n := &d.nodes[i]
	raw := d.src[n.start+1 : n.end-1]
	if !n.escaped {
		return string(raw)
	}
	return string(appendUnescaped(nil, raw))
}

// Bool returns a boolean's value, and false for other kinds.
func (v Value) Bool() bool { return v.Kind() == Bool && v.doc.src[v.node().start] == 't' }

// Int returns a number written as a plain integer that fits an int64.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// Float returns a number as a float64, and NaN for other kinds.
func (v Value) Float() float64 {
	if v.Kind() != Number {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil { // out of range
		return math.NaN()
	}
	return f
}

// Get returns an object's member. Names are case-sensitive.
func (v Value) Get(name string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	d, n := v.doc, v.node()
	for i := v.i + 1; i < n.next; {
		if d.nameIs(i, name) {
			return Value{d, i + 1}
		}
		i = d.nodes[i+1].next
	}
	return Value{}
}

func (d *Doc) nameIs(i int32, name string) bool {
	n := &d.nodes[i]
	if !n.escaped {
		return int(n.end-n.start)-2 == len(name) && string(d.src[n.start+1:n.end-1]) == name
	}
	return d.text(i) == name
}

// Members ranges over an object's members in the order sent.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		d, end := v.doc, v.node().next
		for i := v.i + 1; i < end; i = d.nodes[i+1].next {
			if !yield(d.text(i), Value{d, i + 1}) {
				return
			}
		}
	}
}

// Elems ranges over an array's elements.
func (v Value) Elems() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		d, end := v.doc, v.node().next
		for i, k := v.i+1, 0; i < end; i, k = d.nodes[i].next, k+1 {
			if !yield(k, Value{d, i}) {
				return
			}
		}
	}
}

// Strings ranges over every string value at or below v, member names excluded.
func (v Value) Strings() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.doc == nil {
			return
		}
		d, end := v.doc, v.node().next
		for i := v.i; i < end; i++ {
			if d.nodes[i].kind == String && !d.isName(i) && !yield(Value{d, i}) {
				return
			}
		}
	}
}

// isName reports whether node i is a member's name: names and values alternate,
// and a name's parent is an object while its next is its value.
func (d *Doc) isName(i int32) bool { return d.nodes[i].count < 0 }

// Pointer returns the value's JSON Pointer (RFC 6901) from the root.
func (v Value) Pointer() string {
	if v.doc == nil || v.i == 0 {
		return ""
	}
	d := v.doc
	p := d.nodes[v.i].parent
	prefix := Value{d, p}.Pointer()
	if d.nodes[p].kind == Object {
		return prefix + "/" + EscapePointer(d.text(v.i-1))
	}
	k := 0
	for i := p + 1; i != v.i; i = d.nodes[i].next {
		k++
	}
	return prefix + "/" + strconv.Itoa(k)
}

// EscapePointer escapes a member name for use in a JSON Pointer.
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return pointerEscapes.Replace(name)
}

// UnescapePointer is the member name that a JSON Pointer's token stands for.
func UnescapePointer(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return pointerUnescapes.Replace(token)
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// At finds the value at a JSON Pointer; the zero Value when there is none.
func (d *Doc) At(pointer string) Value {
	c := Cursor{Doc: d}
	return c.At(pointer)
}

// Cursor finds many values by their JSON Pointers. It remembers where it was in
// each container, so that pointers in the order of the document cost no more
// than one walk through it.
type Cursor struct {
	Doc    *Doc
	places map[int32]place // by container; nil until a large one is met
}

// place is a member's or element's number and node within a container.
type place struct{ number, node int32 }

// largeContainer is from how many members or elements on places are remembered.
const largeContainer = 32

// At finds the value at a JSON Pointer; the zero Value when there is none.
func (c *Cursor) At(pointer string) Value {
	v := c.Doc.Root()
	if pointer == "" {
		return v
	}
	if pointer[0] != '/' {
		return Value{}
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch v.Kind() {
		case Object:
			v = c.member(v, UnescapePointer(token))
		case Array:
			k, err := strconv.Atoi(token)
			if err != nil || k < 0 || k >= v.Len() || token != strconv.Itoa(k) {
				return Value{}
			}
			v = c.element(v, int32(k))
		default:
			return Value{}
		}
	}
	return v
}

func (c *Cursor) remember(container Value, p place) {
	if c.places == nil {
		c.places = map[int32]place{}
	}
	c.places[container.i] = p
}

func (c *Cursor) element(v Value, k int32) Value {
	p := place{0, v.i + 1}
	if v.Len() > largeContainer {
		if last, ok := c.places[v.i]; ok && last.number <= k {
			p = last
		}
	}
	for ; p.number < k; p.number++ {
		p.node = c.Doc.nodes[p.node].next
	}
	if v.Len() > largeContainer {
		c.remember(v, p)
	}
	return Value{c.Doc, p.node}
}

func (c *Cursor) member(v Value, name string) Value {
	if v.Len() <= largeContainer {
		return v.Get(name)
	}
	d, first, end := c.Doc, v.i+1, v.node().next
	from := first
	if last, ok := c.places[v.i]; ok {
		from = last.node
	}
	for i := from; i < end; i = d.nodes[i+1].next {
		if d.nameIs(i, name) {
			c.remember(v, place{node: i})
			return Value{d, i + 1}
		}
	}
	for i := first; i < from; i = d.nodes[i+1].next {
		if d.nameIs(i, name) {
			c.remember(v, place{node: i})
			return Value{d, i + 1}
		}
	}
	return Value{}
}

// Replacement puts With in the place of the value At.
type Replacement struct {
	At   Value
	With []byte // raw JSON
}

// Splice returns the source with values replaced and every other byte kept.
// Replacements must not overlap; they may come in any order.
func (d *Doc) Splice(reps []Replacement) ([]byte, error) {
	sorted := slices.Clone(reps)
	slices.SortFunc(sorted, func(a, b Replacement) int { return int(a.At.i) - int(b.At.i) })
	out := make([]byte, 0, len(d.src)+64)
	pos := 0
	for _, r := range sorted {
		start, end := r.At.Span()
		if start < pos {
			return nil, fmt.Errorf("rawjson: overlapping replacements at %s", r.At.Pointer())
		}
		out = append(out, d.src[pos:start]...)
		out = append(out, r.With...)
		pos = end
	}
	return append(out, d.src[pos:]...), nil
}

// AppendCanonical appends the value with names sorted (by bytes), no spaces,
// strings in one spelling, and every number token as sent. Two values have the
// same canonical form exactly when no reader could tell them apart, numbers
// being compared by their spelling.
func (v Value) AppendCanonical(dst []byte) []byte {
	switch v.Kind() {
	case Object:
		type member struct {
			name string
			v    Value
		}
		ms := make([]member, 0, v.Len())
		for name, m := range v.Members() {
			ms = append(ms, member{name, m})
		}
		slices.SortFunc(ms, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, m := range ms {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, m.name)
			dst = append(dst, ':')
			dst = m.v.AppendCanonical(dst)
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendCanonical(dst)
		}
		return append(dst, ']')
	case String:
		if !v.node().escaped {
			return append(dst, v.Raw()...)
		}
		return AppendString(dst, v.Text())
	default:
		return append(dst, v.Raw()...)
	}
}

const hexDigits = "0123456789abcdef"

// Is reports whether v is the string s, without a copy unless v has escapes.
func (v Value) Is(s string) bool {
	raw := v.Raw()
	if len(raw) == len(s)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == s {
		return true
	}
	return v.Kind() == String && bytes.IndexByte(raw, '\\') >= 0 && v.Text() == s
}

// AppendStrings appends a JSON array of strings.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// AppendString appends s as a JSON string with the fewest escapes. Invalid
// UTF-8 becomes U+FFFD.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+4, len(s))]))
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, "\ufffd"...)
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Quote returns s as a JSON string.
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }

// Equal reports whether two values have the same canonical form.
func Equal(a, b Value) bool {
	return bytes.Equal(a.AppendCanonical(nil), b.AppendCanonical(nil))
}
