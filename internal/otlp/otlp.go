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
	"go.opentelemetry.io/otel/sdk/resource"
	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
	// URL is the receiver's base: of HTTP the path of each signal is added, such as v1/traces.
	URL      string
	Protocol string
	Headers  map[string]string
	CA       string // PEM file of further authorities; empty for the system's
}

const maxAnswer = 1 << 20

// Check says whether the settings can work, without asking anybody.
func (r *Receiver) Check() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
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

// partial is what an answer says was refused of what was sent, nil for nothing: a message
// without a number is a warning.
func partial(n int64, message string) *export.RefusedError {
	if n <= 0 {
		return nil
	}
	return refusal(int(n), message)
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
		// What was refused of it is no reason for the exporter to fail. The answers about
		// logs and metrics have the same members with the same numbers.
		var answer coltracepb.ExportTraceServiceResponse
		if proto.Unmarshal(body, &answer) == nil {
			said := answer.GetPartialSuccess()
			t.set(partial(said.GetRejectedSpans(), said.GetErrorMessage()))
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
	if err != nil {
		return err
	}
	switch answer := reply.(type) {
	case *coltracepb.ExportTraceServiceResponse:
		o.set(partial(answer.GetPartialSuccess().GetRejectedSpans(), answer.GetPartialSuccess().GetErrorMessage()))
		answer.PartialSuccess = nil
	case *collogspb.ExportLogsServiceResponse:
		o.set(partial(answer.GetPartialSuccess().GetRejectedLogRecords(), answer.GetPartialSuccess().GetErrorMessage()))
		answer.PartialSuccess = nil
	case *colmetricspb.ExportMetricsServiceResponse:
		o.set(partial(answer.GetPartialSuccess().GetRejectedDataPoints(), answer.GetPartialSuccess().GetErrorMessage()))
		answer.PartialSuccess = nil
	}
	return nil
}

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
