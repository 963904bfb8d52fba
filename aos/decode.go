package aos

import (
	"fmt"
	"slices"
	"strings"

	a2a "reeve.example/reeve/a2a/message"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/jsonrpc"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// methods read the requests of each method that asks for a decision.
var methods = map[string]func(d *decoder) *params.Fault{
	"steps/agentTrigger":           (*decoder).agentTrigger,
	"steps/knowledgeRetrieval":     (*decoder).knowledgeRetrieval,
	"steps/memoryStore":            (*decoder).memoryStore,
	"steps/memoryContextRetrieval": (*decoder).memoryContextRetrieval,
	"steps/message":                (*decoder).message,
	"steps/toolCallRequest":        (*decoder).toolCallRequest,
	"steps/toolCallResult":         (*decoder).toolCallResult,
	"protocols/A2A":                (*decoder).a2a,
	"protocols/MCP":                (*decoder).mcp,
}

// Decode checks a request against the tables of the specification and returns
// the act that it asks about: everything but its Principal and At. The error
// is -32601 for a method that asks for no decision, and else -32602 with data
// {field, reason, expected}.
func Decode(r *jsonrpc.Request) (*act.Action, *jsonrpc.Error) {
	read := methods[r.Method]
	if read == nil {
		return nil, unknownMethod()
	}
	a, err := decode(r, read)
	if err != nil {
		return nil, invalid(err)
	}
	return a, nil
}

// ActionOf returns the act that a single request asks about, given as its
// JSON. The error is a sentence that says what is wrong with the request.
func ActionOf(body []byte) (*act.Action, error) {
	r, err := jsonrpc.RequestOf(body)
	if err != nil {
		return nil, err
	}
	read := methods[r.Method]
	if read == nil {
		return nil, fmt.Errorf("the method %.80q is none that AOS asks for a decision with", r.Method)
	}
	a, fault := decode(r, read)
	if fault != nil {
		return nil, fault
	}
	return a, nil
}

// decoder makes one act of one request.
type decoder struct {
	r     *jsonrpc.Request
	p     rawjson.Value // the params
	a     *act.Action
	texts content.Set
}

func decode(r *jsonrpc.Request, read func(*decoder) *params.Fault) (*act.Action, *params.Fault) {
	if err := paramsOf(r); err != nil {
		return nil, err
	}
	d := decoder{r: r, p: r.Params, a: &act.Action{Door: "aos", Method: r.Method, Body: r.Body}}
	d.texts.Leaves = make([]act.Leaf, 0, 8)
	if err := read(&d); err != nil {
		return nil, err
	}
	if d.texts.Full {
		return nil, params.Wrong("/params", "It holds more pieces of text than can be judged at once.", fmt.Sprintf("at most %d strings", content.MaxLeaves))
	}
	if d.a.Tool != nil {
		d.alias(d.a.Tool.Name)
	}
	return d.a, nil
}

// alias notes another name of the tool that is called.
func (d *decoder) alias(name string) {
	canonical, confusable := canon.Name(name)
	if canonical != d.a.Canonical {
		d.a.Alias = canonical
	}
	d.a.Confusable = d.a.Confusable || confusable
}

// paramsOf checks that a request has params of this protocol.
func paramsOf(r *jsonrpc.Request) *params.Fault {
	if err := params.Object(r.Params); err != nil {
		return err
	}
	if r.Params.Get("acs_version").Exists() {
		// Half of such a request looks like AOS. It must not be half read.
		return params.Wrong("/params/acs_version", "This is a request of ACS, the successor of AOS, which is spoken at /acs.", "no acs_version, and params as in AOS 0.1.0")
	}
	return nil
}

// check compares the params with a table.
func (d *decoder) check(t *params.Table) *params.Fault { return t.Check(d.p, d.r.Message) }

// context reads the context, which may be absent in a protocol's message.
func (d *decoder) context() {
	c := d.p.Get("context")
	if !c.Exists() {
		return
	}
	a := d.a
	agent := c.Get("agent")
	model, organization := agent.Get("model"), agent.Get("organization")
	a.Agent = act.Agent{
		ID: agent.Get("id").Text(), Name: agent.Get("name").Text(), Version: agent.Get("version").Text(),
		Provider: agent.Get("provider").Get("name").Text(), Organization: organization.Get("id").Text(), Model: model.Get("id").Text(),
		Raw: agent.Raw(), Instructions: agent.Get("instructions").Raw(), Tools: agent.Get("tools").Raw(), ModelRaw: model.Raw(),
	}
	if u := c.Get("user"); u.Exists() {
		a.User = act.User{
			ID: u.Get("id").Text(), Name: u.Get("name").Text(), Email: u.Get("email").Text(),
			Organization: u.Get("organization").Get("id").Text(),
		}
	}
	session := c.Get("session")
	a.Session, a.Turn, a.Step = session.Get("id").Text(), c.Get("turnId").Text(), c.Get("stepId").Text()
	// What follows reeve's hooks send.
	a.Folder, a.Dialogue = session.Get("metadata").Get("cwd").Text(), session.Get("metadata").Get("approval").Text()
	a.Parent = session.Get("metadata").Get("parent").Text()
	a.GoesBy = goesBy(session.Get("metadata"))
	var zoned bool
	if a.SaidAt, zoned, _ = parseTime(c.Get("timestamp").Text()); !zoned {
		a.Faults = append(a.Faults, "the timestamp has no offset and was taken as UTC")
	}
}

// goesBy are the files that an agent goes by, as reeve's hooks tell them; nil where they do not.
func goesBy(metadata rawjson.Value) *act.GoesBy {
	files := metadata.Get("files")
	if files.Kind() != rawjson.Array {
		return nil
	}
	g := &act.GoesBy{Project: metadata.Get("project").Get("folder").Text(), Repository: metadata.Get("project").Get("repository").Text()}
	for _, place := range metadata.Get("places").Elems() {
		g.Places = append(g.Places, place.Text())
	}
	for _, f := range files.Elems() {
		g.Files = append(g.Files, act.File{Path: f.Get("path").Text(), Place: f.Get("place").Text(), Kind: f.Get("kind").Text(), Hash: f.Get("sha256").Text(), Text: f.Get("text").Text()})
	}
	return g
}

func (d *decoder) reasoning() { d.a.Reasoning = d.p.Get("reasoning").Text() }

func (d *decoder) agentTrigger() *params.Fault {
	if err := d.check(&agentTriggerTable); err != nil {
		return err
	}
	d.context()
	trigger := d.p.Get("trigger")
	event := trigger.Get("event")
	d.a.Kind = act.Trigger
	d.a.Resource = event.Get("type").Text()
	d.a.ID = event.Get("id").Text()
	d.fixed(event, "type", "/params/trigger/event", "")
	d.others(event, act.Leaf{Pointer: "/params/trigger/event"}, "type", "id")
	d.parts(trigger.Get("content"), "/params/trigger/content")
	d.others(trigger, act.Leaf{Pointer: "/params/trigger"}, "type", "event", "content")
	d.content(trigger, "context", "trigger")
	return nil
}

func (d *decoder) knowledgeRetrieval() *params.Fault {
	if err := d.check(&knowledgeTable); err != nil {
		return err
	}
	d.context()
	d.reasoning()
	d.a.Kind = act.KnowledgeRetrieve
	const base = "/params/knowledgeStep"
	step := d.p.Get("knowledgeStep")
	d.texts.Add(step.Get("query"), act.Leaf{Pointer: base + "/query"})
	d.texts.AddAll(step.Get("keywords"), act.Leaf{Pointer: base + "/keywords"}, nil)
	for i, result := range step.Get("results").Elems() {
		item := content.Index(base+"/results", i)
		d.a.Retrieved = append(d.a.Retrieved, result.Get("id").Text())
		d.texts.Add(result.Get("content"), act.Leaf{Pointer: item + "/content", Item: item})
		d.mimeType(result, item, item)
		d.others(result, act.Leaf{Pointer: item, Item: item}, "id", "content", "mimeType")
	}
	d.others(step, act.Leaf{Pointer: base}, "query", "keywords", "results")
	d.content(step, "context", "knowledgeStep", "reasoning")
	return nil
}

func (d *decoder) memoryStore() *params.Fault { return d.memory(act.MemoryStore) }

func (d *decoder) memoryContextRetrieval() *params.Fault { return d.memory(act.MemoryRetrieve) }

func (d *decoder) memory(kind act.Kind) *params.Fault {
	if err := d.check(&memoryTable); err != nil {
		return err
	}
	d.context()
	d.reasoning()
	d.a.Kind = kind
	memory := d.p.Get("memory")
	for i, text := range memory.Elems() {
		pointer := content.Index("/params/memory", i)
		d.texts.Add(text, act.Leaf{Pointer: pointer, Item: pointer})
	}
	d.content(memory, "context", "memory", "reasoning")
	return nil
}

func (d *decoder) message() *params.Fault {
	if err := d.check(&messageParamsTable); err != nil {
		return err
	}
	d.context()
	d.reasoning()
	message := d.p.Get("message")
	switch message.Get("role").Text() {
	case RoleUser:
		d.a.Kind = act.MessageUser
	case RoleAgent:
		d.a.Kind = act.MessageAgent
	default:
		d.a.Kind = act.MessageSystem
	}
	d.a.ID = message.Get("id").Text()
	d.parts(message.Get("content"), "/params/message/content")
	d.others(message, act.Leaf{Pointer: "/params/message"}, "id", "role", "content")
	d.sources("citation")
	d.sources("citations")
	if d.a.Cites != nil {
		d.resources()
	}
	var buf [1024]byte
	b := append(buf[:0], `"content":{"cites":[`...)
	b = content.AppendWithout(b, d.p.Get("citation"))
	b = append(b, ',')
	b = content.AppendWithout(b, d.p.Get("citations"))
	b = append(b, `],"message":`...)
	b = content.AppendWithout(b, message, "id")
	d.complete(append(b, '}'), "context", "message", "citation", "citations", "reasoning")
	return nil
}

// sources reads the sources that a message cites.
func (d *decoder) sources(name string) {
	for i, source := range d.p.Get(name).Elems() {
		item := content.Index("/params/"+name, i)
		cite := source.Get("url")
		if source.Get("kind").Is("file") {
			cite = source.Get("id")
		}
		d.a.Cites = append(d.a.Cites, cite.Text())
		known := []string{"kind", "id"}
		if source.Get("kind").Is("site") { // which has no id
			known = known[:1]
		}
		d.others(source, act.Leaf{Pointer: item, Item: item}, known...)
	}
}

// resources notes the resources that the agent declared.
func (d *decoder) resources() {
	resources := d.p.Get("context").Get("agent").Get("resources")
	if !resources.Exists() {
		return
	}
	d.a.Resources = make([]string, 0, resources.Len())
	for _, r := range resources.Elems() {
		d.a.Resources = append(d.a.Resources, r.Get("id").Text())
	}
}

func (d *decoder) toolCallRequest() *params.Fault {
	if err := d.check(&toolCallTable); err != nil {
		return err
	}
	d.context()
	d.reasoning()
	const base = "/params/toolCallRequest"
	call := d.p.Get("toolCallRequest")
	d.a.Kind = act.ToolCall
	d.a.ID = call.Get("executionId").Text()
	d.a.Resource = call.Get("toolId").Text()
	d.a.Tool = d.declared(call.Get("toolId"), "id")
	d.fixed(call, "toolId", base, "")

	inputs := call.Get("inputs")
	d.a.Arguments = make([]act.Argument, 0, inputs.Len())
	values := make([]input, 0, inputs.Len())
	more := d.others(call, act.Leaf{Pointer: base}, "executionId", "toolId", "inputs")
	for i, in := range inputs.Elems() {
		name, id, value := in.Get("name"), in.Get("id"), in.Get("value")
		arg := act.Argument{Name: name.Text(), ID: id.Text(), Value: value.Raw(), Pointer: content.Index(base+"/inputs", i) + "/value"}
		item := strings.TrimSuffix(arg.Pointer, "/value") // which shares its bytes
		d.a.Arguments = append(d.a.Arguments, arg)
		d.fixed(in, "name", item, arg.Name)
		d.fixed(in, "id", item, arg.Name)
		d.texts.AddAll(value, content.LeafOf(&arg), nil)
		more = d.others(in, act.Leaf{Pointer: item, Arg: arg.Name}, "name", "id", "value") || more
		values = append(values, input{arg.Name, arg.ID, value})
	}
	if arg, byID := content.Twice(d.a.Arguments); arg != nil {
		member := "/name"
		if byID {
			member = "/id"
		}
		return params.Wrong(strings.TrimSuffix(arg.Pointer, "/value")+member, "Two inputs have the same name or id, or names that look the same, and which of them counts cannot be known.", "each input once")
	}
	d.refuseArguments()
	slices.SortFunc(values, func(a, b input) int { return strings.Compare(a.name, b.name) })

	var buf [1024]byte
	b := append(buf[:0], `"arguments":{`...)
	for i, in := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, in.name)
		b = append(b, ':')
		b = in.value.AppendCanonical(b)
	}
	b = append(b, '}')
	named := false
	for _, in := range values { // a tool may take its arguments by id
		if in.id == "" {
			continue
		}
		if !named {
			b = append(b, `,"ids":{`...)
		} else {
			b = append(b, ',')
		}
		named = true
		b = rawjson.AppendString(b, in.name)
		b = append(b, ':')
		b = rawjson.AppendString(b, in.id)
	}
	if named {
		b = append(b, '}')
	}
	if more { // than the text knows: a tool might know it
		b = append(b, `,"call":`...)
		b = content.AppendWithout(b, call, "executionId")
	}
	d.complete(b, "context", "toolCallRequest", "reasoning")
	return nil
}

// input is one argument of a call.
type input struct {
	name, id string
	value    rawjson.Value
}

// declared finds the agent's own declaration of a tool, by the members of it that
// can be what a call names.
func (d *decoder) declared(called rawjson.Value, by ...string) *act.Tool {
	text := called.Text()
	for _, t := range d.p.Get("context").Get("agent").Get("tools").Elems() {
		if !slices.ContainsFunc(by, func(member string) bool { return t.Get(member).Is(text) }) {
			continue
		}
		arguments := t.Get("arguments")
		tool := &act.Tool{ID: t.Get("id").Text(), Name: t.Get("name").Text(), Type: t.Get("type").Text()}
		if arguments.Len() > 0 {
			tool.Arguments = make([]act.ToolArgument, 0, arguments.Len())
		}
		for _, arg := range arguments.Elems() {
			tool.Arguments = append(tool.Arguments, act.ToolArgument{
				Name: arg.Get("name").Text(), ID: arg.Get("id").Text(), Type: arg.Get("type").Text(), Required: arg.Get("required").Bool(),
			})
		}
		return tool
	}
	return nil
}

func (d *decoder) toolCallResult() *params.Fault {
	// The text puts executionId and result into the params, upstream's schema
	// puts both into toolCallResult. With both, what the tool gave is not clear.
	table, holder, base := &resultParamsTable, d.p, "/params"
	if nested := d.p.Get("toolCallResult"); nested.Exists() {
		if d.p.Get("executionId").Exists() || d.p.Get("result").Exists() {
			return params.Wrong("/params/toolCallResult", "The result is given in two forms at once, and which of them counts cannot be known.", "either executionId and result in params, or both in params.toolCallResult")
		}
		table, holder, base = &resultNestedTable, nested, "/params/toolCallResult"
	}
	if err := d.check(table); err != nil {
		return err
	}
	d.context()
	d.reasoning()
	result := holder.Get("result")
	d.a.Kind = act.ToolResult
	d.a.Answers = holder.Get("executionId").Text()
	d.a.Failed = result.Get("isError").Bool()
	d.parts(result.Get("outputs"), base+"/result/outputs")
	d.others(result, act.Leaf{Pointer: base + "/result"}, "outputs", "isError")
	known := []string{"context"}
	if d.a.Reasoning != "" { // of which the text says nothing here; any other value is read
		known = append(known, "reasoning")
	}
	if base == "/params" {
		d.content(result, append(known, "executionId", "result")...)
		return nil
	}
	var buf [1024]byte
	b := result.AppendCanonical(append(buf[:0], `"content":`...))
	if d.others(holder, act.Leaf{Pointer: base}, "executionId", "result") {
		b = append(b, `,"toolCallResult":`...)
		b = content.AppendWithout(b, holder, "executionId", "result")
	}
	d.complete(b, append(known, "toolCallResult")...)
	return nil
}

// parts reads an array of Part.
func (d *decoder) parts(parts rawjson.Value, base string) {
	for i, part := range parts.Elems() {
		item := content.Index(base, i)
		known := []string{"kind", ""}
		switch kind := part.Get("kind"); {
		case kind.Is("text"):
			known[1] = "text"
			d.texts.Add(part.Get("text"), act.Leaf{Pointer: item + "/text", Item: item})
		case kind.Is("file"):
			known[1] = "file"
			file := part.Get("file")
			d.others(file, act.Leaf{Pointer: item + "/file", Item: item}, "mimeType", "bytes")
			d.mimeType(file, item+"/file", item)
			d.texts.AddFile(file.Get("bytes"), file.Get("mimeType").Text(), act.Leaf{Pointer: item + "/file/bytes", Item: item})
		default:
			known[1] = "data"
			d.texts.AddAll(part.Get("data"), act.Leaf{Pointer: item + "/data", Item: item}, nil)
		}
		d.others(part, act.Leaf{Pointer: item, Item: item}, known...)
	}
}

// fixed reads a member of an object, which pointer points at, that no edit may
// change. For a plain word, which it mostly is, it makes no pointer.
func (d *decoder) fixed(object rawjson.Value, name, pointer, arg string) {
	if v := object.Get(name); v.Exists() && !content.Word(v) {
		d.texts.AddFixed(v, act.Leaf{Pointer: pointer + "/" + name, Arg: arg})
	}
}

// mimeType reads the MIME type of a file or a result, if it is more than a word.
func (d *decoder) mimeType(object rawjson.Value, pointer, item string) {
	if v := object.Get("mimeType"); v.Exists() && !content.Word(v) {
		d.texts.Add(v, act.Leaf{Pointer: pointer + "/mimeType", Item: item})
	}
}

// others reads the members of an object beside the known ones: see content.Set.
func (d *decoder) others(object rawjson.Value, leaf act.Leaf, known ...string) bool {
	return d.texts.AddOthers(object, leaf, known...)
}

// protocol reads the params of a protocol's message and returns the message
// and its JSON Pointer: raw when params itself is one, else params.message.
func (d *decoder) protocol() (message rawjson.Value, base string, err *params.Fault) {
	table := &protocolTable
	message, base = d.p.Get("message"), "/params/message"
	if d.p.Get("jsonrpc").Exists() {
		if message.Exists() {
			return message, "", params.Wrong("/params/message", "The params are a message themselves and hold another, and which of them counts cannot be known.", "either the message in params.message, or the message itself as params")
		}
		table, message, base = &protocolRawTable, d.p, "/params"
	}
	if err := d.check(table); err != nil {
		return message, "", err
	}
	if m := message.Get("method"); m.Exists() && m.Kind() != rawjson.String {
		return message, "", params.Wrong(base+"/method", "The value is "+m.Kind().Noun()+".", "a string")
	} else if m.Exists() && (message.Get("result").Exists() || message.Get("error").Exists()) {
		return message, "", params.Wrong(base+"/method", "The message is a request and an answer at once, and which of them counts cannot be known.", "a method, or else a result or an error")
	}
	d.context()
	d.reasoning()
	return message, base, nil
}

// split names the members of a message that are none of its own, which AOS adds
// when the message itself is the params, or else those of the params that are
// not to be read beside it.
func split(base string) (beside, known []string) {
	if base == "/params" {
		return []string{"context", "reasoning"}, nil
	}
	return nil, []string{"context", "message", "reasoning"}
}

func (d *decoder) a2a() *params.Fault {
	v, base, err := d.protocol()
	if err != nil {
		return err
	}
	if a2a.Ambiguous(v) {
		return params.Wrong(base+"/method", "The message is a request and a message without its envelope at once, and which of them counts cannot be known.", "a JSON-RPC message with jsonrpc, or else no method")
	}
	beside, known := split(base)
	d.refuse(a2a.Double(v, base, beside...))
	m := a2a.Read(v, base, &d.texts, beside...)
	d.a.Kind, d.a.Answers = act.A2AReceive, m.ID
	if m.Request {
		d.a.Kind, d.a.ID, d.a.Answers = act.A2ASend, m.ID, ""
	}
	d.a.InnerMethod, d.a.Arguments, d.a.Failed, d.a.Traceparent, d.a.Labels = m.Method, m.Arguments, m.Failed, m.Traceparent, m.Labels
	var buf [1024]byte
	d.complete(a2a.AppendCanonical(buf[:0], v, beside...), known...)
	return nil
}

func (d *decoder) mcp() *params.Fault {
	v, base, err := d.protocol()
	if err != nil {
		return err
	}
	if v.Get("method").Is("tools/call") {
		if name := v.Get("params").Get("name"); name.Kind() != rawjson.String {
			return params.Wrong(base+"/params/name", "A call must name its tool.", "a string")
		}
	}
	beside, known := split(base)
	d.refuse(mcp.Double(v, base, beside...))
	m := mcp.Read(v, base, &d.texts, beside...)
	d.a.Kind, d.a.Answers = act.MCPResponse, m.ID
	if m.Request {
		d.a.Kind, d.a.ID, d.a.Answers = act.MCPRequest, m.ID, ""
	}
	d.a.InnerMethod, d.a.Resource, d.a.Arguments = m.Method, m.Resource, m.Arguments
	d.a.Server = d.p.Get("context").Get("session").Get("metadata").Get("server").Text() // reeve's hooks say it
	if d.a.CallsMCP() {
		d.a.Tool = d.declared(v.Get("params").Get("name"), "name", "id")
		d.refuseArguments()
	}
	d.a.Listed, d.a.Failed, d.a.From, d.a.Traceparent = m.Listed, m.Failed, m.From, m.Traceparent
	var buf [1024]byte
	d.complete(mcp.AppendCanonical(buf[:0], v, beside...), known...)
	return nil
}

// refuse refuses a wrapped message that two readers would understand in two ways:
// whoever gets it may do something else than what was judged.
func (d *decoder) refuse(double *content.Double) {
	if double != nil {
		d.a.Refusals = append(d.a.Refusals, double.Refusal())
	}
}

// refuseArguments refuses a call with an argument that is none of those its tool
// declares, and that some programs take for one of them.
func (d *decoder) refuseArguments() {
	if d.a.Tool == nil {
		return
	}
	known, folded := map[string]bool{}, map[string]string{}
	for _, arg := range d.a.Tool.Arguments {
		known[arg.Name], folded[canon.FoldMember(arg.Name)] = true, arg.Name
		if arg.ID != "" {
			known[arg.ID] = true
		}
	}
	for _, arg := range d.a.Arguments {
		if is, ok := folded[canon.FoldMember(arg.Name)]; ok && !known[arg.Name] && (arg.ID == "" || !known[arg.ID]) {
			r := act.Final("tool", act.CodeAmbiguous,
				fmt.Sprintf("Some programs take the argument %.80q for %.80q, which the tool declares, and others do not.", arg.Name, is),
				"Name the arguments as the tool declares them.")
			r.Pointer = arg.Pointer
			d.a.Refusals = append(d.a.Refusals, r)
			return
		}
	}
}

// content completes an act whose digest is that of its content, v. The members of
// the params named in known are read, or are no content.
func (d *decoder) content(v rawjson.Value, known ...string) {
	var buf [1024]byte
	d.complete(v.AppendCanonical(append(buf[:0], `"content":`...)), known...)
}

// complete completes an act that does what does says. The members of the params that
// known does not name are read and belong to it; without known, the params are read
// whole already.
func (d *decoder) complete(does []byte, known ...string) {
	if known != nil && d.others(d.p, act.Leaf{Pointer: "/params"}, known...) {
		does = content.AppendWithout(append(does, `,"params":`...), d.p, known...)
	}
	d.texts.Complete(d.a, does)
}
