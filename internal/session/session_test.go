package session

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 4, 2, 8, 15, 0, 0, time.UTC)

// step makes an act; edit changes it.
func step(kind act.Kind, id string, edit ...func(*act.Action)) *act.Action {
	a := &act.Action{
		Door: "aos", Kind: kind, At: start, SaidAt: start,
		Agent:   act.Agent{ID: "lend-1", Raw: []byte(`{"id":"lend-1"}`), Instructions: []byte(`"Help."`), Version: "1"},
		User:    act.User{ID: "oda", Organization: "birch"},
		Session: "s", Turn: "t-1", Step: "st-" + id, ID: id,
		Digest: sha256.Sum256([]byte(string(kind) + id)),
	}
	switch kind {
	case act.ToolResult, act.MCPResponse, act.A2AReceive:
		a.Answers, a.ID = id, ""
		a.Step = "result-" + id
	}
	for _, e := range edit {
		e(a)
	}
	return a
}

// remember applies an allowed act to a state.
func remember(s *State, a *act.Action, effect act.Effect) {
	n := s.Apply(s.Step(a, effect))
	s.Place(n, act.Position{Index: uint64(n)})
}

func checks(v []act.Violation) (names []string) {
	for _, x := range v {
		name := x.Check
		if x.Unsure {
			name += "?"
		}
		names = append(names, name)
	}
	return names
}

func TestChecks(t *testing.T) {
	other := func(a *act.Action) { a.Digest = sha256.Sum256([]byte("other")) }
	tools := func(tool *act.Tool, args ...act.Argument) func(*act.Action) {
		return func(a *act.Action) {
			a.Agent.Tools, a.Tool, a.Arguments, a.Resource = []byte(`[]`), tool, args, "search"
		}
	}
	search := &act.Tool{ID: "search", Arguments: []act.ToolArgument{
		{Name: "title", Type: "string", Required: true}, {Name: "limit", Type: "number"},
	}}
	arg := func(name, value string) act.Argument { return act.Argument{Name: name, Value: []byte(value)} }
	call := step(act.ToolCall, "x-1")
	dialogue := func(a *act.Action) { a.Dialogue = "a1" }
	user := func(id string) func(*act.Action) { return func(a *act.Action) { a.User.ID = id } }

	for _, tt := range []struct {
		name   string
		before []*act.Action
		held   bool // what went before; else it was allowed
		denied bool // what went before was denied
		a      *act.Action
		want   []string
		repeat bool
	}{
		{name: "ordinary call", a: call},
		{name: "undeclared tool", a: step(act.ToolCall, "x-1", tools(nil)), want: []string{"tool.undeclared"}},
		{name: "unknown tools are not none", a: step(act.ToolCall, "x-1", func(a *act.Action) { a.Resource = "search" })},
		{name: "right arguments", a: step(act.ToolCall, "x-1", tools(search, arg("title", `"x"`), arg("limit", `5`)))},
		{name: "missing argument", a: step(act.ToolCall, "x-1", tools(search)), want: []string{"tool.arguments"}},
		{name: "undeclared argument", a: step(act.ToolCall, "x-1", tools(search, arg("title", `"x"`), arg("colour", `1`))), want: []string{"tool.arguments"}},
		{name: "wrong type", a: step(act.ToolCall, "x-1", tools(search, arg("title", `7`))), want: []string{"tool.arguments"}},
		{name: "confusable name", a: step(act.ToolCall, "x-1", func(a *act.Action) { a.Confusable = true }), want: []string{"tool.confusable"}},

		{name: "result of a call", before: []*act.Action{call}, a: step(act.ToolResult, "x-1")},
		{name: "result in a new session", a: step(act.ToolResult, "x-1"), want: []string{"result.orphan"}},
		{name: "result of another call", before: []*act.Action{call}, a: step(act.ToolResult, "x-2"), want: []string{"result.orphan"}},
		{name: "result of a denied call", before: []*act.Action{call}, denied: true, a: step(act.ToolResult, "x-1"), want: []string{"result.denied"}},
		{name: "result of a held call", before: []*act.Action{call}, held: true, a: step(act.ToolResult, "x-1"), want: []string{"result.denied"}},
		{name: "result of a held call, which its user agreed to", before: []*act.Action{call}, held: true, a: step(act.ToolResult, "x-1", dialogue), want: []string{"result.dialogue"}},
		{name: "result of a denied call, which its user is said to have agreed to", before: []*act.Action{call}, denied: true, a: step(act.ToolResult, "x-1", dialogue), want: []string{"result.denied"}},
		{name: "result of no call, which its user is said to have agreed to", a: step(act.ToolResult, "x-1", dialogue), want: []string{"result.orphan"}},
		{name: "same result again", before: []*act.Action{call, step(act.ToolResult, "x-1")}, a: step(act.ToolResult, "x-1"), repeat: true},
		{name: "second result", before: []*act.Action{call, step(act.ToolResult, "x-1")}, a: step(act.ToolResult, "x-1", other, func(a *act.Action) { a.Step = "st-9" }), want: []string{"result.repeated"}},

		{name: "same call again", before: []*act.Action{call}, a: call, repeat: true},
		{name: "same call in a new step", before: []*act.Action{call}, a: step(act.ToolCall, "x-1", func(a *act.Action) { a.Step = "st-9" }), repeat: true},
		{name: "execution id for another call", before: []*act.Action{call}, a: step(act.ToolCall, "x-1", other, func(a *act.Action) { a.Step = "st-9" }), want: []string{"id.reused"}},
		{name: "step id for another act", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.Step = "st-x-1" }), want: []string{"id.reused"}},
		{name: "call and result in one step", before: []*act.Action{call}, a: step(act.ToolResult, "x-1", func(a *act.Action) { a.Step = "st-x-1" })},
		{name: "message id reused", before: []*act.Action{step(act.MessageUser, "m1")}, a: step(act.MessageUser, "m1", other, func(a *act.Action) { a.Step = "st-9" }), want: []string{"id.reused"}},
		{name: "step id in another turn", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.Step, a.Turn = "st-x-1", "t-2" })},

		{name: "instructions changed", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.Agent.Raw, a.Agent.Instructions = []byte(`{}`), []byte(`"Harm."`) }), want: []string{"agent.changed"}},
		{name: "tools left out", before: []*act.Action{step(act.MessageUser, "m", func(a *act.Action) { a.Agent.Tools = []byte(`[1]`) })}, a: call},
		{name: "tools changed after they were left out", before: []*act.Action{step(act.MessageUser, "m", func(a *act.Action) { a.Agent.Tools = []byte(`[1]`) }), step(act.MessageUser, "m2")},
			a: step(act.MessageUser, "m3", func(a *act.Action) { a.Agent.Tools = []byte(`[2]`) }), want: []string{"agent.changed"}},
		{name: "other agent", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.Agent.ID = "lend-2" }), want: []string{"session.shared"}},
		{name: "other user", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", user("eve")), want: []string{"session.shared"}},
		{name: "no user", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.User = act.User{} })},
		{name: "foreign organization", a: step(act.ToolCall, "x-1", func(a *act.Action) { a.Agent.Organization = "oak" }), want: []string{"org.foreign"}},

		{name: "old timestamp", a: step(act.ToolCall, "x-1", func(a *act.Action) { a.SaidAt = start.Add(-time.Hour) }), want: []string{"time.skew"}},
		{name: "backwards", before: []*act.Action{call}, a: step(act.ToolCall, "x-2", func(a *act.Action) { a.SaidAt = start.Add(-6 * time.Minute) }), want: []string{"time.backwards"}},

		{name: "taint", before: []*act.Action{step(act.KnowledgeRetrieve, "k")}, a: call, want: []string{"taint.consequential"}},
		{name: "taint of another turn", before: []*act.Action{step(act.KnowledgeRetrieve, "k")}, a: step(act.ToolCall, "x-1", func(a *act.Action) { a.Turn = "t-2" })},
		{name: "autonomous", before: []*act.Action{step(act.Trigger, "e", user(""))}, a: step(act.ToolCall, "x-1", user(""), func(a *act.Action) { a.Turn = "t-2" }), want: []string{"autonomous"}},
		{name: "answer to nothing", a: step(act.MessageAgent, "m1"), want: []string{"order.unexpected"}},
		{name: "answer to a question", before: []*act.Action{step(act.MessageUser, "m0")}, a: step(act.MessageAgent, "m1")},

		{name: "MCP answer", before: []*act.Action{step(act.MCPRequest, "c1")}, a: step(act.MCPResponse, "c1")},
		{name: "MCP answer to nothing", a: step(act.MCPResponse, "c1"), want: []string{"reply.orphan"}},
		{name: "MCP answer of a denied request", before: []*act.Action{step(act.MCPRequest, "c1")}, denied: true, a: step(act.MCPResponse, "c1"), want: []string{"result.denied"}},
		{name: "MCP answer of a held request, which its user agreed to", before: []*act.Action{step(act.MCPRequest, "c1")}, held: true, a: step(act.MCPResponse, "c1", dialogue), want: []string{"result.dialogue"}},
		{name: "MCP ids may come again", before: []*act.Action{step(act.MCPRequest, "1")}, a: step(act.MCPRequest, "1", other, func(a *act.Action) { a.Step = "st-9" })},
		{name: "cited source unknown", a: step(act.MessageUser, "m", func(a *act.Action) { a.Cites, a.Resources = []string{"rules"}, []string{} }), want: []string{"citation.unknown"}},
		{name: "cited source retrieved", before: []*act.Action{step(act.KnowledgeRetrieve, "k", func(a *act.Action) { a.Retrieved = []string{"rules"} })},
			a: step(act.MessageUser, "m", func(a *act.Action) { a.Cites, a.Resources = []string{"rules"}, []string{} })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &State{Known: true}
			for _, b := range tt.before {
				effect := act.Allow
				if tt.denied {
					effect = act.Deny
				}
				if tt.held {
					effect = act.Escalate
				}
				remember(s, b, effect)
			}
			v, repeat := s.Check(tt.a, nil)
			if diff := cmp.Diff(tt.want, checks(v)); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if (repeat != nil) != tt.repeat {
				t.Errorf("repeat = %v, want %v", repeat != nil, tt.repeat)
			}
		})
	}
}

func TestMemoryOwners(t *testing.T) {
	a := step(act.MemoryRetrieve, "", func(a *act.Action) {
		a.Content = []act.Leaf{{Pointer: "/params/memory/0"}, {Pointer: "/params/memory/1"}, {Pointer: "/params/memory/2"}, {Pointer: "/params/memory/3"}}
	})
	s := &State{Known: true}
	v, _ := s.Check(a, []Owner{OwnerOf(a.User), OwnerOf(act.User{ID: "eve"}), 0, SharedOwner})
	want := []act.Violation{
		{Check: "memory.foreign", Pointer: "/params/memory/1", Message: "This memory was stored for another user."},
		{Check: "memory.unknown", Pointer: "/params/memory/2", Message: "This memory was never stored through the guardian."},
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// mcpCall is a call of an MCP server's tool, and mcpAnswer what the server answers;
// digest names what is done or said.
func mcpCall(id, digest string, edit ...func(*act.Action)) *act.Action {
	return step(act.MCPRequest, id, append([]func(*act.Action){func(a *act.Action) {
		a.InnerMethod, a.Step, a.Turn, a.Digest = "tools/call", "", "", sha256.Sum256([]byte(digest))
	}}, edit...)...)
}

func mcpAnswer(id, digest string) *act.Action {
	return step(act.MCPResponse, id, func(a *act.Action) {
		a.Step, a.Turn, a.Digest = "", "", sha256.Sum256([]byte(digest))
	})
}

// TestMCPCalls: a call of an MCP server's tool counts as any other does, whatever
// ids it has, and once where the agent's step was asked about as well.
func TestMCPCalls(t *testing.T) {
	same := func(int) string { return "same" }
	for _, tt := range []struct {
		name   string
		id     func(i int) string
		answer func(i int) string // nil for none
		every  time.Duration
		loop   int // the call that makes a loop; 0 for none
	}{
		{"no ids", func(int) string { return "" }, nil, 0, loopCalls},
		{"one id for all", func(int) string { return "1" }, nil, 0, loopCalls},
		{"an id each", strconv.Itoa, nil, 0, loopCalls},
		{"the same answer", strconv.Itoa, same, 0, loopCalls},
		{"other answers", strconv.Itoa, strconv.Itoa, 0, 0},
		{"other answers, ids from the start again", func(i int) string { return strconv.Itoa(i % 5) }, strconv.Itoa, 0, 0},
		{"now and then, in a session without turns", strconv.Itoa, same, 3 * time.Minute, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &State{Known: true}
			for i := range 2 * loopCalls {
				at := func(a *act.Action) { a.At = start.Add(time.Duration(i) * tt.every) }
				call := mcpCall(tt.id(i), "call", at)
				v, repeat := s.Check(call, nil)
				if repeat != nil {
					t.Fatalf("call %d is taken for one that was asked about before", i+1)
				}
				if slices.Contains(checks(v), "call.loop") {
					if i+1 != tt.loop {
						t.Errorf("call %d is a loop", i+1)
					}
					return
				}
				remember(s, call, act.Allow)
				if s.Calls != int64(i+1) {
					t.Fatalf("after %d calls, %d are counted", i+1, s.Calls)
				}
				if tt.answer != nil {
					remember(s, mcpAnswer(tt.id(i), tt.answer(i)), act.Allow)
				}
			}
			if tt.loop != 0 {
				t.Error("it is no loop")
			}
		})
	}

	t.Run("the step and the message of one call", func(t *testing.T) {
		s := &State{Known: true}
		for i := range 6 {
			id := fmt.Sprint(i)
			asked := step(act.ToolCall, "x"+id, func(a *act.Action) { a.Digest = sha256.Sum256([]byte("call")) })
			for _, a := range []*act.Action{asked, mcpCall("q"+id, "call", func(a *act.Action) { a.Turn = "t-1" })} {
				if v, _ := s.Check(a, nil); slices.Contains(checks(v), "call.loop") {
					t.Errorf("call %d is a loop", i+1)
				}
				remember(s, a, act.Allow)
			}
			if s.Calls != int64(i+1) {
				t.Fatalf("after %d calls, %d are counted", i+1, s.Calls)
			}
		}
		// A message that no step was asked about counts: here the seventh call is sent twice.
		remember(s, step(act.ToolCall, "x", func(a *act.Action) { a.Digest = sha256.Sum256([]byte("call")) }), act.Allow)
		remember(s, mcpCall("q", "call", func(a *act.Action) { a.Turn = "t-1" }), act.Allow)
		remember(s, mcpCall("r", "call", func(a *act.Action) { a.Turn = "t-1" }), act.Allow)
		if s.Calls != 8 {
			t.Errorf("%d calls are counted", s.Calls)
		}
	})

	t.Run("tainted and autonomous", func(t *testing.T) {
		s := &State{Known: true}
		remember(s, step(act.Trigger, "e", func(a *act.Action) { a.Turn, a.User = "", act.User{} }), act.Allow)
		v, _ := s.Check(mcpCall("1", "call", func(a *act.Action) { a.User = act.User{} }), nil)
		if diff := cmp.Diff([]string{"taint.consequential", "autonomous"}, checks(v)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	// The tasks of a workflow are planned, alike ones, too: many are no loop, and each counts.
	t.Run("tasks", func(t *testing.T) {
		s := &State{Known: true}
		for i := range 3 * loopCalls {
			a := step(act.TaskStart, fmt.Sprint(i), func(a *act.Action) { a.Turn, a.Digest = "", act.Digest{1} })
			if v, _ := s.Check(a, nil); len(v) != 0 {
				t.Fatalf("task %d: %v", i+1, checks(v))
			}
			remember(s, a, act.Allow)
		}
		if s.Calls != 3*loopCalls {
			t.Errorf("%d calls are counted", s.Calls)
		}
	})
}

// TestLoop: the same call over and over is a loop, unless something new happens
// meanwhile.
func TestLoop(t *testing.T) {
	about := func(what string) func(*act.Action) {
		return func(a *act.Action) { a.Digest = sha256.Sum256([]byte(what)) }
	}
	for _, tt := range []struct {
		name string
		// between makes the steps between a call, by its number, and the next.
		between func(i int) []*act.Action
		loop    int // the call that makes it one; 0 for none
	}{
		{"nothing", func(int) []*act.Action { return nil }, loopCalls},
		{"the same answer", func(i int) []*act.Action { return []*act.Action{step(act.ToolResult, fmt.Sprint(i), about("same"))} }, loopCalls},
		{"other answers", func(i int) []*act.Action {
			return []*act.Action{step(act.ToolResult, fmt.Sprint(i), about(fmt.Sprint("answer ", i)))}
		}, 0},
		{"two answers in turn", func(i int) []*act.Action {
			return []*act.Action{step(act.ToolResult, fmt.Sprint(i), about(fmt.Sprint("answer ", i%2)))}
		}, loopCalls + 1},
		{"a change each time", func(i int) []*act.Action {
			return []*act.Action{step(act.ToolResult, fmt.Sprint(i), about("same")), step(act.ToolCall, fmt.Sprint("e", i), about(fmt.Sprint("edit ", i)))}
		}, 0},
		{"another call each time, the same", func(i int) []*act.Action {
			return []*act.Action{step(act.ToolCall, fmt.Sprint("e", i), about("other")), step(act.ToolResult, fmt.Sprint("e", i), about(fmt.Sprint("answer ", i)))}
		}, loopCalls + 1},
		{"denied calls", func(i int) []*act.Action {
			return []*act.Action{step(act.ToolCall, fmt.Sprint("e", i), about(fmt.Sprint("edit ", i)), func(a *act.Action) { a.Resource = "denied" })}
		}, loopCalls},
		{"a change after seven", func(i int) []*act.Action {
			if i != 6 {
				return nil
			}
			return []*act.Action{step(act.ToolCall, "e", about("edit"))}
		}, 7 + loopCalls},
		{"new turns", func(int) []*act.Action { return nil }, 0},
	} {
		for _, named := range []bool{true, false} { // whether the steps have ids
			t.Run(fmt.Sprint(tt.name, " ", named), func(t *testing.T) {
				s := &State{Known: true}
				call := func(i int) *act.Action {
					return step(act.ToolCall, fmt.Sprint(i), about("call"), func(a *act.Action) {
						if tt.name == "new turns" {
							a.Turn = fmt.Sprint("t-", i/5)
						}
						if !named {
							a.Step = ""
						}
					})
				}
				for i := range 2 * loopCalls {
					a := call(i)
					v, _ := s.Check(a, nil)
					if slices.Contains(checks(v), "call.loop") {
						if i+1 != tt.loop {
							t.Errorf("call %d is a loop", i+1)
						}
						return
					}
					remember(s, a, act.Allow)
					for _, b := range tt.between(i) {
						effect := act.Allow
						if b.Resource == "denied" {
							effect = act.Deny
						}
						if !named {
							b.Step = ""
						}
						s.Check(b, nil)
						remember(s, b, effect)
					}
				}
				if tt.loop != 0 {
					t.Error("it is no loop")
				}
			})
		}
	}
}

func TestRate(t *testing.T) {
	s := &State{Known: true}
	for i := range rateCalls {
		remember(s, step(act.ToolCall, fmt.Sprint(i)), act.Allow)
	}
	a := step(act.ToolCall, "next")
	if v, _ := s.Check(a, nil); len(v) != 1 || v[0].Check != "session.rate" {
		t.Errorf("call %d: %v, want session.rate", rateCalls+1, checks(v))
	}
	a.At = start.Add(rateWindow)
	if v, _ := s.Check(a, nil); v != nil {
		t.Errorf("a minute later: %v", checks(v))
	}
}

// A pinned MCP definition that changes is noticed; so is a tool never listed.
func TestPinning(t *testing.T) {
	list := func(hash byte) *act.Action {
		return step(act.MCPResponse, "l", func(a *act.Action) {
			a.Listed = []act.Definition{{Name: "search", Hash: act.Digest{hash}}}
		})
	}
	call := func(tool string) *act.Action {
		return step(act.MCPRequest, "c-"+tool, func(a *act.Action) { a.InnerMethod, a.Canonical, a.Turn = "tools/call", tool, "t-2" })
	}
	s := &State{Known: true}
	remember(s, step(act.MCPRequest, "l", func(a *act.Action) { a.InnerMethod = "tools/list" }), act.Allow)
	remember(s, list(1), act.Allow)
	changed := list(2)
	changed.Digest, changed.Step = act.Digest{9}, "again"
	if v, _ := s.Check(changed, nil); len(v) != 1 || v[0].Check != "mcp.changed" {
		t.Errorf("changed definition: %v", checks(v))
	}
	if v, _ := s.Check(call("search"), nil); len(v) != 0 {
		t.Errorf("listed tool: %v", checks(v))
	}
	if v, _ := s.Check(call("wipe"), nil); len(v) != 1 || v[0].Check != "mcp.unlisted" {
		t.Errorf("unlisted tool: %v", checks(v))
	}
}

// Forgotten memory flags and never claims to be sure.
func TestUnknownSession(t *testing.T) {
	s := &State{}
	v, _ := s.Check(step(act.ToolResult, "x-1"), nil)
	if diff := cmp.Diff([]string{"session.unknown?", "result.orphan?"}, checks(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A session remembers the same after it was written out and read back.
func TestRestore(t *testing.T) {
	live := &State{Known: true}
	var writes []Write
	for i := range 300 {
		kind := act.Kinds[i%len(act.Kinds)]
		a := step(kind, fmt.Sprint(i), func(a *act.Action) {
			a.At = start.Add(time.Duration(i) * time.Second)
			if kind == act.MCPResponse {
				a.Listed = []act.Definition{{Name: fmt.Sprint(i), Hash: act.Digest{byte(i)}}}
			}
		})
		a.Content = []act.Leaf{{Pointer: "/t", Text: fmt.Sprintf("value%dx and account%dy", i, i)}}
		st := live.Step(a, act.Effect(i%4))
		live.Read(st, a, provenance.Source{By: provenance.Origin(1 + i%3), Tags: []string{fmt.Sprint("tag", i%5)}}, nil)
		at := act.Position{Index: uint64(1000 + i)}
		writes = append([]Write{{At: at, Data: st.Append(nil)}}, writes...)
		live.Place(live.Apply(st), at)
	}
	same := func(what string, back *State, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live, back, cmp.Exporter(func(reflect.Type) bool { return true }), cmp.Comparer(func(a, b hashes) bool { return a.keys == nil && b.keys == nil }), cmp.Transformer("ms", time.Time.UnixMilli)); diff != "" {
			t.Errorf("%s (-live +restored):\n%s", what, diff)
		}
	}
	back, err := Restore(writes, true)
	same("restored state", back, err)
	// One that was read before, and follows what another node has written since.
	for _, since := range []int{1, 2, 31, 299} {
		back, err := Restore(writes[since:], true)
		if err == nil {
			err = back.Follow(writes[:since])
		}
		same(fmt.Sprintf("with %d writes of another node", since), back, err)
	}
}

// The memory of a session is bounded, and dropping ids makes orphans unsure.
func TestBounded(t *testing.T) {
	s := &State{Known: true}
	for i := range maxIDs {
		remember(s, step(act.ToolCall, fmt.Sprint(i)), act.Allow)
	}
	if len(s.ids) != maxIDs || len(s.index) > maxIDs {
		t.Errorf("%d ids and %d in the index, want at most %d", len(s.ids), len(s.index), maxIDs)
	}
	v, _ := s.Check(step(act.ToolResult, "0"), nil)
	for _, x := range v {
		if x.Check == "result.orphan" && !x.Unsure {
			t.Error("the result of a call that was dropped from memory is called an orphan for sure")
		}
	}
	last := fmt.Sprint(maxIDs - 1)
	if v, repeat := s.Check(step(act.ToolCall, last), nil); repeat == nil {
		t.Errorf("the newest call is not recognized: %v", checks(v))
	}
}

// A request can hold tens of thousands of arguments, declarations and sources:
// comparing each with each would take seconds, with the session locked.
func TestLargeRequests(t *testing.T) {
	const n = 40_000
	call := step(act.ToolCall, "x", func(a *act.Action) {
		a.Agent.Tools, a.Resource, a.Tool = []byte(`[]`), "search", &act.Tool{ID: "search"}
		for i := range n {
			a.Tool.Arguments = append(a.Tool.Arguments, act.ToolArgument{Name: fmt.Sprint("d", i), ID: fmt.Sprint("i", i), Required: true})
			a.Arguments = append(a.Arguments, act.Argument{Name: fmt.Sprint("a", i), Value: []byte("1"), Pointer: fmt.Sprint("/", i)})
		}
	})
	message := step(act.MessageUser, "m", func(a *act.Action) {
		a.Resources = []string{}
		for i := range n {
			a.Cites = append(a.Cites, fmt.Sprint("c", i))
			a.Resources = append(a.Resources, fmt.Sprint("r", i))
		}
	})
	leak := step(act.MessageAgent, "m", func(a *act.Action) {
		a.Turn = ""
		a.Agent.Instructions = []byte(`"` + strings.Repeat("abcdefgh", 600) + `"`)
		a.Content = []act.Leaf{{Text: strings.Repeat("abcdefgX", 500_000)}}
	})
	for _, tt := range []struct {
		a     *act.Action
		check string
		more  int
	}{
		{call, "tool.arguments", 2*n - maxViolations},
		{message, "citation.unknown", n - maxViolations},
		{leak, "", 0},
	} {
		began := time.Now()
		v, _ := (&State{Known: true}).Check(tt.a, nil)
		if took := time.Since(began); took > 3*time.Second { // comparing each with each takes twenty
			t.Errorf("%s took %v", tt.a.Kind, took)
		}
		if tt.check == "" {
			if v != nil {
				t.Errorf("%s: %v", tt.a.Kind, checks(v))
			}
			continue
		}
		if len(v) != maxViolations+1 {
			t.Fatalf("%s: %d violations, want %d", tt.a.Kind, len(v), maxViolations+1)
		}
		want := act.Violation{Check: tt.check, Message: fmt.Sprintf("There are %d more of this kind.", tt.more)}
		if diff := cmp.Diff(want, v[maxViolations]); diff != "" {
			t.Errorf("the last violation (-want +got):\n%s", diff)
		}
	}
}

// A violation that is certain is not hidden behind many that are not.
func TestManyViolationsKeepTheCertainOne(t *testing.T) {
	for _, certain := range []bool{false, true} {
		var c checker
		for range maxViolations + 2 {
			c.addUnless(true, "mcp.changed", "", "Perhaps.")
		}
		if certain {
			c.add("mcp.changed", "", "Surely.")
		}
		v := c.violations()
		if last := v[len(v)-1]; last.Unsure == certain {
			t.Errorf("certain = %v: %+v", certain, last)
		}
	}
}

// Of an argument that goes by one declaration's name and another's id, the
// declaration that stands first counts.
func TestArgumentsByNameAndID(t *testing.T) {
	for _, tt := range []struct {
		arg  act.Argument
		want []string
	}{
		{act.Argument{Name: "n1", ID: "i0", Value: []byte(`"text"`)}, nil},
		{act.Argument{Name: "n0", ID: "i1", Value: []byte(`"text"`)}, nil},
		{act.Argument{Name: "n1", Value: []byte(`"text"`)}, []string{"tool.arguments", "tool.arguments"}}, // a wrong type, and n0 is missing
		{act.Argument{ID: "i0", Value: []byte(`"text"`)}, nil},
		{act.Argument{Name: "x", Value: []byte(`"text"`)}, []string{"tool.arguments", "tool.arguments"}},
	} {
		a := step(act.ToolCall, "x", func(a *act.Action) {
			a.Agent.Tools, a.Tool, a.Arguments = []byte(`[]`), &act.Tool{Arguments: []act.ToolArgument{
				{Name: "n0", ID: "i0", Type: "string", Required: true}, {Name: "n1", ID: "i1", Type: "number"}, {Name: "n1", Type: "string"},
			}}, []act.Argument{tt.arg}
		})
		v, _ := (*State)(nil).Check(a, nil)
		if diff := cmp.Diff(tt.want, checks(v)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.arg, diff)
		}
	}
}

// What the agent says is searched for its instructions at every place.
func TestLeak(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "Rule %d says something else. ", i*i)
	}
	instructions := b.String()
	for _, tt := range []struct {
		text string
		want bool
	}{
		{instructions[:200], true},
		{"They say: " + instructions[1000:1200], true},
		{instructions[1000:1200] + " they say", true},
		{instructions[3000:3120], true},
		{instructions[1000:1060], false}, // shorter than a passage
		{strings.ToUpper(instructions[:400]), false},
		{strings.Repeat("Rule ", 500), false},
		{"", false},
	} {
		a := step(act.MessageAgent, "m", func(a *act.Action) {
			a.Agent.Instructions, a.Content = []byte(`"`+instructions+`"`), []act.Leaf{{Pointer: "/0"}, {Pointer: "/1", Text: tt.text}}
		})
		v, _ := (*State)(nil).Check(a, nil)
		if got := len(v) == 1 && v[0].Check == "prompt.leak" && v[0].Pointer == "/1"; got != tt.want {
			t.Errorf("%.40q: %v, want a leak: %v", tt.text, checks(v), tt.want)
		}
	}
}

// A denied step leaves its ids, and nothing by which it could shut out the one
// to whom the session belongs.
func TestDeniedStepLeavesOnlyIDs(t *testing.T) {
	stranger := func(kind act.Kind, id string) *act.Action {
		return step(kind, id, func(a *act.Action) {
			a.At = start.Add(-time.Hour)
			a.Agent, a.User = act.Agent{ID: "evil", Organization: "oak", Raw: []byte(`{}`), Instructions: []byte(`"x"`)}, act.User{ID: "eve"}
		})
	}
	for _, effect := range []act.Effect{act.Deny, act.Escalate} {
		s := &State{Known: true}
		for i := range rateCalls + 1 {
			remember(s, stranger(act.ToolCall, fmt.Sprint("e", i)), effect)
		}
		if s.Calls != 0 || s.windowCalls != 0 || !s.Started.IsZero() {
			t.Errorf("%s: %d calls, %d in the window, started %v", effect, s.Calls, s.windowCalls, s.Started)
		}
		if v, _ := s.Check(step(act.ToolCall, "x"), nil); v != nil {
			t.Errorf("%s: the first step of the session's owner: %v", effect, checks(v))
		}
		remember(s, step(act.ToolCall, "x"), act.Allow)
		if !s.Started.Equal(start) {
			t.Errorf("%s: started %v, want %v", effect, s.Started, start)
		}
		if v, _ := s.Check(stranger(act.ToolCall, "e-new"), nil); len(v) == 0 || v[len(v)-1].Check != "session.shared" {
			t.Errorf("%s: a stranger's step in an owned session: %v", effect, checks(v))
		}
		if _, repeat := s.Check(stranger(act.ToolCall, "e1"), nil); repeat != nil {
			t.Errorf("%s: another agent gets the recorded answer", effect)
		}
		if v, _ := s.Check(step(act.ToolResult, "e1"), nil); !slices.Contains(checks(v), "result.denied") {
			t.Errorf("%s: the result of a denied call: %v", effect, checks(v))
		}
		if v, _ := s.Check(step(act.ToolCall, "e1", func(a *act.Action) { a.Digest = act.Digest{1} }), nil); !slices.Contains(checks(v), "id.reused") {
			t.Errorf("%s: a denied call's id again: %v", effect, checks(v))
		}
	}

	// The event that starts the session still starts it after a denied step.
	s := &State{Known: true}
	remember(s, stranger(act.ToolCall, "e"), act.Deny)
	remember(s, step(act.Trigger, "t"), act.Allow)
	if !s.Autonomous {
		t.Error("a denied step hides that an event started the session")
	}
}

// A definition that was pinned longer ago than what is read of a session is
// not taken for a new one.
func TestLostPins(t *testing.T) {
	list := func(hash byte) *act.Action {
		return step(act.MCPResponse, "l", func(a *act.Action) {
			a.Step, a.Digest = fmt.Sprint("l", hash), act.Digest{hash}
			a.Listed = []act.Definition{{Name: "search", Hash: act.Digest{hash}}, {Name: "fetch", Hash: act.Digest{hash}}}
		})
	}
	call := step(act.MCPRequest, "c", func(a *act.Action) { a.InnerMethod, a.Canonical = "tools/call", "wipe" })
	s := &State{Known: true}
	var writes []Write
	add := func(a *act.Action) {
		st := s.Step(a, act.Allow)
		at := act.Position{Index: uint64(len(writes))}
		writes = slices.Insert(writes, 0, Write{At: at, Data: st.Append(nil)})
		s.Place(s.Apply(st), at)
	}
	add(step(act.MCPRequest, "l"))
	if v, _ := s.Check(list(1), nil); v != nil {
		t.Errorf("the first list: %v", checks(v))
	}
	add(list(1))
	for i := range MaxReplay {
		add(step(act.MessageUser, fmt.Sprint(i)))
	}
	back, err := Restore(writes[:MaxReplay], false)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := back.Check(list(2), nil)
	if diff := cmp.Diff([]string{"reply.orphan?", "mcp.changed?"}, checks(v)); diff != "" {
		t.Errorf("a changed definition whose pin is lost (-want +got):\n%s", diff)
	}
	if v, _ := back.Check(call, nil); !slices.Contains(checks(v), "mcp.unlisted?") {
		t.Errorf("a tool that may never have been listed: %v", checks(v))
	}
	// Seen once, they are pinned again.
	remember(back, list(2), act.Allow)
	if v, _ := back.Check(list(3), nil); !slices.Equal(checks(v), []string{"reply.orphan?", "mcp.changed", "mcp.changed"}) {
		t.Errorf("a change since then: %v", checks(v))
	}
	// What could not be pinned for their number is not taken for new either.
	full := &State{Known: true}
	remember(full, step(act.MCPResponse, "l", func(a *act.Action) {
		for i := range maxTools {
			a.Listed = append(a.Listed, act.Definition{Name: fmt.Sprint(i)})
		}
	}), act.Allow)
	if v, _ := full.Check(list(1), nil); !slices.Contains(checks(v), "mcp.changed?") {
		t.Errorf("a definition beyond those that are pinned: %v", checks(v))
	}
}

// Step uses what Check has worked out, for the same act only, and a session
// does not hold on to a request.
func TestHashesOfTheSameAct(t *testing.T) {
	s := &State{Known: true}
	one, other := step(act.ToolCall, "one"), step(act.ToolCall, "other", func(a *act.Action) { a.Agent.ID = "lend-2" })
	s.Check(one, nil)
	if h := s.hashesOf(one); &h.keys[0] != &s.checked.keys[0] {
		t.Error("the hashes of an act that was checked are worked out anew")
	}
	if diff := cmp.Diff((&State{Known: true}).Step(other, act.Allow).Append(nil), s.Step(other, act.Allow).Append(nil)); diff != "" {
		t.Errorf("a step after another act's check (-want +got):\n%s", diff)
	}
	s.Check(one, nil)
	first := s.checked.keys
	if s.Step(one, act.Allow); s.checked.keys != nil {
		t.Error("the hashes are kept after the step")
	}
	if s.hashesOf(one); &first[0] == &s.checked.keys[0] {
		t.Error("one step's keys are shared with the next")
	}
	if s.Uncheck(); s.checked.of != nil {
		t.Error("a session holds on to an act without a step")
	}
}

func FuzzParseStep(f *testing.F) {
	s := &State{Known: true}
	f.Add(s.Step(step(act.ToolCall, "x"), act.Allow).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := parseStep(data)
		if err != nil {
			return
		}
		again, err := parseStep(st.Append(nil))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(st, again, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}

// The cost of a step does not grow with the steps before it.
func BenchmarkStep(b *testing.B) {
	for _, before := range []int{0, 1000, 100_000} {
		b.Run(fmt.Sprintf("before=%d", before), func(b *testing.B) {
			s := &State{Known: true}
			for i := range before {
				remember(s, step(act.ToolCall, fmt.Sprint("b", i)), act.Allow)
			}
			a := step(act.ToolCall, "x", func(a *act.Action) { a.At = start.Add(time.Hour) })
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				a.Step, a.ID = fmt.Sprint("s", i), fmt.Sprint("x", i)
				a.Digest = sha256.Sum256([]byte(a.ID))
				s.Check(a, nil)
				st := s.Step(a, act.Allow)
				st.Append(nil)
				s.Apply(st)
			}
		})
	}
}

// TestHints: what a server said of a tool when it listed it is known of calls and of their
// results, after the memory was read anew, and as the newest list has it.
func TestHints(t *testing.T) {
	s := &State{Known: true}
	var writes []Write
	take := func(a *act.Action) {
		t.Helper()
		s.Check(a, nil)
		st := s.Step(a, act.Allow)
		writes = append([]Write{{Data: st.Append(nil)}}, writes...)
		s.Apply(st)
	}
	list := func(id string, hints act.Hints) {
		take(step(act.MCPResponse, id, func(a *act.Action) { a.Listed = []act.Definition{{Name: "search", Hints: hints}} }))
	}
	call := step(act.MCPRequest, "c", func(a *act.Action) { a.InnerMethod, a.Canonical = "tools/call", "search" })
	other := step(act.MCPRequest, "d", func(a *act.Action) { a.InnerMethod, a.Canonical = "tools/call", "fetch" })
	for _, hints := range []act.Hints{act.OpenWorld | act.ReadOnly, act.Destructive, 0} {
		list(fmt.Sprint("l", hints), hints)
		again, err := Restore(writes, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{s, again} {
			if got := s.Hints(call); got != hints {
				t.Errorf("%s, want %s", got.Names(), hints.Names())
			}
			if got := s.Hints(other); got != 0 {
				t.Errorf("of a tool that was not listed: %s", got.Names())
			}
		}
	}
}
