// Package guard decides. Judge is pure: an action, what its session remembers
// and a policy give a decision. Decide judges and then makes the decision
// durable together with its record in the ledger and the session's memory:
// no record, no answer.
//
//	d, modified, err := g.Decide(ctx, action)
//	if err != nil || d.Effect != act.Allow { … it must not happen as asked … }
package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/passkey"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/target"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/task"
)

// Keep says which requests' contents stay beside the ledger.
type Keep string

// What is kept.
const (
	KeepAll        Keep = "all"
	KeepNotAllowed Keep = "not-allowed" // of acts that were not plainly allowed
	KeepNone       Keep = "none"
)

// Config is what a Guard is made of.
type Config struct {
	Log   *ledger.Log
	Store Store
	// Policy is the set in force until SetPolicy. Required.
	Policy *policy.Set
	// Keep is which contents stay beside the ledger; empty means KeepAll.
	Keep Keep
	// Redact is what is masked in the contents before they are kept.
	Redact risk.Detector
	// SessionBytes bounds the memory for sessions in use; 0 means 8 MiB.
	// Sessions beyond it leave, first those of the principal that has most there, and
	// are read again from the store when they go on.
	SessionBytes int
	// Score asks a model for the risk of a tool's call, whose arguments are a JSON
	// object; ok is false when it did not answer. nil for no model.
	Score func(ctx context.Context, tool string, arguments []byte) (score float64, threats []string, ok bool)
	// Tampering tells why an act reaches for what guards it: reasons that nobody
	// overrules. It is asked once, before the act is judged, with a reading of the act that
	// the policy goes on with. nil for nothing.
	Tampering func(a *act.Action, read *hazard.Reading) []act.Reason
	// Runs tells what the files do that a call runs, as they lie on the disk: those that its
	// session wrote to, and of others what is grave. nil for nothing: then a file does what was
	// written into it, as far as the session remembers that.
	Runs func(a *act.Action, read *hazard.Reading, wrote func(name string) bool, brought func(name string) float64, astray func(stores []act.Stores) bool) []act.FileRun
	// Adds tells to which settings of coding agents a call adds hooks, which these run by themselves. nil for nothing.
	Adds func(a *act.Action, read *hazard.Reading) []act.FileRun
	// Serves says why nothing is decided at present, such as that other nodes decide by
	// another policy; nil where it is. Results of what was begun are recorded all the same.
	// nil for always.
	Serves func() error
	// Quotas bound what one principal may have.
	Quotas Quotas
	// Passkeys is where people use passkeys; the zero value for nowhere: who is asked for one
	// then cannot agree.
	Passkeys passkey.Site
	// Shared has the quotas together with other nodes; nil where there are none.
	Shared quota.Shared
	// Refused is called when a principal's bound was reached, with its name; nil for none.
	Refused func(quota string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Observe is called after each decision that was answered, with the time
	// that it took; nil for none.
	Observe func(ctx context.Context, a *act.Action, d *act.Decision, took time.Duration)
	// Shadowed is called after each decision that was answered while the policy has a
	// candidate beside it, with what that would have decided; nil for none.
	Shadowed func(a *act.Action, s *Shadowed)
	// Unusual is called with what was noted as unusual, one cause a line, each time that
	// more was; nil for none.
	Unusual func(ctx context.Context, n Noted)
	// Answered is called with each held decision that changed, once that is
	// durable, except when it was used; nil for none. It must not block.
	Answered func(h *approval.Decision)
	// Beside is called when an act is held, and what it returns becomes durable with that;
	// nil for nothing.
	Beside func(ctx context.Context, h *approval.Decision) (*Item, error)
	// Files tells how the files that an agent goes by differ from those that somebody agreed
	// to; nil for nothing.
	Files func(ctx context.Context, a *act.Action) ([]act.Violation, error)
	// Used reports whether an agent was ever let to call the tool of an act; nil for never. It
	// is asked where the policy asks for new tools.
	Used func(ctx context.Context, a *act.Action) (bool, error)
	// Places tells by which names the file at a path is known on this machine. It may take long,
	// and is asked with no session locked; nil means links.Places.
	Places func(path string) []string
	// Unsealed says that items without a seal are believed, until Sealed is called: those of
	// a database that an earlier version wrote.
	Unsealed bool
	// Founding makes the item that is written with the first record of a database; nil for none.
	Founding func(ctx context.Context, g *Guard) (*Item, error)
	// Damaged is called with each item that is found damaged; nil for none.
	Damaged func()
	// Logger receives what an operator should know; nil means slog.Default.
	Logger *slog.Logger
}

// Guard decides, and makes its decisions durable. It is safe for concurrent use.
type Guard struct {
	cfg      Config
	policy   atomic.Pointer[policy.Set]
	swap     sync.Mutex // serializes SetPolicy
	sessions *memory
	clean    clean
	seal     sealer
	seals    *ledger.Sealer // of what lies beside the log
	unsealed atomic.Bool    // what has no seal is believed
	locks    locks
	waiting  waiting
	damaged  damaged
	contents contents

	instructions Instructions

	habits       *profiles
	profileItems *Items[habits.Profile]
	learned      *Items[learned]
	unusual      *Items[habits.Unusual]
	scholar      scholar

	approvals  *Items[approval.Decision]
	grants     *Items[approval.Grant]
	passkeys   *Items[Passkey]
	challenges challenges
	agents     *Items[agent.Agent]
	strangers  *Items[agent.Agent]

	valueKey   []byte // of the digests of secrets' values
	agentsRead agentsRead
	barred     atomic.Pointer[map[string]agent.State] // agents that are suspended or revoked
	bars       atomic.Pointer[map[string]bool]        // see rememberedBars; nil while the list of bars is sound
	barredAs   map[string]string                      // their ids, by the forms of their DIDs; guarded by barring
	barring    sync.Mutex                             // serializes LoadAgents
}

// New returns a Guard and keeps the policy's text in the store.
func New(ctx context.Context, cfg Config) (*Guard, error) {
	if cfg.Keep == "" {
		cfg.Keep = KeepAll
	}
	if cfg.SessionBytes == 0 {
		cfg.SessionBytes = 8 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Places == nil {
		cfg.Places = links.Places
	}
	if cfg.Observe == nil {
		cfg.Observe = func(context.Context, *act.Action, *act.Decision, time.Duration) {}
	}
	if cfg.Unusual == nil {
		cfg.Unusual = func(context.Context, Noted) {}
	}
	if cfg.Answered == nil {
		cfg.Answered = func(*approval.Decision) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Damaged == nil {
		cfg.Damaged = func() {}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string) {}
	}
	g := &Guard{cfg: cfg, clean: clean{seed: maphash.MakeSeed()}}
	g.contents = contents{most: cfg.Quotas.Contents, seed: maphash.MakeSeed(), logger: cfg.Logger}
	if cfg.Shared != nil {
		g.contents.shared = &quota.Portions{From: cfg.Shared, Now: cfg.Now}
	}
	g.passkeys = newPasskeys(g)
	g.approvals, g.grants, g.agents, g.strangers = newApprovals(g), newGrants(g), newAgents(g), newStrangers(g)
	g.unsealed.Store(cfg.Unsealed)
	var err error
	if g.seals, err = cfg.Log.Sealer(); err != nil {
		return nil, err
	}
	if g.sessions, err = newMemory(cfg.Store, cfg.Log, cfg.SessionBytes, cfg.Shared != nil); err != nil {
		return nil, err
	}
	g.instructions.Key = ValuesKey(g.sessions.key, keyOf("instructions"))
	if g.valueKey, err = cfg.Log.Key("values of secrets SHA-256"); err != nil {
		return nil, fmt.Errorf("derive the key of secrets' values: %w", err)
	}
	if g.seal, err = newSealer(cfg.Log); err != nil {
		return nil, err
	}
	if g.habits, err = newProfiles(cfg.Log); err != nil {
		return nil, err
	}
	g.profileItems, g.learned, g.unusual = newHabits(g), newLearned(g), newUnusual(g)
	if _, err := g.LoadAgents(ctx); err != nil {
		return nil, err
	}
	ruled, err := g.ruledLast(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.setPolicy(ctx, cfg.Policy, operator, ruled == cfg.Policy.Hash()); err != nil {
		return nil, err
	}
	return g, nil
}

// lookedBack is how many of the newest records are looked through for the policy that ruled last.
const lookedBack = 32

// ruledLast is the hash of the policy that this log's newest records say ruled last: the one by which something
// was decided, or that was taken up; empty where neither is among them. Coding agents' hooks are a process for
// each call, and so is a command that only looks: that each of them takes up the policy again in which the one
// before ended would be half of the ledger.
func (g *Guard) ruledLast(ctx context.Context) (hash string, err error) {
	log := g.cfg.Log.Number()
	head, err := g.cfg.Store.Head(ctx, log)
	if err != nil {
		return "", err
	}
	for i := head.Size; i > 0 && head.Size-i < lookedBack; i-- {
		at := act.Position{Log: log, Index: i - 1}
		r, _, err := ledger.ReadRecord(ctx, g.cfg.Store, at)
		if err != nil { // pruned or damaged: then it is said once more
			return "", nil
		}
		switch {
		case r.Effect != "":
			return r.Policy, nil
		case r.Kind == "admin.policy":
			o, err := ledger.ReadOpening(ctx, g.cfg.Store, at)
			if err != nil {
				return "", nil
			}
			said, _ := o.Details()
			return said["policy"], nil
		}
	}
	return "", nil
}

// Policy returns the set in force.
func (g *Guard) Policy() *policy.Set { return g.policy.Load() }

// Now is the guard's clock.
func (g *Guard) Now() time.Time { return g.cfg.Now() }

// Sessions returns how many sessions are held in memory, and their bytes.
func (g *Guard) Sessions() (n, bytes int) { return g.sessions.size() }

// SetPolicy puts a policy set in force: its text is kept, the change is
// recorded with who had it done, and only then does it rule. On an error the old
// set stays.
func (g *Guard) SetPolicy(ctx context.Context, set *policy.Set, by act.Principal) error {
	return g.setPolicy(ctx, set, by, false)
}

// setPolicy is SetPolicy. known says that the ledger says already that this set rules.
func (g *Guard) setPolicy(ctx context.Context, set *policy.Set, by act.Principal, known bool) error {
	g.swap.Lock()
	defer g.swap.Unlock()
	if old := g.policy.Load(); old != nil && old.Hash() == set.Hash() {
		return nil
	}
	if err := g.cfg.Store.PutPolicy(ctx, set.Hash(), set.Text(), g.cfg.Now()); err != nil {
		return fmt.Errorf("keep the policy's text: %w", err)
	}
	if !known {
		if err := g.notePolicy(ctx, set, by); err != nil {
			return err
		}
	}
	g.policy.Store(set)
	return nil
}

// notePolicy records that a policy rules, and with the first record of a database what
// begins with that.
func (g *Guard) notePolicy(ctx context.Context, set *policy.Set, by act.Principal) error {
	n := Admin("policy", by, map[string]string{"policy": set.Hash()})
	n.Plain = true
	if found := g.cfg.Founding; found != nil {
		g.cfg.Founding = nil
		item, err := found(ctx, g)
		if err != nil {
			return err
		}
		n.Sealed = true
		if err := g.Write(ctx, n, item); !errors.Is(err, ledger.ErrLost) {
			return err
		}
		n.Sealed = false // another node was first
	}
	return g.Write(ctx, n)
}

// operator is the principal of what the node's own operator does.
var operator = act.Principal{Name: "operator", Method: "local"}

// Note records an administrative act, such as a new key or an erasure.
func (g *Guard) Note(ctx context.Context, what string, by act.Principal, details map[string]string) (act.Position, error) {
	n := Admin(what, by, details)
	n.Plain = true
	pos, err := g.enqueue(ctx, g.entryOf(n))
	if err != nil {
		return act.Position{}, fmt.Errorf("record %s: %w", n.Kind, err)
	}
	return pos, nil
}

// enqueue makes an entry durable that rests on nothing that was read before,
// but for the items that it writes.
func (g *Guard) enqueue(ctx context.Context, e *ledger.Entry) (act.Position, error) {
	t, err := g.cfg.Log.Enqueue(g.cfg.Log.Generation(), e)
	if err != nil {
		return act.Position{}, err
	}
	return t.Wait(ctx)
}

// Judge decides about an act from what its session remembers, by a policy. It
// is a pure function: no clock, no disk, no logger.
func Judge(a *act.Action, violations []act.Violation, s policy.Session, set *policy.Set) act.Decision {
	return judge(&policy.Input{Action: a, Session: s, Violations: violations, Reading: hazard.Read(a)}, set)
}

// Remembered is what a policy may see of a session's memory when it judges the next act.
func Remembered(s *session.State, a *act.Action, i *Instructions) policy.Session {
	return policy.Session{
		Known: s.Known, Steps: s.Steps, Calls: s.Calls, Started: s.Started,
		Tainted: s.Tainted(a.Turn), Autonomous: s.Autonomous, Values: &s.Values, At: s.At,
		Written: s.Written, Inside: s.Inside, WroteTo: s.WroteTo, OwnWork: s.OwnWork, Brought: s.Brought, Awaits: s.Awaits, Tunnelled: s.Tunnelled, Astray: s.Astray, Kept: s.Kept, Mounted: s.Mounted, Held: s.Held(), Wrote: s.Wrote, Valued: s.Valued, Local: s.Local(a), CalledBy: s.CalledBy,
		Instructed: i.of(a), Past: s.PastOf(a),
	}
}

func judge(in *policy.Input, set *policy.Set) act.Decision { return judgeAs(in, set, nil, nil) }

// judgeAs judges an act in the form that a person's changes give it. tampering tells why that
// form reaches for what guards it; the act that was asked for was looked at already.
func judgeAs(in *policy.Input, set *policy.Set, changes []act.Edit, tampering func(*act.Action, *hazard.Reading) []act.Reason) act.Decision {
	a := in.Action
	in.Refusals = refusals(a, set)
	v := set.EvaluateAs(in, changes, func(form *act.Action, read *hazard.Reading) []act.Reason {
		list := set.Forbids(form)
		if tampering != nil {
			list = append(list, tampering(form, read)...)
		}
		return list
	})
	in.Form = v.Form
	d := act.Decision{
		Effect: v.Effect, Reasons: v.Reasons, Edits: v.Edits, Risk: v.Risk, Conditions: v.Conditions,
		Policy: set.Hash(), Digest: a.Digest, At: a.At,
	}
	if a.Kind == act.TaskResult && d.Effect == act.Escalate {
		d.Effect, d.Conditions = act.Deny, nil
		d.Reasons = append([]act.Reason{unheldResult}, d.Reasons...)
	}
	return d
}

// Applies reports whether a rule of the policy says anything of an act by
// itself, without what its session remembers: whether it must be judged although
// it is no more than the protocol's own housekeeping.
func (g *Guard) Applies(a *act.Action) bool {
	a.At = g.cfg.Now()
	d := Judge(a, nil, policy.Session{}, g.policy.Load())
	return slices.ContainsFunc(d.Reasons, func(r act.Reason) bool { return r.Code != policy.CodeDefault })
}

// refusals are why reeve itself denies an act, whatever the policy's rules say.
func refusals(a *act.Action, set *policy.Set) []act.Reason {
	list := append(slices.Clip(a.Refusals), set.Forbids(a)...)
	if a.Kind == act.TaskStart {
		for _, limit := range set.Limits(a.Canonical) {
			if !slices.Contains(a.Enforces, limit) {
				list = append(list, unheld(limit, a.Resource))
			}
		}
	}
	return list
}

// unheldResult is why a result that people should agree to is withheld.
var unheldResult = act.Reason{
	Rule: "approval", Code: "result.unheld", Effect: act.Deny,
	Message: "A rule wants people to agree to this result, and results do not wait.",
	Instead: "Have the rule ask about the task's start (task.start).",
}

// unheld is why a task does not start whose executor cannot hold it to a limit.
func unheld(limit, executor string) act.Reason {
	return act.Reason{
		Rule: "manifest", Code: "limits.unenforced", Effect: act.Deny,
		Message: fmt.Sprintf("The policy gives %s the limit %s, and it cannot be held to that.", executor, limit),
		Instead: "Let the policy call the limit advisory, or take an executor that is held to it.",
	}
}

// attempts is how often an act is judged when another step of its session,
// decided elsewhere, comes between.
const attempts = 3

// Decide judges an act and makes the decision durable. It sets the action's At.
// modified is the whole request with the decision's edits, when the effect is
// Modify. After an error, the act must not happen.
func (g *Guard) Decide(ctx context.Context, a *act.Action) (d act.Decision, modified []byte, err error) {
	return g.decide(ctx, a, With{})
}

// Ruling is a decision before it is durable, with what it made of the request.
type Ruling struct {
	*act.Decision
	Modified []byte // the whole request as the decision changes it; nil when it does not
	Policy   *policy.Set
	Labels   []string // that the act's session has then, where the policy follows values
}

// With is what becomes durable together with a decision. Its functions may be called
// more than once: what the last call returned counts. With one of them, the recorded
// decision of an earlier ask is no answer.
type With struct {
	Items func(r *Ruling) ([]*Item, error)
	Task  func(r *Ruling) (*task.Change, error)
	// Answer is what the record keeps of what the agent is told, a ledger.Answered; nil for nothing.
	Answer func(r *Ruling) []byte
	// PartOf names the session that the act's own is a part of, beside parts on other nodes;
	// zero for none. Labels that one of them has they all have.
	PartOf SessionName
	// Begins names a session that begins with what the act's own knows then: of the work that
	// the act begins. Zero for none.
	Begins func() SessionName
	// Asked says that people have been asked about this act, and are not again.
	Asked bool
}

// DecideWith decides about an act, and makes what belongs to the decision durable with
// it. See Decide. The errors are also those of the functions; *QuotaError; and for a
// change of a task task.ErrMoved: the task has moved on, and nothing was recorded.
func (g *Guard) DecideWith(ctx context.Context, a *act.Action, with With) (d act.Decision, modified []byte, err error) {
	return g.decide(ctx, a, with)
}

func (g *Guard) decide(ctx context.Context, a *act.Action, q With) (d act.Decision, modified []byte, err error) {
	start := g.cfg.Now()
	look := links.Look{Find: g.cfg.Places}
	a.At, a.Places = start, look.Places
	// What stands in the act itself is nearer to who acts than what came with the call.
	if _, ok := act.ParseTraceparent(a.Traceparent); !ok {
		a.Traceparent = act.TraceparentFrom(ctx)
	}
	if g.cfg.Serves != nil && a.Kind != act.TaskResult {
		if err := g.cfg.Serves(); err != nil {
			return act.Decision{}, nil, err
		}
	}
	shorten(a)
	g.bar(a)
	if g.cfg.Files != nil && a.GoesBy != nil {
		differ, err := g.cfg.Files(ctx, a)
		if err != nil {
			return act.Decision{}, nil, err
		}
		a.Standing = append(a.Standing, differ...)
	}
	if a.IsCall() && g.policy.Load().AsksBill() {
		if err := g.lookNew(ctx, a); err != nil {
			return act.Decision{}, nil, err
		}
	}
	target.Look(a)
	read := hazard.Read(a)
	g.defend(a, read)
	if g.cfg.Score != nil && a.IsCall() {
		g.askModel(ctx, a)
	}
	session.Shows(a, read)
	for range attempts {
		if !inSession(a) {
			d, modified, err = g.decideAlone(ctx, a, q, read)
		} else {
			d, modified, err = g.decideInSession(ctx, a, q, read, &look)
		}
		if !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			break
		}
	}
	if err != nil {
		return act.Decision{}, nil, err
	}
	g.cfg.Observe(ctx, a, &d, g.cfg.Now().Sub(start))
	return d, modified, nil
}

// maxName is the most bytes of a name that an act goes by. Whoever lists what agents did
// reads these names of every record, and asks by them.
const maxName = 1024

// shorten refuses an act that goes by a name too long, and has it recorded under the name's
// beginning and its hash.
func shorten(a *act.Action) {
	for _, n := range [...]struct {
		of   string
		name *string
	}{
		{"agent", &a.Agent.ID}, {"session", &a.Session}, {"parent session", &a.Parent}, {"task", &a.Task}, {"turn", &a.Turn}, {"step", &a.Step},
	} {
		if len(*n.name) <= maxName {
			continue
		}
		a.Refusals = append(slices.Clip(a.Refusals), act.Final("names", act.CodeMalformed,
			fmt.Sprintf("The name of its %s has %d bytes, and may have %d.", n.of, len(*n.name), maxName), "Use a shorter name."))
		sum := sha256.Sum256([]byte(*n.name))
		*n.name = words.Cut(*n.name, maxName-40) + "…" + hex.EncodeToString(sum[:16])
	}
}

// defend refuses an act that reaches for what guards it.
func (g *Guard) defend(a *act.Action, read *hazard.Reading) {
	if g.cfg.Tampering == nil || slices.ContainsFunc(a.Refusals, func(r act.Reason) bool { return r.Code == act.CodeTampering }) {
		return
	}
	a.Refusals = append(slices.Clip(a.Refusals), g.cfg.Tampering(a, read)...)
	if inner := policy.Inner(a); inner != nil {
		a.Refusals = append(a.Refusals, g.cfg.Tampering(inner, hazard.Read(inner))...)
	}
}

// lookNew notes that an act calls a tool that its agent has not used before. An act that is
// judged again, since people have agreed, is looked at again.
func (g *Guard) lookNew(ctx context.Context, a *act.Action) error {
	const check = "tool.new"
	a.Standing = slices.DeleteFunc(slices.Clone(a.Standing), func(v act.Violation) bool { return v.Check == check })
	if g.cfg.Used != nil {
		if used, err := g.cfg.Used(ctx, a); err != nil || used {
			return err
		}
	}
	a.Standing = append(a.Standing, act.Violation{Check: check, Message: fmt.Sprintf("The agent has not used the tool %q before.", words.Cut(a.Resource, 100))})
	return nil
}

// askModel notes what a model says of a call, or that it says nothing.
func (g *Guard) askModel(ctx context.Context, a *act.Action) {
	arguments := []byte{'{'}
	for i, arg := range a.Arguments {
		if i > 0 {
			arguments = append(arguments, ',')
		}
		arguments = append(rawjson.AppendString(arguments, arg.Name), ':')
		arguments = append(arguments, arg.Value...)
	}
	score, threats, ok := g.cfg.Score(ctx, a.Canonical, append(arguments, '}'))
	a.Model, a.ModelThreats = nil, nil
	if ok {
		a.Model, a.ModelThreats = &score, threats
		return
	}
	const absent = "model.absent"
	if !slices.ContainsFunc(a.Standing, func(v act.Violation) bool { return v.Check == absent }) {
		a.Standing = append(a.Standing, act.Violation{Check: absent, Message: "The model that scores risk did not answer."})
	}
}

// decideAlone decides about an act outside any session.
func (g *Guard) decideAlone(ctx context.Context, a *act.Action, q With, read *hazard.Reading) (act.Decision, []byte, error) {
	set := g.policy.Load()
	violations, _ := (*session.State)(nil).Check(a, nil)
	in := &policy.Input{Action: a, Violations: append(violations, a.Standing...), Reading: read}
	in.Session.Habits = g.habitsOf(ctx, a, set)
	d := judge(in, set)
	would := g.shadow(in, &d, set)
	consent, release, err := g.consult(ctx, &inquiry{in: in, set: set, decision: &d, asked: q.Asked})
	if err != nil {
		return act.Decision{}, nil, err
	}
	defer release()
	modified, err := Apply(a, &d)
	if err != nil {
		return act.Decision{}, nil, err
	}
	e := g.entry(in, &d, modified)
	noted := g.note(&d, in, set, nil)
	e.Links = appendHabits(e.Links, noted)
	made, err := g.add(ctx, e, q, consent, &Ruling{Decision: &d, Modified: modified, Policy: set})
	if err != nil {
		return act.Decision{}, nil, err
	}
	d.Position, err = g.enqueue(ctx, e)
	made(err == nil)
	if err != nil {
		return act.Decision{}, nil, err
	}
	g.habits.count(noted)
	g.shadowed(a, would, d.Position)
	return d, modified, nil
}

// add adds to an entry what else becomes durable with a decision. made must be called
// with whether it did.
func (g *Guard) add(ctx context.Context, e *ledger.Entry, q With, consent []*Item, r *Ruling) (made func(bool), err error) {
	items := consent
	if q.Items != nil {
		more, err := q.Items(r)
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	if q.Task != nil {
		if e.Task, err = q.Task(r); err != nil {
			return nil, err
		}
	}
	if q.Answer != nil && len(e.Links) > 0 { // else they hold what cannot be masked
		if answer := g.masked(q.Answer(r)); answer != nil {
			e.Links = append(append(append(e.Links[:len(e.Links)-1:len(e.Links)-1], `,"answer":`...), answer...), '}')
		}
	}
	e.Writes = appendItems(e.Writes, items)
	return g.charge(ctx, items)
}

// Apply makes the modified request of a decision, nil if there is none. An edit
// that cannot be made is an error: a request that should have been changed must
// not pass unchanged.
func Apply(a *act.Action, d *act.Decision) ([]byte, error) {
	if d.Effect != act.Modify {
		d.Edits = nil
		return nil, nil
	}
	doc, err := rawjson.Parse(a.Body)
	if err != nil {
		return nil, fmt.Errorf("guard: the request cannot be read again: %w", err)
	}
	reps := make([]rawjson.Replacement, 0, len(d.Edits))
	cursor := rawjson.Cursor{Doc: doc}
	for i := range d.Edits {
		e := &d.Edits[i]
		v := cursor.At(e.Pointer)
		if !v.Exists() {
			return nil, fmt.Errorf("guard: the policy changes %s, which is not in the request", e.Pointer)
		}
		e.Old = v.Raw()
		reps = append(reps, rawjson.Replacement{At: v, With: e.Value})
	}
	return doc.Splice(reps)
}

// sessionKey names the session of an act.
func sessionKey(a *act.Action) ledger.Key {
	return SessionName{Principal: a.Principal.Name, Door: a.Door, Agent: a.Agent.ID, Session: a.Session}.key()
}

// SessionName tells one session from all others.
type SessionName struct{ Principal, Door, Agent, Session string }

// key is the session's in the ledger. The principal is part of it: nobody can spoil a
// session that belongs to another's credential.
func (n SessionName) key() ledger.Key {
	if n.Door == "a2g" { // whose agents name their sessions by themselves, also those of one credential
		return keyOf("session", n.Principal, n.Session, "agent", n.Agent)
	}
	return keyOf("session", n.Principal, n.Session)
}

// memoryKey names one remembered text of an agent.
func memoryKey(a *act.Action, text string) ledger.Key {
	return keyOf("memory", a.Principal.Name, a.Agent.ID, text)
}

func keyOf(parts ...string) (k ledger.Key) {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		for i := range length {
			length[i] = byte(len(p) >> (8 * i))
		}
		h.Write(length[:])
		h.Write([]byte(p))
	}
	var sum [sha256.Size]byte
	copy(k[:], h.Sum(sum[:0]))
	return k
}
