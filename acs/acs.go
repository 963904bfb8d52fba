// Package acs is the guardian's side of the Agent Control Standard 0.1.0, the successor of
// AOS: the handshake, the hooks, signatures, the memory that takes no request twice, and a
// chain of each session whose head every signed answer names. What is judged is judged by
// the same guard as by every other door.
//
// Who may ask is who can sign: an agent's key stands in the configuration, under a label
// that its signatures name. docs/protocol/acs.md says what is served, and what is not.
package acs

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// Version is the one that is spoken. Others that begin with the same number are taken.
const Version = "0.1.0"

// Skew is how far a request's time may be from the guardian's.
const Skew = 5 * time.Minute

// The codes of the standard's own errors.
const (
	SessionRefused     = -32000
	UnsupportedVersion = -32001
	NotNegotiated      = -32003
	SignatureInvalid   = -32004
	ReplayDetected     = -32005
	OutOfWindow        = -32006
)

// messages are what is said with the codes.
var messages = map[int]string{
	-32700: "Parse error", -32600: "Invalid Request", -32601: "Method not found", -32602: "Invalid params", -32603: "Internal error",
	SessionRefused: "SESSION_REFUSED", UnsupportedVersion: "UNSUPPORTED_VERSION", NotNegotiated: "CAPABILITY_NOT_NEGOTIATED",
	SignatureInvalid: "SIGNATURE_INVALID", ReplayDetected: "REPLAY_DETECTED", OutOfWindow: "TIMESTAMP_OUT_OF_WINDOW",
}

// Config is what a Server is made of.
type Config struct {
	Guard *guard.Guard
	Keys  []Key // at least one
	// Known is told who asks once a signature holds and the request is no copy of another, and
	// how large it is: its share of the node is the agent's from then on. nil where nobody counts.
	Known func(ctx context.Context, by act.Principal, size int) *jsonrpc.Refusal
	// Unknown is told where nobody signed a request now: it is of its address's share, and waits
	// where that is used up. nil where nobody counts.
	Unknown func(ctx context.Context)
	// TLS says that the node is asked by https where an agent offers both.
	TLS bool
	// Trace has records keep of each answer what the profile acs-trace has told of it.
	Trace   bool
	Version string // of reeve
	Logger  *slog.Logger
}

// Server answers requests of ACS. Make it with New.
type Server struct {
	cfg      Config
	keys     map[string]*Key
	sessions *guard.Items[sessionState]
	recent   recent
	used     *guard.Items[time.Time]
	skills   *guard.Items[time.Time]
}

// New returns a Server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, keys: map[string]*Key{}, sessions: newSessions(cfg.Guard), used: newMarks(cfg.Guard, usedKind), skills: newMarks(cfg.Guard, skillKind)}
	if cfg.Logger == nil {
		s.cfg.Logger = slog.Default()
	}
	for i := range cfg.Keys {
		key := cfg.Keys[i]
		key.extracted = nil
		key.extracted, _ = hkdf.Extract(sha256.New, key.Secret, nil) // else it is made for each session
		s.keys[key.ID] = &key
	}
	return s
}

// Namespace serves all methods, at a path of their own: their names are also AOS's.
func (s *Server) Namespace() jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Posted: true, Answered: true, Words: messages,
		Match:  func(string) bool { return true },
		Handle: s.handle,
	}
}

// fault is an error, with its reason in a word for programs and in a sentence for people.
func fault(code int, message string) *jsonrpc.Error {
	data := rawjson.AppendString([]byte(`{"reason":`), strings.ReplaceAll(strings.ToLower(messages[code]), " ", "_"))
	data = rawjson.AppendString(append(data, `,"message":`...), message)
	return &jsonrpc.Error{Code: code, Message: messages[code], Data: append(data, '}')}
}

// with adds a member to an error's data. value is raw JSON.
func with(e *jsonrpc.Error, name string, value []byte) *jsonrpc.Error {
	e.Data = add(e.Data, name, value)
	return e
}

func wrong(code int, f *params.Fault) *jsonrpc.Error {
	e := with(fault(code, f.Reason), "field", rawjson.Quote(f.Field))
	return with(e, "expected", rawjson.Quote(f.Expected))
}

// request is one whose envelope was checked. key is nil until it is known who signed it.
type request struct {
	*jsonrpc.Request
	id, session string
	meta        rawjson.Value
	key         *Key
	signer      signer            // of the key, for the session
	hash        [sha256.Size]byte // of the params, as the chain has them
	proof       []byte            // its signature, where that says nothing else
	used        []*guard.Item     // what it uses up, as it was read when it came; nil for what is to be read
	came        time.Time
	late        bool // as its record says: see answered
}

func (r *request) by() act.Principal { return act.Principal{Name: "key:" + r.key.Agent, Method: "key"} }

func (s *Server) handle(ctx context.Context, q *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	came := s.cfg.Guard.Now()
	r, fail := s.open(q)
	if fail == nil {
		r.came = came
	}
	known := fail == nil && r.key != nil && s.fresh(ctx, r)
	if !known && s.cfg.Unknown != nil {
		s.cfg.Unknown(ctx)
	}
	if fail != nil {
		return nil, fail
	}
	if r.Method == "system/ping" {
		return s.ping(r)
	}
	if known && s.cfg.Known != nil {
		if full := s.cfg.Known(ctx, r.by(), len(r.Body)); full != nil {
			return r.sign(s.refusal(r, act.Final("acs", act.CodeUnrecorded, "The guardian did not look at this: "+full.Reason, "Ask again later, with another request_id."))), nil
		}
	}
	b, fail := s.answer(ctx, r)
	if fail != nil {
		return nil, r.signError(fail)
	}
	return r.sign(b), nil
}

// fresh reports whether a request is one that its signer sends now. A copy of one can be
// anybody's, and is no reason to take of the signer's share; step refuses it.
func (s *Server) fresh(ctx context.Context, r *request) bool {
	if !s.inTime(r) {
		return false
	}
	used, replayed, err := s.use(ctx, r)
	r.used = used
	return err != nil || !replayed
}

// inTime reports whether a request's time is near the guardian's.
func (s *Server) inTime(r *request) bool {
	return s.cfg.Guard.Now().Sub(timeOf(r.Params.Get("timestamp"))).Abs() <= Skew
}

// open checks a request's envelope, its version, and who signed it when. What it does not
// pass has done nothing, and is answered without a signature.
func (s *Server) open(q *jsonrpc.Request) (*request, *jsonrpc.Error) {
	for name := range q.Message.Members() {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, name) {
			return nil, wrong(jsonrpc.InvalidRequest, params.Wrong("/"+rawjson.EscapePointer(name), "A request of ACS has no such member.", "jsonrpc, id, method and params"))
		}
	}
	if q.ID == nil {
		return nil, fault(jsonrpc.InvalidRequest, "ACS has no notifications: a request has an id.")
	}
	known := slices.ContainsFunc([]string{"steps/", "protocols/", "agbom/", "trace/", "system/", "handshake/", "wrapped:"}, func(p string) bool {
		return strings.HasPrefix(q.Method, p) && len(q.Method) > len(p)
	})
	if !known {
		return nil, fault(jsonrpc.MethodNotFound, "ACS 0.1.0 has no such method.")
	}
	if f := params.Object(q.Params); f != nil {
		return nil, wrong(jsonrpc.InvalidRequest, f)
	}
	ping := q.Method == "system/ping"
	if v := q.Params.Get("acs_version"); v.Kind() == rawjson.String && !speaks(v.Text()) && !ping {
		return nil, with(fault(UnsupportedVersion, "This version is not spoken here."), "supported_versions", []byte(`["`+Version+`"]`))
	}
	if f := envelope.Check(q.Params, q.Message); f != nil {
		return nil, wrong(jsonrpc.InvalidRequest, f)
	}
	meta := q.Params.Get("metadata")
	r := &request{Request: q, id: q.Params.Get("request_id").Text(), session: meta.Get("session_id").Text(), meta: meta}
	signature := q.Params.Get("signature")
	key := s.keys[signature.Get("key_id").Text()]
	if key == nil || signature.Get("value").Kind() != rawjson.String {
		if ping { // which is answered while keys are in disorder, too
			return r, nil
		}
		return nil, unsigned()
	}
	if at, found := inexact(q.Message); found && !ping {
		return nil, wrong(SignatureInvalid, params.Wrong(at.Pointer()[len(q.Message.Pointer()):], "A double does not hold this number, so that the signature would be another number's, too.", "a number that a double holds, or a string"))
	}
	f, err := formOf(q.Message)
	signs := key.signer(r.session)
	if err == nil && signs.check(signature, f.signed()...) == nil {
		r.key, r.signer, r.hash = key, signs, f.paramsHash()
		if signature.Len() == 3 { // the algorithm, the label and the value, which are all verified
			r.proof = signature.Raw()
		}
	} else if !ping {
		return nil, unsigned()
	}
	return r, nil
}

func unsigned() *jsonrpc.Error {
	return fault(SignatureInvalid, "The signature is missing, is not whole, does not hold, or names a key that is not known here.")
}

// speaks reports whether a version is one that is understood: 0.1, or 0.1.0 and what semantic
// versioning puts behind it.
func speaks(version string) bool {
	number, _, _ := strings.Cut(version, "-")
	number, _, _ = strings.Cut(number, "+")
	parts := strings.Split(number, ".")
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return (len(parts) == 2 || len(parts) == 3) && parts[0] == "0"
}

// ping says that the guardian is there. It is signed where the question was.
func (s *Server) ping(r *request) ([]byte, *jsonrpc.Error) {
	b := append([]byte(`{"type":"final","acs_version":"`+Version+`","request_id":`), rawjson.Quote(r.id)...)
	b = append(b, `,"decision":"allow","payload":{"status":"ok"`...)
	if echo := r.Params.Get("payload").Get("echo"); echo.Exists() {
		b = append(append(b, `,"echo":`...), echo.Raw()...)
	}
	b = append(b, `,"server_timestamp":"`...)
	b = s.cfg.Guard.Now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `"}}`...)
	if r.key == nil {
		return b, nil
	}
	return r.sign(b), nil
}

// attempts is how often a step is tried when other nodes write its session meanwhile.
const attempts = 3

// answer answers a request whose signature holds. The steps of a session are taken one
// after the other.
func (s *Server) answer(ctx context.Context, r *request) (b []byte, fail *jsonrpc.Error) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("panic while a step of ACS was decided", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
			b, fail = s.refusal(r, unrecorded), nil
		}
	}()
	if !s.inTime(r) {
		return nil, with(fault(OutOfWindow, "The request's time is too far from the guardian's."), "skew_window_ms", strconv.AppendInt(nil, Skew.Milliseconds(), 10))
	}
	id := sessionID(r.session)
	defer s.sessions.Lock(id)()
	err := ledger.ErrLost
	for n := 0; n < attempts && errors.Is(err, ledger.ErrLost); n++ {
		var at *standing
		if at, err = s.stands(ctx, r, id, s.cfg.Guard.Now()); err != nil {
			break
		}
		if b, fail, err = s.step(ctx, r, at); err == nil {
			s.recent.put(id, at)
		}
	}
	if err == nil {
		return b, fail
	}
	if ctx.Err() == nil {
		s.cfg.Logger.Error("a step of ACS was not decided", "method", r.Method, "error", err)
	}
	return s.refusal(r, unrecorded), nil
}

// unrecorded is why a step is denied of which nothing could be written down. It is no error,
// which a client may take for leave to go on.
var unrecorded = act.Final("acs", act.CodeUnrecorded, "The guardian could not decide and record this.", "Ask again later, with another request_id.")

func timeOf(v rawjson.Value) time.Time {
	t, _ := time.Parse(time.RFC3339, v.Text())
	return t
}

// sign adds the signature to a result.
func (r *request) sign(result []byte) []byte {
	form, err := canonicalAnswer(r.ID, "result", result)
	if err != nil {
		panic(err) // it was written here
	}
	result = append(result[:len(result)-1], `,"signature":`...)
	return append(r.signer.append(result, form), '}')
}

// signError adds it to an error.
func (r *request) signError(e *jsonrpc.Error) *jsonrpc.Error {
	b := append([]byte(`{"code":`), strconv.Itoa(e.Code)...)
	b = rawjson.AppendString(append(b, `,"message":`...), e.Message)
	b = append(append(append(b, `,"data":`...), e.Data...), '}')
	form, err := canonicalAnswer(r.ID, "error", b)
	if err != nil {
		return e
	}
	e.Signature = r.signer.append(nil, form)
	return e
}
