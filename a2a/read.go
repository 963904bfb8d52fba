package a2a

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what clients send.
const (
	maxID       = 256      // bytes of an id of the client's
	maxParts    = 1000     // of a message
	maxURL      = 2000     // bytes
	maxSecret   = 8 << 10  // bytes of a token or of credentials
	maxMetadata = 64 << 10 // bytes
	maxList     = 100      // extensions, references, modes
)

// reader reads the members of an object, by their names in camelCase or in
// snake_case. The first that is wrong is kept in err, and the reads that follow
// return what a missing member would. Null is the same as missing.
type reader struct {
	v      rawjson.Value
	prefix string // stands before the names of members
	err    error
}

func (r *reader) fail(name, sentence string) {
	if r.err == nil {
		r.err = invalid(r.prefix+name, sentence)
	}
}

// snake is a name as protobuf has it.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c |= 0x20
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (r *reader) get(name string) rawjson.Value {
	v := r.v.Get(name)
	if other := snake(name); other != name {
		if w := r.v.Get(other); w.Exists() {
			if v.Exists() {
				r.fail(name, "It is there twice, as "+name+" and as "+other+".")
			}
			v = w
		}
	}
	if v.Kind() == rawjson.Null {
		return rawjson.Value{}
	}
	return v
}

func (r *reader) has(name string) bool { return r.get(name).Exists() }

// within reads the members of a member that is an object; it may be missing.
func (r *reader) within(name string) *reader {
	v := r.get(name)
	if v.Exists() && v.Kind() != rawjson.Object {
		r.fail(name, "It is "+v.Kind().Noun()+", and must be an object.")
		v = rawjson.Value{}
	}
	return &reader{v: v, prefix: r.prefix + name + "."}
}

func (r *reader) join(inner *reader) {
	if r.err == nil {
		r.err = inner.err
	}
}

// text reads a string, empty when it is missing.
func (r *reader) text(name string, most int) string {
	v := r.get(name)
	switch {
	case !v.Exists():
		return ""
	case v.Kind() != rawjson.String:
		r.fail(name, "It is "+v.Kind().Noun()+", and must be a string.")
		return ""
	}
	s := v.Text()
	if len(s) > most {
		r.fail(name, fmt.Sprintf("It has %d bytes, and %d are allowed.", len(s), most))
		return ""
	}
	return s
}

// id reads an id, or another short text of one line.
func (r *reader) id(name string) string {
	s := r.text(name, maxID)
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f || c == utf8.RuneError }) {
		r.fail(name, "It holds a control character.")
		return ""
	}
	return s
}

// needed reads an id that must be there.
func (r *reader) needed(name string) string {
	s := r.id(name)
	if s == "" {
		r.fail(name, "It is missing.")
	}
	return s
}

func (r *reader) flag(name string, missing bool) bool {
	v := r.get(name)
	switch v.Kind() {
	case rawjson.Absent:
		return missing
	case rawjson.Bool:
		return v.Bool()
	}
	r.fail(name, "It is "+v.Kind().Noun()+", and must be true or false.")
	return missing
}

// count reads an integer from least to most; nil when it is missing.
func (r *reader) count(name string, least, most int) *int {
	v := r.get(name)
	if !v.Exists() {
		return nil
	}
	n, ok := v.Int()
	if f := v.Float(); !ok && v.Kind() == rawjson.Number && f == float64(int64(f)) {
		n, ok = int64(f), true // 1e2, or 100.0: ProtoJSON takes them
	}
	if v.Kind() != rawjson.Number || !ok || n < int64(least) || n > int64(most) {
		r.fail(name, fmt.Sprintf("It must be an integer from %d to %d.", least, most))
		return nil
	}
	i := int(n)
	return &i
}

// object reads an object as it is.
func (r *reader) object(name string) jsontext.Value {
	v := r.get(name)
	switch {
	case !v.Exists():
		return nil
	case v.Kind() != rawjson.Object:
		r.fail(name, "It is "+v.Kind().Noun()+", and must be an object.")
		return nil
	case len(v.Raw()) > maxMetadata:
		r.fail(name, fmt.Sprintf("It has %d bytes, and %d are allowed.", len(v.Raw()), maxMetadata))
		return nil
	}
	return jsontext.Value(v.Raw())
}

// texts reads an array of short strings.
func (r *reader) texts(name string) (list []string) {
	v := r.get(name)
	if !v.Exists() {
		return nil
	}
	if v.Kind() != rawjson.Array || v.Len() > maxList {
		r.fail(name, fmt.Sprintf("It must be an array of at most %d strings.", maxList))
		return nil
	}
	for _, item := range v.Elems() {
		if s := item.Text(); item.Kind() == rawjson.String && len(s) <= maxURL {
			list = append(list, s)
			continue
		}
		r.fail(name, "Each of it must be a string.")
	}
	return list
}

func (r *reader) time(name string) time.Time {
	s := r.text(name, 64)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		r.fail(name, "It is no time such as 2026-01-20T09:00:00Z.")
	}
	return t
}

// state reads the word of a state.
func (r *reader) state(name string) State {
	word := r.text(name, 64)
	if word == "" || word == "TASK_STATE_UNSPECIFIED" {
		return 0
	}
	for s := Submitted; s <= AuthRequired; s++ {
		if word == stateNames[s] || word == oldStateNames[s] || s == Canceled && word == "TASK_STATE_CANCELLED" {
			return s
		}
	}
	r.fail(name, "There is no such state.")
	return 0
}

// message reads a message.
func (d dialect) readMessage(r *reader) *Message {
	m := &Message{
		ID: r.needed("messageId"), Context: r.id("contextId"), Task: r.id("taskId"),
		Metadata: r.object("metadata"), Extensions: r.texts("extensions"), References: r.texts("referenceTaskIds"),
	}
	switch role := r.text("role", 32); role {
	case d.role(false):
	case d.role(true):
		m.Agent = true
	case "":
		r.fail("role", "It is missing.")
	default:
		r.fail("role", "It is neither "+d.role(false)+" nor "+d.role(true)+".")
	}
	if kind := r.text("kind", 32); d == v03 && kind != "" && kind != "message" {
		r.fail("kind", "It must be message.")
	}
	name := "parts"
	if d.proto() && !r.has(name) {
		name = "content"
	}
	m.Parts = d.readParts(r, name)
	if r.err == nil && len(m.Parts) == 0 {
		r.fail(name, "There are none.")
	}
	return m
}

func (d dialect) readParts(r *reader, name string) (parts []part) {
	list := r.get(name)
	if list.Exists() && (list.Kind() != rawjson.Array || list.Len() > maxParts) {
		r.fail(name, fmt.Sprintf("It must be an array of at most %d parts.", maxParts))
		return nil
	}
	for i, v := range list.Elems() {
		at := &reader{v: v, prefix: fmt.Sprintf("%s%s[%d].", r.prefix, name, i)}
		if v.Kind() != rawjson.Object {
			r.fail(fmt.Sprintf("%s[%d]", name, i), "It is "+v.Kind().Noun()+", and must be an object.")
			return nil
		}
		parts = append(parts, d.readPart(at))
		r.join(at)
	}
	return parts
}

// contents are the members of a part of which it has exactly one.
var contents = map[dialect][]string{
	v1:  {"text", "raw", "url", "data"},
	v03: {"text", "file", "data"},
	p03: {"text", "file", "data"},
	g03: {"text", "file", "data"},
}

func (d dialect) readPart(r *reader) (p part) {
	what := ""
	for _, name := range contents[d] {
		if r.has(name) {
			if what != "" {
				r.fail(name, "A part has one content, and this one has "+what+" and "+name+".")
				return p
			}
			what = name
		}
	}
	if what == "" {
		r.fail("", "A part has one of "+strings.Join(contents[d], ", ")+", and this one has none.")
		return p
	}
	if d == v03 {
		if kind := r.text("kind", 32); kind != what {
			r.fail("kind", "It must name the part's content, "+what+".")
			return p
		}
	}
	p.Metadata = r.object("metadata")
	if d == v1 {
		p.Filename, p.Media = r.text("filename", maxURL), r.text("mediaType", maxID)
	}
	switch what {
	case "text":
		p.Kind, p.Text = textPart, r.text("text", 64<<20)
	case "raw":
		p.Kind, p.Text = rawPart, r.bytes("raw")
	case "url":
		p.Kind, p.Text = urlPart, r.text("url", maxURL)
	case "data":
		p.Kind, p.Data = dataPart, d.readData(r)
	case "file":
		d.readFile(r.within("file"), r, &p)
	}
	return p
}

func (d dialect) readData(r *reader) jsontext.Value {
	v := r.get("data")
	if d.proto() {
		v = v.Get("data")
	}
	if d != v1 && v.Kind() != rawjson.Object {
		r.fail("data", "It must be an object.")
		return nil
	}
	return jsontext.Value(v.Raw())
}

func (d dialect) readFile(file, r *reader, p *part) {
	bytes, uri, name := "bytes", "uri", "name"
	if d.proto() {
		bytes, uri = "fileWithBytes", "fileWithUri"
	}
	p.Media, p.Filename = file.text("mimeType", maxID), file.text(name, maxURL)
	switch {
	case file.has(bytes) == file.has(uri):
		file.fail("", "A file has either "+bytes+" or "+uri+".")
	case file.has(bytes):
		p.Kind, p.Text = rawPart, file.bytes(bytes)
	default:
		p.Kind, p.Text = urlPart, file.text(uri, maxURL)
	}
	r.join(file)
}

// bytes reads Base64, and returns it in its standard form.
func (r *reader) bytes(name string) string {
	s := r.text(name, 64<<20)
	plain := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	b, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		r.fail(name, "It is no Base64.")
		return ""
	}
	return base64.StdEncoding.EncodeToString(b)
}

// readPush reads a push configuration's own members.
func (d dialect) readPush(r *reader) *pushConfig {
	p := &pushConfig{ID: r.id("id"), URL: r.text("url", maxURL), Token: r.text("token", maxSecret)}
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		r.fail("url", "It must be an http or https URL without user and password.")
	}
	a := r.within("authentication")
	p.Scheme, p.Credentials = a.id("scheme"), a.text("credentials", maxSecret)
	if schemes := a.texts("schemes"); p.Scheme == "" && len(schemes) > 0 { // 0.3
		p.Scheme = schemes[0]
	}
	if strings.ContainsFunc(p.Token+p.Scheme+p.Credentials, func(c rune) bool { return c < 0x20 && c != '\t' || c == 0x7f || c == utf8.RuneError }) {
		r.fail("token", "It, or a credential, cannot stand in a header.")
	}
	r.join(a)
	return p
}

// maxHistory bounds what clients can ask for; it is more than there ever is.
const maxHistory = 1 << 30

// readParams reads the params of an operation.
func (d dialect) readParams(op operation, params rawjson.Value) (*request, error) {
	q := &request{op: op, dialect: d}
	if params.Exists() && params.Kind() != rawjson.Object {
		return nil, invalid("params", "They must be an object.")
	}
	r := &reader{v: params}
	switch op {
	case opSend, opStream:
		d.readSend(r, q)
	case opGet:
		q.ID, q.History = d.taskID(r), r.count("historyLength", 0, maxHistory)
	case opCancel, opSubscribe:
		q.ID = d.taskID(r)
	case opList:
		d.readList(r, q)
	case opPushCreate:
		d.readPushCreate(r, q)
	case opPushGet, opPushDelete:
		d.readPushName(r, q)
	case opPushList:
		name := "taskId"
		switch d {
		case v03:
			name = "id"
		case p03, g03:
			name = "parent"
		}
		q.ID, _ = split(r.needed(name))
	}
	return q, r.err
}

// split takes a resource's name apart: tasks/1/pushNotificationConfigs/2.
func split(name string) (task, config string) {
	task = strings.TrimPrefix(name, "tasks/")
	task, config, _ = strings.Cut(task, "/pushNotificationConfigs")
	return task, strings.TrimPrefix(config, "/")
}

func (d dialect) taskID(r *reader) string {
	if d.proto() {
		id, _ := split(r.needed("name"))
		return id
	}
	return r.needed("id")
}

func (d dialect) readSend(r *reader, q *request) {
	name := "message"
	if d.proto() && !r.has(name) {
		name = "request"
	}
	if !r.has(name) {
		r.fail("message", "It is missing.")
		return
	}
	m := r.within(name)
	q.Message = d.readMessage(m)
	r.join(m)
	q.Metadata = r.object("metadata")
	c := r.within("configuration")
	defer r.join(c)
	q.History = c.count("historyLength", 0, maxHistory)
	_ = c.texts("acceptedOutputModes") // a hint; results are what they are
	push := "pushNotificationConfig"
	switch d {
	case v1:
		q.Now, push = c.flag("returnImmediately", false), "taskPushNotificationConfig"
	case v03:
		q.Now = !c.flag("blocking", true)
	case p03, g03:
		q.Now, push = !c.flag("blocking", false), "pushNotification"
	}
	if c.has(push) {
		p := c.within(push)
		q.Push = d.readPush(p)
		c.join(p)
	}
}

// Bounds of a page of tasks (ListTasksRequest).
const (
	usualPage = 50
	mostPage  = 100
)

func (d dialect) readList(r *reader, q *request) {
	q.Context, q.State, q.PageToken = r.id("contextId"), r.state("status"), r.text("pageToken", maxID)
	q.History, q.Artifacts = r.count("historyLength", 0, maxHistory), r.flag("includeArtifacts", false)
	q.PageSize = usualPage
	if n := r.count("pageSize", 1, mostPage); n != nil {
		q.PageSize = *n
	}
	if after := "statusTimestampAfter"; r.has(after) {
		q.After = r.time(after)
	} else {
		q.After = r.time("lastUpdatedTime") // 0.3 over gRPC
	}
	if q.History == nil {
		q.History = new(int) // a list is short unless it is asked to be long
	}
}

func (d dialect) readPushCreate(r *reader, q *request) {
	switch d {
	case v1:
		q.ID = r.needed("taskId")
		at := r
		if inner := r.get("pushNotificationConfig"); inner.Kind() == rawjson.Object { // as before 1.0 was settled
			at = r.within("pushNotificationConfig")
		}
		q.Push = d.readPush(at)
		if at != r {
			r.join(at)
		}
	case v03:
		q.ID = r.needed("taskId")
		if !r.has("pushNotificationConfig") {
			r.fail("pushNotificationConfig", "It is missing.")
			return
		}
		inner := r.within("pushNotificationConfig")
		q.Push = d.readPush(inner)
		r.join(inner)
	case p03, g03:
		// Over HTTP, it is the config alone, and the task is in the path.
		q.ID, _ = split(r.id("parent"))
		config := r
		if r.has("config") {
			config = r.within("config")
		}
		name := config.id("name")
		task, id := split(name)
		if q.ID == "" {
			q.ID = task
		}
		inner := config
		if config.has("pushNotificationConfig") {
			inner = config.within("pushNotificationConfig")
		}
		q.Push = d.readPush(inner)
		if q.Push.ID == "" {
			q.Push.ID = id
		}
		if q.Push.ID == "" {
			q.Push.ID = r.id("configId")
		}
		if inner != config {
			config.join(inner)
		}
		if config != r {
			r.join(config)
		}
		if q.ID == "" {
			r.fail("parent", "It is missing.")
		}
	}
}

func (d dialect) readPushName(r *reader, q *request) {
	switch d {
	case v1:
		q.ID, q.Config = r.needed("taskId"), r.needed("id")
	case v03:
		q.ID, q.Config = r.needed("id"), r.id("pushNotificationConfigId")
	case p03, g03:
		q.ID, q.Config = split(r.needed("name"))
	}
}
