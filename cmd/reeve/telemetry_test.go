package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/otlp/otlptest"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// A node that is killed again and again while it sends traces has told in the end of every
// act that it answered, whichever spans were on their way.
func TestTracesKill(t *testing.T) {
	receiver := otlptest.Start(t)
	dir := filepath.Join(t.TempDir(), "data")
	acked := map[string]bool{}
	var mu sync.Mutex
	start := func() *process { return startNode(t, dir, "--telemetry-url", receiver.HTTP) }
	for round := range min(*kills, 5) {
		p := start()
		client := &http.Client{Timeout: 10 * time.Second}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				session := fmt.Sprintf("s-%d-%d", round, w)
				for i := 3; ; i += 3 { // denied, so that no result is awaited
					body, _ := stepOf(session, i)
					a, err := post(client, p.url, body)
					if err != nil {
						return // killed
					}
					mu.Lock()
					acked[a.Result.Data.DecisionID] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(300+rand.IntN(900)) * time.Millisecond)
		p.Process.Kill()
		p.Wait()
		wg.Wait()
	}
	start()
	if len(acked) == 0 {
		t.Fatal("nothing was answered")
	}
	ids := map[string]string{} // decision → span
	spans := receiver.Wait(t, func(spans []otlptest.Span) bool {
		got := map[string]bool{}
		for _, s := range spans {
			if d, ok := s.Attributes["reeve.decision.id"].(string); ok && s.Name != "apply_guardrail reeve" {
				got[d] = true
			}
		}
		for d := range acked {
			if !got[d] {
				return false
			}
		}
		return true
	})
	twice := 0
	for _, s := range spans {
		d, _ := s.Attributes["reeve.decision.id"].(string)
		if s.Name == "apply_guardrail reeve" {
			continue
		}
		if before, seen := ids[d]; seen {
			if twice++; before != s.ID() {
				t.Errorf("decision %s has the spans %s and %s", d, before, s.ID())
			}
		}
		ids[d] = s.ID()
	}
	t.Logf("%d decisions, %d sent again", len(acked), twice)
}

// The OpenTelemetry Collector takes all three signals over both transports from a real node,
// and sends on what it was sent.
func TestCollector(t *testing.T) {
	program := needs.Program(t, "collector")
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			receiver := otlptest.Start(t)
			at := map[string]string{}
			for _, listens := range []string{"http", "grpc"} {
				var err error
				if at[listens], err = freeAddress(); err != nil {
					t.Fatal(err)
				}
			}
			config := filepath.Join(t.TempDir(), "collector.yaml")
			if err := os.WriteFile(config, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {http: {endpoint: %q}, grpc: {endpoint: %q}}}}
exporters: {otlphttp: {endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlphttp]}
    logs: {receivers: [otlp], exporters: [otlphttp]}
    metrics: {receivers: [otlp], exporters: [otlphttp]}
`, at["http"], at["grpc"], receiver.HTTP), 0o600); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			collector := exec.CommandContext(t.Context(), program, "--config", "file:"+config)
			collector.Stdout, collector.Stderr = &said, &said
			if err := collector.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				collector.Process.Kill()
				collector.Wait()
				if t.Failed() {
					t.Log(said.String())
				}
			}()
			p := startNode(t, filepath.Join(t.TempDir(), "data"), "--telemetry-url", "http://"+at[protocol], "--telemetry-protocol", protocol,
				"--telemetry-signals", "traces,logs,metrics", "--telemetry-every", "1s", "--telemetry-requests")
			body, _ := stepOf("s-1", 3)
			a, err := post(http.DefaultClient, p.url, body)
			if err != nil {
				t.Fatal(err)
			}
			decision := a.Result.Data.DecisionID
			var span *otlptest.Span
			receiver.Wait(t, func(spans []otlptest.Span) bool {
				for i := range spans {
					if spans[i].Attributes["reeve.decision.id"] == decision && spans[i].Name != "apply_guardrail reeve" {
						span = &spans[i]
					}
				}
				// The request's span has the act, which lies in its session.
				request := slices.IndexFunc(spans, func(s otlptest.Span) bool { return s.Kind == tracepb.Span_SPAN_KIND_SERVER })
				return span != nil && request >= 0 && len(spans[request].Links) == 1 && hex.EncodeToString(spans[request].Links[0].SpanId) == span.ID() && slices.ContainsFunc(receiver.Lines(), func(l otlptest.Line) bool {
					return l.Attributes["ocsf.metadata.uid"] == decision && hex.EncodeToString(l.SpanId) == span.ID() && json.Valid([]byte(l.Body.GetStringValue()))
				}) && slices.ContainsFunc(receiver.Metrics(), func(m otlptest.Metric) bool {
					return m.Name == "reeve_decisions_total" && m.Resource["service.name"] == "reeve" && len(m.GetSum().GetDataPoints()) == 1 && m.GetSum().DataPoints[0].GetAsDouble() == 1
				})
			})
		})
	}
}
