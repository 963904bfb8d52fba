// Package mcpguard guards tools of the MCP SDK for Go: a server's, whoever calls them, and those
// that a client calls, on whatever server.
package mcpguard

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"reeve.example/reeve/aos/guarded"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server returns a middleware that asks about each call of a server's tools: add it with
// server.AddReceivingMiddleware, before all others, which are then around it. The session is
// the MCP session's, and each call that has no turn in its context has one of its own. What a
// tool asks of the client in a call of several rounds, and what the client answers, is judged
// as the messages of MCP that they are. For clients of older versions of the protocol add
// [ServerInputs], too.
func Server(agent *guarded.Agent) mcp.Middleware {
	return middleware(agent)
}

// Client returns a middleware that asks about each tool that a client calls: add it with
// client.AddSendingMiddleware, before all others. [ClientInputs] guards what servers ask of
// the client meanwhile, which the client answers itself.
func Client(agent *guarded.Agent) mcp.Middleware {
	return middleware(agent)
}

func middleware(agent *guarded.Agent) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method != "tools/call" {
				return next(ctx, method, r)
			}
			name, args, with, err := callOf(r)
			if err != nil {
				return nil, err
			}
			turn := turnOf(ctx, agent, r.GetSession())
			var result *mcp.CallToolResult
			out, err := turn.Call(ctx, name, args, func(ctx context.Context, args guarded.Arguments) (guarded.Output, error) {
				judged, err := with(ctx, turn, args)
				if err != nil {
					return guarded.Output{}, err
				}
				got, err := next(ctx, method, judged)
				if err != nil {
					return guarded.Output{}, err
				}
				whole, ok := got.(*mcp.CallToolResult)
				if !ok {
					return guarded.Output{}, fmt.Errorf("the tool answered with a %T, which cannot be judged", got)
				}
				if whole.InputRequests != nil {
					left := *whole
					if left.InputRequests, err = judgedRequests(ctx, turn, whole.InputRequests); err != nil {
						return guarded.Output{}, err
					}
					whole = &left
				}
				result = whole
				return outputOf(whole)
			})
			var denied *guarded.Denied
			switch {
			case errors.As(err, &denied):
				// A tool's error, which the model reads; an error of the protocol it does not.
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: denied.Error()}}, IsError: true}, nil
			case err != nil:
				return nil, err
			}
			return resultOf(result, out)
		}
	}
}

// turnOf is the turn of what is said in a session.
func turnOf(ctx context.Context, agent *guarded.Agent, of mcp.Session) *guarded.Turn {
	session := of.ID()
	if session == "" {
		session = sessions.id(of)
	}
	return agent.From(ctx, session)
}

var sessions connections

// connections are those without an id, such as over stdin, and the session of each. One that is
// gone is forgotten: a stateless server has one for each request.
type connections struct{ ids sync.Map }

func (c *connections) id(connection mcp.Session) string {
	switch connection := connection.(type) {
	case *mcp.ServerSession:
		return idOf(c, connection)
	case *mcp.ClientSession:
		return idOf(c, connection)
	}
	return rand.Text()
}

func idOf[T any](c *connections, connection *T) string {
	key := weak.Make(connection)
	id, known := c.ids.LoadOrStore(key, rand.Text())
	if !known {
		runtime.AddCleanup(connection, func(key weak.Pointer[T]) { c.ids.Delete(key) }, key)
	}
	return id.(string)
}

// callOf reads a call: its name, its arguments, and what makes it with others, and with judged answers of the client.
func callOf(r mcp.Request) (name string, args guarded.Arguments, with func(context.Context, *guarded.Turn, guarded.Arguments) (mcp.Request, error), err error) {
	switch r := r.(type) {
	case *mcp.CallToolRequest: // a server receives it
		args, err = argumentsOf(r.Params.Arguments)
		return r.Params.Name, args, func(ctx context.Context, turn *guarded.Turn, judged guarded.Arguments) (mcp.Request, error) {
			raw, err := json.Marshal(judged)
			if err != nil {
				return nil, err
			}
			params, anew := *r.Params, *r
			params.Arguments, anew.Params = raw, &params
			params.InputResponses, err = judgedResponses(ctx, turn, params.InputResponses)
			return &anew, err
		}, err
	case *mcp.ClientRequest[mcp.Params]: // a client sends it
		sent, ok := r.Params.(*mcp.CallToolParams)
		if !ok {
			break
		}
		raw, err := json.Marshal(sent.Arguments)
		if err != nil {
			return "", nil, nil, err
		}
		args, err = argumentsOf(raw)
		return sent.Name, args, func(ctx context.Context, turn *guarded.Turn, judged guarded.Arguments) (_ mcp.Request, err error) {
			params, anew := *sent, *r
			params.Arguments, anew.Params = map[string]any(judged), &params
			params.InputResponses, err = judgedResponses(ctx, turn, params.InputResponses)
			return &anew, err
		}, err
	}
	return "", nil, nil, fmt.Errorf("a %T is no call of a tool that can be judged", r)
}

func argumentsOf(raw json.RawMessage) (guarded.Arguments, error) {
	args := guarded.Arguments{}
	if len(raw) == 0 || string(raw) == "null" {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	return args, nil
}

// outputOf is what a model reads of a result: its contents, each a text or JSON, and then its
// structured content.
func outputOf(result *mcp.CallToolResult) (guarded.Output, error) {
	out := guarded.Output{IsError: result.IsError}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			out.Texts = append(out.Texts, text.Text)
			continue
		}
		b, err := content.MarshalJSON()
		if err != nil {
			return guarded.Output{}, err
		}
		out.Texts = append(out.Texts, string(b))
	}
	if result.StructuredContent != nil {
		b, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return guarded.Output{}, err
		}
		out.Texts = append(out.Texts, string(b))
	}
	return out, nil
}

// resultOf is a result with what was left of it.
func resultOf(result *mcp.CallToolResult, out guarded.Output) (mcp.Result, error) {
	told, err := outputOf(result)
	if err != nil {
		return nil, err
	}
	left := *result
	left.Content = append([]mcp.Content{}, result.Content...)
	for i := range left.Content {
		if out.Texts[i] != told.Texts[i] {
			left.Content[i] = &mcp.TextContent{Text: out.Texts[i]}
		}
	}
	if last := len(left.Content); last < len(out.Texts) && out.Texts[last] != told.Texts[last] {
		var structured any
		if err := json.Unmarshal([]byte(out.Texts[last]), &structured); err != nil {
			return nil, errors.New("the result is withheld: " + out.Texts[last])
		}
		left.StructuredContent = structured
	}
	return &left, nil
}
