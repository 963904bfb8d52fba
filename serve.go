package reeve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/apflow"
	"reeve.example/reeve/internal/console"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/mcp/proxy"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/retention"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/words"
)

// Serve listens and answers until ctx ends, and then finishes what has begun.
// ready is called with the node's URL once it listens; nil for nobody.
func (n *Node) Serve(ctx context.Context, ready func(url string)) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	beside, release, err := n.serversBeside()
	if err != nil {
		return err
	}
	defer release()
	s, release, err := n.newServer(beside)
	if err != nil {
		return err
	}
	defer release()
	wait := n.runOrganizations(ctx, end, beside)
	err = n.run(ctx, end, s, ready)
	end()
	return errors.Join(err, wait())
}

// newServer returns the node's server, with those of organizations beside it. release is
// called when it does not serve any more.
func (n *Node) newServer(beside map[string]*server.Server) (s *server.Server, release func(), err error) {
	cfg := n.serverConfig()
	cfg.Beside = beside
	release = n.remote(&cfg)
	if s, err = server.New(cfg); err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// run begins what runs beside the requests, and serves until ctx ends; end ends it.
func (n *Node) run(ctx context.Context, end func(), s *server.Server, ready func(url string)) error {
	defer n.endIfLost(end)()
	if err := n.begin(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, n.flow.Close)() // streams would use up the time for what has begun
	defer context.AfterFunc(ctx, n.a2a.Close)()
	// What a node that was killed left must be gone before there is a socket that says
	// that one runs: somebody else may be listening there by now. That of a node that
	// runs is its own, and Run says so.
	if _, err := datadir.URL(ctx, n.cfg.Data); errors.Is(err, datadir.ErrNotRunning) {
		if err := datadir.WriteURL(n.cfg.Data, ""); err != nil {
			return err
		}
		defer datadir.WriteURL(n.cfg.Data, "")
	}
	err := s.Run(ctx, func(url string) {
		n.listensAt(url)
		if err := datadir.WriteURL(n.cfg.Data, url); err != nil {
			n.logger.Warn("hooks of this machine cannot find the node by its data folder", "error", err)
		}
		n.a2a.SetURL(url)
		if ready != nil {
			ready(url)
		}
	})
	return errors.Join(err, n.lostError())
}

// ServeA2G speaks A2G with one caller over a pair of streams, one JSON message a
// line, until the input ends or ctx does. Who started the process is the caller.
func (n *Node) ServeA2G(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := n.begin(ctx); err != nil {
		return err
	}
	namespace := n.a2g.Namespace()
	h := &jsonrpc.Handler{Own: &namespace, MaxBody: n.cfg.Limits.Body, MaxBatch: n.cfg.Limits.Batch, Logger: n.logger}
	caller := act.Principal{Name: "stdio", Method: "local"}
	return h.ServeStdio(identity.NewContext(ctx, caller, identity.Agent), in, out, func(c *jsonrpc.Conn) { n.a2g.Opened(c, "") })
}

// begin starts what runs beside the requests, until the node is closed.
func (n *Node) begin(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.background = stop
	n.stopping, n.door.Stopping = ctx, ctx
	if err := n.anchorer.Prepare(background); err != nil {
		return fmt.Errorf("publish checkpoints: %w", err)
	}
	if err := n.serves(background); err != nil {
		return fmt.Errorf("join the nodes of this database: %w", err)
	}
	if err := n.openExports(background); err != nil {
		return err
	}
	for _, f := range n.exports {
		n.tasks.Go(func() { f.Run(background) })
	}
	n.tasks.Go(func() { n.anchorer.Run(background) })
	n.tasks.Go(func() { n.retention().Run(background) })
	n.tasks.Go(func() { every(background, time.Minute, func() { n.endOverdue(background) }) })
	n.tasks.Go(func() { every(background, time.Minute, func() { n.sealLater(background) }) })
	n.tasks.Go(func() { every(background, time.Minute, func() { n.learnHabits(background) }) })
	n.tasks.Go(func() { every(background, time.Minute, func() { n.readBills(background) }) })
	if n.notices != nil {
		n.tasks.Go(func() { n.notices.Run(background) })
	}
	n.tasks.Go(func() { n.watchPolicy(background) })
	n.tasks.Go(func() { n.watchOthers(background) })
	n.tasks.Go(func() { n.runTasks(background) })
	n.tasks.Go(func() { n.a2a.Run(background) })
	return nil
}

// origins are those of the setting, as browsers write them.
func (c *Config) origins() []string {
	list, err := server.ParseOrigins(c.Origins)
	if err != nil {
		return nil // check has refused it
	}
	return list
}

// protocols are those of JSON-RPC that the node speaks.
func (n *Node) protocols() []jsonrpc.Namespace {
	// Who only looks may look at tasks, of flow and of A2A.
	protocols := append([]jsonrpc.Namespace{
		server.AgentsOnly(aos.Namespace(n.door.Decide, n.writable, Version(), n.now)), server.AgentsOnly(n.a2g.Namespace()), n.flow.Namespace(),
	}, n.a2a.Namespaces()...)
	// Last: but for their own paths the methods are flow's.
	upstream := apflow.New(n.flow.Namespace(), Version(), n.executors.List)
	return append(protocols, upstream.Tasks(), upstream.System())
}

func (n *Node) serverConfig() server.Config {
	pages := n.console()
	listen, behind := n.cfg.Listen, ""
	if n.cfg.behind != nil {
		listen, behind = "", n.cfg.Organization
	}
	checks := []server.Check{
		{Name: "store", Run: n.store.Probe},
		{Name: "ledger", Run: func(context.Context) error {
			if n.log.Err() == nil {
				return nil
			}
			return n.writable()
		}},
		{Name: "disk", Run: n.disk},
		{Name: "serving", Run: func(context.Context) error { return n.refusedNow() }},
		{Name: "nodes", Run: n.alike, Warns: true},
	}
	if len(n.organizations) > 0 {
		checks = append(checks, server.Check{Name: "organizations", Run: n.organizationsReady, Warns: true})
	}
	return server.Config{
		Listen: listen, Behind: behind, AllowAnonymous: n.cfg.InsecureAnonymous, BeforeKeys: n.cfg.Anonymous == "never", Hosts: n.cfg.Hosts, Origins: n.cfg.origins(),
		TLSCert: n.cfg.TLS.Cert, TLSKey: n.cfg.TLS.Key, Certificates: n.asksForCertificates(),
		Socket: filepath.Join(n.cfg.Data, SocketName), Operator: withCode(n.Admin(), pages),
		Auth: n.auth, Proxies: n.cfg.proxies(), Connections: n.connections(openFiles()),
		RPC:     jsonrpc.Endpoints(jsonrpc.Handler{MaxBody: n.cfg.Limits.Body, MaxBatch: n.cfg.Limits.Batch, Logger: n.logger}, n.protocols()),
		Connect: n.connect,
		Home:    console.Home,
		Routes: append(append(append(n.operator().Routes(), pages.Routes()...), n.controls()...),
			server.Route{Pattern: "/ledger/", Handler: n.proofs, Roles: n.cfg.ledgerRoles()},
			server.Route{Pattern: "GET /telemetry", Handler: http.HandlerFunc(n.telemetry), Roles: []identity.Role{identity.Auditor, identity.Admin}},
			server.Route{Pattern: "/mcp/", Handler: proxy.Serve(n.guard, n.pins), MaxBody: proxy.MaxQuestion, JSON: true, Roles: []identity.Role{identity.Agent, identity.Approver, identity.Admin}},
			server.Route{Pattern: "GET /tasks/{id}/events", Handler: n.stream(n.flow.EventsHandler()), Roles: identity.Roles},
			server.Route{Pattern: "GET /.well-known/agent-card", Handler: n.flow.AgentCard()},
			server.Route{Pattern: "GET " + apflow.Path + "/.well-known/agent-card", Handler: n.flow.AgentCard()},
			server.Route{Pattern: "GET /.well-known/agent-card.json", Handler: n.a2a.Card(false)},
			server.Route{Pattern: "GET /a2a/.well-known/agent-card.json", Handler: n.a2a.Card(true)},
			server.Route{Pattern: "/rest/", Handler: n.a2a.REST(), MaxBody: n.cfg.Limits.Body, Roles: identity.Roles},
			server.Route{Pattern: "/v1/", Handler: n.a2a.RESTv03(), MaxBody: n.cfg.Limits.Body, Roles: identity.Roles},
		),
		Serves:     n.refusedNow,
		Shared:     n.portions(),
		Concurrent: n.cfg.Limits.Concurrent, Rate: n.cfg.Limits.Rate,
		Version: Version(), Tracer: n.tracer(), Metrics: n.metrics, Logger: n.logger,
		Checks: checks,
	}
}

// asksForCertificates reports whether who opens a connection is asked for a certificate:
// where the node, or that of an organization, takes some.
func (n *Node) asksForCertificates() bool {
	return n.cfg.TLS.ClientCertificates || len(n.cfg.SPIFFE.Bundles) > 0 || slices.ContainsFunc(n.organizations, (*Node).asksForCertificates)
}

// controls is the path of ACS, which is open to whoever can sign: nothing else is asked of
// the caller.
func (n *Node) controls() []server.Route {
	if n.acs == nil {
		return nil
	}
	namespace := n.acs.Namespace()
	h := &jsonrpc.Handler{Own: &namespace, MaxBody: n.cfg.Limits.Body, MaxBatch: n.cfg.Limits.Batch, Posted: true, Logger: n.logger}
	return []server.Route{{Pattern: "/acs", Handler: h, MaxBody: n.cfg.Limits.Body, JSON: true, Signed: true}}
}

// connections is how many callers' connections may be open at once, where the process may
// have so many files open, 0 for any number: a quarter of these is left for the database
// and for what tasks open, or the ledger could not be written for all the callers.
func (n *Node) connections(files int) int {
	most := 4 * n.cfg.Limits.Concurrent
	if room := files - max(128, files/4); files > 0 && room < most {
		most = max(16, room)
		n.logger.Warn("fewer connections are taken than limits.concurrent allows, since the process may open few files: raise its limit of open files (ulimit -n)",
			"connections", most, "files", files)
	}
	return most
}

// ledgerRoles are who may read the ledger's proofs over HTTP; nil means everybody,
// also without a credential.
func (c *Config) ledgerRoles() []identity.Role {
	switch c.Ledger.Public {
	case "true":
		return nil
	case "false":
		return []identity.Role{identity.Auditor, identity.Admin}
	}
	return identity.Roles
}

// stream has a handler keep no turn: what it answers goes on for as long as it lasts.
func (n *Node) stream(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.Hold(r.Context(), n.now())
		h.ServeHTTP(w, r)
	})
}

// retention removes what is not kept any longer.
func (n *Node) retention() *retention.Keeper {
	return &retention.Keeper{
		Store: n.store, Log: n.log, Guard: n.guard, Engine: n.engine.Load(), Messages: n.a2a, Bills: n.bills,
		Contents: n.cfg.Retention.Age, Links: n.cfg.Retention.Links, Bytes: n.cfg.Retention.Bytes, Tasks: n.cfg.Retention.Tasks, Records: n.cfg.Retention.Records, Now: n.now, Logger: n.logger,
	}
}

// stops is closed when the node stops serving; nil for one that does not serve.
func (n *Node) stops() <-chan struct{} {
	if n.stopping == nil {
		return nil
	}
	return n.stopping.Done()
}

// newOperator makes what people do to the node.
func (n *Node) newOperator() *operator.API {
	api := &operator.API{
		Evidence: &n.cfg, PolicyPath: n.cfg.PolicyPath, Among: n.cfg.behind != nil,
		Guard: n.guard, Agents: n.a2g, Store: n.store, Log: n.log, Keys: &n.keys, Retention: n.retention(), Replays: n.replays, Shadow: &n.shadow, Bills: n.bills,
		ReloadPolicy: n.reloadEverywhere, Members: n.members, Running: n.running, SealSeed: n.sealSeed, Pushes: n.pushes, Stopping: n.stops, Version: Version(), Logger: n.logger,
	}
	if s, ok := n.store.(*sqlite.Store); ok {
		api.Backup = s.Backup
	}
	return api
}

// console is what people see of the node in a browser.
func (n *Node) console() *console.Console {
	return console.New(console.Config{
		Provider: n.provider, Node: n.Admin(), Auth: n.auth, Tail: &n.tail, Stopping: func() <-chan struct{} { return n.stopping.Done() }, Version: Version(), Now: n.now, Logger: n.logger,
	})
}

// withCode also gives codes that let a browser in: to whoever can open the socket.
func withCode(operator http.Handler, pages *console.Console) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", operator)
	mux.Handle("POST /admin/console", pages.Code())
	return mux
}

// SocketName is the operator's socket in the data folder: what is asked there
// comes from whoever may read that folder.
const SocketName = datadir.Socket

// Admin serves what an operator does to a node: on the socket in the data folder, and to
// who opened the node.
func (n *Node) Admin() http.Handler {
	mux := n.operator().Mux()
	mux.Handle("/mcp/", proxy.Serve(n.guard, n.pins))
	mux.Handle("POST /flow", n.flowRPC())
	mux.Handle("GET /tasks/{id}/events", n.flow.EventsHandler())
	mux.Handle("GET /ledger/", n.proofs)
	return mux
}

// telemetry streams the ledger's A2G events. A stream has no turn to keep.
func (n *Node) telemetry(w http.ResponseWriter, r *http.Request) {
	server.Hold(r.Context(), n.now())
	(&a2g.Telemetry{Store: n.store, Tail: n.log.Tail(), Logger: n.logger, Stopping: n.stopping}).ServeHTTP(w, r)
}

// connect checks the handshake of a request for a WebSocket, which may be signed
// for an agent, and returns what notes the connection.
func (n *Node) connect(ctx context.Context, header http.Header) (func(*jsonrpc.Conn), error) {
	if _, role := identity.FromContext(ctx); !role.Acts() { // nor does it speak for one
		return func(*jsonrpc.Conn) {}, nil
	}
	did, err := n.a2g.Handshake(ctx, header)
	return func(c *jsonrpc.Conn) { n.a2g.Opened(c, did) }, err
}

// hold has a call wait for people, unless it came on a connection of many calls.
func hold(ctx context.Context, until time.Time) bool {
	if jsonrpc.ConnFrom(ctx) != nil {
		return false
	}
	server.Hold(ctx, until)
	return true
}

// LogName is the name of the node's log in its checkpoints.
func (n *Node) LogName() string { return fmt.Sprintf("%s/%d", n.cfg.Ledger.Origin, n.log.Number()) }

// writable says whether decisions can be recorded, as of at most a second ago.
func (n *Node) writable() error {
	n.probe.Lock()
	defer n.probe.Unlock()
	if n.now().Sub(n.probed) > time.Second {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		n.probeErr, n.probed = n.store.Probe(ctx), n.now()
		if n.probeErr == nil {
			_ = n.log.Try(ctx) // Err tells
		}
	}
	if n.probeErr != nil {
		return n.probeErr
	}
	return n.log.Err()
}

// diskOf is the folder whose disk the node writes.
func (n *Node) diskOf() string {
	if url, _ := n.cfg.postgres(); url == "" {
		return n.cfg.sqlite()
	}
	return n.cfg.Data
}

// running tells how the node stands now.
func (n *Node) running() operator.Running {
	limits := &n.cfg.Limits
	r := operator.Running{Doors: []string{"/mcp/", "/rest/", "/v1/"}, Exporters: []operator.Exporter{}, Limits: []operator.Limit{
		{Setting: "limits.body", Value: fmt.Sprint(limits.Body, " bytes of a request")},
		{Setting: "limits.batch", Value: fmt.Sprint(limits.Batch, " calls in a batch")},
		{Setting: "limits.concurrent", Value: fmt.Sprint(limits.Concurrent, " requests at once")},
		{Setting: "limits.rate", Value: "none"},
		{Setting: "limits.sessions", Value: fmt.Sprint(limits.Sessions, " bytes of sessions in memory")},
		{Setting: "tasks.concurrent", Value: fmt.Sprint(n.cfg.Tasks.Concurrent, " tasks at once")},
	}}
	if limits.Rate > 0 {
		r.Limits[3].Value = fmt.Sprint(limits.Rate, " requests a second for each principal")
	}
	for _, p := range n.protocols() {
		r.Doors = append(r.Doors, p.Paths...)
	}
	slices.Sort(r.Doors)
	r.Doors = slices.Compact(r.Doors)
	for _, f := range n.exports {
		s := f.Stats()
		r.Exporters = append(r.Exporters, operator.Exporter{Name: f.Name, Behind: s.Behind, Delay: s.Delay.Seconds(), Sent: s.Sent, Refused: s.Refused, Failing: s.Failing})
	}
	if n.cfg.behind == nil { // the machine is not an organization's
		if free, err := FreeBytes(n.diskOf()); err == nil {
			r.Disk = &operator.Disk{Free: free, Wanted: limits.Disk}
		}
	}
	return r
}

func (n *Node) disk(context.Context) error {
	dir := n.diskOf()
	free, err := FreeBytes(dir)
	if err == nil && free < n.cfg.Limits.Disk {
		err = fmt.Errorf("%d bytes are free on the disk of %s, and %d are wanted", free, dir, n.cfg.Limits.Disk)
	}
	return err
}

// LearnHabits takes the sessions that are over into their agents' habits, and brings the
// bills of materials up to date, as a node does once a minute while it serves: for a program that decides by itself, such as a hook. It
// takes a few seconds at most; what is left is learned the next time.
func (n *Node) LearnHabits(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	n.learnHabits(ctx)
	n.readBills(ctx)
	n.tasks.Wait() // people are told meanwhile
}

// learnHabits takes the sessions that are over into their agents' habits. What other nodes
// are writing now is read with the next.
func (n *Node) learnHabits(ctx context.Context) {
	if _, err := n.guard.Learn(ctx, n.now().Add(-time.Minute)); err != nil && ctx.Err() == nil {
		n.logger.Error("agents' habits were not learned from", "error", err)
	}
}

// usedBefore reports whether an agent's bill of materials shows the tool of a call as used.
func (n *Node) usedBefore(ctx context.Context, a *act.Action) (bool, error) {
	return n.bills.Used(ctx, a)
}

// maxFilesSaid is how many files a decision tells of.
const maxFilesSaid = 8

// filesChanged compares what an agent goes by with what somebody agreed to.
func (n *Node) filesChanged(ctx context.Context, a *act.Action) ([]act.Violation, error) {
	differ, err := n.pins.CompareFiles(ctx, a.Principal, a.Agent.ID, pins.Mode(n.cfg.MCP.Pin), a.GoesBy)
	if full, ok := errors.AsType[*guard.QuotaError](err); ok { // what cannot be remembered is not agreed to
		differ, err = []string{full.Error()}, nil
	}
	if err != nil || len(differ) == 0 {
		return nil, err
	}
	said := strings.Join(differ[:min(len(differ), maxFilesSaid)], " ")
	if more := len(differ) - maxFilesSaid; more > 0 {
		said += fmt.Sprintf(" So it is with %s.", words.Count(more, "more file"))
	}
	return []act.Violation{{Check: "files.changed", Message: said}}, nil
}

// readBills brings agents' bills of materials up to date with the ledger.
func (n *Node) readBills(ctx context.Context) {
	if err := n.bills.Read(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("agents' bills of materials were not brought up to date", "error", err)
	}
}

// endOverdue ends what nobody answered or reported in time, each with a record.
func (n *Node) endOverdue(ctx context.Context) {
	if err := n.guard.ExpireApprovals(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("approvals whose time is over were not ended", "error", err)
	}
	if err := n.a2g.EndIntents(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("intents whose time is over were not ended", "error", err)
	}
	if _, err := n.store.TrimItems(ctx, n.now()); err != nil && ctx.Err() == nil {
		n.logger.Error("items that are over were not removed", "error", err)
	}
}

// The node looks so often at what others change in a shared database, beside being told;
// and after so long without an answer of it, nothing goes on by what it knew.
const (
	look       = 500 * time.Millisecond
	lookWithin = 2 * time.Second
	unsureFrom = 5 * time.Second
)

// tellEvery is how often the other nodes are told at most that records were written.
const tellEvery = 100 * time.Millisecond

// tellWritten tells the nodes that share the database when this one has written records:
// who follows the logs at any of them sees all. It is beside the commits, which it must
// not hold up, and many of them are told of at once.
func (n *Node) tellWritten(ctx context.Context) {
	if n.shared() == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.log.Written():
		}
		if err := n.store.Tell(ctx, ledger.Change{Kind: ledger.RecordsWritten, ID: n.log.Node()}); err != nil && ctx.Err() == nil {
			n.logger.Warn("the other nodes were not told of new records", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tellEvery):
		}
	}
}

// watchOthers takes up what other processes change in a shared database: a revoked key or
// a suspended agent must not go on, at any door.
func (n *Node) watchOthers(ctx context.Context) {
	n.tasks.Go(func() {
		n.store.Watch(ctx, n.logger, func(c ledger.Change) {
			n.tail.Changed()
			switch c.Kind {
			case ledger.KeysChanged:
				n.lookAtKeys(ctx)
			case ledger.AgentsChanged:
				n.lookAtAgents(ctx)
			case ledger.ApprovalChanged:
				n.guard.ApprovalChanged(c.ID)
			case ledger.IntentsAnswered:
				if by, id, _ := strings.Cut(c.ID, " "); by != n.log.Node() {
					n.tasks.Go(func() {
						if err := n.a2g.AnsweredElsewhere(ctx, id); err != nil && ctx.Err() == nil {
							n.logger.Warn("agents were not told of an answer", "approval", id, "error", err)
						}
					})
				}
			case ledger.NodesChanged:
				n.lookAtNodes(ctx)
			case ledger.RecordsWritten:
				n.log.Tail().Wake()
			case ledger.ReadPolicy:
				if c.ID != n.log.Node() {
					n.tasks.Go(func() { n.readPolicy(ctx, byNode(c.ID)) })
				}
			default:
				n.log.Tail().Wake()
				n.lookAtKeys(ctx)
				n.lookAtAgents(ctx)
				n.lookAtNodes(ctx)
			}
		})
	})
	n.tasks.Go(func() { n.tellWritten(ctx) })
	every(ctx, look, func() {
		if n.shared() != nil { // else nobody else changes them
			n.lookAtKeys(ctx)
			n.lookAtAgents(ctx)
		}
		n.lookAtNodes(ctx)
	})
}

func (n *Node) lookAtKeys(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	err := n.keys.Reload(within)
	if err == nil || ctx.Err() != nil {
		return
	}
	n.unread.Do(func() { n.logger.Error("the API keys could not be read again", "error", err) })
	if n.keys.Age() > unsureFrom {
		n.auth.Unsure()
	}
}

func (n *Node) lookAtAgents(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	changed, err := n.guard.LoadAgents(within)
	if err != nil && ctx.Err() == nil {
		n.unread.Do(func() { n.logger.Error("the agents could not be read again", "error", err) })
	}
	if changed {
		n.a2g.StandingChanged(within)
	}
}

func every(ctx context.Context, d time.Duration, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
