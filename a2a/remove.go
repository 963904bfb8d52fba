package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/task"
)

// removeAtOnce is how many tasks are removed with one record.
const removeAtOnce = 32

// RemoveOld removes tasks, with their history and their push configurations, that
// have changed last before a time, and of which no tree is left that has not ended
// before it. It returns how many, and the trees that tasks show which were made before
// that time and stay: they must stay, too.
func (s *Server) RemoveOld(ctx context.Context, before time.Time) (removed int, shown map[task.ID]bool, err error) {
	shown = map[task.ID]bool{}
	stays := func(t *record) (bool, error) {
		for _, root := range t.Roots {
			if t.Created.Before(before) { // else its trees are young
				shown[root] = true
			}
		}
		return false, nil
	}
	r := &remover{s: s, what: "retention", by: s.self(), details: map[string]string{"what": "a2a", "before": before.UTC().Format(time.RFC3339)}, list: true,
		left: func(t *record) { _, _ = stays(t) }}
	err = r.each(ctx, "", false, func(t *record) (bool, error) {
		if t.waits() || !t.Updated.Before(before) {
			return stays(t)
		}
		over, err := s.over(ctx, t, func(row *task.Row) bool {
			return row.Phase.Ended() && row.Next.IsZero() && row.Updated.Before(before)
		})
		if err == nil && !over {
			return stays(t)
		}
		return over, err
	})
	return r.removed, shown, err
}

// RemoveOf removes all tasks of a user likewise, with those that others began for the user, and returns their ids. Those that
// are being worked on stay, and are counted.
func (s *Server) RemoveOf(ctx context.Context, user string, by act.Principal) (ids []string, busy int, err error) {
	r := &remover{s: s, what: "erase", by: by, details: map[string]string{"what": "a2a"}}
	prefix := prefixOf(user)
	if identity.ActingFor(user) != nil {
		prefix = "" // who acts for the user has a name of its own: all are looked at
	}
	err = r.each(ctx, prefix, true, func(t *record) (bool, error) {
		if t.User != user && (t.Delegation == nil || t.Delegation.OnBehalfOf != user) {
			return false, nil
		}
		over, err := s.over(ctx, t, func(*task.Row) bool { return true })
		if err == nil && !over {
			busy++
		}
		return over, err
	})
	return r.ids, busy, err
}

// over reports whether nothing is executed for a task, and each of its trees that
// there is may go.
func (s *Server) over(ctx context.Context, t *record, may func(row *task.Row) bool) (bool, error) {
	for _, root := range t.Roots {
		row, err := s.cfg.Engine.Row(ctx, engine.Caller{Principal: s.self(), Admin: true}, root)
		if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
			continue
		}
		if err != nil {
			return false, err
		}
		if row.Open > 0 || !may(&row) {
			return false, nil
		}
	}
	return true, nil
}

// remover removes tasks, some with each record.
type remover struct {
	s       *Server
	what    string
	by      act.Principal
	details map[string]string
	list    bool            // the records list the tasks' ids
	left    func(t *record) // is told of those that were wanted and are left; nil for nobody

	tasks   []string // that are about to be removed
	records []*record
	items   []*guard.Item
	ids     []string // that were removed
	removed int
}

// each removes the tasks that are wanted, of those whose ids begin with a prefix.
func (r *remover) each(ctx context.Context, prefix string, whole bool, wanted func(t *record) (bool, error)) error {
	var failed error
	for t, err := range r.s.tasks.All(ctx, ledger.ItemQuery{Prefix: prefix}) {
		if damaged, ok := errors.AsType[*guard.DamagedError](err); ok {
			if whole { // nobody knows whose it is: the erasure is not whole
				failed = damaged
			}
			continue
		}
		ok := false
		if err == nil {
			ok, err = wanted(t)
		}
		if err == nil && ok {
			err = r.add(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return cmp.Or(r.flush(ctx), failed)
}

// add has a task removed, unless it has changed since it was looked at.
func (r *remover) add(ctx context.Context, t *record) error {
	now, item, err := r.s.tasks.Get(ctx, t.ID)
	if err != nil || now == nil || item.Version != t.stored {
		if r.left != nil {
			r.left(t)
		}
		return err
	}
	history, err := r.s.cfg.Guard.Read(ctx, historyKind, t.ID)
	if err != nil {
		return err
	}
	list := []*guard.Item{item, history}
	pushes, err := r.s.cfg.Guard.List(ctx, ledger.ItemQuery{Kind: pushKind, Prefix: t.ID + "."})
	if err != nil {
		return err
	}
	for _, p := range pushes {
		push, err := r.s.cfg.Guard.Read(ctx, pushKind, p.ID)
		if err != nil {
			return err
		}
		if push.Found {
			list = append(list, push)
		}
	}
	r.tasks, r.records, r.items = append(r.tasks, t.ID), append(r.records, t), append(r.items, list...)
	if len(r.tasks) >= removeAtOnce {
		return r.flush(ctx)
	}
	return nil
}

// flush removes what was added. When somebody has changed one of the tasks since, all
// of them are left for the next time; an erasure says so.
func (r *remover) flush(ctx context.Context) error {
	if len(r.tasks) == 0 {
		return nil
	}
	details := map[string]string{"tasks": fmt.Sprint(len(r.tasks))}
	for name, value := range r.details {
		details[name] = value
	}
	if r.list {
		details["ids"] = strings.Join(r.tasks, " ")
	}
	note := guard.Admin(r.what, r.by, details)
	note.Plain = true // its ids are looked for
	err := r.s.cfg.Guard.Remove(ctx, note, r.items...)
	if err == nil {
		r.ids, r.removed = append(r.ids, r.tasks...), r.removed+len(r.tasks)
	}
	if errors.Is(err, ledger.ErrLost) && r.list {
		for _, t := range r.records {
			r.left(t)
		}
		err = nil
	}
	for _, id := range r.tasks {
		r.s.changed(id) // who follows it learns that it is gone
	}
	r.tasks, r.records, r.items = nil, nil, nil
	return err
}
