package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"reeve.example/reeve/internal/ledger"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrations embed.FS

// steps are the schema's versions, each by what makes it of the one before.
//
// Nodes of two versions work beside each other while they are replaced one by one. So a
// step should be one that older programs survive: new tables, new columns that have a
// default, triggers. A program that knows the schema survives, or a later one, also
// starts on a newer schema: a node that is killed during an upgrade comes back. A step
// that older programs do not survive moves survives up, and is not made while one of
// them lives.
type steps struct {
	texts    []string
	survives int
}

// survives is the oldest version of the schema whose programs work with the newest.
const survives = 5

func schemaSteps() (steps, error) {
	all := steps{survives: survives}
	names, err := migrations.ReadDir("migrations")
	if err != nil {
		return all, err
	}
	for _, name := range names {
		text, err := migrations.ReadFile("migrations/" + name.Name())
		if err != nil {
			return all, err
		}
		all.texts = append(all.texts, string(text))
	}
	return all, nil
}

// ErrOlderSchema: the database was not brought up to date yet, and is only to be read.
var ErrOlderSchema = errors.New("the database is of an older version of reeve, or empty: start a node of this version first, which brings it up to date")

// queryer is a connection, a pool or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns which schema a database has, 0 for none, and the oldest one whose
// programs work with it. It changes nothing.
func (s steps) version(ctx context.Context, q queryer) (version, oldest int, err error) {
	var versions, said bool
	err = q.QueryRow(ctx, `SELECT to_regclass('schema_version') IS NOT NULL, to_regclass('schema_survives') IS NOT NULL`).Scan(&versions, &said)
	if err != nil || !versions {
		return 0, 0, err
	}
	err = q.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&version)
	oldest = version // unless the program that made it said otherwise, of just this one
	if err == nil && said {
		err = q.QueryRow(ctx, `SELECT coalesce(min(oldest), $1) FROM schema_survives WHERE version = $1`, version).Scan(&oldest)
	}
	if err == nil && oldest > len(s.texts) {
		err = fmt.Errorf("%w: its schema is version %d, for programs that know version %d or later; this reeve knows %d, and has changed nothing", ledger.ErrNewerSchema, version, oldest, len(s.texts))
	}
	return version, oldest, err
}

// look makes sure that the database can be read as it is.
func (s steps) look(ctx context.Context, pool *pgxpool.Pool) error {
	version, _, err := s.version(ctx, pool)
	if err == nil && version < len(s.texts) {
		err = ErrOlderSchema
	}
	return err
}

// bring brings the schema up to date, in one transaction, and then does what must be done
// by one node at a time as well. Of several nodes one makes it, and the others wait.
func (s steps) bring(ctx context.Context, pool *pgxpool.Pool, path string, then func() error) error {
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	// The lock is the connection's: not all that follows can be in one transaction.
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockMigrate)); err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		defer cancel()
		if _, err := c.Exec(end, `SELECT pg_advisory_unlock($1)`, int64(lockMigrate)); err != nil {
			_ = c.Conn().Close(end)
		}
	}()
	version, _, err := s.version(ctx, c)
	if err != nil {
		return err
	}
	if version < len(s.texts) {
		if err := s.make(ctx, c.Conn(), path, version); err != nil {
			return err
		}
	}
	return then()
}

// make makes what is missing from a version on.
func (s steps) make(ctx context.Context, c *pgx.Conn, path string, version int) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := s.alone(ctx, tx, version); err != nil {
			return err
		}
		if path == schema {
			if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL);
			CREATE TABLE IF NOT EXISTS schema_survives (version integer NOT NULL, oldest integer NOT NULL)`); err != nil {
			return err
		}
		for i := version; i < len(s.texts); i++ {
			if _, err := tx.Exec(ctx, s.texts[i]); err != nil { // without parameters: many statements at once
				return fmt.Errorf("migration %d: %w", i+1, err)
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM schema_version; DELETE FROM schema_survives`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO schema_version VALUES ($1)`, len(s.texts)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO schema_survives VALUES ($1, $2)`, len(s.texts), s.survives)
		return err
	})
}

// alone refuses a step that older programs do not survive while one of them lives.
func (s steps) alone(ctx context.Context, tx pgx.Tx, version int) error {
	if version == 0 || version >= s.survives {
		return nil
	}
	// The rows stay locked: nobody becomes a node meanwhile.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockAcquire)); err != nil {
		return err
	}
	var living []string
	err := tx.QueryRow(ctx, `SELECT coalesce(array_agg(split_part(owner, ':', 1) || ' (log ' || log || ')' ORDER BY log), '{}') FROM log
		WHERE owner IS NOT NULL AND heartbeat > clock_timestamp() - $1::interval`, leaseTime).Scan(&living)
	if err == nil && len(living) > 0 {
		err = fmt.Errorf("nodes of an older version are running that do not survive the new schema (version %d, theirs is %d): %s; stop them first: nothing was changed",
			len(s.texts), version, strings.Join(living, ", "))
	}
	return err
}
