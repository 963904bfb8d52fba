package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reeve.example/reeve/aos"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// maxScript bounds a script's size in bytes.
const maxScript = 1 << 20

// scriptStep is one step of a script. Exactly one of User, Event, Call and Say
// is given.
type scriptStep struct {
	User  string        `yaml:"user"`  // the user says this
	Event *scriptEvent  `yaml:"event"` // this event wakes the agent
	Call  string        `yaml:"call"`  // call this tool …
	With  yaml.MapSlice `yaml:"with"`  // … with these arguments
	Say   string        `yaml:"say"`   // tell the user this
	Cite  []string      `yaml:"cite"`  // files and addresses that a say rests on
	Why   string        `yaml:"why"`   // reasoning, for the guardian
	As    string        `yaml:"as"`    // name of what comes of it, for ${name} in later steps
	// Denied are the steps to take when the guardian denies this one.
	Denied []scriptStep `yaml:"denied"`
}

type scriptEvent struct {
	Type string `yaml:"type"`
	ID   string `yaml:"id"`
	Text string `yaml:"text"`
}

// Script is a Plan that is written down.
type Script struct {
	todo  []scriptStep
	now   *scriptStep
	known map[string]string
}

// ParseScript reads a script: YAML, and so JSON too. In its texts ${name}
// stands for a variable, or for what came of the step named so with "as:";
// $${ stands for ${ itself.
//
//	steps:
//	  - user: How many orders are there?
//	  - call: shell
//	    with: {command: wc -l < orders.csv}
//	    as: lines
//	    denied:
//	      - say: I may not look at the orders.
//	  - say: There are ${lines}.
func ParseScript(text []byte, vars map[string]string) (*Script, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("the script is longer than %d bytes", maxScript)
	}
	var file struct {
		Steps []scriptStep `yaml:"steps"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("read the script: %s", yaml.FormatError(err, false, true))
	}
	if len(file.Steps) == 0 {
		return nil, fmt.Errorf("the script has no steps: write steps: and then - user: …")
	}
	known := map[string]bool{}
	for name := range vars {
		known[name] = true
	}
	if err := checkSteps(file.Steps, "step", known); err != nil {
		return nil, err
	}
	s := &Script{todo: file.Steps, known: map[string]string{}}
	maps.Copy(s.known, vars)
	return s, nil
}

// checkSteps finds what cannot be meant before anything is done.
func checkSteps(steps []scriptStep, where string, known map[string]bool) error {
	for i := range steps {
		s := &steps[i]
		where := fmt.Sprintf("%s %d", where, i+1)
		kinds := 0
		for _, given := range []bool{s.User != "", s.Event != nil, s.Call != "", s.Say != ""} {
			if given {
				kinds++
			}
		}
		if kinds != 1 {
			return fmt.Errorf("%s of the script needs exactly one of user, event, call and say", where)
		}
		if s.Call == "" && s.With != nil {
			return fmt.Errorf("%s of the script has with: and calls no tool", where)
		}
		unknown := ""
		use := func(name string) string {
			if !known[name] {
				unknown = name
			}
			return ""
		}
		for _, t := range append([]string{s.User, s.Say, s.Why}, s.Cite...) {
			expand(t, use)
		}
		if s.Event != nil {
			expand(s.Event.Text, use)
		}
		if _, err := s.inputs(use); err != nil {
			return fmt.Errorf("%s of the script: %w", where, err)
		}
		if unknown != "" {
			return fmt.Errorf("%s of the script uses ${%s}, but no earlier step and no variable is called that; write $${ for a plain ${", where, unknown)
		}
		if s.As != "" {
			known[s.As] = true
		}
		// What is named in a branch is not known after it.
		if err := checkSteps(s.Denied, where+", denied", maps.Clone(known)); err != nil {
			return err
		}
	}
	return nil
}

// expand replaces each ${name}.
func expand(text string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String() + text
		}
		if strings.HasSuffix(before, "$") {
			b.WriteString(before + "{")
			text = rest
			continue
		}
		b.WriteString(before + value(name))
		text = after
	}
}

// inputs are the arguments of a call, in the order in which they are written.
func (s *scriptStep) inputs(value func(string) string) (inputs []aos.ToolArgumentValue, err error) {
	for _, arg := range s.With {
		name, ok := arg.Key.(string)
		if !ok {
			return nil, fmt.Errorf("the argument %v has no text for a name", arg.Key)
		}
		v := expandAll(arg.Value, value)
		if _, err := json.Marshal(v); err != nil {
			return nil, fmt.Errorf("the argument %s cannot be written as JSON: %w", name, err)
		}
		inputs = append(inputs, aos.Argument(name, v))
	}
	return inputs, nil
}

// expandAll expands the texts within a YAML value.
func expandAll(v any, value func(string) string) any {
	switch v := v.(type) {
	case string:
		return expand(v, value)
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = expandAll(list[i], value)
		}
		return list
	case map[string]any:
		m := maps.Clone(v)
		for k := range m {
			m[k] = expandAll(m[k], value)
		}
		return m
	case yaml.MapSlice:
		m := map[string]any{}
		for _, item := range v {
			m[fmt.Sprint(item.Key)] = expandAll(item.Value, value)
		}
		return m
	}
	return v
}

// Next returns the script's next step. A script whose user or event the
// guardian denied ends, unless it says what to do then: the agent was never asked.
func (s *Script) Next(_ context.Context, last *Step) (*Move, error) {
	if s.now != nil && last != nil {
		if s.now.As != "" {
			s.known[s.now.As] = last.Text
		}
		switch {
		case !last.Denied:
		case s.now.Denied != nil:
			s.todo = append(slices.Clone(s.now.Denied), s.todo...)
		case last.Move.Kind == Hear || last.Move.Kind == Wake:
			s.todo = nil
		}
	}
	if len(s.todo) == 0 {
		return nil, nil
	}
	s.now, s.todo = &s.todo[0], s.todo[1:]
	value := func(name string) string { return s.known[name] }
	move := &Move{Why: expand(s.now.Why, value)}
	switch {
	case s.now.User != "":
		move.Kind, move.Text = Hear, expand(s.now.User, value)
	case s.now.Event != nil:
		move.Kind, move.Text = Wake, expand(s.now.Event.Text, value)
		move.Event = aos.AgentTriggerEvent{Type: s.now.Event.Type, ID: s.now.Event.ID}
	case s.now.Say != "":
		move.Kind, move.Text = Say, expand(s.now.Say, value)
		for _, c := range s.now.Cite {
			c = expand(c, value)
			if strings.HasPrefix(c, "http://") || strings.HasPrefix(c, "https://") {
				move.Cite = append(move.Cite, aos.SiteSource(c))
			} else {
				move.Cite = append(move.Cite, aos.FileSource(c, c, ""))
			}
		}
	default:
		inputs, err := s.now.inputs(value)
		if err != nil {
			return nil, err
		}
		move.Kind, move.Tool, move.Inputs = Call, s.now.Call, inputs
	}
	return move, nil
}
