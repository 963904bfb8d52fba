package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Habits are learned from the ledger, behind the decisions: notes beside the records are
// read in order, and a session that is over is taken into its agent's profile. What was
// learned becomes durable together with how far was read, so a crash between loses nothing
// and counts nothing twice; and of several nodes that learn at once one wins.

// learnedKind is the kind of the one item that says how far was learned.
const (
	learnedKind = "habits.learned"
	learnedID   = "all"
)

// learned is how far the ledger was learned from.
type learned struct {
	// Until: sessions that were over by then are in the profiles.
	Until time.Time `json:"until"`
	// Logs are the first records, by log, that are still needed.
	Logs map[string]uint64 `json:"logs,omitzero"`
	// Owed says that all profiles are to be made anew, and Anew when that was last done.
	Owed bool      `json:"owed,omitzero"`
	Anew time.Time `json:"anew,omitzero"`
}

func newLearned(g *Guard) *Items[learned] {
	return NewItems(g, Kind[learned]{
		Name: learnedKind,
		Parse: func(item *ledger.Item) (*learned, error) {
			l := new(learned)
			return l, json.Unmarshal(item.Data, l)
		},
		Fill: func(l *learned, item *Item) (err error) {
			item.Data, err = json.Marshal(l, json.Deterministic(true))
			return err
		},
	})
}

// scholar is what this node has read and not yet learned. It is guarded by mu.
type scholar struct {
	mu      sync.Mutex
	learner *habits.Learner // nil where it is to begin anew
	next    map[uint32]uint64
	version act.Position // of the item, when it was last read or written
	begun   bool
}

// How much is read, settled and written at once.
const (
	notesAtOnce    = 1024
	clockAhead     = time.Hour
	learnedBytes   = 4 << 20
	profilesAtOnce = 2000 // profiles made anew in one reading of the ledger
)

// anewEvery is how often profiles are made anew for what retention has removed.
const anewEvery = 24 * time.Hour

// noted is a note with its place.
type noted struct {
	note *habits.Note
	at   act.Position
}

// notes reads one log's notes in order.
type notes struct {
	guard *Guard
	log   uint32
	next  uint64 // the first record that was not read
	end   uint64
	until int64 // later ones are of a clock that was ahead: nothing waits for it
	queue []noted
}

// peek is the next note; nil at the end.
func (n *notes) peek(ctx context.Context) (*noted, error) {
	for len(n.queue) == 0 && n.next < n.end {
		to := min(n.end, n.next+notesAtOnce)
		err := n.guard.cfg.Store.Facts(ctx, n.log, n.next, to, func(index uint64, facts []byte) error {
			if !bytes.Contains(facts, []byte(`,"habits":{`)) {
				return nil
			}
			at := act.Position{Log: n.log, Index: index}
			note, err := noteOf(facts)
			switch {
			case err != nil: // it teaches nothing
				n.guard.cfg.Logger.Warn("a note of habits cannot be read, and teaches nothing", "decision", at.String(), "error", err)
			case note == nil:
			case note.At > n.until:
				n.guard.cfg.Logger.Warn("a decision was made when the clock was ahead, and teaches nothing", "decision", at.String())
			default:
				n.queue = append(n.queue, noted{note, at})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the notes of log %d: %w", n.log, err)
		}
		n.next = to
	}
	if len(n.queue) == 0 {
		return nil, nil
	}
	return &n.queue[0], nil
}

// noteOf is the note in stored facts; nil for none.
func noteOf(facts []byte) (*habits.Note, error) {
	links, err := ledger.LinksOf(facts)
	if err != nil || links == nil {
		return nil, err
	}
	return noteIn(links)
}

func noteIn(links []byte) (*habits.Note, error) {
	var l struct {
		Habits jsontext.Value `json:"habits"`
	}
	if err := json.Unmarshal(links, &l); err != nil || l.Habits == nil {
		return nil, err
	}
	return habits.ParseNote(l.Habits)
}

// Learn takes in what became known until a time: notes, sessions that are over, and what
// people said. It returns how many sessions it learned from.
func (g *Guard) Learn(ctx context.Context, until time.Time) (n int, err error) {
	s := &g.scholar
	s.mu.Lock()
	defer s.mu.Unlock()
	l, item, err := g.learned.Get(ctx, learnedID)
	if err != nil {
		return 0, err
	}
	if l == nil {
		if !g.policy.Load().Habits() {
			return 0, nil
		}
		l = new(learned)
	}
	n, err = g.learn(ctx, l, item, until)
	if err != nil {
		s.learner = nil // what was read is read again
		if errors.Is(err, ledger.ErrLost) {
			return n, nil // another node learned it
		}
	}
	return n, err
}

func (g *Guard) learn(ctx context.Context, l *learned, item *Item, until time.Time) (int, error) {
	s := &g.scholar
	if l.Owed {
		if err := g.allAnew(ctx, l, item); err != nil {
			return 0, err
		}
		s.learner = nil
		var err error
		if l, item, err = g.learned.Get(ctx, learnedID); err != nil || l == nil {
			return 0, err
		}
	}
	if err := g.someAnew(ctx, l); err != nil {
		return 0, err
	}
	if s.learner == nil || item.Found && s.version != item.Version || !item.Found && s.begun {
		s.learner, s.next = new(habits.Learner), map[uint32]uint64{}
		for log, index := range l.Logs {
			if number, err := strconv.ParseUint(log, 10, 32); err == nil {
				s.next[uint32(number)] = index
			}
		}
		s.version, s.begun = item.Version, item.Found
	}
	logs, err := g.logs(ctx, s.next, until)
	if err != nil {
		return 0, err
	}
	changed := map[string]*changedProfile{}
	total := 0
	var unusual []noted
	tell := func() error {
		err := g.noteUnusual(ctx, unusual)
		unusual = unusual[:0]
		return err
	}
	err = g.settle(ctx, s.learner, logs, until, func(n noted) error {
		if n.note.Said == habits.SaidNothing {
			return nil
		}
		if unusual = append(unusual, n); len(unusual) < notesAtOnce {
			return nil
		}
		return tell()
	}, func(list []*habits.Session) error {
		for _, one := range list {
			if one.Over(l.Until) { // learned before the node was last started
				continue
			}
			c, err := g.changing(ctx, changed, one)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			c.profile.Bar(one, g.Barred(c.profile.Agent) != "")
			c.profile.Learn(one)
			total++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := tell(); err != nil {
		return 0, err
	}
	for _, log := range logs {
		s.next[log.log] = log.next
		if len(log.queue) > 0 {
			s.next[log.log] = log.queue[0].at.Index
		}
	}
	if total == 0 {
		return 0, nil
	}
	after := *l
	after.Until, after.Logs = until.UTC(), map[string]uint64{}
	needed := s.learner.From()
	for log, next := range s.next {
		if from, ok := needed[log]; ok {
			next = min(next, from)
		}
		after.Logs[strconv.FormatUint(uint64(log), 10)] = next
	}
	if err := g.writeLearned(ctx, changed, &after, item, total); err != nil {
		return 0, err
	}
	at, _, err := g.cfg.Store.KeyHead(ctx, ledger.ItemKey(learnedKind, learnedID))
	s.version, s.begun = at, true
	return total, err
}

// logs are the notes of all logs from where each was read before, to learn until a time.
func (g *Guard) logs(ctx context.Context, from map[uint32]uint64, until time.Time) ([]*notes, error) {
	numbers, err := g.cfg.Store.Logs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	var list []*notes
	for _, log := range numbers {
		head, err := ledger.ReadHead(ctx, g.cfg.Store, log)
		if err != nil {
			return nil, err
		}
		list = append(list, &notes{guard: g, log: log, next: max(from[log], head.Pruned), end: head.Size, until: until.Add(clockAhead).UnixMilli()})
	}
	return list, nil
}

// settle reads notes until a time, of all logs side by side in the order of their times,
// tells each, and gives on the sessions that are over, in the order in which they ended.
func (g *Guard) settle(ctx context.Context, l *habits.Learner, logs []*notes, until time.Time, each func(noted) error, learn func([]*habits.Session) error) error {
	for {
		var next *notes
		for _, log := range logs {
			n, err := log.peek(ctx)
			if err != nil {
				return err
			}
			if n != nil && (next == nil || n.note.At < next.queue[0].note.At) {
				next = log
			}
		}
		if next == nil || next.queue[0].note.At > until.UnixMilli() {
			return learn(l.Settle(until))
		}
		if err := each(next.queue[0]); err != nil {
			return err
		}
		l.Observe(next.queue[0].note, next.queue[0].at)
		next.queue = next.queue[1:]
		if ended := l.Ended(); len(ended) > 0 {
			if err := learn(ended); err != nil {
				return err
			}
		}
	}
}

// changedProfile is a profile that is about to be written.
type changedProfile struct {
	profile *habits.Profile
	item    *Item
}

// changing is the profile of a session's agent, to be changed; nil where it is not known
// whose it is, or where it is damaged: then nothing is usual, and the others learn on.
func (g *Guard) changing(ctx context.Context, changed map[string]*changedProfile, s *habits.Session) (*changedProfile, error) {
	if c := changed[s.Agent]; c != nil {
		return c, nil
	}
	p, item, err := g.profileItems.Get(ctx, s.Agent)
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if p == nil {
		if p, err = g.newProfile(ctx, s); p == nil || err != nil {
			return nil, err
		}
	}
	c := &changedProfile{p, item}
	changed[s.Agent] = c
	return c, nil
}

// newProfile is the empty profile of a session's agent, named as beside the session's
// first record; nil where that is gone.
func (g *Guard) newProfile(ctx context.Context, s *habits.Session) (*habits.Profile, error) {
	o, err := ledger.ReadOpening(ctx, g.cfg.Store, s.Begins())
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	by, err := o.Asker()
	if err != nil {
		return nil, nil
	}
	return &habits.Profile{Principal: by.Name, Agent: by.Claims.Agent}, nil
}

// writeLearned writes profiles with how far was learned, which goes with the last of them.
func (g *Guard) writeLearned(ctx context.Context, changed map[string]*changedProfile, l *learned, item *Item, sessions int) error {
	ids := slices.Sorted(maps.Keys(changed))
	var items []*Item
	size := 0
	details := map[string]string{"agents": strconv.Itoa(len(ids)), "sessions": strconv.Itoa(sessions)}
	for _, id := range ids {
		c := changed[id]
		if err := g.profileItems.Fill(c.profile, c.item); err != nil {
			return err
		}
		items = append(items, c.item)
		size += len(c.item.Data)
	}
	if size > learnedBytes { // mostly one entry; else what is learned is written in parts, and read again if one fails
		return g.writeParts(ctx, items, l, item, details)
	}
	if err := g.learned.Fill(l, item); err != nil {
		return err
	}
	if err := g.Write(ctx, Admin("habits.learned", operator, details), append(items, item)...); err != nil {
		return err
	}
	for _, id := range ids {
		g.habits.forget(id)
	}
	return nil
}

// writeParts writes profiles that are too much for one entry. A failure between makes it
// unknown which of them have the sessions already, so all are owed to be made anew.
func (g *Guard) writeParts(ctx context.Context, items []*Item, l *learned, item *Item, details map[string]string) error {
	before := *l
	before.Owed = true
	if err := g.learned.Fill(&before, item); err != nil {
		return err
	}
	if err := g.Write(ctx, Admin("habits.learned", operator, details), item); err != nil {
		return err
	}
	for len(items) > 0 {
		n, size := 0, 0
		for n < len(items) && (n == 0 || size < learnedBytes) {
			size += len(items[n].Data)
			n++
		}
		if err := g.Write(ctx, Admin("habits.learned", operator, map[string]string{"agents": strconv.Itoa(n)}), items[:n]...); err != nil {
			return err
		}
		for _, i := range items[:n] {
			g.habits.forget(i.ID)
		}
		items = items[n:]
	}
	_, err := g.learned.Update(ctx, learnedID, func(now *learned, item *Item) (*Note, error) {
		now.Owed = l.Owed
		return Admin("habits.learned", operator, details), nil
	})
	return err
}

// HabitsAnew has all profiles made anew from what is left of the ledger, with the next
// Learn: what was removed is in none of them any more. daily is for what goes by its age,
// which can wait for a day.
func (g *Guard) HabitsAnew(ctx context.Context, by act.Principal, daily bool) error {
	item, err := g.Read(ctx, learnedKind, learnedID)
	if err != nil || !item.Found { // nothing was ever learned
		return err
	}
	_, err = g.learned.Update(ctx, learnedID, func(l *learned, _ *Item) (*Note, error) {
		if l.Owed || daily && g.cfg.Now().Sub(l.Anew) < anewEvery {
			return nil, nil
		}
		l.Owed = true
		return Admin("habits.rebuild", by, map[string]string{"of": "all"}), nil
	})
	return err
}

// allAnew makes all profiles anew, a part of them at a time.
func (g *Guard) allAnew(ctx context.Context, l *learned, item *Item) error {
	var ids []string
	for after := ""; ; {
		list, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: habitsKind, After: after})
		if err != nil {
			return err
		}
		for i := range list {
			if !Removed(&list[i]) {
				ids = append(ids, list[i].ID)
			}
		}
		if len(list) < ledger.DefaultItems {
			break
		}
		after = list[len(list)-1].ID
	}
	if len(ids) == 0 {
		if err := g.anew(ctx, nil, l.Until, true); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(ids, profilesAtOnce) {
		if err := g.anew(ctx, part, l.Until, len(ids) <= profilesAtOnce); err != nil {
			return err
		}
	}
	done := *l
	done.Owed, done.Anew = false, g.cfg.Now().UTC()
	if err := g.learned.Fill(&done, item); err != nil {
		return err
	}
	return g.Write(ctx, Admin("habits.learned", operator, map[string]string{"anew": strconv.Itoa(len(ids))}), item)
}

// someAnew makes those profiles anew that are owed it.
func (g *Guard) someAnew(ctx context.Context, l *learned) error {
	list, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: habitsKind, Open: true, Limit: profilesAtOnce})
	if err != nil || len(list) == 0 {
		return err
	}
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return g.anew(ctx, ids, l.Until, false)
}

// anew makes profiles from what the ledger has, of sessions that were over at a time, and
// from what people said. others says that so are those of agents that have none.
func (g *Guard) anew(ctx context.Context, ids []string, until time.Time, others bool) error {
	made := map[string]*changedProfile{}
	for _, id := range ids {
		item, err := g.Read(ctx, habitsKind, id)
		if err != nil {
			return err
		}
		p, err := habits.Parse(item.Data)
		if err != nil { // of what is damaged, what people said is lost
			p = nil
		}
		if p != nil {
			p = p.Anew()
		}
		made[id] = &changedProfile{p, item}
	}
	logs, err := g.logs(ctx, nil, until)
	if err != nil {
		return err
	}
	err = g.settle(ctx, new(habits.Learner), logs, until, func(noted) error { return nil }, func(list []*habits.Session) error {
		for _, one := range list {
			c := made[one.Agent]
			if c == nil && others {
				item, err := g.Read(ctx, habitsKind, one.Agent)
				if err != nil {
					return err
				}
				c = &changedProfile{nil, item}
				made[one.Agent] = c
			}
			if c == nil {
				continue
			}
			if c.profile == nil {
				if c.profile, err = g.newProfile(ctx, one); err != nil {
					return err
				}
				if c.profile == nil {
					continue
				}
			}
			c.profile.Learn(one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, c := range made {
		was := c.item.Data
		note := Admin("habits.rebuilt", operator, map[string]string{"profile": id})
		if c.profile == nil || c.profile.Empty() && c.profile.Said.Empty() {
			err = g.Remove(ctx, note, c.item)
		} else if err = g.profileItems.Fill(c.profile, c.item); err == nil && (c.item.Open || !bytes.Equal(was, c.item.Data)) {
			c.item.Open = false
			err = g.Write(ctx, note, c.item)
		}
		if err != nil && !errors.Is(err, ledger.ErrLost) { // whoever changed it meanwhile owes it anew
			return err
		}
		g.habits.forget(id)
	}
	return nil
}
