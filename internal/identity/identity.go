// Package identity tells who is asking: by an API key, by a JWT, or nobody in
// particular. What a caller says about itself inside a request counts for
// nothing here.
//
//	auth, err := identity.New(identity.Config{Anonymous: identity.UntilFirstKey})
//	auth.SetKeys(keys)
//	principal, role, err := auth.Authenticate(r)
package identity

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
)

// Role is what a principal may do.
type Role string

// The roles.
const (
	Agent    Role = "agent"    // report steps and ask for verdicts; make, execute and cancel its tasks
	Approver Role = "approver" // answer what is held for a person; look at its tasks
	Auditor  Role = "auditor"  // read what lies beside the ledger; look at its tasks
	Admin    Role = "admin"    // all of it, and keys, policies, erasure
)

// Roles are all of them.
var Roles = []Role{Agent, Approver, Auditor, Admin}

// Acts reports whether a role has tasks made, executed, changed and cancelled, and sends
// messages to the node as an agent. The others only look at what is theirs.
func (r Role) Acts() bool { return r == Agent || r == Admin }

// ParseRole reads a role's name. ok is false for any other word.
func ParseRole(name string) (r Role, ok bool) {
	switch r := Role(name); r {
	case Agent, Approver, Auditor, Admin:
		return r, true
	}
	return "", false
}

// Operator is the principal of whoever reached the socket in the data folder.
var Operator = act.Principal{Name: "socket", Method: "socket"}

// caller is the one value that a request's context carries.
type caller struct {
	principal act.Principal
	role      Role
}

type contextKey struct{}

// NewContext returns a context that says who is asking.
func NewContext(ctx context.Context, p act.Principal, role Role) context.Context {
	return context.WithValue(ctx, contextKey{}, &caller{p, role})
}

// FromContext returns who is asking: the anonymous principal, without a role,
// when the context does not say.
func FromContext(ctx context.Context) (act.Principal, Role) {
	if c, ok := ctx.Value(contextKey{}).(*caller); ok {
		return c.principal, c.role
	}
	return act.Anonymous, ""
}

// Config says which credentials are taken.
type Config struct {
	// JWT, if set, takes tokens.
	JWT *JWT
	// SPIFFE, if set, takes clients' certificates.
	SPIFFE *SPIFFE
	// Organization, if set, is whose callers alone are let in: a token must name it, and
	// keys and workloads that name none are of it.
	Organization string
	// Anonymous says whether callers without a credential are let in, as agents.
	Anonymous Anonymous
}

// Anonymous says when callers without a credential are let in. The zero value is never.
type Anonymous int

// When they are.
const (
	Never         Anonymous = iota
	UntilFirstKey           // while no credential is configured: no JWT, no SPIFFE, nor any API key
	Always
)

// Authenticator tells who sent a request. It is safe for concurrent use.
type Authenticator struct {
	anonymous Anonymous
	of        string     // the organization; empty for any
	tokens    *tokens    // nil without JWT
	workloads *workloads // nil without SPIFFE
	keys      atomic.Pointer[keyRing]
	unsure    atomic.Bool // see Unsure

	mu      sync.Mutex
	list    []Key         // that keys was made of; guarded by mu, as changed is
	changed chan struct{} // closed when the keys are replaced
}

// Credential is what a caller was known by when it was checked. Sockets and streams are
// open for longer than that, and ask it whether it still holds. The zero Credential does
// not.
type Credential struct {
	Principal act.Principal
	Role      Role
	// Ends is from when on a token or a certificate is not taken; zero where no time says so.
	Ends time.Time

	auth *Authenticator
	key  [32]byte            // of an API key: the hash of its secret
	svid []*x509.Certificate // of a workload
}

// Err says why the credential does not hold any more; nil while it does. It costs
// little: a token's signature is not checked again.
func (c *Credential) Err() error {
	if c.auth == nil {
		return refused(nil, "The credential is not valid.")
	}
	switch c.Principal.Method {
	case act.Anonymous.Method:
		if !c.auth.Anonymous() {
			return &Error{Missing: true, Reason: needed}
		}
	case methodKey:
		_, _, err := c.auth.keys.Load().holder(c.key)
		return err
	case methodSPIFFE:
		_, _, _, err := c.auth.workloads.check(c.svid)
		return err
	default:
		if !c.Ends.IsZero() && !c.auth.tokens.cfg.Now().Before(c.Ends) {
			return refused(nil, "The token has expired.")
		}
	}
	return nil
}

// Workload reports whether the credential is the certificate of the connection.
func (c *Credential) Workload() bool { return c.svid != nil }

// Next is how long after now it is to be asked again whether the credential holds: a token
// ends at its time, and authorities that are no more trusted stand in a file.
func (c *Credential) Next(now time.Time) time.Duration {
	const forEver = 100 * 365 * 24 * time.Hour
	next := forEver
	if !c.Ends.IsZero() {
		next = max(c.Ends.Sub(now), 100*time.Millisecond)
	}
	if c.svid != nil {
		next = min(next, bundleAgain)
	}
	return next
}

// ErrUnsure: whether a credential still holds cannot be told at the moment.
var ErrUnsure = errors.New("whether the credential still holds cannot be told at the moment")

// Lasts says why something that is open by the credential must end: why the credential
// does not hold, or ErrUnsure.
func (c *Credential) Lasts() error {
	if err := c.Err(); err != nil {
		return err
	}
	if byKeys := c.Principal.Method == methodKey || c.Principal.Method == act.Anonymous.Method; byKeys && c.auth.unsure.Load() {
		return ErrUnsure
	}
	return nil
}

// Unsure says that the keys are too old to rest on: they are read from a database that
// others change, and it cannot be reached. What is open by a key ends, since that may
// have been revoked; SetKeys makes the keys sure again.
func (a *Authenticator) Unsure() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.unsure.Swap(true) {
		close(a.changed)
		a.changed = make(chan struct{})
	}
}

// Changed returns a channel that is closed when the keys are replaced, or become unsure: a
// credential may not hold any more then.
func (c *Credential) Changed() <-chan struct{} {
	if c.auth == nil {
		return nil
	}
	c.auth.mu.Lock()
	defer c.auth.mu.Unlock()
	return c.auth.changed
}

// New returns an Authenticator without API keys.
func New(cfg Config) (*Authenticator, error) {
	a := &Authenticator{anonymous: cfg.Anonymous, of: cfg.Organization, changed: make(chan struct{})}
	a.keys.Store(&keyRing{})
	if cfg.JWT != nil {
		tokens := *cfg.JWT
		tokens.Organization = cfg.Organization
		var err error
		if a.tokens, err = newTokens(tokens); err != nil {
			return nil, err
		}
	}
	if cfg.SPIFFE != nil {
		var err error
		if a.workloads, err = newWorkloads(*cfg.SPIFFE); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// SetKeys replaces the API keys, at once. Revoked keys are not taken, yet they
// count as configured: revoking the last one must not let everybody in.
func (a *Authenticator) SetKeys(keys []Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsure.Store(false)
	if slices.Equal(a.list, keys) {
		return
	}
	a.list = slices.Clone(keys)
	a.keys.Store(newKeyRing(keys))
	close(a.changed)
	a.changed = make(chan struct{})
}

// Revoked reports whether a principal was known by an API key that has been revoked, and is by
// no other. What goes on in its name without it asks this before it does anything.
func (a *Authenticator) Revoked(principal string) bool { return a.keys.Load().revoked[principal] }

// Configured reports whether any credential is configured, so that callers are told apart.
func (a *Authenticator) Configured() bool {
	return a.tokens != nil || a.workloads != nil || a.keys.Load().configured
}

// Anonymous reports whether a caller without a credential is let in now.
func (a *Authenticator) Anonymous() bool {
	return a.anonymous == Always || a.anonymous == UntilFirstKey && !a.Configured()
}

// Error says why a caller was not let in. Its text is for the caller; the cause,
// for the operator, is what it wraps.
type Error struct {
	Missing bool   // no credential was sent, and one is required
	Reason  string // a sentence
	// Proof is the error's code where it is about a token that is bound to a key (RFC 9449,
	// section 7.1), and Nonce what the next proof must hold.
	Proof, Nonce string
	proves       bool // bound tokens are taken here
	cause        error
}

func (e *Error) Error() string { return e.Reason }
func (e *Error) Unwrap() error { return e.cause }

// Challenge is the value of the header WWW-Authenticate (RFC 6750, section 3; RFC 9449,
// section 7.1).
func (e *Error) Challenge() string {
	algs := `algs="` + strings.Join(proofAlgs, " ") + `"`
	switch {
	case e.Missing && e.proves:
		return `Bearer realm="reeve", DPoP ` + algs
	case e.Missing:
		return `Bearer realm="reeve"`
	case e.Proof != "":
		return `DPoP realm="reeve", error="` + e.Proof + `", error_description="` + strings.Trim(e.Reason, ".") + `", ` + algs
	}
	return `Bearer realm="reeve", error="invalid_token", error_description="` + strings.Trim(e.Reason, ".") + `"`
}

func refused(cause error, reason string) *Error { return &Error{Reason: reason, cause: cause} }

// longestCredential bounds what is hashed and parsed for a stranger, in bytes.
const longestCredential = 16 << 10

const needed = "A credential is required: send an API key or a token as Authorization: Bearer."

// Authenticate tells who sent a request; Check says more.
func (a *Authenticator) Authenticate(r *http.Request) (act.Principal, Role, error) {
	c, err := a.Check(r)
	if err != nil {
		return act.Principal{}, "", err
	}
	return c.Principal, c.Role, nil
}

// Check tells who sent a request, and by which credential, where no proof is asked for: see
// CheckAt.
func (a *Authenticator) Check(r *http.Request) (*Credential, error) { return a.CheckAt(r, nil) }

// CheckAt tells who sent a request, and by which credential. own reports whether an address
// is the one that the request was sent to, as its caller wrote it: proofs of possession are
// for one. The error is an *Error. A credential that fails is an error, also where none would
// be needed: it never makes the caller anonymous.
func (a *Authenticator) CheckAt(r *http.Request, own func(*url.URL) bool) (*Credential, error) {
	headers := r.Header["Authorization"]
	if len(headers) == 0 {
		if a.workloads != nil && leafOf(r) != nil {
			return a.workload(r.TLS.PeerCertificates)
		}
		if a.Anonymous() {
			return &Credential{Principal: act.Anonymous, Role: Agent, auth: a}, nil
		}
		return nil, &Error{Missing: true, Reason: needed, proves: a.tokens != nil}
	}
	scheme, credential, _ := strings.Cut(headers[0], " ")
	credential = strings.TrimSpace(credential)
	switch {
	case len(headers) > 1:
		return nil, refused(nil, "The header Authorization was sent twice.")
	case !strings.EqualFold(scheme, "Bearer") && !(a.tokens != nil && isDPoP(scheme)) || credential == "":
		return nil, refused(nil, "The header Authorization is not of the form Bearer CREDENTIAL.")
	case len(credential) > longestCredential:
		return nil, refused(nil, "The credential is too long.")
	case strings.HasPrefix(credential, keyPrefix) && isDPoP(scheme):
		return nil, refused(nil, "An API key is sent as Authorization: Bearer.")
	case strings.HasPrefix(credential, keyPrefix):
		c := &Credential{auth: a, key: sha256.Sum256([]byte(credential))}
		var err error
		c.Principal, c.Role, err = a.keys.Load().holder(c.key)
		return a.ifKnown(c, err)
	case a.tokens != nil:
		c, bound, err := a.tokens.verify(r.Context(), credential)
		if err != nil {
			return nil, err
		}
		c.auth = a
		if err := a.tokens.bind(c, r, scheme, credential, bound, own); err != nil {
			return nil, err
		}
		return c, nil
	case !a.Configured() && a.Anonymous():
		return nil, refused(nil, "No credentials are configured here, so none can be checked. Send none.")
	case !a.Configured():
		return nil, refused(nil, "No credentials are configured here, so none can be checked.")
	}
	return nil, refused(nil, "The credential is not valid.")
}

// workload is the credential of whoever opened a connection with a certificate.
func (a *Authenticator) workload(chain []*x509.Certificate) (*Credential, error) {
	c := &Credential{auth: a, svid: chain}
	var err error
	c.Principal, c.Role, c.Ends, err = a.workloads.check(chain)
	return a.ifKnown(c, err)
}

// Vouched is the credential of somebody whom the machine vouches for, and no key or token:
// it holds while the program runs.
func (a *Authenticator) Vouched(by act.Principal, role Role) *Credential {
	return &Credential{Principal: by, Role: role, auth: a}
}

// ifKnown never returns both. A key or a workload is of the organization whose callers
// alone are let in, unless it names another.
func (a *Authenticator) ifKnown(c *Credential, err error) (*Credential, error) {
	if err != nil {
		return nil, err
	}
	if a.of != "" && c.Principal.Organization == "" {
		c.Principal.Organization = a.of
	}
	if a.of != "" && c.Principal.Organization != a.of {
		return nil, refused(nil, elsewhere)
	}
	return c, nil
}

// elsewhere is all that somebody of another organization is told.
const elsewhere = "The credential is not of this organization."
