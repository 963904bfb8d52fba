// Package approval is what is held until people have agreed: who must agree to
// which rule, who has, and whether that still counts. It is pure; package guard
// makes each change durable together with its record.
//
//	held ── enough agree ──▶ approved ── the act comes again ──▶ used
//	  │                          │
//	  ├── somebody refuses ──▶ denied
//	  ├── nobody answers ────▶ expired ◀── nobody uses it in time
//	  └──────────────────────────┴── taken back ──▶ revoked
//
// Where the agent's own user is asked in a window of the agent's, the result of what was
// held says so, and the decision ends as dialogue.
//
// An approval answers the named rules for one act: one digest, of one principal,
// agent and session, in the form that the policy gave it. It is used once. Where people
// agree to more than that, it makes a Grant, which has an end and a scope of its own.
package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// State is where a held decision stands.
type State string

// The states. Only Held and Approved can change.
const (
	Held     State = "held"     // people are asked
	Approved State = "approved" // the act may come
	Denied   State = "denied"   // somebody refused
	Expired  State = "expired"  // nobody answered, or nobody used it, in time
	Revoked  State = "revoked"  // an approval was taken back before its use
	Used     State = "used"     // the act came through
	Dialogue State = "dialogue" // it has happened: the agent's own user agreed, in the agent's window, as the agent says
)

// Within is how long people have to answer, and the answer to be used, when the
// policy does not say.
const Within = time.Hour

// Errors of Answer.
var (
	// ErrOwn: who asks must not answer.
	ErrOwn = errors.New("nobody answers for an act of their own")
	// ErrEnded: the decision is no longer open.
	ErrEnded = errors.New("this decision is no longer open")
	// ErrNotAsked: the policy asks others.
	ErrNotAsked = errors.New("the policy asks other people for this")
	// ErrSame: the policy asks another person than the one whose act it is.
	ErrSame = errors.New("the policy asks another person than the one for whom this is done")
	// ErrWho: the same, and it cannot be told who that is, or who answers.
	ErrWho = errors.New("the policy asks another person than the one for whom this is done, and a credential does not say whose it is: an admin gives keys a person (reeve keys create --person)")
	// ErrAnswered: this person has answered already.
	ErrAnswered = errors.New("you have answered this already")
	// ErrUnseen: who agrees has not looked at what would be done, or at something else.
	ErrUnseen = errors.New("nobody agrees to what they have not seen: look at the act as it is held now, and answer with its \"seen\"")
	// ErrPasskey: a rule asks for a passkey, and none was shown.
	ErrPasskey = errors.New("a rule asks who agrees to this for their passkey: answer in the console")
	// ErrUnshown: what would be done can no longer be shown.
	ErrUnshown = errors.New("what would be done cannot be shown any more, so nobody can agree to it: have it asked anew")
)

// Decision is an act that is held, or was.
type Decision struct {
	ID string `json:"id"`
	// Decision is the id of the decision that held the act: a place in the ledger.
	Decision string `json:"decision,omitzero"`
	State    State  `json:"state"`

	// The act.
	Principal string `json:"principal"`
	// Holder is the person who holds the credential that asked, where it says so, and Users
	// are the names that the agent has for whom it works for, and its token.
	Holder   string   `json:"holder,omitzero"`
	Users    []string `json:"users,omitempty"`
	Agent    string   `json:"agent,omitzero"`
	Session  string   `json:"session,omitzero"`
	Within   string   `json:"within,omitzero"` // what stands for the session in a grant; mostly the same
	Folder   string   `json:"folder,omitzero"` // that it works in, as far as that is said
	Door     string   `json:"door"`
	Kind     string   `json:"kind"`
	Resource string   `json:"resource,omitzero"`
	Digest   string   `json:"digest"`
	// Files is a digest of the state of what the act runs, reads and takes its orders from, when people
	// were asked about it: what they agreed to is that.
	Files string `json:"files,omitzero"`
	// What says in one line what would happen: as the request is kept, and to those who
	// may answer exactly. It is absent where nothing is kept or the decision is over.
	What string `json:"what,omitzero"`
	// Request is what is asked, as it is kept beside the ledger: masked as
	// configured, and absent where it is not kept or the decision is over.
	Request jsontext.Value `json:"request,omitzero"`
	// Edits says that the policy also changes the request; the approval is for
	// the changed form.
	Edits []Edit `json:"edits,omitzero"`
	// Sealed is what Exact shows, encrypted with a key of the nodes that share
	// the database; absent once enough people answered, or the time is over.
	Sealed []byte `json:"sealed,omitzero"`
	// Seen is a digest of what Exact shows. Who agrees says it.
	Seen string `json:"seen,omitzero"`
	// Exact is what those who may answer are shown; it is never stored.
	Exact *Exact `json:"exact,omitzero"`

	// Asked are the ids of the acts that wait for the answer, of doors that tell
	// their agents of it: the first maxAsked. The others ask again.
	Asked []string `json:"asked,omitzero"`

	// Policy is the hash of the one that held it. Stale says that another is in force by
	// now, by which the act is judged again when it comes; it is never stored.
	Policy string `json:"policy,omitzero"`
	Stale  bool   `json:"stale,omitzero"`

	Needs   []Need    `json:"needs"`
	Answers []Answer  `json:"answers,omitzero"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Grant is the id of the grant that the answers made, if they did.
	Grant string `json:"grant,omitzero"`
	// Lasting says that it can be agreed to for more than once.
	Lasting bool `json:"lasting,omitzero"`
}

// Exact is what would be done, with nothing masked.
type Exact struct {
	// Request is the request, byte for byte as it was sent. It and what follows
	// are texts here, so that no reader of JSON spells them otherwise.
	Request string `json:"request"`
	// What says in one line what the request would do.
	What string `json:"what,omitzero"`
	// Changes are those that the policy makes to it.
	Changes []Change `json:"changes,omitzero"`
	// Scope is what people agree to who agree for more than once.
	Scope Scope `json:"scope,omitzero"`
	// Arguments are the act's, which who agrees can change; Whole says that they are all there
	// are, so that who has seen them has seen what a tool would be given.
	Arguments []Argument `json:"arguments,omitempty"`
	Whole     bool       `json:"whole,omitzero"`
	// Parts are what was read in its texts: what they run, and what of it is dangerous.
	Parts []Part `json:"parts,omitempty"`
}

// Part is one text of an act, as it was read.
type Part struct {
	Pointer string `json:"pointer"`
	Use     string `json:"use"`  // run, written or replaced
	Text    string `json:"text"` // exactly
	// Commands are those that it starts, in the order in which they are read: also within
	// others.
	Commands []string  `json:"commands,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is something dangerous that a part would do.
type Finding struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Weight  float64 `json:"weight"`
	// Start and End are where in the text it is, in bytes; both 0 where that is not known.
	Start int `json:"start,omitzero"`
	End   int `json:"end,omitzero"`
}

// Change is one change of a request: JSON that another takes the place of.
type Change struct {
	Pointer string `json:"pointer"`
	// Argument is the name of the argument that a person has changed, by which it is found
	// when the act comes again.
	Argument string `json:"argument,omitzero"`
	Old      string `json:"old"`
	New      string `json:"new"`
}

// Argument is one that a person can change. Its value, and whether the policy changes it
// itself, are told with it and not stored.
type Argument struct {
	Name    string `json:"name"`
	Pointer string `json:"pointer"`
	Value   string `json:"value,omitzero"`
	Fixed   bool   `json:"fixed,omitzero"`
}

// Digest is what an answer says of what was looked at.
func (x *Exact) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "reeve seen v1\n%d %s\n", len(x.Request), x.Request)
	for _, c := range x.Changes {
		fmt.Fprintf(h, "%d %s %d %s\n", len(c.Pointer), c.Pointer, len(c.New), c.New)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Edit is one change that the policy makes to the request.
type Edit struct {
	Pointer string         `json:"pointer"`
	Value   jsontext.Value `json:"value,omitzero"` // absent when it is not kept
}

// Need is a rule that asks people.
type Need struct {
	Rule      string   `json:"rule"`
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Quorum    int      `json:"quorum"`
	Approvers []string `json:"approvers,omitzero"`
	Another   bool     `json:"another,omitzero"` // nobody agrees whose act it is
	Passkey   bool     `json:"passkey,omitzero"` // who agrees shows a passkey
}

// Answer is one person's.
type Answer struct {
	By string `json:"by"`
	// Person is who holds the credential, where that is said: two of one person's are one.
	Person string `json:"person,omitzero"`
	Agree  bool   `json:"agree"`
	Note   string `json:"note,omitzero"`
	Seen   string `json:"seen,omitzero"` // the digest of what they looked at
	For    Span   `json:"for,omitzero"`
	// Usual says that what the act is done upon is usual for its agent from now on.
	Usual bool `json:"usual,omitzero"`
	// Changes are those with which they agree, and to nothing without them. Form is the
	// digest of what they make of the act.
	Changes []Change `json:"changes,omitempty"`
	Form    string   `json:"form,omitzero"`
	// Passkey is the id of the passkey that was shown for this answer, and Signed what it
	// signed, as JSON.
	Passkey string    `json:"passkey,omitzero"`
	Signed  string    `json:"signed,omitzero"`
	At      time.Time `json:"at"`
}

// principal is who answered.
func (a Answer) principal() act.Principal { return act.Principal{Name: a.By, Person: a.Person} }

// IsOf reports whether the answer may be of the same person as a credential.
func (a Answer) IsOf(by act.Principal) bool { return SamePerson(a.principal(), by) }

// Needs are what the reasons of a decision ask of people, and until when. Every
// escalating rule asks, for itself.
func Needs(reasons []act.Reason, now time.Time) (needs []Need, expires time.Time) {
	within := Within
	for _, r := range reasons {
		if r.Effect != act.Escalate || r.Observe {
			continue
		}
		n := Need{Rule: r.Rule, Code: r.Code, Message: r.Message, Quorum: 1}
		if t := r.Terms; t != nil {
			n.Quorum, n.Approvers, n.Another, n.Passkey = max(t.Quorum, 1), t.Approvers, t.Another, t.Passkey
			if t.Within > 0 {
				within = min(within, t.Within)
			}
		}
		if !slices.ContainsFunc(needs, n.Same) {
			needs = append(needs, n)
		}
	}
	return needs, now.Add(within)
}

// Same reports whether two needs ask the same for the same rule.
func (n Need) Same(o Need) bool {
	return n.Rule == o.Rule && n.Code == o.Code && n.Quorum == o.Quorum && n.Another == o.Another && n.Passkey == o.Passkey && slices.Equal(n.Approvers, o.Approvers)
}

// Covers reports whether every need was asked for here already.
func (d *Decision) Covers(needs []Need) bool {
	for _, n := range needs {
		if !slices.ContainsFunc(d.Needs, n.Same) {
			return false
		}
	}
	return true
}

// setBack is how much earlier than a decision the present may be, since the clocks of nodes
// differ. Beyond it somebody has set the clock back, and nothing is in time any more.
const setBack = 15 * time.Minute

// At is the decision's state at a time.
func (d *Decision) At(now time.Time) State {
	if d.Open() && (!now.Before(d.Expires) || now.Before(d.Created.Add(-setBack))) {
		return Expired
	}
	return d.State
}

// maxAsked is how many acts that wait for one answer are told of it.
const maxAsked = 64

// Wait notes an act that waits for the answer, and reports whether that is news.
func (d *Decision) Wait(id string) bool {
	if id == "" || len(d.Asked) >= maxAsked || slices.Contains(d.Asked, id) {
		return false
	}
	d.Asked = append(d.Asked, id)
	return true
}

// Anybody reports whether nobody in particular is asked, and one answer is enough: then the
// agent's own user may give it, in a window of the agent's.
func (d *Decision) Anybody() bool {
	return len(d.Needs) > 0 && !slices.ContainsFunc(d.Needs, func(n Need) bool { return n.Quorum > 1 || len(n.Approvers) > 0 || n.Another || n.Passkey })
}

// Outside ends what is open, since the agent says that its own user agreed in its window
// and that it has happened.
func (d *Decision) Outside(now time.Time) bool {
	if state := d.At(now); state != Held && state != Approved {
		return false
	}
	d.State = Dialogue
	d.Answers = append(d.Answers, Answer{By: ByDialogue, Agree: true, At: now})
	return true
}

// ByDialogue stands for who agreed in a window of the agent's own.
const ByDialogue = "the agent's user, as the agent says"

// Open reports whether the decision can still change.
func (d *Decision) Open() bool { return d.State == Held || d.State == Approved }

// May says why a person cannot answer; nil if they can. agree is which answer it is about.
func (d *Decision) May(by act.Principal, agree bool, now time.Time) error {
	state := d.At(now)
	switch {
	case state != Held && (state != Approved || agree):
		return fmt.Errorf("%w: it is %s", ErrEnded, state)
	case by.Name == d.Principal:
		return ErrOwn
	case !slices.ContainsFunc(d.Needs, func(n Need) bool { return n.asks(by) }):
		return ErrNotAsked
	case agree && d.another() && d.isOf(by):
		return ErrSame
	case agree && d.another() && (d.Holder == "" || by.Known() == ""):
		return ErrWho
	case agree && d.Sealed == nil && d.Exact == nil:
		return ErrUnshown
	}
	return nil
}

// Answer takes a person's answer, of which By and At are set here. To agree, Seen must
// be the digest of what is held. A refusal decides at once, and takes back an approval
// that was not used yet. Who agrees to another form than before, with other changes, takes
// the place of what they said before: a person agrees to one form.
func (d *Decision) Answer(by act.Principal, a Answer, now time.Time) error {
	state, agree := d.At(now), a.Agree
	if err := d.May(by, agree, now); err != nil {
		return err
	}
	if agree && a.Seen != d.Seen {
		return ErrUnseen
	}
	if agree && d.WantsPasskey(by) {
		switch {
		case a.Passkey == "":
			return ErrPasskey
		case !a.For.Once() || a.Usual:
			return fmt.Errorf("%w: a rule asks for a passkey, each time", ErrOnce)
		}
	}
	if !agree {
		a.For, a.Changes, a.Passkey, a.Signed = Span{}, nil, "", ""
	}
	a.Form = FormOf(a.Changes)
	if before := d.AnswerOf(by); agree && before != nil {
		if sameForm(before.Changes, a.Changes) {
			return ErrAnswered
		}
		d.Answers = slices.DeleteFunc(d.Answers, func(o Answer) bool { return o.Agree && o.IsOf(by) })
	}
	a.By, a.Person, a.At = by.Name, by.Person, now
	d.Answers = append(d.Answers, a)
	switch {
	case !agree && state == Approved:
		d.State = Revoked
	case !agree:
		d.State = Denied
	case d.satisfied():
		// The act has as long to come as people had to answer.
		d.State, d.Expires = Approved, now.Add(d.Expires.Sub(d.Created))
	}
	return nil
}

// AnswerOf is what a person has agreed to, by whatever credential; nil for nothing.
func (d *Decision) AnswerOf(by act.Principal) *Answer {
	for i := range d.Answers {
		if a := &d.Answers[i]; a.Agree && a.IsOf(by) {
			return a
		}
	}
	return nil
}

// sameForm reports whether two people agree to the same bytes: they change the same
// arguments, each to exactly the same.
func sameForm(a, b []Change) bool {
	return slices.EqualFunc(a, b, func(a, b Change) bool {
		return a.Pointer == b.Pointer && a.Argument == b.Argument && a.New == b.New
	})
}

// Form is a form of the act to which people have agreed: without changes as it was asked
// for, else as somebody proposed it.
type Form struct {
	Digest  string // empty for the act as it was asked for
	Changes []Change
	Answers []Answer // of those who agree to it
}

// FormOf names the form that changes make of an act; empty without any.
func FormOf(changes []Change) string {
	if len(changes) == 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "reeve form v1\n")
	for _, c := range changes {
		fmt.Fprintf(h, "%d %s %d %s\n", len(c.Pointer), c.Pointer, len(c.New), c.New)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Forms are those to which anybody agrees, in the order in which they were proposed.
func (d *Decision) Forms() (forms []Form) {
	for _, a := range d.Answers {
		if !a.Agree {
			continue
		}
		i := slices.IndexFunc(forms, func(f Form) bool { return sameForm(f.Changes, a.Changes) })
		if i < 0 {
			i, forms = len(forms), append(forms, Form{Digest: a.Form, Changes: a.Changes})
		}
		forms[i].Answers = append(forms[i].Answers, a)
	}
	return forms
}

// agreed are the answers of those who agree to one form: that of who agreed last, which
// is the one that is approved once enough have.
func (d *Decision) agreed() (list []Answer) {
	var last []Change
	for _, a := range d.Answers {
		if a.Agree {
			last = a.Changes
		}
	}
	for _, a := range d.Answers {
		if a.Agree && sameForm(a.Changes, last) {
			list = append(list, a)
		}
	}
	return list
}

// For is what all who agreed have agreed to: once, unless each of them said more.
func (d *Decision) For() (span Span) {
	for i, a := range d.agreed() {
		if span = span.narrower(a.For); i == 0 {
			span = a.For
		}
	}
	return span
}

// Changes are those with which people agreed; none while not enough have.
func (d *Decision) Changes() []Change {
	if list := d.agreed(); d.State != Held && len(list) > 0 && d.satisfied() {
		return list[0].Changes
	}
	return nil
}

// Usual reports whether all who agreed say that what the act is done upon is usual.
func (d *Decision) Usual() bool {
	list := d.agreed()
	return len(list) > 0 && !slices.ContainsFunc(list, func(a Answer) bool { return !a.Usual })
}

// satisfied reports whether enough people agreed to every rule, all to the same form.
func (d *Decision) satisfied() bool {
	agreed, wanted := d.Progress()
	return wanted > 0 && agreed >= wanted
}

// Progress is how many people have agreed to one form of the act, and how many must: of the
// rule that lacks most.
func (d *Decision) Progress() (agreed, wanted int) {
	list := d.agreed()
	for i, n := range d.Needs {
		if have := n.agreed(list); i == 0 || n.Quorum-have > wanted-agreed {
			agreed, wanted = have, n.Quorum
		}
	}
	return agreed, wanted
}

// agreed is how many of those who agreed count for a need: each person once, by whatever
// credential.
func (n Need) agreed(list []Answer) int {
	var counted []act.Principal
	for _, a := range list {
		who := a.principal()
		if (!n.Passkey || a.Passkey != "") && n.asks(who) && !slices.ContainsFunc(counted, func(p act.Principal) bool { return SamePerson(p, who) }) {
			counted = append(counted, who)
		}
	}
	return len(counted)
}

// WantsPasskey reports whether who agrees must show a passkey: a rule that asks them wants it.
func (d *Decision) WantsPasskey(by act.Principal) bool {
	return slices.ContainsFunc(d.Needs, func(n Need) bool { return n.Passkey && n.asks(by) })
}

// another reports whether a rule asks somebody else than the person whose act it is.
func (d *Decision) another() bool {
	return slices.ContainsFunc(d.Needs, func(n Need) bool { return n.Another })
}

// isOf reports whether the act is a person's own: they hold the credential that asked, or
// the agent says that it works for them.
func (d *Decision) isOf(by act.Principal) bool {
	for _, name := range []string{by.Holder(), by.Name} {
		if mayBe(name, d.Holder) || slices.ContainsFunc(d.Users, func(user string) bool { return mayBe(name, user) }) {
			return true
		}
	}
	return false
}

// asks reports whether a need asks this person: by the credential's name, by the beginning
// of it followed by a star, or as person:NAME. A need that names nobody asks every approver.
func (n Need) asks(who act.Principal) bool {
	return len(n.Approvers) == 0 || slices.ContainsFunc(n.Approvers, func(p string) bool {
		if person, ok := strings.CutPrefix(p, "person:"); ok {
			return person == who.Holder()
		}
		prefix, star := strings.CutSuffix(p, "*")
		return p == who.Name || star && strings.HasPrefix(who.Name, prefix)
	})
}

// Rules names the rules that ask.
func (d *Decision) Rules() (names []string) {
	for _, n := range d.Needs {
		if !slices.Contains(names, n.Rule) {
			names = append(names, n.Rule)
		}
	}
	return names
}

// Who lists those who agreed, or after a refusal who refused.
func (d *Decision) Who() (names []string) {
	list := d.agreed()
	if d.State == Denied || d.State == Revoked {
		list = slices.DeleteFunc(slices.Clone(d.Answers), func(a Answer) bool { return a.Agree })
	}
	for _, a := range list {
		if !slices.Contains(names, a.By) {
			names = append(names, a.By)
		}
	}
	return names
}

// Data is the decision as it is stored.
func (d *Decision) Data() ([]byte, error) { return json.Marshal(d) }

// Parse reads what Data wrote.
func Parse(data []byte) (*Decision, error) {
	d := new(Decision)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("read a held decision: %w", err)
	}
	return d, nil
}
