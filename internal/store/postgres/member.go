package postgres

import (
	"context"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/store/internal/layout"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Announce tells the other nodes what one says of itself. See store.Store.
func (s *Store) Announce(ctx context.Context, lease ledger.Lease, n nodes.Node) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	// The log's row is locked, so that a successor's epoch is not overtaken.
	tag, err := s.pool.Exec(ctx, `INSERT INTO member (log, epoch, policy, data)
		SELECT log, epoch, $3, $4 FROM (SELECT log, epoch FROM log WHERE log = $1 AND epoch = $2 AND owner IS NOT NULL FOR SHARE) AS held
		ON CONFLICT (log) DO UPDATE SET epoch = excluded.epoch, policy = excluded.policy, data = excluded.data`,
		lease.Log, lease.Epoch, n.Policy, string(data))
	if err == nil && tag.RowsAffected() == 0 {
		s.leased.lose(lease)
		err = ledger.ErrFenced
	}
	return err
}

// Members lists who writes each log, or wrote it last, by the numbers of the logs.
func (s *Store) Members(ctx context.Context) ([]nodes.Node, error) {
	rows, err := s.pool.Query(ctx, `SELECT l.log, l.epoch, l.size, coalesce(l.owner, ''), l.owner IS NOT NULL AND l.heartbeat > clock_timestamp() - $1::interval,
			greatest(extract(epoch FROM clock_timestamp() - l.heartbeat), 0)::float8, coalesce(m.data, ''), coalesce(newest.at, 0)
		FROM log l LEFT JOIN member m ON m.log = l.log AND m.epoch = l.epoch
		LEFT JOIN LATERAL (SELECT at FROM batch WHERE batch.log = l.log ORDER BY first DESC LIMIT 1) AS newest ON true
		ORDER BY l.log`, leaseTime)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (n nodes.Node, err error) {
		var log int64
		var epoch, size uint64
		var owner, data string
		var living bool
		var age float64
		var newest int64
		if err := row.Scan(&log, &epoch, &size, &owner, &living, &age, &data, &newest); err != nil {
			return n, err
		}
		if data == "" || json.Unmarshal([]byte(data), &n) != nil {
			// A program from before nodes told of themselves, or something that only looked.
			n = nodes.Node{}
			n.Name, _, _ = strings.Cut(owner, ":")
		}
		n.Log, n.Epoch, n.Size, n.Living = uint32(log), epoch, size, living
		n.Gone = owner != "" && !living
		n.Age = nodes.In(time.Duration(age * float64(time.Second)))
		n.Newest = layout.Time(newest)
		return n, nil
	})
}

// Tell has the other nodes do what the change says. See store.Store.
func (s *Store) Tell(ctx context.Context, c ledger.Change) error {
	_, err := s.pool.Exec(ctx, `SELECT pg_notify(concat(current_schema(), '.`+changeChannel+`'), $1)`, strings.TrimSpace(string(c.Kind)+" "+c.ID))
	return err
}
