// Package reeve assembles one node: a guardian for AI agents, its policy, and
// the ledger of what it decided.
//
//	cfg, _ := reeve.Load("", os.Getenv, nil) // defaults and environment
//	node, err := reeve.Open(ctx, cfg)
//	if err != nil { … }
//	defer node.Close()
//	err = node.Serve(ctx, func(url string) { fmt.Println("ready on", url) }) // until ctx ends
package reeve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/a2g"
	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/acs"
	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/console"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/notice"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/risk/model"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/trace"

	"golang.org/x/time/rate"
)

// Node is one node. It is safe for concurrent use.
type Node struct {
	cfg     Config
	started time.Time
	now     func() time.Time
	logger  *slog.Logger

	store     store.Store
	log       *ledger.Log
	guard     *guard.Guard
	door      guard.Door
	pins      *pins.Pins
	a2g       *a2g.Server
	acs       *acs.Server // nil without keys
	flow      *flow.Server
	a2a       *a2a.Server
	engine    atomic.Pointer[engine.Engine] // set by Open, while commits are made already
	executors *executor.Registry
	notices   *notice.Teller // nil where nobody is told
	auth      *identity.Authenticator
	anchorer  *ledger.Anchorer
	proofs    *ledger.Handler
	metrics   *server.Metrics
	exports   []*export.Follower // what follows the log to send it elsewhere
	requests  *trace.Requests    // the spans of requests; nil for none

	keys     operator.Keys
	provider *console.Provider // at which people log in; nil for none
	tail     console.Tail      // tells the console's open pages what changes
	bills    *bom.Keeper
	// replays judges what was recorded again, under another policy.
	replays *operator.Replays
	// operator is what people do to the node: one, so that its bounds hold for all doors.
	operator func() *operator.API
	// shadow counts what the candidate beside the policy would have decided.
	shadow replay.Shadow
	// sealSeed seals the ledger's seed with a passphrase, for a backup.
	sealSeed func(passphrase []byte) ([]byte, error)

	reload sync.Mutex // serializes ReloadPolicy

	others  others
	release func() // gives the data folder's claim back

	unread, unmet rate.Sometimes // what could not be read again is said now and then

	probe    sync.Mutex
	probed   time.Time // when the store was last probed for ping; guarded by probe
	probeErr error     // likewise

	organizations []*Node // those that this one listens for

	stopping context.Context // done when the node is to stop serving

	background context.CancelFunc
	tasks      sync.WaitGroup
}

// Open opens a node's database, ledger and policy. It serves nothing yet. own are
// executors of tasks beside those that every node has.
func Open(ctx context.Context, cfg Config, own ...executor.Executor) (n *Node, err error) {
	cfg.beside = cfg.OwnPolicy() // of the folder that is named, which may hold the node's
	set, err := LoadPolicy(cfg.PolicyPath())
	if err != nil {
		return nil, err
	}
	if cfg.Data, err = datadir.Make(cfg.Data); err != nil {
		return nil, fmt.Errorf("the data folder (--data names another one): %w", err)
	}
	n = &Node{
		cfg: cfg, started: time.Now(), now: time.Now, logger: cfg.logger(), metrics: server.NewMetrics(Version()),
		stopping: context.Background(), unread: rate.Sometimes{First: 1, Interval: 5 * time.Second}, unmet: rate.Sometimes{First: 1, Interval: 5 * time.Second},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	n.warn()
	if err = n.openLedger(ctx); err != nil {
		return n, err
	}
	if err = n.openGuard(ctx, set); err != nil {
		return n, err
	}
	if err = n.openProtocols(); err != nil {
		return n, err
	}
	if n.provider, err = cfg.provider(); err != nil {
		return n, err
	}
	if n.auth, err = cfg.authenticator(); err != nil {
		return n, err
	}
	if err = n.openEngine(own); err != nil {
		return n, err
	}
	if err = n.openKeys(ctx); err != nil {
		return n, err
	}
	n.gauge()
	return n, n.openOrganizations(ctx, own)
}

// warn says what is set so that an owner may not have meant it.
func (n *Node) warn() {
	if u, err := url.Parse(n.cfg.Database); err == nil && u.User != nil {
		if _, literal := u.User.Password(); literal {
			n.logger.Warn("the database's password is written in the configuration: name it by a reference, such as --database env:DATABASE_URL")
		}
	}
	if n.cfg.Ledger.Public == "true" && !server.Loopback(n.cfg.Listen) {
		n.logger.Warn("everybody who reaches the node reads the ledger's proofs and metadata: the times, kinds, rules and effects of all records (ledger.public: true)", "listen", n.cfg.Listen)
	}
}

// openLedger opens the database and this node's log in it, and what reads and publishes that.
func (n *Node) openLedger(ctx context.Context) (err error) {
	cfg := &n.cfg
	if n.store, err = openInTurn(ctx, *cfg); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	seed, err := cfg.seed()
	if err != nil {
		return err
	}
	newKey, err := cfg.newKey()
	if err != nil {
		return err
	}
	owner, release := datadir.Claim(cfg.Data)
	n.release = release
	n.log, err = ledger.Open(ctx, ledger.Config{
		Store: n.store, Origin: cfg.Ledger.Origin, Seed: seed, Owner: owner, OnCheckpoint: n.checkpoint, OnTasks: n.tasksChanged, NewKey: newKey,
	})
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	n.sealSeed = func(passphrase []byte) ([]byte, error) {
		return secret.Seal([]byte(hex.EncodeToString(seed)+"\n"), passphrase)
	}
	if err = n.introduce(ctx); err != nil {
		return fmt.Errorf("join the nodes of this database: %w", err)
	}
	if cfg.Telemetry.Requests {
		of, err := n.resource()
		if err != nil {
			return err
		}
		n.requests = trace.NewRequests(of, n.logger)
	}
	n.proofs = ledger.NewHandler(n.store, cfg.Ledger.Origin, seed)
	n.anchorer = &ledger.Anchorer{
		Store: n.store, Log: n.log.Number(), Logger: n.logger, Tried: n.metrics.Published, File: cfg.Ledger.File, URL: cfg.Ledger.URL,
		Witness: cfg.Ledger.Witness, WitnessKey: cfg.Ledger.WitnessKey,
	}
	return nil
}

// openGuard makes the guard with the policy, and what rests on it for every protocol.
func (n *Node) openGuard(ctx context.Context, set *policy.Set) error {
	cfg := &n.cfg
	redact, _ := cfg.redact()
	score, err := cfg.scorer(n.logger)
	if err != nil {
		return err
	}
	site, err := cfg.passkeySite()
	if err != nil {
		return err
	}
	guarded := cfg.guarded(os.Args)
	rows, err := n.rows(ctx)
	if err != nil {
		return fmt.Errorf("look at what lies beside the ledger: %w", err)
	}
	var founding func(context.Context, *guard.Guard) (*guard.Item, error)
	if rows == rowsNone {
		founding = operator.Founding
	}
	n.keys.Lost = rows == rowsLost
	n.guard, err = guard.New(ctx, guard.Config{
		Log: n.log, Store: n.store, Policy: set, Keep: guard.Keep(cfg.Keep), Redact: redact,
		SessionBytes: cfg.Limits.Sessions, Observe: n.observe, Shadowed: n.shadowed, Logger: n.logger,
		Answered: n.answered, Unusual: n.unusual, Beside: n.beside, Serves: n.refusedNow, Score: score, Tampering: guarded.Tampering, Runs: guarded.Runs, Adds: guarded.Adds, Refused: n.metrics.Quota,
		Unsealed: rows == rowsUnsealed, Founding: founding, Damaged: n.metrics.Damaged,
		Shared: n.shared(), Files: n.filesChanged, Used: n.usedBefore, Passkeys: site,
		Quotas: guard.Quotas{
			Agents: cfg.Quotas.Agents, Held: cfg.Quotas.Held, Bytes: cfg.Quotas.Bytes, Contents: cfg.Quotas.Contents,
		},
	})
	if err != nil {
		return err
	}
	n.bills = bom.New(n.guard, n.store, n.logger)
	keys, err := guard.DeriveKeys(n.log.Key)
	if err != nil {
		return err
	}
	n.keys.Guard, n.keys.Store = n.guard, n.store
	if err = n.sealRows(ctx); err != nil {
		return fmt.Errorf("seal what lies beside the ledger: %w", err)
	}
	n.operator = sync.OnceValue(n.newOperator)
	n.replays = operator.NewReplays(n.store, n.guard.Policy, keys, score != nil)
	if err = n.noteRestored(ctx); err != nil {
		return err
	}
	for _, note := range set.Notes(n.now()) {
		n.logger.Warn("policy: " + note)
	}
	n.notices = n.teller()
	n.door = guard.Door{Guard: n.guard, Wait: cfg.Approvals.Wait, Places: make(chan struct{}, cfg.Approvals.Held), Hold: hold, Logger: n.logger}
	n.pins = pins.New(n.guard, cfg.Quotas.Servers, cfg.Quotas.Bytes, time.Now)
	return nil
}

// openProtocols makes what remembers something between the requests of a protocol.
func (n *Node) openProtocols() error {
	cfg := &n.cfg
	secrets, err := cfg.a2gSecrets()
	if err != nil {
		return err
	}
	n.a2g = a2g.NewServer(a2g.Config{
		Guard: n.guard, Lasts: cfg.A2G.Lasts, Session: cfg.A2G.Session, Signed: cfg.A2G.Signed, PerMinute: cfg.A2G.PerMinute,
		Quota:  quota.Most{N: cfg.Quotas.Intents, Bytes: cfg.Quotas.Bytes},
		Shared: n.portions(), Secret: secrets, Elsewhere: n.tellIntents, Ended: func(did string, how intent.Outcome) { n.metrics.Ended(did, string(how)) }, Logger: n.logger,
	})
	signers, err := cfg.acsKeys()
	if err != nil {
		return err
	}
	if len(signers) > 0 {
		n.acs = acs.New(acs.Config{Guard: n.guard, Keys: signers, Known: server.Known, Unknown: server.Unknown, TLS: cfg.TLS.Cert != "", Trace: cfg.ACS.Trace, Version: Version(), Logger: n.logger})
	}
	return nil
}

// openKeys reads the API keys: those that are given, and those that were made.
func (n *Node) openKeys(ctx context.Context) (err error) {
	n.keys.Auth, n.keys.Now, n.keys.Logger = n.auth, n.now, n.logger
	n.keys.Anonymous = cmp.Or(n.cfg.Anonymous, "until-first-key")
	if n.keys.Given, err = n.cfg.keys(); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return n.keys.Load(ctx)
}

// gauge has the metrics tell what the node has and waits for.
func (n *Node) gauge() {
	n.metrics.Gauge("reeve_approvals_waiting", "Acts that wait for people, counted up to 1000; of all nodes that share a database.", n.waiting())
	n.metrics.Gauge("reeve_nodes", "Nodes that live and share the database, this one among them.", n.living)
	n.metrics.Gauge("reeve_nodes_policies", "How many different policies are in force at these nodes: 1 where they are alike.", n.kinds("policy"))
	n.metrics.Gauge("reeve_nodes_executors", "How many different sets of executors they have.", n.kinds("executors"))
	n.metrics.Gauge("reeve_nodes_versions", "Of how many different versions they are.", n.kinds("version"))
	n.metrics.Gauge("reeve_sessions_held", "Sessions held in memory.", func() float64 { held, _ := n.guard.Sessions(); return float64(held) })
	n.metrics.Gauge("reeve_session_bytes", "Bytes of sessions held in memory.", func() float64 { _, size := n.guard.Sessions(); return float64(size) })
}

// logger is the process log, which says of whose node it speaks.
func (c *Config) logger() *slog.Logger {
	if c.behind == nil {
		return slog.Default()
	}
	return slog.With("organization", c.Organization)
}

// checkpoint tells of records that are durable by now. The committer calls it.
func (n *Node) checkpoint(log uint32, size uint64, note []byte) {
	n.metrics.Checkpoint(log, size, note)
	n.tail.Changed()
}

// noteRestored records that the ledger goes on from a backup: what was signed after that,
// before, is under other records of the same numbers. The place where reeve restore left
// word of it is asked only here, so it is never recorded twice but after a crash.
func (n *Node) noteRestored(ctx context.Context) error {
	file := filepath.Join(n.cfg.Data, datadir.Restored)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	head, err := n.store.Head(ctx, n.log.Number())
	if err != nil {
		return err
	}
	what, details := "restore", map[string]string{"records": strconv.FormatUint(head.Size, 10), "checkpoint": string(head.Checkpoint)}
	if former := n.log.Former(); former != nil { // the head is of this key already
		what = strings.TrimPrefix(ledger.KindNewKey, "admin.")
		details["checkpoint"], details["key"] = string(former), n.log.VerifierKey()
		n.logger.Warn("the ledger goes on with another key, since the one before is lost: give who verifies it this one", "key", n.log.VerifierKey())
	}
	if _, err := n.guard.Note(ctx, what, identity.Operator, details); err != nil {
		return err
	}
	n.logger.Warn("the ledger goes on from a backup: records that came after it are not in this database", "log", n.LogName(), "records", head.Size)
	return os.Remove(file)
}

// newKey reports whether reeve restore left word that the ledger's seed is lost, and that it
// goes on with another.
func (c *Config) newKey() (bool, error) {
	text, err := os.ReadFile(filepath.Join(c.Data, datadir.Restored))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return string(text) == datadir.NewLog, err
}

// provider is where people log in to the console beside keys and tokens; nil for nowhere.
func (c *Config) provider() (*console.Provider, error) {
	l := &c.Login
	if l.Issuer == "" {
		return nil, nil
	}
	p := &console.Provider{Issuer: l.Issuer, Client: l.Client, Scopes: l.Scopes, Claims: identity.JWT{RoleClaim: c.JWT.RoleFrom, OrganizationClaim: c.JWT.OrganizationFrom, PersonClaim: c.JWT.PersonFrom, Organization: c.Organization, Elsewhere: c.elsewhere()}}
	var err error
	if p.Claims.Roles, err = c.roles(); err != nil {
		return nil, fmt.Errorf("jwt.roles: %w", err)
	}
	if l.Secret != "" {
		text, err := secret.Read(l.Secret)
		if err != nil {
			return nil, fmt.Errorf("login.secret: %w", err)
		}
		p.Secret = string(text)
	}
	return p, nil
}

// authenticator tells who is asking, as configured.
func (c *Config) authenticator() (*identity.Authenticator, error) {
	anonymous, err := c.anonymous()
	if err != nil {
		return nil, fmt.Errorf("anonymous: %w", err)
	}
	cfg := identity.Config{Anonymous: anonymous, Organization: c.Organization}
	if cfg.SPIFFE, err = c.spiffe(); err != nil {
		return nil, fmt.Errorf("spiffe: %w", err)
	}
	if c.JWT.Secret != "" || c.JWT.JWKS != "" {
		cfg.JWT = &identity.JWT{
			JWKS: c.JWT.JWKS, Issuer: c.JWT.Issuer, Audience: c.JWT.Audience, Leeway: c.JWT.Leeway,
			RequireProof: c.JWT.RequireProof, Nonce: c.JWT.DPoPNonce,
			RoleClaim: c.JWT.RoleFrom, OrganizationClaim: c.JWT.OrganizationFrom, PersonClaim: c.JWT.PersonFrom,
			Elsewhere: c.elsewhere(),
		}
		if cfg.JWT.Roles, err = c.roles(); err != nil {
			return nil, fmt.Errorf("jwt.roles: %w", err)
		}
		if c.JWT.Secret != "" {
			text, err := secret.Read(c.JWT.Secret)
			if err != nil {
				return nil, fmt.Errorf("jwt.secret: %w", err)
			}
			cfg.JWT.Secret = text
		}
	}
	return identity.New(cfg)
}

// Asks reports whether callers need a credential now, also those of this machine.
func (n *Node) Asks() bool { return !n.auth.Anonymous() }

// open reports whether nobody needs a credential here, and so callers are not told apart.
func (n *Node) open() bool { return n.auth.Anonymous() && !n.auth.Configured() }

// answered has what waits for people's answer go on, beside the request that
// brought it.
func (n *Node) answered(h *approval.Decision) {
	n.tasks.Go(func() { n.a2g.Answered(context.Background(), h) })
	if n.a2a != nil {
		n.tasks.Go(func() { n.a2a.Answered(context.Background(), h) })
	}
	if e := n.engine.Load(); e != nil {
		n.tasks.Go(func() { e.Answered(context.Background(), h) })
	}
}

// tellIntents tells the nodes that share the database that intents were judged once more.
func (n *Node) tellIntents(ctx context.Context, approval string) {
	if n.shared() == nil {
		return
	}
	if err := n.store.Tell(ctx, ledger.Change{Kind: ledger.IntentsAnswered, ID: n.log.Node() + " " + approval}); err != nil {
		n.logger.Warn("the other nodes were not told of an answer", "approval", approval, "error", err)
	}
}

// scorer returns what asks the configured model, nil for none.
func (c *Config) scorer(logger *slog.Logger) (func(context.Context, string, []byte) (float64, []string, bool), error) {
	if c.Model.URL == "" {
		return nil, nil
	}
	cfg := model.Config{Kind: c.Model.Kind, URL: c.Model.URL, Model: c.Model.Name, Timeout: c.Model.Timeout, Logger: logger}
	if c.Model.Key != "" {
		key, err := secret.Read(c.Model.Key)
		if err != nil {
			return nil, fmt.Errorf("model.key: %w", err)
		}
		cfg.Key = string(key)
	}
	s, err := model.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return s.Score, nil
}

// LoadPolicy reads a policy file or folder, or the starter policy if the path is empty.
func LoadPolicy(path string) (*policy.Set, error) {
	if path == "" {
		return policy.Load(policy.Starter()...)
	}
	return policy.LoadPath(path)
}

func openStore(ctx context.Context, cfg Config, readOnly bool) (store.Store, error) {
	url, err := cfg.postgres()
	if err != nil {
		return nil, err
	}
	// Never a nil store in an interface that is not nil.
	if url != "" {
		open := postgres.Open
		if readOnly {
			open = postgres.OpenReader
		}
		s, err := open(ctx, url)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	dir := datadir.Find(cfg.sqlite())
	if !readOnly {
		if dir, err = datadir.Make(dir); err != nil {
			return nil, err
		}
	}
	s, err := sqlite.Open(dir, sqlite.Options{ReadOnly: readOnly, Logger: cfg.logger()})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// turn is how long a node waits for its database, and turnPause how long before it
// looks again. Commands that do without a running node have it for some tens of
// milliseconds each.
const (
	turn      = 5 * time.Second
	turnPause = 5 * time.Millisecond
)

// openInTurn opens the store to write it, when who has it now is done; which a node
// that runs is not.
func openInTurn(ctx context.Context, cfg Config) (store.Store, error) {
	for began := time.Now(); ; {
		store, err := openStore(ctx, cfg, false)
		if !errors.Is(err, ledger.ErrInUse) || time.Since(began) > turn {
			return store, err
		}
		if _, gone := datadir.URL(ctx, cfg.Data); gone == nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(turnPause):
		}
	}
}

// OpenReader opens a node's database to read it, beside the running node or
// without one.
func OpenReader(ctx context.Context, cfg Config) (store.Store, error) {
	return openStore(ctx, cfg, true)
}

// LedgerKey is the public key that verifies a log's checkpoints, as the node's
// seed gives it.
func (c *Config) LedgerKey(log uint32) (string, error) {
	if newKey, err := c.newKey(); err == nil && newKey {
		return "", fmt.Errorf("the ledger in %s was restored to go on with a new key, which the node makes at its next start: until then it is verified with the old one (--key)", c.Data)
	}
	if c.Ledger.Seed == "" && !exists(c.seedFile()) {
		return "", fmt.Errorf("there is no seed in %s to take the ledger's key from: give the key with --key", c.Data)
	}
	seed, err := c.seed()
	if err != nil {
		return "", err
	}
	return ledger.VerifierKey(c.Ledger.Origin, seed, log)
}

// SignEvidence signs what an archive of evidence holds with the keys of the logs in it.
func (c *Config) SignEvidence(logs []uint32, text string) ([]byte, error) {
	seed, err := c.seed()
	if err != nil {
		return nil, err
	}
	return ledger.SignEvidence(c.Ledger.Origin, seed, logs, text)
}

// PastKeys are the keys under which what sessions and agents did is remembered, for whoever
// judges recorded acts again.
func (c *Config) PastKeys() (guard.Keys, error) {
	if c.Ledger.Seed == "" && !exists(c.seedFile()) {
		return guard.Keys{}, fmt.Errorf("there is no seed in %s: without it nothing can be told of where the values of sessions came from", c.Data)
	}
	seed, err := c.seed()
	if err != nil {
		return guard.Keys{}, err
	}
	return guard.DeriveKeys(func(use string) ([]byte, error) { return ledger.DeriveKey(seed, use) })
}

// seed is the secret that the ledger's keys come from, made at the first start.
func (c *Config) seed() ([]byte, error) {
	text := []byte(nil)
	var err error
	if c.Ledger.Seed != "" {
		text, err = secret.Read(c.Ledger.Seed)
	} else if text, err = os.ReadFile(c.seedFile()); errors.Is(err, os.ErrNotExist) {
		text, err = makeSeed(c.seedFile())
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger's seed: %w", err)
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != 32 {
		return nil, errors.New("the ledger's seed is not 64 hex digits")
	}
	return seed, nil
}

// makeSeed writes a new seed. It is durable before it is used: a ledger whose
// key is lost can be read, but never continued.
func makeSeed(name string) ([]byte, error) {
	seed := make([]byte, 32)
	rand.Read(seed)
	text := []byte(hex.EncodeToString(seed) + "\n")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(name)); err == nil { // not on Windows
		dir.Sync()
		dir.Close()
	}
	return text, nil
}

// ReloadPolicy reads the policy again and puts it in force; by is recorded as who
// had it done. On an error the old one stays in force. A mutex
// orders concurrent calls: the one that read the files last sets the policy last.
func (n *Node) ReloadPolicy(ctx context.Context, by act.Principal) (changed bool, err error) {
	n.reload.Lock()
	defer n.reload.Unlock()
	before := n.guard.Policy().Hash()
	set, err := LoadPolicy(n.cfg.PolicyPath())
	if err == nil {
		n.beforePolicy(set.Hash())
		err = n.guard.SetPolicy(ctx, set, by)
	}
	n.policyRead(ctx, err)
	n.metrics.PolicyReload(err == nil)
	if err == nil && set.Hash() != before {
		n.a2g.PolicyChanged(ctx, set)
	}
	if err != nil {
		return false, fmt.Errorf("the policy was not changed, and %s stays in force: %w", before, err)
	}
	return set.Hash() != before, nil
}

// Guard returns the node's guard.
func (n *Node) Guard() *guard.Guard { return n.guard }

// Pins returns the tools of MCP servers that the node remembers.
func (n *Node) Pins() *pins.Pins { return n.pins }

// Close stops what runs beside the requests and closes the ledger and the store.
func (n *Node) Close() error {
	if n.background != nil {
		n.background()
	}
	n.tasks.Wait()
	n.flushNotices()
	errs := []error{n.closeOrganizations()}
	if n.log != nil {
		errs = append(errs, n.log.Close())
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.release != nil {
		n.release()
	}
	return errors.Join(errs...)
}
