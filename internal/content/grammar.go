package content

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// A Grammar is the names that a protocol gives the members of its objects, by the
// kind of object. It knows which names two readers would understand in two ways: a
// reader that folds case, as those of several languages do, takes "Method" or
// "ſize" for a member that reeve does not see.
type Grammar map[string]*kind

type kind struct {
	members map[string]string // → the kind of object that the member is or holds; empty for none
	folded  map[string]string // a name as such readers compare it → the name
	others  map[string]string // a name → the other one that the protocol has for the same
}

// NewGrammar reads a grammar: by the kind of object, its members, each a name,
// or a name, a colon, and the kind of the object that it is, or of those that a
// list holds. Behind "*" stands the kind of each member of an object with names of
// its own, and behind "@" the member beside which an object is one of the protocol.
// Two names that are spelled with and without "_" are two for the same.
func NewGrammar(kinds map[string]string) Grammar {
	g := Grammar{}
	for name, members := range kinds {
		k := &kind{map[string]string{}, map[string]string{}, map[string]string{}}
		for word := range strings.FieldsSeq(members) {
			member, of, _ := strings.Cut(word, ":")
			k.members[member] = of
			if other := k.folded[canon.FoldMember(member)]; other != "" && other != member {
				k.others[member], k.others[other] = other, member
			}
			k.folded[canon.FoldMember(member)] = member
		}
		g[name] = k
	}
	return g
}

// A Double is a member's name that is another for some readers.
type Double struct {
	Pointer string // of the object that has it
	What    string // what it names, where that is no member
	Name    string
	For     string // the name that they take it for
}

func (d *Double) String() string {
	return fmt.Sprintf("Some readers take the %s %.80q for %q, and others do not.", cmp.Or(d.What, "member"), d.Name, d.For)
}

// Refusal is why such a message is refused: nobody can say what it would do.
func (d *Double) Refusal() act.Reason {
	r := act.Final("message", act.CodeAmbiguous, d.String()+" What the message does would depend on who reads it.",
		"Name what is the protocol's as it spells it.")
	r.Pointer = d.Pointer
	return r
}

// Double looks for such a name in v, an object of a kind, whose JSON Pointer is
// base, and in all objects of the protocol below it; nil when there is none. What
// the protocol does not define is not looked into. The members named in beside
// are none of the object's own.
func (g Grammar) Double(v rawjson.Value, kind, base string, beside ...string) *Double {
	k := g[kind]
	for name, member := range v.Members() {
		of, known := k.members[name]
		if !known {
			if is := k.folded[canon.FoldMember(name)]; is != "" && !slices.Contains(beside, name) {
				return &Double{Pointer: base, Name: name, For: is}
			}
			continue
		}
		if other := k.others[name]; other != "" && v.Get(other).Exists() {
			return &Double{Pointer: base, Name: name, For: other}
		}
		if of == "" || member.Kind() != rawjson.Object && member.Kind() != rawjson.Array {
			continue
		}
		pointer := Join(base, name)
		if each, ok := strings.CutPrefix(of, "*"); ok {
			for name, m := range member.Members() {
				if d := g.Double(m, each, Join(pointer, name)); d != nil {
					return d
				}
			}
			continue
		}
		of, beside, _ := strings.Cut(of, "@")
		if beside != "" && member.Kind() == rawjson.Object && !v.Get(beside).Exists() {
			continue
		}
		if d := g.double(member, of, pointer); d != nil {
			return d
		}
	}
	return nil
}

// double looks into a member: an object, or a list of such.
func (g Grammar) double(v rawjson.Value, kind, base string) *Double {
	if v.Kind() != rawjson.Array {
		return g.Double(v, kind, base)
	}
	for i, e := range v.Elems() {
		if d := g.double(e, kind, Index(base, i)); d != nil {
			return d
		}
	}
	return nil
}
