package a2g

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"

	"github.com/go-json-experiment/json/jsontext"
)

// Config is what a Server is made of.
type Config struct {
	Guard *guard.Guard // required
	// Lasts is how long a verdict is good for; 0 means five minutes.
	Lasts time.Duration
	// Session is for how long a registered agent may be silent before it has to
	// register again; 0 means a day.
	Session time.Duration
	// Secret returns the secret that is shared with an agent, in hex, or "" when
	// there is none; nil means that no agent has one.
	Secret func(did string) string
	// Signed says that every agent must sign, also one without a secret or a key.
	Signed bool
	// PerMinute is how many intents one agent may ask for in a minute; 0 for any
	// number.
	PerMinute int
	// Shared has PerMinute together with other nodes, by the minutes of the clock; nil where
	// there are none.
	Shared *quota.Portions
	// Quota bounds one principal's intents that wait for people or for their report;
	// its zero value does not.
	Quota quota.Most
	// Ended is called with each intent that ended and each violation, the
	// latter with an empty outcome; nil for none.
	Ended func(did string, how intent.Outcome)
	// Elsewhere tells the other nodes that the intents of an approval were judged once more,
	// so that they call AnsweredElsewhere; nil where there are none.
	Elsewhere func(ctx context.Context, approval string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger is for what an operator should know; nil means slog.Default.
	Logger *slog.Logger
}

// Server is the governing side: it serves the agents' methods, and sends them
// g2a/* messages. It is safe for concurrent use.
type Server struct {
	cfg     Config
	hub     hub
	intents *intent.Intents
}

// NewServer returns a Server.
func NewServer(cfg Config) *Server {
	if cfg.Lasts == 0 {
		cfg.Lasts = 5 * time.Minute
	}
	if cfg.Session == 0 {
		cfg.Session = 24 * time.Hour
	}
	if cfg.Secret == nil {
		cfg.Secret = func(string) string { return "" }
	}
	if cfg.Ended == nil {
		cfg.Ended = func(string, intent.Outcome) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Server{cfg: cfg, intents: intent.New(cfg.Guard, callOf, cfg.Quota.N, cfg.Quota.Bytes, cfg.Now)}
}

// Namespace is the protocol's methods, for a jsonrpc.Handler. An agent that sends
// its registration and an intent at once is registered when the intent is judged.
func (s *Server) Namespace() jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths:   []string{"/a2g", "/jsonrpc", "/ws"},
		Match:   func(method string) bool { return strings.HasPrefix(method, "a2g/") },
		Handle:  s.handle,
		Words:   words,
		InOrder: func(method string) bool { return method == MethodRegister },
	}
}

func (s *Server) handle(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	switch r.Method {
	case MethodIntent:
		return s.intent(ctx, r)
	case MethodReport:
		return s.report(ctx, r)
	case MethodRegister:
		return s.register(ctx, r)
	case MethodHeartbeat:
		return s.heartbeat(ctx, r)
	}
	return nil, unknownMethod()
}

// intent answers a2g/intent (A2G_INTENT, G2A_VERDICT).
func (s *Server) intent(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	a, _, fault := decodeIntent(r)
	if fault != nil {
		return nil, fault
	}
	if r.ID == nil {
		a.Faults = append(a.Faults, "The intent has no id, so nobody learns the verdict.")
	}
	q := intent.Asking{Params: jsontext.Value(r.Params.Raw()), Lasts: s.cfg.Lasts}
	c, err := s.caller(ctx, r, a)
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	if c.code != 0 {
		return nil, s.refuse(ctx, a, c, r.Params)
	}
	if c.handshake {
		if refused, err := s.useNonce(ctx, a, c); err != nil {
			return nil, s.failed(err, r.Params)
		} else if refused {
			return nil, s.refuse(ctx, a, c, r.Params)
		}
	} else {
		q.Nonce, q.Signed = c.nonce, c.signed
	}
	s.hub.join(c.mailbox, jsonrpc.ConnFrom(ctx), s.cfg.Now())
	n, modified, err := s.intents.Ask(ctx, a, q)
	var full *guard.QuotaError
	switch {
	case errors.Is(err, intent.ErrOtherAct):
		wrong := params.Wrong("/params/intent_id", "This intent_id was used before, for another act.", "a new intent_id, or the same tool and arguments")
		return nil, invalid(wrong, r.Params)
	case errors.Is(err, intent.ErrReplayed):
		c.deny(PolicyViolation, "identity.replay", "The nonce of the signature was used before.", "Sign with a new nonce.")
		return nil, s.refuse(ctx, a, c, r.Params)
	case errors.As(err, &full):
		c.deny(CapabilityExhausted, "quota."+full.Quota, full.Reason, "Report what is done, or wait.")
		return nil, s.refuse(ctx, a, c, r.Params)
	case err != nil:
		return nil, s.failed(err, r.Params)
	}
	if n.Allowed() { // it may have been revoked meanwhile, and its open verdicts taken back before this was one
		known, err := s.cfg.Guard.Agent(ctx, a.Agent.ID)
		if err != nil {
			return nil, s.failed(err, r.Params)
		}
		if known.State == agent.Suspended || known.State == agent.Revoked {
			if _, err := s.intents.Withdraw(ctx, a.Agent.ID); err != nil {
				return nil, s.failed(err, r.Params)
			}
			n.Outcome = intent.Withdrawn
		}
	}
	s.suspendIfSaid(ctx, n, a.Principal)
	return s.verdict(n, modified).answer()
}

// suspend suspends an agent that did another act than the one approved: it is not to
// be believed any more. A name that nobody registered is barred for this principal
// only, since anybody can use it.
func (s *Server) suspend(ctx context.Context, a *act.Action, why string) error {
	ctx = context.WithoutCancel(ctx)
	known, err := s.cfg.Guard.Agent(ctx, a.Agent.ID)
	if err != nil {
		return err
	}
	s.cfg.Logger.Warn("an agent did another act than the one approved, and is suspended", "agent", a.Agent.ID, "principal", a.Principal.Name)
	if known.State == "" {
		return s.cfg.Guard.BarStranger(ctx, a.Agent.ID, why, a.Principal)
	}
	_, err = s.SetState(ctx, a.Agent.ID, agent.Suspended, why, act.Principal{Name: "reeve", Method: "local"})
	if errors.Is(err, agent.ErrRevoked) {
		return nil
	}
	return err
}

// useNonce uses up the nonce of a message's signature, if it has one; refused
// says that it was used before.
func (s *Server) useNonce(ctx context.Context, a *act.Action, c *caller) (refused bool, err error) {
	if c.nonce == "" {
		return false, nil
	}
	err = s.intents.UseNonce(ctx, a.Agent.ID, c.nonce, c.signed, a.Principal)
	if errors.Is(err, intent.ErrReplayed) {
		c.unproven = true
		c.deny(PolicyViolation, "identity.replay", "The nonce of the signature was used before.", "Sign with a new nonce.")
		return true, nil
	}
	return false, err
}

// callOf is the digest of the call that an intent, given as its whole request,
// asks for, also in the form before: what a report says of what was done is
// compared with it.
func callOf(request []byte) (digest, earlier string) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return "", ""
	}
	params := doc.Root().Get("params")
	return callDigest(params.Get("tool").Text(), params.Get("arguments"))
}

// verdict is what an intent is answered with, as it stands now.
func (s *Server) verdict(n *intent.Intent, modified []byte) *ruling {
	d := n.Verdict
	switch {
	case d.Effect == act.Escalate && n.Outcome != "":
		deny(&d, "verdict.expired", "Nobody agreed to this in time.", "Ask with a new intent_id.")
	case !n.Allowed():
	case n.Outcome == intent.Withdrawn:
		deny(&d, "verdict.revoked", "This verdict was taken back.", "Ask with a new intent_id.")
	case n.Outcome == intent.Unreported || !s.cfg.Now().Before(n.Expires):
		deny(&d, "verdict.expired", "This verdict has expired.", "Ask with a new intent_id.")
	}
	v := &ruling{
		intentID: n.ID, decision: &d, expires: n.Expires, model: d.Risk.Model, heuristic: d.Risk.Heuristic,
		modified: modified, blockedBy: blockedByOf(&d),
	}
	v.used = n.Outcome != ""
	if d.Manifest != nil {
		v.manifest = *d.Manifest
	}
	return v
}

// deny turns a decision into a denial for a reason of our own.
func deny(d *act.Decision, code, message, instead string) {
	d.Effect = act.Deny
	d.Reasons = append([]act.Reason{{Rule: "a2g", Code: code, Message: message, Instead: instead, Effect: act.Deny}}, d.Reasons...)
}

// blockedByOf is what denied an act, in the protocol's word, by the gravest reason.
func blockedByOf(d *act.Decision) string {
	for _, r := range d.Reasons {
		if r.Observe || r.Effect != act.Deny {
			continue
		}
		family, _, _ := strings.Cut(r.Code, ".")
		switch {
		case r.Code == "approval_expired", r.Code == "verdict.expired", r.Code == "session.expired":
			return ByExpiry
		case strings.HasPrefix(r.Code, "approval_"):
			return ByApproval
		case r.Code == "agent.capability", r.Code == "agent.rate", r.Code == "session.rate", r.Code == "call.loop", r.Code == policy.CodeUnenforced:
			return ByCapability
		case family == "identity", family == "agent", r.Code == "verdict.revoked":
			return ByIdentity
		case family == "risk":
			return ByRisk
		}
		return ByPolicy
	}
	return ByPolicy
}

// report answers a2g/report (A2G_REPORT).
func (s *Server) report(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	a, report, fault := decodeReport(r)
	if fault != nil {
		return nil, fault
	}
	c, err := s.caller(ctx, r, a)
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	// What was done was done: also who may not ask any more reports it. Only who
	// the agent is must be certain.
	if c.code != 0 && c.unproven {
		return nil, s.refuse(ctx, a, c, r.Params)
	}
	if refused, err := s.useNonce(ctx, a, c); err != nil {
		return nil, s.failed(err, r.Params)
	} else if refused {
		return nil, s.refuse(ctx, a, c, r.Params)
	}
	s.hub.join(c.mailbox, jsonrpc.ConnFrom(ctx), s.cfg.Now())
	said := intent.Report{Status: report.Status, Tool: report.Tool, Digest: report.Digest}
	if m := report.Metrics; m != nil {
		said.MemoryMB, said.CPUPercent, said.DurationMS = m.MemoryUsedMB, m.CPUPercent, &m.DurationMS
	}
	if report.Arguments != nil { // the verdict may be kept under the form before
		_, said.Earlier = callDigest(report.Tool, r.Params.Get("arguments"))
	}
	n, violation, err := s.intents.Report(ctx, a, said)
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	if n != nil {
		s.cfg.Ended(a.Agent.ID, n.Outcome)
	}
	if violation == "" {
		return write(&Recorded{IntentID: report.IntentID, Status: "recorded"}), nil
	}
	s.cfg.Ended(a.Agent.ID, "")
	if _, err := s.cfg.Guard.CountViolation(ctx, a.Agent.ID, violation, a.Principal); err != nil {
		return nil, s.failed(err, r.Params)
	}
	if n != nil && n.Outcome == intent.Mismatched && violation != intent.ReportedBefore {
		if err := s.suspend(ctx, a, violation); err != nil {
			return nil, s.failed(err, r.Params)
		}
	}
	return nil, failure(ExecutionError, violation, r.Params, `,"status":"recorded","violation":`+string(rawjson.Quote(violation)))
}

// register answers a2g/register (A2G_REGISTER), and sends the policy that the
// agent is held to.
func (s *Server) register(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	a, register, fault := decodeRegister(r)
	if fault != nil {
		return nil, fault
	}
	c, err := s.caller(ctx, r, a)
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	a.Standing = nil // of no meaning before the agent is known
	if _, err := s.useNonce(ctx, a, c); err != nil {
		return nil, s.failed(err, r.Params)
	}
	if c.unproven {
		c.code = RegistrationFailed
		return nil, s.refuse(ctx, a, c, r.Params)
	}
	d, known, err := s.cfg.Guard.Register(ctx, a, guard.Registration{
		DID: register.AgentDID, PublicKey: register.PublicKey, Requested: register.CapabilitiesRequested,
		Metadata: jsontext.Value(r.Params.Get("metadata").Raw()), Signed: c.nonce != "" && !c.handshake && !c.first,
	})
	if errors.Is(err, agent.ErrRevoked) || errors.Is(err, agent.ErrForeign) || errors.Is(err, agent.ErrKey) {
		a.Refusals = []act.Reason{{Rule: "a2g", Code: "agent.registration", Message: wording.Sentence(err.Error()), Effect: act.Deny}}
		d, _, err = s.cfg.Guard.Decide(ctx, a)
	}
	if full, ok := errors.AsType[*guard.QuotaError](err); ok {
		a.Refusals = []act.Reason{{Rule: "a2g", Code: "quota." + full.Quota, Message: full.Reason, Effect: act.Deny}}
		d, _, err = s.cfg.Guard.Decide(ctx, a)
	}
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	if known == nil {
		b := appendReasons([]byte(`,"reasons":`), d.Reasons)
		b = append(b, `,"decision":`...)
		return nil, failure(RegistrationFailed, wording.Message(&d), r.Params, string(appendPosition(b, d.Position)))
	}
	set := s.cfg.Guard.Policy()
	told := policyFor(known.DID, known.Requested, set)
	box := s.hub.mailbox(a.Principal, known.DID)
	s.hub.join(box, jsonrpc.ConnFrom(ctx), s.cfg.Now())
	if jsonrpc.ConnFrom(ctx) != nil {
		s.hub.send(box, notification(MethodPolicy, write(told)))
	}
	s.hub.told(box, told.Version)
	answer := &Registered{AgentDID: known.DID, Status: "registered", Policy: told, Signatures: "optional"}
	switch {
	case s.cfg.Signed || s.cfg.Secret(known.DID) != "" || known.KeyVerifies():
		answer.Signatures = "required"
	case known.PublicKey != "":
		fault := known.KeyFault()
		answer.Warning = "No signature is checked with this public_key: " + fault + ". Until another is registered, this agent's messages need no signature: make a new key pair, have an admin reset the key, and register again."
		s.cfg.Logger.Warn("an agent registered a public key with which no signature is checked: its messages need none. Have it make another (reeve agents reset-key)", "agent", known.DID, "fault", fault)
	}
	return write(answer), nil
}

// heartbeat answers a2g/heartbeat. An agent that holds no connection finds there
// what was sent to it.
func (s *Server) heartbeat(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	beat, fault := decodeHeartbeat(r)
	if fault != nil {
		return nil, fault
	}
	a := &act.Action{Door: "a2g", Method: r.Method, Agent: act.Agent{ID: beat.AgentDID}, Body: r.Body}
	c, err := s.caller(ctx, r, a)
	if err != nil {
		return nil, s.failed(err, r.Params)
	}
	if c.unproven || c.code == SessionExpired {
		return nil, failure(c.code, c.reasons[0].Message, r.Params)
	}
	if refused, err := s.useNonce(ctx, a, c); err != nil {
		return nil, s.failed(err, r.Params)
	} else if refused {
		return nil, failure(c.code, c.reasons[0].Message, r.Params)
	}
	answer := Beat{Status: "unregistered", Pending: []Raw{}}
	known := c.agent
	// That an agent lives is kept, but not each time that it says so.
	if known.State == agent.Active && s.cfg.Now().Sub(known.Seen) >= beatKept {
		if known, err = s.cfg.Guard.SeeAgent(ctx, beat.AgentDID, a.Principal); err != nil {
			return nil, s.failed(err, r.Params)
		}
	}
	if known.State != "" {
		answer.Status = string(known.State)
	}
	set := s.cfg.Guard.Policy()
	answer.PolicyVersion = versionOf(set)
	s.hub.join(c.mailbox, jsonrpc.ConnFrom(ctx), s.cfg.Now())
	if known.State != "" && s.hub.told(c.mailbox, answer.PolicyVersion) {
		answer.Pending = append(answer.Pending, notification(MethodPolicy, write(policyFor(known.DID, known.Requested, set))))
	}
	answer.Pending = append(answer.Pending, s.hub.take(c.mailbox)...)
	return write(&answer), nil
}

// beatKept is how often an agent's heartbeat is kept.
const beatKept = time.Minute

// failed is the answer to what could not be decided or recorded.
func (s *Server) failed(err error, params rawjson.Value) *jsonrpc.Error {
	if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Error("an A2G message was not decided", "error", err)
	}
	return internalError(params)
}

// refuse records that an act was refused whatever the policy says, and says so.
// Nothing of it stays with the intent_id, which may be another's.
func (s *Server) refuse(ctx context.Context, a *act.Action, c *caller, params rawjson.Value) *jsonrpc.Error {
	a.Refusals, a.Session, a.Step = c.reasons, "", ""
	d, _, err := s.cfg.Guard.Decide(ctx, a)
	if err != nil {
		return s.failed(err, params)
	}
	v := &ruling{intentID: cmp.Or(a.ID, a.Answers), decision: &d, heuristic: d.Risk.Heuristic, model: d.Risk.Model, blockedBy: blockedByOf(&d)}
	e := v.denied()
	if c.code != PolicyViolation {
		e.Code, e.Message = c.code, words[c.code]+": "+wording.Message(&d)
	}
	return e
}

// caller is who sends a message, as far as it is certain.
type caller struct {
	agent     *agent.Agent
	mailbox   *mailbox
	nonce     string // of its signature, which was right
	signed    time.Time
	handshake bool // the nonce is of a handshake, which says nothing of the message
	// code is what the message is refused with, and reasons why; 0 when it is not.
	code       int
	reasons    []act.Reason
	violations int // of an agent that nobody registered, for this principal
	// first says that the key is the one that the message registers, and not known before.
	first bool
	// owner says that the agent's own credential asks.
	owner bool
	// unproven says that it may be somebody else than the agent.
	unproven bool
}

func (c *caller) deny(code int, why, message, instead string) {
	c.code = code
	c.reasons = append(c.reasons, act.Reason{Rule: "a2g", Code: why, Message: message, Instead: instead, Effect: act.Deny})
}

// caller finds out who sends a message, and completes its act with what is known
// of the agent.
func (s *Server) caller(ctx context.Context, r *jsonrpc.Request, a *act.Action) (*caller, error) {
	a.Principal, _ = identity.FromContext(ctx)
	a.Bounded = true
	known, err := s.cfg.Guard.Agent(ctx, a.Agent.ID)
	if err != nil {
		return nil, err
	}
	c := &caller{agent: known, mailbox: s.hub.mailbox(a.Principal, known.DID)}
	if !known.OwnedBy(a.Principal) {
		c.unproven = true
		c.deny(PolicyViolation, "identity.foreign", "This agent is registered by somebody else.", "Use the credential that it registered with.")
		return c, nil
	}
	c.owner = known.Principal == a.Principal.Name && a.Principal != act.Anonymous
	if c.signature(s, r, jsonrpc.ConnFrom(ctx)); c.code != 0 {
		c.unproven = true
		return c, nil
	}
	if known.State == "" {
		stranger, err := s.cfg.Guard.Stranger(ctx, known.DID, a.Principal.Name)
		if err != nil {
			return nil, err
		}
		if c.violations = stranger.Violations; stranger.Reason != "" {
			c.deny(PolicyViolation, "agent.suspended", "The agent is suspended: "+strings.TrimSuffix(stranger.Reason, ".")+".", "Ask the operator of this node.")
		}
	}
	now := s.cfg.Now()
	switch {
	case known.State == agent.Suspended, known.State == agent.Revoked:
		c.deny(PolicyViolation, "agent."+string(known.State), "The agent is "+string(known.State)+reasonOf(known)+".", "Ask the operator of this node.")
	case known.State == agent.Active && now.Sub(known.Seen) > s.cfg.Session && now.Sub(s.hub.seen(c.mailbox)) > s.cfg.Session:
		c.deny(SessionExpired, "session.expired", "The agent was silent for too long.", "Register again.")
	case r.Method == MethodIntent && s.cfg.PerMinute > 0 && !s.allows(ctx, c.mailbox, now):
		c.deny(CapabilityExhausted, "agent.rate", "The agent asks more often than it may.", "Wait a minute.")
	}
	c.standing(a)
	return c, nil
}

// allows counts an intent, and reports whether it is one of those that an agent may ask
// for in a minute, at all nodes together. Where that cannot be known, at this one.
func (s *Server) allows(ctx context.Context, box *mailbox, now time.Time) bool {
	if s.cfg.Shared != nil {
		most := float64(s.cfg.PerMinute)
		name := fmt.Sprintf("intents %d %q %q", now.Unix()/60, box.principal, box.did)
		_, ok, err := s.cfg.Shared.Take(ctx, name, quota.Bucket{Most: most, Portion: max(1, math.Floor(most/32)), Keep: 2 * time.Minute}, 1)
		if err == nil {
			return ok
		}
	}
	return s.hub.allows(box, s.cfg.PerMinute, now)
}

func reasonOf(known *agent.Agent) string {
	if known.Reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(known.Reason, ".")
}

// signature checks the signature of a message: of its own, or of the connection
// that it came by.
func (c *caller) signature(s *Server, r *jsonrpc.Request, conn *jsonrpc.Conn) {
	keys := s.keys(c.agent)
	if r.Method == MethodRegister && keys.none() {
		// Whoever registers a first key may show that they have it.
		if key, err := ParsePublicKey(r.Params.Get("public_key").Text()); err == nil {
			keys.Public, c.first = key, true
		}
	}
	nonce, at, err := Verify(r.Params, keys, s.cfg.Now())
	if errors.Is(err, ErrUnsigned) && conn == nil { // over HTTP each request may bring a handshake
		if h, wrong := ReadHandshake(r.Header); wrong != nil {
			err = wrong
		} else if h != nil && h.AgentDID == c.agent.DID {
			nonce, at, err = h.Verify(keys, s.cfg.Now())
			c.handshake = true
		}
	}
	switch {
	case err == nil:
		c.nonce, c.signed = nonce, at
	case !errors.Is(err, ErrUnsigned):
		c.deny(PolicyViolation, "identity.signature", wording.Sentence("The signature is not accepted: "+err.Error()), "Sign with the key that this node knows of the agent, and the right time.")
	case s.hub.shookHands(conn, c.agent.DID):
	case r.Method == MethodRegister && !s.cfg.Signed && keys.Secret == "" && c.owner:
		// Its own credential registers again, with the same key: see agent.Register.
	case s.cfg.Signed || keys.Secret != "" || keys.Public != nil && !c.first:
		c.deny(PolicyViolation, "identity.unsigned", "The message is not signed, and this agent's must be.", "Sign it.")
	}
}

// keys are what an agent's signatures are checked with: none, where nothing is known of it.
func (s *Server) keys(known *agent.Agent) Keys {
	keys := Keys{Secret: s.cfg.Secret(known.DID)}
	if key, err := ParsePublicKey(known.PublicKey); err == nil { // others are kept, and verify nothing
		keys.Public = key
	}
	return keys
}

// standing notes what is known of the agent for the policy to judge.
func (c *caller) standing(a *act.Action) {
	for _, tool := range c.agent.Requested {
		a.Declared = append(a.Declared, canonical(tool))
	}
	add := func(check, message string) {
		a.Standing = append(a.Standing, act.Violation{Check: check, Message: message})
	}
	if c.agent.State == "" {
		add("agent.unregistered", "The agent has not registered.")
	}
	if c.agent.Violations > 0 || c.violations > 0 {
		add("agent.violations", "The agent did what no verdict covered, since it became active.")
	}
	if a.IsCall() && !c.agent.Asked(a.Canonical, canonical) {
		add("agent.capability", "The agent did not register for this tool.")
	}
}

func canonical(tool string) string { name, _ := canon.Name(tool); return name }

// Handshake checks the signed headers of a request that asks for a connection.
// It returns the DID that they prove, "" when there are none, and an error when
// they are refused. Those of an agent of which no key is known yet prove nothing: it
// connects to register.
func (s *Server) Handshake(ctx context.Context, header map[string][]string) (did string, err error) {
	h, err := ReadHandshake(header)
	if h == nil || err != nil {
		return "", err
	}
	by, _ := identity.FromContext(ctx)
	known, err := s.cfg.Guard.Agent(ctx, h.AgentDID)
	if err != nil {
		return "", err
	}
	keys := s.keys(known)
	if keys.none() {
		return "", nil
	}
	nonce, at, err := h.Verify(keys, s.cfg.Now())
	if err != nil {
		return "", err
	}
	return h.AgentDID, s.intents.UseNonce(ctx, h.AgentDID, nonce, at, by)
}

// Opened notes a new connection, and which agent its handshake proved, if any.
func (s *Server) Opened(c *jsonrpc.Conn, did string) { s.hub.opened(c, did) }

// PolicyChanged tells the connected agents what they may do now. The others find
// it with their next heartbeat.
func (s *Server) PolicyChanged(ctx context.Context, set *policy.Set) {
	for _, box := range s.hub.connected() {
		known, err := s.cfg.Guard.Agent(ctx, box.did)
		if err != nil {
			s.cfg.Logger.Error("an agent was not told of the new policy", "agent", box.did, "error", err)
			continue
		}
		if known.State == "" {
			continue
		}
		told := policyFor(known.DID, known.Requested, set)
		if s.hub.told(box, told.Version) {
			s.hub.send(box, notification(MethodPolicy, write(told)))
		}
	}
}

// Answered judges the intents once more about which people were asked, now that
// they have answered or their time is over, and tells their agents.
func (s *Server) Answered(ctx context.Context, h *approval.Decision) {
	if h.Door != "a2g" || h.State == approval.Held || h.State == approval.Used {
		return
	}
	for _, id := range h.Asked {
		n, err := s.intents.Get(ctx, h.Principal, h.Agent, id)
		if err == nil && n != nil && n.Outcome == "" && n.Verdict.Effect == act.Escalate {
			err = s.resume(ctx, n)
		}
		if err != nil {
			s.cfg.Logger.Error("an intent that was answered was not judged again", "agent", h.Agent, "intent", id, "error", err)
		}
	}
	if len(h.Asked) > 0 && s.cfg.Elsewhere != nil {
		s.cfg.Elsewhere(ctx, h.ID)
	}
}

// AnsweredElsewhere tells the agents that this node knows what became of the intents of an
// approval, which another node has judged once more. Of a call that is changed an agent
// learns by asking again: the arguments that it would have are not known here.
func (s *Server) AnsweredElsewhere(ctx context.Context, approval string) error {
	h, err := s.cfg.Guard.Approval(ctx, approval)
	if err != nil || h.Door != "a2g" {
		return err
	}
	for _, id := range h.Asked {
		n, err := s.intents.Get(ctx, h.Principal, h.Agent, id)
		if err != nil {
			return err
		}
		if n == nil || n.Verdict.Effect == act.Modify || n.Verdict.Effect == act.Escalate && n.Outcome == "" {
			continue
		}
		box := s.hub.known(h.Principal, n.Agent)
		if params, ok := s.verdict(n, nil).directive(n.Agent); ok && box != nil {
			s.hub.send(box, notification(MethodDirective, params))
		}
	}
	return nil
}

// resume judges a held intent again, as its agent would by asking.
func (s *Server) resume(ctx context.Context, n *intent.Intent) error {
	body := append([]byte(`{"jsonrpc":"2.0","method":"a2g/intent","params":`), n.Params...)
	a, err := ActionOf(append(body, '}'))
	if err != nil {
		return err
	}
	a.Principal = act.Principal{Name: n.Principal, Method: n.Method, Organization: n.Organization, Person: n.Person, Delegation: n.Delegation}
	a.Bounded = true
	known, err := s.cfg.Guard.Agent(ctx, n.Agent)
	if err != nil {
		return err
	}
	c := &caller{agent: known, mailbox: s.hub.mailbox(a.Principal, n.Agent)}
	if known.State == agent.Suspended || known.State == agent.Revoked {
		c.deny(PolicyViolation, "agent."+string(known.State), "The agent is "+string(known.State)+".", "")
		a.Refusals = c.reasons
	}
	c.standing(a)
	decided, modified, err := s.intents.Ask(ctx, a, intent.Asking{Params: n.Params, Lasts: s.cfg.Lasts})
	if err != nil {
		return err
	}
	if decided.Verdict.Effect == act.Escalate {
		return nil // people are asked about more
	}
	params, ok := s.verdict(decided, modified).directive(n.Agent)
	if !ok {
		return errors.New("the verdict cannot be written")
	}
	s.hub.send(c.mailbox, notification(MethodDirective, params))
	return nil
}

// SetState gives an agent another state. Who is not active any more loses the
// verdicts that it has not used, and is told.
func (s *Server) SetState(ctx context.Context, did string, state agent.State, reason string, by act.Principal) (*agent.Agent, error) {
	ctx = context.WithoutCancel(ctx) // it is not stopped half way
	known, err := s.cfg.Guard.SetAgent(ctx, did, state, reason, by)
	if err != nil {
		return known, err
	}
	if state == agent.Active {
		for _, box := range s.hub.of(did) {
			s.hub.barred(box, "")
		}
		return known, nil
	}
	withdrawn, err := s.intents.Withdraw(ctx, did)
	for _, n := range withdrawn {
		s.cfg.Ended(did, n.Outcome)
	}
	for _, box := range s.hub.of(did) {
		s.tellBarred(box, state, reason)
	}
	return known, err
}

// StandingChanged tells the connected agents that another node has barred. It has taken
// their verdicts back already.
func (s *Server) StandingChanged(ctx context.Context) {
	for _, box := range s.hub.connected() {
		state, reason := s.cfg.Guard.Barred(box.did), ""
		if state != "" {
			if known, err := s.cfg.Guard.Agent(ctx, box.did); err == nil {
				reason = known.Reason
			}
		}
		s.tellBarred(box, state, reason)
	}
}

// tellBarred tells an agent that it is barred, once for each state that bars.
func (s *Server) tellBarred(box *mailbox, state agent.State, reason string) {
	if !s.hub.barred(box, state) || state == "" {
		return
	}
	revoke := &Revoke{AgentDID: box.did, Reason: cmp.Or(reason, "The agent is "+string(state)+"."), At: s.cfg.Now()}
	s.hub.send(box, notification(MethodRevoke, revoke.params()))
}

// violationsCode is the code of a denial after which the agent is suspended.
const violationsCode = "agent.violations"

// suspendIfSaid suspends an agent that a rule denied for its violations.
func (s *Server) suspendIfSaid(ctx context.Context, n *intent.Intent, by act.Principal) {
	if n.Verdict.Effect != act.Deny || n.Verdict.Repeat {
		return
	}
	for _, r := range n.Verdict.Reasons {
		if r.Code == violationsCode && r.Effect == act.Deny && !r.Observe {
			if known, err := s.cfg.Guard.Agent(ctx, n.Agent); err != nil || known.State == "" {
				return // of a name that anybody can use, only this principal's acts are denied
			}
			suspender := act.Principal{Name: "policy:" + r.Rule, Method: "local"}
			if _, err := s.SetState(ctx, n.Agent, agent.Suspended, r.Message, suspender); err != nil && !errors.Is(err, agent.ErrRevoked) {
				s.cfg.Logger.Error("an agent was not suspended, as the policy says", "agent", n.Agent, "error", err)
			}
			return
		}
	}
}

// versionOf names a policy set to agents.
func versionOf(set *policy.Set) string {
	hash := strings.TrimPrefix(set.Hash(), "sha256:")
	return hash[:min(len(hash), 16)]
}

// policyFor is what a policy set says of an agent's tools (G2A_POLICY).
func policyFor(did string, requested []string, set *policy.Set) *Policy {
	general, _ := set.Manifest("*")
	p := &Policy{
		AgentDID: did, Version: versionOf(set), ConstitutionHash: set.Hash(),
		Capabilities: Capabilities{
			Tools:     map[string]ToolPolicy{},
			Network:   NetworkPolicy{AllowedDomains: listOf(general.AllowedDomains), BlockedDomains: listOf(general.BlockedDomains)},
			Resources: ResourcePolicy{MaxMemoryMB: general.MaxMemoryMB, MaxCPUPercent: general.MaxCPUPercent},
		},
	}
	for _, tool := range requested {
		name := canonical(tool)
		m, said := set.Manifest(name)
		t := ToolPolicy{Allowed: set.Grants(name)}
		if said {
			t.Constraints = Constraints{
				BlockedPatterns: m.BlockedPatterns, FilesystemScope: m.FilesystemScope, FilesystemRead: m.FilesystemRead,
				AllowedDomains: m.AllowedDomains, BlockedDomains: m.BlockedDomains, NetworkAllowed: &m.NetworkAllowed,
				MaxMemoryMB: m.MaxMemoryMB, MaxCPUPercent: m.MaxCPUPercent, TimeoutSeconds: m.TimeoutSeconds,
				MaxWriteMB: m.MaxWriteMB, MaxWriteFiles: m.MaxWriteFiles,
			}
		}
		p.Capabilities.Tools[tool] = t
	}
	return p
}

// listOf is a list that is written as [] when it is empty.
func listOf(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// EndIntents ends the intents whose time is over without a report.
func (s *Server) EndIntents(ctx context.Context) error {
	ended, err := s.intents.Expire(ctx)
	for _, n := range ended {
		s.cfg.Ended(n.Agent, n.Outcome)
	}
	return err
}

// Intents lists the intents of an agent that are kept. bad are those that are damaged.
func (s *Server) Intents(ctx context.Context, did string) (list []*intent.Intent, bad []*guard.DamagedError, err error) {
	return s.intents.Of(ctx, did, false)
}
