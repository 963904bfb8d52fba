//lint:file-ignore SA1019 sampling is judged for as long as there are servers that ask for it

package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"reeve.example/reeve/aos/guarded"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server asks of the client in the midst of a call (to have a person fill in a form, to
// ask a model, to list folders) comes in results and goes back in requests since MCP 2026-07-28,
// and as requests of its own before. Each is judged as that request, and its answer as the answer.

// errRefused is what the other side reads: why, is for our own.
var errRefused = errors.New("what was asked for, or answered, is not passed on")

// ClientInputs returns options of a client whose handlers ask: about what servers ask of the person
// or model behind the client, and about what these answer.
func ClientInputs(agent *guarded.Agent, options *mcp.ClientOptions) *mcp.ClientOptions {
	held := mcp.ClientOptions{}
	if options != nil {
		held = *options
	}
	held.ElicitationHandler = asking(agent, "elicitation/create", held.ElicitationHandler)
	held.CreateMessageHandler = asking(agent, "sampling/createMessage", held.CreateMessageHandler)
	held.CreateMessageWithToolsHandler = asking(agent, "sampling/createMessage", held.CreateMessageWithToolsHandler)
	return &held
}

// asking has a handler asked as it was judged; nil stays nil, which says that there is none.
func asking[P interface {
	*T
	mcp.Params
}, T, R any](agent *guarded.Agent, method string, handler func(context.Context, *mcp.ClientRequest[P]) (*R, error)) func(context.Context, *mcp.ClientRequest[P]) (*R, error) {
	if handler == nil {
		return nil
	}
	return func(ctx context.Context, r *mcp.ClientRequest[P]) (*R, error) {
		return answered(ctx, turnOf(ctx, agent, r.Session), method, (*T)(r.Params), func(params *T) (*R, error) {
			anew := *r
			anew.Params = P(params)
			return handler(ctx, &anew)
		})
	}
}

// answered has a request answered as it was judged, and returns what was left of the answer.
func answered[P, R any](ctx context.Context, turn *guarded.Turn, method string, params *P, answer func(*P) (*R, error)) (*R, error) {
	asked, err := judgedAs(ctx, turn, map[string]any{"method": method}, "params", params)
	if err != nil {
		return nil, errRefused
	}
	given, err := answer(asked)
	if err != nil {
		return nil, err
	}
	left, err := judgedAs(ctx, turn, nil, "result", given)
	if err != nil {
		return nil, errRefused
	}
	return left, nil
}

// ServerInputs returns a middleware that asks about what a server asks of its clients, and about what they
// answer: add it with server.AddSendingMiddleware, before all others.
func ServerInputs(agent *guarded.Agent) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method != "elicitation/create" && method != "sampling/createMessage" && method != "roots/list" {
				return next(ctx, method, r)
			}
			turn := turnOf(ctx, agent, r.GetSession())
			params := reflect.ValueOf(r.GetParams()) // a pointer, to a struct of the server's own
			asked, err := judged(ctx, turn, map[string]any{"method": method}, "params", params)
			if err != nil {
				return nil, err
			}
			params.Elem().Set(asked.Elem())
			result, err := next(ctx, method, r)
			if err != nil {
				return nil, err
			}
			left, err := judged(ctx, turn, nil, "result", reflect.ValueOf(result))
			if err != nil {
				return nil, err
			}
			return left.Interface().(mcp.Result), nil
		}
	}
}

func judgedAs[T any](ctx context.Context, turn *guarded.Turn, message map[string]any, part string, value *T) (*T, error) {
	left, err := judged(ctx, turn, message, part, reflect.ValueOf(value))
	if err != nil {
		return nil, err
	}
	return left.Interface().(*T), nil
}

// judged asks about a message that has a value, which is a pointer, as one of its parts, and returns
// what was left of that: a value of its own, read from what was judged.
func judged(ctx context.Context, turn *guarded.Turn, message map[string]any, part string, value reflect.Value) (reflect.Value, error) {
	if value.IsNil() {
		value = reflect.New(value.Type().Elem())
	}
	raw, err := judgedPart(ctx, turn, message, part, value.Interface())
	if err != nil {
		return reflect.Value{}, err
	}
	left := reflect.New(value.Type().Elem())
	if err := json.Unmarshal(raw, left.Interface()); err != nil {
		return reflect.Value{}, fmt.Errorf("what the guardian left: %w", err)
	}
	return left, nil
}

func judgedPart(ctx context.Context, turn *guarded.Turn, message map[string]any, part string, value any) (json.RawMessage, error) {
	whole := map[string]any{"jsonrpc": "2.0", "id": "input", part: value}
	maps.Copy(whole, message)
	b, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	left, err := turn.MCP(ctx, b)
	if err != nil {
		return nil, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(left, &parts); err != nil || parts[part] == nil {
		return nil, errors.New("the guardian answered with another message than was asked about")
	}
	return parts[part], nil
}

// judgedRequests asks about what a server asks for in a result.
func judgedRequests(ctx context.Context, turn *guarded.Turn, requests mcp.InputRequestMap) (left mcp.InputRequestMap, err error) {
	parts := map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}{}
	if err := throughJSON(requests, &parts); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		request := parts[id]
		if request.Params, err = judgedPart(ctx, turn, map[string]any{"method": request.Method}, "params", request.Params); err != nil {
			return nil, err
		}
		parts[id] = request
	}
	return left, throughJSON(parts, &left)
}

// judgedResponses asks about what a client answers in a request.
func judgedResponses(ctx context.Context, turn *guarded.Turn, responses mcp.InputResponseMap) (left mcp.InputResponseMap, err error) {
	if len(responses) == 0 {
		return responses, nil
	}
	var parts map[string]json.RawMessage
	if err := throughJSON(responses, &parts); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		if parts[id], err = judgedPart(ctx, turn, nil, "result", parts[id]); err != nil {
			return nil, err
		}
	}
	return left, throughJSON(parts, &left)
}

func throughJSON(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}
