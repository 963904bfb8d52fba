package a2a

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"reeve.example/reeve/internal/jsonrpc"
)

// methodNames are the operations as version 1.0 names them.
var methodNames = map[operation]string{
	opSend: "SendMessage", opStream: "SendStreamingMessage", opGet: "GetTask", opList: "ListTasks", opCancel: "CancelTask",
	opSubscribe: "SubscribeToTask", opPushCreate: "CreateTaskPushNotificationConfig", opPushGet: "GetTaskPushNotificationConfig",
	opPushList: "ListTaskPushNotificationConfigs", opPushDelete: "DeleteTaskPushNotificationConfig", opCard: "GetExtendedAgentCard",
}

// oldNames are the operations as version 0.3 names them over JSON-RPC. It has no
// list of tasks there.
var oldNames = map[operation]string{
	opSend: "message/send", opStream: "message/stream", opGet: "tasks/get", opCancel: "tasks/cancel", opSubscribe: "tasks/resubscribe",
	opPushCreate: "tasks/pushNotificationConfig/set", opPushGet: "tasks/pushNotificationConfig/get",
	opPushList: "tasks/pushNotificationConfig/list", opPushDelete: "tasks/pushNotificationConfig/delete", opCard: "agent/getAuthenticatedExtendedCard",
}

func invert(names map[operation]string) map[string]operation {
	m := make(map[string]operation, len(names))
	for op, name := range names {
		m[name] = op
	}
	return m
}

// Namespaces are the methods of both versions, for a jsonrpc.Handler: those of 1.0
// begin with a capital letter, and those of 0.3 with message/, tasks/ or agent/.
func (s *Server) Namespaces() []jsonrpc.Namespace {
	return []jsonrpc.Namespace{
		s.namespace(v1, invert(methodNames), func(method string) bool { return method != "" && method[0] >= 'A' && method[0] <= 'Z' }),
		s.namespace(v03, invert(oldNames), func(method string) bool {
			return strings.HasPrefix(method, "message/") || strings.HasPrefix(method, "tasks/") || strings.HasPrefix(method, "agent/")
		}),
	}
}

func (s *Server) namespace(d dialect, methods map[string]operation, match func(method string) bool) jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths:     []string{"/a2a", "/a2a/"}, // some clients add the slash
		OtherType: (&failure{fault: contentType, sentence: "Send the request as Content-Type: application/json."}).rpc(v1),
		Match:     match, Unnamed: true, Answered: true, Unauthorized: -31401,
		Words: map[int]string{jsonrpc.ParseError: "Invalid JSON payload", jsonrpc.InvalidRequest: "Request payload validation error"},
		Handle: func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			result, err := s.call(ctx, d, methods, r)
			if err != nil {
				s.log(ctx, r.Method, err)
				e := failed(err).rpc(d)
				e.Follows = d == v03
				return nil, e
			}
			return result, nil
		},
	}
}

// log tells the operator of our own failures.
func (s *Server) log(ctx context.Context, method string, err error) {
	if _, ok := errors.AsType[*failure](err); !ok && ctx.Err() == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "an A2A call was not carried out", slog.String("method", method), slog.Any("error", err))
	}
}

func (s *Server) call(ctx context.Context, d dialect, methods map[string]operation, r *jsonrpc.Request) ([]byte, error) {
	if err := d.check(r.Header.Get("A2A-Version")); err != nil {
		return nil, err
	}
	op, ok := methods[r.Method]
	if !ok {
		return nil, fail(noMethod, "There is no such method.")
	}
	q, err := d.readParams(op, r.Params)
	if err != nil {
		return nil, err
	}
	by := s.caller(ctx)
	if op != opStream && op != opSubscribe {
		return s.answer(ctx, by, q)
	}
	if !r.CanFollow() {
		return nil, fail(unsupported, "No stream can follow here: not in a batch, nor after a notification.")
	}
	st, err := s.open(ctx, by, q)
	if err != nil && d == v03 { // there, clients look for the error in the stream
		r.Follow(func(context.Context, func(jsonrpc.Event) error) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	// Each event of the stream is an answer to the same call; the first is the answer.
	r.Follow(func(ctx context.Context, send func(jsonrpc.Event) error) error {
		err := st.run(ctx, func(e *event) error {
			o := begin(nil)
			o.text("jsonrpc", "2.0")
			o.raw("id", r.ID)
			o.raw("result", d.event(nil, e))
			return send(jsonrpc.Event{Data: o.end()})
		})
		if err != nil && ctx.Err() == nil && s.closing.Err() == nil {
			s.log(ctx, r.Method, err)
			return send(jsonrpc.Event{Data: appendRPCError(nil, r.ID, failed(err).rpc(d))})
		}
		return err
	})
	return d.event(nil, st.first), nil
}

// versions are the values of A2A-Version that ask for a dialect. Clients that do
// not know the header speak 0.3; those that do, and leave it out, are known by
// what they ask.
var versions = map[bool][]string{true: {"", "1.0", "1"}, false: {"", "0.3", "0.3.0"}}

// check refuses a version that is not spoken.
func (d dialect) check(version string) error {
	for _, v := range versions[d == v1] {
		if version == v {
			return nil
		}
	}
	if d != v1 && version == "1.0" { // as a client does that mistakes the one for the other
		return fail(badVersion, "This is a method of version 0.3, and A2A-Version says 1.0.")
	}
	return fail(badVersion, "The version "+shown(version)+" is not spoken here. There are 1.0 and 0.3.")
}
