package a2a

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/task"
)

// Bounds of streams.
const (
	maxStreams = 4096
	// ownStreams are how many one caller may have, so that others find room.
	ownStreams = maxStreams / 2
	someEvents = 256 // read at once
)

// polling is how often it is looked whether another node has changed a task's
// record; what this node changes is heard of at once.
const polling = 2 * time.Second

// room reports that there is none for a stream, before anything is carried out.
func (s *Server) room(by engine.Caller) error {
	if !s.streams.Room(by.Principal.Name) {
		return tooManyStreams()
	}
	return nil
}

func tooManyStreams() error {
	return fail(exhausted, "There are too many streams open. Try again without one, or later.")
}

// stream is a stream that is ready to be sent.
type stream struct {
	follower
	first *event // the task as it is
	rests bool   // it waits for input: a message of another call ends that
}

// open carries out what is asked for together with a stream, so that what is wrong
// is said before it begins.
func (s *Server) open(ctx context.Context, by engine.Caller, q *request) (*stream, error) {
	if err := q.op.allowed(by); err != nil {
		return nil, err
	}
	if err := s.room(by); err != nil {
		return nil, err
	}
	id := q.ID
	if q.op == opStream {
		r, err := s.take(ctx, by, q)
		if err != nil {
			return nil, err
		}
		id = r.ID
	}
	r, _, err := s.find(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if q.op == opStream {
		// The stream tells from the beginning: the task as it was submitted, and
		// then what has become of it in the meantime.
		return s.begun(ctx, by, r, q)
	}
	p, v, err := s.picture(ctx, by, r, q.History, true)
	if err != nil {
		return nil, err
	}
	if v.State.Terminal() {
		return nil, fail(unsupported, "The task has ended: there is nothing more to be told. Get it.")
	}
	return &stream{
		follower: follower{s: s, by: by, id: id, turns: len(r.Roots), n: v.row.Events, at: v.at, state: v.State, started: v.State == Working},
		first:    &event{task: p}, rests: v.State == InputRequired,
	}, nil
}

// begun is the stream of a message that was just taken.
func (s *Server) begun(ctx context.Context, by engine.Caller, r *record, q *request) (*stream, error) {
	h, _, err := s.conversation(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	earlier := *r
	if len(r.Roots) > 0 && r.Rest == nil {
		earlier.Roots = r.Roots[:len(r.Roots)-1]
	}
	before, err := s.look(ctx, by, &earlier, true)
	if err != nil {
		return nil, err
	}
	p := &taskView{
		ID: r.ID, Context: r.context(), State: Submitted, At: r.Updated, History: limited(h.read(), q.History),
		Artifacts: before.Artifacts, ShowArtifacts: true, Origin: r.origin(),
	}
	return &stream{follower: follower{s: s, by: by, id: r.ID, turns: len(r.Roots), state: Submitted}, first: &event{task: p}}, nil
}

// run sends what comes after the first event, until the task has ended or waits for
// input. What the stream tells is read from the store, at the pace of who reads it:
// nobody waits for slow readers.
func (st *stream) run(ctx context.Context, send func(*event) error) error {
	leave := st.s.streams.Enter(st.by.Principal.Name)
	if leave == nil {
		return tooManyStreams() // the task is there, and can be subscribed to later
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(st.s.closing, cancel)()
	return st.follow(ctx, send, func(state State) bool { return state.Terminal() || state == InputRequired && !st.rests })
}

// follower tells what becomes of a task, from some point on.
type follower struct {
	s  *Server
	by engine.Caller
	id string

	turns   int    // the trees that were followed, with this one; 0 for not yet one
	n       uint64 // the newest event of the tree that was told
	state   State  // that was told last; 0 for none
	told    bool   // that the tree has ended
	started bool
	at      map[task.ID]task.Phase // the tasks that run or are held
	silent  uint64                 // events up to this one are passed over
	// quiet leaves progress out, and bare artifacts.
	quiet, bare bool
}

// errDone ends a follower.
var errDone = errors.New("there is nothing more to be told")

// follow sends what happens until done says that a state is the last. It returns
// nil then, and else why it ended before.
func (f *follower) follow(ctx context.Context, send func(*event) error, done func(State) bool) error {
	changed, stop := f.s.watch(f.id)
	defer stop()
	ticker := time.NewTicker(polling)
	defer ticker.Stop()
	var root task.ID
	var news <-chan struct{}
	unwatch := func() {}
	defer func() { unwatch() }()
	for {
		r, err := together(ctx, &f.s.reads, f.key("task", f.id), func(ctx context.Context) (*record, error) {
			r, _, err := f.s.find(ctx, f.by, f.id)
			return r, err
		})
		if err != nil {
			return err
		}
		own := *r // others who follow have the same
		r = &own
		f.turns = max(f.turns, min(1, len(r.Roots)))
		if f.turns > 0 && f.turns <= len(r.Roots) && r.Roots[f.turns-1] != root {
			root = r.Roots[f.turns-1]
			unwatch()
			w, stop := f.s.cfg.Engine.Watch(root)
			news, unwatch = w.C, stop
		}
		again, err := f.step(ctx, r, send, done)
		if errors.Is(err, errDone) {
			return nil
		}
		if err != nil {
			return err
		}
		if again {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		case <-changed:
		case <-ticker.C:
		}
	}
}

// step sends what there is to be told now. again says that there may be more.
func (f *follower) step(ctx context.Context, r *record, send func(*event) error, done func(State) bool) (again bool, err error) {
	current := f.turns == len(r.Roots) // nothing came after this tree
	if f.turns > 0 && f.turns <= len(r.Roots) && !f.told {
		ended, more, err := f.tree(ctx, r, r.Roots[f.turns-1], current, send, done)
		if err != nil || more {
			return more, err
		}
		f.told = ended
	}
	switch {
	case current && r.Rest != nil:
		v, err := f.s.look(ctx, f.by, r, false)
		if err != nil {
			return false, err
		}
		return false, f.tell(ctx, r, v.State, v.Message, v.At, send, done)
	case !current && f.told:
		f.turns, f.n, f.told, f.started, f.at, f.silent = f.turns+1, 0, false, false, nil, 0
		return true, nil
	}
	return false, nil
}

// tree sends what one tree has to tell: first its events, and when there are no
// more, how it ended.
func (f *follower) tree(ctx context.Context, r *record, root task.ID, current bool, send func(*event) error, done func(State) bool) (ended, more bool, err error) {
	// The row first: what it says of is then among the events.
	row, err := together(ctx, &f.s.reads, f.key("row", root.String()), func(ctx context.Context) (task.Row, error) {
		return f.s.cfg.Engine.Row(ctx, f.by, root)
	})
	if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
		if r.Rest != nil || f.s.cfg.Now().Sub(r.Updated) <= lost {
			return false, false, nil // it is about to be made, or never was
		}
		return true, false, f.tell(ctx, r, Failed, agentSentence(root.String()+".lost", r.ID, r.context(), "The node stopped before the work began, or the tasks were deleted."), r.Updated, send, done)
	}
	if err != nil {
		return false, false, err
	}
	list, err := together(ctx, &f.s.reads, f.key("events", fmt.Sprint(root, f.n)), func(ctx context.Context) ([]task.Event, error) {
		return f.s.cfg.Engine.Events(ctx, f.by, root, f.n, someEvents)
	})
	if err != nil {
		return false, false, err
	}
	for i := range list {
		if err := f.one(ctx, r, &list[i], send, done); err != nil {
			return false, false, err
		}
		f.n = list[i].N
	}
	if len(list) > 0 {
		return false, true, nil
	}
	if row.Open > 0 || row.Phase == task.Idle {
		return false, false, nil
	}
	top, err := f.get(ctx, root)
	if err != nil {
		return false, false, err
	}
	v := &view{}
	v.ended(r, top)
	if !current { // a message came after it
		return true, false, nil
	}
	return true, false, f.tell(ctx, r, v.State, v.Message, v.At, send, done)
}

func (f *follower) key(what, id string) readKey { return readKey{what, id, f.by} }

func (f *follower) get(ctx context.Context, id task.ID) (*task.Task, error) {
	return together(ctx, &f.s.reads, f.key("get", id.String()), func(ctx context.Context) (*task.Task, error) {
		return f.s.cfg.Engine.Get(ctx, f.by, id)
	})
}

// tell sends a state, unless it was told.
func (f *follower) tell(ctx context.Context, r *record, state State, message *Message, at time.Time, send func(*event) error, done func(State) bool) error {
	if state == f.state {
		if done(state) {
			return errDone
		}
		return nil
	}
	f.state = state
	last := done(state)
	if last || state.Terminal() || state == InputRequired {
		if err := f.s.label(ctx, f.by, r); err != nil {
			return err
		}
	}
	err := send(&event{status: &statusUpdate{
		Task: r.ID, Context: r.context(), State: state, Message: message, At: at, Final: last || state.Terminal() || state == InputRequired, Origin: r.origin(),
	}})
	if err == nil && last {
		err = errDone
	}
	return err
}

// one tells one event of a tree.
func (f *follower) one(ctx context.Context, r *record, e *task.Event, send func(*event) error, done func(State) bool) error {
	silent := e.N <= f.silent
	if f.at == nil {
		f.at = map[task.ID]task.Phase{}
	}
	switch e.Type {
	case task.StatusUpdate:
		return f.status(ctx, r, e, silent, send, done)
	case task.ProgressUpdate:
		if silent || f.quiet {
			return nil
		}
		return send(&event{status: &statusUpdate{
			Task: r.ID, Context: r.context(), State: f.state, At: e.At,
			Origin: &origin{Root: e.Root.String(), Task: e.Task.String(), User: r.User, Progress: &e.Progress},
		}})
	case task.TaskCompleted:
		if silent || f.bare {
			return nil
		}
		t, err := f.get(ctx, e.Task)
		if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
			return nil
		}
		if err == nil {
			err = f.s.label(ctx, f.by, r)
		}
		if err != nil {
			return err
		}
		return sendArtifacts(r, t, send)
	}
	return nil
}

// status tells the state that a tree comes to by a task's, as long as it has not ended.
func (f *follower) status(ctx context.Context, r *record, e *task.Event, silent bool, send func(*event) error, done func(State) bool) error {
	delete(f.at, e.Task)
	switch e.Status {
	case task.Pending:
		if e.Message != "" { // it is held
			f.at[e.Task] = task.Held
		}
	case task.InProgress:
		f.started = true
		f.at[e.Task] = task.Running
	}
	state := stateOf(f.at, f.started)
	if state == Submitted {
		return nil
	}
	if silent {
		f.state = state
		return nil
	}
	var message *Message
	if state == AuthRequired {
		message = held(r, e.Root)
	}
	return f.tell(ctx, r, state, message, e.At, send, done)
}

// sendArtifacts sends the artifacts of a task, one in pieces if it is to be.
func sendArtifacts(r *record, t *task.Task, send func(*event) error) error {
	for _, a := range artifactsOf(t) {
		pieces := [][]part{a.Parts}
		if a.chunked {
			pieces = nil
			for i := range a.Parts {
				pieces = append(pieces, a.Parts[i:i+1])
			}
		}
		for i, parts := range pieces {
			piece := a
			piece.Parts = parts
			err := send(&event{artifact: &artifactUpdate{
				Task: r.ID, Context: r.context(), Artifact: piece, Append: i > 0, Last: i == len(pieces)-1, Origin: r.origin(),
			}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
