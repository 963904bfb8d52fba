package rawjson

import "iter"

// Pick looks up several members of an object in one pass: into[i] becomes the
// member called names[i], absent when there is none. It makes no copies, and is
// fastest when the members come in the order of names. into must be as long as
// names.
func (v Value) Pick(names []string, into []Value) {
	clear(into)
	if v.Kind() != Object {
		return
	}
	d, end := v.doc, v.node().next
	next := 0 // where the name of the next member is looked for first
	for i := v.i + 1; i < end; i = d.nodes[i+1].next {
		n := &d.nodes[i]
		name := d.src[n.start+1 : n.end-1]
		if n.escaped {
			name = appendUnescaped(nil, name)
		}
		for k := range names {
			at := next + k
			if at >= len(names) {
				at -= len(names)
			}
			if names[at] == string(name) {
				into[at] = Value{d, i + 1}
				next = at + 1
				break
			}
		}
	}
}

// Others ranges over the members of an object that names does not name, in the
// order sent. It makes copies of the names of those only.
func (v Value) Others(names []string) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		d, end := v.doc, v.node().next
		for i := v.i + 1; i < end; i = d.nodes[i+1].next {
			if !d.isOneOf(i, names) && !yield(d.text(i), Value{d, i + 1}) {
				return
			}
		}
	}
}

// HasOthers reports whether an object has members that names does not name. It
// makes no copies.
func (v Value) HasOthers(names []string) bool {
	if v.Kind() != Object {
		return false
	}
	d, end := v.doc, v.node().next
	for i := v.i + 1; i < end; i = d.nodes[i+1].next {
		if !d.isOneOf(i, names) {
			return true
		}
	}
	return false
}

func (d *Doc) isOneOf(i int32, names []string) bool {
	for _, name := range names {
		if d.nameIs(i, name) {
			return true
		}
	}
	return false
}
