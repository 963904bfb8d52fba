package engine

import (
	"context"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/task"
)

// Caller is who asks for something to be done to tasks: by whichever protocol it
// comes, what a role may see and do is said here alone.
type Caller struct {
	Principal act.Principal
	// User is whose tasks the caller sees and makes; empty where no credentials are
	// configured: then all are everybody's.
	User string
	// Admin sees everybody's tasks.
	Admin bool
	// Reads says that the caller may look, and do nothing.
	Reads bool
}

// CallerOf is who sent the request of ctx. open says that no credentials are
// configured.
func CallerOf(ctx context.Context, open bool) Caller {
	principal, role := identity.FromContext(ctx)
	c := Caller{Principal: principal, Reads: !role.Acts()}
	if !open {
		c.User, c.Admin = principal.Name, role == identity.Admin
	}
	return c
}

// Sees reports whether what belongs to a user is shown to the caller.
func (c Caller) Sees(user string) bool { return c.everybody() || user == c.User }

// own is a user as tasks have it: a caller who is confined to its own may name itself as
// its credential does, by the token's subject or the key's name alone, or whom it acts for by theirs. It can reach
// nobody else so: what it may see is still asked with what comes of it.
func (c Caller) own(user string) string {
	if c.everybody() || user == "" {
		return user
	}
	kind, name, _ := strings.Cut(c.User, ":")
	if kind == "jwt" {
		name = subjectOf(name)
	}
	if user == name || c.Principal.Delegation != nil && user == subjectOf(c.Principal.Delegation.OnBehalfOf) {
		return c.User
	}
	return user
}

// subjectOf is the subject in jwt:<issuer>#<subject>: an issuer is a URL without a fragment.
func subjectOf(name string) string {
	_, subject, _ := strings.Cut(name, "#")
	return subject
}

// leave is who asks, and by whose leave, as far as the credential says it, for a task of user:
// people who are asked about what becomes of it may have to be others, and rules may ask what
// the credential was good for. What a token grants is its holder's: a task that an admin makes
// for somebody else does not get it.
func (c Caller) leave(user string) task.Leave {
	by := c.Principal.Delegated()
	l := task.Leave{Person: c.Principal.Known(), For: by.Person}
	if user == c.Principal.Name {
		l.Organization, l.Client, l.Actors, l.Scopes = c.Principal.Organization, by.Client, by.Actors, by.Scopes
	}
	return l
}

// everybody reports whether the caller is confined to nobody's tasks.
func (c Caller) everybody() bool { return c.Admin || c.User == "" }

// acts refuses a caller who may only look, before anything else is said.
func (c Caller) acts() error {
	if c.Reads {
		return &task.Error{Code: task.CodeUnauthorized, Reason: OnlyReads}
	}
	return nil
}

// OnlyReads is what a caller is told who may look and do nothing.
const OnlyReads = "The credential's role may look at tasks, and neither make, execute, change nor cancel any: that is for the roles agent and admin."
