// Package hook speaks the hook protocols of coding agents: what an agent says
// before and after it does something becomes a step of AOS, and the guardian's
// decision becomes the answer that this agent understands.
//
//	event, err := hook.Read("claude-code", "", input)
//	if err != nil { … } // hook.Block(err.Error()): exit code 2 blocks in all of them
//	trail, err := hook.OpenTrail(dir, event)
//	answer, err := hook.Judge(ctx, event, trail, ask) // ask: hook.Ask, or a guard of one's own
//	if err != nil {
//		answer = event.Refuse(err.Error())
//	}
//	os.Stdout.Write(answer.Stdout)
//
// The agents differ in what they can be told. Where one cannot be given a
// changed call, the call is denied, and the reason holds the form in which it may
// be made; where it cannot ask its user, the reason says how a person agrees.
// docs/hooks.md has the tables.
package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
)

// MaxInput is how many bytes of one event are read. An event beyond it is not
// judged, and so it blocks.
const MaxInput = 8 << 20

// Kind is what an event tells of.
type Kind uint8

// The kinds of event.
const (
	Ignored    Kind = iota // nothing to judge: a notification, a compaction
	Start                  // a session or a sub-agent begins
	End                    // a session ends
	Prompt                 // what the user wrote, before the model reads it
	Call                   // a tool is about to be called
	Result                 // what a tool gave, before the model reads it
	Fetched                // a file's content, before the model reads it
	Said                   // what the agent said at the end of a turn
	Configured             // the agent's settings have changed
	Loaded                 // a file of instructions, after the agent has read it
	Asking                 // the agent asks its user whether a tool may be called
)

// Agent is one coding agent.
type Agent struct {
	ID       string // as --agent names it
	Name     string
	Provider string
	URL      string

	events map[string]Kind
	read   func(e *Event, in rawjson.Value) error
	answer func(e *Event, o *outcome) Answer
	// asks says whether the agent can ask its user about such an event.
	asks func(e *Event) bool
	// changes says whether the agent takes a changed call.
	changes func(e *Event) bool
}

// Agents lists the agents whose hooks are understood, by their ids.
func Agents() []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}

// Find returns an agent by its id.
func Find(id string) (*Agent, error) {
	if i := slices.IndexFunc(agents, func(a *Agent) bool { return a.ID == id }); i >= 0 {
		return agents[i], nil
	}
	return nil, fmt.Errorf("no coding agent is known by the name %.40q: choose one of %s", id, strings.Join(Agents(), ", "))
}

// Event is one event that an agent's hook was called with.
type Event struct {
	Agent *Agent
	Name  string // as the agent calls it
	Kind  Kind

	Session string // the agent's own id of it
	Child   string // the sub-agent's id, empty for the agent itself
	Turn    string // empty where the agent has no name for it
	CallID  string // of a call and its result, likewise
	Cwd     string
	Model   string
	User    string // an address, where the agent tells it
	Version string // the agent's

	Tool Tool
	// Failed says that the tool failed.
	Failed bool
	// Agreed says, of a result, that the agent had asked its user about the call, and
	// Approval that this was a held decision, and which.
	Agreed   bool
	Approval string
	// About says what a session's start or end is about.
	About  string
	off    []string    // what in the repository switches hooks off, of a session's start
	goesBy *act.GoesBy // the files that the agent goes by, of a session's start and a prompt
	fresh  bool        // the guardian was not told of them as they are
	noted  []string    // what the guardian says of them

	input  rawjson.Value // the call's arguments
	result rawjson.Value // what the tool gave, as it came
	texts  []text        // of a prompt, a result, a message
	beside attachments   // what the agent reads and runs by itself, and no event tells of
}

// text is one text that is judged. at is the string that it was read from; a
// text without one cannot be put back.
type text struct {
	text string
	at   rawjson.Value
	// aside says that it stands beside the result, and again that it is another reading of a
	// text: neither is a part of what an answer gives back.
	aside, again bool
}

// Read reads what an agent's hook gets on standard input. event is the event's
// name where the agent does not say it there; empty otherwise. Beside an error there is
// an event only where it is a result that holds too much to be judged.
func Read(agent, event string, input []byte) (*Event, error) {
	a, err := Find(agent)
	if err != nil {
		return nil, err
	}
	if len(input) > MaxInput {
		return nil, fmt.Errorf("the event has more than %d bytes and cannot be judged", MaxInput)
	}
	doc, err := rawjson.Parse(input)
	if err != nil {
		return nil, fmt.Errorf("the event is not acceptable JSON: %w", err)
	}
	in := doc.Root()
	if in.Kind() != rawjson.Object {
		return nil, errors.New("the event is not a JSON object")
	}
	e := &Event{Agent: a, Name: in.Get("hook_event_name").Text()}
	if a.ID == "opencode" {
		e.Name = in.Get("event").Text()
	}
	switch {
	case e.Name == "":
		e.Name = event
	case event != "" && !strings.EqualFold(event, e.Name): // Copilot calls one event by both its names
		return nil, fmt.Errorf("the event is a %.60q, and the hook was installed for %.60q", e.Name, event)
	}
	if e.Name == "" {
		return nil, errors.New("the event does not say what it is: hook_event_name is missing")
	}
	kind, known := a.events[e.Name]
	if !known {
		return nil, fmt.Errorf("%s has sent the event %.60q, which is not known: take reeve out of its configuration for it", a.Name, e.Name)
	}
	if e.Kind = kind; kind == Ignored {
		return e, nil
	}
	if err := a.read(e, in); err != nil {
		return nil, fmt.Errorf("the event %s: %w", e.Name, err)
	}
	if kind == Call || kind == Asking {
		if err := e.actable(); err != nil {
			return nil, fmt.Errorf("the event %s: %w", e.Name, err)
		}
	}
	for _, name := range []string{e.Session, e.Child, e.Turn, e.CallID, e.Tool.Given} {
		if len(name) > maxName {
			return nil, fmt.Errorf("the event %s: an id or a tool's name has more than %d bytes", e.Name, maxName)
		}
	}
	if len(e.texts) > maxTexts {
		err := fmt.Errorf("the event %s: it holds more than %d texts and cannot be judged", e.Name, maxTexts)
		if e.Kind == Result {
			return e, err
		}
		return nil, err
	}
	return e, nil
}

// Bounds of one event.
const (
	maxName  = 1 << 10
	maxTexts = 20_000
)

// SessionID is the session's name in the ledger: with the agent's id, since two
// agents may choose the same; a sub-agent's session lies below its parent's.
func (e *Event) SessionID() string {
	id := e.Agent.ID + ":" + e.Session
	if e.Child != "" {
		id += "/" + e.Child
	}
	return id
}

// Decision is what the guardian decided about an event's step.
type Decision struct {
	Effect   act.Effect
	Message  string
	Instead  []string
	Codes    []string
	ID       string // the record's position
	Approval string // the id of what is held for people
	Dialogue bool   // the agent's own user may answer it
	Asked    string // what that user is told; empty for the message
	Lasting  bool   // people may agree to it for the session
	Modified []byte // the whole request as it may pass, with the effect Modify
	// Conditions are what should be known of what passes.
	Conditions []string
	// Files says which of the files that the agent goes by nobody has agreed to, where the
	// policy lets it pass.
	Files []string
}

// Answer is what the hook's process answers.
type Answer struct {
	Stdout []byte
	Stderr string
	Exit   int
}

// outcome is what a decision means for an event.
type outcome struct {
	effect act.Effect // never one that the agent cannot be told
	reason string
	asked  string   // what the agent's user reads, who is asked
	yes    string   // how far that user's yes goes
	input  []byte   // the changed arguments
	texts  []string // the changed texts, one for each of the event's
	note   string   // what the model should know of a result that it may read
}

// Answer is the agent's own form of a decision.
func (e *Event) Answer(d *Decision) Answer {
	o := e.outcome(d)
	return e.Agent.answer(e, &o)
}

// Asks reports whether a decision has the agent ask its user.
func (e *Event) Asks(d *Decision) bool {
	return e.Kind == Call && e.outcome(d).effect == act.Escalate
}

// outcome brings a decision to what this agent can be told about such an event:
// what it cannot be told becomes a denial, never a pass.
func (e *Event) outcome(d *Decision) outcome {
	o := outcome{effect: d.Effect, reason: d.reason()}
	if len(d.Conditions) > 0 && e.Kind == Result {
		o.note = guardianSays + strings.Join(d.Conditions, " ")
	}
	switch e.Kind {
	case Ignored, Asking:
		return outcome{effect: act.Allow}
	case Start, End, Said, Loaded:
		return o // told, and nothing that could be held back
	}
	switch d.Effect {
	case act.Modify:
		var ok bool
		if o.input, o.texts, ok = e.modified(d.Modified); !ok {
			o.effect = act.Deny
			o.reason = sentences(o.reason, "It may happen in a changed form only, and "+e.Agent.Name+" cannot be given one here.")
			return o
		}
		switch {
		case e.Kind == Fetched:
			o.effect = act.Deny
			o.reason = sentences(o.reason, "It may be read in a changed form only, and "+e.Agent.Name+" cannot be given one.")
		case e.Kind == Call && !e.Agent.changes(e):
			o.effect = act.Deny
			o.reason = sentences(o.reason, "It may happen with these arguments only: "+string(o.input))
			o.input = nil
		}
	case act.Escalate:
		o.asked, o.yes = d.asked(), forThis
		if d.Lasting {
			o.yes = forThisOrMore
		}
		if e.Kind == Call && d.Dialogue && e.Agent.asks(e) {
			return o
		}
		o.effect = act.Deny
	}
	return o
}

// asked is what the agent's user reads who is asked about a call: what it would do, and not what
// the agent could do instead.
func (d *Decision) asked() string {
	r := d.Asked
	if r == "" {
		r = d.Message
	}
	if r == "" {
		r = "The policy wants a person to agree to this."
	}
	if d.ID != "" {
		r += " (reeve, decision " + d.ID + ")"
	}
	return r
}

// These say beside a question how far the answer goes, where the user alone reads it. How
// people answer elsewhere is told to no model, so no command is named.
const (
	forThis       = " A yes here counts for this one call."
	forThisOrMore = " A yes here counts for this one call; at a terminal you may agree for the session."
)

// said is what was decided and why. How people answer is not told to a model.
func (d *Decision) said() string {
	switch {
	case d.Effect == act.Escalate && d.Approval != "":
		return sentences(d.Message, "A person is asked. Once they have agreed, try the same again.")
	case d.Effect == act.Escalate:
		return sentences(d.Message, wording.MustAgree)
	case d.Message == "":
		return "The policy does not allow this."
	}
	return d.Message
}

// reason is what a model reads about a decision, and a person who looks at what it was told.
func (d *Decision) reason() string {
	r := d.said()
	if len(d.Instead) > 0 {
		r = sentences(r, "Instead: "+strings.Join(d.Instead, " "))
	}
	if d.ID != "" {
		r += " (reeve, decision " + d.ID + ")"
	}
	return r
}

func sentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// Refuse is the answer when an event was read and could not be judged. What has
// not happened yet is blocked by the exit code, which all agents take alike; a
// result is withheld as after a denial; and what has happened is only spoken of.
func (e *Event) Refuse(why string) Answer {
	switch e.Kind {
	case Ignored, Asking:
		return e.Answer(&Decision{Effect: act.Allow})
	case Configured:
		return Block(why)
	case Call, Prompt, Fetched:
		if e.Agent.ID == "copilot" && e.Kind == Call { // whose model would read the exit code only
			return e.Answer(&Decision{Effect: act.Deny, Message: why})
		}
		return Block(why)
	case Result:
		a := e.Answer(&Decision{Effect: act.Deny, Message: "What the tool gave could not be judged, and is withheld: " + why})
		a.Stderr = "reeve: " + why + "\n"
		return a
	}
	return Answer{Stderr: "reeve: " + why + "\n", Exit: 1}
}

// Block is the answer that blocks in every agent, whatever the event.
func Block(why string) Answer {
	return Answer{Stderr: "reeve: " + why + "\n", Exit: 2}
}
