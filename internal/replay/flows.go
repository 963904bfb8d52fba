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
	// Damaged says that something of the record cannot be read: what came in by it is not known.
	Damaged bool
}

// flowsMost bounds how often a session's memory is made anew for one question: once for each
// session, where its steps are asked for in their order and without gaps.
const flowsMost = 16

// together is how many records of others between two of a session are read with them: that
// takes less than to ask for both.
const together = 32

// Flows tells of records, in their order, what came in and where it went. policyThen is the
// policy that an act was judged by, nil where it cannot be read. Of what is no step of a
// session, or not known any more, nothing is said.
func Flows(ctx context.Context, store Store, keys guard.Keys, policyThen func(context.Context, string) (*policy.Set, error), at []act.Position) ([]Flow, error) {
	w := &worker{past: newPasts(memoryMost), shared: &shared{
		store: store, o: &Options{Keys: keys},
		instructions: guard.Instructions{Key: guard.ValuesKey(keys.Values, ledger.Key{})},
	}}
	flows := make([]Flow, len(at))
	var read reader
	sets := map[string]*policy.Set{}
	left := flowsMost
	for i := range at {
		one, err := read.first(ctx, store, at[i:])
		if err != nil {
			return nil, err
		}
		if one == nil {
			continue // it is gone
		}
		if flows[i].Damaged = one.damaged; one.damaged || one.step == nil {
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
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				set = nil // what the record says of the ways is left
			}
			sets[one.record.Policy] = set
		}
		flows[i].Ways = w.ways(ctx, one, was, set)
		w.past.after(was, one)
	}
	return flows, ctx.Err()
}

// first is the first of some records, with what lies beside it; nil where it is gone. The next
// ones are read with it where they lie close behind it, as those of a session do, and are
// there when they are asked for.
func (r *reader) first(ctx context.Context, store Store, at []act.Position) (*item, error) {
	pos := at[0]
	begins := r.from
	if len(r.read) > 0 {
		begins = r.read[0].record.Index
	}
	if pos.Log != r.log || pos.Index < begins || pos.Index >= r.from {
		end := pos.Index
		for _, next := range at[1:] {
			if next.Log != pos.Log || next.Index < end || next.Index-end > together {
				break
			}
			end = next.Index
		}
		*r = reader{log: pos.Log, from: pos.Index, to: end + 1, notes: true}
		if err := r.fill(ctx, store); err != nil {
			return nil, err
		}
	}
	for len(r.read) > 0 && r.read[0].record.Index < pos.Index {
		r.read = r.read[1:]
	}
	if len(r.read) == 0 || r.read[0].record.Index != pos.Index {
		return nil, nil
	}
	return r.read[0], nil
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
