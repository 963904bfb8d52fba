package reeve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
)

// What lies beside the ledger (items, API keys) bears seals of the node, and what has none is
// not believed. A database of an earlier version has none yet: its rows are sealed once, and
// a record says so. Where a record says it, they are never sealed again.

// rows is how it stands with the seals of a database when the node starts.
type rows int

const (
	rowsSealed   rows = iota // all that is believed bears a seal
	rowsNone                 // there is no record yet, and so nothing
	rowsUnsealed             // an earlier version wrote them
	rowsLost                 // they were sealed, and what says so beside the ledger was taken away
	rowsOtherKey             // they were sealed with a seed that is lost
)

// rows tells how it stands. What stands in the database alone proves nothing but by its seal: that
// nothing was sealed yet is believed of the ledger, and of a ledger that holds.
func (n *Node) rows(ctx context.Context) (rows, error) {
	if newKey, err := n.cfg.newKey(); err != nil || newKey {
		return rowsOtherKey, err
	}
	sealer, err := n.log.Sealer()
	if err != nil {
		return 0, err
	}
	if sealed, err := n.rollIsSealed(ctx, sealer); err != nil || sealed {
		return rowsSealed, err
	}
	state, err := n.recorded(ctx)
	if err != nil || state == rowsNone {
		return state, err
	}
	if sealed, err := n.rollIsSealed(ctx, sealer); err != nil || sealed { // by another node, meanwhile
		return rowsSealed, err
	}
	return state, nil
}

// rollIsSealed reports whether the keys' roll is there, and sealed with this seed.
func (n *Node) rollIsSealed(ctx context.Context, sealer *ledger.Sealer) (bool, error) {
	roll, err := n.store.Item(ctx, operator.RollKind, operator.RollID)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil && sealer.CheckItem(&roll) == nil, err
}

// recorded tells how it stands as the ledger says.
func (n *Node) recorded(ctx context.Context) (rows, error) {
	logs, err := n.store.Logs(ctx)
	if err != nil {
		return 0, err
	}
	if says, err := saysSealed(ctx, n.store); err != nil || says {
		return rowsLost, err
	}
	state := rowsNone
	for _, log := range logs {
		head, err := n.store.Head(ctx, log)
		if err != nil {
			return 0, err
		}
		if head.Size == 0 {
			continue
		}
		key, err := n.cfg.LedgerKey(log)
		if err != nil {
			return 0, err
		}
		report, err := ledger.Verify(ctx, n.store, ledger.VerifyOptions{Log: log, TrustedKey: key, SkipOpenings: true})
		if err != nil {
			return 0, err
		}
		if !report.OK() {
			n.logger.Error("no record says that what lies beside the ledger was sealed, and the ledger does not hold: run reeve ledger verify. Nothing that bears no seal is believed", "problem", report.Problems[0].Message)
			return rowsLost, nil
		}
		state = rowsUnsealed
	}
	return state, nil
}

// sealRows seals what an earlier version wrote, or a node with a seed that is lost.
func (n *Node) sealRows(ctx context.Context) error {
	again, err := n.cfg.newKey()
	if err != nil || !again && !n.guard.Unsealed() {
		return err
	}
	if !again {
		// One of an earlier version goes on writing without seals: it is waited for.
		list, err := n.store.Members(ctx)
		if err != nil {
			return err
		}
		if older := slices.IndexFunc(list, func(m nodes.Node) bool { return m.Living && !m.Seals && m.Log != n.log.Number() }); older >= 0 {
			n.unmet.Do(func() {
				n.logger.Warn("what lies beside the ledger is not sealed yet, since a node of an earlier version runs", "node", list[older].Name)
			})
			return nil
		}
	}
	sealer, err := n.log.Sealer()
	if err != nil {
		return err
	}
	count := 0
	err = n.store.SealItems(ctx, again, func(i *ledger.Item) []byte {
		count++
		return sealer.Item(i)
	})
	if err != nil {
		return err
	}
	if err := n.keys.Seal(ctx, again, identity.Operator, map[string]string{"items": strconv.Itoa(count)}); err != nil {
		return err
	}
	n.guard.Sealed()
	n.logger.Info("what lies beside the ledger is sealed: what bears no seal is not believed any more", "items", count)
	_, err = n.guard.LoadAgents(ctx)
	return err
}

// sealLater seals what could not be sealed yet, or takes up that another node has done it.
func (n *Node) sealLater(ctx context.Context) {
	if !n.guard.Unsealed() {
		return
	}
	state, err := n.rows(ctx)
	if err == nil && state != rowsUnsealed {
		n.guard.Sealed()
		return
	}
	if err == nil {
		err = n.sealRows(ctx)
	}
	if err != nil && ctx.Err() == nil {
		n.logger.Error("what lies beside the ledger could not be sealed", "error", fmt.Sprint(err))
	}
}

// maxRows is how many problems CheckRows tells of at most.
const maxRows = 1000

// CheckRows holds what lies beside the ledger, items and API keys, against its seals and
// against where each was last written. With all it reads what the records wrote, too, which
// finds a row that is older than what the database says of itself. problems are sentences;
// unsealed says that an earlier version wrote the database, and nothing was looked at.
func (c *Config) CheckRows(ctx context.Context, s store.Store, all bool) (problems []string, unsealed bool, err error) {
	seed, err := c.seed()
	if err != nil {
		return nil, false, err
	}
	sealer, err := ledger.NewSealer(seed)
	if err != nil {
		return nil, false, err
	}
	add := func(format string, args ...any) {
		if len(problems) < maxRows {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	type row struct {
		kind, id string
		version  act.Position
	}
	var roll, bars *ledger.Item
	rows := map[ledger.Key]row{}
	err = s.EachItem(ctx, func(i *ledger.Item) error {
		if i.Kind == operator.RollKind && i.ID == operator.RollID {
			roll = i
		}
		if i.Kind == guard.BarsKind && i.ID == guard.BarsID {
			bars = i
		}
		rows[ledger.ItemKey(i.Kind, i.ID)] = row{i.Kind, i.ID, i.Version}
		if err := sealer.CheckItem(i); err != nil {
			add("The %s %q: %v.", i.Kind, i.ID, err)
		}
		return nil
	})
	if errors.Is(err, ledger.ErrUnsealed) { // an earlier version's database, or one that was made to look so
		said, err := saysSealed(ctx, s)
		if err != nil || !said {
			return nil, err == nil, err
		}
		add("The records say that what lies beside the ledger (approvals, agents, API keys) was sealed, and the database has no place for seals any more: all of it was taken away, or could be forged.")
		return problems, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if roll == nil {
		switch said, err := saysSealed(ctx, s); {
		case err != nil:
			return nil, false, err
		case !said:
			return nil, true, nil
		}
		add("The list of API keys was taken away: no key lets anybody in.")
	}
	keys, err := s.Keys(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, name := range operator.DamagedKeys(keys, roll, sealer) {
		add("The API key %q is not as it was made or revoked: its row was changed, put back as it was, added or taken away. It lets nobody in.", name)
	}
	if bars != nil {
		for _, did := range guard.TakenAway(bars, func(kind, id string) bool { return rows[ledger.ItemKey(kind, id)].kind != "" }) {
			add("The agent %q, which is barred, was taken away: it stays barred.", did)
		}
	} else if _, was, err := s.KeyHead(ctx, ledger.ItemKey(guard.BarsKind, guard.BarsID)); err != nil {
		return problems, false, err
	} else if was {
		add("The list of the agents that are barred was taken away: whoever is not known otherwise is barred.")
	}
	for key, r := range rows {
		at, known, err := s.KeyHead(ctx, key)
		if err != nil {
			return problems, false, err
		}
		if !known {
			add("The %s %q: no record wrote it.", r.kind, r.id)
		} else if again, err := s.Item(ctx, r.kind, r.id); at != r.version && err == nil && again.Version != at { // nor was it written meanwhile
			add("The %s %q is of record %s, and was last written with record %s: %v.", r.kind, r.id, r.version, at, ledger.ErrRolledBack)
			delete(rows, key)
		}
	}
	if !all {
		return problems, false, nil
	}
	logs, err := s.Logs(ctx)
	if err != nil {
		return problems, false, err
	}
	for _, log := range logs {
		head, err := s.Head(ctx, log)
		if err != nil {
			return problems, false, err
		}
		err = s.Claims(ctx, log, head.Pruned, head.Size, func(index uint64, claim *ledger.Claim) error {
			r, ok := rows[claim.Key]
			if later := (act.Position{Log: log, Index: index}); ok && !claim.First && claim.Prev == r.version && later != r.version {
				if again, err := s.Item(ctx, r.kind, r.id); err == nil && again.Version == r.version {
					add("The %s %q is of record %s, and record %s wrote it again: %v.", r.kind, r.id, r.version, later, ledger.ErrRolledBack)
				}
				delete(rows, claim.Key)
			}
			return nil
		})
		if err != nil {
			return problems, false, fmt.Errorf("read what the records of log %d wrote: %w", log, err)
		}
	}
	return problems, false, nil
}

// saysSealed reports whether a record of any log says that rows without a seal are not believed.
func saysSealed(ctx context.Context, s ledger.Reader) (says bool, err error) {
	logs, err := s.Logs(ctx)
	for _, log := range logs {
		head, failed := s.Head(ctx, log)
		if failed == nil {
			failed = s.Records(ctx, log, head.Pruned, head.Size, func(_ uint64, data []byte) error {
				r, err := ledger.ParseRecord(data)
				says = says || err == nil && r.SaysSealed()
				return nil
			})
		}
		if err = errors.Join(err, failed); err != nil || says {
			break
		}
	}
	return says, err
}
