// Package a2a is an A2A agent: others send it messages, in version 1.0 or 0.3 of
// the protocol, over JSON-RPC, HTTP+JSON or gRPC, and each becomes a tree of
// tasks that the engine executes.
//
//	s := a2a.NewServer(a2a.Config{Guard: g, Engine: e, Executors: executors, Version: "1.0"})
//	rpc := &jsonrpc.Handler{Namespaces: s.Namespaces()}
//	mux.Handle("POST /a2a", rpc)
//	mux.Handle("/rest/", s.REST())   // 1.0
//	mux.Handle("/v1/", s.RESTv03())  // 0.3
//	mux.Handle("GET /.well-known/agent-card.json", s.Card(false))
//	s.RegisterGRPC(grpcServer)
//	go s.Run(ctx)
//
// All bindings say the same: a request is read into one form (read.go), carried
// out (take.go, tasks.go, stream.go, push.go), and what comes of it is written in the
// version and binding that was asked in (write.go, errors.go).
//
// A message is an act: it is judged, and recorded, before anything becomes of it.
// What the tasks give is judged by the engine, before it can be an artifact here.
// docs/protocol/a2a.md has the methods, and how tasks of the two kinds are mapped.
package a2a

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// Config is what a Server is made of.
type Config struct {
	Guard     *guard.Guard       // required
	Engine    *engine.Engine     // required
	Executors *executor.Registry // required; the extended card lists them
	// Workflow is the tree of tasks that a message of text is given to; nil for
	// none: then messages must hold their tasks. A string of it that is
	// "${{ message }}", "${{ message.text }}" or "${{ message.data }}" becomes what
	// it names.
	Workflow jsontext.Value
	// Open says that no credentials are configured: then every task is
	// everybody's. It is asked at each call. nil means that they are.
	Open func() bool
	// URL is where others reach the node, for the card; empty means where the one
	// who asks for the card has reached it, or else what SetURL says.
	URL     string
	Version string // the program's
	// Sign signs the card; nil for no signature.
	Sign *Signer
	// Callback makes the calls of push notifications; nil means that there are
	// none. It must refuse addresses that callers may not reach: see package outbound.
	Callback *http.Client
	// CheckURL says why an address may not be called, before it is kept; nil for
	// no look. What Callback refuses is refused all the same.
	CheckURL func(url string) error
	// Alone says that no other node shares the store: what a former run of this
	// one was telling is taken up at once.
	Alone bool
	Node  string // this holder of the log: ledger.Log.Node
	// MaxBody is the largest body in bytes over HTTP+JSON and gRPC; 0 means 4 MiB.
	MaxBody int64
	// Wait is how long SendMessage waits for the task at most; 0 means a minute.
	// Then the task is answered as it is.
	Wait time.Duration
	// Hold is called with the context of a call that waits, and until when; nil for nobody.
	Hold func(ctx context.Context, until time.Time)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger is for what an operator should know; nil means slog.Default.
	Logger *slog.Logger
}

// Server is the agent. It is safe for concurrent use.
type Server struct {
	cfg     Config
	started time.Time
	grpc    atomic.Pointer[string] // where the node is reached by gRPC: see SetGRPC; nil for nowhere
	url     atomic.Pointer[string] // where it listens; nil for not yet
	closing context.Context        // ends when streams are to end
	close   context.CancelFunc
	streams jsonrpc.Streams
	reads   reads

	tasks     *guard.Items[record]
	histories *guard.Items[conversation]
	pushes    *guard.Items[push]

	mu         sync.Mutex
	changes    map[string]map[chan struct{}]bool // who waits for a task's record to change
	woken      deliver.Wake                      // wakes the pushes
	pushing    map[string]bool                   // the pushes that this node is at
	failures   map[string]missed                 // of them those whose last try failed
	owners     map[string]int                    // how many of them are a user's
	endedTrees map[task.ID]endedTree
}

// NewServer returns a Server. Run makes its push notifications, and has messages
// go on that people have agreed to.
func NewServer(cfg Config) *Server {
	if cfg.Open == nil {
		cfg.Open = func() bool { return false }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Wait <= 0 {
		cfg.Wait = time.Minute
	}
	if cfg.Hold == nil {
		cfg.Hold = func(context.Context, time.Time) {}
	}
	s := &Server{
		cfg: cfg, started: cfg.Now(), changes: map[string]map[chan struct{}]bool{}, streams: jsonrpc.Streams{Most: maxStreams, Own: ownStreams},
		woken: deliver.NewWake(), pushing: map[string]bool{}, failures: map[string]missed{}, owners: map[string]int{}, reads: reads{going: map[readKey]*reading{}}, endedTrees: map[task.ID]endedTree{},
	}
	s.tasks, s.histories, s.pushes = s.items()
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all streams: who reads them subscribes again, at another node or when
// this one is back.
func (s *Server) Close() { s.close() }

// SetGRPC says at which address the node is reached by gRPC, for the card; empty
// means where it is reached by HTTP. A host that stands for all addresses is the one
// by which the card is asked for.
func (s *Server) SetGRPC(address string) { s.grpc.Store(&address) }

// SetURL says where the node listens, for cards that are asked for in a way that
// does not tell.
func (s *Server) SetURL(url string) { s.url.Store(&url) }

// caller is who sent a request.
func (s *Server) caller(ctx context.Context) engine.Caller { return engine.CallerOf(ctx, s.cfg.Open()) }

// watch returns a channel that holds one whenever a task's record has changed on
// this node. stop must be called.
func (s *Server) watch(id string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes[id] == nil {
		s.changes[id] = map[chan struct{}]bool{}
	}
	s.changes[id][c] = true
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.changes[id], c); len(s.changes[id]) == 0 {
			delete(s.changes, id)
		}
	}
}

// changed tells that a task's record has changed.
func (s *Server) changed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.changes[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// door is the name of this protocol in acts and records.
const door = "a2a"

// principalOf is whoever a record's task belongs to.
func principalOf(r *record) act.Principal {
	return act.Principal{Name: r.Principal, Method: r.Method, Organization: r.Organization, Person: r.Person, Delegation: r.Delegation}
}
