package params

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/rawjson"
)

var point = &Table{Name: "Point", Fields: []Field{
	{Name: "x", Type: Integer},
	{Name: "label", Flags: Filled, Max: 4},
	{Name: "note", Flags: Optional | Nullable},
	{Name: "tags", Flags: Optional | List | Filled, Max: 3, Most: 2},
	{Name: "on", Type: Boolean, Flags: Optional},
	{Name: "kind", Flags: Optional, Words: []string{"a", "b"}},
	{Name: "parts", Flags: Optional | List | Some, Table: &Table{Name: "Part", Tag: "kind", Variants: []Variant{
		{Word: "text", Table: &Table{Fields: []Field{{Name: "text"}}}},
		{Word: "file", Table: &Table{Fields: []Field{{Name: "bytes", Flags: Optional}, {Name: "uri", Flags: Optional}}, Either: [2]string{"bytes", "uri"}}},
	}}},
	{Name: "data", Type: Structure, Flags: Optional},
	{Name: "any", Type: Anything, Flags: Optional},
	{Name: "time", Flags: Optional, Type: &Type{Kinds: []rawjson.Kind{rawjson.String}, Is: "a time", Check: func(v rawjson.Value) string {
		if !v.Is("now") {
			return "It is not now."
		}
		return ""
	}}},
}}

func init() { Prepare(point) }

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`{"x":1,"label":"a","other":{}}`, ""},
		{`{"x":1,"label":"\u0061bcd","note":null,"tags":["a"],"kind":"\u0062","any":null,"data":[],"time":"now","parts":[{"kind":"text","text":""},{"kind":"file","uri":""}]}`, ""},
		{`[]`, ": The value is an array. Expected an object of type Point."},
		{`{"label":"a"}`, "/x: The field is required, and it is missing. Expected an integer, without fraction or exponent."},
		{`{"x":1.0,"label":"a"}`, "/x: The number has a fraction or an exponent. Expected an integer, without fraction or exponent."},
		{`{"x":"1","label":"a"}`, "/x: The value is a string. Expected an integer, without fraction or exponent."},
		{`{"x":null,"label":"a"}`, "/x: The value is null. Expected an integer, without fraction or exponent."},
		{`{"x":1,"label":""}`, "/label: The string is empty. Expected a string of 1 to 4 bytes."},
		{`{"x":1,"label":"abcde"}`, "/label: The string has 5 bytes. Expected a string of 1 to 4 bytes."},
		{`{"x":1,"label":"a","note":1}`, "/note: The value is a number. Expected a string."},
		{`{"x":1,"label":"a","tags":"a"}`, "/tags: The value is a string. Expected an array of at most 2 elements, each a string of 1 to 3 bytes."},
		{`{"x":1,"label":"a","tags":["a","b","c"]}`, "/tags: The array has 3 elements. Expected an array of at most 2 elements, each a string of 1 to 3 bytes."},
		{`{"x":1,"label":"a","tags":["a",""]}`, "/tags/1: The string is empty. Expected a string of 1 to 3 bytes."},
		{`{"x":1,"label":"a","on":0}`, "/on: The value is a number. Expected true or false."},
		{`{"x":1,"label":"a","kind":"c"}`, "/kind: The value is none of those allowed. Expected one of the strings a, b."},
		{`{"x":1,"label":"a","parts":[]}`, "/parts: The array is empty. Expected an array of Part with at least one element."},
		{`{"x":1,"label":"a","parts":[{}]}`, "/parts/0/kind: The field is required, and it is missing. Expected one of the strings text, file."},
		{`{"x":1,"label":"a","parts":[{"kind":"x"}]}`, "/parts/0/kind: The value is none of those allowed. Expected one of the strings text, file."},
		{`{"x":1,"label":"a","parts":[{"kind":"file"}]}`, "/parts/0: It has neither bytes nor uri. Expected either bytes or uri."},
		{`{"x":1,"label":"a","parts":[{"kind":"file","bytes":"","uri":""}]}`, "/parts/0: It has both bytes and uri, and which of them counts cannot be known. Expected either bytes or uri."},
		{`{"x":1,"label":"a","data":"s"}`, "/data: The value is a string. Expected an object or an array."},
		{`{"x":1,"label":"a","time":"then"}`, "/time: It is not now. Expected a time."},
	} {
		doc, err := rawjson.Parse([]byte(`[{"params":` + tt.src + `}]`)) // one of a batch
		if err != nil {
			t.Fatal(err)
		}
		request := doc.At("/0")
		got := ""
		if f := point.Check(request.Get("params"), request); f != nil {
			got = strings.TrimPrefix(f.Error(), "/params")
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestObject(t *testing.T) {
	doc, _ := rawjson.Parse([]byte(`{"a":{},"b":[]}`))
	if f := Object(doc.Root().Get("a")); f != nil {
		t.Error(f)
	}
	for name, want := range map[string]string{"b": "The value is an array.", "c": "The params are missing."} {
		if f := Object(doc.Root().Get(name)); f == nil || f.Reason != want {
			t.Errorf("%s: %v", name, f)
		}
	}
	b := Wrong(`/a"`, "No.", "yes").AppendMembers(nil)
	if want := `"field":"/a\"","reason":"No.","expected":"yes"`; string(b) != want {
		t.Errorf("%s", b)
	}
}

// FuzzCheck: no value makes the check fail in another way than by a fault, whose
// pointer is of the request.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"params":{"x":1,"label":"a","parts":[{"kind":"text"}]}}`))
	f.Add([]byte(`{"params":[1e9]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := rawjson.Parse(src)
		if err != nil {
			return
		}
		if f := point.Check(doc.Root().Get("params"), doc.Root()); f != nil && (f.Reason == "" || f.Expected == "" || doc.Root().Get("params").Exists() && !strings.HasPrefix(f.Field, "/params")) {
			t.Errorf("%q: %+v", src, f)
		}
	})
}
