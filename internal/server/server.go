// Package server is the HTTP side of a node: it knows who is asking, bounds
// what callers can use, routes, and tells how the node is. What the requests
// mean is not its business.
//
//	s, err := server.New(server.Config{
//		Listen: "127.0.0.1:8080",
//		Auth:   auth,
//		RPC:    map[string]*jsonrpc.Handler{"/": all, "/aos": aosOnly},
//	})
//	err = s.Run(ctx, func(url string) { fmt.Println("ready on", url) })
//
// # Refusals
//
// A JSON-RPC answer has the status 200, whatever it says. These have another
// one, and on a JSON-RPC endpoint a JSON-RPC error as the body, with the id null but
// for a 401 of a small request:
//
//	401  a credential is missing or wrong (code -32000; with WWW-Authenticate)
//	403  the Host or Origin is not one of this node's (-32600)
//	405, 408, 413, 415  as package jsonrpc says (-32600)
//	429  the caller is over its rate or has too much at once (-32603; with Retry-After)
//	503  the node is at its limit (-32603; with Retry-After)
//
// The last two come late on purpose: a caller that is refused at once asks again
// at once. Within a batch that has begun, they are errors of single calls.
//
// # Shares
//
// A principal alone may have as many calls in work as Config.Concurrent says.
// While others are active, each has an equal share of a smaller number; what is
// beyond it waits in a queue of the principal's own, and the queues are served
// in turn. So one agent that asks without end slows down itself. Agents without
// credentials are one principal for each address that they come from.
package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/quota"

	oteltrace "go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// Config is what a Server serves, and to whom.
type Config struct {
	// Listen is the address to listen on. Beyond loopback credentials are
	// required: see CheckListen. Empty means that only the operator's Socket is
	// listened on.
	Listen string
	// AllowAnonymous lets the server listen beyond loopback without credentials.
	AllowAnonymous bool
	// BeforeKeys lets it listen there while there is no credential, and nobody is let in.
	BeforeKeys bool
	// Hosts are the names, beside those of loopback, that callers may use for
	// this node: as host or host:port.
	Hosts []string
	// Origins are those of pages of other sites that may call from a browser, as
	// ParseOrigins returns them; none by default.
	Origins []string
	// TLSCert and TLSKey are PEM files; with both, the server speaks HTTPS only.
	// They are read again when they change.
	TLSCert, TLSKey string
	// Certificates has callers asked for a certificate when they open a connection. Whoever
	// shows none is served as well: what one is good for, Auth says.
	Certificates bool
	// Socket is the path of the operator's Unix socket; empty for none. Who can
	// open it is identity.Operator, with the role admin, and gets Operator.
	Socket   string
	Operator http.Handler

	// Proxies are the reverse proxies in front of the node.
	Proxies Proxies

	// Beside are servers of others that are reached at this one's addresses, by the names
	// that are theirs: what is asked under such a name is asked of them alone. The names
	// are as HostName has them.
	Beside map[string]*Server
	// Behind is the name of a server that another one has Beside it, and must differ from
	// those of others there; empty for one that stands by itself. It listens on its Socket
	// only, its names are those of Hosts, and nobody is taken for a caller of this machine.
	Behind string

	// Auth tells who is asking. Required.
	Auth *identity.Authenticator
	// RPC are the JSON-RPC endpoints by path. New sets their Enter and Refused.
	RPC map[string]*jsonrpc.Handler
	// Connect, if set, is called before a WebSocket is opened on a path of RPC
	// that is not Posted, with the request's header and a context that names the
	// caller. It returns what gets the connection, or why there is none.
	Connect func(ctx context.Context, header http.Header) (opened func(*jsonrpc.Conn), err error)
	// Routes are the other paths.
	Routes []Route
	// GRPC answers calls of gRPC with one message each, such as a grpc.Server
	// does; nil for none. The caller is found by identity.FromContext. They come on
	// GRPCListen, and on Listen where that is empty.
	GRPC       http.Handler
	GRPCListen string
	// GRPCMaxBody is the largest message in bytes; 0 means 4 MiB.
	GRPCMaxBody int64
	// GRPCReady, if set, is called with the address of GRPCListen once it listens.
	GRPCReady func(address string)

	// Serves says why protocols are not served at present; nil where they are. Who asks is
	// told so with the status 503, and a load balancer asks another node. nil for always.
	Serves func() error

	// Concurrent is the most calls in work at once; 0 means 1024. Four times as
	// many may wait.
	Concurrent int
	// Connections is how many may be open at once; 0 means four times Concurrent.
	Connections int
	// Rate is the most calls a second of one principal; 0 for no limit.
	Rate float64

	// Shared has Rate together with other nodes; nil where there are none.
	Shared *quota.Portions

	// Version is the program's.
	Version string
	// Checks tell whether the node is ready. Each has two seconds.
	Checks []Check
	// Home is the path below which people's pages are, such as /console/; empty for none. A
	// browser that asks for / is sent there, and a page of another origin is answered
	// nothing there, also if Origins names it: what people do there they do themselves.
	Home string
	// Tracer makes a span of each request, but for those that ask how the node is; nil for
	// none. TracerVersion is its schema.
	Tracer oteltrace.Tracer
	// Metrics is served at /metrics; nil means NewMetrics(Version).
	Metrics *Metrics
	// Logger is for what an operator should know; nil means slog.Default.
	Logger *slog.Logger
}

// Route is a path that is not JSON-RPC.
type Route struct {
	// Pattern is an http.ServeMux pattern.
	Pattern string
	Handler http.Handler
	// MaxBody is the largest body of a request, in bytes. Room for it is reserved before
	// any of it is read; with 0 none is read.
	MaxBody int64
	// JSON says that bodies are read as application/json only.
	JSON bool
	// Roles are who may use it; none means everybody, also without a
	// credential. A credential that is sent must be valid in any case. The
	// handler finds the caller by identity.FromContext.
	Roles []identity.Role
	// Signed says that who asks is told by the body alone. The handler calls Known or Unknown:
	// the rate counts from then on.
	Signed bool
	// Who, if set, tells who asks by something else than the header Authorization, such
	// as a cookie; nil for nobody who is known. Roles are the handler's business then, and
	// so is the header. Pages of other origins are refused below Config.Home only: a route
	// with Who belongs there.
	Who func(*http.Request) *identity.Credential
}

// The limits of a connection.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second // headers and body
	writeTimeout  = 60 * time.Second // from the end of the headers to the end of the answer
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	maxStreams    = 128       // of one HTTP/2 connection
	maxUnread     = 256 << 10 // bytes that one HTTP/2 connection may send before they are read
	// grace is for how long requests may go on when the server stops.
	grace = 10 * time.Second
)

// Server is a node's HTTP server.
type Server struct {
	cfg     Config
	local   bool            // listens on loopback only
	hosts   map[string]bool // names that are ours, in lower case, without port
	limits  *limiter
	conns   *conns // that came by TCP
	mux     *http.ServeMux
	metrics *Metrics
	logger  *slog.Logger
	started time.Time
	// stopping ends when the server is to stop; the connections that are not
	// http.Server's any more end with it, and are waited for.
	stopping context.Context
	stop     context.CancelFunc
	taken    sync.WaitGroup
	ready    readiness
	cert     *certificate // nil without TLS
	// refusals keeps those who guess from filling the log.
	refusals rate.Sometimes
}

// New returns a Server that listens to nothing yet.
func New(cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, local: Loopback(cfg.Listen) && cfg.Behind == "", mux: http.NewServeMux(), started: time.Now(),
		limits:  newLimiter(cmp.Or(cfg.Concurrent, 1024), cfg.Rate),
		metrics: cfg.Metrics, logger: cfg.Logger,
		refusals: rate.Sometimes{First: 10, Interval: time.Second},
	}
	s.limits.shared = cfg.Shared
	s.stopping, s.stop = context.WithCancel(context.Background())
	if s.metrics == nil {
		s.metrics = NewMetrics(cfg.Version)
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if cfg.Behind != "" && (cfg.Listen != "" || cfg.GRPCListen != "" || len(cfg.Hosts) == 0 || cfg.AllowAnonymous || cfg.Auth.Anonymous()) {
		return nil, errors.New("a server behind another one listens nowhere, has names of its own, and lets nobody in without a credential")
	}
	required := !cfg.Auth.Anonymous() && (cfg.Auth.Configured() || cfg.BeforeKeys)
	for _, listen := range []string{cfg.Listen, cfg.GRPCListen} {
		if err := CheckListen(listen, required, cfg.AllowAnonymous); err != nil {
			return nil, err
		}
	}
	s.cfg.GRPCMaxBody = cmp.Or(cfg.GRPCMaxBody, jsonrpc.DefaultMaxBody)
	if cfg.TLSCert != "" || cfg.TLSKey != "" {
		var err error
		if s.cert, err = loadCertificate(cfg.TLSCert, cfg.TLSKey, s.logger); err != nil {
			return nil, err
		}
	}
	s.conns = newConns(cmp.Or(cfg.Connections, 4*s.limits.total), func() { s.metrics.Refused("connection") })
	s.metrics.Gauge("reeve_connections", "Connections by TCP that are open.", func() float64 { return float64(s.conns.count()) })
	s.setHosts()
	s.ready = readiness{checks: cfg.Checks, logger: s.logger}
	s.metrics.Gauge("reeve_ready", "1 when the node can decide, as /readyz says it; else 0.", func() float64 {
		for i, err := range s.ready.run(context.Background()) {
			if err != nil && !cfg.Checks[i].Warns {
				return 0
			}
		}
		return 1
	})
	s.metrics.Gauge("reeve_calls_waiting", "Calls that wait for their turn.", func() float64 { return float64(s.limits.waitingCalls()) })
	for _, rpc := range cfg.RPC {
		rpc.Enter, rpc.Reserve, rpc.Refused, rpc.Streaming = s.enter, s.reserve, s.metrics.Refused, streaming
	}

	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /readyz", s.readyz)
	metrics := s.guarded(Route{Handler: s.metrics.handler(), Roles: []identity.Role{identity.Auditor, identity.Admin}})
	open := s.guarded(Route{Handler: s.metrics.handler()})
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.here(r) && cfg.Auth.Anonymous() {
			open(w, r) // only numbers, and only for this machine
			return
		}
		metrics(w, r)
	})
	for _, route := range cfg.Routes {
		s.mux.HandleFunc(route.Pattern, s.guarded(route))
	}
	return s, nil
}

// The security headers of every answer. They are shared and never changed:
// whoever sets another value replaces the slice.
var (
	nosniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
	noEmbeds = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownSite  = []string{"same-origin"}
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if other := s.cfg.Beside[HostName(r.Host)]; other != nil {
		other.ServeHTTP(w, r)
		return
	}
	w, r, end := s.begin(w, s.placed(r))
	defer end()
	r, x := arrive(r)
	defer x.end()
	if s.cfg.GRPC != nil && s.cfg.GRPCListen == "" && isGRPC(r) {
		s.remote(w, r, s.local)
		return
	}
	h := w.Header()
	h["X-Content-Type-Options"] = nosniff
	h["Cache-Control"] = noStore
	h["Content-Security-Policy"] = noEmbeds
	h["Cross-Origin-Resource-Policy"] = ownSite

	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()

	rpc := s.cfg.RPC[r.URL.Path]
	if own := s.cfg.Home != "" && strings.HasPrefix(r.URL.Path, s.cfg.Home); !own && s.knownHost(r.Host, s.local) && s.crossOrigin(w, r) {
		return
	}
	if reason := s.foreign(r, s.local); reason != "" {
		s.metrics.Refused("host")
		if rpc != nil {
			jsonrpc.WriteError(w, http.StatusForbidden, &jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: "Invalid Request", Data: jsonrpc.Reason(reason)})
		} else {
			fail(w, http.StatusForbidden, reason)
		}
		return
	}
	if rpc != nil {
		if s.cfg.Home != "" && r.Method == http.MethodGet && r.URL.Path == "/" && acceptsHTML(r.Header) {
			http.Redirect(w, r, s.cfg.Home, http.StatusSeeOther)
			return
		}
		s.call(w, r, rpc)
		return
	}
	s.route(w, r)
}

// call serves a JSON-RPC endpoint.
func (s *Server) call(w http.ResponseWriter, r *http.Request, rpc *jsonrpc.Handler) {
	ctx := r.Context()
	routed(ctx, r.URL.Path) // which is one of the node's
	if r.Method != http.MethodPost {
		if s.cfg.Connect != nil && jsonrpc.IsWebSocket(r) && !rpc.Posted {
			s.connect(w, r, rpc)
		} else {
			rpc.Serve(ctx, w, r) // which refuses it
		}
		return
	}
	by, err := s.who(r)
	if err != nil {
		reason := s.challenge(w, r, err)
		if release, refusal := s.limits.reserve(ctx, callerName(ctx, act.Anonymous), min(max(r.ContentLength, 0), jsonrpc.LargestUnknown)); refusal == nil {
			defer release()
			rpc.RefuseUnknown(w, r, reason)
		} else {
			jsonrpc.WriteError(w, http.StatusUnauthorized, &jsonrpc.Error{Code: jsonrpc.Unauthorized, Message: "Unauthorized", Data: jsonrpc.Reason(reason)})
		}
		return
	}
	ctx, h, end := held(identity.NewContext(ctx, by.Principal, by.Role), by, http.NewResponseController(w))
	defer end()
	name := callerName(ctx, by.Principal)
	if refusal := s.connected(ctx, name); refusal != nil {
		s.metrics.Refused("limit")
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
		jsonrpc.WriteError(w, refusal.Status, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "Internal error", Data: jsonrpc.Reason(refusal.Reason)})
		return
	}
	// A body that announces itself as too large is refused without being read.
	if limit := cmp.Or(rpc.MaxBody, jsonrpc.DefaultMaxBody); r.ContentLength <= limit {
		size := r.ContentLength
		if size < 0 {
			size = limit
		}
		release, refusal := s.limits.reserve(ctx, name, size)
		if refusal != nil {
			s.metrics.Refused("limit")
			w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
			jsonrpc.WriteError(w, refusal.Status, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "Internal error", Data: jsonrpc.Reason(refusal.Reason)})
			return
		}
		h.release = release
		defer h.unload()
	}
	rpc.Serve(ctx, w, r)
}

// streaming is the Streaming of the JSON-RPC endpoints: of a call that goes on as a
// stream nothing is held but the connection.
func streaming(ctx context.Context) {
	Hold(ctx, time.Now())
	if h, ok := ctx.Value(holdKey{}).(*hold); ok {
		h.unload()
	}
}

// connect opens a WebSocket.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, rpc *jsonrpc.Handler) {
	by, err := s.who(r)
	if err != nil {
		fail(w, http.StatusUnauthorized, s.challenge(w, r, err))
		return
	}
	// The context of a request does not end with its connection, once that is taken.
	ctx, over := context.WithCancelCause(s.stopping)
	defer over(nil)
	for _, key := range []any{addressKey{}, connKey{}} {
		if value := r.Context().Value(key); value != nil {
			ctx = context.WithValue(ctx, key, value)
		}
	}
	ctx = act.WithTraceparent(ctx, act.TraceparentFrom(r.Context()))
	ctx = context.WithValue(identity.NewContext(ctx, by.Principal, by.Role), socketKey{}, by)
	if refusal := s.connected(ctx, callerName(ctx, by.Principal)); refusal != nil {
		s.refuseRoute(w, refusal)
		return
	}
	opened, err := s.cfg.Connect(ctx, r.Header)
	if err != nil {
		s.metrics.Refused("handshake")
		s.refusals.Do(func() { s.logger.Warn("a signed handshake was refused", "cause", err, "from", r.RemoteAddr) })
		jsonrpc.WriteError(w, http.StatusUnauthorized, &jsonrpc.Error{Code: handshakeRefused, Message: "Registration Failed", Data: jsonrpc.Reason("The signed handshake was refused.")})
		return
	}
	s.taken.Add(1)
	defer s.taken.Done()
	s.metrics.inFlight.Dec() // it is no request any more
	defer s.metrics.inFlight.Inc()
	exchangeIn(r.Context()).end()
	go watch(ctx.Done(), by, over)
	rpc.ServeWebSocket(ctx, w, r, opened)
}

// socketKey is where the context of a WebSocket has the credential that it was opened with.
type socketKey struct{}

// connected notes whose connection a request came by.
func (s *Server) connected(ctx context.Context, name string) *jsonrpc.Refusal {
	if s.cfg.Behind != "" { // another one's caller may have the same name
		name = s.cfg.Behind + "/" + name
	}
	if c, ok := ctx.Value(connKey{}).(*conn); ok && !c.belongs(name) {
		return &jsonrpc.Refusal{Status: 429, RetryAfter: 1, Reason: "You have too many connections that wait for answers. Use fewer."}
	}
	return nil
}

// handshakeRefused is A2G's code for it.
const handshakeRefused = -32002

// reserve is the Reserve of the JSON-RPC endpoints, for what comes by WebSocket.
func (s *Server) reserve(ctx context.Context, size int64) (func(), *jsonrpc.Refusal) {
	principal, _ := identity.FromContext(ctx)
	return s.limits.reserve(ctx, callerName(ctx, principal), size)
}

// enter is the Enter of the JSON-RPC endpoints.
func (s *Server) enter(ctx context.Context, size int) (leave func(), refusal *jsonrpc.Refusal) {
	principal, _ := identity.FromContext(ctx)
	by, socket := ctx.Value(socketKey{}).(*identity.Credential)
	if socket {
		if c, ok := ctx.Value(connKey{}).(*conn); ok {
			c.await()
			answered := func() { c.answered() }
			defer func() {
				if refusal != nil {
					answered()
				} else {
					turn := leave
					leave = func() { turn(); answered() }
				}
			}()
		}
	}
	if s.cfg.Serves != nil {
		if err := s.cfg.Serves(); err != nil {
			return nil, &jsonrpc.Refusal{Status: 503, RetryAfter: 1, Reason: "This node does not serve at the moment: the nodes do not have the same policy. Ask another one."}
		}
	}
	leave, refusal = s.limits.enter(ctx, callerName(ctx, principal), size)
	if refusal != nil {
		s.metrics.Refused("limit")
		return nil, refusal
	}
	h, ok := ctx.Value(holdKey{}).(*hold)
	if ok {
		by = h.of
	}
	if by != nil {
		// It may have been revoked since the socket was opened, or while the body came.
		if err := by.Err(); err != nil {
			leave()
			s.metrics.Refused("credential")
			return nil, &jsonrpc.Refusal{Status: http.StatusUnauthorized, Reason: err.Error()}
		}
	}
	if ok {
		leave = h.begin(leave)
	}
	return leave, nil
}

// callerName is the name under which a caller's share is counted. Callers
// without a credential are told apart by their address, and whoever acts for many has one
// share for all of them.
func callerName(ctx context.Context, p act.Principal) string {
	if p.Method == act.Anonymous.Method {
		if address, ok := ctx.Value(addressKey{}).(string); ok {
			return address
		}
	}
	if actors := p.Delegated().Actors; len(actors) > 0 {
		return actors[0]
	}
	return p.Name
}

// challenge sets what a 401 needs, and returns the sentence for the caller. The
// cause is for the log.
func (s *Server) challenge(w http.ResponseWriter, r *http.Request, err error) string {
	s.metrics.Refused("credential")
	e, ok := errors.AsType[*identity.Error](err)
	if !ok {
		e = &identity.Error{Reason: "The credential could not be checked."}
	}
	if !e.Missing {
		s.refusals.Do(func() {
			said := []any{"reason", e.Reason, "from", r.RemoteAddr}
			if cause := errors.Unwrap(err); cause != nil {
				said = append(said, "cause", cause)
			}
			s.logger.Warn("a credential was refused", said...)
		})
	}
	w.Header().Set("WWW-Authenticate", e.Challenge())
	if e.Nonce != "" {
		w.Header().Set("DPoP-Nonce", e.Nonce)
	}
	return e.Reason
}

// guarded wraps a route's handler, which only its roles may use, each caller within
// its share.
func (s *Server) guarded(route Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, principal := r.Context(), act.Anonymous
		routed(ctx, r.Pattern)
		var by *identity.Credential
		if route.Who != nil {
			if by = route.Who(r); by != nil {
				principal = by.Principal
				ctx = identity.NewContext(ctx, principal, by.Role)
			}
		} else if len(route.Roles) > 0 || len(r.Header["Authorization"]) > 0 {
			var role identity.Role
			var err error
			if by, err = s.who(r); err == nil {
				principal, role = by.Principal, by.Role
			}
			allowed := len(route.Roles) == 0 || slices.Contains(route.Roles, role)
			if err == nil && !allowed && principal == act.Anonymous {
				err = &identity.Error{Missing: true, Reason: "A credential is required here."}
			}
			if err != nil {
				fail(w, http.StatusUnauthorized, s.challenge(w, r, err))
				return
			}
			if !allowed {
				s.metrics.Refused("role")
				fail(w, http.StatusForbidden, "Your role is "+string(role)+", which may not do this.")
				return
			}
			ctx = identity.NewContext(ctx, principal, role)
		}
		name := callerName(ctx, principal)
		if by != nil {
			if refusal := s.connected(ctx, name); refusal != nil {
				s.refuseRoute(w, refusal)
				return
			}
		}
		size, release, ok := s.body(ctx, w, r, route, name)
		if !ok {
			return
		}
		ctx, h, end := held(ctx, by, http.NewResponseController(w))
		defer end()
		h.release = release
		defer h.unload()
		enter := s.limits.enter
		if route.Signed && by == nil {
			enter = s.limits.turn
			told := false
			h.known = func(by act.Principal, size int) *jsonrpc.Refusal {
				told = true
				return s.known(ctx, h, by, size)
			}
			h.unknown = func() {
				told = true
				h.once(&h.leave)
				if s.limits.pace(ctx, name) != nil {
					s.metrics.Refused("limit")
				}
			}
			defer func() {
				if !told { // it was not even read
					h.unknown()
				}
			}()
		}
		leave, refusal := enter(ctx, name, size)
		if refusal != nil {
			s.refuseRoute(w, refusal)
			return
		}
		defer h.begin(leave)()
		if by != nil {
			if err := by.Err(); err != nil { // revoked while the body came
				fail(w, http.StatusUnauthorized, s.challenge(w, r, err))
				return
			}
		}
		r = r.WithContext(ctx)
		route.Handler.ServeHTTP(w, r)
		routed(ctx, r.Pattern) // of a handler with routes of its own
	}
}

// known is Known for a call that holds h.
func (s *Server) known(ctx context.Context, h *hold, by act.Principal, size int) *jsonrpc.Refusal {
	h.once(&h.leave)
	refusal := s.connected(ctx, by.Name)
	var release, leave func()
	if refusal == nil {
		release, refusal = s.limits.reserve(ctx, by.Name, int64(size))
	}
	if refusal == nil {
		h.unload()
		h.mu.Lock()
		h.release = release
		h.mu.Unlock()
		leave, refusal = s.limits.enter(ctx, by.Name, size)
	}
	if refusal != nil {
		s.metrics.Refused("limit")
		return refusal
	}
	h.begin(leave)
	return nil
}

// body reads a request's body, after it has seen to it that it is one that the route
// reads and that there is room for it. So a body that comes by half, or slowly, holds
// memory that is counted, and no turn. size is its bytes.
func (s *Server) body(ctx context.Context, w http.ResponseWriter, r *http.Request, route Route, name string) (size int, release func(), ok bool) {
	refuse := func(status int, why, reason string) (int, func(), bool) {
		s.metrics.Refused(why)
		w.Header().Set("Connection", "close")
		fail(w, status, reason)
		return 0, nil, false
	}
	tooLarge := fmt.Sprintf("The body is larger than %d bytes, the limit here.", route.MaxBody)
	switch {
	case route.JSON && r.Method != http.MethodGet && r.Method != http.MethodHead && !jsonrpc.IsJSON(r.Header):
		return refuse(http.StatusUnsupportedMediaType, "type", "Send the request as Content-Type: application/json, and not compressed.")
	case route.MaxBody == 0 || r.ContentLength == 0:
		r.Body = http.NoBody
		return 0, func() {}, true
	case r.ContentLength > route.MaxBody:
		return refuse(http.StatusRequestEntityTooLarge, "size", tooLarge)
	}
	announced := r.ContentLength
	if announced < 0 {
		announced = route.MaxBody
	}
	reading := http.NewResponseController(w)
	whole, release, refusal := s.limits.receive(ctx, name, announced, func() { _ = reading.SetReadDeadline(time.Unix(1, 0)) })
	if refusal != nil {
		s.refuseRoute(w, refusal)
		return 0, nil, false
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, route.MaxBody))
	whole()
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(text))
		return len(text), release, true
	}
	release()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(http.StatusRequestEntityTooLarge, "size", tooLarge)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return refuse(http.StatusRequestTimeout, "slow", "The body did not arrive in time.")
	}
	return refuse(http.StatusBadRequest, "parse", "The body ended before it was complete.")
}

// AgentsOnly has a protocol answer those who act. Approvers and auditors look at what
// agents do; whoever holds their keys must not be one, nor fill the ledger.
func AgentsOnly(space jsonrpc.Namespace) jsonrpc.Namespace {
	handle := space.Handle
	space.Handle = func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
		if _, role := identity.FromContext(ctx); !role.Acts() && r.Method != "ping" {
			return nil, &jsonrpc.Error{Code: jsonrpc.Unauthorized, Message: "Unauthorized", Data: jsonrpc.Reason("Your role is " + string(role) + ", which " + doesOnly(role) + ". Ask with the credential of an agent.")}
		}
		return handle(ctx, r)
	}
	return space
}

// doesOnly says what a role does that does not act.
func doesOnly(role identity.Role) string {
	if role == identity.Approver {
		return "answers what is held for people, and asks for nothing itself"
	}
	return "only looks"
}

// refuseRoute refuses a request that is no JSON-RPC and is over a limit.
func (s *Server) refuseRoute(w http.ResponseWriter, refusal *jsonrpc.Refusal) {
	s.metrics.Refused("limit")
	w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	fail(w, refusal.Status, refusal.Reason)
}

// route serves what is not JSON-RPC. A panic there ends the request only.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		s.logger.Error("panic while serving a request", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		fail(w, http.StatusInternalServerError, "Something went wrong inside; the node's log has more.")
	}()
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.nowhere(w, r, handler)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// nowhere answers a request for a path, or with a verb, that there is not. plain
// is the mux's handler, which knows which of the two it is.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request, plain http.Handler) {
	refused := refusal{header: http.Header{}}
	plain.ServeHTTP(&refused, r)
	if allow := refused.header["Allow"]; len(allow) > 0 {
		w.Header()["Allow"] = allow
		fail(w, refused.status, "This path takes "+strings.Join(allow, ", ")+" only.")
		return
	}
	paths := slices.Sorted(maps.Keys(s.cfg.RPC))
	WriteJSON(w, http.StatusNotFound, struct {
		Error string   `json:"error"`
		Paths []string `json:"paths"`
	}{"There is nothing at this path. Agents ask with POST " + strings.Join(paths, " or ") + ".", paths})
}

// refusal is a ResponseWriter that keeps the status and the headers only.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(p []byte) (int, error) { return len(p), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

// Run listens and serves until ctx ends; requests that have begun are then
// finished. ready, if not nil, is called with the server's URL once it listens:
// empty when that is on the socket only.
func (s *Server) Run(ctx context.Context, ready func(url string)) error {
	listener, remote, err := s.sockets()
	if err != nil {
		return err
	}
	var servers []*http.Server
	ended := make(chan error, 3)
	if s.cfg.Socket != "" {
		socket, err := listenSocket(s.cfg.Socket)
		if err != nil {
			for _, l := range []net.Listener{listener, remote} {
				if l != nil {
					l.Close()
				}
			}
			return err
		}
		operator := s.httpServer(s.operator())
		operator.ReadTimeout, operator.WriteTimeout = 0, 0 // a backup takes its time
		servers = append(servers, operator)
		// The operator's connections are counted apart, so that others leave room for them.
		own := newConns(operatorConns, nil)
		socket = &sharedListener{Listener: socket, pool: own, name: func(net.Conn) (string, bool) { return identity.Operator.Name, false }}
		go func() { ended <- operator.Serve(socket) }()
	}
	url := ""
	if listener != nil {
		main := s.httpServer(s)
		if s.cfg.GRPC != nil && remote == nil || s.remoteBeside() {
			s.speakGRPC(main, true)
		}
		servers = append(servers, main)
		url = s.listen(main, listener, ended)
	}
	if remote != nil {
		own := s.httpServer(http.HandlerFunc(s.grpcOnly))
		s.speakGRPC(own, false)
		servers = append(servers, own)
		s.listen(own, remote, ended)
		if s.cfg.GRPCReady != nil {
			s.cfg.GRPCReady(remote.Addr().String())
		}
	}
	if ready != nil {
		ready(url)
	}

	select {
	case <-ctx.Done():
	case err = <-ended: // before its time
	}
	s.stop()
	defer s.taken.Wait() // which is bounded by their patience
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, server := range servers {
		if e := server.Shutdown(drain); e != nil {
			server.Close()
			s.logger.Warn("stopped while requests were being served", "error", e)
		}
	}
	return err
}

// sockets listens on the addresses that are set; nil is for none.
func (s *Server) sockets() (main, remote net.Listener, err error) {
	if s.cfg.Listen != "" {
		if main, err = listenAt("listen", s.cfg.Listen); err != nil {
			return nil, nil, err
		}
	}
	if s.cfg.GRPC == nil || s.cfg.GRPCListen == "" {
		return main, nil, nil
	}
	if remote, err = listenAt("a2a.grpc", s.cfg.GRPCListen); err != nil {
		if main != nil {
			main.Close()
		}
		return nil, nil, err
	}
	return main, remote, nil
}

// listenAt listens on the address of a setting, and says which one when that fails.
func listenAt(setting, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: another program listens on %s already: end it, or give another address (port 0 takes a free one)", setting, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return l, nil
}

// listen serves what comes by TCP, until the server is shut down, and returns its URL.
func (s *Server) listen(main *http.Server, listener net.Listener, ended chan<- error) (url string) {
	address := listener.Addr().String()
	listener = &sharedListener{Listener: listener, pool: s.conns, name: func(c net.Conn) (string, bool) {
		a := addressOf(c.RemoteAddr().String())
		return addressName(a), s.cfg.Proxies.trusts(a)
	}}
	if s.cert != nil {
		main.TLSConfig = s.cert.config()
		if s.cfg.Certificates {
			main.TLSConfig.ClientAuth = tls.RequestClientCert
		}
		go func() { ended <- main.ServeTLS(listener, "", "") }()
		return "https://" + address
	}
	if !Loopback(address) {
		s.logger.Warn("listening beyond loopback without TLS: credentials and contents can be read on the way", "address", address)
	}
	go func() { ended <- main.Serve(listener) }()
	return "http://" + address
}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
		},
		// What goes wrong with single connections is the other side's doing.
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if own := connOf(c); own != nil {
				ctx = context.WithValue(ctx, connKey{}, own)
			}
			if a := addressOf(c.RemoteAddr().String()); a.IsValid() {
				ctx = context.WithValue(ctx, addressKey{}, addressName(a))
			}
			return ctx
		},
	}
}

// speakGRPC has a server speak HTTP/2 as gRPC needs it, with TLS or without; first
// says that HTTP/1 is spoken, too.
func (s *Server) speakGRPC(server *http.Server, first bool) {
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(first)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.HTTP2.MaxConcurrentStreams = maxGRPCStreams
	server.HTTP2.SendPingTimeout, server.HTTP2.PingTimeout = silence, pingAnswer
}

// remoteBeside reports whether a server beside this one speaks gRPC at its address.
func (s *Server) remoteBeside() bool {
	for _, other := range s.cfg.Beside {
		if other.cfg.GRPC != nil {
			return true
		}
	}
	return false
}

// operatorConns are the connections of the operator that may be open at once.
const operatorConns = 1024

// operatorBody is the largest body on the operator's socket: a message for a proxy of
// MCP, and what stands around it.
const operatorBody = 40 << 20

// operator serves the socket.
func (s *Server) operator() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, r, end := s.begin(w, r)
		defer end()
		r, x := arrive(r)
		defer x.end()
		w.Header()["Cache-Control"] = noStore
		if how := trace(r); how != "" { // a proxy before this would make everybody the operator
			s.metrics.Refused("forwarded")
			fail(w, http.StatusForbidden, "Nothing that another program passed on is answered on this socket: "+how+".")
			return
		}
		who := identity.Operator
		if own, ok := r.Context().Value(connKey{}).(*conn); ok {
			who = identity.Peer(own.Conn)
		}
		ctx := identity.NewContext(r.Context(), who, identity.Admin)
		_, release, ok := s.body(ctx, w, r, Route{MaxBody: operatorBody, JSON: true}, identity.Operator.Name)
		if !ok {
			return
		}
		defer release()
		r = r.WithContext(ctx)
		s.cfg.Operator.ServeHTTP(w, r)
		routed(ctx, r.Pattern)
	})
}

// acceptsHTML reports whether a browser asks for a page. A weight of zero means
// that it is not wanted (RFC 9110, section 12.4.2).
func acceptsHTML(h http.Header) bool {
	for _, accept := range h["Accept"] {
		for part := range strings.SplitSeq(accept, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), "text/html") && !zeroWeight(parameters) {
				return true
			}
		}
	}
	return false
}

func zeroWeight(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			weight, err := strconv.ParseFloat(value, 64)
			return err != nil || weight <= 0
		}
	}
	return false
}
