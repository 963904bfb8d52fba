package reeve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/identity"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/mcp/proxy"

	"github.com/go-json-experiment/json"
)

// SocketName is the operator's socket in the data folder: what is asked there
// comes from whoever may read that folder.
const SocketName = datadir.Socket

// Admin serves what an operator does to a node, as JSON over HTTP: on the
// socket in the data folder, and under /admin/ for callers with the role admin.
// Each act is recorded in the ledger before it is answered.
func (n *Node) Admin() http.Handler {
	mux := http.NewServeMux()
	serve(mux, "GET /admin/status", n.status)
	serve(mux, "POST /admin/policy/reload", n.reloadPolicy)
	serve(mux, "GET /admin/keys", n.listKeys)
	serve(mux, "POST /admin/keys", n.createKey)
	serve(mux, "POST /admin/keys/revoke", n.revokeKey)
	serve(mux, "POST /admin/backup", n.backup)
	serve(mux, "POST /admin/erase", n.erase)
	serve(mux, "POST /admin/prune", n.prune)
	mux.Handle("/agents", n.Agents())
	mux.Handle("/agents/", n.Agents())
	mux.Handle("/approvals", n.Approvals())
	mux.Handle("/approvals/", n.Approvals())
	mux.Handle("/mcp/", proxy.Serve(n.guard))
	mux.Handle("POST /flow", n.flowRPC())
	mux.Handle("GET /tasks/{id}/events", n.flow.EventsHandler())
	return mux
}

// problem is an error that the caller can mend, with its HTTP status.
type problem struct {
	status int
	error
}

func badRequest(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// serve routes a pattern to a function from a JSON request to a JSON answer.
func serve[Q, A any](mux *http.ServeMux, pattern string, f func(context.Context, act.Principal, Q) (A, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdmin))
			if err == nil {
				err = json.Unmarshal(body, &q, json.RejectUnknownMembers(true))
			}
			if err != nil {
				answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
				return
			}
		}
		principal, _ := identity.FromContext(r.Context())
		a, err := f(r.Context(), principal, q)
		var p problem
		switch {
		case errors.As(err, &p):
			answer(w, p.status, map[string]string{"error": err.Error()})
		case err != nil:
			answer(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		default:
			answer(w, http.StatusOK, a)
		}
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.MarshalWrite(w, v, json.Deterministic(true))
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
}

func (n *Node) status(ctx context.Context, _ act.Principal, _ Nothing) (Status, error) {
	head, err := n.store.Head(ctx, n.log.Number())
	if err != nil {
		return Status{}, err
	}
	return Status{Version, n.guard.Policy().Hash(), n.log.Number(), head.Size, n.log.VerifierKey()}, nil
}

// PolicyLoaded answers a reload.
type PolicyLoaded struct {
	Policy  string `json:"policy"`
	Changed bool   `json:"changed"`
}

func (n *Node) reloadPolicy(ctx context.Context, by act.Principal, _ Nothing) (PolicyLoaded, error) {
	changed, err := n.ReloadPolicy(ctx, by)
	if err != nil {
		return PolicyLoaded{}, problem{http.StatusUnprocessableEntity, err}
	}
	return PolicyLoaded{n.guard.Policy().Hash(), changed}, nil
}

// KeyInfo describes an API key. Secret is shown once, when the key is made.
type KeyInfo struct {
	Name         string    `json:"name"`
	Role         string    `json:"role"`
	Organization string    `json:"organization,omitzero"`
	Created      time.Time `json:"created,omitzero"`
	Revoked      time.Time `json:"revoked,omitzero"`
	Secret       string    `json:"secret,omitzero"`
}

func (n *Node) listKeys(ctx context.Context, _ act.Principal, _ Nothing) ([]KeyInfo, error) {
	keys, err := n.store.Keys(ctx)
	infos := make([]KeyInfo, 0, len(keys))
	for _, k := range keys {
		infos = append(infos, KeyInfo{Name: k.Name, Role: k.Role, Organization: k.Organization, Created: k.Created, Revoked: k.Revoked})
	}
	return infos, err
}

func (n *Node) createKey(ctx context.Context, by act.Principal, q KeyInfo) (KeyInfo, error) {
	n.keys.Lock()
	defer n.keys.Unlock()
	old, err := n.store.Keys(ctx)
	if err != nil {
		return KeyInfo{}, err
	}
	for _, k := range old {
		if k.Name == q.Name && k.Revoked.IsZero() {
			return KeyInfo{}, badRequest("there is a key named %q already; revoke it first, or choose another name", q.Name)
		}
	}
	key, secret, err := identity.NewKey(q.Name, identity.Role(q.Role), q.Organization, n.now())
	if err != nil {
		return KeyInfo{}, problem{http.StatusBadRequest, err}
	}
	if _, err := n.guard.Note(ctx, "key.create", by, map[string]string{"name": key.Name, "role": key.Role}); err != nil {
		return KeyInfo{}, err
	}
	if err := n.store.PutKey(ctx, key); err != nil {
		return KeyInfo{}, err
	}
	if err := n.reloadKeys(ctx); err != nil {
		return KeyInfo{}, err
	}
	return KeyInfo{Name: key.Name, Role: key.Role, Organization: key.Organization, Created: key.Created, Secret: secret}, nil
}

// KeyName names a key.
type KeyName struct {
	Name string `json:"name"`
}

func (n *Node) revokeKey(ctx context.Context, by act.Principal, q KeyName) (KeyInfo, error) {
	n.keys.Lock()
	defer n.keys.Unlock()
	keys, err := n.store.Keys(ctx)
	if err != nil {
		return KeyInfo{}, err
	}
	for _, k := range keys {
		if k.Name != q.Name || !k.Revoked.IsZero() {
			continue
		}
		if _, err := n.guard.Note(ctx, "key.revoke", by, map[string]string{"name": k.Name}); err != nil {
			return KeyInfo{}, err
		}
		k.Revoked = n.now()
		if err := n.store.PutKey(ctx, k); err != nil {
			return KeyInfo{}, err
		}
		if err := n.reloadKeys(ctx); err != nil {
			return KeyInfo{}, err
		}
		return KeyInfo{Name: k.Name, Role: k.Role, Organization: k.Organization, Created: k.Created, Revoked: k.Revoked}, nil
	}
	return KeyInfo{}, problem{http.StatusNotFound, fmt.Errorf("there is no valid key named %q", q.Name)}
}

// BackupTo names the file that a backup is written to, on the node's machine.
type BackupTo struct {
	File string `json:"file"`
}

func (n *Node) backup(ctx context.Context, by act.Principal, q BackupTo) (Nothing, error) {
	if !filepath.IsAbs(q.File) {
		return Nothing{}, badRequest("the backup's file must be an absolute path, not %q", q.File)
	}
	if exists(q.File) {
		return Nothing{}, badRequest("%s is there already; a backup overwrites nothing", q.File)
	}
	if _, err := n.guard.Note(ctx, "backup", by, nil); err != nil {
		return Nothing{}, err
	}
	return Nothing{}, n.store.Backup(ctx, q.File)
}

// Prune removes the node's oldest records, up to a signed checkpoint of its log. A
// preview tells what would go.
type Prune struct {
	Checkpoint string `json:"checkpoint"`
	Preview    bool   `json:"preview,omitzero"`
}

// Pruned tells from which index on the records are still there; a preview, also how
// many would go, and of when the first and the last of them are.
type Pruned struct {
	From    uint64    `json:"from"`
	Records uint64    `json:"records,omitzero"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

func (n *Node) prune(ctx context.Context, by act.Principal, q Prune) (Pruned, error) {
	if q.Checkpoint == "" { // not the newest: nearly all would go, and nobody said so
		return Pruned{}, badRequest("say up to where: \"checkpoint\" has to be a signed checkpoint of this log that was kept")
	}
	checkpoint := []byte(q.Checkpoint)
	cp, err := ledger.OpenCheckpoint(checkpoint, n.log.VerifierKey())
	if err != nil {
		return Pruned{}, problem{http.StatusBadRequest, err}
	}
	if q.Preview {
		return n.previewPrune(ctx, cp.Size)
	}
	if _, err := n.guard.Note(ctx, "prune", by, map[string]string{"checkpoint_size": strconv.FormatUint(cp.Size, 10)}); err != nil {
		return Pruned{}, err
	}
	from, err := ledger.Prune(ctx, n.store, n.log.Number(), checkpoint, n.log.VerifierKey())
	return Pruned{From: from}, err
}

// previewPrune tells what would go by a checkpoint of so many records. The note of
// it is one record more, so the newest tile that stays is never below the checkpoint.
func (n *Node) previewPrune(ctx context.Context, size uint64) (Pruned, error) {
	head, err := n.store.Head(ctx, n.log.Number())
	if err != nil {
		return Pruned{}, err
	}
	p := Pruned{From: size &^ 255}
	if p.From <= head.Pruned {
		return Pruned{From: head.Pruned}, nil
	}
	p.Records = p.From - head.Pruned
	for index, at := range map[uint64]*time.Time{head.Pruned: &p.First, p.From - 1: &p.Last} {
		r, _, err := ledger.ReadRecord(ctx, n.store, act.Position{Log: n.log.Number(), Index: index})
		if err != nil {
			return Pruned{}, err
		}
		*at = r.Time
	}
	return p, nil
}
