package a2a

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"

	older "github.com/a2aproject/a2a-go/a2apb"
	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// remote is one method of a service of gRPC.
type remote struct {
	name     string
	op       operation
	request  proto.Message
	response proto.Message
}

// The services of both versions. What is asked and answered are messages of
// protobuf, which are written as JSON on the way in and read from JSON on the way
// out: so they are the same as over HTTP.
var (
	newerMethods = []remote{
		{"SendMessage", opSend, &newer.SendMessageRequest{}, &newer.SendMessageResponse{}},
		{"SendStreamingMessage", opStream, &newer.SendMessageRequest{}, &newer.StreamResponse{}},
		{"GetTask", opGet, &newer.GetTaskRequest{}, &newer.Task{}},
		{"ListTasks", opList, &newer.ListTasksRequest{}, &newer.ListTasksResponse{}},
		{"CancelTask", opCancel, &newer.CancelTaskRequest{}, &newer.Task{}},
		{"SubscribeToTask", opSubscribe, &newer.SubscribeToTaskRequest{}, &newer.StreamResponse{}},
		{"CreateTaskPushNotificationConfig", opPushCreate, &newer.TaskPushNotificationConfig{}, &newer.TaskPushNotificationConfig{}},
		{"GetTaskPushNotificationConfig", opPushGet, &newer.GetTaskPushNotificationConfigRequest{}, &newer.TaskPushNotificationConfig{}},
		{"ListTaskPushNotificationConfigs", opPushList, &newer.ListTaskPushNotificationConfigsRequest{}, &newer.ListTaskPushNotificationConfigsResponse{}},
		{"DeleteTaskPushNotificationConfig", opPushDelete, &newer.DeleteTaskPushNotificationConfigRequest{}, &emptypb.Empty{}},
		{"GetExtendedAgentCard", opCard, &newer.GetExtendedAgentCardRequest{}, &newer.AgentCard{}},
	}
	olderMethods = []remote{
		{"SendMessage", opSend, &older.SendMessageRequest{}, &older.SendMessageResponse{}},
		{"SendStreamingMessage", opStream, &older.SendMessageRequest{}, &older.StreamResponse{}},
		{"GetTask", opGet, &older.GetTaskRequest{}, &older.Task{}},
		{"ListTasks", opList, &older.ListTasksRequest{}, &older.ListTasksResponse{}},
		{"CancelTask", opCancel, &older.CancelTaskRequest{}, &older.Task{}},
		{"TaskSubscription", opSubscribe, &older.TaskSubscriptionRequest{}, &older.StreamResponse{}},
		{"CreateTaskPushNotificationConfig", opPushCreate, &older.CreateTaskPushNotificationConfigRequest{}, &older.TaskPushNotificationConfig{}},
		{"GetTaskPushNotificationConfig", opPushGet, &older.GetTaskPushNotificationConfigRequest{}, &older.TaskPushNotificationConfig{}},
		{"ListTaskPushNotificationConfig", opPushList, &older.ListTaskPushNotificationConfigRequest{}, &older.ListTaskPushNotificationConfigResponse{}},
		{"DeleteTaskPushNotificationConfig", opPushDelete, &older.DeleteTaskPushNotificationConfigRequest{}, &emptypb.Empty{}},
		{"GetAgentCard", opCard, &older.GetAgentCardRequest{}, &older.AgentCard{}},
	}
)

// RegisterGRPC has a gRPC server speak both versions. Who is asking it must have put
// into the calls' contexts, as identity.NewContext does.
func (s *Server) RegisterGRPC(r grpc.ServiceRegistrar) {
	r.RegisterService(s.service(v1, newer.A2AService_ServiceDesc.ServiceName, newerMethods), s)
	r.RegisterService(s.service(g03, older.A2AService_ServiceDesc.ServiceName, olderMethods), s)
}

func (s *Server) service(d dialect, name string, methods []remote) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: name, HandlerType: (*any)(nil)}
	for i := range methods {
		m := &methods[i]
		if m.op == opStream || m.op == opSubscribe {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: m.name, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
				return s.remoteStream(stream, d, m)
			}})
			continue
		}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: m.name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := proto.Clone(m.request)
			if err := decode(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, in any) (any, error) { return s.remoteCall(ctx, d, m, in.(proto.Message)) }
			if intercept == nil {
				return handle(ctx, in)
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{Server: s, FullMethod: "/" + name + "/" + m.name}, handle)
		}})
	}
	return desc
}

// remoteRead reads what a method is called with.
func (s *Server) remoteRead(ctx context.Context, d dialect, m *remote, in proto.Message) (*request, error) {
	version := ""
	if values := metadata.ValueFromIncomingContext(ctx, "a2a-version"); len(values) > 0 {
		version = values[0]
	}
	if err := d.check(version); err != nil {
		return nil, err
	}
	b, err := protojson.Marshal(in)
	if err != nil {
		return nil, fail(badParams, "The request cannot be written as JSON.")
	}
	params, err := parse(b)
	if err != nil {
		return nil, err
	}
	return d.readParams(m.op, params)
}

func (s *Server) remoteCall(ctx context.Context, d dialect, m *remote, in proto.Message) (_ proto.Message, err error) {
	defer s.recovered(&err)
	q, err := s.remoteRead(ctx, d, m, in)
	if err != nil {
		return nil, s.remoteError(ctx, m, err)
	}
	b, err := s.answer(ctx, s.caller(ctx), q)
	if err != nil {
		return nil, s.remoteError(ctx, m, err)
	}
	return m.written(b)
}

// written is an answer as the message that it is in protobuf.
func (m *remote) written(b []byte) (proto.Message, error) {
	out := proto.Clone(m.response)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, out); err != nil {
		return nil, status.Error(codes.Internal, "The answer cannot be written as protobuf.")
	}
	return out, nil
}

func (s *Server) remoteStream(stream grpc.ServerStream, d dialect, m *remote) (err error) {
	defer s.recovered(&err)
	ctx := stream.Context()
	in := proto.Clone(m.request)
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	q, err := s.remoteRead(ctx, d, m, in)
	if err != nil {
		return s.remoteError(ctx, m, err)
	}
	st, err := s.open(ctx, s.caller(ctx), q)
	if err != nil {
		return s.remoteError(ctx, m, err)
	}
	s.cfg.Hold(ctx, s.cfg.Now()) // a stream has no turn to keep
	send := func(e *event) error {
		out, err := m.written(d.event(nil, e))
		if err != nil {
			return err
		}
		return stream.SendMsg(out)
	}
	if err = send(st.first); err == nil {
		err = st.run(ctx, send)
	}
	if err != nil && s.closing.Err() != nil {
		return status.Error(codes.Unavailable, "The node is stopping. Subscribe to the task again.")
	}
	if err != nil {
		return s.remoteError(ctx, m, err)
	}
	return nil
}

// recovered makes a panic an internal error: the caller learns nothing of it, the
// log everything.
func (s *Server) recovered(err *error) {
	if p := recover(); p != nil {
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "panic while handling a call", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		*err = status.Error(codes.Internal, internal.word)
	}
}

// remoteError is the failure as gRPC writes it.
func (s *Server) remoteError(ctx context.Context, m *remote, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	s.log(ctx, m.name, err)
	f := failed(err)
	st := status.New(f.grpc, strings.ToValidUTF8(f.sentence, "�"))
	with, err := st.WithDetails(&errdetails.ErrorInfo{Reason: f.reason, Domain: "a2a-protocol.org"})
	if err != nil {
		return st.Err()
	}
	return with.Err()
}
