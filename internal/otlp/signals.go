package otlp

import (
	"context"
	"crypto/tls"
	"net/url"
	"time"

	"reeve.example/reeve/internal/export"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// way is how one signal is sent, and what came of it.
type way struct {
	url     *url.URL
	secured *tls.Config
	outcome *outcome
}

func (r *Receiver) way() (*way, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	secured, err := export.TLS(r.CA)
	if err != nil {
		return nil, err
	}
	quiet()
	u, err := url.Parse(r.URL)
	return &way{url: u, secured: secured, outcome: new(outcome)}, err
}

func (w *way) plain() bool { return w.url.Scheme == "http" }

// dial has gRPC's outcomes noted.
func (w *way) dial() grpc.DialOption { return grpc.WithUnaryInterceptor(w.outcome.intercept) }

func (w *way) credentials() credentials.TransportCredentials { return credentials.NewTLS(w.secured) }

// Spans sends spans. Its errors are *export.RefusedError, or say that it
// is to be tried again.
type Spans struct {
	exporter sdktrace.SpanExporter
	outcome  *outcome
}

// Spans returns what sends spans. Nothing is connected to yet.
func (r *Receiver) Spans(ctx context.Context) (*Spans, error) {
	w, err := r.way()
	if err != nil {
		return nil, err
	}
	s := &Spans{outcome: w.outcome}
	if r.Protocol == GRPC {
		secured := otlptracegrpc.WithTLSCredentials(w.credentials())
		if w.plain() {
			secured = otlptracegrpc.WithInsecure()
		}
		s.exporter, err = otlptracegrpc.New(ctx, secured,
			otlptracegrpc.WithEndpoint(w.url.Host), otlptracegrpc.WithHeaders(r.Headers), otlptracegrpc.WithTimeout(export.SendTimeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}), otlptracegrpc.WithCompressor("gzip"), otlptracegrpc.WithDialOption(w.dial()))
		return s, err
	}
	s.exporter, err = otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(w.url.JoinPath("v1/traces").String()), otlptracehttp.WithHeaders(r.Headers), otlptracehttp.WithTimeout(export.SendTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithHTTPClient(w.outcome.client(w.secured)))
	return s, err
}

// Send sends spans in one request.
func (s *Spans) Send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return s.outcome.result(s.exporter.ExportSpans(ctx, spans))
}

// Log is a line of a log, and to which span it belongs.
type Log struct {
	Time       time.Time
	Severity   log.Severity
	Name, Body string
	Trace      trace.TraceID
	Span       trace.SpanID
	Attributes []attribute.KeyValue
}

// Logs sends lines of a log, with errors as those of Spans.
type Logs struct {
	exporter sdklog.Exporter
	outcome  *outcome
	logger   log.Logger
	made     []sdklog.Record
}

// Logs returns what sends lines of a log, which all say what is in the resource. Nothing is
// connected to yet.
func (r *Receiver) Logs(ctx context.Context, of *resource.Resource, version string) (*Logs, error) {
	w, err := r.way()
	if err != nil {
		return nil, err
	}
	l := &Logs{outcome: w.outcome}
	l.logger = sdklog.NewLoggerProvider(sdklog.WithResource(of), sdklog.WithProcessor(l)).Logger("reeve", log.WithInstrumentationVersion(version))
	if r.Protocol == GRPC {
		secured := otlploggrpc.WithTLSCredentials(w.credentials())
		if w.plain() {
			secured = otlploggrpc.WithInsecure()
		}
		l.exporter, err = otlploggrpc.New(ctx, secured,
			otlploggrpc.WithEndpoint(w.url.Host), otlploggrpc.WithHeaders(r.Headers), otlploggrpc.WithTimeout(export.SendTimeout),
			otlploggrpc.WithRetry(otlploggrpc.RetryConfig{}), otlploggrpc.WithCompressor("gzip"), otlploggrpc.WithDialOption(w.dial()))
		return l, err
	}
	l.exporter, err = otlploghttp.New(ctx,
		otlploghttp.WithEndpointURL(w.url.JoinPath("v1/logs").String()), otlploghttp.WithHeaders(r.Headers), otlploghttp.WithTimeout(export.SendTimeout),
		otlploghttp.WithRetry(otlploghttp.RetryConfig{}), otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithHTTPClient(w.outcome.client(w.secured)))
	return l, err
}

// Send sends lines in one request.
func (l *Logs) Send(ctx context.Context, lines []Log) error {
	l.made = l.made[:0]
	for _, line := range lines {
		var r log.Record
		r.SetTimestamp(line.Time)
		r.SetSeverity(line.Severity)
		r.SetSeverityText(line.Severity.String())
		r.SetEventName(line.Name)
		r.SetBody(attribute.StringValue(line.Body))
		r.AddAttributes(line.Attributes...)
		l.logger.Emit(trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: line.Trace, SpanID: line.Span, TraceFlags: trace.FlagsSampled,
		})), r)
	}
	return l.outcome.result(l.exporter.Export(ctx, l.made))
}

// Logs is the processor of its own lines: they wait for Send.

// OnEmit keeps a line.
func (l *Logs) OnEmit(_ context.Context, r *sdklog.Record) error {
	l.made = append(l.made, r.Clone())
	return nil
}

// Enabled reports that every line is wanted.
func (l *Logs) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// Shutdown does nothing.
func (l *Logs) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (l *Logs) ForceFlush(context.Context) error { return nil }

// Metrics sends what Prometheus' form of the metrics has, with errors as those of Spans.
type Metrics struct {
	exporter metric.Exporter
	outcome  *outcome
	of       *resource.Resource
	from     metric.Producer
}

// Metrics returns what sends the metrics of a registry. Nothing is connected to yet.
func (r *Receiver) Metrics(ctx context.Context, of *resource.Resource, registry prometheus.Gatherer) (*Metrics, error) {
	w, err := r.way()
	if err != nil {
		return nil, err
	}
	m := &Metrics{outcome: w.outcome, of: of, from: bridge.NewMetricProducer(bridge.WithGatherer(registry))}
	if r.Protocol == GRPC {
		secured := otlpmetricgrpc.WithTLSCredentials(w.credentials())
		if w.plain() {
			secured = otlpmetricgrpc.WithInsecure()
		}
		m.exporter, err = otlpmetricgrpc.New(ctx, secured,
			otlpmetricgrpc.WithEndpoint(w.url.Host), otlpmetricgrpc.WithHeaders(r.Headers), otlpmetricgrpc.WithTimeout(export.SendTimeout),
			otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{}), otlpmetricgrpc.WithCompressor("gzip"), otlpmetricgrpc.WithDialOption(w.dial()))
		return m, err
	}
	m.exporter, err = otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(w.url.JoinPath("v1/metrics").String()), otlpmetrichttp.WithHeaders(r.Headers), otlpmetrichttp.WithTimeout(export.SendTimeout),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithHTTPClient(w.outcome.client(w.secured)))
	return m, err
}

// Send sends what the metrics are now, in one request, and returns how many they were.
func (m *Metrics) Send(ctx context.Context) (sent int, err error) {
	scopes, err := m.from.Produce(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range scopes {
		sent += len(s.Metrics)
	}
	return sent, m.outcome.result(m.exporter.Export(ctx, &metricdata.ResourceMetrics{Resource: m.of, ScopeMetrics: scopes}))
}
