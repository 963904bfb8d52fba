package replay

import (
	"container/list"
	"context"
	"errors"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/session"
)

// pasts are sessions' memories as they were, played from what was written of each step.
// The least recently used leave when there is no more room, and are read again.
type pasts struct {
	most, bytes int
	held        map[ledger.Key]*list.Element
	order       *list.List // of *past, least recently used first
}

// past is one session's memory before its next step.
type past struct {
	key   ledger.Key
	at    act.Position // of the step that it follows
	state *session.State
	keys  []byte // from which the sessions' own are derived
	gone  bool   // a part of it that there was then is there no more
	bytes int
}

func newPasts(most int) *pasts {
	return &pasts{most: most, held: map[ledger.Key]*list.Element{}, order: list.New()}
}

// follows reports whether the memory before a step is held, or empty.
func (p *pasts) follows(one *item) bool {
	e := p.held[one.claim.Key]
	return one.claim.First || e != nil && e.Value.(*past).at == one.claim.Prev
}

// before is the session's memory before a step.
func (p *pasts) before(ctx context.Context, store Store, key []byte, one *item) (*past, error) {
	c := &one.claim
	if e := p.held[c.Key]; e != nil {
		was := e.Value.(*past)
		if !c.First && was.at == c.Prev {
			return was, nil
		}
		p.drop(e)
	}
	was := &past{key: c.Key}
	if c.First {
		was.state = &session.State{Known: true}
	} else if err := was.restore(ctx, store, one); err != nil {
		return nil, err
	}
	was.keys = key
	guard.SetValuesKey(&was.state.Values, key, c.Key)
	p.held[c.Key] = p.order.PushBack(was)
	return was, nil
}

// longest is how many writes of a session are walked back. A node reads fewer, unless it
// has had the session in memory since it began.
const longest = 1 << 15

// restore walks back through what was written of a session.
func (w *past) restore(ctx context.Context, store Store, one *item) error {
	var writes []session.Write
	complete := false
	for at := one.claim.Prev; len(writes) < longest; {
		if len(writes) >= session.MaxReplay && one.step.Forgot() { // the node had no more either
			break
		}
		c, err := store.KeyWrite(ctx, at, w.key)
		if errors.Is(err, ledger.ErrNotFound) {
			w.gone = true
			break
		} else if err != nil {
			return err
		}
		writes = append(writes, session.Write{At: at, Data: c.Data})
		if complete = c.First; complete {
			break
		}
		at = c.Prev
	}
	if len(writes) == 0 {
		w.state = &session.State{Values: provenance.Memory{Lost: true}}
		return nil
	}
	var err error
	w.state, err = session.Restore(writes, complete)
	return err
}

// after takes up the step, and makes room.
func (p *pasts) after(was *past, one *item) {
	was.state.Place(was.state.Apply(one.step), one.at())
	guard.SetValuesKey(&was.state.Values, was.keys, was.key)
	was.at = one.at()
	size := 256 + was.state.Size()
	p.bytes += size - was.bytes
	was.bytes = size
	p.order.MoveToBack(p.held[was.key])
	for p.bytes > p.most && p.order.Len() > 1 {
		p.drop(p.order.Front())
	}
}

func (p *pasts) drop(e *list.Element) {
	was := p.order.Remove(e).(*past)
	delete(p.held, was.key)
	p.bytes -= was.bytes
}

// forget is what a node does whose session's memory was gone.
func (w *past) forget(key provenance.Key) {
	w.state = &session.State{Values: provenance.Memory{Lost: true, Key: key}}
	w.gone = false
}
