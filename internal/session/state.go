// Package session is what a session remembers of an agent's steps, and the
// checks that are made with it: results that nobody asked for, ids used twice,
// an agent that changes under way, the same call in a loop.
//
// A State is rebuilt from the writes that stand in the ledger's store beside
// the records, so it survives a restart. Each step adds one small write:
//
//	violations, repeat := state.Check(action, nil)  // looks, changes nothing
//	…the act is judged…
//	step := state.Step(action, effect)              // what is to be remembered
//	data := step.Append(nil)                        // made durable with the record
//	state.Apply(step)
//
// Memory is bounded: the newest ids are kept, and what was dropped or expired is
// unknown, which is flagged and never denies. A session never seen before is
// not unknown: it is empty.
package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/words"
)

// Bounds of one session's memory.
const (
	maxIDs   = 16384 // ids kept; a step has one to three
	maxTools = 1024  // MCP tool definitions pinned
	// MaxReplay is how many of the newest writes are read to rebuild a State.
	MaxReplay = 512
)

// TTL is how long a session is remembered after its last step.
const TTL = 24 * time.Hour

// State is one session's memory. It is not safe for concurrent use.
type State struct {
	// Known is false when the session was seen before and its memory is gone.
	Known bool
	// Steps counts the session's steps, Calls the tool calls that were let through.
	Steps, Calls int64
	Started      time.Time // when the first step was let through; zero before
	Last         time.Time
	// Autonomous says that an event, not a person, started the session.
	Autonomous bool
	// Values are what is known of where the session's values came from.
	Values provenance.Memory

	lastSaid    int64 // the newest timestamp that the agent gave, Unix milliseconds
	who         who
	print       fingerprint
	turn        uint64 // the current turn
	taintedTurn uint64 // the turn in which outside content was last read
	windowStart int64  // of the rate limit, Unix milliseconds
	windowCalls int64

	ids     []Seen           // the newest ids, a ring once it is full
	next    int              // where the ring's next id goes
	index   map[uint64]int32 // key → place in ids, once there are many
	dropped bool             // ids were dropped
	tools   map[uint64]Digest
	listed  bool                // an MCP server listed tools, if their pins be lost or not
	masked  bool                // something was masked in what came in
	names   []string            // of the tools called, for their results
	past    []Done              // of the acts that the policy's rules ask for
	taken   taken               // by the session's next step
	above   above               // the session that began this one
	shell   []hazard.Definition // what its commands left in their shell; not kept on the disk, as it is what they said
	key     []byte              // of the digests of values; nil for none
	shared  *State              // what the sessions of its work remember of files; nil where that is not at hand
	// sinceWhole counts the steps since one that holds all of Values.
	sinceWhole int

	checked hashes // of the act that was checked last
}

// Digest is the first half of an act.Digest: enough to tell acts apart that
// were made to collide.
type Digest [16]byte

// String is the digest in hex; empty for the zero value, which is none.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

func short(d act.Digest) Digest { return Digest(d[:16]) }

// is reports whether a digest is an act's, in this form or the one before.
func (d Digest) is(a *act.Action) bool {
	return d == short(a.Digest) || a.Earlier != act.Digest{} && d == short(a.Earlier)
}

// knownAs is the digest that an act is remembered under: in the form before where
// one of its ids stands for it so already.
func (s *State) knownAs(a *act.Action, keys []uint64) Digest {
	for _, key := range keys {
		if seen := s.find(key); seen != nil && seen.Digest.is(a) {
			return seen.Digest
		}
	}
	return short(a.Digest)
}

// Seen is one id that the session has seen, and the act that it stood for.
type Seen struct {
	key    uint64
	turn   uint64
	Digest Digest
	// Step numbers the session's steps from 1: the step that the id belongs to.
	Step   int64
	Effect act.Effect
	// At is the position of the step's record, once Placed.
	At     act.Position
	Placed bool
	made   int64  // when, Unix milliseconds
	tool   uint16 // the place in names of the tool called, from 1
	call   bool   // it stands for a call that counts
	wire   bool   // it stands for a call on its way to an MCP server
}

// who tells one user of a session from another, in hashes; 0 is nobody.
type who struct{ agent, agentOrg, user uint64 }

func whoOf(a *act.Action) (w who) {
	w.agent = hash('a', a.Agent.ID)
	if a.Agent.Organization != "" {
		w.agentOrg = hash('o', a.Agent.Organization)
	}
	if a.User.ID != "" {
		w.user = hash('u', a.User.ID, a.User.Organization)
	}
	return w
}

// fingerprint is hashes of what makes an agent the one that it was: its
// instructions, tools, model and version. 0 is unknown.
type fingerprint [4]uint64

var fingerprintNames = [...]string{"instructions", "tools", "model", "version"}

// fingerprintOf hashes what an agent says of itself, each part alone, so that a change
// of any part between two steps is found and named.
func fingerprintOf(a *act.Action) fingerprint {
	return fingerprint{
		hashBytes('i', a.Agent.Instructions), hashBytes('T', a.Agent.Tools),
		hashBytes('m', a.Agent.ModelRaw), hash('v', a.Agent.Version),
	}
}

// hash names a tuple of strings within a class. Lengths keep tuples apart.
func hash(class byte, parts ...string) uint64 {
	var buf [160]byte
	b := append(buf[:0], class)
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

func hashBytes(class byte, p []byte) uint64 {
	if p == nil {
		return 0
	}
	sum := sha256.Sum256(p)
	return binary.LittleEndian.Uint64(sum[:]) ^ uint64(class)
}

// Print is what tells an agent from what it was before: short hashes of its instructions,
// tools, model and version; 0 where it does not say.
func (s *State) Print(a *act.Action) (short [4]uint32) {
	for i, h := range s.hashesOf(a).print {
		short[i] = uint32(h)
	}
	return short
}

func doorOf(k act.Kind) string {
	if k == act.MCPRequest || k == act.MCPResponse {
		return "mcp"
	}
	return "a2a"
}

// above is the session that began one; zero for none that is known.
type above struct {
	key  [16]byte
	name string // the first bytes of it
}

// Above is the key of the session that began this one, and its name; zero for none.
func (s *State) Above() (key [16]byte, name string) { return s.above.key, s.above.name }

// BegunBy has a step that was let through remember which session began this one. The first
// that is known stays: nobody is taken from whoever began it.
func (st *Step) BegunBy(key [16]byte, name string) {
	if st.above.key == [16]byte{} && st.effect != act.Deny && st.effect != act.Escalate {
		st.above = above{key, words.Cut(name, maxCallName)}
	}
}

type identity struct{ what, text string }

// identities are the ids under which an act is asked about again: same id and
// same digest is a repeat, same id and another digest is refused. Ids inside
// MCP and A2A messages are not among them, since each of their connections
// counts from the start again.
func identities(a *act.Action) (ids []identity) {
	if a.Step != "" {
		ids = append(ids, identity{"step", a.Step})
	}
	switch a.Kind {
	case act.ToolCall:
		ids = append(ids, identity{"execution", a.ID})
	case act.ToolResult:
		ids = append(ids, identity{"result", a.Answers})
	case act.MessageUser, act.MessageAgent, act.MessageSystem:
		ids = append(ids, identity{"message", a.ID})
	}
	return ids
}

// remembered are the keys of all ids that a step leaves behind: those of its
// identities first, in their order.
func remembered(a *act.Action) (keys []uint64) {
	for _, id := range identities(a) {
		switch id.what {
		case "step":
			keys = append(keys, hashAt(a, 's', a.Turn, id.text))
		case "execution":
			keys = append(keys, hash('x', id.text))
		case "result":
			keys = append(keys, resultOf(hash('x', id.text)))
		case "message":
			keys = append(keys, hash('m', id.text))
		}
	}
	switch a.Kind {
	case act.MCPRequest, act.A2ASend:
		if a.ID != "" {
			keys = append(keys, requestOf(a, a.ID))
		}
	case act.MCPResponse:
		if a.Answers != "" {
			keys = append(keys, resultOf(requestOf(a, a.Answers)))
		}
	case act.KnowledgeRetrieve:
		for _, source := range a.Retrieved[:min(len(a.Retrieved), 256)] {
			keys = append(keys, hash('k', source))
		}
	}
	return keys
}

// requestOf is the key of a request inside MCP or A2A with this id.
func requestOf(a *act.Action, id string) uint64 { return hashAt(a, 'q', a.Door, doorOf(a.Kind), id) }

// hashAt is hash of what belongs to an act. With a message of MCP it belongs to its
// server as well, where that is known: each has ids of its own, and what was decided
// of the one is not decided of the other.
func hashAt(a *act.Action, class byte, parts ...string) uint64 {
	if a.Server != "" && doorOf(a.Kind) == "mcp" {
		parts = append(parts, a.Server)
	}
	return hash(class, parts...)
}

// resultOf is the key of the result of the call with one of a call's keys.
func resultOf(execution uint64) uint64 { return execution ^ 0x72_65_73_75_6c_74_6f_66 }

// hashes are what an act is compared by, and what it leaves behind. They cost
// more than all else that is done with a session, so Check keeps them for Step.
type hashes struct {
	// of is the act. Step lets go of it, and Uncheck where no step follows: a session in
	// memory does not hold on to a request, which can be a thousand times its size.
	of     *act.Action
	who    who
	print  fingerprint
	turn   uint64
	keys   []uint64 // see remembered
	listed []uint64 // of act.Action.Listed
}

// hashesOf returns the hashes of an act, those of the last Check if it was the same.
func (s *State) hashesOf(a *act.Action) *hashes {
	if s.checked.of == a {
		return &s.checked
	}
	s.checked = hashes{of: a, who: whoOf(a), turn: hash('t', a.Turn), keys: remembered(a)}
	if a.Agent.Raw != nil {
		s.checked.print = fingerprintOf(a)
	}
	for _, d := range a.Listed {
		s.checked.listed = append(s.checked.listed, hash('d', a.Server, d.Name))
	}
	return &s.checked
}

// Uncheck lets go of the act that was checked last.
func (s *State) Uncheck() { s.checked = hashes{} }

// sameCall reports whether a call counts already, since it was asked about before
// as a step of the agent.
func (s *State) sameCall(a *act.Action, h *hashes) bool {
	return a.CallsMCP() && s.underway(short(a.Digest), h.turn) != nil
}

func (s *State) forgets() bool { return s.dropped || !s.Known }

func (s *State) find(key uint64) *Seen {
	if s.index != nil {
		if i, ok := s.index[key]; ok && s.ids[i].key == key {
			return &s.ids[i]
		}
		return nil
	}
	for i := range s.ids {
		if s.ids[i].key == key {
			return &s.ids[i]
		}
	}
	return nil
}

// sameStep reports whether seen belongs to the step that asked for the call.
func (s *State) sameStep(seen *Seen, executionID string) bool {
	call := s.find(hash('x', executionID))
	return call != nil && call.Step == seen.Step
}

// loops counts how often a call was made in a turn, as far back as nothing new
// happened: no call that had not been made before, and no answer that this one had
// not given. Who tests after each change makes the same call, and who waits for
// something gets another answer in the end. Calls before since do not count.
func (s *State) loops(d Digest, turn uint64, since int64) (n int) {
	var calls [loopWindow]int32 // where they stand, the newest first
	looked, found := 0, 0
	for i := 0; i < len(s.ids) && looked < loopWindow; i++ {
		at := (s.next - 1 - i + 2*len(s.ids)) % len(s.ids)
		if !s.ids[at].call {
			continue
		}
		if s.ids[at].made < since {
			break
		}
		if looked++; s.ids[at].turn == turn {
			calls[found] = int32(at)
			found++
		}
	}
	var known [loopWindow]Digest // other calls, and answers to this one
	old := known[:0]
	isNew := func(what Digest) bool {
		if slices.Contains(old, what) {
			return false
		}
		old = append(old, what)
		return true
	}
	for _, at := range slices.Backward(calls[:found]) {
		seen := &s.ids[at]
		if seen.Digest != d {
			if isNew(seen.Digest) {
				n = 0
			}
			continue
		}
		n++
		if answer := s.answer(int(at)); answer != nil && isNew(answer.Digest) {
			n = 1
		}
	}
	return n
}

// underway is the call of an MCP server's tool that was asked about already, as a step
// of the agent: the host asks once more as the message leaves. It is the same call, and
// counts once. It is nil where there is none.
func (s *State) underway(d Digest, turn uint64) *Seen {
	looked := 0
	for i := 0; i < len(s.ids) && looked < loopWindow; i++ {
		at := (s.next - 1 - i + 2*len(s.ids)) % len(s.ids)
		seen := &s.ids[at]
		if !seen.call && !seen.wire {
			continue
		}
		if looked++; seen.Digest == d && seen.turn == turn {
			if seen.wire || s.answer(at) != nil {
				return nil
			}
			return seen
		}
	}
	return nil
}

// answer returns the result of the call whose first id stands at a place; nil if
// none was told.
func (s *State) answer(at int) *Seen {
	for i := range 2 { // the step's id, and the execution's
		id := &s.ids[(at+i)%len(s.ids)]
		if id.Step != s.ids[at].Step {
			break
		}
		if id.key == 0 { // of a call without an id
			continue
		}
		if found := s.find(resultOf(id.key)); found != nil {
			return found
		}
	}
	return nil
}

func (s *State) inWindow(now time.Time) bool {
	return now.UnixMilli()-s.windowStart < rateWindow.Milliseconds()
}

func (s *State) remember(seen Seen) {
	if len(s.ids) < maxIDs {
		if s.ids == nil {
			s.ids = make([]Seen, 0, 4) // of a session's first step
		}
		s.ids = append(s.ids, seen)
		s.next = len(s.ids)
		if s.index != nil {
			s.index[seen.key] = int32(len(s.ids) - 1)
		} else if len(s.ids) > 24 {
			s.index = make(map[uint64]int32, 64)
			for i := range s.ids {
				s.index[s.ids[i].key] = int32(i)
			}
		}
		return
	}
	if s.next == maxIDs {
		s.next = 0
	}
	if old := s.ids[s.next].key; s.index[old] == int32(s.next) {
		delete(s.index, old)
	}
	s.ids[s.next] = seen
	s.index[seen.key] = int32(s.next)
	s.next++
	s.dropped = true
}

// Step is what one act adds to its session's memory.
type Step struct {
	at, saidAt  int64
	started     int64
	steps       int64
	calls       int64
	windowStart int64
	windowCalls int64
	who         who
	print       fingerprint
	turn        uint64
	taintedTurn uint64
	flags       byte
	effect      act.Effect
	digest      Digest
	keys        []uint64
	facts       []uint64 // of files: see files.go
	files       []uint64 // those of them that count for all sessions of the work
	tools       []pin
	called      string           // the tool that was called; behind localMark where what it gives is the machine's own
	values      *provenance.Step // nil for nothing
	above       above
	counted     bool // past says what of the acts that rules ask for it was
	pastWhole   bool // all that the session has done of them
	past        []Done
	shell       []hazard.Definition
}

// Unread reports whether nobody read what the step's act brought, since the policy of then
// did not ask where values come from.
func (st *Step) Unread() bool { return st.values == nil }

type pin struct {
	key    uint64
	digest Digest
}

const (
	flagAutonomous = 1 << iota
	flagCall
	flagDropped
	flagListed
	flagWire
	flagNewest
	flagMasked
	flagFile // behind the keys stand the facts about files, and how many these are
)

// Step is what the session is to remember of an act that was decided. The act
// must not have changed since it was checked. A denied act leaves its ids
// behind and nothing else, so that it cannot bend the memory that it was
// measured against, nor make a session its own that another will begin.
func (s *State) Step(a *act.Action, effect act.Effect) *Step {
	h := *s.hashesOf(a)
	s.Uncheck()
	st := s.unchanged(a.At)
	st.effect, st.digest, st.keys = effect, s.knownAs(a, h.keys), h.keys
	if effect == act.Deny || effect == act.Escalate {
		return st
	}
	begins := s.who.agent == 0
	if begins {
		st.who, st.started = h.who, st.at
	}
	if st.who.user == 0 {
		st.who.user = h.who.user
	}
	for i, part := range h.print {
		if part != 0 {
			st.print[i] = part
		}
	}
	if a.CallsMCP() {
		st.flags |= flagWire
	}
	if a.IsCall() {
		st.called = words.Cut(a.Canonical, maxCallName)
	}
	if a.IsCall() && !s.sameCall(a, &h) {
		st.flags |= flagCall
		st.calls++
		if st.windowCalls++; !s.inWindow(a.At) {
			st.windowStart, st.windowCalls = st.at, 1
		}
	}
	st.turn = h.turn
	if !a.SaidAt.IsZero() {
		st.saidAt = max(st.saidAt, a.SaidAt.UnixMilli())
	}
	if a.Kind == act.MCPRequest || a.Kind == act.MCPResponse {
		st.flags |= flagNewest
	}
	switch a.Kind {
	case act.Trigger:
		if begins {
			st.flags |= flagAutonomous
		}
		st.taintedTurn = h.turn
	case act.ToolResult, act.TaskResult, act.KnowledgeRetrieve, act.MCPResponse, act.A2AReceive:
		if !s.own(a) {
			st.taintedTurn = h.turn
		}
	case act.MessageUser:
		st.flags &^= flagAutonomous
	}
	for i, d := range a.Listed {
		st.flags |= flagListed
		key := h.listed[i]
		if known, ok := s.tools[key]; (!ok || known != short(d.Hash)) && len(s.tools)+len(st.tools) < maxTools {
			st.tools = append(st.tools, pin{key, short(d.Hash)})
		}
		hints, key := Digest{byte(d.Hints)}, hash('h', a.Server, d.Name)
		if s.tools[key] != hints && len(s.tools)+len(st.tools) < maxTools {
			st.tools = append(st.tools, pin{key, hints})
		}
	}
	return st
}

// unchanged is a step that leaves the session as it is.
func (s *State) unchanged(at time.Time) *Step {
	st := &Step{
		at: at.UnixMilli(), saidAt: s.lastSaid, started: s.Started.UnixMilli(),
		steps: s.Steps + 1, calls: s.Calls,
		windowStart: s.windowStart, windowCalls: s.windowCalls,
		who: s.who, print: s.print, turn: s.turn, taintedTurn: s.taintedTurn, above: s.above,
	}
	if s.forgets() {
		st.flags |= flagDropped
	}
	if s.Autonomous {
		st.flags |= flagAutonomous
	}
	if s.listed {
		st.flags |= flagListed
	}
	if s.masked {
		st.flags |= flagMasked
	}
	return st
}

// Gives has the step remember of a call whether what it gives is the machine's own. read is
// what the call does.
func (st *Step) Gives(read *hazard.Reading) {
	if st.called != "" && read.Local() {
		st.called = localMark + st.called
	}
}

// Apply remembers a step. Number is the session's step that it became.
func (s *State) Apply(st *Step) (number int64) {
	s.Steps, s.Calls = st.steps, st.calls
	s.Started, s.Last = time.UnixMilli(st.started), time.UnixMilli(st.at)
	s.Autonomous = st.flags&flagAutonomous != 0
	s.dropped = s.dropped || st.flags&flagDropped != 0
	s.listed = st.flags&flagListed != 0
	wasMasked := s.masked
	s.masked = st.flags&flagMasked != 0
	s.lastSaid, s.who, s.print = st.saidAt, st.who, st.print
	s.turn, s.taintedTurn, s.above = st.turn, st.taintedTurn, st.above
	s.windowStart, s.windowCalls = st.windowStart, st.windowCalls
	seen := Seen{
		turn: st.turn, Digest: st.digest, Step: st.steps, Effect: st.effect, made: st.at,
		call: st.flags&flagCall != 0, wire: st.flags&flagWire != 0, tool: s.nameOf(st.called),
	}
	s.applyPast(st)
	s.shell = hazard.Lasting(s.shell, st.shell)
	s.taken = taken{}
	s.sinceWhole++
	if st.values == nil { // nobody read what came in
		s.Values.Lost = true
	} else {
		s.Values.Apply(st.values, st.steps)
		if st.values.Whole() {
			s.sinceWhole = 0
		}
	}
	for i, key := range st.keys {
		if had := s.find(key); had != nil {
			newest := st.flags&flagNewest != 0 && i == len(st.keys)-1
			if !newest && (had.Effect != act.Escalate || had.Digest != st.digest) {
				continue // an id stands for what it first stood for
			}
			had.key = 0 // what was held is decided now
		}
		seen.key = key
		s.remember(seen)
		seen.call, seen.wire = false, false
	}
	if seen.call || seen.wire { // no id is new, or it has none: the call counts all the same
		seen.key = 0
		s.remember(seen)
	}
	seen.call, seen.wire = false, false
	if st.flags&flagMasked != 0 && !wasMasked && st.facts == nil { // by a step that is gone, or of an older form
		st.facts = []uint64{factOf(factMasked, "", 1)}
	}
	s.learn(st.facts, seen)
	for _, p := range st.tools {
		if s.tools == nil {
			s.tools = make(map[uint64]Digest)
		}
		s.tools[p.key] = p.digest
	}
	return st.steps
}

// Place notes the position of a step's record, once it is durable.
func (s *State) Place(step int64, at act.Position) {
	for i := range len(s.ids) {
		seen := &s.ids[(s.next-1-i+2*len(s.ids))%len(s.ids)]
		if seen.Step < step {
			return
		}
		if seen.Step == step {
			seen.At, seen.Placed = at, true
		}
	}
}

// Tainted reports whether outside content was read in the act's turn.
func (s *State) Tainted(turn string) bool {
	return s != nil && s.taintedTurn != 0 && s.taintedTurn == hash('t', turn)
}

// Size is roughly the memory that the State holds, in bytes.
func (s *State) Size() int {
	return 760 + len(s.ids)*72 + len(s.index)*24 + len(s.tools)*40 + 8*(cap(s.checked.keys)+cap(s.checked.listed)) + s.Values.Size() + len(s.names)*48 + len(s.above.name) + len(s.past)*(56+8*MaxTimes)
}

// Write is one durable write of a session's memory: what Step.Append wrote, and
// the position of the record that it was written with.
type Write struct {
	At   act.Position
	Data []byte
}

// Restore rebuilds a State from its newest writes, newest first. complete says
// that they reach back to the first.
func Restore(writes []Write, complete bool) (*State, error) {
	s := &State{Known: true}
	whole := complete // all that was read is in the writes
	for i := len(writes) - 1; i >= 0; i-- {
		st, err := parseStep(writes[i].Data)
		if err != nil {
			return nil, err
		}
		s.Place(s.Apply(st), writes[i].At)
		whole = st.values != nil && (whole || st.values.Whole())
	}
	s.dropped = s.dropped || !complete
	s.Values.Lost = s.Values.Lost || !whole
	return s, nil
}

// Follow brings a State up to date with later writes, newest first, that were made
// elsewhere: the first of them follows the newest step that the State has.
func (s *State) Follow(writes []Write) error {
	whole := !s.Values.Lost
	for i := len(writes) - 1; i >= 0; i-- {
		st, err := parseStep(writes[i].Data)
		if err != nil {
			return err
		}
		s.Place(s.Apply(st), writes[i].At)
		whole = st.values != nil && (whole || st.values.Whole())
	}
	s.Values.Lost = s.Values.Lost || !whole
	return nil
}

// The versions of a step's encoding. The first had nothing of values, the third says
// which acts it was that rules ask for, and the fourth and the fifth are the second and the
// third with the session that began the step's.
const (
	firstVersion     = 1
	stepVersion      = 2
	pastVersion      = 3
	aboveVersion     = 4
	pastAboveVersion = 5

	newestVersion = pastAboveVersion
)

// Append appends the step's encoding.
func (st *Step) Append(b []byte) []byte {
	begin := len(b)
	b = slices.Grow(b, 160+8*(len(st.keys)+len(st.facts))+24*len(st.tools))
	version := byte(stepVersion)
	begun := st.above.key != [16]byte{}
	switch {
	case st.counted && begun:
		version = pastAboveVersion
	case begun:
		version = aboveVersion
	case st.counted:
		version = pastVersion
	}
	b = append(b, version, st.flags, byte(st.effect))
	for _, n := range [...]int64{st.at, st.saidAt, st.started, st.steps, st.calls, st.windowStart, st.windowCalls} {
		b = binary.AppendVarint(b, n)
	}
	for _, h := range [...]uint64{st.who.agent, st.who.agentOrg, st.who.user,
		st.print[0], st.print[1], st.print[2], st.print[3], st.turn, st.taintedTurn} {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	b = append(b, st.digest[:]...)
	facts := len(st.facts)
	if facts > 0 {
		b[begin+1] |= flagFile
		facts++ // how many they are stands behind them
	}
	b = binary.AppendUvarint(b, uint64(len(st.keys)+facts))
	for _, k := range st.keys {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	if facts > 0 {
		for _, k := range append(st.facts[:facts-1:facts-1], uint64(facts-1)) {
			b = binary.LittleEndian.AppendUint64(b, k)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(st.tools)))
	for _, p := range st.tools {
		b = binary.LittleEndian.AppendUint64(b, p.key)
		b = append(b, p.digest[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(st.called)))
	b = append(b, st.called...)
	if begun {
		b = append(b, st.above.key[:]...)
		b = binary.AppendUvarint(b, uint64(len(st.above.name)))
		b = append(b, st.above.name...)
	}
	if st.counted {
		b = st.appendPast(b)
	}
	if st.values != nil {
		b = st.values.Append(b)
	}
	return b
}

var errStep = errors.New("session: a remembered step is damaged")

// cutName reads a name with its length before it, and returns the rest.
func cutName(b []byte) (name string, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) || n > maxCallName {
		return "", nil, false
	}
	return string(b[size : size+int(n)]), b[size+int(n):], true
}

func parseStep(b []byte) (*Step, error) {
	if len(b) < 3 || b[0] < firstVersion || b[0] > newestVersion {
		return nil, errStep
	}
	version := b[0]
	st := &Step{flags: b[1], effect: act.Effect(b[2])}
	b = b[3:]
	for _, p := range [...]*int64{&st.at, &st.saidAt, &st.started, &st.steps, &st.calls, &st.windowStart, &st.windowCalls} {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, errStep
		}
		*p, b = n, b[size:]
	}
	if len(b) < 9*8+16 {
		return nil, errStep
	}
	for _, p := range [...]*uint64{&st.who.agent, &st.who.agentOrg, &st.who.user,
		&st.print[0], &st.print[1], &st.print[2], &st.print[3], &st.turn, &st.taintedTurn} {
		*p, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	copy(st.digest[:], b)
	b = b[16:]
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size)/8 {
		return nil, errStep
	}
	b = b[size:]
	for range n {
		st.keys, b = append(st.keys, binary.LittleEndian.Uint64(b)), b[8:]
	}
	if last := len(st.keys) - 1; st.flags&flagFile != 0 && last >= 0 && st.keys[last] <= uint64(last) {
		at := last - int(st.keys[last])
		st.keys, st.facts = st.keys[:at:at], st.keys[at:last]
	}
	n, size = binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size)/24 {
		return nil, errStep
	}
	b = b[size:]
	for range n {
		p := pin{key: binary.LittleEndian.Uint64(b)}
		copy(p.digest[:], b[8:])
		st.tools, b = append(st.tools, p), b[24:]
	}
	if version == firstVersion {
		if len(b) != 0 {
			return nil, errStep
		}
		return st, nil
	}
	var ok bool
	if st.called, b, ok = cutName(b); !ok {
		return nil, errStep
	}
	if version >= aboveVersion {
		if len(b) < len(st.above.key) {
			return nil, errStep
		}
		b = b[copy(st.above.key[:], b):]
		if st.above.name, b, ok = cutName(b); !ok {
			return nil, errStep
		}
	}
	if version == pastVersion || version == pastAboveVersion {
		var err error
		if b, err = st.parsePast(b); err != nil {
			return nil, errStep
		}
	}
	if len(b) > 0 {
		var err error
		if st.values, err = provenance.ParseStep(b); err != nil {
			return nil, errStep
		}
	}
	return st, nil
}
