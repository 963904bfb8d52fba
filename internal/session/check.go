package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/words"
)

// Checks lists every built-in check that a rule can name with "check:", with
// the sentence that documents it.
var Checks = []struct{ Name, Doc string }{
	{"tool.undeclared", "the agent declared its tools, and the one called is not among them (over MCP it is flagged only: the server may have told of it)"},
	{"tool.arguments", "a required argument is missing, undeclared, or of the wrong type"},
	{"tool.new", "the agent was never let to call this tool: its bill of materials does not show it as used. An agent that has no bill has used none"},
	{"tool.confusable", "the tool's name uses characters that look like others"},
	{"result.orphan", "a result answers a call that nobody asked about in this session"},
	{"result.denied", "a result answers a call that was denied"},
	{"result.dialogue", "a result answers a call that was held, and the agent says that its user agreed in a window of the agent's own"},
	{"result.repeated", "a call gets a second, different result"},
	{"id.reused", "an execution, step or message id is used again for something else"},
	{"agent.changed", "the agent's instructions, tools, model or version changed within the session"},
	{"files.changed", "what a coding agent goes by (instructions such as AGENTS.md, skills, settings with hooks) is new or has changed, and nobody has agreed to that"},
	{"session.shared", "one session is used by two agents, users or organizations"},
	{"time.skew", "the step's timestamp is more than 15 minutes from the guardian's clock"},
	{"time.backwards", "the step's timestamp lies more than 5 minutes before an earlier step's"},
	{"call.loop", "the same call is made for the tenth time in one turn (without turns: in ten minutes), and nothing new came in between: no other call for the first time, no other answer. The tasks of a workflow, which are planned, are no loop"},
	{"session.rate", "the session makes more than 600 calls within a minute"},
	{"memory.foreign", "memory that was stored for one user is given to another"},
	{"memory.unknown", "memory is retrieved that was never stored through the guardian"},
	{"mcp.unlisted", "an MCP tool is called that the server did not list in this session"},
	{"mcp.changed", "an MCP server's definition of a tool changed since it was first listed"},
	{"reply.orphan", "an A2A or MCP answer matches no request of this session"},
	{"taint.consequential", "outside content entered this turn, and now a tool is called"},
	{"citation.unknown", "a cited source is neither a resource of the agent nor was it retrieved"},
	{"org.foreign", "the user belongs to another organization than the agent"},
	{"prompt.leak", "the agent's output repeats its instructions"},
	{"order.unexpected", "the agent answers before anything was asked in the turn"},
	{"autonomous", "a tool is called in a session that an event started, with no user in it"},
	{"session.unknown", "what the session remembered has expired or was evicted"},
	{"agent.unregistered", "an A2G agent asks that has not registered"},
	{"agent.capability", "an A2G agent asks for a tool that it did not register for"},
	{"agent.violations", "an A2G agent did something that no verdict covers, since it became active; a rule that denies for this suspends the agent"},
	{"model.absent", "a model is configured to score the call's risk, and did not answer"},
	{"mask.written_back", "a call would write a notice such as [password removed] into the file of which a result of this session was masked, a copy of it, or a file that then takes its place, also where the command puts the notice together as it runs (not in two calls, and not from what other files hold); or, where the result was of no file that is known (a search, a service), anywhere, or give it to a service or a program as a value"},
	{"secret.retyped", "a message to another agent or to an MCP server (calls of tools are read as hazards) holds a value that this session, or another one of its work, has read in a place of secrets"},
	{"report.uncovered", "an A2G report tells of an act that no verdict covers"},
	{"report.exceeded", "an A2G report tells of more memory, CPU or time than the verdict's manifest allowed"},
}

// Limits of the checks.
const (
	maxSkew      = 15 * time.Minute
	maxBackwards = 5 * time.Minute
	loopCalls    = 10               // the same call, in one turn
	loopWindow   = 64               // looking back over this many calls
	loopSpan     = 10 * time.Minute // and, where a session has no turns, over this time
	rateCalls    = 600              // calls in one rateWindow
	rateWindow   = time.Minute
)

// Owner says for whom a memory was stored. The zero Owner means that it was
// never stored through the guardian.
type Owner uint64

// OwnerOf is the owner of what is stored for this user; users of no name share one.
func OwnerOf(u act.User) Owner { return Owner(hash('u', u.ID, u.Organization)) }

// SharedOwner owns what was stored alike for several users.
const SharedOwner Owner = 1

// Check compares an act with the session's memory. It returns the act's
// violations, and the recorded step when the same act was asked about before
// under the same id. It changes nothing. owners holds, for each leaf of a
// memory.retrieve, the owner of that memory.
//
// A nil State is a session without memory: an act that names no session. Only
// the checks that need none are made.
func (s *State) Check(a *act.Action, owners []Owner) (v []act.Violation, repeat *Seen) {
	c := checker{a: a, s: s}
	c.tool()
	c.user()
	c.clock()
	if a.Kind == act.MessageAgent {
		c.leak()
	}
	if s == nil {
		return c.violations(), nil
	}
	c.hashes = s.hashesOf(a)
	if !s.Known {
		c.add("session.unknown", "", "What this session did before has expired here, so some checks cannot be sure.")
	}
	repeat = c.ids()
	c.result()
	c.fingerprint()
	c.rhythm()
	c.writtenBack()
	c.retyped()
	c.memory(owners)
	c.mcp()
	c.citations()
	v = c.violations()
	if slices.ContainsFunc(v, func(x act.Violation) bool { return slices.Contains(noRepeat, x.Check) }) {
		repeat = nil
	}
	return v, repeat
}

// noRepeat are the violations with which an act is another one than the one
// recorded, or another asks: it must not get the recorded answer.
var noRepeat = []string{"id.reused", "result.repeated", "session.shared", "agent.changed", "memory.foreign"}

type checker struct {
	a      *act.Action
	s      *State
	hashes *hashes // of a; nil outside a session
	v      []act.Violation
	counts []count // of the violations of each check
}

// count is how often a check was violated.
type count struct {
	check  string
	n      int
	unsure bool // all of them beyond maxViolations are unsure
}

// maxViolations is how many violations of one check are kept. A request can
// violate tool.arguments a hundred thousand times, and nobody reads them.
const maxViolations = 32

func (c *checker) add(check, pointer, format string, args ...any) {
	c.addUnless(check == "session.unknown", check, pointer, format, args...)
}

// addUnless adds a violation that is certain only while nothing was forgotten.
func (c *checker) addUnless(forgotten bool, check, pointer, format string, args ...any) {
	i := slices.IndexFunc(c.counts, func(n count) bool { return n.check == check })
	if i < 0 {
		i = len(c.counts)
		c.counts = append(c.counts, count{check: check, unsure: true})
	}
	n := &c.counts[i]
	if n.n++; n.n > maxViolations {
		n.unsure = n.unsure && forgotten
		return
	}
	c.v = append(c.v, act.Violation{Check: check, Pointer: pointer, Message: fmt.Sprintf(format, args...), Unsure: forgotten})
}

// violations returns all that were added, and for each check of which there
// were too many one that counts the others.
func (c *checker) violations() []act.Violation {
	for _, n := range c.counts {
		if n.n > maxViolations {
			c.v = append(c.v, act.Violation{
				Check: n.check, Unsure: n.unsure,
				Message: fmt.Sprintf("There are %d more of this kind.", n.n-maxViolations),
			})
		}
	}
	return c.v
}

func (c *checker) tool() {
	a := c.a
	if a.Confusable {
		c.add("tool.confusable", "", "The name %s uses characters that look like those of another name.", quote(a.Resource))
	}
	if !a.IsCall() || a.Agent.Tools == nil {
		return
	}
	if a.Tool == nil && a.CallsMCP() { // what a server has, the server lists: see mcp
		c.addUnless(true, "tool.undeclared", "", "The agent declared no tool named %s, and may know it from the server.", quote(a.Resource))
		return
	}
	if a.Tool == nil {
		c.add("tool.undeclared", "", "The agent declared no tool with the id %s.", quote(a.Resource))
		return
	}
	c.arguments(a.Tool.Arguments)
}

// arguments compares the arguments with those that the tool declares. Either
// can be tens of thousands, so both are looked up by name and id.
func (c *checker) arguments(declared []act.ToolArgument) {
	a := c.a
	byName, byID := map[string]int{}, map[string]int{}
	for i, d := range slices.Backward(declared) { // of two with one name, the first counts
		byName[d.Name] = i
		if d.ID != "" {
			byID[d.ID] = i
		}
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, arg := range a.Arguments {
		names[arg.Name], ids[arg.ID] = true, true
		i, named := byName[arg.Name]
		if j, ok := byID[arg.ID]; ok && (!named || j < i) {
			i, named = j, true
		}
		if !named {
			c.add("tool.arguments", arg.Pointer, "The tool %s declares no argument %s.", quote(a.Resource), quote(arg.Name))
			continue
		}
		if want, came := declared[i].Type, jsonType(arg.Value); want != "" && came != want {
			c.add("tool.arguments", arg.Pointer, "The argument %s is declared as %s, and a value of type %s came.", quote(arg.Name), want, came)
		}
	}
	for _, d := range declared {
		if d.Required && !names[d.Name] && !(d.ID != "" && ids[d.ID]) {
			c.add("tool.arguments", "", "The tool %s requires the argument %s, which is missing.", quote(a.Resource), quote(d.Name))
		}
	}
}

// jsonType names the type of a valid JSON value by its first byte.
func jsonType(raw []byte) string {
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (c *checker) user() {
	if u := c.a.User.Organization; u != "" && c.a.Agent.Organization != "" && u != c.a.Agent.Organization {
		c.add("org.foreign", "", "The user belongs to the organization %s, and the agent to %s.", quote(u), quote(c.a.Agent.Organization))
	}
}

func (c *checker) clock() {
	if c.a.SaidAt.IsZero() {
		return
	}
	if d := c.a.At.Sub(c.a.SaidAt); d.Abs() > maxSkew {
		when := "behind"
		if d < 0 {
			when = "ahead of"
		}
		c.add("time.skew", "", "The step's timestamp is %s %s the guardian's clock.", d.Abs().Round(time.Minute), when)
	}
	if c.s != nil && c.s.lastSaid-c.a.SaidAt.UnixMilli() > maxBackwards.Milliseconds() {
		c.add("time.backwards", "", "The step's timestamp lies before that of an earlier step of the session.")
	}
}

// ids finds what the session has seen under the act's ids: the recorded step,
// if every id that is known stands for the very same act.
func (c *checker) ids() (repeat *Seen) {
	a, s := c.a, c.s
	fresh := false // the act's own id, other than the step's, is new
	for i, id := range identities(a) {
		seen := s.find(c.hashes.keys[i])
		fresh = fresh || seen == nil && id.what != "step"
		switch {
		case seen == nil:
		case seen.Digest.is(a):
			if repeat == nil {
				repeat = seen
			}
		case id.what == "result":
			c.add("result.repeated", "", "The call %s has had another result already.", quote(a.Answers))
		case id.what == "step" && a.Kind == act.ToolResult && a.Answers != "" && s.sameStep(seen, a.Answers):
			// A call and its result may be one step.
		default:
			c.add("id.reused", "", "The %s id %s was used before for something else in this session.", id.what, quote(id.text))
		}
	}
	if fresh {
		return nil
	}
	return repeat
}

func (c *checker) result() {
	a, s := c.a, c.s
	if a.Answers == "" {
		return
	}
	switch a.Kind {
	case act.ToolResult:
		call := s.find(hash('x', a.Answers))
		switch {
		case call == nil:
			c.addUnless(s.forgets(), "result.orphan", "", "No call with the execution id %s was asked about in this session.", quote(a.Answers))
		default:
			c.barred(call)
		}
	case act.MCPResponse, act.A2AReceive:
		request := s.find(requestOf(a, a.Answers))
		if request == nil {
			c.addUnless(s.forgets(), "reply.orphan", "", "No request with the id %s was reported in this session.", quote(a.Answers))
			return
		}
		c.barred(request)
	}
}

// barred says that what was not allowed has happened, if it was not. Who was held may say
// that its user agreed in its own window: nobody here saw that, and so it is said.
func (c *checker) barred(call *Seen) {
	switch {
	case call.Effect == act.Escalate && c.a.Dialogue != "":
		c.add("result.dialogue", "", "The call %s was held (approval %s). The agent says that its user agreed in its own window.", quote(c.a.Answers), quote(c.a.Dialogue))
	case call.Effect == act.Escalate:
		c.add("result.denied", "", "The call %s was held, and here is its result.", quote(c.a.Answers))
	case call.Effect == act.Deny:
		c.add("result.denied", "", "The call %s was denied, and here is its result.", quote(c.a.Answers))
	}
}

// fingerprint compares the agent and its user with those that began the session.
func (c *checker) fingerprint() {
	a, s, who := c.a, c.s, c.hashes.who
	if s.who.agent == 0 { // nobody has begun it yet
		return
	}
	switch {
	case who.agent != s.who.agent:
		c.add("session.shared", "", "The session belongs to another agent.")
	case who.user != 0 && s.who.user != 0 && who.user != s.who.user:
		c.add("session.shared", "", "The session belongs to another user.")
	case who.agentOrg != 0 && s.who.agentOrg != 0 && who.agentOrg != s.who.agentOrg:
		c.add("session.shared", "", "The session belongs to an agent of another organization.")
	}
	if a.Agent.Raw == nil || s.print == (fingerprint{}) || who.agent != s.who.agent {
		return
	}
	if fp := c.hashes.print; fp != s.print {
		changed := make([]string, 0, len(fp))
		for i, part := range fingerprintNames {
			if fp[i] != s.print[i] && fp[i] != 0 && s.print[i] != 0 { // what is left out is unknown, not changed
				changed = append(changed, part)
			}
		}
		if len(changed) > 0 {
			c.add("agent.changed", "", "The agent's %s changed within the session.", strings.Join(changed, " and "))
		}
	}
}

// rhythm looks for loops, floods, and steps out of their order.
func (c *checker) rhythm() {
	a, s, turn := c.a, c.s, c.hashes.turn
	switch {
	case a.IsCall():
		if s.sameCall(a, c.hashes) {
			break
		}
		c.loop()
		if s.inWindow(a.At) && s.windowCalls >= rateCalls {
			c.add("session.rate", "", "The session has made more than %d calls within a minute.", rateCalls)
		}
		if s.taintedTurn != 0 && s.taintedTurn == turn {
			c.add("taint.consequential", "", "Content from outside was read in this turn before the tool %s is called.", quote(a.Resource))
		}
		if s.Autonomous && a.User.ID == "" {
			c.add("autonomous", "", "An event, not a person, started this session.")
		}
	case a.Kind == act.MessageAgent:
		if a.Turn != "" && s.turn != turn {
			c.addUnless(s.forgets(), "order.unexpected", "", "The agent answers in a turn in which nothing was asked.")
		}
	}
}

// loop looks for the same call over and over. The tasks of a workflow are planned
// before any of them starts, alike ones, too, and they end: they are no loop.
func (c *checker) loop() {
	if c.a.Kind == act.TaskStart {
		return
	}
	since, where := int64(math.MinInt64), "in this turn"
	if c.a.Turn == "" {
		since, where = c.a.At.Add(-loopSpan).UnixMilli(), "in this session"
	}
	if n := c.s.loops(short(c.a.Digest), c.hashes.turn, since); n+1 >= loopCalls {
		c.add("call.loop", "", "The same call is made for the %s time %s, and nothing new came in between.", ordinal(n+1), where)
	}
}

func (c *checker) memory(owners []Owner) {
	if c.a.Kind != act.MemoryRetrieve {
		return
	}
	mine := OwnerOf(c.a.User)
	for i, owner := range owners {
		pointer := c.a.Content[i].Pointer
		switch owner {
		case 0:
			c.add("memory.unknown", pointer, "This memory was never stored through the guardian.")
		case mine, SharedOwner:
		default:
			c.add("memory.foreign", pointer, "This memory was stored for another user.")
		}
	}
}

func (c *checker) mcp() {
	a, s := c.a, c.s
	unknown := 0
	for i, d := range a.Listed {
		pin, ok := s.tools[c.hashes.listed[i]]
		switch {
		case !ok:
			unknown++
		case pin != short(d.Hash):
			c.add("mcp.changed", "", "The MCP tool %s is defined differently from when it was first listed.", quote(d.Name))
		}
	}
	// A definition without a pin is a new one, unless pins were lost.
	if unknown > 0 && (s.forgets() || len(s.tools) >= maxTools) {
		c.addUnless(true, "mcp.changed", "", "Whether %d of the MCP tools were defined differently before is no longer known.", unknown)
	}
	if a.Kind == act.MCPRequest && a.InnerMethod == "tools/call" && s.listed {
		if _, ok := s.tools[hash('d', a.Server, a.Canonical)]; !ok {
			c.addUnless(s.forgets() || len(s.tools) >= maxTools, "mcp.unlisted", "", "The MCP server did not list a tool named %s.", quote(a.Resource))
		}
	}
}

// Defined is how the server last defined the tool that an act calls; zero where that is
// not known.
func (s *State) Defined(a *act.Action) Digest {
	if !a.IsCall() || a.Server == "" {
		return Digest{}
	}
	return s.tools[hash('d', a.Server, a.Canonical)]
}

// Hints are what an MCP server said in this session of the tool that an act calls, or whose
// result it is.
func (s *State) Hints(a *act.Action) act.Hints {
	if len(s.tools) == 0 || !a.CallsMCP() && a.Kind != act.MCPResponse {
		return 0
	}
	hints := s.tools[hash('h', a.Server, s.CalledBy(a))]
	return act.Hints(hints[0])
}

func (c *checker) citations() {
	if len(c.a.Cites) == 0 {
		return
	}
	resources := make(map[string]bool, len(c.a.Resources))
	for _, r := range c.a.Resources {
		resources[r] = true
	}
	for _, cite := range c.a.Cites {
		if resources[cite] || c.s.find(hash('k', cite)) != nil {
			continue
		}
		c.addUnless(c.a.Resources == nil || c.s.forgets(), "citation.unknown", "", "The source %s is not known in this session.", quote(cite))
	}
}

// leak looks for a passage of the agent's instructions, word for word, in what it says.
func (c *checker) leak() {
	const step, longest = 48, 4096
	in := string(c.a.Agent.Instructions)
	in = in[:min(len(in), longest)]
	var passages passages
	for i := 1; i+passage < len(in); i += step {
		passages.add(in[i : i+passage])
	}
	for _, leaf := range c.a.Content {
		if passages.in(leaf.Text) {
			c.add("prompt.leak", leaf.Pointer, "The message repeats a passage of the agent's instructions.")
			return
		}
	}
}

// passage is the length of a passage of the instructions, in bytes.
const passage = 64

// passages are looked for all at once, by a hash that rolls over the text: a
// message can have megabytes, and looking for each in turn took half a second.
type passages struct {
	byHash map[uint64][]string
	filter [64]uint64 // a bit for the top of each hash, so that the map is seldom asked
}

// rollBase is not known outside, so that nobody can make texts collide.
var (
	rollBase = rand.Uint64()<<3 | 5
	rollLast = func() uint64 { // what the oldest byte of a passage is multiplied by
		p := uint64(1)
		for range passage - 1 {
			p *= rollBase
		}
		return p
	}()
)

func roll(h uint64, in byte) uint64 { return h*rollBase + uint64(in) + 1 }

func (p *passages) add(text string) {
	var h uint64
	for i := range passage {
		h = roll(h, text[i])
	}
	if slices.Contains(p.byHash[h], text) {
		return
	}
	if p.byHash == nil {
		p.byHash = map[uint64][]string{}
	}
	p.byHash[h] = append(p.byHash[h], text)
	p.filter[h>>58] |= 1 << (h >> 52 & 63)
}

// in reports whether one of the passages stands in a text.
func (p *passages) in(text string) bool {
	if p.byHash == nil || len(text) < passage {
		return false
	}
	var h uint64
	for i := range passage - 1 {
		h = roll(h, text[i])
	}
	for end := passage - 1; end < len(text); end++ {
		h = roll(h, text[end])
		start := end + 1 - passage
		if p.filter[h>>58]&(1<<(h>>52&63)) != 0 && slices.Contains(p.byHash[h], text[start:end+1]) {
			return true
		}
		h -= (uint64(text[start]) + 1) * rollLast
	}
	return false
}

// quote shows a caller's text inside a sentence: bounded, on one line, harmless
// in a terminal.
type quote string

func (q quote) String() string {
	return fmt.Sprintf("%q", words.Shorten(string(q), 80))
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
