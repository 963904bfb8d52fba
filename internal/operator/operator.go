// Package operator is what people do to a node, as JSON over HTTP, and the client for
// it: status, policy, keys, backup, erasure and pruning; agents' standing; what is held
// for an answer; a decision with what lies beside it. It is served on the socket in the
// data folder, where whoever opens it is the admin, and to callers with a role.
//
// Each route stands in one table, with the roles that may use it. Each act is recorded
// in the ledger before it is answered.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/evidence"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonbody"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/passkey"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/retention"
	"reeve.example/reeve/internal/server"

	"github.com/go-json-experiment/json"
)

// API is the operator's interface to a node, by what its acts are done with. All of it
// is required.
type API struct {
	Guard     *guard.Guard
	Agents    *a2g.Server
	Store     ledger.Reader
	Log       *ledger.Log
	Keys      *Keys
	Retention *retention.Keeper
	Replays   *Replays
	Shadow    *replay.Shadow
	Bills     *bom.Keeper
	// ReloadPolicy has all nodes read their policies again and put them in force. elsewhere
	// are those at which another one is in force than here.
	ReloadPolicy func(ctx context.Context, by act.Principal) (changed bool, elsewhere []NodePolicy, err error)
	// PolicyPath tells where the policy lies that is read; empty for the one that is built in.
	PolicyPath func() string
	// Members lists the nodes that share the database, and those that wrote its other logs.
	Members func(ctx context.Context) ([]nodes.Node, error)
	// Running tells how the node stands now.
	Running func() Running
	// Backup writes a consistent copy of the database to a new file, and with it the ledger's
	// seed as it was sealed; nil for none. It is itself nil where the database is backed up by
	// its own tools.
	Backup func(ctx context.Context, file string, sealedSeed []byte) error
	// SealSeed seals the ledger's seed with a passphrase.
	SealSeed func(passphrase []byte) ([]byte, error)
	// Pushes tells how far push notifications have come: of one task, or of all.
	Pushes func(ctx context.Context, task string) ([]deliver.State, error)
	// Stopping is closed when the node stops serving: streams end then. nil for never.
	Stopping func() <-chan struct{}
	Version  string
	Logger   *slog.Logger

	// Among says that the node is an organization's, and others' are on the same machine: an
	// admin of it is not who runs that.
	Among bool

	// Evidence signs archives of evidence.
	Evidence evidence.Keys

	bound   sync.Once // gives streams its bounds
	streams jsonrpc.Streams
	giving  sync.Mutex // one archive of evidence at a time
}

// Bodies are no larger than these, in bytes.
const (
	maxAdmin  = 1 << 20  // of what an admin asks for
	maxAnswer = 64 << 10 // of a person's answer
)

// Who may use a route.
var (
	admins  = []identity.Role{identity.Admin}
	looking = []identity.Role{identity.Auditor, identity.Admin}
	answers = []identity.Role{identity.Approver, identity.Admin} // and so see the exact bytes of what is held
	asked   = []identity.Role{identity.Approver, identity.Auditor, identity.Admin}
)

// row is a route of the operator's interface. Of two rows with one pattern, the caller's
// role says whose it is.
type row struct {
	pattern string
	roles   []identity.Role
	max     int64 // bytes of a body; 0 where there is none
	handler http.HandlerFunc
}

func (o *API) table() []row {
	return []row{
		{"GET /admin/status", admins, 0, serve(only(o.status))},
		{"POST /admin/policy/reload", admins, maxAdmin, serve(o.reloadPolicy)},
		{"GET /policy", looking, 0, serve(only(o.showPolicy, "hash"))},
		{"POST /policy/check", looking, maxAdmin, serve(o.checkPolicy)},
		{"GET /nodes", looking, 0, serve(only(o.listNodes, "all"))},
		{"GET /admin/keys", admins, 0, serve(only(o.Keys.list))},
		{"POST /admin/keys", admins, maxAdmin, serve(o.Keys.create)},
		{"POST /admin/keys/revoke", admins, maxAdmin, serve(o.Keys.revoke)},
		{"POST /admin/backup", admins, maxAdmin, serve(o.backup)},
		{"POST /admin/erase", admins, maxAdmin, serve(o.erase)},
		{"POST /admin/prune", admins, maxAdmin, serve(o.prune)},
		{"POST /admin/index", admins, maxAdmin, serve(o.index)},
		{"GET /api/v1/openapi.json", asked, 0, describe},
		{"GET /api/v1/decisions", looking, 0, serve(o.decisions)},
		{"GET /api/v1/decisions/{id}", looking, 0, serve(only(o.explain))},
		{"GET /api/v1/sessions", looking, 0, serve(o.listSessions)},
		{"GET /api/v1/sessions/{id}", looking, 0, serve(o.showSession)},
		{"GET /api/v1/sessions/{id}/labels", asked, 0, serve(only(o.showLabels, "principal", "agent"))},
		{"POST /api/v1/sessions/{id}/labels", answers, maxAnswer, serve(o.clearLabels)},
		{"GET /api/v1/decisions/stream", looking, 0, o.streamDecisions},
		{"GET /api/v1/evidence", looking, 0, o.evidence},
		{"GET /api/v1/ledger", looking, 0, serve(only(o.showLedger))},
		{"GET /api/v1/running", admins, 0, serve(only(o.running))},
		{"GET /agents", looking, 0, serve(only(o.listAgents, "after"))},
		{"GET /agents/{did}", looking, 0, serve(only(o.showAgent))},
		{"POST /agents/{did}", admins, maxAnswer, serve(o.setAgent)},
		{"GET /approvals", answers, 0, serve(only(o.listExact, "after", "all", "limit"))},
		{"GET /approvals", looking, 0, serve(only(o.listKept, "after", "all", "limit"))},
		{"GET /approvals/{id}", answers, 0, serve(only(o.showExact))},
		{"GET /approvals/{id}", looking, 0, serve(only(o.showKept))},
		{"POST /approvals/{id}", answers, maxAnswer, serve(o.answerApproval)},
		{"GET /admin/passkeys", answers, 0, serve(only(o.listPasskeys))},
		{"POST /admin/passkeys", answers, maxAnswer, serve(o.registerPasskey)},
		{"POST /admin/passkeys/challenge", answers, maxAnswer, serve(o.challengePasskey)},
		{"POST /admin/passkeys/{id}", answers, maxAnswer, serve(o.changePasskey)},
		{"GET /pushes", looking, 0, serve(only(o.listPushes, "task"))},
		{"GET /grants/{id}", asked, 0, serve(only(o.showGrant))},
		{"GET /grants", asked, 0, serve(only(o.listGrants, "after", "all"))},
		{"POST /grants/{id}", answers, maxAnswer, serve(o.changeGrant)},
		{"GET /decisions/{id}", looking, 0, o.decision},
		{"GET /api/v1/habits", looking, 0, serve(only(o.listHabits, "agent"))},
		{"GET /api/v1/agents/{id}/habits", looking, 0, serve(only(o.showHabits, "principal", "user", "organization"))},
		{"GET /api/v1/agents/{id}/drift", looking, 0, serve(only(o.showDrift, "principal"))},
		{"POST /api/v1/agents/{id}/habits", admins, maxAnswer, serve(o.sayHabits)},
		{"GET /api/v1/boms", looking, 0, serve(only(o.listBills, "after"))},
		{"GET /api/v1/agents/{id}/bom", looking, 0, o.showBill},
		{"POST /api/v1/decisions/{id}/incident", answers, maxAnswer, serve(o.incident)},
		{"GET /api/v1/policy/shadow", looking, 0, serve(only(o.shadow))},
		{"POST /api/v1/policy/replay", looking, maxCandidate, o.replay},
	}
}

// Routes are the operator's for a server that knows its callers' roles.
func (o *API) Routes() (routes []server.Route) {
	rows := map[string][]row{}
	table := o.table()
	for _, one := range table {
		rows[one.pattern] = append(rows[one.pattern], one)
	}
	for _, one := range table {
		same := rows[one.pattern]
		if delete(rows, one.pattern); same == nil {
			continue
		}
		route := server.Route{Pattern: one.pattern, MaxBody: one.max, JSON: one.max > 0, Handler: byRole(same)}
		for _, row := range same {
			route.Roles = append(route.Roles, row.roles...)
		}
		routes = append(routes, route)
	}
	return routes
}

// Mux serves the same on the operator's socket. The request's context names the caller.
func (o *API) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range o.Routes() {
		mux.Handle(route.Pattern, route.Handler)
	}
	return mux
}

// byRole answers with the first of the rows that the caller's role may use.
func byRole(rows []row) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, role := identity.FromContext(r.Context())
		for _, row := range rows {
			if slices.Contains(row.roles, role) {
				r.Body = http.MaxBytesReader(w, r.Body, row.max)
				row.handler(w, r)
				return
			}
		}
		answer(w, http.StatusForbidden, map[string]string{"error": "Your role is " + string(role) + ", which may not do this."})
	})
}

// problem is an error that the caller can mend, with its HTTP status.
type problem struct {
	status int
	error
}

func badRequest(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// serve makes a handler of a function from a JSON request to a JSON answer.
func serve[Q, A any](f func(*http.Request, act.Principal, Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = jsonbody.Read(body, &q)
			} else {
				err = jsonbody.InWords(err)
			}
			if err != nil {
				answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
				return
			}
		}
		by, _ := identity.FromContext(r.Context())
		a, err := f(r, by, q)
		if err != nil {
			status := http.StatusInternalServerError
			if p, ok := errors.AsType[problem](err); ok {
				status = p.status
			}
			answer(w, status, map[string]string{"error": err.Error()})
			return
		}
		answer(w, http.StatusOK, a)
	}
}

// only has f asked by some parameters and no others, each once: who mistypes one must not take
// what is answered for what was meant.
func only[A any](f func(*http.Request, act.Principal, Nothing) (A, error), names ...string) func(*http.Request, act.Principal, Nothing) (A, error) {
	return func(r *http.Request, by act.Principal, q Nothing) (a A, err error) {
		for name, values := range r.URL.Query() {
			switch {
			case !slices.Contains(names, name) && len(names) == 0:
				return a, badRequest("nothing is asked here by %.80q", name)
			case !slices.Contains(names, name):
				return a, badRequest("nothing is asked here by %.80q, but by %s", name, strings.Join(names, ", "))
			case len(values) != 1:
				return a, badRequest("%.80q is given %d times", name, len(values))
			case name == "all" && !slices.Contains([]string{"", "0", "1", "false", "true"}, values[0]):
				return a, badRequest("all is true, for those, too, that are over, or false; not %.80q", values[0])
			}
		}
		return f(r, by, q)
	}
}

// all reports whether also those are asked for that are over.
func all(r *http.Request) bool {
	return slices.Contains([]string{"1", "true"}, r.URL.Query().Get("all"))
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.MarshalWrite(w, v, json.Deterministic(true))
}

// failed is what somebody who is no admin can do about an error; the operator is told
// of what they can do nothing about.
func (o *API) failed(what string, err error) error {
	if said, is := errors.AsType[problem](err); is {
		return said
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return problem{http.StatusNotFound, errors.New("there is nothing of this name")}
	case errors.Is(err, approval.ErrSpan), errors.Is(err, guard.ErrChanges), errors.Is(err, guard.ErrLabel):
		return problem{http.StatusBadRequest, err}
	case errors.Is(err, approval.ErrOwn), errors.Is(err, approval.ErrNotAsked), errors.Is(err, approval.ErrSame), errors.Is(err, approval.ErrWho),
		errors.Is(err, approval.ErrPasskey), errors.Is(err, passkey.ErrRefused), errors.Is(err, passkey.ErrCounter),
		errors.Is(err, guard.ErrNoPasskey), errors.Is(err, guard.ErrWaits), errors.Is(err, guard.ErrSelf), errors.Is(err, guard.ErrNoSite):
		return problem{http.StatusForbidden, err}
	case errors.Is(err, approval.ErrEnded), errors.Is(err, approval.ErrAnswered), errors.Is(err, guard.ErrChanged),
		errors.Is(err, approval.ErrUnseen), errors.Is(err, approval.ErrUnshown), errors.Is(err, guard.ErrSealed),
		errors.Is(err, approval.ErrOnce), errors.Is(err, agent.ErrRevoked), errors.Is(err, guard.ErrNoKey),
		errors.Is(err, guard.ErrForgotten), errors.Is(err, guard.ErrNoLabel),
		errors.Is(err, guard.ErrChallenge), errors.Is(err, guard.ErrMany):
		return problem{http.StatusConflict, err}
	}
	o.Logger.Error(what, "error", err)
	return errors.New(what)
}

// Nothing is a request or an answer without members.
type Nothing struct{}

// Status tells how a node is.
type Status struct {
	Version string `json:"version"`
	Policy  string `json:"policy"`
	Log     uint32 `json:"log"`
	Size    uint64 `json:"size"`
	Key     string `json:"key"` // verifies the ledger's checkpoints
	// Anonymous is the setting, and Credentials says whether one is required now.
	Anonymous   string `json:"anonymous"`
	Credentials bool   `json:"credentials_required"`
}

func (o *API) status(r *http.Request, _ act.Principal, _ Nothing) (Status, error) {
	head, err := o.Store.Head(r.Context(), o.Log.Number())
	if err != nil {
		return Status{}, err
	}
	return Status{
		Version: o.Version, Policy: o.Guard.Policy().Hash(), Log: o.Log.Number(), Size: head.Size, Key: o.Log.VerifierKey(),
		Anonymous: o.Keys.Anonymous, Credentials: !o.Keys.Auth.Anonymous(),
	}, nil
}

// Running is how a node stands now: where it is asked, what it sends, what bounds it.
type Running struct {
	Doors     []string   `json:"doors"` // the paths that protocols are spoken at
	Exporters []Exporter `json:"exporters"`
	Disk      *Disk      `json:"disk,omitempty"` // nil where it cannot be told, or belongs to others
	Limits    []Limit    `json:"limits"`
}

// Exporter sends on what the ledger takes in.
type Exporter struct {
	Name    string  `json:"name"`
	Behind  uint64  `json:"behind"` // records that were not sent yet
	Delay   float64 `json:"delay"`  // seconds since the oldest of them
	Sent    uint64  `json:"sent"`
	Refused uint64  `json:"refused"` // by who receives them
	Failing bool    `json:"failing"`
}

// Disk is the one of the data folder, in bytes.
type Disk struct {
	Free int64 `json:"free"`
	// Wanted is how many must be free for the node to be ready.
	Wanted int64 `json:"wanted"`
}

// Limit is a setting that bounds the node, by the name that it has in its configuration.
type Limit struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
}

func (o *API) running(*http.Request, act.Principal, Nothing) (Running, error) {
	if o.Running == nil {
		return Running{}, nil
	}
	return o.Running(), nil
}

// PolicyLoaded answers a reload.
type PolicyLoaded struct {
	Policy  string `json:"policy"`
	Changed bool   `json:"changed"`
	// Elsewhere are the nodes at which another policy is in force all the same.
	Elsewhere []NodePolicy `json:"elsewhere,omitempty"`
}

// NodePolicy is the policy of another node.
type NodePolicy struct {
	Name    string `json:"name"`
	Policy  string `json:"policy"`
	Problem string `json:"problem,omitzero"` // why it could not read another one
}

// NodeList are the nodes that share a database.
type NodeList struct {
	Nodes []nodes.Node `json:"nodes"`
	// Differences say in what they are not alike that live.
	Differences []string `json:"differences,omitempty"`
	// Missing are the names of those that are gone without having ended.
	Missing []string `json:"missing,omitempty"`
}

// ListNodes is the list of the nodes that live, with those that are missing, or of all that
// wrote a log.
func ListNodes(list []nodes.Node, all bool) NodeList {
	answer := NodeList{Nodes: append([]nodes.Node{}, list...), Missing: nodes.Missing(list)}
	if !all {
		answer.Nodes = nodes.Present(answer.Nodes)
	}
	for _, d := range nodes.Differences(list) {
		answer.Differences = append(answer.Differences, d.String())
	}
	return answer
}

func (o *API) listNodes(r *http.Request, _ act.Principal, _ Nothing) (NodeList, error) {
	list, err := o.Members(r.Context())
	if err != nil {
		return NodeList{}, o.failed("the nodes were not read", err)
	}
	return ListNodes(list, all(r)), nil
}

func (o *API) reloadPolicy(r *http.Request, by act.Principal, _ Nothing) (PolicyLoaded, error) {
	changed, elsewhere, err := o.ReloadPolicy(r.Context(), by)
	if err != nil {
		return PolicyLoaded{}, problem{http.StatusUnprocessableEntity, err}
	}
	return PolicyLoaded{o.Guard.Policy().Hash(), changed, elsewhere}, nil
}

// BackupTo names the file that a backup is written to, on the node's machine, and the
// passphrase that the ledger's seed is sealed with in it; without one it is not in it.
type BackupTo struct {
	File       string `json:"file"`
	Passphrase string `json:"passphrase,omitzero"`
}

func (o *API) backup(r *http.Request, by act.Principal, q BackupTo) (Nothing, error) {
	if o.Among && by.Method != identity.Operator.Method {
		return Nothing{}, problem{http.StatusForbidden, errors.New("this node is an organization's among others on its machine, whose files only who runs it names: ask by the socket in the data folder")}
	}
	if o.Backup == nil {
		return Nothing{}, badRequest("a PostgreSQL database is backed up by its own tools: use pg_dump or continuous archiving, and keep the ledger's seed apart")
	}
	if !filepath.IsAbs(q.File) {
		return Nothing{}, badRequest("the backup's file must be an absolute path, not %q", q.File)
	}
	if _, err := os.Stat(q.File); !errors.Is(err, fs.ErrNotExist) {
		return Nothing{}, badRequest("%s is there already; a backup overwrites nothing", q.File)
	}
	// Whether it can be made there is looked at before it is recorded that somebody has it.
	switch f, err := os.OpenFile(q.File+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); {
	case err == nil:
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return Nothing{}, err
		}
	case !errors.Is(err, fs.ErrExist): // else a backup is being made there, or was broken off
		return Nothing{}, badRequest("the node cannot write the backup there: %w", err)
	}
	var seed []byte
	details := map[string]string{"seed": "left out"}
	if q.Passphrase != "" {
		var err error
		if seed, err = o.SealSeed([]byte(q.Passphrase)); err != nil {
			return Nothing{}, problem{http.StatusBadRequest, err}
		}
		details["seed"] = "sealed"
	}
	if _, err := o.Guard.Note(r.Context(), "backup", by, details); err != nil {
		return Nothing{}, err
	}
	return Nothing{}, o.Backup(r.Context(), q.File, seed)
}

// Erase names what is erased: the contents of decisions, or everything that a
// user's requests left beside the ledger, and that user's tasks. The records stay.
// A preview of a user's erasure counts all but A2A tasks and their records.
type Erase struct {
	Decisions []string `json:"decisions,omitzero"`
	User      string   `json:"user,omitzero"`
	Preview   bool     `json:"preview,omitzero"`
}

func (o *API) erase(r *http.Request, by act.Principal, q Erase) (retention.Erased, error) {
	if q.Preview {
		if q.User == "" || len(q.Decisions) > 0 {
			return retention.Erased{}, badRequest("a preview is of a user, without decisions")
		}
		return o.Retention.PreviewErase(r.Context(), q.User)
	}
	var decisions []act.Position
	for _, id := range q.Decisions {
		pos, err := act.ParsePosition(id)
		if err != nil {
			return retention.Erased{}, problem{http.StatusBadRequest, err}
		}
		decisions = append(decisions, pos)
	}
	erased, err := o.Retention.Erase(r.Context(), by, q.User, decisions)
	if errors.Is(err, retention.ErrNothing) {
		err = problem{http.StatusNotFound, err}
	}
	return erased, err
}

// Prune removes the node's oldest records: up to a signed checkpoint of its log, or those
// that are older than a time. A preview tells what would go.
type Prune struct {
	Checkpoint string    `json:"checkpoint,omitzero"`
	Before     time.Time `json:"before,omitzero"`
	Preview    bool      `json:"preview,omitzero"`
}

func (o *API) prune(r *http.Request, by act.Principal, q Prune) (retention.Pruned, error) {
	if (q.Checkpoint == "") == q.Before.IsZero() { // not the newest: nearly all would go, and nobody said so
		return retention.Pruned{}, badRequest("say up to where: either \"before\", a time, or \"checkpoint\", a signed checkpoint of this log that was kept")
	}
	checkpoint := []byte(q.Checkpoint)
	if !q.Before.IsZero() {
		var err error
		if checkpoint, err = o.Retention.Before(r.Context(), q.Before); err != nil {
			return retention.Pruned{}, err
		}
		if checkpoint == nil { // no whole tile is that old
			return o.Retention.PreviewPrune(r.Context(), 0)
		}
	}
	cp, err := ledger.OpenCheckpoint(checkpoint, o.Log.VerifierKey())
	if err != nil {
		return retention.Pruned{}, problem{http.StatusBadRequest, err}
	}
	var pruned retention.Pruned
	if q.Preview {
		pruned, err = o.Retention.PreviewPrune(r.Context(), cp.Size)
	} else {
		pruned, err = o.Retention.Prune(r.Context(), by, checkpoint, cp.Size)
	}
	if errors.Is(err, retention.ErrKept) {
		err = problem{http.StatusConflict, err}
	}
	return pruned, err
}

// decision answers with a record and what lies beside it.
func (o *API) decision(w http.ResponseWriter, r *http.Request) {
	pos, err := act.ParsePosition(r.PathValue("id"))
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if _, _, err := ledger.ReadRecord(r.Context(), o.Store, pos); err != nil {
		status, text := http.StatusInternalServerError, "the decision could not be read"
		if errors.Is(err, ledger.ErrNotFound) {
			status, text = http.StatusNotFound, "there is no decision "+pos.String()
		}
		answer(w, status, map[string]string{"error": text})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	ledger.Export(r.Context(), o.Store, ledger.Range{Log: pos.Log, From: pos.Index, To: pos.Index + 1}, true, w)
}
