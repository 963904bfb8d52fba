package a2a_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"reeve/a2a"
	"reeve/internal/outbound"
	"reeve/internal/rawjson"
)

// called is the next callback.
func (n *node) called() *call {
	n.Helper()
	select {
	case c := <-n.calls:
		return c
	case <-time.After(30 * time.Second):
		n.Fatal("no callback came")
	}
	return nil
}

func stateIn(t *testing.T, body string, way ...string) string {
	t.Helper()
	doc, err := rawjson.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return answer{Value: doc.Root()}.at(way...)
}

// Who asked for it is told each change, in the form of its version, with its token and
// credentials, and again when it does not take it.
func TestPush(t *testing.T) {
	n := begin(t, "")
	n.busy.Store(1)
	config := `{"taskPushNotificationConfig":{"id":"mine","url":"` + n.url + `/callback","token":"tok","authentication":{"scheme":"Bearer","credentials":"cred"}}}`
	id := n.do("ann", "SendMessage", sent(tasks(one("echo")), config)).result("task", "id")
	for i, want := range []string{"statusUpdate TASK_STATE_WORKING", "artifactUpdate A", "statusUpdate TASK_STATE_COMPLETED"} {
		c := n.called()
		what, value, _ := strings.Cut(want, " ")
		got := stateIn(t, c.body, what, "status", "state") + stateIn(t, c.body, what, "artifact", "name")
		if got != value || !strings.Contains(c.body, id) || c.header.Get("X-A2A-Notification-Token") != "tok" || c.header.Get("Authorization") != "Bearer cred" {
			t.Errorf("%d: %v %s", i, c.header, c.body)
		}
	}
	n.do("ann", "message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"tasks":`+one("echo")+`}}]},"configuration":{"pushNotificationConfig":{"url":"`+n.url+`/callback"}}}`)
	for _, want := range []string{"", "", "completed"} {
		c := n.called()
		if kind := stateIn(t, c.body, "kind"); kind != "task" || want != "" && stateIn(t, c.body, "status", "state") != want {
			t.Error(c.body)
		}
	}
	select {
	case c := <-n.calls:
		t.Errorf("one more came: %s", c.body)
	case <-time.After(300 * time.Millisecond):
	}
}

// Push notifications go on after the node was down, and stop when they are deleted.
func TestPushGoesOn(t *testing.T) {
	dir := t.TempDir()
	n := beginIn(t, dir, "", nil)
	receiver := begin(t, "")
	url := receiver.url + "/callback"
	id := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	n.wait("ann", id, "TASK_STATE_WORKING")
	n.do("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"a","url":"`+url+`"}`)
	n.do("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"b","url":"`+url+`?b"}`)
	n.do("ann", "DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"b"}`)
	n.do("ann", "DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"b"}`)
	n.stop()
	n = beginIn(t, dir, "", nil)
	close(n.gate)
	for states := ""; !strings.Contains(states, "COMPLETED"); {
		states += receiver.called().body
	}
	select {
	case c := <-receiver.calls:
		t.Errorf("one more came: %s", c.body)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestPushConfigs(t *testing.T) {
	n := begin(t, "")
	id := n.do("ann", "SendMessage", sent(tasks(one("echo")), "")).result("task", "id")
	if a := n.do("ann", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`); a.result("configs") != "[]" {
		t.Error(a.text)
	}
	if a := n.do("ann", "tasks/pushNotificationConfig/list", `{"id":"`+id+`"}`); a.result() != "[]" {
		t.Error(a.text)
	}
	n.do("ann", "tasks/pushNotificationConfig/set", `{"taskId":"`+id+`","pushNotificationConfig":{"url":"https://example.com/x","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`)
	for _, params := range []string{`{"id":"ID"}`, `{"id":"ID","pushNotificationConfigId":"ID"}`} {
		a := n.do("ann", "tasks/pushNotificationConfig/get", strings.ReplaceAll(params, "ID", id))
		if a.result("taskId") != id || a.result("pushNotificationConfig", "url") != "https://example.com/x" || a.result("pushNotificationConfig", "authentication", "schemes", "0") != "Bearer" {
			t.Error(a.text)
		}
	}
	if a := n.call("ann", "GetTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"other"}`); a.code() != "-32001" {
		t.Error(a.text)
	}
	for i := range 9 {
		n.do("ann", "CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"id":"c%d","url":"https://example.com/x"}`, id, i))
	}
	n.do("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"c1","url":"https://example.com/y"}`) // in the place of another
	if a := n.call("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"c10","url":"https://example.com/x"}`); a.code() != "-32004" {
		t.Error(a.text)
	}
	if a := n.do("ann", "DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"c1"}`); a.result() != "{}" {
		t.Error(a.text)
	}
}

// What may not be called is refused when it is asked for, as far as the address
// tells, and else when it is called.
func TestPushAddresses(t *testing.T) {
	d := &outbound.Dialer{}
	n := beginIn(t, t.TempDir(), "", func(c *a2a.Config) {
		c.Callback = d.Client(outbound.Options{Redirects: 3})
		c.CheckURL = a2a.PublicURL
	})
	id := n.do("ann", "SendMessage", sent(tasks(one("echo")), "")).result("task", "id")
	for _, url := range []string{
		"http://127.0.0.1/", "http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[fe80::1]/", "http://2130706433/", "http://0x7f.1/",
		"http://localhost/", "ftp://example.com/", "http://user:pw@example.com/", "//example.com", "http://",
	} {
		if a := n.call("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","url":"`+url+`"}`); a.code() != "-32602" {
			t.Errorf("%s: %s", url, a.text)
		}
		if a := n.call("ann", "SendMessage", sent(tasks(one("echo")), `{"taskPushNotificationConfig":{"url":"`+url+`"}}`)); a.code() != "-32602" {
			t.Errorf("%s: %s", url, a.text)
		}
	}
	none := beginIn(t, t.TempDir(), "", func(c *a2a.Config) { c.Callback = nil })
	id = none.do("ann", "SendMessage", sent(tasks(one("echo")), "")).result("task", "id")
	if a := none.call("ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","url":"https://example.com"}`); a.code() != "-32003" {
		t.Error(a.text)
	}
	if a := none.read(none.ask("ann", "GET", "/.well-known/agent-card.json", "")); a.at("capabilities", "pushNotifications") != "false" || a.http != http.StatusOK {
		t.Error(a.text)
	}
}
