package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
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

	Given     []identity.Key // of the configuration: they go before stored ones of their names
	Anonymous string         // the setting, for people

	Lost bool // the roll was taken away: see stored

	changes  atomic.Uint64 // of the roll, as it was last seen
	said     sync.Map      // names of damaged keys that the log told of
	read     atomic.Pointer[time.Time]
	changing sync.Mutex // no key is read between the change of one and its being in force
}

// Age is how long ago the keys were read that are in force. Load was called before.
func (k *Keys) Age() time.Duration { return time.Since(*k.read.Load()) }

// Load reads the keys before there are callers.
func (k *Keys) Load(ctx context.Context) error {
	keys, err := k.stored(ctx)
	if err != nil {
		return fmt.Errorf("read the API keys: %w", err)
	}
	k.Auth.SetKeys(k.inForce(keys))
	now := time.Now()
	k.read.Store(&now)
	for _, key := range keys {
		if !key.Damaged {
			continue
		}
		if _, said := k.said.LoadOrStore(key.Name, true); !said {
			k.Guard.FoundDamaged()
			k.Logger.Error("an API key in the database is damaged: it lets nobody in", "key", key.Name)
		}
	}
	return nil
}

// inForce are the keys that are taken. Of one name, that of the configuration is.
func (k *Keys) inForce(stored []identity.Key) []identity.Key {
	keys := slices.Clone(k.Given)
	for _, key := range stored {
		if !k.given(key.Name) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (k *Keys) given(name string) bool {
	return slices.ContainsFunc(k.Given, func(key identity.Key) bool { return key.Name == name })
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
	anonymous := k.Auth.Anonymous()
	if err := k.Load(ctx); err != nil {
		return err
	}
	if anonymous && !k.Auth.Anonymous() {
		k.Logger.Warn("from now on credentials are required, on loopback, too: the first API key was made")
	}
	return nil
}

// KeyInfo describes an API key. Secret is shown once, when the key is made.
type KeyInfo struct {
	Name         string    `json:"name"`
	Role         string    `json:"role"`
	Organization string    `json:"organization,omitzero"`
	Person       string    `json:"person,omitzero"` // who holds it, where one person has several
	Created      time.Time `json:"created,omitzero"`
	Revoked      time.Time `json:"revoked,omitzero"`
	Secret       string    `json:"secret,omitzero"`
	Damaged      bool      `json:"damaged,omitzero"` // it lets nobody in
	Given        bool      `json:"given,omitzero"`   // by the node's configuration
}

func infoOf(k identity.Key) KeyInfo {
	return KeyInfo{Name: k.Name, Role: k.Role, Organization: k.Organization, Person: k.Person, Created: k.Created, Revoked: k.Revoked, Damaged: k.Damaged, Given: k.Given}
}

func (k *Keys) list(r *http.Request, _ act.Principal, _ Nothing) ([]KeyInfo, error) {
	keys, err := k.stored(r.Context())
	infos := make([]KeyInfo, 0, len(k.Given)+len(keys))
	for _, key := range slices.Concat(k.Given, keys) {
		infos = append(infos, infoOf(key))
	}
	return infos, err
}

func (k *Keys) create(r *http.Request, by act.Principal, q KeyInfo) (KeyInfo, error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.given(q.Name) {
		return KeyInfo{}, badRequest("the configuration gives a key named %q: choose another name", q.Name)
	}
	old, err := k.stored(r.Context())
	if err != nil {
		return KeyInfo{}, err
	}
	for _, key := range old {
		if key.Name == q.Name && key.Revoked.IsZero() {
			return KeyInfo{}, badRequest("there is a key named %q already; revoke it first, or choose another name", q.Name)
		}
	}
	key, secret, err := identity.NewKey(q.Name, identity.Role(q.Role), q.Organization, q.Person, k.Now())
	if err != nil {
		return KeyInfo{}, problem{http.StatusBadRequest, err}
	}
	info := infoOf(key)
	info.Secret = secret
	details := map[string]string{"name": key.Name, "role": key.Role}
	for name, value := range map[string]string{"organization": key.Organization, "person": key.Person} {
		if value != "" { // whose answers count as one: see approval
			details[name] = value
		}
	}
	return info, k.put(r.Context(), "key.create", by, details, key)
}

// KeyName names a key.
type KeyName struct {
	Name string `json:"name"`
}

func (k *Keys) revoke(r *http.Request, by act.Principal, q KeyName) (KeyInfo, error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.given(q.Name) {
		return KeyInfo{}, badRequest("the key %q is given by the configuration: take it out of the setting keys, and start the node again", q.Name)
	}
	keys, err := k.stored(r.Context())
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
	key.Seal = k.Guard.SealFields(keyUse, key.Fields()...)
	n := guard.Admin(what, by, details)
	n.Plain = true
	if err := k.write(ctx, n, key); err != nil {
		return err
	}
	if err := k.Store.PutKey(ctx, key); err != nil {
		return err
	}
	return k.reload(ctx)
}
