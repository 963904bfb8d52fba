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

// person is who asks, and whom for, as far as the credential says it: people who are asked about
// what becomes of this may have to be others.
func (c Caller) person() (who, onBehalfOf string) {
	return c.Principal.Known(), c.Principal.Delegated().Person
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
