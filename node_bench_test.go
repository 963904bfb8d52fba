package reeve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"reeve.example/reeve/internal/server"
)

// BenchmarkDecide sends steps of new sessions through the node's whole handler,
// with its real store and without a network: what is left is what reeve adds.
// See bench/ for the node against its yardsticks.
func BenchmarkDecide(b *testing.B) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	n, err := Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	s, err := server.New(n.serverConfig())
	if err != nil {
		b.Fatal(err)
	}
	pad := strings.Repeat("Help readers find and borrow books. ", 60)
	var sequence atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := sequence.Add(1)
			body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"Lending desk","id":"lend-1","instructions":%q,"version":"1","provider":{"name":"B","url":"https://b.example"}},"session":{"id":"s-%d"},"turnId":"t","stepId":"st-%d","timestamp":"2026-04-02T08:15:00Z"},"toolCallRequest":{"executionId":"x-%d","toolId":"read_file","inputs":[{"name":"path","value":"notes/april.txt"}]}}}`, i, pad, i, i, i)
			r := httptest.NewRequest("POST", "http://127.0.0.1:8080/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusOK || !bytes.Contains(w.Body.Bytes(), []byte(`"decision":"allow"`)) {
				b.Errorf("%d %s", w.Code, w.Body)
				return
			}
		}
	})
}

// BenchmarkIntent sends A2G intents for new acts in the same way.
func BenchmarkIntent(b *testing.B) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	n, err := Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	s, err := server.New(n.serverConfig())
	if err != nil {
		b.Fatal(err)
	}
	var sequence atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := sequence.Add(1)
			body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"r%d","method":"a2g/intent","params":{"agent_did":"did:aeon:desk","intent_id":"i%d","tool":"read_file","arguments":{"path":"notes/april.txt"},"context":{"session_id":"s-%d"}}}`, i, i, i)
			r := httptest.NewRequest("POST", "http://127.0.0.1:8080/a2g", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusOK || !bytes.Contains(w.Body.Bytes(), []byte(`"verdict":"APPROVED"`)) {
				b.Errorf("%d %s", w.Code, w.Body)
				return
			}
		}
	})
}
