package content

import (
	"crypto/sha256"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// An act's digest is made here for every door, so that one call has one digest
// by whichever door it comes: a verdict, an approval, a repeat and a loop are of
// what is done, not of how it was asked. docs/protocol/aos.md has the form.

// DigestVersion is the form's. Version 1 hashed the door's word for a call in
// place of the version and "call"; it is kept as act.Action.Earlier, since what was
// agreed to under it still stands. Of other acts both versions are one.
const DigestVersion = 2

// call stands at the beginning of a call's form.
const call = `{"v":2,"kind":"call"`

// BeginDigest begins the form of an act of which Kind, InnerMethod and Resource are
// known: what it does follows, as members that begin with a comma.
func BeginDigest(b []byte, a *act.Action) []byte {
	if a.IsCall() {
		b = append(b, call...)
	} else {
		b = append(b, `{"kind":"`...)
		b = append(b, a.Kind...)
		b = append(b, '"')
	}
	b = append(b, `,"resource":`...)
	b = rawjson.AppendString(b, a.Resource)
	if a.InnerMethod != "" && !a.IsCall() {
		b = append(b, `,"method":`...)
		b = rawjson.AppendString(b, a.InnerMethod)
	}
	return b
}

// EndDigest ends the form that BeginDigest began, and gives the act its digest.
func EndDigest(b []byte, a *act.Action) {
	b = append(b, '}')
	a.Digest = sha256.Sum256(b)
	if a.IsCall() {
		earlier := append(make([]byte, 0, len(b)+len(a.Kind)), `{"kind":"`...)
		earlier = append(append(earlier, a.Kind...), '"')
		a.Earlier = sha256.Sum256(append(earlier, b[len(call):]...))
	}
}

// DigestCall gives an act the digest of the call of its resource with these
// arguments, an object, and nothing more.
func DigestCall(a *act.Action, arguments rawjson.Value) {
	var buf [1024]byte
	EndDigest(AppendArguments(BeginDigest(buf[:0], a), arguments), a)
}

// AppendArguments appends the arguments of a call to its form.
func AppendArguments(b []byte, arguments rawjson.Value) []byte {
	b = append(b, `,"arguments":`...)
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
