package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"mime"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/a2a/message"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
	"reeve.example/reeve/task"
)

// inputModes are the media types of what messages may hold.
var inputModes = []string{
	"text/plain", "text/markdown", "text/html", "text/csv", "application/json", "application/pdf", "image/png", "image/jpeg",
}

// checkModes refuses a part of another media type.
func checkModes(m *Message) error {
	for _, p := range m.Parts {
		if p.Media == "" {
			continue
		}
		media, _, err := mime.ParseMediaType(p.Media)
		if err != nil || !slices.Contains(inputModes, media) {
			return fail(contentType, "A part has the media type "+shown(p.Media)+", and these are taken: "+strings.Join(inputModes, ", ")+".")
		}
	}
	return nil
}

// ActionOf is the act of taking a message whose canonical form is body.
func ActionOf(by act.Principal, body []byte) *act.Action {
	a := &act.Action{
		Door: door, Method: methodNames[opSend], Kind: act.A2AReceive, Principal: by,
		Agent: act.Agent{ID: by.Name}, Resource: by.Name, Server: by.Name, Body: body,
	}
	doc, err := rawjson.Parse(body)
	if err != nil { // a client's JSON may be within the limits, and what we make of it not
		a.Refusals = append(a.Refusals, content.TooMuch)
		a.Canonical, a.Confusable = canon.Name(by.Name)
		return a
	}
	texts := content.Set{}
	read := message.Read(doc.Root(), "", &texts)
	a.Method, a.InnerMethod, a.ID, a.Arguments, a.Traceparent, a.Labels = read.Method, read.Method, read.ID, read.Arguments, read.Traceparent, read.Labels
	texts.Complete(a, message.AppendCanonical(nil, doc.Root()))
	a.Earlier = sha256.Sum256(message.AppendCanonical([]byte(act.A2AReceive), doc.Root()))
	return a
}

// reasons are a decision's reasons as a sentence or more.
func reasons(d *act.Decision) string {
	return cmp.Or(strings.Join(wording.Deciding(d, wording.Advice), " "), "The policy does not let this message pass.")
}

// turn is one message on its way to become a tree.
type turn struct {
	by      engine.Caller
	version string
	message *Message
	body    []byte   // the message as it is judged
	id      string   // of the task
	again   bool     // people were asked about it
	asked   *Message // what the agent asked before, for the history
	turns   int      // how many the task had when it was looked at
	record  *record  // once the message is judged
	plan    *plan    // what it becomes; nil for nothing
	denied  string   // why the task stays as it is
}

// take takes a message: it is judged, recorded with the task that it begins or
// continues, and executed. It returns the task's record.
func (s *Server) take(ctx context.Context, by engine.Caller, q *request) (*record, error) {
	m := q.Message
	if err := checkModes(m); err != nil {
		return nil, err
	}
	if q.Push != nil {
		if err := s.checkPush(q.Push); err != nil {
			return nil, err
		}
	}
	t := &turn{by: by, version: q.dialect.version(), message: m, id: newID(by.User, s.cfg.Now())}
	looked := &record{ID: t.id, Context: m.Context}
	if m.Task != "" {
		r, _, err := s.find(ctx, by, m.Task)
		if err != nil {
			return nil, err
		}
		if q.dialect == v1 && m.Context != "" && m.Context != r.context() { // in 0.3 the task's own counts
			return nil, invalid("message.contextId", "The task belongs to another context.")
		}
		v, err := s.look(ctx, by, r, false)
		if err == nil && (v.State == Submitted || v.State == Working) { // the message waits for its turn
			s.wait(ctx, by, r)
			v, err = s.look(ctx, by, r, false)
		}
		if err != nil {
			return nil, err
		}
		if err := takes(v, r); err != nil {
			return nil, err
		}
		m.Context, t.id, t.turns, t.asked, looked = r.context(), r.ID, len(r.Roots), v.Message, r
	}
	// What cannot be executed is said before anybody is asked.
	if _, err := s.planOf(m, looked, t.version, s.cfg.Now()); err != nil {
		return nil, err
	}
	t.body = q.canonical()
	if err := s.judge(ctx, t); err != nil {
		return nil, err
	}
	if t.denied != "" {
		return nil, fail(unsupported, t.denied)
	}
	if q.Push != nil {
		q.Push.Task = t.id
		if _, err := s.putPush(ctx, by, t.record, q.Push, q.dialect.version()); err != nil {
			return nil, err
		}
	}
	if t.turns > 0 {
		s.reopenPushes(ctx, t.id)
	}
	err := s.run(ctx, t)
	return t.record, err
}

// takes reports why a task takes no further message.
func takes(v *view, r *record) error {
	switch {
	case v.State.Terminal():
		return fail(unsupported, "The task has ended and takes no further message. Send one without a task's id to begin another.")
	case v.State == AuthRequired:
		return fail(unsupported, "The task waits for somebody to agree, and takes no further message before that.")
	case v.State != InputRequired:
		return fail(unsupported, "The task is still being worked on, and takes no message before that has ended.")
	case len(r.Roots) >= maxTurns:
		return fail(unsupported, "The task has taken as many messages as it can.")
	}
	return nil
}

// judge has the guard decide about a message, and makes what becomes of the task
// durable with the decision.
func (s *Server) judge(ctx context.Context, t *turn) error {
	a := ActionOf(t.by.Principal, t.body)
	a.Session = t.id
	before, err := s.labels(ctx, t)
	if err != nil {
		return err
	}
	a.Labels = append(a.Labels, before...)
	_, _, err = s.cfg.Guard.DecideWith(ctx, a, guard.With{Asked: t.again, Begins: t.begins, Items: func(d *guard.Ruling) ([]*guard.Item, error) {
		now := s.cfg.Now()
		r, item, err := s.tasks.Get(ctx, t.id)
		if err != nil {
			return nil, err
		}
		if r != nil && (len(r.Roots) != t.turns || !t.again && r.Rest != nil) {
			return nil, fail(unsupported, "Another message came before this one. Look at the task.")
		}
		begun := &record{
			ID: t.id, Context: t.message.Context, User: t.by.User, Principal: t.by.Principal.Name, Method: t.by.Principal.Method,
			Organization: t.by.Principal.Organization, Person: t.by.Principal.Person, Delegation: t.by.Principal.Delegation, Version: t.version, Created: now.UTC(),
		}
		r = cmp.Or(r, begun)
		said, history, err := s.conversation(ctx, t.id)
		if err != nil {
			return nil, err
		}
		t.plan, t.denied, t.record = nil, "", r
		switch d.Effect {
		case act.Allow, act.Modify:
			if err := s.accept(t, r, said, d.Modified, now); err != nil {
				return nil, err
			}
		case act.Escalate:
			r.Rest = &rest{State: AuthRequired, Why: "Somebody must agree to the message first: " + reasons(d.Decision), At: now.UTC(), Approval: d.Approval.ID}
			said.Pending = t.body
		default:
			if len(r.Roots) > 0 && !t.again {
				t.denied = "The message was not taken: " + reasons(d.Decision)
				return nil, nil // the decision is recorded, and the task stays as it is
			}
			r.Rest = &rest{State: Rejected, Why: reasons(d.Decision), At: now.UTC()}
			said.Pending = nil
		}
		if err := s.tasks.Fill(r, item); err != nil {
			return nil, err
		}
		return []*guard.Item{item, history}, s.histories.Fill(said, history)
	}})
	if err == nil {
		s.changed(t.id)
	}
	return err
}

// begins names the session of the tree that a message has become, which knows what the
// message says.
func (t *turn) begins() guard.SessionName {
	if t.plan == nil {
		return guard.SessionName{}
	}
	return engine.SessionOf(t.plan.top.User, t.plan.top.ID)
}

// maxBefore bounds how many tasks before it a message goes on from: each of them began with
// what those before it had read.
const maxBefore = 32

// labels are what is known of what was read before, where a message goes on from it: by the
// tree before of its task, by the tasks of its context, and by those that it refers to, as far
// as they are the caller's. The tree that it becomes has read that, too.
func (s *Server) labels(ctx context.Context, t *turn) (labels []string, err error) {
	if !s.cfg.Guard.Follows() {
		return nil, nil
	}
	before := []*record{}
	for i, id := range append([]string{t.id}, t.message.References...) {
		r, _, err := s.find(ctx, t.by, id)
		if _, none := errors.AsType[*failure](err); none {
			continue
		}
		if err != nil {
			return nil, err
		}
		if i > maxBefore {
			labels = append(labels, content.Foreign) // whatever the rest of them has read
			break
		}
		before = append(before, r)
	}
	if t.message.Context != "" {
		all, err := s.records(ctx, t.by) // the newest first
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if len(before) <= 2*maxBefore && r.context() == t.message.Context && r.Principal == t.by.Principal.Name {
				before = append(before, r)
			}
		}
	}
	for _, r := range before {
		if err := s.label(ctx, t.by, r); err != nil {
			return nil, err
		}
		for _, l := range r.labels {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	return labels, nil
}

// label looks up what the newest tree of a task has read.
func (s *Server) label(ctx context.Context, by engine.Caller, r *record) (err error) {
	if len(r.Roots) == 0 || !s.cfg.Guard.Follows() {
		return nil
	}
	user := r.User
	if top, err := s.cfg.Engine.Row(ctx, by, r.root()); err == nil { // else it was removed
		user = top.User
	}
	r.labels, err = s.cfg.Guard.LabelsAfter(ctx, engine.SessionOf(user, r.root()))
	return err
}

// accept makes a record that of a task that goes on with a message, as the policy
// let it through.
func (s *Server) accept(t *turn, r *record, said *conversation, modified []byte, now time.Time) error {
	m := *t.message
	if modified != nil {
		changed, err := readCanonical(modified)
		if err != nil {
			return err // it must not pass as it was
		}
		m = *changed.Message
	}
	p, err := s.planOf(&m, r, r.Version, now)
	if f, ok := errors.AsType[*failure](err); ok {
		p, err = &plan{why: f.sentence}, nil
	}
	if err != nil {
		return err
	}
	r.Rest, said.Pending = nil, nil
	if p.why != "" {
		r.Rest = &rest{State: Rejected, Why: p.why, At: now.UTC()}
	} else {
		for _, made := range p.tasks { // what an admin makes is the admin's, as in flow
			if made.User == "" {
				made.User = t.by.User
			}
		}
		r.Roots = append(r.Roots, p.top.ID)
		t.plan = p
	}
	if t.asked != nil {
		said.add(t.asked)
	}
	m.Task, m.Context = r.ID, r.context()
	said.add(&m)
	return nil
}

// readCanonical reads what canonical wrote.
func readCanonical(body []byte) (*request, error) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, err
	}
	return v1.readParams(opSend, doc.Root().Get("params"))
}

// run executes what a message has become. It goes on when the client has gone.
func (s *Server) run(ctx context.Context, t *turn) error {
	if t.plan == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	_, err := s.cfg.Engine.Create(ctx, t.by, t.plan.tasks, t.plan.top, engine.Making{Execute: true, Method: "tasks.execute"})
	wrong, ok := errors.AsType[*task.Error](err)
	if !ok {
		s.changed(t.id)
		return err
	}
	t.record, err = s.change(ctx, t.by, t.id, "a2a.reject", func(r *record) error {
		r.Roots = r.Roots[:len(r.Roots)-1]
		r.Rest = &rest{State: Rejected, Why: wrong.Message() + ": " + reasonOf(wrong), At: s.cfg.Now().UTC()}
		return nil
	})
	return err
}

// Answered has the messages go on that waited for an approval which is settled.
func (s *Server) Answered(ctx context.Context, h *approval.Decision) {
	s.resume(ctx, func(r *record) bool { return r.Rest.Approval == h.ID })
}

// resume judges again what waits for people, and of which that is wanted.
func (s *Server) resume(ctx context.Context, wanted func(r *record) bool) {
	for r, err := range s.tasks.All(ctx, ledger.ItemQuery{Open: true}) {
		if ctx.Err() != nil {
			return // the node stops, and the next one goes on
		}
		id := ""
		if err == nil && r.Rest != nil && wanted(r) {
			id, err = r.ID, s.goOn(ctx, r)
		}
		if _, said := errors.AsType[*guard.DamagedError](err); err != nil && !said && ctx.Err() == nil {
			s.cfg.Logger.Error("a message that waited for an approval cannot go on", "task", id, "error", err)
		}
	}
}

// goOn judges the message of a task again that waited for people.
func (s *Server) goOn(ctx context.Context, r *record) error {
	said, _, err := s.conversation(ctx, r.ID)
	if err != nil {
		return err
	}
	if said.Pending == nil {
		return errors.New("the message that waits is gone")
	}
	q, err := readCanonical(said.Pending)
	if err != nil {
		return err
	}
	by := engine.Caller{Principal: principalOf(r), User: r.User}
	t := &turn{by: by, version: r.Version, message: q.Message, body: said.Pending, id: r.ID, again: true, turns: len(r.Roots)}
	if len(r.Roots) > 0 {
		before := *r
		before.Rest = nil
		if v, err := s.look(ctx, by, &before, false); err == nil {
			t.asked = v.Message
		}
	}
	if err := s.judge(ctx, t); err != nil {
		if errors.Is(err, ledger.ErrLost) {
			return nil // another node was quicker
		}
		return err
	}
	s.reopenPushes(ctx, r.ID)
	return s.run(ctx, t)
}

// settle looks for approvals that were answered while nobody heard of it.
func (s *Server) settle(ctx context.Context) {
	s.resume(ctx, func(r *record) bool {
		h, err := s.cfg.Guard.Approval(ctx, r.Rest.Approval)
		return errors.Is(err, ledger.ErrNotFound) || err == nil && h.State != approval.Held
	})
}
