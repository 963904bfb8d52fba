package proxy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/guard"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"

	"github.com/go-json-experiment/json/jsontext"
)

// Question is one message that a proxy asks about before it passes it on.
type Question struct {
	Message Text   `json:"message"`
	Server  string `json:"server"`
	Session string `json:"session,omitzero"` // empty for none
	Agent   string `json:"agent,omitzero"`   // what the client calls itself
	// From is the side that sent the message: act.FromClient or act.FromServer.
	From string `json:"from,omitzero"`
	// ID numbers a request within the session, and Answers says of an answer
	// which request it is for. They are the proxy's own: those of the two sides
	// are no numbers that only one of them uses.
	ID      string `json:"id,omitzero"`
	Answers string `json:"answers,omitzero"`
	// Method and Resource are of the request that an answer is for.
	Method   string `json:"method,omitzero"`
	Resource string `json:"resource,omitzero"`
	// Hints are what the server says of the tool that is called, or was: see act.Hints.
	Hints []string `json:"hints,omitzero"`
	// Routine says that the message is the protocol's own housekeeping: where no
	// rule says anything of it, it passes without a record.
	Routine bool `json:"routine,omitzero"`
	// Refusals are why the proxy itself denies it.
	Refusals []act.Reason `json:"refusals,omitzero"`

	doc       *rawjson.Doc // of Message, where it is read already
	untouched bool         // as message.untouched
}

// Answer is what was decided about a message. The zero value denies.
type Answer struct {
	Effect string `json:"effect"` // allow, modify, deny or escalate
	// Message is what may pass instead, when the effect is modify.
	Message Text `json:"message,omitzero"`
	// Why is what a person or a model is told, in sentences.
	Why     string   `json:"why,omitzero"`
	Instead []string `json:"instead,omitzero"`
	Codes   []string `json:"codes,omitzero"`
	// Decision is the record's place in the ledger; empty where there is none.
	Decision string `json:"decision,omitzero"`
	// Approval is what people are asked under, when the effect is escalate.
	Approval string `json:"approval,omitzero"`
	// Conditions are what who reads the message should be told of it, when it passes.
	Conditions []string `json:"conditions,omitzero"`
}

// Text is a message in JSON that travels inside of JSON as a string, so that it
// keeps its bytes.
type Text []byte

// MarshalJSONTo writes the string.
func (t Text) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteToken(jsontext.String(string(t)))
}

// UnmarshalJSONFrom reads the string.
func (t *Text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err == nil && token.Kind() != '"' {
		err = errors.New("a message is given as a string")
	}
	if err == nil {
		*t = Text(token.String())
	}
	return err
}

// Guardian judges what passes through a proxy. Local and Remote are guardians.
type Guardian interface {
	// Judge decides about a message, and has recorded it when it returns.
	Judge(ctx context.Context, q *Question) (*Answer, error)
	// Await waits until people have answered, or ctx ends.
	Await(ctx context.Context, approval string) error
	// Tools compares the tools that a server lists with those that are pinned,
	// and returns why tools must not be called, by name. definitions is a JSON array.
	Tools(ctx context.Context, server string, pin pins.Mode, definitions jsontext.Value) (map[string]act.Reason, error)
	// Touched names the methods of housekeeping of which a rule says something
	// although the messages hold no text.
	Touched(ctx context.Context) (map[string]bool, error)
}

// Local is the guardian of a node in this process.
type Local struct {
	Guard *guard.Guard
	Pins  *pins.Pins
	// Principal is who asks.
	Principal act.Principal

	touched atomic.Pointer[touched]
}

// touched is what Touched returned under a policy.
type touched struct {
	policy  string
	methods map[string]bool
}

// Judge implements Guardian.
func (l *Local) Judge(ctx context.Context, q *Question) (*Answer, error) {
	a, err := l.action(q)
	if err != nil {
		return nil, err
	}
	if q.Routine {
		if len(q.Refusals) == 0 && !l.Guard.Applies(a) {
			return &Answer{Effect: act.Allow.String()}, nil
		}
		a.Session = "" // its request was not recorded, and is not missed
	}
	d, modified, err := l.Guard.Decide(ctx, a)
	if err != nil {
		return nil, err
	}
	if d.Effect == act.Modify && modified == nil {
		return nil, errors.New("the changed message is missing")
	}
	return answerOf(&d, modified), nil
}

// Bounds of what a question says beside the message.
const (
	maxName     = 4 << 10 // bytes of each name
	maxRefusals = 8
)

// check refuses what no proxy asks. It can come from anybody with a key.
func (q *Question) check() error {
	for _, s := range []string{q.Server, q.Session, q.Agent, q.ID, q.Answers, q.Method} {
		if len(s) > maxName {
			return badQuestion("a name is longer than %d bytes", maxName)
		}
	}
	if len(q.Refusals) > maxRefusals {
		return badQuestion("there are more than %d refusals", maxRefusals)
	}
	if q.From != "" && q.From != act.FromClient && q.From != act.FromServer {
		return badQuestion("a message comes from the client or the server, not from %.40q", q.From)
	}
	for i := range q.Refusals {
		r := &q.Refusals[i]
		if !slices.Contains(refusalCodes, r.Code) {
			return badQuestion("%.40q is not the code of a proxy's refusal: one of %s", r.Code, strings.Join(refusalCodes, ", "))
		}
		r.Rule = toolsRule
		if len(r.Rule)+len(r.Code)+len(r.Message)+len(r.Instead)+len(r.Pointer) > maxName {
			return badQuestion("a refusal is longer than %d bytes", maxName)
		}
		r.Effect, r.Observe, r.Terms, r.Exception = act.Deny, false, nil, ""
		r.Final = r.Code == act.CodeAmbiguous // such a code is always
	}
	return nil
}

// refusalCodes are those of what a proxy itself refuses. Records name no others
// for it, whoever asks.
var refusalCodes = []string{"mcp.unnamed", "mcp.unlisted", "mcp.tool_held", "mcp.tool_refused", "mcp.address", act.CodeAmbiguous}

// toolsRule is the name under which records have a proxy's refusals.
const toolsRule = "mcp.tools"

// action reads a message as an act.
func (l *Local) action(q *Question) (*act.Action, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	return ActionOf(q, l.Principal)
}

// ActionOf is the act that a question is about, for whoever asks it.
func ActionOf(q *Question, by act.Principal) (*act.Action, error) {
	doc := q.doc
	if doc == nil {
		var err error
		if doc, err = rawjson.Parse(q.Message); err != nil {
			return nil, badQuestion("the message is not acceptable JSON: %w", err)
		}
	}
	var texts content.Set
	m := mcp.Read(doc.Root(), "", &texts)
	if texts.Full {
		return nil, badQuestion("the message holds more than %d pieces of text", content.MaxLeaves)
	}
	a := &act.Action{
		Door: "mcp", Method: m.Method, Kind: act.MCPRequest, Principal: by, Session: q.Session, Server: q.Server,
		ID: q.ID, InnerMethod: m.Method, Resource: m.Resource, Arguments: m.Arguments,
		Failed: m.Failed, Body: doc.Source(), Refusals: q.Refusals, From: cmp.Or(q.From, m.From), Traceparent: m.Traceparent,
	}
	for _, name := range q.Hints {
		h, ok := act.ParseHint(name)
		if !ok {
			return nil, badQuestion("%.40q is no hint about a tool: one of %s", name, strings.Join(act.HintNames(), ", "))
		}
		a.Hints |= h
	}
	a.Agent.ID, a.Agent.Name = by.Name, q.Agent
	if double := doubleIn(doc.Root()); double != nil {
		a.Refusals = append(slices.Clone(q.Refusals), double.Refusal())
	}
	if !m.Request {
		a.Kind, a.ID, a.Answers = act.MCPResponse, "", q.Answers
		a.Method, a.InnerMethod, a.Resource = q.Method, q.Method, q.Resource
	}
	texts.Complete(a, mcp.AppendCanonical(nil, doc.Root()))
	return a, nil
}

// doubleIn looks into a message, or into each of a batch that a proxy refused.
func doubleIn(v rawjson.Value) (d *content.Double) {
	for i, e := range v.Elems() {
		if d = mcp.Double(e, content.Index("", i)); d != nil {
			return d
		}
	}
	return mcp.Double(v, "")
}

// answerOf is a decision as a proxy is told of it.
func answerOf(d *act.Decision, modified []byte) *Answer {
	a := &Answer{
		Effect: d.Effect.String(), Message: modified, Decision: d.Position.String(), Why: wording.Why(d),
		Instead: wording.Few(wording.Deciding(d, wording.Instead)), Codes: wording.Each(d, wording.Code),
	}
	if a.Why == "" && d.Effect <= act.Escalate {
		a.Why = "The policy does not allow this."
	}
	if d.Effect > act.Escalate {
		a.Conditions = d.Conditions
	}
	if h := d.Approval; h != nil && d.Effect == act.Escalate && h.State == string(approval.Held) {
		a.Approval = h.ID
	}
	return a
}

// Await implements Guardian.
func (l *Local) Await(ctx context.Context, id string) error { return l.Guard.Await(ctx, id) }

// Tools implements Guardian. Beside what is held it tells of tools that the
// policy lets nobody call by this way.
func (l *Local) Tools(ctx context.Context, server string, pin pins.Mode, definitions jsontext.Value) (map[string]act.Reason, error) {
	switch pin {
	case pins.Ask, pins.TrustFirst, pins.Off:
	default:
		return nil, badQuestion("%q is no way to pin: choose trust-first, ask or off", pin)
	}
	doc, err := rawjson.Parse(definitions)
	if err != nil {
		return nil, badQuestion("the list of tools is not acceptable JSON: %w", err)
	}
	if doc.Root().Len() > pins.MaxTools {
		return nil, badQuestion("the server lists more than %d tools", pins.MaxTools)
	}
	seen := map[string]bool{}
	var list []rawjson.Value
	for _, d := range doc.Root().Elems() {
		name := d.Get("name").Text()
		if name == "" || seen[name] {
			return nil, badQuestion("the server lists a tool without a name, or two of the name %.80q", name)
		}
		seen[name] = true
		list = append(list, d)
	}
	denied, err := l.Pins.Compare(ctx, l.Principal, server, pin, list)
	if full, ok := errors.AsType[*guard.QuotaError](err); ok { // what cannot be remembered is not let through
		denied, err = map[string]act.Reason{}, nil
		for name := range seen {
			denied[name] = act.Reason{Rule: toolsRule, Code: "quota." + full.Quota, Effect: act.Deny, Message: full.Reason, Instead: "Use another server's tools."}
		}
	}
	if err != nil {
		return nil, err
	}
	if denied == nil {
		denied = map[string]act.Reason{}
	}
	set := l.Guard.Policy()
	for name := range seen {
		if _, held := denied[name]; held {
			continue
		}
		if !granted(set, l.Principal, name) {
			denied[name] = act.Reason{
				Rule: toolsRule, Code: notGranted, Effect: act.Deny,
				Message: "The policy lets nobody call this tool here.", Instead: "Use a tool that is listed.",
			}
		}
	}
	return denied, nil
}

// notGranted is the code of a tool that is left out of lists only: what becomes
// of a call of it the policy says by itself.
const notGranted = "mcp.not_granted"

// granted reports whether calls of a tool can be allowed at all: no rule denies
// every one of them, and where the default denies, a rule lets some pass. It is
// for what a client is shown; each call is judged by itself.
func granted(set *policy.Set, who act.Principal, name string) bool {
	form, _ := canon.Name(name)
	if set.Unheld(form) {
		return false // the policy gives it limits, and nobody holds it to them here
	}
	// A call without arguments: what is denied of it may be let through with some.
	in := &policy.Input{Session: policy.Session{Past: policy.NewPast}, Action: &act.Action{
		Door: "mcp", Method: "tools/call", InnerMethod: "tools/call", Kind: act.MCPRequest,
		Principal: who, Resource: name, Canonical: form,
	}}
	v := set.Evaluate(in)
	if v.Effect != act.Deny {
		return true
	}
	byDefault := slices.ContainsFunc(v.Reasons, func(r act.Reason) bool { return r.Code == policy.CodeDefault && !r.Observe })
	passes := !byDefault
	for _, r := range set.Explain(in).Rules {
		conditional := len(r.Values) > 0
		switch {
		case r.Observe:
		case r.Effect == act.Deny && r.Matched && !conditional:
			return false
		case r.Effect != act.Deny && (r.Matched || conditional):
			passes = true
		}
	}
	return passes
}

// Touched implements Guardian.
func (l *Local) Touched(context.Context) (map[string]bool, error) {
	hash := l.Guard.Policy().Hash()
	if t := l.touched.Load(); t != nil && t.policy == hash {
		return t.methods, nil
	}
	t := &touched{hash, map[string]bool{}}
	for method := range routine {
		// A rule can speak of the request, or of its empty answer.
		for _, kind := range []act.Kind{act.MCPRequest, act.MCPResponse} {
			for _, from := range []string{act.FromClient, act.FromServer} {
				a := &act.Action{Door: "mcp", Method: method, InnerMethod: method, Kind: kind, Principal: l.Principal, From: from}
				a.Agent.ID = l.Principal.Name
				if l.Guard.Applies(a) {
					t.methods[method] = true
				}
			}
		}
	}
	l.touched.Store(t)
	return t.methods, nil
}

// touchedFor is for how long what Touched returned is used.
const touchedFor = 5 * time.Second
