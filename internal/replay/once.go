package replay

import (
	"context"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
)

// Again is one recorded act that a policy has looked at once more.
type Again struct {
	// Action is the act as it is kept; nil where it cannot be read any more. It was what is
	// judged byte for byte if it is Exact, and masked otherwise.
	Action *act.Action
	Exact  bool
	// Missing says what it was judged by and is not known here; empty where all is.
	Missing string
	// Rules are those of the policy, with what became of each, and Findings are what the
	// detectors found that they ask for.
	Rules    []policy.RuleExplanation
	Findings []policy.Finding
}

// Once has a policy say of each of its rules what becomes of one recorded act, with the
// session memory that it had. A set of nil says nothing of it, and the act alone is read.
func Once(ctx context.Context, store Store, pos act.Position, keys guard.Keys, set *policy.Set) (*Again, error) {
	source := reader{log: pos.Log, from: pos.Index, to: pos.Index + 1}
	if err := source.fill(ctx, store); err != nil {
		return nil, err
	}
	if len(source.read) == 0 {
		return &Again{}, nil // no decision
	}
	one := source.read[0]
	w := &worker{past: newPasts(memoryMost), shared: &shared{
		store: store, candidate: set, o: &Options{Keys: keys},
		instructions: guard.Instructions{Key: guard.ValuesKey(keys.Values, ledger.Key{})},
	}}
	var t told
	why := Damaged
	if !one.damaged {
		why = w.open(ctx, one, &t)
	}
	if why != "" {
		return &Again{Missing: why}, ctx.Err()
	}
	var was *past
	if one.step != nil {
		var err error
		if was, err = w.past.before(ctx, store, keys.Values, one); err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	in, why := w.input(one, &t, was)
	if in == nil {
		return &Again{Missing: why}, nil
	}
	again := &Again{Action: in.Action, Exact: in.Action.Digest.String() == t.links.Digest, Missing: why}
	if again.Missing == "" && t.outcome.Given.Masked {
		again.Missing = Masked
	}
	if set != nil {
		x := set.Explain(in)
		again.Rules, again.Findings = x.Rules, x.Verdict.Findings
	}
	return again, nil
}
