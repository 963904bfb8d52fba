// Package message reads what an MCP message says: what it asks for, and the
// texts that it carries. It understands requests, notifications and answers of
// every published version, and treats what it does not know as text.
package message

import (
	"crypto/sha256"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// Message is one MCP message.
type Message struct {
	// Request says that the message asks or notifies; else it answers.
	Request bool
	Method  string
	// From is who the message comes from, as far as its form tells: act.FromServer
	// for what only a server asks or notifies of, and for an answer, since what it
	// holds may be anything.
	From string
	// ID is the message's JSON-RPC id: a string's text, or a number as sent.
	// Empty for a notification.
	ID string
	// Resource is the tool or prompt called by name, or the URI of a resource.
	Resource  string
	Arguments []act.Argument
	// Listed are the tools that an answer to tools/list announces.
	Listed []act.Definition
	// Failed says that the answer is an error, or that the tool failed.
	Failed bool
	// Traceparent is the caller's span as a request's _meta names it.
	Traceparent string
}

// Read reads the message v, whose JSON Pointer is base, and adds its texts: all
// of them, wherever they stand. The members named in beside are none of the
// message's own.
func Read(v rawjson.Value, base string, texts *content.Set, beside ...string) Message {
	m := Message{ID: content.IDOf(v.Get("id")), Method: v.Get("method").Text(), Failed: v.Get("error").Exists()}
	m.Request = m.Method != ""
	m.Traceparent = v.Get("params").Get("_meta").Get("traceparent").Text()
	m.From = act.FromClient
	if !m.Request || ofServers(m.Method, m.ID != "") {
		m.From = act.FromServer
	}
	r := reader{m: &m, texts: texts}
	for name, member := range v.Members() {
		if slices.Contains(beside, name) {
			continue
		}
		texts.AddName(name, act.Leaf{Pointer: base})
		leaf := act.Leaf{Pointer: content.Join(base, name)}
		switch {
		case name == "params":
			r.params(member, leaf.Pointer)
		case name == "result":
			r.result(member, leaf.Pointer)
		case name == "error":
			texts.AddAll(member, leaf, nil)
		case texts.AddEnvelope(name, member, leaf):
		default: // nothing may pass unread
			r.all(member, leaf)
		}
	}
	return m
}

// ofServers reports whether only servers send a request or a notification. One that
// is not known is the server's where nobody answers it: it can say anything.
func ofServers(method string, request bool) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return true
	case "notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed":
		return false
	}
	return !request
}

// AppendCanonical appends what the message does, in canonical JSON, for a
// digest: the arguments of a call by name and nothing more when there is no
// more to it, else the params, result and error. Ids and tokens that differ
// when the same thing is done again are left out, and so is what stands beside.
func AppendCanonical(dst []byte, v rawjson.Value, beside ...string) []byte {
	if params := v.Get("params"); textIs(v.Get("method"), "tools/call") && plainCall(params) &&
		!v.HasOthers(append(append(content.Envelope(v), "params"), beside...)) {
		dst = append(dst, `"arguments":`...)
		if arguments := params.Get("arguments"); arguments.Exists() {
			return arguments.AppendCanonical(dst)
		}
		return append(dst, "{}"...)
	}
	if v.Get("method").Text() == "" && !v.Get("result").Exists() && !v.Get("error").Exists() {
		// No message of the protocol: all of it was read, and all of it counts.
		dst = append(dst, `"content":{"message":`...)
		dst = content.AppendWithout(dst, v, beside...)
		return append(dst, '}')
	}
	return content.AppendEnvelope(dst, v, beside, appendPart)
}

// appendPart appends the error, params or result.
func appendPart(dst []byte, _ string, v rawjson.Value) []byte {
	meta := v.Get("_meta")
	dst = append(dst, `{"_meta":`...)
	dst = content.AppendWithout(dst, meta, tokens(meta)...)
	dst = append(dst, `,"rest":`...)
	dst = content.AppendWithout(dst, v, "_meta")
	return append(dst, '}')
}

// tokens names the members of _meta that differ when the same is done again.
func tokens(meta rawjson.Value) []string {
	return content.IDsIn(meta, "progressToken", "traceparent")
}

// plainCall reports whether the params of tools/call hold a name and arguments
// and, but for tokens, nothing else.
func plainCall(params rawjson.Value) bool {
	if params.Kind() != rawjson.Object {
		return false
	}
	for name, member := range params.Members() {
		switch name {
		case "name":
		case "arguments":
			if member.Kind() != rawjson.Object {
				return false
			}
		case "_meta":
			if member.Kind() != rawjson.Object || member.HasOthers(tokens(member)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func textIs(v rawjson.Value, s string) bool { return v.Text() == s }

type reader struct {
	m     *Message
	texts *content.Set
}

// params reads a request's params.
func (r *reader) params(v rawjson.Value, base string) {
	switch r.m.Method {
	case "tools/call", "prompts/get":
		r.m.Resource = v.Get("name").Text()
		for name, member := range v.Members() {
			r.texts.AddName(name, act.Leaf{Pointer: base})
			switch pointer := content.Join(base, name); {
			case name == "name" && member.Kind() == rawjson.String:
				r.texts.AddFixed(member, act.Leaf{Pointer: pointer})
			case name == "arguments" && member.Kind() == rawjson.Object:
				r.m.Arguments = r.texts.AddArguments(member, pointer)
			case name == "arguments":
				r.texts.AddAll(member, act.Leaf{Pointer: pointer}, nil)
			default:
				r.all(member, act.Leaf{Pointer: pointer})
			}
		}
		if v.Kind() != rawjson.Object {
			r.all(v, act.Leaf{Pointer: base})
		}
		return
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		r.m.Resource = v.Get("uri").Text()
	case "elicitation/create":
		r.elicitation(v, base)
	}
	r.lists(v, base)
}

// elicitation reads what is asked of a person: mode, message and url are arguments,
// and the names of what is to be filled in are texts, since a person reads them.
// Where there is a form, the mode is "form", whatever else it says: clients of
// versions without modes show the form.
func (r *reader) elicitation(v rawjson.Value, base string) {
	for _, name := range [...]string{"mode", "message", "url"} {
		member := v.Get(name)
		if !member.Exists() {
			continue
		}
		value := member.Raw()
		if name == "mode" && v.Get("requestedSchema").Exists() {
			value = []byte(`"form"`)
		}
		r.m.Arguments = append(r.m.Arguments, act.Argument{Name: name, Value: value, Pointer: content.Join(base, name)})
	}
	schema := content.Join(content.Join(base, "requestedSchema"), "properties")
	for name := range v.Get("requestedSchema").Get("properties").Members() {
		r.texts.AddWord(name, act.Leaf{Pointer: schema})
	}
}

// result reads an answer's result.
func (r *reader) result(v rawjson.Value, base string) {
	r.m.Failed = r.m.Failed || v.Get("isError").Bool()
	if tools := v.Get("tools"); !r.m.Request {
		for _, tool := range tools.Elems() {
			if name := tool.Get("name"); name.Kind() == rawjson.String {
				canonical, _ := canon.Name(name.Text())
				r.m.Listed = append(r.m.Listed, act.Definition{Name: canonical, Hash: sha256.Sum256(tool.AppendCanonical(nil)), Hints: Hints(tool)})
			}
		}
	}
	r.lists(v, base)
}

// Hints are what a tool's definition says of it in its annotations. What is no true or
// false says nothing.
func Hints(tool rawjson.Value) (h act.Hints) {
	for _, hint := range [...]struct {
		name    string
		is, not act.Hints
	}{
		{"readOnlyHint", act.ReadOnly, act.Writes},
		{"destructiveHint", act.Destructive, act.Additive},
		{"openWorldHint", act.OpenWorld, act.ClosedWorld},
		{"idempotentHint", act.Idempotent, 0},
	} {
		switch v := tool.Get("annotations").Get(hint.name); {
		case v.Kind() != rawjson.Bool:
		case v.Bool():
			h |= hint.is
		default:
			h |= hint.not
		}
	}
	return h
}

// lists reads an object in which each element of an array (a piece of content,
// a message, a tool) is one item.
func (r *reader) lists(v rawjson.Value, base string) {
	if v.Kind() != rawjson.Object {
		r.all(v, act.Leaf{Pointer: base})
		return
	}
	for name, member := range v.Members() {
		r.texts.AddName(name, act.Leaf{Pointer: base})
		pointer := content.Join(base, name)
		guides := guidance[name]
		switch {
		case name == "structuredContent" || name == "content" && member.Kind() == rawjson.Object && !v.Get("role").Exists():
			// Data in the caller's own terms, such as what a person filled in:
			// every string in it is content. (With a role, it is a message's.)
			r.texts.AddAll(member, act.Leaf{Pointer: pointer, Item: pointer}, nil)
		case member.Kind() == rawjson.Array:
			for i, e := range member.Elems() {
				item := content.Index(pointer, i)
				r.all(e, act.Leaf{Pointer: item, Item: item, Guides: guides})
			}
		default:
			r.member(v, name, member, act.Leaf{Pointer: pointer, Guides: guides})
		}
		if r.texts.Full {
			return
		}
	}
}

// guidance are the members of a result that tell a model how to use the server.
var guidance = map[string]bool{
	"instructions": true, "tools": true, "prompts": true, "resources": true, "resourceTemplates": true,
}

// words are the members that hold the protocol's own words.
var words = map[string]bool{
	"type": true, "role": true, "mimeType": true, "protocolVersion": true, "level": true, "action": true, "stopReason": true,
	"resultType": true, "$schema": true, "$ref": true, "format": true, "jsonrpc": true, "method": true,
}

// ids are the members that hold the protocol's own ids.
var ids = map[string]bool{
	"id": true, "taskId": true, "requestId": true, "requestState": true, "progressToken": true, "traceparent": true,
	"cursor": true, "nextCursor": true,
}

// all adds the texts of a part of the protocol: words of the protocol are left
// alone, bytes are decoded, and the caller's own data is read whole.
func (r *reader) all(v rawjson.Value, leaf act.Leaf) {
	base := leaf.Pointer
	switch v.Kind() {
	case rawjson.Array:
		for i, e := range v.Elems() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = content.Index(base, i)
			r.all(e, leaf)
		}
	case rawjson.Object:
		for name, member := range v.Members() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = base
			r.texts.AddName(name, leaf)
			leaf.Pointer = content.Join(base, name)
			r.member(v, name, member, leaf)
		}
	default:
		r.texts.AddAll(v, leaf, nil)
	}
}

// member adds the texts of one member of an object of the protocol.
func (r *reader) member(object rawjson.Value, name string, v rawjson.Value, leaf act.Leaf) {
	switch {
	case words[name] && content.Word(v):
	case (ids[name] || name == "name" && object.Get("inputSchema").Exists()) && v.Kind() == rawjson.String:
		r.texts.AddFixed(v, leaf)
	case name == "required" && v.Kind() == rawjson.Array && namesOnly(v): // of a schema
	case name == "blob", name == "data" && isMedia(object.Get("type")):
		r.texts.AddFile(v, object.Get("mimeType").Text(), leaf)
		if v.Kind() != rawjson.String {
			r.texts.AddAll(v, leaf, nil)
		}
	case name == "structuredContent", name == "input", name == "arguments", name == "metadata", name == "default":
		r.texts.AddAll(v, leaf, nil)
	default:
		r.all(v, leaf)
	}
}

func isMedia(kind rawjson.Value) bool { return textIs(kind, "image") || textIs(kind, "audio") }

func namesOnly(v rawjson.Value) bool {
	for _, e := range v.Elems() {
		if !content.Word(e) {
			return false
		}
	}
	return true
}
