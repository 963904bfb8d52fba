package content

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

// TestComplete: the digest is that of the form that docs/protocol/aos.md has, for a
// call the same whatever the door calls it, and with the form before beside it.
func TestComplete(t *testing.T) {
	sum := func(form string) act.Digest { return sha256.Sum256([]byte(form)) }
	long := strings.Repeat("x", 5000) // more than is kept on the stack
	for _, tt := range []struct {
		act          act.Action
		does         string
		now, earlier string
	}{
		{act.Action{Kind: act.ToolCall, Resource: "Run Shell"}, `"arguments":{}`,
			`{"v":2,"kind":"call","resource":"Run Shell","arguments":{}}`, `{"kind":"tool.call","resource":"Run Shell","arguments":{}}`},
		{act.Action{Kind: act.TaskStart, Resource: "Run Shell"}, `"arguments":{}`,
			`{"v":2,"kind":"call","resource":"Run Shell","arguments":{}}`, `{"kind":"task.start","resource":"Run Shell","arguments":{}}`},
		{act.Action{Kind: act.MCPRequest, InnerMethod: "tools/call", Resource: "Run Shell"}, `"arguments":{}`,
			`{"v":2,"kind":"call","resource":"Run Shell","arguments":{}}`, `{"kind":"mcp.request","resource":"Run Shell","arguments":{}}`},
		{act.Action{Kind: act.MCPRequest, InnerMethod: "prompts/get", Resource: "p"}, `"content":1`,
			`{"kind":"mcp.request","resource":"p","method":"prompts/get","content":1}`, ""},
		{act.Action{Kind: act.KnowledgeRetrieve}, `"content":"` + long + `"`, `{"kind":"knowledge.retrieve","resource":"","content":"` + long + `"}`, ""},
		{act.Action{Kind: act.ToolCall, Resource: long}, `"arguments":{}`,
			`{"v":2,"kind":"call","resource":"` + long + `","arguments":{}}`, `{"kind":"tool.call","resource":"` + long + `","arguments":{}}`},
		{act.Action{Kind: act.ToolCall, Resource: "\"\u0001ü"}, `"arguments":{}`,
			`{"v":2,"kind":"call","resource":"\"\u0001ü","arguments":{}}`, `{"kind":"tool.call","resource":"\"\u0001ü","arguments":{}}`},
	} {
		a := tt.act
		s := Set{Leaves: []act.Leaf{{Pointer: "/x", Text: "x"}}}
		s.Complete(&a, []byte(tt.does))
		want := [2]act.Digest{sum(tt.now)}
		if tt.earlier != "" {
			want[1] = sum(tt.earlier)
		}
		if got := [2]act.Digest{a.Digest, a.Earlier}; got != want {
			t.Errorf("%s %.20s: digests %s and %s", a.Kind, a.Resource, got[0], got[1])
		}
		if diff := cmp.Diff(s.Leaves, a.Content); diff != "" || len(a.Refusals) > 0 {
			t.Errorf("%s: refused with %v, texts (-want +got):\n%s", a.Kind, a.Refusals, diff)
		}
		if a.Resource == "Run Shell" && a.Canonical != "run shell" {
			t.Errorf("%s: rules match %q", a.Kind, a.Canonical)
		}
	}
	now, earlier := CallDigest("t", parse(t, `{"b":1,"a":2}`))
	if now != sum(`{"v":2,"kind":"call","resource":"t","arguments":{"a":2,"b":1}}`) || earlier != sum(`{"kind":"tool.call","resource":"t","arguments":{"a":2,"b":1}}`) {
		t.Errorf("CallDigest: %s and %s", now, earlier)
	}
}

// TestTooMuch: what holds more texts than can be judged is denied, even if its door
// does not look; and no other act's refusals change by it.
func TestTooMuch(t *testing.T) {
	shared := append(make([]act.Reason, 0, 4), act.Reason{Code: "a"})
	s := Set{Full: true}
	a := act.Action{Kind: act.ToolCall, Refusals: shared}
	s.Complete(&a, []byte(`"arguments":{}`))
	if len(a.Refusals) != 2 || a.Refusals[1].Effect != act.Deny || a.Refusals[1].Code != "content.too_much" {
		t.Errorf("refusals: %+v", a.Refusals)
	}
	if more := shared[:2]; more[1].Code != "" {
		t.Errorf("another's list has %q", more[1].Code)
	}
}

func TestTwice(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"", ""}, {"a", ""}, {"a b c", ""}, {"a:1 b:2", ""}, {"a:a b:b", ""}, // an id may be its own name
		{"a b a", "2"}, {"path Path", "1"}, {"a:x b:x", "1 by id"}, {"a b:a", "1 by id"}, {"a:b b", "1"},
		{"pаth path", "1"}, // the first has a Cyrillic letter
		{"p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16 p17 p3", "17"},
	} {
		var arguments []act.Argument
		for i, name := range strings.Fields(tt.names) {
			name, id, _ := strings.Cut(name, ":")
			arguments = append(arguments, act.Argument{Name: name, ID: id, Pointer: fmt.Sprint(i)})
		}
		got := ""
		if arg, byID := Twice(arguments); arg != nil {
			if got = arg.Pointer; byID {
				got += " by id"
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.names, got, tt.want)
		}
	}
}

func TestAddOthers(t *testing.T) {
	var s Set
	if s.AddOthers(parse(t, `{"a":"x","b":"y"}`), act.Leaf{Pointer: "/p"}, "a", "b") || len(s.Leaves) > 0 {
		t.Errorf("known members are others: %v", s.Leaves)
	}
	if !s.AddOthers(parse(t, `{"a":"x","b":["y"],"a name":0}`), act.Leaf{Pointer: "/p", Arg: "q"}, "a") {
		t.Error("others were not found")
	}
	want := []act.Leaf{{Pointer: "/p/b/0", Text: "y", Arg: "q"}, {Pointer: "/p", Text: "a name", Arg: "q", Fixed: true}}
	if diff := cmp.Diff(want, s.Leaves); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
