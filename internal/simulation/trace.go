// Package simulation plays recorded sessions of agents before a guardian of their own, to
// count what a policy stops and how often it asks: honest sessions as their agent ran them,
// and attacked ones with an agent that obeys every order it reads.
//
// A trace is one session a line, as JSON:
//
//	{"id": "bank/7/send", "class": "bank", "kind": "attacked", "steps": [
//	  {"user": "Pay the bill in bill.txt"},
//	  {"plan": ["read_file", "send_money"]},
//	  {"call": "1", "tool": "read_file", "arguments": {"path": "bill.txt"}},
//	  {"result": "1", "text": "…"},
//	  {"call": "2", "tool": "send_money", "arguments": {"to": "…"}, "attacker": true},
//	  {"agent": "The bill is paid."}]}
//
// A session may say when it was: "at": "2026-03-02T09:15:00Z".
//
// A call that is held is left out with its result, since it did not happen. In an honest
// session, and for the user's own calls in an attacked one, there is a person who agrees to
// what is asked; to an attacker's call nobody agrees.
package simulation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of sessions.
const (
	Honest   = "honest"
	Attacked = "attacked"
)

// Session is one recorded session.
type Session struct {
	ID    string `json:"id"`
	Class string `json:"class"` // sessions are counted by it
	Kind  string `json:"kind"`  // Honest or Attacked
	// At is when it began, where it was one of a life's: one before the last session's end
	// begins after that.
	At    time.Time `json:"at,omitzero"`
	Steps []Step    `json:"steps"`
}

// Step is one step of a session: exactly one of User, Agent, Plan, Call and Result is there.
type Step struct {
	User  *string `json:"user,omitzero"`  // what the user said
	Agent *string `json:"agent,omitzero"` // what the agent answered
	// Plan are the tools that the agent says it will use.
	Plan []string `json:"plan,omitzero"`

	Call      string         `json:"call,omitzero"` // the id of a call, unique in its session
	Tool      string         `json:"tool,omitzero"`
	Arguments jsontext.Value `json:"arguments,omitzero"` // a JSON object; absent means {}
	// Attacker marks a call, or an answer, that the agent makes because an injected text said so.
	Attacker bool `json:"attacker,omitzero"`
	// Read marks an attacker's call that only looks: the goal is reached by the others.
	Read bool `json:"read,omitzero"`

	Result string `json:"result,omitzero"` // the id of the call that this is the result of
	Text   string `json:"text,omitzero"`   // what came back
}

// maxLine bounds a line of a trace, in bytes.
const maxLine = 32 << 20

// Read calls f with each session of a trace, in order. The error names the line.
func Read(r io.Reader, f func(*Session) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		if n++; len(lines.Bytes()) == 0 {
			continue
		}
		s := new(Session)
		err := json.Unmarshal(lines.Bytes(), s, json.RejectUnknownMembers(true))
		if err == nil {
			err = s.check()
		}
		if err == nil {
			err = f(s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

func (s *Session) check() error {
	if s.ID == "" {
		return errors.New("a session has an id")
	}
	if s.Kind != Honest && s.Kind != Attacked {
		return fmt.Errorf("the kind of %.80q is %q or %q", s.ID, Honest, Attacked)
	}
	calls := map[string]bool{}
	for i := range s.Steps {
		step := &s.Steps[i]
		kinds := 0
		for _, is := range []bool{step.User != nil, step.Agent != nil, step.Plan != nil, step.Call != "", step.Result != ""} {
			if is {
				kinds++
			}
		}
		switch {
		case kinds != 1:
			return fmt.Errorf("step %d of %.80q: a step is one of user, agent, plan, call and result", i+1, s.ID)
		case step.Call != "" && step.Tool == "":
			return fmt.Errorf("step %d of %.80q: a call names its tool", i+1, s.ID)
		case step.Call != "" && calls[step.Call]:
			return fmt.Errorf("step %d of %.80q: the call %.80q was made before", i+1, s.ID, step.Call)
		case step.Result != "" && !calls[step.Result]:
			return fmt.Errorf("step %d of %.80q: the result of %.80q comes before its call", i+1, s.ID, step.Result)
		case step.Attacker && s.Kind == Honest:
			return fmt.Errorf("step %d of %.80q: an honest session has no attacker", i+1, s.ID)
		}
		if step.Call != "" {
			calls[step.Call] = true
		}
	}
	return nil
}
