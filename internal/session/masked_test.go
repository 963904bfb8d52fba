package session

import (
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestWrittenBack: a notice that stands for what was masked in a result is not
// written over the original, by any door, and also after a restart.
func TestWrittenBack(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	call := func(kind act.Kind, args ...string) *act.Action {
		a := &act.Action{Kind: kind, At: at, Session: "s", Step: "2", Resource: "edit_file", Canonical: "edit_file", Agent: act.Agent{ID: "a"}}
		if kind == act.MCPRequest {
			a.InnerMethod = "tools/call"
		}
		for i := 0; i < len(args); i += 2 {
			a.Content = append(a.Content, act.Leaf{Pointer: "/args/" + args[i], Arg: args[i], Text: args[i+1]})
		}
		return a
	}
	s := &State{Known: true}
	result := &act.Action{Kind: act.ToolResult, At: at, Session: "s", Step: "1", Agent: act.Agent{ID: "a"}}
	s.Check(result, nil)
	step := s.Step(result, act.Modify)
	step.Masked(result, []act.Edit{{Pointer: "/x", Value: []byte(`"DB=postgres://shop:[password removed]@localhost and ****"`)}})
	data := step.Append(nil)
	s.Apply(step)
	restored, err := Restore([]Write{{Data: data}}, true)
	if err != nil {
		t.Fatal(err)
	}
	const path = "file_path"
	for _, state := range []*State{s, restored} {
		for _, kind := range []act.Kind{act.ToolCall, act.TaskStart, act.MCPRequest} {
			for _, test := range []struct {
				name string
				a    *act.Action
				want bool
			}{
				{"a file", call(kind, path, ".env", "content", "DB=postgres://shop:[password removed]@localhost"), true},
				{"a new text", call(kind, path, ".env", "old_string", "x", "new_string", "card ****"), true},
				{"in other words", call(kind, path, ".env", "content", "DB=postgres://shop:[database password removed]@localhost"), true},
				{"an old text", call(kind, path, ".env", "old_string", "shop:[password removed]", "new_string", "y"), true},
				{"a command", call(kind, "command", "echo 'shop:[password removed]' > .env"), true},
				{"only the changed line", call(kind, path, ".env", "old_string", "PORT=1", "new_string", "PORT=2"), false},
				{"another notice", call(kind, path, "a.md", "content", "It says [card number removed]."), false},
				{"stars that are none", call(kind, path, "a.c", "content", "/**** a ****/ *****"), false},
				{"a message", call(kind, "text", "it is [password removed]"), false},
			} {
				v, _ := state.Check(test.a, nil)
				found := false
				for _, one := range v {
					found = found || one.Check == "mask.written_back"
				}
				if found != test.want {
					t.Errorf("%s %s: %v", kind, test.name, found)
				}
			}
		}
	}
	// A session in which nothing was masked may write what it likes.
	fresh := &State{Known: true}
	if v, _ := fresh.Check(call(act.ToolCall, path, "a.md", "content", "[password removed]"), nil); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}
