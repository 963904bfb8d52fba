package flow_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// told is one event as it was sent.
type told struct{ event, id, data string }

// stream reads events until the stream ends.
func stream(t testing.TB, r io.Reader) (all []told) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var e told
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			e.event = value
		case "id":
			e.id = value
		case "data":
			e.data += value
		case "":
			if e != (told{}) {
				all = append(all, e)
			}
			e = told{}
		}
	}
	return all
}

// ask asks for a stream: with a body by POST, else by GET.
func (n *node) ask(as, path, body string, header ...string) *http.Response {
	n.Helper()
	method := "GET"
	if body != "" {
		method = "POST"
	}
	ctx, cancel := context.WithTimeout(n.Context(), time.Minute)
	n.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { res.Body.Close() })
	return res
}

func names(all []told) (list []string) {
	for _, e := range all {
		list = append(list, e.event)
	}
	return list
}

// TestStream: the answer comes first and is whole, the events follow, and the
// stream ends with the tree.
func TestStream(t *testing.T) {
	n := begin(t)
	res := n.ask("", "/", `{"jsonrpc":"2.0","id":"req-1","method":"tasks.execute","params":{"tasks":[
		{"id":"r","name":"R","schemas":{"method":"echo"},"dependencies":["c"]},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"echo"}}],"use_streaming":true}}`)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("the answer is %s, %s", res.Status, kind)
	}
	all := stream(t, res.Body)
	want := []string{"response", "task_status_update", "task_status_update", "task_completed", "task_status_update", "task_status_update", "task_completed"}
	if diff := cmp.Diff(want, names(all)); diff != "" {
		t.Fatal(diff)
	}
	doc, err := rawjson.Parse([]byte(all[0].data))
	if err != nil || doc.Root().Get("id").Text() != "req-1" || doc.Root().Get("result").Get("status").Text() != "started" || all[0].id != "" {
		t.Errorf("the response is %v", all[0])
	}
	root := doc.Root().Get("result").Get("root_task_id").Text()
	for i, e := range all[1:] {
		doc, err := rawjson.Parse([]byte(e.data))
		if err != nil || e.id != fmt.Sprint(i+1) {
			t.Fatalf("event %d is %v: %v", i+1, e, err)
		}
		d := doc.Root()
		if d.Get("protocol").Text() != "a2a" || d.Get("root_task_id").Text() != root || !d.Get("progress").Exists() || d.Get("task_id").Text() == "" || d.Get("status").Text() == "" {
			t.Errorf("event %d is %v", i+1, e)
		}
	}
	// metadata.stream does the same, and has the answer in A2A's shape. Of a second
	// run there are only its own events.
	again := n.do("", "tasks.copy", id(root)).result("copied_task_id")
	res = n.ask("", "/", `{"jsonrpc":"2.0","id":2,"method":"tasks.execute","params":{"task_id":"`+again+`"},"metadata":{"stream":true}}`)
	all = stream(t, res.Body)
	if !strings.Contains(all[0].data, `"kind":"task"`) || all[len(all)-1].event != "task_completed" {
		t.Errorf("with metadata: %v", all)
	}
}

// TestStreamKinds: failures, cancels and progress have events of their own.
func TestStreamKinds(t *testing.T) {
	n := begin(t)
	execute := func(executor string) []told {
		return stream(t, n.ask("", "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"tasks":[{"name":"T","schemas":{"method":"`+executor+`"}}],"use_streaming":true}}`).Body)
	}
	if all := execute("fail"); all[len(all)-1].event != "task_failed" || !strings.Contains(all[len(all)-1].data, "It is made to fail.") {
		t.Errorf("a failure: %v", all)
	}
	progress := 0
	for _, e := range execute("steps") {
		if e.event == "task_progress_update" {
			progress++
		}
	}
	if progress == 0 {
		t.Error("no progress was told")
	}
	root := n.execute("", `[{"name":"W","schemas":{"method":"wait"}}]`)
	n.wait("", root, task.InProgress)
	res := n.ask("", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks.cancel","params":{"task_id":"`+root+`"},"metadata":{"stream":true}}`)
	if diff := cmp.Diff([]string{"response", "task_status_update", "task_cancelled"}, names(stream(t, res.Body))); diff != "" {
		t.Errorf("a cancel: %s", diff)
	}
	// What fails is a plain answer.
	res = n.ask("", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks.cancel","params":{"task_id":"`+root+`"},"metadata":{"stream":true}}`)
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("an error is answered as %s", kind)
	}
}

// TestEvents: who has lost the connection goes on without a gap, and an ended tree
// makes an EventSource stop.
func TestEvents(t *testing.T) {
	n := begin(t)
	a := n.do("ann", "tasks.execute", `{"tasks":[{"id":"r","name":"R","schemas":{"method":"wait"}},{"id":"c","name":"C","parent_id":"r","schemas":{"method":"echo"}}]}`)
	root := a.result("root_task_id")
	var child string
	for _, m := range a.Get("result").Get("tasks").Elems() {
		child = m.Get("id").Text()
	}
	n.wait("ann", child, task.Completed)
	n.wait("ann", root, task.InProgress)
	live := n.ask("ann", "/tasks/"+child+"/events", "") // of any task of the tree
	close(n.gate)
	all := stream(t, live.Body)
	newest := all[len(all)-1].id
	for after := range len(all) + 1 {
		for _, header := range [][]string{{"Last-Event-ID", fmt.Sprint(after)}, nil} {
			path := "/tasks/" + root + "/events"
			if header == nil {
				path += fmt.Sprintf("?after=%d", after)
			}
			res := n.ask("ann", path, "", header...)
			if after == len(all) {
				if body, _ := io.ReadAll(res.Body); res.StatusCode != 204 || len(body) > 0 {
					t.Errorf("after the last: %s %s", res.Status, body)
				}
				continue
			}
			if diff := cmp.Diff(all[after:], stream(t, res.Body), cmp.AllowUnexported(told{})); diff != "" {
				t.Errorf("after %d: %s", after, diff)
			}
		}
	}
	if newest != fmt.Sprint(len(all)) {
		t.Errorf("the newest of %d events is %s", len(all), newest)
	}
	bodies := map[string]bool{}
	for _, who := range []struct{ as, path string }{{"bob", root}, {"", root}, {"ann", nobody}, {"ann", "x"}} {
		for _, query := range []string{"", "?last=5"} {
			res := n.ask(who.as, "/tasks/"+who.path+"/events"+query, "")
			body, _ := io.ReadAll(res.Body)
			bodies[fmt.Sprint(res.StatusCode, res.Header.Get("Content-Type"), string(body))] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{`404application/json{"error":"There is no such task."}`: true}, bodies); diff != "" {
		t.Errorf("unknown and foreign: %s", diff)
	}
	if res := n.ask("ann", "/tasks/"+root+"/events", "", "Last-Event-ID", "x"); res.StatusCode != 400 {
		t.Errorf("no number: %s", res.Status)
	}
	if never := n.do("ann", "tasks.create", `{"name":"N"}`).result("id"); n.ask("ann", "/tasks/"+never+"/events", "").StatusCode != 204 {
		t.Error("a tree that was never executed has a stream")
	}
}

// cutting is a transport whose streams break after some bytes, each a few later.
type cutting struct{ cuts atomic.Int64 }

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/events") {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(res.Body, 300+37*c.cuts.Add(1)), broken{}), res.Body}
	}
	return res, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection was cut") }

// TestResume: a client whose connection is cut again and again is told each event
// once, in order.
func TestResume(t *testing.T) {
	n := begin(t)
	var tasks strings.Builder
	tasks.WriteString(`{"id":"r","name":"R"}`)
	for i := range 20 {
		fmt.Fprintf(&tasks, `,{"id":"c%d","name":"C","parent_id":"r","schemas":{"method":"echo"}}`, i)
	}
	transport := &cutting{}
	c := flow.NewClient(n.url, "ann")
	c.HTTP = &http.Client{Transport: transport}
	root := n.execute("ann", "["+tasks.String()+"]")
	parsed, err := task.ParseID(root)
	if err != nil {
		t.Fatal(err)
	}
	last, ends := uint64(0), 0
	if err := c.Events(t.Context(), parsed, 0, func(e flow.Event) error {
		if last++; e.N != last {
			t.Errorf("event %d came after %d", e.N, last-1)
		}
		if e.Type == "task_completed" {
			ends++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if cuts := transport.cuts.Load(); cuts < 3 || ends != 21 {
		t.Errorf("%d cuts, and %d ends were told", cuts, ends)
	}
}

// TestClose: a server that stops ends its streams, and each can be gone on with.
func TestClose(t *testing.T) {
	n := begin(t)
	root := n.execute("", `[{"name":"W","schemas":{"method":"wait"}}]`)
	res := n.ask("", "/tasks/"+root+"/events", "")
	n.server.Close()
	if all := stream(t, res.Body); len(all) > 1 {
		t.Errorf("the stream was %v", all)
	}
	close(n.gate)
	n.wait("", root, task.Completed)
}

// TestWebSocket: the answer, and then the text's {event, data}; streams of several
// trees beside other calls.
func TestWebSocket(t *testing.T) {
	n := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, n.url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer ann"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for i := range 3 {
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tasks.execute","params":{"tasks":[{"name":"T","schemas":{"method":"echo"}}],"use_streaming":true}}`, i)
		if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	answered, events := map[string]bool{}, map[string][]string{}
	for ends := 0; ends < 3; {
		_, text, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := rawjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Root()
		if m.Get("jsonrpc").Exists() {
			answered[m.Get("result").Get("root_task_id").Text()] = true
			continue
		}
		root, name := m.Get("data").Get("root_task_id").Text(), m.Get("event").Text()
		if !answered[root] || m.Len() != 2 || m.Get("data").Get("protocol").Text() != "a2a" {
			t.Errorf("the message is %s", text)
		}
		if events[root] = append(events[root], name); name == "task_completed" {
			ends++
		}
	}
	for root, list := range events {
		if diff := cmp.Diff([]string{"task_status_update", "task_status_update", "task_completed"}, list); diff != "" {
			t.Errorf("%s: %s", root, diff)
		}
	}
	// The connection goes on, and does so while a tree is being followed.
	if err := c.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":7,"method":"tasks.execute","params":{"tasks":[{"name":"W","schemas":{"method":"wait"}}],"use_streaming":true}}`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":8,"method":"tasks.list","params":{}}`)); err != nil {
		t.Fatal(err)
	}
	for {
		_, text, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"id":8`) {
			break
		}
	}
}

// TestSlowReader: whoever does not read a stream holds up nobody else.
func TestSlowReader(t *testing.T) {
	n := begin(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	var tasks strings.Builder
	tasks.WriteString(`{"id":"r","name":"R"}`)
	for i := range 200 {
		fmt.Fprintf(&tasks, `,{"id":"c%d","name":"C","parent_id":"r","schemas":{"method":"echo"}}`, i)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"use_streaming":true,"tasks":[` + tasks.String() + `]}}`
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for end := time.Now().Add(30 * time.Second); n.do("", "tasks.count", `{"statuses":["completed"]}`).result("total") != "201"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the tree does not end")
		}
	}
	// More than is read at once: each task starts, and ends with two events.
	root := n.do("", "tasks.list", `{"root_only":true}`)
	for _, m := range root.Get("result").Get("tasks").Elems() {
		if all := stream(t, n.ask("", "/tasks/"+m.Get("id").Text()+"/events", "").Body); len(all) != 3*201 {
			t.Errorf("there are %d events", len(all))
		}
	}
}

// TestClient: each method of the Go client against the node.
func TestClient(t *testing.T) {
	n := begin(t)
	ctx := t.Context()
	c := flow.NewClient(n.url+"/", "ann")
	made, err := c.Create(ctx, []map[string]any{{"id": "r", "name": "R"}, {"id": "c", "name": "C", "parent_id": "r", "schemas": map[string]any{"method": "echo"}, "inputs": map[string]any{"x": 1}}})
	if err != nil || len(made.Tasks) != 2 || made.Tasks[1].ClientID != "c" {
		t.Fatalf("%+v: %v", made, err)
	}
	child := made.Tasks[1].ID
	if err := c.Update(ctx, child, map[string]any{"priority": 0}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Get(ctx, child)
	if err != nil || got.Priority != 0 || got.Parent != made.ID || got.Result != nil || got.User != "key:ann" || string(got.Inputs) != `{"x":1}` || got.Created.IsZero() || !got.Started.IsZero() {
		t.Fatalf("%+v: %v", got, err)
	}
	started, err := c.Execute(ctx, flow.Execution{Existing: made.ID, Push: &flow.Push{URL: n.url + "/callback", Headers: map[string]string{"X-Own": "1"}}})
	if err != nil || started.Root != made.ID {
		t.Fatalf("%+v: %v", started, err)
	}
	var types []string
	if err := c.Events(ctx, child, 0, func(e flow.Event) error {
		types = append(types, e.Type)
		return nil
	}); err != nil || len(types) != 6 {
		t.Fatalf("%v: %v", types, err)
	}
	for most := 1; most <= 8; most++ {
		latest, err := c.Latest(ctx, child, most)
		if want := types[len(types)-min(most, len(types)):]; err != nil || len(latest) != len(want) || latest[0].Type != want[0] || latest[0].N != uint64(len(types)-len(want)+1) || latest[0].At.IsZero() || latest[0].Task == (task.ID{}) {
			t.Errorf("the newest %d: %+v: %v", most, latest, err)
		}
	}
	for _, last := range []string{"0", "-1", "x", "1001", ""} {
		if res := n.ask("ann", "/tasks/"+child.String()+"/events?last="+last, ""); res.StatusCode != 400 {
			t.Errorf("last=%s: %s", last, res.Status)
		}
	}
	if _, err := c.Latest(ctx, task.ID{1}, 1); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("of a task that there is not: %v", err)
	}
	if r := <-n.pushes; r.Header.Get("X-Own") != "1" {
		t.Errorf("the callback has %v", r.Header)
	}
	tree, err := c.Tree(ctx, made.ID)
	if err != nil || len(tree.Children) != 1 || tree.Children[0].Task.Status != task.Completed || string(tree.Children[0].Task.Result) != `{"x":1}` {
		t.Fatalf("%+v: %v", tree, err)
	}
	children, err := c.Children(ctx, made.ID)
	if err != nil || len(children) != 1 || children[0].ID != child {
		t.Fatalf("%+v: %v", children, err)
	}
	list, err := c.List(ctx, flow.Filter{Status: task.Completed, Limit: 1})
	if err != nil || len(list.Tasks) != 1 || list.Total != 2 {
		t.Fatalf("%+v: %v", list, err)
	}
	copied, err := c.Copy(ctx, made.ID, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(ctx, copied, "Not needed."); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, copied); err != nil || got.Status != task.Cancelled || got.Error != "Not needed." {
		t.Fatalf("%+v: %v", got, err)
	}
	more, err := c.Create(ctx, map[string]any{"name": "D"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, more.ID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(ctx, more.ID); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("what was deleted: %v", err)
	}
	if err := c.Events(ctx, more.ID, 0, func(flow.Event) error { return nil }); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("its events: %v", err)
	}
	var wrong *flow.Error
	if _, err := c.Create(ctx, map[string]any{"name": "D", "priority": 7}); !errors.As(err, &wrong) || wrong.Data.Field != "priority" {
		t.Errorf("an error: %v", err)
	}
	stop := errors.New("enough")
	if err := c.Events(ctx, made.ID, 0, func(flow.Event) error { return stop }); err != stop {
		t.Errorf("a callback that stops: %v", err)
	}
	gone := flow.NewClient("http://127.0.0.1:1", "")
	gone.Retries = -1
	if _, err := gone.Get(ctx, made.ID); err == nil {
		t.Error("nobody answered, and there is no error")
	}
}
