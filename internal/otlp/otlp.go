// Package otlp sends what is observed to a receiver of the OpenTelemetry protocol, over
// HTTP or gRPC, with OpenTelemetry's own exporters. It adds what whoever must lose nothing
// needs to know of an answer: whether to send again, and how much was refused for good.
package otlp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

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

const (
	timeout   = 10 * time.Second // of one request
	maxAnswer = 1 << 20
)

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

// TLS is how to speak TLS with who has a certificate of the system's authorities, or of
// those in a file; empty for none.
func TLS(ca string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca == "" {
		return c, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	if c.RootCAs, err = x509.SystemCertPool(); err != nil {
		c.RootCAs = x509.NewCertPool()
	}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", ca)
	}
	return c, nil
}

// Refused says that some of what was sent will never be taken: all of it, where N is
// negative.
type Refused struct {
	N       int
	Message string
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the receiver refused it: %s", e.Message)
}

// outcome is what a receiver answered last, as OpenTelemetry's exporters do not tell it.
// Each exporter sends one request at a time.
type outcome struct {
	mu      sync.Mutex
	refused *Refused
}

func (o *outcome) set(r *Refused) { o.mu.Lock(); o.refused = r; o.mu.Unlock() }

// result joins what an exporter returned with what was noted meanwhile.
func (o *outcome) result(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.refused; r != nil && (err == nil || r.N < 0) {
		return r
	}
	return err
}

// partial is what an answer says was refused of what was sent, nil for nothing.
func partial(answer *coltracepb.ExportTraceServiceResponse) *Refused {
	said := answer.GetPartialSuccess()
	if said.GetRejectedSpans() <= 0 {
		return nil // a warning, or nothing
	}
	return &Refused{N: int(said.GetRejectedSpans()), Message: said.GetErrorMessage()}
}

// client is an HTTP client that notes outcomes. It follows no redirect: the headers may
// hold a credential.
func (o *outcome) client(c *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c
	return &http.Client{
		Transport: &noting{transport, o}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type noting struct {
	next *http.Transport
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
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		// It would be refused again. All else may be another's fault, and may be mended.
		t.set(&Refused{N: -1, Message: resp.Status})
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// intercept notes the outcomes of gRPC.
func (o *outcome) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	o.set(nil)
	err := invoke(ctx, method, req, reply, cc, opts...)
	if status.Code(err) == codes.InvalidArgument {
		o.set(&Refused{N: -1, Message: status.Convert(err).Message()})
	}
	if answer, ok := reply.(*coltracepb.ExportTraceServiceResponse); ok && err == nil {
		o.set(partial(answer))
		answer.PartialSuccess = nil
	}
	return err
}

// Spans sends spans. Its errors are *Refused, or say that it is to be tried again.
type Spans struct {
	exporter trace.SpanExporter
	outcome  *outcome
}

// Spans returns what sends spans. Nothing is connected to yet.
func (r *Receiver) Spans(ctx context.Context) (*Spans, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	secured, err := TLS(r.CA)
	if err != nil {
		return nil, err
	}
	s := &Spans{outcome: new(outcome)}
	quiet()
	u, _ := url.Parse(r.URL)
	if r.Protocol == GRPC {
		options := []otlptracegrpc.Option{
			otlptracegrpc.WithEndpoint(u.Host), otlptracegrpc.WithHeaders(r.Headers), otlptracegrpc.WithTimeout(timeout),
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
		otlptracehttp.WithEndpointURL(u.JoinPath("v1/traces").String()), otlptracehttp.WithHeaders(r.Headers), otlptracehttp.WithTimeout(timeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithHTTPClient(s.outcome.client(secured)))
	return s, err
}

// Send sends spans in one request.
func (s *Spans) Send(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := s.outcome.result(s.exporter.ExportSpans(ctx, spans))
	if refused, ok := errors.AsType[*Refused](err); ok && refused.N < 0 {
		return &Refused{N: len(spans), Message: refused.Message}
	}
	return err
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
