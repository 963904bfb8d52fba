// Package message reads what an MCP message says: what it asks for, and the
// texts that it carries. It understands requests, notifications and answers of
// every published version, and treats what it does not know as text.
package message

import (
	"crypto/sha256"

	"reeve/act"
	"reeve/internal/canon"
	"reeve/internal/content"
	"reeve/internal/rawjson"
)

// Message is one MCP message.
type Message struct {
	// Request says that the message asks or notifies; else it answers.
	Request bool
	Method  string
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
}

// Read reads the message v, whose JSON Pointer is base, and adds its texts.
func Read(v rawjson.Value, base string, texts *content.Set) Message {
	m := Message{ID: idOf(v.Get("id"))}
	r := reader{m: &m, texts: texts}
	method, params := v.Get("method"), v.Get("params")
	result, failure := v.Get("result"), v.Get("error")
	m.Method = method.Text()
	m.Request = m.Method != ""
	if params.Exists() {
		r.params(params, base+"/params")
	}
	if result.Exists() {
		r.result(result, base+"/result")
	}
	if failure.Exists() {
		m.Failed = true
		texts.AddAll(failure, act.Leaf{Pointer: base + "/error"}, nil)
	}
	if !m.Request && !result.Exists() && !failure.Exists() {
		// Not a message of MCP: nothing of it may pass unread.
		for name, member := range v.Members() {
			if name != "params" && name != "jsonrpc" && !content.Beside(v, name) {
				r.all(member, act.Leaf{Pointer: content.Join(base, name)})
			}
		}
	}
	return m
}

// AppendCanonical appends what the message does, in canonical JSON, for a
// digest: the arguments of a call by name and nothing more when there is no
// more to it, else the params, result and error. Ids and tokens that differ
// when the same thing is done again are left out.
func AppendCanonical(dst []byte, v rawjson.Value) []byte {
	params := v.Get("params")
	if textIs(v.Get("method"), "tools/call") && params.Kind() == rawjson.Object && plainCall(params) {
		dst = append(dst, `"arguments":`...)
		if arguments := params.Get("arguments"); arguments.Exists() {
			return arguments.AppendCanonical(dst)
		}
		return append(dst, "{}"...)
	}
	dst = append(dst, `"content":{`...)
	if v.Get("method").Text() == "" && !v.Get("result").Exists() && !v.Get("error").Exists() {
		// No message of the protocol: all of it was read, and all of it counts.
		dst = append(dst, `"message":`...)
		if v.Get("jsonrpc").Exists() {
			dst = content.AppendWithout(dst, v, "context", "reasoning")
		} else {
			dst = v.AppendCanonical(dst)
		}
		return append(dst, '}')
	}
	comma := false
	for _, name := range [...]string{"error", "params", "result"} {
		member := v.Get(name)
		if !member.Exists() {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = rawjson.AppendString(dst, name)
		dst = append(dst, `:{"_meta":`...)
		dst = content.AppendWithout(dst, member.Get("_meta"), "progressToken", "traceparent")
		dst = append(dst, `,"rest":`...)
		dst = content.AppendWithout(dst, member, "_meta")
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// plainCall reports whether the params of tools/call hold a name and arguments
// and, but for tokens, nothing else.
func plainCall(params rawjson.Value) bool {
	for name, member := range params.Members() {
		switch name {
		case "name":
		case "arguments":
			if member.Kind() != rawjson.Object {
				return false
			}
		case "_meta":
			for name := range member.Members() {
				if name != "progressToken" && name != "traceparent" {
					return false
				}
			}
			if member.Kind() != rawjson.Object {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func textIs(v rawjson.Value, s string) bool { return v.Text() == s }

func idOf(v rawjson.Value) string {
	switch v.Kind() {
	case rawjson.String:
		return v.Text()
	case rawjson.Number:
		return string(v.Raw())
	}
	return ""
}

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
			switch pointer := content.Join(base, name); {
			case name == "name" && member.Kind() == rawjson.String:
			case name == "arguments" && member.Kind() == rawjson.Object:
				r.arguments(member, pointer)
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
	}
	r.lists(v, base)
}

func (r *reader) arguments(v rawjson.Value, base string) {
	for name, value := range v.Members() {
		if len(r.m.Arguments) >= content.MaxLeaves {
			r.texts.Full = true
			return
		}
		pointer := content.Join(base, name)
		r.m.Arguments = append(r.m.Arguments, act.Argument{Name: name, Value: value.Raw(), Pointer: pointer})
		r.texts.AddAll(value, act.Leaf{Pointer: pointer, Arg: name}, nil)
	}
}

// result reads an answer's result.
func (r *reader) result(v rawjson.Value, base string) {
	r.m.Failed = v.Get("isError").Bool()
	if tools := v.Get("tools"); !r.m.Request {
		for _, tool := range tools.Elems() {
			if name := tool.Get("name"); name.Kind() == rawjson.String {
				canonical, _ := canon.Name(name.Text())
				r.m.Listed = append(r.m.Listed, act.Definition{Name: canonical, Hash: sha256.Sum256(tool.AppendCanonical(nil))})
			}
		}
	}
	r.lists(v, base)
}

// lists reads an object in which each element of an array (a piece of content,
// a message, a tool) is one item.
func (r *reader) lists(v rawjson.Value, base string) {
	if v.Kind() != rawjson.Object {
		r.all(v, act.Leaf{Pointer: base})
		return
	}
	for name, member := range v.Members() {
		pointer := content.Join(base, name)
		switch {
		case name == "structuredContent" || name == "content" && member.Kind() == rawjson.Object && !v.Get("role").Exists():
			// Data in the caller's own terms, such as what a person filled in:
			// every string in it is content. (With a role, it is a message's.)
			r.texts.AddAll(member, act.Leaf{Pointer: pointer, Item: pointer}, nil)
		case member.Kind() == rawjson.Array:
			for i, e := range member.Elems() {
				item := content.Index(pointer, i)
				r.all(e, act.Leaf{Pointer: item, Item: item})
			}
		case words[name] && content.Word(member):
		default:
			r.all(member, act.Leaf{Pointer: pointer})
		}
		if r.texts.Full {
			return
		}
	}
}

// words are the members that hold the protocol's own words and ids.
var words = map[string]bool{
	"type": true, "role": true, "mimeType": true, "protocolVersion": true, "progressToken": true, "traceparent": true,
	"cursor": true, "nextCursor": true, "level": true, "action": true, "stopReason": true, "resultType": true, "$schema": true, "$ref": true, "format": true,
	"taskId": true, "requestId": true, "requestState": true, "jsonrpc": true, "method": true, "id": true,
}

// all adds the texts of a part of the protocol: words of the protocol and names
// of tools are left alone, bytes are decoded, and the caller's own data is read whole.
func (r *reader) all(v rawjson.Value, leaf act.Leaf) {
	switch v.Kind() {
	case rawjson.String:
		r.texts.Add(v, leaf)
	case rawjson.Array:
		base := leaf.Pointer
		for i, e := range v.Elems() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = content.Index(base, i)
			r.all(e, leaf)
		}
	case rawjson.Object:
		base := leaf.Pointer
		mimeType, blob := v.Get("mimeType"), v.Get("type")
		for name, member := range v.Members() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = content.Join(base, name)
			switch {
			case words[name] && content.Word(member):
			case name == "name" && content.Word(member) && v.Get("inputSchema").Exists():
			case name == "required" && member.Kind() == rawjson.Array && namesOnly(member): // of a schema
			case name == "blob", name == "data" && (textIs(blob, "image") || textIs(blob, "audio")):
				r.texts.AddFile(member, mimeType.Text(), leaf)
				if member.Kind() != rawjson.String {
					r.texts.AddAll(member, leaf, nil)
				}
			case name == "structuredContent", name == "input", name == "arguments", name == "metadata", name == "default":
				r.texts.AddAll(member, leaf, nil)
			default:
				r.all(member, leaf)
			}
		}
	}
}

func namesOnly(v rawjson.Value) bool {
	for _, e := range v.Elems() {
		if !content.Word(e) {
			return false
		}
	}
	return true
}
