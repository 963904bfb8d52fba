package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// entry is what the ledger keeps of a decision: the record itself, and the
// openings of its commitments, which lie beside the log and can expire.
func (g *Guard) entry(in *policy.Input, d *act.Decision, modified []byte) *ledger.Entry {
	a := in.Action
	keep := g.cfg.Keep == KeepAll || g.cfg.Keep == KeepNotAllowed && d.Effect != act.Allow
	masked := g.masked(modified)
	var request []byte
	var shared [][2]int
	over := false // a quota, so that nothing is kept
	if keep {
		request, shared = g.maskedRequest(a)
		var common []byte
		if len(shared) > 0 {
			common = a.Agent.Raw
		}
		if over = !g.contents.take(a, len(request)+len(masked), common); over {
			g.cfg.Refused("contents")
			keep = false
		}
	}
	// The three openings share one piece of memory, of a size that is mostly enough.
	b := make([]byte, 0, 1280)
	b = appendPrincipal(b, a.Principal)
	established := len(b)
	b = appendClaims(b, a, a.User.ID != "" && g.scans(a.User.ID))
	principal := len(b)
	b = appendLinks(b, a, d)
	if over {
		b = append(appendMember(b[:len(b)-1], "not_kept", "quotas.contents"), '}')
	}
	links := len(b)
	asker, linked := g.maskedAsker(b[:principal:principal], established), g.masked(b[principal:links:links])
	named := same(asker, b[:principal]) && same(linked, b[principal:links])
	whole := same(request, a.Body) && named
	b = appendReasons(b, d, keep && !slices.ContainsFunc(d.Edits, func(e act.Edit) bool { return g.Finds(e.Pointer, e.Value) }))
	b = append(appendGiven(append(b[:len(b)-1], `,"given":`...), in, keep && !whole, named), '}')
	e := &ledger.Entry{
		Record: ledger.Record{
			Time: d.At, Kind: string(a.Kind), Door: a.Door,
			Effect: d.Effect.String(), Policy: d.Policy,
		},
		Request:     a.Body,
		Modified:    masked,
		Principal:   asker,
		Reasons:     b[links:],
		Links:       linked,
		KeepContent: keep,
	}
	watched := act.Allow
	for _, r := range d.Reasons {
		e.Record.Rules = appendNew(e.Record.Rules, r.Rule)
		e.Record.Codes = appendNew(e.Record.Codes, r.Code)
		if r.Observe {
			watched = act.Stricter(watched, r.Effect)
		}
	}
	if watched < d.Effect {
		e.Record.Observed = watched.String()
	}
	if keep {
		e.Request, e.Shared = request, shared
	}
	return e
}

// same reports whether two texts are one piece of memory: what is masked is another.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// masked masks an opening: names and ids are a caller's text, too.
func (g *Guard) masked(opening []byte) []byte {
	if len(opening) == 0 || !holds(opening, g.cfg.Redact) {
		return opening
	}
	return mask(opening, g.cfg.Redact, nil)
}

// maskedAsker masks the opening of who asked: what the caller says of itself as any text,
// and the names that reeve established, which are the first so many bytes, without what
// their form seems to announce.
func (g *Guard) maskedAsker(opening []byte, established int) []byte {
	const claims = `,"claims":`
	said := opening[established-1+len(claims) : len(opening)-1]
	masked := g.masked(said)
	if same(masked, said) && !g.scans(string(opening[:established-1])) {
		return opening
	}
	names := g.maskedNames(append(bytes.Clone(opening[:established-1]), '}'))
	if names == nil {
		return nil
	}
	b := append(names[:len(names)-1:len(names)-1], claims...)
	if masked == nil {
		masked = []byte("{}")
	}
	return append(append(b, masked...), '}')
}

// maskedNames masks a principal's opening; nil where that cannot be done.
func (g *Guard) maskedNames(own []byte) []byte {
	if !g.scans(string(own)) {
		return own
	}
	doc, err := rawjson.Parse(own)
	if err != nil {
		return nil
	}
	r := redaction{what: g.cfg.Redact, doc: doc}
	r.value(doc.Root(), around{plain: true})
	masked, err := doc.Splice(r.reps)
	if err != nil || r.stuck || g.scans(string(masked)) {
		return nil // what still holds something is not kept
	}
	return masked
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// maskedRequest is the request as it is kept: what is configured is masked, and the
// agent's description, which seldom changes, is stored once.
func (g *Guard) maskedRequest(a *act.Action) (body []byte, shared [][2]int) {
	body = a.Body
	if g.cfg.Redact != 0 {
		body = g.redacted(a)
	}
	if start := bytes.Index(body, a.Agent.Raw); start >= 0 && len(a.Agent.Raw) > 128 {
		shared = [][2]int{{start, start + len(a.Agent.Raw)}}
	}
	return body, shared
}

// redacted masks what the detectors find in a request as it is kept: in the
// leaves that were judged, and in every other string, such as the agent's
// instructions. It is nil when something is found where nothing can be masked.
func (g *Guard) redacted(a *act.Action) []byte {
	what := g.cfg.Redact
	if !g.finds(a) {
		return a.Body // mostly so
	}
	files := map[string]bool{} // leaves that are a file's bytes
	for _, leaf := range a.Content {
		if leaf.Fixed && g.scans(leaf.Text) {
			return nil // a name, or encoded data: what cannot be masked is not kept
		}
		if leaf.Base64 {
			files[leaf.Pointer] = true
		}
	}
	return mask(a.Body, what, files)
}

// finds reports whether a request holds something that is to be masked. The
// agent's description is most of many requests, and alike in all of a session:
// one that was clean before is not read again.
func (g *Guard) finds(a *act.Action) bool {
	if g.cfg.Redact == 0 {
		return false
	}
	before, after, cut := restOf(a.Body, a.Agent.Raw)
	if cut && !g.clean.knows(a.Agent.Raw) {
		if holds(a.Agent.Raw, g.cfg.Redact) {
			return true
		}
		g.clean.add(a.Agent.Raw)
	}
	if at := bytes.Index(a.Body, a.Proof); at > 0 && !cut {
		before, after = string(a.Body[:at]), string(a.Body[at+len(a.Proof):])
	}
	if g.scans(before) || g.scans(after) {
		return true
	}
	// A text that is written without escapes was read already.
	escaped := strings.IndexByte(before, '\\') >= 0 || strings.IndexByte(after, '\\') >= 0
	for i := range a.Content {
		if leaf := &a.Content[i]; (escaped || leaf.Base64 || leaf.Fixed) && g.scans(leaf.Text) {
			return true
		}
	}
	return (risk.MayTell(before) || risk.MayTell(after)) && reads(a.Body, g.cfg.Redact, around{})
}

// Finds reports whether a new value at a place of a request holds what is masked before
// it is kept.
func (g *Guard) Finds(pointer string, value []byte) bool {
	if g.cfg.Redact == 0 {
		return false
	}
	r := redaction{what: g.cfg.Redact}
	return g.scans(string(value)) || reads(value, g.cfg.Redact, r.named(nameOf(pointer), around{}))
}

func (g *Guard) scans(text string) bool {
	return g.cfg.Redact != 0 && len(risk.Scan(text, g.cfg.Redact, nil)) > 0
}

// clean remembers texts in which nothing was found, by a hash that nobody
// outside the process can aim at. Newer ones displace older ones.
type clean struct {
	seed  maphash.Seed
	slots [1024]atomic.Uint64
}

func (c *clean) slot(text []byte) (*atomic.Uint64, uint64) {
	h := maphash.Bytes(c.seed, text)
	return &c.slots[h%uint64(len(c.slots))], h | 1 // never the empty slot's 0
}

func (c *clean) knows(text []byte) bool { slot, h := c.slot(text); return slot.Load() == h }
func (c *clean) add(text []byte)        { slot, h := c.slot(text); slot.Store(h) }

// The openings are JSON objects, written by hand since each decision writes three.

func appendPrincipal(b []byte, p act.Principal) []byte {
	b = append(b, `{"name":`...)
	b = rawjson.AppendString(b, p.Name)
	b = append(b, `,"method":`...)
	b = rawjson.AppendString(b, p.Method)
	b = appendMember(b, "organization", p.Organization)
	if d := p.Delegation; d != nil {
		b = appendMember(b, "on_behalf_of", d.OnBehalfOf)
		b = appendNames(b, "actors", d.Actors)
		b = appendMember(b, "client", d.Client)
		b = appendNames(b, "scopes", d.Scopes)
		b = appendMember(b, "proof", d.Proof)
	}
	return append(b, '}')
}

// appendClaims adds to a principal what the caller says of itself, under a name
// of its own. A user's id that will be masked leaves its hash, so that what was
// kept of that user's acts can still be found and erased.
func appendClaims(b []byte, a *act.Action, hashed bool) []byte {
	b = append(b[:len(b)-1], `,"claims":{"agent":`...)
	b = rawjson.AppendString(b, a.Agent.ID)
	b = appendMember(b, "agent_name", a.Agent.Name)
	b = appendMember(b, "agent_version", a.Agent.Version)
	b = appendMember(b, "agent_organization", a.Agent.Organization)
	b = appendMember(b, "user", a.User.ID)
	if hashed {
		b = appendMember(b, "user_hash", ledger.UserHash(a.User.ID))
	}
	b = appendMember(b, "user_name", a.User.Name)
	b = appendMember(b, "user_email", a.User.Email)
	b = appendMember(b, "user_organization", a.User.Organization)
	return append(b, '}', '}')
}

func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return rawjson.AppendString(b, value)
}

func appendNames(b []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	return rawjson.AppendStrings(append(b, '"', ':'), list)
}

// appendLinks writes ledger.ActLinks.
func appendLinks(b []byte, a *act.Action, d *act.Decision) []byte {
	b = append(b, `{"digest":`...)
	b = rawjson.AppendString(b, a.Digest.String())
	b = appendMember(b, "method", a.Method)
	b = appendMember(b, "resource", a.Resource)
	if a.Canonical != a.Resource {
		b = appendMember(b, "tool", a.Canonical)
	}
	b = appendMember(b, "server", a.Server)
	b = appendMember(b, "session", a.Session)
	b = appendMember(b, "parent", a.Parent)
	b = appendMember(b, "turn", a.Turn)
	b = appendMember(b, "step", a.Step)
	b = appendMember(b, "id", a.ID)
	b = appendMember(b, "answers", a.Answers)
	b = appendMember(b, "task", a.Task)
	if d.Approval != nil {
		b = appendMember(b, "approval", d.Approval.ID)
	}
	b = appendMember(b, "traceparent", a.Traceparent)
	if a.Door == "mcp" { // whose requests do not say it
		b = appendMember(b, "from", a.From)
		b = appendMember(b, "hints", strings.Join(a.Hints.Names(), " "))
	}
	for i, f := range a.Faults {
		if i == 0 {
			b = append(b, `,"faults":[`...)
		} else {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, f)
	}
	if len(a.Faults) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendDetails writes ledger.Details.
func appendDetails(b []byte, details map[string]string) []byte {
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(details)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, k)
		b = append(b, ':')
		b = rawjson.AppendString(b, details[k])
	}
	return append(b, '}')
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// appendReasons writes a ledger.Outcome, as json.Marshal would.
func appendReasons(b []byte, d *act.Decision, keep bool) []byte {
	b = append(b, `{"effect":"`...)
	b = append(b, d.Effect.String()...)
	b = append(b, `","reasons":[`...)
	for i, r := range d.Reasons {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"rule":`...)
		b = rawjson.AppendString(b, r.Rule)
		b = appendMember(b, "code", r.Code)
		b = append(b, `,"message":`...)
		b = rawjson.AppendString(b, r.Message)
		b = appendMember(b, "instead", r.Instead)
		b = appendMember(b, "effect", r.Effect.String())
		if r.Observe {
			b = append(b, `,"observe":true`...)
		}
		b = appendMember(b, "pointer", r.Pointer)
		if r.Final {
			b = append(b, `,"final":true`...)
		}
		b = appendMember(b, "exception", r.Exception)
		b = appendTraces(b, r.Traces)
		b = append(b, '}')
	}
	b = append(b, `],"risk":{"score":`...)
	b = strconv.AppendFloat(b, d.Risk.Score, 'g', -1, 64)
	b = append(b, `,"level":`...)
	b = rawjson.AppendString(b, d.Risk.Level)
	b = append(rawjson.AppendStrings(append(b, `,"threats":`...), d.Risk.Threats), '}')
	switch {
	case len(d.Edits) == 0:
	case !keep:
		b = append(b, `,"incomplete":true`...)
	default:
		b = append(b, `,"edits":[`...)
		for i, e := range d.Edits {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"pointer":`...)
			b = rawjson.AppendString(b, e.Pointer)
			b = append(b, `,"value":`...)
			b = append(b, e.Value...)
			b = appendMember(b, "of", hashOf(e.Old))
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	b = append(b, `,"policy":`...)
	b = rawjson.AppendString(b, d.Policy)
	if d.Approval != nil {
		b = appendMember(b, "approval", d.Approval.ID)
	}
	return append(b, '}')
}

// appendGiven writes a ledger.Given. Messages and places are left out: they may quote the act.
func appendGiven(b []byte, in *policy.Input, masked, named bool) []byte {
	a := in.Action
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, ledger.GivenVersion, 10)
	for i, v := range in.Violations {
		b = appendNext(b, "violations", i)
		b = append(b, `{"check":`...)
		b = rawjson.AppendString(b, v.Check)
		b = append(appendIs(b, "unsure", v.Unsure), '}')
	}
	b = appendEnd(b, len(in.Violations))
	for i, r := range a.Refusals {
		b = appendNext(b, "refusals", i)
		b = append(b, `{"rule":`...)
		b = rawjson.AppendString(b, r.Rule)
		b = append(b, `,"code":`...)
		b = rawjson.AppendString(b, r.Code)
		b = append(appendIs(b, "final", r.Final), '}')
	}
	b = appendEnd(b, len(a.Refusals))
	if len(a.Enforces) > 0 {
		b = rawjson.AppendStrings(append(b, `,"enforces":`...), a.Enforces)
	}
	b = appendIs(b, "bounded", a.Bounded)
	if a.Model != nil {
		b = strconv.AppendFloat(append(b, `,"model":`...), *a.Model, 'g', -1, 64)
	}
	if len(a.ModelThreats) > 0 {
		b = rawjson.AppendStrings(append(b, `,"model_threats":`...), a.ModelThreats)
	}
	for i, r := range a.Runs {
		b = append(appendNext(b, "runs", i), `{"file":`...)
		b = rawjson.AppendString(b, r.File)
		if r.Code != "" {
			b = rawjson.AppendString(append(b, `,"code":`...), r.Code)
			b = strconv.AppendFloat(append(b, `,"weight":`...), r.Weight, 'g', -1, 64)
		}
		b = appendIs(b, "found", r.Found)
		b = appendIs(b, "sets", r.Sets)
		if r.Line > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), int64(r.Line), 10)
		}
		b = append(b, '}')
	}
	b = appendEnd(b, len(a.Runs))
	b = appendIs(b, "forgotten", inSession(a) && !in.Session.Known)
	return append(appendIs(appendIs(b, "masked", masked), "named", masked && named), '}')
}

// appendNext begins element i of a list that is a member.
func appendNext(b []byte, name string, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, `":[`...)
}

// appendEnd ends a list of n elements, which is left out if there are none.
func appendEnd(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	return append(b, ']')
}

func appendIs(b []byte, name string, is bool) []byte {
	if !is {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, `":true`...)
}

// appendTraces adds where the values came from that a reason is about.
func appendTraces(b []byte, traces []act.Trace) []byte {
	for i, t := range traces {
		if i == 0 {
			b = append(b, `,"traces":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"argument":`...)
		b = rawjson.AppendString(b, t.Argument)
		b = append(b, `,"value":`...)
		b = rawjson.AppendString(b, t.Value)
		b = appendMember(b, "origin", t.Origin)
		b = appendMember(b, "source", t.Source)
		if b = appendMember(b, "decision", t.Decision); t.Forgotten {
			b = append(b, `,"forgotten":true`...)
		}
		b = append(b, '}')
	}
	if len(traces) > 0 {
		b = append(b, ']')
	}
	return b
}

// recorded returns the decision that was recorded for an act which is asked
// about again. It is ErrNotFound when that answer is no longer kept, when its
// edits do not fit the form in which the act is sent now, or when the act was
// held and is so no more: then it is judged anew.
func (g *Guard) recorded(ctx context.Context, a *act.Action, at act.Position, placed bool, pending *ledger.Ticket) (act.Decision, []byte, error) {
	if !placed {
		if pending == nil {
			return act.Decision{}, nil, ledger.ErrNotFound
		}
		var err error
		if at, err = pending.Wait(ctx); err != nil {
			return act.Decision{}, nil, err
		}
	}
	o, err := ledger.ReadOpening(ctx, g.cfg.Store, at)
	if err != nil {
		return act.Decision{}, nil, err
	}
	if o.Reasons == nil {
		return act.Decision{}, nil, ledger.ErrNotFound
	}
	kept, err := o.Outcome()
	if err != nil {
		return act.Decision{}, nil, fmt.Errorf("read the recorded answer %s: %w", at, err)
	}
	if kept.Incomplete {
		return act.Decision{}, nil, ledger.ErrNotFound
	}
	effect, _ := act.ParseEffect(kept.Effect)
	d := act.Decision{
		Effect: effect, Risk: kept.Risk, Policy: kept.Policy, Digest: a.Digest,
		Position: at, At: a.At, Repeat: true,
	}
	for _, r := range kept.Reasons {
		e, _ := act.ParseEffect(r.Effect)
		d.Reasons = append(d.Reasons, act.Reason{
			Rule: r.Rule, Code: r.Code, Message: r.Message, Instead: r.Instead,
			Effect: e, Observe: r.Observe, Pointer: r.Pointer, Final: r.Final, Exception: r.Exception, Traces: r.Traces,
		})
	}
	for _, e := range kept.Edits {
		d.Edits = append(d.Edits, act.Edit{Pointer: e.Pointer, Value: e.Value})
	}
	if kept.Approval != "" {
		h, _, err := g.approvals.Get(ctx, kept.Approval)
		switch {
		case err != nil:
			return act.Decision{}, nil, err
		case h != nil:
			d.Approval = stateOf(h, a.At)
		}
	}
	if d.Effect == act.Escalate && (d.Approval == nil || d.Approval.State != string(approval.Held)) {
		return act.Decision{}, nil, ledger.ErrNotFound
	}
	modified, err := Apply(a, &d)
	if err != nil {
		return act.Decision{}, nil, ledger.ErrNotFound
	}
	for i, e := range d.Edits {
		if hashOf(e.Old) != kept.Edits[i].Of {
			return act.Decision{}, nil, ledger.ErrNotFound
		}
	}
	return d, modified, nil
}
