package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"reeve.example/reeve/internal/quota"

	"github.com/jackc/pgx/v5"
)

var _ quota.Shared = (*Store)(nil)

// shareName is the name of what is shared, of a length that an index can hold.
func shareName(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Draw takes from a bucket. See quota.Shared. PostgreSQL waits for no disk where only
// unlogged tables were written: what is lost with the server's memory fills the buckets.
func (s *Store) Draw(ctx context.Context, name string, b quota.Bucket, n float64) (got float64, wait time.Duration, err error) {
	var level float64
	err = s.pool.QueryRow(ctx, `
		INSERT INTO bucket AS b (name, level, took, at, until)
		VALUES ($1, $3::float8 - floor(least($4::float8, $3)), floor(least($4, $3)), now(), now() + $5::interval)
		ON CONFLICT (name) DO UPDATE SET
			took  = floor(least($4, `+bucketLevel+`)),
			level = `+bucketLevel+` - floor(least($4, `+bucketLevel+`)),
			at    = greatest(b.at, now()),
			until = greatest(b.until, now() + $5::interval)
		RETURNING took, level`, shareName("bucket", name), b.PerSecond, b.Most, n, b.Keep).Scan(&got, &level)
	if err == nil && got < 1 {
		wait = time.Minute
		if b.PerSecond > 0 {
			wait = min(wait, time.Duration((1-min(level, 1))/b.PerSecond*float64(time.Second)))
		}
	}
	return got, wait, err
}

// bucketLevel is how much a bucket holds now. One that says nothing any more is full. A
// transaction that waited for another can be older than what it finds.
const bucketLevel = `CASE WHEN b.until < now() THEN $3 ELSE least($3, b.level + $2::float8 * greatest(0, extract(epoch FROM now() - b.at)::float8)) END`

// reserveTime is for how long what is reserved is kept for a node: longer than a commit
// can take, so that nothing is made of what was given to another.
const reserveTime = time.Minute

// ReserveItems reserves room for items. See quota.Shared.
func (s *Store) ReserveItems(ctx context.Context, kind string, open bool, r quota.Reservation) (quota.Room, quota.Room, error) {
	return s.reserve(ctx, shareName("items", kind, r.Owner), r, `SELECT count(*), coalesce(sum(octet_length(data)), 0)::bigint FROM item
		WHERE owner = $1 AND owner <> '' AND kind = $2 AND (open OR NOT $3)`, r.Owner, kind, open)
}

// ReserveTasks reserves room for tasks. See quota.Shared.
func (s *Store) ReserveTasks(ctx context.Context, r quota.Reservation) (quota.Room, quota.Room, error) {
	return s.reserve(ctx, shareName("tasks", r.Owner), r, openTasks, r.Owner)
}

// reserve gives a node room for what it is about to make, out of what is neither there nor
// reserved for another node.
func (s *Store) reserve(ctx context.Context, what string, r quota.Reservation, count string, args ...any) (granted, has quota.Room, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		// One after the other: of two nodes the later one sees what the earlier reserved.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, int32(lockReserve), what); err != nil {
			return err
		}
		node := s.leased.node()
		var others quota.Room
		if err := tx.QueryRow(ctx, `SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM reserved WHERE what = $1 AND node <> $2 AND until > clock_timestamp()`,
			what, node).Scan(&others.N, &others.Bytes); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, count, args...).Scan(&has.N, &has.Bytes); err != nil {
			return err
		}
		has.N, has.Bytes = has.N+others.N+r.Flying.N, has.Bytes+others.Bytes+r.Flying.Bytes
		granted = r.Grant(has)
		_, err := tx.Exec(ctx, `INSERT INTO reserved (what, node, n, bytes, until) VALUES ($1, $2, $3, $4, clock_timestamp() + $5::interval)
			ON CONFLICT (what, node) DO UPDATE SET n = excluded.n, bytes = excluded.bytes, until = excluded.until`,
			what, node, r.Flying.N+granted.N, r.Flying.Bytes+granted.Bytes, reserveTime)
		return err
	})
	return granted, has, err
}

// trimShares removes what says nothing any more of buckets and reservations.
func (s *Store) trimShares(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `WITH gone AS (DELETE FROM bucket WHERE until < now()) DELETE FROM reserved WHERE until < now()`)
	return err
}
