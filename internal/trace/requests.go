package trace

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/otlp"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Requests are the spans of the requests that a node answers. They are of the process and
// not of the ledger: those that wait when it is killed are lost, and beyond so many that
// wait, and so many a second, they are counted and let go. No request waits for them.
type Requests struct {
	Send   *otlp.Spans
	Logger *slog.Logger

	of      *sdktrace.TracerProvider
	waiting chan sdktrace.ReadOnlySpan

	sent, refused, full atomic.Uint64
	taken               atomic.Int64 // of those that wait, by Run
	failing             atomic.Bool
}

// Bounds of what is sent of requests.
const (
	maxRequests  = 4096        // spans that wait, and that are sent in a round
	round        = time.Second // from one to the next
	roundFailing = 5 * time.Second
	lastRound    = 3 * time.Second // when the node stops
)

// NewRequests returns what keeps the spans of requests until Run sends them. Send is to be
// set before Run.
func NewRequests(of *resource.Resource, logger *slog.Logger) *Requests {
	r := &Requests{Logger: logger, waiting: make(chan sdktrace.ReadOnlySpan, maxRequests)}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValue
	r.of = sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(r), sdktrace.WithRawSpanLimits(limits))
	return r
}

// Tracer makes spans that Run sends. version is the program's, and schema that of what they say.
func (r *Requests) Tracer(version, schema string) trace.Tracer {
	return r.of.Tracer("reeve", trace.WithInstrumentationVersion(version), trace.WithSchemaURL(schema))
}

// Run sends what has ended, until ctx ends, and then what is left.
func (r *Requests) Run(ctx context.Context) {
	var spans []sdktrace.ReadOnlySpan
	pause := round
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRound)
			defer cancel()
			r.send(last, &spans)
			return
		case <-time.After(pause):
		}
		pause = round
		if err := r.send(ctx, &spans); err != nil {
			pause = roundFailing
		}
	}
}

// send sends what waits, with what could not be sent before.
func (r *Requests) send(ctx context.Context, spans *[]sdktrace.ReadOnlySpan) error {
	for len(*spans) < maxRequests && len(r.waiting) > 0 {
		*spans = append(*spans, <-r.waiting)
	}
	var err error
	for len(*spans) > 0 && err == nil {
		var sent int
		sent, err = export.SendEach(spans, perSend, func(some []sdktrace.ReadOnlySpan) error { return r.Send.Send(ctx, some) })
		r.sent.Add(uint64(sent))
		if why, ok := errors.AsType[*export.RefusedError](err); ok {
			r.refused.Add(uint64(why.N))
			err = nil // the others may be taken
		}
	}
	r.taken.Store(int64(len(*spans)))
	if ctx.Err() == nil && r.failing.Swap(err != nil) != (err != nil) && err != nil {
		r.Logger.Warn("spans of requests do not arrive; they wait, and are let go beyond a number", "error", err, "number", maxRequests)
	}
	return err
}

// RequestStats is how it goes with the spans of requests.
type RequestStats struct {
	Behind, Sent, Refused uint64
	Full                  uint64 // let go, since too many waited
	Failing               bool
}

// Stats may be called at any time.
func (r *Requests) Stats() RequestStats {
	return RequestStats{Behind: uint64(len(r.waiting)) + uint64(r.taken.Load()), Sent: r.sent.Load(), Refused: r.refused.Load(), Full: r.full.Load(), Failing: r.failing.Load()}
}

// Link has the span of a request name an act that it brought and that does not lie below it:
// the caller named no span, and the act lies in its session. A result has no span to name.
func Link(ctx context.Context, ledger string, a *act.Action, at act.Position) {
	request := trace.SpanFromContext(ctx)
	if !request.IsRecording() || isResult(string(a.Kind)) {
		return
	}
	of := Traceparent(ledger, a, at)
	if of.Trace == request.SpanContext().TraceID() {
		return
	}
	request.AddLink(trace.Link{
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: of.Trace, SpanID: of.Span, TraceFlags: trace.FlagsSampled}),
		Attributes:  []attribute.KeyValue{attribute.String(decisionID, at.String())},
	})
}

// Requests are the processor of their own spans.

// OnStart does nothing.
func (r *Requests) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd keeps a span, if there is room.
func (r *Requests) OnEnd(s sdktrace.ReadOnlySpan) {
	select {
	case r.waiting <- s:
	default:
		r.full.Add(1)
	}
}

// Shutdown does nothing: Run ends with its context.
func (r *Requests) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (r *Requests) ForceFlush(context.Context) error { return nil }
