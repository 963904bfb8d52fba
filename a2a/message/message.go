// Package message reads what an A2A message says, in versions 0.3 and 1.0: what
// it asks for, and the texts that it carries. What it does not know it treats
// as text.
package message

import (
	"strings"

	"reeve/act"
	"reeve/internal/content"
	"reeve/internal/rawjson"
)

// Message is one A2A message: a JSON-RPC request or answer, or a bare message
// or task.
type Message struct {
	// Request says that the message asks; else it answers.
	Request bool
	Method  string
	// ID is the message's JSON-RPC id: a string's text, or a number as sent.
	ID string
	// Arguments are what rules may want to look at by name: task_id,
	// context_id, and push_url for the address that is to be called back.
	Arguments []act.Argument
	// Failed says that the answer is an error, or that the task failed.
	Failed bool
}

// Read reads the message v, whose JSON Pointer is base, and adds its texts.
func Read(v rawjson.Value, base string, texts *content.Set) Message {
	m := Message{ID: idOf(v.Get("id"))}
	r := reader{m: &m, texts: texts}
	method := v.Get("method")
	m.Method = method.Text()
	m.Request = m.Method != ""
	known := m.Request
	if params := v.Get("params"); m.Request && !params.Get("message").Exists() {
		r.argument("task_id", params.Get("id"), base+"/params/id") // as in tasks/get
	}
	for _, name := range [...]string{"params", "result", "error"} {
		member := v.Get(name)
		if !member.Exists() {
			continue
		}
		known = true
		switch pointer := base + "/" + name; name {
		case "error":
			m.Failed = true
			texts.AddAll(member, act.Leaf{Pointer: pointer}, nil)
		case "result":
			r.failed(member)
			r.all(member, name, act.Leaf{Pointer: pointer})
		default:
			r.all(member, name, act.Leaf{Pointer: pointer})
		}
	}
	if !known { // a bare message or task
		role := v.Get("role").Text()
		m.Request = role == "user" || role == "ROLE_USER"
		if v.Get("kind").Exists() || v.Get("status").Exists() {
			m.ID = "" // a task's own id
		}
		for name, member := range v.Members() {
			switch {
			case name == "jsonrpc":
			case content.Beside(v, name):
			default:
				r.member(v, name, member, act.Leaf{Pointer: content.Join(base, name)})
			}
		}
	}
	return m
}

// AppendCanonical appends what the message does, in canonical JSON, for a
// digest. The JSON-RPC id and the id of the message sent are left out, since
// they differ when the same thing is sent again.
func AppendCanonical(dst []byte, v rawjson.Value) []byte {
	dst = append(dst, `"content":{`...)
	if v.Get("method").Text() == "" && !v.Get("result").Exists() && !v.Get("error").Exists() {
		// No JSON-RPC message: all of it was read, and all of it counts.
		// A bare message has an id of its own, which differs when it is sent again.
		var without []string
		for _, name := range [...]string{"messageId", "message_id"} {
			if content.Word(v.Get(name)) {
				without = append(without, name)
			}
		}
		if v.Get("jsonrpc").Exists() {
			without = append(without, "context", "reasoning")
		}
		dst = append(dst, `"message":`...)
		dst = content.AppendWithout(dst, v, without...)
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
		dst = append(dst, ':')
		if name == "params" && member.Get("message").Kind() == rawjson.Object {
			dst = append(dst, `{"message":`...)
			dst = content.AppendWithout(dst, member.Get("message"), "messageId", "message_id")
			dst = append(dst, `,"rest":`...)
			dst = content.AppendWithout(dst, member, "message")
			dst = append(dst, '}')
			continue
		}
		dst = member.AppendCanonical(dst)
	}
	return append(dst, '}')
}

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

// failed notes the state of a task that failed, in either version's words.
func (r *reader) failed(result rawjson.Value) {
	if task := result.Get("task"); task.Exists() { // 1.0
		result = task
	} else if update := result.Get("statusUpdate"); update.Exists() {
		result = update
	}
	switch result.Get("status").Get("state").Text() {
	case "failed", "rejected", "TASK_STATE_FAILED", "TASK_STATE_REJECTED":
		r.m.Failed = true
	}
}

// words are the members that hold the protocol's own words and ids.
var words = map[string]bool{
	"kind": true, "role": true, "messageId": true, "taskId": true, "contextId": true, "id": true, "artifactId": true,
	"state": true, "timestamp": true, "mimeType": true, "mediaType": true, "method": true, "createdAt": true, "lastModified": true,
	"message_id": true, "task_id": true, "context_id": true, "artifact_id": true, "media_type": true, "mime_type": true,
	"protocolVersion": true, "protocolBinding": true, "preferredTransport": true, "pageToken": true, "nextPageToken": true, "tenant": true,
}

// all adds the texts of a part of the protocol. parent is the name of the
// member that v is, or that it is an element of.
func (r *reader) all(v rawjson.Value, parent string, leaf act.Leaf) {
	base := leaf.Pointer
	switch v.Kind() {
	case rawjson.String:
		r.texts.Add(v, leaf)
	case rawjson.Array:
		for i, e := range v.Elems() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = content.Index(base, i)
			if parent == "parts" {
				leaf.Item = leaf.Pointer
			}
			r.all(e, parent, leaf)
		}
	case rawjson.Object:
		if strings.Contains(strings.ToLower(parent), "pushnotificationconfig") || parent == "params" && v.Get("pushNotificationConfig").Kind() != rawjson.Object && v.Get("taskId").Exists() {
			r.argument("push_url", v.Get("url"), base+"/url")
		}
		for name, member := range v.Members() {
			if r.texts.Full {
				return
			}
			leaf.Pointer = content.Join(base, name)
			r.member(v, name, member, leaf)
		}
	}
}

// member adds the texts of one member of an object of the protocol.
func (r *reader) member(object rawjson.Value, name string, v rawjson.Value, leaf act.Leaf) {
	switch name {
	case "taskId", "task_id":
		r.argument("task_id", v, leaf.Pointer)
	case "contextId", "context_id":
		r.argument("context_id", v, leaf.Pointer)
	}
	switch {
	case words[name] && content.Word(v):
	case name == "data" || name == "metadata":
		// The caller's own terms: every string in it is content.
		r.texts.AddAll(v, leaf, nil)
	case (name == "bytes" || name == "raw" || name == "fileWithBytes") && v.Kind() == rawjson.String:
		mimeType := object.Get("mimeType")
		if !mimeType.Exists() {
			mimeType = object.Get("mediaType")
		}
		r.texts.AddFile(v, mimeType.Text(), leaf)
	default:
		r.all(v, name, leaf)
	}
}

// argument notes the first value of a name.
func (r *reader) argument(name string, v rawjson.Value, pointer string) {
	if v.Kind() != rawjson.String {
		return
	}
	for _, a := range r.m.Arguments {
		if a.Name == name {
			return
		}
	}
	r.m.Arguments = append(r.m.Arguments, act.Argument{Name: name, Value: v.Raw(), Pointer: pointer})
}
