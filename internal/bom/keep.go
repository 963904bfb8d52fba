package bom

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// The kinds of items: the bills, and the one item that says how far the logs were read.
const (
	kind      = "bom"
	readKind  = "bom.read"
	readID    = "all"
	stretch   = 256      // records read at once
	atOnce    = 4096     // records that become one entry of the ledger
	heldMost  = 32 << 20 // bytes of bills that are changed at once
	writeMost = 4 << 20  // bytes of bills in one entry
	maxSaid   = 50       // changes that one record tells
)

// ErrNone: nothing was seen of such an agent.
var ErrNone = errors.New("no acts were recorded of such an agent with such a credential")

// place is how far the logs were read.
type place struct {
	Logs map[string]uint64 `json:"logs,omitzero"`
	// Round counts the readings of all that is there. Until it is over, which Anew says,
	// bills of the one before are still there, and those of this one have no new version.
	Round int  `json:"round,omitzero"`
	Anew  bool `json:"anew,omitzero"`
	// Owed says that a round is to begin, and Began when the last one did.
	Owed  bool      `json:"owed,omitzero"`
	Began time.Time `json:"began,omitzero"`
}

// Keeper keeps the bills of all agents of a node. Make it with New.
type Keeper struct {
	guard  *guard.Guard
	store  ledger.Reader
	logger *slog.Logger
	bills  *guard.Items[Bill]
	places *guard.Items[place]

	reading chan struct{} // holds one while what follows is in use: one reads at a time
	reader  reader
	next    map[uint32]uint64 // records before were read; some after the place in the store
	version act.Position      // of the place, when next was true
	follows map[uint32]*export.Follower

	known known
}

// New returns the bills of a node.
func New(g *guard.Guard, store ledger.Reader, logger *slog.Logger) *Keeper {
	return &Keeper{
		guard: g, store: store, logger: logger, reading: make(chan struct{}, 1), follows: map[uint32]*export.Follower{},
		bills: guard.NewItems(g, guard.Kind[Bill]{
			Name: kind,
			Parse: func(item *ledger.Item) (*Bill, error) {
				b, err := Parse(item.Data)
				if err == nil && billID(b.Principal, b.Agent) != item.ID {
					err = errors.New("another one stands in its place")
				}
				return b, err
			},
			Fill: func(b *Bill, item *guard.Item) (err error) {
				item.Data, err = b.data()
				return err
			},
		}),
		places: guard.NewItems(g, guard.Kind[place]{
			Name: readKind,
			Parse: func(item *ledger.Item) (*place, error) {
				p := new(place)
				return p, json.Unmarshal(item.Data, p)
			},
			Fill: func(p *place, item *guard.Item) (err error) {
				item.Data, err = json.Marshal(p, json.Deterministic(true))
				return err
			},
		}),
	}
}

// billID names a bill. Those of agents of one name begin alike.
func billID(principal, agent string) string {
	return agentID(agent) + guard.ItemID(8, kind, "principal", principal)
}

func agentID(agent string) string { return guard.ItemID(8, kind, "agent", agent) }

// node is the principal of what the node does by itself.
var node = act.Principal{Name: "node", Method: "local"}

// Read brings the bills up to date with the ledger. What is read becomes durable together
// with how far, so that nothing is left out by a crash; of several nodes that read at once
// one wins.
func (k *Keeper) Read(ctx context.Context) error {
	select { // who asks does not wait longer than ctx for who reads meanwhile
	case k.reading <- struct{}{}:
		defer func() { <-k.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		more, err := k.readSome(ctx)
		if err != nil {
			k.next = nil // what was read and not written is read again
			if errors.Is(err, ledger.ErrLost) {
				return nil // another node reads
			}
			return err
		}
		if !more {
			return nil
		}
	}
}

// readSome reads as much as becomes one entry.
func (k *Keeper) readSome(ctx context.Context) (more bool, err error) {
	p, item, err := k.places.Get(ctx, readID)
	if err != nil {
		return false, err
	}
	if p == nil {
		p = new(place)
	}
	if p.Owed {
		*p = place{Round: p.Round + 1, Anew: true, Began: k.guard.Now().UTC()}
		k.next = nil
	}
	if k.next == nil || k.version != item.Version {
		k.next, k.version = map[uint32]uint64{}, item.Version
		for log, next := range p.Logs {
			if n, err := strconv.ParseUint(log, 10, 32); err == nil {
				k.next[uint32(n)] = next
			}
		}
	}
	changed := map[string]*changedBill{}
	left := atOnce
	numbers, err := k.store.Logs(ctx)
	if err != nil {
		return false, fmt.Errorf("list the logs: %w", err)
	}
	full := func() bool { // what is held is written before more is read
		held := 0
		for _, c := range changed {
			held += len(c.was) + c.took
		}
		return held > heldMost
	}
	for _, log := range numbers {
		head, err := ledger.ReadHead(ctx, k.store, log)
		if err != nil {
			return false, err
		}
		next := max(k.next[log], head.Pruned)
		for next < head.Size && left > 0 && !full() {
			records, to, err := k.follower(log).Read(ctx, next, min(head.Size, next+stretch))
			if err != nil {
				return false, err
			}
			for i := range records {
				if s := k.reader.read(&records[i]); s != nil {
					if err := k.take(ctx, s, p.Round, changed); err != nil {
						return false, err
					}
				}
			}
			left -= int(to - next)
			next = to
		}
		k.next[log] = next
		more = more || next < head.Size
	}
	if p.Anew && !more {
		p.Anew = false
		if err := k.finish(ctx, p.Round, changed); err != nil {
			return false, err
		}
	}
	return more, k.write(ctx, p, item, changed, left < 0 || more)
}

func (k *Keeper) follower(log uint32) *export.Follower {
	if k.follows[log] == nil {
		k.follows[log] = &export.Follower{Name: "bom", Store: noPlace{k.store}, Log: log, Logger: k.logger}
	}
	return k.follows[log]
}

// noPlace is a log that is read without a Follower's place.
type noPlace struct{ ledger.Reader }

func (noPlace) Reached(context.Context, string, uint32) ([]byte, error) {
	return nil, ledger.ErrNotFound
}
func (noPlace) PutReached(context.Context, string, uint32, []byte) error { return nil }

// changedBill is a bill that may be about to be written.
type changedBill struct {
	bill *Bill
	item *guard.Item
	was  []byte    // as it stands in the store
	at   time.Time // of the newest record that was added
	took int       // bytes, about, that were added
	gone bool      // nothing is left of which it was made
}

// take adds what a record tells to its agent's bill.
func (k *Keeper) take(ctx context.Context, s *sight, round int, changed map[string]*changedBill) error {
	c, err := k.bill(ctx, billID(s.principal, s.agent), changed)
	if err != nil || c == nil {
		return err
	}
	if c.bill == nil {
		c.bill = &Bill{Agent: s.agent, Principal: s.principal, Round: round}
	}
	if c.bill.Round != round {
		c.bill = c.bill.anew(round)
	}
	c.bill.take(s)
	c.took += 256 * len(s.components)
	c.at = later(c.at, s.at)
	return nil
}

// bill is a bill that is about to be changed; nil for one that is damaged, which waits for
// being made anew.
func (k *Keeper) bill(ctx context.Context, id string, changed map[string]*changedBill) (*changedBill, error) {
	if c, ok := changed[id]; ok {
		return c, nil
	}
	b, item, err := k.bills.Get(ctx, id)
	if _, damaged := errors.AsType[*guard.DamagedError](err); damaged {
		b, err = nil, nil
		if item, err = k.guard.Read(ctx, kind, id); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	c := &changedBill{bill: b, item: item, was: item.Data}
	changed[id] = c
	return c, nil
}

// finish ends a round: bills that nothing was found for are gone.
func (k *Keeper) finish(ctx context.Context, round int, changed map[string]*changedBill) error {
	for item, err := range k.items(ctx) {
		if err != nil {
			return err
		}
		if c := changed[item.ID]; c != nil && c.bill != nil && c.bill.Round == round {
			continue
		}
		c, err := k.bill(ctx, item.ID, changed)
		if err != nil {
			return err
		}
		c.gone = c.bill == nil || c.bill.Round != round
	}
	return nil
}

func (k *Keeper) items(ctx context.Context) iter.Seq2[ledger.Item, error] {
	return func(yield func(ledger.Item, error) bool) {
		for after := ""; ; {
			list, err := k.guard.List(ctx, ledger.ItemQuery{Kind: kind, After: after})
			if err != nil {
				yield(ledger.Item{}, fmt.Errorf("list the bills of materials: %w", err))
				return
			}
			for i := range list {
				if !guard.Removed(&list[i]) && !yield(list[i], nil) {
					return
				}
			}
			if len(list) < ledger.DefaultItems {
				return
			}
			after = list[len(list)-1].ID
		}
	}
}

// write makes what was read durable, where a bill has changed, or much was read. Bills that
// are too much for one entry are written before the place: what is read again changes
// nothing.
func (k *Keeper) write(ctx context.Context, p *place, item *guard.Item, changed map[string]*changedBill, much bool) error {
	var items []*guard.Item
	details := map[string]string{}
	var said []string
	size, agents := 0, 0
	flush := func(last ...*guard.Item) error {
		if len(items)+len(last) == 0 {
			return nil
		}
		details["agents"] = strconv.Itoa(agents)
		if len(said) > maxSaid {
			said = append(said[:maxSaid:maxSaid], words.Count(len(said)-maxSaid, "more change"))
		}
		if len(said) > 0 {
			details["changes"] = strings.Join(said, "; ")
		}
		err := k.guard.Write(ctx, guard.Admin("bom.changed", node, details), append(items, last...)...)
		items, said, size, agents, details = nil, nil, 0, 0, map[string]string{}
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		c := changed[id]
		if c.gone {
			if c.item.Found {
				if err := k.guard.Remove(ctx, guard.Admin("bom.removed", node, map[string]string{"bill": id}), c.item); err != nil {
					return err
				}
			}
			continue
		}
		if c.bill == nil {
			continue
		}
		if !p.Anew {
			if told, is := settle(c); is {
				details["agent"] = c.bill.Agent
				said = append(said, told...)
			}
		}
		if err := k.bills.Fill(c.bill, c.item); err != nil {
			return err
		}
		if string(c.item.Data) == string(c.was) {
			continue
		}
		items, size, agents = append(items, c.item), size+len(c.item.Data), agents+1
		if agents > 1 {
			delete(details, "agent")
		}
		if size > writeMost {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(items) == 0 && !much && !p.Anew {
		if before, err := k.stored(item); err == nil && before.Round == p.Round && before.Anew == p.Anew && before.Owed == p.Owed {
			return nil // the place alone can be read again
		}
	}
	p.Logs = map[string]uint64{}
	for log, next := range k.next {
		p.Logs[strconv.FormatUint(uint64(log), 10)] = next
	}
	if err := k.places.Fill(p, item); err != nil {
		return err
	}
	if err := flush(item); err != nil {
		return err
	}
	written, err := k.guard.Read(ctx, readKind, readID)
	if err == nil {
		k.version = written.Version
	}
	return err
}

// stored is the place as it was read.
func (k *Keeper) stored(item *guard.Item) (place, error) {
	var p place
	if !item.Found {
		return p, nil
	}
	return p, json.Unmarshal(item.Data, &p)
}

// settle gives a bill its version, and says what its record tells of the change.
func settle(c *changedBill) (said []string, is bool) {
	var before *Bill
	if c.was != nil {
		before, _ = Parse(c.was)
	}
	if _, err := c.bill.data(); err != nil || !c.bill.settle(c.at) { // the version is of what is stored
		return nil, false
	}
	said = append(said, fmt.Sprintf("%.80q has version %d", c.bill.Agent, c.bill.Version()))
	if before == nil || len(before.Versions) == 0 {
		return said, true
	}
	for _, change := range c.bill.against(before) {
		said = append(said, change.String())
	}
	return said, true
}

// Anew has all bills made anew from what is left of the ledger, with the next Read: what was
// removed is in none of them any more. daily is for what goes by its age, which can wait for
// a day.
func (k *Keeper) Anew(ctx context.Context, by act.Principal, daily bool) error {
	_, err := k.places.Update(ctx, readID, func(p *place, item *guard.Item) (*guard.Note, error) {
		if !item.Found || p.Owed || daily && k.guard.Now().Sub(p.Began) < 24*time.Hour {
			return nil, nil
		}
		p.Owed = true
		return guard.Admin("bom.rebuild", by, map[string]string{"of": "all"}), nil
	})
	return err
}

// Making reports whether the bills are being made anew, and may lack what is not read yet.
func (k *Keeper) Making(ctx context.Context) (bool, error) {
	p, _, err := k.places.Get(ctx, readID)
	return p != nil && (p.Anew || p.Owed), err
}

// Of are the bills of agents of this name, each of another credential; of the one credential
// where principal is not empty. ErrNone where there is none.
func (k *Keeper) Of(ctx context.Context, agent, principal string) (list []*Bill, err error) {
	agent = cut(agent)
	if principal != "" {
		b, _, err := k.bills.Get(ctx, billID(cut(principal), agent))
		if err == nil && b == nil {
			err = ErrNone
		}
		return []*Bill{b}, err
	}
	list, bad, _, err := k.bills.Page(ctx, ledger.ItemQuery{Prefix: agentID(agent)})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 && len(bad) > 0:
		return nil, bad[0]
	case len(list) == 0:
		return nil, ErrNone
	}
	return list, nil
}

// known are the tools that agents have used, as their bills show it, for the decisions that
// ask.
type known struct {
	mu   sync.Mutex
	of   map[string]*usedTools // by bill
	read time.Time             // when the ledger was last read for somebody who asked
}

type usedTools struct {
	tools map[[2]string]bool // by server and name
	at    time.Time
}

// Bounds of known. What was used is believed for a while, what was not is looked for again.
const (
	maxKnown  = 1000 // bills
	believed  = time.Minute
	readAgain = time.Second
	readWait  = 2 * time.Second
)

// Used reports whether an agent was let to call the tool of an act before. What was decided
// last may not be in the bill yet: the ledger is read, then, for a moment at most.
func (k *Keeper) Used(ctx context.Context, a *act.Action) (bool, error) {
	if a.Agent.ID == "" || a.Principal.Name == "" { // of whom nobody keeps a bill
		return false, nil
	}
	id, now := billID(cut(a.Principal.Name), cut(a.Agent.ID)), k.guard.Now()
	k.known.mu.Lock()
	used := k.known.of[id]
	again := now.Sub(k.known.read) >= readAgain || now.Before(k.known.read)
	k.known.mu.Unlock()
	if used != nil && now.Sub(used.at) < believed && !now.Before(used.at) && used.has(a) {
		return true, nil
	}
	used, err := k.look(ctx, id, now)
	if err != nil || used.has(a) || !again {
		return err == nil && used.has(a), err
	}
	k.known.mu.Lock()
	k.known.read = now
	k.known.mu.Unlock()
	reading, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	if err := k.Read(reading); err != nil { // then it was not used, as far as is known
		return false, ctx.Err()
	}
	used, err = k.look(ctx, id, now)
	return err == nil && used.has(a), err
}

// look reads which tools a bill shows as used.
func (k *Keeper) look(ctx context.Context, id string, now time.Time) (*usedTools, error) {
	used := &usedTools{tools: map[[2]string]bool{}, at: now}
	b, _, err := k.bills.Get(ctx, id)
	if _, damaged := errors.AsType[*guard.DamagedError](err); damaged {
		b, err = nil, nil // it waits for being made anew, and shows nothing until then
	}
	if err != nil {
		return nil, err
	}
	if b != nil {
		for _, c := range b.Components {
			if c.Type == Tool && !c.Seen.First.IsZero() {
				used.tools[[2]string{c.Server, c.Name}] = true
			}
		}
	}
	k.known.mu.Lock()
	defer k.known.mu.Unlock()
	if k.known.of == nil || len(k.known.of) >= maxKnown {
		k.known.of = map[string]*usedTools{}
	}
	k.known.of[id] = used
	return used, nil
}

// has reports whether the tool of a call is among them, by the name that it was sent with or
// the one that rules match.
func (u *usedTools) has(a *act.Action) bool {
	server := cut(a.Server)
	return u.tools[[2]string{server, cut(a.Resource)}] || u.tools[[2]string{server, cut(a.Canonical)}]
}

// List lists bills, after the id that a page before gave; next is empty on the last page.
func (k *Keeper) List(ctx context.Context, after string, limit int) (list []*Bill, next string, err error) {
	list, _, next, err = k.bills.Page(ctx, ledger.ItemQuery{After: after, Limit: limit})
	return list, next, err
}
