package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/task"
)

// allowed refuses who may only look.
func (op operation) allowed(by engine.Caller) error {
	switch op {
	case opGet, opList, opSubscribe, opPushGet, opPushList, opCard:
		return nil
	}
	if by.Reads {
		return fail(forbidden, "The credential's role may look at tasks, and do nothing: that is for the roles agent and admin.")
	}
	return nil
}

// answer carries out an operation that is no stream, and writes what comes of it.
func (s *Server) answer(ctx context.Context, by engine.Caller, q *request) ([]byte, error) {
	if err := q.op.allowed(by); err != nil {
		return nil, err
	}
	d := q.dialect
	switch q.op {
	case opSend:
		e, err := s.send(ctx, by, q)
		if err != nil {
			return nil, err
		}
		return d.event(nil, e), nil
	case opGet, opCancel:
		do := s.get
		if q.op == opCancel {
			do = s.cancel
		}
		p, err := do(ctx, by, q)
		if err != nil {
			return nil, err
		}
		return d.task(nil, p), nil
	case opList:
		p, err := s.list(ctx, by, q)
		if err != nil {
			return nil, err
		}
		return d.page(nil, p), nil
	case opPushCreate:
		r, _, err := s.find(ctx, by, q.ID)
		if err != nil {
			return nil, err
		}
		if err := s.checkPush(q.Push); err != nil {
			return nil, err
		}
		q.Push.Task = r.ID
		p, err := s.putPush(ctx, by, r, q.Push, d.version())
		if err != nil {
			return nil, err
		}
		return d.push(nil, p), nil
	case opPushGet:
		p, err := s.getPush(ctx, by, q.ID, q.Config)
		if err != nil {
			return nil, err
		}
		return d.push(nil, p), nil
	case opPushList:
		list, err := s.listPushes(ctx, by, q.ID)
		if err != nil {
			return nil, err
		}
		return d.pushes(nil, list), nil
	case opPushDelete:
		err := s.deletePush(ctx, by, q.ID, q.Config)
		if d == v03 {
			return []byte("null"), err
		}
		return []byte("{}"), err
	case opCard:
		return s.extendedCard(ctx, d)
	}
	return nil, fail(noMethod, "There is no such operation.")
}

// send takes a message, and waits for what comes of it unless that is not wanted.
func (s *Server) send(ctx context.Context, by engine.Caller, q *request) (*event, error) {
	r, err := s.take(ctx, by, q)
	if err != nil {
		return nil, err
	}
	if !q.Now {
		s.wait(ctx, by, r)
	}
	if r, _, err = s.find(ctx, by, r.ID); err != nil {
		return nil, err
	}
	p, _, err := s.picture(ctx, by, r, q.History, true)
	if err != nil {
		return nil, err
	}
	if p.reply != nil {
		return &event{message: p.reply}, nil
	}
	return &event{task: p}, nil
}

// wait waits until a task has ended or waits for somebody. It costs what a stream
// does, and counts as one; where there is no room for it, nobody waits.
func (s *Server) wait(ctx context.Context, by engine.Caller, r *record) {
	leave := s.streams.Enter(by.Principal.Name)
	if leave == nil {
		return
	}
	defer leave()
	until := s.cfg.Now().Add(s.cfg.Wait)
	s.cfg.Hold(ctx, until)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	f := &follower{s: s, by: by, id: r.ID, turns: len(r.Roots), quiet: true, bare: true}
	ended := func(state State) bool { return state.Terminal() || state.interrupted() }
	if err := f.follow(ctx, func(*event) error { return nil }, ended); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Error("a task could not be waited for", "task", r.ID, "error", err) // and is answered as it is
	}
}

func (s *Server) get(ctx context.Context, by engine.Caller, q *request) (*taskView, error) {
	r, _, err := s.find(ctx, by, q.ID)
	if err != nil {
		return nil, err
	}
	p, _, err := s.picture(ctx, by, r, q.History, true)
	return p, err
}

// cancel ends a task that has not ended.
func (s *Server) cancel(ctx context.Context, by engine.Caller, q *request) (*taskView, error) {
	for range tries {
		r, _, err := s.find(ctx, by, q.ID)
		if err != nil {
			return nil, err
		}
		v, err := s.look(ctx, by, r, false)
		if err != nil {
			return nil, err
		}
		if v.State.Terminal() {
			return nil, fail(notCancelable, "The task has ended already.")
		}
		if r.Rest == nil && v.row.Open > 0 {
			_, err = s.cfg.Engine.Cancel(ctx, by, r.root(), "", false)
			if _, ok := errors.AsType[*task.Error](err); ok {
				continue // its tree has ended in the meantime
			}
		} else { // nothing runs: it waits for people, for a message, or for its tree
			r, err = s.change(ctx, by, r.ID, "a2a.cancel", func(r *record) error {
				if r.Rest != nil && r.Rest.State.Terminal() {
					return fail(notCancelable, "The task has ended already.")
				}
				r.Rest = &rest{State: Canceled, Why: "Cancelled by user", At: s.cfg.Now().UTC()}
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
		p, _, err := s.picture(ctx, by, r, nil, true)
		return p, err
	}
	return nil, fail(notCancelable, "The task changes all the time. Try again.")
}

// maxWalk bounds how many of a caller's tasks, the newest, a list is made of.
const maxWalk = 10_000

// listed is a task with what lists are sorted by.
type listed struct {
	record *record
	at     time.Time
}

// list answers ListTasks: the tasks whose state changed last come first.
func (s *Server) list(ctx context.Context, by engine.Caller, q *request) (*page, error) {
	all, err := s.records(ctx, by)
	if err != nil {
		return nil, err
	}
	var found []listed
	for _, r := range all {
		if q.Context != "" && r.context() != q.Context {
			continue
		}
		state, at, err := s.standing(ctx, by, r)
		if err != nil {
			return nil, err
		}
		at = at.Truncate(time.Millisecond) // as it is shown
		if q.State != 0 && state != q.State || at.Before(q.After) {
			continue
		}
		found = append(found, listed{r, at})
	}
	slices.SortFunc(found, func(a, b listed) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(a.record.ID, b.record.ID))
	})
	p := &page{Tasks: []*taskView{}, Total: len(found)}
	from, err := after(found, q.PageToken)
	if err != nil {
		return nil, err
	}
	found = found[from:]
	if len(found) > q.PageSize {
		found = found[:q.PageSize]
		last := found[len(found)-1]
		p.Next = token(last)
	}
	for _, l := range found {
		t, _, err := s.picture(ctx, by, l.record, q.History, q.Artifacts)
		if err != nil {
			return nil, err
		}
		p.Tasks = append(p.Tasks, t)
	}
	p.Size = len(p.Tasks)
	return p, nil
}

// endedTree is a cache entry: the state of a tree that has ended.
type endedTree struct {
	updated time.Time // of its root, then
	state   State
	at      time.Time
}

// maxEndedTrees bounds how many trees are remembered.
const maxEndedTrees = 2 * maxWalk

// standing is a task's state, and since when. Of a tree that has ended, and not
// changed since, it is remembered: a list looks at many.
func (s *Server) standing(ctx context.Context, by engine.Caller, r *record) (State, time.Time, error) {
	var row task.Row
	if r.Rest == nil && len(r.Roots) > 0 {
		var err error
		row, err = s.cfg.Engine.Row(ctx, by, r.root())
		if err == nil && row.Open == 0 {
			s.mu.Lock()
			known, ok := s.endedTrees[row.ID]
			s.mu.Unlock()
			if ok && known.updated.Equal(row.Updated) {
				return known.state, known.at, nil
			}
		}
	}
	v, err := s.look(ctx, by, r, false)
	if err != nil {
		return 0, time.Time{}, err
	}
	if r.Rest == nil && v.row.ID != (task.ID{}) && v.row.Open == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.endedTrees) >= maxEndedTrees {
			clear(s.endedTrees)
		}
		s.endedTrees[v.row.ID] = endedTree{v.row.Updated, v.State, v.At}
	}
	return v.State, v.At, nil
}

// token names the place in a list after a task.
func token(l listed) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%s", l.at.UnixMilli(), l.record.ID))
}

// after is the index of the first task after the place that a token names.
func after(found []listed, token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	ms, id, ok := strings.Cut(string(text), ".")
	at, wrong := strconv.ParseInt(ms, 10, 64)
	if err != nil || !ok || wrong != nil {
		return 0, invalid("pageToken", "It is none that was given here.")
	}
	place := listed{&record{ID: id}, time.UnixMilli(at)}
	i, same := slices.BinarySearchFunc(found, place, func(a, b listed) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(a.record.ID, b.record.ID))
	})
	if same {
		i++
	}
	return i, nil
}

// records reads a caller's newest tasks.
func (s *Server) records(ctx context.Context, by engine.Caller) (list []*record, err error) {
	prefix := ""
	if !by.Admin && by.User != "" {
		prefix = prefixOf(by.User)
	}
	for r, err := range s.tasks.All(ctx, ledger.ItemQuery{Prefix: prefix}) {
		if _, damaged := errors.AsType[*guard.DamagedError](err); damaged {
			continue // the log says which
		}
		if err != nil {
			return nil, err
		}
		if by.Sees(r.User) {
			list = append(list, r)
		}
		if len(list) == maxWalk {
			break
		}
	}
	return list, nil
}
