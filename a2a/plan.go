package a2a

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// plan is what a message is to become. why says, as a sentence, that nothing can
// become of it.
type plan struct {
	tasks []*task.Task
	top   *task.Task
	why   string
}

const noWorkflow = "This agent has no workflow that messages of text are given to. Send a data part with the member tasks: a tree of tasks."

// planOf finds the tasks that a message holds, or else those of the configured
// workflow.
func (s *Server) planOf(m *Message, r *record, version string, now time.Time) (*plan, error) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == dataPart {
			if params := tasksIn(p.Data); params != nil {
				return decode(params, now, "message.parts.data")
			}
		}
	}
	if s.cfg.Workflow == nil {
		return &plan{why: noWorkflow}, nil
	}
	params, err := s.workflow(m, r, version)
	if err != nil {
		return nil, err
	}
	p, err := decode(params, now, "message")
	if f, ok := errors.AsType[*failure](err); ok { // the workflow is wrong, or what came into it
		return &plan{why: "The message does not fit the agent's workflow: " + f.sentence}, nil
	}
	return p, err
}

// tasksIn is the tasks in a data part: {"tasks": […]}, or params that hold it.
func tasksIn(data jsontext.Value) jsontext.Value {
	doc, err := rawjson.Parse(data)
	if err != nil {
		return nil
	}
	v := doc.Root()
	if inner := v.Get("params"); inner.Kind() == rawjson.Object && !v.Get("tasks").Exists() {
		v = inner
	}
	if !v.Get("tasks").Exists() {
		return nil
	}
	o := begin(nil)
	o.raw("tasks", v.Get("tasks").Raw())
	return o.end()
}

func decode(params jsontext.Value, now time.Time, field string) (*plan, error) {
	tasks, top, err := task.DecodeTasks(params, task.Reading{Now: now})
	if wrong, ok := errors.AsType[*task.Error](err); ok {
		return nil, invalid(field+"."+wrong.Field, reasonOf(wrong))
	}
	if err != nil {
		return nil, err
	}
	if top.Parent != (task.ID{}) {
		return nil, invalid(field+".tasks", "The tasks of a message are a tree of their own: one of them has no parent.")
	}
	return &plan{tasks: tasks, top: top}, nil
}

// reasonOf is what is wrong with tasks, as a sentence or two.
func reasonOf(e *task.Error) string {
	reason := e.Reason
	if reason == "" {
		reason = e.Message() + "."
	}
	if e.Expected != "" {
		reason += " Expected: " + e.Expected + "."
	}
	return reason
}

// CheckWorkflow reports why a tree of tasks cannot be the workflow of a Config.
func CheckWorkflow(workflow jsontext.Value) error {
	s := &Server{cfg: Config{Workflow: workflow}}
	p, err := s.planOf(&Message{Parts: []part{{Kind: textPart, Text: "text"}}}, &record{}, "1.0", time.Now())
	if err == nil && p.why != "" {
		err = errors.New(p.why)
	}
	return err
}

// The strings of a workflow that a message takes the place of.
var placeholders = map[string]string{
	"${{ message }}": "message", "${{message}}": "message",
	"${{ message.text }}": "text", "${{message.text}}": "text",
	"${{ message.data }}": "data", "${{message.data}}": "data",
}

// Placeholders are the texts of a workflow that a message takes the place of.
func Placeholders() []string { return slices.Sorted(maps.Keys(placeholders)) }

// workflow is the configured workflow for one message. Only whole strings are
// replaced, and a reference that a client wrote is no reference: a message must
// not look at results.
func (s *Server) workflow(m *Message, r *record, version string) (jsontext.Value, error) {
	doc, err := rawjson.Parse(s.cfg.Workflow)
	if err != nil {
		return nil, err
	}
	var with []rawjson.Replacement
	for v := range doc.Root().Strings() {
		if what := placeholders[v.Text()]; what != "" {
			with = append(with, rawjson.Replacement{At: v, With: inert(m.placed(what, r, version))})
		}
	}
	if len(with) == 0 {
		return s.cfg.Workflow, nil
	}
	b, err := doc.Splice(with)
	return b, err
}

// placed is what takes a placeholder's place.
func (m *Message) placed(what string, r *record, version string) []byte {
	switch what {
	case "text":
		return rawjson.Quote(m.text())
	case "data":
		for _, p := range m.Parts {
			if p.Kind == dataPart {
				return p.Data
			}
		}
		return []byte("null")
	}
	o := begin(nil)
	o.text("id", m.ID)
	o.text("text", m.text())
	o.name("parts")
	o.b = v1.parts(o.b, m.Parts)
	o.raw("metadata", m.Metadata)
	o.text("task_id", r.ID)
	o.textIf("context_id", r.Context)
	o.number("turn", len(r.Roots))
	o.text("version", version)
	return o.end()
}

// inert writes each reference in a value such that it stands for its own text.
func inert(value []byte) []byte {
	const opening = "${{"
	doc, err := rawjson.Parse(value)
	if err != nil {
		return []byte("null")
	}
	var with []rawjson.Replacement
	for v := range doc.Root().Strings() {
		if text := v.Text(); strings.Contains(text, opening) {
			with = append(with, rawjson.Replacement{At: v, With: rawjson.Quote(strings.ReplaceAll(text, opening, "$"+opening))})
		}
	}
	if len(with) == 0 {
		return value
	}
	b, err := doc.Splice(with)
	if err != nil {
		return []byte("null")
	}
	return b
}
