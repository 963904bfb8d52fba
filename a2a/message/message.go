// Package message reads what an A2A message says, in versions 0.3 and 1.0: what
// it asks for, and the texts that it carries. What it does not know it treats
// as text.
package message

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
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
	// Traceparent is the caller's span as the metadata of a message names it.
	Traceparent string
	// Labels are those that the metadata of a message gives it.
	Labels []string
}

// Read reads the message v, whose JSON Pointer is base, and adds its texts: all
// of them, wherever they stand. The members named in beside are none of the
// message's own.
func Read(v rawjson.Value, base string, texts *content.Set, beside ...string) Message {
	var m Message
	r := reader{m: &m, texts: texts}
	enveloped := isEnveloped(v)
	if enveloped {
		m.ID, m.Method = content.IDOf(v.Get("id")), v.Get("method").Text()
		m.Request = m.Method != ""
		m.Failed = v.Get("error").Exists()
		r.failed(v.Get("result"))
	} else {
		role := v.Get("role").Text()
		m.Request = role == "user" || role == "ROLE_USER"
		if !v.Get("kind").Exists() && !v.Get("status").Exists() { // else a task's own id
			m.ID = content.IDOf(v.Get("id"))
		}
		r.failed(v)
	}
	r.addressed(v, base, enveloped)
	for _, at := range [...]rawjson.Value{v, v.Get("params"), v.Get("params").Get("message")} {
		if text := at.Get("metadata").Get("traceparent").Text(); text != "" {
			m.Traceparent = text // the innermost is the nearest to who speaks
		}
		m.label(at)
	}
	for _, at := range [...]rawjson.Value{v, v.Get("result")} { // an answer: a message, a task, or an event of one
		m.label(at)
		for _, inner := range [...]string{"message", "task", "statusUpdate", "artifactUpdate"} {
			m.label(at.Get(inner))
		}
	}
	for name, member := range v.Members() {
		if slices.Contains(beside, name) {
			continue
		}
		texts.AddName(name, act.Leaf{Pointer: base})
		leaf := act.Leaf{Pointer: content.Join(base, name)}
		switch {
		case (enveloped || name == "jsonrpc") && texts.AddEnvelope(name, member, leaf):
		case name == "error":
			texts.AddAll(member, leaf, nil)
		default:
			r.member(v, name, member, leaf)
		}
	}
	return m
}

// label notes the labels that a message, or what it is a part of, has in its metadata.
func (m *Message) label(of rawjson.Value) {
	for name, v := range of.Get("metadata").Members() {
		if strings.EqualFold(strings.TrimSpace(name), act.LabelsKey) {
			m.Labels = content.AppendLabels(m.Labels, v)
		}
	}
	for _, p := range of.Get("parts").Elems() {
		m.label(p)
	}
}

// isEnveloped reports whether v is a JSON-RPC request or answer. What has the
// members of a bare message or task, and no jsonrpc, is one of those, whatever
// else it holds.
func isEnveloped(v rawjson.Value) bool {
	if v.Get("method").Text() == "" && !v.Get("result").Exists() && !v.Get("error").Exists() {
		return false
	}
	return v.Get("jsonrpc").Exists() || !looksBare(v)
}

func looksBare(v rawjson.Value) bool {
	return v.Get("parts").Exists() || v.Get("role").Exists() || v.Get("kind").Exists() || v.Get("status").Exists()
}

// Ambiguous reports whether v is a bare message or task by some of its members
// and a request by its method, so that it depends on the reader what it does.
func Ambiguous(v rawjson.Value) bool {
	return v.Get("method").Exists() && !v.Get("jsonrpc").Exists() && looksBare(v)
}

// AppendCanonical appends what the message does, in canonical JSON, for a
// digest. The JSON-RPC id and the id of the message sent are left out, since
// they differ when the same thing is sent again, and so is what stands beside.
func AppendCanonical(dst []byte, v rawjson.Value, beside ...string) []byte {
	if isEnveloped(v) {
		return content.AppendEnvelope(dst, v, beside, appendPart)
	}
	dst = append(dst, `"content":{"message":`...)
	dst = content.AppendWithout(dst, v, append(messageIDs(v), beside...)...)
	return append(dst, '}')
}

// appendPart appends the error, params or result.
func appendPart(dst []byte, name string, v rawjson.Value) []byte {
	message := v.Get("message")
	if name != "params" || message.Kind() != rawjson.Object {
		return v.AppendCanonical(dst)
	}
	dst = append(dst, `{"message":`...)
	dst = content.AppendWithout(dst, message, messageIDs(message)...)
	dst = append(dst, `,"rest":`...)
	dst = content.AppendWithout(dst, v, "message")
	return append(dst, '}')
}

// messageIDs names the members that hold a message's own id.
func messageIDs(message rawjson.Value) []string {
	return content.IDsIn(message, "messageId", "message_id")
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

// addressed notes the task and the context where the protocol has them, so that
// the same names elsewhere in the message do not stand for them.
func (r *reader) addressed(v rawjson.Value, base string, enveloped bool) {
	if enveloped {
		params := v.Get("params")
		if message := params.Get("message"); message.Exists() {
			r.addresses(message, base+"/params/message")
		} else if r.m.Request {
			r.argument("task_id", params.Get("id"), base+"/params/id") // as in tasks/get
		}
		r.addresses(params, base+"/params")
		v, base = v.Get("result"), base+"/result"
	}
	r.addresses(v, base)
}

func (r *reader) addresses(v rawjson.Value, base string) {
	for _, name := range [...]string{"taskId", "task_id", "contextId", "context_id"} {
		if member := v.Get(name); member.Exists() {
			r.argument(arguments[name], member, base+"/"+name)
		}
	}
}

// arguments are the names under which rules find what a member holds.
var arguments = map[string]string{
	"taskId": "task_id", "task_id": "task_id", "contextId": "context_id", "context_id": "context_id",
}

// words are the members that hold the protocol's own words.
var words = map[string]bool{
	"kind": true, "role": true, "state": true, "timestamp": true, "createdAt": true, "lastModified": true, "method": true,
	"mimeType": true, "mediaType": true, "media_type": true, "mime_type": true,
	"protocolVersion": true, "protocolBinding": true, "preferredTransport": true,
}

// states are the words of version 1.0 that are too long to be plain.
var states = map[string]bool{
	"TASK_STATE_UNSPECIFIED": true, "TASK_STATE_SUBMITTED": true, "TASK_STATE_WORKING": true, "TASK_STATE_COMPLETED": true,
	"TASK_STATE_FAILED": true, "TASK_STATE_CANCELED": true, "TASK_STATE_CANCELLED": true, "TASK_STATE_REJECTED": true,
	"TASK_STATE_INPUT_REQUIRED": true, "TASK_STATE_AUTH_REQUIRED": true,
}

// ids are the members that hold the protocol's own ids.
var ids = map[string]bool{
	"id": true, "messageId": true, "taskId": true, "contextId": true, "artifactId": true,
	"message_id": true, "task_id": true, "context_id": true, "artifact_id": true,
	"pageToken": true, "nextPageToken": true, "tenant": true,
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
			leaf.Pointer = base
			r.texts.AddName(name, leaf)
			leaf.Pointer = content.Join(base, name)
			r.member(v, name, member, leaf)
		}
	default:
		r.texts.AddAll(v, leaf, nil) // a long number
	}
}

// member adds the texts of one member of an object of the protocol.
func (r *reader) member(object rawjson.Value, name string, v rawjson.Value, leaf act.Leaf) {
	if argument, ok := arguments[name]; ok {
		r.argument(argument, v, leaf.Pointer)
	}
	switch {
	case words[name] && (content.Word(v) || states[v.Text()]):
	case ids[name] && v.Kind() == rawjson.String:
		r.texts.AddFixed(v, leaf)
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
