package acs

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/jsonrpc"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// payload is where what a step is about stands in a request.
const payload = "/params/payload"

// ActionOf returns the act that a request asks about, given as its JSON, without who asks.
func ActionOf(body []byte) (*act.Action, error) {
	r, err := jsonrpc.RequestOf(body)
	if err != nil {
		return nil, err
	}
	if fault := envelope.Check(r.Params, r.Message); fault != nil {
		return nil, fault
	}
	a, fault := decode(r)
	if fault != nil {
		return nil, fault
	}
	return a, nil
}

// decoder makes one act of one request, whose envelope is checked.
type decoder struct {
	a     *act.Action
	p     rawjson.Value // the payload
	texts content.Set
}

// decode reads a step. A method that is none of ACS has no act and no fault.
func decode(r *jsonrpc.Request) (*act.Action, *params.Fault) {
	meta := r.Params.Get("metadata")
	d := decoder{p: r.Params.Get("payload"), a: &act.Action{
		Door: "acs", Method: r.Method, Body: r.Body,
		Agent:   act.Agent{ID: meta.Get("agent_id").Text(), Name: meta.Get("agent_name").Text()},
		User:    act.User{ID: meta.Get("user_context").Get("user_id").Text()},
		Session: meta.Get("session_id").Text(), Turn: meta.Get("turn_id").Text(), Step: r.Params.Get("request_id").Text(),
		ID: r.Params.Get("request_id").Text(), SaidAt: timeOf(r.Params.Get("timestamp")),
	}}
	if method, wrapped := mcpMethod(r.Method); wrapped {
		return d.a, d.mcp(r.Message, method)
	}
	if slices.Contains(boms, r.Method) {
		d.event()
		return d.a, nil
	}
	name, ok := strings.CutPrefix(r.Method, "steps/")
	table := steps[name]
	if !ok || table == nil {
		return nil, nil
	}
	if fault := table.Check(d.p, r.Message); fault != nil {
		return nil, fault
	}
	switch name {
	case "userMessage":
		d.message(act.MessageUser)
	case "agentResponse":
		d.a.Reasoning = d.p.Get("reasoning").Text()
		d.message(act.MessageAgent)
	case "agentTrigger":
		d.a.Kind, d.a.Resource = act.Trigger, d.p.Get("trigger_type").Text()
		d.rest("trigger_type")
	case "knowledgeRetrieval":
		d.a.Kind, d.a.Resource = act.KnowledgeRetrieve, d.p.Get("source").Get("name").Text()
		for _, result := range d.p.Get("results").Elems() {
			d.a.Retrieved = append(d.a.Retrieved, result.Get("source_id").Text())
		}
		d.values("results", "retrieved")
	case "memoryContextRetrieval":
		d.a.Kind = act.MemoryRetrieve
		d.values("results", "retrieved")
	case "memoryStore":
		d.a.Kind = act.MemoryStore
		at := payload + "/content/value"
		d.texts.AddAll(d.p.Get("content").Get("value"), act.Leaf{Pointer: at, Item: at, Foreign: foreign(d.p.Get("content"), "agent_generated")}, nil)
		d.texts.AddOthers(d.p.Get("content"), act.Leaf{Pointer: payload + "/content"}, "value")
		d.rest("content")
	case "toolCallRequest":
		return d.a, d.call(r)
	case "toolCallResult":
		d.a.Kind, d.a.Answers = act.ToolResult, d.p.Get("request_id_ref").Text()
		d.a.Failed = !d.p.Get("exit_status").Is("success")
		d.values("outputs", "tool_output")
	default:
		d.event()
	}
	return d.a, d.full()
}

// full refuses more texts than can be judged at once.
func (d *decoder) full() *params.Fault {
	if d.texts.Full {
		return params.Wrong(payload, "It holds more pieces of text than can be judged at once.", "fewer strings")
	}
	return nil
}

// complete completes an act that does what its payload says.
func (d *decoder) complete() {
	d.texts.Complete(d.a, d.p.AppendCanonical([]byte(`"content":`)))
}

// rest reads the members of the payload beside the known ones, and completes the act.
func (d *decoder) rest(known ...string) {
	d.texts.AddOthers(d.p, act.Leaf{Pointer: payload}, known...)
	d.complete()
}

// event reads what begins or ends in an agent's life.
func (d *decoder) event() {
	d.a.Kind = act.AgentEvent
	d.a.Resource = d.p.Get("skill_id").Text()
	d.rest()
}

// message reads the parts of a message.
func (d *decoder) message(kind act.Kind) {
	d.a.Kind = kind
	from := "user_input"
	if kind == act.MessageAgent {
		from = "agent_generated"
	}
	for i, part := range d.p.Get("content").Elems() {
		item := content.Index(payload+"/content", i)
		leaf := act.Leaf{Pointer: item + "/value", Item: item, Foreign: foreign(part, from)}
		if v := part.Get("value"); v.Kind() == rawjson.String && !part.Get("type").Is("text") {
			d.texts.AddFile(v, "", leaf)
		} else {
			d.texts.AddAll(v, leaf, nil)
		}
		d.texts.AddOthers(part, act.Leaf{Pointer: item}, "type", "value")
	}
	known := []string{"content"}
	if d.a.Reasoning != "" {
		known = append(known, "reasoning")
	}
	d.rest(known...)
}

// foreign reports whether the agent says by a value's provenance that somebody else wrote it.
// channel is where such values come from by their nature: of those it says no more than the
// method does, and the policy's labels know the source. What is said lowers trust and never
// raises it; an origin that is not known is nobody's.
func foreign(holder rawjson.Value, channel string) bool {
	p := holder.Get("provenance")
	if p.Kind() != rawjson.Object {
		return false
	}
	lowered := p.Get("trust").Is("untrusted") || p.Get("trust").Is("unknown")
	switch origin := p.Get("origin").Text(); origin {
	case "user_input", "system":
		return lowered
	case "agent_generated": // which the agent says has the least trust of what it was made of
		return lowered || channel == "user_input"
	default:
		return origin != channel
	}
}

// values reads a list of objects with values, each of which is one item.
func (d *decoder) values(name, channel string) {
	for i, v := range d.p.Get(name).Elems() {
		item := content.Index(payload+"/"+name, i)
		d.texts.AddAll(v.Get("value"), act.Leaf{Pointer: item + "/value", Item: item + "/value", Foreign: foreign(v, channel)}, nil)
		d.texts.AddOthers(v, act.Leaf{Pointer: item}, "value")
	}
	d.rest(name)
}

// call reads a tool's call. What it does is the tool and the arguments' values, as by
// every other door; what else the agent says of it is of the act as well.
func (d *decoder) call(r *jsonrpc.Request) *params.Fault {
	d.a.Kind, d.a.Resource = act.ToolCall, d.p.Get("tool").Get("name").Text()
	d.texts.AddFixed(d.p.Get("tool").Get("name"), act.Leaf{Pointer: payload + "/tool/name"})
	d.texts.AddOthers(d.p.Get("tool"), act.Leaf{Pointer: payload + "/tool"}, "name")
	arguments := d.p.Get("arguments")
	type argument struct {
		name  string
		value rawjson.Value
	}
	var values []argument
	for name, wrapped := range arguments.Members() {
		at := content.Join(payload+"/arguments", name)
		v := wrapped.Get("value")
		if wrapped.Kind() != rawjson.Object || !v.Exists() {
			return params.Wrong(at, "An argument has no value.", `an object with "value"`)
		}
		if fault := argumentTable.Check(wrapped, r.Message); fault != nil {
			return fault
		}
		d.texts.AddName(name, act.Leaf{Pointer: payload + "/arguments", Arg: name})
		d.a.Arguments = append(d.a.Arguments, act.Argument{Name: name, Value: v.Raw(), Pointer: at + "/value"})
		leaf := content.LeafOf(&d.a.Arguments[len(d.a.Arguments)-1])
		leaf.Foreign = foreign(wrapped, "agent_generated")
		d.texts.AddAll(v, leaf, nil)
		d.texts.AddOthers(wrapped, act.Leaf{Pointer: at}, "value")
		values = append(values, argument{name, v})
	}
	if twice, _ := content.Twice(d.a.Arguments); twice != nil {
		return params.Wrong(strings.TrimSuffix(twice.Pointer, "/value"), "Two arguments have names that look the same, and which of them counts cannot be known.", "each argument once")
	}
	// What is run may stand here and nowhere else: it is read as an argument is.
	if raw := d.p.Get("raw_command"); raw.Exists() {
		if arguments.Get("raw_command").Exists() {
			return params.Wrong(payload+"/raw_command", "The command is given twice, and which of them counts cannot be known.", "raw_command, or an argument of this name")
		}
		at := payload + "/raw_command"
		d.a.Arguments = append(d.a.Arguments, act.Argument{Name: "raw_command", Value: raw.Raw(), Pointer: at})
		d.texts.Add(raw, act.Leaf{Pointer: at, Arg: "raw_command"})
	}
	d.texts.AddOthers(d.p, act.Leaf{Pointer: payload}, "tool", "arguments", "raw_command")
	slices.SortFunc(values, func(a, b argument) int { return strings.Compare(a.name, b.name) })
	does := []byte(`"arguments":{`)
	for i, arg := range values {
		if i > 0 {
			does = append(does, ',')
		}
		does = append(rawjson.AppendString(does, arg.name), ':')
		does = arg.value.AppendCanonical(does)
	}
	does = append(does, '}')
	// The same call has one digest by every door, so that what somebody agreed to holds by
	// all of them. What an agent says beside it of the tool, or what it runs, makes another.
	if said := d.p.Get("tool").HasOthers([]string{"name"}) || d.p.HasOthers([]string{"tool", "arguments", "intent"}); said {
		does = append(does, `,"call":`...)
		does = content.AppendWithout(does, d.p, "arguments", "intent")
	}
	d.texts.Complete(d.a, does)
	return d.full()
}

// mcpMethod is the method of MCP that a method of ACS wraps.
func mcpMethod(method string) (inner string, wrapped bool) {
	if inner, ok := strings.CutPrefix(method, "protocols/MCP/"); ok {
		return inner, true
	}
	if rest, ok := strings.CutPrefix(method, "wrapped:mcp-"); ok {
		_, inner, ok = strings.Cut(rest, "/")
		return inner, ok
	}
	return "", false
}

// mcp reads a message of MCP, which is the payload.
func (d *decoder) mcp(request rawjson.Value, method string) *params.Fault {
	v := d.p
	m := v.Get("method")
	answer := v.Get("result").Exists() || v.Get("error").Exists()
	switch {
	case !v.Get("jsonrpc").Is("2.0"):
		return params.Wrong(payload+"/jsonrpc", "The message is no message of MCP.", `"2.0"`)
	case m.Exists() == answer:
		return params.Wrong(payload+"/method", "The message is a request and an answer at once, or neither, and which of them counts cannot be known.", "a method, or else a result or an error")
	case m.Exists() && !m.Is(method):
		return params.Wrong(payload+"/method", "The message has another method than the request says.", "the string "+string(rawjson.Quote(method)))
	case method == "tools/call" && m.Exists() && v.Get("params").Get("name").Kind() != rawjson.String:
		return params.Wrong(payload+"/params/name", "A call must name its tool.", "a string")
	}
	if double := mcp.Double(v, payload); double != nil {
		d.a.Refusals = append(d.a.Refusals, double.Refusal())
	}
	read := mcp.Read(v, payload, &d.texts)
	d.a.Kind, d.a.ID, d.a.Answers = act.MCPResponse, "", read.ID
	if read.Request {
		d.a.Kind, d.a.ID, d.a.Answers = act.MCPRequest, read.ID, ""
	}
	d.a.InnerMethod, d.a.Resource, d.a.Arguments = read.Method, read.Resource, read.Arguments
	d.a.Listed, d.a.Failed, d.a.From = read.Listed, read.Failed, read.From
	d.texts.Complete(d.a, mcp.AppendCanonical(nil, v))
	return d.full()
}

// argumentsOf are the arguments of a call in a request, by name, as values that
// overrides replace; at is where they stand.
func argumentsOf(a *act.Action, root rawjson.Value) (arguments rawjson.Value, at string, wrapped bool) {
	if a.Kind == act.ToolCall {
		return root.Get("params").Get("payload").Get("arguments"), payload + "/arguments", true
	}
	return root.Get("params").Get("payload").Get("params").Get("arguments"), payload + "/params/arguments", false
}
