package guard

import (
	"context"
	"log/slog"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/identity"
)

// Door is where callers who wait for an answer come to the guard: it says who asks, and
// has the call wait when people have to agree.
type Door struct {
	Guard *Guard
	// Wait is how long a call waits for people; 0 for not at all. Places has room for
	// as many calls as may wait at once.
	Wait   time.Duration
	Places chan struct{}
	// Hold tells who serves a call that it waits until then for people, and reports
	// whether it can. Required with Wait.
	Hold func(ctx context.Context, until time.Time) bool
	// Stopping is done when nobody is to wait any more; nil for never.
	Stopping context.Context
	Logger   *slog.Logger
}

// Decide is Guard.Decide for the caller of the request of ctx. What names no agent is of
// the one that the credential says.
func (o *Door) Decide(ctx context.Context, a *act.Action) (act.Decision, []byte, error) {
	a.Principal, _ = identity.FromContext(ctx)
	if a.Agent.ID == "" && a.Principal != act.Anonymous {
		a.Agent.ID = a.Principal.Name
	}
	d, modified, err := o.Guard.Decide(ctx, a)
	if err == nil && d.Effect == act.Escalate && o.await(ctx, d.Approval) {
		d, modified, err = o.Guard.Decide(ctx, a)
	}
	if err != nil && ctx.Err() == nil {
		o.Logger.Error("an act was not decided", "method", a.Method, "error", err)
	}
	return d, modified, err
}

// await waits until people have answered about a held act, and reports whether they
// have. Beyond the places there are, nobody waits.
func (o *Door) await(ctx context.Context, held *act.Approval) bool {
	if o.Wait <= 0 || held == nil || held.State != string(approval.Held) {
		return false
	}
	select {
	case o.Places <- struct{}{}:
		defer func() { <-o.Places }()
	default:
		return false
	}
	if !o.Hold(ctx, time.Now().Add(o.Wait)) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	if o.Stopping != nil {
		defer context.AfterFunc(o.Stopping, cancel)()
	}
	return o.Guard.Await(ctx, held.ID) == nil
}
