package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"reeve.example/reeve/act"

	"go.opentelemetry.io/otel/attribute"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is a span before OpenTelemetry has made it.
type span struct {
	trace      trace.TraceID
	id, parent trace.SpanID // no parent: it is the trace's root
	remote     bool         // the parent is the caller's
	name       string
	kind       trace.SpanKind
	begun, end time.Time
	attributes []attribute.KeyValue
	events     []event
	links      []trace.Link
}

type event struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

func (s *span) set(list ...attribute.KeyValue) { s.attributes = append(s.attributes, list...) }

// text adds an attribute that is not empty.
func (s *span) text(key, value string) {
	if value != "" {
		s.set(attribute.String(key, value))
	}
}

func (s *span) list(key string, values []string) {
	if len(values) > 0 {
		s.set(attribute.StringSlice(key, values))
	}
}

// TraceOf is the trace of a session whose callers name none: anybody can tell it from the
// session's name.
func TraceOf(session string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte(session))
	copy(id[:], sum[:])
	return id
}

// SpanOf is the span of an act, by its record: the same whenever, and by whichever process,
// it is made. ledger is the log's public key, which tells the logs of all nodes apart.
func SpanOf(ledger string, at act.Position) trace.SpanID { return spanOf(ledger, "act", at.Index) }

func spanOf(ledger, what string, index uint64) (id trace.SpanID) {
	b := append(append([]byte(ledger), 0), what...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append(b, 0), index))
	copy(id[:], sum[:])
	if !id.IsValid() {
		id[0] = 1
	}
	return id
}

// maker has OpenTelemetry make spans with ids and times that are known already.
type maker struct {
	tracer trace.Tracer
	made   []sdktrace.ReadOnlySpan
}

func newMaker(r *sdkresource.Resource, version string) *maker {
	m := new(maker)
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValue
	m.tracer = sdktrace.NewTracerProvider(
		sdktrace.WithResource(r), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(given{}),
		sdktrace.WithSpanProcessor(m), sdktrace.WithRawSpanLimits(limits),
	).Tracer("reeve", trace.WithInstrumentationVersion(version))
	return m
}

func (m *maker) add(s *span) {
	ctx := context.WithValue(context.Background(), given{}, s)
	if s.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.trace, SpanID: s.parent, TraceFlags: trace.FlagsSampled, Remote: s.remote,
		}))
	}
	_, made := m.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.begun), trace.WithAttributes(s.attributes...), trace.WithLinks(s.links...))
	for _, e := range s.events {
		made.AddEvent(e.name, trace.WithTimestamp(e.at), trace.WithAttributes(e.attributes...))
	}
	made.End(trace.WithTimestamp(s.end))
}

// given is the generator of ids: those of the span in the context.
type given struct{}

func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s := ctx.Value(given{}).(*span)
	return s.trace, s.id
}

func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(given{}).(*span).id
}

// maker is the processor of its own spans: they wait for Send.

func (m *maker) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (m *maker) OnEnd(s sdktrace.ReadOnlySpan)                   { m.made = append(m.made, s) }
func (m *maker) Shutdown(context.Context) error                  { return nil }
func (m *maker) ForceFlush(context.Context) error                { return nil }
