package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/store/internal/layout"

	"zombiezen.com/go/sqlite"
)

// Watch waits: no other process writes this database.
func (s *Store) Watch(ctx context.Context, _ *slog.Logger, _ func(ledger.Change)) { <-ctx.Done() }

// Announce remembers what the one node says of itself, for as long as it runs.
func (s *Store) Announce(_ context.Context, lease ledger.Lease, n nodes.Node) error {
	n.Log, n.Epoch, n.Living = lease.Log, lease.Epoch, true
	s.member.Store(&n)
	return nil
}

// Members is that one node; none where the database is only read.
func (s *Store) Members(ctx context.Context) ([]nodes.Node, error) {
	n := s.member.Load()
	if n == nil {
		return nil, nil
	}
	one := *n
	head, err := s.Head(ctx, one.Log)
	if one.Size = head.Size; err == nil && one.Size > 0 {
		one.Newest, err = s.newest(ctx)
	}
	return []nodes.Node{one}, err
}

// newest is when the newest batch was written.
func (s *Store) newest(ctx context.Context) (at time.Time, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT at FROM batch ORDER BY first DESC LIMIT 1`, func(stmt *sqlite.Stmt) error {
			at = layout.Time(stmt.ColumnInt64(0))
			return nil
		})
	})
	return at, err
}

// Tell has nobody to tell.
func (s *Store) Tell(context.Context, ledger.Change) error { return nil }

// PutPolicy keeps a policy set's text for ever.
func (s *Store) PutPolicy(ctx context.Context, hash string, text []byte, at time.Time) error {
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `INSERT INTO policy (hash, at, text) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING`,
			hash, at.UnixNano(), notNil(text))
	})
}

// Policy returns a policy set's text.
func (s *Store) Policy(ctx context.Context, hash string) ([]byte, error) {
	return s.one(ctx, `SELECT text FROM policy WHERE hash = ?`, hash)
}

// PutKey adds an API key, or replaces the one with its name.
func (s *Store) PutKey(ctx context.Context, k identity.Key) error {
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `REPLACE INTO api_key (name, hash, role, organization, person, created, revoked, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			k.Name, k.Hash[:], k.Role, k.Organization, k.Person, layout.Nanoseconds(k.Created), layout.Nanoseconds(k.Revoked), notNil([]byte(k.Seal)))
	})
}

// Keys lists all API keys, oldest first.
func (s *Store) Keys(ctx context.Context) (keys []identity.Key, err error) {
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT name, hash, role, organization, created, revoked, person, seal FROM api_key ORDER BY created, name`, func(stmt *sqlite.Stmt) error {
			k := identity.Key{
				Name: stmt.ColumnText(0), Role: stmt.ColumnText(2), Organization: stmt.ColumnText(3), Person: stmt.ColumnText(6),
				Created: layout.Time(stmt.ColumnInt64(4)), Revoked: layout.Time(stmt.ColumnInt64(5)),
			}
			k.Damaged = stmt.ColumnBytes(1, k.Hash[:]) != len(k.Hash) || stmt.ColumnLen(1) != len(k.Hash) || !integers(stmt, 4, 5)
			if stmt.ColumnLen(7) > 0 {
				k.Seal = string(column(stmt, 7, nil))
			}
			keys = append(keys, k)
			return nil
		})
	})
	return keys, err
}

// PutAnchor notes that a checkpoint was published at a place.
func (s *Store) PutAnchor(ctx context.Context, a ledger.Anchor) error {
	if a.Log != 0 {
		return ledger.ErrNotFound
	}
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `INSERT INTO anchor (size, place, at, checkpoint) VALUES (?, ?, ?, ?)`,
			int64(a.Size), a.Place, layout.Nanoseconds(a.At), notNil(a.Checkpoint))
	})
}

// Anchors lists a log's anchors, oldest first.
func (s *Store) Anchors(ctx context.Context, log uint32) (anchors []ledger.Anchor, err error) {
	if log != 0 {
		return nil, nil
	}
	err = s.read(ctx, func(c *sqlite.Conn) error {
		return query(c, `SELECT size, place, at, checkpoint FROM anchor ORDER BY id`, func(stmt *sqlite.Stmt) error {
			anchors = append(anchors, ledger.Anchor{
				Size: uint64(stmt.ColumnInt64(0)), Place: stmt.ColumnText(1),
				At: layout.Time(stmt.ColumnInt64(2)), Checkpoint: column(stmt, 3, nil),
			})
			return nil
		})
	})
	return anchors, err
}

// Reached returns what a follower of the log kept last.
func (s *Store) Reached(ctx context.Context, follower string, log uint32) ([]byte, error) {
	if log != 0 {
		return nil, ledger.ErrNotFound
	}
	return s.one(ctx, `SELECT data FROM reached WHERE follower = ?`, follower)
}

// PutReached keeps how far a follower of the log has come.
func (s *Store) PutReached(ctx context.Context, follower string, log uint32, data []byte) error {
	if log != 0 {
		return ledger.ErrNotFound
	}
	return s.write(func(c *sqlite.Conn) error {
		return execute(c, `REPLACE INTO reached (follower, data) VALUES (?, ?)`, follower, notNil(data))
	})
}

// Probe reports whether the database can be written, by writing. A disk that is stuck lets
// no write end: that is told when ctx ends, and the next probe waits for the write.
func (s *Store) Probe(ctx context.Context) error {
	written := make(chan error, 1)
	select {
	case s.probing <- struct{}{}:
		go func() {
			written <- s.write(func(c *sqlite.Conn) error {
				return execute(c, `UPDATE head SET probed = ?`, time.Now().UnixNano())
			})
			<-s.probing
		}()
	case <-ctx.Done():
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the database has not taken a write in time, as its disk is slow or stuck: %w", ctx.Err())
	}
}

// notNil is b, or an empty slice: a column that must not be NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
