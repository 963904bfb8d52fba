package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
)

type holdKey struct{}

// hold is what a call has of the server that others could use while it waits
// for people, and by whose right it goes on.
type hold struct {
	response *http.ResponseController // nil when what is written has deadlines of its own
	of       *identity.Credential     // nil where nobody had to have one
	over     context.CancelCauseFunc  // ends the call
	done     <-chan struct{}          // closed when the call is over

	mu      sync.Mutex
	leave   func() // ends the call's turn; nil before it has begun, and after its end
	release func() // gives back the room of its body; nil when it has none, or no more
	watched bool   // whether the credential is

	known   func(by act.Principal, size int) *jsonrpc.Refusal // see Known; nil where the caller is known before
	unknown func()                                            // see Unknown; nil there, too
}

// held returns the context of a call, and what it holds. end must be called when the
// call is over.
func held(ctx context.Context, of *identity.Credential, response *http.ResponseController) (_ context.Context, h *hold, end func()) {
	ctx, over := context.WithCancelCause(ctx)
	h = &hold{response: response, of: of, over: over, done: ctx.Done()}
	return context.WithValue(ctx, holdKey{}, h), h, func() { over(nil) }
}

// Hold says that a call of this server waits until a time for people: it gives
// up its turn, may be answered later than others, and ends when its caller's
// credential does. A time that has come says that the call goes on as a stream, for
// whose answer nobody waits. Contexts that are no call's are left alone.
func Hold(ctx context.Context, until time.Time) {
	h, ok := ctx.Value(holdKey{}).(*hold)
	if !ok {
		return
	}
	if !until.After(time.Now()) {
		exchangeIn(ctx).end()
	}
	if h.response != nil {
		h.response.SetWriteDeadline(until.Add(writeTimeout))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leave != nil {
		h.leave()
		h.leave = nil
	}
	if h.of != nil && !h.watched {
		h.watched = true
		go watch(h.done, h.of, h.over)
	}
}

// Known says whose a call is of which only the body tells, once that is proven: from then on
// it has its turn and its room among that caller's, and no longer among those of everybody
// who asks from its address. size is what it weighs, in bytes. Where the caller has no more
// room the call has lost its turn, and is refused. Contexts that are no call's are left alone.
func Known(ctx context.Context, by act.Principal, size int) *jsonrpc.Refusal {
	h, ok := ctx.Value(holdKey{}).(*hold)
	if !ok || h.known == nil {
		return nil
	}
	return h.known(by, size)
}

// Unknown says that of a call of which only the body tells whose it is that is not proven: it
// counts by the rate of its address, and waits where that is used up. One that is proven
// does not, so that nobody uses up what others have who ask from there.
func Unknown(ctx context.Context) {
	if h, ok := ctx.Value(holdKey{}).(*hold); ok && h.unknown != nil {
		h.unknown()
	}
}

// begin notes how the call's turn ends, and returns what ends it, once.
func (h *hold) begin(leave func()) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave = leave
	return func() { h.once(&h.leave) }
}

// unload gives back the room of the call's body, once.
func (h *hold) unload() { h.once(&h.release) }

// once calls one of the call's functions unless it was called.
func (h *hold) once(f *func()) {
	h.mu.Lock()
	call := *f
	*f = nil
	h.mu.Unlock()
	if call != nil {
		call()
	}
}

// watch looks after the credential of something that is open, and calls end once when
// it does not hold any more, or nobody knows, unless the thing is done before.
func watch(done <-chan struct{}, c *identity.Credential, end func(error)) {
	for {
		changed := c.Changed() // before it is looked at, so that no change is missed
		if err := c.Lasts(); err != nil {
			if !errors.Is(err, identity.ErrUnsure) {
				err = jsonrpc.ErrUnauthorized
			}
			end(err)
			return
		}
		timer := time.NewTimer(c.Next(time.Now()))
		select {
		case <-done:
			timer.Stop()
			return
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}
