package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/agent"
	"reeve.example/reeve/approval"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/policy"

	"github.com/go-json-experiment/json/jsontext"
)

// intentKind is the kind of item that an intent is.
const intentKind = "intent"

// intentsKept is for how long an intent that has ended can be looked up, and
// its id not be used again. Its records stay.
const intentsKept = 30 * 24 * time.Hour

// ErrOtherAct: the id of an intent was used before, for another act.
var ErrOtherAct = errors.New("this intent_id was used before, for another act")

// intentID names an intent: by its agent first, so that an agent's intents lie
// beside each other.
func intentID(principal, did, id string) string {
	whose, which := keyOf(intentKind, did), keyOf(intentKind, principal, did, id)
	return idEncoding.EncodeToString(whose[:10]) + "." + idEncoding.EncodeToString(which[:])
}

// intent reads an intent; nil when there is none.
func (g *Guard) intent(ctx context.Context, id string) (*agent.Intent, *ledger.KeyHead, error) {
	item, head, err := g.item(ctx, intentKind, id)
	if errors.Is(err, ledger.ErrNotFound) && head != nil {
		return nil, head, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read an intent: %w", err)
	}
	n, err := readIntent(item)
	return n, head, err
}

func readIntent(item ledger.Item) (*agent.Intent, error) {
	n, err := agent.ParseIntent(item.Data)
	if err == nil && intentID(n.Principal, n.Agent, n.ID) != item.ID {
		err = errors.New("another one stands in its place")
	}
	if err != nil {
		return nil, fmt.Errorf("what is stored of the intent %s is damaged: %w", item.ID, err)
	}
	if n.Verdict.Position == (act.Position{}) {
		n.Verdict.Position = item.Version // until its first change, the record of the verdict
	}
	return n, nil
}

// intentWrite is the write that keeps an intent: while people are asked with its
// params, sealed.
func (g *Guard) intentWrite(n *agent.Intent, head *ledger.KeyHead, now time.Time) (*ledger.Write, error) {
	item := &ledger.Item{Kind: intentKind, ID: intentID(n.Principal, n.Agent, n.ID), Open: n.Open(), Due: n.Due()}
	if !item.Open {
		item.Due = now.Add(intentsKept)
	}
	if n.Verdict.Effect != act.Escalate || !item.Open {
		n.Params, n.Sealed = nil, nil
	}
	kept := *n
	if n.Params != nil {
		kept.Params, kept.Sealed = nil, g.seal.seal(n.Params, intentBound(n))
	}
	var err error
	item.Data, err = kept.Data()
	return &ledger.Write{Head: head, Item: item}, err
}

// Asking is what an intent comes with.
type Asking struct {
	// Params are kept while people are asked, so that the intent can be judged
	// once more when they have answered.
	Params jsontext.Value
	// Lasts is how long a verdict is good for.
	Lasts time.Duration
	// Nonce is of a signature that was found right, signed at Signed; empty for
	// none. It is good once: ErrReplayed.
	Nonce  string
	Signed time.Time
	// Call returns the digest of the call in a request of the door, and that in the
	// form before; nil for none.
	Call func(request []byte) (digest, earlier string)
}

func (q *Asking) call(request []byte) (digest, earlier string) {
	if q.Call == nil {
		return "", ""
	}
	return q.Call(request)
}

// ErrReplayed: the nonce of a signature was used before.
var ErrReplayed = errors.New("this nonce was used before")

// Ask decides about an act that an agent asks for under an id of its own. The
// same id with the same act gets the recorded verdict, which changes only when
// people have answered; with another act it is ErrOtherAct. modified is the whole
// request with the verdict's edits, when its effect is Modify.
func (g *Guard) Ask(ctx context.Context, a *act.Action, q Asking) (n *agent.Intent, modified []byte, err error) {
	key := intentID(a.Principal.Name, a.Agent.ID, a.ID)
	defer g.intents.lock(key)()
	n, head, err := g.intent(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if n != nil {
		if n.Digest != a.Digest.String() && n.Digest != a.Earlier.String() {
			return nil, nil, ErrOtherAct
		}
		settled, err := g.settled(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		if settled {
			return g.repeated(a, n)
		}
	}
	var decided agent.Intent
	d, modified, err := g.decide(ctx, a, asked{again: n != nil, also: func(d *act.Decision, modified []byte, set *policy.Set) ([]*ledger.Write, error) {
		manifest := set.Permits(a)
		d.Manifest = &manifest
		request := modified
		if request == nil {
			request = a.Body
		}
		decided = agent.Intent{
			Agent: a.Agent.ID, ID: a.ID, Principal: a.Principal.Name, Method: a.Principal.Method, Organization: a.Principal.Organization,
			Session: a.Session, Tool: a.Resource, Digest: a.Digest.String(), Verdict: g.keptVerdict(d),
			Asked: a.At, Expires: a.At.Add(q.Lasts).Truncate(time.Second), Params: q.Params,
		}
		decided.Call, decided.Earlier = q.call(request)
		write, err := g.intentWrite(&decided, head, a.At)
		if err != nil || q.Nonce == "" {
			return []*ledger.Write{write}, err
		}
		nonce, err := g.nonce(ctx, a.Agent.ID, q.Nonce, q.Signed)
		return []*ledger.Write{write, nonce}, err
	}})
	if err != nil {
		return nil, nil, err
	}
	decided.Verdict = d
	return &decided, modified, nil
}

// repeated returns the recorded verdict of an intent for the same act.
func (g *Guard) repeated(a *act.Action, n *agent.Intent) (*agent.Intent, []byte, error) {
	n.Verdict.Repeat = true
	for _, e := range n.Verdict.Edits {
		if e.Value == nil {
			n.Verdict.Effect = act.Deny
			n.Verdict.Reasons = append([]act.Reason{gone}, n.Verdict.Reasons...)
		}
	}
	modified, err := Apply(a, &n.Verdict)
	return n, modified, err
}

// gone is why a recorded verdict cannot be given again.
var gone = act.Reason{
	Rule: "intent", Code: "verdict.not_kept", Effect: act.Deny,
	Message: "The verdict changed the arguments to values that are not kept.",
	Instead: "Ask with a new intent_id.",
}

// keptVerdict is a verdict as it is kept with its intent: without what it
// replaced, without new values that hold what is masked, and without whom a rule
// asks, which stands with the approval.
func (g *Guard) keptVerdict(d *act.Decision) act.Decision {
	kept := *d
	kept.Reasons = slices.Clone(d.Reasons)
	for i := range kept.Reasons {
		kept.Reasons[i].Terms = nil
	}
	kept.Edits = slices.Clone(d.Edits)
	for i := range kept.Edits {
		e := &kept.Edits[i]
		e.Old = nil
		if g.findsIn(e.Pointer, e.Value) {
			e.Value = nil
		}
	}
	return kept
}

// nonceKind is the kind of item that a nonce is.
const nonceKind = "nonce"

// nonce is the write that uses a nonce up. It is remembered for as long as its
// signature is good.
func (g *Guard) nonce(ctx context.Context, did, nonce string, signed time.Time) (*ledger.Write, error) {
	key := keyOf(nonceKind, did, nonce)
	id := idEncoding.EncodeToString(key[:])
	_, head, err := g.item(ctx, nonceKind, id)
	switch {
	case err == nil:
		return nil, ErrReplayed
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, err
	}
	return &ledger.Write{Head: head, Item: &ledger.Item{Kind: nonceKind, ID: id, Due: signed.Add(noncesKept)}}, nil
}

// noncesKept is for how long after it was signed a nonce is remembered: longer
// than the window in which a signature is taken.
const noncesKept = 11 * time.Minute

// UseNonce uses up a nonce that comes with no intent: ErrReplayed if it was used.
func (g *Guard) UseNonce(ctx context.Context, did, nonce string, signed time.Time, by act.Principal) error {
	for range attempts {
		write, err := g.nonce(ctx, did, nonce, signed)
		if err != nil {
			return err
		}
		e := g.note("agent.handshake", by, map[string]string{"agent": did})
		e.Writes = []*ledger.Write{write}
		if _, err = g.enqueue(ctx, e); !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			return err
		}
	}
	return ErrReplayed
}

// settled reports whether an intent's verdict stands as it was recorded.
func (g *Guard) settled(ctx context.Context, n *agent.Intent) (bool, error) {
	if n.Outcome != "" || n.Verdict.Effect != act.Escalate || n.Verdict.Approval == nil {
		return true, nil
	}
	h, _, err := g.held(ctx, n.Verdict.Approval.ID)
	if err != nil || h == nil {
		return false, err
	}
	return h.At(g.cfg.Now()) == approval.Held, nil
}

// Report takes what an agent says of how an act of its ended, and returns the
// sentence that says what is wrong when no verdict covers it. The report is
// recorded in any case: a is the result as an act. The intent is nil when there
// is none.
func (g *Guard) Report(ctx context.Context, a *act.Action, r agent.Report) (n *agent.Intent, violation string, err error) {
	key := intentID(a.Principal.Name, a.Agent.ID, a.Answers)
	defer g.intents.lock(key)()
	for range attempts {
		n, head, err := g.intent(ctx, key)
		if err != nil {
			return nil, "", err
		}
		now := g.cfg.Now()
		violation = "No intent with this id was asked about."
		if n != nil {
			a.Session = n.Session
			violation = n.End(r, now)
		}
		a.Standing = slices.DeleteFunc(a.Standing, func(v act.Violation) bool { return v.Check == uncovered || v.Check == exceeded })
		if violation != "" {
			a.Standing = append(a.Standing, act.Violation{Check: uncovered, Message: violation})
		} else if n != nil {
			if violation = n.Exceeded(r); violation != "" {
				a.Standing = append(a.Standing, act.Violation{Check: exceeded, Message: violation})
			}
		}
		_, _, err = g.decide(ctx, a, asked{also: func(*act.Decision, []byte, *policy.Set) ([]*ledger.Write, error) {
			if n == nil {
				return nil, nil
			}
			write, err := g.intentWrite(n, head, now)
			return []*ledger.Write{write}, err
		}})
		if !errors.Is(err, ledger.ErrLost) {
			return n, violation, err
		}
	}
	return nil, "", ledger.ErrLost
}

// uncovered is the check that a report violates which no verdict covers.
const uncovered = "report.uncovered"

// exceeded is the check that a report violates which tells of more than the verdict's
// manifest allowed.
const exceeded = "report.exceeded"

// Intent returns one intent of an agent, with its params while people are asked; nil
// when there is none of this id.
func (g *Guard) Intent(ctx context.Context, principal, did, id string) (*agent.Intent, error) {
	n, _, err := g.intent(ctx, intentID(principal, did, id))
	if err == nil && n != nil && n.Sealed != nil {
		if n.Params, err = g.seal.unseal(n.Sealed, intentBound(n)); err != nil {
			return nil, fmt.Errorf("the intent %q: %w", id, err)
		}
		n.Sealed = nil
	}
	return n, err
}

// Intents lists the intents of an agent that are kept, or only the open ones.
func (g *Guard) Intents(ctx context.Context, did string, open bool) (list []*agent.Intent, err error) {
	whose := keyOf(intentKind, did)
	prefix := idEncoding.EncodeToString(whose[:10])
	for after := prefix; ; {
		items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: intentKind, After: after, Open: open})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if !strings.HasPrefix(item.ID, prefix) {
				return list, nil
			}
			n, err := readIntent(item)
			if err != nil {
				return nil, err
			}
			list = append(list, n)
		}
		if len(items) < ledger.DefaultItems {
			return list, nil
		}
		after = items[len(items)-1].ID
	}
}

// heldKept is for how long after its approval ended a held intent waits to be
// asked for again.
const heldKept = time.Hour

// EndIntents ends the intents whose time is over without a report, each with a
// record. One that cannot be ended, since it is damaged, does not keep the others.
func (g *Guard) EndIntents(ctx context.Context) (ended []*agent.Intent, err error) {
	now := g.cfg.Now()
	var failed error
	for after := ""; ; {
		items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: intentKind, Open: true, DueBefore: now, After: after})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			n, err := g.endIntent(ctx, item.ID, "unreported", func(n *agent.Intent) bool {
				due := n.Due()
				if n.Verdict.Effect == act.Escalate {
					due = due.Add(heldKept)
				}
				if now.Before(due) {
					return false
				}
				n.Expire(now)
				return true
			})
			if ctx.Err() != nil {
				return ended, err
			}
			if err != nil && failed == nil {
				failed = err
			}
			if n != nil {
				ended = append(ended, n)
			}
		}
		if len(items) < ledger.DefaultItems {
			return ended, failed
		}
		after = items[len(items)-1].ID
	}
}

// Withdraw takes back the verdicts of an agent that are not used up.
func (g *Guard) Withdraw(ctx context.Context, did string) (ended []*agent.Intent, err error) {
	list, err := g.Intents(ctx, did, true)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		n, err := g.endIntent(ctx, intentID(n.Principal, n.Agent, n.ID), "revoked", func(n *agent.Intent) bool {
			if !n.Open() {
				return false
			}
			n.Withdraw(g.cfg.Now())
			return true
		})
		if err != nil {
			return ended, err
		}
		if n != nil {
			ended = append(ended, n)
		}
	}
	return ended, nil
}

// endIntent changes an intent, with a record, unless change says that there is
// nothing to change; then it returns nil.
func (g *Guard) endIntent(ctx context.Context, key, how string, change func(*agent.Intent) bool) (*agent.Intent, error) {
	defer g.intents.lock(key)()
	for range attempts {
		n, head, err := g.intent(ctx, key)
		if err != nil || n == nil || !change(n) {
			return nil, err
		}
		write, err := g.intentWrite(n, head, g.cfg.Now())
		if err != nil {
			return nil, err
		}
		e := g.note("intent."+how, operator, map[string]string{"agent": n.Agent, "intent": n.ID, "decision": n.Verdict.Position.String()})
		e.Writes = []*ledger.Write{write}
		if _, err = g.enqueue(ctx, e); err == nil {
			return n, nil
		} else if !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			return nil, err
		}
	}
	return nil, ledger.ErrLost
}
