package guard

import (
	"bytes"
	"container/heap"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/session"
)

// memory holds the sessions in use. The durable truth is in the store; what is
// held here runs ahead of it by the steps that are queued and not yet durable.
// When a commit fails, the ledger's generation grows, and every session of an
// older generation is read again.
type memory struct {
	store Store
	log   *ledger.Log
	limit int
	// shared says that other nodes write the same sessions.
	shared bool
	key    []byte // from which the sessions' own keys are derived

	mu    sync.Mutex
	held  map[ledger.Key]*held
	idle  idle
	bytes int
}

// idle is the sessions that may leave memory, by principal. When there is no more room
// it is the principal with the most who loses: nobody with many sessions pushes out
// those of others.
type idle struct {
	of   map[string]*share
	most shares
}

// share is one principal's part of what is idle.
type share struct {
	principal string
	order     *list.List // of *held, least recently used first; never empty
	bytes     int
	place     int // in idle.most
}

// shares is a heap: the one with the most bytes is the first.
type shares []*share

func (s shares) Len() int           { return len(s) }
func (s shares) Less(i, j int) bool { return s[i].bytes > s[j].bytes }
func (s shares) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

func (s *shares) Push(x any) {
	one := x.(*share)
	one.place = len(*s)
	*s = append(*s, one)
}

func (s *shares) Pop() any {
	last := len(*s) - 1
	one := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return one
}

// add takes in a session that nobody uses any more.
func (i *idle) add(h *held) {
	one := i.of[h.principal]
	if one == nil {
		one = &share{principal: h.principal, order: list.New()}
		i.of[h.principal] = one
		heap.Push(&i.most, one)
	}
	h.place = one.order.PushBack(h)
	one.bytes += h.bytes
	heap.Fix(&i.most, one.place)
}

// remove takes out a session.
func (i *idle) remove(h *held) {
	one := i.of[h.principal]
	one.order.Remove(h.place)
	h.place = nil
	one.bytes -= h.bytes
	if one.order.Len() == 0 {
		heap.Remove(&i.most, one.place)
		delete(i.of, one.principal)
		return
	}
	heap.Fix(&i.most, one.place)
}

// next is the session that leaves first; nil when all are in use.
func (i *idle) next() *held {
	if len(i.most) == 0 {
		return nil
	}
	return i.most[0].order.Front().Value.(*held)
}

// held is one session in memory.
type held struct {
	memory    *memory
	key       ledger.Key
	principal string
	place     *list.Element // in its principal's share; nil while it is in use; guarded by memory.mu
	users     int           // goroutines that hold or wait for lock, and steps pending; guarded by memory.mu
	bytes     int           // as counted in memory.bytes; guarded by memory.mu

	sync       sync.Mutex
	state      *session.State // nil: to be read from the store
	head       *ledger.KeyHead
	generation uint64
	roams      int          // how many more times it is looked whether another node has written it
	pending    []queuedStep // not yet durable; mostly none, and then nil
}

// queuedStep is a step of a session that waits for the disk.
type queuedStep struct {
	step   int64
	ticket *ledger.Ticket
}

// ticket is that of a step that waits for the disk; nil for none.
func (h *held) ticket(step int64) *ledger.Ticket {
	for _, p := range h.pending {
		if p.step == step {
			return p.ticket
		}
	}
	return nil
}

// done takes a step out of those that wait, if it is the one of the ticket.
func (h *held) done(step int64, t *ledger.Ticket) bool {
	i := slices.Index(h.pending, queuedStep{step, t})
	if i < 0 {
		return false
	}
	if h.pending = slices.Delete(h.pending, i, i+1); len(h.pending) == 0 {
		h.pending = nil // most sessions in memory have none
	}
	return true
}

func newMemory(store Store, log *ledger.Log, limit int, shared bool) (*memory, error) {
	key, err := log.Key(valuesUse)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sessions' values: %w", err)
	}
	return &memory{store: store, log: log, limit: limit, shared: shared, key: key, held: map[ledger.Key]*held{}, idle: idle{of: map[string]*share{}}}, nil
}

// valuesUse is what the key is for from which those of sessions' values, and of agents'
// habits, are derived: see ledger.DeriveKey.
const valuesUse = "values of sessions"

// ValuesKey is the key under which a session's values are remembered: the same on all
// nodes of a database, and nobody's who has the database alone.
func ValuesKey(key []byte, session ledger.Key) provenance.Key {
	// HMAC-SHA256 (RFC 2104), written out: crypto/hmac makes states for each key, and this
	// is made for each session.
	var b [sha256.BlockSize + sha256.Size]byte // a pad, and behind it the session or a sum
	copy(b[:sha256.BlockSize], key)
	for i := range sha256.BlockSize {
		b[i] ^= 0x36
	}
	inner := sha256.Sum256(b[:sha256.BlockSize+copy(b[sha256.BlockSize:], session[:])])
	for i := range sha256.BlockSize {
		b[i] ^= 0x36 ^ 0x5c
	}
	copy(b[sha256.BlockSize:], inner[:])
	sum := sha256.Sum256(b[:])
	return provenance.NewKey([16]byte(sum[:16]))
}

// SetValuesKey gives the values of a session the key that they are under: the session's
// own, or that of the one that began it.
func SetValuesKey(values *provenance.Memory, key []byte, session ledger.Key) {
	if values.Under != [16]byte{} {
		session = values.Under
	}
	values.Key = ValuesKey(key, session)
}

// run is a session that is locked, with those above it: the one that began it, the one that
// began that, and so on.
type run struct {
	*held
	above  []above
	partOf bool // of the one above, which has all labels, and not begun by it
}

// above is a session above one. Its held is nil once that has been given back.
type above struct {
	*held
	key  ledger.Key
	name string
}

// maxAbove is how many sessions above one are told what it reads. Those above them learn
// it by the next steps of these.
const maxAbove = 16

// lockRun locks the session of an act and, where values are followed, those above it: a
// sub-agent's knows what its parent's knew, and what it reads all above it have read.
// What is a part of a session has the labels, too, that any other part has got since.
func (m *memory) lockRun(ctx context.Context, a *act.Action, partOf SessionName, follows bool) (r run, err error) {
	key := sessionKey(a)
	of := partOf
	if r.partOf = partOf.Session != ""; !r.partOf {
		of = SessionName{Principal: a.Principal.Name, Door: a.Door, Agent: a.Agent.ID, Session: a.Parent}
	}
	first := of.key()
	if of.Session == "" || first == key || !follows {
		r.held, err = m.lock(ctx, key, a.Principal.Name, a.At)
		return r, err
	}
	for chain := []above{{key: first, name: of.Session}}; ; {
		r, err = m.lockAll(ctx, key, chain, a.Principal.Name, a.At)
		if err != nil {
			return run{}, err
		}
		if r.partOf = partOf.Session != ""; r.partOf {
			break
		}
		next, name := r.above[len(r.above)-1].state.Above()
		if next == (ledger.Key{}) || next == key || len(chain) == maxAbove || slices.ContainsFunc(chain, func(one above) bool { return one.key == next }) {
			break
		}
		r.unlock() // to lock it, too, in the order of all
		chain = append(chain, above{key: next, name: name})
	}
	parent := r.above[0]
	switch unseen := parent.state.Known && parent.state.Steps == 0; {
	case unseen && !r.partOf:
		parent.unlock()
		r.above = nil
	case !unseen && r.state.Known && r.state.Steps == 0:
		r.state.Inherit(parent.state, parent.key)
	}
	if r.partOf {
		r.state.Takes(parent.state)
	}
	return r, nil
}

// lockAll locks a session and those above it, all in one order, so that no two wait for each
// other.
func (m *memory) lockAll(ctx context.Context, key ledger.Key, chain []above, principal string, now time.Time) (r run, err error) {
	r.above = slices.Clone(chain)
	places := []*above{{key: key}}
	for i := range r.above {
		r.above[i].held = nil
		places = append(places, &r.above[i])
	}
	own := places[0]
	slices.SortFunc(places, func(a, b *above) int { return bytes.Compare(a.key[:], b.key[:]) })
	for i, p := range places {
		p.held, err = m.lockNow(ctx, p.key, principal, now)
		if err == nil && p.generation != places[0].generation { // something failed between
			p.held.unlock()
			err = ledger.ErrStale
		}
		if err != nil {
			for _, locked := range places[:i] {
				locked.held.unlock()
			}
			return run{}, err
		}
	}
	r.held = own.held
	return r, nil
}

func (r *run) unlock() {
	r.held.unlock()
	for i := range r.above {
		if p := &r.above[i]; p.held != nil {
			p.held.unlock()
			p.held = nil
		}
	}
	r.above = nil
}

// workOf is the work that the session is a part of which began an act's; 0 for none that is known.
func (m *memory) workOf(ctx context.Context, a *act.Action) (uint64, error) {
	of := SessionName{Principal: a.Principal.Name, Door: a.Door, Agent: a.Agent.ID, Session: a.Parent}
	h, err := m.lock(ctx, of.key(), of.Principal, a.At)
	if err != nil {
		return 0, err
	}
	defer h.unlock()
	return h.state.Work(), nil
}

func (m *memory) size() (n, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.held), m.bytes
}

// lock returns a principal's session, locked, its state read from the store if need be.
func (m *memory) lock(ctx context.Context, key ledger.Key, principal string, now time.Time) (*held, error) {
	return m.locked(ctx, key, principal, now, false)
}

// lockNow is lock for a session that is read and may not be written, so that no write would
// tell that another node has written it since: it is looked whether one has.
func (m *memory) lockNow(ctx context.Context, key ledger.Key, principal string, now time.Time) (*held, error) {
	return m.locked(ctx, key, principal, now, m.shared)
}

func (m *memory) locked(ctx context.Context, key ledger.Key, principal string, now time.Time, look bool) (*held, error) {
	m.mu.Lock()
	h := m.held[key]
	if h == nil {
		h = &held{memory: m, key: key, principal: principal}
		m.held[key] = h
	} else if h.place != nil {
		m.idle.remove(h)
	}
	h.users++
	m.mu.Unlock()

	h.sync.Lock()
	if look {
		h.roams = max(h.roams, 1)
	}
	generation := m.log.Generation()
	if h.state != nil && h.generation == generation && now.Sub(h.state.Last) <= session.TTL && h.followed(ctx) {
		return h, nil
	}
	// Steps of an older generation are settled as failed by their own callers.
	h.pending = nil
	h.generation = generation
	if err := h.load(ctx, now); err != nil {
		h.state = nil
		h.unlock()
		return nil, fmt.Errorf("read the session's memory: %w", err)
	}
	return h, nil
}

// roaming is for how many steps a session is taken for one that goes from node to node,
// after it was found so. To look first costs a question; to be wrong costs the step a
// second try, with a reading of the whole session.
const roaming = 16

// mostFollowed is how many writes of other nodes are followed one by one. Beyond that the
// session is read anew.
const mostFollowed = 32

// written reports whether the session is written down, or about to be.
func (h *held) written() bool {
	if len(h.pending) > 0 { // its head is the committer's until then
		return true
	}
	_, known := h.head.At()
	return known
}

// followed reports whether the state is up to date, as far as can be known before the
// commit, having taken up what other nodes have written since.
func (h *held) followed(ctx context.Context) bool {
	if h.roams == 0 || len(h.pending) > 0 {
		return true
	}
	h.roams--
	mine, known := h.head.At()
	at, ok, err := h.memory.store.KeyHead(ctx, h.key)
	if err != nil || !ok {
		return err == nil && !known // else it is read anew, and that says what is wrong
	}
	if known && at == mine {
		return true
	}
	h.roams = roaming
	newest := at
	var writes []session.Write
	for len(writes) < mostFollowed {
		w, err := h.memory.store.KeyWrite(ctx, at, h.key)
		if err != nil {
			return false
		}
		writes = append(writes, session.Write{At: at, Data: w.Data})
		if first := w.First && !known; first || known && !w.First && w.Prev == mine {
			if err := h.state.Follow(writes); err != nil {
				return false
			}
			SetValuesKey(&h.state.Values, h.memory.key, h.key)
			h.head = ledger.NewKeyHead(h.key, newest, true)
			return true
		}
		if w.First { // another session by now
			return false
		}
		at = w.Prev
	}
	return false
}

// load reads the state from the store.
func (h *held) load(ctx context.Context, now time.Time) error {
	if err := h.restore(ctx, now); err != nil {
		return err
	}
	SetValuesKey(&h.state.Values, h.memory.key, h.key)
	return nil
}

func (h *held) restore(ctx context.Context, now time.Time) error {
	at, ok, err := h.memory.store.KeyHead(ctx, h.key)
	if err != nil {
		return err
	}
	h.head = ledger.NewKeyHead(h.key, at, ok)
	if h.memory.shared && ok {
		h.roams = roaming // by another node, perhaps
	}
	if !ok {
		h.state = &session.State{Known: true}
		return nil
	}
	var writes []session.Write
	complete := false
	for len(writes) < session.MaxReplay {
		w, err := h.memory.store.KeyWrite(ctx, at, h.key)
		if errors.Is(err, ledger.ErrNotFound) { // pruned with its record
			break
		} else if err != nil {
			return err
		}
		writes = append(writes, session.Write{At: at, Data: w.Data})
		if complete = w.First; complete {
			break
		}
		at = w.Prev
	}
	if len(writes) > 0 {
		h.state, err = session.Restore(writes, complete)
		if err != nil {
			return err
		}
	}
	if h.state == nil || now.Sub(h.state.Last) > session.TTL {
		h.state = &session.State{Values: provenance.Memory{Lost: true}} // seen before, and forgotten
	}
	return nil
}

// forget drops what is held, so that the next step reads the store. The lock is held.
func (h *held) forget() { h.state = nil }

// queued unlocks the session while a step that was queued waits for the disk:
// settle must follow.
func (h *held) queued(step int64, t *ledger.Ticket) {
	h.pending = append(h.pending, queuedStep{step, t})
	h.state.Share(nil)
	h.sync.Unlock()
}

// settle notes how a queued step ended, and gives the session back.
func (h *held) settle(step int64, t *ledger.Ticket, at act.Position, err error) {
	h.sync.Lock()
	// Else another step found it stale first, and may have its number now.
	if h.done(step, t) {
		if err != nil {
			if h.memory.shared && errors.Is(err, ledger.ErrLost) {
				h.roams = roaming
			}
			h.forget()
		} else if h.state != nil {
			h.state.Place(step, at)
		}
	}
	h.unlock()
}

// unlock gives the session back.
func (h *held) unlock() {
	size := 512
	if h.state != nil {
		h.state.Uncheck()
		h.state.Share(nil)
		size += h.state.Size()
	}
	h.sync.Unlock()

	m := h.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += size - h.bytes
	h.bytes = size
	// Sessions in use stay, and so do those with queued steps, whose head the
	// store does not know yet.
	if h.users--; h.users == 0 {
		m.idle.add(h)
	}
	for m.bytes > m.limit {
		old := m.idle.next()
		if old == nil {
			break
		}
		m.idle.remove(old)
		delete(m.held, old.key)
		m.bytes -= old.bytes
	}
}

// maxMemories is how many memories of one step are followed to their owners;
// those beyond count as never stored.
const maxMemories = 256

// keeping is what was noted of one remembered text: for whom it was stored, and what it
// was in the session that stored it. Its zero value was never stored through the guardian.
type keeping struct {
	owner session.Owner
	by    provenance.Origin
}

// append appends what is noted: the owner, and in a byte of its own the origin.
func (k keeping) append(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(k.owner)), byte(k.by))
}

// parseKeeping reads what append wrote, and what was written before origins were noted.
func parseKeeping(data []byte) (k keeping) {
	if len(data) == 8 || len(data) == 9 {
		k.owner = session.Owner(binary.LittleEndian.Uint64(data))
	}
	if len(data) == 9 {
		k.by = min(provenance.Origin(data[8]), provenance.User)
	}
	return k
}

// owners looks up what was noted of the memory of a memory.retrieve, for each leaf of
// its content: for whom it was stored, and what it was.
func (m *memory) owners(ctx context.Context, a *act.Action) (owners []session.Owner, by []provenance.Origin, err error) {
	if a.Kind != act.MemoryRetrieve {
		return nil, nil, nil
	}
	owners, by = make([]session.Owner, len(a.Content)), make([]provenance.Origin, len(a.Content))
	for i, leaf := range a.Content[:min(len(a.Content), maxMemories)] {
		if leaf.Item == "" { // not a memory, but said beside them
			owners[i] = session.SharedOwner
			continue
		}
		kept, _, _, err := m.kept(ctx, a, memoryKey(a, leaf.Text))
		if err != nil {
			return nil, nil, err
		}
		owners[i], by[i] = kept.owner, kept.by
	}
	return owners, by, nil
}

// kept looks up what was noted of one memory, and where.
func (m *memory) kept(ctx context.Context, a *act.Action, key ledger.Key) (kept keeping, at act.Position, noted bool, err error) {
	at, noted, err = m.store.KeyHead(ctx, key)
	if err != nil || !noted {
		return keeping{}, at, noted, err
	}
	w, err := m.store.KeyWrite(ctx, at, key)
	switch {
	case errors.Is(err, ledger.ErrNotFound): // pruned: unknown, not another's
		return keeping{owner: session.OwnerOf(a.User)}, at, noted, nil
	case err != nil:
		return keeping{}, at, noted, err
	}
	return parseKeeping(w.Data), at, noted, nil
}

// memoriesStored are the writes that note for whom memory is stored, in the
// form in which it is stored, and what it is: the user's own words, or else what the
// session had read. What is stored alike for two users belongs to both, and what is
// stored alike under two origins has the one that is trusted less.
func (m *memory) memoriesStored(ctx context.Context, a *act.Action, edits []act.Edit, values *provenance.Memory) (writes []*ledger.Write, err error) {
	mine := session.OwnerOf(a.User)
	seen := map[ledger.Key]bool{}
	for _, leaf := range a.Content[:min(len(a.Content), maxMemories)] {
		text := storedText(leaf, edits)
		key := memoryKey(a, text)
		if seen[key] || leaf.Item == "" {
			continue
		}
		seen[key] = true
		old, at, noted, err := m.kept(ctx, a, key)
		if err != nil {
			return nil, err
		}
		now := keeping{old.owner, storedAs(values, text)}
		switch {
		case old.owner == 0:
			now.owner = mine
		case old.owner != mine:
			now.owner = session.SharedOwner
		}
		if noted && old.owner != 0 {
			now.by = min(now.by, old.by)
		}
		if noted && now == old {
			continue
		}
		writes = append(writes, &ledger.Write{Head: ledger.NewKeyHead(key, at, noted), Data: now.append(nil)})
	}
	return writes, nil
}

// storedAs is whose a text is that is about to be remembered: the user's if the user
// said it; else foreign where anything foreign was read, since that may be what it says.
func storedAs(values *provenance.Memory, text string) provenance.Origin {
	switch {
	case values.Origin(text) == provenance.User:
		return provenance.User
	case values.Foreign || values.Lost:
		return provenance.Foreign
	}
	return provenance.Own
}

// storedText is a leaf's text after the edits.
func storedText(leaf act.Leaf, edits []act.Edit) string {
	for _, e := range edits {
		if e.Pointer == leaf.Pointer {
			if doc, err := rawjson.Parse(e.Value); err == nil {
				return doc.Root().Text()
			}
		}
	}
	return leaf.Text
}
