package replay

import (
	"context"
	"time"

	"reeve.example/reeve/act"
)

// Acts calls f with each recorded act of a window that was let through, as it is kept, in
// the order of their times. Acts whose contents are gone are left out.
func Acts(ctx context.Context, store Store, since, until time.Time, f func(*act.Action)) error {
	source, err := open(ctx, store, since, until)
	if err != nil {
		return err
	}
	w := &worker{shared: &shared{store: store, o: &Options{}}}
	return source.each(ctx, func(uint64) {}, func(one *item) error {
		if one == nil || one.damaged {
			return ctx.Err()
		}
		effect, ok := act.ParseEffect(one.record.Effect)
		var t told
		if !ok || effect < act.Modify || w.open(ctx, one, &t) != "" {
			return ctx.Err()
		}
		if a := read(one, &t); a != nil {
			f(a)
		}
		return ctx.Err()
	})
}
