package a2a

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/outbound"
)

// push is a push configuration as it is kept, with how far it has come.
type push struct {
	Config  pushConfig `json:"config"`
	Task    string     `json:"task,omitzero"`
	User    string     `json:"user,omitzero"` // whose task it is
	Version string     `json:"version"`
	Gone    bool       `json:"gone,omitzero"` // it was deleted
	// Turn, Event and State are what was told last: of which tree of the task.
	Turn  int    `json:"turn"`
	Event uint64 `json:"event"`
	State State  `json:"state"`
	Node  string `json:"node,omitzero"` // who tells
	// Failures, Tried and Error are of the tries in a row that failed; kept when it is given up.
	Failures int       `json:"failures,omitzero"`
	Tried    time.Time `json:"tried,omitzero"`
	Error    string    `json:"error,omitzero"`
}

// missed is a try of this node that failed, and when the next one is.
type missed struct {
	failures int
	tried    time.Time
	next     time.Time
	reason   string
}

// Pushes tells how far the push notifications of one task have come, or with an empty name
// those of all. Of what another node tells it is not known here how its tries end.
func (s *Server) Pushes(ctx context.Context, task string, most int) (list []deliver.State, err error) {
	q := ledger.ItemQuery{Limit: most}
	if task != "" {
		q.Prefix = task + "."
	}
	page, _, _, err := s.pushes.Page(ctx, q)
	for _, p := range page {
		if p.Gone {
			continue
		}
		one := deliver.State{Protocol: "a2a", Task: p.Task, To: deliver.To(p.Config.URL), State: deliver.Done, Sent: p.Event, Failures: p.Failures, Tried: p.Tried, Error: p.Error}
		switch {
		case p.Node != "" && p.Node != s.cfg.Node:
			one.State, one.Node = deliver.Open, p.Node
		case p.Node != "":
			one.State = deliver.Open
			s.mu.Lock()
			if f, ok := s.failures[pushID(p.Task, p.Config.ID)]; ok {
				one.Failures, one.Tried, one.Next, one.Error = f.failures, f.tried, f.next, f.reason
			}
			s.mu.Unlock()
		case p.Failures > 0:
			one.State = deliver.GivenUp
		case !p.State.Terminal():
			one.State = deliver.Open
		}
		list = append(list, one)
	}
	return list, err
}

// failed notes that a try failed, or with a nil error that one did not.
func (t *delivery) failed(failures int, wait time.Duration, err error) {
	t.mu.Lock()
	t.push.Failures, t.push.Tried, t.push.Error = 0, time.Time{}, ""
	if err != nil {
		t.push.Failures, t.push.Tried, t.push.Error = failures, t.s.cfg.Now(), deliver.Reason(err)
	}
	f := missed{t.push.Failures, t.push.Tried, t.push.Tried.Add(wait), t.push.Error}
	t.mu.Unlock()
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err == nil {
		delete(t.s.failures, t.id)
	} else {
		t.s.failures[t.id] = f
	}
}

// Bounds of push notifications.
const (
	maxPushes  = 10 // configurations of one task
	pushLease  = 5 * time.Minute
	pushAtOnce = 2048 // configurations that this node tells of
	// pushOwn are how many of them may be one user's, so that one with receivers
	// that do not answer, or tasks that never end, leaves room for others.
	pushOwn  = pushAtOnce / 4
	pushPage = 256 // are read at once
)

var noPushes = &fault{"Push Notification is not supported", -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", http.StatusBadRequest, unsupported.grpc, unsupported.status}

// checkPush refuses what cannot be called.
func (s *Server) checkPush(p *pushConfig) error {
	if s.cfg.Callback == nil {
		return fail(noPushes, "This agent makes no push notifications.")
	}
	if s.cfg.CheckURL == nil {
		return nil
	}
	if err := s.cfg.CheckURL(p.URL); err != nil {
		return invalid("url", "It may not be called: "+err.Error()+".")
	}
	return nil
}

// PublicURL is a Config.CheckURL that refuses hosts which surely are not of the
// public internet. What a name resolves to is judged when it is called.
func PublicURL(address string) error {
	return (&outbound.Dialer{}).CheckURL(address)
}

func pushID(task, config string) string {
	sum := sha256.Sum256([]byte(config))
	return fmt.Sprintf("%s.%x", task, sum[:12])
}

// putPush keeps a configuration, in the place of one of the same id.
func (s *Server) putPush(ctx context.Context, by engine.Caller, r *record, config *pushConfig, version string) (*pushConfig, error) {
	if config.ID == "" {
		config.ID = r.ID // as 0.3 has it
	}
	list, err := s.pushesOf(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	others := 0
	for _, p := range list {
		if p.Config.ID != config.ID {
			others++
		}
	}
	if others >= maxPushes {
		return nil, fail(unsupported, fmt.Sprintf("The task has %d push configurations, and no more are kept.", maxPushes))
	}
	v, err := s.look(ctx, by, r, false)
	if err != nil {
		return nil, err
	}
	p := &push{Config: *config, Task: r.ID, User: r.User, Version: version, Turn: len(r.Roots), Event: v.row.Events, State: v.State}
	details := map[string]string{"a2a_task": r.ID, "push": config.ID, "url": config.URL}
	err = s.keepPush(ctx, pushID(r.ID, config.ID), "a2a.push.create", by, details, func(old *push, item *guard.Item) bool {
		item.Open, item.Due = !v.State.Terminal(), s.cfg.Now()
		if !item.Open {
			item.Due = time.Time{}
		}
		*old = *p
		return true
	})
	s.woken.Up()
	return &p.Config, err
}

// keepPush changes one configuration, with a record. Without one there is none
// before, and p is Gone. change says whether anything is to be written.
func (s *Server) keepPush(ctx context.Context, id, what string, by engine.Caller, details map[string]string, change func(p *push, item *guard.Item) (changed bool)) error {
	_, err := s.pushes.Update(ctx, id, func(p *push, item *guard.Item) (*guard.Note, error) {
		p.Gone = p.Gone || !item.Found
		if !change(p, item) {
			return nil, nil
		}
		return note(what, by.Principal, details), nil
	})
	return err
}

// pushesOf reads the configurations of a task. What is damaged is none.
func (s *Server) pushesOf(ctx context.Context, task string) (list []push, err error) {
	page, _, _, err := s.pushes.Page(ctx, ledger.ItemQuery{Prefix: task + "."})
	for _, p := range page {
		if !p.Gone {
			list = append(list, *p)
		}
	}
	return list, err
}

func (s *Server) listPushes(ctx context.Context, by engine.Caller, id string) (configs []pushConfig, err error) {
	if _, _, err := s.find(ctx, by, id); err != nil {
		return nil, err
	}
	list, err := s.pushesOf(ctx, id)
	for _, p := range list {
		configs = append(configs, p.Config)
	}
	return configs, err
}

// getPush returns one configuration. One that was given no id has the task's, and
// goes by no id and by "default", too; of no id it may also be the first.
func (s *Server) getPush(ctx context.Context, by engine.Caller, task, config string) (*pushConfig, error) {
	list, err := s.listPushes(ctx, by, task)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == config {
			return &list[i], nil
		}
	}
	for i := range list { // the one that was given no id
		if (config == "" || config == "default") && list[i].ID == task {
			return &list[i], nil
		}
	}
	if config == "" && len(list) > 0 {
		return &list[0], nil
	}
	return nil, fail(notFound, "The task has no such push configuration.")
}

// deletePush removes a configuration; that there is none is no error.
func (s *Server) deletePush(ctx context.Context, by engine.Caller, id, config string) error {
	r, _, err := s.find(ctx, by, id)
	if err != nil {
		return err
	}
	if config == "" {
		config = id
	}
	return s.keepPush(ctx, pushID(r.ID, config), "a2a.push.delete", by, map[string]string{"a2a_task": r.ID, "push": config}, func(p *push, item *guard.Item) bool {
		if p.Gone {
			return false
		}
		item.Open, item.Due = false, s.cfg.Now()
		*p = push{Gone: true}
		return true
	})
}

// reopenPushes has the configurations of a task tell again, after a message went on.
func (s *Server) reopenPushes(ctx context.Context, id string) {
	list, err := s.pushesOf(ctx, id)
	for i := range list {
		by := engine.Caller{Principal: s.self()}
		e := s.keepPush(ctx, pushID(id, list[i].Config.ID), "a2a.push.resume", by, map[string]string{"a2a_task": id, "push": list[i].Config.ID}, func(p *push, item *guard.Item) bool {
			if p.Gone || item.Open {
				return false
			}
			item.Open, item.Due = true, s.cfg.Now()
			return true
		})
		err = errors.Join(err, e)
	}
	if err != nil {
		s.cfg.Logger.Error("push notifications of a task do not go on", "task", id, "error", err)
	}
	s.woken.Up()
}

// self is the principal of what the node does by itself.
func (s *Server) self() act.Principal { return act.Principal{Name: "node", Method: "local"} }

// Run makes push notifications, and has messages go on whose approval was settled,
// until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	s.woken.Loop(ctx, func(n int) {
		if n%10 == 0 {
			s.settle(ctx)
		}
		before := s.cfg.Now()
		if n == 0 && s.cfg.Alone {
			before = time.Time{} // whoever was telling them is gone
		}
		err := s.duePushes(ctx, before, func(id string) {
			deliveries.Go(func() {
				defer func() { s.unclaim(id); s.woken.Up() }()
				s.push(ctx, id)
			})
		})
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("push notifications cannot be read", "error", err)
		}
	})
}

// duePushes begins the pushes that are due and that there is room for. Those of a
// user who has their share are passed over without being read.
func (s *Server) duePushes(ctx context.Context, before time.Time, begin func(id string)) error {
	for after := ""; ; {
		items, err := s.cfg.Guard.List(ctx, ledger.ItemQuery{Kind: pushKind, After: after, Open: true, DueBefore: before, Limit: pushPage})
		if err != nil {
			return err
		}
		more := len(items) == pushPage
	page:
		for _, item := range items {
			after = item.ID
			switch s.claim(item.ID) {
			case claimed:
				begin(item.ID)
			case noRoom:
				return nil
			case ownFull:
				owner, err := strconv.ParseUint(ownerOf(item.ID), 16, 32)
				if err != nil || owner == math.MaxUint32 {
					return err
				}
				after, more = fmt.Sprintf("%08x", owner+1), true
				break page
			}
		}
		if !more {
			return nil
		}
	}
}

// ownerOf is whose a push is: what prefixOf gives.
func ownerOf(id string) string { return id[:min(8, len(id))] }

// claim is whether a push may begin now.
type claim uint8

const (
	claimed claim = iota + 1
	begun         // it has
	ownFull       // its user has as many as may be
	noRoom
)

func (s *Server) claim(id string) claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch owner := ownerOf(id); {
	case s.pushing[id]:
		return begun
	case len(s.pushing) >= pushAtOnce:
		return noRoom
	case s.owners[owner] >= pushOwn:
		return ownFull
	default:
		s.pushing[id] = true
		s.owners[owner]++
		return claimed
	}
}

func (s *Server) unclaim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pushing, id)
	delete(s.failures, id)
	owner := ownerOf(id)
	if s.owners[owner]--; s.owners[owner] == 0 {
		delete(s.owners, owner)
	}
}

// delivery is a push configuration whose events this node delivers, under a lease.
type delivery struct {
	s    *Server
	id   string // of the item
	task string
	by   engine.Caller

	mu   sync.Mutex
	push push // as far as it has come; guarded by mu
}

// push takes a configuration for this node, and tells all that there is to tell.
func (s *Server) push(ctx context.Context, id string) {
	t := &delivery{s: s, id: id, task: id[:strings.IndexByte(id, '.')]}
	held := false
	err := t.keep(ctx, "a2a.push.begin", func(p *push, item *guard.Item) bool {
		if p.Gone || !item.Open {
			return false
		}
		held = true
		p.Node, item.Due = s.cfg.Node, s.cfg.Now().Add(pushLease)
		t.push = *p
		return true
	})
	if err != nil || !held {
		if err != nil && !errors.Is(err, ledger.ErrLost) && ctx.Err() == nil {
			s.cfg.Logger.Error("a push notification cannot be made", "task", t.task, "error", err)
		}
		return
	}
	t.by = engine.Caller{Principal: s.self(), User: t.push.User}
	telling, cancel := context.WithCancel(ctx)
	defer cancel()
	var renewing sync.WaitGroup
	renewing.Go(func() { t.renew(telling, cancel) })
	p := t.push
	f := &follower{s: s, by: t.by, id: t.task, turns: p.Turn, silent: p.Event, state: p.State, quiet: true}
	err = f.follow(telling, func(e *event) error {
		if err := t.call(telling, e); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.push.Turn, t.push.Event, t.push.State = f.turns, f.n, f.state
		return nil
	}, func(state State) bool { return state.Terminal() || state == InputRequired })
	cancel()
	renewing.Wait()
	t.end(ctx, err)
}

// end notes how far a configuration has come. One that has told all, or that
// nobody takes, is told no more until there is another message.
func (t *delivery) end(ctx context.Context, why error) {
	stopping := ctx.Err() != nil
	if why != nil && !stopping {
		t.s.cfg.Logger.Warn("a push notification is given up", "task", t.task, "error", deliver.Reason(why))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := t.keep(ctx, "a2a.push.end", func(p *push, item *guard.Item) bool {
		if p.Gone || p.Node != t.s.cfg.Node {
			return false
		}
		item.Open, item.Due = stopping, time.Time{}
		if stopping {
			item.Due = t.s.cfg.Now() // whoever comes next goes on
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		p.Turn, p.Event, p.State, p.Node = t.push.Turn, t.push.Event, t.push.State, ""
		p.Failures, p.Tried, p.Error = t.push.Failures, t.push.Tried, t.push.Error
		return true
	})
	if err != nil {
		t.s.cfg.Logger.Error("how far a push notification has come cannot be kept", "task", t.task, "error", err)
	}
}

// renew keeps other nodes from telling the same, and stops when the configuration
// was deleted or another node has it.
func (t *delivery) renew(ctx context.Context, stop func()) {
	ticker := time.NewTicker(pushLease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := t.keep(ctx, "a2a.push.renew", func(p *push, item *guard.Item) bool {
			if p.Gone || p.Node != t.s.cfg.Node {
				stop()
				return false
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			p.Turn, p.Event, p.State = t.push.Turn, t.push.Event, t.push.State
			item.Due = t.s.cfg.Now().Add(pushLease)
			return true
		})
		if err != nil && ctx.Err() == nil {
			t.s.cfg.Logger.Error("a push notification may be made twice", "task", t.task, "error", err)
		}
	}
}

func (t *delivery) keep(ctx context.Context, what string, change func(p *push, item *guard.Item) bool) error {
	return t.s.keepPush(ctx, t.id, what, engine.Caller{Principal: t.s.self()}, map[string]string{"a2a_task": t.task}, change)
}

// call tells one event, and tries again when it is not taken.
func (t *delivery) call(ctx context.Context, e *event) error {
	if gone, err := t.gone(ctx); err != nil || gone {
		if err == nil {
			err = errDone
		}
		return err
	}
	body := v1.event(nil, e)
	if t.push.Version != "1.0" {
		r, _, err := t.s.find(ctx, t.by, t.task)
		if err != nil {
			return err
		}
		p, _, err := t.s.picture(ctx, t.by, r, nil, true)
		if err != nil {
			return err
		}
		body = v03.task(nil, p)
	}
	for failures := 1; ; failures++ {
		err := t.post(ctx, body)
		if err == nil {
			t.failed(0, 0, nil)
			return nil
		}
		wait, retry := deliver.Retry(failures, err)
		if ctx.Err() == nil {
			t.failed(failures, wait, err)
		}
		if !retry {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// gone reports whether the configuration was deleted.
func (t *delivery) gone(ctx context.Context) (bool, error) {
	p, _, err := t.s.pushes.Get(ctx, t.id)
	return err == nil && (p == nil || p.Gone), err
}

func (t *delivery) post(ctx context.Context, body []byte) error {
	config := &t.push.Config
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	if t.push.Version == "1.0" {
		header.Set("Content-Type", "application/a2a+json")
		header.Set("A2A-Version", "1.0")
	}
	if config.Token != "" {
		header.Set("X-A2A-Notification-Token", config.Token)
	}
	if config.Credentials != "" {
		header.Set("Authorization", config.Scheme+" "+config.Credentials)
	}
	return deliver.Post(ctx, t.s.cfg.Callback, config.URL, header, body)
}
