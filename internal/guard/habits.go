package guard

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/session"
)

// habitsKind is the kind of item that an agent's profile is. It is open while it is owed
// to be made anew.
const habitsKind = "habits"

// Bounds of the profiles in memory.
const (
	habitsBytes = 16 << 20
	habitsFresh = 10 * time.Second // for how long one is taken as it was read, where other nodes may write it
)

func newHabits(g *Guard) *Items[habits.Profile] {
	return NewItems(g, Kind[habits.Profile]{
		Name: habitsKind,
		Parse: func(item *ledger.Item) (*habits.Profile, error) {
			return habits.Parse(item.Data)
		},
		Fill: func(p *habits.Profile, item *Item) (err error) {
			item.Data, err = p.Data()
			return err
		},
	})
}

// HabitsID names the profile of an agent: of the credential that it has, and the name
// that it bears.
func HabitsID(principal, agent string) string { return ItemID(10, habitsKind, principal, agent) }

// profiles are the habits in use. What is held is never changed, only replaced.
type profiles struct {
	secret []byte

	mu    sync.Mutex
	held  map[string]*known
	order *list.List // of *known, least recently used first
	bytes int
}

// known is one agent's habits, as they were read.
type known struct {
	id      string
	place   *list.Element
	key     provenance.Key
	profile *habits.Profile // nil for none
	version act.Position
	found   bool
	read    time.Time
	bytes   int
	speaks  *habits.Speaks

	hour int64 // hours since 1970, and what was decided here in it
	did  habits.Count
}

func newProfiles(log *ledger.Log) (*profiles, error) {
	secret, err := log.Key(valuesUse)
	if err != nil {
		return nil, fmt.Errorf("derive the key of agents' habits: %w", err)
	}
	return &profiles{secret: secret, held: map[string]*known{}, order: list.New()}, nil
}

// habitsOf is what is known of what an act's agent usually does; nil where the policy does
// not ask. What cannot be read is not known, so that nothing is usual.
func (g *Guard) habitsOf(ctx context.Context, a *act.Action, set *policy.Set) *habits.View {
	if !set.Habits() || !a.IsCall() {
		return nil
	}
	k, err := g.profile(ctx, a.Principal.Name, a.Agent.ID)
	if err != nil && ctx.Err() == nil {
		g.cfg.Logger.Error("what an agent usually does could not be read: nothing is usual", "agent", a.Agent.ID, "error", err)
	}
	v := &habits.View{ID: k.id, Key: k.key, Settings: set.HabitSettings(), Profile: k.profile, Hour: k.did, Speaks: k.speaks}
	if a.User.ID != "" {
		v.User = UserOfHabits(a.User.ID, a.User.Organization)
	}
	if k.hour != a.At.Unix()/3600 {
		v.Hour = habits.Count{}
	}
	return v
}

// UserOfHabits is a user as habits tell users apart.
func UserOfHabits(id, organization string) string { return id + "\x00" + organization }

// profile is a copy of what is known of an agent.
func (g *Guard) profile(ctx context.Context, principal, agent string) (known, error) {
	s := g.habits
	id := HabitsID(principal, agent)
	s.mu.Lock()
	k := s.held[id]
	now := g.cfg.Now()
	if k != nil && now.Sub(k.read) < habitsFresh && !now.Before(k.read) {
		s.order.MoveToBack(k.place)
		defer s.mu.Unlock()
		return *k, nil
	}
	s.mu.Unlock()
	fresh := known{id: id, key: habits.NewKey(s.secret, principal, agent), read: now}
	at, found, err := g.cfg.Store.KeyHead(ctx, ledger.ItemKey(habitsKind, id))
	switch {
	case err != nil:
		return fresh, err
	case k != nil && k.found == found && (!found || k.version == at):
		fresh.profile, fresh.version, fresh.found, fresh.bytes, fresh.speaks = k.profile, k.version, k.found, k.bytes, k.speaks
	case found:
		p, item, err := g.profileItems.Get(ctx, id)
		if err != nil {
			return fresh, err
		}
		fresh.profile, fresh.version, fresh.found = p, item.Version, true
		fresh.bytes = 512 + len(item.Data)*3/2
		if p != nil {
			fresh.speaks = p.Speaks(g.policy.Load().HabitSettings())
		}
	}
	s.keep(&fresh)
	return fresh, nil
}

// keep holds what was read of an agent, and lets go of what was not used for longest.
func (s *profiles) keep(fresh *known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh.bytes = max(fresh.bytes, 512)
	if old := s.held[fresh.id]; old != nil {
		fresh.hour, fresh.did = old.hour, old.did
		s.drop(old)
	}
	one := *fresh
	one.place = s.order.PushBack(&one)
	s.held[one.id] = &one
	s.bytes += one.bytes
	for s.bytes > habitsBytes && s.order.Len() > 1 {
		s.drop(s.order.Front().Value.(*known))
	}
}

func (s *profiles) drop(k *known) {
	s.order.Remove(k.place)
	delete(s.held, k.id)
	s.bytes -= k.bytes
}

// forget has an agent's profile read again.
func (s *profiles) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.held[id]; k != nil {
		k.read = time.Time{}
	}
}

// count adds a decision to what its agent did in this hour.
func (s *profiles) count(n *habits.Note) {
	if n == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.held[n.Agent]
	if k == nil {
		return
	}
	if h := n.At / time.Hour.Milliseconds(); k.hour != h {
		k.hour, k.did = h, habits.Count{}
	}
	k.did.Add(n)
}

// note is what a decision about a call leaves for what is learned of its agent; nil where
// nothing is.
func (g *Guard) note(d *act.Decision, in *policy.Input, set *policy.Set, state *session.State) *habits.Note {
	a, v := in.Action, in.Session.Habits
	if v == nil {
		return nil
	}
	n := &habits.Note{
		Agent: v.ID, At: a.At.UnixMilli(),
		Ran: d.Effect >= act.Modify, Denied: d.Effect == act.Deny,
	}
	// A grant lets pass for as long as people said, and no longer: what it lets pass is not
	// agreed to again.
	agreed, granted := false, false
	for i, r := range d.Reasons {
		switch {
		case i == 0 && r.Rule == "approval" && r.Effect == act.Allow:
			agreed, granted = n.Ran && r.Code != codeGranted, n.Ran && r.Code == codeGranted
		case r.Code == "approval_denied", strings.HasPrefix(r.Code, "agent.") && r.Rule == "agent":
			n.Objected = true
		case strings.HasPrefix(r.Code, "habits."):
			if n.Said = max(n.Said, habits.SaidNoted); !r.Observe {
				n.Said = habits.SaidAsked
			}
		case watches(&r):
			n.Watched = true
		}
	}
	n.Watched = n.Watched && !agreed && !granted
	set.Note(in, n, agreed)
	if d.Effect == act.Modify { // what ran is not what was asked
		for i := range n.Targets {
			t := &n.Targets[i]
			if t.Pointer == "" || slices.ContainsFunc(d.Edits, func(e act.Edit) bool { return strings.HasPrefix(t.Pointer, e.Pointer) }) {
				t.Teaches = habits.Nothing
			}
		}
	}
	for i := range n.Targets { // names of arguments are the caller's text, too
		if t := &n.Targets[i]; g.scans(t.Of) || g.scans(t.Pointer) {
			t.Of, t.Pointer = "masked", ""
		}
	}
	if math.IsInf(n.Outside, 0) || math.IsNaN(n.Outside) {
		n.Outside = 0
	}
	if state == nil { // all that is outside of sessions on one day is one
		n.Session = v.Session(a.At.UTC().Format(time.DateOnly))
		return n
	}
	n.Session = v.Session("session " + a.Session)
	if state.Calls == 0 {
		n.Print = habits.Print(state.Print(a))
	}
	return n
}

// watches reports whether a reason would have stopped the act, and a rule or the policy
// only observes. Some are of the session, and say nothing against the act.
func watches(r *act.Reason) bool {
	return r.Observe && r.Exception == "" && r.Effect < act.Modify && !slices.Contains(asides, r.Code)
}

// asides are checks that note what is worth knowing of a session.
var asides = []string{
	"time.skew", "time.backwards", "session.rate", "session.unknown", "memory.unknown", "citation.unknown", "taint.consequential", "autonomous",
	"order.unexpected",
}

// appendHabits adds a note to the links beside a record. It holds no text of a caller's but
// the names of tools, so it is not masked.
func appendHabits(links []byte, n *habits.Note) []byte {
	if n == nil || len(links) == 0 { // nothing to add, or the links hold what cannot be masked
		return links
	}
	links = append(links[:len(links)-1:len(links)-1], `,"habits":`...)
	return append(n.Append(links), '}')
}

// ErrNoHabits: nothing is known of an agent's habits.
var ErrNoHabits = errors.New("nothing was learned of this agent")

// Habits is what is known of an agent's habits, as people see it. user, where it is not
// empty, is whose own are listed, too. contents says that values may be shown as they are
// kept. ErrNoHabits when nothing is known.
func (g *Guard) Habits(ctx context.Context, principal, agent, user string, contents bool) (*habits.Report, error) {
	p, item, err := g.profileItems.Get(ctx, HabitsID(principal, agent))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, ErrNoHabits
	}
	r := p.Report(g.policy.Load().HabitSettings(), g.cfg.Now())
	r.Owed = item.Open
	key := habits.NewKey(g.habits.secret, principal, agent)
	openings := map[act.Position]*shown{}
	kept := r.Values[:0]
	for _, v := range r.Values {
		if v.Dimension == habits.OfHours || v.Dimension == habits.OfBegins {
			continue // which are listed as dimensions
		}
		if (contents || v.Mine) && len(openings) < maxShownHabits {
			if openings[v.At] == nil {
				openings[v.At] = g.shownAt(ctx, v.At)
			}
			o := openings[v.At]
			if v.Mine && (user == "" || !o.isOf(key, user, v.Hash)) {
				continue
			}
			if contents {
				v.Text = o.text(key, v.Hash)
			}
		} else if v.Mine {
			continue
		}
		if v.At != (act.Position{}) {
			v.Decision = v.At.String()
		}
		kept = append(kept, v)
	}
	r.Values = kept
	return r, nil
}

// maxShownHabits is of how many decisions what lies beside them is read, to show values.
const maxShownHabits = 300

// shown is what lies beside a decision.
type shown struct {
	note    *habits.Note
	request *rawjson.Doc // nil where it is not kept
	tool    string
}

func (g *Guard) shownAt(ctx context.Context, at act.Position) *shown {
	o, err := ledger.ReadOpening(ctx, g.cfg.Store, at)
	if err != nil {
		return &shown{}
	}
	s := &shown{}
	s.note, _ = noteIn(o.Links)
	if l, err := o.Linked(); err == nil {
		s.tool = l.Resource
	}
	if doc, err := rawjson.Parse(o.Request); err == nil {
		s.request = doc
	}
	return s
}

func (s *shown) isOf(key provenance.Key, user string, h habits.Hash) bool {
	return s.note != nil && slices.ContainsFunc(s.note.Targets, func(t habits.Target) bool { return t.OfUser(key, user, h) })
}

// text is what a value says, as it is kept; "" where it is not.
func (s *shown) text(key provenance.Key, h habits.Hash) string {
	if s.note == nil {
		return ""
	}
	if s.note.Tool == h {
		return s.tool
	}
	for _, t := range s.note.Targets {
		if (t.Value == h || t.Mine == h) && t.Pointer != "" && s.request != nil {
			return (&rawjson.Cursor{Doc: s.request}).At(t.Pointer).Text()
		}
	}
	return ""
}

// HabitsOf lists whose habits are known by the name that the agents bear, or all with "":
// at most as many as most.
func (g *Guard) HabitsOf(ctx context.Context, agent string, most int) (list []*habits.Profile, err error) {
	for p, err := range g.profileItems.All(ctx, ledger.ItemQuery{Kind: habitsKind}) {
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			continue
		}
		if err != nil {
			return nil, err
		}
		if agent == "" || p.Agent == agent {
			list = append(list, p)
		}
		if len(list) == most {
			break
		}
	}
	return list, nil
}

// changeHabits writes what a person says of an agent's habits. anew says that the profile
// is to be made anew for it.
func (g *Guard) changeHabits(ctx context.Context, id string, by act.Principal, what string, details map[string]string, anew bool, change func(p *habits.Profile) error) error {
	_, err := g.profileItems.Update(ctx, id, func(p *habits.Profile, item *Item) (*Note, error) {
		if !item.Found {
			return nil, ErrNoHabits
		}
		if err := change(p); err != nil {
			return nil, err
		}
		item.Open = item.Open || anew
		details := maps.Clone(details)
		details["agent"], details["principal"] = p.Agent, p.Principal
		return Admin("habits."+what, by, details), nil
	})
	g.habits.forget(id)
	return err
}

// ForgetHabits has one value count as never seen, or all that was learned of an agent with
// "". user says whose own. It returns in how many ways the value was known.
func (g *Guard) ForgetHabits(ctx context.Context, principal, agent, user, text string, by act.Principal) (n int, err error) {
	id := HabitsID(principal, agent)
	key := habits.NewKey(g.habits.secret, principal, agent)
	err = g.changeHabits(ctx, id, by, "forget", map[string]string{"all": fmt.Sprint(text == "")}, true, func(p *habits.Profile) error {
		now := g.cfg.Now().UTC()
		words := []habits.Word{{}}
		if text != "" {
			if words = p.Words(key, user, text); len(words) == 0 {
				return ErrNoHabits
			}
		}
		n = len(words)
		for _, w := range words {
			w.At, w.By = now, by.Name
			if err := p.Forget(w); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// FreezeHabits has nothing learned of an agent until it is called with false.
func (g *Guard) FreezeHabits(ctx context.Context, principal, agent string, freeze bool, by act.Principal) error {
	what, change := "thaw", (*habits.Profile).Thaw
	if freeze {
		what, change = "freeze", (*habits.Profile).Freeze
	}
	return g.changeHabits(ctx, HabitsID(principal, agent), by, what, map[string]string{}, false, func(p *habits.Profile) error {
		return change(p, g.cfg.Now().UTC())
	})
}

// RebuildHabits has an agent's profile made anew with the next Learn.
func (g *Guard) RebuildHabits(ctx context.Context, principal, agent string, by act.Principal) error {
	id := HabitsID(principal, agent)
	err := g.changeHabits(ctx, id, by, "rebuild", map[string]string{}, true, func(*habits.Profile) error { return nil })
	if _, damaged := errors.AsType[*DamagedError](err); !damaged {
		return err
	}
	item, err := g.Read(ctx, habitsKind, id) // what it says is read by nobody
	if err != nil {
		return err
	}
	item.Open = true
	return g.Write(ctx, Admin("habits.rebuild", by, map[string]string{"agent": agent, "principal": principal}), item)
}

// Incident has the session of a decision teach nothing, and what it taught be forgotten.
// It returns whose session that was.
func (g *Guard) Incident(ctx context.Context, decision act.Position, by act.Principal) (principal, agent string, err error) {
	n, err := g.noteAt(ctx, decision)
	if err != nil {
		return "", "", err
	}
	mark := func(p *habits.Profile) error {
		return p.Exclude(habits.Word{Hash: n.Session, At: g.cfg.Now().UTC(), By: by.Name})
	}
	_, err = g.profileItems.Update(ctx, n.Agent, func(p *habits.Profile, item *Item) (*Note, error) {
		if !item.Found { // of an agent from whom nothing was learned yet
			o, err := ledger.ReadOpening(ctx, g.cfg.Store, decision)
			if err != nil {
				return nil, err
			}
			who, err := o.Asker()
			if err != nil {
				return nil, err
			}
			p.Principal, p.Agent = who.Name, who.Claims.Agent
		}
		item.Open, principal, agent = true, p.Principal, p.Agent
		return Admin("habits.incident", by, map[string]string{"decision": decision.String(), "agent": p.Agent, "principal": p.Principal}), mark(p)
	})
	g.habits.forget(n.Agent)
	return principal, agent, err
}

// noteAt is the note beside a decision. ErrNoHabits when it has none.
func (g *Guard) noteAt(ctx context.Context, at act.Position) (*habits.Note, error) {
	o, err := ledger.ReadOpening(ctx, g.cfg.Store, at)
	if err != nil {
		return nil, err
	}
	n, err := noteIn(o.Links)
	if err == nil && n == nil {
		err = ErrNoHabits
	}
	return n, err
}

// refused is what is learned where a person refuses an act: that nothing is to be learned
// of its session, also where its agent does not ask again. nil where nothing is noted of it.
func (g *Guard) refused(ctx context.Context, h *approval.Decision) *habits.Note {
	at, err := act.ParsePosition(h.Decision)
	if err != nil {
		return nil
	}
	n, err := g.noteAt(ctx, at)
	if err != nil {
		if !errors.Is(err, ErrNoHabits) {
			g.cfg.Logger.Warn("a refusal is not known to what is learned of its agent", "decision", h.Decision, "error", err)
		}
		return nil
	}
	return &habits.Note{Agent: n.Agent, Session: n.Session, At: g.cfg.Now().UnixMilli(), Objected: true}
}

// teach makes usual what a held act is done upon, at the word of who agreed to it: an item
// to be written with the answer.
func (g *Guard) teach(ctx context.Context, decision string, by act.Principal) (*Item, error) {
	at, err := act.ParsePosition(decision)
	if err != nil {
		return nil, err
	}
	n, err := g.noteAt(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("what this act is done upon is not known any more, so it cannot be made usual: %w", err)
	}
	if len(n.Targets) == 0 {
		return nil, fmt.Errorf("this act has nothing that could be usual: %w", ErrNoHabits)
	}
	p, item, err := g.profileItems.Get(ctx, n.Agent)
	if err != nil {
		return nil, err
	}
	if p == nil {
		o, err := ledger.ReadOpening(ctx, g.cfg.Store, at)
		if err != nil {
			return nil, err
		}
		who, err := o.Asker()
		if err != nil {
			return nil, err
		}
		p = &habits.Profile{Principal: who.Name, Agent: who.Claims.Agent}
	}
	for _, t := range n.Targets {
		for _, w := range t.Words() {
			w.At, w.By, w.Seen = g.cfg.Now().UTC(), by.Name, at
			if err := p.Teach(w); err != nil {
				return nil, err
			}
		}
	}
	g.habits.forget(n.Agent)
	return item, g.profileItems.Fill(p, item)
}
