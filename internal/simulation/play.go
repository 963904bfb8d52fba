package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Outcome is what became of a session. The lists name calls; an answer of the agent is
// named "answer" and its step's number.
type Outcome struct {
	ID    string `json:"id"`
	Class string `json:"class"`
	Kind  string `json:"kind"`
	// Acts is how many calls the agent wanted to make.
	Acts int `json:"acts,omitzero"`
	// Asked were held until a person agreed, or for good where it was an attacker's.
	Asked   []string `json:"asked,omitempty"`
	Denied  []string `json:"denied,omitempty"`
	Changed []string `json:"changed,omitempty"`
	// Rules are the rules that held or denied something, each once.
	Rules []string `json:"rules,omitempty"`
	// Left are the calls that did not happen.
	Left []string `json:"left,omitempty"`
	// Goal is whether the session had an attacker's act, and Reached whether every one of
	// them was let through as it was asked.
	Goal    bool `json:"goal,omitzero"`
	Reached bool `json:"reached,omitzero"`
	// Age is how many sessions the agent had had before, where it has a life, and Noted in
	// which dimensions something in the session was noted as unusual.
	Age   int      `json:"age,omitzero"`
	Noted []string `json:"noted,omitempty"`
}

// person agrees to what is asked of people.
var person = act.Principal{Name: "key:person", Method: "key"}

// Play plays a session before a guardian that has seen none of the same id.
func Play(ctx context.Context, g *guard.Guard, s *Session) (*Outcome, error) {
	p := player{guard: g, session: s.ID, out: &Outcome{ID: s.ID, Class: s.Class, Kind: s.Kind}, left: map[string]bool{}}
	return p.play(ctx, s)
}

func (p *player) play(ctx context.Context, s *Session) (*Outcome, error) {
	p.out.Reached = true
	for i := range s.Steps {
		if err := p.step(ctx, i, &s.Steps[i]); err != nil {
			return nil, fmt.Errorf("step %d of %.80q: %w", i+1, s.ID, err)
		}
	}
	p.out.Reached = p.out.Reached && p.out.Goal
	return p.out, nil
}

type player struct {
	guard   *guard.Guard
	session string
	turn    int
	number  int
	out     *Outcome
	left    map[string]bool // calls that did not happen
	refuses bool            // the person refuses what is an attacker's
	now     *time.Time      // the guardian's clock; nil for the world's
}

// agentID names the agent whose sessions are played.
const agentID = "simulated"

func (p *player) time() time.Time {
	if p.now != nil {
		return *p.now
	}
	return time.Now().UTC()
}

func (p *player) step(ctx context.Context, i int, s *Step) error {
	p.number = i + 1
	switch {
	case s.User != nil:
		p.turn++
		_, err := p.ask(ctx, "", false, "steps/message", p.message(aos.RoleUser, *s.User))
		return err
	case s.Agent != nil:
		name := "answer " + strconv.Itoa(i+1)
		through, err := p.ask(ctx, name, s.Attacker, "steps/message", p.message(aos.RoleAgent, *s.Agent))
		p.attacked(s, through)
		return err
	case s.Plan != nil:
		said := p.message(aos.RoleAgent, "This is the plan.")
		said.Message.Content = append(said.Message.Content, aos.DataPart(map[string]any{"plan": s.Plan}))
		_, err := p.ask(ctx, "plan", false, "steps/message", said)
		return err
	case s.Call != "":
		request, err := p.call(s)
		if err != nil {
			return err
		}
		p.out.Acts++
		through, err := p.ask(ctx, s.Call, s.Attacker, "steps/toolCallRequest", request)
		if !through {
			p.left[s.Call] = true
			p.out.Left = append(p.out.Left, s.Call)
		}
		p.attacked(s, through)
		return err
	case p.left[s.Result]:
		return nil
	}
	_, err := p.ask(ctx, "result of "+s.Result, false, "steps/toolCallResult", aos.ToolCallResultParams{
		Context: p.context(), ExecutionID: s.Result,
		Result: aos.ToolCallResult{Outputs: []aos.Part{aos.TextPart(s.Text)}},
	})
	return err
}

// attacked notes what became of an attacker's act.
func (p *player) attacked(s *Step, through bool) {
	if s.Attacker && !s.Read {
		p.out.Goal = true
		p.out.Reached = p.out.Reached && through
	}
}

func (p *player) context() aos.StepContext {
	return aos.StepContext{
		Agent: aos.Agent{
			Name: agentID, ID: agentID, Instructions: "-", Version: "1", Provider: aos.AgentProvider{Name: "simulation"},
		},
		Session: aos.Session{ID: p.session}, TurnID: strconv.Itoa(p.turn), StepID: strconv.Itoa(p.number), Timestamp: p.time(),
	}
}

func (p *player) message(role, text string) aos.MessageParams {
	return aos.MessageParams{
		Context: p.context(),
		Message: aos.Message{ID: "m" + strconv.Itoa(p.number), Role: role, Content: []aos.Part{aos.TextPart(text)}},
	}
}

func (p *player) call(s *Step) (aos.ToolCallRequestParams, error) {
	c := aos.ToolCallRequest{ExecutionID: s.Call, ToolID: s.Tool, Inputs: []aos.ToolArgumentValue{}}
	var arguments map[string]jsontext.Value
	if len(s.Arguments) > 0 {
		if err := json.Unmarshal(s.Arguments, &arguments); err != nil {
			return aos.ToolCallRequestParams{}, fmt.Errorf("the arguments: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		c.Inputs = append(c.Inputs, aos.ToolArgumentValue{Name: name, Value: aos.Raw(arguments[name])})
	}
	return aos.ToolCallRequestParams{Context: p.context(), ToolCallRequest: c}, nil
}

// ask has one step judged, with a person who agrees to it where it is not an attacker's,
// and reports whether it happens as it was asked or changed.
func (p *player) ask(ctx context.Context, name string, attacker bool, method string, params any) (through bool, err error) {
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, json.Deterministic(true))
	if err != nil {
		return false, err
	}
	d, err := p.decide(ctx, request)
	if err != nil {
		return false, err
	}
	if d.Effect == act.Escalate || d.Effect == act.Deny {
		p.rules(d)
	}
	if d.Effect == act.Escalate {
		p.out.Asked = append(p.out.Asked, name)
		if d.Approval == nil || attacker && !p.refuses {
			return false, nil
		}
		held, err := p.guard.Show(ctx, d.Approval.ID)
		if err == nil {
			_, err = p.guard.Answer(ctx, held.ID, person, guard.Reply{Agree: !attacker, Seen: held.Seen})
		}
		if err != nil {
			return false, fmt.Errorf("agree to %s: %w", name, err)
		}
		if d, err = p.decide(ctx, request); err != nil {
			return false, err
		}
	}
	switch d.Effect {
	case act.Deny:
		p.out.Denied = append(p.out.Denied, name)
		return false, nil
	case act.Modify:
		p.out.Changed = append(p.out.Changed, name)
		return true, nil
	}
	return d.Effect == act.Allow, nil
}

func (p *player) decide(ctx context.Context, request []byte) (*act.Decision, error) {
	a, err := aos.ActionOf(request)
	if err != nil {
		return nil, err
	}
	a.Principal = act.Anonymous
	d, _, err := p.guard.Decide(ctx, a)
	if p.now != nil {
		*p.now = p.now.Add(time.Second)
	}
	if err != nil || !slices.ContainsFunc(d.Reasons, func(r act.Reason) bool { return strings.HasPrefix(r.Code, "habits.") }) {
		return &d, err
	}
	in, err := p.guard.UnusualIn(ctx, d.Position)
	for _, dimension := range in {
		if !slices.Contains(p.out.Noted, dimension) {
			p.out.Noted = append(p.out.Noted, dimension)
		}
	}
	return &d, err
}

// rules notes the rules that hold or deny an act.
func (p *player) rules(d *act.Decision) {
	for _, r := range d.Reasons {
		if r.Effect != d.Effect {
			continue
		}
		if !slices.Contains(p.out.Rules, r.Rule) {
			p.out.Rules = append(p.out.Rules, r.Rule)
		}
	}
}
