package a2a

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// FuzzRead reads params of every operation in every dialect. What is read of a
// message is written again, and reads as the same.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"eA==","filename":"f","mediaType":"text/plain"},{"url":"http://x"},{"data":{"n":1e400}}],"metadata":{"a":1},"extensions":["e"],"referenceTaskIds":["t"]},"configuration":{"historyLength":1,"returnImmediately":true,"taskPushNotificationConfig":{"url":"https://x","authentication":{"scheme":"Bearer","credentials":"c"}}},"metadata":{}}`,
		`{"message":{"kind":"message","message_id":"m","role":"user","parts":[{"kind":"text","text":"x"},{"kind":"file","file":{"bytes":"eA","mimeType":"text/plain","name":"f"}},{"kind":"file","file":{"uri":"http://x"}},{"kind":"data","data":{"a":[]}}]},"configuration":{"blocking":false,"pushNotificationConfig":{"url":"https://x"}}}`,
		`{"request":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"},{"data":{"data":{}}},{"file":{"fileWithUri":"http://x"}}]},"configuration":{"pushNotification":{"url":"https://x"}}}`,
		`{"id":"x","historyLength":0}`, `{"name":"tasks/x/pushNotificationConfigs/y"}`, `{"parent":"tasks/x","configId":"c","config":{"name":"tasks/x/pushNotificationConfigs/y","pushNotificationConfig":{"url":"https://x"}}}`,
		`{"taskId":"x","id":"y","url":"https://x","token":"t"}`, `{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":1,"pageToken":"t","statusTimestampAfter":"2026-01-01T00:00:00Z","includeArtifacts":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := rawjson.Parse(data)
		if err != nil {
			return
		}
		for d := v1; d <= g03; d++ {
			for op := opSend; op <= opCard; op++ {
				q, err := d.readParams(op, doc.Root())
				if err != nil || q.Message == nil {
					continue
				}
				written := d.message(nil, q.Message)
				again, err := rawjson.Parse(written)
				if err != nil {
					t.Fatalf("%v: %s", err, written)
				}
				r := &reader{v: again.Root()}
				if m := d.readMessage(r); r.err != nil || !bytes.Equal(d.message(nil, m), written) {
					t.Fatalf("dialect %d: %v: %s", d, r.err, written)
				}
				body := q.canonical()
				judged, err := readCanonical(body)
				if err != nil {
					t.Fatalf("%v: %s", err, body)
				}
				if !bytes.Equal(v1.message(nil, judged.Message), v1.message(nil, q.Message)) {
					t.Fatalf("what is judged is %s", body)
				}
			}
		}
	})
}

// FuzzWorkflow places messages in a workflow: what comes of it is a tree of tasks
// whose references are the workflow's own.
func FuzzWorkflow(f *testing.F) {
	f.Add("hello", []byte(`{"a":1}`))
	f.Add("${{ w }} $${{ x }}", []byte(`{"${{ w }}":["${{ w.text }}"]}`))
	s := &Server{cfg: Config{Workflow: []byte(`{"tasks":[{"id":"w","name":"W","schemas":{"method":"echo"},"inputs":{"m":"${{ message }}","t":"${{ message.text }}","d":"${{message.data}}"}}]}`)}}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		doc, err := rawjson.Parse(data)
		if err != nil || doc.Root().Kind() != rawjson.Object {
			return
		}
		if tasksIn(data) != nil {
			return
		}
		p, err := s.planOf(&Message{ID: "m", Parts: []part{{Kind: textPart, Text: text}, {Kind: dataPart, Data: data}}}, &record{}, "1.0", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if p.why != "" {
			return // too large, or not fit
		}
		if refs := references(p); len(refs) > 0 {
			t.Fatalf("the message has brought the references %q", refs)
		}
	})
}

// FuzzDirective reads what a workflow says of its task.
func FuzzDirective(f *testing.F) {
	f.Add([]byte(`{"a2a":{"state":"input-required","message":"why","reply":[{"text":"x"}],"artifacts":[{"name":"n","parts":[{"data":1}],"chunked":true}]}}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		if _, err := rawjson.Parse(result); err != nil {
			return
		}
		for _, a := range artifactsOf(completed(result)) {
			if _, err := rawjson.Parse(v1.artifact(nil, &a)); err != nil {
				t.Fatalf("%v: %s", err, v1.artifact(nil, &a))
			}
		}
	})
}

func TestIDs(t *testing.T) {
	now := time.Now()
	a, b := newID("ann", now), newID("ann", now.Add(time.Millisecond))
	if b >= a || a[:8] != prefixOf("ann") || newID("bob", now)[:8] == a[:8] {
		t.Errorf("%s was made before %s", a, b)
	}
}

func references(p *plan) (refs []string) {
	for _, t := range p.tasks {
		refs = append(refs, task.References(t.Inputs)...)
	}
	return refs
}

func completed(result []byte) *task.Task {
	return &task.Task{Row: task.Row{Phase: task.PhaseComplete, Executor: "x"}, Result: result}
}

// FuzzREST reads requests of HTTP+JSON: whatever their paths, queries and bodies are,
// an operation comes of them or a refusal.
func FuzzREST(f *testing.F) {
	for _, seed := range []struct{ verb, path, query, body string }{
		{"POST", "/message:send", "", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`},
		{"GET", "/tasks", "pageSize=1&pageToken=x&contextId=c&status=TASK_STATE_WORKING&includeArtifacts=true&history_length=1", ""},
		{"GET", "/tasks/x:subscribe", "", ""}, {"POST", "/tasks/x:cancel", "", "{}"}, {"GET", "/tasks/x", "historyLength=-1", ""},
		{"POST", "/tasks/x/pushNotificationConfigs", "", `{"url":"https://x","config":{},"parent":"y"}`}, {"DELETE", "/tasks/x/pushNotificationConfigs/y", "", ""},
		{"GET", "/tasks//pushNotificationConfigs/", "A2A-Version=1.0", ""}, {"GET", "/card", "", ""},
	} {
		f.Add(seed.verb, seed.path, seed.query, []byte(seed.body))
	}
	s := &Server{}
	f.Fuzz(func(t *testing.T, verb, path, query string, body []byte) {
		for _, h := range []*rest10{{s, v1, "/rest"}, {s, p03, "/v1"}} {
			r := &http.Request{Method: verb, URL: &url.URL{Path: h.prefix + path, RawQuery: query}, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}
			q, err := h.read(r)
			if err == nil && (q.op < opSend || q.op > opCard || q.dialect != h.dialect) {
				t.Fatalf("%s %s is read as %+v", verb, path, q)
			}
			if _, ok := errors.AsType[*failure](err); err != nil && !ok {
				t.Fatalf("%s %s: %v", verb, path, err)
			}
		}
	})
}

// FuzzRemote reads messages of protobuf, as each method of both services takes them.
func FuzzRemote(f *testing.F) {
	for _, methods := range [][]remote{newerMethods, olderMethods} {
		for _, m := range methods {
			b, err := proto.Marshal(m.request)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	text, err := proto.Marshal(&newer.SendMessageRequest{Message: &newer.Message{MessageId: "m", Role: newer.Role_ROLE_USER, Parts: []*newer.Part{{Content: &newer.Part_Text{Text: "x"}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	s := &Server{}
	f.Fuzz(func(t *testing.T, data []byte) {
		for d, methods := range map[dialect][]remote{v1: newerMethods, g03: olderMethods} {
			for i := range methods {
				m := &methods[i]
				in := proto.Clone(m.request)
				if proto.Unmarshal(data, in) != nil {
					continue
				}
				q, err := s.remoteRead(t.Context(), d, m, in)
				if _, ok := errors.AsType[*failure](err); err != nil && !ok {
					t.Fatalf("%s: %v", m.name, err)
				}
				if err == nil && q.op != m.op {
					t.Fatalf("%s is read as %+v", m.name, q)
				}
			}
		}
	})
}

// FuzzToken reads places in a list, which clients send back.
func FuzzToken(f *testing.F) {
	at := time.UnixMilli(1_790_000_000_000)
	list := []listed{{&record{ID: "b"}, at}, {&record{ID: "a"}, at.Add(-time.Second)}, {&record{ID: "c"}, at.Add(-time.Second)}}
	for _, l := range list {
		f.Add(token(l))
	}
	f.Add("x")
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := after(list, text); err == nil && (i < 0 || i > len(list)) {
			t.Fatalf("%q leads to %d", text, i)
		}
	})
}
