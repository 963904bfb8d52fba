package policy

import (
	"fmt"
	"net/url"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
)

// The executors whose tasks do what other doors report as an act of its own.
const (
	mcpExecutor = "mcp_executor"
	a2aExecutor = "a2a_executor"
)

// Inner is what the start of a task has its executor do, as the act that it is by every other door: the request to
// an MCP server, or the message to another agent. Rules for either hold for it as they do there. Its pointers are those
// of the start, and so are its digest and body. It is nil where a start has none, and of all other acts.
func Inner(a *act.Action) *act.Action {
	if a.Kind != act.TaskStart || a.Resource != mcpExecutor && a.Resource != a2aExecutor {
		return nil
	}
	inputs := map[string]*act.Argument{}
	for i := range a.Arguments {
		inputs[a.Arguments[i].Name] = &a.Arguments[i]
	}
	text := func(name string) (said string) {
		if arg := inputs[name]; arg != nil {
			if doc, err := rawjson.Parse(arg.Value); err == nil {
				said = doc.Root().Text()
			}
		}
		return said
	}
	b, set := *a, content.Set{}
	b.Arguments, b.Server, b.From = nil, hostNamed(text("url")), ""
	if a.Resource == a2aExecutor {
		b.Kind, b.InnerMethod, b.Resource = act.A2ASend, "SendMessage", b.Server
		for _, name := range []string{"message", "metadata"} {
			if arg := inputs[name]; arg != nil {
				if doc, err := rawjson.Parse(arg.Value); err == nil {
					addParts(&set, doc.Root(), arg.Pointer)
				}
			}
		}
	} else {
		b.Kind = act.MCPRequest
		switch {
		case text("tool") != "":
			b.InnerMethod, b.Resource = "tools/call", text("tool")
		case text("resource") != "":
			b.InnerMethod, b.Resource = "resources/read", text("resource")
		default:
			b.InnerMethod, b.Resource = "prompts/get", text("prompt")
		}
		if arg := inputs["arguments"]; arg != nil {
			if doc, err := rawjson.Parse(arg.Value); err == nil && doc.Root().Kind() == rawjson.Object {
				b.Arguments = set.AddArguments(doc.Root(), arg.Pointer)
			}
		}
	}
	b.Content = set.Leaves
	b.Canonical, b.Confusable = canon.Name(b.Resource)
	return &b
}

// addParts adds the texts of a message: of a part that is a file, what its bytes say.
func addParts(set *content.Set, v rawjson.Value, at string) {
	if v.Kind() != rawjson.Array {
		set.AddAll(v, act.Leaf{Pointer: at}, nil)
		return
	}
	for i, part := range v.Elems() {
		leaf := act.Leaf{Pointer: content.Index(at, i), Item: content.Index(at, i)}
		set.AddAll(part, leaf, func(name string, _ rawjson.Value) bool { return name == "raw" })
		if raw := part.Get("raw"); raw.Exists() {
			set.AddFile(raw, part.Get("mediaType").Text(), act.Leaf{Pointer: content.Join(leaf.Pointer, "raw"), Item: leaf.Item})
		}
	}
}

// hostNamed is the host that an address names; empty where there is none.
func hostNamed(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// withInner takes what the policy says of an act's inner one into its verdict, and how that is changed.
func (s *Set) withInner(v *Verdict, in *Input, inner *act.Action) {
	w := s.readings(s.innerInput(in, inner))
	edits, err := compose(v.Edits, w.Edits)
	v.join(&w, fmt.Sprintf("This is so of what the task does by its executor (%s %s).", inner.Kind, inner.Resource))
	switch {
	case v.Effect == act.Deny:
	case err != nil:
		v.deny(unsettled(v))
	default:
		v.Edits = edits
	}
}

// innerInput is what the inner act is judged by, within what its session knows.
func (s *Set) innerInput(in *Input, inner *act.Action) *Input {
	of := *in
	of.Action, of.Reading, of.targets = inner, hazard.Read(inner), nil
	of.Refusals = s.Forbids(inner)
	return &of
}
