package content

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// IDOf returns a JSON-RPC id: a string's text, or a number as sent; "" for
// anything else.
func IDOf(id rawjson.Value) string {
	switch id.Kind() {
	case rawjson.String:
		return id.Text()
	case rawjson.Number:
		return string(id.Raw())
	}
	return ""
}

// AddEnvelope adds the texts of a member that is JSON-RPC's own, jsonrpc, id or
// method, which leaf points at, and reports whether it is one. No edit may
// change them.
func (s *Set) AddEnvelope(name string, v rawjson.Value, leaf act.Leaf) bool {
	if name != "jsonrpc" && name != "id" && name != "method" {
		return false
	}
	if v.Kind() == rawjson.String {
		s.AddFixed(v, leaf)
	} else {
		s.AddAll(v, leaf, nil)
	}
	return true
}

// AppendEnvelope appends what a JSON-RPC message does, in canonical JSON, for a
// digest: its error, params and result as part writes them, and the rest of it
// when there is any. The names in beside are none of the message's own. jsonrpc,
// the method and an id that differs when the same is sent again are left out.
func AppendEnvelope(dst []byte, v rawjson.Value, beside []string, part func(dst []byte, name string, v rawjson.Value) []byte) []byte {
	known := append(Envelope(v), beside...)
	dst = append(dst, `"content":{`...)
	start := len(dst)
	for _, name := range [...]string{"error", "params", "result"} {
		if member := v.Get(name); member.Exists() {
			known = append(known, name)
			dst = append(dst, '"')
			dst = append(dst, name...)
			dst = append(dst, `":`...)
			dst = append(part(dst, name, member), ',')
		}
	}
	if v.HasOthers(known) {
		dst = append(dst, `"rest":`...)
		dst = append(AppendWithout(dst, v, known...), ',')
	}
	return append(dst[:max(start, len(dst)-1)], '}')
}

// Envelope names the members of a JSON-RPC message that do not say what it does.
func Envelope(v rawjson.Value) []string {
	names := make([]string, 0, 8)
	if v.Get("jsonrpc").Text() == "2.0" {
		names = append(names, "jsonrpc")
	}
	if v.Get("method").Kind() == rawjson.String {
		names = append(names, "method")
	}
	if IsID(v.Get("id")) {
		names = append(names, "id")
	}
	return names
}

// IDsIn returns those of the named members of v that are ids: see IsID.
func IDsIn(v rawjson.Value, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !IsID(v.Get(name)) })
}

// AppendWithout appends an object in its canonical form without the named
// members, and any other value whole.
func AppendWithout(dst []byte, v rawjson.Value, without ...string) []byte {
	if v.Kind() != rawjson.Object {
		if !v.Exists() {
			return append(dst, "null"...)
		}
		return v.AppendCanonical(dst)
	}
	type member struct {
		name string
		v    rawjson.Value
	}
	members := make([]member, 0, v.Len())
	for name, m := range v.Others(slices.Clone(without)) {
		members = append(members, member{name, m})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, m.name)
		dst = append(dst, ':')
		dst = m.v.AppendCanonical(dst)
	}
	return append(dst, '}')
}
