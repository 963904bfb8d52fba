package reeve_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/otlp/otlptest"

	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/coder/websocket"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

const span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// requestSpan is a request whose span is looked at.
type requestSpan struct {
	method, path, body, traceparent string
	role                            identity.Role
	probe                           bool // it has no span
	name, status                    string
}

// TestRequestSpans: each request has a span below the caller's, with the node's own names and
// nothing that the caller wrote, and the act that it brought lies below it; without a caller's
// span the act stays in its session, and the request's span names it.
func TestRequestSpans(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			receiver := otlptest.Start(t)
			to := map[string]string{"http": receiver.HTTP, "grpc": receiver.GRPC}[protocol]
			r := start(t, map[string]string{"telemetry-url": to, "telemetry-protocol": protocol, "telemetry-requests": "true", "a2a-grpc": "same",
				"policy-text": "version: 1\nname: p\ndefault: deny\nrules: [{name: no, effect: deny}]\n"}) // of what is denied no result is awaited
			step := func(id string) string {
				return `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"A","id":"a","instructions":"Help.","version":"1","provider":{"name":"B","url":"https://b.example"}},"session":{"id":"s-1"},"turnId":"t","stepId":"` + id + `","timestamp":"2026-04-02T08:15:00Z","user":{"id":"mara","organization":{"id":"birch"}}},"toolCallRequest":{"executionId":"` + id + `","toolId":"search","inputs":[{"name":"q","value":"hidden"}]}}}`
			}
			requests := []requestSpan{
				{method: "POST", path: "/?key=hidden", body: step("x1"), role: identity.Agent, traceparent: span, name: "POST /", status: "200"},
				{method: "POST", path: "/aos", body: step("x2"), role: identity.Agent, name: "POST /aos", status: "200"},
				{method: "POST", path: "/aos", body: `{hidden`, role: identity.Agent, traceparent: "hidden", name: "POST /aos", status: "200"},
				{method: "POST", path: "/aos", body: step("x3"), name: "POST /aos", status: "401"},
				{method: "GET", path: "/tasks/hidden/events", role: identity.Agent, name: "GET /tasks/{id}/events", status: "404"},
				{method: "GET", path: "/hidden?token=hidden", role: identity.Agent, name: "GET", status: "404"},
				{method: "HIDDEN", path: "/hidden", role: identity.Agent, name: "HTTP", status: "404"},
				{method: "GET", path: "/api/v1/agents/hidden/habits", role: identity.Admin, name: "GET /api/v1/agents/{id}/habits", status: "404"},
				{method: "GET", path: "/healthz", probe: true}, {method: "GET", path: "/readyz", probe: true},
			}
			want := map[string]int{}
			for _, q := range requests {
				r.traced(q)
				if !q.probe {
					want[q.name+" "+q.status]++
				}
			}
			// By a WebSocket the acts lie below the handshake.
			socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/", &websocket.DialOptions{HTTPHeader: http.Header{
				"Authorization": {"Bearer " + r.keys[identity.Agent]}, "Traceparent": {"00-5" + span[4:]},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer socket.CloseNow()
			if err := socket.Write(t.Context(), websocket.MessageText, []byte(step("x4"))); err != nil {
				t.Fatal(err)
			}
			if _, _, err := socket.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			want["GET / 101"]++
			conn, err := grpc.NewClient(strings.TrimPrefix(r.url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+r.keys[identity.Agent])
			if _, err := newer.NewA2AServiceClient(conn).ListTasks(ctx, &newer.ListTasksRequest{}); err != nil {
				t.Fatal(err)
			}
			_ = conn.Invoke(ctx, "/hidden.Service/Hidden", &newer.ListTasksRequest{}, &newer.ListTasksResponse{})
			want["POST /lf.a2a.v1.A2AService/ListTasks 200"]++
			want["POST 200"]++

			all := receiver.Wait(t, func(spans []otlptest.Span) bool {
				return len(servers(spans)) >= 11 && slices.ContainsFunc(spans, func(s otlptest.Span) bool {
					return s.Attributes["gen_ai.tool.call.id"] == "x4" || s.TraceID()[:4] == "5bf9" && s.Kind != tracepb.Span_SPAN_KIND_SERVER
				})
			})
			got := map[string]int{}
			var byName = map[string]otlptest.Span{}
			for _, s := range servers(all) {
				got[s.Name+" "+number(s.Attributes["http.response.status_code"])]++
				if _, twice := byName[s.Name]; !twice {
					byName[s.Name] = s
				}
				if text := s.String(); strings.Contains(strings.ToLower(text), "hidden") {
					t.Errorf("the caller's own words are told: %s", text)
				}
				if s.Resource["service.name"] != "reeve" || s.Attributes["url.scheme"] != "http" || s.EndTimeUnixNano < s.StartTimeUnixNano {
					t.Errorf("%s: %v %v", s.Name, s.Resource, s.Attributes)
				}
			}
			for name, n := range want {
				if got[name] != n {
					t.Errorf("%d spans are %q, want %d; there are %v", got[name], name, n, got)
				}
			}
			if len(got) != len(want) {
				t.Errorf("the spans are %v, want %v", got, want)
			}
			first := byName["POST /"]
			if first.TraceID() != span[3:35] || first.ParentID() != span[36:52] || first.Attributes["http.route"] != "/" || first.Attributes["http.request.method"] != "POST" {
				t.Errorf("the span of a request with a caller's span is %v", first.Span)
			}
			within := acted(all, first.TraceID())
			if len(within) != 1 || within[0].ParentID() != first.ID() {
				t.Errorf("the act does not lie below its request: %v", within)
			}
			shake := byName["GET /"]
			if by := acted(all, shake.TraceID()); len(by) != 1 || by[0].ParentID() != shake.ID() {
				t.Errorf("the act by a WebSocket does not lie below the handshake: %v", by)
			}
			var linked []*tracepb.Span_Link
			for _, s := range servers(all) {
				if s.Name == "POST /aos" {
					linked = append(linked, s.Links...)
				}
			}
			if len(linked) != 1 || otlptest.Map(linked[0].Attributes)["reeve.decision.id"] == nil {
				t.Errorf("a request whose caller names no span has the links %v", linked)
			}
		})
	}
}

// servers are the spans of requests.
func servers(spans []otlptest.Span) []otlptest.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s otlptest.Span) bool { return s.Kind != tracepb.Span_SPAN_KIND_SERVER })
}

// acted are the spans of acts in a trace.
func acted(spans []otlptest.Span, trace string) []otlptest.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s otlptest.Span) bool {
		return s.Kind == tracepb.Span_SPAN_KIND_SERVER || s.TraceID() != trace || s.Name == "apply_guardrail reeve"
	})
}

// traced sends a request as part of a caller's span.
func (r *running) traced(q requestSpan) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), q.method, r.url+q.path, strings.NewReader(q.body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "hidden")
	if q.traceparent != "" {
		req.Header.Set("Traceparent", q.traceparent)
	}
	if key := r.keys[q.role]; key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	resp.Body.Close()
}

// TestRequestSpansWait: no request waits for a receiver that is down; so many spans wait, what
// is beyond is counted, and what waited arrives. Without the setting there is none.
func TestRequestSpansWait(t *testing.T) {
	receiver := otlptest.Start(t)
	receiver.Down(http.StatusServiceUnavailable)
	r := start(t, map[string]string{"telemetry-url": receiver.HTTP, "telemetry-requests": "true"})
	q := requestSpan{method: "GET", path: "/nowhere"}
	begun := time.Now()
	for range 50 {
		r.traced(q)
	}
	within(t, 20*time.Second, "it is seen that nothing arrives", func() bool {
		_, text := r.ask(identity.Admin, "GET", "/metrics", "")
		return strings.Contains(text, `reeve_export_failing{exporter="requests"} 1`)
	})
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("50 requests took %s while the receiver was down", took)
	}
	receiver.Down(0)
	receiver.Wait(t, func(spans []otlptest.Span) bool { return len(servers(spans)) == 50 })

	other := otlptest.Start(t)
	off := start(t, map[string]string{"telemetry-url": other.HTTP})
	off.traced(q)
	off.stop()
	if got := servers(other.Spans()); len(got) != 0 {
		t.Errorf("spans of requests are sent where nobody asked for them: %v", got)
	}
}

func number(v any) string {
	if n, ok := v.(int64); ok {
		return map[int64]string{101: "101", 200: "200", 401: "401", 404: "404"}[n]
	}
	return "none"
}
