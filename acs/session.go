package acs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of item that are kept: a session, what was used up of it, and a skill that may
// be loaded.
const (
	sessionKind = "acs"
	usedKind    = "acs.used"
	skillKind   = "acs.skill"
)

// kept is for how long a session is remembered after its last step, and a request_id after
// its use: longer than a copy of it is in time.
const kept = 7 * 24 * time.Hour

// sessionState is what was agreed to for a session, and where it stands.
type sessionState struct {
	Session string `json:"session"`
	Key     string `json:"key"`   // the label that it is bound to
	Agent   string `json:"agent"` // the agent_id that it is bound to
	Owner   string `json:"owner"` // the principal
	Hello   string `json:"hello"` // the hash of the ClientHello
	// Methods, Profiles and Transport are what the terms differ in; Terms is the ServerHello of
	// a session that was begun when all of that was written with each step.
	Methods   []string       `json:"methods"`
	Profiles  []string       `json:"profiles,omitzero"`
	Transport string         `json:"transport,omitzero"`
	Terms     jsontext.Value `json:"terms,omitzero"`
	Head      string         `json:"head,omitzero"` // of the chain
	Ended     bool           `json:"ended,omitzero"`
	// Calls are the tools' calls that were let through, and whose results are awaited.
	Calls []pending `json:"calls,omitzero"`
	// Intent is what the user wants of the session, where it binds; nil for no bounds.
	Intent *intent `json:"intent,omitzero"`
	// Deferred is how often a step of the session was put off until people have answered.
	Deferred int       `json:"deferred,omitzero"`
	At       time.Time `json:"at"`
}

type pending struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Approval is what the agent's user was asked about the call; empty where they were not.
	Approval string `json:"approval,omitzero"`
}

// maxSessions is how many sessions of one agent are remembered at once.
const maxSessions = 10_000

// maxDeferred bounds how often a session's steps are put off: an agent that asks again each
// half minute can do so for a night.
const maxDeferred = 1000

// maxPending is how many calls without a result are remembered.
const maxPending = 64

func sessionID(session string) string { return guard.ItemID(16, sessionKind, session) }

func newSessions(g *guard.Guard) *guard.Items[sessionState] {
	return guard.NewItems(g, guard.Kind[sessionState]{
		Name:  sessionKind,
		Quota: guard.Quota{Name: sessionKind, What: "sessions", N: maxSessions},
		Parse: func(item *ledger.Item) (*sessionState, error) {
			t := new(sessionState)
			if err := json.Unmarshal(item.Data, t); err != nil {
				return nil, err
			}
			if sessionID(t.Session) != item.ID {
				return nil, errors.New("another one stands in its place")
			}
			return t, nil
		},
		Fill: func(t *sessionState, item *guard.Item) (err error) {
			item.Owner, item.Due = t.Owner, t.At.Add(kept).Truncate(time.Hour).Add(time.Hour) // in whole hours: it changes seldom
			item.Data, err = json.Marshal(t)
			return err
		},
	})
}

// newMarks are items that say by being there that something was.
func newMarks(g *guard.Guard, kind string) *guard.Items[time.Time] {
	return guard.NewItems(g, guard.Kind[time.Time]{
		Name:  kind,
		Parse: func(*ledger.Item) (*time.Time, error) { return new(time.Time), nil },
		Fill: func(at *time.Time, item *guard.Item) error {
			item.Due = at.Add(kept)
			return nil
		},
	})
}

// usedID names what was used up in a session. A UUID is one in either case of its letters.
func usedID(what, session, text string) string {
	if what == "request_id" {
		text = strings.ToLower(text)
	}
	return guard.ItemID(16, usedKind, what, session, text)
}

// use is what uses a request's id and nonce up; replayed is true where one was used before.
func (s *Server) use(ctx context.Context, r *request) (items []*guard.Item, replayed bool, err error) {
	now := s.cfg.Guard.Now()
	names := []string{usedID("request_id", r.session, r.id)}
	if n := r.Params.Get("nonce"); n.Exists() {
		names = append(names, usedID("nonce", r.session, n.Text()))
	}
	for _, name := range names {
		_, item, err := s.used.Get(ctx, name)
		if err != nil || item.Found {
			return nil, err == nil, err
		}
		if err := s.used.Fill(&now, item); err != nil {
			return nil, false, err
		}
		items = append(items, item)
	}
	return items, false, nil
}

// standing is where a session stands: its state, and the item that it was read from, or
// written to, last. Both are nothing for a session that is not there.
type standing struct {
	state *sessionState
	item  *guard.Item
}

// recent are the sessions that this node wrote lately: their next steps need not read them.
// A step writes its session, and loses against another node that wrote it meanwhile; then it
// is read. The zero value is ready.
type recent struct {
	mu  sync.Mutex
	all map[string]*standing
}

// maxRecent bounds the memory for them; then one that is there leaves.
const maxRecent = 1024

// freshFor is for how long a session is not read again.
const freshFor = time.Hour

// take gives a session out, to one who has its lock; nil where it is to be read.
func (l *recent) take(id string, now time.Time) *standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.all[id]
	delete(l.all, id)
	if at == nil || now.Sub(at.state.At) > freshFor {
		return nil
	}
	return at
}

func (l *recent) put(id string, at *standing) {
	if at.state == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*standing{}
	}
	for other := range l.all {
		if len(l.all) < maxRecent {
			break
		}
		delete(l.all, other)
	}
	l.all[id] = at
}

// stands is where the session of a request stands. A handshake reads it anew, since it may
// write none.
func (s *Server) stands(ctx context.Context, r *request, id string, now time.Time) (*standing, error) {
	at := s.recent.take(id, now)
	if at != nil && r.Method != "handshake/hello" {
		return at, nil
	}
	state, item, err := s.sessions.Get(ctx, id)
	return &standing{state, item}, err
}

// step takes one request of a session, and says in at where the session stands then. The
// error is ledger.ErrLost where another node has written the session meanwhile.
func (s *Server) step(ctx context.Context, r *request, at *standing) ([]byte, *jsonrpc.Error, error) {
	state, item := at.state, at.item
	if state == nil && r.Method != "handshake/hello" {
		return nil, with(fault(NotNegotiated, "No session was agreed to: begin with handshake/hello."), "method", rawjson.Quote(r.Method)), nil
	}
	if state != nil && (state.Key != r.key.ID || state.Agent != r.meta.Get("agent_id").Text()) {
		why := act.Final("acs", "key_not_bound", "The session is another agent's, or was begun with another key.", "Begin a session of your own.")
		n := s.traces(s.note(r, "acs.refused", why.Code), r, &verdict{word: "deny", why: wording.Advice(&why), codes: []string{why.Code}}, "")
		return s.refusal(r, why), nil, s.cfg.Guard.Write(ctx, n) // nothing enters the session
	}
	// What was found unused when it came is written with the step: who has used it since then
	// has written it, so that this step loses, and reads it again.
	used, replayed, err := r.used, false, error(nil)
	if r.used = nil; used == nil {
		used, replayed, err = s.use(ctx, r)
	}
	if err != nil {
		return nil, nil, err
	}
	if replayed {
		return nil, fault(ReplayDetected, "A request with this request_id or nonce was taken before."), nil
	}
	if r.Method == "handshake/hello" {
		return s.hello(ctx, r, at, used)
	}
	// What follows uses the request's id up, whatever becomes of it.
	refuse := func(fail *jsonrpc.Error) ([]byte, *jsonrpc.Error, error) {
		return nil, fail, s.cfg.Guard.Write(ctx, s.note(r, "acs.refused", fail.Message), used...)
	}
	if !negotiated(state.Methods, r.Method) {
		return refuse(with(fault(NotNegotiated, "This method was not agreed to in the handshake."), "method", rawjson.Quote(r.Method)))
	}
	a, wrongParams := decode(r.Request)
	switch {
	case wrongParams != nil:
		return refuse(wrong(jsonrpc.InvalidParams, wrongParams))
	case a == nil:
		return refuse(fault(jsonrpc.MethodNotFound, "ACS 0.1.0 has no such method."))
	}
	a.Principal, a.Proof = r.by(), r.proof
	made := entryOf(r.Message, r.hash, state.Head)
	entry := &link{made, made.Head()}
	if state.Ended {
		a.Refusals = append(a.Refusals, act.Final("acs", "session_ended", "The session has ended.", "Begin another one."))
	}
	if state.Deferred >= maxDeferred && a.IsCall() {
		a.Refusals = append(a.Refusals, act.Final("acs", "deferrals_exhausted", "Too many steps of this session were put off until people answer.", "Begin another session."))
	}
	if said := r.meta.Get("session_state").Get("chain_hash"); said.Exists() && said.Text() != state.Head {
		a.Refusals = append(a.Refusals, act.Final("acs", "chain_mismatch", "The chain of this session has another head here.", "Begin another session."))
	}
	if a.Kind == act.ToolResult {
		if err := s.answers(ctx, r, a, state); err != nil {
			return nil, nil, err
		}
		for _, p := range state.Calls {
			if p.ID == a.Answers {
				a.Dialogue = p.Approval
			}
		}
	}
	if why := state.within(r, a); why != nil {
		a.Refusals = append(a.Refusals, *why)
	}
	state.Head, state.At = entry.head, s.cfg.Guard.Now()
	if told[r.Method] && len(a.Refusals) == 0 {
		return s.tell(ctx, r, a, at, used, entry)
	}
	if r.Method == "steps/skillLoad" {
		if err := s.mayLoad(ctx, r, a); err != nil {
			return nil, nil, err
		}
	}
	var next sessionState
	d, modified, err := s.cfg.Guard.DecideWith(ctx, a, guard.With{Items: func(ruling *guard.Ruling) ([]*guard.Item, error) {
		next = *state
		next.note(r, a, ruling.Decision)
		if err := s.sessions.Fill(&next, item); err != nil {
			return nil, err
		}
		items := append(slices.Clone(used), item)
		if r.Method == "steps/skillRegister" && ruling.Effect == act.Allow {
			skill, err := s.skill(ctx, r, "definition")
			if err != nil || skill.Found {
				return items, err
			}
			if err := s.skills.Fill(&state.At, skill); err != nil {
				return nil, err
			}
			items = append(items, skill)
		}
		return items, nil
	}, Answer: s.tracing(r, a, entry)})
	if err != nil {
		return nil, nil, err
	}
	at.state, at.item = &next, item.Next()
	b, err := s.decided(ctx, r, a, &d, modified, entry)
	return b, nil, err
}

// tell takes what is so already, and that nobody can deny. Its texts are read as all are, and
// a summary that the policy lets nobody read does not pass.
func (s *Server) tell(ctx context.Context, r *request, a *act.Action, at *standing, used []*guard.Item, entry *link) ([]byte, *jsonrpc.Error, error) {
	state, item := at.state, at.item
	state.Ended = r.Method == "steps/sessionEnd"
	if r.Method == "steps/postCompact" {
		d, modified, err := s.cfg.Guard.DecideWith(ctx, a, guard.With{Items: func(*guard.Ruling) ([]*guard.Item, error) {
			return append(slices.Clone(used), item), s.sessions.Fill(state, item)
		}, Answer: s.tracing(r, a, entry)})
		if err != nil {
			return nil, nil, err
		}
		at.item = item.Next()
		b, err := s.decided(ctx, r, a, &d, modified, entry)
		return b, nil, err
	}
	if err := s.sessions.Fill(state, item); err != nil {
		return nil, nil, err
	}
	allowed := &verdict{word: "allow"}
	n := s.traces(s.note(r, "acs."+strings.TrimPrefix(r.Method, "steps/"), ""), r, allowed, entry.head)
	if err := s.cfg.Guard.Write(ctx, n, append(used, item)...); err != nil {
		return nil, nil, err
	}
	at.item = item.Next()
	if err := s.late(ctx, r, allowed, entry.head); err != nil {
		return nil, nil, err
	}
	return appendChain(s.begin(r, "allow"), entry), nil, nil
}

// note is the record of what is no decision.
func (s *Server) note(r *request, kind, why string) *guard.Note {
	details := map[string]string{"session": r.session, "agent": r.meta.Get("agent_id").Text(), "key": r.key.ID, "method": r.Method, "request_id": r.id}
	if why != "" {
		details["why"] = why
	}
	return &guard.Note{Kind: kind, Door: "acs", By: r.by(), Details: details, Request: r.Body}
}

// An intent bounds a session to what its user wants: no other tool is called in it.
type intent struct {
	Hash string   `json:"hash"`
	May  []wanted `json:"may"`
}

// wanted is a tool that the user wants used; an empty operation stands for all of it.
type wanted struct {
	Tool      string `json:"tool"`
	Operation string `json:"operation,omitzero"`
}

// maxWanted is how many tools an intent names at most.
const maxWanted = 1024

// within takes the session's intent in where a step brings one, and is why the step is
// refused by it. An intent stands once it is there: whatever an agent reads, it does not grow.
func (t *sessionState) within(r *request, a *act.Action) *act.Reason {
	p := r.Params.Get("payload")
	if said := p.Get("intent"); said.Get("parsed").Exists() && (r.Method == "steps/sessionStart" || r.Method == "steps/agentTrigger") {
		sum := sha256.Sum256(said.AppendCanonical(nil))
		hash := hex.EncodeToString(sum[:])
		switch {
		case t.Intent != nil && t.Intent.Hash == hash:
		case t.Intent != nil:
			why := act.Final("acs", "intent_fixed", "The session has an intent already, which does not change.", "Begin another session.")
			return &why
		case !said.Get("parser_provenance").Get("origin").Is("user_input"):
			why := act.Final("acs", "intent_unfounded", "An intent is read from what the user says, and this one is not said to be.", "Say where it was read from (parser_provenance).")
			return &why
		case said.Get("scope_mode").Is("strict"):
			next := &intent{Hash: hash}
			for _, v := range said.Get("parsed").Elems() {
				one := wanted{v.Text(), ""}
				if v.Kind() == rawjson.Object {
					one = wanted{v.Get("tool").Text(), v.Get("operation").Text()}
				}
				if one.Tool != "" && len(one.Tool) <= 256 && len(next.May) < maxWanted {
					next.May = append(next.May, one)
				}
			}
			t.Intent = next
		}
	}
	if t.Intent == nil || !a.IsCall() || slices.ContainsFunc(t.Intent.May, func(w wanted) bool {
		return w.Tool == a.Resource && (w.Operation == "" || p.Get("operation").Is(w.Operation))
	}) {
		return nil
	}
	why := act.Final("acs", "intent_mismatch", "The intent of this session does not have this tool.", "Keep to what the user wants, or begin a session in which they want this.")
	return &why
}

// note remembers a call that was let through until its result, and forgets it then.
// So is one that the agent's user is asked about: that they agreed its result tells.
func (t *sessionState) note(r *request, a *act.Action, d *act.Decision) {
	effect, call := d.Effect, pending{ID: a.ID, Tool: a.Resource}
	if effect == act.Escalate {
		t.Deferred++
		if asks(r, a, d) {
			effect, call.Approval = act.Allow, d.Approval.ID
		}
	}
	switch {
	case a.Kind == act.ToolCall && effect >= act.Modify:
		t.Calls = append(slices.Clone(t.Calls), call)
		t.Calls = t.Calls[max(0, len(t.Calls)-maxPending):]
	case a.Kind == act.ToolResult:
		t.Calls = slices.DeleteFunc(slices.Clone(t.Calls), func(p pending) bool { return p.ID == a.Answers })
	}
}

// answers finds the call that a result is of. A reference to what never came in this session
// is noted in the record; what follows from it is the policy's matter (result.orphan).
func (s *Server) answers(ctx context.Context, r *request, a *act.Action, state *sessionState) error {
	if a.Answers == "" {
		a.Answers = state.awaited(r.Params.Get("payload").Get("tool").Get("name").Text())
		return nil
	}
	if slices.ContainsFunc(state.Calls, func(p pending) bool { return p.ID == a.Answers }) {
		return nil
	}
	_, item, err := s.used.Get(ctx, usedID("request_id", r.session, a.Answers))
	if err == nil && !item.Found {
		a.Faults = append(a.Faults, "request_id_ref_unresolved: the result names a request that did not come in this session")
	}
	return err
}

// awaited is the newest call of a tool whose result has not come; empty for none.
func (t *sessionState) awaited(tool string) string {
	for _, p := range slices.Backward(t.Calls) {
		if tool == "" || p.Tool == tool {
			return p.ID
		}
	}
	return ""
}

// skill is what says that a skill was registered, of exactly this content.
func (s *Server) skill(ctx context.Context, r *request, within string) (*guard.Item, error) {
	p := r.Params.Get("payload")
	hash := p.Get("digest")
	if within != "" {
		hash = p.Get(within).Get("digest")
	}
	_, item, err := s.skills.Get(ctx, guard.ItemID(16, skillKind, r.by().Name, p.Get("skill_id").Text(), hash.Get("algorithm").Text(), hash.Get("value").Text()))
	return item, err
}

// mayLoad refuses a skill that was not registered as it is now.
func (s *Server) mayLoad(ctx context.Context, r *request, a *act.Action) error {
	item, err := s.skill(ctx, r, "")
	if err == nil && !item.Found {
		a.Refusals = append(a.Refusals, act.Reason{
			Rule: "acs", Code: "skill_unverifiable", Effect: act.Deny,
			Message: "This skill was not registered, or was another one then.", Instead: "Register it first.",
		})
	}
	return err
}

// offered are the profiles that are kept to: an agent has those of them that it names.
func (s *Server) offered() []string {
	list := []string{"acs-core", "acs-audit", "acs-inspect", "acs-inspect-dynamic"}
	if s.cfg.Trace {
		list = append(list, "acs-trace")
	}
	return list
}

// negotiated reports whether a method is one that was agreed to. A wrapped protocol may be
// named as a whole.
func negotiated(methods []string, method string) bool {
	return slices.ContainsFunc(methods, func(m string) bool {
		prefix, all := strings.CutSuffix(m, "/*")
		return m == method || all && strings.HasPrefix(method, prefix+"/")
	})
}

// evaluated reports whether a method, as an agent offers it, is one that is judged here.
func evaluated(method string) bool {
	if name, ok := strings.CutPrefix(method, "steps/"); ok {
		return steps[name] != nil
	}
	_, wrapped := mcpMethod(method)
	return wrapped || slices.Contains(boms, method)
}

// hello agrees on the terms of a session, and keeps them: they hold for as long as it goes
// on, whatever the node's configuration is then.
func (s *Server) hello(ctx context.Context, r *request, at *standing, used []*guard.Item) ([]byte, *jsonrpc.Error, error) {
	state, item := at.state, at.item
	p := r.Params.Get("payload")
	if f := helloTable.Check(p, r.Message); f != nil {
		return nil, wrong(jsonrpc.InvalidParams, f), nil
	}
	sum := sha256.Sum256(p.AppendCanonical(nil))
	said := hex.EncodeToString(sum[:])
	if state != nil {
		switch {
		case state.Ended:
			return nil, fault(ReplayDetected, "This session has ended."), nil
		case state.Hello != said:
			return nil, fault(SessionRefused, "This session was begun on other terms."), nil
		}
		return terms(state), nil, s.cfg.Guard.Write(ctx, s.note(r, "acs.hello", "again"), used...)
	}
	has := func(name string, words ...string) bool {
		for v := range p.Get(name).Strings() {
			if slices.Contains(words, v.Text()) {
				return true
			}
		}
		return false
	}
	versions := false
	for v := range p.Get("acs_versions_supported").Strings() {
		versions = versions || speaks(v.Text())
	}
	transport := "http"
	if !has("transports_supported", "http") || s.cfg.TLS && has("transports_supported", "https") {
		transport = "https"
	}
	switch {
	case !versions:
		return nil, with(fault(UnsupportedVersion, "None of these versions is spoken here."), "supported_versions", []byte(`["`+Version+`"]`)), nil
	case !has("transports_supported", transport):
		return nil, fault(SessionRefused, "This guardian is asked by http or https."), nil
	case p.Get("profiles_supported").Len() > 0 && !has("profiles_supported", "acs-core"):
		return nil, fault(SessionRefused, "Other profiles stand upon acs-core, which is not among these."), nil
	}
	t := &sessionState{
		Session: r.session, Key: r.key.ID, Agent: r.meta.Get("agent_id").Text(), Owner: r.by().Name, Hello: said, At: s.cfg.Guard.Now(), Methods: []string{},
	}
	for m := range p.Get("methods_implemented").Strings() {
		if name := m.Text(); evaluated(name) && !slices.Contains(t.Methods, name) {
			t.Methods = append(t.Methods, name)
		}
	}
	t.Profiles, t.Transport = s.offered(), transport
	if p.Get("profiles_supported").Exists() {
		t.Profiles = slices.DeleteFunc(t.Profiles, func(name string) bool { return !has("profiles_supported", name) })
	} else {
		t.Profiles = t.Profiles[:1] // of an agent that does not say
	}
	if err := s.sessions.Fill(t, item); err != nil {
		return nil, nil, err
	}
	item.Charged = true
	err := s.cfg.Guard.Write(ctx, s.note(r, "acs.hello", ""), append(used, item)...)
	if _, full := errors.AsType[*guard.QuotaError](err); full {
		return nil, fault(SessionRefused, "This agent has begun too many sessions within a week."), nil
	}
	if err != nil {
		return nil, nil, err
	}
	at.state, at.item = t, item.Next()
	return terms(t), nil, nil
}

// terms are those of a session as its agent is told them: in the result, as the standard has
// it, and once more in its payload, where the adapters of its repository look for them.
func terms(t *sessionState) []byte {
	own := t.Terms
	if own == nil {
		own = serverHello(t)
	}
	return add(slices.Clone(own), "payload", own)
}

// Timeout is for how long an agent should wait for an answer. Some take no more than this.
const Timeout = 10 * time.Second

// posture is what follows where no answer came.
const posture = "deny"

// serverHello are the terms: what is not among the methods is not asked about, and what
// cannot be decided must not happen.
func serverHello(t *sessionState) jsontext.Value {
	b := []byte(`{"negotiated_version":"` + Version + `","methods_evaluated":`)
	b = rawjson.AppendStrings(b, t.Methods)
	b = append(b, `,"selected_transport":"`+t.Transport+`","signature_algorithms_supported":["`+Algorithm+`"],"timeout_config":{"default_ms":`...)
	b = strconv.AppendInt(b, Timeout.Milliseconds(), 10)
	b = append(b, `},"skew_window_ms":`...)
	b = strconv.AppendInt(b, Skew.Milliseconds(), 10)
	b = append(b, `,"on_decision_failure":"`+posture+`","approver_types_supported":["human"],"policy_requires_provenance":false`...)
	if slices.Contains(t.Profiles, "acs-trace") {
		b = append(b, `,"trace_emission":{"otel_enabled":false,"ocsf_enabled":true}`...)
	}
	b = append(b, `,"agbom_serializations_supported":["cyclonedx-1.6","spdx-3.0","swid"],"profiles_accepted":`...)
	return append(rawjson.AppendStrings(b, t.Profiles), '}')
}
