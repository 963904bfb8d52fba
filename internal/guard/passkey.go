package guard

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/passkey"

	"github.com/go-json-experiment/json"
)

// passkeyKind is the kind of item that a person's passkey is.
const passkeyKind = "passkey"

// Bounds of passkeys.
const (
	maxPasskeys    = 16 // of one principal, those that wait for a confirmation and those that count
	passkeyWaits   = 7 * 24 * time.Hour
	challengeLasts = 2 * time.Minute
	maxChallenges  = 1000 // of this node; the oldest goes
	ownChallenges  = 10   // of one principal
	maxLabel       = 100
)

// Passkey is what a principal agrees with where a rule asks for it. It counts once somebody
// else has confirmed it: a stolen key can log in and register one, and must gain nothing by
// that.
type Passkey struct {
	ID        string      `json:"id"` // a digest of whose it is and of the key itself
	Principal string      `json:"principal"`
	Person    string      `json:"person,omitzero"` // who held the principal's credential
	Label     string      `json:"label,omitzero"`
	State     string      `json:"state"` // waiting, confirmed or revoked
	Key       passkey.Key `json:"key"`
	Created   time.Time   `json:"created"`
	Confirmed *Said       `json:"confirmed,omitzero"`
	Revoked   *Said       `json:"revoked,omitzero"`
	Used      time.Time   `json:"used,omitzero"`
}

// Said is who said something of a passkey, and when.
type Said struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// The states of a passkey. It is of use in one of them.
const (
	PasskeyWaits     = "waiting"
	PasskeyConfirmed = "confirmed"
	PasskeyRevoked   = "revoked"
)

// of reports whether it is a principal's own, and its holder is who registered it: a key can be
// made anew under a name that another had.
func (p *Passkey) of(by act.Principal) bool {
	return p.Principal == by.Name && p.Person == by.Person
}

// Errors of passkeys.
var (
	ErrNoSite    = errors.New("passkeys need the setting passkeys.origin: the address of the console's pages")
	ErrNoPasskey = errors.New("a rule asks for a passkey, and you have none: register one on the console's page Passkeys, and have somebody else confirm it")
	ErrWaits     = errors.New("a rule asks for a passkey, and nobody has confirmed yours yet: an admin who is somebody else does it, or the node's owner with reeve passkeys confirm")
	ErrChallenge = errors.New("this was not asked of your passkey, was answered already, or too late: try again")
	ErrSelf      = errors.New("nobody confirms a passkey of their own")
	ErrMany      = fmt.Errorf("you have %d passkeys: revoke one first", maxPasskeys)
	ErrLabel     = fmt.Errorf("a passkey has a label of 1 to %d bytes", maxLabel)
)

func newPasskeys(g *Guard) *Items[Passkey] {
	return NewItems(g, Kind[Passkey]{
		Name: passkeyKind,
		Parse: func(item *ledger.Item) (*Passkey, error) {
			p := new(Passkey)
			err := json.Unmarshal(item.Data, p)
			if err == nil && (p.ID != item.ID || p.ID != passkeyID(p.Principal, &p.Key)) {
				err = errors.New("another one stands in its place")
			}
			return p, err
		},
		Fill: func(p *Passkey, item *Item) (err error) {
			item.Owner, item.Open = p.Principal, p.State == PasskeyConfirmed
			switch p.State {
			case PasskeyConfirmed:
				item.Due = time.Time{}
			case PasskeyWaits:
				item.Due = p.Created.Add(passkeyWaits)
			default:
				item.Due = g.cfg.Now().Add(approvalsKept)
			}
			item.Data, err = json.Marshal(p)
			return err
		},
	})
}

func passkeyID(principal string, k *passkey.Key) string {
	return ItemID(16, passkeyKind, principal, string(k.ID), string(k.Public))
}

// challenges are what people's passkeys were asked to sign, until they have or it is too late.
// Each is answered once, whatever becomes of the answer. They are in the memory of this node.
type challenges struct {
	mu   sync.Mutex
	open map[string]asked // by nonce
}

type asked struct {
	principal string
	about     string
	ends      time.Time
}

// begin notes what is asked of a principal's passkey, and returns a nonce for it.
func (c *challenges) begin(principal, about string, now time.Time) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	nonce := base64.RawURLEncoding.EncodeToString(b[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[string]asked{}
	}
	oldest, own, count := "", "", 0
	for n, one := range c.open {
		if !now.Before(one.ends) {
			delete(c.open, n)
			continue
		}
		if oldest == "" || one.ends.Before(c.open[oldest].ends) {
			oldest = n
		}
		if one.principal == principal {
			if count++; own == "" || one.ends.Before(c.open[own].ends) {
				own = n
			}
		}
	}
	if count >= ownChallenges {
		delete(c.open, own)
	} else if len(c.open) >= maxChallenges {
		delete(c.open, oldest)
	}
	c.open[nonce] = asked{principal, about, now.Add(challengeLasts)}
	return nonce
}

// take ends what was asked under a nonce, and returns it.
func (c *challenges) take(nonce string) asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.open[nonce]
	delete(c.open, nonce)
	return one
}

// challengeOf is what is signed: it can be told from the nonce and what it is about alone, so
// that a record of it can be checked later.
func challengeOf(nonce, about string) []byte {
	sum := sha256.Sum256([]byte("reeve passkey v1\n" + nonce + "\n" + about))
	return sum[:]
}

// about says one thing that a passkey agrees to, so that no two things are said alike.
func about(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%d %s\n", len(p), p)
	}
	return b.String()
}

func aboutApproval(h *approval.Decision, by act.Principal, r *Reply, form string) string {
	return about("approve", by.Name, h.ID, h.Decision, h.Digest, h.Seen, r.Seen, form, r.Note)
}

// Challenge is what a browser asks a passkey to sign.
type Challenge struct {
	Nonce     string   `json:"nonce"`
	Challenge []byte   `json:"challenge"`
	Origin    string   `json:"origin"` // where pages can ask
	Host      string   `json:"host"`
	User      string   `json:"user"`           // whose passkey is asked, or made
	Handle    []byte   `json:"handle"`         // the same, for its authenticator
	Keys      [][]byte `json:"keys,omitempty"` // those that can answer; for a new one, those that are there
}

func (g *Guard) challenge(by act.Principal, about string, keys [][]byte) *Challenge {
	nonce := g.challenges.begin(by.Name, about, g.cfg.Now())
	handle := sha256.Sum256([]byte("reeve user " + by.Name))
	return &Challenge{
		Nonce: nonce, Challenge: challengeOf(nonce, about), Origin: g.cfg.Passkeys.Origin, Host: g.cfg.Passkeys.Host,
		User: by.Name, Handle: handle[:], Keys: keys,
	}
}

// Passkeys lists passkeys: a principal's own, or all where it is "".
func (g *Guard) Passkeys(ctx context.Context, principal string) (list []*Passkey, err error) {
	for p, err := range g.passkeys.All(ctx, ledger.ItemQuery{}) {
		if err == nil { // as it was last written: one that was taken back is none
			if p, _, err = g.passkeys.Get(ctx, p.ID); p == nil && err == nil {
				continue
			}
		}
		if damaged, ok := errors.AsType[*DamagedError](err); ok && damaged != nil {
			continue // it is said in the log, and counts for nothing
		}
		if err != nil {
			return nil, err
		}
		if principal == "" || p.Principal == principal {
			list = append(list, p)
		}
	}
	return list, nil
}

// usable are the ids of the passkeys with which a principal can agree, by the authenticator's
// names for them.
func (g *Guard) usable(ctx context.Context, by act.Principal) (list []*Passkey, ids [][]byte, err error) {
	if g.cfg.Passkeys.Origin == "" {
		return nil, nil, ErrNoSite
	}
	all, err := g.Passkeys(ctx, by.Name)
	if err != nil {
		return nil, nil, err
	}
	err = ErrNoPasskey
	for _, p := range all {
		switch {
		case !p.of(by):
		case p.State == PasskeyConfirmed:
			list, ids = append(list, p), append(ids, p.Key.ID)
		case p.State == PasskeyWaits:
			err = ErrWaits
		}
	}
	if list != nil {
		err = nil
	}
	return list, ids, err
}

// Site is where people use passkeys; the zero value for nowhere.
func (g *Guard) Site() passkey.Site { return g.cfg.Passkeys }

// AskToAgree is what a passkey signs for one answer of a person to one act that is held.
func (g *Guard) AskToAgree(ctx context.Context, id string, by act.Principal, r Reply) (*Challenge, error) {
	h, _, err := g.approvals.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("the approval %q: %w", id, ledger.ErrNotFound)
	}
	if err := h.May(by, true, g.cfg.Now()); err != nil {
		return nil, err
	}
	if !r.For.Once() || r.Usual {
		return nil, fmt.Errorf("%w: a rule asks for a passkey, each time", approval.ErrOnce)
	}
	changes, err := g.changesTo(h, &r, r.For)
	if err != nil {
		return nil, err
	}
	_, keys, err := g.usable(ctx, by)
	if err != nil {
		return nil, err
	}
	return g.challenge(by, aboutApproval(h, by, &r, approval.FormOf(changes)), keys), nil
}

// AskToConfirm is what an admin's passkey signs to confirm that of somebody else.
func (g *Guard) AskToConfirm(ctx context.Context, id string, by act.Principal) (*Challenge, error) {
	p, _, err := g.passkeys.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("the passkey %q: %w", id, ledger.ErrNotFound)
	}
	_, keys, err := g.usable(ctx, by)
	if err != nil {
		return nil, err
	}
	return g.challenge(by, about("confirm", by.Name, p.ID), keys), nil
}

// AskToRegister is what a new passkey of a principal is made with.
func (g *Guard) AskToRegister(ctx context.Context, by act.Principal) (*Challenge, error) {
	if g.cfg.Passkeys.Origin == "" {
		return nil, ErrNoSite
	}
	all, err := g.Passkeys(ctx, by.Name)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for _, p := range all {
		if p.State != PasskeyRevoked {
			keys = append(keys, p.Key.ID)
		}
	}
	if len(keys) >= maxPasskeys {
		return nil, ErrMany
	}
	return g.challenge(by, about("register", by.Name), keys), nil
}

// Proof is what a passkey signed, for a nonce that was given before.
type Proof struct {
	Nonce string `json:"nonce"`
	passkey.Signed
}

// NewPasskey is what a browser made, for a nonce that was given before.
type NewPasskey struct {
	Nonce string `json:"nonce"`
	Label string `json:"label"`
	passkey.Made
}

// taken ends what a nonce was given for. It returns the challenge if that was given to this
// principal for this very thing, and is not too late.
func (g *Guard) taken(was asked, nonce string, by act.Principal, about string) ([]byte, error) {
	if was.principal == "" || was.principal != by.Name || was.about != about || !g.cfg.Now().Before(was.ends) {
		return nil, ErrChallenge
	}
	return challengeOf(nonce, about), nil
}

// RegisterPasskey takes a new passkey of a principal, which waits for somebody else to
// confirm it.
func (g *Guard) RegisterPasskey(ctx context.Context, by act.Principal, q *NewPasskey) (*Passkey, error) {
	if g.cfg.Passkeys.Origin == "" {
		return nil, ErrNoSite
	}
	challenge, err := g.taken(g.challenges.take(q.Nonce), q.Nonce, by, about("register", by.Name))
	if err != nil {
		return nil, err
	}
	if q.Label == "" || len(q.Label) > maxLabel {
		return nil, ErrLabel
	}
	key, err := g.cfg.Passkeys.Make(&q.Made, challenge)
	if err != nil {
		return nil, err
	}
	defer g.passkeys.Lock("of all")() // of many at once no more are taken than there is room for
	if err := g.onesOwn(ctx, by, key); err != nil {
		return nil, err
	}
	all, err := g.Passkeys(ctx, by.Name)
	if err != nil {
		return nil, err
	}
	if len(slices.DeleteFunc(all, func(p *Passkey) bool { return p.State == PasskeyRevoked })) >= maxPasskeys {
		return nil, ErrMany
	}
	return g.passkeys.Update(ctx, passkeyID(by.Name, key), func(p *Passkey, item *Item) (*Note, error) {
		if item.Found {
			return nil, fmt.Errorf("%w: it is registered already", passkey.ErrRefused)
		}
		*p = Passkey{
			ID: item.ID, Principal: by.Name, Person: by.Person, Label: q.Label, State: PasskeyWaits, Key: *key, Created: g.cfg.Now(),
		}
		return g.notePasskey("register", by, p, ""), nil
	})
}

// onesOwn refuses a key that is another person's passkey already: one authenticator would
// count as two people (WebAuthn, section 7.1).
func (g *Guard) onesOwn(ctx context.Context, by act.Principal, key *passkey.Key) error {
	all, err := g.Passkeys(ctx, "")
	for _, p := range all {
		if p.State != PasskeyRevoked && (bytes.Equal(p.Key.ID, key.ID) || bytes.Equal(p.Key.Public, key.Public)) && !approval.SamePerson(by, act.Principal{Name: p.Principal, Person: p.Person}) {
			return fmt.Errorf("%w: it is somebody else's passkey", passkey.ErrRefused)
		}
	}
	return err
}

// notePasskey is the record of what was done with a passkey: it has the public key, so that
// what it signs can be checked by whoever has the records.
func (g *Guard) notePasskey(what string, by act.Principal, p *Passkey, signed string) *Note {
	details := map[string]string{
		"passkey": p.ID, "principal": p.Principal, "public": base64.StdEncoding.EncodeToString(p.Key.Public), "key": base64.StdEncoding.EncodeToString(p.Key.ID),
	}
	if signed != "" {
		details["signed"] = signed
	}
	n := Admin("passkey."+what, by, details)
	n.Plain = true // keys and signatures look like secrets, and are none
	return n
}

// ConfirmPasskey has a passkey count. Who confirms is an admin who is somebody else, and shows
// a passkey that counts already: a stolen key of an admin makes keys of other names, and these
// must confirm nothing. Where there is none yet, or nobody else, it is the node's owner, by the
// socket in the data folder: a browser that was let in by it is not that.
func (g *Guard) ConfirmPasskey(ctx context.Context, id string, by act.Principal, proof *Proof) (*Passkey, error) {
	owner := by.Method == identity.Operator.Method
	var was asked
	if proof != nil {
		was = g.challenges.take(proof.Nonce)
	}
	return g.passkeys.UpdateWith(ctx, id, func(p *Passkey, item *Item) (*Note, []*Item, error) {
		switch {
		case !item.Found:
			return nil, nil, fmt.Errorf("the passkey %q: %w", id, ledger.ErrNotFound)
		case p.State != PasskeyWaits || g.cfg.Now().After(p.Created.Add(passkeyWaits)):
			return nil, nil, fmt.Errorf("%w: it is %s", approval.ErrEnded, p.State)
		}
		if err := g.onesOwn(ctx, act.Principal{Name: p.Principal, Person: p.Person}, &p.Key); err != nil { // another node may have taken it at the same time
			return nil, nil, err
		}
		var also []*Item
		signed := ""
		if !owner {
			if approval.SamePerson(by, act.Principal{Name: p.Principal, Person: p.Person}) {
				return nil, nil, ErrSelf
			}
			_, text, used, err := g.prove(ctx, by, proof, was, about("confirm", by.Name, p.ID))
			if err != nil {
				return nil, nil, err
			}
			signed, also = text, append(also, used)
		}
		p.State, p.Confirmed = PasskeyConfirmed, &Said{By: by.Name, At: g.cfg.Now()}
		return g.notePasskey("confirm", by, p, signed), also, nil
	})
}

// RevokePasskey ends a passkey: its holder may, and any admin.
func (g *Guard) RevokePasskey(ctx context.Context, id string, by act.Principal, admin bool) (*Passkey, error) {
	return g.passkeys.Update(ctx, id, func(p *Passkey, item *Item) (*Note, error) {
		switch {
		case !item.Found || !admin && p.Principal != by.Name:
			return nil, fmt.Errorf("the passkey %q: %w", id, ledger.ErrNotFound)
		case p.State == PasskeyRevoked:
			return nil, fmt.Errorf("%w: it is %s", approval.ErrEnded, p.State)
		}
		p.State, p.Revoked = PasskeyRevoked, &Said{By: by.Name, At: g.cfg.Now()}
		return g.notePasskey("revoke", by, p, ""), nil
	})
}

// prove checks that a principal's own passkey, which counts, has signed one thing that it was
// asked for. It returns the passkey, what is recorded of it, and its item, which must be
// written with what rests on it: so that a counter is used once.
func (g *Guard) prove(ctx context.Context, by act.Principal, proof *Proof, was asked, about string) (id, signed string, used *Item, err error) {
	list, _, err := g.usable(ctx, by)
	if err != nil {
		return "", "", nil, err
	}
	if proof == nil {
		return "", "", nil, approval.ErrPasskey
	}
	challenge, err := g.taken(was, proof.Nonce, by, about)
	if err != nil {
		return "", "", nil, err
	}
	i := slices.IndexFunc(list, func(p *Passkey) bool { return string(p.Key.ID) == string(proof.ID) })
	if i < 0 {
		return "", "", nil, fmt.Errorf("%w: it is by another key", passkey.ErrRefused)
	}
	p, item, err := g.passkeys.Get(ctx, list[i].ID)
	if err != nil {
		return "", "", nil, err
	}
	if p == nil || p.State != PasskeyConfirmed || !p.of(by) {
		return "", "", nil, ErrNoPasskey
	}
	counter, err := g.cfg.Passkeys.Check(&p.Key, &proof.Signed, challenge)
	if errors.Is(err, passkey.ErrCounter) { // whoever looks at the records should know
		n := g.notePasskey("refused", by, p, "")
		n.Details["why"] = err.Error()
		return "", "", nil, errors.Join(err, g.Write(ctx, n))
	}
	if err != nil {
		return "", "", nil, err
	}
	text, err := json.Marshal(proof)
	if err != nil {
		return "", "", nil, err
	}
	p.Key.Counter, p.Used = counter, g.cfg.Now()
	return p.ID, string(text), item, g.passkeys.Fill(p, item)
}
