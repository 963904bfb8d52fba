package a2a_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/rawjson"
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

// loopbackNames answers each question for a name with the address of loopback, as a
// name does that was rebound.
func loopbackNames(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			end := 12 + bytes.IndexByte(packet[12:n], 0) + 5 // of the question: a name, a type and a class
			reply := append([]byte{packet[0], packet[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, packet[12:end]...)
			if packet[end-3] == 1 { // for an address of IPv4
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
			}
			server.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// spoken is a log as a channel of what it was told.
type spoken chan string

func (s spoken) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

// A name that leads to a private address, and a receiver that redirects to one, are
// told nothing, and are not tried again.
func TestPushLeadsNowhere(t *testing.T) {
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://inner.test:"+port+"/", http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	resolver := loopbackNames(t)
	for name, c := range map[string]struct {
		dialer *outbound.Dialer
		url    string
	}{
		"rebinding":  {&outbound.Dialer{Resolver: resolver}, "http://rebound.test:" + port + "/"},
		"redirected": {&outbound.Dialer{Resolver: resolver, Allowed: []string{"127.0.0.1"}}, redirecting.URL},
	} {
		t.Run(name, func(t *testing.T) {
			log := make(spoken, 100)
			n := beginIn(t, t.TempDir(), "", func(cfg *a2a.Config) {
				cfg.Callback, cfg.Logger = c.dialer.Client(outbound.Options{Redirects: 3}), slog.New(slog.NewTextHandler(log, nil))
			})
			n.do("ann", "SendMessage", sent(tasks(one("echo")), `{"taskPushNotificationConfig":{"url":"`+c.url+`","token":"t"}}`))
			select {
			case line := <-log:
				if !strings.Contains(line, "given up") || !strings.Contains(line, "refused") {
					t.Error(line)
				}
			case <-time.After(30 * time.Second):
				t.Error("nothing is said of it")
			}
		})
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the private address was called %d times", n)
	}
	// Where it may be reached, it is, so that the above says something.
	allowed := &outbound.Dialer{Resolver: resolver, AllowPrivate: true}
	resp, err := allowed.Client(outbound.Options{}).Get("http://rebound.test:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if reached.Load() != 1 {
		t.Error("it was not reached where it may be")
	}
}
