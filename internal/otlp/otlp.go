// Package otlp sends what is observed to a receiver of the OpenTelemetry protocol, over
// HTTP or gRPC, with OpenTelemetry's own exporters. It adds what whoever must lose nothing
// needs to know of an answer: whether to send again, and how much was refused for good.
package otlp

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"reeve.example/reeve/internal/export"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The protocols.
const (
	HTTP = "http" // protobuf in HTTP requests
	GRPC = "grpc"
)

// Receiver is where to send to.
type Receiver struct {
	// URL is the receiver's base: of HTTP the path v1/traces is added.
	URL      string
	Protocol string
	Headers  map[string]string
	CA       string // PEM file of further authorities; empty for the system's
}

const maxAnswer = 1 << 20

// Check says whether the settings can work, without asking anybody.
func (r *Receiver) Check() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("%q is not an http or https URL; credentials go into headers", r.URL)
	}
	if r.Protocol != HTTP && r.Protocol != GRPC {
		return fmt.Errorf("the protocol is http or grpc, not %q", r.Protocol)
	}
	if r.Protocol == GRPC && strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("of gRPC the URL has no path: %q", r.URL)
	}
	return nil
}

// all is how many were refused where an answer says that none is taken.
const all = math.MaxInt

// outcome is what a receiver answered last, as OpenTelemetry's exporters do not tell it.
// Each exporter sends one request at a time.
type outcome struct {
	mu      sync.Mutex
	refused *export.RefusedError
}

func (o *outcome) set(r *export.RefusedError) { o.mu.Lock(); o.refused = r; o.mu.Unlock() }

// result joins what an exporter returned with what was noted meanwhile.
func (o *outcome) result(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.refused; r != nil && (err == nil || r.N == all) {
		return r
	}
	return err
}

// partial is what an answer says was refused of what was sent, nil for nothing.
func partial(answer *coltracepb.ExportTraceServiceResponse) *export.RefusedError {
	said := answer.GetPartialSuccess()
	if said.GetRejectedSpans() <= 0 {
		return nil // a warning, or nothing
	}
	return refusal(int(said.GetRejectedSpans()), said.GetErrorMessage())
}

func refusal(n int, message string) *export.RefusedError {
	return &export.RefusedError{N: n, Err: fmt.Errorf("the receiver refused it: %s", message)}
}

// client is an HTTP client that notes outcomes.
func (o *outcome) client(secured *tls.Config) *http.Client {
	c := export.HTTPClient(secured)
	c.Transport = &noting{c.Transport, o}
	return c
}

type noting struct {
	next http.RoundTripper
	*outcome
}

func (t *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	t.set(nil)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code/100 == 2:
		// What was refused of it is no reason for the exporter to fail.
		var answer coltracepb.ExportTraceServiceResponse
		if proto.Unmarshal(body, &answer) == nil {
			t.set(partial(&answer))
		}
		body = nil
	case export.Refuses(code):
		t.set(refusal(all, resp.Status))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// intercept notes the outcomes of gRPC.
func (o *outcome) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	o.set(nil)
	err := invoke(ctx, method, req, reply, cc, opts...)
	if status.Code(err) == codes.InvalidArgument {
		o.set(refusal(all, status.Convert(err).Message()))
	}
	if answer, ok := reply.(*coltracepb.ExportTraceServiceResponse); ok && err == nil {
		o.set(partial(answer))
		answer.PartialSuccess = nil
	}
	return err
}

// Spans sends spans. Its errors are *export.RefusedError, or say that it
// is to be tried again.
type Spans struct {
	exporter trace.SpanExporter
	outcome  *outcome
}

// Spans returns what sends spans. Nothing is connected to yet.
func (r *Receiver) Spans(ctx context.Context) (*Spans, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	secured, err := export.TLS(r.CA)
	if err != nil {
		return nil, err
	}
	s := &Spans{outcome: new(outcome)}
	quiet()
	u, _ := url.Parse(r.URL)
	if r.Protocol == GRPC {
		options := []otlptracegrpc.Option{
			otlptracegrpc.WithEndpoint(u.Host), otlptracegrpc.WithHeaders(r.Headers), otlptracegrpc.WithTimeout(export.SendTimeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}), otlptracegrpc.WithCompressor("gzip"),
			otlptracegrpc.WithDialOption(grpc.WithUnaryInterceptor(s.outcome.intercept)),
		}
		if u.Scheme == "http" {
			options = append(options, otlptracegrpc.WithInsecure())
		} else {
			options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(secured)))
		}
		s.exporter, err = otlptracegrpc.New(ctx, options...)
		return s, err
	}
	s.exporter, err = otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(u.JoinPath("v1/traces").String()), otlptracehttp.WithHeaders(r.Headers), otlptracehttp.WithTimeout(export.SendTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithHTTPClient(s.outcome.client(secured)))
	return s, err
}

// Send sends spans in one request.
func (s *Spans) Send(ctx context.Context, spans []trace.ReadOnlySpan) error {
	return s.outcome.result(s.exporter.ExportSpans(ctx, spans))
}

// Close ends the connection.
func (s *Spans) Close(ctx context.Context) error { return s.exporter.Shutdown(ctx) }

// quiet keeps OpenTelemetry's exporters from writing to the process log by themselves:
// whoever sends hears of what fails.
var quiet = sync.OnceFunc(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })

// Resource is what all that a node sends says of the node. Of further attributes, which
// somebody set, one of the same name wins.
func Resource(service, version, instance string, more map[string]string) *resource.Resource {
	all := map[string]string{"service.name": service, "service.version": version, "service.instance.id": instance}
	maps.Copy(all, more)
	var list []attribute.KeyValue
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != "" {
			list = append(list, attribute.String(key, all[key]))
		}
	}
	return resource.NewSchemaless(list...)
}
