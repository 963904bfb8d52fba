package server

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"reeve.example/reeve/act"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	// The version of the conventions for HTTP that a node's own spans go by: here and nowhere else.
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// TracerVersion is the schema of what the spans of requests say, for who makes Config.Tracer.
const TracerVersion = semconv.SchemaURL

// span is the span of a request while it is answered. It tells of the request what stands in
// the node's own tables, and nothing that the caller wrote: no path, no query, no header.
type span struct {
	oteltrace.Span
	method, route   string
	scheme, version string
	status          int // 0 until the answer's head is written
}

type spanKey struct{}

// begin begins the span of a request below the caller's, if its header names one, and the
// acts that the request brings lie below it then. end must be called when the answer is over.
// Who asks how the node is does so all the time, and gets no span.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, _ *http.Request, end func()) {
	if s.cfg.Tracer == nil || probes[r.URL.Path] {
		return w, traced(r), func() {}
	}
	ctx, method := r.Context(), r.Method
	caller, named := act.ParseTraceparent(r.Header.Get("Traceparent"))
	if named {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: caller.Trace, SpanID: caller.Span, TraceFlags: oteltrace.TraceFlags(caller.Flags), Remote: true,
		}))
	}
	if !methods[method] {
		method = "_OTHER"
	}
	ctx, own := s.cfg.Tracer.Start(ctx, method, oteltrace.WithSpanKind(oteltrace.SpanKindServer))
	sp := &span{Span: own, method: method, scheme: "http", version: strconv.Itoa(r.ProtoMajor)}
	if r.TLS != nil {
		sp.scheme = "https"
	}
	if r.ProtoMajor < 2 {
		sp.version += "." + strconv.Itoa(r.ProtoMinor)
	}
	if named {
		at := own.SpanContext()
		ctx = act.WithTraceparent(ctx, act.Traceparent{Trace: at.TraceID(), Span: at.SpanID(), Flags: byte(at.TraceFlags())}.String())
	}
	r = r.WithContext(context.WithValue(ctx, spanKey{}, sp))
	return &spanWriter{w, sp}, r, sp.end
}

// probes are the paths at which it is asked how the node is.
var probes = map[string]bool{"/healthz": true, "/health": true, "/readyz": true, "/metrics": true}

// methods are those that the conventions name; another one is the caller's own word.
var methods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "CONNECT": true, "OPTIONS": true, "TRACE": true, "QUERY": true,
}

// routed notes which of the node's routes a request takes, as http.ServeMux writes patterns.
func routed(ctx context.Context, pattern string) {
	if sp, ok := ctx.Value(spanKey{}).(*span); ok && pattern != "" {
		sp.route = pattern[strings.IndexByte(pattern, '/'):]
	}
}

// end ends the span, once.
func (sp *span) end() {
	if !sp.IsRecording() {
		return
	}
	if sp.status == 0 {
		sp.status = http.StatusOK // net/http writes it where the handler has not
	}
	said := append(make([]attribute.KeyValue, 0, 6),
		semconv.HTTPRequestMethodKey.String(sp.method), semconv.URLScheme(sp.scheme), semconv.NetworkProtocolVersion(sp.version), semconv.HTTPResponseStatusCode(sp.status))
	name := sp.method
	if name == "_OTHER" {
		name = "HTTP"
	}
	if sp.route != "" {
		name += " " + sp.route
		said = append(said, semconv.HTTPRoute(sp.route))
	}
	if sp.status >= 500 {
		sp.SetStatus(codes.Error, "")
		said = append(said, semconv.ErrorTypeKey.String(strconv.Itoa(sp.status)))
	}
	sp.SetName(name)
	sp.SetAttributes(said...)
	sp.End()
}

// spanWriter sees the status of an answer.
type spanWriter struct {
	http.ResponseWriter
	span *span
}

// Unwrap is for http.ResponseController.
func (w *spanWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes the status; those that announce another one are none.
func (w *spanWriter) WriteHeader(status int) {
	if w.span.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.span.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Hijack gives the connection to a WebSocket. The request has been answered then.
func (w *spanWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.span.status = http.StatusSwitchingProtocols
		w.span.end()
	}
	return conn, rw, err
}
