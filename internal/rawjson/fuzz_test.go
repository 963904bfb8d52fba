package rawjson

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// seeds are what parsers are known to disagree about, and ordinary documents.
var seeds = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `null`, ` true `, `{"a":1,"b":[2,{"c":"d"}]}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a\u0000":1,"a":2}`, `{"Method":1,"method":2}`,
	"{\"\u017f\":1,\"s\":2}", "{\"\u212a\":1,\"k\":2}",
	`"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, `"\uD83D\u0041"`, "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\x00\"", "\"\x7f\"", "\"\u2028\"",
	`01`, `1.`, `.5`, `+1`, `-`, `1e`, `1e+`, `1E5`, `9007199254740993`, `1e400`, `NaN`, `Infinity`, `0x10`, `1.0`,
	`[1,]`, `{"a":1,}`, `{,}`, `[1 2]`, `{"a" 1}`, `{a:1}`, `{'a':1}`, `//x`, `1 2`, `{} x`, "\ufeff{}", "{}\x00", `"\x"`, `"\u12"`, `"\u12g4"`, `tru`, `truex`,
	strings.Repeat("[", 40) + strings.Repeat("]", 40),
}

func FuzzParseAgrees(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Parse(src)
		ours, theirs := err == nil, jsontext.Value(src).IsValid()
		if ours == theirs {
			if ours {
				walk(t, doc)
			}
			return
		}
		if e, ok := err.(*SyntaxError); ok && theirs && (e.Reason == "nesting too deep" || e.Reason == "too many values" || e.Reason == "U+0000 in a name") {
			return
		}
		t.Fatalf("%q: rawjson says %v, jsontext accepts: %v", src, err, theirs)
	})
}

// walk visits every value and checks what holds of each.
func walk(t *testing.T, doc *Doc) {
	t.Helper()
	var visit func(v Value, pointer string)
	visit = func(v Value, pointer string) {
		if got := v.Pointer(); got != pointer {
			t.Fatalf("%q: the pointer is %q, want %q", doc.src, got, pointer)
		}
		if at := doc.At(pointer); at != v {
			t.Fatalf("%q: At(%q) is %q, want %q", doc.src, pointer, at.Raw(), v.Raw())
		}
		start, end := v.Span()
		if !bytes.Equal(doc.src[start:end], v.Raw()) || !jsontext.Value(v.Raw()).IsValid() {
			t.Fatalf("%q: the span of %q is wrong", doc.src, pointer)
		}
		n := 0
		switch v.Kind() {
		case Object:
			for name, m := range v.Members() {
				if v.Get(name) != m {
					t.Fatalf("%q: Get(%q) finds another member", doc.src, name)
				}
				visit(m, pointer+"/"+EscapePointer(name))
				n++
			}
		case Array:
			for i, e := range v.Elems() {
				if i != n {
					t.Fatalf("%q: element %d is counted as %d", doc.src, n, i)
				}
				visit(e, pointer+"/"+strconv.Itoa(i))
				n++
			}
		case String:
			want, err := jsontext.AppendUnquote(nil, v.Raw())
			if err != nil || v.Text() != string(want) {
				t.Fatalf("%q: the text is %q, want %q (%v)", v.Raw(), v.Text(), want, err)
			}
		}
		if v.Len() != n {
			t.Fatalf("%q: Len at %q is %d, want %d", doc.src, pointer, v.Len(), n)
		}
	}
	visit(doc.Root(), "")
}

func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Parse(src)
		if err != nil {
			return
		}
		canonical := doc.Root().AppendCanonical(nil)
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("%q: its canonical form %q is not accepted: %v", src, canonical, err)
		}
		if got := again.Root().AppendCanonical(nil); !bytes.Equal(got, canonical) {
			t.Fatalf("%q: the canonical form of its canonical form is %q, not %q", src, got, canonical)
		}
		// The oracle spells strings the same way, keeps numbers, and orders names
		// by UTF-16 rather than by bytes: order a copy of each alike.
		v := jsontext.Value(bytes.Clone(src))
		if err := v.Format(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
			jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)); err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		theirs, err := Parse(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := theirs.Root().AppendCanonical(nil); !bytes.Equal(got, canonical) {
			t.Fatalf("%q: canonical is %q, and the oracle's %q", src, canonical, got)
		}
		if !Equal(doc.Root(), again.Root()) {
			t.Fatalf("%q is not equal to its canonical form", src)
		}
	})
}

func FuzzSplice(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint16(i), uint16(3*i), []byte(`"new"`))
	}
	f.Add([]byte(`{"a":[1,"x",{"b":2}],"c":"y"}`), uint16(2), uint16(9), []byte(`[null]`))
	f.Fuzz(func(t *testing.T, src []byte, first, second uint16, with []byte) {
		doc, err := Parse(src)
		if err != nil || !jsontext.Value(with).IsValid() || len(doc.nodes) > 1000 {
			return
		}
		pick := func(n uint16) (Value, bool) {
			v := Value{doc, int32(n) % int32(len(doc.nodes))}
			return v, !doc.isName(v.i)
		}
		a, ok1 := pick(first)
		b, ok2 := pick(second)
		if !ok1 || !ok2 {
			return
		}
		out, err := doc.Splice([]Replacement{{a, with}, {b, with}})
		aStart, aEnd := a.Span()
		bStart, bEnd := b.Span()
		if aStart < bEnd && bStart < aEnd { // one holds the other
			if err == nil {
				t.Fatalf("%q: overlapping replacements were accepted", src)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		pa, pb := a.Pointer(), b.Pointer()
		got, err := Parse(out)
		if err != nil {
			t.Fatalf("%q: the splice %q is not accepted: %v", src, out, err)
		}
		if !bytes.Equal(got.At(pa).Raw(), bytes.TrimSpace(with)) || !bytes.Equal(got.At(pb).Raw(), bytes.TrimSpace(with)) {
			t.Fatalf("%q: the splice %q does not hold %q at %q and %q", src, out, with, pa, pb)
		}
		if want := len(src) - (aEnd - aStart) - (bEnd - bStart) + 2*len(with); len(out) != want {
			t.Fatalf("%q: the splice has %d bytes, want %d", src, len(out), want)
		}
		back, err := got.Splice([]Replacement{{got.At(pb), b.Raw()}, {got.At(pa), a.Raw()}})
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(with)) == len(with) && !bytes.Equal(back, src) {
			t.Fatalf("%q: taken back it is %q", src, back)
		}
	})
}
