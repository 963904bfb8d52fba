package postgres

import (
	"context"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"

	"github.com/jackc/pgx/v5"
)

// PutPolicy keeps a policy set's text for ever.
func (s *Store) PutPolicy(ctx context.Context, hash string, text []byte, at time.Time) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO policy (hash, at, text) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`,
		hash, layout.Nanoseconds(at), notNil(text))
	return err
}

// Policy returns a policy set's text.
func (s *Store) Policy(ctx context.Context, hash string) (text []byte, err error) {
	err = s.pool.QueryRow(ctx, `SELECT text FROM policy WHERE hash = $1`, hash).Scan(&text)
	return text, found(err)
}

// PutKey adds an API key, or replaces the one with its name.
func (s *Store) PutKey(ctx context.Context, k identity.Key) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO api_key (name, hash, role, organization, created, revoked, person, seal) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (name) DO UPDATE SET hash = $2, role = $3, organization = $4, created = $5, revoked = $6, person = $7, seal = $8`,
		k.Name, k.Hash[:], k.Role, k.Organization, layout.Nanoseconds(k.Created), layout.Nanoseconds(k.Revoked), k.Person, []byte(k.Seal))
	return err
}

// Keys lists all API keys, oldest first.
func (s *Store) Keys(ctx context.Context) ([]identity.Key, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, hash, role, organization, created, revoked, person, seal FROM api_key ORDER BY created, name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k identity.Key, err error) {
		var hash, seal []byte
		var created, revoked int64
		if err := row.Scan(&k.Name, &hash, &k.Role, &k.Organization, &created, &revoked, &k.Person, &seal); err != nil {
			return k, err
		}
		k.Seal = string(seal)
		k.Damaged = copy(k.Hash[:], hash) != len(k.Hash) || len(hash) != len(k.Hash)
		k.Created, k.Revoked = layout.Time(created), layout.Time(revoked)
		return k, nil
	})
}

// PutAnchor notes that a checkpoint was published at a place.
func (s *Store) PutAnchor(ctx context.Context, a ledger.Anchor) error {
	tag, err := s.pool.Exec(ctx, `INSERT INTO anchor (log, size, place, at, checkpoint) SELECT log, $2, $3, $4, $5 FROM log WHERE log = $1`,
		a.Log, a.Size, a.Place, layout.Nanoseconds(a.At), notNil(a.Checkpoint))
	if err == nil && tag.RowsAffected() == 0 {
		err = ledger.ErrNotFound
	}
	return err
}

// Anchors lists a log's anchors, oldest first.
func (s *Store) Anchors(ctx context.Context, log uint32) ([]ledger.Anchor, error) {
	rows, err := s.pool.Query(ctx, `SELECT size, place, at, checkpoint FROM anchor WHERE log = $1 ORDER BY id`, log)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Anchor, error) {
		a := ledger.Anchor{Log: log}
		var at int64
		err := row.Scan(&a.Size, &a.Place, &at, &a.Checkpoint)
		a.At = layout.Time(at)
		return a, err
	})
}

// Reached returns what a follower of a log kept last.
func (s *Store) Reached(ctx context.Context, follower string, log uint32) (data []byte, err error) {
	err = s.pool.QueryRow(ctx, `SELECT data FROM reached WHERE log = $1 AND follower = $2`, log, follower).Scan(&data)
	return data, found(err)
}

// PutReached keeps how far a follower of a log has come.
func (s *Store) PutReached(ctx context.Context, follower string, log uint32, data []byte) error {
	tag, err := s.pool.Exec(ctx, `INSERT INTO reached (log, follower, data) SELECT log, $2, $3 FROM log WHERE log = $1
		ON CONFLICT (log, follower) DO UPDATE SET data = $3`, log, follower, notNil(data))
	if err == nil && tag.RowsAffected() == 0 {
		err = ledger.ErrNotFound
	}
	return err
}

// notNil is b, or an empty slice: a column that must not be NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
