//go:build backends

package reeve

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/demo"
	"reeve.example/reeve/internal/chromium"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/server"

	"github.com/go-json-experiment/json"
)

// scripts/test-phoenix starts the back ends that are looked into here.
var (
	phoenixURL = flag.String("phoenix", "", "where Phoenix answers")
	mlflowURL  = flag.String("mlflow", "", "where MLflow answers")
)

// asked is what an interface answered, as JSON.
func asked(t *testing.T, method, url string, body any) (answer map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK {
		_ = json.Unmarshal(said, &answer) // what is no object has none of what is looked for
	}
	return answer
}

// shownDemo plays the demonstration before a node that sends its traces.
func shownDemo(t *testing.T, settings ...string) (n *Node) {
	t.Helper()
	dir, folder := t.TempDir(), t.TempDir()
	files, err := policy.StarterOf(demo.Profile)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, policy.File{Name: "demo.yaml", Data: demo.Policy(dir)}) {
		write(t, filepath.Join(folder, filepath.Base(f.Name)), string(f.Data))
	}
	n, _ = exporting(t, append(settings, "policy", folder, "telemetry-idle", "2s")...)
	cfg := n.serverConfig()
	cfg.Metrics = server.NewMetrics("test")
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	if _, err := demo.Run(t.Context(), demo.Options{URL: h.URL + "/", Out: io.Discard, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return n
}

// shows waits until a back end has counted spans of each kind, and a session.
func shows(t *testing.T, of string, count func() map[string]int) {
	t.Helper()
	var got map[string]int
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		got = count()
		if got["AGENT"] > 0 && got["TOOL"] >= 10 && got["GUARDRAIL"] >= 4 && got["sessions"] > 0 && got["refused"] >= 4 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s shows %v", of, got)
		}
	}
	if got["UNKNOWN"] > 0 {
		t.Errorf("%s does not know what %d spans are", of, got["UNKNOWN"])
	}
	t.Logf("%s shows %v", of, got)
}

// list is a list in an answer.
func list(answer any, path ...any) []any { l, _ := at(answer, path...).([]any); return l }

// TestBackendPhoenix: Phoenix shows the demonstration's agents, tools, guardrails and sessions.
func TestBackendPhoenix(t *testing.T) {
	project := fmt.Sprintf("reeve-%d", time.Now().UnixNano())
	shownDemo(t, "telemetry-url", *phoenixURL, "telemetry-resource", "openinference.project.name="+project)
	api := *phoenixURL + "/v1/projects/" + project
	shows(t, "Phoenix", func() map[string]int {
		got := map[string]int{}
		for _, s := range list(asked(t, "GET", api+"/spans?limit=1000", nil), "data") {
			kind := fmt.Sprint(at(s, "span_kind"))
			got[kind]++
			if kind == "GUARDRAIL" && at(s, "attributes", "reeve.decision") != "allow" {
				got["refused"]++
			}
		}
		got["sessions"] = len(list(asked(t, "GET", api+"/sessions", nil), "data"))
		return got
	})
	id := at(asked(t, "GET", api, nil), "data", "id")
	trace := at(asked(t, "GET", api+"/spans?limit=1", nil), "data", 0, "context", "trace_id")
	p := chromium.Open(t)
	p.Size(1280, 800, "light")
	p.Go(fmt.Sprintf("%s/projects/%v/traces/%v", *phoenixURL, id, trace))
	p.Says("apply_guardrail")
	p.Look("phoenix")
}

// TestBackendMLflow: MLflow shows the same.
func TestBackendMLflow(t *testing.T) {
	made := asked(t, "POST", *mlflowURL+"/api/2.0/mlflow/experiments/create", map[string]any{"name": fmt.Sprintf("reeve-%d", time.Now().UnixNano())})
	experiment := fmt.Sprint(at(made, "experiment_id"))
	shownDemo(t, "telemetry-url", *mlflowURL, "telemetry-headers", "x-mlflow-experiment-id="+experiment)
	var id string // of a trace
	shows(t, "MLflow", func() map[string]int {
		got, sessions := map[string]int{}, map[string]bool{}
		found := asked(t, "POST", *mlflowURL+"/api/3.0/mlflow/traces/search", map[string]any{
			"locations": []any{map[string]any{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": map[string]any{"experiment_id": experiment}}}, "max_results": 100,
		})
		for _, trace := range list(found, "traces") {
			id = fmt.Sprint(at(trace, "trace_id"))
			if session, _ := at(trace, "trace_metadata", "mlflow.trace.session").(string); session != "" {
				sessions[session] = true
			}
			whole := asked(t, "GET", *mlflowURL+"/api/3.0/mlflow/traces/get?trace_id="+id, nil)
			for _, s := range list(whole, "trace", "spans") {
				var attributes = map[string]string{}
				for _, kv := range list(s, "attributes") {
					attributes[fmt.Sprint(at(kv, "key"))] = strings.Trim(fmt.Sprint(at(kv, "value", "string_value")), `"`)
				}
				kind := attributes["mlflow.spanType"]
				got[kind]++
				if kind == "GUARDRAIL" && attributes["reeve.decision"] != "allow" {
					got["refused"]++
				}
			}
		}
		got["sessions"] = len(sessions)
		return got
	})
	p := chromium.Open(t)
	p.Size(1280, 800, "light")
	p.Go(*mlflowURL + "/#/experiments/" + experiment + "/traces?selectedEvaluationId=" + id)
	p.Says("apply_guardrail")
	p.Look("mlflow")
}
