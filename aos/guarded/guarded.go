// Package guarded makes the tool calls of an agent written in Go: each is asked about
// before it is made, made with the arguments that were allowed, and its result reported
// before anybody uses it. There is no verdict but the guardian's: when it is away, answers
// an error, or dies meanwhile, nothing runs, and no result is given on.
//
//	agent := &guarded.Agent{Client: &aos.Client{URL: "http://127.0.0.1:8080/"}, Self: aos.Agent{ID: "helper", Name: "Helper"}}
//	turn := agent.Turn("session-1", "turn-1")
//	out, err := turn.Call(ctx, "shell", guarded.Arguments{"command": "df -h"}, run)
//
// [Transport] and [Handler] guard tools that are HTTP; reeve.example/reeve/aos/guarded/mcpguard
// guards those of the MCP SDK.
package guarded

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/aos"
)

// Agent is who acts, and whom it asks.
type Agent struct {
	Client *aos.Client
	// Self is what the agent says about itself; an ID or a Name is needed.
	Self aos.Agent
	// User is for whom it acts; nil for nobody.
	User *aos.User
	// Wait is how long a call waits when a person must agree first. 0 means that it
	// is denied, and may be asked about again.
	Wait time.Duration
}

// Turn is where calls belong: one loop between user and agent, in a session.
type Turn struct {
	agent             *Agent
	session, id, self string
	parent            string
}

// Turn returns a turn. An id that is empty is a new one.
func (a *Agent) Turn(session, turn string) *Turn {
	return &Turn{agent: a, session: cmpOr(session), id: cmpOr(turn)}
}

// Of returns the same turn of an agent that this one starts or hands over to. It is told as
// a session below this one, with a name of its own.
func (t *Turn) Of(agent string) *Turn {
	return &Turn{agent: t.agent, session: t.session + "/" + agent, id: t.id, self: agent, parent: t.session}
}

func cmpOr(id string) string {
	if id == "" {
		return rand.Text()
	}
	return id
}

// Arguments are a call's, by name. What JSON has no form for makes the call fail.
type Arguments map[string]any

// Output is what a tool gave: texts, as a model reads them.
type Output struct {
	Texts   []string
	IsError bool
}

// Denied says that the guardian said no. Its text says why and what to do instead, so
// that a model can read it.
type Denied struct{ Result *aos.Result }

func (d *Denied) Error() string {
	if instead := d.Result.Data.Instead; len(instead) > 0 {
		return d.Result.Message + " Instead: " + strings.Join(instead, " ")
	}
	return d.Result.Message
}

// Call makes one call: asks, runs it with the arguments that the guardian left, reports
// what it gave, and returns what was left of that. An error of run is a result, too, and is
// returned again when its text may be read. Any other error means that nothing ran, or that
// what ran gave something that nobody may use: a *[Denied] says why.
func (t *Turn) Call(ctx context.Context, tool string, args Arguments, run func(context.Context, Arguments) (Output, error)) (Output, error) {
	id := rand.Text()
	judged, err := t.request(ctx, id, tool, args)
	if err != nil {
		return Output{}, err
	}
	out, failed := t.ran(ctx, id, judged, run)
	told := out
	if failed != nil {
		told = Output{Texts: []string{failed.Error()}, IsError: true}
	}
	// It ran, and that belongs into the record whoever has given up meanwhile.
	left, err := t.result(context.WithoutCancel(ctx), id, told)
	if err != nil {
		return Output{}, err
	}
	if failed != nil && slices.Equal(left.Texts, told.Texts) {
		return Output{}, failed
	}
	if failed != nil {
		return Output{}, errors.New(left.Texts[0])
	}
	return left, nil
}

// MCP asks about a message of MCP that is to be sent, or was received, and returns what is left of it.
func (t *Turn) MCP(ctx context.Context, message []byte) ([]byte, error) {
	step := t.step()
	p := &aos.ProtocolParams{Context: &step, Message: aos.Raw(message)}
	result, err := t.ask(ctx, func(ctx context.Context) (*aos.Result, error) { return t.agent.Client.MCP(ctx, p) })
	if err != nil || result.Decision == aos.Allow {
		return message, err
	}
	var modified aos.ProtocolParams
	if err := result.Modified(&modified); err != nil {
		return nil, err
	}
	return modified.Message, nil
}

// ran runs a tool. One that panics is reported before the panic goes on.
func (t *Turn) ran(ctx context.Context, id string, args Arguments, run func(context.Context, Arguments) (Output, error)) (Output, error) {
	panics := true
	defer func() {
		if panics {
			t.result(context.WithoutCancel(ctx), id, Output{Texts: []string{"The tool panicked."}, IsError: true})
		}
	}()
	out, err := run(ctx, args)
	panics = false
	return out, err
}

// request asks about a call, and returns the arguments to make it with.
func (t *Turn) request(ctx context.Context, id, tool string, args Arguments) (Arguments, error) {
	call := aos.ToolCallRequest{ExecutionID: id, ToolID: tool, Inputs: []aos.ToolArgumentValue{}}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		call.Inputs = append(call.Inputs, aos.Argument(name, args[name]))
	}
	p := &aos.ToolCallRequestParams{Context: t.step(), ToolCallRequest: call}
	result, err := t.ask(ctx, func(ctx context.Context) (*aos.Result, error) { return t.agent.Client.ToolCallRequest(ctx, p) })
	if err != nil {
		return nil, err
	}
	if result.Decision == aos.Modify {
		var modified aos.ToolCallRequestParams
		if err := result.Modified(&modified); err != nil {
			return nil, err
		}
		if got := modified.ToolCallRequest; got.ToolID != tool || got.ExecutionID != id || !slices.EqualFunc(got.Inputs, call.Inputs,
			func(a, b aos.ToolArgumentValue) bool { return a.Name == b.Name }) {
			return nil, errors.New("the guardian answered with another call than was asked about")
		}
		call = modified.ToolCallRequest
	}
	judged := Arguments{}
	for _, input := range call.Inputs {
		// Numbers stay as they were written: what was judged is what runs.
		d := json.NewDecoder(strings.NewReader(string(input.Value)))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("the argument %s: %w", input.Name, err)
		}
		judged[input.Name] = value
	}
	return judged, nil
}

// result reports what a call gave, and returns what is left of it.
func (t *Turn) result(ctx context.Context, id string, out Output) (Output, error) {
	p := &aos.ToolCallResultParams{Context: t.step(), ExecutionID: id, Result: aos.ToolCallResult{Outputs: []aos.Part{}, IsError: out.IsError}}
	for _, text := range out.Texts {
		p.Result.Outputs = append(p.Result.Outputs, aos.TextPart(text))
	}
	result, err := t.ask(ctx, func(ctx context.Context) (*aos.Result, error) { return t.agent.Client.ToolCallResult(ctx, p) })
	if err != nil || result.Decision == aos.Allow {
		return out, err
	}
	var modified aos.ToolCallResultParams
	if err := result.Modified(&modified); err != nil {
		return Output{}, err
	}
	if modified.ExecutionID != id || len(modified.Result.Outputs) != len(out.Texts) {
		return Output{}, errors.New("the guardian answered with another result than was reported")
	}
	left := Output{IsError: out.IsError}
	for _, part := range modified.Result.Outputs {
		if part.Kind != "text" {
			return Output{}, errors.New("the guardian answered with another kind of result than was reported")
		}
		left.Texts = append(left.Texts, part.Text)
	}
	return left, nil
}

// ask asks until there is a verdict to obey. The same step is a repeat, and a held one is
// waited for.
func (t *Turn) ask(ctx context.Context, ask func(context.Context) (*aos.Result, error)) (*aos.Result, error) {
	until := time.Now().Add(t.agent.Wait)
	for pause := 250 * time.Millisecond; ; pause = min(pause*3/2, 2*time.Second) {
		result, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		left := time.Until(until)
		if !result.Pending() || left <= 0 {
			if result.Decision == aos.Deny {
				return nil, &Denied{result}
			}
			return result, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, left)):
		}
	}
}

// step is the context of a new step.
func (t *Turn) step() aos.StepContext {
	self := t.agent.Self
	if self.ID == "" {
		self.ID = self.Name
	}
	if self.Name == "" {
		self.Name = self.ID
	}
	if self.Version == "" {
		self.Version = "0"
	}
	session := aos.Session{ID: t.session}
	if t.parent != "" {
		self.Name = t.self
		session.Metadata = map[string]any{"parent": t.parent}
	}
	return aos.StepContext{Agent: self, Session: session, TurnID: t.id, StepID: rand.Text(), User: t.agent.User}
}

// turnKey is where a context holds its turn.
type turnKey struct{}

// With returns a context whose calls belong to the turn: those that [Transport] and
// the MCP middleware see.
func (t *Turn) With(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From returns the context's turn, or else a new one of the agent in a session.
func (a *Agent) From(ctx context.Context, session string) *Turn {
	if t, ok := ctx.Value(turnKey{}).(*Turn); ok {
		return t
	}
	return a.Turn(session, "")
}
