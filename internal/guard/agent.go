package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// agentKind is the kind of item that an agent is.
const agentKind = "agent"

// strangerKind is the kind of item that tells what an agent did that nobody
// registered: of each principal apart, since anybody can use its name.
const strangerKind = "stranger"

func strangerID(did, principal string) string { return did + "\n" + principal }

// parseAgent reads an agent that is stored under its id.
func parseAgent(item *ledger.Item) (*agent.Agent, error) {
	known, err := agent.Parse(item.Data)
	if err == nil && known.DID != item.ID && item.Kind == agentKind {
		err = errors.New("another one stands in its place")
	}
	return known, err
}

func newAgents(g *Guard) *Items[agent.Agent] {
	return NewItems(g, Kind[agent.Agent]{
		Name: agentKind, Parse: parseAgent,
		Fill: func(known *agent.Agent, item *Item) (err error) {
			item.Owner, item.Open = known.Principal, barred(known.State) // so that these are found by themselves
			item.Data, err = known.Data()
			return err
		},
		Quota: Quota{
			Name: "agents", What: "registered agents", Instead: "Use one of these, or have an operator raise the setting.",
			N: g.cfg.Quotas.Agents, Bytes: g.cfg.Quotas.Bytes,
		},
	})
}

func newStrangers(g *Guard) *Items[agent.Agent] {
	return NewItems(g, Kind[agent.Agent]{
		Name: strangerKind, Parse: parseAgent,
		Fill: func(known *agent.Agent, item *Item) (err error) {
			item.Due = g.cfg.Now().Add(strangersKept)
			item.Data, err = known.Data()
			return err
		},
	})
}

// Stranger returns what is known, for one principal, of an agent that nobody
// registered: how often it did what no verdict covers, and with a Reason that it is
// barred.
func (g *Guard) Stranger(ctx context.Context, did, principal string) (*agent.Agent, error) {
	known, _, err := g.strangers.Get(ctx, strangerID(did, principal))
	if err == nil && known == nil {
		known = &agent.Agent{DID: did}
	}
	return known, err
}

// barred reports whether nothing is allowed to an agent in this state.
func barred(state agent.State) bool { return state == agent.Suspended || state == agent.Revoked }

// LoadAgents reads which agents are suspended or revoked: every door asks, and
// another node of the same database may have changed it. changed says that it was.
func (g *Guard) LoadAgents(ctx context.Context) (changed bool, err error) {
	g.barring.Lock() // what was read first is not put in force last
	defer g.barring.Unlock()
	states, ids := map[string]agent.State{}, map[string]string{}
	before, lost := g.barred.Load(), g.bars.Load()
	if before == nil || lost != nil {
		if lost, err = g.rememberedBars(ctx, states, ids); err != nil {
			return false, err
		}
	}
	for known, err := range g.agents.All(ctx, ledger.ItemQuery{Open: true}) {
		did, state := "", agent.Suspended
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			did = damaged.ID // it is here because it is barred, and what is damaged lets nobody go
		} else if err != nil {
			return false, fmt.Errorf("read the agents that are barred: %w", err)
		} else if did = known.DID; barred(known.State) {
			state = known.State
		}
		if form := foldDID(did); states[form] != agent.Revoked {
			states[form], ids[form] = state, did
		}
	}
	// One that is not listed any more was let go, or its row was changed or taken away.
	for form, did := range g.barredAs {
		if _, listed := states[form]; listed {
			continue
		}
		known, _, err := g.agents.Get(ctx, did)
		if damaged, ok := errors.AsType[*DamagedError](err); err != nil && (!ok || damaged == nil) {
			return false, fmt.Errorf("read an agent that was barred: %w", err)
		}
		if known == nil || barred(known.State) {
			states[form], ids[form] = (*before)[form], did
		}
	}
	g.barred.Store(&states)
	g.bars.Store(lost)
	g.barredAs = ids
	return before == nil || !maps.Equal(*before, states), nil
}

// BarsKind and BarsID name the one item that lists the agents that are barred: that the row of
// one was taken away is known by it.
const (
	BarsKind = "agents.barred"
	BarsID   = "all"
)

// rememberedBars looks, when the node starts, at more than the agents that are listed as barred: one
// of which nobody knows what it was may have been, and so may one that is gone, which the list of
// bars has. Where that list was taken away itself, the agents whose rows are sound are all that
// are known, and lost has them by the forms of their DIDs; it is nil otherwise.
func (g *Guard) rememberedBars(ctx context.Context, states map[string]agent.State, ids map[string]string) (lost *map[string]bool, err error) {
	bar := func(did string) { states[foldDID(did)], ids[foldDID(did)] = agent.Suspended, did }
	sound := map[string]bool{}
	for known, err := range g.agents.All(ctx, ledger.ItemQuery{}) {
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			bar(damaged.ID)
		} else if err != nil {
			return nil, fmt.Errorf("read the agents: %w", err)
		} else {
			sound[foldDID(known.DID)] = true
		}
	}
	listed, item, err := g.listedBars(ctx)
	if err != nil {
		return nil, err
	}
	if wrong := item.Sound(); wrong != nil || item.Gone() {
		g.sayDamaged(&item.Item, cmp.Or(item.wrong, ledger.ErrRolledBack))
		return &sound, nil
	}
	for _, did := range listed {
		known, _, err := g.agents.Get(ctx, did)
		if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
			return nil, fmt.Errorf("read an agent that is barred: %w", err)
		}
		if known == nil { // what is there of it says nothing, or nothing is there
			bar(did)
		}
	}
	return nil, nil
}

// listedBars are the agents that the list of bars has; none where it is not to be believed.
func (g *Guard) listedBars(ctx context.Context) (dids []string, item *Item, err error) {
	item, err = g.Read(ctx, BarsKind, BarsID)
	if err != nil || !item.Found || item.Sound() != nil {
		return nil, item, err
	}
	if err := json.Unmarshal(item.Data, &dids); err != nil {
		item.wrong, dids = err, nil
	}
	return dids, item, nil
}

// TakenAway are the agents that the list of bars has, and of which there is no row any more.
func TakenAway(list *ledger.Item, there func(kind, id string) bool) (dids []string) {
	if json.Unmarshal(list.Data, &dids) != nil {
		return nil
	}
	return slices.DeleteFunc(dids, func(did string) bool { return there(agentKind, did) })
}

// listBar is the list of bars with an agent on it, or without.
func (g *Guard) listBar(ctx context.Context, did string, barred bool) (*Item, error) {
	dids, item, err := g.listedBars(ctx)
	if err != nil {
		return nil, err
	}
	if !item.Found || item.Sound() != nil { // it begins, or begins anew
		g.barring.Lock()
		dids = slices.Collect(maps.Values(g.barredAs))
		g.barring.Unlock()
	}
	dids = slices.DeleteFunc(dids, func(one string) bool { return one == did })
	if barred {
		dids = append(dids, did)
	}
	slices.Sort(dids)
	item.Data, err = json.Marshal(dids)
	return item, err
}

// Barred returns the state of an agent that is suspended or revoked, and "" for others,
// as this node knows it.
func (g *Guard) Barred(did string) agent.State {
	form := foldDID(did)
	state, is := (*g.barred.Load())[form]
	if sound := g.bars.Load(); !is && sound != nil && !(*sound)[form] {
		return agent.Suspended // it may be: nobody knows
	}
	return state
}

// foldDID brings the spellings of a DID together, also those that are none by its
// rules: an agent's id over other protocols can be anything.
func foldDID(did string) string {
	form, _ := canon.Name(agent.Fold(did))
	return form
}

// bar refuses an act of an agent that is suspended or revoked.
func (g *Guard) bar(a *act.Action) {
	if len(*g.barred.Load()) == 0 && g.bars.Load() == nil {
		return
	}
	state := g.Barred(a.Agent.ID)
	code := "agent." + string(state)
	if state == "" || slices.ContainsFunc(a.Refusals, func(r act.Reason) bool { return r.Code == code }) {
		return
	}
	a.Refusals = append(a.Refusals, act.Reason{
		Rule: "agent", Code: code, Effect: act.Deny,
		Message: "The agent is " + string(state) + ".", Instead: "Ask the operator of this node.",
	})
}

// Agent returns what is known of an agent, which must not be changed. One that
// nobody registered, and no operator has spoken about, has no State.
func (g *Guard) Agent(ctx context.Context, did string) (*agent.Agent, error) {
	at, known, err := g.cfg.Store.KeyHead(ctx, ledger.ItemKey(agentKind, did))
	if err != nil {
		return nil, err
	}
	if !known {
		if registered, err := g.spelled(ctx, did); err != nil || registered == did {
			return &agent.Agent{DID: did}, err
		} else {
			return g.Agent(ctx, registered)
		}
	}
	if r, ok := g.agentsRead.get(did); ok && r.version == at {
		return r.agent, nil
	}
	read, _, err := g.agent(ctx, did)
	if err == nil && len(read.Metadata)+len(read.Requested)*64 < maxAgentRead {
		g.agentsRead.put(did, agentRead{at, read})
	}
	return read, err
}

// agentRead is an agent as it was read, and the version that it was then, or an
// older one: it counts only while that is the newest.
type agentRead struct {
	version act.Position
	agent   *agent.Agent
}

// agentsRead remembers agents that ask often. The zero value is ready.
type agentsRead struct {
	mu   sync.Mutex
	read map[string]agentRead
}

// Agents are remembered up to so many, and of no more than about so many bytes each.
const (
	maxAgentsRead = 4096
	maxAgentRead  = 8 << 10
)

func (r *agentsRead) get(did string) (agentRead, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.read[did]
	return known, ok
}

func (r *agentsRead) put(did string, known agentRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read == nil || len(r.read) >= maxAgentsRead {
		r.read = map[string]agentRead{}
	}
	r.read[did] = known
}

// spellingKind is the kind of item that has the spelling in which a DID was registered, by
// its folded form: who registers it in one has it in all.
const spellingKind = "agent.spelling"

// spelled is a DID as it was registered, and as it is where it was not, or is known as it is.
func (g *Guard) spelled(ctx context.Context, did string) (string, error) {
	if _, known, err := g.cfg.Store.KeyHead(ctx, ledger.ItemKey(agentKind, did)); err != nil || known {
		return did, err
	}
	item, err := g.Read(ctx, spellingKind, foldDID(did))
	if err != nil || !item.Found {
		return did, err
	}
	if err := item.Sound(); err != nil {
		return "", err
	}
	registered := string(item.Data)
	if foldDID(registered) != foldDID(did) {
		err := errors.New("another one stands in its place")
		g.sayDamaged(&item.Item, err)
		return "", &DamagedError{Kind: spellingKind, ID: item.ID, Err: err}
	}
	if _, known, err := g.cfg.Store.KeyHead(ctx, ledger.ItemKey(agentKind, registered)); err != nil || !known {
		return did, err
	}
	return registered, nil
}

// claim has all spellings of a DID be those of one that registers; nil where they are
// already. An agent that is registered stays it.
func (g *Guard) claim(ctx context.Context, did string, registered bool) (*Item, error) {
	item, err := g.Read(ctx, spellingKind, foldDID(did))
	if err == nil {
		err = item.Sound()
	}
	if err != nil || item.Found && (registered || string(item.Data) == did) {
		return nil, err
	}
	if by, err := g.spelled(ctx, did); err != nil {
		return nil, err
	} else if by != did { // meanwhile
		return nil, agent.ErrForeign
	}
	item.Data = []byte(did)
	return item, nil
}

func (g *Guard) agent(ctx context.Context, did string) (*agent.Agent, *Item, error) {
	known, item, err := g.agents.Get(ctx, did)
	if err == nil && known == nil {
		known = &agent.Agent{DID: did}
	}
	return known, item, err
}

// Agents lists the agents that are known, in the order of their DIDs, after one. bad
// are those of the page that are damaged; next is what to give as after for the next
// page, empty on the last.
func (g *Guard) Agents(ctx context.Context, after string, limit int) (list []*agent.Agent, bad []*DamagedError, next string, err error) {
	return g.agents.Page(ctx, ledger.ItemQuery{After: after, Limit: limit})
}

// strangersKept is for how long it is remembered what agents did that nobody
// registered: anybody can invent their names.
const strangersKept = 30 * 24 * time.Hour

// Registration is what an agent registers with.
type Registration struct {
	DID, PublicKey string
	Requested      []string
	Metadata       jsontext.Value
	// Signed says that the key that is known of the agent has signed it.
	Signed bool
}

// Register decides about a registration, and when it is allowed makes it
// durable with its record. The errors are those of agent.Agent.Register.
func (g *Guard) Register(ctx context.Context, a *act.Action, r Registration) (d act.Decision, known *agent.Agent, err error) {
	defer g.agents.Lock("spelling " + foldDID(r.DID))()
	if r.DID, err = g.spelled(ctx, r.DID); err != nil {
		return d, nil, err
	}
	defer g.agents.Lock(r.DID)()
	d, _, err = g.decide(ctx, a, With{Items: func(ruling *Ruling) ([]*Item, error) {
		if known = nil; ruling.Effect != act.Allow && ruling.Effect != act.Modify {
			return nil, nil
		}
		var item *Item
		if known, item, err = g.agent(ctx, r.DID); err != nil {
			return nil, err
		}
		granted := granted(ruling.Policy, r.Requested)
		if err := known.Register(a.Principal, r.Signed, r.PublicKey, r.Requested, granted, r.Metadata, a.At); err != nil {
			return nil, err
		}
		item.Charged = true
		items := []*Item{item}
		if spelling, err := g.claim(ctx, r.DID, item.Found); err != nil {
			return nil, err
		} else if spelling != nil {
			items = append(items, spelling)
		}
		return items, g.agents.Fill(known, item)
	}})
	if err != nil {
		known = nil
	}
	return d, known, err
}

// granted are those of the requested tools that a policy set does not deny altogether.
func granted(set *policy.Set, requested []string) (tools []string) {
	for _, tool := range requested {
		if name, _ := canon.Name(tool); set.Grants(name) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// SetAgent gives an agent another state, also one that never registered.
func (g *Guard) SetAgent(ctx context.Context, did string, state agent.State, reason string, by act.Principal) (*agent.Agent, error) {
	known, err := g.changeAgent(ctx, did, by, "agent."+string(state), map[string]string{"agent": did, "reason": reason}, func(known *agent.Agent) error {
		return known.Set(state, reason, g.cfg.Now())
	})
	if err == nil {
		_, err = g.LoadAgents(ctx)
	}
	return known, err
}

// ResetKey forgets an agent's public key: its next registration brings another.
func (g *Guard) ResetKey(ctx context.Context, did string, by act.Principal) (*agent.Agent, error) {
	return g.changeAgent(ctx, did, by, "agent.reset-key", map[string]string{"agent": did}, func(known *agent.Agent) error {
		if known.PublicKey == "" {
			return ErrNoKey
		}
		known.PublicKey = ""
		return nil
	})
}

// ErrNoKey: the agent has no public key.
var ErrNoKey = errors.New("the agent has registered no public key")

// SeeAgent notes that a registered agent was heard from.
func (g *Guard) SeeAgent(ctx context.Context, did string, by act.Principal) (*agent.Agent, error) {
	return g.changeAgent(ctx, did, by, "agent.heartbeat", map[string]string{"agent": did}, func(known *agent.Agent) error {
		known.Seen = g.cfg.Now()
		return nil
	})
}

// CountViolation notes that an agent did something that no verdict covers.
func (g *Guard) CountViolation(ctx context.Context, did, what string, by act.Principal) (*agent.Agent, error) {
	known, err := g.Agent(ctx, did)
	if err != nil {
		return nil, err
	}
	if known.State == "" {
		return g.changeStranger(ctx, did, "agent.violation", map[string]string{"agent": did, "violation": what}, by, func(known *agent.Agent) { known.Violations++ })
	}
	return g.changeAgent(ctx, did, by, "agent.violation", map[string]string{"agent": did, "violation": what}, func(known *agent.Agent) error {
		known.Violations++
		return nil
	})
}

// BarStranger bars an agent that nobody registered, for this principal only, until an
// operator has it registered or a month has gone.
func (g *Guard) BarStranger(ctx context.Context, did, why string, by act.Principal) error {
	_, err := g.changeStranger(ctx, did, "agent.suspended", map[string]string{"agent": did, "reason": why}, by, func(known *agent.Agent) { known.Reason = why })
	return err
}

// changeStranger changes what is known of an agent that nobody registered, for this
// principal only.
func (g *Guard) changeStranger(ctx context.Context, did, what string, details map[string]string, by act.Principal, change func(*agent.Agent)) (*agent.Agent, error) {
	return g.strangers.Update(ctx, strangerID(did, by.Name), func(known *agent.Agent, item *Item) (*Note, error) {
		if !item.Found {
			*known = agent.Agent{DID: did, Principal: by.Name}
		}
		change(known)
		n := Admin(what, by, details)
		n.Plain = true
		return n, nil
	})
}

func (g *Guard) changeAgent(ctx context.Context, did string, by act.Principal, what string, details map[string]string, change func(*agent.Agent) error) (*agent.Agent, error) {
	did, err := g.spelled(ctx, did)
	if err != nil {
		return nil, err
	}
	return g.agents.UpdateWith(ctx, did, func(known *agent.Agent, item *Item) (*Note, []*Item, error) {
		if !item.Found {
			known.DID = did
		}
		n := Admin(what, by, details)
		n.Plain = true
		was := known.State
		if err := change(known); err != nil {
			return nil, nil, err
		}
		if barred(was) == barred(known.State) && (was == known.State || g.bars.Load() == nil) {
			return n, nil, nil
		}
		list, err := g.listBar(ctx, did, barred(known.State))
		return n, []*Item{list}, err
	})
}
