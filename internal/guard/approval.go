package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/target"
	"reeve.example/reeve/internal/words"
)

// approvalKind is the kind of item that a held decision is.
const approvalKind = "approval"

// approvalsKept is for how long a decision that was held can be looked up once
// it is over. Its records stay.
const approvalsKept = 30 * 24 * time.Hour

// maxShown bounds the request that an approver is shown, and what the policy
// makes of it, in bytes. An act with a longer one cannot be held, since nobody
// could read what it does.
const maxShown = 256 << 10

// formOf binds an approval to an act in the form that the policy gives it, and to the
// definition of its tool, where the server's is known: by another one the same words
// may mean something else.
func formOf(digest act.Digest, d *act.Decision, defined session.Digest) string {
	h := sha256.New()
	h.Write(digest[:])
	if defined != (session.Digest{}) {
		h.Write([]byte("defined "))
		h.Write(defined[:])
	}
	for _, e := range d.Edits {
		fmt.Fprintf(h, "%d %s %d ", len(e.Pointer), e.Pointer, len(e.Value))
		h.Write(e.Value)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// approvalID names the approval of an act. The same act, whatever the ids of
// its steps, has the same; nobody else's has.
// The same command in another folder is another act, and so is the same call of
// another server's tool, or of one whose server the door does not know.
func approvalID(a *act.Action, form string) string {
	if a.Server == "" {
		return serverlessID(a, form)
	}
	return ItemID(10, append(actParts(a, form), "server", a.Server)...)
}

// serverlessID names the approval of an act whose server is not known, and
// before servers counted that of any.
func serverlessID(a *act.Action, form string) string { return ItemID(10, actParts(a, form)...) }

func actParts(a *act.Action, form string) []string {
	parts := []string{approvalKind, a.Principal.Name, a.Agent.ID, cmp.Or(a.Within, a.Session), form}
	if folder := target.Folder(a); folder != "" {
		parts = append(parts, folder)
	}
	return parts
}

func newApprovals(g *Guard) *Items[approval.Decision] {
	return NewItems(g, Kind[approval.Decision]{
		Name: approvalKind,
		Parse: func(item *ledger.Item) (*approval.Decision, error) {
			h, err := approval.Parse(item.Data)
			if err == nil && h.ID != item.ID {
				err = errors.New("another one stands in its place")
			}
			if err != nil {
				return nil, err
			}
			if h.Decision == "" {
				h.Decision = item.Version.String()
			}
			return h, nil
		},
		Fill: func(h *approval.Decision, item *Item) (err error) {
			item.Owner, item.Open, item.Due = h.Principal, h.Open(), h.Expires
			if !item.Open {
				item.Due = g.cfg.Now().Add(approvalsKept)
				h.What, h.Request, h.Edits = "", nil, nil
			}
			if h.State != approval.Held { // enough people answered: nobody need read it again
				h.Sealed = nil
			}
			item.Data, err = h.Data()
			return err
		},
		Quota: Quota{
			Name: "held", What: "acts that wait for people", Instead: "Wait until some are answered.",
			N: g.cfg.Quotas.Held, Bytes: g.cfg.Quotas.Bytes, Open: true,
		},
	})
}

// Held reports whether people are asked about an act that was judged: not when there is
// something that they could not agree to.
func Held(d *act.Decision) bool { return d.Effect == act.Escalate && act.Approvable(d.Reasons) }

// inquiry is an act that the policy has just judged, with what bears on whom it must ask.
type inquiry struct {
	in       *policy.Input
	set      *policy.Set
	decision *act.Decision
	asked    bool                // people were asked already, and are not again
	tainted  bool                // the act's session has read what others wrote
	defined  session.Digest      // how the act's tool is defined
	shell    []hazard.Definition // what earlier calls left in the shell, if it is still open
	aim      *target.Aim         // see Guard.aim; nil until it was asked for
}

// form is what people's answer is bound to. See formOf.
func (q *inquiry) form() string { return formOf(q.in.Action.Digest, q.decision, q.defined) }

// answer has the decision be what people said, or what follows from that nobody did.
func (q *inquiry) answer(effect act.Effect, r act.Reason) {
	q.decision.Effect = effect
	q.decision.Reasons = slices.Insert(q.decision.Reasons, 0, r)
}

// consult brings in what people said about an act that the policy holds. The
// policy has just judged the act anew: so a new deny wins, and a rule that
// nobody was asked about is asked about now. What it returns becomes durable
// with the decision's record, so that an approval is used by one record only.
//
// release must be called, once or more, when the record is durable or will not be: until then
// nobody else on this node looks at the approval. Without it, of the steps of a
// session that ask for the same thing at once all would rest on those that lose.
func (g *Guard) consult(ctx context.Context, q *inquiry) (writes []*Item, release func(), err error) {
	a, d := q.in.Action, q.decision
	if d.Effect != act.Escalate {
		return nil, func() {}, nil
	}
	if !Held(d) {
		d.Effect = act.Deny
		return nil, func() {}, nil
	}
	id := approvalID(a, q.form())
	release = sync.OnceFunc(g.approvals.Lock(id))
	defer func() {
		if err != nil {
			release()
			release = nil
		}
	}()
	h, item, err := g.approvals.Get(ctx, id)
	if err == nil && h == nil {
		h, item, err = g.earlierApproval(ctx, q, item)
	}
	if err != nil {
		return nil, release, err
	}
	waits := h != nil && h.Open()
	if !answered(h, a.At) {
		grant, err := g.granted(ctx, q)
		if err != nil {
			return nil, release, err
		}
		if grant != nil {
			release()
			pass(d, grant)
			return nil, func() {}, nil
		}
		says(d, g.near(ctx, q))
	}
	h, write, err := g.apply(q, h, item)
	if err != nil || write == nil {
		return nil, release, err
	}
	if !write.Open || waits {
		return []*Item{write}, release, nil
	}
	write.Charged = true
	made, err := g.charge(ctx, []*Item{write})
	write.Charged = false // it is
	if full, ok := errors.AsType[*QuotaError](err); ok {
		release()
		d.Approval = nil
		q.answer(act.Deny, act.Reason{
			Rule: "approval", Code: "quota.held", Effect: act.Deny, Message: full.Reason, Instead: "Do what nobody has to agree to, or wait.",
		})
		return nil, func() {}, nil
	}
	if err != nil {
		return nil, release, err
	}
	unlock := release
	release = sync.OnceFunc(func() { made(true); unlock() }) // what failed counts until it is counted again
	writes = append(writes, write)
	if g.cfg.Beside != nil {
		told, err := g.cfg.Beside(ctx, h)
		if err != nil {
			return nil, release, err
		}
		if told != nil {
			writes = append(writes, told)
		}
	}
	return writes, release, nil
}

// earlierApproval reads the decision about an act that was held under a name that such
// acts had before, while it waits or can be used: without the server, or under the
// digest's form before this one. nil, and the item that was given, when there is none.
func (g *Guard) earlierApproval(ctx context.Context, q *inquiry, none *Item) (*approval.Decision, *Item, error) {
	a := q.in.Action
	for _, digest := range []act.Digest{a.Digest, a.Earlier} {
		if digest == (act.Digest{}) || digest == a.Digest && a.Server == "" {
			continue // there was none, or it has been looked for
		}
		h, item, err := g.approvals.Get(ctx, serverlessID(a, formOf(digest, q.decision, q.defined)))
		if err != nil {
			return nil, none, err
		}
		if h != nil && (h.Open() || h.State == approval.Denied) && (a.Server == "" || h.What != "" && h.What == target.What(a, h.Request)) {
			return h, item, nil
		}
	}
	return nil, none, nil
}

// answered reports whether people have said of exactly this act whether it may happen:
// that goes before what they said of its like.
func answered(h *approval.Decision, now time.Time) bool {
	if h == nil {
		return false
	}
	state := h.At(now)
	return state == approval.Approved || state == approval.Denied && now.Before(h.Expires)
}

// apply is what the state of an approval, nil if there is none, makes of a decision; it
// returns the approval that is to be written, and nil where it stays as it is.
func (g *Guard) apply(q *inquiry, h *approval.Decision, item *Item) (*approval.Decision, *Item, error) {
	a, d := q.in.Action, q.decision
	needs, expires := approval.Needs(d.Reasons, a.At)
	state := approval.Expired
	if h != nil {
		state = h.At(a.At)
	}
	open := state == approval.Held || state == approval.Approved
	switch {
	case state == approval.Denied && a.At.Before(h.Expires):
		q.answer(act.Deny, answerReason(h, act.Deny))
		d.Approval = stateOf(h, a.At)
		return nil, nil, nil
	case state == approval.Held && h.Covers(needs):
		d.Approval = stateOf(h, a.At)
		if a.Bounded && h.Wait(a.ID) {
			return h, item, g.approvals.Fill(h, item)
		}
		return nil, nil, nil
	case state == approval.Approved && h.Covers(needs) && h.Files != "" && h.Files != g.present(q.shell, g.aim(q)):
		d.Reasons = append(d.Reasons, act.Reason{
			Rule: "approval", Code: "approval.outdated", Effect: act.Escalate, Observe: true,
			Message: fmt.Sprintf("%s agreed to this (approval %s), and something that it runs, reads or takes its orders from has changed since.", strings.Join(h.Who(), " and "), h.ID),
		})
		return g.askAnew(q, h, item, needs, expires)
	case state == approval.Approved && h.Covers(needs):
		if changes := h.Changes(); len(changes) > 0 && !g.asChanged(q, h, changes) {
			d.Approval = stateOf(h, a.At)
			return nil, nil, nil
		}
		h.State = approval.Used
		q.answer(act.Allow, answerReason(h, act.Allow))
		if len(d.Edits) > 0 {
			d.Effect = act.Modify
		}
	case !open && q.asked:
		q.answer(act.Deny, over)
		return nil, nil, nil
	default: // nobody was asked yet, or another question than the one that was answered
		return g.askAnew(q, h, item, needs, expires)
	}
	d.Approval = stateOf(h, a.At)
	return h, item, g.approvals.Fill(h, item)
}

// askAnew makes a new approval of an act in the place of the one before it, nil if there was none.
func (g *Guard) askAnew(q *inquiry, before *approval.Decision, item *Item, needs []approval.Need, expires time.Time) (*approval.Decision, *Item, error) {
	a := q.in.Action
	h, err := g.newApproval(q)
	if h == nil || err != nil {
		q.answer(act.Deny, unshown)
		return nil, nil, err
	}
	h.Needs, h.Expires = needs, expires
	if before != nil && slices.Contains([]approval.State{approval.Held, approval.Approved}, before.At(a.At)) {
		h.Asked = before.Asked
	}
	if a.Bounded {
		h.Wait(a.ID)
	}
	q.decision.Approval = stateOf(h, a.At)
	return h, item, g.approvals.Fill(h, item)
}

// present is a digest of the state that an act would meet: what it runs, reads and takes its orders from, and
// what earlier calls left in its shell. Where that has changed since people agreed, they agreed to
// something else by the same words.
func (g *Guard) present(shell []hazard.Definition, aim *target.Aim) string {
	aim.Look()
	sum := sha256.Sum256([]byte(strings.Join(append(leftInShell(shell), aim.State), "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// asChanged judges an act in the form that a person gave it when they agreed, and makes that
// the decision. It reports whether that form may happen: the policy has the last word about
// it, and what somebody else must be asked about they did not agree to.
func (g *Guard) asChanged(q *inquiry, h *approval.Decision, changes []approval.Change) bool {
	a, d := q.in.Action, q.decision
	edits := changedHere(a, changes)
	ruled := judgeAs(q.in, q.set, edits, g.cfg.Tampering)
	d.Reasons, d.Edits, d.Risk, d.Conditions = ruled.Reasons, ruled.Edits, ruled.Risk, ruled.Conditions
	if needs, _ := approval.Needs(ruled.Reasons, a.At); edits == nil || ruled.Effect == act.Deny || !act.Approvable(ruled.Reasons) || !h.Covers(needs) {
		d.Edits, d.Conditions = nil, nil
		q.answer(act.Deny, act.Reason{
			Rule: "approval", Code: "approval_denied", Effect: act.Deny,
			Message: fmt.Sprintf("%s agreed to this with changes (approval %s), and in that form the policy does not let it pass.", strings.Join(h.Who(), " and "), h.ID),
		})
		return false
	}
	return true
}

// changedHere are a person's changes as edits of an act that was asked for again; nil where it
// has not each of these arguments. They are found by their names: the same act may come by
// another door, or with its arguments in another order, and what was written for the one
// would stand in the other.
func changedHere(a *act.Action, changes []approval.Change) (edits []act.Edit) {
	for _, c := range changes {
		i := slices.IndexFunc(a.Arguments, func(arg act.Argument) bool { return arg.Name == c.Argument && arg.Pointer != "" })
		if i < 0 {
			return nil
		}
		edits = append(edits, act.Edit{Pointer: a.Arguments[i].Pointer, Value: []byte(c.New)})
	}
	return edits
}

// codeChanged is the code of what passes in the form that a person gave it.
const codeChanged = "approved.changed"

// newApproval is a new decision about an act that people are asked about; nil when
// the act cannot be shown to them as it is.
func (g *Guard) newApproval(q *inquiry) (*approval.Decision, error) {
	a, d := q.in.Action, q.decision
	x := exactly(a, d)
	if x == nil {
		return nil, nil
	}
	form, aim := q.form(), g.aim(q)
	h := &approval.Decision{
		ID: approvalID(a, form), State: approval.Held,
		Principal: a.Principal.Name, Holder: a.Principal.Known(), Users: usersOf(a), Agent: a.Agent.ID, Session: a.Session, Within: cmp.Or(a.Within, a.Session), Folder: target.Folder(a),
		Door: a.Door, Kind: string(a.Kind), Resource: a.Resource, Digest: form,
		Seen: x.Digest(), Created: a.At, Policy: d.Policy, Files: g.present(q.shell, aim),
	}
	x.What, x.Scope, x.Parts = target.What(a, nil), aim.Scope, target.Parts(a)
	x.Scope.Defined = q.defined.String()
	for i := range a.Arguments {
		if arg := &a.Arguments[i]; arg.Pointer != "" && len(x.Arguments) < maxChangeable {
			x.Arguments = append(x.Arguments, approval.Argument{Name: arg.Name, Pointer: arg.Pointer})
		}
	}
	x.Whole = a.IsCall() && len(x.Arguments) == len(a.Arguments)
	if slices.ContainsFunc(x.Scope.Files, func(f approval.File) bool { return g.scans(f.Path) }) {
		x.Scope = approval.Scope{Once: "a path in it holds what must not be kept"}
	}
	h.Lasting = x.Scope.Once == ""
	if g.cfg.Keep != KeepNone {
		if h.Request, _ = g.maskedRequest(a); h.Request != nil {
			h.What = target.What(a, h.Request)
		}
	}
	for _, e := range d.Edits {
		edit := approval.Edit{Pointer: e.Pointer}
		if g.cfg.Keep != KeepNone && !g.Finds(e.Pointer, e.Value) {
			edit.Value = e.Value
		}
		h.Edits = append(h.Edits, edit)
	}
	var err error
	h.Sealed, err = g.seal.close(h, x)
	return h, err
}

// usersOf are the names of whom the agent says it works for, and of whom a token says it acts
// for: theirs is the act as well, by whatever credential they answer.
func usersOf(a *act.Action) (names []string) {
	if d := a.Principal.Delegated(); d.OnBehalfOf != "" {
		names = append(names, d.OnBehalfOf)
		if d.Person != "" {
			names = append(names, d.Person)
		}
	}
	for _, name := range []string{a.User.ID, a.User.Email, a.User.Name} {
		if name, _ = canon.Name(name); name != "" {
			names = append(names, words.Cut(name, maxUserName))
		}
	}
	return names
}

const maxUserName = 256

// exactly is an act as people are shown it; nil when it cannot be: it is too
// long to be read, is no text, or the policy's changes do not fit it.
func exactly(a *act.Action, d *act.Decision) *approval.Exact {
	doc, err := rawjson.Parse(a.Body)
	if err != nil {
		return nil
	}
	x, size := &approval.Exact{Request: string(a.Body)}, len(a.Body)
	cursor := rawjson.Cursor{Doc: doc}
	for _, e := range d.Edits {
		v := cursor.At(e.Pointer)
		if !v.Exists() {
			return nil
		}
		x.Changes = append(x.Changes, approval.Change{Pointer: e.Pointer, Old: string(v.Raw()), New: string(e.Value)})
		size += len(e.Pointer) + len(v.Raw()) + len(e.Value)
	}
	if size > maxShown {
		return nil
	}
	return x
}

// over is why an act that people were asked about is not held again.
var over = act.Reason{
	Rule: "approval", Code: "approval_expired", Effect: act.Deny,
	Message: "People were asked about this, and their time is over.",
	Instead: "Ask anew, under a new id.",
}

// unshown is why an act cannot be held.
var unshown = act.Reason{
	Rule: "approval", Code: "approval_impossible", Effect: act.Deny,
	Message: fmt.Sprintf("A person must agree to this, and cannot be shown it exactly: it is larger than %d KiB, or is not one text.", maxShown>>10),
	Instead: "Split it into smaller acts.",
}

// answerReason is the reason of a decision that people made.
func answerReason(h *approval.Decision, effect act.Effect) act.Reason {
	r := act.Reason{Rule: "approval", Code: "approved", Effect: effect}
	verb := "agreed to"
	if effect == act.Deny {
		r.Code, verb = "approval_denied", "refused"
		r.Instead = "Do something else, or ask again after " + h.Expires.UTC().Format(time.RFC3339) + "."
	}
	if len(h.Changes()) > 0 && effect != act.Deny {
		r.Code, verb = codeChanged, "changed and agreed to"
	}
	r.Message = fmt.Sprintf("%s %s this (approval %s).", strings.Join(h.Who(), " and "), verb, h.ID)
	if last := len(h.Answers) - 1; last >= 0 && h.Answers[last].Note != "" {
		r.Message += " " + h.Answers[last].Note
	}
	return r
}

func stateOf(h *approval.Decision, now time.Time) *act.Approval {
	return &act.Approval{ID: h.ID, State: string(h.At(now)), Expires: h.Expires, Dialogue: h.Anybody(), Lasting: h.Lasting && h.Within != ""}
}

// outside ends a held decision that was answered in a window of the agent's own: a result
// says so. Nothing is allowed by it, since the act has happened. It is believed of what the
// agent itself was held for, what is held still, and what anybody may answer; else the
// act's claim goes, and the result is that of an act that nobody agreed to.
func (g *Guard) outside(ctx context.Context, a *act.Action) (*Item, error) {
	if a.Dialogue == "" {
		return nil, nil
	}
	h, item, err := g.approvals.Get(ctx, a.Dialogue)
	if damaged, ok := errors.AsType[*DamagedError](err); ok && damaged != nil {
		h, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine := h != nil && h.Principal == a.Principal.Name && h.Agent == a.Agent.ID && h.Session == a.Session
	if a.Answers == "" || !mine || !h.Anybody() || !h.Outside(a.At) {
		a.Dialogue = ""
		return nil, nil
	}
	return item, g.approvals.Fill(h, item)
}

// Approval returns a held decision in its current state, masked: as those see it
// who only look. ErrNotFound when there is none.
func (g *Guard) Approval(ctx context.Context, id string) (*approval.Decision, error) {
	h, err := g.shown(ctx, id)
	if h != nil {
		h.Sealed = nil
	}
	return h, err
}

// Show returns a held decision as those see it who may answer: while it is held,
// with the exact bytes of what would be done. ErrNotFound when there is none.
func (g *Guard) Show(ctx context.Context, id string) (*approval.Decision, error) {
	h, err := g.shown(ctx, id)
	if err != nil {
		return nil, err
	}
	if h.State == approval.Held && h.Sealed != nil {
		if h.Exact, err = g.seal.open(h); err != nil {
			return nil, fmt.Errorf("the approval %s: %w", id, err)
		}
		h.What = h.Exact.What
		h.Exact.Arguments = valued(h.Exact)
	}
	h.Sealed = nil
	return h, nil
}

func (g *Guard) shown(ctx context.Context, id string) (*approval.Decision, error) {
	h, _, err := g.approvals.Get(ctx, id)
	if err == nil && h == nil {
		err = fmt.Errorf("the approval %q: %w", id, ledger.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	h.State, h.Stale = h.At(g.cfg.Now()), h.Policy != "" && h.Policy != g.Policy().Hash()
	return h, nil
}

// Approvals lists held decisions in the order of their ids, after one: those
// that are open, or all that are kept. Of what would be done there is the one line,
// which is exact for those who may answer. bad are those of the page that are damaged.
// next is what to give as after for the next page, empty on the last.
func (g *Guard) Approvals(ctx context.Context, open, exact bool, after string, limit int) (list []*approval.Decision, bad []*DamagedError, next string, err error) {
	all, bad, next, err := g.approvals.Page(ctx, ledger.ItemQuery{Open: open, After: after, Limit: limit})
	for _, h := range all {
		if exact && h.State == approval.Held && h.Sealed != nil {
			if x, err := g.seal.open(h); err == nil { // else it cannot be shown, either
				h.What = x.What
			}
		}
		h.Request, h.Edits, h.Sealed = nil, nil, nil
		if h.State = h.At(g.cfg.Now()); !open || h.Open() {
			list = append(list, h)
		}
	}
	return list, bad, next, err
}

// Waiting counts the acts that wait for people, up to the first most.
func (g *Guard) Waiting(ctx context.Context, most int) (int, error) {
	items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: approvalKind, Open: true, Limit: most})
	return len(items), err
}

// Reply is a person's answer to a held decision.
type Reply struct {
	Agree bool
	// Seen is the digest of what the person was shown. Who agrees must say it.
	Seen string
	// Decision, when not empty, is the id of the decision that the person looked
	// at: another one is not answered.
	Decision string
	Note     string
	// For is for how long the person agrees; the zero value is once.
	For approval.Span
	// Usual says that upon whom or what the act is done is usual for its agent from now on.
	Usual bool
	// Changes are what the person changes in the act's arguments: they agree to that form
	// of it, once, and to no other. Old is not looked at.
	Changes []approval.Change
	// Passkey is what the person's passkey signed, where a rule asks for it.
	Passkey *Proof
	// Form, when not empty, is the digest of the changes that somebody else proposed: the
	// person agrees to these, byte for byte.
	Form string
}

// Answer takes a person's answer to a held decision. It returns the approval's
// new state, once that is durable; the errors are those of
// approval.Decision.Answer, ledger.ErrNotFound, and ErrChanged.
func (g *Guard) Answer(ctx context.Context, id string, by act.Principal, r Reply) (*approval.Decision, error) {
	what := "approve"
	if !r.Agree {
		what = "deny"
	}
	now := g.cfg.Now()
	span, err := r.For.At(now)
	if err != nil {
		return nil, err
	}
	var was asked
	if r.Passkey != nil { // it is answered once, whatever becomes of the answer
		was = g.challenges.take(r.Passkey.Nonce)
	}
	note := r.Note
	if g.cfg.Redact != 0 { // it is for the record, and for the agent
		r.Note = risk.Mask(r.Note, risk.Scan(r.Note, g.cfg.Redact, nil))
	}
	return g.changeApproval(ctx, id, by, what, func(h *approval.Decision) (bool, []*Item, error) {
		if r.Decision != "" && r.Decision != h.Decision {
			return false, nil, ErrChanged
		}
		var x *approval.Exact
		if err := h.May(by, r.Agree, now); err != nil {
			return false, nil, err
		}
		changes, err := g.changesTo(h, &r, span)
		if err != nil {
			return false, nil, err
		}
		if r.Agree && !span.Once() {
			if x, err = g.seal.open(h); err != nil {
				return false, nil, err
			}
			switch {
			case x.Scope.Once != "":
				return false, nil, fmt.Errorf("%w: %s", approval.ErrOnce, x.Scope.Once)
			case span.Session && h.Within == "":
				return false, nil, fmt.Errorf("%w, or until a time: it names no session", approval.ErrOnce)
			}
		}
		before := h.State
		answer := approval.Answer{Agree: r.Agree, Seen: r.Seen, Note: r.Note, For: span, Usual: r.Agree && r.Usual, Changes: changes}
		var taught []*Item
		if r.Agree && h.WantsPasskey(by) {
			said := r
			said.Note = note
			var used *Item
			if answer.Passkey, answer.Signed, used, err = g.prove(ctx, by, r.Passkey, was, aboutApproval(h, by, &said, approval.FormOf(changes))); err != nil {
				return false, nil, err
			}
			taught = append(taught, used)
		}
		if err := h.Answer(by, answer, now); err != nil {
			return false, nil, err
		}
		if h.State == approval.Approved && h.Usual() {
			item, err := g.teach(ctx, h.Decision, by)
			if err != nil {
				return false, nil, err
			}
			taught = append(taught, item)
		}
		switch {
		case x != nil && h.State == approval.Approved:
			item, err := g.newGrant(ctx, h, x, now)
			if item == nil || err != nil {
				return true, taught, err
			}
			return true, append(taught, item), nil
		case before == approval.Approved && h.State == approval.Revoked && h.Grant != "":
			grant, item, err := g.grants.Get(ctx, h.Grant)
			if err != nil || grant == nil || grant.Approval != h.ID || grant.Revoke(by, r.Note, now) != nil {
				return true, nil, err
			}
			return true, []*Item{item}, g.grants.Fill(grant, item)
		}
		return true, taught, nil
	})
}

// ErrChanges: an act cannot be changed so by who agrees to it.
var ErrChanges = errors.New("this cannot be changed so")

// Bounds of what a person changes of an act.
const (
	maxChangeable = 64
	maxChanges    = 64 << 10       // bytes
	maxProposed   = 4 * maxChanges // bytes of all forms that people propose
)

// changesTo are a person's changes of an act that is held, checked: they are of its arguments,
// are values, and hold nothing that must not be kept; or they are what somebody else proposed.
func (g *Guard) changesTo(h *approval.Decision, r *Reply, span approval.Span) (changes []approval.Change, err error) {
	refuse := func(format string, args ...any) ([]approval.Change, error) {
		return nil, fmt.Errorf("%w: %s", ErrChanges, fmt.Sprintf(format, args...))
	}
	if len(r.Changes) == 0 && r.Form == "" {
		return nil, nil
	}
	if !r.Agree || r.Usual || !span.Once() {
		return refuse("who changes an act agrees to it once, in that form")
	}
	if r.Form != "" {
		i := slices.IndexFunc(h.Forms(), func(f approval.Form) bool { return f.Digest == r.Form })
		if i < 0 || len(r.Changes) > 0 {
			return refuse("nobody proposes that form of it: look at it again")
		}
		return h.Forms()[i].Changes, nil
	}
	x, err := g.seal.open(h)
	if err != nil {
		return nil, err
	}
	size, proposed := 0, 0
	for _, f := range h.Forms() {
		for _, c := range f.Changes {
			proposed += len(c.New)
		}
	}
	for _, arg := range valued(x) {
		at := slices.IndexFunc(r.Changes, func(c approval.Change) bool { return c.Pointer == arg.Pointer })
		if at < 0 {
			continue
		}
		c := approval.Change{Pointer: arg.Pointer, Argument: arg.Name, New: r.Changes[at].New}
		_, err := rawjson.Parse([]byte(c.New))
		switch size += len(c.New); {
		case err != nil:
			return refuse("what %q shall be is no JSON value: %v", arg.Name, err)
		case size > maxChanges:
			return refuse("the new values are longer than %d KiB", maxChanges>>10)
		case g.Finds(c.Pointer, []byte(c.New)):
			return refuse("the new value of %q holds what is not kept, such as a secret", arg.Name)
		case arg.Fixed:
			return refuse("the policy changes %q itself", arg.Name)
		case c.New == arg.Value:
			return refuse("%q has that value already", arg.Name)
		}
		if !g.Finds(c.Pointer, []byte(arg.Value)) {
			c.Old = arg.Value
		}
		changes = append(changes, c)
	}
	switch {
	case len(changes) != len(r.Changes):
		return refuse("only arguments of the act are changed, each once")
	case proposed+size > maxProposed:
		return refuse("so many forms of it are proposed that no other can be kept: agree to one of them, or deny it")
	}
	return changes, nil
}

// valued are the arguments of what people are shown, with their values.
func valued(x *approval.Exact) []approval.Argument {
	doc, err := rawjson.Parse([]byte(x.Request))
	if err != nil {
		return nil
	}
	list := slices.Clone(x.Arguments)
	cursor := rawjson.Cursor{Doc: doc}
	for i := range list {
		list[i].Value = string(cursor.At(list[i].Pointer).Raw())
		list[i].Fixed = slices.ContainsFunc(x.Changes, func(c approval.Change) bool {
			return c.Pointer == list[i].Pointer || strings.HasPrefix(c.Pointer, list[i].Pointer+"/") || strings.HasPrefix(list[i].Pointer, c.Pointer+"/")
		})
	}
	return list
}

// ErrChanged: what an approver looked at is not what is held now.
var ErrChanged = errors.New("another request is held under this id now: look at it again")

// changeApproval changes a held decision, and wakes who waits for it once that is
// durable. changed is whether there is anything to write, and also what else is written
// with it.
func (g *Guard) changeApproval(ctx context.Context, id string, by act.Principal, what string, change func(h *approval.Decision) (changed bool, also []*Item, err error)) (*approval.Decision, error) {
	written := false
	h, err := g.approvals.UpdateWith(ctx, id, func(h *approval.Decision, item *Item) (*Note, []*Item, error) {
		if !item.Found {
			return nil, nil, fmt.Errorf("the approval %q: %w", id, ledger.ErrNotFound)
		}
		var also []*Item
		var err error
		if written, also, err = change(h); err != nil || !written {
			return nil, nil, err
		}
		note := Admin("approval."+what, by, detailsOf(h, what))
		// What was signed looks like a secret, and is none.
		note.Plain = note.Details["passkey"] != ""
		if what != "erase" && (h.State == approval.Denied || h.State == approval.Revoked) { // who erases objects to nothing
			note.Habits = g.refused(ctx, h)
		}
		return note, also, nil
	})
	if err != nil || !written {
		return nil, err
	}
	h.Sealed = nil
	g.waiting.wake(h.ID)
	g.cfg.Answered(h)
	return h, nil
}

// detailsOf is what the record says of a change of a held decision.
func detailsOf(h *approval.Decision, what string) map[string]string {
	details := map[string]string{
		"approval": h.ID, "decision": h.Decision, "state": string(h.State), "digest": h.Digest,
	}
	if last := len(h.Answers) - 1; last >= 0 && what != "expire" && what != "erase" {
		answer := &h.Answers[last]
		for name, value := range map[string]string{"seen": answer.Seen, "note": answer.Note, "for": spanOf(answer.For), "grant": h.Grant, "usual": map[bool]string{true: "said"}[answer.Usual], "passkey": answer.Passkey, "signed": answer.Signed} {
			if value != "" {
				details[name] = value
			}
		}
		for _, c := range answer.Changes {
			details["to "+c.Pointer] = words.Shorten(c.New, 500)
		}
	}
	if len(h.Edits) > 0 { // what was agreed to is the changed form
		var at []string
		for _, e := range h.Edits {
			at = append(at, e.Pointer)
		}
		details["changed"] = strings.Join(at, " ")
	}
	return details
}

// spanOf is what a record says of how long somebody agreed for.
func spanOf(s approval.Span) string {
	switch {
	case s.Once():
		return ""
	case s.Session:
		return "the session, until " + s.Until.UTC().Format(time.RFC3339)
	}
	return "until " + s.Until.UTC().Format(time.RFC3339)
}

// ExpireApprovals ends the held decisions and the grants whose time is over, each with a
// record. One that cannot be ended, since it is damaged, does not keep the others.
func (g *Guard) ExpireApprovals(ctx context.Context) error {
	now := g.cfg.Now()
	var failed error
	for h, err := range g.approvals.All(ctx, ledger.ItemQuery{Open: true, DueBefore: now}) {
		if err == nil {
			_, err = g.changeApproval(ctx, h.ID, operator, "expire", func(h *approval.Decision) (bool, []*Item, error) {
				if !h.Open() || h.At(now) != approval.Expired {
					return false, nil, nil
				}
				h.State = approval.Expired
				return true, nil, nil
			})
		}
		if ctx.Err() != nil {
			return err
		}
		// Else somebody was quicker.
		if err != nil && !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrNotFound) && failed == nil {
			failed = err
		}
	}
	return cmp.Or(failed, g.expireGrants(ctx))
}

// EraseHeld ends the held decisions among these, so that nothing of what they would do, and for whom, is kept any more:
// neither sealed nor masked. What was answered keeps whose act it was no longer, and what people agreed to for more than
// that once ends.
func (g *Guard) EraseHeld(ctx context.Context, by act.Principal, decisions []act.Position) error {
	erased := make(map[string]bool, len(decisions))
	for _, at := range decisions {
		erased[at.String()] = true
	}
	for h, err := range g.approvals.All(ctx, ledger.ItemQuery{}) {
		if err != nil {
			return err
		}
		if !erased[h.Decision] || !h.Open() && len(h.Users) == 0 {
			continue
		}
		_, err = g.changeApproval(ctx, h.ID, by, "erase", func(h *approval.Decision) (bool, []*Item, error) {
			if h.Open() {
				h.State = approval.Revoked
			}
			h.Users = nil
			return true, nil, nil
		})
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("end the held decision %s: %w", h.ID, err)
		}
	}
	return g.eraseGrants(ctx, by, erased)
}

// pollApprovals is how often Await looks for an answer that another node took, beside
// being woken.
const pollApprovals = time.Second

// ApprovalChanged wakes who waits here for a held decision that another node changed.
func (g *Guard) ApprovalChanged(id string) { g.waiting.wake(id) }

// Await waits until a held decision is held no more, or ctx ends.
func (g *Guard) Await(ctx context.Context, id string) error {
	woken, stop := g.waiting.wait(id)
	defer func() { stop() }()
	tick := time.NewTicker(pollApprovals)
	defer tick.Stop()
	for {
		h, err := g.Approval(ctx, id)
		if err != nil || h.State != approval.Held {
			return err
		}
		select {
		case <-woken:
			stop()
			woken, stop = g.waiting.wait(id)
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waiting is who on this node waits for which held decision. The zero value is ready.
type waiting struct {
	mu sync.Mutex
	of map[string][]chan struct{}
}

// wait returns a channel that is closed when the decision changes. stop must be called.
func (p *waiting) wait(id string) (woken <-chan struct{}, stop func()) {
	c := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string][]chan struct{}{}
	}
	p.of[id] = append(p.of[id], c)
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if list := slices.DeleteFunc(p.of[id], func(o chan struct{}) bool { return o == c }); len(list) > 0 {
			p.of[id] = list
		} else {
			delete(p.of, id)
		}
	}
}

func (p *waiting) wake(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.of[id] {
		close(c)
	}
	delete(p.of, id)
}
