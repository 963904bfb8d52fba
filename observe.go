package reeve

import (
	"context"
	"math"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/trace"
)

// observe counts a decision that was answered, and says in the process log what was not
// allowed, where that is set.
func (n *Node) observe(ctx context.Context, a *act.Action, d *act.Decision, took time.Duration) {
	n.metrics.Decision(a, d, took)
	if n.requests != nil {
		trace.Link(ctx, n.log.VerifierKey(), a, d.Position)
	}
	if n.notices != nil && d.Effect == act.Escalate && d.Approval != nil {
		n.notices.Held(d.Approval.ID)
	}
	if !n.cfg.LogDenials || d.Effect != act.Deny && d.Effect != act.Escalate {
		return
	}
	said := []any{"decision", d.Position.String(), "effect", d.Effect.String(), "door", a.Door, "kind", string(a.Kind)}
	if len(d.Reasons) > 0 {
		said = append(said, "rule", d.Reasons[0].Rule, "code", d.Reasons[0].Code)
	}
	// Names are what callers say, so they are short here; and nothing of the act's
	// contents is, since the process log is not the place where these are masked.
	for _, name := range []struct{ key, is string }{
		{"on", a.Resource}, {"agent", a.Agent.ID}, {"principal", a.Principal.Name},
	} {
		if name.is != "" {
			said = append(said, name.key, name.is[:min(len(name.is), maxLogged)])
		}
	}
	n.logger.Warn("not allowed", said...)
}

// unusual counts what was noted as unusual, and has people told of each cause once, and
// again where a changed agent shows it in another dimension.
func (n *Node) unusual(ctx context.Context, u guard.Noted) {
	if len(u.Fresh) == 0 {
		return
	}
	for _, in := range u.Fresh {
		n.metrics.Unusual(in)
	}
	if n.notices != nil {
		n.tasks.Go(func() { n.notices.Unusual(ctx, u.Agent, u.Decision, u.Line.String()) })
	}
}

// shadowed counts a decision that was held against what a candidate would have decided.
func (n *Node) shadowed(a *act.Action, s *guard.Shadowed) {
	n.shadow.Count(a, s)
	n.metrics.Shadowed(s.Was, s.Would, s.Changed, s.Failed)
}

// maxLogged is how many bytes of a name stand in the process log.
const maxLogged = 100

// waiting returns what counts the acts that wait for people. Whoever asks for metrics
// has it counted at most each ten seconds; NaN where it cannot be.
func (n *Node) waiting() func() float64 {
	var mu sync.Mutex
	var at time.Time
	var count float64
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		if n.now().Sub(at) < 10*time.Second {
			return count
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		found, err := n.guard.Waiting(ctx, maxWaiting)
		if count, at = float64(found), n.now(); err != nil {
			n.logger.Error("the acts that wait for people were not counted", "error", err)
			count = math.NaN()
		}
		return count
	}
}

// maxWaiting is how many acts that wait are counted.
const maxWaiting = 1000
