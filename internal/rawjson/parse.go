package rawjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Parse indexes one JSON value. The error is a *SyntaxError. The Doc keeps src.
func Parse(src []byte) (*Doc, error) {
	if len(src) > math.MaxInt32 {
		return nil, &SyntaxError{0, "document too large"}
	}
	p := parser{src: src, nodes: make([]node, 0, min(most(src), 16+len(src)/10))}
	p.space()
	if err := p.value(-1, 0); err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(src) {
		return nil, p.fail("unexpected data after the value")
	}
	return &Doc{src, p.nodes}, nil
}

// most is how many nodes a text makes at most: an element or a member after each comma and
// each opened container, a value after each name. What stands within its strings only
// raises it. Mostly texts are long and few, and a node for each tenth byte is a multiple
// of what they need.
func most(src []byte) int {
	n := 1
	for _, mark := range []byte{',', ':', '{', '['} {
		n += bytes.Count(src, []byte{mark})
	}
	return n
}

type parser struct {
	src   []byte
	pos   int
	nodes []node
}

func (p *parser) fail(reason string) error {
	if p.pos >= len(p.src) {
		return &SyntaxError{len(p.src), "unexpected end of data"}
	}
	return &SyntaxError{p.pos, reason}
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end; a NUL byte in the source is
// never valid where peek is used, so the two need no telling apart.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) open(kind Kind, parent int32) int32 {
	i := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{kind: kind, start: uint32(p.pos), parent: parent})
	return i
}

func (p *parser) shut(i int32) {
	p.nodes[i].end = uint32(p.pos)
	p.nodes[i].next = int32(len(p.nodes))
}

func (p *parser) value(parent int32, depth int) error {
	if len(p.nodes) > MaxValues {
		return p.fail("too many values")
	}
	switch c := p.peek(); {
	case c == '"':
		return p.str(parent)
	case c == '{':
		return p.object(parent, depth)
	case c == '[':
		return p.array(parent, depth)
	case c == '-' || c-'0' <= 9:
		return p.number(parent)
	case c == 't':
		return p.literal("true", Bool, parent)
	case c == 'f':
		return p.literal("false", Bool, parent)
	case c == 'n':
		return p.literal("null", Null, parent)
	}
	return p.fail("expected a value")
}

func (p *parser) literal(word string, kind Kind, parent int32) error {
	if !strings.HasPrefix(string(p.src[p.pos:min(p.pos+len(word), len(p.src))]), word) {
		return p.fail("expected a value")
	}
	i := p.open(kind, parent)
	p.pos += len(word)
	p.shut(i)
	return nil
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos]-'0' <= 9 {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number(parent int32) error {
	i := p.open(Number, parent)
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return p.fail("expected a digit")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return p.fail("expected a digit after the decimal point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return p.fail("expected a digit in the exponent")
		}
	}
	p.shut(i)
	return nil
}

func (p *parser) array(parent int32, depth int) error {
	if depth++; depth > MaxDepth {
		return p.fail("nesting too deep")
	}
	i := p.open(Array, parent)
	p.pos++
	p.space()
	if p.peek() == ']' {
		p.pos++
		p.shut(i)
		return nil
	}
	for count := int32(1); ; count++ {
		if err := p.value(i, depth); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case ']':
			p.pos++
			p.nodes[i].count = count
			p.shut(i)
			return nil
		default:
			return p.fail("expected ',' or ']'")
		}
	}
}

func (p *parser) object(parent int32, depth int) error {
	if depth++; depth > MaxDepth {
		return p.fail("nesting too deep")
	}
	i := p.open(Object, parent)
	p.pos++
	p.space()
	if p.peek() == '}' {
		p.pos++
		p.shut(i)
		return nil
	}
	var seen nameSet // names so far, once there are many
	for count := int32(1); ; count++ {
		if p.peek() != '"' {
			return p.fail("expected a name")
		}
		at, name := p.pos, int32(len(p.nodes))
		if err := p.str(i); err != nil {
			return err
		}
		p.nodes[name].count = -1 // marks a name: see isName
		if p.nodes[name].escaped && p.hasNull(name) {
			p.pos = at
			return p.fail("U+0000 in a name")
		}
		if p.repeated(i, name, count, &seen) {
			p.pos = at
			return p.fail("duplicate name" + p.shown(name))
		}
		p.space()
		if p.peek() != ':' {
			return p.fail("expected ':'")
		}
		p.pos++
		p.space()
		if err := p.value(i, depth); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case '}':
			p.pos++
			p.nodes[i].count = count
			p.shut(i)
			return nil
		default:
			return p.fail("expected ',' or '}'")
		}
	}
}

// shown is a name for an error message, if it is short enough to help.
func (p *parser) shown(name int32) string {
	const longest = 80
	raw := p.src[p.nodes[name].start:p.nodes[name].end]
	if len(raw) > longest {
		return ""
	}
	return " " + string(raw)
}

// hasNull reports whether a name holds U+0000, at which some readers end it: it would
// be another name to them.
func (p *parser) hasNull(name int32) bool {
	d := Doc{p.src, p.nodes}
	return bytes.IndexByte(d.name(name), 0) >= 0
}

// repeated reports whether the name at node name stands already in object obj,
// of which it is the count-th. Small objects are compared pairwise; a hash
// table keeps large ones from costing the square of their size.
func (p *parser) repeated(obj, name, count int32, seen *nameSet) bool {
	d := Doc{p.src, p.nodes}
	if count > 16 {
		if seen.slots == nil {
			seen.grow(&d, 64)
			for i := obj + 1; i != name; i = p.nodes[i+1].next {
				seen.add(&d, i)
			}
		}
		return !seen.add(&d, name)
	}
	n := &p.nodes[name]
	for i := obj + 1; i != name; i = p.nodes[i+1].next {
		o := &p.nodes[i]
		switch {
		case n.escaped || o.escaped:
			if d.text(i) == d.text(name) {
				return true
			}
		case n.end-n.start == o.end-o.start && string(p.src[o.start:o.end]) == string(p.src[n.start:n.end]):
			return true
		}
	}
	return false
}

// nameSet is a hash table of names, by their nodes: four bytes a slot, so that
// an object of very many names costs little more than its index. Its seed is
// secret, so nobody can choose names that collide.
type nameSet struct {
	seed  maphash.Seed
	slots []int32 // nodes, 0 for none (node 0 is no name); a power of two
	used  int
}

// add adds a name and reports whether it is new.
func (s *nameSet) add(d *Doc, name int32) bool {
	if 4*s.used >= 3*len(s.slots) {
		s.grow(d, 2*len(s.slots))
	}
	raw := d.name(name)
	for at := maphash.Bytes(s.seed, raw); ; at++ {
		slot := &s.slots[at&uint64(len(s.slots)-1)]
		if *slot == 0 {
			*slot = name
			s.used++
			return true
		}
		if string(d.name(*slot)) == string(raw) {
			return false
		}
	}
}

func (s *nameSet) grow(d *Doc, size int) {
	if s.slots == nil {
		s.seed = maphash.MakeSeed()
	}
	old := s.slots
	s.slots, s.used = make([]int32, size), 0
	for _, name := range old {
		if name != 0 {
			s.add(d, name)
		}
	}
}

// name returns a member name's decoded bytes, which must not be changed.
func (d *Doc) name(i int32) []byte {
	n := &d.nodes[i]
	raw := d.src[n.start+1 : n.end-1]
	if n.escaped {
		raw = appendUnescaped(nil, raw)
	}
	return raw
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return
}()

func (p *parser) str(parent int32) error {
	i := p.open(String, parent)
	pos := p.pos + 1
	for {
		for pos+8 <= len(p.src) && plain8(binary.LittleEndian.Uint64(p.src[pos:])) {
			pos += 8
		}
		for pos < len(p.src) && plain[p.src[pos]] {
			pos++
		}
		p.pos = pos
		if pos >= len(p.src) {
			return p.fail("")
		}
		switch c := p.src[pos]; {
		case c == '"':
			p.pos++
			p.shut(i)
			return nil
		case c == '\\':
			p.nodes[i].escaped = true
			if err := p.escape(); err != nil {
				return err
			}
			pos = p.pos
		case c < 0x20:
			return p.fail("control character in a string")
		default:
			r, size := utf8.DecodeRune(p.src[pos:])
			if r == utf8.RuneError && size == 1 {
				return p.fail("invalid UTF-8")
			}
			pos += size
		}
	}
}

// plain8 reports whether eight bytes all stand for themselves in a string. It
// may say no wrongly (a borrow can cross bytes), never yes.
func plain8(x uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	return (x|(x-0x20*ones)|((x^'"'*ones)-ones)|((x^'\\'*ones)-ones))&high == 0
}

func (p *parser) escape() error {
	if p.pos+1 >= len(p.src) {
		p.pos = len(p.src)
		return p.fail("")
	}
	switch p.src[p.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return nil
	case 'u':
		r, ok := hex4(p.src[p.pos+2:])
		if !ok {
			return p.fail("invalid escape")
		}
		if !utf16.IsSurrogate(r) {
			p.pos += 6
			return nil
		}
		rest := p.src[p.pos+6:]
		if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			if low, ok := hex4(rest[2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				p.pos += 12
				return nil
			}
		}
		return p.fail("lone surrogate")
	}
	return p.fail("invalid escape")
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		case c-'A' <= 5:
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendUnescaped appends the text of a string's validated inside.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		switch c := raw[i+1]; c {
		case 'u':
			r, _ := hex4(raw[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw[i+2:])
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}
