// Package trace makes OpenTelemetry spans of a log's records, and sends them. One act that
// has an outcome is one span, from the request to its result; the spans of a session, of
// its turns and of trees of tasks are around them. Ids come from the records, so that what
// is sent again after a crash is the same span.
//
// A span begins and ends at the times that the records say. What is not said is not made
// up: a session is over when nothing more of it comes.
package trace

import (
	"cmp"
	"container/list"
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/otlp"
	"reeve.example/reeve/internal/rawjson"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config is what a Sink is made of.
type Config struct {
	Send     *otlp.Spans
	Resource *resource.Resource
	Version  string // the program's
	Ledger   string // the log's public key
	// Idle is how long nothing comes of a session or a turn that is over then.
	Idle time.Duration
	// Contents returns what an act's request and its changed form hold, masked; nil for
	// spans without contents.
	Contents func(r *export.Record) (what string)
}

// Sink is an export.Sink that sends spans.
type Sink struct {
	cfg   Config
	maker *maker
	// open are the spans that are not over yet, by what ends them, and oldest first.
	open  map[any]*list.Element
	order *list.List
	now   time.Time
	swept time.Time
}

// Bounds of what waits.
const (
	maxOpen = 8192
	// A call without a result is sent alone after resultWithin; one that comes later is a
	// span of its own, with a link.
	resultWithin = 10 * time.Minute
	// What goes on is cut after longest: so much must be read again after a restart.
	longest  = time.Hour
	maxValue = 8 << 10 // bytes of one attribute
	perSend  = 512     // spans of one request
)

// open is a span that is not over yet.
type open struct {
	key   any
	index uint64 // of the record that it began with
	span  span
	until time.Time // when it is over without a word
}

// What open spans are found by.
type (
	callKey  struct{ door, session, id string }
	waitKey  struct{ approval string }
	scopeKey struct{ kind, session, name string } // a session, a turn, a tree of tasks
)

// New returns a Sink.
func New(cfg Config) *Sink {
	return &Sink{cfg: cfg, maker: newMaker(cfg.Resource, cfg.Version), open: map[any]*list.Element{}, order: list.New()}
}

// Since is the oldest record that an open span began with.
func (s *Sink) Since() (index uint64, ok bool) {
	if front := s.order.Front(); front != nil {
		return front.Value.(*open).index, true
	}
	return 0, false
}

// Forget drops the spans that wait for Send.
func (s *Sink) Forget() { s.maker.made = nil }

// Send sends the spans that wait.
func (s *Sink) Send(ctx context.Context) (sent int, err error) {
	return export.SendEach(&s.maker.made, perSend, func(spans []sdktrace.ReadOnlySpan) error { return s.cfg.Send.Send(ctx, spans) })
}

// Pass ends what nothing more is awaited of.
func (s *Sink) Pass(now time.Time) {
	if now.Before(s.now) { // the clock was set back: the records' times go on
		now = s.now
	}
	if s.now = now; now.Sub(s.swept) < time.Second {
		return
	}
	s.swept = now
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		if o := e.Value.(*open); !now.Before(o.until) {
			s.end(e, outcomeUnknown)
		}
		e = next
	}
}

const outcomeUnknown = "unknown"

// begin keeps a span open. The oldest one makes room.
func (s *Sink) begin(o *open) {
	if before := s.open[o.key]; before != nil {
		s.end(before, outcomeUnknown)
	}
	if s.order.Len() >= maxOpen {
		s.end(s.order.Front(), outcomeUnknown)
	}
	s.open[o.key] = s.order.PushBack(o)
}

// end ends an open span: a call without its result, at the time that it began.
func (s *Sink) end(e *list.Element, how string) {
	o := e.Value.(*open)
	s.order.Remove(e)
	delete(s.open, o.key)
	if _, scope := o.key.(scopeKey); !scope {
		o.span.text(outcome, how)
	}
	s.maker.add(&o.span)
}

// found returns an open span, nil for none.
func (s *Sink) found(key any) *open {
	if e := s.open[key]; e != nil {
		return e.Value.(*open)
	}
	return nil
}

// Take takes up a record.
func (s *Sink) Take(r *export.Record) {
	s.Pass(r.Time)
	if strings.HasPrefix(r.Kind, "admin.approval.") {
		s.answered(r)
		return
	}
	if !slices.Contains(act.Kinds, act.Kind(r.Kind)) {
		return
	}
	links, _ := r.Opening.Linked()
	asker, _ := r.Opening.Asker()
	said, _ := r.Opening.Outcome()
	a := &acted{Record: r, links: links, asker: asker, outcome: said}
	a.effect, _ = act.ParseEffect(r.Effect)
	if call := s.found(callKey{r.Door, links.Session, links.Answers}); links.Answers != "" && call != nil && isResult(r.Kind) {
		s.result(a, call)
		return
	}
	sp := s.spanOf(a)
	s.decided(a, sp)
	switch {
	case a.effect == act.Escalate && said.Approval != "":
		wait := *sp
		wait.parent, wait.remote, wait.id = sp.id, false, spanOf(s.cfg.Ledger, "approval", r.Index)
		wait.name, wait.kind, wait.links, wait.events = "approval", trace.SpanKindInternal, nil, nil
		wait.attributes = append(a.common(kindChain, ""), attribute.String(approvalID, said.Approval), attribute.String(decisionID, r.ID()))
		s.begin(&open{key: waitKey{said.Approval}, index: r.Index, until: r.Time.Add(longest), span: wait})
	case a.effect > act.Escalate && awaits(r.Kind) && links.ID != "":
		s.begin(&open{key: callKey{r.Door, links.Session, links.ID}, index: r.Index, until: r.Time.Add(resultWithin), span: *sp})
		return
	}
	s.maker.add(sp)
}

// awaits reports whether a result is told of an act of this kind.
func awaits(kind string) bool {
	switch act.Kind(kind) {
	case act.ToolCall, act.TaskStart, act.MCPRequest, act.A2ASend:
		return true
	}
	return false
}

func isResult(kind string) bool {
	switch act.Kind(kind) {
	case act.ToolResult, act.TaskResult, act.MCPResponse, act.A2AReceive:
		return true
	}
	return false
}

// acted is an act's record as it is read here.
type acted struct {
	*export.Record
	effect  act.Effect
	links   ledger.ActLinks
	asker   ledger.Asker
	outcome ledger.Outcome
}

// common is what every span says: back ends look for sessions and users on each.
func (a *acted) common(kind, op string) []attribute.KeyValue {
	s := span{attributes: make([]attribute.KeyValue, 0, 32)}
	s.text(spanKind, kind)
	s.text(operation, op)
	s.text(agentID, a.Facts.Agent)
	s.text(agentName, cmp.Or(a.asker.Claims.AgentName, a.Facts.Agent))
	s.text(agentVersion, a.asker.Claims.AgentVersion)
	s.text(conversation, a.links.Session)
	s.text(sessionID, cmp.Or(a.links.Session, a.links.Task))
	s.text(userID, cmp.Or(a.Facts.User, a.Facts.UserHash, a.Facts.Principal))
	s.text(principal, a.Facts.Principal)
	s.text(organization, a.Facts.Organization)
	s.text(onBehalfOf, a.Facts.OnBehalfOf)
	s.list(actors, a.Facts.Actors)
	s.text(client, a.Facts.Client)
	return s.attributes
}

// form is how an act of a kind is shown.
type form struct {
	name, op, kind string
	span           trace.SpanKind
}

// formOf says how an act is shown.
func (a *acted) formOf() form {
	name := cmp.Or(a.links.Resource, a.Facts.Tool)
	is := func(op, what, kind string, span trace.SpanKind) form {
		return form{name: strings.TrimSpace(cmp.Or(op, what) + " " + name), op: op, kind: kind, span: span}
	}
	switch act.Kind(a.Kind) {
	case act.ToolCall, act.TaskStart, act.ToolResult, act.TaskResult:
		return is(opExecuteTool, "", kindTool, trace.SpanKindInternal)
	case act.KnowledgeRetrieve:
		return is(opRetrieval, "", kindFinds, trace.SpanKindClient)
	case act.MemoryStore:
		return is(opUpsertMemory, "", kindChain, trace.SpanKindInternal)
	case act.MemoryRetrieve:
		return is(opSearchMemory, "", kindFinds, trace.SpanKindInternal)
	case act.AgentRegister:
		return is(opCreateAgent, "", kindAgent, trace.SpanKindInternal)
	case act.MCPRequest, act.MCPResponse:
		f := is("", cmp.Or(a.links.Method, "mcp"), kindChain, trace.SpanKindClient)
		if a.links.From == act.FromServer {
			f.span = trace.SpanKindServer
		}
		if a.links.Method == "tools/call" || a.links.Method == "protocols/MCP" && name != "" {
			f.op, f.kind = opExecuteTool, kindTool
		}
		return f
	case act.A2ASend, act.A2AReceive:
		return form{name: cmp.Or(a.links.Method, "a2a"), kind: kindAgent, span: map[bool]trace.SpanKind{true: trace.SpanKindClient, false: trace.SpanKindServer}[a.Kind == string(act.A2ASend)]}
	}
	return form{name: strings.ReplaceAll(a.Kind, ".", " "), kind: kindChain, span: trace.SpanKindInternal}
}

// spanOf is the span of an act, within what it belongs to.
func (s *Sink) spanOf(a *acted) *span {
	f := a.formOf()
	sp := &span{id: spanOf(s.cfg.Ledger, "act", a.Index), name: f.name, kind: f.span, begun: a.Time, end: a.Time, attributes: a.common(f.kind, f.op)}
	s.place(a, sp)
	sp.text(kindOf, a.Kind)
	sp.text(door, a.Door)
	sp.text(turnID, a.links.Turn)
	sp.text(stepID, a.links.Step)
	sp.text(treeID, a.links.Task)
	sp.text(serverName, a.links.Server)
	switch act.Kind(a.Kind) {
	case act.MCPRequest, act.MCPResponse:
		sp.text(mcpMethod, a.links.Method)
		sp.text(mcpSession, a.links.Session)
		if f.op == opExecuteTool {
			sp.text(toolName, a.links.Resource)
		}
	case act.A2ASend, act.A2AReceive:
		sp.text(a2aMethod, a.links.Method)
	case act.KnowledgeRetrieve:
		sp.text(dataSource, a.links.Resource)
	case act.ToolCall, act.TaskStart, act.ToolResult, act.TaskResult:
		sp.text(toolName, a.links.Resource)
	}
	if f.op == opExecuteTool {
		sp.text(toolCallID, cmp.Or(a.links.ID, a.links.Answers))
	}
	if s.cfg.Contents != nil {
		what := s.cfg.Contents(a.Record)
		if isResult(a.Kind) {
			sp.text(outputValue, what)
		} else {
			sp.text(inputValue, what)
			if f.op == opExecuteTool {
				sp.text(toolArguments, what)
			}
		}
	}
	return sp
}

// place says in which trace an act stands, and below which span: the caller's, where it
// named one; else that of its tree of tasks, its turn, its session.
func (s *Sink) place(a *acted, sp *span) {
	if caller, ok := act.ParseTraceparent(a.links.Traceparent); ok {
		sp.trace, sp.parent, sp.remote = caller.Trace, caller.Span, true
		return
	}
	if a.links.Session == "" && a.links.Task == "" {
		sp.trace = TraceOf(s.cfg.Ledger + "\x00" + a.ID())
		return
	}
	session := a.links.Session
	var within *open
	if session != "" && (a.links.Task == "" || !strings.HasPrefix(session, a.links.Task)) { // else it is the tree's own
		within = s.scope(a, nil, scopeKey{"session", session, ""}, opInvokeAgent, kindAgent, cmp.Or(a.asker.Claims.AgentName, a.Facts.Agent))
	}
	if a.links.Task != "" {
		within = s.scope(a, within, scopeKey{"task", session, a.links.Task}, opInvokeWorkflow, kindChain, a.links.Task)
	}
	if a.links.Turn != "" {
		within = s.scope(a, within, scopeKey{"turn", session, a.links.Turn}, "", kindChain, a.links.Turn)
	}
	sp.trace, sp.parent = within.span.trace, within.span.id
}

// scope is the open span around an act, which begins with the first act in it, and ends
// with the last.
func (s *Sink) scope(a *acted, within *open, key scopeKey, op, kind, name string) *open {
	o := s.found(key)
	if o == nil {
		sp := span{
			id: spanOf(s.cfg.Ledger, key.kind+"\x00"+key.session+"\x00"+key.name, a.Index), begun: a.Time,
			name: strings.TrimSpace(cmp.Or(op, key.kind) + " " + name), kind: trace.SpanKindInternal, attributes: a.common(kind, op),
		}
		sp.text(treeID, a.links.Task)
		if key.kind == "turn" {
			sp.text(turnID, a.links.Turn)
		}
		switch parent := s.found(scopeKey{"session", a.links.Parent, ""}); {
		case within != nil:
			sp.trace, sp.parent = within.span.trace, within.span.id
		case a.links.Parent != "" && parent != nil: // a session that another began
			sp.trace, sp.parent = parent.span.trace, parent.span.id
		default:
			sp.trace = TraceOf(cmp.Or(a.links.Parent, key.session, key.name)) // as Traceparent has it
		}
		o = &open{key: key, index: a.Index, span: sp}
		s.begin(o)
	}
	o.span.end = a.Time
	o.until = a.Time.Add(s.cfg.Idle)
	if most := o.span.begun.Add(longest); most.Before(o.until) {
		o.until = most
	}
	return o
}

// decided adds what was decided: on the span, as an event, and where it is not plainly
// allowed as a guardrail below it, which is what back ends show.
func (s *Sink) decided(a *acted, sp *span) {
	said := span{}
	said.set(attribute.String(decision, a.Effect), attribute.String(decisionID, a.ID()))
	said.text(would, a.Observed)
	said.list(ruleIDs, a.Rules)
	said.list(codes, a.Codes)
	said.text(policyHash, a.Policy)
	said.set(attribute.String(receipt, s.receipt(a)))
	if a.outcome.Risk.Level != "" {
		said.set(attribute.Float64(riskScore, a.outcome.Risk.Score), attribute.String(riskLevel, a.outcome.Risk.Level))
		said.list(threats, a.outcome.Risk.Threats)
	}
	if sp.id == spanOf(s.cfg.Ledger, "act", a.Index) { // not a result's, on its call's span
		sp.set(said.attributes...)
	}
	sp.events = append(sp.events, event{name: eventDecision, at: a.Time, attributes: said.attributes})
	if a.effect == act.Allow && a.Observed == "" {
		return
	}
	reason := a.Effect + "ed"
	switch {
	case a.effect == act.Deny:
		reason = "denied"
	case a.effect == act.Escalate:
		reason = "held for a person"
	case a.effect == act.Modify:
		reason = "changed"
	case a.Observed != "":
		reason = "allowed; would be " + a.Observed
	}
	if len(a.Rules) > 0 {
		reason += " by " + strings.Join(a.Rules, ", ")
	}
	if len(a.Codes) > 0 {
		reason += " (" + strings.Join(a.Codes, ", ") + ")"
	}
	if a.effect < act.Allow {
		sp.set(attribute.String(langfuseLevel, "WARNING"), attribute.String(langfuseStatus, reason))
	}
	g := &span{
		trace: sp.trace, parent: sp.id, id: spanOf(s.cfg.Ledger, "guardrail", a.Index), name: opGuardrail + " reeve", kind: trace.SpanKindInternal,
		begun: a.Time, end: a.Time, attributes: append(a.common(kindGuard, opGuardrail), said.attributes...),
	}
	g.set(attribute.String(guardComponent, "reeve"), attribute.String(guardValue, a.Effect), attribute.String(guardReason, reason))
	g.text(guardPolicy, a.Policy)
	g.list(guardRule, a.Rules)
	g.list(guardCategory, a.outcome.Risk.Threats)
	if a.outcome.Risk.Level != "" {
		g.set(attribute.Float64(guardScore, a.outcome.Risk.Score))
	}
	s.maker.add(g)
}

// receipt names the record so that its receipt can be had and compared: the log, the
// record's place in it, and its hash there.
func (s *Sink) receipt(a *acted) string {
	log, _, _ := strings.Cut(s.cfg.Ledger, "+")
	return log + "#" + a.ID() + "@sha256:" + hex.EncodeToString(a.Leaf[:])
}

// result ends a call with what it gave.
func (s *Sink) result(a *acted, call *open) {
	sp := &call.span
	sp.end = a.Time
	s.place(a, &span{}) // what is around it goes on
	sp.text(resultID, a.ID())
	s.decided(a, sp)
	if s.cfg.Contents != nil {
		what := s.cfg.Contents(a.Record)
		sp.text(outputValue, what)
		if slices.ContainsFunc(sp.attributes, func(kv attribute.KeyValue) bool { return kv.Key == toolName }) {
			sp.text(toolResult, what)
		}
	}
	how := "result"
	if a.effect == act.Deny {
		how = "result withheld"
		sp.text(errorType, "reeve.result_denied")
	}
	s.end(s.open[call.key], how)
}

// answered ends the wait for people.
func (s *Sink) answered(r *export.Record) {
	details, _ := r.Opening.Details()
	wait := s.found(waitKey{details["approval"]})
	if wait == nil || details["state"] == "held" { // somebody agreed, and others must
		return
	}
	by, _ := r.Opening.Asker()
	wait.span.end = r.Time
	wait.span.text(approvalSaid, cmp.Or(details["state"], strings.TrimPrefix(r.Kind, "admin.approval.")))
	wait.span.text("reeve.approval.by", by.Name)
	s.end(s.open[wait.key], "answered")
}

// ContentsOf is what an act holds, as JSON: the arguments of a call, else its texts.
func ContentsOf(a *act.Action) []byte {
	b := []byte{'['}
	if len(a.Arguments) > 0 {
		b[0] = '{'
		for i, arg := range a.Arguments {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(rawjson.AppendString(b, arg.Name), ':'), arg.Value...)
			if len(b) > maxContents {
				break
			}
		}
		return append(b, '}')
	}
	for i, leaf := range a.Content {
		if len(b) > maxContents {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, leaf.Text)
	}
	return append(b, ']')
}

// maxContents is after how many bytes of an act no further part of it is sent; an
// attribute is cut to maxValue, but what stands in it must have been masked whole.
const maxContents = 4 * maxValue

// Of names the trace and the span of an act by its record, for who tells of the same record
// elsewhere. A result has no span, since it ends that of its call. What is no act has neither.
func Of(key string, r *export.Record, links *ledger.ActLinks) (where act.Traceparent, ok bool) {
	if !slices.Contains(act.Kinds, act.Kind(r.Kind)) || links.Session == "" && links.Task == "" && links.Traceparent == "" {
		return where, false
	}
	where = Traceparent(key, &act.Action{Traceparent: links.Traceparent, Parent: links.Parent, Session: links.Session, Task: links.Task}, act.Position{Log: r.Log, Index: r.Index})
	if isResult(r.Kind) {
		where.Span = [8]byte{}
	}
	return where, true
}

// Traceparent names the span that an act will have once its record is exported, for what
// is done because of it: its caller's trace, or its session's.
func Traceparent(ledger string, a *act.Action, at act.Position) act.Traceparent {
	t := act.Traceparent{Span: SpanOf(ledger, at), Flags: 1}
	if caller, ok := act.ParseTraceparent(a.Traceparent); ok {
		t.Trace = caller.Trace
	} else {
		t.Trace = TraceOf(cmp.Or(a.Parent, a.Session, a.Task))
	}
	return t
}
