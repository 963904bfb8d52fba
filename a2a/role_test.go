package a2a_test

import (
	"context"
	"strings"
	"testing"

	older "github.com/a2aproject/a2a-go/a2apb"
	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// TestRoles: auditors and approvers look at tasks, by every binding and in both
// versions, and whatever they would change stays.
func TestRoles(t *testing.T) {
	n := begin(t, "")
	conn := n.dial()
	for _, role := range []string{"auditor", "approver", ""} {
		user := "u-" + role
		id := n.do(user+"@agent", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
		n.wait(user+"@agent", id, "TASK_STATE_WORKING")
		push := `{"taskId":"` + id + `","id":"p","url":"https://example.com/hook"}`
		n.do(user+"@agent", "CreateTaskPushNotificationConfig", push)
		as := user + "@" + role
		rpc := func(method, params string) string { return n.call(as, method, params).code() }
		for method, params := range map[string]string{
			"SendMessage": sent(tasks(one("echo")), ""), "SendStreamingMessage": sent(tasks(one("echo")), ""), "CancelTask": `{"id":"` + id + `"}`,
			"CreateTaskPushNotificationConfig": push, "DeleteTaskPushNotificationConfig": `{"taskId":"` + id + `","id":"p"}`,
			"message/send":                        `{"message":{"kind":"message","messageId":"x","role":"user","parts":[{"kind":"text","text":"x"}]}}`,
			"message/stream":                      `{"message":{"kind":"message","messageId":"x","role":"user","parts":[{"kind":"text","text":"x"}]}}`,
			"tasks/cancel":                        `{"id":"` + id + `"}`,
			"tasks/pushNotificationConfig/set":    `{"taskId":"` + id + `","pushNotificationConfig":{"id":"p","url":"https://example.com/hook"}}`,
			"tasks/pushNotificationConfig/delete": `{"id":"` + id + `","pushNotificationConfigId":"p"}`,
		} {
			if code := rpc(method, params); code != "-31403" {
				t.Errorf("%s as %q: %s", method, role, code)
			}
		}
		for method, params := range map[string]string{
			"GetTask": `{"id":"` + id + `"}`, "ListTasks": `{}`, "ListTaskPushNotificationConfigs": `{"taskId":"` + id + `"}`,
			"GetTaskPushNotificationConfig": `{"taskId":"` + id + `","id":"p"}`, "GetExtendedAgentCard": `{}`,
			"tasks/get": `{"id":"` + id + `"}`, "tasks/pushNotificationConfig/list": `{"id":"` + id + `"}`,
		} {
			if code := rpc(method, params); code != "" {
				t.Errorf("%s as %q: %s", method, role, code)
			}
		}
		first := n.next(n.events(n.ask(as, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)))
		if first.result("task", "id") != id {
			t.Errorf("a subscription as %q: %s", role, first.text)
		}
		for path, want := range map[string]int{
			"POST /rest/message:send": 403, "POST /rest/message:stream": 403, "POST /rest/tasks/" + id + ":cancel": 403, "GET /rest/tasks/" + id: 200,
			"POST /rest/tasks/" + id + "/pushNotificationConfigs": 403, "DELETE /rest/tasks/" + id + "/pushNotificationConfigs/p": 403, "GET /rest/tasks": 200,
			"POST /v1/message:send": 403, "POST /v1/tasks/" + id + ":cancel": 403, "GET /v1/tasks/" + id: 200,
		} {
			verb, path, _ := strings.Cut(path, " ")
			body := ""
			switch {
			case strings.HasPrefix(path, "/rest/message"):
				body = sent(tasks(one("echo")), "")
			case strings.HasPrefix(path, "/v1/message"):
				body = `{"message":{"messageId":"x","role":"ROLE_USER","content":[{"text":"x"}]}}`
			case strings.HasSuffix(path, "Configs"):
				body = push
			}
			if got := n.read(n.ask(as, verb, path, body)); got.http != want {
				t.Errorf("%s %s as %q: %d %s", verb, path, role, got.http, got.text)
			}
		}
		ctx := by(t.Context(), as)
		message := &newer.Message{MessageId: "g", Role: newer.Role_ROLE_USER, Parts: []*newer.Part{{Content: &newer.Part_Text{Text: "x"}}}}
		for method, call := range map[string]func(ctx context.Context) error{
			"SendMessage": func(ctx context.Context) error {
				return conn.Invoke(ctx, "/lf.a2a.v1.A2AService/SendMessage", &newer.SendMessageRequest{Message: message}, &newer.SendMessageResponse{})
			},
			"SendStreamingMessage": func(ctx context.Context) error {
				stream, err := newer.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &newer.SendMessageRequest{Message: message})
				if err == nil {
					_, err = stream.Recv()
				}
				return err
			},
			"CancelTask": func(ctx context.Context) error {
				return conn.Invoke(ctx, "/lf.a2a.v1.A2AService/CancelTask", &newer.CancelTaskRequest{Id: id}, &newer.Task{})
			},
			"DeleteTaskPushNotificationConfig": func(ctx context.Context) error {
				return conn.Invoke(ctx, "/lf.a2a.v1.A2AService/DeleteTaskPushNotificationConfig", &newer.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "p"}, &emptypb.Empty{})
			},
			"CancelTask of 0.3": func(ctx context.Context) error {
				return conn.Invoke(ctx, "/a2a.v1.A2AService/CancelTask", &older.CancelTaskRequest{Name: "tasks/" + id}, &older.Task{})
			},
		} {
			if err := call(ctx); status.Code(err) != codes.PermissionDenied {
				t.Errorf("gRPC %s as %q: %v", method, role, err)
			}
		}
		if err := conn.Invoke(ctx, "/lf.a2a.v1.A2AService/GetTask", &newer.GetTaskRequest{Id: id}, &newer.Task{}); err != nil {
			t.Errorf("gRPC GetTask as %q: %v", role, err)
		}
		if left := n.do(user+"@agent", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`); !strings.Contains(left.text, `"p"`) {
			t.Errorf("the push configuration is gone: %s", left.text)
		}
		if list := n.do(user+"@agent", "ListTasks", `{}`); list.result("totalSize") != "1" || !strings.Contains(list.text, "TASK_STATE_WORKING") {
			t.Errorf("something was changed as %q: %s", role, list.text)
		}
	}
	close(n.gate)
}
