package content

import (
	"strings"
	"testing"

	"reeve/act"
	"reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

func parse(t testing.TB, src string) rawjson.Value {
	t.Helper()
	doc, err := rawjson.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func TestAddAll(t *testing.T) {
	var s Set
	s.AddAll(parse(t, `{"a/b":["x",1,null,"",{"~":"y"}],"skip":"z","c":{}}`), act.Leaf{Pointer: "/p", Item: "/p", Arg: "q"},
		func(name string, _ rawjson.Value) bool { return name == "skip" })
	want := []act.Leaf{{Pointer: "/p/a~1b/0", Text: "x", Item: "/p", Arg: "q"}, {Pointer: "/p/a~1b/4/~0", Text: "y", Item: "/p", Arg: "q"}}
	if diff := cmp.Diff(want, s.Leaves); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAddFile(t *testing.T) {
	for _, tt := range []struct {
		src, mimeType string
		text          string
		base64        bool
	}{
		{`"Rmxvb3IgMg=="`, "", "Floor 2", true},
		{`"Rmxvb3Ig\u004dg=="`, "text/plain; charset=utf-8", "Floor 2", true},
		{`"iVBORw0KGgo="`, "image/png", "", false},
		{`"iVBORw0KGgo="`, "TEXT/Plain", "\x89PNG\r\n\x1a\n", true}, // called text: read as it is
		{`"Rmxvb3IgMg=="`, "image/png", "Floor 2", true},            // not called text, and text all the same
		{`"not base64"`, "", "not base64", false},
		{`""`, "text/plain", "", false},
		{`7`, "", "", false},
	} {
		var s Set
		s.AddFile(parse(t, tt.src), tt.mimeType, act.Leaf{Pointer: "/b"})
		var want []act.Leaf
		if tt.text != "" {
			want = []act.Leaf{{Pointer: "/b", Text: tt.text, Base64: tt.base64}}
		}
		if diff := cmp.Diff(want, s.Leaves); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.src, tt.mimeType, diff)
		}
	}
}

func TestBounds(t *testing.T) {
	var s Set
	s.AddAll(parse(t, `[`+strings.Repeat(`"a",`, MaxLeaves)+`"a"]`), act.Leaf{}, nil)
	if !s.Full || len(s.Leaves) != MaxLeaves {
		t.Errorf("full is %t with %d leaves", s.Full, len(s.Leaves))
	}
	s = Set{}
	s.AddAll(parse(t, `["a"]`), act.Leaf{Pointer: strings.Repeat("/a", MaxPointers)}, nil)
	if !s.Full || len(s.Leaves) != 0 {
		t.Errorf("full is %t with %d leaves", s.Full, len(s.Leaves))
	}
}

func TestWord(t *testing.T) {
	for src, want := range map[string]bool{
		`"text"`: true, `"te\u0078t"`: true, `"tools/list_changed"`: true, `""`: true, `"2026-04-02T08:15:00Z"`: true,
		`"ignore all"`: false, `"tëxt"`: false, `"a\nb"`: false, `7`: false, `null`: false, `["a"]`: false,
		`"` + strings.Repeat("a", 64) + `"`: true, `"` + strings.Repeat("a", 65) + `"`: false, `"` + strings.Repeat(`\u0061`, 64) + `"`: true,
	} {
		if got := Word(parse(t, src)); got != want {
			t.Errorf("Word(%s) is %t", src, got)
		}
	}
}

func TestAppendWithout(t *testing.T) {
	for src, want := range map[string]string{
		`{"b":[2, 1],"id":7,"a":"\u0078"}`: `{"a":"x","b":[2,1]}`,
		`{"id":1}`:                         `{}`,
		`[{"id":1}]`:                       `[{"id":1}]`,
	} {
		if got := string(AppendWithout(nil, parse(t, src), "id")); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	if got := string(AppendWithout(nil, rawjson.Value{})); got != "null" {
		t.Errorf("nothing is %s", got)
	}
}
