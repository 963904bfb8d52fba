package operator

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
)

// The API keys lie in a table of their own, each with its seal. That an older row of a key
// was put back, or a row taken away, its seal does not tell: the roll does. It is an item, so
// it changes only together with the record that a key was made or revoked.

// roll is which keys there are, by the seals of what is stored of them.
type roll struct {
	// Changes counts them: a node that has seen the roll believes no older one.
	Changes uint64            `json:"changes"`
	Keys    map[string]string `json:"keys"` // base64, by name
}

// RollKind and RollID name the roll.
const (
	RollKind = "keys"
	RollID   = "roll"
)

// missing stands for keys of which it is not known how many there were.
const missing = "(unknown)"

// keyUse is what a key's seal is for.
const keyUse = "api key"

func rolls(g *guard.Guard) *guard.Items[roll] {
	return guard.NewItems(g, guard.Kind[roll]{
		Name: RollKind,
		Parse: func(item *ledger.Item) (*roll, error) {
			r := new(roll)
			err := json.Unmarshal(item.Data, r)
			if err == nil && item.ID != RollID {
				err = errors.New("another one stands in its place")
			}
			return r, err
		},
		Fill: func(r *roll, item *guard.Item) (err error) {
			item.Data, err = json.Marshal(r, json.Deterministic(true))
			return err
		},
	})
}

// Founding is the roll of a database that has no keys yet.
func Founding(ctx context.Context, g *guard.Guard) (*guard.Item, error) {
	item, err := g.Read(ctx, RollKind, RollID)
	if err != nil {
		return nil, err
	}
	return item, rolls(g).Fill(&roll{}, item)
}

// settles is how often keys are read that another node is changing: it writes the roll first.
const (
	settles     = 5
	settleAfter = 20 * time.Millisecond
)

// stored are the keys of the database. One that is not as the roll has it is damaged, and so
// is one that the roll has alone.
func (k *Keys) stored(ctx context.Context) ([]identity.Key, error) {
	for tries := 1; ; tries++ {
		keys, whole, err := k.held(ctx)
		if err != nil || whole || tries == settles || k.told(missing) {
			return keys, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(settleAfter):
		}
	}
}

// told reports whether the log told of a damaged key.
func (k *Keys) told(name string) bool {
	_, told := k.said.Load(name)
	return told
}

// held reads the keys and holds them against the roll. whole says that all are as it has them,
// or were found otherwise before.
func (k *Keys) held(ctx context.Context) (keys []identity.Key, whole bool, err error) {
	roll, item, err := rolls(k.Guard).Get(ctx, RollID)
	if _, damaged := errors.AsType[*guard.DamagedError](err); err != nil && !damaged {
		return nil, false, err
	}
	lost := err != nil || roll == nil && (k.Lost || item.Gone() || k.changes.Load() > 0) || roll != nil && roll.Changes < k.changes.Load()
	if keys, err = k.Store.Keys(ctx); err != nil {
		return nil, false, err
	}
	if roll == nil && !lost && k.Guard.Unsealed() {
		return keys, true, nil
	}
	if lost {
		roll = nil
		keys = append(keys, identity.Key{Name: missing, Damaged: true})
	} else if roll != nil {
		k.changes.Store(roll.Changes)
	}
	keys = roll.hold(keys, k.Guard.SealFields)
	whole = !slices.ContainsFunc(keys, func(key identity.Key) bool { return key.Damaged && !k.told(key.Name) })
	return keys, whole, nil
}

// hold marks the keys as damaged that are not as the roll has them, and adds those that it has
// alone. No roll, nil, has none.
func (r *roll) hold(keys []identity.Key, seal func(what string, fields ...string) string) []identity.Key {
	has := map[string]string{}
	if r != nil {
		has = maps.Clone(r.Keys)
	}
	for i := range keys {
		key := &keys[i]
		want := seal(keyUse, key.Fields()...)
		if key.Seal != want || has[key.Name] != base64.StdEncoding.EncodeToString([]byte(want)) {
			key.Damaged = true
		}
		delete(has, key.Name)
	}
	for name := range has {
		keys = append(keys, identity.Key{Name: name, Damaged: true})
	}
	return keys
}

// DamagedKeys are the names of the keys that are not as the nodes of a database stored them;
// roll is the item as it is stored, nil for none.
func DamagedKeys(keys []identity.Key, item *ledger.Item, sealer *ledger.Sealer) (names []string) {
	var r *roll
	if item != nil {
		r = new(roll)
		if sealer.CheckItem(item) != nil || json.Unmarshal(item.Data, r) != nil {
			r = nil
		}
	}
	for _, key := range r.hold(keys, func(what string, fields ...string) string { return string(sealer.Fields(what, fields...)) }) {
		if key.Damaged {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// write records a change of keys together with the roll.
func (k *Keys) write(ctx context.Context, n *guard.Note, changed ...identity.Key) error {
	items := rolls(k.Guard)
	defer items.Lock(RollID)()
	for {
		item, err := k.Guard.Read(ctx, RollKind, RollID)
		if err != nil {
			return err
		}
		r := &roll{}
		if item.Found && item.Sound() == nil { // of what is damaged nothing is believed
			if r, err = items.Parse(&item.Item); err != nil {
				r = &roll{}
			}
		}
		r.Changes = max(r.Changes, k.changes.Load()) + 1
		if r.Keys == nil {
			r.Keys = map[string]string{}
		}
		for _, key := range changed {
			r.Keys[key.Name] = base64.StdEncoding.EncodeToString([]byte(key.Seal))
		}
		if err := items.Fill(r, item); err != nil {
			return err
		}
		if err := k.Guard.Write(ctx, n, item); !errors.Is(err, ledger.ErrLost) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Seal seals the keys that an earlier version stored, and begins their roll, with the record
// from which on nothing is believed that has no seal.
func (k *Keys) Seal(ctx context.Context, again bool, by act.Principal, details map[string]string) error {
	keys, err := k.Store.Keys(ctx)
	if err != nil {
		return err
	}
	for i := range keys {
		key := &keys[i]
		if key.Seal == "" || again {
			key.Seal = k.Guard.SealFields(keyUse, key.Fields()...)
			if err := k.Store.PutKey(ctx, *key); err != nil {
				return err
			}
		}
	}
	n := guard.Admin("state.sealed", by, details)
	n.Plain = true
	return k.write(ctx, n, keys...)
}
