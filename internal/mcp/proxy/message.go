package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"reeve.example/reeve/act"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Codes of JSON-RPC errors.
const (
	codeParse          = -32700
	codeInvalid        = -32600
	codeInternal       = -32603
	codeDeclined       = -1     // the user does not let the client's model be asked
	codeDenied         = -32003 // the policy denies it, or a person must agree first
	codeHeaderMismatch = -32020 // a header disagrees with the body
)

// maxBatch is how many messages a batch may hold.
const maxBatch = 100

// message is one JSON-RPC message as its envelope tells of it. Its doc is the
// message alone, so that what is changed in it keeps all other bytes.
type message struct {
	doc    *rawjson.Doc
	method string // empty for an answer
	id     string // the id's bytes, canonical; empty for a notification
	key    string // what the id is to whoever reads it: see keyOf
	// untouched says that no rule can say anything of it: see session.untouched.
	untouched bool
}

func (m *message) root() rawjson.Value { return m.doc.Root() }
func (m *message) raw() []byte         { return m.doc.Source() }
func (m *message) request() bool       { return m.method != "" && m.id != "" }

// errEnvelope is a message that is no JSON-RPC message, or two at once: what it
// is to one reader it might not be to another.
var errEnvelope = errors.New("the message is not one JSON-RPC 2.0 request, notification or answer")

// errAmbiguous is a message that does one thing to one reader and another to
// another: see message.Double.
type errAmbiguous struct{ reason act.Reason }

func (e *errAmbiguous) Error() string { return e.reason.Message + " " + e.reason.Instead }

// read reads one message. The error says what is wrong with it; id is then its
// id as far as it can be told.
func read(raw []byte) (m *message, err error) {
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the message is not acceptable JSON: %w", err)
	}
	return envelope(doc)
}

func envelope(doc *rawjson.Doc) (*message, error) {
	root := doc.Root()
	id, method := root.Get("id"), root.Get("method")
	answers := root.Get("result").Exists() || root.Get("error").Exists()
	m := &message{doc: doc, method: method.Text()}
	switch id.Kind() {
	case rawjson.Absent:
	case rawjson.String, rawjson.Number:
		m.id = string(id.AppendCanonical(nil))
		if m.key = keyOf(id); m.key == "" {
			return nil, errEnvelope
		}
	case rawjson.Null:
		if !root.Get("error").Exists() {
			return nil, errEnvelope
		}
		m.id = "null"
	default:
		return nil, errEnvelope
	}
	if m.id == "" && root.Get("error").Exists() {
		m.id = "null" // an error about a message that could not be read
	}
	if m.id == "null" {
		m.key = "null"
	}
	switch {
	case root.Kind() != rawjson.Object, root.Get("jsonrpc").Text() != "2.0",
		method.Exists() && m.method == "", // an empty name, or none at all
		method.Exists() == answers,
		answers && m.id == "",
		root.Get("result").Exists() && root.Get("error").Exists():
		return nil, errEnvelope
	}
	if d := mcp.Double(root, ""); d != nil {
		return nil, &errAmbiguous{d.Refusal()}
	}
	return m, nil
}

// keyOf is an id as it is compared. A number is one number however it is spelled,
// and to most readers the nearest one that a float holds: 1, 1.0 and 1e0 must not
// wait for their answers at once, since the server's answer could be to either.
// Empty for what is no id.
func keyOf(id rawjson.Value) string {
	switch id.Kind() {
	case rawjson.String:
		return string(id.AppendCanonical(nil))
	case rawjson.Number:
		f, err := strconv.ParseFloat(string(id.Raw()), 64)
		if err != nil {
			return ""
		}
		return strconv.FormatFloat(f+0, 'g', -1, 64) // + 0: there is one zero
	}
	return ""
}

// keyOfText is the key of an id in JSON.
func keyOfText(id string) string {
	doc, err := rawjson.Parse([]byte(id))
	if err != nil {
		return ""
	}
	return keyOf(doc.Root())
}

// split reads what came in one piece: a message, or a batch of them.
func split(raw []byte) (list []*message, batch bool, err error) {
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return nil, false, fmt.Errorf("the message is not acceptable JSON: %w", err)
	}
	if doc.Root().Kind() != rawjson.Array {
		m, err := envelope(doc)
		if err != nil {
			return nil, false, err
		}
		return []*message{m}, false, nil
	}
	if n := doc.Root().Len(); n == 0 || n > maxBatch {
		return nil, true, fmt.Errorf("a batch holds 1 to %d messages, not %d", maxBatch, n)
	}
	for _, e := range doc.Root().Elems() {
		m, err := read(e.Raw())
		if err != nil {
			return nil, true, err
		}
		list = append(list, m)
	}
	return list, true, nil
}

// idOf is the id of a message that cannot be read strictly, as JSON; null when
// it cannot be told either.
func idOf(raw []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "null"
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return "null"
		}
		isID := name.String() == "id"
		value, err := d.ReadValue()
		if err != nil {
			return "null"
		}
		if kind := value.Kind(); isID && (kind == '"' || kind == '0') && keyOfText(string(value)) != "" {
			return string(value)
		}
	}
	return "null"
}

// routine are the methods of the protocol's own housekeeping: nothing is done by
// them but what every client does. What they say is judged all the same where
// they hold text, or a rule names them.
var routine = map[string]bool{
	"initialize": true, "server/discover": true, "ping": true, "logging/setLevel": true,
	"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true,
	"tasks/get": true, "tasks/list": true, "tasks/cancel": true,
	"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true,
	"notifications/message": true, "notifications/roots/list_changed": true,
	"notifications/tools/list_changed": true, "notifications/prompts/list_changed": true,
	"notifications/resources/list_changed": true, "notifications/resources/updated": true,
	"notifications/elicitation/complete": true, "notifications/tasks/status": true,
	"notifications/subscriptions/acknowledged": true,
}

// oneLine is a message without line ends, for a stream of lines. CR and LF are
// white space, since no string holds one; what else some readers take for the end of
// a line can only stand in a string, and is escaped there: such a reader would find
// another message in it.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0 {
		raw = bytes.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return ' '
			}
			return r
		}, raw)
	}
	for end, escaped := range lineEnds {
		if bytes.Contains(raw, []byte(end)) {
			raw = bytes.ReplaceAll(raw, []byte(end), []byte(escaped))
		}
	}
	return raw
}

// lineEnds are characters of JSON strings at which some readers end a line: next
// line, and the separators of lines and of paragraphs.
var lineEnds = map[string]string{"\u0085": `\u0085`, "\u2028": `\u2028`, "\u2029": `\u2029`}

// hasLineEnd reports whether a text holds one of them.
func hasLineEnd(text []byte) bool {
	for end := range lineEnds {
		if bytes.Contains(text, []byte(end)) {
			return true
		}
	}
	return false
}

// joined is a batch, or the one message of none.
func joined(list [][]byte, batch bool) []byte {
	if len(list) == 0 {
		return nil
	}
	if !batch {
		return list[0]
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}
