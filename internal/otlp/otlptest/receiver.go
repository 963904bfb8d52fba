// Package otlptest is a receiver of the OpenTelemetry protocol, for tests: it takes what
// comes over HTTP and gRPC, decodes it, and keeps it.
package otlptest

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was received.
type Span struct {
	*trace.Span
	Resource, Attributes map[string]any
}

// ID is the span's id in hexadecimal digits, and so are TraceID and ParentID.
func (s *Span) ID() string       { return hex.EncodeToString(s.SpanId) }
func (s *Span) TraceID() string  { return hex.EncodeToString(s.TraceId) }
func (s *Span) ParentID() string { return hex.EncodeToString(s.ParentSpanId) }

// Line is a line of a log as it was received.
type Line struct {
	*logs.LogRecord
	Resource, Attributes map[string]any
}

// Metric is a metric as it was received.
type Metric struct {
	*metrics.Metric
	Resource map[string]any
}

// Receiver takes what is sent to it. HTTP and GRPC are its addresses, as URLs.
type Receiver struct {
	coltrace.UnimplementedTraceServiceServer
	HTTP, GRPC string

	mu     sync.Mutex
	spans  []Span
	lines  []Line
	newest []Metric // of the last request
	header http.Header
	down   int // the status that everything is answered with; 0 for what is due
	refuse int // how many of the next request are refused
}

// Start starts a receiver that ends with the test.
func Start(t testing.TB) *Receiver {
	r := &Receiver{header: http.Header{}}
	h := httptest.NewServer(r)
	t.Cleanup(h.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(g, r)
	collogs.RegisterLogsServiceServer(g, logsService{r: r})
	colmetrics.RegisterMetricsServiceServer(g, metricsService{r: r})
	go g.Serve(l)
	t.Cleanup(g.Stop)
	r.HTTP, r.GRPC = h.URL, "http://"+l.Addr().String()
	return r
}

// Down has everything answered with a status of HTTP, or taken again with 0.
func (r *Receiver) Down(status int) { r.mu.Lock(); r.down = status; r.mu.Unlock() }

// Refuse has so many spans, lines or points of the next request refused for good.
func (r *Receiver) Refuse(n int) { r.mu.Lock(); r.refuse = n; r.mu.Unlock() }

// Header returns the headers of the last request.
func (r *Receiver) Header() http.Header { r.mu.Lock(); defer r.mu.Unlock(); return r.header.Clone() }

// Spans returns what was received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Lines returns what logs brought so far.
func (r *Receiver) Lines() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Line(nil), r.lines...)
}

// Metrics returns what the last request of metrics brought.
func (r *Receiver) Metrics() []Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Metric(nil), r.newest...)
}

// Wait waits until something is true of the spans, and returns them.
func (r *Receiver) Wait(t testing.TB, enough func(spans []Span) bool) []Span {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		spans := r.Spans()
		if enough(spans) {
			return spans
		}
		if time.Now().After(end) {
			t.Fatalf("%d spans came, which are not what was awaited: %v", len(spans), names(spans))
		}
	}
}

func names(spans []Span) (list []string) {
	for _, s := range spans {
		list = append(list, s.Name)
	}
	return list
}

// ServeHTTP takes what comes over HTTP.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil || req.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "protobuf is wanted", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	down := r.down
	r.header = req.Header.Clone()
	r.mu.Unlock()
	if down != 0 {
		http.Error(w, "down", down)
		return
	}
	var answer proto.Message
	switch req.URL.Path {
	case "/v1/traces":
		var in coltrace.ExportTraceServiceRequest
		if err = proto.Unmarshal(text, &in); err == nil {
			answer = r.takeSpans(&in)
		}
	case "/v1/logs":
		var in collogs.ExportLogsServiceRequest
		if err = proto.Unmarshal(text, &in); err == nil {
			answer = r.takeLines(&in)
		}
	case "/v1/metrics":
		var in colmetrics.ExportMetricsServiceRequest
		if err = proto.Unmarshal(text, &in); err == nil {
			answer = r.takeMetrics(&in)
		}
	default:
		http.NotFound(w, req)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(out)
}

// Export takes spans over gRPC.
func (r *Receiver) Export(ctx context.Context, in *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	if err := r.called(ctx); err != nil {
		return nil, err
	}
	return r.takeSpans(in), nil
}

// gRPC's services have methods of the same name, so that each needs a type.
type (
	logsService struct {
		collogs.UnimplementedLogsServiceServer
		r *Receiver
	}
	metricsService struct {
		colmetrics.UnimplementedMetricsServiceServer
		r *Receiver
	}
)

func (s logsService) Export(ctx context.Context, in *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error) {
	if err := s.r.called(ctx); err != nil {
		return nil, err
	}
	return s.r.takeLines(in), nil
}

func (s metricsService) Export(ctx context.Context, in *colmetrics.ExportMetricsServiceRequest) (*colmetrics.ExportMetricsServiceResponse, error) {
	if err := s.r.called(ctx); err != nil {
		return nil, err
	}
	return s.r.takeMetrics(in), nil
}

func (r *Receiver) called(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = http.Header{}
	md, _ := metadata.FromIncomingContext(ctx)
	for name, values := range md {
		r.header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case r.down == http.StatusBadRequest:
		return status.Error(codes.InvalidArgument, "down")
	case r.down != 0:
		return status.Error(codes.Unavailable, "down")
	}
	return nil
}

func (r *Receiver) takeSpans(in *coltrace.ExportTraceServiceRequest) *coltrace.ExportTraceServiceResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := &coltrace.ExportTraceServiceResponse{}
	for _, rs := range in.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				if r.refuse > 0 {
					if answer.PartialSuccess == nil {
						answer.PartialSuccess = &coltrace.ExportTracePartialSuccess{ErrorMessage: "no room"}
					}
					answer.PartialSuccess.RejectedSpans++
					r.refuse--
					continue
				}
				r.spans = append(r.spans, Span{s, Map(rs.Resource.Attributes), Map(s.Attributes)})
			}
		}
	}
	return answer
}

func (r *Receiver) takeLines(in *collogs.ExportLogsServiceRequest) *collogs.ExportLogsServiceResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := &collogs.ExportLogsServiceResponse{}
	for _, rl := range in.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			for _, l := range sl.LogRecords {
				if r.refuse > 0 {
					if answer.PartialSuccess == nil {
						answer.PartialSuccess = &collogs.ExportLogsPartialSuccess{ErrorMessage: "no room"}
					}
					answer.PartialSuccess.RejectedLogRecords++
					r.refuse--
					continue
				}
				r.lines = append(r.lines, Line{l, Map(rl.Resource.Attributes), Map(l.Attributes)})
			}
		}
	}
	return answer
}

func (r *Receiver) takeMetrics(in *colmetrics.ExportMetricsServiceRequest) *colmetrics.ExportMetricsServiceResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := &colmetrics.ExportMetricsServiceResponse{}
	if r.refuse > 0 {
		answer.PartialSuccess = &colmetrics.ExportMetricsPartialSuccess{ErrorMessage: "no room", RejectedDataPoints: int64(r.refuse)}
		r.refuse = 0
	}
	r.newest = nil
	for _, rm := range in.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				r.newest = append(r.newest, Metric{m, Map(rm.Resource.Attributes)})
			}
		}
	}
	return answer
}

// Map is a list of attributes as Go values.
func Map(list []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range list {
		m[kv.Key] = value(kv.Value)
	}
	return m
}

func value(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_ArrayValue:
		var list []any
		for _, e := range v.ArrayValue.Values {
			list = append(list, value(e))
		}
		return list
	}
	return nil
}
