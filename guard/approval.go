package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/approval"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/risk"
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

// formOf binds an approval to an act in the form that the policy gives it.
func formOf(digest act.Digest, d *act.Decision) string {
	h := sha256.New()
	h.Write(digest[:])
	for _, e := range d.Edits {
		fmt.Fprintf(h, "%d %s %d ", len(e.Pointer), e.Pointer, len(e.Value))
		h.Write(e.Value)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

var idEncoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// approvalID names the approval of an act. The same act, whatever the ids of
// its steps, has the same; nobody else's has.
func approvalID(a *act.Action, form string) string {
	key := keyOf(approvalKind, a.Principal.Name, a.Agent.ID, cmp.Or(a.Within, a.Session), form)
	return idEncoding.EncodeToString(key[:10])
}

// item reads an item and its head. What it holds may be old, but then a write
// on that head loses.
func (g *Guard) item(ctx context.Context, kind, id string) (ledger.Item, *ledger.KeyHead, error) {
	key := ledger.ItemKey(kind, id)
	at, known, err := g.cfg.Store.KeyHead(ctx, key)
	if err != nil {
		return ledger.Item{}, nil, err
	}
	if !known { // where a key was never written there is no item: mostly so, and cheap to know
		return ledger.Item{}, ledger.NewKeyHead(key, at, false), fmt.Errorf("the %s %q: %w", kind, id, ledger.ErrNotFound)
	}
	item, err := g.cfg.Store.Item(ctx, kind, id)
	if err == nil {
		at, known = item.Version, true
	}
	return item, ledger.NewKeyHead(key, at, known), err
}

// held reads a held decision; nil when there is none.
func (g *Guard) held(ctx context.Context, id string) (*approval.Decision, *ledger.KeyHead, error) {
	item, head, err := g.item(ctx, approvalKind, id)
	if errors.Is(err, ledger.ErrNotFound) && head != nil {
		return nil, head, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the approval %s: %w", id, err)
	}
	h, err := approval.Parse(item.Data)
	if err == nil && h.ID != id {
		err = errors.New("another one stands in its place")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("what is stored of the approval %s is damaged: %w", id, err)
	}
	if h.Decision == "" {
		h.Decision = item.Version.String()
	}
	return h, head, nil
}

// approvalWrite is the write that keeps a held decision.
func approvalWrite(h *approval.Decision, head *ledger.KeyHead, now time.Time) (*ledger.Write, error) {
	item := &ledger.Item{Kind: approvalKind, ID: h.ID, Owner: h.Principal, Open: h.Open(), Due: h.Expires}
	if !item.Open {
		item.Due = now.Add(approvalsKept)
		h.Request, h.Edits = nil, nil
	}
	var err error
	if h.State != approval.Held { // enough people answered: nobody need read it again
		h.Sealed = nil
	}
	item.Data, err = h.Data()
	return &ledger.Write{Head: head, Item: item}, err
}

// consult brings in what people said about an act that the policy holds. The
// policy has just judged the act anew: so a new deny wins, and a rule that
// nobody was asked about is asked about now. What it returns becomes durable
// with the decision's record, so that an approval is used by one record only.
//
// release must be called, once or more, when the record is durable or will not be: until then
// nobody else on this node looks at the approval. Without it, of the steps of a
// session that ask for the same thing at once all would rest on those that lose.
func (g *Guard) consult(ctx context.Context, a *act.Action, d *act.Decision, again bool) (write *ledger.Write, release func(), err error) {
	if d.Effect != act.Escalate {
		return nil, func() {}, nil
	}
	if !act.Approvable(d.Reasons) {
		d.Effect = act.Deny
		return nil, func() {}, nil
	}
	form := formOf(a.Digest, d)
	id := approvalID(a, form)
	release = sync.OnceFunc(g.approvals.lock(id))
	h, head, err := g.held(ctx, id)
	if err == nil && h == nil && a.Earlier != (act.Digest{}) {
		h, head, err = g.heldEarlier(ctx, a, d, head)
	}
	if err == nil {
		write, err = g.apply(a, d, h, head, form, again)
	}
	if err == nil && write != nil && write.Item.Open && (h == nil || !h.Open()) {
		var made func(bool)
		made, err = g.take(ctx, &g.counters.held, "held", "acts that wait for people", "Wait until some are answered.", a.Principal.Name, 1, int64(len(write.Item.Data)))
		if full, ok := errors.AsType[*QuotaError](err); ok {
			release()
			d.Effect, d.Approval = act.Deny, nil
			d.Reasons = slices.Insert(d.Reasons, 0, act.Reason{
				Rule: "approval", Code: "quota.held", Effect: act.Deny, Message: full.Reason, Instead: "Do what nobody has to agree to, or wait.",
			})
			return nil, func() {}, nil
		}
		if err == nil {
			unlock := release
			release = sync.OnceFunc(func() { made(true); unlock() }) // what failed counts until it is counted again
		}
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return write, release, nil
}

// heldEarlier reads the decision about an act that was held under the digest's
// form before this one, while it waits or can be used; nil, and the head that was
// given, when there is none.
func (g *Guard) heldEarlier(ctx context.Context, a *act.Action, d *act.Decision, none *ledger.KeyHead) (*approval.Decision, *ledger.KeyHead, error) {
	h, head, err := g.held(ctx, approvalID(a, formOf(a.Earlier, d)))
	if err != nil || h != nil && (h.Open() || h.State == approval.Denied) {
		return h, head, err
	}
	return nil, none, nil
}

// apply is what the state of an approval, nil if there is none, makes of a decision.
func (g *Guard) apply(a *act.Action, d *act.Decision, h *approval.Decision, head *ledger.KeyHead, form string, again bool) (*ledger.Write, error) {
	needs, expires := approval.Needs(d.Reasons, a.At)
	state := approval.Expired
	if h != nil {
		state = h.At(a.At)
	}
	open := state == approval.Held || state == approval.Approved
	switch {
	case state == approval.Denied && a.At.Before(h.Expires):
		d.Effect = act.Deny
		d.Reasons = slices.Insert(d.Reasons, 0, said(h, act.Deny))
		d.Approval = stateOf(h, a.At)
		return nil, nil
	case state == approval.Held && h.Covers(needs):
		d.Approval = stateOf(h, a.At)
		if a.Bounded && h.Wait(a.ID) {
			return approvalWrite(h, head, a.At)
		}
		return nil, nil
	case state == approval.Approved && h.Covers(needs):
		h.State = approval.Used
		d.Effect = act.Allow
		if len(d.Edits) > 0 {
			d.Effect = act.Modify
		}
		d.Reasons = slices.Insert(d.Reasons, 0, said(h, act.Allow))
	case !open && again:
		d.Effect = act.Deny
		d.Reasons = slices.Insert(d.Reasons, 0, over)
		return nil, nil
	default: // nobody was asked yet, or another question than the one that was answered
		var asked []string
		if open {
			asked = h.Asked
		}
		var err error
		if h, err = g.hold(a, d, form); h == nil || err != nil {
			d.Effect = act.Deny
			d.Reasons = slices.Insert(d.Reasons, 0, unshown)
			return nil, err
		}
		h.Needs, h.Expires, h.Asked = needs, expires, asked
		if a.Bounded {
			h.Wait(a.ID)
		}
	}
	d.Approval = stateOf(h, a.At)
	return approvalWrite(h, head, a.At)
}

// hold is a new decision about an act that people are asked about; nil when
// the act cannot be shown to them as it is.
func (g *Guard) hold(a *act.Action, d *act.Decision, form string) (*approval.Decision, error) {
	x := exactly(a, d)
	if x == nil {
		return nil, nil
	}
	h := &approval.Decision{
		ID: approvalID(a, form), State: approval.Held,
		Principal: a.Principal.Name, Agent: a.Agent.ID, Session: a.Session,
		Door: a.Door, Kind: string(a.Kind), Resource: a.Resource, Digest: form,
		Seen: x.Digest(), Created: a.At,
	}
	if g.cfg.Keep != KeepNone {
		h.Request, _ = g.kept(a)
	}
	for _, e := range d.Edits {
		edit := approval.Edit{Pointer: e.Pointer}
		if g.cfg.Keep != KeepNone && !g.findsIn(e.Pointer, e.Value) {
			edit.Value = e.Value
		}
		h.Edits = append(h.Edits, edit)
	}
	var err error
	h.Sealed, err = g.seal.close(h, x)
	return h, err
}

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

// said is the reason that people's answer is.
func said(h *approval.Decision, effect act.Effect) act.Reason {
	r := act.Reason{Rule: "approval", Code: "approved", Effect: effect}
	verb := "agreed to"
	if effect == act.Deny {
		r.Code, verb = "approval_denied", "refused"
		r.Instead = "Do something else, or ask again after " + h.Expires.UTC().Format(time.RFC3339) + "."
	}
	r.Message = fmt.Sprintf("%s %s this (approval %s).", strings.Join(h.Who(), " and "), verb, h.ID)
	if last := len(h.Answers) - 1; last >= 0 && h.Answers[last].Note != "" {
		r.Message += " " + h.Answers[last].Note
	}
	return r
}

func stateOf(h *approval.Decision, now time.Time) *act.Approval {
	return &act.Approval{ID: h.ID, State: string(h.At(now)), Expires: h.Expires}
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
	}
	h.Sealed = nil
	return h, nil
}

func (g *Guard) shown(ctx context.Context, id string) (*approval.Decision, error) {
	h, _, err := g.held(ctx, id)
	if err == nil && h == nil {
		err = fmt.Errorf("the approval %q: %w", id, ledger.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	h.State = h.At(g.cfg.Now())
	return h, nil
}

// Approvals lists held decisions in the order of their ids, after one: those
// that are open, or all that are kept.
// What would be done is left out. next is what to give as after for the next
// page, empty on the last.
func (g *Guard) Approvals(ctx context.Context, open bool, after string, limit int) (list []*approval.Decision, next string, err error) {
	items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: approvalKind, Open: open, After: after, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	if len(items) == limit {
		next = items[limit-1].ID
	}
	for _, item := range items {
		h, err := approval.Parse(item.Data)
		if err != nil {
			return nil, "", fmt.Errorf("the approval %s: %w", item.ID, err)
		}
		if h.Decision == "" {
			h.Decision = item.Version.String()
		}
		h.Request, h.Edits, h.Sealed = nil, nil, nil
		if h.State = h.At(g.cfg.Now()); !open || h.Open() {
			list = append(list, h)
		}
	}
	return list, next, nil
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
}

// Answer takes a person's answer to a held decision. It returns the approval's
// new state, once that is durable; the errors are those of
// approval.Decision.Answer, ledger.ErrNotFound, and ErrChanged.
func (g *Guard) Answer(ctx context.Context, id string, by act.Principal, r Reply) (*approval.Decision, error) {
	if g.cfg.Redact != 0 { // the note is for the record, and for the agent
		r.Note = risk.Mask(r.Note, risk.Scan(r.Note, g.cfg.Redact, nil))
	}
	for i := 0; ; i++ {
		h, err := g.answer(ctx, id, by, r)
		if err == nil || i+1 == attempts || !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			return h, err
		}
	}
}

func (g *Guard) answer(ctx context.Context, id string, by act.Principal, r Reply) (*approval.Decision, error) {
	defer g.approvals.lock(id)()
	h, head, err := g.held(ctx, id)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("the approval %q: %w", id, ledger.ErrNotFound)
	}
	if r.Decision != "" && r.Decision != h.Decision {
		return nil, ErrChanged
	}
	if err := h.Answer(by, r.Agree, r.Seen, r.Note, g.cfg.Now()); err != nil {
		return nil, err
	}
	what := "approve"
	if !r.Agree {
		what = "deny"
	}
	if err := g.change(ctx, h, head, by, what); err != nil {
		return nil, err
	}
	h.Sealed = nil
	return h, nil
}

// ErrChanged: what an approver looked at is not what is held now.
var ErrChanged = errors.New("another request is held under this id now: look at it again")

// change makes a held decision's new state durable, and wakes who waits for it.
func (g *Guard) change(ctx context.Context, h *approval.Decision, head *ledger.KeyHead, by act.Principal, what string) error {
	write, err := approvalWrite(h, head, g.cfg.Now())
	if err != nil {
		return err
	}
	details := map[string]string{
		"approval": h.ID, "decision": h.Decision, "state": string(h.State), "digest": h.Digest,
	}
	if last := len(h.Answers) - 1; last >= 0 && what != "expire" {
		said := &h.Answers[last]
		for name, value := range map[string]string{"seen": said.Seen, "note": said.Note} {
			if value != "" {
				details[name] = value
			}
		}
	}
	if len(h.Edits) > 0 { // what was agreed to is the changed form
		var at []string
		for _, e := range h.Edits {
			at = append(at, e.Pointer)
		}
		details["changed"] = strings.Join(at, " ")
	}
	e := g.note("approval."+what, by, details)
	e.Principal, e.Links = g.masked(e.Principal), g.masked(e.Links)
	e.Writes = []*ledger.Write{write}
	if _, err := g.enqueue(ctx, e); err != nil {
		return fmt.Errorf("record the answer: %w", err)
	}
	g.approvals.wake(h.ID)
	g.cfg.Answered(h)
	return nil
}

// ExpireApprovals ends the held decisions whose time is over, each with a record. One
// that cannot be ended, since it is damaged, does not keep the others.
func (g *Guard) ExpireApprovals(ctx context.Context) error {
	now := g.cfg.Now()
	var failed error
	for after := ""; ; {
		items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: approvalKind, Open: true, DueBefore: now, After: after})
		if err != nil {
			return err
		}
		for _, item := range items {
			err := g.expire(ctx, item.ID, now)
			if ctx.Err() != nil {
				return err
			}
			if err != nil && !errors.Is(err, ledger.ErrLost) && failed == nil { // else somebody was quicker
				failed = err
			}
		}
		if len(items) < ledger.DefaultItems {
			return failed
		}
		after = items[len(items)-1].ID
	}
}

func (g *Guard) expire(ctx context.Context, id string, now time.Time) error {
	defer g.approvals.lock(id)()
	h, head, err := g.held(ctx, id)
	if err != nil || h == nil || !h.Open() || h.At(now) != approval.Expired {
		return err
	}
	h.State = approval.Expired
	return g.change(ctx, h, head, operator, "expire")
}

// pollApprovals is how often Await looks for an answer that another node took.
const pollApprovals = time.Second

// Await waits until a held decision is held no more, or ctx ends.
func (g *Guard) Await(ctx context.Context, id string) error {
	woken, stop := g.approvals.wait(id)
	defer stop()
	tick := time.NewTicker(pollApprovals)
	defer tick.Stop()
	for {
		h, err := g.Approval(ctx, id)
		if err != nil || h.State != approval.Held {
			return err
		}
		select {
		case <-woken:
			return nil
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// approvals is who works on which approval on this node, and who waits for
// it. The zero value is ready.
type approvals struct {
	stripes

	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

// wait returns a channel that is closed when the decision changes. stop must be called.
func (p *approvals) wait(id string) (woken <-chan struct{}, stop func()) {
	c := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string][]chan struct{}{}
	}
	p.waiting[id] = append(p.waiting[id], c)
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if list := slices.DeleteFunc(p.waiting[id], func(o chan struct{}) bool { return o == c }); len(list) > 0 {
			p.waiting[id] = list
		} else {
			delete(p.waiting, id)
		}
	}
}

func (p *approvals) wake(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting[id] {
		close(c)
	}
	delete(p.waiting, id)
}

// stripes are locks for things with names; some names share one. The zero value
// is ready.
type stripes [64]sync.Mutex

func (s *stripes) lock(id string) (unlock func()) {
	h := fnv.New32a()
	io.WriteString(h, id)
	l := &s[h.Sum32()%uint32(len(s))]
	l.Lock()
	return l.Unlock
}
