// Package notice tells people that an act waits for them, or that an agent does what it
// does not usually do: on their desktop, by a webhook, by e-mail. What is told says who asks
// and which rule holds it; of what would happen only where that is set, and masked.
//
// That a notice is due becomes durable with the decision that holds the act. It is told
// under a lease, tried again with backoff, and given up after a while, or once the act
// waits no more. Where more wait than anybody would read of, they are told of together.
package notice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// Notice is what is told of one act that waits, or of what is unusual: then Unusual says
// what, and nobody is waited for.
type Notice struct {
	Approval string    `json:"approval,omitzero"`
	Decision string    `json:"decision"`
	Agent    string    `json:"agent,omitzero"`
	Tool     string    `json:"tool,omitzero"`
	Rules    []string  `json:"rules,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Unusual  string    `json:"unusual,omitzero"`
	// What says what would happen; empty where contents are not told.
	What string `json:"what,omitzero"`
	// URL is where people answer; empty where none is set.
	URL string `json:"url,omitzero"`
	// More is how many further acts wait; then the rest is empty.
	More int `json:"more,omitzero"`
}

// Target is somewhere that notices are told. Its name tells it from others in records.
type Target struct {
	Name string
	Send func(ctx context.Context, n *Notice) error
}

// ErrNever is what errors of a target wrap when trying again would change nothing.
var ErrNever = errors.New("it cannot be told here")

// Config is what a Teller is made of. Guard and Targets are required.
type Config struct {
	Guard   *guard.Guard
	Targets []Target
	// Node names this run of the program to others of the database.
	Node     string
	Contents bool             // what would happen is told
	URL      string           // where people answer
	Now      func() time.Time // nil means time.Now
	Logger   *slog.Logger     // nil means slog.Default
}

// Teller tells notices. It is safe for concurrent use.
type Teller struct {
	cfg   Config
	items *guard.Items[due]
	woken deliver.Wake

	mu   sync.Mutex
	made map[string]bool      // notices that are about to become durable
	ours map[string]time.Time // notices that this node is to tell, and when
	acts minute               // what was told of acts that wait
	odd  minute               // and of what is unusual: neither crowds out the other
}

// minute is how much was told of one thing lately.
type minute struct {
	begun time.Time
	told  int
	more  int // that were not told one by one
}

// one reports whether one more is told by itself.
func (m *minute) one(now time.Time) bool {
	if m.more == 0 && now.Sub(m.begun) >= time.Minute || now.Before(m.begun) {
		m.begun, m.told = now, 0
	}
	if m.told < perMinute {
		m.told++
		return true
	}
	m.more++
	return false
}

// over ends the minute, if it is over, and returns how many are to be told of together.
func (m *minute) over(now time.Time) (more int) {
	if now.Sub(m.begun) < time.Minute {
		return 0
	}
	more = m.more
	*m = minute{begun: now}
	return more
}

// due is a notice that is to be told, and how far that has come.
type due struct {
	Notice Notice           `json:"notice"`
	Node   string           `json:"node"` // who tells it, until the item's time
	Left   map[string]state `json:"left"` // by target; none when it is over
}

type state struct {
	Failures int       `json:"failures,omitzero"`
	Next     time.Time `json:"next,omitzero"`
}

// Bounds of what is told.
const (
	lease     = time.Minute // longer than an attempt at all targets
	perMinute = 10          // notices one by one; what comes beyond is told of together
	atOnce    = 8
	kept      = time.Hour // that a notice which is over can be looked up
	lookEach  = 10        // seconds between looks for what other nodes left
)

// New returns a Teller.
func New(cfg Config) *Teller {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	t := &Teller{cfg: cfg, woken: deliver.NewWake(), ours: map[string]time.Time{}}
	t.items = guard.NewItems(cfg.Guard, guard.Kind[due]{
		Name: "notice",
		Parse: func(item *ledger.Item) (*due, error) {
			d := new(due)
			return d, json.Unmarshal(item.Data, d)
		},
		Fill: func(d *due, item *guard.Item) (err error) {
			if item.Open = len(d.Left) > 0; !item.Open {
				d.Notice.What, item.Due = "", cfg.Now().Add(kept)
			}
			item.Data, err = json.Marshal(d, json.Deterministic(true))
			return err
		},
	})
	return t
}

// Beside is what becomes durable with a decision that holds an act: that people are to be
// told. This node has the lease.
func (t *Teller) Beside(ctx context.Context, h *approval.Decision) (*guard.Item, error) {
	_, item, err := t.items.Get(ctx, h.ID)
	if err != nil {
		return nil, err
	}
	d := &due{Notice: t.noticeOf(h), Node: t.cfg.Node, Left: map[string]state{}}
	for _, target := range t.cfg.Targets {
		d.Left[target.Name] = state{}
	}
	item.Due = t.cfg.Now().Add(lease)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil || len(t.made) > 10_000 { // of some the commit failed
		t.made = map[string]bool{}
	}
	t.made[h.ID] = true
	return item, t.items.Fill(d, item)
}

// Held is told of each act that is held, once that is durable.
func (t *Teller) Held(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[id] {
		delete(t.made, id)
		t.ours[id] = t.cfg.Now()
		t.woken.Up()
	}
}

func (t *Teller) noticeOf(h *approval.Decision) Notice {
	n := Notice{
		Approval: h.ID, Decision: h.Decision, Agent: short(h.Agent), Tool: short(h.Resource), Expires: h.Expires.UTC().Truncate(time.Second),
		URL: t.cfg.URL,
	}
	for _, need := range h.Needs {
		if len(n.Rules) < 8 && !slices.Contains(n.Rules, need.Rule) {
			n.Rules = append(n.Rules, need.Rule)
		}
	}
	if t.cfg.Contents {
		n.What = visible.Line(words.Shorten(h.What, 400))
	}
	return n
}

// short is a name as a caller says it, for a notice.
func short(name string) string { return visible.Line(words.Shorten(name, 60)) }

// Run tells what is due until ctx ends.
func (t *Teller) Run(ctx context.Context) {
	t.woken.Loop(ctx, func(n int) {
		if n%lookEach == 0 {
			t.takeUp(ctx)
		}
		t.tellAll(ctx)
		t.sumUp(ctx)
	})
}

// Flush tries once what is to be told, before this process ends: for one that decides a
// single act, and leaves the rest to the next.
func (t *Teller) Flush(ctx context.Context) {
	t.takeUp(ctx)
	t.tellAll(ctx)
}

// takeUp takes what a node that is gone was to tell.
func (t *Teller) takeUp(ctx context.Context) {
	now := t.cfg.Now()
	for d, err := range t.items.All(ctx, ledger.ItemQuery{Open: true, DueBefore: now, Limit: 100}) {
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			continue // damaged: the log says so
		}
		id, taken := d.Notice.Approval, false
		_, err := t.items.Update(ctx, id, func(d *due, item *guard.Item) (*guard.Note, error) {
			if taken = item.Found && item.Open && item.Due.Before(now); !taken {
				return nil, nil
			}
			d.Node, item.Due = t.cfg.Node, now.Add(lease)
			return t.note("take", d, nil), nil
		})
		if taken && err == nil {
			t.mu.Lock()
			t.ours[id] = now
			t.mu.Unlock()
		}
	}
}

func (t *Teller) note(what string, d *due, details map[string]string) *guard.Note {
	all := map[string]string{"approval": d.Notice.Approval, "node": t.cfg.Node}
	for name, value := range details {
		all[name] = value
	}
	return guard.Admin("notice."+what, act.Principal{Name: "operator", Method: "local"}, all)
}

// tellAll tells what this node is to tell now.
func (t *Teller) tellAll(ctx context.Context) {
	now := t.cfg.Now()
	t.mu.Lock()
	var ids []string
	for id, at := range t.ours {
		if !at.After(now) {
			ids = append(ids, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(ids)
	var going sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, id := range ids {
		room <- struct{}{}
		going.Go(func() {
			defer func() { <-room }()
			again := t.tell(ctx, id)
			t.mu.Lock()
			defer t.mu.Unlock()
			if delete(t.ours, id); !again.IsZero() {
				t.ours[id] = again
			}
		})
	}
	going.Wait()
}

// tell tells one notice to the targets that are left, and returns when to go on; zero when
// it is over, or another's.
func (t *Teller) tell(ctx context.Context, id string) (again time.Time) {
	now := t.cfg.Now()
	d, item, err := t.items.Get(ctx, id)
	switch {
	case err != nil && ctx.Err() == nil:
		t.cfg.Logger.Error("a notice cannot be read", "approval", id, "error", err)
		return now.Add(lease)
	case err != nil, d == nil || !item.Open || d.Node != t.cfg.Node:
		return time.Time{}
	}
	said := map[string]string{}
	h, err := t.cfg.Guard.Approval(ctx, id)
	if err == nil {
		d.Notice.Decision = h.Decision // not known before it was durable
	}
	if err != nil || h.State != approval.Held {
		d.Left = nil // it waits no more
	} else if alone := t.count(&t.acts, now); !alone {
		d.Left, said["told"] = nil, "with others"
	}
	for _, target := range t.cfg.Targets {
		s, left := d.Left[target.Name]
		if !left || s.Next.After(now) {
			continue
		}
		err := target.Send(ctx, &d.Notice)
		if err == nil {
			delete(d.Left, target.Name)
			said[target.Name] = "told"
			continue
		}
		if ctx.Err() != nil { // whoever comes next goes on
			return time.Time{}
		}
		s.Failures++
		wait, retry := deliver.Retry(s.Failures, err)
		if s.Next = now.Add(wait); !retry || errors.Is(err, ErrNever) || s.Next.After(d.Notice.Expires) {
			delete(d.Left, target.Name)
			said[target.Name] = "given up"
			t.cfg.Logger.Warn("nobody could be told that an act waits", "approval", id, "by", target.Name, "error", err)
			continue
		}
		d.Left[target.Name] = s
	}
	for name := range d.Left { // of a configuration before this one
		if !slices.ContainsFunc(t.cfg.Targets, func(target Target) bool { return target.Name == name }) {
			delete(d.Left, name)
		}
	}
	for _, s := range d.Left {
		if again.IsZero() || s.Next.Before(again) {
			again = s.Next
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err = t.items.Update(ctx, id, func(v *due, item *guard.Item) (*guard.Note, error) {
		if !item.Found || !item.Open || v.Node != t.cfg.Node {
			again = time.Time{}
			return nil, nil
		}
		*v = *d
		item.Due = again.Add(lease)
		return t.note("tell", d, said), nil
	})
	if err != nil {
		t.cfg.Logger.Error("that people were told cannot be kept: they may be told twice", "approval", id, "error", err)
	}
	return again
}

// count reports whether one more notice is told by itself in this minute.
func (t *Teller) count(m *minute, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.one(now)
}

// sumUp tells of those together that were too many to be told of one by one.
func (t *Teller) sumUp(ctx context.Context) {
	now := t.cfg.Now()
	t.mu.Lock()
	acts, odd := t.acts.over(now), t.odd.over(now)
	t.mu.Unlock()
	for _, n := range [...]Notice{{More: acts, URL: t.cfg.URL}, {More: odd, Unusual: "there is more of it", URL: t.cfg.URL}} {
		if n.More == 0 {
			continue
		}
		for _, target := range t.cfg.Targets {
			if err := target.Send(ctx, &n); err != nil && ctx.Err() == nil {
				t.cfg.Logger.Warn("nobody could be told of what came too quickly", "by", target.Name, "error", err)
			}
		}
	}
}

// Bounds of how a target is told of what is unusual.
const (
	unusualTries = 4
	unusualTime  = 10 * time.Minute
)

// Unusual tells of a cause of unusual acts that has begun, and returns when that is done or
// ctx has ended. reeve habits lists it all the same where nobody could be told.
func (t *Teller) Unusual(ctx context.Context, agent, decision, what string) {
	if !t.count(&t.odd, t.cfg.Now()) {
		return // it is summed up
	}
	n := &Notice{Agent: short(agent), Decision: decision, Unusual: visible.Line(words.Shorten(what, 400)), URL: t.cfg.URL}
	ctx, cancel := context.WithTimeout(ctx, unusualTime)
	defer cancel()
	var going sync.WaitGroup
	for _, target := range t.cfg.Targets {
		going.Go(func() {
			for failures := 1; ; failures++ {
				err := target.Send(ctx, n)
				if err == nil {
					return
				}
				wait, retry := deliver.Retry(failures, err)
				if !retry || errors.Is(err, ErrNever) || failures == unusualTries {
					t.cfg.Logger.Warn("nobody could be told of what is unusual", "decision", decision, "by", target.Name, "error", err)
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		})
	}
	going.Wait()
}

// Title is a notice in a few words.
func (n *Notice) Title() string {
	if n.More > 0 && n.Unusual != "" {
		return words.Count(n.More, "further cause") + " of what agents do not usually do"
	}
	if n.More > 0 {
		return words.Count(n.More, "further act") + " of agents wait for a person"
	}
	who := n.Agent
	if who == "" {
		who = "An agent"
	}
	if n.Unusual != "" {
		return who + " does what it does not usually do"
	}
	return who + " asks for a person"
}

// Text is what a notice says below its title.
func (n *Notice) Text() string {
	var lines []string
	if n.More > 0 {
		shows := "reeve approvals list shows them."
		if n.Unusual != "" {
			shows = "reeve habits shows what."
		}
		lines = append(lines, "They came too quickly to be told of one by one.", shows)
	} else if n.Unusual != "" {
		lines = append(lines, n.Unusual, fmt.Sprintf("reeve why %s says more of it, and reeve habits lists all that is unusual.", n.Decision))
	} else {
		if n.What != "" {
			lines = append(lines, n.What)
		} else if n.Tool != "" {
			lines = append(lines, "Tool: "+n.Tool)
		}
		lines = append(lines, "Rule: "+strings.Join(n.Rules, ", "), "Until: "+n.Expires.Local().Format("2006-01-02 15:04 MST"))
		lines = append(lines, fmt.Sprintf("reeve approvals show %s shows exactly what would be done.", n.Approval))
	}
	if n.URL != "" {
		lines = append(lines, n.URL)
	}
	return strings.Join(lines, "\n")
}
