package rawjson

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func parse(t testing.TB, src string) *Doc {
	t.Helper()
	doc, err := Parse([]byte(src))
	if err != nil {
		t.Fatalf("%.200s: %v", src, err)
	}
	return doc
}

func TestParseRefuses(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"n%d":%d`, i, i)
	}
	tests := []struct{ src, want string }{
		{``, "unexpected end of data at byte 0"},
		{` `, "unexpected end of data at byte 1"},
		{`{"a":1`, "unexpected end of data at byte 6"},
		{`"abc`, "unexpected end of data at byte 4"},
		{`"a\`, "unexpected end of data at byte 3"},
		{`{} {}`, "unexpected data after the value at byte 3"},
		{"{}\x00", "unexpected data after the value at byte 2"},
		{"\ufeff{}", "expected a value at byte 0"},
		{`{"a":1,"a":2}`, `duplicate name "a" at byte 7`},
		{`{"a":1,"\u0061":2}`, `duplicate name "\u0061" at byte 7`},
		{`{"a\u0000b":1}`, `U+0000 in a name at byte 1`},
		{`{"x":[{"\u0000":1}]}`, `U+0000 in a name at byte 7`},
		{`{"\u0061":1,"a":2}`, `duplicate name "a" at byte 12`},
		{`{"` + strings.Repeat("x", 200) + `":1,"` + strings.Repeat("x", 200) + `":2}`, `duplicate name at byte 206`},
		{`{` + strings.Join(many, ",") + `,"n7":0}`, `duplicate name "n7" at byte 341`},
		{`{` + strings.Join(many, ",") + `,"\u006e31":0}`, `duplicate name "\u006e31" at byte 341`},
		{`{"x":{` + strings.Join(many, ",") + `},"x":0}`, `duplicate name "x" at byte 347`},
		{`{a:1}`, "expected a name at byte 1"},
		{`{"a":1,}`, "expected a name at byte 7"},
		{`[1,]`, "expected a value at byte 3"},
		{`[1 2]`, "expected ',' or ']' at byte 3"},
		{`{"a":1 "b":2}`, "expected ',' or '}' at byte 7"},
		{`{"a" 1}`, "expected ':' at byte 5"},
		{`NaN`, "expected a value at byte 0"},
		{`tru`, "expected a value at byte 0"},
		{`01`, "unexpected data after the value at byte 1"},
		{`-x`, "expected a digit at byte 1"},
		{`1.x`, "expected a digit after the decimal point at byte 2"},
		{`1ex`, "expected a digit in the exponent at byte 2"},
		{"\"a\nb\"", "control character in a string at byte 2"},
		{"\"\xff\"", "invalid UTF-8 at byte 1"},
		{"\"12345678\xed\xa0\x80\"", "invalid UTF-8 at byte 9"},
		{`"\ud800"`, "lone surrogate at byte 1"},
		{`"\ud800\u0041"`, "lone surrogate at byte 1"},
		{`"\udc00"`, "lone surrogate at byte 1"},
		{`"\q"`, "invalid escape at byte 1"},
		{`"\u12g4"`, "invalid escape at byte 1"},
		{strings.Repeat("[", MaxDepth+1), "nesting too deep at byte 128"},
		{strings.Repeat(`{"a":`, MaxDepth+1), "nesting too deep at byte 640"},
		{"[" + strings.Repeat("1,", MaxValues) + "1]", "too many values at byte 2097153"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.src))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != tt.want {
			t.Errorf("%.80q: the error is %v, want %s", tt.src, err, tt.want)
		}
	}
}

func TestNamesAreTheirOwn(t *testing.T) {
	v := parse(t, `{"method":1,"Method":2,"METHOD":3,"k":5,"K":6,"s":7,"ſ":8}`).Root()
	for name, want := range map[string]string{
		"method": "1", "Method": "2", "METHOD": "3", "method\x00": "", "k": "5", "\u212a": "", "s": "7", "\u017f": "8", "mETHOD": "",
	} {
		if got := string(v.Get(name).Raw()); got != want {
			t.Errorf("Get(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestGetAndAt(t *testing.T) {
	doc := parse(t, ` { "a" : [ 1 , "two", {"b/c":{"~d":null}} , [] ] , "e\u0066" : true, "" : 1.50 } `)
	tests := []struct {
		pointer string
		kind    Kind
		raw     string
	}{
		{"", Object, `{ "a" : [ 1 , "two", {"b/c":{"~d":null}} , [] ] , "e\u0066" : true, "" : 1.50 }`},
		{"/a", Array, `[ 1 , "two", {"b/c":{"~d":null}} , [] ]`},
		{"/a/0", Number, "1"},
		{"/a/1", String, `"two"`},
		{"/a/2/b~1c/~0d", Null, "null"},
		{"/a/3", Array, "[]"},
		{"/ef", Bool, "true"},
		{"/", Number, "1.50"},
		{"/a/4", Absent, ""},
		{"/a/00", Absent, ""},
		{"/a/+1", Absent, ""},
		{"/a/-", Absent, ""},
		{"/a/-1", Absent, ""},
		{"/a/1/x", Absent, ""},
		{"/A", Absent, ""},
		{"a", Absent, ""},
		{"/a/2/b/c", Absent, ""},
	}
	for _, tt := range tests {
		v := doc.At(tt.pointer)
		if v.Kind() != tt.kind || string(v.Raw()) != tt.raw {
			t.Errorf("At(%q) is %s %q, want %s %q", tt.pointer, v.Kind(), v.Raw(), tt.kind, tt.raw)
		}
		if v.Exists() != (tt.kind != Absent) {
			t.Errorf("At(%q).Exists() = %v", tt.pointer, v.Exists())
		}
		if v.Exists() && v.Pointer() != tt.pointer {
			t.Errorf("the pointer of the value at %q is %q", tt.pointer, v.Pointer())
		}
	}
	if got := string(doc.Source()); !strings.HasPrefix(got, ` { "a"`) {
		t.Errorf("Source() = %q", got)
	}
}

func TestAbsentValue(t *testing.T) {
	var v Value
	if _, ok := v.Int(); ok || v.Exists() || v.Raw() != nil || v.Text() != "" || v.Bool() || v.Len() != 0 ||
		v.Get("x").Exists() || v.Pointer() != "" || !math.IsNaN(v.Float()) || len(v.AppendCanonical(nil)) != 0 {
		t.Error("the absent value has something")
	}
	for range v.Members() {
		t.Error("the absent value has members")
	}
	for range v.Elems() {
		t.Error("the absent value has elements")
	}
	for range v.Strings() {
		t.Error("the absent value has strings")
	}
}

func TestScalars(t *testing.T) {
	doc := parse(t, `[9007199254740993, -0, 1.0, 1e2, 9223372036854775808, 1e999, "1", true, false, null, "\"\\\/\b\f\n\r\té\ud83d\ude00é"]`)
	type scalar struct {
		Int   int64
		IsInt bool
		Float float64
		Bool  bool
		Text  string
	}
	var got []scalar
	for _, v := range doc.Root().Elems() {
		s := scalar{Float: v.Float(), Bool: v.Bool(), Text: v.Text()}
		s.Int, s.IsInt = v.Int()
		if math.IsNaN(s.Float) {
			s.Float = -1
		}
		got = append(got, s)
	}
	want := []scalar{
		{9007199254740993, true, 9007199254740992, false, ""},
		{0, true, 0, false, ""},
		{0, false, 1, false, ""},
		{0, false, 100, false, ""},
		{0, false, 9223372036854775808, false, ""},
		{0, false, -1, false, ""},
		{0, false, -1, false, "1"},
		{0, false, -1, true, ""},
		{0, false, -1, false, ""},
		{0, false, -1, false, ""},
		{0, false, -1, false, "\"\\/\b\f\n\r\té😀é"},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b })); diff != "" {
		t.Errorf("scalars (-want +got):\n%s", diff)
	}
}

func TestRanges(t *testing.T) {
	v := parse(t, `{"a":"1","b":["2",{"c":"3","d":4}],"e":{},"f":"5"}`).Root()
	var names, strs []string
	for name := range v.Members() {
		names = append(names, name)
	}
	for s := range v.Strings() {
		strs = append(strs, s.Pointer()+"="+s.Text())
	}
	if diff := cmp.Diff([]string{"a", "b", "e", "f"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/a=1", "/b/0=2", "/b/1/c=3", "/f=5"}, strs); diff != "" {
		t.Errorf("strings (-want +got):\n%s", diff)
	}
	inner := slices.Collect(v.Get("b").Strings())
	if len(inner) != 2 {
		t.Errorf("the strings below /b are %d, want 2", len(inner))
	}
	for range v.Members() {
		break // an early end must not call on
	}
	for range v.Strings() {
		break
	}
	for range v.Get("b").Elems() {
		break
	}
}

func TestSplice(t *testing.T) {
	const src = `{ "card" : "4111" , "n":9007199254740993, "list":[1, 2 ,3] }`
	doc := parse(t, src)
	at := func(pointer, with string) Replacement { return Replacement{doc.At(pointer), []byte(with)} }
	tests := []struct {
		name string
		reps []Replacement
		want string
	}{
		{"none", nil, src},
		{"one", []Replacement{at("/card", `"****"`)}, `{ "card" : "****" , "n":9007199254740993, "list":[1, 2 ,3] }`},
		{"out of order", []Replacement{at("/list/2", `"c"`), at("/list/0", `"a"`), at("/card", `null`)}, `{ "card" : null , "n":9007199254740993, "list":["a", 2 ,"c"] }`},
		{"whole", []Replacement{at("", `0`)}, `0`},
		{"overlapping", []Replacement{at("/list", `0`), at("/list/1", `0`)}, ""},
		{"twice the same", []Replacement{at("/card", `0`), at("/card", `1`)}, ""},
	}
	for _, tt := range tests {
		got, err := doc.Splice(tt.reps)
		if (err != nil) != (tt.want == "") || string(got) != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprintf(`"m%02d": [ ]`, 39-i))
	}
	long := "{" + strings.Join(members, " , ") + "}"
	slices.Reverse(members)
	sorted := "{" + strings.ReplaceAll(strings.Join(members, ","), ": [ ]", ":[]") + "}"
	tests := []struct{ src, want string }{
		{` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		{`[1.0,1e2,1E2,-0,9007199254740993,0.10]`, `[1.0,1e2,1E2,-0,9007199254740993,0.10]`},
		{`"\u0041\/\u00e9\ud83d\ude00\u0000\u001f\"\\\n"`, `"A/é😀\u0000\u001f\"\\\n"`},
		{`{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"é":1,"z":2,"":3}`, `{"":3,"z":2,"é":1}`},
		{long, sorted},
	}
	for _, tt := range tests {
		if got := string(parse(t, tt.src).Root().AppendCanonical([]byte("> "))); got != "> "+tt.want {
			t.Errorf("%s: canonical is %s, want %s", tt.src, got[2:], tt.want)
		}
	}
	pairs := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2, "a":1}`, true},
		{`"\u0061"`, `"a"`, true},
		{`1.0`, `1`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":null}`, `{}`, false},
	}
	for _, tt := range pairs {
		if got := Equal(parse(t, tt.a).Root(), parse(t, tt.b).Root()); got != tt.want {
			t.Errorf("Equal(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":             `""`,
		"a\"b\\c/":     `"a\"b\\c/"`,
		"\n\r\t\x00":   `"\n\r\t\u0000"`,
		"é😀\u2028":     "\"é😀\u2028\"",
		"a\xffb\xc3":   "\"a\ufffdb\ufffd\"",
		"\xed\xa0\x80": "\"\ufffd\ufffd\ufffd\"",
		"\ufffd":       "\"\ufffd\"",
	} {
		if got := string(Quote(text)); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
		if got := string(AppendString(nil, []byte(text))); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", text, got, want)
		}
	}
}

// TestManyNames holds the memory and time of an object with very many names to
// a small multiple of its size.
func TestManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; b.Len() < 4<<20 && i < MaxValues/2-1; i++ {
		fmt.Fprintf(&b, `"%x":0,`, i)
	}
	b.WriteString(`"":0}`)
	src := []byte(b.String())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Parse(src); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 40*uint64(len(src)) {
		t.Errorf("parsing %d bytes allocated %d", len(src), used)
	}
	src[len(src)-3] = '"' // breaks the last member
	if _, err := Parse(src); err == nil {
		t.Error("a broken document was accepted")
	}
}

// ordinary is a request of about 3 KB.
var ordinary = func() []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":"7f1c2f0a","method":"steps/toolCallRequest","params":{"context":{"agent":{"id":"a-1","name":"helper","instructions":"`)
	b.WriteString(strings.Repeat("Answer briefly and cite what you read. ", 20))
	b.WriteString(`","tools":[`)
	for i := range 8 {
		fmt.Fprintf(&b, `{"id":"t%d","name":"tool_%d","description":"Does what a tool does, with care.","arguments":[{"name":"path","type":"string","required":true},{"name":"n","type":"number"}]},`, i, i)
	}
	b.WriteString(`{"id":"t9","name":"last"}]},"session":{"id":"s-1"},"turnId":"t","stepId":"s","timestamp":"2026-11-21T10:00:00Z"},"toolCallRequest":{"executionId":"e-1","toolId":"t1","inputs":[{"name":"path","value":"/tmp/\u00e9"},{"name":"n","value":9007199254740993}]}}}`)
	return []byte(b.String())
}()

func BenchmarkParse3KB(b *testing.B) {
	b.Run("rawjson", func(b *testing.B) {
		b.SetBytes(int64(len(ordinary)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(ordinary); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jsontext", func(b *testing.B) { // which only says whether it is valid
		b.SetBytes(int64(len(ordinary)))
		b.ReportAllocs()
		for b.Loop() {
			if !jsontext.Value(ordinary).IsValid() {
				b.Fatal("not valid")
			}
		}
	})
}
