package a2a

import (
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// dialect is a way of writing the protocol's objects as JSON.
type dialect uint8

const (
	v1  dialect = iota + 1 // version 1.0, over all its bindings
	v03                    // version 0.3 over JSON-RPC
	p03                    // version 0.3 over HTTP: as its messages of protobuf are written as JSON
	g03                    // version 0.3 over gRPC: the same, where a message's content goes by another name
)

// proto reports whether a dialect is 0.3 as protobuf has it.
func (d dialect) proto() bool { return d == p03 || d == g03 }

func (d dialect) version() string {
	if d == v1 {
		return "1.0"
	}
	return "0.3"
}

var stateNames = [...]string{
	Submitted: "TASK_STATE_SUBMITTED", Working: "TASK_STATE_WORKING", Completed: "TASK_STATE_COMPLETED", Failed: "TASK_STATE_FAILED",
	Canceled: "TASK_STATE_CANCELED", Rejected: "TASK_STATE_REJECTED", InputRequired: "TASK_STATE_INPUT_REQUIRED", AuthRequired: "TASK_STATE_AUTH_REQUIRED",
}

var oldStateNames = [...]string{
	Submitted: "submitted", Working: "working", Completed: "completed", Failed: "failed",
	Canceled: "canceled", Rejected: "rejected", InputRequired: "input-required", AuthRequired: "auth-required",
}

// word is the state as a dialect names it.
func (s State) word(d dialect) string {
	switch {
	case d == v03:
		return oldStateNames[s]
	case d.proto() && s == Canceled:
		return "TASK_STATE_CANCELLED"
	}
	return stateNames[s]
}

// object writes the members of a JSON object.
type object struct {
	b    []byte
	some bool
}

func begin(b []byte) object { return object{b: append(b, '{')} }

func (o *object) name(name string) {
	if o.some {
		o.b = append(o.b, ',')
	}
	o.some = true
	o.b = append(rawjson.AppendString(o.b, name), ':')
}

func (o *object) text(name, s string) {
	o.name(name)
	o.b = rawjson.AppendString(o.b, s)
}

// textIf leaves an empty string out.
func (o *object) textIf(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) raw(name string, v []byte) {
	if v != nil {
		o.name(name)
		o.b = append(o.b, v...)
	}
}

func (o *object) flag(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) number(name string, n int) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, int64(n), 10)
}

func (o *object) time(name string, t time.Time) {
	if !t.IsZero() {
		o.text(name, t.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
}

func (o *object) list(name string, list []string) {
	if len(list) == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i, s := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = rawjson.AppendString(o.b, s)
	}
	o.b = append(o.b, ']')
}

func (o *object) end() []byte { return append(o.b, '}') }

// appendAll writes an array.
func appendAll[T any](b []byte, list []T, one func(b []byte, v *T) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, &list[i])
	}
	return append(b, ']')
}

// role is a message's role as a dialect names it.
func (d dialect) role(agent bool) string {
	switch {
	case d == v03 && agent:
		return "agent"
	case d == v03:
		return "user"
	case agent:
		return "ROLE_AGENT"
	}
	return "ROLE_USER"
}

func (d dialect) message(b []byte, m *Message) []byte {
	o := begin(b)
	if d == v03 {
		o.text("kind", "message")
	}
	o.text("messageId", m.ID)
	o.textIf("contextId", m.Context)
	o.textIf("taskId", m.Task)
	o.text("role", d.role(m.Agent))
	name := "parts"
	if d == p03 {
		name = "content"
	}
	o.name(name)
	o.b = d.parts(o.b, m.Parts)
	o.raw("metadata", m.Metadata)
	o.list("extensions", m.Extensions)
	if d != p03 {
		o.list("referenceTaskIds", m.References)
	}
	return o.end()
}

func (d dialect) parts(b []byte, parts []part) []byte { return appendAll(b, parts, d.part) }

func (d dialect) part(b []byte, p *part) []byte {
	o := begin(b)
	if d == v1 {
		switch p.Kind {
		case textPart:
			o.text("text", p.Text)
		case rawPart:
			o.text("raw", p.Text)
		case urlPart:
			o.text("url", p.Text)
		case dataPart:
			o.raw("data", p.Data)
		}
		o.textIf("filename", p.Filename)
		o.textIf("mediaType", p.Media)
		o.raw("metadata", p.Metadata)
		return o.end()
	}
	switch p.Kind {
	case textPart:
		o.kind(d, "text")
		o.text("text", p.Text)
	case dataPart:
		o.kind(d, "data")
		data := p.Data
		if data.Kind() != '{' { // 0.3 knows objects only
			inner := begin(nil)
			inner.raw("value", data)
			data = inner.end()
		}
		if d.proto() {
			inner := begin(nil)
			inner.raw("data", data)
			data = inner.end()
		}
		o.raw("data", data)
	default:
		o.kind(d, "file")
		names := [...]string{rawPart: "bytes", urlPart: "uri"}
		if d.proto() {
			names = [...]string{rawPart: "fileWithBytes", urlPart: "fileWithUri"}
		}
		file := begin(nil)
		file.text(names[p.Kind], p.Text)
		file.textIf("mimeType", p.Media)
		file.textIf("name", p.Filename)
		o.raw("file", file.end())
	}
	o.raw("metadata", p.Metadata)
	return o.end()
}

// kind writes what of 0.3 over JSON-RPC an object is.
func (o *object) kind(d dialect, kind string) {
	if d == v03 {
		o.text("kind", kind)
	}
}

// origin writes the agent's own metadata. In 1.0 names are camelCase (section 5.5);
// only user_id has the name everywhere that the Interface Protocol's mapping of
// tasks gives it.
func (d dialect) origin(from *origin) []byte {
	if from == nil {
		return nil
	}
	root, task := "root_task_id", "task_id"
	if d == v1 {
		root, task = "rootTaskId", "taskId"
	}
	o := begin(nil)
	o.text("protocol", "a2a")
	o.textIf(root, from.Root)
	o.textIf(task, from.Task)
	o.textIf("user_id", from.User)
	if len(from.Labels) > 0 {
		o.list(act.LabelsKey, from.Labels)
	}
	if from.Progress != nil {
		o.raw("progress", strconv.AppendFloat(nil, *from.Progress, 'g', -1, 64))
	}
	return o.end()
}

func (d dialect) artifact(b []byte, a *artifact) []byte {
	o := begin(b)
	o.text("artifactId", a.ID)
	o.textIf("name", a.Name)
	o.textIf("description", a.Description)
	o.name("parts")
	o.b = d.parts(o.b, a.Parts)
	o.raw("metadata", d.origin(a.Origin))
	return o.end()
}

func (d dialect) status(b []byte, s State, m *Message, at time.Time) []byte {
	o := begin(b)
	o.text("state", s.word(d))
	if m != nil {
		o.name("message")
		o.b = d.message(o.b, m)
	}
	o.time("timestamp", at)
	return o.end()
}

func (d dialect) task(b []byte, t *taskView) []byte {
	o := begin(b)
	o.kind(d, "task")
	o.text("id", t.ID)
	o.text("contextId", t.Context)
	o.name("status")
	o.b = d.status(o.b, t.State, t.Message, t.At)
	if t.ShowArtifacts && len(t.Artifacts) > 0 {
		o.name("artifacts")
		o.b = appendAll(o.b, t.Artifacts, d.artifact)
	}
	if len(t.History) > 0 {
		o.name("history")
		o.b = appendAll(o.b, t.History, d.message)
	}
	o.raw("metadata", d.origin(t.Origin))
	return o.end()
}

func (d dialect) statusUpdate(b []byte, u *statusUpdate) []byte {
	o := begin(b)
	o.kind(d, "status-update")
	o.text("taskId", u.Task)
	o.text("contextId", u.Context)
	o.name("status")
	o.b = d.status(o.b, u.State, u.Message, u.At)
	if d != v1 {
		o.flag("final", u.Final)
	}
	o.raw("metadata", d.origin(u.Origin))
	return o.end()
}

func (d dialect) artifactUpdate(b []byte, u *artifactUpdate) []byte {
	o := begin(b)
	o.kind(d, "artifact-update")
	o.text("taskId", u.Task)
	o.text("contextId", u.Context)
	o.name("artifact")
	o.b = d.artifact(o.b, &u.Artifact)
	o.flag("append", u.Append)
	o.flag("lastChunk", u.Last)
	o.raw("metadata", d.origin(u.Origin))
	return o.end()
}

// event writes what a stream tells, or what SendMessage answers. In 1.0, and over
// gRPC, its kind is the name of the only member.
func (d dialect) event(b []byte, e *event) []byte {
	var name string
	var write func(b []byte) []byte
	switch {
	case e.task != nil:
		name, write = "task", func(b []byte) []byte { return d.task(b, e.task) }
	case e.message != nil:
		name, write = "message", func(b []byte) []byte { return d.message(b, e.message) }
	case e.status != nil:
		name, write = "statusUpdate", func(b []byte) []byte { return d.statusUpdate(b, e.status) }
	default:
		name, write = "artifactUpdate", func(b []byte) []byte { return d.artifactUpdate(b, e.artifact) }
	}
	if d == v03 {
		return write(b)
	}
	o := begin(b)
	o.name(name)
	o.b = write(o.b)
	return o.end()
}

func (d dialect) page(b []byte, p *page) []byte {
	o := begin(b)
	o.name("tasks")
	o.b = appendAll(o.b, p.Tasks, func(b []byte, t **taskView) []byte { return d.task(b, *t) })
	o.text("nextPageToken", p.Next)
	if d == v1 {
		o.number("pageSize", p.Size)
	}
	if d != v03 {
		o.number("totalSize", p.Total)
	}
	return o.end()
}

// push writes a push configuration, without its secrets unless it is for whom
// they are meant.
func (d dialect) push(b []byte, p *pushConfig) []byte {
	o := begin(b)
	switch d {
	case v1:
		o.text("taskId", p.Task)
		o.inner(d, p)
	case v03:
		o.text("taskId", p.Task)
		o.name("pushNotificationConfig")
		inner := begin(o.b)
		inner.inner(d, p)
		o.b = inner.end()
	case p03, g03:
		o.text("name", "tasks/"+p.Task+"/pushNotificationConfigs/"+p.ID)
		o.name("pushNotificationConfig")
		inner := begin(o.b)
		inner.inner(d, p)
		o.b = inner.end()
	}
	return o.end()
}

func (o *object) inner(d dialect, p *pushConfig) {
	o.text("id", p.ID)
	o.text("url", p.URL)
	o.textIf("token", p.Token)
	if p.Scheme == "" {
		return
	}
	o.name("authentication")
	a := begin(o.b)
	if d == v1 {
		a.text("scheme", p.Scheme)
	} else {
		a.list("schemes", []string{p.Scheme})
	}
	a.textIf("credentials", p.Credentials)
	o.b = a.end()
}

func (d dialect) pushes(b []byte, list []pushConfig) []byte {
	if d == v03 {
		return appendAll(b, list, d.push)
	}
	o := begin(b)
	o.name("configs")
	o.b = appendAll(o.b, list, d.push)
	o.text("nextPageToken", "")
	return o.end()
}

// canonical is a message as it is judged, and recorded: version 1.0 over JSON-RPC,
// whatever it came in, and nothing of it that is not used. Secrets that are for
// the receiver of push notifications are left out.
func (r *request) canonical() []byte {
	o := begin(nil)
	o.text("jsonrpc", "2.0")
	o.text("id", r.Message.ID)
	o.text("method", methodNames[r.op])
	o.name("params")
	params := begin(o.b)
	params.name("message")
	params.b = v1.message(params.b, r.Message)
	if r.Push != nil {
		params.name("configuration")
		configuration := begin(params.b)
		configuration.name("taskPushNotificationConfig")
		push := begin(configuration.b)
		push.text("url", r.Push.URL)
		configuration.b = push.end()
		params.b = configuration.end()
	}
	params.raw("metadata", r.Metadata)
	o.b = params.end()
	return o.end()
}

// agentSentence is a message of the agent that is one sentence.
func agentSentence(id, task, context, sentence string) *Message {
	return &Message{ID: id, Task: task, Context: context, Agent: true, Parts: []part{{Kind: textPart, Text: sentence}}}
}

// metadataOf is an object of a few texts.
func metadataOf(pairs ...string) jsontext.Value {
	o := begin(nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		o.textIf(pairs[i], pairs[i+1])
	}
	return o.end()
}
