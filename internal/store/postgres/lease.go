package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// Acquire takes a log that this owner held before, that was released, or whose
// node has shown no sign of life for leaseTime; else a new one.
func (s *Store) Acquire(ctx context.Context, owner string) (lease ledger.Lease, err error) {
	begin := time.Now()
	err = s.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockAcquire)); err != nil {
			return err
		}
		begin = time.Now()
		err := tx.QueryRow(ctx, `
			UPDATE log SET epoch = epoch + 1, owner = $1, heartbeat = clock_timestamp()
			WHERE log = (SELECT log FROM log
				WHERE owner IS NULL OR owner = $1 OR heartbeat < clock_timestamp() - $2::interval
				ORDER BY (owner = $1) IS TRUE DESC, log LIMIT 1 FOR UPDATE)
			RETURNING log, epoch`, owner, leaseTime).Scan(&lease.Log, &lease.Epoch)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO log (log, epoch, owner, heartbeat) SELECT coalesce(max(log) + 1, 0), 1, $1, clock_timestamp() FROM log
			RETURNING log, epoch`, owner).Scan(&lease.Log, &lease.Epoch)
	})
	if err != nil {
		return ledger.Lease{}, fmt.Errorf("acquire a log: %w", err)
	}
	s.leased.begin(lease, begin)
	s.beating.Go(func() { s.beat(lease) })
	return lease, nil
}

// beat shows, until the store is closed or the lease lost, that the log's node
// lives. One that may not write any more must not seem to live: others would leave
// its tasks to it.
func (s *Store) beat(lease ledger.Lease) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stopped.Done():
			return
		case <-ticker.C:
		}
		if s.leased.over(lease) {
			return
		}
		ctx, cancel := context.WithTimeout(s.stopped, beat)
		begin := time.Now()
		tag, err := s.pool.Exec(ctx, `UPDATE log SET heartbeat = clock_timestamp() WHERE log = $1 AND epoch = $2 AND owner IS NOT NULL`,
			lease.Log, lease.Epoch)
		cancel()
		if err == nil && tag.RowsAffected() == 0 {
			s.leased.lose(lease)
			return
		}
		if err == nil {
			s.leased.renew(lease, begin)
		}
	}
}

// Release gives the log up.
func (s *Store) Release(ctx context.Context, lease ledger.Lease) error {
	s.leased.lose(lease) // before: from the moment it is released others may take it
	_, err := s.pool.Exec(ctx, `UPDATE log SET owner = NULL WHERE log = $1 AND epoch = $2`, lease.Log, lease.Epoch)
	return err
}

// LeaseEnds is until when nobody else can take the newest lease, by this
// machine's monotonic clock: leaseTime after the last sign of life that is
// certain, counted from before it was sent, since the server counts from when it
// came. It is zero before Acquire, and long ago once the lease is lost.
func (s *Store) LeaseEnds() time.Time {
	l := &s.leased
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lease == (ledger.Lease{}):
		return time.Time{}
	case l.lost:
		return time.Unix(1, 0)
	}
	return l.last.Add(leaseTime)
}

// leaseState is what this node knows of its newest lease.
type leaseState struct {
	mu    sync.Mutex
	lease ledger.Lease
	last  time.Time // when the last sign of life that is certain was sent
	lost  bool
}

// node names the holder of the lease.
func (l *leaseState) node() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease.Node()
}

func (l *leaseState) begin(lease ledger.Lease, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.last, l.lost = lease, at, false
}

func (l *leaseState) renew(lease ledger.Lease, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == lease && at.After(l.last) {
		l.last = at
	}
}

func (l *leaseState) lose(lease ledger.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == lease {
		l.lost = true
	}
}

// over reports whether the lease is known to be lost.
func (l *leaseState) over(lease ledger.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease == lease && l.lost
}
