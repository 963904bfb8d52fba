package content

import (
	"crypto/sha256"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// What a message says becomes an act here for every door: its arguments, its texts,
// the names that rules match, and its digest. So one call is one act by whichever
// door it comes: a verdict, an approval, a repeat and a loop are of what is done, not
// of how it was asked. docs/protocol/aos.md has the digest's form.

// DigestVersion is the form's. Version 1 hashed the door's word for a call in
// place of the version and "call"; it is kept as act.Action.Earlier, since what was
// agreed to under it still stands. Of other acts both versions are one.
const DigestVersion = 2

// call stands at the beginning of a call's form.
const call = `{"v":2,"kind":"call"`

// Complete gives an act that was read its texts, the names that rules match, and its
// digest. Its Kind, InnerMethod and Resource are known already; does is what it
// does: members in canonical JSON, without the braces. An act with more texts than
// the bounds allow is denied.
func (s *Set) Complete(a *act.Action, does []byte) {
	a.Content = s.Leaves
	if s.Full {
		a.Refusals = append(slices.Clip(a.Refusals), TooMuch)
	}
	a.Canonical, a.Confusable = canon.Name(a.Resource)
	digest(a, does)
}

// TooMuch is why an act that holds too much to be judged does not pass.
var TooMuch = act.Reason{
	Rule: "limits", Code: "content.too_much", Effect: act.Deny,
	Message: "It holds more than can be judged at once.",
}

// digest gives an act its digest, and of a call that in the form before.
func digest(a *act.Action, does []byte) {
	const ahead = 64 // bytes for either form's beginning, longer than every kind's
	var buf [2048]byte
	b := append(buf[:ahead], `,"resource":`...)
	b = rawjson.AppendString(b, a.Resource)
	if a.InnerMethod != "" && !a.IsCall() {
		b = append(b, `,"method":`...)
		b = rawjson.AppendString(b, a.InnerMethod)
	}
	b = append(b, ',')
	b = append(append(b, does...), '}')
	sum := func(begin string) act.Digest {
		form := b[ahead-len(begin):]
		copy(form, begin)
		return sha256.Sum256(form)
	}
	byKind := `{"kind":"` + string(a.Kind) + `"`
	if a.IsCall() {
		a.Digest, a.Earlier = sum(call), sum(byKind)
	} else {
		a.Digest = sum(byKind)
	}
}

// CallDigest is the digest of the call of a tool with these arguments, an object,
// and nothing more, and that in the form before.
func CallDigest(tool string, arguments rawjson.Value) (now, earlier act.Digest) {
	a := act.Action{Kind: act.ToolCall, Resource: tool}
	digest(&a, AppendArguments(nil, arguments))
	return a.Digest, a.Earlier
}

// AppendArguments appends what a call does, for Complete: its arguments, an object.
func AppendArguments(b []byte, arguments rawjson.Value) []byte {
	b = append(b, `"arguments":`...)
	if !arguments.Exists() {
		return append(b, "{}"...)
	}
	return arguments.AppendCanonical(b)
}

// AddArguments adds the texts of a call's arguments, the object v at base, and
// returns the arguments.
func (s *Set) AddArguments(v rawjson.Value, base string) []act.Argument {
	if v.Len() > MaxLeaves {
		s.Full = true
		return nil
	}
	arguments := make([]act.Argument, 0, v.Len())
	for name, value := range v.Members() {
		leaf := act.Leaf{Pointer: base, Arg: name}
		s.AddName(name, leaf)
		leaf.Pointer = Join(base, name)
		arguments = append(arguments, act.Argument{Name: name, Value: value.Raw(), Pointer: leaf.Pointer})
		s.AddAll(value, leaf, nil)
	}
	return arguments
}

// LeafOf is what the leaves of an argument have in common, that of its value itself.
func LeafOf(arg *act.Argument) act.Leaf {
	l := act.Leaf{Pointer: arg.Pointer, Arg: arg.Name}
	if !strings.HasSuffix(arg.Pointer, "/"+rawjson.EscapePointer(arg.Name)) {
		l.Base = len(arg.Pointer)
	}
	return l
}

// AddOthers adds the members of an object, which leaf points at, beside the known
// ones: what a protocol leaves open, and what it does not know, for somebody after
// reeve may. It reports whether there are any.
func (s *Set) AddOthers(object rawjson.Value, leaf act.Leaf, known ...string) bool {
	if !object.HasOthers(known) { // mostly so
		return false
	}
	base := leaf.Pointer
	for name, v := range object.Others(slices.Clone(known)) {
		if s.Full {
			break
		}
		leaf.Pointer = base
		s.AddName(name, leaf)
		leaf.Pointer = Join(base, name)
		s.AddAll(v, leaf, nil)
	}
	return true
}

// Twice finds the first argument whose name or id people or tools could take for
// that of an argument before it: rules would look at one value, and the tool might
// be given the other. byID says that it is the id. An argument's id may be its own
// name. The argument is nil where each is there once.
func Twice(arguments []act.Argument) (argument *act.Argument, byID bool) {
	type label struct {
		canonical string
		place     int
		isID      bool
	}
	if len(arguments) < 2 {
		return nil, false
	}
	var few [16]label
	labels := few[:0]
	for i := range arguments {
		canonical, _ := canon.Name(arguments[i].Name)
		labels = append(labels, label{canonical, i, false})
		if id := arguments[i].ID; id != "" {
			canonical, _ := canon.Name(id)
			labels = append(labels, label{canonical, i, true})
		}
	}
	slices.SortStableFunc(labels, func(a, b label) int {
		if c := strings.Compare(a.canonical, b.canonical); c != 0 {
			return c
		}
		return a.place - b.place
	})
	for i := range labels[:len(labels)-1] {
		if a, b := &labels[i], &labels[i+1]; a.canonical == b.canonical && a.place != b.place {
			return &arguments[b.place], b.isID
		}
	}
	return nil, false
}
