package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	older "github.com/a2aproject/a2a-go/a2apb"
	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"reeve.example/reeve/a2a"
)

func (n *node) dial() *grpc.ClientConn {
	n.Helper()
	conn, err := grpc.NewClient(n.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { conn.Close() })
	return conn
}

func by(ctx context.Context, as string, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{"authorization", "Bearer " + as}, more...)...)
}

// refused checks an error's code and its ErrorInfo.
func refused(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code {
		t.Errorf("the error is %v, want %s", err, code)
	}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Reason == reason && info.Domain == "a2a-protocol.org" {
			return
		}
	}
	t.Errorf("the details are %v, want the reason %s", st.Details(), reason)
}

func TestGRPC(t *testing.T) {
	n := begin(t, string(a2a.ConformanceWorkflow))
	c := newer.NewA2AServiceClient(n.dial())
	ann, bob := by(t.Context(), "ann", "a2a-version", "1.0"), by(t.Context(), "bob")
	message := func(id, task string) *newer.SendMessageRequest {
		return &newer.SendMessageRequest{Message: &newer.Message{
			MessageId: id, TaskId: task, Role: newer.Role_ROLE_USER, Parts: []*newer.Part{{Content: &newer.Part_Text{Text: "hello"}}},
		}}
	}
	sent, err := c.SendMessage(ann, message("tck-artifact-data-1", ""))
	if err != nil || sent.GetTask().GetStatus().GetState() != newer.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("%v: %v", err, sent)
	}
	id := sent.GetTask().GetId()
	if got, err := c.GetTask(ann, &newer.GetTaskRequest{Id: id}); err != nil || got.Artifacts[0].Parts[0].GetData().GetStructValue().Fields["count"].GetNumberValue() != 42 {
		t.Errorf("%v: %v", err, got)
	}
	if list, err := c.ListTasks(ann, &newer.ListTasksRequest{}); err != nil || list.GetTotalSize() != 1 {
		t.Errorf("%v: %v", err, list)
	}
	if list, err := c.ListTasks(bob, &newer.ListTasksRequest{}); err != nil || list.GetTotalSize() != 0 {
		t.Errorf("%v: %v", err, list)
	}
	_, err = c.GetTask(bob, &newer.GetTaskRequest{Id: id})
	refused(t, err, codes.NotFound, "TASK_NOT_FOUND")
	_, err = c.CancelTask(ann, &newer.CancelTaskRequest{Id: id})
	refused(t, err, codes.FailedPrecondition, "TASK_NOT_CANCELABLE")
	_, err = c.SendMessage(ann, message("", ""))
	refused(t, err, codes.InvalidArgument, "INVALID_PARAMS")
	_, err = c.GetTask(by(t.Context(), "ann", "a2a-version", "99.0"), &newer.GetTaskRequest{Id: id})
	refused(t, err, codes.Unimplemented, "VERSION_NOT_SUPPORTED")

	stream, err := c.SendStreamingMessage(ann, message("tck-input-required-1", ""))
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetTask() == nil {
		t.Fatalf("%v: %v", err, first)
	}
	var last *newer.StreamResponse
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.GetStatusUpdate().GetStatus().GetState() != newer.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Error(last)
	}
	id = first.GetTask().GetId()
	config := &newer.TaskPushNotificationConfig{TaskId: id, Id: "p", Url: n.url + "/callback"}
	if _, err := c.CreateTaskPushNotificationConfig(ann, config); err != nil {
		t.Error(err)
	}
	if got, err := c.GetTaskPushNotificationConfig(ann, &newer.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "p"}); err != nil || got.GetUrl() != config.Url {
		t.Errorf("%v: %v", err, got)
	}
	if got, err := c.ListTaskPushNotificationConfigs(ann, &newer.ListTaskPushNotificationConfigsRequest{TaskId: id}); err != nil || len(got.GetConfigs()) != 1 {
		t.Errorf("%v: %v", err, got)
	}
	if _, err := c.DeleteTaskPushNotificationConfig(ann, &newer.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "p"}); err != nil {
		t.Error(err)
	}
	if card, err := c.GetExtendedAgentCard(ann, &newer.GetExtendedAgentCardRequest{}); err != nil || len(card.GetSkills()[0].GetExamples()) == 0 {
		t.Errorf("%v: %v", err, card)
	}
	subscribed, err := c.SubscribeToTask(bob, &newer.SubscribeToTaskRequest{Id: id})
	if err == nil {
		_, err = subscribed.Recv()
	}
	refused(t, err, codes.NotFound, "TASK_NOT_FOUND")
	if got, err := c.CancelTask(ann, &newer.CancelTaskRequest{Id: id}); err != nil || got.GetStatus().GetState() != newer.TaskState_TASK_STATE_CANCELED {
		t.Errorf("%v: %v", err, got)
	}
}

func TestGRPCv03(t *testing.T) {
	n := begin(t, string(a2a.ConformanceWorkflow))
	c := older.NewA2AServiceClient(n.dial())
	ann := by(t.Context(), "ann")
	message := func(id string) *older.SendMessageRequest {
		return &older.SendMessageRequest{
			Request:       &older.Message{MessageId: id, Role: older.Role_ROLE_USER, Parts: []*older.Part{{Part: &older.Part_Text{Text: "hello"}}}},
			Configuration: &older.SendMessageConfiguration{Blocking: true},
		}
	}
	sent, err := c.SendMessage(ann, message("tck-artifact-text-1"))
	if err != nil || sent.GetTask().GetStatus().GetState() != older.TaskState_TASK_STATE_COMPLETED || sent.GetTask().GetArtifacts()[0].GetParts()[0].GetText() == "" {
		t.Fatalf("%v: %v", err, sent)
	}
	name := "tasks/" + sent.GetTask().GetId()
	if got, err := c.GetTask(ann, &older.GetTaskRequest{Name: name}); err != nil || got.GetHistory()[0].GetParts()[0].GetText() != "hello" {
		t.Errorf("%v: %v", err, got)
	}
	_, err = c.CancelTask(ann, &older.CancelTaskRequest{Name: name})
	refused(t, err, codes.FailedPrecondition, "TASK_NOT_CANCELABLE")
	made, err := c.CreateTaskPushNotificationConfig(ann, &older.CreateTaskPushNotificationConfigRequest{
		Parent: name, ConfigId: "p", Config: &older.TaskPushNotificationConfig{PushNotificationConfig: &older.PushNotificationConfig{Url: "https://example.com"}},
	})
	if err != nil || made.GetName() != name+"/pushNotificationConfigs/p" {
		t.Errorf("%v: %v", err, made)
	}
	if got, err := c.GetTaskPushNotificationConfig(ann, &older.GetTaskPushNotificationConfigRequest{Name: made.GetName()}); err != nil || got.GetPushNotificationConfig().GetUrl() == "" {
		t.Errorf("%v: %v", err, got)
	}
	stream, err := c.SendStreamingMessage(ann, message("tck-stream-artifact-chunked-1"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if u := e.GetArtifactUpdate(); u != nil {
			told = append(told, u.GetArtifact().GetParts()[0].GetText())
			if u.GetAppend() != (len(told) == 2) || u.GetLastChunk() != (len(told) == 2) {
				t.Error(u)
			}
		}
	}
	if len(told) != 2 {
		t.Errorf("the pieces are %q", told)
	}
}

// Of others' tasks a caller learns over gRPC as much as of those that do not exist, by
// every method of both versions.
func TestThreat14OwnershipOverGRPC(t *testing.T) {
	n := begin(t, "")
	id := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	n.do("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"p","url":"`+n.url+`/callback"}`)
	url := n.url + "/callback"
	c, o := newer.NewA2AServiceClient(n.dial()), older.NewA2AServiceClient(n.dial())
	// first is what a stream begins with.
	first := func(stream interface{ RecvMsg(any) error }, err error, m any) error {
		if err != nil {
			return err
		}
		return stream.RecvMsg(m)
	}
	message := func(id string) *newer.SendMessageRequest {
		return &newer.SendMessageRequest{Message: &newer.Message{MessageId: "m", TaskId: id, Role: newer.Role_ROLE_USER, Parts: []*newer.Part{{Content: &newer.Part_Text{Text: "x"}}}}}
	}
	oldMessage := func(id string) *older.SendMessageRequest {
		return &older.SendMessageRequest{Request: &older.Message{MessageId: "m", TaskId: id, Role: older.Role_ROLE_USER, Parts: []*older.Part{{Part: &older.Part_Text{Text: "x"}}}}}
	}
	for name, ask := range map[string]func(ctx context.Context, id string) error{
		"SendMessage": func(ctx context.Context, id string) error { _, err := c.SendMessage(ctx, message(id)); return err },
		"SendStreamingMessage": func(ctx context.Context, id string) error {
			s, err := c.SendStreamingMessage(ctx, message(id))
			return first(s, err, &newer.StreamResponse{})
		},
		"GetTask": func(ctx context.Context, id string) error {
			_, err := c.GetTask(ctx, &newer.GetTaskRequest{Id: id})
			return err
		},
		"CancelTask": func(ctx context.Context, id string) error {
			_, err := c.CancelTask(ctx, &newer.CancelTaskRequest{Id: id})
			return err
		},
		"SubscribeToTask": func(ctx context.Context, id string) error {
			s, err := c.SubscribeToTask(ctx, &newer.SubscribeToTaskRequest{Id: id})
			return first(s, err, &newer.StreamResponse{})
		},
		"CreateTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := c.CreateTaskPushNotificationConfig(ctx, &newer.TaskPushNotificationConfig{TaskId: id, Url: url})
			return err
		},
		"GetTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := c.GetTaskPushNotificationConfig(ctx, &newer.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "p"})
			return err
		},
		"ListTaskPushNotificationConfigs": func(ctx context.Context, id string) error {
			_, err := c.ListTaskPushNotificationConfigs(ctx, &newer.ListTaskPushNotificationConfigsRequest{TaskId: id})
			return err
		},
		"DeleteTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := c.DeleteTaskPushNotificationConfig(ctx, &newer.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "p"})
			return err
		},
		"0.3 SendMessage": func(ctx context.Context, id string) error { _, err := o.SendMessage(ctx, oldMessage(id)); return err },
		"0.3 SendStreamingMessage": func(ctx context.Context, id string) error {
			s, err := o.SendStreamingMessage(ctx, oldMessage(id))
			return first(s, err, &older.StreamResponse{})
		},
		"0.3 GetTask": func(ctx context.Context, id string) error {
			_, err := o.GetTask(ctx, &older.GetTaskRequest{Name: "tasks/" + id})
			return err
		},
		"0.3 CancelTask": func(ctx context.Context, id string) error {
			_, err := o.CancelTask(ctx, &older.CancelTaskRequest{Name: "tasks/" + id})
			return err
		},
		"0.3 TaskSubscription": func(ctx context.Context, id string) error {
			s, err := o.TaskSubscription(ctx, &older.TaskSubscriptionRequest{Name: "tasks/" + id})
			return first(s, err, &older.StreamResponse{})
		},
		"0.3 CreateTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := o.CreateTaskPushNotificationConfig(ctx, &older.CreateTaskPushNotificationConfigRequest{
				Parent: "tasks/" + id, ConfigId: "q", Config: &older.TaskPushNotificationConfig{PushNotificationConfig: &older.PushNotificationConfig{Url: url}},
			})
			return err
		},
		"0.3 GetTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := o.GetTaskPushNotificationConfig(ctx, &older.GetTaskPushNotificationConfigRequest{Name: "tasks/" + id + "/pushNotificationConfigs/p"})
			return err
		},
		"0.3 ListTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := o.ListTaskPushNotificationConfig(ctx, &older.ListTaskPushNotificationConfigRequest{Parent: "tasks/" + id})
			return err
		},
		"0.3 DeleteTaskPushNotificationConfig": func(ctx context.Context, id string) error {
			_, err := o.DeleteTaskPushNotificationConfig(ctx, &older.DeleteTaskPushNotificationConfigRequest{Name: "tasks/" + id + "/pushNotificationConfigs/p"})
			return err
		},
	} {
		for _, ctx := range []context.Context{by(t.Context(), "bob"), t.Context()} {
			foreign, unknown := ask(ctx, id), ask(ctx, nobody)
			refused(t, foreign, codes.NotFound, "TASK_NOT_FOUND")
			if f, u := fmt.Sprint(foreign), fmt.Sprint(unknown); strings.ReplaceAll(f, id, "ID") != strings.ReplaceAll(u, nobody, "ID") {
				t.Errorf("%s: what is foreign is answered %s\nand what is unknown %s", name, f, u)
			}
		}
	}
	if list, err := o.ListTasks(by(t.Context(), "bob"), &older.ListTasksRequest{}); err != nil || len(list.GetTasks()) != 0 {
		t.Errorf("%v: %v", err, list)
	}
	n.wait("ann", id, "TASK_STATE_WORKING")
	if a := n.do("ann", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`); a.Get("result").Get("configs").Len() != 1 {
		t.Error(a.text)
	}
	n.do("ann", "CancelTask", `{"id":"`+id+`"}`)
}
