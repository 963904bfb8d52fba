package reeve

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/acs"
	"reeve.example/reeve/internal/linear"
)

// BenchmarkDoors has one agent make a call, and tell its result, by AOS and by ACS. A round
// is a hundred requests by each, in turn and in sessions of their own, so that what else the
// machine does meets both: what counts is the median of the rounds' ratios (acs/aos). The
// requests are made, and signed, before they are measured.
func BenchmarkDoors(b *testing.B) {
	const session = "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36"
	const each = 100
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	key := acs.Key{ID: "bench", Agent: "desk", Secret: []byte(strings.Repeat("s", 40))}
	secret := filepath.Join(b.TempDir(), "acs")
	if err := os.WriteFile(secret, key.Secret, 0o600); err != nil {
		b.Fatal(err)
	}
	rules := "version: 1\ndefault: allow\nrules: [{name: no-secrets, on: tool.call, tools: [read_file], when: 'args.path.startsWith(\"/etc/\")', effect: deny}]\n"
	s := benchServer(b, map[string]string{"data": b.TempDir(), "acs-keys": "bench=desk:file:" + secret, "policy-text": rules, "quotas-contents": "0"})
	send := func(path, body, want string) {
		r := httptest.NewRequest("POST", "http://127.0.0.1:8080"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !bytes.Contains(w.Body.Bytes(), []byte(want)) {
			b.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	now := time.Now().UTC().Format(time.RFC3339)
	byAOS := func(n int) string {
		method, payload := "toolCallRequest", fmt.Sprintf(`"toolCallRequest":{"executionId":"x-%d","toolId":"read_file","inputs":[{"name":"path","value":"notes/loans/2026/april-%d.txt"},{"name":"limit","value":200}]},"reasoning":"The reader asked when the loans of April are due."`, n, n)
		if n%2 == 0 {
			method, payload = "toolCallResult", fmt.Sprintf(`"toolCallResult":{"executionId":"x-%d","result":{"isError":false,"outputs":[{"kind":"text","name":"text","text":"The loans of April are due on the 30th."}]}}`, n-1)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"steps/%s","params":{"context":{"agent":{"id":"desk","name":"Lending desk","version":"0.8.0","instructions":"Help readers find and borrow books.","provider":{"name":"Birch Library","url":"https://birch.example/it"}},"session":{"id":"aos-1"},"turnId":"t-1","stepId":"st-%d","timestamp":%q},%s}}`, n, method, n, now, payload)
	}
	byACS := func(n int) string {
		method, payload := "steps/toolCallRequest", fmt.Sprintf(`{"tool":{"name":"read_file"},"arguments":{"path":{"value":"notes/loans/2026/april-%d.txt"},"limit":{"value":200}},"intent":{"description":"The reader asked when the loans of April are due."}}`, n)
		switch {
		case n == 0:
			method, payload = "handshake/hello", `{"acs_versions_supported":["0.1.0"],"methods_implemented":["steps/toolCallRequest","steps/toolCallResult"],"transports_supported":["http"],"provenance_producer":"none"}`
		case n%2 == 0:
			method, payload = "steps/toolCallResult", fmt.Sprintf(`{"tool":{"name":"read_file"},"exit_status":"success","request_id_ref":"00000000-0000-4000-8000-%012d","outputs":[{"value":"The loans of April are due on the 30th."}]}`, n-1)
		}
		body, err := key.Sign(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"acs_version":"0.1.0","request_id":"00000000-0000-4000-8000-%012d","timestamp":%q,"metadata":{"agent_id":"desk","agent_name":"Lending desk","session_id":%q,"turn_id":"t-1"},"payload":%s}}`, n, method, n, now, session, payload))
		if err != nil {
			b.Fatal(err)
		}
		return string(body)
	}
	send("/acs", byACS(0), `"on_decision_failure"`)
	used := func(path string, of func(n int) string, round int) float64 {
		var all []string
		for i := range each {
			all = append(all, of(round*each+i+1))
		}
		return float64(linear.Process(func() {
			for _, one := range all {
				send(path, one, `"decision":"allow"`)
			}
		}).Microseconds()) / each
	}
	var aos, ratios []float64
	for round := range b.N {
		one, other := used("/", byAOS, round), used("/acs", byACS, round)
		aos, ratios = append(aos, one), append(ratios, other/one)
	}
	median := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	b.ReportMetric(median(aos), "aos-cpu-µs")
	b.ReportMetric(median(ratios), "acs/aos")
}
