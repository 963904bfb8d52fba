package proxy

import (
	"fmt"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// doubleArgument looks for an argument, at any depth, whose name the tool's schema
// does not define and that some programs take for one that it does: what the call
// does would depend on who reads it. nil when there is none.
func doubleArgument(schema, arguments rawjson.Value) *act.Reason {
	w := argumentWalk{root: schema, left: maxSchemaSteps}
	d := w.double(w.shape(schema), arguments, "/params/arguments")
	var r act.Reason
	switch {
	case d != nil:
		r = act.Final(toolsRule, act.CodeAmbiguous,
			fmt.Sprintf("Some programs take the argument %.80q for %q, which the tool's schema defines, and others do not.", d.Name, d.For),
			"Name the arguments as the tool's schema spells them.")
		r.Pointer = d.Pointer
	case w.left < 0:
		r = act.Final(toolsRule, act.CodeAmbiguous, "The arguments cannot be compared with the tool's schema, which is too large.", "Send fewer arguments.")
	default:
		return nil
	}
	return &r
}

// maxSchemaSteps bounds how much of a schema one call is compared with: a schema
// can refer to itself.
const maxSchemaSteps = 100_000

type argumentWalk struct {
	root rawjson.Value
	left int
}

// A shape is what a schema says of the names in one place.
type shape struct {
	defined map[string][]rawjson.Value // the schemas of each name
	folded  map[string]string          // a name as other programs compare it → the name
	others  []rawjson.Value            // of names that are not defined
	items   []rawjson.Value

	below  map[string]*shape // of the names that were met
	rest   *shape
	inside *shape
}

func (w *argumentWalk) shape(schemas ...rawjson.Value) *shape {
	s := &shape{defined: map[string][]rawjson.Value{}, folded: map[string]string{}, below: map[string]*shape{}}
	for _, v := range schemas {
		w.add(s, v, 0)
	}
	return s
}

// add adds a schema to a shape, and all those that it is put together of.
func (w *argumentWalk) add(s *shape, schema rawjson.Value, depth int) {
	if depth > 32 { // it refers to itself
		w.left = -1
	}
	if w.left--; w.left < 0 || schema.Kind() != rawjson.Object {
		return
	}
	for name, property := range schema.Get("properties").Members() {
		w.left--
		s.defined[name] = append(s.defined[name], property)
		s.folded[canon.FoldMember(name)] = name
	}
	for _, name := range [...]string{"additionalProperties", "unevaluatedProperties"} {
		if v := schema.Get(name); v.Kind() == rawjson.Object {
			s.others = append(s.others, v)
		}
	}
	for _, v := range schema.Get("patternProperties").Members() {
		s.others = append(s.others, v)
	}
	switch items := schema.Get("items"); items.Kind() {
	case rawjson.Object:
		s.items = append(s.items, items)
	case rawjson.Array: // of older versions
		for _, v := range items.Elems() {
			s.items = append(s.items, v)
		}
	}
	for _, v := range schema.Get("prefixItems").Elems() {
		s.items = append(s.items, v)
	}
	for _, name := range [...]string{"allOf", "anyOf", "oneOf"} {
		for _, v := range schema.Get(name).Elems() {
			w.add(s, v, depth+1)
		}
	}
	for _, name := range [...]string{"if", "then", "else"} {
		w.add(s, schema.Get(name), depth+1)
	}
	if pointer, ok := strings.CutPrefix(schema.Get("$ref").Text(), "#"); ok {
		w.add(s, w.at(pointer), depth+1)
	}
}

// at is what stands in the whole schema at a pointer.
func (w *argumentWalk) at(pointer string) rawjson.Value {
	v := w.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		if v.Kind() == rawjson.Array {
			list := v
			v = rawjson.Value{}
			for i, e := range list.Elems() {
				if token == itoa(i) {
					v = e
				}
			}
			continue
		}
		v = v.Get(rawjson.UnescapePointer(token))
	}
	return v
}

func (w *argumentWalk) double(s *shape, v rawjson.Value, pointer string) *content.Double {
	switch v.Kind() {
	case rawjson.Array:
		if s.items == nil {
			return nil
		}
		if s.inside == nil {
			s.inside = w.shape(s.items...)
		}
		for i, e := range v.Elems() {
			if d := w.double(s.inside, e, content.Index(pointer, i)); d != nil {
				return d
			}
		}
	case rawjson.Object:
		for name, member := range v.Members() {
			schemas, ok := s.defined[name]
			if !ok {
				if is, ok := s.folded[canon.FoldMember(name)]; ok {
					return &content.Double{Pointer: pointer, Name: name, For: is}
				}
			}
			if member.Kind() != rawjson.Object && member.Kind() != rawjson.Array {
				continue
			}
			below := s.rest
			switch {
			case ok:
				if below = s.below[name]; below == nil {
					below = w.shape(schemas...)
					s.below[name] = below
				}
			case s.others == nil:
				continue
			case below == nil:
				below = w.shape(s.others...)
				s.rest = below
			}
			if d := w.double(below, member, content.Join(pointer, name)); d != nil {
				return d
			}
		}
	}
	return nil
}
