package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/internal/layout"
	"reeve.example/reeve/task"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// errNothing rolls a commit back when every entry of it lost.
var errNothing = errors.New("nothing to commit")

// Commit makes a batch durable, in two round trips: one that locks and compares
// the sessions' heads and reads tasks, and one that writes. See store.Store.
//
// build is called once, but for one case: when another node has made a task of the
// same id since the tasks were read, nothing was written, and it is called again
// with the truth.
func (s *Store) Commit(ctx context.Context, lease ledger.Lease, claims []ledger.Claim, load *task.Load, build func(ledger.Found) (*ledger.Batch, error)) error {
	for i := 1; ; i++ {
		built := false
		var writes *task.Writes
		begin := time.Now()
		err := s.commit(ctx, lease, claims, load, func(f ledger.Found) (*ledger.Batch, error) {
			built = true
			batch, err := build(f)
			if batch != nil {
				writes = batch.Tasks
			}
			return batch, err
		})
		switch {
		case err == nil:
			s.leased.renew(lease, begin)
			return nil
		case errors.Is(err, errNothing):
			return nil
		case errors.Is(err, ledger.ErrFenced):
			s.leased.lose(lease)
			return err
		}
		// Conflicts arise where locks are taken, before the batch is built.
		if again := !built && conflicts(err) || taken(err) || s.resweep(ctx, err, writes); !again || i == attempts {
			return err
		}
	}
}

func (s *Store) commit(ctx context.Context, lease ledger.Lease, claims []ledger.Claim, want *task.Load, build func(ledger.Found) (*ledger.Batch, error)) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // a connection in a transaction, or broken, is closed by it
	p := planHeads(claims)
	size, tasks, err := p.take(ctx, c.Conn(), lease, want)
	var batch *ledger.Batch
	var kept []*task.Row
	var m more
	if err == nil {
		batch, err = build(ledger.Found{
			Lost: p.lost(claims, lease, size), Tasks: tasks,
			More: func(l task.Load) (*task.Loaded, error) { return m.load(ctx, c.Conn(), l) },
		})
	}
	if err == nil {
		switch {
		case batch == nil || len(batch.Records) == 0 && batch.Tasks == nil:
			err = errNothing
		case batch.First != size:
			err = ledger.ErrFenced
		default:
			if err = layout.Check(batch); err == nil {
				var rest []*task.Row // of what becomes ready
				if batch.Tasks != nil {
					kept, rest = s.local.keep(batch.Tasks.Ready)
				}
				err = p.write(ctx, c.Conn(), lease, batch, rest)
			}
		}
	}
	if err == nil {
		s.local.begin(kept)
	} else {
		s.local.drop(kept)
	}
	if err != nil && !c.Conn().IsClosed() && c.Conn().PgConn().TxStatus() != 'I' {
		// Also when ctx is over: the locks must go.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		defer cancel()
		if _, failed := c.Exec(end, "ROLLBACK"); failed != nil {
			_ = c.Conn().Close(end)
		}
	}
	return err
}

// plan is what a commit does to the sessions' heads. A head that was won is
// moved at once to where it will be if each record has one claim and none
// loses, as nearly always. Heads elsewhere are put right when the batch is
// known; nobody else sees them before.
type plan struct {
	fresh, old []*headMove // each in the order of the keys
	byKey      map[ledger.Key]*headMove
}

type headMove struct {
	claim *ledger.Claim
	index uint64 // where the head is put: offset from the log's size
	won   bool
}

// planHeads takes the first claim of each session.
func planHeads(claims []ledger.Claim) *plan {
	p := &plan{byKey: make(map[ledger.Key]*headMove, len(claims))}
	for i := range claims {
		c := &claims[i]
		if p.byKey[c.Key] != nil {
			continue
		}
		m := &headMove{claim: c, index: uint64(i)}
		p.byKey[c.Key] = m
		if c.First {
			p.fresh = append(p.fresh, m)
		} else {
			p.old = append(p.old, m)
		}
	}
	for _, list := range [][]*headMove{p.fresh, p.old} {
		slices.SortFunc(list, func(a, b *headMove) int { return bytes.Compare(a.claim.Key[:], b.claim.Key[:]) })
	}
	return p
}

// take begins the transaction, locks the log and the sessions' heads, moves those
// that are where the claims say, and locks and reads tasks. It returns the log's
// size and the tasks, nil when none are wanted.
func (p *plan) take(ctx context.Context, c *pgx.Conn, lease ledger.Lease, want *task.Load) (size uint64, tasks *task.Loaded, err error) {
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue(`UPDATE log SET heartbeat = clock_timestamp() WHERE log = $1 RETURNING size, epoch`, lease.Log)
	if len(p.fresh) > 0 {
		keys, places := columns(p.fresh)
		b.Queue(`INSERT INTO session_head (key, log, index)
			SELECT k, $1, n + (SELECT size FROM log WHERE log = $1) FROM unnest($2::uuid[], $3::bigint[]) AS c (k, n) ORDER BY k
			ON CONFLICT (key) DO NOTHING RETURNING key`, lease.Log, keys, places)
	}
	if len(p.old) > 0 {
		keys, places := columns(p.old)
		logs, indexes := make([]int64, len(p.old)), make([]int64, len(p.old))
		for i, m := range p.old {
			logs[i], indexes[i] = int64(m.claim.Prev.Log), int64(m.claim.Prev.Index)
		}
		b.Queue(`SELECT 1 FROM session_head WHERE key = ANY($1::uuid[]) ORDER BY key FOR UPDATE`, keys)
		b.Queue(`UPDATE session_head h SET log = $1, index = c.n + (SELECT size FROM log WHERE log = $1)
			FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS c (k, n, prev_log, prev_index)
			WHERE h.key = c.k AND h.log = c.prev_log AND h.index = c.prev_index RETURNING h.key`,
			lease.Log, keys, places, logs, indexes)
	}
	if want != nil {
		queueLock(&b, want)
		queueLoad(&b, want)
	}
	results := c.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return 0, nil, err
	}
	var epoch uint64
	if err := results.QueryRow().Scan(&size, &epoch); errors.Is(err, pgx.ErrNoRows) {
		return 0, nil, ledger.ErrFenced
	} else if err != nil {
		return 0, nil, err
	}
	if epoch != lease.Epoch {
		return 0, nil, ledger.ErrFenced
	}
	for i, list := range [][]*headMove{p.fresh, p.old} {
		if len(list) == 0 {
			continue
		}
		if i == 1 { // the lock
			if _, err := results.Exec(); err != nil {
				return 0, nil, err
			}
		}
		rows, err := results.Query()
		if err != nil {
			return 0, nil, err
		}
		var key [16]byte
		_, err = pgx.ForEachRow(rows, []any{&key}, func() error {
			if m := p.byKey[key]; m != nil {
				m.won = true
			}
			return nil
		})
		if err != nil {
			return 0, nil, err
		}
	}
	if want != nil {
		if _, err := results.Exec(); err != nil {
			return 0, nil, err
		}
		if tasks, err = readLoad(results, want); err != nil {
			return 0, nil, err
		}
	}
	return size, tasks, nil
}

// columns are the keys and places of moves, for unnest.
func columns(list []*headMove) (keys []pgtype.UUID, places []int64) {
	keys, places = make([]pgtype.UUID, len(list)), make([]int64, len(list))
	for i, m := range list {
		keys[i] = pgtype.UUID{Bytes: m.claim.Key, Valid: true}
		places[i] = int64(m.index)
	}
	return keys, places
}

// lost returns the places of the claims that are not on their session's head.
// Of several claims of one session the later ones chain on the first within
// this batch, and share its fate.
func (p *plan) lost(claims []ledger.Claim, lease ledger.Lease, size uint64) (lost []int) {
	broken := map[ledger.Key]bool{}
	for i := range claims {
		c := &claims[i]
		m := p.byKey[c.Key]
		loses := !m.won || broken[c.Key]
		if m.claim != c && (c.First || c.Prev.Log != lease.Log || c.Prev.Index < size) {
			loses = true
			broken[c.Key] = true
		}
		if loses {
			lost = append(lost, i)
		}
	}
	return lost
}

// write puts the heads right, writes the batch, with jobs for ready tasks, and commits.
func (p *plan) write(ctx context.Context, c *pgx.Conn, lease ledger.Lease, batch *ledger.Batch, ready []*task.Row) error {
	var b pgx.Batch
	p.settle(&b, lease, batch)
	if batch.Tasks != nil {
		if err := queueTasks(&b, batch.Tasks); err != nil {
			return err
		}
		queueJobs(&b, ready)
	}
	if len(batch.Records) > 0 {
		if err := queueRecords(&b, lease, batch); err != nil {
			return err
		}
	}
	b.Queue("COMMIT")
	return c.SendBatch(ctx, &b).Close()
}

// queueRecords queues the writing of a batch's records and what lies beside them.
func queueRecords(b *pgx.Batch, lease ledger.Lease, batch *ledger.Batch) error {
	at := batch.At.UnixNano()
	leaves := make([]byte, 0, len(batch.Leaves)*32)
	for i := range batch.Leaves {
		leaves = append(leaves, batch.Leaves[i][:]...)
	}
	b.Queue(`INSERT INTO batch (log, first, count, at, leaves, claims, records) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		lease.Log, batch.First, len(batch.Records), at, leaves,
		layout.AppendClaims(nil, batch.Claims), layout.AppendRecords(nil, batch.Records))
	if len(batch.Nodes) > 0 {
		levels, ns, hashes := make([]int32, len(batch.Nodes)), make([]int64, len(batch.Nodes)), make([][]byte, len(batch.Nodes))
		for i := range batch.Nodes {
			n := &batch.Nodes[i]
			levels[i], ns[i], hashes[i] = int32(n.Level), int64(n.N), n.Hash[:]
		}
		b.Queue(`INSERT INTO node (log, level, n, hash) SELECT $1, * FROM unnest($2::integer[], $3::bigint[], $4::bytea[])`,
			lease.Log, levels, ns, hashes)
	}
	openings, err := queueOpenings(b, "opening", lease, batch, batch.Openings)
	if err != nil {
		return err
	}
	if _, err := queueOpenings(b, "fact", lease, batch, batch.Facts); err != nil {
		return err
	}
	parts := slices.Clone(batch.Parts)
	slices.SortFunc(parts, func(a, b ledger.Part) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	for i := range parts {
		b.Queue(`INSERT INTO part (hash, last_put, size, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (hash) DO UPDATE SET last_put = greatest(part.last_put, excluded.last_put)`,
			parts[i].Hash[:], at, len(parts[i].Data), parts[i].Data)
	}
	queueItems(b, lease, batch)
	b.Queue(`UPDATE log SET size = $2, checkpoint = $3, opening_bytes = opening_bytes + $4 WHERE log = $1`,
		lease.Log, batch.First+uint64(len(batch.Records)), batch.Checkpoint, openings)
	return nil
}

// queueOpenings queues the writing of a batch's openings, or its facts, in groups, and
// returns their bytes.
func queueOpenings(b *pgx.Batch, table string, lease ledger.Lease, batch *ledger.Batch, openings [][]byte) (size int, err error) {
	for from, to := range layout.Groups(openings) {
		data, err := layout.AppendOpenings(nil, openings[from:to])
		if err != nil {
			return 0, err
		}
		size += len(data)
		b.Queue(`INSERT INTO `+table+` (log, first, count, at, size, data) VALUES ($1, $2, $3, $4, $5, $6)`,
			lease.Log, batch.First+uint64(from), to-from, batch.At.UnixNano(), len(data), data)
	}
	return size, nil
}

// settle moves the heads that were put elsewhere than the batch has them, and
// puts back those whose record is not in it.
func (p *plan) settle(b *pgx.Batch, lease ledger.Lease, batch *ledger.Batch) {
	last := make(map[ledger.Key]uint64, len(batch.Claims)) // offset in the batch
	for i := range batch.Claims {
		last[batch.Claims[i].Key] = uint64(batch.Claims[i].Entry)
	}
	var drop, move []pgtype.UUID
	var logs, indexes []int64
	for _, m := range p.byKey {
		if !m.won {
			continue
		}
		key := pgtype.UUID{Bytes: m.claim.Key, Valid: true}
		pos := act.Position{Log: lease.Log, Index: batch.First + last[m.claim.Key]}
		if offset, in := last[m.claim.Key]; in && offset == m.index {
			continue
		} else if !in && m.claim.First {
			drop = append(drop, key)
			continue
		} else if !in {
			pos = m.claim.Prev
		}
		move = append(move, key)
		logs, indexes = append(logs, int64(pos.Log)), append(indexes, int64(pos.Index))
	}
	if len(drop) > 0 {
		b.Queue(`DELETE FROM session_head WHERE key = ANY($1::uuid[])`, drop)
	}
	if len(move) > 0 {
		b.Queue(`UPDATE session_head h SET log = c.log, index = c.index
			FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS c (key, log, index) WHERE h.key = c.key`, move, logs, indexes)
	}
}
