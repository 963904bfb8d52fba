// Package postgres keeps the ledgers of many nodes in one PostgreSQL database.
// Each node leases a log of its own, with a fencing epoch that every commit
// compares.
//
// Durability: a Commit is one transaction with synchronous_commit on, so that
// it is in the server's write-ahead log on the disk when Commit returns. What
// the server itself promises (its fsync setting, its replicas) is its
// operator's affair.
//
// Locks are always taken in one order: the log's row, then sessions' heads by
// key, new ones before old ones, then the roots of trees of tasks by id, then
// parts by hash. The lock of a root covers its whole tree.
//
// Ready tasks are carried between nodes by River, whose tables lie beside ours: a
// commit that makes a task ready inserts a job for it. What a task is stands in
// its row alone; a job only says where to look.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/store"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// schema is where the tables are, unless the URL sets a search_path.
	schema = "reeve"
	// leaseTime is after how long without a sign of life a log may be taken over.
	leaseTime = 6 * time.Second
	// connections is how many a node may have, unless the URL's pool_max_conns says.
	connections = 8
	// beat is how often a node shows that it lives.
	beat = 1500 * time.Millisecond
	// connectTimeout bounds each attempt to connect.
	connectTimeout = 10 * time.Second
	// lockMigrate and lockAcquire are the advisory locks under which migrations
	// are made, and logs acquired.
	lockMigrate = 0x72656576_00000001
	lockAcquire = 0x72656576_00000002
	// lockReserve is that of reservations, with a hash of what is reserved.
	lockReserve = 0x72657376
	// lockSegments is that of who writes or drops a log's segments, with the log's number.
	lockSegments = 0x72656567
	// lockAlone is that of what one node does at a time: see Alone.
	lockAlone = 0x72656576_00000003
)

// Store is an open database. It implements store.Store.
type Store struct {
	pool   *pgxpool.Pool
	leased leaseState
	local  localWorkers

	stop    context.CancelFunc // ends the heartbeats
	stopped context.Context
	beating sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open connects to the database at a URL such as
// postgres://user:password@host/database?sslmode=verify-full, and brings its
// schema up to date. The tables are in the schema "reeve", or in the URL's
// search_path. It returns ledger.ErrNewerSchema when a newer reeve wrote them in a way
// that this one cannot work with.
func Open(ctx context.Context, url string) (*Store, error) { return connect(ctx, url, false) }

// OpenReader connects to a database to read it. It changes nothing there, and returns
// ErrOlderSchema where it would have to be brought up to date first.
func OpenReader(ctx context.Context, url string) (*Store, error) { return connect(ctx, url, true) }

// CheckURL says what is wrong with a database's URL.
func CheckURL(url string) error {
	_, err := parse(url)
	return err
}

func parse(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's message quotes the URL, with the password in it masked.
		return nil, fmt.Errorf("the database URL cannot be read: %w", err)
	}
	return cfg, nil
}

func connect(ctx context.Context, url string, readOnly bool) (*Store, error) {
	cfg, err := parse(url)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "pool_max_conns") {
		// A commit takes its turn with those who read, and must not wait for long.
		cfg.MaxConns = max(cfg.MaxConns, connections)
	}
	params := cfg.ConnConfig.RuntimeParams
	params["search_path"] = cmp.Or(params["search_path"], schema)
	params["application_name"] = cmp.Or(params["application_name"], "reeve")
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	cfg.AfterConnect = prepare
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	steps, err := schemaSteps()
	if err == nil {
		if readOnly {
			err = steps.look(ctx, pool)
		} else {
			err = steps.bring(ctx, pool, params["search_path"], func() error { return migrateRiver(ctx, pool.Config()) })
		}
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{pool: pool}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// prepare makes a new connection fit for what reeve does on it.
func prepare(ctx context.Context, c *pgx.Conn) error {
	// Whatever the server's default, what was committed is on the disk.
	_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	if err == nil {
		// All that reeve asks for often has an index, and is written to be looked up in
		// it key by key. A plan that was made while a table was small must not read all
		// of it once it is large; and to plan or to compile a statement takes longer
		// than to execute it, so that both are not done each time.
		_, err = c.Exec(ctx, `SELECT set_config(name, 'off', false) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS s (name)
			UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', false)`)
	}
	return err
}

// Close ends all use of the database. The logs stay leased until Release, or
// until the leases expire.
func (s *Store) Close() error {
	s.stop()
	s.beating.Wait()
	s.pool.Close()
	return nil
}

// attempts is how often a transaction is tried that PostgreSQL breaks off to
// resolve a conflict.
const attempts = 5

// transact runs f within a transaction, again when the server asks for it.
func (s *Store) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	for i := 1; ; i++ {
		err := pgx.BeginFunc(ctx, s.pool, f)
		if err == nil || i == attempts || !conflicts(err) {
			return err
		}
	}
}

// conflicts reports whether a transaction may succeed when tried again.
func conflicts(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01") // serialization failure, deadlock
}

// Probe reports whether the database can be written, by writing.
func (s *Store) Probe(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `UPDATE probe SET at = now()`)
	return err
}
