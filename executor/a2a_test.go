package executor

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// agent is a real agent: the first word of a message says what it does.
type agent struct {
	cancelled chan struct{}
	got       chan *a2a.Message
}

func (g *agent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		select {
		case g.got <- x.Message:
		default:
		}
		say := func(state a2a.TaskState, what string) bool {
			var m *a2a.Message
			if what != "" {
				m = a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(what))
			}
			return yield(a2a.NewStatusUpdateEvent(x, state, m), nil)
		}
		word, _, _ := strings.Cut(x.Message.Parts[0].Text(), " ")
		if word == "reply" {
			yield(a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("just so")), nil)
			return
		}
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) || !say(a2a.TaskStateWorking, "at it") {
			return
		}
		time.Sleep(50 * time.Millisecond) // time to be polled
		switch word {
		case "fail":
			say(a2a.TaskStateFailed, "it went wrong")
		case "ask":
			say(a2a.TaskStateInputRequired, "which one?")
		case "login":
			say(a2a.TaskStateAuthRequired, "who are you?")
		case "reject":
			say(a2a.TaskStateRejected, "not me")
		case "hang":
			<-ctx.Done()
		default:
			first := a2a.NewArtifactEvent(x, a2a.NewTextPart("one"))
			if !yield(first, nil) || !yield(a2a.NewArtifactUpdateEvent(x, first.Artifact.ID, a2a.NewTextPart("two")), nil) {
				return
			}
			say(a2a.TaskStateCompleted, "there")
		}
	}
}

func (g *agent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		g.cancelled <- struct{}{}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// a2aServer serves an agent over one binding.
func a2aServer(t *testing.T, binding string, streams bool) (*httptest.Server, *agent) {
	t.Helper()
	g := &agent{cancelled: make(chan struct{}, 10), got: make(chan *a2a.Message, 10)}
	handler := a2asrv.NewHandler(g)
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Agent-Key") != "s3cret-value" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	card := &a2a.AgentCard{Name: "test", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: streams}, DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{}}
	iface := a2a.NewAgentInterface(server.URL+"/rpc", a2a.TransportProtocolJSONRPC)
	switch binding {
	case "JSON-RPC":
		mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	case "REST":
		iface = a2a.NewAgentInterface(server.URL, a2a.TransportProtocolHTTPJSON)
		mux.Handle("/", a2asrv.NewRESTHandler(handler))
	case "0.3":
		iface.ProtocolVersion = a2av0.Version
		mux.Handle("/rpc", a2av0.NewJSONRPCHandler(handler))
	}
	card.SupportedInterfaces = []*a2a.AgentInterface{iface}
	if binding == "0.3" {
		mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card)))
	} else {
		mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	}
	return server, g
}

func localA2A() Executor {
	return NewA2A(A2AConfig{AllowPrivate: true, pause: 10 * time.Millisecond})
}

// a2aResult is what results have that tests look at.
type a2aResult struct {
	Task      string `json:"task_id"`
	Context   string `json:"context_id"`
	State     string `json:"state"`
	Artifacts []struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"artifacts"`
	Message struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"message"`
}

func a2aInputsFor(server *httptest.Server, message, more string) string {
	return `{"url":"` + server.URL + `","headers":{"X-Agent-Key":"s3cret-value"},"message":` + quote(message) + more + `}`
}

func TestA2A(t *testing.T) {
	for _, binding := range []string{"JSON-RPC", "REST", "0.3"} {
		for _, streams := range []bool{true, false} {
			name := binding + map[bool]string{true: ", streaming", false: ", polling"}[streams]
			t.Run(name, func(t *testing.T) {
				server, g := a2aServer(t, binding, streams)
				e := localA2A()
				tr := try(t, e, a2aInputsFor(server, "work", ""))
				v, err := tr.run(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				r := read[a2aResult](t, v)
				if r.State != "completed" || r.Task == "" || r.Context == "" || len(r.Artifacts) != 1 || len(r.Artifacts[0].Parts) != 2 || r.Artifacts[0].Parts[1].Text != "two" ||
					len(r.Message.Parts) != 1 || r.Message.Parts[0].Text != "there" {
					t.Errorf("%s", v)
				}
				if told := tr.progress(); !strings.HasSuffix(told, "completed: there") || !strings.Contains(told, "working: at it") && streams {
					t.Errorf("told: %s", told)
				}
				if m := <-g.got; m.ID != "key-of-the-run" {
					t.Errorf("sent: %+v", m)
				}
				v, err = try(t, e, a2aInputsFor(server, "reply", "")).run(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				if r := read[a2aResult](t, v); r.State != "completed" || len(r.Message.Parts) != 1 || r.Message.Parts[0].Text != "just so" {
					t.Errorf("%s", v)
				}
				for word, want := range map[string]struct {
					state, said string
					final       bool
				}{
					"fail": {"failed", "it went wrong", false}, "ask": {"input-required", "which one?", true},
					"login": {"auth-required", "who are you?", true}, "reject": {"rejected", "not me", true},
				} {
					_, err := try(t, e, a2aInputsFor(server, word, "")).run(t.Context(), e)
					failure := wrong(t, err)
					if r := read[a2aResult](t, failure.Result); r.State != want.state || r.Task == "" || failure.Final != want.final || failure.Message != "the agent's task is "+want.state+": "+want.said {
						t.Errorf("%s: %+v: %s", word, failure, failure.Result)
					}
				}
			})
		}
	}
}

func TestA2AMessage(t *testing.T) {
	server, g := a2aServer(t, "JSON-RPC", true)
	e := localA2A()
	more := `,"context_id":"conversation","metadata":{"a":1},"stream":false}`
	_, err := try(t, e, strings.Replace(a2aInputsFor(server, "M", ""), `"M"}`, `[{"text":"work"},{"data":{"x":[1]}},{"url":"http://x/","mediaType":"image/png"}]`+more, 1)).run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	m := <-g.got
	if m.ContextID != "conversation" || m.Role != a2a.MessageRoleUser || len(m.Parts) != 3 || m.Metadata["a"] != 1.0 {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(map[string]any{"x": []any{1.0}}, m.Parts[1].Data()); diff != "" || m.Parts[2].URL() != "http://x/" {
		t.Errorf("%s, %+v", diff, m.Parts[2])
	}
	_, err = try(t, e, a2aInputsFor(server, "work", `,"task_id":"none-of-this-id"`)).run(t.Context(), e)
	if failure := wrong(t, err); !failure.Final {
		t.Errorf("an unknown task: %+v", failure)
	}
}

// TestA2ALabels: a message has the labels of what was read before it, and those that its
// task gives it itself; neither takes the place of the other.
func TestA2ALabels(t *testing.T) {
	for _, c := range []struct {
		said   string
		labels []string
		want   any
	}{
		{`{}`, nil, nil},
		{`{"reeve.labels":["private"]}`, nil, []any{"private"}},
		{`{"a":1}`, []string{"foreign"}, []any{"foreign"}},
		{`{"reeve.labels":["private","foreign"]}`, []string{"foreign", "staff"}, []any{"foreign", "staff", "private"}},
		{`{"reeve.labels":"own"}`, []string{"foreign"}, []any{"foreign"}},
	} {
		in := a2aInputs{Message: jsontext.Value(`"hello"`), Metadata: jsontext.Value(c.said)}
		m, err := in.message("key", c.labels)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, m.Metadata[act.LabelsKey]); diff != "" {
			t.Errorf("%s and %v: %s", c.said, c.labels, diff)
		}
	}
}

// TestA2AAnswersLabels: what an agent says of what it has read goes with its answer, wherever
// in the answer it says so.
func TestA2AAnswersLabels(t *testing.T) {
	with := func(labels ...any) map[string]any { return map[string]any{act.LabelsKey: labels} }
	many := make([]any, 100)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	info := a2a.TaskInfo{TaskID: "1", ContextID: "2"}
	for _, c := range []struct {
		events []a2a.Event
		want   []string
	}{
		{[]a2a.Event{&a2a.Message{Metadata: with("foreign", "foreign", "private")}}, []string{"foreign", "private"}},
		{[]a2a.Event{&a2a.Task{ID: "1", Metadata: with("foreign"), Status: a2a.TaskStatus{Message: &a2a.Message{Metadata: with("staff")}}, Artifacts: []*a2a.Artifact{nil, {Metadata: with("private")}}}}, []string{"foreign", "staff", "private"}},
		{[]a2a.Event{&a2a.TaskStatusUpdateEvent{TaskID: info.TaskID, Metadata: with("foreign")}, &a2a.TaskArtifactUpdateEvent{TaskID: info.TaskID, Artifact: &a2a.Artifact{ID: "a", Metadata: with("private")}}}, []string{"foreign", "private"}},
		{[]a2a.Event{&a2a.Message{Metadata: with(7, nil, "", strings.Repeat("x", 65), []any{"own"})}}, []string{"foreign"}}, // what cannot be read
		{[]a2a.Event{&a2a.Message{Metadata: map[string]any{act.LabelsKey: "own"}}}, []string{"foreign"}},
		{[]a2a.Event{&a2a.Message{Metadata: map[string]any{act.LabelsKey: nil, "x": 1}}, &a2a.Message{}}, nil},
	} {
		v := &conversation{agent: "peer.example", report: report(&Job{})}
		for _, e := range c.events {
			v.take(e)
		}
		if diff := cmp.Diff(c.want, v.labels); diff != "" {
			t.Error(diff)
		}
		v.report.close()
	}
	v := &conversation{}
	if v.label(with(many...)); len(v.labels) != 64 || v.labels[63] != "foreign" {
		t.Errorf("%d labels: %v", len(v.labels), v.labels)
	}
}

// TestA2AEnds: who is cancelled cancels the agent's task.
func TestA2AEnds(t *testing.T) {
	for _, binding := range []string{"JSON-RPC", "REST", "0.3"} {
		for _, streams := range []bool{true, false} {
			server, g := a2aServer(t, binding, streams)
			e := localA2A()
			tr := try(t, e, a2aInputsFor(server, "hang", ""))
			up := make(chan struct{}, 100)
			tr.on = func(said string) {
				if strings.HasPrefix(said, "working") {
					up <- struct{}{}
				}
			}
			cancels(t, e, tr, up)
			select {
			case <-g.cancelled:
			case <-time.After(30 * time.Second):
				t.Errorf("%s, streams %v: the agent was not told", binding, streams)
			}
		}
	}
	server, g := a2aServer(t, "JSON-RPC", false)
	e := localA2A()
	_, err := try(t, e, a2aInputsFor(server, "hang", `,"timeout":1`)).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || !strings.Contains(failure.Message, "longer than the 1s") {
		t.Errorf("its time: %+v", failure)
	}
	<-g.cancelled
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	asked := make(chan struct{}, 1)
	asked <- struct{}{}
	cancels(t, e, try(t, e, a2aInputsFor(silent, "work", "")), asked)
}

// TestA2ACard: cards at other places, cards that lead elsewhere, and none.
func TestA2ACard(t *testing.T) {
	server, _ := a2aServer(t, "JSON-RPC", true)
	e := localA2A()
	for _, path := range []string{"/.well-known/agent-card.json", "/rpc", "/"} {
		inputs := strings.Replace(a2aInputsFor(server, "work", ""), server.URL, server.URL+path, 1)
		if _, err := try(t, e, inputs).run(t.Context(), e); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A card may name another host: what is sent there has no credential in it.
	var mu sync.Mutex
	var sent []http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Clone())
		w.WriteHeader(http.StatusForbidden)
	}))
	defer other.Close()
	cards := map[string]any{
		"elsewhere": &a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(other.URL, a2a.TransportProtocolJSONRPC)}},
		"grpc":      &a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("x:1", a2a.TransportProtocolGRPC)}},
		"private":   &a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://other.test/", a2a.TransportProtocolJSONRPC)}},
		"none":      map[string]any{},
		"null":      map[string]any{"supportedInterfaces": []any{nil}},
		"list":      []int{1},
		"large":     strings.Repeat("x", 17<<20),
	}
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		card, ok := cards[strings.Split(r.URL.Path, "/")[1]]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		b, _ := json.Marshal(card)
		w.Write(b)
	}))
	defer liar.Close()
	for name := range cards {
		tr := try(t, e, `{"url":"`+liar.URL+`/`+name+`","headers":{"X-Agent-Key":"s3cret-value"},"message":"work"}`)
		tr.job.Manifest = act.Manifest{TimeoutSeconds: 30, NetworkAllowed: true, AllowedDomains: []string{"127.0.0.1"}}
		_, err := tr.run(t.Context(), e)
		wrong(t, err)
	}
	if len(sent) != 1 || sent[0].Get("X-Agent-Key") != "" {
		t.Errorf("sent elsewhere: %v", sent)
	}
	_, err := try(t, e, `{"url":"`+liar.URL+`/missing/one","message":"work"}`).run(t.Context(), e)
	if failure := wrong(t, err); !strings.Contains(failure.Message, "card") {
		t.Errorf("no card: %+v", failure)
	}
}

// TestA2ALies: an agent that answers nonsense is a failure, and no panic.
func TestA2ALies(t *testing.T) {
	answers := map[string]string{
		"null":        `{"jsonrpc":"2.0","id":1,"result":null}`,
		"nothing":     `{}`,
		"no event":    `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"no id":       `{"jsonrpc":"2.0","id":1,"result":{"task":{"status":{"state":"TASK_STATE_WORKING"}}}}`,
		"null pieces": `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","history":[null],"artifacts":[null],"status":{"state":"TASK_STATE_FAILED","message":{"parts":[null]}}}}}`,
		"a state":     `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"DONE"}}}}`,
	}
	e := localA2A()
	for name, answer := range answers {
		for i := range 4 {
			streams, old := i%2 == 0, i > 1
			answer := answer
			if old { // as 0.3 has it
				answer = strings.NewReplacer(`{"task":{`, `{"kind":"task",`, `}}}`, `}}`, "TASK_STATE_FAILED", "failed", "TASK_STATE_WORKING", "working").Replace(answer)
			}
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/rpc" {
					iface := a2a.NewAgentInterface(server.URL+"/rpc", a2a.TransportProtocolJSONRPC)
					if old {
						iface.ProtocolVersion = a2av0.Version
					}
					json.NewEncoder(w).Encode(&a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: streams}, SupportedInterfaces: []*a2a.AgentInterface{iface}})
					return
				}
				if r.Header.Get("Accept") == "text/event-stream" {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, "data: "+answer+"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"artifactUpdate\":{\"taskId\":\"t\",\"artifact\":null}}}\n\n")
					return
				}
				io.WriteString(w, answer)
			}))
			_, err := try(t, e, `{"url":"`+server.URL+`","message":"work","timeout":2}`).run(t.Context(), e)
			wrong(t, err)
			if name == "null pieces" && !old && !strings.Contains(err.Error(), "failed") {
				t.Errorf("%s, streams %v: %v", name, streams, err)
			}
			server.Close()
		}
	}
}
