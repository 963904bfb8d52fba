package intent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of item that an intent is, and a nonce.
const (
	intentKind = "intent"
	nonceKind  = "nonce"
)

// intentsKept is for how long an intent that has ended can be looked up, and
// its id not be used again. Its records stay.
const intentsKept = 30 * 24 * time.Hour

// noncesKept is for how long after it was signed a nonce is remembered: longer
// than the window in which a signature is taken.
const noncesKept = 11 * time.Minute

// attempts is how often a report is taken when another node comes between.
const attempts = 3

// Intents is what agents asked for, and the nonces that they used. Make it with New. It is
// safe for concurrent use.
type Intents struct {
	guard  *guard.Guard
	call   func(request []byte) (digest, earlier string)
	items  *guard.Items[Intent]
	nonces *guard.Items[nonce]
	now    func() time.Time
}

// nonce is one that was used; signed is when.
type nonce struct{ signed time.Time }

// New returns the intents of a node. call returns the digest of the call that an intent,
// given as its whole request, asks for, also in the form before; nil for none. One
// principal may have so many that wait for people or for their report, and that many
// bytes of them; 0 is for any number.
func New(g *guard.Guard, call func(request []byte) (digest, earlier string), most int, bytes int64, now func() time.Time) *Intents {
	if call == nil {
		call = func([]byte) (string, string) { return "", "" }
	}
	return &Intents{
		guard: g, call: call, now: now,
		items: guard.NewItems(g, guard.Kind[Intent]{
			Name: intentKind, Parse: parseIntent,
			Quota: guard.Quota{
				Name: "intents", What: "intents that wait for people or for their report", Instead: "Report those that are done, or wait.",
				N: most, Bytes: bytes, Open: true,
			},
			// While people are asked an intent is stored with its params, sealed.
			Fill: func(n *Intent, item *guard.Item) (err error) {
				item.Owner, item.Open, item.Due = n.Principal, n.Open(), n.Due()
				if !item.Open {
					item.Due = now().Add(intentsKept)
				}
				if n.Verdict.Effect != act.Escalate || !item.Open {
					n.Params, n.Sealed = nil, nil
				}
				stored := *n
				if n.Params != nil {
					stored.Params, stored.Sealed = nil, g.Seal(n.Params, boundTo(n))
				}
				item.Data, err = stored.Data()
				return err
			},
		}),
		nonces: guard.NewItems(g, guard.Kind[nonce]{
			Name:  nonceKind,
			Parse: func(*ledger.Item) (*nonce, error) { return &nonce{}, nil },
			Fill: func(n *nonce, item *guard.Item) error {
				item.Due = n.signed.Add(noncesKept)
				return nil
			},
		}),
	}
}

// intentID names an intent: by its agent first, so that an agent's intents lie
// beside each other.
func intentID(principal, did, id string) string {
	return prefixOf(did) + "." + guard.ItemID(16, intentKind, principal, did, id)
}

func prefixOf(did string) string { return guard.ItemID(10, intentKind, did) }

func parseIntent(item *ledger.Item) (*Intent, error) {
	n, err := Parse(item.Data)
	if err != nil {
		return nil, err
	}
	if intentID(n.Principal, n.Agent, n.ID) != item.ID {
		return nil, errors.New("another one stands in its place")
	}
	if n.Verdict.Position == (act.Position{}) {
		n.Verdict.Position = item.Version // until its first change, the record of the verdict
	}
	return n, nil
}

// boundTo is what an intent's sealed params are good for: that intent alone.
func boundTo(n *Intent) []byte {
	return fmt.Appendf(nil, "intent %q %q %q\n%s", n.Principal, n.Agent, n.ID, n.Digest)
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
}

// Errors of Intents.
var (
	// ErrOtherAct: the id of an intent was used before, for another act.
	ErrOtherAct = errors.New("this intent_id was used before, for another act")
	// ErrReplayed: the nonce of a signature was used before.
	ErrReplayed = errors.New("this nonce was used before")
)

// Ask decides about an act that an agent asks for under an id of its own. The
// same id with the same act gets the recorded verdict, which changes only when
// people have answered; with another act it is ErrOtherAct. modified is the whole
// request with the verdict's edits, when its effect is Modify. The error is a
// *guard.QuotaError when too many of the principal's intents are unanswered.
func (s *Intents) Ask(ctx context.Context, a *act.Action, q Asking) (n *Intent, modified []byte, err error) {
	key := intentID(a.Principal.Name, a.Agent.ID, a.ID)
	defer s.items.Lock(key)()
	n, item, err := s.items.Get(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if n != nil {
		if n.Digest != a.Digest.String() && n.Digest != a.Earlier.String() {
			return nil, nil, ErrOtherAct
		}
		settled, err := s.settled(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		if settled {
			return s.repeated(a, n)
		}
	}
	var decided Intent
	d, modified, err := s.guard.DecideWith(ctx, a, guard.With{Asked: n != nil, Items: func(r *guard.Ruling) ([]*guard.Item, error) {
		manifest := r.Policy.Permits(a)
		r.Manifest = &manifest
		request := r.Modified
		if request == nil {
			request = a.Body
		}
		decided = Intent{
			Agent: a.Agent.ID, ID: a.ID, Principal: a.Principal.Name, Method: a.Principal.Method, Organization: a.Principal.Organization, Person: a.Principal.Person, Delegation: a.Principal.Delegation,
			Session: a.Session, Tool: a.Resource, Digest: a.Digest.String(), Verdict: s.stored(r.Decision),
			Asked: a.At, Expires: a.At.Add(q.Lasts).Truncate(time.Second), Params: q.Params,
		}
		decided.Call, decided.Earlier = s.call(request)
		item.Charged = true
		err := s.items.Fill(&decided, item)
		if err != nil || q.Nonce == "" {
			return []*guard.Item{item}, err
		}
		used, err := s.nonce(ctx, a.Agent.ID, q.Nonce, q.Signed)
		return []*guard.Item{item, used}, err
	}})
	if err != nil {
		return nil, nil, err
	}
	decided.Verdict = d
	return &decided, modified, nil
}

// repeated returns the recorded verdict of an intent for the same act.
func (s *Intents) repeated(a *act.Action, n *Intent) (*Intent, []byte, error) {
	n.Verdict.Repeat = true
	for _, e := range n.Verdict.Edits {
		if e.Value == nil {
			n.Verdict.Effect = act.Deny
			n.Verdict.Reasons = append([]act.Reason{gone}, n.Verdict.Reasons...)
		}
	}
	modified, err := guard.Apply(a, &n.Verdict)
	return n, modified, err
}

// gone is why a recorded verdict cannot be given again.
var gone = act.Reason{
	Rule: "intent", Code: "verdict.not_kept", Effect: act.Deny,
	Message: "The verdict changed the arguments to values that are not kept.",
	Instead: "Ask with a new intent_id.",
}

// stored is a verdict as it is stored with its intent: without what it replaced,
// without new values that hold what is masked, and without whom a rule asks, which
// stands with the approval.
func (s *Intents) stored(d *act.Decision) act.Decision {
	v := *d
	v.Reasons = slices.Clone(d.Reasons)
	for i := range v.Reasons {
		v.Reasons[i].Terms = nil
	}
	v.Edits = slices.Clone(d.Edits)
	for i := range v.Edits {
		e := &v.Edits[i]
		e.Old = nil
		if s.guard.Finds(e.Pointer, e.Value) {
			e.Value = nil
		}
	}
	return v
}

func nonceID(did, nonce string) string { return guard.ItemID(16, nonceKind, did, nonce) }

// nonce is the item that uses a nonce up.
func (s *Intents) nonce(ctx context.Context, did, text string, signed time.Time) (*guard.Item, error) {
	_, item, err := s.nonces.Get(ctx, nonceID(did, text))
	if err != nil {
		return nil, err
	}
	if item.Found {
		return nil, ErrReplayed
	}
	return item, s.nonces.Fill(&nonce{signed}, item)
}

// UseNonce uses up a nonce that comes with no intent: ErrReplayed if it was used.
func (s *Intents) UseNonce(ctx context.Context, did, text string, signed time.Time, by act.Principal) error {
	_, err := s.nonces.Update(ctx, nonceID(did, text), func(n *nonce, item *guard.Item) (*guard.Note, error) {
		if item.Found {
			return nil, ErrReplayed
		}
		n.signed = signed
		note := guard.Admin("agent.handshake", by, map[string]string{"agent": did})
		note.Plain = true
		return note, nil
	})
	if errors.Is(err, ledger.ErrLost) { // others use it at the same time
		err = ErrReplayed
	}
	return err
}

// settled reports whether an intent's verdict stands as it was recorded.
func (s *Intents) settled(ctx context.Context, n *Intent) (bool, error) {
	if n.Outcome != "" || n.Verdict.Effect != act.Escalate || n.Verdict.Approval == nil {
		return true, nil
	}
	h, err := s.guard.Approval(ctx, n.Verdict.Approval.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil && h.State == approval.Held, err
}

// Checks that a report violates which no verdict covers, and one which tells of more
// than the verdict's manifest allowed.
const (
	uncovered = "report.uncovered"
	exceeded  = "report.exceeded"
)

// Report takes what an agent says of how an act of its ended, and returns the
// sentence that says what is wrong when no verdict covers it. The report is
// recorded in any case: a is the result as an act. The intent is nil when there
// is none.
func (s *Intents) Report(ctx context.Context, a *act.Action, r Report) (n *Intent, violation string, err error) {
	key := intentID(a.Principal.Name, a.Agent.ID, a.Answers)
	defer s.items.Lock(key)()
	for range attempts {
		n, item, err := s.items.Get(ctx, key)
		if err != nil {
			return nil, "", err
		}
		violation = "No intent with this id was asked about."
		if n != nil {
			a.Session = n.Session
			violation = n.End(r, s.now())
		}
		a.Standing = slices.DeleteFunc(a.Standing, func(v act.Violation) bool { return v.Check == uncovered || v.Check == exceeded })
		if violation != "" {
			a.Standing = append(a.Standing, act.Violation{Check: uncovered, Message: violation})
		} else if n != nil {
			if violation = n.Exceeded(r); violation != "" {
				a.Standing = append(a.Standing, act.Violation{Check: exceeded, Message: violation})
			}
		}
		_, _, err = s.guard.DecideWith(ctx, a, guard.With{Items: func(*guard.Ruling) ([]*guard.Item, error) {
			if n == nil {
				return nil, nil
			}
			return []*guard.Item{item}, s.items.Fill(n, item)
		}})
		if !errors.Is(err, ledger.ErrLost) {
			return n, violation, err
		}
	}
	return nil, "", ledger.ErrLost
}

// Get returns one intent of an agent, with its params while people are asked; nil
// when there is none of this id.
func (s *Intents) Get(ctx context.Context, principal, did, id string) (*Intent, error) {
	n, _, err := s.items.Get(ctx, intentID(principal, did, id))
	if err == nil && n != nil && n.Sealed != nil {
		if n.Params, err = s.guard.Unseal(n.Sealed, boundTo(n)); err != nil {
			return nil, fmt.Errorf("the intent %q: %w", id, err)
		}
		n.Sealed = nil
	}
	return n, err
}

// Of lists the intents of an agent that are kept, or only the open ones. bad are those
// that are damaged.
func (s *Intents) Of(ctx context.Context, did string, open bool) (list []*Intent, bad []*guard.DamagedError, err error) {
	for n, err := range s.items.All(ctx, ledger.ItemQuery{Prefix: prefixOf(did) + ".", Open: open}) {
		if damaged, ok := errors.AsType[*guard.DamagedError](err); ok {
			bad = append(bad, damaged)
		} else if err != nil {
			return nil, nil, err
		} else if n.Agent == did {
			list = append(list, n)
		}
	}
	return list, bad, nil
}

// heldKept is for how long after its approval ended a held intent waits to be
// asked for again.
const heldKept = time.Hour

// Expire ends the intents whose time is over without a report, each with a
// record. One that cannot be ended, since it is damaged, does not keep the others.
func (s *Intents) Expire(ctx context.Context) (ended []*Intent, err error) {
	now := s.now()
	var failed error
	for n, err := range s.items.All(ctx, ledger.ItemQuery{Open: true, DueBefore: now}) {
		if err == nil {
			n, err = s.end(ctx, n, "unreported", func(n *Intent) bool {
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
		}
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
	return ended, failed
}

// Withdraw takes back the verdicts of an agent that are not used up. The error is the
// first of those that could not be.
func (s *Intents) Withdraw(ctx context.Context, did string) (ended []*Intent, err error) {
	list, _, err := s.Of(ctx, did, true) // what is damaged covers nothing as it is
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		n, failed := s.end(ctx, n, "revoked", func(n *Intent) bool {
			if !n.Open() {
				return false
			}
			n.Withdraw(s.now())
			return true
		})
		if failed != nil && err == nil {
			err = failed
		}
		if n != nil {
			ended = append(ended, n)
		}
	}
	return ended, err
}

// end changes an intent, with a record, unless change says that there is nothing to
// change; then it returns nil.
func (s *Intents) end(ctx context.Context, n *Intent, how string, change func(*Intent) bool) (*Intent, error) {
	changed := false
	n, err := s.items.Update(ctx, intentID(n.Principal, n.Agent, n.ID), func(n *Intent, item *guard.Item) (*guard.Note, error) {
		if changed = item.Found && change(n); !changed {
			return nil, nil
		}
		operator := act.Principal{Name: "operator", Method: "local"}
		note := guard.Admin("intent."+how, operator, map[string]string{"agent": n.Agent, "intent": n.ID, "decision": n.Verdict.Position.String()})
		note.Plain = true
		return note, nil
	})
	if !changed {
		n = nil
	}
	return n, err
}
