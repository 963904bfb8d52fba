package hook

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A call or a prompt that cannot be read does not happen: the exit code says so, and
// all agents take it. With a result that is not enough: most agents show it to the
// model nevertheless. So of an event that cannot be read as much is read as is
// needed to withhold a result, or to judge it after all.

// readResult reads the event of a result that Read refuses with why. Text that is no
// Unicode, such as half of a surrogate pair, is what a tool can make an agent send:
// it is judged with marks in its place, which the model reads, too. The event is nil
// where not even its name can be told.
func readResult(agent, event string, input []byte, why error) (*Event, error) {
	a, err := Find(agent)
	if err != nil {
		return nil, why
	}
	e := &Event{Agent: a}
	names := map[string]*string{"hook_event_name": &e.Name, "tool_name": &e.Tool.Given}
	if a.ID == "opencode" {
		names = map[string]*string{"event": &e.Name, "tool": &e.Tool.Given}
	}
	peek(input, names)
	if a.ID == "copilot" && e.Tool.Given == "" {
		peek(input, map[string]*string{"toolName": &e.Tool.Given})
	}
	if e.Name == "" {
		e.Name = event
	}
	kind, known := a.events[e.Name]
	if !known || event != "" && !strings.EqualFold(event, e.Name) {
		return nil, why
	}
	if e.Kind = kind; kind != Result {
		return e, why
	}
	if e.Tool = toolOf(e.Tool.Given); len(input) > MaxInput {
		return e, why
	}
	if text, err := unicodeOnly(input); err == nil {
		if whole, err := Read(agent, event, text); err == nil {
			return whole, nil
		} else if whole != nil {
			return whole, err
		}
	}
	return e, why
}

// unread is the answer to an event that cannot be judged; e is nil for one of which
// nothing is known.
func unread(e *Event, why error) Answer {
	if e == nil {
		return Block(why.Error())
	}
	return e.Refuse(why.Error())
}

// peek reads the texts of some members of an object, however broken the rest is.
func peek(input []byte, members map[string]*string) {
	d := jsontext.NewDecoder(bytes.NewReader(input), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for left := len(members); left > 0 && d.PeekKind() == '"'; {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		to := members[name.String()]
		if to == nil || d.PeekKind() != '"' || *to != "" {
			if d.SkipValue() != nil {
				return
			}
			continue
		}
		text, err := d.ReadToken()
		if err != nil {
			return
		}
		*to = text.String()
		left--
	}
}

// unicodeOnly is a JSON text in which what is no Unicode is U+FFFD.
func unicodeOnly(input []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(input), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	w := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true))
	for {
		var err error
		if d.PeekKind() == '0' { // with the digits that it came with
			var v jsontext.Value
			if v, err = d.ReadValue(); err == nil {
				err = w.WriteValue(v)
			}
		} else {
			var t jsontext.Token
			if t, err = d.ReadToken(); errors.Is(err, io.EOF) {
				return out.Bytes(), nil
			}
			if err == nil && t.Kind() == '"' {
				t = jsontext.String(t.String())
			}
			if err == nil {
				err = w.WriteToken(t)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}
