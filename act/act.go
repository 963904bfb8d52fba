// Package act is reeve's vocabulary: what an agent is about to do (Action) and
// what is said about it (Decision). Every protocol turns its messages into an
// Action, one guard judges it, and each protocol writes the Decision in its
// own words. The package imports the standard library only.
package act

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind says what sort of act an Action is. Policies select rules by it.
type Kind string

// The kinds of act that reeve judges.
const (
	MessageUser       Kind = "message.user"       // a user's prompt, before the agent reads it
	MessageAgent      Kind = "message.agent"      // the agent's output, before the user sees it
	MessageSystem     Kind = "message.system"     // a system message, before it is shown
	ToolCall          Kind = "tool.call"          // a tool is about to be called
	ToolResult        Kind = "tool.result"        // a tool's output, before the model reads it
	KnowledgeRetrieve Kind = "knowledge.retrieve" // retrieved documents, before the model reads them
	MemoryStore       Kind = "memory.store"       // something is about to be remembered
	MemoryRetrieve    Kind = "memory.retrieve"    // something remembered is about to be used
	Trigger           Kind = "trigger"            // an event wakes the agent
	A2ASend           Kind = "a2a.send"           // an A2A request
	A2AReceive        Kind = "a2a.receive"        // an A2A answer or event
	MCPRequest        Kind = "mcp.request"        // an MCP request or notification
	MCPResponse       Kind = "mcp.response"       // an MCP answer
	AgentRegister     Kind = "agent.register"     // an agent registers, before it is known
	AgentEvent        Kind = "agent.event"        // a session, a turn, a sub-agent or a skill begins or ends, or what an agent is made of
	TaskStart         Kind = "task.start"         // a task of a workflow is about to be executed
	TaskResult        Kind = "task.result"        // what a task gave, before others read it
)

// Kinds lists every kind, in the order of the documentation.
var Kinds = []Kind{
	MessageUser, MessageAgent, MessageSystem, ToolCall, ToolResult, KnowledgeRetrieve,
	MemoryStore, MemoryRetrieve, Trigger, A2ASend, A2AReceive, MCPRequest, MCPResponse,
	AgentRegister, AgentEvent, TaskStart, TaskResult,
}

// Effect is what is decided about an act. The zero value denies, and a smaller
// value is stricter: deny > escalate > modify > allow.
type Effect uint8

// The effects, strictest first.
const (
	Deny     Effect = iota // must not happen
	Escalate               // a person must agree first
	Modify                 // may happen in the changed form only
	Allow                  // may happen as asked
)

var effectNames = [...]string{"deny", "escalate", "modify", "allow"}

func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return "deny"
}

// ParseEffect reads an effect's name. ok is false, and the effect Deny, for any other word.
func ParseEffect(s string) (e Effect, ok bool) {
	for i, n := range effectNames {
		if s == n {
			return Effect(i), true
		}
	}
	return Deny, false
}

// Stricter returns the stricter of two effects.
func Stricter(a, b Effect) Effect { return min(a, b) }

// Principal is who asks, as established by reeve from a credential, never from
// what the caller says about itself.
type Principal struct {
	// Name identifies the principal: "key:<name>", "jwt:<issuer>#<subject>",
	// "jwt:<issuer>#<actor>?for=<subject>" where a token says that somebody acts for its
	// subject, the SPIFFE ID of a workload, "socket:<user>(<uid>)" for an operator on this
	// machine ("socket" where the system does not tell whom), or "anonymous".
	Name string
	// Method says how the principal was authenticated: "key", "jwt", "spiffe", "socket",
	// "console" for who was let into the console by the socket, or "unauthenticated".
	Method string
	// Organization is the credential's organization, or empty.
	Organization string
	// Person is who holds the credential, where one person has several: a word, or the
	// name of another of them. Empty for a credential that is its holder's only one.
	Person string
	// Delegation is by whose leave the principal acts, as a token says; nil where none does.
	Delegation *Delegation
}

// Delegation is by whose leave a principal acts: what a token says that was verified, and
// never what the caller says of itself.
type Delegation struct {
	// OnBehalfOf is who is acted for, by the name that its own token would give it; empty
	// where the principal acts for itself.
	OnBehalfOf string `json:"on_behalf_of,omitzero"`
	// Person is who that is, in the word by which credentials say who holds them; empty where
	// the token does not say it. Who acts is not that person: see Principal.Person.
	Person string `json:"person,omitzero"`
	// Actors are those who act, by their names: the present one first, then those through
	// whose hands the right came. Only the first was established when the token was made.
	Actors []string `json:"actors,omitempty"`
	// Client is the OAuth client that the token was given to.
	Client string `json:"client,omitzero"`
	// Scopes are what the token is good for.
	Scopes []string `json:"scopes,omitempty"`
	// Proof says how the caller showed that the token is its own: "dpop", "mtls" or both.
	// Empty for a token that is good in anybody's hands.
	Proof string `json:"proof,omitzero"`
}

// Delegated is by whose leave the principal acts: the zero Delegation where nothing says so.
func (p Principal) Delegated() Delegation {
	if p.Delegation == nil {
		return Delegation{}
	}
	return *p.Delegation
}

// Holder is the person whom answers are counted for.
func (p Principal) Holder() string {
	if p.Person != "" {
		return p.Person
	}
	return p.Name
}

// Known is the person who holds the credential, and empty where that says of nobody who
// it is: then it may be anybody's second one.
func (p Principal) Known() string {
	if p.Person != "" || p.Method == "jwt" {
		return p.Holder()
	}
	return ""
}

// Anonymous is the principal of a caller without a credential.
var Anonymous = Principal{Name: "anonymous", Method: "unauthenticated"}

// Agent is what an agent says about itself. The byte slices are parts of
// Action.Body as sent, nil where absent.
type Agent struct {
	ID, Name, Version, Provider, Organization string
	Model                                     string // the model's id
	Raw                                       []byte // the whole description
	Instructions                              []byte // raw JSON string
	Tools                                     []byte // raw JSON array; nil means unknown, not none
	ModelRaw                                  []byte // raw JSON object
}

// User is the person an agent says it works for. ID is empty when there is none.
type User struct {
	ID, Name, Email, Organization string
}

// Tool is an agent's own declaration of the tool that it calls.
type Tool struct {
	ID, Name, Type string
	Arguments      []ToolArgument
}

// ToolArgument is one declared argument. Type is empty when undeclared, else
// one of string, number, boolean, object, array, null.
type ToolArgument struct {
	Name, ID, Type string
	Required       bool
}

// LabelsKey is the member of an A2A message's metadata that has its labels: what whoever
// sends it has read that may have gone into it, as tags, and foreign.
const LabelsKey = "reeve.labels"

// Definition is one tool as an MCP server defines it: its canonical name and a
// SHA-256 over the whole definition in canonical JSON.
type Definition struct {
	Name  string
	Hash  Digest
	Hints Hints
}

// Hints are what an MCP server says of a tool in the definition's annotations. Nobody
// checks it: what makes a tool more dangerous may be believed, and what makes it harmless
// only of a server that is trusted.
type Hints uint8

// The hints, each with the one that says the contrary.
const (
	Writes Hints = 1 << iota
	ReadOnly
	Destructive
	Additive
	OpenWorld
	ClosedWorld
	Idempotent
)

var hintNames = [...]string{"writes", "read-only", "destructive", "additive", "open-world", "closed-world", "idempotent"}

// Grave are the hints that nobody gains by who lies.
const Grave = Writes | Destructive | OpenWorld

// Names are the hints by their names.
func (h Hints) Names() (names []string) {
	for i, name := range hintNames {
		if h&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseHint reads a hint's name.
func ParseHint(name string) (h Hints, ok bool) {
	for i, n := range hintNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// HintNames lists the names of all hints.
func HintNames() []string { return hintNames[:] }

// GoesBy are the files that an agent goes by where it works: all that there are.
type GoesBy struct {
	// Project is the folder of the repository that the agent works in, and Repository names
	// that, wherever it is cloned to. Both are empty outside of one.
	Project, Repository string
	Places              []string // the folders that were looked at
	Files               []File
}

// File is a file that an agent goes by without being asked: instructions, a skill, settings.
type File struct {
	Path  string
	Place string // the folder that it is of: it counts where an agent works there, or below
	Kind  string // instructions, skill or settings
	Hash  string // SHA-256 of its bytes, in hexadecimal digits
	Text  string // empty where only the hash is said
}

// Argument is one argument of a call. Value is raw JSON, a part of Action.Body.
type Argument struct {
	Name    string
	ID      string // the argument's id where the protocol has one
	Value   []byte
	Pointer string // JSON Pointer of the value in Action.Body
}

// Leaf is one piece of text in an act: what detectors read and edits change.
type Leaf struct {
	Pointer string // JSON Pointer of the string in Action.Body
	Text    string // the decoded text
	// Item is the JSON Pointer of the part, result or memory that the leaf
	// belongs to: what "drop" drops. Empty means the leaf itself.
	Item string
	// Arg is the name of the argument that the leaf is or lies in, if any.
	Arg string
	// Base is how many bytes of Pointer point at that argument's value, where they do not
	// end in its name: in a list of names with values, for example. Else it is 0.
	Base int
	// Guides says that the text tells a model how to use tools: a description, or a
	// server's instructions.
	Guides bool
	// File says that the string in Body stands where a file's bytes stand in base64, so
	// that whoever reads it decodes it; Base64 that Text is what it decodes to.
	File, Base64 bool
	// Foreign says that whoever tells of the text says that somebody else wrote it. It can
	// lower what is thought of the text, and never raise it.
	Foreign bool
	// Fixed says that no edit can change the text: it is a member's name, an
	// id or a tool's name, or what an encoded string at Pointer stands for. Of
	// a member's name, Pointer is the object. What must not pass with such a
	// text must be denied.
	Fixed bool
}

// A Link is a link on the disk: the path by which an act names it, and where it leads, with ~ for the
// home folder.
type Link struct{ Name, To string }

// Stores are places of data of which the files of a folder say that they are on this machine.
type Stores struct {
	Folder     string
	Files      []string // that say so, by their names in the folder
	Variables  []string // that hold the address of one, such as DATABASE_URL
	Databases  []string // by their names
	Programs   []string // that go by these files, such as rails
	Inside     []string // that in the project's containers go by a database of these
	Containers []string // of the project, by their names, as are its volumes
	Volumes    []string
	Engines    []string // those of its services and containers that are databases themselves
}

// A Kubeconfig is a file by which programs find a cluster: where it lies, and the context that is chosen in it.
type Kubeconfig struct{ File, Context string }

// Swept are the files of a folder, by their paths in it, that git does not have and that no build makes
// again: those that it is told to ignore, and others.
type Swept struct{ Ignored, Untracked []string }

// Action is one act that somebody asks about. The first group is established
// by reeve; the rest is what the caller says, and can never overwrite it.
type Action struct {
	Door      string // the protocol it came by: "aos"
	Method    string // the protocol's method, such as "steps/toolCallRequest"
	Kind      Kind
	At        time.Time // when reeve received it
	Principal Principal

	Agent   Agent
	User    User
	Session string // empty where the protocol or the caller has none
	Parent  string // the session that began this one; empty where nobody says so
	Task    string // the root of the tree of tasks that it belongs to; empty for none
	Turn    string
	Step    string
	Folder  string // that the agent works in; empty where it does not say
	// Strayed says that this is no folder of the work that the session began, where reeve remembers it.
	Strayed bool
	// Branch is what git has checked out in the folder that the act works in, where reeve looked and a
	// push goes to the branch of that name; else empty.
	Branch string
	// Links are the links on this machine's disk that the act's words lead through, where reeve looked.
	Links []Link
	// Unkept are the files of that folder that hold secrets by their names and that git would take into
	// the repository with all that lies there: it has them not yet, and does not ignore them. Only where
	// reeve looked. Ignored are those that it has not yet and ignores: it takes them in where it is told
	// to take in those, too.
	Unkept, Ignored []string
	// Stores are what the files of the folders that the act works in say of their data. Only where reeve
	// looked, and where all that they name is on this machine.
	Stores []Stores
	// Swept is what git clean would take of the folder that the act works in; nil where that is not known.
	Swept *Swept
	// Cluster is the cluster that kubectl speaks to where nobody names one; empty where reeve did not look,
	// or where it is not on this machine.
	Cluster string
	// Kubeconfigs are files that the act names for kubectl and its kin and that lead to a cluster on this machine,
	// each with what it calls that one. Only where reeve looked.
	Kubeconfigs []Kubeconfig
	// Missing reports whether nothing lies where the act names a file; nil where reeve does not look.
	Missing func(file string) bool
	// Secrets gives the files at and below that folder, and below folders that the act names, that hold
	// secrets by their names and by what stands in them, as paths. HoldsSecret reports whether a text holds
	// a value of one of them, and SecretFor whether one of them names a host. KeepsSecret reports whether what
	// stands in a file that the act names is a secret by its form, whatever the file is called. nil where reeve
	// does not look; the disk is read when the first of them is asked.
	Secrets     func() []string
	HoldsSecret func(text string) bool
	SecretFor   func(host string) bool
	KeepsSecret func(file string) bool

	GoesBy *GoesBy   // the files that the agent goes by there; nil where it does not say
	SaidAt time.Time // the caller's timestamp; zero when none
	// Places are the names by which a file is known on this machine, whatever it is called:
	// where its links lead, and, if it is there, which one it is. nil where the act's files are not looked at.
	Places func(path string) []string

	// ID is what the caller uses to name this act when it asks again: an
	// executionId, a message id, a JSON-RPC id inside MCP or A2A. Empty if none.
	ID string
	// Answers is the ID of the act that this one is the result of.
	Answers string

	Resource  string // tool, server, peer or source, as sent
	Canonical string // Resource in the one form that rules are matched against
	// Alias is the tool's other name in that form, where the agent declared a
	// name beside the id that it calls the tool by. Rules match either.
	Alias string
	// Confusable says that a name used characters that look like others.
	Confusable bool
	Server     string // the MCP server or A2A peer, where known
	// From is who an MCP message comes from: FromClient or FromServer. Empty where it
	// cannot be told, and for other kinds: see Speaker.
	From string

	Tool      *Tool // the declaration of the tool called; nil if undeclared or unknown
	Arguments []Argument
	Content   []Leaf
	Reasoning string
	Failed    bool // a result that says the tool failed
	// Dialogue is the approval that was answered in a window of the agent's own, as the
	// agent says when it tells of the result. guard.Guard sees whether it can be so.
	Dialogue string

	// Traceparent names the caller's span that the act is part of, where it said so: see
	// ParseTraceparent. It tells whoever traces where the act belongs, and nothing else.
	Traceparent string

	// Labels are what whoever says it gives it: tags, and foreign. They can lower what is
	// thought of it, and never raise it.
	Labels []string

	// Declared are the canonical names of the tools that the agent registered for.
	Declared []string

	// Within is what an approval of the act is bound to; empty means its session.
	Within string
	// Bounded says that the door tells the agent what the act may use, so that
	// tools with limits of their own may be called by it.
	Bounded bool
	// Enforces names the limits, as a manifest's JSON does, that whoever starts a task
	// holds it to. A task with other limits of its own is not started.
	Enforces []string
	// Refusals are why reeve itself denies the act, whatever the policy says.
	Refusals []Reason
	// Standing are the violations that reeve knows of before it looks at the
	// session: of the agent's registration, for example.
	Standing []Violation

	// Model is the risk that a model sees in the call, nil when none was asked or
	// none answered, and ModelThreats what it names.
	Model        *float64
	ModelThreats []string
	// Runs is what the files do that the call runs and its session has written to, as they lie
	// where it runs them; nil where that is not known.
	Runs []FileRun

	// InnerMethod is the method of a wrapped A2A or MCP message.
	InnerMethod string
	// Listed are the tools that an MCP server announces in this message.
	Listed []Definition
	// Hints are what the MCP server said of the tool that is called, or whose result it is.
	Hints Hints
	// Cites are the ids and URLs that a message names as its sources, and
	// Retrieved the ids of the sources that knowledge came from.
	Cites, Retrieved []string
	// Resources are the ids of the resources that the agent declared; nil
	// means unknown, not none. Filled for messages with Cites only.
	Resources []string

	// Proof is the part of Body that proves who asks, where it was verified to hold nothing
	// else: what is looked for in what others said is not looked for in it.
	Proof  []byte
	Body   []byte // the request's bytes, whole
	Digest Digest // what is really done: see Digest
	// Earlier is the digest of the same in the form before this one, which what was
	// kept under it is compared with; zero where the form has not changed.
	Earlier Digest

	// Faults are the shortcomings of the data that are noted but not refused,
	// such as a timestamp without an offset.
	Faults []string
}

// IsCall reports whether an act is the call of a tool, by whichever door it is
// asked about: as a step of an agent, as an intent, as an MCP message, or as the
// start of a task, whose executor is its tool. Everything that holds for calls
// asks this, so that no door leads around a rule.
func (a *Action) IsCall() bool {
	return a.Kind == ToolCall || a.Kind == TaskStart || a.CallsMCP()
}

// CallsMCP reports whether an act is the MCP message that calls a tool.
func (a *Action) CallsMCP() bool { return a.Kind == MCPRequest && a.InnerMethod == "tools/call" }

// Is reports whether an act is the one that a digest was taken of, in this form or
// the one before.
func (a *Action) Is(d Digest) bool {
	return d == a.Digest || a.Earlier != Digest{} && d == a.Earlier
}

// Digest is a SHA-256 over what sort of act it is, its resource, and arguments or
// content, names sorted and every number token kept as sent. Of a call it is the
// same by every door. It binds verdicts,
// approvals and repeats to what is really done; ids of steps and timestamps
// are not part of it.
type Digest [sha256.Size]byte

func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// Reason is one cause of a decision: a rule that matched.
type Reason struct {
	Rule    string // the rule's name
	Code    string // stable code, such as "pii.card"
	Message string // a sentence for a person
	Instead string // what the agent could do, or empty
	Effect  Effect
	Observe bool   // the rule only watches, or an exception lifted it: its effect was not applied
	Pointer string // where in the request, if at one place
	// Final says that nobody can let the act pass: no mode softens the reason,
	// no exception lifts it, and nobody is asked. See Overruler.
	Final bool
	// Exception is the name of the policy's exception that lifted the reason.
	Exception string
	// Traces are where the values came from that the act is done upon, of a rule that
	// asks for that: those that neither the user nor one's own sources have named.
	Traces []Trace
	// Terms are what an escalating rule asks of people; nil for one person,
	// whoever may answer.
	Terms *Terms
	// Passages are what of a call an escalating rule about effects speaks of, for the person who
	// is asked. They are words of the act, and are not recorded with the reason.
	Passages []Passage
}

// Passage is a part of an act's texts, and what it would do.
type Passage struct {
	Does string // a sentence
	Text string // in one line, masked and cut; empty where it stands at no one place
}

// categories are what reasons belong to in OWASP's Top 10 for Agentic Applications, by the
// beginnings of their codes. The longest that fits counts; a policy's own codes belong to
// what their beginnings say, or to nothing.
var categories = map[string]string{
	"flow": "ASI01", "taint": "ASI01", "session.tainted": "ASI01", "injection": "ASI01", "mask": "ASI01",
	"tool": "ASI02", "limits": "ASI02", "constitution": "ASI02", "destroy": "ASI02", "exfil": "ASI02", "file": "ASI02", "network": "ASI02",
	"path": "ASI02", "sql": "ASI02", "url": "ASI02", "transfer": "ASI02", "pii": "ASI02", "input": "ASI02", "command": "ASI02",
	"secret": "ASI03", "file.credentials": "ASI03", "priv": "ASI03", "network.metadata": "ASI03", "url.metadata": "ASI03", "user": "ASI03", "identity": "ASI03", "session.shared": "ASI03",
	"mcp": "ASI04", "shell.download_run": "ASI04", "shell.download_and_run": "ASI04", "ask.install": "ASI04", "ask.run": "ASI05", "package": "ASI04", "files": "ASI04",
	"shell": "ASI05", "code": "ASI05", "sql.execute": "ASI05",
	"memory": "ASI06", "citation": "ASI06",
	"reply": "ASI07", "result": "ASI07", "order": "ASI07", "id": "ASI07", "time": "ASI07",
	"call.loop": "ASI08", "session.rate": "ASI08", "quota": "ASI08", "shell.fork_bomb": "ASI08",
	"ask": "ASI09", "approval_denied": "ASI09", "approval_expired": "ASI09", "approval_impossible": "ASI09",
	"guardian": "ASI10", "agent": "ASI10", "persist": "ASI10", "log": "ASI10", "habits": "ASI10", "report": "ASI10",
}

// Category is what a reason's code belongs to in OWASP's Top 10 for Agentic Applications,
// such as ASI05; empty for nothing.
func Category(code string) string {
	code = strings.TrimPrefix(code, "risk.") // what a detector found, as the policy of grave risks names it
	for {
		if c := categories[code]; c != "" {
			return c
		}
		dot := strings.LastIndexByte(code, '.')
		if dot < 0 {
			return ""
		}
		code = code[:dot]
	}
}

// Trace says where a value came from that an act is done upon.
type Trace struct {
	Argument string `json:"argument"`           // whose value it is, or what it was read from
	Value    string `json:"value"`              // shortened, and masked
	Origin   string `json:"origin"`             // "foreign" or "unknown"
	Source   string `json:"source,omitempty"`   // the tool whose result it stands in, where that is known
	Decision string `json:"decision,omitempty"` // the id of the record of what brought it in, where that is known
	// Forgotten says that it may have been read in what the session does not remember.
	Forgotten bool `json:"forgotten,omitempty"`
}

// String draws the way of the value, from what brought it in to what would carry it out.
func (t Trace) String() string {
	from := "stands in nothing that was read: the agent put it together, or was told it elsewhere"
	switch {
	case t.Forgotten:
		from = "may have been read in what this session does not remember, or read before the policy asked where values come from"
	case t.Origin == "foreign":
		from = "was read in foreign text"
		if t.Source != "" {
			from = fmt.Sprintf("was read in what %q gave", t.Source)
		}
		if t.Decision != "" {
			from += ", first in decision " + t.Decision
		}
	}
	return fmt.Sprintf("%s: %q %s", t.Argument, t.Value, from)
}

// Terms say who must agree before an act that a rule holds may happen.
type Terms struct {
	Quorum int // how many people; less than one means one
	// Approvers are the names of the principals that are asked, or beginnings
	// of names followed by a star; nil means everybody with the role approver.
	Approvers []string
	// Another says that nobody may agree whose act it is: who holds the credential that
	// asked, by whatever other one, and whom the agent says it works for.
	Another bool
	// Passkey says that who agrees shows a passkey of theirs, for this act alone.
	Passkey bool
	// Within is how long they have, and the agreed act to come; 0 means an hour.
	Within time.Duration
}

// Approval is where a held decision stands that waits for people.
type Approval struct {
	ID      string
	State   string // one of package approval's states
	Expires time.Time
	// Dialogue says that nobody in particular is asked, so that the agent's own user may
	// answer in a window of the agent's.
	Dialogue bool
	// Lasting says that people may agree to it for the rest of its session, and not once only.
	Lasting bool
}

// Edit replaces one leaf of the request. Value is raw JSON, and so is Old: what
// it replaces, known once the edit is applied.
type Edit struct {
	Pointer string
	Value   []byte
	Old     []byte
}

// A FileRun is one thing that a file does which a call runs: a hazard, by its code and weight.
// Code is empty for a file that does nothing of that kind. Found says that the file lay there, and
// that the session is not known to have written to it. Line is the line of the file that does it, from
// 1, and Text what stands there, which is not recorded; 0 and empty where it can be told of no one line.
// Sets says that the call does not run the file: it sets in it what a coding agent runs by itself from then on.
// Says is the sentence that says what it does, where that is another than its code's; it is not recorded either.
type FileRun struct {
	File   string
	Code   string
	Weight float64
	Found  bool
	Sets   bool
	Line   int
	Text   string
	Says   string
}

// Risk is what the detectors found: a score from 0 to 1, its level, and the threats.
type Risk struct {
	Score   float64  `json:"score"`
	Level   string   `json:"level"`
	Threats []string `json:"threats"`
	// Heuristic is what reeve itself found, and Model what a model said, nil when
	// none was asked or none answered. Score is the larger of the two.
	Heuristic float64  `json:"heuristic,omitzero"`
	Model     *float64 `json:"model,omitzero"`
}

// Level names a score: at least 0.9 CRITICAL, 0.7 HIGH, 0.4 MEDIUM, else LOW.
func Level(score float64) string {
	switch {
	case score >= 0.9:
		return "CRITICAL"
	case score >= 0.7:
		return "HIGH"
	case score >= 0.4:
		return "MEDIUM"
	}
	return "LOW"
}

// Decision is what was decided about an act. The zero value denies.
type Decision struct {
	Effect Effect
	// Reasons holds every rule that applied, strictest first.
	Reasons []Reason
	Risk    Risk
	Edits   []Edit
	// Conditions are sentences under which the act may happen; nil for none. An
	// act that is denied has none.
	Conditions []string
	Policy     string // content hash of the policy set that decided
	Digest     Digest
	// Position of the record in the ledger. Set once it is durable.
	Position Position
	At       time.Time
	// Repeat says that this is the recorded decision of an act asked about before.
	Repeat bool
	// Approval is what was asked of people about this act; nil if nothing was.
	Approval *Approval
	// Manifest is what the act may use; nil where no policy was asked about it.
	Manifest *Manifest
	// Labels are what is known of what the act's session has read, tags and foreign, where the
	// policy asks for it: what it sends goes out with them.
	Labels []string
}

// Position is a place in the ledger: entry Index of log Log.
type Position struct {
	Log   uint32
	Index uint64
}

// String gives the position as a decision id: "0-42".
func (p Position) String() string {
	return strconv.FormatUint(uint64(p.Log), 10) + "-" + strconv.FormatUint(p.Index, 10)
}

// ParsePosition reads the form that String writes.
func ParsePosition(s string) (Position, error) {
	log, index, ok := strings.Cut(s, "-")
	l, err1 := strconv.ParseUint(log, 10, 32)
	i, err2 := strconv.ParseUint(index, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return Position{}, fmt.Errorf("%q is not a decision id: want LOG-INDEX, such as 0-42", s)
	}
	return Position{uint32(l), i}, nil
}

// Violation is a check of a session's memory that an act does not pass.
// Policies decide what follows from it.
type Violation struct {
	Check   string // such as "tool.undeclared"
	Message string // a sentence: what was expected, and what came
	Pointer string // where in the request, if at one place
	// Unsure says that the memory needed to be certain is gone (expired or
	// evicted): it is flagged, and never denies.
	Unsure bool
}
