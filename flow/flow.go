// Package flow speaks the Interface Protocol: it makes, executes, watches and
// cancels trees of tasks for whoever asks by JSON-RPC, and has a client for it.
//
//	s := flow.NewServer(flow.Config{Engine: e, Executors: executors, Version: "1.0"})
//	rpc := &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{s.Namespace()}}
//	mux.Handle("POST /", rpc)
//	mux.Handle("GET /tasks/{id}/events", s.EventsHandler())
//	mux.Handle("GET /.well-known/agent-card", s.AgentCard())
//
// What a task is and what may become of it are package task's business, and when
// that happens is package engine's. Here is only how it is asked for and told:
// docs/protocol/flow.md has each requirement with its test.
package flow

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Config is what a Server is made of.
type Config struct {
	Engine    *engine.Engine     // required
	Executors *executor.Registry // required; the agent card lists them
	// Open says that no credentials are configured: then every task is everybody's.
	// It is asked at each call, since the first credential may be made at any time.
	// nil means that they are.
	Open func() bool
	// URL is where others reach the node, for the agent card; empty means where the
	// one who asks for the card has reached it.
	URL     string
	Version string // the program's
	// CheckURL says why an address may not be called by push notifications, before it is
	// kept; nil for no look. What the engine's client refuses is refused all the same.
	CheckURL func(url string) error
	// Wait is how long an execution with configuration.blocking waits for its end before
	// it is answered as it is; 0 means a minute.
	Wait time.Duration
	// Hold is called with the context of a call that waits, and until when; nil for nobody.
	Hold func(ctx context.Context, until time.Time)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger is for what an operator should know; nil means slog.Default.
	Logger *slog.Logger
}

// Server answers the protocol's methods. It is safe for concurrent use.
type Server struct {
	cfg     Config
	closing context.Context // ends when streams are to end
	close   context.CancelFunc
	trees   chan struct{} // whole trees that are being told: each can take tens of megabytes
	streams jsonrpc.Streams
}

// NewServer returns a Server.
func NewServer(cfg Config) *Server {
	if cfg.Open == nil {
		cfg.Open = func() bool { return false }
	}
	if cfg.CheckURL == nil {
		cfg.CheckURL = func(string) error { return nil }
	}
	if cfg.Wait <= 0 {
		cfg.Wait = time.Minute
	}
	if cfg.Hold == nil {
		cfg.Hold = func(context.Context, time.Time) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, streams: jsonrpc.Streams{Most: maxStreams, Own: ownStreams}, trees: make(chan struct{}, 4)}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all streams: whoever reads them goes on from where they ended, at
// another node or when this one is back. Calls are answered as before.
func (s *Server) Close() { s.close() }

// The methods of the text.
const (
	MethodCreate   = "tasks.create"
	MethodGet      = "tasks.get"
	MethodUpdate   = "tasks.update"
	MethodDelete   = "tasks.delete"
	MethodList     = "tasks.list"
	MethodExecute  = "tasks.execute"
	MethodCancel   = "tasks.cancel"
	MethodTree     = "tasks.tree"
	MethodChildren = "tasks.children"
	MethodCopy     = "tasks.copy"
)

// methods are all methods. Those that the text does not have are its public
// upstream's, whose clients use them.
var methods = map[string]func(s *Server, ctx context.Context, c *call) ([]byte, error){
	MethodCreate:   (*Server).create,
	MethodGet:      (*Server).get,
	MethodUpdate:   (*Server).update,
	MethodDelete:   (*Server).delete,
	MethodList:     (*Server).list,
	MethodExecute:  (*Server).execute,
	MethodCancel:   (*Server).cancel,
	MethodTree:     (*Server).tree,
	MethodChildren: (*Server).children,
	MethodCopy:     (*Server).copy,

	"execute_task_tree":           (*Server).execute,
	"cancel":                      (*Server).cancelNow,
	"tasks.detail":                (*Server).get,
	"tasks.count":                 (*Server).count,
	"tasks.clone":                 (*Server).clone,
	"tasks.running.list":          (*Server).runningList,
	"tasks.running.status":        (*Server).runningStatus,
	"tasks.running.count":         (*Server).runningCount,
	"tasks.running.cancel":        (*Server).cancel,
	"tasks.scheduled.list":        (*Server).scheduledList,
	"tasks.scheduled.due":         (*Server).scheduledDue,
	"tasks.scheduled.init":        (*Server).scheduledInit,
	"tasks.scheduled.complete":    (*Server).get, // the node itself completes runs
	"tasks.scheduled.export-ical": (*Server).scheduledCalendar,
}

// looks are the methods that change nothing, which every role may call; tasks.clone
// also when it makes something, and then it is refused where that happens.
var looks = map[string]bool{
	MethodGet: true, MethodList: true, MethodTree: true, MethodChildren: true, "tasks.detail": true, "tasks.count": true, "tasks.clone": true,
	"tasks.running.list": true, "tasks.running.status": true, "tasks.running.count": true, "tasks.scheduled.list": true,
	"tasks.scheduled.due": true, "tasks.scheduled.complete": true, "tasks.scheduled.export-ical": true,
}

// Namespace is the protocol's methods, for a jsonrpc.Handler.
func (s *Server) Namespace() jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths: []string{"/flow", "/tasks"},
		Match: func(method string) bool {
			return strings.HasPrefix(method, "tasks.") || method == "execute_task_tree" || method == "cancel"
		},
		Handle:       s.handle,
		Unauthorized: task.CodeUnauthorized,
	}
}

// call is one call that is being answered.
type call struct {
	r      *jsonrpc.Request
	params *reader
	by     engine.Caller
	a2a    bool // metadata or configuration stands beside params: the answer has A2A's shape
	shaped bool // and has it already
}

func (s *Server) handle(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
	method, ok := methods[r.Method]
	if !ok {
		return nil, &jsonrpc.Error{
			Code: jsonrpc.MethodNotFound, Message: "Method not found",
			Data: jsonrpc.Reason("There is no such method. The methods are listed in docs/protocol/flow.md."),
		}
	}
	c := &call{r: r, params: &reader{v: r.Params}, by: s.caller(ctx)}
	c.a2a = (&reader{v: r.Message}).has("metadata", "configuration")
	if c.by.Reads && !looks[r.Method] {
		return nil, failure(&task.Error{Code: task.CodeUnauthorized, Reason: engine.OnlyReads})
	}
	if r.Params.Kind() == rawjson.Array && !takesArray(r.Method) {
		return nil, failure(invalid("params", "The value is an array.", "an object"))
	}
	result, err := method(s, ctx, c)
	if err != nil {
		return nil, s.failed(err)
	}
	if c.a2a && !c.shaped && result[0] == '{' && len(result) > 2 { // what is no task has no other form
		result = append(result[:len(result)-1], `,"metadata":{"protocol":"a2a"}}`...)
	}
	return result, nil
}

// takesArray reports whether a method's params may be an array: of tasks.
func takesArray(method string) bool {
	return method == MethodCreate || method == MethodExecute || method == "execute_task_tree"
}

// caller is who sent a request.
func (s *Server) caller(ctx context.Context) engine.Caller { return engine.CallerOf(ctx, s.cfg.Open()) }

// failed is the answer to what could not be done. A stranger learns what it did
// wrong, and of our own failures nothing.
func (s *Server) failed(err error) *jsonrpc.Error {
	var wrong *task.Error
	switch {
	case errors.As(err, &wrong):
		return failure(wrong)
	case errors.Is(err, task.ErrMoved):
		return failure(&task.Error{Code: task.CodeTransition, Reason: "Others are changing the task at the same time. Try again."})
	case errors.Is(err, ledger.ErrNotFound): // it was deleted in between
		return failure(&task.Error{Code: task.CodeNotFound, Reason: noSuchTask})
	case errors.As(err, new(*engine.QuotaError)):
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "Internal error", Data: jsonrpc.Reason(err.Error())}
	case errors.Is(err, errStreams):
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "Internal error", Data: jsonrpc.Reason(sentence(err))}
	}
	if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Error("a call about tasks was not carried out", "error", err)
	}
	return &jsonrpc.Error{
		Code: jsonrpc.InternalError, Message: "Internal error",
		Data: jsonrpc.Reason("This could not be carried out. Look what has become of it before you try again."),
	}
}

const noSuchTask = "There is no such task."

// failure is an error of the protocol. Which fields its data has depends on what
// is known.
func failure(e *task.Error) *jsonrpc.Error {
	data, err := json.Marshal(struct {
		Field    string   `json:"field,omitzero"`
		Reason   string   `json:"reason,omitzero"`
		Expected string   `json:"expected,omitzero"`
		Task     string   `json:"task_id,omitzero"`
		Cycle    []string `json:"cycle,omitempty"`
	}{e.Field, e.Reason, e.Expected, e.Task, e.Cycle}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		data = nil // the code and its words say enough
	}
	return &jsonrpc.Error{Code: e.Code, Message: e.Message(), Data: data}
}

func invalid(field, reason, expected string) *task.Error {
	return &task.Error{Code: task.CodeInvalid, Field: field, Reason: reason, Expected: expected}
}

// sentence is an error as a sentence.
func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
