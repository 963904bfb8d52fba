package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

type holdKey struct{}

// hold is what a call has of the server that others could use while it waits
// for people.
type hold struct {
	response *http.ResponseController // nil when what is written has deadlines of its own

	mu    sync.Mutex
	leave func() // ends the call's turn; nil before it has begun
}

// Hold says that a call of this server waits until a time for people: it gives
// up its turn, and may be answered later than others. Contexts that are no
// call's are left alone.
func Hold(ctx context.Context, until time.Time) {
	h, ok := ctx.Value(holdKey{}).(*hold)
	if !ok {
		return
	}
	if h.response != nil {
		h.response.SetWriteDeadline(until.Add(writeTimeout))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leave != nil {
		h.leave()
	}
}

// begin notes how the call's turn ends, and returns that.
func (h *hold) begin(leave func()) func() {
	leave = sync.OnceFunc(leave)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave = leave
	return leave
}
