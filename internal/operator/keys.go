package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
)

// Keys are the API keys of a node. It is safe for concurrent use.
type Keys struct {
	Guard  *guard.Guard
	Store  identity.Keys
	Auth   *identity.Authenticator // gets them
	Now    func() time.Time
	Logger *slog.Logger

	said     map[string]bool // damaged keys that the log told of; guarded by changing
	changing sync.Mutex      // no key is read between the change of one and its being in force
}

// Load reads the keys before there are callers.
func (k *Keys) Load(ctx context.Context) error {
	keys, err := k.Store.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the API keys: %w", err)
	}
	k.Auth.SetKeys(keys)
	for _, key := range keys {
		if key.Damaged && !k.said[key.Name] {
			if k.said == nil {
				k.said = map[string]bool{}
			}
			k.said[key.Name] = true
			k.Logger.Error("an API key in the database is damaged: it lets nobody in", "key", key.Name)
		}
	}
	return nil
}

// Reload takes up what another process changed in a shared database. It waits while a
// key is made or revoked: what was read before that must not be put in force after it.
func (k *Keys) Reload(ctx context.Context) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	return k.reload(ctx)
}

// reload reads the keys again. The first of them shuts out whoever asked without one,
// which the log says where it begins.
func (k *Keys) reload(ctx context.Context) error {
	required := k.Auth.Configured()
	if err := k.Load(ctx); err != nil {
		return err
	}
	if !required && k.Auth.Configured() {
		k.Logger.Warn("from now on credentials are required, on loopback, too: the first API key was made")
	}
	return nil
}

// KeyInfo describes an API key. Secret is shown once, when the key is made.
type KeyInfo struct {
	Name         string    `json:"name"`
	Role         string    `json:"role"`
	Organization string    `json:"organization,omitzero"`
	Created      time.Time `json:"created,omitzero"`
	Revoked      time.Time `json:"revoked,omitzero"`
	Secret       string    `json:"secret,omitzero"`
	Damaged      bool      `json:"damaged,omitzero"` // it lets nobody in
}

func infoOf(k identity.Key) KeyInfo {
	return KeyInfo{Name: k.Name, Role: k.Role, Organization: k.Organization, Created: k.Created, Revoked: k.Revoked, Damaged: k.Damaged}
}

func (k *Keys) list(r *http.Request, _ act.Principal, _ Nothing) ([]KeyInfo, error) {
	keys, err := k.Store.Keys(r.Context())
	infos := make([]KeyInfo, 0, len(keys))
	for _, key := range keys {
		infos = append(infos, infoOf(key))
	}
	return infos, err
}

func (k *Keys) create(r *http.Request, by act.Principal, q KeyInfo) (KeyInfo, error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	old, err := k.Store.Keys(r.Context())
	if err != nil {
		return KeyInfo{}, err
	}
	for _, key := range old {
		if key.Name == q.Name && key.Revoked.IsZero() {
			return KeyInfo{}, badRequest("there is a key named %q already; revoke it first, or choose another name", q.Name)
		}
	}
	key, secret, err := identity.NewKey(q.Name, identity.Role(q.Role), q.Organization, k.Now())
	if err != nil {
		return KeyInfo{}, problem{http.StatusBadRequest, err}
	}
	info := infoOf(key)
	info.Secret = secret
	return info, k.put(r.Context(), "key.create", by, map[string]string{"name": key.Name, "role": key.Role}, key)
}

// KeyName names a key.
type KeyName struct {
	Name string `json:"name"`
}

func (k *Keys) revoke(r *http.Request, by act.Principal, q KeyName) (KeyInfo, error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	keys, err := k.Store.Keys(r.Context())
	if err != nil {
		return KeyInfo{}, err
	}
	for _, key := range keys {
		if key.Name == q.Name && key.Revoked.IsZero() {
			key.Revoked = k.Now()
			return infoOf(key), k.put(r.Context(), "key.revoke", by, map[string]string{"name": key.Name}, key)
		}
	}
	return KeyInfo{}, problem{http.StatusNotFound, fmt.Errorf("there is no valid key named %q", q.Name)}
}

// put records the change of a key, stores it and puts it in force.
func (k *Keys) put(ctx context.Context, what string, by act.Principal, details map[string]string, key identity.Key) error {
	if _, err := k.Guard.Note(ctx, what, by, details); err != nil {
		return err
	}
	if err := k.Store.PutKey(ctx, key); err != nil {
		return err
	}
	return k.reload(ctx)
}
