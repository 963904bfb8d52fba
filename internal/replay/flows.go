package replay

import (
	"context"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
)

// Flow is what one step of a session let in, and where what others wrote went with it.
type Flow struct {
	Labels []string    // what the session has read by it: foreign, and tags that it had not before
	Ways   []act.Trace // of the values that nobody trusted has named
}

// flowsMost bounds how often a session's memory is made anew for one question: once for each
// session, where its steps are asked for in their order and without gaps.
const flowsMost = 16

// Flows tells of records, in their order, what came in and where it went. policyThen is the
// policy that an act was judged by, nil where it cannot be read. Of what is no step of a
// session, or not known any more, nothing is said.
func Flows(ctx context.Context, store Store, keys guard.Keys, policyThen func(context.Context, string) (*policy.Set, error), at []act.Position) ([]Flow, error) {
	w := &worker{past: newPasts(memoryMost), shared: &shared{
		store: store, o: &Options{Keys: keys},
		instructions: guard.Instructions{Key: guard.ValuesKey(keys.Values, ledger.Key{})},
	}}
	flows := make([]Flow, len(at))
	sets := map[string]*policy.Set{}
	left := flowsMost
	for i, pos := range at {
		one, err := itemAt(ctx, store, pos)
		if err != nil {
			return nil, err
		}
		if one == nil || one.step == nil {
			continue
		}
		flows[i].Labels = one.step.Labels()
		if !w.past.follows(one) {
			if left--; left < 0 {
				continue
			}
		}
		was, err := w.past.before(ctx, store, keys.Values, one)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue // a damaged write: what came before it is not known
		}
		set, known := sets[one.record.Policy]
		if !known && one.record.Policy != "" {
			if set, err = policyThen(ctx, one.record.Policy); err != nil {
				return nil, err
			}
			sets[one.record.Policy] = set
		}
		flows[i].Ways = w.ways(ctx, one, was, set)
		w.past.after(was, one)
	}
	return flows, ctx.Err()
}

// itemAt is one record with what lies beside it; nil where it is gone, damaged, or of a
// session's memory alone.
func itemAt(ctx context.Context, store Store, pos act.Position) (*item, error) {
	source := reader{log: pos.Log, from: pos.Index, to: pos.Index + 1, notes: true}
	if err := source.fill(ctx, store); err != nil {
		return nil, err
	}
	if len(source.read) == 0 || source.read[0].damaged {
		return nil, nil
	}
	return source.read[0], nil
}

// ways are those of the values of one act. What the record says of them counts where the act
// is kept masked, or its memory is gone.
func (w *worker) ways(ctx context.Context, one *item, was *past, set *policy.Set) (ways []act.Trace) {
	if one.record.Effect == "" {
		return nil
	}
	var t told
	if w.open(ctx, one, &t) == "" && !t.outcome.Given.Masked && set != nil {
		if in, why := w.input(one, &t, was); in != nil && why == "" {
			return set.Ways(in)
		}
	}
	for _, r := range t.outcome.Reasons {
		for _, way := range r.Traces {
			if !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
	}
	return ways
}
